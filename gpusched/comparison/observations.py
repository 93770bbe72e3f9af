"""Simulations of a workload under one way of sharing the GPU (``gs.observe``)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import Int64Array, flag, frozen, instance
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    as_budget,
    raise_if_stopped,
    share_of,
    spent,
    within_seconds,
)
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.comparison.analyses import (
    Request,
    Triggered,
    analyzed,
    asked_way,
    grouped,
    options_of,
    with_costs,
)
from gpusched.comparison.derived_models import DerivedModels, has_whole_kernels
from gpusched.comparison.finer_ticks import ticks_up
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.machine_models import INSIDE
from gpusched.comparison.machine_runs import (
    job_columns,
    machine_choices,
    machine_run,
    needed_of_answer,
    needs_answer,
)
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
from gpusched.comparison.verdicts.gpu_rules import Change, readings_of
from gpusched.comparison.verdicts.premises import NotApplicable, cpu_side, refuse_many_clients
from gpusched.comparison.verdicts.readings import open_reading
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import Time, as_time, in_ticks
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_result import MachineRun
from gpusched.ways.way import OptionValue, Way, as_way

if TYPE_CHECKING:
    from gpusched.comparison.instances.instance_runs import InstanceRuns

__all__ = ["Watch", "observe", "observed"]

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
    detail: InstanceRuns | MachineRun


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
        A way of sharing the GPU (``gs.ways``), or its name. The whole machine is simulated, with
        CPUs, copy engines and the GPU (`gs.simulate.MachineRun`), deployed as the answer of the
        way's test says: with its cores, SMs, server, instances, its order or plan. GPU instances
        that are shared within by locks or dispatchers are simulated one by one.
    until
        End of the interval in which jobs are released, as ticks or text with a unit; these jobs
        run to completion. Default: ten hyperperiods or 10 s, whichever is shorter, but at most
        100,000 jobs, 100,000 launches or 2,000,000 blocks, and at least one job of each task. A
        task whose offset is later than a million jobs of the others has no job.
    timeline
        Whether ``detail`` keeps operations, blocks and CPU intervals, which its pictures need.
        (Short runs with late jobs keep them in any case.)
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
    inner = as_way(request.options.get("within", way.within)).name if way.name == "mig" else ""
    simulation = _instances if way.name == "mig" and inner not in INSIDE else _machine
    fine = models.refined(way.name, test=way.name == "mig", within=inner)
    try:
        return fine, simulation(fine, way, request, watch)
    except OverflowError:  # of times that are short enough in the given ticks
        if fine.grain == 1:
            raise
    coarse = fine.given.unrefined()
    return coarse, simulation(coarse, way, request, watch)


# Simulations --------------------------------------------------------------------------------------


def _limits(watch: Watch) -> Budget | None:
    """The budget of a simulation: the jobs that are made of it take as much memory again."""
    if watch.budget is None or watch.budget.bytes is None:
        return watch.budget
    return replace(watch.budget, bytes=max(1, watch.budget.bytes // 2))


_MOST_PARTS = 20_000
"""Segments of all jobs up to which a run with late jobs keeps its logs."""


def _is_small(models: DerivedModels, run: MachineRun) -> bool:
    parts = np.array([launches_of(task) + len(task.segments) for task in models.workload], np.int64)
    return run.reason is None and int(parts[run.jobs.task].sum()) <= _MOST_PARTS


def _machine(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """The whole machine: CPUs, copy engines and the GPU."""
    if way.name in ("mps", "mps_static"):
        refuse_many_clients(models)
    works: tuple[tuple[Work, int], ...] = ((launches_of, MOST_LAUNCHES),)
    if not has_whole_kernels(way.name):
        works += ((blocks_of, MOST_BLOCKS),)
    if watch.until is None:
        refuse_many(models.workload, launches_of, MOST_LAUNCHES, "repeat")
    if watch.until is None and watch.budget is None and len(works) > 1:
        refuse_many(models.workload, blocks_of, MOST_BLOCKS, "blocks")
    until = _until(models, watch, *works)
    answer = request.answer
    if answer is None and needed_of_answer(way.name, request.options):
        answer = analyzed(models.given, way, request)
    elif answer is None and way.test is not None and needs_answer(models, way.name):
        with contextlib.suppress(ValueError, BudgetSpent):  # the usual deployment
            answer = analyzed(models.given, way, request)
    if watch.until is None and answer is not None and isinstance(answer.detail, GedfVerdict):
        refuse_long_service(answer.detail)
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
    limits = choices.limits
    if not as_way(way.name).in_turns:
        limits += _profiles(models)
    return _Jobs(task, job, release, end, until, run.now, choices.said, limits, run)


def _instances(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """GPU instances whose tasks share them by locks or dispatchers: each by itself."""
    from gpusched.comparison.instances.instance_runs import InstanceRuns

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
    details: dict[str, MachineRun] = {}
    for part, run in zip(found.parts, runs, strict=True):
        assert isinstance(run.detail, MachineRun)
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


def _no_cpus(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That separate simulations do not represent tasks that share CPUs."""
    if cpu_side(models).condition is None:
        return ()
    text = "each instance is simulated by itself, and its tasks share CPUs with others"
    return (("CPUs not shared", text),)


def _profiles(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That blocks take as long on few SMs as on all, whatever was measured."""
    measured = any(kernel.sms for task in models.workload for kernel in task.kernels)
    if not measured or models.kernel_users() < 2:
        return ()
    text = "blocks take as long as on all SMs, although times on fewer SMs were measured"
    return (("times of all SMs", text),)


def _until(models: DerivedModels, watch: Watch, *limits: tuple[Work, int]) -> int:
    """The end of the releases, in the ticks of the models: that asked for, or the usual one."""
    until = watch.until
    if until is None:
        until = horizon(models.given.workload, *limits)
    return until * models.grain
