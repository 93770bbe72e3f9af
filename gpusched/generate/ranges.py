"""Ranges that parameters of random tasks are drawn from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, int_array, real
from gpusched._support.text import shown
from gpusched.model.profiles import PARTS

__all__ = ["parts_range", "whole_range"]


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
