"""Task sets of the block-level model: kernels whose blocks start in FIFO order [ECRTS17]."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import at_least, int_array, integer, seed_key, set_number
from gpusched.generate.utilization_sums import sums_of
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
        raise ValueError("block_sizes: must be a list of block sizes")
    if (wide := np.flatnonzero(sizes > m)).size:
        i = int(wide[0])
        raise ValueError(f"block_sizes[{i}] = {sizes[i]}: is more than the {m} threads")
    span = int_array(periods, "periods")
    if span.shape != (2,):
        raise ValueError(f"periods: shape {span.shape}; must be the shortest and the longest")
    scale = integer(ticks, "ticks")
    if not 1 <= scale < 2**63:
        raise ValueError(f"ticks: got {scale}, expected 1 to 2**63 - 1")
    capacity = int((np.minimum(m // sizes, most) * sizes).max())
    if (over := np.flatnonzero(sums * m > capacity)).size:
        which = f"[{int(over[0])}]" if np.ndim(utilization) else ""
        raise ValueError(
            f"utilization{which} = {float(sums[over[0]])}: with these blocks one task can keep at "
            f"most {capacity} of {m} threads busy, {capacity / m:.4g}"
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
    period, block_time, blocks, size = columns if count is not None else (c[0] for c in columns)
    return KernelTasks(
        period=period,
        wcet=-(-blocks // (m // size)) * block_time,
        block_time=block_time,
        blocks=blocks,
        threads=size,
    )
