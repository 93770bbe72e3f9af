"""Work of jobs in a trace: GPU operations and their common sequence, CPU work around them.

A job is a chain. CPU work counts while none of the job's operations is on the GPU: until the first
operation was launched, from the end of all previous operations until an operation was launched, and
from the end of all operations to the end of the range. Time in which the thread waited for the GPU
does not count. An operation was launched when its call returned, or when it started on the GPU, if
that was earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched.io.trace_workloads.occurrences import groups
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
    Names,
    TraceEvents,
    labels,
    total,
)
from gpusched.model.workload.time_units import time_with_unit

__all__ = [
    "IN",
    "CommonSequence",
    "CpuWork",
    "GpuWork",
    "Recording",
    "Waits",
    "by_occurrence",
    "common_sequence",
    "cpu_work",
    "gpu_work",
    "left_out",
    "ranked",
    "ranked_row",
]

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
