"""KernelTasks: accepted arguments and errors."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs import graph

ARRAYS = list(KernelTasks._ARRAYS)
POSITIVE = ["period", "wcet", "deadline", "block_time", "blocks", "threads"]
NOT_NEGATIVE = ["regs", "smem", "offset"]


def example(**changes: Any) -> KernelTasks:
    """Figure 1 of [RTNS24]."""
    return KernelTasks(**{"period": [4, 5, 10], "wcet": [1, 3, 3]} | changes)


def test_paper() -> None:
    tasks = example()
    assert tasks.n == len(tasks) == 3
    assert not tasks.is_stack
    assert tasks.deadline.tolist() == [4, 5, 10]
    assert tasks.hyperperiod == 20
    assert tasks.utilization == pytest.approx(1 / 4 + 3 / 5 + 3 / 10)
    assert isinstance(tasks.utilization, float)
    assert tasks.name == ("task 0", "task 1", "task 2")


def test_defaults() -> None:
    tasks = example()
    assert {key: getattr(tasks, key).tolist() for key in ARRAYS} == {
        "period": [4, 5, 10],
        "wcet": [1, 3, 3],
        "deadline": [4, 5, 10],
        "block_time": [1, 3, 3],
        "blocks": [1, 1, 1],
        "threads": [1, 1, 1],
        "regs": [0, 0, 0],
        "smem": [0, 0, 0],
        "priority": [0, 0, 0],
        "offset": [0, 0, 0],
    }
    only_blocks = KernelTasks(period=[4, 5], block_time=[1, 2])
    assert only_blocks.wcet.tolist() == [1, 2]
    both = KernelTasks(period=[4, 5], wcet=[4, 4], block_time=[1, 2])
    assert (both.wcet.tolist(), both.block_time.tolist()) == ([4, 4], [1, 2])
    with pytest.raises(TypeError, match="wcet, block_time, or both"):
        KernelTasks(period=[4, 5])


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ({"period": 4, "wcet": [1, 2]}, (2,)),
        ({"period": [4, 5], "wcet": 1}, (2,)),
        ({"period": [4, 5], "wcet": [1]}, (2,)),
        ({"period": [[4, 5], [6, 7]], "wcet": [1, 2]}, (2, 2)),
        ({"period": [4, 5], "wcet": [[1, 2], [3, 4], [5, 6]]}, (3, 2)),
        ({"period": [4, 5], "wcet": 1, "offset": [[0, 0], [1, 2]]}, (2, 2)),
        ({"period": [[4, 5]], "wcet": [[1], [2]][:1]}, (1, 2)),
        ({"period": np.zeros((0, 3), np.int64), "wcet": 1}, (0, 3)),
    ],
)
def test_shapes(given: dict[str, Any], shape: tuple[int, ...]) -> None:
    tasks = KernelTasks(**given)
    for key in ARRAYS:
        array = getattr(tasks, key)
        assert array.shape == shape
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        if key in given:
            np.testing.assert_array_equal(array, np.broadcast_to(given[key], shape))
    assert tasks.n == shape[-1]
    assert tasks.is_stack == (len(shape) == 2)
    assert len(tasks) == shape[0]


@pytest.mark.parametrize(
    "values",
    [
        (4, 5),
        np.array([4, 5], np.uint8),
        np.array([4, 5], np.float32),
        np.array([4, 5], ">i4"),
        np.array([4, 0, 5, 0])[::2],
        np.array([4, 5], object),
        [4, 5.0],
        [np.int16(4), np.float64(5)],
        np.array([4, np.uint64(5)], object),
        range(4, 6),
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'dtype', '')}",
)
def test_whole_numbers_of_any_type(values: Any) -> None:
    assert KernelTasks(period=values, wcet=1).period.tolist() == [4, 5]


def test_no_digit_is_lost() -> None:
    large = [2**63 - 1, 2**60 + 1]
    for values in (large, np.array(large, np.uint64), np.array(large, object)):
        assert KernelTasks(period=values, wcet=1).period.tolist() == large
    assert KernelTasks(period=large, wcet=1).hyperperiod == math.lcm(*large)
    assert KernelTasks(period=[1], wcet=1, priority=[-(2**63)]).priority.tolist() == [-(2**63)]


def test_stack() -> None:
    stack = KernelTasks(
        period=[[4, 5, 10], [4, 6, 8], [3, 3, 3]], wcet=[1, 2, 3], name=["a", "b", "c"]
    )
    assert stack.hyperperiod == [20, 24, 3]
    assert all(type(h) is int for h in stack.hyperperiod)
    np.testing.assert_allclose(stack.utilization, [0.95, 1 / 4 + 1 / 3 + 3 / 8, 2])
    assert stack[1] == KernelTasks(period=[4, 6, 8], wcet=[1, 2, 3], name=["a", "b", "c"])
    assert stack[-1].period.tolist() == [3, 3, 3]
    assert stack[1:].period.tolist() == [[4, 6, 8], [3, 3, 3]]
    assert stack[1:].is_stack and len(stack[3:]) == 0
    assert [one.hyperperiod for one in stack] == stack.hyperperiod
    with pytest.raises(IndexError):
        stack[3]
    assert stack[0][0].period.tolist() == [4]


def test_input_is_copied() -> None:
    period = np.array([4, 5, 10])
    tasks = example(period=period)
    period[0] = 99
    assert tasks.period.tolist() == tasks.deadline.tolist() == [4, 5, 10]


def test_immutable() -> None:
    tasks = example()
    for key in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(tasks, key)[0] = 7
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(tasks, key, np.ones(3, np.int64))
    with pytest.raises(dataclasses.FrozenInstanceError):
        tasks.name = ("a", "b", "c")  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del tasks.period
    with pytest.raises(TypeError, match="unhashable"):
        hash(tasks)


def test_equality() -> None:
    assert example() == example()
    assert example() != example(name=["a", "b", "c"])
    assert example() != example(period=[[4, 5, 10]])
    assert example() != [4, 5, 10]
    for key in ARRAYS:
        assert example() != example(**{key: [7, 7, 8]}), key


@pytest.mark.parametrize("stacked", [False, True])
def test_pickle_and_copy(stacked: bool) -> None:
    values = {key: [[i + 3, i + 4], [i + 5, i + 6]] for i, key in enumerate(ARRAYS)}
    tasks = KernelTasks(**values, name=["left", "right"])
    tasks = tasks if stacked else tasks[1]
    copies = [pickle.loads(pickle.dumps(tasks, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in [*copies, copy.copy(tasks), copy.deepcopy(tasks)]:
        assert other == tasks
        assert other.name == ("left", "right")
        assert not any(getattr(other, key).flags.writeable for key in ARRAYS)
    changed = dataclasses.replace(tasks, offset=0)
    assert not changed.offset.any()
    assert changed.wcet.tolist() == tasks.wcet.tolist()


# Refusals: each names the field, the entry and its value.


@pytest.mark.parametrize("key", ARRAYS)
@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (math.nan, ValueError, ": got nan, expected a whole number"),
        (math.inf, ValueError, ": got inf, expected a whole number"),
        (2.5, ValueError, ": got 2.5, expected a whole number"),
        (np.float32(0.5), ValueError, ": got 0.5, expected a whole number"),
        (2**63, OverflowError, f": got {2**63}, expected a number that fits 64 bits"),
        (-(2**63) - 1, OverflowError, f": got {-(2**63) - 1}, expected a number that fits 64 bits"),
        (10**30, OverflowError, f": got {10**30}, expected a number that fits 64 bits"),
        (10**5000, OverflowError, ", expected a number that fits 64 bits"),
        (1e300, OverflowError, ": got 1e+300, expected a number that fits 64 bits"),
        (None, TypeError, ": got None, expected a number"),
        (1j, TypeError, ""),
        ("4", TypeError, ""),
        (b"4", TypeError, ""),
        (object, TypeError, ": got <class 'object'>, expected a number"),
        ({}, TypeError, ": got {}, expected a number"),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) else "int",
)
def test_no_whole_number(key: str, bad: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        example(**{key: [4, 5, bad]})
    # Text and complex numbers change the type of the whole array: the error names no entry.
    message = str(caught.value)
    assert message.startswith(f"{key}[2]: " if text.startswith(": ") else key)
    assert text in message and len(message) < 200
    if bad is not None:  # which alone means the default
        with pytest.raises(error, match=f"^{key}"):
            example(**{key: bad})


@pytest.mark.parametrize(
    ("key", "bad", "text"),
    [
        *((key, 0, "a positive number") for key in POSITIVE),
        *((key, -1, "a positive number") for key in POSITIVE),
        *((key, -1, "a non-negative number") for key in NOT_NEGATIVE),
        *((key, -(2**63), "a non-negative number") for key in NOT_NEGATIVE),
        *((key, -3.0, "a non-negative number") for key in NOT_NEGATIVE),
    ],
)
def test_out_of_range(key: str, bad: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        example(**{key: [4, bad, bad]})
    assert str(caught.value) == f"{key}[1]: got {int(bad)}, expected {text}"
    with pytest.raises(ValueError) as caught:
        example(**{key: [[4, 5, 6], [4, 5, bad]]})
    assert str(caught.value) == f"{key}[1, 2]: got {int(bad)}, expected {text}"
    with pytest.raises(ValueError) as caught:
        example(**{key: bad})
    assert str(caught.value) == f"{key}: got {int(bad)}, expected {text}"


@pytest.mark.parametrize("key", ["regs", "smem", "offset", "priority"])
def test_zero_is_allowed(key: str) -> None:
    assert getattr(example(**{key: 0}), key).tolist() == [0, 0, 0]


@pytest.mark.parametrize("key", ARRAYS)
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, 2], r"got shape \((2|3),\), expected \((2|3),\) as of"),
        ([1, 2, 3, 4], r"got shape \((3|4),\), expected \((3|4),\) as of"),
        ([[1, 2], [3, 4]], r"got shape \(3,\), expected \(2, 2\) as of "),
        (np.ones((2, 2, 3), int), "got 3 dimensions, expected 1 or 2"),
        ([[1, 2, 3], [4, 5]], "in rows of one length"),
        ([], r"expected \(\w*,\) as of |at least one task"),
    ],
    ids=["two", "four", "stack", "3-D", "ragged", "empty"],
)
def test_shapes_that_do_not_fit(key: str, values: Any, text: str) -> None:
    # Of two shapes that do not fit, either may be named first.
    with pytest.raises(ValueError, match=text) as caught:
        example(**{key: values})
    assert key in str(caught.value)


def test_stacks_of_different_length() -> None:
    with pytest.raises(
        ValueError, match=r"^wcet: got shape \(3, 2\), expected \(2, 2\) as of period"
    ):
        KernelTasks(period=[[4, 5], [6, 7]], wcet=[[1, 1], [1, 1], [1, 1]])


def test_no_tasks() -> None:
    with pytest.raises(ValueError, match=r"^period: got no entries, expected at least one task"):
        KernelTasks(period=[], wcet=[])
    with pytest.raises(ValueError, match=r"^period: got no entries, expected at least one task"):
        KernelTasks(period=[[], []], wcet=1)
    with pytest.raises(ValueError, match=r"^period: got one number, expected a sequence"):
        KernelTasks(period=4, wcet=1)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (["a", "b"], ValueError),
        (["a", "b", "c", "d"], ValueError),
        ([], ValueError),
        (["a", "b", 3], ValueError),
        (["a", "b", None], ValueError),
        ("abc", TypeError),
        (7, TypeError),
    ],
)
def test_wrong_names(name: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^name: got .*, expected 3 strings, one per task"):
        example(name=name)


def test_wrong_types() -> None:
    for bad in (True, [True, False, True], np.array(["2020"], "M8[D]"), {1, 2}, {}, lambda: 1):
        with pytest.raises(TypeError, match=r"^period"):
            KernelTasks(period=bad, wcet=1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        example(color="red")


rows = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(1, 2**63 - 1), min_size=n, max_size=n), min_size=1, max_size=4
    )
)


@given(rows)
def test_any_positive_integers(values: list[list[int]]) -> None:
    tasks = KernelTasks(period=values, wcet=1)
    assert tasks.period.tolist() == values
    assert tasks.hyperperiod == [math.lcm(*row) for row in values]
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    assert [one.period.tolist() for one in tasks] == values


def test_what_a_notebook_shows() -> None:
    assert repr(example()) == "KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])"
    assert "deadline=[3, 3, 3]" in repr(example(deadline=3))
    assert "offset=[0, 1, 2]" in repr(example(offset=[0, 1, 2]))
    html = example(name=["<b>", "&", "x" * 1000])._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html and "x" * 61 not in html
    many = KernelTasks(period=range(1, 100001), wcet=1)
    assert len(repr(many)) < 1000 and len(many._repr_html_()) < 10000
    stack = KernelTasks(period=np.ones((10000, 20)), wcet=1)
    assert repr(stack) == "<KernelTasks: 10000 sets of 20 tasks>"
    assert len(stack._repr_html_()) < 200


def test_to_frame() -> None:
    pytest.importorskip("pandas")
    frame = KernelTasks(period=[[4, 5], [6, 7]], wcet=[1, 2], name=["a", "b"]).to_frame()
    assert frame["set"].tolist() == [0, 0, 1, 1]
    assert frame["task"].tolist() == [0, 1, 0, 1]
    assert frame["name"].tolist() == ["a", "b", "a", "b"]
    assert frame["period"].tolist() == [4, 5, 6, 7]
    assert frame["wcet"].tolist() == [1, 2, 1, 2]
    assert "set" not in example().to_frame()


def test_other_things_than_task_sets() -> None:
    table = gs.BatchTable(completion=[0, 1])
    calls: list[Callable[[Any], Any]] = [
        lambda tasks: gs.pbs.search(tasks, table),
        lambda tasks: gs.pbs.search(tasks, table, method="graph"),
        lambda tasks: gs.pbs.edf_serial(tasks, table),
        lambda tasks: gs.BatchTable.from_gpu(tasks, "xavier"),
        lambda tasks: gs.Launches.from_tasks(tasks, 5),
        lambda tasks: gs.simulate.fifo(tasks, 5, until=5),
        lambda tasks: graph.search(tasks, table),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="tasks: got list, expected KernelTasks"):
            call([4, 5])
    with pytest.raises(TypeError, match="table: got list, expected BatchTable"):
        gs.pbs.search(KernelTasks(period=[4], wcet=1), [0, 1])  # type: ignore[arg-type]
    for simulate in (gs.simulate.host, gs.simulate.host_responses):
        with pytest.raises(TypeError, match="hosts: got list, expected HostTasks"):
            simulate([4, 5], 2, until=5)  # type: ignore[arg-type]
