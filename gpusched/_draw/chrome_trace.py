"""Chrome trace back end of timelines: files for Perfetto (ui.perfetto.dev) and chrome://tracing.

Events are plain dicts in the Trace Event Format. The constructors here take integer nanoseconds
and store microseconds, the format's unit, as exact decimals: a schedule that starts at
1695835573023613251 ns reads back to the nanosecond, which a float could not hold.
"""

from __future__ import annotations

import gzip
import heapq
import json
import operator
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import IO, Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._draw.timeline import (
    Counter,
    CounterColumns,
    Piece,
    PieceColumns,
    Timeline,
    Words,
)
from gpusched._support.arguments import Int64Array, integer
from gpusched._support.files import replacing
from gpusched._support.registry import enumeration

Event = dict[str, Any]

_NAME = 4000  # characters of a name in the trace of a timeline, where it may occur in any number


def microseconds(time: SupportsIndex) -> Decimal:
    """Integer nanoseconds as an exact number of microseconds.

    Raises TypeError when ``time`` is no integer.
    """
    time = operator.index(time)
    whole, rest = divmod(abs(time), 1000)
    # From text, because arithmetic on decimals rounds to the caller's decimal context.
    text = f"{whole}.{rest:03}".rstrip("0").rstrip(".")
    return Decimal(f"-{text}" if time < 0 else text)


def complete_event(
    name: str,
    pid: int | str,
    tid: int | str,
    start: SupportsIndex,
    duration: SupportsIndex,
    args: Mapping[str, Any] | None = None,
) -> Event:
    """An X event: ``name`` runs in lane ``tid`` of process ``pid``.

    It starts at ``start`` and lasts ``duration``, both in ns. Viewers list ``args`` when the event
    is clicked. Raises TypeError when a time is not an integer, ValueError when ``duration`` is
    negative.
    """
    if operator.index(duration) < 0:
        raise ValueError(f"duration of {name!r:.60}: got {duration}, expected 0 or more")
    event: Event = {"ph": "X", "name": name, "pid": _lane(pid), "tid": _lane(tid)}
    event["ts"] = microseconds(start)
    event["dur"] = microseconds(duration)
    if args:
        event["args"] = dict(args)
    return event


def counter_event(
    name: str, pid: int | str, time: SupportsIndex, values: Mapping[str, Any]
) -> Event:
    """A C event: the counter ``name`` of process ``pid`` has these values from ``time`` (ns) on.

    Several values of one counter are stacked by the viewer.
    """
    return {
        "ph": "C",
        "name": name,
        "pid": _lane(pid),
        "ts": microseconds(time),
        "args": dict(values),
    }


def process_name(pid: int | str, name: str) -> Event:
    """An M event: the process ``pid`` is shown as ``name``."""
    return {"ph": "M", "name": "process_name", "pid": _lane(pid), "args": {"name": name}}


def thread_name(pid: int | str, tid: int | str, name: str) -> Event:
    """An M event: lane ``tid`` of process ``pid`` is shown as ``name``."""
    return {
        "ph": "M",
        "name": "thread_name",
        "pid": _lane(pid),
        "tid": _lane(tid),
        "args": {"name": name},
    }


def write_timeline(
    timeline: Timeline, path: str | os.PathLike[str], tick: int | Fraction = 1
) -> None:
    """Write a timeline as a Chrome trace.

    Each group of lanes is a process. Pieces and counters are consumed while the file is written.

    Parameters
    ----------
    timeline
        Whole: pieces are not cut at its window.
    path
        The file, replaced when the new one is complete; compressed if the name ends in .gz.
    tick
        Length of a tick in ns, at least 1; or a Fraction, with times rounded down to whole ns.

    Raises
    ------
    OSError
        The file cannot be written.
    TypeError, ValueError, OverflowError
        ``tick`` is not a positive integer below 2**63.
    """
    if isinstance(tick, Fraction):
        timeline, tick = _in_ns(timeline, tick), 1
    length = integer(tick, "tick")
    if length < 1:
        raise ValueError(f"tick: got {length}, expected at least 1 ns")
    if length >= 2**63:
        raise OverflowError(f"tick: got {length}, expected less than 2**63 ns")
    write_chrome_trace(path, timeline_events(timeline, length), other=timeline.other or None)


