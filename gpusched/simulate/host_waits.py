"""Intervals of the jobs of a CPU-GPU task simulation, and the causes of a job's response time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.tabular import Coded, frame_of
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.run_results import Table
from gpusched.ways.way import Way

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CAUSES", "WHAT", "HostWaits", "Intervals", "waits_of", "waits_text"]

WHAT = enumeration("simulate.host_activity")
"""Kinds of intervals, in the order of the core's numbers; see ``Intervals``."""


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Table):
    """Intervals in which jobs ran or waited: read-only int64 arrays, (intervals,).

    They are ordered by their ends, kernels by their starts. The intervals of a job that are not
    kernels do not overlap. If the job suspends during kernels, the lengths of all its intervals add
    up to its response time.

    >>> hosts = gs.HostTasks.from_segments([20], [[2, (1, 6, 1), 2]], core=[0])
    >>> run = gs.simulate.host(hosts, cpus=1, way="mpcp", until=20)
    >>> run.intervals.start.tolist(), run.intervals.end.tolist()
    ([0, 2, 3, 9, 10], [2, 3, 9, 10, 12])

    Attributes
    ----------
    task, job
        Index of the task, and number of the job, from 0; -1 for the GPU server when it wakes up.
    what
        Index into ``WHAT``. On a core: "cpu", "copy in" and "copy out" (also on the copy engine),
        "spin" (occupies the core while it waits or its kernel runs), "overhead" (of the server, or
        an update with GCAPS). On SMs: "kernel". Waiting: "wait for core" (ready, but the core runs
        higher-priority work; in a container, the server does not serve the job),
        "wait for copy engine" and "wait for SMs" (with STGM), "wait for GPU" (for the lock, the
        server or a turn), "served" (the server handles its segment).
    core
        The core; -1 for intervals on no core.
    start, end
        Times in ticks.
    """

    _KIND: ClassVar[str] = "Intervals"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("task", "job", "core")

    task: Int64Array
    job: Int64Array
    what: Int64Array
    core: Int64Array
    start: Int64Array
    end: Int64Array

    @property
    def label(self) -> npt.NDArray[np.str_]:
        """The kind of each interval as text (``what`` in words)."""
        words: npt.NDArray[np.str_] = np.array(WHAT)[self.what]
        return words

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per interval, ``what`` as text; NA instead of -1."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return super()._table() | {"what": Coded(self.what.astype(np.int8), WHAT)}


CAUSES = (
    *("own", "own update", "previous", "higher", "lower", "server"),
    *("copy engine", "SMs", "GPU", "switch", "update", "owner"),
)
"""Causes, in the order of their numbers; see ``HostWaits``."""

_WORDS = {
    "own": "its own segments",
    "own update": "its own updates",
    "previous": "the job before it",
    "higher": "{task}, more urgent on its core",
    "lower": "the GPU segment of {task} on its core",
    "server": "the GPU server",
    "copy engine": "{task} at the copy engine",
    "SMs": "kernels of {task}",
    "GPU": "{task}, which uses the GPU",
    "switch": "switches of the GPU",
    "update": "an update by {task}",
    "owner": "the owner of the GPU, which runs no kernel",
}

_CPU, _IN, _KERNEL, _OUT, _SPIN, _OVERHEAD = range(1, 7)
_FOR_CORE, _FOR_COPY, _FOR_SMS, _FOR_GPU, _SERVED = range(7, 12)
_COPIES = (_IN, _OUT)
assert WHAT[_KERNEL] == "kernel" and WHAT[_SERVED] == "served"


@dataclass(frozen=True, eq=False, repr=False)
class HostWaits(Table):
    """Division of the time of a job, from its release to its end: read-only arrays.

    The lengths add up to the response time.

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> run = gs.simulate.host(hosts, cpus=2, way="mpcp", until=40)
    >>> run.waits(1, 0)
    <HostWaits: 3 rows>

    Attributes
    ----------
    start, end
        Times in ticks.
    cause
        Index into ``CAUSES``. "own": CPU segments, copies and kernels of the job itself; "own
        update": its updates ("gcaps"); "previous": the previous job of the task. Waits for the
        core: "higher", a higher-priority task; "lower", a lower-priority task that is boosted (its
        GPU segment, or an update); "server", the GPU server. Waits for the GPU: "copy engine" and
        "SMs" ("stgm"); "GPU", the task that holds the lock, is served or has the turn; "server",
        overhead of the server; "switch", to another task ("time_slices", "gcaps"); "update", of
        another task, and "owner", a task that owns the GPU but runs no kernel ("gcaps").
    task
        Index of the other task; -1 if there is none.
    """

    _KIND: ClassVar[str] = "HostWaits"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("task",)

    start: Int64Array
    end: Int64Array
    cause: Int64Array
    task: Int64Array

    @property
    def label(self) -> npt.NDArray[np.str_]:
        """The cause of each interval as text (``cause`` in words)."""
        words: npt.NDArray[np.str_] = np.array(CAUSES)[self.cause]
        return words


class _Run(Protocol):
    @property
    def tasks(self) -> HostTasks: ...
    @property
    def way(self) -> Way: ...
    @property
    def server(self) -> int | None: ...


