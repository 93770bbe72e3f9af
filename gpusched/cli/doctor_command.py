"""Command ``doctor``: which conditions of a way of sharing the GPU hold on this machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from gpusched.cli.program_parts import (
    add_platform,
    add_way,
    add_workload,
    asked_way,
    platform_of,
    program_of,
)
from gpusched.cli.recipe_command import cores_of

if TYPE_CHECKING:
    from gpusched.deploy.machine_checks import Wanted


def add_doctor(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Reads settings and processes of this machine, without changing any, and says "
        "of each condition of the way whether it holds. With a program, its priorities, cores and "
        "channels count."
    )
    command.epilog = (
        "Exit code: 0 when all conditions hold, 1 when one does not, 3 when some are not "
        "visible here, 2 for an error."
    )
    add_workload(command, optional=True)
    add_way(command)
    command.add_argument("--cores", metavar="N,...", help="as in 'recipe'")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.add_argument("--root", default="/", help=argparse.SUPPRESS)  # of proc and sys
    add_platform(command)
    command.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from gpusched._version import __version__
    from gpusched.comparison.documents import json_text
    from gpusched.deploy.machine_checks import Wanted, examined, status_of_checks

    way = asked_way(options)
    wanted = Wanted() if options.file is None else _wanted(options)
    platform = platform_of(options)
    found = examined(way, platform.gpu, wanted, root=options.root)
    if options.json:
        document = {
            "format": "gpusched doctor",
            "version": 1,
            "gpusched": __version__,
            "way": way.name,
            "checks": [asdict(check) for check in found],
        }
        print(json_text(document), end="")
    else:
        for check in found:
            print(f"{check.result:16}  {check.condition}\n{'':16}  {check.seen}")
    return status_of_checks(found)


def _wanted(options: argparse.Namespace) -> Wanted:
    """Needs of the program of the file."""
    from gpusched.comparison.analyses import analyze
    from gpusched.comparison.deployments import deployment_of
    from gpusched.deploy.machine_checks import Wanted

    workload, platform = program_of(options)
    answer = analyze(workload, platform, asked_way(options))
    plan = deployment_of(answer, cores_of(options.cores), anyway=True)
    tops = [max(place.fifo, place.ceiling) for place in plan.places]
    cores = {place.core for place in plan.places}
    if plan.played:
        tops.append(plan.dispatcher)
    if plan.is_served:
        tops.append(max(tops) + 1)
    if plan.spare is not None:
        cores.add(plan.spare)
    return Wanted(max(tops), tuple(sorted(cores)), plan.connections)
