"""Reference of the public modules, made from docstrings by pdoc."""

from __future__ import annotations

import html
import inspect
import posixpath
import re
import types
import warnings
from pathlib import Path
from unittest.mock import patch

import pdoc
import pdoc.doc
import pdoc.render
from markdown_text import cited_keys
from site_map import SiteMap, reference_address, relative
from site_pages import Page, reference_modules

import gpusched as gs

__all__ = ["reference_pages"]

# What pdoc leaves of reStructuredText, and of a type that has no name of its own.
_SHOWN = {"::</p>": ":</p>", "&lt;class &#x27;SupportsIndex&#x27;&gt;": "SupportsIndex"}

TEMPLATES = Path(__file__).parent / "assets" / "reference"


class ArrayLike:
    """The name of NumPy's union of what becomes an array, which is long when it is written out."""

    __module__ = "numpy.typing"


def _module(address: str) -> pdoc.doc.Module:
    """A public module under its public name, with the members that it shows."""
    parts = address.split("/") if address else []
    value: types.ModuleType = gs
    for part in parts:
        value = getattr(value, part)
    # A copy: names are looked up when they are first asked for, and some modules have others.
    copy = types.ModuleType(".".join(["gpusched", *parts]), value.__doc__)
    names = [name for name in dir(value) if not name.startswith("__")]
    names = [name for name in names if not inspect.ismodule(getattr(value, name))]
    vars(copy).update({name: getattr(value, name) for name in names})
    copy.__file__ = value.__file__
    copy.__all__ = sorted(names, key=lambda name: (not name[0].islower(), name))  # type: ignore[attr-defined]
    return pdoc.doc.Module(copy)


def _with_links(text: str, page: str) -> str:
    """Names of the package and keys of papers in docstrings, linked."""

    def linked(code: re.Match[str]) -> str:
        address = reference_address(html.unescape(code[1]))
        return code[0] if address is None else f'<a href="{relative(address, page)}">{code[0]}</a>'

    text = re.sub(r"(?<!<pre>)<code>([^<]*)</code>(?!</a>)", linked, text)
    for written, shown in _SHOWN.items():
        text = text.replace(written, shown)
    return cited_keys(text, page)


def _without_dead_links(bodies: dict[str, str]) -> dict[str, str]:
    """Pages whose links to members that are not shown are plain text."""
    anchors = {page: set(re.findall(r' id="([^"]+)"', body)) for page, body in bodies.items()}

    def checked(page: str, link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[1]))
        found = anchors.get(target if link[1] else page)
        return link[0] if found is None or link[2] in found else link[3]

    return {
        page: re.sub(
            r'<a href="([^"#]*)#([^"]+)">(.*?)</a>',
            lambda link, page=page: checked(page, link),
            body,
        )
        for page, body in bodies.items()
    }


def reference_pages(site: SiteMap) -> list[Page]:
    """A page for every public module."""
    found = [_module(address) for address in ("", *reference_modules())]
    modules = {module.fullname: module for module in found}
    pdoc.render.configure(
        docformat="numpy",
        show_source=False,
        search=False,
        template_directory=TEMPLATES,
    )
    bodies, links = {}, {}
    for name, module in modules.items():
        address = f"reference/{name.replace('.', '/')}.html"
        with warnings.catch_warnings(), patch("numpy.typing.ArrayLike", ArrayLike):
            # Annotations of names that only type checkers import stay as they are written.
            warnings.filterwarnings("ignore", "Error parsing type annotation")
            body = pdoc.render.html_module(module, modules)
        body = body[body.index("<main") : body.rindex("</main>")].replace("<main", "<div", 1)
        bodies[address] = _with_links(f"{body}</div>", address)
        links[address] = tuple((f"#{m.name}", html.escape(m.name)) for m in module.own_members)
    bodies = _without_dead_links(bodies)
    names = dict(zip(bodies, modules, strict=True))
    return [Page(address, names[address], bodies[address], links[address]) for address in bodies]
