"""Random tiny task sets with CPU and GPU segments, and their tests and simulations by protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import gpusched as gs

# Protocol and mode, the options that test and simulation share.
WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(("stgm", mode, {}) for mode in ("suspend", "busy")),
    *(("mpcp", mode, {}) for mode in ("suspend", "busy", "spin")),
    *(("fmlp_plus", mode, {}) for mode in ("suspend", "busy")),
    ("gpu_server", "suspend", {"overhead": 1}),
    *(("time_slices", mode, {"slice": 2, "switch": 1}) for mode in ("suspend", "busy")),
    *(("gcaps", mode, {"update": 1}) for mode in ("suspend", "busy")),
    *(("gcaps", mode, {"update": 0, "switch": 2}) for mode in ("suspend", "busy")),
)
NAMES = [
    f"{protocol}-{mode}" + "-switch" * (options.get("switch", 0) > 1)
    for protocol, mode, options in WAYS
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


def verdict_of(hosts: gs.HostTasks, protocol: str, mode: str, options: dict[str, Any]) -> Any:
    test = getattr(gs.analysis, protocol)
    return test(hosts, 2, **({} if protocol == "gpu_server" else {"mode": mode}), **options)
