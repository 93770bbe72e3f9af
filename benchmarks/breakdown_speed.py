"""Tests and time of a breakdown factor, and of an assignment; results/breakdown_speed.txt.

Stacks of the sets of [RTCSA19] with times of six and of nine digits, placed by worst fit, under
each test: tests per set, and the time of `breakdown` and `assign_priorities` in multiples of the
time of one run of the test on the same sets. About a minute of one core.

    python benchmarks/breakdown_speed.py [--sets 500] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import describe

import gpusched as gs

CPUS = 4
TESTS: list[tuple[str, dict[str, Any]]] = [
    ("stgm", {"mode": "suspend"}),
    ("stgm", {"mode": "busy"}),
    ("mpcp", {"mode": "suspend"}),
    ("fmlp_plus", {"mode": "busy"}),
    ("gpu_server", {"server_overhead": 1}),
    ("time_slices", {"mode": "suspend"}),
    ("time_slices", {"mode": "busy"}),
    ("gcaps", {"mode": "suspend"}),
    ("gcaps", {"mode": "busy"}),
]


def timed(call: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    began = time.process_time()
    found = call(*arguments, **options)
    return time.process_time() - began, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    lines = [
        f"Breakdown factors and priorities, {args.sets} sets of 8 tasks, {describe()}",
        f"{'':<20}{'longest':>10}{'accepted':>9}{'tests of a factor':>18}{'time':>8}"
        f"{'accepted with':>15}{'time':>8}",
        f"{'test':<20}{'period':>10}{'':>9}{'mean, most':>18}{'/ test':>8}"
        f"{'priorities':>15}{'/ test':>8}",
    ]
    drawn = gs.generate.stgm(8, args.sets, seed=args.seed, cpus=CPUS, utilization=(0.2, 0.4))
    for unit in (1, 1000):
        jobs = ("period", "deadline", "cpu", "copy_in", "copy_out", "kernel")
        hosts = drawn.replace(**{name: getattr(drawn, name) * unit for name in jobs})
        hosts = gs.analysis.partition(hosts, CPUS).hosts
        whole = hosts.with_placement(sm=[[[True] * 13] * hosts.n] * len(hosts))
        for test, options in TESTS:
            asked = {**options, "cpus": CPUS}
            asked |= (
                {"timeslice": 2000 * unit, "context_switch": 10} if test == "time_slices" else {}
            )
            asked |= {"update_cost": 10} if test == "gcaps" else {}
            tasks = whole if test == "stgm" else hosts
            once, verdict = timed(getattr(gs.analysis, test), tasks, **asked)
            search, found = timed(gs.analysis.breakdown, tasks, test, **asked)
            order, chosen = timed(gs.analysis.assign_priorities, tasks, test, budget=1000, **asked)
            lines.append(
                f"{test + ' ' + options.get('mode', ''):<20}{hosts.period.max():>10}"
                f"{verdict.accepted.mean():>9.2f}{found.tests.mean():>12.1f}"
                f"{found.tests.max():>6}{search / once:>8.1f}"
                f"{chosen.accepted.mean():>15.2f}{order / once:>8.1f}"
            )
    text = "\n".join(lines)
    print(text)
    if args.save:
        (Path(__file__).parent / "results" / "breakdown_speed.txt").write_text(text + "\n")


if __name__ == "__main__":
    main()
