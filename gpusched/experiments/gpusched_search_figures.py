"""Figure 5 of [RTNS24]: search times and sizes of the schedule graph.

N. Feddal, H.-E. Zahaf, G. Lipari: Towards Efficient Parallel GPU Scheduling: Interference
Awareness with Schedule Abstraction, RTNS 2024.
"""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import flag, one_of, spawn
from gpusched._support.budget import Budget, Progress
from gpusched._support.results import Results
from gpusched.experiments.gpusched_figures import (
    UTILIZATIONS,
    append,
    draw_sets,
    draw_tables,
    panels_of,
    verdicts,
)
from gpusched.pbs.search_answer import STAGES
from gpusched.study.engine import run
from gpusched.study.execution import Execution
from gpusched.study.point_results import PerSet, PointResults, values_of
from gpusched.study.reductions import Extremes, Mean, Share
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweep_table import columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.batch_table import BatchTable
    from gpusched.model.kernel_tasks import KernelTasks


_State = tuple[int, tuple[int, ...]]  # a time, the executed jobs of each task


def count_paths(tasks: KernelTasks, table: BatchTable, depth: int, orders: bool) -> list[int]:
    """Vertices of the unmerged graph by number of executed jobs, from 0 to ``depth``.

    Such a vertex is a sequence of batches from the root. Sequences that execute the same jobs and
    end at the same time have the same continuations, so that it suffices to count them.

    Parameters
    ----------
    tasks, table
        One set with deadlines no longer than periods and no offsets, and its batch table.
    depth
        Largest number of executed jobs; vertices with this number are not expanded.
    orders
        Whether every order of submission of a batch leads to a vertex of its own, as in the text
        of [RTNS24]: k! vertices for a batch of k jobs, all of which are assumed to fit.
    """
    period, deadline = tasks.period.tolist(), tasks.deadline.tolist()
    completion = table.completion.tolist()
    horizon = math.lcm(*period)
    jobs = [horizon // t for t in period]
    sizes = [mask.bit_count() for mask in range(len(completion))]
    weight = [math.factorial(size) if orders else 1 for size in sizes]
    levels: list[dict[_State, int]] = [{} for _ in range(depth + 1)]
    levels[0][0, (0,) * len(period)] = 1
    for level, states in enumerate(levels):
        for (now, executed), paths in states.items():
            start = _start(now, executed, period, jobs)
            if level == depth or start is None:
                continue
            due = [
                k * t + d if k < m else math.inf
                for k, t, d, m in zip(executed, period, deadline, jobs, strict=True)
            ]
            ready = _ready(start, executed, period, jobs)
            batch = ready
            while batch:
                end = start + completion[batch]
                if (
                    completion[batch]
                    and _in_time(batch, end, due)
                    and level + sizes[batch] <= depth
                ):
                    after = tuple(k + (batch >> i & 1) for i, k in enumerate(executed))
                    reached = levels[level + sizes[batch]]
                    reached[end, after] = reached.get((end, after), 0) + paths * weight[batch]
                batch = (batch - 1) & ready
    return [sum(states.values()) for states in levels]


def _ready(time: int, executed: Sequence[int], period: Sequence[int], jobs: Sequence[int]) -> int:
    return sum(1 << i for i, k in enumerate(executed) if k < min(time // period[i] + 1, jobs[i]))


def _start(
    time: int, executed: Sequence[int], period: Sequence[int], jobs: Sequence[int]
) -> int | None:
    """Start of the next frame: now, or the next arrival; None when every job is executed."""
    if _ready(time, executed, period, jobs):
        return time
    arrivals = [k * t for k, t, m in zip(executed, period, jobs, strict=True) if k < m]
    return min(arrivals, default=None)


def _in_time(batch: int, end: int, due: Sequence[float]) -> bool:
    return all(end <= d if batch >> i & 1 else end < d for i, d in enumerate(due))


class SearchTimes(Results):
    """Table of ``gpusched_fig5("a")``.

    >>> table = gs.experiments.gpusched_fig5("a", count=3, utilizations=[0.4], progress=False)
    >>> list(table.columns)[:5], len(table)
    (['utilization', 'method', 'set', 'seconds', 'schedulable'], 6)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a box plot of the times per utilization and method; returns the axes."""
        ax = plot.axes(ax, (7.2, 4.0))
        methods = list(dict.fromkeys(self["method"].tolist()))
        utilizations = list(dict.fromkeys(self["utilization"].tolist()))
        width = 0.7 / len(methods)
        for index, method in enumerate(methods):
            shift = (index - (len(methods) - 1) / 2) * width
            times = [
                self.where(method=method, utilization=u)["seconds"] * 1e3 for u in utilizations
            ]
            line = {"color": plot.color(index), "linewidth": 1.2}
            ax.boxplot(
                times,
                positions=np.arange(len(utilizations)) + shift,
                widths=width * 0.85,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": plot.color(index) + "40", "edgecolor": plot.color(index)},
                medianprops={"color": plot.INK, "linewidth": 1.4},
                whiskerprops=line,
                capprops=line,
                flierprops={"markersize": 3, "markeredgecolor": plot.color(index)},
            )
            ax.plot([], [], color=plot.color(index), linewidth=6, alpha=0.5, label=method)
        ax.set_xticks(range(len(utilizations)), [f"{u:g}" for u in utilizations])
        ax.set_yscale("log")
        ax.set_xlabel("utilization")
        ax.set_ylabel("search time per set (ms)")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(methods))
        plot.grid(ax, "y")
        return ax


class TimesByTasks(Results):
    """Table of ``gpusched_fig5("b")``.

    >>> table = gs.experiments.gpusched_fig5("b", count=3, tasks=[2], progress=False)
    >>> list(table.columns)[:5], len(table)
    (['n', 'work', 'count', 'seconds', 'seconds_median'], 3)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean times over the number of tasks, with a band from median to maximum.

        Returns the axes.
        """
        ax = plot.axes(ax)
        works = sorted(dict.fromkeys(self["work"].tolist()), key="batch table".__eq__)
        for index, work in enumerate(works):
            rows = self.where(work=work)
            median, worst = rows["seconds_median"] * 1e3, rows["seconds_max"] * 1e3
            plot.band(ax, rows["n"], rows["seconds"] * 1e3, median, worst, work, index)
        ax.set_yscale("log")
        ax.set_xticks(sorted(set(self["n"].tolist())))
        ax.set_xlabel("tasks")
        ax.set_ylabel("time per set (ms)")
        ax.set_title("mean; shaded from the median to the largest", fontsize=9, loc="left")
        ax.legend(frameon=False)
        plot.grid(ax)
        return ax


class GraphSize(Results):
    """Table of ``gpusched_fig5("c")``.

    >>> table = gs.experiments.gpusched_fig5("c", count=3, tasks=[2], progress=False)
    >>> list(table.columns)[:5], len(table)
    (['depth', 'merging', 'count', 'vertices', 'vertices_min'], 30)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the number of vertices over the number of executed jobs; returns the axes."""
        ax = plot.axes(ax)
        for index, merging in enumerate((True, False)):
            rows = self.where(merging=merging)
            if not len(rows):
                continue
            label = "merging" if merging else "no merging"
            x, mean = rows["depth"], rows["vertices"]
            low, high = rows["vertices_min"], rows["vertices_max"]
            plot.band(ax, x, mean, np.maximum(low, 1), high, label, index)
            cut = rows["cut"] > 0
            if cut.any():
                hollow: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 10}
                ax.plot(x[cut], mean[cut], markerfacecolor="none", color=plot.LATE, **hollow)
        if self["cut"].any():
            note: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "none"}
            ax.plot([], [], color=plot.LATE, label="cut short by the budget", markersize=10, **note)
        ax.set_yscale("log")
        ax.set_xlabel("executed jobs")
        ax.set_ylabel("vertices per task set")
        ax.set_title("mean; shaded from the smallest to the largest", fontsize=9, loc="left")
        ax.legend(frameon=False)
        plot.grid(ax)
        return ax


