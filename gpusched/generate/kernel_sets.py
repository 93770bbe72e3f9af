"""Random task sets of the experiments of [RTNS24], and random utilizations with a given sum."""

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
from gpusched.generate.set_arguments import sums_of
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

__all__ = ["gpusched", "uunifast", "uunifast_discard"]


PERIODS = (400, 480, 600, 800, 1200, 1600)
CAPACITY = 256  # of the GPU in [RTNS24]: 8 SMs of 32 blocks each


def uunifast(
    n: int, utilization: Any, count: int | None = None, seed: Any = None, first: int = 0
) -> FloatArray:
    """Draw utilizations of ``n`` tasks, uniform over all vectors with the sum ``utilization``.

    UUniFast (Bini and Buttazzo, "Measuring the performance of schedulability tests", 2005): each
    share has the distribution of ``utilization`` times a Beta(1, n-1) variable, and may exceed 1.

    >>> shares = gs.generate.uunifast(3, 1.0, count=2, seed=1)
    >>> shares.shape, shares.sum(axis=1).round(6).tolist()
    ((2, 3), [1.0, 1.0])

    Parameters
    ----------
    n
        Number of tasks per set, at least 1.
    utilization
        Sum of the utilizations: one number, or with ``count`` one per set.
    count
        Number of sets; None for a single set.
    seed
        An int, a ``SeedSequence``, a ``Generator``, or None.
    first
        Index of the first set in the random stream of the seed.

    Returns
    -------
    float64 array
        Shape ``(n,)``, or ``(count, n)`` if ``count`` is given.

    Raises
    ------
    ValueError
        ``n`` is below 1; a utilization is negative, infinite or NaN; or there is not one sum per
        set.
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
    """Draw utilizations as `uunifast` does, discarding sets with a task above 1.

    UUniFast-Discard (Davis and Burns 2009; [RTNS24], section 6.1). Above ``n / 2``, sets are drawn
    for ``n - utilization`` and every share u is replaced by 1 - u, which has the same distribution
    and discards few sets. Parameters and result are those of `uunifast`.

    >>> bool((gs.generate.uunifast_discard(3, 2.0, count=100, seed=1) <= 1).all())
    True

    Raises
    ------
    ValueError
        As in `uunifast`; also if the utilization is above ``n``, or if a million draws gave no set
        (for about 40 tasks or more at n / 2).
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
    """Draw random task sets of the experiments in [RTNS24], section 6.1.

    Periods are drawn from a list, and utilizations u by `uunifast_discard`; ``wcet`` is u times the
    period, to the nearest tick and at least one. A kernel has ``floor(u * capacity)`` blocks of 32
    threads, at least one; the capacity is the number of such blocks that the GPU can host.

    >>> tasks = gs.generate.gpusched(3, utilization=1.0, count=2, seed=1)
    >>> tasks.period.shape, tasks.utilization.round(2).tolist()
    ((2, 3), [1.0, 1.0])

    Parameters
    ----------
    n, utilization, count, seed, first
        As in `uunifast_discard`.
    periods
        Periods to choose from with equal probabilities, in units of ``ticks``.
    ticks
        Ticks per unit of ``periods``.
    gpu
        A GPU or the name of a preset. Default: that of the paper (``"pbs2024"``, 256 blocks).

    Returns
    -------
    KernelTasks
        One set, or a stack of ``count`` sets.

    Raises
    ------
    ValueError
        As in `uunifast_discard`; also if the list of periods is empty or a period is not positive.
    OverflowError
        A period exceeds the range of times.
    """
    sums = sums_of(n, utilization, count, discard=True)
    choice = np.atleast_1d(int_array(periods, "periods"))
    at_least(choice, 1, "periods")
    scale = integer(ticks, "ticks")
    if scale < 1:
        raise ValueError(f"ticks: got {scale}, expected a positive number")
    if choice.size == 0:
        raise ValueError("periods: got an empty list, expected at least one")
    if int(choice.max()) * scale >= 2**63:
        raise OverflowError(
            f"periods: got {int(choice.max())} times {scale} ticks, expected a time of 64 bits"
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
    """Number of blocks of 32 threads that the whole GPU can host."""
    if gpu is None:
        return CAPACITY
    from gpusched.model.gpu import as_gpu, occupancy

    device = as_gpu(gpu)
    return device.sms * int(occupancy(device, threads=32))
