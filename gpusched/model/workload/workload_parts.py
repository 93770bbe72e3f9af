"""Contents of a workload, as files and frames give them to its constructor."""

from __future__ import annotations

from typing import NamedTuple

from gpusched.model.workload.observed_time import ObservedTime
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import TickLength

__all__ = ["Parts"]


class Parts(NamedTuple):
    """Tasks in ticks of ``tick`` ns, notes, and the share of observed GPU time."""

    tasks: tuple[Task, ...]
    tick: TickLength
    notes: tuple[str, ...]
    observed: ObservedTime | None
