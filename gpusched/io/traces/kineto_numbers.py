"""Numbers of Kineto's JSON, which are integers or exact decimals, never floats."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.io.traces.trace_tables import INT64_MAX

__all__ = [
    "correlation",
    "distinct_pairs",
    "integer_argument",
    "nanoseconds",
    "whole",
]

_WIDE = Context(prec=60)


def nanoseconds(value: Any) -> int | None:
    """Microseconds as nanoseconds, exact for up to three decimals, else rounded.

    None for what is not a number, or one of 30 digits or more.
    """
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        # With an explicit context: the caller's may round to fewer digits.
        return int(value.scaleb(3, _WIDE).to_integral_value(ROUND_HALF_EVEN, _WIDE))
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000
    return None


def whole(value: Any) -> int | None:
    """A JSON number as an int when it is whole (256 or 256.0), else None."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 30:
        return int(value) if value == value.to_integral_value() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def correlation(args: Any) -> int:
    """The number that a call and what it launched have in common; -1 without one."""
    number = integer_argument(args, "correlation")
    return -1 if number is None or number < 0 else number


def integer_argument(args: Any, field: str) -> int | None:
    """An integer of 64 bits among the arguments of an event; None for anything else."""
    value = whole(args.get(field)) if isinstance(args, dict) else None
    return value if value is not None and abs(value) <= INT64_MAX else None


def distinct_pairs(first: Int64Array, second: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Places of the first of equal pairs of values, and the number of the pair of each row."""
    numbers = [np.unique(values, return_inverse=True)[1] for values in (first, second)]
    pairs = numbers[0] * (len(second) + 1) + numbers[1]
    _, place, pair = np.unique(pairs, return_index=True, return_inverse=True)
    return place, pair
