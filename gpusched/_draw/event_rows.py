"""Events of Chrome traces from columns: text of many rows at once, formatted by the core."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._draw.timeline import CounterColumns, PieceColumns, Words
from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration

__all__ = ["counter_rows", "lanes_of", "piece_rows"]

_ROWS = 1 << 15  # formatted at once
_KIND = {name: number for number, name in enumerate(enumeration("io.row_text"))}
_NO_TEXTS = np.zeros(0, np.uint8), np.zeros(1, np.int64)


class _Template:
    """Text with columns in between, written row by row."""

    def __init__(self, tick: int) -> None:
        self.tick = tick
        self.fixed = [""]
        self.kinds: list[int] = []
        self.columns: list[Int64Array] = []
        self.words: list[str] = []

    def text(self, text: str) -> None:
        self.fixed[-1] += text

    def column(self, column: Int64Array, kind: str) -> None:
        self.columns.append(column)
        self.kinds.append(_KIND[kind])
        self.fixed.append("")

    def choice(self, index: Int64Array, words: Sequence[str]) -> None:
        """The words of a column as they are."""
        self.column(index + len(self.words), "text")
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
                self.choice(column.astype(np.int64), ("false", "true"))
            else:
                self.column(column, kind)
            separator = ", "
        self.text("}")

    def rows(self) -> Iterator[bytes]:
        """The rows in pieces of bounded size, each row after a comma and a new line."""
        fixed, words = _joined(self.fixed), _joined(self.words) if self.words else _NO_TEXTS
        kinds = np.array(self.kinds, np.int64)
        for begin in range(0, len(self.columns[0]), _ROWS):
            values = np.stack([column[begin : begin + _ROWS] for column in self.columns])
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
    row = _Template(tick)
    row.text(',\n{"ph": "X", "name": ')
    row.name(pieces.name)
    row.text(', "pid": ')
    row.column(pid[pieces.lane], "integer")
    row.text(', "tid": ')
    row.column(tid[pieces.lane] + which, "integer")
    arguments: list[tuple[str, npt.NDArray[Any], str]]
    arguments = [(name, column, "integer") for name, column in pieces.args.items()]
    arguments += [(name, column, "scaled") for name, column in pieces.times.items()]
    if arguments:
        row.fields("args", arguments)
    row.text(', "ts": ')
    row.column(pieces.start, "thousandths")
    row.text(', "dur": ')
    row.column(pieces.end - pieces.start, "thousandths")
    row.text("}")
    yield from row.rows()


def counter_rows(counters: CounterColumns, pid: Int64Array, tick: int) -> Iterator[bytes]:
    """C events of counters; ``pid`` by group."""
    row = _Template(tick)
    row.text(f',\n{{"ph": "C", "name": {json.dumps(counters.name)}, "pid": ')
    row.column(pid[counters.group], "integer")
    row.fields("args", [(name, value, "integer") for name, value in counters.values.items()])
    row.text(', "ts": ')
    row.column(counters.time, "thousandths")
    row.text("}")
    yield from row.rows()
