# SPDX-License-Identifier: GPL-3.0-or-later
"""
cufilter-channelize: a made scene of tones, found in the files of their channels; all
formats in, both layouts out, and what it refuses.

Usage: channelize_test.py PROGRAM DEVICE, DEVICE being cpu or the index of a GPU.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
import zlib

import numpy as np

PROGRAM, DEVICE = sys.argv[1:3]
SKIPPED = 77
RATE, CENTER, K = 2.4e6, 433.92e6, 24
SPACING = RATE / K
# channel: (offset from its centre in spacings, level in dB)
TONES = {0: (0.1, -20), 3: (0.25, -6), 11: (-0.3, -40), 12: (0, -12), 20: (-0.2, -30),
         23: (0.3, -16)}


def centre(c, k=K, rate=RATE):
    return (c - (k if 2 * c > k else 0)) * rate / k


def scene(n=120007):
    t = np.arange(n) / RATE
    return sum(10 ** (level / 20) * np.exp(2j * np.pi * (centre(c) + off * SPACING) * t)
               for c, (off, level) in TONES.items()).astype(np.complex64)


def decibels(x):
    return 10 * np.log10(np.mean(np.abs(x) ** 2) + 1e-20)


class Channelize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def execute(self, *arguments, stdin=None):
        return subprocess.run([PROGRAM, "-d", DEVICE, *map(str, arguments)], input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)

    def run_program(self, *arguments, stdin=None):
        result = self.execute(*arguments, stdin=stdin)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stderr)
        return result.stdout.decode()

    def save(self, name, x):
        x.tofile(self.path(name))
        return self.path(name)

    def read(self, prefix):
        with open(self.path(prefix + ".sigmf-meta")) as file:
            meta = json.load(file)
        return np.fromfile(self.path(prefix + ".sigmf-data"), np.complex64), meta

    def check_scene(self, prefix, oversample=1, tolerance=0.3, floor=-75, names="%02d",
                    rate=RATE, center=CENTER):
        """Each tone in its channel's file, at its frequency and level."""
        decimation = round(K / oversample)
        for c in range(K):
            y, meta = self.read(prefix + "_ch" + names % c)
            self.assertEqual(len(y), 120007 // decimation)
            self.assertEqual(meta["global"]["core:datatype"], "cf32_le")
            self.assertEqual(meta["global"]["core:sample_rate"], rate / decimation)
            self.assertAlmostEqual(meta["captures"][0]["core:frequency"],
                                   center + centre(c), 3)
            y = y[len(y) // 4:]
            if c not in TONES:
                self.assertLessEqual(decibels(y), floor)
                continue
            off, level = TONES[c]
            self.assertLessEqual(abs(decibels(y) - level), tolerance)
            spectrum = np.abs(np.fft.fft(y * np.hanning(len(y))))
            found = np.fft.fftfreq(len(y), decimation / RATE)[np.argmax(spectrum)]
            self.assertLessEqual(abs(found - off * SPACING),
                                 2 * RATE / decimation / len(y))

    def test_raw(self):
        path = self.save("scene.cf32", scene())
        for oversample in (1, 2, 1.5):
            prefix = "raw%g" % oversample
            text = self.run_program("-k", K, "-o", oversample, "-r", RATE, "-c", CENTER,
                                    path, self.path(prefix))
            self.assertIn("120007 items in", text)
            self.check_scene(prefix, oversample)

    def test_batches_do_not_show(self):
        path = self.save("scene.cf32", scene(20000))
        results = []
        for batch in (1 << 20, 997, 1):
            self.run_program("-k", 7, "-o", 7 / 5, "-b", batch, "-i", "-q", path,
                             self.path("b%d" % batch))
            results.append(self.read("b%d" % batch)[0])
            self.assertEqual(len(results[-1]), 20000 // 5 * 7)
            error = np.sqrt(np.mean(np.abs(results[-1] - results[0]) ** 2))
            self.assertLessEqual(error, 1e-6 * np.sqrt(np.mean(np.abs(results[0]) ** 2)))

    def test_integer_formats(self):
        x = 0.3 * scene()
        tones = dict(TONES)
        for c, (off, level) in TONES.items():
            TONES[c] = (off, level + 20 * np.log10(0.3))
        try:
            pairs = x.view(np.float32)
            for name, items, floor in (
                    ("scene.cu8", np.rint(pairs * 127.5 + 127.5).astype(np.uint8), -55),
                    ("scene.cs8", np.rint(pairs * 128).astype(np.int8), -55),
                    ("scene.cs16", np.rint(pairs * 32768).astype(np.int16), -75)):
                path = self.save(name, items)
                self.run_program("-k", K, "-r", RATE, "-c", CENTER, path,
                                 self.path(name))
                self.check_scene(name, tolerance=1.5, floor=floor)
        finally:
            TONES.update(tones)

    def test_wav(self):
        """A chunk before and one after the samples; the rate is in the header."""
        x = scene()
        path = self.path("scene.wav")
        items = np.rint(x.view(np.float32) * 0.5 * 32767).astype("<i2")
        with wave.open(path, "wb") as file:
            file.setparams((2, 2, int(RATE), 0, "NONE", ""))
            file.writeframes(items.tobytes())
        with open(path, "rb") as file:
            data = file.read()
        odd = b"junk" + struct.pack("<I", 3) + b"abc\0"
        data = data[:36] + odd + data[36:] + odd
        with open(path, "wb") as file:
            file.write(data)
        self.run_program("-k", K, "-c", CENTER, path, self.path("wav"))
        self.check_scene("wav", tolerance=6.4)
        level = decibels(self.read("wav_ch03")[0][1000:])
        self.assertLessEqual(abs(level - (-6 - 6.02)), 0.2)

    def test_sigmf_and_pipe(self):
        x = scene()
        self.save("in.sigmf-data", x)
        with open(self.path("in.sigmf-meta"), "w") as file:
            json.dump({"global": {"core:datatype": "cf32_le", "core:version": "1.0.0",
                                  "core:description": "\"core:sample_rate\": 1",
                                  "core:sample_rate": RATE},
                       "captures": [{"core:sample_start": 0, "core:frequency": CENTER}],
                       "annotations": []}, file)
        for end in ("meta", "data"):
            self.run_program("-k", K, self.path("in.sigmf-" + end), self.path("s" + end))
            self.check_scene("s" + end)
        self.run_program("-k", K, "-f", "cf32", "-r", RATE, "-c", CENTER, "-",
                         self.path("piped"), stdin=x.tobytes())
        self.check_scene("piped")

    def test_selection_and_layouts(self):
        path = self.save("scene.cf32", scene())
        self.run_program("-k", K, "-s", "20-23,3,3", "-i", "-r", RATE, path,
                         self.path("one"))
        y, meta = self.read("one")
        channels = [20, 21, 22, 23, 3, 3]
        self.assertEqual(meta["global"]["core:num_channels"], 6)
        self.assertEqual(meta["global"]["cufilter:channels"], channels)
        self.assertEqual(meta["global"]["cufilter:frequencies"],
                         [centre(c) for c in channels])
        y = y.reshape(-1, 6)
        self.run_program("-k", K, "-s", "20-23,3,3", path, self.path("many"))
        for o, name in enumerate(("20", "21", "22", "23", "03", "03_2")):
            single, meta = self.read("many_ch" + name)
            np.testing.assert_allclose(single, y[:, o], atol=1e-6)
            self.assertNotIn("core:sample_rate", meta["global"])
            self.assertNotIn("core:frequency", meta["captures"][0])
        self.assertEqual(len([f for f in os.listdir(self.folder.name)
                              if f.startswith("many")]), 12)

    def test_taps(self):
        """A given prototype is used as it is: [0, 1] delays by one item."""
        x = (np.arange(40) + 1).astype(np.complex64)
        path = self.save("ramp.cf32", x)
        with open(self.path("taps.txt"), "w") as file:
            file.write("# prototype\n0\n\n 1e0,\n")
        np.array([0, 1], np.float32).tofile(self.path("taps.f32"))
        for name in ("taps.txt", "taps.f32"):
            self.run_program("-k", 4, "-s", 0, "-t", self.path(name), "--force", path,
                             self.path("delayed"))
            np.testing.assert_allclose(self.read("delayed_ch0")[0], x[2::4], atol=1e-5)

    def test_many_channels(self):
        rng = np.random.default_rng(3)
        x = (rng.standard_normal(40000) + 1j * rng.standard_normal(40000))
        path = self.save("noise.cf32", x.astype(np.complex64))
        self.run_program("-k", 4096, "-o", 2, "-i", path, self.path("all"))
        self.assertEqual(len(self.read("all")[0]), 40000 // 2048 * 4096)
        self.run_program("-k", 500, path, self.path("files"))
        self.assertEqual(len([f for f in os.listdir(self.folder.name)
                              if f.startswith("files_ch") and f.endswith("data")]), 500)

    def test_plot(self):
        """A whole PNG, with higher bars where the tones are."""
        path = self.save("scene.cf32", scene())
        picture = self.path("powers.png")
        self.run_program("-k", K, "-r", RATE, "-c", CENTER, "-i", "-p", picture, path,
                         self.path("plotted"))
        with open(picture, "rb") as file:
            data = file.read()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        chunks, at = {}, 8
        while at < len(data):
            size, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + size]
            self.assertEqual(struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0],
                             zlib.crc32(kind + body))
            chunks[kind] = body
            at += 12 + size
        width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
        image = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
        image = image.reshape(height, width + 1)[:, 1:]
        bars = np.sum(image == 3, axis=0)
        order = np.argsort([centre(c) for c in range(K)])
        heights = np.array([np.median(part) for part in np.array_split(bars[84:-24], K)])
        by_channel = dict(zip(order, heights))
        ranked = sorted(by_channel, key=by_channel.get, reverse=True)
        self.assertEqual(ranked[:len(TONES)],
                         sorted(TONES, key=lambda c: -TONES[c][1]))

    def test_refused(self):
        path = self.save("scene.cf32", scene(1000))
        self.save("scene.xyz", scene(10))
        for arguments, words in (
                ((path, "x"), "--channels is missing"), (("-k", 4), "INPUT and OUTPUT"),
                (("-k", 0, path, "x"), "1 .. 16384, not 0"),
                (("-k", "4x", path, "x"), "not 4x"),
                (("-k", 5, "-o", 1.3, path, "x"), "nearest legal values are 1.25"),
                (("-k", 4, "-s", "1,4", path, "x"), "0 .. 3, but 4"),
                (("-k", 4, "-s", "2-1", path, "x"), "--select must be"),
                (("-k", 4, "-s", "", path, "x"), "--select must be"),
                (("-k", 4, "nothing.cf32", "x"), "No such file"),
                (("-k", 4, self.path("scene.xyz"), "x"), "give --format"),
                (("-k", 4, "-f", "wav", path, "x"), "not a WAV file"),
                (("-k", 4, "-f", "mp3", path, "x"), "not mp3"),
                (("-k", 4, "-t", path, path, "x"), "not a number"),
                (("-k", 4, "-r", "-1", path, "x"), "--rate must be"),
                (("-k", 4, path, "/nonexistent/x"), "No such file")):
            with self.subTest(arguments=arguments):
                arguments = [self.path("x") if a == "x" else a for a in arguments]
                result = self.execute(*arguments)
                self.assertEqual(result.returncode, 1)
                self.assertIn(words, result.stderr.decode())
                self.assertTrue(result.stderr.startswith(b"cufilter-channelize: "))
        self.assertEqual(sorted(os.listdir(self.folder.name)),
                         ["scene.cf32", "scene.xyz"])
        self.assertEqual(self.execute("--no-such").returncode, 2)

    def test_bad_metadata(self):
        np.zeros(8, np.complex64).tofile(self.path("a.sigmf-data"))
        for key, value in (("core:sample_rate", "-1"), ("core:sample_rate", '"1e6"'),
                           ("core:sample_rate", "1e999"), ("core:sample_rate", "NaN"),
                           ("core:frequency", "null"), ("core:frequency", "-1e400"),
                           ("core:num_channels", '"2"'), ("core:num_channels", "2"),
                           ("core:header_bytes", "[]"), ("core:datatype", "7")):
            with self.subTest(key=key, value=value):
                with open(self.path("a.sigmf-meta"), "w") as file:
                    file.write('{"global": {"%s": %s, "core:datatype": "cf32_le"}}' %
                               (key, value))
                result = self.execute("-k", 4, self.path("a.sigmf-meta"), self.path("b"))
                self.assertEqual(result.returncode, 1)
                self.assertIn(key.split(":")[1].split("_")[-1], result.stderr.decode())
                self.assertEqual(sorted(os.listdir(self.folder.name)),
                                 ["a.sigmf-data", "a.sigmf-meta"])

    def test_input_is_kept(self):
        """Even with --force the output must not be the input."""
        x = scene(1000)
        path = self.save("a.sigmf-data", x)
        with open(self.path("a.sigmf-meta"), "w") as file:
            json.dump({"global": {"core:datatype": "cf32_le"}}, file)
        result = self.execute("-k", 4, "-i", "--force", path, self.path("a"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"is the input", result.stderr)
        np.testing.assert_array_equal(np.fromfile(path, np.complex64), x)

    def test_existing_files_are_kept(self):
        path = self.save("scene.cf32", scene(1000))
        self.run_program("-k", 4, path, self.path("out"))
        before = self.read("out_ch3")[0]
        os.unlink(self.path("out_ch0.sigmf-data"))
        result = self.execute("-k", 4, "-t", "/dev/null", path, self.path("out"))
        self.assertEqual(result.returncode, 1)
        result = self.execute("-k", 4, path, self.path("out"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--force", result.stderr)
        np.testing.assert_array_equal(self.read("out_ch3")[0], before)
        self.run_program("-k", 4, "--force", path, self.path("out"))

    def test_help_and_version(self):
        self.assertIn("Usage: cufilter-channelize", self.run_program("--help"))
        self.assertRegex(self.run_program("--version"),
                         r"^cufilter-channelize \(gr-cufilter\) \d+\.\d+")

    def test_empty_input(self):
        path = self.save("empty.cf32", np.zeros(0, np.complex64))
        self.run_program("-k", 4, "-p", self.path("empty.png"), path, self.path("none"))
        self.assertEqual(len(self.read("none_ch0")[0]), 0)


def main():
    if DEVICE != "cpu":
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.cf32")
            np.zeros(8, np.complex64).tofile(path)
            result = subprocess.run([PROGRAM, "-d", DEVICE, "-k", "2", path, path],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode and b"cufilter_device" in result.stdout:
            print("skipped:", result.stdout.decode().strip())
            sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
