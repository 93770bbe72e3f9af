"""Rows of a table by the value of a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched._support.arguments import Int64Array

__all__ = ["groups"]


def groups(values: Int64Array, rows: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """Each value that rows have, and those rows in their order."""
    if not len(rows):
        return
    order = rows[np.argsort(values[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(values[order])) + 1
    for part in np.split(order, cuts):
        yield int(values[part[0]]), part
