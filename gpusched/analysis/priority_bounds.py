"""Response-time bounds of kernel chains in streams of different priorities."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    flag,
    frozen,
    instance,
    int_array,
    integer,
    one_of,
)
from gpusched._support.registry import enumeration
from gpusched.analysis.fifo_threads import refuse_many_streams
from gpusched.analysis.priority_answer import PriorityStreamsBound
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["StreamPartitions", "priority_streams"]

_KINDS = enumeration("analysis.priority_streams_partitions")


@dataclass(frozen=True)
class StreamPartitions:
    """Partitions of chains: ``sharing`` is "own", "shared" or "limits"; "" without partitions.

    ``of`` has the shape of ``tasks.period``.
    """

    of: Int64Array | None = None
    sms: tuple[int, ...] | None = None
    sharing: str = ""

    @classmethod
    def read(
        cls, tasks: KernelChains, gpu_sms: int, of: Any, sms: Any, limit: Any, queues: Any
    ) -> StreamPartitions:
        """Check the arguments of ``gs.analysis.priority_streams``."""
        one_of(queues, ("own", "shared"), "queues")
        if of is None:
            for name, given in (("partition_sms", sms), ("partition_limit", limit)):
                if given is not None:
                    raise ValueError(f"{name}: got it without partition, expected both")
            if queues != "own":
                raise ValueError("queues: got 'shared' without partition, expected partitions")
            return cls()
        if (sms is None) == (limit is None):
            both = "neither" if sms is None else "both"
            raise ValueError(
                f"partition: got {both} of partition_sms and partition_limit, expected one of them"
            )
        if limit is not None and queues != "own":
            raise ValueError(
                "queues: got 'shared' with partition_limit, expected it with partition_sms; with "
                "limits queues are shared in any case"
            )
        name, given = ("partition_sms", sms) if limit is None else ("partition_limit", limit)
        column = int_array(given, name)
        if column.ndim != 1 or len(column) == 0:
            raise ValueError(f"{name}: got shape {column.shape}, expected one number per partition")
        at_least(column, 1, name)
        column = column if limit is None else np.minimum(column, gpu_sms)
        place = int_array(of, "partition")
        try:
            place = np.ascontiguousarray(np.broadcast_to(place, tasks.period.shape))
        except ValueError:
            raise ValueError(
                f"partition: got shape {place.shape}, expected {tasks.period.shape}, one per task"
            ) from None
        sharing = str(queues) if limit is None else "limits"
        return cls(frozen(place), tuple(column.tolist()), sharing)

    def arguments(self) -> dict[str, Any]:
        """The core's arguments."""
        if self.of is None:
            return {"partition": None, "partition_sms": None, "kind": 0}
        return {
            "partition": self.of if self.of.ndim == 2 else self.of[None],
            "partition_sms": np.array(self.sms, np.int64),
            "kind": _KINDS.index(self.sharing),
        }


