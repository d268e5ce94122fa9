# SPDX-License-Identifier: GPL-3.0-or-later
"""sos_filter_{ff,cc} against scipy.signal.sosfilt in float64."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import TestCase, main, random_items, rms, run, run_changed
from iir_qa import (DEVICE, IIR_ACCURACY, LATE, PIECE, candidates, make_tags, post,
                    signal, wide)

KINDS = ("ff", "cc")


def ours(kind):
    return getattr(cufilter, "sos_filter_" + kind)


class Least(gr.sync_block):
    """Counts items and keeps the least one."""

    def __init__(self):
        gr.sync_block.__init__(self, "least", [np.float32], None)
        self.count, self.value = 0, np.inf

    def work(self, input_items, output_items):
        self.count += len(input_items[0])
        self.value = min(self.value, np.min(input_items[0]))
        return len(input_items[0])


class SosFilter(TestCase):
    def assert_filters(self, y, sos, x, accuracy=IIR_ACCURACY, **options):
        self.assert_close(y, signal.sosfilt(sos, wide(x), **options), accuracy)

    def test_every_order(self):
        x = {kind: random_items(self.rng, kind[0], 20011) for kind in KINDS}
        for kind in KINDS:
            for order in range(1, 33):
                for cutoff in (0.2, 0.05):
                    with self.subTest(kind=kind, order=order, cutoff=cutoff):
                        sos = signal.butter(order, cutoff, output="sos")
                        self.assert_filters(run(ours(kind)(sos), x[kind], kind), sos,
                                            x[kind])

    def test_designs(self):
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 30011)
            for sos in (signal.butter(4, [0.1, 0.2], "bandpass", output="sos"),
                        signal.cheby1(7, 1, 0.3, "highpass", output="sos"),
                        signal.cheby2(8, 60, 0.3, output="sos"),
                        signal.ellip(9, 0.5, 80, [0.2, 0.4], "bandstop", output="sos"),
                        signal.bessel(6, 0.2, output="sos"),
                        np.array([[0, 0, 1, 1, 0, 0]]),  # a delay of two
                        np.array([[0, 2, 0, 2, 0.5, 0]]),  # b0 = 0, a0 = 2
                        np.array([[3, 0, 0, 1, 0, 0]])):
                with self.subTest(kind=kind, sos=sos):
                    expected = signal.sosfilt(sos / sos[:, 3:4], wide(x))
                    self.assert_close(run(ours(kind)(sos), x, kind), expected,
                                      IIR_ACCURACY)

    def test_slow_poles(self):
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 200003)
            for sos in (signal.butter(4, 0.001, output="sos"),
                        signal.cheby1(32, 0.1, 0.2, output="sos"),
                        np.array([[1, 0, 0, 1, -2 * 0.9999 * np.cos(0.01), 0.9999**2]])):
                with self.subTest(kind=kind, sections=len(sos)):
                    self.assert_filters(run(ours(kind)(sos), x, kind), sos, x, 2e-5)

    def test_lengths(self):
        sos = signal.butter(5, 0.2, output="sos")
        for kind in KINDS:
            for n in (0, 1, 2, 3, 31, 4095, 4096, 4097, 8191, 8192, 8193, 100003):
                with self.subTest(kind=kind, n=n):
                    x = random_items(self.rng, kind[0], n)
                    y = run(ours(kind)(sos), x, kind)
                    expected = signal.sosfilt(sos, wide(x)) if n else x
                    self.assert_close(y, expected, IIR_ACCURACY,
                                      scale=rms(x) if 0 < n < 32 else None)

    def test_small_calls(self):
        sos = signal.cheby1(9, 1, 0.1, output="sos")
        x = random_items(self.rng, "c", 3001)
        for most in (1, 2, 3, 17, 1000):
            with self.subTest(most=most):
                y = run(cufilter.sos_filter_cc(sos), x, "cc", max_noutput_items=most)
                self.assert_filters(y, sos, x)

    def test_vectors(self):
        """Each value of an item is filtered on its own."""
        sos = signal.butter(6, 0.1, output="sos")
        for kind in KINDS:
            for vlen, n in ((2, 5003), (3, 5003), (8, 4003), (64, 1003), (2048, 101)):
                with self.subTest(kind=kind, vlen=vlen):
                    x = random_items(self.rng, kind[0], n * vlen)
                    y = run(ours(kind)(sos, vlen), x, kind, vlen=vlen)
                    expected = signal.sosfilt(sos, wide(x).reshape(n, vlen), axis=0)
                    self.assert_close(y, expected.ravel(), IIR_ACCURACY)

    def test_threads(self):
        """Long calls on several threads, also changed while items flow: the same items."""
        sos = signal.butter(16, 0.2, output="sos")
        x = random_items(self.rng, "c", 600011)
        for n in (2, 3):
            block = cufilter.sos_filter_cc(sos, nthreads=n, batch_items=len(x))
            self.assertEqual(block.nthreads(), n)
            self.assert_filters(run(block, x, "cc"), sos, x)
        block = cufilter.sos_filter_cc(sos, batch_items=100000)
        y = run_changed(block, x, 300000, lambda: block.set_nthreads(2))
        self.assertEqual(block.nthreads(), 2)
        self.assert_filters(y, sos, x)

    def test_device(self):
        for kind in KINDS:
            for vlen in (1, 3):
                self.assertEqual(ours(kind)([[1, 0, 0, 1, 0, 0]], vlen).device(), DEVICE)
            self.assertEqual(ours(kind)([[1, 0, 0, 1, 0, 0]], device=-1).device(), -1)

    def test_same_bits_again(self):
        sos = signal.butter(8, 0.1, output="sos")
        x = random_items(self.rng, "c", 50021)
        y = [run(cufilter.sos_filter_cc(sos, batch_items=len(x)), x, "cc")
             for _ in range(3)]
        np.testing.assert_array_equal(y[0], y[1])
        np.testing.assert_array_equal(y[0], y[2])

    def test_steep_butterworth(self):
        """C102: 1200 Hz at 128 kHz, where iir_filter of order 10 misses 1 by 0.01."""
        for order in (8, 10):
            sos = signal.butter(order, 1200 / 64000, output="sos")
            x = np.ones(30000, np.float32)
            y = run(cufilter.sos_filter_ff(sos), x, "ff")
            self.assert_filters(y, sos, x)
            self.assertLessEqual(abs(y[-1] - 1), 1e-6)

    def test_chebyshev_of_order_19(self):
        """C105."""
        sos = signal.iirdesign(0.11, 0.1, 1, 60, ftype="cheby1", output="sos")
        self.assertEqual(len(sos), 10)
        x = random_items(self.rng, "f", 100003)
        self.assert_filters(run(cufilter.sos_filter_ff(sos), x, "ff"), sos, x)

    def test_gammatone(self):
        """C104: as (b, a) it has poles outside the circle, as sections it has not."""
        b, a = signal.gammatone(100, "iir", fs=44100)
        self.assertGreater(np.max(np.abs(np.roots(a))), 1)
        pole = np.exp((-2 * np.pi * 1.019 * 24.7 * (4.37 * 0.1 + 1) + 2j * np.pi * 100) /
                      44100)
        sos = signal.zpk2sos([], [pole, pole.conj()] * 4, 1)
        x = random_items(self.rng, "f", 100003)
        y = run(cufilter.sos_filter_ff(sos), x, "ff")
        self.assert_filters(y, sos, x, 2e-5)

    def test_unstable(self):
        """It grows as it should; past float's range the stream goes on."""
        sos = np.array([[1, 0, 0, 1, -2.01, 1.01]])
        x = random_items(self.rng, "f", 500)
        self.assert_filters(run(cufilter.sos_filter_ff(sos), x, "ff"), sos, x)
        x = random_items(self.rng, "f", 100003)
        self.assertEqual(len(run(cufilter.sos_filter_ff(sos), x, "ff")), len(x))

    def test_one_bad_item(self):
        """Before it nothing, behind it at most 4096 items; then from zero."""
        sos = signal.butter(6, 0.3, output="sos")
        for kind in KINDS:
            for bad in (np.nan, np.inf, -np.inf):
                with self.subTest(kind=kind, bad=bad):
                    x = random_items(self.rng, kind[0], 40000)
                    at = 12345
                    x[at] = bad
                    block = ours(kind)(sos)
                    y = run(block, x, kind)
                    self.assert_filters(y[:at], sos, x[:at])
                    self.assertTrue(np.all(np.isfinite(y[at + PIECE:])))
                    settled = slice(at + PIECE + 500, None)
                    clean = x.copy()
                    clean[at] = 0
                    expected = signal.sosfilt(sos, wide(clean))
                    self.assert_close(y[settled], expected[settled], IIR_ACCURACY)
                    self.assertEqual(block.recoveries(), 1)

    def test_bad_item_stays_in_its_channel(self):
        sos = signal.butter(4, 0.3, output="sos")
        x = random_items(self.rng, "f", 3 * 20000)
        x[3 * 1000 + 1] = np.nan
        block = cufilter.sos_filter_ff(sos, 3)
        y = run(block, x, "ff", vlen=3).reshape(-1, 3)
        for channel in (0, 2):
            self.assert_filters(y[:, channel], sos, x[channel::3])
        self.assertTrue(np.isnan(y[1000, 1]))
        self.assertTrue(np.all(np.isfinite(y[1000 + PIECE:, 1])))
        self.assertEqual(block.recoveries(), 1)

    def test_steady_start(self):
        """The state that the first item would have led to, per value of the item."""
        sos = signal.butter(4, 0.01, output="sos")
        for kind in KINDS:
            for vlen in (1, 3):
                with self.subTest(kind=kind, vlen=vlen):
                    x = random_items(self.rng, kind[0], 5000 * vlen) + np.float32(7)
                    y = run(ours(kind)(sos, vlen, steady_start=True), x, kind, vlen=vlen)
                    columns = wide(x).reshape(-1, vlen)
                    zi = signal.sosfilt_zi(sos)[:, :, None] * columns[0]
                    expected, _ = signal.sosfilt(sos, columns, axis=0, zi=zi)
                    self.assert_close(y, expected.ravel(), IIR_ACCURACY)
        ones = np.ones(3000, np.float32)
        y = run(cufilter.sos_filter_ff(sos, steady_start=True), ones, "ff")
        self.assertLessEqual(np.max(np.abs(y - 1)), 1e-6)
        nan = np.concatenate(([np.nan], ones)).astype(np.float32)
        y = run(cufilter.sos_filter_ff(sos, steady_start=True), nan, "ff")
        self.assertEqual(len(y), len(nan))

    def test_steady_start_of_sections_from_another_thread(self):
        """Lowpass filters of ones: no call shows that they are new ones."""
        slow, slower = ([[1 - p, 0, 0, 1, -p, 0]] * 32 for p in (0.99, 0.995))
        block = cufilter.sos_filter_ff(slow, steady_start=True)
        block.set_max_noutput_items(16)
        least = Least()
        tb = gr.top_block()
        tb.connect(blocks.vector_source_f([1], True), block, least)
        tb.start()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            block.set_sos(slower, False)
            block.set_sos(slow, False)
        tb.stop()
        tb.wait()
        self.assertGreater(least.count, 0)
        self.assertGreaterEqual(least.value, 1 - 1e-6)

    def test_new_sections(self):
        """With the state kept it is scipy's going on with zf; without, from zero."""
        old = signal.butter(6, 0.2, output="sos")
        at, x = 30000, random_items(self.rng, "c", 60000)
        head = signal.sosfilt(old, wide(x))
        for new, keep in ((signal.butter(6, 0.21, output="sos"), True),
                          (signal.butter(6, 0.21, output="sos"), False),
                          (signal.butter(3, 0.3, output="sos"), True),
                          (signal.butter(3, 0.3, output="sos"), False)):
            with self.subTest(sections=len(new), keep=keep):
                block = cufilter.sos_filter_cc(old)
                y = run_changed(block, x, at, lambda: block.set_sos(new, keep))
                np.testing.assert_array_equal(block.sos(), new)
                differs = np.abs(y - head) > 1e-5 * rms(head)
                moment = int(np.argmax(differs))
                self.assertTrue(differs[moment])
                self.assertLessEqual(moment, at + LATE)
                errors = [rms(y[m:] - self.changed(old, new, keep, x, m)) / rms(y[m:])
                          for m in candidates(moment)]
                self.assertLessEqual(min(errors), IIR_ACCURACY)

    @staticmethod
    def changed(old, new, keep, x, m):
        """What comes from item m on, where the new sections begin."""
        _, zf = signal.sosfilt(old, wide(x[:m]), zi=np.zeros((len(old), 2), complex))
        if not keep or len(new) != len(old):
            zf = np.zeros((len(new), 2), complex)
        return signal.sosfilt(new, wide(x[m:]), zi=zf)[0]

    def test_same_sections_again(self):
        """Kept state: no item shows it."""
        sos = signal.cheby1(8, 1, 0.05, output="sos")
        x = random_items(self.rng, "f", 60000)
        block = cufilter.sos_filter_ff(sos)
        y = run_changed(block, x, 30000, lambda: block.set_sos(sos))
        self.assert_filters(y, sos, x)

    def test_reset(self):
        for steady in (False, True):
            sos = signal.butter(2, 0.01, output="sos")
            x = np.ones(40000, np.float32)
            block = cufilter.sos_filter_ff(sos, steady_start=steady)
            y = run_changed(block, x, 20000, block.reset)
            step = signal.sosfilt(sos, np.ones(40000))
            if steady:
                self.assertLessEqual(np.max(np.abs(y - 1)), 1e-6)
                continue
            # Items may wait in the buffer before the block: the reset is where it falls.
            moment = int(np.argmin(np.diff(y))) + 1
            self.assertLess(y[moment], 0.01)
            self.assert_close(y[:moment], step[:moment], IIR_ACCURACY)
            self.assert_close(y[moment:], step[:len(x) - moment], IIR_ACCURACY)

    def test_state_lives_on(self):
        """A second run goes on where the first one ended, unless it is reset."""
        sos = signal.butter(4, 0.02, output="sos")
        x = random_items(self.rng, "f", 3000)
        block = cufilter.sos_filter_ff(sos)
        y = np.concatenate((run(block, x, "ff"), run(block, x, "ff")))
        self.assert_filters(y, sos, np.tile(x, 2))
        block.reset()
        self.assert_filters(run(block, x, "ff"), sos, x)

    def test_tags(self):
        x = random_items(self.rng, "f", 8000)
        every = range(0, 8000, 25)
        sos = signal.butter(4, 0.2, output="sos")
        _, found = run(cufilter.sos_filter_ff(sos), x, "ff", make_tags(every))
        self.assertEqual(found, [(n, "tag", n) for n in every])

    def test_arguments(self):
        good = [[1, 0, 0, 1, 0, 0]]
        for sos in ([], [[]], [[1, 0, 0, 1, 0]], [[1] * 7], good + [[1, 0]], good * 33,
                    [[1, 0, 0, 0, 0, 0]], [[np.nan, 0, 0, 1, 0, 0]],
                    [[1, 0, 0, 1, np.inf, 0]]):
            for kind in KINDS:
                with self.subTest(kind=kind, sos=sos):
                    self.assertRaises(ValueError, ours(kind), sos)
                    block = ours(kind)(good)
                    self.assertRaises(ValueError, block.set_sos, sos)
                    self.assertEqual(block.sos(), good)
        for arguments in ({"vlen": 0}, {"vlen": 65537}, {"device": -3},
                          {"batch_items": -1}, {"nthreads": 0}, {"nthreads": 257}):
            with self.subTest(**arguments):
                self.assertRaises(ValueError, cufilter.sos_filter_ff, good, **arguments)
        integrator = [[1, 0, 0, 1, -1, 0]]
        cufilter.sos_filter_ff(integrator)
        with self.assertRaises(ValueError):
            cufilter.sos_filter_ff(integrator, steady_start=True)
        with self.assertRaises(ValueError):
            cufilter.sos_filter_ff(good, steady_start=True).set_sos(integrator)
        with self.assertRaisesRegex(ValueError, r"sos_filter_ff.*sos\[1\] has 2"):
            cufilter.sos_filter_ff(good + [[1, 0]])


