"""Utilization limit of kernels whose blocks start in FIFO order: [ECRTS17], Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, instance
from gpusched._support.results import Saved
from gpusched.analysis.fifo_threads import (
    COMMON,
    exact_utilization,
    threads_per_set,
    utilization_of,
)
from gpusched.model.answer import Answer, Claim, Flags, Ticks
from gpusched.model.fifo_model import refuse_derived_block_time
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FifoLimit", "fifo_limit"]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class FifoLimit(Answer):
    """Utilization limit of [ECRTS17], Theorem 1, and the utilization of task sets.

    A necessary test: a set is rejected if its utilization exceeds the number of threads, and
    undecided otherwise, whether ``within`` the limit or not. If the jobs of a task run one after
    the other, the limit guarantees nothing: there are task sets far below it whose response times
    grow without bound. `fifo_bound` computes proven bounds.

    >>> tasks = gs.KernelTasks([100, 110], block_time=[90, 20], blocks=[1, 2])
    >>> limit = gs.analysis.fifo_limit(tasks, threads=2)
    >>> limit.limit, float(limit.utilization), limit.within, limit.schedulable
    (2, 1.2636363636363637, True, None)

    Attributes
    ----------
    tasks, threads
        The tasks and the number of threads m: an int, or int64 ``(N,)``.
    limit
        ``m - b_max + 1`` threads; above it there are task sets with unbounded response times
        (Theorem 1). An int, or int64 ``(N,)``.
    saturation
        Minimum number of busy threads while a block waits, at least the limit; 0 if no block ever
        waits. An int, or int64 ``(N,)``.
    within
        Whether the utilization is at most the limit (decided exactly): a bool, or bool ``(N,)``.
    rejected
        Whether the utilization exceeds the number of threads (decided exactly): a bool, or bool
        ``(N,)``.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "FifoLimit"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks,)
    _SHOWN: ClassVar[tuple[str, ...]] = ("deadline", "utilization")

    tasks: KernelTasks
    threads: Ticks
    limit: Ticks
    saturation: Ticks
    within: Flags
    rejected: Flags
    seconds: float = field(default=0.0, compare=False)

    @property
    def _tasks(self) -> KernelTasks:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "necessary": a set that is not rejected is undecided."""
        return "necessary"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        return COMMON

    @property
    def accepted(self) -> Flags:
        """False for every set: a bool, or bool ``(N,)``."""
        return np.zeros(len(self.tasks), np.bool_) if self.is_stack else False

    @property
    def utilization(self) -> Any:  # a Fraction or an array, as is_stack says
        """Average number of threads that the tasks need: a ``Fraction``, or float ``(N,)``."""
        tasks = self.tasks
        rows = (tasks.period, tasks.block_time, tasks.blocks, tasks.threads)
        return utilization_of(*rows) if self.is_stack else exact_utilization(rows)

    @property
    def bounded(self) -> BoolArray:
        """Whether each task has a response bound: False for all tasks."""
        return np.zeros(self.tasks.period.shape, np.bool_)

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.tasks)

    def _responses(self) -> tuple[Int64Array, BoolArray]:
        return np.zeros(self.tasks.period.shape, np.int64), self.bounded

    def _share(self) -> npt.NDArray[np.float64]:
        """Threads that each task needs on average."""
        tasks = self.tasks
        found: npt.NDArray[np.float64] = (
            tasks.blocks * tasks.threads * tasks.block_time / tasks.period
        )
        return found

    def _reason(self) -> str:
        share = f"The utilization is {float(self.utilization):.6g} of {self.threads:,} threads"
        if self.rejected:
            return f"{share}: responses are unbounded."
        side = "within" if self.within else "above"
        return f"{share}, {side} the limit of {self.limit:,}; the limit is no guarantee."

    def _reason_of(self, i: int) -> str:
        return f"{self._name(i)}: {float(self._share()[i]):.6g} threads on average."

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {**super()._columns(), "utilization": self._share()}

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw each task's share of the threads, with the limit and the number of threads.

        For a stack, draw a bar chart of the rejected and undecided sets.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Unused; the picture has no time axis.

        Returns
        -------
        The axes.
        """
        if self.is_stack:
            return self._plot_counts(ax)
        from gpusched._draw import axes as plot

        ax = plot.axes(ax, (6.4, 2.0))
        left = 0.0
        for i, share in enumerate(self._share().tolist()):
            label = self._label(i) if i < 8 else None
            ax.barh(0, share, 0.5, left=left, color=plot.color(i), label=label)
            left += share
        ax.axvline(float(self.limit), color=plot.INK, linewidth=2, label="limit")
        ax.axvline(float(self.threads), color=plot.LATE, linewidth=2, label="threads of the GPU")
        ax.set_yticks([])
        ax.set_ylim(-0.6, 0.6)
        ax.set_xlim(0, 1.04 * max(left, float(self.threads)))
        ax.set_xlabel("threads")
        plot.legend(ax, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        return ax

    def _form(self) -> str:
        if self.is_stack:
            return f"{int(np.sum(self.within))} within the utilization limit"
        side = "within" if self.within else "above"
        return f"utilization {float(self.utilization):.6g}, {side} the limit of {self.limit:,}"


def fifo_limit(tasks: KernelTasks, threads: npt.ArrayLike) -> FifoLimit:
    """Compute the utilization limit of [ECRTS17], Theorem 1, and compare task sets with it.

    The limit is no guarantee if the jobs of a task run one after the other. Example: two tasks on
    two threads, with blocks of one thread. The first has one block that takes 90 every 100, the
    second two blocks that take 20 every 110. The limit is 2 and the utilization 1.26, but if the
    second task is released first, the responses of the first task are 110, 120, 130, and so on. Use
    `fifo_bound` for guarantees.

    >>> tasks = gs.KernelTasks([100, 110], block_time=[90, 20], blocks=[1, 2])
    >>> gs.analysis.fifo_limit(tasks, threads=2).within
    True

    Parameters
    ----------
    tasks
        One task set, or a stack of N. ``blocks``, ``threads``, ``block_time`` and ``period`` are
        used.
    threads
        Number of threads of the GPU (m in the paper): a number, or ``(N,)``.

    Returns
    -------
    FifoLimit
        Necessary: rejected or undecided.

    Raises
    ------
    ValueError, OverflowError
        As in `fifo_bound`.
    """
    instance(tasks, KernelTasks, "tasks")
    began = perf_counter()
    m = threads_per_set(threads, tasks)
    period, block_time = np.atleast_2d(tasks.period), np.atleast_2d(tasks.block_time)
    rows = (period, block_time, np.atleast_2d(tasks.blocks), np.atleast_2d(tasks.threads))
    limit = _core.fifo_saturation(*rows, m, overlap=False, paper=True, stop=None)
    beta = _core.fifo_saturation(*rows, m, overlap=False, paper=False, stop=None)
    refuse_derived_block_time(tasks, m if tasks.is_stack else m[0])
    share = utilization_of(*rows)
    within, over = ~_exceeds(rows, share, limit), _exceeds(rows, share, m)
    if tasks.is_stack:
        seconds = perf_counter() - began
        return FifoLimit(tasks, m, limit, beta, within, over, seconds)
    return FifoLimit(
        tasks=tasks,
        threads=int(m[0]),
        limit=int(limit[0]),
        saturation=int(beta[0]),
        within=bool(within[0]),
        rejected=bool(over[0]),
        seconds=perf_counter() - began,
    )


def _exceeds(
    rows: tuple[Int64Array, ...], share: npt.NDArray[np.float64], limit: Int64Array
) -> BoolArray:
    """Flags of utilizations above a number of threads; fractions decide close cases."""
    above = share > limit
    for i in np.flatnonzero(np.abs(share - limit) <= 1e-9 * limit):
        above[i] = exact_utilization(tuple(row[int(i)] for row in rows)) > int(limit[i])
    found: BoolArray = above
    return found
