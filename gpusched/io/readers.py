"""Public functions of ``gs.io`` for traces and block logs: readers, writers, checks; formats."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np

from gpusched._support import input_files
from gpusched._support.arguments import (
    MAX_BYTES,
    Int64Array,
    instance,
    integer,
    is_sequence,
    one_of,
)
from gpusched._support.input_files import (
    GZIP,
    MAGIC,
    gunzip,
    opened,
    pieces,
    read_all,
    unpacked_pieces,
)
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import path_text
from gpusched.io import block_log, examiner
from gpusched.io.block_log import BlockLog, Violation
from gpusched.io.traces import kineto, nsys_csv, nsys_sqlite
from gpusched.io.traces.kineto import NoKernels
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_tables import (
    Names,
    TraceEvents,
    column,
    known_gpu,
    occupancy_of,
    table_of,
    take,
)
from gpusched.model.gpu import GPU, as_gpu

if TYPE_CHECKING:
    import pandas as pd


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


OPT_IN = "opt-in shared memory above 48 KiB: profiler reports 0"
NOT_REPORTED = "not reported"
DIFFERS = "differs"


def read_trace(
    path: str | os.PathLike[str],
    gpu: GPU | str | None = None,
    device: SupportsIndex | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> Trace:
    """Read the kernel launches of a trace of the PyTorch profiler or of Nsight Systems.

    Times are converted to nanoseconds exactly: numbers are read as decimals, never as floats.
    Durations include interference by concurrent kernels. Launch calls, annotated ranges, copies and
    memsets are read for ``Trace.workload``, which refuses the trace if one of them is damaged. JSON
    is read piece by piece, so that memory is used only for what is kept (except from a pipe, which
    is read at once).

    >>> trace = gs.io.read_trace("tests/data/pipeline.pt.trace.json")
    >>> len(trace), trace.gpu.sms
    (37, 16)
    >>> trace.choose(2).tasks().wcet.tolist()
    [216192, 164832]

    Parameters
    ----------
    path
        The JSON of Kineto or the CSV of ``nsys stats -r cuda_gpu_trace`` (formerly gputrace), plain
        or compressed with gzip, or the database of ``nsys export --type sqlite`` or of nvprof
        (without its launch calls and ranges). The format is detected by the content, not by the
        name. A database is opened read-only; no file is created beside it.
    gpu
        A GPU or the name of a preset, instead of the file's description of the device. That
        description is "deviceProperties" in JSON (missing limits are those of the preset with the
        device's name, or follow from the compute capability), TARGET_INFO_GPU in a database
        (missing limits follow from the compute capability), and otherwise the preset with the
        device's name. Without any of these, the trace's ``gpu`` is None.
    device
        Number of the device whose kernels are read; required if kernels ran on several devices.
        On ROCm it may be the physical number.
    max_bytes
        Maximum size that is read: of the file, of the content of a gzip file, and of the values
        taken from a database. Default: 4 GiB.

    Returns
    -------
    Trace
        ``notes`` lists what is not known: grid and block of kernels whose event and launch call
        have none, as of HIP graphs (0 blocks of 0 threads), and what AMD GPUs are like. These are
        not fully supported: times, names, streams and grids are read, but occupancy and scheduling
        rules are unknown; answers with another ``gpu`` are about that GPU. Shared memory that a
        report rounds to kB (in MB, with three decimals) is taken as the multiple of 1,024 bytes
        that is rounded to it, else of 128; a note has the sizes. For Nsight Systems, ``occupancy``
        is -1. In a database with several processes, contexts are numbered from 1 on, and if
        processes see different GPUs under the same device number, devices have the numbers of
        TARGET_INFO_GPU.

    Raises
    ------
    OSError
        The file cannot be read, is not a regular file (pipes are read as /dev/stdin or as a shell's
        /dev/fd/N), or is a database that is being written.
    ValueError
        The file is not a trace: a damaged gzip file or database, text that is neither JSON nor such
        CSV, no traceEvents or table of kernels, no kernels (on ``device``), a kernel with a
        missing, non-numeric, negative or huge field, or an incomplete description of the device. It
        is larger than ``max_bytes``, or ``device`` is required. The message names the file and the
        field. A file of another known kind (an archive, a pointer of Git LFS, output of trtexec,
        rocprof or TensorFlow, an execution trace of Chakra, a log of cuda_scheduling_examiner) is
        named with what to do.
    """
    source = path_text(path)
    given = None if gpu is None else as_gpu(gpu)
    file = reader(source, max_bytes)
    try:
        launches = file.launches()
    except NoKernels as error:
        raise ValueError(f"{error}{error.hint}") from None
    devices = np.unique(launches.device).tolist()
    if device is None and len(devices) > 1:
        raise ValueError(
            f"device: got None, expected one of {_list(devices)}, on which kernels of {source} ran"
        )
    device = devices[0] if device is None else integer(device, "device")
    if device not in devices:
        raise ValueError(
            f"device: got {device}, expected one of {_list(devices)}, on which kernels of "
            f"{source} ran"
        )
    order = np.argsort(launches.start, kind="stable")
    chosen = order[launches.device[order] == device]
    described = file.gpu(device) if given is None else given
    events = file.beside_kernels().but_elsewhere(launches.duration[launches.device != device])
    return replace(take(launches, chosen), gpu=described, source=source, events=events)


@dataclass(frozen=True, eq=False, repr=False)
class OccupancyAgreement(Tabular):
    """Comparison of the profiler's occupancy with that computed from the GPU's limits, per launch.

    >>> found = gs.io.occupancy_agreement(gs.io.read_trace("tests/data/pipeline.pt.trace.json"))
    >>> found.expected[:3].tolist(), found.reported[:3].tolist()
    ([50, 100, 7], [50, 100, 0])

    Attributes
    ----------
    expected, reported
        Whole percent, in the order of the trace; ``reported`` is -1 if the file has no value.
    reason
        "" if both are equal; otherwise the reason of the difference, "differs" if it is unknown.
    """

    expected: Int64Array
    reported: Int64Array
    reason: Names

    def __len__(self) -> int:
        return len(self.expected)

    def counts(self) -> dict[str, int]:
        """Number of launches per reason, "" first."""
        reasons = ("", OPT_IN, NOT_REPORTED, DIFFERS)
        return {r: n for r in reasons if (n := int(np.sum(self.reason == r)))}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per launch; ``reported`` is NA if unknown."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of(self, ("reported",))

    def __repr__(self) -> str:
        parts = [f"{n} {reason or 'equal'}" for reason, n in self.counts().items()]
        return f"OccupancyAgreement({'; '.join(parts) or 'empty'})"


def occupancy_agreement(trace: Trace) -> OccupancyAgreement:
    """Compare the profiler's occupancy with that computed from the GPU's limits.

    The profiler's estimate is min(resident blocks per SM, blocks / SMs) * threads / threads per
    SM in whole percent, rounded half up. It is recomputed here in single precision, like in the
    profiler, which rounds some ties differently than exact arithmetic. For kernels with more than
    48 KiB of shared memory, which require an opt-in, the profiler reports 0.

    >>> trace = gs.io.read_trace("tests/data/pipeline.pt.trace.json")
    >>> gs.io.occupancy_agreement(trace)
    OccupancyAgreement(29 equal; 8 opt-in shared memory above 48 KiB: profiler reports 0)

    Parameters
    ----------
    trace
        A trace with a known GPU.

    Returns
    -------
    OccupancyAgreement
        One entry per launch.

    Raises
    ------
    ValueError
        The GPU of the trace is unknown.
    """
    gpu = known_gpu(trace.gpu)
    expected = _percent_of_kineto(trace, gpu)
    reason = np.full(len(trace), DIFFERS, dtype=object)
    reason[trace.occupancy < 0] = NOT_REPORTED
    reason[(trace.occupancy == 0) & (trace.smem > 48 * 1024)] = OPT_IN
    reason[trace.occupancy == expected] = ""
    return OccupancyAgreement(column(expected), trace.occupancy, column(reason, object))


def _percent_of_kineto(trace: Trace, gpu: GPU) -> Int64Array:
    """Occupancy of each launch in percent, in the arithmetic of Kineto's ``kernelOccupancy``."""
    single = np.float32
    blocks = trace.blocks.astype(single) / single(gpu.sms)
    blocks = np.minimum(blocks, occupancy_of(gpu, trace).astype(single))
    part = blocks * trace.threads.astype(single) / single(gpu.threads_per_sm)
    percent: Int64Array = np.floor(0.5 + part.astype(float) * 100.0).astype(np.int64)
    return percent


def read_examiner(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    regs: Any = None,
    priority: Any = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> BlockLog:
    """Read the logs of a run of cuda_scheduling_examiner: SM, start and end of each block.

    Each file is a stream, in the given order; files with different process ids are different
    contexts. The launch time of a kernel is the first of its ``cuda_launch_times``, before the
    call. Seconds are converted to nanoseconds exactly: numbers are read as decimals, never as
    floats.

    >>> import tempfile
    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [0], [100])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = gs.io.write_examiner(folder, log)
    ...     gs.io.read_examiner(folder).end.tolist()
    [100]

    Parameters
    ----------
    paths
        A file, several files, or a folder (its .json files in the order of their names), all of one
        scenario; ``read_scenarios`` reads several scenarios.
    regs, priority
        Registers per thread and stream priority, which the tool does not log: one number or one per
        file. Default: the values written by ``write_examiner``, or 0.
    max_bytes
        Size in bytes of the largest file that is read (default: 4 GiB).

    Raises
    ------
    OSError
        A file cannot be read, or is not a regular file.
    ValueError
        A file is not such a log or is too large, a field is missing or malformed (the message names
        file and field), or the files belong to several scenarios.
    """
    return examiner.read(paths, regs, priority, max_bytes)


def read_scenarios(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    regs: Any = None,
    priority: Any = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> dict[str, BlockLog]:
    """Read logs of cuda_scheduling_examiner of several runs, and return one log per scenario.

    Files belong to the same scenario if their ``scenario_name`` is the same ("" if they have none).
    Several runs of one scenario cannot be told apart; keep them in separate folders.

    Parameters
    ----------
    paths, regs, priority, max_bytes
        As in ``read_examiner``.

    Returns
    -------
    dict
        Logs by name of the scenario, in the order of the first file of each; ``check_rules``
        accepts this dict.

    Raises
    ------
    OSError, ValueError
        As in ``read_examiner``.

    Examples
    --------
    >>> import tempfile
    >>> log = gs.io.BlockLog(["a"], 0, 0, 1, 32, 0, 0, [0], 0, 0, 0, 9, scenario="one block")
    >>> folder = tempfile.mkdtemp()
    >>> paths = gs.io.write_examiner(folder, log)
    >>> gs.io.read_scenarios(folder)
    {'one block': <BlockLog: 1 blocks of 1 kernels in 1 streams>}
    """
    return examiner.read_scenarios(paths, regs, priority, max_bytes)


def write_examiner(
    folder: str | os.PathLike[str],
    log: BlockLog,
    gpu: GPU | str | None = None,
    scenario: str | None = None,
) -> tuple[Path, ...]:
    """Write a log in the format of cuda_scheduling_examiner, whose scripts can draw it.

    There is one file per stream, ``stream_0.json`` and so on; files of these names are replaced.
    ``read_examiner`` returns an equal log if the rows are in the order of streams and launches.

    >>> import tempfile
    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [0], [100])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in gs.io.write_examiner(folder, log, "TX2")]
    ['stream_0.json']

    Parameters
    ----------
    folder
        Path of an existing folder.
    log
        The log; its times, in ns, are written as seconds. Contexts are written as process ids.
    gpu
        The GPU, for ``max_resident_threads``, which is 0 without it.
    scenario
        Name of the scenario, which is the title of the drawing. Default: ``log.scenario``.

    Returns
    -------
    tuple of Path
        Paths of the files, by stream.

    Raises
    ------
    OSError
        A file cannot be written.
    ValueError
        Kernels of one stream differ in context or priority.
    """
    return examiner.write(folder, log, None if gpu is None else as_gpu(gpu), scenario)


def check_rules(
    log: BlockLog | Sequence[BlockLog] | Mapping[str, BlockLog],
    gpu: GPU | str,
    tolerance: SupportsIndex = 0,
    placement: str | None = "most_room",
    latency: SupportsIndex | str = 0,
) -> list[Violation]:
    """Check a log against the rules of the scheduling hierarchy and list the violations.

    The rules ([RTSS17] for queues; Gilman et al., 2020, for SMs):

    limits
        An SM has enough warps, block slots, registers and shared memory for each block that starts
        on it, in addition to the context's other blocks there. If carve-outs must match
        (``GPU.carveout_rule``), no block there has another carve-out for shared memory. Kernels
        are assumed to have the carve-out that their shape needs.
    grids
        At most ``GPU.resident_grids`` kernels of the context run at once, each from its first block
        to its last.
    stream
        A kernel starts after its launch and after the end of its stream's previous kernel.
    queue
        A kernel starts after all blocks of the kernels that joined the queue of its priority
        earlier have started.
    priority
        No block starts while a kernel waits in a queue of higher priority of its context, unless
        that kernel waits because as many kernels run as the GPU runs at once.
    placement
        A block starts on an SM that can host the most further blocks of its kernel; among equal
        SMs, on the first in the GPU's order.
    idle
        The kernel at the head of the queue of the highest priority does not wait while an SM can
        host a block and, if the kernel has not started, fewer kernels run than the GPU runs at
        once.

    A kernel joins its queue when it is the first in its stream (``BlockLog.joined``), and at the
    latest when the launch latency has passed since its launch. Other causes of delay, such as
    copies, events, the NULL stream or more streams than the GPU has channels, are not in a log and
    appear as violations. Kernels that join at the same time may be queued in either order. Each
    context is checked separately. "idle" is checked only for logs of one context, because time
    slices are not in a log.

    Parameters
    ----------
    log
        Recorded or simulated blocks; or several logs, such as those of ``read_scenarios``, each of
        which is checked separately.
    gpu
        The GPU, or the name of a preset; its ``sm_order`` decides between equal SMs.
    tolerance
        Tolerance in ticks: times that differ by less may have been in either order. 0 for exact
        times; some microseconds for measured logs (the time to start a block, and the error of the
        clocks).
    placement
        "most_room", or None to skip the rule.
    latency
        The longest time from a launch to the kernel's arrival in its stream, in ticks: launches
        are logged before the call, and take tens to hundreds of microseconds. Until then a kernel
        may or may not be in its queue, and no violation that depends on it is reported. "log": the
        value of ``BlockLog.launch_latency`` of each log, or 0 if it is None; idle times of the
        kernels from which the value is taken are then not found.

    Returns
    -------
    list of Violation
        Violations, log by log and sorted by time; at most one per kernel for each of "stream",
        "queue" and "priority". ``Violation.scenario`` names the log.

    Raises
    ------
    ValueError
        A block is on an SM that the GPU does not have, or does not fit an SM.
    OverflowError
        A time, tolerance or latency is 2**62 or more.

    Examples
    --------
    Two kernels of one block each fill the only SM one after the other. The second one starts 30
    ticks after it could have:

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> log = gs.io.BlockLog(
    ...     ["a", "b"], [0, 1], [0, 10], 1, 1024, 0, 0, [0, 1], 0, 0, [0, 130], [100, 200]
    ... )
    >>> [str(violation) for violation in gs.io.check_rules(log, gpu)]
    ['idle: block 0 of b (kernel 1, stream 1) has room from 100 on, but starts at 130']
    >>> gs.io.check_rules(log, gpu, latency=120)
    []
    """
    logs = _logs(log)
    margin = _span(tolerance, "tolerance")
    if placement is not None:
        one_of(placement, ("most_room",), "placement")
    allowance = None if latency == "log" else _span(latency, "latency")
    device = as_gpu(gpu)
    found = []
    for one in logs:
        wait = (one.launch_latency() or 0) if allowance is None else allowance
        found += block_log.check(one, device, margin, placement, wait)
    return found


def _logs(given: Any) -> list[BlockLog]:
    if isinstance(given, Mapping):
        given = list(given.values())
    if not is_sequence(given):
        instance(given, BlockLog, "log")
        return [given]
    for row, one in enumerate(given):
        instance(one, BlockLog, f"log[{row}]")
    return list(given)


def _span(value: Any, name: str) -> int:
    number = integer(value, name)
    if number < 0:
        raise ValueError(f"{name}: got {number}, expected a non-negative number")
    if number >= 2**62:
        raise OverflowError(f"{name}: got {number}, expected less than 2**62")
    return number


def _list(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:16])
    return shown + (", ..." if len(items) > 16 else "")
