"""Options of the commands that take one method: its name, its mode and its other options."""

from __future__ import annotations

import argparse
from typing import Any

from gpusched.cli.command_parts import Refusal, status_of
from gpusched.comparison.ways import way_of

__all__ = ["PLACED", "add_method", "not_applicable", "options_of"]

PLACED = "stgm, mpcp, fmlp_plus, gpu_server, time_slices, gcaps"
"""The tests of placed tasks (``PLACED_TESTS``, which a help text need not import)."""

_ELSEWHERE = ("method", "mode", "overhead")  # arguments of their own, or of the platform


def add_method(command: argparse.ArgumentParser, known: str = "see 'methods'") -> None:
    """Add ``--method``, ``--mode`` and ``--option``; ``known`` says which methods there are."""
    command.add_argument(
        "--method", required=True, metavar="NAME", help=f"the way of sharing the GPU ({known})"
    )
    command.add_argument("--mode", metavar="MODE", help="mode of the method, such as suspend")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another option of the method, as listed by 'methods --json'; may be repeated",
    )


def options_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the method, with values of their types; ``Refusal`` for other text."""
    method = way_of(options.method).method
    known = {} if method is None else {option.name: option.type for option in method.options}
    known = {name: kind for name, kind in known.items() if name not in _ELSEWHERE}
    if method is not None and method.name == "stgm":
        known["apart"] = "boolean"  # of the allocation that chooses the SMs
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
        elif known[name] == "integer":
            try:
                found[name] = int(value)
            except ValueError:
                raise Refusal(f"--option: got {text!r:.60}, expected a whole number") from None
        else:
            found[name] = value
    return found


def not_applicable(
    options: argparse.Namespace, kind: str, reason: str, verdict: str = "not applicable"
) -> int:
    """Say why a way does not apply, as an answer and not as an error; the exit code.

    ``kind`` is that of the JSON document: "answer" or "run". ``verdict``: "undecided" if the budget
    was spent instead.
    """
    from gpusched.comparison.documents import json_text, not_applicable_document

    way = way_of(options.method).name
    if options.json:
        print(json_text(not_applicable_document(kind, way, reason, verdict)), end="")
    else:
        print(f"{way}: {verdict}\n\n{reason}")
    return status_of(None)