# Figure 5 measures on five tasks with large slowdown factors; its b and c at this utilization.
_FIG5 = {"n": 5, "slowdown": "large", "utilization": 1.0}
_GRAPH_TASKS = 6  # for more, the graph of the paper takes too long
_DEPTH = 14  # the largest depth in the paper
_STATES = 50_000_000
_LISTING_STATES = 20_000  # splits multiply in a few sets, whose graph has no end in sight


@overload
def gpusched_fig5(
    panel: Literal["a"],
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: None = None,
) -> SearchTimes: ...


@overload
def gpusched_fig5(
    panel: Literal["b"],
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: None = None,
) -> TimesByTasks: ...


@overload
def gpusched_fig5(
    panel: Literal["c"],
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: None = None,
) -> GraphSize: ...


@overload
def gpusched_fig5(
    panel: str,
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: None = None,
) -> SearchTimes | TimesByTasks | GraphSize: ...


@overload
def gpusched_fig5(
    panel: str,
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str],
    shard: tuple[int, int],
) -> StoredStudy: ...


def gpusched_fig5(
    panel: str,
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    variant: str = "sound",
    merge: bool | None = None,
    orders: bool = False,
    executor: Any = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> SearchTimes | TimesByTasks | GraphSize | StoredStudy:
    """Compute Figure 5 of [RTNS24]: search times and sizes of the schedule graph.

    Task sets are as in Figure 4, with large slowdown factors. **Times are measured** and differ
    between machines and runs; everything else is equal for equal seeds.

    >>> table = gs.experiments.gpusched_fig5("c", count=3, tasks=[2, 3], progress=False)
    >>> type(table).__name__, len(table)
    ('GraphSize', 30)

    Parameters
    ----------
    panel
        "a": the search time over the utilization, for five tasks (50 sets per point). "b": the mean
        time over the number of tasks, at utilization 1 (20 sets per point). "c": the number of
        vertices of the paper's graph over the number of executed jobs, up to 14, with and without
        merging, for five tasks at utilization 1 (50 sets).
    count
        Number of task sets per point, instead of these numbers.
    seed
        As in ``gs.sweep``.
    utilizations, tasks
        Points of panel a, and of panel b.
    methods
        Methods of ``gs.pbs.search`` in panels a and b; "graph" only for up to six tasks.
    variant
        Variant of the graph: "sound", or "paper" for the printed listing (see
        ``gs.pbs.graph.search``), whose verdicts may be wrong.
    merge
        In panel c: the graph with merging (True), without (False), or both (None).
    orders
        In panel c without merging: whether each order of submission of a batch leads to a vertex of
        its own, as in the paper's text, instead of each batch.
    executor, workers, progress, store, shard
        As in ``gs.sweep``, but with one worker by default, so that times are not disturbed. A store
        belongs to one panel. Stores with times of the same sets, measured twice, cannot be merged.
    budget
        Limits of each search. Default: 10 s in panels a and b; in panel c 50 million states, and
        20,000 vertices for the listing, which some sets exceed a hundredfold. Counts with
        ``orders`` need no search.

    Returns
    -------
    SearchTimes, TimesByTasks, GraphSize or StoredStudy
        a: columns utilization, method, set, seconds, schedulable (1, 0, or -1 if the budget was
        used up), stage (the part of the search that decided).
        b: columns n, work, count, seconds (mean), seconds_median, seconds_max, undecided (share);
        work is a method, or "batch table", the time to determine which batches fit the GPU.
        c: columns depth, merging, count, vertices (mean), vertices_min, vertices_max, cut (share of
        the sets whose budget was used up, for which the numbers are lower bounds).
    """
    panels_of(panel, ("a", "b", "c"))
    for method in methods:
        if method not in ("interval", "graph"):
            raise ValueError(f"methods: got {method!r}, expected interval, graph")
    one_of(variant, ("sound", "paper"), "variant")
    flag(orders, "orders")
    mergings = (True, False) if merge is None else (flag(merge, "merge"),)
    execution = Execution(executor, workers, progress, None, store, shard)
    if panel == "a":
        return _search_times(utilizations, methods, variant, count or 50, seed, budget, execution)
    if panel == "b":
        return _times_by_tasks(tasks, methods, variant, count or 20, seed, budget, execution)
    points = [
        {**_FIG5, "merging": merging, "variant": variant, "orders": orders and not merging}
        for merging in mergings
    ]
    return _graph_size(points, count or 50, seed, budget, execution)


def _run_panel(
    panel: str,
    function: Any,
    points: Sequence[Mapping[str, Any]],
    seeds: Sequence[np.random.SeedSequence],
    count: int,
    seed: Any,
    budget: Budget | None,
    execution: Execution,
    accumulator: PerSet | None = None,
) -> list[PointResults] | StoredStudy:
    return run(
        functools.partial(function, budget=budget),
        points,
        seeds,
        count=count,
        execution=execution,
        name="gs.experiments.gpusched_fig5",
        seed=seed,
        settings={"panel": panel, "budget": budget},
        accumulator=accumulator,
        keep=accumulator is None,
    )


def _search_times(
    utilizations: Sequence[float],
    methods: Sequence[str],
    variant: str,
    count: int,
    seed: Any,
    budget: Budget | None,
    execution: Execution,
) -> SearchTimes | StoredStudy:
    root = spawn(seed)
    keys = [(i, float(u), m) for i, u in enumerate(utilizations) for m in methods]
    points = [
        {**_FIG5, "utilization": u, "method": m, "variant": variant, "index": i} for i, u, m in keys
    ]
    found = _run_panel("a", _timed, points, [root] * len(points), count, seed, budget, execution)
    if isinstance(found, StoredStudy):
        return found
    values = values_of(found)
    return SearchTimes(
        {
            "utilization": np.repeat([u for _, u, _ in keys], count),
            "method": np.repeat([m for _, _, m in keys], count),
            "set": np.tile(np.arange(count), len(keys)),
            "seconds": values["seconds"].ravel(),
            "schedulable": values["schedulable"].ravel(),
            "stage": np.array(STAGES)[values["stage"].ravel()],
        }
    )


def _times_by_tasks(
    tasks: Sequence[int],
    methods: Sequence[str],
    variant: str,
    count: int,
    seed: Any,
    budget: Budget | None,
    execution: Execution,
) -> TimesByTasks | StoredStudy:
    root = spawn(seed)
    keys = [(n, m) for n in tasks for m in methods if m != "graph" or n <= _GRAPH_TASKS]
    points = [{**_FIG5, "n": n, "method": m, "variant": variant, "index": n} for n, m in keys]
    found = _run_panel("b", _timed, points, [root] * len(points), count, seed, budget, execution)
    if isinstance(found, StoredStudy):
        return found
    values = values_of(found)
    columns: dict[str, list[Any]] = {}
    for row, (n, method) in enumerate(keys):
        works = {method: values["seconds"][row]}
        if method == methods[0]:
            works["batch table"] = values["table_seconds"][row]
        for work, seconds in works.items():
            append(
                columns,
                n=n,
                work=work,
                count=count,
                seconds=seconds.mean(),
                seconds_median=np.median(seconds),
                seconds_max=seconds.max(),
                undecided=(values["schedulable"][row] == -1).mean() if work == method else 0.0,
            )
    return TimesByTasks({name: np.array(column) for name, column in columns.items()})


def _graph_size(
    points: Sequence[Mapping[str, Any]],
    count: int,
    seed: Any,
    budget: Budget | None,
    execution: Execution,
) -> GraphSize | StoredStudy:
    root = spawn(seed)
    sizes = {f"depth {depth}": (Mean(), Extremes()) for depth in range(_DEPTH + 1)}
    accumulator = PerSet({**sizes, "cut": (Share(),)})
    found = _run_panel(
        "c", _counted, points, [root] * len(points), count, seed, budget, execution, accumulator
    )
    if isinstance(found, StoredStudy):
        return found
    columns: dict[str, list[Any]] = {}
    for point, result in zip(points, found, strict=True):
        held = columns_of(accumulator, result.state or {})
        for depth in range(_DEPTH + 1):
            append(
                columns,
                depth=depth,
                merging=point["merging"],
                count=count,
                vertices=held[f"depth {depth}"],
                vertices_min=held[f"depth {depth}_min"],
                vertices_max=held[f"depth {depth}_max"],
                cut=held["cut"],
            )
    return GraphSize({name: np.array(column) for name, column in columns.items()})


def _timed(
    *,
    n: int,
    slowdown: str,
    utilization: float,
    method: str,
    variant: str,
    index: int,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Times and verdicts; methods have the same sets, those of ``index``."""
    from gpusched import pbs

    seed = spawn(seed, index)
    tasks = draw_sets(n, utilization, count, first, seed)
    began = time.perf_counter()
    table = draw_tables(tasks, slowdown, first, seed)
    table_seconds = (time.perf_counter() - began) / count
    if budget is None:
        budget = pbs.Budget(seconds=10.0)
    options: dict[str, Any] = {"budget": budget, "stop": stop}
    if method == "interval":
        stack = pbs.search(tasks, table, **options)
        seconds, schedulable = stack.seconds, verdicts(stack)
        stage = [STAGES.index(name) for name in stack.stage]
    else:  # one set per call, which is far longer than the overhead of a call
        options["variant"] = variant
        each = [pbs.graph.search(tasks[i], table[i], **options) for i in range(count)]
        seconds = np.array([found.seconds for found in each])
        schedulable = np.array([found.accepted - found.undecided for found in each], np.int8)
        stage = [STAGES.index("none" if found.undecided else "graph") for found in each]
    return {
        "seconds": seconds,
        "schedulable": schedulable,
        "stage": np.array(stage, np.int64),
        "table_seconds": np.full(count, table_seconds),
    }


def _counted(
    *,
    n: int,
    slowdown: str,
    utilization: float,
    merging: bool,
    variant: str,
    orders: bool,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
) -> Mapping[str, npt.NDArray[Any]]:
    # One set per call: the sets are few and their graphs large.
    from gpusched.pbs import graph

    tasks = draw_sets(n, utilization, count, first, seed)
    table = draw_tables(tasks, slowdown, first, seed)
    vertices = np.zeros((_DEPTH + 1, count), dtype=np.int64)
    cut = np.zeros(count, dtype=bool)
    states = {"states": _LISTING_STATES if variant == "paper" and merging else _STATES}
    for i in range(count):
        if orders:
            vertices[:, i] = count_paths(tasks[i], table[i], _DEPTH, orders)
            continue
        found = graph.search(
            tasks[i],
            table[i],
            # The same vertices as those of the listing without merging, in less memory.
            variant=variant if merging else "sound",
            merge=merging,
            first_only=False,
            depth=_DEPTH,
            budget=states if budget is None else budget,
        )
        depths = found.per_depth[: _DEPTH + 1]
        vertices[: len(depths), i] = depths
        cut[i] = found.reason in ("states", "bytes", "seconds")
    return {**{f"depth {d}": row for d, row in enumerate(vertices)}, "cut": cut}
