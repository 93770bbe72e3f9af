"""Results of simulations: sentences, tables, files, text for notebooks."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs

KERNELS = gs.KernelTasks(
    period=[80, 160, 170, 180],
    block_time=[38, 60, 60, 112],
    blocks=[1, 7, 1, 5],
    threads=[1024, 512, 1024, 512],
    name=["camera", "detection", "lanes", "map"],
)
HOSTS = gs.HostTasks.from_segments(
    [60, 80, 120],
    [[3, (1, 6, 1), 2], [5, (2, 8, 1), 1], [10]],
    core=[0, 1, 0],
    sm=[[0], [0, 1], []],
    name=["camera", "lidar", "<map>"],
)
TIGHT = gs.HostTasks([4, 10], cpu=[2, 5], core=0, name=["a", "b"])
LAUNCHES = gs.Launches(
    [0, 0, 5, 9],
    [40, 30, 20, 10],
    stream=[0, 1, 2, 0],
    blocks=[8, 8, 8, 4],
    threads=1024,
    kind=["kernel", "kernel", "copy_in", "kernel"],
    stream_context=[0, 1, 1],
)
STACK = gs.KernelTasks(period=[[4, 5], [6, 7], [8, 9]], block_time=[[1, 2], [6, 7], [3, 3]])
HOST_STACK = gs.HostTasks([[40, 50], [60, 70]], cpu=[[[5], [9]], [[50], [5]]], core=0)

RUNS: dict[str, Callable[[], Any]] = {
    "fifo": lambda: gs.simulate.fifo(KERNELS, 4096, until=500),
    "fifo, bare": lambda: gs.simulate.fifo(KERNELS, 4096, until=500, waves=False),
    "fifo, diverging": lambda: gs.simulate.fifo(gs.KernelTasks([4], block_time=[5]), 1),
    "fifo, nothing": lambda: gs.simulate.fifo(KERNELS, 4096, until=0),
    "hierarchy": lambda: gs.simulate.hierarchy(LAUNCHES, "Xavier", timeslice=10),
    "hierarchy, bare": lambda: gs.simulate.hierarchy(
        LAUNCHES, "Xavier", timeslice=10, blocks=False
    ),
    "hierarchy, nothing": lambda: gs.simulate.hierarchy(gs.Launches([], 1), "TX2"),
    "host": lambda: gs.simulate.host(HOSTS, 2, until=300),
    "host, late": lambda: gs.simulate.host(TIGHT, 1, until=40),
    "host, server": lambda: gs.simulate.host(
        HOSTS, 2, gs.ways.GpuServer(server_overhead=1), until=99
    ),
    "host, bare": lambda: gs.simulate.host(HOSTS, 2, until=300, intervals=False),
    "host, gedf": lambda: gs.simulate.host(HOSTS, 2, "container", until=99),
}
RESPONSES: dict[str, Callable[[], Any]] = {
    "fifo": lambda: gs.simulate.fifo_responses(STACK, 1, until=200),
    "fifo, one": lambda: gs.simulate.fifo_responses(KERNELS, 4096, until=200),
    "host": lambda: gs.simulate.host_responses(HOST_STACK, 1, until=500),
    "host, one": lambda: gs.simulate.host_responses(HOSTS, 2, until=500),
}


@pytest.mark.parametrize("make", [*RUNS.values(), *RESPONSES.values()], ids=[*RUNS, *RESPONSES])
def test_every_result_is_saved_and_loaded(make: Callable[[], Any], tmp_path: Path) -> None:
    result = make()
    result.save(tmp_path / "result")
    again = type(result).load(tmp_path / "result")
    assert again == result and type(again) is type(result) and repr(again) == repr(result)
    result.save(tmp_path / "same")
    assert (tmp_path / "same").read_bytes() == (tmp_path / "result").read_bytes()
    (tmp_path / "result").write_bytes((tmp_path / "same").read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"result: got .*, expected a saved"):
        type(result).load(tmp_path / "result")


def test_files_of_other_results_are_refused(tmp_path: Path) -> None:
    RUNS["fifo"]().save(tmp_path / "run")
    with pytest.raises(ValueError, match="got a saved 'FifoRun', expected a saved HostRun"):
        gs.simulate.HostRun.load(tmp_path / "run")


@pytest.mark.parametrize("make", [*RUNS.values(), *RESPONSES.values()], ids=[*RUNS, *RESPONSES])
def test_every_result_has_text_and_tables(make: Callable[[], Any]) -> None:
    pytest.importorskip("pandas")
    result = make()
    assert len(repr(result)) < 200 and repr(result).startswith(f"<{type(result).__name__}: ")
    page = result._repr_html_()
    assert page.startswith("<p>") and ("<svg" in page or "<table>" in page)
    assert "<map>" not in page
    assert len(result.to_frame()) >= 0 and isinstance(result.response, np.ndarray)
    if result.response.ndim == 1:
        assert isinstance(result.why(), str) and result.why()


def test_fifo_runs_say_why() -> None:
    run = RUNS["fifo"]()
    text = run.why("detection")
    row = int(np.argmax(np.where(run.task == 1, run.response, -1)))
    parts = [run.start[row] - run.release[row], run.dispatched[row] - run.start[row]]
    parts.append(run.end[row] - run.dispatched[row])
    assert sum(parts) == run.worst[1]
    assert text == (
        f"detection: job {run.job[row]}, released at {run.release[row]}, has the largest response, "
        f"{run.worst[1]} ticks, within its deadline of 160: {parts[0]} until its first block "
        f"starts, {parts[1]} until its last block starts, {parts[2]} until that ends"
    )
    assert run.why(1) == text
    tightest = int(np.argmin(KERNELS.deadline - run.worst))
    assert run.why() == run.why(tightest)
    with pytest.raises(IndexError, match="task: got 4, expected 0 to 3"):
        run.why(4)
    assert RUNS["fifo, diverging"]().why().endswith("its responses grow without bound")
    assert "no job has finished" in RUNS["fifo, nothing"]().why()
    assert repr(RUNS["fifo, diverging"]()).endswith("; 1 task with growing responses>")


def test_host_runs_say_why() -> None:
    run = RUNS["host"]()
    text = run.why("lidar")
    head, _, parts = text.rpartition(": ")
    assert head.startswith("lidar: job ") and "within its deadline of 80" in head
    assert sum(int(part.split()[0]) for part in parts.split(", ")) == run.worst[1]
    assert RUNS["host, bare"]().why("lidar") == head
    late = RUNS["host, late"]()
    assert "later than its deadline" in late.why("b") and "missed" in repr(late)
    assert late.why() == late.why(int(np.argmin(TIGHT.deadline - late.worst)))


def test_hierarchies_say_why() -> None:
    run = RUNS["hierarchy"]()
    longest = int(np.argmax(run.response))
    first, *rest = run.why().splitlines()
    assert f"launch {longest}: the largest response, {run.response[longest]} ticks" in first
    assert rest == run.why(longest).splitlines() and rest
    with pytest.raises(TypeError, match=r"expected Launches; the order is hierarchy\(launches, gp"):
        gs.simulate.hierarchy("Xavier", LAUNCHES)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the order is"):
        gs.simulate.hierarchy(gpu="Xavier", launches="TX2")  # type: ignore[arg-type]


def test_stacks_index_like_arrays() -> None:
    for name in ("fifo", "host"):
        stack = RESPONSES[name]()
        single = stack[1]
        assert type(single) is type(stack) and not single.is_stack
        assert np.array_equal(single.worst, stack.worst[1])
        assert stack[np.int64(-1)] == stack[len(stack) - 1]
        assert (
            stack[:1].is_stack and len(stack[:1]) == 1 and stack[stack.outcome == "done"].is_stack
        )
        assert [one.worst.tolist() for one in stack] == stack.worst.tolist()
        with pytest.raises(IndexError):
            stack[len(stack)]
        with pytest.raises(TypeError, match="got a single set, expected a stack of sets"):
            single[0]
        with pytest.raises(ValueError, match=r"why: got a stack of \d sets"):
            stack.why()
        assert f"{single.worst[1]} ticks" in single.why(1)
        with pytest.raises(IndexError, match="task: got 2"):
            single.why(2)
        assert np.array_equal(stack.response, stack.worst)
    box = gs.simulate.fifo_responses(STACK, 1, until=200)
    assert box[2] == gs.simulate.fifo_responses(STACK[2], 1, until=200)


def test_responses_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    from legible import assert_legible
    from matplotlib import pyplot

    for make in RESPONSES.values():
        ax = make().plot()
        assert {"task", "largest response (ticks)"} <= set(assert_legible(ax.figure))
        assert make().plot(ax) is ax
        pyplot.close(ax.figure)


def test_public_functions_have_types() -> None:
    """No public function or method of gs.simulate returns Any."""
    loose = []
    for name in gs.simulate.__all__:
        item = getattr(gs.simulate, name)
        functions = {name: item} if inspect.isfunction(item) else {}
        if inspect.isclass(item):
            own = (c for c in item.__mro__ if c.__module__.startswith("gpusched.simulate"))
            for c in own:
                for key, value in vars(c).items():
                    value = value.fget if isinstance(value, property) else value
                    value = getattr(value, "__func__", value)
                    if inspect.isfunction(value) and not key.startswith("_"):
                        functions[f"{name}.{key}"] = value
        loose += [
            where
            for where, function in functions.items()
            if function.__annotations__.get("return", "Any") in ("Any", typing.Any)
        ]
    assert loose == []
