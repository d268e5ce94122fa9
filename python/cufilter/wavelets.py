# SPDX-License-Identifier: GPL-3.0-or-later
"""
Wavelet transforms of numpy arrays under PyWavelets' names, on a GPU or on the CPU:

    from gnuradio import cufilter as pywt

dwt, idwt, wavedec, waverec, dwt2, idwt2, wavedec2 and waverec2 take the arguments of
PyWavelets' functions and give arrays of the same shapes, types and (within rounding)
values, and raise ValueError where those do. One more keyword argument, device, is
DEVICE_CPU (-1), the index of a GPU or DEVICE_AUTO (-2).

A wavelet is a name, a Wavelet, any object with the attribute filter_bank (pywt.Wavelet),
or its four filters (dec_lo, dec_hi, rec_lo, rec_hi). float32 and complex64 are transformed
as such, float16 as float32, all else as float64 or complex128.
"""

import functools as _functools
import inspect as _inspect
import warnings as _warnings

import numpy as _np

from .cufilter_python import DEVICE_AUTO as _AUTO
from .cufilter_python import (_dwt_coef_length, _dwt_filters, _dwt_max_level, _dwt_names,
                              _dwt_threshold, _DwtPlan)

__all__ = ["Wavelet", "dwt", "dwt2", "dwt_coeff_len", "dwt_max_level", "idwt", "idwt2",
           "threshold", "wavedec", "wavedec2", "wavelist", "waverec", "waverec2"]

MODES = ("zero", "constant", "symmetric", "periodic", "smooth", "periodization",
         "reflect", "antisymmetric", "antireflect")
_NUMBERED = ("zero", "symmetric", "constant", "smooth", "periodic", "periodization",
             "reflect", "antisymmetric", "antireflect")  # pywt.Modes' numbers
_PERIODIZATION = MODES.index("periodization")
_TYPES = {"f": 0, "d": 1, "F": 2}
_THRESHOLDS = {"soft": 0, "hard": 1, "garrote": 2, "garotte": 2}
_CACHED_ITEMS = 1 << 22  # plans of larger arrays hold much memory and are made anew


_MEANING = {
    "data": "an array, real or complex",
    "coeffs": "as the forward function gives them",
    "cA": "approximation", "cD": "details",
    "wavelet": "a name, a Wavelet, an object with filter_bank, or four filters",
    "mode": "what lies outside: one of MODES, or PyWavelets' number of it",
    "level": "how often the approximation is split again; None: as often as it may be",
    "maxlevel": "the deepest level; None: dwt_max_level()",
    "start_level": "levels that lie behind the data already",
    "trim_approx": "only the approximation of the coarsest level comes out",
    "norm": "orthonormal wavelets keep the energy",
    "axis": "the axis to transform along",
    "axes": "the two axes to transform along",
    "device": "DEVICE_CPU (-1), the index of a GPU, or DEVICE_AUTO (-2)",
}


def _explained(thing):
    """Adds what its parameters mean to the docstring of a function, or of a class."""
    function = thing.__init__ if isinstance(thing, type) else thing
    names = _inspect.signature(function).parameters
    lines = ["%s: %s." % (n, _MEANING[n]) for n in names if n in _MEANING]
    thing.__doc__ = "%s\n\n%s\n\n%s" % (
        _inspect.getdoc(thing), "\n".join(lines),
        "ValueError where PyWavelets raises it; RuntimeError: a GPU asked for fails.")
    return thing


