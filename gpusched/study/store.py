"""Store of the finished chunks of a study: one SQLite file, from which the study resumes.

A study is determined by its definition. Its work is divided into chunks: ranges of the task sets of
a point. The file has the definition, the points and the results of finished chunks, each with a
checksum over the definition and the contents of its row. It is written in transactions with
SQLite's rollback journal, so that it stays intact after a crash. A file that is not a store of this
study is never written to. Checksums find damage, not intent: all values are checked before use.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import sqlite3
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.input_files import zip_members
from gpusched._support.saved_files import array_of
from gpusched._support.text import clip, shown
from gpusched.study.point_results import KINDS, Arrays, Chunk, State, Width
from gpusched.study.store_files import (
    TABLES,
    StoreError,
    blaming,
    has_journal,
    located,
    made,
    reading,
    tables_of,
    writing,
)
from gpusched.study.sweep_definition import Definition

_MOST_SETS = 1 << 62
_LATEST = 2.0**37  # seconds since 1970, in the year 6325
_KEY = re.compile("[0-9a-f]{32}")


def decoded(text: str | bytes) -> Any:
    """The value of a JSON text; ``ValueError`` for another text."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_definition(value: Any) -> bool:
    """Whether a value can be the definition of a study."""
    if not isinstance(value, dict) or not isinstance(value.get("study"), str):
        return False
    function, reductions = value.get("function", {}), value.get("reduce", {})
    parameters = value.get("parameters", [])
    return (
        isinstance(parameters, list)
        and all(isinstance(name, str) for name in parameters)
        and isinstance(function, dict)
        and all(isinstance(part, str) for part in function.values())
        and isinstance(reductions, dict)
        and all(isinstance(chosen, list) for chosen in reductions.values())
        and all(_is_reduction(one) for chosen in reductions.values() for one in chosen)
    )


def _is_reduction(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], (dict, str))
    )


def is_note(name: str, value: Any) -> bool:
    """Whether a value can be the note of this name."""
    if name == "count":
        return _is_count(value) and value > 0
    if name == "name":
        return isinstance(value, str)
    if name == "axes":
        return isinstance(value, dict) and all(
            isinstance(values, list) and all(map(_is_plain, values)) for values in value.values()
        )
    if name.startswith("machine "):
        return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    return name != "stop" or value is None or _is_stop(value)


def _is_stop(value: Any) -> bool:
    try:
        return isinstance(value, list) and bool(Width(*value))
    except (TypeError, ValueError, OverflowError):
        return False


def is_point(key: Any, value: Any, definition: Mapping[str, Any]) -> bool:
    """Whether a value can be the parameters of a point of a study with this key."""
    return (
        isinstance(key, str)
        and _KEY.fullmatch(key) is not None
        and isinstance(value, dict)
        and definition.get("parameters") in (None, sorted(value))
        and all(map(_is_plain, value.values()))
    )


def _is_plain(value: Any) -> bool:
    """Whether `plain_value` can have made a value."""
    if isinstance(value, Mapping):
        texts = value.get("object"), value.get("digest")
        return len(value) == 2 and all(isinstance(text, str) for text in texts)
    return value is None or isinstance(value, (bool, int, float, str))


def is_range(first: Any, size: Any) -> bool:
    """Whether these can be the first and the number of the task sets of a chunk."""
    return _is_count(first) and _is_count(size) and 0 < size <= _MOST_SETS - first


def is_time(value: Any) -> bool:
    """Whether a value can be a time in seconds since 1970."""
    return isinstance(value, float) and 0 <= value < _LATEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SETS


