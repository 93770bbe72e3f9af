"""Pictures of blocks on SMs: a lane per SM, of one log or of two that are compared.

A block's piece is as high as its share of the SM's warps, and stays on the lowest warps that are
free at its start. Where blocks are too many for pieces, or lanes too thin for their heights, the
lanes show mean numbers of warps instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched._draw.axes import LATE, TimeAxis
from gpusched._draw.block_columns import BlockColumns, Flights
from gpusched._draw.block_means import COLUMNS, THIN, Shares, mean_warps, raster
from gpusched._draw.lanes import Placement, Run, spans, split
from gpusched._draw.name_colors import NameColors
from gpusched._draw.timeline import PIXELS_PER_POINT, Lane, Piece, Raster, Span
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

__all__ = ["SHOWN_BOXES", "SIDES", "BlockLanes", "block_lanes"]

SHOWN_BOXES = (700, 4000)
"""Pieces that a picture shows: without an end of the window, and with it."""

SIDES = ("measured", "simulated")
"""The two logs of a comparison."""

_MOST_BLOCKS = 3000  # above it, the blocks that start together on an SM are drawn as one
_HEIGHT = 300.0  # of all SMs, in points
_HEIGHT_OF_PAIRS = 480.0
_TALLEST = 60.0
_MOST_ROWS = 144  # more SMs share rows
_THINNEST = 6  # pixels of a lane
_MOST_PAIRS = 16  # SMs of which the two logs are drawn next to each other
_HEADING = 22.0
_DIFFERING = 18.0
_BODY = (0.04, 0.96)


@dataclass
class BlockLanes:
    """Lanes of a picture, from top to bottom, and what is in them.

    Attributes
    ----------
    end
        Where the window ends, in ticks.
    height
        Of an SM's lane, in points.
    title
        Of the vertical axis.
    lanes, pieces, rasters, notes
        Parts of the timeline.
    colors
        Indices of the colours that are used.
    """

    end: int
    height: float
    title: str = "SM"
    lanes: list[Lane] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    rasters: list[Raster] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    colors: set[int] = field(default_factory=set)


def block_lanes(
    sides: Sequence[BlockColumns],
    names: NameColors,
    axis: TimeAxis,
    since: int,
    until: int | None,
    last: int,
    least: int = 1,
    more: int = 0,
) -> BlockLanes:
    """Lanes of the SMs in a window.

    Parameters
    ----------
    sides
        One log, or two of the same kernels and GPU: measured and simulated.
    names
        Of the kernels.
    axis
        Notation of times.
    since, until, last
        The window in ticks; ``until`` None: up to ``last``.
    least
        Warps that a lane has room for at least; a lane is half as high, a quarter, ... as its SM
        where no more are used.
    more
        Number of further lanes of the same height that the picture has.
    """
    group = -(-sides[0].sms * len(sides) // _MOST_ROWS)  # SMs of a row
    rows = -(-sides[0].sms // group)
    pairs = len(sides) == 2 and rows <= _MOST_PAIRS
    least_height = _THINNEST / PIXELS_PER_POINT
    whole = _HEIGHT_OF_PAIRS / 2 if pairs else _HEIGHT
    height = min(max(whole / (rows + more), least_height), _TALLEST)
    drawn = BlockLanes(max(last if until is None else until, since + 1), height)
    first = _lanes(drawn, len(sides), pairs, rows, group)
    limit = SHOWN_BOXES[until is not None]
    chosen = [_inside(side, since, last + 1 if until is None else until) for side in sides]
    flights = None
    # At most 32 blocks, the most of any SM, are in one flight: longer logs are not grouped.
    if group == 1 and height >= THIN and sum(map(len, chosen)) <= 32 * limit:
        flights = [Flights.of(side, inside) for side, inside in zip(sides, chosen, strict=True)]
        if sum(len(each.kernel) for each in flights) > limit:
            flights = None
    if group > 1:
        drawn.notes.append(f"a row is {group} SMs")
    if flights is not None:
        places = [_places(side, each) for side, each in zip(sides, flights, strict=True)]
        found = (run for each in places for runs in each for run in runs)
        room = _room(
            drawn, sides[0].warps, max((at + size for at, size in found), default=1), least
        )
        for number, side in enumerate(sides):
            lanes = first[number] + (1 + pairs) * np.arange(rows)
            head = f"{SIDES[number]}: " if len(sides) == 2 else ""
            boxes = _boxes(side, flights[number], places[number], names, lanes, room, head)
            drawn.pieces += boxes
        drawn.colors |= {piece.color for piece in drawn.pieces if isinstance(piece.color, int)}
    else:
        classes = names.classes()
        means = [mean_warps(side, classes, since, drawn.end, group) for side in sides]
        fullest = min(max(float(m.sum(axis=1).max()) for m in means), sides[0].warps)
        room = _room(drawn, sides[0].warps, fullest, least)
        part = max(1, (drawn.end - since) // COLUMNS)
        shade = ", paler where fewer" if height < THIN else ""
        part = round(part, 2 - len(str(part)))  # two digits
        drawn.notes.append(f"mean warps over {axis.text(part)} {axis.unit}{shade}")
        if pairs:  # lanes of the two sides take turns
            means = [np.stack(means, axis=1).reshape(-1, *means[0].shape[1:])]
        for lane, mean in zip(first, means, strict=False):
            shown = raster(mean / room, lane, height, drawn.notes[-1])
            drawn.rasters.append(shown)
            drawn.colors |= names.used(np.flatnonzero(mean.any(axis=(0, 2))))
    if len(sides) == 2:
        _differing(drawn, sides[0], since)
    return drawn


def _lanes(drawn: BlockLanes, sides: int, pairs: bool, rows: int, group: int) -> list[int]:
    """Add the lanes of the SMs; the first one of each side."""
    if pairs:
        for row in range(rows):
            drawn.lanes.append(Lane(str(row), f"SM {row}", drawn.height, line=False))
            drawn.lanes.append(Lane("", f"SM {row}", drawn.height))
        drawn.notes.append(f"{SIDES[0]} above, {SIDES[1]} below")
        return [0, 1]
    first = []
    for side in range(sides):
        if sides == 2:
            drawn.lanes.append(Lane(SIDES[side], "", _HEADING, line=False))
        first.append(len(drawn.lanes))
        drawn.lanes += [
            Lane(str(row * group), f"SM {row * group}", drawn.height, line=drawn.height >= THIN)
            for row in range(rows)
        ]
    return first


def _inside(side: BlockColumns, since: int, until: int) -> Int64Array:
    """Blocks in a window; one of length 0 at its beginning is, too."""
    ends = (side.end > since) | (side.start == since)
    return np.flatnonzero(ends & (side.start < until))


def _room(drawn: BlockLanes, total: int, peak: float, least: int) -> int:
    """Warps that a lane has room for; the title and the notes say them if it is not ``total``."""
    room = total
    while room > 1 and room >= 2 * max(peak, least):
        room = -(-room // 2)
    if room != total:
        drawn.title = f"SM ({room} of {total} warps)"
    if peak > total:
        room = math.ceil(peak)
        drawn.notes.append(f"up to {room} warps are on an SM that has room for {total}")
    return room


def _places(side: BlockColumns, flights: Flights) -> list[list[Run]]:
    """The warps of its SM on which each flight is drawn: the lowest that are free."""
    contexts, warps = side.context.tolist(), side.warps_of.tolist()
    room: dict[tuple[int, int], Placement] = {}
    found = []
    columns = (flights.kernel, flights.sm, flights.start, flights.end, flights.blocks)
    for kernel, sm, start, end, blocks in zip(*(c.tolist() for c in columns), strict=True):
        key = (contexts[kernel], sm)  # frozen blocks keep their warps
        placement = room.setdefault(key, Placement(max(side.warps, side.peak)))
        found.append(placement.place(start, end, blocks, warps[kernel]))
    return found


def _boxes(
    side: BlockColumns,
    flights: Flights,
    places: list[list[Run]],
    names: NameColors,
    lanes: Int64Array,
    room: int,
    head: str,
) -> Iterator[Piece]:
    """Pieces of blocks that start together, frozen or running, on their SM's warps."""
    parts = _parts(side, flights)
    whole = int(flights.blocks.sum()) > _MOST_BLOCKS
    warps, lane_of = side.warps_of.tolist(), lanes.tolist()
    outlined = bool(side.gap is not None)
    columns = (flights.kernel, flights.sm, flights.blocks, flights.gap)
    for k, (kernel, sm, blocks, gap) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        name = side.name[kernel]
        count = "1 block" if blocks == 1 else f"{blocks} blocks"
        boxes: tuple[Span, ...] = spans(
            places[k] if whole else split(places[k], warps[kernel]), room, *_BODY
        )
        for frozen, start, end in parts[k]:
            yield Piece(
                lane=lane_of[sm],
                start=start,
                end=end,
                name=f"{head}{clip(name, 80)}: {count} of {side.threads[kernel]} threads on "
                f"SM {sm}{', frozen' if frozen else ''}",
                color=names.color(kernel),
                label="" if frozen else clip(name, 16),
                style="frozen" if frozen else "run",
                spans=boxes,
                differs=outlined and gap > 0,
                times={"differs by up to": gap} if gap else {},
            )


