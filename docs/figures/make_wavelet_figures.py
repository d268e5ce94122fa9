#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Draws the figures of the wavelet pages from what the blocks put out, and prints the
numbers that those pages give.

usage: make_wavelet_figures.py [FOLDER OF THE CAPTURES]    (default ../../../shared/data)
"""

import os
import sys
import wave

import matplotlib

matplotlib.use("Agg")
import numpy as np
from gnuradio import blocks, cufilter, gr
from matplotlib import pyplot as plt

FOLDER = os.path.dirname(os.path.abspath(__file__))
DATA = sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "../../../shared/data")
BLUE, ORANGE = "#225588", "#ee7733"
WAVELET, LEVELS = "db20", 3

plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})


# ------------------------------------------------------------------ a stream


def decompose(x):
    """The bands, through dwt_stream_ff."""
    tb, bank = gr.top_block(), cufilter.dwt_stream_ff(WAVELET, LEVELS)
    sinks = [blocks.vector_sink_f() for _ in range(LEVELS + 1)]
    tb.connect(blocks.vector_source_f(x.tolist()), bank)
    for i, sink in enumerate(sinks):
        tb.connect((bank, i), sink)
    tb.run()
    return [np.array(s.data()) for s in sinks]


def denoise(x, threshold):
    """Filter bank, threshold of the details, inverse: a flowgraph on one stream."""
    tb = gr.top_block()
    forth = cufilter.dwt_stream_ff(WAVELET, LEVELS)
    back = cufilter.idwt_stream_ff(WAVELET, LEVELS)
    frame = 1 << LEVELS
    tail = -(-(len(x) + back.delay()) // frame) * frame - len(x)
    padded = np.concatenate([x, np.zeros(tail)])  # so that the last samples come out
    sink = blocks.vector_sink_f()
    tb.connect(blocks.vector_source_f(padded.tolist()), forth)
    tb.connect((forth, 0), (back, 0))
    for band in range(1, LEVELS + 1):
        tb.connect((forth, band), cufilter.wavelet_threshold_ff(threshold, "garrote"),
                   (back, band))
    tb.connect(back, sink)
    tb.run()
    return np.array(sink.data())[back.delay():back.delay() + len(x)]


def read_wav(name):
    with wave.open(os.path.join(DATA, name)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return raw / 32768, file.getframerate()


def ratio_db(signal, error):
    return 20 * np.log10(np.std(signal) / np.std(error))


def audio_figure():
    x, rate = read_wav("aausat_4.wav")
    back = denoise(x, 0)
    print("aausat_4.wav: %d samples, reconstructed within %.1e" %
          (len(x), np.abs(back - x).max()))
    noise = np.random.default_rng(1).standard_normal(len(x)) * np.std(x) / np.sqrt(10)
    noisy = x + noise
    bands = decompose(noisy)
    sigma = np.median(np.abs(bands[-1])) / 0.6745
    clean = denoise(noisy, 2 * sigma)
    print("noise %.4f, estimated from the finest details %.4f" % (np.std(noise), sigma))
    print("signal to noise %.1f dB, denoised %.1f dB" %
          (ratio_db(x, noise), ratio_db(x, clean - x)))

    figure, axes = plt.subplots(LEVELS + 3, 1, figsize=(7, 7.2), sharex=True,
                                layout="constrained")
    at = int(1.0 * rate)
    part = slice(at, at + int(0.012 * rate))
    rows = [("noisy", noisy, 0), *[("d%d" % (LEVELS + 1 - b) if b else "a%d" % LEVELS,
                                    bands[b], LEVELS if b == 0 else LEVELS + 1 - b)
                                   for b in range(LEVELS, -1, -1)],
            ("denoised", clean, 0)]
    for axis, (name, values, level) in zip(axes, rows):
        # An item of level l stands for 2^l samples up to its own time.
        where = slice(part.start >> level, part.stop >> level)
        t = (np.arange(len(values)) << level)[where] / rate
        if name == "denoised":
            axis.plot(t, x[part], color=ORANGE, lw=1.6, label="without noise")
        axis.plot(t, values[where], color=BLUE, lw=0.9)
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
        if name.startswith("d") and level:
            axis.axhline(2 * sigma, color=ORANGE, lw=0.7, ls="--")
            axis.axhline(-2 * sigma, color=ORANGE, lw=0.7, ls="--")
    axes[-1].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("s")
    axes[0].set_title("AAUSAT-4, FM audio at 48 kHz with white noise at 10 dB:\n"
                      "%s, %d levels, details by garrote at 2 sigma (dashed)" %
                      (WAVELET, LEVELS), weight="bold")
    figure.savefig(os.path.join(FOLDER, "dwt_stream.png"), dpi=80)


# ------------------------------------------------------------------ an image


def terrain(n, seed=3, smoothness=1.3):
    """Heights of the kind that a mountain range has: random phases, a spectrum that falls
    with a power of the frequency; 0 to 2500 m."""
    rng = np.random.default_rng(seed)
    fy, fx = np.meshgrid(np.fft.fftfreq(n), np.fft.rfftfreq(n), indexing="ij")
    f = np.hypot(fx, fy)
    f[0, 0] = 1
    spectrum = f ** -(1 + smoothness) * np.exp(2j * np.pi * rng.random(f.shape))
    spectrum[0, 0] = 0
    heights = np.fft.irfft2(spectrum, (n, n))
    return 2500 * (heights - heights.min()) / np.ptp(heights)


def through(block, x):
    n_in = block.input_signature().sizeof_stream_item(0) // 4
    n_out = block.output_signature().sizeof_stream_item(0) // 4
    tb, sink = gr.top_block(), blocks.vector_sink_f(n_out)
    tb.connect(blocks.vector_source_f(np.ravel(x).tolist(), False, n_in), block, sink)
    tb.run()
    return np.array(sink.data())


def compress(image, kept):
    """The largest `kept` of all coefficients, through dwt2_ff and idwt2_ff."""
    shape = (*image.shape, "bior3.3", "symmetric", 5)
    coefs = through(cufilter.dwt2_ff(*shape), image)
    limit = np.quantile(np.abs(coefs), 1 - kept)
    coefs = cufilter.threshold(coefs.astype(np.float32), limit, "hard")
    back = through(cufilter.idwt2_ff(*shape), coefs).reshape(image.shape)
    error = back - image
    psnr = 20 * np.log10(np.ptp(image) / np.sqrt(np.mean(error ** 2)))
    return back, error, np.count_nonzero(coefs) / image.size, psnr


def shaded(heights):
    """Colours by height, lit from the north-west; 50 m between the points."""
    dy, dx = np.gradient(heights / 50)
    light = (1 + (dx + dy) / np.sqrt(1 + dx ** 2 + dy ** 2)) / 2
    colours = plt.get_cmap("terrain")(0.25 + 0.7 * heights / 2500)[..., :3]
    return np.clip(colours * (0.35 + 0.9 * light[..., None]), 0, 1)


def terrain_figure():
    image = terrain(512)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    axes[0].imshow(shaded(image))
    axes[0].set_title("terrain, 512 x 512, 0 to 2500 m")
    for axis, kept in zip(axes[1:], (0.05, 0.01)):
        back, error, share, psnr = compress(image, kept)
        print("%.2f %% of coefficients: PSNR %.1f dB, rms error %.1f m, largest %.0f m" %
              (100 * share, psnr, np.sqrt(np.mean(error ** 2)), np.abs(error).max()))
        axis.imshow(shaded(back))
        axis.set_title("%.0f %% of the coefficients: PSNR %.1f dB" % (100 * kept, psnr))
    for axis in axes:
        axis.set_axis_off()
    figure.savefig(os.path.join(FOLDER, "dwt_terrain.png"), dpi=90)


if __name__ == "__main__":
    audio_figure()
    terrain_figure()
