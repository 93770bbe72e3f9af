"""Search with batch times as a function: never wrong on small sets, schedules and proofs of large
ones, budgets, refusals."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import batch_function as twin

import gpusched as gs
from gpusched._support.registry import enumeration
from gpusched.pbs.certificates import certificate_of, overpriced
from gpusched.pbs.exact_search import search_function
from gpusched.pbs.search_answer import Found

EDF, SEARCHED, PRICES, GROUPS, CORES = (1 << k for k in range(5))
ALL = EDF | SEARCHED | PRICES | GROUPS | CORES
WAYS = {
    "all": 0,
    "edf": ALL - EDF,
    "searched": ALL - SEARCHED,
    "prices": ALL - PRICES,
    "groups": ALL - GROUPS,
    "cores": ALL - CORES,
}


def small(seed: int) -> tuple[gs.KernelTasks, gs.BatchFunction]:
    """A set of 1 to 10 tasks whose load varies around what the GPU can take."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(1, 5 if seed % 3 == 2 else 11 if seed % 8 == 0 else 8))
    period = rng.choice([8, 12, 16, 24], n)
    wcet = np.maximum(1, period * rng.dirichlet(np.ones(n)) * rng.uniform(0.6, 3)).astype(np.int64)
    wcet = np.minimum(wcet, period)
    columns: dict[str, Any] = {}
    if seed % 3 == 1:
        columns["deadline"] = np.maximum(wcet, period - rng.integers(0, 6, n))
    if seed % 3 == 2:
        columns |= {"offset": rng.integers(0, 8, n), "deadline": period + rng.integers(-2, 9, n)}
    if seed % 2:
        columns |= {"blocks": rng.integers(1, 4, n), "threads": rng.choice([64, 160, 256], n)}
        gpu = gs.GPU(sms=2, threads_per_sm=512, blocks_per_sm=4)
        tasks = gs.KernelTasks(period=period, wcet=wcet, **columns)
        return tasks, gs.BatchFunction.from_gpu(tasks, gpu, (1.0, 1.6), seed=seed)
    tasks = gs.KernelTasks(period=period, wcet=wcet, **columns)
    return tasks, gs.BatchFunction.from_utilization(tasks, (1.0, 1.6), seed=seed)


@cache
def exactly(seed: int, idling: bool) -> bool | None:
    tasks, times = small(seed)
    return gs.pbs.search(tasks, times.table(), idling=idling).schedulable


def rounds(tasks: gs.KernelTasks, times: gs.BatchFunction, **options: Any) -> Found:
    options = {"idling": False, "budget": gs.Budget(), "progress": False, "stop": None} | options
    return search_function(tasks, times, **options)


def check(tasks: gs.KernelTasks, times: gs.BatchFunction, found: Found, idling: bool) -> None:
    """A schedule replays with the function and its table, a proof holds."""
    if found.answer == 1:
        for of in (times, times.table()):
            gs.Schedule(*found.frames, tasks, of, idling).validate()
    if found.answer == 0 and found.proof is not None:
        certificate = certificate_of(found.proof, tasks)
        assert certificate is not None
        certificate._check_function(tasks, times, False, None)
        if isinstance(certificate, gs.pbs.Overload):
            certificate.verify(tasks, times.table())


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_those_of_the_exact_search(way: str) -> None:
    """Sets of up to 10 tasks, with and without inserted idle time; nearly all are decided."""
    answers: Counter[int] = Counter()
    for seed in range(24):
        tasks, times = small(seed)
        for idling in (False, True):
            exact = exactly(seed, idling)
            found = rounds(tasks, times, idling=idling, skip=WAYS[way], rounds=2)
            answers[found.answer] += 1
            check(tasks, times, found, idling)
            if exact is not None and found.answer >= 0:
                assert exact == (found.answer == 1), (seed, idling)
    assert answers[0] + answers[1] > 3
    if way == "all":
        assert answers[-1] <= 4


@pytest.mark.parametrize("seed", range(8))
def test_a_function_of_few_tasks_is_searched_as_its_table(seed: int) -> None:
    tasks, times = small(seed)
    for options in ({}, {"idling": True}, {"repeating": True}, {"policy": True}):
        one, other = (gs.pbs.search(tasks, of, **options) for of in (times, times.table()))
        assert one.schedulable == other.schedulable
        assert one.stage == other.stage
        assert one.table == other.table
        assert one.schedule == other.schedule
        if one.certificate is not None:
            one.certificate.verify(tasks, times, idling=one.idling, repeating=one.repeating)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_by_prices_hold_for_every_batch(seed: int) -> None:
    """No batch of the table contradicts prices that the check by knapsacks accepts."""
    tasks, times = small(seed)
    rng = np.random.default_rng(seed)
    table = times.table()
    rest = 0 if table.undecided is None else table.undecided
    accepted = 0
    for _ in range(20):
        price = np.round(tasks.wcet * rng.uniform(-0.2, 1.05, tasks.n)).astype(int).tolist()
        if overpriced(times, tuple(price), 1) is None:
            accepted += 1
            assert twin.worth_beyond_time(price, 1, (table.completion + rest).tolist()) == []
    assert tasks.n > 6 or accepted


