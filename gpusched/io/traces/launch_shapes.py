"""Checks of whole columns of launches; errors name the row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.trace_tables import INT64_MAX


class Shapes:
    """Checks of columns. ``where(i)`` names file and row of entry i in the ``ValueError``."""

    def __init__(self, where: Callable[[int], str]) -> None:
        self.where = where

    def refuse(self, wrong: NDArray[np.bool_], values: Any, key: str, what: str) -> None:
        """Raise a ``ValueError`` for the first entry that is wrong; ``what`` is expected."""
        if wrong.any():
            i = int(np.argmax(wrong))
            value = values[i].item() if isinstance(values[i], np.generic) else values[i]
            raise ValueError(f"{self.where(i)}: {key!r}: got {shown(value)}, expected {what}")

    def at_least(self, values: Int64Array, least: int, key: str) -> None:
        """Raise a ``ValueError`` for the first value below ``least``, 0 or 1."""
        what = "a positive number" if least == 1 else "a non-negative number"
        self.refuse(values < least, values, key, what)

    def product(self, sides: Mapping[str, Int64Array]) -> Int64Array:
        """Product of columns of positive integers: blocks of a grid, or threads of a block."""
        for key, values in sides.items():
            self.at_least(values, 1, key)
        columns = list(sides.values())
        product: Int64Array = np.multiply.reduce(columns)  # wraps on overflow, checked below
        rough = np.multiply.reduce([values.astype(float) for values in columns])
        for i in np.flatnonzero(rough >= 2.0**62).tolist():
            if math.prod(int(values[i]) for values in columns) > INT64_MAX:
                keys = ", ".join(sides)
                raise ValueError(f"{self.where(i)}: {keys}: expected a product that fits 64 bits")
        return product

    def sum(self, parts: Mapping[str, Int64Array]) -> Int64Array:
        """Sum of two columns of non-negative numbers: static and dynamic shared memory."""
        for key, values in parts.items():
            self.at_least(values, 0, key)
        (_, first), (key, second) = parts.items()
        self.refuse(
            first > INT64_MAX - second,
            second,
            key,
            "a number whose sum with the other part fits 64 bits",
        )
        total: Int64Array = first + second
        return total
