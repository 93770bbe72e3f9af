"""The argument ``stop``: a byte that another thread sets to end a call, also with a deadline."""

from __future__ import annotations

from math import inf
from time import CLOCK_MONOTONIC, clock_gettime_ns
from typing import Any, NamedTuple, TypeAlias

from gpusched._core import BudgetSpent, Cancelled
from gpusched._support.text import shown

__all__ = [
    "BudgetSpent",
    "Deadline",
    "Stop",
    "is_late",
    "raise_if_stopped",
    "seconds_left",
    "share_of",
]
__all__ += ["spent", "within_seconds"]


def spent(which: str) -> BudgetSpent:
    """The exception of a budget of "seconds" or "bytes"; for seconds, that of the core."""
    return BudgetSpent(f"The budget of {which} was spent; a larger one may decide it.")


class Deadline(NamedTuple):
    """A ``stop`` that also ends a call at an instant, in nanoseconds of the core's clock.

    Every function that takes ``stop`` takes it. A function with a budget of seconds reports that
    it was spent; the others raise `BudgetSpent`, which is a `Cancelled`.
    """

    stop: Any
    ns: int


Stop: TypeAlias = bytearray | memoryview | Deadline | None
"""The argument ``stop`` of public functions."""


def within_seconds(stop: Any, seconds: float | None) -> Any:
    """A ``stop`` that also ends a call after some seconds from now; None: ``stop`` itself."""
    if seconds is None or seconds > 1e9:
        return stop
    flag, end = stop if isinstance(stop, Deadline) else (stop, None)
    ns = _now() + int(seconds * 1e9)
    return Deadline(flag, ns if end is None else min(ns, end))


def share_of(stop: Any, parts: int) -> Any:
    """A ``stop`` for the first of so many parts of a call, which share the time that is left."""
    if not isinstance(stop, Deadline) or parts < 2:
        return stop
    now = _now()
    return Deadline(stop.stop, min(stop.ns, now + (stop.ns - now) // parts))


def seconds_left(stop: Any) -> float:
    """Seconds up to the deadline of ``stop``; infinite without one."""
    return (stop.ns - _now()) / 1e9 if isinstance(stop, Deadline) else inf


def is_late(stop: Any) -> bool:
    """Whether ``stop`` has a deadline that has passed, and its byte is not set."""
    if not isinstance(stop, Deadline) or _now() < stop.ns:
        return False
    return stop.stop is None or not _is_set(stop.stop)


def raise_if_stopped(stop: Any) -> None:
    """Raise `Cancelled` if the byte is set, and `BudgetSpent` if the deadline has passed.

    Long calls of the core check it themselves; a loop over short calls checks it between them.
    Raises TypeError for anything but None, a writable buffer of one byte or a `Deadline`.
    """
    if is_late(stop):
        raise spent("seconds")
    flag = stop.stop if isinstance(stop, Deadline) else stop
    if flag is not None and _is_set(flag):
        raise Cancelled("stopped")


def _is_set(stop: Any) -> bool:
    try:
        view = memoryview(stop)
    except (TypeError, ValueError):  # no buffer, or of a type that has none
        view = memoryview(b"")
    if view.readonly or view.nbytes != 1 or view.ndim != 1:
        raise TypeError(
            f"stop: got {shown(stop)}, expected None or a writable buffer of one byte, such as "
            "bytearray(1)"
        )
    return bool(view.cast("B")[0])


def _now() -> int:
    return clock_gettime_ns(CLOCK_MONOTONIC)  # that of gs_python_now
