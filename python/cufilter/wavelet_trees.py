# SPDX-License-Identifier: GPL-3.0-or-later
"""
Stationary transforms and wavelet packets of numpy arrays, under PyWavelets' names.

swt, iswt, swt2 and iswt2 give PyWavelets' values and take lengths and levels that it
refuses: the signal is periodic with whatever length it has. WaveletPacket and
WaveletPacket2D give back exactly as many items as they were given.
"""

import numpy as _np

from .cufilter_python import DEVICE_AUTO as _AUTO
from .cufilter_python import _dwt_coef_length, _swt_max_level, _SwtPlan
from .wavelets import (_array, _axis, _by_parts, _common, _explained, _setup2, _TYPES,
                       _wavelet, dwt, dwt2, dwt_coeff_len, dwt_max_level, idwt, idwt2)

__all__ = ["WaveletPacket", "WaveletPacket2D", "iswt", "iswt2", "swt", "swt2",
           "swt_max_level"]


def swt_max_level(input_len):
    """How often 2 divides input_len: the levels that PyWavelets allows."""
    if input_len < 0:
        raise ValueError("input_len must be at least 0, not %d" % input_len)
    return _swt_max_level(int(input_len))


# ------------------------------------------------------------------ stationary


def _stationary(x, inverse, n, wavelet, levels, start_level, norm, device):
    """Rows of x [rows, ..]: [rows, n] to [rows, 2 levels, n] or, inverse, back."""

    def transform(part):
        part = _np.ascontiguousarray(part)
        plan = _SwtPlan(wavelet.filter_bank, _TYPES[part.dtype.char], len(part), n,
                        levels, start_level, norm, device)
        out = _np.empty((len(part), n) if inverse else (len(part), 2 * levels, n),
                        part.dtype)
        (plan.inverse if inverse else plan.forward)(part, out)
        return out

    if len(x) == 0:
        return _np.empty((0, n) if inverse else (0, 2 * levels, n), x.dtype)
    return _by_parts(transform, x)


@_explained
def swt(data, wavelet, level=None, start_level=0, axis=-1, trim_approx=False, norm=False,
        *, device=_AUTO):
    """[(cA_n, cD_n), .., (cA_1, cD_1)], or with trim_approx [cA_n, cD_n, .., cD_1]; all
    as long as the data. level None: swt_max_level()."""
    data, wavelet = _array(data), _wavelet(wavelet)
    axis = _axis(axis, data.ndim)
    n = data.shape[axis]
    if n == 0:
        raise ValueError("data must have at least one sample along the axis")
    level = swt_max_level(n) if level is None else level
    if level < 1 or start_level < 0:
        raise ValueError("level must be at least 1 and start_level 0, not %d and %d" %
                         (level, start_level))
    moved = _np.moveaxis(data, axis, -1)
    bands = _stationary(moved.reshape(-1, n), False, n, wavelet, level, start_level, norm,
                        device)
    bands = [_np.ascontiguousarray(bands[:, i]).reshape(moved.shape)
             for i in range(2 * level)]
    bands = [_np.moveaxis(b, -1, axis) for b in bands]
    if trim_approx:
        return bands[:2] + bands[3::2]
    return list(zip(bands[::2], bands[1::2]))


@_explained
def iswt(coeffs, wavelet, norm=False, axis=-1, *, start_level=0, device=_AUTO):
    """The inverse of swt(), with or without trim_approx."""
    wavelet = _wavelet(wavelet)
    if not len(coeffs):
        raise ValueError("coeffs must hold the coefficients of 1 level or more")
    if isinstance(coeffs[0], (tuple, list)):
        bands = [coeffs[0][0]] + [pair[1] for pair in coeffs]
    else:
        bands = list(coeffs)
    bands = _common(bands)
    levels = len(bands) - 1
    if levels < 1:
        raise ValueError("coeffs must hold the coefficients of 1 level or more")
    axis = _axis(axis, bands[0].ndim)
    bands = [_np.moveaxis(b, axis, -1) for b in bands]
    shape = bands[0].shape
    n = shape[-1]
    rows = [b.reshape(-1, n) for b in bands]
    # Pairs; A of the finer levels is not looked at.
    stacked = [rows[0], rows[1]] + [r for d in rows[2:] for r in (d, d)]
    y = _stationary(_np.stack(stacked, 1), True, n, wavelet, levels, start_level, norm,
                    device)
    return _np.moveaxis(y.reshape(shape), -1, axis)


