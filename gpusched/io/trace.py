"""Traces of real programs: launches, kernels, and periodic tasks made of them.

`gpusched.io.read_trace` reads a `Trace` from a file.
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
    import pandas as pd

    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["Trace", "TraceKernels", "harmonic_periods"]

Names = NDArray[np.object_]

INT64_MAX = 2**63 - 1
PERIOD_STEP = 50_000
HYPERPERIOD_RATIO = 48


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Kernel launches of one device, sorted by start: read-only arrays, one entry per launch.

    Attributes
    ----------
    name
        Full names of the kernels (object array of str).
    start, duration
        Times in ns; ``start`` is on the file's clock.
    blocks, threads
        Blocks of the grid, threads of one block.
    regs, smem
        Registers of one thread, bytes of shared memory of one block (static and dynamic).
    device, context, stream
        Device, context and stream of the launch; ``device`` has one value only.
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
        """Launches of the kernels whose full name contains a match of a regular expression.

        The result is empty when there is no match. Raises ``ValueError`` for a malformed
        expression.
        """
        search = _searcher(pattern)
        known = {name: search(name) for name in set(self.name)}
        return take(self, np.array([known[name] for name in self.name], dtype=bool))

    def kernels(self) -> TraceKernels:
        """Launches grouped by equal (name, blocks, threads, regs, smem), by decreasing total time.

        Kernels with equal total times are in the order of their first launches. Raises
        ``ValueError`` when a total exceeds 64 bits.
        """
        groups: dict[tuple[Any, ...], list[int]] = {}
        shapes = (self.blocks, self.threads, self.regs, self.smem)
        rows = zip(self.name, *(a.tolist() for a in shapes), self.duration.tolist(), strict=True)
        for *key, duration in rows:
            groups.setdefault(tuple(key), []).append(duration)

        totals = {key: sum(times) for key, times in groups.items()}
        keys = sorted(groups, key=totals.__getitem__, reverse=True)
        if keys and totals[keys[0]] > INT64_MAX:
            raise ValueError(
                f"kernel {shown(keys[0][0])}: got a total time of {totals[keys[0]]} ns, expected "
                "64 bits"
            )
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
        """Choose the kernels with the largest total times.

        Parameters
        ----------
        count
            Number of kernels; fewer are returned where the trace has fewer.
        pattern
            Regular expression on full names: only kernels that match are considered, whether they
            fit the GPU or not.
        together
            Without a pattern: prefer kernels all of whose blocks are resident at once on the empty
            GPU (``TraceKernels.fits``), because only these can share the GPU with others in a
            batch. Where fewer than ``count`` fit, the largest others follow; each of them runs
            alone in its batches.

        Returns
        -------
        TraceKernels
            By decreasing total time.

        Raises
        ------
        ValueError
            Nothing matches; no kernel can run on the GPU; the GPU is unknown and ``together``
            requires it.
        """
        count = integer(count, "count")
        if count < 1:
            raise ValueError(f"count: got {count}, expected a positive number")
        kernels = self.kernels()
        if pattern is not None:
            search = _searcher(pattern)
            chosen = np.flatnonzero([search(name) for name in kernels.name])[:count]
            if chosen.size == 0:
                raise ValueError(
                    f"pattern: got {shown(_written(pattern))}, expected one that matches a kernel"
                )
        elif together:
            fits = kernels.fits()
            others = (kernels.occupancy() > 0) & ~fits
            chosen = np.flatnonzero(fits)[:count]
            fill = np.flatnonzero(others)[: count - chosen.size]
            chosen = np.sort(np.concatenate([chosen, fill]))
            if chosen.size == 0:
                raise ValueError(
                    f"gpu: got {_gpu_text(self.gpu)}, expected one that can run a kernel"
                )
        else:
            chosen = np.arange(len(kernels))[:count]
        return take(kernels, chosen)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per launch; its columns are the arrays' names."""
        return frame_of(self)

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(_summary(self))}</p>{_table(self.kernels(), 10)}"


