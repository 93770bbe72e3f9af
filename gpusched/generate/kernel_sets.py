"""Random sets of kernel tasks, of [RTNS24] and [ECRTS17], and random utilizations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import (
    FloatArray,
    Int64Array,
    at_least,
    copied,
    int_array,
    integer,
    real,
    same_numbers,
    seed_key,
    set_count,
    set_number,
)
from gpusched._support.text import shown
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.profiles import PARTS

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    try:
        least, most = value
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {shown(value)}, expected a pair, least and most") from None
    return least, most


def whole_range(value: Any, name: str) -> Int64Array:
    """A range of whole numbers, least and most."""
    return int_array(list(_pair(value, name)), name)


def parts_range(value: Any, name: str, limit: float) -> Int64Array:
    """A range of shares or ratios, in millionths."""
    ends = [real(end, f"{name}[{i}]") for i, end in enumerate(_pair(value, name))]
    for i, share in enumerate(ends):
        if not (math.isfinite(share) and 0 <= share <= limit):
            raise ValueError(f"{name}[{i}]: got {share}, expected 0 to {limit}")
    if ends[0] > ends[1]:
        raise ValueError(f"{name}[1]: got {ends[1]}, expected at least {ends[0]}")
    return np.array([round(share * PARTS) for share in ends], np.int64)


def sums_of(n: Any, utilization: Any, count: int | None, discard: bool) -> FloatArray:
    """One sum per set, shape ``(sets,)``. A single number is checked here, arrays in C."""
    tasks = integer(n, "n")
    if not 1 <= tasks < 2**31:
        raise ValueError(f"n: got {tasks}, expected a positive number of tasks")
    sets = set_count(count)
    sums = _floats(utilization, "utilization")
    if sums.ndim == 0:
        value = float(sums)
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"utilization: got {value}, expected a finite, non-negative number")
        if discard and value > tasks:
            raise ValueError(
                f"utilization: got {value}, expected at most {tasks}, 1 for each of the tasks"
            )
        return same_numbers(sets, value)
    if count is None or sums.shape != (sets,):
        raise ValueError(
            f"utilization: got shape {sums.shape}, expected one number or one per set ({sets})"
        )
    return sums


def _floats(value: Any, name: str) -> FloatArray:
    """``value`` as a float64 array; ``TypeError`` when it is not numeric."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO":
            raise TypeError
        return copied(given, np.float64)
    except OverflowError:
        raise OverflowError(
            f"{name}: got {shown(value)}, expected numbers that fit a double"
        ) from None
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: got {shown(value)}, expected a number or a list of numbers"
        ) from None


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


BLOCK_SIZES = tuple(range(32, 1025, 32))


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
    """Draw random task sets of the block-level model for a GPU with ``threads`` threads.

    Source: [ECRTS17], section IV. For every task, the following are drawn independently:

    - its share of ``utilization`` by `uunifast`; u is the share times ``threads``, the average
      number of threads that the task keeps busy (the paper's utilization);
    - its period T, approximately log-uniform from ``periods[0]`` to ``periods[1]``: uniform within
      each octave (x to 2x), with equal probabilities of the octaves, the last one truncated. No
      logarithm is computed, so that the result is the same on every machine;
    - its block size b, uniform over the ``block_sizes`` that allow u: u must not exceed the
      min(floor(threads / b), ``blocks_max``) b threads that can be busy at once;
    - its number of blocks g, uniform over the numbers 1 .. ``blocks_max`` for which the kernel
      alone on the GPU ends within its period and its blocks last at least one tick.

    ``block_time`` is u T / (g b) to the nearest tick, but at least 1 and at most the value for
    which the kernel alone ends within its period; ``wcet`` is block_time times
    ceil(g / floor(threads / b)).

    >>> tasks = gs.generate.fifo(3, 0.5, count=2, seed=1)
    >>> tasks.period.shape, bool((tasks.threads <= 4096).all())
    ((2, 3), True)

    Parameters
    ----------
    n, count, seed, first
        As in `uunifast`.
    utilization
        Share of the threads: 0.75 keeps three quarters of them busy on average. One number, or with
        ``count`` one for each set.
    threads
        Number of threads of the GPU (m in the paper; 4096 on its Jetson TX1).
    periods
        Shortest and longest period, in units of ``ticks``.
    ticks
        Ticks per unit of ``periods``. Every period is a multiple of it, which keeps hyperperiods
        short, while block times are any number of ticks.
    block_sizes
        Block sizes in threads, chosen with equal probabilities. Default: 32, 64, ... up to 1024, as
        far as they do not exceed ``threads``.
    blocks_max
        Maximum number of blocks of a kernel.

    Returns
    -------
    KernelTasks
        One set, or a stack of ``count`` sets.

    Raises
    ------
    ValueError
        As in `uunifast`; also if the utilization exceeds what one task can have (1 if a block size
        divides ``threads`` and ``blocks_max`` suffices to fill them), block sizes are outside
        1 .. ``threads``, or periods are not positive or in the wrong order.
    OverflowError
        A period exceeds the range of times.
    """
    sums = sums_of(n, utilization, count, discard=False)
    m, most = integer(threads, "threads"), integer(blocks_max, "blocks_max")
    for name, value in (("threads", m), ("blocks_max", most)):
        if not 1 <= value < 2**31:
            raise ValueError(f"{name}: got {value}, expected 1 to 2**31 - 1")
    if block_sizes is None:
        block_sizes = [size for size in BLOCK_SIZES if size <= m] or [min(m, 32)]
    sizes = np.atleast_1d(int_array(block_sizes, "block_sizes"))
    at_least(sizes, 1, "block_sizes")
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"block_sizes: got shape {sizes.shape}, expected a list of block sizes")
    if (wide := np.flatnonzero(sizes > m)).size:
        i = int(wide[0])
        raise ValueError(f"block_sizes[{i}]: got {sizes[i]}, expected at most {m} threads")
    span = int_array(periods, "periods")
    if span.shape != (2,):
        raise ValueError(f"periods: got shape {span.shape}, expected the shortest and the longest")
    scale = integer(ticks, "ticks")
    if not 1 <= scale < 2**63:
        raise ValueError(f"ticks: got {scale}, expected 1 to 2**63 - 1")
    capacity = int((np.minimum(m // sizes, most) * sizes).max())
    if (over := np.flatnonzero(sums * m > capacity)).size:
        which = f"[{int(over[0])}]" if np.ndim(utilization) else ""
        raise ValueError(
            f"utilization{which}: got {float(sums[over[0]])}, expected at most {capacity / m:.4g}: "
            f"with these blocks one task can keep {capacity} of {m} threads busy"
        )
    columns = _core.generate_fifo(
        seed_key(seed),
        n=integer(n, "n"),
        utilization=sums,
        first=set_number(first),
        capacity=m,
        shortest=int(span[0]),
        longest=int(span[1]),
        ticks=scale,
        sizes=sizes,
        blocks_max=most,
    )
    fields = ("period", "wcet", "block_time", "blocks", "threads")
    rows = columns if count is not None else (column[0] for column in columns)
    return KernelTasks(**dict(zip(fields, rows, strict=True)))
