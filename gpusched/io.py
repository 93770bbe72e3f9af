"""Reading traces of real programs: which kernels ran, how large they are, how long they took.

    trace = gs.io.read_trace("step.pt.trace.json.gz")       # PyTorch profiler (Kineto)
    tasks = trace.choose(5).tasks()                         # five of its kernels as periodic tasks

There is one format: the JSON of the PyTorch profiler, plain or in gzip.

Every time is an integer number of nanoseconds. A duration in a trace is what one launch took from
its first block's start to its last block's end, beside whatever else ran on the GPU meanwhile: it
is no execution time of the kernel alone, and never that of one of its blocks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np

from gpusched import _kineto
from gpusched._check import Int64Array, integer
from gpusched.gpu import GPU, as_gpu
from gpusched.trace import (
    Names,
    Trace,
    TraceKernels,
    column,
    frame_of,
    harmonic_periods,
    known_gpu,
    occupancy_of,
    take,
)

__all__ = [
    "OccupancyAgreement",
    "Trace",
    "TraceKernels",
    "harmonic_periods",
    "occupancy_agreement",
    "read_trace",
]

OPT_IN = "opt-in shared memory above 48 KiB: profiler reports 0"
NOT_REPORTED = "not reported"
DIFFERS = "differs"


def read_trace(
    path: str | os.PathLike[str],
    gpu: GPU | str | None = None,
    device: SupportsIndex | None = None,
) -> Trace:
    """Read the kernel launches of a trace of the PyTorch profiler (Kineto's JSON).

    Microseconds, whole or fractional, become nanoseconds exactly: numbers are read as decimals,
    never as floats. The durations contain whatever ran beside a kernel; see the module's text.

    Parameters
    ----------
    path
        A plain or a gzip file; its first bytes decide, not its name.
    gpu
        A GPU, or the name of a preset: replaces what the file says about the device. Without it,
        the device's entry of "deviceProperties" is used, with the blocks per SM of its compute
        capability; a file without such entries gives a trace whose ``gpu`` is None.
    device
        Whose kernels to read; needed when kernels ran on several devices.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no such trace: a damaged gzip, text that is no JSON, no traceEvents, no kernels (on
        ``device``), a kernel event with a missing, non-numeric, negative or huge field, a device
        description that lacks something; or ``device`` is needed. Names the file and the offender.
    """
    source = os.fsdecode(path)
    given = None if gpu is None else as_gpu(gpu)
    file = _kineto.File(source)
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


def _list(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:16])
    return shown + (", ..." if len(items) > 16 else "")
