"""Command ``simulate``: the jobs of a workload under one way of sharing the GPU."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.files import replacing
from gpusched._support.text import clip, named
from gpusched.cli.answer_text import RULES, titled
from gpusched.cli.command_parts import Refusal, columns, drawable, status_of
from gpusched.cli.platform_options import (
    add_platform,
    add_workload,
    headline,
    program_of,
)
from gpusched.cli.way_options import add_way, asked_way, not_applicable
from gpusched.model.workload.time_units import time_with_unit

if TYPE_CHECKING:
    from gpusched.comparison.workload_run import WorkloadRun

_TRACES = (".trace.json", ".trace.json.gz")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    simulate = commands.add_parser(
        "simulate",
        help="simulate a workload under one way of sharing the GPU",
        description="Simulates periodic releases under one way of sharing the GPU. Prints for each "
        "task the number of jobs, the worst response and the number of late jobs, and the "
        "assumptions.",
        epilog="Exit code: 1 when a deadline was missed in a run that the program allows, 3 when "
        "none was (a simulation proves nothing) or the way does not apply, 2 for an error.",
    )
    add_workload(simulate)
    add_way(simulate)
    simulate.add_argument(
        "--until",
        metavar="TIME",
        help="simulate the jobs released before this time, such as 10s (default: ten "
        "hyperperiods, at most 10s)",
    )
    simulate.add_argument("--json", action="store_true", help="print one JSON document")
    simulate.add_argument(
        "--output",
        metavar="FILE",
        help="file for a picture of the beginning, whose suffix determines the format (.svg needs "
        "no Matplotlib), or NAME.trace.json for ui.perfetto.dev",
    )
    add_platform(simulate)
    simulate.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.comparison.documents import json_text, run_document
    from gpusched.comparison.observations import observe
    from gpusched.comparison.verdicts.premises import NotApplicable

    workload, platform = program_of(options)
    way, output = asked_way(options), options.output
    if output is not None:
        _check_output(output)
    try:
        found = observe(
            workload,
            platform,
            way,
            until=options.until,
            timeline=output is not None,
        )
    except NotApplicable as error:
        return not_applicable(options, "run", str(error))
    if output is not None:
        _draw(found, output)
    if options.json:
        print(json_text(run_document(found)), end="")
        return status_of(found.schedulable)
    released = time_with_unit(found.until, workload.tick_ns)
    late = int(found.late.sum())
    print(f"{headline(workload, platform)}\n")
    print(f"{found.label}: {len(found):,} jobs released before {released}, {late:,} late\n")
    print(f"{_table(found)}\n")
    print(found.why())
    if found.assumptions:
        print(titled("assumptions", found.assumptions))
    if found.rules:
        print(titled(RULES, tuple(map(str, found.rules))))
    if output is not None:
        print(f"\nwrote {named(output, 300)}")
    return status_of(found.schedulable)


def _table(found: WorkloadRun) -> str:
    from gpusched.comparison.workload_answer import known_at

    workload, worst, late = found.workload, found.worst, found.late_count
    jobs = np.bincount(found.task, minlength=len(workload))
    rows: list[Sequence[str]] = [("task", "jobs", "worst", "deadline", "late")]
    for i, task in enumerate(workload):
        took = known_at(worst, i)
        rows.append(
            (
                clip(task.name, 40),
                f"{int(jobs[i]):,}",
                "–" if took is None else time_with_unit(took, workload.tick_ns),
                time_with_unit(task.deadline, workload.tick_ns),
                f"{int(late[i]):,}",
            )
        )
    return columns(rows)


def _check_output(path: str) -> None:
    """Refuse a file that could not be written, before the simulation."""
    if not path.lower().endswith((*_TRACES, ".svg")):
        drawable(path)
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise Refusal(f"{path}: expected an existing folder")


def _draw(found: WorkloadRun, path: str) -> None:
    if path.lower().endswith(_TRACES):
        found.to_chrome_trace(path)
    elif path.lower().endswith(".svg"):
        with replacing(path, "w", encoding="utf-8") as file:
            file.write(found.to_svg())
    else:
        plot.save_figure(found.plot().figure, path)
