# SPDX-License-Identifier: GPL-3.0-or-later
"""cufilter-bench on the CPU: its options, its files, the comparison and the picture.

usage: bench_test.py CUFILTER-BENCH
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PLOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_plot.py")


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def bench(self, *options):
        return subprocess.run([BENCH, *options], capture_output=True, text=True)

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
        with open(self.path("r.json")) as file:
            return json.load(file)["results"], done.stdout

    def test_case_table(self):
        listed = [line[:22].strip() for line in self.bench("--list").stdout.splitlines()]
        done = self.bench("--list", "--json", self.path("cases.json"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        with open(self.path("cases.json")) as file:
            cases = {c["case"]: c for c in json.load(file)["cases"]}
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
        found, _ = self.results("--case", "iir 2", "--items", "5000")
        self.assertEqual([(r["mode"], r["items"]) for r in found],
                         [("cpu", 5000), ("latency", 5000)])
        found, said = self.results("--case", "pfb 4096 /4096", "--mode", "latency")
        self.assertEqual([r["items"] for r in found],
                         [4096 << 2 * i for i in range(5)])
        self.assertIn("not measured: too few items", said)

    def test_json_compare_and_picture(self):
        first, faster, picture = map(self.path, ("a.json", "b.json", "a.png"))
        run = ("--device", "cpu", "--mode", "device", "--only", "iir 2")
        done = self.bench(*run, "--json", first)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(first) as file:
            found = json.load(file)
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
        done = subprocess.run([sys.executable, "-B", PLOT, first, picture],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_file_of_another_run(self):
        done = self.bench("--device", "cpu", "--case", "iir 4", "--compare",
                          self.path("none.json"))
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
