"""Search for responses above the bounds of FIFO scheduling; results/fifo_falsification.txt.

Small random sets (2 to 6 tasks, m of 2 to 16 threads, periods of a few dozen ticks, so that equal
instants are common) are simulated in every order under release patterns made to hurt: all at once,
random offsets, sporadic gaps, execution times below the worst case per job, wave or block, and an
adversary that picks a victim and releases every other task when a job of the victim gets to its
stream's head, starts its last block, or finishes. Each largest response is compared with each
theorem's bound on its own, as a fraction. The table says how close they come: how tight the bounds
are. The tests run a hundredth of this.

    python benchmarks/fifo_falsification.py [--patterns 1000000] [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

SETS = 100  # in one call
# Name of a row, the simulated order, and the theorems that may give the bound.
ROWS = (
    ("P", "overlap", ["P"]),
    ("V1", "hardware", ["V1"]),
    ("V1, chains only", "hardware", ["V1"]),
    ("A", "hardware", ["A"]),
    ("A", "release", ["A"]),
    ("A, one job", "release", ["A, one job"]),
    ("A refined", "release", ["A", "A refined"]),
    ("A refined from one job", "release", ["A, one job", "A refined"]),
    ("V2", "release", ["V2"]),
    ("V2, A refined from it", "release", ["V2", "A refined"]),
    ("V3", "strict", ["V3"]),
    ("fits", "hardware", ["fits"]),
    ("fits", "release", ["fits"]),
    ("fits", "strict", ["fits"]),
)


def random_sets(rng: np.random.Generator, count: int) -> tuple[gs.KernelTasks, np.ndarray]:
    """Sets of one size that lie below, at and above what the theorems cover, and their m."""
    n = int(rng.integers(2, 7))
    shape = (count, n)
    m = rng.integers(2, 17, count)
    threads = rng.integers(1, m[:, None] + 1, shape)
    narrow = rng.random(count) < 0.5
    threads[narrow] = np.minimum(threads[narrow], 1 + m[narrow, None] // 4)
    blocks = rng.integers(1, 7, shape)
    blocks[rng.random(count) < 0.4] = 1
    period = rng.integers(4, 61, shape)
    share = rng.dirichlet(np.ones(n), count) * rng.uniform(0.1, 1.1, (count, 1)) * m[:, None]
    block_time = np.maximum(1, np.round(share * period / (blocks * threads))).astype(int)
    # Some periods that make the utilization of a task, or its own length, come out exactly.
    exact = rng.random(shape) < 0.1
    period[exact] = np.maximum(period, block_time)[exact]
    return gs.KernelTasks(period, block_time=block_time, blocks=blocks, threads=threads), m


def patterns(
    rng: np.random.Generator, tasks: gs.KernelTasks
) -> Iterator[tuple[gs.KernelTasks, dict]]:
    """Tasks with their offsets, and the options of the simulation."""
    count, n = tasks.period.shape

    def with_offsets() -> gs.KernelTasks:
        offset = rng.integers(0, tasks.period.max() + 1, tasks.period.shape)
        priority = rng.integers(0, n, tasks.period.shape)
        return gs.KernelTasks(
            tasks.period,
            block_time=tasks.block_time,
            blocks=tasks.blocks,
            threads=tasks.threads,
            offset=offset,
            priority=priority,
        )

    seed = int(rng.integers(2**62))
    yield tasks, {}
    yield with_offsets(), {}
    yield with_offsets(), {"gap": 0.2, "seed": seed}
    yield with_offsets(), {"gap": 1.0, "seed": seed}
    yield with_offsets(), {"execution": (0.0, 1.0), "draw": "job", "seed": seed}
    yield with_offsets(), {"execution": (0.5, 1.0), "draw": "wave", "gap": 0.1, "seed": seed}
    yield with_offsets(), {"execution": (0.0, 1.0), "draw": "block", "seed": seed}
    for triggers in (("head",), ("tail",), ("end",), ("head", "tail"), ("head", "end")):
        victim = rng.integers(0, n, count)
        yield tasks, {"victim": victim, "triggers": triggers}
        yield tasks, {"victim": victim, "triggers": triggers, "gap": 0.1, "seed": seed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=int, default=1_000_000, help="simulated set-patterns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    began = time.perf_counter()
    simulated = sets = jobs = 0
    checked = np.zeros(len(ROWS), np.int64)
    total = np.zeros(len(ROWS))
    worst = np.zeros(len(ROWS))
    above = np.zeros(len(ROWS), np.int64)  # bounded although U exceeds the saturation level
    while simulated < args.patterns:
        tasks, m = random_sets(rng, SETS)
        sets += SETS
        seen = {}
        for order in ("hardware", "release", "strict", "overlap"):
            largest = np.zeros(tasks.period.shape, np.int64)
            for shifted, options in patterns(rng, tasks):
                run = gs.simulate.fifo_responses(
                    shifted, m, order, 25 * int(tasks.period.max()), **options
                )
                largest = np.maximum(largest, run.worst)
                jobs += int(run.finished.sum())
                simulated += SETS
            seen[order] = largest
        for row, (name, order, theorems) in enumerate(ROWS):
            found = gs.analysis.fifo_bound(tasks, m, order=order, theorems=theorems)
            use = found.bounded.copy()
            if "chains" in name:
                use &= np.char.find(found.theorem.astype(str), "case 2") >= 0
            if "refined" in name:
                use &= np.char.find(found.theorem.astype(str), "refined") >= 0
            observed = seen[order][use]
            ratio = observed * found.denominator[use] / found.numerator[use]
            if (observed * found.denominator[use] > found.numerator[use]).any():
                set_, task = np.argwhere(use)[np.argmax(ratio)]
                raise SystemExit(f"{name}, {order}: violated by task {task} of {tasks[set_]!r}")
            checked[row] += len(ratio)
            total[row] += ratio.sum()
            worst[row] = max(worst[row], ratio.max(initial=0))
            load = np.asarray(found.utilization) > found.saturation * (1 + 1e-9)
            load &= found.saturation > 0
            above[row] += int((use & load[:, None]).sum())
    lines = [
        f"Falsification of the FIFO bounds, seed {args.seed}, {describe()}",
        f"{sets} sets, {simulated} simulated set-patterns, {jobs} jobs, "
        f"{time.perf_counter() - began:.0f} s on one core: no response above a bound",
        "",
        f"{'bound':22s} {'simulated':10s} {'checked':>9s} {'U > beta':>9s}  "
        "largest and mean observed/bound",
    ]
    for row, (name, order, _) in enumerate(ROWS):
        mean = total[row] / max(checked[row], 1)
        lines.append(
            f"{name:22s} {order:10s} {checked[row]:9d} {above[row]:9d}  "
            f"{worst[row]:.3f}  {mean:.2f}"
        )
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "fifo_falsification.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
