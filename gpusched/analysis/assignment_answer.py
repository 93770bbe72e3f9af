"""Answer of `assign_priorities`: the priorities, how they were found, the verdict with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, SupportsIndex

import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import escape
from gpusched.analysis.verdict import Verdict
from gpusched.model.answer import Flags, Ticks, Times, part_of, sets_at, sets_of
from gpusched.model.host_tasks import HostTasks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Assignment"]

_FOUND = {
    "audsley": "Audsley's algorithm found the priorities",
    "exhaustive": "A search over all orders found the priorities",
    "deadline monotonic": "Priorities are in the order of the deadlines",
    "cpu priorities": "GPU priorities are those of the CPUs",
}


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Tabular, Saved, Frozen):
    """Priorities for one set, or for a stack of N sets; see `assign_priorities`.

    >>> jobs = [[2, (0, 2, 0), 1], [3, (0, 3, 0), 1]]
    >>> hosts = gs.HostTasks.from_segments([10, 20], jobs, core=[0, 1])
    >>> found = gs.analysis.assign_priorities(hosts, "mpcp")
    >>> found.accepted, found.hosts.priority.tolist()
    (True, [0, 1])

    Attributes
    ----------
    verdict
        The verdict of the test with these priorities.
    of
        Which priorities were chosen: "cpu" or "gpu".
    gpu_priority
        GPU priorities, 0 is the highest: int64 ``(n,)`` or ``(N, n)``; None if ``of`` is "cpu".
    method
        How they were found: "audsley", "exhaustive" (also if the search ended without success),
        "deadline monotonic", or "cpu priorities" (for the GPU). A str, or an array of str ``(N,)``.
    optimal
        Whether no better priorities exist: the test accepts these, or is known to accept no others.
        A bool, or bool ``(N,)``.
    tests
        Number of tests that were run, each of one task or of all tasks.
    """

    _KIND: ClassVar[str] = "Assignment"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Verdict, *Verdict._PARTS)

    verdict: Verdict
    of: Literal["cpu", "gpu"]
    gpu_priority: Int64Array | None
    method: Any  # a str or an array, as is_stack says
    optimal: Flags
    tests: Ticks

    @property
    def hosts(self) -> HostTasks:
        """The tasks with their priorities."""
        return self.verdict.hosts

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets."""
        return self.verdict.is_stack

    @property
    def accepted(self) -> Flags:
        """Whether the test accepts the set with these priorities: a bool, or bool ``(N,)``."""
        return self.verdict.accepted

    @property
    def schedulable(self) -> Flags:
        """As in the verdict: None for a single set that is not accepted."""
        return self.verdict.schedulable

    @property
    def response(self) -> Times:
        """Response bounds with these priorities, from the verdict."""
        return self.verdict.response

    @property
    def slack(self) -> Times:
        """Deadline minus response bound, from the verdict."""
        return self.verdict.slack

    @property
    def seconds(self) -> float:
        """Wall-clock time of the test with these priorities."""
        return self.verdict.seconds

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.verdict)

    def why(self, task: int | str | None = None) -> str:
        """Explain how the priorities were found, and the verdict, for the set or for one task.

        Raises IndexError or ValueError for a task that does not exist and for a task of a stack.
        """
        said = self.verdict.why(task)
        if self.is_stack or task is not None:
            return said
        return f"{self.how()}. {said}"

    def how(self) -> str:
        """Return how the priorities of one set were found, as a sentence without a full stop.

        >>> hosts = gs.HostTasks.from_segments([10, 22], [[1], [2, (0, 7, 1), 1]], core=[0, 0])
        >>> gs.analysis.assign_priorities(hosts, "mpcp").how()
        'Priorities are in the order of the deadlines'

        Raises
        ------
        ValueError
            The answer is for a stack.
        """
        if self.is_stack:
            raise ValueError("assignment: got a stack, expected one set; index it first")
        found = _FOUND[self.method]
        if not self.accepted and self.method in ("audsley", "exhaustive") and self.optimal:
            found = (
                "No priorities make the test accept the set; the deadline-monotonic ones are kept"
            )
        elif not self.accepted:
            found = f"{found}; other priorities may be accepted"
        return found

    def __getitem__(self, index: SupportsIndex | slice | npt.ArrayLike) -> Self:
        """Return the answer for one set of a stack (int), or for several (slice, indices, mask).

        Raises
        ------
        IndexError
            The set does not exist.
        TypeError
            The answer is for a single set, or the index is of another kind.
        """
        at = sets_at(self, index)
        rest = {f.name: part_of(getattr(self, f.name), at) for f in fields(self)[2:]}
        verdict = self.verdict[index]
        if self.gpu_priority is not None and isinstance(at, int):
            rest["gpu_priority"] = self.gpu_priority[at, : verdict.hosts.n].copy()
        return type(self)(verdict, self.of, **rest)

    def __iter__(self) -> Iterator[Self]:
        """Iterate over the answers for the sets of a stack."""
        return sets_of(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of the verdict, with the priorities: one row per task.

        It also has the column ``gpu_priority`` if GPU priorities were chosen.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        columns = self.verdict._table()
        if self.gpu_priority is not None:
            columns["gpu_priority"] = self.gpu_priority[self.hosts.is_task]
        return columns

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw the verdict; see ``Verdict.plot``."""
        return self.verdict.plot(ax, unit=unit)

    def __repr__(self) -> str:
        return f"<Assignment: {self._summary()}>"

    def _repr_html_(self) -> str:
        return f"<p>Assignment: {escape(self._summary())}</p>{self.verdict._repr_html_()}"

    def _summary(self) -> str:
        if not self.is_stack:
            return f"{self.method}, {'accepted' if self.accepted else 'not accepted'}"
        return f"{int(self.accepted.sum())} of {len(self)} sets accepted"
