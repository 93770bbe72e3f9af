"""Waves per second of the FIFO simulator; results/fifo_simulation.txt.

Sets of ten kernels at m = 4096 and U of about 0.7 m, block sizes multiples of 32, grids of up to 8,
30 or 200 blocks, in every order: with both logs, and with neither (as stacks are simulated). A wave
is any number of blocks of one job that start together. The logs take 160 bytes a job and 80 a wave,
in the core and as arrays; how long the machine takes to hand out that much memory is in the head.

    python benchmarks/fifo_simulation.py [--jobs 1000000] [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

N, M = 10, 4096


def random_set(most_blocks: int, seed: int) -> gs.KernelTasks:
    """A set whose utilization is spread evenly over its tasks."""
    rng = np.random.default_rng(seed)
    period = rng.integers(1000, 10_000, N)
    threads = rng.choice(np.arange(32, 1025, 32), N)
    blocks = rng.integers(1, most_blocks + 1, N)
    block_time = np.maximum(1, (0.7 * M / N * period / (blocks * threads)).astype(int))
    return gs.KernelTasks(period, block_time=block_time, blocks=blocks, threads=threads)


def fresh_memory() -> float:
    """Nanoseconds to get and fill 80 bytes."""
    began = time.perf_counter()
    np.ones(2**25, np.int64)
    return (time.perf_counter() - began) * 1e9 / 2**25 * 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    lines = [
        f"FIFO simulation, {N} kernels on {M} threads, {args.jobs} jobs a run, {describe()}",
        f"80 bytes of new memory take {fresh_memory():.0f} ns",
        "blocks  order      waves/job  logs    million waves/s  million jobs/s",
    ]
    print("\n".join(lines), flush=True)
    for most in (8, 30, 200):
        tasks = random_set(most, seed=most)
        until = int(args.jobs / (1 / tasks.period).sum())
        for order in ("hardware", "release", "strict", "overlap"):
            for logs in ("both", "none"):
                began = time.perf_counter()
                if logs == "both":
                    run = gs.simulate.fifo(tasks, M, order, until, settle=False)
                    jobs, waves = len(run), len(run.waves)
                else:
                    stack = gs.KernelTasks(
                        tasks.period[None],
                        block_time=tasks.block_time,
                        blocks=tasks.blocks,
                        threads=tasks.threads,
                    )
                    kept = gs.simulate.fifo_responses(stack, M, order, until)
                    jobs, waves = int(kept.finished.sum()), int(kept.waves.sum())
                took = time.perf_counter() - began
                lines.append(
                    f"1..{most:<4d} {order:9s} {waves / jobs:10.2f}  {logs:6s} "
                    f"{waves / took / 1e6:16.1f} {jobs / took / 1e6:15.2f}"
                )
                print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "fifo_simulation.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
