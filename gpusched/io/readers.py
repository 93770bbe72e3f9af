"""Functions of ``gs.io``: traces and block logs, read, written and checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from gpusched._support.arguments import Int64Array, instance, integer, one_of
from gpusched.io import examiner, rule_check, trace_files
from gpusched.io.block_log import BlockLog
from gpusched.io.rule_check import Violation
from gpusched.io.trace import (
    Names,
    Trace,
    column,
    frame_of,
    known_gpu,
    occupancy_of,
    take,
)
from gpusched.model.gpu import GPU, as_gpu

__all__ = [
    "DIFFERS",
    "NOT_REPORTED",
    "OPT_IN",
    "OccupancyAgreement",
    "check_rules",
    "occupancy_agreement",
    "read_examiner",
    "read_trace",
    "write_examiner",
]


OPT_IN = "opt-in shared memory above 48 KiB: profiler reports 0"
NOT_REPORTED = "not reported"
DIFFERS = "differs"


def read_trace(
    path: str | os.PathLike[str],
    gpu: GPU | str | None = None,
    device: SupportsIndex | None = None,
) -> Trace:
    """Read the kernel launches of a trace: of the PyTorch profiler or of Nsight Systems.

    Times become nanoseconds exactly: numbers are read as decimals, never as floats. The durations
    contain whatever ran beside a kernel; see the module's text. Copies and memsets are left out.

    Parameters
    ----------
    path
        Kineto's JSON or the CSV of ``nsys stats -r cuda_gpu_trace`` (formerly gputrace), plain or
        in gzip, or the database of ``nsys export --type sqlite``; the content decides, not the
        name. A database is opened for reading only, and nothing is left beside it.
    gpu
        A GPU, or the name of a preset: replaces what the file says about the device. Without it,
        that is "deviceProperties" in JSON, with the blocks per SM of the compute capability;
        TARGET_INFO_GPU in a database, where limits that it lacks are those of the compute
        capability; else the preset of the device's name. Where none of these is known, the
        trace's ``gpu`` is None.
    device
        Whose kernels to read; needed when kernels ran on several devices.

    Returns
    -------
    Trace
        From Nsight Systems, ``occupancy`` is -1. Contexts of several processes in a database are
        numbered from 1 on, and where the processes see different GPUs as the same device, devices
        have the numbers of TARGET_INFO_GPU.

    Raises
    ------
    OSError
        The file cannot be read, or a database is being written.
    ValueError
        It is no such trace: a damaged gzip or database, text that is neither JSON nor such CSV, no
        traceEvents or table of kernels, no kernels (on ``device``), a kernel with a missing,
        non-numeric, negative or huge field, a device description that lacks something; or
        ``device`` is needed. Names the file and the offender. Also for a log of
        cuda_scheduling_examiner, which ``read_examiner`` reads: it tells blocks, and no registers.
    """
    source = os.fsdecode(path)
    given = None if gpu is None else as_gpu(gpu)
    file = trace_files.reader(source)
    launches = file.launches()
    devices = np.unique(launches.device).tolist()
    if device is None and len(devices) > 1:
        raise ValueError(f"{source}: kernels ran on devices {_list(devices)}: choose with device=")
    device = devices[0] if device is None else integer(device, "device")
    if device not in devices:
        raise ValueError(f"{source}: no kernels on device {device}, only on {_list(devices)}")
    order = np.argsort(launches.start, kind="stable")
    chosen = order[launches.device[order] == device]
    described = file.gpu(device) if given is None else given
    return replace(take(launches, chosen), gpu=described, source=source)


@dataclass(frozen=True, eq=False, repr=False)
class OccupancyAgreement:
    """The profiler's occupancy beside the one computed from the GPU's limits, per launch.

    Attributes
    ----------
    expected, reported
        Whole percent, in the order of the trace; ``reported`` is -1 where the file has none.
    reason
        "" where both are equal; else why they differ, "differs" when nothing explains it.
    """

    expected: Int64Array
    reported: Int64Array
    reason: Names

    def __len__(self) -> int:
        return len(self.expected)

    def counts(self) -> dict[str, int]:
        """How many launches have each reason, "" first."""
        reasons = ("", OPT_IN, NOT_REPORTED, DIFFERS)
        return {r: n for r in reasons if (n := int(np.sum(self.reason == r)))}

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per launch."""
        return frame_of(self)

    def __repr__(self) -> str:
        parts = [f"{n} {reason or 'equal'}" for reason, n in self.counts().items()]
        return f"OccupancyAgreement({'; '.join(parts) or 'empty'})"


