"""Command ``execute``: a program run for real under a way of sharing the GPU, on a stand-in."""

from __future__ import annotations

import argparse

from gpusched.cli.command_parts import natural
from gpusched.cli.kept_command import report
from gpusched.cli.program_parts import (
    add_platform,
    add_way,
    add_workload,
    asked_way,
    headline,
    not_applicable,
    program_of,
)
from gpusched.cli.recipe_command import cores_of


def add_execute(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Runs a program for real: a thread for each task, with its CPU, its priority, "
        "its releases and its CPU work, the locks, the server or the player of the runtime "
        "library, and a stand-in for the GPU in real time. Prints whether the run kept the answer."
    )
    command.epilog = (
        "Exit code: 0 when all was kept, 1 when a bound was exceeded although no "
        "condition that a log shows was broken, 3 when a condition was broken or the way does not "
        "apply, 2 for an error."
    )
    add_workload(command)
    add_way(command)
    length = command.add_mutually_exclusive_group()
    length.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="jobs of the task with the longest period (default: 10)",
    )
    length.add_argument(
        "--until", metavar="TIME", help="end of the releases, such as 2s, in place of --jobs"
    )
    command.add_argument(
        "--stretch",
        metavar="N",
        type=int,
        default=1,
        help="all times are N times as long, which hides what this machine adds (default: 1)",
    )
    command.add_argument(
        "--cores",
        metavar="N,...",
        help="CPUs of this machine for the cores of the answer, and one more for a server or a "
        "dispatcher (default: those that may be used)",
    )
    command.add_argument(
        "--tolerance",
        metavar="TIME",
        help="time that is allowed on top of every limit (default: the delay of a thread that only "
        "slept, and 1ms)",
    )
    command.add_argument(
        "--seed",
        type=natural,
        default=0,
        metavar="N",
        help="seed of the delays of releases, up to the jitter of tasks (default: 0)",
    )
    command.add_argument("--log", metavar="FILE", help="also write the log, for 'kept'")
    command.add_argument("--trace", metavar="FILE", help="also write the log for Perfetto")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    add_platform(command)
    command.set_defaults(run=_execute)


def _execute(options: argparse.Namespace) -> int:
    from gpusched.comparison.verdicts.premises import NotApplicable
    from gpusched.rt.real_runs import execute

    workload, platform = program_of(options)
    try:
        made = execute(
            workload,
            platform,
            asked_way(options),
            jobs=options.jobs,
            until=options.until,
            stretch=options.stretch,
            cores=cores_of(options.cores),
            seed=options.seed,
        )
    except NotApplicable as error:
        return not_applicable(options, "run", str(error))
    if options.log is not None:
        made.log.save(options.log)
    if options.trace is not None:
        made.log.to_chrome_trace(options.trace)
    if not options.json:
        print(f"{headline(workload, platform)}\n\n{made.how}\n")
    return report(made.kept(tolerance=options.tolerance), json=options.json)
