"""What a run of FIFO kernels looks like: threads over time, with matplotlib or as SVG text."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw.axes import INK, LATE, MUTED, TimeAxis, axes, color, key, time_axis
from gpusched._draw.lanes import Piece, Threads
from gpusched._draw.svg import (
    AXIS,
    LATE_PATCH,
    RELEASE,
    document,
    half_of,
    label,
    legend,
    patch,
    sideways,
    text_at,
    time_scale,
)
from gpusched._support.arguments import integer
from gpusched._support.text import clip, xml

if TYPE_CHECKING:
    from gpusched.simulate.fifo_result import FifoRun

# What a notebook or a figure shows at once; more waves are only counted.
SHOWN_WAVES = 300
MOST_WAVES = 3000
_MOST_BLOCKS = 2000  # beyond, the blocks of a wave are drawn as one
_MOST_RELEASES = 600
_LEGEND = 10  # tasks in the legend
_LABEL = 28  # characters of a task's name
_ROW = 0.045  # height of a row of releases, relative to the threads


def plot(
    run: FifoRun,
    ax: Any,
    unit: str | None,
    since: int,
    until: int | None,
    labels: Mapping[tuple[int, int], str],
) -> Any:
    """Draws on ``ax``, a new figure's where it is None, and returns the axes."""
    scene = _Scene(run, unit, since, until)
    ax = axes(ax, (7.6, 4.2))
    _draw(scene, ax, labels)
    return ax


def svg(run: FifoRun, unit: str | None, since: int, until: int | None) -> str:
    """The picture as an SVG document."""
    return _svg(_Scene(run, unit, since, until))


@dataclass
class _Bar:
    """A wave in the picture: where its threads are, and what it shows."""

    task: int
    job: int
    blocks: int
    start: int  # cut at the window
    end: int
    late: bool
    pieces: list[Piece]  # of adjacent threads
    tip: str

    def rectangles(self, width: int) -> list[Piece]:
        """One for each block, as far as blocks are in one piece."""
        single = []
        for low, size in self.pieces:
            count, rest = divmod(size, width)
            single += [(low + k * width, width) for k in range(count)] if rest == 0 else []
            single += [(low, size)] if rest else []
        return single

    def largest(self) -> Piece:
        return max(self.pieces, key=lambda piece: (piece[1], -piece[0]))


