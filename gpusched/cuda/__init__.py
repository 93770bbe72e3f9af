"""CUDA devices of this machine: limits, measurements, probes of scheduling rules, and playback.

The package is optional: ``is_available()`` is False without an NVIDIA driver, and no other part of
gpusched requires it. Times are in ns.
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
    return sorted(__all__)  # names for tab completion