class Messages(TestCase):
    def after(self, *messages):
        block = cufilter.sos_filter_ff([[1, 0, 0, 1, 0, 0]])
        for message in messages:
            post(block, message)
        x = random_items(self.rng, "f", 1000)
        y = run(block, x, "ff")
        self.assert_close(y, signal.sosfilt(block.sos(), x.astype(float)), IIR_ACCURACY)
        return block.sos()

    def test_matrices(self):
        sos = [[0.5, 0, 0, 1, -0.5, 0], [1, 0.25, 0, 1, 0, 0.125]]
        key = pmt.intern("sos")
        flat = pmt.init_f64vector(12, sum(sos, []))
        rows = pmt.list2(*(pmt.init_f64vector(6, row) for row in sos))
        singles = pmt.make_vector(2, pmt.PMT_NIL)
        for i, row in enumerate(sos):
            pmt.vector_set(singles, i, pmt.init_f32vector(6, row))
        for matrix in (flat, rows, singles):
            self.assertEqual(self.after(pmt.cons(key, matrix)), sos)
            command = pmt.dict_add(pmt.make_dict(), key, matrix)
            command = pmt.dict_add(command, pmt.intern("keep_state"), pmt.PMT_F)
            command = pmt.dict_add(command, pmt.intern("reset"), pmt.PMT_T)
            self.assertEqual(self.after(command), sos)

    def test_bad_ones_change_nothing(self):
        key, six = pmt.intern("sos"), pmt.init_f64vector(6, [1, 0, 0, 1, 0, 0])
        unity = [[1, 0, 0, 1, 0, 0]]
        flag = pmt.dict_add(pmt.dict_add(pmt.make_dict(), key, six),
                            pmt.intern("keep_state"), pmt.from_long(1))
        for message in (pmt.PMT_NIL, pmt.PMT_T, key, pmt.make_dict(), six, flag,
                        pmt.cons(key, pmt.PMT_NIL), pmt.cons(key, pmt.from_double(1)),
                        pmt.cons(key, pmt.init_f64vector(5, [1, 0, 0, 1, 0])),
                        pmt.cons(key, pmt.init_f64vector(0, [])),
                        pmt.cons(key, pmt.list1(pmt.from_double(1))),
                        pmt.cons(key, pmt.cons(six, six)),
                        pmt.cons(key, pmt.init_c64vector(6, [1, 0, 0, 1, 0, 0])),
                        pmt.cons(key, pmt.init_f64vector(6, [1, 0, 0, 0, 0, 0]))):
            with self.subTest(message=str(message)):
                self.assertEqual(self.after(message), unity)


if __name__ == "__main__":
    main()
