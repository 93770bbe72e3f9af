"""Logs that a program writes while it runs, and attributes of its threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpusched import _core
from gpusched._support.arguments import integer, integer64, is_sequence, one_of
from gpusched._support.text import path_text, shown
from gpusched.io.run_log import EVENTS, RunLog, read_run_log
from gpusched.model.workload.time_units import Time, as_time, in_ticks

__all__ = ["Log", "index_in", "now", "ns_of", "thread"]

_ANY_CPU = -1


def now() -> int:
    """The instant in ns, by the clock of logs, releases and timeouts (CLOCK_MONOTONIC).

    >>> gs.rt.now() <= gs.rt.now()
    True
    """
    return _core.runtime_now()


def ns_of(value: Time, name: str, least: int = 1) -> int:
    """A time in ns: a number of ns, or text such as "20ms"."""
    return in_ticks(as_time(value, name, least), None, 1, name)


def thread(cpu: int | None = None, fifo: int = 0) -> None:
    """Pin the calling thread to a CPU and give it a SCHED_FIFO priority.

    Its timers get a slack of 1 ns. Threads that it starts later inherit CPU and priority.

    >>> gs.rt.thread()

    Parameters
    ----------
    cpu
        Number of the CPU. Default: CPUs stay as they are.
    fifo
        Priority, as in the table of a recipe; 0: it stays as it is.

    Raises
    ------
    OSError
        The system grants neither; see ``ulimit -r``.
    ValueError
        A number is negative, or there is no such CPU.
    """
    where = _ANY_CPU if cpu is None else integer(cpu, "cpu")
    if where < 0 and cpu is not None:
        raise ValueError(f"cpu: got {where}, expected the number of a CPU")
    _core.runtime_thread(where, integer(fifo, "fifo"))


class Log:
    """A log of jobs that this program writes, for ``gs.kept``.

    The file replaces an earlier one. Each thread writes to a ring of its own, without locks; when
    it is full, its oldest events are overwritten and counted. The log can be read at any time, also
    by others and after the death of the program. Objects can be sent to other processes, which
    write to the same file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = gs.rt.Log(f"{folder}/run.gslog", ["camera"])
    ...     log.event("release", "camera", 0, time=100)
    ...     log.event("complete", "camera", 0, time=350)
    ...     log.read()
    <RunLog: 2 events of 1 task over 250ns>

    Parameters
    ----------
    path
        The file.
    tasks
        Names of the tasks; with a schedule those of its tasks first, in its order.
    threads, events
        Most threads that write, up to 1024, and events that the ring of each has, a power of 2 up
        to 2**24. The file has 32 bytes per event.
    about
        Text of at most 63 bytes that the log carries.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        A name is empty, has more than 63 bytes or stands twice; a number is out of its range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tasks: Sequence[str],
        *,
        threads: int = 16,
        events: int = 65536,
        about: str = "",
    ) -> None:
        names = tuple(tasks) if is_sequence(tasks) else ()
        if not names or not all(isinstance(name, str) for name in names):
            raise TypeError(f"tasks: got {shown(tasks)}, expected names of tasks")
        for row, name in enumerate(names):
            if name in names[:row]:
                raise ValueError(f"tasks[{row}]: got {shown(name)} again, expected another name")
        given = {"threads": threads, "events": events}
        for name, value in given.items():
            if integer(value, name) < 1:
                raise ValueError(f"{name}: got {value}, expected at least 1")
        self._path = os.path.abspath(path_text(path))
        self._tasks = names
        self._core = _core.runtime_log_create(
            self._path, names, threads=threads, events=events, about=about
        )

    @classmethod
    def join(cls, path: str | os.PathLike[str]) -> Log:
        """Open the log that another process has created.

        Raises OSError if the file cannot be opened, and ValueError if it is no log of this version.
        """
        self = cls.__new__(cls)
        self._path = os.path.abspath(path_text(path))
        self._tasks = read_run_log(self._path).name
        self._core = _core.runtime_log_join(self._path)
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).join, (self._path,)

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return self._path

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return self._tasks

    def event(
        self, kind: str, task: str, job: int, value: int = 0, *, time: int | None = None
    ) -> None:
        """Add an event.

        Parameters
        ----------
        kind
            Name of its kind, of the table in the guide.
        task, job
            Name of the task, and number of its job from 0.
        value
            What the table says of the kind.
        time
            Instant of `now`. Default: the present one.

        Raises
        ------
        ValueError
            The kind or the task is unknown.
        """
        one_of(kind, EVENTS[1:], "kind")
        at = _core.runtime_now() if time is None else integer64(time, "time")
        number, noted = integer64(job, "job"), integer64(value, "value")
        self._core.event(EVENTS.index(kind), index_in(self, task), number, noted, time=at)

    def segment(self, task: str, job: int, index: int = 0) -> AbstractContextManager[None]:
        """Log the start and the end of a GPU segment, the kinds "submit" and "gpu_end".

        The body enqueues the work and waits for its end. ``index`` is the number of the segment in
        its job. An exception in the body leaves the segment without an end.
        """
        return _Segment(self, task, job, index)

    def read(self) -> RunLog:
        """The events that are in the log now, by ``gs.io.read_run_log``."""
        return read_run_log(self._path)

    def __repr__(self) -> str:
        return f"<Log: {shown(self._path)}, {len(self._tasks)} tasks>"


class _Segment:
    """A GPU segment that is logged."""

    def __init__(self, log: Log, task: str, job: int, index: int) -> None:
        index_in(log, task)
        self._log, self._event = log, (task, integer64(job, "job"), integer64(index, "index"))

    def __enter__(self) -> None:
        self._log.event("submit", *self._event)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._log.event("gpu_end", *self._event)


def index_in(log: Log, task: str) -> int:
    """The index of a task of a log; ValueError for another one."""
    one_of(task, log.tasks, "task")
    return log.tasks.index(task)
