"""EDF baselines of PBS: EDFserial and EDFParallel [RTNS24], section 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.budget import Budget, as_budget
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.search_inputs import arrays_of, check_inputs, counts_text, schedule_of

if TYPE_CHECKING:
    from gpusched.model.schedule import Schedule

__all__ = ["Edf", "EdfStack", "edf_parallel", "edf_serial"]


@dataclass(frozen=True, eq=False)
class Edf:
    """What EDFserial or EDFParallel does with one task set.

    ``schedulable`` is None when the frames exceed the budget of bytes; ``schedule`` holds the
    frames up to the end or the first miss (the frame that misses included); ``missed`` is (task,
    job, absolute deadline) of the first job that misses, or None.
    """

    schedulable: bool | None
    schedule: Schedule
    missed: tuple[int, int, int] | None


@dataclass(frozen=True, eq=False, repr=False)
class EdfStack:
    """What EDFserial or EDFParallel does with a stack of N task sets, arrays of length N.

    ``schedulable``: 1, 0, or -1 when the frames exceed the budget of bytes; ``task``, ``job`` and
    ``deadline`` of the first miss, -1 without one.
    """

    schedulable: npt.NDArray[np.int8]
    task: npt.NDArray[np.int8]
    job: Int64Array
    deadline: Int64Array

    def __len__(self) -> int:
        return len(self.schedulable)

    def to_frame(self) -> Any:
        """A pandas table with one row per task set."""
        import pandas as pd

        names = ("schedulable", "task", "job", "deadline")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame({"set": np.arange(len(self)), **columns})

    def __repr__(self) -> str:
        return f"<EdfStack: {counts_text(self.schedulable)}>"


def edf_serial(
    tasks: KernelTasks, table: BatchTable, *, budget: Budget | None = None, stop: Any = None
) -> Any:
    """EDFserial: one job a frame, earliest deadline first, not preempted.

    Section 6 of the GPUSched paper; equal deadlines go to the smaller index. Returns an ``Edf`` for
    one task set, an ``EdfStack`` for a stack. Of the budget, bytes count.
    """
    return _edf(tasks, table, False, budget, stop)


def edf_parallel(
    tasks: KernelTasks, table: BatchTable, *, budget: Budget | None = None, stop: Any = None
) -> Any:
    """EDFParallel: every ready job, in deadline order, that leaves the batch eligible.

    Section 6 of the GPUSched paper; equal deadlines go to the smaller index. Returns an ``Edf`` for
    one task set, an ``EdfStack`` for a stack. Of the budget, bytes count.
    """
    return _edf(tasks, table, True, budget, stop)


def _edf(
    tasks: KernelTasks, table: BatchTable, parallel: bool, budget: Budget | None, stop: Any
) -> Any:
    check_inputs(tasks, table)
    budget = as_budget(budget)
    columns, frames = _core.pbs_edf(
        *arrays_of(tasks, table), parallel=parallel, bytes=budget.bytes or 0, stop=stop
    )
    answer, task, job, deadline = columns
    if tasks.is_stack or table.is_stack:
        return EdfStack(
            schedulable=frozen(answer.astype(np.int8)),
            task=frozen(task.astype(np.int8)),
            job=frozen(job),
            deadline=frozen(deadline),
        )
    schedule = schedule_of(frames, tasks, table, False)
    assert schedule is not None
    missed = (int(task[0]), int(job[0]), int(deadline[0])) if task[0] >= 0 else None
    return Edf({1: True, 0: False, -1: None}[int(answer[0])], schedule, missed)
