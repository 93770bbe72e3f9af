"""Sizes of the unmerged scheduling graph of [RTNS24], counted without building it.

Without merging, a vertex is a sequence of batches from the root. Sequences that execute the same
jobs and end at the same time have the same continuations, so it is sufficient to count them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusched.model.batch_table import BatchTable
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["count_paths"]

_State = tuple[int, tuple[int, ...]]  # a time, the executed jobs of each task


def count_paths(tasks: KernelTasks, table: BatchTable, depth: int, orders: bool) -> list[int]:
    """Vertices of the unmerged graph by number of executed jobs, from 0 to ``depth``.

    Parameters
    ----------
    tasks, table
        One set with deadlines no longer than periods and no offsets, and its batch table.
    depth
        Largest number of executed jobs; vertices with this number are not expanded.
    orders
        Whether every order of submission of a batch leads to a vertex of its own, as in the text
        of [RTNS24]: k! vertices for a batch of k jobs, all of which are assumed to fit.
    """
    period, deadline = tasks.period.tolist(), tasks.deadline.tolist()
    completion = table.completion.tolist()
    horizon = math.lcm(*period)
    jobs = [horizon // t for t in period]
    sizes = [mask.bit_count() for mask in range(len(completion))]
    weight = [math.factorial(size) if orders else 1 for size in sizes]
    levels: list[dict[_State, int]] = [{} for _ in range(depth + 1)]
    levels[0][0, (0,) * len(period)] = 1
    for level, states in enumerate(levels):
        for (time, executed), paths in states.items():
            start = _start(time, executed, period, jobs)
            if level == depth or start is None:
                continue
            due = [
                k * t + d if k < m else math.inf
                for k, t, d, m in zip(executed, period, deadline, jobs, strict=True)
            ]
            ready = _ready(start, executed, period, jobs)
            batch = ready
            while batch:
                end = start + completion[batch]
                if (
                    completion[batch]
                    and _in_time(batch, end, due)
                    and level + sizes[batch] <= depth
                ):
                    after = tuple(k + (batch >> i & 1) for i, k in enumerate(executed))
                    reached = levels[level + sizes[batch]]
                    reached[end, after] = reached.get((end, after), 0) + paths * weight[batch]
                batch = (batch - 1) & ready
    return [sum(states.values()) for states in levels]


def _ready(time: int, executed: Sequence[int], period: Sequence[int], jobs: Sequence[int]) -> int:
    return sum(1 << i for i, k in enumerate(executed) if k < min(time // period[i] + 1, jobs[i]))


def _start(
    time: int, executed: Sequence[int], period: Sequence[int], jobs: Sequence[int]
) -> int | None:
    """Start of the next frame: now, or the next arrival; None when every job is executed."""
    if _ready(time, executed, period, jobs):
        return time
    arrivals = [k * t for k, t, m in zip(executed, period, jobs, strict=True) if k < m]
    return min(arrivals, default=None)


def _in_time(batch: int, end: int, due: Sequence[float]) -> bool:
    return all(end <= d if batch >> i & 1 else end < d for i, d in enumerate(due))
