"""Several timelines as one, each below a line with its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpusched._draw.timeline import (
    Counter,
    CounterColumns,
    Key,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Timeline,
)

__all__ = ["joined"]

_HEAD = 18.0  # height of a name's lane, in points


def joined(named: Sequence[tuple[str, Timeline, int]]) -> Timeline:
    """Combine several timelines into one, one below the other.

    Parameters
    ----------
    named
        For each of at least one timeline: its name, the timeline, and a number by which its colours
        are shifted, so that colours of different timelines differ. All intervals begin at the same
        time; the picture ends at the earliest end of a timeline that does not show all its pieces.
        Timelines with images (`Raster`), which fill their own intervals, are not supported.
    """
    lanes: list[Lane] = []
    first: list[int] = []
    marks: list[Mark] = []
    keys: list[Key] = []
    other: dict[str, Any] = {}
    for name, timeline, shift in named:
        lanes.append(Lane(name, name, height=_HEAD))
        first.append(len(lanes))
        lanes += [replace(lane, group=_group(name, lane.group)) for lane in timeline.lanes]
        marks += [_mark(mark, first[-1], shift) for mark in timeline.marks]
        keys += [key for key in (_key(key, shift) for key in timeline.keys) if key not in keys]
        other |= {f"{name} {key}": value for key, value in timeline.other.items()}
    cut = [timeline.end for _, timeline, _ in named if timeline.notes]
    end = min(cut) if cut else max(timeline.end for _, timeline, _ in named)
    head = named[0][1]
    same = all(timeline.title == head.title for _, timeline, _ in named)

    def pieces() -> Iterator[Piece]:
        for (_, timeline, shift), at in zip(named, first, strict=True):
            for piece in timeline.pieces:
                yield replace(piece, lane=piece.lane + at, color=_color(piece.color, shift))

    def counters() -> Iterator[Counter]:
        for name, timeline, _ in named:
            for counter in timeline.counters:
                yield replace(counter, group=_group(name, counter.group))

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        for (name, timeline, _), at in zip(named, first, strict=True):
            for column in timeline.columns:
                if isinstance(column, PieceColumns):
                    yield replace(column, lane=column.lane + at)
                else:
                    groups = tuple(_group(name, group) for group in column.groups)
                    yield replace(column, groups=groups)

    return Timeline(
        lanes=tuple(lanes),
        pieces=Rows(pieces),
        since=head.since,
        end=end,
        unit=head.unit,
        marks=tuple(mark for mark in marks if mark.time <= end),
        keys=tuple(keys),
        notes=("more is not shown",) if cut else (),
        counters=Rows(counters),
        columns=Rows(columns),
        title=head.title if same else "",
        width=head.width,
        other=other,
        numbers=head.numbers if all(part.numbers == head.numbers for _, part, _ in named) else "",
    )


def _group(name: str, group: str) -> str:
    return f"{name} {group}" if group else name


def _color(color: int | str, shift: int) -> int | str:
    return color if isinstance(color, str) else color + shift


def _mark(mark: Mark, first: int, shift: int) -> Mark:
    return replace(mark, lane=mark.lane + first, color=_color(mark.color, shift))


def _key(key: Key, shift: int) -> Key:
    return replace(key, color=_color(key.color, shift))
