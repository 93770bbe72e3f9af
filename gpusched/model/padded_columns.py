"""Columns of the parts of jobs, such as kernels, with as many entries per task as it has parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, int_array
from gpusched._support.text import shown

__all__ = ["Column", "padded", "refuse_gaps"]

Column = npt.ArrayLike | Sequence[Any]


def padded(
    column: Any,
    key: str,
    shape: tuple[int, ...],
    has: npt.NDArray[np.bool_] | None,
    of: tuple[str, str],
) -> Int64Array:
    """A column of parts of jobs with one row per task, 0 beyond the last part of a task.

    ``has``: which entries are parts; None for the column that says so. ``of``: the name of that
    column, and what a part is.
    """
    first, part = of
    if len(shape) == 2 or isinstance(column, np.ndarray):
        array = int_array(column, key)
        if has is None and (array.ndim != len(shape) + 1 or array.shape[:-1] != shape):
            raise ValueError(
                f"{key}: got shape {array.shape}, expected {shape} and an axis for the {part}s"
            )
        try:
            return array if has is None else np.broadcast_to(array, has.shape).copy()
        except ValueError:
            assert has is not None
            raise ValueError(
                f"{key}: got shape {array.shape}, expected {has.shape} as of {first}"
            ) from None
    if has is None and (not _is_list(column) or len(column) != shape[0]):
        raise ValueError(f"{key}: got {shown(column)}, expected a sequence for each task")
    if not _is_list(column):
        column = [column] * shape[0]
    if len(column) != shape[0]:
        raise ValueError(f"{key}: got {len(column)} entries, expected {shape[0]}, one per task")
    rows = []
    for i, row in enumerate(column):
        count = None if has is None else int(has[i].sum())
        if has is not None and not _is_list(row):
            row = [row] * int(has[i].sum())
        if not _is_list(row) or len(row) == 0:
            raise ValueError(
                f"{key}[{i}]: got {shown(row)}, expected the numbers of the task's {part}s"
            )
        numbers = int_array(row, f"{key}[{i}]")
        if numbers.ndim != 1 or (count is not None and len(numbers) != count):
            raise ValueError(
                f"{key}[{i}]: got {len(numbers)} numbers, expected {count}, one per {part}"
            )
        if has is None:
            at_least(numbers, 1, f"{key}[{i}]")
        rows.append(numbers)
    most = max(map(len, rows)) if has is None else has.shape[-1]
    return np.array([np.pad(row, (0, most - len(row))) for row in rows], np.int64)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def refuse_gaps(array: Int64Array, has: npt.NDArray[np.bool_], of: tuple[str, str]) -> None:
    """Refuse negative times, tasks without parts, and parts behind a 0; ``of`` as in `padded`."""
    first, part = of
    at_least(array, 0, first)
    wrong = np.argwhere(~has[..., :1].all(axis=-1) | (has[..., 1:] & ~has[..., :-1]).any(axis=-1))
    if len(wrong):
        where = tuple(wrong[0].tolist())
        raise ValueError(
            f"{first}{list(where)}: got {shown(array[where].tolist())}, expected the times of "
            f"at least one {part}, and 0 behind the last one only"
        )
