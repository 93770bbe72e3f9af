"""Response-time bounds of kernel chains in streams of different priorities."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import flag, frozen, instance, integer
from gpusched.analysis.fifo_threads import refuse_many_streams
from gpusched.analysis.priority_answer import PriorityStreamsBound
from gpusched.analysis.stream_partitions import StreamPartitions
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["priority_streams"]


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
    latency after the job's release and the end of the kernel before it; within a queue kernels
    start blocks in the order in which they joined, and only while all more urgent queues are empty.
    Running blocks are not preempted, and no more kernels run at once than the GPU allows
    (``GPU.resident_grids``). So less urgent blocks delay a job once at each of its kernels,
    not once per job, and the most urgent task need not have a bound.

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
        Threads of the GPU, any of which a block may use; with ``sms``, those of one SM.
    gpu
        Instead of ``threads``: a ``GPU``, or the name of a preset. Then a block needs warps,
        registers, shared memory and a block slot of one SM whose carve-out suits it; its threads
        are rounded up to whole warps.
    sms
        Number of SMs with ``threads`` threads each (1).
    overlap
        Whether jobs of one task may run at the same time, each in a stream of its own: jobs of one
        kernel without latency (Theorem O). S streams that a task takes in turns suffice where no
        bound of its priority or a more urgent one exceeds S periods.
    partition
        The partition of each task, from 0: ``(n,)``, for a stack also ``(N, n)``. None: all tasks
        use all SMs.
    partition_sms
        SMs of each partition, which no other one has (green contexts): ``(P,)``.
    partition_limit
        Instead: the most SMs that may hold blocks of each partition at once, whichever these are,
        as of clients of MPS, which share SMs and queues: ``(P,)``.
    queues
        "own": partitions with ``partition_sms`` have queues of their own, so that none delays
        another. "shared": a kernel that does not fit its partition holds up those of all others
        with its priority or a less urgent one.
    stop
        A writable buffer of one byte (``bytearray(1)``); setting it to 1 in another thread ends the
        call.

    >>> pair = gs.KernelChains(period=[50, 90], block_time=[[4, 4], [30]], blocks=[[4, 4], [8]])
    >>> both = gs.analysis.priority_streams(pair, threads=4, sms=2)
    >>> apart = gs.analysis.priority_streams(
    ...     pair, threads=4, sms=2, partition=[0, 1], partition_sms=[1, 1])
    >>> both.response.tolist(), apart.response.tolist()
    ([71, 59], [8, 60])

    Returns
    -------
    PriorityStreamsBound
        Sufficient: it accepts, or leaves open.

    Raises
    ------
    ValueError
        Blocks wider than the GPU, or that do not fit an SM; block sizes with too many combinations;
        chains or latencies with ``overlap``; partitions that do not exist, or that have more SMs
        together than the GPU; ``overlap`` with shared queues; more tasks than kernels that ``gpu``
        runs at once.
    OverflowError
        Times or work that exceed 64 bits, 2**31 threads.
    gpusched.Cancelled
        ``stop`` was set.

    Source: this package; Theorem M with B and Phi, Theorem A as a start, Theorem O, proved in
    notebooks/11_priority_streams.ipynb; in partitions in
    csrc/analysis/priority_streams/chain_partitions.h. The rules are those of [RTSS17] for one
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
