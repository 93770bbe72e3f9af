"""Times of the exact PBS search, the rows of benchmarks/results/pbs_search.txt.

Task sets as in [RTNS24], section 6.1, with periods of 400 to 1600 us in nanosecond ticks;
U in {0.8, 1.0, 1.2, 1.4}; slowdowns [1.0, 1.4] and [1.7, 1.9]; a set of tasks is eligible iff its
utilizations sum to 1 or less. Tables are given, so their construction is not timed. One core.

    python benchmarks/pbs_search.py [--tasks 5 8 10 12 16] [--count 50] [--save]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

UTILIZATIONS = (0.8, 1.0, 1.2, 1.4)
SLOWDOWNS = ((1.0, 1.4), (1.7, 1.9))


def row(n: int, count: int, seed: int, budget: gs.pbs.Budget) -> str:
    """One line of the table: all utilizations and slowdowns together."""
    seconds, stages, spent, peak, schedulable = [], Counter(), Counter(), 0, 0
    for u in UTILIZATIONS:
        for slowdown in SLOWDOWNS:
            for first in range(0, count, 50):
                sets = min(50, count - first)
                tasks = gs.generate.gpusched(n, u, count=sets, seed=seed, first=first)
                table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=first)
                result = gs.pbs.search(tasks, table, budget=budget)
                seconds.extend(result.seconds.tolist())
                stages.update(result.stage.tolist())
                spent.update(reason for reason in result.reason.tolist() if reason)
                peak = max(peak, int(result.bytes.max()))
                schedulable += int(result.accepted.sum())
    s = np.array(seconds)
    shares = ", ".join(f"{k} {v / len(s):.1%}" for k, v in stages.most_common() if k != "none")
    out = ", ".join(f"{v} of {k}" for k, v in spent.items()) or "nothing"
    return (
        f"{n:5d} {len(s):6d} {schedulable / len(s):7.1%} {_time(np.median(s))} {_time(s.mean())} "
        f"{_time(np.percentile(s, 99))} {_time(s.max())} {peak / 2**20:8.1f}  {shares}; "
        f"out of budget: {out}"
    )


def _time(seconds: float) -> str:
    for unit, scale in (("us", 1e-6), ("ms", 1e-3), ("s ", 1.0)):
        if seconds < 1000 * scale or unit == "s ":
            return f"{seconds / scale:8.3g} {unit}"
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[5, 8, 10, 12, 16])
    parser.add_argument("--count", type=int, default=50, help="sets for each U and slowdown")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of each set")
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    budget = gs.pbs.Budget(bytes=2 << 30, seconds=args.seconds)
    lines = [
        f"PBS search, seed {args.seed}, {describe()}",
        "tasks   sets  sched.      median        mean         99 %         max  peak MiB"
        "  decided by",
    ]
    print("\n".join(lines), flush=True)
    for n in args.tasks:
        lines.append(row(n, args.count, args.seed, budget))
        print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_search.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
