#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Draws the figures of the wavelet pages from what the blocks put out, and prints the
numbers that those pages give.

usage: make_wavelet_figures.py [FOLDER]

FOLDER has aausat_4.wav of github.com/daniestevez/satellite-recordings; default: shared/data
beside the source tree.
"""

import os
import sys
import wave

import numpy as np
from drawing import BLUE, FOLDER, ORANGE, new_axes, plt, run, save
from gnuradio import blocks, cufilter, gr

DATA = sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "../../../shared/data")
WAVELET, LEVELS = "db20", 3


# ------------------------------------------------------------------ a stream


def decompose(x):
    """The bands, through dwt_stream_ff."""
    return run(cufilter.dwt_stream_ff(WAVELET, LEVELS), x)


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
    save(figure, "dwt_stream.png", 80)


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


def compress(image, kept):
    """The largest `kept` of all coefficients, through dwt2_ff and idwt2_ff."""
    shape = (*image.shape, "bior3.3", "symmetric", 5)
    coefs = run(cufilter.dwt2_ff(*shape), image)
    limit = np.quantile(np.abs(coefs), 1 - kept)
    coefs = cufilter.threshold(coefs.astype(np.float32), limit, "hard")
    back = run(cufilter.idwt2_ff(*shape), coefs).reshape(image.shape)
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
    save(figure, "dwt_terrain.png", 70, 96)


# ------------------------------------------------------------------ vectors


def wavelet_figure():
    """Points on an uneven grid through squash_ff, wavelet_ff and wvps_ff."""
    size, order = 256, 8
    rng = np.random.default_rng(2)
    igrid = np.sort(np.r_[0, rng.uniform(0, 1, 78), 1]).astype(np.float32)
    ogrid = np.linspace(0, 1, size).astype(np.float32)
    x = np.sin(60 * igrid ** 2) * np.exp(-((igrid - 0.55) / 0.18) ** 2)
    even = run(cufilter.squash_ff(igrid, ogrid), x.astype(np.float32))
    coefs = run(cufilter.wavelet_ff(size, order), even.astype(np.float32))
    power = run(cufilter.wvps_ff(size), coefs.astype(np.float32))
    figure, (a, b, c) = new_axes("squash_ff(igrid, ogrid): 80 points made 256", 3,
                                 share=False)
    a.plot(ogrid, even, color=BLUE, lw=1)
    a.plot(igrid, x, ".", color=ORANGE, ms=4)
    a.set(xlim=(0, 1))
    b.set_title("wavelet_ff(256, 8): one row of details a level, the finest on top",
                weight="bold")
    rows = [np.repeat(np.abs(coefs[1 << e:2 << e]), size >> e) for e in range(8)]
    b.imshow(rows, aspect="auto", cmap="Blues", origin="lower", extent=(0, 1, 0, 8),
             interpolation="nearest")
    b.set(yticks=np.arange(8) + 0.5, yticklabels=range(8), ylabel="e")
    b.grid(False)
    c.set_title("wvps_ff(256): power of each level", weight="bold")
    c.bar(range(8), power, color=BLUE, width=0.7)
    c.set(xlabel="e", ylabel="y[e]", xticks=range(8))
    save(figure, "wavelet.png")


def denoise_figure():
    """A signal with jumps and a swinging part in noise, by two kinds of threshold."""
    size = 4096
    t = np.arange(size) / size
    jumps = np.select([t < 0.15, t < 0.3, t < 0.45, t < 0.5], [0, 3, -1, 2], 0)
    x = jumps + (t > 0.5) * 2 * np.sin(80 * t ** 3)
    noisy = x + 0.4 * np.random.default_rng(3).standard_normal(size)
    figure, axes = new_axes("", 3)
    axes[0].plot(noisy, color="0.7", lw=0.6)
    axes[0].set_title("With noise: %.1f dB" % ratio_db(x, noisy - x), weight="bold")
    for axis, kind in zip(axes[1:], ("soft", "garrote")):
        clean = run(cufilter.wavelet_denoise_ff(size, kind=kind),
                    noisy.astype(np.float32))
        axis.plot(x, color=ORANGE, lw=1.6)
        axis.plot(clean, color=BLUE, lw=0.8)
        axis.set_title("wavelet_denoise_ff(4096, kind=\"%s\"): %.1f dB" %
                       (kind, ratio_db(x, clean - x)), weight="bold")
    axes[-1].set(xlim=(0, size), xlabel="Sample")
    save(figure, "wavelet_denoise.png")


def threshold_figure():
    x = np.linspace(-3, 3, 601).astype(np.float32)
    figure, (a,) = new_axes("wavelet_threshold_ff(1, kind)")
    a.plot(x, x, color="0.8", lw=0.8)
    for kind, color, style in (("soft", BLUE, "-"), ("hard", ORANGE, "--"),
                               ("garrote", "0.2", ":")):
        y = run(cufilter.wavelet_threshold_ff(1, kind), x)
        a.plot(x, y, style, color=color, lw=1.6, label=kind)
    a.set(xlabel="x", ylabel="y", xlim=(-3, 3), ylim=(-3, 3))
    a.legend(loc="upper left", fontsize=8)
    save(figure, "wavelet_threshold.png")


if __name__ == "__main__":
    audio_figure()
    terrain_figure()
    wavelet_figure()
    denoise_figure()
    threshold_figure()
