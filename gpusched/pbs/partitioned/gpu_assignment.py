"""``gs.pbs.partition``: the assignment of tasks to GPUs, each with an exact schedule."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import flag, instance, integer
from gpusched._support.budget import Budget, as_budget, raise_if_stopped
from gpusched._support.progress import Progress, reporter
from gpusched._support.registry import limit
from gpusched._support.text import shown
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import members
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificates.overload import Overload
from gpusched.pbs.certificates.proof_arrays import certificate_of
from gpusched.pbs.partitioned.part_tables import slower
from gpusched.pbs.partitioned.partition_answer import Partition, schedule_on
from gpusched.pbs.partitioned.partition_certificate import InfeasiblePart, PartitionCertificate
from gpusched.pbs.search_inputs import arrays_of, check_inputs, undecided_of

__all__ = ["partition"]


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
            schedule_on(g, gpu, tasks, table, bool(idling), *one) for g, one in enumerate(frames)
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
