"""The lock on the GPU, in MPCP's or FMLP+'s order, for threads and processes of Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from gpusched import _core
from gpusched._support.arguments import flag, instance, integer, integer64, one_of
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.model.workload.time_units import Time
from gpusched.rt.job_log import Log, index_in, ns_of
from gpusched.rt.job_loop import Job

__all__ = ["Lock", "Slot"]

_ORDERS = enumeration("rt.order")
_NEVER = -1


class Lock:
    """A lock on the GPU, in shared memory, that outlives the processes that hold it.

    All processes and threads that open the same name share it: those of one user and of one PID
    namespace, also programs in C and C++. Objects can be sent to other processes. It is for Linux.

    >>> lock = gs.rt.Lock("/gpusched-example", "priority")
    >>> with lock.join(urgency=2) as slot, slot.section() as owner_died:
    ...     owner_died
    False
    >>> gs.rt.Lock.remove("/gpusched-example")

    Parameters
    ----------
    name
        Of the shared memory: a slash, and a name without slashes.
    order
        Whose request is granted next: "priority", the most urgent one (mpcp), or "fifo", the
        earliest one (fmlp_plus).
    check
        Time in ns, or text such as "1ms", after which a waiter looks again whether the holder
        lives.
    log
        Log of requests, grants and releases; see `Slot.section`.

    Raises
    ------
    OSError
        The system refuses the shared memory, or is not Linux.
    ValueError
        The name is not valid, or the lock was made with another order, by another version of the
        library, or in another PID namespace.
    """

    def __init__(
        self, name: str, order: str, *, check: Time = "1ms", log: Log | None = None
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name: got {shown(name)}, expected text")
        one_of(order, _ORDERS, "order")
        if log is not None:
            instance(log, Log, "log")
        self._name, self._order, self._log = name, order, log
        self._check = ns_of(check, "check")
        self._core = _core.runtime_lock_open(
            name,
            order=_ORDERS.index(order),
            check=self._check,
            log=None if log is None else log._core,
        )

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _opened, (self._name, self._order, self._check, self._log)

    @property
    def name(self) -> str:
        """Name of the shared memory."""
        return self._name

    @property
    def order(self) -> str:
        """The order of grants, "priority" or "fifo"."""
        return self._order

    def join(self, urgency: int, *, ceiling: int = 0) -> Slot:
        """Take one of the 64 slots of the lock for the calling thread.

        Those of processes that have ended are free.

        Parameters
        ----------
        urgency
            A larger one is more urgent, as in the table of a recipe.
        ceiling
            SCHED_FIFO priority of the thread from a request to the release; 0: unchanged.

        Returns
        -------
        Slot
            What this thread asks with; ``with`` gives it back.

        Raises
        ------
        ValueError
            The ceiling is below the priority of the thread, or the thread has none.
        RuntimeError
            All slots are taken.
        """
        return Slot(self, integer(urgency, "urgency"), integer(ceiling, "ceiling"))

    @staticmethod
    def remove(name: str) -> None:
        """Remove the name: those who open it later make a new lock. Nothing is done without one.

        Raises ValueError for what is no name of a lock, and OSError if the system refuses.
        """
        if not isinstance(name, str):
            raise TypeError(f"name: got {shown(name)}, expected text")
        _core.runtime_lock_remove(name)

    def __repr__(self) -> str:
        return f"<Lock: {self._name}, {self._order}>"


class Slot:
    """The slot of a thread in a lock; made by `Lock.join`.

    >>> lock = gs.rt.Lock("/gpusched-example", "fifo")
    >>> slot = lock.join(urgency=1)
    >>> with slot.section(timeout="1s"):
    ...     pass  # enqueue GPU work and wait for its end
    >>> slot.leave()
    >>> gs.rt.Lock.remove("/gpusched-example")
    """

    def __init__(self, lock: Lock, urgency: int, ceiling: int) -> None:
        self._lock = lock
        self._slot: int | None = lock._core.join(urgency, ceiling=ceiling)

    def section(
        self,
        job: Job | None = None,
        *,
        timeout: Time | None = None,
        spin: bool = False,
        stop: Any = None,
    ) -> AbstractContextManager[bool]:
        """A section in which this thread holds the lock: a context manager.

        It waits without the GIL; Ctrl-C and ``stop`` withdraw the request within a tenth of a
        second. Only the thread that has taken the slot may enter and leave.

        ``with`` gives whether a holder has died: its process has ended, and with it its GPU
        context, but the GPU may still finish a kernel that had begun. Wait for an event of the
        device before relying on a bound. It is told once, to the first holder behind the death,
        who also finds shared data as the dead process left it.

        Parameters
        ----------
        job
            The job, for the log of the lock.
        timeout
            Longest wait in ns, or text such as "5ms". Default: without a limit.
        spin
            Whether to wait busily.
        stop
            Writable buffer of one byte that another thread sets to 1 to end the wait.

        Raises
        ------
        TimeoutError
            When it is entered: the lock did not come in time, and the request is withdrawn.
        Cancelled
            When it is entered: the wait was stopped.
        RuntimeError
            When it is entered: by another thread, or while this one holds the lock.
        ValueError
            The log has no such task, or this process did not take the slot, as after a fork.
        """
        slot, log = self._taken(), self._lock._log
        task, number = -1, 0
        if job is not None:
            instance(job, Job, "job")
            number = integer64(job.number, "job")
            task = -1 if log is None else index_in(log, job.task)
        limit = _NEVER if timeout is None else ns_of(timeout, "timeout", 0)
        return self._lock._core.section(
            slot, task=task, job=number, spin=flag(spin, "spin"), timeout=limit, stop=stop
        )

    def leave(self) -> None:
        """Give the slot back. Raises RuntimeError in another thread."""
        if self._slot is not None:
            self._lock._core.leave(self._slot)
            self._slot = None

    def _taken(self) -> int:
        if self._slot is None:
            raise RuntimeError("slot: got one that was given back, expected one of Lock.join")
        return self._slot

    def __enter__(self) -> Slot:
        self._taken()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.leave()

    def __repr__(self) -> str:
        return f"<Slot: {self._slot} of {self._lock.name}>"


def _opened(name: str, order: str, check: int, log: Log | None) -> Lock:
    return Lock(name, order, check=check, log=log)
