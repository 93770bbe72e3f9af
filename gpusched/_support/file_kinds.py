"""Kinds of files, recognised by their beginning: what to do with those that a reader does not take.

One row per kind. A reader calls `refuse` with its own name before it decodes a file, so that the
message names the kind instead of the first byte that is not as expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Kind", "Reader", "kind_of", "refuse", "without_kernels"]

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
        return next((kind for kind in _KINDS if kind.holds(head)), None)
    found = next((kind for kind in _KINDS[:-1] if kind.holds(head)), None)
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
    taken = any(own.reader == reader and own.holds(head[:_HEAD]) for own in _KINDS)
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

_KINDS = (
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