class _Piece(NamedTuple):
    start: int
    end: int
    cause: str
    task: int


def waits_of(run: _Run, log: Intervals, task: int, job: int, release: int, until: int) -> HostWaits:
    """The time of a job of a run under partitioned priorities, from release to end."""
    near = np.flatnonzero((log.end > release) & (log.start < until))
    rows = [
        tuple(
            int(column[k]) for column in (log.task, log.job, log.what, log.core, log.start, log.end)
        )
        for k in near.tolist()
    ]
    mine = sorted((r for r in rows if r[:2] == (task, job)), key=lambda r: (r[4], r[2] == _KERNEL))
    cuts = sorted({release, until, *(t for r in rows for t in r[4:] if release < t < until)})
    pieces: list[_Piece] = []
    for start, end in pairwise(cuts):
        now = [r for r in rows if r[4] <= start and r[5] >= end]
        own = [r for r in mine if r[4] <= start and r[5] >= end]
        cause, other = _cause(run, task, own, [r for r in now if r[:2] != (task, job)])
        last = pieces[-1] if pieces else None
        if last is not None and last.end == start and last[2:] == (cause, other):
            pieces[-1] = last._replace(end=end)
        else:
            pieces.append(_Piece(start, end, cause, other))
    return HostWaits(
        np.array([p.start for p in pieces], np.int64),
        np.array([p.end for p in pieces], np.int64),
        np.array([CAUSES.index(p.cause) for p in pieces], np.int64),
        np.array([p.task for p in pieces], np.int64),
    )


_Row = tuple[int, ...]  # task, job, what, core, start, end


def _cause(run: _Run, task: int, own: list[_Row], others: list[_Row]) -> tuple[str, int]:
    """Cause of an interval of a job in which nothing changes, and the other task."""
    doing = {r[2] for r in own}
    server = run.way.name == "gpu_server"
    if not own:
        return "previous", task
    if _KERNEL in doing or doing & {_CPU, *_COPIES}:
        return "own", -1
    if _OVERHEAD in doing:
        return ("server" if server else "own update"), -1
    if _FOR_CORE in doing:
        return _on_core(run, task, others)
    if _SERVED in doing:
        return "server", -1
    if _FOR_COPY in doing:
        return "copy engine", _first(r for r in others if r[2] in _COPIES)
    if run.way.name == "stgm":  # for SMs, or spinning for either
        return _in_stgm(run, task, others)
    return _for_gpu(run, others)


def _on_core(run: _Run, task: int, others: list[_Row]) -> tuple[str, int]:
    """The task that runs on the core of one that is ready."""
    core = int(run.tasks.core[task])
    on = (_CPU, _IN, _OUT, _SPIN, _OVERHEAD)
    for other, _, what, where, _, _ in others:
        if where != core or what not in on:
            continue
        serves = run.way.name == "gpu_server" and what != _CPU
        if serves and core == run.server:
            return "server", other
        urgent = run.tasks.priority[other] < run.tasks.priority[task]
        return ("higher" if urgent else "lower"), other
    return "higher", -1


def _in_stgm(run: _Run, task: int, others: list[_Row]) -> tuple[str, int]:
    """The kernel on the SMs of a task, or one for which that kernel waits; else the copy."""
    sm = run.tasks.sm
    kernels = [r for r in others if r[2] == _KERNEL]
    shared = [r for r in kernels if (sm[r[0]] & sm[task]).any()]
    for r in (*shared, *kernels):
        return "SMs", r[0]
    return "copy engine", _first(r for r in others if r[2] in _COPIES)


def _for_gpu(run: _Run, others: list[_Row]) -> tuple[str, int]:
    """Activity of the GPU while a task waits for it."""
    if run.way.name == "gcaps":
        for r in others:
            if r[2] == _OVERHEAD:
                return "update", r[0]
    if run.way.name == "gpu_server":
        for r in others:
            if r[2] == _OVERHEAD:
                return "server", r[0]
    copies = () if run.way.name in ("time_slices", "gcaps") else _COPIES
    for r in others:
        if r[2] == _KERNEL or r[2] in copies:
            return "GPU", r[0]
    if run.way.name == "gcaps" and any(r[2] in (*_COPIES, _FOR_CORE) for r in others):
        return "owner", -1  # it copies, or waits for its core
    return ("switch" if run.way.name in ("time_slices", "gcaps") else "GPU"), -1


def _first(rows: Iterable[_Row]) -> int:
    return next((r[0] for r in rows), -1)


def waits_text(run: _Run, waits: HostWaits) -> str:
    """Describe the causes of a job's time, the longest first."""
    total: dict[tuple[int, int], int] = {}
    for k in range(len(waits)):
        key = int(waits.cause[k]), int(waits.task[k])
        total[key] = total.get(key, 0) + int(waits.end[k] - waits.start[k])
    parts = []
    for (cause, task), ticks in sorted(total.items(), key=lambda item: (-item[1], item[0])):
        name = run.tasks.name[task] if task >= 0 else "another task"
        parts.append(f"{ticks} {_WORDS[CAUSES[cause]].format(task=name)}")
    return ", ".join(parts)
