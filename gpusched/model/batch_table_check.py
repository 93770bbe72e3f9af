"""Whole tables: are these arrays the times and orders of batches? Refusals name the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, int_array
from gpusched.model.batches import MAX_TASKS, MAX_TIME, Orders, set_text

_CHUNK = 1 << 16  # rows of orders checked at once


def tasks_of(completion: Int64Array) -> int:
    """For how many tasks these completion times are."""
    if completion.ndim not in (1, 2):
        raise ValueError(f"completion: must have 1 or 2 dimensions, has {completion.ndim}")
    size = int(completion.shape[-1])
    if size > 1 << MAX_TASKS:
        raise ValueError(f"completion: {size} entries: more tasks than {MAX_TASKS}")
    if size < 2 or size & (size - 1):
        raise ValueError(
            f"completion: {size} entries, must be 2**n for n tasks, one for each bit mask"
        )
    return size.bit_length() - 1


def check_times(times: Int64Array, name: str) -> None:
    """Refuses times that are negative or beyond the clock, and one of the empty batch."""
    refuse(times < 0, times, name, "must not be negative")
    refuse(times >= MAX_TIME, times, name, "is too large for the clock", OverflowError)
    empty = np.zeros(times.shape, dtype=bool)
    empty[..., 0] = times[..., 0] != 0
    refuse(empty, times, name, "the empty batch must have time 0")


def check_singletons(completion: Int64Array, n: int) -> None:
    """Refuses a table in which a task cannot even run alone."""
    never = np.argwhere(completion[..., [1 << i for i in range(n)]] == 0)
    if len(never):
        *sets, task = (int(i) for i in never[0])
        raise ValueError(
            f"{_in_set(sets)}task {task} can never run: completion[{{{task}}}] is 0, so that "
            f"even alone it is not eligible"
        )


def check_orders(order: Any, completion: Int64Array, n: int) -> Orders:
    """Every row a permutation of its batch; returned as a new int8 array."""
    given = int_array(order, "order")
    if given.shape != (*completion.shape, n):
        raise ValueError(f"order: shape {given.shape}, must be {(*completion.shape, n)}")
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
                "must name its tasks once each, then -1"
                if eligible[row]
                else "must be -1: the batch is not eligible"
            )
            raise ValueError(
                f"{_in_set(sets)}order[{set_text(mask)}] = {rows[row].tolist()}: {what}"
            )
    return given.astype(np.int8)


def ascending(order: Orders) -> bool:
    """Whether every batch is submitted by increasing index."""
    return bool(((order[..., 1:] > order[..., :-1]) | (order[..., 1:] < 0)).all())


def refuse(
    bad: npt.NDArray[np.bool_],
    times: Int64Array,
    name: str,
    what: str,
    error: type[Exception] = ValueError,
) -> None:
    """Raises for the first offender, the batch written as a set of tasks."""
    if bad.any():
        *sets, mask = (int(i) for i in np.argwhere(bad)[0])
        at = (*sets, mask)
        value = int(times[at])
        raise error(f"{_in_set(sets)}{name}[{set_text(mask)}] = {value}: {what}")


def _in_set(sets: Sequence[int]) -> str:
    return f"set {sets[0]}: " if sets else ""
