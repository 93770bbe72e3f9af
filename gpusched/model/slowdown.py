"""Slowdown factors of kernels that run together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gpusched._support.arguments import is_sequence, one_of, real
from gpusched._support.text import shown

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
