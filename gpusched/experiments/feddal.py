"""The GPUSched paper: how many sets does the Parallel Batch Scheduler get scheduled, and how soon?

N. Feddal, H.-E. Zahaf, G. Lipari: Towards Efficient Parallel GPU Scheduling: Interference
Awareness with Schedule Abstraction, RTNS 2024.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched import _slowdown, plot
from gpusched._progress import Progress
from gpusched.results import Results
from gpusched.sweep import run, spawn, summary

if TYPE_CHECKING:
    from gpusched._budget import Budget
    from gpusched.table import BatchTable
    from gpusched.tasks import KernelTasks

__all__ = [
    "GraphSize",
    "Schedulability",
    "SearchTimes",
    "TimesByTasks",
    "gpusched_fig4",
    "gpusched_fig5",
]

# The GPUSched paper, section 6.1: the slowdown factors of the three panels.
SLOWDOWNS = {"a": "small", "b": "large", "c": "mixed"}
SCHEDULERS = ("GPUSched", "EDFserial", "EDFParallel")
UTILIZATIONS = tuple(k / 5 for k in range(1, 11))
_TICKS = 1000
# Batches in the tables of one chunk: some megabytes, and soon done when a sweep is interrupted.
_CHUNK_BATCHES = 2**15


class Schedulability(Results):
    """The table of ``gpusched_fig4``; see there."""

    def plot(self, axes: Any = None) -> Any:
        """Draws one diagram per panel, side by side, and returns the array of axes."""
        panels = list(dict.fromkeys(self["panel"].tolist()))
        if axes is None:
            axes = plot.pyplot().subplots(
                1,
                len(panels),
                figsize=(max(4.6, 4.1 * len(panels)), 3.7),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )[1][0]
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        if len(axes) != len(panels):
            raise ValueError(f"axes: {len(axes)} for {len(panels)} panels")
        for ax, panel in zip(axes, panels, strict=True):
            for index, scheduler in enumerate(SCHEDULERS):
                rows = self.where(panel=panel, scheduler=scheduler)
                low, high = rows["schedulable_low"] * 100, rows["schedulable_high"] * 100
                x, y = rows["utilization"], rows["schedulable"] * 100
                plot.band(ax, x, y, low, high, scheduler, index)
            ax.set_title(f"({panel}) {_factors(panel)}", fontsize=11)
            ax.set_xlabel("utilization")
            ax.set_ylim(-3, 103)
            ticks = sorted(set(self["utilization"].tolist()))
            ax.set_xticks(ticks[1::2] if len(ticks) > 6 else ticks)
            plot.grid(ax)
        axes[0].set_ylabel("schedulable task sets (%)")
        axes[0].legend(frameon=False, loc="best")
        return axes

    def to_text(self) -> str:
        """The ratios as plain text: one line per panel and utilization, undecided shares marked."""
        lines = []
        for panel in dict.fromkeys(self["panel"].tolist()):
            rows = self.where(panel=panel)
            count, n = int(rows["count"][0]), int(rows["n"][0])
            lines += [
                f"({panel}) {_factors(panel)}: schedulable share of {count} sets of "
                f"{n} tasks [95 % interval]",
                "utilization" + "".join(f"{name:>22}" for name in SCHEDULERS),
            ]
            for utilization in dict.fromkeys(rows["utilization"].tolist()):
                line = f"{utilization:11.2f}"
                for scheduler in SCHEDULERS:
                    row = rows.where(utilization=utilization, scheduler=scheduler)
                    bounds = f"[{row['schedulable_low'][0]:.2f}, {row['schedulable_high'][0]:.2f}]"
                    cell = f"{row['schedulable'][0]:.2f} {bounds}"
                    unknown = row["undecided"][0]
                    line += f"{cell + ('*' if unknown else ''):>22}"
                lines.append(line)
            lines.append("")
        if self["undecided"].any():
            worst = self["undecided"].max()
            lines.append(
                f"* the budget left up to {worst:.0%} of the sets undecided; the interval holds "
                "both answers for them"
            )
        return "\n".join(lines).rstrip() + "\n"


def gpusched_fig4(
    panel: str | None = None,
    utilizations: Sequence[float] = UTILIZATIONS,
    n: int = 5,
    count: int = 50,
    seed: Any = 1,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
    budget: Budget | None = None,
) -> Schedulability:
    """The GPUSched paper, Figure 4: how many random task sets does each scheduler get scheduled?

    Task sets and GPU are those of section 6.1: periods from 400 to 1600 (times 1,000 ticks),
    utilizations by UUniFast-Discard, occupancies in proportion to them, 8 SMs of 1,024 threads and
    32 blocks, one slowdown factor per batch. All schedulers and panels see the same task sets.

    Parameters
    ----------
    panel
        "a" (slowdown factors 1 to 1.4), "b" (1.7 to 1.9), "c" (1.1 to 1.9), or None for all three.
    utilizations
        0.2, 0.4, ... 2.0 in the paper.
    n, count
        Tasks per set (5) and task sets per point (50 in the paper).
    seed
        As in ``gs.sweep``; equal seeds give equal tables.
    executor, workers, progress
        As in ``gs.sweep``.
    budget
        Of each search; sets that it leaves open are in ``undecided``.

    Returns
    -------
    Schedulability
        Rows with columns panel, slowdown, utilization, n, count, scheduler (GPUSched, EDFserial,
        EDFParallel), schedulable (share of the sets), schedulable_low and schedulable_high (95 %
        confidence) and undecided (share); ``plot()`` draws it, ``to_text()`` prints it.
    """
    panels = _panels(panel, tuple(SLOWDOWNS))
    root = spawn(seed)
    points: list[dict[str, Any]] = []
    seeds = []
    for letter in panels:
        for index, utilization in enumerate(utilizations):
            points.append(
                {
                    "slowdown": SLOWDOWNS[letter],
                    "utilization": float(utilization),
                    "n": n,
                }
            )
            seeds.append(spawn(root, index))  # the same sets in every panel
    values = run(
        functools.partial(_schedulability, budget=budget),
        points,
        seeds,
        count=count,
        largest=max(1, _CHUNK_BATCHES >> n),
        executor=executor,
        workers=workers,
        progress=progress,
    )
    columns: dict[str, list[Any]] = {}
    tables = {name: summary("schedulable", values[name]) for name in SCHEDULERS}
    letters = np.repeat(panels, len(utilizations)).tolist()
    for row, (letter, point) in enumerate(zip(letters, points, strict=True)):
        for scheduler in SCHEDULERS:
            found = {key: float(column[row]) for key, column in tables[scheduler].items()}
            unknown = found.pop("schedulable_undecided", 0.0)
            _append(
                columns,
                panel=letter,
                slowdown=point["slowdown"],
                utilization=point["utilization"],
                n=n,
                count=count,
                scheduler=scheduler,
                **found,
                undecided=unknown,
            )
    return Schedulability({name: np.array(column) for name, column in columns.items()})


def _schedulability(
    *,
    slowdown: str,
    utilization: float,
    n: int,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    from gpusched import pbs

    tasks = _sets(n, utilization, count, first, seed)
    table = _tables(tasks, slowdown, first, seed)
    return {
        "GPUSched": pbs.search(tasks, table, budget=budget, stop=stop).schedulable,
        "EDFserial": pbs.edf_serial(tasks, table).schedulable,
        "EDFParallel": pbs.edf_parallel(tasks, table).schedulable,
    }


class SearchTimes(Results):
    """The table of ``gpusched_fig5("a")``; see there."""

    def plot(self, ax: Any = None) -> Any:
        """Draws a box plot of the times for each utilization and engine, and returns the axes."""
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
    """The table of ``gpusched_fig5("b")``; see there."""

    def plot(self, ax: Any = None) -> Any:
        """Draws mean times over the number of tasks, from median to largest shaded."""
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
    """The table of ``gpusched_fig5("c")``; see there."""

    def plot(self, ax: Any = None) -> Any:
        """Draws the vertices over the number of executed jobs, and returns the axes."""
        ax = plot.axes(ax)
        for index, merging in enumerate((True, False)):
            rows = self.where(merging=merging)
            label = "merging" if merging else "no merging"
            x, mean = rows["depth"], rows["vertices"]
            low, high = rows["vertices_min"], rows["vertices_max"]
            plot.band(ax, x, mean, np.maximum(low, 1), high, label, index)
            cut = rows["cut"] > 0
            if cut.any():
                hollow = {"marker": "o", "linestyle": "none", "markersize": 10}
                ax.plot(x[cut], mean[cut], markerfacecolor="none", color=plot.LATE, **hollow)
        if self["cut"].any():
            note = {"marker": "o", "linestyle": "none", "markerfacecolor": "none"}
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
_GRAPH_TASKS = 6  # beyond, the graph of the paper takes too long
_DEPTH = 14  # where the paper stops to count
_STATES = 50_000_000


def gpusched_fig5(
    panel: str,
    count: int | None = None,
    seed: Any = 1,
    *,
    utilizations: Sequence[float] = UTILIZATIONS,
    tasks: Sequence[int] = tuple(range(2, 13)),
    methods: Sequence[str] = ("interval", "graph"),
    executor: Executor | None = None,
    workers: int = 1,
    progress: Progress = None,
    budget: Budget | None = None,
) -> SearchTimes | TimesByTasks | GraphSize:
    """The GPUSched paper, Figure 5: how long does the search take, and how large is the graph?

    Task sets as in Figure 4, with large slowdown factors. **Times are measured**: they differ from
    machine to machine and from run to run; everything else is equal for equal seeds.

    Parameters
    ----------
    panel
        "a": the search time over the utilization, for five tasks (50 sets a point). "b": the mean
        time over the number of tasks, at utilization 1 (20 sets a point). "c": the vertices of the
        paper's graph over the number of executed jobs, up to 14, with and without merging, for
        five tasks at utilization 1 (50 sets).
    count
        Task sets per point, where those numbers do not suit.
    seed
        As in ``gs.sweep``.
    utilizations, tasks
        What to vary in panel a and in panel b.
    methods
        Of ``gs.pbs.search``, in panels a and b. The graph engine is left out beyond six tasks.
    executor, workers, progress
        As in ``gs.sweep``, but with one worker unless given, so that times are not disturbed.
    budget
        Of each search: 10 s in panels a and b, 50 million states in panel c unless given.

    Returns
    -------
    A table that draws itself with ``plot()``.

    a: columns utilization, method, set, seconds, schedulable (1, 0, -1 where the budget was spent).
    b: columns n, work, count, seconds (mean), seconds_median, seconds_max, undecided (share); work
    is a method, or "batch table", the time for finding out which batches fit the GPU.
    c: columns depth, merging, count, vertices (mean), vertices_min, vertices_max, cut (share of
    the sets whose budget was spent: for them the numbers are lower bounds).
    """
    _panels(panel, ("a", "b", "c"))
    for method in methods:
        if method not in ("interval", "graph"):
            raise ValueError(f"methods: {method!r} is not one of interval, graph")
    options = {"executor": executor, "workers": workers, "progress": progress}
    if panel == "a":
        return _search_times(utilizations, methods, count or 50, seed, budget, options)
    if panel == "b":
        return _times_by_tasks(tasks, methods, count or 20, seed, budget, options)
    return _graph_size(count or 50, seed, budget, options)


def _search_times(
    utilizations: Sequence[float],
    methods: Sequence[str],
    count: int,
    seed: Any,
    budget: Budget | None,
    options: dict[str, Any],
) -> SearchTimes:
    root = spawn(seed)
    keys = [(i, float(u), m) for i, u in enumerate(utilizations) for m in methods]
    points = [{**_FIG5, "utilization": u, "method": m} for _, u, m in keys]
    seeds = [spawn(root, i) for i, _, _ in keys]  # the same sets for every method
    values = run(functools.partial(_timed, budget=budget), points, seeds, count=count, **options)
    return SearchTimes(
        {
            "utilization": np.repeat([u for _, u, _ in keys], count),
            "method": np.repeat([m for _, _, m in keys], count),
            "set": np.tile(np.arange(count), len(keys)),
            "seconds": values["seconds"].ravel(),
            "schedulable": values["schedulable"].ravel(),
        }
    )


def _times_by_tasks(
    tasks: Sequence[int],
    methods: Sequence[str],
    count: int,
    seed: Any,
    budget: Budget | None,
    options: dict[str, Any],
) -> TimesByTasks:
    root = spawn(seed)
    keys = [(n, m) for n in tasks for m in methods if m != "graph" or n <= _GRAPH_TASKS]
    points = [{**_FIG5, "n": n, "method": m} for n, m in keys]
    seeds = [spawn(root, n) for n, _ in keys]
    values = run(functools.partial(_timed, budget=budget), points, seeds, count=count, **options)
    columns: dict[str, list[Any]] = {}
    for row, (n, method) in enumerate(keys):
        works = {method: values["seconds"][row]}
        if method == methods[0]:
            works["batch table"] = values["table_seconds"][row]
        for work, seconds in works.items():
            _append(
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


def _graph_size(count: int, seed: Any, budget: Budget | None, options: dict[str, Any]) -> GraphSize:
    root = spawn(seed)
    points = [{**_FIG5, "merging": merging} for merging in (True, False)]
    values = run(
        functools.partial(_counted, budget=budget), points, [root, root], count=count, **options
    )
    columns: dict[str, list[Any]] = {}
    for row, point in enumerate(points):
        for depth in range(_DEPTH + 1):
            vertices = values[f"depth {depth}"][row]
            _append(
                columns,
                depth=depth,
                merging=point["merging"],
                count=count,
                vertices=vertices.mean(),
                vertices_min=vertices.min(),
                vertices_max=vertices.max(),
                cut=values["cut"][row].mean(),
            )
    return GraphSize({name: np.array(column) for name, column in columns.items()})


def _timed(
    *,
    n: int,
    slowdown: str,
    utilization: float,
    method: str,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    from gpusched import pbs

    tasks = _sets(n, utilization, count, first, seed)
    began = time.perf_counter()
    table = _tables(tasks, slowdown, first, seed)
    table_seconds = (time.perf_counter() - began) / count
    if budget is None:
        budget = pbs.Budget(seconds=10.0)
    options: dict[str, Any] = {"budget": budget, "stop": stop}
    if method == "interval":
        stack = pbs.search(tasks, table, **options)
        seconds, schedulable = stack.seconds, stack.schedulable
    else:  # takes one set a call; each is far longer than the call
        each = [pbs.search(tasks[i], table[i], "graph", **options) for i in range(count)]
        seconds = np.array([found.seconds for found in each])
        answers = [-1 if found.schedulable is None else found.schedulable for found in each]
        schedulable = np.array(answers, dtype=np.int8)
    return {
        "seconds": seconds,
        "schedulable": schedulable,
        "table_seconds": np.full(count, table_seconds),
    }


def _counted(
    *,
    n: int,
    slowdown: str,
    utilization: float,
    merging: bool,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
) -> Mapping[str, npt.NDArray[Any]]:
    # The graph takes one set a call; the sets are few and their graphs large.
    from gpusched import graph

    tasks = _sets(n, utilization, count, first, seed)
    table = _tables(tasks, slowdown, first, seed)
    vertices = np.zeros((_DEPTH + 1, count), dtype=np.int64)
    cut = np.zeros(count, dtype=bool)
    for i in range(count):
        found = graph.search(
            tasks[i],
            table[i],
            merge=merging,
            first_only=False,
            depth=_DEPTH,
            budget={"states": _STATES} if budget is None else budget,
        )
        depths = found.per_depth[: _DEPTH + 1]
        vertices[: len(depths), i] = depths
        cut[i] = found.reason in ("states", "bytes", "seconds")
    return {**{f"depth {d}": row for d, row in enumerate(vertices)}, "cut": cut}


# What the figures share


def _panels(panel: str | None, known: tuple[str, ...]) -> list[str]:
    if panel is None:
        return list(known)
    if panel not in known:
        raise ValueError(f"panel = {panel!r}: must be one of {', '.join(known)} or None")
    return [panel]


def _factors(panel: str) -> str:
    low, high = _slowdown.SLOWDOWNS[SLOWDOWNS[panel]]
    return f"slowdown factors {low:g} to {high:g}"


def _sets(
    n: int, utilization: float, count: int, first: int, seed: np.random.SeedSequence
) -> KernelTasks:
    """Task sets ``first`` .. of a seed (the GPUSched paper, section 6.1)."""
    from gpusched import generate

    key = spawn(seed, 0)
    return generate.gpusched(n, utilization, count=count, seed=key, first=first, ticks=_TICKS)


def _tables(
    tasks: KernelTasks, slowdown: str, first: int, seed: np.random.SeedSequence
) -> BatchTable:
    """Their batch tables: eligible by placement, one slowdown factor per batch."""
    from gpusched.table import BatchTable

    return BatchTable.from_gpu(
        tasks, "pbs2024", slowdown=slowdown, seed=spawn(seed, 1), first=first
    )


def _append(columns: dict[str, list[Any]], **row: Any) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)
