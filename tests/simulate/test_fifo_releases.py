"""FIFO simulation with explicit releases: twin, replay of runs, forms, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_simulate import JOBS, WAVES, check, random_tasks, rows, twin_of

import gpusched as gs
from gpusched import simulate
from gpusched.model.fifo_model import ORDERS

TASKS = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=[2, 1])


def drawn(chance: np.random.Generator, tasks: Any, closer: bool) -> list[list[int]]:
    found = []
    for period in tasks.period.tolist():
        least = 0 if closer else period
        gaps = least + chance.integers(0, 5, int(chance.integers(0, 8)))
        found.append((int(chance.integers(0, 9)) + np.cumsum(gaps)).tolist())
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("closer", [False, True])
def test_agrees_with_the_twin(order: Any, closer: bool) -> None:
    chance = np.random.default_rng([ORDERS.index(order), closer])
    for _ in range(40):
        n, m = int(chance.integers(1, 6)), int(chance.integers(2, 14))
        tasks = random_tasks(chance, n, m)
        releases = drawn(chance, tasks, closer)
        times = [
            chance.integers(1, tasks.block_time[i] + 1, len(row)).tolist()
            for i, row in enumerate(releases)
        ]
        until = int(chance.choice([10, 40, 1000]))
        run = simulate.fifo(tasks, m, order, until, releases=releases, times=times, closer=closer)
        expected = twin_of(
            run,
            until,
            releases=releases,
            actual=lambda i, j, _, times=times: times[i][j],
        )
        assert rows(run, *JOBS) == expected["jobs"]
        assert rows(run.waves, *WAVES) == expected["waves"]
        assert run.outcome == "done"
        if not closer:
            check(run)


def test_a_run_is_replayed() -> None:
    """The jobs of a counterexample, with the numbers that it drew."""
    tasks = gs.KernelTasks([110, 100], block_time=[20, 90], blocks=[2, 1])
    options: dict[str, Any] = {"execution": (0.5, 1), "draw": "block", "seed": 4}
    run = simulate.fifo(tasks, 2, until=900, victim=1, triggers="end", **options)
    again = simulate.fifo(tasks, 2, releases=run, **options)
    # The victim goes behind the others at one instant.
    behind = simulate.fifo(tasks.replace(priority=[0, 1]), 2, releases=run, **options)
    assert sorted(rows(run, *JOBS)) == sorted(rows(behind, *JOBS))
    assert len(again) == len(run)
    assert again.outcome == "done" and again.cycle_from is None


def test_forms() -> None:
    rows_of = simulate.fifo(TASKS, 2, releases=[[0, 150], [5]], times=[[10, 4], [30]])
    columns: dict[str, Any] = {"task": [0, 1, 0], "time": [0, 5, 150]}
    table = simulate.fifo(TASKS, 2, releases=columns, times=[10, 30, 4])
    assert rows_of == table
    pandas = pytest.importorskip("pandas")
    assert simulate.fifo(TASKS, 2, releases=pandas.DataFrame(columns), times=[10, 30, 4]) == table
    assert simulate.fifo(TASKS, 2, releases=np.array([[0], [5]])).release.tolist() == [0, 5]
    assert len(simulate.fifo(TASKS, 2, releases=[[], []])) == 0
    assert simulate.fifo(TASKS, 2, until=150, releases=columns).release.tolist() == [0, 5]
    # Offsets are not used.
    late = simulate.fifo(TASKS.replace(offset=[7, 7]), 2, releases=[[0], [5]])
    assert late.release.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"releases": [[0, 50], []]}, ValueError,
         r"releases\[0\]\[1\]: got 50, expected at least 100, a period \(100\) after the release "
         r"before it at 0; closer=True allows it"),
        ({"releases": {"task": [1, 0, 1], "time": [0, 0, 119]}}, ValueError,
         r"releases.time\[2\]: got 119, expected at least 120"),
        ({"releases": [[], [9, 8]], "closer": True}, ValueError,
         r"releases\[1\]\[1\]: got 8, expected at least 9"),
        ({"releases": [[0], [-1]]}, ValueError, r"releases\[1\]\[0\]: got -1"),
        ({"releases": [[0], [2**59]]}, OverflowError, r"releases\[1\]\[0\]: got 5764607"),
        ({"releases": [[0]]}, ValueError, r"releases: got 1 rows, expected one per task \(2\)"),
        ({"releases": [[0], [[1]]]}, ValueError, r"releases\[1\]: got shape \(1, 1\)"),
        ({"releases": [[0], [0.5]]}, ValueError, r"releases\[1\]\[0\]: got 0.5"),
        ({"releases": 3}, TypeError, "releases: got 3, expected a row of times per task"),
        ({"releases": {"task": [2], "time": [0]}}, ValueError, r"releases.task\[0\]: got 2"),
        ({"releases": {"task": [0], "time": [0, 1]}}, ValueError, "releases: got columns of"),
        ({"releases": {"task": [0]}}, ValueError, "releases: got no column 'time'"),
        ({"releases": [[0], [1]], "times": [[1], [31]]}, ValueError,
         r"times\[1\]\[0\]: got 31, expected 1 to 30, the block_time of task 1"),
        ({"releases": [[0], [1]], "times": [[1], []]}, ValueError,
         r"times\[1\]: got 0 entries, expected one per release \(1\)"),
        ({"releases": {"task": [1, 0], "time": [0, 0]}, "times": [1, 0]}, ValueError,
         r"times\[1\]: got 0, expected 1 to 10"),
        ({"times": [[1], [1]]}, ValueError, "times: got times without releases"),
        ({"closer": True}, ValueError, "closer: got True without releases"),
        ({"releases": [[0], [1]], "victim": 0}, ValueError, "victim: got 0 beside releases"),
        ({"releases": [[0], [1]], "gap": 0.5}, ValueError, "gap: got 0.5 beside releases"),
        ({"releases": [[0], [1]], "settle": "note"}, ValueError, "settle: got 'note', expected"),
        ({"releases": [[0], [1]], "times": [[1], [1]], "execution": 0.5}, ValueError,
         "execution: got 0.5 beside times"),
    ],
)  # fmt: skip
def test_refusals(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        simulate.fifo(TASKS, 2, **options)
