"""What there is to see of a run of the scheduling hierarchy: boxes in rows, over time, and marks
where something was launched.

On SMs or by streams; ``hierarchy_picture`` draws it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpusched._draw.axes import TimeAxis, color, time_axis
from gpusched._draw.lanes import Piece, Threads
from gpusched._support.arguments import Int64Array, integer
from gpusched._support.text import clip
from gpusched.simulate import hierarchy_why
from gpusched.simulate.hierarchy_result import REASONS

if TYPE_CHECKING:
    from gpusched.simulate.hierarchy_result import Hierarchy

# What a notebook or a figure shows at once; more boxes are only counted.
SHOWN_BOXES = 700
MOST_BOXES = 4000
_MOST_ROWS = 192  # SMs
_MOST_STREAMS = 48
_MOST_PIECES = 3000  # beyond, the blocks that start together on an SM are drawn as one
_LEGEND = 10  # names in the legend
_LABEL = 28  # characters of a name
_HALF = 13  # of one that is cut in the middle

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
    "copy_engine": "#2F8F8F",
}


@dataclass
class Box:
    """A rectangle: times, and from top to bottom in rows."""

    start: int
    end: int
    top: float
    bottom: float
    fill: str
    tip: str
    label: str = ""
    pale: bool = False


@dataclass
class Mark:
    """A launch."""

    time: int
    y: float
    fill: str


@dataclass
class Scene:
    """A window of time, rows by their labels, and what is in them."""

    since: int
    end: int
    axis: TimeAxis
    rows: list[str]
    row_height: float  # in points
    title: str  # of the rows
    boxes: list[Box] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)  # colour, text
    waits: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        return "; ".join(self.notes)


class _Names:
    """One colour for all launches of a name."""

    def __init__(self, run: Hierarchy) -> None:
        self.run = run
        self.index: dict[str, int] = {}
        for name in run.launches.name:
            self.index.setdefault(name, len(self.index))

    def color(self, launch: int) -> str:
        return color(self.index[self.run.launches.name[launch]])

    def legend(self, launches: set[int]) -> list[tuple[str, str]]:
        used = sorted({self.index[self.run.launches.name[i]] for i in launches})[:_LEGEND]
        names = list(self.index)
        ends = [clip(names[k], _LABEL) for k in used]
        # Names that begin alike, as those of templates do, are told apart by their ends.
        alike = {text for text in ends if ends.count(text) > 1}
        texts = [
            f"{clip(names[k][:_HALF], _HALF)}…{clip(names[k][-_HALF:], _HALF)}"
            if text in alike
            else text
            for k, text in zip(used, ends, strict=True)
        ]
        return [(color(k), text) for k, text in zip(used, texts, strict=True)]


def scene_of(
    run: Hierarchy, by: str, unit: str | None, since: int, until: int | None, warps: int = 1
) -> Scene:
    since = integer(since, "since")
    until = None if until is None else integer(until, "until")
    if since < 0:
        raise ValueError(f"since = {since}: must not be negative")
    if until is not None and until <= since:
        raise ValueError(f"until = {until}: must be above since = {since}")
    if by == "sm":
        return _by_sm(run, unit, since, until, warps)
    return _by_stream(run, unit, since, until)


def _window(
    start: Int64Array, end: Int64Array, since: int, until: int | None, last: int
) -> tuple[Int64Array, int, int]:
    """Which boxes are shown, where the picture ends, and how many are not shown. By start."""
    inside = np.flatnonzero((end > since) & (start < (last + 1 if until is None else until)))
    inside = inside[np.argsort(start[inside], kind="stable")]
    shown = inside[: SHOWN_BOXES if until is None else MOST_BOXES]
    hidden = len(inside) - len(shown)
    stop = last if until is None else until
    if hidden:
        stop = int(start[inside[len(shown)]])
        # What starts at that instant is not shown either.
        hidden += int((start[shown] >= stop).sum())
        shown = shown[start[shown] < stop] if stop > since else shown
    return shown, max(stop, since + 1), hidden


# SMs -------------------------------------------------------------------------------------------


@dataclass
class _Flights:
    """Blocks of one kernel that are on one SM from one instant to another: columns."""

    kernel: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    blocks: Int64Array
    first: Int64Array  # its first block in the log


def _flights(run: Hierarchy) -> _Flights:
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


def _by_sm(run: Hierarchy, unit: str | None, since: int, until: int | None, least: int) -> Scene:
    flights = _flights(run)
    sms = min(run.gpu.sms, _MOST_ROWS)
    last = max(run.now, 1)
    shown, end, hidden = _window(flights.start, flights.end, since, until, last)
    labels = [str(s) for s in range(sms)]
    copies = bool((run.launches.kind > 0).any())
    if copies:
        labels += ["copies"] if run.copy_engines == 1 else ["copies in", "copies out"]
    if run.launches.contexts > 1:
        labels.append("context")
    height = min(max(300 / len(labels), 3.2), 60.0)
    scene = Scene(since, end, time_axis(unit, end), labels, height, "SM")
    names, used = _Names(run), set()
    pieces = _pieces_of(run, flights, shown)
    places = _warps_of(run, flights, shown)
    whole = int(flights.blocks[shown].sum()) > _MOST_PIECES
    # Where SMs are far from full, the rows show the part of them that is used.
    peak = max((at + size for parts in places.values() for at, size in parts), default=1)
    peak = max(peak, least)
    drawn = run.gpu.warps_per_sm
    while drawn >= 2 * peak:
        drawn = -(-drawn // 2)
    if drawn < run.gpu.warps_per_sm:
        scene.title = f"SM ({drawn} of {run.gpu.warps_per_sm} warps)"
    warps = (-(-run.launches.threads // 32)).tolist()
    rows = zip(
        shown.tolist(),
        *(
            getattr(flights, name)[shown].tolist()
            for name in ("kernel", "sm", "start", "end", "blocks")
        ),
        strict=True,
    )
    for flight, kernel, sm, start, stop, blocks in rows:
        if sm >= sms:
            continue
        used.add(kernel)
        count = "1 block" if blocks == 1 else f"{blocks} blocks"
        tip = (
            f"{clip(run.launches.name[kernel], 80)}: {count} of {run.launches.threads[kernel]} "
            f"threads on SM {sm}, {scene.axis.text(start)} to {scene.axis.text(stop)}"
        )
        fill, name = names.color(kernel), clip(run.launches.name[kernel], 16)
        parts = places[flight]
        tall = max(parts, key=lambda part: part[1])
        for pale, low, high in pieces[flight]:
            low, high = max(low, since), min(high, end)
            for bottom, size in parts if low < high else ():
                step = size if whole or size % warps[kernel] else warps[kernel]
                for at in range(bottom, bottom + size, step):
                    text = name if not pale and (bottom, size) == tall and at == bottom else ""
                    under, over = (sm + 0.96 - 0.92 * w / drawn for w in (at, at + step))
                    scene.boxes.append(Box(low, high, over, under, fill, tip, text, pale))
    if copies:
        _add_copies(run, scene, names, used, sms)
    if run.launches.contexts > 1:
        _add_slices(run, scene, len(labels) - 1)
    scene.legend = names.legend(used)
    if run.gpu.sms > sms:
        scene.notes.append(f"SMs {sms} to {run.gpu.sms - 1} are not shown")
    if hidden:
        scene.notes.append(f"{hidden} more groups of blocks are not shown")
    _note_outcome(run, scene)
    return scene


def _warps_of(run: Hierarchy, flights: _Flights, shown: Int64Array) -> dict[int, list[Piece]]:
    """Which of its SM's warps each flight is drawn on: the lowest that are free."""
    contexts = run.launches.stream_context[run.launches.stream].tolist()
    warps = (-(-run.launches.threads // 32)).tolist()
    room: dict[tuple[int, int], Threads] = {}
    running: dict[tuple[int, int], list[tuple[int, int, list[Piece]]]] = {}
    found = {}
    columns = (flights.kernel, flights.sm, flights.start, flights.end, flights.blocks)
    rows = zip(shown.tolist(), *(column[shown].tolist() for column in columns), strict=True)
    for flight, kernel, sm, start, end, blocks in rows:
        key = (contexts[kernel], sm)  # frozen blocks keep their warps
        lanes = room.setdefault(key, Threads(run.gpu.warps_per_sm))
        ends = running.setdefault(key, [])
        while ends and ends[0][0] <= start:
            lanes.give(heapq.heappop(ends)[2])
        found[flight] = lanes.take(blocks, warps[kernel])
        heapq.heappush(ends, (end, flight, found[flight]))
    return found


def _pieces_of(
    run: Hierarchy, flights: _Flights, shown: Int64Array
) -> dict[int, list[tuple[bool, int, int]]]:
    """By flight: (frozen, start, end)."""
    if run.launches.contexts == 1:
        spans = zip(flights.start[shown].tolist(), flights.end[shown].tolist(), strict=True)
        return {k: [(False, *span)] for k, span in zip(shown.tolist(), spans, strict=True)}
    of = {first: k for k, first in zip(shown.tolist(), flights.first[shown].tolist(), strict=True)}
    found: dict[int, list[tuple[bool, int, int]]] = {k: [] for k in shown.tolist()}
    for pale, block, start, end in zip(*(c.tolist() for c in run._pieces()), strict=True):
        if block in of:
            found[of[block]].append((pale, start, end))
    return found


def _add_copies(run: Hierarchy, scene: Scene, names: _Names, used: set[int], row: int) -> None:
    done = np.flatnonzero((run.launches.kind > 0) & (run.first >= 0))
    ends = np.where(run.end >= 0, run.end, run.now)
    done = done[(ends[done] > scene.since) & (run.first[done] < scene.end)]
    for i in done[:MOST_BOXES].tolist():
        used.add(i)
        at = row + int(run.copy_engines == 2 and run.launches.kind[i] == 2)
        start, end = int(run.first[i]), int(ends[i])
        name = clip(run.launches.name[i], 80)
        tip = f"{name}: {scene.axis.text(start)} to {scene.axis.text(end)}"
        low, high = max(start, scene.since), min(end, scene.end)
        scene.boxes.append(
            Box(low, high, at + 0.15, at + 0.85, names.color(i), tip, clip(name, 16))
        )


def _add_slices(run: Hierarchy, scene: Scene, row: int) -> None:
    shades = ("#D9D9D9", "#969696", "#BDBDBD", "#737373")
    ends = np.where(run.slices.end >= 0, run.slices.end, run.now)
    inside = np.flatnonzero((ends > scene.since) & (run.slices.start < scene.end))
    for k in inside[:MOST_BOXES].tolist():
        context, start, end = int(run.slices.context[k]), int(run.slices.start[k]), int(ends[k])
        text = f"context {context}: {scene.axis.text(start)} to {scene.axis.text(end)}"
        low, high = max(start, scene.since), min(end, scene.end)
        fill = shades[context % len(shades)]
        scene.boxes.append(Box(low, high, row + 0.15, row + 0.85, fill, text, str(context)))


def _note_outcome(run: Hierarchy, scene: Scene) -> None:
    if run.outcome != "done":
        left = int((run.end < 0).sum())
        scene.notes.append(f"{run.outcome}: {left} launches have not ended")


# Streams ---------------------------------------------------------------------------------------


def _by_stream(run: Hierarchy, unit: str | None, since: int, until: int | None) -> Scene:
    launches = run.launches
    streams = min(launches.streams, _MOST_STREAMS)
    last = max(run.now, int(launches.time.max(initial=0)), 1)
    start = np.where(run.first >= 0, run.first, last + 1)
    ends = np.where(run.end >= 0, run.end, run.now)
    # A launch is in the picture from its launch on, even if it never starts.
    shown, end, hidden = _window(
        launches.time, np.where(run.end >= 0, run.end, last + 1), since, until, last
    )
    shown = shown[launches.stream[shown] < streams]
    labels = [clip(name, 20) for name in launches.stream_name[:streams]]
    if launches.contexts > 1:
        labels.append("context")
    height = min(max(300 / len(labels), 14.0), 34.0)
    scene = Scene(since, end, time_axis(unit, end), labels, height, "")
    names, used = _Names(run), set()
    for i in shown.tolist():
        stream, name = int(launches.stream[i]), clip(launches.name[i], 80)
        fill, span = names.color(i), (int(start[i]), int(ends[i]))
        used.add(i)
        if since <= launches.time[i] < end:
            scene.marks.append(Mark(int(launches.time[i]), stream + 0.12, fill))
        low, high = max(span[0], since), min(span[1], end)
        if low < high:
            tip = f"{name}: {scene.axis.text(span[0])} to {scene.axis.text(span[1])}"
            text = clip(name, 16)
            scene.boxes.append(Box(low, high, stream + 0.2, stream + 0.72, fill, tip, text))
    _add_waits(run, scene, shown)
    if launches.contexts > 1:
        _add_slices(run, scene, len(labels) - 1)
    scene.legend = names.legend(used)
    if launches.streams > streams:
        scene.notes.append(f"{launches.streams - streams} more streams are not shown")
    if hidden:
        scene.notes.append(f"{hidden} more launches are not shown")
    _note_outcome(run, scene)
    return scene


def _add_waits(run: Hierarchy, scene: Scene, shown: Int64Array) -> None:
    """What the launches at the heads of their streams waited for."""
    told: set[str] = set()
    left = MOST_BOXES
    for waits in (run.waits, run.pending):
        chosen = np.isin(waits.launch, shown) & (waits.why != REASONS.index("stream"))
        for k in np.flatnonzero(chosen)[:left].tolist():
            launch, reason = int(waits.launch[k]), REASONS[waits.why[k]]
            stop = int(waits.end[k]) if waits.end[k] >= 0 else scene.end
            low, high = max(int(waits.start[k]), scene.since), min(stop, scene.end)
            if low >= high:
                continue
            told.add(reason)
            row = int(run.launches.stream[launch])
            name = clip(run.launches.name[launch], 80)
            span = f"{scene.axis.text(int(waits.start[k]))} to "
            span += scene.axis.text(stop) if waits.end[k] >= 0 else "the end"
            tip = f"{name} waits {hierarchy_why.reason_of(run, waits, k)}: {span}"
            scene.boxes.append(Box(low, high, row + 0.76, row + 0.92, _WAITS[reason], tip))
        left = max(0, left - int(chosen.sum()))
    scene.waits = [(_WAITS[r], r.replace("_", " ")) for r in REASONS if r in told]
