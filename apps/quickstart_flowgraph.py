#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Filters one band out of a capture with gnuradio.cufilter and draws the spectrum before and
after. With no capture given it makes a scene of its own: FM, AM and narrow-band signals
and noise, 2.4 MHz wide.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
import wave

import numpy as np
from gnuradio import blocks, gr
from gnuradio import cufilter as filter  # was: from gnuradio import filter
from gnuradio.fft import window

SCENE_RATE = 2.4e6  # Hz
SCENE_SECONDS = 3
SCENE_BAND = (150e3, 350e3)  # Hz: the FM station at 250 kHz
FORMATS = {
    ".cf32": "cf32",
    ".cfile": "cf32",
    ".fc32": "cf32",
    ".c64": "cf32",
    ".raw": "cf32",
    ".cu8": "cu8",
    ".u8": "cu8",
    ".bin": "cu8",
    ".wav": "wav",
}
MOST_FRAMES = 4096  # of a long capture, evenly spread


# ---------------------------------------------------------------- the scene


def tones(rng, t, low, high, count):
    """Something like programme: tones that come and go, peak below 1."""
    sound = np.zeros(t.size)
    for _ in range(count):
        f, beat, phase = rng.uniform(low, high), rng.uniform(0.3, 3), rng.uniform(0, 6.28)
        sound += np.sin(2 * np.pi * f * t) * (1 + np.sin(2 * np.pi * beat * t + phase))
    return sound / (2 * count)


def fm(rng, t, carrier, deviation, low, high):
    sound = tones(rng, t, low, high, 6)
    phase = np.cumsum(sound) * (2 * np.pi * 2.5 * deviation / SCENE_RATE)
    return np.exp(1j * (2 * np.pi * carrier * t + phase))


def am(rng, t, carrier):
    return (1 + tones(rng, t, 200, 4500, 6)) * np.exp(2j * np.pi * carrier * t)


