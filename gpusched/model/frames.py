"""Columns of pandas tables, checked and ordered, for the classes that have ``from_frame``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.text import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table"]


class Table:
    """Rows of a frame, sorted by some of its columns, with entries as plain Python values.

    ``needed`` and ``known`` are names of columns. Other columns are refused, so that a misspelt
    column is not silently ignored.
    """

    def __init__(
        self, frame: pd.DataFrame, needed: Iterable[str], known: Iterable[str], order: Sequence[str]
    ) -> None:
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"frame: got {type(frame).__name__}, expected a pandas table")
        needed = tuple(needed)
        columns = [*needed, *known]
        for column in needed:
            if column not in frame.columns:
                raise ValueError(f"frame: got no column {column!r}, expected {', '.join(needed)}")
        for column in frame.columns:
            if column not in columns:
                names = ", ".join(columns)
                raise ValueError(f"frame: got a column {shown(column)}, expected some of {names}")
        if not frame.columns.is_unique:
            raise ValueError("frame: got a column twice, expected different names")
        if len(frame) == 0:
            raise ValueError("frame: got no rows, expected at least one")
        self.length = len(frame)
        self._columns: dict[str, list[Any]] = {}
        for column in frame.columns:
            entries = frame[column]
            missing = entries.isna().tolist()
            self._columns[str(column)] = [
                None if gone else value
                for value, gone in zip(entries.tolist(), missing, strict=True)
            ]
        keys = [self.whole(column) for column in order if column in self]
        if keys:
            rows = sorted(range(self.length), key=lambda row: [key[row] for key in keys])
            for column, values in self._columns.items():
                self._columns[column] = [values[row] for row in rows]

    def first(self, rows: Sequence[int], group: Sequence[int], columns: Iterable[str]) -> Table:
        """Some columns of some rows; the other rows of each row's group must repeat them."""
        part = object.__new__(Table)
        part.length = len(rows)
        part._columns = {}
        for column in columns:
            if column not in self:
                continue
            entries = self._columns[column]
            for row, value in enumerate(entries):
                if value != entries[rows[group[row]]]:
                    raise ValueError(
                        f"frame: {column}[{row}]: got {shown(value)}, expected "
                        f"{shown(entries[rows[group[row]]])} as in the other rows of the task"
                    )
            part._columns[column] = [entries[row] for row in rows]
        return part

    def rows(self, rows: Sequence[int]) -> Table:
        """Some rows, with all columns."""
        part = object.__new__(Table)
        part.length = len(rows)
        part._columns = {key: [of[row] for row in rows] for key, of in self._columns.items()}
        return part

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    def entries(self, column: str) -> list[Any]:
        """Entries of a column; None for missing values, or if there is no such column."""
        return self._columns.get(column, [None] * self.length)

    def whole(self, column: str, missing: int | None = None) -> list[int]:
        """Whole numbers of a column; missing values are replaced by ``missing``."""
        found = []
        for row, value in enumerate(self.entries(column)):
            entry = missing if value is None else value
            if isinstance(entry, (float, np.floating)) and float(entry).is_integer():
                entry = int(entry)
            if isinstance(entry, bool) or not isinstance(entry, (int, np.integer)):
                got = "a missing value" if value is None else shown(value)
                raise ValueError(f"frame: {column}[{row}]: got {got}, expected a whole number")
            found.append(int(entry))
        return found

    def text(self, column: str) -> list[str]:
        """The strings of a column."""
        for row, value in enumerate(self.entries(column)):
            if not isinstance(value, str):
                got = "a missing value" if value is None else shown(value)
                raise ValueError(f"frame: {column}[{row}]: got {got}, expected a string")
        return self.entries(column)

    def set_sizes(self, *, equal: bool = False) -> list[int]:
        """Number of tasks of each set, for rows sorted by set and task with one row per task.

        Without a column ``set``, all rows are one set. With ``equal``, sets of different sizes are
        refused.
        """
        sets = self.whole("set") if "set" in self else [0] * self.length
        sizes = list(Counter(sets).values())
        expected = [(i, j) for i, size in enumerate(sizes) for j in range(size)]
        tasks = self.whole("task") if "task" in self else [j for _, j in expected]
        differ = equal and len(set(sizes)) > 1
        if differ or list(zip(sets, tasks, strict=True)) != expected:
            raise ValueError(
                f"frame: got {self.length} rows for {len(sizes)} sets, expected one row for each "
                "task of each set, with sets and tasks numbered from 0"
            )
        return sizes

    def constant(self, column: str, sizes: Sequence[int]) -> tuple[str, ...] | None:
        """Entries of the first of the largest sets; those of the other sets must agree with them.

        ``sizes``: numbers of tasks of the sets, in order. None without the column.
        """
        if column not in self:
            return None
        entries = self.text(column)
        largest = sizes.index(max(sizes))
        start = sum(sizes[:largest])
        names = entries[start : start + max(sizes)]
        for row, task in enumerate(task for size in sizes for task in range(size)):
            if entries[row] != names[task]:
                which = f"set {largest}" if largest else "the first set"
                raise ValueError(
                    f"frame: {column}[{row}]: got {shown(entries[row])}, expected "
                    f"{shown(names[task])} as in {which}"
                )
        return tuple(names)
