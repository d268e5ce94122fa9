#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of blocks in a flowgraph, beside GNU Radio's own and beside a plain copy.

usage: cufilter-bench-flowgraph [--core CORE] [--only TEXT] [--json FILE] ...

The cases are cufilter-bench's, where there are blocks for them, and some that only blocks
have. Each runs as nop -> X -> null_sink: neither end touches memory. Rates are of a
window within the run, between two moves of the sink's counter, so starting does not
count. All X take turns, with default buffers and with buffers of --batch-items.
"""

import sys
import time

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock

import bench_common as common

try:
    from gnuradio import wavelet as stock_wavelet
except ImportError:  # GNU Radio without gr-wavelet
    stock_wavelet = None

STOCK, COPY = "GNU Radio", "copy"
MOST_STOCK_CHANNELS = 128  # its channelizer has a port each way for every channel
MOST_VECTOR_BYTES = 1 << 23  # of an item; buffers hold several
START_SECONDS = 60.0
VECTOR = 4096  # samples of the vectors that a long signal's transform is cut into


class Block:
    """One way to do a case: `make(batch)` with buffers of `batch` items, 0: default.
    `per` samples in give an item out of the first port; None: as the case says."""

    def __init__(self, name, on, make, per=None):
        self.name, self.on, self.make, self.per = name, on, make, per
        self.rates, self.reason = {}, None

    def rate(self, batch):
        return common.median_and_spread(self.rates[batch])[0]


class Case:
    """Items of `item` bytes, `samples` samples each."""

    def __init__(self, name, core, item, own, stocks=(), samples=1, per=1):
        self.name, self.core, self.item = name, core, item
        self.samples = samples
        self.blocks = list(stocks) + list(own)
        for block in self.blocks:
            block.samples, block.per = samples, block.per or per

    def stock(self):
        """GNU Radio's block, where it has one that has run."""
        return next((b for b in self.blocks if b.on == STOCK and b.rates), None)


def where(device):
    return "CPU" if device < 0 else "GPU %d" % device


def quiet():
    """No line for every buffer that is sized."""
    gr.logging().set_default_level(gr.log_levels.warn)


# ---------------------------------------------------------------- the clock


def next_move(sink, deadline):
    """(time, items) when the sink's counter moves."""
    before = sink.nitems_read(0)
    while sink.nitems_read(0) == before:
        if time.perf_counter() > deadline:
            raise RuntimeError("nothing moves within %.0f s" % START_SECONDS)
        time.sleep(1e-4)
    return time.perf_counter(), sink.nitems_read(0)


