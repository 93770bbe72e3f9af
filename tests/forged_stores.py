"""Stores that were made to harm: values with right checksums, other tables, journals of others."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.study.store import _checksum, _digest

MAGIC = bytes.fromhex("d9d505f920a163d7")
SCHEMAS = (
    "CREATE VIEW extra AS SELECT 1",
    "CREATE TABLE extra (a)",
    "CREATE INDEX extra ON chunk (size)",
    "CREATE TRIGGER extra AFTER INSERT ON chunk BEGIN DELETE FROM point; END",
    "ALTER TABLE chunk ADD COLUMN extra",
    "ALTER TABLE chunk RENAME COLUMN arrays TO more",
    "DROP TABLE study; CREATE VIEW study AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL "
    "SELECT i + 1 FROM r) SELECT 'definition' AS name, i AS value, i AS checksum FROM r",
    "DROP TABLE chunk; CREATE VIEW chunk AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL "
    "SELECT i + 1 FROM r) SELECT i, i, i, i, i, i FROM r",
    "DROP TABLE point",
    "DROP TABLE chunk; CREATE TABLE chunk (point, first, size, state, arrays, checksum)",
)
ODD = (None, True, -1, 0, 1, 2**63, 10**400, 1e308, float("nan"), "", "x", [], {}, [[]], [1] * 9,
       {"object": 1}, {"": None}, "\ud800", "Mean", "real", "__class__", [0, 10**12], [1, -(10**9)],
       {"shares": "ab"}, {"edges": [1, 0]}, {"by": []})  # fmt: skip


def with_super_journal(store: Path, victim: str) -> Path:
    """A journal beside the store that names another file, which SQLite would delete."""
    data = store.read_bytes()
    page = int.from_bytes(data[16:18], "big")
    head = (MAGIC + struct.pack(">IIIII", 0, 1, len(data) // page, 512, page)).ljust(512, b"\0")
    name = victim.encode()
    journal = store.with_name(f"{store.name}-journal")
    journal.write_bytes(
        head + struct.pack(">I", 0x40000000 // page + 1) + name
        + struct.pack(">II", len(name), sum(name)) + MAGIC
    )  # fmt: skip
    return journal


def journal_of(store: Path) -> bytes:
    """A journal of the store, as a kill in the middle of a transaction leaves it.

    The file itself then has pages that the journal undoes; here they are undone at once.
    """
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE chunk SET checksum = zeroblob(9000)")
        journal = store.with_name(f"{store.name}-journal").read_bytes()
        connection.execute("ROLLBACK")
    return journal


@contextlib.contextmanager
def rows(store: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        yield connection


def set_text(store: Path, table: str, change: Callable[[str, Any], Any], key: str = "") -> None:
    """Change values of the table "study" or "point" (all, or the one of a key)."""
    with rows(store) as connection:
        held = connection.execute("SELECT value FROM study WHERE name = 'definition'").fetchone()
        digest = b"" if table == "study" else _digest(json.loads(held[0]))
        name = "name" if table == "study" else "key"
        for known, value in connection.execute(f"SELECT {name}, value FROM {table}").fetchall():
            if key in ("", known):
                text = change(known, json.loads(value))
                text = text.decode() if isinstance(text, bytes) else json.dumps(text)
                connection.execute(
                    f"UPDATE {table} SET value = ?, checksum = ? WHERE {name} = ?",
                    (text, _checksum(digest, known, text), known),
                )
    resign(store)


def resign(store: Path) -> None:
    """Give all points and chunks the checksums of the definition that is held now."""
    with rows(store) as connection:
        held = connection.execute("SELECT value FROM study WHERE name = 'definition'").fetchone()
        with contextlib.suppress(ValueError, RecursionError, TypeError):
            digest = _digest(json.loads(held[0]))
            for key, value in connection.execute("SELECT key, value FROM point").fetchall():
                connection.execute(
                    "UPDATE point SET checksum = ? WHERE key = ?",
                    (_checksum(digest, key, value), key),
                )
            for row in connection.execute("SELECT * FROM chunk").fetchall():
                connection.execute(
                    "UPDATE chunk SET checksum = ? WHERE point = ? AND first = ? AND size = ?",
                    (_checksum(digest, *row[:7]), *row[:3]),
                )


def set_state(store: Path, state: Any, arrays: bytes | None = None, chunk: int = 0) -> None:
    """Give a chunk another state (a value, or the bytes that are held), and other arrays."""
    packed = state if isinstance(state, bytes) else zlib.compress(json.dumps(state).encode())
    with rows(store) as connection:
        key = connection.execute("SELECT point, first, size FROM chunk").fetchall()[chunk]
        connection.execute(
            "UPDATE chunk SET state = ? WHERE point = ? AND first = ? AND size = ?", (packed, *key)
        )
        if arrays is not None:
            connection.execute(
                "UPDATE chunk SET arrays = ? WHERE point = ? AND first = ? AND size = ?",
                (arrays, *key),
            )
    resign(store)


def state_of(store: Path, chunk: int = 0) -> Any:
    with rows(store) as connection:
        state = connection.execute("SELECT state FROM chunk").fetchall()[chunk][0]
    return json.loads(zlib.decompress(state))


def npz(names: list[str], arrays: list[np.ndarray], method: int = zipfile.ZIP_STORED) -> bytes:
    """Arrays as a store holds them, with any names, or compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for i, array in enumerate([np.array(names, str), *arrays]):
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(f"arr_{i}.npy", held.getvalue())
    return file.getvalue()


def mutated(value: Any, random: np.random.Generator) -> Any:
    """A JSON value in which something, anywhere, is something else."""
    if isinstance(value, (list, dict)) and value and random.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(random.integers(len(keys)))]
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        if random.random() < 0.1:
            del copy[key]
        else:
            copy[key] = mutated(value[key], random)
        return copy
    return ODD[int(random.integers(len(ODD)))]


def forged(store: Path, random: np.random.Generator) -> None:
    """Change a store in one place to something that no study writes, with right checksums."""
    kind = int(random.integers(5))
    if kind == 0:
        set_text(store, "study", lambda _, value: mutated(value, random), "definition")
    elif kind == 1:
        set_text(store, "study", lambda key, value: value if key == "definition"
                 else mutated(value, random))  # fmt: skip
    elif kind == 2:
        set_text(store, "point", lambda _, value: mutated(value, random))
    elif kind == 3:
        chunk = int(random.integers(3))
        set_state(store, mutated(state_of(store, chunk), random), chunk=chunk)
    else:
        with rows(store) as connection:
            column = ("point", "first", "size", "state", "arrays")[int(random.integers(5))]
            value = (None, -1, 0, 2**62, "x", b"x", 1.5, "1")[int(random.integers(8))]
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(f"UPDATE chunk SET {column} = ? WHERE first = 0", (value,))
        resign(store)
