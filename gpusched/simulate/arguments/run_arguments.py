"""Arguments that the simulators of releases share: values per set, shares of times, victims."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, int_array, integer, real
from gpusched._support.text import shown


def is_one(value: Any, name: str) -> bool:
    """Whether this is one value for all sets, as opposed to one per set."""
    try:
        return np.ndim(value) == 0
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name}: got {shown(value)}, expected one value or one per set") from None


def per_set(value: Any, sets: int, name: str) -> Int64Array:
    """One number per set, (sets,)."""
    array = int_array(value, name)
    if array.shape not in ((), (sets,)):
        raise ValueError(
            f"{name}: got shape {array.shape}, expected one number, or one per set ({sets})"
        )
    return np.ascontiguousarray(np.broadcast_to(array, (sets,)))


def victim_per_set(victim: Any, sets: int, n: int) -> Int64Array:
    """Index of each set's victim, (sets,); -1: none (None for all sets, -1 in a row of them)."""
    one = is_one(victim, "victim")
    given = victim
    if one:
        given = -1 if victim is None else integer(victim, "victim")
    victims = per_set(given, sets, "victim")
    wrong = np.flatnonzero((victims >= n) | (victims < (0 if one else -1)))
    if victim is not None and wrong.size:
        i = int(wrong[0])
        which = "" if one else f"[{i}]"
        raise ValueError(f"victim{which}: got {victims[i]}, expected 0 to {n - 1}, a task's index")
    return victims


def execution_shares(
    execution: Any, of: str, *, name: str = "execution", zero: bool = False
) -> tuple[Fraction, Fraction]:
    """The shortest and the longest time, as shares of ``of``; zero: whether all may be 0."""
    pair = execution if isinstance(execution, (tuple, list)) else (execution, execution)
    if len(pair) != 2:
        raise ValueError(f"{name}: got {len(pair)} numbers, expected one, or (low, high)")
    low, high = (_share(value, name) for value in pair)
    if not 0 <= low <= high <= 1 or (high == 0 and not zero):
        raise ValueError(
            f"{name}: got {repr(execution)[:60]}, expected shares of the {of}, within 0 .. 1 "
            "and in order"
        )
    return low, high


def gap_share(gap: Any, name: str) -> Fraction:
    """Longest delay of a release, as a share of the period."""
    share = _share(gap, name)
    if share < 0:
        raise ValueError(f"{name}: got {gap}, expected 0 or more")
    return share


def _share(value: Any, name: str) -> Fraction:
    """A share as an exact fraction of its decimal digits: 0.1 is a tenth."""
    if isinstance(value, Fraction):
        return value
    number = real(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name}: got {number}, expected a finite number")
    return Fraction(repr(number))
