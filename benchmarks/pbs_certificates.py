"""Certificates of unschedulability: both checks on random sets, and the speed of the one in C;
results/pbs_certificates.txt (10 minutes of one core).

Small sets of every kind (deadlines of any length, offsets, tables with holes that are not
monotone, with and without inserted idle time) get certificates by exhaustive search, each of which
is damaged several times; schedulable ones get those of a set that is a little harder, and random
numbers. The check in C and its twin in Python must agree on all of them, true certificates must
hold, and what holds must be about a set without a schedule. Larger sets, as in [RTNS24], section
6.1, with ticks of 1 ns, get certificates of a lazy search in Python. Each negative answer of the
search to sets of several kinds (KINDS) has a certificate that must hold: in C, in the twin as far
as its time allows. Each schedule found is replayed. The tests run a hundredth of this.

    python benchmarks/pbs_certificates.py [--sets 10000] [--noes 100000] [--kinds KIND ...]
                                          [--seed 1] [--save | --add]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from lazy_dead_states import LazySearch
from machine import describe

import gpusched as gs
from gpusched.pbs.certificates import certificate_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "pbs"))
from certificate_cases import (
    Case,
    certificates,
    damaged,
    garbage,
    holds,
    random_case,
    subsets,
    verdict_of_twin,
)
from test_search_stages import MIXES, ask

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

# Certificates of the search that are verified, of 100,000 in all, by the kind of their sets: small
# ones of every kind; with stages of the search left out in turn; ns ticks with 5 to 20 tasks; and
# overloaded ones with periods of up to 10^9 ticks.
KINDS = {
    "small": 50_000,
    "small, repeating": 8_000,
    "small, stages left out": 20_000,
    "5 tasks": 12_000,
    "5 tasks, repeating": 1_000,
    "8 tasks": 5_000,
    "10 tasks": 2_000,
    "12 tasks": 1_000,
    "16 tasks": 20,
    "20 tasks": 20,
    "overloaded": 960,
}
LARGE_TASKS = 16  # from here on, the budget may be spent between an answer and its proof
TWIN_CLASSES = 300  # of a certificate of dead states, with at most 5 tasks
TWIN_TASKS = 12  # of any other certificate


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


@dataclass
class Question:
    """A set with its table, and which schedule is asked for."""

    tasks: gs.KernelTasks
    table: gs.BatchTable
    idling: bool
    repeating: bool = False

    @property
    def case(self) -> Case:
        columns = (self.tasks.period, self.tasks.deadline, self.tasks.offset, self.table.completion)
        return Case(*(column.tolist() for column in columns))


def question(kind: str, rng: np.random.Generator, seed: int, number: int) -> Question:
    """A random set of one of the KINDS."""
    idling, repeating = bool(rng.integers(2)), kind.endswith("repeating")
    if kind.startswith("small"):
        return Question(*random_case(rng).objects(), idling, repeating)
    if kind == "overloaded":
        n = int(rng.integers(2, 9))
        period = rng.integers(10**3, 10**9, n)
        share = rng.dirichlet(np.ones(n)) * rng.uniform(1.01, 2)
        wcet = np.maximum(1, np.ceil(share * period)).astype(np.int64)
        completion = np.zeros(1 << n, np.int64)
        completion[1 << np.arange(n)] = wcet
        return Question(gs.KernelTasks(period, wcet), gs.BatchTable(completion), idling)
    n = int(kind.split()[0])
    load = float(rng.choice([1.0, 1.2, 1.4, 1.6] if n < 12 else [1.4, 1.6, 1.8]))
    slowdown = [(1.0, 1.4), (1.7, 1.9), (1.1, 1.9)][rng.integers(3)]
    tasks = gs.generate.gpusched(n, load, count=1, seed=seed, first=number)[0]
    table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=number)
    share, shift = np.ones(n), np.zeros(n)
    if n <= 12 and rng.random() < 0.3:
        share = rng.uniform(0.5, 1, n)
    elif n == 5 and not repeating:
        share = rng.uniform(0.6, 1.4, n)
        shift = rng.uniform(0, 1, n) * rng.integers(2)
    deadline, offset = ((tasks.period * x).astype(np.int64) for x in (share, shift))
    tasks = gs.KernelTasks(tasks.period, tasks.wcet, deadline=deadline, offset=offset)
    return Question(tasks, table, idling, repeating)


def refused(asked: Question, skip: int) -> tuple[bool | None, gs.pbs.Certificate | None]:
    """Whether the search finds no schedule, and its certificate; a schedule is replayed."""
    if skip:
        case = asked.case
        columns = (case.period, case.deadline, case.offset, case.completion)
        answer, _, _, proof = ask(columns, skip, asked.idling)
        return (None if answer < 0 else answer == 0), certificate_of(proof, asked.tasks)
    found = gs.pbs.search(
        asked.tasks,
        asked.table,
        idling=asked.idling,
        repeating=asked.repeating,
        budget=gs.Budget(bytes=1 << 30, seconds=60.0),
    )
    if found.schedule is not None:
        found.schedule.validate()
    return (None if found.undecided else found.rejected), found.certificate


def is_small(certificate: gs.pbs.Certificate, n: int) -> bool:
    """Whether the twin checks it within some ms."""
    inner = certificate
    if isinstance(certificate, gs.pbs.InfeasibleSubset):
        inner = certificate.proof
    if isinstance(inner, gs.pbs.DeadStates):
        return n <= 5 and len(inner.start) <= TWIN_CLASSES
    return n <= TWIN_TASKS


def noes(count: int, seed: int, chosen: list[str]) -> list[str]:
    """Certificates of the search to the chosen kinds of sets, all of which are verified."""
    lines = [
        f"{'certificates of the search to':30s}   sets    open without   in C    twin "
        "largest    check in C: sum, max"
    ]
    print(lines[0], flush=True)
    mixes = list(MIXES.values())
    for row, (kind, share) in enumerate(KINDS.items()):
        if kind not in chosen:
            continue
        tally: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        times, number, wanted = [], 0, max(1, share * count // sum(KINDS.values()))
        while len(times) < wanted:
            rng = np.random.default_rng([seed, row, number])
            asked = question(kind, rng, seed, number)
            skip = mixes[number % len(mixes)] if kind.endswith("left out") else 0
            no, certificate = refused(asked, skip)
            number += 1
            tally["open"] += no is None
            if not no:
                continue
            if certificate is None:
                tally["without"] += 1
                if not asked.repeating and asked.tasks.n < LARGE_TASKS:
                    raise SystemExit(f"no certificate: {asked}, {skip}")
                continue
            given = {"idling": asked.idling, "repeating": asked.repeating}
            began = time.perf_counter()
            certificate.verify(asked.tasks, asked.table, **given)
            times.append(time.perf_counter() - began)
            if is_small(certificate, asked.tasks.n):
                tally["twin"] += 1
                wrong = verdict_of_twin(certificate, asked.case, **given)
                if wrong is not None:
                    raise SystemExit(f"{wrong}: {asked}, {certificate}")
            kinds[type(certificate).__name__] += 1
            inner = getattr(certificate, "proof", certificate)
            if isinstance(inner, gs.pbs.DeadStates):
                tally["largest"] = max(tally["largest"], len(inner.start))
        lines.append(
            f"  {kind:28s} {number:7,} "
            f"{tally['open']:7,} {tally['without']:7,} {len(times):7,} {tally['twin']:7,} "
            f"{tally['largest']:7,} {sum(times):9.2f} s {max(times) * 1e3:8.2f} ms  "
            f"{dict(sorted(kinds.items()))}"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10000)
    parser.add_argument("--noes", type=int, default=100_000, help="certificates of the search")
    only = "only certificates of the search, to sets of some of KINDS"
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), metavar="KIND", help=only)
    parser.add_argument("--seed", type=int, default=1)
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--save", action="store_true", help="keep the result in benchmarks/results")
    kept.add_argument("--add", action="store_true", help="add the result to the one that is kept")
    args = parser.parse_args()
    lines = [f"PBS certificates, seed {args.seed}, {describe()}"]
    print(lines[0], flush=True)
    if args.kinds is None:
        for part in (small(args.sets, args.seed), generated(args.seed), large()):
            print("\n".join(part), flush=True)
            lines += part
    lines += noes(args.noes, args.seed, args.kinds or list(KINDS))
    if args.save or args.add:
        path = Path(__file__).parent / "results" / "pbs_certificates.txt"
        before = path.read_text() + "\n" if args.add else ""
        path.write_text(before + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
