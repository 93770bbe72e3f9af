"""Every stage of the search alone: agreement with brute force, and proofs of what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from reference import pbs_brute, pbs_refutation
from test_search import random_set

import gpusched as gs
from gpusched import _core

# Stages to skip, as GS_PBS_SEARCH_SKIP_* in csrc/pbs/search.h.
EDF, DIVE, RATES, INTERVAL, CLASSES, OUTER, WINDOWS = (1 << i for i in range(7))
TRIES, SHORT, WHOLE, REDUCE = (1 << i for i in range(7, 11))
QUICK = EDF | DIVE | RATES | INTERVAL
MIXES = {
    "all": 0,
    "tries off": QUICK | CLASSES | TRIES,
    "tries and prices off": QUICK | CLASSES | WINDOWS | TRIES,
    "short rounds": QUICK | CLASSES | SHORT,
    "rounds after classes": QUICK | OUTER | SHORT,
    "rounds after outer": QUICK | SHORT,
    "tries off after classes": QUICK | OUTER | TRIES | SHORT,
    "groups and cores": QUICK | REDUCE | SHORT,
    "rates and windows": EDF | DIVE | INTERVAL | CLASSES,
}


def ask(case: Any, skip: int, idling: bool, proof: bool = True, **options: Any) -> Any:
    """The core's (answer, stage, frames, proof)."""
    period, deadline, offset, completion = case
    rows = [np.array([x], dtype=np.int64) for x in (period, deadline, offset, completion)]
    given: dict[str, Any] = {
        "idling": idling, "thorough": False, "policy": False, "policy_limit": 0,
        "states": 0, "bytes": 0, "seconds": 0.0, "stop": None, "proof": proof, "skip": skip,
    }  # fmt: skip
    columns, frames, reason, _ = _core.pbs_search(*rows, None, **given | options)
    return int(columns[0][0]), int(columns[1][0]), frames, reason


def holes(rng: np.random.Generator, case: Any) -> Any:
    """The case with a table that is not monotone, and longer times."""
    completion = list(case[3])
    for mask in range(1, len(completion)):
        if mask & (mask - 1) == 0:
            completion[mask] += int(rng.integers(0, 3))
        elif rng.random() < 0.5:
            completion[mask] = int(rng.integers(0, max(completion) + 4))
    return (*case[:3], completion)


def check(case: Any, skip: int, idling: bool) -> tuple[bool, str]:
    """Compares one answer with brute force; returns it and the kind of proof."""
    period, deadline, offset, completion = case
    expected = pbs_brute.search(period, deadline, completion, offset, idling=idling)
    answer, _, frames, proof = ask(case, skip, idling)
    assert answer == (expected is not None), (case, skip, idling)
    if answer:
        rows = list(zip(*(x.tolist() for x in frames), strict=True))
        broken = pbs_brute.replay(rows, period, deadline, completion, offset, idling=idling)
        assert broken == [], (case, skip, idling)
        assert proof is None
        return True, ""
    wrong = pbs_refutation.violations(proof, period, deadline, offset, completion, idling)
    assert wrong == [], (case, skip, idling, proof)
    return False, proof["kind"]


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets", "long"])
@pytest.mark.parametrize("mix", MIXES)
def test_every_mix_of_stages_agrees_with_brute_force(mix: str, kind: str) -> None:
    rng = np.random.default_rng([len(mix), len(kind)])
    answers: Counter[bool] = Counter()
    for i in range(60):
        case = random_set(rng, int(rng.integers(1, 5)), kind)
        case = holes(rng, case) if i % 2 else case
        answers[check(case, MIXES[mix], bool(rng.integers(2)))[0]] += 1
    assert min(answers[True], answers[False]) > 2


def generated(
    n: int, utilization: float, slowdown: Any, seed: int, first: int, ticks: int = 1000
) -> Any:
    """One set of the generator and its table, with so many ticks in a microsecond."""
    tasks = gs.generate.gpusched(n, utilization, count=1, seed=seed, first=first, ticks=ticks)
    table = gs.BatchTable.from_utilization(tasks, slowdown, seed=seed, first=first)
    return tasks[0], table[0]


@pytest.mark.parametrize(
    ("n", "utilization", "slowdown", "seed", "first", "stage"),
    [
        (8, 1.0, "large", 7, 187, {"interval", "lazy"}),
        (8, 1.4, "small", 7, 460, {"interval", "lazy"}),
        (10, 1.4, "mixed", 77, 5, {"interval", "lazy"}),
        (16, 1.2, (1.7, 1.9), 2024, 0, {"groups"}),
        (16, 1.6, (1.7, 1.9), 2024, 1, {"groups"}),
        (20, 1.6, "small", 77, 2, {"groups"}),
    ],
)
def test_sets_that_filled_gigabytes_are_schedulable(
    n: int, utilization: float, slowdown: Any, seed: int, first: int, stage: set[str]
) -> None:
    tasks, table = generated(n, utilization, slowdown, seed, first)
    found = gs.pbs.search(tasks, table, budget=gs.Budget(bytes=64 << 20))
    assert found.schedulable is True and found.stage in stage
    found.schedule.validate()


