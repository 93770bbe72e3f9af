"""Launches as pandas tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.missing_values import optional
from gpusched.model.launching.launch_columns import COLUMNS, KINDS, STREAM_COLUMNS, STREAM_KINDS
from gpusched.model.launching.launch_partitions import PARTITION_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["arguments_of", "table_of"]

_OPTIONAL = {"carveout": -1, "graph": -1, "trigger": -1}
"""Columns with missing values, and the numbers that stand for them."""

_FACTORS = tuple(f"interference_{what}" for what in ("sm", "gpc", "gpu", "copy"))


def table_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The columns of launches with these fields; see ``Launches.to_frame``."""
    unused = np.setdiff1d(np.arange(len(fields["stream_context"])), fields["stream"])
    columns: dict[str, Any] = {key: fields[key] for key in COLUMNS}
    columns |= {key: optional(columns[key]) for key in _OPTIONAL}
    if fields["interference"] is not None:
        columns |= dict(zip(_FACTORS, fields["interference"].T, strict=True))
    for key, column in columns.items() if len(unused) else ():
        known = np.append(~np.ma.getmaskarray(column), unused < 0)
        columns[key] = optional(np.append(np.ma.getdata(column), unused), known)
    stream = np.append(fields["stream"], unused)
    absent: list[Any] = [None] * len(unused)
    columns["stream"] = stream
    kinds = np.array(KINDS, dtype=object)[fields["kind"]].tolist()
    columns["kind"] = [*kinds, *absent]
    columns["after"] = [*fields["after"], *absent]
    if fields["block_times"] is not None:
        times = [None if row is None else tuple(row.tolist()) for row in fields["block_times"]]
        columns["block_times"] = [*times, *absent]
    for key in STREAM_COLUMNS:
        columns[key] = fields[key][stream]
    columns["stream_kind"] = np.array(STREAM_KINDS, dtype=object)[columns["stream_kind"]]
    columns["stream_name"] = np.array(fields["stream_name"], dtype=object)[stream]
    for key in PARTITION_COLUMNS:
        if fields[key] is not None:
            entries = [fields[key][p] for p in columns["stream_partition"].tolist()]
            columns[key] = np.array(entries, np.int64) if key == "partition_limit" else entries
    return {"name": [*fields["name"], *absent]} | columns


def arguments_of(frame: pd.DataFrame) -> dict[str, Any]:
    """The arguments of ``Launches`` that make the launches of a table."""
    from gpusched.model.frames import Table

    of_streams = [*STREAM_COLUMNS, "stream_name"]
    known = [*COLUMNS[1:], "name", "after", "block_times", *_FACTORS]
    table = Table(frame, ["time"], [*known, *of_streams, *PARTITION_COLUMNS], [])
    group = table.whole("stream") if "stream" in table else [0] * table.length
    launched = [row for row, time in enumerate(table.entries("time")) if time is not None]
    streams = table.first(_first_rows(group, "streams"), group, of_streams)
    rows = table.rows(launched)
    values: dict[str, Any] = {"stream": [group[row] for row in launched]}
    for key in COLUMNS:
        if key in rows and key not in ("kind", "stream"):
            values[key] = np.array(rows.whole(key, _OPTIONAL.get(key)), np.int64)
    for key in ("stream_context", "stream_priority", "stream_partition"):
        if key in streams:
            values[key] = streams.whole(key)
    if "stream_context" not in values:
        values["stream_context"] = [0] * streams.length
    for part, key in ((rows, "kind"), (rows, "name"), (streams, "stream_kind")):
        if key in part:
            values[key] = part.text(key)
    if "stream_name" in streams:
        values["stream_name"] = streams.text("stream_name")
    for key in ("after", "block_times"):
        if key in rows:
            values[key] = rows.entries(key)
    if factors := [key for key in _FACTORS if key in rows]:
        if len(factors) < len(_FACTORS):
            raise ValueError(f"frame: got {', '.join(factors)}, expected {', '.join(_FACTORS)}")
        values["interference"] = np.stack([np.array(rows.whole(k)) for k in _FACTORS], axis=-1)
    if given := [key for key in PARTITION_COLUMNS if key in table]:
        own = "stream_partition" if "stream_partition" in table else "stream_context"
        group = table.whole(own) if own in table else [0] * table.length
        partitions = table.first(_first_rows(group, "partitions"), group, given)
        values |= {key: partitions.entries(key) for key in given}
    return values


def _first_rows(group: list[int], what: str) -> list[int]:
    """The first row of each stream or partition."""
    first = {number: row for row, number in reversed(list(enumerate(group)))}
    if sorted(first) != list(range(len(first))):
        raise ValueError(f"frame: got {what} {sorted(first)!r:.60}, expected a row for each")
    return [first[number] for number in range(len(first))]
