"""SVG back end of timelines, and SVG documents that are legible on light and on dark pages.

A document is self-contained, for notebooks and files, and has a background of its own, so that it
does not depend on the page around it. Its ink is ``currentColor``, and the colours that are faint
on a dark background are replaced where the reader prefers dark pages; a viewer without style
sheets, and paper, have the light ones. The rules hold for documents of this class alone, also where
the page around one has others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpusched._draw.axes import INK, LATE, MUTED, TimeAxis
from gpusched._draw.timeline import (
    ALPHA,
    PIXELS_PER_POINT,
    Key,
    Mark,
    Piece,
    Raster,
    Timeline,
    fill_of,
)
from gpusched._support.text import xml

PAPER = "#ffffff"
RULE = "#e4e4e4"
DARK_PAPER = "#16191c"
DARK_INK = "#e6e6e6"
DARK_MUTED = "#a8a8a8"
DARK_LATE = "#ff7a5c"

_CLASS = "gpusched"
_DARK = {
    PAPER: DARK_PAPER,
    RULE: "#33393e",
    INK: DARK_INK,
    MUTED: DARK_MUTED,
    LATE: DARK_LATE,
    "#4D4D4D": "#8f979e",  # the palette's grey, and waits in a queue
    "#1A1A8C": "#8c8cf0",
    "#276419": "#5fae4d",
    "#7B3294": "#b07cc6",
    "#B2182B": "#e4606f",
    "#01665E": "#35a79c",
    "#542788": "#9a7bd0",
    "#aa3377": "#c9609b",
}
"""Colours of light documents, and those in their place."""


def _rules() -> str:
    shades = "".join(
        f'.{_CLASS} [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in _DARK.items()
        for what in ("fill", "stroke")
    )
    return f".{_CLASS}{{color:{DARK_INK}}}{shades}"


_STYLE = f"<style>@media screen and (prefers-color-scheme:dark){{{_rules()}}}</style>"


def document(body: Iterable[str], width: int, height: int, title: str = "") -> str:
    """SVG text of a picture whose parts have ``currentColor`` as their ink.

    Parameters
    ----------
    body
        Elements; text is 11 pixels high.
    width, height
        In pixels.
    title
        Name of the picture for readers who do not see it.
    """
    named = f' role="img"><title>{title}</title>' if title else ">"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" class="{_CLASS}" color="{INK}"{named}{_STYLE}'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        f'<g font-family="sans-serif" font-size="11" fill="currentColor">{"".join(body)}</g></svg>'
    )


_THIN = 2.0  # pixels; a lighter edge would leave little of what is not as high
_AXIS = 'stroke="currentColor" fill="none"'
_SCALE = PIXELS_PER_POINT
_LABEL = 14  # pixels; height of a label's box
_COVERED = 0.5  # most of a piece that its label's box may hide
_NOTE = 120  # characters of a line of notes
_HEAD = 7.0  # pixels; length of an arrow's head
_TRIANGLES = {
    "release": ("m0 -4l3.5 7h-7z", "m6 1l4 8h-8z"),
    "deadline": ("m0 4l3.5 -7h-7z", "m6 9l4 -8h-8z"),
    "launch": ("m0 4l3.5 -7h-7z", "m6 9l4 -8h-8z"),
}


def svg(timeline: Timeline) -> str:
    """Draw a timeline as SVG text.

    The size of the text grows with the timeline's pieces and marks alone.
    """
    width = round(106 * timeline.width)
    labels = timeline.labels(11.0)
    longest = max((len(text) for _, text in labels), default=0)
    left = 24 + (14 if timeline.title else 0) + round(6.6 * longest)
    out, line = _legend(timeline.keys, left, width)
    top = line + 12
    bottom = top + _SCALE * timeline.height
    picture = _Picture(timeline, left, width, top)
    out += [_text(left - 8, top + _SCALE * y + 4, text, "end") for y, text in labels]
    out += picture.body()
    out.append(f'<path d="M{left} {top}V{bottom:.1f}h{width}" {_AXIS}/>')
    for lane, at in zip(timeline.lanes, picture.tops, strict=True):
        for share, _ in lane.scale:
            out.append(f'<path d="M{left} {at + _SCALE * lane.height * share:.1f}h-5" {_AXIS}/>')
    out += _time_scale(timeline.axis, timeline.since, timeline.end, left, width, bottom)
    if timeline.title:
        turn = f' transform="rotate(-90 14 {(top + bottom) / 2:.0f})"'
        out.append(_text(14, (top + bottom) / 2, timeline.title, more=turn))
    end = bottom + 42
    for note in timeline.note_lines(_NOTE):
        out.append(_text(left + width, end + 6, note, "end", f' fill="{MUTED}"'))
        end += 14
    return document(out, left + width + 24, round(end))


class _Picture:
    """A timeline's lanes, pieces and marks at a place in a document."""

    def __init__(self, timeline: Timeline, left: int, width: int, top: int) -> None:
        self.timeline = timeline
        self.axis = timeline.axis
        self.left = left
        self.width = width
        self.top = top
        self.tops = [top + _SCALE * at for at in timeline.tops()]
        self.misses = timeline.misses()

    def x(self, time: float) -> float:
        since, end = self.timeline.since, self.timeline.end
        return self.left + self.width * (time - since) / (end - since)

    def body(self) -> list[str]:
        bands: list[str] = []
        pale: list[str] = []
        plain: list[str] = []
        outlined: list[str] = []
        labels: list[str] = []
        for piece in self.timeline.pieces:
            low, high = self.timeline.cut(piece)
            if low > high or (low == high and piece.end > piece.start):
                continue
            if piece.style == "band":
                bands.append(self.band(piece))
                continue
            layer = outlined if piece.outlined else pale if ALPHA[piece.style] < 0.5 else plain
            layer.append(self.piece(piece))
            labels.append(self.label(piece))
        marks = [self.mark(mark) for mark in self.timeline.marks]
        images = [self.raster(raster) for raster in self.timeline.rasters]
        links = self.links()
        return [*bands, *images, *self.lines(), *pale, *plain, *outlined, *links, *labels, *marks]

    def lines(self) -> list[str]:
        out = []
        for lane, top in zip(self.timeline.lanes[:-1], self.tops, strict=False):
            if lane.line and lane.height:
                y = top + _SCALE * lane.height
                out.append(f'<path d="M{self.left} {y:.1f}h{self.width}" stroke="{RULE}"/>')
        return out

    def band(self, piece: Piece) -> str:
        low, high = self.timeline.cut(piece)
        return (
            f'<rect x="{self.x(low):.1f}" y="{self.top}" width="{self.x(high) - self.x(low):.1f}" '
            f'height="{_SCALE * self.timeline.height:.1f}" fill="currentColor" '
            f'fill-opacity="{_strength(fill_of(piece.color))}" stroke="currentColor" '
            'stroke-opacity=".2" stroke-width=".5">'
            f"<title>{xml(piece.tip(self.axis))}</title></rect>"
        )

    def raster(self, raster: Raster) -> str:
        """One path per colour, in the raster's own coordinates: they are small integers."""
        rows, columns = raster.values.shape
        height = _SCALE * self.timeline.lanes[raster.lane].height * raster.lanes
        shapes: dict[int, list[str]] = {}
        for value, row, high, column, wide in zip(
            *(part.tolist() for part in raster.rectangles()), strict=True
        ):
            shapes.setdefault(value, []).append(f"M{column} {row}h{wide}v{high}h-{wide}z")
        body = "".join(
            f'<path fill="{raster.colors[value]}" d="{"".join(shapes[value])}"/>'
            for value in sorted(shapes)
        )
        return (
            f'<g transform="translate({self.left} {self.tops[raster.lane]:.1f}) '
            f'scale({self.width / columns:.6g} {height / rows:.6g})" '
            f'shape-rendering="crispEdges"><title>{xml(raster.tip)}</title>{body}</g>'
        )

    def piece(self, piece: Piece) -> str:
        low, high = self.timeline.cut(piece)
        x, length = self.x(low), self.x(high) - self.x(low)
        top, height = self.tops[piece.lane], _SCALE * self.timeline.lanes[piece.lane].height
        alpha = ALPHA[piece.style]
        opacity = f' fill-opacity="{alpha}"' if alpha < 1 else ""
        thin = min((lower - upper for upper, lower in piece.spans), default=1.0) * height < _THIN
        edge = "" if thin else f' stroke="{PAPER}" stroke-width=".5"'
        if piece.outlined:
            edge = f' stroke="{LATE if piece.late or piece.differs else INK}"'
            edge += ' stroke-width="1.8"' if piece.chained else ""
        boxes = "".join(
            f'<rect x="{x:.1f}" y="{top + height * upper:.1f}" width="{length:.1f}" '
            f'height="{height * (lower - upper):.1f}"/>'
            for upper, lower in piece.spans
        )
        tip = f"<title>{xml(piece.tip(self.axis))}</title>"
        return f'<g fill="{fill_of(piece.color)}"{opacity}{edge}>{tip}{boxes}</g>'

    def links(self) -> list[str]:
        """Lines with heads, on a lighter edge that parts them from the pieces below."""
        out = []
        for link, first, last in self.timeline.arrows():
            x, y = self.x(link.time), self.top + _SCALE * first
            right, down = self.x(link.to_time) - x, _SCALE * (last - first)
            line = f'<path d="M{x:.1f} {y:.1f}l{right:.1f} {down:.1f}" fill="none" stroke='
            dashes = ' stroke-dasharray="5 3"' if link.dashed else ""
            out.append(f'{line}"{PAPER}" stroke-width="3.4" stroke-opacity=".8"/>')
            out.append(f'{line}"{INK}" stroke-width="1.4"{dashes}/>')
            length = math.hypot(right, down)
            if length >= _HEAD:
                ahead, aside = right / length, down / length
                back = (x + right - _HEAD * ahead, y + down - _HEAD * aside)
                wide = (-0.45 * _HEAD * aside, 0.45 * _HEAD * ahead)
                out.append(
                    f'<path d="M{x + right:.1f} {y + down:.1f}'
                    f"L{back[0] + wide[0]:.1f} {back[1] + wide[1]:.1f}"
                    f'L{back[0] - wide[0]:.1f} {back[1] - wide[1]:.1f}z" fill="{INK}"/>'
                )
        return out

    def label(self, piece: Piece) -> str:
        upper, lower = piece.place()
        height = _SCALE * self.timeline.lanes[piece.lane].height
        left, right = map(self.x, self.timeline.label_span(piece, self.misses))
        half = 3 + 3.4 * len(piece.label)
        across, down = right - left, (lower - upper) * height
        if not piece.label or across < 2 * half + 2 or down < _LABEL:
            return ""
        if 2 * half * _LABEL > _COVERED * across * down:
            return ""
        x, y = (left + right) / 2, self.tops[piece.lane] + height * (upper + lower) / 2
        return (
            f'<rect x="{x - half:.1f}" y="{y - 7:.1f}" width="{2 * half:.1f}" '
            f'height="{_LABEL}" rx="3" fill="{PAPER}"/>{_text(x, y + 4, piece.label)}'
        )

    def mark(self, mark: Mark) -> str:
        height = _SCALE * self.timeline.lanes[mark.lane].height
        top, x, fill = self.tops[mark.lane], self.x(mark.time), fill_of(mark.color)
        y = top + height * mark.at
        if mark.kind == "miss":
            word = _text(x - 8, y + 12, mark.label, "end", f' fill="{LATE}"') if mark.label else ""
            return (
                f'<path d="M{x:.1f} {y:.1f}m-6 -6l12 12m0 -12l-12 12" stroke="{LATE}" '
                f'stroke-width="3.5" fill="none"><title>{xml(mark.tip)}</title></path>{word}'
            )
        shape = f'<path d="M{x:.1f} {y:.1f}{_TRIANGLES[mark.kind][0]}" fill="{fill}"/>'
        if not mark.shaft:
            return shape
        shaft = f"M{x:.1f} {top + 0.09 * height:.1f}v{0.82 * height:.1f}"
        return f'<path d="{shaft}" stroke="{fill}"/>{shape}'


