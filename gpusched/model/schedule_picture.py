"""What a schedule looks like: one row per task, with matplotlib or as SVG text."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw.axes import INK, LATE, MUTED, TimeAxis, axes, color, time_axis
from gpusched._draw.svg import AXIS, document, label, time_scale
from gpusched._support.text import clip, xml
from gpusched.model.jobs import Jobs

if TYPE_CHECKING:
    from gpusched.model.schedule import Schedule

# What a notebook or a figure shows at once; more frames are only counted.
SHOWN_FRAMES = 60
_SHOWN_MARKS = 2000
_BAR = 0.62  # height of a job's bar in rows
_ARROW = 0.82  # height of an arrow in rows
_LABEL = 28  # characters of a task's name
_ROW = 34  # height of a row in the SVG, in pixels


def plot(schedule: Schedule, ax: Any, unit: str | None, until: int | None) -> Any:
    """Draws on ``ax``, a new figure's where it is None, and returns the axes."""
    scene = _Scene(schedule, unit, until)
    label = 0.085 * max(len(clip(name, _LABEL)) for name in scene.names)
    size = (label + min(12.0, max(5.6, 0.3 * scene.marks)), 1.3 + 0.55 * scene.n)
    ax = axes(ax, size)
    _draw(scene, ax)
    return ax


def svg(schedule: Schedule, unit: str | None, until: int | None) -> str:
    """The picture as an SVG document."""
    return _svg(_Scene(schedule, unit, until))


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
    ax.set_yticks(range(scene.n), [clip(name, _LABEL) for name in scene.names], parse_math=False)
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


def _svg(scene: _Scene) -> str:
    left = 24 + 7 * max(len(clip(name, _LABEL)) for name in scene.names)
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
            f"{xml(clip(name, _LABEL))}<title>{xml(name[:200])}</title></text>"
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
            f'fill="{color(task)}" {edge}><title>{xml(tip)}</title></rect>'
        )
        if length >= (40 if late else 12) + 7 * len(str(job)):
            # A late job's middle may be where the cross is.
            centre = left + width * start / scene.end + length * (0.15 if late else 0.5)
            add(label(centre, middle, str(job)))
    due = f'stroke="{MUTED}" fill="none"'
    for task in range(scene.n):
        middle = top + _ROW * (task + 0.5)
        high, low = middle - 15, middle + 15
        for time in scene.releases[task]:
            add(f'<path d="M{x(time)} {low}V{high}m-3 5l3 -5l3 5" {AXIS}/>')
        for time in scene.deadlines[task]:
            add(f'<path d="M{x(time)} {high}V{low}m-3 -5l3 5l3 -5" {due}/>')
    for task, job, _, deadline, start, _ in scene.missed:
        middle = top + _ROW * (task + 0.5)
        what = "waits at" if start < 0 else "ends after"
        tip = f"{scene.names[task][:80]}, job {job} {what} its deadline {scene.axis.text(deadline)}"
        add(
            f'<path d="M{x(deadline)} {middle}m-6 -6l12 12m0 -12l-12 12" stroke="{LATE}" '
            f'stroke-width="3.5" fill="none"><title>{xml(tip)}</title></path>'
        )
    add(f'<path d="M{left} {bottom}h{width}" {AXIS}/>')
    out += time_scale(scene.axis, 0, scene.end, left, width, bottom)
    legend = "↑ release   ↓ deadline"
    marks = f'<tspan fill="{LATE}">   ✕ missed deadline</tspan>' if scene.missed else ""
    note = f'<tspan fill="{MUTED}">   {scene.note()}</tspan>' if scene.note() else ""
    add(f'<text x="{left}" y="15" xml:space="preserve">{legend}{marks}{note}</text>')
    return document(out, left + width + 24, bottom + 42)
