"""Agreement of interval engine, graph and brute force; results/pbs_agreement.txt.

Small random sets (1 to 4 tasks, periods from {4, 6, 8, 12} or {3, 5, 6, 10}; deadlines below, at
and above the periods; offsets; ineligible batches; with and without inserted idle time) go to the
interval engine with and without its quick answers, to the graph, and to a brute force over all
frame sequences. Sets of five and six tasks as in [RTNS24], section 6.1, go to the
interval engine and the graph. Every schedule is replayed.

Further small sets, half of them with tables that are not monotone and a third with times of a
million ticks, go straight to the core: to the search with its stages left out in turn
(tests/pbs/test_search_stages.py), to the search by feasible instants alone, to the graph, and to
brute force; every schedule is replayed and every negative answer's proof checked by twins. The
tests run a thousandth of this. Kept result: 10 minutes of one core.

    python benchmarks/pbs_agreement.py [--small 100000] [--large 10000] [--stages 1000000] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs
from gpusched.pbs import graph

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "pbs"))
from reference import pbs_brute
from test_search import as_objects, random_set
from test_search_stages import MIXES, ask, check, holes

KINDS = ("implicit", "constrained", "offsets", "long")


def small(count: int, seed: int) -> list[str]:
    """Sets on which brute force is possible."""
    lines = []
    for kind in KINDS:
        for idling in (False, True):
            rng = np.random.default_rng([seed, len(kind), idling])
            answers, stages, began = Counter(), Counter(), time.monotonic()
            for _ in range(count // (2 * len(KINDS))):
                case = random_set(rng, int(rng.integers(1, 5)), kind)
                period, deadline, offset, completion = case
                tasks, table = as_objects(*case)
                twin = pbs_brute.search(period, deadline, completion, offset, idling=idling)
                for method, thorough in (
                    ("interval", False),
                    ("interval", True),
                    ("graph", False),
                ):
                    options = {"thorough": True} if thorough else {}
                    found = gs.pbs.search(tasks, table, method=method, idling=idling, **options)
                    if found.schedulable is not (twin is not None):
                        raise SystemExit(f"{method} says {found.schedulable}: {case}, {idling}")
                    if found.schedulable:
                        found.schedule.validate()
                    stages[found.stage] += 1
                answers[twin is not None] += 1
            lines.append(
                f"{kind:12s} idling={idling!s:5} {sum(answers.values()):7d} sets, "
                f"{answers[True]:6d} schedulable, no disagreement "
                f"({time.monotonic() - began:.0f} s; {dict(stages)})"
            )
            print(lines[-1], flush=True)
    return lines


def large(count: int, seed: int) -> list[str]:
    """Sets of the paper's size, in coarse ticks so that the graph ends."""
    lines = []
    for n in (5, 6):
        answers, stages, began = Counter(), Counter(), time.monotonic()
        for i in range(count // 2):
            u = (0.6, 0.8, 1.0, 1.2, 1.4)[i % 5]
            tasks = gs.generate.gpusched(n, u, count=1, seed=seed, first=i, ticks=1)[0]
            slowdown = ((1.0, 1.4), (1.7, 1.9), (1.1, 1.9))[i % 3]
            table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=i)
            found = gs.pbs.search(tasks, table, thorough=i % 2 == 0)
            other = gs.pbs.search(tasks, table, method="graph")
            if found.schedulable is not other.schedulable or found.schedulable is None:
                raise SystemExit(
                    f"{found.schedulable}, graph {other.schedulable}: {tasks}, {table}"
                )
            if found.schedulable:
                found.schedule.validate()
                other.schedule.validate()
            answers[found.schedulable] += 1
            stages[found.stage] += 1
        lines.append(
            f"{n} tasks: {sum(answers.values())} sets, {answers[True]} schedulable, "
            f"no disagreement ({time.monotonic() - began:.0f} s; {dict(stages)})"
        )
        print(lines[-1], flush=True)
    return lines


def others(case: Any, idling: bool, schedulable: bool) -> None:
    """The graph, and the search by feasible instants alone, against a known answer."""
    period, deadline, offset, completion = case
    answer, _, frames, _ = ask(case, 0, idling, proof=False, thorough=True)
    found = graph._run(*(np.array(column, np.int64) for column in case), idling=idling)
    for name, said, schedule in (
        ("instants", answer, frames),
        ("graph", found["schedulable"], (found["start"], found["end"], found["batch"])),
    ):
        if said != schedulable:
            raise SystemExit(f"{name}: {said}: {case}, {idling}")
        if schedulable:
            rows = list(zip(*(x.tolist() for x in schedule), strict=True))
            broken = pbs_brute.replay(rows, period, deadline, completion, offset, idling=idling)
            if broken:
                raise SystemExit(f"{name}: {broken}: {case}, {idling}")


def stages(count: int, seed: int) -> list[str]:
    """Mixes of stages, drawn for each set; they stop at the first disagreement."""
    rng, kinds, began = np.random.default_rng([seed, 7]), Counter(), time.monotonic()
    mixes = Counter()
    for _ in range(count):
        case = random_set(rng, int(rng.integers(1, 5)), KINDS[rng.integers(len(KINDS))])
        case = holes(rng, case) if rng.random() < 0.5 else case
        if rng.random() < 1 / 3:
            case = tuple([1_000_003 * x for x in part] for part in case)
        mix, idling = list(MIXES)[rng.integers(len(MIXES))], bool(rng.integers(2))
        schedulable, kind = check(case, MIXES[mix], idling)
        others(case, idling, schedulable)
        kinds["schedulable" if schedulable else f"not, {kind}"] += 1
        mixes[mix] += 1
    lines = [
        f"stages, instants, graph: {count} sets, no disagreement "
        f"({time.monotonic() - began:.0f} s; {dict(kinds)}; {dict(mixes)})"
    ]
    print(lines[0], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--stages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the lines in benchmarks/results")
    args = parser.parse_args()
    lines = [f"PBS agreement, seed {args.seed}, {describe()}"]
    print(lines[0], flush=True)
    lines += small(args.small, args.seed) + large(args.large, args.seed)
    lines += stages(args.stages, args.seed)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_agreement.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
