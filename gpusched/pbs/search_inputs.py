"""Arguments and answers shared by the search, the EDF schedulers and the graph."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, instance
from gpusched._support.saved import Saved
from gpusched.model.answer import Answer
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import MAX_TASKS
from gpusched.model.kernel_chains import KernelChains, chained_of, rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.model.workload.time_units import time_in_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PRINTED",
    "BatchAnswer",
    "arrays_of",
    "chains_of",
    "check_function",
    "check_inputs",
    "schedule_of",
    "undecided_of",
]


PRINTED = "Algorithms 1 to 4 hold as printed; counterexamples are known, both ways."
"""Assumption of the graph's printed variants."""

_BYTES_PER_ARRIVAL = 16  # its time and class
_MANY_JOBS = 1000

# What a file holds of a table and of a schedule.
_SAVED = {
    "table": ("completion", "undecided", "order"),
    "schedule": ("start", "end", "batch", "idling", "cycle"),
}


class BatchAnswer(Answer):
    """Base of answers about batch scheduling; a response is a task's longest in the schedule."""

    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, KernelChains)
    _PER_SET = True

    if TYPE_CHECKING:

        @property
        def tasks(self) -> KernelTasks | KernelChains: ...
        @property
        def table(self) -> BatchTable | BatchFunction | None: ...
        @property
        def schedule(self) -> Schedule | None: ...

    @property
    def _tasks(self) -> KernelTasks | KernelChains:
        return self.tasks

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets or of tables."""
        return self.tasks.is_stack or (self.table is not None and self.table.is_stack)

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a response time: bool ``(n,)`` or ``(N, n)``.

        True for the tasks of an accepted set with a job in its ``schedule``; False in the answer
        for a stack, which keeps no schedules.
        """
        return self._responses()[1]

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        shape = (len(self), self.tasks.n) if self.is_stack else (self.tasks.n,)
        longest = np.zeros(shape, np.int64)
        known = np.zeros(shape, np.bool_)
        if self.schedule is not None and self.accepted:
            jobs = self.schedule.jobs()
            np.maximum.at(longest, jobs.task, jobs.finish - jobs.release)
            known[jobs.task] = True
        return longest, known

    def _long_hyperperiod(self, used: int) -> str:
        """Cause of a spent budget of bytes, for one set; "" if it is not the hyperperiod.

        ``used``: bytes of the search. Every arrival of the hyperperiod takes some.
        """
        periods = self.tasks.period.tolist()
        hyperperiod = math.lcm(*periods)
        jobs = sum(hyperperiod // period for period in periods)
        pairs = list(combinations(range(len(periods)), 2))
        if not pairs or jobs < _MANY_JOBS or jobs * _BYTES_PER_ARRIVAL < used:
            return ""
        i, j = max(pairs, key=lambda pair: math.lcm(periods[pair[0]], periods[pair[1]]))
        both = math.lcm(periods[i], periods[j])
        if both == max(periods):
            return ""
        of_all = "" if len(periods) == 2 else f", that of all tasks {time_in_text(hyperperiod)}"
        return (
            f"on the {jobs:,} jobs of the hyperperiod: the periods of {self._name(i)} and "
            f"{self._name(j)}, {time_in_text(periods[i])} and {time_in_text(periods[j])}, have the "
            f"hyperperiod {time_in_text(both)}{of_all}. Periods with a shorter one, or a larger "
            "budget, may decide it."
        )

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw the schedule; without one, the deadlines; for a stack, a bar chart of its answers.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s".

        Returns
        -------
        The axes.
        """
        if self.schedule is None:
            return super().plot(ax, unit=unit)
        return self.schedule.plot(ax, unit=unit)

    def _fields(self) -> dict[str, Any]:
        values = super()._fields()
        for key, names in _SAVED.items():
            if values.get(key) is not None and not isinstance(values[key], BatchFunction):
                values[key] = {name: getattr(values[key], name) for name in names}
        return values

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Any:
        table = values.get("table")
        if isinstance(table, dict):
            table = values["table"] = BatchTable(**table)
        if values.get("schedule") is not None:
            values["schedule"] = Schedule(**values["schedule"], tasks=values["tasks"], table=table)
        return cls(**values)


def check_inputs(tasks: Any, table: Any) -> None:
    """Raise TypeError unless the arguments are tasks and a table."""
    instance(tasks, (KernelTasks, KernelChains), "tasks")
    instance(table, BatchTable, "table", "BatchTable.from_gpu makes one for a GPU")


def check_function(tasks: Any, function: BatchFunction) -> KernelTasks:
    """The tasks; raises TypeError or ValueError unless they are one set and its function."""
    instance(tasks, KernelTasks, "tasks")
    checked: KernelTasks = tasks
    if tasks.is_stack:
        raise ValueError("tasks: got a stack, expected one set with a BatchFunction")
    if function.n != tasks.n:
        raise ValueError(f"table: got one for {function.n} tasks, expected {tasks.n} as in the set")
    return checked


def _rows(array: Any) -> Any:
    return None if array is None else np.atleast_2d(array)


def arrays_of(
    tasks: KernelTasks | KernelChains, table: BatchTable
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Period, deadline, offset (of each row) and completion as stacks of the same length."""
    unit = "tasks" if isinstance(tasks, KernelTasks) else "kernels"
    tasks = rows_of(tasks)
    if tasks.n > MAX_TASKS:
        raise ValueError(f"tasks: got {tasks.n} {unit}, expected at most {MAX_TASKS}")
    if table.n != tasks.n:
        raise ValueError(f"table: got one for {table.n} {unit}, expected {tasks.n} as in the set")
    if not tasks.is_stack and not table.is_stack:
        one = (tasks.period[None], tasks.deadline[None], tasks.offset[None])
        return (*one, table.completion[None])
    rows = [_rows(a) for a in (tasks.period, tasks.deadline, tasks.offset, table.completion)]
    sets = max(len(row) for row in rows) if all(len(row) for row in rows) else 0
    for row, name in zip(rows, ("period", "deadline", "offset", "table"), strict=True):
        if len(row) not in (1, sets):
            raise ValueError(f"{name}: got {len(row)} sets, expected {sets}")
    a, b, c, d = (np.broadcast_to(row, (sets, row.shape[1])) for row in rows)
    return a, b, c, d


def chains_of(tasks: KernelTasks | KernelChains, table: BatchTable) -> Int64Array | None:
    """The chains of the rows of `arrays_of`, a mask per set; None for tasks of one kernel."""
    masks = chained_of(tasks)
    if masks is None or not table.is_stack:
        return masks
    return np.broadcast_to(masks, (len(table),) if len(masks) == 1 else masks.shape)


def undecided_of(tasks: KernelTasks | KernelChains, table: BatchTable) -> Int64Array | None:
    """The times of undecided batches as a stack of that length, or None."""
    if table.undecided is None:
        return None
    row = _rows(table.undecided)
    sets = max(len(row), len(_rows(tasks.period)))
    found: Int64Array = np.broadcast_to(row, (sets, row.shape[1]))
    return found


def schedule_of(
    frames: Any,
    tasks: KernelTasks | KernelChains,
    table: BatchTable | BatchFunction,
    idling: bool,
    cycle: tuple[int, int] | None = None,
) -> Schedule | None:
    """The schedule of the core's frames, or None."""
    if frames is None:
        return None
    start, end, batch = frames
    return Schedule(start, end, batch, tasks, table, idling, cycle)
