"""Files of workloads: TOML and JSON of one schema, chosen by the suffix of the name.

TOML is written here, and checked before it is read.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NoReturn

from gpusched._support import input_files
from gpusched._support.arguments import one_of
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.text import clip, own_descriptor, path_text, shown
from gpusched.model.workload.workload_document import (
    Parts,
    head_document,
    path_documents,
    task_documents,
    workload_parts,
)

MOST_PARTS = 50

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'[^']*(?:'|$)")
_DOTS = re.compile(rf"^(?:[^.\n]*\.){{{MOST_PARTS}}}[^\n]*", re.MULTILINE)
_BETWEEN = re.compile(r"[=,{}\[\]#]")
_BARE = re.compile(r"\s*[\w-]+\s*")


def toml_lines(
    head: Mapping[str, object],
    tasks: Iterable[Mapping[str, object]],
    paths: Iterable[Mapping[str, object]] = (),
) -> Iterator[str]:
    """The lines of a file: the keys of ``head``, then a table for each task and each path.

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
    for path in paths:
        yield ""
        yield "[[path]]"
        for key, value in path.items():
            yield f"{key} = {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(it)}" for key, it in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        # The escapes of JSON are those of TOML, which needs one for DEL, too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    assert type(value) is int
    return str(value)


def _key(key: str) -> str:
    """A key, in quotes if it has a dot, which would divide it."""
    return f'"{key}"' if "." in key else key


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


Format = Literal["toml", "json"]

_FORMATS = ("toml", "json")
_AT = re.compile(r"\s*\(at line (\d+), column \d+\)$")
_AT_END = re.compile(r"\s*\(at end of document\)$")


def read_workload(
    path: str | os.PathLike[str], file_format: Format | None, max_bytes: int
) -> Parts:
    """Read what `write_workload` wrote; see ``Workload.load``."""
    where = path_text(path)
    if file_format is not None:
        one_of(file_format, _FORMATS, "file_format")
    return workload_in(where, content(where, max_bytes), file_format)


def workload_in(where: str, data: bytes, file_format: Format | None = None) -> Parts:
    """The workload in the content of a file. The format is given, or its suffix or content says it.

    The content alone decides for streams, and for what is certainly a workload.
    """
    input_files.refuse(where, data, "workload")
    chosen = file_format or _of_suffix(where)
    if chosen is None and own_descriptor(where) is None and input_files.kind_of(data) is None:
        raise _no_format(where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{where}: line {line}: got bytes that are not UTF-8, expected text"
        ) from None
    if chosen is None:
        chosen = "json" if text.lstrip()[:1] == "{" else "toml"
    document = _toml(where, text) if chosen == "toml" else _json(where, text)
    try:
        return workload_parts(document)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def write_workload(parts: Parts, path: str | os.PathLike[str], file_format: Format | None) -> None:
    """Write a file; see ``Workload.save``."""
    where = path_text(path)
    if file_format is not None:
        one_of(file_format, _FORMATS, "file_format")
    chosen = file_format or _of_suffix(where)
    if chosen is None and own_descriptor(where) is None:
        raise _no_format(where)
    head = head_document(parts)
    tasks = task_documents(parts.tasks, parts.tick)
    paths = path_documents(parts.paths, parts.tick)
    with replacing(where, "w", encoding="utf-8", newline="\n") as file:
        if chosen == "json":
            start = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
            file.write(start + ',\n "task": [\n')
            for i, task in enumerate(tasks):
                file.write(("  " if i == 0 else ",\n  ") + json.dumps(task, ensure_ascii=False))
            file.write("\n ]")
            if parts.paths:
                rows = (json.dumps(path, ensure_ascii=False) for path in paths)
                file.write(',\n "path": [\n  ' + ",\n  ".join(rows) + "\n ]")
            file.write("\n}\n")
        else:
            for line in toml_lines(head, tasks, paths):
                file.write(line + "\n")


def _of_suffix(where: str) -> Format | None:
    """The format of a suffix; None for another suffix."""
    suffix = os.path.splitext(where)[1].lower()
    return "toml" if suffix == ".toml" else "json" if suffix == ".json" else None


def _no_format(where: str) -> ValueError:
    return ValueError(
        f"path: got {shown(where)}, expected a name that ends in .toml or .json (or file_format=)"
    )


def _toml(where: str, text: str) -> object:
    if (line := line_of_long_key(text)) is not None:
        raise ValueError(
            f"{where}: line {line}: got a key of more than {MOST_PARTS} parts, expected at most 2"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        for key in ("task", "path"):
            if f"Cannot declare ('{key}',)" in message:
                message = message.replace("Cannot declare", f"write [[{key}]]: cannot declare")
        if at := _AT.search(message):
            line, message = int(at[1]), message[: at.start()]
        else:
            line, message = text.count("\n") + 1, _AT_END.sub(" at the end", message)
        _refuse(where, line, message, "TOML")
    except RecursionError:
        raise ValueError(f"{where}: got lists in lists too deep, expected TOML") from None
    except ValueError as error:
        raise ValueError(f"{where}: got a number that is too long, expected TOML") from error


def _json(where: str, text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        _refuse(where, error.lineno, error.msg, "JSON")
    except RecursionError:
        raise ValueError(f"{where}: got lists in lists too deep, expected JSON") from None
    except _KeyTwice as error:
        raise ValueError(f"{where}: {error}") from None
    except ValueError as error:
        raise ValueError(
            f"{where}: got a number of more than {sys.get_int_max_str_digits()} digits, expected "
            "JSON"
        ) from error


class _KeyTwice(Exception):
    """A refusal of a part of a JSON document; the message is complete."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _KeyTwice(f"{clip(twice, 60)}: got the key twice in one object, expected it once")
    return found


def _constant(text: str) -> NoReturn:
    raise _KeyTwice(f"got {text}, expected a finite number")


def _refuse(where: str, line: int, message: str, language: str) -> NoReturn:
    raise ValueError(f"{where}: line {line}: got {clip(message, 120)}, expected {language}")
