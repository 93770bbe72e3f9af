"""Demand in intervals: all intervals of whole ticks, and every tick of every window."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple


class Part(NamedTuple):
    """Work that recurs every period, from the window [start, start + window) on."""

    period: int
    start: int
    window: int
    work: int
    rate: int


def load(parts: Sequence[Part]) -> Fraction:
    return sum((Fraction(part.work, part.period) for part in parts), Fraction(0))


def demand(parts: Sequence[Part], begin: int, end: int) -> int:
    """Work that is left for [begin, end) when all other ticks of all windows are used fully."""
    total = 0
    for part in parts:
        start = part.start
        while start < end:
            ticks = range(start, start + part.window)
            outside = sum(not begin <= tick < end for tick in ticks)
            if outside < part.window:
                total += max(0, part.work - part.rate * outside)
            start += part.period
    return total


def excess(parts: Sequence[Part], capacity: int) -> tuple[int, int] | None:
    """An interval with more work than capacity, or None; the load must be at most the capacity."""
    if not parts:
        return None
    hyperperiod = lcm(*(part.period for part in parts))
    last = max(part.start for part in parts) + max(part.window for part in parts) + hyperperiod
    for begin in range(last + 1):
        for end in range(begin + 1, begin + hyperperiod + 1):
            if demand(parts, begin, end) > capacity * (end - begin):
                return begin, end
    return None
