"""Simulations of [RTNS10], section 6: a lock or a container for the GPU, and the driver alone.

The paper measures on a machine; here tasks are simulated (``gs.simulate.host``). The driver is a
model: it serves whole GPU segments in the order of the requests, while their jobs spin at their own
deadlines.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import Int64Array, frozen, integer, one_of, real
from gpusched._support.progress import Progress
from gpusched._support.results import Results
from gpusched.experiments.elliott_study import SCENARIOS
from gpusched.generate.elliott_sets import UTILIZATIONS
from gpusched.study.execution import Execution
from gpusched.study.point_results import values_of
from gpusched.study.points import spawn
from gpusched.study.runs import run
from gpusched.study.shardable import shardable
from gpusched.study.stored_study import StoredStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.host_tasks import HostTasks
    from gpusched.simulate.host_result import HostRun

__all__ = ["CATEGORIES", "RUN_METHODS", "ElliottGrowth", "ElliottRuns", "elliott_fig6",
           "elliott_table2"]  # fmt: skip

CATEGORIES = ("easy", "difficult", "unable")
"""Categories of the paper: schedulable by analysis; otherwise, no job late by more than its period
under SRM; neither."""

RUN_METHODS = ("SRM", "Driver", "Container", "Container, idling")
"""Methods: the lock OMLP; the driver alone; a container whose server executes other tasks during
kernels; a container whose server idles."""

_WAYS: tuple[dict[str, Any], ...] = (
    *({"protocol": "omlp"}, {"protocol": "driver"}),
    *({"protocol": "container", "mode": mode} for mode in ("suspend", "busy")),
)
_SECOND = 1_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class ElliottRuns(Results):
    """Result of ``elliott_table2``: its table, and the values of each set.

    Attributes
    ----------
    scenario
        The number of each set's scenario in ``SCENARIOS``.
    category
        Index of each set's category in ``CATEGORIES``.
    response, tardiness
        Mean over the jobs of each set, in periods; ``(sets, methods)``, the methods in the order of
        ``RUN_METHODS``.
    worst
        Largest tardiness of the jobs of each set, in periods; ``(sets, methods)``.
    fits
        True when the set is schedulable by ``gs.analysis.container``.
    settings
        The arguments.
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

        The bars of containers are for the sets that fit into one.
        """
        axes = plot.panels(axes, 2, (9.6, 3.4))
        from matplotlib.ticker import LogFormatter

        counts = [int((self.category == k).sum()) for k in range(len(CATEGORIES))]
        fit = [int((self.category[self.fits] == k).sum()) for k in range(len(CATEGORIES))]
        labels = (CATEGORIES, counts, fit)
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
            ax.set_xticks(
                places, [f"{c}\n{n} sets, {k} fit" for c, n, k in zip(*labels, strict=True)]
            )
            ax.set_ylabel(f"average {name} (% of the period)")
            plot.grid(ax, "y")
        axes[1].legend(frameon=False, fontsize=8, loc="upper left")
        return axes


@dataclass(frozen=True, eq=False, repr=False)
class ElliottGrowth(Results):
    """Result of ``elliott_fig6``: its table, its task set and the drawn task."""

    tasks: HostTasks
    task: int
    settings: Mapping[str, Any]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the task's tardiness over time, one line per method; returns the axes."""
        ax = plot.axes(ax, (6.4, 3.6))
        for m, method in enumerate(RUN_METHODS):
            rows = self.where(method=method)
            if len(rows) == 0:
                continue
            style: dict[str, Any] = {"linewidth": 1.4, "linestyle": ("-", "-", "--", ":")[m]}
            ax.plot(rows["release"], rows["tardiness"], color=plot.color(m), label=method, **style)
        ax.set_xlabel("release of the job (s)")
        ax.set_ylabel("tardiness (periods)")
        ax.set_ylim(bottom=0)
        uses = "with" if self.tasks.segments[self.task] > 0 else "without"
        title = f"task {self.task} of {self.tasks.n}, {uses} GPU"
        ax.set_title(title, fontsize=10, loc="left", pad=24)
        place: dict[str, Any] = {"bbox_to_anchor": (-0.02, 1.0), "borderaxespad": 0.2}
        ax.legend(loc="lower left", frameon=False, fontsize=9, ncols=4, columnspacing=1.2, **place)
        plot.grid(ax)
        return ax


