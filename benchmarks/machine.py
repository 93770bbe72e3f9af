"""Machine, interpreter and package version of a benchmark result."""

from __future__ import annotations

import os
import platform
import resource

import numpy as np

import gpusched as gs


def describe() -> str:
    """One line for the head of a result file."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            cpu = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass
    return (
        f"gpusched {gs.__version__}, {cpu}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def peak_memory() -> float:
    """Largest resident size of this process so far, in MiB.

    Linux hands `ru_maxrss` on from the process that started this one, whose size would count here:
    its own peak is in /proc.
    """
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
