"""Options of the commands that take one way of sharing the GPU: its name and its parameters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gpusched.cli.command_parts import Refusal, status_of

if TYPE_CHECKING:
    from gpusched.ways.way import Way

__all__ = ["add_way", "asked_way", "not_applicable"]


def add_way(command: argparse.ArgumentParser) -> None:
    """Add ``--way``, ``--mode`` and ``--option``."""
    command.add_argument(
        "--way", required=True, metavar="NAME", help="the way of sharing the GPU (see 'methods')"
    )
    command.add_argument("--mode", metavar="MODE", help="mode of the way, such as suspend")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another parameter of the way, as listed by 'methods --json'; may be repeated",
    )


def asked_way(options: argparse.Namespace) -> Way:
    """The way with its parameters, as values of their types; ``Refusal`` for other text."""
    from gpusched.comparison.analyses import asked_way as with_parameters
    from gpusched.model.workload.platforms import ON_PLATFORM
    from gpusched.ways.way import as_way

    way = as_way(options.way)
    inner = as_way(way.within).parameters if way.name == "mig" else ()
    known = {option.name: option.type for option in (*inner, *way.parameters)}
    known = {
        name: kind
        for name, kind in known.items()
        if name != "mode" and name not in ON_PLATFORM and kind not in ("data", "integers")
    }
    found: dict[str, Any] = {} if options.mode is None else {"mode": options.mode}
    for text in options.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise Refusal(f"--option: got {text!r:.60}, expected NAME=VALUE")
        if name in found:
            raise Refusal(f"--option: got {name!r:.60} twice, expected it once")
        if name not in known:
            raise Refusal(
                f"--option: got {name!r:.60}, expected one of {', '.join(known) or 'none'}"
            )
        if known[name] == "boolean":
            if value not in ("true", "false"):
                raise Refusal(f"--option: got {text!r:.60}, expected true or false")
            found[name] = value == "true"
        elif known[name] in ("choice", "way"):
            found[name] = value
        else:
            try:
                found[name] = int(value)
            except ValueError:
                raise Refusal(f"--option: got {text!r:.60}, expected a whole number") from None
    return with_parameters(way, found)


def not_applicable(
    options: argparse.Namespace, kind: str, reason: str, verdict: str = "not applicable"
) -> int:
    """Say why a way does not apply, as an answer and not as an error; the exit code.

    ``kind`` is that of the JSON document: "answer" or "run". ``verdict``: "undecided" if the budget
    was spent instead.
    """
    from gpusched.comparison.documents import json_text, not_applicable_document
    from gpusched.ways.way import as_way

    way = as_way(options.way).name
    if options.json:
        print(json_text(not_applicable_document(kind, way, reason, verdict)), end="")
    else:
        print(f"{way}: {verdict}\n\n{reason}")
    return status_of(None)
