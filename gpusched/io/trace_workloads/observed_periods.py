"""Periods of tasks: as given, by the starts of their jobs, or by their number of launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip, shown
from gpusched.model.workload.time_units import Time, time_with_unit

__all__ = ["Period", "Periods", "by_launches", "check_names", "given_period", "observed"]

Periods = Time | Mapping[str, Time] | None
"""One period for all tasks, periods by name of the task, or None: as observed."""


@dataclass(frozen=True)
class Period:
    """The period of a task, a sentence about its origin, and whether it is a given one."""

    time: Time
    said: str
    given: bool = False


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


def observed(
    period: Periods, name: str, start: Int64Array, on_gpu: Int64Array, busy: int
) -> Period | None:
    """Period of a task whose occurrences start at these times; None if it has to be given.

    If the GPU takes a job longer than the median distance of ``start``, the CPU runs ahead, and the
    distances of ``on_gpu`` count, the starts of jobs on the GPU. Medians are rounded down, which is
    safe.
    """
    if (given := given_period(period, name)) is not None:
        return Period(given, "the period is given", given=True)
    median, what = _median(start)
    if 1 <= median < busy:
        later, on_gpu_what = _median(on_gpu)
        if later > median:
            what = (
                f"{on_gpu_what}, by starts on the GPU, which takes {time_with_unit(busy, 1)} for a "
                f"job, longer than the {time_with_unit(median, 1)} between starts on the CPU"
            )
            median = later
    return Period(median, f"the period is {what}") if median >= 1 else None


def by_launches(period: Periods, name: str, count: int, span: int) -> Period | None:
    """Period of a kernel with so many launches in a time; None if it has to be given.

    It is rounded down, which is safe. The distances between launches would be those within bursts.
    """
    if (given := given_period(period, name)) is not None:
        return Period(given, "the period is given", given=True)
    launches = "launch" if count == 1 else "launches"
    said = f"the period is {time_with_unit(span, 1)} of GPU work over {count} {launches}"
    return Period(span // count, said) if span >= count else None


def _median(start: Int64Array) -> tuple[int, str]:
    """The median distance of times, rounded down, and what it is; 0 without a distance."""
    distance = np.sort(np.diff(np.sort(start)))
    if not len(distance):
        return 0, ""
    low, high = int(distance[(len(distance) - 1) // 2]), int(distance[len(distance) // 2])
    bounds = [time_with_unit(int(time), 1) for time in (distance[0], distance[-1])]
    what = f"the median of {len(distance)} distances, {bounds[0]} to {bounds[1]}"
    if len(distance) == 1:
        what = "the only distance between two occurrences"
    return low + (high - low) // 2, what
