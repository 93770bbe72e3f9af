"""Simulation of warps that share an SM (``gs.simulate.warps``): [RTAS20], section IV."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, flag, frozen, int_array, integer


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
    """Finish times, in cycles, of the warps on an SM with loose round-robin schedulers.

    [RTAS20], section IV. Each scheduler issues at most one instruction per cycle: the next
    instruction of the first warp that is ready, searching from the warp after the one that issued
    last. A warp's next instruction waits for the result of the previous one, and for its pipeline.
    Integer and floating-point instructions of a warp alternate as evenly as possible. The defaults
    are those of Volta's single precision. The model has no memory accesses.

    >>> gs.simulate.warps([4, 4], [0, 4]).tolist()           # instructions of two warps, in cycles
    [16, 32]

    Parameters
    ----------
    integer, floating
        Numbers of instructions of each warp; one number for all warps, or one for each.
    schedulers
        Number of schedulers of the SM; warp i belongs to scheduler i modulo ``schedulers``.
    separate
        Whether integer and floating-point instructions have separate pipelines, as from Volta on,
        or share one, as up to Pascal.
    interval
        Number of cycles for which an instruction occupies its pipeline: 32 divided by the number of
        lanes (2 for Volta's 16 lanes per scheduler, 1 for Pascal's 32).
    latency
        Number of cycles until the result is available and the warp can continue.
    scheduler
        The scheduler of each warp, (warps,), instead of i modulo ``schedulers``.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    int64 array
        For each warp, the cycle in which its last result is available; 0 for a warp without
        instructions.

    Raises
    ------
    ValueError, OverflowError, TypeError
        Negative numbers of instructions, or an interval or latency below 1; the message names the
        argument.
    gpusched.Cancelled
        ``stop`` was set.
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
    """Execution times, in cycles, of equal blocks that start together on an SM.

    If an SM holds k blocks of a kernel at once, its blocks take about
    ``block_times(k, ...).max()`` cycles; for a large grid, k is ``gs.occupancy(gpu, threads)``.

    >>> gs.simulate.block_times(2, 4, 100, 100).tolist()
    [800, 802]

    Parameters
    ----------
    blocks
        Number of blocks on the SM at once.
    warps
        Number of warps of a block: its threads / 32, rounded up.
    integer, floating
        Numbers of instructions of each warp; one number, or one for each warp of a block.
    schedulers, pipelines
        As in ``gs.simulate.warps``.

    Returns
    -------
    int64 array
        For each block, the cycle in which the last of its warps ends, (blocks,).
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
    end = _warps(*rows, schedulers=schedulers, **pipelines)
    return frozen(end.reshape(count, each).max(axis=1))


_warps = warps


def _positive(value: Any, name: str) -> int:
    number = integer(value, name)
    if not 1 <= number < 2**62:
        raise ValueError(f"{name}: got {number}, expected 1 to 2**62 - 1")
    return number
