#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes dwt_tables.inc: low-pass filters of the named wavelets, from their definitions.

    python3 make_wavelets.py > dwt_tables.inc

Needs mpmath. Everything is solved with 120 digits and rounded to double once.

  db, sym  Daubechies, Ten Lectures on Wavelets (1992), ch. 6: (1+z)^N times one of each
           reciprocal pair of roots of P(y) = sum C(N-1+k, k) y^k, y = (2 - z - 1/z) / 4.
           db takes the roots inside the unit circle (extremal phase); sym takes 1/z for
           those that SYM_OUTSIDE marks, the choice in common use.
  coif     ibid., ch. 8.2: m0 = c^2K (sum C(K-1+k, k) s^2k + s^2K f), c = cos(w/2),
           s = sin(w/2), with 2K coefficients f that make m0 orthonormal. There are many
           solutions: COIF_START lies near the one in common use and is refined until the
           steps vanish.
  bior     ibid., ch. 8.3: a B-spline of order Nr and its shortest dual of order Nd; in
           4.4, 5.5 and 6.8 each side has its share of the roots of P(y).
  dmey     Abry, Ondelettes et turbulence (1997), p. 268: a table, of a symmetric filter
           near Meyer's low-pass, scaled to the sum sqrt(2).
"""
from math import comb

from mpmath import mp, mpc, mpf

mp.dps = 120
TINY = mpf(10) ** -40

# Bit i: the i-th root (by argument) is taken outside the unit circle.
SYM_OUTSIDE = {
    2: 0, 3: 0, 4: 2, 5: 1, 6: 5, 7: 1, 8: 10, 9: 6, 10: 21, 11: 6, 12: 21, 13: 28,
    14: 44, 15: 28, 16: 89, 17: 142, 18: 333, 19: 116, 20: 357,
}

BIOR_SPLINE = ("1.1 1.3 1.5 2.2 2.4 2.6 2.8 3.1 3.3 3.5 3.7 3.9").split()
# Zeros at -1 of the decomposition and of the reconstruction filter, and the roots (by
# argument) that the reconstruction filter has.
BIOR_SHARED = {"4.4": (4, 4, {0}), "5.5": (4, 6, {0}), "6.8": (8, 6, {1})}

# From the middle to the end, as published.
DMEY = """
    0.744585624062170 0.444593021711580 -0.0350875571521200 -0.132845206099720
    0.0306550932677200 0.0637390270401400 -0.0243487469441200 -0.0321307953600200
    0.0174234348465300 0.0152700157819300 -0.0110614968640900 -0.00638771859082000
    0.00604581435507000 0.00220253419481000 -0.00270467223995000 -0.000601150259980000
    6.55430621e-05 -1.631270043e-05 3.20544205e-06 7.3675732e-07 -1.48954928e-06
    1.13079475e-06 -5.5063408e-07 1.1783005e-07 8.200681e-08 -1.0866517e-07 6.066976e-08
    -1.079882e-08 -1.111945e-08 8.51946e-09 -1.01e-12
