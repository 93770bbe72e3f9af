"""Certificates that no assignment of tasks to several GPUs meets every deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from gpusched._support.arguments import Int64Array, flag, instance, int_array, integer
from gpusched._support.budget import raise_if_stopped
from gpusched._support.results import Saved
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import members
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificate_base import Certificate, CertificateError, listed
from gpusched.pbs.certificates import (
    DeadInterval,
    DeadStates,
    InfeasibleSubset,
    Overload,
    check_later_jobs,
)
from gpusched.pbs.search_inputs import check_inputs

__all__ = ["InfeasiblePart", "PartitionCertificate", "slower", "table_of_gpu", "table_of_part"]

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
