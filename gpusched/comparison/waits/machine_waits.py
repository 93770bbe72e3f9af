"""Waits of a job in a simulation of a whole machine, from its operations and the CPUs' logs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.comparison.waits.wait_sums import (
    JobSpan,
    Waited,
    overlaps,
    shown_name,
    sorted_waits,
)
from gpusched.simulate.machine_result import ACTIVITIES, OPERATIONS, MachineRun

__all__ = ["machine_waits"]

_MOST_STEPS = 2_000_000  # times of the job times what ran beside it
_WORK = ACTIVITIES.index("work")
_KERNEL = OPERATIONS.index("kernel")


def machine_waits(run: MachineRun, span: JobSpan) -> list[Waited] | None:
    """The causes for which a job waited, the longest first; None if they are not known.

    The time from the release to the end is divided at the events of the job: it runs on a CPU; else
    its first operation that has not ended runs or waits; else it waits for a CPU or a lock.
    """
    if run.operations is None or run.cpu is None or span.name not in run.name:
        return None
    found = _OfJob(run, run.name.index(span.name), span)
    return sorted_waits(found.sums(), found.text) if found.is_small() else None


class _OfJob:
    """A job, its operations and CPU work, and those of others that ran meanwhile."""

    def __init__(self, run: MachineRun, task: int, span: JobSpan) -> None:
        ops, cpu = run.operations, run.cpu
        assert ops is not None
        assert cpu is not None
        self.run, self.task, self.span, self.ops, self.cpu = run, task, span, ops, cpu
        self.ended = np.where(ops.end < 0, run.now, ops.end)
        near = (ops.called < span.end) & (self.ended > span.release)
        own = (ops.task == task) & (ops.job == span.job)
        self.mine, self.others = np.flatnonzero(own), np.flatnonzero(near & ~own & (ops.first >= 0))
        beside = (cpu.start < span.end) & (cpu.end > span.release)
        here = (cpu.task == task) & (cpu.job == span.job) & (cpu.what == _WORK)
        self.work, self.busy = np.flatnonzero(here), np.flatnonzero(beside & (cpu.task != task))
        self.core = int(cpu.cpu[cpu.task == task].max(initial=-1))

    def is_small(self) -> bool:
        """Whether the waits are found quickly."""
        steps = 1 + 6 * len(self.mine) + 2 * len(self.work)
        return steps * (1 + len(self.others) + len(self.busy)) <= _MOST_STEPS

    def sums(self) -> dict[tuple[str, int], int]:
        """Ticks by cause, and the task that had what the job waited for."""
        total: Counter[tuple[str, int]] = Counter()
        for start, end in self._parts():
            if self._works(start):
                continue
            cause, other = self._cause(start, end)
            if cause:
                total[cause, other] += end - start
        return dict(total)

    def _parts(self) -> list[tuple[int, int]]:
        """Intervals between the events of the job."""
        times = [np.array([self.span.release, self.span.end])]
        for column in ("called", "arrived", "head", "joined", "first", "end"):
            times.append(getattr(self.ops, column)[self.mine])
        times += [self.cpu.start[self.work], self.cpu.end[self.work]]
        every = np.unique(np.concatenate(times))
        inside = every[(every >= self.span.release) & (every <= self.span.end)].tolist()
        return list(pairwise(inside))

    def _works(self, time: int) -> bool:
        start, end = self.cpu.start[self.work], self.cpu.end[self.work]
        return bool(((start <= time) & (time < end)).any())

    def _cause(self, start: int, end: int) -> tuple[str, int]:
        """The cause for which the job did not work on a CPU; "": its operation ran."""
        ops = self.ops
        flying = self.mine[(ops.called[self.mine] <= start) & (self.ended[self.mine] > start)]
        if not len(flying):
            return self._for_cpu(start, end)
        k = int(flying[0])

        def before(column: Int64Array) -> bool:
            return bool(column[k] < 0 or column[k] > start)

        if before(ops.arrived):
            return "latency", -1
        if not before(ops.first):
            return "", -1
        copies = ops.what[self.others] != _KERNEL
        if ops.what[k] != _KERNEL:
            if before(ops.head):
                return "stream", self._most(copies | ~copies, start, end)
            return "copy engine", self._most(copies, start, end)
        cause = "stream" if before(ops.head) else "channel" if before(ops.joined) else "GPU"
        return cause, self._most(~copies, start, end)

    def _for_cpu(self, start: int, end: int) -> tuple[str, int]:
        begun = self.cpu.start[self.work].min(initial=self.span.end)
        begun = min(begun, self.ops.called[self.mine].min(initial=self.span.end))
        earlier = (self.ops.task == self.task) & (self.ops.job < self.span.job)
        earlier &= self.ended > start
        same = (self.cpu.task == self.task) & (self.cpu.job < self.span.job)
        same &= self.cpu.end > start
        if start < begun and (earlier.any() or same.any()):
            return "previous", self.task
        there = self.busy[self.cpu.cpu[self.busy] == self.core] if self.core >= 0 else self.busy
        found = self._longest(self.cpu, self.cpu.end, there, start, end)
        if found >= 0:
            return "CPU", found
        return "lock", self._most(np.ones(len(self.others), np.bool_), start, end)

    def _most(self, among: Int64Array, start: int, end: int) -> int:
        """The task whose operations ran longest in an interval, -1: none did."""
        return self._longest(
            self.ops, self.ended, self.others[np.asarray(among, np.bool_)], start, end
        )

    def _longest(
        self, log: object, ends: Int64Array, rows: Int64Array, start: int, end: int
    ) -> int:
        begin = self.ops.first if log is self.ops else self.cpu.start
        tasks = self.ops.task if log is self.ops else self.cpu.task
        ticks = overlaps(begin[rows], ends[rows], start, end)
        found: Counter[int] = Counter()
        for task, length in zip(tasks[rows].tolist(), ticks.tolist(), strict=True):
            found[task] += length
        best = max(found, key=lambda each: found[each], default=-1)
        return best if best >= 0 and found[best] else -1

    def text(self, cause: tuple[str, int]) -> str:
        """The cause in words, behind "waited 9ms"."""
        what, other = cause
        server = other == len(self.run.name)
        name = "another task" if other < 0 else "the server" if server else ""
        name = name or shown_name(self.run.name[other])
        return {
            "previous": f"because job {self.span.job - 1} had not ended",
            "latency": "for its launches to arrive",
            "stream": f"for earlier operations of its stream, while {name} ran",
            "channel": f"for earlier kernels of its channel, or for its batch, while {name} ran",
            "GPU": f"for the GPU, which {name} had",
            "copy engine": f"for a copy engine, busy with {name}'s copy",
            "CPU": f"for a CPU, which had {name}'s work",
            "lock": f"for its turn on the GPU, which {name} had",
        }[what]
