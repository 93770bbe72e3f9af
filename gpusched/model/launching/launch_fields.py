"""Columns of launches as flat arrays for files, and back."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gpusched._support.arguments import Int64Array

__all__ = ["Rows", "flat_rows", "nested_rows"]


class Rows(Protocol):
    """Protocol of launches: the columns whose rows have different lengths."""

    @property
    def after(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def block_times(self) -> tuple[Int64Array | None, ...] | None: ...
    @property
    def partition_sms(self) -> tuple[tuple[int, ...] | None, ...] | None: ...


def flat_rows(launches: Rows, values: dict[str, Any]) -> dict[str, Any]:
    """The values with rows put end to end, and their lengths."""
    values["after"] = np.array([i for row in launches.after for i in row], dtype=np.int64)
    values["after_count"] = np.array([len(row) for row in launches.after], dtype=np.int64)
    values["block_times_count"] = None
    if launches.block_times is not None:
        rows = [() if row is None else row for row in launches.block_times]
        values["block_times"] = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
        values["block_times_count"] = np.array([len(row) for row in rows], dtype=np.int64)
    values["partition_sms_count"] = None
    if launches.partition_sms is not None:
        sets = [row or () for row in launches.partition_sms]
        values["partition_sms"] = np.array([sm for row in sets for sm in row], dtype=np.int64)
        values["partition_sms_count"] = np.array([len(row) for row in sets], dtype=np.int64)
    return values


def nested_rows(values: dict[str, Any]) -> dict[str, Any]:
    """The values that were passed to ``flat_rows``; ValueError for lengths that do not fit."""
    counts = {key: values.pop(f"{key}_count") for key in ("after", "block_times")}
    sizes = values.pop("partition_sms_count", None)  # not in files of earlier versions
    after = [row.tolist() for row in _cut(values["after"], counts["after"], "after")]
    values["after"] = after
    if values["block_times"] is not None:
        rows = _cut(values["block_times"], counts["block_times"], "block_times")
        values["block_times"] = [row if len(row) else None for row in rows]
    if sizes is not None:
        rows = _cut(values["partition_sms"], sizes, "partition_sms")
        values["partition_sms"] = [row if len(row) else None for row in rows]
    return values


def _cut(flat: Any, counts: Any, name: str) -> list[Int64Array]:
    """The rows of an array that holds them end to end."""
    ends = np.cumsum(counts)
    if len(flat) != (ends[-1] if len(ends) else 0) or (np.asarray(counts) < 0).any():
        raise ValueError(f"{name}: got {len(flat)} entries, expected {counts.sum()}")
    return np.split(flat, ends[:-1]) if len(ends) else []
