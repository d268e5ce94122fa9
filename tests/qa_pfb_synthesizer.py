# SPDX-License-Identifier: GPL-3.0-or-later
"""pfb_synthesizer_ccf: values, slots, arguments, and there and back."""

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio.cufilter import pfb
from cufilter_qa import TestCase, main, random_items, random_taps, rms, stock
from pfb_qa import run_inputs, synthesize

SHAPES = ((5, 29), (4, 4), (1, 17), (8, 3), (7, 100), (32, 241), (10, 181))


class Synthesizer(TestCase):
    def rows(self, n_rows, n):
        return [random_items(self.rng, "c", n) for _ in range(n_rows)]

    def test_formula(self):
        for K, n_taps in SHAPES:
            for twox in (False, True):
                slots = 2 * K if twox else K
                taps = random_taps(self.rng, "f", n_taps)
                for n_inputs in sorted({1, max(slots // 2, 1), slots}):
                    with self.subTest(K=K, n_taps=n_taps, twox=twox, n_inputs=n_inputs):
                        rows = self.rows(n_inputs, 207)
                        y = run_inputs(cufilter.pfb_synthesizer_ccf(K, taps, twox), rows)
                        self.assert_close(y, synthesize(rows, taps, K, range(n_inputs),
                                                        twox))

    def test_against_stock(self):
        for K, n_taps, twox in ((5, 29, False), (5, 30, False), (6, 109, True),
                                (10, 300, True), (4, 4, True), (32, 241, False)):
            for slots in (None, [1, 0, 3]):
                with self.subTest(K=K, n_taps=n_taps, twox=twox, slots=slots):
                    taps = random_taps(self.rng, "f", n_taps)
                    rows = self.rows(len(slots) if slots else K, 300)
                    results = []
                    for module in (cufilter, stock):
                        block = module.pfb_synthesizer_ccf(K, taps, twox)
                        if slots:
                            block.set_channel_map(slots)
                        results.append(run_inputs(block, rows))
                    self.assert_close(results[0], results[1], 1e-6)

    def test_map_of_a_flowgraph(self):
        """G28: six inputs, twice the rate, slots around zero."""
        slots = [10, 11, 0, 1, 2, 3]
        taps = random_taps(self.rng, "f", 109)
        rows = self.rows(6, 500)
        block = cufilter.pfb_synthesizer_ccf(6, taps, True)
        self.assertEqual(block.channel_map(), list(range(12)))
        block.set_channel_map(slots)
        self.assertEqual(block.channel_map(), slots)
        self.assert_close(run_inputs(block, rows), synthesize(rows, taps, 6, slots, True))

    def test_other_number_of_inputs_later(self):
        """The stream goes on; inputs that are gone are zero."""
        for twox in (False, True):
            K, n = 5, 101
            taps = random_taps(self.rng, "f", 43)
            rows = np.array(self.rows(K, 3 * n))
            block = cufilter.pfb_synthesizer_ccf(K, taps, twox)
            parts = []
            for turn, n_inputs in enumerate((5, 2, 4)):
                part = slice(turn * n, (turn + 1) * n)
                rows[n_inputs:, part] = 0
                parts.append(run_inputs(block, rows[:n_inputs, part]))
            self.assert_close(np.concatenate(parts),
                              synthesize(rows, taps, K, range(K), twox))

    def test_small_calls_and_batches(self):
        K = 6
        taps = random_taps(self.rng, "f", 77)
        rows = self.rows(K, 1000)
        expected = synthesize(rows, taps, K, range(K))
        for most in (K, K + 1, 100, None):
            for batch_items in (0, 500):
                block = cufilter.pfb_synthesizer_ccf(K, taps, batch_items=batch_items)
                self.assert_close(run_inputs(block, rows, most), expected)

    def test_no_taps_and_few(self):
        """C54, pain 18: silent, and zero where a branch has no tap."""
        rows = self.rows(4, 100)
        for taps in ([], [0.0]):
            block = cufilter.pfb_synthesizer_ccf(4, taps)
            y = run_inputs(block, rows)
            self.assertEqual(len(y), 400)
            self.assertEqual(np.max(np.abs(y)), 0)
        self.assertEqual(cufilter.pfb_synthesizer_ccf(4, []).taps(), [[]] * 4)
        block = cufilter.pfb_synthesizer_ccf(4, [1, 2])
        y = run_inputs(block, rows).reshape(-1, 4)
        self.assertEqual(np.max(np.abs(y[:, 2:])), 0)
        self.assertGreater(rms(y[:, :2]), 0.1)
        block.set_taps([])
        self.assertEqual(np.max(np.abs(run_inputs(block, rows)[4:])), 0)

    def test_taps_by_branch(self):
        for K, n_taps in ((4, 5), (4, 1), (6, 29), (2, 50)):
            for twox in (False, True):
                taps = random_taps(self.rng, "f", n_taps)
                self.assertEqual(cufilter.pfb_synthesizer_ccf(K, taps, twox).taps(),
                                 stock.pfb_synthesizer_ccf(K, taps, twox).taps())

    def test_tags(self):
        """As stock: one for each, at the first of its frame's items."""
        rows = self.rows(3, 200)
        results = []
        for module in (cufilter, stock):
            block = module.pfb_synthesizer_ccf(3, [1, 2, 3])
            results.append(run_inputs(block, rows, tags=range(0, 200, 7))[1])
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], [(3 * i, i) for i in range(0, 200, 7)])

    def test_refused(self):
        make = cufilter.pfb_synthesizer_ccf
        for error, arguments in ((ValueError, (0, [1])), (ValueError, (-1, [1])),
                                 (ValueError, (16385, [1])),
                                 (ValueError, (8193, [1], True)),
                                 (ValueError, (4, [float("nan")])),
                                 (TypeError, (4, [1j])), (TypeError, (4, None))):
            with self.assertRaises(error):
                make(*arguments)
        block = make(4, [1])
        for bad in ([4], [-1], [0, 0]):
            with self.assertRaises(ValueError):
                block.set_channel_map(bad)
        block.set_channel_map([2, 1])
        with self.assertRaisesRegex(ValueError, "3 ports"):
            run_inputs(block, self.rows(3, 10))
        twice = make(4, [1], twox=True)
        twice.set_channel_map([7])
        with self.assertRaises(ValueError):
            twice.set_channel_map([8])


class ThereAndBack(TestCase):
    @staticmethod
    def kaiser(n, beta=13):
        return np.kaiser(n, beta)

    def test_reconstruction(self):
        """docs/pfb.md: a channelizer of 2 K channels at twice their rate, then a
        synthesizer with twox, gives the input back within -100 dB."""
        for K in (4, 8, 16):
            P = 2 * K
            n = np.arange(40 * K + 1) - 20 * K
            analysis = np.sinc(2 * n / P) * 2 / P * self.kaiser(40 * K + 1)
            analysis /= np.sum(analysis)
            n = np.arange(42 * K + 1) - 21 * K
            synthesis = np.sinc(n / P) / 2 * self.kaiser(42 * K + 1)
            delay = (40 * K + 42 * K) // 2 - (K - 1)
            x = random_items(self.rng, "c", 400 * K)
            sink, tb = blocks.vector_sink_c(), gr.top_block()
            forth = pfb.channelizer_ccf(P, analysis, 2)
            back = cufilter.pfb_synthesizer_ccf(K, synthesis, True)
            tb.connect(blocks.vector_source_c(x.tolist()), forth)
            for c in range(P):
                tb.connect((forth, c), (back, c))
            tb.connect(back, sink)
            tb.run()
            y = np.array(sink.data())
            self.assertEqual(len(y), len(x))
            steady = y[90 * K:]
            source = x[90 * K - delay:len(x) - delay]
            gain = np.vdot(source, steady) / np.vdot(source, source)
            residual = rms(steady - gain * source) / rms(gain * source)
            self.assertLessEqual(20 * np.log10(residual), -100)
            self.assertLessEqual(abs(abs(gain) - 1), 0.01)


if __name__ == "__main__":
    main()
