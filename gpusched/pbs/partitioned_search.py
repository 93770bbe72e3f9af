"""``gs.pbs.partition``: the assignment of tasks to GPUs, each with an exact schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, integer
from gpusched._support.budget import (
    Budget,
    Progress,
    as_budget,
    raise_if_stopped,
    reporter,
    spent_text,
)
from gpusched._support.registry import enumeration, limit
from gpusched._support.results import Saved
from gpusched._support.text import shown
from gpusched.model.answer import Answer, Claim, missing
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import members
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.pbs.certificate_base import listed
from gpusched.pbs.certificates import Overload, certificate_of
from gpusched.pbs.partition_certificate import (
    InfeasiblePart,
    PartitionCertificate,
    slower,
    table_of_gpu,
    table_of_part,
)
from gpusched.pbs.search_inputs import arrays_of, check_inputs, undecided_of

__all__ = ["Partition", "partition"]

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
                np.maximum.at(longest, of_task, jobs.end - jobs.release)
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
            else _schedule_on(g, gpu, tasks, table, idling, one["start"], one["end"], one["batch"])
            for g, one in enumerate(values["schedules"])
        )
        return cls(**values)


def _schedule_on(
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


def partition(
    tasks: KernelTasks,
    table: BatchTable,
    *,
    gpus: int = 2,
    idling: bool = False,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> Partition:
    """Decide exactly whether tasks can be divided between GPUs so that PBS meets all deadlines.

    Partitioned scheduling: each task is assigned to one GPU, and each GPU has its own schedule
    ([RTNS24], section 3), as found by `search` for the tasks of that GPU.

    >>> tasks = gs.KernelTasks(period=[4, 4, 8], wcet=[3, 2, 3])
    >>> table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 2, (2,): 3, (0, 1): 4, (1, 2): 4})
    >>> gs.pbs.search(tasks, table).schedulable
    False
    >>> answer = gs.pbs.partition(tasks, table, gpus=2)
    >>> answer
    <Partition: schedulable (partitioned PBS, 2 GPUs)>
    >>> answer.gpu.tolist(), [len(plan.validate().batch) for plan in answer.schedules]
    ([0, 1, 1], [1, 3])

    Parameters
    ----------
    tasks
        One task set.
    table
        Its table, which applies to every GPU; or a stack of ``gpus`` tables, one for each GPU.
    gpus
        Number of GPUs, 1 to 64.
    idling
        Whether a GPU may wait although work is ready; PBS may not.
    budget
        A ``Budget`` for the whole call. Default: 2 GiB. ``states`` counts partial assignments and
        the states of all searches.
    progress
        A callable (done, None), in sets of tasks searched, or a bool that turns a progress bar on
        or off; by default a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Partition
        Exact: accepted with the GPU of each task and a schedule for each GPU, rejected with a
        certificate, or undecided if a budget was used up.

    Raises
    ------
    ValueError
        The tasks are a stack or more than 24, tables have another size or number, the number of
        GPUs is out of range, or a task can never run.
    OverflowError
        The hyperperiod of the tasks on a GPU exceeds 2**60 - 2 ticks where it matters.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    The GPUs together are overloaded if a single GPU is overloaded when periods and deadlines are
    multiplied by the number of GPUs; prices of jobs show this without enumeration. Otherwise the
    assignments are enumerated, with the tasks in order of decreasing utilization. A branch is cut
    off if a GPU has a set of tasks that fails even if batches take the minimum time that any batch
    of all tasks takes for these members, and with inserted idle time; such a set also fails
    together with any other tasks. If no assignment exists and few such sets do, the running time
    grows exponentially with the number of tasks.
    """
    instance(tasks, KernelTasks, "tasks")
    check_inputs(tasks, table)
    flag(idling, "idling")
    count, most = integer(gpus, "gpus"), limit("pbs.gpus")
    if not 1 <= count <= most:
        raise ValueError(f"gpus: got {shown(count)}, expected 1 to {most}")
    if tasks.is_stack:
        raise ValueError("tasks: got a stack, expected one task set")
    if table.is_stack and len(table) != count:
        raise ValueError(
            f"table: got a stack of {len(table)}, expected one table or {count}, one for each GPU"
        )
    limits = as_budget(budget)
    raise_if_stopped(stop)
    arrays = arrays_of(tasks, table)
    began = perf_counter()
    with reporter(progress, None, "set", delay=1.0) as report:
        columns, gpu, frames, overload, reasons = _core.pbs_partition(
            *arrays,
            undecided_of(tasks, table),
            gpus=count,
            idling=idling,
            states=limits.states or 0,
            bytes=limits.bytes or 0,
            seconds=float(limits.seconds or 0),
            stop=stop,
            report=report,
        )
        answer, spent, tested, states, size = columns
        report(tested)
    return Partition(
        tasks=tasks,
        table=table,
        gpus=count,
        idling=bool(idling),
        accepted=answer == 1,
        rejected=answer == 0,
        gpu=gpu,
        schedules=tuple(
            _schedule_on(g, gpu, tasks, table, bool(idling), *one) for g, one in enumerate(frames)
        ),
        certificate=_certificate(tasks, count, overload, reasons),
        reason_code=spent,
        tested=tested,
        states=states,
        bytes=size,
        seconds=perf_counter() - began,
    )


def _certificate(
    tasks: KernelTasks, gpus: int, overload: Any, reasons: Any
) -> PartitionCertificate | None:
    """The certificate of a proof of overload or of the reasons; None without both."""
    if overload is not None:
        proof = certificate_of(overload, slower(tasks, gpus))
        assert isinstance(proof, Overload)
        return PartitionCertificate(gpus, proof, ())
    parts = []
    for mask, gpu, extends, arrays in reasons:
        own = members(mask)
        proof = arrays["proof"] if extends and arrays is not None else arrays
        few = tasks[np.array(own)]
        parts.append(InfeasiblePart(own, gpu, extends, certificate_of(proof, few)))
    return PartitionCertificate(gpus, None, tuple(parts)) if parts else None
