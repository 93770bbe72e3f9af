"""Rounds of the search with batch times as a function, for more tasks than a table can have."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.budget import Budget
from gpusched._support.progress import Progress, reporter
from gpusched._support.registry import limit
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_rows import BatchTasks
from gpusched.model.batch_table import BatchTable
from gpusched.pbs.search_answer import SPENT, STAGES, Found

__all__ = ["search_function", "table_within"]

_ROUNDS: int = limit("pbs.function_rounds")
_BYTES, _STATES, _SECONDS = (SPENT.index(name) for name in ("bytes", "states", "seconds"))


def search_function(
    tasks: BatchTasks,
    function: BatchFunction,
    idling: bool,
    budget: Budget,
    progress: Progress,
    stop: Any,
    *,
    skip: int = 0,
    rounds: int | None = None,
) -> Found:
    """Run rounds until one decides, the budget is used up or, without seconds, all have ended.

    If one of several approaches in a round exceeds the memory budget, further rounds follow, which
    may need less; ``spent`` reports it in the end, and "rounds" where nothing was used up.

    ``skip``: approaches to leave out, ``GS_PBS_LARGE_SKIP_*``; this and ``rounds`` are for tests.
    """
    began = perf_counter()
    most = rounds or (None if budget.seconds or budget.states else _ROUNDS)
    done = states = size = lacked = 0
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
            if spent == _BYTES and visited:
                lacked, spent = spent, 0
            if budget.seconds and perf_counter() - began >= budget.seconds:
                spent = spent or _SECONDS
            if budget.states and states >= budget.states:
                spent = spent or _STATES
            if answer >= 0 or spent or done == most:
                break
    seconds = perf_counter() - began
    work = (done, *tried.tolist(), load)
    spent = 0 if answer >= 0 else spent or lacked or SPENT.index("rounds")
    return Found(answer, stage, spent, states, size, seconds, frames, proof, tried=work)


def table_within(
    function: BatchFunction, budget: Budget, stop: Any
) -> tuple[BatchTable | BatchFunction, Budget, Found | None]:
    """The table of a function of few tasks and the remaining budget; or which limit it exceeds."""
    began = perf_counter()
    spent, table = "bytes", None
    size = function._table_bytes() + (16 << function.n)  # the search copies its times
    if budget.bytes is None or size < budget.bytes:
        spent, table = "seconds", function._table(None, False, stop, _left(budget, began))
    if table is None:
        seconds = perf_counter() - began
        spent_on = Found(-1, STAGES.index("none"), SPENT.index(spent), 0, 0, seconds)
        return function, budget, spent_on
    left = _left(budget, began) or None
    rest = None if budget.bytes is None else budget.bytes - size
    return table, replace(budget, seconds=left, bytes=rest), None


def _left(budget: Budget, began: float) -> float:
    """Seconds left of the budget, at least a microsecond; 0 without one."""
    if not budget.seconds:
        return 0.0
    return max(1e-6, float(budget.seconds) - (perf_counter() - began))
