# SPDX-License-Identifier: GPL-3.0-or-later
"""fft_filter_{ccc,ccf,fff}: values, counts, arguments and accessors."""

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio.filter import firdes
from cufilter_qa import (FFT_KINDS, convolve, main, random_items, random_taps, rms, run,
                         stock)
from fir_qa import FirTestCase, makers

ours, theirs = makers("fft_filter_")


class FftFilter(FirTestCase):
    def test_values(self):
        self.check_values(ours, FFT_KINDS, (1, 2, 3, 7, 25),
                          (1, 2, 31, 64, 65, 257, 1025, 4097))

    def test_very_long(self):
        for kind, n_taps in (("ccc", 23127), ("ccf", 65536), ("fff", 100003)):
            with self.subTest(kind=kind, n_taps=n_taps):
                x = random_items(self.rng, kind[0], 200003)
                taps = random_taps(self.rng, kind[2], n_taps)
                self.assert_close(run(ours(kind)(1, taps), x, kind), convolve(x, taps))

    def test_counts_at_the_edges(self):
        self.check_counts_at_the_edges(ours, FFT_KINDS)

    def test_small_calls(self):
        x = random_items(self.rng, "c", 3001)
        taps = random_taps(self.rng, "c", 77)
        for most in (1, 2, 3, 17, 1000):
            for decimation in (1, 3):
                with self.subTest(most=most, decimation=decimation):
                    y = run(cufilter.fft_filter_ccc(decimation, taps), x, "cc",
                            max_noutput_items=most)
                    self.assert_close(y, convolve(x, taps, decimation))

    def test_finite_stream_keeps_its_tail(self):
        """C05, S1: the stock block gives fewer; ours floor(N / D)."""
        for decimation, n_taps, n in ((1, 5, 2000), (32, 5, 2000), (125, 603, 400000),
                                      (4, 161, 10000), (1, 2, 100), (3, 7, 1000),
                                      (1, 100, 1000), (1, 1000, 1000), (4, 100, 4096),
                                      (4, 50, 4000)):
            with self.subTest(decimation=decimation, n_taps=n_taps, n=n):
                x = random_items(self.rng, "f", n)
                taps = np.full(n_taps, 1 / n_taps, np.float32)
                y = run(cufilter.fft_filter_fff(decimation, taps), x, "ff")
                short = run(stock.fft_filter_fff(decimation, taps), x, "ff")
                self.assertEqual(len(y), n // decimation)
                self.assertLessEqual(len(short), len(y))
                self.assert_close(y, convolve(x, taps, decimation))

    def test_decimated_long_filter_on_default_buffers(self):
        """C01: the stock block wants 180750 items at once and ends the graph early."""
        taps = firdes.complex_band_pass(1, 12e6, -48e3, 48e3, 48e3)
        self.assertEqual(len(taps), 603)
        n = 40000000
        block = cufilter.fft_filter_ccc(125, [1])
        tb = gr.top_block()
        head = blocks.head(gr.sizeof_gr_complex, n)
        tb.connect(blocks.null_source(gr.sizeof_gr_complex), head, block,
                   blocks.null_sink(gr.sizeof_gr_complex))
        tb.start()
        block.set_taps(taps)
        tb.wait()
        self.assertEqual(block.nitems_written(0), n // 125)

        x = random_items(self.rng, "c", 100003)
        self.assert_close(run(cufilter.fft_filter_ccc(125, taps), x, "cc"),
                          convolve(x, taps, 125))

    def test_gain(self):
        """C13: DC gives the sum of the taps, a tone |H(f)|."""
        n, n_taps = 8192, 161
        for kind in FFT_KINDS:
            taps = random_taps(self.rng, kind[2], n_taps)
            settled = slice(n_taps, None)
            x = np.ones(n, np.complex64 if kind[0] == "c" else np.float32)
            y = run(ours(kind)(1, taps), x, kind)[settled]
            total = np.sum(np.asarray(taps, np.complex128))
            self.assertLessEqual(np.max(np.abs(y - total)),
                                 1e-6 * np.sum(np.abs(taps)))
            if kind[0] == "f":
                continue
            for cycles in (1, 100, 1000, 4000, 8000):
                with self.subTest(kind=kind, cycles=cycles):
                    w = 2 * np.pi * cycles / n
                    tone = np.exp(1j * w * np.arange(n)).astype(np.complex64)
                    y = run(ours(kind)(1, taps), tone, kind)[settled]
                    gain = np.abs(np.sum(taps * np.exp(-1j * w * np.arange(n_taps))))
                    self.assertLessEqual(abs(rms(y) - gain), 1e-6 * np.sum(np.abs(taps)))

    def test_wide_open_band_pass(self):
        """C16."""
        self.check_wide_open_band_pass(ours, (1,))

    def test_arguments_taken_as_stock_takes_them(self):
        """C15."""
        for kind, taps in (("ccc", [1, 2, 3]), ("ccc", (1, 2.5, 3j)),
                           ("ccc", np.array([1, 2j], np.complex64)),
                           ("ccc", np.array([1, 2j], np.complex128)),
                           ("ccc", np.array([1, 2], np.float32)),
                           ("ccf", np.array([1, 2.0], np.float64)),
                           ("ccf", np.array([1, 2], np.float32)),
                           ("fff", [1, 2]), ("fff", np.array([1, 2], np.int32)),
                           ("ccf", range(1, 4)),
                           ("fff", firdes.low_pass(1, 1, 0.2, 0.1))):
            with self.subTest(kind=kind, taps=taps):
                self.assertEqual(ours(kind)(1, taps).taps(), theirs(kind)(1, taps).taps())
        block = cufilter.fft_filter_ccf(decimation=2, taps=[1, 2], nthreads=2,
                                        device=cufilter.DEVICE_CPU, batch_items=1000)
        self.assertEqual((block.decimation(), block.taps(), block.nthreads(),
                          block.device()), (2, [1, 2], 2, cufilter.DEVICE_CPU))

    def test_arguments_refused(self):
        """C15, S9: a plain exception for each."""
        nan, inf = float("nan"), float("inf")
        for kind in FFT_KINDS:
            for error, arguments in (
                    (TypeError, (2.0, [1])), (TypeError, (1, None)), (TypeError, (1, 1)),
                    (TypeError, (1, ["a"])), (ValueError, (0, [1])),
                    (ValueError, (-3, [1])), (ValueError, (1, [])),
                    (ValueError, (1, [1, nan])), (ValueError, (1, [inf])),
                    (ValueError, (1, [1], 0)), (ValueError, (1, [1], 1, -3)),
                    (ValueError, (1, [1], 1, -1, -1)),
                    (ValueError, (1, np.zeros((1 << 20) + 1)))):
                with self.subTest(kind=kind, arguments=arguments):
                    with self.assertRaises(error):
                        ours(kind)(*arguments)
        for kind in ("ccf", "fff"):
            with self.assertRaises(TypeError):
                ours(kind)(1, [1j])
        with self.assertRaisesRegex(ValueError, "decimation.*-3"):
            cufilter.fft_filter_ccc(-3, [1])
        with self.assertRaisesRegex(ValueError, r"taps\[1\]"):
            cufilter.fft_filter_fff(1, [1, nan])

    def test_setters(self):
        block = cufilter.fft_filter_ccc(1, [1])
        block.set_taps([1, 2j])
        self.assertEqual(block.taps(), [1, 2j])
        for bad, error in (([], ValueError), ([float("nan")], ValueError),
                           ("taps", TypeError)):
            with self.assertRaises(error):
                block.set_taps(bad)
        self.assertEqual(block.taps(), [1, 2j])
        self.assertEqual(block.nthreads(), 1)
        block.set_nthreads(2)
        self.assertEqual(block.nthreads(), 2)
        with self.assertRaises(ValueError):
            block.set_nthreads(0)
        self.assertEqual(block.nthreads(), 2)
        x = random_items(self.rng, "c", 1000)
        self.assert_close(run(block, x, "cc"), convolve(x, [1, 2j]))

    def test_threads(self):
        x = random_items(self.rng, "c", 100003)
        taps = random_taps(self.rng, "c", 5001)
        self.assert_close(run(cufilter.fft_filter_ccc(1, taps, 2), x, "cc"),
                          convolve(x, taps))

    def test_nothing_held_back(self):
        """Neither history nor a multiple: one item in, one item out."""
        block = cufilter.fft_filter_ccc(3, [1] * 5000)
        self.assertEqual(block.history(), 1)
        # On a GPU it is large until the flowgraph runs, for the buffers' sake.
        if block.device() < 0:
            self.assertEqual(block.output_multiple(), 1)
        self.assertEqual(block.relative_rate(), 1 / 3)


if __name__ == "__main__":
    main()