def _time_scale(
    axis: TimeAxis, since: int, end: int, left: int, width: int, level: float
) -> list[str]:
    out = []
    digits = max(len(axis.text(end)), 3)
    for time in axis.steps(since, end, max(2, width // (10 + 8 * digits))):
        x = left + width * (time - since) / (end - since)
        out.append(f'<path d="M{x:.1f} {level:.1f}v5" {_AXIS}/>')
        out.append(_text(x, level + 17, axis.text(time)))
    return [*out, _text(left + width / 2, level + 34, axis.label)]


def _strength(grey: str) -> float:
    """Opacity with which ink looks like a grey on white."""
    return round(1 - int(grey[1:3], 16) / 255, 3)


def _text(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{xml(text)}</text>'


def _legend(keys: Sequence[Key], left: int, width: int) -> tuple[list[str], int]:
    """The legend in as many lines as it needs, and the last line's level."""
    out: list[str] = []
    across, line = left, 15
    for entry in keys:
        length = 28 + 6.4 * len(entry.text)
        if across + length > left + width and across > left:
            across, line = left, line + 16
        out.append(_sample(entry, across, line - 9))
        out.append(_text(across + 16, line, entry.text, "start"))
        across += round(length)
    return out, line


def _sample(entry: Key, x: int, y: int) -> str:
    fill = fill_of(entry.color)
    if entry.mark == "miss":
        shape = f"M{x} {y}m1 1l8 8m0 -8l-8 8"
        return f'<path d="{shape}" stroke="{fill}" stroke-width="3" fill="none"/>'
    if entry.mark:
        return f'<path d="M{x} {y}{_TRIANGLES[entry.mark][1]}" fill="{fill}"/>'
    box = f'<rect x="{x}" y="{y}" width="12" height="10"'
    if entry.style in ("late", "differs", "chain"):
        edge = INK if entry.style == "chain" else LATE
        return f'{box} fill="{PAPER}" stroke="{edge}" stroke-width="1.5"/>'
    alpha = ALPHA[entry.style]
    return f'{box} fill="{fill}"' + (f' fill-opacity="{alpha}"/>' if alpha < 1 else "/>")
