"""Answers about batch scheduling, and that of the exact search with what decided it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.budget import spent_text
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched.model.answer import Answer, Claim, Flags, Ticks
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import BatchTasks, KernelChains, KernelGraph, rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.model.workload.time_units import time_in_text
from gpusched.pbs.certificate_base import Certificate
from gpusched.pbs.certificates import (
    DeadInterval,
    DeadStates,
    InfeasibleSubset,
    Overload,
    certificate_of,
)
from gpusched.pbs.policy import Policy
from gpusched.pbs.search_inputs import is_stack, longest_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRINTED = "Algorithms 1 to 4 hold as printed; counterexamples are known, both ways."
"""Assumption of the graph's printed variants."""

STAGES = (*enumeration("pbs.stage"), "graph")
"""Stages that can decide a search, in the order of ``Search.stage_code``.

``edf_serial``, ``edf_parallel``: the schedule of that scheduler meets all deadlines.
``depth_first``: a short search that tries the most promising batches first found a schedule (or
covered everything). ``overload``, ``dead_interval``: see the certificates. ``latest_start``: no
state can be completed even with inserted idle time (everything was covered). ``interval``: the
feasible times of all states. ``lazy``: a search that learns, for the states it reaches, when they
cannot be completed. ``groups``: a schedule in which groups of tasks always run together. ``core``:
a subset of the tasks cannot be scheduled even alone. ``graph``: the scheduling graph. ``none``: a
budget was used up, or the table leaves the answer open.
"""

SPENT = ("", *enumeration("core.status")[1:], "depth", "rounds")
"""Reasons why a search has no answer, in the order of ``Search.reason_code``: the budget that was
used up, batches that the table leaves undecided, the depth limit of a graph, or the last round of a
search with a `BatchFunction`; "" if there is an answer."""

_BY = {
    "edf_serial": "EDFserial's schedule meets every deadline",
    "edf_parallel": "EDFParallel's schedule meets every deadline",
    "depth_first": "a depth-first search found a schedule",
    "latest_start": "a search from the latest start times found a schedule",
    "interval": "the feasible instants of all states give a schedule",
    "lazy": "a search that learns which states are dead found a schedule",
    "groups": "a schedule in which groups of tasks always run together was found",
    "graph": "the scheduling graph has a schedule",
}


_BYTES_PER_ARRIVAL = 16  # its time and class
_MANY_JOBS = 1000

# What a file holds of a table and of a schedule.
_SAVED = {
    "table": ("completion", "undecided", "order"),
    "schedule": ("start", "end", "batch", "idling", "cycle"),
}


