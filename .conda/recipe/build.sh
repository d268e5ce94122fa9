#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Run by conda-build in a copy of the source, with PREFIX, PYTHON, SP_DIR, CPU_COUNT,
# CMAKE_ARGS and the recipe's variants in the environment.
set -ex

cuda=ON
if [ "${cuda_compiler_version:-None}" = None ]; then cuda=OFF; fi

# shellcheck disable=SC2086
cmake ${CMAKE_ARGS:-} -G Ninja -S . -B buildconda \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib \
    -DPYTHON_EXECUTABLE="$PYTHON" \
    -DGR_PYTHON_DIR="$SP_DIR" \
    -DENABLE_CUDA=$cuda \
    -DENABLE_TESTING=OFF
cmake --build buildconda --parallel "$CPU_COUNT"
cmake --install buildconda
