"""Tests of a workload: each derives its model, runs, and answers per task (``gs.analyze``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np

import gpusched.analysis as analysis
import gpusched.pbs as pbs
from gpusched._support.arguments import Int64Array, instance, one_of
from gpusched._support.budget import (
    Budget,
    BudgetSpent,
    as_budget,
    raise_if_stopped,
    share_of,
    spent,
    within_seconds,
)
from gpusched._support.text import shown
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.analysis.placed_tests import run_test
from gpusched.analysis.priority_answer import PriorityStreamsBound
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.core_choice import CoreChoice, with_cores
from gpusched.comparison.delayed_programs import delayed_programs
from gpusched.comparison.derived_models import DerivedModels, Gaps
from gpusched.comparison.hyperperiods import refuse_unsettled, stays_within
from gpusched.comparison.instances.allocation_search import (
    allocated,
    allocated_on_shared_cpus,
    inner_way,
)
from gpusched.comparison.instances.instance_tests import SharedCpus
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.kernels_by_time import (
    AS_GIVEN,
    FILLS,
    SHARING,
    Shapes,
    by_time_alone,
    filled,
    in_turns,
    of_either,
)
from gpusched.comparison.machine_models import begins_and_ends_on_gpu
from gpusched.comparison.released_tasks import (
    RELEASED,
    ReleasedTest,
    links_of,
    takes_tasks_apart,
    tested_with_links,
    with_periods,
)
from gpusched.comparison.tasks_in_parts import PartForm
from gpusched.comparison.verdicts.gpu_rules import readings_of
from gpusched.comparison.verdicts.judgement import Found, judged, under_all_readings
from gpusched.comparison.verdicts.premises import (
    Case,
    NotApplicable,
    cpu_side,
    needs_cpus,
    refuse_false_premises,
    shares_condition,
)
from gpusched.comparison.whole_programs import (
    WHOLE_PROGRAMS,
    Beside,
    takes_options,
    whole_program,
)
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.batches import MAX_TASKS
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains, KernelGraph, rows_of
from gpusched.model.views.derived_view import CPUS_APART, BatchView, ChainBatchView, View
from gpusched.model.views.graph_view import GraphBatchView
from gpusched.model.views.kernel_view import MOST_CUT
from gpusched.model.workload.platforms import ON_PLATFORM, Platform
from gpusched.model.workload.time_units import as_time, in_ticks
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way, as_way

__all__ = [
    "SEARCH_BUDGET",
    "Allocation",
    "Request",
    "Triggered",
    "analyze",
    "analyzed",
    "grouped",
    "instances_for",
    "timed",
]


Triggered = Literal["apart", "one"]
"""Whether tasks that release each other have a thread each, or one together."""

SEARCH_BUDGET = Budget(states=200_000, bytes=1 << 25)
"""Limits of each exact test in comparisons, which run many of them."""


@dataclass(frozen=True)
class Allocation:
    """Cores, SMs and the server's core, as chosen by a test."""

    core: Int64Array
    sm: Any = None  # bool (n, SMs), or None
    server: int | None = None

    @classmethod
    def of(cls, verdict: Verdict | HolisticBound) -> Allocation:
        """The allocation of a verdict."""
        if isinstance(verdict, HolisticBound):
            return cls(verdict.tasks.core)
        hosts = verdict.hosts
        server = None if verdict.server is None else int(verdict.server)
        return cls(hosts.core, hosts.sm if verdict.test == "stgm" else None, server)


@dataclass(frozen=True)
class Request:
    """Request to a method: its options, and the arguments that all methods take."""

    options: Mapping[str, OptionValue]
    gaps: Gaps = "occupy"
    budget: Budget | None = None
    stop: Any = None
    allocation: Allocation | None = None
    plan: WorkloadAnswer | None = None  # with a schedule, whose order is kept
    answer: WorkloadAnswer | None = None  # of the test, whose deployment a simulation plays
    memory: int | None = None  # most bytes of a table of batches
    own: bool = True  # False: only the holistic test is asked of a way that has another one
    whole: bool = True  # False: only the other test is asked of a way that has the holistic one
    beside: Beside | None = None  # CPU work of tasks of other GPU instances, which is counted
    reasons: bool = True  # False: only whether the test accepts is asked, not why it does not
    guaranteed: bool = False  # True: nor whether it accepts under conditions


