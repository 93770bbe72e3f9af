"""Trace readers: which kernels of a real program ran, their shapes and durations.

    trace = gs.io.read_trace("step.pt.trace.json.gz")       # PyTorch profiler (Kineto)
    trace = gs.io.read_trace("report1.sqlite")              # Nsight Systems
    tasks = trace.choose(5).tasks()                         # five of its kernels as periodic tasks

The formats of such traces are the JSON of the PyTorch profiler; the database that Nsight Systems
exports (``nsys export --type sqlite``); and the CSV of its statistics (``nsys stats -r
cuda_gpu_trace --format csv``), which rounds shared memory to 1 kB, where the database is exact.

The logs of cuda_scheduling_examiner tell when and where each block ran, which the rules of the
scheduling hierarchy can be held against:

    log = gs.io.read_examiner("results/")
    gs.io.check_rules(log, "Xavier", tolerance=20_000)      # [] or what is broken where

Every time is an integer number of nanoseconds. A duration in a trace is what one launch took from
its first block's start to its last block's end, beside whatever else ran on the GPU meanwhile: it
is no execution time of the kernel alone, and never that of one of its blocks.
"""

from __future__ import annotations

from gpusched.io.block_log import BlockLog
from gpusched.io.readers import (
    DIFFERS,
    NOT_REPORTED,
    OPT_IN,
    OccupancyAgreement,
    check_rules,
    occupancy_agreement,
    read_examiner,
    read_trace,
    write_examiner,
)
from gpusched.io.rule_check import Violation
from gpusched.io.trace import Trace, TraceKernels, harmonic_periods

__all__ = [
    "DIFFERS",
    "NOT_REPORTED",
    "OPT_IN",
    "BlockLog",
    "OccupancyAgreement",
    "Trace",
    "TraceKernels",
    "Violation",
    "check_rules",
    "harmonic_periods",
    "occupancy_agreement",
    "read_examiner",
    "read_trace",
    "write_examiner",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows
