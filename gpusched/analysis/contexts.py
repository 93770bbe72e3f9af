"""Response-time tests of tasks that share the GPU by contexts, without a lock.

Partitioned fixed priorities, tasks with CPU and GPU segments. A copy is CPU work at its task's own
priority; copies that need no CPU belong to the kernel.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, int_array, integer64, one_of
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.partitioned_inputs import (
    NO_SHARING,
    FixedPoint,
    Mode,
    assigned_cores,
    verdict_of,
    whole_gpu,
)
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.challenges.challenge_result import Sharing

__all__ = ["gcaps", "time_slices"]

Variant = Literal["sound", "paper"]

_FIXED_POINTS = enumeration("analysis.context_fixed_point")
_MODES = enumeration("analysis.context_mode")


def time_slices(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    slice: int,
    switch: int = 0,
    mode: Mode = "suspend",
    fixed_point: FixedPoint = "joint",
    variant: Variant = "sound",
    order_free: bool = False,
    stop: Any = None,
) -> Verdict:
    """Test tasks whose contexts the GPU serves in turn, a slice each: the default of the driver.

    A kernel is launched when its task is scheduled and has done the CPU work before it, copy in
    included. The GPU serves the contexts with launched kernels one after the other, each for at
    most ``slice``; before it serves another context than the last one it takes ``switch``. A bound
    counts the turns of the other contexts between the slices of a kernel, and at most the work that
    their jobs have. Source: [ECRTS24] (Wang, Liu, Wong and Kim, "GCAPS", 2024), Eqs. (3),
    (5)-(8), corrected; the proof is in ``csrc/analysis/contexts/time_slices.h``.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> answer = gs.analysis.time_slices(hosts, slice=4, switch=1)
    >>> answer.schedulable, answer.response.tolist()
    (True, [25, 29])

    Parameters
    ----------
    hosts
        One set or a stack, with cores; deadlines at most the periods, priorities that differ.
        ``hosts.sm`` is ignored.
    cpus
        Number of cores; that of ``hosts.core`` unless given.
    sms
        Number of SMs that kernels run with; the number of columns of ``hosts.kernel`` unless given.
    slice
        Longest time that a context is served while others wait, in ticks. A shorter slice is not
        better or worse in general.
    switch
        Time to switch to another context, in ticks; none is counted if one task uses the GPU.
    mode
        "suspend": a task leaves its core from the launch of a kernel to its end. "busy": it spins
        at its own priority, and can be preempted.
    fixed_point
        How the bounds are found, as each depends on those of other tasks. "joint": the least vector
        of bounds that satisfies all equations, from below. "one_pass": task by task from the most
        urgent on, with the deadlines of less urgent ones; never better. With "joint" a set that is
        not accepted has no bounds; ``failed`` is the task whose bound passed its deadline first.
    variant
        "sound", or "paper": the printed equations (one pass in any case), which omit the switch
        back to the task: **unsound** with ``switch`` above 0. They are more pessimistic otherwise.
    order_free
        Assume deadlines for all responses. A bound then depends on which tasks are more urgent, not
        on their order, as Audsley's algorithm needs it; never better.
    stop
        A writable buffer of one byte; setting it to 1 in another thread ends the call.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided. Terms: "own" with the switches to the task's own context,
        "request" for the turns of other contexts, "lower" for those of less urgent tasks of the
        core (busy), "higher".

    Raises
    ------
    ValueError
        Tasks without a core, deadlines above the period, priorities that tie, a slice below 1, a
        negative switch, ``order_free`` with ``variant="paper"``.
    OverflowError
        Times whose sums exceed 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    The ring may be first in, first out (a context goes to its end after a slice) or a fixed cycle.
    Releases of a task are assumed to be at least a period apart; segments may take less than the
    given time.
    """
    length, cost = integer64(slice, "slice"), integer64(switch, "switch")
    return _run(
        "time_slices",
        hosts,
        cpus,
        sms,
        mode,
        fixed_point,
        variant,
        order_free,
        stop,
        slice=length,
        cost=cost,
    )


def gcaps(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    update: int = 0,
    gpu_priority: npt.ArrayLike | None = None,
    stall: bool = False,
    mode: Mode = "suspend",
    fixed_point: FixedPoint = "joint",
    variant: Variant = "sound",
    order_free: bool = False,
    stop: Any = None,
) -> Verdict:
    """Test tasks that preempt each other on the GPU by priority: GCAPS.

    The GPU belongs to the most urgent task with an open GPU segment. A segment is opened and closed
    by an update of the driver's list, which takes ``update`` on the task's core, is not preempted,
    and holds a mutex. Between the updates come copy in, kernel and copy out. An owner keeps the GPU
    idle while it copies, waits for its core or waits for the mutex. Source: [ECRTS24], Eqs.
    (9)-(14), corrected; the proof is in ``csrc/analysis/contexts/gcaps.h``.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> gs.analysis.gcaps(hosts, update=1).response.tolist()
    [17, 33]

    Parameters
    ----------
    hosts, cpus, sms, mode, fixed_point, order_free, stop
        As in `time_slices`. In mode "suspend" a task also leaves its core while it waits for the
        mutex; in mode "busy" it spins.
    update
        Time of an update (epsilon), in ticks.
    gpu_priority
        Priorities for the GPU, ``(n,)`` or ``(N, n)``; a smaller number is more urgent. All differ,
        and on a core they agree with ``hosts.priority``; those of tasks without GPU segments are
        not read. Unless given, the order of ``hosts.priority``.
    stall
        Whether every update stops the GPU, not only one of a more urgent task.
    variant
        "sound", or "paper": the printed equations (one pass in any case), **which are unsound**:
        Eq. (9) counts too few updates of less urgent tasks, and Eqs. (10) and (13) neglect that an
        owner keeps the GPU while it copies and while it waits for its core.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided. Terms: "own" with the task's updates and what each can
        wait for, "request" for owners of the GPU, "lower" for updates of less urgent tasks of the
        core, "higher".

    Raises
    ------
    ValueError
        As `time_slices`; also GPU priorities that tie or that disagree with those of a core, and
        ``order_free`` with ``gpu_priority``.
    OverflowError, gpusched.Cancelled
        As `time_slices`.

    Notes
    -----
    The owner is assumed to be found anew among all open segments at each update. Algorithm 1 as
    printed does not do this: where a segment ends that is not the owner's, it lets a second task
    use the GPU.
    """
    cost = integer64(update, "update")
    priority = None
    if gpu_priority is not None:
        instance(hosts, HostTasks, "hosts")
        priority = int_array(gpu_priority, "gpu_priority")
        if priority.shape not in (hosts.core.shape, hosts.core.shape[-1:]):
            raise ValueError(
                f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
                f"{hosts.core.shape}"
            )
        shape = np.atleast_2d(hosts.core).shape
        priority = np.ascontiguousarray(np.broadcast_to(priority, shape))
    return _run(
        "gcaps",
        hosts,
        cpus,
        sms,
        mode,
        fixed_point,
        variant,
        order_free,
        stop,
        cost=cost,
        gpu_priority=priority,
        stall=flag(stall, "stall"),
    )


def _run(
    test: str,
    hosts: HostTasks,
    cpus: int | None,
    sms: int | None,
    mode: Mode,
    fixed_point: FixedPoint,
    variant: Variant,
    order_free: bool,
    stop: Any,
    *,
    cost: int,
    slice: int = 0,
    gpu_priority: Int64Array | None = None,
    stall: bool = False,
) -> Verdict:
    """The verdict of a test with a context per task."""
    instance(hosts, HostTasks, "hosts")
    method = methods()[test]
    one_of(mode, method.choices("mode"), "mode")
    one_of(fixed_point, method.choices("fixed_point"), "fixed_point")
    one_of(variant, method.choices("variant"), "variant")
    free, paper = flag(order_free, "order_free"), variant == "paper"
    if free and paper:
        raise ValueError("order_free: got True, expected False with variant='paper'")
    way = "order_free" if free else "one_pass" if paper else fixed_point
    began = perf_counter()
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    answer = _core.host_context_test(
        hosts._columns(),
        cores,
        gpu_priority,
        method=test,
        cpus=count,
        sms=width,
        mode=_MODES.index(mode),
        fixed_point=_FIXED_POINTS.index(way),
        paper=paper,
        slice=slice,
        cost=cost,
        stall=stall,
        stop=stop,
    )
    sharing = Sharing(slice=slice, switch=cost) if test == "time_slices" else NO_SHARING
    if test == "gcaps":
        given = gpu_priority if gpu_priority is None or hosts.is_stack else gpu_priority[0]
        sharing = Sharing(update=cost, stall=stall, gpu_priority=given)
    return verdict_of(hosts, test, variant, mode, count, width, answer, began, sharing=sharing)