def _one_level2(data, wavelets, axes, start_level, norm, device):
    def split(x, i):
        return swt(x, wavelets[i], 1, start_level, axes[i], False, norm, device=device)[0]

    low, high = split(data, 0)
    (a, v), (h, d) = split(low, 1), split(high, 1)
    return a, (h, v, d)


@_explained
def swt2(data, wavelet, level, start_level=0, axes=(-2, -1), trim_approx=False,
         norm=False, *, device=_AUTO):
    """[(cA_n, (cH_n, cV_n, cD_n)), ..], from the coarsest level on, or with trim_approx
    [cA_n, (cH_n, cV_n, cD_n), ..]."""
    a = _array(data)
    if a.ndim < 2:
        raise ValueError("data must have 2 axes or more, not %d" % a.ndim)
    axes, wavelets, _, _ = _setup2(wavelet, "periodization", axes, a.ndim)
    if axes[0] == axes[1]:
        raise ValueError("the axes must differ")
    if level < 1:
        raise ValueError("level must be at least 1, not %d" % level)
    levels = []
    for l in range(start_level, start_level + level):
        a, details = _one_level2(a, wavelets, axes, l, norm, device)
        levels.append((a, details))
    levels.reverse()
    return [a] + [details for _, details in levels] if trim_approx else levels


@_explained
def iswt2(coeffs, wavelet, norm=False, axes=(-2, -1), *, device=_AUTO):
    """The inverse of swt2(), with or without trim_approx."""
    if isinstance(coeffs[0], (tuple, list)):
        a, details = coeffs[0][0], [c[1] for c in coeffs]
    else:
        a, details = coeffs[0], coeffs[1:]
    a = _array(a)
    axes, wavelets, _, _ = _setup2(wavelet, "periodization", axes, a.ndim)
    for l, three in zip(range(len(details) - 1, -1, -1), details):
        a, h, v, d = _common([a, *three])

        def join(low, high, i, l=l):
            return iswt([low, high], wavelets[i], norm, axes[i], start_level=l,
                        device=device)

        a = join(join(a, v, 1), join(h, d, 1), 0)
    return a


# ------------------------------------------------------------------ packets


def _gray(i):
    return i ^ (i >> 1)


class _Node:
    """A node of a tree: path, level, and data, which may be set."""

    def __init__(self, tree, path):
        self._tree, self.path = tree, path
        self.level = len(path)

    @property
    def data(self):
        return self._tree._get(self.path)

    @data.setter
    def data(self, value):
        self._tree[self.path] = value

    def __repr__(self):
        return "node %r" % self.path


class _Tree:
    """Nodes by path; those asked for are computed, those set or deleted count when the
    data is put together again."""

    def __init__(self, data, wavelet, mode, maxlevel, most, device):
        self.wavelet, self.mode, self._device = wavelet, mode, device
        self.maxlevel = most if maxlevel is None else maxlevel
        if self.maxlevel < 0:
            raise ValueError("maxlevel must be at least 0, not %d" % self.maxlevel)
        self._nodes, self._gone = {"": data}, set()

    def _check(self, path):
        if not isinstance(path, str) or set(path) - set(self.PARTS):
            raise ValueError("a path is made of the letters %s, not %r" %
                             (self.PARTS, path))
        if len(path) > self.maxlevel:
            raise IndexError("path %r is longer than maxlevel %d" % (path, self.maxlevel))

    def _get(self, path):
        if any(path[:i] in self._gone for i in range(len(path) + 1)):
            raise KeyError("node %r was deleted" % path)
        if path not in self._nodes:
            children = self._split(self._get(path[:-1]))
            for letter, child in zip(self.PARTS, children):
                if path[:-1] + letter not in self._gone:
                    self._nodes.setdefault(path[:-1] + letter, child)
        return self._nodes[path]

    def __getitem__(self, path):
        self._check(path)
        self._get(path)
        return _Node(self, path)

    def __setitem__(self, path, data):
        """The node's new data; what was below it goes."""
        self._check(path)
        data = data.data if isinstance(data, _Node) else _np.asarray(data)
        if path:
            self._get_parent(path)
        for other in [p for p in self._nodes if p.startswith(path)]:
            del self._nodes[other]
        self._gone = {p for p in self._gone if not p.startswith(path)}
        self._nodes[path] = _array(data)

    def _get_parent(self, path):
        """Computes the node's siblings, so that they are kept."""
        first = path[:-1] + self.PARTS[0]
        if path[:-1] + self.PARTS[1] not in self._nodes and first not in self._nodes:
            self._get(first if first not in self._gone else path)

    def __delitem__(self, path):
        """The node counts as zero from now on."""
        self._check(path)
        self._get_parent(path)
        for other in [p for p in self._nodes if p.startswith(path)]:
            del self._nodes[other]
        self._gone.add(path)

    def get_level(self, level, order="natural"):
        """All nodes of a level; order freq: by frequency."""
        if order not in ("natural", "freq"):
            raise ValueError("order must be natural or freq, not %r" % (order,))
        if not 0 <= level <= self.maxlevel:
            raise ValueError("level must be 0 .. %d, not %d" % (self.maxlevel, level))
        paths = [""]
        for _ in range(level):
            paths = [p + letter for p in paths for letter in self.PARTS]
        nodes = [self[p] for p in paths]
        return nodes if order == "natural" else self._by_frequency(nodes, level)

    def get_leaf_nodes(self):
        """The nodes that have nothing below them."""
        return [_Node(self, p) for p in sorted(self._nodes)
                if not any(p + letter in self._nodes for letter in self.PARTS)]

    def reconstruct(self, update=False):
        """The data, from the leaves; it replaces the tree's with `update`."""
        data = self._join("", self._shape)
        if update:
            self._nodes[""] = data
        return data

    def _join(self, path, shape):
        parts = [path + letter for letter in self.PARTS]
        if path in self._gone:
            return None
        if not any(p in self._nodes or p in self._gone for p in parts):
            return self._nodes.get(path)
        below = [self._join(p, self._smaller(shape)) for p in parts]
        if all(b is None for b in below):
            return _np.zeros_like(self._nodes[path])
        return self._trim(self._merge(below), shape)


