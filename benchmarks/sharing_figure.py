"""All ways of sharing a GPU on the same random systems; results/sharing.txt and sharing.png.

python benchmarks/sharing_figure.py [--count 200] [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from machine import describe

from gpusched import experiments
from gpusched._draw import axes as plot

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="systems per point")
    parser.add_argument("--save", action="store_true", help="keep the table and the picture")
    options = parser.parse_args()
    began = time.perf_counter()
    table = experiments.sharing(count=options.count)
    text = f"Ways of sharing an A100, {describe()}\n{table.to_text()}"
    print(text, f"{time.perf_counter() - began:.0f} s", sep="")
    if options.save:
        (RESULTS / "sharing.txt").write_text(text)
        plot.save_figure(table.plot().flat[0].figure, RESULTS / "sharing.png", dpi=110)


if __name__ == "__main__":
    main()
