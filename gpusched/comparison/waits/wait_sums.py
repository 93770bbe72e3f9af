"""Sums of the waits of a job by cause, and the parts of an interval in which others ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

__all__ = ["JobSpan", "Waited", "overlaps", "shown_name", "sorted_waits"]

Cause = TypeVar("Cause", tuple[str, str], tuple[str, int])
"""A reason, and the other task by name or index."""

_SHOWN = 40  # characters of a name


@dataclass(frozen=True)
class JobSpan:
    """A job of a run: its task, its number, and the time from its release to its end.

    ``end`` is the time at which the simulation ended, for a job that had not ended.
    """

    name: str
    job: int
    release: int
    end: int
    has_ended: bool


@dataclass(frozen=True)
class Waited:
    """Ticks that a job waited for one cause; ``text`` continues "waited 9ms".

    ``for_earlier``: for the job of its task before it.
    """

    ticks: int
    text: str
    for_earlier: bool = False


def shown_name(name: str) -> str:
    """The name of a task in a sentence."""
    return clip(name, _SHOWN)


def sorted_waits(
    sums: Mapping[Cause, int], text: Callable[[Cause], str], earlier: str = "previous"
) -> list[Waited]:
    """The waits, the longest first; the cause ``earlier`` is the job before."""
    found = sorted(sums.items(), key=lambda item: -item[1])
    return [Waited(ticks, text(cause), cause[0] == earlier) for cause, ticks in found if ticks > 0]


def overlaps(start: Int64Array, end: Int64Array, low: int, high: int) -> Int64Array:
    """Ticks of each span within an interval."""
    found: Int64Array = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
    return found