_SECONDS = 0.1  # between transactions, at most
_LARGEST = 1 << 24  # bytes of a state as text


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

    def __init__(
        self, path: str, connection: sqlite3.Connection, max_bytes: int | None = None
    ) -> None:
        self.path = path
        self._connection = connection
        self._left = max_bytes  # that may be unpacked
        self._waiting: list[Chunk] = []
        self._written = time.monotonic()
        with blaming(path):
            if tables_of(connection) != _expected_tables():
                raise StoreError(f"{path}: got other tables than those of a store")
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise StoreError(f"{path}: got a damaged store: {clip(str(state), 100)}")
        # The definition is in every checksum.
        held = self._texts("study", b"")
        self.definition: Definition = held.pop("definition", None)
        if not is_definition(self.definition):
            raise StoreError(f"{path}: got a damaged store: no definition")
        self._digest = _digest(self.definition)
        self.notes: dict[str, Any] = held
        for name, value in held.items():
            if not is_note(name, value):
                raise self._damaged("study", name)
        self.points: dict[str, Any] = self._texts("point", self._digest)
        for key, value in self.points.items():
            if not is_point(key, value, self.definition):
                raise self._damaged("point", key)

    def chunks(self, holds: Callable[[State, int], bool]) -> Iterator[Chunk]:
        """All chunks, ordered by point, first set, and size from the largest.

        ``holds`` tells whether a state can be one of so many task sets.
        """
        with blaming(self.path):
            rows = self._connection.execute("SELECT * FROM chunk ORDER BY point, first, size DESC")
            for *row, checksum in rows:
                point, first, size, state, arrays, machine, ended = row
                whole = (
                    point in self.points
                    and is_range(first, size)
                    and isinstance(state, bytes)
                    and isinstance(arrays, bytes | None)
                    and (machine == "" or f"machine {machine}" in self.notes)
                    and is_time(ended)
                    and checksum == _checksum(self._digest, *row)
                )
                where = f"{self.path}: got a damaged chunk ({shown(point)}, {shown(first)})"
                if not whole:
                    raise StoreError(where)
                try:
                    text = _inflated(state)
                    self._take(len(text) + len(arrays or b""))
                    found = decoded(text)
                    held = None if arrays is None else _unpacked(arrays, size)
                except (ValueError, LookupError, zlib.error, zipfile.BadZipFile) as error:
                    raise StoreError(f"{where}: {clip(str(error), 100)}") from None
                kept = held.keys() if held is not None else None
                if not (
                    isinstance(found, dict)
                    and holds(found, size)
                    and kept == (found.keys() if self.definition.get("keep") else None)
                ):
                    raise StoreError(f"{where}: got other numbers than those of its task sets")
                yield Chunk(point, first, size, found, held, machine, ended)

    def _take(self, size: int) -> None:
        """Count bytes that are unpacked; ``StoreError`` when they are too many."""
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                raise StoreError(
                    f"{self.path}: got more bytes unpacked than max_bytes, expected at most that"
                )

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

    def add(self, chunk: Chunk, seconds: float, machine: Iterable[tuple[str, str]] = ()) -> None:
        """Add the result of a chunk that took ``seconds`` on a machine of this description.

        It is written at once when it took 100 ms or more, otherwise within 100 ms if ``due`` is
        called in time.
        """
        if described := dict(machine):
            digest = _checksum(b"", json.dumps(described)).hex()[:16]
            if f"machine {digest}" not in self.notes:
                self.write({}, {f"machine {digest}": described})
            chunk = chunk._replace(machine=digest)
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
            "INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self._row(chunk) for chunk in chunks),
        )

    def _row(self, chunk: Chunk) -> tuple[Any, ...]:
        text = json.dumps(chunk.state).encode()
        if len(text) > _LARGEST:
            raise StoreError(
                f"{self.path}: got a state of {len(text)} bytes, expected at most {_LARGEST}: keep "
                "less of the values (reduce=), or take smaller chunks (chunk=)"
            )
        state = zlib.compress(text, 1)
        arrays = None if chunk.arrays is None else _packed(chunk.arrays)
        row = (chunk.point, chunk.first, chunk.size, state, arrays, chunk.machine, chunk.ended)
        return (*row, _checksum(self._digest, *row))

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
            whole = isinstance(key, str) and isinstance(value, str)
            if not whole or checksum != _checksum(digest, key, value):
                raise self._damaged(table, key)
            try:
                found[key] = decoded(value)
            except ValueError:
                raise self._damaged(table, key) from None
        return found

    def _damaged(self, table: str, key: Any) -> StoreError:
        return StoreError(f"{self.path}: got a damaged {table} {shown(key)}")


@contextlib.contextmanager
def open_file(
    path: str | os.PathLike[str],
    definition: Definition | None,
    *,
    new: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Store]:
    """Open the store at ``path`` for the length of the block.

    Added chunks are written at the end of the block, also after an exception.

    Parameters
    ----------
    path
        The file.
    definition
        Definition of the study; a file that is not there is created. None to read a store of any
        study: nothing is written.
    new
        There must be no such file.
    max_bytes
        Largest size of a file that is only read, and of what is unpacked from it.

    Raises
    ------
    StoreError
        Not a store, or a store of another version or study, damaged or in use by another process.
    OSError
        The file cannot be created, or is not there and ``definition`` is None.
    """
    name = located(path)
    if definition is None:
        with reading(name, max_bytes) as connection:
            yield Store(name, connection, max_bytes)
        return
    if new or not os.path.exists(name):
        made(name, _rows({"definition": definition}, b""), new)
    elif has_journal(name):
        # What it undoes must make a store of this study; else it is the journal of another file.
        with reading(name, sys.maxsize) as connection:
            check_same(Store(name, connection).definition, definition, name)
    with writing(name) as connection:
        store = Store(name, connection)
        check_same(store.definition, definition, name)
        try:
            yield store
        finally:
            store.flush()


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


def _unpacked(data: bytes, size: int) -> Arrays:
    """The arrays of a chunk of so many task sets, which `_packed` does not compress."""
    members = {}
    with contextlib.closing(io.BytesIO(data)) as file:
        for name, content in zip_members(file, "arrays", len(data)):
            members[name] = array_of(content, name)
    names = members.pop("arr_0.npy").ravel().tolist() if members else []
    arrays = {name: members[f"arr_{i}.npy"] for i, name in enumerate(names, 1)}
    if len(arrays) != len(members):
        raise ValueError("other arrays than those that are named")
    for name, values in arrays.items():
        if not isinstance(name, str) or values.shape != (size,) or values.dtype.kind not in KINDS:
            raise ValueError(f"{shown(name)}: an array of {shown(values.shape)}")
    return arrays


def _inflated(state: bytes) -> bytes:
    stream = zlib.decompressobj()
    text = stream.decompress(state, _LARGEST)
    if not stream.eof:
        raise ValueError("a state that is cut off or too large")
    return text


@functools.cache
def _expected_tables() -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        return tables_of(connection)
