"""Answer of the tests under global EDF: bounded tardiness, response and tardiness bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched._support.text import plural
from gpusched.model.answer import Answer, Claim, Flags, Ticks, Times, missing
from gpusched.model.host_tasks import HostTasks
from gpusched.model.workload.time_units import time_in_text

__all__ = ["GEDF_BOUNDS", "LOCKS", "GedfVerdict"]

LOCKS = enumeration("analysis.gedf_lock")
"""Locks of the Shared Resource Method: FMLP-Long has one FIFO queue; the global OMLP has a FIFO
queue of m jobs, with a priority queue before it."""

GEDF_BOUNDS = enumeration("analysis.gedf_bound")
"""Sources of bounds, in the order of ``GedfVerdict.method_code``: one CPU for every task; a single
CPU and implicit deadlines; Devi and Anderson 2005/2008; the compliant vector of Erickson, Devi and
Baruah 2010 and Erickson and Anderson 2012; the FIFO order inside a container."""

_REASONS = enumeration("analysis.gedf_verdict")  # in the order of ``GedfVerdict.verdict_code``
FIT = _REASONS.index("bounded")

_COMMON = (
    "Bounded tardiness (how long after its deadline a job may end) is tested: an accepted set may "
    "miss deadlines by at most its tardiness.",
    "Releases of a task are at least a period apart, and segments take at most their given times.",
    "Jobs are scheduled by global EDF (the earliest deadline first, on any CPU), preemptive, with "
    "free migration and without overhead.",
)
_OF_TEST = {
    "gedf_tardiness": "All of a job's time, kernels and blocking included, counts as execution.",
    "srm": "One lock guards the GPU during a whole GPU segment; waiting and kernels count as "
    "execution on a CPU.",
    "container": "GPU-using tasks run one at a time, in the order of their releases, inside a "
    "periodic server whose period costs nothing.",
    "cpu_only": "Kernels run on CPUs, as many times slower as was given, without copies.",
}


@dataclass(frozen=True, eq=False, repr=False)
class GedfVerdict(Answer):
    """Answer about bounded tardiness, with response bounds, for one set of n tasks or N sets.

    The question is soft schedulability as in [RTNS10]: a set is accepted if the tardiness of every
    task is bounded. An accepted set may miss deadlines by at most ``tardiness``;
    ``meets_deadlines`` tells whether all tardiness bounds are 0.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]])
    >>> answer = gs.analysis.srm(hosts, cpus=2)
    >>> answer.schedulable, answer.response.tolist(), answer.tardiness.tolist()
    (True, [13, 5], [0, 0])
    >>> answer.why()
    'No job is later than its deadline.'

    Attributes
    ----------
    hosts, cpus, test
        The tasks, the number of CPUs m, and "gedf_tardiness", "srm", "container" or "cpu_only".
    accepted
        Whether the tardiness of every task is bounded: a bool, or bool ``(N,)``. This is decided
        exactly for tasks that never wait; for tasks that wait the test is sufficient.
    demand
        Time that a job is counted for on the CPUs (e'), including suspensions and blocking: int64
        ticks of shape ``(n,)`` or ``(N, n)``, like all arrays below unless stated otherwise;
        rounded up if a speed-up makes it a fraction.
    blocking
        Part of the demand that is waiting for the GPU (b).
    numerator, denominator
        The exact response bound in lowest terms; 0 and 0 if there is none. If the periods have no
        small common multiple, utilizations were rounded up during the computation; if the fraction
        would not fit 64 bits, the bound was rounded up.
    method_code
        int8 indices into ``GEDF_BOUNDS``; ``method`` has the names.
    verdict_code
        Reason of the answer: 0 accepted, 1 a job is longer than its period, 2 the CPUs are
        overloaded, 3 the container is overloaded. An int, or int8 ``(N,)``.
    server_period
        Period of the container's server; 0 for other tests. An int, or int64 ``(N,)``.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "GedfVerdict"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks,)
    _QUESTION: ClassVar[str] = "the tardiness of every task is bounded"
    _SHOWN: ClassVar[tuple[str, ...]] = (
        *("period", "demand", "blocking", "response", "tardiness", "method"),
    )

    hosts: HostTasks
    cpus: int
    test: str
    accepted: Flags
    demand: Int64Array
    blocking: Int64Array
    numerator: Int64Array
    denominator: Int64Array
    method_code: npt.NDArray[np.int8]
    verdict_code: Ticks
    server_period: Ticks
    _lock: Ticks = field(repr=False)  # index into LOCKS, -1: none
    _failed: Ticks = field(repr=False)  # the task behind the reason, -1: none
    seconds: float = field(default=0.0, compare=False)

    @property
    def _tasks(self) -> HostTasks:
        return self.hosts

    @property
    def claim(self) -> Claim:
        """ "exact" for `cpu_only`, whose tasks never wait; otherwise "sufficient"."""
        return "exact" if self.test == "cpu_only" else "sufficient"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        return (*_COMMON, _OF_TEST[self.test])

    @property
    def rejected(self) -> Flags:
        """Whether tardiness is shown to be unbounded, by `cpu_only`: a bool, or bool ``(N,)``."""
        if self.claim == "exact":
            return ~self.accepted if self.is_stack else not self.accepted
        return np.zeros(len(self), np.bool_) if self.is_stack else False

    @property
    def meets_deadlines(self) -> Flags:
        """Whether every response bound is within its deadline (hard deadlines are met): a bool, or
        bool ``(N,)``."""
        values, known = self._responses()
        met = known & (values <= self.hosts.deadline) | ~self.hosts.is_task
        met = met.all(axis=-1) & self.accepted
        return met if self.is_stack else bool(met)

    @property
    def failed(self) -> Any:  # an int, None or a masked array, as is_stack says
        """The task whose job is longer than its period: an int, or None; for a stack an int64 array
        ``(N,)``, masked if there is none."""
        if self.is_stack:
            return missing(self._failed, np.asarray(self._failed) >= 0)
        return None if self._failed < 0 else self._failed

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a response bound: bool ``(n,)`` or ``(N, n)``. True for all tasks
        of an accepted set, unless the bounds exceed 64 bits, and False for all others."""
        known: npt.NDArray[np.bool_] = self.denominator > 0
        return known

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        known = self.bounded
        return -(-self.numerator // np.where(known, self.denominator, 1)), known

    @property
    def tardiness(self) -> Times:
        """Bound on the time by which a job can miss its deadline: ticks, rounded up, ``(n,)`` or
        ``(N, n)``; masked without a bound."""
        values, known = self._responses()
        return missing(np.maximum(values - self.hosts.deadline, 0), known)

    @property
    def exact(self) -> list[Any]:
        """The exact response bounds as a ``Fraction`` per task, None without a bound; for a stack,
        a list per set."""

        def of(above: list[int], below: list[int]) -> list[Fraction | None]:
            return [Fraction(n, d) if d else None for n, d in zip(above, below, strict=True)]

        above, below = self.numerator.tolist(), self.denominator.tolist()
        if not self.is_stack:
            return of(above, below)
        sizes = self.hosts.sizes.tolist()
        rows = zip(above, below, sizes, strict=True)
        return [of(numbers[:n], parts[:n]) for numbers, parts, n in rows]

    @property
    def method(self) -> npt.NDArray[np.str_]:
        """Source of each bound (``GEDF_BOUNDS``): the method that gives the smallest one."""
        return np.array(GEDF_BOUNDS)[self.method_code]

    @property
    def lock(self) -> Any:  # a string or an array, as is_stack says
        """Lock of the Shared Resource Method: a name of ``LOCKS``, "" without one; an array
        ``(N,)`` for a stack."""
        names = np.array((*LOCKS, ""))[self._lock]
        return names if self.is_stack else str(names)

    @property
    def utilization(self) -> Any:  # a float or an array, as is_stack says
        """Sum of demand / period: a float, or an array ``(N,)``."""
        total = (self.demand / np.maximum(self.hosts.period, 1)).sum(axis=-1)  # 0: no task
        return total if self.is_stack else float(total)

    def _reason(self) -> str:
        reason, share = _REASONS[int(self.verdict_code)], self.demand / self.hosts.period
        if reason == "long":
            return self._reason_of(int(self._failed))
        if reason == "container":
            inside = self.hosts.segments > 0
            return f"The GPU-using tasks need {float(share[inside].sum()):.6g} of one CPU."
        if reason == "load":
            return f"The tasks need {float(share.sum()):.6g} of {plural(self.cpus, 'CPU')}."
        if not self.bounded.all():
            return "Tardiness is bounded, by a number above 64 bits or that no method here gives."
        late = self.tardiness
        if not len(late) or not late.max():
            return "No job is later than its deadline."
        worst = int(late.argmax())
        most = time_in_text(int(late[worst]), " ticks")
        return f"No job is more than {most} late ({self._name(worst)})."

    def _reason_of(self, i: int) -> str:
        if i != self._failed:
            return super()._reason_of(i)
        wait = int(self.blocking[i])
        parts = f", {time_in_text(wait)} of them waiting for the GPU" if wait else ""
        period = time_in_text(int(self.hosts.period[i]), " ticks")
        demand = time_in_text(int(self.demand[i]), " ticks")
        return (
            f"A job of {self._name(i)} takes up to {demand}{parts}, more than its period of "
            f"{period}."
        )

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "period": self.hosts.period,
            "demand": self.demand,
            "blocking": self.blocking,
            **super()._columns(),
            "tardiness": self.tardiness,
            "method": self.method,
        }

    def _form(self) -> str:
        lock = f", {self.lock}" if not self.is_stack and self.lock else ""
        tasks = "" if self.is_stack else f"{self.hosts.n} tasks on "
        return f"{self.test}{lock}; {tasks}{self.cpus} CPUs, soft deadlines"
