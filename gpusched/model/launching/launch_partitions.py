"""Columns of the partitions of launches: streams, SM sets, limits, names."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    int_array,
    is_sequence,
    names,
)
from gpusched._support.registry import limit
from gpusched._support.text import shown

__all__ = ["PARTITION_COLUMNS", "read_partitions", "stream_partitions"]

PARTITION_COLUMNS = ("partition_sms", "partition_limit", "partition_name")
"""Columns with one entry per partition; each is None if it is not given."""

_MOST = 2**24
_MOST_SMS = limit("model.sms")


def stream_partitions(given: Any, context: Int64Array) -> Int64Array:
    """The partition of each stream; by default, its context."""
    if given is None:
        return context
    column = int_array(given, "stream_partition")
    if column.shape not in ((), context.shape):
        raise ValueError(
            f"stream_partition: got shape {column.shape}, expected one number, or one for each of "
            f"{len(context)} streams"
        )
    column = np.array(np.broadcast_to(column, context.shape))
    at_least(column, 0, "stream_partition")
    for i in np.flatnonzero(column >= _MOST)[:1].tolist():
        raise ValueError(f"stream_partition[{i}]: got {column[i]}, expected less than {_MOST}")
    first = np.unique(column, return_index=True, return_inverse=True)
    home = context[first[1]][first[2]]
    for i in np.flatnonzero(home != context)[:1].tolist():
        raise ValueError(
            f"stream_partition[{i}]: got {column[i]} in context {context[i]}, expected a partition "
            f"of one context: {column[i]} has a stream in context {home[i]}"
        )
    return column


def read_partitions(partition: Int64Array, sms: Any, most: Any, name: Any) -> dict[str, Any]:
    """The columns of the partitions, given the partition of every stream."""
    if sms is None and most is None and name is None:
        return dict.fromkeys(PARTITION_COLUMNS)
    count = int(partition.max()) + 1
    for number in np.setdiff1d(np.arange(count), partition)[:1].tolist():
        raise ValueError(f"stream_partition: got no stream in partition {number}, expected one")
    return {
        "partition_sms": _sets(sms, count),
        "partition_limit": _limits(most, count),
        "partition_name": None
        if name is None
        else names(name, "partition_name", [""] * count, "partition"),
    }


def _sets(given: Any, count: int) -> tuple[tuple[int, ...] | None, ...] | None:
    if given is None:
        return None
    if not is_sequence(given):
        raise TypeError(
            f"partition_sms: got {shown(given)}, expected one sequence of SMs, or None, per "
            "partition"
        )
    rows = list(given)
    if len(rows) != count:
        raise ValueError(f"partition_sms: got {len(rows)} entries, expected {count} partitions")
    found: list[tuple[int, ...] | None] = []
    for p, entry in enumerate(rows):
        if entry is None:
            found.append(None)
            continue
        where = f"partition_sms[{p}]"
        row = int_array(entry, where)
        if row.ndim != 1 or len(row) == 0:
            raise ValueError(f"{where}: got {shown(entry)}, expected a sequence of SMs, or None")
        for sm in row[(row < 0) | (row >= _MOST_SMS)][:1].tolist():
            raise ValueError(f"{where}: got {sm}, expected SMs from 0 to {_MOST_SMS - 1}")
        repeated = np.delete(row, np.unique(row, return_index=True)[1])
        for sm in repeated[:1].tolist():
            raise ValueError(f"{where}: got {sm} twice, expected each SM once")
        found.append(tuple(row.tolist()))
    return None if all(row is None for row in found) else tuple(found)


def _limits(given: Any, count: int) -> Int64Array | None:
    if given is None:
        return None
    if is_sequence(given):
        given = [0 if entry is None else entry for entry in given]
    column = int_array(given, "partition_limit")
    if column.shape not in ((), (count,)):
        raise ValueError(
            f"partition_limit: got shape {column.shape}, expected one number, or one for each of "
            f"{count} partitions"
        )
    at_least(column, 0, "partition_limit")
    return frozen(np.array(np.broadcast_to(column, (count,)))) if column.any() else None
