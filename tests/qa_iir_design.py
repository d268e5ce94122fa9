# SPDX-License-Identifier: GPL-3.0-or-later
"""gnuradio.cufilter.iir: designs, responses, pictures."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from gnuradio import cufilter
from gnuradio.cufilter import iir
from cufilter_qa import TestCase, main, random_items, run
from iir_qa import IIR_ACCURACY, signal, wide

RATE = 48e3


class Design(TestCase):
    def test_families_and_bands(self):
        for family in iir.FAMILIES:
            for band, cutoff in (("lowpass", 3000), ("highpass", 3000),
                                 ("bandpass", (1000, 3000)), ("bandstop", (1000, 3000))):
                for order in (1, 2, 5, 8):
                    with self.subTest(family=family, band=band, order=order):
                        sos = iir.design(band, order, cutoff, RATE, family, 0.5, 70)
                        expected = signal.iirfilter(
                            order, cutoff, 0.5, 70, band, ftype=family, output="sos",
                            fs=RATE)
                        np.testing.assert_array_equal(sos, expected)
                        self.assertIsInstance(sos[0][0], float)

    def test_notch_and_peak(self):
        x = np.cos(2 * np.pi * 1000 / RATE * np.arange(20000)).astype(np.float32)
        for band, level in (("notch", 0), ("peak", 1)):
            sos = iir.design(band, 1, 1000, RATE, quality=10)
            y = run(cufilter.sos_filter_ff(sos), x, "ff")[10000:]
            self.assertLessEqual(abs(np.max(np.abs(y)) - level), 1e-3)
            f, h = iir.response(sos, RATE, [0.0, 950.0, 1000.0, RATE / 2])
            self.assertLessEqual(np.max(np.abs(np.abs(h[[0, 3]]) - (1 - level))), 1e-6)
            self.assertLessEqual(abs(np.abs(h[2]) - level), 1e-6)
            self.assertLessEqual(abs(20 * np.log10(abs(h[1])) + 3), 0.3)

    def test_through_the_block(self):
        for order in (2, 16, 64):
            sos = iir.design("lowpass", order, 4800, RATE)
            self.assertEqual(len(sos), order // 2)
            x = random_items(self.rng, "c", 20011)
            self.assert_close(run(cufilter.sos_filter_cc(sos), x, "cc"),
                              signal.sosfilt(sos, wide(x)), IIR_ACCURACY)

    def test_de_emphasis(self):
        """C101: first order at 1 / (2 pi 75 us) is what GNU Radio's fm_deemph has."""
        (row,) = iir.design("lowpass", 1, 1 / (2 * np.pi * 75e-6), RATE)
        np.testing.assert_allclose(row, [0.1226445, 0.1226445, 0, 1, -0.7547109, 0],
                                   atol=1e-6)

    def test_arguments(self):
        good = {"band": "lowpass", "order": 4, "cutoff": 0.2}
        iir.design(**good)
        iir.design(**{**good, "order": 4.0})
        for bad, word in (({"band": "low"}, "band"), ({"order": 0}, "order"),
                          ({"order": 65}, "order"), ({"order": 2.5}, "order"),
                          ({"cutoff": 0}, "cutoff"), ({"cutoff": 1}, "cutoff"),
                          ({"cutoff": (0.1, 0.2)}, "one frequency"),
                          ({"band": "bandpass"}, "two frequencies"),
                          ({"band": "bandpass", "cutoff": (0.2, 0.1)}, "rise"),
                          ({"band": "bandpass", "cutoff": (0.1, 0.2), "order": 33},
                           "order"),
                          ({"family": "fir"}, "family"), ({"samp_rate": 0}, "samp_rate"),
                          ({"family": "cheby1", "ripple": 0}, "ripple"),
                          ({"family": "cheby2", "attenuation": 0}, "attenuation"),
                          ({"family": "ellip", "ripple": 70}, "attenuation"),
                          ({"band": "notch", "quality": 0}, "quality"),
                          ({"cutoff": float("nan")}, "cutoff")):
            with self.subTest(**bad), self.assertRaisesRegex(ValueError, word):
                iir.design(**{**good, **bad})

    def test_where_scipy_is_missing(self):
        """The module loads, and the design says what to install."""
        for missing, call, package in (
                ("scipy", "iir.design('lowpass', 4, 0.2)", "python3-scipy"),
                ("matplotlib", "iir.plot([[1, 0, 0, 1, 0, 0]])", "python3-matplotlib")):
            program = ("import sys; sys.modules[%r] = None\n"
                       "from gnuradio.cufilter import iir, sos_filter_ff\n"
                       "sos_filter_ff([[1, 0, 0, 1, 0, 0]])\n"
                       "iir.response([[1, 0, 0, 1, 0, 0]])\n%s\n" % (missing, call))
            result = subprocess.run([sys.executable, "-c", program], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertRegex(result.stdout, "ImportError: gnuradio.cufilter.iir.*%s" %
                             package)


class Response(TestCase):
    def test_as_scipy(self):
        sos = iir.design("bandpass", 6, (300, 3400), RATE, "ellip", 0.5, 80)
        f, h = iir.response(sos, RATE)
        self.assertEqual((len(f), f[0], f[-1]), (2048, 0, RATE / 2))
        f = np.linspace(10, 23e3, 777)
        _, expected = signal.sosfreqz(sos, f, fs=RATE)
        np.testing.assert_allclose(iir.response(sos, RATE, f)[1], expected, atol=1e-12)
        expected = sum(signal.group_delay((row[:3], row[3:]), f, fs=RATE)[1]
                       for row in sos)
        np.testing.assert_allclose(iir.group_delay(sos, RATE, f)[1], expected, atol=1e-4)
        zeros, poles = iir.roots(sos)
        z, p, _ = signal.sos2zpk(sos)
        for mine, theirs in ((zeros, z), (poles, p)):
            np.testing.assert_allclose(np.sort_complex(np.round(mine, 6)),
                                       np.sort_complex(np.round(theirs, 6)), atol=2e-6)

    def test_of_the_block(self):
        """What an impulse brings out, transformed."""
        sos = iir.design("lowpass", 8, 6000, RATE, "cheby1")
        x = np.zeros(8192, np.float32)
        x[0] = 1
        y = run(cufilter.sos_filter_ff(sos), x, "ff")
        _, h = iir.response(sos, RATE, np.arange(4097) * RATE / 8192)
        np.testing.assert_allclose(np.fft.rfft(y), h, atol=1e-5)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib")
    def test_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            for n, sos in enumerate((iir.design("highpass", 1, 1e-4),
                                     iir.design("notch", 1, 0.3),
                                     [[1, 0, 0, 1, 0, 0]], [[0, 0, 0, 1, 0, 0]],
                                     [[1, 0, 0, 1, -1, 0]], [[1, 0, 0, 1, -2.5, 1]])):
                path = os.path.join(folder, "%d.png" % n)
                iir.plot(sos, (2, 48e3, 3e9)[n % 3], path, "one")
                with open(path, "rb") as file:
                    self.assertEqual(file.read(4), b"\x89PNG")
            path = os.path.join(folder, "design.svg")
            iir.design("bandstop", 4, (0.1, 0.2), plot=path)
            self.assertGreater(os.path.getsize(path), 1000)

    def test_widget(self):
        program = """
from PyQt5 import Qt
from gnuradio.cufilter import iir
app = Qt.QApplication([])
widget = iir.response_widget(iir.design("lowpass", 4, 0.2), 2, "one")
assert isinstance(widget, Qt.QWidget)
widget.resize(900, 260)
before = widget.grab().toImage()
widget.set_sos(iir.design("highpass", 8, 0.5))
widget.set_samp_rate(48000)
widget.draw()
after = widget.grab().toImage()
assert after.width() == 900 and before != after
"""
        try:
            import matplotlib
            import PyQt5
        except ImportError as error:
            self.skipTest(str(error))
        result = subprocess.run([sys.executable, "-c", program], text=True,
                                env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    main()
