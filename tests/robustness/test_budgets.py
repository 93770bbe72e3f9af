"""Budgets hold for whole calls: what is spent is undecided, and no verdict is stronger for it.

How well they hold is measured by benchmarks/budget_campaign.py.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._support.arguments import held_bytes
from gpusched._support.budget import Deadline, is_late, share_of, within_seconds
from gpusched.comparison import analyses, comparisons, margins, observations

SHORTEST = gs.Budget(seconds=1e-9)
PAST = Deadline(None, 1)
LONG = gs.KernelTasks([2, 10**15], wcet=[1, 1])
BOTH = gs.BatchTable([0, 1, 1, 1])
SPENT = "The budget of seconds was spent; a larger one may decide it."
XAVIER = gs.Platform("Xavier", cpus=2)


def workload(kernels: int = 1) -> gs.Workload:
    return gs.Workload(
        [
            gs.Task(
                f"task {i}",
                f"{period}ms",
                [gs.CPU("1ms"), *[gs.Kernel("2ms", blocks=8, threads=256)] * kernels],
            )
            for i, period in enumerate((20, 30, 50))
        ],
        tick="us",
    )


@pytest.mark.parametrize("dispatcher", [gs.pbs.edf_serial, gs.pbs.edf_parallel])
def test_dispatchers_end_with_their_budget(dispatcher: Any) -> None:
    for which, budget in (
        ("bytes", gs.Budget(bytes=1 << 20)),
        ("seconds", gs.Budget(seconds=0.01)),
    ):
        answer = dispatcher(LONG, BOTH, budget=budget)
        assert answer.undecided and answer.schedule is None
        assert answer.why() == f"The budget of {which} was spent; a larger one may decide it."


def test_a_set_of_a_stack_counts_as_one_alone(tmp_path: Any) -> None:
    few = gs.KernelTasks([[2, 3], [2, 10**7]], wcet=[[1, 1], [1, 1]])
    budget = gs.Budget(bytes=1 << 20)
    stack = gs.pbs.edf_parallel(few, BOTH, budget=budget)
    alone = [gs.pbs.edf_parallel(few[i], BOTH, budget=budget) for i in range(2)]
    assert stack.accepted.tolist() == [one.accepted for one in alone] == [True, False]
    late = gs.pbs.edf_serial(few, BOTH, budget=SHORTEST)
    assert late.undecided.all() and late[1].why() == SPENT
    late.save(tmp_path / "late")
    again = gs.pbs.Edf.load(tmp_path / "late")
    assert again == late and again[0].why() == SPENT


def test_sets_without_time_are_undecided() -> None:
    tasks = gs.KernelTasks([[4, 6]] * 50, wcet=[[1, 3]] * 50)
    table = gs.BatchTable([0, 1, 3, 4])
    found = gs.pbs.search(tasks, table, budget=SHORTEST)
    assert not found.rejected.any() and found.undecided[1:].all()
    assert set(found.reason[1:].tolist()) == {"seconds"}
    kernels = gs.generate.fifo(3, 0.5, count=4, seed=1)
    until = 10**6
    runs = gs.simulate.fifo_responses(kernels, 4096, until=until, budget=SHORTEST, settle="no")
    assert runs.outcome.tolist() == ["budget"] * 4
    small = gs.simulate.fifo_responses(
        kernels, 4096, until=until, budget=gs.Budget(bytes=64), settle="no"
    )
    assert small.outcome.tolist() == ["budget"] * 4 and not small.worst.any()
    hosts = gs.analysis.partition(gs.generate.stgm(count=3, seed=1, cpus=2), cpus=2).hosts
    for budget in (SHORTEST, gs.Budget(bytes=64)):
        given = gs.simulate.host_responses(hosts, 2, "mpcp", until=10**9, budget=budget)
        assert given.outcome.tolist() == ["budget"] * 3


def test_one_number_of_states_for_each_set() -> None:
    """The limit that gives the same answers on every machine holds for each set, as if alone."""
    tasks = gs.KernelTasks([[10, 14, 35]] * 3, wcet=[[4, 4, 8]] * 3)
    table = gs.BatchTable.from_utilization(tasks[0], slowdown=1.2)
    for states in (1, 5, 10**6):
        budget = gs.Budget(states=states)
        stack = gs.pbs.search(tasks, table, thorough=True, budget=budget)
        one = gs.pbs.search(tasks[:1], table, thorough=True, budget=budget)
        assert stack.states.tolist() == one.states.tolist() * 3
        assert stack.reason.tolist() == one.reason.tolist() * 3


def test_a_comparison_without_time_decides_nothing() -> None:
    found = gs.compare(workload(), XAVIER, budget=SHORTEST)
    assert found.schedulable is None
    for row in found:
        assert row.schedulable is None and row.answer is None and row.run is None
        assert row.verdict == "undecided" and SPENT in row.why()
    assert "undecided" in str(found)


def test_calls_without_time_say_so() -> None:
    for way in ("mpcp", "pbs", "streams"):
        with pytest.raises(gs.Cancelled, match="budget of seconds was spent"):
            gs.analyze(workload(), XAVIER, way, budget=SHORTEST)
        margin = gs.margin(workload(), XAVIER, way, budget=SHORTEST)
        assert margin.factor is None and not margin.exact and margin.tested == 0
    with pytest.raises(gs.Cancelled, match="budget of seconds was spent"):
        gs.observe(workload(), XAVIER, "streams", budget=SHORTEST)
    with pytest.raises(gs.Cancelled, match="budget of bytes was spent"):
        gs.observe(workload(2), XAVIER, "streams", until="1s", budget=gs.Budget(bytes=1000))
    with pytest.raises(gs.Cancelled, match="budget of bytes was spent"):
        gs.analyze(workload(), XAVIER, "pbs", budget=gs.Budget(bytes=100))
    with pytest.raises(TypeError, match="budget: got int"):
        gs.compare(workload(), XAVIER, budget=3)  # type: ignore[arg-type]


def test_states_alone_give_the_same_rows() -> None:
    one, other = (gs.compare(workload(2), XAVIER, budget=gs.Budget(states=500)) for _ in range(2))
    assert [row.why() for row in one] == [row.why() for row in other]
    default = gs.compare(workload(2), XAVIER)
    assert [row.verdict for row in one] == [row.verdict for row in default]


def test_rows_hold_memory_of_the_budget() -> None:
    """The runs of all rows together, not each by itself, fit the bytes."""
    w = workload()
    whole = gs.compare(w, XAVIER, until="2000s", ways=["mpcp", "fmlp_plus", "streams"])
    least = held_bytes([row.run for row in whole])
    found = gs.compare(
        w,
        XAVIER,
        until="2000s",
        ways=["mpcp", "fmlp_plus", "streams"],
        budget=gs.Budget(bytes=least // 2),
    )
    assert held_bytes([row.run for row in found]) <= least // 2
    assert any(row.run is None or row.run.now < whole[0].run.now for row in found)


def test_a_part_without_time_never_makes_a_verdict_stronger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts that get no time, at random: readings, rows, factors."""
    rng = random.Random(1)

    def unlucky(stop: Any, parts: int) -> Any:
        return PAST if rng.random() < 0.4 else share_of(stop, parts)

    cases = [(workload(kernels), platform) for kernels in (1, 2) for platform in (
        XAVIER, gs.Platform("AGX Orin", cpus=1), gs.Platform("A100", cpus=4),
    )]  # fmt: skip
    long = gs.Budget(seconds=1000)
    whole = [gs.compare(w, platform, budget=long) for w, platform in cases]
    factors = [gs.margin(w, platform, "mpcp", budget=long) for w, platform in cases]
    for module in (analyses, comparisons, margins, observations):
        monkeypatch.setattr(module, "share_of", unlucky)
    spent = 0
    for (w, platform), full, factor in zip(cases, whole, factors, strict=True):
        for row, other in zip(gs.compare(w, platform, budget=long), full, strict=True):
            assert row.schedulable in (None, other.schedulable), row.label
            assert not row.conditional or other.schedulable or other.conditional
            spent += SPENT in (row.why_no_answer, row.why_no_run)
        margin = gs.margin(w, platform, "mpcp", budget=long)
        assert factor.factor is not None and factor.exact
        assert margin.factor is None or margin.factor <= factor.factor
        assert not margin.exact or margin.factor == factor.factor
    assert spent > 10


