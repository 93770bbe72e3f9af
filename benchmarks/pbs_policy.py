"""Deadline misses and gain of the run-time policy; results/pbs_policy.txt.

Schedulable sets of five tasks ([RTNS24], section 6.1, microsecond ticks, U in {0.8, 1.0})
are played for many hyperperiods in which every batch takes a random part of its time: from the
table at its planned times and as soon as possible (the two strategies of section 4.1), and by the
policy. Response times are means over all jobs, relative to those of the table at its planned times.
The tests run a hundredth of this.

    python benchmarks/pbs_policy.py [--runs 100000] [--save]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

RANGES = ((0.1, 1.0), (0.5, 1.0), (0.9, 1.0), (1.0, 1.0))
STRATEGIES = ("table", "reclaim", "policy")


def schedulable(count: int, seed: int):
    """Found answers with their policies."""
    first = 0
    while count:
        u = (0.8, 1.0)[first % 2]
        tasks = gs.generate.gpusched(5, u, count=1, seed=seed, first=first, ticks=1)[0]
        table = gs.BatchTable.from_utilization(tasks, "mixed", seed=seed, first=first)
        found = gs.pbs.search(tasks, table, policy=True)
        first += 1
        # Where EDF alone is enough the policy has little to choose.
        if found.schedulable and found.stage not in ("edf_serial", "edf_parallel"):
            count -= 1
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000, help="hyperperiods per row")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    found = list(schedulable(args.sets, args.seed))
    lines = [
        f"PBS at run time, {args.sets} sets, seed {args.seed}, {describe()}",
        "actual / planned  strategy     runs     jobs  misses  response  waited although ready",
    ]
    print("\n".join(lines), flush=True)
    for actual in RANGES:
        planned = None
        for strategy in STRATEGIES:
            plays = [
                f.policy.play(
                    f.schedule, strategy, actual=actual, runs=args.runs // args.sets, seed=k
                )
                for k, f in enumerate(found)
            ]
            jobs, misses = (
                sum(int(getattr(p, x).sum()) for p in plays) for x in ("jobs", "late_count")
            )
            response = np.array([p.response.mean() for p in plays])
            planned = response if planned is None else planned
            waited = np.mean([p.waited.mean() / p.end.mean() for p in plays])
            lines.append(
                f"{actual[0]:.1f} .. {actual[1]:.1f}        {strategy:8s} "
                f"{sum(len(p.late_count) for p in plays):8d} {jobs:8d} {misses:7d} "
                f"{np.mean(response / planned):9.3f}  {waited:.2%}"
            )
            print(lines[-1], flush=True)
            if misses:
                raise SystemExit("a deadline was missed")
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_policy.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
