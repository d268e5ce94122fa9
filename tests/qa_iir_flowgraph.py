# SPDX-License-Identifier: GPL-3.0-or-later
"""IIR blocks in flowgraphs that are restarted, rewired, shared and batched, and on
captures off the air beside the stock blocks (see qa_capture.py)."""

import gc
import glob
import os

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import (TestCase, main, random_items, rms, run, run_rewired, stock,
                         wait_until)
from iir_qa import IIR_ACCURACY, signal, wide
from qa_capture import DATA

SOS = signal.butter(6, 0.1, output="sos")
B, A = signal.butter(3, 0.2)


def one_of_each(**options):
    """Complex blocks, and what each does to a stream in float64."""
    return ((cufilter.sos_filter_cc(SOS, **options),
             lambda x: signal.sosfilt(SOS, wide(x))),
            (cufilter.iir_filter_ccd(B, A, False, **options),
             lambda x: signal.lfilter(B, A, wide(x))),
            (cufilter.iir_filter_ccf([0.01] * 100, [1, 0.5], **options),
             lambda x: signal.lfilter(np.full(100, np.float32(0.01), float), [1, -0.5],
                                      wide(x))),
            (cufilter.single_pole_iir_filter_cc(0.01, **options),
             lambda x: signal.lfilter([0.01], [1, -0.99], wide(x))))


class Restart(TestCase):
    def test_run_again(self):
        """The stream goes on where it stopped."""
        for batch_items in (0, 50000):
            for block, reference in one_of_each(batch_items=batch_items):
                x = random_items(self.rng, "c", 20000)
                source, sink = blocks.vector_source_c(x.tolist()), blocks.vector_sink_c()
                tb = gr.top_block()
                tb.connect(source, block, sink)
                for turn in range(3):
                    with self.subTest(block=block.name(), batch=batch_items, turn=turn):
                        sink.reset()
                        source.rewind()
                        tb.run()
                        expected = reference(np.tile(x, turn + 1))[-len(x):]
                        self.assert_close(np.array(sink.data()), expected, IIR_ACCURACY)

    def test_large_batches(self):
        """Calls grow to what was asked for, and no tail is lost."""
        for block, reference in one_of_each(batch_items=100000):
            x = random_items(self.rng, "c", 300007)
            self.assert_close(run(block, x, "cc"), reference(x), IIR_ACCURACY)

    def test_stopped_in_the_middle(self):
        for block, _ in one_of_each():
            tb = gr.top_block()
            tb.connect(blocks.null_source(8), block, blocks.null_sink(8))
            for _ in range(3):
                tb.start()
                wait_until(lambda: block.nitems_written(0) > 0)
                tb.stop()
                tb.wait()

    def test_one_block_in_two_graphs(self):
        for block, reference in one_of_each():
            x = random_items(self.rng, "c", 9001)
            y = np.concatenate((run(block, x, "cc"), run(block, x, "cc")))
            self.assert_close(y, reference(np.tile(x, 2)), IIR_ACCURACY)

    def test_many_graphs_come_and_go(self):
        x = random_items(self.rng, "c", 1000)
        for _ in range(20):
            for block, reference in one_of_each():
                self.assert_close(run(block, x, "cc"), reference(x), IIR_ACCURACY)
        gc.collect()


class Neighbours(TestCase):
    def test_chain(self):
        """Filters next to each other share the buffers between them."""
        x = random_items(self.rng, "c", 30011)
        chain = one_of_each()
        sink = blocks.vector_sink_c()
        tb = gr.top_block()
        tb.connect(blocks.vector_source_c(x.tolist()), *(block for block, _ in chain), sink)
        tb.run()
        expected = x
        for _, reference in chain:
            expected = reference(expected)
        self.assert_close(np.array(sink.data()), expected, 2 * IIR_ACCURACY)

    def test_fan_out(self):
        """One buffer read by several filters; eight of a kind do not share a state."""
        x = random_items(self.rng, "c", 30011)
        source, tb, pairs = blocks.vector_source_c(x.tolist()), gr.top_block(), []
        for _ in range(8):
            for block, reference in one_of_each():
                pairs.append((blocks.vector_sink_c(), reference))
                tb.connect(source, block, pairs[-1][0])
        tb.run()
        first = [np.array(sink.data()) for sink, _ in pairs[:4]]
        for y, (_, reference) in zip(first, pairs):
            self.assert_close(y, reference(x), IIR_ACCURACY)
        for i, (sink, _) in enumerate(pairs):
            self.assert_close(np.array(sink.data()), first[i % 4], 2e-7)

    def test_rewired_while_it_runs(self):
        """A gain of 2 and one of 3 as filters that have settled."""
        settled = cufilter.sos_filter_cc([[1, 0, 0, 1, -0.5, 0]], steady_start=True)
        y = run_rewired(settled, cufilter.iir_filter_ccd([3], [1]), 2)
        self.assertEqual(set(np.rint(y.real).astype(int)), {2, 6})
        self.assertLessEqual(np.max(np.abs(y - np.rint(y.real))), 1e-5)

    def test_commands_from_a_message_source(self):
        """Connected as in a flowgraph, while it runs."""
        for block, key, value, changed in (
                (cufilter.sos_filter_cc([[1, 0, 0, 1, 0, 0]]), "sos",
                 pmt.init_f64vector(6, [2, 0, 0, 1, 0, 0]),
                 lambda b: b.sos() == [[2, 0, 0, 1, 0, 0]]),
                (cufilter.single_pole_iir_filter_cc(1), "alpha", pmt.from_double(0.25),
                 lambda b: b.alpha() == 0.25)):
            strobe = blocks.message_strobe(pmt.cons(pmt.intern(key), value), 20)
            tb = gr.top_block()
            tb.connect(blocks.null_source(8), block, blocks.null_sink(8))
            tb.msg_connect(strobe, "strobe", block, "cmd")
            tb.start()
            wait_until(lambda: changed(block))
            tb.stop()
            tb.wait()