def forty(u: float, slowdown: Any, seed: int = 3) -> tuple[gs.KernelTasks, gs.BatchFunction]:
    tasks = gs.generate.gpusched(40, u, seed=seed)
    return tasks, gs.BatchFunction.from_utilization(tasks, slowdown, seed=1)


@pytest.mark.parametrize(
    ("u", "slowdown", "stage"),
    [
        (0.8, (1.0, 1.4), "edf_serial"),
        (1.6, (1.7, 1.9), "edf_parallel"),
        (3.2, (1.0, 1.4), "depth_first"),
        (3.2, (1.7, 1.9), "overload"),
    ],
)
def test_forty_tasks(u: float, slowdown: Any, stage: str, tmp_path: Path) -> None:
    tasks, times = forty(u, slowdown)
    found = gs.pbs.search(tasks, times)
    assert found.stage == stage
    assert found.schedulable == (stage != "overload")
    if found.accepted:
        assert found.schedule is not None
        found.schedule.validate()
        assert (found.response <= tasks.deadline).all()
        assert found.table is times
        assert found.why().endswith(".")
    else:
        assert found.certificate is not None
        found.certificate.verify(tasks, times)
        assert "need" in found.why()
    found.save(tmp_path / "found.npz")
    again = gs.pbs.Search.load(tmp_path / "found.npz")
    assert again == found
    assert again.table == times
    assert len(found.to_frame()) == 1


def test_a_placement_of_fifty_tasks() -> None:
    rng = np.random.default_rng(1)
    tasks = gs.KernelTasks(
        period=rng.choice([4000, 8000], 50),
        wcet=rng.integers(50, 300, 50),
        blocks=rng.integers(1, 12, 50),
        threads=rng.choice([64, 128, 256], 50),
    )
    times = gs.BatchFunction.from_gpu(tasks, "pbs2024", seed=1)
    found = gs.pbs.search(tasks, times)
    assert found.accepted
    assert found.schedule is not None
    found.schedule.validate()
    order = found.schedule.members(0)
    assert sorted(order) == list(times.members(int(found.schedule.batch[0])))


def test_a_subset_that_cannot_be_scheduled() -> None:
    """A long kernel leaves no place for short periods, whatever the other tasks do."""
    period = [10, 10, *[100] * 30]
    tasks = gs.KernelTasks(period=period, wcet=[6, 5, *[1] * 30], deadline=[10, 10, *[100] * 30])
    times = gs.BatchFunction.from_utilization(tasks, 2.0)
    found = gs.pbs.search(tasks, times)
    assert found.rejected
    proof = found.certificate
    assert proof is not None
    proof.verify(tasks, times)
    core = rounds(tasks, times, skip=ALL - CORES)
    assert core.answer == 0
    subset = certificate_of(core.proof, tasks)
    assert isinstance(subset, gs.pbs.InfeasibleSubset)
    subset.verify(tasks, times)
    with pytest.raises(gs.pbs.CertificateError):
        subset.verify(tasks, gs.BatchFunction.from_utilization(tasks, 1.0))
    with pytest.raises(gs.pbs.CertificateError, match="rising order"):
        gs.pbs.InfeasibleSubset((3, 40), subset.proof).verify(tasks, times)


