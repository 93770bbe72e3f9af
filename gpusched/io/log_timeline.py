"""Timelines of logs of blocks: blocks on SMs, kernels in streams, beside a simulation of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._draw.axes import time_axis
from gpusched._draw.block_lanes import BlockColumns, block_lanes, sm_lanes, trace_columns
from gpusched._draw.lanes import NameColors
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
from gpusched._support.arguments import integer, one_of
from gpusched.io.log_records import Recorded, Simulated
from gpusched.io.simulated_side import SimulatedSide
from gpusched.model.gpu import GPU, as_gpu

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
    held = _core.sm_occupancy(
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
