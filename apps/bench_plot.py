#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Draws what cufilter-bench --json has written.

usage: cufilter-bench-plot RESULTS.json PICTURE.png

Mode device: each case's fraction of the copy roof, with its bar. Mode latency: the time of
calls by their length. Mode cpu: rates. As many of them as the file has.
"""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 (the backend is chosen before)


def draw_roof(axes, results):
    """A bar a case, from the top down in the order of the table."""
    names = [r["case"] for r in results]
    places = range(len(results), 0, -1)
    met = [r["bar"] == 0 or r["roof"] >= r["bar"] for r in results]
    axes.barh(places, [r["roof"] for r in results],
              color=["tab:blue" if good else "tab:red" for good in met])
    for place, result in zip(places, results):
        if result["bar"]:
            axes.plot([result["bar"]] * 2, [place - 0.45, place + 0.45], color="black")
    axes.set_yticks(list(places), names, fontsize=7)
    axes.set_xlim(0, 1)
    axes.set_xlabel("of the copy roof; black: the bar")
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.4)


def draw_rates(axes, results):
    places = range(len(results), 0, -1)
    axes.barh(places, [r["items_per_second"] * 1e-6 for r in results])
    axes.set_yticks(list(places), [r["case"] for r in results], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("million items a second")
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.4)


def draw_latency(axes, results):
    """Microseconds of a call against its items, a line a case."""
    for name in dict.fromkeys(r["case"] for r in results):
        calls = sorted((r["items"], r["seconds"] * 1e6) for r in results
                       if r["case"] == name)
        axes.loglog(*zip(*calls), marker=".", label=name)
    axes.set_xlabel("items a call, host memory to host memory")
    axes.set_ylabel("us a call")
    axes.grid(alpha=0.4)
    axes.legend(fontsize=6, ncol=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("results")
    parser.add_argument("picture")
    args = parser.parse_args()
    with open(args.results) as file:
        found = json.load(file)
    modes = {mode: [r for r in found["results"] if r["mode"] == mode]
             for mode in ("device", "latency", "cpu")}
    drawn = [(draw, modes[mode]) for draw, mode in
             ((draw_roof, "device"), (draw_latency, "latency"), (draw_rates, "cpu"))
             if modes[mode]]
    if not drawn:
        parser.error("%s holds no results of the modes device, latency or cpu" %
                     args.results)
    rows = max(len(modes["device"]), len(modes["cpu"]))
    figure, axes = pyplot.subplots(1, len(drawn), squeeze=False, layout="constrained",
                                   figsize=(7 * len(drawn), max(4, 0.16 * rows + 1)))
    for one, (draw, results) in zip(axes[0], drawn):
        draw(one, results)
    figure.suptitle("%s, copies %.0f GB/s" % (found["device"],
                                              found["copy_bytes_per_second"] * 1e-9))
    figure.savefig(args.picture, dpi=100)


if __name__ == "__main__":
    main()
