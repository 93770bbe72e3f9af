"""Simulation beside a log in a picture: the same blocks on the log's clock, how they differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpusched._draw.axes import TimeAxis
from gpusched._draw.block_lanes import BlockColumns
from gpusched._draw.stream_lanes import StreamColumns
from gpusched._support.arguments import Int64Array, integer
from gpusched._support.text import shown
from gpusched.io.log_records import Recorded, Simulated
from gpusched.model.launches import Launches

__all__ = ["SimulatedSide"]


class SimulatedSide:
    """The blocks of a run that simulates a log's kernels.

    Parameters
    ----------
    log, run
        Kernel k of the log is launch k of the run, with the same number of blocks.
    shift
        Ticks to add to times of the run to get times of the log; None: such that the first launches
        of both coincide.
    tolerance
        Ticks by which a start or an end may differ.

    Raises
    ------
    ValueError, TypeError
        Other kernels or blocks, a run without its blocks, no run.
    """

    def __init__(self, log: Recorded, run: Simulated, shift: Any, tolerance: int) -> None:
        if not isinstance(getattr(run, "launches", None), Launches):
            raise TypeError(f"against: got {shown(run)}, expected a run of gs.simulate.hierarchy")
        ran = run.blocks
        if ran is None:
            raise ValueError("against: got a run without its log, expected one with blocks=True")
        launches, kernels = run.launches, len(log.name)
        if len(launches) != kernels:
            raise ValueError(
                f"against: got {len(launches)} launches, expected {kernels}, as in the log"
            )
        started = np.bincount(ran.kernel, minlength=kernels)
        for k in np.flatnonzero(started != log.blocks)[:1].tolist():
            raise ValueError(
                f"against: got {started[k]} blocks of launch {k} that have started, expected "
                f"{log.blocks[k]}, as in the log"
            )
        self.tolerance = tolerance
        self.log, self.run, self.ran = log, run, ran
        self.shift = 0
        if shift is not None:
            self.shift = integer(shift, "shift")
        elif kernels:
            self.shift = int(log.launch.min()) - int(launches.time.min())
        self.first = self.shift + int(launches.time.min(initial=run.now))
        self.last = self.shift + run.now
        # The row of the log of each of the run's blocks.
        self.rows: Int64Array = np.empty(len(log.kernel), np.int64)
        self.rows[np.lexsort((ran.block, ran.kernel))] = np.lexsort((log.block, log.kernel))

    def gaps(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Start, end and the larger of their distances to the log's, by the run's blocks."""
        start = self.ran.start + self.shift
        end = np.where(self.ran.end >= 0, self.ran.end, self.run.now) + self.shift
        apart = np.abs(start - self.log.start[self.rows])
        return start, end, np.maximum(apart, np.abs(end - self.log.end[self.rows]))

    def blocks(self, measured: BlockColumns, origin: int) -> tuple[BlockColumns, BlockColumns]:
        """Both sides with the ticks by which blocks differ, times since ``origin``."""
        start, end, gap = self.gaps()
        gap[gap <= self.tolerance] = 0
        of_log = np.empty_like(gap)
        of_log[self.rows] = gap
        move = self.shift - origin
        parts = None
        if self.run.launches.contexts > 1:
            frozen, block, since, until = self.run._pieces()
            parts = (frozen, block, since + move, until + move)
        launches, gpu = self.run.launches, self.run.gpu
        warps = max(measured.warps, gpu.warps_per_sm)
        sms = max(measured.sms, gpu.sms)
        simulated = BlockColumns(
            kernel=self.ran.kernel,
            block=self.ran.block,
            sm=self.ran.sm,
            start=start - origin,
            end=end - origin,
            name=measured.name,
            threads=launches.threads,
            context=launches.stream_context[launches.stream],
            sms=sms,
            warps=warps,
            parts=parts,
            gap=gap,
        )
        return replace(measured, gap=of_log, sms=sms, warps=warps), simulated

    def streams(self, measured: StreamColumns, origin: int) -> tuple[StreamColumns, StreamColumns]:
        """Both sides with the ticks by which kernels differ, times since ``origin``."""
        move = self.shift - origin
        first = self.run.first + move
        end = np.where(self.run.end >= 0, self.run.end, self.run.now) + move
        gap = np.maximum(np.abs(first - measured.first), np.abs(end - measured.end))
        gap[gap <= self.tolerance] = 0
        simulated = replace(
            measured,
            launched=self.run.launches.time + move,
            first=first,
            end=end,
            now=self.run.now + move,
            times={},
            gap=gap,
        )
        return replace(measured, gap=gap), simulated

    def notes(self, axis: TimeAxis) -> list[str]:
        """Numbers of blocks that differ in their times, and in their SMs."""
        _, _, gap = self.gaps()
        wrong, total = int((gap > self.tolerance).sum()), len(gap)
        other = int((self.ran.sm != self.log.sm[self.rows]).sum())
        by = f" by more than {axis.text(self.tolerance)} {axis.unit}" if self.tolerance else ""
        return [
            f"{wrong} of {total} blocks differ in time{by}",
            f"{other} are on another SM",
        ]
