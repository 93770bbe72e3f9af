"""Figures 2 and 3 of [ECRTS17], and a study of response-time bounds on random task sets.

M. Yang, J. H. Anderson: Response-Time Bounds for Concurrent GPU Scheduling, ECRTS 2017, work in
progress. Its figures are schedules; the study of bounds addresses the question that the paper
leaves open.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, some_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results, wilson
from gpusched._support.text import shown
from gpusched.model.fifo_model import ORDERS, Order
from gpusched.study.engine import run
from gpusched.study.execution import Execution
from gpusched.study.point_results import values_of
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.simulate.fifo_result import FifoRun

# Figure 2 --------------------------------------------------------------------------------------

_TENTHS = 10  # ticks per unit of the paper's times, which have one decimal


@dataclass(frozen=True, eq=False, repr=False)
class Figure2(Results):
    """Table of ``yang_fig2``; ``run`` is the simulation.

    >>> gs.experiments.yang_fig2()
    <Figure2: 5 rows of kernel, task, job, release, start, dispatched, end>
    """

    run: FifoRun

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the kernels on the threads over time; returns the axes."""
        names = zip(
            self["task"].tolist(), self["job"].tolist(), self["kernel"].tolist(), strict=True
        )
        labels = {(task, job): kernel for task, job, kernel in names}
        ax = self.run.plot(ax, labels=labels)
        last = int(self["end"].max()) // _TENTHS
        ticks = range(0, last + 1, 2)
        ax.set_xticks([_TENTHS * tick for tick in ticks], [str(tick) for tick in ticks])
        ax.set_xlabel("time (units of the paper)")
        return ax


def yang_fig2(order: Order = "hardware") -> Figure2:
    """Simulate Figure 2 of [ECRTS17] (Examples 1 and 2): five kernels on 4096 threads.

    The tasks are those of Example 2, all released at 0; K5 is the second job of the first task,
    released at 8. (In Example 1 it waits in its stream for K1, and starts at the same time.)
    According to the text, K5 starts when K4 ends. By rule R1, it starts when K3 ends, at
    12: at that time 1,536 threads are free, and it needs 1,024.

    >>> table = gs.experiments.yang_fig2()
    >>> table["kernel"].tolist(), table["end"].tolist()
    (['K1', 'K2', 'K3', 'K4', 'K5'], [38, 98, 120, 172, 158])

    Parameters
    ----------
    order
        As in ``gs.simulate.fifo``.

    Returns
    -------
    Figure2
        Rows with columns kernel (K1 .. K5), task, job, release, start, dispatched (start of the
        last block) and end, in tenths of the paper's unit.
    """
    from gpusched import simulate
    from gpusched.model.kernel_tasks import KernelTasks

    tasks = KernelTasks(
        period=[80, 160, 170, 180],
        block_time=[38, 60, 60, 112],
        blocks=[1, 7, 1, 5],
        threads=[1024, 512, 1024, 512],
        name=["τ₁", "τ₂", "τ₃", "τ₄"],
    )
    one_of(order, ORDERS, "order")
    run = simulate.fifo(tasks, 4096, order, until=81)
    names = ("task", "job", "release", "start", "dispatched", "end")
    columns: dict[str, Any] = {"kernel": [f"K{k + 1}" for k in range(len(run))]}
    return Figure2(columns | {name: getattr(run, name) for name in names}, run)


def _listed(values: Any, name: str) -> list[Any]:
    """A list of at least one value."""
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{name}: got {shown(values)}, expected a list of at least one value")
    return list(values)


def _orders(orders: Any) -> list[Order]:
    return cast("list[Order]", _listed(some_of(orders, ORDERS, "orders"), "orders"))


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: got {shown(value)}, expected a number") from None


# Figure 3 --------------------------------------------------------------------------------------


