"""Timelines of runs of the scheduling hierarchy: blocks on SMs, launches in streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.axes import PALETTE, time_axis
from gpusched._draw.block_lanes import (
    SHOWN_BOXES,
    BlockColumns,
    NameColors,
    block_lanes,
    side_by_side,
    sm_lanes,
    trace_columns,
)
from gpusched._draw.stream_lanes import STREAMS, StreamColumns, launch_pieces, share, stream_lanes
from gpusched._draw.timeline import (
    CounterColumns,
    Key,
    Lane,
    Piece,
    PieceColumns,
    Rows,
    Timeline,
    window,
)
from gpusched._support.arguments import Int64Array, one_of
from gpusched._support.text import clip
from gpusched.model.launch_columns import KERNEL
from gpusched.model.launches import Launches
from gpusched.simulate.hierarchy_tables import (
    REASONS,
    Blocks,
    Slices,
    WaitRecords,
    reason_of,
    wait_sentences,
)

VIEWS = ("sm", "stream")

_LEAST_HEIGHT = 11.0  # of a lane with a name, in points
_SHADES = ("#D9D9D9", "#969696", "#BDBDBD", "#737373")  # of contexts
_ENGINES, _CONTEXTS = "copy engines", "contexts"
_STRIP = (0.76, 0.92)  # of the waits of a launch, in the stream's lane

_WAITS = {
    "after": "#7F7F7F",
    "null_stream": "#B2182B",
    "channel": "#7B3294",
    "slice": "#BDBDBD",
    "priority": "#1A1A8C",
    "queue": "#4D4D4D",
    "warps": "#B8860B",
    "blocks": "#D9A400",
    "registers": "#8C6D31",
    "shared_memory": "#E07B39",
    "carveout": "#C51B7D",
    "partition": "#4D9221",
    "cooperative": "#276419",
    "cluster": "#01665E",
    "grids": "#542788",
    "copy_engine": "#2F8F8F",
}


class Records(WaitRecords, Protocol):
    """Protocol of a run: the records that are drawn."""

    @property
    def placement(self) -> str: ...
    @property
    def copy_engines(self) -> tuple[str, ...]: ...
    @property
    def engine(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def blocks(self) -> Blocks | None: ...
    @property
    def slices(self) -> Slices: ...
    @property
    def outcome(self) -> str: ...
    @property
    def now(self) -> int: ...
    def _log(self) -> Blocks: ...
    def _pieces(self) -> tuple[npt.NDArray[np.bool_], Int64Array, Int64Array, Int64Array]: ...


def picture(
    run: Records, by: str, unit: str | None, since: Any, until: Any, warps: int = 1
) -> Timeline:
    """Timeline of a window, by "sm" or by "stream"; a lane of an SM has room for ``warps``."""
    one_of(by, VIEWS, "by")
    low, high = window(since, until)
    return _by_sm(run, unit, low, high, warps) if by == "sm" else _by_stream(run, unit, low, high)


def trace(run: Records) -> Timeline:
    """Timeline of the whole run: blocks of each SM, streams, copy engines, contexts."""
    launches = run.launches
    blocks = None if run.blocks is None else _columns(run)
    lanes = [] if blocks is None else sm_lanes(blocks)
    first = len(lanes)
    lanes += [Lane(name, STREAMS) for name in launches.stream_name]
    engines = len(lanes)
    copies = _copy_lanes(run)
    lanes += copies
    contexts = len(lanes)
    if launches.contexts > 1:
        lanes += [Lane(name, _CONTEXTS) for name in _context_names(launches)]

    def pieces() -> Iterator[Piece]:
        names = NameColors(launches.name)
        begun = np.flatnonzero(run.first >= 0)
        begun = begun[np.argsort(run.first[begun], kind="stable")]
        yield from launch_pieces(_streams(run), begun, names, first, more=_told(run))
        if copies:
            yield from _copies(run, begun[launches.kind[begun] > 0], names, engines)
        if launches.contexts > 1:
            yield from _slices(run, np.arange(len(run.slices)), contexts)

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        if blocks is not None:
            yield from trace_columns(blocks)

    return Timeline(
        lanes=tuple(lanes),
        pieces=Rows(pieces),
        columns=Rows(columns),
        other={"gpu": run.gpu.name, "placement": run.placement, "outcome": run.outcome},
    )


def _told(run: Records) -> Callable[[int], dict[str, Any]]:
    """The waits of a launch in words, for traces."""
    order = np.argsort(run.waits.launch, kind="stable")
    begin = np.searchsorted(run.waits.launch[order], np.arange(len(run.launches) + 1))
    return lambda i: {"waits": wait_sentences(run, i, order[begin[i] : begin[i + 1]])}


# SMs


def _columns(run: Records) -> BlockColumns:
    """The log of blocks."""
    log, launches = run._log(), run.launches
    return BlockColumns(
        kernel=log.kernel,
        block=log.block,
        sm=log.sm,
        start=log.start,
        end=np.where(log.end >= 0, log.end, run.now),
        name=launches.name,
        threads=launches.threads,
        context=launches.stream_context[launches.stream],
        sms=run.gpu.sms,
        warps=run.gpu.warps_per_sm,
        parts=run._pieces() if launches.contexts > 1 else None,
    )


def _colors(launches: Launches) -> NameColors:
    """Colours by the names of launches; by those of streams where only these are few enough."""
    if len(set(launches.name)) > len(PALETTE) >= launches.streams:
        streams = launches.stream_name  # in their order: those of a workload's tasks
        return NameColors(tuple(streams[s] for s in launches.stream.tolist()), streams)
    return NameColors(launches.name)


def _by_sm(run: Records, unit: str | None, since: int, until: int | None, least: int) -> Timeline:
    copies = _copy_lanes(run)
    several = run.launches.contexts > 1
    names, last = _colors(run.launches), max(run.now, 1)
    axis = time_axis(unit, last if until is None else until)
    more = len(copies) + several
    drawn = block_lanes([_columns(run)], names, axis, since, until, last, least, more)
    sms, end = len(drawn.lanes), drawn.end
    height = max(drawn.height, _LEAST_HEIGHT)
    lanes = [*drawn.lanes, *(replace(lane, height=height) for lane in copies)]
    lanes += [Lane("context", _CONTEXTS, height)] if several else []
    begun = np.flatnonzero((run.launches.kind != KERNEL) & (run.first >= 0))
    begun, hidden = _inside(run, begun, since, end)
    pieces = list(_copies(run, begun, names, sms))
    drawn.colors |= {piece.color for piece in pieces if isinstance(piece.color, int)}
    if several:
        pieces += _slices(run, _slices_inside(run, since, end), len(lanes) - 1, names)
    notes = [f"{hidden} more copies are not shown"] if hidden else []
    return Timeline(
        lanes=tuple(lanes),
        pieces=(*drawn.pieces, *pieces),
        since=since,
        end=end,
        unit=unit,
        keys=tuple(names.keys(drawn.colors)),
        notes=(*drawn.notes, *notes, *_outcome_note(run)),
        title=drawn.title,
        rasters=tuple(drawn.rasters),
    )


# Copies and contexts


def _used_engines(run: Records) -> list[int]:
    """The copy engines that have lanes: those that served a copy."""
    found: list[int] = np.unique(run.engine[run.engine >= 0]).tolist()
    return found


def _copy_lanes(run: Records) -> list[Lane]:
    lanes = []
    for e in _used_engines(run):
        direction = run.copy_engines[e]
        name = "copies" if direction == "both" else f"copies {direction}"
        if run.copy_engines.count(direction) > 1:
            name += f" {run.copy_engines[: e + 1].count(direction)}"
        lanes.append(Lane(name, _ENGINES))
    return lanes


def _inside(run: Records, rows: Int64Array, since: int, end: int) -> tuple[Int64Array, int]:
    """Of some launches that have begun, the first in the window, by start, and how many follow."""
    ends = np.where(run.end >= 0, run.end, run.now)
    rows = rows[(ends[rows] > since) & (run.first[rows] < end)]
    rows = rows[np.argsort(run.first[rows], kind="stable")]
    return rows[: SHOWN_BOXES[1]], max(0, len(rows) - SHOWN_BOXES[1])


def _copies(run: Records, rows: Int64Array, names: NameColors, lane: int) -> Iterator[Piece]:
    """Pieces of copies, in the lane of their engine, ``lane`` that of the first."""
    lanes = {e: lane + k for k, e in enumerate(_used_engines(run))}
    for i in rows.tolist():
        name = run.launches.name[i]
        yield Piece(
            lane=lanes[int(run.engine[i])],
            start=int(run.first[i]),
            end=int(run.end[i]) if run.end[i] >= 0 else run.now,
            name=name,
            color=names.color(i),
            label=clip(name, 16),
            unfinished=bool(run.end[i] < 0),
            args={"launch": i, "bytes": int(run.launches.bytes[i])},
        )


def _slices_inside(run: Records, since: int, end: int) -> Int64Array:
    ends = np.where(run.slices.end >= 0, run.slices.end, run.now)
    return np.flatnonzero((ends > since) & (run.slices.start < end))[: SHOWN_BOXES[1]]


def _context_names(launches: Launches) -> list[str]:
    """A context is named after its streams where they have one name: a process of one stream.

    Streams without launches, such as those of tasks without GPU work, do not count.
    """
    found: list[set[str]] = [set() for _ in range(launches.contexts)]
    for stream in np.unique(launches.stream).tolist():
        found[int(launches.stream_context[stream])].add(launches.stream_name[stream])
    alone = [min(names) if len(names) == 1 else "" for names in found]
    return [
        name if name and alone.count(name) == 1 else f"context {c}" for c, name in enumerate(alone)
    ]


def _slices(
    run: Records, rows: Int64Array, lane: int, colors: NameColors | None = None
) -> Iterator[Piece]:
    """Pieces of time slices, in one lane in the colours of pictures, or in one per context."""
    names, apart = _context_names(run.launches), colors is None
    for k in rows.tolist():
        context, end = int(run.slices.context[k]), int(run.slices.end[k])
        yield Piece(
            lane=lane + context * apart,
            start=int(run.slices.start[k]),
            end=end if end >= 0 else run.now,
            name="slice" if apart else f"slice of {names[context]}",
            color=_shade(context, names[context], colors),
            label=clip(names[context].removeprefix("context "), 16),
            unfinished=end < 0,
        )


def _shade(context: int, name: str, colors: NameColors | None) -> int | str:
    """The colour of a context whose stream has one, else a grey."""
    found = None if colors is None else colors.index.get(name)
    return _SHADES[context % len(_SHADES)] if found is None else found


# Streams


def _streams(run: Records) -> StreamColumns:
    """The launches in their streams."""
    launches = run.launches
    return StreamColumns(
        name=launches.name,
        stream=launches.stream,
        launched=launches.time,
        first=run.first,
        end=run.end,
        now=run.now,
        stream_name=launches.stream_name,
        times={name: getattr(run, name) for name in ("head", "joined", "dispatched")},
        mixed=(launches.graph >= 0) | (launches.programmatic > 0),
    )


def _by_stream(run: Records, unit: str | None, since: int, until: int | None) -> Timeline:
    several = run.launches.contexts > 1
    names = _colors(run.launches)
    drawn = stream_lanes([_streams(run)], names, since, until, several)
    lanes = list(drawn.lanes)
    lanes += [Lane("context", _CONTEXTS, drawn.height)] if several else []
    by_name = names.names is run.launches.name
    keys = names.keys(drawn.colors()) if by_name else []  # lanes have the names of streams
    waiting = list(_waiting(run, drawn.shown, since, drawn.end))
    told = {piece.color for piece in waiting}
    keys += [Key(f"wait: {r.replace('_', ' ')}", _WAITS[r]) for r in _WAITS if _WAITS[r] in told]
    pieces = [*drawn.pieces, *waiting]
    if several:
        pieces += _slices(run, _slices_inside(run, since, drawn.end), len(lanes) - 1, names)
    return Timeline(
        lanes=tuple(lanes),
        pieces=tuple(pieces),
        since=since,
        end=drawn.end,
        unit=unit,
        marks=tuple(drawn.marks),
        keys=tuple(keys),
        notes=(*drawn.notes, *_outcome_note(run)),
    )


def _waiting(run: Records, shown: Int64Array, since: int, end: int) -> Iterator[Piece]:
    """Pieces of what the launches at the heads of their streams waited for."""
    launches, left = run.launches, SHOWN_BOXES[1]
    found = []  # (start, end, launch, waits, row)
    for waits in (run.waits, run.pending):
        graph = launches.graph[waits.launch]
        # Waits for the launch before, and for nodes of the same graph: the order as it was given.
        own = (graph >= 0) & (graph == launches.graph[waits.blocker])
        own &= waits.why == REASONS.index("after")
        chosen = np.isin(waits.launch, shown) & (waits.why != REASONS.index("stream")) & ~own
        for k in np.flatnonzero(chosen)[:left].tolist():
            stop = int(waits.end[k]) if waits.end[k] >= 0 else end
            if max(int(waits.start[k]), since) < min(stop, end):
                found.append((int(waits.start[k]), stop, int(waits.launch[k]), waits, k))
        left = max(0, left - int(chosen.sum()))
    found.sort(key=lambda each: each[0])
    in_stream: dict[int, list[int]] = {}
    for at, each in enumerate(found):
        in_stream.setdefault(int(launches.stream[each[2]]), []).append(at)
    for stream, members in in_stream.items():
        rows = [found[at] for at in members]
        places = side_by_side([each[0] for each in rows], [each[1] for each in rows])
        for (start, stop, launch, waits, k), place in zip(rows, places, strict=True):
            name = clip(launches.name[launch], 80)
            yield Piece(
                lane=stream,
                start=start,
                end=stop,
                name=f"{name} waits {reason_of(run, waits, k)}",
                color=_WAITS[REASONS[waits.why[k]]],
                style="wait",
                unfinished=bool(waits.end[k] < 0),
                spans=(share(_STRIP, *place),),
            )


def _outcome_note(run: Records) -> tuple[str, ...]:
    if run.outcome == "done":
        return ()
    return (f"{run.outcome}: {int((run.end < 0).sum())} launches have not ended",)
