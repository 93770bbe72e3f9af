"""Numbers of Kineto's JSON, which are integers or exact decimals, never floats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.io.traces.trace_tables import INT64_MAX

__all__ = [
    "correlation",
    "decoded_column",
    "integer_argument",
    "integers",
    "nanosecond_column",
    "nanoseconds",
    "whole",
]

_WIDE = Context(prec=60)
_MOST = Context(prec=22, rounding=ROUND_HALF_EVEN, traps=[InvalidOperation])
_THOUSANDTH = Decimal("0.001")
_MOST_MICROSECONDS = (2**63 - 1) // 1000

_decode = json.JSONDecoder(parse_float=Decimal).decode


def decoded_column(text: bytes) -> list[Any]:
    """Values of a column of ``_core.event_scan``; None where an event lacks the field."""
    values: list[Any] = _decode(f"{text.decode()}]")
    return values


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


def nanosecond_column(text: bytes) -> Int64Array | None:
    """``nanoseconds`` of a column's values; None unless all are numbers that fit 64 bits."""
    found = _thousandths(text)
    return _each(decoded_column(text)) if found is None else found


def _thousandths(text: bytes) -> Int64Array | None:
    """The column in thousandths when all of its numbers have three decimals, as usual; else None.

    Without their points, these are integers.
    """
    signs = text.translate(None, b"0123456789")
    if signs != b"[" + b".," * (len(signs) // 2 - 1) + b".":
        return None
    codes = np.frombuffer(text, np.uint8)
    points, commas = np.flatnonzero(codes == ord(".")), np.flatnonzero(codes == ord(","))
    if np.any(np.append(commas, len(text)) - points != 4):
        return None
    return integers(list(map(int, text[1:].replace(b".", b"").split(b","))))


def _each(values: Sequence[Any]) -> Int64Array | None:
    kinds = set(map(type, values))
    if kinds == {int}:
        found = integers(values)
        if found is None or max(np.max(found), -np.min(found)) > _MOST_MICROSECONDS:
            return None
        return found * 1000
    if not kinds <= {int, Decimal}:
        return None
    quantize, scale = _MOST.quantize, _MOST.scaleb
    try:
        return integers([int(scale(quantize(value, _THOUSANDTH), 3)) for value in values])
    except (ArithmeticError, ValueError):
        return None


def integers(values: Sequence[Any]) -> Int64Array | None:
    """The values as an array; None unless all are ints and fit 64 bits."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None
