# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts that draw the manual's figures share."""

import os

import matplotlib

matplotlib.use("Agg")
import numpy as np
from gnuradio import blocks, gr
from matplotlib import pyplot as plt
from PIL import Image

FOLDER = os.path.dirname(os.path.abspath(__file__))
BLUE, ORANGE, GREY = "#225588", "#ee7733", "0.4"

plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})


def run(block, *inputs):
    """What comes out of every port of a block that takes these streams: an array, or a
    list of arrays. Items that are vectors come one after the other."""
    tb = gr.top_block()
    for port, samples in enumerate(inputs):
        vlen = _values(block.input_signature(), port, samples.dtype)
        source = (blocks.vector_source_c if np.iscomplexobj(samples)
                  else blocks.vector_source_f)
        tb.connect(source(samples.ravel().tolist(), False, vlen), (block, port))
    signature = block.output_signature()
    sinks = []
    for port in range(max(signature.min_streams(), signature.max_streams())):
        complex_out = np.iscomplexobj(inputs[0])
        vlen = _values(signature, port, np.complex64 if complex_out else np.float32)
        sink = blocks.vector_sink_c if complex_out else blocks.vector_sink_f
        sinks.append(sink(vlen))
        tb.connect((block, port), sinks[-1])
    tb.run()
    out = [np.array(sink.data()) for sink in sinks]
    return out[0] if len(out) == 1 else out


def _values(signature, port, dtype):
    size = 8 if np.dtype(dtype).kind == "c" else 4
    return signature.sizeof_stream_item(port) // size


def to_db(z):
    return 20 * np.log10(np.abs(z) + 1e-20)


def new_axes(title, n_rows=1, share=True):
    figure, axes = plt.subplots(n_rows, 1, figsize=(7, 2.2 + 1.2 * n_rows), sharex=share,
                                layout="constrained")
    axes = np.atleast_1d(axes)
    axes[0].set_title(title, weight="bold")
    for a in axes:
        a.grid(alpha=0.3)
    return figure, axes


def save(figure, name, dpi=90, colours=48):
    """Writes a PNG of few colours, which is small, beside this file."""
    figure.set_dpi(dpi)
    figure.canvas.draw()
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    image = image.quantize(colours, dither=Image.Dither.NONE)
    image.save(os.path.join(FOLDER, name), optimize=True)
    plt.close(figure)