def data_burst(rng, t, carrier, symbol_rate):
    """Filtered QPSK, on for half of each 0.4 s."""
    n_hold = int(SCENE_RATE / symbol_rate)
    symbols = np.exp(0.5j * np.pi * rng.integers(0, 4, t.size // n_hold + 1))
    pulses = np.repeat(symbols, n_hold)[: t.size]
    shape = np.hanning(2 * n_hold)
    shaped = np.convolve(pulses, shape / shape.sum(), "same")
    return shaped * (t % 0.4 < 0.2) * np.exp(2j * np.pi * carrier * t)


def make_scene(path):
    """Always the same samples."""
    rng = np.random.default_rng(20240229)
    t = np.arange(int(SCENE_SECONDS * SCENE_RATE)) / SCENE_RATE
    scene = 0.002 * (rng.standard_normal(t.size) + 1j * rng.standard_normal(t.size))
    for level_db, carrier in ((-14, -800e3), (-22, 250e3), (-12, 500e3)):
        scene += 10 ** (level_db / 20) * fm(rng, t, carrier, 60e3, 100, 15e3)
    for level_db, carrier in ((-32, -350e3), (-40, -330e3), (-27, -300e3), (-36, -250e3)):
        scene += 10 ** (level_db / 20) * fm(rng, t, carrier, 3e3, 300, 3e3)
    for level_db, carrier in ((-30, 0.0), (-36, 40e3), (-33, 90e3)):
        scene += 10 ** (level_db / 20) * am(rng, t, carrier)
    scene += 10 ** (-16 / 20) * data_burst(rng, t, 850e3, 120e3)
    scene += 10 ** (-38 / 20) * np.exp(2j * np.pi * -1.05e6 * t)
    scene.astype(np.complex64).tofile(path)


# ---------------------------------------------------------------- flowgraphs


def convert_u8(source_path, raw_path):
    """Unsigned bytes I, Q, I, Q, ... (RTL-SDR) to complex float in -1 .. 1."""
    tb = gr.top_block("u8 to complex")
    split = blocks.deinterleave(gr.sizeof_float)
    join = blocks.float_to_complex()
    tb.connect(
        blocks.file_source(gr.sizeof_char, source_path),
        blocks.uchar_to_float(),
        blocks.add_const_ff(-127.5),
        blocks.multiply_const_ff(1 / 127.5),
        split,
    )
    tb.connect((split, 0), (join, 0))
    tb.connect((split, 1), (join, 1))
    tb.connect(join, blocks.file_sink(gr.sizeof_gr_complex, raw_path))
    tb.run()


def convert_wav(source_path, raw_path):
    """One channel to float, two channels (I and Q) to complex. Returns is_complex."""
    tb = gr.top_block("WAV to raw")
    source = blocks.wavfile_source(source_path, False)
    with wave.open(source_path) as header:
        n_channels = header.getnchannels()
    if n_channels == 1:
        tb.connect(source, blocks.file_sink(gr.sizeof_float, raw_path))
    elif n_channels == 2:
        join = blocks.float_to_complex()
        tb.connect((source, 0), (join, 0))
        tb.connect((source, 1), (join, 1))
        tb.connect(join, blocks.file_sink(gr.sizeof_gr_complex, raw_path))
    else:
        raise ValueError(f"{source_path}: {n_channels} channels, not 1 (real) or 2 (I/Q)")
    tb.run()
    return n_channels == 2


def run_filter(raw_path, out_path, is_complex, taps, device):
    """The flowgraph that this program is about. Returns the block and the seconds."""
    size = gr.sizeof_gr_complex if is_complex else gr.sizeof_float
    make = filter.fft_filter_ccc if is_complex else filter.fft_filter_fff
    tb = gr.top_block("quickstart")
    fir = make(1, taps, device=device, batch_items=1 << 18)
    tb.connect(
        blocks.file_source(size, raw_path), fir, blocks.file_sink(size, out_path)
    )
    start = time.monotonic()
    tb.run()
    return fir, time.monotonic() - start


# ---------------------------------------------------------------- spectra


def frame_size(n_samples):
    """A power of two from 256 to 4096 that leaves some hundred frames where it can."""
    if n_samples < 256:
        raise ValueError(f"the capture has {n_samples} samples; at least 256 are needed")
    return 1 << max(8, min(12, int(np.log2(n_samples / 100))))


def spectrogram(samples):
    """Power of each frame's bins relative to full scale [frames x bins]."""
    size = frame_size(samples.size)
    n_frames = samples.size // size
    n_chosen = min(n_frames, MOST_FRAMES)
    chosen = np.unique(np.linspace(0, n_frames - 1, n_chosen).astype(int))
    weights = np.asarray(window.blackman_harris(size))
    rows = []
    for frame in chosen:
        part = samples[frame * size : (frame + 1) * size] * weights
        if np.iscomplexobj(samples):
            bins = np.fft.fftshift(np.fft.fft(part))
        else:
            bins = np.fft.rfft(part) * np.sqrt(2)
        rows.append(np.abs(bins / weights.sum()) ** 2)
    return np.array(rows)


def to_db(power):
    return 10 * np.log10(power + 1e-20)


def bin_frequencies(n_samples, rate, is_complex):
    size = frame_size(n_samples)
    if is_complex:
        return np.fft.fftshift(np.fft.fftfreq(size, 1 / rate))
    return np.fft.rfftfreq(size, 1 / rate)


def strongest_band(power, frequencies, rate):
    """Around the highest peak, as far as the smoothed spectrum stays within 15 dB of it;
    at least 1/50 of the rate wide."""
    n_smooth = 33
    level = to_db(np.convolve(power.mean(0), np.ones(n_smooth) / n_smooth, "same"))
    low = high = int(np.argmax(level))
    while low > 0 and level[low - 1] > level.max() - 15:
        low -= 1
    while high < level.size - 1 and level[high + 1] > level.max() - 15:
        high += 1
    centre = (frequencies[low] + frequencies[high]) / 2
    width = max(frequencies[high] - frequencies[low], rate / 50)
    return centre - width / 2, centre + width / 2


# ---------------------------------------------------------------- the picture


def draw(path, title, rate, frequencies, before, after, seconds, band, taps):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    unit, scale = ("MHz", 1e6) if rate >= 1e6 else ("kHz", 1e3)
    bin_hz = frequencies[1] - frequencies[0]
    response = np.exp(-2j * np.pi / rate * np.outer(frequencies, np.arange(len(taps))))
    response = response @ np.asarray(taps)
    frequencies = frequencies / scale
    mean_before = to_db(before.mean(0))
    bottom = np.percentile(mean_before, 2) - 65
    top = mean_before.max() + 8
    extent = (frequencies[0], frequencies[-1], seconds, 0)
    colours = {"vmin": np.percentile(mean_before, 2) - 8, "vmax": top - 14}

    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})
    figure, axes = plt.subplots(
        2, 2, figsize=(10.5, 6), sharex=True, height_ratios=(3, 2), layout="constrained"
    )
    for column, (name, power) in enumerate((("Before", before), ("After", after))):
        upper, lower = axes[:, column]
        level = to_db(power.mean(0))
        upper.fill_between(frequencies, level, bottom, color="#4477aa", alpha=0.25, lw=0)
        upper.plot(frequencies, level, color="#225588", lw=0.8)
        upper.set_title(name, weight="bold")
        upper.set(ylim=(bottom, top), xlim=(frequencies[0], frequencies[-1]))
        upper.grid(alpha=0.3)
        upper.axvspan(band[0] / scale, band[1] / scale, color="#ee7733", alpha=0.15, lw=0)
        n_groups = min(300, power.shape[0])
        rows = [to_db(g.mean(0)) for g in np.array_split(power, n_groups)]
        image = lower.imshow(rows, aspect="auto", extent=extent, cmap="magma", **colours)
        lower.set(xlabel=f"Frequency, {unit}")
    axes[0, 1].plot(
        frequencies,
        to_db(np.abs(response) ** 2) + top - 8,
        color="#ee7733",
        lw=0.9,
        ls="--",
        label=f"filter, {len(taps)} taps (its 0 dB at {top - 8:.0f})",
    )
    axes[0, 1].legend(loc="upper left", fontsize=8)
    axes[0, 0].set_ylabel(f"Power per {bin_hz:.0f} Hz bin, dBFS")
    axes[1, 0].set_ylabel("Time, s")
    figure.colorbar(image, ax=axes[1, :], label="dBFS", pad=0.01)
    figure.suptitle(title)
    figure.savefig(path, dpi=100)


