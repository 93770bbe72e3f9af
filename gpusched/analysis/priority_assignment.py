"""Assignment of priorities with which a test accepts a set."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import instance, integer64, one_of
from gpusched._support.registry import enumeration, methods
from gpusched.analysis.assignment_answer import Assignment
from gpusched.analysis.placed_tests import run_test, sound_test, tested
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.host_tasks import HostTasks
from gpusched.ways.way import Way, placed_way

__all__ = ["assign_priorities"]

_METHODS = enumeration("analysis.assignment")


def assign_priorities(
    hosts: HostTasks,
    way: Way | str,
    *,
    cpus: int | None = None,
    sms: int | None = None,
    of: Literal["cpu", "gpu"] = "cpu",
    budget: int = 10_000,
    stop: Any = None,
    **options: Any,
) -> Assignment:
    """Choose priorities with which a test accepts each set; cores and SMs do not change.

    Audsley's algorithm is used if it is proven to find such priorities whenever they exist: for
    stgm in mode "busy", and for time_slices and gcaps with ``order_free=True`` (the forms of these
    tests that use deadlines in place of all responses; not with ``stall``). Priorities accepted by
    these forms are also accepted by the other forms of the tests, so that it is tried first for
    them as well. Then deadline-monotonic priorities are tried, and then all orders, except those
    that begin with tasks that already fail, for at most ``budget`` tests. Sources: Audsley, 1991;
    Davis and Burns, 2011; the proofs are in ``csrc/analysis/priorities/``.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [10, 10, 22], [[1], [1], [2, (0, 7, 1), 1]], deadline=[6, 9, 14], core=[0, 0, 0])
    >>> gs.analysis.mpcp(hosts).failed
    2
    >>> found = gs.analysis.assign_priorities(hosts, "mpcp")
    >>> found.hosts.priority.tolist(), found.method, found.response.tolist()
    ([0, 2, 1], 'exhaustive', [2, 6, 13])

    Parameters
    ----------
    hosts
        One set or a stack of N, as the test takes it. With ``of="cpu"``, its priorities are
        ignored.
    way
        A way of sharing the GPU with a test of tasks with cores: ``Stgm``, ``Mpcp``, ``FmlpPlus``,
        ``GpuServer``, ``TimeSlices`` or ``Gcaps`` of ``gs.ways``, or its name.
    cpus, sms
        Numbers of cores and SMs, as in the test.
    of
        "cpu": priorities of the tasks on their cores (with gcaps, on the GPU too). "gpu": GPU
        priorities for gcaps, found by Audsley's algorithm among those that agree with the CPU
        priorities of each core, with deadlines in place of all responses; if it finds none, the CPU
        priorities are used.
    budget
        Maximum number of tests of the search over orders, for each set; 0 for no search.
    stop
        Writable buffer of one byte; the call ends when another thread sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"`` or ``timeslice=2_000_000``.

    Returns
    -------
    Assignment
        The set with its priorities, how they were found, and the verdict with them.

    Raises
    ------
    ValueError
        The errors of the test; also for a variant that is not sound, for ``gpu_priority`` among the
        options, and for ``of="gpu"`` with another test than gcaps, ``order_free`` or ``stall``.
    OverflowError, gpusched.Cancelled
        As in the test.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(of, methods()["assign_priorities"].choices("of"), "of")
    most = integer64(budget, "budget")
    way = placed_way(way, **options)
    if way.given.get("gpu_priority") is not None:
        raise ValueError(
            "gpu_priority: got numbers, expected none; those of the GPU follow the CPU priorities, "
            "or are chosen with of='gpu'"
        )
    if of == "gpu":
        _refuse_without_levels(way)
    else:
        ranks = deadline_ranks(hosts.deadline, hosts.is_task)
        hosts = hosts._replaced(priority=np.where(hosts.is_task, ranks, 0))
    test = sound_test(hosts, way, cpus, sms)
    tested(test, perf_counter(), stop)  # refuses what the test refuses
    priority, code, _, optimal, tests = _core.host_assign_priorities(
        *test.arrays, gpu=of == "gpu", budget=most, **test.options, stop=stop
    )
    chosen = priority if hosts.is_stack else priority[0]
    if of == "gpu":
        verdict = run_test(hosts, way, cpus, sms, {"gpu_priority": chosen}, stop=stop)
    else:
        hosts = hosts._replaced(priority=np.where(hosts.is_task, chosen, 0))
        verdict = run_test(hosts, way, cpus, sms, stop=stop)
    names = np.array(_METHODS)[code]
    one = not hosts.is_stack
    return Assignment(
        verdict=verdict,
        of=of,
        gpu_priority=chosen if of == "gpu" else None,
        method=str(names[0]) if one else names,
        optimal=bool(optimal[0]) if one else optimal,
        tests=int(tests[0]) if one else tests,
    )


def _refuse_without_levels(way: Way) -> None:
    """Raise ValueError for tests whose GPU priorities cannot be chosen."""
    if "gpu_priority" not in way._options:
        raise ValueError(f"of: got 'gpu' for {way.name}, expected 'cpu'; gcaps has GPU priorities")
    for name in ("order_free", "stall"):
        if way.given.get(name):
            raise ValueError(f"{name}: got True, expected False with of='gpu'")
