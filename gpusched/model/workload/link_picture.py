"""Pictures of the links between the tasks of a workload: SVG and Matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpusched._draw import axes as plot_axes
from gpusched._draw.svg import PAPER, document
from gpusched._support.text import clip, xml
from gpusched.model.workload.link_layout import MOST, Curve, Drawing, Route, drawing_of
from gpusched.model.workload.links import Path
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workload_document import Parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME = 24  # characters of a task's name
_PATHS = 12  # that are drawn
_BAND, _LEVELS = 6.0, 5  # pixels of a path's band; bands beside each other
_OPACITY = 0.4
_LINE, _KEY = 18.0, 30.0  # pixels: a line below the picture, the mark before its text
_HEAD = 8.0  # of an arrow
_OWN, _RELEASED = 2.2, 1.0  # lines of frames
_RELEASES, _READS, _TIMED = "releases", "is read by", "has arrivals of its own"


class _Picture:
    """Texts, frames and curves, drawn by both back ends."""

    def __init__(self, parts: Parts) -> None:
        self.tasks = {task.name: task for task in parts.tasks[:MOST]}
        self.texts = {name: _texts(task, parts) for name, task in self.tasks.items()}
        lengths = {name: max(map(len, lines)) for name, lines in self.texts.items()}
        self.drawing: Drawing = drawing_of(parts.tasks, lengths)
        shown = [path for path in parts.paths if any(name in self.tasks for name in path.tasks)]
        self.paths = shown[:_PATHS]
        self.keys = [_path_text(path, parts) for path in self.paths]
        links = sum(len(task.after) + len(task.reads) for task in parts.tasks)
        rest = (
            (len(parts.tasks) - len(self.tasks), "tasks"),
            (links - len(self.drawing.curves), "links"),
            (len(shown) - _PATHS, "paths"),
        )
        self.notes = [f"{count:,} more {what} not drawn" for count, what in rest if count > 0]
        lines = 1 + len(self.keys) + len(self.notes)
        longest = max([60, *(len(key) for key in self.keys)])
        self.width = max(self.drawing.width, 2 * _KEY + 6.2 * longest)
        self.height = self.drawing.height + _LINE * lines + 6

    def bands(self) -> list[tuple[int, list[Curve]]]:
        """Number of each path, and its band, beside those of others."""
        levels = min(_LEVELS, len(self.paths))
        found = []
        for number, path in enumerate(self.paths):
            down = _BAND * (number % _LEVELS - (levels - 1) / 2)
            tasks = [name for name in path.tasks if name in self.tasks]
            found.append((number, self.drawing.through(tasks, down)))
        return found

    def line(self, number: int) -> float:
        """The level of a line below the drawing."""
        return self.drawing.height + _LINE * (number + 0.5)

    def every(self, route: Route) -> str:
        """The label of an arrow: of how many jobs one is released."""
        task = self.tasks[route.target]
        return "" if route.reads or task.every == 1 else f"x{task.every}"


def _texts(task: Task, parts: Parts) -> list[str]:
    """Lines in the frame of a task: its name, and how often it arrives."""
    name = clip(task.name, _NAME)
    return [name] if task.after else [name, task.rate or time_with_unit(task.period, parts.tick)]


def _path_text(path: Path, parts: Parts) -> str:
    due = "" if path.deadline is None else f" at most {time_with_unit(path.deadline, parts.tick)}"
    return f"{clip(path.name, 40)}: {path.kind}{due}"


def _head(curve: Curve) -> list[tuple[float, float]]:
    """The corners of an arrow's head at the end of a curve."""
    (x, y), end = next(point for point in reversed(curve) if point != curve[-1]), curve[-1]
    length = math.hypot(end[0] - x, end[1] - y)
    ahead, aside = (end[0] - x) / length, (end[1] - y) / length
    back, wide = (end[0] - _HEAD * ahead, end[1] - _HEAD * aside), 0.45 * _HEAD
    sides = [(back[0] - side * aside, back[1] + side * ahead) for side in (wide, -wide)]
    return [end, *sides]


def _middle(curve: Curve) -> tuple[float, float]:
    """A point beside the first bend of a curve, for its label."""
    (x, y), (to_x, to_y) = curve[0], next(p for p in curve[3::3] if p[0] - curve[0][0] > 20)
    return (x + to_x) / 2, (y + to_y) / 2 - (5 if y == to_y else 0)


# SVG


def svg_of(parts: Parts) -> str:
    """See ``Workload.to_svg``."""
    picture = _Picture(parts)
    drawing = picture.drawing
    out = []
    for number, curves in picture.bands():
        band = f'stroke="{plot_axes.color(number)}" stroke-opacity="{_OPACITY}"'
        shape = " ".join(map(_path, curves))
        title = f"<title>{xml(picture.keys[number])}</title>"
        out.append(f'<path d="{shape}" fill="none" stroke-width="{_BAND}" {band}>{title}</path>')
    for route, curve in drawing.curves.items():
        out += _arrow(curve, route.reads)
        if every := picture.every(route):
            x, y = _middle(curve)
            half = 2 + 3.3 * len(every)
            out.append(
                f'<rect x="{x - half:.1f}" y="{y - 9:.1f}" width="{2 * half:.1f}" height="13" '
                f'fill="{PAPER}"/>'
            )
            out.append(_text(x, y + 1, every))
    for name, box in drawing.boxes.items():
        width = _RELEASED if picture.tasks[name].after else _OWN
        out.append(
            f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" '
            f'width="{box.width:.1f}" height="{box.height:.1f}" rx="6" fill="{PAPER}" '
            f'stroke="currentColor" stroke-width="{width}"><title>{xml(name[:200])}</title></rect>'
        )
        lines = picture.texts[name]
        for i, line in enumerate(lines):
            out.append(_text(box.x, box.y + 4 + 13 * (i - (len(lines) - 1) / 2), line))
    out += _svg_keys(picture)
    return document(out, math.ceil(picture.width), math.ceil(picture.height), "Links of the tasks")


