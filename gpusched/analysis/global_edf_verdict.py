"""What a test under global EDF says of task sets: is tardiness bounded, and by what?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, set_index
from gpusched._support.frozen import Frozen
from gpusched._support.text import clip
from gpusched.model.host_tasks import HostTasks

__all__ = ["GEDF_BOUNDS", "LOCKS", "GedfVerdict"]

LOCKS = ("fmlp", "omlp")
"""The locks of the Shared Resource Method, in the order of ``GedfVerdict.lock_code``: FMLP-Long,
one FIFO queue; the global OMLP, a FIFO queue of m jobs with a priority queue before it."""

GEDF_BOUNDS = ("", "alone", "uniprocessor", "devi_anderson", "compliant", "fifo")
"""Where a bound comes from, in the order of ``GedfVerdict.method_code``: a CPU for every task; one
CPU and implicit deadlines; Devi and Anderson 2005/2008; the compliant vector of Erickson, Devi and
Baruah 2010 and Erickson and Anderson 2012; the FIFO order inside a container."""

# The core's reasons, in the order of ``GedfVerdict.verdict_code``.
FIT, LONG, LOAD, CONTAINER = range(4)
_SHOWN_ROWS = 40


@dataclass(frozen=True, eq=False, repr=False)
class GedfVerdict(Frozen):
    """Whether tardiness is bounded, and response bounds, for one set of n tasks or N sets.

    Attributes
    ----------
    hosts, cpus, test
        What was asked: the tasks, m, and ``gedf_tardiness``, ``srm``, ``container`` or
        ``cpu_only``.
    schedulable
        Whether the tardiness of every task is bounded (soft schedulability): a bool, or an array of
        shape ``(N,)``. Decided exactly.
    demand
        What a job counts for on the CPUs (e'), with its suspensions and its blocking: int64 ticks
        of shape ``(n,)`` or ``(N, n)``, as all arrays below unless it says otherwise; rounded up
        where a speed-up makes it a fraction.
    blocking
        How much of the demand is waiting for the GPU (b).
    numerator, denominator
        The response bound exactly, in lowest terms; 0 and 0 without a bound. Where the periods have
        no short common multiple, utilizations were rounded up on the way, and where the fraction
        would not fit 64 bits, it was.
    method_code, lock_code, verdict_code, failed
        int8 indices into ``GEDF_BOUNDS`` per task, and per set into ``LOCKS`` (-1: no lock) and the
        reasons; the task behind the reason, or -1.
    server_period
        Of the container; 0 for the other tests. An int, or an array of shape ``(N,)``.
    """

    hosts: HostTasks
    cpus: int
    test: str
    schedulable: Any
    demand: Int64Array
    blocking: Int64Array
    numerator: Int64Array
    denominator: Int64Array
    method_code: npt.NDArray[np.int8]
    lock_code: Any
    verdict_code: Any
    failed: Any
    server_period: Any

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return len(self.demand)

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether there is a number: all tasks of a schedulable set, or none of a set.

        The exception are schedulable sets whose bounds are beyond the clock.
        """
        known: npt.NDArray[np.bool_] = self.denominator > 0
        return known

    @property
    def response(self) -> Int64Array:
        """No response is longer: ticks, rounded up; -1 without a bound."""
        below = np.where(self.bounded, self.denominator, 1)
        found: Int64Array = np.where(self.bounded, -(-self.numerator // below), -1)
        return found

    @property
    def tardiness(self) -> Int64Array:
        """No job is later than its deadline by more: ticks, rounded up; -1 without a bound."""
        late = np.maximum(self.response - self.hosts.deadline, 0)
        found: Int64Array = np.where(self.bounded, late, -1)
        return found

    @property
    def exact(self) -> list[Any]:
        """The bounds as a ``Fraction`` per task, None without one; a list per set of a stack."""

        def of(above: list[int], below: list[int]) -> list[Fraction | None]:
            return [Fraction(n, d) if d else None for n, d in zip(above, below, strict=True)]

        above, below = self.numerator.tolist(), self.denominator.tolist()
        if not self.hosts.is_stack:
            return of(above, below)
        return [of(*rows) for rows in zip(above, below, strict=True)]

    @property
    def method(self) -> npt.NDArray[np.str_]:
        """What each bound comes from (``GEDF_BOUNDS``): the least one counts."""
        return np.array(GEDF_BOUNDS)[self.method_code]

    @property
    def lock(self) -> Any:
        """The lock of the Shared Resource Method: a name, ``""`` without, or an array of them."""
        names = np.array((*LOCKS, ""))[self.lock_code]
        return names if self.hosts.is_stack else str(names)

    @property
    def utilization(self) -> Any:
        """Of all demands: a float, or an array of shape ``(N,)``."""
        total = (self.demand / self.hosts.period).sum(axis=-1)
        return total if self.hosts.is_stack else float(total)

    def why(self, set: int | None = None) -> str:
        """A sentence: what rules out a bound, or how late a job can be."""
        at = set_index(set, len(self) if self.hosts.is_stack else None)
        verdict, i = int(np.asarray(self.verdict_code)[at]), int(np.asarray(self.failed)[at])
        demand, period = self.demand[at], self.hosts.period[at]
        if verdict == LONG:
            wait = int(self.blocking[at][i])
            parts = f", {wait} of them for the GPU" if wait else ""
            name = self.hosts.name[i]
            return f"a job of {name} takes {demand[i]} of its {period[i]} ticks{parts}"
        if verdict == CONTAINER:
            inside = self.hosts.segments[at] > 0
            share = float((demand / period)[inside].sum())
            return f"the GPU-using tasks need {share:.6g} of one CPU"
        if verdict == LOAD:
            load = float((demand / period).sum())
            return f"the tasks need {load:.6g} of {self.cpus} CPUs"
        if not self.bounded[at].all():
            return "tardiness is bounded, by a number beyond the clock or that no method here gives"
        late = self.tardiness[at]
        worst = int(late.argmax())
        name = self.hosts.name[worst]
        return f"no job is later than {late[worst]} ticks" + (f" ({name})" if late[worst] else "")

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set)."""
        keys = ["set"] if self.hosts.is_stack else []
        frame = self.hosts._task_frame()[[*keys, "task", "name", "period", "deadline"]]
        for name in ("demand", "blocking", "bounded", "response", "tardiness"):
            frame[name] = getattr(self, name).ravel()
        frame["method"] = self.method.ravel().astype(object)
        return frame

    def __repr__(self) -> str:
        return f"<GedfVerdict: {self._summary()}>"

    def _summary(self) -> str:
        if self.hosts.is_stack:
            count = int(self.schedulable.sum())
            return f"{self.test}, {count} of {len(self)} sets schedulable on {self.cpus} CPUs"
        verdict = "schedulable" if self.schedulable else "not schedulable"
        lock = f" ({self.lock})" if self.lock else ""
        return f"{self.test}{lock}, {verdict} on {self.cpus} CPUs: {self.why()}"

    def _repr_html_(self) -> str:
        summary = f"<p>GedfVerdict: {escape(self._summary())}</p>"
        if self.hosts.is_stack:
            return summary
        rows = []
        response, tardiness = self.response, self.tardiness
        for i in range(min(self.hosts.n, _SHOWN_ROWS)):
            known = self.bounded[i]
            cells = [
                escape(clip(self.hosts.name[i], 60)),
                f"{int(self.hosts.period[i]):,}",
                f"{int(self.demand[i]):,}",
                f"{int(self.blocking[i]):,}",
                f"{int(response[i]):,}" if known else "",
                f"{int(tardiness[i]):,}" if known else "",
                escape(str(self.method[i])),
            ]
            rows.append("".join(f"<td>{cell}</td>" for cell in cells))
        names = ("", "period", "demand", "of it waiting", "response", "tardiness", "from")
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = self.hosts.n - _SHOWN_ROWS
        note = f"<p>and {more} more tasks</p>" if more > 0 else ""
        return f"{summary}<table><tr>{head}</tr>{body}</table>{note}"
