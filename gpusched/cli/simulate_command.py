"""Command ``simulate``: the jobs of a workload under one way of sharing the GPU."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from gpusched._support.files import replacing
from gpusched._support.registry import enumeration
from gpusched._support.text import clip, named, shown
from gpusched.cli.command_parts import (
    Refusal,
    drawable,
    natural,
    positive,
    real,
    status_of,
)
from gpusched.cli.program_parts import (
    RULES,
    add_platform,
    add_way,
    add_workload,
    asked_way,
    headline,
    not_applicable,
    program_of,
    titled,
)

if TYPE_CHECKING:
    from gpusched.comparison.run_stack import RunStack
    from gpusched.comparison.workload_run import WorkloadRun

_TRACES = (".trace.json", ".trace.json.gz")


def add_simulate(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Simulates a workload under one way of sharing the GPU: periodic releases and "
        "whole times, or, with --seed, drawn ones. Prints for each task the number of jobs, "
        "percentiles of the responses, the worst one and the number of late jobs, and the "
        "assumptions."
    )
    command.epilog = (
        "Exit code: 1 when a deadline was missed in a run that the program allows, 3 when "
        "none was (a simulation proves nothing) or the way does not apply, 2 for an error."
    )
    add_workload(command)
    add_way(command)
    command.add_argument(
        "--until",
        metavar="TIME",
        help="simulate the jobs released before this time, such as 10s (default: ten "
        "hyperperiods, at most 10s)",
    )
    command.add_argument(
        "--seed",
        type=natural,
        metavar="N",
        help="draw execution times, gaps and jitter (default: nothing is drawn)",
    )
    command.add_argument(
        "--index",
        type=natural,
        default=0,
        metavar="N",
        help="number of the (first) run of the seed",
    )
    command.add_argument(
        "--count", type=positive, metavar="N", help="simulate so many runs, from --index on"
    )
    command.add_argument(
        "--low",
        type=real,
        metavar="SHARE",
        help="least times, as a share of the whole ones (default: those that tasks state as best)",
    )
    command.add_argument(
        "--gap",
        type=real,
        default=0,
        metavar="SHARE",
        help="the most by which a period is longer, as a share of it (default: 0)",
    )
    command.add_argument(
        "--draw",
        choices=enumeration("simulate.machine_draw"),
        default="operation",
        help="what has a drawn time of its own (default: each operation)",
    )
    command.add_argument(
        "--percentiles",
        type=_percentiles,
        metavar="LIST",
        help="percentages of the jobs, such as 50,99.9 (default: 50,95,99)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.add_argument(
        "--output",
        metavar="FILE",
        help="file for a picture of the beginning, whose suffix determines the format (.svg needs "
        "no Matplotlib), or NAME.trace.json for ui.perfetto.dev",
    )
    command.add_argument(
        "--path",
        metavar="NAME",
        help="in the picture, outline and join the jobs behind the largest time of this path, and "
        "show its interval",
    )
    add_platform(command)
    command.set_defaults(run=_simulate)


def _simulate(options: argparse.Namespace) -> int:
    from gpusched.comparison.documents import json_text, run_document
    from gpusched.comparison.observations import observe
    from gpusched.comparison.response_table import PERCENTILES
    from gpusched.comparison.verdicts.premises import NotApplicable

    workload, platform = program_of(options)
    way, output = asked_way(options), options.output
    percentiles = options.percentiles or PERCENTILES
    if output is not None:
        if options.count is not None:
            raise Refusal("--output: expected one run, got --count")
        _check_output(output)
    if options.path is not None:
        if options.path not in [path.name for path in workload.paths]:
            known = ", ".join(clip(path.name, 60) for path in workload.paths[:10]) or "none"
            raise Refusal(f"--path: got {shown(options.path)}, expected one of {known}")
        if output is None or output.lower().endswith(_TRACES):
            raise Refusal("--path: expected a picture (--output); traces show all paths")
    asked: dict[str, Any] = {
        key: getattr(options, key) for key in ("until", "seed", "index", "low", "gap", "draw")
    }
    try:
        if options.count is not None:
            runs = observe(workload, platform, way, count=options.count, **asked)
            return _stack(runs, percentiles, as_json=options.json)
        found = observe(workload, platform, way, timeline=output is not None, **asked)
    except NotApplicable as error:
        return not_applicable(options, "run", str(error))
    if output is not None:
        _draw(found, output, options.path)
    if options.json:
        print(json_text(run_document(found, percentiles)), end="")
        return status_of(found.schedulable)
    late = int(found.late.sum())
    _print(found, f"{len(found):,} jobs", late, percentiles)
    print(found.why())
    if found.assumptions:
        print(titled("assumptions", found.assumptions))
    if found.rules:
        print(titled(RULES, tuple(map(str, found.rules))))
    if output is not None:
        print(f"\nwrote {named(output, 300)}")
    return status_of(found.schedulable)


def _stack(found: RunStack, percentiles: tuple[float, ...], *, as_json: bool) -> int:
    """Print a stack of runs; the verdict is that of the run with the largest response."""
    from gpusched.comparison.documents import json_text, stack_document

    late = int(found.late_count.sum())
    worst = found.worst_run if late else None
    status = status_of(None if worst is None else found[worst].schedulable)
    if as_json:
        print(json_text(stack_document(found, percentiles)), end="")
        return status
    jobs = int(found.job_count.sum())
    _print(found, f"{jobs:,} jobs in {len(found):,} runs", late, percentiles)
    print("\n".join([found.why(), *found.notes]))
    print(titled("assumptions", found.assumptions))
    return status


def _print(
    found: WorkloadRun | RunStack, jobs: str, late: int, percentiles: tuple[float, ...]
) -> None:
    from gpusched.model.workload.time_units import time_with_unit

    released = time_with_unit(found.until, found.workload.tick_ns)
    print(f"{headline(found.workload, found.platform)}\n")
    print(f"{found.label}: {jobs} released before {released}, {late:,} late\n")
    print(f"{found.responses_text(percentiles)}\n")


def _percentiles(text: str) -> tuple[float, ...]:
    found = tuple(float(part) for part in text.split(","))
    if not all(0 <= one <= 100 for one in found):
        raise argparse.ArgumentTypeError(f"got {text}, expected percentages of 0 to 100")
    return found


_percentiles.__name__ = "list of percentages"  # the name in messages of argparse


def _check_output(path: str) -> None:
    """Refuse a file that could not be written, before the simulation."""
    if not path.lower().endswith((*_TRACES, ".svg")):
        drawable(path)
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise Refusal(f"{path}: expected an existing folder")


def _draw(found: WorkloadRun, path: str, chain: str | None) -> None:
    if path.lower().endswith(_TRACES):
        found.to_chrome_trace(path)
    elif path.lower().endswith(".svg"):
        with replacing(path, "w", encoding="utf-8") as file:
            file.write(found.to_svg(path=chain))
    else:
        from gpusched._draw.axes import save_figure

        save_figure(found.plot(path=chain).figure, path)
