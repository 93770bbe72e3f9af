"""Response-time tests under partitioned fixed priorities, tasks with CPU and GPU segments."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import instance, int_array, integer64, one_of
from gpusched.analysis.partitioned_inputs import (
    LOCK_MODES,
    STGM_VARIANTS,
    LockMode,
    Mode,
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

__all__ = ["fmlp_plus", "gpu_server", "mpcp", "stgm"]


def stgm(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "paper", "paper, B_h"] = "sound",
    *,
    stop: Any = None,
) -> Verdict:
    """The test of the STGM paper, section IV-B: tasks share the GPU by SMs.

    Tasks are assigned to cores and run there by fixed preemptive priorities (``hosts.core``,
    ``hosts.priority``). A kernel runs on its task's SMs (``hosts.sm``) and starts when every kernel
    that was launched before on one of them has ended. Copies take the one copy engine, first come,
    first served. A GPU segment runs at a boosted priority.

    The claim rests on this:

    - a kernel takes no longer than ``hosts.kernel`` says for its number of SMs, whatever runs on
      the other SMs: what kernels on different SMs do to each other through caches and memory must
      be in these numbers;
    - mode "suspend": while a task waits for the copy engine, for its SMs or for its kernel, it is
      suspended; a copy needs the copy engine and, at boosted priority, the task's core, for its
      whole length. A program that spins while it waits for the copy engine is not covered; mode
      "busy" covers it;
    - mode "busy": from the start of a GPU segment to its end the task keeps its core and cannot be
      preempted;
    - a GPU segment begins when its task is scheduled at its own priority, also at the start of a
      job and after another GPU segment;
    - releases of a task are at least a period apart; segments may take less than they are given.

    Parameters
    ----------
    hosts
        One set or a stack, with cores and, for tasks with GPU segments, SMs; deadlines at most the
        periods, priorities that differ.
    cpus
        How many cores; as many as ``hosts.core`` has unless given.
    sms
        How many SMs the GPU has; ``hosts.sms`` unless given.
    mode
        "suspend" or "busy", see above.
    variant
        "sound": the corrected equations. "paper": Eqs. (1)-(12) as printed, **which are unsound**:
        Eq. (5) misses that a kernel waits for one that itself waits, Eqs. (7) and (11) bound
        what less urgent tasks do on the core too low, and Eq. (9) charges more urgent tasks
        with the blocking of the task itself. "paper, B_h": with their own instead (mode "busy"
        only); unsound, too.
    stop
        A writable buffer of one byte; setting it to 1 in another thread ends the call.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        Tasks without a core or SM, deadlines beyond the period, priorities that tie, numbers of
        cores or SMs that do not suffice, more than 1024 SMs.
    OverflowError
        Jobs that overflow the clock.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, STGM_VARIANTS, "variant")
    cores, count = assigned_cores(hosts, cpus)
    width = hosts.sms if sms is None else few_sms(integer64(sms, "sms"))
    answer = _core.host_stgm(
        hosts._columns(),
        cores,
        sm_sets_of(hosts, width),
        cpus=count,
        busy=mode == "busy",
        paper=variant_number(variant),
        stop=stop,
    )
    return verdict_of(hosts, "stgm", variant, mode, count, width, answer)


