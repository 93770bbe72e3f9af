"""Arguments of the search of the scheduling graph: tables of batches, budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, int_array
from gpusched._support.text import shown

__all__ = ["budget_limits", "table_arrays"]

_BYTES = 2 << 30  # the budget where none is given


def table_arrays(table: Any, n: int) -> tuple[Int64Array, Int64Array | None]:
    """Times of all batches of n tasks, and of those that are undecided, if there are any."""
    given = getattr(table, "completion", table)
    undecided = getattr(table, "undecided", None)
    completion = int_array(given, "completion")
    if completion.shape != (1 << n,):
        raise ValueError(
            f"completion: got shape {completion.shape}, expected {1 << n} entries for {n} tasks"
        )
    if undecided is None:
        return completion, None
    times = int_array(undecided, "undecided")
    if times.shape != completion.shape:
        raise ValueError(f"undecided: got shape {times.shape}, expected {1 << n} entries")
    return completion, times


def budget_limits(budget: Any) -> dict[str, Any]:
    """The limits as numbers, 0 where there is none."""
    if budget is None:
        return {"bytes": _BYTES}
    keys = ("states", "bytes", "seconds")
    if isinstance(budget, Mapping):
        unknown = set(budget) - set(keys)
        if unknown:
            found = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"budget: got {found}, expected some of {', '.join(keys)}")
        limits = {key: budget.get(key) for key in keys}
    else:
        limits = {key: getattr(budget, key, None) for key in keys}
        if all(limit is None for limit in limits.values()) and not any(
            hasattr(budget, key) for key in keys
        ):
            raise TypeError(f"budget: got {shown(budget)}, expected states, bytes or seconds")
    for key, limit in limits.items():
        whole = (int, np.integer) if key != "seconds" else (int, float, np.number)
        if limit is not None and (not isinstance(limit, whole) or not 0 <= limit < 2**63):
            raise ValueError(
                f"budget: {key}: got {shown(limit)}, expected a non-negative number, or None"
            )
    return {key: 0 if limit is None else limit for key, limit in limits.items()}
