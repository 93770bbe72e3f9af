"""TOML text of workloads: a writer for their schema, and a check before it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["MOST_PARTS", "line_of_long_key", "toml_lines"]

MOST_PARTS = 50

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'[^']*(?:'|$)")
_DOTS = re.compile(rf"^(?:[^.\n]*\.){{{MOST_PARTS}}}[^\n]*", re.MULTILINE)
_BETWEEN = re.compile(r"[=,{}\[\]#]")
_BARE = re.compile(r"\s*[\w-]+\s*")


def toml_lines(head: Mapping[str, object], tasks: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The lines of a file: the keys of ``head``, then a table for each task.

    A task's segments stand in one line each.

    >>> print("\\n".join(toml_lines({"version": 1}, [{"name": "a", "segments": [{"cpu": "2ms"}]}])))
    version = 1
    <BLANKLINE>
    [[task]]
    name = "a"
    segments = [
        { cpu = "2ms" },
    ]
    """
    for key, value in head.items():
        yield f"{key} = {_value(value)}"
    for task in tasks:
        yield ""
        yield "[[task]]"
        for key, value in task.items():
            if key != "segments":
                yield f"{key} = {_value(value)}"
        yield "segments = ["
        segments = task["segments"]
        assert isinstance(segments, list)
        for segment in segments:
            yield f"    {_value(segment)},"
        yield "]"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        # The escapes of JSON are those of TOML, which needs one for DEL, too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert type(value) is int
    return str(value)


def line_of_long_key(text: str) -> int | None:
    """The first line with a dotted key of more than `MOST_PARTS` parts; None if there is none.

    tomllib needs time quadratic in the number of parts: minutes for a key of 100 kB.

    >>> line_of_long_key("a.b = 1\\n" + "x." * 60 + "x = 1")
    2
    """
    number, at = 1, 0
    for found in _DOTS.finditer(text):
        number += text.count("\n", at, found.start())
        at = found.start()
        for part in _BETWEEN.split(_STRING.sub("q", found[0])):
            pieces = part.split(".")
            if len(pieces) > MOST_PARTS and all(map(_BARE.fullmatch, pieces)):
                return number
    return None
