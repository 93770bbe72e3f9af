"""`HostTasks` as pandas tables, one row per segment pair of every task and set; text and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.tabular import Table, optional
from gpusched._support.text import TICKS, clip, escape, plural
from gpusched.model.host_lists import sm_sets
from gpusched.model.host_segments import MAX_SMS, ROW_FIELDS, HostColumns, rows_below, with_zeros

if TYPE_CHECKING:
    import pandas as pd

    from gpusched._support.arguments import Int64Array

__all__ = ["fields_of", "html_of", "job_of", "table_of", "text_of"]


def table_of(hosts: HostColumns) -> dict[str, Any]:
    """The columns of `HostTasks.to_frame`."""
    # Rows of each task of each set, none where a set has fewer tasks than the largest.
    count = np.where(hosts.is_task, hosts.segments + 1, 0).ravel()
    tasks = np.repeat(np.arange(len(count)), count)
    segment = np.arange(len(tasks)) - np.repeat(np.cumsum(count) - count, count)
    last = segment == count[tasks] - 1
    columns: dict[str, Any] = {}
    if hosts.is_stack:
        columns["set"] = tasks // hosts.n
    columns["task"] = tasks % hosts.n
    columns["name"] = np.array(hosts.name, dtype=object)[tasks % hosts.n]
    columns["segment"] = segment
    size = (len(count), hosts.width)
    columns["cpu"] = hosts.cpu.reshape(len(count), hosts.width + 1)[tasks, segment]
    at = np.minimum(segment, max(hosts.width - 1, 0))
    kernel = hosts.kernel.reshape(*size, hosts.columns)
    gpu = {"copy_in": hosts.copy_in.reshape(size)}
    gpu |= {f"kernel_{k + 1}": kernel[..., k] for k in range(hosts.columns)}
    gpu["copy_out"] = hosts.copy_out.reshape(size)
    for key, array in gpu.items():
        values = array[tasks, at] if hosts.width else np.zeros(len(tasks), np.int64)
        columns[key] = optional(values, ~last)
    for key in ROW_FIELDS[:-2]:
        columns[key] = getattr(hosts, key).ravel()[tasks]
    core = hosts.core.ravel()[tasks]
    columns["core"] = optional(core)
    flags = hosts.sm.reshape(len(count), hosts.sms)
    sets = [tuple(np.flatnonzero(row).tolist()) for row in flags]
    columns["sm"] = [sets[i] for i in tasks.tolist()]
    columns["sms"] = np.full(len(tasks), hosts.sms)
    columns["width"] = np.full(len(tasks), hosts.width)
    return columns


def fields_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Arguments of `HostTasks` from the table of `HostTasks.from_frame`."""
    known = [*ROW_FIELDS[1:-1], "copy_in", "copy_out", "sm", "sms", "width", "set", "name"]
    kernels = _kernel_columns(frame)
    needed = ["task", "segment", "cpu", "period"]
    table = Table(frame, needed, [*known, *kernels], ["set", "task", "segment"])
    segment = np.array(table.whole("segment"))
    first = np.flatnonzero(segment == 0)
    count = np.diff(np.append(first, table.length))
    expected = np.arange(table.length) - np.repeat(first, count) if len(first) else segment + 1
    if not np.array_equal(segment, expected):
        row = int(np.argmax(segment != expected)) if len(first) and first[0] == 0 else 0
        raise ValueError(
            f"frame: segment[{row}]: got {segment[row]}, expected the segments of each task, "
            "numbered from 0"
        )
    tasks = np.repeat(np.arange(len(first)), count)
    rows = table.first(first.tolist(), tasks.tolist(), [*ROW_FIELDS[:-1], *known[-5:], "task"])
    sizes = rows.set_sizes()
    values = _row_fields(rows)
    values["segments"] = count - 1
    width = max(max(rows.whole("width")) if "width" in rows else 0, int(count.max()) - 1)
    room: dict[str, tuple[int, ...]] = {
        "cpu": (width + 1,),
        "copy_in": (width,),
        "kernel": (width, max(len(kernels), 1)),
        "copy_out": (width,),
    }
    inside = segment < (count - 1)[tasks]
    for key, size in room.items():
        array = values[key] = np.zeros((len(first), *size), np.int64)
        if key == "cpu":
            array[tasks, segment] = table.whole("cpu")
            continue
        for k, column in enumerate(kernels if key == "kernel" else [key]):
            if column in table:
                entries = _only(table, column, inside)
                where = (tasks[inside], segment[inside])
                array[(*where, k) if key == "kernel" else where] = entries
    names = rows.constant("name", sizes)
    if "set" not in rows:
        return values | {"name": names}
    each = np.array(sizes, np.int64)
    return {key: _by_set(v, each) for key, v in values.items()} | {"name": names, "sizes": each}


def _row_fields(rows: Table) -> dict[str, Any]:
    """Arrays with one entry per task, of a table with one row per task."""
    sms = max(rows.whole("sms")) if "sms" in rows else 0
    sets = rows.entries("sm")
    for row, item in enumerate(sets):
        if not isinstance(item, (tuple, list, range, type(None))):
            raise ValueError(f"frame: sm[{row}]: got {item!r:.60}, expected a tuple of indices")
    chosen = sm_sets([item or () for item in sets], MAX_SMS)
    assert chosen is not None
    values: dict[str, Any] = {"sm": with_zeros(chosen, 1, sms - chosen.shape[1])}
    for key in ROW_FIELDS[:-1]:
        if key in rows:
            values[key] = np.array(rows.whole(key, -1 if key == "core" else None), np.int64)
    return values


