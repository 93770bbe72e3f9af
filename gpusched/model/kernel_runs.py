"""Runs of kernels: the jobs of chains kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpusched._support.arguments import Int64Array
from gpusched.model.jobs import Jobs

__all__ = ["KernelRuns"]


@dataclass(frozen=True, eq=False)
class KernelRuns(Jobs):
    """Kernels that ran, as a structure of arrays: read-only int64, one entry per kernel of a job.

    Attributes
    ----------
    task, job, release, deadline
        The job, as in `Jobs`.
    start, finish
        Times of the kernel.
    kernel
        Its number within the job, from 0.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (*Jobs.COLUMNS, "kernel")

    kernel: Int64Array

    def __repr__(self) -> str:
        return f"<KernelRuns: {len(self)}>"
