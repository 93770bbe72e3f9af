"""Files of stores: opening them for reading or writing, and making new ones.

A file of unknown origin is opened with care. Reading writes neither to it nor to files beside it: a
transaction that a killed process left is undone in a private copy. Writing lets SQLite undo it, but
only by a journal that a store can have left: an ordinary file that names no other journal (SQLite
deletes the "super-journal" that is named). A new store is not made beside a journal of one that is
gone, which would be undone in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from gpusched._support.files import create, remove_abandoned
from gpusched._support.input_files import MAGIC, guard, pass_interrupt_on

# "gpsS": SQLite application id of these files; the version changes with the tables below.
APPLICATION = 0x67707353
SCHEMA = 3
TABLES = """
    CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE point (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE chunk (
        point TEXT NOT NULL, first INTEGER NOT NULL, size INTEGER NOT NULL, state BLOB NOT NULL,
        arrays BLOB, machine TEXT NOT NULL, ended REAL NOT NULL, checksum BLOB NOT NULL,
        PRIMARY KEY (point, first, size)
    ) WITHOUT ROWID;
"""
_LONGEST = 1 << 30  # bytes of a value
_LONGEST_PATH = 504  # bytes of an absolute path that SQLite takes, on Unix
_JOURNAL, _LOG = "-journal", "-wal"  # names beside a database
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEAD = (
    28  # bytes; pages of the database before it are the 4 from 16 on, their size from 24
)


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


def located(path: str | os.PathLike[str]) -> str:
    """The name of a file; ``OSError`` for one that cannot be a store's."""
    name = os.fsdecode(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if len(os.fsencode(os.path.realpath(name))) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name}: got a folder, expected a file")
    return name


@contextlib.contextmanager
def reading(name: str, max_bytes: int) -> Iterator[sqlite3.Connection]:
    """A connection to a store, or to a private copy of one that has a transaction to be undone.

    Raises
    ------
    StoreError
        Not a store, or one of more than ``max_bytes``, or it is being written.
    OSError
        There is no such file, or it cannot be read.
    """
    if not os.path.exists(name):
        raise FileNotFoundError(f"{name}: no such file, expected a store")
    logged = _check_header(name) or os.path.lexists(_beside(name, _LOG))
    if sum(_size(_beside(name, end)) for end in ("", _JOURNAL, _LOG)) > max_bytes:
        raise StoreError(
            f"{name}: got more than {max_bytes} bytes, expected at most that (max_bytes raises the "
            "limit)"
        )
    if not logged:
        with contextlib.closing(_connect(name, name, "ro")) as connection:
            if not _is_hot(name, connection):
                yield connection
                return
    with tempfile.TemporaryDirectory(prefix="gpusched-") as folder:
        copy = os.path.join(folder, "store")
        for end in ("", _JOURNAL, _LOG):
            if end == "" or _companion(name, end):
                shutil.copyfile(_beside(name, end), copy + end)
        with contextlib.closing(_connect(name, copy, "rw")) as connection:
            yield connection


@contextlib.contextmanager
def writing(name: str) -> Iterator[sqlite3.Connection]:
    """A connection to a store that no other process uses until the end of the block.

    Raises
    ------
    StoreError
        Not a store, or one with a write-ahead log or with a foreign journal, or it is in use.
    OSError
        It cannot be read.
    """
    if _check_header(name) or os.path.lexists(_beside(name, _LOG)):
        raise StoreError(
            f"{name}: got a store with a write-ahead log, expected one with a rollback journal "
            "(PRAGMA journal_mode = DELETE)"
        )
    has_journal(name)
    remove_abandoned(name)
    with contextlib.closing(_connect(name, name, "rw")) as connection:
        with blaming(name):
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        yield connection


def made(name: str, rows: Iterable[tuple[str, str, bytes]], new: bool) -> None:
    """Make a store without chunks, unless another process made it meanwhile.

    ``rows`` are those of the table ``study``. ``new``: FileExistsError where there is one.
    """
    for end in (_JOURNAL, _LOG):
        if os.path.lexists(_beside(name, end)) and not os.path.exists(name):
            raise StoreError(
                f"{name}: got {name}{end}, left by another file of this name, expected none: "
                "remove it, or take another name"
            )
    with blaming(name), contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; {TABLES}"
        )
        connection.executemany("INSERT INTO study VALUES (?, ?, ?)", rows)
        connection.commit()
        content = connection.serialize()
    try:
        create(name, content)
    except FileExistsError:
        if new:
            raise FileExistsError(f"{name}: got a file, expected a new name") from None


