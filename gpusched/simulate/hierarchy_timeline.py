"""Timelines of runs of the scheduling hierarchy: blocks on SMs, launches in streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.lanes import Placement, Run, spans, split
from gpusched._draw.timeline import (
    CounterColumns,
    Key,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Span,
    Timeline,
    Words,
    in_window,
    window,
)
from gpusched._support.arguments import Int64Array, one_of
from gpusched._support.text import clip
from gpusched.simulate import hierarchy_why
from gpusched.simulate.hierarchy_tables import REASONS, Blocks, Occupancy, Slices

VIEWS = ("sm", "stream")

# Boxes that a picture shows: without ``until``, and with it. More are only counted.
SHOWN_BOXES = (700, 4000)
_MOST_ROWS = 192  # SMs
_MOST_STREAMS = 48
_MOST_BLOCKS = 3000  # above it, the blocks that start together on an SM are drawn as one
_LEGEND = 10  # names in the legend
_LABEL = 28  # characters of a name
_HALF = 13  # of one that is cut in the middle
_SHADES = ("#D9D9D9", "#969696", "#BDBDBD", "#737373")  # of contexts
_STREAMS, _ENGINES, _CONTEXTS = "streams", "copy engines", "contexts"

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
    "copy_engine": "#2F8F8F",
}


class Records(hierarchy_why.Records, Protocol):
    """Protocol of a run: the records that are drawn."""

    @property
    def placement(self) -> str: ...
    @property
    def copy_engines(self) -> int: ...
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
    def occupancy(self) -> Occupancy: ...
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
    none: Int64Array = np.zeros(0, np.int64)
    used = none if run.blocks is None else np.unique(run.blocks.sm)
    lane_of: Int64Array = np.zeros(run.gpu.sms, np.int64)
    lane_of[used] = np.arange(len(used))
    lanes = [Lane("blocks", f"SM {sm}") for sm in used.tolist()]
    first = len(lanes)
    lanes += [Lane(name, _STREAMS) for name in launches.stream_name]
    engines = len(lanes)
    copies = _copy_lanes(run)
    lanes += copies
    contexts = len(lanes)
    if launches.contexts > 1:
        lanes += [Lane(f"context {c}", _CONTEXTS) for c in range(launches.contexts)]

    def pieces() -> Iterator[Piece]:
        names = _Names(launches.name)
        begun = np.flatnonzero(run.first >= 0)
        begun = begun[np.argsort(run.first[begun], kind="stable")]
        yield from _launches(run, begun, names, first, waits=True)
        if copies:
            yield from _copies(run, begun[launches.kind[begun] > 0], names, engines)
        if launches.contexts > 1:
            yield from _slices(run, np.arange(len(run.slices)), contexts, apart=True)

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        if len(used):
            yield _blocks(run, lane_of)
            yield _held(run, used, lane_of)

    return Timeline(
        lanes=tuple(lanes),
        pieces=Rows(pieces),
        columns=Rows(columns),
        other={"gpu": run.gpu.name, "placement": run.placement, "outcome": run.outcome},
    )


class _Names:
    """Colours of launches: one for all of a name."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.index: dict[str, int] = {}
        for name in names:
            self.index.setdefault(name, len(self.index))

    def color(self, launch: int) -> int:
        return self.index[self.names[launch]]

    def keys(self, pieces: Iterable[Piece]) -> list[Key]:
        """Entries of the legend for the colours of pieces."""
        found = {piece.color for piece in pieces if isinstance(piece.color, int)}
        used = sorted(found)[:_LEGEND]
        names = list(self.index)
        texts = [clip(names[k], _LABEL) for k in used]
        # Names that begin alike, as those of templates do, are told apart by their ends.
        return [
            Key(
                f"{clip(names[k][:_HALF], _HALF)}…{clip(names[k][-_HALF:], _HALF)}"
                if texts.count(text) > 1
                else text,
                k,
            )
            for k, text in zip(used, texts, strict=True)
        ]


# SMs


@dataclass
class _Flights:
    """Blocks of one kernel that are on one SM from one instant to another: columns."""

    kernel: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    blocks: Int64Array
    first: Int64Array  # its first block in the log


