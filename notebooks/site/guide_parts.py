"""Parts of guide pages that come from the package: docstrings, methods, ways of sharing, rules.

A line that is a link to them stands for them: "Docstring of `gs.name`" for its prose and its notes,
"Methods `a`, `b`" for methods of ``gs.methods()``, "Ways `a`, `b`" (or `all`) for ways of sharing a
GPU, "Rules `a`, `b`" for the rules of GPUs that are inferred or hints and on which these ways rest,
and "Members of `gs.name`" for the functions of a module, or else its classes, each with its first
sentence.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import gpusched as gs
from gpusched.comparison.verdicts.gpu_rules import Rule, known_rules
from gpusched.ways import WAYS, as_way

__all__ = ["examples_first", "expanded", "named", "prose"]

_PART = re.compile(
    r"^\[(Docstring of|Members of|Methods|Rules|Ways) (`.+`)\]\(\S+\)$", re.MULTILINE
)
_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_CLAIMS = {
    "exact": "accepts exactly the systems that meet every deadline",
    "sufficient": "what it accepts meets every deadline; of the rest it says nothing",
    "necessary": "what it rejects misses a deadline; of the rest it says nothing",
    "simulation": "one run, which shows misses and guarantees nothing",
}


def named(name: str) -> object:
    """The public object that is written ``gs.name``; AttributeError for another name."""
    parts = name.split(".")
    if parts[0] != "gs":
        raise AttributeError(f"name: got {name!r}, expected one that begins with 'gs.'")
    found: object = gs
    for part in parts[1:]:
        found = getattr(found, part)
    return found


def prose(docstring: str) -> str:
    """A docstring as Markdown without its examples and its sections, but with notes."""
    pieces = _SECTION.split(inspect.cleandoc(docstring))
    text = pieces[0]
    for heading, section in zip(pieces[1::2], pieces[2::2], strict=True):
        if heading in ("Notes", "Assumptions"):
            text += f"\n\n{section}"
    text = _EXAMPLE.sub("", text)
    return re.sub(r"\n{3,}", "\n\n", text.replace("::\n", ":\n")).strip()


def examples_first(docstring: str) -> str:
    """A docstring with the examples of its sections before them, where they are not taken for names
    of parameters or errors."""
    pieces = _SECTION.split(docstring)
    opening, sections, found = pieces[0].strip(), "", []
    for heading, section in zip(pieces[1::2], pieces[2::2], strict=True):
        if heading != "Examples":
            found += _EXAMPLE.findall(section)
            section = _EXAMPLE.sub("", section)
        sections += f"\n\n{heading}\n{'-' * len(heading)}\n{section.strip()}"
    return "\n\n".join([opening, *found]).strip() + sections


def _doc(name: str) -> str:
    text = prose(inspect.getdoc(named(name)) or "")
    return f'<div class="doc">\n\n`{name}`: {text}\n\n</div>'


def _methods(names: str) -> str:
    lines = ['<dl class="methods">']
    for name in names.split():
        method = gs.methods()[name]
        options = ", ".join(f"`{option.name}=`" for option in method.options)
        lines += [
            f'<dt>\n\n`gs.{method.function}` <span class="claim">{method.claim}: '
            f"{_CLAIMS[method.claim]}</span>\n\n</dt><dd>\n",
            method.summary,
            "",
            f'<span class="source">Input: `gs.{method.model}`. Source: {method.source}.'
            f"{f' Options: {options}.' if options else ''}</span>",
            "\n</dd>",
        ]
    return "\n".join([*lines, "</dl>"])


def _ways(names: str) -> str:
    lines = ["| way | rule | test |", "|---|---|---|"]
    chosen = WAYS if names == "all" else [as_way(name) for name in names.split()]
    for way in chosen:
        test = "–" if way.test_method is None else f"`gs.{way.test_method.function}`"
        lines.append(f"| `{way.name}` | {way.title} | {test} |")
    return "\n".join(lines)


def _rules(names: str) -> str:
    """A table of rules; of several ways with those that rest on each rule."""
    ways = [as_way(name).name for name in names.split()]
    users: dict[Rule, list[str]] = {}
    for way in ways:
        for rule in known_rules(way):
            users.setdefault(rule, []).append(f"`{way}`")
    if not users:
        return "No rule that they rest on is inferred or a hint."
    tested = {rule for way in ways for rule in known_rules(way, run=False)}
    rows = [["rule", "kind", "source", "what would settle it", "ways"], ["---"] * 5]
    for rule, named_ways in users.items():
        text = rule.text if rule in tested else f"{rule.text} (simulations; tests refuse this)"
        rows.append([text, rule.kind, rule.source, rule.settled_by, ", ".join(named_ways)])
    width = 4 if len(ways) == 1 else 5
    return "\n".join(f"| {' | '.join(cells[:width])} |" for cells in rows)


def _members(name: str) -> str:
    module = named(name)
    values = {member: getattr(module, member) for member in dir(module)}
    shown = {member: value for member, value in values.items() if inspect.isroutine(value)}
    if not shown:
        shown = {member: value for member, value in values.items() if inspect.isclass(value)}
    lines = ["| name | what it is |", "|---|---|"]
    for member, value in shown.items():
        first = re.split(r"(?<=\.)\s|\n\n", inspect.getdoc(value) or "")[0]
        lines.append(f"| `{name}.{member}` | {' '.join(first.split())} |")
    return "\n".join(lines)


_PARTS: dict[str, Callable[[str], str]] = {
    "Docstring of": _doc,
    "Members of": _members,
    "Methods": _methods,
    "Rules": _rules,
    "Ways": _ways,
}


def expanded(text: str) -> str:
    """A guide page with its parts filled in; KeyError or ValueError for an unknown
    method or way."""
    return _PART.sub(lambda part: _PARTS[part[1]](part[2].replace("`", "").replace(",", "")), text)
