"""Time of response-time bounds for kernels in FIFO order, and shares of bounded tasks.

Random sets of 10 tasks on a GPU with 4,096 threads: periods log-uniform in 1 ms to 1 s (in ns),
block sizes as named below, 1 to 8 blocks, and the given utilization, any split of it as likely. One
call for the whole stack, its processor time on one core; `beta` is fifo_limit, which computes the
saturation level and no bounds.

    python benchmarks/fifo_bound.py [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

RESULT = Path(__file__).parent / "results" / "fifo_bound.txt"
M = 4096
TASKS = 10
SIZES = {
    "multiples of 32": lambda rng, shape: 32 * rng.integers(1, 33, shape),
    "any up to 1,024": lambda rng, shape: rng.integers(1, 1025, shape),
    "one block": lambda rng, shape: 32 * rng.integers(1, 33, shape),
}
UTILIZATIONS = (0.3, 0.5, 0.7, 0.9)


def draw(sizes: str, utilization: float, sets: int, seed: int) -> gs.KernelTasks:
    """A stack whose utilization is that share of all threads, up to rounding."""
    rng = np.random.default_rng(seed)
    shape = sets, TASKS
    period = np.exp(rng.uniform(np.log(1e6), np.log(1e9), shape)).astype(np.int64)
    threads = SIZES[sizes](rng, shape)
    blocks = np.ones(shape, np.int64) if sizes == "one block" else rng.integers(1, 9, shape)
    share = rng.dirichlet(np.ones(TASKS), sets) * utilization * M
    block_time = np.maximum(1, share * period / (blocks * threads)).astype(np.int64)
    return gs.KernelTasks(period=period, block_time=block_time, blocks=blocks, threads=threads)


def row(sizes: str, utilization: float, sets: int, seed: int, rounds: int) -> str:
    """Microseconds per set and the share of tasks with a bound, for each order."""
    tasks = draw(sizes, utilization, sets, seed)
    cells = []
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        gs.analysis.fifo_limit(tasks, M)
        seconds.append(time.process_time() - start)
    cells.append(f"{min(seconds) / sets * 1e6:5.1f}")
    for order in gs.analysis.ORDERS:
        seconds = []
        for _ in range(rounds):
            start = time.process_time()
            found = gs.analysis.fifo_bound(tasks, M, order=order)
            seconds.append(time.process_time() - start)
        share = f"{100 * found.bounded.mean():5.1f} %"
        cells.append(f"{min(seconds) / sets * 1e6:7.1f} {share}")
    return f"  {sizes:15}  {utilization:4.1f}  {'  '.join(cells)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    parser.add_argument("--sets", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts")
    parser.add_argument("--seed", type=int, default=2017)
    options = parser.parse_args()
    orders = "  ".join(f"{order:>15}" for order in gs.analysis.ORDERS)
    lines = [
        describe(),
        f"{options.sets:,} sets of {TASKS} tasks, m = {M}, seed {options.seed}: microseconds per",
        "set (saturation level included) and tasks with a bound, by order",
        "",
        f"  block sizes      U/m   beta  {orders}",
    ]
    print("\n".join(lines))
    for sizes in SIZES:
        for utilization in UTILIZATIONS:
            lines.append(row(sizes, utilization, options.sets, options.seed, options.rounds))
            print(lines[-1], flush=True)
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
