"""Waits of a job in a simulation of kernels in FIFO order, from the waves of its blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from gpusched.comparison.waits.wait_sums import (
    JobSpan,
    Waited,
    busy_within,
    overlaps,
    shown_name,
)
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate.fifo_result import FifoRun, Waves
from gpusched.simulate.fifo_run import fifo

__all__ = ["wave_waits"]

_MOST_BLOCKS = 200_000  # of a run that is repeated


def wave_waits(run: FifoRun, span: JobSpan) -> list[Waited] | None:
    """The causes for which a job waited, the longest first; None if they are not known.

    A run without waves is repeated up to the end of the job, if it has at most 200,000 blocks.
    """
    if not isinstance(run.tasks, KernelTasks) or span.name not in run.tasks.name:
        return None
    task = run.tasks.name.index(span.name)
    rows = np.flatnonzero(run.task == task)
    rows = rows[run.job[rows] == span.job]
    if not len(rows):
        return None
    row = int(rows[0])
    release = int(run.release[row])
    end = int(run.end[row]) if run.end[row] >= 0 else run.now
    waves = run.waves if run.waves is not None else _repeated(run, row, end)
    if waves is None:
        return None
    ready = release
    before = np.flatnonzero((run.task == task) & (run.job == span.job - 1))
    if len(before):
        last = int(run.end[before[0]])
        ready = max(release, min(end, run.now if last < 0 else last))
    begun = int(run.start[row]) if run.start[row] >= 0 else end
    full = int(run.dispatched[row]) if run.dispatched[row] >= 0 else end
    near = np.flatnonzero((waves.end > ready) & (waves.start < full) & (waves.task != task))
    ticks = overlaps(waves.start[near], waves.end[near], ready, full)
    threads = waves.blocks[near] * run.tasks.threads[waves.task[near]]
    share: Counter[int] = Counter()
    for other, weight in zip(waves.task[near].tolist(), (ticks * threads).tolist(), strict=True):
        share[other] += weight
    spans = zip(waves.start[near].tolist(), waves.end[near].tolist(), strict=True)
    room = begun - ready + busy_within(spans, begun, full)
    found = [Waited(ready - release, f"because job {span.job - 1} had not ended", True)]
    if share:
        name = shown_name(run.tasks.name[max(share, key=lambda each: share[each])])
        found.append(Waited(room, f"because kernels of {name} left no room on the SMs"))
    found.sort(key=lambda each: -each.ticks)
    return [each for each in found if each.ticks > 0]


def _repeated(run: FifoRun, row: int, end: int) -> Waves | None:
    """The waves of the jobs released before a time, if they are not too many."""
    tasks = run.tasks
    assert isinstance(tasks, KernelTasks)
    jobs = np.maximum(0, -((tasks.offset - end) // tasks.period))
    if run.gpu is None or int((jobs * tasks.blocks).sum()) > _MOST_BLOCKS:
        return None
    again = fifo(
        tasks,
        gpu=run.gpu,
        until=end,
        waves=True,
        settle="no",
        order=run.order,  # type: ignore[arg-type]
        placement=run.placement or "most_room",
        progress=False,
    )
    same = np.flatnonzero((again.task == run.task[row]) & (again.job == run.job[row]))
    if len(same) != 1 or again.start[same[0]] != run.start[row]:
        return None
    return again.waves
