"""Allocation of cores and SMs to tasks with CPU and GPU segments [RTCSA19]."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, integer64, some_of
from gpusched._support.registry import enumeration
from gpusched.analysis.placed_tests import (
    Mode,
    few_sms,
    form_of,
    partitioned,
    refuse_one_time,
    verdict_of,
)
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_segments import with_zeros
from gpusched.model.host_tasks import HostTasks
from gpusched.ways.way import Way

__all__ = ["partition", "stgm_allocate", "stgm_exhaustive"]

STGM_VARIANTS = enumeration("analysis.stgm_variant")


def partition(
    hosts: HostTasks,
    cpus: int,
    way: Way | str = "mpcp",
    *,
    sms: int | None = None,
    stop: Any = None,
    **options: Any,
) -> Verdict:
    """Assign tasks to cores by worst fit, then run the test of a way of sharing the GPU.

    Algorithm 1 of [RTCSA19] without SMs: the tasks, in order of decreasing utilization (ties by
    index), go to the core with the smallest load (the first of several). The utilization of a task
    is its time on the core per period: (C + G^m) / T, or (C + G) / T if it keeps the core during
    kernels. With a GPU server it is C / T, and the server is assigned as one more task with
    utilization sum (G^m + 2 eta overhead) / T. Which core the authors gave the server is not known.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]])
    >>> answer = gs.analysis.partition(hosts, 2, "fmlp_plus")
    >>> answer.schedulable, answer.hosts.core.tolist()
    (True, [0, 1])

    Parameters
    ----------
    hosts
        One set or a stack; ``hosts.core`` is ignored, and but for ``Stgm`` ``hosts.sm`` as well.
    cpus
        Number of cores.
    way
        A way of sharing the GPU with a test of tasks with cores: ``Stgm``, ``Mpcp``, ``FmlpPlus``,
        ``GpuServer``, ``TimeSlices`` or ``Gcaps`` of ``gs.ways``, or its name.
    sms, stop
        As in the test.
    options
        Parameters that are added to the way, such as ``mode="busy"``.

    Returns
    -------
    Verdict
        Its ``hosts`` have the chosen cores, also if the set is not accepted. A set that is not
        accepted is undecided: it may pass with other cores, or under another test.

    Raises
    ------
    The errors of the test; ValueError also for the core of a server, which is chosen.
    """
    return partitioned(hosts, way, cpus, sms, options, stop=stop)


PRINTED = {"line 16": 1, "load": 2, "line 24": 4, "line 26": 8, "line 23": 16}
"""Lines of Algorithm 1 as printed; see `stgm_allocate`."""
APART = 32


def stgm_allocate(
    hosts: HostTasks,
    cpus: int,
    sms: int | None = None,
    *,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    apart: bool = False,
    printed: str | Iterable[str] = (),
    unit: int = 1,
    stop: Any = None,
) -> Verdict:
    """Assign cores and SMs for `stgm`: Algorithm 1 of [RTCSA19], corrected.

    The tasks receive consecutive SMs, cyclically in task order; initially one SM each. Then the
    tasks, in order of decreasing utilization, are placed on the core with the smallest load on
    which all tasks pass the test together. If no core accepts a task, the task with the largest
    gain from another SM, (G(N) - G(N + 1)) / T, gets one, and the placement starts again.

    This is a heuristic: it may find no allocation although one exists (see `stgm_exhaustive`).

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, [6, 4], 1), 2], [5, (2, [9, 5], 1), 1]])
    >>> answer = gs.analysis.stgm_allocate(hosts, cpus=2, sms=2)
    >>> answer.schedulable, answer.hosts.core.tolist(), answer.rounds
    (True, [0, 1], 1)

    Parameters
    ----------
    hosts
        One set or a stack; ``hosts.core`` and ``hosts.sm`` are ignored.
    cpus
        Number of cores.
    sms
        Number of SMs. Default: the number of columns of ``hosts.kernel``.
    mode, variant, stop
        As in `stgm`, for the test that is used; with ``printed``, also for lines of the algorithm.
    apart
        Whether to look first for allocations in which tasks wait little or not at all for SMs.
        **An extension of this package**, which finds many more allocations. In mode "busy", tasks
        on one core can use the same SMs without waiting, because their GPU segments never overlap;
        SMs are therefore divided among cores. In both modes, SMs are divided among tasks while
        there are enough, by need or by gain. In mode "suspend" (and with printed tests), SMs are
        also divided among groups of tasks: the members of a group share its SMs, and wait for no
        task outside. Groups are formed such that waiting times are small compared with deadlines.
        Tasks that find no core are placed first in the next attempt. If all of this fails,
        Algorithm 1 follows, so that every set accepted by it is accepted.
    printed
        Lines of Algorithm 1 to run as printed: "line 16" (checks only the task that is placed,
        **which is unsafe**), "load" (lines 16 and 17: loads of C / T), "line 24" (its sign chooses
        the task with the smallest gain), "line 26" (returns to line 7 without a reset; unsafe),
        "line 23" (tests the wrong end). They do not affect the allocations that ``apart`` tries
        before Algorithm 1, which always pass the test.
    unit
        Number of consecutive SMs that are assigned together. A task receives whole units, which are
        counted as its SMs are above; the ``sms % unit`` SMs with the highest numbers are used by no
        task. [RTCSA19] assigns single SMs. GPUs assign SMs to green contexts in units of 2 on
        compute capability 7.x and 8.x and of 8 from 9.0 on (CUDA Driver API, "Green Contexts"), and
        to static partitions of MPS in chunks, whose size its server reports.

    Returns
    -------
    Verdict
        Its ``hosts`` have the chosen cores and SMs, and ``rounds`` is the number of times SMs were
        assigned. If no allocation was found, they are those of the last round, with core -1 for
        tasks without a core, and the verdict is that of the least loaded core with the first of
        these tasks on it. With an unsafe line or variant, ``accepted`` is the algorithm's answer.

    Raises
    ------
    The errors of `stgm`; ValueError also for an unknown line, for a unit that is not 1 to ``sms``,
    and if there are several SMs and the times of kernels on fewer SMs are not given (a single time
    would be read as "as fast on one SM as on all").
    """
    instance(hosts, HostTasks, "hosts")
    way = form_of("stgm", {"mode": mode, "variant": variant}).whole
    flags = APART if flag(apart, "apart") else 0
    for line in some_of(printed, PRINTED, "printed"):
        flags |= PRINTED[line]
    began = perf_counter()
    count, width = (
        integer64(cpus, "cpus"),
        _width(hosts, sms),
    )
    size = _unit(unit, hosts, width)
    *answer, cores, sets, rounds = _core.host_stgm_allocate(
        _in_units(hosts, size)._columns(),
        cpus=count,
        sms=width // size,
        busy=mode == "busy",
        paper=STGM_VARIANTS.index(variant),
        flags=flags,
        stop=stop,
    )
    chosen = _placed(hosts, cores, sets, size, width)
    return verdict_of(chosen, way, count, width, answer, began, rounds=rounds)


def stgm_exhaustive(
    hosts: HostTasks,
    cpus: int,
    sms: int | None = None,
    *,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    states: int = 1_000_000,
    unit: int = 1,
    stop: Any = None,
) -> Verdict:
    """Search all assignments of cores and SMs for one that passes `stgm`; for small systems.

    The allocation of `stgm_allocate` with ``apart`` is tried first. Then all divisions of the tasks
    among the cores and of the SMs among the tasks are covered, except those that the test cannot
    distinguish from another, that are no better than another, or that cannot pass because even
    shorter kernels and less waiting did not. With 4 cores and 13 SMs, nearly all sets of up to 12
    tasks, 6 of them with GPU segments, are decided within the default budget.

    >>> hosts = gs.HostTasks.from_segments([60, 30], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]])
    >>> answer = gs.analysis.stgm_exhaustive(hosts, cpus=1, sms=1)
    >>> answer.schedulable, answer.spent
    (True, False)

    Parameters
    ----------
    hosts
        One set or a stack of sets of at most 16 tasks, 6 of them with GPU segments.
    cpus, sms, mode, variant, unit, stop
        As in `stgm_allocate`.
    states
        Budget for each set: number of partial divisions of the tasks and of the units of SMs.

    Returns
    -------
    Verdict
        Its ``hosts`` have an allocation that passes the test; if there is none, no task has a core.
        ``rounds`` is the number of times SMs were assigned. The search is exact with respect to the
        test, but the test is only sufficient: a set without an allocation that passes is undecided
        (``accepted`` False, ``spent`` False), and so is a set whose budget was used up (``spent``
        True).

    Raises
    ------
    The errors of `stgm_allocate`; ValueError also for larger sets.
    """
    instance(hosts, HostTasks, "hosts")
    way = form_of("stgm", {"mode": mode, "variant": variant}).whole
    if integer64(states, "states") < 1:
        raise ValueError(f"states: got {states}, expected a positive number")
    began = perf_counter()
    count, width = (
        integer64(cpus, "cpus"),
        _width(hosts, sms),
    )
    size = _unit(unit, hosts, width)
    *answer, cores, sets, rounds = _core.host_stgm_exhaustive(
        _in_units(hosts, size)._columns(),
        cpus=count,
        sms=width // size,
        busy=mode == "busy",
        paper=STGM_VARIANTS.index(variant),
        states=states,
        stop=stop,
    )
    chosen = _placed(hosts, cores, sets, size, width)
    return verdict_of(chosen, way, count, width, answer, began, rounds=rounds)


def _unit(unit: int, hosts: HostTasks, sms: int) -> int:
    """Check a number of SMs that are assigned together."""
    size = integer64(unit, "unit")
    if not 1 <= size <= max(sms, 1):
        raise ValueError(f"unit: got {size}, expected 1 to the number of SMs, {sms}")
    if size < sms:  # otherwise every task has all SMs
        refuse_one_time(hosts, sms)
    return size


def _in_units(hosts: HostTasks, unit: int) -> HostTasks:
    """The same tasks with the times of kernels on 1, 2, ... units instead of SMs.

    Response times depend on a set of SMs by its size, which selects the time, and by the other sets
    that it meets. Sets of units meet where their SMs do, so the answer is that for the SMs.
    """
    if unit == 1:
        return hosts
    ends = np.arange(unit, hosts.columns + unit, unit)
    columns = np.minimum(ends, hosts.columns) - 1
    return hosts._replaced(kernel=np.ascontiguousarray(hosts.kernel[..., columns]))


def _placed(
    hosts: HostTasks, cores: Int64Array, sets: npt.NDArray[np.uint8], unit: int, sms: int
) -> HostTasks:
    """The tasks on their cores and on the SMs of their sets of units."""
    sm = with_zeros(np.repeat(sets.view(np.bool_), unit, axis=-1), 2, sms % unit)
    if hosts.is_stack:
        return hosts._replaced(core=cores, sm=sm)
    return hosts._replaced(core=cores[0], sm=sm[0])


def _width(hosts: HostTasks, sms: int | None) -> int:
    """The number of SMs to be divided; by default that of the times of kernels."""
    return few_sms(hosts.columns if sms is None else integer64(sms, "sms"))
