"""Batch tables in files and pandas tables.

CSV and JSON are as `BatchTable.from_file` describes them; a pandas table has a row per eligible or
undecided batch.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, one_of
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.tabular import Table
from gpusched._support.text import path_text, shown
from gpusched.model.batches import (
    MAX_TASKS,
    Collected,
    Orders,
    OrdersAt,
    completion_time,
    key_order,
    members,
    names_of,
    order_tuples,
    orders_by_index,
    set_text,
    task_count,
)
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    import pandas as pd

Made = TypeVar("Made")

_SEPARATOR = ";"
_COLUMNS = ("batch", "completion", "eligible")
_YES, _NO, _UNKNOWN = ("yes", "true", "1"), ("no", "false", "0"), "unknown"
_STATISTICS = ("worst", "median", "mean")


@dataclass(frozen=True)
class _Row:
    where: str  # file and row, for messages
    batch: tuple[Any, ...]  # names or indices as written
    samples: tuple[Any, ...]
    eligible: bool | str | None  # None: not said; "unknown": undecided


def read(
    path: str | os.PathLike[str],
    statistic: str,
    tasks: Any,
    make: Callable[..., Made],
    max_bytes: int,
) -> Made:
    """The table in a file; ``make`` is the class of tables."""
    one_of(statistic, _STATISTICS, "statistic")
    where = path_text(path)
    suffix = _suffix(where)
    try:
        text = content(where, max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: got {error}, expected UTF-8 text") from None
    listed: Any = None
    if suffix == ".csv":
        rows = _read_csv(where, text)
    else:
        rows, listed = _read_json(where, text)
    if not rows:
        raise ValueError(f"{where}: got no batches, expected at least one")
    index, n = _indices(where, rows, listed, tasks)
    collected = Collected(n)
    seen: dict[tuple[int, ...], str] = {}
    for row in rows:
        order = tuple(_lookup(row, token, index, n) for token in row.batch)
        if len(set(order)) < len(order):
            twice = next(t for i, t in enumerate(row.batch) if order[i] in order[:i])
            raise ValueError(f"{row.where}: got task {twice!r} twice, expected it once")
        if order in seen:
            raise ValueError(
                f"{row.where}: got a batch that is in {seen[order]}, expected several samples of "
                f"one order in one row"
            )
        seen[order] = row.where.rpartition(", ")[2]
        time = _time(row, statistic)
        collected.add(order, 0 if row.eligible is False else time, row.eligible != _UNKNOWN)
    try:
        return make(collected)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def write(table: Any, path: str | os.PathLike[str], tasks: Any) -> None:
    where = path_text(path)
    suffix = _suffix(where)
    if table.is_stack:
        raise TypeError("table: got a stack, expected one of its tables, or use save()")
    names = None if tasks is None else _names(tasks)
    if names is not None and len(names) != table.n:
        raise ValueError(f"tasks: got {len(names)} names, expected {table.n}")
    if suffix == ".json":
        with replacing(where, "w", encoding="utf-8") as file:
            file.write(f'{{"tasks": {json.dumps(names or table.n)},\n "batches": [\n')
            lines = (
                json.dumps({"batch": batch, "completion": time, "eligible": eligible or _UNKNOWN})
                for batch, time, eligible in _batches(table, names)
            )
            file.write(",\n".join(f"  {line}" for line in lines) + "]}\n")
        return
    for name in names or ():
        if _SEPARATOR in name or name != name.strip() or not name or name.isdecimal():
            raise ValueError(f"tasks: got the name {name!r}, expected one for CSV; write JSON")
    with replacing(where, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for batch, time, eligible in _batches(table, names):
            text = _SEPARATOR.join(map(str, batch))
            writer.writerow((text, time, _YES[0] if eligible else _UNKNOWN))


def _batches(table: Any, names: Any) -> Iterator[tuple[list[Any], int, bool]]:
    """Members as they are written, time and whether eligible, of every batch that has a time;
    single tasks first, since the order of their rows numbers them."""
    undecided = table.undecided if table.undecided is not None else np.zeros_like(table.completion)
    masks = np.flatnonzero(table.completion + undecided).tolist()
    for mask in sorted(masks, key=lambda mask: (mask & (mask - 1) != 0, mask)):
        eligible = bool(table.completion[mask])
        order = table.submission_order(mask) if eligible else members(mask)
        time = int(table.completion[mask] if eligible else undecided[mask])
        yield [names[i] if names else i for i in order], time, eligible


def _suffix(where: str) -> str:
    suffix = os.path.splitext(where)[1].lower()
    if suffix not in (".csv", ".json"):
        raise ValueError(f"path: got {where}, expected a name that ends in .csv or .json")
    return suffix


def _names(tasks: KernelTasks | Sequence[str]) -> list[str]:
    given = tasks.name if isinstance(tasks, KernelTasks) else tasks
    try:
        names: list[Any] = list(given)
    except TypeError:
        names = [None]
    if isinstance(given, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"tasks: got {shown(tasks)}, expected a task set or a list of names")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"tasks: got the name {name!r} twice, expected different names")
    return names


# CSV ---------------------------------------------------------------------------------------------


def _read_csv(where: str, text: str) -> list[_Row]:
    rows = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            cells = [cell.strip() for cell in cells]
            at = f"{where}, row {reader.line_num}"
            if any("\0" in cell for cell in cells):
                raise ValueError(f"{at}: got a null character, expected text")
            if columns is None:
                columns = _header(at, cells)
                continue
            if len(cells) != len(columns):
                raise ValueError(f"{at}: got {len(cells)} cells, expected {len(columns)}")
            rows.append(_csv_row(at, dict(zip(columns, cells, strict=True))))
    except csv.Error as error:
        raise ValueError(f"{where}, row {reader.line_num}: {error}") from None
    if columns is None:
        raise ValueError(f"{where}: got an empty file, expected a table")
    return rows


def _header(at: str, cells: list[str]) -> list[str]:
    columns = [cell.lower() for cell in cells]
    for column in columns:
        if column not in _COLUMNS or columns.count(column) > 1:
            raise ValueError(
                f"{at}: got the column {column!r}, expected batch, completion and, if wanted, "
                "eligible, once each in the first row"
            )
    for column in _COLUMNS[:2]:
        if column not in columns:
            raise ValueError(f"{at}: got no column {column!r}, expected one")
    return columns


def _csv_row(at: str, cells: dict[str, str]) -> _Row:
    batch = tuple(token.strip() for token in cells["batch"].split(_SEPARATOR))
    text = cells["completion"]
    samples = tuple(_number(at, token) for token in text.split(_SEPARATOR)) if text else ()
    said = cells.get("eligible", "").lower()
    eligible: bool | str | None = None
    if said == _UNKNOWN:
        eligible = _UNKNOWN
    elif said in _YES or said in _NO:
        eligible = said in _YES
    elif said:
        raise ValueError(f"{at}: eligible: got {said!r}, expected yes, no or unknown")
    return _row(at, batch, samples, eligible)


def _number(at: str, token: str) -> Any:
    try:
        return int(token)
    except ValueError:
        pass
    try:
        return float(token)
    except ValueError:
        raise ValueError(f"{at}: completion: got {token.strip()!r}, expected a number") from None


# JSON --------------------------------------------------------------------------------------------


def _read_json(where: str, text: str) -> tuple[list[_Row], Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: got {error}, expected JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("batches"), list):
        raise ValueError(f'{where}: got other JSON, expected an object with a list "batches"')
    _known(where, document, ("tasks", "batches"))
    rows = []
    for number, row in enumerate(document["batches"]):
        at = f"{where}, batches[{number}]"
        if not isinstance(row, dict):
            raise ValueError(f"{at}: got {shown(row)}, expected an object")
        _known(at, row, _COLUMNS)
        batch = row.get("batch")
        if not isinstance(batch, list):
            raise ValueError(f"{at}: batch: got {shown(batch)}, expected a list of tasks")
        for token in batch:
            if isinstance(token, bool) or not isinstance(token, (int, str)):
                raise ValueError(f"{at}: batch: got {shown(token)}, expected a name or an index")
        times = row.get("completion")
        samples = () if times is None else tuple(times) if isinstance(times, list) else (times,)
        eligible = row.get("eligible")
        if eligible is not None and not isinstance(eligible, bool) and eligible != _UNKNOWN:
            raise ValueError(
                f'{at}: eligible: got {shown(eligible)}, expected true, false or "unknown"'
            )
        rows.append(_row(at, tuple(batch), samples, eligible))
    return rows, document.get("tasks")


def _known(at: str, given: dict[str, Any], keys: Sequence[str]) -> None:
    for key in given:
        if key not in keys:
            raise ValueError(f"{at}: got {shown(key)}, expected one of {', '.join(keys)}")


# Both --------------------------------------------------------------------------------------------


def _row(at: str, batch: tuple[Any, ...], samples: tuple[Any, ...], eligible: Any) -> _Row:
    if not batch or "" in batch:
        raise ValueError(f"{at}: batch: got no task, expected at least one")
    if samples in ((), (0,)):
        if eligible is True or eligible == _UNKNOWN:
            raise ValueError(f"{at}: completion: got none, expected a time")
        eligible = False
    for sample in samples:
        _one_time(at, sample, least=0 if eligible is False else 1)
    return _Row(at, batch, samples, eligible)


def _one_time(at: str, sample: Any, least: int) -> None:
    if isinstance(sample, (str, bool, list, dict)) or sample is None:
        raise ValueError(f"{at}: completion: got {shown(sample)}, expected a number")
    if completion_time(sample, at) < least:
        raise ValueError(f"{at}: completion: got {sample}, expected a positive number")


def _time(row: _Row, statistic: str) -> int:
    """Statistic of the samples, rounded up."""
    if row.eligible is False:
        return 0
    samples = sorted(int(sample) for sample in row.samples)
    if statistic == "worst":
        return samples[-1]
    if statistic == "median":
        low, high = samples[(len(samples) - 1) // 2], samples[len(samples) // 2]
        return -(-(low + high) // 2)
    return -(-sum(samples) // len(samples))


def _indices(where: str, rows: list[_Row], listed: Any, tasks: Any) -> tuple[dict[Any, int], int]:
    """Indices of names and indices as written in the file, and the number of tasks."""
    index: dict[Any, int] = {}
    count: int | None = None
    if isinstance(tasks, (int, np.integer)) and not isinstance(tasks, bool):
        count = int(tasks)
    elif tasks is not None:
        names = _names(tasks)
        index = {name: i for i, name in enumerate(names)}
        count = len(names)
    if isinstance(listed, list):
        try:
            written = _names(listed)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None
        if index and set(written) != set(index):
            offender = next(iter(set(written) ^ set(index)))
            raise ValueError(f"{where}: got task {offender!r}, expected it both here and in tasks")
        index = index or {name: i for i, name in enumerate(written)}
        # Indices in the file count in the file's own list.
        index |= {i: index[name] for i, name in enumerate(written)}
        listed = len(written)
    if listed is not None:
        if isinstance(listed, bool) or not isinstance(listed, int):
            raise ValueError(f"{where}: tasks: got {shown(listed)}, expected names or a number")
        if count is not None and count != listed:
            raise ValueError(f"{where}: got {listed} tasks, expected {count}")
        count = listed
    if count is None:
        index, count = _numbered(rows)
    if count < 1:
        raise ValueError(f"{where}: got {count} tasks, expected at least one")
    if count > MAX_TASKS:
        raise ValueError(f"{where}: got {count} tasks, expected at most {MAX_TASKS}")
    return {**{i: i for i in range(count)}, **index}, count


def _numbered(rows: list[_Row]) -> tuple[dict[Any, int], int]:
    """Tasks without a list of names: numbered by indices, or by their rows of a single task."""
    most = -1
    for row in rows:
        for token in row.batch:
            number = _as_index(token)
            if number is None:
                index: dict[Any, int] = {}
                for single in rows:
                    if len(single.batch) == 1:
                        index.setdefault(single.batch[0], len(index))
                return index, max(len(index), 1)
            if number < 0:
                raise ValueError(f"{row.where}: got task {token}, expected numbers from 0")
            if number >= MAX_TASKS:
                raise ValueError(f"{row.where}: got task {token}, expected at most {MAX_TASKS}")
            most = max(most, number)
    return {}, most + 1


def _as_index(token: Any) -> int | None:
    if isinstance(token, str):
        return int(token) if token.isascii() and token.isdecimal() and len(token) < 10 else None
    return int(token)


def _lookup(row: _Row, token: Any, index: dict[Any, int], n: int) -> int:
    if token in index:
        return index[token]
    number = _as_index(token)
    if number is not None and number in index:
        return index[number]
    _unknown(row, token, index, n)


def _unknown(row: _Row, token: Any, index: dict[Any, int], n: int) -> NoReturn:
    names = [name for name in index if isinstance(name, str)]
    known = ", ".join(map(repr, names)) if names else f"0 to {n - 1}"
    raise ValueError(f"{row.where}: got the unknown task {token!r}, expected one of {known}")


class Batches(Protocol):
    """Protocol of a batch table."""

    @property
    def completion(self) -> Int64Array: ...
    @property
    def undecided(self) -> Int64Array | None: ...
    @property
    def _orders(self) -> OrdersAt | None: ...
    def _submissions(self, at: Int64Array) -> Orders: ...
    @property
    def n(self) -> int: ...
    @property
    def is_stack(self) -> bool: ...


def table_of(table: Batches, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a table or stack; ``names``: of the tasks."""
    completion = np.atleast_2d(table.completion)
    undecided = np.zeros_like(completion)
    if table.undecided is not None:
        undecided = np.atleast_2d(table.undecided)
    sets, masks = np.nonzero(completion + undecided)
    decided = completion[sets, masks] > 0
    tasks = _submissions(table, sets, masks, decided)
    if names is not None:
        if len(names) != table.n:
            raise ValueError(f"names: got {len(names)}, expected {table.n}, one per task")
        tasks[:] = [names_of(batch, names) for batch in tasks]
    columns: dict[str, Any] = {"set": sets} if table.is_stack else {}
    columns |= {
        "size": np.bitwise_count(masks).astype(np.int64),
        "tasks": tasks.tolist(),
        "completion": completion[sets, masks] + undecided[sets, masks],
        "undecided": ~decided,
    }
    return columns


