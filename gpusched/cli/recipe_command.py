"""Command ``recipe``: how a program is set up and run under a way of sharing the GPU."""

from __future__ import annotations

import argparse

from gpusched._support.text import named
from gpusched.cli.command_parts import Refusal, output_folder, status_of
from gpusched.cli.program_parts import (
    add_platform,
    add_way,
    add_workload,
    asked_way,
    headline,
    not_applicable,
    program_of,
)


def add_recipe(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Prints the steps with which a program keeps the guarantee of an answer: cores "
        "and priorities, what root sets up and how it is taken back, what the program does around "
        "its GPU work, checks. --output writes them as scripts, with a program in C++."
    )
    command.epilog = (
        "Exit code: 0 when every deadline is guaranteed, 3 when undecided (with --anyway), "
        "under conditions only or not applicable, 1 when a miss is shown, 2 for an error."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--cores",
        metavar="N,...",
        help="CPUs of the machine for the cores of the answer, and one more for a server or a "
        "dispatcher (default: 0,1,...)",
    )
    command.add_argument(
        "--anyway", action="store_true", help="also for an answer that guarantees nothing"
    )
    command.add_argument(
        "--output",
        metavar="DIR",
        help="write setup.sh, undo.sh, check.sh, run.sh, recipe.json, the answer and the sources "
        "into this folder",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=_recipe)


def _recipe(options: argparse.Namespace) -> int:
    from gpusched.comparison.analyses import analyze
    from gpusched.comparison.deployments import recipe
    from gpusched.comparison.documents import json_text
    from gpusched.comparison.verdicts.premises import NotApplicable

    cores = cores_of(options.cores)
    folder = output_folder(options.output)
    workload, platform = program_of(options)
    workload.kernel_times(platform)  # refuses kernels that the GPU cannot run
    try:
        answer = analyze(workload, platform, asked_way(options))
    except NotApplicable as error:
        return not_applicable(options, "answer", str(error))
    found = recipe(answer, cores=cores, anyway=options.anyway)
    written = () if folder is None else found.save(folder)
    if options.json:
        print(json_text(found.document()), end="")
    else:
        print(f"{headline(workload, platform)}\n\n{found}")
        if folder is not None:
            print(f"\nwrote {len(written)} files into {named(folder, 300)}")
    return status_of(answer.schedulable)


def cores_of(text: str | None) -> list[int] | None:
    """Numbers of CPUs; ``Refusal`` for other text."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise Refusal(f"--cores: got {text!r:.60}, expected numbers such as 2,3,4") from None
