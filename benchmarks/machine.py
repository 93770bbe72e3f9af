"""Machine, interpreter and package version of a benchmark result."""

from __future__ import annotations

import os
import platform

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
