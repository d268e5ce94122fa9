#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of wavelet blocks in a flowgraph: null_source -> head -> X -> null_sinks.

X is wavelet_ff, gr-wavelet's and cufilter's, and blocks that gr-wavelet does not have, on
the CPU and on each GPU named. The runs of all X take turns; each line gives the median
rate in million samples a second.
"""

import statistics

from gnuradio import blocks, cufilter, gr
from flowgraph_rate import TimedCase, measure_all, parser_of, size_buffers, where

try:
    from gnuradio import wavelet as stock
except ImportError:
    stock = None


class Case(TimedCase):
    def __init__(self, name, make, batch_items):
        super().__init__(1000000)
        self.name, self.make, self.batch_items = name, make, batch_items

    def run(self, n_samples):
        block = self.make()
        size = block.input_signature().sizeof_stream_item(0)
        n = max(n_samples * 4 // size, 1)
        tb, source, head = gr.top_block(), blocks.null_source(size), blocks.head(size, n)
        size_buffers(self.batch_items, source, head)
        tb.connect(source, head, block)
        ports = getattr(block, "levels", int)() + 1 if "dwt_stream" in self.name else 1
        for port in range(ports):
            out = block.output_signature().sizeof_stream_item(port)
            tb.connect((block, port), blocks.null_sink(out))
        return self.rate_of(tb, n * size / 4)


def cases(devices, batch):
    """Batches of about so many samples."""
    for size, order in ((64, 4), (1024, 4), (1024, 20), (16384, 20)):
        name = "wavelet_ff(%d, %d)" % (size, order)
        if stock:
            yield Case("stock " + name, lambda s=size, o=order: stock.wavelet_ff(s, o), 0)
        for device in devices:
            yield Case(name + " " + where(device), lambda s=size, o=order, d=device:
                       cufilter.wavelet_ff(s, o, device=d, batch_items=batch // s),
                       batch // size)
    for device in devices:
        for wavelet, levels in (("db4", 5), ("db20", 5)):
            keywords = {"device": device, "batch_items": batch // 4096}
            yield Case("dwt_ff(4096, %s, %d levels) " % (wavelet, levels) + where(device),
                       lambda w=wavelet, l=levels, k=keywords:
                       cufilter.dwt_ff(4096, w, "symmetric", l, **k), batch // 4096)
        yield Case("dwt2_ff(512, 512, bior3.3, 3) " + where(device), lambda d=device:
                   cufilter.dwt2_ff(512, 512, "bior3.3", "symmetric", 3, device=d), 0)
        yield Case("wavelet_denoise_ff(4096) " + where(device), lambda d=device:
                   cufilter.wavelet_denoise_ff(4096, threshold=1, device=d,
                                               batch_items=batch // 4096), batch // 4096)
        for wavelet, levels in (("haar", 3), ("db4", 3), ("db4", 8), ("db20", 3)):
            name = "dwt_stream_ff(%s, %d)" % (wavelet, levels)
            yield Case(name + " " + where(device), lambda w=wavelet, l=levels, d=device:
                       cufilter.dwt_stream_ff(w, l, d, batch), batch)


def main():
    parser = parser_of(__doc__)
    parser.set_defaults(batch_items=1 << 18)
    args = parser.parse_args()
    all_cases = measure_all(cases(args.devices, args.batch_items), args)
    print("%-36s %12s %15s" % ("block", "Msamples/s", "least .. most"))
    for case in all_cases:
        least, most = min(case.rates), max(case.rates)
        print("%-36s %12.1f %15s" % (case.name, statistics.median(case.rates),
                                     "%.0f .. %.0f" % (least, most)))


if __name__ == "__main__":
    main()