class BatchAnswer(Answer):
    """Base of answers about batch scheduling; a response is a task's longest in the schedule."""

    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, KernelChains, KernelGraph)
    _PER_SET = True

    if TYPE_CHECKING:

        @property
        def tasks(self) -> BatchTasks: ...
        @property
        def table(self) -> BatchTable | BatchFunction | None: ...
        @property
        def schedule(self) -> Schedule | None: ...

    @property
    def _tasks(self) -> KernelTasks | KernelChains:
        return self.tasks.rows if isinstance(self.tasks, KernelGraph) else self.tasks

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets or of tables."""
        return self.tasks.is_stack or (self.table is not None and self.table.is_stack)

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a response time: bool ``(n,)`` or ``(N, n)``.

        True for the tasks of an accepted set with a job in its ``schedule``; False in the answer
        for a stack, which keeps no schedules.
        """
        return self._responses()[1]

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        shape = (len(self), self.tasks.n) if self.is_stack else (self.tasks.n,)
        longest = np.zeros(shape, np.int64)
        known = np.zeros(shape, np.bool_)
        if self.schedule is not None and self.accepted:
            jobs = self.schedule.jobs()
            np.maximum.at(longest, jobs.task, jobs.end - jobs.release)
            known[jobs.task] = True
        return longest, known

    def _long_hyperperiod(self, used: int) -> str:
        """Cause of a spent budget of bytes, for one set; "" if it is not the hyperperiod.

        ``used``: bytes of the search. Every arrival of the hyperperiod takes some.
        """
        periods = self.tasks.period.tolist()
        hyperperiod = math.lcm(*periods)
        jobs = sum(hyperperiod // period for period in periods)
        if len(periods) < 2 or jobs < _MANY_JOBS or jobs * _BYTES_PER_ARRIVAL < used:
            return ""
        i, j = longest_pair(periods)
        both = math.lcm(periods[i], periods[j])
        if both == max(periods):
            return ""
        of_all = "" if len(periods) == 2 else f", that of all tasks {time_in_text(hyperperiod)}"
        return (
            f"on the {jobs:,} jobs of the hyperperiod: the periods of {self._name(i)} and "
            f"{self._name(j)}, {time_in_text(periods[i])} and {time_in_text(periods[j])}, have the "
            f"hyperperiod {time_in_text(both)}{of_all}. Periods with a shorter one, or a larger "
            "budget, may decide it."
        )

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw the schedule; without one, the deadlines; for a stack, a bar chart of its answers.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s".

        Returns
        -------
        The axes.
        """
        if self.schedule is None:
            return super().plot(ax, unit=unit)
        return self.schedule.plot(ax, unit=unit)

    def _fields(self) -> dict[str, Any]:
        values = super()._fields()
        for key, names in _SAVED.items():
            if values.get(key) is not None and not isinstance(values[key], BatchFunction):
                values[key] = {name: getattr(values[key], name) for name in names}
        return values

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Any:
        table = values.get("table")
        if isinstance(table, dict):
            table = values["table"] = BatchTable(**table)
        if values.get("schedule") is not None:
            values["schedule"] = Schedule(**values["schedule"], tasks=values["tasks"], table=table)
        return cls(**values)


@dataclass(frozen=True, eq=False, repr=False)
class Search(BatchAnswer):
    """Answer of the exact search for one set of n tasks, or for a stack of N sets.

    Exact: accepted with a schedule, rejected because none exists, or undecided if a budget was used
    up or the table leaves the answer open.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> answer = gs.pbs.search(tasks, table)
    >>> answer.schedulable, answer.stage, answer.response.tolist()
    (True, 'edf_serial', [4, 5])
    >>> answer.why()
    "EDFserial's schedule meets every deadline; task 0 has the least slack, with 4 of 4."

    Attributes
    ----------
    tasks, table
        The tasks and their table.
    idling, repeating, variant
        Whether the GPU may wait although work is ready, whether a schedule must repeat forever, and
        the variant of the scheduling graph ("sound" without a graph).
    accepted, rejected
        Whether a schedule was found, and whether none exists: a bool, or bool ``(N,)``.
    schedule
        For an accepted single set, a schedule that meets all deadlines. None for a stack, and for
        a set that was taken from a stack; search the set alone for its schedule.
    certificate
        For a rejected single set, a proof: an `Overload`, `DeadInterval`, `DeadStates` or
        `InfeasibleSubset`, which ``certificate.verify`` checks independently of the search. A set
        whose proof does not fit the budget is undecided. None for a stack and with "graph". With
        ``repeating``, only an `Overload` is sought, and it is None otherwise.
    policy
        The run-time policy of a single set, with ``policy=True``; otherwise None.
    repeats
        Whether the schedule repeats forever. False if it only covers the jobs released in one
        hyperperiod (``repeating=True`` seeks one that repeats); None without a schedule.
    stage_code, reason_code
        Indices into ``STAGES`` and ``SPENT``; ``stage`` and ``reason`` have the names. An int, or
        int8 ``(N,)``. The reason also tells which budget was used up before a policy was complete.
    states, bytes
        Numbers of states examined and of bytes used: an int, or int64 ``(N,)``.
    seconds
        Wall-clock time of each search: a float, or an array ``(N,)``.
    tried
        For a search of more than 24 tasks with a `BatchFunction`: the numbers of rounds, of
        searches by dispatch, of groupings and of subsets of the tasks, and the load, a lower bound
        on the share of the GPU that the jobs need (0: not computed). None otherwise.
    """

    _KIND: ClassVar[str] = "Search"
    _VERSION: ClassVar[int] = 3
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        KernelTasks,
        KernelChains,
        KernelGraph,
        Policy,
        Overload,
        DeadInterval,
        DeadStates,
        InfeasibleSubset,
        BatchFunction,
    )

    tasks: BatchTasks
    table: BatchTable | BatchFunction
    idling: bool
    repeating: bool
    variant: str
    accepted: Flags
    rejected: Flags
    schedule: Schedule | None
    certificate: Certificate | None
    policy: Policy | None
    repeats: bool | None
    stage_code: Ticks
    reason_code: Ticks
    states: Ticks
    bytes: Ticks
    seconds: npt.NDArray[np.float64] | Any = field(compare=False)
    tried: tuple[float, ...] | None = None

    @property
    def claim(self) -> Claim:
        """ "exact": every set is undecided, or has a schedule or a proof that none exists."""
        return "exact"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        count = (
            "The schedule has to repeat forever."
            if self.repeating
            else "The jobs released in one hyperperiod (the least common multiple of the periods) "
            "count, from an idle GPU at time 0."
        )
        waits = "may" if self.idling else "does not"
        return (
            "Releases are periodic, from the offsets.",
            "A batch takes exactly its time in the table, and batches are not preempted.",
            f"The GPU {waits} wait while work is ready.",
            count,
            *([PRINTED] if self.variant != "sound" else []),
        )

    @property
    def stage(self) -> Any:  # a string or an array, as is_stack says
        """The stage that decided, one of ``STAGES``: a string, or an array ``(N,)``."""
        names = np.array(STAGES)[self.stage_code]
        return names if self.is_stack else str(names)

    @property
    def reason(self) -> Any:  # a string, None or an array, as is_stack says
        """Reason why there is no answer (or no policy), one of ``SPENT``; None with an answer. For
        a stack, an array ``(N,)``, "" with an answer."""
        names = np.array(SPENT)[self.reason_code]
        return names if self.is_stack else str(names) or None

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Search:
        if isinstance(proof := values["certificate"], dict):  # version 1
            if "price" in proof:
                proof = Overload(proof["price"], proof["scale"], proof["load"])
            else:
                proof = DeadInterval(**proof)
            values["certificate"] = proof
        found: Search = super()._from_fields(values)
        return found

    def _reason(self) -> str:
        if self.undecided:
            if self.tried is not None:
                return self._tried()
            if self.reason == "undecided":
                return "The batches that the table leaves undecided decide it."
            long = ""
            if self.reason == "bytes" and not self.states and isinstance(self.table, BatchTable):
                long = self._long_hyperperiod(int(self.bytes))
            return spent_text(str(self.reason), int(self.states), int(self.bytes), long)
        if self.accepted:
            by = _BY.get(self.stage, "a schedule was found")
            least = self._tightest()
            return f"{by[0].upper()}{by[1:]}{f'; {least}' if least else ''}."
        if self.certificate is not None:
            return self.certificate.words(self.tasks)
        return "Every sequence of batches misses a deadline."

    def _tried(self) -> str:
        rounds, searches, groups, cores = (int(count) for count in (self.tried or ())[:4])
        ended = f"The budget of {self.reason} was spent"
        if self.reason == "rounds":
            ended = "No round decided it"
        return (
            f"{ended}: {rounds} rounds tried {searches} searches by dispatch, {groups} groupings "
            f"and {cores} subsets of the tasks."
        )

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "stage": np.atleast_1d(self.stage),
            "reason": np.array(SPENT)[np.atleast_1d(self.reason_code)],
            "states": np.atleast_1d(self.states),
            "bytes": np.atleast_1d(self.bytes),
            "seconds": np.atleast_1d(self.seconds),
        }

    def _form(self) -> str:
        idling = ", idling" if self.idling else ""
        if self.is_stack:
            return f"PBS search{idling}"
        by = f", decided by {self.stage}" if self.stage != "none" else f", {self.reason}"
        return f"PBS search{idling}{by}"


@dataclass(frozen=True)
class Found:
    """Outcome of one way to search, as the core has it; for a stack of sets, in arrays.

    ``answer`` is 1, 0 or -1, ``stage`` and ``spent`` are indices into ``STAGES`` and ``SPENT``.
    ``spans``: the policy; ``cycle``: first time and length of the part that repeats. ``tried``:
    numbers of rounds, searches, groups and subsets, and the load; empty if no round ran.
    """

    answer: Any
    stage: Any
    spent: Any
    states: Any
    bytes: Any
    seconds: Any
    frames: Any = None
    proof: Any = None
    spans: Any = None
    cycle: tuple[int, int] | None = None
    tried: tuple[float, ...] = ()


def answer_of(
    found: Found,
    tasks: BatchTasks,
    table: BatchTable | BatchFunction,
    *,
    idling: bool,
    repeating: bool = False,
    variant: str = "sound",
) -> Search:
    """The answer about these tasks: with a schedule of the frames, a certificate of the proof."""
    stack = is_stack(tasks, table)
    schedule = None
    if found.frames is not None:
        start, end, batch = found.frames
        schedule = Schedule(start, end, batch, tasks, table, idling, found.cycle)
    policy = None
    if found.spans is not None and isinstance(table, BatchTable):
        policy = Policy(tasks, table, *found.spans)
    return Search(
        tasks=tasks,
        table=table,
        idling=idling,
        repeating=repeating,
        variant=variant,
        accepted=found.answer == 1,
        rejected=found.answer == 0,
        schedule=schedule,
        certificate=certificate_of(found.proof, rows_of(tasks), repeating),
        policy=policy,
        repeats=_repeats(schedule, tasks),
        stage_code=found.stage.astype(np.int8) if stack else found.stage,
        reason_code=found.spent.astype(np.int8) if stack else found.spent,
        states=found.states,
        bytes=found.bytes,
        seconds=found.seconds,
        tried=found.tried or None,
    )


def _repeats(schedule: Schedule | None, tasks: BatchTasks) -> bool | None:
    """Whether a schedule repeats forever; None without one."""
    if schedule is None:
        return None
    ends = int(schedule.end[-1]) if len(schedule.end) else 0
    return schedule.cycle is not None or (not tasks.offset.any() and ends <= tasks.hyperperiod)
