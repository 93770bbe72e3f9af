"""Batch tables of chains: batches with at most one kernel of a task.

A table of chains is a table of their rows, with one bit per kernel. Placement considers every way
of choosing one kernel of each task, and places the batches of each choice like those of tasks. A
batch that belongs to several choices is taken from the one in which all tasks outside the batch
are represented by their first kernels, so that its slowdown factor is drawn once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, set_number
from gpusched._support.text import shown
from gpusched.model.batches import (
    MAX_TASKS,
    MAX_TIME,
    ONE,
    Orders,
    billionths,
    set_text,
)
from gpusched.model.gpu import GPU, occupancy
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks

_ENTRIES = 1 << 18  # batches placed in one call
_SHAPE = ("blocks", "threads", "regs", "smem", "wcet")

Tables = tuple[Any, Any, tuple[Int64Array, Orders]]
"""Completion, undecided times or None, and orders as `BatchTable._make` takes them."""


def alone_on(rows: KernelTasks, gpu: GPU) -> KernelTasks:
    """The rows with the time that each kernel takes alone on a GPU, in waves of its blocks.

    ``wcet`` of the rows is the latency plus the time of a block, see `KernelChains.rows`. Raises
    ValueError for a block that does not fit an SM.
    """
    of_sm, limit = occupancy(gpu, rows.threads, rows.regs, rows.smem, detail=True)
    if len(bad := np.argwhere(of_sm == 0)):
        at = tuple(bad[0].tolist())
        raise ValueError(
            f"{limit[at]}[{rows.name[at[-1]]}]: got a block that fits no SM of this GPU, expected "
            "one that does"
        )
    waves = -(-rows.blocks // (gpu.sms * of_sm))
    latency = rows.wcet - rows.block_time
    return rows.replace(wcet=latency + waves * rows.block_time, block_time=rows.block_time)


def place_chains(
    chains: KernelChains,
    gpu: GPU,
    factors: tuple[int, int],
    key: Any,
    first: int,
    stop: Any = None,
) -> Tables:
    """Tables of chains by the placement of blocks; arguments as of `BatchTable.from_gpu`."""
    _check_size(chains)
    rows = alone_on(chains.rows, gpu)
    if not chains.is_stack:
        return _place_set(rows, chains.kernels.tolist(), gpu, factors, key, first, stop)
    parts = [
        _place_set(rows[i], part.kernels.tolist(), gpu, factors, key, set_number(first + i), stop)
        for i, part in enumerate(chains)
    ]
    completion = np.array([part[0] for part in parts], np.int64).reshape(len(parts), 1 << rows.n)
    undecided = None
    if any(part[1] is not None for part in parts):
        undecided = np.stack([np.zeros_like(done) if left is None else left
                              for done, left, _ in parts])  # fmt: skip
    others = [
        ((i << rows.n) + at, orders) for i, (_, _, (at, orders)) in enumerate(parts) if len(at)
    ]
    return completion, undecided, _joined(others, rows.n)


def _joined(others: list[tuple[Int64Array, Orders]], n: int) -> tuple[Int64Array, Orders]:
    """Batches and orders of several parts, by rising index."""
    at = np.concatenate([np.zeros(0, np.int64), *(at for at, _ in others)])
    orders = np.concatenate([np.zeros((0, n), np.int8), *(orders for _, orders in others)])
    rising = np.argsort(at)
    return at[rising], orders[rising]


def _check_size(tasks: KernelTasks | KernelChains) -> None:
    unit = "tasks" if isinstance(tasks, KernelTasks) else "kernels"
    counts = np.atleast_1d(tasks.n if isinstance(tasks, KernelTasks) else tasks.kernels.sum(-1))
    if counts.max(initial=0) > MAX_TASKS:
        raise ValueError(f"tasks: got {counts.max()} {unit} in a set, expected at most {MAX_TASKS}")


def _place_set(
    rows: KernelTasks,
    kernels: list[int],
    gpu: GPU,
    factors: tuple[int, int],
    key: Any,
    first: int,
    stop: Any,
) -> Tables:
    if factors[0] == factors[1]:  # nothing is drawn: each batch is placed once
        return _place_rows(rows, kernels, gpu, factors[0], key, stop)
    n, m = len(kernels), rows.n
    begin = np.cumsum([0, *kernels[:-1]])
    completion, undecided = np.zeros((2, 1 << m), np.int64)
    others: list[tuple[Int64Array, Orders]] = []
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1  # of the batches of a choice
    number = first * prod(kernels)
    for part in _choices(kernels, max(1, _ENTRIES >> n)):
        row = part + begin  # (choices, n): the kernel of each task
        times, left, at, orders = _core.oracle_by_placement(
            gpu._limits,
            gpu.sm_order,
            *(np.ascontiguousarray(getattr(rows, name)[row]) for name in _SHAPE),
            key=key,
            first=set_number(number),
            least=factors[0],
            most=factors[1],
            crowd=gpu.resident_grids,
            stop=stop,
        )
        number += len(part)
        ends = np.searchsorted(at, np.arange(len(part) + 1) << n)
        for c, kernel in enumerate(part):
            represented = (member | (kernel == 0)).all(axis=1)
            own = np.flatnonzero(represented)
            masks = (member[own] << row[c]).sum(axis=1)
            completion[masks] = times[c, own]
            if left is not None:
                undecided[masks] = left[c, own]
            batch, found = at[ends[c] : ends[c + 1]] - (c << n), orders[ends[c] : ends[c + 1]]
            if (kept := represented[batch]).any():
                found = found[kept]
                wide = np.full((len(found), m), -1, np.int8)
                wide[:, :n] = np.where(found < 0, -1, row[c][np.maximum(found, 0)])
                others.append(((member[batch[kept]] << row[c]).sum(axis=1), wide))
    return completion, undecided if undecided.any() else None, _joined(others, m)


def _place_rows(
    rows: KernelTasks, kernels: list[int], gpu: GPU, factor: int, key: Any, stop: Any
) -> Tables:
    """The same with one factor for all batches."""
    last = np.cumsum(kernels) - 1
    chained = (1 << rows.n) - 1 & ~sum(1 << int(row) for row in last)
    completion, undecided, at, orders = _core.oracle_by_placement(
        gpu._limits,
        gpu.sm_order,
        *(np.atleast_2d(getattr(rows, name)) for name in _SHAPE),
        key=key,
        first=0,
        least=factor,
        most=factor,
        crowd=gpu.resident_grids,
        chained=chained,
        stop=stop,
    )
    return completion[0], None if undecided is None else undecided[0], (at, orders)


def _choices(kernels: list[int], count: int) -> Iterator[Int64Array]:
    """All choices of a kernel per task, ``count`` at a time: int64 (count, n)."""
    choices = product(*(range(number) for number in kernels))
    while part := list(islice(choices, count)):
        yield np.array(part, np.int64)


def slowed_batches(
    tasks: KernelTasks | KernelChains, factor: Callable[[tuple[Any, ...]], Any]
) -> Int64Array:
    """Completion times by a function of the batch; see `BatchTable.from_slowdown`."""
    _check_size(tasks)
    if tasks.is_stack:
        raise ValueError(f"tasks: got a stack of {len(tasks)} sets, expected one set")
    chains = isinstance(tasks, KernelChains)
    rows = tasks.rows if isinstance(tasks, KernelChains) else tasks
    wcet = rows.wcet.tolist()
    kernels = tasks.kernels.tolist() if isinstance(tasks, KernelChains) else [1] * tasks.n
    completion = np.zeros(1 << rows.n, np.int64)
    batches: list[tuple[int, int, tuple[Any, ...]]] = [(0, 0, ())]  # mask, longest, members
    row = 0
    for task, count in enumerate(kernels):
        grown = []
        for kernel in range(count):
            member = (task, kernel) if chains else task
            for mask, longest, members in batches:
                batch = (mask | 1 << row, max(longest, wcet[row]), (*members, member))
                completion[batch[0]] = _slowed(*batch, factor)
                grown.append(batch)
            row += 1
        batches += grown
    return completion


def _slowed(
    mask: int, longest: int, members: tuple[Any, ...], factor: Callable[[tuple[Any, ...]], Any]
) -> int:
    found = Fraction(1) if len(members) == 1 else factor(members)
    if found is None:
        return 0
    try:
        time = -(-longest * billionths(found) // ONE)
    except (TypeError, ValueError):
        raise ValueError(
            f"slowdown[{set_text(mask)}]: got {shown(found)}, expected None or a factor from 1 to "
            "1000000"
        ) from None
    if time >= MAX_TIME:
        raise OverflowError(
            f"slowdown[{set_text(mask)}]: got a time of {time} ticks, expected less than 2**60 - 1"
        )
    return time
