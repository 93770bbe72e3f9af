"""Files of workloads: TOML and JSON of one schema, chosen by the suffix of the name."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections import Counter
from typing import Literal, NoReturn

from gpusched._support.arguments import one_of
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.paths import own_descriptor, path_text
from gpusched._support.text import clip, shown
from gpusched.model.workload.workload_document import (
    head_document,
    task_documents,
    workload_parts,
)
from gpusched.model.workload.workload_parts import Parts
from gpusched.model.workload.workload_toml import MOST_PARTS, line_of_long_key, toml_lines

__all__ = ["Format", "read_workload", "write_workload"]

Format = Literal["toml", "json"]

_FORMATS = ("toml", "json")
_AT = re.compile(r"\s*\(at line (\d+), column \d+\)$")
_AT_END = re.compile(r"\s*\(at end of document\)$")


def read_workload(
    path: str | os.PathLike[str], file_format: Format | None, max_bytes: int
) -> Parts:
    """Read what `write_workload` wrote; see ``Workload.load``."""
    where = path_text(path)
    chosen = _chosen(where, file_format)
    data = content(where, max_bytes)
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
    chosen = _chosen(where, file_format)
    head = head_document(parts)
    tasks = task_documents(parts.tasks, parts.tick)
    with replacing(where, "w", encoding="utf-8", newline="\n") as file:
        if chosen == "json":
            start = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
            file.write(start + ',\n "task": [\n')
            for i, task in enumerate(tasks):
                file.write(("  " if i == 0 else ",\n  ") + json.dumps(task, ensure_ascii=False))
            file.write("\n ]\n}\n")
        else:
            for line in toml_lines(head, tasks):
                file.write(line + "\n")


def _chosen(where: str, file_format: object) -> Format | None:
    """The format asked for, or that of the suffix; None for a stream without either."""
    if file_format is not None:
        one_of(file_format, _FORMATS, "file_format")
        return "toml" if file_format == "toml" else "json"
    suffix = os.path.splitext(where)[1].lower()
    if suffix == ".toml":
        return "toml"
    if suffix == ".json":
        return "json"
    if own_descriptor(where) is not None:
        return None
    raise ValueError(
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
