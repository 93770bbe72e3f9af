"""Response-time tests under partitioned fixed priorities, tasks with CPU and GPU segments."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import instance, int_array, integer64, one_of
from gpusched._support.registry import methods
from gpusched.analysis.partitioned_inputs import (
    FixedPoint,
    LockMode,
    Mode,
    Suspension,
    assigned_cores,
    few_sms,
    lock_test,
    sm_sets_of,
    variant_number,
    verdict_of,
    whole_gpu,
)
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.challenges.challenge_result import Sharing

__all__ = ["fmlp_plus", "gpu_server", "mpcp", "stgm"]


class _Ways(TypedDict):
    """Options of all tests with one GPU user at a time."""

    fixed_point: FixedPoint
    suspension: Suspension


def stgm(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    suspension: Suspension = "jitter",
    stop: Any = None,
) -> Verdict:
    """Test tasks that share the GPU by SMs: STGM, [RTCSA19], section IV-B.

    Tasks are assigned to cores and run there by fixed preemptive priorities (``hosts.core``,
    ``hosts.priority``). A kernel runs on its task's SMs (``hosts.sm``) and starts when every kernel
    launched earlier on one of them has ended. The copy engine serves copies in the order of their
    requests. A GPU segment runs at a boosted priority.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1], sm=[[0], [1]])
    >>> answer = gs.analysis.stgm(hosts)
    >>> answer.schedulable, answer.response.tolist()
    (True, [17, 20])

    Parameters
    ----------
    hosts
        One set or a stack, with cores and, for tasks with GPU segments, SMs; deadlines at most the
        periods, priorities that differ.
    cpus
        Number of cores; that of ``hosts.core`` unless given.
    sms
        Number of SMs of the GPU; ``hosts.sms`` unless given.
    mode
        "suspend": a task is suspended while it waits for the copy engine, its SMs or its kernel.
        "busy": it keeps its core from the start of a GPU segment to its end.
    variant
        "sound": the corrected equations. "paper": Eqs. (1)-(12) as printed, **which are unsound**:
        Eq. (5) omits that a kernel waits for one that itself waits, Eqs. (7) and (11) bound the
        delay by less urgent tasks on the core too low, and Eq. (9) charges more urgent tasks with
        the blocking of the task itself. "paper, B_h": with their own blocking instead (mode "busy"
        only); unsound, too.
    suspension
        Count of more urgent tasks of the core, which suspend. "jitter": in the whole
        response time, as if all of it were spent ready. "split": for each the smaller of this and
        what it can take of the CPU segments' ready intervals, one by one; never worse. It is not
        the default as `stgm_allocate` does not count that way. No difference in mode "busy", in
        which no task suspends, and for the printed variants. Where neither task has a GPU segment
        there is no jitter (``csrc/analysis/common/jitter.h``), unless `variant` is a printed one.
    stop
        A writable buffer of one byte; setting it to 1 in another thread ends the call.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        Tasks without a core or SM, deadlines above the period, priorities that tie, numbers of
        cores or SMs that do not suffice, more than 1024 SMs.
    OverflowError
        Times whose sums exceed 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    The guarantee assumes that

    - a kernel takes no longer than ``hosts.kernel`` states for its number of SMs, whatever runs on
      the other SMs: interference through caches and memory is in these numbers;
    - in mode "suspend" a copy needs the copy engine and, at boosted priority, the task's core, for
      its whole length. A program that spins while it waits for the copy engine is not covered;
      mode "busy" covers it;
    - in mode "busy" a task is not preempted during a GPU segment;
    - a GPU segment begins when its task is scheduled at its own priority, also at the start of a
      job and after another GPU segment;
    - releases of a task are at least a period apart; segments may take less than the given time.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, methods()["stgm"].choices("mode"), "mode")
    one_of(variant, methods()["stgm"].choices("variant"), "variant")
    one_of(suspension, methods()["stgm"].choices("suspension"), "suspension")
    began = perf_counter()
    cores, count = assigned_cores(hosts, cpus)
    width = hosts.sms if sms is None else few_sms(integer64(sms, "sms"))
    answer = _core.host_stgm(
        hosts._columns(),
        cores,
        sm_sets_of(hosts, width),
        cpus=count,
        busy=mode == "busy",
        paper=variant_number(variant),
        split=suspension == "split",
        stop=stop,
    )
    return verdict_of(hosts, "stgm", variant, mode, count, width, answer, began)


