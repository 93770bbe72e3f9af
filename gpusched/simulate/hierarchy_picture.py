"""What a run of the scheduling hierarchy looks like, with matplotlib or as SVG text.

Both draw the same scene.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched._draw.axes import INK, MUTED, axes, key
from gpusched._draw.svg import (
    AXIS,
    document,
    half_of,
    label,
    legend,
    patch,
    sideways,
    text_at,
    time_scale,
)
from gpusched._support.text import xml
from gpusched.simulate.hierarchy_scene import Scene, scene_of

if TYPE_CHECKING:
    from gpusched.simulate.hierarchy_result import Hierarchy


def plot(
    run: Hierarchy,
    ax: Any,
    by: str,
    unit: str | None,
    since: int,
    until: int | None,
    warps: int = 1,
) -> Any:
    """Draws on ``ax``, a new figure's where it is None, and returns the axes.

    A row of an SM has room for ``warps`` at least.
    """
    scene = scene_of(run, by, unit, since, until, warps)
    size = (7.6, min(1.1 + max(len(scene.rows) * scene.row_height / 72, 1.2), 9.0))
    ax = axes(ax, size)
    _draw(scene, ax)
    return ax


def svg(run: Hierarchy, by: str, unit: str | None, since: int, until: int | None) -> str:
    """The picture as an SVG document."""
    return _svg(scene_of(run, by, unit, since, until))


def _row_labels(scene: Scene, size: float) -> list[tuple[float, str]]:
    """Labels that have room, if each needs so many points."""
    step = max(1, int(-(-size // scene.row_height)))
    numbered = [k for k, text in enumerate(scene.rows) if text.isdigit()]
    kept = set(numbered[::step]) | {k for k in range(len(scene.rows)) if k not in set(numbered)}
    if step > 1:  # a label in words below numbers that are thinned out
        words = [k for k in kept if k not in set(numbered)]
        kept -= {k for k in numbered if any(0 < w - k < step for w in words)}
        kept -= set(words[1:])
    return [(k + 0.5, scene.rows[k]) for k in sorted(kept)]


def _draw(scene: Scene, ax: Any) -> None:
    from matplotlib.patches import Patch, Rectangle

    unit = scene.axis.ticks
    figure, place = ax.figure, ax.get_position()
    rows = len(scene.rows)
    inch = (scene.end - scene.since) / (place.width * figure.get_figwidth())  # about, in ticks
    inch_high = rows / (place.height * figure.get_figheight())  # in rows
    for box in scene.boxes:
        ax.add_patch(
            Rectangle(
                (box.start / unit, box.top),
                (box.end - box.start) / unit,
                box.bottom - box.top,
                facecolor=box.fill,
                alpha=0.3 if box.pale else 1.0,
                edgecolor="white",
                linewidth=0.4,
                zorder=1.5 if box.pale else 2,
            )
        )
        wide = (box.end - box.start) > (0.085 * len(box.label) + 0.06) * inch
        if box.label and wide and box.bottom - box.top > 0.16 * inch_high:
            ax.text(
                (box.start + box.end) / 2 / unit,
                (box.top + box.bottom) / 2,
                box.label,
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "linewidth": 0},
                clip_on=True,
                parse_math=False,
            )
    for fill in dict.fromkeys(mark.fill for mark in scene.marks):
        points = [mark for mark in scene.marks if mark.fill == fill]
        ax.plot(
            [mark.time / unit for mark in points],
            [mark.y for mark in points],
            color=fill,
            marker="v",
            markersize=4.5,
            linestyle="none",
            zorder=5,
            clip_on=False,
        )
    for row in range(1, rows):
        ax.axhline(row, color="#E4E4E4", linewidth=0.6, zorder=1)
    ax.set_xlim(scene.since / unit, scene.end / unit)
    ax.set_ylim(rows, 0)
    points = 72 * place.height * figure.get_figheight() / rows
    labels = _row_labels(scene, 12 * scene.row_height / points)
    words = [text for _, text in labels]
    ax.set_yticks([y for y, _ in labels], words, fontsize=9, parse_math=False)
    ax.tick_params(axis="y", length=0)
    steps = scene.axis.steps(scene.since, scene.end, 8)
    ax.set_xticks([time / unit for time in steps], [scene.axis.text(time) for time in steps])
    ax.set_xlabel(scene.axis.label + (f"; {scene.note}" if scene.note else ""))
    ax.set_ylabel(scene.title)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles: list[Any] = [Patch(facecolor=fill, label=text) for fill, text in scene.legend]
    handles += [Patch(facecolor=fill, label=f"wait: {text}") for fill, text in scene.waits]
    key(ax, handles)


def _svg(scene: Scene) -> str:
    wide, rows = 720, len(scene.rows)
    row = max(scene.row_height * 1.15, 4.0)
    left = 34 + round(6.2 * max(len(text) for text in scene.rows))
    span = scene.end - scene.since
    words = [*scene.legend, *((fill, f"wait: {text}") for fill, text in scene.waits)]
    out, last = legend([(patch(f'fill="{fill}"'), text) for fill, text in words], left, wide)
    top = last + 12
    bottom = top + row * rows

    def x(time: float) -> float:
        return left + wide * (time - scene.since) / span

    add = out.append
    for k in range(1, rows):
        add(f'<path d="M{left} {top + k * row:.1f}h{wide}" stroke="#e4e4e4"/>')
    for box in sorted(scene.boxes, key=lambda box: not box.pale):
        high, length = row * (box.bottom - box.top), x(box.end) - x(box.start)
        y, pale = top + row * box.top, ' fill-opacity="0.3"' if box.pale else ""
        add(
            f'<rect x="{x(box.start):.1f}" y="{y:.1f}" width="{length:.1f}" height="{high:.1f}" '
            f'fill="{box.fill}"{pale} stroke="#fff" stroke-width="0.5">'
            f"<title>{xml(box.tip)}</title></rect>"
        )
        if box.label and length >= 2 * half_of(box.label) + 2 and high >= 14:
            add(label(x((box.start + box.end) / 2), y + high / 2, box.label))
    for mark in scene.marks:
        y = top + row * mark.y
        add(f'<path d="M{x(mark.time):.1f} {y + 3:.1f}l-3.5 -7h7z" fill="{mark.fill}"/>')
    add(f'<path d="M{left} {top}V{bottom:.1f}h{wide}" {AXIS}/>')
    for place, text in _row_labels(scene, 13 / 1.15):
        add(text_at(left - 7, top + row * place + 4, text, "end"))
    out += time_scale(scene.axis, scene.since, scene.end, left, wide, bottom)
    add(sideways((top + bottom) / 2, scene.title))
    if scene.note:
        add(text_at(left + wide, bottom + 34, scene.note, "end", f' fill="{MUTED}"'))
    return document(out, left + wide + 24, round(bottom + 42))
