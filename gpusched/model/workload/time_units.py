"""Times, ticks, rates and factors as text with units, without floating point.

A model counts in ticks and does not know their length; a workload does. Code that asks an answer
about a derived model for a sentence sets the length for the duration of the call.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from gpusched._support.arguments import ticks as whole_ticks
from gpusched._support.text import UNITS, shown

Time = int | str
"""A time as an argument: a whole number of ticks, or text with a unit (``"4.1ms"``)."""

TickLength = int | Fraction
"""Length of a tick in ns. Ticks that are a fraction of a ns occur in derived workloads only."""

MOST_TICKS = 2**60 - 1
"""The longest time; sums of a few of them fit 64 bits."""

_UNITS = {**UNITS, "μs": 10**3}  # the Greek letter beside the micro sign
_RATES = {
    "mHz": Fraction(1, 1000),
    "Hz": Fraction(1),
    "kHz": Fraction(1000),
    "MHz": Fraction(10**6),
}
_NUMBER = r"\s*([+-]?\d{1,30}(?:\.\d{1,30})?)\s*"
_TIME = re.compile(_NUMBER + f"({'|'.join(_UNITS)})" + r"\s*", re.ASCII)
_RATE = re.compile(_NUMBER + f"({'|'.join(_RATES)})" + r"\s*", re.ASCII)
_FACTOR = re.compile(_NUMBER, re.ASCII)
_LEAST = {0: "a time of 0 or more", 1: "a positive time"}
_EXPECTED = "expected a whole number of ticks or text such as '4.1ms'"


@dataclass(frozen=True, slots=True)
class Duration:
    """An exact time given as text; durations are equal if their lengths are, whatever the text."""

    ns: Fraction
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Rate:
    """An exact rate given as text."""

    hertz: Fraction
    text: str = field(compare=False)

    def period(self, tick: TickLength) -> int:
        """The period in ticks of ``tick`` ns, rounded down."""
        return math.floor(10**9 / (self.hertz * tick))

    def longest(self, jobs: int, tick: TickLength) -> int:
        """The time of so many periods in ticks of ``tick`` ns, rounded up."""
        return math.ceil(jobs * 10**9 / (self.hertz * tick))

    def is_rounded(self, tick: TickLength) -> bool:
        """Whether the period is not a whole number of ticks of ``tick`` ns."""
        return (10**9 / (self.hertz * tick)).denominator != 1


Stored = int | Duration
"""A checked time: ticks, or a duration that a workload turns into ticks."""


def as_time(value: object, name: str, least: int = 1) -> Stored:
    """Check a time given as ticks or text.

    Raises ValueError for other text and for a time below ``least`` (0 or 1) ticks, TypeError for
    what is neither a number nor text, and OverflowError for 2**60 ticks or more.
    """
    if type(value) is int:
        number = value
    elif isinstance(value, str):
        duration = _duration(value)
        if duration is None:
            raise ValueError(
                f"{name}: got {shown(value)}, expected a number with a unit, one of "
                f"{', '.join(UNITS)}"
            )
        if duration.ns < 0 or (least and duration.ns == 0):
            raise ValueError(f"{name}: got {shown(value)}, expected {_LEAST[least]}")
        return duration
    elif isinstance(value, Duration):
        return value
    else:
        try:
            number = whole_ticks(value, name)
        except TypeError:
            raise TypeError(f"{name}: got {shown(value)}, {_EXPECTED}") from None
    if number < least:
        raise ValueError(f"{name}: got {shown(number)}, expected {_LEAST[least]}")
    if number > MOST_TICKS:
        raise OverflowError(f"{name}: got {shown(number)}, expected less than 2**60 ticks")
    return number


def in_ticks(time: Stored, own: TickLength | None, tick: TickLength, name: str) -> int:
    """A time in ticks of ``tick`` ns, exactly; numbers are ticks of ``own`` ns, or of ``tick``."""
    if type(time) is int:
        if own is None or own == tick:
            return time
        count, rest = divmod(time * own, tick)
        got = time_with_unit(time, own)
    else:
        assert isinstance(time, Duration)
        count, rest = divmod(time.ns.numerator, time.ns.denominator * tick)
        got = time.text
    if rest:
        length = time_with_unit(1, tick)
        raise ValueError(f"{name}: got {shown(got)}, expected a whole number of ticks of {length}")
    if count > MOST_TICKS:
        raise OverflowError(f"{name}: got {shown(got)}, expected less than 2**60 ticks")
    return int(count)


def as_rate(value: object, name: str) -> Rate:
    """Check a rate such as ``"30Hz"``; raises ValueError and TypeError."""
    if isinstance(value, Rate):
        return value
    expected = f"expected text such as '30Hz', in one of {', '.join(_RATES)}"
    if not isinstance(value, str):
        raise TypeError(f"{name}: got {shown(value)}, {expected}")
    found = _RATE.fullmatch(value)
    if found is None:
        raise ValueError(f"{name}: got {shown(value)}, {expected}")
    hertz = Fraction(found[1]) * _RATES[found[2]]
    if hertz <= 0:
        raise ValueError(f"{name}: got {shown(value)}, expected a positive rate")
    return Rate(hertz, value.strip())


def as_factor(value: object, name: str) -> Fraction:
    """A positive factor given as decimal text, an integer or a Fraction, exactly."""
    expected = "expected a positive factor as text such as '1.2', a whole number or a Fraction"
    if isinstance(value, str):
        factor = Fraction(value.strip()) if _FACTOR.fullmatch(value) else Fraction(0)
    elif isinstance(value, Fraction):
        factor = value
    else:
        try:
            if isinstance(value, bool):
                raise TypeError
            factor = Fraction(operator.index(value))  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name}: got {shown(value)}, {expected}") from None
    if factor <= 0:
        raise ValueError(f"{name}: got {shown(value)}, {expected}")
    return factor


def as_whole(text: str) -> int | None:
    """The whole number that decimal text such as ``"10"`` or ``"10.0"`` is; None for other text."""
    found = _FACTOR.fullmatch(text)
    number = None if found is None else Fraction(found[1])
    return None if number is None or number.denominator != 1 else int(number)


def scaled_up(ticks: int, factor: Fraction, name: str) -> int:
    """``ticks`` times ``factor``, rounded up; OverflowError for 2**60 ticks or more."""
    product = -(-ticks * factor.numerator // factor.denominator)
    if product > MOST_TICKS:
        raise OverflowError(f"{name}: got {shown(product)}, expected less than 2**60 ticks")
    return product


def tick_of(text: object, name: str = "tick") -> int:
    """The nanoseconds of a tick given as a unit or a time: ``"us"`` is 1000, ``"10ns"`` is 10."""
    expected = "expected a unit (ns, us, ms, s) or a time such as '10ns'"
    if not isinstance(text, str):
        raise TypeError(f"{name}: got {shown(text)}, {expected}")
    duration = _duration(f"1{text.strip()}" if text.strip() in _UNITS else text)
    if duration is None or duration.ns <= 0:
        raise ValueError(f"{name}: got {shown(text)}, {expected}")
    if duration.ns.denominator != 1 or duration.ns > MOST_TICKS:
        raise ValueError(f"{name}: got {shown(text)}, expected a whole number of ns below 2**60")
    return int(duration.ns)


def tick_text(tick: TickLength) -> str:
    """The text of a tick of so many nanoseconds: ``us``, ``10ns``."""
    text = time_with_unit(1, tick)
    return text[1:] if text[0] == "1" and not text[1].isdigit() and text[1] != "." else text


def time_with_unit(ticks: int, tick: TickLength) -> str:
    """``ticks`` of ``tick`` ns as text in the largest unit in which it is 1 or more.

    The text is exact for whole ns; others are rounded to the next thousandth of a ns, and times
    from 1 us on to the next ns.

    >>> time_with_unit(2, Fraction(1, 3)), time_with_unit(10_000, Fraction(1, 3))
    ('0.667ns', '3.333us')
    """
    ns = ticks * tick
    if isinstance(ns, Fraction):
        if ns < 1000 and ns.denominator > 1:
            return f"{round(ns * 1000) / 1000:.10g}ns"
        ns = round(ns)
    for unit, worth in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= worth:
            whole, rest = divmod(ns, worth)
            digits = len(str(worth)) - 1
            return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".") + unit
    return f"{ns}ns"


@lru_cache(maxsize=4096)
def _duration(text: str) -> Duration | None:
    found = _TIME.fullmatch(text)
    return None if found is None else Duration(Fraction(found[1]) * _UNITS[found[2]], text.strip())


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

    >>> from gpusched.model.workload.time_units import tick_length, time_in_text
    >>> time_in_text(20140), time_in_text(20140, " ticks")
    ('20,140', '20,140 ticks')
    >>> with tick_length(1000):
    ...     time_in_text(20140, " ticks")
    '20.14ms'
    """
    tick = _TICK.get()
    return f"{ticks:,}{unit}" if tick is None else time_with_unit(ticks, tick)
