"""Occurrences of tasks: the ranges that are jobs, and the assignment of launch calls to them.

A call lies in a range if its start does. The range of a call is sought

1. among the ranges of the call's own thread, which are nested;
2. among the ranges of its process that any thread may start and end;
3. for a thread without chosen ranges of its own, and for one that runs backward passes, among the
   ranges of the other threads of its process.

In 2 and 3, a call that lies in several ranges belongs to none. A thread that runs backward passes
counts as the thread that waits for it, if only one other thread of the process has chosen ranges;
its ranges are then inside those of that thread. Of nested ranges, only the outermost are jobs, or
only the innermost (those that contain no other).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.trace_tables import (
    OF_PROCESS,
    OF_STREAM,
    OF_THREAD,
    Ranges,
    TraceEvents,
    compiled,
)

__all__ = [
    "NONE",
    "SEVERAL",
    "Nesting",
    "Occurrences",
    "chosen_ranges",
    "groups",
    "owners",
    "task_namer",
]


def groups(values: Int64Array, rows: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """Each value that rows have, and those rows in their order."""
    if not len(rows):
        return
    order = rows[np.argsort(values[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(values[order])) + 1
    for part in np.split(order, cuts):
        yield int(values[part[0]]), part


Nesting = Literal["outermost", "innermost"]

NONE, SEVERAL = -1, -2
STEP = r"^ProfilerStep#\d+$"

_OVERHANG = 1000  # ns by which whole microseconds may move the ends of nested ranges


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Ranges that are jobs, by start. ``task`` numbers the ``names`` of the tasks.

    ``lane_of`` maps each thread to the thread as which it counts.
    """

    task: Int64Array
    start: Int64Array
    end: Int64Array
    thread: Int64Array
    kind: Int64Array
    names: list[str]
    processes: list[str | None]
    lane_of: Int64Array

    def __len__(self) -> int:
        return len(self.start)


def task_namer(names: str | re.Pattern[str] | None, steps: bool) -> Callable[[str], str | None]:
    """The task of an annotation's name; None for an annotation that is not chosen.

    With a pattern that has a group, the task is the text of its first group. Without a pattern, all
    annotations except profiler steps are chosen, or only these (``steps``).
    """
    search = compiled(STEP if names is None else names, "names").search

    def task_of(name: str) -> str | None:
        found = search(name)
        if names is None and not steps:
            return None if found else name
        if not found:
            return None
        if steps:
            return "step"
        return (found[1] if found.re.groups else None) or name

    return task_of


def chosen_ranges(
    events: TraceEvents, task_of: Callable[[str], str | None], nesting: Nesting
) -> Occurrences:
    """The ranges of the chosen names that are jobs.

    Ranges on streams of the GPU are used only if no thread has a chosen range, because profilers
    record them in addition to those of the threads.

    Raises
    ------
    ValueError
        Ranges of one thread or stream overlap without being nested, or ranges of one name are on
        several streams of the GPU. The message names the row.
    """
    ranges = events.ranges
    known = {name: task_of(name) for name in dict.fromkeys(ranges.name.tolist())}
    chosen = np.array([known[name] is not None for name in ranges.name.tolist()], dtype=bool)
    if np.any(chosen & (ranges.kind != OF_STREAM)):
        chosen &= ranges.kind != OF_STREAM
    end = ranges.end.copy()
    kept = []
    lane_of = _lanes_of_threads(events, np.flatnonzero(chosen))
    for (kind, _), rows in _lanes(events, np.flatnonzero(chosen), lane_of):
        rows = rows[np.lexsort((-end[rows], ranges.start[rows]))]
        if kind != OF_PROCESS:
            end[rows] = _nested(events, rows, end)
        kept.append(rows[_jobs(end[rows], nesting)])
    rows = np.concatenate(kept) if kept else np.zeros(0, np.int64)
    rows = rows[np.argsort(ranges.start[rows], kind="stable")]
    texts = [known[name] or name for name in ranges.name[rows].tolist()]
    tasks, names, processes = _tasks(events, rows, texts)
    _check_streams(events, rows, tasks)
    return Occurrences(
        task=tasks,
        start=ranges.start[rows],
        end=end[rows],
        thread=ranges.thread[rows],
        kind=ranges.kind[rows],
        names=names,
        processes=processes,
        lane_of=lane_of,
    )