def mpcp(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: LockMode = "suspend",
    *,
    stop: Any = None,
) -> Verdict:
    """MPCP: one lock for the whole GPU, which the most urgent waiting task gets next.

    Rajkumar, Sha and Lehoczky (RTSS 1988); Lakshmanan, de Niz and Rajkumar (RTSS 2009). A job
    requests the lock for each GPU segment and holds it to the segment's end, at a boosted priority;
    the holder has all SMs. Blocking is the smaller of what a request and what a job can meet, and
    jitter is W - x, not the refuted W + B^r of LNR'09, Eq. (3).

    The claim rests on this: waiting tasks are suspended ("suspend", "busy") or spin at their own
    priority ("spin"); the holder is suspended during kernels ("suspend") or keeps its core ("busy",
    "spin"). Releases of a task are at least a period apart.

    Parameters
    ----------
    hosts, cpus, stop
        As in `stgm`; ``hosts.sm`` is not looked at.
    sms
        With how many SMs kernels run; as many as ``hosts.kernel`` has times for unless given.
    mode
        "suspend", "busy" or "spin", see above.

    Returns
    -------
    Verdict

    Raises
    ------
    As `stgm`.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES, "mode")
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    answer = lock_test("mpcp", hosts, cores, count, width, mode, stop=stop)
    return verdict_of(hosts, "mpcp", "sound", mode, count, width, answer)


def fmlp_plus(
    hosts: HostTasks,
    cpus: int | None = None,
    sms: int | None = None,
    mode: Mode = "suspend",
    variant: Literal["sound", "gcaps"] = "sound",
    *,
    stop: Any = None,
) -> Verdict:
    """FMLP+: one lock for the whole GPU, first come, first served.

    Block, Leontyev, Brandenburg and Anderson (RTCSA 2007); Brandenburg (ECRTS 2014). As `mpcp`, but
    for the order of the queue; waiting tasks are suspended.

    Parameters
    ----------
    hosts, cpus, sms, stop
        As in `mpcp`.
    mode
        "suspend": the holder of the lock is suspended during kernels; "busy": it keeps its core.
    variant
        "sound", or "gcaps": as the public code of GCAPS (RTAS 2024) has it. That does not count the
        requests of more urgent tasks on the core, which is right if these keep the core, but
        **unsound** in mode "suspend".

    Returns
    -------
    Verdict

    Raises
    ------
    As `stgm`.
    """
    instance(hosts, HostTasks, "hosts")
    one_of(mode, LOCK_MODES[:2], "mode")
    one_of(variant, ("sound", "gcaps"), "variant")
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    paper = variant == "gcaps"
    answer = lock_test("fmlp_plus", hosts, cores, count, width, mode, paper=paper, stop=stop)
    return verdict_of(hosts, "fmlp_plus", variant, mode, count, width, answer)


def gpu_server(
    hosts: HostTasks,
    cpus: int | None = None,
    server: Any = None,
    overhead: int = 0,
    sms: int | None = None,
    *,
    stop: Any = None,
) -> Verdict:
    """A server task runs all GPU segments, one at a time, the most urgent task's first.

    Kim, Patel, Wang and Rajkumar (RTCSA 2017; JSA 2018). The server has the highest priority on its
    core, executes the copies and is suspended during kernels; tasks are suspended from request to
    notice. It takes ``overhead`` at the start of a request, between two of them and to notify.

    Parameters
    ----------
    hosts, cpus, sms, stop
        As in `mpcp`.
    server
        The server's core, one number or ``(N,)``; None for a core of its own beside the ``cpus``.
    overhead
        In ticks (epsilon; the authors measured 50 us).

    Returns
    -------
    Verdict
        With ``server``.

    Raises
    ------
    As `stgm`; also for a server's core that is none, and a negative overhead.
    """
    instance(hosts, HostTasks, "hosts")
    cores, count = assigned_cores(hosts, cpus)
    width = whole_gpu(hosts, sms)
    place = np.int64(count) if server is None else int_array(server, "server")
    sets = len(cores)
    if np.ndim(place) > 1 or (np.ndim(place) == 1 and np.shape(place) != (sets,)):
        raise ValueError(f"server: shape {np.shape(place)}; must be one core, or one for each set")
    places = np.ascontiguousarray(np.broadcast_to(place, (sets,)))
    late = integer64(overhead, "overhead")
    answer = lock_test(
        "gpu_server", hosts, cores, count, width, server=places, overhead=late, stop=stop
    )
    return verdict_of(hosts, "gpu_server", "sound", "suspend", count, width, answer, server=places)
