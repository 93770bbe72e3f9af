"""Detection of the format of a file of kernel launches by its content."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from gpusched._support import input_files
from gpusched._support.input_files import (
    GZIP,
    MAGIC,
    gunzip,
    opened,
    pieces,
    read_all,
    unpacked_pieces,
)
from gpusched.io.traces import kineto, nsys_csv, nsys_sqlite

if TYPE_CHECKING:
    from gpusched.io.traces.trace import Trace
    from gpusched.io.traces.trace_tables import TraceEvents
    from gpusched.model.gpu import GPU


class Reader(Protocol):
    """Interface of a file of launches in one of the formats."""

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""

    def beside_kernels(self) -> TraceEvents:
        """The events beside the kernels, once these are read; the reason where there are none."""

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None without a description."""


def reader(source: str, max_bytes: int) -> Reader:
    """Open a file of at most ``max_bytes`` bytes, unpacked, with the reader of its format.

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    ValueError
        Another format, or a file that is damaged or too large. The message names the path.
    """
    try:
        with opened(source) as file:
            if file.peek(len(MAGIC)).startswith(MAGIC):
                if not file.seekable():
                    raise ValueError(f"{source}: got an SQLite database in a pipe, expected a file")
                return nsys_sqlite.File(source, max_bytes)
            seekable = file if file.seekable() else io.BytesIO(read_all(file, source, max_bytes))
            return _text_reader(seekable, source, max_bytes)
    except IsADirectoryError as error:
        hint = f"{error.strerror} (read logs of blocks with gs.io.read_examiner)"
        raise IsADirectoryError(error.errno, hint, source) from None


def _text_reader(
    file: io.BufferedReader | io.BytesIO, source: str, max_bytes: int
) -> kineto.File | nsys_csv.File:
    """The reader of JSON, which is taken piece by piece, or of a report in CSV."""
    start = file.tell()
    packed = file.read(len(GZIP)) == GZIP
    file.seek(start)
    unpacked = unpacked_pieces if packed else pieces
    what = f"an empty {'gzip' if packed else 'file'}"
    for first in unpacked(file, source, max_bytes):
        if first.strip():
            break
        what = "nothing but blanks"
    else:
        raise ValueError(f"{source}: got {what}, expected a trace")
    if first.startswith(MAGIC):
        raise ValueError(f"{source}: got an SQLite database in gzip: decompress it first")
    input_files.refuse(source, first, "trace")
    if kineto.like_json(first):
        hint = functools.partial(input_files.without_kernels, first)
        file.seek(start)
        return kineto.File(source, unpacked(file, source, max_bytes), packed, True, hint)
    file.seek(start)
    # A gzip of some megabytes may unpack to gigabytes.
    if packed and not _has(b"GrdX", unpacked(file, source, max_bytes)):
        file.seek(start)
        return kineto.File(source, unpacked(file, source, max_bytes), packed, False)
    file.seek(start)
    data = file.read() if isinstance(file, io.BytesIO) else read_all(file, source, max_bytes)
    if packed:
        data = gunzip(data, source, max_bytes)
    if (headers := nsys_csv.start(data)) is not None:
        return nsys_csv.File(source, data, headers)
    return kineto.File(source, [data], packed, False)


def _has(word: bytes, pieces: Iterable[bytes]) -> bool:
    """Whether a word occurs in the bytes that the pieces make up."""
    end = b""
    for piece in pieces:
        if word in (text := end + piece):
            return True
        end = text[1 - len(word) :]
    return False