def mpcp(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    mode: LockMode = "suspend",
    fixed_point: FixedPoint = "joint",
    suspension: Suspension = "split",
    stop: Any = None,
) -> Verdict:
    """Test tasks that lock the whole GPU, the most urgent waiting task next: MPCP.

    A job requests the lock for each GPU segment and holds it to the segment's end, at a boosted
    priority; the holder has all SMs. Blocking is the smaller of a bound per request and a bound per
    job; the jitter is W - x, not the refuted W + B^r of [RTSS09], Eq. (3). Sources: Rajkumar, Sha
    and Lehoczky, RTSS 1988; Lakshmanan, de Niz and Rajkumar, RTSS 2009 [RTSS09].

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
    >>> gs.analysis.mpcp(hosts).response.tolist()
    [13, 12]

    Parameters
    ----------
    hosts, cpus, stop
        As in `stgm`; ``hosts.sm`` is ignored.
    sms
        Number of SMs that kernels run with; the number of columns of ``hosts.kernel`` unless given.
    mode
        Waiting tasks are suspended ("suspend", "busy") or spin at their own priority ("spin"); the
        holder is suspended during kernels ("suspend") or keeps its core ("busy", "spin").
    fixed_point
        Order in which bounds are found, as each depends on those of other tasks. "joint": the least
        vector of bounds that satisfies all equations, from below. "one_pass": task by task from the
        most urgent on, with the deadlines of less urgent ones; never better. Where a set is not
        accepted, the answer is that of one pass in both cases. The proof is in
        ``csrc/analysis/partitioned/lock_test.h``.
    suspension
        Count of more urgent tasks of the core, which suspend. "jitter": in the whole
        response time, as if all of it were spent ready. "split": for each the smaller of this and
        what it can take of the CPU segments' ready intervals, one by one; never worse. The proof is
        in ``csrc/analysis/common/ready_intervals.h``. Mode "spin", in which no task suspends, has
        neither choice. Where neither task has a GPU segment there is no jitter
        (``csrc/analysis/common/jitter.h``): without a GPU the bounds are those of response-time
        analysis for periodic tasks.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    As `stgm`. Releases of a task are assumed to be at least a period apart.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, methods()["mpcp"].choices("mode"), "mode")
    began = perf_counter()
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    ways: _Ways = {"fixed_point": fixed_point, "suspension": suspension}
    answer = lock_test("mpcp", hosts, cores, count, width, mode, **ways, stop=stop)
    return verdict_of(hosts, "mpcp", "sound", mode, count, width, answer, began)


def fmlp_plus(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    mode: Mode = "suspend",
    variant: Literal["sound", "gcaps"] = "sound",
    fixed_point: FixedPoint = "joint",
    suspension: Suspension = "split",
    stop: Any = None,
) -> Verdict:
    """Test tasks that lock the whole GPU, first come, first served: FMLP+.

    As `mpcp`, with a FIFO queue; waiting tasks are suspended. Sources: Block, Leontyev, Brandenburg
    and Anderson, RTCSA 2007; Brandenburg, ECRTS 2014.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> gs.analysis.fmlp_plus(hosts).response.tolist()
    [25, 26]

    Parameters
    ----------
    hosts, cpus, sms, fixed_point, suspension, stop
        As in `mpcp`; the variant "gcaps" has one pass and jitter.
    mode
        "suspend": the holder of the lock is suspended during kernels; "busy": it keeps its core.
    variant
        "sound", or "gcaps": as in the public code of GCAPS [ECRTS24], which does not count the
        requests of more urgent tasks on the core. That is right where these keep the core, and
        **unsound** in mode "suspend".

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    As `stgm`. Releases of a task are assumed to be at least a period apart.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, methods()["fmlp_plus"].choices("mode"), "mode")
    one_of(variant, methods()["fmlp_plus"].choices("variant"), "variant")
    began = perf_counter()
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    ways: _Ways = {"fixed_point": fixed_point, "suspension": suspension}
    paper = variant == "gcaps"
    answer = lock_test(
        "fmlp_plus", hosts, cores, count, width, mode, paper=paper, **ways, stop=stop
    )
    return verdict_of(hosts, "fmlp_plus", variant, mode, count, width, answer, began)


def gpu_server(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    server: npt.ArrayLike | None = None,
    overhead: int = 0,
    fixed_point: FixedPoint = "joint",
    suspension: Suspension = "split",
    stop: Any = None,
) -> Verdict:
    """Test tasks whose GPU segments a server task runs, the most urgent task's first.

    The server has the highest priority on its core, runs one segment at a time, executes the copies
    and is suspended during kernels; tasks are suspended from request to notification. It takes
    ``overhead`` at the start of a request, between two requests and for a notification. Source:
    Kim, Patel, Wang and Rajkumar, RTCSA 2017 and JSA 2018.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
    >>> gs.analysis.gpu_server(hosts, overhead=1).response.tolist()
    [15, 10]

    Parameters
    ----------
    hosts, cpus, sms, fixed_point, suspension, stop
        As in `mpcp`. In one pass periods stand for the responses of more urgent tasks that use the
        server; "split" holds for the server's work on a core as for its tasks.
    server
        Core of the server, one number or ``(N,)``; None for a core of its own beside the ``cpus``.
    overhead
        Ticks (epsilon; the authors measured 50 us).

    Returns
    -------
    Verdict
        With ``server``. Sufficient: accepted or undecided.

    Raises
    ------
    As `stgm`; also ValueError for a server's core that does not exist and a negative overhead.
    Releases of a task are assumed to be at least a period apart.
    """
    instance(hosts, HostTasks, "hosts")
    began = perf_counter()
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    place = np.int64(count) if server is None else int_array(server, "server")
    sets = len(cores)
    if np.ndim(place) > 1 or (np.ndim(place) == 1 and np.shape(place) != (sets,)):
        raise ValueError(
            f"server: got shape {np.shape(place)}, expected one core, or one for each set"
        )
    places = np.ascontiguousarray(np.broadcast_to(place, (sets,)))
    late = integer64(overhead, "overhead")
    ways: _Ways = {"fixed_point": fixed_point, "suspension": suspension}
    answer = lock_test(
        "gpu_server", hosts, cores, count, width, server=places, overhead=late, **ways, stop=stop
    )
    asked = (hosts, "gpu_server", "sound", "suspend", count, width)
    return verdict_of(*asked, answer, began, server=places, sharing=Sharing(overhead=late))
