"""Where a long study keeps what is done: one SQLite file, from which it resumes.

A study is a function of its definition; its work is cut into chunks that are the same however
many workers there are, and what a chunk found is an array of counts, or arrays with names. The
file holds the definition and the arrays of the chunks that are done. It is written in transactions,
about one a second, with SQLite's rollback journal: after a crash (or kill -9) it holds what the
last transaction left. A file that is not a store of this study is never written to.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip
from gpusched._version import __version__

__all__ = ["Chunk", "Store", "StoreError", "open_store"]

Chunk = tuple[int, int, int]
"""A chunk: (point of the study, first set, number of sets)."""

# "gpsS": marks our files among all SQLite files; the version changes with the tables below.
_APPLICATION = 0x67707353
_SCHEMA = 1
_SECONDS = 1.0  # between transactions
_TABLES = """
    CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE chunk (
        point INTEGER NOT NULL, first INTEGER NOT NULL, size INTEGER NOT NULL,
        counts BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (point, first, size)
    );
"""


class StoreError(RuntimeError):
    """A file is no store, or not of this study, or damaged, or in use; it was left as it was."""


class _Counts:
    """What a chunk found is one array of ``length`` counts."""

    def __init__(self, length: int) -> None:
        self._length = length

    def pack(self, counts: Int64Array) -> bytes:
        return np.ascontiguousarray(counts, dtype="<i8").tobytes()

    def unpack(self, data: bytes) -> Int64Array | None:
        if len(data) != 8 * self._length:
            return None
        return np.frombuffer(data, "<i8").astype(np.int64)


class _Named:
    """What a chunk found is a dict of arrays."""

    def pack(self, arrays: Mapping[str, Any]) -> bytes:
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise StoreError(f"{name!r}: a store keeps numbers and text, not {array.dtype}")
        file = io.BytesIO()
        np.savez(file, np.array(list(arrays), dtype=str), *arrays.values())
        return file.getvalue()

    def unpack(self, data: bytes) -> dict[str, Any] | None:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as held:
                names = held["arr_0"].tolist()
                return {name: held[f"arr_{i}"] for i, name in enumerate(names, 1)}
        except (ValueError, KeyError, OSError, zipfile.BadZipFile):
            return None


class Store:
    """An open store. ``done`` maps the chunks it holds to what they found."""

    def __init__(self, path: str, connection: sqlite3.Connection, form: _Counts | _Named) -> None:
        self._path = path
        self._connection = connection
        self._form: Any = form
        self._waiting: list[tuple[Any, ...]] = []
        self._written = time.monotonic()
        self.done: dict[Chunk, Any] = {}

    def add(self, chunk: Chunk, counts: Any) -> None:
        """Keeps what a chunk found; it is written within about a second, or by `flush`."""
        data = self._form.pack(counts)
        self._waiting.append((*chunk, data, zlib.crc32(data)))
        self.done[chunk] = counts
        if time.monotonic() - self._written >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what waits, as one transaction."""
        if self._waiting:
            with _blaming(self._path):
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?)", self._waiting
                    )
                    self._connection.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                    raise
            self._waiting.clear()
        self._written = time.monotonic()

    def _load(self) -> None:
        with _blaming(self._path):
            rows = self._connection.execute("SELECT point, first, size, counts, crc FROM chunk")
            for point, first, size, data, crc in rows:
                whole = isinstance(data, bytes) and zlib.crc32(data) == crc
                found = self._form.unpack(data) if whole else None
                if found is None:
                    raise StoreError(
                        f"{self._path}: the counts of chunk ({point}, {first}) are damaged"
                    )
                self.done[point, first, size] = found


