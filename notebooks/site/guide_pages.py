"""Pages of Markdown texts: the README as the landing page, the guide, the project's texts."""

from __future__ import annotations

from pathlib import Path

from guide_parts import expanded
from markdown_text import converter
from site_map import GUIDE, PROJECT, ROOT, SiteMap
from site_pages import Page, title_of

__all__ = ["guide_pages", "project_pages"]


def _page(site: SiteMap, source: Path) -> Page:
    address = site.address(source)
    body = converter(site, source, address)(expanded(source.read_text("utf-8")))
    return Page(address, title_of(source), body)


def guide_pages(site: SiteMap) -> list[Page]:
    """Landing page and pages of the guide."""
    return [_page(site, path) for path in (ROOT / "README.md", *sorted(GUIDE.glob("*.md")))]


def project_pages(site: SiteMap) -> list[Page]:
    """Changelog, contributing, and the maps of the folders."""
    return [_page(site, ROOT / name) for name in PROJECT]
