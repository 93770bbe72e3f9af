"""Figure 6 of [RTNS10]: growth of a task's tardiness in a set that cannot be scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer
from gpusched._support.results import Results
from gpusched.experiments.elliott_simulated import (
    RUN_METHODS,
    SECOND,
    Machine,
    Waiting,
    category_of,
    drawn,
    scenarios_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.host_tasks import HostTasks

__all__ = ["ElliottGrowth", "elliott_fig6"]


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