def owners(
    events: TraceEvents, found: Occurrences, time: Int64Array, thread: Int64Array
) -> Int64Array:
    """The occurrence in which each call lies, by its start and thread; ``NONE`` or ``SEVERAL``.

    For ranges on streams of the GPU, ``time`` is the start of the work and ``thread`` its stream.
    """
    owner = np.full(len(time), NONE)
    own = np.flatnonzero(found.kind != OF_PROCESS)
    if np.any(found.kind == OF_STREAM):
        lanes = dict(groups(found.thread, own))
        called = thread
    else:
        lanes = dict(groups(found.lane_of[found.thread], own))
        called = np.where(thread < 0, -1, found.lane_of[thread])
    for lane, calls in groups(called, np.arange(len(called))):
        if (rows := lanes.get(lane)) is not None:
            owner[calls] = _sole(found, rows, time[calls])
    if np.any(found.kind == OF_STREAM):
        return owner
    process = _processes(events)
    annotated = sorted(set(lanes) - events.helpers)
    for kind in (OF_PROCESS, OF_THREAD):
        left = np.flatnonzero((owner == NONE) & (thread >= 0))
        if kind == OF_THREAD:
            left = left[~np.isin(called[left], annotated)]
        ranges = np.flatnonzero(found.kind == kind)
        by_process = dict(groups(process[found.thread], ranges))
        for of, calls in groups(process[thread], left):
            if (rows := by_process.get(of)) is not None:
                owner[calls] = _sole(found, rows, time[calls])
    return owner


def _processes(events: TraceEvents) -> Int64Array:
    """A number of the process of each thread."""
    numbers: dict[Any, int] = {}
    found = [numbers.setdefault(process, len(numbers)) for process, _ in events.threads]
    return np.array(found, np.int64)


def _lanes_of_threads(events: TraceEvents, chosen: Int64Array) -> Int64Array:
    """The thread as which each counts: another one for those that run its backward passes."""
    lane = np.arange(len(events.threads))
    rows = chosen[events.ranges.kind[chosen] == OF_THREAD]
    annotated: dict[Any, set[int]] = {}
    for thread in set(np.unique(events.ranges.thread[rows]).tolist()) - events.helpers:
        annotated.setdefault(events.process(thread), set()).add(thread)
    for helper in events.helpers:
        served = annotated.get(events.process(helper), set())
        if len(served) == 1:
            [lane[helper]] = served
    return lane


def _lanes(
    events: TraceEvents, rows: Int64Array, lane_of: Int64Array
) -> Iterator[tuple[tuple[int, int], Int64Array]]:
    """Kind and lane of ranges that are nested, or that are taken together: of a process."""
    process = _processes(events)
    for kind, those in groups(events.ranges.kind, rows):
        lane = events.ranges.thread.copy()
        if kind != OF_STREAM:
            lane[those] = (process if kind == OF_PROCESS else lane_of)[lane[those]]
        for number, part in groups(lane, those):
            yield (kind, number), part


def _nested(events: TraceEvents, rows: Int64Array, end: Int64Array) -> Int64Array:
    """Ends of ranges of one lane, sorted, each within the ranges around it."""
    ranges = events.ranges
    open_: list[tuple[int, int]] = []
    ends = []
    for row, first, last in zip(
        rows.tolist(), ranges.start[rows].tolist(), end[rows].tolist(), strict=True
    ):
        while open_ and open_[-1][0] <= first:
            open_.pop()
        if open_ and last > open_[-1][0]:
            if last > open_[-1][0] + _OVERHANG:
                raise ValueError(_overlap(events, row, open_[-1][1]))
            last = open_[-1][0]
        open_.append((last, row))
        ends.append(last)
    return np.array(ends, np.int64)


def _overlap(events: TraceEvents, row: int, other: int) -> str:
    ranges: Ranges = events.ranges
    return (
        f"{events.place(row)}: got the range {shown(ranges.name[row])}, which "
        f"overlaps {shown(ranges.name[other])} ({ranges.row[other]}) on its thread, expected one "
        "inside the other, or apart"
    )