def test_damaged_prices_are_refused() -> None:
    tasks, times = forty(3.2, (1.7, 1.9))
    proof = gs.pbs.search(tasks, times).certificate
    assert isinstance(proof, gs.pbs.Overload)
    dear = (proof.price[0] + proof.scale * int(times.wcet[0]), *proof.price[1:])
    cheap = tuple(price // 2 for price in proof.price)
    for price, window, text in (
        (dear, proof.window, "worth more than its time"),
        (cheap, proof.window, "worth no more than the time"),
        (proof.price, 0, "positive"),
    ):
        damaged = gs.pbs.Overload(price, proof.scale, proof.demand, window)
        with pytest.raises(gs.pbs.CertificateError, match=text):
            damaged.verify(tasks, times)
    with pytest.raises(ValueError, match="got 2 prices, expected 40"):
        gs.pbs.Overload((1, 2), 1, 1.0).verify(tasks, times)
    with pytest.raises(ValueError, match="expected at most 24 to check a DeadInterval"):
        gs.pbs.DeadInterval(0, 1, (0,), 2).verify(tasks, times)
    late = tasks.replace(deadline=tasks.period + 1)
    with pytest.raises(gs.pbs.CertificateError, match="after the hyperperiod"):
        gs.pbs.Overload(proof.price, proof.scale, 2.0).verify(late, times)


def test_budgets_and_progress() -> None:
    tasks, times = forty(2.4, (1.7, 1.9), seed=77)
    reports: list[tuple[int, int]] = []
    found = rounds(tasks, times, skip=ALL - CORES, rounds=3, progress=lambda *r: reports.append(r))
    assert found.answer == -1
    assert reports == [(1, 3), (2, 3), (3, 3)]
    assert found.tried[0] == 3
    assert found.tried[3] > 10
    spent = gs.pbs.search(tasks, times, budget=gs.Budget(states=10))
    assert spent.undecided
    assert spent.reason == "states"
    assert spent.tried is not None
    assert spent.why().startswith("The budget of states was spent: 1 rounds tried")
    assert gs.pbs.search(tasks, times, budget=gs.Budget(seconds=1e-6)).reason == "seconds"
    assert gs.pbs.search(tasks, times, budget=gs.Budget(bytes=4000)).reason == "bytes"
    with pytest.raises(gs.Cancelled):
        gs.pbs.search(tasks, times, stop=bytearray([1]))
    few, table = tasks[:20], gs.BatchFunction.from_utilization(tasks[:20], 1.5)
    for name, budget in (("seconds", gs.Budget(seconds=1e-6)), ("bytes", gs.Budget(bytes=10**6))):
        found_none = gs.pbs.search(few, table, budget=budget)
        assert found_none.reason == name
        assert found_none.why().startswith(f"The budget of {name} was spent, after ")


def test_rounds_without_bytes() -> None:
    """Parts of which a table does not fit are left out, and the answer says so."""
    period = [100, 200, 300, 400, 500, 600, 800, 1000, 1200, 1500, 2000, 3000]
    tasks = gs.KernelTasks(period=period, wcet=[1, 2, 3] * 4)
    times = gs.BatchFunction.from_utilization(tasks, (1.1, 1.9))
    found = rounds(tasks, times, skip=ALL - GROUPS, rounds=2)
    assert (found.answer, found.spent, found.tried[:3]) == (1, 0, (1, 0, 1))
    short = rounds(tasks, times, skip=ALL - GROUPS, rounds=2, budget=gs.Budget(bytes=1 << 14))
    assert short.answer == -1
    assert enumeration("core.status")[short.spent] == "bytes"
    assert short.tried[2] > 0


def test_rounds_end_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched.pbs import exact_search

    monkeypatch.setattr(exact_search, "_ROUNDS", 1)
    tasks, times = forty(2.4, (1.7, 1.9), seed=0)
    found = gs.pbs.search(tasks, times)
    again = gs.pbs.search(tasks, times)
    assert found.reason in (None, "rounds")
    assert (found.stage, found.tried) == (again.stage, again.tried)
    if found.undecided:
        assert found.why().startswith("No round decided it: 1 rounds tried")


def test_refusals() -> None:
    tasks, times = forty(1.6, 1.5)
    for options in (
        {"method": "graph"},
        {"variant": "paper"},
        {"policy": True},
        {"policy": 3},
        {"repeating": True},
        {"thorough": True},
    ):
        (name,) = options
        with pytest.raises(ValueError, match=f"{name}: got .*more than 24 tasks"):
            gs.pbs.search(tasks, times, **options)
    with pytest.raises(ValueError, match="table: got one for 40 tasks, expected 39"):
        gs.pbs.search(tasks[:39], times)
    with pytest.raises(TypeError, match="tasks: got BatchFunction"):
        gs.pbs.search(times, times)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="table: got BatchFunction"):
        gs.pbs.edf_serial(tasks, times)  # type: ignore[arg-type]
    primes = [10007 + 2 * i for i in range(40)]
    odd = gs.KernelTasks(period=primes, wcet=[1] * 40, blocks=1, threads=32)
    with pytest.raises(OverflowError, match="longest common multiple"):
        gs.pbs.search(odd, gs.BatchFunction.from_gpu(odd, "pbs2024"))
