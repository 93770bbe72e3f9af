"""Sets of tasks: changing, selecting, joining, stacking, iterating, and frames of them."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from task_set_strategies import host_tasks, kernel_tasks

import gpusched as gs

KERNELS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["camera", "map", "planner"])
HOSTS = gs.HostTasks(
    [60, 80, 120],
    cpu=[[3, 2], [5, 2, 1], [10]],
    copy_in=[[1], [2, 2], []],
    kernel=[[[6, 4]], [8, [9, 5]], []],
    copy_out=1,
    name=["camera", "map", "planner"],
)
any_tasks = st.one_of(kernel_tasks(), host_tasks())
single_tasks = st.one_of(kernel_tasks(stacks=False), host_tasks(stacks=False))


def derived(tasks: Any) -> set[str]:
    return set(tasks._derived)


# Changing


def test_what_was_derived_from_a_changed_field_is_derived_anew() -> None:
    for change in (lambda t, **c: t.replace(**c), dataclasses.replace):
        tasks = change(KERNELS, wcet=[2, 2, 2])
        assert tasks.block_time.tolist() == [2, 2, 2] and tasks.name == KERNELS.name
        tasks = change(KERNELS, period=[8, 9, 12])
        assert tasks.deadline.tolist() == [8, 9, 12] and tasks.wcet.tolist() == [1, 3, 3]
        blocks = gs.KernelTasks([4, 5], block_time=[1, 2])
        assert change(blocks, block_time=[3, 1]).wcet.tolist() == [3, 1]
        both = change(KERNELS, block_time=1)
        assert both.wcet.tolist() == [1, 3, 3] and both.block_time.tolist() == [1, 1, 1]
        assert change(both, wcet=5).block_time.tolist() == [1, 1, 1]
        hosts = change(HOSTS, period=[100, 90, 80])
        assert hosts.deadline.tolist() == [100, 90, 80] and hosts.priority.tolist() == [2, 1, 0]
        assert change(HOSTS, deadline=[60, 50, 40]).priority.tolist() == [2, 1, 0]
        stack = change(KERNELS, period=[[4, 5, 6], [7, 8, 9]])
        assert stack.is_stack and stack.deadline.tolist() == [[4, 5, 6], [7, 8, 9]]
        assert change(gs.KernelTasks([4], 1), period=[4, 5], wcet=1, **dict.fromkeys(
            ("blocks", "threads", "regs", "smem", "priority", "offset"), 1)
        ).name == ("task 0", "task 1")  # fmt: skip


def test_what_was_given_is_kept() -> None:
    tasks = KERNELS.replace(deadline=[4, 5, 10], block_time=[1, 3, 3])
    for change in (lambda t, **c: t.replace(**c), dataclasses.replace):
        changed = change(tasks, period=[20, 20, 20], wcet=[5, 5, 5])
        assert changed.deadline.tolist() == [4, 5, 10]
        assert changed.block_time.tolist() == [1, 3, 3]
        hosts = change(HOSTS.replace(priority=[0, 1, 2]), period=[100, 90, 80])
        assert hosts.priority.tolist() == [0, 1, 2]
        # A given field that is equal to what would be derived is still a given one.
        same = change(KERNELS, deadline=KERNELS.period)
        assert change(same, period=20).deadline.tolist() == [4, 5, 10]
    assert tasks.replace(deadline=None, period=[7, 8, 9]).deadline.tolist() == [7, 8, 9]
    assert tasks.replace(block_time=None, wcet=[7, 8, 9]).block_time.tolist() == [7, 8, 9]


def test_segments_follow_from_changed_jobs() -> None:
    jobs = gs.HostTasks([60, 80], cpu=[[3, 2], [5, 2, 1]], kernel=[[6], [8, 9]])
    assert jobs.replace(cpu=2 * jobs.cpu).segments.tolist() == [1, 2]
    assert jobs.replace(copy_in=[[1], [2, 2]]).copy_in.tolist() == [[1, 0], [2, 2]]
    fewer = jobs.replace(cpu=[[3], [5, 2]], kernel=[[], [8]], copy_in=0, copy_out=0)
    assert fewer.segments.tolist() == [0, 1]
    shorter = jobs.replace(cpu=[[3, 1], [5, 2]], kernel=1, copy_in=0, copy_out=0)
    assert shorter.segments.tolist() == [1, 1] and "segments" in derived(shorter)
    assert jobs.replace(cpu=[[3, 2], [5, 2, 7]]).cpu.tolist() == [[3, 2, 0], [5, 2, 7]]
    with pytest.raises(ValueError, match=r"^copy_in\[0\]: "):
        jobs.replace(cpu=[[3], [5, 2, 7]])
    with pytest.raises(ValueError, match=r"^cpu\[0, 2\]: "):
        jobs.replace(cpu=[[3, 2, 1], [5, 2, 1]])
    grows = jobs.replace(kernel=[[[1, 2]], [1, 1]], monotone=True)
    assert grows.kernel[0, 0].tolist() == [2, 2]
    stack = gs.HostTasks.stack([jobs, jobs])
    with pytest.raises(ValueError, match=r"^cpu: got lists of different lengths"):
        stack.replace(cpu=[[3, 2], [5, 2, 1]])


def test_unknown_fields_are_refused() -> None:
    for tasks in (KERNELS, HOSTS):
        with pytest.raises(TypeError, match="unexpected keyword argument 'wect'"):
            tasks.replace(wect=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^wcet: got None, expected wcet, block_time, or both"):
        KERNELS.replace(wcet=None)


@pytest.mark.long
@given(any_tasks)
def test_nothing_changes_without_changes(tasks: Any) -> None:
    assert tasks.replace() == tasks and derived(tasks.replace()) == derived(tasks)
    assert dataclasses.replace(tasks) == tasks
    assert derived(dataclasses.replace(tasks)) == derived(tasks)
    again = pickle.loads(pickle.dumps(tasks))
    assert again == tasks and derived(again) == derived(tasks)
    assert not any(getattr(again, key).flags.writeable for key in tasks._ARRAYS)


@given(kernel_tasks(), st.integers(1, 9))
def test_a_changed_set_is_the_one_made_anew(tasks: gs.KernelTasks, factor: int) -> None:
    for change in ({"period": factor * tasks.period}, {"wcet": factor * tasks.wcet}):
        fresh = {key: value for key, value in tasks._given().items()} | change
        assert tasks.replace(**change) == gs.KernelTasks(**fresh)  # type: ignore[arg-type]
        assert dataclasses.replace(tasks, **change) == tasks.replace(**change)  # type: ignore


# Selecting


@pytest.mark.parametrize("tasks", [KERNELS, HOSTS], ids=["kernels", "hosts"])
def test_selection(tasks: Any) -> None:
    assert tasks["camera"].name == ("camera",) and len(tasks["camera"]) == 1
    assert tasks["camera"].period.tolist() == [tasks.period[0]]
    assert tasks[["planner", "camera"]].name == ("planner", "camera")
    assert tasks[2].name == tasks[-1].name == tasks[np.int8(2)].name == ("planner",)
    assert tasks[:2].name == ("camera", "map") and tasks[::-1].name[0] == "planner"
    assert tasks[[2, 0]].name == ("planner", "camera")
    assert tasks[np.array([True, False, True])].name == ("camera", "planner")
    assert tasks[[True, False, True]] == tasks[[0, 2]] == tasks[np.array(["camera", "planner"])]
    assert tasks[:] == tasks and type(tasks[0]) is type(tasks)
    assert [one.name[0] for one in tasks] == list(tasks.name)
    assert "map" in tasks and "pilot" not in tasks and tasks[1] in tasks and 7 not in tasks
    stack = type(tasks).stack([tasks, tasks.replace(period=[200, 100, 150])])
    assert stack["map"].period.tolist() == [[tasks.period[1]], [100]]
    assert stack[["planner", "camera"]].period.tolist()[1] == [150, 200]
    assert stack.select([2, 0]) == stack[["planner", "camera"]]
    assert stack.select(slice(1)) == stack["camera"] == stack.select("camera")
    assert stack[1]["map"] == stack["map"][1]
    assert stack[np.array([False, True])].period.tolist() == [[200, 100, 150]]
    assert stack[[1, 1, 0]].period[:2].tolist() == [[200, 100, 150]] * 2
    assert len(stack[[]]) == 0 and stack[-1] == stack[1]
    assert [one.period.tolist() for one in stack] == stack.period.tolist()


@pytest.mark.parametrize("tasks", [KERNELS, HOSTS], ids=["kernels", "hosts"])
@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        ("pilot", KeyError, "got 'pilot', expected one of camera, map, planner"),
        (["map", "pilot"], KeyError, "got 'pilot', expected one of"),
        (3, IndexError, "tasks: got 3, expected a number below 3"),
        (-4, IndexError, "tasks: got -4"),
        ([0, 3], IndexError, "tasks: got 3"),
        ([0, 0], ValueError, "tasks: got 'camera' twice, expected it once"),
        (["map", "map"], ValueError, "tasks: got 'map' twice"),
        ([], ValueError, r"tasks: got \[\], expected at least one of 3 tasks"),
        (slice(5, None), ValueError, "expected at least one of 3 tasks"),
        ([True, False], IndexError, "got a mask of 2, expected 3 entries"),
        (True, TypeError, "tasks: got True"),
        (1.0, TypeError, "tasks: got 1.0"),
        (None, TypeError, "tasks: got None"),
        ((0, 1), TypeError, r"tasks: got \(0, 1\)"),
        ([[0, 1], [1, 2]], TypeError, "tasks: got"),
    ],
)
def test_refused_indices(tasks: Any, index: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tasks[index]


def test_refused_indices_of_stacks() -> None:
    stack = gs.KernelTasks.stack([KERNELS, KERNELS])
    for index, text in (((0, 1), "sets: got"), (True, "sets: got True"), (0.5, "sets: got 0.5")):
        with pytest.raises(TypeError, match=text):
            stack[index]  # type: ignore[index]
    with pytest.raises(IndexError, match="sets: got 2, expected a number below 2"):
        stack[2]
    two = KERNELS.replace(name=["a", "a", "b"])
    with pytest.raises(KeyError, match="got 'a', the name of 2 tasks"):
        two["a"]


def test_derived_fields_of_a_selection() -> None:
    assert HOSTS[["planner", "camera"]].priority.tolist() == [1, 0]
    given = HOSTS.replace(priority=[5, 7, 6])
    assert given[["planner", "camera"]].priority.tolist() == [6, 5]
    assert KERNELS[1:].replace(wcet=2).block_time.tolist() == [2, 2]
    plain = gs.KernelTasks([4, 5, 6], 1)
    assert "name" in derived(plain[:2]) and "name" not in derived(plain[1:])
    assert plain[1:].name == ("task 1", "task 2")


@given(any_tasks, st.data())
def test_a_selection_is_the_set_of_these_tasks(tasks: Any, data: Any) -> None:
    if getattr(tasks, "is_ragged", False):
        tasks = tasks[0]  # not every set has every task
    numbers = data.draw(st.permutations(range(tasks.n)))[: data.draw(st.integers(1, tasks.n))]
    part = tasks.select(list(numbers))
    values = {
        key: np.take(value, numbers, axis=tasks.period.ndim - 1)
        for key, value in tasks._given().items()
        if key != "name"
    }
    if isinstance(tasks, gs.HostTasks):
        values["segments"] = np.take(tasks.segments, numbers, axis=tasks.period.ndim - 1)
    assert part == type(tasks)(**values, name=[tasks.name[i] for i in numbers])
    assert derived(part) | {"name"} == derived(tasks) | {"name"}


# Joining and stacking


def test_joining() -> None:
    one = gs.KernelTasks([4], wcet=[1], name=["camera"])
    two = gs.KernelTasks([9, 5], wcet=[2, 3], deadline=[8, 5], name=["map", "planner"])
    both = one + two
    assert both.name == ("camera", "map", "planner") and both.deadline.tolist() == [4, 8, 5]
    assert derived(both) == {"block_time"}
    assert both.replace(period=7).deadline.tolist() == [4, 8, 5]
    assert both.replace(wcet=1).block_time.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"^name: got 'camera' twice, expected different names"):
        both + one
    plain = gs.KernelTasks([4, 5], 1)
    assert (plain + plain).name == ("task 0", "task 1", "task 2", "task 3")
    assert (plain[1:] + plain[:1]).name == ("task 1", "task 0")
    assert (one + plain).name == ("camera", "task 0", "task 1")
    stack = gs.KernelTasks.stack([plain, plain])
    with pytest.raises(TypeError, match=r"^tasks: got a stack, expected single sets"):
        plain + stack
    for other in (HOSTS, 1, [plain]):
        with pytest.raises(TypeError, match="unsupported operand"):
            plain + other  # type: ignore[operator]


def test_joining_hosts() -> None:
    wide = gs.HostTasks([50], cpu=[[1, 1, 1]], kernel=[[[4, 3, 2], [5, 5, 5]]], sm=[[3]],
                        name=["wide"])  # fmt: skip
    both = HOSTS[:1] + wide
    assert both.cpu.tolist() == [[3, 2, 0], [1, 1, 1]] and both.segments.tolist() == [1, 2]
    assert both.kernel.tolist() == [[[6, 4, 4], [0, 0, 0]], [[4, 3, 2], [5, 5, 5]]]
    assert both.sm.tolist() == [[False] * 4, [False, False, False, True]]
    assert both.priority.tolist() == [1, 0] and both.kernel_time(2).tolist() == [[4, 0], [3, 5]]
    assert both == gs.HostTasks([60, 50], cpu=[[3, 2], [1, 1, 1]], copy_in=[[1], [0, 0]],
                                kernel=[[[6, 4]], [[4, 3, 2], 5]], copy_out=[[1], [0, 0]],
                                sm=[[], [3]], name=["camera", "wide"])  # fmt: skip
    with pytest.raises(ValueError, match=r"^priority: got given ones in one set and derived"):
        HOSTS + wide.replace(priority=3)
    given = HOSTS.replace(priority=[1, 2, 3]) + wide.replace(priority=2)
    assert given.priority.tolist() == [1, 2, 3, 2]


@given(single_tasks)
def test_the_parts_of_a_set_join_to_it(tasks: Any) -> None:
    joined = tasks[0]
    for part in list(tasks)[1:]:
        joined = joined + part
    assert joined == tasks
    assert derived(joined) | {"name"} == derived(tasks) | {"name"}


@given(any_tasks)
def test_the_sets_of_a_stack_stack_to_it(tasks: Any) -> None:
    kind = type(tasks)
    if not tasks.is_stack:
        assert kind.stack([tasks])[0] == tasks
        tasks = kind.stack([tasks, tasks])
    again = kind.stack(tasks)
    assert again == tasks and derived(again) == derived(tasks)
    assert kind.stack([tasks[:1], *tasks[1:]]) == tasks
    # The size of one set is that of its arrays.
    assert derived(tasks[0]) - {"sizes"} == derived(tasks) - {"sizes"}


def test_refused_stacks() -> None:
    stack = gs.KernelTasks.stack
    with pytest.raises(ValueError, match=r"^sets: got none, expected at least one"):
        stack([])
    with pytest.raises(ValueError, match=r"^sets\[1\]: got 2 tasks, expected 3"):
        stack([KERNELS, KERNELS[:2]])
    with pytest.raises(TypeError, match=r"^sets\[1\]: got HostTasks, expected KernelTasks"):
        stack([KERNELS, HOSTS])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^name: got 'radar', expected 'camera' as in the first"):
        stack([KERNELS, KERNELS.replace(name=["radar", "map", "planner"])])


# As any object


@given(any_tasks)
def test_equality(tasks: Any) -> None:
    assert tasks == tasks.replace() and tasks != tasks.replace(offset=tasks.offset + 1)
    assert tasks != 1 and (tasks == tasks.replace(name=["x"] * tasks.n)) is (
        set(tasks.name) == {"x"}
    )
    with pytest.raises(TypeError, match="unhashable"):
        hash(tasks)


def test_a_set_is_no_array() -> None:
    with pytest.raises((TypeError, ValueError)):
        gs.KernelTasks(period=KERNELS, wcet=1)  # type: ignore[arg-type]


# Frames


@pytest.mark.long
@settings(deadline=None)
@given(any_tasks)
def test_frames_come_back(tasks: Any) -> None:
    pytest.importorskip("pandas")
    frame = tasks.to_frame()
    again = type(tasks).from_frame(frame)
    assert again == tasks
    # Rows in another order are the same tasks, and a frame need not have what is derived.
    assert type(tasks).from_frame(frame.iloc[::-1].reset_index(drop=True)) == tasks
    if "deadline" in derived(tasks):
        assert type(tasks).from_frame(frame.drop(columns="deadline")) == tasks


def test_frames_of_kernels() -> None:
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({"period": [4, 5.0], "wcet": ["1", 3]})
    with pytest.raises(ValueError, match=r"^frame: wcet\[0\]: got '1', expected a whole number"):
        gs.KernelTasks.from_frame(rows)
    rows["wcet"] = [1, 3]
    assert gs.KernelTasks.from_frame(rows) == gs.KernelTasks([4, 5], [1, 3])
    frame = KERNELS.to_frame()
    for wrong, text in (
        (frame.drop(columns="period"), "got no column 'period', expected period"),
        (frame.rename(columns={"offset": "ofset"}), "got a column 'ofset', expected some of"),
        (frame.iloc[:0], "got no rows, expected at least one"),
        (frame.assign(period=[4, None, 5]), r"period\[1\]: got a missing value, expected a whole"),
        (frame.assign(period=[4, 2.5, 5]), r"period\[1\]: got 2.5, expected a whole number"),
        (frame.assign(task=[0, 1, 1]), "got 3 rows for 1 sets, expected one row for each task"),
        (frame.assign(set=[0, 0, 1]), "got 3 rows for 2 sets, expected one row for each task"),
        (frame.assign(name=["a", 1, "b"]), r"name\[1\]: got 1, expected a string"),
    ):
        with pytest.raises(ValueError, match=f"^frame: {text}"):
            gs.KernelTasks.from_frame(wrong)
    with pytest.raises(TypeError, match=r"^frame: got dict, expected a pandas table"):
        gs.KernelTasks.from_frame({})  # type: ignore[arg-type]
    stack = gs.KernelTasks.stack([KERNELS, KERNELS]).to_frame()
    stack.loc[4, "name"] = "radar"
    with pytest.raises(ValueError, match=r"name\[4\]: got 'radar', expected 'map' as in the first"):
        gs.KernelTasks.from_frame(stack)


def test_frames_of_hosts() -> None:
    pytest.importorskip("pandas")
    frame = HOSTS.replace(core=[0, -1, 1]).to_frame()
    assert frame["segment"].tolist() == [0, 1, 0, 1, 2, 0]
    assert frame["cpu"].tolist() == [3, 2, 5, 2, 1, 10]
    assert frame["kernel_2"].isna().tolist() == [False, True, False, False, True, True]
    assert frame["kernel_1"].sum() == 6 + 8 + 9 and frame["core"].isna().sum() == 3
    assert gs.HostTasks.from_frame(frame[["task", "segment", "cpu", "period"]]).segments.sum() == 3
    for wrong, text in (
        (frame.assign(segment=[0, 1, 0, 2, 1, 1]), r"segment\[5\]: got 1, expected the segments"),
        (frame.assign(period=[60, 61, 80, 80, 80, 120]), r"period\[1\]: got 61, expected 60 as in"),
        (frame.rename(columns={"kernel_1": "kernel_3"}), "got kernel_2, kernel_3, expected kernel"),
        (frame.assign(copy_in=1), r"copy_in\[1\]: got 1, expected a missing value"),
        (frame.assign(sm="01"), r"sm\[0\]: got '01', expected a tuple of indices"),
        (frame.assign(task=[0, 0, 2, 2, 2, 3]), "expected one row for each task"),
    ):
        with pytest.raises(ValueError, match=f"^frame: .*{text}|^frame: {text}"):
            gs.HostTasks.from_frame(wrong)


def test_what_a_notebook_shows() -> None:
    tasks = gs.KernelTasks(period=[30], wcet=[10], block_time=[2], blocks=[10])
    assert repr(tasks) == "KernelTasks(period=[30], wcet=[10], block_time=[2])"
    assert "<th>block_time</th>" in tasks._repr_html_()
    assert "block_time" not in KERNELS._repr_html_() and "block_time" not in repr(KERNELS)
    many = gs.KernelTasks(period=range(1, 1001), wcet=1)
    assert "and 960 more tasks" in many._repr_html_()
