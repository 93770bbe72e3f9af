"""Table 2 of [RTNS10]: response and tardiness with a lock for the GPU and with the driver alone."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import Int64Array, frozen, integer, one_of, spawn
from gpusched._support.progress import Progress
from gpusched._support.results import Results
from gpusched.experiments.elliott_simulated import (
    CATEGORIES,
    RUN_METHODS,
    SECOND,
    Machine,
    Waiting,
    category_of,
    drawn,
    scenarios_of,
)
from gpusched.study.execution import Execution
from gpusched.study.point_results import values_of
from gpusched.study.runs import run
from gpusched.study.shardable import shardable
from gpusched.study.stored_study import StoredStudy

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike

__all__ = ["PRINTED_TABLE2", "ElliottRuns", "elliott_table2"]

PRINTED_TABLE2: Mapping[tuple[str, str], tuple[float, float]] = {
    ("easy", "SRM"): (0.25, 0.0002),
    ("easy", "Driver"): (0.2495, 0.0),
    ("difficult", "SRM"): (0.2933, 0.0017),
    ("difficult", "Driver"): (0.3489, 0.0464),
    ("unable", "SRM"): (92.79, 91.97),
    ("unable", "Driver"): (134.5, 133.5),
}
"""Table 2 of the paper: average response and tardiness by category and method, in periods.

The paper prints all numbers as percentages, which is impossible for the last two rows. The
response of a job minus its tardiness is the smaller one of response and period, which is at least a
tenth of the period for a medium task that runs for its worst case. As percentages, the rows would
leave 0.0082 and 0.01 of the period. As periods they leave 0.82 and 1: most jobs are late, and under
the driver all of them."""

_CONTAINER = (False, False, True, True)  # methods of sets that fit into a container


@dataclass(frozen=True, eq=False, repr=False)
class ElliottRuns(Results):
    """Result of ``elliott_table2``: its table, and the values of each set.

    >>> table = gs.experiments.elliott_table2(count=2, seconds=1, progress=False)
    >>> list(table.columns)[:5], len(table)
    (['category', 'method', 'sets', 'response', 'tardiness'], 12)

    Attributes
    ----------
    scenario
        Number of each set's scenario in ``SCENARIOS``.
    category
        Index of each set's category in ``CATEGORIES``, with SRM.
    response, tardiness
        Mean over the jobs of each set, in periods; ``(sets, methods)``, the methods in the order of
        ``RUN_METHODS``.
    worst
        Largest tardiness of the jobs of each set, in periods; ``(sets, methods)``.
    fits
        Whether each set is schedulable by ``gs.analysis.container``.
    settings
        The arguments of the call.
    """

    scenario: Int64Array
    category: Int64Array
    response: Any
    tardiness: Any
    worst: Any
    fits: Any
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("scenario", "category", "response", "tardiness", "worst", "fits"):
            frozen(getattr(self, name))

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw mean response and tardiness by category, one bar per method; returns two axes.

        The numbers of sets are those of the four methods; the bars of containers are for the sets
        that fit into a container.
        """
        axes = plot.panels(axes, 2, (9.6, 3.4))
        from matplotlib.ticker import LogFormatter

        labels = [
            f"{word}\n" + ", ".join(str(n) for n in self.where(category=word)["sets"]) + " sets"
            for word in CATEGORIES
        ]
        places = np.arange(len(CATEGORIES))
        width = 0.8 / len(RUN_METHODS)
        for ax, name in zip(axes, ("response", "tardiness"), strict=True):
            for m, method in enumerate(RUN_METHODS):
                x = places + (m - (len(RUN_METHODS) - 1) / 2) * width
                y = 100 * self.where(method=method)[name]
                ax.bar(x, y, width * 0.92, color=plot.color(m), label=method)
                for at, height in zip(x.tolist(), y.tolist(), strict=True):
                    if not np.isnan(height):
                        text = f"{height:.0f}" if height >= 100 else f"{height:.2g}"
                        style = {"ha": "center", "va": "bottom", "fontsize": 7, "color": plot.INK}
                        text = text if height >= 0.005 else "0"
                        ax.text(at, max(height, 0.01), text, **style)
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")  # 60, not 6 x 10^1
            ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
            ax.set_ylim(bottom=0.01 if name == "tardiness" else 10)
            ax.margins(y=0.12)
            ax.set_xticks(places, labels)
            ax.set_ylabel(f"average {name} (% of the period)")
            plot.grid(ax, "y")
        axes[1].legend(frameon=False, fontsize=8, loc="upper left")
        return axes