def _by_set(rows: npt.NDArray[Any], sizes: Int64Array) -> npt.NDArray[Any]:
    """Rows of all sets, one set behind the other, with an axis for the sets."""
    most = int(sizes.max())
    stack = np.zeros((len(sizes), most, *rows.shape[1:]), rows.dtype)
    stack[rows_below(sizes, most)] = rows
    return stack


def _kernel_columns(frame: pd.DataFrame) -> list[str]:
    """The columns kernel_1, kernel_2, ... in order."""
    kernels = sorted(
        (key for key in map(str, getattr(frame, "columns", ())) if _kernel_sms(key)),
        key=_kernel_sms,
    )
    if [_kernel_sms(key) for key in kernels] != list(range(1, len(kernels) + 1)):
        raise ValueError(f"frame: got {', '.join(kernels)}, expected kernel_1, kernel_2, ...")
    return kernels


def _kernel_sms(column: str) -> int:
    """The number of SMs of a column ``kernel_1``, ``kernel_2``, ...; 0 for other columns."""
    number = column.removeprefix("kernel_")
    ours = number != column and number.isascii() and number.isdecimal() and len(number) < 5
    return int(number) if ours else 0


def _only(table: Table, column: str, inside: npt.NDArray[np.bool_]) -> list[int]:
    """The whole numbers of the rows that have a GPU segment; missing in the others."""
    entries = table.entries(column)
    for row, there in enumerate(inside.tolist()):
        if not there and entries[row] is not None:
            raise ValueError(
                f"frame: {column}[{row}]: got {entries[row]!r:.60}, expected a missing value in "
                "the last row of a task"
            )
    return [value for value, there in zip(table.whole(column, 0), inside, strict=True) if there]


_SHOWN_ROWS = 40


def text_of(hosts: HostColumns) -> str:
    """The call that makes a small set, or the size of a larger one or a stack."""
    if hosts.is_stack:
        return f"<{_stack(hosts)}>"
    shown = f"HostTasks.from_segments({clip(str(hosts.period[:20].tolist()), 80)}, "
    jobs = ", ".join(str(job_of(hosts, i)) for i in range(min(hosts.n, 20)))
    more = ""
    if (hosts.deadline != hosts.period).any():
        more += f", deadline={hosts.deadline.tolist()}"
    if hosts.jitter.any():
        more += f", jitter={hosts.jitter.tolist()}"
    if "priority" not in hosts._derived:
        more += f", priority={hosts.priority.tolist()}"
    if hosts.offset.any():
        more += f", offset={hosts.offset.tolist()}"
    if (hosts.core >= 0).any():
        more += f", core={hosts.core.tolist()}"
    if hosts.sms:
        more += f", sm={[np.flatnonzero(row).tolist() for row in hosts.sm]}"
    if "name" not in hosts._derived:
        more += f", name={list(hosts.name)}"
    if len(shown) + len(jobs) < 160 and len(more) < 160 and hosts.n <= 20:
        return f"{shown}[{jobs}]{more})"
    segments = int(hosts.segments.sum())
    return f"<HostTasks: {plural(hosts.n, 'task')}, {plural(segments, 'GPU segment')}>"


def html_of(hosts: HostColumns) -> str:
    """A table of a set's tasks, or the size of a stack."""
    if hosts.is_stack:
        return f"<p>{_stack(hosts)}</p>"
    placed = bool((hosts.core >= 0).any() or hosts.sms)
    keys = ["period", "deadline", "priority", "job", *(["core", "SMs"] if placed else [])]
    head = "".join(f"<th>{key}</th>" for key in keys)
    rows = "".join(
        f"<tr><th>{escape(clip(hosts.name[i], 60))}</th>"
        + "".join(f"<td>{escape(_cell(hosts, i, key))}</td>" for key in keys)
        + "</tr>"
        for i in range(min(hosts.n, _SHOWN_ROWS))
    )
    note = f"<p>and {hosts.n - _SHOWN_ROWS} more tasks</p>" if hosts.n > _SHOWN_ROWS else ""
    return f"<table>{TICKS}<tr><th></th>{head}</tr>{rows}</table>{note}"


def _stack(hosts: HostColumns) -> str:
    least = f"{hosts.sizes.min()} to " if hosts.is_ragged else ""
    return f"HostTasks: {plural(len(hosts), 'set')} of {least}{plural(hosts.n, 'task')}"


def job_of(hosts: HostColumns, i: int) -> list[Any]:
    """Task i's job as `HostTasks.from_segments` takes it."""
    job: list[Any] = []
    for j in range(int(hosts.segments[i]) + 1):
        if hosts.cpu[i, j] > 0:
            job.append(int(hosts.cpu[i, j]))
        if j < hosts.segments[i]:
            times = hosts.kernel[i, j].tolist()
            while len(times) > 1 and times[-1] == times[-2]:
                times.pop()
            kernel = times if len(times) > 1 else times[0]
            job.append((int(hosts.copy_in[i, j]), kernel, int(hosts.copy_out[i, j])))
    return job


def _cell(hosts: HostColumns, i: int, key: str) -> str:
    if key == "job":
        return clip(", ".join(str(part) for part in job_of(hosts, i)), 80)
    if key == "SMs":
        return clip(", ".join(map(str, np.flatnonzero(hosts.sm[i]))), 40)
    value = int(getattr(hosts, key)[i])
    return "" if key == "core" and value < 0 else str(value)
