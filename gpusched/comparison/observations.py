"""Simulations of a workload under one way of sharing the GPU (``gs.observe``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import simulate
from gpusched._support.arguments import Int64Array, flag, frozen, instance
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    as_budget,
    raise_if_stopped,
    seconds_left,
    share_of,
    spent,
    within_seconds,
)
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.analyses import (
    Request,
    Triggered,
    analyzed,
    asked_way,
    grouped,
    options_of,
    with_costs,
    with_platform,
)
from gpusched.comparison.derived_models import DerivedModels, StreamForm
from gpusched.comparison.finer_ticks import ticks_up
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.machine_models import MACHINE_WAYS
from gpusched.comparison.machine_runs import TABLES, job_columns, machine_choices, machine_run
from gpusched.comparison.simulation_lengths import (
    MOST_BLOCKS,
    MOST_LAUNCHES,
    Work,
    blocks_of,
    horizon,
    launches_of,
    refuse_long_service,
    refuse_many,
)
from gpusched.comparison.tasks_in_parts import PART_SENTENCES
from gpusched.comparison.verdicts.gpu_rules import Change, readings_of
from gpusched.comparison.verdicts.premises import NotApplicable, cpu_side, refuse_many_clients
from gpusched.comparison.verdicts.readings import open_reading
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.gpus.copy_engines import engine_directions
from gpusched.model.host_tasks import HostTasks
from gpusched.model.launches import Launches
from gpusched.model.views.derived_view import COPY_WAITS, listed, uses_engine, work_behind
from gpusched.model.views.launch_view import PERIODIC_RELEASES
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import Time, as_time, in_ticks
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way, as_way

if TYPE_CHECKING:
    from gpusched.comparison.instances.instance_runs import InstanceRuns
    from gpusched.simulate.fifo_result import FifoRun
    from gpusched.simulate.hierarchy_result import Hierarchy
    from gpusched.simulate.host_result import HostRun
    from gpusched.simulate.machine_result import MachineRun

__all__ = ["Watch", "observe", "observed"]

_FIXED_ORDER = "contexts with work get time slices in a fixed order"
_PERIODIC = "jobs are released periodically, from the offsets, and take their whole times"


@dataclass(frozen=True)
class Watch:
    """Length of a simulation (None: the default), and what it keeps."""

    until: int | None = None
    timeline: bool = False
    budget: Budget | None = None
    stop: Any = None


@dataclass(frozen=True)
class _Jobs:
    """Jobs of the workload, the run they come from, and its assumptions."""

    task: Int64Array
    job: Int64Array
    release: Int64Array
    end: Int64Array
    until: int
    now: int
    said: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    detail: FifoRun | HostRun | Hierarchy | InstanceRuns | MachineRun


def observe(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    until: Time | None = None,
    timeline: bool = True,
    triggered: Triggered = "apart",
    budget: Budget | None = None,
    stop: Any = None,
    **options: OptionValue,
) -> WorkloadRun:
    """Simulate a workload under one way of sharing the GPU.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ... ], tick="us")
    >>> run = gs.observe(w, gs.Platform("AGX Orin", cpus=2), "streams", until="1s")
    >>> len(run), run.worst.tolist(), run.late_count.tolist()
    (38, [7000, 17000], [0, 0])
    >>> run.why("planner")
    'planner: job 0, released at 0ns, takes 17ms, within its deadline of 80ms.'

    Parameters
    ----------
    workload
        Tasks with CPU work, copies and kernels.
    platform
        GPU, CPU cores and overheads.
    way
        A way of sharing the GPU (``gs.ways``), or its name. Where the parts of a program matter to
        each other, its whole machine is simulated, with CPUs, copy engines and the GPU
        (`gs.simulate.MachineRun`): where tasks share CPUs with threads of streams and contexts,
        sections of "gcaps" and "stgm" share copy engines, jobs of a task overlap, a section of a
        lock has several launches, or contexts with copies take turns. So are "edf_serial",
        "edf_parallel" and "pbs", by the order or the plan of their tests. Otherwise "streams" is
        simulated by ``gs.simulate.fifo``, which has the model of the bounds; if that model does not
        apply, for example to jobs of several kernels, to copies on engines, or to more streams than
        the GPU has channels or runs kernels at once, it is simulated by ``gs.simulate.hierarchy``,
        as other streams are. "time_slices" is simulated by ``gs.simulate.host``, with CPUs, or, if
        tasks have copies on engines or share a process, by ``gs.simulate.hierarchy``. "mig"
        simulates each GPU instance separately, with the simulation of its way ``within``.
    until
        End of the interval in which jobs are released, as ticks or text with a unit; these jobs
        run to completion. Default: ten hyperperiods or 10 s, whichever is shorter, but at most
        100,000 jobs, 100,000 launches or 2,000,000 blocks, and at least one job of each task. A
        task whose offset is later than a million jobs of the others has no job.
    timeline
        Whether ``detail`` keeps the intervals, waves or blocks that its pictures need. (Short runs
        of a machine with late jobs do so in any case.)
    triggered
        As in ``gs.analyze``.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit each simulation. Where a late job
        has to be simulated under several readings of the rules of GPUs, these share the seconds.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``, as in ``gs.analyze``. Those
        that are options of its test alone make no difference.

    Returns
    -------
    WorkloadRun

    Raises
    ------
    NotApplicable
        The way does not exist on the platform, or the model cannot express the workload (the
        message gives the reason). It is a ValueError.
    ValueError
        The way or a parameter is unknown; or, if
        ``until`` is not given, a single job has more than a million launches or a million periods
        of a container, or, without a budget, more than 20 million blocks.
    OverflowError
        A time is 2**59 ticks or more.
    gpusched.Cancelled
        ``stop`` was set, or the seconds of the budget were spent (the message tells) before there
        was a simulation.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    workload = grouped(workload, triggered)
    way = asked_way(way, options)
    stop = within_seconds(stop, as_budget(budget).seconds)
    models = DerivedModels(workload, with_costs(platform, way))
    last = None
    if until is not None:
        last = in_ticks(as_time(until, "until"), None, workload.tick_ns, "until")
    watch = Watch(last, flag(timeline, "timeline"), budget, stop)
    memory = None if budget is None else as_budget(budget).bytes
    return observed(models, way, Request(options_of(way), stop=stop, memory=memory), watch)


