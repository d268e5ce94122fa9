# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes while the flowgraph runs: set_taps() from any thread, the message port."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from gnuradio.filter import firdes
from cufilter_qa import (Feeder, TestCase, convolve, main, random_items, random_taps,
                         run, wait_until)


class Endless(gr.sync_block):
    """Repeats x until told to end, then goes on for `more` items."""

    def __init__(self, x, more):
        gr.sync_block.__init__(self, "endless", None, [x.dtype])
        self.x, self.more, self.sent, self.ending = x, more, 0, False

    def work(self, input_items, output_items):
        out = output_items[0]
        start = self.sent % len(self.x)
        n = min(len(out), len(self.x) - start, self.more)
        if n == 0:
            return -1
        out[:n] = self.x[start:start + n]
        self.sent += n
        if self.ending:
            self.more -= n
        return n


class Tail(gr.sync_block):
    """Counts items and keeps the last ones."""

    def __init__(self, dtype, n):
        gr.sync_block.__init__(self, "tail", [dtype], None)
        self.n, self.count, self.parts, self.kept = n, 0, [], 0

    def work(self, input_items, output_items):
        self.parts.append(input_items[0].copy())
        self.count += len(input_items[0])
        self.kept += len(input_items[0])
        while self.kept - len(self.parts[0]) >= self.n:
            self.kept -= len(self.parts.pop(0))
        return len(input_items[0])

    def last(self):
        return np.concatenate(self.parts)[-self.n:]


def post(block, message):
    block.to_basic_block()._post(pmt.intern("cmd"), message)


