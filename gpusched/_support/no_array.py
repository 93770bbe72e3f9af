"""Refusal of conversions to one array, for objects that hold several columns."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

__all__ = ["NoArray"]


class NoArray:
    """Base class of objects with several columns; ``np.asarray`` refuses them with an explanation.

    Otherwise NumPy would make an array of Python objects, one per task. A class sets ``_INSTEAD``,
    the expressions to use instead.
    """

    __slots__ = ()

    _INSTEAD: ClassVar[str]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"array: {self._refusal()}")

    def _refusal(self) -> str:
        return f"got {type(self).__name__}, expected one of its columns ({self._INSTEAD})"
