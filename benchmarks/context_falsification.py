"""Search for responses above bounds, a context per task; results/context_falsification.txt.

The sets of host_falsification.py are simulated under time slices (both orders of the ring) and
under GCAPS (half of the stacks with GPU priorities of their own, a quarter with updates that stop
the GPU, three quarters with switches), with its release patterns, and then by hill climbing: for
each set one task is chosen, and offsets are changed one at a time as long as its response does not
fall, with sporadic gaps and shorter executions in a part of the climbs. Each largest response of an
accepted set is compared with the joint bounds, the smallest ones that the tests give. For the
printed tests, the table says how often they are wrong. The tests run a hundredth of this.

    python benchmarks/context_falsification.py [--sets 12000] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from host_falsification import SETS, Pattern, Row, patterns, random_system
from machine import describe

import gpusched as gs

CLIMBS, STEPS = 2, 40  # per stack and way of sharing
TRIGGERS = ("release", "request", "resume", "end")
SHARES = ((1, 1, 1, 1, 0, 1), (1, 1, 1, 1, 0, 1), (1, 1, 1, 1, 1, 5), (1, 2, 1, 1, 0, 1))


@dataclass
class Case:
    """A stack of sets with the options of both ways of sharing."""

    hosts: gs.HostTasks
    cpus: int
    sms: int
    timeslice: int
    context_switch: int
    ring: str
    update_cost: int
    stall: bool
    gpu_priority: np.ndarray | None

    def options(self, way: str) -> dict[str, Any]:
        costs: dict[str, Any] = {"context_switch": self.context_switch}
        if way == "time_slices":
            return costs | {"timeslice": self.timeslice}
        costs |= {"update_cost": self.update_cost, "stall": self.stall}
        return costs | {"gpu_priority": self.gpu_priority}

    def test(self, way: str, mode: str, **more: Any) -> Any:
        function = getattr(gs.analysis, way)
        options = self.options(way) | more
        if way == "gcaps" and more.get("variant") == "paper":
            del options["context_switch"]  # its equations have none
        return function(self.hosts, self.cpus, self.sms, mode=mode, **options)


def merged_orders(rng: np.random.Generator, hosts: gs.HostTasks) -> np.ndarray:
    """GPU priorities that keep the order of each core: the cores' orders, merged at random."""
    levels = np.zeros(hosts.priority.shape, np.int64)
    for level, priority, core in zip(levels, hosts.priority, hosts.core, strict=True):
        on = rng.permutation(core)  # the core whose next task takes each level
        for c in np.unique(core):
            own = np.flatnonzero(core == c)
            level[own[np.argsort(priority[own])]] = np.flatnonzero(on == c)
    return levels


def random_case(rng: np.random.Generator, count: int) -> Case:
    system = random_system(rng, count)
    return Case(
        system.hosts,
        system.cpus,
        system.sms,
        timeslice=int(rng.integers(1, 9)),
        context_switch=int(rng.choice([0, 1, 2, 5])),
        ring=str(rng.choice(["fifo", "cyclic"])),
        update_cost=int(rng.integers(0, 3)),
        stall=bool(rng.random() < 0.25),
        gpu_priority=merged_orders(rng, system.hosts) if rng.random() < 0.5 else None,
    )


class Simulator:
    """Responses of a case under one way of sharing, the largest ones, and counts."""

    def __init__(self, case: Case, name: str, mode: str) -> None:
        ring = {"ring": case.ring} if name == "time_slices" else {}
        self.case = case
        self.way = gs.ways.as_way(name, mode=mode, **case.options(name), **ring)
        self.seen = np.zeros(case.hosts.period.shape, np.int64)
        self.runs = self.jobs = 0

    def responses(self, pattern: Pattern, seed: int) -> np.ndarray:
        pairs = zip(pattern.shares[::2], pattern.shares[1::2], strict=True)
        low, high, gap = (over / under for over, under in pairs)
        triggers = [name for bit, name in enumerate(TRIGGERS) if pattern.triggers >> bit & 1]
        found = gs.simulate.host_responses(
            self.case.hosts.replace(offset=pattern.offset),
            self.case.cpus,
            self.way,
            sms=self.case.sms,
            execution=(low, high),
            releases=gap,
            victim=gs.simulate.Victim(pattern.victim, *(triggers or TRIGGERS)),
            until=5 * self.case.hosts.period.max(axis=1),
            seed=seed,
        )
        self.runs += len(pattern.offset)
        self.jobs += int(found.finished.sum())
        np.maximum(self.seen, found.worst, out=self.seen)
        return found.worst


