"""Batches: bit masks, keys, rows of files and text; checks of whole tables; slowdown factors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, int_array, integer, is_sequence, one_of, real
from gpusched._support.registry import limit
from gpusched._support.text import clip, shown

Orders = npt.NDArray[np.int8]
OrdersAt = tuple[Int64Array, Orders]
"""Flat indices of batches in the completion times of a table or stack, ascending, and orders."""

_TASK_BITS = 5  # of -1 or a task
_CHUNK = 1 << 16  # rows of orders checked at once

MAX_TASKS: int = limit("pbs.tasks")
MAX_TIME = 2**60 - 1  # of a batch, exclusive: instants are sums of a few of them


def members(mask: int) -> tuple[int, ...]:
    """The tasks of a batch, by increasing index."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def names_of(tasks: Iterable[int], names: Sequence[str]) -> tuple[str, ...]:
    """The names of the tasks of a batch."""
    return tuple(names[i] for i in tasks)


def set_text(mask: int) -> str:
    """A batch as messages write it: {0, 2}."""
    return f"{{{', '.join(map(str, members(mask)))}}}"


def order_text(order: Sequence[int]) -> str:
    """An order of submission as Python writes it: (2, 0)."""
    return f"({', '.join(map(str, order))}{',' if len(order) == 1 else ''})"


def task_count(n: Any) -> int:
    """Number of tasks of a table, checked."""
    count = integer(n, "n")
    if count < 1:
        raise ValueError(f"n: got {count}, expected at least one task")
    if count > MAX_TASKS:
        raise ValueError(f"n: got {count}, expected at most {MAX_TASKS} tasks")
    return count


def task_index(value: Any, n: int, what: str) -> int:
    """One of ``n`` tasks; error messages begin with ``what``."""
    try:
        task = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: got {shown(value)}, expected the index of a task") from None
    if isinstance(value, bool) or not 0 <= task < n:
        raise ValueError(f"{what}: got task {shown(value)}, expected one from 0 to {n - 1}")
    return task


def mask_of(members: Any, n: int) -> int:
    """The bit mask of a batch of some of n tasks."""
    if not is_sequence(members):
        raise TypeError(f"members: got {shown(members)}, expected the indices of tasks")
    mask = 0
    for member in members:
        mask |= 1 << task_index(member, n, "members")
    return mask


def by_index(key: Any, names: Sequence[str], what: str) -> Any:
    """A key of `from_dict` with indices in the place of names."""
    if isinstance(key, (str, bytes)) or not isinstance(key, Iterable):
        return key
    members = [_index(m, names, what) if isinstance(m, str) else m for m in key]
    return set(members) if isinstance(key, (set, frozenset)) else tuple(members)


def _index(name: str, names: Sequence[str], what: str) -> int:
    if names.count(name) != 1:
        several = ", the name of several tasks" if name in names else ""
        known = clip(", ".join(names), 200)
        raise ValueError(f"{what}: got {shown(name)}{several}, expected one of {known}")
    return names.index(name)


def key_order(key: Any, n: int, what: str) -> tuple[int, ...]:
    """The order that a key of `from_dict` names."""
    if isinstance(key, (str, bytes)):
        raise TypeError(f"{what}: got text, expected a tuple of task indices or a bit mask")
    if isinstance(key, Iterable):
        order = tuple(task_index(member, n, what) for member in key)
        if isinstance(key, (set, frozenset)):
            order = tuple(sorted(order))
    else:
        try:
            mask = operator.index(key)
        except TypeError:
            found = type(key).__name__
            wanted = "expected a tuple of task indices or a bit mask"
            raise TypeError(f"{what}: got {found}, {wanted}") from None
        if isinstance(key, bool) or not 0 <= mask < 1 << n:
            raise ValueError(f"{what}: got {shown(key)}, expected a bit mask of {n} tasks")
        order = members(mask)
    if not order:
        hint = "" if isinstance(key, Iterable) else "; numbers are bit masks: 1, or (0,), is task 0"
        raise ValueError(f"{what}: got no tasks, expected at least one{hint}")
    for task in order:
        if order.count(task) > 1:
            raise ValueError(f"{what}: got task {task} twice, expected it once")
    return order


