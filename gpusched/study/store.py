"""Store of the finished chunks of a study: one SQLite file, from which the study resumes.

A study is determined by its definition. Its work is divided into chunks: ranges of the task sets of
a point. The file has the definition, the points and the results of finished chunks, each with a
checksum over the definition and the contents of its row. It is written in transactions with
SQLite's rollback journal, so that it stays intact after a crash. A file that is not a store of this
study is never written to.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gpusched._support.files import create, remove_abandoned
from gpusched._support.text import clip, shown
from gpusched.study.accumulators import Arrays, State
from gpusched.study.chunks import Chunk, Definition

__all__ = ["Store", "StoreError", "check_same", "open_file"]

# "gpsS": SQLite application id of these files; the version changes with the tables below.
_APPLICATION = 0x67707353
_SCHEMA = 2
_SECONDS = 0.1  # between transactions, at most
_LARGEST = 1 << 30  # bytes of an unpacked state
_LONGEST_PATH = 504  # bytes of an absolute path that SQLite takes, on Unix
_TABLES = """
    CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE point (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE chunk (
        point TEXT NOT NULL, first INTEGER NOT NULL, size INTEGER NOT NULL, state BLOB NOT NULL,
        arrays BLOB, checksum BLOB NOT NULL, PRIMARY KEY (point, first, size)
    ) WITHOUT ROWID;
"""


class StoreError(RuntimeError):
    """A file is not a store of this study, or it is damaged or in use; it was not changed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.db")
    ...     _ = path.write_text("no store")
    ...     try:
    ...         gs.open_store(path)
    ...     except gs.StoreError as error:
    ...         print(str(error).replace(folder, ""))
    /study.db: expected a store (another file, or damaged)
    """


class Store:
    """An open store.

    Attributes
    ----------
    path
        Its path.
    definition
        Definition of its study.
    points
        Values of the parameters, as JSON holds them, by the keys of the points.
    notes
        What is known of the study without determining its results, by names.
    """

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._waiting: list[Chunk] = []
        self._written = time.monotonic()
        with blaming(path):
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise StoreError(f"{path}: got a damaged store: {clip(str(state), 100)}")
        # The definition is in every checksum.
        held = self._texts("study", b"")
        try:
            self.definition: Definition = held.pop("definition")
        except KeyError:
            raise StoreError(f"{path}: got a damaged store: no definition") from None
        self._digest = _digest(self.definition)
        self.notes: dict[str, Any] = held
        self.points: dict[str, Any] = self._texts("point", self._digest)

    def chunks(self) -> Iterator[Chunk]:
        """All chunks, ordered by point, first set, and size from the largest."""
        with blaming(self.path):
            rows = self._connection.execute("SELECT * FROM chunk ORDER BY point, first, size DESC")
            for point, first, size, state, arrays, checksum in rows:
                where = f"{self.path}: got a damaged chunk ({shown(point)}, {shown(first)})"
                whole = (
                    point in self.points
                    and isinstance(first, int)
                    and isinstance(size, int)
                    and isinstance(state, bytes)
                    and isinstance(arrays, bytes | None)
                    and checksum == _checksum(self._digest, point, first, size, state, arrays)
                )
                if not whole:
                    raise StoreError(where)
                held = None if arrays is None else _unpacked(arrays)
                if arrays is not None and held is None:
                    raise StoreError(where)
                yield Chunk(point, first, size, _state(state, where), held)

    def write(
        self, points: Mapping[str, Any], notes: Mapping[str, Any], chunks: Iterable[Chunk] = ()
    ) -> None:
        """Add points, by their keys, replace notes, and add chunks, in one transaction."""
        new = {key: value for key, value in points.items() if key not in self.points}
        changed = {name: value for name, value in notes.items() if self.notes.get(name) != value}
        added = list(chunks)
        if not new and not changed and not added:
            return
        with self._transaction():
            for table, digest, values in (("point", self._digest, new), ("study", b"", changed)):
                self._connection.executemany(
                    f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", _rows(values, digest)
                )
            self._insert(added)
        self.points.update(new)
        self.notes.update(changed)

    def add(self, chunk: Chunk, seconds: float) -> None:
        """Add the result of a chunk that took ``seconds``.

        It is written at once when it took 100 ms or more, otherwise within 100 ms if ``due`` is
        called in time.
        """
        self._waiting.append(chunk)
        if seconds >= _SECONDS:
            self.flush()
        else:
            self.due()

    def due(self) -> float | None:
        """Write what has waited for 100 ms; seconds until the next call is due, None for never."""
        if not self._waiting:
            return None
        left = self._written + _SECONDS - time.monotonic()
        if left > 0:
            return left
        self.flush()
        return None

    def flush(self) -> None:
        """Write the added chunks as one transaction."""
        if self._waiting:
            with self._transaction():
                self._insert(self._waiting)
            self._waiting.clear()
        self._written = time.monotonic()

    def _insert(self, chunks: Iterable[Chunk]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?, ?)",
            (self._row(chunk) for chunk in chunks),
        )

    def _row(self, chunk: Chunk) -> tuple[Any, ...]:
        state = zlib.compress(json.dumps(chunk.state).encode(), 1)
        arrays = None if chunk.arrays is None else _packed(chunk.arrays)
        key = (chunk.point, chunk.first, chunk.size)
        return (*key, state, arrays, _checksum(self._digest, *key, state, arrays))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with blaming(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _texts(self, table: str, digest: bytes) -> dict[str, Any]:
        with blaming(self.path):
            rows = self._connection.execute(f"SELECT * FROM {table}").fetchall()
        found = {}
        for key, value, checksum in rows:
            if not isinstance(value, str) or checksum != _checksum(digest, key, value):
                raise StoreError(f"{self.path}: got a damaged {table} {shown(key)}")
            found[key] = json.loads(value)
        return found


@contextlib.contextmanager
def open_file(
    path: str | os.PathLike[str], definition: Definition | None, *, new: bool = False
) -> Iterator[Store]:
    """Open the store at ``path`` for the length of the block.

    Added chunks are written at the end of the block, also after an exception.

    Parameters
    ----------
    path
        The file.
    definition
        Definition of the study; a file that is not there is created. None to read a store of any
        study: nothing is written, unless a killed process left a transaction to be undone.
    new
        There must be no such file.

    Raises
    ------
    StoreError
        Not a store, or a store of another version or study, damaged or in use by another process.
    OSError
        The file cannot be created, or is not there and ``definition`` is None.
    """
    name = os.fsdecode(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if len(os.fsencode(os.path.abspath(name))) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name}: got a folder, expected a file")
    mode = "rw"
    if os.path.exists(name) and not new:
        if not os.path.isfile(name):  # opening a pipe would block
            raise StoreError(f"{name}: expected an ordinary file")
        whole = _check_header(name)
        if definition is not None:
            remove_abandoned(name)
        elif whole:
            mode = "ro"
    elif definition is None:
        raise FileNotFoundError(f"{name}: no such file, expected a store")
    else:
        _make(name, definition, new)
    connection = _connect(name, mode)
    try:
        _lock(name, connection, mode)
        store = Store(name, connection)
        if definition is not None:
            check_same(store.definition, definition, name)
        try:
            yield store
        finally:
            store.flush()
    finally:
        connection.close()


def check_same(held: Definition, wanted: Definition, where: str) -> None:
    """Raise a ``StoreError`` that names the parts in which two definitions differ."""
    if _digest(held) == _digest(wanted):
        return
    for name in ("gpusched", "study"):
        if held.get(name) != wanted.get(name):
            what = {"gpusched": "results of gpusched", "study": "a store of"}[name]
            raise StoreError(
                f"{where}: got {what} {shown(held.get(name))}, expected {shown(wanted.get(name))}"
            )
    from gpusched.study.identity.function_identity import difference

    found = difference(held.get("function", {}), wanted.get("function", {}))
    for name in dict.fromkeys([*wanted, *held]):
        if name != "function" and held.get(name) != wanted.get(name):
            values = (clip(json.dumps(one.get(name)), 60) for one in (held, wanted))
            text = "seed is another one" if name == "seed" else "{} is {}, expected {}"
            found.append(text.format(name, *values))
    listed = "; ".join(found[:4]) + ("; and more" if len(found) > 4 else "")
    raise StoreError(
        f"{where}: got another study: {listed}; take another file, or delete this one to compute "
        "everything again"
    )


def _digest(definition: Definition) -> bytes:
    return _checksum(b"", json.dumps(definition, sort_keys=True))


def _checksum(digest: bytes, *parts: Any) -> bytes:
    """Checksum of a row with the definition's; no two rows have the same text of parts."""
    text = hashlib.blake2b(digest, digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        text.update(f"{type(part).__name__} {len(data)} ".encode())
        text.update(data)
    return text.digest()


def _rows(values: Mapping[str, Any], digest: bytes) -> Iterable[tuple[str, str, bytes]]:
    for name, value in values.items():
        text = json.dumps(value)
        yield name, text, _checksum(digest, name, text)


def _packed(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, np.array(list(arrays), dtype=str), *arrays.values())
    return file.getvalue()


def _unpacked(data: bytes) -> Arrays | None:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            names = held["arr_0"].tolist()
            return {name: held[f"arr_{i}"] for i, name in enumerate(names, 1)}
    except (ValueError, KeyError, OSError, zipfile.BadZipFile):
        return None


def _state(data: bytes, where: str) -> State:
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(data, _LARGEST)
        state = json.loads(text) if stream.eof else None
    except (ValueError, zlib.error):
        state = None
    if not isinstance(state, dict):
        raise StoreError(where)
    return state


def _check_header(name: str) -> bool:
    """Check the header first: SQLite would treat a short file as a new database.

    Returns True for a file that can be read without being written to: it has no journal, from which
    SQLite would undo a transaction, and is not in the mode with a log (WAL).
    """
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
    journal = os.path.exists(f"{name}-journal")
    # The journal of a killed process may restore the missing pages.
    if size < pages * (65536 if page == 1 else page) and not journal:
        raise StoreError(f"{name}: got a truncated file, expected a store")
    return not journal and head[18] == 1


def _connect(name: str, mode: str) -> sqlite3.Connection:
    from urllib.parse import quote

    # By a quoted address: no character of the name is special, and no file is created.
    with blaming(name):
        return sqlite3.connect(
            f"file:{quote(os.fsencode(os.path.abspath(name)))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=0,
            check_same_thread=False,
        )


def _make(name: str, definition: Definition, new: bool) -> None:
    """Create a store without chunks, unless another process made it meanwhile."""
    with blaming(name), contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_SCHEMA}; {_TABLES}"
        )
        rows = _rows({"definition": definition}, b"")
        connection.executemany("INSERT INTO study VALUES (?, ?, ?)", rows)
        connection.commit()
        content = connection.serialize()
    try:
        create(name, content)
    except FileExistsError:
        if new:
            raise FileExistsError(f"{name}: got a file, expected a new name") from None


def _lock(name: str, connection: sqlite3.Connection, mode: str) -> None:
    """Lock the file for this connection until it is closed or its process ends.

    A connection that only reads locks it from the first row on, against writers.
    """
    with blaming(name):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        if mode == "rw":
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")


@contextlib.contextmanager
def blaming(name: str) -> Iterator[None]:
    """Re-raise SQLite's errors inside the block as ``StoreError``."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise StoreError(f"{name}: in use by another process") from None
        if "readonly" in text:
            raise StoreError(
                f"{name}: got a file or folder that cannot be written, expected one that can, also "
                "to undo what a killed process was writing"
            ) from None
        raise StoreError(f"{name}: {text}") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{name}: expected a store (another file, or damaged): {error}") from None
    except UnicodeDecodeError:  # a text of SQLite's, or in a row
        raise StoreError(f"{name}: got a damaged store: a text is not UTF-8") from None