class Wavelet:
    """A wavelet's four filters; dec_len and rec_len are their common length.

    name: of wavelist(), in letters of either case; or any, with a filter_bank.
    filter_bank: dec_lo, dec_hi, rec_lo, rec_hi of one even length; None: those of name.
    ValueError: the name is unknown, or there are not four filters.
    """

    def __init__(self, name="", filter_bank=None):
        bank = _dwt_filters(name.lower()) if filter_bank is None else filter_bank
        self.name = name
        self.filter_bank = tuple(tuple(float(x) for x in f) for f in bank)
        if len(self.filter_bank) != 4:
            raise ValueError("a wavelet has 4 filters, not %d" % len(self.filter_bank))
        self.dec_lo, self.dec_hi, self.rec_lo, self.rec_hi = map(list, self.filter_bank)
        self.dec_len = self.rec_len = len(self.dec_lo)
        self._hash = hash(self.filter_bank)

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        return self is other or (isinstance(other, Wavelet) and
                                 self.filter_bank == other.filter_bank)

    def __repr__(self):
        return "Wavelet(%r, %d taps)" % (self.name, self.dec_len)


@_functools.lru_cache(maxsize=128)
def _named(name):
    return Wavelet(name)


def _wavelet(wavelet):
    if isinstance(wavelet, Wavelet):
        return wavelet
    if isinstance(wavelet, str):
        return _named(wavelet)
    if hasattr(wavelet, "filter_bank"):
        return Wavelet(getattr(wavelet, "name", ""), wavelet.filter_bank)
    return Wavelet("", wavelet)


def _mode(mode):
    if isinstance(mode, str):
        if mode not in MODES:
            raise ValueError("mode must be one of %s, not %r" % (", ".join(MODES), mode))
        return MODES.index(mode)
    mode = int(mode)
    if not 0 <= mode < len(_NUMBERED):
        raise ValueError("mode must be 0 .. %d, not %d" % (len(_NUMBERED) - 1, mode))
    return MODES.index(_NUMBERED[mode])


def wavelist():
    """Names of the wavelets."""
    return sorted(_dwt_names())


def dwt_max_level(data_len, filter_len):
    """The most levels of data_len samples of which a coefficient is free of the edges:
    floor(log2(data_len / (filter_len - 1))), at least 0. filter_len may be a wavelet."""
    if not isinstance(filter_len, (int, _np.integer)):
        filter_len = _wavelet(filter_len).dec_len
    if data_len < 0 or filter_len < 2:
        raise ValueError("data_len must be at least 0 and filter_len 2, not %r and %r" %
                         (data_len, filter_len))
    return _dwt_max_level(int(data_len), int(filter_len))


def dwt_coeff_len(data_len, filter_len, mode):
    """Coefficients of a band of one level of data_len samples in a mode. filter_len may
    be a wavelet."""
    if not isinstance(filter_len, (int, _np.integer)):
        filter_len = _wavelet(filter_len).dec_len
    if data_len < 1 or filter_len < 1:
        raise ValueError("data_len and filter_len must be at least 1, not %r and %r" %
                         (data_len, filter_len))
    return _dwt_coef_length(int(data_len), int(filter_len), _mode(mode))


# ------------------------------------------------------------------ arrays


def _dtype(x):
    """The type that x is transformed in."""
    dtype = getattr(x, "dtype", None) or _np.asarray(x).dtype
    if dtype.char in "fF":
        return dtype
    if dtype == _np.float16:
        return _np.dtype(_np.float32)
    return _np.dtype(_np.complex128 if dtype.kind == "c" else _np.float64)


def _array(x):
    return _np.asarray(x, dtype=_dtype(x))


def _common(arrays):
    """All in one type, as PyWavelets chooses it: of different ones, the wide one. None
    becomes zeros."""
    given = [_array(a) for a in arrays if a is not None]
    if len({a.dtype for a in given}) > 1:
        wide = _np.complex128 if any(a.dtype.kind == "c" for a in given) else _np.float64
        given = [a.astype(wide) for a in given]
    if len({a.shape for a in given}) > 1:
        raise ValueError("coefficient arrays must have one shape, not " +
                         " and ".join(str(a.shape) for a in given))
    rest = iter(given)
    return [_np.zeros_like(given[0]) if a is None else next(rest) for a in arrays]


def _axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise ValueError("axis must be one of %d axes, not %r" % (ndim, axis))
    return axis % ndim


