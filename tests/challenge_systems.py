"""Random tiny task sets with CPU and GPU segments, and their tests and simulations by protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import gpusched as gs

# Ways of sharing the GPU, with parameters that test and simulation share.
BOTH = ("suspend", "busy")
WAYS: tuple[gs.ways.Way, ...] = (
    *(gs.ways.Stgm(mode=mode) for mode in BOTH),
    *(gs.ways.Mpcp(mode=mode) for mode in (*BOTH, "spin")),
    *(gs.ways.FmlpPlus(mode=mode) for mode in BOTH),
    gs.ways.GpuServer(server_overhead=1),
    *(gs.ways.TimeSlices(mode=mode, timeslice=2, context_switch=1) for mode in BOTH),
    *(gs.ways.Gcaps(mode=mode, update_cost=1) for mode in BOTH),
    *(gs.ways.Gcaps(mode=mode, update_cost=0, context_switch=2) for mode in BOTH),
)
NAMES = [
    f"{way.name}-{way.given.get('mode', 'suspend')}"
    + "-switch" * (way.given.get("context_switch", 0) > 1)
    for way in WAYS
]


def tiny_set(rng: np.random.Generator, n: int, longest: int, most: int) -> gs.HostTasks:
    """n tasks on one or two cores, with periods of at most ``longest`` and parts of ``most``."""
    segments, period, deadline = [], [], []
    for _ in range(n):
        row: list[Any] = [int(rng.integers(0, most + 1))]
        for _ in range(int(rng.choice(3, p=[0.3, 0.55, 0.15]))):
            copies = rng.integers(0, 2, 2).tolist()
            row += [(copies[0], int(rng.integers(0, most + 1)), copies[1])]
            row += [int(rng.integers(0, most + 1))]
        work = sum(sum(part) if isinstance(part, tuple) else part for part in row)
        row[0] += work == 0
        work += work == 0
        longest_here = max(work, int(rng.integers(min(2 * work, longest), longest + 1)))
        period.append(longest_here)
        deadline.append(int(rng.integers((work + longest_here) // 2, longest_here + 1)))
        segments.append(row)
    return gs.HostTasks.from_segments(
        period,
        segments,
        deadline=deadline,
        priority=rng.permutation(n),
        core=rng.integers(0, 2, n),
        sm=[[int(rng.integers(0, 2))] if rng.random() < 0.7 else [0, 1] for _ in range(n)],
    )


def tiny_sets(
    seed: int, count: int, n: int = 3, longest: int = 12, most: int = 2
) -> Iterator[gs.HostTasks]:
    rng = np.random.default_rng(seed)
    return (tiny_set(rng, n, longest, most) for _ in range(count))


def verdict_of(hosts: gs.HostTasks, way: gs.ways.Way) -> Any:
    return getattr(gs.analysis, way.name)(hosts, 2, **way.given)
