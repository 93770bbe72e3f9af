"""Response-time tests of tasks whose GPU contexts share the GPU without a lock.

Tasks have CPU and GPU segments and are scheduled by partitioned fixed priorities. A copy counts as
CPU work at the priority of its task; copies that need no CPU belong to the kernel.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy.typing as npt

from gpusched.analysis.placed_tests import FixedPoint, Mode, run_test
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks

__all__ = ["gcaps", "time_slices"]

Variant = Literal["sound", "paper"]


def time_slices(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    timeslice: int,
    context_switch: int = 0,
    mode: Mode = "suspend",
    fixed_point: FixedPoint = "joint",
    variant: Variant = "sound",
    order_free: bool = False,
    stop: Any = None,
) -> Verdict:
    """Test tasks whose contexts share the GPU by time slices, the default of the driver.

    A kernel is launched when its task is scheduled and has done the CPU work before it, including
    the copy in. The GPU serves the contexts with launched kernels in turn, each for at most
    ``timeslice`` at a time. Before it serves a different context than the last one, it takes
    ``context_switch``. A bound counts the turns of other contexts between the slices of a kernel,
    but no more than the work of their jobs. Source: [ECRTS24] (Wang, Liu, Wong and Kim, "GCAPS",
    2024), Eqs. (3), (5)-(8), corrected; the proof is in ``csrc/analysis/contexts/time_slices.h``.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> answer = gs.analysis.time_slices(hosts, timeslice=4, context_switch=1)
    >>> answer.schedulable, answer.response.tolist()
    (True, [25, 29])

    Parameters
    ----------
    hosts
        One set or a stack, with cores, deadlines no longer than periods, and distinct priorities.
        ``hosts.sm`` is ignored.
    cpus
        Number of cores. Default: as many as ``hosts.core`` uses.
    sms
        Number of SMs on which kernels run. Default: the number of columns of ``hosts.kernel``.
    timeslice
        Maximum time that a context is served while others wait, in ticks. A shorter slice is not
        generally better or worse.
    context_switch
        Time to switch to another context, in ticks. It is not counted if only one task uses the
        GPU.
    mode
        "suspend": a task releases its core while its kernel is launched or running. "busy": it
        spins at its own priority, and can be preempted.
    fixed_point
        How the bounds, which depend on each other, are computed. "joint": the smallest vector of
        bounds that satisfies all equations, by iteration from below. "one_pass": task by task from
        the highest priority on, using the deadlines of lower-priority tasks as their bounds; never
        better. With "joint", a set that is not accepted has no bounds; ``failed`` is the task whose
        bound exceeded its deadline first.
    variant
        "sound", or "paper" for the printed equations (always in one pass), which omit the switch
        back to the task: they are **unsound** with ``context_switch`` above 0, and otherwise more
        pessimistic.
    order_free
        Use deadlines in place of all response times. A bound then depends on the set of
        higher-priority tasks but not on their order, as Audsley's algorithm requires; never better.
    stop
        Writable buffer of one byte; the call ends when another thread sets the byte to 1.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided. Terms: "own" (including switches to the task's own
        context), "request" (turns of other contexts), "lower" (turns of lower-priority tasks of the
        core, in mode "busy"), "higher".

    Raises
    ------
    ValueError
        A task has no core, a deadline exceeds its period, priorities are equal, the slice is below
        1, the switch is negative, or ``variant="paper"`` is combined with ``order_free`` or with
        jitter of releases.
    OverflowError
        A sum of times exceeds 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    The bounds hold for a FIFO ring (a context goes to its end after a slice) and for a fixed cycle.
    Arrivals of a task are assumed to be at least a period apart, and its releases at most its
    jitter later; segments may take less than the given time.
    """
    options = {
        "timeslice": timeslice,
        "context_switch": context_switch,
        "mode": mode,
        "fixed_point": fixed_point,
        "variant": variant,
        "order_free": order_free,
    }
    return run_test(hosts, "time_slices", cpus, sms, options, stop=stop)


def gcaps(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    update_cost: int = 0,
    context_switch: int = 0,
    gpu_priority: npt.ArrayLike | None = None,
    stall: bool = False,
    mode: Mode = "suspend",
    fixed_point: FixedPoint = "joint",
    variant: Variant = "sound",
    order_free: bool = False,
    stop: Any = None,
) -> Verdict:
    """Test tasks that preempt each other on the GPU by priority: GCAPS.

    The GPU belongs to the highest-priority task with an open GPU segment. A segment is opened and
    closed by an update of the driver's run list, which takes ``update_cost`` on the task's core,
    cannot be preempted, and holds a mutex. Copy in, kernel and copy out lie between the two
    updates. While the owner of the GPU copies, waits for its core or waits for the mutex, the GPU
    idles. Before the kernel of another task than the last one runs, the GPU takes
    ``context_switch``: a bound counts one switch for each GPU segment of the task, and two for each
    one of a more urgent task that can preempt it. Source: [ECRTS24], Eqs. (9)-(14), corrected; the
    proof is in ``csrc/analysis/contexts/gcaps.h``.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> gs.analysis.gcaps(hosts, update_cost=1).response.tolist()
    [17, 33]
    >>> gs.analysis.gcaps(hosts, update_cost=1, context_switch=2).response.tolist()
    [19, 39]

    Parameters
    ----------
    hosts, cpus, sms, mode, fixed_point, order_free, stop
        As in `time_slices`. In mode "suspend", a task also releases its core while it waits for
        the mutex; in mode "busy" it spins.
    update_cost
        Time of an update (epsilon), in ticks.
    context_switch
        Time to switch to another context, in ticks. It is not counted if only one task uses the
        GPU, and must be 0 with ``variant="paper"``, whose equations have no switches. A switch that
        a more urgent task interrupts is lost, and the next one is a whole one.
    gpu_priority
        Priorities on the GPU, ``(n,)`` or ``(N, n)``; a smaller number is a higher priority. They
        must be distinct, and must order the tasks of a core like ``hosts.priority``. Those of tasks
        without GPU segments are ignored. Default: the order of ``hosts.priority``.
    stall
        Whether every update stops the GPU, instead of only those of higher-priority tasks.
    variant
        "sound", or "paper" for the printed equations (always in one pass), **which are unsound**:
        Eq. (9) counts too few updates of lower-priority tasks, and Eqs. (10) and (13) neglect that
        an owner keeps the GPU while it copies and while it waits for its core.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided. Terms: "own" (including the task's updates, the time that
        each may wait, and a switch for each segment), "request" (owners of the GPU, with two
        switches for each segment), "lower" (updates of lower-priority tasks of the core), "higher".

    Raises
    ------
    ValueError
        As in `time_slices`; also for GPU priorities that are equal or contradict those of a core,
        and for ``order_free`` with ``gpu_priority``.
    OverflowError, gpusched.Cancelled
        As in `time_slices`.

    Notes
    -----
    At each update, the owner is assumed to be chosen anew among all open segments. Algorithm 1 as
    printed does not do this: when a segment ends that is not the owner's, it lets a second task use
    the GPU.
    """
    options = {
        "update_cost": update_cost,
        "context_switch": context_switch,
        "stall": stall,
        "mode": mode,
        "fixed_point": fixed_point,
        "variant": variant,
        "gpu_priority": gpu_priority,
        "order_free": order_free,
    }
    return run_test(hosts, "gcaps", cpus, sms, options, stop=stop)
