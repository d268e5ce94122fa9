# SPDX-License-Identifier: GPL-3.0-or-later
"""dwt_stream and idwt_stream: bands, reconstruction, tags, ends of streams, arguments."""

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import DTYPES, SINKS, SOURCES, TestCase, main, random_items

try:
    import pywt
except ImportError:
    pywt = None

FORTH = {"f": cufilter.dwt_stream_ff, "c": cufilter.dwt_stream_cc}
BACK = {"f": cufilter.idwt_stream_ff, "c": cufilter.idwt_stream_cc}


def tags_at(offsets):
    return [gr.tag_utils.python_to_tag((int(offset), pmt.intern("tag"),
                                        pmt.from_long(int(offset))))
            for offset in offsets]


def found(sink):
    return sorted((t.offset, pmt.to_python(t.value)) for t in sink.tags())


def assert_same(test, y, expected):
    """The same bits on the CPU; on a GPU blocks are cut elsewhere."""
    if cufilter.dwt_stream_ff().device() < 0:
        np.testing.assert_array_equal(y, expected)
    else:
        test.assert_close(y, expected, 1e-6)


def start(tb, most=None):
    tb.run(most) if most else tb.run()


def decompose(block, x, kind, n_ports, most=None, tags=()):
    """The bands, and with tags those of each."""
    sinks, tb = [SINKS[kind]() for _ in range(n_ports)], gr.top_block()
    tb.connect(SOURCES[kind](x.tolist(), False, 1, tags_at(tags)), block)
    for i, sink in enumerate(sinks):
        tb.connect((block, i), sink)
    start(tb, most)
    bands = [np.array(sink.data(), DTYPES[kind]) for sink in sinks]
    return (bands, [found(sink) for sink in sinks]) if len(tags) else bands


def there_and_back(forth, back, x, kind, most=None, tags=()):
    tb, sink = gr.top_block(), SINKS[kind]()
    tb.connect(SOURCES[kind](x.tolist(), False, 1, tags_at(tags)), forth)
    for i in range(forth.levels() + 1):
        tb.connect((forth, i), (back, i))
    tb.connect(back, sink)
    start(tb, most)
    y = np.array(sink.data(), DTYPES[kind])
    return (y, found(sink)) if len(tags) else y