def occupancy_agreement(trace: Trace) -> OccupancyAgreement:
    """Does the profiler's occupancy agree with the GPU's limits? Compared for every launch.

    The profiler's estimate is min(resident blocks per SM, blocks / SMs) * threads / threads per
    SM in whole percent, rounded half up; here it is computed exactly in integers. The profiler
    does not know of shared memory above 48 KiB, which a kernel must opt in to, and reports 0.

    Raises ValueError when the trace's GPU is unknown.
    """
    gpu = known_gpu(trace.gpu)
    resident = np.minimum(trace.blocks, gpu.sms * occupancy_of(gpu, trace))
    whole = gpu.sms * gpu.threads_per_sm
    # floor(x + 1/2) for x = 100 * resident * threads / whole
    expected = (200 * resident * trace.threads + whole) // (2 * whole)
    reason = np.full(len(trace), DIFFERS, dtype=object)
    reason[trace.occupancy < 0] = NOT_REPORTED
    reason[(trace.occupancy == 0) & (trace.smem > 48 * 1024)] = OPT_IN
    reason[trace.occupancy == expected] = ""
    return OccupancyAgreement(column(expected), trace.occupancy, column(reason, object))


def read_examiner(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    regs: Any = None,
    priority: Any = None,
) -> BlockLog:
    """Read the logs of a run of cuda_scheduling_examiner: when and where each block ran.

    Each file is a stream, in the order given; files with different process ids are different
    contexts. A kernel's launch is the first of its ``cuda_launch_times``, before the call. Seconds
    become nanoseconds exactly: numbers are read as decimals, never as floats.

    Parameters
    ----------
    paths
        A file, several, or a folder (its .json files in the order of their names).
    regs, priority
        Registers per thread and stream priority, which the tool does not write: one number or
        one per file. Unless given, what ``write_examiner`` noted, else 0.

    Raises
    ------
    OSError
        A file cannot be read.
    ValueError
        It is no such log, or a field is missing or malformed; names the file and the offender.
    """
    return examiner.read(paths, regs, priority)


def write_examiner(
    folder: str | os.PathLike[str],
    log: BlockLog,
    gpu: GPU | str | None = None,
    scenario: str = "gpusched",
) -> tuple[Path, ...]:
    """Write a log as files that the scripts of cuda_scheduling_examiner draw.

    One file per stream, ``stream_0.json`` and so on, in a folder that exists; files of these names
    are replaced. ``read_examiner`` gives the same log back if its rows are in the order of streams
    and launches. Times are written as seconds, of nanoseconds.

    Parameters
    ----------
    folder
        Where to.
    log
        What to write. Contexts become process ids.
    gpu
        Only for ``max_resident_threads``, which is 0 without it.
    scenario
        A title for the drawing.

    Returns
    -------
    tuple of Path
        The files, by stream.

    Raises
    ------
    OSError
        A file cannot be written.
    ValueError
        A stream's kernels differ in context or priority.
    """
    return examiner.write(folder, log, None if gpu is None else as_gpu(gpu), scenario)


def check_rules(
    log: BlockLog,
    gpu: GPU | str,
    tolerance: SupportsIndex = 0,
    policy: str | None = "most_room",
) -> list[Violation]:
    """Which rules of the scheduling hierarchy a log breaks, and which event breaks them.

    The rules are (Amert et al., RTSS 2017; Gilman et al., 2020):

    limits
        An SM has room for each block that starts on it: warps, block slots, registers, shared
        memory, beside the context's other blocks there.
    stream
        A kernel starts after its launch and after the end of the one before it in its stream.
    queue
        A kernel starts after all blocks of those that joined the queue of its priority earlier.
    priority
        No block starts while a kernel of a more urgent queue of its context waits.
    placement
        A block starts on the first SM, in the GPU's order, of those that take the most further
        blocks of its kernel.
    idle
        The kernel at the head of the most urgent queue does not wait while an SM has room.

    A kernel joins its queue when it is the first in its stream (``BlockLog.joined``): what else
    may hold it up, such as copies, events, the NULL stream or more streams than the GPU has
    channels, is not in a log and shows as a broken rule. Kernels that join at the same time may
    be queued in either order. Contexts are looked at one by one, and "idle" only when there is
    just one: time slices are not in a log.

    Parameters
    ----------
    log
        What was recorded or simulated.
    gpu
        The GPU that it ran on, or the name of a preset; its ``sm_order`` decides between equal SMs.
    tolerance
        Times less than this apart may have been in either order; 0 for exact times. For measured
        logs, some microseconds: what a block takes to start, and the error of the clocks.
    policy
        "most_room", or None: do not look at the placement.

    Returns
    -------
    list of Violation
        By time; of "stream", "queue" and "priority" at most one per kernel. Empty: none broken.

    Raises
    ------
    ValueError
        A block on an SM that the GPU has not, or that fits no SM; names it.
    OverflowError
        A time or tolerance beyond 2^62.
    """
    instance(log, BlockLog, "log")
    margin = integer(tolerance, "tolerance")
    if margin < 0:
        raise ValueError(f"tolerance: got {margin}, expected a non-negative number")
    if margin >= rule_check.LATEST:
        raise OverflowError(f"tolerance: got {margin}, expected within 62 bits")
    if policy is not None:
        one_of(policy, ("most_room",), "policy")
    return rule_check.check(log, as_gpu(gpu), margin, policy)


def _list(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:16])
    return shown + (", ..." if len(items) > 16 else "")
