"""GPUs of this machine: their limits, and kernels that run on them and say when and where.

All of it is optional: ``is_available()`` is False where there is no NVIDIA driver, and nothing else
of gpusched needs it. Times are ns.
"""

from __future__ import annotations

from gpusched import _cuda_driver
from gpusched._core import CudaError as CudaError
from gpusched._cuda_device import Device as Device
from gpusched._cuda_device import OccupancyCheck as OccupancyCheck
from gpusched._cuda_device import Operation as Operation
from gpusched._cuda_device import Run as Run
from gpusched._cuda_device import Stream as Stream


def why_not() -> str | None:
    """Why there is no device to use, in a sentence; None when there is one."""
    return _cuda_driver.why_not()


def is_available() -> bool:
    """Whether there is a device to use."""
    return why_not() is None


def devices() -> tuple[str, ...]:
    """The names of the devices, in the order of their indices; empty without any."""
    return _cuda_driver.names()
