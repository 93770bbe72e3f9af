"""Bounds on the value of batches of a function at given prices, in exact integers.

Check of an `Overload` for a set whose batch times are a function. It shares no code with the
search; both use only the demand of the function.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING

from gpusched.model.batches import ONE

if TYPE_CHECKING:
    from gpusched.model.batch_function import BatchFunction

__all__ = ["overpriced"]


def overpriced(function: BatchFunction, price: tuple[int, ...], scale: int) -> int | None:
    """Find a task that is the longest of a batch possibly worth more than its time; else None.

    A batch of two or more takes at least its longest ``wcet`` times the smallest factor; among
    tasks of equal length, the last counts as the longest. For each row of demand, the value of the
    batch is at most the value, rounded down, of a fractional knapsack of the tasks that are not
    longer; the smallest of these bounds is used. Prices are in units of 1/``scale`` ticks.
    """
    need, room, alone = function.demand()
    rows = list(zip(need.tolist(), room.tolist(), strict=True))
    wcet = function.wcet.tolist()
    for task, time in enumerate(wcet):
        if price[task] > scale * time:
            return task
        if alone[task] or any(row[task] > most for row, most in rows):
            continue
        others = [
            i
            for i, other in enumerate(wcet)
            if (other, i) < (time, task) and not alone[i] and price[i] > 0
        ]
        bounds = [
            _knapsack([(price[i], row[i]) for i in others], most - row[task]) for row, most in rows
        ]
        least = -(-time * function.slowdown[0] // ONE)
        if price[task] + min(bounds) > scale * least:
            return task
    return None


def _by_density(a: tuple[int, int], b: tuple[int, int]) -> int:
    return b[0] * a[1] - a[0] * b[1]


def _knapsack(items: list[tuple[int, int]], room: int) -> int:
    """The greatest worth of items (worth, need), any of them in part, in a room; rounded down."""
    worth = 0
    for value, need in sorted(items, key=cmp_to_key(_by_density)):
        if need > room:
            return worth + value * room // need
        worth += value
        room -= need
    return worth
