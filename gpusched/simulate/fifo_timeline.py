"""Timelines of runs of kernels in FIFO order: blocks on threads or SMs, jobs in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.block_lanes import Placement, Run, spans, split
from gpusched._draw.timeline import (
    NOTHING,
    CounterColumns,
    Key,
    Lane,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Span,
    Timeline,
    Words,
    in_window,
    labelled,
    late_key,
    window,
)
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip
from gpusched.model.gpu import GPU, WARP_THREADS
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

# Waves that a picture shows: without ``until``, and with it. More are only counted.
SHOWN_WAVES = (300, 3000)
_MOST_BLOCKS = 2000  # above it, the blocks of a wave are drawn as one
_MOST_RELEASES = 600
_MOST_SMS = 192
_LEGEND = 10  # tasks in the legend
_LABEL = 28  # characters of a task's name
_JOBS, _GPU = "jobs", "GPU"


class WaveColumns(Protocol):
    """Columns of waves."""

    @property
    def task(self) -> Int64Array: ...
    @property
    def job(self) -> Int64Array: ...
    @property
    def blocks(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def sm(self) -> Int64Array | None: ...
    @property
    def kernel(self) -> Int64Array | None: ...


class Records(Protocol):
    """Protocol of a run: the records that are drawn."""

    @property
    def task(self) -> Int64Array: ...
    @property
    def job(self) -> Int64Array: ...
    @property
    def release(self) -> Int64Array: ...
    @property
    def deadline(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def dispatched(self) -> Int64Array: ...
    @property
    def response(self) -> Int64Array: ...
    @property
    def late(self) -> npt.NDArray[np.bool_]: ...
    @property
    def waves(self) -> WaveColumns | None: ...
    @property
    def tasks(self) -> KernelTasks | KernelChains: ...
    @property
    def threads(self) -> int: ...
    @property
    def gpu(self) -> GPU | None: ...
    @property
    def placement(self) -> str | None: ...
    @property
    def order(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def now(self) -> int: ...


def picture(
    run: Records,
    unit: str | None,
    since: Any,
    until: Any,
    labels: Mapping[tuple[int, int], str] | None = None,
) -> Timeline:
    """Timeline of a window: blocks in a lane of threads, or of each SM, below them the releases."""
    waves = run.waves
    if waves is None:
        raise ValueError("waves: got a run without them, expected one with waves=True")
    low, high = window(since, until)
    last = int(waves.end.max(initial=1))
    shown, end, hidden = in_window(waves.start, waves.end, low, high, last, SHOWN_WAVES)
    used = np.unique(waves.task[shown]).tolist()[:_LEGEND]
    notes = [f"{hidden} more waves are not shown"] if hidden else []
    marks: list[Mark] = []
    if waves.sm is None or run.gpu is None:
        lanes = [Lane("threads", _GPU, height=216, scale=_scale(run.threads))]
        pieces, title = tuple(_placed(run, waves, shown, labels or {})), "threads"
    else:
        lanes = _sm_lanes(run.gpu)
        pieces, title = _on_sms(run, waves, waves.sm, run.gpu, shown, labels or {})
        if run.gpu.sms > _MOST_SMS:
            notes.append(f"SMs {_MOST_SMS} to {run.gpu.sms - 1} are not shown")
    first = len(lanes)
    inside = (run.release >= low) & (run.release < end) & np.isin(run.task, used)
    if used and inside.sum() <= _MOST_RELEASES:
        lanes += [Lane("", _GPU, height=10, line=False) for _ in used]
        for task, time in zip(run.task[inside].tolist(), run.release[inside].tolist(), strict=True):
            marks.append(Mark(first + used.index(task), time, "release", task, 0.6))
    keys = [Key(clip(run.tasks.name[task], _LABEL), task) for task in used]
    if len(lanes) > first:
        keys.append(Key("release", mark="release"))
    if any(piece.late for piece in pieces):
        keys.append(late_key())
    return Timeline(
        lanes=tuple(lanes),
        pieces=pieces,
        since=low,
        end=end,
        unit=unit,
        marks=tuple(marks),
        keys=tuple(keys),
        notes=tuple(notes),
        title=title,
        numbers="jobs" if not labels and labelled(pieces, lanes) else "",
    )


def trace(run: Records) -> Timeline:
    """Timeline of the whole run: jobs, blocks by task or SM, and a counter of the busy threads."""
    n, waves = run.tasks.n, run.waves
    lanes = [Lane(name, _JOBS) for name in run.tasks.name]
    lane_of: Int64Array = np.zeros(0, np.int64)  # of each wave
    if waves is not None and waves.sm is not None:
        used, at = np.unique(waves.sm, return_inverse=True)
        lanes += [Lane("blocks", f"SM {sm}") for sm in used.tolist()]
        lane_of = n + at
    elif waves is not None:
        lanes += [Lane(name, _GPU) for name in run.tasks.name]
        lane_of = n + waves.task

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        yield _job_columns(run)
        if waves is not None:
            yield _wave_columns(run, waves, lane_of)
            yield from _busy(run, waves)

    other: dict[str, Any] = {"order": run.order, "threads": run.threads, "outcome": run.outcome}
    if run.gpu is not None:
        other |= {"gpu": run.gpu.name, "placement": run.placement}
    return Timeline(lanes=tuple(lanes), pieces=(), columns=Rows(columns), other=other)


def _sm_lanes(gpu: GPU) -> list[Lane]:
    sms = min(gpu.sms, _MOST_SMS)
    height = min(max(300 / sms, 3.2), 60.0)
    return [Lane(str(sm), f"SM {sm}", height) for sm in range(sms)]


def _on_sms(
    run: Records,
    waves: WaveColumns,
    sm: Int64Array,
    gpu: GPU,
    rows: Int64Array,
    labels: Mapping[tuple[int, int], str],
) -> tuple[tuple[Piece, ...], str]:
    """Pieces of some waves, by start, on the lowest free warps of their SMs, and the title."""
    rows = rows[sm[rows] < _MOST_SMS]
    whole = int(waves.blocks[rows].sum()) > _MOST_BLOCKS
    total = gpu.warps_per_sm
    room = {s: Placement(total) for s in np.unique(sm[rows]).tolist()}
    warps = -(-_widths(run, waves) // WARP_THREADS)
    columns = (sm, waves.task, waves.job, waves.blocks, waves.start, waves.end, warps)
    table = list(zip(*(column[rows].tolist() for column in columns), strict=True))
    places = [room[s].place(start, end, b, width) for s, _, _, b, start, end, width in table]
    peak = max((low + size for runs in places for low, size in runs), default=1)
    drawn = total
    while drawn >= 2 * peak:  # lanes show the part of the SMs that is used
        drawn = -(-drawn // 2)
    pieces = []
    for piece, runs, (_, task, job, *_, width) in zip(
        _waves(run, waves, rows, sm), places, table, strict=True
    ):
        boxes = spans(runs if whole else split(runs, width), drawn, 0.04, 0.96)
        label = str(labels.get((task, job), job))
        pieces.append(replace(piece, spans=boxes, label=label))
    return tuple(pieces), "SM" if drawn == total else f"SM ({drawn} of {total} warps)"


def _widths(run: Records, waves: WaveColumns) -> Int64Array:
    """Threads of a block of each wave."""
    at = waves.task if waves.kernel is None else (waves.task, waves.kernel)
    widths: Int64Array = run.tasks.threads[at]
    return widths


def _scale(threads: int) -> tuple[tuple[float, str], ...]:
    """Numbers of threads along their lane."""
    steps = [0, threads]
    if threads <= 8:
        steps = list(range(threads + 1))
    else:
        parts = next((parts for parts in (4, 5, 3, 2) if threads % parts == 0), 1)
        steps = [threads // parts * k for k in range(parts + 1)]
    return tuple((1 - step / threads, str(step)) for step in steps)


def _waves(
    run: Records, waves: WaveColumns, rows: Int64Array, lane_of: Int64Array | None = None
) -> Iterator[Piece]:
    """Pieces of some waves, in these lanes (one per wave of the run); in lane 0 without them."""
    late = dict(
        zip(zip(run.task.tolist(), run.job.tolist(), strict=True), run.late.tolist(), strict=True)
    )
    lanes = np.zeros(len(rows), np.int64) if lane_of is None else lane_of[rows]
    where = [""] * len(rows)
    if waves.sm is not None:
        where = [f" on SM {sm}" for sm in waves.sm[rows].tolist()]
    kernels = [""] * len(rows)
    if waves.kernel is not None:
        kernels = [f", kernel {kernel}" for kernel in waves.kernel[rows].tolist()]
    columns = (waves.task, waves.job, waves.blocks, waves.start, waves.end, _widths(run, waves))
    table = zip(*(c[rows].tolist() for c in columns), lanes.tolist(), where, kernels, strict=True)
    for task, job, blocks, start, end, width, lane, place, kernel in table:
        name, count = run.tasks.name[task], "1 block" if blocks == 1 else f"{blocks} blocks"
        yield Piece(
            lane=lane,
            start=start,
            end=end,
            name=f"{name} #{job}{kernel}: {count} of {width} threads{place}",
            color=task,
            label=str(job),
            late=late[task, job],
            args={"job": job, "blocks": blocks, "threads": blocks * width},
        )


def _wave_columns(run: Records, waves: WaveColumns, lanes: Int64Array) -> PieceColumns:
    """All waves, in these lanes."""
    rows = np.argsort(waves.start, kind="stable")
    task, blocks = waves.task[rows], waves.blocks[rows]
    threads = _widths(run, waves)[rows]
    count = Words((blocks == 1).astype(np.int64), (" blocks of ", " block of "))
    job = _job_name(run, task, waves.job[rows])
    of = (*job, ": ") if waves.kernel is None else (*job, ", kernel ", waves.kernel[rows], ": ")
    name = (*of, blocks, count, threads, " threads")
    return PieceColumns(
        lane=lanes[rows],
        start=waves.start[rows],
        end=waves.end[rows],
        name=name if waves.sm is None else (*name, " on SM ", waves.sm[rows]),
        args={"job": waves.job[rows], "blocks": blocks, "threads": blocks * threads},
    )


def _job_name(run: Records, task: Int64Array, job: Int64Array) -> tuple[Words, str, Int64Array]:
    return Words(task, run.tasks.name), " #", job


def _placed(
    run: Records, waves: WaveColumns, rows: Int64Array, labels: Mapping[tuple[int, int], str]
) -> Iterator[Piece]:
    """Pieces of some waves, by start, on the lowest free threads."""
    whole = int(waves.blocks[rows].sum()) > _MOST_BLOCKS
    placement = Placement(run.threads)
    columns = (waves.task, waves.job, waves.blocks, _widths(run, waves))
    tasks, jobs, blocks, width = (column[rows].tolist() for column in columns)
    for k, piece in enumerate(_waves(run, waves, rows)):
        runs: list[Run] = placement.place(piece.start, piece.end, blocks[k], width[k])
        boxes: tuple[Span, ...] = spans(runs if whole else split(runs, width[k]), run.threads)
        label = str(labels.get((tasks[k], jobs[k]), jobs[k]))
        yield replace(piece, spans=boxes, label=label)


def _job_columns(run: Records) -> PieceColumns:
    """All jobs that have started."""
    started = np.flatnonzero(run.start >= 0)
    started = started[np.argsort(run.start[started], kind="stable")]
    # A job that has not finished lasts as far as is known.
    ends = np.where(run.end >= 0, run.end, np.maximum(run.now, run.start))
    times = {"release": run.release, "deadline": run.deadline, "dispatched": run.dispatched}
    times["response"] = run.response
    known = {name: time[started] for name, time in times.items()}
    return PieceColumns(
        lane=run.task[started],
        start=run.start[started],
        end=ends[started],
        name=_job_name(run, run.task[started], run.job[started]),
        args={"job": run.job[started], "late": run.late[started]},
        times={name: np.where(time >= 0, time, NOTHING) for name, time in known.items()},
    )


def _busy(run: Records, waves: WaveColumns) -> Iterator[CounterColumns]:
    """Busy threads over time, of the GPU or of each SM (in whole warps)."""
    width = _widths(run, waves)
    if waves.sm is None:
        yield _held(_GPU, waves, np.arange(len(waves.start)), width)
        return
    width = WARP_THREADS * -(-width // WARP_THREADS)
    order = np.argsort(waves.sm, kind="stable")
    used, begin = np.unique(waves.sm[order], return_index=True)
    for sm, rows in zip(used.tolist(), np.split(order, begin[1:]), strict=True):
        yield _held(f"SM {sm}", waves, rows, width)


def _held(group: str, waves: WaveColumns, rows: Int64Array, width: Int64Array) -> CounterColumns:
    held = waves.blocks[rows] * width[rows]
    instants = np.concatenate([waves.start[rows], waves.end[rows]])
    times, index = np.unique(instants, return_inverse=True)
    total = np.zeros(len(times), dtype=np.int64)
    np.add.at(total, index, np.concatenate([held, -held]))
    return CounterColumns(
        (group,), np.zeros(len(times), np.int64), times, "threads", {"busy": np.cumsum(total)}
    )
