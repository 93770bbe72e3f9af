"""Mispredictions of simple models of block placement, and the time of placement.

Figure 3 of [RTAS20] compares round robin with a Xavier, for 7,000 launch configurations
with 2 to 8 streams, a kernel of 1 to 4 blocks in each, and 1 to 1,024 threads per block; its rate
grows with the streams to 96 %. Here the GPU is the most-room rule, so the figures say how far the
models are apart, not how far they are from a GPU.

    python benchmarks/place_misprediction.py [--save]
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


def misprediction(gpu: gs.GPU, per_count: int, seed: int) -> list[str]:
    """The share of launch configurations that a model places otherwise than most_room does."""
    rng = np.random.default_rng(seed)
    lines = [
        f"{gpu.name}, {7 * per_count:,} launch configurations, seed {seed}:",
        "  streams  " + "  ".join(f"{model:>11}" for model in MODELS) + "   not all at once",
    ]
    for streams in range(2, 9):
        wrong = dict.fromkeys(MODELS, 0)
        waiting = 0
        for _ in range(per_count):
            blocks = rng.integers(1, 5, streams)
            threads = rng.integers(1, 1025, streams)
            real = gs.place(gpu, blocks, threads)
            waiting += not real.all_placed
            for model in MODELS:
                predicted = gs.place(gpu, blocks, threads, policy=model)
                wrong[model] += not np.array_equal(real.sm, predicted.sm)
        rates = "  ".join(f"{100 * wrong[model] / per_count:9.1f} %" for model in MODELS)
        lines.append(f"  {streams:7}  {rates}   {100 * waiting / per_count:13.1f} %")
    return lines


def speed(gpu: gs.GPU, rounds: int) -> list[str]:
    """Blocks per second of one place() that fills a GPU with blocks of 64 threads."""
    capacity = gpu.sms * gs.occupancy(gpu, 64)
    lines = [f"{gpu.name}, one kernel of {capacity:,} blocks in each call:"]
    for policy in ("most_room", *MODELS):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            gs.place(gpu, capacity, 64, policy=policy)
            seconds.append(time.perf_counter() - start)
        rate = capacity / float(np.median(seconds)) / 1e6
        lines.append(f"  {policy:11}  {rate:7.1f} million blocks/s")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    parser.add_argument("--configurations", type=int, default=1000, help="per number of streams")
    parser.add_argument("--seed", type=int, default=2022)
    options = parser.parse_args()
    lines = [
        "Placements that differ from those of the most-room rule (Olmedo 2020, Figure 3, has",
        "round robin against a Xavier: up to 96 %).",
        "",
        *misprediction(gs.GPU.preset("Xavier"), options.configurations, options.seed),
        "",
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
