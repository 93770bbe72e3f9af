"""Commands ``sweep``, ``store`` and ``merge``: Figure 4 of [RTNS24], the stores of studies."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.text import clip, named
from gpusched.cli.command_parts import Refusal, columns, drawable, natural, positive

if TYPE_CHECKING:
    from gpusched.study.stored_study import StoredStudy


def add_sweep(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Generates random task sets as in section 6.1 of the GPUSched paper (RTNS "
        "2024), and tests each with the exact PBS search, EDFserial and EDFParallel. Prints the "
        "shares of schedulable sets with their 95 % confidence intervals, and draws them."
    )
    command.add_argument(
        "--panel",
        choices=("a", "b", "c"),
        help="slowdown factors 1 to 1.4 (a), 1.7 to 1.9 (b), 1.1 to 1.9 (c) (default: all three)",
    )
    command.add_argument(
        "--tasks", type=_tasks, default=5, metavar="N", help="tasks per set (default: 5)"
    )
    command.add_argument(
        "--count", type=positive, default=50, metavar="N", help="sets per point (default: 50)"
    )
    command.add_argument(
        "--seed", type=natural, default=1, metavar="N", help="seed of the sets (default: 1)"
    )
    command.add_argument(
        "--workers", type=positive, metavar="N", help="number of threads (default: usable CPUs)"
    )
    command.add_argument(
        "--output",
        default="gpusched_fig4.png",
        metavar="FILE",
        help="file of the figure; its suffix determines the format (default: gpusched_fig4.png)",
    )
    command.add_argument("--csv", metavar="FILE", help="also write the table as CSV")
    command.add_argument(
        "--store", metavar="FILE", help="keep finished results in this file, and resume from it"
    )
    command.add_argument(
        "--shard",
        type=_shard,
        metavar="I/K",
        help="compute part I (from 0) of K parts into --store, without table and figure",
    )
    command.set_defaults(run=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from gpusched import experiments
    from gpusched._draw.axes import save_figure

    given: dict[str, Any] = {
        **{"n": options.tasks, "count": options.count, "seed": options.seed},
        **{"workers": options.workers, "store": options.store},
    }
    if options.shard is not None:
        if options.store is None:
            raise Refusal("--shard: expected --store with it, a file for the results of the part")
        part = experiments.gpusched_fig4(options.panel, **given, shard=options.shard)
        print(summary(part))
        return 0
    ending = drawable(options.output)
    for path in (options.output, options.csv):
        if path is not None and not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise Refusal(f"{path}: expected an existing folder")
    result = experiments.gpusched_fig4(options.panel, **given)
    print(result.to_text(), end="")
    if options.csv is not None:
        result.save_csv(options.csv)
        print(f"\nwrote {named(options.csv, 300)}", end="")
    figure = result.plot()[0].figure
    save_figure(figure, options.output, dpi=150 if ending != "svg" else 72)
    print(f"\nwrote {named(options.output, 300)}")
    return 0


def _tasks(text: str) -> int:
    from gpusched.model.batches import MAX_TASKS

    number = positive(text)
    if number > MAX_TASKS:
        raise argparse.ArgumentTypeError(f"got {text}, expected at most {MAX_TASKS}")
    return number


def _shard(text: str) -> tuple[int, int]:
    part, of = (natural(number) for number in text.split("/"))
    if part >= of:
        raise argparse.ArgumentTypeError(f"got {text}, expected I/K with I from 0 to K - 1")
    return part, of


_shard.__name__ = "part"
_tasks.__name__ = "whole number"  # the name in messages of argparse


def add_store(command: argparse.ArgumentParser) -> None:
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
    command.set_defaults(run=_store)


def _store(options: argparse.Namespace) -> int:
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


def add_merge(command: argparse.ArgumentParser) -> None:
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
    command.set_defaults(run=_merge)


def _merge(options: argparse.Namespace) -> int:
    from gpusched.study.stored_study import merge

    study = merge(options.stores, options.output, max_bytes=options.max_bytes)
    print(f"{summary(study)}\nwrote {options.output}")
    return int(not study.complete)
