"""Worker pool with cooperative cancellation, of threads or on an executor of the caller."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

__all__ = ["LostWorker", "Workers", "executor_of"]

Key = TypeVar("Key")
Payload = TypeVar("Payload")
Answer = TypeVar("Answer")

_UNKNOWN_WIDTH = 64  # workers of an executor that does not tell
_AHEAD = 32  # calls in flight beyond those that the workers need


class LostWorker(Exception):
    """A call ended without an answer; ``keys`` has the calls that may have caused it."""

    def __init__(self, keys: list[Any], error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.keys = keys
        self.error = error


def executor_of(given: Any) -> Executor | None:
    """The argument ``executor``: None, an executor, or a Dask client, whose executor it is."""
    executor: Executor | None = given
    if callable(getattr(given, "get_executor", None)):
        # Equal calls must not share a result: ``pure`` would make their arguments a key.
        executor = given.get_executor(pure=False)
    elif given is not None and not callable(getattr(given, "submit", None)):
        raise TypeError(
            f"executor: got {type(given).__name__}, expected a concurrent.futures.Executor or a "
            "Dask client"
        )
    return executor


def width_of(executor: Any) -> int:
    """Number of calls that an executor can run at a time."""
    client = getattr(executor, "_client", None)
    with contextlib.suppress(Exception):  # attributes of other packages
        if client is not None:
            return max(1, int(sum(client.nthreads().values())))
    for name in ("_max_workers", "num_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    return _UNKNOWN_WIDTH


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

    def __init__(self, executor: Any, workers: int, patient: bool) -> None:
        # Imported with the first study, so that ``import gpusched`` is fast.
        from concurrent.futures import ThreadPoolExecutor

        given = executor_of(executor)
        self._own = given is None
        self._pool: Executor = ThreadPoolExecutor(workers) if given is None else given
        self.width = width_of(self._pool)
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
                    with contextlib.suppress(Exception):  # an executor that is broken
                        future.cancel()
            if self._own:
                self._pool.shutdown(wait=finished or self._patient, cancel_futures=True)

    def run(
        self,
        function: Callable[[Payload], Answer],
        next_call: Callable[[], tuple[Key, Payload] | None],
        wait: Callable[[], float | None] = lambda: None,
    ) -> Iterator[tuple[Key, Answer]]:
        """Yield (key, answer) of ``function(payload)`` for calls (key, payload), each when done.

        Parameters
        ----------
        next_call
            Gives the next call as workers become free; None when there is none at present. The
            iteration ends when there is none and none is running.
        wait
            Called before each wait for an answer; returns the seconds after which to call it again
            if there is no answer by then, None for never.

        Raises
        ------
        LostWorker
            The executor broke, lost a call or refused one.
        """
        window = 2 * self.width + _AHEAD
        while True:
            while len(self._running) < window and (call := next_call()) is not None:
                key, payload = call
                try:
                    future = self._pool.submit(function, payload)
                except Exception as error:
                    raise LostWorker([key, *self._running.values()], error) from error
                self._running[future] = key
                future.add_done_callback(self._ready.put)
            if not self._running:
                return
            try:
                arrived = self._ready.get(timeout=wait())
            except Empty:
                continue
            if arrived is None:
                self._interrupt()
                continue
            key = self._running.pop(arrived)
            yield key, self._answer(key, arrived)

    def _answer(self, key: Any, future: Future[Any]) -> Any:
        from concurrent.futures import BrokenExecutor

        try:
            return future.result()
        except BrokenExecutor as error:  # of all calls that were running
            raise LostWorker([key, *self._running.values()], error) from error
        except Exception as error:
            raise LostWorker([key], error) from error


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
