"""Rounds of the search with batch times as a function, for more tasks than a table has."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.budget import Budget
from gpusched._support.progress import Progress, reporter
from gpusched._support.registry import enumeration, limit
from gpusched.model.functions.batch_function import BatchFunction
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["FunctionSearch", "search_function"]

_ROUNDS: int = limit("pbs.function_rounds")
_SPENT = enumeration("core.status")


@dataclass(frozen=True)
class FunctionSearch:
    """Outcome of the rounds: ``answer`` is 1, 0 or -1; frames, proof and codes as of the core.

    ``spent`` is 0 where all rounds ended without an answer. ``tried``: numbers of rounds, searches,
    groups and cores, and the load.
    """

    answer: int
    stage: int
    spent: int
    states: int
    bytes: int
    seconds: float
    frames: Any
    proof: dict[str, Any] | None
    tried: tuple[float, ...]


def search_function(
    tasks: KernelTasks,
    function: BatchFunction,
    *,
    idling: bool,
    budget: Budget,
    progress: Progress,
    stop: Any,
    skip: int = 0,
    rounds: int | None = None,
) -> FunctionSearch:
    """Run rounds until one decides, the budget is spent or, without seconds, all have ended.

    ``skip``: ways left out, ``GS_PBS_LARGE_SKIP_*``, and ``rounds``, for tests.
    """
    began = perf_counter()
    most = rounds or (None if budget.seconds or budget.states else _ROUNDS)
    done = states = size = 0
    tried = np.zeros(3, np.int64)
    load = 0.0
    with reporter(progress, most, "round") as report:
        while True:
            head, counts, frames, proof = _core.pbs_function_search(
                function._source,
                tasks.period,
                tasks.deadline,
                tasks.offset,
                idling=idling,
                round=done,
                states=(budget.states or states) - states,
                bytes=budget.bytes or 0,
                seconds=_left(budget, began),
                stop=stop,
                skip=skip,
            )
            answer, stage, spent, visited, peak = head
            done += 1
            states += visited
            size = max(size, peak)
            tried += counts[:3]
            load = max(load, counts[3])
            report(done)
            if budget.seconds and perf_counter() - began >= budget.seconds:
                spent = spent or _SPENT.index("seconds")
            if budget.states and states >= budget.states:
                spent = spent or _SPENT.index("states")
            if answer >= 0 or spent or done == most:
                break
    seconds = perf_counter() - began
    work = (done, *tried.tolist(), load)
    return FunctionSearch(answer, stage, spent, states, size, seconds, frames, proof, work)


def _left(budget: Budget, began: float) -> float:
    """Seconds left of the budget, at least a microsecond; 0 without one."""
    if not budget.seconds:
        return 0.0
    return max(1e-6, float(budget.seconds) - (perf_counter() - began))
