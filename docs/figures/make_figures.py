#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Draws the figures of the manual's block pages from what the blocks put out.

usage: make_figures.py          (with gnuradio.cufilter on Python's path)
"""

import os

import numpy as np
from drawing import BLUE, FOLDER, GREY, ORANGE, new_axes, run, save, to_db
from gnuradio import cufilter as filter
from gnuradio.fft import window

RATE = 2.4e6  # Hz


def fft_filter_figure():
    """The impulse response that comes out of the block, transformed, and its distance
    from the float64 transform of the taps."""
    taps = filter.firdes.complex_band_pass(
        1, RATE, 150e3, 350e3, 10e3, window.WIN_BLACKMAN_HARRIS
    )
    n = 1 << 15
    impulse = np.zeros(n, np.complex64)
    impulse[0] = 1
    measured = np.fft.fftshift(np.fft.fft(run(filter.fft_filter_ccc(1, taps), impulse)))
    design = np.fft.fftshift(np.fft.fft(np.asarray(taps, np.complex128), n))
    mhz = np.fft.fftshift(np.fft.fftfreq(n, 1 / RATE)) / 1e6

    figure, (a, b) = new_axes(f"fft_filter_ccc, {len(taps)} taps at 2.4 MS/s", 2)
    a.plot(mhz, to_db(measured), color=BLUE, lw=0.8)
    a.set(ylabel="|H|, dB", ylim=(-160, 10), xlim=(mhz[0], mhz[-1]))
    b.plot(mhz, to_db(measured - design), color=ORANGE, lw=0.6)
    b.set(ylabel="|H - design|, dB", xlabel="Frequency, MHz", ylim=(-200, -100))
    save(figure, "fft_filter.png")


def fir_filter_figure():
    """Output power for tones all over the input band: what is not in the pass band folds
    into the output only as far as the taps let it through."""
    decimation = 25
    taps = filter.firdes.low_pass(1, RATE, 40e3, 8e3, window.WIN_BLACKMAN_HARRIS)
    n_settled = len(taps) // decimation + 1
    n = decimation * (n_settled + 400)
    tones = np.linspace(-0.25e6, 0.25e6, 201)
    levels = []
    for f in tones:
        tone = np.exp(2j * np.pi * f / RATE * np.arange(n)).astype(np.complex64)
        out = run(filter.fir_filter_ccf(decimation, taps), tone)[n_settled:]
        levels.append(10 * np.log10(np.mean(np.abs(out) ** 2) + 1e-20))
    khz = np.linspace(-250, 250, 4001)
    k = np.arange(len(taps))
    design = [np.dot(taps, np.exp(-2j * np.pi * f * 1e3 / RATE * k)) for f in khz]

    figure, (a,) = new_axes(
        f"fir_filter_ccf, decimation {decimation}, {len(taps)} taps at 2.4 MS/s"
    )
    a.plot(khz, to_db(design), color=BLUE, lw=0.8, label="design")
    a.plot(tones / 1e3, levels, ".", color=ORANGE, ms=4, label="tones through the block")
    half = RATE / decimation / 2e3
    a.axvspan(-half, half, color="0.5", alpha=0.12, lw=0, label="output band")
    a.set(ylabel="Gain, dB", xlabel="Input frequency, kHz")
    a.set(ylim=(-160, 10), xlim=(-250, 250))
    a.legend(loc="upper right", fontsize=8)
    save(figure, "fir_filter.png")


def freq_xlating_figure():
    """The phase of a tone that is moved to 0, against what it should be."""
    from gnuradio import filter as stock

    decimation, turns, n = 10, 123456.789 / 1e6, 4000000
    taps = filter.firdes.low_pass(1, 1e6, 50e3, 20e3)
    tone = np.exp(2j * np.pi * (turns * np.arange(n) % 1)).astype(np.complex64)
    figure, (a,) = new_axes("freq_xlating_fir_filter_ccf, a tone at 123456.789 Hz of 1 MHz")
    for module, label, color in ((stock, "GNU Radio's", ORANGE), (filter, "here", BLUE)):
        block = module.freq_xlating_fir_filter_ccf(decimation, taps, turns, 1)
        y = run(block, tone)[len(taps) : n // decimation // 1000 * 1000]
        y = y[: len(y) // 1000 * 1000].reshape(-1, 1000).mean(axis=1)
        phase = np.unwrap(np.angle(y / y[0]))
        a.plot(np.arange(len(y)) / 1000, phase * 1e3, color=color, lw=1, label=label)
    a.set(xlabel="Output items, million", ylabel="Drift, mrad")
    a.legend(loc="lower left", fontsize=8)
    save(figure, "freq_xlating_filter.png")


def pfb_channelizer_figure():
    """Power in three neighbouring channels for tones across them, and the band that each
    channel's rate can hold: at twice the spacing the bands overlap by half."""
    n_channels, middle = 16, 5
    wide = filter.pfb.create_taps(n_channels // 2, 80)  # flat to 0.8 spacings
    banks = (
        (1, filter.pfb.create_taps(n_channels, 80), "K/R = 1: bands side by side"),
        (2, wide, "K/R = 2, a wide prototype: bands overlap by half"),
    )
    tones = np.linspace(-2, 2, 321)
    figure, axes = new_axes("", 2)
    for a, (ratio, taps, name) in zip(axes, banks):
        settled = len(taps) * ratio // n_channels + 2
        n = (settled + 60) * n_channels // ratio
        levels = []
        for f in tones:
            cycles = (middle + f) / n_channels * np.arange(n)
            block = filter.pfb_channelizer_vcc(
                n_channels, taps, ratio, [middle - 1, middle, middle + 1]
            )
            x = np.exp(2j * np.pi * cycles).astype(np.complex64)
            out = run(block, x).reshape(-1, 3)[settled:]
            levels.append(10 * np.log10(np.mean(np.abs(out) ** 2, axis=0) + 1e-20))
        for o, color in enumerate((ORANGE, BLUE, GREY)):
            a.plot(tones, np.array(levels)[:, o], color=color, lw=1)
            half = ratio / 2
            a.axvspan(o - 1 - half, o - 1 + half, color=color, alpha=0.1, lw=0)
        a.set(ylabel="Gain, dB", ylim=(-110, 8), xlim=(-2, 2))
        a.set_title(f"Three of {n_channels} channels, {name}", weight="bold")
    axes[1].set_xlabel("Offset from the middle one's centre, spacings")
    save(figure, "pfb_channelizer.png")


def pfb_synthesizer_figure():
    """Noise in three of eight slots; and what a channelizer and a synthesizer leave of
    tones all over the band, with the prototypes of docs/pfb.md, "There and back"."""
    n_channels, levels = 8, {0: 0, 2: -20, 5: -40}  # dB of a slot
    taps = n_channels * np.array(filter.pfb.create_taps(n_channels, 80))
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((3, 1 << 14, 2)).astype(np.float32).view(np.complex64)
    inputs = [10 ** (level / 20) * x[:, 0] for level, x in zip(levels.values(), noise)]
    block = filter.pfb_synthesizer_ccf(n_channels, taps)
    block.set_channel_map(list(levels))
    y = run(block, *inputs)[: 256 * 512].reshape(-1, 512) * np.blackman(512)
    power = np.mean(np.abs(np.fft.fft(y)) ** 2, axis=0)
    spacings = np.fft.fftfreq(512) * n_channels
    figure, (a, b) = new_axes("pfb_synthesizer_ccf(8, ...), noise on the slots 0, 2 and 5",
                              2, share=False)
    order = np.argsort(spacings)
    a.plot(spacings[order], 10 * np.log10(power[order] / power[0]), color=BLUE, lw=1)
    a.set(ylabel="Power, dB", xlabel="Frequency, spacings", xlim=(-4, 4), ylim=(-110, 5))

    tones, residual = there_and_back(n_channels)
    b.plot(tones, residual, ".", color=ORANGE, ms=3)
    b.set_title("There and back: tones through 16 channels at 2x and twox=True",
                weight="bold")
    b.set(ylabel="Residual, dB", xlabel="Frequency, spacings", xlim=(-8, 8),
          ylim=(-140, -90))
    save(figure, "pfb_synthesizer.png")


def there_and_back(n_channels):
    """Tones, in spacings of the 2 n_channels slots, and the residual of each in dB."""
    n_slots, beta = 2 * n_channels, 13

    def prototype(n, cutoff):
        k = np.arange(n) - n // 2
        return 2 * cutoff * np.sinc(2 * cutoff * k) * np.kaiser(n, beta)

    analysis = prototype(40 * n_channels + 1, 1 / n_slots)
    synthesis = prototype(42 * n_channels + 1, 0.5 / n_slots)
    synthesis *= 0.5 / synthesis[len(synthesis) // 2]
    delay = (len(analysis) + len(synthesis) - 2) // 2 - (n_channels - 1)
    tones, residual = np.linspace(-n_channels, n_channels, 241), []
    for f in tones:
        x = np.exp(2j * np.pi * (f / n_slots * np.arange(200 * n_channels) % 1))
        channels = run(filter.pfb.channelizer_ccf(n_slots, analysis, 2),
                       x.astype(np.complex64))
        y = run(filter.pfb_synthesizer_ccf(n_channels, synthesis, True), *channels)
        error = y[2 * delay :] - x[delay : len(y) - delay]
        residual.append(10 * np.log10(np.mean(np.abs(error) ** 2)))
    return tones, residual


def sos_filter_figure():
    """The impulse response that comes out of the block, transformed, and its distance
    from the sections' response in float64."""
    sections = filter.iir.design("bandpass", 8, (2e5, 3.5e5), RATE, "ellip", 0.5, 90)
    n = 1 << 15
    impulse = np.zeros(n, np.float32)
    impulse[0] = 1
    measured = np.fft.rfft(run(filter.sos_filter_ff(sections), impulse))
    mhz, design = filter.iir.response(sections, RATE, n // 2 + 1)
    mhz = mhz / 1e6
    figure, (a, b) = new_axes("sos_filter_ff, elliptic band-pass of 16 poles", 2)
    a.plot(mhz, to_db(measured), color=BLUE, lw=0.8)
    a.set(ylabel="|H|, dB", ylim=(-160, 10), xlim=(mhz[0], mhz[-1]))
    b.plot(mhz, to_db(measured - design), color=ORANGE, lw=0.6)
    b.set(ylabel="|H - design|, dB", xlabel="Frequency, MHz", ylim=(-220, -100))
    save(figure, "sos_filter.png")


def iir_filter_figure():
    """A step through the same low-pass as a transfer function and in sections."""
    from scipy import signal

    step = np.ones(1500, np.float32)
    ms = np.arange(len(step)) / 128
    figure, axes = new_axes("", 2)
    for a, order in zip(axes, (8, 10)):
        taps = signal.butter(order, 1200, fs=128e3)
        sections = signal.butter(order, 1200, fs=128e3, output="sos")
        y = run(filter.iir_filter_ffd(*taps, False), step)
        a.plot(ms, y, color=ORANGE, lw=1.2, label="iir_filter_ffd")
        y = run(filter.sos_filter_ff(sections), step)
        a.plot(ms, y, color=BLUE, lw=1, label="sos_filter_ff")
        a.set(ylim=(0.9, 1.2), xlim=(0, ms[-1]), ylabel="Output")
        a.set_title(f"A step through Butterworth {order}", weight="bold")
    axes[0].legend(loc="upper right", fontsize=8)
    axes[1].set_xlabel("Time, ms")
    save(figure, "iir_filter.png")


def single_pole_figure():
    """A noisy step averaged."""
    n = 3000
    rng = np.random.default_rng(1)
    x = (np.arange(n) >= 300) + 0.3 * rng.standard_normal(n)
    figure, (a,) = new_axes("single_pole_iir_filter_ff, a step with noise")
    a.plot(x, color="0.85", lw=0.5)
    for alpha, color in ((0.1, ORANGE), (0.01, BLUE), (0.002, "0.2")):
        y = run(filter.single_pole_iir_filter_ff(alpha), x.astype(np.float32))
        a.plot(y, color=color, lw=1, label=f"alpha {alpha}")
    a.set(xlabel="Item", ylabel="Output", xlim=(0, n), ylim=(-0.5, 1.6))
    a.legend(loc="lower right", fontsize=8)
    save(figure, "single_pole_iir_filter.png")


def iir_designer_figure():
    sections = filter.iir.design("bandpass", 6, (300, 3400), 48e3, "ellip", 0.5, 80)
    filter.iir.plot(sections, 48e3, os.path.join(FOLDER, "iir_designer.png"))


def pfb_leakage_table():
    """Prints the table of docs/pfb.md: what tones on a centre, 0.3 spacings off and on a
    border leave in the channels that they do not belong to, the worst of them all."""
    print("| K | R | prototype | taps | centre | 0.3 off | border |")
    print("|---|---|---|---|---|---|---|")
    for n_channels, ratio, atten in ((16, 1, 80), (16, 2, 100), (60, 1.5, 80),
                                     (128, 2, 100), (1024, 2, 100), (4096, 1, 100)):
        taps = np.array(filter.pfb.create_taps(n_channels, atten), np.float32)
        n = (len(taps) // n_channels + 30) * n_channels
        worst = []
        for off in (0, 0.3, 0.5):
            tone = np.exp(2j * np.pi * ((3 + off) / n_channels * np.arange(n) % 1))
            block = filter.pfb_channelizer_vcc(n_channels, taps, ratio)
            rows = run(block, tone.astype(np.complex64)).reshape(-1, n_channels)
            rows = rows[int(len(taps) * ratio) // n_channels + 1 :]
            level = 10 * np.log10(np.mean(np.abs(rows) ** 2, axis=0) + 1e-30)
            owners = [3, 4] if off == 0.5 else [3]
            worst.append(np.max(np.delete(level, owners)))
        print(
            f"| {n_channels} | {n_channels / ratio:g} | {atten} dB | {len(taps)} | "
            + " | ".join(f"{w:.1f}" for w in worst)
            + " |"
        )


if __name__ == "__main__":
    fft_filter_figure()
    fir_filter_figure()
    freq_xlating_figure()
    pfb_channelizer_figure()
    pfb_synthesizer_figure()
    sos_filter_figure()
    iir_filter_figure()
    single_pole_figure()
    iir_designer_figure()
    pfb_leakage_table()
