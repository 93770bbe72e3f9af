"""Exact PBS search: a schedule that meets all deadlines, or a proof that none exists [RTNS24]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from time import perf_counter
from typing import Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import flag, integer, one_of
from gpusched._support.budget import Budget, as_budget
from gpusched._support.progress import Progress
from gpusched._support.text import shown
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import MAX_TASKS
from gpusched.model.kernel_chains import KernelChains, rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificates import certificate_of
from gpusched.pbs.function_search import FunctionSearch, search_function, table_within
from gpusched.pbs.policy import Policy
from gpusched.pbs.search_answer import SPENT, STAGES, Search, repeats
from gpusched.pbs.search_inputs import (
    arrays_of,
    chains_of,
    check_function,
    check_inputs,
    schedule_of,
    undecided_of,
)

__all__ = ["search"]


_LONGEST = 2**60 - 1
"""The smallest hyperperiod that is too long, in ticks."""


def search(
    tasks: KernelTasks | KernelChains,
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
        only after the previous one of its job has ended (not with method "graph"). One set of
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
    if isinstance(table, BatchFunction):
        check_function(tasks, table)
    else:
        check_inputs(tasks, table)
    budget = as_budget(budget)
    one_of(method, ("interval", "graph"), "method")
    one_of(variant, ("sound", "paper"), "variant")
    flag(idling, "idling")
    flag(repeating, "repeating")
    flag(thorough, "thorough")
    if isinstance(table, BatchFunction):
        known = check_function(tasks, table)
        if table.n > MAX_TASKS:
            given = {"method": method, "variant": variant, "policy": policy}
            given |= {"repeating": repeating, "thorough": thorough}
            return _function(known, table, given, bool(idling), budget, progress, stop)
        within = table_within(table, budget, stop)
        if isinstance(within, FunctionSearch):
            return _found_by_function(known, table, within, bool(idling))
        table, budget = within
    is_stack = tasks.is_stack or table.is_stack
    wanted = policy is not False
    if method == "graph":
        options = {"repeating": repeating, "policy": policy, "thorough": thorough}
        for name, value in options.items():
            if value is not False:
                raise ValueError(f"{name}: got {shown(value)}, expected False with method='graph'")
        if is_stack:
            raise ValueError("tasks: got a stack, expected one set with method='graph'")
        if not isinstance(tasks, KernelTasks):
            raise TypeError(
                "tasks: got KernelChains, expected KernelTasks with method='graph', which has no "
                "chains"
            )
        return _graph(tasks, table, variant, idling, budget, stop)
    if variant != "sound":
        raise ValueError(f"variant: got {variant!r}, expected 'sound' without method='graph'")
    if wanted and is_stack:
        raise ValueError("policy: got a stack, expected one task set to compute a policy for")
    if repeating:
        for name, value in {"policy": policy, "thorough": thorough}.items():
            if value is not False:
                raise ValueError(f"{name}: got {shown(value)}, expected False with repeating=True")
        if is_stack:
            raise ValueError("tasks: got a stack, expected one set with repeating=True")
        return _infinite_horizon(tasks, table, idling, budget, stop)
    limit = 0
    if not isinstance(policy, bool):
        refusal = f"policy: got {shown(policy)}, expected True, False or a positive number"
        if not hasattr(policy, "__index__"):
            raise TypeError(refusal)
        if (limit := integer(policy, "policy")) < 1:
            raise ValueError(refusal)
    with _period_advice(tasks):
        columns, frames, proof, spans = _core.pbs_search(
            *arrays_of(tasks, table),
            undecided_of(tasks, table),
            idling=idling,
            thorough=thorough,
            policy=wanted,
            policy_limit=limit,
            states=budget.states or 0,
            bytes=budget.bytes or 0,
            seconds=float(budget.seconds or 0),
            stop=stop,
            proof=not is_stack,
            chained=chains_of(tasks, table),
        )
    answer, stage, spent, states, size, ns = columns
    if is_stack:
        return Search(
            tasks=tasks,
            table=table,
            idling=bool(idling),
            repeating=False,
            variant="sound",
            accepted=answer == 1,
            rejected=answer == 0,
            schedule=None,
            certificate=None,
            policy=None,
            repeats=None,
            stage_code=stage.astype(np.int8),
            reason_code=spent.astype(np.int8),
            states=states,
            bytes=size,
            seconds=ns / 1e9,
        )
    schedule = schedule_of(frames, tasks, table, idling)
    return Search(
        tasks=tasks,
        table=table,
        idling=bool(idling),
        repeating=False,
        variant="sound",
        accepted=bool(answer[0] == 1),
        rejected=bool(answer[0] == 0),
        schedule=schedule,
        certificate=certificate_of(proof, rows_of(tasks)),
        policy=None if spans is None else Policy(tasks, table, *spans),
        repeats=repeats(schedule, tasks),
        stage_code=int(stage[0]),
        reason_code=int(spent[0]),
        states=int(states[0]),
        bytes=int(size[0]),
        seconds=float(ns[0]) / 1e9,
    )


@contextmanager
def _period_advice(tasks: KernelTasks | KernelChains) -> Iterator[None]:
    """Names the two periods with the longest common multiple where a hyperperiod is too long."""
    try:
        yield
    except OverflowError as error:
        rows = np.atleast_2d(tasks.period).tolist()
        periods = next((row for row in rows if max(row) < _LONGEST <= math.lcm(*row)), None)
        if periods is None:
            raise
        pairs = combinations(range(len(periods)), 2)
        i, j = max(pairs, key=lambda pair: math.lcm(periods[pair[0]], periods[pair[1]]))
        raise OverflowError(
            f"{error}; the periods of tasks {i} and {j}, {periods[i]} and {periods[j]}, have the "
            f"longest common multiple, {math.lcm(periods[i], periods[j]):.4g} ticks: change one "
            "of them, or take coarser ticks"
        ) from None


def _graph(
    tasks: KernelTasks, table: BatchTable, variant: str, idling: bool, budget: Budget, stop: Any
) -> Search:
    from gpusched.pbs import graph

    found = graph.search(tasks, table, variant=variant, idling=idling, budget=budget, stop=stop)
    schedule = None
    if found.accepted:
        schedule = schedule_of((found.start, found.end, found.batch), tasks, table, idling)
    return Search(
        tasks=tasks,
        table=table,
        idling=bool(idling),
        repeating=False,
        variant=variant,
        accepted=found.accepted,
        rejected=found.rejected,
        schedule=schedule,
        certificate=None,
        policy=None,
        repeats=repeats(schedule, tasks),
        stage_code=STAGES.index("none" if found.undecided else "graph"),
        reason_code=SPENT.index(found.reason) if found.undecided else 0,
        states=found.vertices,
        bytes=found.bytes,
        seconds=found.seconds,
    )


def _function(
    tasks: KernelTasks,
    table: BatchFunction,
    given: dict[str, Any],
    idling: bool,
    budget: Budget,
    progress: Progress,
    stop: Any,
) -> Search:
    usual = {"method": "interval", "variant": "sound"}
    for name, value in given.items():
        expected = usual.get(name, False)
        if value is not expected and value != expected:
            raise ValueError(
                f"{name}: got {shown(value)}, expected {expected!r} with a BatchFunction of more "
                f"than {MAX_TASKS} tasks"
            )
    with _period_advice(tasks):
        found = search_function(
            tasks, table, idling=idling, budget=budget, progress=progress, stop=stop
        )
    return _found_by_function(tasks, table, found, idling)


def _found_by_function(
    tasks: KernelTasks, table: BatchFunction, found: FunctionSearch, idling: bool
) -> Search:
    schedule = schedule_of(found.frames, tasks, table, idling)
    reason = found.spent or SPENT.index("rounds")
    return Search(
        tasks=tasks,
        table=table,
        idling=idling,
        repeating=False,
        variant="sound",
        accepted=found.answer == 1,
        rejected=found.answer == 0,
        schedule=schedule,
        certificate=certificate_of(found.proof, tasks),
        policy=None,
        repeats=repeats(schedule, tasks),
        stage_code=found.stage,
        reason_code=0 if found.answer >= 0 else reason,
        states=found.states,
        bytes=found.bytes,
        seconds=found.seconds,
        tried=found.tried or None,
    )


def _infinite_horizon(
    tasks: KernelTasks | KernelChains, table: BatchTable, idling: bool, budget: Budget, stop: Any
) -> Search:
    began = perf_counter()
    with _period_advice(tasks):
        (answer, spent, states, size, start, length), proof, frames = _core.pbs_endless(
            *arrays_of(tasks, table),
            undecided_of(tasks, table),
            idling=idling,
            states=budget.states or 0,
            bytes=budget.bytes or 0,
            seconds=float(budget.seconds or 0),
            stop=stop,
            chained=chains_of(tasks, table),
        )
    certificate = certificate_of(proof, rows_of(tasks), repeating=True)
    decided = "overload" if certificate is not None else "interval"
    return Search(
        tasks=tasks,
        table=table,
        idling=bool(idling),
        repeating=True,
        variant="sound",
        accepted=answer == 1,
        rejected=answer == 0,
        schedule=schedule_of(frames, tasks, table, idling, (start, length)),
        certificate=certificate,
        policy=None,
        repeats=True if answer == 1 else None,
        stage_code=STAGES.index(decided if answer >= 0 else "none"),
        reason_code=spent,
        states=states,
        bytes=size,
        seconds=perf_counter() - began,
    )
