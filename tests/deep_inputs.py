"""Inputs that are nested deeply or contain themselves, and calls deep in a recursion.

Run by test_process_faults.py, in a process for each kind: deep_inputs.py KIND FOLDER NAME...,
where KIND is ``nested``, ``itself`` or ``recursion``. A name is printed when its calls begin.
"""

from __future__ import annotations

import faulthandler
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
from process_faults import SHORT

import gpusched as gs

DEPTH = 100_000
REFUSALS = (TypeError, ValueError, OverflowError, RecursionError)

# Readers by the ending of their files.
READERS: dict[str, Callable[[Path], Any]] = {
    "workload.json": gs.Workload.load,
    "workload.toml": gs.Workload.load,
    "table.json": gs.BatchTable.from_file,
    "schedule.json": gs.Schedule.load,
    "trace.json": gs.io.read_trace,
    "log.json": gs.io.read_examiner,
    "config.json": gs.io.read_examiner_config,
}
TEXTS = {
    "lists": "[" * DEPTH,
    "closed lists": "[" * DEPTH + "]" * DEPTH,
    "objects": '{"a":' * DEPTH,
    "in an object": '{"tasks": ' + "[" * DEPTH + "]" * DEPTH + "}",
    "in an event": '{"traceEvents": [{"ph": "X", "cat": "kernel", "args": '
    + '{"a":' * DEPTH
    + "1"
    + "}" * DEPTH
    + "}]}",
    "in a table": "a = " + "[" * DEPTH + "]" * DEPTH,
    "in a key": ".".join(["a"] * DEPTH) + " = 1",
    "in a heading": "[" + ".".join(["a"] * DEPTH) + "]",
}
CONSTRUCTORS: dict[str, Callable[[Any], Any]] = {
    "KernelTasks.period": lambda it: gs.KernelTasks(period=it, wcet=1),
    "KernelTasks.name": lambda it: gs.KernelTasks(period=[4], wcet=1, name=it),
    "KernelChains": lambda it: gs.KernelChains(period=[60], block_time=it),
    "HostTasks.cpu": lambda it: gs.HostTasks([9], cpu=it),
    "HostTasks.from_segments": lambda it: gs.HostTasks.from_segments([9], it),
    "BatchTable": lambda it: gs.BatchTable(it),
    "Launches": lambda it: gs.Launches(it, 1),
    "Task": lambda it: gs.Task("a", 9, it),
    "Workload": lambda it: gs.Workload(it),
    "GPU": lambda it: gs.GPU(sms=2, threads_per_sm=64, blocks_per_sm=2, sm_order=it),
    "Schedule": lambda it: gs.Schedule(it, it, it, gs.KernelTasks([4], [1])),
    "place": lambda it: gs.place("xavier", blocks=it, threads=it),
    "uunifast": lambda it: gs.generate.uunifast(2, it, count=3),
    "simulate.warps": lambda it: gs.simulate.warps(it, it),
    "fifo_bound": lambda it: gs.analysis.fifo_bound(it, 64),
}


def refused(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except REFUSALS as error:
        text = str(error)
        assert len(text) < 2000, f"{what}: {text[:200]}"
    else:
        raise AssertionError(f"{what} was accepted")


def nested(name: str, folder: str) -> None:
    """Files whose content is nested 100,000 deep are refused."""
    path = Path(folder, name)
    for what, text in TEXTS.items():
        path.write_text(text, encoding="utf-8")
        if name == "trace.json" and what == "in an event":
            try:  # arguments that are not needed are not read
                READERS[name](path)
            except REFUSALS:
                pass
        else:
            refused(lambda: READERS[name](path), what)


@functools.cache
def endless() -> dict[str, Any]:
    inside: list[Any] = []
    inside.append(inside)
    deep: Any = 1
    for _ in range(DEPTH):
        deep = [deep]
    return {"itself": inside, "twice": [inside] * 2, "deep": deep}


def itself(name: str, _: str) -> None:
    """Lists that contain themselves, and lists in lists, are refused."""
    for what, value in endless().items():
        refused(lambda: CONSTRUCTORS[name](value), what)  # noqa: B023


def recursion(name: str, _: str) -> None:
    """At every depth the right answer or a RecursionError, after which all is well."""
    expected = str(SHORT[name]())

    def at(depth: int) -> str:
        return at(depth - 1) if depth else str(SHORT[name]())

    answered = refused = 0
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit(), 7):
        try:
            assert at(depth) == expected
            answered += 1
        except RecursionError:
            refused += 1
    assert refused > 0
    assert str(SHORT[name]()) == expected


KINDS = {"nested": nested, "itself": itself, "recursion": recursion}


def main(kind: str, folder: str, *names: str) -> None:
    faulthandler.enable()
    for name in names:
        print(name, flush=True)
        KINDS[kind](name, folder)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        main(*sys.argv[1:])
