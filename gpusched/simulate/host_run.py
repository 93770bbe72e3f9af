"""Simulation of tasks with CPU and GPU segments (``gs.simulate.host``, ``host_responses``).

The models of [RTCSA19] (STGM and the protocols that it is compared with, under partitioned fixed
priorities) and of [RTNS10] (a GPU under global EDF). ``host_responses`` simulates stacks of task
sets and keeps only the largest responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    flag,
    instance,
    int_array,
    integer,
    is_sequence,
    seed_key,
    set_number,
)
from gpusched._support.budget import Budget, Progress, as_budget, within_seconds
from gpusched._support.registry import enumeration, limit
from gpusched._support.text import shown
from gpusched.model.host_tasks import HostTasks, container_period
from gpusched.model.jobs import Jobs
from gpusched.simulate.host_result import HostResponses, HostRun, Intervals
from gpusched.simulate.run_arguments import (
    execution_shares,
    gap_share,
    per_set,
    read_releases,
    trigger_bits,
    victim_per_set,
)
from gpusched.simulate.run_results import run_to_end
from gpusched.ways.way import WAYS, Way, as_way

_POLICIES = enumeration("simulate.host_policy")
_MODES = enumeration("simulate.host_mode")
_RINGS = enumeration("simulate.host_ring")
_TRIGGERS = enumeration("simulate.host_trigger")


class Victim:
    """A task under analysis: the other tasks release jobs at times that are bad for it.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [20, 30], [[2, (1, 6, 1), 2], [3, (1, 8, 1), 2]], core=[0, 1])
    >>> victim = gs.simulate.Victim(0, "request")
    >>> run = gs.simulate.host(hosts, 2, "mpcp", until=60, victim=victim)
    >>> run.worst.tolist()
    [12, 20]

    Parameters
    ----------
    task
        Index of the task; for ``host_responses`` also one per set (-1: none).
    triggers
        Events of the task's jobs at which other tasks release jobs, one or several of: "release" (a
        job becomes the current one of its task), "request" (a GPU segment begins), "resume" (a GPU
        segment has ended), "end". Default: "request".
    """

    def __init__(self, task: Any, *triggers: str) -> None:
        self.task = task
        self.triggers = triggers or ("request",)

    def __repr__(self) -> str:
        return f"gs.simulate.Victim({', '.join(map(repr, (self.task, *self.triggers)))})"


class HostModel(NamedTuple):
    """Checked options, and those arguments of the core that its functions share."""

    way: Way
    policy: str
    sms: int
    victim: Int64Array
    triggers: int
    arguments: dict[str, Any]


def host_model(
    hosts: HostTasks,
    cpus: Any,
    way: Any,
    sms: Any,
    execution: Any,
    gap: Any,
    victim: Any,
    sets: int,
) -> HostModel:
    """Check the options of one set or of a stack; ``ValueError`` for those that do not fit."""
    way = _simulated(as_way(way))
    policy = "gedf" if way.global_edf else "partitioned"
    count = integer(cpus, "cpus")
    if not 1 <= count < 2**31:
        raise ValueError(f"cpus: got {count}, expected 1 to 2**31 - 1")
    width = _sms(hosts, sms, way)
    homeless = np.argwhere((hosts.core < 0) & hosts.is_task)
    if policy == "partitioned" and len(homeless):
        at = homeless[0].tolist()
        raise ValueError(
            f"core{at}: got {hosts.core[tuple(at)]}, expected one of the cores; give core=, or the "
            "hosts of a verdict by gs.analysis.partition or stgm_allocate"
        )
    homeless = np.argwhere((hosts.segments > 0) & ~hosts.sm.any(axis=-1))
    if way.divided and len(homeless):
        raise ValueError(
            f"sm{homeless[0].tolist()}: got none, expected an SM for a task with GPU segments; "
            f"give sm=, or the hosts of gs.analysis.stgm_allocate, or another way than {way.name!r}"
        )
    victim = victim if victim is None or isinstance(victim, Victim) else Victim(victim)
    victims = victim_per_set(None if victim is None else victim.task, sets, hosts.n)
    rows = (sets, hosts.n)
    sm = None
    if way.divided:
        sm = np.zeros((*rows, width), np.uint8)
        sm[..., : hosts.sms] = hosts.sm.reshape(*rows, hosts.sms)
    way, own = _own_arguments(hosts, way, count, sets)
    mode = getattr(way, "mode", _MODES[0]) if _has(way, "mode") else _MODES[0]
    arguments = {
        "hosts": hosts._columns(),
        "offset": hosts.offset.reshape(rows),
        "core": hosts.core.reshape(rows),
        "sm": sm,
        "cpus": count,
        "sms": width,
        "policy": _POLICIES.index(policy),
        "way": _protocol(way),
        "mode": _MODES.index(mode),
        "shares": _shares(execution, gap),
        **own,
    }
    triggers = trigger_bits(("request",) if victim is None else victim.triggers, _TRIGGERS)
    return HostModel(way, policy, width, victims, triggers, arguments)


def _has(way: Way, name: str) -> bool:
    return name in way._options


def _protocol(way: Way) -> str:
    """The rules of the core for a way; a lock that is to be chosen is FMLP."""
    if way.name != "srm":
        return way.name
    return "omlp" if way.lock == "omlp" else "fmlp"


def _simulated(way: Way) -> Way:
    """A way that this simulator plays, with its mode; ValueError for another."""
    plays = [each.name for each in WAYS if each.placed or each.global_edf]
    if way.name not in plays:
        raise ValueError(f"way: got {way.name!r}, expected one of {', '.join(plays)}")
    if _has(way, "mode") and "mode" not in way.given:
        way = way.replace(mode=way.mode)
    return way


def _own_arguments(hosts: HostTasks, way: Way, cpus: int, sets: int) -> tuple[Way, dict[str, Any]]:
    """The way with what it has by default here, and the core's arguments for its parameters."""
    one = not hosts.is_stack
    found: dict[str, Any] = {"server": np.full(sets, cpus, np.int64), "overhead": 0}
    if _has(way, "server"):
        servers = per_set(cpus if way.server is None else way.server, sets, "server")
        way = way.replace(server=int(servers[0]) if one else servers)
        found |= {"server": servers, "overhead": integer(way.server_overhead, "server_overhead")}
    if _has(way, "server_period"):
        periods = _server_periods(hosts, way.server_period, sets)
        way = way.replace(server_period=int(periods[0]) if one else periods)
        found["server"] = periods
    if way.name == "time_slices":
        if way.timeslice is None:
            raise ValueError("timeslice: got none, expected the length of a slice in ticks")
        found |= {
            "slice": integer(way.timeslice, "timeslice"),
            "overhead": integer(way.context_switch, "context_switch"),
            "ring": _RINGS.index(way.ring),
        }
    if way.name == "gcaps":
        priority = None
        if way.gpu_priority is not None:
            priority = int_array(way.gpu_priority, "gpu_priority")
            if priority.shape not in (hosts.core.shape, (hosts.n,)):
                raise ValueError(
                    f"gpu_priority: got shape {priority.shape}, expected one number for each task, "
                    f"{hosts.core.shape}"
                )
            priority = np.ascontiguousarray(np.broadcast_to(priority, (sets, hosts.n)))
        found |= {
            "overhead": integer(way.update_cost, "update_cost"),
            "switch": integer(way.context_switch, "context_switch"),
            "stall": way.stall,
            "gpu_priority": priority,
        }
    return way, found


