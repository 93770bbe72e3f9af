"""Calls of a studied function: data sent to a worker, and data returned by it.

Everything is sent as one object, because executors such as Dask's interpret keyword arguments
themselves.
"""

from __future__ import annotations

import contextlib
import pickle
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpusched.study.accumulators import Accumulator, Arrays, State
from gpusched.study.verification import Identity, foreign_parts, irreproducible, machine

__all__ = ["Call", "Done", "Failure", "Part", "perform"]

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
