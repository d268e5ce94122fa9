#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Times cufilter's cores beside what else is installed: scipy, PyWavelets and GNU Radio's
own blocks on the CPU; CuPy and PyTorch on a GPU.

usage: cufilter-bench-peers [--device DEVICE] [--core CORE] [--peer PEER] [--json FILE]

The cases are cufilter-bench's. In each round cufilter-bench times a case, then every peer
that can do it does, on as many items (a direct form of a long filter on fewer). What a
peer computes is first set beside the case's formula in float64. GNU Radio's blocks run in
a flowgraph, and so do cufilter's beside them.
"""

import importlib
import statistics
import sys
import time

import numpy as np

import bench_common as common

SAMPLES, SAMPLE_SECONDS, LONG_SECONDS = 5, 0.02, 1.0
DIRECT_TAPS = 1100      # no direct form of longer filters
CHECK_ITEMS = 4096
MOST_DIFFERENCE = 1e-2  # relative rms: single precision, and poles at 0.9999
GPU_ITEMS = 1 << 26
PEERS = ("gnuradio", "scipy", "pywt", "cupy", "torch")

# How many times as fast as a peer a case is meant to be.
BARS = {("scipy", "iir 16"): 6, ("torch", "dwt db4 L1"): 4, ("torch", "dwt db4 L5"): 8,
        ("torch", "dwt2 bior3.3 8192"): 14}
BARS.update((("cupy", "iir %d" % order), 5) for order in (2, 4, 8, 16))


def bar_of(peer, case):
    if peer == "pywt" and case.get("wavelet") in ("db4", "bior3.3"):
        return 1
    return BARS.get((peer, case["case"]))


# ---------------------------------------------------------------- formulas


def taps_of(case):
    rng = np.random.default_rng(case["taps"])
    h = rng.standard_normal(case["taps"])
    if case.get("complex_taps"):
        h = h + 1j * rng.standard_normal(case["taps"])
    return (h / case["taps"] ** 0.5).astype(np.complex64 if np.iscomplexobj(h)
                                            else np.float32)


def sections_of(case):
    return np.reshape(case["sos"], (-1, 6))


def input_of(case, items):
    """Random, in the shape that the case's peers take."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(items, np.float32)
    if case["complex_data"]:
        x = x + 1j * rng.standard_normal(items, np.float32)
    if case.get("cols"):
        return x.reshape(case["rows"], case["cols"])
    if case["core"] == "iir" and case["channels"] > 1:
        return x[:items // case["channels"] * case["channels"]].reshape(
            -1, case["channels"])
    return x


def exact_fir(case, x):
    h = taps_of(case)[:len(x)].astype(np.complex128)
    return np.convolve(x, h)[:len(x):case["decimation"]]


def exact_iir(case, x):
    y = x.astype(np.complex128)
    for b0, b1, b2, _, a1, a2 in sections_of(case):
        z1 = z2 = np.zeros(x.shape[1:])
        for n, v in enumerate(y.copy()):
            y[n] = b0 * v + z1
            z1, z2 = b1 * v - a1 * y[n] + z2, b2 * v - a2 * y[n]
    return y


def exact_bands(case, x):
    """Low and high along the last axis: a sum of `taps` products for every other item."""
    n, taps = x.shape[-1], len(case["dec_lo"])
    periodic = case["dwt_mode"] == "periodization"
    shift, count = (taps // 2, n // 2) if periodic else (1, (n + taps - 1) // 2)
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(taps, taps)],
                    "wrap" if periodic else case["dwt_mode"])
    at = 2 * np.arange(count)[:, None] + shift + taps - np.arange(taps)
    return [padded[..., at] @ np.array(case[name]) for name in ("dec_lo", "dec_hi")]


def exact_dwt(case, x):
    """The approximation of the last level; of an image, rows and columns both low."""
    for _ in range(case["levels"]):
        x = exact_bands(case, x)[0]
        if case["cols"]:
            x = exact_bands(case, x.T)[0].T
    return x


