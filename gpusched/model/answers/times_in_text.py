"""Times in the sentences of answers: in ticks, or in time units if the length of a tick is known.

A model counts in ticks and does not know their length; a workload does. Code that asks an answer
about a derived model for a sentence sets the length for the duration of the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gpusched.model.workload.time_units import TickLength, time_with_unit

__all__ = ["tick_length", "time_in_text"]

_TICK: ContextVar[TickLength | None] = ContextVar("tick", default=None)


@contextmanager
def tick_length(tick: TickLength) -> Iterator[None]:
    """Write times in sentences with units, a tick being ``tick`` ns; for the current thread."""
    before = _TICK.set(tick)
    try:
        yield
    finally:
        _TICK.reset(before)


def time_in_text(ticks: int, unit: str = "") -> str:
    """Text of a time in a sentence; ``unit`` follows a number of ticks.

    >>> from gpusched.model.answers.times_in_text import tick_length, time_in_text
    >>> time_in_text(20140), time_in_text(20140, " ticks")
    ('20,140', '20,140 ticks')
    >>> with tick_length(1000):
    ...     time_in_text(20140, " ticks")
    '20.14ms'
    """
    tick = _TICK.get()
    return f"{ticks:,}{unit}" if tick is None else time_with_unit(ticks, tick)
