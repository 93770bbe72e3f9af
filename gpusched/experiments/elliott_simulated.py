"""Simulated task sets of [RTNS10], section 6, with a lock, a driver or a container for the GPU.

The paper measures on a machine; here tasks are simulated (``gs.simulate.host``). The driver is a
model: it serves whole GPU segments in the order of the requests, while their jobs spin at their own
deadlines, or are suspended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._support.arguments import Int64Array, integer, one_of, real
from gpusched.experiments.elliott_scenarios import SCENARIOS
from gpusched.generate.elliott_sets import UTILIZATIONS

if TYPE_CHECKING:
    from gpusched.model.host_tasks import HostTasks
    from gpusched.simulate.host_result import HostRun

__all__ = ["CATEGORIES", "RUN_METHODS", "Machine", "Waiting", "category_of", "drawn", "length_of",
           "scenarios_of"]  # fmt: skip

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