# ---------------------------------------------------------------- the program


def backend_name(fir):
    index = fir.device()
    if index >= 0:
        return f"GPU {index} ({filter.device_info(index)['name']})"
    with contextlib.suppress(OSError):
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return f"the CPU ({line.split(': ')[1].strip()})"
    return "the CPU"


def device_number(text):
    names = {"auto": filter.DEVICE_AUTO, "cpu": filter.DEVICE_CPU}
    if text in names:
        return names[text]
    if text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"auto, cpu or a GPU's index, not {text!r}")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="quickstart", description=__doc__)
    add = parser.add_argument
    add("capture", nargs="?", help="file to filter; without one, a scene is made")
    add("--format", choices=("cf32", "cu8", "wav"), help="default: by the name's ending")
    add("--rate", type=float, help="sample rate in Hz; default 2.4e6, or the WAV's")
    add("--low", type=float, help="lower edge of the band to keep, Hz")
    add("--high", type=float, help="upper edge, Hz; default: the strongest signal's")
    add("--transition", type=float, help="transition width, Hz; default: rate/240")
    add("--device", type=device_number, default="auto", help="auto, cpu or a GPU's index")
    add("--output", default="quickstart.png", help="the picture")
    add("--save", help="also keep the filtered samples here (complex64 or float32)")
    arguments = parser.parse_args()
    if (arguments.low is None) != (arguments.high is None):
        parser.error("--low and --high go together")
    for name in ("rate", "transition"):
        value = getattr(arguments, name)
        if value is not None and not 0 < value < float("inf"):
            parser.error(f"--{name} must be above 0, not {value}")
    if arguments.capture:
        ending = os.path.splitext(arguments.capture)[1].lower()
        arguments.format = arguments.format or FORMATS.get(ending)
        if not arguments.format:
            parser.error(f"cannot tell the format of {arguments.capture}: give --format")
        if not os.path.isfile(arguments.capture):
            parser.error(f"no such file: {arguments.capture}")
    return arguments


