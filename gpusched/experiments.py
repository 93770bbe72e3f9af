"""The figures of the papers, one function for each: a tidy table that can draw itself.

Paper 001 is N. Feddal, H.-E. Zahaf, G. Lipari: Towards Efficient Parallel GPU Scheduling:
Interference Awareness with Schedule Abstraction, RTNS 2024.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched import plot
from gpusched.results import Results
from gpusched.sweep import Progress, run, spawn, summary

if TYPE_CHECKING:
    from gpusched.gpu import GPU
    from gpusched.pbs import Budget
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

# Paper 001, section 6.1: the slowdown factors of the three panels.
SLOWDOWNS = {"a": "small", "b": "large", "c": "mixed"}
_FACTORS = {"small": (1.0, 1.4), "large": (1.7, 1.9), "mixed": (1.1, 1.9)}
SCHEDULERS = ("GPUSched", "EDFserial", "EDFParallel")
UTILIZATIONS = tuple(k / 5 for k in range(1, 11))
_TICKS = 1000


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
    """Paper 001, Figure 4: how many random task sets does each scheduler get scheduled?

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
    gpu = _gpu()
    points, seeds = [], []
    for letter in panels:
        for index, utilization in enumerate(utilizations):
            points.append(
                {
                    "slowdown": SLOWDOWNS[letter],
                    "utilization": float(utilization),
                    "n": n,
                    "gpu": gpu,
                    "budget": budget,
                }
            )
            seeds.append(spawn(root, index))  # the same sets in every panel
    values = run(
        _schedulability,
        points,
        seeds,
        count=count,
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
    gpu: GPU,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    from gpusched import pbs

    tasks, table = _problem(n, utilization, gpu, slowdown, count, first, seed)
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
        for index, work in enumerate(dict.fromkeys(self["work"].tolist())):
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
        ax.set_ylabel("vertices (mean over task sets)")
        ax.legend(frameon=False)
        plot.grid(ax)
        return ax


# What the figures share


def _panels(panel: str | None, known: tuple[str, ...]) -> list[str]:
    if panel is None:
        return list(known)
    if panel not in known:
        raise ValueError(f"panel = {panel!r}: must be one of {', '.join(known)} or None")
    return [panel]


def _factors(panel: str) -> str:
    low, high = _FACTORS[SLOWDOWNS[panel]]
    return f"slowdown factors {low:g} to {high:g}"


def _gpu() -> GPU:
    from gpusched.gpu import GPU

    return GPU.preset("pbs2024")


def _problem(
    n: int,
    utilization: float,
    gpu: GPU,
    slowdown: str,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
) -> tuple[KernelTasks, BatchTable]:
    """Task sets ``first`` .. of a seed, and their batch tables (paper 001, section 6.1)."""
    from gpusched import generate
    from gpusched.table import BatchTable

    tasks = generate.gpusched(
        n, utilization, count=count, seed=spawn(seed, 0), first=first, ticks=_TICKS
    )
    table = BatchTable.from_gpu(tasks, gpu, slowdown=slowdown, seed=spawn(seed, 1), first=first)
    return tasks, table


def _append(columns: dict[str, list[Any]], **row: Any) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)