def _server_periods(hosts: HostTasks, server_period: Any, sets: int) -> Int64Array:
    if server_period is None:
        return container_period(hosts).reshape(sets)
    periods = per_set(server_period, sets, "server_period")
    if (periods < 1).any():
        raise ValueError(f"server_period: got {int(periods.min())}, expected 1 or more")
    return periods


def _sms(hosts: HostTasks, sms: Any, way: Way) -> int:
    if sms is None:
        return max(hosts.sms, 1 if way.divided else hosts.columns, 1)
    count = integer(sms, "sms")
    if not 1 <= count < 2**31:
        raise ValueError(f"sms: got {count}, expected 1 to 2**31 - 1")
    if way.divided and not hosts.sms <= count <= 2**16:
        least = f"{hosts.sms} (the SMs of hosts.sm)"
        raise ValueError(f"sms: got {count}, expected {least} to 65536 with {way.name!r}")
    return count


def release_ends(until: Any, sets: int) -> Int64Array:
    """The instant before which jobs of each set are released, (sets,)."""
    lasts = per_set(until, sets, "until")
    if (lasts < 0).any():
        raise ValueError(f"until: got {int(lasts.min())}, expected 0 or more")
    return lasts


def _shares(execution: Any, gap: Any) -> Int64Array:
    """low, high and gap as fractions."""
    low, high = execution_shares(execution, "worst case")
    more = gap_share(gap, "releases")
    if more >= 2**59:
        raise OverflowError(f"releases: got {gap}, expected less than 2**59")
    flat: list[int] = []
    for share in (low, high, more):
        # More than 62 bits: numbers below a billionth with all digits, on which no tick depends.
        exact = max(share.numerator, share.denominator) < 2**62
        fraction = share if exact else Fraction(share).limit_denominator(2**50)
        flat += [fraction.numerator, fraction.denominator]
    if flat[2] == 0:  # so small that every part takes its least time
        flat[2:4] = [1, 2**60]
        flat[0:2] = [0, 1]
    return np.array(flat, dtype=np.int64)


