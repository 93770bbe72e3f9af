"""Jobs of a task of this program: releases at absolute instants, and what the log has of each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpusched import _core
from gpusched._support.arguments import instance, integer
from gpusched._support.text import shown
from gpusched.model.workload.time_units import Time
from gpusched.rt.job_log import Log, index_in, ns_of

__all__ = ["Ends", "Job", "jobs"]


@dataclass(frozen=True)
class Job:
    """A job of a task of this program.

    >>> job = next(gs.rt.jobs("camera", "20ms", count=1))
    >>> job.task, job.number, job.deadline - job.release
    ('camera', 0, 20000000)

    Attributes
    ----------
    task, number
        Name of the task, and number of the job from 0.
    release, deadline
        Instants in ns of ``gs.rt.now``.
    kernel
        Index of the kernel that a player begins; 0 otherwise.
    """

    task: str
    number: int
    release: int
    deadline: int
    kernel: int = 0
    _log: Log | None = field(default=None, repr=False, compare=False)

    def segment(self, index: int = 0) -> contextlib.AbstractContextManager[None]:
        """Log the start and the end of a GPU segment of the job, if its loop has a log.

        See `Log.segment`.
        """
        if self._log is None:
            return contextlib.nullcontext()
        return self._log.segment(self.task, self.number, index)


class Ends:
    """Ends of the jobs of a loop, which release the jobs of other loops of this process.

    >>> frame = gs.rt.Ends()
    >>> camera = gs.rt.jobs("camera", "2ms", count=3, ends=frame)
    >>> net = gs.rt.jobs("net", after=frame, every=2, deadline="2ms")
    >>> [job.number for job in camera], [job.number for job in net]
    ([0, 1, 2], [0, 1])
    """

    def __init__(self) -> None:
        self._core = _core.runtime_ends_open()

    def __repr__(self) -> str:
        return "<Ends>"


def jobs(
    task: str,
    period: Time | None = None,
    *,
    first: int | None = None,
    deadline: Time | None = None,
    count: int | None = None,
    after: Ends | Sequence[Ends] = (),
    every: int = 1,
    ends: Ends | None = None,
    log: Log | None = None,
    stop: Any = None,
) -> Iterator[Job]:
    """Iterate over the jobs of a task, each from its release on.

    The loop waits, without the GIL, for instants that are a period apart, or for the ends of jobs
    that other threads run; a job whose release has passed is begun at once. Its body is the job:
    with a log, its release, the CPU time of the thread, its end and its lateness are recorded. A
    body that ends with ``break`` or an exception leaves its job without an end. The loop stays in
    the thread that began it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = gs.rt.Log(f"{folder}/run.gslog", ["camera"])
    ...     for job in gs.rt.jobs("camera", "2ms", count=3, log=log):
    ...         with job.segment():
    ...             pass  # enqueue GPU work and wait for its end
    ...     log.read().of("complete").job.tolist()
    [0, 1, 2]

    Parameters
    ----------
    task
        Its name; with a log, one of the log's.
    period
        Time between two releases in ns, or text such as "20ms". A task with ``after`` has none.
    first
        Instant of the first release, of ``gs.rt.now``. Default: the present one.
    deadline
        Time from a release to the deadline of the job. Default: the period; a task with ``after``
        states it.
    count
        Number of jobs. Default: without an end.
    after, every
        `Ends` of the tasks that release this one, and a number: job j is released when job
        j x ``every`` of each of them has ended. The loop ends where one of theirs has ended.
    ends
        `Ends` of the jobs of this loop, for those that they release.
    log
        Log of the jobs.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The loop ends when another thread
        sets the byte to 1, within a tenth of a second.

    Returns
    -------
    Iterator of Job
        The jobs in their order.

    Raises
    ------
    ValueError
        A time or number is out of its range, the log has no such task, or ``ends`` stand in
        ``after``, too, or are those of another process.
    RuntimeError
        At a step: the task is more than 64 jobs behind one that releases it, another loop has the
        same ``ends``, or another thread has begun the loop.
    KeyboardInterrupt
        In a wait for a release, within a tenth of a second.
    """
    number = 0
    if log is not None:
        instance(log, Log, "log")
        number = index_in(log, task)
    elif not isinstance(task, str):
        raise TypeError(f"task: got {shown(task)}, expected a name")
    if count is not None and integer(count, "count") < 1:
        raise ValueError(f"count: got {count}, expected at least 1")
    before = (after,) if isinstance(after, Ends) else tuple(after)
    for row, one in enumerate(before):
        instance(one, Ends, f"after[{row}]")
    if ends is not None:
        instance(ends, Ends, "ends")
    if ends in before:
        raise ValueError("ends: got some that stand in after, too, expected those of this loop")
    if before and (period is not None or first is not None or deadline is None):
        raise ValueError(
            "after: got a period, a first release or no deadline, expected a deadline alone"
        )
    if not before and (period is None or every != 1):
        raise ValueError("after: got none, expected a period and every=1, or ends of other tasks")
    if integer(every, "every") < 1:
        raise ValueError(f"every: got {every}, expected at least 1")
    between = 0 if period is None else ns_of(period, "period")
    options = {
        "task": number,
        "first": _core.runtime_now() if first is None else integer(first, "first"),
        "period": between,
        "deadline": between if deadline is None else ns_of(deadline, "deadline"),
        "jobs": count or 0,
        "every": every,
    }
    links = tuple(one._core for one in before)
    _core.runtime_jobs_open(None, None, links, **options)  # refuses now what is wrong
    return _released(task, log, ends, links, options, stop)


def _released(
    task: str,
    log: Log | None,
    ends: Ends | None,
    links: tuple[_core.RuntimeEnds, ...],
    options: dict[str, int],
    stop: Any,
) -> Iterator[Job]:
    loop = _core.runtime_jobs_open(
        None if log is None else log._core, None if ends is None else ends._core, links, **options
    )
    try:
        while (found := loop.next(stop=stop)) is not None:
            yield Job(task, *found, _log=log)
            loop.end()
    finally:
        if ends is not None:
            ends._core.finish()
