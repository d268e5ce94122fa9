# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs that are restarted, rewired, shared and batched."""

import gc
import threading

import numpy as np
from gnuradio import blocks, cufilter, gr
from cufilter_qa import (Feeder, TestCase, convolve, main, random_items, random_taps,
                         run, run_rewired, wait_until)


class Restart(TestCase):
    def test_run_again(self):
        """The stream goes on where it stopped: the second run's first outputs still see
        the first run's items."""
        for batch_items in (0, 50000):
            x = random_items(self.rng, "c", 20000)
            taps = random_taps(self.rng, "c", 301)
            block = cufilter.fft_filter_ccc(2, taps, batch_items=batch_items)
            source, sink = blocks.vector_source_c(x.tolist()), blocks.vector_sink_c()
            tb = gr.top_block()
            tb.connect(source, block, sink)
            for turn in range(4):
                with self.subTest(batch_items=batch_items, turn=turn):
                    sink.reset()
                    source.rewind()
                    tb.run()
                    expected = convolve(np.tile(x, turn + 1), taps, 2)[-len(x) // 2:]
                    self.assert_close(np.array(sink.data(), np.complex64), expected)

    def test_outside_of_a_flowgraph(self):
        """start() and stop() by hand, as stock's blocks allow it."""
        taps = [1] * 16
        for block in (cufilter.fft_filter_ccc(1, taps),
                      cufilter.freq_xlating_fir_filter_ccf(1, taps, 0, 1),
                      cufilter.pfb_channelizer_ccf(4, taps, 1.0),
                      cufilter.pfb_channelizer_vcc(4, taps),
                      cufilter.pfb_synthesizer_ccf(4, taps),
                      cufilter.iir_filter_ffd([1], [1, -0.5]),
                      cufilter.dwt_stream_ff("db4", 2),
                      cufilter.wavelet_threshold_ff(0.5)):
            for _ in range(2):
                self.assertTrue(block.start())
                self.assertTrue(block.stop())

    def test_stopped_in_the_middle(self):
        block = cufilter.fft_filter_ccc(1, [1] * 500)
        tb = gr.top_block()
        tb.connect(blocks.null_source(8), block, blocks.null_sink(8))
        for _ in range(5):
            tb.start()
            wait_until(lambda: block.nitems_written(0) > 0)
            tb.stop()
            tb.wait()

    def test_one_block_in_two_graphs(self):
        """In another flowgraph it sits on other buffers."""
        taps = random_taps(self.rng, "c", 77)
        block = cufilter.fft_filter_ccc(1, taps)
        x = random_items(self.rng, "c", 9001)
        first = run(block, x, "cc")
        self.assert_close(first, convolve(x, taps))
        second = run(block, x, "cc")
        self.assert_close(second, convolve(np.tile(x, 2), taps)[len(x):])

    def test_many_graphs_come_and_go(self):
        x = random_items(self.rng, "c", 1000)
        taps = random_taps(self.rng, "c", 100)
        expected = convolve(x, taps)
        for _ in range(50):
            self.assert_close(run(cufilter.fft_filter_ccc(1, taps), x, "cc"), expected)
        gc.collect()


class Buffers(TestCase):
    def test_smaller_ones_by_the_user(self):
        """set_max_output_buffer() goes before a batch, and while it stands only."""
        x = random_items(self.rng, "c", 50021)
        taps = random_taps(self.rng, "c", 65)
        expected = convolve(x, taps)
        for batch_items in (0, 1, 20000):
            for most in (100, 5000, -1):
                with self.subTest(batch_items=batch_items, most=most):
                    block = cufilter.fft_filter_ccc(1, taps, batch_items=batch_items)
                    block.set_max_output_buffer(most)
                    self.assert_close(run(block, x, "cc"), expected)
                    block.set_max_output_buffer(-1)
                    self.assertEqual(len(run(block, x, "cc")), len(x))

    def test_room_for_a_batch(self):
        """Half a buffer holds the batch; without one, GNU Radio's own 32 KiB on the CPU
        and 128 KiB on a GPU."""
        for batch_items, least in ((0, None), (1, 4096), (100000, 100000)):
            with self.subTest(batch_items=batch_items):
                block = cufilter.fft_filter_ccc(1, [1], batch_items=batch_items)
                if least is None:
                    least = 4096 if block.device() < 0 else 16384
                room = Room()
                tb = gr.top_block()
                tb.connect(room, block, blocks.head(8, 1000000), blocks.null_sink(8))
                tb.run()
                self.assertGreaterEqual(room.most, least)
                self.assertLess(room.most, 2 * least)


class Room(gr.sync_block):
    """Zeros; keeps the most items that it was asked for at once: what its output holds."""

    def __init__(self):
        super().__init__("room", None, [np.complex64])
        self.most = 0

    def work(self, input_items, output_items):
        self.most = max(self.most, len(output_items[0]))
        output_items[0][:] = 0
        return len(output_items[0])


class Rewiring(TestCase):
    def test_inserted_and_removed_while_locked(self):
        """The sum of ones through [2] and [3] is 2, 3 or 6; items are neither lost in
        number nor made up within a filter."""
        y = run_rewired(*(cufilter.fft_filter_ccc(1, [gain]) for gain in (2, 3)), 3)
        self.assertEqual(set(np.rint(y.real).astype(int)), {2, 6})
        self.assertLessEqual(np.max(np.abs(y - np.rint(y.real))), 1e-5)

    def test_consumer_added(self):
        first = cufilter.fft_filter_ccc(1, [1] * 100)
        sink = blocks.null_sink(8)
        tb = gr.top_block()
        tb.connect(blocks.null_source(8), first, sink)
        tb.start()
        wait_until(lambda: first.nitems_written(0) > 0)
        tb.lock()
        late = blocks.null_sink(8)
        tb.connect(first, late)
        tb.unlock()
        wait_until(lambda: late.nitems_read(0) > 0)
        tb.stop()
        tb.wait()


class Neighbours(TestCase):
    def test_fan_out(self):
        """One buffer read by several filters and another block."""
        x = random_items(self.rng, "c", 30011)
        all_taps = [random_taps(self.rng, "c", n) for n in (1, 64, 1000)]
        tb = gr.top_block()
        source, copy = blocks.vector_source_c(x.tolist()), blocks.vector_sink_c()
        tb.connect(source, copy)
        sinks = []
        for taps in all_taps:
            sinks.append(blocks.vector_sink_c())
            tb.connect(source, cufilter.fft_filter_ccc(1, taps), sinks[-1])
        tb.run()
        np.testing.assert_array_equal(np.array(copy.data(), np.complex64), x)
        for taps, sink in zip(all_taps, sinks):
            self.assert_close(np.array(sink.data(), np.complex64), convolve(x, taps))

    def test_chain(self):
        """Filters next to each other share the buffers between them."""
        x = random_items(self.rng, "c", 30011)
        taps = [random_taps(self.rng, "c", n) for n in (5, 129, 700)]
        tb = gr.top_block()
        sink = blocks.vector_sink_c()
        tb.connect(blocks.vector_source_c(x.tolist()),
                   cufilter.fft_filter_ccc(1, taps[0]),
                   cufilter.fir_filter_ccc(2, taps[1]),
                   cufilter.fft_filter_ccc(3, taps[2]), sink)
        tb.run()
        expected = convolve(convolve(convolve(x, taps[0]), taps[1], 2), taps[2], 3)
        self.assert_close(np.array(sink.data(), np.complex64), expected, 1e-6)

    def test_a_neighbour_goes(self):
        """A filter taken out while the others run must not take the shared buffer."""
        x = random_items(self.rng, "c", 1000)
        taps = random_taps(self.rng, "c", 257)
        source = blocks.vector_source_c(x.tolist(), True)
        head, sink = blocks.head(8, 2000000), blocks.vector_sink_c()
        stays, goes = (cufilter.fft_filter_ccc(1, taps) for _ in range(2))
        throttle, end = blocks.throttle(8, 5e6), blocks.null_sink(8)
        tb = gr.top_block()
        tb.connect(source, throttle, stays, head, sink)
        tb.connect(throttle, goes, end)
        tb.start()
        wait_until(lambda: goes.nitems_written(0) > 0 and sink.nitems_read(0) > 5000)
        tb.lock()
        tb.disconnect(throttle, goes, end)
        tb.unlock()
        before = sink.nitems_read(0)
        wait_until(lambda: sink.nitems_read(0) > before + 10000)
        tb.stop()
        tb.wait()
        y = np.array(sink.data(), np.complex64)
        # The runtime may drop what was under way when it locked.
        expected = convolve(np.tile(x, 5), taps)[:5000]
        self.assert_close(y[:5000], expected)


class Batches(TestCase):
    def test_nothing_is_lost(self):
        n = 1000003
        for decimation, batch_items in ((1, 100000), (3, 100000), (125, 1 << 20), (1, 1),
                                        (7, 3)):
            for most in (None, 1000):
                with self.subTest(decimation=decimation, batch_items=batch_items,
                                  most=most):
                    block = cufilter.fft_filter_ccc(decimation, [1] * 99,
                                                    batch_items=batch_items)
                    head = blocks.head(8, n)
                    tb = gr.top_block()
                    tb.connect(blocks.null_source(8), head, block, blocks.null_sink(8))
                    for _ in range(3):
                        head.reset()
                        tb.run(most) if most else tb.run()
                        self.assertEqual(block.nitems_written(0), n // decimation)

    def test_values(self):
        x = random_items(self.rng, "c", 1000003)
        taps = random_taps(self.rng, "c", 645)
        for decimation in (1, 4):
            block = cufilter.fft_filter_ccc(decimation, taps, batch_items=200000)
            y = run(block, x, "cc")
            self.assert_close(y, convolve(x, taps, decimation))

    def test_calls_grow(self):
        """Also after a restart, and in another flowgraph with other neighbours."""

        class Largest(gr.sync_block):
            def __init__(self):
                gr.sync_block.__init__(self, "largest", [np.complex64], None)
                self.most = 0

            def work(self, input_items, output_items):
                self.most = max(self.most, len(input_items[0]))
                return len(input_items[0])

        block = cufilter.fft_filter_ccc(1, [1], batch_items=200000)
        for _ in range(2):
            largest = Largest()
            head = blocks.head(8, 4000000)
            tb = gr.top_block()
            tb.connect(blocks.null_source(8), head, block, largest)
            for _ in range(3):
                largest.most = 0
                head.reset()
                tb.run()
                self.assertGreater(largest.most, 20000)

    def test_a_slow_stream_is_not_held_back(self):
        """10 items come out although the batch is a million."""
        block = cufilter.fft_filter_ccc(1, [1] * 50, batch_items=1000000)
        sink = blocks.vector_sink_c()
        tb = gr.top_block()
        release = threading.Event()
        slow = Feeder(np.ones(10, np.complex64), 10, lambda: release.wait(120))
        tb.connect(slow, block, sink)
        tb.start()
        wait_until(lambda: sink.nitems_read(0) == 10)
        release.set()
        tb.wait()


class Bits(TestCase):
    def test_two_runs_are_identical(self):
        """The same calls, the same bits; a batch as large as the stream is one call."""
        for kind in ("ccc", "ccf", "fff"):
            for n_taps in (1, 20, 64, 645, 4097):
                for decimation in (1, 5):
                    with self.subTest(kind=kind, n_taps=n_taps, decimation=decimation):
                        x = random_items(self.rng, kind[0], 65521)
                        taps = random_taps(self.rng, kind[2], n_taps)
                        make = getattr(cufilter, "fft_filter_" + kind)
                        first, second = (run(make(decimation, taps, batch_items=len(x)),
                                             x, kind) for _ in range(2))
                        np.testing.assert_array_equal(first, second)
                        self.assert_close(first, convolve(x, taps, decimation))


if __name__ == "__main__":
    main()
