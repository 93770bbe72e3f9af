"""Certificates of unschedulability: an overloaded GPU, a dead interval of time.

Both can be checked without the search that found them [RTNS24].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["DeadInterval", "Overload", "certificate_of"]


@dataclass(frozen=True)
class Overload:
    """Proof that the GPU is overloaded: a price per task.

    No eligible batch is worth more than its completion time, yet the jobs of a hyperperiod are
    worth more than the hyperperiod.

    Attributes
    ----------
    price
        Price of a job of each task, in units of 1/``scale`` ticks.
    scale
        Units per tick.
    load
        Least time that the jobs of a hyperperiod need, in fractions of batches, relative to the
        hyperperiod; more than 1.
    """

    price: tuple[int, ...]
    scale: int
    load: float


@dataclass(frozen=True)
class DeadInterval:
    """Proof by an interval of time that is too short for the jobs that fall into it.

    Attributes
    ----------
    start, end
        Ticks.
    tasks
        Tasks with a job released at ``start`` or later and due by ``end``.
    least
        Least time in which batches cover these tasks: more than ``end - start``.
    """

    start: int
    end: int
    tasks: tuple[int, ...]
    least: int


def certificate_of(
    proof: dict[str, Any] | None, tasks: KernelTasks
) -> Overload | DeadInterval | None:
    """The certificate in a proof of the core."""
    if proof is None:
        return None
    if proof["kind"] == "window" and proof["window"] in (None, tasks.hyperperiod):
        return Overload(tuple(proof["prices"].tolist()), proof["scale"], proof["load"])
    if proof["kind"] == "interval":
        return DeadInterval(
            proof["from"], proof["to"], tuple(proof["tasks"].tolist()), proof["least"]
        )
    return None
