"""Times of the exact PBS search, the rows of benchmarks/results/pbs_search.txt.

Task sets as in [RTNS24], section 6.1, with periods of 400 to 1600 us in nanosecond ticks;
U in {0.8, 1.0, 1.2, 1.4, 1.6}; slowdowns [1.0, 1.4], [1.7, 1.9] and [1.1, 1.9]; a set of tasks is
eligible iff its utilizations sum to 1 or less. Tables are given, so their construction is not
timed. One core; "cpu" is CPU time, "wall" is what the search reports. With 24 tasks every batch is
eligible, and the row ends after --minutes. The row "overload" holds sets that are overloaded by at
least 5 %, with periods drawn from 1 to 10^9 ticks, so that nearly all hyperperiods exceed 64 bits.

The kept result takes some minutes; rows that are measured at another time are added with --add.

    python benchmarks/pbs_search.py [--tasks 5 8 10 12 16 20] [--quick] [--proofs] [--slowest 5]
                                    [--save | --add]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

UTILIZATIONS = (0.8, 1.0, 1.2, 1.4, 1.6)
SLOWDOWNS = ((1.0, 1.4), (1.7, 1.9), (1.1, 1.9))
MIB = 1 << 20

# What parts of the search gain; kept with the rows, as some of these parts no longer exist.
PARTS = """\
Parts of the search, 28 November 2026: processor time of the same sets, searched in turn by builds
with and without each part. Sets: 5,010 each of 5, 8, 10 and 12 tasks, 3,000 of 16, 405 of 20, 40
of 24; 150 to 4,020 each of 5 to 16 tasks with deadlines of 50 to 100 % of the periods, with and
without proofs; kinds of pbs_certificates.py, shapes of pbs_chains.py. No two answers differed.
Sweeps of whole classes in the lazy search gained nothing and are removed: without them 300 sets
of 16 tasks with shorter deadlines took 5.9 s instead of 9.0 s, and the slowest of 1,500 with
deadlines equal to periods 5.4 s instead of 8.7 s; one set of 20 tasks took 86 ms instead of 62
ms, but with the budgets of now 45 ms in both builds. The search for dead intervals decided 1 of
the 20,040 sets of up to 12 tasks, for 5 % of the time of 12 tasks, so it is left out there; of
those with shorter deadlines it decides 2 to 6 %, and the median of 8 tasks with proofs is 55 us
without it and 51 us with it, so it is kept. Approximate feasible instants for up to 2^21 instead
of 2^18 classes, and budgets that let every round look at several states, made the slowest of
1,500 sets of 16 tasks 1.2 s instead of 37 s, of 40 sets of 24 tasks 4.8 s instead of 9.2 s, and
decided the only set of 16 tasks that had been open after 120 s, in 3.5 s.
"""


class Row:
    """Times and answers of the sets of one line."""

    def __init__(self, name: object) -> None:
        self.name = name
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.stages: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.names: list[str] = []
        self.peak = self.schedulable = 0

    def ask(
        self, tasks: gs.KernelTasks, table: gs.BatchTable, budget: gs.Budget, name: str = ""
    ) -> None:
        """Searches one set, given as a stack of one (no proof) or alone (with a proof)."""
        began = time.process_time()
        found = gs.pbs.search(tasks, table, budget=budget)
        self.cpu.append(time.process_time() - began)
        self.wall.append(float(np.ravel(found.seconds)[0]))
        self.stages[str(np.ravel(found.stage)[0])] += 1
        spent = [x for x in np.ravel(found.reason or "").tolist() if x]
        self.spent.update(spent)
        self.names.append(" ".join([name, *(f"out of {x}" for x in spent)]))
        self.peak = max(self.peak, int(np.ravel(found.bytes)[0]))
        self.schedulable += int(np.ravel(found.accepted)[0])

    def __str__(self) -> str:
        wall, cpu = np.array(self.wall), np.array(self.cpu)
        shares = ", ".join(
            f"{k} {v / len(wall):.1%}" for k, v in self.stages.most_common() if k != "none"
        )
        out = ", ".join(f"{v} of {k}" for k, v in self.spent.items()) or "nothing"
        times = " ".join(
            _time(x)
            for s in (wall, cpu)
            for x in (np.median(s), np.percentile(s, 90), np.percentile(s, 99), s.max())
        )
        return (
            f"{self.name!s:>8} {len(wall):6d} {self.schedulable / len(wall):7.1%} {times} "
            f"{self.peak / MIB:8.1f}  {shares}; out of budget: {out}"
        )

    def slowest(self, count: int) -> list[str]:
        """The sets that took most CPU time."""
        order = np.argsort(self.cpu)[::-1][:count]
        return [
            f"  cpu {_time(self.cpu[i])}, wall {_time(self.wall[i])}: {self.names[i]}"
            for i in order
        ]


def generated(n: int, sets: int, seed: int, budget: gs.Budget, proofs: bool) -> Row:
    """All utilizations and slowdowns together."""
    row = Row(n)
    count = -(-sets // (len(UTILIZATIONS) * len(SLOWDOWNS)))
    for u in UTILIZATIONS:
        for slowdown in SLOWDOWNS:
            for i in range(count):
                tasks = gs.generate.gpusched(n, u, count=1, seed=seed, first=i)
                table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=i)
                one = (tasks[0], table[0]) if proofs else (tasks, table)
                row.ask(*one, budget, f"U {u}, slowdown {slowdown}, set {i}")
    return row


def largest(n: int, sets: int, seed: int, budget: gs.Budget, minutes: float) -> Row:
    """Every batch eligible, a slowdown drawn for each; the sets of some minutes."""
    row, rng, began = Row(n), np.random.default_rng([seed, n]), time.monotonic()
    for i in range(sets):
        if time.monotonic() - began > 60 * minutes:
            break
        tasks = gs.generate.gpusched(n, 1.0 + 0.3 * (i % 5), count=1, seed=seed, first=i)
        wcet = tasks.wcet[0]
        completion = np.zeros(1 << n, np.int64)
        for k in range(n):
            completion[1 << k : 2 << k] = np.maximum(completion[: 1 << k], wcet[k])
        factor = rng.uniform(1.1, 1.9, 1 << n)
        factor[1 << np.arange(n)] = 1
        completion = np.ceil(completion * factor).astype(np.int64)
        row.ask(tasks, gs.BatchTable(completion=completion[None]), budget, f"set {i}")
    return row


def overloaded(sets: int, seed: int, budget: gs.Budget) -> Row:
    """Sets of 3 to 8 tasks, one at a time."""
    row, rng = Row("overload"), np.random.default_rng(seed)
    for i in range(sets):
        n = int(rng.integers(3, 9))
        period = rng.integers(10**3, 10**9, n)
        share = rng.dirichlet(np.ones(n)) * rng.uniform(1.05, 2)
        wcet = np.maximum(1, np.ceil(share * period)).astype(np.int64)
        completion = np.zeros(1 << n, np.int64)
        completion[1 << np.arange(n)] = wcet
        tasks = gs.KernelTasks(period=period[None], wcet=wcet[None])
        row.ask(tasks, gs.BatchTable(completion=completion[None]), budget, f"set {i}")
    return row


def _time(seconds: float) -> str:
    for unit, scale in (("us", 1e-6), ("ms", 1e-3), ("s ", 1.0)):
        if seconds < 1000 * scale or unit == "s ":
            return f"{seconds / scale:8.3g} {unit}"
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[5, 8, 10, 12, 16, 20, 24])
    parser.add_argument("--sets", type=int, help="sets of a row; by default 5000, above 16 tasks "
                        "400, with 24 tasks 100")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sets")
    parser.add_argument("--proofs", action="store_true", help="with proofs of negative answers")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of each set")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the row with 24 tasks (10)")
    parser.add_argument("--slowest", type=int, default=0, help="sets of each row to print as well")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    kept.add_argument("--add", action="store_true", help="add the rows to those that are kept")
    args = parser.parse_args()
    heads = [
        f"{kind} {name}" for kind in ("wall", "cpu") for name in ("50 %", "90 %", "99 %", "max")
    ]
    lines = [
        f"PBS search, seed {args.seed}, load {os.getloadavg()[0]:.1f}, {describe()}",
        "   tasks   sets  sched. " + " ".join(f"{h:>11}" for h in heads)
        + " peak MiB  decided by",
    ]  # fmt: skip
    print("\n".join(lines), flush=True)
    share = 20 if args.quick else 1
    budget = gs.Budget(bytes=256 * MIB, seconds=args.seconds)
    generated(5, 1, args.seed, budget, args.proofs)  # what only the first search loads
    for n in args.tasks:
        sets = args.sets or (5000 if n <= 16 else 400 if n < 24 else 100)
        sets = max(1, sets // share)
        given = replace(budget, bytes=1024 * MIB) if n >= 20 else budget
        if n < 24:
            row = generated(n, sets, args.seed, given, args.proofs)
        else:
            row = largest(n, sets, args.seed, given, args.minutes)
        lines.append(str(row))
        print("\n".join([lines[-1], *row.slowest(args.slowest)]), flush=True)
    if not args.add:
        lines.append(str(overloaded((args.sets or 2000) // share, args.seed, budget)))
        print(lines[-1], flush=True)
    if args.save or args.add:
        path = Path(__file__).parent / "results" / "pbs_search.txt"
        before = path.read_text() + "\n" if args.add else ""
        path.write_text(before + "\n".join(lines) + "\n" + ("" if args.add else f"\n{PARTS}"))


if __name__ == "__main__":
    sys.exit(main())
