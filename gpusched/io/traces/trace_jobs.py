"""Jobs in a trace: the ranges that are jobs, their launch calls, GPU operations and CPU work.

A call lies in a range if its start does. The range of a call is sought

1. among the ranges of the call's own thread, which are nested;
2. among the ranges of its process that any thread may start and end;
3. for a thread without chosen ranges of its own, and for one that runs backward passes, among the
   ranges of the other threads of its process.

In 2 and 3, a call that lies in several ranges belongs to none. A thread that runs backward passes
counts as the thread that waits for it, if only one other thread of the process has chosen ranges;
its ranges are then inside those of that thread. Of nested ranges, only the outermost are jobs, or
only the innermost (those that contain no other).

A job is a chain. CPU work counts while none of the job's operations is on the GPU: until the first
operation was launched, from the end of all previous operations until an operation was launched, and
from the end of all operations to the end of the range. Time in which the thread waited for the GPU
does not count. An operation was launched when its call returned, or when it started on the GPU, if
that was earlier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.trace_tables import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    GRAPH,
    MEMSET,
    MIGRATION_IN,
    MIGRATION_OUT,
    NO_CALL,
    OF_PROCESS,
    OF_STREAM,
    OF_THREAD,
    Names,
    Ranges,
    TraceEvents,
    compiled,
    labels,
    total,
)
from gpusched.model.workload.time_units import time_with_unit


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


# In the place of the number of a kernel.
IN, OUT = -1, -2

_LEFT_OUT = {
    COPY_ON_DEVICE: "copies on the device",
    COPY_OTHER: "copies between devices or of unknown directions",
    MEMSET: "memsets",
    MIGRATION_IN: "unified-memory migrations to the device",
    MIGRATION_OUT: "unified-memory migrations from the device",
    GRAPH: "CUDA graphs recorded as a whole (record with --cuda-graph-trace=node)",
}


class Recording(Protocol):
    """The columns of a trace, as `gpusched.io.Trace` has them."""

    @property
    def name(self) -> Names: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def duration(self) -> Int64Array: ...
    @property
    def blocks(self) -> Int64Array: ...
    @property
    def threads(self) -> Int64Array: ...
    @property
    def regs(self) -> Int64Array: ...
    @property
    def smem(self) -> Int64Array: ...
    @property
    def device(self) -> Int64Array: ...
    @property
    def context(self) -> Int64Array: ...
    @property
    def stream(self) -> Int64Array: ...
    @property
    def call(self) -> Int64Array: ...
    @property
    def source(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def events(self) -> TraceEvents: ...


@dataclass(frozen=True, eq=False)
class GpuWork:
    """Kernels and copies to and from the device, one entry each.

    ``kernel`` numbers what the launches of a kernel have in common (full name, threads, registers,
    shared memory); it is ``IN`` or ``OUT`` for copies. ``row`` is the row among the launches, or
    among the transfers. ``blocks`` is 0 for copies, and for kernels of unknown shape. ``label`` has
    the short name of each number. ``others`` has the start and the end of what else the device did,
    and whether it was a graph; ``left_out`` says so.
    """

    kernel: Int64Array
    row: Int64Array
    start: Int64Array
    end: Int64Array
    blocks: Int64Array
    context: Int64Array
    stream: Int64Array
    call: Int64Array
    label: list[str]
    others: tuple[Int64Array, Int64Array, NDArray[np.bool_]]
    left_out: list[str]

    def __len__(self) -> int:
        return len(self.kernel)

    @property
    def duration(self) -> Int64Array:
        """The time of each entry."""
        return self.end - self.start


def gpu_work(trace: Recording) -> GpuWork:
    """The GPU work of a trace; memsets and other copies on its device can be part of no job."""
    transfers = trace.events.transfers
    here = np.isin(transfers.device, trace.device)
    copies = np.flatnonzero(here & np.isin(transfers.kind, (COPY_IN, COPY_OUT)))
    numbers, names = _numbers(trace)
    direction = np.where(transfers.kind[copies] == COPY_IN, IN, OUT)
    starts = transfers.start[copies]
    other = here & ~np.isin(transfers.kind, (COPY_IN, COPY_OUT))
    began, graph = transfers.start[other], transfers.kind[other] == GRAPH
    return GpuWork(
        kernel=np.concatenate([numbers, direction]),
        row=np.concatenate([np.arange(len(trace.start)), copies]),
        start=np.concatenate([trace.start, starts]),
        end=np.concatenate([trace.start + trace.duration, starts + transfers.duration[copies]]),
        blocks=np.concatenate([trace.blocks, np.zeros_like(copies)]),
        context=np.concatenate([trace.context, transfers.context[copies]]),
        stream=np.concatenate([trace.stream, transfers.stream[copies]]),
        call=np.concatenate([trace.call, transfers.call[copies]]),
        label=names,
        others=(began, began + transfers.duration[other], graph),
        left_out=_left_out(trace, here),
    )


def _numbers(trace: Recording) -> tuple[Int64Array, list[str]]:
    """The number of each launch's kernel, and the short name of each number."""
    known: dict[tuple[str, int, int, int], int] = {}
    shapes = (trace.threads.tolist(), trace.regs.tolist(), trace.smem.tolist())
    keys = zip(trace.name.tolist(), *shapes, strict=True)
    numbers = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    names = list(dict.fromkeys(name for name, *_ in known))
    short = dict(zip(names, labels(names), strict=True))
    return numbers, [short[name] for name, *_ in known]


