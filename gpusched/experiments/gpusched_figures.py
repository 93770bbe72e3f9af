"""Figure 4 of [RTNS24]: shares of task sets that are schedulable by each scheduler.

N. Feddal, H.-E. Zahaf, G. Lipari: Towards Efficient Parallel GPU Scheduling: Interference Awareness
with Schedule Abstraction, RTNS 2024. The task sets and batch tables are those of section 6.1, also
for Figure 5.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import spawn
from gpusched._support.budget import Budget, Progress
from gpusched._support.results import Results
from gpusched.model.batches import SLOWDOWNS as FACTORS
from gpusched.study.engine import named_columns, run
from gpusched.study.execution import Execution
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.answer import Answer
    from gpusched.model.batch_table import BatchTable
    from gpusched.model.kernel_tasks import KernelTasks

UTILIZATIONS = tuple(k / 5 for k in range(1, 11))
_TICKS = 1000


def draw_sets(
    n: int, utilization: float, count: int, first: int, seed: np.random.SeedSequence
) -> KernelTasks:
    """Task sets ``first``, ``first + 1``, ... of a seed ([RTNS24], section 6.1)."""
    from gpusched import generate

    key = spawn(seed, 0)
    return generate.gpusched(n, utilization, count=count, seed=key, first=first, ticks=_TICKS)


def verdicts(answer: Answer) -> npt.NDArray[np.int8]:
    """Verdicts on a stack as counted by a sweep: 1 accepted, 0 rejected, -1 undecided."""
    codes: npt.NDArray[np.int8] = answer.accepted.astype(np.int8) - answer.undecided
    return codes


def draw_tables(
    tasks: KernelTasks, slowdown: str, first: int, seed: np.random.SeedSequence
) -> BatchTable:
    """Batch tables of sets: eligibility by placement, one slowdown factor per batch."""
    from gpusched.model.batch_table import BatchTable

    return BatchTable.from_gpu(
        tasks, "pbs2024", slowdown=slowdown, seed=spawn(seed, 1), first=first
    )


def panels_of(panel: str | None, known: tuple[str, ...]) -> list[str]:
    if panel is None:
        return list(known)
    if panel not in known:
        raise ValueError(f"panel: got {panel!r}, expected one of {', '.join(known)} or None")
    return [panel]


def append(columns: dict[str, list[Any]], **row: Any) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)


# [RTNS24], section 6.1: slowdown factors of the three panels.
SLOWDOWNS = {"a": "small", "b": "large", "c": "mixed"}
SCHEDULERS = ("GPUSched", "EDFserial", "EDFParallel")
_SHARE = ("schedulable", "schedulable_low", "schedulable_high")
# Batches in the tables of one chunk: some megabytes, and a short time to an interrupt.
_CHUNK_BATCHES = 2**15


class Schedulability(Results):
    """Table of ``gpusched_fig4``.

    >>> table = gs.experiments.gpusched_fig4("a", [0.4], count=10, progress=False)
    >>> list(table.columns)[:5], len(table)
    (['panel', 'slowdown', 'utilization', 'n', 'count'], 3)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw one diagram per panel and return the array of axes."""
        panels = list(dict.fromkeys(self["panel"].tolist()))
        size = (max(4.6, 4.1 * len(panels)), 3.7)
        axes = plot.panels(axes, len(panels), size, "panels", sharey=True)
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
        """Return the shares as plain text, a line per panel and utilization; undecided marked."""
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


@shardable
def gpusched_fig4(
    panel: str | None = None,
    utilizations: Sequence[float] = UTILIZATIONS,
    n: int = 5,
    count: int = 50,
    seed: Any = 1,
    *,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
    budget: Budget | None = None,
) -> Schedulability | StoredStudy:
    """Compute Figure 4 of [RTNS24]: shares of random task sets schedulable by each scheduler.

    Task sets and GPU are those of section 6.1: periods from 400 to 1600 (times 1,000 ticks),
    utilizations by UUniFast-Discard, occupancies in proportion to them, 8 SMs of 1,024 threads and
    32 blocks, one slowdown factor per batch. All schedulers and panels use the same task sets.

    >>> table = gs.experiments.gpusched_fig4("a", [0.4, 1.2], count=10, progress=False)
    >>> table["scheduler"].tolist()[:3], table["schedulable"].tolist()[:3]
    (['GPUSched', 'EDFserial', 'EDFParallel'], [1.0, 1.0, 1.0])

    Parameters
    ----------
    panel
        "a" (slowdown factors 1 to 1.4), "b" (1.7 to 1.9), "c" (1.1 to 1.9), or None for all three.
    utilizations
        Utilizations of the sets; 0.2, 0.4, ... 2.0 in the paper.
    n, count
        Number of tasks per set (5), and of task sets per point (50 in the paper).
    seed
        As in ``gs.sweep``; equal seeds give equal tables.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Panels, sets and utilizations at the end may be added to a store.
    budget
        Limits of each search; sets that it does not decide are counted in ``undecided``.

    Returns
    -------
    Schedulability or StoredStudy
        Rows with columns panel, slowdown, utilization, n, count, scheduler (GPUSched, EDFserial,
        EDFParallel), schedulable (share of the sets), schedulable_low and schedulable_high (95 %
        confidence) and undecided (share); ``to_text()`` gives plain text.
    """
    panels = panels_of(panel, tuple(SLOWDOWNS))
    points = [
        {"slowdown": SLOWDOWNS[letter], "utilization": float(utilization), "n": n, "index": index}
        for letter in panels
        for index, utilization in enumerate(utilizations)
    ]
    found = run(
        functools.partial(_schedulability, budget=budget),
        points,
        [spawn(seed)] * len(points),
        count=count,
        execution=Execution(executor, workers, progress, None, store, shard),
        name="gs.experiments.gpusched_fig4",
        seed=seed,
        settings={"budget": budget},
        keep=False,
        largest=max(1, _CHUNK_BATCHES >> n),
    )
    if isinstance(found, StoredStudy):
        return found
    columns: dict[str, list[Any]] = {}
    letters = np.repeat(panels, len(utilizations)).tolist()
    for letter, point, result in zip(letters, points, found, strict=True):
        held = named_columns(result.state, "schedulable")
        for scheduler in SCHEDULERS:
            append(
                columns,
                panel=letter,
                slowdown=point["slowdown"],
                utilization=point["utilization"],
                n=n,
                count=count,
                scheduler=scheduler,
                **{name: held[scheduler][name] for name in _SHARE},
                undecided=held[scheduler]["schedulable_undecided"],
            )
    return Schedulability({name: np.array(column) for name, column in columns.items()})


def _schedulability(
    *,
    slowdown: str,
    utilization: float,
    n: int,
    index: int,
    budget: Budget | None,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[Any]]:
    """Verdicts of each scheduler; panels have the same sets of the utilization ``index``."""
    from gpusched import pbs

    seed = spawn(seed, index)
    tasks = draw_sets(n, utilization, count, first, seed)
    table = draw_tables(tasks, slowdown, first, seed)
    answers: dict[str, Answer] = {
        "GPUSched": pbs.search(tasks, table, budget=budget, stop=stop),
        "EDFserial": pbs.edf_serial(tasks, table),
        "EDFParallel": pbs.edf_parallel(tasks, table),
    }
    return {name: verdicts(answer) for name, answer in answers.items()}


def _factors(panel: str) -> str:
    low, high = FACTORS[SLOWDOWNS[panel]]
    return f"slowdown factors {low:g} to {high:g}"
