"""Base of answers whose response-time bounds are fractions."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched.model.answer import Answer, Flags

__all__ = ["RationalAnswer"]


class RationalAnswer(Answer):
    """An answer with fractions as bounds; accepted if every task has one within its deadline.

    ``response`` is the bound rounded up.
    """

    @abstractmethod
    def _fractions(self) -> tuple[Int64Array, Int64Array]:
        """Numerators and denominators of the bounds, ``(n,)`` or ``(N, n)``; 0 without a bound."""

    @property
    def accepted(self) -> Flags:
        """Whether every task has a bound within its deadline: a bool, or bool ``(N,)``."""
        values, known = self._responses()
        met = (known & (values <= self._tasks.deadline)).all(axis=-1)
        return met if self.is_stack else bool(met)

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        above, below = self._fractions()
        known = below > 0
        return -(-above // np.where(known, below, 1)), known

    @property
    def exact(self) -> list[Any]:
        """The exact bounds as a ``Fraction`` per task, or None; for a stack, a list per set."""

        def of(numerators: list[int], denominators: list[int]) -> list[Fraction | None]:
            pairs = zip(numerators, denominators, strict=True)
            return [Fraction(n, d) if d else None for n, d in pairs]

        above, below = (part.tolist() for part in self._fractions())
        if not self.is_stack:
            return of(above, below)
        return [of(*rows) for rows in zip(above, below, strict=True)]
