#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Draws the files that cufilter-bench, cufilter-bench-peers and cufilter-bench-flowgraph
write with --json.

usage: cufilter-bench-plot RESULTS.json PICTURE.png

As many panels as the file has results for: each case's fraction of the copy roof with its
bar (mode device), rates (cpu, pinned), rates against taps, channels or order, the time of
calls by their length (latency), how many times as fast as each peer, and blocks in a
flowgraph as parts of a copy.
"""

import argparse
import json
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 (the backend is chosen before)

CALLS = ("device", "pinned", "cpu")


def draw_bars(axes, names, values, **keywords):
    """From the top down in the order of the table; returns the places."""
    places = range(len(names), 0, -1)
    axes.barh(places, values, **keywords)
    axes.set_yticks(list(places), names, fontsize=7)
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.4)
    return places


def draw_marks(axes, places, values):
    for place, value in zip(places, values):
        if value:
            axes.plot([value] * 2, [place - 0.45, place + 0.45], color="black")


def colors(met):
    return ["tab:blue" if good else "tab:red" for good in met]


def draw_roof(axes, results):
    places = draw_bars(axes, [r["case"] for r in results], [r["roof"] for r in results],
                       color=colors(r["roof"] >= r["bar"] for r in results))
    draw_marks(axes, places, [r["bar"] for r in results])
    axes.set_xlim(0, 1)
    axes.set_xlabel("of the copy roof; black: the bar")


def draw_rates(axes, results):
    draw_bars(axes, [r["case"] for r in results],
              [r["items_per_second"] * 1e-6 for r in results])
    axes.set_xscale("log")
    axes.set_xlabel("million items a second")


def sweep_of(result):
    """(the line that it belongs to, how far along), or None."""
    core, data = result.get("core"), "complex" if result.get("complex_data") else "float"
    ratio = result.get("channels", 1) / result.get("decimation", 1)
    if core == "fir" and result["decimation"] == 1:
        return "FIR, %s: taps" % data, result["taps"]
    if core == "pfb" and not result["channel_major"] and ratio in (1, 2):
        return "filter bank%s: channels" % (", twice" * (ratio == 2)), result["channels"]
    if core == "iir" and result["channels"] == 1 and "slow" not in result["case"]:
        return "IIR, %s: order" % data, result["order"]
    return None


def sweeps_of(results):
    """The lines of three points and more."""
    lines = {}
    for result in results:
        found = sweep_of(result) if result["mode"] in CALLS else None
        if found:
            lines.setdefault((found[0], result["mode"]), []).append(
                (found[1], result["items_per_second"] * 1e-6))
    return {"%s (%s)" % key: sorted(points) for key, points in lines.items()
            if len({x for x, _ in points}) > 2}


def draw_sweeps(axes, results):
    for name, points in sweeps_of(results).items():
        axes.loglog(*zip(*points), marker=".", label=name)
    axes.set_xlabel("size")
    axes.set_ylabel("million items a second")
    axes.grid(alpha=0.4)
    axes.legend(fontsize=7)


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


def draw_peers(axes, results):
    """A color a peer; what misses its bar is marked in its name."""
    peers = list(dict.fromkeys(r["peer"] for r in results))
    places = draw_bars(
        axes, ["%s, %s%s" % (r["case"], r["function"], " !" * (r["ratio"] < r["bar"]))
               for r in results], [r["ratio"] for r in results],
        color=["C%d" % peers.index(r["peer"]) for r in results])
    draw_marks(axes, places, [r["bar"] for r in results])
    axes.axvline(1, color="gray", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as the peer; black: the bar")
    axes.legend(handles=[pyplot.Rectangle((0, 0), 1, 1, color="C%d" % i, label=peer)
                         for i, peer in enumerate(peers)], fontsize=7)


def draw_flowgraph(axes, results):
    """Blocks with default buffers and with larger ones, below each other."""
    places = list(dict.fromkeys(r["on"] for r in results))
    draw_bars(axes, ["%s, %s, %s" % (r["case"], r["on"], r["items"] or "default")
                     for r in results], [r["of_copy"] for r in results],
              color=["C%d" % places.index(r["on"]) for r in results])
    axes.axvline(1, color="gray", linewidth=1)
    axes.set_xlabel("of a copy in the same flowgraph")


def panels_of(results):
    """(draw, its results, bars that it has) for what there is."""
    modes = {}
    for result in results:
        modes.setdefault(result["mode"], []).append(result)
    blocks = [r for r in modes.get("flowgraph", []) if "of_copy" in r]
    panels = [(draw_roof, modes.get("device"), True)]
    panels += [(draw_rates, modes.get(mode), True) for mode in ("pinned", "cpu")]
    panels += [(draw_sweeps, results if sweeps_of(results) else None, False),
               (draw_latency, modes.get("latency"), False),
               (draw_peers, modes.get("peer"), True), (draw_flowgraph, blocks, True)]
    return [panel for panel in panels if panel[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("results")
    parser.add_argument("picture")
    args = parser.parse_args()
    try:
        with open(args.results) as file:
            found = json.load(file)
        panels = panels_of(found["results"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit("%s is not a file of results: %s" % (args.results, error))
    if not panels:
        sys.exit("%s holds no results that can be drawn" % args.results)
    rows = max([len(results) for _, results, bars in panels if bars], default=0)
    figure, axes = pyplot.subplots(1, len(panels), squeeze=False, layout="constrained",
                                   figsize=(7 * len(panels), max(4, 0.16 * rows + 1)))
    for one, (draw, results, _) in zip(axes[0], panels):
        draw(one, results)
    copies = found.get("copy_bytes_per_second")
    figure.suptitle(found["device"] + (", copies %.0f GB/s" % (copies * 1e-9) if copies
                                       else ""))
    figure.savefig(args.picture, dpi=100)


if __name__ == "__main__":
    main()
