"""Reading of files: regular files only, of a limited size, and of a kind that the reader takes.

Reading a FIFO or a device could block or never end, so every reader of the package refuses files
that are not regular. To read a pipe on purpose, pass a descriptor that the process already has:
/dev/stdin, or /dev/fd/N as provided by ``<(command)`` in a shell.

A compressed file can be a thousand times as large when unpacked. Every reader has a limit
``max_bytes``, `MAX_BYTES` by default, on the size of the file and of its unpacked content. A larger
file is refused before memory is allocated for its content. SQLite databases of unknown origin have
limits and no trusted schema.

Kinds of files are recognised by their beginning, one row per kind. A reader calls `refuse` with its
own name before it decodes a file, so that the message names the kind and what to do with it instead
of the first byte that is not as expected.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpusched._support.arguments import MAX_BYTES, integer
from gpusched._support.text import blaming, own_descriptor, path_text, shown

if TYPE_CHECKING:
    import sqlite3


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


Reader = str
"""A reader of this package: "trace", "log", "job_set", "schedcat", "workload"; "" for none."""

_HEAD = 1 << 16  # bytes that are looked at
_TEXT = 1 << 12  # of these, in which the keys or headers of a text stand
_SPACE = b"\xef\xbb\xbf \t\r\n"

_NSYS = "record the program with 'nsys profile -t cuda,nvtx', and export its report with 'nsys "
_NSYS += "export --type sqlite'"
_TORCH = "torch.profiler with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] and "
_TORCH += "export_chrome_trace"
_UNPACK = "unpack it, and read the file in it"
_WORKLOAD = "make a workload of it with 'gpusched trace FILE --by annotation --save w.toml'"


class Kind(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    name
        Its name, with an article.
    holds
        Whether a file begins like this.
    to_do
        What to do with it, for readers that do not take it.
    reader
        The reader that takes it.
    """

    name: str
    holds: Callable[[bytes], bool]
    to_do: str
    reader: Reader = ""


def kind_of(head: bytes, name: str = "") -> Kind | None:
    """The kind of a file with this beginning and name; None for an unknown one."""
    head = head[:_HEAD]
    if not name.lower().endswith(_REPORTS):
        return next((kind for kind in _FOREIGN if kind.holds(head)), None)
    found = next((kind for kind in _FOREIGN[:-1] if kind.holds(head)), None)
    return _REPORT if found is None else found


def without_kernels(head: bytes) -> str:
    """The end of a message about JSON without kernels: what it seems to be; "" if unknown."""
    for kind in _WITHOUT_KERNELS:
        if kind.holds(head[:_HEAD]):
            return f"; it seems to be {kind.name}: {kind.to_do}"
    return ""


def refuse(source: str, head: bytes, reader: Reader) -> None:
    """Raise a ``ValueError`` for a file of a known kind, none of which ``reader`` takes."""
    kind = kind_of(head, source)
    taken = any(own.reader == reader and own.holds(head[:_HEAD]) for own in _FOREIGN)
    if kind is not None and not taken:
        raise ValueError(f"{source}: got {kind.name}: {kind.to_do}")


def _starts(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magic)


def _says(pattern: bytes, *, of: int = _TEXT) -> Callable[[bytes], bool]:
    """Whether text has a match of the pattern among its first bytes; "^" is a line's beginning."""
    search = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search
    return lambda head: search(head.lstrip(_SPACE)[:of]) is not None


def _begins(pattern: bytes) -> Callable[[bytes], bool]:
    """Whether the bytes begin with a match of the pattern, in which a dot is any byte."""
    match = re.compile(pattern, re.DOTALL).match
    return lambda head: match(head) is not None


_REPORTS = (".nsys-rep", ".qdrep", ".qdstrm")
_REPORT = Kind(
    "a report of Nsight Systems", lambda _: True, "convert it with nsys export --type sqlite"
)

