"""Columns of launches, of their streams and partitions: checks, default names, replacement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    int_array,
    integer,
    is_sequence,
    names,
    one_of,
)
from gpusched._support.registry import enumeration, limit
from gpusched._support.text import shown

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
        else names(name, "partition_name", count, lambda: [""] * count, "partition"),
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


KINDS = enumeration("simulate.launch_kind")
KERNEL = KINDS.index("kernel")
"""Kinds of launches; ``Launches.kind`` holds the positions in this tuple."""

STREAM_KINDS = enumeration("simulate.stream_kind")
"""Kinds of streams; ``Launches.stream_kind`` holds the positions in this tuple."""

COLUMNS = (
    *("time", "kind", "stream", "blocks", "threads", "regs", "smem", "carveout", "cooperative"),
    *("cluster", "duration", "longest", "bytes", "graph", "programmatic", "trigger"),
)
"""Columns with one number per launch."""

STREAM_COLUMNS = ("stream_context", "stream_priority", "stream_kind", "stream_partition")
"""Columns with one number per stream."""

MOST_STREAMS = 2**24

_TIMES = ("duration", "block_times", "bandwidth")
_STREAMS = (*STREAM_COLUMNS, "stream_name")
_MOST_CLUSTER = limit("simulate.cluster_blocks")


def codes(value: Any, known: tuple[str, ...], name: str) -> Int64Array:
    """Positions in ``known``, given as names or as such positions."""
    if isinstance(value, str):
        one_of(value, known, name)
        return np.array(known.index(value), dtype=np.int64)
    listed = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if listed.dtype.kind in "OUS":
        flat = listed.ravel().tolist()
        for i, item in enumerate(flat):
            if not isinstance(item, (int, float)):
                one_of(item, known, f"{name}[{i}]")
                flat[i] = known.index(item)
        value = np.array(flat, dtype=object).reshape(listed.shape)
    found = int_array(value, name)
    for at in np.argwhere((found < 0) | (found >= len(known)))[:1].tolist():
        where = f"[{at[0]}]" if at else ""
        raise ValueError(
            f"{name}{where}: got {found[tuple(at)]}, expected one of {', '.join(known)}, or its "
            f"number from 0 to {len(known) - 1}"
        )
    return found


def switches(value: Any, name: str) -> Int64Array:
    """Truth values, or the numbers 0 and 1, as numbers."""
    listed = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if listed.size and all(isinstance(item, (bool, np.bool_)) for item in listed.ravel().tolist()):
        value = listed.astype(np.int64)
    found = int_array(value, name)
    for at in np.argwhere((found < 0) | (found > 1))[:1].tolist():
        where = f"[{at[0]}]" if at else ""
        raise ValueError(f"{name}{where}: got {found[tuple(at)]}, expected True or False")
    return found


def row_count(
    columns: dict[str, Int64Array], first: str, sequences: dict[str, Sequence[Any] | None]
) -> int:
    """Number of rows of the columns and sequences."""
    for key, array in columns.items():
        if array.ndim > 1:
            raise ValueError(f"{key}: got {array.ndim} dimensions, expected 1")
    longest = next((key for key, array in columns.items() if array.ndim == 1), None)
    if longest is None:
        raise ValueError(f"{first}: got one number, expected a sequence with one entry per launch")
    n = len(columns[longest])
    for key, given in sequences.items():
        if given is not None and (isinstance(given, str) or not hasattr(given, "__len__")):
            raise TypeError(
                f"{key}: got {shown(given)}, expected a sequence with one entry per launch"
            )
        if given is not None and len(given) != n:
            raise ValueError(f"{key}: got {len(given)} entries, expected {n} as of {longest}")
    return n


def one_each(array: Int64Array, n: int, name: str, what: str) -> Int64Array:
    """A copy with one entry for each of n."""
    if array.shape not in ((), (n,)):
        raise ValueError(
            f"{name}: got shape {array.shape}, expected one number, or one for each of {n} {what}"
        )
    return np.array(np.broadcast_to(array, (n,)))


def read_block_times(
    given: Sequence[Any] | None, blocks: Int64Array
) -> tuple[Int64Array | None, ...] | None:
    if given is None or all(times is None for times in given):
        return None
    found: list[Int64Array | None] = []
    for i, times in enumerate(given):
        if times is None:
            found.append(None)
            continue
        row = int_array(times, f"block_times[{i}]")
        if row.shape != (blocks[i],):
            what = f"one time for each of {blocks[i]} blocks" if blocks[i] else "None for a copy"
            raise ValueError(f"block_times[{i}]: got shape {row.shape}, expected {what}")
        at_least(row, 1, f"block_times[{i}]")
        found.append(frozen(row))
    return tuple(found)


def fill_durations(
    rows: dict[str, Int64Array], times: tuple[Int64Array | None, ...] | None, bandwidth: Any
) -> None:
    """Durations derived from block times or bytes; refuses rows without any."""
    duration = rows["duration"]
    for i, each in enumerate(times or ()):
        if each is not None:
            duration[i] = each.min()
    if bandwidth is not None:
        rate = _decimal(bandwidth, "bandwidth")
        if rate <= 0:
            raise ValueError(f"bandwidth: got {shown(bandwidth)}, expected a positive number")
        for i in np.flatnonzero((duration == 0) & (rows["bytes"] > 0)).tolist():
            ticks = -(-int(rows["bytes"][i]) // rate)
            if ticks >= 2**63:
                raise OverflowError(
                    f"bytes[{i}]: got {rows['bytes'][i]}, expected a copy of less than 2**63 ticks"
                )
            duration[i] = ticks
    for i in np.flatnonzero(duration == 0)[:1].tolist():
        hint = ", or give the bandwidth" if rows["bytes"][i] else ""
        raise ValueError(f"duration[{i}]: got 0, expected a positive number{hint}")


def read_after(given: Sequence[Any] | None, n: int) -> tuple[tuple[int, ...], ...]:
    if given is None:
        return ((),) * n
    found = []
    for i, entry in enumerate(given):
        items = () if entry is None else entry
        if not isinstance(items, Iterable) or isinstance(items, str):
            items = (items,)
        row = tuple(
            item if type(item) is int and 0 <= item < n else integer(item, f"after[{i}]")
            for item in items
        )
        if row and not 0 <= min(row) <= max(row) < n:
            wrong = next(item for item in row if not 0 <= item < n)
            raise ValueError(f"after[{i}]: got {wrong}, expected one of {n} launches")
        found.append(row)
    return tuple(found)


def check_orders(rows: dict[str, Int64Array], after: tuple[tuple[int, ...], ...]) -> None:
    """Refuse graphs with several times or streams, and programmatic nodes without a primary.

    ``rows`` is keyed by column; values that have no meaning for copies are removed.
    """
    graph = rows["graph"]
    copies = rows["kind"] > 0
    rows["programmatic"][copies] = 0
    rows["trigger"][copies] = -1
    nodes = np.flatnonzero(graph >= 0)
    if not len(nodes):
        return
    _, first, which = np.unique(graph[nodes], return_index=True, return_inverse=True)
    for key in ("time", "stream"):
        expected = rows[key][nodes[first]][which]
        for k in np.flatnonzero(rows[key][nodes] != expected)[:1].tolist():
            i = nodes[k]
            raise ValueError(
                f"{key}[{i}]: got {rows[key][i]}, expected {expected[k]} as of launch "
                f"{nodes[first][which[k]]}, which is in the same graph ({graph[i]})"
            )
    for i in nodes[rows["programmatic"][nodes] > 0].tolist():
        primary = set(after[i])
        known = all(j != i and graph[j] == graph[i] and not copies[j] for j in primary)
        if len(primary) != 1 or not known:
            raise ValueError(
                f"programmatic[{i}]: got True in graph {graph[i]} with {after[i]!r:.60} in after, "
                "expected one kernel of the graph there"
            )


def _decimal(value: Any, name: str) -> Fraction:
    """A number as it is written: 0.1 is a tenth."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(repr(float(value)))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {shown(value)}, expected a finite number") from None


