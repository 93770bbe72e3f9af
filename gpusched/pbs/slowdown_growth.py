"""``gs.pbs.margin``: the largest factor by which the slowdown of batches can grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, flag, instance
from gpusched._support.budget import (
    Budget,
    Progress,
    as_budget,
    is_late,
    raise_if_stopped,
    reporter,
    share_of,
    within_seconds,
)
from gpusched._support.growth_factors import (
    factor_in_steps,
    factor_text,
    grown_time,
    grown_times,
    largest_factor,
)
from gpusched._support.text import shown
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.exact_search import search
from gpusched.pbs.search_answer import Search
from gpusched.pbs.search_inputs import check_inputs

_MOST_TIMES = 1 << 16
"""Largest number of distinct excess times for which an exact factor is computed."""

_LONGEST = 2**60 - 2
"""The longest time of a table, in ticks."""

_ZERO = Fraction(0)


@dataclass(frozen=True)
class SlowdownMargin:
    """Factor by which the slowdown of batches can grow; see `margin`.

    >>> tasks = gs.KernelTasks([10, 20], wcet=[2, 5])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 5, (0, 1): 6})
    >>> margin = gs.pbs.margin(tasks, table)
    >>> margin.unlimited, margin.exact
    (True, True)

    Attributes
    ----------
    tasks, table, idling
        The arguments of the call.
    factor
        The largest accepted factor: the exact maximum if ``exact``, otherwise the largest one of
        those that were tested. None if no factor was accepted, not even 0, and if ``unlimited``.
    failed
        The next larger factor that was tested, which failed; None if ``exact``.
    limit
        No larger factor is accepted, not even if the GPU may wait although work is ready. None if
        that is unknown or there is no such limit.
    unlimited
        Whether every factor is accepted, because a schedule needs no batch with a slowdown.
    exact
        Whether every factor up to ``factor`` is accepted and no larger one is.
    undecided
        Number of factors that a search left undecided; they count as failed.
    answer
        The `Search` with ``factor`` (if ``unlimited``, with the table as it is), whose schedule
        meets all deadlines; None without a factor.
    tested
        Number of searches.
    seconds
        Wall-clock time of the call.
    """

    tasks: KernelTasks = field(repr=False)
    table: BatchTable = field(repr=False)
    idling: bool
    factor: Fraction | None
    failed: Fraction | None
    limit: Fraction | None
    unlimited: bool
    exact: bool
    undecided: int
    answer: Search | None = field(repr=False)
    tested: int
    seconds: float = field(compare=False)

    def table_at(self, factor: Fraction | int) -> BatchTable:
        """Return the table with its slowdown multiplied by a factor, rounded up to ticks.

        Raises
        ------
        ValueError
            The factor is negative.
        OverflowError
            A time is 2**60 - 1 ticks or more.
        """
        if not isinstance(factor, (int, Fraction)) or isinstance(factor, bool):
            raise TypeError(f"factor: got {shown(factor)}, expected a Fraction or an int")
        if factor < 0:
            raise ValueError(f"factor: got {shown(factor)}, expected a number of at least 0")
        return _Excess(self.table).grown(Fraction(factor))

    def __str__(self) -> str:
        if self.unlimited:
            return "the slowdown may grow without limit"
        if self.factor is None:
            return f"none of the {self.tested} factors tested for the slowdown is accepted"
        known = f"the slowdown may be {factor_text(self.factor)} times as large"
        if self.exact:
            return f"{known}, and no larger"
        if self.failed is None:
            return f"{known}; no larger factor was tested"
        return f"{known}; {factor_text(self.failed)} is not accepted ({self.tested} factors tested)"


class _Excess:
    """Time of the batches of a table beyond that of the longest of their members alone."""

    def __init__(self, table: BatchTable) -> None:
        self.table = table
        alone = np.zeros(1, np.int64)
        for task in range(table.n):
            alone = np.concatenate([alone, np.maximum(alone, table.completion[1 << task])])
        self._alone = alone
        self._arrays = [a for a in (table.completion, table.undecided) if a is not None]
        excess = np.concatenate([(a - alone)[(a > alone) & self._shared()] for a in self._arrays])
        self.times: list[int] = np.unique(excess).tolist()

    def _shared(self) -> Any:
        """Batches of two tasks or more."""
        return np.bitwise_count(np.arange(len(self._alone))) > 1

    def grown(self, factor: Fraction, most: int | None = None) -> BatchTable:
        """The table with a factor on all excess times, and no batch longer than ``most``."""
        after = grown_times(factor, self.times)
        if most is not None:
            after = [min(time, most) for time in after]
        if max(after, default=0) > _LONGEST:
            raise OverflowError(f"factor: got {shown(factor)}, expected times below 2**60 - 1")
        values = np.array(after, np.int64)

        def times_of(array: Int64Array) -> Int64Array:
            grows = (array > self._alone) & self._shared()
            place = np.searchsorted(self.times, array[grows] - self._alone[grows])
            found = array.copy()
            found[grows] = self._alone[grows] + values[place]
            return found if most is None else np.minimum(found, most)

        undecided = None if self.table.undecided is None else times_of(self.table.undecided)
        return BatchTable._make(times_of(self.table.completion), undecided, self.table._orders)

    def without(self) -> BatchTable:
        """The table without the batches that have an excess."""
        keeps = [
            np.where((a > self._alone) & self._shared(), 0, a)
            for a in (self.table.completion, self.table.undecided)
            if a is not None
        ]
        orders = self.table._orders
        if orders is not None:
            kept = keeps[0][orders[0]] > 0
            orders = orders[0][kept], orders[1][kept]
        return BatchTable._make(keeps[0], keeps[1] if len(keeps) > 1 else None, orders)


class _Growth:
    """Whether tasks stay schedulable as the slowdown grows; each factor is tested once."""

    def __init__(
        self, tasks: KernelTasks, excess: _Excess, budget: Budget, stop: Any, report: Any
    ) -> None:
        self._tasks, self._excess = tasks, excess
        self._budget, self._stop, self._report = budget, stop, report
        # A batch that is longer than every deadline is of no use, however much longer it is.
        self._most = int(tasks.deadline.max()) + 1
        self._known: dict[tuple[Fraction, bool], bool] = {}
        self.tested = self.undecided = 0

    def search(self, table: BatchTable, idling: bool) -> Search:
        if not is_late(self._stop):  # else the search says so
            raise_if_stopped(self._stop)
        stop = share_of(self._stop, 2)
        found = search(self._tasks, table, idling=idling, budget=self._budget, stop=stop)
        self.tested += 1
        self._report(self.tested)
        return found

    def _asks(self, table: BatchTable, idling: bool) -> bool:
        """Whether the tasks are schedulable, without a schedule or proof, as of a stack of one."""
        undecided = None if table.undecided is None else table.undecided[None]
        found = self.search(BatchTable(table.completion[None], undecided), idling)
        self.undecided += int(found.undecided[0])
        return bool(found.accepted[0])

    def is_free(self, idling: bool) -> bool:
        """Whether a schedule needs no batch with an excess."""
        return self._asks(self._excess.without(), idling)

    def accepts(self, factor: Fraction, idling: bool) -> bool:
        """Whether a factor is accepted, where every schedule needs some batch with an excess."""
        if grown_time(factor, self._excess.times[0]) >= self._most:
            return False
        if is_late(self._stop):
            self.undecided += 1
            return False
        if (factor, idling) not in self._known:
            grown = self._excess.grown(factor, self._most)
            self._known[factor, idling] = self._asks(grown, idling)
        return self._known[factor, idling]

    def largest(self) -> Fraction | None:
        """The largest factor if the GPU may wait: exact unless a search is undecided."""
        found = largest_factor(lambda factor: self.accepts(factor, True), self._excess.times)
        return _ZERO if found is None and self.accepts(_ZERO, True) else found

    def stepwise(
        self, idling: bool, limit: Fraction | None
    ) -> tuple[Fraction | None, Fraction | None]:
        """The largest factor that was accepted, in steps, and the first that failed."""

        def accepts(factor: Fraction) -> bool:
            return (limit is None or factor <= limit) and self.accepts(factor, idling)

        factor, failed = factor_in_steps(accepts)
        return (_ZERO, failed) if factor is None and accepts(_ZERO) else (factor, failed)


def margin(
    tasks: KernelTasks,
    table: BatchTable,
    *,
    idling: bool = False,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> SlowdownMargin:
    """Find the largest factor by which the slowdown of kernels that run together can grow.

    The slowdown of a batch b is the time by which it exceeds its longest member alone: C(b) - L(b),
    where L(b) is the largest time in the table of a single task of b. With a factor f, the batch
    takes L(b) + ceil(f (C(b) - L(b))). Single tasks, and batches that take no longer than their
    longest member, keep their times. Factor 1 is the table as it is; factor 0 removes all slowdown.

    >>> tasks = gs.KernelTasks(period=[8, 8], wcet=[4, 5])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 4, (1,): 5, (0, 1): 7})
    >>> found = gs.pbs.margin(tasks, table, idling=True)
    >>> found.factor, found.exact, found.table_at(found.factor).completion.tolist()
    (Fraction(3, 2), True, [0, 4, 5, 8])
    >>> print(found)
    the slowdown may be 1.5 times as large, and no larger

    Parameters
    ----------
    tasks, table
        One task set and its table.
    idling
        Whether the GPU may wait although work is ready; PBS may not.
    budget
        A ``Budget`` for the whole call, whose ``states`` limit each search. Default: 2 GiB. Each
        search gets half of the seconds that are left.
    progress
        A callable (done, None), in searches, or a bool that turns a progress bar on or off; by
        default a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    SlowdownMargin
        With ``idling``, the factor is exact if no search is undecided and the table has at most
        65,536 distinct excess times. Otherwise it is an accepted factor up to 64 of which the next
        one, 1 % larger (0.01 below 2), is not accepted. Without ``idling``, no factor is tested
        that exceeds the exact factor with idling, which is ``limit``.

    Raises
    ------
    ValueError
        The tasks are a stack, no batch of the table has a slowdown, or the errors of `search`.
    OverflowError
        As in `search`.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    If the GPU may wait, a smaller factor is never worse: start every batch at the time at which it
    starts in a schedule for the larger factor. It ends no later, so that every job still meets its
    deadline, and the GPU idles for the rest of the time. Hence there is a largest accepted factor,
    and all smaller ones are accepted.

    If the GPU may not wait, a batch that ends earlier forces the next one to start earlier. That
    batch may then still run when an urgent job is released that cannot wait for its end, so a set
    may be schedulable with factor 2 but not with factor 1. Every schedule that never waits is also
    a schedule with idling, so the factor with ``idling`` is an upper bound.
    """
    instance(tasks, KernelTasks, "tasks")
    check_inputs(tasks, table)
    flag(idling, "idling")
    for name, value in (("tasks", tasks), ("table", table)):
        if value.is_stack:
            raise ValueError(f"{name}: got a stack, expected one task set and its table")
    if table.n != tasks.n:
        raise ValueError(f"table: got one for {table.n} tasks, expected {tasks.n} as in the set")
    limits = as_budget(budget)
    excess = _Excess(table)
    if not excess.times:
        raise ValueError(
            "table: got batches that take no longer than a member alone, expected a slowdown"
        )
    began = perf_counter()
    stop = within_seconds(stop, limits.seconds)
    with reporter(progress, None, "search", delay=1.0) as report:
        growth = _Growth(tasks, excess, limits, stop, report)
        if unlimited := growth.is_free(idling):
            found: tuple[Fraction | None, ...] = (None, None, None)
            exact = True
            answer: Search | None = growth.search(table, idling)
        else:
            found, exact = _found(growth, idling, len(excess.times))
            at = found[0]
            answer = None if at is None else growth.search(excess.grown(at, _LONGEST), idling)
    return SlowdownMargin(
        tasks=tasks,
        table=table,
        idling=bool(idling),
        factor=found[0],
        failed=found[1],
        limit=found[2],
        unlimited=unlimited,
        exact=exact,
        undecided=growth.undecided,
        answer=answer,
        tested=growth.tested,
        seconds=perf_counter() - began,
    )


def _found(
    growth: _Growth, idling: bool, times: int
) -> tuple[tuple[Fraction | None, Fraction | None, Fraction | None], bool]:
    """Factor, the one that failed, the limit; and whether the factor is exact."""
    known = times <= _MOST_TIMES and (idling or not growth.is_free(idling=True))
    limit = growth.largest() if known else None
    known = known and growth.undecided == 0
    if known and (idling or limit is None):
        return (limit, None, limit), True
    bound = limit if known else None
    factor, failed = growth.stepwise(idling, bound)
    return (factor, failed, bound), False
