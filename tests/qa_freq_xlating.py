# SPDX-License-Identifier: GPL-3.0-or-later
"""freq_xlating_fir_filter_{ccc,ccf,fcc,fcf,scc,scf} and freq_xlating_fft_filter_ccc."""

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from gnuradio.filter import firdes
from cufilter_qa import (Feeder, TestCase, convolve, main, random_items, random_taps, run,
                         stock, wait_until)

KINDS = ("ccc", "ccf", "fcc", "fcf", "scc", "scf")


def ours(kind):
    return getattr(cufilter, "freq_xlating_fir_filter_" + kind)


def moved(x, taps, turns, D=1, start=0.0, first=0):
    """From output `first` on, e^{2 pi j (start - turns D (m - first))} times the filter
    around `turns`, in float64."""
    k = np.arange(len(taps))
    y = convolve(x, np.asarray(taps) * np.exp(2j * np.pi * (turns * k % 1)), D)[first:]
    m = np.arange(len(y))
    return y * np.exp(2j * np.pi * ((start - turns * D * m) % 1))


def middle(turns, taps):
    return -turns * (len(taps) - 1) / 2


def tone(turns, n):
    return np.exp(2j * np.pi * (turns * np.arange(n) % 1)).astype(np.complex64)


class Filters(TestCase):
    def test_values(self):
        for kind in KINDS:
            for D, n_taps in ((1, 1), (1, 64), (3, 65), (10, 257), (125, 1025)):
                for turns in (0, 0.3, -0.123456789, 7.25):
                    with self.subTest(kind=kind, D=D, n_taps=n_taps, turns=turns):
                        x = random_items(self.rng, kind[0], 10007)
                        taps = random_taps(self.rng, kind[2], n_taps)
                        y = run(ours(kind)(D, taps, turns * 1e6, 1e6), x, kind[0] + "c")
                        self.assertEqual(len(y), len(x) // D)
                        self.assert_close(y, moved(x, taps, turns, D,
                                                   middle(turns, taps)))

    def test_as_stock(self):
        """The stock blocks count the phase in floats."""
        for kind in KINDS:
            for D in (1, 4):
                x = random_items(self.rng, kind[0], 3000)
                taps = random_taps(self.rng, kind[2], 90)
                arguments = (D, taps, 0.3, 1)
                expected = run(getattr(stock, "freq_xlating_fir_filter_" + kind)(
                    *arguments), x, kind[0] + "c")
                self.assert_close(run(ours(kind)(*arguments), x, kind[0] + "c"), expected,
                                  1e-4)

    def test_no_drift(self):
        """C30, S5: stock is off by 0.04 rad in 200000 outputs, 0.03 in a million."""
        for D, turns, n, taps in (
                (10, 123456.789 / 1e6, 2000000, firdes.low_pass(1, 1e6, 50e3, 20e3)),
                (1, 0.123456789, 1000000, [1.0])):
            block = cufilter.freq_xlating_fir_filter_ccf(D, taps, turns, 1)
            y = run(block, tone(turns, n), "cc")
            settled = len(taps) // D + 1
            early = np.mean(y[settled:settled + 2000].astype(complex))
            late = np.mean(y[-2000:].astype(complex))
            self.assertLessEqual(abs(np.angle(late / early)), 1e-6)
            self.assertLessEqual(abs(abs(late) / abs(early) - 1), 1e-6)

    def test_bits_of_all_call_sizes(self):
        """S6: one tap leaves nothing to the filter, and calls do not show."""
        x = random_items(self.rng, "c", 5003)
        expected = run(cufilter.freq_xlating_fir_filter_ccf(1, [1], 0.1234, 1), x, "cc")
        for most in (1, 2, 255, 256, 257, 1000):
            y = run(cufilter.freq_xlating_fir_filter_ccf(1, [1], 0.1234, 1), x, "cc",
                    max_noutput_items=most)
            np.testing.assert_array_equal(y, expected)

    def test_small_calls_and_batches(self):
        x = random_items(self.rng, "s", 30011)
        taps = random_taps(self.rng, "f", 77)
        for D in (1, 7):
            expected = moved(x, taps, 0.2, D, middle(0.2, taps))
            for most in (1, 3, 300):
                y = run(cufilter.freq_xlating_fir_filter_scf(D, taps, 0.2, 1), x, "sc",
                        max_noutput_items=most)
                self.assert_close(y, expected)
            for batch_items in (1, 20000):
                y = run(cufilter.freq_xlating_fir_filter_scf(
                    D, taps, 0.2, 1, batch_items=batch_items), x, "sc")
                self.assert_close(y, expected)

    def test_counts_and_tags(self):
        """floor(N / D) items; tags where fir_filter has them."""
        taps = [1.0] * 31
        for n in (0, 1, 3, 4, 5, 8000):
            x = random_items(self.rng, "c", n)
            offsets = range(0, n, 25)
            tags = [gr.tag_utils.python_to_tag((o, pmt.intern("k"), pmt.from_long(o)))
                    for o in offsets]
            results = [run(block, x, "cc", tags=tags) if n else run(block, x, "cc")
                       for block in (cufilter.freq_xlating_fir_filter_ccf(4, taps, 0, 1),
                                     cufilter.fir_filter_ccf(4, taps))]
            if n:
                self.assertEqual(results[0][1], results[1][1])
                results = [y for y, _ in results]
            self.assertEqual([len(y) for y in results], [n // 4] * 2)

    def test_fft_filter(self):
        """No phase of the middle, as in stock's block of that name."""
        for D, n_taps in ((1, 64), (5, 129), (16, 1000)):
            for turns in (0, 0.3, -0.4321):
                x = random_items(self.rng, "c", 10007)
                taps = random_taps(self.rng, "c", n_taps)
                y = run(cufilter.freq_xlating_fft_filter_ccc(D, taps, turns * 1e6, 1e6),
                        x, "cc")
                self.assertEqual(len(y), len(x) // D)
                self.assert_close(y, moved(x, taps, turns, D))
                short = run(stock.freq_xlating_fft_filter_ccc(D, taps, turns * 1e6, 1e6),
                            x, "cc")
                short = short[:600]  # its phase drifts
                self.assert_close(y[:len(short)], short, 1e-3)

    def test_refused(self):
        for kind in KINDS:
            for arguments in ((0, [1], 0, 1), (-1, [1], 0, 1), (1, [], 0, 1),
                              (1, [float("nan")], 0, 1), (1, [1], float("nan"), 1),
                              (1, [1], float("inf"), 1), (1, [1], 0, 0),
                              (1, [1], 0, -1), (1, [1], 0, float("nan")),
                              (1, [1], 0, 1, -3), (1, [1], 0, 1, -1, -1)):
                with self.assertRaises(ValueError, msg=(kind, arguments)):
                    ours(kind)(*arguments)
                if len(arguments) > 4:
                    continue
                with self.assertRaises(ValueError, msg=arguments):
                    cufilter.freq_xlating_fft_filter_ccc(*arguments)
        with self.assertRaises(TypeError):
            cufilter.freq_xlating_fir_filter_ccf(1, [1j], 0, 1)
        block = cufilter.freq_xlating_fir_filter_ccf(1, [1, 2], 5, 10)
        for bad in ([], [float("inf")]):
            with self.assertRaisesRegex(ValueError, "freq_xlating_fir_filter_ccf.*taps"):
                block.set_taps(bad)
        with self.assertRaisesRegex(ValueError, "center_freq"):
            block.set_center_freq(float("nan"))
        self.assertEqual((block.taps(), block.center_freq()), ([1, 2], 5))
        fft = cufilter.freq_xlating_fft_filter_ccc(1, [1], 0, 1)
        fft.set_nthreads(2)
        with self.assertRaises(ValueError):
            fft.set_nthreads(0)
        self.assertEqual(fft.nthreads(), 2)

    def test_by_keyword(self):
        block = cufilter.freq_xlating_fir_filter_ccc(
            decimation=2, taps=[1], center_freq=3, sampling_freq=4, device=-1,
            batch_items=1000)
        self.assertEqual((block.decimation(), block.device()), (2, -1))
        block = cufilter.freq_xlating_fft_filter_ccc(decim=3, taps=[1], center_freq=3,
                                                     samp_rate=4, device=-1)
        block.declare_sample_delay(6)
        self.assertEqual((block.decimation(), block.history()), (3, 1))


class Live(TestCase):
    def changed(self, block, x, change):
        """The output, and the items with a tag freq and its value."""
        sink = blocks.vector_sink_c()
        tb = gr.top_block()
        feeder = Feeder(x, len(x) // 2, change)
        tb.connect(feeder, block, sink)
        tb.run()
        tags = [(t.offset, pmt.to_python(t.value)) for t in sink.tags()
                if pmt.symbol_to_string(t.key) == "freq"]
        return np.array(sink.data(), np.complex64), tags

    def test_frequency(self):
        """Neither a gap nor a jump: the tag's item is the first of the new frequency."""
        for D in (1, 8):
            old, new = 0.11, -0.1234567
            x = random_items(self.rng, "c", 40000)
            taps = random_taps(self.rng, "f", 101)
            block = cufilter.freq_xlating_fir_filter_ccf(D, taps, old, 1)
            y, tags = self.changed(block, x, lambda: block.set_center_freq(new))
            (m, value), = tags
            self.assertEqual(value, new)
            self.assertEqual(len(y), len(x) // D)
            self.assert_close(y[:m], moved(x, taps, old, D, middle(old, taps))[:m])
            start = middle(old, taps) - old * D * m + middle(new - old, taps)
            self.assert_close(y[m:], moved(x, taps, new, D, start, m))

    def test_phase_goes_on(self):
        """Pain 14: retuned along a tone, the middle of a symmetric filter sees no jump."""
        f, step = 0.2, 1e-4
        taps = firdes.low_pass(1, 1, 0.05, 0.02)
        block = cufilter.freq_xlating_fir_filter_ccf(1, taps, f, 1)
        y, tags = self.changed(block, tone(f, 40000),
                               lambda: block.set_center_freq(f + step))
        (m, _), = tags
        jump = np.angle(y[m] / y[m - 1])
        self.assertLessEqual(abs(jump), 2.1 * np.pi * step)

    def test_taps(self):
        """Of any length: the whole input under the new taps, the phase as it was."""
        for n_old, n_new in ((31, 1000), (1000, 31), (5, 20000)):
            turns, D = 0.17, 3
            x = random_items(self.rng, "f", 90000)
            old, new = (random_taps(self.rng, "c", n) for n in (n_old, n_new))
            block = cufilter.freq_xlating_fir_filter_fcc(D, old, turns, 1)
            y, tags = self.changed(block, x, lambda: block.set_taps(new))
            (m, _), = tags
            self.assertEqual(len(y), len(x) // D)
            phase = middle(turns, old)
            self.assert_close(y[:m], moved(x, old, turns, D, phase)[:m])
            self.assert_close(y[m:], moved(x, new, turns, D, phase)[m:])

    def test_fft_filter(self):
        """The turning goes on from where it was, as in stock's; no tags."""
        D, old, new = 2, 0.1, 0.35
        x = random_items(self.rng, "c", 60000)
        taps = random_taps(self.rng, "c", 64)
        block = cufilter.freq_xlating_fft_filter_ccc(D, taps, old, 1)
        y, tags = self.changed(block, x, lambda: block.set_center_freq(new))
        self.assertEqual(tags, [])
        before = moved(x, taps, old, D)
        off = np.abs(y - before) > 1e-4
        m = int(np.argmax(off))
        self.assertGreater(m, 0)
        first = [i for i in range(max(m - 3, 0), m + 1)
                 if np.max(np.abs(y[i:] - moved(x, taps, new, D, -old * D * i, i))) < 1e-4]
        self.assertTrue(first)

    def test_messages(self):
        block = cufilter.freq_xlating_fir_filter_ccf(1, [1], 0, 1)
        tb = gr.top_block()
        tb.connect(blocks.null_source(8), block, blocks.null_sink(8))
        tb.start()

        def post(port, message):
            block.to_basic_block()._post(pmt.intern(port), message)

        freq, taps = pmt.intern("freq"), pmt.intern("taps")
        both = pmt.dict_add(pmt.dict_add(pmt.make_dict(), freq, pmt.from_double(0.75)),
                            taps, pmt.init_f32vector(2, [3, 4]))
        post("freq", pmt.intern("nonsense"))
        post("freq", pmt.cons(freq, pmt.from_double(float("nan"))))
        post("cmd", pmt.cons(taps, pmt.init_f32vector(1, [float("inf")])))
        for port, message, wanted in (
                ("freq", pmt.cons(freq, pmt.from_double(0.25)), (0.25, [1])),
                ("freq", pmt.cons(pmt.intern("value"), pmt.from_long(2)), (2, [1])),
                ("freq", pmt.dict_add(pmt.make_dict(), freq, pmt.from_double(-0.5)),
                 (-0.5, [1])),
                ("cmd", pmt.cons(freq, pmt.from_double(0.125)), (0.125, [1])),
                ("cmd", both, (0.75, [3, 4])),
                ("cmd", pmt.cons(taps, pmt.init_f32vector(1, [5])), (0.75, [5]))):
            post(port, message)
            wait_until(lambda: (block.center_freq(), block.taps()) == wanted)
        tb.stop()
        tb.wait()

    def test_runs_again(self):
        """Filter and phase go on in the next run."""
        x = random_items(self.rng, "c", 9000)
        taps = random_taps(self.rng, "f", 33)
        block = cufilter.freq_xlating_fir_filter_ccf(4, taps, 0.3, 1)
        y = np.concatenate([run(block, x, "cc") for _ in range(2)])
        self.assert_close(y, moved(np.tile(x, 2), taps, 0.3, 4, middle(0.3, taps)))


if __name__ == "__main__":
    main()