_LATEST = limit("simulate.latest")  # no simulated job is released at or after it


def is_share(releases: Any) -> bool:
    """Whether releases are a share of the period, by which those of sporadic tasks are late."""
    return isinstance(releases, (int, float, Fraction, np.integer, np.floating))


def read_given(
    hosts: HostTasks, releases: Any, execution: Any, until: Any
) -> tuple[dict[str, Any], Any]:
    """The core's arguments for given jobs, and the shares of execution times.

    The arguments are empty without ``releases``. Raises ValueError, OverflowError and TypeError
    with row and value; also for times of jobs without releases as rows, and if neither ``until``
    nor ``releases`` is given.
    """
    timed = is_sequence(execution) and any(np.ndim(own) for own in execution)
    if releases is None:
        if timed:
            raise ValueError("execution: got times of jobs, expected releases as rows with them")
        if until is None:
            raise ValueError("until: got None, expected the end of the releases, or releases")
        return {}, execution
    if until is not None:
        raise ValueError(f"until: got {until!r:.60}, expected none with releases")
    tasks: Any = hosts  # of which the number and the periods are read
    rows = read_releases(releases, None, tasks, closer=None, latest=_LATEST)
    arguments = {"release_begin": rows.begin, "release": rows.release}
    if not timed:
        return arguments, execution
    if isinstance(releases, (Jobs, Mapping)) or hasattr(releases, "columns"):
        raise ValueError("execution: got times of jobs, expected shares unless releases are rows")
    return {**arguments, "time": _times(hosts, execution, np.diff(rows.begin))}, 1


def _times(hosts: HostTasks, times: Any, jobs: Int64Array) -> Int64Array:
    """A row for each job, as wide as the set's largest number of GPU segments needs."""
    if not is_sequence(times):
        raise TypeError(f"execution: got {shown(times)}, expected an array of times per task")
    if len(times) != hosts.n:
        raise ValueError(f"execution: got {len(times)} arrays, expected one per task ({hosts.n})")
    width = 4 * hosts.copy_in.shape[-1] + 1
    given = np.zeros((int(jobs.sum()), width), np.int64)
    row = 0
    for i, (own, count) in enumerate(zip(times, jobs.tolist(), strict=True)):
        array = int_array(own, f"execution[{i}]")
        parts = 4 * int(hosts.segments[i]) + 1
        if count == 0 and array.size == 0:
            continue
        if array.ndim != 2 or len(array) != count or array.shape[1] not in (parts, width):
            raise ValueError(
                f"execution[{i}]: got shape {array.shape}, expected ({count}, {parts}), a row of "
                "parts per release"
            )
        given[row : row + count, :parts] = array[:, :parts]
        row += count
    return given


