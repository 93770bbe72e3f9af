"""CUDA devices of this machine: their limits, and kernels that run on them and log when and where.

All of it is optional: ``is_available()`` is False where there is no NVIDIA driver, and nothing else
of gpusched needs it. Times are ns.
"""

from __future__ import annotations

from gpusched._core import CudaError
from gpusched.cuda.device import Device, OccupancyCheck, Operation, Run, Stream
from gpusched.cuda.device_calls import (
    devices,
    gpu,
    is_available,
    measure,
    partition_times,
    play,
    probe,
    why_not,
)

__all__ = [
    "CudaError",
    "Device",
    "OccupancyCheck",
    "Operation",
    "Run",
    "Stream",
    "devices",
    "gpu",
    "is_available",
    "measure",
    "partition_times",
    "play",
    "probe",
    "why_not",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows
