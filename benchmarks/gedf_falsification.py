"""Search for responses above the bounds of global EDF; results/gedf_falsification.txt.

Small random sets (2 to 8 tasks on 1 to 3 CPUs, times of a few ticks, so that equal instants are
common; up to two GPU segments a job, copies and kernels of length 0; deadlines that are the periods
or shorter) are simulated with the GPU behind FMLP-Long, OMLP and in the container of
[RTNS10], whose server idles during kernels (busy) or not (suspend), with the release patterns
of host_falsification.py. Each largest response of a set that a test accepts is compared with the
test's bound: the Shared Resource Method with both locks (OMLP as corrected, and as printed), the
Container Method with whole_budget, half of the server periods such that w P is whole without it,
and, without a GPU, the bounds for global EDF alone. Both kinds of tardiness bounds are looked at
apart, too. The tests run a hundredth of this.

    python benchmarks/gedf_falsification.py [--sets 200000] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from host_falsification import NEVER, SETS, Pattern, Row, patterns
from machine import describe

import gpusched as gs
from gpusched import _core

# Periods with small common multiples: w P can be whole for server periods that are not long.
PERIODS = np.array([6, 8, 10, 12, 15, 16, 20, 24, 30, 40, 48, 60, 80, 120])


@dataclass
class System:
    """A stack of sets, and a server period for each."""

    hosts: gs.HostTasks
    cpus: int
    server_period: np.ndarray


def random_system(rng: np.random.Generator, count: int, gpu: bool = True) -> System:
    """Sets of one size; about half of them pass a test."""
    cpus = int(rng.integers(1, 4))
    n = int(rng.integers(2, 9))
    shape = (count, n)
    share = rng.choice([0.3, 0.6, 1.0])
    segments = rng.choice([1, 2], shape, p=[0.75, 0.25]) * (rng.random(shape) < share) * gpu
    j = np.arange(3)
    # A set's load is its own, so that what the tests charge for waiting fits in some of them.
    period = rng.choice(PERIODS, shape)
    size = np.maximum(1, period * rng.uniform(0.02, 0.9, (count, 1)) * rng.uniform(0.1, 1, shape))
    parts = rng.random((*shape, 9)) * (rng.random((*shape, 9)) < 0.7)
    parts[..., :3] *= j <= segments[..., None]
    on = j[:2] < segments[..., None]
    parts[..., 3:] *= np.concatenate([on, on, on], axis=-1)
    parts[..., 3:] *= rng.choice([0.3, 1.0, 3.0])
    parts[..., 0] += parts.sum(-1) == 0
    ticks = np.rint(parts * (size / parts.sum(-1))[..., None]).astype(np.int64)
    ticks[..., 0] += ticks.sum(-1) == 0
    work = ticks.sum(-1)
    deadline = period.copy()
    if rng.random() < 0.3:
        tight = rng.random(shape) < 0.5
        deadline[tight] = rng.integers(np.minimum(work, period), period + 1)[tight]
    hosts = gs.HostTasks(
        period,
        ticks[..., :3],
        ticks[..., 3:5],
        ticks[..., 5:7, None],
        ticks[..., 7:9],
        deadline=np.maximum(deadline, 1),
        priority=rng.integers(0, 3, shape),
        segments=segments,
    )
    # Small multiples of the least server period for which w P is whole, and any server periods.
    common = np.lcm.reduce(np.where(segments > 0, period, 1), axis=1)
    needed = np.where(segments > 0, work * (common[:, None] // period), 0).sum(1)
    least = common // np.gcd(common, needed)
    whole = least * rng.integers(1, 4, count)
    return System(hosts, cpus, np.where(rng.random(count) < 0.5, whole, rng.integers(1, 60, count)))


# How the GPU is shared, and what tasks do on their CPU meanwhile (a mode of the core).
SEMANTICS = {
    "FMLP": ("fmlp", 0),
    "OMLP": ("omlp", 0),
    "container, suspend": ("container", 0),
    "container, busy": ("container", 1),
}


def responses(system: System, name: str, pattern: Pattern, seed: int) -> tuple[np.ndarray, int]:
    """The largest response of each task, and how many jobs there were."""
    way, mode = SEMANTICS[name]
    hosts = system.hosts
    worst, finished, _, _ = _core.host_responses(
        hosts._columns(),
        pattern.offset,
        None,
        None,
        cpus=system.cpus,
        sms=1,
        policy=1,
        way=way,
        mode=mode,
        server=system.server_period,
        overhead=0,
        shares=np.array(pattern.shares, np.int64),
        until=np.minimum(5 * np.maximum(hosts.period.max(axis=1), system.server_period), 3000),
        victim=pattern.victim,
        triggers=pattern.triggers,
        key=np.random.SeedSequence(seed).generate_state(4, np.uint64),
        first=0,
        states=0,
        bytes=0,
        seconds=0.0,
        stop=NEVER,
    )
    return worst, int(finished.sum())


Test = Callable[[System], Any]


def srm(lock: Any, variant: Any = "sound", method: Any = "best") -> Test:
    return lambda s: gs.analysis.srm(s.hosts, s.cpus, lock=lock, variant=variant, method=method)


def container(system: System) -> Any:
    return gs.analysis.container(
        system.hosts, system.cpus, server_period=system.server_period, whole_budget=True
    )


# Name of a row, the simulated semantics, the test.
SOUND: tuple[tuple[str, str, Test], ...] = (
    ("FMLP", "FMLP", srm("fmlp")),
    ("FMLP, compliant", "FMLP", srm("fmlp", method="compliant")),
    ("FMLP, Devi-Anderson", "FMLP", srm("fmlp", method="devi_anderson")),
    ("OMLP", "OMLP", srm("omlp")),
    ("container, suspend", "container, suspend", container),
    ("container, busy", "container, busy", container),
)
PRINTED: tuple[tuple[str, str, Test], ...] = (("OMLP, printed", "OMLP", srm("omlp", "paper")),)
ALONE: tuple[tuple[str, str, Test], ...] = (
    ("CPUs alone", "FMLP", lambda s: gs.analysis.gedf_tardiness(s.hosts, s.cpus)),
)


def implicit(system: System) -> bool:
    return bool((system.hosts.deadline == system.hosts.period).all())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    began = time.perf_counter()
    sets = runs = jobs = 0
    rows = {name: Row() for name, _, _ in (*SOUND, *ALONE, *PRINTED)}
    while sets < args.sets:
        count = min(SETS, max(1, args.sets // 40), args.sets - sets)
        alone = rng.random() < 0.15
        system = random_system(rng, count, gpu=not alone)
        sets += count
        tests = [
            row
            for row in (ALONE if alone else (*SOUND, *PRINTED))
            if "Devi" not in row[0] or implicit(system)
        ]
        verdicts = {name: test(system) for name, _, test in tests}
        seen = {semantics: np.zeros_like(system.hosts.period) for _, semantics, _ in tests}
        for pattern in patterns(rng, system):  # type: ignore[arg-type]
            for name, largest in seen.items():
                worst, finished = responses(system, name, pattern, int(rng.integers(2**62)))
                np.maximum(largest, worst, out=largest)
                runs += count
                jobs += finished
        for name, semantics, _ in tests:
            above = rows[name].add(seen[semantics], verdicts[name], system.hosts.deadline)
            if above.any() and name not in [row[0] for row in PRINTED]:
                k = int(np.argmax(above))
                raise SystemExit(
                    f"{name}: observed {seen[semantics][k]} above {verdicts[name].response[k]}, "
                    f"set {sets - count + k} of seed {args.seed}, {system.cpus} CPUs, server "
                    f"period {system.server_period[k]}: {system.hosts[k]!r}"
                )
    seconds = time.perf_counter() - began
    lines = [
        f"Falsification of the bounds under global EDF, seed {args.seed}, {describe()}",
        f"{sets} sets, {runs} simulated set-patterns, {jobs} jobs, {seconds:.0f} s on one core:",
        "no response above a sound bound",
        "",
        f"{'':22s} {'sets':>9s} {'sets':>7s} {'sets':>7s} {'tasks':>9s}  observed/bound",
        f"{'test':22s} {'accepted':>9s} {'above':>7s} {'late':>7s} {'compared':>9s}  largest, mean",
    ]
    lines += [row.line(name) for name, row in rows.items()]
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "gedf_falsification.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
