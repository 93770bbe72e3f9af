"""Batch tables as tables of pandas: a row per eligible or undecided batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched.model.batches import (
    Collected,
    Orders,
    ascending_rows,
    completion_time,
    key_order,
    names_of,
    order_tuples,
    orders_by_index,
    set_text,
    task_count,
)
from gpusched.model.frames import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Batches", "arrays_of", "table_of"]


class Batches(Protocol):
    """Protocol of a batch table."""

    @property
    def completion(self) -> Int64Array: ...
    @property
    def undecided(self) -> Int64Array | None: ...
    @property
    def order(self) -> Orders | None: ...
    @property
    def n(self) -> int: ...
    @property
    def is_stack(self) -> bool: ...


def table_of(table: Batches, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a table or stack; ``names``: of the tasks."""
    completion = np.atleast_2d(table.completion)
    undecided = np.zeros_like(completion)
    if table.undecided is not None:
        undecided = np.atleast_2d(table.undecided)
    sets, masks = np.nonzero(completion + undecided)
    decided = completion[sets, masks] > 0
    tasks = _submissions(table, sets, masks, decided)
    if names is not None:
        if len(names) != table.n:
            raise ValueError(f"names: got {len(names)}, expected {table.n}, one per task")
        tasks[:] = [names_of(batch, names) for batch in tasks]
    columns: dict[str, Any] = {"set": sets} if table.is_stack else {}
    columns |= {
        "size": np.bitwise_count(masks).astype(np.int64),
        "tasks": tasks.tolist(),
        "completion": completion[sets, masks] + undecided[sets, masks],
        "undecided": ~decided,
    }
    return columns


def _submissions(
    table: Batches, sets: Int64Array, masks: Int64Array, decided: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Tasks of batches in the order of submission, equal tuples made once."""
    by_index = np.empty(1 << table.n, object)
    different = np.flatnonzero(np.bincount(masks, minlength=len(by_index)))
    by_index[different] = order_tuples(orders_by_index(different, table.n))
    tasks: npt.NDArray[np.object_] = by_index[masks]
    if table.order is not None:
        orders = table.order.reshape(-1, *table.order.shape[-2:])[sets, masks]
        other = np.flatnonzero(decided & ~ascending_rows(orders))
        tasks[other] = order_tuples(orders[other])
    return tasks


def arrays_of(frame: pd.DataFrame) -> tuple[Any, ...]:
    """Completion times, those of undecided batches and orders, of one table or of a stack."""
    known = ["set", "mask", "size", "tasks", "undecided"]
    rows = Table(frame, ["completion"], known, ["set"])
    if "tasks" not in rows and "mask" not in rows:
        raise ValueError("frame: got no column 'tasks', expected tasks or mask")
    keys = rows.entries("tasks") if "tasks" in rows else rows.whole("mask")
    masks = rows.whole("mask") if "mask" in rows else None
    most = max(_largest_task(key, row) for row, key in enumerate(keys))
    n = task_count(most + 1)
    sets = rows.whole("set") if "set" in rows else [0] * rows.length
    if sorted(set(sets)) != list(range(max(sets) + 1)):
        raise ValueError("frame: got sets that are not numbered from 0, expected all of them")
    collected = [Collected(n) for _ in range(max(sets) + 1)]
    seen = set()
    times, undecided = rows.whole("completion"), rows.entries("undecided")
    for row, key in enumerate(keys):
        what = f"frame: row {row}"
        order = key_order(key, n, what)
        mask = sum(1 << task for task in order)
        if masks is not None and masks[row] != mask:
            raise ValueError(f"{what}: got mask {masks[row]}, expected {mask} as of the tasks")
        if (sets[row], mask) in seen:
            raise ValueError(f"{what}: got batch {set_text(mask)} twice, expected it once")
        if undecided[row] not in (None, False, True):
            raise ValueError(f"{what}: got undecided = {undecided[row]!r:.60}, expected a bool")
        seen.add((sets[row], mask))
        time = completion_time(times[row], what)
        collected[sets[row]].add(order, time, not undecided[row])
    parts = [one.arrays() for one in collected]
    if "set" not in rows:
        return parts[0]
    return tuple(np.stack(arrays) for arrays in zip(*parts, strict=True))


def _largest_task(key: Any, row: int) -> int:
    """The largest index of a batch, by its tasks or its mask."""
    if isinstance(key, int):
        return key.bit_length() - 1
    if not isinstance(key, (tuple, list)) or not all(isinstance(task, int) for task in key):
        raise ValueError(f"frame: tasks[{row}]: got {key!r:.60}, expected a tuple of indices")
    return max(key, default=0)
