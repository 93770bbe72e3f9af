"""Check of all links of the site to its own pages, files and headings."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links"]


class _Names(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


def _names(path: Path) -> _Names:
    names = _Names()
    names.feed(path.read_text("utf-8"))
    return names


def broken_links(site: Path, without: frozenset[str] = frozenset()) -> list[str]:
    """Links that lead nowhere within the site, one line each.

    Links to folders in ``without`` are not checked, nor are those to other sites, nor pages that
    are files of the repository.
    """
    pages = {
        path: _names(path)
        for path in sorted(site.rglob("*.html"))
        if path.relative_to(site).parts[0] != "files"
    }
    broken = []
    for page, names in pages.items():
        for link in names.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            inside = target.is_relative_to(site.resolve())
            if inside and target.relative_to(site.resolve()).parts[:1] in {(w,) for w in without}:
                continue
            where = f"{page.relative_to(site)}: {link}"
            if not inside or not target.is_file():
                broken.append(f"{where}: no such file")
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    broken.append(f"{where}: no such heading")
    return broken
