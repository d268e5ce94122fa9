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
                        ("--nonsense",), ("a file",), ("--device", "99")):
            done = self.bench(*options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertTrue(done.stderr, options)

    def test_list(self):
        done = self.bench("--list")
        self.assertEqual(done.returncode, 0)
        names = [line[:22].strip() for line in done.stdout.splitlines()]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("pfb 1024 /512", names)

    def test_json_compare_and_picture(self):
        first, faster, picture = map(self.path, ("a.json", "b.json", "a.png"))
        done = self.bench("--device", "cpu", "--only", "iir 2", "--json", first)
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
            done = self.bench("--device", "cpu", "--only", "iir 2", "--compare", faster)
            self.assertEqual(done.returncode, int(slower > 0), done.stdout)
            self.assertIn("%d slower" % slower, done.stdout)
        done = subprocess.run([sys.executable, "-B", PLOT, first, picture],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_file_of_another_run(self):
        done = self.bench("--device", "cpu", "--only", "iir 4", "--compare",
                          self.path("none.json"))
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
