"""Periods of tasks: as given, or the median distance between the starts of occurrences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip, shown
from gpusched.model.workload.time_units import Time, time_with_unit

__all__ = ["Period", "Periods", "check_names", "given_period", "observed"]

Periods = Time | Mapping[str, Time] | None
"""One period for all tasks, periods by name of the task, or None: as observed."""


@dataclass(frozen=True)
class Period:
    """The period of a task, and a sentence about its origin."""

    time: Time
    said: str


def check_names(period: Periods, names: Sequence[str]) -> None:
    """Raise ValueError if a period is given for a task that does not exist."""
    if isinstance(period, Mapping):
        for name in period:
            if name not in names:
                known = clip(", ".join(names), 200)
                raise ValueError(f"period[{shown(name)}]: got this task, expected one of {known}")


def given_period(period: Periods, name: str) -> Time | None:
    """The period given for a task; None without one."""
    return period.get(name) if isinstance(period, Mapping) else period


def observed(period: Periods, name: str, start: Int64Array) -> Period | None:
    """Period of a task whose occurrences start at these times; None if it has to be given.

    The median is rounded down, which is safe.
    """
    if (given := given_period(period, name)) is not None:
        return Period(given, "the period is given")
    distance = np.sort(np.diff(np.sort(start)))
    if not len(distance):
        return None
    low, high = int(distance[(len(distance) - 1) // 2]), int(distance[len(distance) // 2])
    if (median := low + (high - low) // 2) < 1:
        return None
    bounds = [time_with_unit(int(time), 1) for time in (distance[0], distance[-1])]
    what = f"the median of {len(distance)} distances, {bounds[0]} to {bounds[1]}"
    if len(distance) == 1:
        what = "the only distance between two occurrences"
    return Period(median, f"the period is {what}")
