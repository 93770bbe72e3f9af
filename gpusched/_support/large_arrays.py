"""Work on large arrays in pieces, between which Python checks for Ctrl-C.

A call of NumPy is not interrupted by signals, and takes seconds for some gigabytes. Arrays of at
most one piece are handled by a single call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["copied", "first_where", "held_bytes", "joined", "parts", "same_numbers", "spread"]

PIECE = 1 << 20
"""Entries of a piece: some milliseconds of a copy."""


def parts(shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Indices of pieces that make up an array of this shape, in order.

    >>> [index for index in parts((4, 5))]
    [(Ellipsis,)]
    >>> [index[0] for index in parts((3, PIECE // 2))]
    [slice(0, 2, None), slice(2, 4, None)]
    """
    if math.prod(shape) <= PIECE:
        yield (...,)
        return
    row = math.prod(shape[1:])
    if row <= PIECE:
        step = PIECE // row
        for begin in range(0, shape[0], step):
            yield (slice(begin, begin + step),)
    else:
        for i in range(shape[0]):
            for rest in parts(shape[1:]):
                yield (i, *rest)


def copied(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array with the numbers of another, converted as by ``astype``."""
    if array.size <= PIECE:
        return array.astype(dtype)
    made: npt.NDArray[Any] = np.empty(array.shape, dtype)
    for part in parts(array.shape):
        made[part] = array[part]
    return made


def joined(rows: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays behind each other, as by ``concatenate``; they are of one dtype.

    Raises
    ------
    ValueError
        Different shapes beyond the first axis.
    """
    if len({row.shape[1:] for row in rows}) > 1:
        raise ValueError("rows of different shapes")
    made: npt.NDArray[Any] = np.empty((sum(map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    begin = 0
    for row in rows:
        made[begin : begin + len(row)] = row
        begin += len(row)
    return made


def spread(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array broadcast to a shape, C-contiguous; the array itself if it already is.

    Raises
    ------
    ValueError
        A shape that it cannot be broadcast to.
    """
    if array.shape == shape and array.flags.c_contiguous:
        return array
    if array.ndim == 0 and math.prod(shape) <= PIECE:
        return np.full(shape, array)
    wide = np.broadcast_to(array, shape)
    return np.ascontiguousarray(wide) if wide.size <= PIECE else copied(wide, wide.dtype)


def held_bytes(*objects: object) -> int:
    """Memory of the arrays that objects of the package, and what they hold, refer to.

    >>> held_bytes([np.zeros(4), {"half": np.zeros(2)}])
    48
    """
    seen: set[int] = set()
    total, stack = 0, list(objects)
    while stack:
        one = stack.pop()
        while isinstance(one, np.ndarray) and isinstance(one.base, np.ndarray):
            one = one.base
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, Mapping):
            stack += one.values()
        elif isinstance(one, (list, tuple)):
            stack += one
        elif type(one).__module__.startswith("gpusched."):
            names = [name for of in type(one).__mro__ for name in getattr(of, "__slots__", ())]
            stack += [getattr(one, name, None) for name in names]
            stack += getattr(one, "__dict__", {}).values()
    return total


def same_numbers(count: int, value: float) -> npt.NDArray[np.float64]:
    """A row of one number."""
    if count <= PIECE:
        return np.full(count, value)
    return copied(np.broadcast_to(np.float64(value), (count,)), np.float64)


def first_where(
    array: npt.NDArray[Any], wrong: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
) -> tuple[int, ...] | None:
    """The index of the first entry, in C order, for which ``wrong`` holds; None if there is none.

    ``wrong`` gets pieces of the array and answers for every entry.

    >>> first_where(np.array([[3, 1], [0, 0]]), lambda part: part < 1)
    (1, 0)
    """
    if array.size <= PIECE and not wrong(array).any():  # nearly always
        return None
    for part in parts(array.shape):
        found = wrong(array[part])
        if np.any(found):
            inside = tuple(int(i) for i in np.argwhere(found)[0])
            if part == (...,):
                return inside
            *fixed, last = part
            return (*fixed, last.start + inside[0], *inside[1:])
    return None