def completion_time(value: Any, what: str) -> int:
    """A completion time, or 0."""
    if type(value) is int and abs(value) < MAX_TIME:  # a million of them in a large file
        ticks = value
    else:
        time = int_array(value, f"{what}: completion")
        if time.ndim != 0:
            raise ValueError(f"{what}: completion: got shape {time.shape}, expected one number")
        ticks = int(time)
    if ticks < 0:
        raise ValueError(f"{what}: completion: got {ticks}, expected a non-negative number")
    if ticks >= MAX_TIME:
        raise OverflowError(f"{what}: completion: got {ticks}, expected less than 2**60 - 1 ticks")
    return ticks


class Collected:
    """Batches of one table or of a stack, gathered row by row in any order of submission."""

    def __init__(self, n: int, sets: int | None = None) -> None:
        shape = (1 << n,) if sets is None else (sets, 1 << n)
        self._n = n
        self.completion: Int64Array = np.zeros(shape, np.int64)
        self.undecided: Int64Array = np.zeros(shape, np.int64)
        self._orders: dict[int, Sequence[int]] = {}  # by flat index

    def add(self, order: Sequence[int], time: int, decided: bool = True, number: int = 0) -> None:
        """Add an order with its time (0: not eligible); a batch keeps its shortest time.

        ``number``: of the set in a stack.
        """
        at = number << self._n | sum(1 << task for task in order)
        times = (self.completion if decided else self.undecided).ravel()
        if time == 0 or 0 < times[at] <= time:
            return
        times[at] = time
        if decided:
            self._orders[at] = order

    def times(self) -> tuple[Int64Array, Int64Array]:
        """Completion and undecided times, as `BatchTable` takes them."""
        self.undecided[self.completion > 0] = 0
        return self.completion, self.undecided

    def orders(self) -> OrdersAt:
        """The orders of batches that are not submitted by increasing index."""
        others = sorted(at for at, order in self._orders.items() if list(order) != sorted(order))
        found: Orders = np.full((len(others), self._n), -1, np.int8)
        for row, at in enumerate(others):
            found[row, : len(self._orders[at])] = self._orders[at]
        return np.array(others, np.int64), found


# Whole tables: refusals name the batch.


def tasks_of(completion: Int64Array) -> int:
    """Number of tasks of a table with these completion times."""
    if completion.ndim not in (1, 2):
        raise ValueError(f"completion: got {completion.ndim} dimensions, expected 1 or 2")
    size = int(completion.shape[-1])
    if size > 1 << MAX_TASKS:
        raise ValueError(f"completion: got {size} entries, expected at most {MAX_TASKS} tasks")
    if size < 2 or size & (size - 1):
        raise ValueError(
            f"completion: got {size} entries, expected 2**n for n tasks, one for each bit mask"
        )
    return size.bit_length() - 1


def check_tables(completion: Int64Array, undecided: Int64Array | None, n: int) -> None:
    """Refuse times that no table or stack of n tasks has."""
    _check_times(completion, "completion")
    _check_singletons(completion, n)
    if undecided is not None:
        _check_times(undecided, "undecided")
        both = (undecided > 0) & (completion > 0)
        refuse(both, undecided, "undecided", "0 as the batch is eligible")


def _check_times(times: Int64Array, name: str) -> None:
    """Refuse times that are negative or too large, and one of the empty batch."""
    refuse(times < 0, times, name, "a non-negative number")
    refuse(times >= MAX_TIME, times, name, "less than 2**60 - 1 ticks", OverflowError)
    refuse(times[..., :1] != 0, times, name, "0 for the empty batch")


def _check_singletons(completion: Int64Array, n: int) -> None:
    """Refuse a table in which a task alone is not eligible."""
    never = np.argwhere(completion[..., [1 << i for i in range(n)]] == 0)
    if len(never):
        *sets, task = (int(i) for i in never[0])
        raise ValueError(
            f"{_in_set(sets)}completion[{{{task}}}]: got 0, expected a positive number, as task "
            f"{task} could never run"
        )


