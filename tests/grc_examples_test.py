# SPDX-License-Identifier: GPL-3.0-or-later
"""
The examples: all flowgraphs compile, and each of them and its twin in Python, run side by
side, says and writes the same right things.
"""

import contextlib
import glob
import os
import re
import subprocess
import sys
import tempfile
import wave

import numpy as np
from cufilter_qa import main, random_items
from grc_test import HERE, Grc, environment, execute

os.environ.setdefault("CUFILTER_DEVICE", "cpu")
EXAMPLES = os.path.join(HERE, "..", "apps", "examples")
SCRIPTS = os.path.join(EXAMPLES, "python")
DATA = os.path.abspath(os.environ.get("CUFILTER_TEST_DATA",
                                      os.path.join(HERE, "..", "..", "shared", "data")))
CAPTURE = os.path.join(DATA, "adsb_2Msps_u8iq.bin")
DEVICE = ("on GPU %s" % os.environ["CUFILTER_DEVICE"]
          if os.environ["CUFILTER_DEVICE"].isdigit() else "on the CPU")


def names(folder, ending):
    return sorted(os.path.basename(path)[:-len(ending)]
                  for path in glob.glob(os.path.join(folder, "*" + ending)))


def write_wav(path, x):
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48000)
        file.writeframes((x.clip(-1, 1) * 32767).astype("<i2").tobytes())


def write_u8(path, x):
    pairs = np.rint(np.stack((x.real, x.imag), 1) + 127.4)
    pairs.clip(0, 255).astype(np.uint8).tofile(path)


def read_wav(path):
    """Samples and their rate."""
    with wave.open(path) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return raw / 32768, file.getframerate()


