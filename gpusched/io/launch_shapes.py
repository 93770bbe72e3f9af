"""Columns of launches that a file gives: checked as a whole, refused by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.trace import INT64_MAX


class Shapes:
    """``where`` says of which file and row the i-th entry is; all errors are ValueErrors."""

    def __init__(self, where: Callable[[int], str]) -> None:
        self.where = where

    def refuse(self, wrong: NDArray[np.bool_], values: Any, key: str, rule: str) -> None:
        """Names the first entry that is wrong, if one is."""
        if wrong.any():
            i = int(np.argmax(wrong))
            value = values[i].item() if isinstance(values[i], np.generic) else values[i]
            raise ValueError(f"{self.where(i)}: {key!r} is {shown(value)}, {rule}")

    def at_least(self, values: Int64Array, least: int, key: str) -> None:
        rule = "must be positive" if least == 1 else "must not be negative"
        self.refuse(values < least, values, key, rule)

    def product(self, sides: Mapping[str, Int64Array]) -> Int64Array:
        """Of positive integers: the blocks of a grid, the threads of a block."""
        for key, values in sides.items():
            self.at_least(values, 1, key)
        columns = list(sides.values())
        product: Int64Array = np.multiply.reduce(columns)  # wraps where it is too large
        rough = np.multiply.reduce([values.astype(float) for values in columns])
        for i in np.flatnonzero(rough >= 2.0**62).tolist():
            if math.prod(int(values[i]) for values in columns) > INT64_MAX:
                keys = ", ".join(sides)
                raise ValueError(f"{self.where(i)}: the product of {keys} must fit in 64 bits")
        return product

    def sum(self, parts: Mapping[str, Int64Array]) -> Int64Array:
        """Of two numbers that are not negative: static and dynamic shared memory."""
        for key, values in parts.items():
            self.at_least(values, 0, key)
        (_, first), (key, second) = parts.items()
        self.refuse(first > INT64_MAX - second, second, key, "too much: the sum exceeds 64 bits")
        total: Int64Array = first + second
        return total