@_explained
class WaveletPacket(_Tree):
    """
    A tree of 1-D transforms: wp["ad"].data are the details of the approximation. Nodes
    may be set (wp["ad"] = array) and deleted (counted as zeros); reconstruct() puts the data
    together, as long as it was.
    """

    PARTS = "ad"

    def __init__(self, data, wavelet, mode="symmetric", maxlevel=None, axis=-1, *,
                 device=_AUTO):
        data = _array(data)
        self.axis = _axis(axis, data.ndim)
        self._shape = data.shape[self.axis]
        most = dwt_max_level(self._shape, _wavelet(wavelet).dec_len)
        super().__init__(data, wavelet, mode, maxlevel, most, device)

    def _split(self, data):
        return dwt(data, self.wavelet, self.mode, self.axis, device=self._device)

    def _merge(self, parts):
        return idwt(*parts, self.wavelet, self.mode, self.axis, device=self._device)

    def _smaller(self, n):
        return dwt_coeff_len(n, _wavelet(self.wavelet).dec_len, self.mode)

    def _trim(self, data, n):
        return data[(slice(None),) * self.axis + (slice(n),)]

    def _by_frequency(self, nodes, level):
        return [nodes[_gray(i)] for i in range(1 << level)]


@_explained
class WaveletPacket2D(_Tree):
    """
    A tree of 2-D transforms; the letters of a path are a, h, v and d. By frequency, the
    nodes of a level are a matrix: rows from low to high along axis 0.
    """

    PARTS = "ahvd"

    def __init__(self, data, wavelet, mode="symmetric", maxlevel=None, axes=(-2, -1), *,
                 device=_AUTO):
        data = _array(data)
        self.axes, wavelets, self._modes, _ = _setup2(wavelet, mode, axes, data.ndim)
        self._taps = [w.dec_len for w in wavelets]
        self._shape = tuple(data.shape[a] for a in self.axes)
        most = min(dwt_max_level(n, f) for n, f in zip(self._shape, self._taps))
        super().__init__(data, wavelet, mode, maxlevel, most, device)

    def _split(self, data):
        a, details = dwt2(data, self.wavelet, self.mode, self.axes, device=self._device)
        return (a, *details)

    def _merge(self, parts):
        return idwt2((parts[0], tuple(parts[1:])), self.wavelet, self.mode, self.axes,
                     device=self._device)

    def _smaller(self, shape):
        return tuple(map(_dwt_coef_length, shape, self._taps, self._modes))

    def _trim(self, data, shape):
        where = [slice(None)] * data.ndim
        for axis, n in zip(self.axes, shape):
            where[axis] = slice(n)
        return data[tuple(where)]

    def _by_frequency(self, nodes, level):
        by_path = {n.path: n for n in nodes}
        letters = {(0, 0): "a", (1, 0): "h", (0, 1): "v", (1, 1): "d"}

        def node(row, col):
            row, col = _gray(row), _gray(col)
            bits = range(level - 1, -1, -1)
            return by_path["".join(letters[row >> b & 1, col >> b & 1] for b in bits)]

        return [[node(r, c) for c in range(1 << level)] for r in range(1 << level)]