def _jobs(end: Int64Array, nesting: Nesting) -> Int64Array:
    """Those of the ranges of a lane, sorted by start and falling end, that are jobs."""
    if not len(end):
        return np.zeros(0, np.int64)
    if nesting == "outermost":
        before = np.maximum.accumulate(end)[:-1]
        return np.flatnonzero(np.concatenate([[True], end[1:] > before]))
    behind = np.minimum.accumulate(end[::-1])[::-1][1:]
    return np.flatnonzero(np.concatenate([end[:-1] < behind, [True]]))


def _sole(found: Occurrences, rows: Int64Array, time: Int64Array) -> Int64Array:
    """The only range of those rows that contains each time; ``NONE`` or ``SEVERAL``."""
    by_start = rows[np.argsort(found.start[rows], kind="stable")]
    by_end = rows[np.argsort(found.end[rows], kind="stable")]
    begun = np.searchsorted(found.start[by_start], time, side="right")
    ended = np.searchsorted(found.end[by_end], time, side="right")
    # With one range begun and not ended, the sums of both differ by its number.
    sums = [np.concatenate([[0], np.cumsum(order)]) for order in (by_start, by_end)]
    sole = sums[0][begun] - sums[1][ended]
    return np.where(begun - ended == 1, sole, np.where(begun == ended, NONE, SEVERAL))


def _tasks(
    events: TraceEvents, rows: Int64Array, texts: list[str]
) -> tuple[Int64Array, list[str], list[str | None]]:
    """The task of each range; the tasks' names and processes.

    Ranges of one name are one task, unless several processes, or several threads at the same time,
    have them.
    """
    ranges = events.ranges
    on_stream = bool(len(rows)) and int(ranges.kind[rows[0]]) == OF_STREAM
    threads = ranges.thread[rows].tolist()
    processes = [None if on_stream else events.process(thread) for thread in threads]
    several = len(set(processes)) > 1
    together = _at_the_same_time(
        *(ranges.start[rows].tolist(), ranges.end[rows].tolist(), threads),
        list(zip(texts, processes, strict=True)),
        ranges.kind[rows].tolist(),
    )
    numbers: dict[tuple[str, Any, Any], int] = {}
    tasks = []
    for text, process, thread in zip(texts, processes, threads, strict=True):
        split = thread if (text, process) in together else None
        tasks.append(numbers.setdefault((text, process, split), len(numbers)))
    names = []
    for text, process, thread in numbers:
        where = [] if thread is None else [f"thread {events.threads[thread][1]}"]
        where += [f"process {process}"] if several else []
        names.append(" ".join([text, *([f"({', '.join(where)})"] if where else [])]))
    own = [str(process) if several else None for _, process, _ in numbers]
    return np.array(tasks, np.int64), names, own


def _at_the_same_time(
    starts: list[int],
    ends: list[int],
    threads: list[int],
    keys: list[tuple[str, Any]],
    kinds: list[int],
) -> set[tuple[str, Any]]:
    """Names and processes of nested ranges, sorted by start, that overlap on several threads."""
    last: dict[tuple[str, Any], tuple[int, int]] = {}
    found = set()
    for start, end, thread, key, kind in zip(starts, ends, threads, keys, kinds, strict=True):
        if kind != OF_THREAD:
            continue
        before, other = last.get(key, (start, thread))
        if start < before and thread != other:
            found.add(key)
        last[key] = max((before, other), (end, thread))
    return found


def _check_streams(events: TraceEvents, rows: Int64Array, tasks: Int64Array) -> None:
    ranges = events.ranges
    stream: dict[int, int] = {}
    for row, task in zip(rows.tolist(), tasks.tolist(), strict=True):
        if int(ranges.kind[row]) != OF_STREAM:
            return
        own = int(ranges.thread[row])
        if stream.setdefault(task, own) != own:
            raise ValueError(
                f"{events.place(row)}: got the range {shown(ranges.name[row])} on "
                f"stream {own} and on stream {stream[task]}, expected one stream, because jobs on "
                "several cannot be told apart without the ranges of threads (record CPU "
                "activities, too)"
            )
