"""Command ``kept``: the log of a run against an answer or a schedule."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched.cli.command_parts import Refusal, columns, duration

if TYPE_CHECKING:
    from gpusched.rt.kept_answer import Kept

_STATUS = {"kept": 0, "bound exceeded": 1, "condition broken": 3}


def add_kept(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Compares a log that a program wrote with the runtime library with an answer "
        "('check --output answer.npz') or a schedule ('check --output schedule.json'): responses, "
        "releases, times of segments, order of the lock, batches."
    )
    command.epilog = (
        "Exit code: 0 when all was kept, 1 when a bound was exceeded although no "
        "condition that a log shows was broken, 3 when a condition was broken, 2 for an error."
    )
    command.add_argument("answer", metavar="ANSWER", help="an answer (.npz) or a schedule (.json)")
    command.add_argument("log", metavar="LOG", help="the log of the run")
    command.add_argument(
        "--tolerance",
        metavar="TIME",
        default="0ns",
        help="time that is allowed on top of every limit, such as 50us (default: 0ns)",
    )
    command.add_argument("--trace", metavar="FILE", help="also write the log for Perfetto")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=_kept)


def _kept(options: argparse.Namespace) -> int:
    from gpusched.comparison.workload_answer import WorkloadAnswer
    from gpusched.io.run_log import read_run_log
    from gpusched.model.schedule import Schedule
    from gpusched.model.workload.time_units import as_time, in_ticks
    from gpusched.rt.kept_answer import kept

    try:
        tolerance = in_ticks(as_time(options.tolerance, "--tolerance", 0), None, 1, "--tolerance")
    except ValueError as error:
        raise Refusal(str(error)) from None
    answer: WorkloadAnswer | Schedule
    if options.answer.endswith(".json"):
        answer = Schedule.load(options.answer)
    else:
        answer = WorkloadAnswer.load(options.answer)
    log = read_run_log(options.log)
    found = kept(answer, log, tolerance=tolerance)
    if options.trace is not None:
        log.to_chrome_trace(options.trace)
    return report(found, json=options.json)


def report(found: Kept, *, json: bool) -> int:
    """Print a verdict, as text or one JSON document; the exit code."""
    from gpusched.comparison.documents import json_text

    if json:
        document = {
            "verdict": found.verdict,
            "label": found.label,
            "lost": found.lost,
            "tolerance": found.tolerance,
            "tasks": [
                {"task": name, "jobs": jobs, "response": response, "bound": bound}
                for name, jobs, response, bound in _rows(found)
            ],
            "paths": [
                {"path": name, "kind": kind, "times": times, "largest": largest, "bound": bound}
                for name, kind, times, largest, bound in _paths(found)
            ],
            "findings": [vars(finding) for finding in (*found.broken, *found.exceeded)],
        }
        print(json_text(document), end="")
        return _STATUS[found.verdict]
    rows: list[Sequence[str]] = [("task", "jobs", "response", "bound")]
    rows += [
        (name, str(jobs), *("-" if t is None else duration(t) for t in (response, bound)))
        for name, jobs, response, bound in _rows(found)
    ]
    parts = [str(found), columns(rows)]
    if found.paths:
        through: list[Sequence[str]] = [("path", "kind", "times", "largest", "bound")]
        through += [
            (name, kind, str(times), *("-" if t is None else duration(t) for t in (largest, bound)))
            for name, kind, times, largest, bound in _paths(found)
        ]
        parts.append(columns(through))
    print("\n\n".join(parts))
    return _STATUS[found.verdict]


def _rows(found: Kept) -> list[tuple[str, int, int | None, int | None]]:
    table = found._table()
    return list(
        zip(
            found.name,
            found.jobs.tolist(),
            table["response"].tolist(),
            table["bound"].tolist(),
            strict=True,
        )
    )


def _paths(found: Kept) -> list[tuple[str, str, int, int | None, int | None]]:
    return [
        (run.path.name, run.path.kind, len(run), run.largest, None if bound < 0 else bound)
        for run, bound in zip(found.paths, found.path_bound.tolist(), strict=True)
    ]