def _in_ns(timeline: Timeline, tick: Fraction) -> Timeline:
    """The timeline with its times in ns, rounded down, of which a tick is a fraction."""
    parts, whole = tick.numerator, tick.denominator

    def ns(time: Any) -> Any:
        """A time or an array of times; those below 0 stand for missing ones."""
        scaled = time // whole * parts + time % whole * parts // whole
        return np.where(time < 0, time, scaled) if isinstance(time, np.ndarray) else scaled

    def of_piece(piece: Piece) -> Piece:
        times = {name: None if time is None else ns(time) for name, time in piece.times.items()}
        return replace(piece, start=ns(piece.start), end=ns(piece.end), times=times)

    def of_columns(columns: PieceColumns | CounterColumns) -> PieceColumns | CounterColumns:
        if isinstance(columns, CounterColumns):
            return replace(columns, time=ns(columns.time))
        times = {name: ns(time) for name, time in columns.times.items()}
        return replace(columns, start=ns(columns.start), end=ns(columns.end), times=times)

    return replace(
        timeline,
        pieces=map(of_piece, timeline.pieces),
        columns=map(of_columns, timeline.columns),
        counters=(replace(counter, time=ns(counter.time)) for counter in timeline.counters),
    )


def timeline_events(timeline: Timeline, tick: int) -> Iterator[Event | bytes]:
    """Trace events of a timeline, whose ticks last ``tick`` ns: objects, or the text of many.

    Pieces of a lane that overlap get further lanes next to it. Names of more than 4,000 characters
    are cut. Needed memory: what overlaps, and of columns some numbers per row.
    """
    lanes = _Lanes(timeline)
    yield from lanes.names()
    for piece in timeline.pieces:
        pid, tid = yield from lanes.place(piece)
        args: dict[str, Any] = dict(piece.args)
        for name, value in piece.times.items():
            args[name] = None if value is None else value * tick
        length = (piece.end - piece.start) * tick
        yield complete_event(_cut(piece.name), pid, tid, piece.start * tick, length, args)
    for columns in timeline.columns:
        if isinstance(columns, PieceColumns):
            columns = replace(columns, name=tuple(map(_cut_part, columns.name)))
            yield from lanes.place_columns(columns, tick)
        else:
            pids = np.array([lanes.pids[group] for group in columns.groups], np.int64)
            yield from counter_rows(columns, pids, tick)
    for counter in timeline.counters:
        yield _counter(lanes.pids[counter.group], counter, tick)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _cut_part(part: str | Int64Array | Words) -> str | Int64Array | Words:
    """A part of many names, its texts cut."""
    if isinstance(part, Words):
        return replace(part, words=tuple(map(_cut, part.words)))
    return _cut(part) if isinstance(part, str) else part


def _counter(pid: int, counter: Counter, tick: int) -> Event:
    return counter_event(counter.name, pid, counter.time * tick, counter.values)


class _Lanes:
    """Process and thread numbers of a timeline's lanes, and of more where pieces overlap."""

    def __init__(self, timeline: Timeline) -> None:
        self.lanes = timeline.lanes
        groups = dict.fromkeys(lane.group for lane in timeline.lanes)
        self.pids = {group: pid for pid, group in enumerate(groups)}
        seen = dict.fromkeys(groups, 0)
        self.tids = []  # viewers sort by number: further lanes are next to the first one
        for lane in timeline.lanes:
            self.tids.append(seen[lane.group] << 16)
            seen[lane.group] += 1
        self.busy: list[list[tuple[int, int]]] = [[] for _ in timeline.lanes]  # (end, which)
        self.free: list[list[int]] = [[] for _ in timeline.lanes]

    def names(self) -> Iterator[Event]:
        for group, pid in self.pids.items():
            yield process_name(pid, _cut(group))
        for lane, tid in zip(self.lanes, self.tids, strict=True):
            yield thread_name(self.pids[lane.group], tid, _cut(lane.name))

    def place(self, piece: Piece) -> Generator[Event, None, tuple[int, int]]:
        """Yield the name of a further lane where one is needed; return process and thread."""
        busy, free = self.busy[piece.lane], self.free[piece.lane]
        while busy and busy[0][0] <= piece.start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = self.lanes[piece.lane]
        pid, tid = self.pids[lane.group], self.tids[piece.lane]
        if free:
            which = heapq.heappop(free)
        else:
            which = len(busy)
            if which:
                yield thread_name(pid, tid + which, f"{_cut(lane.name)} ({which + 1})")
        heapq.heappush(busy, (piece.end, which))
        return pid, tid + which

    def place_columns(self, pieces: PieceColumns, tick: int) -> Iterator[Event | bytes]:
        """Events of pieces in lanes of their own, after the names of all further lanes."""
        which, most = lanes_of(pieces, len(self.lanes))
        pids = [self.pids[lane.group] for lane in self.lanes]
        for k in np.flatnonzero(most).tolist():
            for more in range(1, int(most[k]) + 1):
                yield thread_name(
                    pids[k], self.tids[k] + more, f"{_cut(self.lanes[k].name)} ({more + 1})"
                )
        pid, tid = np.array(pids, np.int64), np.array(self.tids, np.int64)
        yield from piece_rows(pieces, pid, tid, which, tick)


