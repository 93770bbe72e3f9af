"""Numbers of Kineto's JSON, which are integers or exact decimals, never floats."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

__all__ = ["nanoseconds", "whole"]

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
