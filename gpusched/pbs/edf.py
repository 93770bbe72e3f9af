"""EDF baselines of PBS: EDFserial and EDFParallel ([RTNS24], section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array
from gpusched._support.budget import Budget, as_budget
from gpusched._support.registry import enumeration
from gpusched.model.answer import Claim, Flags, missing
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import BatchTasks, KernelChains
from gpusched.model.schedule import Schedule
from gpusched.model.workload.time_units import time_in_text
from gpusched.pbs.search_answer import BatchAnswer
from gpusched.pbs.search_inputs import arrays_of, check_inputs, is_stack, precedence_rows

_SECONDS = enumeration("core.status").index("seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Edf(BatchAnswer):
    """Answer of EDFserial or EDFParallel for one set of n tasks, or for a stack of N sets.

    The answer is exact for this dispatcher, which is simulated over the hyperperiod: sets are
    accepted or rejected, or undecided if the budget was used up. Other schedules may meet the
    deadlines of a rejected set (see `search`).

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> answer = gs.pbs.edf_serial(tasks, table)
    >>> answer.schedulable, answer.late_job
    (True, None)
    >>> answer.response.tolist(), answer.slack.tolist()
    ([4, 5], [0, 1])

    Attributes
    ----------
    tasks, table
        The tasks and their table.
    scheduler
        "EDFserial" or "EDFParallel".
    accepted, rejected
        Whether all jobs of the hyperperiod meet their deadlines, and whether one misses it: a
        bool, or bool ``(N,)``.
    schedule
        For a single set, the frames up to the end or up to and including the first frame that
        misses a deadline. None for a stack, for a set that was taken from a stack, and for an
        undecided set.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "Edf"

    tasks: BatchTasks
    table: BatchTable
    scheduler: str
    accepted: Flags
    rejected: Flags
    schedule: Schedule | None
    _miss: Int64Array = field(repr=False)  # task, job and deadline, (3,) or (N, 3); 0 without one
    _in_time: Flags = field(default=True, repr=False)  # whether no budget of seconds was used up
    seconds: float = field(default=0.0, compare=False)

    @property
    def claim(self) -> Claim:
        """ "exact", for the dispatcher."""
        return "exact"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        return (
            "Releases are periodic, from the offsets; the jobs released in one hyperperiod (the "
            "least common multiple of the periods) count.",
            "A batch takes exactly its time in the table, and batches are not preempted.",
            "Jobs of equal deadlines are taken by the index of their tasks.",
        )

    @property
    def late_job(self) -> Any:  # a tuple, None or a list, as is_stack says
        """The first job that misses its deadline: (task, job, absolute deadline), or None; a list
        of these for a stack."""
        rows = np.atleast_2d(self._miss).tolist()
        late = np.atleast_1d(self.rejected).tolist()
        found = [tuple(row) if miss else None for row, miss in zip(rows, late, strict=True)]
        return found if self.is_stack else found[0]

    def _reason(self) -> str:
        if self.undecided:
            if not self._in_time:
                return "The budget of seconds was spent; a larger one may decide it."
            if long := self._long_hyperperiod(0):
                return f"The budget of bytes was spent, {long}"
            return "The budget of bytes was spent; a larger one may decide it."
        if self.accepted:
            least = self._tightest()
            return f"Every job of the hyperperiod ends in time{f'; {least}' if least else ''}."
        task, job, deadline = self.late_job
        return f"Job {job} of {self._name(task)} misses its deadline at {time_in_text(deadline)}."

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        miss, late = np.atleast_2d(self._miss), np.atleast_1d(self.rejected)
        names = ("task", "job", "deadline")
        return {name: missing(miss[:, i], late) for i, name in enumerate(names)}

    def _form(self) -> str:
        return self.scheduler


def edf_serial(
    tasks: BatchTasks,
    table: BatchTable,
    *,
    budget: Budget | None = None,
    stop: Any = None,
) -> Edf:
    """Run EDFserial: one job per frame, earliest deadline first, non-preemptive.

    [RTNS24], section 6. Among equal deadlines, the smaller task index comes first.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> gs.pbs.edf_serial(tasks, table).schedule.batch.tolist()
    [1, 2, 1, 2, 1]

    Parameters
    ----------
    tasks, table
        One task set and its table, or stacks of N of both; a single table is used for all sets of a
        stack. With `KernelChains`, a frame runs the next kernel of the job.
    budget
        A ``Budget`` for the whole call, of which ``bytes`` and ``seconds`` are used. Default:
        2 GiB. Each set of a stack gets an equal part of the seconds that are left.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Edf

    Raises
    ------
    ValueError
        There are more than 24 tasks, the table has another size, or a task can never run.
    OverflowError
        The hyperperiod exceeds 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.
    """
    return _edf(tasks, table, False, budget, stop)


def edf_parallel(
    tasks: BatchTasks,
    table: BatchTable,
    *,
    budget: Budget | None = None,
    stop: Any = None,
) -> Edf:
    """Run EDFParallel: add each ready job, in deadline order, that leaves the batch eligible.

    [RTNS24], section 6. A job that would make the batch ineligible is skipped, and the next one is
    tried. Among equal deadlines, the smaller task index comes first.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> gs.pbs.edf_parallel(tasks, table).schedule.batch.tolist()
    [3, 1, 2, 1]

    Parameters
    ----------
    tasks, table, budget, stop
        As in `edf_serial`.

    Returns
    -------
    Edf

    Raises
    ------
    The errors of `edf_serial`.
    """
    return _edf(tasks, table, True, budget, stop)


def _task_of_row(chains: KernelChains, row: Int64Array) -> Int64Array:
    """The tasks of rows, one per set or all of one set; -1 stays."""
    kernels = np.atleast_2d(chains.kernels).cumsum(axis=1)
    tasks: Int64Array = (kernels <= row[:, None]).sum(axis=1)
    return np.where(row < 0, row, tasks)


def _edf(
    tasks: BatchTasks,
    table: BatchTable,
    parallel: bool,
    budget: Budget | None,
    stop: Any,
) -> Edf:
    check_inputs(tasks, table)
    budget = as_budget(budget)
    began = perf_counter()
    (answer, spent, *miss), frames = _core.pbs_edf(
        *arrays_of(tasks, table),
        parallel=parallel,
        bytes=budget.bytes or 0,
        seconds=budget.seconds or 0.0,
        stop=stop,
        precedence=precedence_rows(tasks, table),
    )
    if isinstance(tasks, KernelChains):
        miss[0] = _task_of_row(tasks, miss[0])
    one = not is_stack(tasks, table)
    first = np.where((answer == 0)[:, None], np.stack(miss, axis=1).astype(np.int64), 0)
    return Edf(
        tasks=tasks,
        table=table,
        scheduler="EDFParallel" if parallel else "EDFserial",
        accepted=bool(answer[0] == 1) if one else answer == 1,
        rejected=bool(answer[0] == 0) if one else answer == 0,
        schedule=Schedule(*frames, tasks, table, False) if one and frames is not None else None,
        _miss=first[0] if one else first,
        _in_time=bool(spent[0] != _SECONDS) if one else spent != _SECONDS,
        seconds=perf_counter() - began,
    )
