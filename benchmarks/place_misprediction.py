"""Figure 3 of [RTAS20] at full size, and the time of placement.

7,000 launch configurations with 2 to 8 streams, a kernel of 1 to 4 blocks in each, and 1 to 1,024
threads per block. The paper compares round robin with a Xavier: its rate grows with the streams to
96 %. Here the GPU is the most-room rule, so the figures say how far the models are apart, not how
far they are from a GPU. Both readings of "1 to 4 blocks per kernel": a number for each kernel, or
one for all kernels of a launch.

    python benchmarks/place_misprediction.py [--save]       # about half a minute
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np

import gpusched as gs

RESULT = Path(__file__).parent / "results" / "place_misprediction.txt"
MODELS = ("round_robin", "olmedo")


def misprediction(count: int, seed: int) -> list[str]:
    """The share of launch configurations that a model places otherwise than most_room does."""
    lines = []
    for grids in ("each", "equal"):
        table = gs.experiments.olmedo_fig3(count, models=MODELS, grids=grids, seed=seed)
        lines += [
            f"Xavier, {7 * count:,} launch configurations, grids={grids!r}, seed {seed}:",
            "                all configurations     those placed at once",
            "  streams  " + "  ".join(f"{model:>11}" for model in 2 * MODELS) + "   share of these",
        ]
        for streams in range(2, 9):
            rows = [table.where(streams=streams, model=model) for model in MODELS]
            rates = [row[name][0] for name in ("rate", "placed_rate") for row in rows]
            cells = "  ".join(f"{100 * rate:9.1f} %" for rate in rates)
            lines.append(f"  {streams:7}  {cells}   {100 * rows[0]['placed'][0]:12.1f} %")
        lines.append("")
    return lines


def speed(gpu: gs.GPU, rounds: int) -> list[str]:
    """Blocks per second of one place() that fills a GPU with blocks of 64 threads."""
    capacity = gpu.sms * gs.occupancy(gpu, 64)
    lines = [f"{gpu.name}, one kernel of {capacity:,} blocks in each call:"]
    for placement in ("most_room", *MODELS):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            gs.place(gpu, capacity, 64, placement=placement)
            seconds.append(time.perf_counter() - start)
        rate = capacity / float(np.median(seconds)) / 1e6
        lines.append(f"  {placement:11}  {rate:7.1f} million blocks/s")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    parser.add_argument("--configurations", type=int, default=1000, help="per number of streams")
    parser.add_argument("--seed", type=int, default=2020)
    options = parser.parse_args()
    lines = [
        "Placements that differ from those of the most-room rule ([RTAS20], Figure 3, has round",
        "robin against a Xavier: up to 96 %).",
        "",
        *misprediction(options.configurations, options.seed),
        f"Speed (Python {platform.python_version()}, {platform.machine()}, one thread, median):",
        *speed(gs.GPU.preset("A100"), 200),
    ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text)


if __name__ == "__main__":
    main()
