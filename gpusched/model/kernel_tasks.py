"""Periodic GPU kernels: execution times, periods, deadlines, grid shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array, spread, task_names
from gpusched._support.tabular import Table, frame_of
from gpusched._support.text import TICKS, clip, escape, plural
from gpusched.model.task_sets import TaskSet, unless_derived

if TYPE_CHECKING:
    import pandas as pd

_LEAST = {"offset": 0, "regs": 0, "smem": 0}
_SHAPE = ("blocks", "threads", "regs", "smem")
_ROWS = 40  # shown in a notebook
_ENTRIES = 20  # of an array in a repr


class _Changes(TypedDict, total=False):
    """The arguments of `KernelTasks`."""

    period: npt.ArrayLike
    wcet: npt.ArrayLike | None
    deadline: npt.ArrayLike | None
    block_time: npt.ArrayLike | None
    blocks: npt.ArrayLike
    threads: npt.ArrayLike
    regs: npt.ArrayLike
    smem: npt.ArrayLike
    priority: npt.ArrayLike
    offset: npt.ArrayLike
    name: Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class KernelTasks(TaskSet):
    """Periodic GPU kernels: one set of n tasks, or a stack of N such sets.

    Every field is a read-only int64 array of shape ``(n,)`` or ``(N, n)``; a single number or a
    single row is broadcast. Times are integers in ticks of a unit that the caller chooses.

    >>> tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["camera", "map", "plan"])
    >>> tasks.utilization
    1.15
    >>> tasks["map"]
    KernelTasks(period=[5], wcet=[3])
    >>> tasks[:2].replace(period=[8, 9]).deadline.tolist()
    [8, 9]

    Parameters
    ----------
    period
        Ticks between two releases of a task; positive.
    wcet
        Execution time of the whole kernel alone on the GPU, in ticks (C in [RTNS24], section 2.2).
    deadline
        Relative deadline in ticks. Default: the period.
    block_time
        Execution time of one block in ticks. If only one of ``wcet`` and ``block_time`` is given,
        the other is set equal to it, which is correct if all blocks of the kernel fit the GPU at
        once. ``gs.simulate.fifo``, ``fifo_bound`` and ``fifo_limit``, which know the GPU, refuse a
        derived ``block_time`` if they do not.
    blocks, threads, regs, smem
        Grid size in blocks (default 1), threads per block (default 1), registers per thread
        (default 0) and shared memory per block in bytes (default 0).
    priority
        Priority; a smaller number is a higher priority. Default: 0.
    offset
        Time of the first release in ticks. Default: 0.
    name
        One label per task. Default: ``task 0``, ``task 1``, ...

    Raises
    ------
    ValueError
        An entry is zero where it must be positive, negative, fractional or NaN, or shapes do not
        match.
    OverflowError
        An entry does not fit 64 bits.
    TypeError
        An entry is not a number, or neither ``wcet`` nor ``block_time`` is given.
    """

    _KIND: ClassVar[str] = "KernelTasks"
    _ARRAYS: ClassVar[tuple[str, ...]] = (
        *("period", "wcet", "deadline", "block_time", "blocks", "threads", "regs", "smem"),
        *("priority", "offset"),
    )

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
    _derived: Mapping[str, Any] = field(repr=False)

    def __init__(
        self,
        period: npt.ArrayLike,
        wcet: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | None = None,
        block_time: npt.ArrayLike | None = None,
        blocks: npt.ArrayLike = 1,
        threads: npt.ArrayLike = 1,
        regs: npt.ArrayLike = 0,
        smem: npt.ArrayLike = 0,
        priority: npt.ArrayLike = 0,
        offset: npt.ArrayLike = 0,
        name: Sequence[str] | None = None,
        _derived: Mapping[str, Any] | None = None,  # passed by dataclasses.replace
    ) -> None:
        wcet = unless_derived(wcet, "wcet", _derived)
        deadline = unless_derived(deadline, "deadline", _derived)
        block_time = unless_derived(block_time, "block_time", _derived)
        name = unless_derived(name, "name", _derived)
        if wcet is None and block_time is None:
            raise TypeError("wcet: got None, expected wcet, block_time, or both")
        sources = {
            "deadline": (deadline, period),
            "wcet": (wcet, block_time),
            "block_time": (block_time, wcet),
        }
        given: dict[str, Any] = {
            "period": period,
            **{key: other if own is None else own for key, (own, other) in sources.items()},
            "blocks": blocks,
            "threads": threads,
            "regs": regs,
            "smem": smem,
            "priority": priority,
            "offset": offset,
        }
        derived = [key for key, (own, _) in sources.items() if own is None]
        order = sorted(self._ARRAYS, key=lambda key: key in derived)  # errors name the given field
        arrays = {key: int_array(given[key], key) for key in order}
        shape, widest = arrays["period"].shape, "period"
        for key, array in arrays.items():  # one stack makes all of them stacks
            if array.ndim > len(shape):
                shape, widest = array.shape, key
            if array.ndim > 2:
                raise ValueError(f"{key}: got {array.ndim} dimensions, expected 1 or 2")
        if len(shape) == 0:
            raise ValueError("period: got one number, expected a sequence with one entry per task")
        if shape[-1] == 0:
            raise ValueError("period: got no entries, expected at least one task")
        for key, array in arrays.items():
            if key != "priority":
                at_least(array, _LEAST.get(key, 1), key)
            try:
                array = spread(array, shape)
            except ValueError:
                raise ValueError(
                    f"{key}: got shape {array.shape}, expected {shape} as of {widest}"
                ) from None
            object.__setattr__(self, key, frozen(array))
        object.__setattr__(self, "name", task_names(name, shape[-1]))
        self._remember([*derived, *(["name"] if name is None else [])])

    def replace(self, **changes: Unpack[_Changes]) -> KernelTasks:
        """Return a copy with some fields changed; fields derived from them are derived anew.

        Parameters
        ----------
        changes
            Fields of `KernelTasks`. With None, ``deadline``, ``wcet``, ``block_time`` or ``name``
            are derived even if they were given before.

        Returns
        -------
        KernelTasks
            Fields that were given before and are not changed are kept. ``dataclasses.replace``
            does the same.

        Raises the errors of the class.

        >>> tasks = gs.KernelTasks(period=[4, 5], wcet=[1, 3], deadline=[4, 4])
        >>> changed = tasks.replace(period=[6, 7], wcet=[2, 2])
        >>> changed.block_time.tolist(), changed.deadline.tolist()
        ([2, 2], [4, 4])
        """
        return KernelTasks(**{**self._given(), **changes})

    @property
    def utilization(self) -> Any:  # float or FloatArray, as hyperperiod
        """Total utilization, the sum of wcet / period: a float, or shape (N,) for a stack."""
        total = (self.wcet / self.period).sum(axis=-1)
        return total if self.is_stack else float(total)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task, for a stack of every set.

        The columns are ``set`` (for a stack), ``task``, ``name`` and the fields.
        """
        return frame_of(self._table())

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> KernelTasks:
        """Make tasks from a pandas table like that of `to_frame`.

        Parameters
        ----------
        frame
            One row per task. The column ``period`` is required, and ``wcet`` or ``block_time``; the
            others, also ``set``, ``task`` and ``name``, are optional and have the defaults of the
            class. With a column ``set``, the result is a stack.

        Returns
        -------
        KernelTasks
            ``from_frame(tasks.to_frame()) == tasks``, except for empty stacks. The values of every
            column count as given; to have deadlines derived, for example, leave out ``deadline``.

        Raises
        ------
        ValueError
            Values are missing, columns are unknown, sets differ in size or names, or the class
            refuses the values.
        TypeError
            The object is not a pandas table.
        """
        known = [*cls._ARRAYS[1:], "set", "task", "name"]
        table = Table(frame, ["period"], known, ["set", "task"])
        sizes = table.set_sizes(equal=True)
        shape = (len(sizes), sizes[0]) if "set" in table else (sizes[0],)
        values: dict[str, Any] = {
            key: np.reshape(table.whole(key), shape) for key in cls._ARRAYS if key in table
        }
        return cls(**values, name=table.constant("name", sizes))

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<KernelTasks: {plural(len(self), 'set')} of {plural(self.n, 'task')}>"
        shown = [f"period={_short(self.period)}", f"wcet={_short(self.wcet)}"]
        if not np.array_equal(self.deadline, self.period):
            shown.append(f"deadline={_short(self.deadline)}")
        if not np.array_equal(self.block_time, self.wcet):
            shown.append(f"block_time={_short(self.block_time)}")
        if self.offset.any():
            shown.append(f"offset={_short(self.offset)}")
        if self.priority.any():
            shown.append(f"priority={_short(self.priority)}")
        return f"KernelTasks({', '.join(shown)})"

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>KernelTasks: {plural(len(self), 'set')} of {plural(self.n, 'task')}</p>"
        keys = ["period", "deadline", "wcet"]
        if not np.array_equal(self.block_time, self.wcet):
            keys.append("block_time")
        keys += [k for k in (*_SHAPE, "offset") if getattr(self, k).any()]
        head = "".join(f"<th>{key}</th>" for key in keys)
        rows = "".join(
            f"<tr><th>{escape(clip(self.name[i], 60))}</th>"
            + "".join(f"<td>{int(getattr(self, key)[i]):,}</td>" for key in keys)
            + "</tr>"
            for i in range(min(self.n, _ROWS))
        )
        note = f"<p>and {self.n - _ROWS} more tasks</p>" if self.n > _ROWS else ""
        return f"<table>{TICKS}<tr><th></th>{head}</tr>{rows}</table>{note}"


def _short(array: Int64Array) -> str:
    values = [str(v) for v in array[:_ENTRIES].tolist()]
    return f"[{', '.join(values)}{', ...' if len(array) > _ENTRIES else ''}]"
