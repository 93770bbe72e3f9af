"""Files of schedules: JSON, written and read, and Chrome traces, written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from gpusched._draw import chrome_trace
from gpusched._support.files import replacing
from gpusched._support.text import shown
from gpusched.model.batch_table import BatchTable
from gpusched.model.jobs import Jobs
from gpusched.model.kernel_tasks import KernelTasks

_FORMAT = "gpusched schedule"
_TASK_FIELDS = (*KernelTasks._ARRAYS, "name")

Made = TypeVar("Made")


def write(schedule: Any, path: str | os.PathLike[str]) -> None:
    """What `Schedule.save` describes."""
    tasks = {name: getattr(schedule.tasks, name) for name in _TASK_FIELDS}
    document = {
        "format": _FORMAT,
        "version": 1,
        "tasks": {k: list(v) if k == "name" else v.tolist() for k, v in tasks.items()},
        "frames": {name: getattr(schedule, name).tolist() for name in ("start", "end", "batch")},
        "idling": schedule.idling,
        "cycle": schedule.cycle,
        "table": None
        if schedule.table is None
        else [
            {"tasks": list(order), "completion": time}
            for _, order, time in schedule._used()
            if time > 0
        ],
    }
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def read(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """What `Schedule.load` describes; ``make`` is the class of schedules."""
    return _Reader(os.fspath(path)).schedule(make)


class _Reader:
    """Reader of a schedule's file; its errors name the file and the field."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        try:
            self.document = json.loads(data)
        except (ValueError, RecursionError) as error:
            self.fail("file", f"got {str(error)[:80]}", "JSON")
        if not isinstance(self.document, dict) or self.document.get("format") != _FORMAT:
            self.fail("format", "got another one", repr(_FORMAT))
        if self.document.get("version") != 1:
            self.fail("version", f"got {shown(self.document.get('version'))}", "1")

    def schedule(self, make: Callable[..., Made]) -> Made:
        given = self.mapping(self.document, "tasks", "tasks")
        names = _TASK_FIELDS
        if unknown := sorted(set(given) - set(names)):
            self.fail("tasks", f"got {shown(unknown[0])}", f"one of {', '.join(names)}")
        columns: dict[str, Any] = {
            name: self.sequence(given, name, f"tasks.{name}") for name in names
        }
        for name in names:
            kind = str if name == "name" else int
            if not all(type(value) is kind for value in columns[name]):
                self.fail(f"tasks.{name}", "got other entries", f"a list of {kind.__name__}")
        try:
            tasks = KernelTasks(**columns)
        except (ValueError, TypeError, OverflowError) as error:
            self.fail("tasks", str(error))
        table = None
        if self.document.get("table") is not None:
            orders: dict[tuple[int, ...], int] = {}
            for row, entry in enumerate(self.sequence(self.document, "table", "table")):
                where = f"table[{row}]"
                if not isinstance(entry, dict):
                    self.fail(where, f"got {shown(entry)}", "an object")
                order = tuple(self.sequence(entry, "tasks", f"{where}.tasks"))
                time = entry.get("completion")
                if not all(type(i) is int for i in order):
                    self.fail(f"{where}.tasks", f"got {shown(order)}", "a list of int")
                if type(time) is not int:
                    self.fail(f"{where}.completion", f"got {shown(time)}", "an int")
                orders[order] = time
            try:
                table = BatchTable.from_dict(tasks.n, orders)
            except (ValueError, TypeError, OverflowError) as error:
                self.fail("table", str(error))
        frames = self.mapping(self.document, "frames", "frames")
        arrays = {k: self.sequence(frames, k, f"frames.{k}") for k in ("start", "end", "batch")}
        for name, values in arrays.items():
            if not all(type(value) is int for value in values):
                self.fail(f"frames.{name}", "got other entries", "a list of int")
        idling = self.document.get("idling")
        if type(idling) is not bool:
            self.fail("idling", f"got {shown(idling)}", "true or false")
        cycle = None
        if self.document.get("cycle") is not None:
            pair = self.sequence(self.document, "cycle", "cycle")
            if len(pair) != 2 or not all(type(instant) is int for instant in pair):
                self.fail("cycle", f"got {shown(pair)}", "null or two ints")
            cycle = (pair[0], pair[1])
        try:
            return make(**arrays, tasks=tasks, table=table, idling=idling, cycle=cycle)
        except (ValueError, OverflowError) as error:
            self.fail("frames", str(error))

    def mapping(self, where: dict[str, Any], key: str, name: str) -> dict[str, Any]:
        value = where.get(key)
        if not isinstance(value, dict):
            self.fail(name, f"got {shown(value)}", "an object")
        return value

    def sequence(self, where: dict[str, Any], key: str, name: str) -> list[Any]:
        value = where.get(key)
        if not isinstance(value, list):
            self.fail(name, f"got {shown(value)}", "a list")
        return value

    def fail(self, field: str, problem: str, expected: str = "") -> NoReturn:
        text = f"{problem}, expected {expected}" if expected else problem
        raise ValueError(f"{self.path}: {field}: {text}") from None


def write_chrome(schedule: Any, path: str | os.PathLike[str], tick: int) -> None:
    """What `Schedule.to_chrome_trace` describes."""
    if tick < 1:
        raise ValueError(f"tick: got {tick}, expected at least 1 ns")
    names = schedule.tasks.name
    events: list[dict[str, Any]] = [
        chrome_trace.process_name(0, "GPU"),
        chrome_trace.thread_name(0, 0, "frames"),
        *(chrome_trace.thread_name(0, i + 1, name) for i, name in enumerate(names)),
    ]
    for frame in range(len(schedule)):
        start, end = int(schedule.start[frame]) * tick, int(schedule.end[frame]) * tick
        members = schedule.members(frame)
        batch = {"frame": frame, "submission order": [names[i] for i in members]}
        label = " + ".join(names[i] for i in members)
        events.append(chrome_trace.complete_event(label, 0, 0, start, end - start, batch))
        events.append(chrome_trace.counter_event("kernels", 0, start, {"running": len(members)}))
        if frame + 1 == len(schedule) or schedule.start[frame + 1] > schedule.end[frame]:
            events.append(chrome_trace.counter_event("kernels", 0, end, {"running": 0}))
    jobs = schedule.jobs()
    rows = zip(*(getattr(jobs, f.name).tolist() for f in fields(Jobs)), strict=True)
    for task, job, release, deadline, begin, finish in rows:
        ticks = {"release": release, "deadline": deadline, "response": finish - release}
        args: dict[str, Any] = {"job": job, **{k: v * tick for k, v in ticks.items()}}
        args["missed"] = finish > deadline
        duration = (finish - begin) * tick
        label = f"{names[task]} #{job}"
        events.append(chrome_trace.complete_event(label, 0, task + 1, begin * tick, duration, args))
    chrome_trace.write_chrome_trace(path, events)
