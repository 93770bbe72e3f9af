"""Command ``assign``: priorities with which a test accepts a workload."""

from __future__ import annotations

import argparse

from gpusched.cli.answer_text import response_table, stated, verdict_line
from gpusched.cli.command_parts import natural, status_of
from gpusched.cli.platform_options import (
    add_platform,
    add_workload,
    headline,
    program_of,
)
from gpusched.cli.way_options import add_way, asked_way


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Chooses priorities with which the test of one way of sharing the GPU accepts "
        "the workload, by Audsley's algorithm, by deadline, or by a search over all orders, and "
        "prints the verdict with these priorities. Cores and SMs are those of the workload, or "
        "those chosen for the workload with its own priorities."
    )
    command.epilog = (
        "Exit code: 0 when every deadline is guaranteed with these priorities, 3 when "
        "undecided, 2 for an error, such as a task that gets no core."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--of",
        choices=("cpu", "gpu"),
        default="cpu",
        help="priorities to choose: cpu (of the tasks on their cores) or, with gcaps, gpu "
        "(default: cpu)",
    )
    command.add_argument(
        "--tests",
        type=natural,
        default=10_000,
        metavar="N",
        help="maximum number of tests of the search over orders; 0 for no search (default: 10000)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.comparison.documents import assignment_document, json_text
    from gpusched.comparison.placed_workloads import assigned

    workload, platform = program_of(options)
    way = asked_way(options)
    found, answer = assigned(workload, platform, way, of=options.of, search=options.tests)
    if options.json:
        print(json_text(assignment_document(answer, found)), end="")
        return status_of(answer.schedulable)
    more = [("priority", found.hosts.priority)]
    if found.gpu_priority is not None:
        more.append(("GPU priority", found.gpu_priority))
    print(f"{headline(workload, platform)}\n\n{verdict_line(answer)}\n")
    tests = "1 test" if found.tests == 1 else f"{found.tests:,} tests"
    print(f"{response_table(answer, *more)}\n\n{found.how()} ({tests}).\n{answer.why()}")
    print(stated(answer))
    return status_of(answer.schedulable)
