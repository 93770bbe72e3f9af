"""Random tasks with CPU and GPU segments, by Table I of the STGM paper (``generate.stgm``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    int_array,
    integer,
    integer64,
    one_of,
    real,
    seed_key,
    set_number,
)
from gpusched.model import profiles
from gpusched.model.host_tasks import HostTasks, _ranks

__all__ = ["stgm"]


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
    """Tasks with CPU and GPU segments by Table I of the STGM paper.

    Every quantity is uniform in its range (a pair, both ends included), drawn for each task but
    for ``gpu_ratio``, which is drawn for the set. With the r drawn there, the share r / (1 + r) of
    the tasks uses the GPU, to the nearest whole number, any of them as likely.

    Parameters
    ----------
    n
        Tasks in a set: 3 ``cpus`` unless given, the middle of Table I's 2 to 4 per core.
    count
        How many sets; None for a single one.
    seed, first
        As in ``uunifast``: set ``first + i`` of a seed is the same whatever the count.
    cpus
        For the number of tasks alone.
    sms
        For how many SMs kernel times are wanted; 13 on the paper's GTX 970.
    periods
        T in units of ``ticks``; deadlines are equal to them. Every period is a multiple of
        ``ticks``, milliseconds with the default if a tick is 1 us.
    utilization
        U of each task.
    gpu_ratio
        GPU-using tasks per CPU-only task.
    segments
        GPU segments of a task that uses the GPU.
    cpu_ratio, kernel_ratio
        C / G, and the kernels' share of G.
    profile
        How kernel times depend on the SMs: a ``gs.profiles.Profile``, or several of them, of which
        each task gets one; ``gs.profiles.benchmarks("gtx970")`` unless given, shapes in the spirit
        of the paper's Figure 3.

    The paper leaves open (options, with the choice made here first):

    at
        With how many SMs U, C / G and the kernels' share hold: 1, any other number, or None for
        ``sms``.
    utilization_of
        "job": U = (C + G) / T. "cpu": U = (C + G^m) / T, what the CPU does if tasks suspend.
    split
        How G and C are divided among segments (a GPU segment is a tick at least, CPU segments are
        one more than GPU segments): cut at uniform places, or evenly.
    copies
        How what is no kernel is divided between copy in and copy out: evenly, or cut at random.
    priority
        "rm": rate-monotonic, ties by index; "index": in the order of the tasks, which is random.
    ticks
        Ticks per unit of ``periods``.

    Returns
    -------
    HostTasks
        One set, or a stack of ``count``; not placed.

    Raises
    ------
    ValueError
        Ranges that are empty, negative or beyond what makes sense, and counts that are none.
    OverflowError
        Periods beyond the clock.
    """
    tasks = 3 * integer(cpus, "cpus") if n is None else integer(n, "n")
    if not 1 <= tasks < 2**31:
        raise ValueError(f"n: got {tasks}, expected a positive number of tasks")
    sets = 1 if count is None else integer64(count, "count")
    if sets < 0:
        raise ValueError(f"count: got {sets}, expected a non-negative number")
    one_of(utilization_of, ("job", "cpu"), "utilization_of")
    one_of(split, ("random", "even"), "split")
    one_of(copies, ("even", "random"), "copies")
    one_of(priority, ("rm", "index"), "priority")
    width = profiles._sms(sms)
    ranges = np.array(
        [
            _whole(periods, "periods"),
            _parts(utilization, "utilization", 1),
            _parts(gpu_ratio, "gpu_ratio", 2000),
            _whole(segments, "segments"),
            _parts(cpu_ratio, "cpu_ratio", 2000),
            _parts(kernel_ratio, "kernel_ratio", 1),
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
        priority=_ranks(period) if priority == "rm" else np.tile(by_index, (*period.shape[:-1], 1)),
        segments=number,
        cpu=cpu,
        copy_in=copy_in,
        kernel=kernel,
        copy_out=copy_out,
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
        raise ValueError("profile: the list of profiles is empty")
    return list(profile)


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    try:
        least, most = value
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {shown(value)}, expected a pair, least and most") from None
    return least, most


def _whole(value: Any, name: str) -> Int64Array:
    return int_array(list(_pair(value, name)), name)


def _parts(value: Any, name: str, limit: float) -> Int64Array:
    """A range of shares or ratios in millionths."""
    ends = [real(end, f"{name}[{i}]") for i, end in enumerate(_pair(value, name))]
    for i, share in enumerate(ends):
        if not (math.isfinite(share) and 0 <= share <= limit):
            raise ValueError(f"{name}[{i}]: got {share}, expected within 0 .. {limit}")
    if ends[0] > ends[1]:
        raise ValueError(f"{name}[1] = {ends[1]}: the range ends before it begins")
    return np.array([round(share * profiles.PARTS) for share in ends], np.int64)
