"""Simulation of tasks with CPU and GPU segments (``gs.simulate.host``, ``host_responses``).

The models of [RTCSA19] (STGM and the protocols that it is compared with, under partitioned fixed
priorities) and of [RTNS10] (a GPU under global EDF). ``host_responses`` simulates stacks of task
sets and keeps only the largest responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import flag, instance, integer, seed_key, set_number
from gpusched._support.budget import Budget, as_budget, within_seconds
from gpusched._support.progress import Progress
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.arguments.host_arguments import (
    Contexts,
    Mode,
    Policy,
    Protocol,
    Ring,
    host_model,
    release_ends,
    trigger_bits,
)
from gpusched.simulate.fifo_releases import Releases
from gpusched.simulate.host_given import read_given
from gpusched.simulate.host_result import HostResponses, HostRun, Intervals
from gpusched.simulate.run_slices import run_to_end

__all__ = ["host", "host_responses"]


def host(
    hosts: HostTasks,
    cpus: int,
    policy: Policy = "partitioned",
    protocol: Protocol | None = None,
    *,
    until: int | None = None,
    releases: Releases | None = None,
    times: Sequence[npt.ArrayLike] | None = None,
    mode: Mode | None = None,
    sms: int | None = None,
    server: int | None = None,
    overhead: int = 0,
    server_period: int | None = None,
    slice: int | None = None,
    switch: int = 0,
    ring: Ring = "fifo",
    update: int = 0,
    stall: bool = False,
    gpu_priority: npt.ArrayLike | None = None,
    execution: Any = 1.0,
    gap: float = 0.0,
    victim: int | None = None,
    triggers: str | Iterable[str] = ("request",),
    seed: Any = None,
    index: int = 0,
    intervals: bool = True,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> HostRun:
    """Simulate tasks with CPU and GPU segments under the rules of the tests of ``gs.analysis``.

    The jobs of a task run one after the other. A GPU segment begins when its task is running on its
    core and has no CPU work left before the segment; after the segment, the task continues at its
    own priority. Events at the same time are processed in this order: activities end, jobs are
    released, cores choose tasks, GPU segments begin, and the GPU is granted. Simultaneous requests
    are ordered by priority. Parts of length 0 are skipped. The complete rules are stated in
    ``csrc/simulate/host/host.h``.

    >>> jobs = [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]]     # CPU, (copy, kernel, copy), CPU
    >>> hosts = gs.HostTasks.from_segments([20, 30], jobs, core=[0, 1])
    >>> run = gs.simulate.host(hosts, cpus=2, protocol="mpcp", until=600)
    >>> [int(run.response[run.task == task].max()) for task in range(2)]
    [13, 22]

    Parameters
    ----------
    hosts
        One task set; ``offset`` is the first release.
    cpus
        Number of CPUs.
    policy
        "partitioned": preemptive fixed priorities on each core, by ``hosts.core`` and
        ``hosts.priority`` (a smaller number is a higher priority; all distinct). "gedf": the jobs
        with the earliest absolute deadlines run, on any CPU (ties: priority, then index).
    protocol
        Protocol for sharing the GPU, named as in ``gs.analysis``, so that the ``test`` of a verdict
        can be passed. With policy "partitioned":

        - "stgm" ([RTCSA19], default): one copy engine, first come, first served over all cores,
          with copies at boosted priority; kernels run on the SMs of ``hosts.sm``, in order of
          launch on each SM, and tasks on disjoint SMs run at the same time.
        - "mpcp": one lock on the whole GPU, granted to the waiting task of the highest priority;
          the holder is boosted.
        - "fmlp_plus": the same lock, granted first come, first served.
        - "gpu_server": a task with the highest priority on its core runs all GPU segments, one
          after the other, in order of the clients' priorities; clients suspend until they are
          notified.
        - "time_slices" ([ECRTS24]; no lock and no boosting, copies are CPU work at the task's own
          priority): the GPU serves the launched kernels in turn, for one ``slice`` each.
        - "gcaps" (likewise): the GPU serves the task with the highest GPU priority among those with
          an open GPU segment; opening and closing a segment is an ``update``.

        With policy "gedf" ([RTNS10]):

        - "fmlp" (FMLP-Long, default): one lock, granted first come, first served; the holder
          inherits the earliest deadline of the waiting jobs.
        - "omlp": the same, with a FIFO queue of at most ``cpus`` jobs and a queue ordered by
          deadline behind it.
        - "driver": no lock; the GPU executes whole segments, copies and kernel, in the order in
          which they begin, while their jobs spin at their own deadlines, or suspend.
        - "container" (the Container Method): all tasks with GPU segments are served, in the order
          of their releases, by one server, a task of global EDF with a budget in each
          ``server_period``.
    until
        End of the interval in which jobs are released, in ticks; these jobs run to their end.
        Required without ``releases``.
    releases
        Explicit release times instead of periodic ones; all these jobs run to their end. One row of
        times per task, columns ``task`` and ``time``, or the jobs of a run. Releases of a task are
        at least a period apart. ``hosts.offset``, ``gap`` and ``triggers`` are then not used, and a
        ``victim`` only has its requests queued after simultaneous ones.
    times
        With ``releases`` as rows: the execution times of their jobs, for each task an array (jobs,
        4 k + 1), where k is its number of GPU segments (or that of the set), of CPU segment, copy
        in, kernel, copy out, CPU segment, ... Each is at least one tick and at most the worst case,
        and 0 if that is 0. Without it, ``execution`` applies.
    mode
        Behaviour of tasks while they wait for or use the GPU. Default: "suspend", or "spin" with
        "driver".

        - "suspend": tasks suspend while they wait for the GPU and during kernels. With "container",
          this is the paper's work-conserving variant: the server serves the first job in the
          container that is not suspended on the GPU; while all jobs are suspended, other tasks may
          use the server's CPU.
        - "busy": with "stgm", a task keeps its core from the start of a GPU segment to its end;
          with a lock, the holder keeps its core and waiting tasks suspend; with "time_slices" and
          "gcaps", tasks spin at their own priority; with "container", the server idles on its CPU
          while the first job is suspended. With "container", suspension counts as execution in both
          modes.
        - "spin": with "mpcp" and "fmlp_plus", waiting tasks spin at their own priority; with
          "driver", jobs spin from the request to its end.
    sms
        Number of SMs of the GPU. With "stgm", that of ``hosts.sm``. Otherwise all kernels run on
        all SMs; default: the number of SMs for which kernel times are given, as in the tests, or
        ``hosts.sms`` if that is larger.
    server, overhead
        With "gpu_server": core of the server (default: ``cpus``, a core of its own), and its
        execution time in ticks at each wake-up and after each segment, before it notifies the
        client.
    server_period
        With "container": period P of the server. Its budget is w P rounded up to a tick, at most P,
        where w is the sum of (e + s) / p of the tasks inside. Default: the shortest period of these
        tasks. This is as in ``gs.analysis.container``, whose bounds for this budget are those with
        ``whole_budget=True``.
    slice, ring
        With "time_slices": maximum length of a kernel's turn while others wait, in ticks
        (required), and the order of turns, "fifo" (after its slice, a task goes to the end of the
        queue) or "cyclic" (the next task by priority). A kernel that is launched at the very end of
        a slice counts for the choice of the next task, and precedes the one whose slice ends.
    switch
        With "time_slices" and "gcaps": time in ticks that the GPU takes before it runs the kernel
        of a different task than the last one. With "gcaps", an update by which a more urgent task
        begins a segment ends the switch in vain; the next switch takes the whole time.
    update, stall, gpu_priority
        With "gcaps": length of an update in ticks, which runs on the task's core, one at a time,
        non-preemptively; whether every update stops the GPU, or only the first one of a task of
        higher GPU priority; and GPU priorities as in ``gs.analysis.gcaps``.
    execution
        Execution times as a share of the worst case: one number, or a pair (low, high) for times
        drawn uniformly from ceil(low x) .. floor(high x) for each part of each job, at least one
        tick. 0.1 means exactly one tenth.
    gap
        For sporadic tasks: maximum extra time between two releases, as a share of the period. It is
        drawn uniformly. 0: periodic tasks.
    victim
        Index of a task under analysis. The releases of the other tasks are chosen to maximise its
        response time: they occur at the times given by ``triggers``, as far as the periods allow,
        and its requests are queued after theirs. Its own releases do not change.
    triggers
        Events of the victim's jobs at which other tasks release jobs, one or several of: "release"
        (a job becomes the current one of its task), "request" (a GPU segment begins), "resume" (a
        GPU segment has ended), "finish".
    seed, index
        Seed (an int, a ``SeedSequence``, a ``Generator`` or None), and index of the set under it.
        Random numbers depend only on these, the task, the job and the part: set i of
        ``host_responses`` behaves like ``index=i`` here.
    intervals
        Whether to keep the intervals, for pictures, ``spent`` and traces.
    budget
        A ``gs.Budget``, whose ``states`` limits the jobs. Default: 2 GiB.
    progress
        A callable (now, until), in ticks, or a bool that turns a progress bar on or off; by default
        a bar appears in a terminal or a notebook after one second. Bars need tqdm.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    HostRun
        The jobs, and the intervals in which they ran and waited.

    Raises
    ------
    ValueError
        The tasks are a stack, a task has no core (with "stgm", no SM), priorities are equal, or
        options are unknown or cannot be combined.
    OverflowError
        Times are too large (releases: 2**59 ticks).
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(hosts, HostTasks, "hosts")
    if hosts.is_stack:
        raise ValueError(
            f"hosts: got a stack of {len(hosts)} sets, expected one set; host_responses gives the "
            "largest responses of a stack"
        )
    given = read_given(hosts, releases, times, until, execution, gap)
    last = release_ends(0 if releases is not None else until, 1)
    model = host_model(
        hosts,
        cpus,
        policy,
        protocol,
        mode,
        sms,
        server,
        overhead,
        server_period,
        execution,
        gap,
        victim,
        1,
        Contexts(slice, switch, ring, update, stall, gpu_priority),
    )
    budget = as_budget(budget)
    timed = within_seconds(stop, budget.seconds)
    simulation = _core.host_open(
        **model.arguments,
        until=last,
        victim=model.victim,
        triggers=trigger_bits(triggers),
        key=seed_key(seed),
        index=set_number(index, "index"),
        log_intervals=flag(intervals, "intervals"),
        stop=stop,
        **given,
    )
    total = int(last[0]) if releases is None else int(given["release"].max(initial=0))
    ended = run_to_end(simulation, budget, progress, timed, total=total, unit="tick")
    worst, finished, missed = simulation.result()
    task, job, release, begin, finish = simulation.jobs()
    deadline = hosts.deadline[task]
    deadline += release
    return HostRun(
        task=task,
        job=job,
        release=release,
        deadline=deadline,
        start=begin,
        finish=finish,
        intervals=Intervals(*simulation.intervals()) if intervals else None,
        tasks=hosts,
        cpus=integer(cpus, "cpus"),
        policy=policy,
        protocol=model.protocol,
        mode=model.mode,
        sms=model.sms,
        server=int(model.server[0]) if model.protocol == "gpu_server" else None,
        overhead=model.overhead,
        server_period=int(model.server_period[0]) if model.protocol == "container" else None,
        outcome="done" if ended.reason is None else "budget",
        worst=worst,
        finished=finished,
        missed=missed,
        now=ended.now,
        reason=ended.reason,
    )


