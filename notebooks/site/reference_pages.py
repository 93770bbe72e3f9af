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
from guide_parts import examples_first
from markdown_text import cited_keys
from site_map import SiteMap, reference_address, relative
from site_pages import Page, reference_modules

import gpusched as gs

__all__ = ["reference_pages"]

# What pdoc leaves of reStructuredText, and of a type that has no name of its own.
_SHOWN = {"::</p>": ":</p>", "&lt;class &#x27;SupportsIndex&#x27;&gt;": "SupportsIndex"}

# The docstring that Python gives the constructor of a named tuple.
_MADE = re.compile(r"<p>Create new instance of [^<]*</p>")

# The type of keyword arguments that are fields of a class, which is described with its class.
_FIELDS = re.compile(r": \*&lt;class &#x27;[\w.]+&#x27;&gt;")

# A type that stays as it is written, since only type checkers import its names.
_WRITTEN = re.compile(
    r"((?:<span class=\"p\">:</span>|-&gt;</span>|-&gt;) *)<span class=\"s1\">'([^']+)'</span>"
)

# Warnings about annotations that stay as they are written: aliases that are text, since only type
# checkers import their names, and xarray, without which the site is built.
_AS_WRITTEN = (
    r"Error parsing type annotation .* failed: name '(?:np|npt|xr|Axes|AxesArray|Flags|Fraction|"
    r"Mapping)' is not defined$",
    r"Error parsing type annotation .*: unsupported operand type\(s\) for \|: 'str' and ",
    r"Failed to run TYPE_CHECKING code .* No module named 'xarray'$",
)

# A class by its full name in the text of a page, not in a tag; signatures have tags in the name.
_DOT = r'(?:\.|</span><span class="o">\.</span><span class="n">)'
_CLASS = re.compile(rf"(?<![\w./#-])gpusched(?:{_DOT}\w+)*{_DOT}(_?[A-Z]\w*)(?![^<>]*>)")

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


def _classes(modules: list[pdoc.doc.Module]) -> list[pdoc.doc.Class]:
    """The public classes of all modules."""
    return [m for module in modules for m in module.own_members if isinstance(m, pdoc.doc.Class)]


def _with_public_bases(modules: list[pdoc.doc.Module]) -> None:
    """Leave bases that are not public out of all classes; the others get their public names."""
    classes = _classes(modules)
    public = {shown.obj: shown for shown in reversed(classes)}
    for shown in classes:
        bases = []
        for base in shown.obj.__bases__:
            if base in public:
                name = public[base].fullname.removeprefix("gpusched.")
                bases.append((public[base].modulename, public[base].qualname, f"gs.{name}"))
            elif not base.__module__.startswith("gpusched") and base is not object:
                name = base.__qualname__
                if base.__module__ != "builtins":
                    name = f"{base.__module__}.{name}"
                bases.append((base.__module__, base.__qualname__, name))
        vars(shown)["bases"] = bases


def _with_examples_first(namespace: pdoc.doc.Namespace) -> None:
    """Move examples behind sections of docstrings before them, in all members."""
    for shown in namespace.members.values():
        vars(shown)["docstring"] = examples_first(shown.docstring)
        if isinstance(shown, pdoc.doc.Class):
            _with_examples_first(shown)


def _public_names(modules: list[pdoc.doc.Module]) -> dict[str, str]:
    """Names that a reader writes, by the full names of where classes stand and are public."""
    names: dict[str, str] = {}
    for shown in _classes(modules):
        name = "gs." + shown.fullname.removeprefix("gpusched.")
        names[shown.fullname] = name
        names.setdefault(f"{shown.obj.__module__}.{shown.obj.__qualname__}", name)
    return names


def _with_public_names(text: str, public: dict[str, str]) -> str:
    """Full names of classes as a reader writes them; those of other classes without a module."""

    def shown(name: re.Match[str]) -> str:
        return public.get(re.sub(r"<[^>]*>", "", name[0]), name[1].lstrip("_"))

    plain = _WRITTEN.sub(r'\1<span class="n">\2</span>', _FIELDS.sub("", text))
    return _CLASS.sub(shown, plain)


def _with_links(text: str, page: str) -> str:
    """Names of the package and keys of papers in docstrings, linked."""

    def linked(code: re.Match[str]) -> str:
        address = reference_address(html.unescape(code[1]))
        return code[0] if address is None else f'<a href="{relative(address, page)}">{code[0]}</a>'

    text = re.sub(r"(?<!<pre>)<code>([^<]*)</code>(?!</a>)", linked, _MADE.sub("", text))
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


def _all_pages() -> list[Page]:
    found = [_module(address) for address in ("", *reference_modules())]
    modules = {module.fullname: module for module in found}
    _with_public_bases(found)
    for module in found:
        _with_examples_first(module)
    public = _public_names(found)
    pdoc.render.configure(
        docformat="numpy",
        show_source=False,
        search=False,
        template_directory=TEMPLATES,
    )
    bodies, links = {}, {}
    for name, module in modules.items():
        address = f"reference/{name.replace('.', '/')}.html"
        body = pdoc.render.html_module(module, modules)
        body = body[body.index("<main") : body.rindex("</main>")].replace("<main", "<div", 1)
        body = _with_public_names(f"{body}</div>", public)
        bodies[address] = _with_links(body, address)
        links[address] = tuple((f"#{m.name}", html.escape(m.name)) for m in module.own_members)
    bodies = _without_dead_links(bodies)
    names = dict(zip(bodies, modules, strict=True))
    return [Page(address, names[address], bodies[address], links[address]) for address in bodies]


def reference_pages(site: SiteMap) -> list[Page]:
    """A page for every public module."""
    with warnings.catch_warnings(), patch("numpy.typing.ArrayLike", ArrayLike):
        for message in _AS_WRITTEN:
            warnings.filterwarnings("ignore", message)
        return _all_pages()
