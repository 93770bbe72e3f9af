"""Figures 8 and 9 of [ECRTS24]; results/gcaps_figures.txt and gcaps_utilization.png.

About a minute with 1,000 sets a point.

    python benchmarks/gcaps_figures.py [--count 1000] [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from machine import describe

from gpusched import experiments
from gpusched._draw import axes as plot

RESULTS = Path(__file__).parent / "results"
PARAMETERS = ("utilization", "gpu_ratio", "gpu_share", "tasks", "cpus")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="sets per point")
    parser.add_argument("--save", action="store_true", help="keep the tables and a picture")
    options = parser.parse_args()
    began = time.perf_counter()
    tables = {name: experiments.gcaps_fig8(name, count=options.count) for name in PARAMETERS}
    parts = [f"A context per task, or a lock, {describe()}"]
    parts += [table.to_text() for table in tables.values()]
    parts.append(
        "published for 100 sets of 6 tasks per core: "
        + ", ".join(
            f"{name} {100 * share:g} %" for name, share in experiments.GCAPS_PUBLISHED.items()
        )
    )
    text = "\n".join(parts) + "\n"
    print(text, f"{time.perf_counter() - began:.0f} s", sep="")
    if options.save:
        (RESULTS / "gcaps_figures.txt").write_text(text)
        figure = tables["utilization"].plot().flat[0].figure
        plot.save_figure(figure, RESULTS / "gcaps_utilization.png", dpi=110)


if __name__ == "__main__":
    main()