class Figure3(Results):
    """Table of ``yang_fig3``.

    >>> table = gs.experiments.yang_fig3([0.1], [1024], jobs=3, orders=["hardware"])
    >>> list(table.columns)[:5], len(table)
    (['order', 'threads', 'b_max', 'epsilon', 'utilization'], 3)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw response times over the job number, one diagram per largest block.

        Orders with equal responses share a line. Returns the array of axes.
        """
        sizes = list(dict.fromkeys(self["b_max"].tolist()))
        figure = (max(4.8, 4.1 * len(sizes)), 3.7)
        axes = plot.panels(axes, len(sizes), figure, "sizes of blocks", sharey=True)
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
    """Simulate Figure 3 of [ECRTS17] (Theorem 1): tasks with unbounded response times.

    With k = floor(m / b_max) b_max and a period of one, the first task runs k / b_max blocks of
    b_max threads for epsilon, the second m - k blocks of one thread for 1 (it is omitted if b_max
    divides m), the third k - b_max + 1 blocks of one thread for 1. By the theorem, job j of the
    third task has the response time 1 + epsilon j. This is true if b_max divides m. Otherwise the
    schedule of Figure 3 does not continue after its first periods, and the response times grow more
    slowly, but still without bound.

    >>> table = gs.experiments.yang_fig3([0.1], [1024], jobs=3, orders=["hardware"])
    >>> table["response"].tolist(), table["outcome"].tolist()
    ([1.1, 1.2, 1.3], ['diverges', 'diverges', 'diverges'])

    Parameters
    ----------
    epsilons
        Execution times as shares of the period: between 0 and 1, and whole numbers of ticks.
    b_max
        Largest block sizes, one diagram each; 1 to ``threads``.
    threads
        Number of threads of the GPU (m in the paper).
    jobs
        Number of jobs of the third task.
    orders
        As in ``gs.simulate.fifo``; the theorem holds for each of them.
    ticks
        Number of ticks per period.

    Returns
    -------
    Figure3
        Rows with columns order, threads, b_max, epsilon, utilization (of all three), job (from 1),
        response, printed (1 + epsilon j; both in periods) and outcome (of the simulation over an
        infinite horizon).
    """
    from gpusched import simulate

    if integer(jobs, "jobs") < 1:
        raise ValueError(f"jobs: got {jobs}, expected a positive number")
    columns: dict[str, list[Any]] = {}
    sizes, parts = _listed(b_max, "b_max"), _listed(epsilons, "epsilons")
    for order in _orders(orders):
        for size in sizes:
            for epsilon in parts:
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
    """Tasks of Theorem 1, without the second one where it has no blocks."""
    from gpusched.model.kernel_tasks import KernelTasks

    m, widest, scale = integer(threads, "threads"), integer(b_max, "b_max"), integer(ticks, "ticks")
    if not 1 <= m < 2**31:
        raise ValueError(f"threads: got {m}, expected 1 to 2**31 - 1")
    if scale < 1:
        raise ValueError(f"ticks: got {scale}, expected a positive number")
    if not 1 <= widest <= m:
        raise ValueError(f"b_max: got {widest}, expected 1 to {m} threads")
    if not 0 < _number(epsilon, "epsilons") < 1:
        raise ValueError(f"epsilons: got {epsilon}, expected a number between 0 and 1")
    length = Fraction(repr(float(epsilon))) * scale
    if length.denominator != 1:
        raise ValueError(
            f"epsilons: got {epsilon}, expected a whole number of ticks with {scale} per period"
        )
    k = m // widest * widest
    rows = [(int(length), k // widest, widest), (scale, m - k, 1), (scale, k - widest + 1, 1)]
    block_time, blocks, width = zip(*(row for row in rows if row[1] > 0), strict=True)
    names = [name for name, row in zip(("τ₁", "τ₂", "τ₃"), rows, strict=True) if row[1] > 0]
    return KernelTasks(scale, None, None, list(block_time), list(blocks), list(width), name=names)


# Bounds ----------------------------------------------------------------------------------------

UTILIZATIONS = tuple(k / 20 for k in range(2, 20))
_SETS = 64  # in a chunk, for a short time to an interrupt


class Bounds(Results):
    """Table of ``yang_bounds``.

    >>> table = gs.experiments.yang_bounds([0.4], count=5, orders=["hardware"], progress=False)
    >>> list(table.columns)[:5], len(table)
    (['order', 'utilization', 'n', 'threads', 'count'], 1)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw the share of bounded tasks, and bounds and observed responses relative to periods.

        Both diagrams are over the utilization. Returns the array of axes.
        """
        axes = plot.panels(axes, 2, (9.4, 3.9))
        shares, responses = axes
        for index, order in enumerate(dict.fromkeys(self["order"].tolist())):
            rows = self.where(order=order)
            x = rows["utilization"]
            low, high = rows["bounded_low"] * 100, rows["bounded_high"] * 100
            plot.band(shares, x, rows["bounded"] * 100, low, high, order, index)
            style = {"color": plot.color(index), "markersize": 4}
            marker = plot.MARKERS[index % len(plot.MARKERS)]
            responses.plot(x, rows["bound_median"], marker=marker, **style)
            responses.plot(x, rows["observed_median"], linestyle="--", linewidth=1.2, **style)
        level = float(self["saturation"].mean())
        shares.axvline(
            level, color=plot.MUTED, linewidth=1, linestyle=":", label="saturation level, mean"
        )
        shares.set_ylim(-3, 103)
        shares.set_ylabel("tasks with a bound (%)")
        responses.set_yscale("log")
        responses.set_ylabel("response time / period, median")
        responses.plot([], [], color=plot.MUTED, label="bound")
        responses.plot([], [], color=plot.MUTED, linestyle="--", label="observed, same tasks")
        for ax in axes:
            ax.set_xlabel("utilization / threads")
            ax.set_xlim(self["utilization"].min() - 0.02, self["utilization"].max() + 0.02)
            ax.legend(frameon=False, fontsize=9)
            plot.grid(ax)
        return axes


@shardable
def yang_bounds(
    utilizations: Sequence[float] = UTILIZATIONS,
    n: int = 6,
    threads: int = 4096,
    count: int = 200,
    seed: Any = 1,
    orders: Sequence[Order] = ORDERS,
    *,
    sets: Mapping[str, Any] | None = None,
    horizon: int = 20,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> Bounds | StoredStudy:
    """Compute shares of tasks with a response-time bound, and tightness of the bounds.

    This addresses the open question of [ECRTS17]. Random task sets are those of
    ``gs.generate.fifo``, the same for every order; bounds are those of ``gs.analysis.fifo_bound``.
    Each set is also simulated for ``horizon`` times its longest period: with periodic releases
    (synchronous, and with random offsets), with sporadic releases and shorter execution times, and
    once per task with releases of the others that are chosen to maximise its response time. The
    observed response of a task is the largest one in these runs.

    >>> table = gs.experiments.yang_bounds([0.4], count=5, orders=["hardware"], progress=False)
    >>> table["violations"].tolist()
    [0]

    Parameters
    ----------
    utilizations
        Utilizations of the sets, as shares of the threads.
    n, threads, count, seed
        Number of tasks per set, threads of the GPU, sets per point, and seed; equal seeds give
        equal tables.
    orders
        As in ``gs.simulate.fifo``.
    sets
        Further arguments of ``gs.generate.fifo``, such as ``periods``.
    horizon
        Simulated time, as a multiple of the longest period.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Orders, sets and utilizations at the end may be added to a store.

    Returns
    -------
    Bounds or StoredStudy
        Rows with columns order, utilization, n, threads, count, and

        - bounded: the share of the tasks that have a bound, with bounded_low and bounded_high (95 %
          confidence); sets: the share of the sets in which all tasks have one;
        - saturation: the mean saturation level, as a share of the threads;
        - "by " and the name of a theorem (``gs.analysis.THEOREMS``): the share of the tasks whose
          bound is given by that theorem;
        - for the tasks with a bound, NaN if there are none: bound_median and observed_median,
          relative to the period; tightness_mean and tightness_max, observed / bound;
        - violations: number of responses above a bound, which is 0;
        - observed_max: largest response of all tasks, relative to the period.
    """
    from gpusched.analysis import THEOREMS

    orders = _orders(orders)
    utilizations = [_number(u, "utilizations") for u in _listed(utilizations, "utilizations")]
    if integer(horizon, "horizon") < 1:
        raise ValueError(f"horizon: got {horizon}, expected a positive number")
    keys = [(order, i, u) for order in orders for i, u in enumerate(utilizations)]
    fixed: dict[str, Any] = {
        "n": n,
        "threads": threads,
        "sets": dict(sets or {}),
        "horizon": horizon,
    }
    found = run(
        functools.partial(_bounds, **fixed),
        [{"order": order, "utilization": u, "index": i} for order, i, u in keys],
        [spawn(seed)] * len(keys),
        count=count,
        execution=Execution(executor, workers, progress, None, store, shard),
        name="gs.experiments.yang_bounds",
        seed=seed,
        settings=fixed,
        largest=_SETS,
    )
    if isinstance(found, StoredStudy):
        return found
    values = values_of(found)
    theorem = np.array(THEOREMS)[
        np.stack([values[f"theorem {k}"] for k in range(n)], axis=-1).astype(np.intp)
    ]
    bound = np.stack([values[f"bound {k}"] for k in range(n)], axis=-1)  # relative to periods
    observed = np.stack([values[f"observed {k}"] for k in range(n)], axis=-1)
    columns: dict[str, list[Any]] = {}
    for row, (order, _, utilization) in enumerate(keys):
        has = theorem[row] != ""
        # Tasks of one set are not independent: the interval is that of `count` trials.
        low, high = wilson(has.mean() * count, count)
        tightness = observed[row][has] / bound[row][has]
        line: dict[str, Any] = {
            "order": order,
            "utilization": utilization,
            "n": n,
            "threads": threads,
            "count": count,
            "bounded": has.mean(),
            "bounded_low": float(low),
            "bounded_high": float(high),
            "sets": has.all(axis=1).mean(),
            "saturation": values["saturation"][row].mean() / threads,
            **{f"by {name}": (theorem[row] == name).mean() for name in THEOREMS if name},
            "bound_median": _or_nan(np.median, bound[row][has]),
            "observed_median": _or_nan(np.median, observed[row][has]),
            "tightness_mean": _or_nan(np.mean, tightness),
            "tightness_max": _or_nan(np.max, tightness),
            "violations": int(values["violations"][row].sum()),
            "observed_max": observed[row].max(),
        }
        for name, value in line.items():
            columns.setdefault(name, []).append(value)
    return Bounds({name: np.array(column) for name, column in columns.items()})


def _or_nan(statistic: Any, values: Any) -> float:
    return float(statistic(values)) if values.size else float("nan")


def _bounds(
    *,
    order: Order,
    utilization: float,
    index: int,
    n: int,
    threads: int,
    sets: dict[str, Any],
    horizon: int,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Bounds, observed responses and theorems; orders have the same sets, those of ``index``."""
    from gpusched import analysis, generate, simulate

    seed = spawn(seed, index)
    tasks = generate.fifo(
        n, utilization, threads, count=count, seed=spawn(seed, 0), first=first, **sets
    )
    found = analysis.fifo_bound(tasks, threads, order=order, stop=stop)
    largest = np.zeros(tasks.period.shape, dtype=np.int64)
    until = horizon * tasks.period.max(axis=1)
    for pattern, options in _patterns(tasks, first, seed):
        seen = simulate.fifo_responses(pattern, threads, order, until, stop=stop, **options)
        largest = np.maximum(largest, seen.worst)
    # Exact comparison of fractions of 63-bit numbers.
    violations = [
        sum(
            bool(known) and response * under > over
            for known, response, over, under in zip(*row, strict=True)
        )
        for row in zip(
            *(
                array.tolist()
                for array in (found.bounded, largest, found.numerator, found.denominator)
            ),
            strict=True,
        )
    ]
    under = np.where(found.bounded, found.denominator, 1)
    bound = np.where(found.bounded, found.numerator / under, np.nan) / tasks.period
    observed = largest / tasks.period
    return {
        **{f"theorem {k}": found.theorem_code[:, k].astype(np.int64) for k in range(n)},
        **{f"bound {k}": bound[:, k] for k in range(n)},
        **{f"observed {k}": observed[:, k] for k in range(n)},
        # 0: no block waits, and no thread is unusable.
        "saturation": np.where(found.saturation == 0, threads, found.saturation),
        "violations": np.array(violations, dtype=np.int64),
    }


def _patterns(
    tasks: KernelTasks, first: int, seed: np.random.SeedSequence
) -> Iterator[tuple[KernelTasks, dict[str, Any]]]:
    """Tasks with offsets, and options of their simulation."""
    yield tasks, {}
    shares = np.stack(
        [
            np.random.default_rng(spawn(seed, 1, first + i)).random(tasks.n)
            for i in range(len(tasks))
        ]
    )
    shifted = dataclasses.replace(tasks, offset=(shares * tasks.period).astype(np.int64))
    yield shifted, {}
    drawn = {"seed": spawn(seed, 2), "first": first}
    yield shifted, {"gap": 0.5, "execution": (0.5, 1.0), "draw": "wave", **drawn}
    for victim in range(tasks.n):
        yield tasks, {"victim": victim, "triggers": ("head", "tail", "end")}
