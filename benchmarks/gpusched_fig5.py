"""Figure 5 of [RTNS24] at full size: times by the part that decided, and sizes of the graph.

Writes tables and pictures of the three panels: a with the exact methods, b with the listing beside
the interval engine, c with the repaired graph and as the paper counts it (the listing, and without
merging a vertex for each order of submission). Prints what makes the slow sets of a slow. Some
minutes on one core.

    python benchmarks/gpusched_fig5.py [--save]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

from gpusched import experiments, pbs
from gpusched._draw import axes as plot
from gpusched._support.arguments import spawn
from gpusched.experiments.gpusched_figures import UTILIZATIONS, draw_sets, draw_tables

RESULTS = Path(__file__).parent / "results"
FIGURES: dict[str, dict[str, Any]] = {
    "gpusched_fig5a": {"panel": "a"},
    "gpusched_fig5b": {"panel": "b", "variant": "paper"},
    "gpusched_fig5c": {"panel": "c"},
    "gpusched_fig5c_paper": {"panel": "c", "variant": "paper", "orders": True},
}


def stages(table: Any) -> list[str]:
    """Times of the interval engine by the part of it that decided, at every utilization."""
    rows = table.where(method="interval")
    lines = ["5a, interval engine: part that decided, sets, schedulable, median and largest us"]
    for stage in dict.fromkeys(rows["stage"].tolist()):
        part = rows.where(stage=stage)
        seconds = part["seconds"] * 1e6
        share = np.mean(part["schedulable"] == 1)
        lines.append(
            f"{stage:<14} {len(seconds):5} {share:6.2f} {np.median(seconds):9.1f} "
            f"{seconds.max():9.1f}"
        )
    return lines


def repeated() -> list[str]:
    """Times of the sets of 5a, the least of five runs, which leaves out interruptions."""
    lines = [
        "5a again, least of five runs: utilization, median and largest us, part of the largest"
    ]
    for index, utilization in enumerate(UTILIZATIONS):
        seed = spawn(spawn(1), index)
        tasks = draw_sets(5, utilization, 50, 0, seed)
        table = draw_tables(tasks, "large", 0, seed)
        runs = [pbs.search(tasks, table) for _ in range(5)]
        seconds = np.min([run.seconds for run in runs], axis=0) * 1e6
        worst = int(seconds.argmax())
        lines.append(
            f"{utilization:4.1f} {np.median(seconds):9.1f} {seconds.max():9.1f} "
            f"{runs[0].stage[worst]}"
        )
    return lines


def sizes(name: str, table: Any) -> list[str]:
    lines = [f"{name}: vertices with 14 executed jobs, and of all depths (mean, largest)"]
    for merging in (True, False):
        rows = table.where(merging=merging)
        mean, most = rows["vertices"], rows["vertices_max"]
        lines.append(
            f"{'merging' if merging else 'no merging':<11} {mean[-1]:12.1f} {most[-1]:12.0f} "
            f"{mean.sum():12.1f}   (budget spent: {rows['cut'][0]:.0%} of the sets)"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep tables, pictures and text")
    save = parser.parse_args().save
    lines = [describe(), "50 sets a point (20 in b), seed 1, one worker", ""]
    for name, options in FIGURES.items():
        table = experiments.gpusched_fig5(**options)
        lines += [*stages(table), *repeated()] if name.endswith("a") else []
        lines += sizes(name, table) if "5c" in name else []
        if save:
            table.save_csv(RESULTS / f"{name}.csv")
            plot.save_figure(table.plot().figure, RESULTS / f"{name}.png", dpi=110)
    text = "\n".join(lines) + "\n"
    print(text)
    if save:
        (RESULTS / "gpusched_fig5.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
