"""Task sets of SchedCAT, as XML: sporadic tasks with a partition and resources."""

from __future__ import annotations

import os
from typing import Literal
from xml.parsers import expat

from gpusched._support import file_kinds
from gpusched._support.arguments import MAX_BYTES, integer, one_of
from gpusched._support.input_files import content
from gpusched._support.text import path_text, shown
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU
from gpusched.model.workload.time_units import MOST_TICKS, as_whole
from gpusched.model.workload.workloads import Workload

__all__ = ["read_schedcat"]

_DEEPEST = 20
_ROOTS = ("taskset", "testpoint", "task")
_KEPT = ("id", "period", "wcet", "deadline", "partition")


def read_schedcat(
    path: str | os.PathLike[str],
    *,
    tick: str = "us",
    number: int = 0,
    resources: Literal["refuse", "drop"] = "refuse",
    max_bytes: int = MAX_BYTES,
) -> Workload:
    """Read a task set of SchedCAT as a workload of CPU work.

    >>> import tempfile
    >>> from pathlib import Path
    >>> xml = '<taskset><properties/><task id="1" period="10000" wcet="2000"/></taskset>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "taskset.xml")
    ...     _ = path.write_text(xml)
    ...     w = gs.io.read_schedcat(path)
    >>> [(task.name, task.period) for task in w.tasks]
    [('task 1', 10000)]

    Parameters
    ----------
    path
        Path of an XML file with a ``taskset``, a ``testpoint`` of several task sets, or a ``task``.
    tick
        Length of the file's unit of time; microseconds in SchedCAT's own experiments.
    number
        Index of the task set in a test point, from 0.
    resources
        Treatment of requirements of shared resources, which a workload of CPU work cannot
        represent: "refuse" the file, or "drop" them. If they are dropped, their time remains a part
        of the execution time, but blocking between tasks is ignored.
    max_bytes
        Size in bytes of the largest file that is read.

    Returns
    -------
    Workload
        Tasks named after their ids, or ``task 1``, ... by position. Partitions become cores. The
        order of the file is not taken as priorities. ``assumptions`` states what was dropped.

    Raises
    ------
    ValueError
        The XML is damaged, declares a document type, or is not a task set (the message has the
        line); or tasks require resources and these are not dropped.
    IndexError
        The task set with this number does not exist.
    OSError
        The file cannot be read.
    """
    one_of(resources, ("refuse", "drop"), "resources")
    where = path_text(path)
    wanted = integer(number, "number")
    drops = resources == "drop"
    return task_set_in(where, content(where, max_bytes), tick, wanted, drops_resources=drops)


def task_set_in(
    where: str, data: bytes, tick: str, wanted: int = 0, *, drops_resources: bool = False
) -> Workload:
    """A task set in the content of a file; see `read_schedcat`."""
    file_kinds.refuse(where, data, "schedcat")
    reader = _Reader(where, drops_resources)
    reader.read(data)
    if not 0 <= wanted < len(reader.sets):
        raise IndexError(f"number: got {wanted}, expected 0 to {len(reader.sets) - 1}")
    tasks = reader.sets[wanted]
    if not tasks:
        raise ValueError(f"{where}: got a task set without tasks, expected at least one")
    notes = [f"read from a SchedCAT task set of {len(tasks)} tasks"]
    if len(reader.sets) > 1:
        notes.append(f"it is number {wanted} of {len(reader.sets)}")
    for what, lines in reader.dropped.items():
        notes.append(f"dropped: {what}, first in line {lines}")
    return Workload(tasks, tick, notes=notes)


class _Reader:
    """The tasks of each set of a file, and the parts that a workload cannot have, with a line."""

    def __init__(self, where: str, drops_resources: bool) -> None:
        self.where = where
        self.drops_resources = drops_resources
        self.sets: list[list[Task]] = []
        self.dropped: dict[str, int] = {}
        self.path: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.declared

    def read(self, data: bytes) -> None:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, "an error")
            raise ValueError(
                f"{self.where}: line {error.lineno}: got {what}, expected XML"
            ) from None

    def declared(self, *_: object) -> None:
        raise ValueError(f"{self.at()}: got a document type, expected none")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.path and tag not in _ROOTS:
            raise ValueError(
                f"{self.at()}: got the element {shown(tag)}, expected one of {', '.join(_ROOTS)}"
            )
        if len(self.path) >= _DEEPEST:
            raise ValueError(f"{self.at()}: got elements {_DEEPEST} deep, expected a task set")
        parent = self.path[-1] if self.path else ""
        self.path.append(tag)
        if tag == "taskset" and parent in ("", "testpoint"):
            self.sets.append([])
        elif tag == "task" and parent in ("", "taskset"):
            if not parent:
                self.sets.append([])
            self.sets[-1].append(self.task(attributes))
        elif tag == "requirement":
            if not self.drops_resources:
                raise ValueError(
                    f"{self.at()}: got a requirement of a shared resource, expected none; "
                    "resources='drop' leaves them out, with the blocking that they cause"
                )
            self.drop("requirements of resources; their time is part of the execution time")
        elif tag not in ("properties", "config", "resources"):
            self.drop(f"the element {tag:.40}")

    def end(self, tag: str) -> None:
        self.path.pop()

    def task(self, given: dict[str, str]) -> Task:
        for key in given:
            if key not in _KEPT:
                self.drop(f"the attribute {key:.40} of tasks")
        for key in ("period", "wcet"):
            if key not in given:
                raise ValueError(f"{self.at()}: {key}: got none, expected a number")
        of = {key: self.number(key, given[key]) for key in _KEPT[1:] if key in given}
        name = given.get("id", "").strip() or str(len(self.sets[-1]) + 1)
        try:
            return Task(
                f"task {name}" if name.isdecimal() else name,
                of["period"],
                [CPU(of["wcet"])],
                deadline=of.get("deadline"),
                core=of.get("partition"),
            )
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{self.at()}: {error}") from None

    def number(self, key: str, text: str) -> int:
        number = as_whole(text)
        if number is None or not 0 <= number <= MOST_TICKS:
            raise ValueError(
                f"{self.at()}: {key}: got {shown(text)}, expected a whole number below 2**60"
            )
        return number

    def drop(self, what: str) -> None:
        self.dropped.setdefault(what, self.parser.CurrentLineNumber)

    def at(self) -> str:
        return f"{self.where}: line {self.parser.CurrentLineNumber}"