def measure(way, batch, seconds):
    """Million samples a second, with buffers of `batch`; 0: default ones."""
    block = way.make(batch // way.samples)
    source = blocks.nop(block.input_signature().sizeof_stream_item(0))
    size_buffers(way, source, block, 2 * batch // way.samples)
    outputs = block.output_signature()
    tb = gr.top_block()
    tb.connect(source, block)
    sinks = []
    for port in range(max(outputs.min_streams(), ports_of(block))):
        sinks.append(blocks.null_sink(outputs.sizeof_stream_item(port)))
        tb.connect((block, port), sinks[-1])
    tb.start()
    try:
        deadline = time.perf_counter() + START_SECONDS + seconds
        # All of the buffers has been touched.
        while sinks[0].nitems_read(0) * way.per < 6 * batch:
            next_move(sinks[0], deadline)
        time.sleep(0.2 * seconds)
        start, first = next_move(sinks[0], deadline)
        time.sleep(seconds)
        end, last = next_move(sinks[0], deadline)
    finally:
        tb.stop()
        tb.wait()
    return (last - first) * way.per / (end - start) / 1e6


def size_buffers(way, source, block, items):
    """cufilter's own size theirs by batch_items; a hierarchy would size each of many."""
    if items:
        source.set_min_output_buffer(items)
        if way.on in (STOCK, COPY) and not isinstance(block, gr.hier_block2):
            block.set_min_output_buffer(items)


def ports_of(block):
    return block.levels() + 1 if isinstance(block, STREAMS) else 1


STREAMS = (cufilter.dwt_stream_ff, cufilter.dwt_stream_cc)


# ---------------------------------------------------------------- blocks of cases


def random_taps(n, is_complex):
    rng = np.random.default_rng(n)
    taps = rng.standard_normal(n) / n
    return (taps + 1j * rng.standard_normal(n) / n if is_complex else taps).tolist()


def ours(block, devices, *arguments, **keywords):
    """A block of that name for each device."""
    return [Block(block, where(device), lambda batch, device=device:
                  getattr(cufilter, block)(*arguments, device=device, batch_items=batch,
                                           **keywords))
            for device in devices]


def theirs(block, *arguments, module=stock):
    return [Block(block, STOCK, lambda batch: getattr(module, block)(*arguments))]


def fir_case(case, devices):
    kind = "%s%s" % (2 * "c" if case["complex_data"] else 2 * "f",
                     "c" if case["complex_taps"] else "f")
    block = ("fft_filter_" if case["decimation"] == 1 else "fir_filter_") + kind
    arguments = case["decimation"], random_taps(case["taps"], case["complex_taps"])
    return Case(case["case"], "fir", 8 if case["complex_data"] else 4,
                ours(block, devices, *arguments), theirs(block, *arguments),
                per=case["decimation"])


def stock_channelizer(K, R, n_taps):
    """With 128 channels, as many taps a branch and the same oversampling instead of
    more."""
    most = min(K, MOST_STOCK_CHANNELS)
    taps = random_taps(n_taps * most // K, False)
    return [Block("pfb.channelizer_ccf" + " of %d" % most * (most < K), STOCK,
                  lambda batch: stock.pfb.channelizer_ccf(most, taps, K / R),
                  R * most // K)]


def pfb_case(case, devices):
    K, R = case["channels"], case["decimation"]
    taps = random_taps(case["taps"], False)
    if case["channel_major"]:
        own = [Block("pfb.channelizer_ccf", where(device), lambda batch, device=device:
                     cufilter.pfb.channelizer_ccf(K, taps, K / R, device=device,
                                                  batch_items=batch))
               for device in devices]
    else:
        own = ours("pfb_channelizer_vcc", devices, K, taps, K / R)
    return Case(case["case"], "pfb", 8, own, stock_channelizer(K, R, len(taps)), per=R)


def direct_form(sos):
    b, a = np.ones(1), np.ones(1)
    for row in np.reshape(sos, (-1, 6)):
        b, a = np.convolve(b, row[:3]), np.convolve(a, row[3:])
    return b.tolist(), a.tolist()


def iir_case(case, devices):
    item = "c" if case["complex_data"] else "f"
    rows = np.reshape(case["sos"], (-1, 6)).tolist()
    vlen, size = case["channels"], 8 if case["complex_data"] else 4
    own = ours("sos_filter_" + 2 * item, devices, rows, vlen)
    if vlen > 1:
        return Case(case["case"], "iir", size * vlen, own, samples=vlen, per=vlen)
    block = "iir_filter_" + {"f": "ffd", "c": "ccd"}[item]
    arguments = *direct_form(rows), False
    return Case(case["case"], "iir", size,
                ours(block, devices, *arguments) + own, theirs(block, *arguments))


def dwt_case(case, devices):
    """None where an item would be too large for a flowgraph, or there is no block."""
    if case["stationary"]:
        return None
    rows, cols = (case["rows"], case["cols"]) if case["cols"] else (1, VECTOR)
    if 4 * rows * cols > MOST_VECTOR_BYTES:
        return None
    block = "%sdwt%s_ff" % ("i" * case["inverse"], "2" if case["cols"] else "")
    size = (rows, cols) if case["cols"] else (cols,)
    return Case(case["case"], "dwt", 4 * rows * cols,
                ours(block, devices, *size, case["wavelet"], case["dwt_mode"],
                     case["levels"]), samples=rows * cols, per=rows * cols)


def own_cases(devices):
    """Blocks for which the table has no case."""
    for kind, size in (("ff", 4), ("cc", 8)):
        block = "single_pole_iir_filter_" + kind
        yield Case("single pole " + kind, "iir", size, ours(block, devices, 0.01),
                   theirs(block, 0.01))
    yield Case("pfb 1024 /512, 16 of them", "pfb", 8,
               ours("pfb_channelizer_vcc", devices, 1024, random_taps(12288, False), 2.0,
                    list(range(100, 116))), stock_channelizer(1024, 512, 12288),
               per=512)
    for size, order in ((64, 4), (1024, 4), (1024, 20), (16384, 20)):
        yield Case("wavelet_ff %d, order %d" % (size, order), "dwt", 4 * size,
                   ours("wavelet_ff", devices, size, order),
                   theirs("wavelet_ff", size, order, True, module=stock_wavelet)
                   if stock_wavelet else [], samples=size, per=size)
    yield Case("wavelet_denoise_ff", "dwt", 4 * VECTOR,
               ours("wavelet_denoise_ff", devices, VECTOR, threshold=1.0),
               samples=VECTOR, per=VECTOR)
    for wavelet, levels in (("haar", 3), ("db4", 3), ("db4", 8), ("db20", 3)):
        yield Case("dwt_stream_ff %s L%d" % (wavelet, levels), "dwt", 4,
                   ours("dwt_stream_ff", devices, wavelet, levels), per=1 << levels)


CASES = {"fir": fir_case, "pfb": pfb_case, "iir": iir_case, "dwt": dwt_case}


def flowgraph_cases(table, devices):
    """The table's cases that blocks can run; prints which cannot."""
    for case in table:
        made = CASES[case["core"]](case, devices)
        if made:
            yield made
        else:
            print("%-22s not run: an item of %d MiB" % (
                case["case"], 4 * case["rows"] * case["cols"] >> 20))


# ---------------------------------------------------------------- rounds and reports


def copies_beside(cases):
    """A copy of the same items beside each case's blocks, one for all of a size."""
    copies = {}
    for case in cases:
        if case.item not in copies:
            copy = Block("copy", COPY, lambda batch, item=case.item: blocks.copy(item),
                         case.samples)
            copy.samples = case.samples
            copies[case.item] = copy
        case.copy = copies[case.item]
    return copies


def run_round(todo, seconds, seen):
    for i, (block, batch) in enumerate(todo):
        common.progress(i, len(todo), "%s, %s %s" % (seen, block.name, block.on))
        if block.reason:
            continue
        try:
            rate = measure(block, batch, seconds)
        except (RuntimeError, ValueError, MemoryError) as error:
            block.reason = str(error).strip().split("\n")[0]
            continue
        block.rates.setdefault(batch, []).append(rate)
    common.progress(len(todo), len(todo), "")


def result_of(block, batch, case_name, core):
    rate, spread = common.median_and_spread(block.rates[batch])
    return {"case": case_name, "mode": "flowgraph", "items": batch,
            "items_per_second": rate * 1e6, "spread": spread, "core": core,
            "block": block.name, "on": block.on}


def results_of(cases, copies, batches):
    """A dict for each block, buffers and case."""
    for item, copy in copies.items():
        for batch in batches:
            yield result_of(copy, batch, "copy, %d bytes an item" % item, None)
    for case in cases:
        beside = case.stock()
        for block in case.blocks:
            for batch in batches if block.rates else ():
                result = result_of(block, batch, case.name, case.core)
                result["of_copy"] = block.rate(batch) / case.copy.rate(batch)
                if block.on == STOCK:
                    result.update(peer=STOCK, version=gr.version(), function=block.name)
                elif beside:
                    result["of_stock"] = block.rate(batch) / beside.rate(batch)
                yield result


def report(cases, results):
    def number(form, value):
        return "" if value is None else form % value
    common.print_table(
        ("case", "block", "on", "buffers", "MS/s", "spread", "of copy", "of stock"),
        [(r["case"], r["block"], r["on"], str(r["items"] or "default"),
          "%.1f" % (r["items_per_second"] * 1e-6), "%.0f%%" % (100 * r["spread"]),
          number("%.2f", r.get("of_copy")), number("%.2f", r.get("of_stock")))
         for r in results], left=3)
    for case in cases:
        for block in case.blocks:
            if block.reason:
                print("%s, %s %s: %s" % (case.name, block.name, block.on, block.reason))
    if not stock_wavelet:
        print("gr-wavelet is not installed")


def main():
    parser = common.parser_of(__doc__)
    parser.add_argument("--batch-items", type=int, default=1 << 20,
                        help="samples of the larger buffers; 0: default buffers only")
    parser.add_argument("--devices", type=int, nargs="+",
                        default=[-1] + [0] * (cufilter.device_count() > 0),
                        help="-1: CPU (default: the CPU and GPU 0 where there is one)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one run")
    args = parser.parse_args()
    quiet()
    try:
        devices = {where(d): cufilter.device_info(d)["name"] if d >= 0 else "CPU"
                   for d in args.devices}
    except RuntimeError as error:
        sys.exit(str(error))
    for place, name in devices.items():
        print("%s: %s" % (place, name))
    cases = list(flowgraph_cases(common.cases_of(args), args.devices)) + [
        case for case in own_cases(args.devices)
        if common.wanted(args, case.core, case.name)]
    if not cases:
        parser.error("no such case")
    copies = copies_beside(cases)
    batches = [0] + [args.batch_items] * (args.batch_items > 0)
    todo = [(block, batch) for batch in batches for block in
            [*copies.values()] + [block for case in cases for block in case.blocks]]
    for i in range(args.runs):
        run_round(todo, args.seconds, "round %d of %d" % (i + 1, args.runs))
    results = list(results_of(cases, copies, batches))
    report(cases, results)
    if args.json:
        common.write_json(args.json, results, device=", ".join(devices.values()),
                          copy_bytes_per_second=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
