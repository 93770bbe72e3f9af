"""What comes of simulating tasks on CPUs and a GPU (``gs.simulate.host``)."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.frozen import Frozen
from gpusched.model.host_tasks import HostTasks
from gpusched.model.jobs import RunJobs
from gpusched.simulate.responses import Responses

__all__ = ["WHAT", "HostResponses", "HostRun", "Intervals"]

WHAT = (
    *("", "cpu", "copy in", "kernel", "copy out", "spin", "overhead"),
    *("wait for core", "wait for copy engine", "wait for SMs", "wait for GPU", "served"),
)
"""What an interval can be, in the order of the core's numbers; see ``Intervals``."""


@dataclass(frozen=True, eq=False)
class Intervals(Frozen):
    """What jobs did and what they waited for, from when to when: read-only int64 arrays.

    In the order in which they ended, kernels in that in which they started. Those of a job that are
    not kernels do not overlap; where the job suspends during kernels, all of them together are its
    response time.

    Attributes
    ----------
    task, job
        The task's index, and the number of its job, from 0; -1 for the GPU server when it wakes up.
    what
        An index into ``WHAT``. "cpu", "copy in", "copy out" (which are on the copy engine, too),
        "spin" (keeps a core while it waits or its kernel runs) and "overhead" (the server's) are on
        a core; "kernel" is on SMs; in "wait for core" the job could run but something more urgent
        does (or, in a container, the server does not serve it); "wait for copy engine" and "wait
        for SMs" are of STGM, "wait for GPU" is for the lock or the server, and in "served" the
        server has its GPU segment in hand.
    core
        -1 for what is on none.
    start, end
        In ticks.
    """

    task: Int64Array
    job: Int64Array
    what: Int64Array
    core: Int64Array
    start: Int64Array
    end: Int64Array

    def __len__(self) -> int:
        return len(self.task)

    @property
    def label(self) -> npt.NDArray[np.str_]:
        """``what`` in words."""
        words: npt.NDArray[np.str_] = np.array(WHAT)[self.what]
        return words

    def to_frame(self) -> Any:
        """A pandas table with one row per interval, ``what`` in words."""
        import pandas as pd

        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return pd.DataFrame(columns | {"what": pd.Categorical.from_codes(self.what, list(WHAT))})

    def __repr__(self) -> str:
        return f"<Intervals: {len(self)}>"


