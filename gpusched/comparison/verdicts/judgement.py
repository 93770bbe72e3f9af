"""Meaning of a test's answer for a workload: its verdict, conditions and bounds of all tasks.

Answers and runs count only if they are the same under all readings of the rules of GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import frozen
from gpusched._support.budget import BudgetSpent
from gpusched._support.text import clip
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.finer_ticks import ticks_up
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.path_answers import Ends, ends_of, path_answers, waiting_of
from gpusched.comparison.released_tasks import ReleasedTasks
from gpusched.comparison.verdicts.gpu_rules import Rule
from gpusched.comparison.verdicts.premises import (
    Case,
    Condition,
    cpu_side,
    jobs_that_overlap,
    needs_cpus,
    open_conditions,
)
from gpusched.comparison.workload_answer import WorkloadAnswer, deadlines_of
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import Answer, Times, missing
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains, KernelGraph
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.programs import Programs
from gpusched.model.views.derived_view import View
from gpusched.model.views.graph_view import ARRIVALS, GraphBatchView
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import tick_length, time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

ModelView: TypeAlias = (
    "View[HostTasks] | View[KernelTasks] | View[KernelChains] | View[KernelGraph] | View[Programs]"
)


@dataclass(frozen=True)
class Found:
    """The answer of a method for its model, what it was derived under, and its verdict."""

    answer: Answer | MigAllocation
    # None: the answer is one for the workload
    view: ModelView | None
    accepted: bool
    said: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()  # how the slowdown was counted, in times that are upper bounds
    # Bounds of tasks without GPU work, where the answer counts that tasks share CPUs.
    alone: Mapping[str, int] | None = None
    # Of tasks that release each other, in the test's ticks, where the answer does not have it.
    released: ReleasedTasks | None = None
    conditions: tuple[Condition, ...] = ()  # beside those of the premises of the way


@dataclass(frozen=True)
class Judged:
    """Meaning of the answer of a test for the workload; ``reason`` is "" for that of the test."""

    accepted: bool
    rejected: bool
    impossible: bool
    conditions: tuple[Condition, ...]
    response: Times
    bounded: Any
    reason: str
    said: tuple[str, ...]
    grain: int
    ends: Ends | None = None


def judged(
    fine: DerivedModels,
    way: Way,
    found: Found,
    again: Callable[[DerivedModels], tuple[DerivedModels, Found]],
    *,
    shared_cpus: bool,
    reasons: bool = True,
) -> Judged:
    """The verdict for the workload: for all of its tasks, on the whole machine.

    ``fine`` are the models of the test, whose ticks may be finer than those of the workload;
    ``again`` runs the test for other models. ``shared_cpus`` is False for a part of the workload.
    With ``reasons`` False, a workload that is not accepted is not said to be late or impossible.
    """
    models, grain = fine.given, fine.grain
    answer, workload = found.answer, models.workload
    if isinstance(answer, MigAllocation):
        response, bounded, grain = answer.response, answer.bounded, 1
    else:
        assert found.view is not None
        response, bounded = _by_task(fine.workload, answer, found.view)
        response = _in_ticks(response, grain)
    values, known = response.filled(0), ~np.ma.getmaskarray(response)
    bounded, reason = np.array(bounded), ""
    said: tuple[str, ...] = ()
    whole = isinstance(answer, HolisticBound) or found.alone is not None
    for name, time in (found.alone or {}).items():
        i = workload.index(name)
        values[i], known[i], bounded[i] = -(-time // grain), True, True
    if needs_cpus(way.name) and not whole:
        overlap = jobs_that_overlap(models, values, known)
        if overlap:
            bounded[:] = False
            reason = _overlap_reason(workload, overlap[0], int(values[overlap[0]]))
        if shared_cpus:
            side = cpu_side(models)
            said = side.said
            for name, time in side.response.items():
                i = workload.index(name)
                values[i], known[i], bounded[i] = time, True, True
    response = missing(values, known)
    late = known & (values > deadlines_of(workload))
    holds = found.accepted and (not shared_cpus or bool(bounded.all())) and not late.any()
    if found.accepted and not holds and not reason:
        reason = _late_reason(workload, response, bounded)
    ends = _ends(workload, found, grain)
    if holds and (broken := _broken_path(workload, ends or ends_of(response, bounded), way.name)):
        holds, reason = False, broken
    conditions = (
        answer.conditions
        if isinstance(answer, MigAllocation)
        else open_conditions(way, Case(models, answer, found.view), cpus=shared_cpus, whole=whole)
    )
    conditions += found.conditions
    # A guarantee excludes that no way can meet the deadlines; the search for a reason takes time.
    asked = shared_cpus and (bool(conditions) if holds else reasons)
    impossible = models.impossible() if asked else ()
    only = ""
    if conditions and (impossible or not holds):
        if bounded.any():
            only = f" Its bounds hold only if {'; and '.join(map(str, conditions))}."
        bounded[:], conditions = False, ()  # what is not shown for all is not said of some
    if impossible:
        text = f"No way keeps all deadlines: {impossible[0]}."
        return Judged(False, True, True, (), response, frozen(bounded), text, said, grain, ends)
    explained = reasons and shared_cpus and not holds
    if explained and (too_much := models.too_much_in_turns(way.name)):
        text = f"{too_much[0]}."
        return Judged(False, True, False, (), response, frozen(bounded), text, said, grain, ends)
    accepted = holds and not conditions
    shown = False
    if explained and answer.rejected:
        doubt = _doubt_about_rejection(fine, way, again)
        shown = not doubt
        if doubt and not reason:
            with tick_length(fine.workload._tick):
                reason = f"{answer.why()} That shows no miss of the program, as {doubt}."
    if only and not reason:
        with tick_length(fine.workload._tick):
            reason = f"{answer.why()}{only}"
    return Judged(
        accepted, shown, False, conditions, response, frozen(bounded), reason, said, grain, ends
    )


def _ends(workload: Workload, found: Found, grain: int) -> Ends | None:
    """Latest ends and earliest releases of tasks that release each other, in ticks; else None."""
    answer = found.answer
    if isinstance(answer, HolisticBound) and answer.end is not None and answer.earliest is not None:
        latest, earliest = answer.end, answer.earliest
    elif found.released is not None:
        latest, earliest = found.released.end, found.released.earliest
    else:
        return None
    assert found.view is not None
    places = [found.view.tasks.name.index(name) for name in workload.names]
    end = np.where(latest < 0, -1, ticks_up(np.maximum(latest, 0), grain))
    return Ends(frozen(end[places]), frozen(earliest[places] // grain))


def _broken_path(workload: Workload, ends: Ends, label: str) -> str:
    """The reason why a path or a queue is not guaranteed; "" if all are."""
    for path in path_answers(workload, ends, None, label):
        if not path.met:
            return f"{path.line()}."
    for name, (most, before) in waiting_of(workload, ends).items():
        room = workload[name].queue
        if room is not None and most > room:
            many = "result" if most == 1 else "results"
            return (
                f"{clip(name, 60)}: up to {most} {many} of {clip(before, 60)} wait, and queue is "
                f"{room}."
            )
    return ""


def _overlap_reason(workload: Workload, i: int, response: int) -> str:
    task, tick = workload[i], workload.tick_ns
    if response > task.deadline:
        return (
            f"{clip(task.name, 60)}, with {time_with_unit(response, tick)} or more for a deadline "
            f"of {time_with_unit(task.deadline, tick)}, may be late."
        )
    return (
        f"{clip(task.name, 60)}: {time_with_unit(response, tick)} exceed its period of "
        f"{time_with_unit(task.period, tick)}; the next job then waits for this one, on its thread "
        "and in its stream, which the test does not count."
    )


def _late_reason(workload: Workload, response: Times, bounded: Any) -> str:
    """The reason why a test that accepts the tasks of its model guarantees nothing."""
    late = deadlines_of(workload) < response.filled(0)
    i = int(np.argmax(~np.asarray(bounded) | late))
    name = clip(workload.names[i], 60)
    if not bounded[i]:
        return f"{name}: no response bound, although the test accepts the other tasks."
    took = time_with_unit(int(response[i]), workload.tick_ns)
    return f"{name}: {took}, more than its deadline."


def _doubt_about_rejection(
    fine: DerivedModels,
    way: Way,
    again: Callable[[DerivedModels], tuple[DerivedModels, Found]],
) -> str:
    """Reason why a rejection by a test is none of the program itself; "" if it is.

    Derivations that make times longer or freedom smaller may accept, and never reject: the test
    has to say no for the stated times, too. A dispatcher's miss is one of a run, which CPUs that
    tasks share may not allow.
    """
    models = fine.given
    if fine.rounded:
        return "times of blocks are rounded up to ticks"
    if way.name in ("pbs", "edf_serial", "edf_parallel"):
        if any(task.after for task in models.workload):
            return ARRIVALS
        if pessimism := models.pessimism_of_batches(serial=way.name == "edf_serial"):
            return pessimism
        if way.name != "pbs" and cpu_side(models).condition:
            return "CPUs that tasks share may not allow this run"
    if way.name != "pbs" and models.copies_meet():
        return "each copy counts the longest wait for those of other tasks"
    doubt = "the slowdown, launch latencies and waits of copies are counted at their largest"
    try:
        plain, found = again(models.without_costs())
    except (ValueError, OverflowError):
        return doubt
    return "" if found.answer.rejected and not plain.rounded else doubt


def _in_ticks(response: Times, grain: int) -> Times:
    """Responses in ticks of which ``grain`` finer ones make one, rounded up."""
    if grain == 1:
        return response
    return missing(ticks_up(response.filled(0), grain), ~np.ma.getmaskarray(response))


def _by_task(
    workload: Workload,
    answer: Answer,
    view: ModelView,
) -> tuple[Times, Any]:
    """Responses of whole jobs, and whether they are bounded, for all tasks of the workload.

    The response of a kernel is that of its job without the work around it, by which the view has
    shortened its deadline, or says; of tasks that others release, from the arrivals of their
    sources.
    """
    index = {name: i for i, name in enumerate(workload.names)}
    places = [index[name] for name in view.tasks.name]
    deadline = np.array([workload[i].deadline for i in places], np.int64)
    if isinstance(view, GraphBatchView):
        around = view.around
    else:
        around = deadline - view.tasks.deadline
    response = np.zeros(len(workload), np.int64)
    known, bounded = np.zeros((2, len(workload)), np.bool_)
    response[places] = answer.response.filled(0) + around
    known[places] = ~np.ma.getmaskarray(answer.response)
    bounded[places] = answer.bounded
    return missing(response, known), frozen(bounded)


Readings = tuple[tuple[Rule, str], ...]
"""Other readings of some rules, in words."""


def under_all_readings(
    answer: WorkloadAnswer | None,
    others: Iterable[tuple[Readings, WorkloadAnswer | None]],
    platform: Platform,
) -> WorkloadAnswer | None:
    """The answer of a test that counts under all readings of the rules on which it rests.

    ``others`` have the answers under other readings, those with few changes first; None where the
    test does not apply. Those after the first that holds are of the same cores, SMs and plan, which
    its detail has. A guarantee that not all readings give is conditional on those that give
    it. What only some of them reject is undecided. None if no reading gives an answer.
    """
    rest = list(others)
    choices: list[tuple[Readings, WorkloadAnswer | None]] = [((), answer), *rest]
    for changes, found in choices:
        if found is not None and _holds(found):
            return _on_condition(found, changes, choices, platform)
    if answer is None:
        return None
    for changes, other in rest:
        if answer.rejected and (other is None or not other.rejected):
            reason = f"{answer.why()} That is open if {_and(changes)}."
            return replace(answer, rejected=False, impossible=False, reason=reason)
    return answer if answer.rejected else _over_all(answer, [other for _, other in rest])


def _over_all(answer: WorkloadAnswer, others: Sequence[WorkloadAnswer | None]) -> WorkloadAnswer:
    """The answer of tests that do not hold, with bounds of tasks that have some in all readings.

    The detail is that of the reading with the least slack of a task.
    """
    found = [answer, *(other for other in others if other is not None)]
    if len(found) == 1:
        return answer if len(others) == 0 else replace(answer, bounded=_none_of(answer))
    tightest = min(found, key=lambda one: int(one.slack.min()) if one.slack.count() else 0)
    answer = _with_largest(answer, found)
    applies = len(found) > len(others)
    if not applies or any(one.setup != answer.setup for one in found):  # other cores or SMs
        answer = replace(answer, bounded=_none_of(answer))
    return replace(
        answer,
        detail=tightest.detail,
        derivation=tightest.derivation,
        reason=tightest.reason,
        grain=tightest.grain,
        method=tightest.method,
    )


def _with_largest(answer: WorkloadAnswer, found: Sequence[WorkloadAnswer]) -> WorkloadAnswer:
    """The answer with the largest responses of those found, of tasks that have one in all."""
    response = np.max([one.response.filled(0) for one in found], axis=0)
    known = np.all([~np.ma.getmaskarray(one.response) for one in found], axis=0)
    bounded = np.all([one.bounded for one in found], axis=0)
    return replace(
        answer, response=missing(response, known), bounded=frozen(bounded), ends=_latest(found)
    )


def _latest(found: Sequence[WorkloadAnswer]) -> Ends | None:
    """The latest ends of those found, of tasks that have one in all."""
    given = [one.ends for one in found if one.ends is not None]
    if not given:
        return None
    end = np.array([ends.end for ends in given])
    least = end.min(axis=0) < 0
    earliest = np.min([ends.earliest for ends in given], axis=0)
    return Ends(frozen(np.where(least, -1, end.max(axis=0))), frozen(earliest))


def _none_of(answer: WorkloadAnswer) -> npt.NDArray[np.bool_]:
    return frozen(np.zeros(len(answer.workload), np.bool_))


def _on_condition(
    answer: WorkloadAnswer,
    changes: Readings,
    choices: Iterable[tuple[Readings, WorkloadAnswer | None]],
    platform: Platform,
) -> WorkloadAnswer:
    """A guarantee under some readings, on condition of these and of all that it needs besides.

    Readings of further rules under which it does not hold, or only on other conditions, are
    excluded by conditions.
    """
    conditions = [*answer.conditions, *(_condition(rule, text) for rule, text in changes)]
    settled = {rule for rule, _ in changes}
    holding = []
    for more, other in choices:
        added = [rule for rule, _ in more if rule not in settled]
        if not set(changes) <= set(more) or len(added) < len(more) - len(changes):
            continue  # excluded by the conditions
        if other is not None and _holds(other):
            conditions += other.conditions
            holding.append(other)
            continue
        conditions += [_condition(rule, rule.text) for rule in added]
        settled.update(added)
    found = tuple(dict.fromkeys(conditions))
    answer = _with_largest(answer, holding)
    if found == answer.conditions:
        return answer
    said = (f"an answer that holds only if {_and(changes)}",) if changes else ()
    return replace(
        answer,
        platform=platform,
        accepted=False,
        conditions=found,
        derivation=(*answer.derivation, *said),
    )


def _holds(answer: WorkloadAnswer) -> bool:
    return answer.accepted or answer.conditional


def _condition(rule: Rule, text: str) -> Condition:
    return Condition(rule.name, text, (), f"settled by {rule.settled_by}")


def _and(changes: Readings) -> str:
    return " and ".join(text for _, text in changes)


def open_reading(
    run: WorkloadRun, others: Iterable[tuple[Readings, Callable[[], WorkloadRun]]]
) -> WorkloadRun:
    """A run whose late jobs show a miss of the program only under all readings of the rules."""
    if run.limits or not run.has_misses:
        return run
    for changes, other in others:
        said = "no job is late"
        try:
            late = other().has_misses
        except (ValueError, OverflowError):
            late = False
        except BudgetSpent:
            late, said = False, "the budget of seconds was spent before it was simulated"
        if not late:
            short = f"rule {', '.join(rule.name for rule, _ in changes)}"
            return replace(run, limits=((short, f"{said} if {_and(changes)}"),))
    return run
