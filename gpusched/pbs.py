"""The Parallel Batch Scheduler: is there a schedule, and how does plain EDF do?

The GPUSched paper. PBS submits a batch of ready jobs together, waits for the last of them to end,
and looks again; it never idles while work is ready. ``search`` decides exactly whether some
sequence of batches meets every deadline of the jobs released in one hyperperiod, whatever the
resolution of time, and gives a witness either way: a schedule that replays, or a certificate that
none exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._batches import members
from gpusched._budget import Budget, as_budget
from gpusched._check import Int64Array, frozen, instance
from gpusched.policy import Policy
from gpusched.table import BatchTable
from gpusched.tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.schedule import Schedule

__all__ = [
    "STAGES",
    "Budget",
    "DeadWindow",
    "Edf",
    "EdfStack",
    "Overload",
    "Search",
    "SearchStack",
    "edf_parallel",
    "edf_serial",
    "search",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows


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


@dataclass(frozen=True)
class Overload:
    """Proof that the GPU is overloaded: a price per task, in units of 1/``scale`` ticks.

    No eligible batch is worth more than its completion time, yet the jobs of a hyperperiod are
    worth more than the hyperperiod. ``load`` is the least time that the jobs of a hyperperiod need,
    in fractions of batches, relative to it.
    """

    price: tuple[int, ...]
    scale: int
    load: float


@dataclass(frozen=True)
class DeadWindow:
    """Proof by a window of time: ``tasks`` have jobs released at ``start`` or later and due by
    ``end``, and no batches cover these tasks in less than ``least`` ticks, more than the window."""

    start: int
    end: int
    tasks: tuple[int, ...]
    least: int


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
        return f"<SearchStack: {_counts(self.schedulable)}>"


@dataclass(frozen=True, eq=False)
class Edf:
    """What EDFserial or EDFParallel does with one task set.

    ``schedulable`` is None when the frames exceed the budget of bytes; ``schedule`` holds the
    frames up to the end or the first miss (the frame that misses included); ``missed`` is (task,
    job, absolute deadline) of the first job that misses, or None.
    """

    schedulable: bool | None
    schedule: Schedule
    missed: tuple[int, int, int] | None


@dataclass(frozen=True, eq=False, repr=False)
class EdfStack:
    """What EDFserial or EDFParallel does with a stack of N task sets, arrays of length N.

    ``schedulable``: 1, 0, or -1 when the frames exceed the budget of bytes; ``task``, ``job`` and
    ``deadline`` of the first miss, -1 without one.
    """

    schedulable: npt.NDArray[np.int8]
    task: npt.NDArray[np.int8]
    job: Int64Array
    deadline: Int64Array

    def __len__(self) -> int:
        return len(self.schedulable)

    def to_frame(self) -> Any:
        """A pandas table with one row per task set."""
        import pandas as pd

        names = ("schedulable", "task", "job", "deadline")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame({"set": np.arange(len(self)), **columns})

    def __repr__(self) -> str:
        return f"<EdfStack: {_counts(self.schedulable)}>"


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
        ``gpusched.graph`` for its vertices, its drawing and its options.
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
    _check(tasks, table)
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
        *_arrays(tasks, table),
        _undecided(tasks, table),
        idling,
        thorough,
        policy is not False,
        limit,
        budget.states or 0,
        budget.bytes or 0,
        float(budget.seconds or 0),
        stop,
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
    schedule = _schedule(frames, tasks, table, idling)
    return Search(
        schedulable={1: True, 0: False, -1: None}[int(answer[0])],
        schedule=schedule,
        stage=STAGES[int(stage[0])],
        certificate=_certificate(STAGES[int(stage[0])], proofs),
        reason=SPENT[int(spent[0])],
        repeats=_repeats(schedule, tasks),
        policy=None if spans is None else Policy(tasks, table, *map(frozen, spans)),
        states=int(states[0]),
        bytes=int(size[0]),
        seconds=float(ns[0]) / 1e9,
    )


def edf_serial(
    tasks: KernelTasks, table: BatchTable, *, budget: Budget | None = None, stop: Any = None
) -> Any:
    """EDFserial: one job a frame, earliest deadline first, not preempted.

    Section 6 of the GPUSched paper; equal deadlines go to the smaller index. Returns an ``Edf`` for
    one task set, an ``EdfStack`` for a stack. Of the budget, bytes count.
    """
    return _edf(tasks, table, False, budget, stop)


def edf_parallel(
    tasks: KernelTasks, table: BatchTable, *, budget: Budget | None = None, stop: Any = None
) -> Any:
    """EDFParallel: every ready job, in deadline order, that leaves the batch eligible.

    Section 6 of the GPUSched paper; equal deadlines go to the smaller index. Returns an ``Edf`` for
    one task set, an ``EdfStack`` for a stack. Of the budget, bytes count.
    """
    return _edf(tasks, table, True, budget, stop)


def _edf(
    tasks: KernelTasks, table: BatchTable, parallel: bool, budget: Budget | None, stop: Any
) -> Any:
    _check(tasks, table)
    budget = as_budget(budget)
    columns, frames = _core.pbs_edf(*_arrays(tasks, table), parallel, budget.bytes or 0, stop)
    answer, task, job, deadline = columns
    if tasks.is_stack or table.is_stack:
        return EdfStack(
            schedulable=frozen(answer.astype(np.int8)),
            task=frozen(task.astype(np.int8)),
            job=frozen(job),
            deadline=frozen(deadline),
        )
    schedule = _schedule(frames, tasks, table, False)
    assert schedule is not None
    missed = (int(task[0]), int(job[0]), int(deadline[0])) if task[0] >= 0 else None
    return Edf({1: True, 0: False, -1: None}[int(answer[0])], schedule, missed)


def _graph(
    tasks: KernelTasks, table: BatchTable, variant: str, idling: bool, budget: Budget, stop: Any
) -> Search:
    from gpusched import graph

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
        schedule = _schedule((found.start, found.end, found.batch), tasks, table, idling)
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
        *_arrays(tasks, table),
        _undecided(tasks, table),
        idling,
        budget.states or 0,
        budget.bytes or 0,
        float(budget.seconds or 0),
        stop,
    )
    certificate = None
    if prices is not None and answer == 0:
        certificate = Overload(tuple(prices[1].tolist()), prices[0], load)
    decided = "overload" if certificate is not None else "interval"
    return Search(
        schedulable={1: True, 0: False, -1: None}[answer],
        schedule=_schedule(frames, tasks, table, idling, (start, length)),
        stage=decided if answer >= 0 else "none",
        certificate=certificate,
        reason=SPENT[spent],
        repeats=True if answer == 1 else None,
        policy=None,
        states=states,
        bytes=size,
        seconds=perf_counter() - began,
    )


def _check(tasks: Any, table: Any) -> None:
    instance(tasks, KernelTasks, "tasks")
    instance(table, BatchTable, "table", "BatchTable.from_gpu makes one for a GPU")


def _counts(schedulable: npt.NDArray[np.int8]) -> str:
    """How many sets got which answer."""
    answers = (("schedulable", 1), ("not", 0), ("undecided", -1))
    found = [(int((schedulable == code).sum()), word) for word, code in answers]
    said = ", ".join(f"{count} {word}" for count, word in found if count or word != "undecided")
    return f"{len(schedulable)} sets, {said}"


def _rows(array: Any) -> Any:
    return None if array is None else np.atleast_2d(array)


def _arrays(tasks: KernelTasks, table: BatchTable) -> tuple[Any, Any, Any, Any]:
    """Period, deadline, offset and completion as stacks of the same length."""
    if tasks.n > _core.MAX_TASKS:
        raise ValueError(f"tasks: {tasks.n} tasks are more than the {_core.MAX_TASKS} possible")
    if table.n != tasks.n:
        raise ValueError(f"table: is for {table.n} tasks, the task set has {tasks.n}")
    rows = [_rows(a) for a in (tasks.period, tasks.deadline, tasks.offset, table.completion)]
    sets = max(len(row) for row in rows) if all(len(row) for row in rows) else 0
    for row, name in zip(rows, ("period", "deadline", "offset", "table"), strict=True):
        if len(row) not in (1, sets):
            raise ValueError(f"{name}: {len(row)} sets do not go with {sets}")
    return tuple(np.broadcast_to(row, (sets, row.shape[1])) for row in rows)  # type: ignore[return-value]


def _undecided(tasks: KernelTasks, table: BatchTable) -> Any:
    """The same for the times of undecided batches, or None."""
    if table.undecided is None:
        return None
    row = _rows(table.undecided)
    return np.broadcast_to(row, (max(len(row), len(_rows(tasks.period))), row.shape[1]))


def _schedule(
    frames: Any,
    tasks: KernelTasks,
    table: BatchTable,
    idling: bool,
    cycle: tuple[int, int] | None = None,
) -> Schedule | None:
    from gpusched.schedule import Schedule

    if frames is None:
        return None
    start, end, batch = frames
    return Schedule(start, end, batch, tasks, table, idling, cycle)


def _repeats(schedule: Schedule | None, tasks: KernelTasks) -> bool | None:
    if schedule is None:
        return None
    ends = int(schedule.end[-1]) if len(schedule.end) else 0
    return not tasks.offset.any() and ends <= tasks.hyperperiod


def _certificate(stage: str, proofs: Any) -> Overload | DeadWindow | None:
    (scale, price, load, _), (_, start, end, mask, least) = proofs
    if stage == "overload":
        return Overload(tuple(price.tolist()), scale, load)
    if stage == "dead_window":
        return DeadWindow(start, end, members(mask), least)
    return None
