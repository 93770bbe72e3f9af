"""Sampling of a point until its confidence interval is narrow enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpusched._support.arguments import integer, real
from gpusched._support.text import shown

__all__ = ["Width", "rounds"]


@dataclass(frozen=True)
class Width:
    """Criterion of ``gs.sweep``: sample points until their 95 % confidence intervals are narrow.

    The intervals are checked after ``first`` task sets and then each time the number of sets has
    grown by a quarter, so that the number of sets of a point does not depend on chunks and workers.

    Attributes
    ----------
    width
        Largest width of an interval (upper minus lower limit), above 0 and below 1.
    quantity
        The quantity whose interval is checked; None for all quantities that have one.
    first
        Number of task sets before the first check.

    Examples
    --------
    >>> import gpusched as gs
    >>> import numpy as np
    >>> def test(*, load, count, first, seed):
    ...     return {"met": np.arange(first, first + count) % 10 >= 10 * load}
    >>> table = gs.sweep(test, {"load": [0.1, 0.5]}, count=10**6, seed=1, stop=gs.Width(0.1))
    >>> table["count"].tolist()
    [157, 387]
    """

    width: float
    quantity: str | None = None
    first: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", real(self.width, "width"))
        if not 0 < self.width < 1:
            raise ValueError(f"width: got {shown(self.width)}, expected more than 0, less than 1")
        if integer(self.first, "first") < 1:
            raise ValueError(f"first: got {self.first}, expected at least 1")

    def reached(self, columns: Mapping[str, Any]) -> bool:
        """Return whether the intervals among the columns of a point are narrow enough.

        Raises ValueError if there is no interval.
        """
        names = [self.quantity] if self.quantity is not None else []
        names = names or [name[: -len("_low")] for name in columns if name.endswith("_low")]
        try:
            widths = [columns[f"{name}_high"] - columns[f"{name}_low"] for name in names]
        except KeyError:
            widths = []
        if not widths:
            what = "any quantity" if self.quantity is None else shown(self.quantity)
            raise ValueError(
                f"stop: got a width for {what}, expected a quantity with a confidence interval"
            )
        return bool(max(widths) <= self.width)


def rounds(stop: Width | None, count: int) -> Iterator[int]:
    """Numbers of task sets at which a point is looked at, up to ``count``."""
    if stop is not None:
        at = stop.first
        while at < count:
            yield at
            at += -(-at // 4)
    yield count
