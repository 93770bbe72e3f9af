"""Response-time bounds of kernels whose blocks start in FIFO order [ECRTS17]."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import instance, one_of, some_of
from gpusched.analysis.fifo_answer import THEOREMS, FifoBound
from gpusched.analysis.fifo_threads import refuse_many_streams, threads_per_set, utilization_of
from gpusched.model.fifo_model import ORDERS, Order, refuse_derived_block_time
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["fifo_bound"]

# Names in the argument ``theorems``, and the theorems that they stand for.
_ASKED = {
    "fits": ("fits",),
    "P": ("P",),
    "V1": ("V1, case 1", "V1, case 2"),
    "A": ("A",),
    "A, one job": ("A, one job",),
    "A refined": ("A refined",),
    "V2": ("V2",),
    "V3": ("V3",),
}


def fifo_bound(
    tasks: KernelTasks,
    threads: npt.ArrayLike | None = None,
    *,
    gpu: GPU | str | None = None,
    order: Order = "hardware",
    saturation: Literal["exact", "paper"] = "exact",
    theorems: Iterable[str] | None = None,
    stop: Any = None,
) -> FifoBound:
    """Bound the response times of kernels whose blocks start in FIFO order.

    The model is that of [ECRTS17]; the theorems were developed for this package, with proofs in
    notebook 02.

    A job of a task is one kernel of ``blocks`` blocks. Each block occupies ``threads`` threads for
    at most ``block_time``, and starts when it is at the head of the queue and that many threads are
    free. Releases of a task are at least a period apart. The bounds hold for every such release
    pattern, also if blocks take less time. They are computed in integers and rounded up at the end.

    The paper conjectures that response times are bounded up to a utilization of ``m - b_max + 1``.
    This is true if jobs of a task may overlap, but not in general if they run one after the other,
    as they do in a stream.

    Each task has its own stream, and all streams have the same priority. More streams than the GPU
    has hardware channels would delay each other in ways that the model does not cover, and so would
    more kernels than the GPU runs at once (``GPU.resident_grids``).

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> gs.analysis.fifo_bound(tasks, threads=256).response.tolist()
    [54, 57]

    Parameters
    ----------
    tasks
        One task set, or a stack of N.
    threads
        Number of threads of the GPU, which any block may use (m in the paper): a number, or
        ``(N,)``.
    gpu
        A ``GPU`` or the name of a preset, instead of ``threads``. A block then needs warps,
        registers, shared memory and a block slot of a single SM with a suitable carve-out, as in
        ``place``. Its threads are rounded up to whole warps, also in the work of its task.
    order
        Reading of FIFO, one of ``ORDERS``.
    saturation
        "exact": the smallest number of busy threads, as a sum of block sizes, while a block waits.
        "paper": ``m - b_max + 1``, which is never larger.
    theorems
        Theorems to try, for comparisons: any of ``"fits"``, ``"P"``, ``"V1"``, ``"A"``,
        ``"A, one job"``, ``"A refined"``, ``"V2"``, ``"V3"``. Default: all.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    FifoBound
        Its arrays have shape ``(n,)``, or ``(N, n)`` for a stack.

    Raises
    ------
    ValueError
        A block is wider than the GPU or does not fit an SM; block sizes have too many combinations
        to search (use ``saturation="paper"``); a ``block_time`` was derived from ``wcet`` although
        the kernel needs several waves on this GPU; or there are more tasks than kernels that
        ``gpu`` runs at once.
    OverflowError
        Times or work exceed 64 bits.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(tasks, KernelTasks, "tasks")
    one_of(order, ORDERS, "order")
    one_of(saturation, ("exact", "paper"), "saturation")
    mask = _mask(theorems)
    began = perf_counter()
    period, block_time, blocks = map(np.atleast_2d, (tasks.period, tasks.block_time, tasks.blocks))
    width, sets = np.atleast_2d(tasks.threads), len(period)
    overlap = order == "overlap"
    device = None
    if gpu is None:
        m, sms = threads_per_set(threads, tasks), np.ones(sets, np.int64)
        beta = _core.fifo_saturation(
            period,
            block_time,
            blocks,
            width,
            m,
            overlap=overlap,
            paper=saturation == "paper",
            stop=stop,
        )
    else:
        if threads is not None:
            raise ValueError("threads: got both threads and gpu, expected one of them")
        if saturation == "paper":
            raise ValueError(
                "saturation: got 'paper', which counts threads alone, expected 'exact' with gpu"
            )
        device = as_gpu(gpu)
        refuse_many_streams(period.shape[-1], device)
        beta = _core.fifo_saturation_gpu(
            period,
            block_time,
            blocks,
            width,
            np.atleast_2d(tasks.regs),
            np.atleast_2d(tasks.smem),
            device._limits,
            overlap=overlap,
            stop=stop,
        )
        width = -(-width // WARP_THREADS) * WARP_THREADS
        sms = np.full(sets, device.sms)
        m = sms * device.warps_per_sm * WARP_THREADS
    refuse_derived_block_time(tasks, m if tasks.is_stack else m[0], device)
    columns = _core.fifo_bound(
        period,
        block_time,
        blocks,
        width,
        m,
        sms,
        beta,
        order=ORDERS.index(order),
        theorems=mask,
        stop=stop,
    )
    one = not tasks.is_stack
    numerator, denominator, theorem, status, reasons = (c[0] if one else c for c in columns)
    bounded = denominator > 0
    share = utilization_of(period, block_time, blocks, width)
    return FifoBound(
        tasks=tasks,
        order=order,
        bounded=bounded,
        numerator=numerator,
        denominator=denominator,
        theorem_code=theorem.astype(np.int8),
        status_code=status.astype(np.int8),
        reasons=reasons,
        saturation=int(beta[0]) if one else beta,
        utilization=float(share[0]) if one else share,
        seconds=perf_counter() - began,
    )


def _mask(theorems: Iterable[str] | None) -> int:
    """The bits of the theorems to try."""
    if theorems is None:
        return (1 << len(THEOREMS)) - 1
    mask = 0
    for name in some_of(theorems, _ASKED, "theorems"):
        for theorem in _ASKED[name]:
            mask |= 1 << THEOREMS.index(theorem)
    return mask
