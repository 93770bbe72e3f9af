"""Tasks with everything that their jobs do, in order: CPU work, copies and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array, spread, task_names
from gpusched._support.registry import enumeration
from gpusched._support.tabular import frame_of
from gpusched._support.text import TICKS, clip, escape, plural, shown
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.task_sets import Column, TaskSet, padded, refuse_gaps, unless_derived

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEGMENT_KINDS", "Programs"]

SEGMENT_KINDS = enumeration("model.segment_kind")

_OF_TASK = ("period", "deadline", "jitter", "core", "priority", "level", "channel", "part")
_OF_SEGMENT = (
    *("kind", "time", "engine", "blocks", "threads", "block_time", "regs", "smem"),
    "waits",
)
_ANY = frozenset({"priority", "level", "channel"})  # columns of tasks with numbers of any sign
_POSITIVE = frozenset({"period", "deadline"})
_OF = ("time", "segment")
_PLACES = ("core", "priority", "channel", "part")
_ROWS = 40


@dataclass(frozen=True, eq=False, repr=False)
class Programs(TaskSet):
    """Tasks whose jobs run CPU work, copies and kernels in sequence: one set, or a stack of N sets.

    Each task has a thread on a core, and a stream. Arrays are read-only int64; times are integers
    in ticks of a unit that the caller chooses.

    >>> tasks = gs.Programs(
    ...     period=[60, 100],
    ...     kind=[["cpu", "copy", "kernel"], ["kernel", "cpu"]],
    ...     time=[[5, 2, 8], [20, 4]], blocks=[[0, 0, 4], [8, 0]], threads=[[0, 0, 256], [128, 0]],
    ...     block_time=[[0, 0, 8], [10, 0]], name=["camera", "planner"])
    >>> tasks.segments.tolist(), tasks.work.tolist(), tasks.priority.tolist()
    ([3, 2], [15, 24], [0, 1])

    Parameters
    ----------
    period
        Minimum number of ticks between two arrivals, shape ``(n,)`` or ``(N, n)``.
    kind, time
        What each segment of a job is ("cpu", "copy" or "kernel", or its index in these), and its
        maximum time; of a kernel, alone on all SMs that it may use. All columns of segments are
        given as one sequence per task; for a stack, as an array ``(N, n, q)`` with 0 beyond the
        segments of a task. ``time`` determines how many segments a task has.
    engine
        Copy engine of each copy: 0, or 1 where each direction has one; 2 to 5: no copy, but work on
        a DLA, which serves one task at a time as an engine does. Default: 0.
    blocks, threads, block_time, regs, smem
        Shape of each kernel: grid size in blocks, threads per block, maximum time of a block,
        registers per thread, bytes of shared memory per block. They are needed where kernels share
        the SMs. Default: 0.
    waits
        1: the thread waits until a copy or kernel has ended before it calls the next one, as it
        does before CPU work. Default: 0.
    deadline
        Relative to the arrival; it may exceed the period. Default: the period.
    jitter
        Maximum number of ticks from the arrival to the release of a job. Default: 0.
    core
        Core of each task's thread. Default: 0.
    priority
        Priority of the thread; a smaller number is a higher priority. Tasks of one core with equal
        priorities may delay each other. Default: deadline-monotonic.
    level
        Priority of the task's stream; a smaller number is a higher priority. Default: 0.
    channel
        Hardware channel of the stream. Default: one for each task.
    part
        Part of the GPU, from 0: its partition or client. Default: 0.
    name
        One label per task. Default: ``task 0``, ``task 1``, ...

    Attributes
    ----------
    kind, time, engine, blocks, threads, block_time, regs, smem, waits
        Shape ``(n, q)`` or ``(N, n, q)``, where q is the largest number of segments of a task; 0
        beyond the segments of a task.

    Raises
    ------
    ValueError
        An entry is out of its range; a task has no segment; columns have different lengths.
    OverflowError
        An entry does not fit 64 bits.
    TypeError
        An entry is not a number.
    """

    _KIND: ClassVar[str] = "Programs"
    _ARRAYS: ClassVar[tuple[str, ...]] = (*_OF_TASK, *_OF_SEGMENT)

    period: Int64Array
    kind: Int64Array
    time: Int64Array
    engine: Int64Array
    blocks: Int64Array
    threads: Int64Array
    block_time: Int64Array
    regs: Int64Array
    smem: Int64Array
    waits: Int64Array
    deadline: Int64Array
    jitter: Int64Array
    core: Int64Array
    priority: Int64Array
    level: Int64Array
    channel: Int64Array
    part: Int64Array
    name: tuple[str, ...]
    _derived: Mapping[str, Any] = field(repr=False)

    def __init__(
        self,
        period: npt.ArrayLike,
        kind: Any,
        time: Column,
        *,
        engine: Column = 0,
        blocks: Column = 0,
        threads: Column = 0,
        block_time: Column = 0,
        regs: Column = 0,
        smem: Column = 0,
        waits: Column = 0,
        deadline: npt.ArrayLike | None = None,
        jitter: npt.ArrayLike = 0,
        core: npt.ArrayLike = 0,
        priority: npt.ArrayLike | None = None,
        level: npt.ArrayLike = 0,
        channel: npt.ArrayLike | None = None,
        part: npt.ArrayLike = 0,
        name: Sequence[str] | None = None,
        _derived: Mapping[str, Any] | None = None,  # passed by dataclasses.replace
    ) -> None:
        deadline = unless_derived(deadline, "deadline", _derived)
        priority = unless_derived(priority, "priority", _derived)
        channel = unless_derived(channel, "channel", _derived)
        name = unless_derived(name, "name", _derived)
        times = int_array(period, "period")
        if times.ndim not in (1, 2) or times.shape[-1] == 0:
            raise ValueError(
                f"period: got shape {times.shape}, expected one entry per task, at least one"
            )
        due = times if deadline is None else _of_tasks(deadline, "deadline", times.shape)
        given: dict[str, Any] = {"period": times, "deadline": due, "jitter": jitter, "core": core}
        given["priority"] = deadline_ranks(due) if priority is None else priority
        given["level"], given["part"] = level, part
        given["channel"] = np.arange(times.shape[-1]) if channel is None else channel
        for key in _OF_TASK:
            object.__setattr__(self, key, frozen(_of_tasks(given[key], key, times.shape)))
        columns: dict[str, Any] = {"kind": _numbers(kind), "engine": engine, "blocks": blocks}
        columns |= {"threads": threads, "block_time": block_time, "regs": regs, "smem": smem}
        columns["waits"] = waits
        took = padded(time, "time", times.shape, None, _OF)
        has = took > 0
        refuse_gaps(took, has, _OF)
        object.__setattr__(self, "time", frozen(took))
        for key, column in columns.items():
            array = np.where(has, padded(column, key, times.shape, has, _OF), 0)
            at_least(array, 0, key)
            object.__setattr__(self, key, frozen(array))
        at_least(len(SEGMENT_KINDS) - 1 - self.kind, 0, "kind")
        at_least(1 - self.waits, 0, "waits")
        object.__setattr__(self, "name", task_names(name, times.shape[-1]))
        found = {"deadline": deadline, "priority": priority, "channel": channel, "name": name}
        self._remember([key for key, value in found.items() if value is None])

    def replace(self, **changes: Any) -> Programs:
        """Return a copy with some fields changed; fields derived from them are derived anew.

        >>> tasks = gs.Programs(period=[60], kind=[["cpu"]], time=[[4]])
        >>> tasks.replace(period=[50]).deadline.tolist()
        [50]
        """
        return Programs(**{**self._given(), **changes})

    def with_placement(self, **columns: npt.ArrayLike) -> Programs:
        """Return the same programs with other ``core``, ``priority``, ``channel`` or ``part``.

        As `replace`, but the other columns are not checked again.

        >>> tasks = gs.Programs(period=[60, 90], kind=[["cpu"]] * 2, time=[[4], [5]])
        >>> tasks.with_placement(core=[0, 1]).core.tolist()
        [0, 1]
        """
        arrays = self._arrays()
        for key, column in columns.items():
            if key not in _PLACES:
                raise TypeError(f"{key}: got it, expected one of {', '.join(_PLACES)}")
            arrays[key] = _of_tasks(column, key, self.period.shape)
        derived = [key for key in self._derived if key not in columns]
        return self._made(arrays, self.name, derived)

    @property
    def segments(self) -> Int64Array:
        """Number of segments of each task's jobs, int64 ``(n,)`` or ``(N, n)``."""
        counts: Int64Array = (self.time > 0).sum(axis=-1).astype(np.int64)
        return counts

    @property
    def work(self) -> Int64Array:
        """Ticks that a job of each task takes alone, int64 ``(n,)`` or ``(N, n)``."""
        found: Int64Array = self.time.sum(axis=-1)
        return found

    @property
    def cpu_time(self) -> Int64Array:
        """Ticks of CPU work in a job of each task, int64 ``(n,)`` or ``(N, n)``."""
        found: Int64Array = np.where(self.kind == 0, self.time, 0).sum(axis=-1)
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per segment of every task.

        The columns are ``set`` (for a stack), ``task``, ``name``, ``segment`` and the fields;
        ``kind`` is a word.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        has = self.time > 0
        at = np.nonzero(has)
        columns: dict[str, Any] = {"set": at[0]} if self.is_stack else {}
        columns["task"] = at[-2]
        columns["name"] = np.array(self.name, dtype=object)[at[-2]]
        columns["segment"] = at[-1]
        for key in _OF_TASK:
            columns[key] = getattr(self, key)[at[:-1]]
        for key in _OF_SEGMENT:
            columns[key] = getattr(self, key)[has]
        columns["kind"] = np.array(SEGMENT_KINDS, dtype=object)[columns["kind"]]
        return columns

    @classmethod
    def _alike(cls, parts: Sequence[Programs]) -> list[dict[str, npt.NDArray[Any]]]:
        """The arrays of sets, with as many columns of segments as the longest program."""
        most = max(part.time.shape[-1] for part in parts)

        def widened(key: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            if key not in _OF_SEGMENT:
                return array
            more = [(0, 0)] * (array.ndim - 1) + [(0, most - array.shape[-1])]
            return np.pad(array, more)

        return [
            {key: widened(key, array) for key, array in part._arrays().items()} for part in parts
        ]

    @classmethod
    def _derive(
        cls, arrays: dict[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Any
    ) -> Programs:
        """A set of other tasks; what had been derived of all of them is derived anew."""
        if "priority" in derived:
            arrays["priority"] = deadline_ranks(arrays["deadline"])
        if "channel" in derived:
            shape = arrays["period"].shape
            arrays["channel"] = spread(np.arange(shape[-1]), shape)
        return cls._made(arrays, name, derived)

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<Programs: {plural(len(self), 'set')} of {plural(self.n, 'task')}>"
        return (
            f"<Programs: {plural(self.n, 'task')}, {plural(int(self.segments.sum()), 'segment')}>"
        )

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>Programs: {plural(len(self), 'set')} of {plural(self.n, 'task')}</p>"
        keys = ("period", "deadline", "core", "priority", "segments", "work")
        head = "".join(f"<th>{key}</th>" for key in keys)
        columns = [getattr(self, key).tolist() for key in keys]
        rows = "".join(
            f"<tr><th>{escape(clip(self.name[i], 60))}</th>"
            + "".join(f"<td>{column[i]:,}</td>" for column in columns)
            + "</tr>"
            for i in range(min(self.n, _ROWS))
        )
        note = f"<p>and {self.n - _ROWS} more tasks</p>" if self.n > _ROWS else ""
        return f"<table>{TICKS}<tr><th></th>{head}</tr>{rows}</table>{note}"


def _of_tasks(column: npt.ArrayLike, key: str, shape: tuple[int, ...]) -> Int64Array:
    """A column with an entry per task."""
    array = int_array(column, key)
    if key not in _ANY:
        at_least(array, 1 if key in _POSITIVE else 0, key)
    try:
        return spread(array, shape)
    except ValueError:
        raise ValueError(f"{key}: got shape {array.shape}, expected {shape} as of period") from None


def _numbers(kind: Any) -> Any:
    """Kinds of segments as numbers, where they are given as words."""
    if isinstance(kind, str):
        if kind not in SEGMENT_KINDS:
            raise ValueError(f"kind: got {shown(kind)}, expected one of {', '.join(SEGMENT_KINDS)}")
        return SEGMENT_KINDS.index(kind)
    if isinstance(kind, (list, tuple)):
        return [_numbers(entry) for entry in kind]
    return kind
