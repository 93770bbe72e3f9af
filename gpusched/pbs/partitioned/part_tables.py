"""Tables and tasks of the parts into which a task set is divided, and of slower GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks

__all__ = [
    "equal_tables",
    "least_times",
    "least_times_of_part",
    "slower",
    "table_of_gpu",
    "table_of_part",
]

_NEVER = np.iinfo(np.int64).max


def table_of_part(table: BatchTable, tasks: Sequence[int]) -> BatchTable:
    """The table of a subset of the tasks, numbered from 0 in the given order."""
    masks = np.zeros(1, np.int64)
    for task in tasks:
        masks = np.concatenate([masks, masks | 1 << task])
    undecided = None if table.undecided is None else table.undecided[masks]
    order = None
    if table.order is not None:
        position = np.full(table.n + 1, -1, np.int8)  # the last for -1, which ends an order
        position[list(tasks)] = np.arange(len(tasks))
        order = position[table.order[masks][:, : len(tasks)]]
    return BatchTable(table.completion[masks], undecided, order)


def table_of_gpu(table: BatchTable, gpu: int) -> BatchTable:
    """The table of a GPU: the common table, or its own table of a stack."""
    return table[gpu] if table.is_stack else table


def equal_tables(table: BatchTable, gpus: int) -> tuple[int, ...]:
    """For each GPU, the first GPU with an equal table."""
    if not table.is_stack:
        return (0,) * gpus
    rows = [a for a in (table.completion, table.undecided) if a is not None]
    return tuple(
        next(h for h in range(g + 1) if all(np.array_equal(a[g], a[h]) for a in rows))
        for g in range(gpus)
    )


def slower(tasks: KernelTasks, gpus: int) -> KernelTasks:
    """The tasks with periods and deadlines multiplied by the number of GPUs.

    One GPU has as much time for these tasks as all GPUs together have for the original ones.
    """
    return tasks.replace(period=tasks.period * gpus, deadline=tasks.deadline * gpus)


def least_times(table: BatchTable) -> BatchTable:
    """The minimum time of each batch on any GPU; undecided batches are taken as eligible."""
    least = np.atleast_2d(_hopeful(table)).min(axis=0)
    return BatchTable(np.where(least < _NEVER, least, 0))


def least_times_of_part(table: BatchTable, tasks: Sequence[int]) -> BatchTable:
    """The minimum time of all batches with the same members among some tasks, numbered from 0.

    Undecided batches are taken as eligible.
    """
    batches = np.arange(1 << table.n)
    own = np.zeros_like(batches)
    for place, task in enumerate(tasks):
        own |= (batches >> task & 1) << place
    least = np.full(1 << len(tasks), _NEVER)
    np.minimum.at(least, own, _hopeful(table))
    least[0] = 0
    return BatchTable(np.where(least < _NEVER, least, 0))


def _hopeful(table: BatchTable) -> Int64Array:
    """Times with the undecided batches taken as eligible, and a large one for all others."""
    times = table.completion
    if table.undecided is not None:
        times = np.where(times > 0, times, table.undecided)
    return np.where(times > 0, times, _NEVER)
