"""Kernels of a trace: launches of equal name and shape, and periodic tasks made of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpusched._support.arguments import Int64Array, integer
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, escape, time_text
from gpusched.io.traces.trace_tables import (
    INT64_MAX,
    Names,
    column,
    gpu_text,
    known_gpu,
    occupancy_of,
    table_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks

PERIOD_STEP = 50_000
HYPERPERIOD_RATIO = 48


def harmonic_periods(
    wcet: Sequence[SupportsIndex] | Int64Array,
    utilization: float = 1.0,
    step: SupportsIndex = PERIOD_STEP,
) -> Int64Array:
    """Choose periods, in ns, with which tasks have approximately a given total utilization.

    No period is less than twice the longest execution time, because kernels cannot be preempted. If
    this reduces the utilization of a task, the difference is divided evenly among the others. The
    periods are rounded **up** to the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... steps, so that the
    utilization of the tasks is at most ``utilization``. The hyperperiod of such periods is at most
    three times the largest period. If it would exceed 48 times the smallest period, the smallest
    periods are increased.

    >>> gs.io.harmonic_periods([20_000, 30_000], utilization=0.5).tolist()
    [100000, 150000]

    Parameters
    ----------
    wcet
        Execution times in ns, one per task.
    utilization
        Total utilization of all tasks, in (0, n].
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
        periods[c] = max(periods[c], floor, math.ceil(c / (rest / left)))  # one for equal times
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


def utilization_text(wcet: Int64Array, periods: Int64Array, asked: float) -> str:
    """A sentence about the utilization with chosen periods, and why it is less than asked for.

    >>> periods = gs.io.harmonic_periods([800_000, 1_000_000], 1.9)
    >>> utilization_text(np.array([800_000, 1_000_000]), periods, 1.9)[:36]
    'utilization 0.75 (asked for: 1.9): k'
    """
    times = wcet.tolist()
    pairs = zip(times, periods.tolist(), strict=True)
    reached = sum((Fraction(c, p) for c, p in pairs), Fraction(0))
    text = f"utilization {float(reached):.4g}"
    if reached >= Fraction(asked):
        return text
    floor = 2 * max(times)
    most = Fraction(sum(times), floor)
    reasons = []
    if most < Fraction(asked):
        reasons.append(
            f"kernels cannot be interrupted, and no period is below {time_text(floor, 4)}, twice "
            f"the longest kernel, which allows {float(most):.4g}"
        )
    if reached < min(most, Fraction(asked)):
        reasons.append(
            f"periods are rounded up to 1, 2, 3, 4, 6, 8, ... times {time_text(PERIOD_STEP, 4)}, "
            "which keeps the hyperperiod short"
        )
    return f"{text} (asked for: {asked:g}): {'; '.join(reasons)}"


