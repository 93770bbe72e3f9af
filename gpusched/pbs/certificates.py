"""Certificates of unschedulability: an overloaded GPU, a dead interval of time.

Both can be checked without the search that found them [RTNS24].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched.model.batches import members

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


def certificate_of(stage: str, proofs: Any) -> Overload | DeadInterval | None:
    """The certificate of a stage, from the numbers of the core."""
    (scale, price, load, _), (_, start, end, mask, least) = proofs
    if stage == "overload":
        return Overload(tuple(price.tolist()), scale, load)
    if stage == "dead_interval":
        return DeadInterval(start, end, members(mask), least)
    return None