def _flights(run: Records) -> _Flights:
    log = run._log()
    columns = (log.kernel, log.sm, log.start, np.where(log.end >= 0, log.end, run.now))
    order = np.lexsort((columns[3], columns[1], columns[0], columns[2]))
    new = np.zeros(len(log), dtype=bool)
    for column in columns:
        new |= np.diff(column[order], prepend=-2) != 0
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(log)))
    kernel, sm, start, end = (column[order][first] for column in columns)
    return _Flights(kernel, sm, start, end, counts, order[first])


def _by_sm(run: Records, unit: str | None, since: int, until: int | None, least: int) -> Timeline:
    flights = _flights(run)
    sms = min(run.gpu.sms, _MOST_ROWS)
    last = max(run.now, 1)
    shown, end, hidden = in_window(flights.start, flights.end, since, until, last, SHOWN_BOXES)
    copies = _copy_lanes(run)
    several = run.launches.contexts > 1
    height = min(max(300 / (sms + len(copies) + several), 3.2), 60.0)
    lanes = [Lane(str(s), f"SM {s}", height) for s in range(sms)]
    lanes += [Lane(lane.name, lane.group, height) for lane in copies]
    lanes += [Lane("context", _CONTEXTS, height)] if several else []
    names = _Names(run.launches.name)
    places = _warps_of(run, flights, shown)
    # Where SMs are far from full, the lanes show the part of them that is used.
    total = run.gpu.warps_per_sm
    peak = max((at + size for runs in places.values() for at, size in runs), default=1)
    drawn = total
    while drawn >= 2 * max(peak, least):
        drawn = -(-drawn // 2)
    title = "SM" if drawn == total else f"SM ({drawn} of {total} warps)"
    pieces = list(_flying(run, flights, shown, places, names, drawn))
    pieces = [piece for piece in pieces if piece.lane < sms]
    begun = np.flatnonzero((run.launches.kind > 0) & (run.first >= 0))
    pieces += _copies(run, _inside(run, begun, since, end), names, sms)
    if several:
        pieces += _slices(run, _slices_inside(run, since, end), len(lanes) - 1)
    notes = [f"SMs {sms} to {run.gpu.sms - 1} are not shown"] if run.gpu.sms > sms else []
    notes += [f"{hidden} more groups of blocks are not shown"] if hidden else []
    return Timeline(
        lanes=tuple(lanes),
        pieces=tuple(pieces),
        since=since,
        end=end,
        unit=unit,
        keys=tuple(names.keys(pieces)),
        notes=(*notes, *_outcome_note(run)),
        title=title,
    )


def _flying(
    run: Records,
    flights: _Flights,
    shown: Int64Array,
    places: dict[int, list[Run]],
    names: _Names,
    drawn: int,
) -> Iterator[Piece]:
    """Pieces of blocks that start together, frozen or running, on their SM's warps."""
    parts = _parts_of(run, flights, shown)
    whole = int(flights.blocks[shown].sum()) > _MOST_BLOCKS
    warps = (-(-run.launches.threads // 32)).tolist()
    columns = (flights.kernel, flights.sm, flights.blocks)
    rows = zip(shown.tolist(), *(column[shown].tolist() for column in columns), strict=True)
    for flight, kernel, sm, blocks in rows:
        name = run.launches.name[kernel]
        count = "1 block" if blocks == 1 else f"{blocks} blocks"
        runs = places[flight]
        boxes: tuple[Span, ...] = spans(
            runs if whole else split(runs, warps[kernel]), drawn, 0.04, 0.96
        )
        for frozen, start, end in parts[flight]:
            yield Piece(
                lane=sm,
                start=start,
                end=end,
                name=f"{clip(name, 80)}: {count} of {run.launches.threads[kernel]} threads on "
                f"SM {sm}{', frozen' if frozen else ''}",
                color=names.color(kernel),
                label="" if frozen else clip(name, 16),
                style="frozen" if frozen else "run",
                spans=boxes,
            )


def _warps_of(run: Records, flights: _Flights, shown: Int64Array) -> dict[int, list[Run]]:
    """By flight, the warps of its SM on which it is drawn: the lowest that are free."""
    contexts = run.launches.stream_context[run.launches.stream].tolist()
    warps = (-(-run.launches.threads // 32)).tolist()
    room: dict[tuple[int, int], Placement] = {}
    found = {}
    columns = (flights.kernel, flights.sm, flights.start, flights.end, flights.blocks)
    rows = zip(shown.tolist(), *(column[shown].tolist() for column in columns), strict=True)
    for flight, kernel, sm, start, end, blocks in rows:
        key = (contexts[kernel], sm)  # frozen blocks keep their warps
        placement = room.setdefault(key, Placement(run.gpu.warps_per_sm))
        found[flight] = placement.place(start, end, blocks, warps[kernel])
    return found


def _parts_of(
    run: Records, flights: _Flights, shown: Int64Array
) -> dict[int, list[tuple[bool, int, int]]]:
    """By flight: (frozen, start, end)."""
    if run.launches.contexts == 1:
        ends = zip(flights.start[shown].tolist(), flights.end[shown].tolist(), strict=True)
        return {k: [(False, *at)] for k, at in zip(shown.tolist(), ends, strict=True)}
    of = {first: k for k, first in zip(shown.tolist(), flights.first[shown].tolist(), strict=True)}
    found: dict[int, list[tuple[bool, int, int]]] = {k: [] for k in shown.tolist()}
    for frozen, block, start, end in zip(*(c.tolist() for c in run._pieces()), strict=True):
        if block in of:
            found[of[block]].append((frozen, start, end))
    return found


def _blocks(run: Records, lanes: Int64Array) -> PieceColumns:
    """Pieces of single blocks while they run, by SM and start; ``lanes`` by SM."""
    log, launches = run._log(), run.launches
    frozen, block, start, end = run._pieces()
    alive = np.flatnonzero(~frozen)
    if launches.contexts > 1:  # else blocks are in the order of their starts
        alive = alive[np.lexsort((block[alive], start[alive]))]
    kernel = log.kernel[block[alive]]
    threads: Int64Array = launches.threads[kernel]
    return PieceColumns(
        lane=lanes[log.sm[block[alive]]],
        start=start[alive],
        end=end[alive],
        name=(Words(kernel, launches.name),),
        args={"launch": kernel, "block": log.block[block[alive]], "threads": threads},
    )


def _held(run: Records, used: Int64Array, lanes: Int64Array) -> CounterColumns:
    """Warps of the SMs over time."""
    held = run.occupancy()
    groups = tuple(f"SM {sm}" for sm in used.tolist())
    return CounterColumns(groups, lanes[held.sm], held.time, "warps", {"warps": held.warps})


# Copies and contexts


def _copy_lanes(run: Records) -> list[Lane]:
    if not (run.launches.kind > 0).any():
        return []
    names = ("copies",) if run.copy_engines == 1 else ("copies in", "copies out")
    return [Lane(name, _ENGINES) for name in names]


def _inside(run: Records, rows: Int64Array, since: int, end: int) -> Int64Array:
    """Of some launches that have begun, the first in the window, by start."""
    ends = np.where(run.end >= 0, run.end, run.now)
    rows = rows[(ends[rows] > since) & (run.first[rows] < end)]
    return rows[np.argsort(run.first[rows], kind="stable")][: SHOWN_BOXES[1]]


def _copies(run: Records, rows: Int64Array, names: _Names, lane: int) -> Iterator[Piece]:
    """Pieces of copies, in the lane of their engine, ``lane`` that of the first."""
    for i in rows.tolist():
        name = run.launches.name[i]
        yield Piece(
            lane=lane + int(run.copy_engines == 2 and run.launches.kind[i] == 2),
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


def _slices(run: Records, rows: Int64Array, lane: int, apart: bool = False) -> Iterator[Piece]:
    """Pieces of time slices, in one lane or in one per context."""
    for k in rows.tolist():
        context, end = int(run.slices.context[k]), int(run.slices.end[k])
        yield Piece(
            lane=lane + context * apart,
            start=int(run.slices.start[k]),
            end=end if end >= 0 else run.now,
            name="slice" if apart else f"context {context}",
            color=_SHADES[context % len(_SHADES)],
            label=str(context),
            unfinished=end < 0,
        )


# Streams


def _by_stream(run: Records, unit: str | None, since: int, until: int | None) -> Timeline:
    launches = run.launches
    streams = min(launches.streams, _MOST_STREAMS)
    last = max(run.now, int(launches.time.max(initial=0)), 1)
    # A launch is in the picture from its launch on, even if it never starts.
    known = np.where(run.end >= 0, run.end, last + 1)
    shown, end, hidden = in_window(launches.time, known, since, until, last, SHOWN_BOXES)
    shown = shown[launches.stream[shown] < streams]
    several = launches.contexts > 1
    height = min(max(300 / (streams + several), 14.0), 34.0)
    lanes = [Lane(clip(name, 20), _STREAMS, height) for name in launches.stream_name[:streams]]
    lanes += [Lane("context", _CONTEXTS, height)] if several else []
    names = _Names(launches.name)
    marks = tuple(
        Mark(int(launches.stream[i]), int(launches.time[i]), "launch", names.color(i), 0.1)
        for i in shown.tolist()
        if since <= launches.time[i] < end
    )
    pieces = list(_launches(run, shown[run.first[shown] >= 0], names))
    keys = names.keys([*pieces, *(Piece(0, 0, 0, "", mark.color) for mark in marks)])
    waiting = list(_waiting(run, shown, since, end))
    told = {piece.color for piece in waiting}
    keys += [Key(f"wait: {r.replace('_', ' ')}", _WAITS[r]) for r in _WAITS if _WAITS[r] in told]
    pieces += waiting
    if several:
        pieces += _slices(run, _slices_inside(run, since, end), streams)
    notes = []
    if launches.streams > streams:
        notes.append(f"{launches.streams - streams} more streams are not shown")
    if hidden:
        notes.append(f"{hidden} more launches are not shown")
    return Timeline(
        lanes=tuple(lanes),
        pieces=tuple(pieces),
        since=since,
        end=end,
        unit=unit,
        marks=marks,
        keys=tuple(keys),
        notes=(*notes, *_outcome_note(run)),
    )


def _launches(
    run: Records, rows: Int64Array, names: _Names, lane: int = 0, waits: bool = False
) -> Iterator[Piece]:
    """Pieces of launches that have begun, in the lanes of their streams from ``lane`` on."""
    launches = run.launches
    order = begin = None
    if waits:
        order = np.argsort(run.waits.launch, kind="stable")
        begin = np.searchsorted(run.waits.launch[order], np.arange(len(launches) + 1))
    for i in rows.tolist():
        args: dict[str, Any] = {"launch": i}
        times: dict[str, int | None] = {"launched": int(launches.time[i])}
        for name in ("head", "joined", "dispatched"):
            value = int(getattr(run, name)[i])
            times[name] = value if value >= 0 else None
        if order is not None and begin is not None:
            args["waits"] = hierarchy_why.sentences(run, i, order[begin[i] : begin[i + 1]])
        yield Piece(
            lane=lane + int(launches.stream[i]),
            start=int(run.first[i]),
            end=int(run.end[i]) if run.end[i] >= 0 else run.now,
            name=launches.name[i],
            color=names.color(i),
            label=clip(launches.name[i], 16),
            unfinished=bool(run.end[i] < 0),
            spans=((0.2, 0.72),),
            times=times,
            args=args,
        )


def _waiting(run: Records, shown: Int64Array, since: int, end: int) -> Iterator[Piece]:
    """Pieces of what the launches at the heads of their streams waited for."""
    left = SHOWN_BOXES[1]
    for waits in (run.waits, run.pending):
        chosen = np.isin(waits.launch, shown) & (waits.why != REASONS.index("stream"))
        for k in np.flatnonzero(chosen)[:left].tolist():
            launch, reason = int(waits.launch[k]), REASONS[waits.why[k]]
            stop = int(waits.end[k]) if waits.end[k] >= 0 else end
            if max(int(waits.start[k]), since) >= min(stop, end):
                continue
            name = clip(run.launches.name[launch], 80)
            yield Piece(
                lane=int(run.launches.stream[launch]),
                start=int(waits.start[k]),
                end=stop,
                name=f"{name} waits {hierarchy_why.reason_of(run, waits, k)}",
                color=_WAITS[reason],
                style="wait",
                unfinished=bool(waits.end[k] < 0),
                spans=((0.76, 0.92),),
            )
        left = max(0, left - int(chosen.sum()))


def _outcome_note(run: Records) -> tuple[str, ...]:
    if run.outcome == "done":
        return ()
    return (f"{run.outcome}: {int((run.end < 0).sum())} launches have not ended",)