def _grid(steps: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, ... (2^k and 3 * 2^k) that is at least ``steps``."""
    third = -(-steps // 3)
    return min(1 << (steps - 1).bit_length(), 3 << (third - 1).bit_length())


@dataclass(frozen=True, eq=False, repr=False)
class TraceKernels(Tabular):
    """Kernels of a trace (launches with equal name and shape), by decreasing total time.

    All attributes except ``gpu`` are read-only arrays with one entry per kernel.

    >>> kernels = gs.io.read_trace("tests/data/pipeline.pt.trace.json").choose(2)
    >>> kernels.count.tolist(), kernels.wcet.tolist()
    ([8, 8], [216192, 164832])

    Attributes
    ----------
    name, label
        The full name, and a short one without namespaces and template arguments: at most 40
        characters, different for every kernel (#2, #3, ... if short names are equal).
    blocks, threads, regs, smem
        The shape, as in ``Trace``.
    count
        Number of launches.
    wcet, median, total
        Largest, median (rounded down) and sum of the measured durations, in ns. ``wcet`` is the
        largest *observed* duration, including the interference of that run; it is not a bound.
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
        """Number of blocks of each kernel that an empty SM can host.

        It is 0 if a block does not fit, or if the kernel's grid and block are unknown.

        Raises ValueError if the GPU is unknown.
        """
        return occupancy_of(self.gpu, self)

    def fits(self) -> NDArray[np.bool_]:
        """Whether all blocks of each kernel are resident at once on the empty GPU.

        This is the case if blocks <= SMs * occupancy and a block fits. Raises ValueError if the GPU
        is unknown.
        """
        resident = known_gpu(self.gpu).sms * self.occupancy()
        return np.asarray((self.blocks <= resident) & (resident > 0))

    def waves(self) -> Int64Array:
        """Number of waves of each kernel when it runs alone: ceil(blocks / (SMs * occupancy)).

        Raises ValueError if the GPU is unknown, a block does not fit an SM, or the grid is unknown.
        """
        self._refuse_without_grid()
        resident = known_gpu(self.gpu).sms * self.occupancy()
        if np.any(resident == 0):
            label = self.label[np.argmin(resident)]
            raise ValueError(
                f"kernel {label!r}: got a block that fits no SM, expected one within the limits of "
                f"{gpu_text(self.gpu)}"
            )
        return cast(Int64Array, -(-self.blocks // resident))

    def tasks(
        self,
        period: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
        utilization: float = 1.0,
    ) -> KernelTasks:
        """Make periodic tasks from these kernels, named by their labels; all times are in ns.

        ``wcet`` is the largest duration in the trace. **A measured duration includes interference
        by concurrent kernels, and it is the time of the whole grid, not of one block**: the result
        is a realistic example, not a safe model of the program. If the GPU is known,
        ``block_time`` is ceil(wcet / waves), which assumes ``waves()`` rounds of equal blocks;
        otherwise it equals ``wcet``.

        Parameters
        ----------
        period, deadline
            Periods and deadlines in ns; one number for all kernels, or one per kernel. Deadlines
            default to the periods. Default of ``period``: ``harmonic_periods(wcet, utilization)``;
            these are not the program's periods.
        utilization
            Total utilization of all tasks if the periods are chosen.

        Returns
        -------
        KernelTasks
            One task per kernel.

        Raises
        ------
        ValueError
            There are no kernels, a measured duration is 0, a grid is unknown, a block does not fit
            an SM, or ``KernelTasks`` refuses the values.
        """
        from gpusched.model.kernel_tasks import KernelTasks

        if len(self) == 0:
            raise ValueError("kernels: got none, expected at least one")
        self._refuse_without_grid()
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

    def _refuse_without_grid(self) -> None:
        if np.any(self.threads == 0):
            raise ValueError(
                f"kernel {self.label[np.argmin(self.threads)]!r}: got no grid and block, expected "
                "them (Trace.workload keeps such kernels with their time)"
            )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per kernel; its columns are the arrays."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of(self)

    def __repr__(self) -> str:
        shown = ", ".join(clip(label, 100) for label in self.label[:5]) + (
            ", ..." if len(self) > 5 else ""
        )
        return f"TraceKernels({len(self)}: {shown})"

    def _repr_html_(self) -> str:
        return table_html(self, 20)


def table_html(kernels: TraceKernels, rows: int) -> str:
    heads = ("kernel", "launches", "blocks", "threads", "regs", "smem", "wcet", "median", "total")
    columns = [
        kernels.label[:rows],
        *(getattr(kernels, n)[:rows] for n in ("count", "blocks", "threads", "regs", "smem")),
        *([time_text(t, 4) for t in getattr(kernels, n)[:rows].tolist()] for n in heads[6:]),
    ]
    lines = ["".join(f"<th>{head}</th>" for head in heads)]
    lines += [
        "".join(f"<td>{escape(clip(str(cell), 100))}</td>" for cell in row)
        for row in zip(*columns, strict=True)
    ]
    table = "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    more = len(kernels) - rows
    return table + (f"<p>and {more} more</p>" if more > 0 else "")
