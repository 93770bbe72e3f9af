"""Tables for other libraries: columns with missing values, pandas, the Arrow PyCapsule interface.

Polars, DuckDB, PyArrow, pandas from 3.0 on and others take an object that has the methods of
`Tabular`, as in ``polars.DataFrame(tasks)``. No library for Arrow is needed. Numbers are not
copied: the receiver points into the arrays of the object and keeps them alive. Truth values become
bits, and strings and tuples are copied.

Source: the Arrow PyCapsule interface and the Arrow C data and C stream interfaces,
https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.text import shown

if TYPE_CHECKING:
    import pandas as pd


class Coded(NamedTuple):
    """A column of a few distinct words: int8 indices into ``words`` (at most 127)."""

    codes: npt.NDArray[np.int8]
    words: tuple[str, ...]


def optional(values: npt.ArrayLike, known: npt.ArrayLike | None = None) -> Any:
    """Integers masked where there is no value.

    Parameters
    ----------
    values
        Array of integers.
    known
        Whether there is a value, a bool array of the same shape. Default: where the number is
        not negative.
    """
    data = np.asarray(values, np.int64)
    there = data >= 0 if known is None else np.asarray(known, np.bool_)
    return np.ma.array(data, mask=~there)


def frame_of(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a pandas table from columns like those of ``Tabular``: NA where they are masked.

    Masked numbers become Int64, UInt64 or Float64, booleans boolean, strings string; columns that
    are not arrays become object.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        hint = "to_frame needs pandas: pip install pandas"
        raise ModuleNotFoundError(hint, name="pandas") from None

    return pd.DataFrame({name: _of_pandas(column) for name, column in columns.items()})


def _of_pandas(column: Any) -> Any:
    import pandas as pd

    if isinstance(column, Coded):
        return pd.Categorical.from_codes(column.codes, list(column.words))
    if not isinstance(column, np.ndarray):
        return pd.Series(list(column), dtype=object)
    if not isinstance(column, np.ma.MaskedArray):
        return column
    if column.dtype.kind in "OU":
        return pd.array(column.tolist(), dtype="string")
    mask = np.ma.getmaskarray(column).copy()
    if column.dtype.kind == "b":
        return pd.arrays.BooleanArray(column.filled(False), mask)
    if column.dtype.kind == "f":
        return pd.arrays.FloatingArray(np.asarray(column.filled(0), np.float64), mask)
    wide = np.uint64 if column.dtype.kind == "u" else np.int64
    return pd.arrays.IntegerArray(np.asarray(column.filled(0), wide), mask)


_FORMATS = {
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "uint16": "S",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float32": "f",
    "float64": "g",
}
_Node = tuple[str, str, int, tuple[Any, ...], tuple[Any, ...], Any]
"""A column as ``csrc/python/arrow/arrow_data.h`` describes it."""


class Tabular:
    """Base class of tables, which other libraries take through the Arrow PyCapsule interface.

    A class has ``_table``, from which ``to_frame`` is made, too.
    """

    __slots__ = ()

    def _table(self) -> Mapping[str, Any]:
        """Columns of equal length by name.

        A column is an array, a masked array where values are missing, `Coded`, or a sequence of
        strings, of tuples of whole numbers or of strings, or of None for what is missing.
        """
        raise NotImplementedError

    def __arrow_c_schema__(self) -> object:
        """Names and types of the columns, a capsule of an ``ArrowSchema``."""
        return _core.arrow_schema(_rows_of(self._table()))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The rows as one struct array: capsules of an ``ArrowSchema`` and an ``ArrowArray``.

        ``requested_schema`` is not followed, as the interface allows: columns have their own types.
        """
        return _core.arrow_array(_rows_of(self._table()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of one batch, a capsule of an ``ArrowArrayStream``.

        ``requested_schema`` is not followed, as the interface allows: columns have their own types.
        """
        return _core.arrow_stream(_rows_of(self._table()))


def _rows_of(columns: Mapping[str, Any]) -> _Node:
    """A table as a column of structures."""
    nodes = tuple(_node(str(name), column) for name, column in columns.items())
    length = nodes[0][2] if nodes else 0
    for name, _, found, *_ in nodes:
        if found != length:
            raise ValueError(f"columns: got {found} rows of {name!r}, expected {length}")
    return ("", "+s", length, (None,), nodes, None)


def _node(name: str, column: Any) -> _Node:
    if isinstance(column, Coded):
        codes = np.ascontiguousarray(column.codes, np.int8)
        return (name, "c", len(codes), (None, codes), (), _node(name, column.words))
    if not isinstance(column, np.ndarray):
        return _of_objects(name, column)
    if column.dtype.kind in "OU":
        return _of_objects(name, column.tolist())  # with None for what is masked
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    valid = _bits(~mask) if mask is not None and mask.any() else None
    return _of_array(name, np.ma.getdata(column), valid)


def _bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")


def _of_array(name: str, values: npt.NDArray[Any], valid: npt.NDArray[np.uint8] | None) -> _Node:
    if values.dtype.kind == "b":
        return (name, "b", len(values), (valid, _bits(values)), (), None)
    if (form := _FORMATS.get(values.dtype.name)) is None:
        raise _refused(name, f"values of type {values.dtype}")
    native = np.require(values, values.dtype.newbyteorder("="), ["C", "A"])
    return (name, form, len(values), (valid, native), (), None)


def _of_objects(name: str, entries: Sequence[Any]) -> _Node:
    """A column of strings or of tuples, which are lists in Arrow; of strings if all are missing."""
    kinds = set(map(type, entries))
    valid = None
    if type(None) in kinds:
        valid = _bits(np.array([entry is not None for entry in entries], np.bool_))
        kinds.discard(type(None))
    if kinds == {tuple}:
        sizes = [len(entry or ()) for entry in entries]
        flat = list(chain.from_iterable(entry or () for entry in entries))
        whole = all(isinstance(item, int) for item in flat)
        first = next((type(item) for item in flat if item is not None), str)
        item_kind = (first if first in (str, tuple) else (), type(None))
        if not whole and not all(isinstance(item, item_kind) for item in flat):
            raise _mixed(name, entries, lambda e: all(isinstance(i, item_kind) for i in e or ()))
        items = ("item", *_node(name, _whole(name, flat) if whole else flat)[1:])
        return (name, "+L", len(entries), (valid, _offsets(sizes)), (items,), None)
    if not all(issubclass(kind, str) for kind in kinds):
        raise _mixed(name, entries, lambda entry: isinstance(entry, (str, type(None))))
    # A lone surrogate is not a valid character and becomes a question mark.
    words = {entry: (entry or "").encode("utf-8", "replace") for entry in set(entries)}
    encoded = [words[entry] for entry in entries]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    return (name, "U", len(entries), (valid, _offsets(map(len, encoded)), text), (), None)


def _offsets(sizes: Any) -> npt.NDArray[np.int64]:
    return np.cumsum(np.fromiter(chain([0], sizes), np.int64))


def _whole(name: str, numbers: list[int]) -> npt.NDArray[np.int64]:
    try:
        return np.array(numbers, np.int64)
    except OverflowError:
        raise _refused(name, "a whole number of more than 64 bits") from None


def _mixed(name: str, entries: Sequence[Any], fits: Callable[[Any], bool]) -> TypeError:
    row = next(row for row, entry in enumerate(entries) if not fits(entry))
    return _refused(f"{name}[{row}]", f"{shown(entries[row])} in a column of objects")


def _refused(name: str, found: str) -> TypeError:
    return TypeError(
        f"{name}: got {found}, expected a column of numbers, truth values, strings or tuples of "
        "them; to_frame() makes a pandas table of any values"
    )


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
