"""The largest responses of many simulated sets, whatever simulated them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.frozen import Frozen


@dataclass(frozen=True, eq=False, repr=False)
class Responses(Frozen):
    """Columns of shape (N, n) for a stack of N sets of n tasks, and an outcome for each set; a
    single set has no first axis."""

    worst: Int64Array
    finished: Int64Array
    outcome: npt.NDArray[np.str_]

    @property
    def is_stack(self) -> bool:
        """Whether this is about a stack of sets."""
        return self.worst.ndim == 2

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return len(self.worst)

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set)."""
        import pandas as pd

        sets, n = np.atleast_2d(self.worst).shape
        columns: dict[str, Any] = {"set": np.repeat(np.arange(sets), n)} if self.is_stack else {}
        columns["task"] = np.tile(np.arange(n), sets)
        for field in fields(self):
            column = getattr(self, field.name)
            if column.shape == self.worst.shape:
                columns[field.name] = column.ravel()
        columns["outcome"] = np.repeat(np.atleast_1d(self.outcome), n)
        return pd.DataFrame(columns)
