"""Command ``check``: the test of one way of sharing the GPU, task by task."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched._support.text import clip
from gpusched.cli.command_parts import columns, status_of
from gpusched.cli.method_options import add_method, options_of
from gpusched.cli.platform_options import (
    add_platform,
    add_workload,
    headline,
    platform_of,
    workload_of,
)
from gpusched.model.workload.time_units import time_with_unit

if TYPE_CHECKING:
    from gpusched.comparison.workload_answer import WorkloadAnswer


def add(commands: Any) -> None:
    """Add the command to the parser."""
    check = commands.add_parser(
        "check",
        help="test a workload under one way of sharing the GPU",
        description="Runs the test of one way of sharing the GPU and prints its verdict, the "
        "response bound and the slack of each task, the reason and the assumptions.",
        epilog="Exit code: 0 when every deadline is guaranteed, 1 when the test shows a miss, 3 "
        "when undecided, 2 for an error.",
    )
    add_workload(check)
    add_method(check)
    check.add_argument(
        "--margin",
        nargs="?",
        const="all",
        metavar="WHAT",
        help="how far times may grow before the verdict changes: all, those of kernels, or those "
        "of a task by its name (all)",
    )
    check.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="longest time of a search; it is undecided then (no limit)",
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(check)
    check.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched._support.budget import Budget
    from gpusched.comparison.analyses import analyze
    from gpusched.comparison.documents import answer_document, json_text
    from gpusched.comparison.margins import margin

    workload, platform = workload_of(options), platform_of(options)
    chosen = options_of(options)
    budget = None if options.seconds is None else Budget(seconds=options.seconds)
    answer = analyze(workload, platform, options.method, budget=budget, **chosen)
    room = None
    if options.margin is not None:
        room = margin(workload, platform, options.method, options.margin, budget=budget, **chosen)
    if options.json:
        print(json_text(answer_document(answer, room)), end="")
        return status_of(answer.schedulable)
    print(f"{headline(workload, platform)}\n")
    print(f"{answer.label}: {answer.verdict} ({answer.claim} test)\n")
    print(_table(answer))
    print(f"\n{answer.why()}")
    if room is not None:
        print(f"margin: {room}")
    if answer.assumptions:
        print("\nassumptions:")
        for text in answer.assumptions:
            print(f"- {clip(text, 400)}")
    return status_of(answer.schedulable)


def _table(answer: WorkloadAnswer) -> str:
    from gpusched.comparison.comparison_text import signed_time
    from gpusched.comparison.workload_answer import known_at

    workload, slacks = answer.workload, answer.slack
    rows: list[Sequence[str]] = [("task", "deadline", "response", "slack")]
    for i, task in enumerate(workload):
        response, slack = known_at(answer.response, i), known_at(slacks, i)
        bound = "–" if response is None else time_with_unit(response, workload.tick_ns)
        if response is not None and not answer.bounded[i]:
            bound = f"{bound} or more"
        rows.append(
            (
                clip(task.name, 40),
                time_with_unit(task.deadline, workload.tick_ns),
                bound,
                "–" if slack is None else signed_time(slack, workload.tick_ns),
            )
        )
    return columns(rows)
