"""Kernels in FIFO order: the four readings of the order, and block times that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched.model.gpu import GPU, occupancy

if TYPE_CHECKING:
    from gpusched.model.kernel_tasks import KernelTasks

Order = Literal["hardware", "release", "strict", "overlap"]

ORDERS = cast(tuple[Order, ...], enumeration("model.fifo_order"))
"""The readings of "FIFO", in the order of the core's numbers. In all of them, only the kernel at
the head of the queue starts blocks. ``hardware``: a job joins the queue when it reaches the head of
its stream (R1 and R2 of [ECRTS17]). ``release``: among the jobs at the heads of their streams, the
one with the earliest release is first. ``strict``: all jobs are ordered by release, and a job that
has not reached the head of its stream blocks everything behind it (P1 taken literally).
``overlap``: all jobs are ordered by release, each in a stream of its own."""


def refuse_derived_block_time(
    tasks: KernelTasks, threads: Int64Array | int = 0, gpu: GPU | None = None
) -> None:
    """Refuse kernels of several waves whose ``block_time`` was derived from ``wcet``.

    Parameters
    ----------
    tasks
        One task set, or a stack of N.
    threads
        Threads of the GPU, one number or ``(N,)``; ignored if ``gpu`` is given.
    gpu
        A GPU with SMs.

    Raises
    ------
    ValueError
        A kernel has several waves. ``wcet`` is the time of the whole kernel alone, so it equals the
        time of a block only if all blocks run at once. Blocks that do not fit the GPU are left to
        other checks.
    """
    if "block_time" not in tasks._derived:
        return
    if gpu is None:
        at_once = np.asarray(threads)[..., None] // tasks.threads
    else:
        at_once = gpu.sms * occupancy(gpu, tasks.threads, tasks.regs, tasks.smem)
    several = (tasks.blocks > at_once) & (at_once > 0)
    if not several.any():
        return
    at = tuple(int(k) for k in np.argwhere(several)[0])
    waves = -(-int(tasks.blocks[at]) // int(at_once[at]))
    where = f"set {at[0]}: " if tasks.is_stack else ""
    raise ValueError(
        f"{where}block_time[{at[-1]}]: got {tasks.block_time[at]}, taken from wcet, but a kernel "
        f"of this shape ({tasks.blocks[at]} blocks of {tasks.threads[at]} threads) needs {waves} "
        "waves on this GPU; expected block_time=, the time of one block"
    )
