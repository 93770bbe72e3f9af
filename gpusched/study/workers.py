"""Who computes the parts of a long study, and how does Ctrl-C end them all?"""

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

# Calls handed out at a time, at least: enough for an executor with many workers of its own.
_WINDOW = 128


def worker_count(workers: int | None) -> int:
    """The argument ``workers``: the CPUs that this process may use for None."""
    if workers is None:
        with contextlib.suppress(AttributeError):  # not on every system
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    number = integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers: got {number}, expected at least 1")
    return number


class Workers:
    """An executor, or threads of its own, for the length of a ``with`` block.

    When the block ends early, what is running is told to stop by ``flag``, a byte for the parameter
    ``stop`` of the calls (None where workers share no memory), and the rest is cancelled.
    ``patient``: whether the calls heed it; others must not hold up a Ctrl-C.
    """

    def __init__(self, executor: Executor | None, workers: int, patient: bool) -> None:
        # Imported with the first study: gpusched itself should load quickly.
        from concurrent.futures import ThreadPoolExecutor

        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise TypeError(
                f"executor: must be a concurrent.futures.Executor, not {type(executor).__name__}"
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
            self._interrupts.__exit__(*error)  # which may raise what came late
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
        """The futures of ``function(**arguments)`` for all calls (key, arguments), by key, each as
        soon as it is done. Calls are taken from the iterable as workers become free."""
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
    """While the block runs, Ctrl-C puts None into the queue instead of raising anywhere.

    An exception in the middle of concurrent.futures' own code can leave the lock of a future taken
    for ever. What is yielded then does what Ctrl-C does otherwise: raise KeyboardInterrupt, as a
    rule. Nothing is changed outside the main thread, or where Ctrl-C is ignored.
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
    if waiting:  # it came when nothing was left to wait for
        interrupt()
