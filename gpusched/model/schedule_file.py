"""Schedules in JSON files, written and read, and as C headers.

Versions 1 and 2 (of chains) have the columns of their tasks and frames. Versions 3 and 4 are for
programs that play the schedule: ``schedule.schema.json`` states them. Version 4 says which tasks
need others; it is written for these alone, so that readers that do not know it refuse the file.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.text import path_text, shown
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import KernelChains, KernelGraph, rows_of
from gpusched.model.kernel_tasks import KernelTasks

_FORMAT = "gpusched schedule"
_TASK_FIELDS = (*KernelTasks._ARRAYS, "name")
_CHAIN_FIELDS = (*KernelChains._ARRAYS, "name")

Made = TypeVar("Made")


def write(schedule: Any, path: str | os.PathLike[str]) -> None:
    """Write a schedule as JSON; see `Schedule.save`."""
    if schedule.tick is None and isinstance(schedule.tasks, KernelGraph):
        raise ValueError(
            "tick: got None of tasks that need others, expected its length (Schedule.with_tick)"
        )
    document = _document(schedule) if schedule.tick is None else _played(schedule)
    with replacing(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def _document(schedule: Any) -> dict[str, Any]:
    """The document of version 1 or 2."""
    chains = isinstance(schedule.tasks, KernelChains)
    names = _CHAIN_FIELDS if chains else _TASK_FIELDS
    tasks = {name: getattr(schedule.tasks, name) for name in names}
    return {
        "format": _FORMAT,
        "version": 2 if chains else 1,
        "tasks": {k: list(v) if k == "name" else v.tolist() for k, v in tasks.items()},
        "frames": {name: getattr(schedule, name).tolist() for name in ("start", "end", "batch")},
        "idling": schedule.idling,
        "cycle": schedule.cycle,
        **_table(schedule),
    }


def _table(schedule: Any) -> dict[str, Any]:
    """The used entries of a table, or the arguments of a function."""
    if isinstance(schedule.table, BatchFunction):
        values = schedule.table._fields().items()
        function = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in values}
        return {"table": None, "function": function}
    if schedule.table is None:
        return {"table": None}
    used = [
        {"tasks": list(order), "completion": time}
        for _, order, time in schedule._used()
        if time > 0
    ]
    return {"table": used}


# Versions 3 and 4


def places_of(schedule: Any) -> list[tuple[int, int]]:
    """The task and the kernel of each row of the tasks of a schedule."""
    if isinstance(schedule.tasks, KernelChains):
        tasks, kernels = schedule.tasks.places
        return list(zip(tasks.tolist(), kernels.tolist(), strict=True))
    return [(row, 0) for row in range(schedule.tasks.n)]


_MOST_SUBSETS = 6
"""Size of batches of which all sets of jobs are tried; of larger ones, single jobs are."""


def may_lack(schedule: Any, mask: int, length: int) -> list[list[int]]:
    """Sets of positions in a batch without which the others take no longer than ``length``.

    The table must say so, with the others in their order.
    """
    order = schedule._order(mask)
    most = len(order) - 1 if len(order) <= _MOST_SUBSETS else 1
    found = []
    for count in range(1, most + 1):
        for absent in itertools.combinations(range(len(order)), count):
            rest = tuple(row for at, row in enumerate(order) if at not in absent)
            others = sum(1 << row for row in rest)
            time = schedule._time(others)
            if 0 < time <= length and schedule._order(others) == rest:
                found.append(list(absent))
    return found


def _frames(schedule: Any) -> list[dict[str, Any]]:
    places = places_of(schedule)
    known: dict[tuple[int, int], list[list[int]]] = {}
    frames = []
    columns = (schedule.start, schedule.end, schedule.batch)
    for start, end, mask in zip(*(column.tolist() for column in columns), strict=True):
        frame = {
            "start": start,
            "end": end,
            "batch": [places[row] for row in schedule._order(mask)],
        }
        if schedule.table is not None and len(frame["batch"]) > 1:
            key = mask, end - start
            if key not in known:
                known[key] = may_lack(schedule, *key)
            if known[key]:
                frame["may_lack"] = known[key]
        frames.append(frame)
    return frames


def _played(schedule: Any) -> dict[str, Any]:
    """The document of version 3, or 4 of tasks that need others."""
    from gpusched._version import __version__

    needs = schedule.tasks.needs if isinstance(schedule.tasks, KernelGraph) else None
    tasks = schedule.tasks if needs is None else schedule.tasks.rows
    chains = isinstance(tasks, KernelChains)
    columns = tasks._OF_KERNEL if chains else ("wcet", *_SHAPE)
    made = []
    for i, name in enumerate(tasks.name):
        task = {"name": name} | {key: int(getattr(tasks, key)[i]) for key in _OF_TASK}
        count = int(tasks.kernels[i]) if chains else 1
        values = {key: getattr(tasks, key)[i] for key in columns}
        task["kernels"] = [
            {key: int(value[k] if chains else value) for key, value in values.items()}
            for k in range(count)
        ]
        if needs is not None:
            task["needs"] = list(needs[i])
        made.append(task)
    return {
        "format": _FORMAT,
        "version": 3 if needs is None else 4,
        "tick": schedule.tick,
        "hyperperiod": tasks.hyperperiod,
        "overhead": schedule.overhead,
        "idling": schedule.idling,
        "cycle": schedule.cycle,
        "origin": {"gpusched": __version__},
        "chains": chains,
        "tasks": made,
        "frames": _frames(schedule),
        **_table(schedule),
    }


_OF_TASK = ("period", "deadline", "offset", "priority")
_SHAPE = ("block_time", "blocks", "threads", "regs", "smem")


def write_header(schedule: Any, path: str | os.PathLike[str], name: str) -> None:
    """Write a schedule as a C header; see `Schedule.save_header`."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w{0,60}", name, re.ASCII):
        raise ValueError(f"name: got {shown(name)}, expected an identifier of C")
    if schedule.tick is None:
        raise ValueError("tick: got None, expected its length (Schedule.with_tick)")
    if schedule.cycle is not None:
        raise ValueError("cycle: got a part that repeats, expected frames of one hyperperiod")
    tasks = schedule.tasks
    counts = tasks.kernels.tolist() if isinstance(tasks, KernelChains) else [1] * tasks.n
    rows = [
        f"    {{{_c_text(task)}, {tasks.period[i]}, {tasks.offset[i]}, {tasks.deadline[i]}, "
        f"{counts[i]}}},"
        for i, task in enumerate(tasks.name)
    ]
    frames: list[str] = []
    entries: list[str] = []
    masks: list[str] = []
    for frame in _frames(schedule):
        batch, lacks = frame["batch"], frame.get("may_lack", [])
        if len(batch) > _MOST_ENTRIES:
            got = f"a batch of {len(batch)} kernels"
            raise ValueError(f"frames[{len(frames)}]: got {got}, expected at most {_MOST_ENTRIES}")
        frames.append(
            f"    {{{frame['start']}, {frame['end']}, {len(entries)}, {len(batch)}, "
            f"{len(masks)}, {len(lacks)}}},"
        )
        entries += [f"    {{{task}, {kernel}}}," for task, kernel in batch]
        masks += [f"    {sum(1 << at for at in absent)}u," for absent in lacks]
    needs = [
        f"    {{{i}, {before}}},"
        for i, of in enumerate(tasks.needs if isinstance(tasks, KernelGraph) else ())
        for before in of
    ]
    guard = f"GPUSCHED_{name.upper()}_H"
    text = [
        f"/* Schedule of {tasks.n} tasks by gpusched: include gpusched/rt.h before it. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        f"static const gs_rt_plan_task_t {name}_tasks[] = {{ /* name, period, offset, deadline */",
        *rows,
        "};",
        f"static const gs_rt_plan_frame_t {name}_frames[] = {{ /* start, end, entries, masks */",
        *frames,
        "};",
        f"static const gs_rt_plan_entry_t {name}_entries[] = {{ /* task, kernel */",
        *entries,
        "};",
        f"static const uint32_t {name}_masks[] = {{",
        *(masks or ["    0u,"]),
        "};",
        f"static const gs_rt_plan_need_t {name}_needs[] = {{ /* task, and one that it needs */",
        *(needs or ["    {0, 0},"]),
        "};",
        f"static const gs_rt_plan_t {name} = {{",
        f"    {schedule.tick}, {tasks.hyperperiod}, {schedule.overhead},",
        f"    {len(rows)}, {len(frames)}, {len(entries)}, {len(masks)},",
        f"    {name}_tasks, {name}_frames, {name}_entries, {name}_masks,",
        f"    {len(needs)}, {name}_needs,",
        "};",
        "#endif",
    ]
    with replacing(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


_MOST_ENTRIES = 32


def _c_text(text: str) -> str:
    """A string literal of C: bytes that are not plain ASCII are escaped, each in three digits."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return f'"{plain}"'


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
        if self.document.get("version") not in (1, 2, 3, 4):
            self.fail("version", f"got {shown(self.document.get('version'))}", "1, 2, 3 or 4")

    def schedule(self, make: Callable[..., Made]) -> Made:
        needs: list[list[int]] | None = None
        if self.document["version"] >= 3:
            needs = self.needs() if self.document["version"] == 4 else None
            self.document = self.columns()
        given = self.mapping(self.document, "tasks", "tasks")
        chains = self.document["version"] == 2
        told = {key: self.document[key] for key in ("tick", "overhead") if key in self.document}
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
            tasks: KernelTasks | KernelChains | KernelGraph
            if chains:
                of_kernel = {name: np.array(columns[name]) for name in KernelChains._OF_KERNEL}
                tasks = KernelChains(**columns | of_kernel)
            else:
                tasks = KernelTasks(**columns)
                tasks = tasks if needs is None else KernelGraph(tasks, needs)
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
            return make(**arrays, tasks=tasks, table=table, idling=idling, cycle=cycle, **told)
        except (ValueError, TypeError, OverflowError) as error:
            self.fail("frames", str(error))

    def needs(self) -> list[list[int]]:
        """The tasks that each task of a document of version 4 needs, which it then lacks."""
        if self.document.get("chains", False) is not False:
            self.fail("chains", f"got {shown(self.document['chains'])} in version 4", "false")
        found: list[list[int]] = []
        for i, task in enumerate(self.sequence(self.document, "tasks", "tasks")):
            if not isinstance(task, dict):
                self.fail(f"tasks[{i}]", f"got {shown(task)}", "an object")
            of = self.sequence(task, "needs", f"tasks[{i}].needs")
            if not all(type(one) is int for one in of):
                self.fail(f"tasks[{i}].needs", f"got {shown(of)}", "a list of int")
            found.append(of)
            del task["needs"]
        return found

    def columns(self) -> dict[str, Any]:
        """A document of version 3 or 4 as one of version 1 or 2, with the tick."""
        document = self.document
        known = {
            "format",
            "version",
            "tick",
            "hyperperiod",
            "overhead",
            "idling",
            "cycle",
            "origin",
        }
        known |= {"chains", "tasks", "frames", "table", "function"}
        self.only(document, known, "file")
        chains = document.get("chains", False)
        if type(chains) is not bool:
            self.fail("chains", f"got {shown(chains)}, expected true or false")
        tick = self.whole(document, "tick", "tick", 1)
        names: list[str] = []
        of_task: dict[str, list[int]] = {key: [] for key in _OF_TASK}
        keys = KernelChains._OF_KERNEL if chains else ("wcet", *_SHAPE)
        of_kernel: dict[str, list[list[int]]] = {key: [] for key in keys}
        rows: dict[tuple[int, int], int] = {}
        for i, task in enumerate(self.sequence(document, "tasks", "tasks")):
            where = f"tasks[{i}]"
            if not isinstance(task, dict):
                self.fail(where, f"got {shown(task)}", "an object")
            self.only(task, {"name", "kernels", *_OF_TASK}, where)
            if not isinstance(task.get("name"), str):
                self.fail(f"{where}.name", f"got {shown(task.get('name'))}", "text")
            names.append(task["name"])
            for key in _OF_TASK:
                of_task[key].append(self.whole(task, key, f"{where}.{key}", None))
            kernels = self.sequence(task, "kernels", f"{where}.kernels")
            if not kernels or (not chains and len(kernels) > 1):
                self.fail(f"{where}.kernels", f"got {len(kernels)}", "one, or more of chains")
            for key in keys:
                of_kernel[key].append([])
            for k, kernel in enumerate(kernels):
                at = f"{where}.kernels[{k}]"
                if not isinstance(kernel, dict):
                    self.fail(at, f"got {shown(kernel)}", "an object")
                self.only(kernel, set(keys), at)
                for key in keys:
                    of_kernel[key][-1].append(self.whole(kernel, key, f"{at}.{key}", None))
                rows[i, k] = len(rows)
        widest = max((len(kernels) for kernels in of_kernel["blocks"]), default=0)
        for values in of_kernel.values():
            for value in values:
                value += [0] * (widest - len(value))  # no kernels
        tasks: dict[str, Any] = {"name": names, **of_task}
        tasks |= {key: v if chains else [one[0] for one in v] for key, v in of_kernel.items()}
        made = {"version": 2 if chains else 1, "tasks": tasks, "tick": tick}
        made["frames"] = self.frames(rows)
        made["overhead"] = self.whole(document, "overhead", "overhead", 0, 0)
        made["idling"] = document.get("idling", False)
        return made | {key: document.get(key) for key in ("cycle", "table", "function")}

    def frames(self, rows: dict[tuple[int, int], int]) -> dict[str, list[int]]:
        """The columns of the frames of versions 3 and 4, for rows by task and kernel."""
        made: dict[str, list[int]] = {"start": [], "end": [], "batch": []}
        for f, frame in enumerate(self.sequence(self.document, "frames", "frames")):
            where = f"frames[{f}]"
            if not isinstance(frame, dict):
                self.fail(where, f"got {shown(frame)}", "an object")
            self.only(frame, {"start", "end", "batch", "may_lack"}, where)
            mask = 0
            for pair in self.sequence(frame, "batch", f"{where}.batch"):
                whole = isinstance(pair, list) and [type(x) for x in pair] == [int, int]
                row = rows.get((pair[0], pair[1])) if whole else None
                if row is None or mask >> row & 1:
                    self.fail(f"{where}.batch", f"got {shown(pair)}", "each task and kernel once")
                mask |= 1 << row
            made["batch"].append(mask)
            for key in ("start", "end"):
                made[key].append(self.whole(frame, key, f"{where}.{key}", 0))
        return made

    def only(self, where: dict[str, Any], known: set[str], name: str) -> None:
        if unknown := sorted(set(where) - known):
            self.fail(name, f"got {shown(unknown[0])}", f"one of {', '.join(sorted(known))}")

    def whole(
        self, where: dict[str, Any], key: str, name: str, least: int | None, default: Any = None
    ) -> int:
        value = where.get(key, default)
        if type(value) is not int or (least is not None and value < least):
            expected = "an int" if least is None else f"an int of at least {least}"
            self.fail(name, f"got {shown(value)}", expected)
        return value

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
