"""Simulations of a workload under one way of sharing the GPU (``gs.observe``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from gpusched._support.arguments import (
    Int64Array,
    flag,
    frozen,
    instance,
    integer,
    one_of,
    seed_sequence,
    set_number,
)
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    Progress,
    as_budget,
    raise_if_stopped,
    share_of,
    spent,
    within_seconds,
)
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
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
from gpusched.comparison.hyperperiods import (
    MOST_BLOCKS,
    MOST_LAUNCHES,
    Work,
    blocks_of,
    horizon,
    launches_of,
    refuse_long_service,
    refuse_many,
)
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.kernels_by_time import (
    SHARING,
    by_time_alone,
    fill_the_gpu,
    filled,
    open_shapes,
)
from gpusched.comparison.machine_models import INSIDE, Spreads, machine_model
from gpusched.comparison.machine_runs import (
    PLANNED,
    MachineChoices,
    job_columns,
    machine_choices,
    machine_run,
    machine_stack,
    needed_of_answer,
    needs_answer,
)
from gpusched.comparison.run_stack import RunStack
from gpusched.comparison.verdicts.gpu_rules import Change, readings_of
from gpusched.comparison.verdicts.judgement import open_reading
from gpusched.comparison.verdicts.premises import NotApplicable, cpu_side, refuse_many_clients
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import missing
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel, Segment
from gpusched.model.workload.time_units import Time, as_time, in_ticks
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_result import MachineRun
from gpusched.simulate.machine_run import MachineModel, MachineStack
from gpusched.simulate.run_arguments import gap_share
from gpusched.ways.way import OptionValue, Way, as_way

if TYPE_CHECKING:
    from gpusched.comparison.instances.instance_runs import InstanceRuns

__all__ = [
    "Draws",
    "Watch",
    "deployed_machine",
    "draws_of",
    "observe",
    "observed",
    "replayed",
    "stacked",
]

_ROUNDED = ("rounded times", "times of blocks are rounded up to ticks")
_PERIODIC = "jobs are released periodically, from the offsets, and take their whole times"


@dataclass(frozen=True)
class Draws:
    """Draws of a run: those with the number `index` of a seed.

    ``low``: least share of times (None: those that the workload states). ``gap``: most that a
    period is longer, as a share of it.
    """

    seed: np.random.SeedSequence
    index: int = 0
    low: Fraction | None = None
    gap: Fraction = Fraction(0)
    draw: str = "operation"

    def shares(self, workload: Workload) -> list[Fraction]:
        """The least share of the times of each task: not below its stated least time."""
        found = []
        for task in workload:
            least = _best_share(task)
            found.append(max(least, Fraction(least == 0) if self.low is None else self.low))
        return found

    def spreads(self, workload: Workload) -> Spreads | None:
        """The distributions of the segments of each task; None if there is none.

        Their times are not below the share that the task states as the least.
        """
        if not any(part.distribution for task in workload for part in task.segments):
            return None
        found = []
        for task in workload:
            least = _best_share(task)
            parts = (part.distribution for part in task.segments)
            found.append([None if one is None else one.shares(least) for one in parts])
        return found

    def said(self, workload: Workload) -> str:
        """A sentence on releases and times."""
        said = self._said(workload)
        if self.spreads(workload) is None:
            return said
        return (
            f"{said}; those with a distribution are drawn from it, evenly between two quantiles, "
            "none below the first or above the largest, and independently of each other"
        )

    def _said(self, workload: Workload) -> str:
        """A sentence on releases, and on times without distributions."""
        shares = self.shares(workload)
        said = "releases are periodic"
        if self.gap:
            said = f"periods are drawn, up to {_percent(self.gap)} longer"
        if any(task.jitter for task in workload):
            said += ", with drawn jitter"
        if min(shares) == 1:
            return f"{said}, and jobs take their whole times"
        if len(set(shares)) == 1:
            return f"{said}, and times are drawn from {_percent(shares[0])} of the whole ones on"
        return f"{said}, and times are drawn, from shares of the whole ones on that tasks have"


def _best_share(task: Task) -> Fraction:
    """The stated least time of a job as a share of the times of its segments.

    It is rounded up where its parts do not fit 31 bits.
    """
    whole = sum(part.repeat * _time_of(part) for part in task.segments)
    if not task.best or not whole:
        return Fraction(0)
    share = min(Fraction(1), Fraction(task.best, whole))
    if share.denominator >= 2**31:
        share = Fraction(-(-task.best * 2**30 // whole), 2**30)
    return share


def _time_of(part: Segment) -> int:
    """Time of a segment; of a kernel without one, that of its blocks."""
    if isinstance(part, Kernel) and part._time is None:
        return part.block_time or 0
    return part.time


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.6g} %"


def draws_of(seed: Any, index: int, low: Any, gap: Any, draw: str) -> Draws | None:
    """The draws that arguments of a call ask for; None: nothing is drawn."""
    share = None if low is None else gap_share(low, "low")
    if share is not None and share > 1:
        raise ValueError(f"low: got {shown(low)}, expected a share of the whole time, 0 to 1")
    longer = gap_share(gap, "gap")
    if longer >= 2**31:
        raise ValueError(f"gap: got {shown(gap)}, expected a share below 2**31")
    one_of(draw, enumeration("simulate.machine_draw"), "draw")
    set_number(index, "index")
    if seed is None:
        if share is not None or longer or index:
            name = "low" if share is not None else "gap" if longer else "index"
            raise ValueError(f"seed: got None, expected one with {name}=")
        return None
    return Draws(seed_sequence(seed), index, share, longer, draw)


@dataclass(frozen=True)
class Watch:
    """Length of a simulation (None: the default), and what it keeps.

    ``releases``: given arrivals and releases of the jobs of each task, in ns from tick 0.
    """

    until: int | None = None
    timeline: bool = False
    budget: Budget | None = None
    stop: Any = None
    draws: Draws | None = None
    progress: Progress = False
    releases: Sequence[Sequence[tuple[int, int]]] | None = None


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


@dataclass(frozen=True)
class _Runs:
    """Numbers of a stack of runs, and its assumptions."""

    numbers: MachineStack
    until: int
    said: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]


_Found = TypeVar("_Found")


@overload
def observe(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    until: Time | None = None,
    timeline: bool = True,
    seed: Any = None,
    index: int = 0,
    count: None = None,
    low: Any = None,
    gap: Any = 0,
    draw: str = "operation",
    triggered: Triggered = "apart",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> WorkloadRun: ...
@overload
def observe(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    until: Time | None = None,
    timeline: bool = True,
    seed: Any = None,
    index: int = 0,
    count: int,
    low: Any = None,
    gap: Any = 0,
    draw: str = "operation",
    triggered: Triggered = "apart",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> RunStack: ...
def observe(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    until: Time | None = None,
    timeline: bool = True,
    seed: Any = None,
    index: int = 0,
    count: int | None = None,
    low: Any = None,
    gap: Any = 0,
    draw: str = "operation",
    triggered: Triggered = "apart",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> WorkloadRun | RunStack:
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
    seed, index
        Seed (an int, a ``SeedSequence`` or a ``Generator``), and number of the run under it. With a
        seed, times are drawn from their distributions, others and releases as ``low`` and ``gap``
        say, and releases are up to the jitter of a task behind its arrivals. The draws depend on
        these two, on the name of the
        task, and on the numbers of the job and of the segment alone: not on the way, on ``until``
        or on other tasks. None: jobs are released periodically, from the offsets, without jitter,
        and take their whole times.
    count
        Number of runs, from ``index`` on, that are simulated in one call, without logs. Calls with
        different ``index`` may run in several threads.
    low
        Least times, as a share of the whole ones, but not below those that tasks state (``best``).
        Default: those that tasks state, and whole times of the others. Times with distributions are
        drawn from these: evenly between two quantiles, none below the first or above the largest.
    gap
        The most by which a period is longer, as a share of it.
    draw
        The parts with times of their own: each "operation" (a kernel's blocks take equally long),
        each "block", or each "job", all parts of which are then shortened alike.
    triggered
        As in ``gs.analyze``.
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit each simulation, or all runs of a
        stack together. Where a late job has to be simulated under several readings of the rules of
        GPUs, these share the seconds.
    progress
        With ``count``, a callable (done, total), in runs, or a bool that turns a progress bar on or
        off; by default a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``, as in ``gs.analyze``. Those
        that are options of its test alone make no difference.

    Returns
    -------
    WorkloadRun
        With ``count``, a `RunStack`: responses and percentiles of all runs, each of which can be
        simulated again.

    Raises
    ------
    NotApplicable
        The way does not exist on the platform, or the model cannot express the workload (the
        message gives the reason). It is a ValueError. Nothing is drawn in simulations by
        ``gs.simulate.host``, plans are for periodic releases, and there are no stacks of GPU
        instances that are simulated one by one.
    ValueError
        The way or a parameter is unknown; something is to be drawn without a seed; or, if
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
    draws = draws_of(seed, index, low, gap, draw)
    watch = Watch(last, flag(timeline, "timeline"), budget, stop, draws, progress)
    memory = None if budget is None else as_budget(budget).bytes
    request = Request(options_of(way), stop=stop, memory=memory)
    if count is None:
        return observed(models, way, request, watch)
    if draws is None:
        raise ValueError("seed: got None, expected one with count=")
    runs = integer(count, "count")
    if not 1 <= runs <= 2**63 - draws.index:
        raise ValueError(
            f"count: got {shown(runs)}, expected a positive number, and indices below 2**63"
        )
    again = partial(
        observe, workload, platform, way, until=until, seed=draws.seed, low=low, gap=gap, draw=draw
    )
    return stacked(models, way, request, watch, runs, again)


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


def stacked(
    models: DerivedModels,
    way: Way,
    request: Request,
    watch: Watch,
    runs: int,
    again: Callable[..., WorkloadRun],
) -> RunStack:
    """Simulate a workload so many times; ``again(index=i)`` simulates one run with its logs."""
    raise_if_stopped(request.stop)
    began = perf_counter()
    given, draws = models.given, watch.draws
    assert draws is not None
    asked = replace(request, options=_options(way, request))
    found: _Runs
    models, found = _in_ticks(models, way, asked, partial(_machine_stack, runs=runs), watch)
    numbers = found.numbers
    return RunStack(
        workload=given.stated,
        platform=given.platform,
        way=way.name,
        options=asked.options,
        until=found.until // models.grain,
        index=draws.index,
        worst=missing(numbers.worst, numbers.worst >= 0, -1),
        late_count=numbers.late,
        job_count=numbers.released,
        left=numbers.left,
        assumptions=(*found.said, _said_of(draws, given.workload)),
        limits=found.limits,
        reason=numbers.reason,
        seconds=perf_counter() - began,
        bins=np.stack([numbers.task, numbers.edge, numbers.count]),
        _again=again,
    )


def _said_of(draws: Draws | None, workload: Workload) -> str:
    return _PERIODIC if draws is None else draws.said(workload)


def _options(way: Way, request: Request) -> dict[str, OptionValue]:
    options = dict(request.options)
    if way.modes:
        options.setdefault("mode", way.modes[0])
    return options


def _observed(models: DerivedModels, way: Way, request: Request, watch: Watch) -> WorkloadRun:
    """The run under one reading of the rules of GPUs."""
    raise_if_stopped(request.stop)
    began = perf_counter()
    options = _options(way, request)
    asked = replace(request, options=options)
    given = models.given
    found: _Jobs
    models, found = _in_ticks(models, way, asked, _simulation_of(way, asked), watch)
    grain = models.grain
    release = found.release // grain
    took = ticks_up(found.end - found.release, grain)  # so that who is in time is not late
    return WorkloadRun(
        workload=given.stated,
        platform=given.platform,
        way=way.name,
        options=options,
        until=found.until // grain,
        task=frozen(found.task),
        job=frozen(found.job),
        release=frozen(release),
        end=frozen(np.where(found.end < 0, -1, release + took)),
        now=found.now // grain,
        assumptions=(*found.said, _said_of(watch.draws, given.workload)),
        limits=found.limits,
        detail=found.detail,
        seconds=perf_counter() - began,
        grain=grain,
    )


def _inner_of(way: Way, request: Request) -> str:
    """The way within GPU instances, "" without any."""
    return as_way(request.options.get("within", way.within)).name if way.name == "mig" else ""


def _simulation_of(way: Way, request: Request) -> Callable[..., _Jobs]:
    """The simulation of a way."""
    apart = way.name == "mig" and _inner_of(way, request) not in INSIDE
    return _instances if apart else _machine


def _in_ticks(
    models: DerivedModels,
    way: Way,
    request: Request,
    simulation: Callable[..., _Found],
    watch: Watch,
) -> tuple[DerivedModels, _Found]:
    """The result of a simulation, and the models that it is of: those in finer ticks, if needed."""
    fine = models.refined(way.name, test=way.name == "mig", within=_inner_of(way, request))
    try:
        try:
            return fine, simulation(fine, way, request, watch)
        except OverflowError:  # of times that are short enough in the given ticks
            if fine.grain == 1:
                raise
        coarse = fine.given.unrefined()
        return coarse, simulation(coarse, way, request, watch)
    except ValueError as error:
        raise NotApplicable(*error.args).with_traceback(error.__traceback__) from None


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


def _deployed(
    models: DerivedModels, way: Way, request: Request, watch: Watch
) -> tuple[DerivedModels, MachineChoices, int]:
    """The models and the deployment that the machine plays, and the end of the releases."""
    if way.name in PLANNED and watch.draws is not None and watch.draws.gap:
        raise ValueError("gap: got one, expected 0; a plan is for periodic releases")
    if way.name in ("mps", "mps_static"):
        refuse_many_clients(models)
    if way.name in SHARING and models.platform.gpu is not None and by_time_alone(models):
        if not fill_the_gpu(models, way.name):  # else each is one block of all SMs
            models = filled(models, way.name).of(models)
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
    if models.kernels_meet(way.name):
        choices = replace(choices, limits=choices.limits + _profiles(models))
        if way.name not in PLANNED:
            choices = replace(choices, limits=choices.limits + open_shapes(models.given))
    if watch.draws is not None:
        choices = replace(choices, arguments=choices.arguments | _drawn(models, watch.draws))
    if watch.releases is not None:
        tick = Fraction(models.given.workload.tick_ns) / models.grain
        given = [[(round(a / tick), round(r / tick)) for a, r in row] for row in watch.releases]
        choices = replace(choices, arguments={**choices.arguments, "releases": given})
    return models, choices, until


def replayed(
    workload: Workload,
    answer: WorkloadAnswer,
    releases: Sequence[Sequence[tuple[int, int]]],
    until: int,
) -> WorkloadRun:
    """The simulation of given releases under the deployment of an answer, up to an instant in ns.

    ``releases``: pairs of arrival and release of each task, in ns; none of tasks that others
    release.
    """
    way = as_way(answer.way)
    request = Request(answer.options, answer=answer)
    if _simulation_of(way, request) is _instances:
        raise NotApplicable(f"{way.name}: got given releases, expected a way without instances")
    end = -(-until // workload.tick_ns) + 1
    models = DerivedModels(workload, answer.platform)
    return _observed(models, way, request, Watch(until=end, releases=releases))


def deployed_machine(workload: Workload, answer: WorkloadAnswer) -> tuple[MachineModel, int]:
    """The machine under the deployment of an answer, and its ticks in one of the workload's.

    It has no releases: its programs, its places of tasks and its GPU are for an execution.
    """
    way = as_way(answer.way)
    request = Request(answer.options, answer=answer)
    inner = _inner_of(way, request)
    models = DerivedModels(workload, answer.platform)
    models = models.refined(way.name, test=way.name == "mig", within=inner)
    models, choices, _ = _deployed(models, way, request, Watch(until=1))
    none: dict[str, Any] = {"table": None, "repeat": None, "releases": [()] * len(workload)}
    arguments = {**choices.arguments, **none, "jitter": True}
    return machine_model(models, way.name, until=1, **arguments), models.grain


def _drawn(models: DerivedModels, draws: Draws) -> dict[str, Any]:
    """Draws as arguments of `machine_model`."""
    return {
        "low": draws.shares(models.given.workload),
        "spreads": draws.spreads(models.given.workload),
        "gap": draws.gap,
        "draw": draws.draw,
        "grain": models.grain,
        "jitter": True,
    }


def _seeded(watch: Watch) -> dict[str, Any]:
    return {} if watch.draws is None else {"seed": watch.draws.seed, "index": watch.draws.index}


def _machine_stack(
    models: DerivedModels, way: Way, request: Request, watch: Watch, *, runs: int
) -> _Runs:
    """Runs of the whole machine without logs."""
    simulation = _simulation_of(way, request)
    if simulation is _instances:
        raise ValueError(f"count: got {runs}, expected None; instances are simulated one by one")
    models, choices, until = _deployed(models, way, request, watch)
    play = partial(
        machine_stack, models, way.name, until=until, budget=_limits(watch), stop=watch.stop
    )
    found = play(choices, runs=runs, progress=watch.progress, **_seeded(watch))
    if found.reason is not None and not len(found.left):
        raise spent(found.reason)
    limits = choices.limits
    if found.late.any() and models.rounded:
        down = _rounded_down(models, choices)
        if down is None:
            limits = (*limits, _ROUNDED)
        else:
            late = found.late.copy()
            least = play(down, runs=len(late), **_seeded(watch)).late
            late[: len(least)] = np.minimum(late[: len(least)], least)
            found = replace(found, late=frozen(late))
    return _Runs(found, until, choices.said, limits)


def _machine(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """The whole machine: CPUs, copy engines and the GPU."""
    models, choices, until = _deployed(models, way, request, watch)
    play = partial(machine_run, models, way.name, choices, until=until, stop=watch.stop)
    run = play(timeline=watch.timeline, budget=_limits(watch), **_seeded(watch))
    if run.reason is not None and not len(run):
        raise spent(run.reason)
    if run.late.any() and not watch.timeline and _is_small(models, run):
        # Why a job is late is in its logs.
        run = play(timeline=True, budget=None, **_seeded(watch))
    limits = choices.limits
    if (
        run.late.any()
        and models.rounded
        and not _is_late_rounded_down(models, way, choices, watch, until)
    ):
        limits = (*limits, _ROUNDED)
    task, job, release, end = job_columns(run)
    return _Jobs(task, job, release, end, until, run.now, choices.said, limits, run)


def _rounded_down(models: DerivedModels, choices: MachineChoices) -> MachineChoices | None:
    """The machine with times of blocks rounded down, which are possible; None: is not known."""
    found = models.workload.kernel_times(models.platform)
    kernels = [of for row in found for of in row if of is not None and of.kernel.blocks is not None]
    if any(of.kernel.sms or of.block_on(of.sms) < 1 for of in kernels):
        return None
    return replace(choices, arguments={**choices.arguments, "down": True})


def _is_late_rounded_down(
    models: DerivedModels, way: Way, choices: MachineChoices, watch: Watch, until: int
) -> bool:
    """Whether a job is late in the run with times of blocks rounded down, as far as is known."""
    down = _rounded_down(models, choices)
    if down is None:
        return False
    run = machine_run(
        models, way.name, down, until=until, timeline=False,
        budget=_limits(watch), stop=watch.stop, **_seeded(watch),
    )  # fmt: skip
    return bool(run.late.any())


def _instances(models: DerivedModels, way: Way, request: Request, watch: Watch) -> _Jobs:
    """GPU instances whose tasks share them by locks or dispatchers: each by itself."""
    from gpusched.comparison.instances.instance_runs import InstanceRuns

    if watch.draws is not None and watch.draws.spreads(models.workload) is not None:
        raise ValueError(
            "time: got distributions, expected none; instances are simulated one by one"
        )
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
    said = (text for run in runs for text in run.assumptions[:-1])
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
