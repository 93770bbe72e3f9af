"""Batches one at a time: as bit masks, as keys of a dict or rows of a file, and as text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, int_array, integer
from gpusched._support.text import clip

Orders = npt.NDArray[np.int8]

MAX_TASKS: int = _core.MAX_TASKS
MAX_TIME = 2**60 - 1  # of a batch, exclusive: instants are sums of a few of them


def members(mask: int) -> tuple[int, ...]:
    """The tasks of a batch, by increasing index."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def set_text(mask: int) -> str:
    """A batch as messages write it: {0, 2}."""
    return f"{{{', '.join(map(str, members(mask)))}}}"


def order_text(order: Sequence[int]) -> str:
    """An order of submission as Python writes it: (2, 0)."""
    return f"({', '.join(map(str, order))}{',' if len(order) == 1 else ''})"


def task_count(n: Any) -> int:
    """How many tasks a table is for."""
    count = integer(n, "n")
    if count < 1:
        raise ValueError(f"n = {count}: a table needs at least one task")
    if count > MAX_TASKS:
        raise ValueError(f"n = {count}: more tasks than {MAX_TASKS}")
    return count


def task_index(value: Any, n: int, what: str) -> int:
    """One of ``n`` tasks; ``what`` begins the message of a refusal."""
    try:
        task = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: {value!r} is no task index") from None
    if isinstance(value, bool) or not 0 <= task < n:
        raise ValueError(f"{what}: there is no task {value}; tasks are 0 to {n - 1}")
    return task


def by_index(key: Any, names: Sequence[str], what: str) -> Any:
    """A key of `from_dict` with indices in the place of names."""
    if isinstance(key, (str, bytes)) or not isinstance(key, Iterable):
        return key
    members = [_index(m, names, what) if isinstance(m, str) else m for m in key]
    return set(members) if isinstance(key, (set, frozenset)) else tuple(members)


def _index(name: str, names: Sequence[str], what: str) -> int:
    if names.count(name) != 1:
        said = "several tasks are called" if name in names else "there is no task"
        raise ValueError(f"{what}: {said} {name!r}; tasks are {clip(', '.join(names), 200)}")
    return names.index(name)


def key_order(key: Any, n: int, what: str) -> tuple[int, ...]:
    """The order that a key of `from_dict` names."""
    if isinstance(key, (str, bytes)):
        raise TypeError(f"{what}: a key is a tuple of task indices or a bit mask")
    if isinstance(key, Iterable):
        order = tuple(task_index(member, n, what) for member in key)
        if isinstance(key, (set, frozenset)):
            order = tuple(sorted(order))
    else:
        try:
            mask = operator.index(key)
        except TypeError:
            raise TypeError(f"{what}: a key is a tuple of task indices or a bit mask") from None
        if isinstance(key, bool) or not 0 <= mask < 1 << n:
            raise ValueError(f"{what}: is no bit mask of {n} tasks")
        order = members(mask)
    if not order:
        raise ValueError(f"{what}: the batch is empty")
    for task in order:
        if order.count(task) > 1:
            raise ValueError(f"{what}: task {task} is named twice")
    return order


def completion_time(value: Any, what: str) -> int:
    """A completion time, or 0."""
    if type(value) is int and abs(value) < MAX_TIME:  # a million of them in a large file
        ticks = value
    else:
        time = int_array(value, f"{what}: completion")
        if time.ndim != 0:
            raise ValueError(f"{what}: completion must be one number")
        ticks = int(time)
    if ticks < 0:
        raise ValueError(f"{what}: completion = {ticks}: must not be negative")
    if ticks >= MAX_TIME:
        raise OverflowError(f"{what}: completion = {ticks}: is too large for the clock")
    return ticks


class Collected:
    """Batches of one table, gathered row by row in any order of submission."""

    def __init__(self, n: int) -> None:
        self.completion: Int64Array = np.zeros(1 << n, dtype=np.int64)
        self.undecided: Int64Array = np.zeros(1 << n, dtype=np.int64)
        self.order: Orders = np.full((1 << n, n), -1, dtype=np.int8)

    def add(self, order: Sequence[int], time: int, decided: bool = True) -> None:
        """An order with its time (0: not eligible); the shortest time of a batch stays."""
        mask = sum(1 << task for task in order)
        times = self.completion if decided else self.undecided
        if time == 0 or 0 < times[mask] <= time:
            return
        times[mask] = time
        if decided:
            self.order[mask, : len(order)] = order

    def arrays(self) -> tuple[Int64Array, Int64Array, Orders]:
        """Completion, undecided times and orders, as `BatchTable` takes them."""
        self.undecided[self.completion > 0] = 0
        return self.completion, self.undecided, self.order
