# SPDX-License-Identifier: GPL-3.0-or-later
"""Channelizer blocks: values, counts, ports, maps and arguments."""

import os
import time

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio.cufilter import pfb
from gnuradio.filter import firdes
from cufilter_qa import TestCase, main, random_items, random_taps, rms, stock
from pfb_qa import Split, channelize, forms, run_ports, run_vectors

# (K, R, taps): those of stock, primes, R that do not divide K, fewer taps than channels
SHAPES = ((5, 5, 29), (5, 4, 29), (3, 2, 145), (6, 3, 31), (32, 16, 241), (8, 1, 24),
          (1, 1, 17), (2, 1, 1), (7, 3, 5), (10, 10, 181), (36, 25, 73), (127, 50, 900),
          (231, 231, 1000), (72, 50, 1025))


class Channelizer(TestCase):
    def test_formula(self):
        """C40, in all three forms: order, phase, scale, start and count."""
        for K, R, n_taps in SHAPES:
            taps = random_taps(self.rng, "f", n_taps)
            x = random_items(self.rng, "c", 12 * K + 3 * n_taps + 5 * R + 1)
            expected = channelize(x, taps, K, R)
            for name, block, run in forms(K, taps, K / R):
                with self.subTest(K=K, R=R, n_taps=n_taps, form=name):
                    n = len(x) if name != "ports" else len(x) // K * K
                    y = run(block, x, K)
                    self.assertEqual(y.shape, (K, n // R))
                    self.assert_close(y.ravel(), expected[:, :n // R].ravel())

    def test_counts(self):
        """floor(N / R) items; stock loses the end of what is oversampled."""
        for K, R, n_in, count in ((5, 5, 2000, 400), (5, 4, 2000, 500), (3, 2, 1200, 600),
                                  (6, 3, 2400, 800), (32, 16, 12800, 800),
                                  (8, 1, 3200, 3200), (6, 5, 3000, 600), (4, 4, 3, 0),
                                  (4, 3, 3, 1), (4, 4, 0, 0), (4, 4, 7, 1)):
            x = random_items(self.rng, "c", n_in)
            for name, block, run in forms(K, [1.0], K / R):
                with self.subTest(K=K, R=R, n_in=n_in, form=name):
                    n = n_in // K * K // R if name == "ports" else count
                    self.assertEqual(run(block, x, K).shape[1], n)

    def test_any_number_of_outputs(self):
        """C52, pain 19: what is connected carries the same items."""
        K = 40
        taps = random_taps(self.rng, "f", 385)
        x = random_items(self.rng, "c", 9000)
        for R in (40, 20, 28):
            expected = channelize(x, taps, K, R)
            for n_outputs in (1, 3, 40):
                with self.subTest(R=R, n_outputs=n_outputs):
                    y = run_ports(pfb.channelizer_ccf(K, taps, K / R), x, n_outputs)
                    self.assert_close(y.ravel(), expected[:n_outputs].ravel())
                    block = cufilter.pfb_channelizer_ccf(K, taps, K / R)
                    y = run_ports(Split(block, K, n_outputs), x, n_outputs)
                    self.assert_close(y.ravel(), expected[:n_outputs].ravel())

    def test_other_number_of_outputs_later(self):
        """The same block in another flowgraph: the stream goes on."""
        K, R = 6, 4
        taps = random_taps(self.rng, "f", 50)
        x = random_items(self.rng, "c", 4000)
        expected = channelize(np.tile(x, 3), taps, K, R)
        block = pfb.channelizer_ccf(K, taps, K / R)
        for turn, n_outputs in enumerate((2, 6, 1)):
            y = run_ports(block, x, n_outputs)
            part = expected[:n_outputs, turn * 1000:(turn + 1) * 1000]
            self.assert_close(y.ravel(), part.ravel())

    def test_maps(self):
        K, R = 12, 8
        taps = random_taps(self.rng, "f", 100)
        x = random_items(self.rng, "c", 4800)
        for channels in ([3], [11, 0, 1], [5, 5, 5, 2], list(range(11, -1, -1)),
                         [0] * 12):
            expected = channelize(x, taps, K, R, channels)
            with self.subTest(channels=channels):
                block = pfb.channelizer_ccf(K, taps, K / R)
                self.assertEqual(block.channel_map(), list(range(K)))
                block.set_channel_map(channels)
                self.assertEqual(block.channel_map(), channels)
                y = run_ports(block, x, len(channels))
                self.assert_close(y.ravel(), expected.ravel())
                block = cufilter.pfb_channelizer_ccf(K, taps, K / R)
                block.set_channel_map(channels)
                y = run_ports(Split(block, K, len(channels)), x, len(channels))
                self.assert_close(y.ravel(), expected.ravel())
                block = cufilter.pfb_channelizer_vcc(K, taps, K / R, channels)
                y = run_vectors(block, x, len(channels))
                self.assert_close(y.ravel(), expected.ravel())

    def test_map_longer_than_the_ports(self):
        """Stock: entries beyond the ports are ignored."""
        x = random_items(self.rng, "c", 1000)
        block = pfb.channelizer_ccf(8, [1, 2, 3])
        block.set_channel_map([7, 6, 5, 4, 3])
        y = run_ports(block, x, 2)
        self.assert_close(y.ravel(), channelize(x, [1, 2, 3], 8, 8, [7, 6]).ravel())
        self.assertEqual(block.channel_map(), [7, 6, 5, 4, 3])

    def test_maps_refused(self):
        """The old map stays."""
        for make in (lambda: cufilter.pfb_channelizer_ccf(4, [1], 1),
                     lambda: pfb.channelizer_ccf(4, [1]),
                     lambda: cufilter.pfb_channelizer_vcc(4, [1])):
            block = make()
            block.set_channel_map([3, 2, 1, 0])
            for bad in ([0, 1, 2, 4], [-1, 1, 2, 3], [0, 1, 2, 1 << 30]):
                with self.assertRaisesRegex(ValueError, r"map\[.\] is"):
                    block.set_channel_map(bad)
                self.assertEqual(block.channel_map(), [3, 2, 1, 0])
            block.set_channel_map([])  # what GRC sends by default
            self.assertEqual(block.channel_map(), [3, 2, 1, 0])
        with self.assertRaisesRegex(ValueError, "4 entries"):
            cufilter.pfb_channelizer_vcc(4, [1]).set_channel_map([1])
        for bad in ([4], [-1]):
            with self.assertRaises(ValueError):
                cufilter.pfb_channelizer_vcc(4, [1], 1, bad)

    def test_map_shorter_than_the_ports(self):
        block = pfb.channelizer_ccf(4, [1])
        block.set_channel_map([3, 2])
        x = random_items(self.rng, "c", 100)
        with self.assertRaisesRegex(ValueError, "3 ports"):
            run_ports(block, x, 3)
        self.assertEqual(run_ports(block, x, 2).shape, (2, 25))
        with self.assertRaisesRegex(ValueError, "2 ports"):
            block.set_channel_map([1])
        self.assertEqual(block.channel_map(), [3, 2])

    def test_small_calls(self):
        """Any number of items a call, down to one."""
        for K, R, n_taps in ((5, 4, 29), (8, 1, 24), (10, 10, 181), (7, 3, 100)):
            taps = random_taps(self.rng, "f", n_taps)
            x = random_items(self.rng, "c", 700)
            expected = channelize(x, taps, K, R)
            for most in (1, 2, 7, 64):
                for name, block, run in forms(K, taps, K / R):
                    with self.subTest(K=K, R=R, most=most, form=name):
                        n = len(x) if name != "ports" else len(x) // K * K
                        y = run(block, x, K, most=most)
                        self.assertEqual(y.shape, (K, n // R))
                        self.assert_close(y.ravel(), expected[:, :n // R].ravel())

    def test_thousands_of_channels(self):
        """Pains 22, 23: with the default number of shared memory segments, where stock
        does not start."""
        for K, R in ((1024, 1024), (1024, 512), (4096, 4096), (16384, 8192)):
            with self.subTest(K=K, R=R):
                taps = random_taps(self.rng, "f", 3 * K + 5)
                x = random_items(self.rng, "c", 6 * K + 3)
                y = run_vectors(cufilter.pfb_channelizer_vcc(K, taps, K / R), x, K)
                self.assertEqual(y.shape, (K, len(x) // R))
                some = [0, 1, K // 2 - 1, K // 2, K - 1, 777]
                self.assert_close(y[some].ravel(),
                                  channelize(x, taps, K, R, some).ravel())

    def test_batches(self):
        K, R = 10, 5
        taps = random_taps(self.rng, "f", 181)
        x = random_items(self.rng, "c", 300007)
        expected = channelize(x, taps, K, R)
        for batch_items in (1, 1000, 100000):
            for name, block, run in forms(K, taps, K / R, batch_items=batch_items):
                with self.subTest(batch_items=batch_items, form=name):
                    n = len(x) if name != "ports" else len(x) // K * K
                    y = run(block, x, K)
                    self.assertEqual(y.shape, (K, n // R))
                    self.assert_close(y.ravel(), expected[:, :n // R].ravel())

    def test_two_runs_are_identical(self):
        taps = random_taps(self.rng, "f", 500)
        x = random_items(self.rng, "c", 20000)
        for K, R in ((16, 16), (16, 8), (60, 60), (40, 28)):
            first, second = (run_vectors(cufilter.pfb_channelizer_vcc(
                K, taps, K / R, batch_items=len(x)), x, K) for _ in range(2))
            np.testing.assert_array_equal(first, second)

    def test_not_finite_items(self):
        """Pain 17: a NaN shows in the frames whose taps cover it, and in no other."""
        K, R, n_taps = 8, 4, 48
        x = random_items(self.rng, "c", 4000)
        taps = random_taps(self.rng, "f", n_taps)
        clean = channelize(x, taps, K, R)
        x[1000] = np.nan
        y = run_vectors(cufilter.pfb_channelizer_vcc(K, taps, K / R), x, K)
        finite = np.all(np.isfinite(y), axis=0)
        t = (np.arange(len(finite)) + 1) * R - 1
        np.testing.assert_array_equal(finite, (t < 1000) | (t - 1000 >= n_taps))
        self.assert_close(y[:, finite].ravel(), clean[:, finite].ravel())


class Arguments(TestCase):
    MAKERS = (cufilter.pfb_channelizer_ccf, pfb.channelizer_ccf,
              cufilter.pfb_channelizer_vcc, cufilter.pfb_channelizer_streams_ccf)

    def test_every_oversampling(self):
        """C45, pain 20: every K/R for K = 4096, also as a float."""
        K = 4096
        for R in range(1, K + 1):
            for ratio in (K / R, float(np.float32(K / R))):
                block = cufilter.pfb_channelizer_streams_ccf(K, [1], ratio, -1)
                self.assertEqual(block.decimation(), R)
        for K, ratio, R in ((5, 1.25, 4), (72, 1.44, 50), (72, 36 / 25, 50),
                            (40, 10 / 7, 28), (256, 256 / 255, 255), (1, 1, 1)):
            self.assertEqual(pfb.channelizer_ccf(K, [1], ratio).decimation(), R)

    def test_oversampling_refused(self):
        for make in self.MAKERS:
            for K, ratio, nearest in ((5, 1.3, "1.25 .R = 4."), (4, 0.5, "1 .R = 4."),
                                      (4, 0, "1 .R = 4."), (4, -1, "1 .R = 4."),
                                      (4, 5, "4 .R = 1."), (5, 10.1334, "5 .R = 1."),
                                      (4, float("nan"), "1 .R = 4.")):
                with self.assertRaisesRegex(ValueError, nearest):
                    make(K, [1], ratio)

    def test_refused(self):
        for make in self.MAKERS:
            for error, arguments in ((ValueError, (0, [1], 1)),
                                     (ValueError, (-3, [1], 1)),
                                     (ValueError, (16385, [1], 1)),
                                     (ValueError, (4, [float("nan")], 1)),
                                     (TypeError, (4, [1j], 1)),
                                     (TypeError, (4.5, [1], 1)),
                                     (TypeError, (4, 1, 1))):
                with self.subTest(make=make, arguments=arguments):
                    with self.assertRaises(error):
                        make(*arguments)
            for keywords in ({"device": -3}, {"batch_items": -1}):
                with self.assertRaises(ValueError):
                    make(4, [1], 1, **keywords)
        for make in (cufilter.pfb_channelizer_ccf, cufilter.pfb_channelizer_vcc):
            with self.assertRaisesRegex(ValueError, "taps must be 1"):
                make(4, [], 1)
        block = pfb.channelizer_ccf(4, [1, 2])
        for bad in ([], [float("inf")]):
            with self.assertRaises(ValueError):
                block.set_taps(bad)
            self.assertEqual(block.taps(), [[1], [2], [0], [0]])

    def test_by_keyword(self):
        block = cufilter.pfb_channelizer_ccf(numchans=4, taps=[1], oversample_rate=2,
                                             device=-1, batch_items=1000)
        self.assertEqual(block.device(), -1)
        self.assertEqual(block.relative_rate(), 2)
        block = pfb.channelizer_ccf(numchans=4, taps=[1], oversample_rate=2, atten=80,
                                    device=-1, batch_items=1000)
        self.assertEqual((block.device(), block.decimation()), (-1, 2))
        block = cufilter.pfb_channelizer_vcc(numchans=4, taps=[1], oversample_rate=2,
                                             channel_map=[1, 0], device=-1)
        self.assertEqual(block.channel_map(), [1, 0])

    def test_taps_by_branch(self):
        for K, n_taps in ((4, 5), (4, 1), (5, 29), (3, 3), (7, 50)):
            taps = random_taps(self.rng, "f", n_taps)
            expected = stock.pfb_channelizer_ccf(K, taps, 1.0).taps()
            for make in self.MAKERS:
                self.assertEqual(make(K, taps, 1).taps(), expected)

    def test_relative_rates_are_exact(self):
        """36/25 is not 1.440000057."""
        block = cufilter.pfb_channelizer_ccf(36, [1], 36 / 25)
        self.assertEqual(block.relative_rate(), 36 / 25)
        self.assertEqual((block.relative_rate_i(), block.relative_rate_d()), (36, 25))
        block = pfb.channelizer_ccf(36, [1], 36 / 25)
        self.assertEqual((block.relative_rate_i(), block.relative_rate_d()), (1, 25))


class Frequencies(TestCase):
    def test_channel_freqs(self):
        """Pain 41: wrapped above half the rate, as the channels are."""
        self.assertEqual(pfb.channel_freqs(6, 6), [0, 1, 2, 3, -2, -1])
        self.assertEqual(pfb.channel_freqs(5, 10), [0, 2, 4, -4, -2])
        self.assertEqual(pfb.channel_freqs(4, 4e6, 100e6), [100e6, 101e6, 102e6, 99e6])
        self.assertEqual(pfb.channel_freqs(1, 1, center=7), [7])
        for bad in ((0, 1), (-1, 1), (16385, 1), (4, float("nan"))):
            with self.assertRaises(ValueError):
                pfb.channel_freqs(*bad)

    def test_a_tone_on_each_centre(self):
        """Pain 29, C41: with its gain and phase, and in no other channel."""
        K, R = 9, 6
        taps = np.array(pfb.create_taps(K, 80), np.float32)
        n = np.arange(3000)
        for c, frequency in enumerate(pfb.channel_freqs(K, 1.0)):
            tone = np.exp(2j * np.pi * frequency * n).astype(np.complex64)
            y = run_ports(pfb.channelizer_ccf(K, taps, K / R), tone, K)[:, 200:]
            phase = np.exp(-2j * np.pi * c * (R + 1) / K)
            self.assertLessEqual(np.max(np.abs(y[c] - phase * np.sum(taps))), 2e-5)
            others = np.delete(y, c, axis=0)
            self.assertLessEqual(np.max(np.abs(others)), 10 ** (-70 / 20))

    def test_order_of_the_channels(self):
        """C41: amplitudes 1 .. 6 come out of ports 0 .. 5."""
        K, n = 6, np.arange(20000)
        x = sum((k + 1) * np.exp(2j * np.pi * k * n / K) for k in range(K))
        block = pfb.channelizer_ccf(K, firdes.low_pass(1, K, 0.4, 0.2))
        y = run_ports(block, x.astype(np.complex64), K)[:, 100:]
        np.testing.assert_allclose(np.mean(np.abs(y), axis=1), np.arange(1, 7), rtol=3e-3)


class Purity(TestCase):
    def test_leakage(self):
        """Tones on a centre, 0.3 spacings off and on a border: as the prototype lets them
        through where they belong, and down by its attenuation in all other channels."""
        for K, R, atten in ((16, 16, 80), (16, 8, 100), (60, 40, 80), (1024, 512, 100)):
            taps = np.array(pfb.create_taps(K, atten), np.float32)
            n = (len(taps) // K + 60) * K
            for c, off in ((3, 0), (3, 0.3), (3, -0.3), (3, 0.5), (K - 2, 0.3),
                           (K // 2, 0)):
                with self.subTest(K=K, R=R, atten=atten, c=c, off=off):
                    tone = np.exp(2j * np.pi * ((c + off) / K * np.arange(n) % 1))
                    block = cufilter.pfb_channelizer_vcc(K, taps, K / R)
                    y = run_vectors(block, tone.astype(np.complex64), K)
                    level = np.mean(np.abs(y[:, len(taps) // R + 1:]) ** 2, axis=1)
                    decibels = 10 * np.log10(level + 1e-30)
                    turn = np.exp(-2j * np.pi * off / K * np.arange(len(taps)))
                    expected = 20 * np.log10(np.abs(np.dot(taps, turn)))
                    if off != 0.5:
                        self.assertLessEqual(abs(expected), 0.2)
                    owners = {c, (c + 1) % K} if off == 0.5 else {c}
                    for owner in owners:
                        self.assertLessEqual(abs(decibels[owner] - expected), 0.01)
                    others = np.delete(decibels, sorted(owners))
                    self.assertLessEqual(np.max(others), 3 - atten)


class DefaultTaps(TestCase):
    def test_all_spellings(self):
        """C42, pain 16: a tone on channel 2, and 0.3 spacings off, is there alone."""
        K, n = 7, np.arange(30000)
        for taps in ((), (None,), ([],), ((),)):
            for off, level in ((0, 0.2), (0.3, 0.2)):
                with self.subTest(taps=taps, off=off):
                    tone = np.exp(2j * np.pi * (2 + off) / K * n).astype(np.complex64)
                    block = pfb.channelizer_ccf(K, *taps)
                    self.assertEqual(len(block.taps()[0]), 21)
                    y = run_ports(block, tone, K)[:, 100:]
                    decibels = [20 * np.log10(rms(row)) for row in y]
                    self.assertLessEqual(abs(decibels[2]), level)
                    self.assertLessEqual(max(np.delete(decibels, 2)), -90)

    def test_of_stock(self):
        for K in (2, 5, 7, 20):
            self.assertEqual(pfb.channelizer_ccf.create_taps(K),
                             stock.pfb.channelizer_ccf.create_taps(K))
        self.assertEqual(pfb.create_taps(5, 80),
                         stock.pfb.channelizer_ccf.create_taps(5, 80))

    def test_where_stock_has_none(self):
        """Flat to 0.4 spacings, down by the attenuation from 0.6 on."""
        self.assertEqual(pfb.create_taps(1), (1.0,))
        for K in (128, 1024, 4096):
            for atten in (60, 100):
                taps = np.array(pfb.create_taps(K, atten))
                response = np.abs(np.fft.fft(taps, 64 * K))
                f = np.arange(64 * K) / 64  # spacings
                decibels = 20 * np.log10(response + 1e-12)
                self.assertLessEqual(np.max(np.abs(decibels[f <= 0.4])), 0.1)
                self.assertLessEqual(np.max(decibels[(f >= 0.6) & (f <= K / 2)]),
                                     -atten + 0.5)
        self.assertEqual(pfb.channelizer_ccf(300).device(),
                         pfb.channelizer_ccf(3).device())
        for bad in ((0,), (-1,), (200, 0)):
            with self.assertRaises(ValueError):
                pfb.create_taps(*bad)


class AgainstStock(TestCase):
    """Sample for sample, hierarchical and plain block alike, as far as stock's go."""

    def compare(self, K, R, n_taps, n=6000):
        taps = random_taps(self.rng, "f", n_taps)
        x = random_items(self.rng, "c", n)
        ratio = K / R
        expected = run_ports(stock.pfb.channelizer_ccf(K, taps, ratio), x, K)
        for name, block, run in forms(K, taps, ratio):
            with self.subTest(K=K, R=R, n_taps=n_taps, form=name):
                y = run(block, x, K)
                self.assertLessEqual(expected.shape[1], y.shape[1])
                if R == K:
                    self.assertEqual(expected.shape, y.shape)
                y = y[:, :expected.shape[1]]
                self.assert_close(y.ravel(), expected.ravel(), 1e-6)

    def test_cases(self):
        """C40."""
        for K, R, n_taps in ((5, 5, 29), (5, 4, 29), (3, 2, 145), (6, 3, 31),
                             (32, 16, 241), (8, 1, 24), (20, 20, 803), (10, 5, 181)):
            self.compare(K, R, n_taps)

    def test_from_flowgraphs(self):
        """G01 to G32: channels, oversampling and taps as users have them."""
        for K, R, n_taps in ((6, 6, 115), (40, 40, 385), (5, 4, 29), (72, 50, 1025),
                             (20, 20, 336), (2, 1, 141), (32, 16, 241), (60, 60, 700)):
            self.compare(K, R, n_taps)

    def test_flat_across_an_occupied_channel(self):
        """C50: 320 channels of 25 kHz at twice the rate, 0.5 dB over +-12.5 kHz."""
        K, fs = 320, 8e6
        taps = firdes.low_pass_2(1, fs, 18e3, 8e3, 70)
        for offset in (0, 6e3, 12.4e3, -12.4e3):
            n = np.arange(60 * K)
            x = np.exp(2j * np.pi * (3 * 25e3 + offset) / fs * n).astype(np.complex64)
            block = cufilter.pfb_channelizer_vcc(K, taps, 2, [3])
            y = run_vectors(block, x, 1)[0][len(taps) // 160 + 2:]
            self.assertLessEqual(abs(20 * np.log10(rms(y))), 0.5)


class Receivers(TestCase):
    """C56: what receivers ask of a GPU; the values everywhere, the rates on one."""

    BANKS = ((40, 1, 803, 16e6), (40, 10 / 7, 803, 16e6), (512, 1, 6167, 12.8e6),
             (512, 2, 6167, 12.8e6))

    def test_values(self):
        for K, ratio, n_taps, _ in self.BANKS:
            with self.subTest(K=K, ratio=ratio):
                taps = random_taps(self.rng, "f", n_taps)
                x = random_items(self.rng, "c", 3 * n_taps + 50 * K)
                some = [0, 1, K // 2, K - 1]
                block = cufilter.pfb_channelizer_vcc(K, taps, ratio, some)
                y = run_vectors(block, x, len(some))
                expected = channelize(x, taps, K, round(K / ratio), some)
                self.assert_close(y.ravel(), expected.ravel())

    def rate(self, make, seconds=1.0):
        """Items a second through the blocks of make() side by side."""
        n = 1 << 20
        while True:
            tb = gr.top_block()
            head = blocks.head(8, n)
            tb.connect(blocks.null_source(8), head)
            for block, vector in make():
                tb.connect(head, block, blocks.null_sink(8 * vector))
            start = time.perf_counter()
            tb.run()
            took = time.perf_counter() - start
            if took > seconds / 4:
                return n / took
            n *= 8

    def test_rates(self):
        if os.environ.get("CUFILTER_DEVICE", "cpu") == "cpu":
            self.skipTest("a GPU's rates")
        for K, ratio, n_taps, wanted in self.BANKS:
            with self.subTest(K=K, ratio=ratio):
                taps = random_taps(self.rng, "f", n_taps)
                rate = self.rate(
                    lambda: [(cufilter.pfb_channelizer_vcc(K, taps, ratio), K)])
                self.assertGreater(rate, wanted)
        with self.subTest(chains=4):
            taps = random_taps(self.rng, "c", 757)
            rate = self.rate(
                lambda: [(cufilter.fir_filter_ccc(208, taps), 1) for _ in range(4)])
            self.assertGreater(rate, 10e6)


if __name__ == "__main__":
    main()
