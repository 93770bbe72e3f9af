"""Bounds of `gs.compare` attacked by many runs of the machine in C; results/bounds_attack.txt.

As `verdict_attack`, with the machine of the package in place of that of the tests, which plays the
same runs (tests/simulate/test_machine.py) some hundred times as fast. Each bounded task of a row
whose bounds hold without conditions is attacked: random first releases, gaps, jitter, times and
ties; half of the runs change the first releases of the one that came closest to a bound. Rows of
pbs hold for the stated releases, and edf_parallel for the stated times, too. Every second program
has launches with costs, in forms by task; every third one release jitter. With ``--whole`` the
bounds are those of the holistic test, also where another test of the way gives a guarantee.

    python benchmarks/bounds_attack.py [--count 300] [--runs 200] [--first 0] [--kind NAME ...]
        [--ways NAME ...] [--whole] [--save]
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attack_programs import KINDS, Case, attack_program, delayed, launched
from machine import describe
from verdict_attack import (
    IN_CHANNELS,
    MORE,
    PLANNED,
    STATED,
    Played,
    finer,
    length,
    played_of,
    program,
    whole_blocks,
)

import gpusched as gs
from gpusched.comparison.analyses import Request, analyzed, options_of
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.comparison.whole_programs import WHOLE_PROGRAMS
from gpusched.simulate.machine_run import MachineModel, run_machine
from gpusched.ways import WAYS
from gpusched.ways.way import Way, as_way

LOWS = ((0, 1), (1, 2), (9, 10), (1, 1))
GAPS = ((0, 1), (0, 1), (1, 10), (1, 1))


@dataclass
class Counts:
    """Of a way: rows and bounds attacked, runs, jobs, bounds reached, and alarms."""

    rows: int = 0
    bounds: int = 0
    runs: int = 0
    jobs: int = 0
    reached: int = 0
    alarms: int = 0


def model_of(played: Played, until: int) -> MachineModel:
    """The machine of a way with the choices of an answer."""
    options = dict(played.options)
    if played.way in PLANNED:
        options["table"] = [(start, kernels) for start, _, kernels in options["table"]]
        options |= {"repeat": until + 1, "channels": 0}
    models = DerivedModels(played.workload, played.platform)
    return machine_model(models, played.way, until=until, **options)


def varied(model: MachineModel, rng: Random, way: str, offset: np.ndarray) -> MachineModel:
    """The machine with other first releases, gaps, times and ties."""
    columns, numbers = dict(model.columns), dict(model.numbers)
    low = (1, 1) if way == "edf_parallel" else rng.choice(LOWS)
    gap = (0, 1) if way in STATED else rng.choice(GAPS)
    whole = np.asarray(columns["item_time"])
    columns["item_least"] = np.maximum(-(-whole * low[0] // low[1]), 1)
    columns["gap"] = np.array(gap, np.int64)
    columns["offset"] = offset
    numbers["draw"] = rng.randrange(2)
    numbers["drawn_ties"] = rng.randrange(2)
    numbers["victim"] = rng.randrange(-1, len(offset))
    if way in IN_CHANNELS:
        numbers["until_end"] = rng.randrange(2)
    return replace(model, columns=columns, numbers=numbers)


@dataclass(frozen=True)
class Whole:
    """The answer of the holistic test for a way, as a row of a comparison."""

    way: Way
    answer: gs.WorkloadAnswer
    platform: gs.Platform

    @property
    def label(self) -> str:
        return str(self.way)

    @property
    def options(self) -> Any:
        return self.answer.options


def of_whole_programs(case: Case, asked: list[Any]) -> list[Whole]:
    """The answers of the holistic test, for the ways that have it and where it applies."""
    found = []
    for way in map(as_way, asked):
        if way.name not in WHOLE_PROGRAMS:
            continue
        ways = [way] if way.given else [way.replace(mode=mode) for mode in way.modes] or [way]
        if way.name == "gcaps" and case[1].update_cost:
            ways += [one.replace(stall=True) for one in ways]
        for one in ways:
            request = Request(options_of(one), own=False, reasons=False)
            with suppress(ValueError):
                found.append(Whole(one, analyzed(DerivedModels(*case), one, request), case[1]))
    return found


def rows_of(case: Case, asked: list[Any], whole: bool) -> Any:
    """The rows of a comparison, or of the holistic test alone."""
    if whole:
        return of_whole_programs(case, asked)
    return gs.compare(*case, ways=asked, progress=False)


def attack(case: Case, row: Any, runs: int, rng: Random, count: Counts) -> str:
    """The source of a run that exceeds a bound, "" without one."""
    w = case[0]
    played = played_of(row, *case)
    if played is None:
        return ""
    until = length(w)
    model = model_of(played, until)
    bound = np.where(row.answer.bounded, np.ma.filled(row.answer.response, 2**60), 2**60)
    stated = np.array([task.offset for task in w], np.int64)
    best, most = stated, -1.0
    count.rows += 1
    count.bounds += int((bound < 2**60).sum())
    reached = np.zeros(len(w), np.bool_)
    for k in range(runs):
        offset = stated
        if row.way.name not in PLANNED and k % 2:
            offset = best.copy()
            i = rng.randrange(len(w))
            offset[i] = max(0, offset[i] + rng.choice((-1, 1, rng.randint(-w[i].period, 5))))
        elif row.way.name not in PLANNED and k > 0:
            offset = np.array([rng.randrange(task.period) for task in w], np.int64)
        one = varied(model, rng, row.way.name, offset)
        run = run_machine(one, log=(), seed=k, progress=False)
        count.runs += 1
        count.jobs += int(run.released.sum())
        reached |= run.worst == bound
        if (run.worst > bound).any():
            count.alarms += 1
            late = np.flatnonzero(run.worst > bound).tolist()
            said = f"# {row.label}: run {k}, offsets {offset.tolist()}, tasks {late}: "
            said += f"{run.worst[late].tolist()} above {bound[late].tolist()}\n"
            return said + "\n".join(program(*case))
        ratio = float((run.worst / bound).max())
        if ratio >= most:
            best, most = offset, ratio
    count.reached += int(reached.sum())
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="of programs, over all kinds")
    parser.add_argument("--runs", type=int, default=200, help="of each row")
    parser.add_argument("--first", type=int, default=0, help="number of the first of each kind")
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--ways", nargs="+", choices=[way.name for way in WAYS])
    parser.add_argument("--whole", action="store_true", help="the holistic test alone")
    parser.add_argument("--save", action="store_true", help="keep the lines in results/")
    args = parser.parse_args()
    began = time.perf_counter()
    names = args.ways or [way.name for way in WAYS]
    asked = [form for name in names for form in (name, *MORE.get(name, ()))]
    counts: dict[str, Counts] = defaultdict(Counts)
    alarms = []
    for number in range(args.count):
        kind, index = args.kind[number % len(args.kind)], args.first + number // len(args.kind)
        try:
            case = attack_program(kind, index)
            if index % 2:
                case = launched(case, Random(f"launches {kind} {index}"))
            if index % 3 == 0:
                case = delayed(case, Random(f"jitter {kind} {index}"))
            case = whole_blocks(case)
        except ValueError:
            continue
        found = rows_of(case, asked, args.whole)
        grain = math.lcm(*(row.answer.grain for row in found if row.answer is not None))
        if grain > 1:
            case = finer(case, grain)
            found = rows_of(case, asked, args.whole)
        for row in found:
            if row.answer is None or row.answer.conditions or not row.answer.bounded.any():
                continue
            rng = Random(f"{kind} {index} {row.label}")
            if text := attack(case, row, args.runs, rng, counts[row.label]):
                alarms.append(f"{kind} {index}\n{text}")
    lines = [
        f"Attack on bounds, programs {args.first} and on of {len(args.kind)} kinds, {describe()}",
        f"{args.count} programs, {sum(c.runs for c in counts.values()):,} runs with "
        f"{sum(c.jobs for c in counts.values()):,} jobs, {time.perf_counter() - began:.0f} s, "
        f"{len(alarms)} alarms",
        f"{'way':32}{'rows':>7}{'bounds':>8}{'runs':>11}{'jobs':>14}{'reached':>9}{'alarms':>8}",
    ]
    lines += [
        f"{label:32}{c.rows:>7,}{c.bounds:>8,}{c.runs:>11,}{c.jobs:>14,}{c.reached:>9,}{c.alarms:>8}"
        for label, c in counts.items()
    ]
    print("\n".join(lines + alarms))
    if args.save:
        path = Path(__file__).parent / "results" / "bounds_attack.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if alarms:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