def host(
    hosts: HostTasks,
    cpus: int,
    way: Way | str = "stgm",
    *,
    until: int | None = None,
    releases: Any = None,
    execution: Any = 1.0,
    sms: int | None = None,
    victim: Victim | int | None = None,
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
    >>> run = gs.simulate.host(hosts, cpus=2, way="mpcp", until=600)
    >>> [int(run.response[run.task == task].max()) for task in range(2)]
    [13, 22]

    Parameters
    ----------
    hosts
        One task set; ``offset`` is the first release.
    cpus
        Number of CPUs.
    way
        A way of sharing the GPU (``gs.ways``), or its name. Under preemptive fixed priorities on
        each core, by ``hosts.core`` and ``hosts.priority`` (a smaller number is a higher priority;
        all distinct):

        - ``Stgm`` ([RTCSA19], default): one copy engine, first come, first served over all cores,
          with copies at boosted priority; kernels run on the SMs of ``hosts.sm``, in order of
          launch on each SM, and tasks on disjoint SMs run at the same time.
        - ``Mpcp``: one lock on the whole GPU, granted to the waiting task of the highest priority;
          the holder is boosted.
        - ``FmlpPlus``: the same lock, granted first come, first served.
        - ``GpuServer``: a task with the highest priority on its core runs all GPU segments, one
          after the other, in order of the clients' priorities; clients suspend until they are
          notified. ``server`` is its core (default: ``cpus``, a core of its own), and
          ``server_overhead`` its execution time at each wake-up and after each segment, before it
          notifies the client.
        - ``TimeSlices`` ([ECRTS24]; no lock and no boosting, copies are CPU work at the task's own
          priority): the GPU serves the launched kernels in turn, for one ``timeslice`` each
          (required). ``ring``: "fifo" (after its slice, a task goes to the end of the queue) or
          "cyclic" (the next task by priority). A kernel that is launched at the very end of a slice
          counts for the choice of the next task, and precedes the one whose slice ends.
        - ``Gcaps`` (likewise): the GPU serves the task with the highest GPU priority among those
          with an open GPU segment; opening and closing a segment is an update of ``update_cost`` on
          the task's core, one at a time, non-preemptively. ``stall``: whether every update stops
          the GPU, or only the first one of a task of higher GPU priority. ``gpu_priority``: as in
          ``gs.analysis.gcaps``.

        ``context_switch`` of the last two is the time that the GPU takes before it runs the kernel
        of a different task than the last one. With ``Gcaps``, an update by which a more urgent task
        begins a segment ends the switch in vain; the next switch takes the whole time.

        Under global EDF, in which the jobs with the earliest absolute deadlines run, on any CPU
        (ties: priority, then index), [RTNS10]:

        - ``Srm``: one lock, granted first come, first served, and the holder inherits the earliest
          deadline of the waiting jobs (``lock="fmlp"``, FMLP-Long, also for "best"); or with a FIFO
          queue of at most ``cpus`` jobs and a queue ordered by deadline behind it ("omlp").
        - ``Driver``: no lock; the GPU executes whole segments, copies and kernel, in the order in
          which they begin, while their jobs spin at their own deadlines, or suspend.
        - ``Container`` (the Container Method): all tasks with GPU segments are served, in the order
          of their releases, by one server, a task of global EDF with a budget in each
          ``server_period`` P (default: the shortest period of these tasks). The budget is w P
          rounded up to a tick, at most P, where w is the sum of (e + s) / p of the tasks inside.
          This is as in ``gs.analysis.container``, whose bounds for this budget are those with
          ``whole_budget=True``.

        ``mode`` is the behaviour of tasks while they wait for or use the GPU (default: "suspend",
        or "spin" for ``Driver``):

        - "suspend": tasks suspend while they wait for the GPU and during kernels. With
          ``Container``, this is the paper's work-conserving variant: the server serves the first
          job in the container that is not suspended on the GPU; while all jobs are suspended, other
          tasks may use the server's CPU.
        - "busy": with ``Stgm``, a task keeps its core from the start of a GPU segment to its end;
          with a lock, the holder keeps its core and waiting tasks suspend; with ``TimeSlices`` and
          ``Gcaps``, tasks spin at their own priority; with ``Container``, the server idles on its
          CPU while the first job is suspended. With ``Container``, suspension counts as execution
          in both modes.
        - "spin": with ``Mpcp`` and ``FmlpPlus``, waiting tasks spin at their own priority; with
          ``Driver``, jobs spin from the request to its end.
    until
        End of the interval in which jobs are released, in ticks; these jobs run to their end.
        Required without ``releases``.
    releases
        None: periodic tasks. A number: sporadic tasks, with a time between two releases that is
        drawn uniformly from the period to this share of it more. Otherwise the release times, whose
        jobs all run to their end: one row of times per task, columns ``task`` and ``time``, or the
        jobs of a run. Releases of a task are at least a period apart. ``hosts.offset`` and the
        triggers of a victim are then not used, and a victim only has its requests queued after
        simultaneous ones.
    execution
        Execution times as a share of the worst case: one number, or a pair (low, high) for times
        drawn uniformly from ceil(low x) .. floor(high x) for each part of each job, at least one
        tick. 0.1 means exactly one tenth. With releases as rows it can be the times of their jobs:
        for each task an array (jobs, 4 k + 1), where k is its number of GPU segments (or that of
        the set), of CPU segment, copy in, kernel, copy out, CPU segment, ... Each is at least one
        tick and at most the worst case, and 0 if that is 0.
    sms
        Number of SMs of the GPU. With ``Stgm``, that of ``hosts.sm``. Otherwise all kernels run on
        all SMs; default: the number of SMs for which kernel times are given, as in the tests, or
        ``hosts.sms`` if that is larger.
    victim
        A task under analysis, as a ``gs.simulate.Victim`` or an index. The releases of the other
        tasks are chosen to maximise its response time: they occur at its triggers, as far as the
        periods allow, and its requests are queued after theirs. Its own releases do not change.
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
    sporadic = is_share(releases)
    gap = releases if sporadic else 0
    releases = None if sporadic else releases
    given, execution = read_given(hosts, releases, execution, until)
    last = release_ends(0 if releases is not None else until, 1)
    model = host_model(hosts, cpus, way, sms, execution, gap, victim, 1)
    budget = as_budget(budget)
    timed = within_seconds(stop, budget.seconds)
    simulation = _core.host_open(
        **model.arguments,
        until=last,
        victim=model.victim,
        triggers=model.triggers,
        key=seed_key(seed),
        index=set_number(index, "index"),
        log_intervals=flag(intervals, "intervals"),
        stop=stop,
        **given,
    )
    total = int(last[0]) if releases is None else int(given["release"].max(initial=0))
    ended = run_to_end(simulation, budget, progress, timed, total=total, unit="tick")
    worst, finished, late = simulation.result()
    task, job, release, begin, end = simulation.jobs()
    deadline = hosts.deadline[task]
    deadline += release
    return HostRun(
        task=task,
        job=job,
        release=release,
        deadline=deadline,
        start=begin,
        end=end,
        intervals=Intervals(*simulation.intervals()) if intervals else None,
        tasks=hosts,
        cpus=integer(cpus, "cpus"),
        way=model.way,
        sms=model.sms,
        outcome="done" if ended.reason is None else "budget",
        worst=worst,
        finished=finished,
        late_count=late,
        now=ended.now,
        reason=ended.reason,
    )


def host_responses(
    hosts: HostTasks,
    cpus: int,
    way: Way | str = "stgm",
    *,
    until: Any,
    releases: float | None = None,
    execution: Any = 1.0,
    sms: int | None = None,
    victim: Victim | Any = None,
    seed: Any = None,
    first: int = 0,
    budget: Budget | None = None,
    stop: Any = None,
) -> HostResponses:
    """Compute the largest response of each task in ``host`` simulations of many sets.

    All sets are simulated in a single call of C code.

    >>> hosts = gs.generate.stgm(count=3, seed=1, cpus=2)
    >>> placed = gs.analysis.partition(hosts, cpus=2, sms=13, way="mpcp").hosts
    >>> gs.simulate.host_responses(placed, 2, way="mpcp", until=10**6).response.shape
    (3, 6)

    Parameters
    ----------
    hosts
        A stack of N sets, or one set.
    until
        As in ``host``; one number, or one per set.
    cpus, way, releases, execution, sms
        As in ``host``, the same for all sets, but for the cores of servers, the periods of a
        container, and GPU priorities, which may be given for each set, (N,) or (N, n).
        ``releases`` is None or the share of sporadic releases.
    victim
        As in ``host``; one task, or one per set (-1: periodic or sporadic releases).
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
    if releases is not None and not is_share(releases):
        raise ValueError("releases: got times, expected None or a share of the period for a stack")
    model = host_model(hosts, cpus, way, sms, execution, releases or 0, victim, sets)
    worst, finished, late, status = _core.host_responses(
        **model.arguments,
        until=release_ends(until, sets),
        victim=model.victim,
        triggers=model.triggers,
        key=seed_key(seed),
        first=set_number(first),
        states=limits.states or 0,
        bytes=limits.bytes or 0,
        seconds=limits.seconds or 0.0,
        stop=stop,
    )
    outcome = np.array(HostRun.OUTCOMES)[np.minimum(status, 1)]
    if not hosts.is_stack:
        worst, finished, late, outcome = worst[0], finished[0], late[0], outcome[0]
    return HostResponses(worst, finished, np.asarray(outcome), late)
