"""Simulation of tasks with CPU and GPU segments (``gs.simulate.host``, ``host_responses``).

The models of [RTCSA19] (STGM and the protocols that it is compared with, partitioned fixed
priorities) and of [RTNS10] (a GPU under global EDF). ``host_responses`` runs stacks of task sets
and keeps only the largest responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    flag,
    instance,
    integer,
    seed_key,
    set_number,
)
from gpusched._support.budget import Budget, as_budget
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

    The jobs of a task run one after the other. A GPU segment begins when its task is the one that
    its core runs and has no CPU work left before the segment; after it the task is back at its own
    priority. At one instant, what is due ends first, then jobs are released, then cores choose, GPU
    segments begin, and the GPU is given out; requests of one instant are in order of priority. A
    part of length 0 is none. The rules are stated in full in ``csrc/simulate/host/host.h``.

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
        ``hosts.priority`` (a smaller number is more urgent; all different). "gedf": the jobs of the
        earliest absolute deadlines run, on any CPU (ties: priority, then index).
    protocol
        How the tasks share the GPU; named as the tests of ``gs.analysis``, so that a verdict's
        ``test`` serves. With "partitioned": "stgm" ([RTCSA19], unless given): one copy engine,
        first come, first served over all cores, copies at boosted priority; kernels on the SMs of
        ``hosts.sm``, in order of launch on each SM, tasks on disjoint SMs at the same time. "mpcp":
        one lock on the whole GPU, the most urgent waiting task next; its holder is boosted.
        "fmlp_plus": the same lock, first come, first served. "gpu_server": a task more urgent than
        all others of its core does all GPU segments, one after the other, the most urgent client's
        next; clients suspend until they are told. Without a lock and boosting, copies being CPU
        work at the task's own priority ([ECRTS24]): "time_slices": the GPU serves the launched
        kernels in turn, a ``slice`` each. "gcaps": it serves the task of the highest GPU priority
        among those with an open GPU segment; opening and closing one is an ``update``.

        With "gedf" ([RTNS10]): "fmlp" (FMLP-Long, unless given): one lock, first
        come, first served, whose holder inherits the earliest deadline of those that wait. "omlp":
        the same with a FIFO queue of ``cpus`` jobs at most, and a queue by deadline behind it.
        "driver": no lock; the GPU does whole segments, copies and kernel, in the order in which
        they begin, while their jobs spin at their own deadlines, or suspend. "container" (the
        Container Method): all tasks with GPU segments are served by one server, a task of global
        EDF with a budget in each ``server_period``, in the order of their releases.
    until
        Jobs released before it run to their end; required without ``releases``.
    releases
        Given releases instead of periodic ones, which all run to their end: a row of times per
        task, columns ``task`` and ``time``, or the jobs of a run; those of a task at least a period
        apart. ``hosts.offset``, ``gap`` and ``triggers`` do not count then, and a ``victim`` only
        has its requests queued after those of the same instant.
    times
        With ``releases`` as rows, the execution times of their jobs: for each task an array (jobs,
        4 k + 1), where k is its number of GPU segments (or that of the set), of CPU segment, copy
        in, kernel, copy out, CPU segment, ...; each at least one tick and at most the worst case,
        0 where that is 0. Without it ``execution`` holds.
    mode
        "suspend" (unless given; "driver": "spin"): tasks suspend while they wait for the GPU and
        during kernels.
        "busy": with "stgm", a task keeps its core from the start of a GPU segment to its end; with
        a lock, its holder does, while those that wait suspend. "spin": with "mpcp" and "fmlp_plus",
        those that wait spin at their own priority; with "driver", jobs do so from a request to its
        end. With "time_slices" and "gcaps" tasks in mode "busy" spin at their own priority, too.
        With "container",
        "suspend" is the paper's work-conserving variant: while the first job in the container is
        suspended on the GPU, the server serves another if there is one, and its CPU is free; with
        "busy" it idles on its CPU. Suspension counts as execution in either.
    sms
        Number of SMs of the GPU: with "stgm" those of ``hosts.sm``; elsewhere all kernels run on
        all of them (unless given, as many as kernel times are given for, as in the tests, or
        ``hosts.sms`` if that is more).
    server, overhead
        With "gpu_server": the server's core (``cpus``, one of its own, unless given), and its
        execution time in ticks at each wake-up and after each segment, before it notifies the
        client.
    server_period
        With "container": the period P of its server, whose budget is w P, rounded up to a tick and
        P at most, where w is the sum of (e + s) / p of the tasks inside; the shortest of their
        periods unless given (as in ``gs.analysis.container``, whose bounds for this budget are
        those with ``whole_budget=True``).
    slice, switch, ring
        With "time_slices": the longest turn of a kernel while others wait (required), the time to
        switch to another task than the last one, in ticks; and "fifo" (a task goes to the end of
        the queue after its slice) or "cyclic" (the next task by priority).
    update, stall, gpu_priority
        With "gcaps": the time of an update in ticks, which runs on the task's core, one at a time,
        not preempted; whether every update stops the GPU, or only the first one of a task of higher
        GPU priority; and GPU priorities as in ``gs.analysis.gcaps``.
    execution
        Execution times as a share of the worst case: one number, or (low, high) for times drawn
        uniformly from ceil(low x) .. floor(high x) for each part of each job, at least one
        tick. 0.1 means a tenth exactly.
    gap
        Up to this share of the period, drawn uniformly, is added to the time between two releases:
        sporadic tasks. 0: periodic ones.
    victim
        Index of the task under analysis. The other tasks' releases are chosen to maximise its
        response time: they come at the instants of ``triggers``, as far as their periods allow, and
        its requests are queued after theirs. Its own releases are as without it.
    triggers
        Instants of the victim's jobs, one or several of: "release" (a job becomes its task's
        present one), "request" (a GPU segment begins), "resume" (one has ended), "finish".
    seed, index
        Random numbers depend on the seed (an int, a ``SeedSequence``, a ``Generator`` or None), on
        the number of the set under it, on task, job and part, and on nothing else: set i of
        ``host_responses`` behaves like ``index=i`` here.
    intervals
        Whether to keep the intervals, for pictures, ``spent`` and traces.
    budget
        A ``gs.Budget``, whose states are jobs; by default 2 GiB.
    progress
        A callable (now, until) in ticks; or whether to show a progress bar, by default in a
        terminal or a notebook after a second (with tqdm; without it none is shown).
    stop
        A writable buffer of one byte (``bytearray(1)``): set it from another thread to stop.

    Returns
    -------
    HostRun
        Jobs, and the intervals in which they ran and waited.

    Raises
    ------
    ValueError
        A stack of sets, tasks without a core (or, with "stgm", without an SM), equal priorities,
        options that are unknown or do not go together.
    OverflowError
        Times that are too large (releases: 2**59 ticks).
    gpusched.Cancelled
        Stopped by ``stop``.
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
    ended = run_to_end(simulation, budget, progress, stop, total=total, unit="tick")
    worst, finished, missed = simulation.result()
    task, job, release, begin, finish = simulation.jobs()
    return HostRun(
        task=task,
        job=job,
        release=release,
        deadline=release + hosts.deadline[task],
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
    """Largest response of each task in ``host`` simulations of many sets: one call into C.

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
        Set i draws as set number ``first + i`` of the seed.
    budget
        Of each set; only its states (jobs) are used.
    stop
        A writable buffer of one byte (``bytearray(1)``): set it from another thread to stop.

    Returns
    -------
    HostResponses
        Arrays (N, n), and (N,) for facts about a set; one axis less for one set. Where the sets
        differ in size, rows beyond a set's tasks are 0.

    Raises
    ------
    ValueError, OverflowError, gpusched.Cancelled
        As ``host``; the message has the set's number.
    """
    instance(hosts, HostTasks, "hosts")
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
        states=as_budget(budget).states or 0,
        stop=stop,
    )
    outcome = np.array(HostRun.OUTCOMES)[np.minimum(status, 1)]
    if not hosts.is_stack:
        worst, finished, missed, outcome = worst[0], finished[0], missed[0], outcome[0]
    return HostResponses(worst, finished, np.asarray(outcome), missed)
