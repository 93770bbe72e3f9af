"""Short names of kernels, without return type, namespaces, template arguments, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable

LABEL_LENGTH = 40
_NESTED = {"<": ">", "(": ")", "[": "]", "{": "}"}


def labels(names: Iterable[str]) -> list[str]:
    """Short names, all different, of at most ``LABEL_LENGTH`` characters."""
    used: set[str] = set()
    last: dict[str, int] = {}
    chosen = []
    for name in names:
        short = _fit(_short(name), LABEL_LENGTH)
        label, number = short, last.get(short, 1)
        while label in used:
            number += 1
            suffix = f"#{number}"
            label = _fit(short, LABEL_LENGTH - len(suffix)) + suffix
        last[short] = number
        used.add(label)
        chosen.append(label)
    return chosen


def _short(name: str) -> str:
    """A kernel's own name, without return type, namespaces, template arguments, parameters."""
    text = re.sub(r"\((anonymous namespace|anonymous)\)|<unnamed>", "anonymous", name)
    kept: list[str] = []
    closing: list[str] = []
    for character in text:
        if closing:
            # Inside parentheses < and > may be comparisons; templates there are dropped anyway.
            if character in _NESTED and not (character == "<" and closing[-1] == ")"):
                closing.append(_NESTED[character])
            elif character == closing[-1]:
                closing.pop()
        elif character == "(" and kept:
            break
        elif character in _NESTED:
            closing.append(_NESTED[character])
        elif character.isprintable():
            kept.append(character)
    words = "".join(kept).split()
    parts = [part for part in words[-1].split("::") if part] if words else []
    short = parts[-1] if parts else ""
    if short.lower() == "kernel":
        # Not distinctive: take the_real_name of cutlass::Kernel<the_real_name>, or the namespace.
        named = re.search(rf"\b{short}<([A-Za-z]\w*_\w*)[,>]", text)
        short = named[1] if named else "::".join(parts[-2:])
    return short or "".join(c for c in name if c.isprintable()).strip() or "kernel"


def _fit(text: str, length: int) -> str:
    """``text`` cut to ``length`` characters in its middle; similar names differ at their ends."""
    if len(text) <= length:
        return text
    tail = (length - 2) // 2
    return f"{text[: length - 2 - tail]}..{text[-tail:]}"