def check_orders(order: Any, completion: Int64Array, n: int) -> Orders:
    """Check that every row is a permutation of its batch; returns a new int8 array."""
    given = int_array(order, "order")
    if given.shape != (*completion.shape, n):
        raise ValueError(f"order: got shape {given.shape}, expected {(*completion.shape, n)}")
    rows, eligible = given.reshape(-1, n), completion.ravel() > 0
    masks = np.resize(np.arange(1 << n), len(rows))
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        used = part >= 0
        inside = (part >= -1) & (part < n)
        # As many powers of two as the mask has bits add up to it only when each is one of them.
        bits = np.where(used & inside, np.int64(1) << np.where(inside & used, part, 0), 0)
        size = used.sum(axis=1)
        expected = np.where(eligible[start : start + _CHUNK], masks[start : start + _CHUNK], 0)
        right = (
            inside.all(axis=1)
            & (used == (np.arange(n) < size[:, None])).all(axis=1)
            & (bits.sum(axis=1) == expected)
            & (size == sum(expected >> i & 1 for i in range(n)))
        )
        if not right.all():
            row = start + int(np.argmin(right))
            where = np.unravel_index(row, completion.shape)
            mask, sets = int(where[-1]), [int(i) for i in where[:-1]]
            what = (
                "its tasks once each, then -1"
                if eligible[row]
                else "-1, as the batch is not eligible"
            )
            raise ValueError(
                f"{_in_set(sets)}order[{set_text(mask)}]: got {rows[row].tolist()}, expected {what}"
            )
    return given.astype(np.int8)


def ascending_rows(order: Orders) -> npt.NDArray[np.bool_]:
    """Whether each batch is submitted by increasing index."""
    later, earlier = order[..., 1:], order[..., :-1]
    return np.asarray(((later > earlier) | (later < 0)).all(axis=-1))


def orders_by_index(masks: Int64Array, n: int) -> Orders:
    """Orders of batches of n tasks by increasing index; shape (batches, n)."""
    tasks = np.arange(n, dtype=np.int8)
    orders: Orders = np.sort(np.where(masks[:, None] >> tasks & 1, tasks, np.int8(n)), axis=1)
    orders[orders == n] = -1
    return orders


def order_tuples(orders: Orders) -> npt.NDArray[np.object_]:
    """Rows of orders without their -1 as tuples, equal ones made once; shape (rows,)."""
    key: Int64Array = np.zeros(len(orders), dtype=np.int64)
    used = 0  # bits of the key
    for column in orders.T:
        if used + _TASK_BITS > 63:
            key = np.unique(key, return_inverse=True)[1]  # as many bits as the rows need
            used = len(orders).bit_length()
        key = key << _TASK_BITS | (column + 1)
        used += _TASK_BITS
    _, first, at = np.unique(key, return_index=True, return_inverse=True)
    different = orders[first]
    size = (different >= 0).sum(axis=1)
    tuples: npt.NDArray[np.object_] = np.empty(len(different), dtype=object)
    for length in np.unique(size).tolist():
        rows = np.flatnonzero(size == length)
        columns = different[rows, :length].T.tolist()
        tuples[rows] = np.fromiter(zip(*columns, strict=True), object, len(rows))
    return tuples[at]


def refuse(
    bad: npt.NDArray[np.bool_],
    times: Int64Array,
    name: str,
    what: str,
    error: type[Exception] = ValueError,
) -> None:
    """Raise for the first invalid time; the message gives the batch as a set of tasks."""
    if bad.any():
        *sets, mask = (int(i) for i in np.argwhere(bad)[0])
        at = (*sets, mask)
        value = int(times[at])
        raise error(f"{_in_set(sets)}{name}[{set_text(mask)}]: got {value}, expected {what}")


def _in_set(sets: Sequence[int]) -> str:
    return f"set {sets[0]}: " if sets else ""


ONE = 10**9  # factors are counted in billionths
# [RTNS24], section 6.1.
SLOWDOWNS = {"small": (1.0, 1.4), "large": (1.7, 1.9), "mixed": (1.1, 1.9)}


def factors(slowdown: Any) -> tuple[int, int]:
    """Smallest and largest slowdown factor in billionths."""
    if slowdown is None:
        return ONE, ONE
    if isinstance(slowdown, str):
        one_of(slowdown, SLOWDOWNS, "slowdown")
        slowdown = SLOWDOWNS[slowdown]
    pair = tuple(slowdown) if is_sequence(slowdown) else (slowdown, slowdown)
    if len(pair) != 2:
        raise ValueError(
            f"slowdown: got {shown(slowdown)}, expected (least, most), a number, a name or None"
        )
    least, most = (billionths(factor) for factor in pair)
    if least > most:
        raise ValueError(f"slowdown: got {shown(slowdown)}, expected the lesser factor first")
    return least, most


def billionths(factor: Any) -> int:
    number = real(factor, "slowdown")
    if not 1 <= number <= 10**6:
        raise ValueError(f"slowdown: got {shown(factor)}, expected a factor from 1 to 1000000")
    return round((factor if isinstance(factor, Fraction) else Fraction(number)) * ONE)