def write_chrome_trace(
    path: str | os.PathLike[str],
    events: Iterable[Mapping[str, Any] | bytes],
    *,
    other: Mapping[str, Any] | None = None,
) -> None:
    """Write ``{"traceEvents": [...], "displayTimeUnit": "ns"}`` to ``path``.

    ``events`` may be a generator: it is consumed while a temporary file in the same folder is
    written, which replaces ``path`` when it is complete. After an error or an interrupt it is
    removed, and ``path`` is unchanged. Bytes among the events are the text of many, each after a
    comma and a new line. ``other`` is stored as the format's "otherData". A name that ends in .gz
    is compressed; equal events give equal bytes.

    Raises OSError when the file cannot be written, ValueError for a NaN or an infinity (JSON has
    none) and TypeError for a value that JSON cannot hold; both name the event.
    """
    with replacing(path) as file:
        if os.path.realpath(os.fsdecode(path)).endswith(".gz"):
            # No name and no time inside: the bytes depend on the events alone.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                _write(packed, events, other)
        else:
            _write(file, events, other)


def _write(
    file: IO[bytes] | gzip.GzipFile,
    events: Iterable[Mapping[str, Any] | bytes],
    other: Mapping[str, Any] | None,
) -> None:
    file.write(b'{"traceEvents": [')
    separator = "\n"
    for index, event in enumerate(events):
        if isinstance(event, bytes):
            file.write(event if separator[0] == "," else event[1:])
            separator = ",\n"
            continue
        try:
            text = _encode(event)
        except TypeError as error:
            raise TypeError(f"event {index}: {error}") from None
        except ValueError as error:
            raise ValueError(f"event {index}: {error}") from None
        file.write(f"{separator}{text}".encode())
        separator = ",\n"
    file.write(b'\n], "displayTimeUnit": "ns"')
    if other is not None:
        file.write(f', "otherData": {_encode(other)}'.encode())
    file.write(b"}\n")


def _encode(event: Mapping[str, Any]) -> str:
    # The json module writes a Decimal only through a float: these are put in as text.
    if not isinstance(event, Mapping):
        raise TypeError(f"got {event!r:.60}, expected a mapping")
    exact = []
    plain = {}
    for key, value in event.items():
        if isinstance(value, Decimal):
            if not value.is_finite():
                raise ValueError(f"{key}: got {value}, expected a finite number")
            exact.append(f"{json.dumps(key)}: {value:f}")
        else:
            plain[key] = value
    head = json.dumps(plain, allow_nan=False, default=_plain)[1:-1]
    return "{" + ", ".join([head, *exact] if head else exact) + "}"


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as Python's numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"got {type(value).__name__} {value!r:.60}, expected a value of JSON")


def _lane(key: Any) -> int | str:
    return key if isinstance(key, str) else operator.index(key)


_ROWS = 1 << 15  # formatted at once
_KIND = {name: number for number, name in enumerate(enumeration("io.row_text"))}
_NO_TEXTS = np.zeros(0, np.uint8), np.zeros(1, np.int64)


_Column = npt.NDArray[Any] | Callable[[slice], npt.NDArray[Any]]


