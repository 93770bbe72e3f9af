"""Command ``store``: contents of the store of a sweep or an experiment."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.text import clip
from gpusched.cli.command_parts import columns, positive

if TYPE_CHECKING:
    from gpusched.study.stored_study import StoredStudy


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Prints the settings of the study in a store, its points, the numbers of "
        "finished and missing task sets at each point, and the machines that computed them."
    )
    command.epilog = "Exit code: 0 when nothing is missing, 1 when something is, 2 after an error."
    command.add_argument("path", metavar="PATH", help="file of the store")
    command.add_argument(
        "--max-bytes",
        type=positive,
        default=MAX_BYTES,
        metavar="N",
        help="maximum size of the file and of what it unpacks to (default: 4 GiB)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.study.stored_study import open_store

    study = open_store(options.path, max_bytes=options.max_bytes)
    for name, value in study.definition.items():
        print(f"{name}: {clip(value if isinstance(value, str) else json.dumps(value), 100)}")
    print()
    print(table(study))
    for machine in study.machines:
        print()
        for name, value in machine.items():
            print(f"{name}: {clip(str(value), 100)}")
    print()
    print(summary(study))
    return int(not study.complete)


def table(study: StoredStudy) -> str:
    """A row for each point, with its numbers of task sets."""
    from gpusched.study.points import describe

    missing: dict[str, int] = {}
    for point, _, size in study.missing:
        missing[repr(point)] = missing.get(repr(point), 0) + size
    rows = [("point", "task sets", "missing")]
    for point, sets in zip(study.points, study.sets, strict=True):
        rows.append((describe(point), str(sets), str(missing.get(repr(point), 0))))
    return columns(rows)


def summary(study: StoredStudy) -> str:
    """The study in one line."""
    left = sum(size for _, _, size in study.missing)
    end = f"{left} are missing" if left else "complete"
    return f"{study.name}: {len(study.points)} points, {sum(study.sets)} task sets, {end}"
