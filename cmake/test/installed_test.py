# SPDX-License-Identifier: GPL-3.0-or-later
"""
Usage: installed_test.py PREFIX. The package installed there: imported from there, one
block in a flowgraph, and each of its blocks in GNU Radio Companion.
"""

import glob
import os
import sys

from gnuradio import blocks, cufilter, gr
from gnuradio.grc.core.platform import Platform

prefix = os.path.realpath(sys.argv[1])
module = os.path.realpath(cufilter.__file__)
assert module.startswith(prefix + os.sep), "imported from " + module

top = gr.top_block()
sink = blocks.vector_sink_f()
top.connect(blocks.vector_source_f([1, 0, 0, 0, 0]),
            cufilter.fft_filter_fff(1, [3, 2, 1]), sink)
top.run()
assert [round(y, 3) for y in sink.data()] == [3, 2, 1, 0, 0], sink.data()

grc = Platform(version=gr.version(), version_parts=("3", "10", "0"), prefs=gr.prefs())
grc.build_library()
folder = os.path.join(prefix, "share", "gnuradio", "grc", "blocks")
paths = glob.glob(os.path.join(folder, "cufilter_*.block.yml"))
assert paths, "no blocks in " + folder
for path in paths:
    block = grc.blocks[os.path.basename(path).split(".")[0]]
    assert os.path.realpath(block.loaded_from) == path, (path, block.loaded_from)
