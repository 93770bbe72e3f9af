"""Certificates of unschedulability: an overloaded GPU, a dead interval of time.

Both can be checked without the search that found them [RTNS24].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched.model.batches import members

__all__ = ["DeadWindow", "Overload", "certificate_of"]


@dataclass(frozen=True)
class Overload:
    """Proof that the GPU is overloaded: a price per task, in units of 1/``scale`` ticks.

    No eligible batch is worth more than its completion time, yet the jobs of a hyperperiod are
    worth more than the hyperperiod. ``load`` is the least time that the jobs of a hyperperiod need,
    in fractions of batches, relative to it.
    """

    price: tuple[int, ...]
    scale: int
    load: float


@dataclass(frozen=True)
class DeadWindow:
    """Proof by a window of time: ``tasks`` have jobs released at ``start`` or later and due by
    ``end``, and no batches cover these tasks in less than ``least`` ticks, more than the window."""

    start: int
    end: int
    tasks: tuple[int, ...]
    least: int


def certificate_of(stage: str, proofs: Any) -> Overload | DeadWindow | None:
    (scale, price, load, _), (_, start, end, mask, least) = proofs
    if stage == "overload":
        return Overload(tuple(price.tolist()), scale, load)
    if stage == "dead_window":
        return DeadWindow(start, end, members(mask), least)
    return None
