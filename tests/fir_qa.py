# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python tests of the FIR filters share: checks that all of them pass."""

import numpy as np
from gnuradio import cufilter
from gnuradio.filter import firdes
from cufilter_qa import TestCase, convolve, random_items, random_taps, rms, run, stock


def makers(prefix):
    """What finds our block of a kind, and what finds stock's."""
    return (lambda kind: getattr(cufilter, prefix + kind),
            lambda kind: getattr(stock, prefix + kind))


class FirTestCase(TestCase):
    """`make` finds the block of a kind; fsf, whose outputs are rounded, only counts."""

    def check_values(self, make, kinds, decimations, lengths):
        for kind in kinds:
            for decimation in decimations:
                for n_taps in lengths:
                    with self.subTest(kind=kind, decimation=decimation, n_taps=n_taps):
                        x = random_items(self.rng, kind[0], 20011)
                        taps = random_taps(self.rng, kind[2], n_taps)
                        y = run(make(kind)(decimation, taps), x, kind)
                        self.assert_close(y, convolve(x, taps, decimation))

    def check_counts_at_the_edges(self, make, kinds):
        for kind in kinds:
            taps = random_taps(self.rng, kind[2], 129)
            for decimation in (1, 2, 5, 208):
                for n in (0, 1, 2, decimation - 1, decimation, decimation + 1,
                          3 * decimation - 1):
                    with self.subTest(kind=kind, decimation=decimation, n=n):
                        x = random_items(self.rng, kind[0], n)
                        scale = n and rms(x) * np.linalg.norm(taps)
                        y = run(make(kind)(decimation, taps), x, kind)
                        self.assertEqual(len(y), n // decimation)
                        if kind != "fsf":
                            self.assert_close(y, convolve(x, taps, decimation),
                                              scale=scale)

    def check_wide_open_band_pass(self, make, decimations):
        """4819 taps, pass band +-1 kHz at 2 Msps."""
        taps = np.array(firdes.complex_band_pass(1, 2e6, -1e3, 1e3, 1e3), np.complex64)
        self.assertEqual(len(taps), 4819)
        for decimation in decimations:
            for frequency, low, high in ((0, -0.0087, 0.0087), (5e3, -400, -50)):
                with self.subTest(decimation=decimation, frequency=frequency):
                    tone = np.exp(2j * np.pi * frequency / 2e6 * np.arange(30000))
                    y = run(make("ccc")(decimation, taps), tone.astype(np.complex64),
                            "cc")
                    decibels = 20 * np.log10(rms(y[len(taps):]))
                    self.assertGreaterEqual(decibels, low)
                    self.assertLessEqual(decibels, high)
