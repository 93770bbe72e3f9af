"""Timelines of runs of kernels in FIFO order: blocks on threads, jobs in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.lanes import Placement, Run, spans, split
from gpusched._draw.timeline import (
    Counter,
    Key,
    Lane,
    Mark,
    Piece,
    Rows,
    Span,
    Timeline,
    in_window,
    late_key,
    window,
)
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip
from gpusched.model.kernel_tasks import KernelTasks

# Waves that a picture shows: without ``until``, and with it. More are only counted.
SHOWN_WAVES = (300, 3000)
_MOST_BLOCKS = 2000  # above it, the blocks of a wave are drawn as one
_MOST_RELEASES = 600
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
    def finish(self) -> Int64Array: ...
    @property
    def dispatched(self) -> Int64Array: ...
    @property
    def response(self) -> Int64Array: ...
    @property
    def late(self) -> npt.NDArray[np.bool_]: ...
    @property
    def waves(self) -> WaveColumns | None: ...
    @property
    def tasks(self) -> KernelTasks: ...
    @property
    def threads(self) -> int: ...
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
    """Timeline of a window: one lane of threads with blocks, below it the tasks' releases."""
    waves = run.waves
    if waves is None:
        raise ValueError("waves: got a run without them, expected one with waves=True")
    low, high = window(since, until)
    last = int(waves.end.max(initial=1))
    shown, end, hidden = in_window(waves.start, waves.end, low, high, last, SHOWN_WAVES)
    used = np.unique(waves.task[shown]).tolist()[:_LEGEND]
    threads = Lane("threads", _GPU, height=216, scale=_scale(run.threads))
    marks = []
    lanes = [threads]
    inside = (run.release >= low) & (run.release < end) & np.isin(run.task, used)
    if used and inside.sum() <= _MOST_RELEASES:
        lanes += [Lane("", _GPU, height=10, line=False) for _ in used]
        for task, time in zip(run.task[inside].tolist(), run.release[inside].tolist(), strict=True):
            marks.append(Mark(used.index(task) + 1, time, "release", task, 0.6))
    pieces = tuple(_placed(run, waves, shown, labels or {}))
    keys = [Key(clip(run.tasks.name[task], _LABEL), task) for task in used]
    if len(lanes) > 1:
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
        notes=(f"{hidden} more waves are not shown",) if hidden else (),
        title="threads",
    )


def trace(run: Records) -> Timeline:
    """Timeline of the whole run: jobs, blocks by task, and a counter of the busy threads."""

    def pieces() -> Iterator[Piece]:
        yield from _jobs(run)
        if run.waves is not None:
            n = run.tasks.n
            yield from _waves(run, run.waves, np.arange(len(run.waves.start)), first=n)

    lanes = [Lane(name, _JOBS) for name in run.tasks.name]
    if run.waves is not None:
        lanes += [Lane(name, _GPU) for name in run.tasks.name]
    return Timeline(
        lanes=tuple(lanes),
        pieces=Rows(pieces),
        counters=Rows(lambda: _busy(run)),
        other={"order": run.order, "threads": run.threads, "outcome": run.outcome},
    )


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
    run: Records, waves: WaveColumns, rows: Int64Array, first: int | None = None
) -> Iterator[Piece]:
    """Pieces of some waves, in the lane of each task from ``first`` on; in lane 0 without it."""
    late = dict(
        zip(zip(run.task.tolist(), run.job.tolist(), strict=True), run.late.tolist(), strict=True)
    )
    width = run.tasks.threads.tolist()
    columns = (waves.task, waves.job, waves.blocks, waves.start, waves.end)
    for task, job, blocks, start, end in zip(*(c[rows].tolist() for c in columns), strict=True):
        name, count = run.tasks.name[task], "1 block" if blocks == 1 else f"{blocks} blocks"
        yield Piece(
            lane=0 if first is None else first + task,
            start=start,
            end=end,
            name=f"{name} #{job}: {count} of {width[task]} threads",
            color=task,
            label=str(job),
            late=late[task, job],
            args={"job": job, "blocks": blocks, "threads": blocks * width[task]},
        )


def _placed(
    run: Records, waves: WaveColumns, rows: Int64Array, labels: Mapping[tuple[int, int], str]
) -> Iterator[Piece]:
    """Pieces of some waves, by start, on the lowest free threads."""
    whole = int(waves.blocks[rows].sum()) > _MOST_BLOCKS
    placement = Placement(run.threads)
    width = run.tasks.threads.tolist()
    tasks, jobs, blocks = (c[rows].tolist() for c in (waves.task, waves.job, waves.blocks))
    for k, piece in enumerate(_waves(run, waves, rows)):
        runs: list[Run] = placement.place(piece.start, piece.end, blocks[k], width[tasks[k]])
        boxes: tuple[Span, ...] = spans(
            runs if whole else split(runs, width[tasks[k]]), run.threads
        )
        label = str(labels.get((tasks[k], jobs[k]), jobs[k]))
        yield replace(piece, spans=boxes, label=label)


def _jobs(run: Records) -> Iterator[Piece]:
    started = np.flatnonzero(run.start >= 0)
    started = started[np.argsort(run.start[started], kind="stable")]
    # A job that has not finished lasts as far as is known.
    ends = np.where(run.finish >= 0, run.finish, np.maximum(run.now, run.start))
    response, late = run.response, run.late
    for k in started.tolist():
        times: dict[str, int | None] = {}
        named = {"release": run.release, "deadline": run.deadline, "dispatched": run.dispatched}
        for name, column in (named | {"response": response}).items():
            value = int(column[k])
            times[name] = value if value >= 0 else None
        task, job = int(run.task[k]), int(run.job[k])
        yield Piece(
            lane=task,
            start=int(run.start[k]),
            end=int(ends[k]),
            name=f"{run.tasks.name[task]} #{job}",
            color=task,
            late=bool(late[k]),
            unfinished=bool(run.finish[k] < 0),
            times=times,
            args={"job": job, "missed": bool(late[k])},
        )


def _busy(run: Records) -> Iterator[Counter]:
    waves = run.waves
    if waves is None:
        return
    held = waves.blocks * run.tasks.threads[waves.task]
    instants = np.concatenate([waves.start, waves.end])
    times, index = np.unique(instants, return_inverse=True)
    total = np.zeros(len(times), dtype=np.int64)
    np.add.at(total, index, np.concatenate([held, -held]))
    for time, busy in zip(times.tolist(), np.cumsum(total).tolist(), strict=True):
        yield Counter(_GPU, "threads", time, {"busy": busy})
