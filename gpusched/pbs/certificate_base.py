"""Base class of certificates: the check against tasks and table, and the texts of faults."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gpusched._support.arguments import MAX_BYTES, Int64Array, flag
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched._support.text import clip, shown
from gpusched.model.batch_function import BatchFunction
from gpusched.model.batches import MAX_TASKS, set_text
from gpusched.model.kernel_chains import BatchTasks, rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.search_inputs import arrays_of, check_inputs, precedence_rows

if TYPE_CHECKING:
    from gpusched.model.batch_table import BatchTable

Arrays = tuple[Int64Array, Int64Array, Int64Array, Int64Array]
"""Period, deadline, offset and completion of one task set, each a stack of one."""

Verdict = tuple[int, int, int, int]
"""Fault (``pbs.proof_fault``), row, batch and instant, as the core has them."""

_FAULTS = enumeration("pbs.proof_fault")
_HOLDS = _FAULTS.index("")
_WRONG = {
    "tasks": "tasks: expected indices of tasks in rising order",
    "range": "{window}prices, scale and window: expected numbers below 2**61 - 1 in size",
    "scale": "{window}scale: expected a positive number",
    "batch": "{window}batch {batch} is worth more than its completion time",
    "load": "the jobs are worth no more than the time there is",
    "question": (
        "jobs may end after the hyperperiod: a proof for the long run says nothing about one "
        "hyperperiod, and dead states nothing about all jobs"
    ),
    "job": "no job of task {row} is released and due within the interval",
    "cover": "the least time of batches that cover the tasks is {instant}",
    "room": "the interval is no shorter than {instant}",
    "class": "{entry}: expected the start of an interval, and no more pending jobs than released",
    "twice": "{entry} is about the same states as an earlier one",
    "span": "{entry}: the span from {instant} is outside the interval, or not in rising order",
    "first": "no entry says that the first instant is dead",
    "final": "{entry}: nothing is left to run",
    "wait": "{entry}: waiting until {instant} leads to a state that is not dead",
    "move": "{entry}: batch {batch} leads to a state at {instant} that is not dead",
}


class CertificateError(ValueError):
    """A certificate does not prove that the tasks miss a deadline.

    >>> late = gs.KernelTasks([4, 6], wcet=[2, 4])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 4, (0, 1): 6})
    >>> proof = gs.pbs.search(late, table).certificate
    >>> short = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 1, (0, 1): 2})
    >>> try:
    ...     proof.verify(late.replace(wcet=[1, 1]), short)
    ... except gs.pbs.CertificateError as error:
    ...     print(error)
    batch {0} is worth more than its completion time
    """


class Certificate(Saved, ABC):
    """Base class of certificates that no schedule exists.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[3, 4])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 3, (1,): 4})
    >>> certificate = gs.pbs.search(tasks, table, repeating=True).certificate
    >>> certificate.verify(tasks, table, repeating=True) is certificate
    True
    >>> try:
    ...     certificate.verify(tasks, gs.BatchTable.from_dict(2, {(0,): 1, (1,): 2}))
    ... except gs.pbs.CertificateError as error:
    ...     print(error)
    batch {0} is worth more than its completion time
    """

    def verify(
        self,
        tasks: BatchTasks,
        table: BatchTable | BatchFunction,
        *,
        idling: bool = False,
        repeating: bool = False,
        stop: Any = None,
    ) -> Self:
        """Check the certificate against tasks and table, independently of any search.

        Batches that the table leaves undecided are assumed to be eligible.

        Parameters
        ----------
        tasks, table
            One task set and its table or function. With a function of more than 24 tasks, only
            `Overload` and `InfeasibleSubset` can be checked, by bounds on all its batches.
        idling
            Whether the GPU may wait although work is ready. `DeadStates` of a search without
            idling may not hold with idling; all other certificates hold in both cases.
        repeating
            Whether the claim is about schedules that repeat forever, instead of the jobs released
            in one hyperperiod. `DeadStates` then holds only if each of these jobs is due by the end
            of the hyperperiod.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Returns
        -------
        Certificate
            The certificate itself. It holds: no schedule meets all deadlines.

        Raises
        ------
        CertificateError
            The certificate does not hold; the message says why. This is a ValueError.
        TypeError, ValueError, OverflowError
            The tasks are a stack, the table has another size, or times are too large.
        gpusched.Cancelled
            ``stop`` was set.
        """
        flag(idling, "idling")
        flag(repeating, "repeating")
        check_inputs(tasks, table, functions=True)
        if isinstance(table, BatchFunction):
            if table.n > MAX_TASKS:
                self._check_function(rows_of(tasks), table, bool(repeating), stop)
                return self
            table = table.table(stop=stop)
        if tasks.is_stack or table.is_stack:
            raise ValueError("tasks: got a stack, expected one task set and its table")
        period, deadline, offset, completion = arrays_of(tasks, table)
        if table.undecided is not None:
            completion = np.where(completion > 0, completion, table.undecided)
        arrays = (period, deadline, offset, completion)
        options = {"repeating": bool(repeating), "stop": stop}
        precedence = precedence_rows(tasks, table)
        verdict = self._verdict(arrays, precedence, None, bool(idling), options)
        if verdict[0] != _HOLDS:
            raise CertificateError(self._wrong(verdict))
        return self

    def _check_function(
        self, tasks: KernelTasks, function: BatchFunction, repeating: bool, stop: Any
    ) -> None:
        """Raise `CertificateError` unless the proof holds for all possible times of batches."""
        raise ValueError(
            f"table: got a function of {function.n} tasks, expected at most {MAX_TASKS} to check a "
            f"{self._KIND}"
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Self:
        """Read a file written by `save`; the base class reads certificates of all kinds.

        Raises the errors of `gpusched.KernelTasks.load`.

        >>> import tempfile
        >>> proof = gs.pbs.Overload(price=(3, 4), scale=1, demand=17 / 12)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     proof.save(f"{folder}/proof")
        ...     gs.pbs.Certificate.load(f"{folder}/proof") == proof
        True
        """
        if cls is not Certificate:
            return super().load(path, max_bytes=max_bytes)
        from gpusched._support.saved_files import saved_kind

        kind = saved_kind(path, "certificate", max_bytes)
        for one in cls.__subclasses__():
            if one._KIND == kind:
                return one.load(path, max_bytes=max_bytes)
        raise ValueError(
            f"{os.fspath(path)}: got a saved {shown(kind)}, expected a saved certificate"
        )

    @abstractmethod
    def _verdict(
        self,
        arrays: Arrays,
        precedence: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        """The core's verdict; ``precedence``: of the rows, ``subset``: the rows that the
        certificate is about."""

    @abstractmethod
    def words(self, tasks: BatchTasks) -> str:
        """The proof in one sentence, with the names of the tasks and times in ticks."""

    def _tasks_of(self) -> tuple[int, ...] | None:
        """The tasks that the certificate is about as it stands; None: all."""
        return None

    def _wrong(self, verdict: Verdict) -> str:
        fault, row, batch, instant = verdict
        return _WRONG[_FAULTS[fault]].format(
            window=f"window {row}: " if row >= 0 else "",
            entry=f"entry {row}",
            row=row,
            batch=set_text(batch),
            instant=instant,
        )


def needing(tasks: BatchTasks, indices: tuple[int, ...]) -> str:
    """The names of `listed` and the verb: "camera, lidar need", "camera needs"."""
    return f"{listed(tasks, indices)} {'needs' if len(indices) == 1 else 'need'}"


def listed(tasks: BatchTasks, indices: tuple[int, ...]) -> str:
    """Names of tasks (kernels of chains) in a sentence, at most ten of them."""
    of_row = rows_of(tasks).name
    names = [clip(of_row[i], 60) for i in indices[:10]]
    more = len(indices) - 10
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
