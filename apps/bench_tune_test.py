# SPDX-License-Identifier: GPL-3.0-or-later
"""cufilter-bench --tune on the CPU: its table and its file; and right results with the
extreme values of a profile.

usage: bench_tune_test.py CUFILTER-BENCH CUFILTER-INFO
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

OTHERS = ("format = 1\n\n[gpu Some GPU]\ndriver = 12.4\nfir.zero_copy_bytes = 5000\n\n"
          "[cpu Some CPU]\niir.spins = 9\n")


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "CUFILTER_PROFILE": "none", **environment})


def values():
    """{key: (in use, built in, least, most)} of the CPU."""
    lines = run(INFO, "--values").stdout.splitlines()[1:]
    return {line.split()[0]: tuple(map(float, line.split()[1:5])) for line in lines}


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.profile = os.path.join(folder.name, "new", "profile")
        self.cpu = re.search(r"^ +cpu +(.*?)  ", run(INFO).stdout, re.M)[1]

    def write(self, text):
        os.makedirs(os.path.dirname(self.profile), exist_ok=True)
        with open(self.profile, "w") as file:
            file.write(text)

    def read(self):
        with open(self.profile) as file:
            return file.read()

    def own(self):
        """{key: text} of this CPU's section."""
        sections = re.split(r"^\[(.*)\]\n", self.read(), flags=re.M)
        text = dict(zip(sections[1::2], sections[2::2])).get("cpu " + self.cpu, "")
        return dict(re.findall(r"^(\S+) = (\S+)$", text, re.M))

    def tune(self, *options, **environment):
        return run(BENCH, "--tune", "--device", "cpu", "--quick", *options, **environment)

    def test_table_and_file(self):
        """Of every key a line; of those that are faster a value, beside other devices'."""
        self.write(OTHERS + "\n[cpu %s]\ndwt.row_items = 64\n" % self.cpu)
        done = self.tune("--profile", self.profile)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()[1:-1]]
        known = values()
        self.assertEqual({line[0] for line in lines}, set(known))
        faster = {}
        for key, built_in, *rest in lines:
            self.assertEqual(float(built_in), known[key][1])
            if rest[-1] == "faster":
                value, gain, spread = rest[0], rest[1], rest[2]
                faster[key] = float(value)
                self.assertGreaterEqual(float(gain.rstrip("%")), float(spread.rstrip("%")))
            elif rest[-1] != "kept" and "measured" not in rest:
                self.assertEqual([float(v) for v in rest], [known[key][1]])
        self.assertEqual({k: float(v) for k, v in self.own().items()}, faster)
        self.assertIn(OTHERS.split("\n\n", 1)[1].rstrip(), self.read())
        info = run(INFO, CUFILTER_PROFILE=self.profile).stdout
        self.assertIn("CPU        " + (self.profile if faster else ""), info)
        for key, value in faster.items():
            self.assertRegex(info, r"%s = %.10g, built in" % (key, value))

    def test_some_keys(self):
        """Nothing is written where nothing is found; an old value is measured anew."""
        for there in (False, True):
            if there:
                self.write("format = 1\n[cpu %s]\ndwt.row_items = 64\n" % self.cpu)
            done = self.tune("--only", "iir.block", "--profile", self.profile)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"^key .*\niir.block_items +4032 +\d+.*\n.*\n$")
            if "faster" in done.stdout:
                self.assertEqual(list(self.own()), ["iir.block_items"])
            elif there:
                self.assertEqual(self.own(), {})
            else:
                self.assertFalse(os.path.exists(self.profile))
                self.assertIn("nothing is written", done.stdout)

    def test_place(self):
        place = {"HOME": "", "XDG_CONFIG_HOME": self.folder, "CUFILTER_PROFILE": ""}
        done = self.tune("--only", "iir.block", **place)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = os.path.join(self.folder, "cufilter", "profile")
        self.assertEqual("faster" in done.stdout, os.path.exists(file))

    def test_failures(self):
        self.write("text")
        for options, status, words in (
                ((), 2, "--profile FILE"),
                (("--only", "no.key", "--profile", self.profile), 1, "no key"),
                (("--only", "iir.block", "--profile", self.profile + "/x"), None, "")):
            done = self.tune(*options)
            if status is None:  # where something is to be written
                self.assertEqual(done.returncode, "faster" in done.stdout, done.stderr)
            else:
                self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(self.read(), "text")

    def check(self, *options, status=0):
        done = run(BENCH, "--check", "--device", "cpu", *options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_extreme_values_are_right(self):
        for which in (2, 3):
            self.write("format = 1\n[cpu %s]\n%s" % (self.cpu, "".join(
                "%s = %.10g\n" % (key, v[which]) for key, v in values().items())))
            done = self.check("--profile", self.profile)
            self.assertNotIn("profile", done.stderr)
            self.assertIn("right", done.stdout)

    def test_profiles_to_use(self):
        self.write("format = 1\n[cpu %s]\niir.spins = many\n" % self.cpu)
        done = self.check("--only", "iir 4", "--profile", self.profile)
        self.assertRegex(done.stderr, 'line 3: iir.spins must be .* not "many"')
        self.write("format = 7\n")
        done = self.check("--only", "iir 4", "--profile", self.profile, status=2)
        self.assertIn("format must be 1", done.stderr)
        done = self.check("--only", "iir 4", "--profile", self.profile + "x", status=2)
        self.assertIn("cannot be opened", done.stderr)


if __name__ == "__main__":
    INFO = sys.argv.pop(2)
    BENCH = sys.argv.pop(1)
    unittest.main()
