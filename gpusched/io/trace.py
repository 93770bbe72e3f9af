"""Traces of real programs: which kernels ran, which of them to schedule, with what periods.

`gpusched.io.read_trace` makes a `Trace` of a file; the formats are none of this file's business.
"""

from __future__ import annotations

import html
import math
import operator
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpusched._support.arguments import Int64Array, frozen, integer
from gpusched._support.text import shown, time_text
from gpusched.io.kernel_names import labels

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["Trace", "TraceKernels", "harmonic_periods"]

Names = NDArray[np.object_]

INT64_MAX = 2**63 - 1
PERIOD_STEP = 50_000
HYPERPERIOD_RATIO = 48


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The kernel launches of one device, sorted by start: read-only arrays, one entry per launch.

    Attributes
    ----------
    name
        Full names of the kernels (object array of str).
    start, duration
        ns; ``start`` is on the file's own clock.
    blocks, threads
        Blocks of the grid, threads of one block.
    regs, smem
        Registers of one thread, bytes of shared memory of one block (static and dynamic).
    device, context, stream
        Where it ran; ``device`` is the same number everywhere.
    occupancy
        The PyTorch profiler's "est. achieved occupancy %", -1 where the file has none.
    gpu
        The GPU, or None when the file does not describe it and none was given.
    source
        The path it was read from.
    """

    name: Names
    start: Int64Array
    duration: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    device: Int64Array
    context: Int64Array
    stream: Int64Array
    occupancy: Int64Array
    gpu: GPU | None = None
    source: str = ""

    def __len__(self) -> int:
        return len(self.name)

    def select(self, pattern: str | re.Pattern[str]) -> Trace:
        """The launches of kernels whose full name contains a match of a regular expression.

        Empty when none does. Raises ValueError for a malformed expression.
        """
        search = _searcher(pattern)
        known = {name: search(name) for name in set(self.name)}
        return take(self, np.array([known[name] for name in self.name], dtype=bool))

    def kernels(self) -> TraceKernels:
        """The launches grouped by equal (name, blocks, threads, regs, smem), heaviest first.

        "Heaviest" is the total time of all launches; ties keep the order of the first launches.
        Raises ValueError when a total exceeds 64 bits.
        """
        groups: dict[tuple[Any, ...], list[int]] = {}
        shapes = (self.blocks, self.threads, self.regs, self.smem)
        rows = zip(self.name, *(a.tolist() for a in shapes), self.duration.tolist(), strict=True)
        for *key, duration in rows:
            groups.setdefault(tuple(key), []).append(duration)

        totals = {key: sum(times) for key, times in groups.items()}
        keys = sorted(groups, key=totals.__getitem__, reverse=True)
        if keys and totals[keys[0]] > INT64_MAX:
            raise ValueError(f"kernel {shown(keys[0][0])}: its total time exceeds 64 bits of ns")
        times = [sorted(groups[key]) for key in keys]
        medians = [(t[(len(t) - 1) // 2] + t[len(t) // 2]) // 2 for t in times]
        names, blocks, threads, regs, smem = zip(*keys, strict=True) if keys else [()] * 5
        return TraceKernels(
            name=column(names, object),
            label=column(labels(names), object),
            blocks=column(blocks),
            threads=column(threads),
            regs=column(regs),
            smem=column(smem),
            count=column([len(t) for t in times]),
            wcet=column([t[-1] for t in times]),
            median=column(medians),
            total=column([totals[key] for key in keys]),
            gpu=self.gpu,
        )

    def choose(
        self,
        count: int = 5,
        pattern: str | re.Pattern[str] | None = None,
        together: bool = True,
    ) -> TraceKernels:
        """A few kernels worth scheduling, by total time, heaviest first.

        With ``together`` and no pattern, those that fit the GPU all at once (on an empty GPU all
        their blocks are resident, see ``TraceKernels.fits``) come before heavier ones that do not:
        only they can share the GPU with others in a batch. Where fewer than ``count`` fit, the
        heaviest others fill up; each runs alone in its batches. Without ``together``, simply the
        heaviest. With ``pattern`` (a regular expression on full names), the heaviest of those that
        match, whether they fit or not. Fewer than ``count`` where the trace has no more.

        Raises ValueError when nothing matches, when no kernel can run on the GPU, and when
        ``together`` has to decide but the GPU is unknown.
        """
        count = integer(count, "count")
        if count < 1:
            raise ValueError(f"count is {count}, must be at least 1")
        kernels = self.kernels()
        if pattern is not None:
            search = _searcher(pattern)
            chosen = np.flatnonzero([search(name) for name in kernels.name])[:count]
            if chosen.size == 0:
                raise ValueError(f"no kernel of the trace matches {shown(_written(pattern))}")
        elif together:
            fits = kernels.fits()
            others = (kernels.occupancy() > 0) & ~fits
            chosen = np.flatnonzero(fits)[:count]
            fill = np.flatnonzero(others)[: count - chosen.size]
            chosen = np.sort(np.concatenate([chosen, fill]))
            if chosen.size == 0:
                raise ValueError(f"no kernel of the trace can run on {_gpu_text(self.gpu)}")
        else:
            chosen = np.arange(len(kernels))[:count]
        return take(kernels, chosen)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per launch; its columns are the arrays' names."""
        return frame_of(self)

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(_summary(self))}</p>{_table(self.kernels(), 10)}"


