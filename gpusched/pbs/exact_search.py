"""Exact PBS search: a schedule that meets all deadlines, or a proof that none exists [RTNS24]."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import flag, one_of
from gpusched._support.budget import Budget, Progress, as_budget, reporter
from gpusched._support.registry import limit
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import MAX_TASKS
from gpusched.model.kernel_chains import BatchTasks
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.search_answer import SPENT, STAGES, Found, Search, answer_of
from gpusched.pbs.search_inputs import (
    arrays_of,
    check_inputs,
    check_options,
    is_stack,
    period_advice,
    precedence_rows,
    undecided_of,
)

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


def search(
    tasks: BatchTasks,
    table: BatchTable | BatchFunction,
    *,
    method: Literal["interval", "graph"] = "interval",
    variant: Literal["sound", "paper"] = "sound",
    idling: bool = False,
    policy: bool | int = False,
    repeating: bool = False,
    thorough: bool = False,
    budget: Budget | None = None,
    progress: Progress = False,
    stop: Any = None,
) -> Search:
    """Decide exactly whether PBS can meet all deadlines ([RTNS24], section 3).

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[3, 4])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 3, (1,): 4, (0, 1): 6})
    >>> answer = gs.pbs.search(tasks, table)
    >>> answer.schedulable, answer.why()
    (False, 'task 0, task 1 need 9 ticks for the jobs of the first 8.')

    Parameters
    ----------
    tasks, table
        One task set and its table, or stacks of N of both; a single table is used for all sets of a
        stack. For `KernelChains` (up to 24 kernels in total), the table is about the kernels, the
        rows of ``tasks.rows``: a batch has at most one kernel of each task, and a kernel starts
        only after the previous one of its job has ended (not with method "graph"). In a
        `KernelGraph`, a job starts only after those that it needs have ended (the same). One set of
        tasks can also be passed with its `BatchFunction`: up to 24 tasks, its table is searched;
        from 25 to 64 tasks, a schedule or a proof is sought in rounds, and the set may stay
        undecided.
    method
        "interval": exact and fast. "graph": the paper's scheduling graph, for a single set; see
        ``gpusched.pbs.graph`` for its vertices, drawings and options.
    variant
        Variant of the graph: "sound" (corrected), or "paper" for Algorithms 1 to 4 as printed,
        which may wrongly accept and wrongly reject.
    idling
        Whether the GPU may wait although work is ready; PBS may not.
    policy
        True: also compute the feasible times of all states, which define a run-time policy
        (``Search.policy``), for a single schedulable set. A number limits the spans that are kept
        per class of states, as long as the start stays feasible; the policy is still safe, but
        smaller and computed faster. Not with "graph".
    repeating
        Decide for an infinite horizon instead of the jobs of one hyperperiod, and find a schedule
        whose ``cycle`` repeats. Both questions are equivalent if no deadline exceeds its period and
        all offsets are 0; otherwise a schedule of one hyperperiod may have no continuation. For a
        single set; not with "graph".
    thorough
        Skip the quick stages and decide by computing all feasible times. Not with "graph".
    budget
        A ``Budget`` for the whole call, whose ``states`` limit each set. Default: 2 GiB. Each set
        of a stack gets an equal part of the seconds that are left. For a single set, the budget
        includes the proof that no schedule exists, for which as many states are allowed again; a
        set whose proof does not fit is undecided. A stack has no proofs, so that a set in a stack
        may be rejected although it is undecided when searched alone. Without a limit on seconds or
        states, a search of more than 24 tasks ends after a fixed number of rounds.
    progress
        Progress of the rounds of a search of more than 24 tasks: a callable ``(rounds, of)``, True
        for a progress bar, False for none, or None for a bar in a notebook or a terminal.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Search
        Exact: accepted, rejected, or undecided if a budget was used up or no round decided.

    Raises
    ------
    ValueError
        There are more than 24 tasks (64 with a function), the table has another size, a task can
        never run, or options cannot be combined.
    OverflowError
        The hyperperiod exceeds 2**60 - 2 ticks, unless the GPU is overloaded.
    gpusched.Cancelled
        ``stop`` was set.
    """
    check_inputs(tasks, table, functions=True)
    budget = as_budget(budget)
    one_of(method, ("interval", "graph"), "method")
    one_of(variant, ("sound", "paper"), "variant")
    flag(idling, "idling")
    flag(repeating, "repeating")
    flag(thorough, "thorough")
    idling = bool(idling)
    found: Found | None = None
    if isinstance(table, BatchFunction) and table.n <= MAX_TASKS:
        table, budget, found = table_within(table, budget, stop)
    if found is None:
        limit = check_options(tasks, table, method, variant, policy, repeating, thorough)
        with period_advice(tasks) if method == "interval" else nullcontext():
            if method == "interval" and isinstance(table, BatchTable):
                arrays = (*arrays_of(tasks, table), undecided_of(tasks, table))
                options = {
                    "idling": idling,
                    "states": budget.states or 0,
                    "bytes": budget.bytes or 0,
                    "seconds": float(budget.seconds or 0),
                    "stop": stop,
                    "precedence": precedence_rows(tasks, table),
                }
                if repeating:
                    found = _infinite_horizon(arrays, options)
                else:
                    options |= {"thorough": thorough, "policy": policy is not False}
                    options |= {"policy_limit": limit, "proof": not is_stack(tasks, table)}
                    found = _hyperperiod(arrays, options)
            elif isinstance(table, BatchTable):
                found = _graph(tasks, table, variant, idling, budget, stop)
            else:
                found = search_function(tasks, table, idling, budget, progress, stop)
    else:  # the table alone took more than the budget
        variant, repeating = "sound", False
    return answer_of(found, tasks, table, idling=idling, repeating=bool(repeating), variant=variant)


def _hyperperiod(arrays: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """The search for the jobs of one hyperperiod; of one set if it is for a proof, too."""
    columns: Any
    columns, frames, proof, spans = _core.pbs_search(*arrays, **options)
    if not options["proof"]:  # a stack, which has no schedules either
        answer, stage, spent, states, size, ns = columns
        return Found(answer, stage, spent, states, size, ns / 1e9)
    answer, stage, spent, states, size, ns = (int(column[0]) for column in columns)
    return Found(answer, stage, spent, states, size, ns / 1e9, frames, proof, spans)


def _infinite_horizon(arrays: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """The search for a schedule that repeats."""
    began = perf_counter()
    numbers, proof, frames = _core.pbs_endless(*arrays, **options)
    answer, spent, states, size, start, length = numbers
    decided = "none" if answer < 0 else "interval" if proof is None else "overload"
    return Found(
        answer=answer,
        stage=STAGES.index(decided),
        spent=spent,
        states=states,
        bytes=size,
        seconds=perf_counter() - began,
        frames=frames,
        proof=proof,
        cycle=(start, length),
    )


def _graph(
    tasks: BatchTasks,
    table: BatchTable,
    variant: str,
    idling: bool,
    budget: Budget,
    stop: Any,
) -> Found:
    """The search of the scheduling graph, of one set."""
    from gpusched.pbs import graph

    assert isinstance(tasks, KernelTasks)
    found = graph.search(tasks, table, variant=variant, idling=idling, budget=budget, stop=stop)
    return Found(
        answer=-1 if found.undecided else int(found.accepted),
        stage=STAGES.index("none" if found.undecided else "graph"),
        spent=SPENT.index(found.reason) if found.undecided else 0,
        states=found.vertices,
        bytes=found.bytes,
        seconds=found.seconds,
        frames=(found.start, found.end, found.batch) if found.accepted else None,
    )
