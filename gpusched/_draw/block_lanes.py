"""Pictures of blocks on SMs: a lane per SM, of one log or of two that are compared.

The input are blocks as columns, simulated or recorded. A block's piece is as high as its share of
the SM's warps, and stays on the lowest warps that are free at its start. Where blocks are too many
for pieces, or lanes too thin for their heights, the lanes show mean numbers of warps instead.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._draw.axes import LATE, PALETTE, TimeAxis
from gpusched._draw.timeline import (
    PIXELS_PER_POINT,
    CounterColumns,
    Key,
    Lane,
    Piece,
    PieceColumns,
    Raster,
    Span,
    Words,
)
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

Run = tuple[int, int]
"""Lowest thread, number of adjacent threads."""


class Threads:
    """Free threads (or warps) of a picture, as intervals [low, high) in order."""

    def __init__(self, m: int) -> None:
        self.free: list[list[int]] = [[0, m]]

    def take(self, blocks: int, width: int) -> list[Run]:
        """Take threads for blocks: all adjacent if possible, else block by block, else divided."""
        for interval in self.free:
            if interval[1] - interval[0] >= blocks * width:
                return [self._cut(interval, blocks * width)]
        runs = []
        for interval in list(self.free):
            fitting = min(blocks, (interval[1] - interval[0]) // width)
            if fitting > 0:
                runs.append(self._cut(interval, fitting * width))
                blocks -= fitting
        left = blocks * width
        for interval in list(self.free):
            if left > 0:
                size = min(left, interval[1] - interval[0])
                runs.append(self._cut(interval, size))
                left -= size
        return runs

    def _cut(self, interval: list[int], size: int) -> Run:
        low = interval[0]
        interval[0] += size
        if interval[0] == interval[1]:
            self.free.remove(interval)
        return low, size

    def give(self, runs: list[Run]) -> None:
        """Free threads again."""
        intervals = sorted(self.free + [[low, low + size] for low, size in runs])
        self.free = []
        for interval in intervals:
            if self.free and self.free[-1][1] == interval[0]:
                self.free[-1][1] = interval[1]
            else:
                self.free.append(interval)


class Placement:
    """Places blocks over time: each group of blocks keeps its threads from start to end."""

    def __init__(self, m: int) -> None:
        self.threads = Threads(m)
        self.running: list[tuple[int, int, list[Run]]] = []
        self.count = 0

    def place(self, start: int, end: int, blocks: int, width: int) -> list[Run]:
        """Threads of blocks; calls must be in order of ``start``."""
        while self.running and self.running[0][0] <= start:
            self.threads.give(heapq.heappop(self.running)[2])
        runs = self.threads.take(blocks, width)
        heapq.heappush(self.running, (end, self.count, runs))
        self.count += 1
        return runs


def side_by_side(start: Iterable[int], end: Iterable[int]) -> list[tuple[int, int]]:
    """Rows of intervals, in order of ``start``: (row, number of rows) of each.

    Intervals that overlap, directly or through others, share a lane's height in rows.
    """
    rows: list[int] = []
    ends: list[int] = []  # of the last interval in each row of the present group
    sizes: list[int] = []  # rows of each group
    group: list[int] = []
    for low, high in zip(start, end, strict=True):
        if not ends or low >= max(ends):
            ends = []
            sizes.append(0)
        row = next((k for k, last in enumerate(ends) if last <= low), len(ends))
        ends[row : row + 1] = [high]
        rows.append(row)
        group.append(len(sizes) - 1)
        sizes[-1] = len(ends)
    return [(row, sizes[g]) for row, g in zip(rows, group, strict=True)]


def split(runs: Iterable[Run], width: int) -> list[Run]:
    """One run for each block, as far as blocks are in one piece."""
    single = []
    for low, size in runs:
        count, rest = divmod(size, width)
        single += [(low + k * width, width) for k in range(count)] if rest == 0 else []
        single += [(low, size)] if rest else []
    return single


def spans(
    runs: Iterable[Run], m: int, top: float = 0.0, bottom: float = 1.0
) -> tuple[tuple[float, float], ...]:
    """Runs as shares of a lane's height, thread 0 at ``bottom``, ``m`` at ``top``."""
    high = bottom - top
    return tuple((bottom - high * (low + size) / m, bottom - high * low / m) for low, size in runs)


_LEGEND = 10  # names in the legend
_LABEL = 28  # characters of a name
_HALF = 13  # of one that is cut in the middle


class NameColors:
    """Colours of launches by their names: those of ``first``, then in order of first use."""

    def __init__(self, names: Sequence[str], first: Iterable[str] = ()) -> None:
        self.names = names
        self.index: dict[str, int] = {}
        for name in (*first, *names):
            self.index.setdefault(name, len(self.index))

    def color(self, launch: int) -> int:
        """Index of a launch's colour."""
        return self.index[self.names[launch]]

    def classes(self) -> Int64Array:
        """Entry of the palette of each launch, (launches,): colours repeat."""
        found = (self.index[name] % len(PALETTE) for name in self.names)
        return np.fromiter(found, np.int64, len(self.names))

    def used(self, classes: Int64Array) -> set[int]:
        """Indices of the colours that are the given entries of the palette."""
        entries = set(classes.tolist())
        return {k for k in self.index.values() if k % len(PALETTE) in entries}

    def keys(self, colors: Iterable[int | str]) -> list[Key]:
        """Entries of the legend for the colours that are used."""
        used = sorted({color for color in colors if isinstance(color, int)})[:_LEGEND]
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