_FOREIGN = (
    Kind(
        "a pointer of Git LFS in the place of the file",
        _starts(b"version https://git-lfs.github.com/spec/"),
        "fetch the file with 'git lfs pull'",
    ),
    Kind("a zip archive", _starts(b"PK\3\4", b"PK\5\6", b"PK\7\x08"), _UNPACK),
    Kind("a tar archive", lambda head: head[257:262] == b"ustar", _UNPACK),
    Kind("a file compressed with gzip", _starts(b"\x1f\x8b"), _UNPACK),
    Kind(
        "a compressed file (bzip2, xz, zstd, 7z or rar)",
        _starts(b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\7"),
        _UNPACK,
    ),
    Kind(
        "an SQLite database",
        _starts(b"SQLite format 3\0"),
        f"if it is a trace, {_WORKLOAD}",
        reader="trace",
    ),
    Kind(
        "a report of Nsight Compute",
        _starts(b"NVR\0"),
        f"it has metrics of single kernels and no times of launches; {_NSYS}",
    ),
    Kind(
        "data in HDF5, Parquet or Arrow",
        _starts(b"\x89HDF\r\n\x1a\n", b"PAR1", b"ARROW1"),
        "if it is an export of Nsight Systems, export with 'nsys export --type sqlite'",
    ),
    Kind(
        "text in UTF-16",
        _starts(b"\xff\xfe", b"\xfe\xff"),
        "save it in UTF-8 (in PowerShell: Get-Content FILE | Set-Content -Encoding utf8 NEW)",
    ),
    Kind(
        "an xplane of the TensorFlow profiler or of JAX",
        _begins(rb"\n.{1,80}?(/host:|/device:|Task Environment)"),
        f"there is no reader of it; {_NSYS}",
    ),
    Kind(
        "an execution trace of Chakra (protobuf)",
        _begins(rb".{1,3}\n.\d+\.\d+\.\d+|.{1,3}\x12.{0,200}?-chakra\.\d"),
        f"it has no grids and blocks; {_NSYS}",
    ),
    Kind(
        "a trace in JSON",
        _says(rb'\A\{[^\0]*?"traceEvents"\s*:', of=_HEAD),
        _WORKLOAD,
        reader="trace",
    ),
    Kind(
        "an execution trace of PyTorch or Chakra",
        _says(rb'"schema"\s*:\s*"[^"]*chakra|"ctrl_deps"\s*:|"schema"\s*:[^{}\[]*"nodes"\s*:'),
        f"it has operators without grids and blocks; use {_TORCH}",
    ),
    Kind(
        "a profile of layers or times of runs by trtexec",
        _says(rb'"(averageMs|timeMs|latencyMs|computeMs)"\s*:|^&&&& \w+ TensorRT\.trtexec'),
        "it has no kernels; record the run with 'nsys profile -t cuda,nvtx trtexec ...', and "
        "export the report with 'nsys export --type sqlite'",
    ),
    Kind(
        "JSON of rocprofv3",
        _says(rb'"rocprofiler-sdk-\w+"\s*:'),
        f"there is no reader of it; use {_TORCH}, which also works on ROCm",
    ),
    Kind(
        "a log of cuda_scheduling_examiner",
        _says(rb'"(scenario_name|benchmark_name|max_resident_threads)"\s*:'),
        "read it with gs.io.read_examiner",
        reader="log",
    ),
    Kind(
        "CSV of nvprof",
        _says(rb'NVPROF is profiling|"?Grid X"?,"?Grid Y"?'),
        "its sizes are rounded; export the database with 'nvprof --export-profile FILE', which is "
        "read, or record with Nsight Systems",
    ),
    Kind(
        "a table of rocprof",
        _says(rb'KernelName"?,.*gpu-id|Kernel_Name"?,.*Start_Timestamp|"?Calls"?,"?TotalDuration'),
        f"there is no reader of it; use {_TORCH}, which also works on ROCm",
    ),
    Kind(
        "a report of Nsight Systems in CSV",
        _says(rb"\bGrdX\b.{0,200}\bBlkX\b", of=_HEAD),
        _WORKLOAD.replace("annotation", "kernel"),
        reader="trace",
    ),
    Kind(
        "a summary of Nsight Systems, without single kernels",
        _says(rb'Time ?\(%\)"?,"?Total Time'),
        "use 'nsys stats -r cuda_gpu_trace --format csv' or 'nsys export --type sqlite'",
    ),
    Kind(
        "precedence constraints of a job set",
        _says(rb'\A"?(Predecessor|From) ?TID'),
        "a workload has no precedence between jobs; read the job set alone, or describe a chain as "
        "the segments of one task",
    ),
    Kind(
        "a job set",
        _says(rb'\A"?Task ?ID"?\s*,|^"?jobset"?\s*:|\A[^,\n]*Job ?ID'),
        "read it with gs.io.read_job_set, or use 'gpusched compare'",
        reader="job_set",
    ),
    Kind(
        "a task set of SchedCAT",
        _says(rb"\A(<\?xml[^>]*>\s*|<!--((?!-->).)*-->\s*)*<(taskset|testpoint|task)\b"),
        "read it with gs.io.read_schedcat, or use 'gpusched compare'",
        reader="schedcat",
    ),
    Kind(
        "a web page",
        _says(rb"\A(<!--((?!-->).)*-->\s*)*<(!doctype html|html)\b"),
        "download the file itself (its raw content)",
    ),
    Kind(
        "a workload",
        _says(rb'^[ \t]*\[\[\s*task\s*\]\]|\A\{[^\0]*?"task"\s*:\s*\[', of=_HEAD),
        "read it with gs.Workload.load, or use 'gpusched compare'",
        reader="workload",
    ),
    Kind(
        "a binary file of an unknown kind",
        lambda head: b"\0" in head[:_TEXT] and not head.lstrip(_SPACE).startswith((b"{", b"[")),
        "readers take text (JSON, CSV, XML, TOML) and databases of SQLite",
    ),
)

# JSON that is read as a trace, where it has no kernels; all of it has events.
_WITHOUT_KERNELS = (
    Kind(
        "a trace of the TensorFlow profiler or of JAX",
        _says(rb'"highres-ticks"|"/(device|host):[A-Z]+|"/job:', of=_HEAD),
        f"it has no grids and blocks; {_NSYS}",
    ),
    Kind(
        "a trace of rocprof",
        _says(rb'"(Begin|Duration)Ns"\s*:', of=_HEAD),
        f"there is no reader of it; use {_TORCH}, which also works on ROCm",
    ),
    Kind(
        "a trace of the CPU alone",
        _says(rb'"cpu_op"|"schemaVersion"', of=_HEAD),
        f"use {_TORCH}",
    ),
)
