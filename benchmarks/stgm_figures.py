"""Figures 4 and 5 of [RTCSA19] with 10,000 sets per test and point, and their times.

Writes a table and a picture for each figure, for three readings of Table I and of the GPU that a
lock or a server is given (gs.experiments.STGM_READINGS), with the statements of the paper; the
effect of everything else that the paper leaves open, how often the allocator misses an allocation
(a fifth of the sets), and the times.

    python benchmarks/stgm_figures.py [--save] [--count N]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from machine import describe

from gpusched import experiments
from gpusched._draw import axes as plot

RESULTS = Path(__file__).parent / "results"
FIGURES = {
    "stgm_fig4": lambda count: experiments.stgm_fig4(count=count),
    "stgm_fig4_same": lambda count: experiments.stgm_fig4(count=count, baselines="same"),
    "stgm_fig4_13": lambda count: experiments.stgm_fig4(count=count, sets={"at": 13}),
    "stgm_fig5": lambda count: experiments.stgm_fig5(count=count),
    "stgm_fig5_same": lambda count: experiments.stgm_fig5(count=count, baselines="same"),
    "stgm_fig5_13": lambda count: experiments.stgm_fig5(count=count, sets={"at": 13}),
    "stgm_options": lambda count: experiments.stgm_options(count=count),
    "stgm_allocators": lambda count: experiments.stgm_allocators(count=-(-count // 5)),
    "stgm_allocators_busy": lambda count: experiments.stgm_allocators(
        count=-(-count // 5), mode="busy"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep tables, pictures and times")
    parser.add_argument("--count", type=int, default=10_000, help="task sets per point")
    options = parser.parse_args()
    lines = [
        describe(),
        f"{options.count:,} sets a point, seed 1, 4 cores, 14 tests; seconds of wall time with",
        f"{len(os.sched_getaffinity(0))} workers, and of processor time",
        "",
    ]
    for name, draw in FIGURES.items():
        wall, busy = time.perf_counter(), time.process_time()
        table = draw(options.count)
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        lines.append(f"{name:<20} {wall:7.1f} {busy:7.1f}")
        print(lines[-1], flush=True)
        if options.save:
            table.save_csv(RESULTS / f"{name}.csv")
            axes = table.plot()
            figure = axes[0].figure if hasattr(axes, "__len__") else axes.figure
            plot.save_figure(figure, RESULTS / f"{name}.png", dpi=110)
        if hasattr(table, "to_text"):
            lines += ["", table.to_text()]
            rows = zip(*list(table.observations().columns.values())[1:], strict=True)
            for says, holds, numbers in rows:
                lines += [f"  {'holds' if holds else 'DOES NOT HOLD'}: {says}", f"    {numbers}"]
            lines.append("")
    text = "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"
    print(text)
    if options.save:
        (RESULTS / "stgm_figures.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
