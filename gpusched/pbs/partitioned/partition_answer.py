"""Answer of the partitioned search: the GPU of each task, and a schedule for each GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.budget import spent_text
from gpusched._support.registry import enumeration
from gpusched._support.saved import Saved
from gpusched.model.answer import Answer, Claim, missing
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.pbs.certificates.certificate import listed
from gpusched.pbs.partitioned.part_tables import table_of_gpu, table_of_part
from gpusched.pbs.partitioned.partition_certificate import PartitionCertificate

__all__ = ["Partition", "schedule_on"]

_SPENT = ("", *enumeration("core.status")[1:])
_TABLE = ("completion", "undecided", "order")


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Answer):
    """Answer of `partition`: tasks assigned to GPUs, each with an exact schedule.

    Exact: accepted with an assignment, rejected because none exists, or undecided if a budget was
    used up or the table leaves the answer open.

    >>> tasks = gs.KernelTasks(period=[4, 4, 8], wcet=[3, 3, 2])
    >>> table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 3, (2,): 2})
    >>> answer = gs.pbs.partition(tasks, table, gpus=3)
    >>> answer.schedulable, answer.gpu.tolist(), answer.response.tolist()
    (True, [0, 1, 2], [3, 3, 2])
    >>> answer.why()
    'GPU 0 runs task 0; GPU 1 runs task 1; GPU 2 runs task 2; task 0 has the least slack, \
with 3 of 4.'

    Attributes
    ----------
    tasks, table
        The tasks, and the table of all GPUs or the stack of tables, one for each GPU.
    gpus, idling
        Number of GPUs, and whether a GPU may wait although work is ready.
    accepted, rejected
        Whether an assignment was found, and whether none exists.
    gpu
        GPU of each task, from 0: int64 ``(n,)``; -1 without an assignment.
    schedules
        For an accepted set, a schedule for each GPU, None for a GPU without tasks; otherwise empty.
        The tasks of a schedule are those of the GPU, by ascending index.
    certificate
        For a rejected set, the proof, which ``certificate.verify`` checks independently of the
        search. None otherwise, and if the budget was used up on it.
    reason_code
        Index into ``SPENT``; ``reason`` has the name.
    tested
        Number of sets of tasks that were searched.
    states, bytes
        States examined, of assignments and schedules, and memory used.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "Partition"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        KernelTasks,
        *PartitionCertificate._PARTS,
        PartitionCertificate,
    )
    _SHOWN: ClassVar[tuple[str, ...]] = ("gpu", "deadline", "response", "slack")

    tasks: KernelTasks
    table: BatchTable
    gpus: int
    idling: bool
    accepted: bool
    rejected: bool
    gpu: Int64Array
    schedules: tuple[Schedule | None, ...]
    certificate: PartitionCertificate | None
    reason_code: int
    tested: int
    states: int
    bytes: int
    seconds: float = field(compare=False)

    @property
    def _tasks(self) -> KernelTasks:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "exact": every set is undecided, or has an assignment or a proof that none exists."""
        return "exact"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        waits = "may" if self.idling else "does not"
        return (
            "Every job of a task runs on the GPU of the task.",
            "GPUs do not delay each other.",
            "Releases are periodic, from the offsets.",
            "A batch takes exactly its time in the table, and batches are not preempted.",
            f"A GPU {waits} wait while work is ready.",
            "On each GPU the jobs released in one hyperperiod of its tasks count, from an idle GPU "
            "at time 0.",
        )

    @property
    def reason(self) -> str | None:
        """Reason why there is no answer: "states", "bytes", "seconds" or "undecided"."""
        return _SPENT[self.reason_code] or None

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a response time: bool ``(n,)``.

        True for the tasks of an accepted set with a job in the schedule of their GPU.
        """
        return self._responses()[1]

    def tasks_on(self, gpu: int) -> tuple[int, ...]:
        """Indices of the tasks on a GPU; empty without an assignment."""
        return tuple(np.flatnonzero(self.gpu == gpu).tolist())

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        longest = np.zeros(self.tasks.n, np.int64)
        known = np.zeros(self.tasks.n, np.bool_)
        for g, schedule in enumerate(self.schedules):
            if schedule is not None:
                jobs = schedule.jobs()
                of_task = np.array(self.tasks_on(g))[jobs.task]
                np.maximum.at(longest, of_task, jobs.finish - jobs.release)
                known[of_task] = True
        return longest, known

    def _reason(self) -> str:
        if self.undecided:
            if self.reason == "undecided":
                return "The batches that the table leaves undecided decide it."
            return spent_text(str(self.reason), self.states, self.bytes)
        if self.certificate is not None:
            return self.certificate.words(self.tasks)
        if self.rejected:
            return "Every assignment of the tasks to the GPUs misses a deadline."
        used = [g for g in range(self.gpus) if self.tasks_on(g)]
        runs = "; ".join(f"GPU {g} runs {listed(self.tasks, self.tasks_on(g))}" for g in used)
        least = self._tightest()
        return f"{runs}{f'; {least}' if least else ''}."

    def _reason_of(self, i: int) -> str:
        text = super()._reason_of(i)
        return f"On GPU {self.gpu[i]}, {text}" if self.accepted else text

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {"gpu": missing(self.gpu, self.gpu >= 0, -1), **super()._columns()}

    def _form(self) -> str:
        idling = ", idling" if self.idling else ""
        return f"partitioned PBS, {self.gpus} GPU{'s' if self.gpus > 1 else ''}{idling}"

    def _fields(self) -> dict[str, Any]:
        values = super()._fields()
        values["table"] = {name: getattr(self.table, name) for name in _TABLE}
        frames = ("start", "end", "batch")
        values["schedules"] = tuple(
            None if one is None else {name: getattr(one, name) for name in frames}
            for one in self.schedules
        )
        return values

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Partition:
        table = values["table"] = BatchTable(**values["table"])
        tasks, gpu, idling = values["tasks"], np.asarray(values["gpu"]), values["idling"]
        values["schedules"] = tuple(
            None
            if one is None
            else schedule_on(g, gpu, tasks, table, idling, one["start"], one["end"], one["batch"])
            for g, one in enumerate(values["schedules"])
        )
        return cls(**values)


def schedule_on(
    number: int,
    gpu: Int64Array,
    tasks: KernelTasks,
    table: BatchTable,
    idling: bool,
    start: Any,
    end: Any,
    batch: Any,
) -> Schedule | None:
    """The schedule of a GPU by its frames; None for a GPU without tasks."""
    own = np.flatnonzero(gpu == number)
    if not len(own):
        return None
    part = table_of_part(table_of_gpu(table, number), own.tolist())
    return Schedule(start, end, batch, tasks[own], part, idling)
