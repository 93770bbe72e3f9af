"""SVG documents that are legible on light and on dark pages.

A document has a background of its own, so that it does not depend on the page around it. Its ink
is ``currentColor``, and the colours that are faint on a dark background are replaced where the
reader prefers dark pages; a viewer without style sheets, and paper, have the light ones. The rules
hold for documents of this class alone, also where the page around one has others.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpusched._draw.axes import INK, LATE, MUTED

__all__ = ["DARK_INK", "DARK_LATE", "DARK_MUTED", "DARK_PAPER", "PAPER", "RULE", "document"]

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
