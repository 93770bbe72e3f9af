"""Arguments and answers common to the search and the EDF schedulers: checks, stacks, frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import instance
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule

__all__ = ["arrays_of", "check_inputs", "counts_text", "schedule_of", "undecided_of"]


def check_inputs(tasks: Any, table: Any) -> None:
    instance(tasks, KernelTasks, "tasks")
    instance(table, BatchTable, "table", "BatchTable.from_gpu makes one for a GPU")


def counts_text(schedulable: npt.NDArray[np.int8]) -> str:
    """How many sets got which answer."""
    answers = (("schedulable", 1), ("not", 0), ("undecided", -1))
    found = [(int((schedulable == code).sum()), word) for word, code in answers]
    said = ", ".join(f"{count} {word}" for count, word in found if count or word != "undecided")
    return f"{len(schedulable)} sets, {said}"


def _rows(array: Any) -> Any:
    return None if array is None else np.atleast_2d(array)


def arrays_of(tasks: KernelTasks, table: BatchTable) -> tuple[Any, Any, Any, Any]:
    """Period, deadline, offset and completion as stacks of the same length."""
    if tasks.n > _core.MAX_TASKS:
        raise ValueError(f"tasks: {tasks.n} tasks are more than the {_core.MAX_TASKS} possible")
    if table.n != tasks.n:
        raise ValueError(f"table: is for {table.n} tasks, the task set has {tasks.n}")
    rows = [_rows(a) for a in (tasks.period, tasks.deadline, tasks.offset, table.completion)]
    sets = max(len(row) for row in rows) if all(len(row) for row in rows) else 0
    for row, name in zip(rows, ("period", "deadline", "offset", "table"), strict=True):
        if len(row) not in (1, sets):
            raise ValueError(f"{name}: {len(row)} sets do not go with {sets}")
    return tuple(np.broadcast_to(row, (sets, row.shape[1])) for row in rows)  # type: ignore[return-value]


def undecided_of(tasks: KernelTasks, table: BatchTable) -> Any:
    """The same for the times of undecided batches, or None."""
    if table.undecided is None:
        return None
    row = _rows(table.undecided)
    return np.broadcast_to(row, (max(len(row), len(_rows(tasks.period))), row.shape[1]))


def schedule_of(
    frames: Any,
    tasks: KernelTasks,
    table: BatchTable,
    idling: bool,
    cycle: tuple[int, int] | None = None,
) -> Schedule | None:
    from gpusched.model.schedule import Schedule

    if frames is None:
        return None
    start, end, batch = frames
    return Schedule(start, end, batch, tasks, table, idling, cycle)
