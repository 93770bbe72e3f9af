"""Store of the finished chunks of a study: one SQLite file, from which the study resumes.

A study is determined by its definition. Its work is divided into chunks that do not depend on the
number of workers; the result of a chunk is an array of counts, or a dict of arrays. The file
contains the definition and the results of finished chunks. It is written in transactions, about one
per second, with SQLite's rollback journal, so that it is intact after a crash. A file that is not a
store of this study is never written to.
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

# "gpsS": SQLite application id of these files; the version changes with the tables below.
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
    """A file is not a store of this study, or is damaged or in use; it was not changed."""


class _Counts:
    """Encoding of results that are one array of ``length`` counts."""

    def __init__(self, length: int) -> None:
        self._length = length

    def pack(self, counts: Int64Array) -> bytes:
        return np.ascontiguousarray(counts, dtype="<i8").tobytes()

    def unpack(self, data: bytes) -> Int64Array | None:
        if len(data) != 8 * self._length:
            return None
        return np.frombuffer(data, "<i8").astype(np.int64)


class _Named:
    """Encoding of results that are dicts of arrays."""

    def pack(self, arrays: Mapping[str, Any]) -> bytes:
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise StoreError(
                    f"{name}: got dtype {array.dtype}, expected numbers or text for a store"
                )
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
    """An open store. ``done`` maps finished chunks to their results."""

    def __init__(self, path: str, connection: sqlite3.Connection, form: _Counts | _Named) -> None:
        self._path = path
        self._connection = connection
        self._form: Any = form
        self._waiting: list[tuple[Any, ...]] = []
        self._written = time.monotonic()
        self.done: dict[Chunk, Any] = {}

    def add(self, chunk: Chunk, counts: Any) -> None:
        """Add the result of a chunk; it is written within about a second, or by ``flush``."""
        data = self._form.pack(counts)
        self._waiting.append((*chunk, data, zlib.crc32(data)))
        self.done[chunk] = counts
        if time.monotonic() - self._written >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the added results as one transaction."""
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
                        f"{self._path}: got damaged counts of chunk ({point}, {first})"
                    )
                self.done[point, first, size] = found


@contextlib.contextmanager
def open_store(
    path: str | os.PathLike[str], study: Mapping[str, Any], length: int | None = None
) -> Iterator[Store]:
    """Open the store at ``path``, or create it, for the length of the block.

    Added results are written at the end of the block, also after an exception.

    Parameters
    ----------
    path
        The file.
    study
        Definition of the study, of values that JSON can hold.
    length
        Numbers in a chunk's counts; None when results are dicts of arrays.

    Raises
    ------
    StoreError
        Not a store, or a store of another version or study, damaged or in use by another process.
    OSError
        The file cannot be created.
    """
    name = os.fspath(path)
    name = name.decode() if isinstance(name, bytes) else name
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name}: got a folder, expected a file")
    if os.path.exists(name):
        if not os.path.isfile(name):  # opening a pipe would block
            raise StoreError(f"{name}: expected an ordinary file")
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
    """Check the header first: SQLite would treat a short file as a new database."""
    with open(name, "rb") as file:
        head = file.read(100)
        size = file.seek(0, os.SEEK_END)
    if not head:
        raise StoreError(
            f"{name}: got an empty file, expected a store; remove it or name another file"
        )
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{name}: expected a store (another file, or damaged)")
    page, pages, schema, application = (
        int.from_bytes(head[at : at + length], "big")
        for at, length in ((16, 2), (28, 4), (60, 4), (68, 4))
    )
    if application != _APPLICATION:
        raise StoreError(f"{name}: got an SQLite file that is not a store, expected a store")
    if schema != _SCHEMA:
        raise StoreError(
            f"{name}: got format {schema} of another version of gpusched, expected {_SCHEMA}"
        )
    # The journal of a killed process may restore the missing pages.
    if size < pages * (65536 if page == 1 else page) and not os.path.exists(f"{name}-journal"):
        raise StoreError(f"{name}: got a truncated file, expected a store")


def _connect(name: str) -> sqlite3.Connection:
    # By a quoted address: no character of the name is special, and no file is created.
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
    """Create a store atomically: under a temporary name, then linked or renamed."""
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
    """Lock the file for this connection until it is closed or its process ends."""
    with _blaming(name):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")


def _check(name: str, connection: sqlite3.Connection, study: Mapping[str, Any]) -> None:
    with _blaming(name):
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise StoreError(f"{name}: got a damaged store: {clip(str(state), 100)}")
        held = dict(connection.execute("SELECT key, value FROM study").fetchall())
    wanted = dict(_definition(study))
    version, mine = held.pop("gpusched", "null"), wanted.pop("gpusched")
    if held.get("numbers") != wanted.get("numbers"):
        raise StoreError(
            f"{name}: got results of gpusched {version}, expected {mine}, whose numbers differ"
        )
    for key in [*wanted, *held]:
        if held.get(key) != wanted.get(key):
            raise StoreError(
                f"{name}: got another study: {key} is {clip(held.get(key, 'missing'), 60)}, "
                f"expected {clip(wanted.get(key, 'missing'), 60)}"
            )


@contextlib.contextmanager
def _blaming(name: str) -> Iterator[None]:
    """Re-raise SQLite's errors inside the block as ``StoreError``."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise StoreError(f"{name}: in use by another process") from None
        raise StoreError(f"{name}: {text}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{name}: expected a store (another file, or damaged): {error}") from None
