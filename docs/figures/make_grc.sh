#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Draws grc.png: iir_compare.grc in GNU Radio Companion, with the blocks that its search finds.
# usage: make_grc.sh [BUILD]      (default build); needs Xvfb, xdotool and ImageMagick
set -e
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
if [ -z "$MAKE_GRC_SCREEN" ]; then
    exec env MAKE_GRC_SCREEN=1 xvfb-run -a -s "-screen 0 1500x760x24" "$0" "$build"
fi
home=$(mktemp -d)
trap 'kill $grc 2>/dev/null; sleep 1; rm -rf "$home"' EXIT
cat >"$home/grc.conf" <<END
[main]
main_window_width = 1500
main_window_height = 760
blocks_window_position = 1170
console_window_visible = False
variable_editor_visible = False
END
cp "$root/apps/examples/iir_compare.grc" "$home"
cd "$home"
HOME=$home GRC_PREFS_PATH=$home/grc.conf GRC_BLOCKS_PATH=$root/grc NO_AT_BRIDGE=1 \
    PYTHONPATH=$build/test_modules gnuradio-companion iir_compare.grc >log 2>&1 &
grc=$!
timeout 120 xdotool search --sync --onlyvisible --name iir_compare.grc windowfocus
sleep 5 # until the flowgraph is checked
xdotool key ctrl+f
sleep 1
xdotool type CUDA
sleep 5
import -window root -crop 1500x655+0+0 +repage -depth 8 +dither -colors 48 "$here/grc.png"
