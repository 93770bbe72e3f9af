"""Schedules of the Parallel Batch Scheduler: which batch runs when, and whether that is right.

Paper 001, sections 2.4 and 4.1: a frame runs one batch, a set of tasks whose oldest pending jobs
are submitted together, and the next frame may start when the last of them has ended.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from gpusched import chrome
from gpusched._check import Int64Array, at_least, frozen, int_array
from gpusched._files import replacing
from gpusched.jobs import Jobs
from gpusched.plot import INK, LATE, MUTED, TimeAxis, color, pyplot, time_axis
from gpusched.tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.table import BatchTable

__all__ = ["Schedule", "ScheduleError"]

# What a notebook or a figure shows at once; more frames are only counted.
SHOWN_FRAMES = 60
_SHOWN_MARKS = 2000

_RULES = {
    1: ("overlap", "starts before the frame before it has ended"),
    2: ("ineligible", "runs a batch that is empty or not eligible"),
    3: ("length", "does not last as long as its batch takes by the table"),
    4: ("not ready", "runs a task that has no pending job"),
    5: ("miss", "misses a deadline"),
    6: ("idle", "starts although the GPU idled before it while work was ready"),
    7: ("unfinished", "is the end, and jobs of the hyperperiod are left"),
    8: ("cycle", "is where the cycle should close, in the state in which it began"),
}


class ScheduleError(ValueError):
    """A schedule breaks a rule: ``rule``, ``frame``, ``task`` (or None) and ``time`` say where.

    ``rule`` is one of "overlap", "ineligible", "length", "not ready", "miss", "idle",
    "unfinished" and "cycle".
    """

    def __init__(self, rule: str, frame: int, task: int | None, time: int, message: str) -> None:
        super().__init__(rule, frame, task, time, message)
        self.rule = rule
        self.frame = frame
        self.task = task
        self.time = time

    def __str__(self) -> str:
        return str(self.args[4])


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """Frames one after the other, each running one batch of jobs (paper 001, section 2.4).

    Parameters
    ----------
    start, end
        Ticks, one entry per frame; int64 arrays, read-only.
    batch
        The tasks of each frame as a bit mask (bit i: task i); uint32 array, read-only. Of every
        task in it, the oldest job that was not executed yet runs.
    tasks
        The task set.
    table
        The batch table the schedule was made with, for ``validate`` and the submission orders.
    idling
        Whether the schedule may leave the GPU idle while work is ready (PBS itself may not).
    cycle
        (from, length) where the frames from one instant on repeat for ever; None for a schedule of
        the jobs of one hyperperiod.

    Raises
    ------
    ValueError
        Arrays of different lengths, a stack of task sets, a negative start, an end before its
        start, a batch with tasks that the set does not have, a table of another size.
    """

    start: Int64Array
    end: Int64Array
    batch: npt.NDArray[np.uint32]
    tasks: KernelTasks
    table: BatchTable | None
    idling: bool
    cycle: tuple[int, int] | None

    def __init__(
        self,
        start: Any,
        end: Any,
        batch: Any,
        tasks: KernelTasks,
        table: BatchTable | None = None,
        idling: bool = False,
        cycle: tuple[int, int] | None = None,
    ) -> None:
        if tasks.is_stack:
            raise ValueError("tasks: a schedule belongs to one task set, not to a stack of them")
        if table is not None and table.is_stack:
            raise ValueError("table: a schedule belongs to one table, not to a stack of them")
        if table is not None and table.n != tasks.n:
            raise ValueError(f"table: is for {table.n} tasks, the set has {tasks.n}")
        given = {"start": start, "end": end, "batch": batch}
        columns = {name: int_array(value, name) for name, value in given.items()}
        for name, column in columns.items():
            if column.ndim != 1:
                raise ValueError(f"{name}: must have 1 dimension, has {column.ndim}")
            if len(column) != len(columns["start"]):
                raise ValueError(
                    f"{name}: has {len(column)} entries, start has {len(columns['start'])}"
                )
            at_least(column, 0, name)
        start, end, batch = columns.values()
        if (bad := np.flatnonzero(end < start)).size:
            frame = int(bad[0])
            raise ValueError(f"end[{frame}] = {end[frame]}: is before start[{frame}]")
        if (bad := np.flatnonzero(batch >> min(tasks.n, 32))).size:
            frame = int(bad[0])
            raise ValueError(
                f"batch[{frame}] = {batch[frame]}: has tasks beyond the set's {tasks.n}"
            )
        batch = batch.astype(np.uint32)
        for name, column in (("start", start), ("end", end), ("batch", batch)):
            object.__setattr__(self, name, frozen(column))
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "idling", bool(idling))
        if cycle is not None:
            cycle = int(cycle[0]), int(cycle[1])
            if cycle[0] < 0 or cycle[1] < 1:
                raise ValueError(f"cycle = {cycle}: must start at 0 or later and last some time")
        object.__setattr__(self, "cycle", cycle)

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.start)

    def __eq__(self, other: object) -> bool:
        """Equal frames, tasks and, of the tables, equal times and orders of the used batches."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return (
            np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and np.array_equal(self.batch, other.batch)
            and self.idling == other.idling
            and self.cycle == other.cycle
            and self.tasks == other.tasks
            and self._used() == other._used()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Schedule, tuple(getattr(self, field.name) for field in fields(self)))

    # What it says

    def members(self, frame: int) -> tuple[int, ...]:
        """The tasks of a frame, in the order in which their kernels have to be submitted."""
        return self._order(int(self.batch[frame]))

    @property
    def makespan(self) -> int:
        """When the last frame ends; 0 without frames."""
        return int(self.end.max(initial=0))

    @property
    def horizon(self) -> int:
        """Up to when it covers the time line: the hyperperiod if it executes every job of it.

        The makespan where that is later (deadlines beyond periods), or where jobs are left (a
        schedule that ends at a missed deadline). The end of the first cycle of one that repeats.
        """
        if self.cycle is not None:
            return sum(self.cycle)
        return max(self.makespan, self.tasks.hyperperiod) if self._complete() else self.makespan

    @property
    def idle(self) -> int:
        """Ticks in [0, horizon) in which no batch runs."""
        return self.horizon - int((self.end - self.start).sum())

    @property
    def utilization(self) -> float:
        """Share of [0, horizon) in which a batch runs."""
        return 1.0 - self.idle / self.horizon if self.horizon else 0.0

    def jobs(self) -> Jobs:
        """The executed jobs, by start, tasks of one frame in order of their index.

        A job is taken to end when its frame does: that is what the table guarantees.
        """
        # executed[f, i]: frame f runs task i
        executed = (self.batch[:, None] >> np.arange(self.tasks.n, dtype=np.uint32)) & 1 == 1
        frame, task = np.nonzero(executed)
        job = np.cumsum(executed, axis=0, dtype=np.int64)[frame, task] - 1
        release = self.tasks.offset[task] + job * self.tasks.period[task]
        return Jobs(
            task=task.astype(np.int64),
            job=job,
            release=release,
            deadline=release + self.tasks.deadline[task],
            start=self.start[frame],
            finish=self.end[frame],
        )

    def missed(self) -> Jobs:
        """The jobs that end late, and each task's oldest job when it waits at its deadline.

        Waiting jobs (start and finish -1) are told from those released in the hyperperiod with a
        deadline up to the makespan. Sorted by deadline; empty for a valid schedule.
        """
        done = self.jobs()
        late = np.flatnonzero(done.late)
        columns = [getattr(done, f.name)[late].tolist() for f in fields(Jobs)]
        counts = np.bincount(done.task, minlength=self.tasks.n).tolist()
        for task, count in enumerate(counts):
            release = int(self.tasks.offset[task]) + count * int(self.tasks.period[task])
            deadline = release + int(self.tasks.deadline[task])
            counts_too = self.cycle is not None or release < self.tasks.hyperperiod
            if counts_too and deadline <= self.makespan:
                row = (task, count, release, deadline, -1, -1)
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        order = sorted(range(len(columns[0])), key=lambda i: (columns[3][i], columns[0][i]))
        return Jobs(*(np.array([c[i] for i in order], dtype=np.int64) for c in columns))

    def validate(self) -> Schedule:
        """Replays the schedule against its tasks and table, and returns it when all is right.

        Raises ``ScheduleError`` with the first broken rule, and ValueError without a table. Checked
        is that frames do not overlap, run eligible batches of pending jobs for as long as the table
        says, miss no deadline (also not of the jobs that wait), never idle while work is ready
        (unless ``idling``) and execute every job of the hyperperiod; or, with a ``cycle``, that it
        ends in the state in which it began and may begin again.
        """
        from gpusched import _core

        if self.table is None:
            raise ValueError("a schedule without its table cannot be validated")
        rule, frame, task, time = _core.schedule_replay(
            self.tasks.period[None, :],
            self.tasks.deadline[None, :],
            self.tasks.offset[None, :],
            np.atleast_2d(self.table.completion),
            self.start,
            self.end,
            self.batch.astype(np.int64),
            self.idling,
            *(self.cycle or (0, 0)),
        )
        if rule == 0:
            return self
        name, text = _RULES[rule]
        who = "" if task < 0 else f" ({self.tasks.name[task]})"
        raise ScheduleError(
            name, frame, None if task < 0 else task, time, f"frame {frame} {text}{who}, at {time}"
        )

    def to_frame(self) -> Any:
        """A pandas table with one row per frame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "start": self.start,
                "end": self.end,
                "batch": self.batch,
                "tasks": [self.members(frame) for frame in range(len(self))],
            }
        )

    def __repr__(self) -> str:
        return (
            f"<Schedule: {len(self)} frames of {self.tasks.n} tasks, "
            f"busy {self.utilization:.1%} of {self.horizon} ticks>"
        )

    # Pictures

    def plot(self, ax: Any = None, *, unit: str | None = None, until: int | None = None) -> Any:
        """Draws the schedule with matplotlib and returns the axes.

        One row per task with its jobs and their numbers; grey stripes are the frames. An arrow
        upwards is a release, one downwards a deadline; a missed deadline is a red cross.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure unless given.
        unit
            What a tick is: None, "ns", "us", "ms" or "s".
        until
            Draw up to this time (ticks) instead of the first 60 frames.
        """
        scene = _Scene(self, unit, until)
        if ax is None:
            label = 0.085 * max(len(_clip(name, _LABEL)) for name in scene.names)
            size = (label + min(12.0, max(5.6, 0.3 * scene.marks)), 1.3 + 0.55 * self.tasks.n)
            ax = pyplot().subplots(figsize=size, layout="constrained")[1]
        _draw(scene, ax)
        return ax

    def to_svg(self, *, unit: str | None = None, until: int | None = None) -> str:
        """The same picture as an SVG document, without matplotlib; see ``plot``."""
        return _svg(_Scene(self, unit, until))

    def _repr_svg_(self) -> str:
        return self.to_svg()

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file, whole or not at all, from which ``load`` makes an equal schedule.

        It holds frames and tasks, and of the table the batches that the schedule uses and the
        single tasks, with their submission orders. Raises OSError.
        """
        tasks = {f.name: getattr(self.tasks, f.name) for f in fields(KernelTasks)}
        document = {
            "format": _FORMAT,
            "version": 1,
            "tasks": {k: list(v) if k == "name" else v.tolist() for k, v in tasks.items()},
            "frames": {name: getattr(self, name).tolist() for name in ("start", "end", "batch")},
            "idling": self.idling,
            "cycle": self.cycle,
            "table": None
            if self.table is None
            else [
                {"tasks": list(order), "completion": time}
                for _, order, time in self._used()
                if time > 0
            ],
        }
        with replacing(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schedule:
        """Reads what ``save`` wrote.

        The table of the result knows the batches that the schedule uses, and no others. Raises
        OSError, and ValueError with the file and the field for a file that is no such schedule.
        """
        return _Reader(os.fspath(path)).schedule()

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Writes the schedule for Perfetto (ui.perfetto.dev) and chrome://tracing.

        One process "GPU" with a lane for the frames, a lane per task for its jobs (release,
        deadline and response in their arguments), and a counter of the running kernels. ``tick``
        is the length of a tick in ns. The file is written whole or not at all; a name that ends
        in .gz is compressed. Raises OSError, and ValueError for a ``tick`` below 1.
        """
        if tick < 1:
            raise ValueError(f"tick = {tick}: must be at least 1 ns")
        names = self.tasks.name
        events: list[dict[str, Any]] = [
            chrome.process_name(0, "GPU"),
            chrome.thread_name(0, 0, "frames"),
            *(chrome.thread_name(0, i + 1, name) for i, name in enumerate(names)),
        ]
        for frame in range(len(self)):
            start, end = int(self.start[frame]) * tick, int(self.end[frame]) * tick
            members = self.members(frame)
            batch = {"frame": frame, "submission order": [names[i] for i in members]}
            label = " + ".join(names[i] for i in members)
            events.append(chrome.complete_event(label, 0, 0, start, end - start, batch))
            events.append(chrome.counter_event("kernels", 0, start, {"running": len(members)}))
            if frame + 1 == len(self) or self.start[frame + 1] > self.end[frame]:
                events.append(chrome.counter_event("kernels", 0, end, {"running": 0}))
        jobs = self.jobs()
        rows = zip(*(getattr(jobs, f.name).tolist() for f in fields(Jobs)), strict=True)
        for task, job, release, deadline, begin, finish in rows:
            ticks = {"release": release, "deadline": deadline, "response": finish - release}
            args: dict[str, Any] = {"job": job, **{k: v * tick for k, v in ticks.items()}}
            args["missed"] = finish > deadline
            duration = (finish - begin) * tick
            label = f"{names[task]} #{job}"
            events.append(chrome.complete_event(label, 0, task + 1, begin * tick, duration, args))
        chrome.write_chrome_trace(path, events)

    # What these share

    def _order(self, mask: int) -> tuple[int, ...]:
        if self.table is not None and self.table.completion[mask] > 0:
            return tuple(int(i) for i in self.table.submission_order(mask))
        return tuple(i for i in range(self.tasks.n) if mask >> i & 1)

    def _complete(self) -> bool:
        counts = np.zeros(self.tasks.n, dtype=np.int64)
        for task in range(self.tasks.n):
            counts[task] = np.count_nonzero(self.batch >> np.uint32(task) & 1)
        hyperperiod = self.tasks.hyperperiod
        rows = zip(
            counts.tolist(), self.tasks.offset.tolist(), self.tasks.period.tolist(), strict=True
        )
        return all(done >= -(-(hyperperiod - offset) // period) for done, offset, period in rows)

    def _used(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the used batches and the single tasks: mask, submission order, completion time."""
        if self.table is None:
            return []
        masks = {int(mask) for mask in self.batch} | {1 << i for i in range(self.tasks.n)}
        return [(m, self._order(m), int(self.table.completion[m])) for m in sorted(masks)]


# Pictures


class _Scene:
    """What a picture of a schedule shows: a window of time, and what lies in it."""

    def __init__(self, schedule: Schedule, unit: str | None, until: int | None) -> None:
        self.names = schedule.tasks.name
        self.n = schedule.tasks.n
        frames = len(schedule)
        missed = schedule.missed()
        if until is None:
            shown = min(frames, SHOWN_FRAMES)
            whole = shown == frames
            end = schedule.horizon if whole else int(schedule.end[shown - 1])
            if whole and len(missed):  # a late job's deadline and its end, a waiting one's deadline
                end = max(end, int(missed.deadline.max()), int(missed.finish.max()))
        else:
            if until < 1:
                raise ValueError(f"until = {until}: must be at least 1")
            end = until
            shown = int(np.searchsorted(schedule.start, until))
            whole = shown == frames
        self.end = max(end, 1)
        self.hidden = frames - shown
        self.axis: TimeAxis = time_axis(unit, self.end)
        self.frames = [
            (int(schedule.start[f]), min(int(schedule.end[f]), self.end)) for f in range(shown)
        ]
        jobs = schedule.jobs()
        rows = zip(*(getattr(jobs, f.name).tolist() for f in fields(Jobs)), strict=True)
        self.jobs = [row for row in rows if row[4] < self.end]
        rows = zip(*(getattr(missed, f.name).tolist() for f in fields(Jobs)), strict=True)
        self.missed = [row for row in rows if row[3] <= self.end]
        self.bare = self.end  # from here on, some releases or deadlines have no arrow
        self.releases = self._marks(schedule, 0)
        self.deadlines = self._marks(schedule, schedule.tasks.deadline)
        self.marks = max([len(self.frames)] + [len(times) for times in self.releases])

    def _marks(self, schedule: Schedule, shift: Any) -> list[list[int]]:
        """For every task the releases in [0, end], or what comes ``shift`` after each."""
        limit = self.end
        if schedule.cycle is None:
            limit = min(limit, schedule.tasks.hyperperiod)
        marks = []
        for task in range(self.n):
            period, first = int(schedule.tasks.period[task]), int(schedule.tasks.offset[task])
            late = int(np.broadcast_to(shift, self.n)[task])
            count, most = max(0, -(-(limit - first) // period)), _SHOWN_MARKS // self.n
            if count > most:
                count = most
                self.bare = min(self.bare, first + count * period)
            times = [first + k * period + late for k in range(count)]
            marks.append([time for time in times if time <= self.end])
        return marks

    def note(self) -> str:
        """What the picture leaves out, "" when it shows everything."""
        parts = [f"{self.hidden} more frames are not shown"] if self.hidden else []
        if self.bare < self.end:
            parts.append(f"arrows only up to {self.axis.text(self.bare)}")
        return "; ".join(parts)


_BAR = 0.62  # height of a job's bar in rows
_ARROW = 0.82  # height of an arrow in rows
_LABEL = 28  # characters of a task's name


def _draw(scene: _Scene, ax: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    unit = scene.axis.ticks
    span = scene.end / unit
    inch = span / (ax.get_position().width * ax.figure.get_figwidth())  # about
    for number, (start, end) in enumerate(scene.frames):
        shade = "#ECECEC" if number % 2 else "#F7F7F7"
        ax.axvspan(start / unit, end / unit, color=shade, linewidth=0, zorder=0)
        ax.axvline(start / unit, color="#CCCCCC", linewidth=0.6, zorder=0.5)
    for task, job, _, deadline, start, finish in scene.jobs:
        late = finish > deadline
        ax.add_patch(
            Rectangle(
                (start / unit, task - _BAR / 2),
                (min(finish, scene.end) - start) / unit,
                _BAR,
                facecolor=color(task),
                edgecolor=LATE if late else "white",
                hatch="////" if late else None,
                linewidth=1.6 if late else 0.8,
                zorder=2,
            )
        )
        if (min(finish, scene.end) - start) / unit > (0.075 * len(str(job)) + 0.06) * inch:
            # A late job's middle may be where the cross is.
            middle = start + (min(finish, scene.end) - start) * (0.15 if late else 0.5)
            ax.text(
                middle / unit,
                task,
                str(job),
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "linewidth": 0},
                clip_on=True,
            )
    shaft = {"linewidth": 1.0, "zorder": 3}
    for task in range(scene.n):
        for times, style, tip, marker in (
            (scene.releases[task], INK, -1, "^"),
            (scene.deadlines[task], MUTED, 1, "v"),
        ):
            if not times:  # nothing to draw, but matplotlib would make room for it
                continue
            x = [time / unit for time in times]
            ax.vlines(x, task - _ARROW / 2, task + _ARROW / 2, color=style, clip_on=False, **shaft)
            ax.plot(
                x,
                [task + tip * _ARROW / 2] * len(x),
                marker,
                color=style,
                markersize=4.5,
                linestyle="none",
                zorder=3,
                clip_on=False,
            )
    for task, *_, deadline, start, _ in scene.missed:
        ax.plot(
            deadline / unit,
            task,
            "X",
            color=LATE,
            markeredgecolor="white",
            markersize=11,
            zorder=5,
            clip_on=False,
        )
        if start < 0:
            ax.text(
                deadline / unit,
                task + 0.3,
                "waits ",
                ha="right",
                va="center",
                fontsize=8,
                color=LATE,
                zorder=5,
            )
    ax.set_xlim(0, span)
    ax.set_ylim(scene.n - 0.4, -0.6)
    ax.set_yticks(range(scene.n), [_clip(name, _LABEL) for name in scene.names])
    ax.tick_params(axis="y", length=0)
    steps = scene.axis.steps(0, scene.end)
    ax.set_xticks([time / unit for time in steps], [scene.axis.text(time) for time in steps])
    ax.set_xlabel(scene.axis.label)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    handles = [
        Line2D([], [], color=INK, marker="^", linestyle="none", markersize=6, label="release"),
        Line2D([], [], color=MUTED, marker="v", linestyle="none", markersize=6, label="deadline"),
    ]
    if scene.missed:
        cross: dict[str, Any] = {"marker": "X", "linestyle": "none", "markersize": 9}
        handles.append(Line2D([], [], color=LATE, label="missed deadline", **cross))
    ax.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        borderaxespad=0.2,
        handletextpad=0.1,
        columnspacing=1.2,
    )
    if scene.note():
        ax.set_title(scene.note(), loc="left", fontsize=9, color=MUTED)


_ROW = 34  # pixels


def _svg(scene: _Scene) -> str:
    left = 24 + 7 * max(len(_clip(name, _LABEL)) for name in scene.names)
    width = min(1100, max(520, 40 * scene.marks))
    top = 26
    bottom = top + _ROW * scene.n
    out: list[str] = []

    def x(time: int) -> str:
        return f"{left + width * time / scene.end:.1f}"

    def add(text: str) -> None:
        out.append(text)

    for number, (start, end) in enumerate(scene.frames):
        shade = "#ececec" if number % 2 else "#f7f7f7"
        add(
            f'<rect x="{x(start)}" y="{top}" width="{width * (end - start) / scene.end:.1f}" '
            f'height="{bottom - top}" fill="{shade}" stroke="#d0d0d0" stroke-width=".5"/>'
        )
    for task, name in enumerate(scene.names):
        middle = top + _ROW * (task + 0.5)
        add(
            f'<text x="{left - 10}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{_xml(_clip(name, _LABEL))}<title>{_xml(name[:200])}</title></text>"
        )
        add(f'<path d="M{left} {middle + _ROW / 2:.1f}h{width}" stroke="#ffffff"/>')
    for task, job, release, deadline, start, finish in scene.jobs:
        shown = min(finish, scene.end)
        middle = top + _ROW * (task + 0.5)
        length = width * (shown - start) / scene.end
        late = finish > deadline
        edge = f'stroke="{LATE}" stroke-width="2"' if late else 'stroke="#ffffff"'
        say = scene.axis.text
        tip = (
            f"{scene.names[task][:80]}, job {job}: {say(start)} to {say(finish)}, "
            f"released {say(release)}, deadline {say(deadline)}{' (missed)' if late else ''}"
        )
        add(
            f'<rect x="{x(start)}" y="{middle - 10:.1f}" width="{length:.1f}" height="20" rx="2" '
            f'fill="{color(task)}" {edge}><title>{_xml(tip)}</title></rect>'
        )
        if length >= (40 if late else 12) + 7 * len(str(job)):
            # A late job's middle may be where the cross is.
            centre = left + width * start / scene.end + length * (0.15 if late else 0.5)
            half = 3 + 3.4 * len(str(job))
            add(
                f'<rect x="{centre - half:.1f}" y="{middle - 7:.1f}" width="{2 * half:.1f}" '
                f'height="14" rx="3" fill="#ffffff"/><text x="{centre:.1f}" y="{middle + 4:.1f}" '
                f'text-anchor="middle">{job}</text>'
            )
    for task in range(scene.n):
        middle = top + _ROW * (task + 0.5)
        high, low = middle - 15, middle + 15
        for time in scene.releases[task]:
            add(f'<path d="M{x(time)} {low}V{high}m-3 5l3 -5l3 5" class="release"/>')
        for time in scene.deadlines[task]:
            add(f'<path d="M{x(time)} {high}V{low}m-3 -5l3 5l3 -5" class="deadline"/>')
    for task, job, _, deadline, start, _ in scene.missed:
        middle = top + _ROW * (task + 0.5)
        what = "waits at" if start < 0 else "ends after"
        tip = f"{scene.names[task][:80]}, job {job} {what} its deadline {scene.axis.text(deadline)}"
        add(
            f'<path d="M{x(deadline)} {middle}m-6 -6l12 12m0 -12l-12 12" stroke="{LATE}" '
            f'stroke-width="3.5" fill="none"><title>{_xml(tip)}</title></path>'
        )
    add(f'<path d="M{left} {bottom}h{width}" stroke="{INK}"/>')
    digits = max(len(scene.axis.text(scene.end)), 3)
    for time in scene.axis.steps(0, scene.end, max(2, width // (10 + 8 * digits))):
        add(f'<path d="M{x(time)} {bottom}v5" stroke="{INK}"/>')
        add(
            f'<text x="{x(time)}" y="{bottom + 17}" text-anchor="middle">'
            f"{scene.axis.text(time)}</text>"
        )
    add(
        f'<text x="{left + width / 2:.0f}" y="{bottom + 34}" text-anchor="middle">'
        f"{scene.axis.label}</text>"
    )
    legend = "↑ release   ↓ deadline"
    marks = f'<tspan fill="{LATE}">   ✕ missed deadline</tspan>' if scene.missed else ""
    note = f'<tspan fill="{MUTED}">   {scene.note()}</tspan>' if scene.note() else ""
    add(f'<text x="{left}" y="15" xml:space="preserve">{legend}{marks}{note}</text>')
    size = (left + width + 24, bottom + 42)
    style = (
        f"text{{font:11px sans-serif;fill:{INK}}}"
        f".release{{stroke:{INK};fill:none}}.deadline{{stroke:{MUTED};fill:none}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(out)}</svg>'
    )


def _xml(text: str) -> str:
    """Text for an SVG: control characters, which XML cannot hold, become blanks."""
    return escape("".join(c if c.isprintable() else " " for c in text))


def _clip(text: str, length: int) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


# Files

_FORMAT = "gpusched schedule"


class _Reader:
    """Takes a schedule's file apart, and knows how to say what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        try:
            self.document = json.loads(data)
        except (ValueError, RecursionError) as error:
            self.fail("file", f"is not valid JSON: {str(error)[:80]}")
        if not isinstance(self.document, dict) or self.document.get("format") != _FORMAT:
            self.fail("format", f"is not {_FORMAT!r}")
        if self.document.get("version") != 1:
            self.fail("version", f"is {self.document.get('version')!r:.40}, only 1 is known")

    def schedule(self) -> Schedule:
        from gpusched.table import BatchTable

        given = self.mapping(self.document, "tasks", "tasks")
        names = [field.name for field in fields(KernelTasks)]
        if unknown := sorted(set(given) - set(names)):
            self.fail(f"tasks.{unknown[0]}", "is not known")
        columns = {name: self.sequence(given, name, f"tasks.{name}") for name in names}
        for name in names:
            kind = str if name == "name" else int
            if not all(type(value) is kind for value in columns[name]):
                self.fail(f"tasks.{name}", f"must be a list of {kind.__name__}")
        try:
            tasks = KernelTasks(**columns)
        except (ValueError, TypeError, OverflowError) as error:
            self.fail("tasks", str(error))
        table = None
        if self.document.get("table") is not None:
            orders: dict[tuple[int, ...], int] = {}
            for row, entry in enumerate(self.sequence(self.document, "table", "table")):
                where = f"table[{row}]"
                if not isinstance(entry, dict):
                    self.fail(where, "must be an object")
                order = tuple(self.sequence(entry, "tasks", f"{where}.tasks"))
                time = entry.get("completion")
                if not all(type(i) is int for i in order):
                    self.fail(f"{where}.tasks", "must be a list of int")
                if type(time) is not int:
                    self.fail(f"{where}.completion", "must be an int")
                orders[order] = time
            try:
                table = BatchTable.from_dict(tasks.n, orders)
            except (ValueError, TypeError, OverflowError) as error:
                self.fail("table", str(error))
        frames = self.mapping(self.document, "frames", "frames")
        arrays = {k: self.sequence(frames, k, f"frames.{k}") for k in ("start", "end", "batch")}
        for name, values in arrays.items():
            if not all(type(value) is int for value in values):
                self.fail(f"frames.{name}", "must be a list of int")
        idling = self.document.get("idling")
        if type(idling) is not bool:
            self.fail("idling", "must be true or false")
        cycle = None
        if self.document.get("cycle") is not None:
            pair = self.sequence(self.document, "cycle", "cycle")
            if len(pair) != 2 or not all(type(instant) is int for instant in pair):
                self.fail("cycle", "must be null or two ints")
            cycle = (pair[0], pair[1])
        try:
            return Schedule(**arrays, tasks=tasks, table=table, idling=idling, cycle=cycle)
        except (ValueError, OverflowError) as error:
            self.fail("frames", str(error))

    def mapping(self, where: dict[str, Any], key: str, name: str) -> dict[str, Any]:
        value = where.get(key)
        if not isinstance(value, dict):
            self.fail(name, "is missing" if value is None else "must be an object")
        return value

    def sequence(self, where: dict[str, Any], key: str, name: str) -> list[Any]:
        value = where.get(key)
        if not isinstance(value, list):
            self.fail(name, "is missing" if value is None else "must be a list")
        return value

    def fail(self, field: str, problem: str) -> NoReturn:
        raise ValueError(f"{self.path}: {field}: {problem}") from None
