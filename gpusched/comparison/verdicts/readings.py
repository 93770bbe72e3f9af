"""Answers and runs that count only if they are the same under all readings of rules of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import frozen
from gpusched._support.budget import BudgetSpent
from gpusched.comparison.path_answers import Ends
from gpusched.comparison.verdicts.gpu_rules import Rule
from gpusched.comparison.verdicts.premises import Condition
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import missing
from gpusched.model.workload.platforms import Platform

__all__ = ["open_reading", "under_all_readings"]

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
