"""Pages of notebooks as they were committed, with their pictures in files of their own."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from markdown_text import converter
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from site_map import NOTEBOOKS, SiteMap, relative
from site_pages import Page

__all__ = ["Picture", "notebook_pages"]


@dataclass(frozen=True)
class Picture:
    """A picture of the gallery: its file, the page and heading that it stands under."""

    address: str
    page: str
    group: str
    caption: str


def _headings(notebook: NotebookNode) -> list[str]:
    """The heading above each cell, without markup."""
    found, last = [], ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("#"):
                    last = re.sub(r"[`*$]", "", line.lstrip("# "))
        found.append(last)
    return found


def _notebook_page(site: SiteMap, source: Path) -> tuple[Page, list[Picture]]:
    address = site.address(source)
    notebook = nbformat.read(source, as_version=4)
    headings = _headings(notebook)
    title = next(line for line in notebook.cells[0].source.splitlines() if line.startswith("# "))
    title = title.removeprefix("# ")
    exporter = HTMLExporter(template_name="basic")
    exporter.register_filter("markdown2html", converter(site, source, address))
    exporter.register_filter("ansi2html", html.escape)
    exporter.register_preprocessor(
        "nbconvert.preprocessors.ExtractOutputPreprocessor", enabled=True
    )
    resources = {"unique_key": source.stem, "output_files_dir": "pictures"}
    body, made = exporter.from_notebook_node(notebook, resources)
    pictures = []
    for name, data in made["outputs"].items():
        place = f"notebooks/{name}"
        path = site.output / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        number = int(re.search(r"_(\d+)_\d+\.\w+$", name)[1])
        pictures.append(Picture(place, address, title, headings[number]))
        # Each picture has the words of its heading, for readers who do not see it.
        body = re.sub(
            rf'<img[^>]*src="{re.escape(name)}"[^>]*>',
            f'<img src="{name}" alt="{html.escape(headings[number])}">',
            body,
        )
    body = re.sub(r"<style scoped>.*?</style>", "", body, flags=re.DOTALL)
    body += (
        f'<p class="note">The notebook itself: '
        f'<a href="{relative(site.copied(source), address)}">{source.name}</a></p>'
    )
    return Page(address, title, body), pictures


def notebook_pages(site: SiteMap) -> tuple[list[Page], list[Picture]]:
    """All notebooks, and the pictures in them."""
    pages, pictures = [], []
    for source in sorted(NOTEBOOKS.glob("*.ipynb")):
        page, found = _notebook_page(site, source)
        pages.append(page)
        pictures += found
    return pages, pictures
