"""Commands ``breakdown`` and ``assign``: the largest times, and priorities, that a test accepts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpusched._support.text import clip
from gpusched.cli.command_parts import columns, natural, status_of
from gpusched.cli.program_parts import (
    add_platform,
    add_way,
    add_workload,
    asked_way,
    headline,
    program_of,
    response_table,
    stated,
    verdict_line,
)

if TYPE_CHECKING:
    from gpusched.analysis.breakdown_answer import Breakdown


_EXACT = (
    "Factors are exact: the test of tasks with cores accepts every smaller one, and none that is "
    "larger, on the cores and SMs below; on others, and by other tests of the way (gpusched check "
    "--margin), times may be longer. They multiply the times of the tasks that the test takes, "
    "after the assumptions below, rounded up to a tick; copies may be part of its kernels."
)


def add_breakdown(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Finds the largest factor on all times, and on those of each task, with which "
        "the test of one way of sharing the GPU accepts the workload. Cores and SMs are those of "
        "the workload, or those chosen for the workload with its own times."
    )
    command.epilog = (
        "Exit code: 0 when every deadline is guaranteed with the original times, 3 when "
        "undecided, 2 for an error, such as a task that gets no core."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--scale",
        action="append",
        metavar="WHAT",
        help="times to scale: all, kernels, copies, cpu, or the name of a task; may be repeated "
        "(default: all, and each task)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=_breakdown)


def _breakdown(options: argparse.Namespace) -> int:
    from gpusched.comparison.documents import breakdown_document, json_text
    from gpusched.comparison.placed_workloads import placed

    workload, platform = program_of(options)
    found = placed(workload, platform, asked_way(options))
    answer = found.answer
    scales = ["all", *range(len(workload))] if options.scale is None else options.scale
    factors = [found.factor(scale) for scale in dict.fromkeys(scales)]
    if options.json:
        print(json_text(breakdown_document(answer, factors)), end="")
        return status_of(answer.schedulable)
    print(f"{headline(workload, platform)}\n\n{verdict_line(answer)}\n\n{_table(factors)}\n")
    for factor in factors:
        if factor.limiting < 0:
            print(factor.why())
    print(f"{_EXACT}\n{stated(answer)}")
    return status_of(answer.schedulable)


def _table(factors: list[Breakdown]) -> str:
    from gpusched._support.growth_factors import factor_text

    rows = [("times", "factor", "exactly", "utilization", "limited by")]
    for found in factors:
        name = found.scale if found.task < 0 else f"task {clip(found.scale, 40)}"
        late = "–" if found.limiting < 0 else clip(found.hosts.name[int(found.limiting)], 40)
        short, exactly = "any", "–"
        if not found.unlimited:
            short, exactly = factor_text(found.factor), str(found.factor)
        rows.append((name, short, exactly, f"{found.utilization:.4f}", late))
    return columns(rows)


def add_assign(command: argparse.ArgumentParser) -> None:
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
    command.set_defaults(run=_assign)


def _assign(options: argparse.Namespace) -> int:
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
