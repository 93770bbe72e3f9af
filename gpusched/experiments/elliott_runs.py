"""Simulated task sets of [RTNS10], section 6: Table 2, and the growth of tardiness in Figure 6.

The GPU is shared by a lock, by the driver alone, or in a container. The paper measures on a
machine; here tasks are simulated (``gs.simulate.host``). The driver is a model: it serves whole GPU
segments in the order of the requests, while their jobs spin at their own deadlines, or are
suspended.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import Int64Array, frozen, integer, one_of, real, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results
from gpusched.experiments.elliott_counts import SCENARIOS
from gpusched.generate.elliott_sets import UTILIZATIONS
from gpusched.study.engine import run
from gpusched.study.execution import Execution
from gpusched.study.point_results import values_of
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.host_tasks import HostTasks
    from gpusched.simulate.host_result import HostRun

CATEGORIES = ("easy", "difficult", "unable")
"""Categories of the paper: schedulable by analysis; not, but no job is late by more than its period
under SRM; all other sets."""

RUN_METHODS = ("SRM", "Driver", "Container", "Container, idling")
"""Methods: the lock OMLP; the driver alone; a container whose server executes other tasks during
kernels; a container whose server idles."""

Waiting = Literal["spin", "suspend"]

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Machine:
    """A machine on which task sets are simulated.

    Attributes
    ----------
    cpus
        Number of CPUs.
    until
        End of the simulated releases, in ns.
    waiting
        Behaviour of jobs from a request to the driver until its end.
    overrun
        Thousandths by which every part of a job takes longer than the analysis assumes.
    """

    cpus: int
    until: int
    waiting: Waiting = "spin"
    overrun: int = 0

    @classmethod
    def of(cls, cpus: Any, seconds: Any, waiting: Any, overrun: Any) -> Machine:
        """The machine of checked arguments; ``overrun`` is a share."""
        one_of(waiting, ("spin", "suspend"), "waiting")
        share = real(overrun, "overrun")
        if not 0 <= share <= 1:
            raise ValueError(f"overrun: got {share}, expected a share, from 0 to 1")
        whole = round(share * 1000)
        if not math.isclose(share * 1000, whole, abs_tol=1e-9):
            raise ValueError(f"overrun: got {share}, expected a multiple of 0.001")
        return cls(integer(cpus, "cpus"), length_of(seconds), waiting, whole)

    def runs(self, tasks: HostTasks, methods: int = len(RUN_METHODS)) -> list[HostRun]:
        """Runs of the first ``methods`` of ``RUN_METHODS``."""
        from gpusched import simulate
        from gpusched.ways.way import as_way

        played = (
            as_way("srm", lock="omlp"),
            as_way("driver", mode=self.waiting),
            *(as_way("container", mode=mode) for mode in ("suspend", "busy")),
        )
        given: dict[str, Any] = {"until": self.until, "intervals": False, "progress": False}
        longer = self._longer(tasks)
        return [simulate.host(longer, self.cpus, way, **given) for way in played[:methods]]

    def _longer(self, tasks: HostTasks) -> HostTasks:
        if not self.overrun:
            return tasks

        def scaled(times: Int64Array) -> Int64Array:
            longer: Int64Array = -(-times * (1000 + self.overrun) // 1000)
            return longer

        names = ("cpu", "copy_in", "kernel", "copy_out")
        changed: dict[str, Any] = {name: scaled(np.asarray(getattr(tasks, name))) for name in names}
        return tasks.replace(**changed)


def scenarios_of(utilization: Any, cpus: Any) -> list[int]:
    """Scenarios with sets that use the GPU (a tenth of seven heavy tasks rounds to 0)."""
    one_of(utilization, UTILIZATIONS, "utilization")
    m = integer(cpus, "cpus")
    if not 1 <= m < 2**31:
        raise ValueError(f"cpus: got {m}, expected 1 to 2**31 - 1 CPUs")
    found = []
    for scenario in SCENARIOS:
        if scenario.utilization == utilization:
            try:
                drawn(scenario.number, 0, 0, m)
            except ValueError:  # almost no draw is such a set
                continue
            found.append(scenario.number)
    if not found:
        raise ValueError(
            f"utilization: got {utilization!r}, expected one with several GPU-using tasks on {m} "
            "CPUs"
        )
    return found


def length_of(seconds: Any) -> int:
    """Simulated time in ns."""
    length = real(seconds, "seconds")
    if not 1 / SECOND <= length <= 10_000:
        raise ValueError(f"seconds: got {length}, expected at least a nanosecond and at most 10000")
    return round(length * SECOND)


def drawn(scenario: int, seed: Any, number: int, cpus: int) -> HostTasks:
    """Set ``number`` of a seed, from a scenario; with GPU-using tasks."""
    from gpusched import generate

    of = SCENARIOS[scenario]
    drawn: HostTasks = generate.elliott(
        *(of.utilization, of.periods, of.gpu, (of.share, of.share + 0.1)),
        seed=seed, first=number, cpus=cpus, empty=False,
    )  # fmt: skip
    return drawn


def category_of(tasks: HostTasks, cpus: int, worst: float) -> int:
    """Index in ``CATEGORIES``; ``worst``: largest tardiness of a job, in periods."""
    from gpusched import analysis

    if analysis.srm(tasks, cpus).accepted:
        return 0
    return 1 if worst <= 1 else 2


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


@dataclass(frozen=True, eq=False, repr=False)
class ElliottGrowth(Results):
    """Result of ``elliott_fig6``: its table, its task set and the drawn task.

    >>> list(gs.experiments.elliott_fig6(seconds=1).columns)
    ['method', 'release', 'tardiness']
    """

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


def elliott_fig6(
    number: int | None = None,
    seed: Any = 1,
    *,
    utilization: Literal["light", "medium", "heavy"] = "medium",
    seconds: float = 20.0,
    cpus: int = 4,
    waiting: Waiting = "spin",
    overrun: float = 0.0,
) -> ElliottGrowth:
    """Simulate Figure 6 of [RTNS10]: growth of the tardiness of a task.

    Simulates an unschedulable set with a lock, with the driver alone (a model, see
    ``elliott_table2``), and in a container if it fits. The task shown is the one with the largest
    tardiness under the driver.

    >>> growth = gs.experiments.elliott_fig6(seconds=1)
    >>> sorted(set(growth["method"].tolist()))
    ['Driver', 'SRM']

    Parameters
    ----------
    number
        Number of the set in ``elliott_table2`` with the same seed and utilization. Default: the
        first set of category "unable" whose tardiness under the driver keeps growing.
    seed, utilization, seconds, cpus, waiting, overrun
        As in ``elliott_table2``.

    Returns
    -------
    ElliottGrowth
        One row per method and job, with columns method (container only if the set fits into one),
        release (s) and tardiness (in periods).

    Raises
    ------
    ValueError
        An argument is out of range, or none of the first 1000 sets is suitable.
    TypeError
        An argument is not a number.
    """
    from gpusched import analysis

    chosen = scenarios_of(utilization, cpus)
    machine = Machine.of(cpus, seconds, waiting, overrun)
    numbers = range(1000) if number is None else [integer(number, "number")]
    for k in numbers:
        tasks = drawn(chosen[k % len(chosen)], seed, k, cpus)
        if number is not None or _grows(tasks, machine):
            break
    else:
        raise ValueError(
            "seed: expected a set with growing tardiness among the first 1000, got none"
        )
    fits = analysis.container(tasks, cpus).accepted
    runs = machine.runs(tasks, len(RUN_METHODS) if fits else 2)
    late = [(one.end - one.deadline) / tasks.period[one.task] for one in runs]
    shown = int(runs[1].task[int(late[1].argmax())])
    columns: dict[str, list[Any]] = {"method": [], "release": [], "tardiness": []}
    for method, one, behind in zip(RUN_METHODS, runs, late, strict=False):
        mine = one.task == shown
        columns["method"] += [method] * int(mine.sum())
        columns["release"] += (one.release[mine] / SECOND).tolist()
        columns["tardiness"] += np.maximum(behind[mine], 0).tolist()
    settings = {"number": k, "seed": seed, "utilization": utilization, "seconds": seconds}
    return ElliottGrowth(
        {name: np.array(values) for name, values in columns.items()},
        tasks,
        shown,
        settings | {"cpus": cpus, "waiting": waiting, "overrun": overrun},
    )


def _grows(tasks: HostTasks, machine: Machine) -> bool:
    """True when SRM is late by more than a period, and the driver's tardiness keeps growing.

    It grows when it is twice as large at the end as halfway.
    """
    late = []
    for methods in (1, 2):  # most sets need only the first
        seen = machine.runs(tasks, methods)[-1]
        behind = (seen.end - seen.deadline) / tasks.period[seen.task]
        half = seen.release < machine.until // 2
        late.append((behind[half].max(initial=0), behind[~half].max(initial=0)))
        if methods == 1 and category_of(tasks, machine.cpus, max(late[0])) < 2:
            return False
    return bool(late[1][1] > 1.8 * late[1][0])