class FieldFlowgraphs(TestCase):
    """Chains as people use them."""

    def test_lora_receiver(self):
        """Ten branches at 4 MS/s, each a rotator and two iir_filter_ccd of order 4."""
        x = random_items(self.rng, "c", 40000)
        b, a = signal.butter(4, 125e3 / 2e6)
        for shift in (-0.5, 0.1):
            # One rotator for both: its own rounding depends on the calls' lengths.
            tb, rotator, sinks = gr.top_block(), blocks.rotator_cc(shift), []
            tb.connect(blocks.vector_source_c(x.tolist()), rotator)
            for module in (cufilter, stock):
                sinks.append(blocks.vector_sink_c())
                tb.connect(rotator, module.iir_filter_ccd(b, a, False),
                           module.iir_filter_ccd(b, a, False), sinks[-1])
            tb.run()
            self.assert_close(*(np.array(sink.data()) for sink in sinks), IIR_ACCURACY)

    def test_spectrometer(self):
        """Spectra of 2048 values, averaged over minutes: a tiny alpha."""
        x = np.abs(random_items(self.rng, "f", 2048 * 400)) + np.float32(5)
        y = run(cufilter.single_pole_iir_filter_ff(0.0005, 2048), x, "ff", vlen=2048)
        spectra = wide(x).reshape(-1, 2048)
        expected = signal.lfilter([0.0005], [1, -0.9995], spectra, axis=0)
        self.assert_close(y, expected.ravel(), IIR_ACCURACY)

    def test_carrier_tracker(self):
        """The mean of a demodulated signal, subtracted: alpha 0.00016."""
        n = 400000
        x = (0.3 + 0.1 * random_items(self.rng, "f", n)).astype(np.float32)
        outputs = []
        for module in (cufilter, stock):
            tb, sink = gr.top_block(), blocks.vector_sink_f()
            source, difference = blocks.vector_source_f(x.tolist()), blocks.sub_ff()
            tb.connect(source, (difference, 0))
            tb.connect(source, module.single_pole_iir_filter_ff(0.00016),
                       (difference, 1))
            tb.connect(difference, sink)
            tb.run()
            outputs.append(np.array(sink.data()))
        self.assert_close(*outputs, 1e-4)  # stock's state is a float
        mean = signal.lfilter([0.00016], [1, 0.00016 - 1], wide(x))
        self.assert_close(outputs[0], wide(x) - mean, IIR_ACCURACY)


class Captures(TestCase):
    def compare(self, make_input, mine, theirs, sink):
        tb = gr.top_block()
        head = make_input(tb)
        sinks = [sink(), sink()]
        tb.connect(head, mine, sinks[0])
        tb.connect(head, theirs, sinks[1])
        tb.run()
        y, expected = (np.array(sink.data()) for sink in sinks)
        self.assertGreater(len(expected), 1000)
        self.assertGreater(rms(expected), 1e-5)
        self.assert_close(y, expected, 2e-6)

    def test_ads_b(self):
        path = os.path.join(DATA, "adsb_2Msps_u8iq.bin")
        if not os.path.exists(path):
            self.skipTest("no capture at " + path)
        raw = np.fromfile(path, np.uint8).astype(np.float32) - np.float32(127.4)
        x = raw[::2] + 1j * raw[1::2]
        low, band = signal.butter(4, 0.3), signal.cheby1(3, 0.5, [0.1, 0.6], "bandpass")
        for name, taps in (("iir_filter_ccd", (*low, False)),
                           ("iir_filter_ccd", (*band, False)),
                           ("iir_filter_ccd", ([1, -1], [1, -0.999], False)),
                           ("iir_filter_ccf", (*signal.butter(1, 0.2), False)),
                           ("single_pole_iir_filter_cc", (0.001,))):
            with self.subTest(name=name, taps=taps):
                self.compare(lambda tb: blocks.vector_source_c(x.tolist()),
                             getattr(cufilter, name)(*taps), getattr(stock, name)(*taps),
                             blocks.vector_sink_c)

    def test_satellites(self):
        paths = glob.glob(os.path.join(DATA, "*.wav"))
        if not paths:
            self.skipTest("no WAV files in " + DATA)
        band = signal.butter(4, [300, 3400], "bandpass", fs=48e3)
        for path in paths:
            for taps in ((*band, False), (*signal.iirnotch(1200, 30, 48e3), False),
                         ([0.1226445] * 2, [1, 0.7547109])):
                with self.subTest(path=os.path.basename(path), taps=len(taps[0])):
                    self.compare(lambda tb: blocks.wavfile_source(path, False),
                                 cufilter.iir_filter_ffd(*taps),
                                 stock.iir_filter_ffd(*taps), blocks.vector_sink_f)


if __name__ == "__main__":
    main()
