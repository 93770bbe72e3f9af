"""Arrays of `HostTasks` from nested lists, from sets of SMs and from times per job."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, int_array
from gpusched._support.text import shown


def differ_in_length(value: Any) -> bool:
    """Whether these are lists of different lengths, which an array cannot hold."""
    if not isinstance(value, (list, tuple)):
        return False
    try:
        return np.asarray(value).dtype == object and any(_is_list(row) for row in value)
    except ValueError:
        return True


def from_lists(jobs: dict[str, Any]) -> tuple[dict[str, Any], Int64Array]:
    """Arrays from lists per task, with unchecked entries, and the numbers of GPU segments.

    ``jobs``: cpu, copy_in, kernel and copy_out; a number applies to all segments of a task, or of
    all tasks.
    """
    if not _is_list(jobs["cpu"]):
        raise ValueError(
            "cpu: got no lists, expected one per task, as other lists differ in length"
        )
    cpu = [list(row) if _is_list(row) else [row] for row in jobs["cpu"]]
    for i, row in enumerate(cpu):
        if not row:
            raise ValueError(f"cpu[{i}]: got an empty list, expected at least one segment")
    segments = np.array([len(row) - 1 for row in cpu], np.int64)
    rows = {key: _rows(value, key, segments) for key, value in jobs.items() if key != "cpu"}
    kernels = [[list(e) if _is_list(e) else [e] for e in row] for row in rows["kernel"]]
    for i, row in enumerate(kernels):
        for j, times in enumerate(row):
            if not times:
                raise ValueError(
                    f"kernel[{i}][{j}]: got no entries, expected one for at least one SM"
                )
    most = max((len(times) for row in kernels for times in row), default=1)
    full = [[times + times[-1:] * (most - len(times)) for times in row] for row in kernels]
    n, width = len(cpu), int(segments.max(initial=0))
    return {
        "cpu": _filled("cpu", cpu, (n, width + 1)),
        "copy_in": _filled("copy_in", rows["copy_in"], (n, width)),
        "kernel": _filled("kernel", full, (n, width, most)),
        "copy_out": _filled("copy_out", rows["copy_out"], (n, width)),
    }, segments


def _rows(value: Any, key: str, segments: Int64Array) -> list[list[Any]]:
    """One list per task with an entry for each of its GPU segments."""
    if not _is_list(value):
        return [[value] * int(k) for k in segments]
    if len(value) != len(segments):
        raise ValueError(f"{key}: got {len(value)} entries, expected {len(segments)}, one per task")
    rows = [
        list(row) if _is_list(row) else [row] * int(k)
        for row, k in zip(value, segments, strict=True)
    ]
    for i, (row, k) in enumerate(zip(rows, segments, strict=True)):
        if len(row) != k:
            raise ValueError(
                f"{key}[{i}]: got {len(row)} entries, expected {k}, as cpu[{i}] has {k + 1} entries"
            )
    return rows


def _filled(key: str, rows: list[list[Any]], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.zeros(shape, object)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if len(shape) == 3:
                for k, item in enumerate(entry):
                    array[i, j, k] = _number(item, f"{key}[{i}, {j}, {k}]")
            else:
                array[i, j] = _number(entry, f"{key}[{i}, {j}]")
    return array


def _number(item: Any, where: str) -> Any:
    if _is_list(item):
        raise TypeError(f"{where}: got {shown(item)}, expected a number")
    return item


def jobs_to_rows(jobs: Iterable[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Convert jobs, lists of numbers and triples, to rows cpu, copy_in, kernel, copy_out."""
    rows: tuple[list[Any], list[Any], list[Any], list[Any]] = ([], [], [], [])
    if isinstance(jobs, (str, bytes)) or not isinstance(jobs, Iterable):
        raise TypeError(
            f"jobs: got {shown(jobs)}, expected a list of lists of segments, one per task"
        )
    for i, job in enumerate(jobs):
        if isinstance(job, (str, bytes)) or not isinstance(job, Iterable):
            raise TypeError(f"jobs[{i}]: got {shown(job)}, expected a list of segments")
        for row, part in zip(rows, _split(list(job), i), strict=True):
            row.append(part)
    return rows


