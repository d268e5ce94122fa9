# SPDX-License-Identifier: GPL-3.0-or-later
"""
What the Python tests share: random items, float64 references, runs of one block.

CUFILTER_DEVICE chooses what the blocks run on, as for users; a file run for a GPU where
there is none exits with 77 (skipped).
"""

import os
import sys
import time
import unittest

import numpy as np

from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock

ACCURACY = 5e-7  # relative rms against float64
SKIPPED = 77

FFT_KINDS = ("ccc", "ccf", "fff")
FIR_KINDS = ("ccc", "ccf", "fcc", "fff", "fsf", "scc")

DTYPES = {"c": np.complex64, "f": np.float32, "s": np.int16}
SOURCES = {"c": blocks.vector_source_c, "f": blocks.vector_source_f,
           "s": blocks.vector_source_s}
SINKS = {"c": blocks.vector_sink_c, "f": blocks.vector_sink_f, "s": blocks.vector_sink_s}


def random_items(rng, kind, n):
    if kind == "c":
        return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(np.complex64)
    if kind == "s":
        return rng.integers(-2000, 2000, n).astype(np.int16)
    return rng.standard_normal(n).astype(np.float32)


def random_taps(rng, kind, n):
    """Of a size that keeps outputs near 1, and never all zero."""
    taps = random_items(rng, kind, n) / np.float32(np.sqrt(n))
    assert rms(taps) > 0
    return taps


def rms(x):
    return float(np.sqrt(np.mean(np.abs(np.asarray(x, np.complex128)) ** 2)))


def convolve(x, taps, decimation=1):
    """y[m] = sum_k taps[k] x[m D - k] in float64; floor(N / D) of them."""
    n = len(x) // decimation
    if n == 0:
        return np.zeros(0)
    size = 1 << int(len(x) + len(taps)).bit_length()
    wide = np.complex128
    y = np.fft.ifft(np.fft.fft(np.asarray(x, wide), size) *
                    np.fft.fft(np.asarray(taps, wide), size))[:len(x)]
    if not (np.iscomplexobj(x) or np.iscomplexobj(taps)):
        y = y.real
    return y[::decimation][:n]


def run_changed(block, x, at, change):
    """Sends x through the block and calls change() once `at` items wait for it, if it has
    not taken some of them yet, then once it has."""
    sink = SINKS["c" if np.iscomplexobj(x) else "f"]()
    tb = gr.top_block()

    def change_in_the_middle():
        wait_until(lambda: block.nitems_read(0) > 0)
        change()

    feeder = Feeder(x, at, change_in_the_middle)
    tb.connect(feeder, block, sink)
    tb.run()
    return np.array(sink.data(), x.dtype)


class Feeder(gr.sync_block):
    """Puts out x and calls hook(), in its own thread, once `at` items have gone. As with
    every block written in Python, the caller must hold it while the flowgraph runs."""

    def __init__(self, x, at=None, hook=None):
        gr.sync_block.__init__(self, "feeder", None, [x.dtype])
        self.x, self.at, self.hook, self.sent = x, at, hook, 0

    def work(self, input_items, output_items):
        out = output_items[0]
        if self.hook and self.sent >= self.at:
            hook, self.hook = self.hook, None
            hook()
        n = min(len(out), len(self.x) - self.sent)
        if n == 0:
            return -1
        if self.hook:
            n = min(n, self.at - self.sent)
        out[:n] = self.x[self.sent:self.sent + n]
        self.sent += n
        return n


def run(block, x, kinds, tags=(), max_noutput_items=None, vlen=1):
    """Sends x through the block; kinds are the types of its input and output, items
    vectors of vlen of them, one after the other in x. Gives the output, and with tags
    also (offset, key, value) of those that came out."""
    source = SOURCES[kinds[0]](x.tolist(), False, vlen, list(tags))
    sink = SINKS[kinds[1]](vlen)
    tb = gr.top_block()
    tb.connect(source, block, sink)
    if max_noutput_items:
        tb.run(max_noutput_items)
    else:
        tb.run()
    y = np.array(sink.data(), DTYPES[kinds[1]])
    if not tags:
        return y
    import pmt
    return y, [(t.offset, pmt.symbol_to_string(t.key), pmt.to_python(t.value))
               for t in sink.tags()]


def run_rewired(first, second, turns):
    """Ones through `first`, and through `second` behind it as often as `turns` says, put
    in and taken out while the flowgraph is locked; what came out of it all."""
    source = blocks.vector_source_c([1] * 1000, True)
    throttle, sink = blocks.throttle(8, 2e6), blocks.vector_sink_c()
    tb = gr.top_block()
    tb.connect(source, throttle, first, sink)

    def wait_for_more():
        before = sink.nitems_read(0)
        wait_until(lambda: sink.nitems_read(0) > before + 1000)

    tb.start()
    for _ in range(turns):
        wait_for_more()
        tb.lock()
        tb.disconnect(first, sink)
        tb.connect(first, second, sink)
        tb.unlock()
        wait_for_more()
        tb.lock()
        tb.disconnect(first, second, sink)
        tb.connect(first, sink)
        tb.unlock()
    wait_for_more()
    tb.stop()
    tb.wait()
    return np.array(sink.data())


def wait_until(condition, seconds=60):
    """A first call on a GPU may take a while; what never comes is a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("nothing came in %g s" % seconds)
        time.sleep(0.01)


class TestCase(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20250101)

    def assert_close(self, y, expected, accuracy=ACCURACY, scale=None):
        """Same length, and rms of the difference within `accuracy` of the expected one.
        For a handful of items, whose own rms is an accident, `scale` takes its place."""
        self.assertEqual(len(y), len(expected))
        self.assertTrue(np.all(np.isfinite(y)))
        if len(expected) == 0:
            return
        scale = scale or rms(expected)
        self.assertGreater(scale, 0)
        self.assertLessEqual(rms(y - expected) / scale, accuracy)

    def assert_switches(self, y, before, after, accuracy=5e-6):
        """y follows `before` up to one moment and `after` from there on; gives it."""
        self.assertEqual(len(y), len(before))
        near = accuracy * max(rms(before), rms(after))
        off_before = np.abs(y - before) > near
        off_after = np.abs(y - after) > near
        self.assertTrue(np.any(off_before), "the new taps never came")
        moment = int(np.argmax(off_before))
        self.assertFalse(np.any(off_after[moment:]),
                         "item %d is neither old nor new" %
                         (moment + int(np.argmax(off_after[moment:]))))
        return moment


def main():
    asked = os.environ.get("CUFILTER_DEVICE", "cpu")
    if asked.isdigit():
        if int(asked) >= cufilter.device_count():
            print("skipped: there is no GPU %s" % asked)
            sys.exit(SKIPPED)
        device = cufilter.fft_filter_ccc(1, [1]).device()
        if device != int(asked):
            sys.exit("the blocks run on device %d, not %s" % (device, asked))
    unittest.main(verbosity=2)
