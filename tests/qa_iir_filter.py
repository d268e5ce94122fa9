# SPDX-License-Identifier: GPL-3.0-or-later
"""iir_filter_{ffd,ccf,ccd,ccz,ccc} against the stock blocks and float64."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import TestCase, main, random_items, rms, run, run_changed, stock
from iir_qa import (DEVICE, IIR_ACCURACY, LATE, PIECE, candidates, make_tags, post,
                    signal, wide)

REAL, DOUBLE = ("ffd", "ccf", "ccd"), ("ffd", "ccd", "ccz")
KINDS = REAL + ("ccz", "ccc")
STOCK_FLOAT = 1e-5  # of the stock blocks that sum in float, on well-behaved taps


def ours(kind):
    return getattr(cufilter, "iir_filter_" + kind)


def theirs(kind):
    return getattr(stock, "iir_filter_" + kind)


def io(kind):
    return kind[0] * 2


def rounded(taps, kind):
    """The taps as the block of that kind has them."""
    dtype = {"d": float, "z": complex, "f": np.float32, "c": np.complex64}[kind[2]]
    return np.asarray(taps, dtype)


def direct(b, a, x, kind):
    """scipy's lfilter in float64 with the kind's taps and a[0] = 1."""
    b, a = rounded(b, kind).copy(), rounded(a, kind).copy()
    wider = complex if np.iscomplexobj(b) or np.iscomplexobj(x) else float
    a = a.astype(wider)
    a[0] = 1
    return signal.lfilter(b.astype(wider), a, x.astype(wider))


def random_poles(rng, kind, order, radius):
    """(b, a) of that order, poles within the radius, and a gain near 1."""
    roots = []
    complex_taps = kind[2] in "zc"
    while len(roots) < order:
        root = radius * np.sqrt(rng.random()) * np.exp(2j * np.pi * rng.random())
        if complex_taps:
            roots.append(root)
        elif len(roots) + 1 == order:
            roots.append(root.real)
        else:
            roots += [root, root.conjugate()]
    a = np.atleast_1d(np.poly(roots))
    b = random_items(rng, "c" if complex_taps else "f", order + 1).astype(complex)
    if not complex_taps:
        a, b = a.real, b.real
    return b / np.linalg.norm(b), a


class IirFilter(TestCase):
    def test_as_stock(self):
        for kind in KINDS:
            for order in range(0, 9):
                b, a = random_poles(self.rng, kind, order, 0.9)
                for oldstyle in (True, False):
                    with self.subTest(kind=kind, order=order, oldstyle=oldstyle):
                        x = random_items(self.rng, kind[0], 10007)
                        taps = -a if oldstyle else a
                        taps[0] = 77  # whatever: it is ignored
                        arguments = (b.tolist(), taps.tolist(), oldstyle)
                        y = run(ours(kind)(*arguments), x, io(kind))
                        self.assert_close(y, direct(b, a, x, kind), IIR_ACCURACY)
                        expected = run(theirs(kind)(*arguments), x, io(kind))
                        self.assert_close(y, expected, IIR_ACCURACY if kind in DOUBLE
                                          else STOCK_FLOAT)

    def test_old_style_is_the_default(self):
        x = random_items(self.rng, "f", 100)
        y = run(cufilter.iir_filter_ffd([1], [1, 0.5]), x, "ff")
        self.assert_close(y, signal.lfilter([1], [1, -0.5], wide(x)), IIR_ACCURACY)
        y = run(cufilter.iir_filter_ffd(fftaps=[1], fbtaps=[1, 0.5], oldstyle=False), x,
                "ff")
        self.assert_close(y, signal.lfilter([1], [1, 0.5], wide(x)), IIR_ACCURACY)

    def test_lengths_of_taps(self):
        """Of each its own, as in the stock blocks; long ones too."""
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 5003)
            for n_ff, n_fb in ((1, 1), (1, 2), (5, 1), (1, 5), (2, 7), (7, 2), (3, 3),
                               (66, 3), (3, 66), (300, 5), (1000, 1)):
                with self.subTest(kind=kind, n_ff=n_ff, n_fb=n_fb):
                    b = random_items(self.rng, "f", n_ff) / np.sqrt(n_ff)
                    a = np.r_[1, 0.5 / n_fb * random_items(self.rng, "f", n_fb - 1)]
                    y = run(ours(kind)(b.tolist(), a.tolist(), False), x, io(kind))
                    self.assert_close(y, direct(b, a, x, kind), IIR_ACCURACY)
                    expected = run(theirs(kind)(b.tolist(), a.tolist(), False), x,
                                   io(kind))
                    self.assert_close(y, expected, IIR_ACCURACY if kind in DOUBLE
                                      else STOCK_FLOAT)

    def test_no_taps(self):
        """None forward: zeros, as stock. None back: no feedback."""
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 1001)
            for fbtaps in ([], [1], [1, 0.5]):
                np.testing.assert_array_equal(run(ours(kind)([], fbtaps), x, io(kind)),
                                              0 * x)
            for oldstyle in (True, False):
                y = run(ours(kind)([0.5, 1], [], oldstyle), x, io(kind))
                self.assert_close(y, signal.lfilter([0.5, 1], 1, wide(x)), IIR_ACCURACY)

    def test_sign_and_missing_a0(self):
        """C100: a resonator of 170 Hz at 16 kHz, and what comes of mistaken taps."""
        impulse = np.zeros(200, np.float32)
        impulse[0] = 1

        def respond(fbtaps, *oldstyle):
            y = run(cufilter.iir_filter_ffd([1], fbtaps, *oldstyle), impulse, "ff")
            expected = run(stock.iir_filter_ffd([1], fbtaps, *oldstyle), impulse, "ff")
            self.assert_close(y, expected, IIR_ACCURACY)
            return y

        for y in (respond([1, 1.9755895, -0.9801]),
                  respond([1, -1.9755895, 0.9801], False)):
            np.testing.assert_allclose(y[:5], [1, 1.97559, 2.92285, 3.83808, 4.71779],
                                       atol=1e-5)
            self.assertEqual(int(np.argmax(y)), 20)
            self.assertAlmostEqual(float(y[20]), 12.0864, places=4)
        np.testing.assert_allclose(respond([1.9755895, -0.9801])[:3],
                                   [1, -0.9801, 0.9606], atol=1e-5)
        np.testing.assert_allclose(respond([1.9755895, -0.9801], False)[:3],
                                   [1, 0.9801, 0.9606], atol=1e-5)
        impulse = impulse[:100]
        respond([1, 1.97559, -0.9801], False)

    def test_runaway(self):
        """C100: past float's range the stock block stays at Inf; ours starts again."""
        x = np.zeros(20000, np.float32)
        x[0] = 1
        block = cufilter.iir_filter_ffd([1], [1, 1.97559, -0.9801], False)
        expected = run(stock.iir_filter_ffd([1], [1, 1.97559, -0.9801], False), x, "ff")
        y = run(block, x, "ff")
        end = int(np.argmax(~np.isfinite(expected)))
        self.assertGreater(end, 90)
        self.assert_close(y[:end], expected[:end], IIR_ACCURACY)
        self.assertGreaterEqual(block.recoveries(), 1)
        self.assertTrue(np.all(np.isfinite(y[-4096:])))

    def test_deemphasis(self):
        """C101: 75 us at 48 kHz and up: a gain of 1 at DC, -3 dB at 2122 Hz."""
        for rate in (48e3, 96e3, 192e3):
            w = np.tan(1 / (75e-6 * 2 * rate))
            b, a = np.array([1, 1]) * w / (1 + w), [1, (w - 1) / (w + 1)]
            if rate == 48e3:
                np.testing.assert_allclose(np.r_[b, a[1]],
                                           [0.1226445, 0.1226445, -0.7547109], atol=2e-7)
            for kind in REAL:
                make = ours(kind)
                ones = random_items(self.rng, kind[0], 8000) * 0 + 1
                step = run(make(b, a, False), ones, io(kind))
                self.assertLessEqual(abs(step[-1] - 1), 1e-6)
                tone = np.cos(2 * np.pi * 2122.07 / rate * np.arange(48000))
                y = run(make(b, a, False), tone.astype(np.float32) if kind[0] == "f" else
                        tone.astype(np.complex64), io(kind))[24000:]
                self.assertAlmostEqual(20 * np.log10(np.sqrt(2) * rms(y)), -3.01, 1)
        b, a = [0.1226445] * 2, [1, -0.7547109]
        y = run(cufilter.iir_filter_ffd(b, a), np.ones(8000, np.float32), "ff")
        self.assertLessEqual(abs(y[-1] - 0.13979), 1e-5)

    def test_steep_butterworth(self):
        """C102: what the stock block does in double, at any cost; never in float."""
        x = np.ones(30000, np.float32)
        for order, off in ((8, 1e-4), (10, 2e-2)):
            b, a = signal.butter(order, 1200 / 64000)
            for kind in ("ffd", "ccd"):
                with self.subTest(order=order, kind=kind):
                    items = x.astype(np.complex64) if kind == "ccd" else x
                    y = run(ours(kind)(b, a, False), items, io(kind))
                    expected = run(theirs(kind)(b, a, False), items, io(kind))
                    self.assert_close(y, expected, IIR_ACCURACY)
                    self.assertTrue(0.01 * off < abs(y[-1] - 1) < off)

    def test_lossy_taps_as_stock(self):
        """Taps that have lost their filter, up to those that run away."""
        x = random_items(self.rng, "f", 20011)
        for order, cutoff, n in ((8, 0.2, 20011), (16, 0.2, 20011), (8, 0.01, 20011),
                                 (16, 0.05, 400), (20, 0.1, 2000), (32, 0.2, 1000)):
            with self.subTest(order=order, cutoff=cutoff):
                b, a = signal.butter(order, cutoff)
                y = run(cufilter.iir_filter_ffd(b, a, False), x[:n], "ff")
                expected = run(stock.iir_filter_ffd(b, a, False), x[:n], "ff")
                self.assert_close(y, expected, IIR_ACCURACY)

    def test_float_taps_keep_a_double_sum(self):
        """The stock ccf is off by 1.4e-4 here, in float; only the taps are ours' loss."""
        b, a = signal.butter(8, 0.2)
        x = random_items(self.rng, "c", 20011)
        y = run(cufilter.iir_filter_ccf(b, a, False), x, "cc")
        self.assert_close(y, direct(b, a, x, "ccf"), IIR_ACCURACY)

    def test_gammatone(self):
        """C104: an unstable design grows, as in the stock block and in scipy."""
        b, a = signal.gammatone(100, "iir", fs=44100)
        x = random_items(self.rng, "f", 1000)
        y = run(cufilter.iir_filter_ffd(b, a, False), x, "ff")
        expected = run(stock.iir_filter_ffd(b, a, False), x, "ff")
        self.assert_close(y, expected, IIR_ACCURACY)
        self.assert_close(y, signal.lfilter(b, a, wide(x)), 0.2)

    def test_small_calls(self):
        for kind in KINDS:
            b, a = random_poles(self.rng, kind, 4, 0.9)
            x = random_items(self.rng, kind[0], 2003)
            for most in (1, 2, 3, 17, 1000):
                with self.subTest(kind=kind, most=most):
                    y = run(ours(kind)(b, a, False), x, io(kind), max_noutput_items=most)
                    self.assert_close(y, direct(b, a, x, kind), IIR_ACCURACY)

    def test_counts(self):
        for kind in KINDS:
            b, a = random_poles(self.rng, kind, 3, 0.9)
            for n in (0, 1, 2, 31, 4096, 8191, 8193):
                x = random_items(self.rng, kind[0], n)
                y = run(ours(kind)(b, a, False), x, io(kind))
                self.assert_close(y, direct(b, a, x, kind) if n else x, IIR_ACCURACY,
                                  scale=n and rms(x))

    def test_tags(self):
        """C27: all of them where they are, as in the stock block."""
        x = random_items(self.rng, "f", 8000)
        every = range(0, 8000, 25)
        for module in (cufilter, stock):
            _, tags = run(module.iir_filter_ffd([1], [1, 0.5]), x, "ff", make_tags(every))
            self.assertEqual(tags, [(n, "tag", n) for n in every])

    def test_one_bad_item(self):
        """The stock block never gets over it; in sections and in direct form."""
        for kind in KINDS:
            for taps in (random_poles(self.rng, kind, 4, 0.8),
                         (np.full(300, 1 / 300), np.array([1, -0.5]))):
                for bad in (np.nan, np.inf):
                    with self.subTest(kind=kind, taps=len(taps[0]), bad=bad):
                        x = random_items(self.rng, kind[0], 30000)
                        at = 12345
                        x[at] = bad
                        block = ours(kind)(*taps, False)
                        y = run(block, x, io(kind))
                        self.assert_close(y[:at], direct(*taps, x[:at], kind),
                                          IIR_ACCURACY)
                        self.assertTrue(np.all(np.isfinite(y[at + PIECE + 300:])))
                        x[at] = 0
                        settled = slice(at + PIECE + 1000, None)
                        self.assert_close(y[settled], direct(*taps, x, kind)[settled],
                                          IIR_ACCURACY)
                        self.assertGreaterEqual(block.recoveries(), 1)

    def test_device(self):
        """Taps that do not split are left to the CPU, and come back from it."""
        for kind in KINDS:
            block = ours(kind)([1], [1, 0.5])
            x = random_items(self.rng, kind[0], 1000)
            self.assertEqual(block.device(), DEVICE)
            run(block, x, io(kind))
            for taps, device in ((([1] * 100, [1]), -1), (([1], [1, 0.5]), DEVICE)):
                block.set_taps(*taps)
                run(block, x, io(kind))
                self.assertEqual(block.device(), device)

    def test_arguments(self):
        for kind in KINDS:
            for taps in (([np.nan], [1]), ([1], [1, np.inf]), ([1] * 65537, [1])):
                self.assertRaises(ValueError, ours(kind), *taps)
                block = ours(kind)([1, 2], [1, 0.5])
                self.assertRaises(ValueError, block.set_taps, *taps)
                self.assertEqual((block.fftaps(), block.fbtaps()), ([1, 2], [1, 0.5]))
            for arguments in ({"device": -3}, {"batch_items": -1}):
                self.assertRaises(ValueError, ours(kind), [1], [1], **arguments)
            self.assertRaises(TypeError, ours(kind), [1])


