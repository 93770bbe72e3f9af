"""Short simulations of a report: an interval of releases under every way, with its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpusched.comparison.analyses import Request
from gpusched.comparison.derived_models import DerivedModels, has_whole_kernels
from gpusched.comparison.observations import Watch, observed
from gpusched.comparison.rows import Row
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.workload.workloads import Workload

__all__ = ["ShortRun", "short_runs", "window_of"]

_MOST_JOBS = 40
_MOST_BLOCKS = 50_000


@dataclass(frozen=True)
class ShortRun:
    """The simulation of a row's interval; None with the reason if it cannot be run."""

    label: str
    run: WorkloadRun | None
    reason: str


def window_of(workload: Workload) -> int:
    """End of the interval of releases of short runs, in ticks.

    It is one hyperperiod after the first release, or earlier if that contains more than about 40
    jobs, but late enough for at least one job.
    """
    rate = sum(Fraction(1, task.period) for task in workload)
    first = min(task.offset for task in workload)
    return first + max(1, min(workload.hyperperiod, int(_MOST_JOBS / rate)))


def short_runs(rows: Sequence[Row], workload: Workload) -> list[ShortRun]:
    """A run with its timeline for every row that has a simulation.

    Cores and SMs are those of the row's answer. Blocks are kept unless there are too many.
    """
    models: dict[int, DerivedModels] = {}  # by platform, which most rows share
    until = window_of(workload)
    blocks = sum(
        kernel.repeat * (kernel.blocks or 1) * -(-max(0, until - task.offset) // task.period)
        for task in workload
        for kernel in task.kernels
    )
    found = []
    for row in rows:
        if row.run is None:
            continue
        timeline = blocks <= _MOST_BLOCKS or has_whole_kernels(row.way.name)
        watch = Watch(until, timeline)
        try:
            asked = Request(row.options, budget=row.budget, answer=row.answer)
            made = models.setdefault(id(row.platform), DerivedModels(workload, row.platform))
            run = observed(made, row.way, asked, watch)
            found.append(ShortRun(row.label, run, ""))
        except (ValueError, OverflowError) as error:
            found.append(ShortRun(row.label, None, str(error)))
    return found
