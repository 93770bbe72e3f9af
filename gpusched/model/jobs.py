"""Jobs: releases, deadlines, starts and ends of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, task_number
from gpusched._support.results import Frozen, Results
from gpusched._support.tabular import Tabular, frame_of, optional

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.model.host_tasks import HostTasks
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks


@dataclass(frozen=True, eq=False)
class Jobs(Tabular, Frozen):
    """Jobs as a structure of arrays: read-only int64, one entry per job, times in ticks.

    Attributes
    ----------
    task, job
        Index of the task, and number of the job within the task, from 0.
    release, deadline
        Absolute times of the job's release and deadline.
    start, end
        Times at which the job starts and ends; -1 if it does not.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ("task", "job", "release", "deadline", "start", "end")
    """The attributes with an entry per job."""
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("start", "end", "response")

    task: Int64Array
    job: Int64Array
    release: Int64Array
    deadline: Int64Array
    start: Int64Array
    end: Int64Array

    def __len__(self) -> int:
        return len(self.task)

    @property
    def response(self) -> Int64Array:
        """Response times, end - release; -1 for a job that did not end."""
        done = self.end >= 0
        return np.where(done, self.end - self.release, np.int64(-1))

    @property
    def tardiness(self) -> Int64Array:
        """Time from deadline to end; 0 for a job in time, -1 for one that did not end."""
        return np.where(self.end >= 0, np.maximum(0, self.end - self.deadline), np.int64(-1))

    @property
    def late(self) -> npt.NDArray[np.bool_]:
        """Whether each job misses its deadline, by ending late or not at all."""
        return (self.end < 0) | (self.end > self.deadline)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per job: the attributes and ``response``.

        Starts and ends that did not happen are NA; columns have type Int64. Results of
        simulations, which know the tasks, also have the column ``name``.

        >>> run = gs.simulate.fifo(gs.KernelTasks([9], [4]), threads=1, until=9)
        >>> run.to_frame()[["name", "job", "end", "response"]].values.tolist()
        [['task 0', 0, 4, 4]]
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        """The attributes and the responses, masked where something has not happened."""
        columns = {name: getattr(self, name) for name in (*self.COLUMNS, "response")}
        return {k: optional(v) if k in self._OPTIONAL else v for k, v in columns.items()}

    def __repr__(self) -> str:
        return f"<Jobs: {len(self)}>"

    def _repr_html_(self) -> str | None:
        if hasattr(self, "_repr_svg_"):  # a notebook would show the table instead of the picture
            return None
        return Results(self._table())._repr_html_()


class RunJobs(Jobs):
    """Jobs of a simulation that ended at ``now``, possibly before the jobs. Base of results."""

    tasks: KernelTasks | KernelChains | HostTasks
    now: int

    def _table(self) -> dict[str, Any]:
        columns = super()._table()
        names = np.array(self.tasks.name, dtype=object)[self.task]
        return {"task": columns.pop("task"), "name": names, **columns}

    @property
    def late(self) -> npt.NDArray[np.bool_]:
        """Whether each job is known at time ``now`` to have missed its deadline."""
        finished = self.end >= 0
        return np.where(finished, self.end > self.deadline, self.now > self.deadline)

    def responses(self, task: int | str) -> Int64Array:
        """Response times of the finished jobs of a task (given by index or name), in order."""
        number = task_number(task, self.tasks.name)
        chosen = np.flatnonzero((self.task == number) & (self.end >= 0))
        return self.end[chosen] - self.release[chosen]


@dataclass(frozen=True, eq=False)
class KernelRuns(Jobs):
    """Executed kernels as a structure of arrays: read-only int64, one entry per kernel of a job.

    Attributes
    ----------
    task, job, release, deadline
        The job that the kernel belongs to, as in `Jobs`.
    start, end
        Times at which the kernel starts and ends.
    kernel
        Number of the kernel within the job, from 0.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (*Jobs.COLUMNS, "kernel")

    kernel: Int64Array

    def __repr__(self) -> str:
        return f"<KernelRuns: {len(self)}>"