class Live(TestCase):
    def test_new_taps(self):
        """From zero, as in the stock block; between sections and direct form too."""
        fir = (np.full(100, 0.01), np.array([1.0]))
        for kind in KINDS:
            first, second = (random_poles(self.rng, kind, order, 0.9) for order in (3, 6))
            for old, new in ((first, second), (second, first), (first, fir), (fir, first),
                             (first, first)):
                with self.subTest(kind=kind, n_old=len(old[0]), n_new=len(new[0])):
                    x = random_items(self.rng, kind[0], 40000)
                    block = ours(kind)(*old, False)
                    y = run_changed(block, x, 20000, lambda: block.set_taps(*new))
                    np.testing.assert_array_equal(block.fftaps(), rounded(new[0], kind))
                    head = direct(*old, x, kind)
                    moment = int(np.argmax(np.abs(y - head) > 1e-5 * rms(head)))
                    self.assertTrue(0 < moment <= 20000 + LATE)
                    self.assert_close(y[:moment], head[:moment], IIR_ACCURACY)
                    errors = [rms(y[m:] - direct(*new, x[m:], kind))
                              for m in candidates(moment)]
                    self.assertLessEqual(min(errors), IIR_ACCURACY * rms(y[moment:]))

    def test_toggled_all_the_time(self):
        """C25: taps and alpha in turn every millisecond; the last ones hold."""
        b, a = signal.butter(4, 0.2)
        iir = cufilter.iir_filter_ffd([1], [1])
        pole = cufilter.single_pole_iir_filter_ff(1)
        sections = cufilter.sos_filter_ff([[1, 0, 0, 1, 0, 0]])
        stop, failures = threading.Event(), []

        def toggle():
            try:
                while not stop.is_set():
                    for n in (5, 500):
                        iir.set_taps(np.full(n, 1 / n), [1, 0.1])
                        sections.set_sos(signal.butter(n % 7 + 2, 0.2, output="sos"))
                        pole.set_taps(1 / n)
                        time.sleep(0.001)
                    for block in (iir, sections, pole):
                        block.reset()
            except Exception as error:
                failures.append(error)

        tb = gr.top_block()
        source, head = blocks.vector_source_f([1.0] * 1000, True), blocks.head(4, 3000000)
        sink = blocks.null_sink(4)
        tb.connect(source, head, iir, sections, pole, sink)
        thread = threading.Thread(target=toggle)
        tb.start()
        thread.start()
        tb.wait()
        stop.set()
        thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(sink.nitems_read(0), 3000000)
        iir.set_taps(b, -a)
        x = random_items(self.rng, "f", 10007)
        self.assert_close(run(iir, x, "ff"), signal.lfilter(b, a, wide(x)), IIR_ACCURACY)

    def test_reset(self):
        for taps in (signal.butter(3, 0.05), (np.full(200, 0.005), np.array([1, -0.9]))):
            x = random_items(self.rng, "f", 5000)
            block = cufilter.iir_filter_ffd(*taps, False)
            y = np.concatenate((run(block, x, "ff"), run(block, x, "ff")))
            self.assert_close(y, signal.lfilter(*taps, wide(np.tile(x, 2))), IIR_ACCURACY)
            block.reset()
            self.assert_close(run(block, x, "ff"), signal.lfilter(*taps, wide(x)),
                              IIR_ACCURACY)

    def test_messages(self):
        forward, back = pmt.intern("fftaps"), pmt.intern("fbtaps")

        def command(fftaps, fbtaps):
            return pmt.dict_add(pmt.dict_add(pmt.make_dict(), forward, fftaps), back,
                                fbtaps)

        reals = (pmt.init_f64vector(2, [0.5, 0.25]), pmt.init_f32vector(2, [1, 0.5]))
        complexes = (pmt.init_c64vector(2, [0.5, 0.25j]),
                     pmt.init_c32vector(2, [1, 0.5j]))
        for kind in KINDS:
            for vectors in (reals, complexes):
                block = ours(kind)([1], [1])
                fits = vectors is reals or kind in ("ccz", "ccc")
                for message in (command(*vectors), pmt.PMT_NIL, pmt.make_dict(),
                                pmt.cons(forward, reals[0]), pmt.cons(back, reals[1]),
                                command(reals[0], pmt.PMT_T),
                                command(reals[0], pmt.init_f64vector(2, [1, np.nan]))):
                    post(block, message)
                x = random_items(self.rng, kind[0], 1000)
                y = run(block, x, io(kind))
                self.assertEqual(len(block.fftaps()), 2 if fits else 1)
                a = -np.array(block.fbtaps())
                self.assert_close(y, direct(block.fftaps(), a, x, kind), IIR_ACCURACY)


if __name__ == "__main__":
    main()
