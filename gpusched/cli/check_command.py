"""Command ``check``: the test of one way of sharing the GPU, task by task."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gpusched._support.files import replacing
from gpusched._support.text import shown
from gpusched.cli.command_parts import Refusal, drawable, real, status_of
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
    verdict_line,
)

if TYPE_CHECKING:
    from gpusched.comparison.workload_answer import WorkloadAnswer
    from gpusched.model.workload.workloads import Workload


def add_check(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Runs the test of one way of sharing the GPU and prints its verdict, the "
        "response bound and the slack of each task, the reason and the assumptions."
    )
    command.epilog = (
        "Exit code: 0 when every deadline is guaranteed, 1 when a miss is shown or no way "
        "can meet the deadlines, 3 when undecided, guaranteed under conditions only, or not "
        "applicable, 2 for an error."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--margin",
        nargs="?",
        const="all",
        metavar="WHAT",
        help="also print how far times can grow while the test accepts: all, kernels, or the name "
        "of a task; or all of them while the path of this name is in time (without WHAT: all)",
    )
    command.add_argument(
        "--seconds",
        type=real,
        metavar="S",
        help="time limit, after which the answer is undecided (default: no limit)",
    )
    command.add_argument(
        "--output",
        metavar="FILE",
        help="also save the answer (.npz), the schedule of batches for programs that play it "
        "(.json, or .h for C), whatever the verdict, or a drawing of the links between the tasks "
        "(.svg, or with Matplotlib .png, .pdf and others)",
    )
    command.add_argument(
        "--graph",
        action="store_true",
        help="also print which tasks release (─>) and read (┄>) which; --output draws it",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    from gpusched._support.budget import Budget, BudgetSpent
    from gpusched.comparison.advice import Tried, advise
    from gpusched.comparison.analyses import Request, analyze, options_of, with_costs
    from gpusched.comparison.documents import answer_document, json_text
    from gpusched.comparison.margins import growing_times, margin
    from gpusched.comparison.verdicts.premises import NotApplicable
    from gpusched.model.workload.link_layout import lines_of

    workload, platform = program_of(options)
    way = asked_way(options)
    output = options.output
    saved = output is not None and output.endswith((".npz", ".json", ".h"))
    if output is not None and not saved and not output.lower().endswith(".svg"):
        _check_drawing(output)
    if options.graph and options.json:
        raise Refusal("--graph: expected text, got --json; --output draws the links")
    what, of = options.margin, "all"
    if what in [path.name for path in workload.paths] and what not in workload:
        what, of = "all", what
    if what is not None:
        growing_times(workload, what)  # refuses unknown tasks before the test runs
    workload.kernel_times(platform)  # refuses kernels that the GPU cannot run
    budget = None if options.seconds is None else Budget(seconds=options.seconds)
    try:
        answer = analyze(workload, platform, way, budget=budget)
    except NotApplicable as error:
        return not_applicable(options, "answer", str(error))
    except BudgetSpent as error:
        return not_applicable(options, "answer", str(error), "undecided")
    if saved:
        _save(answer, output)
    elif output is not None:
        _draw(workload, output)
    if options.json:
        room = None
        if what is not None:
            room = margin(workload, platform, way, what, of=of)
        print(json_text(answer_document(answer, room)), end="")
        return status_of(answer.schedulable)
    print(f"{headline(workload, platform)}\n")
    if options.graph:
        print("\n".join(lines_of(workload._parts())) + "\n")
    print(f"{verdict_line(answer)}\n")
    print(f"{response_table(answer)}\n\n{answer.why()}")
    for path in answer.paths:
        print(f"path {path.why()}")
    if answer.verdict == "undecided":
        tried = Tried(workload, with_costs(platform, way), way, Request(options_of(way)), True)
        if (advice := advise([tried])) is not None:
            print(advice)
    print(stated(answer))
    if what is not None:  # it may take a while
        sys.stdout.flush()
        room = margin(workload, platform, way, what, of=of)
        print(f"\nmargin: {room}")
    return status_of(answer.schedulable)


def _check_drawing(path: str) -> None:
    """Refuse an ending that no format has."""
    try:
        drawable(path)
    except Refusal as error:
        others = "answers are saved in .npz, schedules in .json and .h"
        raise Refusal(f"--output: {error}; {others}") from None


def _draw(workload: Workload, path: str) -> None:
    """Draw the links between the tasks."""
    if path.lower().endswith(".svg"):
        with replacing(path, "w", encoding="utf-8") as file:
            file.write(workload.to_svg())
    else:
        from gpusched._draw.axes import save_figure

        save_figure(workload.plot().figure, path)


def _save(answer: WorkloadAnswer, path: str) -> None:
    """Save an answer, or its schedule with the length of a tick."""
    from gpusched.comparison.workload_answer import finer_tick

    if path.endswith(".npz"):
        answer.save(path)
        return
    if answer.schedule is None:
        raise Refusal(
            f"--output: got {shown(path)}, expected a name in .npz: no schedule was found"
        )
    tick = finer_tick(answer.workload, answer.grain)
    if not isinstance(tick, int):
        raise Refusal(f"--output: got ticks of {tick} ns, expected times that are whole ns")
    schedule = answer.schedule.with_tick(tick)
    if path.endswith(".h"):
        schedule.save_header(path)
    else:
        schedule.save(path)
