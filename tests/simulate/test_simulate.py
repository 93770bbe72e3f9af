"""FIFO simulation: examples of the paper, counterexamples, twin, invariants."""

from __future__ import annotations

import dataclasses
import json
import pickle
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from reference import fifo as twin

import gpusched as gs
from gpusched import simulate
from gpusched.model.fifo_model import ORDERS
from gpusched.simulate import run_results

# Examples 1 and 2 of the paper, times by ten.
EXAMPLE = gs.KernelTasks(
    period=[80, 160, 170, 180],
    block_time=[38, 60, 60, 112],
    blocks=[1, 7, 1, 5],
    threads=[1024, 512, 1024, 512],
)
# X1: the victim's responses grow by 10 a job.
X1 = gs.KernelTasks(period=[110, 100], block_time=[20, 90], blocks=[2, 1])
# X2: a burst starts during the last blocks of the second task's jobs.
X2 = gs.KernelTasks(period=[3000, 100], block_time=[1000, 45], blocks=[3, 5])


def random_tasks(chance: np.random.Generator, n: int, m: int, sets: int | None = None) -> Any:
    """Small sets, loaded enough for queues, some of them overloaded."""
    shape = (n,) if sets is None else (sets, n)
    period = chance.choice([4, 6, 8, 12, 24], shape)
    return gs.KernelTasks(
        period=period,
        block_time=chance.integers(1, np.maximum(2, period * 3 // 2)),
        blocks=chance.integers(1, 5, shape),
        threads=chance.integers(1, m // 2 + 2, shape),
        offset=chance.integers(0, 20, shape) * chance.integers(0, 2, shape),
        priority=chance.integers(0, 3, shape),
    )


def twin_of(run: Any, until: int, **options: Any) -> Any:
    tasks = run.tasks
    columns = ("period", "block_time", "blocks", "threads")
    return twin.simulate(
        *(getattr(tasks, name).tolist() for name in columns),
        *(run.threads, run.order, until),
        **{"offset": tasks.offset.tolist(), "priority": tasks.priority.tolist()} | options,
    )


def rows(table: Any, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(table, name).tolist() for name in names), strict=True))


JOBS = ("task", "job", "release", "start", "dispatched", "end")
WAVES = ("task", "job", "blocks", "start", "end")


def check(run: Any) -> None:
    """Invariants of any complete run."""
    tasks, waves = run.tasks, run.waves
    events = np.concatenate([waves.start, waves.end])
    change = waves.blocks * tasks.threads[waves.task]
    change = np.concatenate([change, -change])
    at = np.lexsort((change, events))  # what ends, ends first
    busy = np.cumsum(change[at])
    assert busy.max(initial=0) <= run.threads and busy.min(initial=0) >= 0
    assert (waves.start[1:] >= waves.start[:-1]).all()
    assert (waves.end > waves.start).all()
    assert (run.release[1:] >= run.release[:-1]).all()
    assert ((run.release <= run.start) & (run.start <= run.dispatched)).all()
    assert (run.dispatched < run.end).all()
    by_job: dict[tuple[int, int], list[Any]] = {}
    for task, job, blocks, start, end in rows(waves, *WAVES):
        by_job.setdefault((task, job), []).append((blocks, start, end))
    assert len(by_job) == len(run)
    for task, job, _, start, dispatched, finish in rows(run, *JOBS):
        mine = by_job[task, job]
        assert sum(w[0] for w in mine) == tasks.blocks[task]
        assert start == mine[0][1] and dispatched == mine[-1][1]
        assert finish == max(w[2] for w in mine)
    for task in range(tasks.n):
        mine = run.task == task
        assert run.job[mine].tolist() == list(range(mine.sum()))
        assert (np.diff(run.release[mine]) >= tasks.period[task]).all()
        if run.order != "overlap":
            assert (run.start[mine][1:] >= run.end[mine][:-1]).all()
        assert run.worst[task] == run.response[mine].max(initial=0)
        assert run.finished[task] == mine.sum()
        assert run.responses(task).tolist() == run.response[mine].tolist()
    np.testing.assert_array_equal(run.deadline, run.release + tasks.deadline[run.task])
    np.testing.assert_array_equal(run.late, run.end > run.deadline)


# The paper's examples


def test_examples_1_and_2() -> None:
    run = simulate.fifo(EXAMPLE, 4096, until=81)
    assert rows(run, *JOBS) == [
        (0, 0, 0, 0, 0, 38),
        (1, 0, 0, 0, 38, 98),
        (2, 0, 0, 60, 60, 120),
        (3, 0, 0, 60, 60, 172),
        (0, 1, 80, 120, 120, 158),
    ]
    assert rows(run.waves, *WAVES)[:3] == [(0, 0, 1, 0, 38), (1, 0, 6, 0, 60), (1, 0, 1, 38, 98)]
    assert run.outcome == "done" and run.reason is None and run.cycle_from is None
    assert run.late.tolist() == [False] * 5
    check(run)
    with_k5 = simulate.fifo(EXAMPLE, threads=4096, until=81, waves=False)
    assert with_k5.waves is None and with_k5.end.tolist() == run.end.tolist()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("m, b_max", [(4096, 1024), (8, 4)])
def test_theorem_1_in_every_order(order: Any, m: int, b_max: int) -> None:
    for epsilon in (10, 250):
        tasks = gs.KernelTasks(
            period=1000,
            block_time=[epsilon, 1000],
            blocks=[m // b_max, m - b_max + 1],
            threads=[b_max, 1],
        )
        run = simulate.fifo(tasks, m, order, until=20_000)
        expected = [1000 + epsilon * j for j in range(1, 21)]
        assert run.responses(1).tolist() == expected
        check(run)
        forever = simulate.fifo(tasks, m, order)
        assert forever.outcome == "diverges" and forever.grows[1]


def test_theorem_1_where_b_max_does_not_divide_m() -> None:
    """The printed schedule is not what happens: growth is about epsilon / 2 a job."""
    tasks = gs.KernelTasks(
        period=1000, block_time=[100, 1000, 1000], blocks=[2, 2, 5], threads=[4, 1, 1]
    )
    run = simulate.fifo(tasks, 10, until=50_000)
    responses = run.responses(2)
    assert responses[:4].tolist() == [1100, 1200, 1200, 1300]
    assert set(np.diff(responses).tolist()) == {0, 100}
    assert 0.5 < (responses[-1] - 1100) / (100 * 49) < 0.6
    forever = simulate.fifo(tasks, 10)
    assert forever.outcome == "diverges" and forever.grows[2]


# The counterexamples to the conjecture


@pytest.mark.parametrize("attack, growth", [(20, 10), (11, 1), (10, 0)])
def test_x1(attack: int, growth: int) -> None:
    tasks = gs.KernelTasks(period=[attack + 90, 100], block_time=[attack, 90], blocks=[2, 1])
    run = simulate.fifo(tasks, 2, until=3000)
    assert run.responses(1)[:5].tolist() == [100 + growth * j for j in range(1, 6)]
    assert (tasks.blocks * tasks.block_time / tasks.period).sum() < 2
    forever = simulate.fifo(tasks, 2)
    if growth:
        assert forever.outcome == "diverges" and forever.grows.tolist() == [False, True]
    else:
        assert forever.outcome == "repeats" and forever.worst.tolist() == [10, 100]
        assert not forever.grows.any()


def test_x2() -> None:
    alone = gs.KernelTasks(period=[100], block_time=[45], blocks=[5])
    assert simulate.fifo(alone, 4).worst.tolist() == [90]
    run = simulate.fifo(X2, 4, "release", until=60_000)
    check(run)
    assert run.responses(1)[:27].max() == 645
    assert run.worst[1] > 5500
    for order in ("release", "hardware"):
        assert simulate.fifo(X2, 4, order).grows.tolist() == [False, True]
    parallel = simulate.fifo(X2, 4, "overlap")
    assert parallel.outcome == "repeats"


def test_x3_example_2_is_over_its_saturation_level() -> None:
    utilization = (EXAMPLE.blocks * EXAMPLE.threads * EXAMPLE.block_time / EXAMPLE.period).sum()
    assert utilization == pytest.approx(3784.7, abs=0.05)
    run = simulate.fifo(EXAMPLE, 4096, until=100_000)
    check(run)


# The twin


@pytest.mark.parametrize("order", ORDERS)
def test_agrees_with_the_twin(order: Any) -> None:
    chance = np.random.default_rng(ORDERS.index(order))
    shared = 0
    for _ in range(60):
        n, m = int(chance.integers(1, 6)), int(chance.integers(2, 14))
        tasks = random_tasks(chance, n, m)
        stream = None
        if order != "overlap" and chance.random() < 0.4:
            stream = chance.integers(0, n, n).tolist()
            shared += len(set(stream)) < n
        run = simulate.fifo(tasks, m, order, until=70, stream=stream)
        expected = twin_of(run, 70, **({} if stream is None else {"stream": stream}))
        assert rows(run, *JOBS) == expected["jobs"]
        assert rows(run.waves, *WAVES) == expected["waves"]
        assert run.outcome in ("done", "repeats", "diverges")
        check(run)
    assert shared > 5 or order == "overlap"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("draw", ["job", "wave", "block"])
def test_agrees_with_the_twin_where_numbers_are_drawn(order: Any, draw: Any) -> None:
    chance = np.random.default_rng(7)
    for index in range(12):
        n, m = int(chance.integers(1, 6)), int(chance.integers(2, 14))
        tasks = random_tasks(chance, n, m)
        run = simulate.fifo(
            *(tasks, m, order, 90),
            **{"execution": (0.25, 1), "gap": 0.5, "draw": draw, "seed": 5, "index": index},
        )
        times: dict[tuple[int, int], list[int]] = {}
        for task, job, blocks, start, end in rows(run.waves, *WAVES):
            times.setdefault((task, job), []).extend([end - start] * blocks)
            assert blocks == 1 or draw != "block"
        if draw == "job":
            assert all(len(set(length)) == 1 for length in times.values())
        releases = [run.release[run.task == i].tolist() for i in range(n)]
        expected = twin_of(
            run, 90, releases=releases, actual=lambda i, j, k, times=times: times[i, j][k]
        )
        assert rows(run, *JOBS) == expected["jobs"]
        for i in range(n):
            gaps = np.diff(releases[i])
            assert (gaps >= tasks.period[i]).all()
            assert (gaps <= tasks.period[i] * 3 // 2).all()
            assert releases[i][0] == tasks.offset[i]
            least = -(-tasks.block_time[i] // 4)
            for (task, _), length in times.items():
                if task == i:
                    assert least <= min(length) and max(length) <= tasks.block_time[i]
        check(run)


@pytest.mark.parametrize("order", ["hardware", "release", "strict"])
def test_an_adversary_against_the_twin(order: Any) -> None:
    chance = np.random.default_rng(11)
    for index in range(20):
        n, m = int(chance.integers(2, 6)), int(chance.integers(2, 14))
        tasks = random_tasks(chance, n, m)
        victim = int(chance.integers(0, n))
        run = simulate.fifo(
            *(tasks, m, order, 90), victim=victim, triggers=["head", "end"], index=index
        )
        check(run)
        releases = [run.release[run.task == i].tolist() for i in range(n)]
        # Ahead of the victim at one instant.
        priority = tasks.priority.copy()
        priority[victim] = 9
        expected = twin_of(run, 90, releases=releases, priority=priority.tolist())
        assert sorted(rows(run, *JOBS)) == sorted(expected["jobs"])
        own = run.task == victim
        moments = {int(run.end[k]) for k in np.flatnonzero(own)}
        begins = [int(run.release[own][0])]
        begins += np.maximum(run.release[own][1:], run.end[own][:-1]).tolist()
        for i in set(range(n)) - {victim}:
            assert set(releases[i]) <= moments | set(begins)
        assert releases[victim] == list(range(int(tasks.offset[victim]), 90, tasks.period[victim]))


@pytest.mark.parametrize("trigger", ["head", "tail", "end"])
def test_triggers(trigger: str) -> None:
    """A victim of two blocks one after the other, and one that delays it."""
    tasks = gs.KernelTasks(period=[100, 7], block_time=[10, 30], blocks=[2, 1], threads=[3, 2])
    run = simulate.fifo(tasks, 4, until=150, victim=0, triggers=trigger)
    if trigger == "head":  # released with the victim's job, and ahead of it
        assert run.start[run.task == 0].tolist() == [30, 130]
    if trigger == "tail":
        assert run.start[run.task == 0].tolist() == [0, 100]
    expected = {"head": [0, 100], "tail": [10, 110], "end": [20, 120]}[trigger]
    assert run.release[run.task == 1].tolist() == expected
    both = simulate.fifo(tasks, 4, until=150, victim=0, triggers={"tail", "end"})
    assert both.release[both.task == 1].tolist() == [10, 20, 110, 120]


def test_overlapping_jobs_may_run_at_once() -> None:
    tasks = gs.KernelTasks(period=[10], block_time=[25], blocks=[1])
    one = simulate.fifo(tasks, 3, until=40)
    assert one.response.tolist() == [25, 40, 55, 70]
    many = simulate.fifo(tasks, 3, "overlap", until=40)
    assert many.response.tolist() == [25, 25, 25, 25]
    assert simulate.fifo(tasks, 3).outcome == "diverges"
    assert simulate.fifo(tasks, 3, "overlap").worst.tolist() == [25]


# Infinite horizon


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_said_about_all_jobs_is_seen_later(order: Any) -> None:
    chance = np.random.default_rng(13)
    seen = set()
    for _ in range(40):
        n, m = int(chance.integers(1, 5)), int(chance.integers(2, 10))
        tasks = random_tasks(chance, n, m)
        budget = gs.pbs.Budget(states=20_000)
        run = simulate.fifo(tasks, m, order, budget=budget)
        seen.add(run.outcome)
        if run.outcome == "budget":
            continue
        start, length = run.cycle_from, run.cycle_length
        assert length % tasks.hyperperiod == 0 and start + length <= run.now + length
        far = start + 4 * length
        later = simulate.fifo(tasks, m, order, far, waves=False, settle="no")
        further = simulate.fifo(tasks, m, order, far + 8 * length, waves=False, settle="no")
        assert later.outcome == "done"
        if run.outcome == "repeats":
            assert not run.grows.any()
            np.testing.assert_array_equal(further.worst, run.worst)
        else:
            assert run.grows.any()
            assert (further.worst > later.worst)[run.grows].all()
        noted = simulate.fifo(tasks, m, order, far, settle="note", waves=False)
        assert noted.outcome == run.outcome and noted.cycle_length == length
        np.testing.assert_array_equal(noted.end, later.end)
    assert {"repeats", "diverges"} <= seen


def waves_between(run: Any, first: int, last: int) -> list[tuple[int, ...]]:
    """Those that start in [first, last), relative to it."""
    waves = run.waves
    inside = (waves.start >= first) & (waves.start < last)
    columns = (waves.start - first, waves.end - first, waves.task, waves.blocks)
    return sorted(zip(*(column[inside].tolist() for column in columns), strict=True))


@pytest.mark.parametrize("order", ORDERS)
def test_everything_happens_again_from_the_start_of_the_cycle(order: Any) -> None:
    # Late offsets: where all jobs queue by release, the first checkpoints still lag behind.
    tasks = gs.KernelTasks(
        period=[15, 5, 6],
        block_time=[4, 1, 1],
        blocks=[1, 3, 3],
        threads=[2, 2, 4],
        offset=[222, 192, 165],
    )
    chance = np.random.default_rng(29)
    repeating = 0
    for number in range(40):
        m = 4 if number == 0 else int(chance.integers(2, 10))
        if number > 0:
            tasks = random_tasks(chance, int(chance.integers(1, 5)), m)
            tasks = dataclasses.replace(
                tasks,
                block_time=-(-tasks.block_time // 3),
                offset=chance.integers(0, 100, tasks.n),
            )
        run = simulate.fifo(tasks, m, order, budget=gs.pbs.Budget(states=2000))
        if run.outcome == "repeats":
            start, length = run.cycle_from, run.cycle_length
            again = simulate.fifo(tasks, m, order, until=start + 4 * length, settle="no")
            first = waves_between(again, start, start + length)
            for cycle in (1, 2):
                since = start + cycle * length
                assert waves_between(again, since, since + length) == first, tasks
            repeating += 1
    assert repeating > 10


@pytest.mark.parametrize("order", ORDERS)
def test_the_end_of_releases_is_no_repetition(order: Any) -> None:
    # 12 ticks every 8. With the last release at 32 the backlog once equals that of a cycle ago.
    tasks = gs.KernelTasks(period=[8], block_time=[12])
    for until in range(0, 120):
        run = simulate.fifo(tasks, 1, order, until)
        assert run.outcome in ("done", "diverges"), until
    assert run.outcome == "diverges"


def test_a_backlog_from_before_other_tasks_of_the_stream() -> None:
    # At 90 the backlog of stream 2 holds jobs of task 0 alone; later, as many of two tasks.
    tasks = gs.KernelTasks(
        period=[3, 4, 6, 12],
        block_time=[4, 4, 3, 1],
        blocks=[2, 1, 1, 1],
        offset=[0, 90, 194, 41],
        priority=[0, 1, 0, 1],
    )
    stream = [2, 3, 2, 1]
    run = simulate.fifo(tasks, 1, stream=stream)
    far = run.cycle_from + 12 * run.cycle_length
    worst = [
        simulate.fifo(tasks, 1, until=until, stream=stream, settle="no").worst
        for until in (far, 2 * far)
    ]
    assert run.outcome == "diverges"
    np.testing.assert_array_equal(run.grows, worst[1] > worst[0])


def test_a_run_that_stops_early_knows_what_is_late() -> None:
    run = simulate.fifo(X1, 2)
    pending = run.end < 0
    assert pending.any() and (run.response[pending] == -1).all()
    np.testing.assert_array_equal(run.late[pending], run.now > run.deadline[pending])
    assert run.late[~pending].tolist() == (run.end > run.deadline)[~pending].tolist()


# Stacks


@pytest.mark.parametrize("order", ORDERS)
def test_stacks_are_single_runs(order: Any) -> None:
    chance = np.random.default_rng(17)
    tasks = random_tasks(chance, 4, 8, sets=25)
    threads = chance.integers(5, 12, 25)
    until = chance.integers(0, 150, 25)
    victim = chance.integers(-1, 4, 25)
    for options in (
        {},
        {"execution": (0.3, 0.9), "draw": "block", "gap": 0.25},
        {"victim": victim, "triggers": ("head", "tail")},
    ):
        stack = simulate.fifo_responses(tasks, threads, order, until, seed=3, first=100, **options)
        assert stack.is_stack and len(stack) == 25
        for i in range(25):
            own = dict(options)
            if "victim" in options:
                own["victim"] = None if victim[i] < 0 else int(victim[i])
            run = simulate.fifo(
                *(tasks[i], int(threads[i]), order, int(until[i])),
                **{"seed": 3, "index": 100 + i, "settle": "no", **own},
            )
            np.testing.assert_array_equal(stack.worst[i], run.worst)
            np.testing.assert_array_equal(stack.finished[i], run.finished)
            assert stack.outcome[i] == "done" and stack.waves[i] == len(run.waves)


def test_stacks_for_ever_and_with_budgets() -> None:
    tasks = gs.KernelTasks(period=[[110, 100], [100, 100]], block_time=[20, 90], blocks=[2, 1])
    stack = simulate.fifo_responses(tasks, 2)
    assert stack.outcome.tolist() == ["diverges", "repeats"]
    for i in range(2):
        run = simulate.fifo(tasks[i], 2)
        np.testing.assert_array_equal(stack.worst[i], run.worst)
    single = simulate.fifo_responses(tasks[0], 2)
    assert not single.is_stack and single.worst.tolist() == stack.worst[0].tolist()
    assert single.outcome == "diverges" and single.waves == stack.waves[0]
    small = simulate.fifo_responses(tasks, 2, until=10**6, budget=gs.pbs.Budget(states=50))
    assert small.outcome.tolist() == ["budget", "budget"] and small.finished.sum() <= 100
    noted = simulate.fifo_responses(tasks, 2, until=10**5, settle="note")
    assert noted.outcome.tolist() == ["diverges", "repeats"] and (noted.finished > 500).all()
    frame = stack.to_frame()
    assert frame["worst"].tolist() == stack.worst.ravel().tolist() and len(frame) == 4
    assert frame["set"].tolist() == [0, 0, 1, 1]
    assert "set" not in single.to_frame()
    assert repr(stack) == "<FifoResponses: 2 sets of 2 tasks, 1 diverges, 1 repeats>"
    assert pickle.loads(pickle.dumps(stack)) == stack != noted
    empty = simulate.fifo_responses(gs.generate.fifo(3, 0.5, count=0, seed=1), 4096, until=5)
    assert empty.worst.shape == (0, 3)


# How it is run


def test_slices_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = random_tasks(np.random.default_rng(19), 4, 9)
    options: dict[str, Any] = {"execution": (0.5, 1), "seed": 1, "draw": "wave"}
    whole = simulate.fifo(tasks, 9, until=2000, **options)
    forever = simulate.fifo(X1, 2)
    for size in (1, 2, 7, 1000):
        monkeypatch.setattr(run_results, "_SLICE", size)
        seen: list[tuple[int, int]] = []
        run = simulate.fifo(
            tasks, 9, until=2000, progress=lambda *at, seen=seen: seen.append(at), **options
        )
        assert run == whole
        assert {until for _, until in seen} == {2000} and seen[-1][0] == 2000
        assert all(a <= b for (a, _), (b, _) in pairwise(seen))
        assert len(seen) > 1 or size == 1000
        endless: list[Any] = []
        assert simulate.fifo(X1, 2, progress=lambda *at, to=endless: to.append(at)) == forever
        assert {until for _, until in endless} == {None}


def test_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    for until in (100, None):
        simulate.fifo(X1, 2, until=until, progress=True)  # too short for a bar
    assert capsys.readouterr().err.strip() == ""


def test_budgets() -> None:
    by_jobs = simulate.fifo(X1, 2, until=10**6, budget=gs.pbs.Budget(states=100))
    assert by_jobs.outcome == "diverges" and by_jobs.reason == "states"
    plain = simulate.fifo(X1, 2, until=10**6, settle="no", budget=gs.pbs.Budget(states=100))
    assert plain.outcome == "budget" and plain.reason == "states" and len(plain) == 100
    longer = simulate.fifo(X1, 2, until=10**6, settle="no", budget=gs.pbs.Budget(states=200))
    np.testing.assert_array_equal(longer.release[:100], plain.release)
    done = plain.end >= 0
    np.testing.assert_array_equal(longer.end[:100][done], plain.end[done])
    assert "budget (states)" in repr(plain)
    by_bytes = simulate.fifo(X1, 2, until=10**9, budget=gs.pbs.Budget(bytes=100_000))
    assert by_bytes.reason == "bytes"
    by_time = simulate.fifo(
        X1, 2, until=2**58, settle="no", budget=gs.pbs.Budget(seconds=0.05, bytes=2**28)
    )
    assert by_time.reason == "seconds" and len(by_time) > 10


def test_same_numbers_whatever_else_is_drawn() -> None:
    tasks = gs.generate.fifo(4, 0.6, seed=3)
    options: dict[str, Any] = {"until": 10**9, "execution": (0.1, 1), "gap": 0.3, "seed": 9}
    one = simulate.fifo(tasks, 4096, **options)
    assert simulate.fifo(tasks, 4096, **options) == one
    other = simulate.fifo(tasks, 4096, **options | {"index": 1})
    assert other != one
    strict = simulate.fifo(tasks, 4096, "strict", **options)
    np.testing.assert_array_equal(strict.release, one.release)
    longer = simulate.fifo(tasks, 4096, **options | {"until": 2 * 10**9})
    np.testing.assert_array_equal(longer.release[: len(one)], one.release)
    assert simulate.fifo(tasks, 4096, **options | {"seed": np.random.default_rng(1)}) != one


def test_shares_are_decimal_and_exact() -> None:
    tasks = gs.KernelTasks(period=[100, 100, 10**15], block_time=[10, 3, 3 * 10**14])
    times = simulate.fifo(tasks, 9, until=1, execution=0.1).response
    assert times.tolist() == [1, 1, 3 * 10**13]
    times = simulate.fifo(tasks, 9, until=1, execution=0.7).response
    assert times.tolist() == [7, 3, 21 * 10**13]  # 2.1 up, as nothing lies between
    drawn = simulate.fifo(tasks, 9, until=10**4, execution=(0.5, 0.9), seed=1)
    assert set(drawn.responses(0).tolist()) == {5, 6, 7, 8, 9}
    assert set(drawn.responses(1).tolist()) == {2}
    gaps = simulate.fifo(tasks, 9, until=10**5, gap=0.05, seed=1)
    assert set(np.diff(gaps.release[gaps.task == 0]).tolist()) == set(range(100, 106))


# Methods of a run


def test_pickles_and_tables() -> None:
    run = simulate.fifo(EXAMPLE, 4096, until=500)
    again = pickle.loads(pickle.dumps(run))
    assert again == run and again.outcome == run.outcome
    for column in (again.task, again.worst, again.waves.start, run.dispatched, run.grows):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert run != simulate.fifo(EXAMPLE, 4096, until=600)
    assert run != 3 and run.waves != 3
    frame = run.to_frame()
    assert list(frame) == ["task", "name", *simulate.FifoRun.COLUMNS[1:], "response"]
    assert frame["dispatched"].tolist() == run.dispatched.tolist()
    assert run.waves.to_frame()["blocks"].tolist() == run.waves.blocks.tolist()
    assert repr(run.waves) == f"<Waves: {len(run.waves)} rows>"
    text = repr(simulate.fifo(EXAMPLE, 4096, until=81))
    assert text == (
        "<FifoRun: 5 jobs of 4 tasks on 4096 threads, order hardware; no deadline missed; all jobs "
        "finished by 172>"
    )
    never = simulate.fifo_responses(EXAMPLE, 4096, until=0).to_frame()["worst"]
    assert never.isna().all() and never.dtype == "Int64"
    nothing = simulate.fifo(EXAMPLE, 4096, until=0)
    assert len(nothing) == len(nothing.waves) == 0 and nothing.worst.tolist() == [0] * 4


def test_chrome_trace(tmp_path: Any) -> None:
    chance = np.random.default_rng(23)
    tasks = random_tasks(chance, 4, 9)
    for run in (
        simulate.fifo(tasks, 9, until=100),
        simulate.fifo(tasks, 9, "overlap", until=100, execution=(0.2, 1), seed=1, draw="block"),
        simulate.fifo(X1, 2),
    ):
        path = tmp_path / "run.json"
        run.to_chrome_trace(path, tick=1000)
        document = json.loads(path.read_text())
        events = document["traceEvents"]
        assert document["otherData"]["order"] == run.order
        jobs = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
        blocks = [e for e in events if e["ph"] == "X" and e["pid"] == 1]
        assert len(jobs) == (run.start >= 0).sum() and len(blocks) == len(run.waves)
        lanes = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        assert lanes <= named
        for lane in lanes:
            spans = [(e["ts"], e["ts"] + e["dur"]) for e in events if lane == key(e)]
            assert all(b[0] >= a[1] for a, b in pairwise(sorted(spans)))
        busy = [e["args"]["busy"] for e in events if e["ph"] == "C"]
        assert 0 <= min(busy) and 0 < max(busy) <= run.threads and busy[-1] == 0
        first = jobs[0]["args"]
        assert first["response"] == 1000 * run.response[0] and first["late"] == run.late[0]
    with pytest.raises(ValueError, match="tick: got 0, expected at least 1 ns"):
        run.to_chrome_trace(path, tick=0)
    simulate.fifo(X1, 2, waves=False).to_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"jobs"}


def key(event: Any) -> Any:
    return (event["pid"], event["tid"]) if event["ph"] == "X" else None


def test_stopped_by_another_thread() -> None:
    flag = bytearray(1)
    timer = threading.Timer(0.1, lambda: flag.__setitem__(0, 1))
    timer.start()
    with pytest.raises(gs.Cancelled):
        simulate.fifo_responses(X1, 2, until=2**58, stop=flag)
    timer.join()


# Refusals


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"threads": 0}, ValueError, "threads: got 0"),
        ({"threads": 2**31}, ValueError, "threads: got 2147483648"),
        ({"threads": 1.5}, TypeError, r"threads: got 1\.5, expected an integer"),
        ({"threads": 1000}, ValueError, r"threads\[0\]: got 1024, expected at most the number of"),
        ({"order": "fifo"}, ValueError, "order: got 'fifo', expected one of hardware,"),
        ({"until": -1}, ValueError, "until: got -1"),
        ({"until": 2**60}, OverflowError, "until: got 1152921504606846976"),
        ({"until": 1.5}, ValueError, r"until: got 1\.5, expected a whole number of ticks"),
        (
            {"until": None, "gap": 0.1},
            ValueError,
            "until: got None, expected ticks unless releases are",
        ),
        (
            {"until": None, "execution": (0.5, 1)},
            ValueError,
            "until: got None, expected ticks unless",
        ),
        ({"until": None, "victim": 0}, ValueError, "until: got None, expected ticks unless"),
        (
            {"until": None, "settle": "note"},
            ValueError,
            "until: got None, expected ticks with settle='note'",
        ),
        ({"settle": "yes"}, ValueError, "settle: got 'yes', expected one of no, note, stop"),
        ({"settle": "stop", "gap": 0.1}, ValueError, "settle: got 'stop'"),
        ({"execution": 0}, ValueError, "execution: got 0"),
        ({"execution": 1.1}, ValueError, "execution: got 1.1"),
        ({"execution": (0.5, 0.4)}, ValueError, r"execution: got \(0.5, 0.4\)"),
        ({"execution": (0.1, 0.2, 0.3)}, ValueError, "execution: got 3 numbers"),
        ({"execution": float("nan")}, ValueError, "execution: got nan"),
        ({"execution": "fast"}, TypeError, "execution: got 'fast'"),
        ({"gap": -0.1}, ValueError, "gap: got -0.1"),
        ({"gap": float("inf")}, ValueError, "gap: got inf"),
        ({"gap": 1e300}, OverflowError, r"gap: got 1e\+300"),
        ({"gap": 1e16}, OverflowError, r"gap: got 1e\+16"),
        ({"gap": "1"}, TypeError, "gap: got '1'"),
        ({"tasks": [1]}, TypeError, "tasks: got list, expected KernelTasks"),
        ({"budget": 100}, TypeError, r"budget: got int, expected Budget \(for example"),
        ({"triggers": 1}, TypeError, "triggers: got 1, expected some of head, tail,"),
        ({"threads": True}, TypeError, "threads: got True, expected an integer"),
        ({"until": True}, TypeError, "until: got True, expected a number"),
        ({"victim": True}, TypeError, "victim: got True, expected an integer"),
        ({"seed": "x"}, TypeError, "seed: got 'x', expected a non-negative integer, a"),
        ({"draw": "thread"}, ValueError, "draw: got 'thread', expected one of job, wave,"),
        ({"victim": 4}, ValueError, "victim: got 4"),
        ({"victim": -1}, ValueError, "victim: got -1"),
        ({"victim": 0.0}, TypeError, r"victim: got 0\.0, expected an integer"),
        ({"triggers": "tale"}, ValueError, "triggers: got 'tale', expected one of head, tail,"),
        ({"triggers": []}, ValueError, "triggers: got none, expected some of head, tail, end"),
        ({"stream": [0, 1]}, ValueError, r"stream: got shape \(2,\), expected one number per task"),
        ({"stream": [0.5] * 4}, ValueError, r"stream\[0\]: got 0\.5, expected a whole number"),
        (
            {"stream": [0] * 4, "order": "overlap"},
            ValueError,
            "stream: got shared streams, expected none with order='overlap'",
        ),
        (
            {"stream": [0] * 4, "victim": 1},
            ValueError,
            "stream: got shared streams, expected none with a victim",
        ),
        ({"seed": -1}, ValueError, "seed: got -1, expected a non-negative integer"),
        ({"index": -1}, ValueError, "index: got -1, expected the number of a set, 0 to"),
        ({"index": 2**63}, ValueError, "index: got 9223372036854775808, expected the"),
        ({"stop": b"\0"}, TypeError, "stop: expected None or a writable buffer of one byte,"),
    ],
)
def test_refused(arguments: dict[str, Any], error: Any, message: str) -> None:
    given = {"tasks": EXAMPLE, "threads": 4096, "until": 100, "seed": 1} | arguments
    with pytest.raises(error, match=message):
        simulate.fifo(**given)
    for name in ("index", "stream"):
        if name in arguments:
            return
    with pytest.raises(error, match=message):
        simulate.fifo_responses(**given)


