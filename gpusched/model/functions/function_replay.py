"""Replay of a schedule whose batch times are a function, to find the first violated rule.

The rules are those of the core's replay with a table (csrc/model/schedule.h); here each is one
comparison of columns, so that a set may have up to 64 tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import limit

if TYPE_CHECKING:
    from gpusched.model.functions.batch_function import BatchFunction
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["replay"]

_NEVER: int = limit("model.never")
_OVERLAP, _INELIGIBLE, _LENGTH, _NOT_READY, _MISS, _IDLE, _UNFINISHED = range(1, 8)


def replay(
    tasks: KernelTasks,
    table: BatchFunction,
    start: Int64Array,
    end: Int64Array,
    batch: npt.NDArray[np.unsignedinteger[Any]],
    idling: bool,
) -> tuple[int, int, int, int]:
    """Replay frames of the jobs released in one hyperperiod.

    Returns
    -------
    rule, frame, task, time
        Numbered as in the core: rule 0 for a schedule that violates no rule, task -1 if the rule
        concerns no single task.
    """
    masks = batch.astype(np.uint64)
    now = np.concatenate([[0], end[:-1]])[: len(end)]
    time = table.completion(masks)
    wrong = (start < now) | (masks == 0) | (time == 0) | (start >= _NEVER // 2)
    wrong |= end - start != time
    runs = [(masks >> np.uint64(i)) & np.uint64(1) == 1 for i in range(tasks.n)]
    releases = [_release(tasks, i, np.cumsum(run) - run) for i, run in enumerate(runs)]
    for i, run in enumerate(runs):
        release, due = releases[i], int(tasks.deadline[i])
        after = _release(tasks, i, np.cumsum(run))
        wrong |= run & ((release > start) | (end > release + due))
        wrong |= (after < _NEVER) & (after + due <= end)
        if not idling:
            wrong |= np.maximum(release, now) < start
    if wrong.any():
        frame = int(np.argmax(wrong))
        place = frame, int(now[frame]), int(start[frame]), int(end[frame])
        ready = [int(release[frame]) for release in releases]
        return _first_rule(tasks, place, int(masks[frame]), int(time[frame]), ready, idling)
    for i, run in enumerate(runs):
        done = int(np.count_nonzero(run))
        if done < _jobs(tasks, i):
            left = int(tasks.offset[i]) + done * int(tasks.period[i])
            return _UNFINISHED, len(start), i, left
    return 0, len(start), -1, int(end.max(initial=0))


def _jobs(tasks: KernelTasks, i: int) -> int:
    """Number of jobs of a task released in a hyperperiod."""
    span: int = tasks.hyperperiod - int(tasks.offset[i])
    return max(0, -(-span // int(tasks.period[i])))


def _release(tasks: KernelTasks, i: int, job: Int64Array) -> Int64Array:
    """Releases of jobs of a task; never of those beyond the hyperperiod."""
    jobs = _jobs(tasks, i)
    release = int(tasks.offset[i]) + np.minimum(job, jobs) * int(tasks.period[i])
    return np.where(job < jobs, release, _NEVER)


def _first_rule(
    tasks: KernelTasks,
    place: tuple[int, int, int, int],
    mask: int,
    time: int,
    ready: list[int],
    idling: bool,
) -> tuple[int, int, int, int]:
    """The first rule that a frame violates.

    ``place``: frame, end of the previous frame, start and end. ``time``: time of the batch, 0 if
    it is not eligible. ``ready``: release of each task's oldest job that was not executed.
    """
    frame, now, start, end = place
    if start < now:
        return _OVERLAP, frame, -1, start
    if mask == 0 or time == 0:
        return _INELIGIBLE, frame, -1, start
    if start >= _NEVER // 2 or end - start != time:
        return _LENGTH, frame, -1, end
    for i, release in enumerate(ready):
        due = release + int(tasks.deadline[i])
        if not idling and max(release, now) < start:
            return _IDLE, frame, i, max(release, now)
        if mask >> i & 1:
            if release > start:
                return _NOT_READY, frame, i, start
            if end > due:
                return _MISS, frame, i, due
            last = release + int(tasks.period[i]) >= tasks.hyperperiod
            due += int(tasks.period[i])
            waits = not last
        else:
            waits = release < _NEVER
        if waits and due <= end:
            return _MISS, frame, i, due
    raise AssertionError(f"frame {frame} breaks no rule")
