"""Command ``methods``: the ways of sharing the GPU, and the methods of the package."""

from __future__ import annotations

import argparse

from gpusched.cli.command_parts import left_columns


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Lists the ways of sharing the GPU for compare, check and simulate, each with "
        "its test and the claim of the test; then all gpusched.methods()."
    )
    command.add_argument(
        "--json", action="store_true", help="print one JSON document, with all options"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched._support.registry import methods
    from gpusched.comparison.documents import json_text, methods_document
    from gpusched.ways.way import WAYS

    if options.json:
        print(json_text(methods_document()), end="")
        return 0
    rows = [("way", "test", "claim", "modes", "title")]
    for way in WAYS:
        method = way.test_method
        claim = "simulation" if method is None else method.claim
        modes = ",".join(way.modes) or "-"
        rows.append((way.name, way.test or "-", claim, modes, way.title))
    print(f"{left_columns(rows)}\n\n{methods()!r}")
    return 0
