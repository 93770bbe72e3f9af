"""Answer of the exact PBS search: schedule, certificate, policy, and the stage that decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.budget import spent_text
from gpusched._support.registry import enumeration
from gpusched._support.saved import Saved
from gpusched.model.answer import Claim, Flags, Ticks
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.pbs.certificates import (
    Certificate,
    DeadInterval,
    DeadStates,
    InfeasibleSubset,
    Overload,
)
from gpusched.pbs.policy import Policy
from gpusched.pbs.search_inputs import PRINTED, BatchAnswer

__all__ = ["SPENT", "STAGES", "Search", "repeats"]

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
        Policy,
        Overload,
        DeadInterval,
        DeadStates,
        InfeasibleSubset,
        BatchFunction,
    )

    tasks: KernelTasks | KernelChains
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


def repeats(schedule: Schedule | None, tasks: KernelTasks | KernelChains) -> bool | None:
    """Whether the schedule of one hyperperiod repeats forever; None without one."""
    if schedule is None:
        return None
    ends = int(schedule.end[-1]) if len(schedule.end) else 0
    return not tasks.offset.any() and ends <= tasks.hyperperiod
