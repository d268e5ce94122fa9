# SPDX-License-Identifier: GPL-3.0-or-later
"""
Design of IIR filters in second-order sections, for sos_filter_{ff,cc}, and their
response.

    sections = iir.design("bandpass", 6, (300, 3400), samp_rate)
    block = cufilter.sos_filter_ff(sections)
    iir.plot(sections, samp_rate, "response.png")

Designs come from scipy.signal, pictures from matplotlib; each is loaded when needed.
"""

BANDS = ("lowpass", "highpass", "bandpass", "bandstop", "notch", "peak")
FAMILIES = ("butter", "cheby1", "cheby2", "ellip", "bessel")
MAX_SECTIONS = 32


def _load(module, what):
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        text = ("%s needs %s, which cannot be imported (%s); install the package "
                "python3-%s" % (what, package, error, package))
        raise ImportError(text) from error


def design(band, order, cutoff, samp_rate=2.0, family="butter", ripple=1.0,
           attenuation=60.0, quality=30.0, plot=None):
    """The sections of a filter, as a list of rows b0 b1 b2 a0 a1 a2.

    band: "lowpass", "highpass", "bandpass", "bandstop", "notch" or "peak".
    order: 1 and up; "bandpass" and "bandstop" have twice as many poles. At most 64 poles.
        "notch" and "peak" are one section and take no notice of it.
    cutoff: Hz; a pair for "bandpass" and "bandstop", the middle for "notch" and "peak".
    samp_rate: Hz. With 2, cutoff is a fraction of half the rate, as in scipy.
    family: "butter", "cheby1", "cheby2", "ellip" or "bessel".
    ripple: dB in the pass band, of "cheby1" and "ellip".
    attenuation: dB in the stop band, of "cheby2" and "ellip".
    quality: cutoff over the width at -3 dB, of "notch" and "peak".
    plot: a file for a picture of the response.

    ValueError names the rule that is broken; ImportError says what to install.
    """
    edges = _checked(band, order, cutoff, samp_rate, family, ripple, attenuation, quality)
    signal = _load("scipy.signal", "gnuradio.cufilter.iir.design")
    if band in ("notch", "peak"):
        b, a = getattr(signal, "iir" + band)(edges[0], quality, fs=samp_rate)
        rows = [[*b, *a]]
    else:
        rows = signal.iirfilter(order, edges if len(edges) == 2 else edges[0], rp=ripple,
                                rs=attenuation, btype=band, ftype=family, output="sos",
                                fs=samp_rate)
    sections = [[float(value) for value in row] for row in rows]
    if plot:
        globals()["plot"](sections, samp_rate, plot)
    return sections


def _checked(band, order, cutoff, samp_rate, family, ripple, attenuation, quality):
    """The band's edges; ValueError for an argument that is out of its range."""
    def demand(condition, rule, value):
        if not condition:
            raise ValueError("iir.design: %s, not %r" % (rule, value))

    demand(band in BANDS, "band must be one of " + ", ".join(BANDS), band)
    demand(family in FAMILIES, "family must be one of " + ", ".join(FAMILIES), family)
    demand(samp_rate > 0, "samp_rate must be above 0", samp_rate)
    pair = band in ("bandpass", "bandstop")
    edges = [float(f) for f in cutoff] if hasattr(cutoff, "__len__") else [float(cutoff)]
    demand(len(edges) == 1 + pair, "cutoff of a %s must be %s" %
           (band, "two frequencies" if pair else "one frequency"), cutoff)
    demand(0 < edges[0] and edges[-1] < samp_rate / 2,
           "cutoff must lie between 0 and samp_rate / 2 = %g" % (samp_rate / 2), cutoff)
    demand(edges[0] < edges[-1] or not pair, "cutoff must rise", cutoff)
    if band in ("notch", "peak"):
        demand(quality > 0, "quality must be above 0", quality)
        return edges
    most = MAX_SECTIONS if pair else 2 * MAX_SECTIONS
    demand(order == int(order) and 1 <= order <= most,
           "order of a %s must be 1 .. %d" % (band, most), order)
    if family in ("cheby1", "ellip"):
        demand(ripple > 0, "ripple must be above 0 dB", ripple)
    if family in ("cheby2", "ellip"):
        demand(attenuation > 0, "attenuation must be above 0 dB", attenuation)
    if family == "ellip":
        demand(attenuation > ripple, "attenuation must be above the ripple", attenuation)
    return edges


def response(sos, samp_rate=2.0, frequencies=2048):
    """Frequencies in Hz and the complex response there: H(z) = prod (b0 + b1 z^-1 +
    b2 z^-2) / (a0 + a1 z^-1 + a2 z^-2) over the rows of `sos`, z = e^{j 2 pi f /
    samp_rate}. `frequencies` is an array of them, or a number: as many from 0 to
    samp_rate / 2."""
    import numpy as np
    f, z = _grid(samp_rate, frequencies)
    h = np.ones(len(f), complex)
    with np.errstate(divide="ignore", invalid="ignore"):  # a pole on the unit circle
        for row in sos:
            h *= np.polyval(row[2::-1], z) / np.polyval(row[:2:-1], z)
    return f, h


