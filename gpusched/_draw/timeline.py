"""Timeline: lanes with pieces of time and marks, the one model behind pictures and traces.

A result describes itself as a `Timeline`; `timeline_axes` (Matplotlib), `svg` (notebooks) and
`chrome_trace` (Perfetto) know nothing else. All times are ticks, integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from gpusched._draw.axes import LATE, MUTED, TimeAxis, color, time_axis
from gpusched._support.arguments import Int64Array, integer
from gpusched._support.text import clip

Span = tuple[float, float]
"""Top and bottom of a rectangle as shares of its lane, 0 at the lane's top."""

BODY: tuple[Span, ...] = ((0.14, 0.86),)
"""The rectangle of a piece that has a lane for itself."""

ALPHA: Mapping[str, float] = MappingProxyType(
    {"run": 1.0, "copy": 0.75, "idle": 0.35, "frozen": 0.3, "wait": 1.0, "band": 1.0}
)
"""Opacity by style of piece. "band" is drawn behind all lanes, over the whole height."""

PIXELS_PER_POINT = 1.15
"""Pixels of an SVG document per point of a lane."""

NOTHING = -(2**63)
"""Value in a column of numbers or times that means: no value."""

_LABEL = 28  # characters of a lane's name, and of a task's in the legend
_MOST_KEYS = 10  # tasks in the legend
_MOST_NUMBERS = 24  # labels that are numbers
_TEXT = 12.0  # height of a label, in points
_NAME = 200  # of a piece's, in its tooltip

Item = TypeVar("Item")


