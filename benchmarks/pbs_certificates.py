"""Certificates of unschedulability: both checks on random sets, and the speed of the one in C;
results/pbs_certificates.txt (10 minutes).

Small sets of every kind (deadlines of any length, offsets, tables with holes that are not
monotone, with and without inserted idle time) get certificates by exhaustive search, each of which
is damaged several times; schedulable ones get those of a set that is a little harder, and random
numbers. The check in C and its twin in Python must agree on all of them, true certificates must
hold, and what holds must be about a set without a schedule. Larger sets, as in [RTNS24], section
6.1, with ticks of 1 ns, get certificates of a lazy search in Python. The tests run a hundredth of
this.

    python benchmarks/pbs_certificates.py [--sets 10000] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from lazy_dead_states import LazySearch
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from certificate_cases import (
    Case,
    certificates,
    damaged,
    garbage,
    holds,
    random_case,
    subsets,
)

DAMAGES = 3
GENERATED = 400
# Tasks, utilization, slowdown, seed and number of unschedulable sets that quick stages leave open.
LARGE = (
    (8, 1.2, (1.1, 1.9), 7, 40),
    (10, 1.4, (1.1, 1.9), 9, 366),
    (10, 1.4, (1.1, 1.9), 9, 102),
    (10, 1.4, (1.7, 1.9), 77, 56),
    (12, 1.6, (1.7, 1.9), 7, 44),
)


def small(sets: int, seed: int) -> list[str]:
    """Agreement of both checks, and of what they accept with the search."""
    count: Counter[str] = Counter()
    began = time.monotonic()
    for number in range(sets):
        rng = np.random.default_rng([seed, number])
        case, idling = random_case(rng), bool(rng.integers(2))
        questions = [(idling, False), (not idling, False), (idling, True)]
        tasks, table = case.objects()
        answers = {
            q: gs.pbs.search(tasks, table, idling=q[0], repeating=q[1]).schedulable
            for q in questions
        }
        true = [*certificates(rng, case, idling), *subsets(rng, case)]
        for proof in true:
            inner = proof.proof if isinstance(proof, gs.pbs.InfeasibleSubset) else proof
            if not isinstance(inner, gs.pbs.Overload) and not holds(proof, case, *questions[0]):
                raise SystemExit(f"refused: {case}, {proof}, {questions[0]}")
        true += subsets(rng, case, idling=False)
        given = {"made": true, "random": [garbage(rng, case) for _ in range(4)]}
        both = [*given["made"], *given["random"]]
        given["damaged"] = [damaged(rng, proof) for proof in both for _ in range(DAMAGES)]
        harder = [int(c) + int(c > 0 and rng.random() < 0.5) for c in case.completion]
        other = replace(case, completion=harder)
        given["of a harder set"] = [*certificates(rng, other, idling), *subsets(rng, other)]
        for kind, proofs in given.items():
            for proof in proofs:
                for question in questions:
                    good = holds(proof, case, *question)
                    count[f"{kind}: {'holds' if good else 'refused'}"] += 1
                    if good and answers[question]:
                        raise SystemExit(f"accepted: {case}, {proof}, {question}")
        count["sets"] += 1
        count["sets with a schedule"] += answers[questions[0]]
    lines = [f"{sets} small sets, no disagreement, {time.monotonic() - began:.0f} s"]
    return lines + [f"  {name}: {number:,}" for name, number in sorted(count.items())]


def generated(seed: int) -> list[str]:
    """Certificates of sets at 1 ns by lazy search; those at most 300 classes also by the twin."""
    count: Counter[str] = Counter()
    for n in (4, 5):
        for load in (1.0, 1.4):
            tasks = gs.generate.gpusched(n, load, count=GENERATED // 4, seed=seed)
            tables = gs.BatchTable.from_utilization(tasks, (1.1, 1.9), seed=seed)
            for one, table in zip(tasks, tables, strict=True):
                search = LazySearch(one, table)
                alive = search.is_alive(0, (0, search.arrived[0]))
                if alive is not gs.pbs.search(one, table).schedulable:
                    raise SystemExit(f"lazy search: {one}, {table}")
                proof = search.certificate()
                columns = (one.period, one.deadline, one.offset, table.completion)
                case = Case(*(column.tolist() for column in columns))
                if len(proof.start) <= 300:
                    good = holds(proof, case, False, False)
                else:
                    good = is_accepted(proof, one, table)
                if good is alive:
                    raise SystemExit(f"{one}, {table}: {good}")
                count["holds" if good else "refused"] += 1
    return [f"{sum(count.values())} sets at 1 ns: {dict(count)}, as the search says"]


def is_accepted(proof: gs.pbs.Certificate, tasks: gs.KernelTasks, table: gs.BatchTable) -> bool:
    try:
        proof.verify(tasks, table)
    except gs.pbs.CertificateError:
        return False
    return True


def large() -> list[str]:
    """Times of the check in C."""
    lines = ["tasks  classes   spans  search in Python      check"]
    for n, load, slowdown, seed, number in LARGE:
        tasks = gs.generate.gpusched(n, load, count=number + 1, seed=seed)
        table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed)[number]
        search = LazySearch(tasks[number], table)
        began = time.perf_counter()
        if search.is_alive(0, (0, search.arrived[0])):
            raise SystemExit(f"schedulable: {n, load, slowdown, seed, number}")
        searched = time.perf_counter() - began
        proof = search.certificate()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            proof.verify(tasks[number], table)
            times.append(time.perf_counter() - began)
        lines.append(
            f"{n:5d} {len(proof.start):8,} {len(proof.span_first):7,} {searched:15.1f} s "
            f"{min(times) * 1e3:8.1f} ms"
        )
    many = gs.KernelTasks([100] * 20, [7] * 20)
    table = gs.BatchTable(np.r_[0, np.full(2**20 - 1, 100)])
    prices = gs.pbs.Overload((10,) * 20, 2, 1.0)
    began = time.perf_counter()
    is_accepted(prices, many, table)
    lines.append(f"prices of 20 tasks, 2**20 batches: {(time.perf_counter() - began) * 1e3:.1f} ms")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the result in benchmarks/results")
    args = parser.parse_args()
    lines = [f"PBS certificates, seed {args.seed}, {describe()}"]
    for part in (small(args.sets, args.seed), generated(args.seed), large()):
        print("\n".join(part), flush=True)
        lines += part
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_certificates.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
