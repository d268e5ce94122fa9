# SPDX-License-Identifier: GPL-3.0-or-later
"""What the companions of cufilter-bench share: its case table, its options, the
statistics of rounds, aligned tables and files of results."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile


def bench_program(given=None):
    """cufilter-bench: as given, else beside the program that runs, else on the PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "cufilter-bench")
    found = given or (beside if os.path.exists(beside) else
                      shutil.which("cufilter-bench"))
    if not found:
        sys.exit("no cufilter-bench on the PATH; name it with --bench")
    return found


def bench_json(program, *options):
    """What cufilter-bench writes with these options."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        done = subprocess.run([program, "--json", path, *options], capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit("%s %s: %s" % (program, " ".join(options),
                                    done.stderr or done.stdout))
        with open(path) as file:
            return json.load(file)


def parser_of(description):
    parser = argparse.ArgumentParser(description=description.strip().split("\n\n")[0])
    parser.add_argument("--bench", help="path of cufilter-bench, whose cases these are")
    parser.add_argument("--core", choices=("fir", "pfb", "iir", "dwt"))
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--case", help="the case of this name")
    parser.add_argument("--runs", type=int, default=3, help="rounds; their median counts")
    parser.add_argument("--json", help="file of the results, one a line")
    return parser


def wanted(args, core, name):
    return (args.core in (None, core) and args.only in name and
            args.case in (None, name))


def cases_of(args):
    table = bench_json(bench_program(args.bench), "--list")["cases"]
    return [case for case in table if wanted(args, case["core"], case["case"])]


def median_and_spread(values):
    """The spread is the distance of the extremes, as a part of the median."""
    middle = statistics.median(values)
    return middle, (max(values) - min(values)) / middle


def print_table(head, rows, left):
    """Columns of text as wide as what they hold, the first `left` of them to the left."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    for row in [head] + rows:
        print("  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def progress(done, total, what):
    if sys.stderr.isatty():
        filled = 30 * done // max(total, 1)
        print("\r[%-30s] %d/%d %-40.40s" % ("#" * filled, done, total, what),
              end="" if done < total else "\r%79s\r" % "", file=sys.stderr, flush=True)


def write_json(path, results, **head):
    """As cufilter-bench does: one result a line."""
    with open(path, "w") as file:
        file.write("{%s, \"results\": [\n" % json.dumps(head)[1:-1])
        file.write(",\n".join(json.dumps(result) for result in results))
        file.write("\n]}\n")
