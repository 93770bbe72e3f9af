"""Command ``choose``: values that a program leaves open, so that a test guarantees it."""

from __future__ import annotations

import argparse

from gpusched._support.text import named, shown
from gpusched.cli.command_parts import Refusal, natural, positive, real, status_of
from gpusched.cli.program_parts import (
    add_platform,
    add_way,
    add_workload,
    asked_way,
    headline,
    not_applicable,
    program_of,
    response_table,
    stated,
)


def add_choose(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Chooses what the workload and the options leave open under one way of sharing "
        "the GPU, so that its test guarantees every deadline: cores and CPU priorities of tasks, "
        "levels of streams, priorities on the GPU, the length of time slices, SMs of clients of "
        "MPS, static partitions and green contexts, GPU instances, offsets of sources on one "
        "clock. Prints the changes, the verdict before and with them, the margin, the bounds of "
        "paths, and how many of all choices were tested."
    )
    command.epilog = (
        "Exit code: 0 when every deadline is guaranteed with the chosen values, 1 when no "
        "way can meet the deadlines, 3 when none of the tested choices is guaranteed, or the way "
        "is not applicable, 2 for an error."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--what",
        type=lambda text: text.split(","),
        metavar="KIND,...",
        help="values to choose: sms, levels, slices, gpu_priorities, cores, priorities, offsets, "
        "instances, as far as the way has them (default: those that are not stated)",
    )
    command.add_argument(
        "--aim",
        choices=("margin", "change", "paths"),
        default="margin",
        help="what is best: the largest margin, the fewest changes, or the shortest paths "
        "(default: %(default)s)",
    )
    command.add_argument(
        "--of",
        metavar="PATH",
        default="all",
        help="with --aim paths, the path that has to be short (default: all, by the shares of "
        "their deadlines)",
    )
    command.add_argument(
        "--choices",
        type=positive,
        metavar="N",
        help="maximum number of choices that are tested; if there are no more, all are (default: "
        "2000)",
    )
    command.add_argument(
        "--seconds", type=real, metavar="S", help="time limit of the search (default: no limit)"
    )
    command.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="seed of the search (default: 0)"
    )
    command.add_argument(
        "--output",
        metavar="FILE",
        help="also save the workload with the chosen values (.toml or .json), or the choice (.npz)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=_choose)


def _choose(options: argparse.Namespace) -> int:
    from gpusched._support.budget import Budget, BudgetSpent
    from gpusched.comparison.choosing.program_choice import choose
    from gpusched.comparison.documents import choice_document, json_text
    from gpusched.comparison.verdicts.premises import NotApplicable

    output = options.output
    if output is not None and not output.endswith((".toml", ".json", ".npz")):
        raise Refusal(f"--output: got {shown(output)}, expected a name in .toml, .json or .npz")
    workload, platform = program_of(options)
    way = asked_way(options)
    workload.kernel_times(platform)  # refuses kernels that the GPU cannot run
    try:
        found = choose(
            workload,
            platform,
            way,
            what=options.what,
            aim=options.aim,
            of=options.of,
            seed=options.seed,
            budget=Budget(states=options.choices, seconds=options.seconds),
        )
    except NotApplicable as error:
        return not_applicable(options, "answer", str(error))
    except BudgetSpent as error:
        return not_applicable(options, "answer", str(error), "undecided")
    if output is not None:
        (found if output.endswith(".npz") else found.workload).save(output)
    if options.json:
        print(json_text(choice_document(found)), end="")
        return status_of(found.schedulable)
    answer = found.answer
    print(f"{headline(workload, platform)}\n\n{found}\n\n{response_table(answer)}")
    print(stated(answer))
    if found.arguments:
        print(f"\noptions of other commands: {found.arguments}")
    if output is not None:
        print(f"\nwrote {named(output, 300)}")
    return status_of(found.schedulable)
