"""Parts of the answers for stacks of sets: checked indices, fields of some of the sets."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpusched._support.text import shown

__all__ = ["part_of", "sets_at", "sets_of"]


@runtime_checkable
class MaybeStack(Protocol):
    """Protocol of fields that may be stacks: task sets and batch tables."""

    @property
    def is_stack(self) -> bool: ...
    def _sets(self, index: Any) -> Self: ...


class Stackable(Protocol):
    """Protocol of answers for a set or a stack of sets."""

    @property
    def is_stack(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Self: ...


Of = TypeVar("Of", bound=Stackable)


def sets_at(answer: Stackable, index: Any) -> int | slice | npt.NDArray[Any]:
    """Index of one set in the answer for a stack, or an index that selects several sets.

    Raises TypeError for the answer for a single set and for other kinds of index, and IndexError
    for a set that does not exist.
    """
    if not answer.is_stack:
        raise TypeError("answer: got an index for a single set, expected a stack")
    return _position(index, len(answer))


def sets_of(answer: Of) -> Iterator[Of]:
    """The answers for the sets of a stack; TypeError for a single set."""
    if not answer.is_stack:
        raise TypeError("answer: got a single set, expected a stack to iterate over")
    return (answer[i] for i in range(len(answer)))


def _position(index: Any, count: int) -> int | slice | npt.NDArray[Any]:
    if isinstance(index, slice):
        return index
    if isinstance(index, (list, np.ndarray)) and np.ndim(index) == 1:
        array = np.asarray(index)
        if array.dtype == np.bool_ and len(array) != count:
            raise IndexError(f"sets: got a mask of {len(array)}, expected {count} entries")
        if array.dtype != np.bool_ and array.size:
            return np.array([_number(i, count) for i in array.tolist()], np.int64)
        return np.flatnonzero(array) if array.size else np.zeros(0, np.int64)
    return _number(index, count)


def _number(index: Any, count: int) -> int:
    try:
        if isinstance(index, (bool, np.bool_)):
            raise TypeError
        number = operator.index(index)
    except TypeError:
        raise TypeError(
            f"sets: got {shown(index)}, expected a number, a slice, numbers or a mask of sets"
        ) from None
    if not -count <= number < count:
        raise IndexError(f"sets: got {number}, expected a number below {count}")
    return number % count


def part_of(value: Any, at: int | slice | npt.NDArray[Any], n: int | None = None) -> Any:
    """A field of some sets of a stack; cut to n tasks if n is given (sets of different sizes)."""
    if isinstance(value, np.ndarray):
        part = value[at]
        if n is not None and value.ndim > 1:  # a row per task
            part = part[:n] if isinstance(at, int) else part[:, :n]
        return part.copy() if isinstance(part, np.ndarray) else part.item()
    if isinstance(value, MaybeStack):
        return value._sets(at) if value.is_stack else value
    if isinstance(value, Mapping):
        return {key: part_of(part, at, n) for key, part in value.items()}
    return value
