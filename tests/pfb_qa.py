# SPDX-License-Identifier: GPL-3.0-or-later
"""
What the Python tests of the filter banks share: float64 references, runs of blocks with
several ports.
"""

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import convolve


def channelize(x, taps, K, R=None, channels=None):
    """In float64, with t_s = (s+1) R - 1, rows of floor(N / R) items:
    y_c[s] = e^{-j 2 pi c (s+2) R / K} sum_m h[m] e^{+j 2 pi c m / K} x[t_s - m]."""
    R = R or K
    m = np.arange(len(taps))
    rows = []
    for c in range(K) if channels is None else channels:
        turned = np.asarray(taps) * np.exp(2j * np.pi * (c * m % K) / K)
        y = convolve(x, turned)[R - 1::R]
        s = np.arange(len(y))
        rows.append(y * np.exp(-2j * np.pi * (c * (s + 2) * R % K) / K))
    return np.array(rows)


def synthesize(rows, taps, K, slots, twox=False):
    """y[t] = sum_c (up_K(X_c) * (h[m] e^{+j 2 pi c m / K}))[t]; with twox
    sum_c e^{+j 2 pi c (t+K) / (2K)} (up_K(X_c) * h)[t]."""
    n = len(rows[0]) * K
    y = np.zeros(n, np.complex128)
    t, m = np.arange(n), np.arange(len(taps))
    for row, c in zip(rows, slots):
        up = np.zeros(n, np.complex128)
        up[::K] = row
        if twox:
            turn = np.exp(2j * np.pi * (c * (t + K) % (2 * K)) / (2 * K))
            y += turn * convolve(up, taps)
        else:
            y += convolve(up, np.asarray(taps) * np.exp(2j * np.pi * (c * m % K) / K))
    return y


def tag_list(offsets):
    return [gr.tag_utils.python_to_tag((int(offset), pmt.intern("tag"),
                                        pmt.from_long(int(offset))))
            for offset in offsets]


def collected(sink):
    return sorted((t.offset, pmt.to_python(t.value)) for t in sink.tags())


def run_ports(block, x, n_outputs, tags=(), most=None):
    """x through a block of one input; a row for each of its outputs, and with tags also
    the sorted (offset, value) of each output."""
    source = blocks.vector_source_c(x.tolist(), False, 1, tag_list(tags))
    sinks = [blocks.vector_sink_c() for _ in range(n_outputs)]
    tb = gr.top_block()
    tb.connect(source, block)
    for o, sink in enumerate(sinks):
        tb.connect((block, o), sink)
    tb.run(most) if most else tb.run()
    y = np.array([sink.data() for sink in sinks], np.complex64)
    return (y, [collected(sink) for sink in sinks]) if len(tags) else y


def run_vectors(block, x, n_elements, tags=(), most=None):
    """The same for a block of one vector output: a row for each element."""
    source = blocks.vector_source_c(x.tolist(), False, 1, tag_list(tags))
    sink = blocks.vector_sink_c(n_elements)
    tb = gr.top_block()
    tb.connect(source, block, sink)
    tb.run(most) if most else tb.run()
    y = np.array(sink.data(), np.complex64).reshape(-1, n_elements).T
    return (y, collected(sink)) if len(tags) else y


def run_inputs(block, rows, most=None, tags=()):
    """Rows into the inputs of a block of one output; tags go into the first."""
    sink = blocks.vector_sink_c()
    tb = gr.top_block()
    for i, row in enumerate(rows):
        source = blocks.vector_source_c(np.asarray(row).tolist(), False, 1,
                                        tag_list(tags) if i == 0 else [])
        tb.connect(source, (block, i))
    tb.connect(block, sink)
    tb.run(most) if most else tb.run()
    y = np.array(sink.data(), np.complex64)
    return (y, collected(sink)) if len(tags) else y


class Split(gr.hier_block2):
    """Stock's way to feed a channelizer of K inputs: behind stream_to_streams."""

    def __init__(self, block, K, n_outputs):
        gr.hier_block2.__init__(self, "split", gr.io_signature(1, 1, 8),
                                gr.io_signature(n_outputs, n_outputs, 8))
        self.split, self.block = blocks.stream_to_streams(8, K), block
        self.connect(self, self.split)
        for c in range(K):
            self.connect((self.split, c), (block, c))
        for o in range(n_outputs):
            self.connect((block, o), (self, o))


def forms(K, taps, ratio=1, **keywords):
    """The three channelizers, each with a function that runs all its channels."""
    yield ("ports", Split(cufilter.pfb_channelizer_ccf(K, taps, ratio, **keywords), K, K),
           run_ports)
    yield "streams", cufilter.pfb.channelizer_ccf(K, taps, ratio, **keywords), run_ports
    yield "vectors", cufilter.pfb_channelizer_vcc(K, taps, ratio, **keywords), run_vectors
