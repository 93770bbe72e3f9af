"""Batch times as a function: twins, tables of the same function, replay, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import batch_function as twin

import gpusched as gs
from gpusched import _core


def drawn(rng: np.random.Generator, n: int, shape: bool = False) -> gs.KernelTasks:
    """A random set; with shapes that fill a small GPU by one to four kernels."""
    period = rng.choice([8, 12, 16, 24], n)
    columns: dict[str, Any] = {}
    if shape:
        columns = {
            "blocks": rng.integers(1, 5, n),
            "threads": rng.choice([32, 64, 160, 256], n),
            "regs": rng.choice([16, 64], n),
            "smem": rng.choice([0, 4096], n),
        }
    return gs.KernelTasks(period=period, wcet=rng.integers(1, 9, n), **columns)


def functions(seed: int, n: int, slowdown: Any = (1.1, 1.9)) -> list[tuple[Any, gs.BatchFunction]]:
    rng = np.random.default_rng(seed)
    gpu = gs.GPU(sms=2, threads_per_sm=512, blocks_per_sm=4)
    tasks, shaped = drawn(rng, n), drawn(rng, n, True)
    return [
        (tasks, gs.BatchFunction.from_utilization(tasks, slowdown, seed=seed)),
        (shaped, gs.BatchFunction.from_gpu(shaped, gpu, slowdown, seed=seed)),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_times_agree_with_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 65))
    tasks = drawn(rng, n)
    times = gs.BatchFunction.from_utilization(tasks, (1.1, 1.9), seed=seed)
    period, wcet = tasks.period.tolist(), tasks.wcet.tolist()
    masks = [int(m) for i in range(1, 40) for m in [rng.integers(1, 2**63) >> rng.integers(0, 63)]]
    masks = sorted({m % (1 << n) for m in masks} - {0})
    drawn_factors = set()
    for mask, found in zip(masks, times.completion(masks).tolist(), strict=True):
        if not twin.by_utilization(period, wcet, mask):
            assert found == 0
        else:
            assert twin.time(wcet, mask, times.slowdown[0]) <= found
            assert found <= twin.time(wcet, mask, times.slowdown[1])
            drawn_factors.add(found)
        assert times.completion([mask, mask]).tolist() == [found, found]
    assert drawn_factors


def test_factors_are_those_of_the_twin() -> None:
    """Factors of all batches, from the words of the key by the printed generators."""
    tasks = gs.KernelTasks(period=[2**40] * 6, wcet=[10**9] * 6)
    times = gs.BatchFunction.from_utilization(tasks, (1.0, 1.9), seed=5)
    masks = [m for m in range(1, 64) if m.bit_count() > 1]
    found = times.completion(masks)
    assert len(set(found.tolist())) == len(masks)  # one tick is one billionth
    state = _state(times.key)
    seed = ((_rotated((state[0] + state[3]) % 2**64, 23)) + state[0]) % 2**64
    assert found.tolist() == [twin.factor(seed, m, 10**9, 19 * 10**8) for m in masks]


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) % 2**64


def _state(key: tuple[int, ...]) -> list[int]:
    """The state of the stream of slowdowns of set 0; see csrc/core/rng.c."""
    gamma, state = 0x9E3779B97F4A7C15, []
    seed = twin.mixed(3 + gamma)
    for word in key:
        place = seed ^ word
        seed = twin.mixed((place + gamma) % 2**64)
        state.append(twin.mixed((place + 2 * gamma) % 2**64))
    return [s ^ twin.mixed((seed + (i + 1) * gamma) % 2**64) for i, s in enumerate(state)]


@pytest.mark.parametrize("seed", range(6))
def test_tables_with_one_factor_are_those_of_the_models(seed: int) -> None:
    (tasks, share), (shaped, placed) = functions(seed, 8, 1.5)
    assert share.table() == gs.BatchTable.from_utilization(tasks, 1.5)
    gpu = gs.GPU(sms=2, threads_per_sm=512, blocks_per_sm=4)
    table, other = placed.table(), gs.BatchTable.from_gpu(shaped, gpu, 1.5)
    open_here = np.zeros(256) if table.undecided is None else table.undecided
    open_there = np.zeros(256) if other.undecided is None else other.undecided
    decided = (open_here == 0) & (open_there == 0)
    assert (table.completion[decided] == other.completion[decided]).all()
    assert (open_here[open_there > 0] > 0).all()
    assert (decided | (open_here > 0)).all()


@pytest.mark.parametrize("seed", range(6))
def test_orders_place_their_batches(seed: int) -> None:
    _, (tasks, times) = functions(seed, 9)
    gpu = gs.GPU(sms=2, threads_per_sm=512, blocks_per_sm=4)
    for mask in np.flatnonzero(times.table().completion).tolist():
        order = times.submission_order(mask)
        assert sorted(order) == list(times.members(mask))
        if len(order) > 1:
            columns = {
                k: getattr(tasks, k)[list(order)] for k in ("blocks", "threads", "regs", "smem")
            }
            assert (gs.place(gpu, **columns, placement="most_room").sm >= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_least_times_bound_all_batches(seed: int) -> None:
    for _, times in functions(seed, 7):
        table = times.table()
        hopeful = (
            table.completion if table.undecided is None else table.completion + table.undecided
        )
        masks = np.arange(128)
        least = times.least_table((1, 2, 4, 6)).completion
        core = 0b1010110
        for q, tasks in enumerate([m for m in range(128) if m & ~core == 0]):
            same = hopeful[(masks & core == tasks) & (hopeful > 0)]
            assert least[q] == times.least(tasks)
            if len(same):
                assert 0 < least[q] <= same.min() or q == 0
        need, room, alone = times.demand()
        for mask in np.flatnonzero(hopeful).tolist():
            of = list(twin.members(mask))
            if len(of) > 1:
                assert not alone[of].any()
                assert (need[:, of].sum(axis=1) <= room).all()


@pytest.mark.parametrize("seed", range(30))
def test_replay_agrees_with_the_core(seed: int) -> None:
    """Schedules, valid and damaged, break the same rule with a function and with its table."""
    rng = np.random.default_rng(seed)
    tasks, times = functions(seed, 4)[seed % 2]
    table = times.table()
    found = gs.pbs.search(tasks, table, idling=bool(seed % 3 == 0))
    plan = found.schedule or gs.pbs.edf_parallel(tasks, table).schedule
    for _ in range(30):
        columns = [plan.start.copy(), plan.end.copy(), plan.batch.astype(np.int64)]
        if rng.random() < 0.9:
            frame, column = int(rng.integers(len(plan))), int(rng.integers(4))
            if column == 3:
                columns = [np.delete(c, frame) for c in columns]
            elif column == 2:
                columns[2][frame] = rng.integers(0, 16)
                time = int(table.completion[columns[2][frame]])
                columns[1][frame] = columns[0][frame] + (time or 1)
            else:
                columns[column][frame] += int(rng.integers(-1, 4))
                columns[0][frame] = max(0, columns[0][frame])
                columns[1][frame] = max(columns[1][frame], columns[0][frame])
        outcomes = []
        for of in (table, times):
            try:
                gs.Schedule(*columns, tasks, of, plan.idling).validate()
                outcomes.append(None)
            except gs.ScheduleError as error:
                outcomes.append((error.rule, error.frame, error.task, error.time, str(error)))
        assert outcomes[0] == outcomes[1]


def test_files(tmp_path: Path) -> None:
    for tasks, times in functions(3, 40):
        times.save(tmp_path / "f.npz")
        again = gs.BatchFunction.load(tmp_path / "f.npz")
        assert again == times
        masks = [3, 5, 2**40 - 1, 2**39]
        assert (again.completion(masks) == times.completion(masks)).all()
        plan = gs.Schedule([0], [int(times.wcet[39])], [2**39], tasks, times)
        plan.save(tmp_path / "s.json")
        assert gs.Schedule.load(tmp_path / "s.json") == plan
        assert gs.Schedule.load(tmp_path / "s.json").table == times
        text = (tmp_path / "s.json").read_text().replace('"first": 0', '"first": -1')
        (tmp_path / "s.json").write_text(text)
        with pytest.raises(ValueError, match="function: first: got -1"):
            gs.Schedule.load(tmp_path / "s.json")


def test_sixty_four_tasks() -> None:
    tasks = gs.KernelTasks(period=[100] * 64, wcet=[1] * 64)
    times = gs.BatchFunction.from_utilization(tasks, 2)
    assert times.completion(np.array([2**64 - 1, 2**63], np.uint64)).tolist() == [2, 1]
    assert times.members(2**64 - 1) == tuple(range(64))
    assert times.batch_mask([0, 63]) == 2**63 + 1
    plan = gs.Schedule([0], [2], [2**64 - 1], tasks, times).validate()
    assert plan.batch.dtype == np.uint64
    assert len(plan.jobs().task) == 64
    assert plan.horizon == 100


def test_refusals() -> None:
    tasks = gs.KernelTasks(period=[9] * 65, wcet=[1] * 65)
    with pytest.raises(ValueError, match="tasks: got 65 tasks, expected at most 64"):
        gs.BatchFunction.from_utilization(tasks)
    with pytest.raises(ValueError, match="tasks: got a stack"):
        gs.BatchFunction.from_utilization(gs.KernelTasks(period=[[9]], wcet=[[1]]))
    with pytest.raises(TypeError, match="tasks: got int"):
        gs.BatchFunction.from_gpu(1, "pbs2024")  # type: ignore[arg-type]
    huge = gs.KernelTasks(period=[2**59, 2**59], wcet=[2**58, 2**59])
    with pytest.raises(OverflowError, match=r"wcet\[1\]: got 576460752303423488"):
        gs.BatchFunction.from_utilization(huge, 2)
    wide = gs.KernelTasks(period=[9] * 2, wcet=[1] * 2, threads=[1024, 64], regs=[255, 32])
    with pytest.raises(ValueError, match=r"regs\[0\]: got 255"):
        gs.BatchFunction.from_gpu(wide, "pbs2024")
    times = gs.BatchFunction.from_utilization(tasks[:30])
    for mask in (2**30, -1, 2**70):
        with pytest.raises(ValueError, match=r"batches\[1\]: got .*, expected a set of 30 tasks"):
            times.completion([1, mask])
    with pytest.raises(ValueError, match="expected at most 24 of them in a table"):
        times.table()
    with pytest.raises(ValueError, match="tasks: expected 1 to 24 indices"):
        times.table([2, 1])
    with pytest.raises(ValueError, match="expected an eligible one"):
        times.submission_order(2**30 - 1)
    with pytest.raises(ValueError, match="key: got"):
        gs.BatchFunction([1], [9], None, None, None, (10**9, 10**9), (1, 2))
    with pytest.raises(ValueError, match="period"):
        gs.BatchFunction([1, 2], [9], None, None, None, (10**9, 10**9), (1, 2, 3, 4))
    with pytest.raises(ValueError, match="slowdown: got 1"):
        gs.BatchFunction([1], [9], None, None, None, (1, 2), (1, 2, 3, 4))
    with pytest.raises(TypeError, match="tuple of nine"):
        _core.pbs_function_demand(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cycle: got"):
        gs.Schedule([0], [1], [1], tasks[:30], times, cycle=(0, 9)).validate()
    stop = bytearray([1])
    with pytest.raises(gs.Cancelled):
        gs.BatchFunction.from_utilization(tasks[:24]).table(stop=stop)