def test_streams_that_are_not_shared_are_as_none() -> None:
    run = simulate.fifo(X1, 2, until=1000)
    assert simulate.fifo(X1, 2, until=1000, stream=[7, -3]) == run
    assert simulate.fifo(X1, 2, "overlap", until=90, stream=[7, -3]).order == "overlap"
    shared = simulate.fifo(X1, 2, until=1000, stream=[5, 5])
    assert (shared.start[1:] >= shared.end[:-1]).all()


def test_sets_that_cannot_be_simulated() -> None:
    stack = gs.KernelTasks(period=[[4, 5], [6, 7]], block_time=1)
    with pytest.raises(
        ValueError, match=r"tasks: got a stack of 2 sets, expected one set; fifo_responses"
    ):
        simulate.fifo(stack, 4, until=10)
    with pytest.raises(
        ValueError, match=r"set 1: threads\[0\]: got 5, expected at most the number of"
    ):
        wide = gs.KernelTasks(period=[[4, 5], [6, 7]], block_time=1, threads=[[1, 1], [5, 1]])
        simulate.fifo_responses(wide, [4, 4], until=10)
    with pytest.raises(ValueError, match=r"threads: got shape \(3,\), expected one number, or one"):
        simulate.fifo_responses(stack, [4, 4, 4], until=10)
    with pytest.raises(ValueError, match=r"until: got shape \(1,\), expected one number"):
        simulate.fifo_responses(stack, 4, until=[10])
    with pytest.raises(ValueError, match=r"victim\[1\]: got 2"):
        simulate.fifo_responses(stack, 4, until=10, victim=[-1, 2])
    for name in ("threads", "until", "victim"):
        ragged = {"threads": 4, "until": 10, name: [[4, 4], [4]]}
        with pytest.raises(ValueError, match=f"^{name}: "):
            simulate.fifo_responses(stack, **ragged)
    with pytest.raises(ValueError, match="first: got -1, expected the number of a set, 0 to"):
        simulate.fifo_responses(stack, 4, until=10, first=-1)
    primes = gs.KernelTasks(period=[999999937, 999999929, 999999893], block_time=1)
    with pytest.raises(
        ValueError, match="until: got None, expected ticks, as the hyperperiod is too"
    ):
        simulate.fifo(primes, 4)
    with pytest.raises(
        ValueError, match="set 0: until: got None, expected ticks, as the hyperperiod"
    ):
        simulate.fifo_responses(gs.KernelTasks(period=[primes.period] * 2, block_time=1), 4)
    assert simulate.fifo(primes, 4, until=10).outcome == "done"
    many = gs.KernelTasks(period=[4] * 257, block_time=1)
    with pytest.raises(ValueError, match="with more than 256 tasks in order 'release'"):
        simulate.fifo(many, 4, "release")
    assert simulate.fifo(gs.KernelTasks(period=[4] * 256, block_time=1), 256, "release").grows.any
    late = gs.KernelTasks(period=[4], block_time=1, deadline=[2**62])
    with pytest.raises(OverflowError, match=r"deadline\[0\]: got 4611686018427387904"):
        simulate.fifo(late, 4, until=10)
    long = gs.KernelTasks(period=[2**60], block_time=1)
    with pytest.raises(OverflowError, match=r"period\[0\]: got 1152921504606846976"):
        simulate.fifo(long, 4, until=10)