@shardable
def elliott_table2(
    count: int = 400,
    seed: Any = 1,
    *,
    utilization: Literal["light", "medium", "heavy"] = "medium",
    seconds: float = 150.0,
    cpus: int = 4,
    categories: Literal["lock", "own"] = "lock",
    waiting: Waiting = "spin",
    overrun: float = 0.0,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> ElliottRuns | StoredStudy:
    """Simulate Table 2 of [RTNS10]: response and tardiness with a lock and with the driver.

    The paper ran 400 sets for 2.5 minutes each on four CPUs and a GPU, with the Shared Resource
    Method (OMLP) and with the driver alone. The simulation adds the Container Method, for the sets
    that fit into a container (``gs.analysis.container``, with the period of its server). Jobs are
    periodic and take their worst-case times; there are no overheads. The driver is a model: it
    serves GPU segments in FIFO order, and jobs spin from the request to the end.
    ``PRINTED_TABLE2`` has the numbers of the paper.

    The sets are those of ``gs.generate.elliott`` in which tasks use the GPU, taken in turn from all
    scenarios of ``utilization`` that have such sets (the paper does not say from which): all 90
    scenarios of medium tasks, and for heavy tasks the 72 in which, with four CPUs, at least a fifth
    of the tasks use the GPU.

    >>> table = gs.experiments.elliott_table2(count=2, seconds=1, progress=False)
    >>> table.where(category="difficult")["sets"].tolist()
    [2, 2, 2, 2]

    Parameters
    ----------
    count
        Number of task sets.
    seed
        As in ``gs.sweep``.
    utilization
        Interval of the tasks' utilizations; "medium" in Table 2.
    seconds
        Simulated time in seconds, during which jobs are released.
    cpus
        Number of CPUs.
    categories
        Which run decides between "difficult" and "unable". "lock": that of SRM, for all methods.
        "own": that of each method, so that under each method no job of a difficult set is late by
        more than its period. The paper does not say which is used.
    waiting
        Behaviour of a job from its request to the driver until its end: "spin", as the paper
        reports of a driver under contention, or "suspend".
    overrun
        Share by which every part of a job takes longer than the analysis assumes, as on a machine
        with overheads; a multiple of 0.001. The category "easy" is that of the analysis.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Sets may be added to a store.

    Returns
    -------
    ElliottRuns or StoredStudy
        Twelve rows with columns category, method, sets (for containers, those that fit), response
        and tardiness (the mean over sets of the mean over jobs, in periods; NaN without a set), and
        over, the number of sets with a job that was late by more than its period.

    Raises
    ------
    ValueError, OverflowError
        An argument is out of range, or there are too few CPUs for sets in which tasks use the GPU.
    TypeError
        An argument is not a number.
    """
    sets = integer(count, "count")
    if sets < 1:
        raise ValueError(f"count: got {sets}, expected a positive number")
    one_of(categories, ("lock", "own"), "categories")
    execution = Execution(executor, workers, progress, None, store, shard)
    chosen = scenarios_of(utilization, cpus)
    machine = Machine.of(cpus, seconds, waiting, overrun)
    simulated = {
        **{"utilization": utilization, "cpus": cpus, "seconds": machine.until / SECOND},
        **{"waiting": waiting, "overrun": overrun},
    }
    found = run(
        functools.partial(_measured, scenarios=chosen, machine=machine),
        [{}],
        [spawn(seed)],
        count=sets,
        execution=execution,
        name="gs.experiments.elliott_table2",
        seed=seed,
        settings=simulated,
        largest=1,  # a set takes about a second
    )
    if isinstance(found, StoredStudy):
        return found
    values = {name: array[0] for name, array in values_of(found).items()}
    category, fits = values["category"], values["fits"]
    response, tardiness, worst = (
        np.stack([values[f"{name} {m}"] for m in range(len(RUN_METHODS))], axis=-1)
        for name in ("response", "tardiness", "worst")
    )
    columns: dict[str, list[Any]] = {}
    for c, word in enumerate(CATEGORIES):
        for m, method in enumerate(RUN_METHODS):
            own = np.where(category == 0, 0, np.where(worst[:, m] <= 1, 1, 2))
            these = ((own if categories == "own" else category) == c) & (fits | (not _CONTAINER[m]))
            row = {
                "category": word,
                "method": method,
                "sets": int(these.sum()),
                "response": response[these, m].mean() if these.any() else float("nan"),
                "tardiness": tardiness[these, m].mean() if these.any() else float("nan"),
                "over": int((worst[these, m] > 1).sum()),
            }
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
    return ElliottRuns(
        {name: np.array(values) for name, values in columns.items()},
        np.array([chosen[k % len(chosen)] for k in range(sets)]),
        category,
        response,
        tardiness,
        worst,
        fits,
        {"count": sets, "seed": seed, **simulated, "seconds": seconds, "categories": categories},
    )


def _measured(
    *,
    scenarios: list[int],
    machine: Machine,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
) -> dict[str, Any]:
    """Category, fit, and response and tardiness by the number of the method, of each set."""
    from gpusched import analysis

    category = np.zeros(count, np.int64)
    fits = np.zeros(count, np.bool_)
    response, tardiness, worst = (np.zeros((len(RUN_METHODS), count)) for _ in range(3))
    for i, k in enumerate(range(first, first + count)):
        tasks = drawn(scenarios[k % len(scenarios)], seed, k, machine.cpus)
        for m, simulated in enumerate(machine.runs(tasks)):
            periods = tasks.period[simulated.task]
            late = np.maximum(simulated.end - simulated.deadline, 0) / periods
            response[m, i] = ((simulated.end - simulated.release) / periods).mean()
            tardiness[m, i] = late.mean()
            worst[m, i] = late.max()
        category[i] = category_of(tasks, machine.cpus, worst[0, i])
        fits[i] = analysis.container(tasks, machine.cpus).accepted
    named = {"response": response, "tardiness": tardiness, "worst": worst}
    return {
        "category": category,
        "fits": fits,
        **{f"{name} {m}": row for name, rows in named.items() for m, row in enumerate(rows)},
    }
