"""Task sets of the PBS experiments and the utilizations they are made of [RTNS24]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    FloatArray,
    at_least,
    int_array,
    integer,
    seed_key,
    set_number,
)
from gpusched.generate.utilization_sums import sums_of
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

__all__ = ["gpusched", "uunifast", "uunifast_discard"]


PERIODS = (400, 480, 600, 800, 1200, 1600)
CAPACITY = 256  # of the GPUSched paper's GPU: 8 SMs of 32 blocks each


def uunifast(
    n: int, utilization: Any, count: int | None = None, seed: Any = None, first: int = 0
) -> FloatArray:
    """Utilizations of ``n`` tasks, uniform over all that add up to ``utilization``.

    The law of UUniFast (Bini and Buttazzo, "Measuring the performance of schedulability tests",
    2005): each share is ``utilization`` times a Beta(1, n-1) variable, and may exceed 1.

    Parameters
    ----------
    n
        Tasks in a set, at least 1.
    utilization
        The sum: one number, or with ``count`` one for each set.
    count
        How many sets; None for a single one.
    seed
        An int, a ``SeedSequence``, a ``Generator``, or None.
    first
        The number of the first set.

    Returns
    -------
    A float64 array of shape ``(n,)``, or ``(count, n)`` where ``count`` is given.

    Raises
    ------
    ValueError
        ``n`` below 1; a utilization that is negative, infinite or NaN; a wrong number of them.
    """
    sums = sums_of(n, utilization, count, discard=False)
    shares = _core.generate_uunifast(
        key=seed_key(seed),
        n=integer(n, "n"),
        utilization=sums,
        first=set_number(first),
        discard=False,
    )
    return shares[0] if count is None else shares


def uunifast_discard(
    n: int, utilization: Any, count: int | None = None, seed: Any = None, first: int = 0
) -> FloatArray:
    """Utilizations as by `uunifast`, but none above 1: sets with a larger one are drawn anew.

    UUniFast-Discard (Davis and Burns 2009; the GPUSched paper, section 6.1). Above ``n / 2``, sets
    are drawn for ``n - utilization`` and every share u becomes 1 - u: the law is the same, and sets
    are seldom discarded. Parameters and result are those of `uunifast`.

    Raises
    ------
    ValueError
        As `uunifast`; also a utilization above ``n``, and one for which a million draws gave no
        set (from about 40 tasks at n / 2 on).
    """
    sums = sums_of(n, utilization, count, discard=True)
    shares = _core.generate_uunifast(
        key=seed_key(seed),
        n=integer(n, "n"),
        utilization=sums,
        first=set_number(first),
        discard=True,
    )
    return shares[0] if count is None else shares


def gpusched(
    n: int,
    utilization: Any,
    count: int | None = None,
    seed: Any = None,
    first: int = 0,
    periods: Any = PERIODS,
    ticks: int = 1000,
    gpu: GPU | str | None = None,
) -> KernelTasks:
    """Task sets as in the experiments of the GPUSched paper (section 6.1).

    Periods are drawn from a list and utilizations u by `uunifast_discard`; ``wcet`` is u times the
    period, to the nearest tick but at least one; a kernel has ``floor(u * capacity)`` blocks, at
    least one, of 32 threads, where the capacity is the number of such blocks that the GPU holds.

    Parameters
    ----------
    n, utilization, count, seed, first
        As in `uunifast_discard`.
    periods
        What to choose from, each equally likely, in units of ``ticks``.
    ticks
        Ticks per unit of ``periods``.
    gpu
        A GPU or the name of a preset; the paper's (``"pbs2024"``, 256 blocks) unless given.

    Returns
    -------
    KernelTasks
        One set, or a stack of ``count``.

    Raises
    ------
    ValueError
        As `uunifast_discard`; also an empty list of periods, or one that is not positive.
    OverflowError
        A period beyond the clock.
    """
    sums = sums_of(n, utilization, count, discard=True)
    choice = np.atleast_1d(int_array(periods, "periods"))
    at_least(choice, 1, "periods")
    scale = integer(ticks, "ticks")
    if scale < 1:
        raise ValueError(f"ticks: got {scale}, expected a positive number")
    if choice.size == 0:
        raise ValueError("periods: the list of periods is empty")
    if int(choice.max()) * scale >= 2**63:
        raise OverflowError(
            f"periods: {int(choice.max())} times {scale} ticks does not fit 64 bits"
        )
    period, wcet, blocks = _core.generate_kernels(
        key=seed_key(seed),
        n=integer(n, "n"),
        utilization=sums,
        first=set_number(first),
        periods=choice * scale,
        capacity=_capacity(gpu),
    )
    if count is None:
        period, wcet, blocks = period[0], wcet[0], blocks[0]
    return KernelTasks(period=period, wcet=wcet, blocks=blocks, threads=32)


def _capacity(gpu: GPU | str | None) -> int:
    """Blocks of 32 threads that the whole GPU holds."""
    if gpu is None:
        return CAPACITY
    from gpusched.model.gpu import as_gpu, occupancy

    device = as_gpu(gpu)
    return device.sms * int(occupancy(device, threads=32))
