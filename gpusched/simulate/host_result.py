"""Results of simulations of tasks on CPUs and a GPU: jobs, intervals, response times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from gpusched._support.arguments import Int64Array, integer, task_number
from gpusched._support.saved import Saved
from gpusched._support.text import named, plural
from gpusched.model.host_tasks import HostTasks
from gpusched.model.jobs import RunJobs
from gpusched.simulate import run_results
from gpusched.simulate.host_waits import WHAT, HostWaits, Intervals, waits_of, waits_text
from gpusched.simulate.run_results import Responses
from gpusched.ways.old_values import way_of_old
from gpusched.ways.way import Way

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["WHAT", "HostResponses", "HostRun", "Intervals"]


@dataclass(frozen=True, eq=False, repr=False)
class HostRun(Saved, RunJobs):
    """Result of a CPU-GPU task simulation; see ``gs.simulate.host``.

    Arrays are read-only, with one entry per job (ordered by release) or per task; times are in
    ticks. They are the columns of ``Jobs``, where ``start`` is the time at which the job first ran
    (or the server accepted its request) and ``end`` is -1 if it did not happen, and:

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> run = gs.simulate.host(hosts, cpus=2, way="mpcp", until=40)
    >>> run.task.tolist(), run.release.tolist(), run.end.tolist()
    ([0, 1, 0, 1], [0, 0, 20, 30], [12, 22, 32, 45])

    Attributes
    ----------
    intervals
        Intervals in which jobs ran or waited, as ``Intervals``; None for ``intervals=False``.
    tasks, cpus, way, sms
        The task set, the platform, and the way of sharing the GPU (`gs.ways.Way`) with its
        parameters.
    outcome
        "done": every job released before ``until`` has finished. "budget": the budget was used up
        first.
    worst
        For each task, the largest response time; 0 if no job finished.
    finished, late_count
        For each task, the number of finished jobs, and of those that finished after their
        deadlines.
    now
        Time at which the simulation ended.
    reason
        The budget that ended the simulation, "states" (jobs), "bytes" or "seconds"; otherwise
        None.
    """

    OUTCOMES: ClassVar[tuple[str, ...]] = ("done", "budget")
    _KIND: ClassVar[str] = "HostRun"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks, Intervals, Way)
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"finish": "end", "missed": "late_count"}

    intervals: Intervals | None
    tasks: HostTasks
    cpus: int
    way: Way
    sms: int
    outcome: str
    worst: Int64Array
    finished: Int64Array
    late_count: Int64Array
    now: int
    reason: str | None

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        return cls(**way_of_old(values, "protocol"))

    @property
    def policy(self) -> str:
        """CPU scheduler: "partitioned" fixed priorities, or "gedf"."""
        return "gedf" if self.way.global_edf else "partitioned"

    @property
    def server(self) -> int | None:
        """Core of the GPU server; None without one."""
        return self.way.given.get("server")

    @property
    def mode(self) -> str:
        """Behaviour of tasks while they wait for or use the GPU."""
        return self.way.given.get("mode", "suspend")  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        mode = f", {self.mode}" if self.mode else ""
        return (
            f"<HostRun: {plural(len(self), 'job')} of "
            f"{plural(self.tasks.n, 'task')} on "
            f"{plural(self.cpus, 'CPU')}, {self.policy}, {self.way.name}{mode}; "
            f"{run_results.misses(self)}; "
            f"{run_results.ended(self.outcome, self.reason, self.now)}>"
        )

    def _repr_html_(self) -> str:
        return run_results.html_of(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per job; NA for events that did not happen."""
        frame: pd.DataFrame = super().to_frame()
        return frame

    def spent(self) -> dict[str, Int64Array]:
        """Ticks that each job spent in each kind of interval, by the texts of ``WHAT``.

        The values are arrays (jobs,), in the order of the run. "spin" and "served" overlap the
        job's own kernels (and the copies that the server does for it). Raises ValueError for a run
        without intervals.
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
            raise ValueError("intervals: got a run without them, expected one with intervals=True")
        return self.intervals

    def waits(self, task: int | str, job: int) -> HostWaits:
        """Divide a job's time, from release to end, into its own work and its waits.

        ``task`` is an index or name, and ``job`` the number of a job, from 0. The lengths add up to
        the response time; for a job that did not end, to the time until ``now``. Available for
        partitioned priorities only.

        Raises
        ------
        IndexError, ValueError
            The task or job does not exist, the run has no intervals, or it is under global EDF.
        """
        if self.policy != "partitioned":
            raise ValueError(f"policy: got {self.policy!r}, expected 'partitioned'")
        log = self._intervals()
        number, row = self._row(task, job)
        end = int(self.end[row])
        until = end if end >= 0 else self.now
        release = int(self.release[row])
        return waits_of(self, log, number, int(self.job[row]), release, max(release, until))

    def _row(self, task: int | str, job: int) -> tuple[int, int]:
        """Number of a task, and the row of one of its jobs."""
        number = task_number(task, self.tasks.name)
        wanted = integer(job, "job")
        found = np.flatnonzero((self.task == number) & (self.job == wanted))
        if not len(found):
            raise IndexError(f"job: got {wanted}, expected a released job of task {number}")
        return number, int(found[0])

    def why(self, task: int | str | None = None, *, job: int | None = None) -> str:
        """Explain a response of a task; with intervals, tell how its time was spent.

        ``task`` is an index or name; by default, the task that comes closest to its deadline or
        exceeds it most. ``job`` is the number of a job; by default, the one with the largest
        response. If a job is given, under partitioned priorities, the text also tells what it
        waited for: higher-priority tasks on its core, the holder of the lock, the server, and so
        on, as in ``waits``. Raises IndexError and ValueError for a task or job that does not exist.
        """
        if job is not None and task is None:
            raise ValueError("task: got None, expected a task for its job")
        if job is not None and task is not None:
            number, at = self._row(task, job)
            if self.end[at] < 0:
                return f"{named(self.tasks.name[number])}: job {job} has not finished by {self.now}"
            text = run_results.response_text(self, number, at)
            if self.intervals is None or self.policy != "partitioned":
                return text
            return f"{text}: {waits_text(self, self.waits(number, job))}"
        number, row = run_results.worst_job(self, task)
        text = run_results.job_text(self, number, row)
        if row is None or self.intervals is None:
            return text
        log = self.intervals
        mine = (log.task == number) & (log.job == self.job[row])
        what, length = log.what[mine], (log.end - log.start)[mine]
        parts = [
            f"{int(length[what == kind].sum())} {WHAT[kind]}" for kind in np.unique(what).tolist()
        ]
        return f"{text}: {', '.join(parts)}" if parts else text

    # Pictures

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Axes:
        """Draw the use of cores, copy engine and SMs over time, with Matplotlib.

        There is one lane per core in use, one for the copy engine and one per SM in use, of at
        most 256 cores and 64 SMs; a note says how many are not shown. Each bar
        has the colour of its task and the number of its job. Copies are paler than other bars, and
        spinning and overhead are palest. Bars of a job that misses its deadline are hatched with
        red edges. Triangles are releases, in the lane of the core (below the CPUs with global
        scheduling).

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. Without ``until``, it ends at the 300th
            bar; with it, at most 3000 bars are drawn.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            The run has no intervals, or the drawn interval is empty.
        """
        from gpusched._draw import timeline_axes
        from gpusched.simulate import host_timeline

        shown: Axes = timeline_axes.plot(host_timeline.picture(self, unit, since, until), ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg
        from gpusched.simulate import host_timeline

        return svg.svg(host_timeline.picture(self, unit, since, until))

    def _repr_svg_(self) -> str | None:
        return None if self.intervals is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The process "jobs" has a lane per task, in which a job extends from its release to its
        end (several lanes if jobs overlap), with its response and, with intervals, its waits as
        arguments. With intervals there are also the processes "CPUs" and "GPU", with a lane per
        core, one for the copy engine and one per SM, of at most 1,024. Names are cut after 4,000
        characters.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer.
        """
        from gpusched._draw import chrome_trace
        from gpusched.simulate import host_timeline

        chrome_trace.write_timeline(host_timeline.trace(self), path, tick)


@dataclass(frozen=True, eq=False, repr=False)
class HostResponses(Responses):
    """Largest responses of simulated sets; see ``gs.simulate.host_responses``.

    For a stack of N sets of n tasks; a single set has no first axis.

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> gs.simulate.host_responses(hosts, 2, way="mpcp", until=600).response.tolist()
    [13, 22]

    Attributes
    ----------
    worst
        Largest response time of each task in ticks, (N, n); 0 if no job finished.
    finished, late_count
        Number of finished jobs, and of those that finished after their deadlines, (N, n).
    outcome
        One of ``HostRun.OUTCOMES`` per set, (N,); see there.
    """

    _KIND: ClassVar[str] = "HostResponses"
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"missed": "late_count"}

    late_count: Int64Array

    def _more(self, task: int) -> str:
        return f", {self.late_count[task]} of them late"

    def __repr__(self) -> str:
        of = f"{plural(len(self), 'set')} of " if self.is_stack else ""
        jobs, late = int(self.finished.sum()), int(self.late_count.sum())
        return f"<HostResponses: {of}{self.worst.shape[-1]} tasks, {jobs} jobs, {late} late>"
