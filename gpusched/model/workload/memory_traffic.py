"""Traffic of kernels with the memory, and how much they slow each other by shares of bandwidth.

Kernels that run together get max-min shares of the bandwidth (``csrc/model/bandwidth.h``). The
factor of a kernel is largest beside the most demanding kernel of every other task, as it does not
fall with the demand of any other one. This is a model of what slows kernels, and no bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gpusched import _core
from gpusched.model.gpus.memory_bandwidth import rate_text
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.platforms import Platform

__all__ = ["demands", "slowdowns"]

Times = Sequence[Sequence[KernelTimes | None]]


def demands(times: Times, platform: Platform) -> list[list[int]] | None:
    """Bytes per second that the kernels of each task move, one for each of its segments.

    None if the platform has no slowdown or no known bandwidth, or if not all kernels say it.

    Raises ValueError for a kernel that moves more than the bandwidth.
    """
    capacity = platform.bandwidth
    if capacity is None or platform.slowdown[1] == 1:
        return None
    found = []
    for row in times:
        own = []
        for of in row:
            if of is None:
                continue
            if (demand := of.demand) is None:
                return None
            if demand > capacity:
                raise ValueError(
                    f"{of.where}: got a traffic of {rate_text(demand)}, expected at most the "
                    f"{rate_text(capacity)} of the platform (bandwidth=)"
                )
            own.append(demand)
        found.append(own)
    return found


def slowdowns(demand: Sequence[Sequence[int]], capacity: int) -> list[list[Fraction]]:
    """The largest factor of each kernel, beside one kernel of every other task.

    >>> from gpusched.model.workload.memory_traffic import slowdowns
    >>> [[str(of) for of in row] for row in slowdowns([[900, 100], [600]], 1000)]
    [['9/5', '1'], ['6/5']]
    """
    largest = [max(own, default=0) for own in demand]
    known: dict[tuple[int, int], Fraction] = {}

    def factor(task: int, own: int) -> Fraction:
        if (task, own) not in known:
            row = np.array([own, *largest[:task], *largest[task + 1 :]], np.int64)
            above, below = _core.bandwidth_slowdowns(row, capacity)
            known[task, own] = Fraction(int(above[0]), int(below[0]))
        return known[task, own]

    return [[factor(i, own) for own in row] for i, row in enumerate(demand)]
