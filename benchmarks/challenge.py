"""Rejections decided by `Verdict.challenge`; results/challenge.txt.

First 200 sets of 16 tasks on 4 cores by Table I of [RTCSA19] on the cores of the partition for MPCP
(STGM: one SM per task, round the end), under six ways: the sets that a test accepts, the
rejections with a counterexample, those that stay open, and the simulated jobs per second of
processor time; then sets of a higher load. Each counterexample is simulated again. Then tiny sets
(three tasks, periods of at most 12, parts of at most 2 ticks): the exploration of all integer
schedules against the directed search alone with its budget, and against the tests. The kept result
was made with --tiny 150 --jobs 200000, in some minutes.

    python benchmarks/challenge.py [--sets 200] [--tiny 200] [--jobs 1000000] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from challenge_systems import WAYS, tiny_sets, verdict_of

CPUS, SMS, TASKS = 4, 13, 16
LOADS = ((0.05, 0.3), (0.1, 0.4))  # utilizations of the tasks: Table I, and more
BUDGET = gs.pbs.Budget(states=1_000_000)


def large_verdicts(sets: int, utilization: tuple[float, float] = LOADS[0]) -> list[tuple[str, Any]]:
    """Verdicts of the tests for stacks of sets of 16 tasks."""
    drawn = gs.generate.stgm(TASKS, sets, seed=2002, cpus=CPUS, sms=SMS, utilization=utilization)
    placed = gs.analysis.partition(drawn, CPUS, "mpcp", sms=SMS).hosts
    sm = np.zeros((sets, TASKS, SMS), np.bool_)
    sm[:, np.arange(TASKS), np.arange(TASKS) % SMS] = True
    shared = placed.with_placement(core=placed.core, sm=sm)
    contexts: dict[str, Any] = {"timeslice": 1000, "context_switch": 50}
    return [
        ("stgm", gs.analysis.stgm(shared, CPUS, SMS)),
        ("mpcp", gs.analysis.mpcp(placed, CPUS, SMS)),
        ("fmlp_plus", gs.analysis.fmlp_plus(placed, CPUS, SMS)),
        ("gpu_server", gs.analysis.gpu_server(placed, CPUS, SMS, server_overhead=50)),
        ("time_slices", gs.analysis.time_slices(placed, CPUS, SMS, **contexts)),
        ("gcaps", gs.analysis.gcaps(placed, CPUS, SMS, update_cost=50)),
    ]


def large_row(name: str, verdict: Any, budget: gs.pbs.Budget) -> str:
    began = time.process_time()
    found = verdict.challenge(budget, exhaustive=False)
    seconds = time.process_time() - began
    late, accepted, count = int(found.rejected.sum()), int(found.accepted.sum()), len(found)
    for one in found:
        if one.rejected and not one.run(intervals=False).late.any():
            raise SystemExit(f"{name}: a counterexample does not replay")
    closest = (found.worst / found.hosts.deadline).max(axis=1)[found.undecided]
    near = f"{np.median(closest):8.2f}" if len(closest) else f"{'-':>8s}"
    return (
        f"{name:12s} {count:5d} {accepted:9d} {late:15d} {count - late - accepted:8d}"
        f" {late / max(1, count - accepted):9.1%} {near}"
        f" {int(found.jobs.sum()) / seconds / 1e6:8.2f}"
    )


def tiny_row(way: gs.ways.Way, count: int, jobs: int) -> tuple[str, int, int]:
    explored = searched = accepted = unsound = 0
    for hosts in tiny_sets(7, count):
        verdict = verdict_of(hosts, way)
        truth = gs.simulate.challenge(hosts, 2, way, exhaustive=True, budget=BUDGET)
        if not (truth.explored or truth.rejected):
            raise SystemExit(f"{way}: not explored within the budget")
        accepted += verdict.accepted
        unsound += verdict.accepted and truth.rejected
        if truth.rejected:
            explored += 1
            budget = gs.pbs.Budget(states=jobs)
            found = gs.simulate.challenge(hosts, 2, way, exhaustive=False, budget=budget)
            searched += found.rejected
    mode = way.given.get("mode", "suspend")
    row = (
        f"{way.name:12s} {mode:8s} {count:5d} {accepted:9d} {unsound:7d} {count - explored:9d}"
        f" {explored:7d} {searched:7d}"
    )
    return row, explored, searched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--tiny", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="budget of a search")
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    lines = [
        f"Challenges of rejections, budget {args.jobs} jobs a set, {describe()}",
        f"Sets of {TASKS} tasks on {CPUS} cores and {SMS} SMs, directed search; closest: median of",
        "the largest response / deadline seen in sets that stay unknown",
    ]
    for load in LOADS:
        lines += [
            "",
            f"U {load[0]}-{load[1]}     {'sets':>5s} {'accepted':>9s} {'counterexample':>15s}"
            f" {'unknown':>8s} {'decided':>9s} {'closest':>8s} {'Mjobs/s':>8s}",
        ]
        for name, verdict in large_verdicts(args.sets, load):
            lines.append(large_row(name, verdict, gs.pbs.Budget(states=args.jobs)))
            print(lines[-1], flush=True)
    lines += [
        "",
        "Sets of 3 tasks with small integers, all integer schedules explored:",
        f"{'test':12s} {'mode':8s} {'sets':>5s} {'accepted':>9s} {'of them':>7s} {'never':>9s}"
        f" {'late':>7s} {'found by':>8s}",
        f"{'':27s} {'by test':>9s} {'late':>7s} {'late':>9s} {'':7s} {'search':>8s}",
    ]
    late = found = 0
    for way in WAYS:
        line, explored, searched = tiny_row(way, args.tiny, args.jobs)
        late, found = late + explored, found + searched
        lines.append(line)
        print(line, flush=True)
    lines.append(f"The search finds {found} of {late} sets with a late job: {found / late:.2%}")
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "challenge.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
