"""Schedules in JSON files, written and read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.text import path_text, shown
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import KernelChains, rows_of
from gpusched.model.kernel_tasks import KernelTasks

_FORMAT = "gpusched schedule"
_TASK_FIELDS = (*KernelTasks._ARRAYS, "name")
_CHAIN_FIELDS = (*KernelChains._ARRAYS, "name")

Made = TypeVar("Made")


def write(schedule: Any, path: str | os.PathLike[str]) -> None:
    """Write a schedule as JSON; see `Schedule.save`."""
    chains = isinstance(schedule.tasks, KernelChains)
    names = _CHAIN_FIELDS if chains else _TASK_FIELDS
    function = schedule.table if isinstance(schedule.table, BatchFunction) else None
    tasks = {name: getattr(schedule.tasks, name) for name in names}
    document = {
        "format": _FORMAT,
        "version": 2 if chains else 1,
        "tasks": {k: list(v) if k == "name" else v.tolist() for k, v in tasks.items()},
        "frames": {name: getattr(schedule, name).tolist() for name in ("start", "end", "batch")},
        "idling": schedule.idling,
        "cycle": schedule.cycle,
        "table": None
        if schedule.table is None or function is not None
        else [
            {"tasks": list(order), "completion": time}
            for _, order, time in schedule._used()
            if time > 0
        ],
    }
    if function is not None:
        values = function._fields().items()
        document["function"] = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in values}
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def read(path: str | os.PathLike[str], make: Callable[..., Made], max_bytes: int) -> Made:
    """Read a schedule by the class ``make``; see `Schedule.load`."""
    return _Reader(path_text(path), max_bytes).schedule(make)


class _Reader:
    """Decoder of a schedule's file, with errors that name the field."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self.path = path
        data = content(path, max_bytes)
        try:
            self.document = json.loads(data)
        except (ValueError, RecursionError) as error:
            self.fail("file", f"got {str(error)[:80]}", "JSON")
        if not isinstance(self.document, dict) or self.document.get("format") != _FORMAT:
            self.fail("format", "got another one", repr(_FORMAT))
        if self.document.get("version") not in (1, 2):
            self.fail("version", f"got {shown(self.document.get('version'))}", "1 or 2")

    def schedule(self, make: Callable[..., Made]) -> Made:
        given = self.mapping(self.document, "tasks", "tasks")
        chains = self.document["version"] == 2
        names = _CHAIN_FIELDS if chains else _TASK_FIELDS
        if unknown := sorted(set(given) - set(names)):
            self.fail("tasks", f"got {shown(unknown[0])}", f"one of {', '.join(names)}")
        columns: dict[str, Any] = {
            name: self.sequence(given, name, f"tasks.{name}") for name in names
        }
        for name in names:
            kind = str if name == "name" else int
            values = columns[name]
            if chains and name in KernelChains._OF_KERNEL:
                if not all(type(row) is list for row in values):
                    self.fail(f"tasks.{name}", "got other entries", "a list of lists")
                values = [value for row in values for value in row]
            if not all(type(value) is kind for value in values):
                self.fail(f"tasks.{name}", "got other entries", f"a list of {kind.__name__}")
        try:
            tasks: KernelTasks | KernelChains
            if chains:
                of_kernel = {name: np.array(columns[name]) for name in KernelChains._OF_KERNEL}
                tasks = KernelChains(**columns | of_kernel)
            else:
                tasks = KernelTasks(**columns)
        except (ValueError, TypeError, OverflowError) as error:
            self.fail("tasks", str(error))
        table: BatchTable | BatchFunction | None = None
        if self.document.get("function") is not None:
            try:
                table = BatchFunction(**self.mapping(self.document, "function", "function"))
            except (ValueError, TypeError, OverflowError) as error:
                self.fail("function", str(error))
        elif self.document.get("table") is not None:
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
                table = BatchTable.from_dict(rows_of(tasks).n, orders)
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
