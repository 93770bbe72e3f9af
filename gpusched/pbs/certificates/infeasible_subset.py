"""Certificate by a subset of the tasks that misses a deadline whatever the other tasks do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched._support.arguments import Int64Array, instance, int_array
from gpusched._support.saved import Saved
from gpusched.model.kernel_chains import rows_of
from gpusched.pbs.certificates.certificate import (
    Arrays,
    Certificate,
    CertificateError,
    Verdict,
    listed,
)
from gpusched.pbs.certificates.dead_interval import DeadInterval
from gpusched.pbs.certificates.dead_states import DeadStates
from gpusched.pbs.certificates.later_jobs import check_later_jobs
from gpusched.pbs.certificates.overload import Overload

if TYPE_CHECKING:
    from gpusched.model.batch_function import BatchFunction
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["InfeasibleSubset"]


@dataclass(frozen=True, repr=False)
class InfeasibleSubset(Certificate):
    """Proof by a subset of the tasks that misses a deadline even with the GPU to itself.

    A batch of the subset is assumed to take the minimum time of all batches with the same members
    of the subset, and the GPU may wait. Every schedule of all tasks contains such a schedule of the
    subset. The inner proof is about the subset alone; its tasks are positions in ``tasks``. If one
    of its jobs may end after the hyperperiod of the subset, this must equal the hyperperiod of all
    tasks.

    >>> tasks = gs.KernelTasks(period=[4, 6, 60], wcet=[3, 4, 1], name=["a", "b", "c"])
    >>> table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 4, (2,): 1})
    >>> proof = gs.pbs.InfeasibleSubset((0, 1), gs.pbs.Overload((3, 4), 1, 17 / 12))
    >>> proof
    <InfeasibleSubset: tasks 0, 1; <Overload: tasks 0, 1 need 1.417 times the time there is>>
    >>> proof.verify(tasks, table) is proof
    True

    Attributes
    ----------
    tasks
        Indices of the tasks of the subset, in ascending order.
    proof
        An `Overload`, `DeadInterval` or `DeadStates` of the subset.
    """

    _KIND: ClassVar[str] = "InfeasibleSubset"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Overload, DeadInterval, DeadStates)

    tasks: tuple[int, ...]
    proof: Overload | DeadInterval | DeadStates

    def __post_init__(self) -> None:
        tasks = int_array(self.tasks, "tasks")
        if tasks.ndim != 1:
            raise ValueError(f"tasks: got shape {tasks.shape}, expected indices of tasks")
        object.__setattr__(self, "tasks", tuple(tasks.tolist()))
        instance(self.proof, Certificate, "proof")
        if isinstance(self.proof, InfeasibleSubset):
            raise TypeError("proof: got InfeasibleSubset, expected a proof without a subset")

    def _verdict(
        self,
        arrays: Arrays,
        chained: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return self.proof._verdict(arrays, None, int_array(self.tasks, "tasks"), True, options)

    def _check_function(
        self, tasks: KernelTasks, function: BatchFunction, repeating: bool, stop: Any
    ) -> None:
        of = np.array(self.tasks)
        if len(of) and (of.min() < 0 or of.max() >= tasks.n or (np.diff(of) <= 0).any()):
            raise CertificateError("tasks: expected indices of tasks in rising order")
        check_later_jobs(tasks[of], tasks)
        least = function.least_table(self.tasks, stop=stop)
        self.proof.verify(tasks[of], least, idling=True, repeating=repeating, stop=stop)

    def words(self, tasks: KernelTasks | KernelChains) -> str:
        """The proof in two sentences, with the names of the tasks and times in ticks."""
        part = rows_of(tasks)[np.array(self.tasks)]
        miss = "misses" if len(self.tasks) == 1 else "miss"
        who = listed(tasks, self.tasks)
        return f"{who} {miss} a deadline even alone. {self.proof.words(part)}"

    def __repr__(self) -> str:
        who = ", ".join(map(str, self.tasks[:10]))
        return f"<InfeasibleSubset: tasks {who}; {self.proof!r}>"
