"""Matplotlib back end of timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched._draw.axes import INK, LATE, axes, key
from gpusched._draw.timeline import ALPHA, Key, Mark, Piece, Raster, Timeline, fill_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = {"release": "^", "deadline": "v", "launch": "v", "miss": "X"}


def plot(timeline: Timeline, ax: Axes | None = None) -> Axes:
    """Draw a timeline on ``ax``, or on the axes of a new figure if it is None; return the axes."""
    if ax is None:
        names = [text for _, text in timeline.labels(1)]
        side = 0.085 * max(map(len, names), default=0)
        size = (side + timeline.width, min(1.1 + max(timeline.height / 72, 0.9), 12.0))
        ax = axes(None, size)
    figure, place = ax.figure, ax.get_position()
    inches = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    wide = (timeline.end - timeline.since) / (place.width * inches[0])
    high = timeline.height / (place.height * inches[1])
    _draw(timeline, ax, wide, high)  # ticks and points of the lanes per inch, about
    unit = timeline.axis.ticks
    tops, height = timeline.tops(), timeline.height
    for top, lane in zip(tops, timeline.lanes, strict=True):
        if lane.line and lane.height and top + lane.height < height:
            ax.axhline(top + lane.height, color="#E4E4E4", linewidth=0.6, zorder=1)
    ax.set_xlim(timeline.since / unit, timeline.end / unit)
    ax.set_ylim(height, 0)
    labels = timeline.labels(11 * high / 72)
    ax.set_yticks([y for y, _ in labels], [t for _, t in labels], fontsize=9, parse_math=False)
    if not any(lane.scale for lane in timeline.lanes):
        ax.tick_params(axis="y", length=0)
    count = 10 if len(timeline.axis.text(timeline.end)) <= 3 else 8
    steps = timeline.axis.steps(timeline.since, timeline.end, count)
    ax.set_xticks([t / unit for t in steps], [timeline.axis.text(t) for t in steps])
    room = int(12 * place.width * inches[0])
    ax.set_xlabel("\n".join(_below(timeline, room)))
    if timeline.title:
        ax.set_ylabel(timeline.title)
    for side_name in ("top", "right"):
        ax.spines[side_name].set_visible(False)
    key(ax, [_handle(entry) for entry in timeline.keys])
    return ax


def _below(timeline: Timeline, room: int) -> list[str]:
    """The axis' label and the notes, in lines of about ``room`` characters."""
    label = timeline.axis.label
    lines = timeline.note_lines(room)
    if lines and len(label) + len(lines[0]) + 2 <= room:
        return [f"{label}; {lines[0]}", *lines[1:]]
    return [label, *lines]


def _draw(timeline: Timeline, ax: Axes, wide: float, high: float) -> None:
    unit, tops, misses = timeline.axis.ticks, timeline.tops(), timeline.misses()
    for raster in timeline.rasters:
        _image(timeline, raster, ax)
    for piece in timeline.pieces:
        low, stop = timeline.cut(piece)
        if low > stop or (low == stop and piece.end > piece.start):
            continue
        if piece.style == "band":
            ax.axvspan(low / unit, stop / unit, color=fill_of(piece.color), linewidth=0, zorder=0)
            ax.axvline(low / unit, color="#CCCCCC", linewidth=0.6, zorder=0.5)
            continue
        top, height = tops[piece.lane], timeline.lanes[piece.lane].height
        _rectangles(ax, piece, low / unit, stop / unit, top, height, high)
        upper, lower = piece.place()
        left, right = timeline.label_span(piece, misses)
        fits = right - left > (0.085 * len(piece.label) + 0.06) * wide
        if piece.label and fits and (lower - upper) * height > 0.16 * high:
            ax.text(
                (left + right) / 2 / unit,
                top + height * (upper + lower) / 2,
                piece.label,
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "linewidth": 0},
                clip_on=True,
                parse_math=False,
            )
    _links(timeline, ax)
    _marks(timeline, ax, tops)


