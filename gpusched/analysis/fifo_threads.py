"""Threads and utilizations of kernels in FIFO order, shared by the bounds and the limit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, int_array
from gpusched._support.text import shown
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks

__all__ = [
    "COMMON",
    "FEW_GRIDS",
    "exact_utilization",
    "refuse_many_streams",
    "threads_per_set",
    "utilization_of",
]

COMMON = (
    "Jobs of a task are released at least a period apart, and blocks take at most their time.",
    "Each task has its own stream of one priority and its own hardware channel.",
    "Blocks that run together do not slow each other down beyond their given times.",
)
"""Assumptions of both answers."""

FEW_GRIDS = "No more kernels run at once than the GPU's limit of resident grids."
"""Assumption where jobs of one task may run at the same time."""


def refuse_many_streams(tasks: int, gpu: GPU) -> None:
    """Raise ValueError for more streams than kernels that the GPU runs at once."""
    if tasks > gpu.resident_grids:
        raise ValueError(
            f"tasks: got {tasks} tasks, expected at most {gpu.resident_grids}, the kernels that "
            "the GPU runs at once (resident_grids); the bounds do not count that a kernel waits "
            "for another one to end"
        )


def threads_per_set(threads: Any, tasks: KernelTasks) -> Int64Array:
    """The threads of the GPU, one number per set."""
    if threads is None:
        raise TypeError("threads: got None, expected the number of threads of the GPU")
    if isinstance(threads, (str, GPU)):
        raise TypeError(f"threads: got {shown(threads)}, expected a number (a GPU goes to gpu=)")
    m = int_array(threads, "threads")
    at_least(m, 1, "threads")
    sets = len(tasks) if tasks.is_stack else 1
    if m.shape not in ((), (sets,)) or (m.shape and not tasks.is_stack):
        what = f"a number, or one for each of {sets} sets" if tasks.is_stack else "a number"
        raise ValueError(f"threads: got shape {m.shape}, expected {what}")
    return np.ascontiguousarray(np.broadcast_to(m, (sets,)))


def utilization_of(
    period: Int64Array, block_time: Int64Array, blocks: Int64Array, threads: Int64Array
) -> npt.NDArray[np.float64]:
    """Sum of work / period for each set; the core has checked that the work fits 64 bits."""
    total: npt.NDArray[np.float64] = (blocks * threads * block_time / period).sum(axis=-1)
    return total


def exact_utilization(rows: tuple[Int64Array, ...]) -> Fraction:
    """The exact sum of work / period of one set."""
    columns = (row.tolist() for row in rows)
    return sum((Fraction(c * g * b, t) for t, c, g, b in zip(*columns, strict=True)), Fraction(0))