@pytest.mark.parametrize("ticks", [1, 10, 100])
@pytest.mark.parametrize(
    ("n", "utilization", "slowdown", "seed", "first"),
    [(8, 1.0, "large", 7, 187), (8, 1.4, "small", 7, 460), (10, 1.4, "mixed", 77, 5)],
)
def test_the_same_sets_in_coarser_ticks(
    n: int, utilization: float, slowdown: Any, seed: int, first: int, ticks: int
) -> None:
    tasks, table = generated(n, utilization, slowdown, seed, first, ticks)
    found = gs.pbs.search(tasks, table, budget=gs.Budget(bytes=64 << 20))
    assert found.schedulable is True
    found.schedule.validate()


def test_a_search_goes_on_where_feasible_instants_take_too_many_bytes() -> None:
    tasks, table = generated(10, 1.4, "mixed", 77, 5)
    found = gs.pbs.search(tasks, table, budget=gs.Budget(bytes=900 << 10))
    assert found.schedulable is True and found.stage == "lazy"
    found.schedule.validate()


@pytest.mark.long
def test_feasible_instants_refuse_a_set_of_sixteen_tasks() -> None:
    """Dead states one by one take seconds here, and minutes in other sets."""
    tasks, table = generated(16, 1.6, (1.7, 1.9), 90001, 24)
    found = gs.pbs.search(tasks, table)
    assert found.schedulable is False and found.stage == "interval"
    found.certificate.verify(tasks, table)


@pytest.mark.parametrize("utilization", [1.4, 1.6])
def test_a_core_decides_sets_of_twenty_tasks(utilization: float) -> None:
    tasks, table = generated(20, utilization, "large", 77, 2)
    found = gs.pbs.search(tasks, table, budget=gs.Budget(bytes=64 << 20))
    assert found.schedulable is False and found.stage == "core"
    found.certificate.verify(tasks, table)


def test_a_dead_interval_is_looked_for_where_deadlines_are_shorter_than_periods() -> None:
    """One of five thousand sets has one with deadlines equal to periods; other stages refuse it."""
    tasks, table = generated(5, 1.6, (1.0, 1.4), 2024, 281)
    found = gs.pbs.search(tasks, table)
    assert found.schedulable is False and found.stage == "latest_start"
    found.certificate.verify(tasks, table)
    gs.pbs.DeadInterval(0, 800_000, tuple(range(5)), 810_946).verify(tasks, table)
    shorter = gs.KernelTasks(tasks.period, tasks.wcet, deadline=tasks.deadline - 1)
    assert gs.pbs.search(shorter, table).stage == "dead_interval"


def test_a_core_of_a_large_set_fails_alone() -> None:
    tasks, table = generated(16, 1.6, (1.0, 1.4), 2024, 0)
    assert gs.pbs.search(tasks, table).stage == "core"
    arrays = (tasks.period, tasks.deadline, tasks.offset, table.completion)
    answer, _, _, proof = ask(arrays, 0, False)
    assert answer == 0 and proof["kind"] == "core" and len(proof["core"]) < 16
    assert pbs_refutation.violations(proof, *(x.tolist() for x in arrays)) == []


def test_a_proof_with_undecided_batches_is_about_the_best_case() -> None:
    tasks = gs.KernelTasks(period=[4, 4], wcet=[3, 3])
    rows = [np.atleast_2d(x) for x in (tasks.period, tasks.deadline, tasks.offset)]
    completion, undecided = np.array([[0, 3, 3, 0]]), np.array([[0, 0, 0, 5]])
    given: dict[str, Any] = {
        "idling": False, "thorough": False, "policy": False, "policy_limit": 0,
        "states": 0, "bytes": 0, "seconds": 0.0, "stop": None, "proof": True,
    }  # fmt: skip
    columns, _, proof, _ = _core.pbs_search(*rows, completion, undecided, **given)
    assert columns[0][0] == 0
    best = (completion + undecided)[0].tolist()
    assert pbs_refutation.violations(proof, [4, 4], [4, 4], [0, 0], best) == []


def test_a_budget_includes_the_proof() -> None:
    rng = np.random.default_rng(5)
    answers: Counter[tuple[int, int]] = Counter()
    for i in range(150):
        case = random_set(rng, int(rng.integers(2, 5)), ("implicit", "constrained")[i % 2])
        for states in (1, 2, 3, 5, 8, 13, 21, 34, 55):
            alone = ask(case, 0, False, proof=False, states=states)[0]
            answer, _, _, proof = ask(case, 0, False, states=states)
            assert (answer == 0) == (proof is not None), (case, states)
            answers[alone, answer] += 1
    # Refused without a proof, and left undecided where the proof takes more states than allowed.
    assert answers.keys() == {(-1, -1), (0, -1), (0, 0), (1, 1)}


def test_a_stack_has_no_proofs() -> None:
    tasks = gs.KernelTasks(period=[[4, 4]] * 2, wcet=[3, 3])
    found = gs.pbs.search(tasks, gs.BatchTable(completion=[0, 3, 3, 0]))
    assert found.rejected.all() and found.certificate is None
    assert gs.pbs.search(tasks[0], found.table).certificate is not None