@shardable
def elliott_table2(
    count: int = 400,
    seed: Any = 1,
    *,
    utilization: Literal["light", "medium", "heavy"] = "medium",
    seconds: float = 150.0,
    cpus: int = 4,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> ElliottRuns | StoredStudy:
    """Simulate Table 2 of [RTNS10]: response and tardiness with a lock and with the driver.

    The paper ran 400 sets for 2.5 minutes each on four CPUs and a GPU, with the Shared Resource
    Method (OMLP) and with the driver only. The simulation also has the Container Method, for the
    sets that fit into a container (``gs.analysis.container``, with its server's period). Jobs are
    periodic and take their worst case; there are no overheads. The driver is a model: it serves GPU
    segments in FIFO order, and jobs spin from the request to the end.

    Sets are those of ``gs.generate.elliott``, with GPU-using tasks, in turn from all scenarios of
    ``utilization`` that have such sets (the paper does not say from which): all 90 of medium tasks,
    and of heavy ones the 72 where at least a fifth of four CPUs' tasks use the GPU.

    Parameters
    ----------
    count
        Number of task sets.
    seed
        As in ``gs.sweep``.
    utilization
        Interval of the tasks' utilizations; "medium" in Table 2.
    seconds
        Simulated time, in which jobs are released.
    cpus
        Number of CPUs.
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
        An argument out of range, or too few CPUs for sets with GPU-using tasks.
    TypeError
        An argument that is not a number.
    """
    sets = integer(count, "count")
    if sets < 1:
        raise ValueError(f"count: got {sets}, expected a positive number")
    execution = Execution(executor, workers, progress, None, store, shard)
    chosen = _scenarios(utilization, cpus)
    until = _until(seconds)
    found = run(
        functools.partial(_measured, scenarios=chosen, cpus=cpus, until=until),
        [{}],
        [spawn(seed)],
        count=sets,
        execution=execution,
        name="gs.experiments.elliott_table2",
        seed=seed,
        settings={"utilization": utilization, "cpus": cpus, "seconds": until / _SECOND},
        largest=1,  # a set takes about a second
    )
    if isinstance(found, StoredStudy):
        return found
    values = {name: array[0] for name, array in values_of(found).items()}
    category, fits = values["category"], values["fits"]
    response, tardiness, worst = (
        np.stack([values[f"{name} {m}"] for m in range(len(_WAYS))], axis=-1)
        for name in ("response", "tardiness", "worst")
    )
    columns: dict[str, list[Any]] = {}
    for c, word in enumerate(CATEGORIES):
        for m, method in enumerate(RUN_METHODS):
            these = (category == c) & (fits | (_WAYS[m]["protocol"] != "container"))
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
    settings = {"count": sets, "seed": seed, "utilization": utilization, "seconds": seconds}
    return ElliottRuns(
        {name: np.array(values) for name, values in columns.items()},
        np.array([chosen[k % len(chosen)] for k in range(sets)]),
        category,
        response,
        tardiness,
        worst,
        fits,
        settings | {"cpus": cpus},
    )


def _measured(
    *,
    scenarios: list[int],
    cpus: int,
    until: int,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
) -> dict[str, Any]:
    """Category, fit, and response and tardiness by the number of the method, of each set."""
    from gpusched import analysis

    category = np.zeros(count, np.int64)
    fits = np.zeros(count, np.bool_)
    response, tardiness, worst = (np.zeros((len(_WAYS), count)) for _ in range(3))
    for i, k in enumerate(range(first, first + count)):
        tasks = _draw(scenarios[k % len(scenarios)], seed, k, cpus)
        for m, simulated in enumerate(_runs(tasks, cpus, until)):
            periods = tasks.period[simulated.task]
            late = np.maximum(simulated.finish - simulated.deadline, 0) / periods
            response[m, i] = ((simulated.finish - simulated.release) / periods).mean()
            tardiness[m, i] = late.mean()
            worst[m, i] = late.max()
        category[i] = _category(tasks, cpus, worst[0, i])
        fits[i] = analysis.container(tasks, cpus).accepted
    named = {"response": response, "tardiness": tardiness, "worst": worst}
    return {
        "category": category,
        "fits": fits,
        **{f"{name} {m}": row for name, rows in named.items() for m, row in enumerate(rows)},
    }


def elliott_fig6(
    number: int | None = None,
    seed: Any = 1,
    *,
    utilization: Literal["light", "medium", "heavy"] = "medium",
    seconds: float = 20.0,
    cpus: int = 4,
) -> ElliottGrowth:
    """Simulate Figure 6 of [RTNS10]: growth of the tardiness of a task.

    An unschedulable set with a lock, with the driver alone (a model, see ``elliott_table2``), and
    in a container if it fits. The task is the one with the largest tardiness under the driver.

    Parameters
    ----------
    number
        Number of the set in ``elliott_table2`` with the same seed and utilization. Default: the
        first set of category "unable" whose tardiness under the driver keeps growing.
    seed, utilization, seconds, cpus
        As in ``elliott_table2``.

    Returns
    -------
    ElliottGrowth
        A row per method and job, with columns method (containers only if the set fits into one),
        release (s) and tardiness (in periods).

    Raises
    ------
    ValueError
        An argument out of range, or none of the first 1000 sets is of that kind.
    TypeError
        An argument that is not a number.
    """
    from gpusched import analysis

    chosen = _scenarios(utilization, cpus)
    until = _until(seconds)
    numbers = range(1000) if number is None else [integer(number, "number")]
    for k in numbers:
        tasks = _draw(chosen[k % len(chosen)], seed, k, cpus)
        if number is not None or _grows(tasks, cpus, until):
            break
    else:
        raise ValueError(
            "seed: expected a set with growing tardiness among the first 1000, got none"
        )
    fits = analysis.container(tasks, cpus).accepted
    runs = _runs(tasks, cpus, until)[: None if fits else 2]
    late = [(one.finish - one.deadline) / tasks.period[one.task] for one in runs]
    shown = int(runs[1].task[int(late[1].argmax())])
    columns: dict[str, list[Any]] = {"method": [], "release": [], "tardiness": []}
    for method, one, behind in zip(RUN_METHODS, runs, late, strict=False):
        mine = one.task == shown
        columns["method"] += [method] * int(mine.sum())
        columns["release"] += (one.release[mine] / _SECOND).tolist()
        columns["tardiness"] += np.maximum(behind[mine], 0).tolist()
    settings = {"number": k, "seed": seed, "utilization": utilization, "seconds": seconds}
    return ElliottGrowth(
        {name: np.array(values) for name, values in columns.items()},
        tasks,
        shown,
        settings | {"cpus": cpus},
    )


def _scenarios(utilization: Any, cpus: Any) -> list[int]:
    """Scenarios that have sets with GPU-using tasks (a tenth of seven heavy tasks rounds to 0)."""
    one_of(utilization, UTILIZATIONS, "utilization")
    m = integer(cpus, "cpus")
    if not 1 <= m < 2**31:
        raise ValueError(f"cpus: got {m}, expected 1 to 2**31 - 1 CPUs")
    found = []
    for scenario in SCENARIOS:
        if scenario.utilization == utilization:
            try:
                _draw(scenario.number, 0, 0, m)
            except ValueError:  # almost no draw is such a set
                continue
            found.append(scenario.number)
    if not found:
        raise ValueError(
            f"utilization: got {utilization!r}, expected one with several GPU-using tasks on {m} "
            "CPUs"
        )
    return found


def _until(seconds: Any) -> int:
    length = real(seconds, "seconds")
    if not 1 / _SECOND <= length <= 10_000:
        raise ValueError(f"seconds: got {length}, expected at least a nanosecond and at most 10000")
    return round(length * _SECOND)


def _draw(scenario: int, seed: Any, number: int, cpus: int) -> HostTasks:
    from gpusched import generate

    of = SCENARIOS[scenario]
    drawn: HostTasks = generate.elliott(
        *(of.utilization, of.periods, of.gpu, (of.share, of.share + 0.1)),
        seed=seed, first=number, cpus=cpus, empty=False,
    )  # fmt: skip
    return drawn


def _runs(tasks: HostTasks, cpus: int, until: int) -> list[HostRun]:
    from gpusched import simulate

    given: dict[str, Any] = {"until": until, "intervals": False, "progress": False}
    return [simulate.host(tasks, cpus, "gedf", **way, **given) for way in _WAYS]


def _category(tasks: HostTasks, cpus: int, worst: float) -> int:
    from gpusched import analysis

    if analysis.srm(tasks, cpus).accepted:
        return 0
    return 1 if worst <= 1 else 2


def _grows(tasks: HostTasks, cpus: int, until: int) -> bool:
    """True when SRM is late by more than a period, and the driver's tardiness keeps growing.

    It grows when it is twice as large at the end as halfway.
    """
    from gpusched import simulate

    given: dict[str, Any] = {"until": until, "intervals": False, "progress": False}
    late = []
    for way in _WAYS[:2]:
        seen = simulate.host(tasks, cpus, "gedf", **way, **given)
        behind = (seen.finish - seen.deadline) / tasks.period[seen.task]
        half = seen.release < until // 2
        late.append((behind[half].max(initial=0), behind[~half].max(initial=0)))
        if len(late) == 1 and _category(tasks, cpus, max(late[0])) < 2:
            return False
    return bool(late[1][1] > 1.8 * late[1][0])
