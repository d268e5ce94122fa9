# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags through the FIR blocks: where the stock blocks put them."""

import numpy as np
import pmt
from gnuradio import cufilter, gr
from cufilter_qa import TestCase, main, random_items, random_taps, run, stock


def make_tags(offsets):
    return [gr.tag_utils.python_to_tag((int(offset), pmt.intern("tag"),
                                        pmt.from_long(int(offset))))
            for offset in offsets]


class Tags(TestCase):
    def compare(self, name, decimation, n_taps, offsets, n=8000, delay=0, most=None):
        """Ours equal to those of stock's fir_filter, which drops no items."""
        kind = name[-3:]
        taps = random_taps(self.rng, kind[2], n_taps)
        x = random_items(self.rng, kind[0], n)
        results = []
        for block in (getattr(cufilter, name)(decimation, taps),
                      getattr(stock, name.replace("fft", "fir"))(decimation, taps)):
            block.declare_sample_delay(delay)
            y, tags = run(block, x, kind, make_tags(offsets), most)
            self.assertEqual(len(y), n // decimation)
            results.append(sorted(tags))
        self.assertEqual(results[0], results[1])
        self.assertGreater(len(results[0]), 0)
        return results[0]

    def test_every_25th(self):
        """C27: 320 tags; with a decimation of 4, 25 goes to 6, 50 to 13, 75 to 19."""
        every = range(0, 8000, 25)
        for name in ("fft_filter_fff", "fir_filter_fff"):
            tags = self.compare(name, 4, 31, every)
            self.assertEqual(len(tags), 320)
            where = {value: offset for offset, _, value in tags}
            self.assertEqual([where[25], where[50], where[75]], [6, 13, 19])
            tags = self.compare(name, 1, 31, every)
            self.assertEqual([(offset, value) for offset, _, value in tags],
                             [(offset, offset) for offset in every])

    def test_sample_delay(self):
        """C27: with a declared delay of 15 and a decimation of 4, 0 goes to 4."""
        tags = self.compare("fir_filter_fff", 4, 31, range(0, 8000, 25), delay=15)
        where = {value: offset for offset, _, value in tags}
        self.assertEqual([where[0], where[25], where[50], where[75]], [4, 10, 16, 23])
        for name in ("fft_filter_ccc", "fft_filter_ccf", "fir_filter_ccf"):
            for decimation in (1, 2, 7):
                for delay in (1, 6, 100):
                    with self.subTest(name=name, decimation=decimation, delay=delay):
                        self.compare(name, decimation, 31, range(3, 8000, 17),
                                     delay=delay)

    def test_many(self):
        for decimation in (1, 3, 10):
            with self.subTest(decimation=decimation):
                self.compare("fft_filter_ccf", decimation, 129, range(8000))

    def test_several_at_one_place(self):
        self.compare("fft_filter_ccf", 3, 129, [0, 0, 5, 5, 5, 7998])

    def test_small_calls(self):
        for most in (1, 2, 5, 64):
            for decimation in (1, 3):
                for delay in (0, 4):
                    with self.subTest(most=most, decimation=decimation, delay=delay):
                        self.compare("fft_filter_ccf", decimation, 40, range(0, 2000, 3),
                                     n=2000, delay=delay, most=most)

    def test_random(self):
        for decimation in (1, 2, 4, 5, 125):
            offsets = np.sort(self.rng.choice(8000, 300, replace=False))
            with self.subTest(decimation=decimation):
                self.compare("fir_filter_ccc", decimation, 65, offsets, delay=32)

    def test_batches(self):
        """Large buffers do not move tags."""
        x = random_items(self.rng, "c", 100003)
        for batch_items in (0, 30000):
            _, tags = run(cufilter.fft_filter_ccc(2, [1] * 33, batch_items=batch_items),
                          x, "cc", make_tags(range(1, 100003, 1001)))
            self.assertEqual(tags, [((offset + 1) // 2, "tag", offset)
                                    for offset in range(1, 100003, 1001)])


if __name__ == "__main__":
    main()
