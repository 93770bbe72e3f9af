"""Exact PBS search: a schedule that meets every deadline, or a proof that none exists [RTNS24]."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.budget import Budget, as_budget
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificates import DeadWindow, Overload, certificate_of
from gpusched.pbs.policy import Policy
from gpusched.pbs.search_inputs import (
    arrays_of,
    check_inputs,
    counts_text,
    schedule_of,
    undecided_of,
)

if TYPE_CHECKING:
    from gpusched.model.schedule import Schedule

__all__ = ["SPENT", "STAGES", "Search", "SearchStack", "search"]


STAGES = (
    "none",
    "edf_serial",
    "edf_parallel",
    "depth_first",
    "overload",
    "dead_window",
    "latest_start",
    "interval",
    "graph",
)
"""What can decide a search, in the order of ``SearchStack.stage``.

``edf_serial``, ``edf_parallel``: that scheduler's schedule is one. ``depth_first``: a short search,
the most promising batch first, found a schedule (or tried everything). ``overload``,
``dead_window``: see the certificates. ``latest_start``: no state can be completed even with
inserted idle time (all was tried). ``interval``: the feasible instants of every state. ``graph``:
the scheduling graph. ``none``: a budget was spent, or the table leaves the answer open.
"""

SPENT = (None, "states", "bytes", "seconds", "undecided")
"""Why a search has no answer, in the order of ``SearchStack.spent``."""


@dataclass(frozen=True, eq=False)
class Search:
    """The answer for one task set.

    Attributes
    ----------
    schedulable
        True, False, or None when a budget was spent or the table leaves it open.
    schedule
        A schedule that meets every deadline, when schedulable.
    stage
        Which stage decided, one of ``STAGES``.
    certificate
        An ``Overload`` or ``DeadWindow`` when that decided.
    reason
        When not decided: "states", "bytes", "seconds", or "undecided" (the table's). Also which
        budget was spent before a policy was finished.
    repeats
        Whether the schedule repeats for ever. False when it only covers the jobs released in one
        hyperperiod (``repeating=True`` looks for one that repeats); None without a schedule.
    policy
        The run-time policy, with ``policy=True``.
    states, bytes, seconds
        What the search cost; seconds are measured and vary.
    """

    schedulable: bool | None
    schedule: Schedule | None
    stage: str
    certificate: Overload | DeadWindow | None
    reason: str | None
    repeats: bool | None
    policy: Policy | None
    states: int
    bytes: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class SearchStack:
    """The answers for a stack of N task sets, arrays of length N.

    ``schedulable``: 1, 0, or -1 when not decided; ``stage`` and ``spent``: indices into
    ``STAGES`` and ``SPENT``; ``states``, ``bytes`` and ``seconds``: what each search cost.
    """

    schedulable: npt.NDArray[np.int8]
    stage: npt.NDArray[np.int8]
    spent: npt.NDArray[np.int8]
    states: Int64Array
    bytes: Int64Array
    seconds: npt.NDArray[np.float64]

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages: ``STAGES``."""
        return STAGES

    def __len__(self) -> int:
        return len(self.schedulable)

    def to_frame(self) -> Any:
        """A pandas table with one row per task set."""
        import pandas as pd

        return pd.DataFrame(
            {
                "set": np.arange(len(self)),
                "schedulable": self.schedulable,
                "stage": np.array(STAGES, dtype=object)[self.stage],
                "states": self.states,
                "bytes": self.bytes,
                "seconds": self.seconds,
            }
        )

    def __repr__(self) -> str:
        return f"<SearchStack: {counts_text(self.schedulable)}>"


def search(
    tasks: KernelTasks,
    table: BatchTable,
    method: Literal["interval", "graph"] = "interval",
    *,
    variant: Literal["sound", "paper"] = "sound",
    idling: bool = False,
    policy: bool | int = False,
    repeating: bool = False,
    thorough: bool = False,
    budget: Budget | None = None,
    stop: Any = None,
) -> Any:
    """Decide whether PBS can meet every deadline (the GPUSched paper, section 3).

    Parameters
    ----------
    tasks, table
        One task set and its table, or stacks of N of both; a single table serves a whole stack.
    method
        "interval": exact and fast. "graph": the paper's scheduling graph, for one set; see
        ``gpusched.pbs.graph`` for its vertices, its drawing and its options.
    variant
        Of the graph: "sound" (repaired), or "paper" for Algorithms 1 to 4 as printed, which err
        both ways.
    idling
        The GPU may wait although work is ready; PBS may not.
    policy
        True: also compute the feasible instants of every state, which make a run-time policy
        (``Search.policy``), for a single set that is schedulable. A number limits the spans kept
        per class of states (as far as the start stays inside): still a safe policy, smaller and
        sooner.
    repeating
        Decide for ever, not for the jobs of one hyperperiod, and find a schedule whose
        ``cycle`` repeats. The same question where deadlines do not exceed periods and nothing has
        an offset; elsewhere a schedule of one hyperperiod need not go on. For a single set.
    thorough
        Skip the quick answers and decide by the feasible instants alone.
    budget
        A ``Budget`` for each task set; by default 2 GiB.
    stop
        A writable buffer of one byte (``bytearray(1)``): set it from another thread to stop.

    Returns
    -------
    Search or SearchStack
        For one set, or for a stack.

    Raises
    ------
    ValueError
        More than 20 tasks, a table of another size, a task that can never run.
    OverflowError
        A hyperperiod beyond the clock.
    gpusched.Cancelled
        Stopped by ``stop``.
    """
    check_inputs(tasks, table)
    budget = as_budget(budget)
    if method == "graph":
        return _graph(tasks, table, variant, idling, budget, stop)
    if method != "interval":
        raise ValueError(f"method = {method!r}: must be 'interval' or 'graph'")
    if variant != "sound":
        raise ValueError("variant: only the graph has another variant than 'sound'")
    if policy is not False and tasks.is_stack:
        raise ValueError("policy: is computed for one task set, not for a stack")
    if repeating:
        if policy is not False or thorough:
            raise ValueError("repeating: goes with neither policy nor thorough")
        return _endless(tasks, table, idling, budget, stop)
    limit = 0 if isinstance(policy, bool) else int(policy)
    if limit < 1 and not isinstance(policy, bool):
        raise ValueError(f"policy = {policy!r}: must be True, False or a positive number")
    columns, frames, proofs, spans = _core.pbs_search(
        *arrays_of(tasks, table),
        undecided_of(tasks, table),
        idling=idling,
        thorough=thorough,
        policy=policy is not False,
        policy_limit=limit,
        states=budget.states or 0,
        bytes=budget.bytes or 0,
        seconds=float(budget.seconds or 0),
        stop=stop,
    )
    answer, stage, spent, states, size, ns = columns
    if tasks.is_stack or table.is_stack:
        return SearchStack(
            schedulable=frozen(answer.astype(np.int8)),
            stage=frozen(stage.astype(np.int8)),
            spent=frozen(spent.astype(np.int8)),
            states=frozen(states),
            bytes=frozen(size),
            seconds=frozen(ns / 1e9),
        )
    schedule = schedule_of(frames, tasks, table, idling)
    return Search(
        schedulable={1: True, 0: False, -1: None}[int(answer[0])],
        schedule=schedule,
        stage=STAGES[int(stage[0])],
        certificate=certificate_of(STAGES[int(stage[0])], proofs),
        reason=SPENT[int(spent[0])],
        repeats=_repeats(schedule, tasks),
        policy=None if spans is None else Policy(tasks, table, *map(frozen, spans)),
        states=int(states[0]),
        bytes=int(size[0]),
        seconds=float(ns[0]) / 1e9,
    )


def _graph(
    tasks: KernelTasks, table: BatchTable, variant: str, idling: bool, budget: Budget, stop: Any
) -> Search:
    from gpusched.pbs import graph

    if tasks.is_stack or table.is_stack:
        raise ValueError("method: the graph takes one task set, not a stack")
    found = graph.search(
        tasks,
        table,
        variant=variant,
        idling=idling,
        budget=budget,
        stop=stop,
    )
    schedule = None
    if found.schedulable:
        schedule = schedule_of((found.start, found.end, found.batch), tasks, table, idling)
    return Search(
        schedulable=found.schedulable,
        schedule=schedule,
        stage="graph" if found.schedulable is not None else "none",
        certificate=None,
        reason=None if found.schedulable is not None else found.reason,
        repeats=_repeats(schedule, tasks),
        policy=None,
        states=found.vertices,
        bytes=found.bytes,
        seconds=found.seconds,
    )


def _endless(
    tasks: KernelTasks, table: BatchTable, idling: bool, budget: Budget, stop: Any
) -> Search:
    if tasks.is_stack or table.is_stack:
        raise ValueError("repeating: takes one task set, not a stack")
    began = perf_counter()
    (answer, spent, states, size, load, start, length), prices, frames = _core.pbs_endless(
        *arrays_of(tasks, table),
        undecided_of(tasks, table),
        idling=idling,
        states=budget.states or 0,
        bytes=budget.bytes or 0,
        seconds=float(budget.seconds or 0),
        stop=stop,
    )
    certificate = None
    if prices is not None and answer == 0:
        certificate = Overload(tuple(prices[1].tolist()), prices[0], load)
    decided = "overload" if certificate is not None else "interval"
    return Search(
        schedulable={1: True, 0: False, -1: None}[answer],
        schedule=schedule_of(frames, tasks, table, idling, (start, length)),
        stage=decided if answer >= 0 else "none",
        certificate=certificate,
        reason=SPENT[spent],
        repeats=True if answer == 1 else None,
        policy=None,
        states=states,
        bytes=size,
        seconds=perf_counter() - began,
    )


def _repeats(schedule: Schedule | None, tasks: KernelTasks) -> bool | None:
    if schedule is None:
        return None
    ends = int(schedule.end[-1]) if len(schedule.end) else 0
    return not tasks.offset.any() and ends <= tasks.hyperperiod