def test_the_stop_byte_counts_before_the_deadline() -> None:
    stop = bytearray(1)
    timed = within_seconds(stop, 1e-9)
    assert is_late(timed) and not is_late(within_seconds(stop, 100)) and not is_late(stop)
    stop[0] = 1
    assert not is_late(timed)
    for call in (
        lambda: gs.compare(workload(), XAVIER, budget=SHORTEST, stop=stop),
        lambda: gs.analyze(workload(), XAVIER, "mpcp", budget=SHORTEST, stop=stop),
        lambda: gs.margin(workload(), XAVIER, "mpcp", budget=SHORTEST, stop=stop),
    ):
        with pytest.raises(gs.Cancelled, match="stopped"):
            call()


def test_deadlines_and_shares() -> None:
    assert within_seconds(None, None) is None and share_of(None, 3) is None
    outer = within_seconds(None, 100)
    assert within_seconds(outer, 1000) == outer
    assert within_seconds(outer, 1).ns < outer.ns
    half = share_of(outer, 2)
    assert share_of(outer, 1) == outer and half.ns < outer.ns
    assert share_of(PAST, 4).ns <= PAST.ns
    tasks = gs.generate.fifo(3, 0.5, seed=1)
    with pytest.raises(gs.Cancelled, match="budget of seconds was spent"):
        gs.BatchTable.from_gpu(
            gs.KernelTasks([10] * 20, wcet=[1] * 20, blocks=1, threads=32), "Xavier", stop=PAST
        )
    run = gs.simulate.fifo(tasks, 4096, until=10**9, settle="no", budget=SHORTEST)
    assert run.outcome == "budget" and run.reason == "seconds"
    assert held_bytes(run) >= run.release.nbytes
    assert held_bytes(run.release, run.release[1:], np.zeros(2)) == run.release.nbytes + 16


def test_a_byte_is_a_limit() -> None:
    tasks = gs.generate.fifo(3, 0.5, seed=1)
    run = gs.simulate.fifo(tasks, 4096, until=10**9, settle="no", budget=gs.Budget(bytes=1))
    assert run.reason == "bytes" and len(run) == 0
