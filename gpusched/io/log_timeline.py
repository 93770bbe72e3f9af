"""Timelines of logs of blocks: blocks on SMs, kernels in streams, beside a simulation of them.

A simulation has the same blocks on the log's clock, with marks where it differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._draw.axes import TimeAxis, time_axis
from gpusched._draw.block_lanes import (
    BlockColumns,
    NameColors,
    block_lanes,
    sm_lanes,
    trace_columns,
)
from gpusched._draw.stream_lanes import STREAMS, StreamColumns, launch_pieces, stream_lanes
from gpusched._draw.timeline import (
    CounterColumns,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Raster,
    Rows,
    Timeline,
    differs_key,
)
from gpusched._support.arguments import Int64Array, integer, one_of
from gpusched._support.text import shown
from gpusched.model.gpu import GPU, as_gpu
from gpusched.model.launches import Launches


class Blocks(Protocol):
    """Protocol of blocks that ran: columns, (blocks,)."""

    @property
    def kernel(self) -> Int64Array: ...
    @property
    def block(self) -> Int64Array: ...
    @property
    def sm(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...


class Recorded(Blocks, Protocol):
    """Protocol of a log: its blocks, and the columns of its kernels."""

    @property
    def name(self) -> npt.NDArray[np.object_]: ...
    @property
    def stream(self) -> Int64Array: ...
    @property
    def launch(self) -> Int64Array: ...
    @property
    def blocks(self) -> Int64Array: ...
    @property
    def threads(self) -> Int64Array: ...
    @property
    def joined(self) -> Int64Array: ...
    @property
    def stream_name(self) -> tuple[str, ...]: ...
    @property
    def scenario(self) -> str: ...
    @property
    def first(self) -> Int64Array: ...
    @property
    def dispatched(self) -> Int64Array: ...
    @property
    def ended(self) -> Int64Array: ...


class Simulated(Protocol):
    """Protocol of a simulation with its blocks."""

    @property
    def launches(self) -> Launches: ...
    @property
    def gpu(self) -> GPU: ...
    @property
    def now(self) -> int: ...
    @property
    def first(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def blocks(self) -> Blocks | None: ...
    def _pieces(self) -> tuple[npt.NDArray[np.bool_], Int64Array, Int64Array, Int64Array]: ...


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


VIEWS = ("sm", "stream")
_LONGEST = 2**60  # ticks of a picture
_MOST_SMS = 2**20


@dataclass(frozen=True)
class Options:
    """Arguments of a picture, as ``BlockLog.plot`` takes them."""

    by: str
    gpu: GPU | str | None
    unit: str | None
    since: Any
    until: Any
    against: Simulated | None
    shift: Any
    tolerance: Any


def picture(log: Recorded, options: Options) -> Timeline:
    """Timeline of a window; its time 0 is the first instant of the log or of the run beside it."""
    one_of(options.by, VIEWS, "by")
    tolerance = integer(options.tolerance, "tolerance")
    if tolerance < 0:
        raise ValueError(f"tolerance: got {tolerance}, expected 0 or more")
    origin, last = _span(log)
    side = None
    if options.against is not None:
        side = SimulatedSide(log, options.against, options.shift, tolerance)
        origin, last = min(origin, side.first), max(last, side.last)
        if last - origin > _LONGEST:
            raise ValueError(f"shift: got {side.shift}, expected times within {_LONGEST} ticks")
    since, until = _window(options.since, options.until, origin)
    last = max(last - origin, 1)
    axis = time_axis(options.unit, last if until is None else until)
    names = NameColors(tuple(log.name.tolist()))
    title, rasters, marks = "", list[Raster](), list[Mark]()
    if options.by == "sm":
        gpu = options.gpu if options.gpu is not None or side is None else side.run.gpu
        blocks = _columns(log, gpu, origin)
        both = (blocks,) if side is None else side.blocks(blocks, origin)
        on_sms = block_lanes(both, names, axis, since, until, last)
        lanes, pieces, notes, end = on_sms.lanes, on_sms.pieces, on_sms.notes, on_sms.end
        title, rasters, keys = on_sms.title, on_sms.rasters, names.keys(on_sms.colors)
    else:
        streams = _streams(log, origin)
        pair = (streams,) if side is None else side.streams(streams, origin)
        drawn = stream_lanes(pair, names, since, until)
        lanes, pieces, notes, end = drawn.lanes, drawn.pieces, drawn.notes, drawn.end
        marks, keys = drawn.marks, names.keys(drawn.colors())
    if any(piece.differs for piece in pieces):
        keys.append(differs_key())
    if origin:
        notes.insert(0, f"0 is {origin} of the log")
    return Timeline(
        lanes=tuple(lanes),
        pieces=tuple(pieces),
        since=since,
        end=end,
        unit=options.unit,
        marks=tuple(marks),
        keys=tuple(keys),
        notes=(*notes, *([] if side is None else side.notes(axis))),
        title=title,
        rasters=tuple(rasters),
    )


def trace(log: Recorded, gpu: GPU | str | None) -> Timeline:
    """Timeline of the whole log: blocks of each SM, kernels in streams."""
    blocks = _columns(log, gpu, 0)
    lanes = sm_lanes(blocks)
    first = len(lanes)
    lanes += [Lane(name, STREAMS) for name in log.stream_name]

    def pieces() -> Iterator[Piece]:
        rows = np.argsort(log.first, kind="stable")
        yield from launch_pieces(_streams(log, 0), rows, NameColors(blocks.name), first)

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        yield from trace_columns(blocks)

    other: dict[str, Any] = {"scenario": log.scenario} if log.scenario else {}
    if gpu is not None:
        other["gpu"] = as_gpu(gpu).name
    return Timeline(lanes=tuple(lanes), pieces=Rows(pieces), columns=Rows(columns), other=other)


def _span(log: Recorded) -> tuple[int, int]:
    """The log's first and last instants."""
    if not len(log.name):
        return 0, 1
    first = min(int(log.launch.min()), int(log.start.min()))
    last = max(int(log.launch.max()), int(log.end.max()))
    if last - first > _LONGEST:
        raise ValueError(
            f"end: got times from {first} to {last}, expected {_LONGEST} ticks at most"
        )
    return first, last


