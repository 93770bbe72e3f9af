"""Task sets of other tools, from and to workloads; workloads of any file that holds one.

Job sets of schedule-abstraction tools (SAG) are CSV or YAML, sets of SchedCAT are XML (sporadic
tasks with a partition and resources). CSV has a header and then one row per job, read by position:
task, job, earliest and latest release, smallest and largest cost, absolute deadline, priority (a
smaller number is a higher priority). YAML has a list "jobset" of jobs with these numbers by name.
Times are numbers without a unit.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from xml.parsers import expat

from gpusched._support import input_files
from gpusched._support.arguments import MAX_BYTES, integer, one_of
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.text import clip, path_text, shown
from gpusched.model.views.derived_view import refuse_triggers
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, Kernel
from gpusched.model.workload.time_units import MOST_TICKS, Time, as_time, as_whole, in_ticks
from gpusched.model.workload.workload_files import workload_in
from gpusched.model.workload.workloads import Workload

MOST_JOBS = 10**6
_HEADER = (
    *("Task ID", "Job ID", "Arrival min", "Arrival max", "Cost min", "Cost max"),
    *("Deadline", "Priority"),
)
_SUCCESSORS = "Successors"  # of a job in YAML
_NO_PRECEDENCE = (
    "precedence constraints, which a workload cannot represent between jobs (read the job set "
    "without them, or describe a chain as the segments of one task)"
)
_Periods = Time | Mapping[str, Time] | Mapping[int, Time] | None
_YAML = re.compile(rb"""^[ \t]*["']?jobset["']?[ \t]*:""", re.MULTILINE)


class _Job(NamedTuple):
    line: int
    task: int
    job: int
    earliest: int
    latest: int
    least: int
    most: int
    deadline: int
    priority: int


def read_job_set(
    path: str | os.PathLike[str],
    *,
    tick: str = "ns",
    resource: Literal["cpu", "kernel"] = "cpu",
    period: _Periods = None,
    max_bytes: int = MAX_BYTES,
) -> Workload:
    """Read a job set as a workload of periodic tasks.

    The period of a task is the smallest distance between earliest releases of its jobs, its offset
    the first of these releases, its jitter the largest difference between latest and earliest
    release, its execution time the largest cost, and its deadline the smallest relative deadline.
    The period of a task with a single job is the hyperperiod of the job set: the longest product of
    period and number of jobs of a task with several jobs. ``assumptions`` states where jobs differ
    from this, and what a workload cannot represent.

    >>> import tempfile
    >>> from pathlib import Path
    >>> rows = ["task,job,Amin,Amax,Cmin,Cmax,D,P", "1,1,0,0,1,2,10,10", "1,2,10,10,1,2,20,20"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "jobs.csv")
    ...     _ = path.write_text("\\n".join(rows))
    ...     w = gs.io.read_job_set(path, tick="us")
    >>> [(task.name, task.period) for task in w.tasks]
    [('task 1', 10)]

    Parameters
    ----------
    path
        Path of a file in CSV or YAML, which the content tells apart. YAML is read with PyYAML.
    tick
        Length of the file's unit of time.
    resource
        Whether a job is CPU work ("cpu") or a kernel ("kernel").
    period
        Period of all tasks with a single job, instead of the hyperperiod; or periods by task (its
        name or number). Ticks or text with a unit.
    max_bytes
        Size in bytes of the largest file that is read.

    Returns
    -------
    Workload
        Tasks ``task 1``, ``task 2``, ..., numbered as in the file.

    Raises
    ------
    ValueError
        A row is not a job (the message has its line), a time is not a whole number of ticks, all
        tasks have a single job and ``period`` is not given, ``period`` names a task that is not in
        the file or has several jobs, or two jobs of a task have the same release. The file has
        precedence constraints.
    ImportError
        The file is YAML, and PyYAML is not installed.
    OSError
        The file cannot be read.
    """
    one_of(resource, ("cpu", "kernel"), "resource")
    where = path_text(path)
    return job_set_in(where, content(where, max_bytes), tick, resource, period)


def job_set_in(
    where: str, data: bytes, tick: str, resource: Literal["cpu", "kernel"], period: _Periods = None
) -> Workload:
    """The job set in the content of a file; see `read_job_set`."""
    jobs = _jobs(where, data)
    by_task: dict[int, list[_Job]] = {}
    for job in jobs:
        by_task.setdefault(job.task, []).append(job)
    names = {number: f"task {number}" for number in sorted(by_task)}
    periods = _periods(period, names, by_task)
    hyperperiod = max(
        (
            _gap(f"{where}: {name}", by_task[number]) * len(by_task[number])
            for number, name in names.items()
            if len(by_task[number]) > 1
        ),
        default=None,
    )
    notes = [f"read from a job set of {len(jobs)} jobs"]
    if any(job.least != job.most for job in jobs):
        notes.append("dropped: least costs of jobs; the greatest are taken")
    notes.append("dropped: that jobs are not preempted, and any order between them")
    by_deadline = all(job.priority == job.deadline for job in jobs)
    tasks = []
    for number, name in names.items():
        given = periods.get(number)
        task, of_task = _task(
            where, name, by_task[number], resource, given, hyperperiod, by_deadline
        )
        tasks.append(task)
        notes += of_task
    return Workload(tasks, tick, notes=notes)


def write_job_set(
    workload: Workload,
    path: str | os.PathLike[str],
    *,
    until: int | str | None = None,
    order: Literal["edf", "fixed"] = "edf",
) -> None:
    """Write the jobs of a workload whose tasks have one segment each.

    Tasks are numbered from 1 in the order of the workload, and jobs from 1 in the order of the
    file. The smallest cost of a job is equal to its largest cost.

    >>> import tempfile
    >>> from pathlib import Path
    >>> w = gs.Workload([gs.Task("a", "10us", [gs.CPU("2us")])], tick="us")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gs.io.write_job_set(w, Path(folder, "jobs.csv"))
    ...     print(Path(folder, "jobs.csv").read_text(), end="")
    Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority
    1,1,0,0,2,2,10,10

    Parameters
    ----------
    workload
        The workload; its tick is the unit of the file.
    path
        Path of the CSV file.
    until
        End of the interval of arrivals that are written: ticks, or text with a unit. Default: the
        largest offset plus one hyperperiod.
    order
        Priorities of the jobs: "edf" (their absolute deadlines) or "fixed" (the priorities of the
        tasks).

    Raises
    ------
    ValueError
        A task has more than one segment or is released by others, a task has no priority although
        "fixed" is chosen, or
        there are more than a million jobs.
    OSError
        The file cannot be written.
    """
    one_of(order, ("edf", "fixed"), "order")
    refuse_triggers(workload)
    for i, task in enumerate(workload):
        if len(task.segments) != 1:
            raise ValueError(
                f"tasks[{i}]: got {len(task.segments)} segments, expected one (a job of a job set "
                "uses one resource)"
            )
        if order == "fixed" and task.priority is None:
            raise ValueError(f"tasks[{i}].priority: got None, expected a number for order='fixed'")
    if until is None:
        end = max(task.offset for task in workload) + workload.hyperperiod
    else:
        end = in_ticks(as_time(until, "until"), None, workload.tick_ns, "until")
    count = sum(max(-(-(end - task.offset) // task.period), 0) for task in workload)
    if not 1 <= count <= MOST_JOBS:
        raise ValueError(
            f"until: got {shown(end)} ticks with {shown(count)} jobs, expected 1 to {MOST_JOBS}"
        )
    rows = []
    for number, task in enumerate(workload, 1):
        cost = _cost(workload, number - 1)
        for arrival in range(task.offset, end, task.period):
            deadline = arrival + task.deadline
            priority = deadline if order == "edf" else task.priority
            latest = arrival + task.jitter
            rows.append((arrival, number, latest, cost, deadline, priority))
    rows.sort(key=lambda row: row[:2])
    with replacing(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        for job, (arrival, number, latest, cost, deadline, priority) in enumerate(rows, 1):
            writer.writerow((number, job, arrival, latest, cost, cost, deadline, priority))


def _cost(workload: Workload, index: int) -> int:
    [segment] = workload[index].segments
    try:
        return segment.time * segment.repeat
    except ValueError:
        raise ValueError(
            f"tasks[{index}].segments[0].time: got None, expected the kernel's time on all SMs"
        ) from None


def _periods(
    period: _Periods,
    names: Mapping[int, str],
    by_task: Mapping[int, list[_Job]],
) -> dict[int, Time]:
    """The given periods of tasks with a single job, by number."""
    if period is None:
        return {}
    if not isinstance(period, Mapping):
        return dict.fromkeys((number for number in names if len(by_task[number]) == 1), period)
    numbers: dict[object, int] = {name: number for number, name in names.items()}
    numbers |= {number: number for number in names}
    found: dict[int, Time] = {}
    for key, time in period.items():
        if key not in numbers:
            known = clip(", ".join(names.values()), 200)
            raise ValueError(f"period[{shown(key)}]: got this task, expected one of {known}")
        if (count := len(by_task[numbers[key]])) > 1:
            raise ValueError(
                f"period[{shown(key)}]: got a period for a task of {count} jobs, expected a task "
                "with a single job"
            )
        found[numbers[key]] = time
    return found


def _jobs(where: str, data: bytes) -> list[_Job]:
    input_files.refuse(where, data, "job_set")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{where}: line {line}: got bytes that are not UTF-8") from None
    jobs: list[_Job] = []
    seen: dict[tuple[int, int], int] = {}
    for job in _of_yaml(where, text) if _YAML.search(data) else _of_csv(where, text):
        first = seen.setdefault((job.task, job.job), job.line)
        if first != job.line:
            raise ValueError(
                f"{where}: line {job.line}: got job {job.job} of task {job.task}, expected it "
                f"once; it is in line {first}"
            )
        jobs.append(job)
    if not jobs:
        raise ValueError(f"{where}: got no jobs, expected at least one")
    return jobs


def _of_csv(where: str, text: str) -> Iterator[_Job]:
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = True
    try:
        for cells in table:
            if not cells or cells == [""]:
                continue
            at = f"{where}: line {table.line_num}"
            if len(cells) == 4:
                raise ValueError(f"{at}: got {_NO_PRECEDENCE}")
            if len(cells) not in (8, 9):
                raise ValueError(f"{at}: got {len(cells)} fields, expected {', '.join(_HEADER)}")
            if header and not any(cell.strip().isdecimal() for cell in cells[:2]):
                continue
            header = False
            yield _job(at, table.line_num, cells)
    except csv.Error as error:
        raise ValueError(f"{where}: line {table.line_num}: got {error}, expected CSV") from None


def _of_yaml(where: str, text: str) -> Iterator[_Job]:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        hint = "a job set in YAML needs PyYAML: pip install 'gpusched[yaml]'"
        raise ImportError(f"{where}: {hint}, or convert it to CSV", name="yaml") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = where if mark is None else f"{where}: line {mark.line + 1}"
        what = getattr(error, "problem", None) or "an error"
        raise ValueError(f"{at}: expected YAML: {clip(str(what), 120)}") from None
    except RecursionError:
        raise ValueError(f"{where}: got lists in lists too deep, expected YAML") from None
    jobs = _members(root).get("jobset")
    if not isinstance(jobs, yaml.SequenceNode):
        raise ValueError(f"{where}: jobset: got no list of jobs, expected one")
    for node in jobs.value:
        line = node.start_mark.line + 1
        at = f"{where}: line {line}"
        fields = _members(node)
        if _SUCCESSORS in fields:
            raise ValueError(f"{at}: {_SUCCESSORS}: got {_NO_PRECEDENCE}")
        cells = []
        for name in _HEADER:
            cell = fields.get(name)
            if not isinstance(cell, yaml.ScalarNode):
                raise ValueError(f"{at}: {name}: got no number, expected one")
            cells.append(cell.value)
        yield _job(at, line, cells)


def _members(node: Any) -> dict[str, Any]:
    """The members of a mapping in YAML by key; none for another node."""
    pairs = node.value if getattr(node, "id", "") == "mapping" else []
    return {key.value: value for key, value in pairs if getattr(key, "id", "") == "scalar"}


def _job(at: str, line: int, cells: list[str]) -> _Job:
    numbers = [_whole(at, name, cell) for name, cell in zip(_HEADER, cells[:8], strict=True)]
    job = _Job(line, *numbers)
    for name, low, high in (
        ("Arrival max", job.earliest, job.latest),
        ("Cost max", max(job.least, 1), job.most),
        ("Deadline", job.earliest + 1, job.deadline),
    ):
        if high < low:
            raise ValueError(f"{at}: {name}: got {high}, expected at least {low}")
    if min(job.earliest, job.least) < 0:
        raise ValueError(f"{at}: got a negative time, expected times from 0 on")
    return job


def _gap(where: str, jobs: list[_Job]) -> int:
    """The smallest distance between earliest releases of jobs of a task, which is positive."""
    releases = sorted(job.earliest for job in jobs)
    gap = min(after - before for before, after in pairwise(releases))
    if not gap:
        raise ValueError(f"{where}: got two jobs released at once, expected a distance")
    return gap


def _whole(at: str, name: str, cell: str) -> int:
    number = as_whole(cell)
    if number is None or abs(number) > MOST_TICKS:
        raise ValueError(f"{at}: {name}: got {shown(cell)}, expected a whole number below 2**60")
    return number


def _task(
    where: str,
    name: str,
    jobs: list[_Job],
    resource: str,
    given: Time | None,
    hyperperiod: int | None,
    by_deadline: bool,
) -> tuple[Task, list[str]]:
    """A periodic task that covers the jobs, and sentences about how they differ from its own.

    ``given`` is the period of a task with a single job, by default ``hyperperiod``.
    ``by_deadline``: the priorities of all jobs of the file are their absolute deadlines.
    """
    jobs = sorted(jobs, key=lambda job: job.earliest)
    gaps = {after.earliest - job.earliest for job, after in pairwise(jobs)}
    costs = {job.most for job in jobs}
    deadlines = {job.deadline - job.earliest for job in jobs}
    jitters = {job.latest - job.earliest for job in jobs}
    priorities = {job.priority for job in jobs}
    notes = []
    for what, values, taken in (
        ("distances between releases", gaps, min),
        ("greatest costs", costs, max),
        ("relative deadlines", deadlines, min),
        ("widths of release intervals", jitters, max),
    ):
        if len(values) > 1:
            word = "least" if taken is min else "greatest"
            notes.append(
                f"{name}: {what} differ, {min(values)} to {max(values)}; the {word} is taken"
            )
    if len(priorities) > 1 or by_deadline:
        deadline_first = all(job.priority == job.deadline for job in jobs)
        why = "they are the absolute deadlines" if deadline_first else "they differ"
        notes.append(f"{name}: dropped: priorities of jobs; {why}")
    distance: Time
    if gaps:
        distance = min(gaps)
    elif given is not None:
        distance = given
        notes.append(f"{name}: a single job; its period is the given one")
    elif hyperperiod is not None:
        distance = hyperperiod
        notes.append(
            f"{name}: a single job; its period is the hyperperiod of the job set, {distance}"
        )
    else:
        raise ValueError(
            f"{where}: {name}: got a single job like all tasks, expected a task with two or more, "
            "which show the hyperperiod, or period="
        )
    deadline = min(deadlines)
    cost = max(costs)
    task = Task(
        name,
        distance,
        [CPU(cost) if resource == "cpu" else Kernel(cost)],
        deadline=None if deadline == distance else deadline,
        offset=jobs[0].earliest,
        jitter=max(jitters),
        priority=None if len(priorities) > 1 or by_deadline else priorities.pop(),
    )
    return task, notes


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
    input_files.refuse(where, data, "schedcat")
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


_SUFFIXES = {".csv": "job_set", ".yaml": "job_set", ".yml": "job_set", ".xml": "schedcat"}


def load_workload(
    path: str | os.PathLike[str],
    *,
    tick: str | None = None,
    resource: Literal["cpu", "kernel"] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Workload:
    """Read a workload, or a file that another tool wrote; its content or its suffix says which.

    Parameters
    ----------
    path
        Path of the file. Standard input has no suffix: its content alone says what it is.
    tick
        Length of the unit of time of a job set (default: 1 ns) or of SchedCAT (1 us).
    resource
        Whether the jobs of a job set are CPU work (default) or kernels.
    max_bytes
        Size in bytes of the largest file that is read.

    Raises
    ------
    ValueError, ImportError
        As by the reader of the format; the file is one of another kind (the message says which);
        or ``tick`` or ``resource`` is given for a file that states it.
    OSError
        The file cannot be read.
    """
    where = path_text(path)
    data = content(where, max_bytes)
    kind = input_files.kind_of(data, where)
    reader = _SUFFIXES.get(os.path.splitext(where)[1].lower(), "") if kind is None else kind.reader
    if reader not in ("job_set", "schedcat"):
        input_files.refuse(where, data, "workload")
    if resource is not None and reader != "job_set":
        raise ValueError(f"resource: got {resource!r}, expected it for a job set only")
    if reader == "job_set":
        return job_set_in(where, data, tick or "ns", resource or "cpu")
    if reader == "schedcat":
        return task_set_in(where, data, tick or "us")
    if tick is not None:
        raise ValueError(f"tick: got {tick!r}, expected it for a job set or SchedCAT only")
    return Workload._made(*workload_in(where, data))
