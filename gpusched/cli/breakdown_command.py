"""Command ``breakdown``: the largest factors on times at which a test accepts a workload."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpusched._support.text import clip
from gpusched.cli.answer_text import stated, verdict_line
from gpusched.cli.command_parts import columns, status_of
from gpusched.cli.platform_options import (
    add_platform,
    add_workload,
    headline,
    program_of,
)
from gpusched.cli.way_options import add_way, asked_way

if TYPE_CHECKING:
    from gpusched.analysis.breakdown_answer import Breakdown

_EXACT = (
    "Factors are exact: the test of tasks with cores accepts every smaller one, and none that is "
    "larger, on the cores and SMs below; on others, and by other tests of the way (gpusched check "
    "--margin), times may be longer. They multiply the times of the tasks that the test takes, "
    "after the assumptions below, rounded up to a tick; copies may be part of its kernels."
)


def add(command: argparse.ArgumentParser) -> None:
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
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
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
