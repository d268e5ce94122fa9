# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter banks in running flowgraphs: setters from other threads, messages, restarts,
tags."""

import os
import tempfile
import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from gnuradio.cufilter import pfb
from cufilter_qa import (Feeder, TestCase, main, random_items, random_taps, rms, stock,
                         wait_until)
from pfb_qa import (Split, channelize, collected, forms, run_inputs, run_ports,
                    run_vectors, synthesize, tag_list)


def post(block, message):
    block.to_basic_block()._post(pmt.intern("cmd"), message)


class Setters(TestCase):
    K, R = 12, 8

    def graph(self, block, x, n_outputs, at, hook):
        feeder = Feeder(x, at, hook)
        sinks = [blocks.vector_sink_c() for _ in range(n_outputs)]
        tb = gr.top_block()
        tb.connect(feeder, block)
        for o, sink in enumerate(sinks):
            tb.connect((block, o), sink)
        tb.run()
        return np.array([sink.data() for sink in sinks])

    def test_taps_of_any_length(self):
        """No slip, no gap, the true history: C02, S2 to S4 for the filter bank."""
        for n_old, n_new in ((24, 500), (500, 24), (1, 20000), (20000, 1)):
            old, new = (random_taps(self.rng, "f", n) for n in (n_old, n_new))
            x = random_items(self.rng, "c", 60000)
            block = pfb.channelizer_ccf(self.K, old, self.K / self.R)
            y = self.graph(block, x, 2, 30000, lambda: block.set_taps(new))
            before, after = (channelize(x, taps, self.K, self.R, [0, 1])
                             for taps in (old, new))
            moments = {self.assert_switches(*rows) for rows in zip(y, before, after)}
            self.assertEqual(len(moments), 1)

    def test_taps_of_the_block_with_ports(self):
        old, new = (random_taps(self.rng, "f", n) for n in (24, 500))
        x = random_items(self.rng, "c", 60000)
        inner = cufilter.pfb_channelizer_ccf(self.K, old, self.K / self.R)
        block = Split(inner, self.K, 2)
        y = self.graph(block, x, 2, 30000, lambda: inner.set_taps(new))
        for row, c in zip(y, (0, 1)):
            self.assert_switches(row, channelize(x, old, self.K, self.R, [c])[0],
                                 channelize(x, new, self.K, self.R, [c])[0])

    def test_map(self):
        taps = random_taps(self.rng, "f", 100)
        x = random_items(self.rng, "c", 60000)
        all_rows = channelize(x, taps, self.K, self.R)
        block = pfb.channelizer_ccf(self.K, taps, self.K / self.R)
        y = self.graph(block, x, 3, 30000, lambda: block.set_channel_map([7, 7, 11, 5]))
        moments = {self.assert_switches(row, all_rows[old], all_rows[new])
                   for row, old, new in zip(y, (0, 1, 2), (7, 7, 11))}
        self.assertEqual(len(moments), 1)

    def test_map_and_taps_of_a_synthesizer(self):
        """A frame stays on the slots that it came in with."""
        K, n = 6, 20000
        taps = random_taps(self.rng, "f", 60)
        rows = [random_items(self.rng, "c", n) for _ in range(2)]
        block = cufilter.pfb_synthesizer_ccf(K, taps)
        feeder = Feeder(rows[0], n // 2, lambda: block.set_channel_map([5, 2]))
        sink, tb = blocks.vector_sink_c(), gr.top_block()
        tb.connect(feeder, (block, 0))
        tb.connect(blocks.vector_source_c(rows[1].tolist()), (block, 1))
        tb.connect(block, sink)
        tb.run()
        y = np.array(sink.data())
        old, new = (synthesize(rows, taps, K, slots) for slots in ([0, 1], [5, 2]))
        self.assertEqual(len(y), n * K)
        near = 5e-6 * rms(old)
        moment = int(np.argmax(np.abs(y - old) > near)) // K
        self.assertGreater(moment, 0)
        mixed = synthesize([np.where(np.arange(n) < moment, row, 0) for row in rows],
                           taps, K, [0, 1])
        mixed += synthesize([np.where(np.arange(n) < moment, 0, row) for row in rows],
                            taps, K, [5, 2])
        self.assert_close(y, mixed)

    def test_toggled_all_the_time(self):
        """Taps and map in turn from another thread, in every form."""
        small, large = (random_taps(self.rng, "f", n) for n in (12, 3000))
        x = random_items(self.rng, "c", 48000)
        for name, block, _ in forms(self.K, small, self.K / self.R):
            inner = block.block if name == "ports" else block
            vector = self.K if name == "vectors" else 1
            throttled = blocks.throttle(8, 4e6)
            tb = gr.top_block()
            tb.connect(blocks.vector_source_c(x.tolist(), True), throttled, block)
            ports = 1 if vector > 1 else self.K
            for o in range(ports):
                tb.connect((block, o), blocks.null_sink(8 * vector))
            failures, stop = [], threading.Event()

            def toggle():
                order = list(range(self.K))
                try:
                    while not stop.is_set():
                        inner.set_taps(large)
                        inner.set_channel_map(order[::-1])
                        inner.set_taps(small)
                        inner.set_channel_map(order)
                except Exception as error:
                    failures.append(error)

            with self.subTest(form=name):
                thread = threading.Thread(target=toggle)
                tb.start()
                thread.start()
                time.sleep(1)
                stop.set()
                thread.join()
                moved = inner.nitems_written(0)
                tb.stop()
                tb.wait()
                self.assertEqual(failures, [])
                self.assertGreater(moved, 1000)
                self.assertEqual(inner.channel_map(), list(range(self.K)))

    def test_several_threads(self):
        block = pfb.channelizer_ccf(self.K, [1], self.K / self.R)
        sets = [random_taps(self.rng, "f", n) for n in (1, 10, 100, 1000)]
        threads = [threading.Thread(target=lambda t=t: [block.set_taps(t)
                                                        for _ in range(20)])
                   for t in sets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x = random_items(self.rng, "c", 4000)
        branches = np.array(block.taps())
        flat = branches.T.ravel()
        self.assert_close(run_ports(block, x, self.K).ravel(),
                          channelize(x, flat, self.K, self.R).ravel())


class Messages(TestCase):
    def after(self, *messages):
        block = pfb.channelizer_ccf(4, [1])
        for message in messages:
            post(block, message)
        x = random_items(self.rng, "c", 400)
        y = run_ports(block, x, 4)
        flat = np.array(block.taps()).T.ravel()
        self.assert_close(y.ravel(),
                          channelize(x, flat, 4, 4, block.channel_map()).ravel())
        return flat.tolist(), block.channel_map()

    def test_commands(self):
        taps, channels = pmt.intern("taps"), pmt.intern("channel_map")
        values = pmt.init_f32vector(4, [1, 2, 3, 4])
        numbers = [3, 1, 1, 0]
        both = pmt.dict_add(pmt.dict_add(pmt.make_dict(), taps, values), channels,
                            pmt.init_s32vector(4, numbers))
        self.assertEqual(self.after(both), ([1, 2, 3, 4], numbers))
        self.assertEqual(self.after(pmt.cons(taps, values)),
                         ([1, 2, 3, 4], [0, 1, 2, 3]))
        for vector in (pmt.init_s32vector(4, numbers), pmt.init_s64vector(4, numbers),
                       pmt.to_pmt(numbers), pmt.to_pmt(np.array(numbers, np.int32))):
            self.assertEqual(self.after(pmt.cons(channels, vector)),
                             ([1, 0, 0, 0], numbers))

    def test_bad_ones_change_nothing(self):
        taps, channels = pmt.intern("taps"), pmt.intern("channel_map")
        bad = [pmt.PMT_NIL, pmt.PMT_T, channels, pmt.from_long(3), pmt.make_dict(),
               pmt.cons(channels, pmt.PMT_NIL), pmt.cons(channels, pmt.from_long(1)),
               pmt.cons(channels, pmt.init_s32vector(4, [0, 1, 2, 4])),
               pmt.cons(channels, pmt.init_s32vector(4, [0, 1, 2, -1])),
               pmt.cons(channels, pmt.init_s64vector(4, [0, 1, 2, 1 << 40])),
               pmt.cons(channels, pmt.init_f32vector(4, [0, 1, 2, 3])),
               pmt.cons(channels, pmt.to_pmt([1.5, 2, 3, 0])),
               pmt.cons(taps, pmt.init_f32vector(0, [])),
               pmt.cons(taps, pmt.init_c32vector(1, [1j]))]
        self.assertEqual(self.after(*bad), ([1, 0, 0, 0], [0, 1, 2, 3]))

    def test_every_block_listens(self):
        command = pmt.cons(pmt.intern("taps"), pmt.init_f32vector(2, [5, 6]))
        for block in (cufilter.pfb_channelizer_ccf(2, [1], 1),
                      cufilter.pfb_channelizer_vcc(2, [1])):
            post(block, command)
            feed = Split(block, 2, 1) if "vcc" not in block.name() else block
            x = np.zeros(20, np.complex64)
            (run_ports if feed is not block else
             lambda b, x, n: run_vectors(b, x, 2))(feed, x, 1)
            self.assertEqual(block.taps(), [[5], [6]])
        block = cufilter.pfb_synthesizer_ccf(2, [1])
        post(block, command)
        run_inputs(block, [np.zeros(20, np.complex64)])
        self.assertEqual(block.taps(), [[5], [6]])


class Restart(TestCase):
    def test_run_again(self):
        """The stream goes on where it stopped, in every form; items that made no frame
        yet are not lost either."""
        for K, R in ((5, 4), (8, 8), (8, 1), (6, 5)):
            taps = random_taps(self.rng, "f", 61)
            x = random_items(self.rng, "c", 4 * K * R)
            whole = channelize(np.tile(x, 3), taps, K, R)
            for name, block, run in forms(K, taps, K / R):
                with self.subTest(K=K, R=R, form=name):
                    y = np.concatenate([run(block, x, K) for _ in range(3)], axis=1)
                    self.assert_close(y.ravel(), whole.ravel())

    def test_rows_are_not_fed_twice(self):
        """The block with ports: runs that end within a row, then go on elsewhere."""
        K, R = 8, 3
        taps = random_taps(self.rng, "f", 40)
        x = random_items(self.rng, "c", 10 * K)
        block = cufilter.pfb_channelizer_ccf(K, taps, K / R)
        y = np.concatenate([run_ports(Split(block, K, K), x, K, most=1)
                            for _ in range(4)], axis=1)
        whole = channelize(np.tile(x, 4), taps, K, R)
        self.assertEqual(y.shape, whole.shape)
        self.assert_close(y.ravel(), whole.ravel())

    def test_stopped_in_the_middle(self):
        for name, block, _ in forms(10, [1.0] * 100, 2):
            tb = gr.top_block()
            tb.connect(blocks.null_source(8), block)
            for o in range(1 if name == "vectors" else 10):
                tb.connect((block, o), blocks.null_sink(80 if name == "vectors" else 8))
            inner = block.block if name == "ports" else block
            for _ in range(3):
                tb.start()
                wait_until(lambda: inner.nitems_written(0) > 0)
                tb.stop()
                tb.wait()

    def test_consumers_added_while_it_runs(self):
        """G06: null sinks first, consumers of a channel under lock. (GNU Radio itself
        gives a running block no further port.)"""
        block = pfb.channelizer_ccf(6, [1.0] * 60)
        throttle = blocks.throttle(8, 6e5)
        tb = gr.top_block()
        tb.connect(blocks.null_source(8), throttle, block)
        for o in range(6):
            tb.connect((block, o), blocks.null_sink(8))
        tb.start()
        wait_until(lambda: block.nitems_written(0) > 0)
        tb.lock()
        late = blocks.null_sink(8)
        tb.connect((block, 1), late)
        tb.unlock()
        wait_until(lambda: late.nitems_read(0) > 0)
        tb.stop()
        tb.wait()


class Tags(TestCase):
    def test_as_stock(self):
        """Critically sampled: where stock puts them, one for each channel. 37, 74 and 111
        go to 9, 19 and 28 of 4 channels."""
        x = random_items(self.rng, "c", 400)
        for offsets in ([37, 74, 111], range(0, 400, 3), [0, 0, 5, 5, 399]):
            expected = run_ports(stock.pfb.channelizer_ccf(4, [1] * 9), x, 4, offsets)[1]
            for most in (None, 1, 7):
                for name, block, run in forms(4, [1] * 9):
                    with self.subTest(offsets=offsets, most=most, form=name):
                        _, tags = run(block, x, 4, offsets, most)
                        if name == "vectors":
                            tags = [tags] * 4
                        self.assertEqual(tags, expected)
        self.assertEqual([o for o, v in expected[0]][:1], [0])

    def test_every_tag_once(self):
        """Pains 5, 9: all ratios, all call sizes: floor(n / R + 1/2)."""
        for K, R in ((5, 4), (8, 1), (6, 5), (36, 25), (10, 5), (7, 3)):
            n = 20 * K * R
            x = random_items(self.rng, "c", n)
            offsets = np.sort(self.rng.choice(n - R, 150, replace=False))
            expected = sorted((int((2 * o + R) // (2 * R)), int(o)) for o in offsets)
            for most in (None, 1, 16):
                for name, block, run in forms(K, [1] * 20, K / R):
                    if name == "ports":
                        continue
                    with self.subTest(K=K, R=R, most=most, form=name):
                        _, tags = run(block, x, K, offsets, most)
                        for port in [tags] if name == "vectors" else tags:
                            self.assertEqual(port, expected)

    def test_ports(self):
        """Tags of input i come out of output i, at floor(n K/R + 1/2)."""
        for K, R in ((5, 4), (8, 1), (6, 5), (10, 5), (7, 3), (4, 4)):
            rows = [random_items(self.rng, "c", 60) for _ in range(K)]
            offsets = range(0, 55, 4)
            for most in (None, 1, 3):
                for n_outputs in (1, 2, K):
                    block = cufilter.pfb_channelizer_ccf(K, [1] * 20, K / R)
                    tb = gr.top_block()
                    for i, row in enumerate(rows):
                        mine = [o + i % 2 for o in offsets]
                        tb.connect(blocks.vector_source_c(row.tolist(), False, 1,
                                                          tag_list(mine)), (block, i))
                    sinks = [blocks.vector_sink_c() for _ in range(n_outputs)]
                    for o, sink in enumerate(sinks):
                        tb.connect((block, o), sink)
                    tb.run(most) if most else tb.run()
                    for i, sink in enumerate(sinks):
                        expected = [((2 * (o + i % 2) * K + R) // (2 * R), o + i % 2)
                                    for o in offsets]
                        self.assertEqual(collected(sink), expected)

    def test_declared_delay(self):
        """Counted as stock counts it; also where calls are shorter than the delay."""
        x = random_items(self.rng, "c", 4000)
        offsets = list(range(0, 3000, 37))
        for delay in (0, 1, 25, 209):
            results = []
            for module in (pfb, stock.pfb):
                block = module.channelizer_ccf(4, [1] * 9)
                block.declare_sample_delay(delay)
                results.append(run_ports(block, x, 4, offsets,
                                         200 if module is pfb else None)[1])
            self.assertEqual(results[0], results[1])
            self.assertEqual(len(results[0][0]), len(offsets))

    def test_far_from_the_start(self):
        """Pain 21: 36/25 drifts by no item after millions."""
        n, K, R = 3000000, 36, 25
        offsets = [n - 5000 + 7 * i for i in range(500)]
        head = blocks.head(8, n)
        source = blocks.vector_source_c([0] * n, False, 1, tag_list(offsets))
        block, sink = pfb.channelizer_ccf(K, [1], K / R), blocks.tag_debug(8, "")
        sink.set_display(False)
        sink.set_save_all(True)
        tb = gr.top_block()
        tb.connect(source, head, block)
        tb.connect((block, 0), sink)
        tb.run()
        self.assertEqual(sorted(t.offset for t in sink.current_tags()),
                         sorted((2 * o + R) // (2 * R) for o in offsets))


class Values(TestCase):
    def test_after_a_change_of_everything(self):
        """Map, taps and ports changed between runs: as a new block with that history."""
        K, R = 9, 6
        x = random_items(self.rng, "c", 6 * 300)
        old, new = (random_taps(self.rng, "f", n) for n in (70, 70000))
        block = pfb.channelizer_ccf(K, old, K / R)
        run_ports(block, x, K)
        block.set_taps(new)
        block.set_channel_map([8, 3, 3, 1, 0, 2, 4, 5, 6])
        y = run_ports(block, x, 2)
        whole = channelize(np.tile(x, 2), new, K, R, [8, 3])
        self.assert_close(y.ravel(), whole[:, 300:].ravel())

    def test_printed_taps(self):
        results = []
        for make in (cufilter.pfb_channelizer_ccf, stock.pfb_channelizer_ccf):
            block = make(3, [1, 2, 0.5, -4e-3], 1.0)
            with tempfile.TemporaryFile() as file:
                kept = os.dup(1)
                os.dup2(file.fileno(), 1)
                try:
                    block.print_taps()
                finally:
                    os.dup2(kept, 1)
                    os.close(kept)
                file.seek(0)
                results.append(file.read().split())
        self.assertTrue(results[0])
        self.assertEqual(results[0][:5], [b"filter[0]:", b"[", b"1.0000e+00",
                                          b"-4.0000e-03]", b"filter[1]:"])


if __name__ == "__main__":
    main()