def difference(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return float("inf")
    return float(np.sqrt(np.mean(np.abs(got - wanted) ** 2) /
                         np.mean(np.abs(wanted) ** 2)))


# ---------------------------------------------------------------- peers


class Way:
    """One function of a peer that does a case. prepare(x) gives what is called, and
    compare(what it returns, x) gives its result and what that should be equal to."""

    def __init__(self, function, prepare, compare, most_items=None):
        self.function, self.prepare, self.compare = function, prepare, compare
        self.most_items = most_items


class Peer:
    """A subclass imports its packages in __init__ and says what they can do in ways()."""
    to_host = staticmethod(np.asarray)
    to_device = staticmethod(np.asarray)

    def release(self):
        """Memory that it keeps for later."""

    def seconds(self, call, count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - start


class Arrays(Peer):
    """scipy's functions, or the same on CuPy's arrays."""
    products = 3e8  # that a call of a direct form shall have at most

    def ways(self, case):
        return getattr(self, case["core"] + "_ways", lambda case: [])(case)

    def fir_ways(self, case):
        h, D = self.to_device(taps_of(case)), case["decimation"]
        one = self.to_device(np.ones(1, np.float32))
        few = int(self.products / case["taps"])
        if D > 1:
            return [Way("upfirdn", lambda x: lambda: self.signal.upfirdn(h, x, 1, D),
                        lambda y, x: (y[:-(-len(x) // D)], exact_fir(case, x)), few * D)]
        ways = [Way("oaconvolve", lambda x: lambda: self.signal.oaconvolve(x, h),
                    lambda y, x: (y[:len(x)], exact_fir(case, x)))]
        if case["taps"] <= DIRECT_TAPS:
            ways.append(Way("lfilter", lambda x: lambda: self.signal.lfilter(h, one, x),
                            lambda y, x: (y, exact_fir(case, x)), few))
        return ways

    def iir_ways(self, case):
        sos = self.to_device(sections_of(case).astype(np.float32))
        return [Way("sosfilt", lambda x: lambda: self.signal.sosfilt(sos, x, axis=0),
                    lambda y, x: (y, exact_iir(case, x)))]


class Scipy(Arrays):
    def __init__(self):
        import scipy
        self.version = scipy.__version__
        self.signal = importlib.import_module("scipy.signal")


class CuPy(Arrays):
    products = 1e11

    def __init__(self, device):
        import cupy
        cupy.cuda.Device(device).use()
        self.version, self.cupy = cupy.__version__, cupy
        self.signal = importlib.import_module("cupyx.scipy.signal")
        self.to_device, self.to_host = cupy.asarray, cupy.asnumpy
        self.release = cupy.get_default_memory_pool().free_all_blocks

    def pfb_ways(self, case):
        """Channels in an order of its own, so timed only."""
        K = case["channels"]
        channelize = getattr(importlib.import_module("cupyx.signal"), "channelize_poly",
                             None)
        if case["decimation"] != K or not channelize:
            return []
        h = self.to_device(taps_of(case))
        return [Way("channelize_poly", lambda x: lambda: channelize(
            x[:len(x) // K * K], h, K), None)]

    def seconds(self, call, count):
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(begin, end) * 1e-3


class PyWavelets(Peer):
    def __init__(self):
        import pywt
        self.version, self.pywt = pywt.__version__, pywt

    def ways(self, case):
        if case["core"] != "dwt" or case["stationary"]:
            return []
        two = "2" * (case["cols"] > 0)
        there = getattr(self.pywt, "wavedec" + two)
        back = getattr(self.pywt, "waverec" + two)
        wavelet, mode, levels = case["wavelet"], case["dwt_mode"], case["levels"]
        if case["inverse"]:
            def prepare(x):
                coefs = there(x, wavelet, mode, levels)
                return lambda: back(coefs, wavelet, mode)
            return [Way("waverec" + two, prepare, lambda y, x: (y, x))]
        return [Way("wavedec" + two, lambda x: lambda: there(x, wavelet, mode, levels),
                    lambda y, x: (y[0], exact_dwt(case, x)))]


class Torch(Peer):
    """Strided convolutions without padding: they leave out the edges."""

    def __init__(self, device):
        import torch
        self.version, self.torch = torch.__version__, torch
        self.place = torch.device("cuda:%d" % device if device >= 0 else "cpu")
        torch.zeros(1, device=self.place)
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.release = torch.cuda.empty_cache

    def to_device(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x)).to(self.place)

    def to_host(self, y):
        return y.cpu().numpy()

    def ways(self, case):
        if (case["core"] != "dwt" or case["inverse"] or
                case["dwt_mode"] != "periodization"):
            return []
        # A convolution layer correlates.
        low, high = (np.float32(case[name][::-1]) for name in ("dec_lo", "dec_hi"))
        if case["cols"]:
            weight = [np.outer(v, h) for v in (low, high) for h in (low, high)]
            name, convolve = "conv2d", self.torch.nn.functional.conv2d
        else:
            weight, name = [low, high], "conv1d"
            convolve = self.torch.nn.functional.conv1d
        weight = self.to_device(np.array(weight))[:, None]

        def levels(x):
            bands, x = [], x[None, None]
            for _ in range(case["levels"]):
                y = convolve(x, weight, stride=2)
                bands.append(y[:, 1:])
                x = y[:, :1]
            return x[0, 0], bands

        def inside(y, x):
            """The first convolution's outputs among those of the whole transform."""
            first = 1 - len(low) // 2  # of the first window
            start = first % 2
            at = (start - first) // 2
            part = x[(slice(start, None),) * x.ndim]
            y = convolve(self.to_device(part)[None, None], weight, stride=2)[0, 0]
            whole = exact_dwt({**case, "levels": 1}, x)
            return y, whole[tuple(slice(at, at + n) for n in y.shape)]

        return [Way(name, lambda x: lambda: levels(x), inside)]

    def seconds(self, call, count):
        if self.place.type == "cpu":
            return super().seconds(call, count)
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3


class GnuRadio:
    """Not of arrays: flowgraphs of its block and of ours take turns."""

    def __init__(self):
        self.flowgraph = importlib.import_module("bench_flowgraph")
        self.flowgraph.quiet()
        self.version = self.flowgraph.gr.version()

    def blocks(self, case, device):
        """(theirs, ours), or None."""
        made = self.flowgraph.CASES[case["core"]](case, [device])
        stock = [b for b in made.blocks if b.on == self.flowgraph.STOCK] if made else []
        return (stock[0], made.blocks[1]) if stock else None

    def seconds_an_item(self, block):
        return 1e-6 / self.flowgraph.measure(block, 0, 0.3)


def peers_of(device, names):
    """The peers at hand and what keeps the others away, both by name."""
    makers = {"gnuradio": GnuRadio, "scipy": Scipy, "pywt": PyWavelets,
              "cupy": lambda: CuPy(device), "torch": lambda: Torch(device)}
    found, missing = {}, {}
    for name in names or PEERS:
        if name != "gnuradio" and (name in ("cupy", "torch")) != (device >= 0):
            missing[name] = "set beside %s only" % ("the CPU" if device >= 0 else "a GPU")
            continue
        try:
            found[name] = makers[name]()
        except ImportError as error:
            missing[name] = "not installed: %s" % error
        except Exception as error:  # whatever a driver may raise
            missing[name] = "not usable: %s: %s" % (type(error).__name__, error)
    return found, missing


# ---------------------------------------------------------------- measuring


def check(peer, way, case):
    """Relative rms difference from the case's formula, on few items; None: no formula."""
    small, items = dict(case), CHECK_ITEMS
    if case.get("cols"):
        small.update(rows=64, cols=96)
        items = 64 * 96
    x = input_of(small, items)
    if not way.compare:
        return None
    got, wanted = way.compare(way.prepare(peer.to_device(x))(), x)
    return difference(peer.to_host(got), wanted)


def seconds_of(peer, way, x):
    """Of a call, the median of samples; the first, which may plan, counts in long
    ones."""
    call = way.prepare(x)
    for _ in range(2):
        once = peer.seconds(call, 1)
        if once > LONG_SECONDS:
            return once
    count = max(1, int(SAMPLE_SECONDS / max(once, 1e-9)))
    return statistics.median(peer.seconds(call, count) / count for _ in range(SAMPLES))


class Row:
    """A peer's way beside ours: seconds an item of both, a pair a round."""

    def __init__(self, case, name, peer, function, items, bar):
        self.case, self.name, self.peer, self.bar = case, name, peer, bar
        self.function, self.items = function, items
        self.theirs, self.ours, self.difference, self.failure = [], [], None, None

    def measure(self, times):
        """Appends what `times()` gives, (theirs, ours)."""
        try:
            theirs, ours = times()
        except Exception as error:  # whatever a peer may raise
            self.failure = "%s: %s" % (type(error).__name__,
                                       str(error).strip().split("\n")[0])
            return
        self.theirs.append(theirs)
        self.ours.append(ours)

    def result(self):
        theirs, spread = common.median_and_spread(self.theirs)
        ours, our_spread = common.median_and_spread(self.ours)
        return {"case": self.case["case"], "mode": "peer", "items": self.items,
                "items_per_second": 1 / theirs, "seconds": theirs * self.items,
                "spread": spread, "core": self.case["core"], "peer": self.name,
                "version": self.peer.version, "function": self.function,
                "difference": self.difference, "ours": 1 / ours,
                "ours_spread": our_spread, "ratio": theirs / ours,
                "bar": self.bar or 0}


def can_do(case, peers, device):
    return any(peer.blocks(case, device) if name == "gnuradio" else peer.ways(case)
               for name, peer in peers.items())


def rows_of_arrays(case, name, peer, items):
    """(row, what measures it with our seconds an item)."""
    for way in peer.ways(case):
        n = min(items, way.most_items or items)
        row = Row(case, name, peer, way.function, n, bar_of(name, case))
        try:
            row.difference = check(peer, way, case)
        except Exception as error:  # whatever a peer may raise
            row.failure = "%s: %s" % (type(error).__name__, error)
        if row.difference is not None and not row.difference <= MOST_DIFFERENCE:
            row.failure = "computes something else, off by %.1e" % row.difference

        def times(ours, way=way, n=n):
            x = peer.to_device(input_of(case, n))
            theirs = seconds_of(peer, way, x) / n
            del x
            peer.release()
            return theirs, ours
        yield row, times


def rows_of_blocks(case, name, peer, device):
    blocks = peer.blocks(case, device)
    if blocks:
        yield (Row(case, name, peer, blocks[0].name, 0, None),
               lambda ours: tuple(map(peer.seconds_an_item, blocks)))


def our_result(args, case, device):
    """cufilter-bench's, or None where it cannot measure the case."""
    options = ["--device", "cpu" if device < 0 else str(device), "--case", case["case"],
               "--mode", "device"]
    items = args.items or (GPU_ITEMS if device >= 0 else 0)
    found = common.bench_json(common.bench_program(args.bench), *options,
                              *(["--items", str(items)] if items else []))
    return next(iter(found["results"]), None)


def measure_case(case, rows, ours):
    for row, times in rows:
        if not row.failure:
            row.measure(lambda times=times: times(ours["seconds"] / ours["items"]))


def measure_all(args, cases, peers, device):
    """(rows of peers, ours by case's name): rounds in which all take turns."""
    rows, ours = {}, {}
    cases = [case for case in cases if can_do(case, peers, device)]
    for i in range(args.runs):
        for k, case in enumerate(cases):
            name = case["case"]
            common.progress(i * len(cases) + k, args.runs * len(cases), name)
            result = our_result(args, case, device)
            if not result:
                continue
            ours.setdefault(name, []).append(result)
            if name not in rows:
                rows[name] = [pair for p, peer in peers.items() for pair in (
                    rows_of_blocks(case, p, peer, device) if p == "gnuradio" else
                    rows_of_arrays(case, p, peer, result["items"]))]
            measure_case(case, rows[name], result)
    common.progress(1, 1, "")
    return [row for pairs in rows.values() for row, _ in pairs], ours


def median_result(results):
    """Of the rounds' results of one case."""
    seconds, spread = common.median_and_spread([r["seconds"] for r in results])
    return {**results[0], "seconds": seconds, "spread": spread,
            "items_per_second": results[0]["items"] / seconds}


# ---------------------------------------------------------------- reporting


def report(rows, peers, missing):
    for name, peer in peers.items():
        print("%s %s" % (name, peer.version))
    for name, why in missing.items():
        print("%s: %s" % (name, why))
    results = [row.result() for row in rows if row.theirs]
    if results:
        common.print_table(
            ("case", "peer", "function", "items", "MS/s", "spread", "ours", "spread",
             "ratio", "bar", "difference"),
            [(r["case"], r["peer"], r["function"], str(r["items"] or ""),
              "%.1f" % (r["items_per_second"] * 1e-6), "%.0f%%" % (100 * r["spread"]),
              "%.1f" % (r["ours"] * 1e-6), "%.0f%%" % (100 * r["ours_spread"]),
              "%.2f" % r["ratio"],
              "%g%s" % (r["bar"], " !" * (r["ratio"] < r["bar"])) if r["bar"] else "",
              "" if r["difference"] is None else "%.1e" % r["difference"])
             for r in results], left=3)
    else:
        print("none of them has what these cases do")
    failed = [row for row in rows if row.failure]
    for row in failed:
        print("%s, %s %s FAILED: %s" % (row.case["case"], row.name, row.function,
                                        row.failure))
    return results, bool(failed)


def device_of(args):
    """-1: the CPU."""
    if args.device == "cpu" or args.device.isdigit():
        return -1 if args.device == "cpu" else int(args.device)
    if args.device != "auto":
        sys.exit("--device must be auto, cpu or a GPU's index, not %s" % args.device)
    found = common.bench_json(common.bench_program(args.bench), "--case", "iir 2",
                              "--mode", "latency", "--items", "1024")
    return -1 if found["device"] == "CPU" else 0


def main():
    parser = common.parser_of(__doc__)
    parser.add_argument("--device", default="auto", help="auto, cpu or a GPU's index")
    parser.add_argument("--peer", action="append", choices=PEERS,
                        help="may be repeated; default: all")
    parser.add_argument("--items", type=int, help="input items of a call (default: "
                        "cufilter-bench's own on the CPU, 2^26 on a GPU)")
    args = parser.parse_args()
    cases = common.cases_of(args)
    if not cases:
        parser.error("no such case")
    device = device_of(args)
    peers, missing = peers_of(device, args.peer)
    rows, ours = measure_all(args, cases, peers, device)
    results, failed = report(rows, peers, missing)
    if args.json:
        common.write_json(
            args.json, [median_result(r) for r in ours.values()] + results,
            device="CPU" if device < 0 else "GPU %d" % device, copy_bytes_per_second=0,
            peers={name: peer.version for name, peer in peers.items()}, missing=missing)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
