"""Arguments of everything that searches for batches: their checks, and arrays for the core."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from operator import eq, is_
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, instance, integer
from gpusched._support.text import shown
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import MAX_TASKS
from gpusched.model.kernel_chains import (
    BATCH_TASKS,
    BatchTasks,
    KernelChains,
    precedence_of,
    rows_of,
)
from gpusched.model.kernel_tasks import KernelTasks

_LONGEST = 2**60 - 1
"""The smallest hyperperiod that is too long, in ticks."""


def check_inputs(tasks: Any, table: Any, *, functions: bool = False) -> None:
    """Raise TypeError unless the arguments are tasks and a table.

    ``functions``: also one set of tasks with its `BatchFunction`; ValueError for a stack or a
    function of another number of tasks.
    """
    if not functions or not isinstance(table, BatchFunction):
        instance(tasks, BATCH_TASKS, "tasks")
        instance(table, BatchTable, "table", "BatchTable.from_gpu makes one for a GPU")
        return
    instance(tasks, KernelTasks, "tasks")
    if tasks.is_stack:
        raise ValueError("tasks: got a stack, expected one set with a BatchFunction")
    if table.n != tasks.n:
        raise ValueError(f"table: got one for {table.n} tasks, expected {tasks.n} as in the set")


def is_stack(tasks: BatchTasks, table: BatchTable | BatchFunction) -> bool:
    """Whether the question is about a stack of sets or of tables."""
    return tasks.is_stack or table.is_stack


def _expect(
    options: dict[str, Any], usual: Any, condition: str, equal: Callable[[Any, Any], bool] = is_
) -> None:
    """Raise ValueError unless the options have their usual value."""
    for name, value in options.items():
        if not equal(value, usual):
            raise ValueError(f"{name}: got {shown(value)}, expected {usual!r} {condition}")


def check_options(
    tasks: BatchTasks,
    table: BatchTable | BatchFunction,
    method: str,
    variant: str,
    policy: Any,
    repeating: Any,
    thorough: Any,
) -> int:
    """Raise ValueError or TypeError unless the options of a search can be combined.

    Returns the number of spans that a policy keeps for each class of states, 0 for all.
    """
    if isinstance(table, BatchFunction):
        condition = f"with a BatchFunction of more than {MAX_TASKS} tasks"
        _expect({"method": method}, "interval", condition, eq)
        _expect({"variant": variant}, "sound", condition, eq)
        others = {"policy": policy, "repeating": repeating, "thorough": thorough}
        _expect(others, False, condition, eq)
        return 0
    stack = is_stack(tasks, table)
    if method == "graph":
        others = {"repeating": repeating, "policy": policy, "thorough": thorough}
        _expect(others, False, "with method='graph'")
        if stack:
            raise ValueError("tasks: got a stack, expected one set with method='graph'")
        if not isinstance(tasks, KernelTasks):
            raise TypeError(
                f"tasks: got {type(tasks).__name__}, expected KernelTasks with method='graph', in "
                "which no kernel waits for another"
            )
        return 0
    _expect({"variant": variant}, "sound", "without method='graph'", eq)
    if policy is not False and stack:
        raise ValueError("policy: got a stack, expected one task set to compute a policy for")
    if repeating:
        _expect({"policy": policy, "thorough": thorough}, False, "with repeating=True")
        if stack:
            raise ValueError("tasks: got a stack, expected one set with repeating=True")
    if isinstance(policy, bool):
        return 0
    refusal = f"policy: got {shown(policy)}, expected True, False or a positive number"
    if not hasattr(policy, "__index__"):
        raise TypeError(refusal)
    if (limit := integer(policy, "policy")) < 1:
        raise ValueError(refusal)
    return limit


def _rows(array: Any) -> Any:
    return None if array is None else np.atleast_2d(array)


def arrays_of(
    tasks: BatchTasks, table: BatchTable
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Period, deadline, offset (of each row) and completion as stacks of the same length."""
    unit = "kernels" if isinstance(tasks, KernelChains) else "tasks"
    tasks = rows_of(tasks)
    if tasks.n > MAX_TASKS:
        raise ValueError(f"tasks: got {tasks.n} {unit}, expected at most {MAX_TASKS}")
    if table.n != tasks.n:
        raise ValueError(f"table: got one for {table.n} {unit}, expected {tasks.n} as in the set")
    if not is_stack(tasks, table):
        one = (tasks.period[None], tasks.deadline[None], tasks.offset[None])
        return (*one, table.completion[None])
    rows = [_rows(a) for a in (tasks.period, tasks.deadline, tasks.offset, table.completion)]
    sets = max(len(row) for row in rows) if all(len(row) for row in rows) else 0
    for row, name in zip(rows, ("period", "deadline", "offset", "table"), strict=True):
        if len(row) not in (1, sets):
            raise ValueError(f"{name}: got {len(row)} sets, expected {sets}")
    a, b, c, d = (np.broadcast_to(row, (sets, row.shape[1])) for row in rows)
    return a, b, c, d


def precedence_rows(tasks: BatchTasks, table: BatchTable) -> Int64Array | None:
    """The precedence between the rows of `arrays_of`, per set; None without any."""
    masks = precedence_of(tasks)
    if masks is None or not table.is_stack:
        return masks
    return np.broadcast_to(masks, (max(len(table), len(masks)), *masks.shape[1:]))


def undecided_of(tasks: BatchTasks, table: BatchTable) -> Int64Array | None:
    """The times of undecided batches as a stack of that length, or None."""
    if table.undecided is None:
        return None
    row = _rows(table.undecided)
    sets = max(len(row), len(_rows(tasks.period)))
    found: Int64Array = np.broadcast_to(row, (sets, row.shape[1]))
    return found


def longest_pair(periods: list[int]) -> tuple[int, int]:
    """Indices of the two periods with the longest common multiple; there are at least two."""
    pairs = combinations(range(len(periods)), 2)
    return max(pairs, key=lambda pair: math.lcm(periods[pair[0]], periods[pair[1]]))


@contextmanager
def period_advice(tasks: BatchTasks) -> Iterator[None]:
    """Names the two periods with the longest common multiple where a hyperperiod is too long."""
    try:
        yield
    except OverflowError as error:
        if not hasattr(error, "task_set"):  # an argument is too large, no time of a set
            raise
        rows = rows_of(tasks)
        own = rows[error.task_set or 0] if rows.is_stack else rows
        periods = own.period.tolist()
        if math.lcm(*periods) < _LONGEST or not _times_fit(own):
            raise
        i, j = longest_pair(periods)
        raise OverflowError(
            f"{error}; the periods of tasks {i} and {j}, {periods[i]} and {periods[j]}, have the "
            f"longest common multiple, {math.lcm(periods[i], periods[j]):.4g} ticks: change one "
            "of them, or take coarser ticks"
        ) from None


def _times_fit(rows: KernelTasks) -> bool:
    """Whether periods and first deadlines are in range, which the core checks first."""
    columns = (column.tolist() for column in (rows.period, rows.offset, rows.deadline))
    return all(p < _LONGEST and o + d < _LONGEST for p, o, d in zip(*columns, strict=True))