def _parts(side: BlockColumns, flights: Flights) -> list[list[tuple[bool, int, int]]]:
    """Of each flight: (frozen, start, end)."""
    if side.parts is None:
        ends = zip(flights.start.tolist(), flights.end.tolist(), strict=True)
        return [[(False, *at)] for at in ends]
    of = {first: k for k, first in enumerate(flights.first.tolist())}
    found: list[list[tuple[bool, int, int]]] = [[] for _ in of]
    chosen = np.isin(side.parts[1], flights.first)
    for frozen, block, start, end in zip(*(c[chosen].tolist() for c in side.parts), strict=True):
        found[of[block]].append((frozen, start, end))
    return found


def _differing(drawn: BlockLanes, side: BlockColumns, since: int) -> None:
    """A lane with the share of the running warps that are of blocks that differ."""
    assert side.gap is not None
    one = np.zeros(len(side.name), np.int64)
    every = mean_warps(side, one, since, drawn.end, side.sms)
    marked = mean_warps(side.only(side.gap > 0), one, since, drawn.end, side.sms)
    shares: Shares = np.divide(marked, every, out=np.zeros_like(every), where=every > 0)
    shown = raster(shares, len(drawn.lanes), _DIFFERING, "share that differs")
    drawn.rasters.append(Raster(shown.lane, 1, shown.values, (LATE,), shown.tip))
    drawn.lanes.append(Lane("differing", "", _DIFFERING, line=False))