def _window(since: Any, until: Any, origin: int) -> tuple[int, int | None]:
    """A window of the log's clock, in ticks since the picture's origin."""
    low = origin if since is None else max(integer(since, "since"), origin)
    high = None if until is None else integer(until, "until")
    if high is not None and high <= low:
        raise ValueError(f"until: got {high}, expected more than {low}, where the picture begins")
    latest = low if high is None else high
    if latest - origin > _LONGEST:
        raise ValueError(
            f"window: got {latest}, expected {_LONGEST} ticks at most from {origin} on"
        )
    return low - origin, None if high is None else high - origin


def _columns(log: Recorded, gpu: GPU | str | None, origin: int) -> BlockColumns:
    """The blocks of a log; without a GPU, an SM has room for the warps that the log has on one."""
    sms, warps = int(log.sm.max(initial=0)) + 1, 1
    if sms > _MOST_SMS:
        raise ValueError(f"sm: got {sms - 1}, expected less than {_MOST_SMS} in a picture or trace")
    if gpu is not None:
        known = as_gpu(gpu)
        if sms > known.sms:
            raise ValueError(f"gpu: got {known.sms} SMs, expected {sms} at least, as in the log")
        sms, warps = known.sms, known.warps_per_sm
    ran = np.flatnonzero(log.end > log.start)
    held = _core.sm_usage(
        sms, log.sm[ran], log.start[ran], log.end[ran], log.threads[log.kernel[ran]]
    )
    peak = int(held[2].max(initial=1))
    return BlockColumns(
        kernel=log.kernel,
        block=log.block,
        sm=log.sm,
        start=log.start - origin,
        end=log.end - origin,
        name=tuple(log.name.tolist()),
        threads=log.threads,
        context=np.zeros(len(log.name), np.int64),  # which blocks are frozen is not recorded
        sms=sms,
        warps=peak if gpu is None else warps,
        peak=peak,
    )


def _streams(log: Recorded, origin: int) -> StreamColumns:
    """The kernels of a log in their streams."""
    return StreamColumns(
        name=tuple(log.name.tolist()),
        stream=log.stream,
        launched=log.launch - origin,
        first=log.first - origin,
        end=log.ended - origin,
        now=int(log.end.max(initial=origin)) - origin,
        stream_name=log.stream_name,
        times={"joined": log.joined - origin, "dispatched": log.dispatched - origin},
    )
