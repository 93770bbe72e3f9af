"""Random tasks with CPU and GPU segments: Table I of [RTCSA19], Table 3 of [ECRTS24]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import integer, integer64, one_of, seed_key, set_count, set_number
from gpusched._support.text import shown
from gpusched.generate.kernel_sets import parts_range, whole_range
from gpusched.model import profiles
from gpusched.model.host_segments import deadline_ranks, rows_below, same
from gpusched.model.host_tasks import HostTasks


def stgm(
    n: int | None = None,
    count: int | None = None,
    seed: Any = None,
    first: int = 0,
    *,
    cpus: int = 4,
    sms: int = 13,
    periods: tuple[int, int] = (100, 500),
    utilization: tuple[float, float] = (0.05, 0.3),
    gpu_ratio: tuple[float, float] = (0.2, 2.0),
    segments: tuple[int, int] = (1, 3),
    cpu_ratio: tuple[float, float] = (0.3, 0.7),
    kernel_ratio: tuple[float, float] = (0.7, 0.9),
    profile: Any = None,
    at: int | None = 1,
    utilization_of: Literal["job", "cpu"] = "job",
    split: Literal["random", "even"] = "random",
    copies: Literal["even", "random"] = "even",
    priority: Literal["rm", "index"] = "rm",
    ticks: int = 1000,
) -> HostTasks:
    """Draw random tasks with CPU and GPU segments, Table I of [RTCSA19].

    Every quantity is drawn uniformly from its range (a pair, both ends included), for each task;
    only ``gpu_ratio`` is drawn once per set. For a ratio r, the share r / (1 + r) of the tasks, to
    the nearest whole number, uses the GPU; these tasks are chosen with equal probabilities.

    >>> hosts = gs.generate.stgm(count=2, seed=1, cpus=2)
    >>> hosts.period.shape, hosts.kernel.shape               # sets, tasks, segments, SMs
    ((2, 6), (2, 6, 3, 13))

    Parameters
    ----------
    n
        Number of tasks per set. Default: 3 ``cpus``, the middle of Table I's 2 to 4 per core.
    count
        Number of sets; None for a single set.
    seed, first
        As in ``uunifast``: set ``first + i`` of a seed does not depend on ``count``.
    cpus
        Number of CPUs, used only for the default of ``n``.
    sms
        Largest number of SMs for which kernel times are computed; 13 on the paper's GTX 970.
    periods
        Periods T in units of ``ticks``; deadlines equal periods. Every period is a multiple of
        ``ticks``; with the default, the unit is 1 ms if a tick is 1 us.
    utilization
        Utilization U of each task.
    gpu_ratio
        Ratio of the number of tasks that use the GPU to the number of CPU-only tasks.
    segments
        Number of GPU segments of a task that uses the GPU.
    cpu_ratio, kernel_ratio
        Ratio C / G, and the share of the kernels in G.
    profile
        Dependence of kernel times on the number of SMs: a ``gs.profiles.Profile``, or several, of
        which each task gets one. Default: ``gs.profiles.benchmarks("gtx970")``, with shapes similar
        to the paper's Figure 3.

    The following options are left open by the paper; the first choice is the default:

    at
        Number of SMs to which U, C / G and the share of the kernels refer: 1, another number, or
        None for ``sms``.
    utilization_of
        "job": U = (C + G) / T. "cpu": U = (C + G^m) / T, the CPU time of tasks that suspend.
    split
        Division of G and C into segments (a GPU segment takes at least one tick; there is one more
        CPU segment than GPU segments): "random" cuts at uniformly drawn points, "even" divides
        evenly.
    copies
        Division of the copies between copy in and copy out: "even", or "random".
    priority
        "rm": rate-monotonic, ties by index; "index": in the order of the tasks, which is random.
    ticks
        Ticks per unit of ``periods``.

    Returns
    -------
    HostTasks
        One set, or a stack of ``count`` sets, without cores and SMs.

    Raises
    ------
    ValueError
        A range is empty, negative or above its limit; the number of sets is negative; or there are
        no tasks.
    OverflowError
        A period exceeds the range of times.
    """
    tasks = 3 * integer(cpus, "cpus") if n is None else integer(n, "n")
    if not 1 <= tasks < 2**31:
        raise ValueError(f"n: got {tasks}, expected a positive number of tasks")
    sets = set_count(count)
    one_of(utilization_of, ("job", "cpu"), "utilization_of")
    one_of(split, ("random", "even"), "split")
    one_of(copies, ("even", "random"), "copies")
    one_of(priority, ("rm", "index"), "priority")
    width = profiles._sms(sms)
    ranges = np.array(
        [
            whole_range(periods, "periods"),
            parts_range(utilization, "utilization", 1),
            parts_range(gpu_ratio, "gpu_ratio", 2000),
            whole_range(segments, "segments"),
            parts_range(cpu_ratio, "cpu_ratio", 2000),
            parts_range(kernel_ratio, "kernel_ratio", 1),
        ]
    )
    rows = np.stack([p._columns(width) for p in _profiles(profile)])
    columns = _core.generate_hosts(
        seed_key(seed),
        n=tasks,
        count=sets,
        first=set_number(first),
        ticks=integer64(ticks, "ticks"),
        ranges=ranges,
        at=width if at is None else integer64(at, "at"),
        profiles=rows,
        cpu_only=utilization_of == "cpu",
        even=split == "even",
        even_copy=copies == "even",
    )
    if count is None:
        columns = tuple(column[0] for column in columns)
    period, number, cpu, copy_in, kernel, copy_out, _ = columns
    by_index = np.arange(tasks, dtype=np.int64)
    return HostTasks._of(
        period=period,
        priority=deadline_ranks(period)
        if priority == "rm"
        else np.tile(by_index, (*period.shape[:-1], 1)),
        segments=number,
        cpu=cpu,
        copy_in=copy_in,
        kernel=kernel,
        copy_out=copy_out,
        derived=["priority"] if priority == "rm" else [],
    )


def _profiles(profile: Any) -> list[profiles.Profile]:
    if profile is None:
        profile = profiles.benchmarks("gtx970")
    if isinstance(profile, profiles.Profile):
        return [profile]
    if isinstance(profile, Mapping):
        profile = list(profile.values())
    if not isinstance(profile, Sequence) or not all(
        isinstance(p, profiles.Profile) for p in profile
    ):
        raise TypeError(f"profile: got {shown(profile)}, expected profiles of gs.profiles")
    if not profile:
        raise ValueError("profile: got an empty list, expected at least one profile")
    return list(profile)


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