def trace_columns(log: BlockColumns, first: int = 0) -> list[PieceColumns | CounterColumns]:
    """Blocks while they run, in the lanes of their SMs, and counters of the SMs' warps.

    ``first``: index of the first lane.
    """
    used = np.unique(log.sm)
    if not len(used):
        return []
    lanes: Int64Array = np.zeros(log.sms, np.int64)
    lanes[used] = first + np.arange(len(used))
    block, start, end = log.running()
    order = np.lexsort((block, start))
    block, start, end = block[order], start[order], end[order]
    kernel = log.kernel[block]
    threads: Int64Array = log.threads[kernel]
    sm, time, warps, *_ = _core.sm_usage(log.sms, log.sm[block], start, end, threads)
    groups = tuple(f"SM {number}" for number in used.tolist())
    return [
        PieceColumns(
            lane=lanes[log.sm[block]],
            start=start,
            end=end,
            name=(Words(kernel, log.name),),
            args={"launch": kernel, "block": log.block[block], "threads": threads},
        ),
        CounterColumns(groups, lanes[sm] - first, time, "warps", {"warps": warps}),
    ]


COLUMNS = 360  # parts of a window
THIN = 8.0  # points of a lane in which heights cannot be told apart
_THIN_CELLS = 2  # of its height
_MOST_CELLS = 32  # of that of other lanes
_SHADES = 6  # of a colour
_PALEST = 0.25

Shares = npt.NDArray[np.float64]


def mean_warps(
    log: BlockColumns, classes: Int64Array, since: int, end: int, group: int = 1
) -> Shares:
    """Mean number of warps per SM that run in equal parts of a window.

    Parameters
    ----------
    log
        The blocks.
    classes
        Index of each kernel's colour, ``(K,)``.
    since, end
        The window in ticks.
    group
        Number of adjacent SMs that share a row.

    Returns
    -------
    numpy.ndarray
        Shape (rows, colours of the palette, parts), float64; parts are 360, or as many as the
        window has ticks. Time and memory: linear in blocks and cells.
    """
    parts = min(COLUMNS, end - since)
    edges = np.array([since + (end - since) * k // parts for k in range(parts + 1)], np.int64)
    block, start, stop = log.running()
    inside = np.flatnonzero((stop > since) & (start < end))
    block = block[inside]
    rows = -(-log.sms // group)
    shape = (rows, len(PALETTE), parts)
    kernel = log.kernel[block]
    base = (log.sm[block] // group * len(PALETTE) + classes[kernel]) * parts
    warps = log.warps_of[kernel].astype(np.float64)
    size = int(np.prod(shape))
    first, later = np.zeros(size), np.zeros(size)
    for times, sign in ((start[inside], 1), (stop[inside], -1)):
        at = np.clip(times, since, end)
        part = np.minimum(np.searchsorted(edges, at, side="right") - 1, parts - 1)
        # From an instant on, warps count for the rest of its part, and for all of the later ones.
        rest = (edges[part + 1] - at).astype(np.float64)
        first += sign * np.bincount(base + part, warps * rest, size)
        after = part + 1 < parts
        later += sign * np.bincount((base + part + 1)[after], warps[after], size)
    lengths = np.diff(edges).astype(np.float64)
    area = first.reshape(shape) + np.cumsum(later.reshape(shape), axis=2) * lengths
    sms = np.minimum(group, log.sms - group * np.arange(rows)).astype(np.float64)
    means: Shares = np.maximum(np.round(area / lengths / sms[:, None, None], 9), 0.0)
    return means


def raster(shares: Shares, lane: int, height: float, tip: str) -> Raster:
    """Image of shares of rows, (rows, colours, columns), in lanes from ``lane`` on.

    Shares are stacked from the bottom of a row. Rows of fewer than ``THIN`` points are filled, the
    paler the smaller the sum of the shares. What is not 0 is shown.
    """
    rows, colors, columns = shares.shape
    total = shares.sum(axis=1)
    if height < THIN:
        parts = np.divide(
            shares, total[:, None], out=np.zeros_like(shares), where=total[:, None] > 0
        )
        values = _stacked(parts, _THIN_CELLS)
        shade = np.clip(np.ceil(total * _SHADES - 1e-6), 1, _SHADES).astype(np.int64) - 1
        values = np.where(values < colors, values * _SHADES + shade[:, None], -1)
        texts = tuple(_pale(text, k / (_SHADES - 1)) for text in PALETTE for k in range(_SHADES))
    else:
        values = _stacked(shares, min(int(height * PIXELS_PER_POINT + 1e-9), _MOST_CELLS))
        values, texts = np.where(values < colors, values, -1), PALETTE
    image = np.ascontiguousarray(values.reshape(-1, columns), dtype=np.int16)
    return Raster(lane, rows, image, texts, tip)


def _stacked(shares: Shares, cells: int) -> Int64Array:
    """Index of the colour of each cell of a row, (rows, cells from the top, columns).

    That of an empty cell is the number of colours.
    """
    colors = shares.shape[1]
    tops = np.rint(np.cumsum(shares, axis=1) * cells)
    level = np.arange(cells)[:, None]
    values: Int64Array = (tops[:, :, None, :] <= level).sum(axis=1)
    lowest, some = values[:, 0], shares.any(axis=1)
    values[:, 0] = np.where((lowest == colors) & some, np.argmax(shares, axis=1), lowest)
    return values[:, ::-1]


def _pale(text: str, strength: float) -> str:
    """A colour mixed with white."""
    part = _PALEST + (1 - _PALEST) * strength
    mixed = (round(255 - part * (255 - int(text[k : k + 2], 16))) for k in (1, 3, 5))
    return "#{:02X}{:02X}{:02X}".format(*mixed)


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
