# SPDX-License-Identifier: GPL-3.0-or-later
"""fir_filter_{ccc,ccf,fcc,fff,fsf,scc}: values, counts, rounding and arguments."""

import tempfile

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import (FIR_KINDS, convolve, main, random_items, random_taps, rms, run,
                         stock)
from fir_qa import FirTestCase, makers

ours, theirs = makers("fir_filter_")


class FirFilter(FirTestCase):
    def test_values(self):
        kinds = [kind for kind in FIR_KINDS if kind != "fsf"]
        self.check_values(ours, kinds, (1, 2, 3, 4, 25), (1, 2, 31, 64, 65, 257, 1025))

    def test_short_output(self):
        """fsf converts as the stock block does on this machine; a sum within float
        rounding of a step may fall on either side."""
        x = 3000 * random_items(self.rng, "f", 20011)
        for decimation in (1, 3):
            for n_taps in (1, 7, 64, 1025):
                with self.subTest(decimation=decimation, n_taps=n_taps):
                    taps = random_taps(self.rng, "f", n_taps)
                    y = run(cufilter.fir_filter_fsf(decimation, taps), x, "fs")
                    expected = run(stock.fir_filter_fsf(decimation, taps), x, "fs")
                    self.assertEqual(len(y), len(expected))
                    self.assertGreater(rms(expected), 100)
                    differ = np.flatnonzero(y != expected)
                    self.assertLessEqual(
                        np.max(np.abs(y.astype(int) - expected), initial=0), 1)
                    exact = convolve(x, taps, decimation)[differ]
                    to_step = np.abs(2 * exact - np.rint(2 * exact)) / 2
                    self.assertTrue(np.all(to_step <= 5e-6 * 3000))
                    self.assertLess(len(differ), 0.02 * len(y))

    def test_short_output_exactly(self):
        x = np.array([0.25, 0.5, 0.75, 1.5, 2.5, -0.25, -0.75, -1.5, -2.5, 100.99,
                      32766.5, -32767.25], np.float32)
        y = run(cufilter.fir_filter_fsf(1, [1]), x, "fs")
        np.testing.assert_array_equal(y, run(stock.fir_filter_fsf(1, [1]), x, "fs"))

    def test_short_output_saturates(self):
        x = np.array([40000, -40000, 1e9, -1e9, 32767, -32768, 0], np.float32)
        y = run(cufilter.fir_filter_fsf(1, [1]), x, "fs")
        np.testing.assert_array_equal(
            y, [32767, -32768, 32767, -32768, 32767, -32768, 0])

    def test_counts_at_the_edges(self):
        self.check_counts_at_the_edges(ours, FIR_KINDS)

    def test_count_of_a_long_stream(self):
        """62 of 2000 at a decimation of 32, as stock."""
        x = random_items(self.rng, "f", 2000)
        self.assertEqual(len(run(cufilter.fir_filter_fff(32, [1] * 5), x, "ff")), 62)
        self.assertEqual(len(run(stock.fir_filter_fff(32, [1] * 5), x, "ff")), 62)

    def test_no_history_off_by_one(self):
        """C22."""
        x = random_items(self.rng, "f", 1001)
        np.testing.assert_array_equal(run(cufilter.fir_filter_fff(1, [1.0]), x, "ff"), x)
        delayed = run(cufilter.fir_filter_fff(1, [0, 1]), x, "ff")
        np.testing.assert_array_equal(delayed, np.concatenate([[0], x[:-1]]))
        tag = gr.tag_utils.python_to_tag((100, pmt.intern("k"), pmt.from_long(5)))
        _, tags = run(cufilter.fir_filter_fff(1, [0, 1]), x, "ff", tags=[tag])
        self.assertEqual(tags, [(100, "k", 5)])

    def test_order_of_the_taps(self):
        """C26: an impulse gives the taps, first one first."""
        impulse = np.zeros(12, np.float32)
        impulse[0] = 1
        for kind in ("fff", "ccf", "ccc", "fcc", "scc"):
            for decimation in (1, 2):
                with self.subTest(kind=kind, decimation=decimation):
                    x = impulse.astype({"c": np.complex64, "f": np.float32,
                                        "s": np.int16}[kind[0]])
                    y = run(ours(kind)(decimation, [1, 2, 3, 4, 5]), x, kind)
                    expected = np.array([1, 2, 3, 4, 5] + [0] * 7)[::decimation]
                    np.testing.assert_allclose(y, expected, atol=1e-6)

    def test_filters_do_not_share_scratch(self):
        """C24: 8 filters side by side, 20 runs, the same bits as each alone."""
        n = 4000  # one call, so that the same bits are due
        x = random_items(self.rng, "c", n)
        all_taps = [random_taps(self.rng, "c", m) for m in
                    (1, 2, 16, 63, 64, 129, 500, 2001)]
        alone = [run(cufilter.fir_filter_ccc(1, taps, batch_items=n), x, "cc")
                 for taps in all_taps]
        for y, taps in zip(alone, all_taps):
            self.assert_close(y, convolve(x, taps))
        for _ in range(20):
            tb = gr.top_block()
            source = blocks.vector_source_c(x.tolist())
            sinks = []
            for taps in all_taps:
                sinks.append(blocks.vector_sink_c())
                tb.connect(source, cufilter.fir_filter_ccc(1, taps, batch_items=n),
                           sinks[-1])
            tb.run()
            for sink, expected in zip(sinks, alone):
                np.testing.assert_array_equal(np.array(sink.data(), np.complex64),
                                              expected)

    def test_wide_open_band_pass(self):
        """C16, decimated too."""
        self.check_wide_open_band_pass(ours, (1, 2))

    def test_not_finite_items(self):
        """A NaN leaves no trace once it and its transform are gone."""
        for n_taps in (5, 301):
            x = random_items(self.rng, "f", 40000)
            x[10000] = np.nan
            taps = random_taps(self.rng, "f", n_taps)
            y = run(cufilter.fir_filter_fff(1, taps), x, "ff")
            clean = x.copy()
            clean[10000] = 0
            expected = convolve(clean, taps)
            self.assertTrue(np.all(np.isnan(y[10000:10000 + n_taps])))
            after = 10000 + n_taps - 1 + 8192
            self.assert_close(y[after:], expected[after:])

    def test_arguments_taken_as_stock_takes_them(self):
        with tempfile.TemporaryFile() as file:
            np.arange(1, 6).astype(np.complex64).tofile(file)
            file.seek(0)
            from_file = np.fromfile(file, np.complex64)
        for kind, taps in (("ccc", [1, 2, 3]), ("ccc", from_file), ("fcc", (1, 2j)),
                           ("scc", [1j]), ("ccf", np.array([1, 2.0])), ("fsf", [1, 2]),
                           ("fff", np.array([1, 2], np.float32))):
            with self.subTest(kind=kind, taps=taps):
                self.assertEqual(ours(kind)(1, taps).taps(), theirs(kind)(1, taps).taps())
        block = cufilter.fir_filter_fcc(decimation=2, taps=[1j], device=-1,
                                        batch_items=1000)
        self.assertEqual((block.decimation(), block.taps(), block.device()),
                         (2, [1j], -1))

    def test_arguments_refused(self):
        for kind in FIR_KINDS:
            for error, arguments in (
                    (TypeError, (2.0, [1])), (TypeError, (1, None)),
                    (ValueError, (0, [1])), (ValueError, (-1, [1])),
                    (ValueError, (1, [])), (ValueError, (1, [float("nan")])),
                    (ValueError, (1, [1], -3)), (ValueError, (1, [1], -1, -1))):
                with self.subTest(kind=kind, arguments=arguments):
                    with self.assertRaises(error):
                        ours(kind)(*arguments)
        for kind in ("ccf", "fff", "fsf"):
            with self.assertRaises(TypeError):
                ours(kind)(1, [1j])


if __name__ == "__main__":
    main()
