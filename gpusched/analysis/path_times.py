"""Latencies of paths through tasks that release each other or read each other's newest results."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, int_array, spread

__all__ = ["PATH_JOBS", "PathTimes", "path_bounds", "waiting_results"]

PATH_JOBS = 100_000
"""Most jobs of a hyperperiod that are followed for given offsets."""


class PathTimes(NamedTuple):
    """Bounds of the times of a path, in ticks.

    >>> gs.analysis.path_bounds([20], [5]).reaction
    25

    Attributes
    ----------
    latency
        From a sample to the first output that is based on it or on a newer one.
    reaction
        From an event that is just too late for a sample to the first output that reflects it.
    age
        From the sample that an output is based on to that output.
    held_age
        From the sample that an output is based on to the next output, which replaces it.
    """

    latency: int
    reaction: int
    age: int
    held_age: int


def path_bounds(
    period: npt.ArrayLike,
    end: npt.ArrayLike,
    earliest: npt.ArrayLike = 0,
    offset: npt.ArrayLike | None = None,
) -> PathTimes:
    """Bound the times of a path of one or more legs.

    A leg consists of tasks that release each other, from a task that reads the leg before to one
    whose results the next leg reads. A job reads the newest result that is there at an instant
    between its release and its start, and its own result is there when it ends. Old results are
    overwritten.

    >>> gs.analysis.path_bounds([100, 100, 30], [60, 27, 2])
    PathTimes(latency=219, reaction=319, age=289, held_age=319)
    >>> gs.analysis.path_bounds([20, 20, 10], [4, 2, 1], offset=[0, 4, 6])
    PathTimes(latency=7, reaction=27, age=17, held_age=27)

    Parameters
    ----------
    period
        Ticks between two results of each leg, ``(legs,)``: sources release a job every period.
    end
        Latest end of the last task of each leg, from the arrival of its source.
    earliest
        Earliest release of the first task of each leg, likewise. Times of the path begin there.
    offset
        Arrivals of the sources on one clock: jobs arrive at the offset, and every period. None: the
        bounds hold for all phases.

    Returns
    -------
    PathTimes
        Bounds for every scheduler, once each task of the path has read a result. With offsets whose
        hyperperiod has more than ``PATH_JOBS`` jobs they are those of all phases.

    Raises
    ------
    ValueError
        A period is not positive, another entry is negative, an end is before the release, or
        columns differ in length.
    OverflowError
        A bound is 2**62 ticks or more.

    Source: developed for this package. Let a result of a leg be there at f. The first job of the
    next leg that reads at f or later arrives before f + T - A, as the job before it read before f,
    at its arrival + A or later; it ends at most E after its arrival. Backwards, the result that a
    job reads at r is newer than r - T - E, as the next one came after r. Results are read in the
    order of jobs. With offsets the arrivals are known: the next one at f - A or later counts.
    """
    each = [int_array(period, "period")]
    if each[0].ndim != 1 or len(each[0]) == 0:
        raise ValueError(f"period: got shape {each[0].shape}, expected one entry per leg")
    at_least(each[0], 1, "period")
    given = {"end": end, "earliest": earliest, "offset": 0 if offset is None else offset}
    for name, column in given.items():
        array = int_array(column, name)
        at_least(array, 0, name)
        try:
            each.append(spread(array, each[0].shape))
        except ValueError:
            raise ValueError(
                f"{name}: got shape {array.shape}, expected {each[0].shape} as of period"
            ) from None
    legs = list(zip(*(column.tolist() for column in each), strict=True))
    for i, (_, last, first, _) in enumerate(legs):
        if last < first:
            raise ValueError(f"end[{i}]: got {last}, expected at least earliest, {first}")
    total = sum(last - first for _, last, first, _ in legs)
    periods = [leg[0] for leg in legs]
    latency, age = total + sum(periods[1:]), total + sum(periods[:-1])
    if latency + age + periods[0] + periods[-1] >= 2**62:
        raise OverflowError("period: got bounds of 2**62 ticks or more, expected less")
    cycle = math.lcm(*periods)
    if offset is not None and max(cycle // periods[0], cycle // periods[-1]) <= PATH_JOBS:
        if cycle + sum(sum(leg) for leg in legs) < 2**62:
            latency, age = _followed(legs, cycle)
    return PathTimes(latency, latency + periods[0], age, age + periods[-1])


def _followed(legs: list[tuple[int, int, int, int]], cycle: int) -> tuple[int, int]:
    """Latency and age with given offsets: the jobs of a hyperperiod, forwards and backwards."""

    def arrivals(leg: tuple[int, int, int, int]) -> Int64Array:
        return leg[3] + leg[0] * np.arange(cycle // leg[0], dtype=np.int64)

    first = at = arrivals(legs[0])
    for (_, end, _, _), (step, _, least, offset) in pairwise(legs):
        at = offset - (offset + least - end - at) // step * step
    latency = int((at - first).max()) + legs[-1][1] - legs[0][2]
    last = at = arrivals(legs[-1])
    for (step, end, _, offset), (_, _, least, _) in zip(legs[-2::-1], legs[:0:-1], strict=False):
        at = offset + (at + least - end - offset) // step * step
    age = int((last - at).max()) + legs[-1][1] - legs[0][2]
    return latency, age


def waiting_results(end: int, best: int, ended: int, period: int) -> int:
    """Bound the number of results that wait for a task that they release, at most.

    >>> gs.analysis.waiting_results(end=25, best=6, ended=1, period=10)
    2

    Parameters
    ----------
    end
        Latest end of the task, from the arrival of its source.
    best
        Least time of its jobs.
    ended
        Earliest end of the task that releases it, from the arrival of its source.
    period
        Of the task.

    Source: developed for this package. A result that waits came at its arrival + ``ended`` or
    later, and its job starts by its arrival + ``end`` - ``best``; arrivals of results that wait at
    one instant lie in an interval of the difference, open at one end.
    """
    return max(1, -((ended + best - end) // period))