def reference(x, wavelet, levels):
    """In float64, straight from the formula."""
    w, a, details = pywt.Wavelet(wavelet), np.asarray(x, np.complex128), []
    for _ in range(levels):
        low, high = (np.convolve(a, h)[1:len(a) // 2 * 2:2]
                     for h in (w.dec_lo, w.dec_hi))
        details.append(high)
        a = low
    return [a] + details[::-1]


class Analysis(TestCase):
    def setUp(self):
        super().setUp()
        if pywt is None:
            self.skipTest("no PyWavelets")

    def test_bands(self):
        for kind in "fc":
            for wavelet, levels, n in (("haar", 1, 1000), ("db4", 3, 10001),
                                       ("bior3.3", 5, 4099), ("coif17", 2, 5000),
                                       ("sym8", 12, 20000)):
                x = random_items(self.rng, kind, n)
                expected = reference(x, wavelet, levels)
                for most in (None, 7, 100):
                    with self.subTest(kind=kind, wavelet=wavelet, most=most):
                        bands = decompose(FORTH[kind](wavelet, levels), x, kind,
                                          levels + 1, most)
                        self.assertEqual([len(b) for b in bands],
                                         [n >> levels] + [n >> l for l in
                                                          range(levels, 0, -1)])
                        for got, band in zip(bands, expected):
                            self.assert_close(got, band if kind == "c" else band.real,
                                              1e-6, scale=1)

    def test_lengths(self):
        """0 samples and a few: all bands have their items, no call waits for more."""
        for n in (0, 1, 2, 3, 7, 8, 9):
            bands = decompose(cufilter.dwt_stream_ff("db2", 3),
                              random_items(self.rng, "f", n), "f", 4)
            self.assertEqual([len(b) for b in bands], [n >> 3, n >> 3, n >> 2, n >> 1])

    def test_fewer_ports(self):
        x = random_items(self.rng, "f", 5000)
        whole = decompose(cufilter.dwt_stream_ff("db4", 4), x, "f", 5)
        for ports in (1, 2, 4):
            for got, band in zip(decompose(cufilter.dwt_stream_ff("db4", 4), x, "f", ports),
                                 whole):
                assert_same(self, got, band)

    def test_batches(self):
        x = random_items(self.rng, "f", 300001)
        whole = decompose(cufilter.dwt_stream_ff("db4", 3), x, "f", 4)
        parts = decompose(cufilter.dwt_stream_ff("db4", 3, batch_items=100000), x, "f", 4)
        for a, b in zip(whole, parts):
            assert_same(self, a, b)

    def test_tags(self):
        x = random_items(self.rng, "f", 3000)
        at = [0, 1, 5, 100, 101, 1023, 1024, 2047, 2900]
        for most in (None, 13):
            _, tags = decompose(cufilter.dwt_stream_ff("db4", 3), x, "f", 4, most, at)
            for got, level in zip(tags, (3, 3, 2, 1)):
                self.assertEqual(got, sorted((t >> level, t) for t in at))


class Synthesis(TestCase):
    def test_reconstruction(self):
        for kind in "fc":
            for wavelet, levels in (("haar", 1), ("db4", 3), ("bior3.3", 5), ("db20", 4),
                                    ("sym8", 8), ("db2", 13), ("haar", 16)):
                for most in (None, 1 << levels, 3 << levels):
                    with self.subTest(kind=kind, wavelet=wavelet, levels=levels):
                        forth, back = FORTH[kind](wavelet, levels), BACK[kind](wavelet,
                                                                               levels)
                        D = back.delay()
                        self.assertEqual(forth.delay(), D)
                        n = D + (3 << levels) + 5001
                        x = random_items(self.rng, kind, n)
                        y = there_and_back(forth, back, x, kind, most)
                        self.assertEqual(len(y), n >> levels << levels)
                        self.assertEqual(np.max(np.abs(y[:D]), initial=0) < 1e-5, True)
                        self.assert_close(y[D:], x[:len(y) - D], 1e-6)

    def test_delay(self):
        for wavelet, taps in (("haar", 2), ("db4", 8), ("coif17", 102)):
            for levels in (1, 5):
                self.assertEqual(cufilter.idwt_stream_ff(wavelet, levels).delay(),
                                 (taps - 2) * (2 ** levels - 1))

    def test_tags_stay_at_their_samples(self):
        x = random_items(self.rng, "f", 5000)
        at = [0, 2, 100, 1024, 3001]
        forth, back = cufilter.dwt_stream_ff("db4", 3), cufilter.idwt_stream_ff("db4", 3)
        y, tags = there_and_back(forth, back, x, "f", None, at)
        self.assertEqual(tags, [((t & ~1) + back.delay(), t) for t in at])

    def test_batches(self):
        x = random_items(self.rng, "f", 200000)
        whole = there_and_back(cufilter.dwt_stream_ff(), cufilter.idwt_stream_ff(), x, "f")
        parts = there_and_back(cufilter.dwt_stream_ff(batch_items=50000),
                               cufilter.idwt_stream_ff(batch_items=50000), x, "f")
        assert_same(self, whole, parts)

    def test_stream_goes_on(self):
        """A second run of the flowgraph continues; odd lengths keep the phase."""
        x = random_items(self.rng, "f", 3001)
        whole = decompose(cufilter.dwt_stream_ff("db4", 3), x, "f", 4)
        block = cufilter.dwt_stream_ff("db4", 3)
        first = decompose(block, x[:1003], "f", 4)
        second, tags = decompose(block, x[1003:], "f", 4, None, [0, 500])
        for i in range(4):
            assert_same(self, np.concatenate((first[i], second[i])), whole[i])
        for got, level in zip(tags, (3, 3, 2, 1)):
            self.assertEqual([t[0] for t in got],
                             [(1003 + t >> level) - (1003 >> level) for t in (0, 500)])

    def test_refused(self):
        for make in (*FORTH.values(), *BACK.values()):
            for arguments in (("db4", 0), ("db4", 17), ("db4", -1), ("db99", 1), ("", 1)):
                with self.assertRaises(ValueError, msg=arguments):
                    make(*arguments)
            with self.assertRaises(ValueError):
                make("db4", 3, device=-3)
            with self.assertRaises(ValueError):
                make("db4", 3, batch_items=-1)
            with self.assertRaises((ValueError, RuntimeError)):
                make("db4", 3, device=1000)


class Threshold(TestCase):
    def run_it(self, block, x, kind, vlen=1):
        sink, tb = SINKS[kind](vlen), gr.top_block()
        tb.connect(SOURCES[kind](x.tolist(), False, vlen), block, sink)
        tb.run()
        return np.array(sink.data(), DTYPES[kind])

    def test_values(self):
        for kind, make in (("f", cufilter.wavelet_threshold_ff),
                           ("c", cufilter.wavelet_threshold_cc)):
            for name in ("soft", "hard", "garrote"):
                for vlen in (1, 100):
                    x = random_items(self.rng, kind, 1000)
                    y = self.run_it(make(1.5, name, vlen), x, kind, vlen)
                    np.testing.assert_array_equal(y, cufilter.threshold(x, 1.5, name))
            self.assertEqual(np.count_nonzero(self.run_it(make(1e9), x, kind)), 0)

    def test_setter(self):
        block = cufilter.wavelet_threshold_ff(2)
        x = random_items(self.rng, "f", 100)
        block.set_threshold(0)
        np.testing.assert_array_equal(self.run_it(block, x, "f"), x)
        for bad in (-1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                block.set_threshold(bad)
        self.assertEqual(block.threshold(), 0)

    def test_refused(self):
        for arguments in ((-1,), (1, "medium"), (1, "soft", 0), (1, "soft", 1, -3),
                          (1, "soft", 1, -1, -1)):
            with self.assertRaises(ValueError, msg=arguments):
                cufilter.wavelet_threshold_ff(*arguments)


if __name__ == "__main__":
    main()