class _Scene:
    """What a picture of a run shows: a window of time, and the waves in it."""

    def __init__(self, run: FifoRun, unit: str | None, since: int, until: int | None) -> None:
        waves = run.waves
        if waves is None:
            raise ValueError("waves: this run was simulated without them, and cannot be drawn")
        since = integer(since, "since")
        until = None if until is None else integer(until, "until")
        if since < 0:
            raise ValueError(f"since = {since}: must not be negative")
        if until is not None and until <= since:
            raise ValueError(f"until = {until}: must be above since = {since}")
        self.m = run.threads
        self.names = run.tasks.name
        self.since = since
        last = int(waves.end.max(initial=1))
        inside = np.flatnonzero((waves.end > since) & (waves.start < (until or last + 1)))
        most = MOST_WAVES if until is not None else SHOWN_WAVES
        if len(inside):  # all that run at the window's first instant, or it would end there
            first = max(since, int(waves.start[inside[0]]))
            at_once = int(np.searchsorted(waves.start[inside], first, side="right"))
            most = max(most, min(at_once, MOST_WAVES))
        shown = inside[:most]
        self.hidden = len(inside) - len(shown)
        if self.hidden:
            self.end = int(waves.start[inside[len(shown)]])
        else:
            self.end = until or last
        self.end = max(self.end, since + 1)
        self.axis: TimeAxis = time_axis(unit, self.end)
        self.width = run.tasks.threads.tolist()
        self.bars = self._place(run, shown)
        drawn = sum(bar.blocks for bar in self.bars)
        self.whole = drawn > _MOST_BLOCKS
        used = sorted({bar.task for bar in self.bars})
        self.legend = used[:_LEGEND]
        self.releases = self._releases(run)

    def _place(self, run: FifoRun, shown: Any) -> list[_Bar]:
        assert run.waves is not None
        finish = {}
        for task, job, end, deadline in zip(
            *(getattr(run, name).tolist() for name in ("task", "job", "finish", "deadline")),
            strict=True,
        ):
            finish[task, job] = (end, deadline)
        rows = zip(
            *(
                getattr(run.waves, name)[shown].tolist()
                for name in ("task", "job", "blocks", "start", "end")
            ),
            strict=True,
        )
        threads = Threads(self.m)
        running: list[tuple[int, int, list[Piece]]] = []
        bars = []
        say = self.axis.text
        for number, (task, job, blocks, start, end) in enumerate(rows):
            while running and running[0][0] <= start:
                threads.give(heapq.heappop(running)[2])
            pieces = threads.take(blocks, self.width[task])
            heapq.heappush(running, (end, number, pieces))
            done, deadline = finish[task, job]
            late = done > deadline or (done < 0 and run.now > deadline)
            tip = (
                f"{self.names[task][:80]}, job {job}: {blocks} blocks of {self.width[task]} "
                f"threads, {say(start)} to {say(end)}{' (late)' if late else ''}"
            )
            window = max(start, self.since), min(end, self.end)
            if window[0] < window[1]:
                bars.append(_Bar(task, job, blocks, *window, late, pieces, tip))
        return bars

    def _releases(self, run: FifoRun) -> list[list[int]]:
        """Of the tasks in the legend, one row each; nothing where there are too many."""
        inside = (run.release >= self.since) & (run.release < self.end)
        rows = [run.release[inside & (run.task == task)].tolist() for task in self.legend]
        return rows if sum(map(len, rows)) <= _MOST_RELEASES else []

    def note(self) -> str:
        """What the picture leaves out, "" when it shows everything."""
        return f"{self.hidden} more waves are not shown" if self.hidden else ""

    def steps(self) -> list[int]:
        """Numbers of threads to mark."""
        if self.m <= 8:
            return list(range(self.m + 1))
        for parts in (4, 5, 3, 2):
            if self.m % parts == 0:
                return [self.m // parts * k for k in range(parts + 1)]
        return [0, self.m]


def _draw(scene: _Scene, ax: Any, labels: Mapping[tuple[int, int], str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    unit = scene.axis.ticks
    figure, box = ax.figure, ax.get_position()
    low = -scene.m * (_ROW * len(scene.releases) + (0.015 if scene.releases else 0))
    inch = (scene.end - scene.since) / (box.width * figure.get_figwidth())  # about, in ticks
    inch_high = (scene.m - low) / (box.height * figure.get_figheight())  # in threads
    for bar in scene.bars:
        pieces = bar.pieces if scene.whole else bar.rectangles(scene.width[bar.task])
        for bottom, height in pieces:
            ax.add_patch(
                Rectangle(
                    (bar.start / unit, bottom),
                    (bar.end - bar.start) / unit,
                    height,
                    facecolor=color(bar.task),
                    edgecolor=LATE if bar.late else "white",
                    hatch="//" if bar.late else None,
                    linewidth=1.0 if bar.late else 0.6,
                    zorder=2.5 if bar.late else 2,
                )
            )
        text = str(labels.get((bar.task, bar.job), bar.job))
        bottom, height = bar.largest()
        if (bar.end - bar.start) > (0.085 * len(text) + 0.06) * inch and height > 0.17 * inch_high:
            ax.text(
                (bar.start + bar.end) / 2 / unit,
                bottom + height / 2,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "linewidth": 0},
                clip_on=True,
                parse_math=False,
            )
    for row, releases in enumerate(scene.releases):
        y = -scene.m * _ROW * (row + 0.65)
        x = [time / unit for time in releases]
        style = {"marker": "^", "markersize": 4.5, "linestyle": "none", "clip_on": False}
        ax.plot(x, [y] * len(x), color=color(scene.legend[row]), zorder=3, **style)
    ax.set_xlim(scene.since / unit, scene.end / unit)
    ax.set_ylim(low, scene.m)
    ax.axhline(0, color=INK, linewidth=0.8, zorder=3)
    ax.set_yticks(scene.steps(), [str(threads) for threads in scene.steps()])
    steps = scene.axis.steps(scene.since, scene.end, 8)
    ax.set_xticks([time / unit for time in steps], [scene.axis.text(time) for time in steps])
    note = scene.note()
    ax.set_xlabel(f"{scene.axis.label}; {note}" if note else scene.axis.label)
    ax.set_ylabel("threads")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles: list[Any] = [
        Patch(facecolor=color(task), label=clip(scene.names[task], _LABEL)) for task in scene.legend
    ]
    if scene.releases:
        mark: dict[str, Any] = {"marker": "^", "linestyle": "none", "markersize": 5}
        handles.append(Line2D([], [], color=MUTED, label="release", **mark))
    if any(bar.late for bar in scene.bars):
        handles.append(Patch(facecolor="white", edgecolor=LATE, hatch="//", label="late"))
    key(ax, handles)


def _svg(scene: _Scene) -> str:
    left, top, width, height = 64, 44, 720, 300
    row = 12
    bottom = top + height
    span = scene.end - scene.since
    out: list[str] = []
    add = out.append

    def x(time: int) -> float:
        return left + width * (time - scene.since) / span

    def y(thread: int) -> float:
        return bottom - height * thread / scene.m

    for bar in scene.bars:
        edge = f'stroke="{LATE}" stroke-width="1"' if bar.late else 'stroke="#ffffff"'
        length = x(bar.end) - x(bar.start)
        pieces = bar.pieces if scene.whole else bar.rectangles(scene.width[bar.task])
        add(f'<g fill="{color(bar.task)}" {edge}><title>{xml(bar.tip)}</title>')
        for low, size in pieces:
            add(
                f'<rect x="{x(bar.start):.1f}" y="{y(low + size):.1f}" width="{length:.1f}" '
                f'height="{height * size / scene.m:.1f}"/>'
            )
        add("</g>")
        low, size = bar.largest()
        text, high = str(bar.job), height * size / scene.m
        if length >= 2 * half_of(text) + 4 and high >= 15:
            add(label(x(bar.start) + length / 2, y(low) - high / 2, text))
    for at, releases in enumerate(scene.releases):
        level = bottom + row * (at + 0.9)
        for time in releases:
            add(
                f'<path d="M{x(time):.1f} {level - 7:.1f}l3.5 7h-7z" '
                f'fill="{color(scene.legend[at])}"/>'
            )
    foot = bottom + row * len(scene.releases) + (4 if scene.releases else 0)
    add(f'<path d="M{left} {top}V{bottom}H{left + width}M{left} {foot}h{width}" {AXIS}/>')
    for threads in scene.steps():
        add(f'<path d="M{left} {y(threads):.1f}h-5" {AXIS}/>')
        add(text_at(left - 8, y(threads) + 4, str(threads), "end"))
    out += time_scale(scene.axis, scene.since, scene.end, left, width, foot)
    add(sideways(top + height / 2, "threads"))
    marks = [
        (patch(f'fill="{color(task)}"'), clip(scene.names[task], _LABEL)) for task in scene.legend
    ]
    if scene.releases:
        marks.append((RELEASE, "release"))
    if any(bar.late for bar in scene.bars):
        marks.append((LATE_PATCH, "late"))
    out += legend(marks, left, width)[0]
    if scene.note():
        add(text_at(left + width, top - 4, scene.note(), "end", f' fill="{MUTED}"'))
    return document(out, left + width + 24, foot + 42)
