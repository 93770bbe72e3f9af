"""Timelines of runs of tasks on CPUs and a GPU: cores, copy engine and SMs, jobs in lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.timeline import (
    NOTHING,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Timeline,
    Words,
    in_window,
    of_tasks,
    window,
)
from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched.model.host_tasks import HostTasks
from gpusched.ways.way import Way

WHAT = enumeration("simulate.host_activity")
COPIES = (WHAT.index("copy in"), WHAT.index("copy out"))
KERNEL = WHAT.index("kernel")
_IDLE = (WHAT.index("spin"), WHAT.index("overhead"))

# Intervals that a picture shows: without ``until``, and with it. More are only counted.
SHOWN = (300, 3000)
_MOST_RELEASES = 600
_MOST_CORES = 256  # lanes of cores in a picture
_MOST_SMS = 64  # of SMs
_TRACED_SMS = 1024  # of SMs in a trace
_SERVER = "#999999"
_JOBS, _CPUS, _GPU = "jobs", "CPUs", "GPU"


class IntervalColumns(Protocol):
    """Columns of intervals."""

    @property
    def task(self) -> Int64Array: ...
    @property
    def job(self) -> Int64Array: ...
    @property
    def what(self) -> Int64Array: ...
    @property
    def core(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...


class Records(Protocol):
    """Protocol of a run: the records that are drawn."""

    @property
    def task(self) -> Int64Array: ...
    @property
    def job(self) -> Int64Array: ...
    @property
    def release(self) -> Int64Array: ...
    @property
    def deadline(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def response(self) -> Int64Array: ...
    @property
    def late(self) -> npt.NDArray[np.bool_]: ...
    @property
    def intervals(self) -> IntervalColumns | None: ...
    @property
    def tasks(self) -> HostTasks: ...
    @property
    def cpus(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def way(self) -> Way: ...
    @property
    def mode(self) -> str: ...
    @property
    def sms(self) -> int: ...
    @property
    def server(self) -> int | None: ...
    @property
    def outcome(self) -> str: ...
    @property
    def now(self) -> int: ...
    def spent(self) -> dict[str, Int64Array]: ...


def picture(run: Records, unit: str | None, since: Any, until: Any) -> Timeline:
    """Timeline of a window: lanes of cores, copy engine and SMs.

    At most 256 cores and 64 SMs have lanes; a note says how many there are.
    """
    log = run.intervals
    if log is None:
        raise ValueError("intervals: got a run without them, expected one with intervals=True")
    low, high = window(since, until)
    places = _Places(run, log, _MOST_SMS, most_cores=_MOST_CORES)
    busy = np.flatnonzero(np.isin(log.core, list(places.cores)) | (log.what == KERNEL))
    last = int(log.end[busy].max(initial=1))
    shown, end, hidden = in_window(log.start[busy], log.end[busy], low, high, last, SHOWN)
    pieces = tuple(_pieces(run, log, busy[shown], places))
    marks = tuple(_releases(run, places, low, end))
    return of_tasks(
        run.tasks.name,
        places.lanes,
        pieces,
        marks,
        since=low,
        end=end,
        unit=unit,
        styles={"copy": "copies", "idle": "spins, overhead"},
        hidden=hidden,
        notes=places.notes,
    )


def trace(run: Records) -> Timeline:
    """Timeline of the whole run: jobs from release to end, and who used what.

    At most 1,024 SMs have lanes; "not shown" among the facts says how many there are.
    """
    jobs = [Lane(name, _JOBS) for name in run.tasks.name]
    log = run.intervals
    places = None if log is None else _Places(run, log, _TRACED_SMS, len(jobs))

    def columns() -> Iterator[PieceColumns]:
        if log is not None and places is not None:
            yield _interval_columns(run, log, places)

    return Timeline(
        lanes=(*jobs, *(places.lanes if places is not None else ())),
        pieces=Rows(lambda: _jobs(run)),
        columns=Rows(columns),
        other={
            "policy": run.policy,
            "way": run.way.name,
            "mode": run.mode,
            "outcome": run.outcome,
        }
        | ({"not shown": ", ".join(places.notes)} if places is not None and places.notes else {}),
    )


class _Places:
    """Lanes of the cores, the copy engine and the SMs that were used.

    Attributes
    ----------
    cores, sms
        Index of the lane, by core and by SM.
    copies
        Index of the copy engine's lane, None where there is none.
    used
        SMs of each task's kernels, as far as they have lanes.
    notes
        How many cores and SMs have no lanes.
    """

    def __init__(
        self,
        run: Records,
        log: IntervalColumns,
        most: int,
        first: int = 0,
        most_cores: int | None = None,
    ) -> None:
        self.lanes: list[Lane] = []
        self.first = first
        self.cores: dict[int, int] = {}
        cores = np.unique(log.core[log.core >= 0]).tolist()
        for core in cores[:most_cores]:
            own = run.server is not None and core == run.cpus
            self.cores[core] = self._add("server" if own else f"core {core}", _CPUS)
        self.copies: int | None = None
        if np.isin(log.what, COPIES).any():
            self.copies = self._add("copies", _GPU)
        tasks = np.unique(log.task[log.what == KERNEL]).tolist()
        count = run.sms if tasks else 0
        numbers = list(range(count)[:most])
        self.used = {t: numbers for t in tasks}
        if run.way.divided:
            self.used = {t: np.flatnonzero(run.tasks.sm[t]).tolist() for t in tasks}
            every = sorted({sm for sms in self.used.values() for sm in sms})
            numbers, count = every[:most], len(every)
        self.notes = tuple(
            f"{there - shown:,} of {there:,} {what} not shown"
            for there, shown, what in (
                (len(cores), len(self.cores), _CPUS),
                (count, len(numbers), "SMs"),
            )
            if there > shown
        )
        whole = not run.way.divided and run.sms == 1  # the kernel times are those of all SMs
        self.sms = {sm: self._add("GPU" if whole else f"SM {sm}", _GPU) for sm in numbers}

    def _add(self, name: str, group: str) -> int:
        self.lanes.append(Lane(name, group))
        return self.first + len(self.lanes) - 1


def _pieces(
    run: Records, log: IntervalColumns, rows: Int64Array, places: _Places
) -> Iterator[Piece]:
    """Pieces of some intervals, in every lane that they occupy."""
    late = set(zip(run.task[run.late].tolist(), run.job[run.late].tolist(), strict=True))
    columns = (log.task, log.job, log.what, log.core, log.start, log.end)
    for task, job, what, core, start, end in zip(*(c[rows].tolist() for c in columns), strict=True):
        lanes = [places.cores[core]] if core in places.cores else []
        if what == KERNEL:
            lanes += [places.sms[sm] for sm in places.used[task] if sm in places.sms]
        elif what in COPIES and places.copies is not None:
            lanes.append(places.copies)
        who = "server" if task < 0 else f"{run.tasks.name[task]} #{job}"
        for lane in lanes:
            yield Piece(
                lane=lane,
                start=start,
                end=end,
                name=f"{who}: {WHAT[what]}",
                color=_SERVER if task < 0 else task,
                label="" if task < 0 else str(job),
                style="idle" if what in _IDLE else "copy" if what in COPIES else "run",
                late=(task, job) in late,
            )


def _interval_columns(run: Records, log: IntervalColumns, places: _Places) -> PieceColumns:
    """All intervals, in every lane that they occupy."""
    cores, core_lane = (
        np.array(list(part), np.int64) for part in (places.cores, places.cores.values())
    )
    on_core = np.flatnonzero(log.core >= 0)
    rows, lanes = [on_core], [core_lane[np.searchsorted(cores, log.core[on_core])]]
    for user, sms in places.used.items():
        mine = np.flatnonzero((log.what == KERNEL) & (log.task == user))
        shown = np.array([places.sms[sm] for sm in sms if sm in places.sms], np.int64)
        rows.append(np.repeat(mine, len(shown)))
        lanes.append(np.tile(shown, len(mine)))
    if places.copies is not None:
        copies = np.flatnonzero(np.isin(log.what, COPIES))
        rows.append(copies)
        lanes.append(np.full(len(copies), places.copies, np.int64))
    row, lane = np.concatenate(rows), np.concatenate(lanes)
    order = np.lexsort((row, log.start[row]))
    row, lane = row[order], lane[order]
    task = log.task[row]
    served = task < 0  # work of the server itself, of no job
    return PieceColumns(
        lane=lane,
        start=log.start[row],
        end=log.end[row],
        name=(
            Words(task + 1, ("server", *run.tasks.name)),
            Words(served.astype(np.int64), (" #", "")),
            np.where(served, NOTHING, log.job[row]),
            ": ",
            Words(log.what[row], WHAT),
        ),
    )


def _releases(run: Records, places: _Places, since: int, end: int) -> Iterator[Mark]:
    """Releases in the lane of the task's core; below the CPUs with global scheduling."""
    if not places.cores:
        return
    lowest_core, lowest = list(places.cores.items())[-1]
    seen = np.flatnonzero((run.release >= since) & (run.release < end))[:_MOST_RELEASES]
    for task, time in zip(run.task[seen].tolist(), run.release[seen].tolist(), strict=True):
        lane = lowest
        if run.policy == "partitioned":
            core = int(run.tasks.core[task])
            if core > lowest_core and len(places.cores) == _MOST_CORES:
                continue  # it may have a lane that is not shown
            lane = places.cores.get(core, lowest)
        yield Mark(lane, time, "release", task)


def _jobs(run: Records) -> Iterator[Piece]:
    spent = run.spent() if run.intervals is not None else {}
    ends = np.where(run.end >= 0, run.end, np.maximum(run.now, run.release))
    response, late = run.response, run.late
    for k in range(len(run.task)):
        task, job = int(run.task[k]), int(run.job[k])
        times: dict[str, int | None] = {"deadline": int(run.deadline[k])}
        times["response"] = int(response[k]) if response[k] >= 0 else None
        times |= {word: int(time[k]) for word, time in spent.items() if time[k]}
        yield Piece(
            lane=task,
            start=int(run.release[k]),
            end=int(ends[k]),
            name=f"{run.tasks.name[task]} #{job}",
            color=task,
            late=bool(late[k]),
            unfinished=bool(run.end[k] < 0),
            times=times,
            args={"job": job, "late": bool(late[k])},
        )
