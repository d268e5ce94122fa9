# SPDX-License-Identifier: GPL-3.0-or-later
# What quickstart and run-tests share. To be sourced by bash, with `set -eu` in force.
# shellcheck shell=bash disable=SC2034

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=/usr/bin/python3 # GNU Radio's; a python3 earlier on PATH knows nothing of it
build_packages=(cmake g++ gnuradio-dev libfftw3-dev ninja-build pkg-config
                pybind11-dev python3-matplotlib python3-numpy)
test_packages=(libcppunit-dev python3-jinja2 python3-pywt python3-scipy)

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

die() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        sudo "$@"
    else
        die "must run as root, or with sudo installed: $*"
    fi
}

# Installs those of the given Debian packages that are missing.
need_packages() {
    local missing=() package log
    for package in "$@"; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" != installed ]
        then
            missing+=("$package")
        fi
    done
    [ ${#missing[@]} -eq 0 ] && return
    command -v apt-get > /dev/null || die "no apt-get here; please install: ${missing[*]}"
    say "installing ${missing[*]}"
    log=$(mktemp)
    if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o=Dpkg::Use-Pty=0 install -y \
            --no-install-recommends "${missing[@]}"; } > "$log" 2>&1 < /dev/null
    then
        tail -n 30 "$log" >&2
        die "apt-get failed (all of its output: $log)"
    fi
    rm -f "$log"
}

# Lets CMake find a toolkit that is installed but not on PATH: the newest one.
find_nvcc() {
    local found
    [ -n "${CUDACXX:-}" ] && return
    command -v nvcc > /dev/null && return
    found=$(find /usr/local/cuda*/bin/nvcc 2> /dev/null | sort -V | tail -n 1) || true
    if [ -n "$found" ]; then export CUDACXX=$found; fi
}

# The GPUs of this machine are what a local build is for. CUDAARCHS, CMake's own variable,
# says otherwise. Without a GPU: PTX that any later one can take.
choose_architectures() {
    local capabilities
    [ -n "${CUDAARCHS:-}" ] && return
    capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null |
        awk -F . '/^[0-9]+\.[0-9]$/ && ($1 $2) + 0 >= 75 { print $1 $2 }' | sort -u | paste -sd ';') ||
        true
    export CUDAARCHS=${capabilities:-75-virtual}
}

# configure_and_build FOLDER [CMAKE OPTION]...
configure_and_build() {
    local build_dir=$1 options=(-DCMAKE_CUDA_ARCHITECTURES="$CUDAARCHS")
    shift
    if [ ! -e "$build_dir/CMakeCache.txt" ]; then
        options+=(-G Ninja)
    elif grep -q '^CMAKE_CUDA_COMPILER:.*NOTFOUND' "$build_dir/CMakeCache.txt"; then
        options+=(-U CMAKE_CUDA_COMPILER) # a toolkit may have come since
    fi
    cmake -S "$source_dir" -B "$build_dir" "${options[@]}" "$@"
    cmake --build "$build_dir" --parallel "$(nproc)"
}
