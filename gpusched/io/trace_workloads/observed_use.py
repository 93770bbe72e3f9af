"""Use of the GPU while jobs ran: how much of its time they contain, and how busy it was."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched.io.trace_workloads.candidates import Candidates
from gpusched.io.trace_workloads.gpu_work import GpuWork
from gpusched.io.traces.trace_tables import total
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workload_parts import ObservedTime

__all__ = ["ObservedUse", "observed_use"]


@dataclass(frozen=True)
class ObservedUse:
    """GPU time from the start of the first job to the end of the last, in ns.

    ``time`` has that of kernels, copies, memsets and whole graphs, and how much of it is in the
    jobs. ``load`` is the sum for kernels and graphs, ``busy`` the time in which one or more ran.
    """

    time: ObservedTime
    span: int
    load: int
    busy: int

    @property
    def at_once(self) -> Fraction:
        """The mean number of kernels that ran at once, while one ran."""
        return Fraction(self.load, self.busy) if self.busy else Fraction(1)

    @property
    def text(self) -> str:
        """The part of the interval in which kernels ran."""
        part = self.busy / self.span if self.span else 0
        times = f"{time_with_unit(self.busy, 1)} of {time_with_unit(self.span, 1)}"
        several = f", {float(self.at_once):.3g} of them at once" if self.load > self.busy else ""
        return f"{part:.3g}, kernels ran for {times}{several}"


def observed_use(work: GpuWork, found: Candidates, kept: NDArray[np.bool_]) -> ObservedUse:
    """The use of the GPU in the interval of the occurrences; ``kept`` marks the work in jobs."""
    inside = found.owner >= 0
    first = min(int(found.start.min()), int(work.start[inside].min(initial=2**62)))
    last = max(int(found.end.max()), int(work.end[inside].max(initial=-(2**62))))
    began, ended, graph = work.others
    start, end = np.concatenate([work.start, began]), np.concatenate([work.end, ended])
    kernel = np.concatenate([work.kernel >= 0, graph])
    there = (start < last) & (end > first)
    start, end = np.maximum(start[there], first), np.minimum(end[there], last)
    kernel = kernel[there]
    return ObservedUse(
        time=ObservedTime(total(end - start), total(work.duration[kept])),
        span=last - first,
        load=total((end - start)[kernel]),
        busy=_union(start[kernel], end[kernel]),
    )


def _union(start: Int64Array, end: Int64Array) -> int:
    """The length of the union of intervals."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    before = np.maximum.accumulate(np.concatenate([start[:1], end[:-1]]))
    return total(np.maximum(end - np.maximum(start, before), 0))
