"""PBS of tasks that need others: agreement with enumeration; results/pbs_needs.txt.

Random sets of two to four tasks in groups with random needs (tests/pbs/test_needs.py), a quarter
each with deadlines that are the periods, shorter, with offsets, and of any length; half of the
tables are not monotone. Half of the questions are with inserted idle time. Each goes to the core's
search, with its stages left out in turn, and to an enumeration of all sequences of frames. Every
schedule is replayed, and the proof of every negative answer is checked by its twin. Of the negative
ones is counted how many would be schedulable if no task waited. Then sets of two and three tasks,
for all jobs instead of those of one hyperperiod.

    python benchmarks/pbs_needs.py [--sets 100000] [--repeating 2000] [--save]
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
from reference import pbs_brute
from test_needs import KINDS, STAGES, agree, objects, random_needs


def agreement(kind: str, sets: int, seed: int) -> str:
    """The row of one kind of deadlines."""
    rng = np.random.default_rng([seed, len(kind)])
    answers, stages, waits = Counter(), Counter(), 0
    began = time.process_time()
    for number in range(sets):
        case, needs = random_needs(rng, int(rng.integers(2, 5)), kind)
        idling = bool(rng.integers(2))
        answer, stage = agree(case, needs, idling, STAGES[number % len(STAGES)])
        answers[answer] += 1
        stages[stage] += 1
        if answer != "yes":
            free = pbs_brute.search(*case[:2], case[3], case[2], idling)
            waits += free is not None
    return (
        f"{kind:12s} {sets:7d} sets, {answers.pop('yes'):6d} schedulable, {waits} only if no task "
        f"waited, no disagreement ({time.process_time() - began:.0f} s)\n    proofs "
        f"{dict(answers)}; stages {dict(stages)}"
    )


def repeating(sets: int, seed: int) -> str:
    """The row of the questions about all jobs."""
    rng = np.random.default_rng([seed, 0])
    began, accepted = time.process_time(), 0
    for number in range(sets):
        case, needs = random_needs(rng, int(rng.integers(2, 4)), KINDS[number % 4])
        graph, table = objects(case, needs)
        idling = bool(rng.integers(2))
        answer = gs.pbs.search(graph, table, repeating=True, idling=idling)
        goes_on = pbs_brute.goes_on(*case[:2], case[3], case[2], idling, needs)
        if answer.schedulable is not goes_on:
            raise SystemExit(f"the search says {answer.schedulable}: {case}, {needs}, {idling}")
        accepted += goes_on
    return (
        f"all jobs     {sets:7d} sets, {accepted:6d} schedulable, no disagreement "
        f"({time.process_time() - began:.0f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=100_000)
    parser.add_argument("--repeating", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    args = parser.parse_args()
    lines = [f"PBS of tasks that need others, seed {args.seed}, {describe()}"]
    print(lines[0], flush=True)
    for kind in KINDS:
        lines.append(agreement(kind, args.sets // len(KINDS), args.seed))
        print(lines[-1], flush=True)
    lines.append(repeating(args.repeating, args.seed))
    print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "pbs_needs.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