@contextlib.contextmanager
def open_store(
    path: str | os.PathLike[str], study: Mapping[str, Any], length: int | None = None
) -> Iterator[Store]:
    """The store at ``path``, made if there is none, for as long as the block lasts.

    ``study``: what defines the study, as JSON can hold it; ``length``: numbers in a chunk's counts;
    without it, chunks are dicts of arrays.
    What was added is written at the end, also when the block is left by an exception. Raises
    ``StoreError`` for a file that is no store, of another version, of another study, damaged or in
    use by another process; ``OSError`` where there can be no file.
    """
    name = os.fspath(path)
    name = name.decode() if isinstance(name, bytes) else name
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name}: is a folder, not a store")
    if os.path.exists(name):
        if not os.path.isfile(name):  # reading a pipe would wait for ever
            raise StoreError(f"{name}: is no ordinary file")
        _check_header(name)
    else:
        _make(name, study)
    connection = _connect(name)
    try:
        _lock(name, connection)
        _check(name, connection, study)
        store = Store(name, connection, _Named() if length is None else _Counts(length))
        store._load()
        try:
            yield store
        finally:
            store.flush()
    finally:
        connection.close()


def _check_header(name: str) -> None:
    """Before SQLite opens the file, which it would take for a new one if it were short."""
    with open(name, "rb") as file:
        head = file.read(100)
        size = file.seek(0, os.SEEK_END)
    if not head:
        raise StoreError(f"{name}: is empty, not a store; remove it or name another file")
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{name}: is no store, or damaged")
    page, pages, schema, application = (
        int.from_bytes(head[at : at + length], "big")
        for at, length in ((16, 2), (28, 4), (60, 4), (68, 4))
    )
    if application != _APPLICATION:
        raise StoreError(f"{name}: is an SQLite file, but not a store of a study")
    if schema != _SCHEMA:
        raise StoreError(
            f"{name}: was written by another version of gpusched (format {schema}, this one reads "
            f"{_SCHEMA})"
        )
    # A journal of a killed process may bring back what is missing.
    if size < pages * (65536 if page == 1 else page) and not os.path.exists(f"{name}-journal"):
        raise StoreError(f"{name}: is damaged: it was cut off")


def _connect(name: str) -> sqlite3.Connection:
    # By a quoted address: no sign in the name has a meaning, and no file is made by mistake.
    with _blaming(name):
        return sqlite3.connect(
            f"file:{_quoted(name)}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=0,
            check_same_thread=False,
        )


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(name))


def _make(name: str, study: Mapping[str, Any]) -> None:
    """A new store, whole or not at all: made beside its place, then moved there."""
    beside = f"{name}.{os.urandom(8).hex()}.tmp"
    try:
        with _blaming(name):
            try:
                with open(beside, "xb"):
                    pass
            except OSError as error:
                raise OSError(error.errno, error.strerror, name) from None
            connection = _connect(beside)
            try:
                connection.executescript(
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_SCHEMA};"
                    f"BEGIN; {_TABLES}"
                )
                connection.executemany("INSERT INTO study VALUES (?, ?)", _definition(study))
                connection.execute("COMMIT")
            finally:
                connection.close()
        try:
            os.link(beside, name)  # never over a file that another process made meanwhile
        except FileExistsError:
            pass
        except OSError:  # no links on this file system
            if not os.path.exists(name):
                os.replace(beside, name)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _definition(study: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, json.dumps(value)) for key, value in {"gpusched": __version__, **study}.items()]


def _lock(name: str, connection: sqlite3.Connection) -> None:
    """For this connection alone, until it is closed or its process ends."""
    with _blaming(name):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")


def _check(name: str, connection: sqlite3.Connection, study: Mapping[str, Any]) -> None:
    with _blaming(name):
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise StoreError(f"{name}: is damaged: {clip(str(state), 100)}")
        held = dict(connection.execute("SELECT key, value FROM study").fetchall())
    wanted = dict(_definition(study))
    version, mine = held.pop("gpusched", "null"), wanted.pop("gpusched")
    if held.get("numbers") != wanted.get("numbers"):
        raise StoreError(
            f"{name}: was written by another version of gpusched ({version}, this is {mine}), "
            "whose numbers differ"
        )
    for key in [*wanted, *held]:
        if held.get(key) != wanted.get(key):
            raise StoreError(
                f"{name}: holds another study: {key} is {clip(held.get(key, 'missing'), 60)} "
                f"there, {clip(wanted.get(key, 'missing'), 60)} here"
            )


@contextlib.contextmanager
def _blaming(name: str) -> Iterator[None]:
    """SQLite's errors inside the block, as errors about the store."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise StoreError(f"{name}: is in use by another process") from None
        raise StoreError(f"{name}: {text}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{name}: is no store, or damaged: {error}") from None