def climb(rng: np.random.Generator, simulator: Simulator) -> None:
    """Changes the offset of a task as long as the response of the chosen one does not fall."""
    period = simulator.case.hosts.period
    count, n = period.shape
    rows, none = np.arange(count), np.full(count, -1)
    target = rng.integers(0, n, count)
    offset = rng.integers(0, period + 1)
    shares, seed = SHARES[rng.integers(len(SHARES))], int(rng.integers(2**62))
    best = simulator.responses(Pattern(offset, none, 0, shares), seed)[rows, target]
    for _ in range(STEPS):
        changed, task = offset.copy(), rng.integers(0, n, count)
        near = changed[rows, task] + rng.integers(-3, 4, count)
        far = rng.integers(0, period[rows, task] + 1)
        changed[rows, task] = np.where(rng.random(count) < 0.6, np.maximum(near, 0), far)
        found = simulator.responses(Pattern(changed, none, 0, shares), seed)[rows, target]
        better = found >= best
        offset[better], best = changed[better], np.maximum(best, found)


WAYS = [(way, mode) for way in ("time_slices", "gcaps") for mode in ("suspend", "busy")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    began = time.perf_counter()
    sets = runs = jobs = 0
    rows = {f"{way} {mode}": Row() for way, mode in WAYS}
    rows |= {f"{name}, printed": Row() for name in list(rows)}
    while sets < args.sets:
        count = min(SETS, max(1, args.sets // 20), args.sets - sets)
        case = random_case(rng, count)
        sets += count
        for way, mode in WAYS:
            simulator = Simulator(case, way, mode)
            system: Any = case  # it has the hosts that the patterns are for
            for pattern in patterns(rng, system):
                simulator.responses(pattern, int(rng.integers(2**62)))
            for _ in range(CLIMBS):
                climb(rng, simulator)
            runs, jobs = runs + simulator.runs, jobs + simulator.jobs
            verdict, name = case.test(way, mode), f"{way} {mode}"
            above = rows[name].add(simulator.seen, verdict, case.hosts.deadline)
            if above.any():
                k = int(np.argmax(above))
                raise SystemExit(
                    f"{name}: observed {simulator.seen[k]} above {verdict.response[k]}, set "
                    f"{sets - count + k} of seed {args.seed}, {case.options(way)}, "
                    f"{case.ring}: {case.hosts[k]!r}"
                )
            if way == "time_slices" or not (case.stall or case.context_switch):
                printed = case.test(way, mode, variant="paper")
                rows[f"{name}, printed"].add(simulator.seen, printed, case.hosts.deadline)
    seconds = time.perf_counter() - began
    lines = [
        f"Falsification of the tests with a context per task, seed {args.seed}, {describe()}",
        f"{sets} sets, {runs} simulated set-patterns, {jobs} jobs, {seconds:.0f} s on one core:",
        "no response above a sound bound",
        "",
        f"{'':30s} {'sets':>9s} {'sets':>7s} {'sets':>7s} {'tasks':>9s}  observed/bound",
        f"{'test':30s} {'accepted':>9s} {'above':>7s} {'late':>7s} {'compared':>9s}  largest, mean",
    ]
    lines += [row.line(f"{name:30s}") for name, row in rows.items()]
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "context_falsification.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
