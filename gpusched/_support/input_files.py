"""Reading of files: regular files only, and no more than a stated number of bytes.

Reading a FIFO or a device could block or never end, so every reader of the package refuses files
that are not regular. To read a pipe on purpose, pass a descriptor that the process already has:
/dev/stdin, or /dev/fd/N as provided by ``<(command)`` in a shell.

A compressed file can be a thousand times as large when unpacked. Every reader has a limit
``max_bytes``, `MAX_BYTES` by default, on the size of the file and of its unpacked content. A larger
file is refused before memory is allocated for its content. SQLite databases of unknown origin have
limits and no trusted schema.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusched._support.arguments import MAX_BYTES, integer
from gpusched._support.text import blaming, own_descriptor, path_text, shown

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "GZIP",
    "MAGIC",
    "TooLarge",
    "check_size",
    "content",
    "guard",
    "gunzip",
    "opened",
    "pass_interrupt_on",
    "pieces",
    "read_all",
    "unpacked_pieces",
    "zip_members",
]

GZIP = b"\x1f\x8b"

_PIECE = 1 << 20
_UNPACKED = 1 << 17  # larger buffers are slower
_FLAGS = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    """Open a regular file, or a pipe that is a descriptor of this process, for reading bytes.

    Raises
    ------
    OSError
        The file cannot be opened or is not a regular file (``IsADirectoryError`` for a folder).
    TypeError, ValueError
        Not a path.
    """
    name = path_text(path)
    with blaming(name):
        own = own_descriptor(name)
        # Without O_NONBLOCK the system would wait for the other end of a FIFO.
        descriptor = os.open(name, _FLAGS) if own is None else os.dup(own)
        try:
            _check_kind(descriptor, name, own is not None)
            file = open(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise
    with file:
        yield file


def content(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a file; ``ValueError`` when there are more than ``max_bytes``.

    Raises OSError as `opened` does.
    """
    with opened(path) as file:
        return read_all(file, path_text(path), max_bytes)


def read_all(file: io.BufferedReader, name: str, max_bytes: int = MAX_BYTES) -> bytes:
    """The rest of a file that `opened` gave, as `content` returns it."""
    size = os.fstat(file.fileno()).st_size
    check_size(name, size, max_bytes)
    parts: list[bytes] = []
    total = 0
    with blaming(name):
        while part := file.read1(max(size + 1 - total, _PIECE)):
            total += len(part)
            check_size(name, total, max_bytes)
            parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def gunzip(data: bytes, name: str, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a gzip, which is measured first, without memory being taken for it.

    ``name`` is that of the file, for messages. Raises ValueError for a damaged gzip, and for one
    that unpacks to more than ``max_bytes``.
    """
    buffer = bytearray(_UNPACKED)
    total = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while count := packed.readinto(buffer):
                total += count
                check_size(name, total, max_bytes, " unpacked")
            packed.rewind()
            return packed.read(total)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name}: expected an intact gzip: {error}") from error


def pieces(
    file: io.BufferedReader | io.BytesIO, name: str, max_bytes: int = MAX_BYTES
) -> Iterator[bytes]:
    """The rest of a file in pieces of a MiB, within the limits of `content`."""
    total = 0
    if isinstance(file, io.BufferedReader):
        check_size(name, os.fstat(file.fileno()).st_size, max_bytes)
    with blaming(name):
        while piece := file.read(_PIECE):
            total += len(piece)
            check_size(name, total, max_bytes)
            yield piece


def unpacked_pieces(
    file: io.BufferedReader | io.BytesIO, name: str, max_bytes: int = MAX_BYTES
) -> Iterator[bytes]:
    """The content of a gzip in pieces of a MiB, within the limits of `gunzip`."""
    total = 0
    if isinstance(file, io.BufferedReader):
        check_size(name, os.fstat(file.fileno()).st_size, max_bytes)
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            while piece := packed.read(_PIECE):
                total += len(piece)
                check_size(name, total, max_bytes, " unpacked")
                yield piece
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name}: expected an intact gzip: {error}") from error


def zip_members(
    file: io.BufferedReader | io.BytesIO, name: str, max_bytes: int = MAX_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the members of a zip file, whose checksums are compared.

    The sizes that the file states are added up before a member is read, and no more is unpacked
    than is stated. ``name`` is that of the file, for messages.

    Raises
    ------
    TooLarge
        More than ``max_bytes``.
    ValueError, and others of zipfile and zlib
        A damaged file, a method of compression other than deflate, an encrypted member.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        file.seek(-12, os.SEEK_END)  # a damaged length in the directory hides members
        count = int.from_bytes(file.read(2), "little")
        if min(len(members), 0xFFFF) != count:
            raise ValueError(f"{len(members)} members for {count}")
        check_size(name, sum(member.file_size for member in members), max_bytes, " unpacked")
        for member in members:
            which = f"the member {shown(member.filename)}"
            # The decompressors of the other methods do not bound their output.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{which} compressed by method {member.compress_type}")
            if member.flag_bits & 1:
                raise ValueError(f"{which} encrypted")
            with archive.open(member) as stream:
                # To its end, where the checksum is compared; read() without a size unpacks up to
                # 2 GiB before it looks at the stated size.
                yield member.filename, stream.read(member.file_size + 1)


def check_size(name: str, size: int, max_bytes: int, how: str = "") -> None:
    """Raise a ``ValueError`` when ``size``, of the file ``name``, is above ``max_bytes``."""
    limit = integer(max_bytes, "max_bytes")
    if limit < 1:
        raise ValueError(f"max_bytes: got {limit}, expected a positive number")
    if size > limit:
        raise TooLarge(
            f"{name}: got more than {limit} bytes{how}, expected at most that (max_bytes raises "
            "the limit)"
        )


class TooLarge(ValueError):
    """A file above the limit; the message is complete."""


def _check_kind(descriptor: int, name: str, own: bool) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "got a folder, expected a file", name)
    readable = own and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))
    if not (stat.S_ISREG(mode) or readable):
        kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
        raise OSError(errno.EINVAL, f"got {kind}, expected a regular file", name)


MAGIC = b"SQLite format 3\0"

_STEPS = 10_000  # of SQLite's machine between two looks at signals


def guard(connection: sqlite3.Connection, longest: int) -> None:
    """Make a connection safe for a file that anyone may have written.

    Values above ``longest`` bytes are errors, functions in the schema have no effects, and Ctrl-C
    ends a query, which then fails as interrupted.
    """
    import sqlite3

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    connection.set_progress_handler(_look, _STEPS)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _look() -> int:
    """Run Python code, so that handlers of signals are called; an exception ends the query."""
    return 0


def pass_interrupt_on(error: sqlite3.Error) -> None:
    """Raise KeyboardInterrupt where this ended a query: SQLite tells of an interrupt alone."""
    import sqlite3

    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        raise KeyboardInterrupt from None
