"""Results of simulations of tasks on CPUs and a GPU: jobs, intervals, causes of responses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, integer, task_number
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched._support.tabular import Coded, frame_of
from gpusched._support.text import named, plural
from gpusched.model.host_tasks import HostTasks
from gpusched.model.jobs import RunJobs
from gpusched.simulate import run_results
from gpusched.simulate.run_results import Responses, Table
from gpusched.ways.old_values import way_of_old
from gpusched.ways.way import Way

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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


@dataclass(frozen=True, eq=False, repr=False)
class HostRun(Saved, RunJobs):
    """Result of a CPU-GPU task simulation; see ``gs.simulate.host``.

    Arrays are read-only, with one entry per job (ordered by release) or per task; times are in
    ticks. They are the columns of ``Jobs``, where ``start`` is the time at which the job first ran
    (or the server accepted its request) and ``end`` is -1 if it did not happen, and:

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> run = gs.simulate.host(hosts, cpus=2, way="mpcp", until=40)
    >>> run.task.tolist(), run.release.tolist(), run.end.tolist()
    ([0, 1, 0, 1], [0, 0, 20, 30], [12, 22, 32, 45])

    Attributes
    ----------
    intervals
        Intervals in which jobs ran or waited, as ``Intervals``; None for ``intervals=False``.
    tasks, cpus, way, sms
        The task set, the platform, and the way of sharing the GPU (`gs.ways.Way`) with its
        parameters.
    outcome
        "done": every job released before ``until`` has finished. "budget": the budget was used up
        first.
    worst
        For each task, the largest response time; 0 if no job finished.
    finished, late_count
        For each task, the number of finished jobs, and of those that finished after their
        deadlines.
    now
        Time at which the simulation ended.
    reason
        The budget that ended the simulation, "states" (jobs), "bytes" or "seconds"; otherwise
        None.
    """

    OUTCOMES: ClassVar[tuple[str, ...]] = ("done", "budget")
    _KIND: ClassVar[str] = "HostRun"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks, Intervals, Way)
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"finish": "end", "missed": "late_count"}

    intervals: Intervals | None
    tasks: HostTasks
    cpus: int
    way: Way
    sms: int
    outcome: str
    worst: Int64Array
    finished: Int64Array
    late_count: Int64Array
    now: int
    reason: str | None

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        return cls(**way_of_old(values, "protocol"))

    @property
    def policy(self) -> str:
        """CPU scheduler: "partitioned" fixed priorities, or "gedf"."""
        return "gedf" if self.way.global_edf else "partitioned"

    @property
    def server(self) -> int | None:
        """Core of the GPU server; None without one."""
        return self.way.given.get("server")

    @property
    def mode(self) -> str:
        """Behaviour of tasks while they wait for or use the GPU."""
        return self.way.given.get("mode", "suspend")  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        mode = f", {self.mode}" if self.mode else ""
        return (
            f"<HostRun: {plural(len(self), 'job')} of "
            f"{plural(self.tasks.n, 'task')} on "
            f"{plural(self.cpus, 'CPU')}, {self.policy}, {self.way.name}{mode}; "
            f"{run_results.misses(self)}; "
            f"{run_results.ended(self.outcome, self.reason, self.now)}>"
        )

    def _repr_html_(self) -> str:
        return run_results.html_of(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per job; NA for events that did not happen."""
        frame: pd.DataFrame = super().to_frame()
        return frame

    def spent(self) -> dict[str, Int64Array]:
        """Ticks that each job spent in each kind of interval, by the texts of ``WHAT``.

        The values are arrays (jobs,), in the order of the run. "spin" and "served" overlap the
        job's own kernels (and the copies that the server does for it). Raises ValueError for a run
        without intervals.
        """
        log = self._intervals()
        order = np.lexsort((self.job, self.task))
        first = np.zeros(self.tasks.n + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.task, minlength=self.tasks.n), out=first[1:])
        mine = log.task >= 0
        row = order[first[log.task[mine]] + log.job[mine]]
        length = log.end[mine] - log.start[mine]
        spent: dict[str, Int64Array] = {}
        for number, word in enumerate(WHAT[1:], 1):
            total = np.zeros(len(self), dtype=np.int64)
            these = log.what[mine] == number
            np.add.at(total, row[these], length[these])
            spent[word] = total
        return spent

    def _intervals(self) -> Intervals:
        if self.intervals is None:
            raise ValueError("intervals: got a run without them, expected one with intervals=True")
        return self.intervals

    def waits(self, task: int | str, job: int) -> HostWaits:
        """Divide a job's time, from release to end, into its own work and its waits.

        ``task`` is an index or name, and ``job`` the number of a job, from 0. The lengths add up to
        the response time; for a job that did not end, to the time until ``now``. Available for
        partitioned priorities only.

        Raises
        ------
        IndexError, ValueError
            The task or job does not exist, the run has no intervals, or it is under global EDF.
        """
        if self.policy != "partitioned":
            raise ValueError(f"policy: got {self.policy!r}, expected 'partitioned'")
        log = self._intervals()
        number, row = self._row(task, job)
        end = int(self.end[row])
        until = end if end >= 0 else self.now
        release = int(self.release[row])
        return waits_of(self, log, number, int(self.job[row]), release, max(release, until))

    def _row(self, task: int | str, job: int) -> tuple[int, int]:
        """Number of a task, and the row of one of its jobs."""
        number = task_number(task, self.tasks.name)
        wanted = integer(job, "job")
        found = np.flatnonzero((self.task == number) & (self.job == wanted))
        if not len(found):
            raise IndexError(f"job: got {wanted}, expected a released job of task {number}")
        return number, int(found[0])

    def why(self, task: int | str | None = None, *, job: int | None = None) -> str:
        """Explain a response of a task; with intervals, tell how its time was spent.

        ``task`` is an index or name; by default, the task that comes closest to its deadline or
        exceeds it most. ``job`` is the number of a job; by default, the one with the largest
        response. If a job is given, under partitioned priorities, the text also tells what it
        waited for: higher-priority tasks on its core, the holder of the lock, the server, and so
        on, as in ``waits``. Raises IndexError and ValueError for a task or job that does not exist.
        """
        if job is not None and task is None:
            raise ValueError("task: got None, expected a task for its job")
        if job is not None and task is not None:
            number, at = self._row(task, job)
            if self.end[at] < 0:
                return f"{named(self.tasks.name[number])}: job {job} has not finished by {self.now}"
            text = run_results.response_text(self, number, at)
            if self.intervals is None or self.policy != "partitioned":
                return text
            return f"{text}: {waits_text(self, self.waits(number, job))}"
        number, row = run_results.worst_job(self, task)
        text = run_results.job_text(self, number, row)
        if row is None or self.intervals is None:
            return text
        log = self.intervals
        mine = (log.task == number) & (log.job == self.job[row])
        what, length = log.what[mine], (log.end - log.start)[mine]
        parts = [
            f"{int(length[what == kind].sum())} {WHAT[kind]}" for kind in np.unique(what).tolist()
        ]
        return f"{text}: {', '.join(parts)}" if parts else text

    # Pictures

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Axes:
        """Draw the use of cores, copy engine and SMs over time, with Matplotlib.

        There is one lane per core in use, one for the copy engine and one per SM in use, of at
        most 256 cores and 64 SMs; a note says how many are not shown. Each bar
        has the colour of its task and the number of its job. Copies are paler than other bars, and
        spinning and overhead are palest. Bars of a job that misses its deadline are hatched with
        red edges. Triangles are releases, in the lane of the core (below the CPUs with global
        scheduling).

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. Without ``until``, it ends at the 300th
            bar; with it, at most 3000 bars are drawn.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            The run has no intervals, or the drawn interval is empty.
        """
        from gpusched._draw import timeline_axes
        from gpusched.simulate import host_timeline

        shown: Axes = timeline_axes.plot(host_timeline.picture(self, unit, since, until), ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg
        from gpusched.simulate import host_timeline

        return svg.svg(host_timeline.picture(self, unit, since, until))

    def _repr_svg_(self) -> str | None:
        return None if self.intervals is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The process "jobs" has a lane per task, in which a job extends from its release to its
        end (several lanes if jobs overlap), with its response and, with intervals, its waits as
        arguments. With intervals there are also the processes "CPUs" and "GPU", with a lane per
        core, one for the copy engine and one per SM, of at most 1,024. Names are cut after 4,000
        characters.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer.
        """
        from gpusched._draw import chrome_trace
        from gpusched.simulate import host_timeline

        chrome_trace.write_timeline(host_timeline.trace(self), path, tick)


@dataclass(frozen=True, eq=False, repr=False)
class HostResponses(Responses):
    """Largest responses of simulated sets; see ``gs.simulate.host_responses``.

    For a stack of N sets of n tasks; a single set has no first axis.

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> gs.simulate.host_responses(hosts, 2, way="mpcp", until=600).response.tolist()
    [13, 22]

    Attributes
    ----------
    worst
        Largest response time of each task in ticks, (N, n); 0 if no job finished.
    finished, late_count
        Number of finished jobs, and of those that finished after their deadlines, (N, n).
    outcome
        One of ``HostRun.OUTCOMES`` per set, (N,); see there.
    """

    _KIND: ClassVar[str] = "HostResponses"
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"missed": "late_count"}

    late_count: Int64Array

    def _more(self, task: int) -> str:
        return f", {self.late_count[task]} of them late"

    def __repr__(self) -> str:
        of = f"{plural(len(self), 'set')} of " if self.is_stack else ""
        jobs, late = int(self.finished.sum()), int(self.late_count.sum())
        return f"<HostResponses: {of}{self.worst.shape[-1]} tasks, {jobs} jobs, {late} late>"
