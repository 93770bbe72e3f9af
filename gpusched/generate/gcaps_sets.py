"""Random tasks with CPU and GPU segments on cores, Table 3 of [ECRTS24]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import integer, integer64, seed_key, set_count, set_number
from gpusched.generate.set_arguments import parts_range, whole_range
from gpusched.model.host_segments import deadline_ranks, rows_below, same
from gpusched.model.host_tasks import HostTasks

__all__ = ["gcaps"]


def gcaps(
    count: int | None = None,
    seed: Any = None,
    first: int = 0,
    *,
    cpus: int = 4,
    tasks: tuple[int, int] = (3, 6),
    utilization: tuple[float, float] = (0.4, 0.6),
    periods: tuple[int, int] = (30, 500),
    gpu_share: tuple[float, float] = (0.4, 0.6),
    segments: tuple[int, int] = (1, 3),
    gpu_ratio: tuple[float, float] = (0.2, 2.0),
    copy_ratio: tuple[float, float] = (0.1, 0.3),
    ticks: int = 1000,
) -> HostTasks:
    """Draw random tasks with CPU and GPU segments on cores, Table 3 of [ECRTS24].

    Wang, Liu, Wong, Kim: GCAPS: GPU Context-Aware Preemptive Priority-based Scheduling for
    Real-Time Tasks, ECRTS 2024, and the code published by its authors. Every quantity is uniform in
    its range (a pair, both ends included). The utilization of a core is divided among its tasks by
    UUniFast; deadlines equal periods; priorities are rate-monotonic.

    Parameters
    ----------
    count
        Number of sets; None for a single set.
    seed, first
        As in ``uunifast``: set ``first + i`` of a seed does not depend on ``count``.
    cpus
        Number of cores, at most 1024.
    tasks
        Number of tasks of a core, at most 1024.
    utilization
        Utilization of a core: the sum of (C + G) / T over its tasks.
    periods
        Periods T in units of ``ticks``: with the default, the unit is 1 ms if a tick is 1 us.
    gpu_share
        Probability that a task uses the GPU, drawn for each task.
    segments
        Number of GPU segments of a task that uses the GPU. Its GPU time is cut at uniformly drawn
        points into segments of at least one tick, and its CPU time into one segment more.
    gpu_ratio
        Ratio G / C of GPU time to CPU time of a task that uses the GPU; a task whose GPU time
        becomes 0 does not use it.
    copy_ratio
        Share of the copies in a GPU segment, drawn for each segment; they precede the kernel.
    ticks
        Ticks per unit of ``periods``.

    Returns
    -------
    HostTasks
        One set, or a stack of ``count`` sets, on cores ``0 .. cpus - 1``. The sets differ in size:
        ``sizes`` has their numbers of tasks, and unused rows are 0.

    Raises
    ------
    ValueError
        A range is empty, negative or above its limit; there are no cores; or the number of sets is
        negative.
    OverflowError
        A period exceeds the range of times.

    >>> sets = gs.generate.gcaps(1000, seed=1)
    >>> sets.sizes[:5].tolist(), sets[2].n
    ([16, 19, 17, 18, 15], 17)
    >>> answer = gs.analysis.gcaps(sets, update_cost=1000)
    >>> bool(answer.accepted.any())
    True
    """
    sets = set_count(count)
    ranges = np.array(
        [
            whole_range(tasks, "tasks"),
            parts_range(utilization, "utilization", 1),
            whole_range(periods, "periods"),
            parts_range(gpu_share, "gpu_share", 1),
            whole_range(segments, "segments"),
            parts_range(gpu_ratio, "gpu_ratio", 2000),
            parts_range(copy_ratio, "copy_ratio", 1),
        ]
    )
    sizes, *columns = _core.generate_gcaps(
        seed_key(seed),
        cpus=integer(cpus, "cpus"),
        count=sets,
        first=set_number(first),
        ticks=integer64(ticks, "ticks"),
        ranges=ranges,
    )
    most = int(sizes.max(initial=1))
    period, core, number, cpu, copy_in, kernel = (
        np.ascontiguousarray(column[:, :most]) for column in columns
    )
    stack = HostTasks._of(
        sizes=sizes,
        period=period,
        priority=deadline_ranks(period, rows_below(sizes, most)),
        core=core,
        segments=number,
        cpu=cpu,
        copy_in=copy_in,
        kernel=kernel[..., None],
        copy_out=same(0, copy_in.shape),
        derived=["priority"],
    )
    return stack[0] if count is None else stack
