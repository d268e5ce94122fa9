# SPDX-License-Identifier: GPL-3.0-or-later
"""cufilter-bench and its companions on the CPU: options, files, the comparison, what the
peers compute, pictures.

usage: bench_test.py CUFILTER-BENCH
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import matplotlib.colors
import matplotlib.image
import numpy as np

import bench_common
import bench_peers

FOLDER = os.path.dirname(os.path.abspath(__file__))


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def bench(self, *options):
        return subprocess.run([BENCH, *options], capture_output=True, text=True)

    def companion(self, name, *options, path=""):
        paths = os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-B", os.path.join(FOLDER, "bench_%s.py" % name), *options],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})

    def json(self, name):
        with open(self.path(name)) as file:
            return json.load(file)

    def draw(self, results):
        """The picture of a file; its pixels in [0, 1]."""
        picture = self.path("picture.png")
        done = self.companion("plot", results, picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        return matplotlib.image.imread(picture)[..., :3]

    def share_of(self, picture, color):
        """Of the pixels, those of that color."""
        there = np.abs(picture - matplotlib.colors.to_rgb(color)).max(axis=-1) < 0.02
        return there.mean()


class Bench(InFolder):

    def test_bad_options(self):
        for options in (("--device", "-3"), ("--device", "x"), ("--mode", "fast"),
                        ("--nonsense",), ("a file",), ("--device", "99"),
                        ("--items", "0"), ("--items", "-1"), ("--items", "4k"),
                        ("--threshold", "x"), ("--threshold", "1"), ("--core", "fur"),
                        ("--case", "iir"), ("--device", "cpu", "--only", "8192",
                                            "--mode", "latency")):
            done = self.bench(*options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertTrue(done.stderr, options)

    def test_list(self):
        done = self.bench("--list")
        self.assertEqual(done.returncode, 0)
        names = [line[:22].strip() for line in done.stdout.splitlines()]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("pfb 1024 /512", names)

    def results(self, *options):
        done = self.bench("--device", "cpu", "--json", self.path("r.json"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.json("r.json")["results"], done.stdout

    def test_case_table(self):
        listed = [line[:22].strip() for line in self.bench("--list").stdout.splitlines()]
        done = self.bench("--list", "--json", self.path("cases.json"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        cases = {c["case"]: c for c in self.json("cases.json")["cases"]}
        self.assertEqual(list(cases), listed)
        one = cases["pfb 1024 /512"]
        self.assertEqual([one[k] for k in ("core", "channels", "decimation", "taps")],
                         ["pfb", 1024, 512, 12288])
        for case in cases.values():
            if case["core"] == "iir":
                self.assertEqual(len(case["sos"]), case["order"] // 2 * 6)
                self.assertEqual(set(case["sos"][3::6]), {1})
                self.assertLess(max(case["sos"][5::6]), 1)  # squared radii of poles
            if case["core"] == "dwt":  # low and high pass
                self.assertAlmostEqual(sum(case["dec_lo"]), 2 ** 0.5, places=9)
                self.assertAlmostEqual(sum(case["dec_hi"]), 0, places=9)

    def test_calls_of_a_size(self):
        for case in ("iir 2", "dwt db4 L5 symmetric"):
            found, _ = self.results("--case", case, "--items", "5000")
            self.assertEqual([(r["case"], r["mode"], r["items"]) for r in found],
                             [(case, "cpu", 5000), (case, "latency", 5000)])
        found, said = self.results("--case", "pfb 4096 /4096", "--mode", "latency")
        self.assertEqual([r["items"] for r in found],
                         [4096 << 2 * i for i in range(5)])
        found, _ = self.results("--case", "pfb 1024 /512", "--mode", "latency")
        self.assertEqual([r["items"] for r in found], [1024 << 2 * i for i in range(6)])
        self.assertIn("not measured: too few items", said)

    def test_json_compare_and_picture(self):
        first, faster = map(self.path, ("a.json", "b.json"))
        run = ("--device", "cpu", "--mode", "device", "--only", "iir 2")
        done = self.bench(*run, "--json", first)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.json("a.json")
        self.assertEqual([r["case"] for r in found["results"]],
                         ["iir 2", "iir 2 slow", "iir 2 x 2048"])
        for result in found["results"]:
            self.assertAlmostEqual(result["items_per_second"],
                                   result["items"] / result["seconds"],
                                   delta=1e-4 * result["items_per_second"])
        # Against figures that no CPU reaches, and against ones that every CPU does.
        for factor, slower in ((1e6, 3), (1e-6, 0)):
            with open(first) as file:
                lines = file.readlines()
            with open(faster, "w") as file:
                for line in lines:
                    if line.startswith('{"case"'):
                        result = json.loads(line.rstrip(",\n"))
                        result["items_per_second"] *= factor
                        line = json.dumps(result) + ",\n"
                    file.write(line)
            done = self.bench(*run, "--compare", faster)
            self.assertEqual(done.returncode, int(slower > 0), done.stdout)
            self.assertIn("%d slower" % slower, done.stdout)
        self.assertGreater(self.share_of(self.draw(first), "tab:blue"), 0.05)

    def test_file_of_another_run(self):
        done = self.bench("--device", "cpu", "--case", "iir 4", "--compare",
                          self.path("none.json"))
        self.assertEqual(done.returncode, 1)


class Peers(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.cases = bench_common.bench_json(BENCH, "--list")["cases"]
        cls.peers, cls.missing = bench_peers.peers_of(-1, None)

    def test_what_they_compute(self):
        """Every way of every peer at hand against the cases' formulas."""
        for name in ("scipy", "pywt"):
            if name in self.missing:
                print("not looked at: %s, %s" % (name, self.missing[name]))
                continue
            n = 0
            for case in self.cases:
                for way in self.peers[name].ways(case):
                    with self.subTest(peer=name, case=case["case"], way=way.function):
                        off = bench_peers.check(self.peers[name], way, case)
                        self.assertLess(off, 2e-3 if "slow" in case["case"] else 3e-6)
                        n += 1
            self.assertGreater(n, 10)

    def test_what_they_do_not_compute(self):
        """A filter that is another one is seen."""
        class Wrong(bench_peers.Peer):
            def ways(self, case):
                return [bench_peers.Way(
                    "wrong", lambda x: lambda: 1.02 * x[::case["decimation"]],
                    lambda y, x: (y, x[::case["decimation"]]))]
        case = next(c for c in self.cases if c["core"] == "fir")
        (row, _), = bench_peers.rows_of_arrays(case, "wrong", Wrong(), 1000)
        self.assertIn("something else", row.failure)
        self.assertEqual(bench_peers.difference(np.zeros(3), np.zeros(4)), float("inf"))

    def test_ratio_and_bar(self):
        row = bench_peers.Row({"case": "iir 16", "core": "iir"}, "scipy",
                              bench_peers.Peer(), "sosfilt", 1000, 6)
        row.peer.version = "1"
        for theirs, ours in ((6e-6, 1.1e-6), (5e-6, 1e-6), (4e-6, 0.9e-6)):
            row.measure(lambda theirs=theirs, ours=ours: (theirs, ours))
        result = row.result()
        self.assertAlmostEqual(result["ratio"], 5)
        self.assertAlmostEqual(result["items_per_second"], 2e5)
        self.assertAlmostEqual(result["ours"], 1e6)
        self.assertAlmostEqual(result["spread"], 0.4)
        self.assertEqual(bench_peers.bar_of("scipy", {"case": "iir 16"}), 6)

        def fails():
            raise MemoryError("of the device\nsecond line")
        row.measure(fails)
        self.assertEqual((len(row.theirs), row.failure),
                         (3, "MemoryError: of the device"))

    def test_run(self):
        """With a peer that cannot be imported and some that are for GPUs."""
        os.mkdir(self.path("pywt"))
        with open(self.path("pywt/__init__.py"), "w") as file:
            file.write("raise ImportError('broken on purpose')")
        done = self.companion("peers", "--bench", BENCH, "--device", "cpu", "--case",
                              "iir 2", "--runs", "1", "--json", self.path("p.json"),
                              path=os.path.dirname(self.path("pywt")))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in ("pywt: not installed: broken on purpose", "cupy: set beside a GPU",
                     "torch: set beside a GPU"):
            self.assertIn(line, done.stdout)
        found = self.json("p.json")
        self.assertEqual(set(found["missing"]) - set(self.missing), {"pywt"})
        self.assertEqual([r["mode"] for r in found["results"]][0], "cpu")
        beside = found["results"][1:]
        self.assertEqual({r["peer"]: r["version"] for r in beside},
                         {k: v for k, v in found["peers"].items()})
        for result in beside:
            self.assertAlmostEqual(result["ratio"], result["ours"] /
                                   result["items_per_second"], places=6)
        if "scipy" in found["peers"]:
            self.assertGreater(self.share_of(self.draw(self.path("p.json")), "C0"), 0.05)

    def test_no_such_peer_or_case(self):
        for options in (("--peer", "matlab"), ("--case", "iir 3"), ("--device", "x")):
            done = self.companion("peers", "--bench", BENCH, *options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertTrue(done.stderr, options)


class Flowgraph(InFolder):
    def test_run(self):
        done = self.companion("flowgraph", "--bench", BENCH, "--devices", "-1", "--case",
                              "iir 2", "--runs", "1", "--seconds", "0.05",
                              "--batch-items", "65536", "--json", self.path("f.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = self.json("f.json")["results"]
        self.assertEqual(len(found), 8)  # a copy, stock's and two of ours; two buffers
        rates = {(r["block"], r["on"], r["items"]): r["items_per_second"] for r in found}
        for result in found:
            rate, batch = result["items_per_second"], result["items"]
            self.assertIn(batch, (0, 65536))
            if result["on"] == "CPU":
                stock = rates["iir_filter_ffd", "GNU Radio", batch]
                self.assertAlmostEqual(result["of_stock"], rate / stock, places=6)
            if result["on"] != "copy":
                copy = rates["copy", "copy", batch]
                self.assertAlmostEqual(result["of_copy"], rate / copy, places=6)
        self.assertGreater(self.share_of(self.draw(self.path("f.json")), "C1"), 0.02)


class Plot(InFolder):
    def test_files_without_results(self):
        for text in ("", "{}", '{"device": "CPU", "results": []}',
                     '{"device": "CPU", "results": [{"case": "a", "mode": "check"}]}'):
            with open(self.path("x.json"), "w") as file:
                file.write(text)
            done = self.companion("plot", self.path("x.json"), self.path("x.png"))
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("results", done.stderr)
            self.assertFalse(os.path.exists(self.path("x.png")))

    def test_bars_met_and_missed(self):
        one = {"mode": "device", "core": "dwt", "roof": 0.5, "items_per_second": 1e9}
        bench_common.write_json(
            self.path("r.json"), [{**one, "case": "met", "bar": 0.4},
                                  {**one, "case": "missed", "bar": 0.6}],
            device="a GPU", copy_bytes_per_second=4e12)
        picture = self.draw(self.path("r.json"))
        met, missed = (self.share_of(picture, c) for c in ("tab:blue", "tab:red"))
        self.assertGreater(met, 0.05)
        self.assertAlmostEqual(met, missed, delta=0.01)


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