def _make_plan(wavelet, kind, mode, rank, rows, cols, levels, device):
    return _DwtPlan(wavelet.filter_bank, kind, mode, rank, rows, cols, levels, device)


_cached_plan = _functools.lru_cache(maxsize=32)(_make_plan)


def _plan(wavelet, dtype, mode, rank, rows, cols, levels, device):
    make = _cached_plan if rows * cols <= _CACHED_ITEMS else _make_plan
    return make(wavelet, _TYPES[dtype.char], mode, rank, rows, cols, levels, device)


def _by_parts(transform, x):
    """complex128 as two float64."""
    if x.dtype != _np.complex128:
        return transform(x)
    real, imag = transform(x.real), transform(x.imag)
    result = _np.empty(real.shape, _np.complex128)
    result.real, result.imag = real, imag
    return result


def _bands(wavelet, mode, rank, shape, levels):
    """Coefficients of an array of that shape, and (offset, rows, cols) of each band."""
    rows, cols = shape if rank == 2 else (1, shape[-1])
    found, detail = [], []
    for _ in range(levels):
        cols = _dwt_coef_length(cols, wavelet.dec_len, mode)
        if rank == 2:
            rows = _dwt_coef_length(rows, wavelet.dec_len, mode)
        detail.append((rows, cols))
    sizes = [(rows, cols)]
    for size in reversed(detail):
        sizes += [size] * (3 if rank == 2 else 1)
    offset = 0
    for r, c in sizes:
        found.append((offset, r, c))
        offset += r * c
    return offset, found


def _forward(x, wavelet, mode, rank, levels, device):
    """x [.., (rows,) cols] to all bands, each [.., (rows,) cols]."""
    lead, shape = x.shape[:-rank], x.shape[-rank:]
    if 0 in shape:
        raise ValueError("data must have at least one sample along the axis")
    count, bands = _bands(wavelet, mode, rank, shape, levels)
    x = x.reshape((-1,) + shape)
    coefs = _by_parts(lambda part: _run_forward(part, count, wavelet, mode, rank, levels,
                                                device), x)
    end = (lambda r, c: (r, c)) if rank == 2 else (lambda r, c: (c,))
    return [_np.ascontiguousarray(coefs[:, o:o + r * c]).reshape(lead + end(r, c))
            for o, r, c in bands]


def _run_forward(x, count, wavelet, mode, rank, levels, device):
    x = _np.ascontiguousarray(x)
    coefs = _np.empty((len(x), count), x.dtype)
    if rank == 2:
        for image, out in zip(x, coefs):
            plan = _plan(wavelet, x.dtype, mode, 2, *x.shape[1:], levels, device)
            plan.forward(image, out)
    elif len(x):
        _plan(wavelet, x.dtype, mode, 1, *x.shape, levels, device).forward(x, coefs)
    return coefs


def _inverse(bands, shape, wavelet, mode, rank, device):
    """Bands as _forward() gives them to [.., *shape]."""
    levels = (len(bands) - 1) // (3 if rank == 2 else 1)
    lead = bands[0].shape[:-rank]
    n = int(_np.prod(lead, dtype=_np.int64))
    coefs = _np.concatenate([b.reshape(n, -1) for b in bands], axis=1)
    y = _by_parts(lambda part: _run_inverse(part, shape, wavelet, mode, rank, levels,
                                            device), coefs)
    return y.reshape(lead + tuple(shape))


def _run_inverse(coefs, shape, wavelet, mode, rank, levels, device):
    coefs = _np.ascontiguousarray(coefs)
    y = _np.empty((len(coefs),) + tuple(shape), coefs.dtype)
    if rank == 2:
        for row, out in zip(coefs, y):
            plan = _plan(wavelet, coefs.dtype, mode, 2, *shape, levels, device)
            plan.inverse(row, out)
    elif len(coefs):
        _plan(wavelet, coefs.dtype, mode, 1, len(coefs), shape[0], levels,
              device).inverse(coefs, y)
    return y


