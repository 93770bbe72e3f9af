"""Random task sets, drawn in C: ``count=N`` sets in one call.

Set ``first + i`` of a seed is the same whatever the count, so that a sweep may cut its sets into
chunks as it likes; the same on every machine, too. An int or a ``SeedSequence`` names the same
sets in every call, a ``Generator`` is advanced by each call, and None draws a fresh seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import _core
from gpusched._check import FloatArray, at_least, int_array, integer, seed_key, set_number
from gpusched._generate_elliott import elliott
from gpusched._generate_hosts import stgm
from gpusched.tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.gpu import GPU

__all__ = ["elliott", "fifo", "gpusched", "stgm", "uunifast", "uunifast_discard"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows


PERIODS = (400, 480, 600, 800, 1200, 1600)
BLOCK_SIZES = tuple(range(32, 1025, 32))
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
    sums = _sums(n, utilization, count, discard=False)
    shares = _core.generate_uunifast(
        seed_key(seed), integer(n, "n"), sums, set_number(first), False
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
    sums = _sums(n, utilization, count, discard=True)
    shares = _core.generate_uunifast(seed_key(seed), integer(n, "n"), sums, set_number(first), True)
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
    sums = _sums(n, utilization, count, discard=True)
    choice = np.atleast_1d(int_array(periods, "periods"))
    at_least(choice, 1, "periods")
    scale = integer(ticks, "ticks")
    if scale < 1:
        raise ValueError(f"ticks = {scale}: must be positive")
    if choice.size == 0:
        raise ValueError("periods: the list of periods is empty")
    if int(choice.max()) * scale >= 2**63:
        raise OverflowError(
            f"periods: {int(choice.max())} times {scale} ticks does not fit 64 bits"
        )
    period, wcet, blocks = _core.generate_kernels(
        seed_key(seed), integer(n, "n"), sums, set_number(first), choice * scale, _capacity(gpu)
    )
    if count is None:
        period, wcet, blocks = period[0], wcet[0], blocks[0]
    return KernelTasks(period=period, wcet=wcet, blocks=blocks, threads=32)


def fifo(
    n: int,
    utilization: Any,
    threads: int = 4096,
    count: int | None = None,
    seed: Any = None,
    first: int = 0,
    periods: tuple[int, int] = (1000, 100000),
    ticks: int = 1000,
    block_sizes: Any = None,
    blocks_max: int = 32,
) -> KernelTasks:
    """Task sets of the block-level model, for a GPU of ``threads`` threads.

    By Yang and Anderson 2017, section IV.

    Drawn are, for every task on its own:

    - its share of ``utilization`` by `uunifast`; u is the share times ``threads``, the number of
      threads that the task keeps busy on average (the paper's utilization);
    - its period T, about log-uniform from ``periods[0]`` to ``periods[1]``: uniform within each
      octave (x to 2x), all octaves as likely, the last one as far as it goes; no logarithm is
      taken, so that every machine draws the same;
    - its block size b, uniform over the ``block_sizes`` with which a task can have u at all: u must
      not exceed the min(floor(threads / b), ``blocks_max``) b threads that can be busy at once;
    - its grid g, uniform over the 1 .. ``blocks_max`` blocks of a kernel that, alone on the GPU,
      ends within its period, and whose blocks last at least a tick.

    ``block_time`` is u T / (g b) to the nearest tick, but at least 1 and at most what lets the
    kernel alone end within its period; ``wcet`` is block_time times ceil(g / floor(threads / b)).

    Parameters
    ----------
    n, count, seed, first
        As in `uunifast`.
    utilization
        A share of the threads: 0.75 keeps three quarters of them busy on average. One number, or
        with ``count`` one for each set.
    threads
        Of the GPU (m in the paper; 4096 on its Jetson TX1).
    periods
        The shortest and the longest, in units of ``ticks``.
    ticks
        Ticks per unit of ``periods``: every period is a multiple of it, so that hyperperiods are
        not longer than they must be, while block times are whole ticks.
    block_sizes
        What to choose from, each as likely; 32, 64, ... up to 1024, as far as the GPU has threads,
        unless given.
    blocks_max
        The most blocks of a kernel.

    Returns
    -------
    KernelTasks
        One set, or a stack of ``count``.

    Raises
    ------
    ValueError
        As `uunifast`; also a utilization above what one task can have (1 where a block size divides
        ``threads`` and ``blocks_max`` suffices to fill them), block sizes outside 1 .. ``threads``,
        and periods that are not positive or in the wrong order.
    OverflowError
        A period beyond the clock.
    """
    sums = _sums(n, utilization, count, discard=False)
    m, most = integer(threads, "threads"), integer(blocks_max, "blocks_max")
    for name, value in (("threads", m), ("blocks_max", most)):
        if not 1 <= value < 2**31:
            raise ValueError(f"{name} = {value}: must be positive, and within 31 bits")
    if block_sizes is None:
        block_sizes = [size for size in BLOCK_SIZES if size <= m] or [min(m, 32)]
    sizes = np.atleast_1d(int_array(block_sizes, "block_sizes"))
    at_least(sizes, 1, "block_sizes")
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError("block_sizes: must be a list of block sizes")
    if (wide := np.flatnonzero(sizes > m)).size:
        i = int(wide[0])
        raise ValueError(f"block_sizes[{i}] = {sizes[i]}: is more than the {m} threads")
    span = int_array(periods, "periods")
    if span.shape != (2,):
        raise ValueError(f"periods: shape {span.shape}; must be the shortest and the longest")
    scale = integer(ticks, "ticks")
    if not 1 <= scale < 2**63:
        raise ValueError(f"ticks = {scale}: must be positive, and within 63 bits")
    capacity = int((np.minimum(m // sizes, most) * sizes).max())
    if (over := np.flatnonzero(sums * m > capacity)).size:
        which = f"[{int(over[0])}]" if np.ndim(utilization) else ""
        raise ValueError(
            f"utilization{which} = {float(sums[over[0]])}: with these blocks one task can keep at "
            f"most {capacity} of {m} threads busy, {capacity / m:.4g}"
        )
    columns = _core.generate_fifo(
        *(seed_key(seed), integer(n, "n"), sums, set_number(first), m),
        *(int(span[0]), int(span[1]), scale, sizes, most),
    )
    period, block_time, blocks, size = columns if count is not None else (c[0] for c in columns)
    return KernelTasks(
        period=period,
        wcet=-(-blocks // (m // size)) * block_time,
        block_time=block_time,
        blocks=blocks,
        threads=size,
    )


def _capacity(gpu: GPU | str | None) -> int:
    """Blocks of 32 threads that the whole GPU holds."""
    if gpu is None:
        return CAPACITY
    from gpusched.gpu import as_gpu, occupancy

    device = as_gpu(gpu)
    return device.sms * int(occupancy(device, threads=32))


def _floats(value: Any, name: str) -> FloatArray:
    """``value`` as a float64 array; a ``TypeError`` that names it for what is no number."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO":
            raise TypeError
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} = {repr(value)[:60]}: must be a number, or a row of numbers"
        ) from None


def _sums(n: Any, utilization: Any, count: int | None, discard: bool) -> FloatArray:
    """One sum per set; a single number is checked here, where it has no index."""
    tasks = integer(n, "n")
    if not 1 <= tasks < 2**31:
        raise ValueError(f"n = {tasks}: must be a positive number of tasks")
    sets = 1 if count is None else integer(count, "count")
    if sets < 0:
        raise ValueError(f"count = {sets}: must not be negative")
    sums = _floats(utilization, "utilization")
    if sums.ndim == 0:
        value = float(sums)
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"utilization = {value}: must be finite and not negative")
        if discard and value > tasks:
            raise ValueError(
                f"utilization = {value}: {tasks} tasks with at most 1 each cannot have it"
            )
        return np.full(sets, value)
    if count is None or sums.shape != (sets,):
        raise ValueError(
            f"utilization: shape {sums.shape}; must be one number, or one for each of count sets"
        )
    return sums