def read_capture(arguments, folder):
    """Returns the path of raw samples, whether they are complex, and their rate."""
    raw_path = os.path.join(folder, "before")
    rate = arguments.rate or SCENE_RATE
    if not arguments.capture:
        make_scene(raw_path)
        return raw_path, True, SCENE_RATE
    if arguments.format == "cf32":
        return arguments.capture, True, rate
    if arguments.format == "cu8":
        convert_u8(arguments.capture, raw_path)
        return raw_path, True, rate
    with wave.open(arguments.capture) as header:
        rate = arguments.rate or float(header.getframerate())
    return raw_path, convert_wav(arguments.capture, raw_path), rate


def design(rate, is_complex, band, transition):
    make = filter.firdes.complex_band_pass if is_complex else filter.firdes.band_pass
    low, high = band
    edge = 0.4999 * rate
    low = max(low, -edge if is_complex else transition)
    high = min(high, edge)
    if not low < high:
        raise ValueError(f"no band {band[0]:g} .. {band[1]:g} Hz at {rate:g} S/s")
    return make(1, rate, low, high, transition, window.WIN_BLACKMAN_HARRIS)


def open_samples(path, kind):
    if os.path.getsize(path) < kind().nbytes:
        raise ValueError(f"{path} holds no samples")
    return np.memmap(path, dtype=kind, mode="r")


def process(arguments, folder):
    raw_path, is_complex, rate = read_capture(arguments, folder)
    kind = np.complex64 if is_complex else np.float32
    samples = open_samples(raw_path, kind)
    frequencies = bin_frequencies(samples.size, rate, is_complex)
    before = spectrogram(samples)
    if arguments.low is not None:
        band = (arguments.low, arguments.high)
    elif arguments.capture:
        band = strongest_band(before, frequencies, rate)
    else:
        band = SCENE_BAND
    taps = design(rate, is_complex, band, arguments.transition or rate / 240)
    out_path = arguments.save or os.path.join(folder, "after")
    fir, seconds = run_filter(raw_path, out_path, is_complex, taps, arguments.device)
    filtered = open_samples(out_path, kind)
    if filtered.size != samples.size:
        raise RuntimeError(f"{filtered.size} samples came out of {samples.size}")
    name = os.path.basename(arguments.capture) if arguments.capture else "Own scene"
    shown_rate = f"{rate / 1e6:g} MS/s" if rate >= 1e6 else f"{rate / 1e3:g} kS/s"
    title = f"{name}: {samples.size:,} samples at {shown_rate} through cufilter"
    after = spectrogram(filtered)
    duration = samples.size / rate
    draw(arguments.output, title, rate, frequencies, before, after, duration, band, taps)
    print(
        f"quickstart: {samples.size} samples through {len(taps)} taps at "
        f"{samples.size / seconds / 1e6:.1f} MS/s on {backend_name(fir)}, "
        f"spectrum in {os.path.abspath(arguments.output)}"
    )


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="cufilter-") as folder:
        try:
            process(arguments, folder)
        except (OSError, RuntimeError, ValueError, wave.Error) as error:
            sys.exit(f"quickstart: {error}")


if __name__ == "__main__":
    main()
