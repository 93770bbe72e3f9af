"""Intervals in which the jobs of a run on CPUs and a GPU ran or waited, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.missing_values import Coded, frame_of
from gpusched.simulate.run_results import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WHAT", "Intervals"]

WHAT = (
    *("", "cpu", "copy in", "kernel", "copy out", "spin", "overhead"),
    *("wait for core", "wait for copy engine", "wait for SMs", "wait for GPU", "served"),
)
"""Kinds of intervals, in the order of the core's numbers; see ``Intervals``."""


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Table):
    """Intervals in which jobs ran or waited: read-only int64 arrays, (intervals,).

    In the order of their ends, kernels in that of their starts. Those of a job that are not kernels
    do not overlap; where the job suspends during kernels, the lengths of all of them add up to its
    response time.

    >>> hosts = gs.HostTasks.from_segments([20], [[2, (1, 6, 1), 2]], core=[0])
    >>> run = gs.simulate.host(hosts, cpus=1, protocol="mpcp", until=20)
    >>> run.intervals.start.tolist(), run.intervals.end.tolist()
    ([0, 2, 3, 9, 10], [2, 3, 9, 10, 12])

    Attributes
    ----------
    task, job
        The task's index, and the number of its job, from 0; -1 for the GPU server when it wakes up.
    what
        Index into ``WHAT``. On a core: "cpu", "copy in" and "copy out" (on the copy engine, too),
        "spin" (keeps a core while it waits or its kernel runs), "overhead" (of the server, or an
        update with GCAPS). On SMs: "kernel". Waiting: "wait for core" (ready, but something more
        urgent runs; in a container, the server does not serve it), "wait for copy engine" and "wait
        for SMs" (with STGM), "wait for GPU" (for the lock, the server or a turn), "served" (the
        server handles its segment).
    core
        The core; -1 for what is on none.
    start, end
        In ticks.
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
        """``what`` in words."""
        words: npt.NDArray[np.str_] = np.array(WHAT)[self.what]
        return words

    def to_frame(self) -> pd.DataFrame:
        """One row per interval as a ``pandas.DataFrame``, ``what`` in words; NA in place of -1."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return super()._table() | {"what": Coded(self.what.astype(np.int8), WHAT)}
