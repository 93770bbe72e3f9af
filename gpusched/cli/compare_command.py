"""Command ``compare``: a workload under every way of sharing the GPU."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from gpusched._support.text import named
from gpusched.cli.command_parts import add_quiet, output_folder, real, status_of
from gpusched.cli.program_parts import (
    add_platform,
    add_workload,
    headline,
    program_of,
)

if TYPE_CHECKING:
    from gpusched.comparison.margins import Margin


def add_compare(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Runs every test and simulation that can express the workload. Prints a table "
        "of their verdicts, the reasons of those that give no guarantee, and the way under "
        "which the times can grow most."
    )
    command.epilog = (
        "Exit code: 0 when a way guarantees every deadline, 1 when no way can meet them, 3 "
        "when undecided or guaranteed under conditions only, 2 for an error."
    )
    add_workload(command)
    command.add_argument(
        "--way",
        action="append",
        metavar="NAME",
        help="consider only this way of sharing the GPU (see 'methods'); may be repeated",
    )
    command.add_argument(
        "--until",
        metavar="TIME",
        help="simulate the jobs released before this time, such as 10s (default: ten "
        "hyperperiods, at most 10s)",
    )
    command.add_argument(
        "--seconds",
        type=real,
        metavar="S",
        help="time limit of all tests and simulations together, each of which gets a share "
        "(default: 200,000 states and 32 MiB for a search; simulations run until --until)",
    )
    command.add_argument("--no-simulation", action="store_true", help="run tests only")
    command.add_argument(
        "--no-margin",
        action="store_true",
        help="do not compute how far times can grow, which takes tens of analyses per row",
    )
    command.add_argument(
        "--json", action="store_true", help="print one JSON document (Comparison.document)"
    )
    command.add_argument(
        "--output",
        metavar="DIR",
        help="write compare.html, compare.json and a Perfetto trace of each simulated row into "
        "this folder, which is created if needed",
    )
    add_quiet(command)
    add_platform(command)
    command.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    from gpusched._support.budget import Budget
    from gpusched.comparison.comparisons import compare
    from gpusched.comparison.documents import comparison_document, json_text
    from gpusched.comparison.report.report_folder import save_report

    workload, platform = program_of(options)
    folder = output_folder(options.output)
    workload.kernel_times(platform)  # refuses kernels that the GPU cannot run, once for all rows
    progress = False if options.quiet else None
    found = compare(
        workload,
        platform,
        ways=options.way,
        simulate=not options.no_simulation,
        until=options.until,
        budget=None if options.seconds is None else Budget(seconds=options.seconds),
        progress=progress,
    )
    findings = found.findings(margin=not options.no_margin, progress=progress)
    written: tuple[str, ...] = ()
    if folder is not None:
        title = None if options.file == "-" else os.path.basename(options.file)
        written = save_report(findings, folder, title)
    if options.json:
        if not options.quiet:
            print(json_text(comparison_document(findings)), end="")
    elif not options.quiet:
        print(f"{headline(workload, platform)}\n\n{found}")
        if platform.gpu is None:
            print("\nwithout a GPU, only ways with the times as given: --gpu (see 'gpus')")
        if not options.no_margin:
            print(f"\n{best_text(findings.best)}")
            if findings.advice is not None:
                print(findings.advice)
        if written:
            more = f" and {len(written) - 2} traces" if len(written) > 2 else ""
            print(f"\nwrote {named(written[0], 300)}, {os.path.basename(written[1])}{more}")
    return status_of(found.schedulable)


def best_text(best: Margin | None) -> str:
    """A line on the way to use."""
    if best is None:
        return "best: none"
    return f"best, under conditions: {best}" if best.conditional else f"best: {best}"
