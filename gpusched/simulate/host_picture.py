"""What a run of tasks on CPUs and a GPU looks like, with matplotlib or as SVG text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw.axes import INK, LATE, MUTED, TimeAxis, axes, color, key, time_axis
from gpusched._draw.svg import (
    AXIS,
    LATE_PATCH,
    RELEASE,
    document,
    half_of,
    label,
    legend,
    patch,
    text_at,
    time_scale,
)
from gpusched._support.text import clip, xml
from gpusched.simulate.host_result import WHAT
from gpusched.simulate.host_trace import COPIES, KERNEL, sms_of

if TYPE_CHECKING:
    from gpusched.simulate.host_result import HostRun

# What a notebook or a figure shows at once; more bars are only counted.
SHOWN = 300
MOST = 3000
_MOST_RELEASES = 600
_MOST_SMS = 64  # rows of SMs
_LEGEND = 10  # tasks in the legend
_LABEL = 28  # characters of a task's name
_PALE = (WHAT.index("spin"), WHAT.index("overhead"))
_IDLE, _COPY = 0.35, 0.75  # how opaque they and copies are
_SERVER = "#999999"


def plot(run: HostRun, ax: Any, unit: str | None, since: int, until: int | None) -> Any:
    """Draws on ``ax``, a new figure's where it is None, and returns the axes."""
    scene = _Scene(run, unit, since, until)
    size = (7.6, min(1.2 + 0.42 * len(scene.rows), 12))
    ax = axes(ax, size)
    _draw(scene, ax)
    return ax


def svg(run: HostRun, unit: str | None, since: int, until: int | None) -> str:
    """The picture as an SVG document."""
    return _svg(_Scene(run, unit, since, until))


@dataclass
class _Bar:
    """A rectangle of the picture."""

    row: int
    task: int  # -1: the server
    text: str
    start: int  # cut at the window
    end: int
    what: int
    late: bool
    tip: str

    @property
    def fill(self) -> str:
        return _SERVER if self.task < 0 else color(self.task)

    @property
    def alpha(self) -> float:
        return _IDLE if self.what in _PALE else _COPY if self.what in COPIES else 1.0


class _Scene:
    """What a picture of a run shows: a window of time, rows, and the bars in them."""

    def __init__(self, run: HostRun, unit: str | None, since: int, until: int | None) -> None:
        log = run.intervals
        if log is None:
            raise ValueError("intervals: this run was simulated without them, and cannot be drawn")
        if since < 0:
            raise ValueError(f"since = {since}: must not be negative")
        if until is not None and until <= since:
            raise ValueError(f"until = {until}: must be above since = {since}")
        self.names = run.tasks.name
        self.since = since
        busy = (log.core >= 0) | (log.what == KERNEL)
        last = int(log.end[busy].max(initial=1))
        inside = np.flatnonzero(busy & (log.end > since) & (log.start < (until or last + 1)))
        inside = inside[np.argsort(log.start[inside], kind="stable")]
        shown = inside[: MOST if until is not None else SHOWN]
        self.hidden = len(inside) - len(shown)
        self.end = int(log.start[inside[len(shown)]]) if self.hidden else until or last
        self.end = max(self.end, since + 1)
        self.axis: TimeAxis = time_axis(unit, self.end)
        self.rows: list[str] = []
        cores = np.unique(log.core[log.core >= 0]).tolist()
        used = np.unique(log.task[log.what == KERNEL]).tolist()
        sms = {task: sms_of(run, task) for task in used}
        every = sorted({sm for these in sms.values() for sm in these})[:_MOST_SMS]
        place = {}
        for core in cores:
            place["core", core] = len(self.rows)
            own = run.server is not None and core == run.cpus
            self.rows.append("server" if own else f"core {core}")
        copies = run.gpu == "stgm" and bool(np.isin(log.what, COPIES).any())
        if copies:
            place["ce", 0] = len(self.rows)
            self.rows.append("copies")
        for sm in every:
            place["sm", sm] = len(self.rows)
            self.rows.append(f"SM {sm}")
        late = set(zip(run.task[run.late].tolist(), run.job[run.late].tolist(), strict=True))
        self.bars: list[_Bar] = []
        for k in shown.tolist():
            task, job, what = int(log.task[k]), int(log.job[k]), int(log.what[k])
            where = [place["core", int(log.core[k])]] if log.core[k] >= 0 else []
            if what == KERNEL:
                where += [place["sm", sm] for sm in sms[task] if sm in every]
            elif what in COPIES and copies:
                where.append(place["ce", 0])
            start, end = int(log.start[k]), int(log.end[k])
            name = "server" if task < 0 else f"{self.names[task]} #{job}"
            axis = self.axis
            tip = f"{name}: {WHAT[what]}, {axis.text(start)} to {axis.text(end)}"
            text = "" if task < 0 else str(job)
            cut = max(start, since), min(end, self.end)
            for row in where:
                self.bars.append(_Bar(row, task, text, *cut, what, (task, job) in late, tip))
        self.legend = sorted({bar.task for bar in self.bars if bar.task >= 0})[:_LEGEND]
        self.releases = self._releases(run, place)

    def _releases(self, run: HostRun, place: dict[Any, int]) -> list[tuple[int, int, int]]:
        """(row, time, task) of the releases in the window, in the row of the task's core."""
        seen = np.flatnonzero((run.release >= self.since) & (run.release < self.end))
        marks = []
        lowest = max(row for (kind, _), row in place.items() if kind == "core") if place else 0
        for k in seen[:_MOST_RELEASES].tolist():
            task = int(run.task[k])
            row = lowest
            if run.policy == "partitioned":
                row = place.get(("core", int(run.tasks.core[task])), lowest)
            marks.append((row, int(run.release[k]), task))
        return marks

    def note(self) -> str:
        return f"{self.hidden} later bars not shown" if self.hidden else ""