def _split(job: list[Any], i: int) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    cpu: list[Any] = []
    gpu: list[Any] = []
    for j, part in enumerate(job):
        if _is_list(part):
            if len(part) != 3:
                raise ValueError(
                    f"jobs[{i}][{j}]: got {shown(part)}, expected a number or a triple (copy_in, "
                    "kernel, copy_out)"
                )
            times = part[1] if _is_list(part[1]) else ()
            if any(_is_list(piece) for piece in (part[0], *times, part[2])):
                raise TypeError(
                    f"jobs[{i}][{j}]: got {shown(part)}, expected a list of numbers for the kernel "
                    "alone"
                )
            if len(cpu) == len(gpu):  # nothing on the CPU since the segment before
                cpu.append(0)
            gpu.append(part)
        elif len(cpu) > len(gpu):
            raise ValueError(
                f"jobs[{i}][{j}]: got {shown(part)}, expected a GPU segment, as two CPU segments "
                "in a row are one"
            )
        else:
            cpu.append(part)
    if not job:
        raise ValueError(f"jobs[{i}]: got an empty list, expected at least one segment")
    if len(cpu) == len(gpu):
        cpu.append(0)
    return cpu, [g[0] for g in gpu], [g[1] for g in gpu], [g[2] for g in gpu]


def sm_sets(sm: Any, limit: int) -> npt.NDArray[np.bool_] | None:
    """SMs of each set, from a bool array or lists of SM indices; None for None."""
    refusal = (
        f"sm: got {shown(sm)}, expected a bool array with one row per task, or lists of SM indices"
    )
    if sm is None:
        return None
    if not _is_group(sm):
        raise TypeError(refusal)
    try:
        array = np.asarray(sm)
        if array.dtype == np.bool_ and array.ndim in (2, 3):
            if array.shape[-1] > limit:
                raise OverflowError(f"sm: got {array.shape[-1]} SMs, expected at most {limit}")
            return array
    except ValueError:
        pass
    if isinstance(sm, np.ndarray) or not all(_is_group(row) for row in sm):
        raise TypeError(refusal)
    if any(_is_group(item) for row in sm for item in row):  # a stack
        stack = [[_indices(s, f"sm[{a}][{i}]", limit) for i, s in enumerate(row)]
                 for a, row in enumerate(sm)]  # fmt: skip
        if len({len(row) for row in stack}) > 1:
            raise ValueError("sm: got sets of different numbers of tasks, expected a stack")
        count = max((max(s, default=-1) + 1 for row in stack for s in row), default=0)
        return np.stack([_marked(row, count) for row in stack])
    rows = [_indices(row, f"sm[{i}]", limit) for i, row in enumerate(sm)]
    return _marked(rows, max((max(row, default=-1) + 1 for row in rows), default=0))


def _marked(rows: list[list[int]], count: int) -> npt.NDArray[np.bool_]:
    marked = np.zeros((len(rows), count), np.bool_)
    for i, row in enumerate(rows):
        marked[i, row] = True
    return marked


def _indices(row: Any, where: str, limit: int) -> list[int]:
    if not _is_group(row):
        raise TypeError(f"{where}: got {shown(row)}, expected a list of SM indices")
    found = []
    for j, item in enumerate(row):
        try:
            if isinstance(item, (bool, np.bool_)):
                raise TypeError
            index = operator.index(item)
        except TypeError:
            raise TypeError(
                f"{where}[{j}]: got {shown(item)}, expected the index of an SM"
            ) from None
        if not 0 <= index < limit:
            raise ValueError(
                f"{where}[{j}]: got {shown(index)}, expected an SM index from 0 to {limit - 1}"
            )
        found.append(index)
    return found


def _is_list(value: Any) -> bool:
    """Whether this has an order, as segments and times on 1, 2, ... SMs have."""
    return isinstance(value, (list, tuple, range)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


def _is_group(value: Any) -> bool:
    """Whether this can be a set of SMs."""
    return _is_list(value) or isinstance(value, (set, frozenset))


def to_segments(period: Any, cpu: Any, gpu: Any, section: Any) -> dict[str, Any]:
    """Arguments of `HostTasks` for jobs that use the GPU once or not at all ([RTNS10])."""
    e, s = int_array(cpu, "cpu"), int_array(gpu, "gpu")
    cs = s if section is None else int_array(section, "section")
    try:
        shape = np.broadcast_shapes(int_array(period, "period").shape, e.shape, s.shape, cs.shape)
    except ValueError as error:
        raise ValueError(f"period, cpu, gpu, section: {error}") from None
    e, s, cs = (np.broadcast_to(array, shape or (1,)) for array in (e, s, cs))
    for name, array in (("cpu", e), ("gpu", s), ("section", cs)):
        at_least(array, 0, name)
    _refuse_section(cs < s, cs, "at least the time of the kernel in it")
    _refuse_section(cs - s > e, cs, "at most the job, whose CPU time has the copies")
    return {
        "cpu": np.stack([e - (cs - s), np.zeros_like(e)], axis=-1),
        "copy_in": (cs - s)[..., None],
        "kernel": s[..., None, None],
        "copy_out": np.zeros_like(e)[..., None],
        "segments": (cs > 0).astype(np.int64),
    }


def _refuse_section(bad: Any, section: Int64Array, why: str) -> None:
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"[{', '.join(map(str, at))}]" if at else ""
        raise ValueError(f"section{where}: got {section[at]}, expected {why}")
