"""Response-time tests of tasks with CPU and GPU segments under partitioned fixed priorities."""

from __future__ import annotations

from typing import Any, Literal

import numpy.typing as npt

from gpusched.analysis.placed_tests import FixedPoint, LockMode, Mode, Suspension, run_test
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks

__all__ = ["fmlp_plus", "gpu_server", "mpcp", "stgm"]


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
        One set or a stack, with cores and, for tasks with GPU segments, SMs; deadlines no longer
        than periods, and distinct priorities.
    cpus
        Number of cores. Default: as many as ``hosts.core`` uses.
    sms
        Number of SMs of the GPU. Default: ``hosts.sms``.
    mode
        "suspend": a task is suspended while it waits for the copy engine, its SMs or its kernel.
        "busy": it keeps its core from the start of a GPU segment to its end.
    variant
        "sound": the corrected equations. "paper": Eqs. (1)-(12) as printed, **which are unsound**:
        Eq. (5) omits that a kernel waits for one that itself waits, Eqs. (7) and (11) underestimate
        the delay by lower-priority tasks on the core, and Eq. (9) adds the blocking of the task
        itself to higher-priority tasks. "paper, B_h": adds their own blocking instead (mode "busy"
        only); also unsound.
    suspension
        How the interference by higher-priority tasks of the core, which suspend themselves, is
        counted. "jitter": over the whole response time, as if the task were ready throughout.
        "split": for each of them, the smaller of this and the sum over the ready intervals of the
        task's CPU segments; never worse, but not the default because `stgm_allocate` uses "jitter".
        There is no difference in mode "busy", in which no task suspends, and for printed variants.
        If neither task has a GPU segment there is no jitter (``csrc/analysis/common/jitter.h``),
        except with a printed variant.
    stop
        Writable buffer of one byte; the call ends when another thread sets the byte to 1.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        A task has no core or SM, a deadline exceeds its period, priorities are equal, the numbers
        of cores or SMs are too small, or there are more than 1024 SMs.
    OverflowError
        A sum of times exceeds 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    The guarantee assumes that

    - a kernel takes no longer than ``hosts.kernel`` states for its number of SMs, whatever runs on
      the other SMs: these times must include interference through caches and memory;
    - in mode "suspend", a copy needs the copy engine and, at boosted priority, the task's core, for
      its whole length. A program that spins while it waits for the copy engine is not covered, but
      mode "busy" covers it;
    - in mode "busy" a task is not preempted during a GPU segment;
    - a GPU segment begins when its task is scheduled at its own priority, also at the start of a
      job and after another GPU segment;
    - releases of a task are at least a period apart; segments may take less than the given time.
    """
    options = {"mode": mode, "variant": variant, "suspension": suspension}
    return run_test(hosts, "stgm", cpus, sms, options, stop=stop)


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
    """Test tasks that lock the whole GPU, granted by priority: MPCP.

    A job requests the lock for each GPU segment and holds it, at a boosted priority, until the end
    of the segment; the holder uses all SMs. Blocking is the smaller of a bound per request and a
    bound per job. The jitter is W - x, not W + B^r as in [RTSS09], Eq. (3), which was refuted.
    Sources: Rajkumar, Sha and Lehoczky, RTSS 1988; Lakshmanan, de Niz and Rajkumar, RTSS 2009
    [RTSS09].

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
    >>> gs.analysis.mpcp(hosts).response.tolist()
    [13, 12]

    Parameters
    ----------
    hosts, cpus, stop
        As in `stgm`; ``hosts.sm`` is ignored.
    sms
        Number of SMs on which kernels run. Default: the number of columns of ``hosts.kernel``.
    mode
        Tasks that wait for the lock are suspended ("suspend", "busy") or spin at their own priority
        ("spin"). The holder is suspended during kernels ("suspend") or keeps its core ("busy",
        "spin").
    fixed_point
        How the bounds, which depend on each other, are computed. "joint": the smallest vector of
        bounds that satisfies all equations, by iteration from below. "one_pass": task by task from
        the highest priority on, using the deadlines of lower-priority tasks as their bounds; never
        better. For a set that is not accepted, the answer is that of one pass in both cases. The
        proof is in ``csrc/analysis/partitioned/lock_test.h``.
    suspension
        How the interference by higher-priority tasks of the core, which suspend themselves, is
        counted. "jitter": over the whole response time, as if the task were ready throughout.
        "split": for each of them, the smaller of this and the sum over the ready intervals of the
        task's CPU segments; never worse. The proof is in
        ``csrc/analysis/common/ready_intervals.h``. The option has no effect in mode "spin", in
        which no task suspends. If neither task has a GPU segment there is no jitter
        (``csrc/analysis/common/jitter.h``): without a GPU, the bounds are those of classical
        response-time analysis of periodic tasks.

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    The errors of `stgm`. Releases of a task are assumed to be at least a period apart.
    """
    options = {"mode": mode, "fixed_point": fixed_point, "suspension": suspension}
    return run_test(hosts, "mpcp", cpus, sms, options, stop=stop)


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
    """Test tasks that lock the whole GPU, granted first come, first served: FMLP+.

    As `mpcp`, but with a FIFO queue; waiting tasks are suspended. Sources: Block, Leontyev,
    Brandenburg and Anderson, RTCSA 2007; Brandenburg, ECRTS 2014.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
    >>> gs.analysis.fmlp_plus(hosts).response.tolist()
    [25, 26]

    Parameters
    ----------
    hosts, cpus, sms, fixed_point, suspension, stop
        As in `mpcp`; the variant "gcaps" always uses one pass and jitter.
    mode
        "suspend": the holder of the lock is suspended during kernels. "busy": it keeps its core.
    variant
        "sound", or "gcaps" for the test in the public code of GCAPS [ECRTS24], which does not count
        the requests of higher-priority tasks on the core. That is correct if these keep the core,
        and **unsound** in mode "suspend".

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided.

    Raises
    ------
    The errors of `stgm`. Releases of a task are assumed to be at least a period apart.
    """
    options = {
        "mode": mode,
        "variant": variant,
        "fixed_point": fixed_point,
        "suspension": suspension,
    }
    return run_test(hosts, "fmlp_plus", cpus, sms, options, stop=stop)


def gpu_server(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    *,
    server: npt.ArrayLike | None = None,
    server_overhead: int = 0,
    fixed_point: FixedPoint = "joint",
    suspension: Suspension = "split",
    stop: Any = None,
) -> Verdict:
    """Test tasks whose GPU segments are run by a server task, in priority order.

    The server has the highest priority on its core, runs one segment at a time, executes the copies
    and is suspended during kernels. Tasks are suspended from the request to the notification. The
    server takes ``server_overhead`` at the start of a request, between two requests and for a
    notification. Source: Kim, Patel, Wang and Rajkumar, RTCSA 2017 and JSA 2018.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
    >>> gs.analysis.gpu_server(hosts, server_overhead=1).response.tolist()
    [15, 10]

    Parameters
    ----------
    hosts, cpus, sms, fixed_point, suspension, stop
        As in `mpcp`. With "one_pass", periods are used in place of the responses of higher-priority
        tasks that use the server. "split" applies to the server's work on a core as well.
    server
        Core of the server, one number or ``(N,)``. None: the server has its own core in addition to
        the ``cpus``.
    server_overhead
        Overhead in ticks (epsilon; the authors measured 50 us).

    Returns
    -------
    Verdict
        Sufficient: accepted or undecided. It has the attribute ``server``.

    Raises
    ------
    The errors of `stgm`; also ValueError for a core of the server that does not exist and for a
    negative overhead. Releases of a task are assumed to be at least a period apart.
    """
    options = {
        "server": server,
        "server_overhead": server_overhead,
        "fixed_point": fixed_point,
        "suspension": suspension,
    }
    return run_test(hosts, "gpu_server", cpus, sms, options, stop=stop)
