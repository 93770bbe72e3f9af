"""Base classes of results: frozen dataclasses of read-only arrays, saved objects, tidy tables.

The reading and writing of files is in ``saved_files``, which is imported with the first file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import MAX_BYTES, FloatArray, frozen
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, escape

if TYPE_CHECKING:
    import pandas as pd


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


Made = TypeVar("Made", bound="Saved")


class Saved:
    """Base of classes whose objects can be saved; a mixin for dataclasses.

    A class sets ``_KIND``, the kind in its files, ``_VERSION``, the version that is written, and
    ``_PARTS``, the classes of objects inside its own; ``_OLD_NAMES`` has the names of fields in
    files of version 0.1 that have other names now. ``_fields`` gives the values to be saved and
    ``_from_fields`` makes an object of them, by the constructor, which checks them; both serve
    dataclasses as they are.
    """

    _KIND: ClassVar[str]
    _VERSION: ClassVar[int] = 1
    _PARTS: ClassVar[tuple[type[Saved], ...]] = ()
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {}

    def _fields(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def _from_fields(cls: type[Made], values: dict[str, Any]) -> Made:
        return cls(**values)

    @classmethod
    def _from_file(cls: type[Made], values: Mapping[str, Any]) -> Made:
        """An object of the values in a file of this or an earlier version."""
        return cls._from_fields({cls._OLD_NAMES.get(name, name): values[name] for name in values})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads back as an equal object.

        An existing file is replaced only when the new one is complete. Raises OSError if it cannot
        be written.
        """
        from gpusched._support.saved_files import save_arrays

        save_arrays(path, self._KIND, self._VERSION, self._fields())

    @classmethod
    def load(cls: type[Made], path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Made:
        """Read a file written by `save`, of at most ``max_bytes`` bytes unpacked (default: 4 GiB).

        Raises OSError if the file cannot be read or is not a regular file. Raises ValueError, with
        the path, if it does not contain such an object, is damaged, too large, or of an unknown
        version.
        """
        from gpusched._support.saved_files import load_object

        made: Made = load_object(path, cls, cls._PARTS, max_bytes)
        return made


# The 97.5 % quantile of the normal distribution, for intervals of 95 %.
_QUANTILE = 1.959963984540054


def wilson(successes: npt.ArrayLike, count: float) -> tuple[FloatArray, FloatArray]:
    """95 % confidence interval (low, high) of a share, by Wilson (1927).

    Parameters
    ----------
    successes
        Number of successes, or an array of them; of values from 0 to 1 per trial, their sum.
    count
        Number of trials of each.

    Returns
    -------
    tuple
        Lower and upper limits, arrays of the shape of ``successes``; (0, 1) without trials.
    """
    if count == 0:
        return np.zeros_like(successes, dtype=float), np.ones_like(successes, dtype=float)
    share = np.asarray(successes) / count
    square = _QUANTILE**2 / count
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # With no success, and with successes only, the limit is exact in spite of rounding.
    low = np.where(share == 0, 0.0, middle - half)
    high = np.where(share == 1, 1.0, middle + half)
    return low, high


def by_column(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Rows of a table as lists of columns with these names."""
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


@dataclass(frozen=True, eq=False, repr=False)
class Results(Tabular):
    """A table of results: ``columns`` maps names to read-only arrays of equal length.

    Missing values are masked in the arrays, NA in a pandas table, empty in a CSV file, and a dash
    in text.
    """

    columns: Mapping[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        columns: dict[str, npt.NDArray[Any]] = {}
        for name, values in self.columns.items():
            columns[name] = _copied(values)  # which the caller cannot change
        lengths = {array.shape for array in columns.values()}
        if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
            shapes = ", ".join(f"{name} {array.shape}" for name, array in columns.items())
            raise ValueError(f"columns: got {shapes}, expected one dimension, equal lengths")
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __len__(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The column of this name; KeyError if there is none."""
        try:
            return self.columns[name]
        except KeyError:
            known = ", ".join(self.columns)
            raise KeyError(f"column: got {name!r}, expected one of {known}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return list(self.columns) == list(other.columns) and all(
            equal_columns(column, other.columns[name]) for name, column in self.columns.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        values = [getattr(self, field.name) for field in fields(self)]
        return (type(self), (dict(values[0]), *values[1:]))

    def where(self, **values: Any) -> Results:
        """Select the rows in which every named column has the given value."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            column = self[name]
            if column.dtype.kind == "O":  # whose values may be arrays or lists
                chosen &= [_same(one, value) for one in column.tolist()]
            else:
                chosen &= column == value
        return Results({name: column[chosen] for name, column in self.columns.items()})

    def _table(self) -> Mapping[str, npt.NDArray[Any]]:
        return self.columns

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with the same columns; NA for missing values."""
        return frame_of(self._table())

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV with a header line and floats in full precision.

        The file is replaced only when the new one is complete.
        """
        import csv

        from gpusched._support.files import replacing

        with replacing(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(zip(*(c.tolist() for c in self.columns.values()), strict=True))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows of {', '.join(self.columns)}>"

    def __str__(self) -> str:
        """Text of the first rows. A table wider than a line is transposed: columns become rows."""
        if not self.columns:
            return ""
        cells = [
            [clip(name, 60), *map(_text, column[:_SHOWN_ROWS].tolist())]
            for name, column in self.columns.items()
        ]
        upright = sum(max(map(len, column)) + 2 for column in cells) <= _SHOWN_WIDTH
        lines = list(zip(*cells, strict=True)) if upright else [tuple(column) for column in cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        while not upright and len(widths) > 2 and sum(widths) + 2 * len(widths) > _SHOWN_WIDTH:
            widths.pop()
        shown = (len(lines) if upright else len(widths)) - 1
        text = [
            "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=False))
            for line in lines
        ]
        more = len(self) - shown
        return "\n".join([*text, *([f"and {more} more rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        shown = [column[:_SHOWN_ROWS].tolist() for column in self.columns.values()]
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row) + "</tr>"
            for row in zip(*shown, strict=True)
        )
        more = len(self) - _SHOWN_ROWS
        note = f"<p>and {more} more rows</p>" if more > 0 else ""
        return f"<table><tr>{head}</tr>{rows}</table>{note}"


_SHOWN_ROWS = 40
_SHOWN_WIDTH = 120


def equal_columns(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """True when two arrays are equal; a NaN equals a NaN, a masked value a masked value."""
    if _is_masked(one) or _is_masked(other):
        mask = np.ma.getmaskarray(one)
        if not np.array_equal(mask, np.ma.getmaskarray(other)):
            return False
        one, other = np.ma.getdata(one)[~mask], np.ma.getdata(other)[~mask]
    if one.dtype.kind == other.dtype.kind == "O":
        return one.shape == other.shape and all(map(_same, one.flat, other.flat))
    floats = one.dtype.kind == other.dtype.kind == "f"
    return bool(np.array_equal(one, other, equal_nan=floats))


def _same(one: Any, other: Any) -> bool:
    """True when two values of an object column are equal; they may be arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and equal_columns(one, other)
    return one is other or bool(one == other)


def _copied(values: Any) -> npt.NDArray[Any]:
    """A read-only copy, as an array."""
    if not _is_masked(values):
        return frozen(np.array(values))
    mask = np.array(np.ma.getmaskarray(values))
    copied: npt.NDArray[Any] = np.ma.array(frozen(np.array(values.data)), mask=frozen(mask))
    return copied


def _is_masked(values: Any) -> bool:
    return isinstance(values, np.ma.MaskedArray)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return clip(f"{value:.4g}" if isinstance(value, float) else str(value), 60)
