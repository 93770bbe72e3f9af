"""gs.analysis.time_slices and gcaps: numbers of vectors, verdicts, errors."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from context_vectors import VECTORS, hosts_of, tasks_of, verdict

import gpusched as gs
from gpusched.analysis import TERMS, contexts
from gpusched.model.host_tasks import HostTasks

pytestmark = pytest.mark.numbers

ROWS = [(key, name) for key, vector in VECTORS.items() for name in vector.bounds]
V1 = hosts_of(VECTORS["V1"].tasks)
TESTS: dict[str, Any] = {
    "time_slices": lambda hosts, **o: gs.analysis.time_slices(
        hosts, timeslice=4, context_switch=1, **o
    ),
    "gcaps": lambda hosts, **o: gs.analysis.gcaps(hosts, update_cost=1, **o),
}
BOTH = pytest.mark.parametrize("test", TESTS)
MODES = pytest.mark.parametrize("mode", ["suspend", "busy"])


@pytest.mark.parametrize(("key", "name"), ROWS)
def test_vectors(key: str, name: str) -> None:
    answer = verdict(VECTORS[key], name)
    assert answer.schedulable
    assert answer.response.tolist() == VECTORS[key].bounds[name]
    assert sum(answer.terms[term] for term in TERMS).tolist() == answer.response.tolist()


def test_a_printed_bound_beyond_the_deadline() -> None:
    """V8: the ready intervals of task 2 bound what task 1 adds (jitter alone: 113); as printed the
    task is not accepted."""
    answer = verdict(VECTORS["V8"], "time_slices suspend paper")
    assert answer.undecided and answer.failed == 2
    assert answer.response.tolist() == [4, 19, None]


@BOTH
@MODES
def test_joint_is_never_worse_and_order_free_never_better(test: str, mode: str) -> None:
    hosts = gs.generate.stgm(8, 400, seed=3, gpu_ratio=(0.5, 1), utilization=(0.05, 0.4))
    hosts = gs.analysis.partition(hosts, cpus=2).hosts
    joint, one, free = (
        TESTS[test](hosts, mode=mode, **options)
        for options in ({}, {"fixed_point": "one_pass"}, {"order_free": True})
    )
    assert (joint.accepted >= one.accepted).all() and (one.accepted >= free.accepted).all()
    assert joint.accepted.sum() > free.accepted.sum() > 0
    for better, worse in ((joint, one), (one, free)):
        both = worse.accepted
        assert (better.response[both] <= worse.response[both]).all()


@BOTH
def test_a_set_without_a_joint_solution_has_no_bounds(test: str) -> None:
    hosts = V1.replace(deadline=[60, 30, 120, 160])
    answer = TESTS[test](hosts)
    assert answer.undecided and answer.failed == 1 and not answer.bounded.any()
    assert answer.response.tolist() == [None] * 4
    assert "no bound, as the set is not accepted" in answer.why(0)
    assert "task 1 may miss its deadline of 30" in answer.why()
    assert sum(int(answer.terms[term][1]) for term in TERMS) > 30
    assert all(answer.terms[term][0] == 0 for term in TERMS)
    one = TESTS[test](hosts, fixed_point="one_pass")
    assert one.failed == 1 and one.response[0] > 0


def test_overload_ends_at_once() -> None:
    """No window is tried where the tasks of a core take all of it, however late the deadline."""
    far = 2**58
    hosts = gs.HostTasks(period=[2, 4, far], cpu=[[1], [2], [1]], core=[0, 0, 0])
    for test in TESTS.values():
        for mode in ("suspend", "busy"):
            for fixed_point in ("joint", "one_pass"):
                assert test(hosts, mode=mode, fixed_point=fixed_point).failed == 2


def test_one_user_of_the_gpu_pays_no_switch() -> None:
    hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 1])
    assert gs.analysis.time_slices(hosts, timeslice=4, context_switch=7).response.tolist() == [
        13,
        5,
    ]


def test_gpu_priorities() -> None:
    """The kernel of a less urgent task may come first on the GPU, on other cores only."""
    tasks = tasks_of((0, 90, [1, 1], [(0, 9, 0)]), (1, 90, [1, 1], [(0, 4, 0)]), (1, 90, [5], []))
    hosts = hosts_of(tasks)
    assert gs.analysis.gcaps(hosts).response.tolist() == [11, 15, 7]
    swapped = gs.analysis.gcaps(hosts, gpu_priority=[9, 2, 2])
    assert swapped.response.tolist() == [15, 6, 7]
    again = gs.analysis.gcaps(hosts, gpu_priority=[0, 1, -5], fixed_point="one_pass")
    assert again.response.tolist() == [11, 15, 7]
    stack = HostTasks.stack([hosts, hosts])
    both = gs.analysis.gcaps(stack, gpu_priority=[[9, 2, 2], [0, 1, 2]])
    assert both.response.tolist() == [[15, 6, 7], [11, 15, 7]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gs.analysis.time_slices(V1, timeslice=0),
            ValueError,
            "timeslice: got 0, expected 1 or more",
        ),
        (
            lambda: gs.analysis.time_slices(V1, timeslice=2**60),
            ValueError,
            "slice: got 1152921504606846976, expected a positive time below",
        ),
        (
            lambda: gs.analysis.time_slices(V1, timeslice=1, context_switch=-1),
            ValueError,
            "context_switch: got -1, expected 0 or more",
        ),
        (
            lambda: gs.analysis.gcaps(V1, update_cost=-1),
            ValueError,
            "update_cost: got -1, expected 0 or more",
        ),
        (
            lambda: gs.analysis.gcaps(V1, update_cost=2**60),
            OverflowError,
            "update_cost: got 11529.*2.*60",
        ),
        (lambda: gs.analysis.gcaps(V1, mode="spin"), ValueError, "mode: got 'spin', expected one"),
        (
            lambda: gs.analysis.gcaps(V1, fixed_point="order_free"),
            ValueError,
            "fixed_point: got 'order_free', expected one of joint, one_pass",
        ),
        (
            lambda: gs.analysis.gcaps(V1, order_free=True, variant="paper"),
            ValueError,
            "order_free: got True, expected False with variant='paper'",
        ),
        (
            lambda: gs.analysis.gcaps(V1, gpu_priority=[0, 1, 2, 3], order_free=True),
            ValueError,
            "order_free: got 1, expected no GPU priorities beside the CPU priorities",
        ),
        (
            lambda: gs.analysis.gcaps(V1, gpu_priority=[0, 1, 2, 0]),
            ValueError,
            r"gpu_priority\[3\]: got 0, expected the order of the CPU priorities among the tasks",
        ),
        (
            lambda: gs.analysis.gcaps(V1, gpu_priority=[0, 0, 2, 3]),
            ValueError,
            r"gpu_priority\[1\]: got 0, expected a GPU priority that no other task has",
        ),
        (
            lambda: gs.analysis.gcaps(V1, gpu_priority=[0, 1]),
            ValueError,
            r"gpu_priority: got shape \(2,\), expected one number for each task, \(4,\)",
        ),
        (lambda: gs.analysis.gcaps(V1, cpus=1), ValueError, r"core\[1\]: got 1, expected a core"),
        (
            lambda: gs.analysis.gcaps(V1.replace(priority=[0, 1, 1, 2])),
            ValueError,
            "priority.2.: got 1, expected a priority that no other task has",
        ),
        (
            lambda: gs.analysis.time_slices(V1.replace(deadline=[61, 80, 120, 160]), timeslice=1),
            ValueError,
            "deadline.0.: got 61, expected a deadline of at most the period",
        ),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@BOTH
@MODES
def test_times_near_the_limit(test: str, mode: Any) -> None:
    """Sums saturate; a set whose bound is beyond all times is not accepted."""
    far = 2**60 - 2
    jobs: list[list[Any]] = [[1, (0, 2**56, 0), 1], [1, (2**50, 2**57, 0), 1], [1]]
    hosts = gs.HostTasks.from_segments([far] * 3, jobs, core=[0, 1, 1])
    if test == "gcaps":
        answer = gs.analysis.gcaps(hosts, update_cost=2**59, mode=mode)
    else:
        answer = gs.analysis.time_slices(hosts, timeslice=1, context_switch=2**59, mode=mode)
    assert answer.undecided
    assert TESTS[test](hosts, mode=mode).terms["own"].min() >= 0


def test_stacks_of_different_sizes() -> None:
    small = V1[:2]
    stack = HostTasks.stack([V1, small])
    for test in TESTS.values():
        assert test(stack).response[0].tolist() == test(V1).response.tolist()
        assert test(stack).response[1].tolist()[:2] == test(small).response.tolist()


def test_verdicts_are_saved(tmp_path: Any) -> None:
    for name, test in TESTS.items():
        answer = test(V1)
        answer.save(tmp_path / f"{name}.npz")
        again = gs.analysis.Verdict.load(tmp_path / f"{name}.npz")
        assert again == answer and again.test == name
        assert len(answer.assumptions) == 4
        answer.plot()


def test_examples() -> None:
    found = doctest.testmod(contexts, extraglobs={"gs": gs, "np": np})
    assert found.attempted >= 4 and not found.failed
