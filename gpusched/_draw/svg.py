"""Pictures of schedules as SVG text: what they have in common, whatever they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpusched._draw.axes import INK, LATE, MUTED, TimeAxis
from gpusched._support.text import xml

AXIS = f'stroke="{INK}" fill="none"'
RELEASE = f'<path d="M{{x}} {{y}}m6 1l4 8h-8z" fill="{MUTED}"/>'
"""The mark of a release in a legend."""


def document(body: Iterable[str], width: int, height: int) -> str:
    """The whole picture. It has no style sheet: that would reach the page around the picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g font-family="sans-serif" font-size="11" fill="{INK}">{"".join(body)}</g></svg>'
    )


def time_scale(
    axis: TimeAxis, since: int, end: int, left: int, width: int, level: float
) -> list[str]:
    """Ticks with their numbers below a line at ``level``, and what they count."""
    out = []
    digits = max(len(axis.text(end)), 3)
    for time in axis.steps(since, end, max(2, width // (10 + 8 * digits))):
        x = left + width * (time - since) / (end - since)
        out.append(f'<path d="M{x:.1f} {level:.1f}v5" {AXIS}/>')
        out.append(text_at(x, level + 17, axis.text(time)))
    return [*out, text_at(left + width / 2, level + 34, axis.label)]


def text_at(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    """Words, centred unless another ``anchor`` is given; ``more``: attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{xml(text)}</text>'


def sideways(y: float, text: str) -> str:
    """What the rows are, at the left edge."""
    return text_at(14, y, text, more=f' transform="rotate(-90 14 {y:.0f})"') if text else ""


def half_of(text: str) -> float:
    """Half of the width of a label."""
    return 3 + 3.4 * len(text)


def label(x: float, y: float, text: str) -> str:
    """Words on a bar, on white, about their middle; twice ``half_of`` wide and 14 high."""
    half = half_of(text)
    return (
        f'<rect x="{x - half:.1f}" y="{y - 7:.1f}" width="{2 * half:.1f}" height="14" rx="3" '
        f'fill="#ffffff"/>{text_at(x, y + 4, text)}'
    )


def patch(attributes: str) -> str:
    """The mark of a kind of bar in a legend."""
    return f'<rect x="{{x}}" y="{{y}}" width="12" height="10" {attributes}/>'


LATE_PATCH = patch(f'fill="#ffffff" stroke="{LATE}" stroke-width="1.5"')


def legend(
    marks: Sequence[tuple[str, str]], left: int, width: int, line: int = 15
) -> tuple[list[str], int]:
    """Marks with their names from ``line`` on, in as many lines as they need; and the last line."""
    out = []
    across = left
    for shape, name in marks:
        length = 28 + 6.4 * len(name)
        if across + length > left + width and across > left:
            across, line = left, line + 16
        out.append(shape.replace("{x}", str(across)).replace("{y}", str(line - 9)))
        out.append(text_at(across + 16, line, name, "start"))
        across += round(length)
    return out, line