def _submissions(
    table: Batches, sets: Int64Array, masks: Int64Array, decided: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Tasks of batches in the order of submission, equal tuples made once."""
    by_index = np.empty(1 << table.n, object)
    different = np.flatnonzero(np.bincount(masks, minlength=len(by_index)))
    by_index[different] = order_tuples(orders_by_index(different, table.n))
    tasks: npt.NDArray[np.object_] = by_index[masks]
    if table._orders is not None:
        at = sets * len(by_index) + masks
        other = np.flatnonzero(decided & np.isin(at, table._orders[0]))
        tasks[other] = order_tuples(table._submissions(at[other]))
    return tasks


def collected_from(frame: pd.DataFrame) -> Collected:
    """The batches of one table or of a stack."""
    known = ["set", "mask", "size", "tasks", "undecided"]
    rows = Table(frame, ["completion"], known, ["set"])
    if "tasks" not in rows and "mask" not in rows:
        raise ValueError("frame: got no column 'tasks', expected tasks or mask")
    keys = rows.entries("tasks") if "tasks" in rows else rows.whole("mask")
    masks = rows.whole("mask") if "mask" in rows else None
    most = max(_largest_task(key, row) for row, key in enumerate(keys))
    n = task_count(most + 1)
    sets = rows.whole("set") if "set" in rows else [0] * rows.length
    if sorted(set(sets)) != list(range(max(sets) + 1)):
        raise ValueError("frame: got sets that are not numbered from 0, expected all of them")
    collected = Collected(n, max(sets) + 1 if "set" in rows else None)
    seen = set()
    times, undecided = rows.whole("completion"), rows.entries("undecided")
    for row, key in enumerate(keys):
        what = f"frame: row {row}"
        order = key_order(key, n, what)
        mask = sum(1 << task for task in order)
        if masks is not None and masks[row] != mask:
            raise ValueError(f"{what}: got mask {masks[row]}, expected {mask} as of the tasks")
        if (sets[row], mask) in seen:
            raise ValueError(f"{what}: got batch {set_text(mask)} twice, expected it once")
        if undecided[row] not in (None, False, True):
            raise ValueError(f"{what}: got undecided = {undecided[row]!r:.60}, expected a bool")
        seen.add((sets[row], mask))
        time = completion_time(times[row], what)
        collected.add(order, time, not undecided[row], sets[row])
    return collected


def _largest_task(key: Any, row: int) -> int:
    """The largest index of a batch, by its tasks or its mask."""
    if isinstance(key, int):
        return key.bit_length() - 1
    if not isinstance(key, (tuple, list)) or not all(isinstance(task, int) for task in key):
        raise ValueError(f"frame: tasks[{row}]: got {key!r:.60}, expected a tuple of indices")
    return max(key, default=0)
