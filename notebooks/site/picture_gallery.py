"""Gallery: every picture of the notebooks and of the kept results, linked to where it is from."""

from __future__ import annotations

import html
from itertools import groupby

from markdown_text import converter
from notebook_pages import Picture
from site_map import NOTEBOOKS, ROOT, SiteMap, reference_address, relative
from site_pages import Page

import gpusched as gs

__all__ = ["gallery_page"]

ADDRESS = "gallery.html"


def _figure(address: str, link: str, caption: str) -> str:
    shown = html.escape(caption)
    return (
        f'<figure><a href="{address}"><img loading="lazy" src="{address}" alt="{shown}"></a>'
        f'<figcaption><a href="{link}">{shown}</a></figcaption></figure>'
    )


def _result_pictures(site: SiteMap) -> str:
    """Pictures in benchmarks/results, each with the function that draws it."""
    figures = []
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.png")):
        # The longest beginning of the file's name that is an experiment.
        parts = path.stem.split("_")
        names = ["_".join(parts[:count]) for count in range(len(parts), 0, -1)]
        names += [name.rstrip("abc") for name in names]
        name = next((name for name in names if name in gs.experiments.__all__), None)
        if name is None:
            link = "source/benchmarks.html"
        else:
            link = reference_address(f"gs.experiments.{name}") or ""
        caption = path.stem.replace("_", " ")
        figures.append(_figure(site.address(path), link, caption))
    return f'<div class="gallery">{"".join(figures)}</div>'


def gallery_page(site: SiteMap, pictures: list[Picture]) -> Page:
    """The gallery page."""
    parts = [
        "<h1>Gallery of pictures</h1>",
        "<p>Every picture of the notebooks and of the kept results. A picture leads to its file, "
        "the words below it to the notebook, or to the function that draws it.</p>",
    ]
    for number, (group, found) in enumerate(groupby(pictures, key=lambda p: p.group)):
        figures = [_figure(p.address, p.page, p.caption) for p in found]
        parts.append(f'<h2 id="n{number}">{html.escape(group)}</h2>')
        parts.append(f'<div class="gallery">{"".join(figures)}</div>')
    parts.append('<h2 id="results">Figures of the papers and studies</h2>')
    parts.append(
        converter(site, ROOT / "README.md", ADDRESS)(
            "At the sizes that `benchmarks/` keeps; `gs.experiments` draws them."
        )
    )
    parts.append(_result_pictures(site))
    first = site.address(NOTEBOOKS / "first_schedule.png")
    book = "notebooks/01_will_these_kernels_meet_their_deadlines.html"
    parts.append('<h2 id="guide">Of the guide</h2><div class="gallery">')
    parts.append(_figure(first, relative(book, ADDRESS), "The first schedule") + "</div>")
    return Page(ADDRESS, "Gallery of pictures", "\n".join(parts))
