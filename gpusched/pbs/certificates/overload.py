"""Certificate by prices: no batch is worth more than its time, but all jobs are worth more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm
from typing import TYPE_CHECKING, Any, ClassVar

from gpusched import _core
from gpusched._support.arguments import Int64Array, int_array, integer64, real
from gpusched.model.kernel_chains import rows_of
from gpusched.model.workload.time_units import time_in_text
from gpusched.pbs.certificates.certificate import (
    Arrays,
    Certificate,
    CertificateError,
    Verdict,
    needing,
)
from gpusched.pbs.certificates.price_bounds import overpriced

if TYPE_CHECKING:
    from gpusched.model.batch_function import BatchFunction
    from gpusched.model.kernel_chains import KernelChains
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["Overload", "demand_of"]


@dataclass(frozen=True, repr=False)
class Overload(Certificate):
    """Proof that the GPU is overloaded, in the long run or in a window: a price for each task.

    No eligible batch is worth more than its completion time, but the jobs together are worth more
    than the available time. In the long run, each task has one job per period. In a window from 0
    to ``window``, jobs with a positive price count if they are due by its end, and jobs with a
    negative price if they are released before it: the batches up to the last one with a job due by
    the end contain all jobs of positive price that count, and no jobs of negative price that do not
    count. The proof holds with and without inserted idle time.

    >>> proof = gs.pbs.Overload(price=(3, 4), scale=1, demand=17 / 12)
    >>> proof
    <Overload: tasks 0, 1 need 1.417 times the time there is>
    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[3, 4])
    >>> proof.verify(tasks, gs.BatchTable.from_dict(2, {(0,): 3, (1,): 4})) is proof
    True

    Attributes
    ----------
    price
        Price of a job of each task, in units of 1/``scale`` ticks; may be negative.
    scale
        Units per tick.
    demand
        Minimum time that the jobs need, relative to the available time; larger than 1. This is a
        summary; `verify` recomputes it.
    window
        End of the window in ticks. None: the long run. If each of the jobs of one hyperperiod is
        due by its end, the long run is equivalent to the window of that length.
    """

    _KIND: ClassVar[str] = "Overload"

    price: tuple[int, ...]
    scale: int
    demand: float
    window: int | None = None

    def __post_init__(self) -> None:
        price = int_array(self.price, "price")
        if price.ndim != 1:
            raise ValueError(f"price: got shape {price.shape}, expected one price per task")
        object.__setattr__(self, "price", tuple(price.tolist()))
        object.__setattr__(self, "scale", integer64(self.scale, "scale"))
        object.__setattr__(self, "demand", real(self.demand, "demand"))
        if not isfinite(self.demand):
            raise ValueError(f"demand: got {self.demand}, expected a finite number")
        if self.window is not None:
            object.__setattr__(self, "window", integer64(self.window, "window"))

    def _verdict(
        self,
        arrays: Arrays,
        chained: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return _core.pbs_proof_prices(
            *arrays,
            subset=subset,
            window=self.window,
            prices=int_array(self.price, "price"),
            scale=self.scale,
            **options,
        )

    def _check_function(
        self, tasks: KernelTasks, function: BatchFunction, repeating: bool, stop: Any
    ) -> None:
        if len(self.price) != tasks.n:
            raise ValueError(f"price: got {len(self.price)} prices, expected {tasks.n}")
        if self.scale < 1 or (self.window is not None and self.window < 1):
            raise CertificateError("scale and window: expected positive numbers")
        late = tasks.offset.any() or (tasks.deadline > tasks.period).any()
        if self.window is None and late and not repeating:
            raise CertificateError(
                "jobs may end after the hyperperiod: a proof for the long run says nothing about "
                "one hyperperiod"
            )
        if (task := overpriced(function, self.price, self.scale)) is not None:
            raise CertificateError(
                f"a batch with task {task} as its longest may be worth more than its time"
            )
        if _demand(list(self.price), self.scale, self.window, tasks, repeating) <= 1:
            raise CertificateError("the jobs are worth no more than the time there is")

    def _priced(self) -> tuple[int, ...]:
        return tuple(i for i, price in enumerate(self.price) if price)

    def words(self, tasks: KernelTasks | KernelChains) -> str:
        """The proof in one sentence, with the names of the tasks and times in ticks."""
        if self.window is None:
            return (
                f"The GPU is overloaded: the jobs of a hyperperiod take {self.demand:.4g} times as "
                "long."
            )
        rows = rows_of(tasks)
        due = (rows.offset + rows.deadline <= self.window).tolist()
        # An invalid certificate may count no job.
        counted = tuple(i for i in self._priced() if due[i] or self.price[i] < 0)
        who = needing(tasks, counted or self._priced())
        need = max(self.window + 1, round(Fraction(self.demand) * self.window))
        return (
            f"{who} {time_in_text(need, ' ticks')} for the jobs of the first "
            f"{time_in_text(self.window)}."
        )

    def __repr__(self) -> str:
        priced = self._priced()
        who = f"tasks {', '.join(map(str, priced[:10])) or 'none'} need"
        who = f"task {priced[0]} needs" if len(priced) == 1 else who
        until = "time there is" if self.window is None else f"{self.window:,} ticks from 0 on"
        return f"<Overload: {who} {self.demand:.4g} times the {until}>"


def demand_of(
    price: Int64Array, scale: int, window: int | None, tasks: KernelTasks, repeating: bool
) -> float:
    """Value of the jobs at these prices, relative to the window or the long run.

    ``repeating``: all jobs count, not only those released in one hyperperiod.
    """
    return float(_demand(price.tolist(), scale, window, tasks, repeating))


def _demand(
    price: list[int], scale: int, window: int | None, tasks: KernelTasks, repeating: bool
) -> Fraction:
    columns = (column.tolist() for column in (tasks.period, tasks.deadline, tasks.offset))
    rows = list(zip(price, *columns, strict=True))
    if window is None:
        return sum((Fraction(y, period) for y, period, _, _ in rows), Fraction(0)) / scale
    horizon = lcm(*tasks.period.tolist())
    worth = 0
    for y, period, deadline, offset in rows:
        end = window - deadline if y > 0 else window - 1
        last = end if repeating else min(end, horizon - 1)
        worth += y * max(0, (last - offset) // period + 1)
    return Fraction(worth, scale * window)
