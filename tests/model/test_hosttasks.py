"""HostTasks: accepted arguments and errors."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.host_tasks import HostTasks

ARRAYS = list(HostTasks._ARRAYS)
LISTS: dict[str, Any] = {
    "period": [60, 80, 120, 160],
    "cpu": [[3, 2], [5, 1], [10], [6, 2, 1]],
    "copy_in": [[1], [2], [], [2, 1]],
    "kernel": [[6], [[8, 5]], [], [10, [4, 4, 3]]],
    "copy_out": [[1], [1], [], [2, 1]],
    "sm": [[0], [0, 1], [], [1]],
    "core": [0, 1, 0, 1],
}
JOBS = [
    [3, (1, 6, 1), 2],
    [5, (2, [8, 5], 1), 1],
    [10],
    [6, (2, 10, 2), 2, (1, [4, 4, 3], 1), 1],
]


def example(**changes: Any) -> HostTasks:
    """Test vector A of the specification, with kernels that depend on the SMs."""
    return HostTasks(**(LISTS | changes))


def arrays(**changes: Any) -> HostTasks:
    """Two tasks with room for two GPU segments, as arrays."""
    values: dict[str, Any] = {
        "period": [50, 60],
        "cpu": [[3, 2, 0], [1, 1, 1]],
        "copy_in": [[1, 0], [2, 3]],
        "kernel": [[[9, 8, 7], [0, 0, 0]], [[5, 5, 5], [6, 5, 4]]],
        "copy_out": [[1, 0], [2, 3]],
        "segments": [1, 2],
    }
    return HostTasks(**(values | changes))


def test_lists() -> None:
    tasks = example()
    assert (tasks.n, len(tasks), tasks.width, tasks.columns, tasks.sms) == (4, 4, 2, 3, 2)
    assert not tasks.is_stack and tasks.is_placed
    assert tasks.segments.tolist() == [1, 1, 0, 2]
    assert tasks.cpu.tolist() == [[3, 2, 0], [5, 1, 0], [10, 0, 0], [6, 2, 1]]
    assert tasks.copy_in.tolist() == [[1, 0], [2, 0], [0, 0], [2, 1]]
    assert tasks.kernel.tolist() == [
        [[6, 6, 6], [0, 0, 0]],
        [[8, 5, 5], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
        [[10, 10, 10], [4, 4, 3]],
    ]
    assert tasks.sm.tolist() == [[True, False], [True, True], [False, False], [False, True]]
    assert tasks.priority.tolist() == [0, 1, 2, 3]
    assert tasks.deadline.tolist() == LISTS["period"]
    assert tasks.offset.tolist() == [0, 0, 0, 0]
    assert tasks.name[3] == "task 3"
    assert gs.HostTasks is HostTasks


def test_from_segments() -> None:
    options = {"sm": LISTS["sm"], "core": LISTS["core"]}
    assert HostTasks.from_segments(LISTS["period"], JOBS, **options) == example()
    # Two GPU segments in a row have an empty CPU segment between them; so do the ends.
    tasks = HostTasks.from_segments([50], [[(1, 2, 3), (4, [6, 5], 7)]])
    assert tasks.cpu.tolist() == [[0, 0, 0]]
    assert tasks.cpu_segments.tolist() == [0] and tasks.segments.tolist() == [2]
    assert eval(repr(tasks), {"HostTasks": HostTasks}) == tasks
    # A repr includes cores and SMs of an allocation.
    placed = HostTasks.from_segments(
        [50, 60], [[5, (1, 2, 3)], [4]], deadline=[40, 60], core=[1, 0], sm=[[0, 2], []]
    )
    assert repr(placed).endswith("[4]], deadline=[40, 60], core=[1, 0], sm=[[0, 2], []])")
    assert eval(repr(placed), {"HostTasks": HostTasks}) == placed


def test_what_jobs_take() -> None:
    tasks = example()
    assert tasks.cpu_time.tolist() == [5, 6, 10, 9]
    assert tasks.copy_time.tolist() == [2, 3, 0, 6]
    assert tasks.cpu_segments.tolist() == [2, 2, 1, 3]
    assert tasks.kernel_time().tolist() == [[6, 0], [5, 0], [0, 0], [10, 4]]
    assert tasks.kernel_time(1).tolist() == [[6, 0], [8, 0], [0, 0], [10, 4]]
    assert tasks.kernel_time([1, 1, 1, 99]).tolist() == [[6, 0], [8, 0], [0, 0], [10, 3]]
    assert tasks.gpu_time(13).tolist() == [8, 8, 0, 19]
    np.testing.assert_allclose(tasks.utilization(), [7 / 60, 9 / 80, 10 / 120, 15 / 160])
    np.testing.assert_allclose(
        tasks.utilization("busy", sms=1), [13 / 60, 17 / 80, 10 / 120, 29 / 160]
    )
    assert tasks.hyperperiod == 480
    with pytest.raises(ValueError, match=r"^sms: got 0, expected a positive number"):
        tasks.kernel_time(0)
    with pytest.raises(ValueError, match=r"^sm\[0\]: got no SM, expected one"):
        example(sm=None).gpu_time()
    with pytest.raises(ValueError, match="mode: got 'spin', expected one of suspend, busy"):
        tasks.utilization("spin")


@pytest.mark.parametrize("key", ["copy_in", "kernel", "copy_out"])
def test_one_number_for_all(key: str) -> None:
    assert getattr(example(**{key: 2}), key)[..., 0].tolist()[3] in ([2, 2], 2)
    task_by_task = arrays(**{key: [7, 8]})
    values = getattr(task_by_task, key).reshape(2, 2, -1)[..., 0]
    assert values.tolist() == [[7, 0], [8, 8]]  # nothing beyond the first task's one segment
    everywhere = arrays(**{key: 5})
    assert getattr(everywhere, key).reshape(2, 2, -1)[..., 0].tolist() == [[5, 0], [5, 5]]


def test_cpu_only() -> None:
    tasks = HostTasks([10, 20], [3, 4])
    assert tasks.width == 0 and tasks.segments.tolist() == [0, 0]
    assert tasks.copy_in.shape == (2, 0) and tasks.kernel.shape == (2, 0, 1)
    assert tasks.gpu_time(1).tolist() == [0, 0]
    assert not tasks.is_placed
    assert tasks.with_placement(core=0).is_placed


def test_stack() -> None:
    stack = HostTasks(
        [[10, 20], [30, 40]], [[3, 4], [5, 6]], 1, [[[4, 3]], [[5, 5]]], sm=[[[0], [1]], [[2], []]]
    )
    assert stack.is_stack and len(stack) == 2 and stack.n == 2 and stack.sms == 3
    assert stack.cpu.shape == (2, 2, 2) and stack.kernel.shape == (2, 2, 1, 2)
    assert stack[1].period.tolist() == [30, 40] and stack[1].sm.tolist()[0] == [False, False, True]
    assert stack[:1].is_stack and len(stack[2:]) == 0
    assert [one.hyperperiod for one in stack] == stack.hyperperiod
    assert [column.ndim for column in stack._columns()] == [2, 2, 2, 2, 2, 3, 3, 4, 3]
    assert [column.ndim for column in stack[0]._columns()] == [1, 1, 1, 1, 1, 2, 2, 3, 2]
    assert np.shares_memory(stack._columns()[0], stack.period)
    assert stack[np.array([1, 1])].period.tolist() == [[30, 40], [30, 40]]
    with pytest.raises(IndexError):
        stack[2]
    assert stack[0][0].period.tolist() == [10]
    # One field is enough to make a stack of all of them.
    for key, value in {
        "priority": [[0, 1], [1, 0]],
        "core": [[0, 1], [1, 0]],
        "copy_in": np.ones((2, 2, 2), int) * [[1, 0], [1, 1]],
        "kernel": np.ones((2, 2, 2, 1), int) * [[[1], [0]], [[1], [1]]],
        "sm": np.ones((2, 2, 5), bool),
    }.items():
        assert arrays(**{key: value}).is_stack, key


def test_placement() -> None:
    tasks = example(core=-1, sm=None)
    assert tasks.sms == 0 and not tasks.is_placed
    placed = tasks.with_placement(core=LISTS["core"], sm=LISTS["sm"])
    assert placed == example() and tasks.sms == 0
    assert placed.with_placement(core=0).core.tolist() == [0, 0, 0, 0]
    assert placed.with_placement(core=0).sm.tolist() == placed.sm.tolist()
    assert example(sm=np.zeros((4, 13), bool)).sms == 13
    assert example(sm=[[True, False]] * 4).sms == 2
    assert example(sm=[[], [], [], []]).sms == 0
    assert example(sm=[range(3), {1}, (), np.array([2])]).sm.sum() == 5
    assert HostTasks([9], 1).with_placement(sm=[[0, 2]]).sm.tolist() == [[True, False, True]]
    for one in ([[0]], [[[0]], [[1]]], np.ones((1, 4), bool), np.ones((2, 1, 4), bool)):
        with pytest.raises(ValueError, match=r"^sm: got 1 row, expected 4, one per task$"):
            tasks.with_placement(sm=one)


def test_priorities() -> None:
    tasks = HostTasks([9, 9, 9, 9], [1, 1, 1, 1], deadline=[5, 3, 5, 1])
    assert tasks.priority.tolist() == [2, 1, 3, 0]
    assert HostTasks([9, 9], [1, 1], priority=[-5, -5]).priority.tolist() == [-5, -5]


def test_monotone() -> None:
    kernel = [[[9, 7, 8], [0, 0, 0]], [[5, 5, 5], [4, 6, 5]]]
    with pytest.raises(ValueError) as caught:
        arrays(kernel=kernel)
    assert str(caught.value) == (
        "kernel[0, 0, 2]: got 8 on 3 SMs, expected at most the time on 2, 7; monotone=True takes "
        "the largest from there on"
    )
    tasks = arrays(kernel=kernel, monotone=True)
    assert tasks.kernel.tolist() == [[[9, 8, 8], [0, 0, 0]], [[5, 5, 5], [6, 6, 5]]]
    assert arrays(monotone=True) == arrays()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_monotone_is_the_least_safe_profile(times: list[int]) -> None:
    kernel = HostTasks([10], [[1, 1]], kernel=[[times]], monotone=True).kernel[0, 0].tolist()
    assert kernel == [max(times[k:]) for k in range(len(times))]


def test_immutable_equal_pickled() -> None:
    tasks = example(offset=3, name=["a", "b", "c", "d"])
    for key in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(tasks, key)[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        tasks.period = tasks.deadline  # type: ignore[misc]
    with pytest.raises(TypeError, match="unhashable"):
        hash(tasks)
    stack = arrays(offset=[[1, 2], [3, 4]])
    for one in (tasks, stack):
        copies = [pickle.loads(pickle.dumps(one, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
        for other in [*copies, copy.copy(one), copy.deepcopy(one), dataclasses.replace(one)]:
            assert other == one and other.name == one.name
            assert not any(getattr(other, key).flags.writeable for key in ARRAYS)
    assert tasks != example() and example() != [1] and example() == example()
    assert dataclasses.replace(tasks, period=np.array(200)).deadline.tolist() == [200] * 4


def test_input_is_copied() -> None:
    cpu, sm = np.ones((2, 3), np.int64), np.ones((2, 4), bool)
    tasks = arrays(cpu=cpu, sm=sm, segments=2, copy_in=1, copy_out=1, kernel=1)
    cpu[0] = 99
    sm[0] = False
    assert tasks.cpu.tolist() == [[1, 1, 1]] * 2 and tasks.sm.all()


# Refusals: each names the field, the entry and its value.


@pytest.mark.parametrize("key", ["period", "deadline", "cpu", "copy_in", "kernel", "copy_out"])
@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (math.nan, ValueError, ": got nan, expected a whole number"),
        (math.inf, ValueError, ": got inf, expected a whole number"),
        (2.5, ValueError, ": got 2.5, expected a whole number"),
        (2**63, OverflowError, f": got {2**63}, expected a number that fits 64 bits"),
        (None, TypeError, ": got None, expected a number"),
        ("4", TypeError, ": got '4', expected a number"),
        (-1, ValueError, ": got -1, expected a "),
        (-(2**63), ValueError, f": got {-(2**63)}, expected a "),
    ],
    ids=str,
)
def test_no_time(key: str, bad: Any, error: type[Exception], text: str) -> None:
    ragged = dict(LISTS, deadline=LISTS["period"])
    where: Any
    if key in ("period", "deadline"):
        ragged[key], where = [*LISTS["period"][:3], bad], "[3]: "
    else:
        last = [*LISTS[key][3][:-1], bad]
        ragged[key], where = [*LISTS[key][:3], last], f"[3, {len(last) - 1}"
    with pytest.raises(error) as caught:
        HostTasks(**ragged)
    assert str(caught.value).startswith(f"{key}{where}" if bad != "4" else key)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"cpu": [[3, 2], [], [10], [6, 2, 1]]},
            "cpu[1]: got an empty list, expected at least one segment",
        ),
        (
            {"copy_in": [[1], [2], [7], [2, 1]]},
            "copy_in[2]: got 1 entries, expected 0, as cpu[2] has 1 entries",
        ),
        (
            {"kernel": [[6], [8], [], [10]]},
            "kernel[3]: got 1 entries, expected 2, as cpu[3] has 3 entries",
        ),
        (
            {"kernel": [[6], [[]], [], [1, 1]]},
            "kernel[1][0]: got no entries, expected one for at least one SM",
        ),
        ({"kernel": [[6], [8], []]}, "kernel: got 3 entries, expected 4, one per task"),
        ({"cpu": 5}, "cpu: got no lists, expected one per task, as other lists differ in"),
        (
            {"segments": [1, 1, 0, 2]},
            "segments: got numbers, expected None, as they follow from the lists of",
        ),
        (
            {"cpu": LISTS["cpu"][:3], "copy_in": 0, "kernel": 0, "copy_out": 0},
            "cpu: got shape (3, 2), expected (4, 2)",
        ),
        (
            {"kernel": [[6], [[5, 8]], [], [1, 1]]},
            "kernel[1, 0, 1]: got 8 on 2 SMs, expected at most the time on 1, 5;",
        ),
        ({"core": [0, 1, -2, 0]}, "core[2]: got -2, expected at least -1"),
        ({"offset": -1}, "offset: got -1, expected a non-negative number"),
        ({"period": 0}, "period: got 0, expected a positive number"),
        ({"sm": [[0], [0, -1], [], [1]]}, "sm[1][1]: got -1, expected an SM index from 0 to 1023"),
        ({"sm": [[0], [1024], [], [1]]}, "sm[1][0]: got 1024, expected an SM index from 0 to 1023"),
        ({"sm": [[0], [1], []]}, "sm: got 3 rows, expected 4, one per task"),
        ({"sm": [[0]]}, "sm: got 1 row, expected 4, one per task"),
        ({"sm": np.ones((1, 4), bool)}, "sm: got 1 row, expected 4, one per task"),
        (
            {"sm": [[[0]], [[1], [2]]]},
            "sm: got sets of different numbers of tasks, expected a stack",
        ),
        ({"name": ["a"]}, "name: got ('a',), expected 4 strings, one per task"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_refused_lists(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        example(**changes)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"segments": [1, 3]}, "segments[1]: got 3, expected at most 2, as cpu has room for 3 CPU"),
        ({"segments": [1, -1]}, "segments[1]: got -1, expected a non-negative number"),
        ({"segments": [0, 2]}, "cpu[0, 1]: got more, expected 0, as the task has 0 GPU segments"),
        (
            {"cpu": [[3, 2, 1], [1, 1, 1]]},
            "cpu[0, 2]: got more, expected 0, as the task has 1 GPU segments",
        ),
        (
            {"copy_in": [[1, 4], [2, 3]]},
            "copy_in[0, 1]: got more, expected 0, as the task has 1 GPU segments",
        ),
        (
            {"kernel": [[[1], [2]], [[3], [4]]]},
            "kernel[0, 1]: got more, expected 0, as the task has 1 GPU segments",
        ),
        ({"copy_in": [[1], [2], [3]]}, "copy_in: got shape (3, 1), expected (2, 2)"),
        ({"kernel": np.ones((2, 3, 1), int)}, "kernel: got shape (2, 3, 1), expected (2, 2), or"),
        (
            {"kernel": np.ones((2, 2, 0), int)},
            "kernel: got no entries, expected one for at least one SM",
        ),
        ({"kernel": np.ones((1,) * 5, int)}, "kernel: got 5 dimensions, expected at most 4"),
        ({"cpu": np.ones((1,) * 4, int)}, "cpu: got 4 dimensions, expected at most 3"),
        ({"period": np.ones((1, 1, 2), int)}, "period: got 3 dimensions, expected at most 2"),
        ({"period": []}, "period: got no entries, expected at least one task"),
        (
            {"cpu": [3, 4], "segments": 0, "copy_in": 0, "copy_out": 0},
            "kernel: got GPU segments, expected none, as cpu has room for one CPU",
        ),
        (
            {"cpu": [[3, 2, 0], [0, 0, 0]], "kernel": 0, "copy_in": 0, "copy_out": 0},
            "cpu[1]: got a job of no time, expected some work",
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_refused_arrays(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        arrays(**changes)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("sm", [3, "01", np.ones((2, 2), int), [0, 1], [[0.5], [1]], [[True], [1]]])
def test_no_sets_of_sms(sm: Any) -> None:
    with pytest.raises(TypeError, match=r"^sm"):
        arrays(sm=sm)


def test_too_much() -> None:
    with pytest.raises(
        OverflowError, match=r"cpu\[1\]: got jobs of 2\*\*60 ticks or more in all, expected less"
    ):
        HostTasks([10, 20], [2**59, 2**59])
    with pytest.raises(OverflowError, match="sm: got 1025 SMs, expected at most 1024"):
        arrays(sm=np.zeros((2, 1025), bool))


@pytest.mark.parametrize(
    ("jobs", "error", "text"),
    [
        ([[1], []], ValueError, "jobs[1]: got an empty list, expected at least one segment"),
        (
            [[1], [1, 2]],
            ValueError,
            "jobs[1][1]: got 2, expected a GPU segment, as two CPU segments in a row",
        ),
        ([[1], [1, (2, 3)]], ValueError, "jobs[1][1]: got (2, 3), expected a number or a triple"),
        ([[1], "ab"], TypeError, "jobs[1]: got 'ab', expected a list of segments"),
        ([[1], 4], TypeError, "jobs[1]: got 4, expected a list of segments"),
        (7, TypeError, "jobs: got 7, expected a list of lists of segments, one per task"),
        ([[1], [(1, None, 1)]], TypeError, "kernel[1, 0, 0]: got None, expected a number"),
        ([[1], [(1, 2, 1), "x"]], TypeError, "cpu[1, 1]: got 'x', expected a number"),
        ([[1]], ValueError, "jobs: got 1 entries, expected 2 as period"),
        ([[1], [2], [3]], ValueError, "jobs: got 3 entries, expected 2 as period"),
        (
            [[1], [(1, [[2]], 1)]],
            TypeError,
            "jobs[1][0]: got (1, [[2]], 1), expected a list of numbers for the",
        ),
        (
            [[1], [([1], 2, 1)]],
            TypeError,
            "jobs[1][0]: got ([1], 2, 1), expected a list of numbers for the kernel",
        ),
    ],
)
def test_refused_segments(jobs: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        HostTasks.from_segments([10, 20], jobs)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("cpu", "kernel", "error", "text"),
    [
        ([[3, [2]], [1]], 0, TypeError, "cpu[0, 1]: got [2], expected a number"),
        ([{3, 2}, [1, 1]], 5, TypeError, "cpu[0, 0]: got {2, 3}, expected a number"),  # in no order
        (
            [[3, 2], [1]],
            [[{4, 5}], []],
            TypeError,
            "kernel[0, 0, 0]: got {4, 5}, expected a number",
        ),
        ([[], []], 0, ValueError, "cpu: got empty lists, expected at least one CPU segment"),
    ],
)
def test_refused_entries_of_lists(cpu: Any, kernel: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        HostTasks([10, 20], cpu, kernel=kernel)
    assert str(caught.value).startswith(text)


numbers = st.integers(0, 9)
job = st.lists(
    st.tuples(numbers, st.lists(numbers, min_size=1, max_size=3), numbers), max_size=3
).flatmap(lambda gpu: st.tuples(st.just(gpu), st.lists(numbers, min_size=len(gpu) + 1,
                                                       max_size=len(gpu) + 1)))  # fmt: skip


@given(st.lists(job, min_size=1, max_size=4))
def test_any_jobs(jobs: list[Any]) -> None:
    rows = [
        [part for pair in zip(cpu, [*gpu, None], strict=True) for part in pair if part is not None]
        for gpu, cpu in jobs
    ]
    jobs = [(g, [c[0] + 1, *c[1:]]) for g, c in jobs]
    for row in rows:
        row[0] += 1
    tasks = HostTasks.from_segments([10] * len(rows), rows, monotone=True)
    assert tasks.segments.tolist() == [len(gpu) for gpu, _ in jobs]
    assert tasks.cpu_time.tolist() == [sum(cpu) for _, cpu in jobs]
    assert tasks.gpu_time(1).tolist() == [sum(a + max(e) + b for a, e, b in gpu) for gpu, _ in jobs]
    assert pickle.loads(pickle.dumps(tasks)) == tasks


def test_what_a_notebook_shows() -> None:
    assert repr(example()).startswith("HostTasks.from_segments([60, 80, 120, 160], [[3, (1, 6")
    html = example(name=["<b>", "&", "x" * 1000, ""])._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html and "x" * 61 not in html
    assert "<td>0, 1</td>" in html and "(2, [8, 5], 1)" in html
    many = HostTasks(range(1, 10001), [1] * 10000)
    assert len(repr(many)) < 200 and len(many._repr_html_()) < 10000
    stack = HostTasks(np.ones((1000, 20)), [[1, 1]] * 20, kernel=3)
    assert repr(stack) == "<HostTasks: 1000 sets of 20 tasks>"
    assert len(stack._repr_html_()) < 200


def test_a_time_per_task_of_a_stack() -> None:
    """Without GPU segments (N, n) is a time per task, for any number of sets."""
    for sets in (1, 2, 3, 4):
        periods, times = np.full((sets, 3), 50), np.tile([1, 2, 3], (sets, 1))
        hosts = HostTasks(periods, times)
        assert hosts.cpu.shape == (sets, 3, 1) and hosts.segments.max() == 0
        assert hosts.cpu_time.tolist() == times.tolist()
        assert hosts.replace(cpu=2 * times).cpu_time.tolist() == (2 * times).tolist()
    shared = HostTasks(np.full((2, 2), 50), [[1, 2], [3, 4]], kernel=5)
    assert shared.cpu.tolist() == [[[1, 2], [3, 4]]] * 2


def test_repr_makes_an_equal_set() -> None:
    for options in (
        {"priority": [1, 0]},
        {"offset": [3, 0]},
        {"name": ["camera", "planner"]},
        {"priority": [5, 5], "deadline": [40, 50], "core": 0, "name": ["a", "b"]},
    ):
        hosts = HostTasks.from_segments([50, 60], [[1], [2, (0, 3, 0), 1]], **options)
        assert eval(f"gs.{hosts!r}") == hosts


def test_one_set_is_no_sequence_of_sets() -> None:
    with pytest.raises(TypeError, match=r"^sets: got one set, expected a sequence of HostTasks"):
        HostTasks.stack(example())  # type: ignore[arg-type]