def read_factors(given: Any, n: int, name: str = "interference") -> Int64Array:
    """Factors of interference as thousandths, shape ``(n, 4)``."""
    try:
        table = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name}: got {shown(given)}, expected (4,) or ({n}, 4) factors") from None
    if table.shape not in ((4,), (n, 4)):
        raise ValueError(f"{name}: got shape {table.shape}, expected (4,) or ({n}, 4)")
    whole = table.dtype.kind in "iu" and table.size > 0 and int(table.min()) >= 1000
    if whole:
        exact = int_array(table, name)
    else:
        exact = np.empty(table.shape, dtype=np.int64)
        for at, value in np.ndenumerate(table):
            where = f"{name}[{', '.join(map(str, at))}]"
            factor = _decimal(value, where)
            exact[at] = min(-(-factor * 1000 // 1), 2**62) if factor > 0 else 0
    for index in np.argwhere((exact < 1000) | (exact > 10**6))[:1].tolist():
        where = f"{name}[{', '.join(map(str, index))}]"
        hint = "1000 to 1000000 thousandths" if whole else "a factor from 1 to 1000"
        raise ValueError(f"{where}: got {table[tuple(index)]}, expected {hint}")
    return frozen(np.array(np.broadcast_to(exact, (n, 4))))


def launch_names(kind: Int64Array) -> list[str]:
    words = [word.replace("_", " ") for word in KINDS]
    return [f"{words[code]} {i}" for i, code in enumerate(kind.tolist())]


def stream_names(kind: Int64Array) -> list[str]:
    null = STREAM_KINDS.index("null")
    return [
        "NULL stream" if code == null else f"stream {i}" for i, code in enumerate(kind.tolist())
    ]


def read_starts(rows: dict[str, Int64Array]) -> None:
    """Columns of launches whose blocks start together; refuses invalid values."""
    copies = rows["kind"] > 0
    rows["cooperative"][copies] = 0
    rows["cluster"][copies] = 1
    at_least(rows["cluster"], 1, "cluster")
    for i in np.flatnonzero(rows["cluster"] > _MOST_CLUSTER)[:1].tolist():
        got = rows["cluster"][i]
        raise ValueError(f"cluster[{i}]: got {got}, expected at most {_MOST_CLUSTER}")
    for i in np.flatnonzero(~copies & (rows["blocks"] % rows["cluster"] != 0))[:1].tolist():
        raise ValueError(
            f"cluster[{i}]: got {rows['cluster'][i]}, expected a divisor of {rows['blocks'][i]} "
            "blocks"
        )


def read_streams(
    stream: Int64Array,
    context: Int64Array,
    priority: Int64Array,
    kind: Int64Array,
    partition: Any,
    name: Sequence[str] | None,
) -> dict[str, Any]:
    """The columns of the streams; ``partition`` is one column, or None."""
    given = {"stream_context": context, "stream_priority": priority, "stream_kind": kind}
    sizes = [len(array) for array in given.values() if array.ndim == 1]
    if partition is not None and np.ndim(partition) == 1:
        sizes.append(len(partition))
    if name is not None:
        if isinstance(name, str) or not isinstance(name, Sequence):
            raise TypeError(f"stream_name: got {shown(name)}, expected a list of strings")
        sizes.append(len(name))
    count = max(sizes) if sizes else int(stream.max(initial=0)) + 1
    for i in np.flatnonzero((stream < 0) | (stream >= count))[:1].tolist():
        raise ValueError(f"stream[{i}]: got {stream[i]}, expected one of {count} streams")
    if count == 0:
        raise ValueError("stream_context: got no entries, expected at least one stream")
    if count > MOST_STREAMS:
        raise ValueError(f"stream: got {count} streams, expected at most {MOST_STREAMS}")
    columns = {key: one_each(array, count, key, "streams") for key, array in given.items()}
    at_least(columns["stream_context"], 0, "stream_context")
    for i in np.flatnonzero(columns["stream_context"] >= 2**24)[:1].tolist():
        number = columns["stream_context"][i]
        raise ValueError(f"stream_context[{i}]: got {number}, expected less than {2**24}")
    columns["stream_partition"] = stream_partitions(partition, columns["stream_context"]).copy()
    null = np.flatnonzero(columns["stream_kind"] == STREAM_KINDS.index("null"))
    owners = columns["stream_partition"][null]
    again = np.setdiff1d(np.arange(len(null)), np.unique(owners, return_index=True)[1])
    for i in again[:1].tolist():
        what = "context" if partition is None else "partition"
        raise ValueError(
            f"stream_kind[{null[i]}]: got a second null stream of {what} {owners[i]}, expected one"
        )
    usual = stream_names(columns["stream_kind"])
    values: dict[str, Any] = {key: frozen(array) for key, array in columns.items()}
    values["stream_name"] = names(name, "stream_name", len(usual), lambda: usual, "stream")
    return values


class Changes(TypedDict, total=False):
    """The arguments of `Launches`."""

    time: npt.ArrayLike
    duration: npt.ArrayLike | None
    kind: npt.ArrayLike | Sequence[str]
    stream: npt.ArrayLike
    blocks: npt.ArrayLike
    threads: npt.ArrayLike
    regs: npt.ArrayLike
    smem: npt.ArrayLike
    carveout: npt.ArrayLike
    cooperative: npt.ArrayLike
    cluster: npt.ArrayLike
    longest: npt.ArrayLike | None
    after: Sequence[Sequence[int] | int | None] | None
    graph: npt.ArrayLike
    programmatic: npt.ArrayLike
    trigger: npt.ArrayLike
    block_times: Sequence[npt.ArrayLike | None] | None
    bytes: npt.ArrayLike
    bandwidth: float | Fraction | None
    interference: npt.ArrayLike | None
    name: Sequence[str] | None
    stream_context: npt.ArrayLike
    stream_priority: npt.ArrayLike
    stream_kind: npt.ArrayLike | Sequence[str]
    stream_partition: npt.ArrayLike | None
    stream_name: Sequence[str] | None
    partition_sms: Sequence[npt.ArrayLike | None] | None
    partition_limit: npt.ArrayLike | None
    partition_name: Sequence[str] | None


def changed(fields: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Arguments of `Launches`: its fields and the changes, without those to be derived anew."""
    values: dict[str, Any] = {**fields, **changes}
    if "longest" not in changes and any(key in changes for key in _TIMES):
        fixed = fields["longest"] == fields["duration"]
        values["longest"] = np.where(fixed, 0, fields["longest"])
    if changes.get("bandwidth") is not None and "duration" not in changes:
        moved = (int_array(values["bytes"], "bytes") > 0) & (
            codes(values["kind"], KINDS, "kind") != KERNEL
        )
        values["duration"] = np.where(moved, 0, fields["duration"])
    if "name" not in changes and list(fields["name"]) == launch_names(fields["kind"]):
        values["name"] = None
    kinds: Int64Array = fields["stream_kind"]
    usual = list(fields["stream_name"]) == stream_names(kinds)
    if "stream_name" not in changes and usual:
        values["stream_name"] = None
    one = np.array_equal(fields["stream_partition"], fields["stream_context"])
    if "stream_partition" not in changes and one:
        values["stream_partition"] = None
    plain = usual and not any(fields[key].any() for key in _STREAMS[:-1])
    if "stream" in changes and plain and not any(key in changes for key in _STREAMS):
        needed = int(int_array(changes["stream"], "stream").max(initial=-1)) + 1
        if needed > len(kinds):
            values = {key: value for key, value in values.items() if key not in _STREAMS}
    return values