def test_gs_simulate() -> None:
    assert gs.simulate is simulate
    assert gs.simulate.fifo(EXAMPLE, threads=4096, until=81).end[0] == 38


def test_responses_are_of_a_task_that_there_is() -> None:
    run = simulate.fifo(X1, 2, until=1000)
    for task in (-1, 2):
        with pytest.raises(IndexError, match=f"task: got {task}, expected 0 to 1"):
            run.responses(task)
    assert np.array_equal(run.responses("task 1"), run.responses(1))
    with pytest.raises(ValueError, match="task: got 'task 2', expected one of task 0, task 1"):
        run.responses("task 2")
    with pytest.raises(TypeError, match=r"task: got \[0\], expected an integer"):
        run.responses([0])  # type: ignore[arg-type]
    for tick in (1.5, "1", None):
        with pytest.raises(TypeError, match=r"tick: got .*, expected an integer"):
            run.to_chrome_trace("never", tick=tick)  # type: ignore[arg-type]


def test_a_stack_without_sets() -> None:
    none = gs.generate.fifo(3, 0.5, count=0, seed=1)
    found = simulate.fifo_responses(none, 4096, until=10)
    assert repr(found) == "<FifoResponses: 0 sets of 3 tasks>" and len(found) == 0
    assert found.worst.shape == (0, 3) and found.to_frame().empty
