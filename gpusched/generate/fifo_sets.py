"""Random task sets of the block-level model with FIFO order of blocks [ECRTS17]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import at_least, int_array, integer, seed_key, set_number
from gpusched.generate.set_arguments import sums_of
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["fifo"]


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