class Live(TestCase):
    def test_growing_past_the_buffer(self):
        """C02: 1 to 23127 taps live; the stock block stops after 3.2 of 20 million."""
        taps = firdes.complex_band_pass(1, 96e3, 300, 400, 10)
        self.assertEqual(len(taps), 23127)
        for make in (cufilter.fir_filter_ccc, cufilter.fft_filter_ccc):
            n = 20000000
            block = make(1, [1])
            tb = gr.top_block()
            tb.connect(blocks.null_source(8), blocks.head(8, n), block,
                       blocks.null_sink(8))
            tb.start()
            block.set_taps(taps)
            tb.wait()
            self.assertEqual(block.nitems_written(0), n)

            x = random_items(self.rng, "c", 200003)
            block = make(1, [1])
            sink = blocks.vector_sink_c()
            tb = gr.top_block()
            feeder = Feeder(x, 60000, lambda: block.set_taps(taps))
            tb.connect(feeder, block, sink)
            tb.run()
            y = np.array(sink.data(), np.complex64)
            self.assert_switches(y, convolve(x, [1]), convolve(x, taps))

    def change(self, make, x, old, new):
        block = make(1, old)
        sink = blocks.vector_sink_f()
        tb = gr.top_block()
        feeder = Feeder(x, len(x) // 2, lambda: block.set_taps(new))
        tb.connect(feeder, block, sink)
        tb.run()
        y = np.array(sink.data(), np.float32)
        self.assertEqual(len(y), len(x))
        self.assertTrue(np.all(np.isfinite(y)))
        return y

    def test_average_of_ones(self):
        """C06: averages of ones stay 1; the stock fft_filter drops to 1/301."""
        for make in (cufilter.fft_filter_fff, cufilter.fir_filter_fff):
            for n_old, n_new in ((101, 301), (301, 101)):
                x = np.ones(300000, np.float32)
                y = self.change(make, x, np.full(n_old, 1 / n_old, np.float32),
                                np.full(n_new, 1 / n_new, np.float32))
                self.assertLessEqual(np.max(np.abs(y[301:] - 1)), 2e-6)

    def test_lag_of_a_ramp(self):
        """C06: 301 averaging taps lag by 150 from the change on, 101 by 50, no slip."""
        for make in (cufilter.fft_filter_fff, cufilter.fir_filter_fff):
            for n_old, n_new in ((101, 301), (301, 101)):
                n = 100000
                x = np.arange(n, dtype=np.float32)
                y = self.change(make, x, np.full(n_old, 1 / n_old, np.float32),
                                np.full(n_new, 1 / n_new, np.float32))
                lag = x - y
                self.assertLessEqual(abs(np.mean(lag[1000:2000]) - n_old // 2), 0.01)
                self.assertLessEqual(abs(np.mean(lag[-2000:]) - n_new // 2), 0.1)

    def test_taps_toggled_all_the_time(self):
        """C25, S7: 5 and 5001 taps in turn every millisecond."""
        x = random_items(self.rng, "f", 50021)
        small = random_taps(self.rng, "f", 5)
        large = random_taps(self.rng, "f", 5001)
        last = random_taps(self.rng, "f", 777)
        for make in (cufilter.fft_filter_fff, cufilter.fir_filter_fff):
            block = make(1, small)
            source, sink = Endless(x, 200000), Tail(np.float32, 50000)
            stop = threading.Event()
            failures = []

            def toggle():
                try:
                    while not stop.is_set():
                        block.set_taps(large)
                        time.sleep(0.001)
                        block.set_taps(small)
                        time.sleep(0.001)
                except Exception as error:
                    failures.append(error)

            tb = gr.top_block()
            tb.connect(source, block, sink)
            thread = threading.Thread(target=toggle)
            tb.start()
            thread.start()
            time.sleep(2)
            stop.set()
            thread.join()
            block.set_taps(last)
            source.ending = True
            tb.wait()
            self.assertEqual(failures, [])
            self.assertEqual(sink.count, source.sent)
            first = source.sent - sink.n - len(last) + 1
            window = x[np.arange(first, source.sent) % len(x)]
            self.assert_close(sink.last(), convolve(window, last)[len(last) - 1:])

    def test_threads_changed(self):
        """set_nthreads() while items flow shows in no item."""
        x = random_items(self.rng, "c", 300007)
        taps = random_taps(self.rng, "c", 5001)
        block = cufilter.fft_filter_ccc(1, taps)
        feeder = Feeder(x, 150000, lambda: block.set_nthreads(2))
        sink = blocks.vector_sink_c()
        tb = gr.top_block()
        tb.connect(feeder, block, sink)
        tb.run()
        self.assertEqual(block.nthreads(), 2)
        self.assert_close(np.array(sink.data(), np.complex64), convolve(x, taps))

    def test_several_threads_set_taps(self):
        block = cufilter.fft_filter_ccc(1, [1])
        sets = [random_taps(self.rng, "c", n) for n in (1, 10, 100, 1000)]

        def setter(taps):
            for _ in range(50):
                block.set_taps(taps)

        threads = [threading.Thread(target=setter, args=(taps,)) for taps in sets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x = random_items(self.rng, "c", 10000)
        self.assert_close(run(block, x, "cc"), convolve(x, block.taps()))
        self.assertIn(len(block.taps()), (1, 10, 100, 1000))


class MessagePort(TestCase):
    def after(self, make, messages, kind="ccc"):
        """The taps that are in use once the messages have been read."""
        block = make(1, [1])
        for message in messages:
            post(block, message)
        x = random_items(self.rng, kind[0], 1000)
        y = run(block, x, kind)
        self.assert_close(y, convolve(x, block.taps()))
        return block.taps()

    def test_dictionary(self):
        complex_taps = pmt.init_c32vector(2, [1, 2j])
        real_taps = pmt.init_f32vector(2, [1, 2])
        key = pmt.intern("taps")
        for make, vector, taps in (
                (cufilter.fft_filter_ccc, complex_taps, [1, 2j]),
                (cufilter.fft_filter_ccc, real_taps, [1, 2]),
                (cufilter.fir_filter_ccc, complex_taps, [1, 2j]),
                (cufilter.fft_filter_ccf, real_taps, [1, 2]),
                (cufilter.fir_filter_ccf, real_taps, [1, 2]),
                (cufilter.fir_filter_ccf, pmt.init_f64vector(2, [1, 2]), [1, 2]),
                (cufilter.fir_filter_ccc, pmt.init_c64vector(2, [1, 2j]), [1, 2j])):
            dictionary = pmt.dict_add(pmt.make_dict(), key, vector)
            dictionary = pmt.dict_add(dictionary, pmt.intern("other"), pmt.PMT_T)
            self.assertEqual(self.after(make, [dictionary]), taps)
            self.assertEqual(self.after(make, [pmt.cons(key, vector)]), taps)

    def test_bad_messages_change_nothing(self):
        key = pmt.intern("taps")
        bad = [pmt.PMT_NIL, pmt.PMT_T, pmt.intern("taps"), pmt.from_double(1),
               pmt.make_dict(), pmt.init_f32vector(2, [1, 2]),
               pmt.dict_add(pmt.make_dict(), pmt.intern("tap"),
                            pmt.init_f32vector(1, [1])),
               pmt.dict_add(pmt.make_dict(), key, pmt.from_double(2)),
               pmt.cons(key, pmt.intern("x")), pmt.cons(key, pmt.PMT_NIL),
               pmt.cons(key, pmt.init_f32vector(0, [])),
               pmt.cons(key, pmt.init_f32vector(1, [float("nan")])),
               pmt.cons(pmt.from_long(1), pmt.from_long(2))]
        self.assertEqual(self.after(cufilter.fft_filter_ccf, bad), [1])
        good = pmt.cons(key, pmt.init_f32vector(1, [3]))
        self.assertEqual(self.after(cufilter.fft_filter_ccf, bad + [good] + bad), [3])
        complex_taps = pmt.cons(key, pmt.init_c32vector(1, [1j]))
        self.assertEqual(self.after(cufilter.fft_filter_ccf, [complex_taps]), [1])

    def test_from_a_message_source(self):
        """Connected as in a flowgraph, while it runs."""
        block = cufilter.fft_filter_ccc(1, [1])
        taps = random_taps(self.rng, "c", 300)
        message = pmt.cons(pmt.intern("taps"), pmt.init_c32vector(len(taps),
                                                                  taps.tolist()))
        strobe = blocks.message_strobe(message, 20)
        x = random_items(self.rng, "c", 50021)
        source, sink = Endless(x, 100000), Tail(np.complex64, 20000)
        tb = gr.top_block()
        tb.connect(source, block, sink)
        tb.msg_connect(strobe, "strobe", block, "cmd")
        tb.start()
        wait_until(lambda: len(block.taps()) == 300)
        source.ending = True
        wait_until(lambda: source.more == 0 and sink.count == source.sent)
        tb.stop()
        tb.wait()
        first = source.sent - sink.n - len(taps) + 1
        window = x[np.arange(first, source.sent) % len(x)]
        self.assert_close(sink.last(), convolve(window, taps)[len(taps) - 1:])


if __name__ == "__main__":
    main()
