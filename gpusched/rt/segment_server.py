"""The server of GPU segments, whose work are functions of Python."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from gpusched import _core
from gpusched._support.arguments import flag, instance, integer, integer64, one_of
from gpusched._support.registry import enumeration
from gpusched._support.text import named, shown
from gpusched.model.workload.time_units import Time
from gpusched.rt.job_log import Log, index_in, ns_of, thread
from gpusched.rt.job_loop import Job

__all__ = ["Server"]

_OVERRUNS = enumeration("rt.overrun")
_POLICIES = ("continue", "skip")  # of a server
_STATUSES = enumeration("rt.status")


class Server:
    """One thread that runs the GPU segments of all threads, the most urgent request first.

    The other threads of this process ask with `run` and sleep, without the GIL, until their segment
    has ended. The server holds the GIL only while it calls functions. Of equally urgent requests
    the earliest is first.

    >>> with gs.rt.Server() as server:
    ...     for job in gs.rt.jobs("camera", "20ms", deadline="1000s", count=2):
    ...         server.run(job, lambda job: None, urgency=1)
    'ok'
    'ok'

    Parameters
    ----------
    cpu, fifo
        CPU and SCHED_FIFO priority of the server's thread; a priority above those of all tasks.
        Default: those of the calling thread.
    spin
        Whether work is looked at without a pause.
    nap
        Time in ns, or text, between two looks at work, at most 50 ms.
    overrun
        What is done with a segment whose turn comes after the deadline of its job: "continue" (it
        is run), or "skip" (it is not).
    hang
        Time in ns, or text: work that takes longer ends the server, as nothing behind it can run.
        Default: no limit.
    log
        Log of requests, grants and segments.

    Raises
    ------
    OSError
        The system grants neither the CPU nor the priority; see ``ulimit -r``.
    ValueError
        An option is out of its range.
    """

    def __init__(
        self,
        *,
        cpu: int | None = None,
        fifo: int = 0,
        spin: bool = False,
        nap: Time = "50us",
        overrun: str = "continue",
        hang: Time | None = None,
        log: Log | None = None,
    ) -> None:
        one_of(overrun, _POLICIES, "overrun")
        if log is not None:
            instance(log, Log, "log")
        self._log = log
        self._core = _core.runtime_server_open(
            spin=flag(spin, "spin"),
            overrun=_OVERRUNS.index(overrun),
            hang=0 if hang is None else ns_of(hang, "hang"),
            nap=0 if spin else ns_of(nap, "nap"),
            log=None if log is None else log._core,
        )
        told: SimpleQueue[Exception | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=_serve, args=(self._core, cpu, fifo, told), name="gpusched server", daemon=True
        )
        self._thread.start()
        if (refused := told.get()) is not None:
            raise refused
        self._stop = weakref.finalize(self, self._core.stop)

    def run(
        self,
        job: Job,
        submit: Callable[[Job], object],
        ended: Callable[[Job], object] | None = None,
        *,
        urgency: int,
        index: int = 0,
        stop: Any = None,
    ) -> str:
        """Run a GPU segment of a job: ask the server, and sleep until it has ended.

        Both functions are called by the server's thread. What one of them raises is raised here;
        the server goes on with the next request, while work that was enqueued may still be on the
        GPU.

        Ctrl-C and ``stop`` end the wait within a tenth of a second. A segment that has not begun is
        withdrawn; the server waits for the end of one that has begun, before the next one.

        Parameters
        ----------
        job
            The job. Its deadline decides about "late" and ``overrun``.
        submit
            Called with the job: it enqueues the work and returns.
        ended
            Called with the job again and again until it says that the work has ended; it only
            looks, as ``torch.cuda.Event.query`` does. Default: the work has ended when ``submit``
            returns.
        urgency
            A larger one is more urgent, as in the table of a recipe; under edf_serial, the negative
            of the instant by which the segment is due.
        index
            Number of the segment in its job, for the log.
        stop
            Writable buffer of one byte that another thread sets to 1 to end the wait.

        Returns
        -------
        str
            "ok", "late" (ended after the deadline of the job), "skipped" (not run), or "stopped"
            (the server was closed before).

        Raises
        ------
        TimeoutError
            Work did not end within ``hang``: that of this segment, or of one before it.
        Cancelled
            The wait was stopped.
        RuntimeError
            A function that the server calls has called this one, which would wait for itself.
        ValueError
            The log has no such task, or another process has opened the server.
        """
        instance(job, Job, "job")
        if not callable(submit):
            raise TypeError(f"submit: got {shown(submit)}, expected a function")
        if ended is not None and not callable(ended):
            raise TypeError(f"ended: got {shown(ended)}, expected a function")
        if integer(index, "index") < 0:
            raise ValueError(f"index: got {index}, expected at least 0")
        status = self._core.run(
            0 if self._log is None else index_in(self._log, job.task),
            partial(submit, job),
            None if ended is None else partial(ended, job),
            job=integer64(job.number, "job"),
            release=integer64(job.release, "release"),
            deadline=integer64(job.deadline, "deadline"),
            kernel=index,
            urgency=integer64(urgency, "urgency"),
            stop=stop,
        )
        if status < 0:
            raise TimeoutError(
                f"{named(job.task)}: got a segment that did not end, or one before it that did "
                "not, expected all to end within hang"
            )
        return _STATUSES[status]

    def close(self) -> None:
        """End the server behind the segment that runs; those that wait return "stopped".

        Raises RuntimeError in a function that the server calls.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "close: got a call by the server's thread, expected one by another thread"
            )
        self._stop()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server: {'open' if self._stop.alive else 'closed'}>"


def _serve(
    core: _core.RuntimeServer, cpu: int | None, fifo: int, told: SimpleQueue[Exception | None]
) -> None:
    """The server's thread; tells whether it has its place."""
    try:
        thread(cpu, fifo)
    except Exception as refused:
        told.put(refused)
        return
    told.put(None)
    core.serve()
