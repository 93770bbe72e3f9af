"""Launches as pandas tables, as flat arrays for files, and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.tabular import Table, optional
from gpusched._support.text import clip, escape
from gpusched.model.launch_columns import (
    COLUMNS,
    KINDS,
    PARTITION_COLUMNS,
    STREAM_COLUMNS,
    STREAM_KINDS,
)

if TYPE_CHECKING:
    import pandas as pd

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


_NONE = ("carveout", "graph", "trigger")  # -1: none
_USUAL = dict.fromkeys(COLUMNS, 0) | dict.fromkeys(_NONE, -1) | {"cluster": 1}
_SHOWN = 40


def html_of(launches: Any) -> str:
    """The first launches, with the columns in which at least one differs from the default."""
    shown = [
        key
        for key, value in _USUAL.items()
        if key == "time" or (getattr(launches, key) != value).any()
    ]
    if np.array_equal(launches.longest, launches.duration):
        shown.remove("longest")
    head = "".join(f"<th>{key}</th>" for key in ("", *shown))
    body = []
    for i in range(min(len(launches), _SHOWN)):
        cells = []
        for key in shown:
            value = int(getattr(launches, key)[i])
            text = str(value)
            if key == "kind":
                text = KINDS[value].replace("_", " ")
            elif key in ("cooperative", "programmatic"):
                text = "yes" if value else "no"
            elif key == "stream":
                text = clip(launches.stream_name[value], 40)
            elif value < 0 and key in _NONE:
                text = "–"
            cells.append(f"<td>{escape(text)}</td>")
        body.append(f"<tr><th>{escape(clip(launches.name[i], 60))}</th>{''.join(cells)}</tr>")
    more = len(launches) - _SHOWN
    note = f"<p>and {more} more launches</p>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(body)}</table>{note}"


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
