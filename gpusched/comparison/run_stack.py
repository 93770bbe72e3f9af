"""Stacks of simulations of a workload that differ in what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from gpusched._support.arguments import FloatArray, Int64Array, frozen, position
from gpusched._support.results import Frozen, wilson
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, plural
from gpusched.comparison.path_runs import PathRuns
from gpusched.comparison.response_table import (
    PERCENTILES,
    Shares,
    response_table,
    shares_of,
    times_of,
)
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import Times, missing
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.run_results import rank_of
from gpusched.ways.way import OptionValue, label_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunStack"]


@dataclass(frozen=True, eq=False, repr=False)
class RunStack(Tabular, Frozen):
    """Runs of a workload of n tasks that differ in what is drawn; see ``gs.observe``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([
    ...     gs.Task("camera", "10ms", [kernel]), gs.Task("net", "15ms", [kernel, kernel]),
    ... ], tick="us")
    >>> runs = gs.observe(w, gs.Platform("Xavier", cpus=2), "one_stream", until="1s",
    ...     count=20, seed=1, low=0.5)
    >>> runs.worst.shape, int(runs.late_count.sum())
    ((20, 2), 0)
    >>> bool((runs.percentile(99) <= runs.worst.max(axis=0)).all())
    True
    >>> runs[17].worst.tolist() == runs.worst[17].tolist()
    True

    Indexing simulates a run again, with its logs: ``runs[17]`` is the `WorkloadRun` that
    ``observe`` returns for the same seed and ``index=17``. Percentiles are upper edges of bins, of
    one tick below 256 ticks and from there on of less than 1/128 of the time; they are never below
    the true ones.

    Attributes
    ----------
    workload, platform, way, options, until, assumptions, limits
        As of a `WorkloadRun`.
    index
        That of the first run.
    worst
        Largest response time of each task in each run: int64 ticks ``(runs, n)``; masked without a
        job. A job that had not ended counts as what it had taken.
    late_count, job_count
        Numbers of late jobs and of jobs, likewise ``(runs, n)``. Where times of blocks are rounded
        up to ticks, late ones are at most those with these times rounded down.
    left
        Jobs that had not ended when the run did: int64 ``(runs,)``.
    bins
        Responses of all runs, counted: int64 ``(3, bins)``, the task, the largest time and the
        number of responses of each bin that has some.
    reason
        The budget that was used up before all runs were done, or None.
    seconds
        Wall-clock time of the call.
    """

    workload: Workload
    platform: Platform
    way: str
    options: Mapping[str, OptionValue]
    until: int
    index: int
    worst: Times
    late_count: Int64Array
    job_count: Int64Array
    left: Int64Array
    assumptions: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    reason: str | None
    seconds: float = field(compare=False)
    bins: Int64Array
    _again: Callable[..., WorkloadRun] = field(compare=False)

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.worst)

    def __iter__(self) -> Iterator[WorkloadRun]:
        return map(self._run, range(len(self)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> WorkloadRun: ...
    @overload
    def __getitem__(self, index: slice) -> list[WorkloadRun]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> WorkloadRun | list[WorkloadRun]:
        """Simulate a run again, with its logs. Raises IndexError for one that does not exist."""
        if isinstance(index, slice):
            return [self._run(i) for i in range(*index.indices(len(self)))]
        return self._run(position(index, len(self), "runs"))

    def _run(self, number: int) -> WorkloadRun:
        return self._again(index=self.index + number)

    @property
    def label(self) -> str:
        """Way and given parameters, such as "mpcp (busy)"."""
        return label_of(self.way, self.options)

    @property
    def largest(self) -> Times:
        """Largest response time of each task in all runs: int64 ticks ``(n,)``, as `worst`."""
        most = np.ma.filled(self.worst, -1).max(axis=0, initial=-1)
        return missing(most, most >= 0, -1)

    @property
    def share_late(self) -> Shares:
        """Share of late jobs of each task in all runs: float64 ``(n,)``; masked without a job."""
        return shares_of(self.late_count.sum(axis=0), self.job_count.sum(axis=0))

    @property
    def late_interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % confidence interval of the probability that a job of each task is late.

        Two arrays ``(n,)``, around `share_late`: Wilson's interval for a share of runs, which are
        independent of each other, as the jobs of one run are not. That a share of a run is between
        0 and 1 makes it only wider. A run counts by its number of jobs: n runs of different numbers
        count as (sum of jobs)**2 / (sum of squares) runs. (0, 1) without a job.
        """
        jobs = self.job_count.astype(np.float64)
        runs = jobs.sum(axis=0) ** 2 / np.maximum((jobs**2).sum(axis=0), 1)
        both = [
            wilson(share * count, count)
            for share, count in zip(self.share_late.filled(0).tolist(), runs.tolist(), strict=True)
        ]
        return np.array([float(low) for low, _ in both]), np.array([float(up) for _, up in both])

    @overload
    def percentile(self, q: float) -> Times: ...
    @overload
    def percentile(self, q: float, task: int | str) -> int | None: ...
    def percentile(self, q: float, task: int | str | None = None) -> Times | int | None:
        """The response that q percent of all jobs of a task do not exceed (nearest rank), in ticks.

        Parameters
        ----------
        q
            0 to 100.
        task
            Name or index of a task. Default: all tasks.

        Returns
        -------
        One number, or None without a job; for all tasks int64 ``(n,)``, masked without a job.

        Raises
        ------
        ValueError, IndexError, KeyError
            q is outside 0 to 100; the task does not exist.
        """
        if task is not None:
            return self._percentile(q, self.workload.index(task))
        return times_of([self._percentile(q, i) for i in range(len(self.workload))])

    def _percentile(self, q: float, task: int) -> int | None:
        of, edge, count = self.bins
        mine = of == task
        sums = np.cumsum(count[mine])
        rank = rank_of(q, int(sums[-1]) if len(sums) else 0)
        if rank is None:
            return None
        return min(int(edge[mine][np.searchsorted(sums, rank)]), int(self.largest[task]))

    def path(self, path: str | int) -> PathRuns:
        """The times of a path of the workload in all runs, by its name or its index.

        >>> w = gs.Workload.load("notebooks/lidar_to_brake.toml")
        >>> runs = gs.observe(w, gs.Platform("AGX Orin", cpus=4), "one_stream", until="1s",
        ...     count=5, seed=1, low=0.5)
        >>> times = runs.path("cloud to objects")
        >>> times.largest == runs[times.worst_run].path("cloud to objects").largest
        True

        The first call simulates each run again, as the stack keeps no times of jobs. Raises
        KeyError and IndexError for a path that does not exist.
        """
        found = self.workload.path(path)
        return self._paths[self.workload.paths.index(found)]

    @cached_property
    def _paths(self) -> list[PathRuns]:
        """The times of all paths, made when those of one are first asked for."""
        values: list[list[Int64Array]] = [[] for _ in self.workload.paths]
        for i in range(len(self)):
            run = self._again(index=self.index + i, timeline=False)
            for of, path in zip(values, run.paths, strict=True):
                of.append(path.values)
        found = []
        for wanted, parts in zip(self.workload.paths, values, strict=True):
            numbers = np.repeat(np.arange(len(parts), dtype=np.int64), list(map(len, parts)))
            times = np.concatenate([np.zeros(0, np.int64), *parts])
            found.append(PathRuns(wanted, frozen(times), frozen(numbers), self.workload.tick_ns))
        return found

    def why(self, task: int | str | None = None) -> str:
        """Describe the largest response of a task, in a run that is simulated again.

        By default that of the task whose response is largest relative to its deadline. Raises
        KeyError and IndexError for a task that does not exist.
        """
        number = self._tightest if task is None else self.workload.index(task)
        if not self.worst[:, number].count():
            return f"{clip(self.workload.names[number], 60)}: no job was released."
        run = int(np.ma.filled(self.worst, -1)[:, number].argmax())
        return f"Run {self.index + run}: {self[run].why(number)}"

    @property
    def _tightest(self) -> int:
        """The task whose response is largest relative to its deadline."""
        due = np.array([each.deadline for each in self.workload], np.float64)
        return int((self.largest.filled(-1) / due).argmax())

    @property
    def worst_run(self) -> int | None:
        """The run, from 0, with the largest response relative to its deadline, if there is one."""
        took = np.ma.filled(self.worst, -1)[:, self._tightest]
        return int(took.argmax()) if self.worst.count() else None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per run and task.

        The columns are ``run``, ``task`` (the name), ``jobs``, ``worst`` (in ticks; NA without a
        job) and ``late`` (the number of late jobs).
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        runs, n = self.late_count.shape
        return {
            "run": np.repeat(np.arange(self.index, self.index + runs), n),
            "task": np.tile(np.array(self.workload.names, object), runs),
            "jobs": self.job_count.ravel(),
            "worst": self.worst.ravel(),
            "late": self.late_count.ravel(),
        }

    def responses_text(self, percentiles: tuple[float, ...] = PERCENTILES) -> str:
        """The percentiles and the largest responses of all runs as a table."""
        table = response_table(
            self.workload,
            self.job_count.sum(axis=0),
            [(q, self.percentile(q)) for q in percentiles],
            self.largest,
            self.late_count.sum(axis=0),
            self.late_interval,
        )
        return (
            f"{table}\n\nA job is late with the probability in the last column, at a confidence of "
            f"95 % (Wilson's interval, over {plural(len(self), 'run')}, since the jobs of a run "
            "depend on each other), if times and releases are distributed as they are drawn."
        )

    @property
    def notes(self) -> list[str]:
        """Sentences on what the numbers do not show."""
        found = []
        if left := int(self.left.sum()):
            found.append(f"{plural(left, 'job')} had not ended and count as what they had taken.")
        if self.reason is not None:
            found.append(f"The budget ({self.reason}) was spent after {plural(len(self), 'run')}.")
        return found

    def __repr__(self) -> str:
        jobs, late = int(self.job_count.sum()), int(self.late_count.sum())
        return (
            f"<RunStack: {self.label}, {plural(len(self), 'run')}, {plural(jobs, 'job')}, "
            f"{late or 'none'} late>"
        )

    def __str__(self) -> str:
        until = time_with_unit(self.until, self.workload.tick_ns)
        head = f"{clip(self.label, 200)}: {plural(len(self), 'run')} until {until}"
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([f"{head}\n", self.responses_text(), *notes])
