"""PBS of chains of kernels: agreement with brute force, and times; results/pbs_chains.txt.

Agreement: random systems of up to three tasks of one to three kernels (tests/chain_cases.py), each
with and without inserted idle time, go to the search with its stages left out in turn and to an
explicit search over all states. Every schedule is replayed, by the package and by the twin, and
every certificate of a negative answer is verified.

Times: sets of n tasks as in [RTNS24], section 6.1, with periods of 400 to 1600 us in nanosecond
ticks. The work of a job is divided among k kernels at random; every batch of kernels of different
tasks is eligible, at a slowdown drawn from [1.1, 1.9]. Beside them, the same sets with the jobs as
units, whose batches take the time of the longest unit, at the same slowdown. One core; tables are
given.

    python benchmarks/pbs_chains.py [--systems 50000] [--sets 200] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "pbs"))
from chain_cases import random_chains
from test_pbs_chains import agree
from test_search_stages import MIXES

UTILIZATIONS = (0.8, 1.0, 1.2, 1.4, 1.6)
SHAPES = ((3, 3), (4, 3), (6, 2), (5, 4), (8, 2), (6, 4), (8, 3), (12, 2))
LARGE = 20  # kernels; fewer sets from here on


def agreement(systems: int, seed: int) -> list[str]:
    """Rows of answers and stages, one without and one with inserted idle time."""
    lines = []
    for idling in (False, True):
        rng = np.random.default_rng([seed, idling])
        mixes = list(MIXES.values())
        answers, stages = Counter(), Counter()
        began = time.monotonic()
        for number in range(systems):
            answer, stage = agree(random_chains(rng), idling, mixes[number % len(mixes)])
            answers[answer] += 1
            stages[stage] += 1
        lines.append(
            f"idling={idling!s:5} {systems:7d} systems, {answers.pop('yes')} schedulable, "
            f"no disagreement ({time.monotonic() - began:.0f} s)\n    stages {dict(stages)}\n    "
            f"certificates {dict(answers)}"
        )
        print(lines[-1], flush=True)
    return lines


def system(
    n: int, k: int, u: float, seed: int, number: int
) -> tuple[gs.KernelChains, gs.BatchTable]:
    """One set of n chains of k kernels, and its table."""
    tasks = gs.generate.gpusched(n, u, count=1, seed=seed, first=number)[0]
    rng = np.random.default_rng([seed, n, k, number])
    cuts = np.sort(rng.uniform(size=(n, k - 1)), axis=1)
    ends = np.concatenate([cuts, np.ones((n, 1))], axis=1) * tasks.wcet[:, None]
    times = np.maximum(np.diff(np.ceil(ends).astype(np.int64), prepend=0, axis=1), 1)
    chains = gs.KernelChains(tasks.period, times, deadline=tasks.deadline)
    masks, longest = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for row, kernel in enumerate(times.ravel()):
        if row % k == 0:
            before, longer = masks, longest
        masks = np.concatenate([masks, before | 1 << row])
        longest = np.concatenate([longest, np.maximum(longer, kernel)])
    factor = np.where(np.bitwise_count(masks) > 1, rng.uniform(1.1, 1.9, len(masks)), 1)
    completion = np.zeros(1 << n * k, np.int64)
    completion[masks] = np.ceil(longest * factor)
    return chains, gs.BatchTable(completion)


def units(chains: gs.KernelChains, seed: int, number: int) -> tuple[gs.KernelTasks, gs.BatchTable]:
    """The same set with a job as one kernel."""
    wcet = chains.block_time.sum(axis=1)
    rng = np.random.default_rng([seed, chains.n, number])
    n = chains.n
    completion = np.zeros(1 << n, np.int64)
    for i in range(n):
        completion[1 << i : 2 << i] = np.maximum(completion[: 1 << i], wcet[i])
    factor = rng.uniform(1.1, 1.9, 1 << n)
    factor[1 << np.arange(n)] = 1
    tasks = gs.KernelTasks(chains.period, wcet, deadline=chains.deadline)
    return tasks, gs.BatchTable(np.ceil(completion * factor).astype(np.int64))


def times(n: int, k: int, sets: int, seed: int, seconds: float) -> str:
    """Times of the searches of one shape."""
    budget = gs.Budget(seconds=seconds)
    wall, stages, peak, open_sets, yes = [], Counter(), 0, 0, np.zeros(2, int)
    for number in range(sets):
        chains, table = system(n, k, UTILIZATIONS[number % len(UTILIZATIONS)], seed, number)
        answer = gs.pbs.search(chains, table, budget=budget)
        wall.append(answer.seconds)
        stages[answer.stage] += 1
        peak = max(peak, answer.bytes)
        open_sets += answer.undecided
        yes += answer.accepted, gs.pbs.search(*units(chains, seed, number), budget=budget).accepted
    quantiles = [*np.percentile(wall, (50, 90, 99)), max(wall)]
    return (
        f"{n:3d} x {k:<2d} {n * k:7d} {sets:5d} {yes[0]:7d} {yes[1]:9d} "
        + " ".join(f"{1000 * x:10.3f}" for x in quantiles)
        + f" {peak / 2**20:8.1f}  {open_sets} out of budget; {dict(stages)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=50_000, help="of each kind; 0: none")
    parser.add_argument("--sets", type=int, default=200, help="timed sets of a shape; 0: none")
    parser.add_argument("--seconds", type=float, default=20.0, help="budget of a timed set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    lines = [f"PBS of chains, seed {args.seed}, {describe()}"]
    print(lines[0], flush=True)
    if args.sets:
        lines.append("tasks x kernels: sets schedulable as chains, as units; wall ms 50 %, 90 %, "
                     "99 %, max; peak MiB")  # fmt: skip
        print(lines[-1], flush=True)
        for n, k in SHAPES:
            sets = args.sets if n * k < LARGE else max(1, args.sets // 10)
            lines.append(times(n, k, sets, args.seed, args.seconds))
            print(lines[-1], flush=True)
    if args.systems:
        lines += agreement(args.systems, args.seed)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_chains.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
