"""Times of gs.pbs.partition and gs.pbs.margin, the rows of benchmarks/results/pbs_partition.txt.

Task sets as in [RTNS24], section 6.1, with periods of 400 to 1600 us in nanosecond ticks; a
utilization of 0.8, 1.0, 1.2 and 1.4 for each GPU, slowdowns [1.0, 1.4], [1.7, 1.9] and [1.1, 1.9];
a set of tasks is eligible iff its utilizations sum to 1 or less. Tables are given, so their
construction is not timed. Times include those of the certificates; "searched" is the largest number
of sets of tasks that were searched, "parts" that of the sets in a certificate, "check" the longest
time of its check; "unproved" are rejected sets whose budget ended before the last proof. One core;
the kept result, of 60 sets and 5 seconds each, took four minutes.

    python benchmarks/pbs_partition.py [--sets 60] [--seconds 5] [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

UTILIZATIONS = (0.8, 1.0, 1.2, 1.4)
SLOWDOWNS = ("small", "large", "mixed")
SIZES = ((2, 6), (2, 8), (2, 10), (2, 12), (2, 16), (3, 8), (3, 12), (3, 16), (4, 12), (4, 16))


def sets_of(n: int, gpus: int, sets: int, seed: int):
    """Tasks and table, one set after the other."""
    for i in range(-(-sets // (len(UTILIZATIONS) * len(SLOWDOWNS)))):
        for u in UTILIZATIONS:
            for slowdown in SLOWDOWNS:
                tasks = gs.generate.gpusched(n, u * gpus, count=1, seed=seed, first=i)
                table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=i)
                yield tasks[0], table[0]


def times(values: list[float]) -> str:
    shown = (np.median(values), np.percentile(values, 90), max(values, default=0.0))
    return " ".join(f"{1e3 * x:9.3f}" for x in shown)


def partitions(n: int, gpus: int, sets: int, seed: int, budget: gs.Budget) -> str:
    """A row of assignments."""
    wall, checks = [], [0.0]
    answers = {True: 0, False: 0, None: 0}
    searched = parts = overloads = unproved = 0
    for tasks, table in sets_of(n, gpus, sets, seed):
        found = gs.pbs.partition(tasks, table, gpus=gpus, budget=budget, progress=False)
        wall.append(found.seconds)
        answers[found.schedulable] += 1
        searched = max(searched, found.tested)
        if found.certificate is not None:
            overloads += found.certificate.overload is not None
            parts = max(parts, len(found.certificate.parts))
            began = time.perf_counter()
            if any(part.certificate is None for part in found.certificate.parts):
                unproved += 1
                continue
            found.certificate.verify(tasks, table)
            checks.append(time.perf_counter() - began)
    yes, no, spent = answers[True], answers[False], answers[None]
    counts = (
        f"{gpus:4d} {n:5d} {len(wall):5d} {yes:5d} {no:5d} {overloads:9d} {spent:5d} {unproved:9d}"
    )
    return f"{counts} {times(wall)} {searched:9d} {parts:6d} {1e3 * max(checks):9.1f}"


def margins(n: int, idling: bool, sets: int, seed: int, budget: gs.Budget) -> str:
    """A row of margins."""
    wall, exact, unlimited, tested = [], 0, 0, 0
    for tasks, table in sets_of(n, 1, sets, seed):
        try:
            found = gs.pbs.margin(tasks, table, idling=idling, budget=budget, progress=False)
        except ValueError:  # no batch has a slowdown
            continue
        wall.append(found.seconds)
        exact += found.exact
        unlimited += found.unlimited
        tested = max(tested, found.tested)
    kind = "idling" if idling else "as PBS"
    return f"{n:5d} {kind} {len(wall):5d} {exact:6d} {unlimited:9d} {times(wall)} {tested:9d}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=60, help="sets of a row")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--seconds", type=float, default=5.0, help="budget of each set")
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    budget = gs.Budget(seconds=args.seconds)
    lines = [
        f"PBS on several GPUs, seed {args.seed}, {describe()}",
        "gpus tasks  sets   yes    no  overload spent  unproved  50 %, ms  90 %, ms   max, ms"
        "  searched  parts check, ms",
    ]
    print("\n".join(lines))
    for gpus, n in SIZES:
        lines.append(partitions(n, gpus, args.sets, args.seed, budget))
        print(lines[-1], flush=True)
    lines.append(
        "margins of the slowdown, one GPU\ntasks         sets  exact unlimited  50 %, ms  90 %, ms"
        "   max, ms  searched"
    )
    print(lines[-1])
    for n in (5, 8, 10):
        for idling in (True, False):
            lines.append(margins(n, idling, args.sets, args.seed, budget))
            print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_partition.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