class _Template:
    """Text with columns in between, written row by row.

    A column is an array, or a function that returns the entries of some rows: derived columns are
    never whole.
    """

    def __init__(self, rows: int, tick: int) -> None:
        self.count, self.tick = rows, tick
        self.fixed = [""]
        self.kinds: list[int] = []
        self.columns: list[Callable[[slice], npt.NDArray[Any]]] = []
        self.words: list[str] = []

    def text(self, text: str) -> None:
        self.fixed[-1] += text

    def column(self, column: _Column, kind: str) -> None:
        self.columns.append(column if callable(column) else column.__getitem__)
        self.kinds.append(_KIND[kind])
        self.fixed.append("")

    def choice(self, index: npt.NDArray[Any], words: Sequence[str]) -> None:
        """The words of a column as they are."""
        first = np.int64(len(self.words))
        self.column(lambda rows: index[rows] + first, "text")
        self.words += words

    def name(self, parts: Sequence[str | Int64Array | Words]) -> None:
        """A string of JSON in parts."""
        self.text('"')
        for part in parts:
            if isinstance(part, str):
                self.text(_inner(part))
            elif isinstance(part, Words):
                self.choice(part.index, [_inner(word) for word in part.words])
            else:
                self.column(part, "optional")
        self.text('"')

    def fields(self, key: str, columns: Sequence[tuple[str, npt.NDArray[Any], str]]) -> None:
        """A field with an object of columns: (name, column, kind)."""
        separator = f", {json.dumps(key)}: {{"
        for name, column, kind in columns:
            self.text(f"{separator}{json.dumps(name)}: ")
            if column.dtype == np.bool_:
                self.choice(column, ("false", "true"))
            else:
                self.column(column, kind)
            separator = ", "
        self.text("}")

    def rows(self) -> Iterator[bytes]:
        """The rows in pieces of bounded size, each row after a comma and a new line."""
        fixed, words = _joined(self.fixed), _joined(self.words) if self.words else _NO_TEXTS
        kinds = np.array(self.kinds, np.int64)
        for begin in range(0, self.count, _ROWS):
            part = slice(begin, begin + _ROWS)
            values = np.stack([column(part) for column in self.columns])
            yield _core.row_text(values, kinds, *fixed, *words, factor=self.tick)


def _inner(text: str) -> str:
    return json.dumps(text)[1:-1]


def _joined(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Int64Array]:
    """Texts one after the other, and where each begins."""
    data = [text.encode() for text in texts]
    begin = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return np.frombuffer(b"".join(data), np.uint8), begin


def lanes_of(pieces: PieceColumns, lanes: int) -> tuple[Int64Array, Int64Array]:
    """Further lanes where pieces overlap: that of each piece, and the last one of each lane."""
    which = _core.free_lanes(lanes, pieces.lane, pieces.start, pieces.end)
    most: Int64Array = np.zeros(lanes, np.int64)
    np.maximum.at(most, pieces.lane, which)
    return which, most


def piece_rows(
    pieces: PieceColumns, pid: Int64Array, tid: Int64Array, which: Int64Array, tick: int
) -> Iterator[bytes]:
    """X events of pieces; ``pid`` and ``tid`` by lane, ``which`` of ``lanes_of``."""
    row = _Template(len(pieces.lane), tick)
    row.text(',\n{"ph": "X", "name": ')
    row.name(pieces.name)
    row.text(', "pid": ')
    row.column(lambda rows: pid[pieces.lane[rows]], "integer")
    row.text(', "tid": ')
    row.column(lambda rows: tid[pieces.lane[rows]] + which[rows], "integer")
    arguments: list[tuple[str, npt.NDArray[Any], str]]
    arguments = [(name, column, "integer") for name, column in pieces.args.items()]
    arguments += [(name, column, "scaled") for name, column in pieces.times.items()]
    if arguments:
        row.fields("args", arguments)
    row.text(', "ts": ')
    row.column(pieces.start, "thousandths")
    row.text(', "dur": ')
    row.column(lambda rows: pieces.end[rows] - pieces.start[rows], "thousandths")
    row.text("}")
    yield from row.rows()


def counter_rows(counters: CounterColumns, pid: Int64Array, tick: int) -> Iterator[bytes]:
    """C events of counters; ``pid`` by group."""
    row = _Template(len(counters.time), tick)
    row.text(f',\n{{"ph": "C", "name": {json.dumps(counters.name)}, "pid": ')
    row.column(lambda rows: pid[counters.group[rows]], "integer")
    row.fields("args", [(name, value, "integer") for name, value in counters.values.items()])
    row.text(', "ts": ')
    row.column(counters.time, "thousandths")
    row.text("}")
    yield from row.rows()