def _links(timeline: Timeline, ax: Axes) -> None:
    from matplotlib.patheffects import withStroke

    unit = timeline.axis.ticks
    for link, first, last in timeline.arrows():
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        arrow |= {"linestyle": "--" if link.dashed else "-", "mutation_scale": 7}
        arrow["path_effects"] = [withStroke(linewidth=2.8, foreground="white", alpha=0.8)]
        ends = (link.to_time / unit, last), (link.time / unit, first)
        ax.annotate("", *ends, arrowprops=arrow, zorder=3)


def _image(timeline: Timeline, raster: Raster, ax: Axes) -> None:
    import numpy as np
    from matplotlib.colors import to_rgba_array

    unit, top = timeline.axis.ticks, timeline.tops()[raster.lane]
    bottom = top + raster.lanes * timeline.lanes[raster.lane].height
    # The last colour is that of an empty cell, -1.
    colors = np.vstack([to_rgba_array(list(raster.colors)), (1.0, 1.0, 1.0, 0.0)])
    ax.imshow(
        colors[raster.values],
        extent=(timeline.since / unit, timeline.end / unit, bottom, top),
        aspect="auto",
        interpolation="nearest",
        zorder=0.8,
    )


def _rectangles(
    ax: Axes, piece: Piece, left: float, right: float, top: float, height: float, high: float
) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    alpha = ALPHA[piece.style]
    for upper, lower in piece.spans:
        points = 72 * (lower - upper) * height / high
        edge = 0.7 if points >= 6 else 0.4 if points >= 2 else 0.0
        ax.add_patch(
            Rectangle(
                (left, top + height * upper),
                right - left,
                height * (lower - upper),
                facecolor=to_rgba(fill_of(piece.color), alpha),
                edgecolor=(LATE if piece.late or piece.differs else INK)
                if piece.outlined
                else "white",
                hatch="//" if piece.late else None,
                linewidth=1.5 if piece.chained else 1.0 if piece.outlined else edge,
                zorder=2.5 if piece.outlined else 1.5 if alpha < 0.5 else 2,
            )
        )


def _marks(timeline: Timeline, ax: Axes, tops: list[float]) -> None:
    unit = timeline.axis.ticks
    alike: dict[tuple[str, int | str, bool], list[Mark]] = {}
    for mark in timeline.marks:
        alike.setdefault((mark.kind, mark.color, mark.shaft), []).append(mark)
    for (kind, shade, shaft), marks in alike.items():
        x = [mark.time / unit for mark in marks]
        heights = [timeline.lanes[mark.lane].height for mark in marks]
        lanes = [tops[mark.lane] for mark in marks]
        y = [top + h * m.at for top, h, m in zip(lanes, heights, marks, strict=True)]
        if shaft:
            upper = [top + 0.09 * h for top, h in zip(lanes, heights, strict=True)]
            lower = [top + 0.91 * h for top, h in zip(lanes, heights, strict=True)]
            ax.vlines(x, upper, lower, color=fill_of(shade), linewidth=1, zorder=3, clip_on=False)
        style: dict[str, Any] = {"markersize": 4.5, "zorder": 3.5}
        if kind == "miss":
            style = {"markersize": 11, "markeredgecolor": "white", "zorder": 5}
        style |= {"marker": _MARKERS[kind], "linestyle": "none", "clip_on": False}
        ax.plot(x, y, color=fill_of(shade), **style)
        for mark, at, height in zip(marks, y, heights, strict=True):
            if mark.label:
                where = (mark.time / unit, at + 0.3 * height, f"{mark.label} ")
                ax.text(*where, ha="right", va="center", fontsize=8, color=LATE, zorder=5)


def _handle(entry: Key) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fill = fill_of(entry.color)
    if entry.mark:
        size = 9 if entry.mark == "miss" else 5
        shape: dict[str, Any] = {"marker": _MARKERS[entry.mark], "linestyle": "none"}
        return Line2D([], [], color=fill, markersize=size, label=entry.text, **shape)
    if entry.style in ("late", "differs", "chain"):
        hatch = "//" if entry.style == "late" else None
        edge = INK if entry.style == "chain" else LATE
        return Patch(facecolor="white", edgecolor=edge, hatch=hatch, label=entry.text)
    return Patch(facecolor=fill, alpha=ALPHA[entry.style], label=entry.text)