def _length(n, wavelet, mode):
    """What n coefficients of a band are made to, as PyWavelets counts."""
    length = 2 * n if mode == _PERIODIZATION else 2 * n - wavelet.rec_len + 2
    if length < 1:
        raise ValueError("%d coefficients are too few for %d taps: wavelet and mode must "
                         "be those of the decomposition" % (n, wavelet.rec_len))
    return length


def _level(sizes, lengths, level):
    most = min(dwt_max_level(n, f) if n else 0 for n, f in zip(sizes, lengths))
    if level is None:
        return most
    if level < 0:
        raise ValueError("level must be at least 0, not %d" % level)
    if level > most:
        _warnings.warn("level %d is more than %d: all coefficients feel the edges" %
                       (level, most), stacklevel=3)
    return level


# ------------------------------------------------------------------ one axis


@_explained
def dwt(data, wavelet, mode="symmetric", axis=-1, *, device=_AUTO):
    """(cA, cD) of one level along an axis."""
    data, wavelet = _array(data), _wavelet(wavelet)
    axis = _axis(axis, data.ndim)
    bands = _forward(_np.moveaxis(data, axis, -1), wavelet, _mode(mode), 1, 1, device)
    return tuple(_np.moveaxis(b, -1, axis) for b in bands)


@_explained
def idwt(cA, cD, wavelet, mode="symmetric", axis=-1, *, device=_AUTO):
    """The inverse of dwt(); one of cA and cD may be None: zeros."""
    if cA is None and cD is None:
        raise ValueError("one of cA and cD must be given")
    bands, wavelet, mode = _common([cA, cD]), _wavelet(wavelet), _mode(mode)
    axis = _axis(axis, bands[0].ndim)
    n = _length(bands[0].shape[axis], wavelet, mode)
    y = _inverse([_np.moveaxis(b, axis, -1) for b in bands], (n,), wavelet, mode, 1,
                 device)
    return _np.moveaxis(y, -1, axis)


@_explained
def wavedec(data, wavelet, mode="symmetric", level=None, axis=-1, *, device=_AUTO):
    """[cA_n, cD_n, .., cD_1]; level None: dwt_max_level()."""
    data, wavelet, mode = _np.asarray(data), _wavelet(wavelet), _mode(mode)
    axis = _axis(axis, data.ndim)
    level = _level([data.shape[axis]], [wavelet.dec_len], level)
    if level == 0:
        return [data]
    bands = _forward(_np.moveaxis(_array(data), axis, -1), wavelet, mode, 1, level,
                     device)
    return [_np.moveaxis(b, -1, axis) for b in bands]


@_explained
def waverec(coeffs, wavelet, mode="symmetric", axis=-1, *, device=_AUTO):
    """The inverse of wavedec(). Where the data was of odd length one item more comes
    back, as from PyWavelets."""
    if not isinstance(coeffs, (list, tuple)) or len(coeffs) < 1:
        raise ValueError("coeffs must be a list of 1 array or more")
    if len(coeffs) == 1:
        return coeffs[0]
    wavelet, mode = _wavelet(wavelet), _mode(mode)
    a = coeffs[0]
    whole = _whole_chain(coeffs, wavelet, mode, axis)
    if whole is not None:
        bands, n, axis = whole
        y = _inverse(bands, (n,), wavelet, mode, 1, device)
        return _np.moveaxis(y, -1, axis)
    for d in coeffs[1:]:
        if a is not None and d is not None:
            a = _trimmed(_np.asarray(a), _np.asarray(d), [axis])
        a = idwt(a, d, wavelet, MODES[mode], axis, device=device)
    return a


def _trimmed(a, d, axes):
    """The approximation without the item that it has more than the details."""
    for axis in axes:
        axis = _axis(axis, a.ndim)
        if d.ndim != a.ndim:
            raise ValueError("coefficient arrays must have as many axes as each other")
        if a.shape[axis] == d.shape[axis] + 1:
            a = a[(slice(None),) * axis + (slice(-1),)]
        elif a.shape[axis] != d.shape[axis]:
            raise ValueError("coefficient shapes do not fit: %s and %s" %
                             (a.shape, d.shape))
    return a