def left_out(what: str, durations: Int64Array) -> str:
    """A sentence about work of these durations that no job contains."""
    return f"left out: {what}: {len(durations)} ({time_with_unit(total(durations), 1)} in all)"


def _left_out(trace: Recording, here: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
    """Sentences about what can be part of no job."""
    events = trace.events
    sentences = []
    for kind, what in _LEFT_OUT.items():
        chosen = here & (events.transfers.kind == kind)
        if chosen.any():
            sentences.append(left_out(what, events.transfers.duration[chosen]))
    if not here.all():
        what = "copies and memsets on other devices"
        sentences.append(left_out(what, events.transfers.duration[~here]))
    if events.elsewhere:
        time = time_with_unit(events.elsewhere_ns, 1)
        sentences.append(f"left out: kernels on other devices: {events.elsewhere} ({time} in all)")
    if events.unfinished:
        sentences.append(f"left out: ranges without an end: {events.unfinished}")
    return sentences + events.unexplained()


class CpuWork(NamedTuple):
    """CPU work of jobs with the same operations, one row each.

    ``before`` has the work before each operation that is the first or before which the CPU had
    waited for the GPU; ``unwaited`` has the work between operations without a wait; ``after`` has
    the work after the last operation.
    """

    before: Int64Array
    unwaited: Int64Array
    after: Int64Array


class Waits:
    """Times in which threads waited for the GPU: in calls, and in copies that block."""

    def __init__(self, events: TraceEvents, work: GpuWork) -> None:
        calls = events.calls
        copies = np.flatnonzero((work.kernel < 0) & (work.call != NO_CALL))
        call = work.call[copies]
        blocking = calls.end[call] >= work.end[copies]
        copies, call = copies[blocking], call[blocking]
        begun = np.maximum(work.start[copies], calls.start[call])
        waiting = np.flatnonzero(calls.waits)
        thread = np.concatenate([calls.thread[waiting], calls.thread[call]])
        start = np.concatenate([calls.start[waiting], begun])
        end = np.concatenate([calls.end[waiting], calls.end[call]])
        self.of: dict[int, tuple[Int64Array, Int64Array, Int64Array]] = {}
        for number, rows in groups(thread, np.arange(len(thread))):
            self.of[number] = _merged(start[rows], end[rows])

    def until(self, thread: Int64Array, time: Int64Array) -> Int64Array:
        """The time that each thread had waited before a moment."""
        total = np.zeros(time.shape, np.int64)
        for number in np.unique(thread).tolist():
            if number not in self.of:
                continue
            start, length, before = self.of[number]
            chosen = thread == number
            place = np.searchsorted(start, time[chosen], side="right") - 1
            behind = np.maximum(place, 0)
            part = np.minimum(time[chosen] - start[behind], length[behind])
            total[chosen] = np.where(place < 0, 0, before[behind] + part)
        return total

    def any_between(
        self, thread: Int64Array, start: Int64Array, end: Int64Array
    ) -> NDArray[np.bool_]:
        """Whether each thread waited for some time between two times."""
        return self.until(thread, end) > self.until(thread, start)


def cpu_work(
    events: TraceEvents,
    work: GpuWork,
    waits: Waits,
    rows: Int64Array,
    start: Int64Array,
    end: Int64Array,
    thread: Int64Array,
) -> CpuWork:
    """The CPU work of jobs.

    ``rows`` has the operations of a job in each row; ``start``, ``end`` and ``thread`` are those of
    its range.
    """
    jobs, length = rows.shape
    whole = np.maximum(end - start, 0)
    if not length:
        waited = waits.until(thread, end) - waits.until(thread, start)
        return CpuWork(np.zeros((jobs, 0), np.int64), np.zeros((jobs, 0), np.int64), whole - waited)
    calls, call = events.calls, work.call[rows]
    returned = np.minimum(calls.end[call], work.start[rows])
    launched = np.maximum(calls.start[call], returned)
    on_gpu = np.maximum.accumulate(work.end[rows], axis=1)
    by = calls.thread[call]
    idle_from = np.concatenate([start[:, None], on_gpu[:, :-1]], axis=1)
    by = np.concatenate([thread[:, None], by[:, 1:]], axis=1)
    idle = _worked(waits, by, idle_from, launched)
    waited = np.ones(rows.shape, bool)
    if length > 1:
        first, second = calls.start[call[:, :-1]], calls.start[call[:, 1:]]
        ours = np.repeat(thread[:, None], length - 1, axis=1)
        waited[:, 1:] = waits.any_between(by[:, 1:], first, second)
        waited[:, 1:] |= waits.any_between(ours, first, second)
    last = np.maximum(on_gpu[:, -1], start)
    return CpuWork(
        before=np.where(waited, idle, 0),
        unwaited=np.where(waited, 0, idle),
        after=_worked(waits, thread, last, end),
    )


def _worked(waits: Waits, thread: Int64Array, start: Int64Array, end: Int64Array) -> Int64Array:
    """Time between two times in which each thread did not wait; 0 where the second is earlier."""
    end = np.maximum(start, end)
    return (end - start) - (waits.until(thread, end) - waits.until(thread, start))


def _merged(start: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Start and length of the union of intervals, by start, and the length of those before each."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    latest = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], start[1:] > latest[:-1]]))
    length = np.maximum.reduceat(end, first) - start[first]
    return start[first], length, np.cumsum(length) - length


@dataclass(frozen=True, eq=False)
class CommonSequence:
    """The most frequent sequence of the jobs of a task.

    ``jobs`` are the occurrences that have it, ``rows`` their operations, one row each. ``others``
    are the occurrences with other GPU work, ``empty`` those without any; ``longest_other`` and
    ``longest`` are the largest GPU times of a job of the others, and of those that are kept;
    ``time_of_others`` is the sum of those of the others.
    """

    jobs: Int64Array
    rows: Int64Array
    others: int
    empty: int
    longest: int
    longest_other: int
    time_of_others: int


def by_occurrence(
    work: GpuWork, owner: Int64Array, order: Int64Array, count: int
) -> tuple[Int64Array, Int64Array]:
    """Operations sorted by occurrence, then by ``order``; where those of each begin.

    The second array has ``count + 1`` entries. Operations without an occurrence are left out.
    """
    rows = np.lexsort((work.start, order, owner))
    rows = rows[owner[rows] >= 0]
    return rows, np.searchsorted(owner[rows], np.arange(count + 1))


def common_sequence(
    work: GpuWork, occurrences: Int64Array, rows: Int64Array, begin: Int64Array
) -> CommonSequence:
    """The sequence of operations that most of these occurrences have.

    Occurrences without GPU work count only if all are without. Among equally frequent sequences,
    the one with the larger total GPU time is taken, then the one that comes first. Operations are
    equal if they are launches of one kernel with the same threads, registers and shared memory, or
    copies in the same direction; grids may differ.
    """
    groups: dict[bytes, list[int]] = {}
    bounds = zip(begin[occurrences].tolist(), begin[occurrences + 1].tolist(), strict=True)
    for number, (first, last) in zip(occurrences.tolist(), bounds, strict=True):
        groups.setdefault(work.kernel[rows[first:last]].tobytes(), []).append(number)
    empty = groups.pop(b"", [])
    if not groups:
        return CommonSequence(occurrences, np.zeros((len(empty), 0), np.int64), 0, 0, 0, 0, 0)
    sums = np.concatenate([[0], np.cumsum(work.end[rows] - work.start[rows])])
    busy = sums[begin[1:]] - sums[begin[:-1]]
    best = max(groups, key=lambda key: (len(groups[key]), int(busy[groups[key]].sum())))
    jobs = np.array(groups.pop(best), np.int64)
    length = int(begin[jobs[0] + 1] - begin[jobs[0]])
    others = [number for those in groups.values() for number in those]
    return CommonSequence(
        jobs=jobs,
        rows=rows[begin[jobs][:, None] + np.arange(length)],
        others=len(others),
        empty=len(empty),
        longest=int(busy[jobs].max()),
        longest_other=int(busy[others].max()) if others else 0,
        time_of_others=total(busy[others]),
    )


def ranked(times: Int64Array, quantile: Fraction) -> Int64Array:
    """For each column, the smallest value that at least this part of the rows does not exceed."""
    ascending: Int64Array = np.sort(times, axis=0)
    return np.asarray(ascending[_rank(len(times), quantile)])


def ranked_row(times: Int64Array, blocks: Int64Array, quantile: Fraction) -> Int64Array:
    """For each column, the row of that value; among equal ones, a row with the most blocks."""
    equal = times == ranked(times, quantile)
    return np.asarray(np.where(equal, blocks, -1).argmax(axis=0))


def _rank(count: int, quantile: Fraction) -> int:
    return max(-(-quantile.numerator * count // quantile.denominator), 1) - 1
