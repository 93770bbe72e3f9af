"""Base class of results: frozen dataclasses of read-only arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from gpusched._support.arguments import frozen


def same(one: Any, other: Any) -> bool:
    """True when two fields are equal; arrays are compared by their contents."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or bool(one == other)


class Frozen:
    """Base class of frozen dataclasses that hold arrays.

    Arrays are made read-only. Objects are compared by their contents, but for fields that are
    declared with ``compare=False``, and therefore have no hash.
    Unpickling calls the constructor, so that the arrays are read-only again.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                frozen(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(
            same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (type(self), tuple(getattr(self, f.name) for f in fields(self)))
