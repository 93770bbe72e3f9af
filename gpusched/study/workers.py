"""Calls of a studied function, and the workers that make them: threads, or an executor.

Everything is sent as one object, because executors such as Dask's interpret keyword arguments
themselves. A study that ends early cancels its calls cooperatively.
"""

from __future__ import annotations

import contextlib
import pickle
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gpusched.study.point_results import Accumulator, Arrays, State
from gpusched.study.sweep_definition import Identity, foreign_parts, irreproducible, machine

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

_SECONDS = 0.004  # after which a worker makes no further call before it answers


class Call(NamedTuple):
    """Calls of ``function`` for the task sets ``first`` .. ``first + size - 1`` of a point.

    Attributes
    ----------
    point
        The point's parameters.
    options
        ``{"stop": flag}`` where the function takes a flag.
    each
        Task sets of a call of the function.
    keep
        Return the arrays besides their state.
    flag
        Byte that is set when the study ends early; None where the caller and the worker share no
        memory.
    identity
        Identity of the study, which a worker in another process must have; None without one.
    check
        Number of sets of the study for a call of which a set is computed again, in another chunk;
        else 0.
    """

    function: Callable[..., Any]
    accumulator: Accumulator
    point: Mapping[str, Any]
    options: Mapping[str, Any]
    seed: np.random.SeedSequence
    first: int
    size: int
    each: int
    keep: bool
    flag: bytearray | None
    identity: Identity | None = None
    check: int = 0


class Part(NamedTuple):
    """Results of the task sets ``first`` .. ``first + size - 1``, which took ``seconds``.

    ``ended`` is the time at their end, in seconds since 1970.
    """

    first: int
    size: int
    state: State
    arrays: Arrays | None
    seconds: float
    ended: float


class Failure(NamedTuple):
    """Failure of a call: the error where it can travel, its text, and the call's task sets."""

    error: BaseException | None
    message: str
    trace: str
    first: int
    size: int


class Done(NamedTuple):
    """Results in order; calls after them were not made, or the first of them failed.

    ``machine`` describes the worker's machine, ``foreign`` has the parts of its function where they
    are not those of the caller, and nothing was computed.
    """

    parts: list[Part]
    failure: Failure | None
    machine: tuple[tuple[str, str], ...] = ()
    foreign: Mapping[str, str] | None = None


class _Result(NamedTuple):
    """Result of a call of the function."""

    first: int
    size: int
    arrays: Arrays
    seconds: float


def perform(call: Call) -> Done:
    """Make calls in a worker, one after the other, until 4 ms have passed.

    A failure is returned, since not every error can be pickled.
    """
    if call.identity is not None and call.flag is None:
        try:
            foreign = foreign_parts(call.function, call.identity)
        except Exception as error:
            return Done([], _failure(call, call.first, call.size, error))
        if foreign is not None:
            return Done([], None, machine(), foreign)
    results: list[_Result] = []
    failure = None
    end, first = call.first + call.size, call.first
    call.seed.pool.setflags(write=False)  # shared by the copies
    began = before = time.perf_counter()
    while first < end and not (results and call.flag is not None and call.flag[0]):
        size = min(call.each, end - first)
        try:
            result = _called(call, first, size)
        except (Exception, SystemExit) as error:
            failure = _failure(call, first, size, error)
            break
        checked = call.check and not results
        try:
            arrays = call.accumulator.arrays(result, size)
        except Exception as error:
            failure = _refusal(call, first, size, error)
            break
        if call.keep or size < call.size or checked:
            # The function may write its next result into the same memory.
            arrays = {name: array.copy() for name, array in arrays.items()}
        now = time.perf_counter()
        stopped = call.flag is not None and call.flag[0]
        if checked and not stopped and (failure := _spot_check(call, arrays, first, size)):
            _, refusal = _parts(call, [_Result(first, size, arrays, 0.0)])
            return Done([], refusal or failure, machine())
        results.append(_Result(first, size, arrays, now - before))
        before = now = time.perf_counter() if checked else now
        if now - began > _SECONDS:
            break
        first, before = first + size, now
    parts, refusal = _parts(call, results)
    return Done(parts, refusal or failure, machine())


def _called(call: Call, first: int, size: int) -> Any:
    return call.function(
        count=size, first=first, seed=_copied(call.seed), **call.options, **call.point
    )


def _spot_check(call: Call, arrays: Arrays, first: int, size: int) -> Failure | None:
    """The failure of a function that computes a set differently in another chunk."""

    def again(first: int, count: int) -> Arrays:
        return call.accumulator.arrays(_called(call, first, count), count)

    try:
        text = irreproducible(again, arrays, first, size, call.check)
    except ValueError as error:  # of what the function returned, or its own
        return _refusal(call, first, size, error)
    except (Exception, SystemExit) as error:
        return _failure(call, first, size, error)
    return None if text is None else Failure(None, text, "", first, size)


def _copied(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """A copy, since ``seed.spawn`` changes a seed; as by ``copy.copy``, which takes longer."""
    reduced: Any = seed.__reduce__()
    made = reduced[0](*reduced[1])
    if len(reduced) > 2:
        made.__setstate__(reduced[2])
    copied: np.random.SeedSequence = made
    return copied


def _parts(call: Call, results: list[_Result]) -> tuple[list[Part], Failure | None]:
    """The results with their states; of several calls together where this is the same."""
    if len(results) > 1:
        joined = call.accumulator.joined([result.arrays for result in results])
        if joined is not None:
            size = sum(result.size for result in results)
            seconds = sum(result.seconds for result in results)
            with contextlib.suppress(ValueError):  # the error of a single call is raised below
                return [_part(call, _Result(call.first, size, joined, seconds))], None
    parts = []
    for result in results:
        try:
            parts.append(_part(call, result))
        except Exception as error:
            return parts, _refusal(call, result.first, result.size, error)
    return parts, None


def _part(call: Call, result: _Result) -> Part:
    first, size, arrays, seconds = result
    state = call.accumulator.state(arrays)
    return Part(first, size, state, arrays if call.keep else None, seconds, time.time())


def _refusal(call: Call, first: int, size: int, error: Exception) -> Failure:
    """Failure of what the function returned; another error is that of an object in it."""
    if isinstance(error, ValueError):
        return Failure(None, str(error), "", first, size)
    return _failure(call, first, size, error)


def _failure(call: Call, first: int, size: int, error: BaseException) -> Failure:
    text = type(error).__name__
    with contextlib.suppress(Exception):  # an error that has no text
        text = f"{text}: {error}"
    shared = call.flag is not None
    return Failure(
        error if shared or _travels(error) else None,
        text,
        "" if shared else traceback.format_exc(),
        first,
        size,
    )


def _travels(error: BaseException) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False


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