def _svg_keys(picture: _Picture) -> list[str]:
    y, x, out = picture.line(0), 14.0, []
    for text, reads in ((_RELEASES, False), (_READS, True)):
        out += _arrow(((x, y), (x, y), (x + 22, y), (x + 22, y)), reads)
        out.append(_text(x + _KEY, y + 4, text, "start"))
        x += _KEY + 20 + 6.4 * len(text)
    frame = f'<rect x="{x:.1f}" y="{y - 6:.1f}" width="22" height="12" rx="3" fill="{PAPER}"'
    out.append(f'{frame} stroke="currentColor" stroke-width="{_OWN}"/>')
    out.append(_text(x + _KEY, y + 4, _TIMED, "start"))
    for i, text in enumerate([*picture.keys, *picture.notes]):
        y = picture.line(i + 1)
        if i < len(picture.keys):
            out.append(
                f'<path d="M14 {y:.1f}h22" stroke="{plot_axes.color(i)}" '
                f'stroke-opacity="{_OPACITY}" stroke-width="{_BAND}"/>'
            )
        out.append(_text(14 + _KEY, y + 4, text, "start"))
    return out


def _arrow(curve: Curve, reads: bool) -> list[str]:
    dashes = ' stroke-dasharray="5 4"' if reads else ""
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in _head(curve))
    return [
        f'<path d="{_path(curve)}" fill="none" stroke="{plot_axes.MUTED}" '
        f'stroke-width="1.3"{dashes}/>',
        f'<path d="M{corners}z" fill="{plot_axes.MUTED}"/>',
    ]


def _path(curve: Curve) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in curve]
    return f"M{points[0]}C{' '.join(points[1:])}"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{xml(text)}</text>'


# Matplotlib


def draw(parts: Parts, ax: Axes | None) -> Axes:
    """See ``Workload.plot``."""
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

    picture = _Picture(parts)
    drawing = picture.drawing
    ax = plot_axes.axes(ax, (picture.width / 90, picture.height / 90))
    place, figure = ax.get_position(), ax.figure
    inches = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    scale = 72 * min(
        place.width * inches[0] / picture.width, place.height * inches[1] / picture.height
    )  # points of a pixel
    font: dict[str, Any] = {"fontsize": 11 * scale, "color": plot_axes.INK, "parse_math": False}
    line: dict[str, Any] = {"facecolor": "none", "edgecolor": plot_axes.MUTED, "capstyle": "butt"}

    def arrow(curve: Curve, *, reads: bool) -> None:
        style = (0, (5 / 1.3, 4 / 1.3)) if reads else "-"
        ax.add_patch(PathPatch(_mpl(curve), linewidth=1.3 * scale, linestyle=style, **line))
        ax.add_patch(Polygon(_head(curve), facecolor=plot_axes.MUTED, edgecolor="none"))

    for number, curves in picture.bands():
        for curve in curves:
            style = {**line, "edgecolor": plot_axes.color(number), "alpha": _OPACITY}
            ax.add_patch(PathPatch(_mpl(curve), linewidth=_BAND * scale, **style))
    for route, curve in drawing.curves.items():
        arrow(curve, reads=route.reads)
        if every := picture.every(route):
            paper = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
            ax.text(*_middle(curve), every, ha="center", va="center", bbox=paper, **font)
    frame: dict[str, Any] = {"facecolor": "white", "edgecolor": plot_axes.INK}
    for name, box in drawing.boxes.items():
        corner = (box.x - box.width / 2, box.y - box.height / 2)
        width = scale * (_RELEASED if picture.tasks[name].after else _OWN)
        round_ = "round,pad=0,rounding_size=6"
        ax.add_patch(
            FancyBboxPatch(corner, box.width, box.height, round_, linewidth=width, **frame)
        )
        text = "\n".join(picture.texts[name])
        ax.text(box.x, box.y, text, ha="center", va="center", zorder=3, **font)
    y, x = picture.line(0), 14.0
    for text, reads in ((_RELEASES, False), (_READS, True)):
        arrow(((x, y), (x, y), (x + 22, y), (x + 22, y)), reads=reads)
        ax.text(x + _KEY, y, text, va="center", **font)
        x += _KEY + 20 + 6.4 * len(text)
    small = FancyBboxPatch((x, y - 6), 22, 12, "round,pad=0,rounding_size=3", **frame)
    small.set_linewidth(_OWN * scale)
    ax.add_patch(small)
    ax.text(x + _KEY, y, _TIMED, va="center", **font)
    for i, text in enumerate([*picture.keys, *picture.notes]):
        y = picture.line(i + 1)
        if i < len(picture.keys):
            style = {"color": plot_axes.color(i), "alpha": _OPACITY, "linewidth": _BAND * scale}
            ax.plot([14, 36], [y, y], solid_capstyle="butt", **style)
        ax.text(14 + _KEY, y, text, va="center", **font)
    ax.set_xlim(0, picture.width)
    ax.set_ylim(picture.height, 0)
    ax.axis("off")
    return ax


def _mpl(curve: Curve) -> Any:
    from matplotlib.path import Path as Shape

    return Shape(curve, [Shape.MOVETO, *[Shape.CURVE4] * (len(curve) - 1)])
