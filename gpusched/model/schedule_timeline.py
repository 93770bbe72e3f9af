"""Timeline of a schedule: a lane per task with its jobs, frames behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from gpusched._draw.axes import INK, LATE, MUTED, time_axis
from gpusched._draw.timeline import Counter, Key, Lane, Mark, Piece, Rows, Timeline
from gpusched._support.arguments import Int64Array, integer64
from gpusched.model.jobs import Jobs, KernelRuns
from gpusched.model.kernel_chains import BatchTasks, KernelChains

# Frames that a picture shows; more are only counted.
SHOWN_FRAMES = 60
_SHOWN_MARKS = 2000
_GROUP = "GPU"
_SHADES = ("#F7F7F7", "#ECECEC")


class Frames(Protocol):
    """Protocol of a schedule: the records that are drawn."""

    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def tasks(self) -> BatchTasks: ...
    @property
    def cycle(self) -> tuple[int, int] | None: ...
    @property
    def horizon(self) -> int: ...
    def __len__(self) -> int: ...
    def members(self, frame: int) -> tuple[int, ...]: ...
    def submitted(self, frame: int) -> tuple[str, ...]: ...
    def runs(self) -> KernelRuns: ...
    def late_jobs(self) -> Jobs: ...


def picture(schedule: Frames, unit: str | None, until: Any) -> Timeline:
    """Timeline of the first frames, or of those before ``until`` (ticks)."""
    frames, late = len(schedule), schedule.late_jobs()
    if until is None:
        shown = min(frames, SHOWN_FRAMES)
        whole = shown == frames
        end = schedule.horizon if whole else int(schedule.end[shown - 1])
        if whole and len(late):  # a late job's deadline and its end, a waiting one's deadline
            end = max(end, int(late.deadline.max()), int(late.end.max()))
    else:
        end = integer64(until, "until")
        if end < 1:
            raise ValueError(f"until: got {end}, expected at least 1")
        shown = int(np.searchsorted(schedule.start, end))
    end = max(end, 1)
    axis = time_axis(unit, end)
    marks, most, bare = _arrows(schedule, end)
    crosses = [
        Mark(task + 1, due, "miss", LATE, 0.5, label="" if start >= 0 else "waits", tip=tip)
        for task, job, _, due, start, _ in _rows(late)
        if due <= end
        for tip in [
            f"{schedule.tasks.name[task][:80]} #{job} "
            f"{'waits at' if start < 0 else 'ends after'} its deadline {axis.text(due)}"
        ]
    ]
    keys = [Key("release", INK, mark="release"), Key("deadline", MUTED, mark="deadline")]
    if crosses:
        keys.append(Key("missed deadline", LATE, mark="miss"))
    notes = [f"{frames - shown} more frames are not shown"] if frames > shown else []
    if bare < end:
        notes.append(f"arrows only up to {axis.text(bare)}")
    return Timeline(
        lanes=_lanes(schedule),
        pieces=(*_frames(schedule, shown), *(p for p in _jobs(schedule) if p.start < end)),
        end=end,
        unit=unit,
        marks=(*marks, *crosses),
        keys=tuple(keys),
        notes=tuple(notes),
        width=min(12.0, max(5.6, 0.3 * max(shown, most))),
        numbers="jobs, or job.kernel" if isinstance(schedule.tasks, KernelChains) else "jobs",
    )


def trace(schedule: Frames) -> Timeline:
    """Timeline of the whole schedule, with a counter of the running kernels."""

    def pieces() -> Iterator[Piece]:
        yield from _frames(schedule, len(schedule))
        yield from _jobs(schedule)

    return Timeline(_lanes(schedule), Rows(pieces), counters=Rows(lambda: _counters(schedule)))


def _lanes(schedule: Frames) -> tuple[Lane, ...]:
    frames = Lane("frames", _GROUP, height=0, line=False)
    return (frames, *(Lane(name, _GROUP, height=34) for name in schedule.tasks.name))


def _rows(jobs: Jobs) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(jobs, f.name).tolist() for f in fields(Jobs)), strict=True))


def _frames(schedule: Frames, count: int) -> Iterator[Piece]:
    for frame in range(count):
        order = list(schedule.submitted(frame))
        yield Piece(
            lane=0,
            start=int(schedule.start[frame]),
            end=int(schedule.end[frame]),
            name=" + ".join(order),
            color=_SHADES[frame % 2],
            style="band",
            args={"frame": frame, "submission order": order},
        )


def _jobs(schedule: Frames) -> Iterator[Piece]:
    tasks, runs = schedule.tasks, schedule.runs()
    counts = tasks.kernels.tolist() if isinstance(tasks, KernelChains) else [1] * tasks.n
    rows = zip(_rows(runs), runs.kernel.tolist(), strict=True)
    for (task, job, release, deadline, start, end), kernel in rows:
        times = {"release": release, "deadline": deadline}
        if kernel + 1 == counts[task]:
            times["response"] = end - release
        chain = counts[task] > 1
        args: dict[str, Any] = {"job": job, "late": end > deadline}
        yield Piece(
            lane=task + 1,
            start=start,
            end=end,
            name=f"{tasks.name[task]} #{job}" + (f", kernel {kernel}" if chain else ""),
            color=task,
            label=f"{job}.{kernel}" if chain else str(job),
            late=end > deadline,
            times=times,
            args=args | ({"kernel": kernel} if chain else {}),
        )


def _counters(schedule: Frames) -> Iterator[Counter]:
    count = len(schedule)
    for frame in range(count):
        start, end = int(schedule.start[frame]), int(schedule.end[frame])
        running = {"running": len(schedule.members(frame))}
        yield Counter(_GROUP, "kernels", start, running)
        if frame + 1 == count or schedule.start[frame + 1] > end:
            yield Counter(_GROUP, "kernels", end, {"running": 0})


def _arrows(schedule: Frames, end: int) -> tuple[list[Mark], int, int]:
    """Releases and deadlines up to ``end``; the most of a task; up to when all are shown."""
    tasks, limit, bare = schedule.tasks, end, end
    if schedule.cycle is None:
        limit = min(limit, tasks.hyperperiod)
    marks: list[Mark] = []
    most = 0
    for task in range(tasks.n):
        period, first = int(tasks.period[task]), int(tasks.offset[task])
        count = max(0, -(-(limit - first) // period))
        if count > _SHOWN_MARKS // tasks.n:
            count = _SHOWN_MARKS // tasks.n
            bare = min(bare, first + count * period)
        most = max(most, count)
        times = [first + k * period for k in range(count)]
        due = [time + int(tasks.deadline[task]) for time in times]
        lane = task + 1
        marks += [Mark(lane, t, "release", INK, 0.09, shaft=True) for t in times if t <= end]
        marks += [Mark(lane, t, "deadline", MUTED, 0.91, shaft=True) for t in due if t <= end]
    return marks, most, bare