def _whole_chain(coeffs, wavelet, mode, axis):
    """The bands of all levels and the data's length, where one transform makes it."""
    if any(c is None for c in coeffs) or len(coeffs) > 65:
        return None
    bands = [_array(c) for c in coeffs]
    if len({b.dtype for b in bands}) > 1 or len({b.ndim for b in bands}) > 1:
        return None
    axis = _axis(axis, bands[0].ndim)
    bands = [_np.moveaxis(b, axis, -1) for b in bands]
    n = _length(bands[-1].shape[-1], wavelet, mode)
    lengths, m = [], n
    for _ in coeffs[1:]:
        m = _dwt_coef_length(m, wavelet.dec_len, mode)
        lengths.append(m)
    if [b.shape[-1] for b in bands] != [m] + lengths[::-1]:
        return None
    if len({b.shape[:-1] for b in bands}) > 1:
        raise ValueError("coefficient shapes do not fit: " +
                         ", ".join(str(b.shape) for b in bands))
    return bands, n, axis


# ------------------------------------------------------------------ two axes


def _per_axis(value, convert, single):
    if single(value):
        return [convert(value)] * 2
    values = [convert(v) for v in value]
    if len(values) == 1:
        return values * 2
    if len(values) != 2:
        raise ValueError("there must be one for each axis, or one for both")
    return values


def _setup2(wavelet, mode, axes, ndim):
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("there must be 2 axes, not %d" % len(axes))
    axes = [_axis(a, ndim) for a in axes]
    wavelets = _per_axis(wavelet, _wavelet, lambda w: isinstance(w, str) or
                         hasattr(w, "filter_bank") or len(w) == 4)
    modes = _per_axis(mode, _mode, lambda m: isinstance(m, (str, int)))
    alike = (axes[0] != axes[1] and modes[0] == modes[1] and
             wavelets[0] == wavelets[1])
    return axes, wavelets, modes, alike


@_explained
def dwt2(data, wavelet, mode="symmetric", axes=(-2, -1), *, device=_AUTO):
    """(cA, (cH, cV, cD)) of one level; wavelet and mode may be pairs."""
    data = _array(data)
    if data.ndim < 2:
        raise ValueError("data must have 2 axes or more, not %d" % data.ndim)
    axes, wavelets, modes, alike = _setup2(wavelet, mode, axes, data.ndim)
    if alike:
        bands = _forward(_np.moveaxis(data, axes, (-2, -1)), wavelets[0], modes[0], 2, 1,
                         device)
        a, h, v, d = (_np.moveaxis(b, (-2, -1), axes) for b in bands)
        return a, (h, v, d)
    low, high = dwt(data, wavelets[0], MODES[modes[0]], axes[0], device=device)
    a, v = dwt(low, wavelets[1], MODES[modes[1]], axes[1], device=device)
    h, d = dwt(high, wavelets[1], MODES[modes[1]], axes[1], device=device)
    return a, (h, v, d)


@_explained
def idwt2(coeffs, wavelet, mode="symmetric", axes=(-2, -1), *, device=_AUTO):
    """The inverse of dwt2(); arrays may be None: zeros."""
    a, details = coeffs
    if len(details) != 3:
        raise ValueError("there must be 3 details, not %d" % len(details))
    if all(b is None for b in (a, *details)):
        raise ValueError("one of the coefficient arrays must be given")
    a, h, v, d = _common([a, *details])
    if a.ndim < 2:
        raise ValueError("coefficients must have 2 axes or more, not %d" % a.ndim)
    axes, wavelets, modes, alike = _setup2(wavelet, mode, axes, a.ndim)
    if alike:
        shape = [_length(a.shape[axis], wavelets[0], modes[0]) for axis in axes]
        y = _inverse([_np.moveaxis(b, axes, (-2, -1)) for b in (a, h, v, d)], shape,
                     wavelets[0], modes[0], 2, device)
        return _np.moveaxis(y, (-2, -1), axes)
    low = idwt(a, v, wavelets[1], MODES[modes[1]], axes[1], device=device)
    high = idwt(h, d, wavelets[1], MODES[modes[1]], axes[1], device=device)
    return idwt(low, high, wavelets[0], MODES[modes[0]], axes[0], device=device)


