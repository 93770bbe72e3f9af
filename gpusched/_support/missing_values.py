"""Columns of tables, with missing values: masked arrays, and the nullable columns of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Coded", "frame_of", "optional"]


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