def _draw(scene: _Scene, ax: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    unit = scene.axis.ticks
    inch = (scene.end - scene.since) / (ax.get_position().width * ax.figure.get_figwidth())
    for bar in scene.bars:
        left, width = bar.start / unit, (bar.end - bar.start) / unit
        ax.add_patch(
            Rectangle(
                (left, bar.row - 0.36),
                width,
                0.72,
                facecolor=bar.fill,
                alpha=bar.alpha,
                edgecolor=LATE if bar.late else "white",
                linewidth=1.0 if bar.late else 0.6,
                zorder=2,
            )
        )
        if bar.text and (bar.end - bar.start) > (0.085 * len(bar.text) + 0.06) * inch:
            ax.text(
                *(left + width / 2, bar.row, bar.text),
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "linewidth": 0},
                clip_on=True,
                parse_math=False,
            )
    for row, time, task in scene.releases:
        style = {"marker": "^", "markersize": 4.5, "linestyle": "none", "clip_on": False}
        ax.plot([time / unit], [row + 0.43], color=color(task), zorder=3, **style)
    ax.set_xlim(scene.since / unit, scene.end / unit)
    ax.set_ylim(max(len(scene.rows), 1) - 0.4, -0.55)
    ax.set_yticks(range(len(scene.rows)), scene.rows, parse_math=False)
    steps = scene.axis.steps(scene.since, scene.end, 8)
    ax.set_xticks([time / unit for time in steps], [scene.axis.text(time) for time in steps])
    note = scene.note()
    ax.set_xlabel(f"{scene.axis.label}; {note}" if note else scene.axis.label)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles: list[Any] = [
        Patch(facecolor=color(task), label=clip(scene.names[task], _LABEL)) for task in scene.legend
    ]
    if scene.releases:
        mark: dict[str, Any] = {"marker": "^", "linestyle": "none", "markersize": 5}
        handles.append(Line2D([], [], color=MUTED, label="release", **mark))
    if any(bar.what in COPIES for bar in scene.bars):
        handles.append(Patch(facecolor=MUTED, alpha=_COPY, label="copies"))
    if any(bar.what in _PALE for bar in scene.bars):
        handles.append(Patch(facecolor=MUTED, alpha=_IDLE, label="spins, overhead"))
    if any(bar.late for bar in scene.bars):
        handles.append(Patch(facecolor="white", edgecolor=LATE, label="late"))
    key(ax, handles)


def _svg(scene: _Scene) -> str:
    left, top, width, pitch = 72, 44, 720, 26
    bottom = top + pitch * max(len(scene.rows), 1)
    span = scene.end - scene.since
    out: list[str] = []
    add = out.append

    def x(time: int) -> float:
        return left + width * (time - scene.since) / span

    for row, name in enumerate(scene.rows):
        middle = top + pitch * row + pitch / 2
        add(text_at(left - 8, middle + 4, name, "end"))
        add(f'<path d="M{left} {top + pitch * (row + 1)}h{width}" stroke="#dddddd"/>')
    for bar in scene.bars:
        level, length = top + pitch * bar.row + 4, x(bar.end) - x(bar.start)
        edge = LATE if bar.late else "#ffffff"
        add(
            f'<rect x="{x(bar.start):.1f}" y="{level}" width="{length:.1f}" height="{pitch - 8}" '
            f'fill="{bar.fill}" fill-opacity="{bar.alpha}" stroke="{edge}">'
            f"<title>{xml(bar.tip)}</title></rect>"
        )
        if bar.text and length >= 2 * half_of(bar.text) + 4:
            add(label(x(bar.start) + length / 2, level + 9, bar.text))
    for row, time, task in scene.releases:
        level = top + pitch * (row + 1)
        add(f'<path d="M{x(time):.1f} {level - 6}l3.5 7h-7z" fill="{color(task)}"/>')
    add(f'<path d="M{left} {top}V{bottom}H{left + width}" {AXIS}/>')
    out += time_scale(scene.axis, scene.since, scene.end, left, width, bottom)
    marks = [
        (patch(f'fill="{color(task)}"'), clip(scene.names[task], _LABEL)) for task in scene.legend
    ]
    if scene.releases:
        marks.append((RELEASE, "release"))
    for these, opaque, words in ((COPIES, _COPY, "copies"), (_PALE, _IDLE, "spins, overhead")):
        if any(bar.what in these for bar in scene.bars):
            marks.append((patch(f'fill="{MUTED}" fill-opacity="{opaque}"'), words))
    if any(bar.late for bar in scene.bars):
        marks.append((LATE_PATCH, "late"))
    out += legend(marks, left, width)[0]
    if scene.note():
        add(text_at(left + width, top - 4, scene.note(), "end", f' fill="{MUTED}"'))
    return document(out, left + width + 24, bottom + 42)