def priority_streams(
    tasks: KernelChains,
    threads: int | None = None,
    *,
    gpu: GPU | str | None = None,
    sms: int = 1,
    overlap: bool = False,
    partition: npt.ArrayLike | None = None,
    partition_sms: npt.ArrayLike | None = None,
    partition_limit: npt.ArrayLike | None = None,
    queues: Literal["own", "shared"] = "own",
    stop: Any = None,
) -> PriorityStreamsBound:
    """Bound the response times of kernel chains in priority streams.

    Each task has a stream with a priority. A kernel joins the queue of its priority at most its
    latency after the release of the job or the end of the previous kernel. Within a queue, kernels
    start blocks in the order in which they joined, and only while all queues of higher priority are
    empty. Running blocks are not preempted, and no more kernels run at once than the GPU allows
    (``GPU.resident_grids``). Lower-priority blocks can therefore delay a job once at each of its
    kernels, not only once per job, and even the highest-priority task may have no bound.

    >>> chains = gs.KernelChains(period=[60, 100], block_time=[[1, 1, 1], [10]], blocks=4,
    ...                          latency=[[1, 1, 1], [0]], priority=[0, 1])
    >>> answer = gs.analysis.priority_streams(chains, threads=4)
    >>> answer.response.tolist(), answer.theorem.tolist()
    ([19, 21], ['M', 'M'])

    Parameters
    ----------
    tasks
        Chains of kernels, one set or a stack of N.
    threads
        Number of threads of the GPU, which any block may use; with ``sms``, the threads of one SM.
    gpu
        A ``GPU`` or the name of a preset, instead of ``threads``. A block then needs warps,
        registers, shared memory and a block slot of a single SM with a suitable carve-out; its
        threads are rounded up to whole warps.
    sms
        Number of SMs with ``threads`` threads each. Default: 1.
    overlap
        Whether jobs of one task may run at the same time, each in its own stream: for jobs of one
        kernel without latency (Theorem O). S streams, used by the task in turn, suffice if no bound
        of its priority or a higher one exceeds S periods.
    partition
        Partition of each task, from 0: ``(n,)``, for a stack also ``(N, n)``. None: all tasks use
        all SMs.
    partition_sms
        Number of SMs that belong to each partition exclusively (green contexts): ``(P,)``.
    partition_limit
        Alternatively, the largest number of SMs that may hold blocks of each partition at the same
        time, whichever SMs these are (clients of MPS, which share SMs and queues): ``(P,)``.
    queues
        "own": partitions with ``partition_sms`` have their own queues and do not delay each other.
        "shared": a kernel that does not fit its partition blocks kernels of all other partitions
        with the same or a lower priority.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    >>> pair = gs.KernelChains(period=[50, 90], block_time=[[4, 4], [30]], blocks=[[4, 4], [8]])
    >>> both = gs.analysis.priority_streams(pair, threads=4, sms=2)
    >>> apart = gs.analysis.priority_streams(
    ...     pair, threads=4, sms=2, partition=[0, 1], partition_sms=[1, 1])
    >>> both.response.tolist(), apart.response.tolist()
    ([71, 59], [8, 60])

    Returns
    -------
    PriorityStreamsBound
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        A block is wider than the GPU or does not fit an SM; block sizes have too many combinations;
        chains or latencies are combined with ``overlap``; a partition does not exist, or the
        partitions have more SMs than the GPU; ``overlap`` is combined with shared queues; or there
        are more tasks than kernels that ``gpu`` runs at once.
    OverflowError
        Times or work exceed 64 bits, or threads 2**31.
    gpusched.Cancelled
        ``stop`` was set.

    Source: developed for this package. Theorem M with B and Phi, Theorem A as a start, and Theorem
    O are proved in notebooks/11_priority_streams.ipynb, and for partitions in
    csrc/analysis/priority_streams/priority_streams.h. The rules are those of [RTSS17] for one
    context.
    """
    hint = "KernelChains.from_tasks(tasks)" if isinstance(tasks, KernelTasks) else ""
    instance(tasks, KernelChains, "tasks", hint)
    flag(overlap, "overlap")
    began = perf_counter()
    width, limits = tasks.threads, None
    if gpu is None:
        if threads is None:
            raise TypeError("threads: got None, expected the number of threads of the GPU, or gpu=")
        per_sm, count = integer(threads, "threads"), integer(sms, "sms")
    else:
        if threads is not None or sms != 1:
            raise ValueError("threads: got both threads or sms and gpu, expected one of them")
        device = as_gpu(gpu)
        refuse_many_streams(tasks.n, device)
        limits = device._limits
        width = -(-width // WARP_THREADS) * WARP_THREADS
        per_sm, count = device.warps_per_sm * WARP_THREADS, device.sms
    for name, value in (("threads", per_sm), ("sms", count)):
        if not 1 <= value < 2**31:
            raise ValueError(f"{name}: got {value}, expected a positive number below 2**31")
    parts = StreamPartitions.read(tasks, count, partition, partition_sms, partition_limit, queues)
    columns = [tasks.period, tasks.priority, tasks.blocks, width]
    columns += [tasks.block_time, tasks.latency, tasks.regs, tasks.smem]
    stack = [column if tasks.is_stack else column[None] for column in columns]
    terms, saturation = _core.priority_streams(
        *stack,
        sms=count,
        sm_threads=per_sm,
        limits=limits,
        overlap=overlap,
        **parts.arguments(),
        stop=stop,
    )
    return PriorityStreamsBound(
        tasks=tasks,
        overlap=bool(overlap),
        terms=frozen(terms if tasks.is_stack else terms[0]),
        saturation=frozen(saturation if tasks.is_stack else saturation[0]),
        partition=parts.of,
        partition_sms=parts.sms,
        sharing=parts.sharing,
        seconds=perf_counter() - began,
    )
