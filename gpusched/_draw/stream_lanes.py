"""Pictures of kernels in streams: a lane per stream, of one log or of two that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._draw.block_lanes import SHOWN_BOXES, SIDES, NameColors, side_by_side
from gpusched._draw.timeline import Lane, Mark, Piece, Span, in_window
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

STREAMS = "streams"
"""The group of the lanes."""

_MOST_STREAMS = 48
_BODY = ((0.2, 0.72),)
_MOST_HIGHER = 7  # rows of overlapping launches that make the lane of their stream higher
_NO_PLACES: Mapping[int, tuple[int, int]] = MappingProxyType({})
_HALVES = (((0.16, 0.48),), ((0.54, 0.86),))


@dataclass(frozen=True, eq=False)
class StreamColumns:
    """Launches in streams as columns, (launches,), in ticks.

    Attributes
    ----------
    name, stream, launched
        Name of the launch, index of its stream, and time of the launch.
    first, end
        Start and end; -1 for events that did not happen.
    now
        The last known time.
    stream_name
        Names of the streams.
    times
        Further times by name; -1 for missing ones.
    gap
        Ticks by which a launch differs from the other side of a comparison; 0 if the difference is
        tolerated.
    mixed
        Whether a launch may run beside others of its stream (bool); such launches share the height
        of the lane. None: no launch may.
    """

    name: tuple[str, ...]
    stream: Int64Array
    launched: Int64Array
    first: Int64Array
    end: Int64Array
    now: int
    stream_name: tuple[str, ...]
    times: Mapping[str, Int64Array] = field(default_factory=dict)
    gap: Int64Array | None = None
    mixed: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class StreamLanes:
    """Lanes of a picture, and what is in them.

    Attributes
    ----------
    lanes, pieces, marks, notes
        Parts of the timeline.
    shown
        The launches that are drawn, by the times of their launches.
    end
        Where the window ends, in ticks.
    height
        Of a lane, in points.
    """

    lanes: list[Lane]
    pieces: list[Piece]
    marks: list[Mark]
    notes: list[str]
    shown: Int64Array
    end: int
    height: float

    def colors(self) -> list[int | str]:
        """Colours of the pieces and marks."""
        return [*(piece.color for piece in self.pieces), *(mark.color for mark in self.marks)]


def stream_lanes(
    sides: Sequence[StreamColumns],
    names: NameColors,
    since: int,
    until: int | None,
    more: int = 0,
) -> StreamLanes:
    """Lanes of the streams in a window.

    Parameters
    ----------
    sides
        One log, or two of the same launches: measured and simulated. Those launches are drawn that
        are in the window on the first side.
    names
        Of the launches.
    since, until
        The window in ticks; ``until`` None: to the end, or as far as the number of pieces allows.
    more
        Number of further lanes that the picture has.
    """
    one, two = sides[0], len(sides) == 2
    streams = min(len(one.stream_name), _MOST_STREAMS)
    last = max(max(side.now, int(side.launched.max(initial=0)), 1) for side in sides)
    # A launch is in the picture from its launch on, even if it never starts.
    begin = np.minimum(one.launched, np.where(one.first >= 0, one.first, one.launched))
    known = np.where(one.end >= 0, one.end, last + 1)
    shown, end, hidden = in_window(begin, known, since, until, last, SHOWN_BOXES)
    shown = shown[one.stream[shown] < streams]
    height = min(max(300 / max(streams + more, 1), 24.0 if two else 14.0), 44.0 if two else 34.0)
    marks = [
        Mark(int(one.stream[i]), int(one.launched[i]), "launch", names.color(i), 0.1)
        for i in shown.tolist()
        if since <= one.launched[i] < end
    ]
    pieces: list[Piece] = []
    rows = [1] * streams  # a lane of several rows is higher
    for number, side in enumerate(sides):
        body, head = (_HALVES[number], f"{SIDES[number]}: ") if two else (_BODY, "")
        begun = shown[side.first[shown] >= 0]
        places = _places(side, begun)
        for i, (_, count) in places.items():
            stream = int(side.stream[i])
            rows[stream] = max(rows[stream], min(count, _MOST_HIGHER))
        pieces += launch_pieces(side, begun, names, 0, body, head, places=places)
    notes = [f"{SIDES[0]} above, {SIDES[1]} below"] if two else []
    if len(one.stream_name) > streams:
        notes.append(f"{len(one.stream_name) - streams} more streams are not shown")
    if hidden:
        notes.append(f"{hidden} more launches are not shown")
    lanes = [
        Lane(clip(name, 20), STREAMS, height * (1 + count) / 2)
        for name, count in zip(one.stream_name, rows, strict=False)
    ]
    return StreamLanes(lanes, pieces, marks, notes, shown, end, height)


def launch_pieces(
    side: StreamColumns,
    rows: Int64Array,
    names: NameColors,
    lane: int = 0,
    spans: tuple[Span, ...] = _BODY,
    head: str = "",
    more: Callable[[int], Mapping[str, Any]] | None = None,
    places: Mapping[int, tuple[int, int]] = _NO_PLACES,
) -> Iterator[Piece]:
    """Pieces of launches that have begun, in the lanes of their streams from ``lane`` on.

    ``more``: further values of a launch, for traces. ``places``: row and number of rows of the
    launches that share a lane's height.
    """
    for i in rows.tolist():
        times: dict[str, int | None] = {"launched": int(side.launched[i])}
        times |= {key: int(at[i]) if at[i] >= 0 else None for key, at in side.times.items()}
        gap = 0 if side.gap is None else int(side.gap[i])
        if gap:
            times["differs by up to"] = gap
        yield Piece(
            lane=lane + int(side.stream[i]),
            start=int(side.first[i]),
            end=int(side.end[i]) if side.end[i] >= 0 else side.now,
            name=head + side.name[i],
            color=names.color(i),
            label=clip(side.name[i], 16),
            unfinished=bool(side.end[i] < 0),
            spans=tuple(share(span, *places.get(i, (0, 1))) for span in spans),
            times=times,
            args={"launch": i, **(more(i) if more else {})},
            differs=gap > 0,
        )


def _places(side: StreamColumns, rows: Int64Array) -> dict[int, tuple[int, int]]:
    """Rows in the lanes of streams whose launches may overlap: nodes of graphs, primaries."""
    found: dict[int, tuple[int, int]] = {}
    if side.mixed is None:
        return found
    for stream in np.unique(side.stream[side.mixed]).tolist():
        mine = rows[side.stream[rows] == stream]
        mine = mine[np.argsort(side.first[mine], kind="stable")]
        ends = np.where(side.end[mine] >= 0, side.end[mine], side.now)
        places = side_by_side(side.first[mine].tolist(), ends.tolist())
        found |= zip(mine.tolist(), places, strict=True)
    return found


def share(span: Span, row: int, rows: int) -> Span:
    """One of the rows of a span."""
    top, height = span[0], (span[1] - span[0]) / rows
    return top + height * row, top + height * (row + 1)