@dataclass(frozen=True, eq=False, repr=False)
class TraceKernels:
    """Kernels of a trace (launches with equal name and shape), by decreasing total time.

    All attributes but ``gpu`` are read-only arrays with one entry per kernel.

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
        Largest, median (rounded down) and sum of the measured durations, in ns. ``wcet`` is the
        largest *observed* duration, with the interference of that run; it is not a bound.
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
        """Number of blocks of each kernel that an empty SM can host; 0 when a block does not fit.

        Raises ``ValueError`` when the GPU is unknown.
        """
        return occupancy_of(self.gpu, self)

    def fits(self) -> NDArray[np.bool_]:
        """True per kernel when all its blocks are resident at once on the empty GPU.

        That is blocks <= SMs * occupancy. Raises ``ValueError`` when the GPU is unknown.
        """
        return np.asarray(self.blocks <= known_gpu(self.gpu).sms * self.occupancy())

    def waves(self) -> Int64Array:
        """Number of waves in which each kernel runs alone: ceil(blocks / (SMs * occupancy)).

        Raises ``ValueError`` when the GPU is unknown or a kernel's block fits on no SM.
        """
        resident = known_gpu(self.gpu).sms * self.occupancy()
        if np.any(resident == 0):
            label = self.label[np.argmin(resident)]
            raise ValueError(
                f"kernel {label!r}: got a block that fits no SM, expected one within the limits of "
                f"{_gpu_text(self.gpu)}"
            )
        return cast(Int64Array, -(-self.blocks // resident))

    def tasks(
        self,
        period: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
        utilization: float = 1.0,
    ) -> KernelTasks:
        """These kernels as periodic tasks, named by their labels; all times in ns.

        ``wcet`` is the largest duration in the trace. **A measured duration includes interference
        by concurrent kernels, and it is the time of the whole grid, not of one block**: the result
        is a realistic example, not a safe model of the program. When the GPU is known,
        ``block_time`` = ceil(wcet / waves), which assumes ``waves()`` rounds of equal blocks;
        otherwise it equals ``wcet``.

        Parameters
        ----------
        period, deadline
            In ns; one number for all, or one per kernel. Deadlines default to periods. Without
            ``period``, the periods are chosen by ``harmonic_periods(wcet, utilization)``; they
            are not the program's.
        utilization
            Utilization of all tasks together when the periods are chosen.

        Returns
        -------
        KernelTasks
            One task per kernel.

        Raises
        ------
        ValueError
            No kernels, a kernel with a measured duration of 0, a kernel whose block fits on no SM,
            or values that ``KernelTasks`` does not accept.
        """
        from gpusched.model.kernel_tasks import KernelTasks

        if len(self) == 0:
            raise ValueError("kernels: got none, expected at least one")
        if np.any(self.wcet < 1):
            label = self.label[np.argmin(self.wcet)]
            raise ValueError(
                f"kernel {label!r}: got a measured duration of 0, expected a positive number "
                "(leave it out)"
            )
        for what, values in (("period", period), ("deadline", deadline)):
            if values is not None and np.shape(values) not in ((), (len(self),)):
                raise ValueError(
                    f"{what}: got shape {np.shape(values)}, expected one number or {len(self)}"
                )
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

    def to_frame(self) -> pd.DataFrame:
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
    """Periods, in ns, with which tasks of given execution times have about a given utilization.

    No period is less than twice the longest execution time, because kernels cannot be preempted.
    Where this reduces the utilization of a task, the difference is divided evenly among the others.
    The periods are rounded **up** to the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... steps, so that
    the tasks' utilization is at most ``utilization``. The hyperperiod of such periods is at most
    three times the largest; where it would exceed 48 times the smallest period, the smallest
    periods are increased.

    Parameters
    ----------
    wcet
        Execution times in ns, one per task.
    utilization
        Utilization of all tasks together, in (0, n].
    step
        Unit of the periods, in ns.

    Returns
    -------
    int64 array
        One period per task.

    Raises
    ------
    ValueError
        ``utilization`` is not in (0, n], an execution time or ``step`` is not positive, or a period
        exceeds 64 bits.
    """
    times = [operator.index(c) for c in wcet]
    step = integer(step, "step")
    if step < 1:
        raise ValueError(f"step: got {step}, expected a positive number")
    if wrong := [i for i, c in enumerate(times) if c < 1]:
        raise ValueError(f"wcet[{wrong[0]}]: got {times[wrong[0]]}, expected a positive number")
    if not 0 < utilization <= max(len(times), 1):
        raise ValueError(
            f"utilization: got {utilization}, expected more than 0 and at most {len(times)}"
        )
    floor, rest, left = 2 * max(times, default=0), Fraction(utilization), len(times)
    periods = dict.fromkeys(times, 0)
    for c in sorted(times):  # by increasing time, since these may not use their share
        periods[c] = max(floor, math.ceil(c / (rest / left)))
        rest -= Fraction(c, periods[c])
        left -= 1
    steps = [_grid(-(-periods[c] // step)) for c in times]
    while steps and math.lcm(*steps) > HYPERPERIOD_RATIO * min(steps):
        least = _grid(min(steps) + 1)
        steps = [max(s, least) for s in steps]
    if steps and max(steps) * step > INT64_MAX:
        raise ValueError(
            f"utilization: got {utilization}, expected more (a period exceeds 64 bits of ns)"
        )
    return cast(Int64Array, column([s * step for s in steps]))


def _grid(steps: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, ... (2^k and 3 * 2^k) that is at least ``steps``."""
    third = -(-steps // 3)
    return min(1 << (steps - 1).bit_length(), 3 << (third - 1).bit_length())


def known_gpu(gpu: GPU | None) -> GPU:
    """``gpu``, or a ``ValueError`` when it is None."""
    if gpu is None:
        raise ValueError("gpu: got None, expected the GPU of the trace (read the trace with gpu=)")
    return gpu


def occupancy_of(gpu: GPU | None, shapes: Trace | TraceKernels) -> Int64Array:
    """Number of blocks of each launch or kernel that an empty SM can host."""
    from gpusched.model.gpu import occupancy

    gpu = known_gpu(gpu)
    resident = occupancy(gpu, threads=shapes.threads, regs=shapes.regs, smem=shapes.smem)
    return np.asarray(resident, dtype=np.int64)


def _gpu_text(gpu: GPU | None) -> str:
    if gpu is None:
        return "an unknown GPU"
    return f"{str(gpu.name)[:60] or 'a GPU'} ({gpu.sms} SMs)"


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
    """The table restricted to the chosen entries of every array."""
    columns = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            columns[field.name] = column(value[chosen], value.dtype)
    return replace(table, **columns)


def frame_of(table: Any) -> pd.DataFrame:
    """The arrays of a table as the columns of a pandas DataFrame."""
    import pandas as pd

    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    return pd.DataFrame({k: v for k, v in columns.items() if isinstance(v, np.ndarray)})


def _searcher(pattern: str | re.Pattern[str]) -> Any:
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ValueError(
            f"pattern: got {shown(_written(pattern))}, expected a regular expression: {error}"
        ) from error
    return lambda name: search(name) is not None


def _written(pattern: str | re.Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


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
