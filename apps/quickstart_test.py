#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The quickstart's program on captures of each format and on its own scene, and its errors.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import wave
from unittest import mock

import numpy as np
from gnuradio.filter import firdes
from gnuradio.fft import window

import quickstart_flowgraph

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quickstart_flowgraph.py")
LINE = re.compile(
    r"quickstart: (\d+) samples through (\d+) taps at \d+\.\d MS/s on the CPU .*, "
    r"spectrum in (/\S+)\n"
)


def convolve(x, taps):
    """The first len(x) items, in float64."""
    size = 1 << int(x.size + len(taps)).bit_length()
    y = np.fft.ifft(np.fft.fft(x, size) * np.fft.fft(taps, size))[: x.size]
    return y if np.iscomplexobj(x) else y.real


def rms(x):
    return np.sqrt(np.mean(np.abs(x) ** 2))


class quickstart_test(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rng = np.random.default_rng(11)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_program(self, *options):
        command = [sys.executable, PROGRAM, "--device", "cpu"]
        return subprocess.run([*command, *options], capture_output=True, text=True)

    def filtered(self, kind, *options):
        """What the program saves; its line and its picture are looked at, too."""
        saved, picture = self.path("saved"), self.path("picture.png")
        done = self.run_program("--save", saved, "--output", picture, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        # GNU Radio 3.10.12 logs to the same place at a user's first start.
        line = LINE.fullmatch(done.stdout.splitlines(keepends=True)[-1])
        self.assertTrue(line, done.stdout)
        self.assertEqual(line[3], picture)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        samples = np.fromfile(saved, kind)
        self.assertEqual(int(line[1]), samples.size)
        return samples

    def check(self, samples, expected):
        self.assertEqual(samples.size, expected.size)
        self.assertGreater(rms(expected), 1e-3)
        self.assertLess(rms(samples - expected), 5e-7 * rms(expected))

    def test_u8(self):
        raw = self.rng.integers(0, 256, 2 * 30011).astype(np.uint8)
        raw.tofile(self.path("a.cu8"))
        x = (raw - 127.5) / 127.5
        taps = firdes.complex_band_pass(
            1, 1e6, -2e5, -1e5, 2e4, window.WIN_BLACKMAN_HARRIS
        )
        band = ("--rate", "1e6", "--low=-2e5", "--high=-1e5", "--transition", "2e4")
        got = self.filtered(np.complex64, self.path("a.cu8"), *band)
        self.check(got, convolve(x[::2] + 1j * x[1::2], taps))

    def test_complex_float(self):
        x = self.rng.standard_normal(20001) + 1j * self.rng.standard_normal(20001)
        x = x.astype(np.complex64)
        x.tofile(self.path("a.data"))
        self.assertEqual(self.run_program(self.path("a.data")).returncode, 2)
        taps = firdes.complex_band_pass(1, 5e6, 1e6, 2e6, 1e5, window.WIN_BLACKMAN_HARRIS)
        band = ("--rate", "5e6", "--low", "1e6", "--high", "2e6", "--transition", "1e5")
        got = self.filtered(
            np.complex64, self.path("a.data"), "--format", "cf32", *band
        )
        self.check(got, convolve(x, taps))

    def test_wav(self):
        raw = self.rng.integers(-30000, 30000, 24000).astype(np.int16)
        with wave.open(self.path("a.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(48000)
            file.writeframes(raw.tobytes())
        taps = firdes.band_pass(1, 48000, 2000, 5000, 500, window.WIN_BLACKMAN_HARRIS)
        band = ("--low", "2000", "--high", "5000", "--transition", "500")
        got = self.filtered(np.float32, self.path("a.wav"), *band)
        expected = convolve(raw.astype(np.float64), taps)
        scale = np.dot(got, expected) / np.dot(expected, expected)
        self.assertAlmostEqual(scale * 32768, 1, delta=1e-4)  # 1/32768 or 1/32767
        self.check(got, scale * expected)

    def test_scene(self):
        """The station stays, all else is gone."""
        samples = self.filtered(np.complex64)
        power = np.zeros(4096)
        for part in samples[: samples.size // 4096 * 4096].reshape(-1, 4096):
            power += np.abs(np.fft.fft(part * np.blackman(4096))) ** 2
        f = np.fft.fftfreq(4096, 1 / 2.4e6)
        inside = (f > 140e3) & (f < 360e3)
        self.assertGreater(power[inside].sum(), 1e7 * power[~inside].sum())

    def fail_here(self, *options):
        """The error of main() in this process, which need not load GNU Radio again."""
        command = [PROGRAM, "--device", "cpu", *options]
        with mock.patch.object(sys, "argv", command):
            with self.assertRaises(SystemExit) as caught:
                quickstart_flowgraph.main()
        return caught.exception.code  # a text: the interpreter writes it and exits with 1

    def test_errors(self):
        open(self.path("empty.cu8"), "wb").close()
        np.zeros(100, np.complex64).tofile(self.path("short.cf32"))
        np.zeros(5000, np.complex64).tofile(self.path("a.cf32"))
        for words, options in (
            ("too small", [self.path("empty.cu8")]),
            ("100 samples", [self.path("short.cf32")]),
            ("no band", [self.path("a.cf32"), "--low", "9e6", "--high", "10e6"]),
            ("RIFF", [self.path("a.cf32"), "--format", "wav"]),
            ("No such file", [self.path("a.cf32"), "--output", self.path("no/a.png")]),
        ):
            self.assertIn(words, self.fail_here(*options))
        done = self.run_program(self.path("short.cf32"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("quickstart: ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
