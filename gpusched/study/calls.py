"""One call of a studied function: what is sent to a worker, and what comes back.

Everything travels as one object, since executors such as Dask's take keyword arguments for
themselves.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpusched.study.accumulators import Accumulator, Arrays, State

__all__ = ["Call", "Done", "Failure", "perform"]


class Call(NamedTuple):
    """Call of ``function`` for the task sets ``first`` .. ``first + size - 1`` of a point.

    Attributes
    ----------
    point
        The point's parameters.
    options
        ``{"stop": flag}`` where the function takes a flag.
    keep
        Return the arrays besides their state.
    shared
        The caller and the worker share memory.
    """

    function: Callable[..., Any]
    accumulator: Accumulator
    point: Mapping[str, Any]
    options: Mapping[str, Any]
    seed: np.random.SeedSequence
    first: int
    size: int
    keep: bool
    shared: bool


class Done(NamedTuple):
    """Result of a call that took ``seconds``."""

    state: State
    arrays: Arrays | None
    seconds: float


class Failure(NamedTuple):
    """Failure of a call: the error where it can travel, and its text."""

    error: BaseException | None
    message: str
    trace: str


def perform(call: Call) -> Done | Failure:
    """Make a call in a worker. A failure is returned, since not every error can be pickled."""
    began = time.perf_counter()
    seed = copy.copy(call.seed)  # ``seed.spawn`` changes a seed: every call begins with the same
    try:
        result = call.function(
            count=call.size, first=call.first, seed=seed, **call.options, **call.point
        )
    except (Exception, SystemExit) as error:
        return _failure(call, error)
    seconds = time.perf_counter() - began
    try:
        arrays = call.accumulator.arrays(result, call.size)
        state = call.accumulator.state(arrays)
    except ValueError as error:
        return Failure(None, str(error), "")
    except Exception as error:  # of an object that is not an array
        return _failure(call, error)
    if not call.keep:
        return Done(state, None, seconds)
    # The function may write its next result into the same memory.
    return Done(state, {name: array.copy() for name, array in arrays.items()}, seconds)


def _failure(call: Call, error: BaseException) -> Failure:
    text = type(error).__name__
    with contextlib.suppress(Exception):  # an error that has no text
        text = f"{text}: {error}"
    return Failure(
        error if call.shared or _travels(error) else None,
        text,
        "" if call.shared else traceback.format_exc(),
    )


def _travels(error: BaseException) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False
