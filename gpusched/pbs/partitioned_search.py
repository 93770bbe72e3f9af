"""``gs.pbs.partition``: tasks on several GPUs, each with an exact schedule, or a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, int_array, integer
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
from gpusched.pbs.certificate_base import Certificate, CertificateError, listed
from gpusched.pbs.certificates import (
    DeadInterval,
    DeadStates,
    InfeasibleSubset,
    Overload,
    certificate_of,
    check_later_jobs,
)
from gpusched.pbs.search_inputs import arrays_of, check_inputs, undecided_of

_NODES = 1 << 12  # between two looks at the stop flag
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, repr=False)
class InfeasiblePart(Saved):
    """A set of tasks that cannot be scheduled on one GPU, with the proof.

    >>> tasks = gs.KernelTasks(period=[4, 4, 4], wcet=[3, 3, 3])
    >>> answer = gs.pbs.partition(tasks, gs.BatchTable([0, 3, 3, 5, 3, 5, 5, 0]), gpus=2)
    >>> answer.certificate.overload is None, answer.certificate.parts[0]
    (True, <InfeasiblePart: tasks 0, 2 and all larger sets on GPU 0>)

    Attributes
    ----------
    tasks
        Indices of the tasks, ascending.
    gpu
        A GPU on which they cannot be scheduled; they cannot on GPUs with an equal table either.
    extends
        Whether no larger set can be scheduled there either.
    certificate
        The proof, about these tasks alone, numbered from 0, and a table of their own. Without
        ``extends``, this table has the batches of the GPU's table that consist of these tasks. With
        ``extends``, it has the minimum time of all batches of the GPU's table with the same members
        among these tasks, and idle time may be inserted; every schedule of a larger set contains
        such a schedule. None if the search was exhaustive but found no proof within its budget.
    """

    _KIND: ClassVar[str] = "InfeasiblePart"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        Overload,
        DeadInterval,
        DeadStates,
        InfeasibleSubset,
    )

    tasks: tuple[int, ...]
    gpu: int
    extends: bool
    certificate: Certificate | None

    def __post_init__(self) -> None:
        tasks = int_array(self.tasks, "tasks")
        if tasks.ndim != 1 or not len(tasks) or (np.diff(tasks) <= 0).any() or tasks[0] < 0:
            raise ValueError("tasks: expected indices of tasks in rising order, at least one")
        object.__setattr__(self, "tasks", tuple(tasks.tolist()))
        object.__setattr__(self, "gpu", integer(self.gpu, "gpu"))
        flag(self.extends, "extends")
        if self.certificate is not None:
            instance(self.certificate, Certificate, "certificate")

    @property
    def mask(self) -> int:
        """The tasks as a bit mask."""
        return sum(1 << i for i in self.tasks)

    def _verify(self, tasks: KernelTasks, table: BatchTable, idling: bool, stop: Any) -> None:
        what = f"tasks {', '.join(map(str, self.tasks))} on GPU {self.gpu}"
        if self.tasks[-1] >= tasks.n:
            raise CertificateError(f"{what}: expected indices below {tasks.n}")
        if self.certificate is None:
            raise CertificateError(f"{what}: no proof was found within the budget")
        few, idles = tasks[np.array(self.tasks)], idling or self.extends
        table_of = _least_times_of_part if self.extends else table_of_part
        own = table_of(table_of_gpu(table, self.gpu), self.tasks)
        try:
            if self.extends:
                check_later_jobs(few, tasks)
            self.certificate.verify(few, own, idling=idles, stop=stop)
        except CertificateError as error:
            raise CertificateError(f"{what}: {error}") from None

    def __repr__(self) -> str:
        who = ", ".join(map(str, self.tasks[:10]))
        who += f" and {len(self.tasks) - 10} more" if len(self.tasks) > 10 else ""
        more = " and all larger sets" if self.extends else ""
        proof = ", without proof" if self.certificate is None else ""
        return f"<InfeasiblePart: tasks {who}{more} on GPU {self.gpu}{proof}>"


@dataclass(frozen=True, repr=False)
class PartitionCertificate(Saved):
    """Proof that no assignment of the tasks to the GPUs meets all deadlines.

    Either all GPUs together are overloaded, or in every assignment some GPU has all tasks of one of
    the ``parts`` that cannot be scheduled on it.

    >>> tasks = gs.KernelTasks(period=[4, 6, 4], wcet=[3, 4, 3])
    >>> table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 4, (2,): 3})
    >>> certificate = gs.pbs.partition(tasks, table, gpus=2).certificate
    >>> certificate
    <PartitionCertificate: 2 GPUs are overloaded, 1.083 times the time there is>
    >>> certificate.verify(tasks, table) is certificate
    True

    Attributes
    ----------
    gpus
        Number of GPUs.
    overload
        Proof about a single GPU with periods and deadlines multiplied by ``gpus``, on which each
        batch takes its minimum time on any GPU; None if there is none. Batches of several GPUs that
        start in a window take no more time in total than that GPU has, so the proof also holds if
        the jobs of a task may use different GPUs.
    parts
        Sets of tasks that cannot be scheduled on a GPU; empty with ``overload``.
    """

    _KIND: ClassVar[str] = "PartitionCertificate"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (*InfeasiblePart._PARTS, InfeasiblePart)

    gpus: int
    overload: Overload | None
    parts: tuple[InfeasiblePart, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", integer(self.gpus, "gpus"))
        object.__setattr__(self, "parts", tuple(self.parts))
        if self.overload is not None:
            instance(self.overload, Overload, "overload")
        for part in self.parts:
            instance(part, InfeasiblePart, "parts")

    def verify(
        self, tasks: KernelTasks, table: BatchTable, *, idling: bool = False, stop: Any = None
    ) -> Self:
        """Check the certificate against tasks and table, independently of any search.

        Checks the proof of every part. Then enumerates the assignments that the parts leave open,
        to check that each contains one of the parts.

        Parameters
        ----------
        tasks, table
            One task set and its table, or a stack of tables, one for each GPU.
        idling
            Whether a GPU may wait although work is ready.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Returns
        -------
        PartitionCertificate
            The certificate itself. It holds: no assignment meets all deadlines.

        Raises
        ------
        CertificateError
            The certificate does not hold, or lacks a proof; the message says where. This is a
            ValueError.
        TypeError, ValueError, OverflowError
            The tasks are a stack, tables have another size or number, or times are too large.
        gpusched.Cancelled
            ``stop`` was set.
        """
        instance(tasks, KernelTasks, "tasks")
        check_inputs(tasks, table)
        flag(idling, "idling")
        if tasks.is_stack:
            raise ValueError("tasks: got a stack, expected one task set")
        if table.n != tasks.n:
            raise ValueError(
                f"table: got one for {table.n} tasks, expected {tasks.n} as in the set"
            )
        if table.is_stack and len(table) != self.gpus:
            raise ValueError(f"table: got {len(table)} tables, expected one for each GPU")
        if self.overload is not None:
            if (tasks.deadline > tasks.period).any() or tasks.offset.any():
                raise CertificateError(
                    "overload: expected deadlines up to the periods, and offsets of 0"
                )
            self.overload.verify(slower(tasks, self.gpus), _least_times(table), stop=stop)
            return self
        for part in self.parts:
            if not 0 <= part.gpu < self.gpus:
                raise CertificateError(f"parts: got GPU {part.gpu}, expected one of {self.gpus}")
            part._verify(tasks, table, idling, stop)
        for masks in self._open(tasks.n, _equal_tables(table, self.gpus), stop):
            sets = "; ".join(
                f"GPU {g}: tasks {', '.join(map(str, members(mask))) or 'none'}"
                for g, mask in enumerate(masks)
            )
            raise CertificateError(f"the parts leave an assignment open ({sets})")
        return self

    def _open(self, n: int, same: Sequence[int], stop: Any) -> Iterator[tuple[int, ...]]:
        """Assignments that no part refutes, as masks of tasks; equal empty GPUs count once."""
        bad = [[part for part in self.parts if same[part.gpu] == same[g]] for g in range(self.gpus)]
        cores = [[part.mask for part in row if part.extends] for row in bad]
        exact = [{part.mask for part in row if not part.extends} for row in bad]
        often = [sum(core >> i & 1 for row in cores for core in row) for i in range(n)]
        order = sorted(range(n), key=lambda i: -often[i])
        stack: list[tuple[int, tuple[int, ...]]] = [(0, (0,) * self.gpus)]
        nodes = 0
        while stack:
            depth, masks = stack.pop()
            if nodes % _NODES == 0:
                raise_if_stopped(stop)
            nodes += 1
            if depth == n:
                if not any(mask in exact[g] for g, mask in enumerate(masks)):
                    yield masks
                continue
            seen = set()
            for g, mask in enumerate(masks):
                grown = mask | 1 << order[depth]
                if mask == 0 and same[g] in seen:
                    continue
                if mask == 0:
                    seen.add(same[g])
                if not any(core & ~grown == 0 for core in cores[g]):
                    stack.append((depth + 1, (*masks[:g], grown, *masks[g + 1 :])))

    def words(self, tasks: KernelTasks) -> str:
        """The proof in one or two sentences, with the names of the tasks."""
        what = f"The {self.gpus} GPUs are" if self.gpus > 1 else "The GPU is"
        if self.overload is not None:
            need = f"{self.overload.demand:.4g} times the time there is"
            return f"{what} overloaded: the jobs need {need}."
        few = min(self.parts, key=lambda part: len(part.tasks), default=None)
        if few is None:
            return "Every assignment misses a deadline."
        on = "no GPU" if not self._differ() else f"GPU {few.gpu}"
        alone = len(few.tasks) > 1
        sets = "a set" if len(self.parts) == 1 else f"one of {len(self.parts):,} sets"
        gpus = f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        return (
            f"Every assignment to {gpus} has {sets} of tasks on a GPU that cannot serve it; "
            f"{on} can serve {listed(tasks, few.tasks)}{' together' if alone else ''}."
        )

    def _differ(self) -> bool:
        return len({part.gpu for part in self.parts}) > 1

    def __repr__(self) -> str:
        if self.overload is not None:
            need = f"{self.overload.demand:.4g} times the time there is"
            what = "GPU is" if self.gpus == 1 else "GPUs are"
            return f"<PartitionCertificate: {self.gpus} {what} overloaded, {need}>"
        gpus = f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        return f"<PartitionCertificate: {gpus}, {len(self.parts)} infeasible sets>"


def table_of_part(table: BatchTable, tasks: Sequence[int]) -> BatchTable:
    """The table of a subset of the tasks, numbered from 0 in the given order."""
    masks = np.zeros(1, np.int64)
    for task in tasks:
        masks = np.concatenate([masks, masks | 1 << task])
    undecided = None if table.undecided is None else table.undecided[masks]
    completion, order = table.completion[masks], None
    if table._orders is not None:
        position = np.full(table.n + 1, -1, np.int8)  # the last for -1, which ends an order
        position[list(tasks)] = np.arange(len(tasks))
        order = position[table._submissions(masks)[:, : len(tasks)]]
        order[completion == 0] = -1
    return BatchTable(completion, undecided, order)


def table_of_gpu(table: BatchTable, gpu: int) -> BatchTable:
    """The table of a GPU: the common table, or its own table of a stack."""
    return table[gpu] if table.is_stack else table


def _equal_tables(table: BatchTable, gpus: int) -> tuple[int, ...]:
    """For each GPU, the first GPU with an equal table."""
    if not table.is_stack:
        return (0,) * gpus
    rows = [a for a in (table.completion, table.undecided) if a is not None]
    return tuple(
        next(h for h in range(g + 1) if all(np.array_equal(a[g], a[h]) for a in rows))
        for g in range(gpus)
    )


def slower(tasks: KernelTasks, gpus: int) -> KernelTasks:
    """The tasks with periods and deadlines multiplied by the number of GPUs.

    One GPU has as much time for these tasks as all GPUs together have for the original ones.
    """
    return tasks.replace(period=tasks.period * gpus, deadline=tasks.deadline * gpus)


def _least_times(table: BatchTable) -> BatchTable:
    """The minimum time of each batch on any GPU; undecided batches are taken as eligible."""
    least = np.atleast_2d(_hopeful(table)).min(axis=0)
    return BatchTable(np.where(least < _NEVER, least, 0))


def _least_times_of_part(table: BatchTable, tasks: Sequence[int]) -> BatchTable:
    """The minimum time of all batches with the same members among some tasks, numbered from 0.

    Undecided batches are taken as eligible.
    """
    batches = np.arange(1 << table.n)
    own = np.zeros_like(batches)
    for place, task in enumerate(tasks):
        own |= (batches >> task & 1) << place
    least = np.full(1 << len(tasks), _NEVER)
    np.minimum.at(least, own, _hopeful(table))
    least[0] = 0
    return BatchTable(np.where(least < _NEVER, least, 0))


def _hopeful(table: BatchTable) -> Int64Array:
    """Times with the undecided batches taken as eligible, and a large one for all others."""
    times = table.completion
    if table.undecided is not None:
        times = np.where(times > 0, times, table.undecided)
    return np.where(times > 0, times, _NEVER)


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
