"""Frame of every page: navigation, search box, contents of the page, style sheets."""

from __future__ import annotations

import html
import inspect
import re
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from pygments.formatters import HtmlFormatter
from site_map import GUIDE, NOTEBOOKS, SiteMap, relative

import gpusched as gs
from gpusched._draw.page_style import STYLE

ASSETS = Path(__file__).parent / "assets"
_HEADING = re.compile(r'<h2[^>]* id="([^"]+)"[^>]*>(.*?)</h2>', re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A page of the site: its address from the root, its title and its HTML."""

    address: str
    title: str
    body: str
    contents: tuple[tuple[str, str], ...] = ()
    """Links within the page, (address, HTML); those to its headings where it has none."""


def title_of(path: Path) -> str:
    """The first heading of a Markdown text, without markup."""
    return path.read_text("utf-8").splitlines()[0].removeprefix("# ").replace("`", "")


@cache
def sections() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The navigation: titles of sections, and the address and title of each of their pages."""
    guide = tomllib.loads((GUIDE / "contents.toml").read_text("utf-8"))
    found: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for section in guide["section"]:
        pages = [
            (f"guide/{name}.html", title_of(GUIDE / f"{name}.md")) for name in section["pages"]
        ]
        found.append((section["title"], tuple(pages)))
    books = sorted(NOTEBOOKS.glob("*.ipynb"))
    named = [path.stem.replace("_", " ") for path in books]
    found.append(
        (
            "Notebooks",
            tuple((f"notebooks/{p.stem}.html", t) for p, t in zip(books, named, strict=True)),
        )
    )
    start = (("index.html", "Overview"), *found[0][1], ("gallery.html", "Gallery of pictures"))
    found[0] = (found[0][0], start)
    modules = ["gpusched", *(f"gpusched/{name}" for name in reference_modules())]
    found.append(
        ("Reference", tuple((f"reference/{m}.html", m.replace("/", ".")) for m in modules))
    )
    found.append(
        (
            "Project",
            (
                ("changelog.html", "Changelog"),
                ("contributing.html", "Contributing"),
                ("source/gpusched.html", "Map of the package"),
                ("source/csrc.html", "Map of the C core"),
                ("source/benchmarks.html", "Benchmarks"),
            ),
        )
    )
    return tuple(found)


def reference_modules() -> tuple[str, ...]:
    """Public modules below the package, as parts of addresses."""
    modules = [name for name in dir(gs) if inspect.ismodule(getattr(gs, name))]
    return tuple(sorted([*modules, "pbs/graph"]))


def _navigation(page: str) -> str:
    parts = []
    for title, pages in sections():
        current = any(address == page for address, _ in pages)
        items = "".join(
            f'<li><a href="{relative(address, page)}"'
            f"{' aria-current=page' if address == page else ''}>{html.escape(name)}</a></li>"
            for address, name in pages
        )
        always = current or title in ("Start", "Ways of sharing a GPU")
        parts.append(
            f"<details{' open' if always else ''}><summary>{title}</summary>"
            f"<ul>{items}</ul></details>"
        )
    return "\n".join(parts)


def _contents(page: Page) -> str:
    links = page.contents or tuple(
        (f"#{name}", re.sub(r"</?a\b[^>]*>", "", text))
        for name, text in _HEADING.findall(page.body)
    )
    if len(links) < 3:
        return ""
    items = "".join(f'<li><a href="{address}">{text}</a></li>' for address, text in links)
    return f'<nav class="contents" aria-label="On this page"><ul>{items}</ul></nav>'


def _with_contents(page: Page) -> str:
    """The HTML of a page with its contents below its title."""
    title, end, rest = page.body.partition("</h1>")
    return f"{title}{end}{_contents(page)}{rest}"


def write_page(site: SiteMap, page: Page) -> None:
    """Write a page in the frame of the site."""
    template = Template((ASSETS / "page.html").read_text("utf-8"))
    home = page.address == "index.html"
    text = template.substitute(
        title="gpusched" if home else f"{html.escape(page.title)} - gpusched",
        root=relative(".", page.address) + "/",
        page=page.address,
        version=gs.__version__,
        navigation=_navigation(page.address),
        body=page.body if home else _with_contents(page),
    )
    path = site.output / page.address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def write_assets(site: SiteMap) -> None:
    """Write style sheets and scripts."""
    folder = site.output / "assets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.css").write_text(STYLE, "utf-8")  # as in the package's own pages
    light = HtmlFormatter(style="xcode").get_style_defs([".highlight", ".pdoc-code"])
    dark = HtmlFormatter(style="github-dark").get_style_defs([".highlight", ".pdoc-code"])
    (folder / "code.css").write_text(
        f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n", "utf-8"
    )
    for name in ("site.css", "search.js"):
        shutil.copyfile(ASSETS / name, folder / name)