@dataclass(frozen=True, eq=False, repr=False)
class HostRun(RunJobs):
    """Jobs of tasks on CPUs and a GPU, by release; see ``gs.simulate.host``.

    Beside the columns of ``Jobs``, whose ``start`` is when the job first ran (or the server took
    its request) and whose ``finish`` is -1 for what has not happened:

    Attributes
    ----------
    intervals
        What jobs did when, as ``Intervals``; None if it was not wanted.
    tasks, cpus, policy, gpu, mode, sms, server, overhead, server_period
        What was simulated; ``server`` is None without one, ``server_period`` without a container.
    outcome
        "done": every job released before ``until`` has finished; "budget": it was spent before.
    worst
        Per task, the largest response time seen; 0 where no job has finished.
    finished, missed
        Per task, how many jobs have finished, and how many of them after their deadlines.
    now
        The instant at which the simulation ended.
    reason
        Which budget ended it, "states" (jobs), "bytes" or "seconds"; None if none did.
    """

    OUTCOMES: ClassVar[tuple[str, ...]] = ("done", "budget")

    intervals: Intervals | None
    tasks: HostTasks
    cpus: int
    policy: str
    gpu: str
    mode: str
    sms: int
    server: int | None
    overhead: int
    server_period: int | None
    outcome: str
    worst: Int64Array
    finished: Int64Array
    missed: Int64Array
    now: int
    reason: str | None

    def spent(self) -> dict[str, Int64Array]:
        """How long each job did each thing, by the words of ``WHAT``: why its response is so long.

        One entry per job, in the run's order. "spin" and "served" go on beside the job's own
        kernels (and the server's copies for it). Raises ValueError for a run without intervals.
        """
        log = self._intervals()
        order = np.lexsort((self.job, self.task))
        first = np.zeros(self.tasks.n + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.task, minlength=self.tasks.n), out=first[1:])
        mine = log.task >= 0
        row = order[first[log.task[mine]] + log.job[mine]]
        length = log.end[mine] - log.start[mine]
        spent: dict[str, Int64Array] = {}
        for number, word in enumerate(WHAT[1:], 1):
            total = np.zeros(len(self), dtype=np.int64)
            these = log.what[mine] == number
            np.add.at(total, row[these], length[these])
            spent[word] = total
        return spent

    def _intervals(self) -> Intervals:
        if self.intervals is None:
            raise ValueError("intervals: this run was simulated without them")
        return self.intervals

    def __repr__(self) -> str:
        known = self.outcome if self.reason is None else f"{self.outcome} ({self.reason})"
        mode = f", {self.mode}" if self.mode else ""
        return (
            f"<HostRun: {len(self)} jobs of {self.tasks.n} tasks on {self.cpus} CPUs, "
            f"{self.policy}, {self.gpu}{mode}, {int(self.missed.sum())} late, {known}>"
        )

    # Pictures

    def plot(
        self, ax: Any = None, *, unit: str | None = None, since: int = 0, until: int | None = None
    ) -> Any:
        """Draws who used which core, the copy engine and the SMs, with matplotlib.

        One row per core in use, one for the copy engine (with STGM) and one per SM in use; each
        bar is in its task's colour and has its job's number. Copies are paler than the rest,
        spinning and overhead palest; parts of a job that misses its deadline have red edges, and
        arrows are releases, in the row of the core (with global scheduling below the CPUs).

        Parameters
        ----------
        ax
            Axes to draw on; a new figure unless given.
        unit
            What a tick is: None, "ns", "us", "ms" or "s".
        since, until
            The window in ticks; up to the 300th bar unless ``until`` is given, and never more than
            3000.

        Returns the axes. Raises ValueError for a run without its intervals.
        """
        from gpusched.simulate import host_picture

        return host_picture.plot(self, ax, unit, since, until)

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """The same picture as an SVG document, without matplotlib; see ``plot``."""
        from gpusched.simulate import host_picture

        return host_picture.svg(self, unit, since, until)

    def _repr_svg_(self) -> str | None:
        return None if self.intervals is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Writes the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        A process "jobs" with a lane per task, in which a job lasts from its release to its finish
        (more lanes where its jobs overlap; response and, with intervals, what it waited for in
        their arguments); with intervals also processes "CPUs" and "GPU", with a lane per core, for
        the copy engine and per SM. ``tick`` is the length of a tick in ns. The file is written
        whole or not at all; a name that ends in .gz is compressed. Raises OSError, and ValueError
        for a ``tick`` below 1.
        """
        from gpusched.simulate import host_trace

        host_trace.write(self, path, tick)


@dataclass(frozen=True, eq=False, repr=False)
class HostResponses(Responses):
    """The largest responses of many simulated sets; see ``gs.simulate.host_responses``.

    For a stack of N sets of n tasks; a single set has no first axis.

    Attributes
    ----------
    worst
        The largest response time of each task, (N, n); 0 where no job finished.
    finished, missed
        How many jobs have finished, and how many of them after their deadlines, (N, n).
    outcome
        One of ``HostRun.OUTCOMES`` for each set, (N,); see there.
    """

    missed: Int64Array

    def __repr__(self) -> str:
        of = f"{len(self)} sets of " if self.is_stack else ""
        jobs, missed = int(self.finished.sum()), int(self.missed.sum())
        return f"<HostResponses: {of}{self.worst.shape[-1]} tasks, {jobs} jobs, {missed} late>"
