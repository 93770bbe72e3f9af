"""CPU work of jobs: between GPU operations, before the first, and after the last.

A job is a chain. CPU work counts while none of the job's operations is on the GPU: until the first
operation was launched, from the end of all previous operations until an operation was launched, and
from the end of all operations to the end of the range. Time in which the thread waited for the GPU
does not count. An operation was launched when its call returned, or when it started on the GPU, if
that was earlier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched.io.trace_workloads.gpu_work import GpuWork
from gpusched.io.trace_workloads.grouping import groups
from gpusched.io.traces.trace_events import NO_CALL, TraceEvents

__all__ = ["CpuWork", "Waits", "cpu_work"]


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