def group_delay(sos, samp_rate=2.0, frequencies=2048):
    """Frequencies in Hz and the group delay -d arg H / d omega in samples there; sos,
    samp_rate and frequencies as of response()."""
    import numpy as np
    f, z = _grid(samp_rate, frequencies)
    delay = np.zeros(len(f))
    with np.errstate(divide="ignore", invalid="ignore"):
        for row in sos:
            for sign, taps in ((1, row[:3]), (-1, row[3:])):
                slope = [0, taps[1], 2 * taps[2]]
                delay += sign * np.real(np.polyval(slope[::-1], z) /
                                        np.polyval(taps[::-1], z))
    return f, delay


def _grid(samp_rate, frequencies):
    """Frequencies, and z^-1 on the unit circle there."""
    import numpy as np
    if np.ndim(frequencies) == 0:
        frequencies = np.linspace(0, samp_rate / 2, int(frequencies))
    f = np.asarray(frequencies, float)
    return f, np.exp(-2j * np.pi * f / samp_rate)


def roots(sos):
    """Zeros and poles of the sections `sos` in the z plane, but for those at 0."""
    import numpy as np
    zeros = [z for row in sos for z in np.roots(np.trim_zeros(row[:3], "f"))]
    poles = [p for row in sos for p in np.roots(row[3:])]
    return np.array(zeros, complex), np.array(poles, complex)


def _axis(sos, samp_rate):
    """Frequencies to draw: on a logarithmic axis where the first edge is far down."""
    import numpy as np
    lowest = samp_rate * 1e-6
    fine = np.geomspace(lowest, samp_rate / 2, 8192)
    level = np.abs(response(sos, samp_rate, fine)[1])
    passes = level > np.max(level[np.isfinite(level)], initial=0) / np.sqrt(2)
    edges = fine[1:][passes[1:] != passes[:-1]]
    if len(edges) and edges[0] < 0.01 * samp_rate:
        return np.geomspace(max(edges[0] / 50, lowest), samp_rate / 2, 8192), "log"
    return np.linspace(0, samp_rate / 2, 8192), "linear"


def draw(figure, sos, samp_rate=2.0, title=""):
    """Draws gain in dB, group delay, and poles and zeros of the sections `sos` into a
    matplotlib figure, under a title; samp_rate in Hz."""
    import numpy as np
    figure.clear()
    widths = {"width_ratios": (1.6, 1.2, 1)}
    gain, delay, plane = figure.subplots(1, 3, gridspec_kw=widths)
    f, scale = _axis(sos, samp_rate)
    h = response(sos, samp_rate, f)[1]
    unit, name = next((u, t) for u, t in ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"),
                                          (1, "Hz"), (0, "of half the rate"))
                      if samp_rate >= 10 * u)
    x = f / (unit or samp_rate / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = 20 * np.log10(np.abs(h))
    top = np.max(level[np.isfinite(level)], initial=-300.0)
    gain.plot(x, level, color="#225588", lw=1)
    gain.set(title=title or "Gain", ylabel="dB", ylim=(max(top - 120, -300), top + 6))
    samples = np.where(level > top - 40, group_delay(sos, samp_rate, f)[1], np.nan)
    delay.plot(x, samples, color="#ee7733", lw=1)
    delay.set(title="Group delay", ylabel="samples")
    for axes in (gain, delay):
        axes.set(xlabel=name, xscale=scale, xlim=(x[0], x[-1]))
    zeros, poles = roots(sos)
    circle = np.exp(2j * np.pi * np.arange(361) / 360)
    plane.plot(circle.real, circle.imag, color="0.7", lw=0.8)
    plane.plot(zeros.real, zeros.imag, "o", mfc="none", color="#225588", ms=5)
    plane.plot(poles.real, poles.imag, "x", color="#ee7733", ms=5)
    plane.set(title="Poles to radius %.6f" % np.max(np.abs(poles), initial=0.0),
              aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    for axes in (gain, delay, plane):
        axes.grid(alpha=0.3)
        axes.title.set_fontsize(9)
        axes.tick_params(labelsize=8)


def plot(sos, samp_rate=2.0, path="response.png", title=""):
    """Writes what draw() draws of sos, samp_rate and title to the file `path`, of the
    type that its name says. ImportError where there is no matplotlib."""
    _load("matplotlib", "gnuradio.cufilter.iir.plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure, sos, samp_rate, title)
    figure.savefig(path, dpi=100)


def response_widget(sos, samp_rate=2.0, title=""):
    """A Qt widget that shows what draw() draws of sos, samp_rate and title; set_sos()
    and set_samp_rate() change it. ImportError where there is no matplotlib or Qt."""
    _load("matplotlib", "gnuradio.cufilter.iir.response_widget")
    from matplotlib.backends.backend_qt5agg import FigureCanvasQTAgg
    from matplotlib.figure import Figure

    class ResponseWidget(FigureCanvasQTAgg):
        def __init__(self):
            super().__init__(Figure(figsize=(11, 3.2), layout="constrained"))
            self.setMinimumHeight(240)
            self.sos, self.samp_rate = sos, samp_rate
            self.refresh()

        def refresh(self):
            draw(self.figure, self.sos, self.samp_rate, title)
            self.draw_idle()

        def set_sos(self, new_sos):
            self.sos = new_sos
            self.refresh()

        def set_samp_rate(self, new_samp_rate):
            self.samp_rate = new_samp_rate
            self.refresh()

    return ResponseWidget()
