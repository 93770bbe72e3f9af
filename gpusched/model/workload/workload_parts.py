"""Contents of a workload, as files and frames give them to its constructor."""

from __future__ import annotations

from typing import NamedTuple

from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import TickLength

__all__ = ["Parts"]


class Parts(NamedTuple):
    """Tasks in ticks of ``tick`` ns, and notes."""

    tasks: tuple[Task, ...]
    tick: TickLength
    notes: tuple[str, ...]
