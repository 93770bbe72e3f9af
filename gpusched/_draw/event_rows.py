"""Events of Chrome traces from columns: text of many rows at once, formatted by the core."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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
