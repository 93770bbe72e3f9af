"""Intervals in which the jobs of a CPU-GPU task simulation ran or waited, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.tabular import Coded, frame_of
from gpusched.simulate.run_results import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WHAT", "Intervals"]

WHAT = enumeration("simulate.host_activity")
"""Kinds of intervals, in the order of the core's numbers; see ``Intervals``."""


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Table):
    """Intervals in which jobs ran or waited: read-only int64 arrays, (intervals,).

    They are ordered by their ends, kernels by their starts. The intervals of a job that are not
    kernels do not overlap. If the job suspends during kernels, the lengths of all its intervals add
    up to its response time.

    >>> hosts = gs.HostTasks.from_segments([20], [[2, (1, 6, 1), 2]], core=[0])
    >>> run = gs.simulate.host(hosts, cpus=1, way="mpcp", until=20)
    >>> run.intervals.start.tolist(), run.intervals.end.tolist()
    ([0, 2, 3, 9, 10], [2, 3, 9, 10, 12])

    Attributes
    ----------
    task, job
        Index of the task, and number of the job, from 0; -1 for the GPU server when it wakes up.
    what
        Index into ``WHAT``. On a core: "cpu", "copy in" and "copy out" (also on the copy engine),
        "spin" (occupies the core while it waits or its kernel runs), "overhead" (of the server, or
        an update with GCAPS). On SMs: "kernel". Waiting: "wait for core" (ready, but the core runs
        higher-priority work; in a container, the server does not serve the job),
        "wait for copy engine" and "wait for SMs" (with STGM), "wait for GPU" (for the lock, the
        server or a turn), "served" (the server handles its segment).
    core
        The core; -1 for intervals on no core.
    start, end
        Times in ticks.
    """

    _KIND: ClassVar[str] = "Intervals"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("task", "job", "core")

    task: Int64Array
    job: Int64Array
    what: Int64Array
    core: Int64Array
    start: Int64Array
    end: Int64Array

    @property
    def label(self) -> npt.NDArray[np.str_]:
        """The kind of each interval as text (``what`` in words)."""
        words: npt.NDArray[np.str_] = np.array(WHAT)[self.what]
        return words

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per interval, ``what`` as text; NA instead of -1."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return super()._table() | {"what": Coded(self.what.astype(np.int8), WHAT)}
