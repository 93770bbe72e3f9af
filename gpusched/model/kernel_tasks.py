"""Task sets: what has to run, how often, and by when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array, task_names
from gpusched._support.frozen import Frozen

_LEAST = {"offset": 0, "regs": 0, "smem": 0}
_SHAPE = ("blocks", "threads", "regs", "smem")


@dataclass(frozen=True, eq=False, repr=False)
class KernelTasks(Frozen):
    """Periodic GPU kernels: one set of n tasks, or a stack of N such sets.

    Every field is an int64 array of shape ``(n,)`` or ``(N, n)``; a field given as one number or
    as one row is repeated. Times are integer ticks (the unit is yours).

    Parameters
    ----------
    period
        Ticks between two releases of a task.
    wcet
        Execution time of the whole kernel alone on the GPU (C in the GPUSched paper, section 2.2).
    deadline
        Relative deadline; the period unless given.
    block_time
        Execution time of one block. ``wcet`` and ``block_time`` are equal where only one is given,
        which is right when all blocks of the kernel fit at once.
    blocks, threads, regs, smem
        Grid size in blocks, threads per block (1), registers per thread (0) and shared memory per
        block in bytes (0).
    priority
        Smaller is more urgent (0).
    offset
        Of the first release (0).
    name
        One label per task; ``task 0``, ``task 1``, ... unless given.

    Raises
    ------
    ValueError
        Zero, negative, fractional or NaN entries, or shapes that do not fit each other.
    OverflowError
        Entries beyond 64 bits.
    """

    period: Int64Array
    wcet: Int64Array
    deadline: Int64Array
    block_time: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    priority: Int64Array
    offset: Int64Array
    name: tuple[str, ...]

    def __init__(
        self,
        period: Any,
        wcet: Any = None,
        deadline: Any = None,
        block_time: Any = None,
        blocks: Any = 1,
        threads: Any = 1,
        regs: Any = 0,
        smem: Any = 0,
        priority: Any = 0,
        offset: Any = 0,
        name: Sequence[str] | None = None,
    ) -> None:
        if wcet is None and block_time is None:
            raise TypeError("KernelTasks needs wcet, block_time, or both")
        given = {
            "period": period,
            "wcet": block_time if wcet is None else wcet,
            "deadline": period if deadline is None else deadline,
            "block_time": wcet if block_time is None else block_time,
            "blocks": blocks,
            "threads": threads,
            "regs": regs,
            "smem": smem,
            "priority": priority,
            "offset": offset,
        }
        arrays = {key: int_array(value, key) for key, value in given.items()}
        shape, widest = arrays["period"].shape, "period"
        for key, array in arrays.items():  # one stack makes all of them stacks
            if array.ndim > len(shape):
                shape, widest = array.shape, key
            if array.ndim > 2:
                raise ValueError(f"{key}: must have 1 or 2 dimensions, has {array.ndim}")
        if len(shape) == 0:
            raise ValueError("period: must be a sequence with one entry per task")
        if shape[-1] == 0:
            raise ValueError("period: a task set needs at least one task")
        for key, array in arrays.items():
            if key != "priority":
                at_least(array, _LEAST.get(key, 1), key)
            try:
                array = np.ascontiguousarray(np.broadcast_to(array, shape))
            except ValueError:
                raise ValueError(
                    f"{key}: shape {array.shape} does not fit {shape} of {widest}"
                ) from None
            object.__setattr__(self, key, frozen(array))
        object.__setattr__(self, "name", task_names(name, shape[-1]))

    @property
    def n(self) -> int:
        """Tasks in a set."""
        return int(self.period.shape[-1])

    @property
    def is_stack(self) -> bool:
        """Whether this is a stack of sets."""
        return self.period.ndim == 2

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return int(self.period.shape[0])

    def __getitem__(self, index: int | slice) -> KernelTasks:
        """Set ``index`` of a stack, or a part of the stack."""
        if not self.is_stack:
            raise TypeError("this is one task set; only a stack of sets can be indexed")
        return KernelTasks(
            **{f.name: getattr(self, f.name)[index] for f in fields(self) if f.name != "name"},
            name=self.name,
        )

    @property
    def hyperperiod(self) -> Any:
        """Least common multiple of the periods: an int, or a list of ints for a stack."""
        rows = np.atleast_2d(self.period).tolist()
        values = [math.lcm(*row) for row in rows]
        return values if self.is_stack else values[0]

    @property
    def utilization(self) -> Any:
        """Sum of wcet / period: a float, or an array of shape (N,) for a stack."""
        total = (self.wcet / self.period).sum(axis=-1)
        return total if self.is_stack else float(total)

    def __reduce__(self) -> Any:
        return (_unpickle, tuple(getattr(self, f.name) for f in fields(self)))

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set)."""
        import pandas as pd

        sets, n = np.atleast_2d(self.period).shape
        columns: dict[str, Any] = {}
        if self.is_stack:
            columns["set"] = np.repeat(np.arange(sets), n)
        columns["task"] = np.tile(np.arange(n), sets)
        columns["name"] = np.tile(np.array(self.name, dtype=object), sets)
        for f in fields(self):
            if f.name != "name":
                columns[f.name] = getattr(self, f.name).ravel()
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<KernelTasks: {len(self)} sets of {self.n} tasks>"
        shown = [f"period={_short(self.period)}", f"wcet={_short(self.wcet)}"]
        if not np.array_equal(self.deadline, self.period):
            shown.append(f"deadline={_short(self.deadline)}")
        if self.offset.any():
            shown.append(f"offset={_short(self.offset)}")
        return f"KernelTasks({', '.join(shown)})"

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>KernelTasks: {len(self)} sets of {self.n} tasks</p>"
        from html import escape

        keys = ["period", "deadline", "wcet", *(k for k in _SHAPE if getattr(self, k).any())]
        head = "".join(f"<th>{key}</th>" for key in keys)
        rows = "".join(
            f"<tr><th>{escape(self.name[i][:60])}</th>"
            + "".join(f"<td>{int(getattr(self, key)[i])}</td>" for key in keys)
            + "</tr>"
            for i in range(min(self.n, 40))
        )
        return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def _short(array: Int64Array) -> str:
    values = [str(v) for v in array[:20].tolist()]
    return f"[{', '.join(values)}{', ...' if len(array) > 20 else ''}]"


def _unpickle(*values: Any) -> KernelTasks:
    return KernelTasks(*values)
