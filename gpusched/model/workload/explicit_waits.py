"""Copies for which their thread waits, as copies, CPU work and waits: what a job does for them."""

from __future__ import annotations

from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, CopyIn, CopyOut, Segment, Sync

__all__ = ["with_explicit_waits"]


def with_explicit_waits(task: Task) -> Task:
    """The task with a `Sync` where a blocking or staged copy waits, and with CPU work of staging.

    The times of the task are in ticks.

    >>> from gpusched.model.workload.explicit_waits import with_explicit_waits
    >>> work = [gs.CopyIn(3, staged=4), gs.Kernel(9), gs.CopyOut(2, blocking=True)]
    >>> with_explicit_waits(gs.Workload([gs.Task("a", 99, work)], "us")["a"]).segments
    (Sync(), CPU('4us'), CopyIn('3us'), Kernel('9us'), CopyOut('2us'), Sync())
    """
    if not any(isinstance(part, (CopyIn, CopyOut)) and part.has_waits for part in task.segments):
        return task
    return task.replace(segments=[step for part in task.segments for step in _steps(part)])


def _steps(part: Segment) -> list[Segment]:
    if not isinstance(part, (CopyIn, CopyOut)) or not part.has_waits:
        return [part]
    copy = part.replace(blocking=False, staged=None, repeat=1)
    if part.staged is None:
        once: list[Segment] = [copy, Sync()]
    elif isinstance(part, CopyOut):
        once = [copy, Sync(), CPU(part.staged, name=part.name)]
    else:
        once = [Sync(), CPU(part.staged, name=part.name), copy]
        once += [Sync()] if part.blocking else []
    return once * part.repeat
