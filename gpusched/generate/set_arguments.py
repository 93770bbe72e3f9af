"""Arguments of the generators: ranges that parameters are drawn from, sums of utilizations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpusched._support.arguments import FloatArray, Int64Array, int_array, integer, real, set_count
from gpusched._support.large_arrays import copied, same_numbers
from gpusched._support.text import shown
from gpusched.model.profiles import PARTS

__all__ = ["parts_range", "sums_of", "whole_range"]


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    try:
        least, most = value
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {shown(value)}, expected a pair, least and most") from None
    return least, most


def whole_range(value: Any, name: str) -> Int64Array:
    """A range of whole numbers, least and most."""
    return int_array(list(_pair(value, name)), name)


def parts_range(value: Any, name: str, limit: float) -> Int64Array:
    """A range of shares or ratios, in millionths."""
    ends = [real(end, f"{name}[{i}]") for i, end in enumerate(_pair(value, name))]
    for i, share in enumerate(ends):
        if not (math.isfinite(share) and 0 <= share <= limit):
            raise ValueError(f"{name}[{i}]: got {share}, expected 0 to {limit}")
    if ends[0] > ends[1]:
        raise ValueError(f"{name}[1]: got {ends[1]}, expected at least {ends[0]}")
    return np.array([round(share * PARTS) for share in ends], np.int64)


def sums_of(n: Any, utilization: Any, count: int | None, discard: bool) -> FloatArray:
    """One sum per set, shape ``(sets,)``. A single number is checked here, arrays in C."""
    tasks = integer(n, "n")
    if not 1 <= tasks < 2**31:
        raise ValueError(f"n: got {tasks}, expected a positive number of tasks")
    sets = set_count(count)
    sums = _floats(utilization, "utilization")
    if sums.ndim == 0:
        value = float(sums)
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"utilization: got {value}, expected a finite, non-negative number")
        if discard and value > tasks:
            raise ValueError(
                f"utilization: got {value}, expected at most {tasks}, 1 for each of the tasks"
            )
        return same_numbers(sets, value)
    if count is None or sums.shape != (sets,):
        raise ValueError(
            f"utilization: got shape {sums.shape}, expected one number or one per set ({sets})"
        )
    return sums


def _floats(value: Any, name: str) -> FloatArray:
    """``value`` as a float64 array; ``TypeError`` when it is not numeric."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO":
            raise TypeError
        return copied(given, np.float64)
    except OverflowError:
        raise OverflowError(
            f"{name}: got {shown(value)}, expected numbers that fit a double"
        ) from None
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: got {shown(value)}, expected a number or a list of numbers"
        ) from None