def analyze(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    gaps: Gaps = "occupy",
    triggered: Triggered = "apart",
    times: str = "largest",
    budget: Budget | None = None,
    stop: Any = None,
    **options: OptionValue,
) -> WorkloadAnswer:
    """Test the schedulability of a workload under one way of sharing the GPU.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ... ], tick="us")
    >>> answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=2), "mpcp", mode="suspend")
    >>> answer.schedulable, answer.response.tolist()
    (True, [15000, 22000])
    >>> answer.why("camera")
    'camera: response at most 15ms, for a deadline of 40ms.'

    Parameters
    ----------
    workload
        Tasks with CPU work, copies and kernels.
    platform
        GPU, CPU cores and overheads.
    way
        A way of sharing the GPU (``gs.ways``), or its name in `compare` ("streams",
        "priority_streams", "mps", "mps_static", "green_contexts", "time_slices", "gcaps", "mpcp",
        "fmlp_plus", "gpu_server", "stgm", "mig", "srm", "container", "edf_serial", "edf_parallel",
        "pbs"). Costs that it states win over those of the platform.
    gaps
        Treatment of CPU work between two GPU segments of a job by the methods that schedule jobs as
        units (PBS): ``"occupy"`` (it counts as GPU time) or ``"refuse"``.
    triggered
        Tasks that others release: ``"apart"`` (each has a thread) or ``"one"`` (a thread runs all
        that go back to one task, as in ``Workload.in_one_thread``; then tests without released
        tasks apply, too).
    times
        Times with distributions: the ``"largest"``, or a quantile such as ``"p99"``, as in
        ``Workload.at_quantile``. Guarantees are then conditional.
    budget
        A ``gs.Budget`` for the whole call. Its ``states`` limit each exact search, and for mig the
        sets as in ``gs.mig``; ``bytes`` limit the PBS methods.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``; for mig also those of the way
        ``within``. If the tasks have no cores, mpcp, fmlp_plus, gpu_server,
        time_slices and gcaps assign them with ``gs.analysis.partition`` and, if their test does not
        accept these cores, try all other assignments (if there are more than 20,000, those of a few
        rules); stgm assigns cores and SMs with ``stgm_allocate``, by default with its extension
        ``apart=True``.

    Returns
    -------
    WorkloadAnswer
        It is accepted only if every job of every task meets its deadline on the whole machine. If
        the test accepts, but not all of its premises are shown (of streams and batches, for
        example, that CPU work is not delayed by other tasks), the verdict is "conditional" and
        ``conditions`` lists them; so it is with a ``variant`` or an ``order`` that is not proven
        for the machine. It is rejected if no way can meet the deadlines, or if an exact test of the
        stated times says no. Under srm and container, bounded tardiness is not sufficient. Under
        pbs, edf_serial and edf_parallel the answer holds for all jobs, not only for those of one
        hyperperiod.

    Raises
    ------
    NotApplicable
        The way does not exist on the platform, or its model cannot express the workload; the
        message gives the reason. It is a ValueError.
    ValueError
        An unknown way or parameter.
    OverflowError
        A time is 2**60 ticks or more.
    gpusched.Cancelled
        ``stop`` was set, or the seconds of the budget were spent (the message tells) before there
        was an answer. The PBS methods and mig give an undecided answer instead, once their model
        is derived.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gaps, ("refuse", "occupy"), "gaps")
    workload = grouped(timed(workload, times), triggered)
    way = asked_way(way, options)
    stop = within_seconds(stop, as_budget(budget).seconds)
    memory = None if budget is None else as_budget(budget).bytes
    models = DerivedModels(workload, with_costs(platform, way))
    return analyzed(models, way, Request(options_of(way), gaps, budget, stop, memory=memory))


def timed(workload: Workload, times: str) -> Workload:
    """The workload with the largest times, or with those of a quantile."""
    return workload if times == "largest" else workload.at_quantile(times)


def grouped(workload: Workload, triggered: object) -> Workload:
    """The workload, in which threads run tasks that release each other "apart", or as "one"."""
    one_of(triggered, ("apart", "one"), "triggered")
    return workload.in_one_thread() if triggered == "one" else workload


def asked_way(way: object, options: Mapping[str, OptionValue]) -> Way:
    """The way with parameters that are added to it; ValueError for those that it lacks.

    Parameters that mig does not have are those of the way within its instances.
    """
    found = as_way(way)
    if found.name != "mig":
        return found.replace(**options) if options else found
    within = as_way(options.get("within", found.within), argument="within")
    more = {name: value for name, value in options.items() if name != "within"}
    return found.replace(within=inner_way(within.replace(**more)))


def with_costs(platform: Platform, way: Way) -> Platform:
    """The platform with the costs that a way states."""
    costs = costs_of(way)
    return platform.replace(**costs) if costs else platform


def costs_of(way: Way) -> dict[str, Any]:
    """The parameters of a way that were given, of those that a platform has."""
    return {name: value for name, value in way.given.items() if name in ON_PLATFORM}


def options_of(way: Way) -> dict[str, OptionValue]:
    """The parameters of a way that were given, without those that a platform has; no arrays."""
    return {
        name: tuple(value.tolist()) if isinstance(value, np.ndarray) else value
        for name, value in way.given.items()
        if name not in ON_PLATFORM
    }


def analyzed(
    models: DerivedModels, way: Way, request: Request, *, shared_cpus: bool = True
) -> WorkloadAnswer:
    """Return the answer of the way's test; see `analyze`.

    ``shared_cpus`` is False for a part of the workload, whose other tasks use the same CPUs. The
    readings share the time; one that gets too little has no answer, as if the test did not apply.
    A program is deployed without knowing which reading is true: what the first guarantee chose, its
    cores, SMs or plan, the other readings keep.
    """
    raise_if_stopped(request.stop)
    readings = list(readings_of(models.given, way.name, run=False))
    holding: WorkloadAnswer | None = None

    def asked(other: DerivedModels, parts: int) -> WorkloadAnswer:
        nonlocal holding
        kept = request if holding is None else _deployed(request, holding, way, other)
        kept = replace(kept, stop=share_of(request.stop, parts))
        found = _analyzed(other, way, kept, shared_cpus=shared_cpus)
        if holding is None and (found.accepted or found.conditional):
            holding = found
        return found

    def under(other: DerivedModels, parts: int) -> WorkloadAnswer | None:
        try:
            return asked(other, parts)
        except (ValueError, OverflowError, BudgetSpent):
            return None

    answer = None
    refused: Exception | None = None
    try:
        answer = asked(models, len(readings) + 1)
    except (NotApplicable, BudgetSpent) as error:
        refused = error
    if request.guaranteed and answer is not None and not answer.accepted:
        return answer  # other readings give conditions alone
    others = (
        (changes, under(other, len(readings) - i)) for i, (changes, other) in enumerate(readings)
    )
    found = under_all_readings(answer, others, models.given.platform)
    if found is None:
        assert refused is not None
        raise refused
    return found


def _deployed(request: Request, answer: WorkloadAnswer, way: Way, models: DerivedModels) -> Request:
    """The request for tests of the program as it is deployed for an answer that holds."""
    detail = answer.detail
    if isinstance(detail, pbs.Search):
        return replace(request, plan=answer)
    if models.has_cores():
        return request
    if isinstance(detail, (Verdict, HolisticBound)):
        on_cores = not needs_cpus(way.name)  # else the other test takes CPUs for granted
        own = request.own and (on_cores or isinstance(detail, Verdict))
        return replace(request, allocation=Allocation.of(detail), own=own)
    core = cpu_side(models).core
    if not all(name in core for name in models.workload.names):
        return replace(request, whole=False)
    cores = np.array([core[name] for name in models.workload.names], np.int64)
    return replace(request, allocation=Allocation(cores))


def _analyzed(
    models: DerivedModels, way: Way, request: Request, *, shared_cpus: bool
) -> WorkloadAnswer:
    """The answer under one reading of the rules of GPUs.

    Of a way with two tests, that of the GPU alone comes first. What it does not guarantee the
    holistic one may, which counts CPUs, copies and channels itself.
    """
    if way.test_method is None:
        raise ValueError(
            f"way: got {way.name!r}, which has no test in this package, expected another way; "
            "gs.observe (gpusched simulate) simulates it"
        )
    raise_if_stopped(request.stop)
    if way.name in SHARING and models.platform.gpu is not None and by_time_alone(models):
        return _of_unknown_shapes(models, way, request, shared_cpus=shared_cpus)
    return _tested(models, way, request, AS_GIVEN, shared_cpus=shared_cpus)


def _of_unknown_shapes(
    models: DerivedModels, way: Way, request: Request, *, shared_cpus: bool
) -> WorkloadAnswer:
    """The answer for kernels that are known by their time alone: a guarantee for all in turns, else
    one on the condition that they fill their SMs; each with what the other assumption gives."""

    def under(shapes: Shapes | None) -> WorkloadAnswer | None:
        if shapes is None:
            return None
        return _tested(models, way, request, shapes, shared_cpus=shared_cpus)

    turns = None
    with contextlib.suppress(ValueError, OverflowError):
        refuse_false_premises(way.name, Case(models))  # such as a channel for each stream
        if request.options.get("queues", "own") == "own":
            turns = under(in_turns(models, way.name))
    if turns is not None and turns.accepted and not request.reasons:
        return turns
    filling, refused = None, None
    try:
        filling = under(filled(models, way.name))
    except NotApplicable as error:
        refused = error
    if turns is None and filling is None:
        assert refused is not None
        raise refused
    return of_either(models, turns, filling)


def _tested(
    models: DerivedModels, way: Way, request: Request, shapes: Shapes, *, shared_cpus: bool
) -> WorkloadAnswer:
    """The answer of the tests of a way, for kernels of these shapes."""
    answer = whole = refused = None
    if request.own and (way.family == "lock" or way.name in _TESTS):
        try:
            answer = _answered(models, way, request, shapes, shared_cpus=shared_cpus)
        except NotApplicable as error:
            refused = error
    settled = answer is not None and (answer.accepted or answer.impossible)
    counts_cpus = shared_cpus or request.beside is not None
    asks_whole = counts_cpus and (request.whole or way.name not in _TESTS) and not settled
    if asks_whole and way.name in WHOLE_PROGRAMS:
        try:
            whole = _whole_answer(models, way, request, shapes)
        except NotApplicable as error:
            of_processes = way.name == "time_slices" and models.shares_processes()
            if refused is None or of_processes:  # which the first test never takes
                refused = error
    shares = answer is not None and any(one.premise == "cpu_alone" for one in answer.conditions)
    if shares and request.whole and way.name in _PLANNED:
        planned = _planned_answer(models, way, request)
        if planned is not None and planned.accepted:
            return planned
    if answer is None:
        if whole is None:
            raise refused or NotApplicable("options: got those of another test")
        return whole
    if whole is None:
        return answer
    if whole.accepted or not (answer.conditions or answer.rejected):
        more = whole.accepted or whole.bounded.sum() > answer.bounded.sum()
        return whole if more else answer
    fewer = whole.conditional and set(whole.conditions) < set(answer.conditions)
    return whole if fewer else answer


Test: TypeAlias = "Callable[[DerivedModels, Way, Request, dict[str, Any]], Found]"


def _whole_answer(
    models: DerivedModels, way: Way, request: Request, shapes: Shapes
) -> WorkloadAnswer | None:
    """The answer of the holistic test of a way; None where an option belongs to the other test."""
    if not takes_options(way, request.options):
        return None

    def test(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
        kept = None if request.allocation is None else request.allocation.core
        asked = way.replace(**request.options)  # a comparison has the modes of a way as options
        found = whole_program(models, asked, kept, request.stop, request.beside)
        answer, view = found.answer, found.view
        return Found(answer, view, bool(answer.accepted), found.said, found.slower)

    return _answered(models, way, request, shapes, shared_cpus=True, test=test)


_PLANNED = ("pbs",)
"""Ways whose runtime keeps the order of a plan, which may count that tasks share CPUs."""


def _planned_answer(models: DerivedModels, way: Way, request: Request) -> WorkloadAnswer | None:
    """The answer for a plan with CPU work at its longest; None where it may exceed a deadline."""
    delayed = delayed_programs(models)
    if delayed is None:
        return None

    def test(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
        later = delayed_programs(models)
        if later is None:
            raise NotApplicable("tasks: got CPU work that may take longer than its deadline")
        found = _test_of(way)(later.models, way, request, options)
        assert found.view is not None
        said = (text for text in found.view.assumptions if not text.startswith(CPUS_APART))
        view = replace(found.view, assumptions=tuple(said))
        return replace(found, view=view, said=(*found.said, *later.said), alone=later.alone)

    try:
        return _answered(models, way, request, AS_GIVEN, shared_cpus=True, test=test)
    except (NotApplicable, BudgetSpent):
        return None


def _answered(
    models: DerivedModels,
    way: Way,
    request: Request,
    shapes: Shapes,
    *,
    shared_cpus: bool,
    test: Test | None = None,
) -> WorkloadAnswer:
    """The answer of a test; None: that of the way, which is not the holistic one."""
    method = way.test_method
    assert method is not None
    inner = as_way(request.options.get("within", way.within)) if way.name == "mig" else None
    options = dict(request.options)
    if way.modes:
        options.setdefault("mode", way.modes[0])
    began = perf_counter()
    given = models.given
    asked = _test_of(way) if test is None else test

    def run(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
        made = shapes.of(models)
        base, key = made.base, ("found", way, tuple(options.items()))
        without_cores = test is None and request.plan is None and way.name in _WITHOUT_CORES
        if without_cores and base is not made:  # once for all placements
            found = base.once(key, lambda: asked(base, way, request, options))
        else:
            found = asked(made, way, request, options)
        shares = shares_condition(made, way.name, found.answer)
        return replace(found, conditions=(*shapes.conditions, *shares))

    try:
        refuse_false_premises(way.name, Case(given), whole=test is not None)
        models, found = _found(given, way, request, options, inner, run)
    except ValueError as error:
        raise NotApplicable(*error.args).with_traceback(error.__traceback__) from None

    def again(other: DerivedModels) -> tuple[DerivedModels, Found]:
        return _found(other, way, request, options, inner, run)

    means = judged(
        models,
        way.replace(**options),
        found,
        again,
        shared_cpus=shared_cpus,
        reasons=request.reasons,
    )
    answer, view = found.answer, found.view
    return WorkloadAnswer(
        workload=given.stated,
        platform=given.platform,
        way=way.name,
        method=_NAMES.get(type(answer), method.name),
        options=options,
        claim=answer.claim,
        accepted=means.accepted,
        rejected=means.rejected,
        impossible=means.impossible,
        conditions=means.conditions,
        response=means.response,
        bounded=means.bounded,
        derivation=(
            *(() if view is None else view.assumptions), *found.slower, *found.said, *means.said
        ),
        reason=means.reason,
        detail=answer,
        seconds=perf_counter() - began,
        grain=means.grain,
        units={} if view is None else _units_of(given.workload, view),
        ends=means.ends,
    )  # fmt: skip


_NAMES: dict[type[Any], str] = {
    PriorityStreamsBound: "priority_streams",
    HolisticBound: "holistic",
}
"""Tests by the class of their answers, of ways with several."""


def _units_of(workload: Workload, view: View[Any]) -> dict[str, tuple[int, ...]]:
    """Numbers of kernels in the units of batches, of the tasks that have units of several."""
    if isinstance(view, ChainBatchView):
        found = dict(zip(view.tasks.name, view.units, strict=True))
    elif isinstance(view, (BatchView, GraphBatchView)):
        names = view.tasks.name
        found = {n: (sum(kernel.repeat for kernel in workload[n].kernels),) for n in names}
    else:
        return {}
    return {name: sizes for name, sizes in found.items() if max(sizes) > 1}


def _found(
    models: DerivedModels,
    way: Way,
    request: Request,
    options: dict[str, Any],
    inner: Any,
    test: Test,
) -> tuple[DerivedModels, Found]:
    """The answer of a way's test, and its models: those in finer ticks, if needed."""
    within = "" if inner is None else inner.name
    fine = models.refined(way.name, test=True, within=within)
    try:
        return fine, test(fine, way, request, options)
    except OverflowError:  # of times that are short enough in the given ticks
        if fine.grain == 1:
            raise
    coarse = fine.given.unrefined()
    return coarse, test(coarse, way, request, options)


