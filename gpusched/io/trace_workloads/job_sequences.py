"""Jobs of a task as sequences of GPU operations; their common sequence; times by rank."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.io.trace_workloads.gpu_work import GpuWork
from gpusched.io.traces.trace_tables import total

__all__ = ["CommonSequence", "by_occurrence", "common_sequence", "ranked", "ranked_row"]


@dataclass(frozen=True, eq=False)
class CommonSequence:
    """The most frequent sequence of the jobs of a task.

    ``jobs`` are the occurrences that have it, ``rows`` their operations, one row each. ``others``
    are the occurrences with other GPU work, ``empty`` those without any; ``longest_other`` and
    ``longest`` are the largest GPU times of a job of the others, and of those that are kept;
    ``time_of_others`` is the sum of those of the others.
    """

    jobs: Int64Array
    rows: Int64Array
    others: int
    empty: int
    longest: int
    longest_other: int
    time_of_others: int


def by_occurrence(
    work: GpuWork, owner: Int64Array, order: Int64Array, count: int
) -> tuple[Int64Array, Int64Array]:
    """Operations sorted by occurrence, then by ``order``; where those of each begin.

    The second array has ``count + 1`` entries. Operations without an occurrence are left out.
    """
    rows = np.lexsort((work.start, order, owner))
    rows = rows[owner[rows] >= 0]
    return rows, np.searchsorted(owner[rows], np.arange(count + 1))


def common_sequence(
    work: GpuWork, occurrences: Int64Array, rows: Int64Array, begin: Int64Array
) -> CommonSequence:
    """The sequence of operations that most of these occurrences have.

    Occurrences without GPU work count only if all are without. Among equally frequent sequences,
    the one with the larger total GPU time is taken, then the one that comes first. Operations are
    equal if they are launches of one kernel with the same threads, registers and shared memory, or
    copies in the same direction; grids may differ.
    """
    groups: dict[bytes, list[int]] = {}
    bounds = zip(begin[occurrences].tolist(), begin[occurrences + 1].tolist(), strict=True)
    for number, (first, last) in zip(occurrences.tolist(), bounds, strict=True):
        groups.setdefault(work.kernel[rows[first:last]].tobytes(), []).append(number)
    empty = groups.pop(b"", [])
    if not groups:
        return CommonSequence(occurrences, np.zeros((len(empty), 0), np.int64), 0, 0, 0, 0, 0)
    sums = np.concatenate([[0], np.cumsum(work.end[rows] - work.start[rows])])
    busy = sums[begin[1:]] - sums[begin[:-1]]
    best = max(groups, key=lambda key: (len(groups[key]), int(busy[groups[key]].sum())))
    jobs = np.array(groups.pop(best), np.int64)
    length = int(begin[jobs[0] + 1] - begin[jobs[0]])
    others = [number for those in groups.values() for number in those]
    return CommonSequence(
        jobs=jobs,
        rows=rows[begin[jobs][:, None] + np.arange(length)],
        others=len(others),
        empty=len(empty),
        longest=int(busy[jobs].max()),
        longest_other=int(busy[others].max()) if others else 0,
        time_of_others=total(busy[others]),
    )


def ranked(times: Int64Array, quantile: Fraction) -> Int64Array:
    """For each column, the smallest value that at least this part of the rows does not exceed."""
    ascending: Int64Array = np.sort(times, axis=0)
    return np.asarray(ascending[_rank(len(times), quantile)])


def ranked_row(times: Int64Array, blocks: Int64Array, quantile: Fraction) -> Int64Array:
    """For each column, the row of that value; among equal ones, a row with the most blocks."""
    equal = times == ranked(times, quantile)
    return np.asarray(np.where(equal, blocks, -1).argmax(axis=0))


def _rank(count: int, quantile: Fraction) -> int:
    return max(-(-quantile.numerator * count // quantile.denominator), 1) - 1
