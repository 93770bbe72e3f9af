"""Exact sums of numbers: the result does not depend on the order or the grouping of the terms.

A sum is a pair [m, e] of Python integers, m * 2**e, with m odd or zero. Infinite terms and NaNs are
not part of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ExactSum", "added", "is_exact_sum", "quotient", "sum_of"]

ExactSum = list[int]

_FEW = 16  # terms that are added one by one
_BLOCK = 2**25  # terms whose halves of 27 bits add up without rounding in a double
_LOW = 26  # bits of the lower half of a mantissa


def sum_of(values: npt.NDArray[Any]) -> ExactSum:
    """Sum of an array of finite floats, integers or booleans of any shape."""
    kind = values.dtype.kind
    if values.size <= _FEW:
        if kind != "f":
            return _odd(sum(values.ravel().tolist()), 0)
        total: ExactSum = [0, 0]
        for value in map(float, values.ravel().tolist()):
            top, bottom = value.as_integer_ratio()
            total = added(total, [top, 1 - bottom.bit_length()])
        return total
    if kind == "b":
        return _odd(int(np.count_nonzero(values)), 0)
    if kind in "iu":
        wide = values.astype(np.uint64 if kind == "u" else np.int64, copy=False)
        half = wide.dtype.type(32)  # sums of up to 2**31 halves fit 64 bits
        high, low = wide >> half, wide & wide.dtype.type(2**32 - 1)
        return _odd((int(high.sum()) << 32) + int(low.sum()), 0)
    flat = values.ravel()
    total = [0, 0]
    for start in range(0, flat.size, _BLOCK):
        total = added(total, _block(flat[start : start + _BLOCK].astype(np.float64, copy=False)))
    return total


def _block(values: npt.NDArray[np.float64]) -> ExactSum:
    """Sum of at most _BLOCK floats: one sum of whole mantissas per exponent."""
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    least = int(exponents.min())
    places = exponents - least
    high = np.bincount(places, weights=whole >> _LOW)
    low = np.bincount(places, weights=whole & (2**_LOW - 1))
    total = 0
    for place in np.flatnonzero((high != 0) | (low != 0)).tolist():
        total += ((int(high[place]) << _LOW) + int(low[place])) << place
    return _odd(total, least - 53)


def added(one: ExactSum, other: ExactSum) -> ExactSum:
    """Sum of two sums."""
    (m, e), (n, f) = one, other
    if e < f:
        return _odd(m + (n << (f - e)), e)
    return _odd((m << (e - f)) + n, f)


def _odd(number: int, exponent: int) -> ExactSum:
    if number == 0:
        return [0, 0]
    zeros = (number & -number).bit_length() - 1
    return [number >> zeros, exponent + zeros]


def is_exact_sum(value: Any) -> bool:
    """Whether a value can be a sum of 2**62 doubles or integers of 64 bits."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and {int} >= set(map(type, value))
        and -1100 <= value[1] <= 1100
        and value[0].bit_length() <= 2300
    )


def quotient(one: ExactSum, other: ExactSum) -> float:
    """``one / other``, rounded once; NaN for a division by zero, an infinity beyond all floats."""
    (m, e), (n, f) = one, other
    if n == 0:
        return float("nan")
    shift = e - f
    try:
        return (m << shift) / n if shift >= 0 else m / (n << -shift)
    except OverflowError:
        return math.copysign(math.inf, m)
