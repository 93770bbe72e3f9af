"""Markdown as HTML: formulas as MathML, links of the repository as links of the site."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

from latex2mathml.converter import convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from site_map import GUIDE, SiteMap, reference_address, relative

_KEYS = frozenset(re.findall(r"^- \[(\w+)\]", (GUIDE / "sources.md").read_text("utf-8"), re.M))


def mathml(formula: str, display: str) -> str:
    """A formula of LaTeX as MathML."""
    # Sized brackets are pairs in the notebooks; the converter knows stretched pairs only.
    sized = re.sub(r"\\[bB]igg?([lr])", lambda m: r"\left" if m[1] == "l" else r"\right", formula)
    return convert(sized, display=display)


def cited_keys(text: str, page: str) -> str:
    """A text with the keys of papers linked to the list of sources."""

    def linked(key: re.Match[str]) -> str:
        if key[1] not in _KEYS:
            return key[0]
        return f'<a href="{relative("guide/sources.html", page)}">{key[0]}</a>'

    return re.sub(r"\[(\w+\d\d)\]", linked, text)


class Renderer(IPythonRenderer):
    """Renderer of one text of the repository for one page of the site."""

    def __init__(self, site: SiteMap, source: Path, page: str) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self.site, self.source, self.page = site, source, page
        self._slugs: set[str] = set()

    def heading(self, text: str, level: int, **attrs: object) -> str:
        plain = html.unescape(re.sub(r"<[^>]+>", "", text)).strip().lower()
        base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        slug, count = base, 1
        while slug in self._slugs:
            slug, count = f"{base}-{count}", count + 1
        self._slugs.add(slug)
        return f'<h{level} id="{slug}">{text}</h{level}>\n'

    def block_code(self, code: str, info: str | None = None) -> str:
        shown = super().block_code(code, info)
        return f'<div class="printed">{shown}</div>' if info == "text" else shown

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, self.site.link(url, self.source, self.page), title)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        address = html.escape(self.site.link(url, self.source, self.page))
        plain = html.escape(re.sub(r"<[^>]+>", "", text))
        return f'<a href="{address}"><img src="{address}" alt="{plain}"></a>'

    def codespan(self, text: str) -> str:
        shown = super().codespan(text)
        address = reference_address(text)
        if address is None:
            return shown
        return f'<a href="{relative(address, self.page)}">{shown}</a>'

    def text(self, text: str) -> str:
        return cited_keys(super().text(text), self.page)

    def block_math(self, body: str) -> str:
        return f'<span class="formula">{mathml(body, "block")}</span>'

    def multiline_math(self, text: str) -> str:
        return self.block_math(text.strip().removeprefix("$$").removesuffix("$$"))

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")

    def inline_math(self, body: str) -> str:
        return mathml(body, "inline")


def converter(site: SiteMap, source: Path, page: str) -> Callable[[str], str]:
    """A function that renders pieces of one text as HTML; tables scroll where they are wide."""
    renderer = Renderer(site, source, page)

    def render(text: str) -> str:
        body = str(MarkdownWithMath(renderer=renderer).render(text))
        return body.replace("<table>", '<div class="wide"><table>').replace(
            "</table>", "</table></div>"
        )

    return render
