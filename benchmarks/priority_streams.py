"""Time of the bounds of priority streams; results/priority_streams.txt.

Random sets of chains on the H100 (threads alone, and every resource): 5 tasks of 5 kernels and 20
tasks of 20, in 3 levels, blocks of 32 to 1,024 threads, grids of up to 4,000 blocks, periods
log-uniform in 1 ms to 100 ms (in ns), latencies of 3 us. Utilizations are shares of all threads.
One call for the whole stack, its processor time on one core. Half a minute.

    python benchmarks/priority_streams.py [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

RESULT = Path(__file__).parent / "results" / "priority_streams.txt"
SIZES = {(5, 5): 2000, (20, 20): 60}


def draw(n: int, q: int, sets: int, utilization: float, seed: int) -> gs.KernelChains:
    rng = np.random.default_rng(seed)
    shape = (sets, n, q)
    gpu = gs.GPU.preset("H100")
    period = np.exp(rng.uniform(np.log(1e6), np.log(1e8), (sets, n)))
    threads = 32 * rng.integers(1, 33, shape)
    blocks = np.exp(rng.uniform(0, np.log(4000), shape)).astype(np.int64)
    share = rng.dirichlet(np.ones(n), sets) * utilization * gpu.sms * gpu.threads_per_sm
    part = rng.dirichlet(np.ones(q), (sets, n))
    block_time = np.maximum(1, share[..., None] * period[..., None] * part / (blocks * threads))
    return gs.KernelChains(
        period.astype(np.int64),
        np.minimum(block_time, 5e6).astype(np.int64),
        blocks,
        threads,
        np.full(shape, 3000),
        regs=rng.choice([0, 32, 64], shape),
        priority=rng.integers(0, 3, (sets, n)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    args = parser.parse_args()
    lines = [
        f"Bounds of priority streams on the H100, {describe()}",
        "tasks  kernels  utilization   us per set, tasks bounded: threads     every resource",
    ]
    for (n, q), sets in SIZES.items():
        for utilization in (0.05, 0.3, 0.7):
            tasks = draw(n, q, sets, utilization, seed=n)
            cells = []
            for gpu in ({"threads": 2048, "sms": 132}, {"gpu": "H100"}):
                began = time.process_time()
                found = gs.analysis.priority_streams(tasks, **gpu)
                took = (time.process_time() - began) / sets * 1e6
                cells.append(f"{took:12.0f} {100 * found.bounded.mean():5.1f} %")
            lines.append(f"{n:5d}  {q:7d}  {utilization:11.2f}   {'         '.join(cells)}")
            print(lines[-1], flush=True)
    if args.save:
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