def has_journal(name: str) -> bool:
    """Whether a journal lies beside a store; ``StoreError`` for one that no store leaves."""
    return _companion(name, _JOURNAL)


def tables_of(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Types, names and definitions of what is in a database; of more than a store has, a part."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    return [(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows.fetchmany(8)]


def _beside(name: str, end: str) -> str:
    """The name that SQLite gives to a file beside a database."""
    return os.path.realpath(name) + end


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # a journal comes and goes
        return 0


def _companion(name: str, end: str) -> bool:
    """Whether such a file exists; ``StoreError`` for one that no store leaves."""
    path = _beside(name, end)
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise StoreError(f"{path}: got a link or a special file, expected an ordinary one or none")
    if end == _JOURNAL:
        with open(path, "rb") as file:
            head = file.read(_JOURNAL_HEAD)
            file.seek(max(0, found.st_size - len(_JOURNAL_MAGIC)))
            tail = file.read()
        # A journal that names another one ends with the bytes that begin a journal.
        if len(head) == _JOURNAL_HEAD and tail == _JOURNAL_MAGIC:
            raise StoreError(
                f"{path}: got a journal that names another one, which no store leaves: remove it "
                "if you do not know it"
            )
        pages, page = int.from_bytes(head[16:20], "big"), int.from_bytes(head[24:28], "big")
        if head.startswith(_JOURNAL_MAGIC) and pages * page > found.st_size + os.path.getsize(name):
            raise StoreError(f"{path}: got a journal of a larger file than {name}: remove it")
    return True


def _is_hot(name: str, connection: sqlite3.Connection) -> bool:
    """Whether a transaction is to be undone before a store can be read."""
    with blaming(name):
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # against writers, from here on
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                return True
            raise
    return False


def _check_header(name: str) -> bool:
    """Whether a store has a write-ahead log; ``StoreError`` for what is no store.

    The header is checked first: SQLite would take a short file for a new database.
    """
    if not os.path.isfile(name):  # opening a pipe would block
        raise StoreError(f"{name}: expected an ordinary file")
    with open(name, "rb") as file:
        head = file.read(100)
        size = file.seek(0, os.SEEK_END)
    if not head:
        raise StoreError(
            f"{name}: got an empty file, expected a store; remove it or name another file"
        )
    if len(head) < 100 or not head.startswith(MAGIC):
        raise StoreError(f"{name}: expected a store (another file, or damaged)")
    page, pages, schema, application = (
        int.from_bytes(head[at : at + length], "big")
        for at, length in ((16, 2), (28, 4), (60, 4), (68, 4))
    )
    if application != APPLICATION:
        raise StoreError(f"{name}: got an SQLite file that is not a store, expected a store")
    if schema != SCHEMA:
        raise StoreError(
            f"{name}: got format {schema} of another version of gpusched, expected {SCHEMA}"
        )
    # The journal of a killed process may restore the missing pages.
    if size < pages * (65536 if page == 1 else page) and not os.path.lexists(
        _beside(name, _JOURNAL)
    ):
        raise StoreError(f"{name}: got a truncated file, expected a store")
    return head[18] != 1 or head[19] != 1


def _connect(name: str, path: str, mode: str) -> sqlite3.Connection:
    # By a quoted address: no character of the name is special, and no file is created.
    with blaming(name):
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=0,
            check_same_thread=False,
        )
        guard(connection, _LONGEST)
    return connection


@contextlib.contextmanager
def blaming(name: str) -> Iterator[None]:
    """Re-raise SQLite's errors inside the block as ``StoreError``."""
    try:
        yield
    except sqlite3.OperationalError as error:
        pass_interrupt_on(error)
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
