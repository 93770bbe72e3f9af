"""Paper 000: which responses do concurrent kernels have, and when have they a bound?

M. Yang, J. H. Anderson: Response-Time Bounds for Concurrent GPU Scheduling, ECRTS 2017, work in
progress. Its figures are schedules; the one with bounds on random task sets is ours, about the
question that the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import plot
from gpusched._check import integer, one_of
from gpusched.results import Results

if TYPE_CHECKING:
    from gpusched.fifo import FifoRun
    from gpusched.simulate import Order
    from gpusched.tasks import KernelTasks

__all__ = ["Figure2", "Figure3", "yang_fig2", "yang_fig3"]

ORDERS: tuple[Order, ...] = ("hardware", "release", "strict", "overlap")

# Figure 2 --------------------------------------------------------------------------------------

_TENTHS = 10  # ticks per unit of the paper's times, which have one decimal


@dataclass(frozen=True, eq=False, repr=False)
class Figure2(Results):
    """The table of ``yang_fig2``; see there. ``run`` is the simulation."""

    run: FifoRun

    def plot(self, ax: Any = None) -> Any:
        """Draws which threads run which kernels, and returns the axes."""
        names = zip(
            self["task"].tolist(), self["job"].tolist(), self["kernel"].tolist(), strict=True
        )
        labels = {(task, job): kernel for task, job, kernel in names}
        ax = self.run.plot(ax, labels=labels)
        last = int(self["finish"].max()) // _TENTHS
        ticks = range(0, last + 1, 2)
        ax.set_xticks([_TENTHS * tick for tick in ticks], [str(tick) for tick in ticks])
        ax.set_xlabel("time")
        return ax


def yang_fig2(order: Order = "hardware") -> Figure2:
    """Paper 000, Figure 2 (Examples 1 and 2): five kernels on 4096 threads.

    The tasks are those of Example 2, all released at 0; K5 is the second job of the first one,
    released at 8. (In Example 1 it waits in its stream behind K1; it starts at the same instant.)
    The text lets K5 start when K4 finishes. By rule R1 it starts when K3 does, at 12: then 1,536
    threads are free, and it needs 1,024.

    Parameters
    ----------
    order
        As in ``gs.simulate.fifo``.

    Returns
    -------
    Figure2
        Rows with columns kernel (K1 .. K5), task, job, release, start, dispatched (start of the
        last block) and finish, in tenths of the paper's unit; ``plot()`` draws the schedule.
    """
    from gpusched import simulate
    from gpusched.tasks import KernelTasks

    tasks = KernelTasks(
        period=[80, 160, 170, 180],
        block_time=[38, 60, 60, 112],
        blocks=[1, 7, 1, 5],
        threads=[1024, 512, 1024, 512],
        name=["τ₁", "τ₂", "τ₃", "τ₄"],
    )
    one_of(order, ORDERS, "order")
    run = simulate.fifo(tasks, 4096, order, until=81)
    names = ("task", "job", "release", "start", "dispatched", "finish")
    columns: dict[str, Any] = {"kernel": [f"K{k + 1}" for k in range(len(run))]}
    return Figure2(columns | {name: getattr(run, name) for name in names}, run)


# Figure 3 --------------------------------------------------------------------------------------


class Figure3(Results):
    """The table of ``yang_fig3``; see there."""

    def plot(self, axes: Any = None) -> Any:
        """Draws the responses over the job number, one diagram per largest block, and returns the
        array of axes. Orders that agree share a line."""
        sizes = list(dict.fromkeys(self["b_max"].tolist()))
        if axes is None:
            axes = plot.pyplot().subplots(
                1,
                len(sizes),
                figsize=(max(4.8, 4.1 * len(sizes)), 3.7),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )[1][0]
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        if len(axes) != len(sizes):
            raise ValueError(f"axes: {len(axes)} for {len(sizes)} sizes of blocks")
        orders = list(dict.fromkeys(self["order"].tolist()))
        for ax, size in zip(axes, sizes, strict=True):
            index = 0
            for epsilon in dict.fromkeys(self["epsilon"].tolist()):
                alike: dict[bytes, list[str]] = {}
                for order in orders:
                    rows = self.where(b_max=size, epsilon=epsilon, order=order)
                    alike.setdefault(rows["response"].tobytes(), []).append(order)
                for same in alike.values():
                    rows = self.where(b_max=size, epsilon=epsilon, order=same[0])
                    label = f"ε = {epsilon:g}"
                    if len(alike) > 1:
                        label += f", {', '.join(same)}"
                    style = {"marker": plot.MARKERS[index % len(plot.MARKERS)], "markersize": 4}
                    ax.plot(
                        rows["job"], rows["response"], color=plot.color(index), label=label, **style
                    )
                    index += 1
                ax.plot(rows["job"], rows["printed"], color=plot.MUTED, linewidth=1, linestyle="--")
            m = int(self.where(b_max=size)["threads"][0])
            ax.set_title(f"m = {m}, b_max = {size}", fontsize=11)
            ax.set_xlabel("job")
            ax.plot([], [], color=plot.MUTED, linewidth=1, linestyle="--", label="1 + ε j")
            ax.legend(frameon=False, fontsize=9)
            plot.grid(ax)
        axes[0].set_ylabel("response time of τ₃ (periods)")
        return axes


def yang_fig3(
    epsilons: Sequence[float] = (0.01, 0.05, 0.1),
    b_max: Sequence[int] = (1024, 768),
    threads: int = 4096,
    jobs: int = 20,
    orders: Sequence[Order] = ORDERS,
    ticks: int = 1000,
) -> Figure3:
    """Paper 000, Figure 3 (Theorem 1): tasks whose responses grow without bound.

    With k = floor(m / b_max) b_max and a period of one, the first task runs k / b_max blocks of
    b_max threads for epsilon, the second m - k blocks of one thread for 1 (none where b_max
    divides m), the third k - b_max + 1 blocks of one thread for 1. The theorem says that job j of
    the third has the response 1 + epsilon j. That is so where b_max divides m; elsewhere the
    schedule of its Figure 3 does not go on after its first periods, and the responses grow more
    slowly, but for ever too.

    Parameters
    ----------
    epsilons
        Parts of the period: between 0 and 1, and whole numbers of ticks.
    b_max
        The largest block sizes, one diagram each; within 1 .. threads.
    threads
        m in the paper.
    jobs
        How many jobs of the third task.
    orders
        As in ``gs.simulate.fifo``; the theorem holds for each of them.
    ticks
        Ticks per period.

    Returns
    -------
    Figure3
        Rows with columns order, threads, b_max, epsilon, utilization (of all three), job (from 1),
        response, printed (1 + epsilon j; both in periods) and outcome (what the simulation finds
        about all jobs to come); ``plot()`` draws it.
    """
    from gpusched import simulate

    if integer(jobs, "jobs") < 1:
        raise ValueError(f"jobs = {jobs}: must be positive")
    columns: dict[str, list[Any]] = {}
    for order in orders:
        one_of(order, ORDERS, "orders")
        for size in b_max:
            for epsilon in epsilons:
                tasks = _theorem_1(threads, size, epsilon, ticks)
                last = tasks.n - 1
                run = simulate.fifo(
                    tasks, threads, order, until=jobs * ticks, settle="no", waves=False
                )
                forever = simulate.fifo_responses(tasks, threads, order)
                response = run.responses(last) / ticks
                number = np.arange(1, jobs + 1)
                work = tasks.blocks * tasks.threads * tasks.block_time
                values: dict[str, Any] = {
                    "order": order,
                    "threads": threads,
                    "b_max": size,
                    "epsilon": float(epsilon),
                    "utilization": float(work.sum() / ticks),
                    "job": number,
                    "response": response,
                    "printed": 1 + float(epsilon) * number,
                    "outcome": str(forever.outcome),
                }
                for name, value in values.items():
                    columns.setdefault(name, []).append(np.broadcast_to(value, (jobs,)))
    return Figure3({name: np.concatenate(parts) for name, parts in columns.items()})


def _theorem_1(threads: int, b_max: int, epsilon: float, ticks: int) -> KernelTasks:
    """The tasks of Theorem 1; the second one is left out where it has no blocks."""
    from gpusched.tasks import KernelTasks

    m, widest, scale = integer(threads, "threads"), integer(b_max, "b_max"), integer(ticks, "ticks")
    if not 1 <= m < 2**31:
        raise ValueError(f"threads = {m}: must be positive, and within 31 bits")
    if scale < 1:
        raise ValueError(f"ticks = {scale}: must be positive")
    if not 1 <= widest <= m:
        raise ValueError(f"b_max = {widest}: must be within 1 .. {m} threads")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilons: {epsilon} is not between 0 and 1")
    length = Fraction(repr(float(epsilon))) * scale
    if length.denominator != 1:
        raise ValueError(
            f"epsilons: {epsilon} is no whole number of ticks, with {scale} per period"
        )
    k = m // widest * widest
    rows = [(int(length), k // widest, widest), (scale, m - k, 1), (scale, k - widest + 1, 1)]
    block_time, blocks, width = zip(*(row for row in rows if row[1] > 0), strict=True)
    names = [name for name, row in zip(("τ₁", "τ₂", "τ₃"), rows, strict=True) if row[1] > 0]
    return KernelTasks(scale, None, None, list(block_time), list(blocks), list(width), name=names)
