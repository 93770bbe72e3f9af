"""Blocks on SMs as columns: the input of pictures by SM and of traces, simulated or recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._draw.timeline import CounterColumns, Lane, PieceColumns, Words
from gpusched._support.arguments import Int64Array

__all__ = ["WARP_THREADS", "BlockColumns", "Flights", "sm_lanes", "trace_columns"]

WARP_THREADS = 32

Parts = tuple[npt.NDArray[np.bool_], Int64Array, Int64Array, Int64Array]
"""Spans in which blocks run or are frozen: (frozen, block, start, end)."""


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """B blocks of K kernels.

    Attributes
    ----------
    kernel, block, sm, start, end
        Shape ``(B,)``: index of the kernel, number of the block in its grid, SM, start and end in
        ticks, which are not negative.
    name, threads, context
        Per kernel, K: name, threads per block, context.
    sms, warps
        Number of SMs of the GPU, and number of warps of an SM.
    peak
        Largest number of warps on an SM at once, if it exceeds ``warps``: recorded starts and ends
        are not exact.
    parts
        Spans of blocks that are frozen in between; None: each block runs from start to end.
    gap
        Shape ``(B,)``: ticks by which a block differs from the other side of a comparison, 0 if
        the difference is tolerated; None without a comparison.
    """

    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    name: tuple[str, ...]
    threads: Int64Array
    context: Int64Array
    sms: int
    warps: int
    parts: Parts | None = None
    gap: Int64Array | None = None
    peak: int = 0

    @property
    def warps_of(self) -> Int64Array:
        """Warps of a block of each kernel, ``(K,)``."""
        warps: Int64Array = -(-self.threads // WARP_THREADS)
        return warps

    def only(self, chosen: npt.NDArray[np.bool_]) -> BlockColumns:
        """The same columns without the spans of blocks that are not ``chosen``."""
        block, start, end = self.running()
        kept = chosen[block]
        running = np.zeros(int(kept.sum()), dtype=bool)
        return replace(self, parts=(running, block[kept], start[kept], end[kept]))

    def running(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Spans in which blocks run: (block, start, end)."""
        if self.parts is None:
            every = np.flatnonzero(self.end > self.start)
            return every, self.start[every], self.end[every]
        frozen, *spans = self.parts
        block, start, end = (column[~frozen] for column in spans)
        return block, start, end


@dataclass(frozen=True, eq=False)
class Flights:
    """Groups of blocks of one kernel that are on one SM for the same time, by start: columns.

    Attributes
    ----------
    kernel, sm, start, end
        Kernel, SM, start and end of the blocks.
    blocks
        Number of blocks.
    first
        Index of one of them.
    gap
        Largest ``gap`` of the blocks.
    """

    kernel: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    blocks: Int64Array
    first: Int64Array
    gap: Int64Array

    @staticmethod
    def of(log: BlockColumns, rows: Int64Array) -> Flights:
        """The flights of some blocks; those that differ and those that do not are apart."""
        gap = np.zeros(len(rows), np.int64) if log.gap is None else log.gap[rows]
        columns = (log.kernel[rows], log.sm[rows], log.start[rows], log.end[rows])
        order = np.lexsort((gap > 0, columns[3], columns[1], columns[0], columns[2]))
        new = np.zeros(len(rows), dtype=bool)
        new[:1] = True
        for column in (*columns, gap > 0):
            new[1:] |= column[order][1:] != column[order][:-1]
        first = np.flatnonzero(new)
        kernel, sm, start, end = (column[order][first] for column in columns)
        largest = np.maximum.reduceat(gap[order], first) if len(first) else gap
        counts = np.diff(np.append(first, len(rows)))
        return Flights(kernel, sm, start, end, counts, rows[order][first], largest)


def sm_lanes(log: BlockColumns) -> list[Lane]:
    """Lanes of a trace: one per SM that is used."""
    return [Lane("blocks", f"SM {sm}") for sm in np.unique(log.sm).tolist()]


def trace_columns(log: BlockColumns) -> list[PieceColumns | CounterColumns]:
    """Blocks while they run, in the lanes of their SMs, and counters of the SMs' warps."""
    used = np.unique(log.sm)
    if not len(used):
        return []
    lanes: Int64Array = np.zeros(log.sms, np.int64)
    lanes[used] = np.arange(len(used))
    block, start, end = log.running()
    order = np.lexsort((block, start))
    block, start, end = block[order], start[order], end[order]
    kernel = log.kernel[block]
    threads: Int64Array = log.threads[kernel]
    sm, time, warps, *_ = _core.sm_occupancy(log.sms, log.sm[block], start, end, threads)
    groups = tuple(f"SM {number}" for number in used.tolist())
    return [
        PieceColumns(
            lane=lanes[log.sm[block]],
            start=start,
            end=end,
            name=(Words(kernel, log.name),),
            args={"launch": kernel, "block": log.block[block], "threads": threads},
        ),
        CounterColumns(groups, lanes[sm], time, "warps", {"warps": warps}),
    ]
