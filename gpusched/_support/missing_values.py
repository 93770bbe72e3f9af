"""Columns with missing values: masked arrays, and the nullable columns of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_of", "nullable", "optional"]


def optional(values: npt.ArrayLike, known: npt.ArrayLike | None = None) -> Any:
    """Integers masked where there is no value.

    Parameters
    ----------
    values
        Array of integers.
    known
        Whether there is a value, a bool array of the same shape; unless given, where the number is
        not negative.
    """
    data = np.asarray(values, np.int64)
    there = data >= 0 if known is None else np.asarray(known, np.bool_)
    return np.ma.array(data, mask=~there)


def nullable(values: Any) -> Any:
    """A column of pandas, of type Int64, with NA where a masked array is masked."""
    import pandas as pd

    return pd.arrays.IntegerArray(
        np.asarray(values.filled(0), np.int64), np.ma.getmaskarray(values).copy()
    )


def frame_of(columns: Mapping[str, Any]) -> pd.DataFrame:
    """A pandas table of columns, those that are masked arrays nullable."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: nullable(column) if isinstance(column, np.ma.MaskedArray) else column
            for name, column in columns.items()
        }
    )