class Spectrum:
    """Of tones in the last 90 % of a recording."""

    def __init__(self, samples, rate):
        heard = samples[len(samples) // 10:]
        window = np.hanning(len(heard))
        self.powers = np.abs(np.fft.rfft(heard * window)) ** 2 / (window.sum() / 2) ** 2
        self.width = rate / len(heard)

    def around(self, f):
        at = int(round(f / self.width))
        return slice(at - 3, at + 4)

    def level(self, f):
        """The tone's level in dB: 0 of a sine with an amplitude of 1."""
        return 10 * np.log10(self.powers[self.around(f)].max() + 1e-20)

    def signal_to_noise(self, *frequencies):
        """Of these tones against all else but what is next to DC, dB."""
        noise = self.powers.copy()
        for f in frequencies:
            noise[self.around(f)] = 0
        noise[:4] = 0
        return 10 * np.log10((self.powers[4:].sum() - noise.sum()) / noise.sum())


class Examples(Grc):
    @classmethod
    def setUpClass(cls):
        """One grcc for all, which has the blocks' descriptions read once."""
        cls.stack = contextlib.ExitStack()
        cls.compiled = cls.stack.enter_context(tempfile.TemporaryDirectory())
        paths = sorted(glob.glob(os.path.join(EXAMPLES, "*.grc")))
        cls.grcc = execute(["grcc", "-o", cls.compiled, *paths], cls.compiled)

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def scripts(self, name):
        """The compiled flowgraph's, and its twin."""
        return [os.path.join(folder, name + ".py") for folder in (self.compiled, SCRIPTS)]

    def start(self, script, *arguments):
        folder = self.folder()
        process = subprocess.Popen(
            [sys.executable, script, *arguments], cwd=folder, env=environment(folder),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)  # which comes first
        return process, folder

    def finish(self, process):
        text = process.communicate(timeout=240)[0]
        self.assertEqual(process.returncode, 0, text)
        return text

    def run_both(self, name, *arguments):
        """Runs the flowgraph and its twin at once; for each what was printed (behind its
        name) and the folder it ran in."""
        started = [self.start(script, *arguments) for script in self.scripts(name)]
        return [(process.args[1] + ":\n" + self.finish(process), folder)
                for process, folder in started]

    def found(self, pattern, text):
        match = re.search(pattern, text)
        self.assertTrue(match, text)
        return match.groups()

    def test_all_compile_and_have_a_twin(self):
        self.assertEqual(self.grcc.returncode, 0, self.grcc.stdout)
        flowgraphs = names(EXAMPLES, ".grc")
        self.assertEqual(names(SCRIPTS, ".py"), flowgraphs)
        self.assertLessEqual(set(flowgraphs), set(names(self.compiled, ".py")))

    def compare_fir(self, capture, n):
        for text, _ in self.run_both("fir_compare", "--capture", capture):
            count, difference = self.found(
                r"(\d+) items %s, relative rms difference (\S+)" % DEVICE, text)
            self.assertEqual(int(count), n // 2)
            self.assertLessEqual(float(difference), 2e-6)

    def test_fir_compare(self):
        """The stock filter and ours agree, on noise in a capture's format."""
        path = os.path.join(self.folder(), "made.u8iq")
        write_u8(path, 30 * random_items(self.rng, "c", 200001))
        self.compare_fir(path, 200001)

    def test_fir_compare_off_the_air(self):
        if not os.path.exists(CAPTURE):
            self.skipTest("no capture at " + CAPTURE)
        self.compare_fir(CAPTURE, os.path.getsize(CAPTURE) // 2)

    def test_pfb_compare(self):
        """FM on channel 8, below the middle: the same items behind stock's and ours."""
        n = 200003
        t = np.arange(n) / 2e6
        phase = 2 * np.pi * -400e3 * t + 30 * np.sin(2 * np.pi * 1000 * t)
        path = os.path.join(self.folder(), "made.u8iq")
        write_u8(path, 60 * np.exp(1j * phase) + random_items(self.rng, "c", n))
        for text, _ in self.run_both("pfb_compare", "--capture", path, "--channel", "8"):
            count, difference = self.found(
                r"(\d+) items of channel 8 %s, median difference (\S+)" % DEVICE, text)
            self.assertEqual(int(count), n // 5)
            self.assertLessEqual(float(difference), 1e-5)

    def test_fm_band(self):
        """A station between two that are 20 dB stronger, in a band made by the example;
        then another out of the same file."""
        levels = {-800: -20, -400: -12, 0: -10, 200: -30, 400: -12}
        for text, folder in self.run_both("fm_band", "--seconds", "0.5"):
            rows = re.findall(r"channel +(\d+) at +(-?\d+) kHz: +(\S+) dB", text)
            self.assertEqual([int(row[1]) for row in rows], list(range(-1000, 1201, 200)))
            for channel, f, level in rows:
                self.assertEqual(int(channel), int(f) // 200 % 12)
                if int(f) in levels:
                    self.assertLessEqual(abs(float(level) - levels[int(f)]), 0.3)
                else:
                    self.assertLessEqual(float(level), -50)
            self.assertIn("20000 samples of audio of channel 1 %s: fm_band.wav" % DEVICE,
                          text)
            self.check_station(os.path.join(folder, "fm_band.wav"), 400, (800, 1200))
            capture = os.path.join(folder, "fm_band.u8iq")
        for text, folder in self.run_both("fm_band", "--capture", capture,
                                          "--station=-400e3", "--output", "other.wav"):
            self.assertIn("20000 samples of audio of channel 10 ", text)
            self.check_station(os.path.join(folder, "other.wav"), 600, (1000, 800))

    def check_station(self, path, tone, others):
        """Tone and five times the tone, de-emphasised; nothing of the other stations."""
        samples, rate = read_wav(path)
        self.assertEqual((len(samples), rate), (20000, 40000))
        spectrum = Spectrum(samples, rate)
        for f in (tone, 5 * tone):
            gain = -10 * np.log10(1 + (2 * np.pi * f * 50e-6) ** 2)
            self.assertLessEqual(abs(spectrum.level(f) - 20 * np.log10(0.5) - gain), 0.3)
        self.assertGreater(spectrum.signal_to_noise(tone, 5 * tone), 55)
        for f in others:
            self.assertLess(spectrum.level(f), spectrum.level(tone) - 75)

    def test_shortwave_receiver(self):
        """1024 channels overlapping by half: what is in them, and a broadcast's tone."""
        for text, folder in self.run_both("shortwave_receiver", "--items", "655360"):
            self.assertIn("1280 frames of 1024 channels " + DEVICE, text)
            rows = re.findall(r"channel +(\d+) at +(\S+) kHz: +(\S+) dB", text)
            expected = ((10, 12064, -5.5), (360, 14304, -30.5), (734, 10144, -40))
            self.assertEqual([(int(c), float(f)) for c, f, _ in rows],
                             [row[:2] for row in expected])
            for row, (_, _, level) in zip(rows, expected):
                self.assertLessEqual(abs(float(row[2]) - level), 0.5)
            samples, rate = read_wav(os.path.join(folder, "shortwave.wav"))
            self.assertEqual((len(samples), rate), (1280, 12800))
            spectrum = Spectrum(samples, rate)
            self.assertLessEqual(abs(spectrum.level(1000) - 20 * np.log10(0.25)), 0.5)
            self.assertGreater(spectrum.signal_to_noise(1000), 40)

    def test_shortwave_receiver_of_a_weak_carrier(self):
        """262144 samples make 512 frames. The carrier has no tone, and the broadcast that
        is 25 dB stronger leaves none there."""
        for text, folder in self.run_both("shortwave_receiver", "--items", "262144",
                                          "--station", "14.304e6"):
            self.assertIn("512 frames of 1024 channels " + DEVICE, text)
            samples, rate = read_wav(os.path.join(folder, "shortwave.wav"))
            self.assertEqual((len(samples), rate), (512, 12800))
            self.assertLess(Spectrum(samples, rate).level(1000), -65)

    def test_trunking(self):
        """Two stages leave one voice out of 8 MHz, beside a stronger neighbour."""
        for text, _ in self.run_both("trunking_two_stage"):
            self.assertIn("5000 items of audio, tone at 1000 Hz", text)
            self.assertGreater(int(self.found(r"(\d+) dB above", text)[0]), 25)

    def test_matched_filter(self):
        """A million taps find their chirp at the right sample."""
        for text, _ in self.run_both("matched_filter", "--delay", "123457"):
            self.assertIn("1272033 items, the chirp begins at 123457 (123457)", text)

    def test_zeromq(self):
        """One process splits the band, another takes a channel from it: the flowgraph
        serves the script, and the other way round."""
        for host, worker in zip(self.scripts("zeromq_channels"),
                                reversed(self.scripts("zeromq_worker"))):
            address = "ipc://" + os.path.join(self.folder(), "channel")
            # The host never ends by itself: it waits where no worker pulls.
            pushing, _ = self.start(host, "--address", address)
            text = self.finish(self.start(worker, "--address", address)[0])
            pushing.terminate()
            self.finish(pushing)
            self.assertIn("100000 items, strongest at 10000 Hz", text)

    def compare_recursive(self, capture, n):
        for text, _ in self.run_both("iir_compare", "--capture", capture):
            self.assertIn("%d items %s" % (n, DEVICE), text)
            for name in ("audio", "level"):
                difference, = self.found(name + r": relative rms difference (\S+)", text)
                self.assertLessEqual(float(difference), 1e-5)

    def test_iir_compare(self):
        """A chain of stock's recursive filters and ours agree, on a made recording."""
        n = 60001
        x = 0.3 * np.sin(2 * np.pi * 1000 * np.arange(n) / 48e3) + 0.1
        path = os.path.join(self.folder(), "made.wav")
        write_wav(path, x + 0.1 * random_items(self.rng, "f", n))
        self.compare_recursive(path, n)

    def test_iir_compare_off_the_air(self):
        paths = glob.glob(os.path.join(DATA, "*.wav"))
        if not paths:
            self.skipTest("no WAV files in " + DATA)
        for path in paths:
            with wave.open(path) as file:
                n = file.getnframes()
            self.compare_recursive(path, n)

    def test_iir_designer_without_a_screen(self):
        """The response that is measured is the one that was asked for."""
        process, _ = self.start(self.scripts("iir_designer")[1], "--order", "7",
                                "--cutoff", "5000")
        text = self.finish(process)
        self.assertIn("order 7, cutoff 5000 Hz: 4 sections " + DEVICE, text)
        low, high, edge, stop = map(float, self.found(
            r"pass band: (\S+) \.\. (\S+) dB; stop band from (\d+) Hz: (\S+) dB", text))
        self.assertLessEqual(abs(low + 0.5), 0.2)
        self.assertLessEqual(abs(high), 0.1)
        self.assertTrue(5000 < edge < 7000)
        self.assertLessEqual(abs(stop + 70), 0.5)

    def test_iir_designer(self):
        """Sliders move the filter and the picture of its response."""
        program = """
import sys, time
sys.path.insert(0, sys.argv[1])
from PyQt5 import Qt
import numpy
from gnuradio.cufilter import iir
from iir_designer import iir_designer
app = Qt.QApplication(sys.argv)
tb = iir_designer()
tb.start()
tb.show()
for order, cutoff in ((3, 2000), (12, 9000)):
    tb.set_order(order)
    tb.set_cutoff(cutoff)
    app.processEvents()
    expected = iir.design("lowpass", order, cutoff, tb.samp_rate, "ellip", 0.5, 70)
    assert numpy.array_equal(tb.sos_filter.sos(), expected), order
    assert numpy.array_equal(tb.response.sos, expected), order
deadline = time.monotonic() + 60
while tb.sos_filter.nitems_written(0) == 0 and time.monotonic() < deadline:
    time.sleep(0.05)
assert tb.sos_filter.nitems_written(0) > 0
tb.stop()
tb.wait()
"""
        try:
            import matplotlib
            import PyQt5
        except ImportError as error:
            self.skipTest(str(error))
        folder = self.folder()
        result = execute([sys.executable, "-c", program, self.compiled], folder,
                         QT_QPA_PLATFORM="offscreen")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_wavelet_vectors(self):
        for text, _ in self.run_both("wavelet_vectors"):
            errors = re.findall(r"largest error (?:at the grid's points )?(\S+)", text)
            self.assertEqual(len(errors), 4, text)
            for error in errors:
                self.assertLessEqual(float(error), 1e-5)
            self.assertIn("360 spectra of 10 levels", text)

    def check_denoise(self, capture, n):
        for text, _ in self.run_both("wavelet_denoise", "--capture", capture):
            rows = re.findall(r"(\w+): (\d+) samples, (\S+) dB", text)
            self.assertEqual([row[0] for row in rows], ["noisy", "stream", "vectors"],
                             text)
            self.assertEqual([int(row[1]) for row in rows],
                             [n, n // 8 * 8, n // 4096 * 4096])
            noisy, stream, vectors = (float(row[2]) for row in rows)
            self.assertGreater(min(stream, vectors), noisy + 4)

    def test_wavelet_denoise(self):
        """A tone, written here."""
        n = 100000  # what stock's add block passes on of the tail depends on VOLK
        path = os.path.join(self.folder(), "tone.wav")
        write_wav(path, 0.3 * np.sin(2 * np.pi * 700 / 48000 * np.arange(n)))
        self.check_denoise(path, n)

    def test_wavelet_denoise_off_the_air(self):
        path = os.path.join(DATA, "aausat_4.wav")
        if not os.path.exists(path):
            self.skipTest("no capture at " + path)
        self.check_denoise(path, 153600)

    IMAGE = (r"(\d+) x (\d+) %s\s[^%%]*?(\S+) %% of the coefficients give the image back "
             r"with (\S+) dB\s[^\d]*(\S+) dB, taken away: (\S+) dB" % DEVICE)

    def test_image(self):
        """A terrain from few coefficients, and out of noise of rms 10."""
        for text, _ in self.run_both("image_dwt"):
            rows, cols, kept, compressed, noisy, clean = map(
                float, self.found(self.IMAGE, text))
            self.assertEqual((rows, cols), (512, 512))
            self.assertLessEqual(kept, 1.5)
            self.assertGreater(compressed, 47)
            self.assertLessEqual(abs(noisy - 20 * np.log10(25.5)), 0.1)
            self.assertGreater(clean, noisy + 12)

    def test_image_from_a_file(self):
        """Odd sizes, and no coefficient left out: the image itself."""
        try:
            from matplotlib import image
        except ImportError as error:
            self.skipTest(str(error))
        path = os.path.join(self.folder(), "made.png")
        image.imsave(path, self.rng.random((67, 101, 3)))
        for text, _ in self.run_both("image_dwt", "--image", path, "--threshold", "0"):
            rows, cols, kept, compressed, _, _ = map(float, self.found(self.IMAGE, text))
            self.assertEqual((rows, cols), (67, 101))
            self.assertGreaterEqual(kept, 100)
            self.assertGreater(compressed, 120)


if __name__ == "__main__":
    main()
