"""Long calls on many sets or large inputs, of functions without a stop flag.

Part of long_calls.py. A call takes seconds, most of them in the C core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpusched as gs

SETS = 10**6


def sized(call: Callable[[Any], Any], small: Any, large: Any) -> Callable[[Any], Any]:
    """The call on a large input, after one that imports what it needs."""
    call(small)
    return lambda _: call(large)


def generate_gpusched() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.gpusched(20, 4, count=count, seed=1), 1, 4 * SETS)


def generate_uunifast() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.uunifast(20, 4, count=count, seed=1), 1, 16 * SETS)


def generate_fifo() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.fifo(20, 0.5, count=count, seed=1), 1, 4 * SETS)


def generate_stgm() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.stgm(20, count=count, seed=1), 1, SETS)


def generate_elliott() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.elliott("medium", count=count, seed=1), 1, 4 * SETS)


def generate_gcaps() -> Callable[[Any], Any]:
    return sized(lambda count: gs.generate.gcaps(count=count, seed=1), 1, SETS)


def repeated(tasks: Any, sets: int) -> Any:
    return type(tasks).stack([tasks])[np.zeros(sets, np.int64)]


def gedf() -> Callable[[Any], Any]:
    hosts = gs.generate.elliott("medium", seed=1)
    return sized(lambda it: gs.analysis.gedf_tardiness(it, cpus=4), hosts, repeated(hosts, 300_000))


def srm() -> Callable[[Any], Any]:
    hosts = gs.generate.elliott("medium", seed=1)
    return sized(lambda it: gs.analysis.srm(it, cpus=4), hosts, repeated(hosts, 1_000_000))


def stgm() -> Callable[[Any], Any]:
    drawn = gs.generate.stgm(12, seed=1, utilization=(0.05, 0.1))
    hosts = gs.analysis.stgm_allocate(drawn, 4, 13).hosts
    return sized(lambda it: gs.analysis.stgm(it, 4, 13), hosts, repeated(hosts, 100_000))


def stgm_exhaustive() -> Callable[[Any], Any]:
    """A set without an allocation, which takes seconds, again and again."""
    period = [213, 222, 356, 163, 244, 117, 295, 247, 167, 296, 240, 134, 360, 239, 209, 214]
    cpu = [28, 24, 106, 30, 61, 21, 103, 91, 55, 116]
    users = [(14, 30), (8, 18), (21, 69), (14, 65), (12, 14), (12, 11)]
    segments: list[Any] = [[time] for time in cpu]
    for time, kernel in users:
        segments.append([time, (1, [kernel - kernel * k // 20 for k in range(13)], 1), time])
    hosts = gs.HostTasks.from_segments(period, segments)
    options: Any = {"states": 10**9}
    return sized(
        lambda it: gs.analysis.stgm_exhaustive(it, 4, 13, **options),
        hosts.select([0, 15]),
        repeated(hosts, 40),
    )


def fifo_bound() -> Callable[[Any], Any]:
    tasks = gs.generate.fifo(12, 0.5, seed=1)
    return sized(lambda it: gs.analysis.fifo_bound(it, 4096), tasks, repeated(tasks, 300_000))


def search_stack() -> Callable[[Any], Any]:
    table = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6])
    tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
    return sized(lambda it: gs.pbs.search(it, table), tasks, repeated(tasks, 2 * SETS))


def large_list() -> Callable[[Any], Any]:
    return sized(lambda it: gs.KernelTasks(period=it, wcet=1), [4], list(range(1, 10**7)))


def large_array() -> Callable[[Any], Any]:
    period = np.broadcast_to(100, (10**7, 20))
    return sized(lambda it: gs.KernelTasks(period=it, wcet=1), [4], period)


STACKS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    f.__name__: f
    for f in (
        *(generate_gpusched, generate_uunifast, generate_fifo, generate_stgm, generate_elliott),
        generate_gcaps,
        *(gedf, srm, stgm, stgm_exhaustive, fifo_bound, search_stack, large_list, large_array),
    )
}