@dataclass(frozen=True, eq=False, repr=False)
class TraceKernels:
    """Kernels of a trace: launches with equal name and shape together, heaviest first.

    All but ``gpu`` are read-only arrays with one entry per kernel.

    Attributes
    ----------
    name, label
        The full name, and a short one without namespaces and template arguments: at most 40
        characters, different for every kernel (#2, #3, ... where the short names are equal).
    blocks, threads, regs, smem
        The shape, as in ``Trace``.
    count
        Number of launches.
    wcet, median, total
        ns; the largest, the median (rounded down) and the sum of the measured durations. ``wcet``
        is the largest duration *seen*, beside whatever ran then: no bound.
    gpu
        As in ``Trace``.
    """

    name: Names
    label: Names
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    count: Int64Array
    wcet: Int64Array
    median: Int64Array
    total: Int64Array
    gpu: GPU | None = None

    def __len__(self) -> int:
        return len(self.name)

    def occupancy(self) -> Int64Array:
        """How many blocks of each kernel one empty SM hosts; 0 for a block that fits nowhere.

        Raises ValueError when the GPU is unknown.
        """
        return occupancy_of(self.gpu, self)

    def fits(self) -> NDArray[np.bool_]:
        """Whether all blocks of a kernel are resident at once on the empty GPU.

        That is blocks <= SMs * occupancy. Raises ValueError when the GPU is unknown.
        """
        return np.asarray(self.blocks <= known_gpu(self.gpu).sms * self.occupancy())

    def waves(self) -> Int64Array:
        """ceil(blocks / (SMs * occupancy)): how many times a kernel alone fills the empty GPU.

        Raises ValueError when the GPU is unknown or a kernel's block fits on no SM.
        """
        resident = known_gpu(self.gpu).sms * self.occupancy()
        if np.any(resident == 0):
            label = self.label[np.argmin(resident)]
            raise ValueError(f"kernel {label!r}: its block fits on no SM of {_gpu_text(self.gpu)}")
        return cast(Int64Array, -(-self.blocks // resident))

    def tasks(
        self,
        period: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
        utilization: float = 1.0,
    ) -> KernelTasks:
        """These kernels as periodic tasks, named by their labels; all times in ns.

        ``wcet`` is the largest duration the trace has. **A measured duration already contains
        whatever ran beside the kernel, and it is the time of the whole grid, not of one block**:
        take the result as a realistic example, not as a safe model of the program. When the GPU
        is known, ``block_time`` = ceil(wcet / waves), as if the grid ran in ``waves()`` rounds of
        equal blocks; otherwise it is left out, and then equals wcet.

        ``period`` and ``deadline`` are one number for all or one per kernel; deadlines default to
        periods. Without ``period``, the periods are chosen from the trace's durations alone (they
        are not the program's) by ``harmonic_periods(wcet, utilization)``: the tasks share the
        utilization, no period is less than twice the longest execution time, and the periods are
        rounded up to few values so that the hyperperiod stays small.

        Raises ValueError for no kernels at all, a kernel with a measured duration of 0, a kernel
        whose block fits on no SM, and whatever ``KernelTasks`` refuses.
        """
        from gpusched.model.kernel_tasks import KernelTasks

        if len(self) == 0:
            raise ValueError("no kernels to make tasks of")
        if np.any(self.wcet < 1):
            label = self.label[np.argmin(self.wcet)]
            raise ValueError(f"kernel {label!r} has a measured duration of 0: leave it out")
        for what, values in (("period", period), ("deadline", deadline)):
            if values is not None and np.shape(values) not in ((), (len(self),)):
                raise ValueError(f"{what} must be one number, or one for each of {len(self)}")
        if period is None:
            period = harmonic_periods(self.wcet, utilization)
        # Without a GPU there are no waves to divide by, and KernelTasks then takes wcet itself.
        block_time = None if self.gpu is None else -(-self.wcet // self.waves())
        return KernelTasks(
            period=period,
            wcet=self.wcet,
            deadline=deadline,
            block_time=block_time,
            blocks=self.blocks,
            threads=self.threads,
            regs=self.regs,
            smem=self.smem,
            name=tuple(self.label),
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per kernel; its columns are the arrays' names."""
        return frame_of(self)

    def __repr__(self) -> str:
        shown = ", ".join(self.label[:5]) + (", ..." if len(self) > 5 else "")
        return f"TraceKernels({len(self)}: {shown})"

    def _repr_html_(self) -> str:
        return _table(self, 20)


def harmonic_periods(
    wcet: Sequence[SupportsIndex] | Int64Array,
    utilization: float = 1.0,
    step: SupportsIndex = PERIOD_STEP,
) -> Int64Array:
    """Periods for execution times such that all tasks together have about a utilization, in ns.

    Kernels cannot be interrupted, so no period is less than twice the longest execution time; the
    tasks that this makes lighter leave their share of the utilization to the others, who divide it
    evenly. The periods are rounded **up** to the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... steps,
    so the tasks' utilization is at most the one asked for. Such periods have a hyperperiod of at
    most three times the largest; where it would exceed 48 times the smallest period, the smallest
    are raised further until it does not.

    Raises ValueError when ``utilization`` is not in (0, n], when a wcet or ``step`` is below 1, or
    when a period exceeds 64 bits.
    """
    times = [operator.index(c) for c in wcet]
    step = integer(step, "step")
    if step < 1 or any(c < 1 for c in times):
        raise ValueError("step and execution times must be at least 1")
    if not 0 < utilization <= max(len(times), 1):
        raise ValueError(f"utilization is {utilization}, must be above 0 and at most {len(times)}")
    floor, rest, left = 2 * max(times, default=0), Fraction(utilization), len(times)
    periods = dict.fromkeys(times, 0)
    for c in sorted(times):  # the lightest first: they may not use their share
        periods[c] = max(floor, math.ceil(c / (rest / left)))
        rest -= Fraction(c, periods[c])
        left -= 1
    steps = [_grid(-(-periods[c] // step)) for c in times]
    while steps and math.lcm(*steps) > HYPERPERIOD_RATIO * min(steps):
        least = _grid(min(steps) + 1)
        steps = [max(s, least) for s in steps]
    if steps and max(steps) * step > INT64_MAX:
        raise ValueError("a period exceeds 64 bits of ns")
    return cast(Int64Array, column([s * step for s in steps]))


def _grid(steps: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, ... (2^k and 3 * 2^k) from ``steps`` on."""
    third = -(-steps // 3)
    return min(1 << (steps - 1).bit_length(), 3 << (third - 1).bit_length())


# The GPU


def known_gpu(gpu: GPU | None) -> GPU:
    """The GPU, or a ValueError that says how to give it."""
    if gpu is None:
        raise ValueError("the trace does not describe its GPU: read it with gpu=")
    return gpu


def occupancy_of(gpu: GPU | None, shapes: Trace | TraceKernels) -> Int64Array:
    """How many blocks of each launch or kernel one empty SM hosts."""
    from gpusched.model.gpu import occupancy

    gpu = known_gpu(gpu)
    resident = occupancy(gpu, threads=shapes.threads, regs=shapes.regs, smem=shapes.smem)
    return np.asarray(resident, dtype=np.int64)


def _gpu_text(gpu: GPU | None) -> str:
    if gpu is None:
        return "an unknown GPU"
    return f"{str(gpu.name)[:60] or 'a GPU'} ({gpu.sms} SMs)"


# What the classes share


Table = TypeVar("Table", Trace, TraceKernels)


def column(values: Iterable[Any], dtype: Any = np.int64) -> Any:
    """A read-only one-dimensional array."""
    if isinstance(values, np.ndarray):
        return frozen(values.astype(dtype))
    values = list(values)
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return frozen(array)


def take(table: Table, chosen: NDArray[Any]) -> Table:
    """The same table with only the chosen entries of every array."""
    columns = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            columns[field.name] = column(value[chosen], value.dtype)
    return replace(table, **columns)


def frame_of(table: Any) -> Any:
    """The arrays of a table as the columns of a pandas DataFrame."""
    import pandas as pd

    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    return pd.DataFrame({k: v for k, v in columns.items() if isinstance(v, np.ndarray)})


def _searcher(pattern: str | re.Pattern[str]) -> Any:
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ValueError(f"pattern {shown(_written(pattern))} is malformed: {error}") from error
    return lambda name: search(name) is not None


def _written(pattern: str | re.Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


# How they are shown


def _summary(trace: Trace) -> str:
    kernels, streams = len(set(trace.name)), len(np.unique(trace.stream))
    last = max((trace.start + trace.duration).tolist(), default=0)
    span = time_text(last - int(trace.start[0]) if len(trace) else 0, 4)
    where = os.path.basename(trace.source)[-60:]
    return (
        f"{len(trace)} launches of {kernels} kernels in {streams} streams over {span}, "
        f"{_gpu_text(trace.gpu)}{', ' if where else ''}{where}"
    )


def _table(kernels: TraceKernels, rows: int) -> str:
    heads = ("kernel", "launches", "blocks", "threads", "regs", "smem", "wcet", "median", "total")
    columns = [
        kernels.label[:rows],
        *(getattr(kernels, n)[:rows] for n in ("count", "blocks", "threads", "regs", "smem")),
        *([time_text(t, 4) for t in getattr(kernels, n)[:rows].tolist()] for n in heads[6:]),
    ]
    lines = ["".join(f"<th>{head}</th>" for head in heads)]
    lines += [
        "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)
        for row in zip(*columns, strict=True)
    ]
    table = "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    more = len(kernels) - rows
    return table + (f"<p>and {more} more</p>" if more > 0 else "")
