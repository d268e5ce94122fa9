# SPDX-License-Identifier: GPL-3.0-or-later
"""single_pole_iir_filter_{ff,cc} against float64 and the stock blocks."""

import numpy as np
import pmt
from gnuradio import cufilter
from cufilter_qa import (TestCase, main, random_items, rms, run, run_changed, stock)
from iir_qa import (DEVICE, IIR_ACCURACY, PIECE, candidates, make_tags, post, signal,
                    wide)

KINDS = ("ff", "cc")
ALPHAS = (1.0, 0.5, 0.1, 0.01, 0.00016, 0.0001, 1e-7, 0.999999)


def ours(kind):
    return getattr(cufilter, "single_pole_iir_filter_" + kind)


def theirs(kind):
    return getattr(stock, "single_pole_iir_filter_" + kind)


def leak(x, alpha, y=0.0):
    """The formula in float64, along axis 0; y is y[-1]."""
    y = np.broadcast_to(np.asarray(y), x.shape[1:])[None]
    return signal.lfilter([alpha], [1, alpha - 1], wide(x), axis=0,
                          zi=(1 - alpha) * y)[0]


class SinglePole(TestCase):
    def test_values(self):
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 50021) + np.float32(1)
            for alpha in ALPHAS:
                with self.subTest(kind=kind, alpha=alpha):
                    self.assert_close(run(ours(kind)(alpha), x, kind), leak(x, alpha),
                                      IIR_ACCURACY)

    def test_as_stock(self):
        """The stock ff rounds y to float after each item, the cc does not."""
        for kind, near in (("ff", 1e-5), ("cc", IIR_ACCURACY)):
            x = random_items(self.rng, kind[0], 50021) + np.float32(1)
            for alpha in ALPHAS[:6] + (0.0,):
                with self.subTest(kind=kind, alpha=alpha):
                    y = run(ours(kind)(alpha), x, kind)
                    expected = run(theirs(kind)(alpha), x, kind)
                    self.assert_close(y, expected, near, scale=rms(expected) or 1)

    def test_nothing_goes_in(self):
        """alpha = 0 holds y[-1], zero; alpha = 1 is a wire."""
        for kind in KINDS:
            x = random_items(self.rng, kind[0], 10007)
            np.testing.assert_array_equal(run(ours(kind)(0), x, kind), 0 * x)
            np.testing.assert_array_equal(run(ours(kind)(1), x, kind), x)

    def test_lengths_and_calls(self):
        for kind in KINDS:
            for n in (0, 1, 2, 31, 4096, 8193):
                x = random_items(self.rng, kind[0], n)
                y = run(ours(kind)(0.25), x, kind)
                self.assert_close(y, leak(x, 0.25) if n else x, IIR_ACCURACY,
                                  scale=n and rms(x))
            x = random_items(self.rng, kind[0], 2003)
            for most in (1, 3, 100):
                y = run(ours(kind)(0.25), x, kind, max_noutput_items=most)
                self.assert_close(y, leak(x, 0.25), IIR_ACCURACY)

    def test_vectors(self):
        """Spectra averaged: vlen independent filters."""
        for kind in KINDS:
            for vlen, n in ((2, 3001), (7, 3001), (1024, 201), (2048, 201)):
                with self.subTest(kind=kind, vlen=vlen):
                    x = random_items(self.rng, kind[0], n * vlen)
                    y = run(ours(kind)(0.05, vlen), x, kind, vlen=vlen)
                    self.assert_close(y, leak(x.reshape(n, vlen), 0.05).ravel(),
                                      IIR_ACCURACY)
                    expected = run(theirs(kind)(0.05, vlen), x, kind, vlen=vlen)
                    self.assert_close(y, expected, 2e-6)

    def change(self, kind, old, new, n=60000, at=30000):
        """An alpha changed half-way: y[n-1] stays, as it does in the stock block."""
        x = random_items(self.rng, kind[0], n) + np.float32(3)
        block = ours(kind)(old)
        y = run_changed(block, x, at, lambda: block.set_taps(new))
        self.assertEqual(block.alpha(), new)
        head = leak(x, old)
        differs = np.abs(y - head) > 1e-5 * rms(head)
        moment = int(np.argmax(differs))
        self.assertTrue(differs[moment])
        errors = [rms(y[m:] - leak(x[m:], new, head[m - 1])) / rms(y[m:])
                  for m in candidates(moment)]
        self.assertLessEqual(min(errors), IIR_ACCURACY)

    def test_changed_while_running(self):
        for kind in KINDS:
            for old, new in ((0.1, 0.01), (0.01, 0.5), (1.0, 0.01), (0.5, 1.0),
                             (0.1, 0.0), (0.25, 0.2)):
                with self.subTest(kind=kind, old=old, new=new):
                    self.change(kind, old, new)

    def test_held_and_let_go(self):
        """To 0 and back: nothing is forgotten."""
        for kind in KINDS:
            dtype = np.complex64 if kind == "cc" else np.float32
            ones = np.full(1000, 2, dtype)
            block = ours(kind)(1)
            parts = [run(block, ones, kind)]
            for alpha in (0.0, 0.5, 0.0, 1.0):
                block.set_taps(alpha)
                parts.append(run(block, 0 * ones + 4, kind))
            self.assertEqual([part[0] for part in parts], [2, 2, 3, 4, 4])
            self.assertEqual([part[-1] for part in parts], [2, 2, 4, 4, 4])

    def test_reset(self):
        for alpha in (0.01, 1.0):
            x = np.ones(3000, np.float32)
            block = cufilter.single_pole_iir_filter_ff(alpha)
            first = run(block, x, "ff")
            again = run(block, x, "ff")
            self.assert_close(np.concatenate((first, again)),
                              leak(np.ones(6000, np.float32), alpha), IIR_ACCURACY)
            block.reset()
            np.testing.assert_array_equal(run(block, x, "ff"), first)
            block.reset()
            block.set_taps(0.0)
            np.testing.assert_array_equal(run(block, x, "ff"), 0 * x)

    def test_one_bad_item(self):
        """The stock block never gets over it."""
        for kind in KINDS:
            for alpha in (0.1, 1.0):
                for bad in (np.nan, np.inf):
                    with self.subTest(kind=kind, alpha=alpha, bad=bad):
                        x = random_items(self.rng, kind[0], 30000)
                        x[12345] = bad
                        block = ours(kind)(alpha)
                        y = run(block, x, kind)
                        self.assert_close(y[:12345], leak(x[:12345], alpha), IIR_ACCURACY)
                        self.assertTrue(np.all(np.isfinite(y[12345 + PIECE:])))
                        settled = slice(12345 + PIECE + 1000, None)
                        x[12345] = 0
                        self.assert_close(y[settled], leak(x, alpha)[settled],
                                          IIR_ACCURACY)
        block = cufilter.single_pole_iir_filter_ff(1)
        run(block, np.array([1, np.nan], np.float32), "ff")
        block.set_taps(0.5)
        y = run(block, np.ones(100, np.float32), "ff")
        self.assertTrue(np.all(np.isfinite(y)))

    def test_tags(self):
        """C27: all of them where they are, as in the stock block."""
        x = random_items(self.rng, "f", 8000)
        every = range(0, 8000, 25)
        _, tags = run(cufilter.single_pole_iir_filter_ff(0.1), x, "ff", make_tags(every))
        self.assertEqual(tags, [(n, "tag", n) for n in every])
        _, expected = run(stock.single_pole_iir_filter_ff(0.1), x, "ff", make_tags(every))
        self.assertEqual(tags, expected)

    def test_device(self):
        for kind in KINDS:
            self.assertEqual(ours(kind)(0.1).device(), DEVICE)
            self.assertEqual(ours(kind)(0.1, 2048).device(), DEVICE)

    def test_arguments(self):
        for kind in KINDS:
            for alpha in (-0.001, 1.001, 2, -1, np.inf, np.nan):
                with self.subTest(kind=kind, alpha=alpha):
                    self.assertRaises(IndexError, ours(kind), alpha)
                    block = ours(kind)(0.5)
                    self.assertRaises(IndexError, block.set_taps, alpha)
                    self.assertEqual(block.alpha(), 0.5)
            for arguments in ({"vlen": 0}, {"vlen": 65537}, {"device": -3},
                              {"batch_items": -1}):
                self.assertRaises(ValueError, ours(kind), 0.5, **arguments)
            self.assertRaises(TypeError, ours(kind))
            self.assertRaises(TypeError, ours(kind), 0.5, -1)

    def test_messages(self):
        key = pmt.intern("alpha")
        command = pmt.dict_add(pmt.make_dict(), key, pmt.from_double(0.25))
        for good in (pmt.cons(key, pmt.from_double(0.25)), command):
            block = cufilter.single_pole_iir_filter_ff(0.5)
            for message in (good, pmt.cons(key, pmt.from_double(2)), pmt.make_dict(),
                            pmt.cons(key, pmt.PMT_T),
                            pmt.cons(key, pmt.from_complex(0.5 + 0j)), pmt.PMT_NIL,
                            pmt.cons(key, pmt.init_f64vector(1, [0.5]))):
                post(block, message)
            x = random_items(self.rng, "f", 1000)
            self.assert_close(run(block, x, "ff"), leak(x, 0.25), IIR_ACCURACY)
            self.assertEqual(block.alpha(), 0.25)
            post(block, pmt.cons(pmt.intern("reset"), pmt.PMT_T))
            self.assert_close(run(block, x, "ff"), leak(x, 0.25), IIR_ACCURACY)


if __name__ == "__main__":
    main()