# Tests --------------------------------------------------------------------------------------------


def _streams(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    models, slower = models.on_free_sms()
    alone = models.kernel_users() == 1
    if (models.has_chains() or models.copies_meet() or alone) and not options:
        chains = models.chains("streams")
        bound = analysis.priority_streams(chains.tasks, gpu=models.gpu(), stop=request.stop)
        return Found(bound, chains, bool(bound.accepted), (), slower)
    if models.copies_meet():
        raise ValueError(
            f"{min(options)}: got an option of fifo_bound, expected none where copies of several "
            "tasks use one engine; such streams are bounded by priority_streams"
        )
    view = models.kernels()
    if len(set(view.tasks.priority.tolist())) > 1:
        raise ValueError(
            "stream_priority: got different priorities, expected one; the bounds are for streams "
            "of equal priority"
        )
    answer = analysis.fifo_bound(view.tasks, gpu=models.gpu(), stop=request.stop, **options)
    return Found(answer, view, bool(answer.accepted), (), slower)


def _mps(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    """Clients of MPS: streams of one process, on no more SMs than their shares allow."""
    models.refuse_unknown_clients()
    one = models.in_one_process()
    said = "clients of MPS delay each other as streams of one process do"
    if all(share == 100 for _, share in models.platform.mps or ()):
        found = _streams(one, way, request, options)
        return replace(found, said=(*found.said, said))
    for name in options:
        raise ValueError(
            f"{name}: got an option of fifo_bound with shares of SMs, expected none; clients that "
            "may not use all SMs are bounded by priority_streams"
        )
    one, slower = one.on_free_sms(models.share_limits())
    view = one.chains("streams")
    client, limits = models.client_limits(view.tasks.name)
    answer = analysis.priority_streams(
        view.tasks,
        gpu=models.gpu(),
        partition=client,
        partition_limit=limits,
        stop=request.stop,
    )
    shares = "a client with a share has blocks on so many SMs at most, whichever these are"
    return Found(answer, view, bool(answer.accepted), (said, shares), slower)


def _in_parts(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    """Parts of the GPU with SMs of their own, and streams in each, of one process or several."""
    models, slower = models.side_by_side()
    form: PartForm = "green_contexts" if way.name == "green_contexts" else "mps_static"
    parts = models.in_parts(form, test=True)
    view = models.chains(form)
    answer = analysis.priority_streams(
        view.tasks,
        gpu=models.gpu(),
        partition=parts.partition(view.tasks.name),
        partition_sms=[len(sms) for sms in parts.sms],
        stop=request.stop,
        **options,
    )
    return Found(answer, view, bool(answer.accepted), (), slower)


def _priority_streams(
    models: DerivedModels, way: Way, request: Request, options: dict[str, Any]
) -> Found:
    models, slower = models.on_free_sms()
    view = models.chains("priority_streams")
    answer = analysis.priority_streams(view.tasks, gpu=models.gpu(), stop=request.stop, **options)
    return Found(answer, view, bool(answer.accepted), (), slower)


def _placed(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    """A test of tasks with cores, which are chosen if the workload has none."""
    view, cpus, kept = placed_view(models, way), models.platform.cpus, request.allocation
    hosts = view.tasks
    links = links_of(models.workload, hosts)
    said = () if links is None else (RELEASED,)
    if "own_processes" in way.premises:
        said = (*said, *models.own_processes())
    way = with_platform(way.replace(**options), models)
    apart = takes_tasks_apart(way)

    def test_of(way: Way) -> ReleasedTest:
        return lambda tasks, apart: run_test(tasks, way, cpus, stop=request.stop, apart=apart)

    if kept is None and not models.has_cores():

        def tested(stack: HostTasks, server: Int64Array | None) -> Verdict:
            asked = way if server is None else way.replace(server=server)
            found, _ = tested_with_links(stack, links, test_of(asked), apart=apart)
            return found

        def chosen() -> CoreChoice:
            timed = with_periods(hosts, links)
            first = analysis.partition(timed, cpus, way, stop=request.stop)
            return with_cores(hosts, cpus, tested, first)

        choice = models.once(("cores", way), chosen)
        kept, said = Allocation(choice.core, server=choice.server), (*said, choice.sentence)
    if kept is not None:
        hosts = hosts.replace(core=kept.core)
        way = way if kept.server is None else way.replace(server=kept.server)
    answer, released = tested_with_links(hosts, links, test_of(way), apart=apart)
    return Found(answer, view, bool(answer.accepted), said, released=released)


def placed_view(models: DerivedModels, way: Way) -> View[HostTasks]:
    """The tasks of a way with contexts, or in which one of them at a time uses the GPU."""
    if way.name == "time_slices":
        return models.hosts("all", waits=True, split=True, switches=False)
    if way.family == "contexts":
        return models.hosts("all", waits=True, switches=False, delayed=True)
    return models.hosts("all", waits=False, delayed=True)


def with_platform(way: Way, models: DerivedModels) -> Way:
    """The way with the costs and the GPU priorities of the models."""
    names = {option.name for option in way.parameters}
    found = {name: getattr(models.platform, name) for name in sorted(names & ON_PLATFORM)}
    if "gpu_priority" in names and (ranks := models.gpu_priorities()) is not None:
        found["gpu_priority"] = ranks
    return way.replace(**found)


def _stgm(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    models, slower = models.side_by_side()
    view = models.hosts("divided", waits=True, delayed=True)
    cpus, sms = models.platform.cpus, models.gpu().sms
    asked = {key: value for key, value in options.items() if key != "apart"}
    links = links_of(models.workload, view.tasks)

    def released_by(hosts: HostTasks, said: tuple[str, ...], **more: Any) -> Found:
        asked = as_way("stgm").replace(**more)
        answer, released = tested_with_links(
            hosts,
            links,
            lambda tasks, apart: run_test(tasks, asked, cpus, sms, stop=request.stop, apart=apart),
            apart=takes_tasks_apart(asked),
        )
        said = said if links is None else (*said, RELEASED)
        return Found(answer, view, bool(answer.accepted), said, slower, released=released)

    if (kept := request.allocation) is not None:
        return released_by(view.tasks.replace(core=kept.core, sm=kept.sm), (), **asked)
    models.refuse_cores()
    apart = options.get("apart", True)
    ways = {"suspension": asked.pop("suspension", "jitter")}  # the allocation has one of its own
    timed = with_periods(view.tasks, links)
    answer = analysis.stgm_allocate(timed, cpus, sms, apart=apart, stop=request.stop, **asked)
    said = (
        "cores and SMs are chosen by a heuristic search (stgm_allocate), which may miss a choice",
    )
    placed = bool((answer.hosts.core >= 0).all())
    if placed and (links is not None or ways["suspension"] == "split"):
        hosts = view.tasks.replace(core=answer.hosts.core, sm=answer.hosts.sm)
        return released_by(hosts, said, **asked, **ways)
    return Found(answer, view, bool(answer.accepted) and links is None, said, slower)


def _global_edf(test: Callable[..., GedfVerdict]) -> Callable[..., Found]:
    """A test of bounded tardiness, accepted where no job is late."""

    def run(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
        view = models.hosts("all", waits=False)
        if test is analysis.container:
            options = _of_container(models, options)
        answer = test(view.tasks, models.platform.cpus, stop=request.stop, **options)
        said = ("jobs run on any CPU, the earliest deadline first",)
        return Found(answer, view, bool(answer.meets_deadlines), said)

    return run


def _of_container(models: DerivedModels, options: dict[str, Any]) -> dict[str, Any]:
    """The options of its test, in the ticks of the models; the mode is of the simulation alone."""
    found = {**options, "whole_budget": True}  # of whole ticks
    found.pop("mode", None)
    if "server_period" in found:
        time = as_time(found["server_period"], "server_period")
        tick = models.given.workload.tick_ns
        found["server_period"] = in_ticks(time, None, tick, "server_period") * models.grain
    return found


def _dispatcher(test: Callable[..., pbs.Edf], *, waits: bool) -> Callable[..., Found]:
    """A rule by which batches are chosen at run time, simulated for one hyperperiod.

    ``waits``: copies of a batch wait for each other. One unit at a time has no others.
    """

    def run(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
        if not waits:
            _refuse_calls(models)
            _refuse_work_around(models)
        view = _batches(models, request, waits=waits)
        answer = test(view.tasks, view.table, budget=request.budget, stop=request.stop, **options)
        refuse_unsettled(answer, models.text)
        return Found(answer, view, bool(answer.accepted))

    return run


def _refuse_calls(models: DerivedModels) -> None:
    """Raise ValueError for calls that take CPU time, which belong to the unit of a job."""
    for task in models.gpu_users():
        key = "graph_launch_cpu" if task.launches == "graph" else "launch_cpu"
        if cost := getattr(models.platform, key):
            raise ValueError(
                f"{key}: got {models.text(cost)} for {task.name}, expected 0; a unit begins with "
                "its calls, and the model has units of GPU work"
            )


def _refuse_work_around(models: DerivedModels) -> None:
    """Raise ValueError for copies next to the unit of a job, which is all GPU work of the model."""
    for task in models.gpu_users():
        if not begins_and_ends_on_gpu(task):
            raise ValueError(
                f"{task.name}: got copies apart from the kernels, or by the CPU next to them, as "
                "the first or last GPU work of a job, expected none; the model has units that "
                "begin and end on the GPU"
            )


def _batches(models: DerivedModels, request: Request, *, waits: bool = True) -> BatchView:
    _refuse_table(len(models.gpu_users()), request)
    return models.batches(request.gaps, waits=waits, stop=request.stop)


def _refuse_table(rows: int, request: Request) -> None:
    """Raise `BudgetSpent` if a table, which a search copies, does not fit."""
    size = 3 * 8 << min(rows, MAX_TASKS)  # times, those of undecided batches, and both together
    if request.memory is not None and size > request.memory:
        raise spent("bytes")


def _search(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    """Search for a schedule, or for one that repeats if that is a different question.

    Jobs of several kernels run kernel by kernel, or unit by unit where they have more kernels than
    a table has rows; if no such schedule is found, each job also as one unit. With more kernels
    than `MOST_CUT`, only that.
    """
    if request.plan is not None:
        return _replayed(models, request, request.plan)
    if any(task.after for task in models.workload):
        _refuse_table(len(models.gpu_users()), request)
        if options.get("method") == "graph":
            raise ValueError(
                "method: got 'graph', expected 'interval' with tasks that release others"
            )
        linked = models.graph_batches(request.gaps, stop=request.stop)
        return _searched(linked, request, options)
    kernels = _kernels(models)
    if not models.has_chains() or options.get("method") == "graph":
        return _searched(_batches(models, request), request, options)
    if kernels > MOST_CUT:
        said = f"each job is one unit; more than {MOST_CUT:,} kernels are not cut into units"
        return _searched(_batches(models, request), request, options, (said,))
    half = replace(request, stop=share_of(request.stop, 2))
    try:
        _refuse_table(kernels, half)
        few = kernels <= MAX_TASKS
        view = models.chain_batches(request.gaps, chains="keep" if few else "cut", stop=half.stop)
        apart = _searched(view, half, options)
    except BudgetSpent:
        units = _searched(_batches(models, request), request, options)
        if units.accepted:
            return units
        raise
    if apart.accepted:
        return apart
    units = _searched(_batches(models, request), request, options)
    open_as_units = apart.answer.schedulable is False and units.answer.schedulable is None
    return units if units.accepted or open_as_units else apart


def _searched(
    view: BatchView | ChainBatchView | GraphBatchView,
    request: Request,
    options: dict[str, Any],
    said: tuple[str, ...] = (),
) -> Found:
    more: dict[str, Any] = {"budget": request.budget, "stop": request.stop, **options}
    if not stays_within(view.tasks):
        more["repeating"] = True
    answer = pbs.search(view.tasks, view.table, **more)
    return Found(answer, view, bool(answer.accepted), said)


def _replayed(models: DerivedModels, request: Request, kept: WorkloadAnswer) -> Found:
    """A plan under other models, in its order; ValueError where a deadline is then missed."""
    detail, plan = kept.detail, kept.schedule
    assert isinstance(detail, pbs.Search) and plan is not None
    view: BatchView | ChainBatchView | GraphBatchView
    if isinstance(plan.tasks, KernelGraph):
        view = models.graph_batches(request.gaps, stop=request.stop)
    elif isinstance(plan.tasks, KernelChains):
        whole = rows_of(plan.tasks).n == _kernels(models)
        chains: Literal["keep", "cut"] = "keep" if whole else "cut"
        view = models.chain_batches(request.gaps, chains=chains, stop=request.stop)
    else:
        view = _batches(models, request)
    finer, rest = divmod(models.grain, kept.grain)
    if rest or kept.units != _units_of(models.given.workload, view):
        raise ValueError("schedule: got one in finer ticks, or of other units")
    if plan.cycle is None and not stays_within(view.tasks):
        raise ValueError("schedule: got one of a hyperperiod, expected one that repeats")
    again = plan.in_finer_ticks(finer).with_times(view.tasks, view.table).validate()
    return Found(replace(detail, tasks=view.tasks, table=view.table, schedule=again), view, True)


def _kernels(models: DerivedModels) -> int:
    return sum(kernel.repeat for task in models.workload for kernel in task.kernels)


def _mig(models: DerivedModels, way: Way, request: Request, options: dict[str, Any]) -> Found:
    """GPU instances, each with tasks that share it in another way."""
    within = as_way(options.get("within", way.within))
    key = ("mig", request.gaps, request.budget, within)
    answer = models.once(key, lambda: instances_for(models, request, within))
    return Found(answer, None, bool(answer.parts))


def instances_for(
    models: DerivedModels,
    request: Request,
    within: Way,
    report: Callable[[int], object] = lambda done: None,
) -> MigAllocation:
    """GPU instances for the tasks, which share one in the way ``within``."""
    models = models.refined("mig", test=True, within=within.name)
    inner = options_of(within)
    if within.name == "mps" and models.platform.mps:
        raise ValueError(
            f"mps: got {shown(dict(models.platform.mps))}, expected no shares of clients; they are "
            "those of a whole GPU"
        )

    found: MigAllocation | None = None
    refused: ValueError | None = None
    if within.name in _TESTS or within.family == "lock":
        try:
            found = _on_own_cpus(models, request, within, report)
        except ValueError as error:
            refused = error
    settled = found is not None and (found.accepted or found.rejected)
    joint = None
    if not settled and within.name in WHOLE_PROGRAMS and takes_options(within, inner):
        tested = 0 if found is None else found.tested
        try:
            joint = _on_shared_cpus(models, request, within, report, tested)
        except ValueError as error:
            refused = refused or error
    if joint is not None:
        tested = joint.tested + (0 if found is None else found.tested)
        found = replace(joint if found is None or joint.accepted else found, tested=tested)
    if found is None:
        assert refused is not None
        raise refused
    return found


def _on_own_cpus(
    models: DerivedModels, request: Request, within: Way, report: Callable[[int], object]
) -> MigAllocation:
    """GPU instances by a test of the GPU alone, for tasks whose CPU work no others delay."""
    inner = options_of(within)

    def test(workload: Workload, platform: Platform) -> WorkloadAnswer:
        asked = Request(inner, request.gaps, request.budget, request.stop, memory=request.memory)
        models = DerivedModels.settled(workload, platform)
        return analyzed(models, within, asked, shared_cpus=False)

    def unassumed(workload: Workload, platform: Platform) -> WorkloadAnswer:
        """The answer without a guarantee that rests on shapes that are assumed."""
        answer = test(workload, platform)
        assumes = any(one.premise == FILLS for one in answer.conditions)
        return replace(answer, conditions=()) if assumes else answer

    limits = as_budget(request.budget), request.stop, report
    if by_time_alone(models):
        found = allocated(models, within, inner, unassumed, *limits)
        if found.parts:
            return found
    return allocated(models, within, inner, test, *limits)


def _on_shared_cpus(
    models: DerivedModels,
    request: Request,
    within: Way,
    report: Callable[[int], object],
    tested: int,
) -> MigAllocation | None:
    """GPU instances by the holistic test, which counts the CPU work of all tasks.

    None if the budget, of which so many sets were ``tested``, is used up. Raises ValueError where
    the test cannot express the workload, or tasks without GPU segments may be late.
    """
    inner, limits = options_of(within), as_budget(request.budget)
    if limits.states is not None:
        if limits.states <= tested:
            return None
        limits = replace(limits, states=limits.states - tested)
    shared = SharedCpus.of(models, request.stop)

    def test(workload: Workload, platform: Platform, beside: Beside) -> WorkloadAnswer:
        asked = Request(inner, request.gaps, request.budget, request.stop, own=False, beside=beside)
        models = DerivedModels.settled(workload, platform)
        return analyzed(models, within, asked, shared_cpus=False)

    def counted(done: int) -> object:
        return report(tested + done)

    return allocated_on_shared_cpus(shared, within, inner, test, limits, request.stop, counted)


_TESTS: dict[str, Test] = {
    "streams": _streams,
    "priority_streams": _priority_streams,
    "mps": _mps,
    "mps_static": _in_parts,
    "green_contexts": _in_parts,
    "time_slices": _placed,
    "gcaps": _placed,
    "stgm": _stgm,
    "mig": _mig,
    "srm": _global_edf(analysis.srm),
    "container": _global_edf(analysis.container),
    "edf_serial": _dispatcher(pbs.edf_serial, waits=False),
    "edf_parallel": _dispatcher(pbs.edf_parallel, waits=True),
    "pbs": _search,
}
"""Tests of ways, but for the holistic one and those of locks."""


_WITHOUT_CORES = frozenset(_TESTS) - {"time_slices", "gcaps", "stgm", "mig"}
"""Ways with a test to which cores and priorities of threads do not matter."""


def _test_of(way: Way) -> Test:
    """The test of a way with the model that its proof is about, which only locks share."""
    return _placed if way.family == "lock" else _TESTS[way.name]
