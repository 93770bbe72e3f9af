"""Worker pool with cooperative cancellation."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from gpusched._support.arguments import integer

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Key = TypeVar("Key")

# Least number of calls submitted at a time, enough for an executor with many workers.
_WINDOW = 128


def worker_count(workers: int | None) -> int:
    """The argument ``workers``; for None, the number of CPUs that this process may use."""
    if workers is None:
        with contextlib.suppress(AttributeError):  # not on every system
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    number = integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers: got {number}, expected at least 1")
    return number


class Workers:
    """A given executor, or a pool of threads, for the length of a ``with`` block.

    When the block ends early, ``flag`` is set and calls that have not started are cancelled.
    ``flag`` is a byte for the parameter ``stop`` of the calls, None where workers share no memory.

    Parameters
    ----------
    executor
        An executor, or None for a pool of ``workers`` threads.
    workers
        Number of threads.
    patient
        The calls check ``flag``; the pool waits for them at the end. Otherwise Ctrl-C does not
        wait for running calls.
    """

    def __init__(self, executor: Executor | None, workers: int, patient: bool) -> None:
        # Imported with the first study, so that ``import gpusched`` is fast.
        from concurrent.futures import ThreadPoolExecutor

        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise TypeError(
                f"executor: got {type(executor).__name__}, expected a concurrent.futures.Executor"
            )
        self._own = executor is None
        self._pool: Executor = ThreadPoolExecutor(workers) if executor is None else executor
        self._window = max(_WINDOW, 4 * workers)
        self._patient = patient
        self._stop = bytearray(1)
        self.flag = self._stop if isinstance(self._pool, ThreadPoolExecutor) else None
        self._ready: SimpleQueue[Future[Any] | None] = SimpleQueue()
        self._running: dict[Future[Any], Any] = {}
        self._interrupts = _interrupts(self._ready)

    def __enter__(self) -> Workers:
        self._interrupt = self._interrupts.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        finished = False
        try:
            self._interrupts.__exit__(*error)  # may raise a late interrupt
            finished = error[0] is None
        finally:
            if not finished:
                self._stop[0] = 1
                for future in self._running:
                    future.cancel()
            if self._own:
                self._pool.shutdown(wait=finished or self._patient, cancel_futures=True)

    def run(
        self, function: Callable[..., Any], calls: Iterable[tuple[Key, dict[str, Any]]]
    ) -> Iterator[tuple[Key, Future[Any]]]:
        """Yield (key, future) of ``function(**arguments)`` for all calls (key, arguments).

        Each is yielded when it is done. Calls are taken from the iterable as workers become free.
        """
        todo = iter(calls)
        while True:
            for key, arguments in itertools.islice(todo, self._window - len(self._running)):
                future = self._pool.submit(function, **arguments)
                self._running[future] = key
                future.add_done_callback(self._ready.put)
            if not self._running:
                return
            arrived = self._ready.get()
            if arrived is None:
                self._interrupt()
            else:
                yield self._running.pop(arrived), arrived


@contextlib.contextmanager
def _interrupts(ready: SimpleQueue[Any]) -> Iterator[Callable[[], None]]:
    """Make Ctrl-C put None into the queue during the block, instead of raising.

    An exception inside the code of concurrent.futures can leave the lock of a future locked. The
    yielded function calls the previous handler, which usually raises KeyboardInterrupt. Nothing is
    changed outside the main thread, or where Ctrl-C is ignored.
    """
    import signal
    import threading

    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield lambda: None
        return
    waiting = []

    def note(*_: Any) -> None:
        waiting.append(True)
        ready.put(None)

    def interrupt() -> None:
        waiting.clear()
        usual(signal.SIGINT, None)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, usual)
    if waiting:  # the interrupt arrived after the last result
        interrupt()
