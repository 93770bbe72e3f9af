"""Cut points: where the kernels of jobs are divided into units that run without interruption.

A unit keeps the GPU until all of its kernels have ended, so the jobs of other tasks wait for it.
Where tables have fewer rows than jobs have kernels, consecutive kernels become units. What a task
tolerates is its slack, the time from the end of its work alone to its deadline; a unit is the
worse, the longer it is relative to the least slack of the other tasks. This is the placement of
preemption points under limited preemption, with a number of points for all tasks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

__all__ = ["cut_points"]


def cut_points(
    times: Sequence[Sequence[int]], deadlines: Sequence[int], most: int
) -> list[list[int]]:
    """Numbers of kernels of each unit, for each chain of kernels.

    Of all divisions into at most ``most`` units, one whose worst unit is the least bad: the largest
    quotient of a unit's time and the least slack of the other tasks is minimal. What is left of the
    units divides the chains with the worst units further, as long as that makes these shorter.

    Raises ValueError for more chains than units.
    """
    if len(times) > most:
        raise ValueError(
            f"tasks: got {len(times):,} with kernels, expected at most {most}, the units of a table"
        )
    slack = [max(1, due - sum(of_task)) for of_task, due in zip(times, deadlines, strict=True)]
    if len(times) == 1:
        return [[len(times[0])]]
    tolerance = [min(slack[:i] + slack[i + 1 :]) for i in range(len(slack))]
    found = _least_bad(times, tolerance, most)
    found = [_evenly(of_task, len(sizes)) for of_task, sizes in zip(times, found, strict=True)]
    spare, left = most - sum(map(len, found)), set(range(len(times)))
    while left:
        worst = max(left, key=lambda i: _badness([found[i]], [times[i]], [tolerance[i]]))
        longest = max(_times_of(found[worst], times[worst]))
        finer = _fewest(times[worst], longest - 1)
        if not finer or (more := len(finer) - len(found[worst])) > spare:
            left.remove(worst)
        else:
            found[worst] = _evenly(times[worst], len(finer))
            spare -= more
    return found


def _least_bad(
    times: Sequence[Sequence[int]], tolerance: Sequence[int], most: int
) -> list[list[int]]:
    """The division with the least bad worst unit."""
    found = [[len(of_task)] for of_task in times]
    # What is worse than `good` is not looked at; nothing is possible within `bad`.
    good, bad = _badness(found, times, tolerance), Fraction(0)
    while bad < good:
        middle = (bad + good) / 2
        if good - bad < Fraction(1, 1 << 20) * good:  # the last steps take the next worse division
            middle = _below(good, times, tolerance)
        tried = _within(middle, times, tolerance)
        if sum(map(len, tried)) <= most and all(tried):
            found, good = tried, _badness(tried, times, tolerance)
        elif good - bad < Fraction(1, 1 << 20) * good:
            return found
        else:
            bad = middle
    return found


def _within(
    badness: Fraction, times: Sequence[Sequence[int]], tolerance: Sequence[int]
) -> list[list[int]]:
    """The fewest units of each chain that are at most so bad; none where a kernel is worse."""
    return [
        _fewest(of_task, int(badness * most))
        for of_task, most in zip(times, tolerance, strict=True)
    ]


def _fewest(times: Sequence[int], limit: int) -> list[int]:
    """The fewest units of at most ``limit`` ticks; none if a kernel is longer."""
    if max(times) > limit:
        return []
    sizes, used = [0], 0
    for time in times:
        if used + time > limit:
            sizes.append(0)
            used = 0
        sizes[-1] += 1
        used += time
    return sizes


def _badness(
    units: Sequence[Sequence[int]],
    times: Sequence[Sequence[int]],
    tolerance: Sequence[int],
) -> Fraction:
    """The largest quotient of a unit's time and what the other tasks tolerate."""
    return max(
        Fraction(max(_times_of(sizes, of_task)), most)
        for sizes, of_task, most in zip(units, times, tolerance, strict=True)
    )


def _times_of(sizes: Sequence[int], times: Sequence[int]) -> list[int]:
    """The times of units."""
    ends = list(accumulate(sizes, initial=0))
    return [sum(times[begin:end]) for begin, end in pairwise(ends)]


def _evenly(times: Sequence[int], most: int) -> list[int]:
    """A division into at most so many units whose longest is as short as possible."""
    least, enough = max(times), sum(times)
    while least < enough:
        middle = (least + enough) // 2
        if len(_fewest(times, middle)) <= most:
            enough = middle
        else:
            least = middle + 1
    return _fewest(times, enough)


def _below(badness: Fraction, times: Sequence[Sequence[int]], tolerance: Sequence[int]) -> Fraction:
    """The largest quotient of whole ticks and a tolerance that is less bad."""
    return max(
        Fraction(-(-badness.numerator * most // badness.denominator) - 1, most)
        for most in tolerance
    )
