"""gs.pbs.margin: the factor of the slowdown, against a scan of all factors by enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import pbs_brute
from reference import slowdown_growth as twin

import gpusched as gs

# Schedulable without waiting at factor 2, not at factor 1: with the shorter batch the GPU is free
# at another time, and has to go on at once.
ANOMALY = gs.KernelTasks(period=[3, 8, 12], wcet=[1, 1, 4], deadline=[3, 4, 10])
TIMES = gs.BatchTable([0, 1, 1, 2, 4, 6, 0, 0])
PAIR = gs.KernelTasks(period=[8, 8], wcet=[4, 5])
SLOW = gs.BatchTable([0, 4, 5, 7])


def drawn(rng: np.random.Generator) -> tuple[list[int], list[int], list[int], list[int]]:
    """Period, deadline, offset and times of a small set, most of them with a slowdown."""
    n = int(rng.integers(2, 4))
    period = rng.choice([3, 4, 6, 8, 12], n).tolist()
    times = [0] * (1 << n)
    for i in range(n):
        times[1 << i] = int(rng.integers(1, 4))
    for mask in range(1, 1 << n):
        if mask & (mask - 1) and rng.random() < 0.9:
            times[mask] = max(1, twin.longest_alone(times, mask) + int(rng.integers(-1, 4)))
    deadline = [int(rng.integers(max(1, p // 2), p + 3)) for p in period]
    return period, deadline, rng.integers(0, 2, n).tolist(), times


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_a_scan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(60):
        period, deadline, offset, times = drawn(rng)
        wcet = [times[1 << i] for i in range(len(period))]
        tasks = gs.KernelTasks(period, wcet, deadline=deadline, offset=offset)
        idling = bool(rng.integers(2))
        known = twin.accepted(period, deadline, times, offset, idling, max(deadline) + 1)
        if len(known) == 1:  # no slowdown
            continue
        found = gs.pbs.margin(tasks, gs.BatchTable(times), idling=idling)
        good = [factor for factor, yes in known.items() if yes]
        if found.unlimited:
            assert all(known.values()) and found.exact
        elif idling or found.exact:
            assert found.exact and found.factor == found.limit == max(good, default=None)
            assert all(known[factor] == (factor in good) for factor in known)
            assert found.factor is None or all(
                factor in good for factor in known if factor <= found.factor
            )
        else:
            assert found.limit is None or max(good, default=0) <= found.limit
            for factor, yes in ((found.factor, True), (found.failed, False)):
                if factor is not None:
                    grown = twin.grown(times, factor)
                    plan = pbs_brute.search(period, deadline, grown, offset, False)
                    assert (plan is not None) == yes
        if found.factor is not None:
            assert found.table_at(found.factor).completion.tolist() == twin.grown(
                times, found.factor
            )
            assert found.answer is not None and found.answer.schedule is not None
            found.answer.schedule.validate()
        kinds.add((found.unlimited, found.exact, found.factor is None))
    assert len(kinds) >= 4


def test_a_larger_slowdown_may_help_a_gpu_that_never_waits() -> None:
    found = gs.pbs.margin(ANOMALY, TIMES)
    assert gs.pbs.search(ANOMALY, TIMES).schedulable is False
    assert gs.pbs.search(ANOMALY, found.table_at(2)).schedulable is True
    assert not found.exact and found.failed is not None and found.limit is None
    assert gs.pbs.margin(ANOMALY, TIMES, idling=True).unlimited
    assert gs.pbs.search(ANOMALY, TIMES, idling=True).schedulable is True


def test_ticks_are_rounded_up() -> None:
    found = gs.pbs.margin(PAIR, SLOW, idling=True)
    assert found.factor == Fraction(3, 2) and found.failed is None
    assert found.table_at(Fraction(3, 2)).completion[3] == 8
    assert found.table_at(Fraction(3, 2) + Fraction(1, 10**9)).completion[3] == 9
    assert found.table_at(0).completion.tolist() == [0, 4, 5, 5]
    assert found.table_at(1) == SLOW
    assert str(found) == "the slowdown may be 1.5 times as large, and no larger"


def test_a_schedule_without_batches_needs_no_limit() -> None:
    tasks = PAIR.replace(period=[9, 9], deadline=[9, 9])
    for idling in (False, True):
        found = gs.pbs.margin(tasks, SLOW, idling=idling)
        assert found.unlimited and found.exact and found.factor is None and found.limit is None
        assert str(found) == "the slowdown may grow without limit"
        assert found.answer is not None and found.answer.accepted


def test_other_batches_may_exceed_all_times() -> None:
    # The factor is decided by a batch with an excess of one tick, and another has 10^9 of them.
    long = 6 * 10**11
    tasks = gs.KernelTasks(period=[10**12] * 3, wcet=[long, long, 1])
    table = gs.BatchTable([0, long, long, long + 1, 1, long + 10**9, 0, 0])
    found = gs.pbs.margin(tasks, table, idling=True)
    assert found.exact and found.factor == 10**12 - long - 1
    assert found.answer is not None and found.answer.accepted
    with pytest.raises(OverflowError, match="factor: got"):
        found.table_at(found.factor)


def test_not_even_without_slowdown() -> None:
    tasks = PAIR.replace(period=[4, 4], deadline=[4, 4])
    for idling in (False, True):
        found = gs.pbs.margin(tasks, SLOW, idling=idling)
        assert found.factor is None and found.exact and found.answer is None
        assert str(found).endswith("factors tested for the slowdown is accepted")
    only = PAIR.replace(period=[5, 5], deadline=[5, 5])
    assert gs.pbs.margin(only, SLOW, idling=True).factor == 0


def test_undecided_searches_are_not_exact() -> None:
    tasks = gs.generate.gpusched(6, 1.3, seed=3)
    table = gs.BatchTable.from_utilization(tasks, "mixed", seed=3)
    found = gs.pbs.margin(tasks, table, idling=True, budget=gs.Budget(states=1))
    assert found.undecided > 0 and not found.exact
    whole = gs.pbs.margin(tasks, table, idling=True)
    assert whole.exact and whole.undecided == 0
    seen: list[int] = []
    gs.pbs.margin(PAIR, SLOW, progress=lambda done, total: seen.append(done))
    assert seen == list(range(1, len(seen) + 1))
    with pytest.raises(gs.Cancelled):
        gs.pbs.margin(PAIR, SLOW, stop=bytearray(b"\1"))


def test_orders_and_undecided_batches_stay() -> None:
    table = gs.BatchTable.from_dict(2, {(0,): 4, (1,): 5, (1, 0): 7})
    found = gs.pbs.margin(PAIR, table, idling=True)
    assert found.table_at(2).submission_order(3) == (1, 0)
    open_table = gs.BatchTable([0, 4, 5, 0], [0, 0, 0, 7])
    found = gs.pbs.margin(PAIR, open_table, idling=True)
    assert found.factor is None and found.undecided > 0 and not found.exact


STACK = gs.KernelTasks(period=[[8, 8]] * 2, wcet=4)
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"tasks": STACK}, ValueError, "tasks: got a stack"),
    ({"table": gs.BatchTable([[0, 4, 5, 7]] * 2)}, ValueError, "table: got a stack"),
    ({"table": gs.BatchTable([0, 4])}, ValueError, "table: got one for 1 tasks, expected 2"),
    ({"table": gs.BatchTable([0, 4, 5, 5])}, ValueError, "expected a slowdown"),
    ({"table": 5}, TypeError, "table"),
    ({"idling": 0}, TypeError, "idling"),
    ({"budget": 1}, TypeError, "budget"),
    ({"stop": 3}, TypeError, "stop"),
]


@pytest.mark.parametrize(("changed", "error", "text"), WRONG)
def test_refusals(changed: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gs.pbs.margin(**{"tasks": PAIR, "table": SLOW, **changed})


@pytest.mark.parametrize(
    ("factor", "error"),
    [(-1, ValueError), (0.5, TypeError), (True, TypeError), (2**60, OverflowError)],
)
def test_refused_factors(factor: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="factor: got"):
        gs.pbs.margin(PAIR, SLOW, idling=True).table_at(factor)