def observed(models: DerivedModels, way: Way, request: Request, watch: Watch) -> WorkloadRun:
    """Simulate a workload under a way of sharing the GPU; see `observe`."""
    readings: list[Change] = []
    if not models._is_settled:  # else a part, whose readings are those of the whole
        readings = list(readings_of(models.given, way.name, run=True))

    def under(other: DerivedModels, watch: Watch, parts: int) -> WorkloadRun:
        stop = share_of(watch.stop, parts)
        asked, timed = replace(request, stop=stop), replace(watch, stop=stop)
        return _observed(other, way, asked, timed)

    run = under(models, watch, len(readings) + 1)
    short = replace(watch, timeline=False)
    others = (
        (changes, partial(under, other, short, len(readings) - i))
        for i, (changes, other) in enumerate(readings)
    )
    return open_reading(run, others)


def _observed(models: DerivedModels, way: Way, request: Request, watch: Watch) -> WorkloadRun:
    """The run under one reading of the rules of GPUs."""
    raise_if_stopped(request.stop)
    began = perf_counter()
    options = dict(request.options)
    if way.modes:
        options.setdefault("mode", way.modes[0])
    asked = replace(request, options=options)
    given = models.given
    try:
        models, found = _found(models, way, asked, watch)
    except ValueError as error:
        raise NotApplicable(*error.args).with_traceback(error.__traceback__) from None
    grain = models.grain
    return WorkloadRun(
        workload=given.workload,
        platform=given.platform,
        way=way.name,
        options=options,
        until=found.until // grain,
        task=frozen(found.task),
        job=frozen(found.job),
        release=frozen(found.release // grain),
        end=frozen(np.where(found.end < 0, -1, ticks_up(found.end, grain))),
        now=-(-found.now // grain),
        assumptions=(*found.said, _PERIODIC),
        limits=found.limits,
        detail=found.detail,
        seconds=perf_counter() - began,
        grain=grain,
    )


def _found(
    models: DerivedModels, way: Way, request: Request, watch: Watch
) -> tuple[DerivedModels, _Jobs]:
    """The simulated jobs, and the models that they are of: those in finer ticks, if needed."""
    simulation = _SIMULATIONS[way.simulator]
    if way.simulator != "machine" and _needs_machine(models, way):
        simulation = _machine
    copies = any(task.copy_time for task in models.workload)
    latency = models.platform.launch_latency
    if way.name == "time_slices" and simulation is not _machine and not copies and not latency:
        with contextlib.suppress(ValueError):  # else processes of several tasks, or no cores
            turns = models.refined(way.name, test=True)
            return turns, _host(turns, way, request, watch)
    within = ""
    if way.name == "mig":
        within = as_way(request.options.get("within", way.within)).name
    # Blocks of the machine need whole times, other simulations of these ways have no blocks.
    blocks = "time_slices" if simulation is _machine and way.simulator == "host" else way.name
    fine = models.refined(blocks, test=way.name == "mig", within=within)
    try:
        found = simulation(fine, way, request, watch)
        if way.name in _IN_STREAMS and simulation is not _machine and _OVERLAP in found.limits:
            found = _machine(fine, way, request, watch)
        return fine, found
    except OverflowError:  # of times that are short enough in the given ticks
        if fine.grain == 1:
            raise
    coarse = fine.given.unrefined()
    return coarse, simulation(coarse, way, request, watch)


# Simulations --------------------------------------------------------------------------------------


def _fifo(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """Streams of equal priority: jobs of one kernel in FIFO order, or else the hierarchy.

    The FIFO simulation knows no copies, no streams that share a channel, and no limit on the
    kernels that run at once. Its kernels take the launch latency as part of their blocks, rounded
    up in each wave, which the test of a task without others does not count.
    """
    order: Any = request.options.get("order")
    try:
        view = models.kernels()
    except ValueError:
        if order is not None:
            raise
        return _hierarchy(models, way, request, watch)
    copies = [t.name for t in models.workload if any(uses_engine(part) for part in t.segments)]
    if copies and order is not None:
        raise ValueError(
            f"order: got an option of the FIFO simulation, expected none where tasks have copies "
            f"on engines ({listed(copies)}); that simulation knows no copies"
        )
    apart = not models.streams_beyond_channels() and not copies
    apart = apart and not models.kernels_beyond_grids()
    later = models.platform.launch_latency > 0
    if (later or not apart) and order is None:
        return _hierarchy(models, way, request, watch)
    tasks = view.tasks
    if watch.until is None and watch.budget is None:
        refuse_many(models.workload, blocks_of, MOST_BLOCKS, "blocks")
    until = _until(models, watch)
    index = np.array([models.workload.names.index(name) for name in tasks.name], np.int64)
    offset, deadline = (_of_each(models.workload, key)[index] for key in ("offset", "deadline"))
    before, around = tasks.offset - offset, deadline - tasks.deadline
    run = simulate.fifo(
        tasks,
        gpu=models.gpu(),
        until=until + int(before.max(initial=0)),
        waves=watch.timeline,
        settle="no",
        budget=_limits(watch),
        progress=False,
        stop=watch.stop,
        order=order or "hardware",
    )
    release = run.release - before[run.task]
    kept = release < until
    end = np.where(run.end < 0, -1, run.end + (around - before)[run.task])
    task, release, end = index[run.task][kept], release[kept], end[kept]
    return _Jobs(
        task=task,
        job=run.job[kept],
        release=release,
        end=end,
        until=until,
        now=run.now,
        said=view.assumptions,
        limits=(
            *_no_cpus(models),
            *_profiles(models),
            *_overlapping(models, task, release, end),
            *_asked_order(order),
        ),
        detail=run,
    )


def _channels(models: DerivedModels, form: StreamForm) -> int:
    """Channels of a context, of a client of MPS, or of all clients in a static partition."""
    if form != "mps_static":
        return models.channels(of_client=form == "mps")
    if not models.streams_beyond_channels(of_process=True):
        return 0  # as many as streams
    if models.has_several_clients_in_a_part():
        raise ValueError(
            "tasks: got a client with more streams than channels beside others in a static "
            "partition, expected channels for all of its streams (--channels), or one client in "
            "each partition"
        )
    return models.channels(of_client=True)


def _asked_order(order: str | None) -> tuple[tuple[str, str], ...]:
    """The limit of a simulation in an order of kernels that is not the one observed on GPUs."""
    if order in (None, "hardware"):
        return ()
    return ((f"order {order}", f"kernels are taken in the order {order!r}, not as on GPUs"),)


def _hierarchy(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """Streams and contexts: the launches of all jobs."""
    workload, platform = models.workload, models.platform
    form: StreamForm = way.name  # type: ignore[assignment]
    queues: Any = request.options.get("queues", "own") if form in PART_SENTENCES else None
    of_client = form in ("mps", "mps_static")
    if of_client:
        refuse_many_clients(models)
    if watch.until is None:
        refuse_many(workload, launches_of, MOST_LAUNCHES, "repeat")
    if watch.until is None and watch.budget is None:
        refuse_many(workload, blocks_of, MOST_BLOCKS, "blocks")
    until = _until(models, watch, (launches_of, MOST_LAUNCHES), (blocks_of, MOST_BLOCKS))
    _refuse_launches(models, until, watch)
    view = models.launches(form, until)
    several, channels = view.launches.contexts > 1, _channels(models, form)
    shared_channels = form == "green_contexts" and platform.workqueue == "shared"
    run = simulate.hierarchy(
        view.launches,
        models.gpu(),
        copy_engines=engine_directions(platform.copy_engines) or None,
        channels=channels,
        channel_release=models.channel_release,
        shared_channels=shared_channels,
        timeslice=platform.timeslice if several else None,
        context_switch=platform.context_switch if several else 0,
        queues=queues,
        blocks=watch.timeline,
        budget=_limits(watch),
        progress=False,
        stop=watch.stop,
    )
    apart = form != "one_stream" and not several
    apart = apart and not _channels_are_full(view.launches, channels, shared_channels)
    jobs = np.zeros(len(workload), np.int64)
    np.maximum.at(jobs, view.task, view.job + 1)
    first = np.concatenate([[0], np.cumsum(jobs)])
    place = first[view.task] + view.job
    least, most = np.full(first[-1], np.iinfo(np.int64).max), np.zeros(first[-1], np.int64)
    np.minimum.at(least, place, run.end)
    np.maximum.at(most, place, run.end)
    task = np.repeat(np.arange(len(workload)), jobs)
    job = np.arange(first[-1]) - first[task]
    period, offset = (_of_each(workload, key) for key in ("period", "offset"))
    behind = np.array([work_behind(each) for each in workload], np.int64)
    said = [text for text in view.assumptions if text != PERIODIC_RELEASES]  # in _PERIODIC
    if several:
        said.append(_FIXED_ORDER)
    if queues is not None:
        parts = "green contexts" if form == "green_contexts" else "static partitions of MPS"
        have = "have queues of their own" if queues == "own" else "share their queues"
        said.append(f"{parts} {have}")
    release = offset[task] + job * period[task]
    end = np.where(least < 0, -1, most + behind[task])
    return _Jobs(
        task=task,
        job=job,
        release=release,
        end=end,
        until=until,
        now=run.now,
        said=tuple(said),
        limits=(
            *_no_cpus(models),
            *_profiles(models),
            *_overlapping(models, task, release, end, apart=apart),
            *(
                (("fixed order of slices", _FIXED_ORDER),)
                if several and platform.ring == "fifo"
                else ()
            ),
        ),
        detail=run,
    )


_LAUNCH_BYTES, _LAUNCH_NS = 1000, 3000
"""Memory and time that a launch takes in the arrays of a run, and in making them."""


def _refuse_launches(models: DerivedModels, until: int, watch: Watch) -> None:
    """Raise `BudgetSpent` for launches that do not fit a budget before the first one starts."""
    count = sum(
        launches_of(task) * (max(0, until - task.offset) // task.period) for task in models.workload
    )
    limits = watch.budget
    if limits is not None and limits.bytes is not None and count * _LAUNCH_BYTES > limits.bytes:
        raise spent("bytes")
    if count * _LAUNCH_NS > seconds_left(watch.stop) * 1e9:
        raise spent("seconds")


def _limits(watch: Watch) -> Budget | None:
    """The budget of a simulation: the jobs that are made of it take as much memory again."""
    if watch.budget is None or watch.budget.bytes is None:
        return watch.budget
    return replace(watch.budget, bytes=max(1, watch.budget.bytes // 2))


def _host(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """CPU and GPU segments under GCAPS, locks, a server, divided SMs, or global EDF."""
    until = _until(models, watch)
    hosts, said, played, sms = _placed(models, way, request)
    if played.name == "container" and watch.until is None:
        refuse_long_service(hosts, int(played.server_period))
    run = simulate.host(
        hosts,
        models.platform.cpus,
        played,
        sms=sms,
        until=until,
        intervals=watch.timeline,
        budget=_limits(watch),
        progress=False,
        stop=watch.stop,
    )
    limits = (*_chosen(models, way, request), *_costs_per_kernel(models, way))
    if way.name in _WITHOUT_ENGINES:
        limits = (*limits, *_no_engines(models))
    return _Jobs(run.task, run.job, run.release, run.end, until, run.now, said, limits, run)


_IN_STREAMS = (
    "one_stream", "streams", "priority_streams", "mps", "mps_static", "green_contexts",
    "time_slices",
)  # fmt: skip
"""Ways whose other simulations have no CPUs, and launch jobs of a task that overlap."""


def _needs_machine(models: DerivedModels, way: Way) -> bool:
    """Whether what happens between CPUs, copy engines and kernels matters in a run."""
    if way.name in MACHINE_WAYS and _has_chains(models.workload):
        return True
    if way.name == "time_slices":
        copies = any(uses_engine(part) for task in models.workload for part in task.segments)
        return bool(_no_cpus(models)) or (models.platform.ring == "fifo" and copies)
    if way.name in _IN_STREAMS:
        return bool(_no_cpus(models))
    if way.name in _WITHOUT_ENGINES:
        return bool(_no_engines(models))
    costs = [key for key, _ in _costs_per_kernel(models, way)]
    return way.placed and costs == ["latency per kernel"]


def _has_chains(workload: Workload) -> bool:
    """Whether tasks release each other, or there are paths through them."""
    return bool(workload.paths) or any(task.after for task in workload)


_MOST_PARTS = 20_000
"""Segments of all jobs up to which a run with late jobs keeps its logs."""


def _is_small(models: DerivedModels, run: MachineRun) -> bool:
    parts = np.array([launches_of(task) + len(task.segments) for task in models.workload], np.int64)
    return run.reason is None and int(parts[run.jobs.task].sum()) <= _MOST_PARTS


def _machine(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """The whole machine: CPUs, copy engines and the GPU."""
    if way.name in ("mps", "mps_static"):
        refuse_many_clients(models)
    if watch.until is None:
        refuse_many(models.workload, launches_of, MOST_LAUNCHES, "repeat")
    if watch.until is None and watch.budget is None:
        refuse_many(models.workload, blocks_of, MOST_BLOCKS, "blocks")
    until = _until(models, watch, (launches_of, MOST_LAUNCHES), (blocks_of, MOST_BLOCKS))
    answer = request.answer
    if answer is None and way.name in TABLES:
        answer = analyzed(models.given, way, request)  # it has the plan
    elif answer is None:
        with contextlib.suppress(ValueError, BudgetSpent):  # the usual deployment
            answer = analyzed(models.given, way, request)
    choices = machine_choices(models, way.name, request.options, answer, until)
    run = machine_run(
        models,
        way.name,
        choices,
        until=until,
        timeline=watch.timeline,
        budget=_limits(watch),
        stop=watch.stop,
    )
    if run.reason is not None and not len(run):
        raise spent(run.reason)
    if run.late.any() and not watch.timeline and _is_small(models, run):
        # Why a job is late is in its logs.
        run = machine_run(
            models, way.name, choices, until=until, timeline=True, budget=None, stop=watch.stop
        )
    task, job, release, end = job_columns(run)
    limits = (*choices.limits, *_profiles(models))
    return _Jobs(task, job, release, end, until, run.now, choices.said, limits, run)


def _placed(
    models: DerivedModels, way: Way, request: Request
) -> tuple[HostTasks, tuple[str, ...], Way, int | None]:
    """The tasks with the cores and SMs of the way's test, the way as simulated, and the SMs."""
    if way.test is None:  # global EDF without a lock
        models.refuse_cores()
        view = models.hosts("all", waits=False)
        return view.tasks, view.assumptions, way.replace(**request.options), None
    answer = analyzed(models.given, way, request)  # in ticks of its own, if of divided SMs
    verdict, said = answer.detail, answer.derivation
    if isinstance(verdict, GedfVerdict):
        own = "lock" if way.name == "srm" else "server_period"
        played = way.replace(**request.options).without(*_OF_TESTS)
        return verdict.hosts, said, played.replace(**{own: getattr(verdict, own)}), None
    if isinstance(verdict, HolisticBound):
        hosts = models.hosts("all", waits=False, split=True, switches=False).tasks
        played = with_platform(way.replace(**request.options), models)
        return hosts.replace(core=verdict.tasks.core), said, played, None
    assert isinstance(verdict, Verdict)
    hosts = verdict.hosts
    nowhere = np.flatnonzero(hosts.core < 0)
    if len(nowhere):
        raise ValueError(
            f"{hosts.name[int(nowhere[0])]}: got no core, expected one; no allocation was found"
        )
    if way.divided:
        hosts = models.hosts("divided", waits=False).tasks.replace(core=hosts.core, sm=hosts.sm)
        return hosts, _without_waits(said), verdict.way, verdict.sms
    if way.name == "gcaps":
        hosts = models.hosts("all", waits=False, switches=False).tasks.replace(core=hosts.core)
        said = _without_waits(said)
    given = {name: value for name, value in verdict.way.given.items() if name not in _OF_TESTS}
    # In the ticks of these models, which can be finer than those of the verdict.
    return hosts, said, with_platform(type(way)(**given), models), None


_OF_TESTS = ("variant", "fixed_point", "suspension", "order_free", "method")
"""Parameters of ways that are options of their tests."""


def _without_waits(said: tuple[str, ...]) -> tuple[str, ...]:
    """Assumptions of a test that hold for its simulation, which has no copy engines."""
    return tuple(text for text in said if not text.startswith(COPY_WAITS))


def _instances(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """GPU instances: each by itself, in the simulation of the way in which its tasks share it."""
    from gpusched.comparison.instances.instance_runs import InstanceRuns, ModelRun

    found = analyzed(models, way, request).detail
    assert isinstance(found, MigAllocation)
    inner = as_way(found.within)
    if not found.parts:
        raise ValueError(f"mig: got no instances for the tasks, expected some; {found.why()}")
    until = _until(models, watch, (launches_of, MOST_LAUNCHES), (blocks_of, MOST_BLOCKS))
    runs: list[WorkloadRun] = []
    for part in found.parts:
        each = DerivedModels.settled(part.answer.workload, part.answer.platform)
        stop = share_of(watch.stop, len(found.parts) - len(runs))
        asked = Request(found.options, stop=stop)
        runs.append(_observed(each, inner, asked, replace(watch, until=until, stop=stop)))
    tasks = [np.array(part.tasks, np.int64) for part in found.parts]
    both = list(zip(tasks, runs, strict=True))
    said = (text for run in runs for text in run.assumptions if text != _PERIODIC)
    details: dict[str, ModelRun] = {}
    for part, run in zip(found.parts, runs, strict=True):
        assert isinstance(run.detail, ModelRun)
        details[str(part.instance)] = run.detail
    open_ends = [run.now for run in runs if (run.end < 0).any()]
    return _Jobs(
        task=np.concatenate([number[run.task] for number, run in both]),
        job=np.concatenate([run.job for run in runs]),
        release=np.concatenate([run.release for run in runs]),
        end=np.concatenate([run.end for run in runs]),
        until=until,
        now=min(open_ends) if open_ends else max(run.now for run in runs),
        said=tuple(dict.fromkeys(said)),
        limits=(
            ("chosen instances", "the instances of the tasks were chosen"),
            *dict.fromkeys((*_no_cpus(models), *(pair for run in runs for pair in run.limits))),
        ),
        detail=InstanceRuns(details),
    )


_OVERLAP = (
    "jobs overlap",
    "jobs of a task overlap in the simulation, and its thread runs one at a time",
)

_WITH_SWITCHES = ("gcaps", "time_slices")
"""Ways whose host simulation has contexts."""

_WITHOUT_ENGINES = ("stgm", "gcaps")
"""Ways whose sections overlap on copy engines, which the host simulation does not have."""


def _no_cpus(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That a simulation without CPUs does not represent tasks that may wait for one."""
    if cpu_side(models).condition is None:
        return ()
    text = "the simulation has no CPUs, which tasks share here"
    return (("CPUs not shared", text),)


def _channels_are_full(launches: Launches, channels: int, shared: bool) -> bool:
    """Whether streams have channels in common (0: as many channels as streams)."""
    streams = [launches.streams] if shared else np.bincount(launches.stream_partition)
    return channels > 0 and max(streams, default=0) > channels


def _overlapping(
    models: DerivedModels,
    task: Int64Array,
    release: Int64Array,
    end: Int64Array,
    *,
    apart: bool = True,
) -> tuple[tuple[str, str], ...]:
    """That jobs of a task overlap which a thread runs one after the other.

    Where streams are ``apart``, kernels and copies launched behind those of the job before change
    nothing; otherwise others wait for them. A job whose deadline passes before the first of them
    is late all the same.
    """
    later = models.platform.launch_latency > 0
    more = [not apart or later or one.cpu_time > 0 for one in models.workload]
    following, due = (release + _of_each(models.workload, k)[task] for k in ("period", "deadline"))
    overlap = ((end < 0) | (end > following)) & np.array(more)[task]
    missed = due[(end < 0) | (end > due)]
    if not overlap.any() or (missed.size and missed.min() <= following[overlap].min()):
        return ()
    return (_OVERLAP,)


def _no_engines(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That a simulation without copy engines does not represent copies of several tasks."""
    if len(models.gpu_users()) < 2 or not any(task.copy_time for task in models.workload):
        return ()
    text = "the simulation has no copy engines; copies occupy the GPU as kernels do"
    return (("no copy engines", text),)


def _costs_per_kernel(models: DerivedModels, way: Way) -> tuple[tuple[str, str], ...]:
    """Costs that a simulation without launches and contexts counts too often."""
    workload, platform = models.workload, models.platform
    found = []
    several = any(sum(kernel.repeat for kernel in task.kernels) > 1 for task in workload)
    if platform.launch_latency and several:
        text = "each kernel of the simulation takes the launch latency, also behind another one"
        found.append(("latency per kernel", text))
    processes = {task.process for task in models.gpu_users()}
    if platform.context_switch and len(processes) > 1 and way.name not in _WITH_SWITCHES:
        text = "each GPU segment of the simulation begins with a context switch, needed or not"
        found.append(("switch per segment", text))
    return tuple(found)


def _profiles(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That blocks take as long on few SMs as on all, whatever was measured."""
    measured = any(kernel.sms for task in models.workload for kernel in task.kernels)
    if not measured or models.kernel_users() < 2:
        return ()
    text = "blocks take as long as on all SMs, although times on fewer SMs were measured"
    return (("times of all SMs", text),)


def _chosen(models: DerivedModels, way: Way, request: Request) -> tuple[tuple[str, str], ...]:
    """That cores or SMs were chosen by the package, so that others may do."""
    if way.name in ("srm", "container", "driver"):
        return ()
    if way.name == "stgm":
        return (("chosen SMs", "the SMs and cores of the tasks were chosen, and others may do"),)
    if models.has_cores() or models.platform.cpus == 1:
        return ()
    return (("chosen cores", "the cores of the tasks were chosen, and others may do"),)


_SIMULATIONS: dict[str, Callable[[DerivedModels, Way, Request, Watch], _Jobs]] = {
    "fifo": _fifo,
    "hierarchy": _hierarchy,
    "host": _host,
    "instances": _instances,
    "machine": _machine,
}


def _of_each(workload: Workload, key: str) -> Int64Array:
    """A fact of all tasks, in ticks."""
    return np.array([getattr(task, key) for task in workload], np.int64)


def _until(models: DerivedModels, watch: Watch, *limits: tuple[Work, int]) -> int:
    """The end of the releases, in the ticks of the models: that asked for, or the usual one."""
    until = watch.until
    if until is None:
        until = horizon(models.given.workload, *limits)
    return until * models.grain
