"""Certificate by an interval: batches that cover its jobs take longer than the interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gpusched import _core
from gpusched._support.arguments import Int64Array, int_array, integer64
from gpusched.model.workload.time_units import time_in_text
from gpusched.pbs.certificates.certificate import Arrays, Certificate, Verdict, needing

if TYPE_CHECKING:
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["DeadInterval"]


@dataclass(frozen=True, repr=False)
class DeadInterval(Certificate):
    """Proof by a time interval that is too short for the jobs that must run in it.

    Jobs released at or after its start and due by its end must run inside it, and each batch runs
    at most one job of each task. The proof holds with and without inserted idle time.

    >>> tasks = gs.KernelTasks(period=[4, 10], wcet=[3, 4])
    >>> proof = gs.pbs.DeadInterval(start=0, end=4, tasks=(0,), least=5)
    >>> proof
    <DeadInterval: task 0 needs 5 of the 4 ticks from 0 to 4>
    >>> proof.verify(tasks, gs.BatchTable.from_dict(2, {(0,): 5, (1,): 4})) is proof
    True

    Attributes
    ----------
    start, end
        Start and end of the interval in ticks.
    tasks
        Indices, in ascending order, of the tasks with a job that is released at or after ``start``
        and due by ``end``.
    least
        Minimum time in which batches cover these tasks; larger than ``end - start``.
    """

    _KIND: ClassVar[str] = "DeadInterval"

    start: int
    end: int
    tasks: tuple[int, ...]
    least: int

    def __post_init__(self) -> None:
        tasks = int_array(self.tasks, "tasks")
        if tasks.ndim != 1:
            raise ValueError(f"tasks: got shape {tasks.shape}, expected indices of tasks")
        object.__setattr__(self, "tasks", tuple(tasks.tolist()))
        for name in ("start", "end", "least"):
            object.__setattr__(self, name, integer64(getattr(self, name), name))

    def _verdict(
        self,
        arrays: Arrays,
        chained: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return _core.pbs_proof_interval(
            *arrays,
            subset=subset,
            start=self.start,
            end=self.end,
            tasks=int_array(self.tasks, "tasks"),
            least=self.least,
            **options,
        )

    def words(self, tasks: KernelTasks | KernelChains) -> str:
        """The proof in one sentence, with the names of the tasks and times in ticks."""
        return (
            f"{needing(tasks, self.tasks)} {time_in_text(self.least, ' ticks')} between "
            f"{time_in_text(self.start)} and {time_in_text(self.end)}, "
            f"which are {time_in_text(self.end - self.start)}."
        )

    def __repr__(self) -> str:
        one = len(self.tasks) == 1
        who = f"task {self.tasks[0]} needs" if one else f"tasks {_first(self.tasks)} need"
        room = f"{self.end - self.start:,} ticks from {self.start:,} to {self.end:,}"
        return f"<DeadInterval: {who} {self.least:,} of the {room}>"


def _first(tasks: tuple[int, ...]) -> str:
    more = len(tasks) - 10
    return ", ".join(map(str, tasks[:10])) + (f" and {more} more" if more > 0 else "")
