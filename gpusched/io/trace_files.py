"""Which program wrote a file of kernel launches? Its content decides, never its name."""

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
    """A file of launches in one of the formats."""

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device, None when it describes none at all."""


def reader(source: str) -> Reader:
    """Raises OSError, and ValueError with the path for a file that is none of these formats."""
    if os.path.isdir(source):
        reason = "a folder; logs of cuda_scheduling_examiner are read by gs.io.read_examiner"
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
            raise ValueError(f"{source}: damaged or truncated gzip: {error}") from error
        if data.startswith(nsys_sqlite.MAGIC):
            raise ValueError(f"{source}: an SQLite database in gzip: unpack it first")
    if not data:
        raise ValueError(f"{source}: {'the gzip' if packed else 'the file'} is empty")
    if not kineto.like_json(data):
        if (start := nsys_csv.start(data)) is not None:
            return nsys_csv.File(source, data, start)
        if source.lower().endswith(_REPORTS):
            what = "a report of Nsight Systems"
            raise ValueError(f"{source}: {what}: convert it with nsys export --type sqlite")
    return kineto.File(source, data, packed)
