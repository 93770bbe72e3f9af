"""Simulation of warps that share an SM (``gs.simulate.warps``): [RTAS20], section IV."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, flag, frozen, int_array, integer

__all__ = ["block_times", "warps"]


def warps(
    integer: Any,
    floating: Any,
    *,
    schedulers: int = 4,
    separate: bool = True,
    interval: int = 2,
    latency: int = 4,
    scheduler: Any = None,
    stop: Any = None,
) -> Int64Array:
    """Finish times of the warps on an SM with loose round-robin schedulers, in cycles.

    [RTAS20], section IV. Every scheduler issues one instruction a cycle at most: the next
    one of the first warp, after the one that issued last, that can go. A warp's next instruction
    waits for the result of the one before it, and for its pipeline. The warps' integer and
    floating-point instructions alternate as evenly as they can. The usual numbers are those of
    Volta's single precision; there is no memory in this model.

    >>> gs.simulate.warps([4, 4], [0, 4]).tolist()           # instructions of two warps, in cycles
    [16, 32]

    Parameters
    ----------
    integer, floating
        Instructions of each warp; one number, or one for each.
    schedulers
        Number of the SM's schedulers; warp i belongs to scheduler i modulo ``schedulers``.
    separate
        Whether integer and floating-point instructions have pipelines of their own, as from Volta
        on, or share one, as up to Pascal.
    interval
        Cycles for which a warp's instruction keeps its pipeline busy: 32 over the pipeline's lanes
        (2 for Volta's 16 lanes per scheduler, 1 for Pascal's 32).
    latency
        Cycles until its result is there, and the warp can go on.
    scheduler
        The scheduler of each warp, (warps,), instead.
    stop
        A writable buffer of one byte (``bytearray(1)``): set it from another thread to stop.

    Returns
    -------
    int64 array
        Per warp, the cycle in which its last result is there; 0 for one without instructions.

    Raises
    ------
    ValueError, OverflowError, TypeError
        For negative numbers of instructions, an interval or latency below 1; the message names it.
    gpusched.Cancelled
        Stopped by ``stop``.
    """
    columns = {
        "integer": int_array(integer, "integer"),
        "floating": int_array(floating, "floating"),
    }
    if scheduler is not None:
        columns["scheduler"] = int_array(scheduler, "scheduler")
    try:
        (n,) = np.broadcast_shapes(*(column.shape for column in columns.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ValueError(f"warps: got {shapes}, expected one entry per warp") from None
    if scheduler is None:
        columns["scheduler"] = np.arange(n) % _positive(schedulers, "schedulers")
    for name, column in columns.items():
        at_least(column, 0, name)
        columns[name] = np.ascontiguousarray(np.broadcast_to(column, (n,)))
    return frozen(
        _core.warps_run(
            *(columns["scheduler"], columns["integer"], columns["floating"]),
            interval=_positive(interval, "interval"),
            latency=_positive(latency, "latency"),
            separate=flag(separate, "separate"),
            stop=stop,
        )
    )


def block_times(
    blocks: int, warps: int, integer: Any, floating: Any, *, schedulers: int = 4, **pipelines: Any
) -> Int64Array:
    """Execution times of equal blocks that start on an SM together, in cycles.

    A kernel whose SMs hold k of its blocks at once has blocks of about
    ``block_times(k, ...).max()`` cycles; k is ``gs.occupancy(gpu, threads)`` for a large grid.

    >>> gs.simulate.block_times(2, 4, 100, 100).tolist()
    [800, 802]

    Parameters
    ----------
    blocks
        Number of blocks on the SM at once.
    warps
        Warps of a block: its threads / 32, rounded up.
    integer, floating
        Instructions of each warp; one number, or one for each warp of a block.
    schedulers, pipelines
        As for ``gs.simulate.warps``.

    Returns
    -------
    int64 array
        Per block, (blocks,), when the last of its warps is done.
    """
    count, each = _positive(blocks, "blocks"), _positive(warps, "warps")
    if count * each > 2**24:
        raise ValueError(f"blocks: got {count * each} warps, expected at most {2**24}")
    rows = []
    for name, given in (("integer", integer), ("floating", floating)):
        row = int_array(given, name)
        if row.shape not in ((), (each,)):
            raise ValueError(
                f"{name}: got shape {row.shape}, expected one number, or one per warp ({each})"
            )
        rows.append(np.tile(np.broadcast_to(row, (each,)), count))
    finish = _warps(*rows, schedulers=schedulers, **pipelines)
    return frozen(finish.reshape(count, each).max(axis=1))


_warps = warps


def _positive(value: Any, name: str) -> int:
    number = integer(value, name)
    if not 1 <= number < 2**62:
        raise ValueError(f"{name}: got {number}, expected 1 to 2**62 - 1")
    return number
