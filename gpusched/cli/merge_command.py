"""Command ``merge``: one store of the parts of a sweep or an experiment."""

from __future__ import annotations

import argparse

from gpusched._support.arguments import MAX_BYTES
from gpusched.cli.command_parts import positive
from gpusched.cli.store_command import summary


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Joins stores of one study, such as those of sweep --shard, into a new store. "
        "Run the study with the new store to get its result."
    )
    command.epilog = "Exit code: 0 when nothing is missing, 1 when something is, 2 after an error."
    command.add_argument("output", metavar="OUTPUT", help="file of the new store")
    command.add_argument("stores", metavar="STORE", nargs="+", help="files of the stores")
    command.add_argument(
        "--max-bytes",
        type=positive,
        default=MAX_BYTES,
        metavar="N",
        help="maximum size of each store and of what it unpacks to (default: 4 GiB)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.study.stored_study import merge

    study = merge(options.stores, options.output, max_bytes=options.max_bytes)
    print(f"{summary(study)}\nwrote {options.output}")
    return int(not study.complete)