def host_responses(
    hosts: HostTasks,
    cpus: int,
    policy: Policy = "partitioned",
    protocol: Protocol | None = None,
    *,
    until: Any,
    mode: Mode | None = None,
    sms: int | None = None,
    server: Any = None,
    overhead: int = 0,
    server_period: Any = None,
    slice: int | None = None,
    switch: int = 0,
    ring: Ring = "fifo",
    update: int = 0,
    stall: bool = False,
    gpu_priority: npt.ArrayLike | None = None,
    execution: Any = 1.0,
    gap: float = 0.0,
    victim: Any = None,
    triggers: str | Iterable[str] = ("request",),
    seed: Any = None,
    first: int = 0,
    budget: Budget | None = None,
    stop: Any = None,
) -> HostResponses:
    """Compute the largest response of each task in ``host`` simulations of many sets.

    All sets are simulated in a single call of C code.

    >>> hosts = gs.generate.stgm(count=3, seed=1, cpus=2)
    >>> placed = gs.analysis.partition(hosts, cpus=2, sms=13, protocol="mpcp").hosts
    >>> gs.simulate.host_responses(placed, 2, protocol="mpcp", until=10**6).response.shape
    (3, 6)

    Parameters
    ----------
    hosts
        A stack of N sets, or one set.
    until, server, server_period
        As in ``host``; one number, or one per set.
    cpus, policy, protocol, mode, sms, overhead, execution, gap, triggers
        As in ``host``, the same for all sets.
    slice, switch, ring, update, stall, gpu_priority
        As in ``host``, the same for all sets; ``gpu_priority`` may be (N, n).
    victim
        As in ``host``; one index, or one per set (-1: periodic or sporadic releases).
    seed, first
        Set i uses the random numbers of set ``first + i`` of the seed.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit the jobs of each set. Each set
        gets an equal part of the seconds that are left.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    HostResponses
        Arrays (N, n), and (N,) for results about a set; one axis less for a single set. If the sets
        differ in size, unused rows are 0.

    Raises
    ------
    ValueError, OverflowError, gpusched.Cancelled
        As in ``host``; the message has the index of the set.
    """
    instance(hosts, HostTasks, "hosts")
    limits = as_budget(budget)
    sets = len(hosts) if hosts.is_stack else 1
    model = host_model(
        *(hosts, cpus, policy, protocol, mode, sms, server, overhead, server_period),
        *(execution, gap, victim, sets),
        Contexts(slice, switch, ring, update, stall, gpu_priority),
    )
    worst, finished, missed, status = _core.host_responses(
        **model.arguments,
        until=release_ends(until, sets),
        victim=model.victim,
        triggers=trigger_bits(triggers),
        key=seed_key(seed),
        first=set_number(first),
        states=limits.states or 0,
        bytes=limits.bytes or 0,
        seconds=limits.seconds or 0.0,
        stop=stop,
    )
    outcome = np.array(HostRun.OUTCOMES)[np.minimum(status, 1)]
    if not hosts.is_stack:
        worst, finished, missed, outcome = worst[0], finished[0], missed[0], outcome[0]
    return HostResponses(worst, finished, np.asarray(outcome), missed)
