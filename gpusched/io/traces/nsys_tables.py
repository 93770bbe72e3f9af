"""Tables of a database of Nsight Systems or nvprof: read-only access, texts, checks of columns.

The database is opened read-only; no lock, journal or shared-memory file is created. Generated
columns may make values that are larger than the file: their size is limited, singly and in total.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.input_files import check_size, guard, opened, pass_interrupt_on
from gpusched._support.text import shown
from gpusched.io.traces.trace_tables import INT64_MAX

if TYPE_CHECKING:
    import sqlite3

__all__ = ["NVPROF_STRINGS", "STRINGS", "Database", "Shapes", "opened_database", "readable"]

STRINGS = "StringIds"
NVPROF_STRINGS = "StringTable"

_CHUNK = 4096
_LONGEST = 1 << 24  # bytes of a value; mangled names of kernels have up to some 10,000


class Database:
    """An open database.

    ``tables`` has the columns of each table that is among ``known``, ``nvprof`` whether the
    database is one of nvprof. Raises ``ValueError`` where the values read are more than
    ``max_bytes``.
    """

    def __init__(
        self, source: str, connection: sqlite3.Connection, max_bytes: int, known: Sequence[str]
    ) -> None:
        self.source = source
        self.connection = connection
        self.max_bytes = max_bytes
        self.taken = 0  # bytes of the values read
        names = [readable(name) for (name,) in self.rows(_TABLES)]
        self.tables = {
            name: [readable(row[1]) for row in self.rows(f'PRAGMA table_info("{name}")')]
            for name in names
            if name in known
        }
        self.nvprof = NVPROF_STRINGS in self.tables and STRINGS not in self.tables

    def rows(self, query: str) -> Iterator[Any]:
        """The rows of a query; text is bytes."""
        return self.connection.execute(query)

    def integers(self, table: str, query: str, keys: Sequence[str]) -> Int64Array:
        """The rows of a query of integers, whose first column is the number of the row."""
        parts: list[Int64Array] = [np.empty((0, len(keys)), np.int64)]
        cursor = self.connection.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            self.take(len(rows) * len(keys) * 8)
            if set(map(type, chain.from_iterable(rows))) != {int}:
                self._blame(table, rows, keys)
            parts.append(np.array(rows, dtype=np.int64))
        return np.concatenate(parts)

    def columns(
        self, table: str, needed: Sequence[str], usual: dict[str, int]
    ) -> dict[str, Int64Array] | None:
        """Columns of integers by name, with ``rowid``; None where the table lacks a needed one.

        ``usual`` has columns that may be missing or NULL, and the value that stands for it.
        """
        present = self.tables.get(table, [])
        if not set(needed) <= set(present):
            return None
        selected = ["rowid", *(f'"{name}"' for name in needed)]
        for name, value in usual.items():
            selected.append(f'ifnull("{name}", {value})' if name in present else str(value))
        query = f'SELECT {", ".join(selected)} FROM "{table}" ORDER BY rowid'
        keys = ("rowid", *needed, *usual)
        return dict(zip(keys, self.integers(table, query, keys).T, strict=True))

    def strings(self, used: str, what: str) -> dict[int, str]:
        """The texts whose numbers a query selects, which are ``what``."""
        table, key = (NVPROF_STRINGS, "_id_") if self.nvprof else (STRINGS, "id")
        if table not in self.tables:
            return {}
        query = f'SELECT "{key}", value FROM "{table}" WHERE "{key}" IN ({used})'
        found = {}
        for number, value in self.rows(query):
            if not isinstance(value, bytes):
                self.fail(table, number, "value", value, what)
            found[number] = self.text(table, number, "value", value)
        return found

    def text(self, table: str, row: int, key: str, value: bytes) -> str:
        """Bytes as text; ``ValueError`` where they are not UTF-8."""
        self.take(len(value))
        try:
            return value.decode()
        except UnicodeDecodeError:
            self.fail(table, row, key, value, "UTF-8")

    def take(self, size: int) -> None:
        """Count bytes that are read; ``ValueError`` when they are too many."""
        self.taken += size
        check_size(self.source, self.taken, self.max_bytes, " of values")

    def fail(self, table: str, row: int, key: str, value: Any, what: str) -> NoReturn:
        """Raise a ``ValueError`` about an entry; ``what`` is expected."""
        value = readable(value[:100]) if isinstance(value, bytes) else value
        where = (
            f"{self.source}: {table}, {'id' if table in (STRINGS, NVPROF_STRINGS) else 'row'} {row}"
        )
        raise ValueError(f"{where}: {key!r}: got {shown(value)}, expected {what}")

    def _blame(self, table: str, rows: list[Any], keys: Sequence[str]) -> NoReturn:
        """Raise a ``ValueError`` for the first entry that is not an integer."""
        for row in rows:
            for key, value in zip(keys, row, strict=True):
                if type(value) is not int:
                    self.fail(table, row[0], key, value, "an integer")
        raise AssertionError("all are integers")


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


@contextlib.contextmanager
def opened_database(source: str, max_bytes: int) -> Iterator[sqlite3.Connection]:
    """The database, opened read-only; errors inside the block name the file."""
    import sqlite3

    with opened(source) as file:
        check_size(source, os.fstat(file.fileno()).st_size, max_bytes)
        versions = file.read(20)[18:20]
    address = f"{Path(os.path.abspath(source)).as_uri()}?mode=ro"
    if b"\x02" in versions:
        # With a write-ahead log, reading creates files beside it unless it is immutable.
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(f"{source}-wal"):
                reason = f"{os.path.basename(source)}-wal has changes that are not in it yet"
                raise OSError(errno.EBUSY, reason, source)
        address += "&immutable=1"
    try:
        database = sqlite3.connect(address, uri=True, timeout=1, isolation_level=None)
        with contextlib.closing(database):
            database.text_factory = bytes
            guard(database, _LONGEST)
            database.execute("BEGIN")  # all queries see one state of the database
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from messages of SQLite
        if isinstance(error, sqlite3.Error):
            pass_interrupt_on(error)
        in_use = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY)
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in in_use:
            reason = f"another program is writing it, or was stopped while it did ({error})"
            raise OSError(errno.EBUSY, reason, source) from error
        raise ValueError(
            f"{source}: expected an intact SQLite database: {str(error)[:200]}"
        ) from error


def readable(value: Any) -> str:
    """A value as text, whatever bytes it has."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class Shapes:
    """Checks of columns. ``where(i)`` names file and row of entry i in the ``ValueError``."""

    def __init__(self, where: Callable[[int], str]) -> None:
        self.where = where

    def refuse(self, wrong: NDArray[np.bool_], values: Any, key: str, what: str) -> None:
        """Raise a ``ValueError`` for the first entry that is wrong; ``what`` is expected."""
        if wrong.any():
            i = int(np.argmax(wrong))
            value = values[i].item() if isinstance(values[i], np.generic) else values[i]
            raise ValueError(f"{self.where(i)}: {key!r}: got {shown(value)}, expected {what}")

    def at_least(self, values: Int64Array, least: int, key: str) -> None:
        """Raise a ``ValueError`` for the first value below ``least``, 0 or 1."""
        what = "a positive number" if least == 1 else "a non-negative number"
        self.refuse(values < least, values, key, what)

    def product(self, sides: Mapping[str, Int64Array]) -> Int64Array:
        """Product of columns of positive integers: blocks of a grid, or threads of a block."""
        for key, values in sides.items():
            self.at_least(values, 1, key)
        columns = list(sides.values())
        product: Int64Array = np.multiply.reduce(columns)  # wraps on overflow, checked below
        rough = np.multiply.reduce([values.astype(float) for values in columns])
        for i in np.flatnonzero(rough >= 2.0**62).tolist():
            if math.prod(int(values[i]) for values in columns) > INT64_MAX:
                keys = ", ".join(sides)
                raise ValueError(f"{self.where(i)}: {keys}: expected a product that fits 64 bits")
        return product

    def sum(self, parts: Mapping[str, Int64Array]) -> Int64Array:
        """Sum of two columns of non-negative numbers: static and dynamic shared memory."""
        for key, values in parts.items():
            self.at_least(values, 0, key)
        (_, first), (key, second) = parts.items()
        self.refuse(
            first > INT64_MAX - second,
            second,
            key,
            "a number whose sum with the other part fits 64 bits",
        )
        total: Int64Array = first + second
        return total