@_explained
def wavedec2(data, wavelet, mode="symmetric", level=None, axes=(-2, -1), *, device=_AUTO):
    """[cA_n, (cH_n, cV_n, cD_n), .., (cH_1, cV_1, cD_1)]."""
    data = _np.asarray(data)
    if data.ndim < 2:
        raise ValueError("data must have 2 axes or more, not %d" % data.ndim)
    axes, wavelets, modes, alike = _setup2(wavelet, mode, axes, data.ndim)
    if axes[0] == axes[1]:
        raise ValueError("the axes must differ")
    level = _level([data.shape[a] for a in axes], [w.dec_len for w in wavelets], level)
    if level == 0:
        return [data]
    if alike:
        bands = _forward(_np.moveaxis(_array(data), axes, (-2, -1)), wavelets[0],
                         modes[0], 2, level, device)
        bands = [_np.moveaxis(b, (-2, -1), axes) for b in bands]
        return [bands[0]] + [tuple(bands[i:i + 3]) for i in range(1, len(bands), 3)]
    details, a = [], data
    for _ in range(level):
        a, d = dwt2(a, wavelets, [MODES[m] for m in modes], axes, device=device)
        details.append(d)
    return [a] + details[::-1]


@_explained
def waverec2(coeffs, wavelet, mode="symmetric", axes=(-2, -1), *, device=_AUTO):
    """The inverse of wavedec2(); odd sizes come back one larger, as from PyWavelets."""
    if not isinstance(coeffs, (list, tuple)) or len(coeffs) < 1:
        raise ValueError("coeffs must be a list of 1 array or more")
    if len(axes) != len(set(axes)):
        raise ValueError("the axes must differ")
    if len(coeffs) == 1:
        return coeffs[0]
    a = _np.asarray(coeffs[0])
    for details in coeffs[1:]:
        if not isinstance(details, (list, tuple)) or len(details) != 3:
            raise ValueError("details must be triples of arrays, as of wavedec2()")
        given = [_np.asarray(d) for d in details if d is not None]
        if given:
            a = _trimmed(a, given[0], axes)
        a = idwt2((a, details), wavelet, mode, axes, device=device)
    return a


# ------------------------------------------------------------------ thresholds


def threshold(data, value, mode="soft", substitute=0):
    """The items of data, shrunk: mode "soft", "hard" or "garrote", those below value
    becoming `substitute`. "greater" and "less" replace those below or above value by it.
    |x| of complex items is their magnitude. ValueError: another mode."""
    data = _np.ascontiguousarray(_array(data))
    substitute = _np.asarray(substitute).astype(data.dtype)
    if mode in ("greater", "less"):
        if data.dtype.kind == "c":
            raise ValueError("%s is for real data" % mode)
        return _np.where(data < value if mode == "greater" else data > value, substitute,
                         data)
    if mode not in _THRESHOLDS:
        raise ValueError("mode must be soft, hard, garrote, greater or less, not %r" %
                         (mode,))
    if data.dtype == _np.complex128:
        size = _np.abs(data)
        result = data * (threshold(size, value, mode) / _np.where(size > 0, size, 1))
    else:
        result = _np.empty_like(data)
        _dwt_threshold(_THRESHOLDS[mode], float(value), _TYPES[data.dtype.char], data,
                       result)
    return _np.where(_np.abs(data) < value, substitute, result) if substitute else result
