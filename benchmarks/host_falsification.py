"""Search for responses above bounds with GPU segments; results/host_falsification.txt.

Small random sets (2 to 6 tasks on 1 to 3 cores, 1 to 4 SMs, times of a few ticks, so that equal
instants are common; GPU segments without CPU work between them, copies and kernels of length 0)
are simulated under every semantics that a test assumes, with release patterns made to hurt: all at
once, random offsets, sporadic gaps, parts below their worst case, and an adversary that releases
every other task when a job of a victim starts, requests the GPU, gets back from it, or finishes.
Each largest response of an accepted set is compared with the smallest bound of the test: the joint
fixed point, and the split treatment of suspension. For the sound tests the table says how close
they come: how tight the bounds are. For the tests as they are printed (and FMLP+ as in the code of
GCAPS) it says how often they are wrong. The tests run a hundredth of this.

    python benchmarks/host_falsification.py [--sets 1000000] [--seed 1] [--save]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs
from gpusched import _core

SETS = 500  # in one call
TRIGGERS = (1, 2, 4, 8, 1 | 2, 2 | 4, 1 | 2 | 4 | 8)  # see csrc/simulate/host/host.h
NEVER = bytearray(1)


@dataclass
class System:
    """A stack of sets on cores, SM sets, and a server for each."""

    hosts: gs.HostTasks
    cpus: int
    sms: int
    server: np.ndarray
    overhead: int


def random_system(rng: np.random.Generator, count: int) -> System:
    """Sets of one size; about a third of them pass a test."""
    n = int(rng.integers(2, 7))
    cpus = int(rng.integers(1, min(n, 3) + 1))
    sms = int(rng.integers(1, 5))
    least, most = int(rng.integers(0, 2)), int(rng.choice([2, 4, 8]))
    shape = (count, n)
    without = rng.choice([0.2, 0.6])  # GPU segments
    some = (1 - without) / 0.8
    segments = rng.choice(4, shape, p=[without, 0.45 * some, 0.2 * some, 0.15 * some])
    j = np.arange(4)
    cpu = rng.integers(least, most + 1, (*shape, 4)) * (j <= segments[..., None])
    if rng.random() < 0.5:  # GPU segments in a row
        cpu[rng.random(cpu.shape) < 0.5] = 0
    on = j[:3] < segments[..., None]
    copy_in, copy_out = (rng.integers(least, most // 2 + 2, on.shape) * on for _ in range(2))
    kernel = rng.integers(least, 2 * most + 1, (*on.shape, sms)) * on[..., None]
    kernel = -np.sort(-kernel, axis=-1)
    work = cpu.sum(-1) + copy_in.sum(-1) + copy_out.sum(-1) + kernel[..., 0].sum(-1)
    cpu[..., 0] += work == 0
    work += work == 0
    # A set's load is its own; half of the periods fit together, so that instants coincide again.
    slack = rng.uniform(1, 2) * np.exp(rng.uniform(0, 3, (count, 1)) + rng.uniform(0, 1, shape))
    period = np.maximum(work, np.rint(work * slack)).astype(np.int64)
    grid = 1 << np.floor(np.log2(np.maximum(period, 1))).astype(np.int64)
    together = rng.random(count) < 0.3
    period[together] = np.maximum(grid, work)[together]
    deadline = period.copy()
    tight = rng.random(shape) < 0.3
    deadline[tight] = rng.integers(work, period + 1)[tight]
    priority = np.argsort(rng.random(shape), axis=1)
    monotonic = rng.random(count) < 0.6
    priority[monotonic] = np.argsort(np.argsort(deadline, axis=1, kind="stable"), axis=1)[monotonic]
    sm = rng.random((*shape, sms)) < rng.choice([0.3, 0.6])
    sm[np.arange(count)[:, None], np.arange(n), rng.integers(0, sms, shape)] = True
    hosts = gs.HostTasks(
        period,
        cpu,
        copy_in,
        kernel,
        copy_out,
        deadline=deadline,
        priority=priority,
        core=rng.integers(0, cpus, shape),
        sm=sm,
        segments=segments,
    )
    return System(hosts, cpus, sms, rng.integers(0, cpus + 1, count), int(rng.integers(0, 3)))


@dataclass
class Pattern:
    offset: np.ndarray
    victim: np.ndarray
    triggers: int = 0
    shares: tuple[int, ...] = (1, 1, 1, 1, 0, 1)  # low, high, gap


def patterns(rng: np.random.Generator, system: System) -> Iterator[Pattern]:
    period = system.hosts.period
    count, n = period.shape
    none = np.full(count, -1)

    def near() -> np.ndarray:
        return rng.integers(0, np.minimum(period, 16) + 1)

    def far() -> np.ndarray:
        return rng.integers(0, period + 1)

    yield Pattern(np.zeros_like(period), none)
    yield Pattern(near(), none)
    yield Pattern(far(), none)
    yield Pattern(near(), none, shares=(1, 1, 1, 1, 1, 5))
    yield Pattern(far(), none, shares=(1, 1, 1, 1, 1, 1))
    yield Pattern(near(), none, shares=(0, 1, 1, 1, 0, 1))
    yield Pattern(far(), none, shares=(1, 2, 1, 1, 1, 10))
    for triggers in rng.permutation(TRIGGERS)[:4]:
        victim = rng.integers(0, n, count)
        gap = (0, 1) if rng.random() < 0.5 else (1, 10)
        low = (1, 1) if rng.random() < 0.7 else (0, 1)
        yield Pattern(np.zeros_like(period), victim, int(triggers), (*low, 1, 1, *gap))


# How the GPU is shared, and what tasks do on their CPU meanwhile (a mode of the core).
SEMANTICS = {
    "STGM suspend": ("stgm", 0),
    "STGM busy": ("stgm", 1),
    "MPCP suspend": ("mpcp", 0),
    "MPCP busy": ("mpcp", 1),
    "MPCP spin": ("mpcp", 2),
    "FMLP+ suspend": ("fmlp_plus", 0),
    "FMLP+ busy": ("fmlp_plus", 1),
    "server": ("gpu_server", 0),
}


def responses(system: System, name: str, pattern: Pattern, seed: int) -> tuple[np.ndarray, int]:
    """The largest response of each task, and how many jobs there were."""
    way, mode = SEMANTICS[name]
    hosts = system.hosts
    worst, finished, _, _ = _core.host_responses(
        hosts._columns(),
        pattern.offset,
        hosts.core,
        np.ascontiguousarray(hosts.sm, np.uint8) if way == "stgm" else None,
        cpus=system.cpus,
        sms=system.sms,
        policy=0,
        way=way,
        mode=mode,
        server=system.server,
        overhead=system.overhead if way == "gpu_server" else 0,
        shares=np.array(pattern.shares, np.int64),
        until=5 * hosts.period.max(axis=1),
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
# Name of a row, the simulated semantics, the test.
SOUND: tuple[tuple[str, str, Test], ...] = (
    (
        "STGM suspend",
        "STGM suspend",
        lambda s: gs.analysis.stgm(s.hosts, s.cpus, s.sms, suspension="split"),
    ),
    ("STGM busy", "STGM busy", lambda s: gs.analysis.stgm(s.hosts, s.cpus, s.sms, mode="busy")),
    ("MPCP suspend", "MPCP suspend", lambda s: gs.analysis.mpcp(s.hosts, s.cpus, s.sms)),
    ("MPCP busy", "MPCP busy", lambda s: gs.analysis.mpcp(s.hosts, s.cpus, s.sms, mode="busy")),
    ("MPCP spin", "MPCP spin", lambda s: gs.analysis.mpcp(s.hosts, s.cpus, s.sms, mode="spin")),
    ("FMLP+ suspend", "FMLP+ suspend", lambda s: gs.analysis.fmlp_plus(s.hosts, s.cpus, s.sms)),
    (
        "FMLP+ busy",
        "FMLP+ busy",
        lambda s: gs.analysis.fmlp_plus(s.hosts, s.cpus, s.sms, mode="busy"),
    ),
    (
        "GPU server",
        "server",
        lambda s: gs.analysis.gpu_server(
            s.hosts, s.cpus, s.sms, server=s.server, server_overhead=s.overhead
        ),
    ),
)
PRINTED: tuple[tuple[str, str, Test], ...] = (
    (
        "STGM suspend, printed",
        "STGM suspend",
        lambda s: gs.analysis.stgm(s.hosts, s.cpus, s.sms, mode="suspend", variant="paper"),
    ),
    (
        "STGM busy, printed",
        "STGM busy",
        lambda s: gs.analysis.stgm(s.hosts, s.cpus, s.sms, mode="busy", variant="paper"),
    ),
    (
        "STGM busy, B_h",
        "STGM busy",
        lambda s: gs.analysis.stgm(s.hosts, s.cpus, s.sms, mode="busy", variant="paper, B_h"),
    ),
    (
        "FMLP+ suspend, GCAPS",
        "FMLP+ suspend",
        lambda s: gs.analysis.fmlp_plus(s.hosts, s.cpus, s.sms, mode="suspend", variant="gcaps"),
    ),
    (
        "FMLP+ busy, GCAPS",
        "FMLP+ busy",
        lambda s: gs.analysis.fmlp_plus(s.hosts, s.cpus, s.sms, mode="busy", variant="gcaps"),
    ),
)


@dataclass
class Row:
    """Results of a test."""

    sets: int = 0  # accepted
    above: int = 0  # of them, a response above its bound
    missed: int = 0  # of them, a deadline missed
    tasks: int = 0  # compared
    total: float = 0.0  # of observed/bound
    worst: float = 0.0

    def add(self, observed: np.ndarray, verdict: Any, deadline: np.ndarray) -> np.ndarray:
        """Takes in a stack; True for the sets in which a bound is exceeded."""
        use = verdict.accepted & verdict.bounded.all(axis=-1)
        bound = np.where(use[:, None], verdict.response.data, 1)
        ratio = observed[use] / np.maximum(bound[use], 1)  # 0: kernels that SMs make vanish
        above = use & (observed > bound).any(axis=1)
        self.sets += int(use.sum())
        self.above += int(above.sum())
        self.missed += int((use & (observed > deadline).any(axis=1)).sum())
        self.tasks += ratio.size
        self.total += float(ratio.sum())
        self.worst = max(self.worst, float(ratio.max(initial=0)))
        return above

    def line(self, name: str) -> str:
        mean = self.total / max(self.tasks, 1)
        return (
            f"{name:22s} {self.sets:9d} {self.above:7d} {self.missed:7d} {self.tasks:9d}"
            f"  {self.worst:.3f}  {mean:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    began = time.perf_counter()
    sets = runs = jobs = 0
    rows = {name: Row() for name, _, _ in (*SOUND, *PRINTED)}
    while sets < args.sets:
        count = min(SETS, max(1, args.sets // 20), args.sets - sets)
        system = random_system(rng, count)
        sets += count
        verdicts = {name: test(system) for name, _, test in (*SOUND, *PRINTED)}
        seen = {name: np.zeros(system.hosts.period.shape, np.int64) for name in SEMANTICS}
        for pattern in patterns(rng, system):
            for name, largest in seen.items():
                worst, finished = responses(system, name, pattern, int(rng.integers(2**62)))
                np.maximum(largest, worst, out=largest)
                runs += count
                jobs += finished
        for name, semantics, _ in (*SOUND, *PRINTED):
            above = rows[name].add(seen[semantics], verdicts[name], system.hosts.deadline)
            if above.any() and name in [row[0] for row in SOUND]:
                k = int(np.argmax(above))
                raise SystemExit(
                    f"{name}: observed {seen[semantics][k]} above {verdicts[name].response[k]}, "
                    f"set {sets - count + k} of seed {args.seed}, server {system.server[k]}, "
                    f"overhead {system.overhead}: {system.hosts[k]!r}"
                )
    seconds = time.perf_counter() - began
    lines = [
        f"Falsification of the tests for CPU and GPU segments, seed {args.seed}, {describe()}",
        f"{sets} sets, {runs} simulated set-patterns, {jobs} jobs, {seconds:.0f} s on one core:",
        "no response above a sound bound",
        "",
        f"{'':22s} {'sets':>9s} {'sets':>7s} {'sets':>7s} {'tasks':>9s}  observed/bound",
        f"{'test':22s} {'accepted':>9s} {'above':>7s} {'late':>7s} {'compared':>9s}  largest, mean",
    ]
    lines += [row.line(name) for name, row in rows.items()]
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "host_falsification.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
