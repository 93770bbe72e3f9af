"""Detection of the format of a file of kernel launches by its content."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from typing import TYPE_CHECKING, Protocol

from gpusched.io import kineto, nsys_csv, nsys_sqlite

if TYPE_CHECKING:
    from gpusched.io.trace import Trace
    from gpusched.model.gpu import GPU

_GZIP = b"\x1f\x8b"
_REPORTS = (".nsys-rep", ".qdrep")


class Reader(Protocol):
    """Interface of a file of launches in one of the formats."""

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None without a description."""


def reader(source: str) -> Reader:
    """Open a file with the reader of its format.

    Raises
    ------
    OSError
        The file cannot be read, or is a folder.
    ValueError
        Another format, or a damaged file. The message names the path.
    """
    if os.path.isdir(source):
        reason = "got a folder, expected a file (read logs of blocks with gs.io.read_examiner)"
        raise IsADirectoryError(errno.EISDIR, reason, source)
    with open(source, "rb") as file:
        if file.read(len(nsys_sqlite.MAGIC)) == nsys_sqlite.MAGIC:
            return nsys_sqlite.File(source)
        file.seek(0)
        data = file.read()
    packed = data.startswith(_GZIP)
    if packed:
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{source}: expected an intact gzip: {error}") from error
        if data.startswith(nsys_sqlite.MAGIC):
            raise ValueError(f"{source}: got an SQLite database in gzip: decompress it first")
    if not data:
        raise ValueError(f"{source}: got an empty {'gzip' if packed else 'file'}, expected a trace")
    if not kineto.like_json(data):
        if (start := nsys_csv.start(data)) is not None:
            return nsys_csv.File(source, data, start)
        if source.lower().endswith(_REPORTS):
            what = "got a report of Nsight Systems"
            raise ValueError(f"{source}: {what}: convert it with nsys export --type sqlite")
    return kineto.File(source, data, packed)