@dataclass(frozen=True)
class Rows(Generic[Item]):
    """Items that are made anew for each iteration, so that none have to be kept."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


@dataclass(frozen=True, slots=True)
class Lane:
    """A horizontal lane.

    Attributes
    ----------
    name
        Its label.
    group
        Group of the lane, which is a process in a trace.
    height
        Height in a picture, in points; 0 for a lane that is shown in traces only.
    scale
        Labels in the lane instead of its name: (share of the height from the top, text).
    line
        Whether a line is drawn below it.
    """

    name: str
    group: str = ""
    height: float = 28.0
    scale: tuple[tuple[float, str], ...] = ()
    line: bool = True


@dataclass(frozen=True, slots=True)
class Piece:
    """An activity in a lane, from ``start`` to ``end``.

    Attributes
    ----------
    lane
        Index of the lane.
    start, end
        Times in ticks, not cut at the picture's window.
    name
        Name in a trace, and beginning of the tooltip.
    color
        Index into the palette, or an RGB text such as "#999999".
    label
        Short text on the piece, shown if there is room.
    style
        One of ``ALPHA``.
    late
        Whether it belongs to a job that misses its deadline.
    differs
        Whether the other side of a comparison has it in another place or at another time.
    chained
        Whether it belongs to the chain of jobs that the picture shows.
    unfinished
        Whether it had not ended at ``end``, the last known time.
    spans
        Its rectangles in a picture. The label is on the largest run of adjacent ones.
    times
        Further times and durations in ticks, by name; None for missing ones.
    args
        Further values, for traces only.
    """

    lane: int
    start: int
    end: int
    name: str
    color: int | str
    label: str = ""
    style: str = "run"
    late: bool = False
    unfinished: bool = False
    spans: tuple[Span, ...] = BODY
    times: Mapping[str, int | None] = field(default_factory=dict)
    args: Mapping[str, Any] = field(default_factory=dict)
    differs: bool = False
    chained: bool = False

    @property
    def outlined(self) -> bool:
        """Whether pictures draw its outline."""
        return self.late or self.differs or self.chained

    def tip(self, axis: TimeAxis) -> str:
        """One line with everything that a picture knows about it."""
        until = "the end" if self.unfinished else axis.text(self.end)
        parts = [f"{clip(self.name, _NAME)}, {axis.text(self.start)} to {until}"]
        parts += [f"{k} {axis.text(v)}" for k, v in self.times.items() if v is not None]
        return ", ".join(parts) + (" (late)" if self.late else "")

    def place(self) -> Span:
        """The largest run of adjacent rectangles, for the label; the lowest of equal ones."""
        best, run = (0.0, 0.0), (0.0, 0.0)
        for top, bottom in sorted(self.spans):
            run = (run[0], bottom) if top - run[1] < 1e-9 and run != (0.0, 0.0) else (top, bottom)
            if run[1] - run[0] >= best[1] - best[0] - 1e-9:
                best = run
        return best


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in time in a lane.

    Attributes
    ----------
    lane, time
        Index of the lane, and time in ticks.
    kind
        "release" (triangle upwards), "deadline" or "launch" (triangle downwards), "miss" (cross).
    color
        As in `Piece`.
    at
        Position as a share of the lane's height.
    shaft
        Whether a line over the lane's height makes it an arrow.
    label, tip
        A word beside it, and a tooltip.
    """

    lane: int
    time: int
    kind: str
    color: int | str = MUTED
    at: float = 0.93
    shaft: bool = False
    label: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow between points in time of two lanes, or of one; in pictures only.

    Attributes
    ----------
    lane, time, to_lane, to_time
        Lanes and times of its ends.
    dashed
        Whether its line is dashed.
    """

    lane: int
    time: int
    to_lane: int
    to_time: int
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend: a patch of a colour and style, or the mark of a kind."""

    text: str
    color: int | str = MUTED
    style: str = "run"
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Raster:
    """Image in adjacent lanes of one height, over the whole window; in pictures only.

    Attributes
    ----------
    lane, lanes
        Index of the first lane, and their number.
    values
        Index into ``colors`` of each cell, -1 for an empty one: (rows, columns), from the top, with
        the same number of rows for each lane. Columns divide the window into equal parts.
    colors
        RGB texts.
    tip
        Tooltip.
    """

    lane: int
    lanes: int
    values: npt.NDArray[np.int16]
    colors: tuple[str, ...]
    tip: str = ""

    def rectangles(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
        """Cells of one value merged: (value, row, rows, column, columns) of each rectangle."""
        value, row, rows, column, columns = _merged(self.values)
        other, turned, width, above, height = _merged(self.values.T)
        if len(other) < len(value):
            return other, above, height, turned, width
        return value, row, rows, column, columns


@dataclass(frozen=True, slots=True)
class Counter:
    """Values that hold from a point in time on; in traces only."""

    group: str
    name: str
    time: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class Words:
    """A word per row: ``words[index[row]]``."""

    index: Int64Array
    words: tuple[str, ...]


@dataclass(frozen=True)
class PieceColumns:
    """Many pieces of a trace as columns, (pieces,), in lanes that no other pieces are in.

    Attributes
    ----------
    lane, start, end
        As in `Piece`; ordered by start in each lane.
    name
        Parts of the name, to be joined: text, numbers (omitted for ``NOTHING``), words.
    args
        Further numbers and truth values by name.
    times
        Further times and durations in ticks, by name; ``NOTHING`` for missing ones.
    """

    lane: Int64Array
    start: Int64Array
    end: Int64Array
    name: tuple[str | Int64Array | Words, ...]
    args: Mapping[str, Int64Array | npt.NDArray[np.bool_]] = field(default_factory=dict)
    times: Mapping[str, Int64Array] = field(default_factory=dict)


@dataclass(frozen=True)
class CounterColumns:
    """Many values of a counter in several groups as columns, (values,).

    Attributes
    ----------
    groups
        Names of the groups.
    group, time
        Index into ``groups``, and the time from which on the values hold.
    name, values
        As in `Counter`.
    """

    groups: tuple[str, ...]
    group: Int64Array
    time: Int64Array
    name: str
    values: Mapping[str, Int64Array]


@dataclass(frozen=True)
class Timeline:
    """A time interval with its lanes, pieces and marks.

    Attributes
    ----------
    lanes
        Lanes from top to bottom; lanes of one group follow each other.
    pieces
        Pieces in order of start within each lane; a `Rows` if there are too many to keep.
    rasters
        Images below the pieces, for pictures.
    columns
        Further pieces, for traces.
    marks, keys, notes
        Points in time, the legend, and statements about what the picture leaves out.
    numbers
        What numbers on pieces count, such as "jobs"; a note explains it.
    links
        Arrows, for pictures; those that leave the window are not drawn.
    counters
        Counters, for traces.
    since, end
        The interval in ticks. Pictures cut pieces at its ends.
    unit
        Unit of a tick: None, "ns", "us", "ms" or "s".
    title
        Title of the vertical axis, which names the kind of lanes.
    width
        Length of the time axis in inches.
    other
        Facts about the whole timeline, for traces.
    """

    lanes: tuple[Lane, ...]
    pieces: Iterable[Piece]
    since: int = 0
    end: int = 1
    unit: str | None = None
    marks: tuple[Mark, ...] = ()
    keys: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()
    counters: Iterable[Counter] = ()
    columns: Iterable[PieceColumns | CounterColumns] = ()
    title: str = ""
    width: float = 7.2
    other: Mapping[str, Any] = field(default_factory=dict)
    rasters: tuple[Raster, ...] = ()
    numbers: str = ""
    links: tuple[Link, ...] = ()

    @property
    def axis(self) -> TimeAxis:
        """The time axis of the window."""
        return time_axis(self.unit, self.end)

    def note_lines(self, length: int) -> list[str]:
        """The notes in lines of about ``length`` characters; a longer note has its own line."""
        lines: list[str] = []
        numbers = (f"numbers: {self.numbers}",) if self.numbers else ()
        for note in (*numbers, *self.notes):
            if lines and len(lines[-1]) + len(note) + 2 <= length:
                lines[-1] += f"; {note}"
            else:
                lines.append(note)
        return lines

    @property
    def height(self) -> float:
        """Height of all lanes, in points; at least 1."""
        return max(sum(lane.height for lane in self.lanes), 1.0)

    def tops(self) -> list[float]:
        """Top of each lane, in points from the picture's top."""
        tops, top = [], 0.0
        for lane in self.lanes:
            tops.append(top)
            top += lane.height
        return tops

    def cut(self, piece: Piece) -> tuple[int, int]:
        """Start and end of a piece in the window; not in order if it is outside."""
        return max(piece.start, self.since), min(piece.end, self.end)

    def arrows(self) -> Iterator[tuple[Link, float, float]]:
        """Arrows in the window, with the heights of their ends, in points from the top.

        An end is in the middle of its lane, or, in another lane than the other end, at the edge of
        the body of a piece.
        """
        tops, (upper, lower) = self.tops(), BODY[0]
        for link in self.links:
            if not (self.since <= link.time and link.to_time <= self.end):
                continue
            down = (link.to_lane > link.lane) - (link.to_lane < link.lane)
            first = tops[link.lane] + self.lanes[link.lane].height * (0.5, lower, upper)[down]
            last = tops[link.to_lane] + self.lanes[link.to_lane].height * (0.5, upper, lower)[down]
            yield link, first, last

    def misses(self) -> dict[int, list[int]]:
        """Times with a cross, by lane, which labels avoid."""
        found: dict[int, list[int]] = {}
        for mark in self.marks:
            if mark.kind == "miss":
                found.setdefault(mark.lane, []).append(mark.time)
        return found

    def label_span(self, piece: Piece, misses: Mapping[int, list[int]]) -> tuple[int, int]:
        """The part of a piece in the window, on the larger side of a cross."""
        low, high = self.cut(piece)
        for time in misses.get(piece.lane, ()):
            if low < time < high:
                low, high = (low, time) if time - low >= high - time else (time, high)
        return low, high

    def labels(self, room: float) -> list[tuple[float, str]]:
        """Labels of the vertical axis, in points from the top, each ``room`` points high.

        Where lanes are narrower than that, or numbers are many, they are thinned out evenly.
        """
        kept: list[tuple[float, str]] = []
        numbered: list[list[tuple[float, str]]] = [[]]  # adjacent lanes that are numbers
        for top, lane in zip(self.tops(), self.lanes, strict=True):
            if lane.scale:
                kept += [(top + lane.height * share, text) for share, text in lane.scale]
            elif lane.height and lane.name.isdigit():
                numbered[-1].append((top + lane.height / 2, lane.name))
            elif lane.height and lane.name:
                numbered.append([])
                middle = top + lane.height / 2
                if not kept or middle - kept[-1][0] >= room - 1e-6:
                    kept.append((middle, clip(lane.name, _LABEL)))
        heights = [lane.height for lane in self.lanes if lane.name.isdigit() and lane.height]
        step = max(1, -(-int(room * 1000) // int(min(heights, default=room) * 1000)))
        count = max(map(len, numbered))
        if count > _MOST_NUMBERS * step:  # round steps where there are many
            step = 2 ** math.ceil(math.log2(count / _MOST_NUMBERS))
        for numbers in numbered:
            every = numbers[::step]
            kept += [at for at in every if all(abs(at[0] - k[0]) >= room - 1e-6 for k in kept)]
        return sorted(kept)


def labelled(pieces: Iterable[Piece], lanes: Sequence[Lane]) -> bool:
    """Whether a piece is high enough for its label."""
    return any(
        piece.label and (piece.place()[1] - piece.place()[0]) * lanes[piece.lane].height >= _TEXT
        for piece in pieces
    )


def fill_of(shade: int | str) -> str:
    """A colour as RGB text."""
    return shade if isinstance(shade, str) else color(shade)


def late_key() -> Key:
    """The legend's entry for pieces of late jobs."""
    return Key("late", LATE, "late")


def differs_key() -> Key:
    """The legend's entry for pieces that differ from the other side of a comparison."""
    return Key("differs", LATE, "differs")


def _merged(
    values: npt.NDArray[np.int16],
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
    """Runs of a value down the columns, merged with equal ones in the next columns.

    Returns (value, row, rows, column, columns) of each rectangle.
    """
    rows, columns = values.shape
    flat = values.T.ravel()
    new = np.diff(flat, prepend=-2) != 0
    new[::rows] = True
    first = np.flatnonzero(new)
    length = np.diff(np.append(first, rows * columns))
    first, length = first[flat[first] >= 0], length[flat[first] >= 0]
    value, row, column = flat[first].astype(np.int64), first % rows, first // rows
    order = np.lexsort((column, value, length, row))
    value, row, length, column = (part[order] for part in (value, row, length, column))
    starts = np.ones(len(value), dtype=bool)
    starts[1:] = np.diff(column) != 1
    for part in (value, row, length):
        starts[1:] |= np.diff(part) != 0
    kept = np.flatnonzero(starts)
    width = np.diff(np.append(kept, len(value)))
    return value[kept], row[kept], length[kept], column[kept], width


def window(since: Any, until: Any) -> tuple[int, int | None]:
    """A time interval, checked.

    Raises TypeError for values that are not integers, and ValueError for a negative or empty
    interval.
    """
    low = integer(since, "since")
    high = None if until is None else integer(until, "until")
    if low < 0:
        raise ValueError(f"since: got {low}, expected 0 or more")
    if high is not None and high <= low:
        raise ValueError(f"until: got {high}, expected more than since = {low}")
    return low, high


def in_window(
    start: Int64Array,
    end: Int64Array,
    since: int,
    until: int | None,
    last: int,
    most: tuple[int, int],
) -> tuple[Int64Array, int, int]:
    """Choose the pieces that a picture shows.

    Parameters
    ----------
    start, end
        Times of all pieces, (n,), in ticks.
    since, until
        The interval; ``until`` None: to the end, ``last``, or as far as the number of pieces
        allows.
    most
        Maximum number of pieces without ``until``, and with it. If more pieces begin at the start
        of the interval, up to the second number of these are shown.

    Returns
    -------
    tuple
        Indices of the pieces by start, end of the interval, and number of pieces left out.
    """
    inside = np.flatnonzero((end > since) & (start < (last + 1 if until is None else until)))
    inside = inside[np.argsort(start[inside], kind="stable")]
    limit = most[until is not None]
    if len(inside):
        first = max(since, int(start[inside[0]]))
        at_once = int(np.searchsorted(start[inside], first, side="right"))
        limit = max(limit, min(at_once, most[1]))
    stop = last if until is None else until
    hidden = len(inside) - limit
    if hidden <= 0:
        return inside, max(stop, since + 1), 0
    stop = int(start[inside[limit]])
    chosen = inside[:limit]
    if stop > since:  # what starts at that instant is not shown either
        chosen = chosen[start[chosen] < stop]
    return chosen, max(stop, since + 1), len(inside) - len(chosen)


def of_tasks(
    names: Sequence[str],
    lanes: Sequence[Lane],
    pieces: tuple[Piece, ...],
    marks: tuple[Mark, ...],
    *,
    since: int,
    end: int,
    unit: str | None,
    styles: Mapping[str, str],
    hidden: int,
    notes: tuple[str, ...],
    links: tuple[Link, ...] = (),
    chain: str = "",
) -> Timeline:
    """A picture of jobs: pieces in the colours of their tasks, with a legend.

    ``styles``: texts of the styles that pieces may have, for the legend. ``hidden``: later pieces.
    ``chain``: text of the chain whose pieces are outlined, if there is one.
    """
    tasks = sorted({int(piece.color) for piece in pieces if not isinstance(piece.color, str)})
    keys = [Key(clip(names[task], _LABEL), task) for task in tasks[:_MOST_KEYS]]
    if marks:
        keys.append(Key("release", mark="release"))
    used = {piece.style for piece in pieces}
    keys += [Key(text, style=style) for style, text in styles.items() if style in used]
    if any(piece.late for piece in pieces):
        keys.append(late_key())
    if chain:
        keys.append(Key(chain, style="chain"))
    return Timeline(
        lanes=tuple(lanes),
        pieces=pieces,
        since=since,
        end=end,
        unit=unit,
        marks=marks,
        keys=tuple(keys),
        notes=((f"{hidden} later bars not shown",) if hidden else ()) + notes,
        numbers="jobs" if labelled(pieces, lanes) else "",
        links=links,
    )