"""

COIF_START = {
    1: [
        0.822876, 0.177124,
    ],
    2: [
        2.96642, 0.494045, -0.330036, -0.130433,
    ],
    3: [
        10.9872, 1.45919, -2.00314, -0.749039, 0.20559, 0.100212,
    ],
    4: [
        41.3507, 4.48777, -9.62301, -3.44754, 1.6804, 0.785476, -0.151055,
        -0.0827182,
    ],
    5: [
        157.249, 14.1307, -42.6157, -14.7493, 9.7453, 4.40441, -1.53995,
        -0.816208, 0.120397, 0.0712094,
    ],
    6: [
        602.364, 45.057, -181.594, -61.063, 49.2492, 21.6439, -10.43, -5.37809,
        1.46813, 0.84613, -0.100685, -0.0629832,
    ],
    7: [
        2319.94, 144.35, -757.477, -248.485, 231.646, 99.4026, -59.189, -29.8043,
        11.3723, 6.40765, -1.42842, -0.874998, 0.0869025, 0.0567647,
    ],
    8: [
        8972.32, 461.578, -3118.79, -1001.16, 1043.88, 438.741, -304.752,
        -150.296, 71.6717, 39.5816, -12.4596, -7.49038, 1.40592, 0.902605,
        -0.0766971, -0.0518717,
    ],
    9: [
        34815.8, 1463.27, -12732.5, -4009.12, 4574.96, 1887.92, -1477.11,
        -715.115, 401.557, 217.81, -86.4282, -51.0836, 13.6413, 8.62087, -1.39353,
        -0.928914, 0.0688196, 0.0479041,
    ],
    10: [
        135464, 4561.84, -51679, -15991.5, 19669.7, 7984.9, -6875.14, -3273.54,
        2086.84, 1113.62, -524.179, -305.05, 103.358, 64.3801, -14.8912, -9.7945,
        1.38745, 0.953978, -0.0625438, -0.044611,
    ],
    11: [
        528265, 13826.2, -208890, -63620.5, 83408, 33360.8, -31095.7, -14583.9,
        10299.7, 5415.03, -2912.09, -1670.7, 675.325, 415.051, -122.428, -79.5304,
        16.194, 11.0076, -1.38552, -0.977881, 0.0574187, 0.0418262,
    ],
    12: [
        2.06399e+06, 39970.2, -841789, -252663, 350062, 138133, -137704, -63697.3,
        48978.4, 25399.4, -15216.5, -8615.29, 3998.81, 2427.18, -857.987, -550.91,
        143.637, 96.5891, -17.54, -12.2572, 1.3864, 1.00071, -0.0531488,
        -0.0394354,
    ],
    13: [
        8.07742e+06, 106113, -3.38456e+06, -1.00222e+06, 1.45766e+06, 568075,
        -600104, -274077, 226513, 115984, -76023, -42516.3, 22082.3, 13247.9,
        -5399.09, -3429.06, 1075.33, 715.804, -166.995, -115.608, 18.9229,
        13.5408, -1.38926, -1.0226, 0.0495319, 0.0373534,
    ],
    14: [
        3.16558e+07, 234169, -1.35847e+07, -3.97218e+06, 6.03227e+06, 2.32399e+06,
        -2.58271e+06, -1.16574e+06, 1.02534e+06, 518846, -367119, -202964, 115797,
        68712.3, -31449.3, -19769, 7170.99, 4727.79, -1330.64, -912.991, 192.523,
        136.637, -20.3385, -14.8558, 1.39344, 1.04372, -0.046434, -0.0355086,
    ],
    15: [
        1.24214e+08, 257858, -5.44514e+07, -1.57344e+07, 2.48406e+07, 9.46825e+06,
        -1.10053e+07, -4.91317e+06, 4.56352e+06, 2.28387e+06, -1.7265e+06,
        -944246, 583634, 342756, -172891, -107623, 43974.3, 28728.4, -9378.45,
        -6380.39, 1627.28, 1145.86, -220.245, -159.698, 21.7829, 16.2081, -1.3987,
        -1.06257, 0.0437345, 0.0340184,
    ],
    16: [
        4.8794e+08, -1.40715e+06, -2.18027e+08, -6.23028e+07, 1.01884e+08,
        3.84476e+07, -4.65193e+07, -2.05558e+07, 2.00367e+07, 9.92417e+06,
        -7.94999e+06, -4.3039e+06, 2.85137e+06, 1.65823e+06, -908869, -560538,
        253103, 163920, -60426.8, -40777.1, 12092.2, 8451.07, -1968.26, -1417.17,
        250.379, 185.102, -23.1958, -17.5202, 1.41597, 1.0935, -0.040294,
        -0.0315268,
    ],
    17: [
        1.9186e+09, -1.44428e+07, -8.72259e+08, -2.46639e+08, 4.16504e+08,
        1.55706e+08, -1.95339e+08, -8.54878e+07, 8.70013e+07, 4.26731e+07,
        -3.59867e+07, -1.92955e+07, 1.35865e+07, 7.8282e+06, -4.61138e+06,
        -2.819e+06, 1.38657e+06, 890589, -363631, -243466, 81709.8, 56708.1,
        -15382.8, -10993, 2359.84, 1737.89, -281.853, -210.117, 24.8921, 19.5407,
        -1.38555, -1.00417, 0.04153, 0.039509,
    ],
}


def multiply(a, b):
    product = [mpf(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return product


def power(p, n):
    result = [mpf(1)]
    for _ in range(n):
        result = multiply(result, p)
    return result


COS2 = [mpf(1) / 4, mpf(1) / 2, mpf(1) / 4]  # z cos^2(w/2)
SIN2 = [-mpf(1) / 4, mpf(1) / 2, -mpf(1) / 4]  # z sin^2(w/2)


def normalized(p):
    total = sum(p)
    return [x * mp.sqrt(2) / total for x in p]


def roots_inside(n):
    """One z of each pair z, 1/z, |z| < 1, for the roots y of P; of conjugates one."""
    if n < 2:
        return []
    p = [mpf(comb(n - 1 + k, k)) for k in range(n)][::-1]
    inside = []
    for y in mp.polyroots(p, maxsteps=500, extraprec=600):
        if mp.im(y) < -TINY:
            continue
        half = 1 - 2 * y
        z = half + mp.sqrt(half * half - 1)
        if abs(z) > 1:
            z = 1 / z
        inside.append(z if abs(mp.im(z)) > TINY else mpc(mp.re(z), 0))
    return sorted(inside, key=mp.arg)


def factor(z):
    """(x - z), or (x - z)(x - conj z)."""
    if mp.im(z) == 0:
        return [mpf(1), -mp.re(z)]
    return [mpf(1), -2 * mp.re(z), abs(z) ** 2]


def daubechies(n, outside=0):
    p = power([mpf(1), mpf(1)], n)
    for i, z in enumerate(roots_inside(n)):
        p = multiply(p, factor(1 / z if outside >> i & 1 else z))
    return normalized(p)


def coiflet(k):
    n = 6 * k
    base = power(COS2, k)
    fixed = [mpf(0)] * n
    for i in range(k):
        for j, x in enumerate(multiply(base, power(SIN2, i))):
            fixed[k - i + j] += comb(k - 1 + i, i) * x
    moving = multiply(base, power(SIN2, k))
    f = [mpf(x) for x in COIF_START[k]]
    for _ in range(60):
        h = list(fixed)
        for i, x in enumerate(f):
            for j, y in enumerate(moving):
                h[i + j] += x * y
        lags = range(0, n, 2)
        miss = mp.matrix(
            [sum(h[i] * h[i + lag] for i in range(n - lag)) - (lag == 0) / mpf(2)
             for lag in lags])
        slope = mp.matrix(len(lags), 2 * k)
        for row, lag in enumerate(lags):
            both = [(h[i + lag] if i + lag < n else 0) + (h[i - lag] if i >= lag else 0)
                    for i in range(n)]
            for i in range(2 * k):
                slope[row, i] = sum(y * both[i + j] for j, y in enumerate(moving))
        step = mp.lu_solve(slope, miss)  # least squares: more equations, but consistent
        f = [x - s for x, s in zip(f, step)]
        if max(abs(s) for s in step) < max(abs(x) for x in f) * mpf(10) ** -35:
            return [x * mp.sqrt(2) for x in h]
    raise RuntimeError(f"coif{k}: no convergence")


def discrete_meyer():
    half = [mpf(x) for x in DMEY.split()]
    return normalized(half[:0:-1] + half + [mpf(0)])  # a zero to an even length


def spline_pair(nr, nd):
    half = (nr + nd) // 2
    rec = normalized(power([mpf(1), mpf(1)], nr))
    dual = [mpf(0)] * (2 * half - 1)
    for k in range(half):
        for j, x in enumerate(power(SIN2, k)):
            dual[half - 1 - k + j] += comb(half - 1 + k, k) * x
    return normalized(multiply(power([mpf(1), mpf(1)], nd), dual)), rec


def shared_pair(name):
    zeros_dec, zeros_rec, mine = BIOR_SHARED[name]
    dec, rec = (power([mpf(1), mpf(1)], z) for z in (zeros_dec, zeros_rec))
    for i, z in enumerate(roots_inside((zeros_dec + zeros_rec) // 2)):
        both = multiply(factor(z), factor(1 / z))
        if i in mine:
            rec = multiply(rec, both)
        else:
            dec = multiply(dec, both)
    return normalized(dec), normalized(rec)


def padded(dec, rec):
    """Zeros to one even length; odd filters centred on F/2 and F/2 - 1."""
    odd = len(dec) % 2
    n = max(len(dec), len(rec)) + odd

    def put(p, right):
        before = (n - len(p) + (odd if right else -odd)) // 2
        return [mpf(0)] * before + p + [mpf(0)] * (n - len(p) - before)

    return put(dec, True), put(rec, False)


def emit(name, values):
    print(f"static const double {name}[{len(values)}] = {{")
    for x in values:
        print(f"    {float(x)!r},")
    print("};")


def main():
    print("/* SPDX-License-Identifier: GPL-3.0-or-later */")
    print("/* Made by make_wavelets.py: low-pass filters of the named wavelets. */")
    rows = []
    orthogonal = [(f"db{n}", daubechies(n)) for n in range(1, 39)]
    orthogonal += [(f"sym{n}", daubechies(n, m)) for n, m in SYM_OUTSIDE.items()]
    orthogonal += [(f"coif{k}", coiflet(k)) for k in COIF_START]
    orthogonal += [("dmey", discrete_meyer())]
    for name, h in orthogonal:
        emit(name, h)
        rows.append(f'{{"{name}", {len(h)}, NULL, {name}}}')
    pairs = [(n, spline_pair(*map(int, n.split(".")))) for n in BIOR_SPLINE]
    pairs += [(n, shared_pair(n)) for n in BIOR_SHARED]
    for name, pair in pairs:
        dec, rec = padded(*pair)
        c_name = "bior" + name.replace(".", "_")
        emit(c_name + "_dec", dec)
        emit(c_name + "_rec", rec)
        rows.append(f'{{"bior{name}", {len(dec)}, {c_name}_dec, {c_name}_rec}}')
    print("static const struct table_row table[] = {")
    for row in rows:
        print(f"    {row},")
    print("};")


if __name__ == "__main__":
    main()
