"""Certificates that no schedule of batches meets all deadlines, each checked by `verify`.

`Overload` assigns prices to jobs, `DeadInterval` names an interval that is too short, `DeadStates`
a set of states that no batch leaves in time, and `InfeasibleSubset` contains one of these for a
subset of the tasks. The check shares no code with the search that finds them [RTNS24].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cmp_to_key
from math import isfinite, lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, instance, int_array, integer64, real
from gpusched._support.results import Frozen, Saved
from gpusched.model.batches import ONE
from gpusched.model.kernel_chains import BatchTasks, rows_of
from gpusched.model.workload.time_units import time_in_text
from gpusched.pbs.certificate_base import (
    Arrays,
    Certificate,
    CertificateError,
    Verdict,
    listed,
    needing,
)

if TYPE_CHECKING:
    from gpusched.model.batch_function import BatchFunction
    from gpusched.model.kernel_tasks import KernelTasks


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
        precedence: Int64Array | None,
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

    def words(self, tasks: BatchTasks) -> str:
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


def overpriced(function: BatchFunction, price: tuple[int, ...], scale: int) -> int | None:
    """Find a task that is the longest of a batch possibly worth more than its time; else None.

    The bounds are exact integers. A batch of two or more takes at least its longest ``wcet`` times
    the smallest factor; among tasks of equal length, the last counts as the longest. For each row
    of demand, the value of the batch is at most the value, rounded down, of a fractional knapsack
    of the tasks that are not longer; the smallest of these bounds is used. Prices are in units of
    1/``scale`` ticks.
    """
    need, room, alone = function.demand()
    rows = list(zip(need.tolist(), room.tolist(), strict=True))
    wcet = function.wcet.tolist()
    for task, time in enumerate(wcet):
        if price[task] > scale * time:
            return task
        if alone[task] or any(row[task] > most for row, most in rows):
            continue
        others = [
            i
            for i, other in enumerate(wcet)
            if (other, i) < (time, task) and not alone[i] and price[i] > 0
        ]
        bounds = [
            _knapsack([(price[i], row[i]) for i in others], most - row[task]) for row, most in rows
        ]
        least = -(-time * function.slowdown[0] // ONE)
        if price[task] + min(bounds) > scale * least:
            return task
    return None


def _by_density(a: tuple[int, int], b: tuple[int, int]) -> int:
    return b[0] * a[1] - a[0] * b[1]


def _knapsack(items: list[tuple[int, int]], room: int) -> int:
    """The greatest worth of items (worth, need), any of them in part, in a room; rounded down."""
    worth = 0
    for value, need in sorted(items, key=cmp_to_key(_by_density)):
        if need > room:
            return worth + value * room // need
        worth += value
        room -= need
    return worth


@dataclass(frozen=True, repr=False)
class DeadInterval(Certificate):
    """Proof by a time interval that is too short for the jobs that must run in it.

    Jobs released at or after its start and due by its end must run inside it, and each batch runs
    at most one job of each task. The proof holds with and without inserted idle time.

    >>> tasks = gs.KernelTasks(period=[4, 10], wcet=[3, 4])
    >>> proof = gs.pbs.DeadInterval(start=0, end=4, tasks=(0,), least=5)
    >>> proof
    <DeadInterval: task 0 needs 5 of the 4 ticks from 0 to 4>
    >>> proof.verify(tasks, gs.BatchTable.from_dict(2, {(0,): 5, (1,): 4})) is proof
    True

    Attributes
    ----------
    start, end
        Start and end of the interval in ticks.
    tasks
        Indices, in ascending order, of the tasks with a job that is released at or after ``start``
        and due by ``end``.
    least
        Minimum time in which batches cover these tasks; larger than ``end - start``.
    """

    _KIND: ClassVar[str] = "DeadInterval"

    start: int
    end: int
    tasks: tuple[int, ...]
    least: int

    def __post_init__(self) -> None:
        tasks = int_array(self.tasks, "tasks")
        if tasks.ndim != 1:
            raise ValueError(f"tasks: got shape {tasks.shape}, expected indices of tasks")
        object.__setattr__(self, "tasks", tuple(tasks.tolist()))
        for name in ("start", "end", "least"):
            object.__setattr__(self, name, integer64(getattr(self, name), name))

    def _verdict(
        self,
        arrays: Arrays,
        precedence: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return _core.pbs_proof_interval(
            *arrays,
            subset=subset,
            start=self.start,
            end=self.end,
            tasks=int_array(self.tasks, "tasks"),
            least=self.least,
            **options,
        )

    def words(self, tasks: BatchTasks) -> str:
        """The proof in one sentence, with the names of the tasks and times in ticks."""
        return (
            f"{needing(tasks, self.tasks)} {time_in_text(self.least, ' ticks')} between "
            f"{time_in_text(self.start)} and {time_in_text(self.end)}, "
            f"which are {time_in_text(self.end - self.start)}."
        )

    def __repr__(self) -> str:
        one = len(self.tasks) == 1
        who = f"task {self.tasks[0]} needs" if one else f"tasks {_first(self.tasks)} need"
        room = f"{self.end - self.start:,} ticks from {self.start:,} to {self.end:,}"
        return f"<DeadInterval: {who} {self.least:,} of the {room}>"


def _first(tasks: tuple[int, ...]) -> str:
    more = len(tasks) - 10
    return ", ".join(map(str, tasks[:10])) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, eq=False, repr=False)
class DeadStates(Certificate, Frozen):
    """Proof by states from which every sequence of batches misses a deadline, the first included.

    A state is a time and the pending jobs. States are grouped into classes; a class consists of an
    interval between two consecutive arrivals and the number of pending jobs of each task. Each
    entry states which times of a class are dead. From a dead state, each batch that ends in time,
    and waiting if that is allowed, leads to another dead state, and no dead state has all jobs
    completed. Prices of jobs, as in `Overload`, rule out states that are too late for the remaining
    jobs of a window. Sizes: E entries, S spans, W windows, n tasks.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[3, 4])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 3, (1,): 4, (0, 1): 6})
    >>> proof = gs.pbs.DeadStates(
    ...     window=[], prices=[], scale=[], start=[0, 0], pending=[[1, 1], [0, 1]],
    ...     latest=[2**63 - 1] * 2, span_begin=[0, 1, 2], span_first=[0, 3], span_last=[0, 3],
    ... )
    >>> proof
    <DeadStates: 2 classes of states, 2 spans, 0 windows>
    >>> proof.verify(tasks, table) is proof
    True

    Attributes
    ----------
    window, scale, prices
        Ends of the windows, which start at 0, in ticks ``(W,)``; prices ``(W, n)`` in units of
        1/``scale`` ticks.
    start, pending
        For each entry, the first time of its interval ``(E,)``, and the pending jobs ``(E, n)``.
        For chains, n is the number of kernels, and a pending job is one that has yet to run the
        kernel.
    latest
        For each entry ``(E,)``: all later times of the class are dead even if the GPU may wait; the
        largest int64 if nothing is known.
    span_begin, span_first, span_last
        Entry e has the spans from ``span_begin[e]`` to ``span_begin[e + 1]``, ascending. The times
        from ``span_first`` to ``span_last`` (inclusive) are dead under the assumptions of the
        search, with or without idling.
    """

    _KIND: ClassVar[str] = "DeadStates"

    window: Int64Array
    prices: Int64Array
    scale: Int64Array
    start: Int64Array
    pending: Int64Array
    latest: Int64Array
    span_begin: Int64Array
    span_first: Int64Array
    span_last: Int64Array

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, int_array(getattr(self, field.name), field.name))
        self._check_shapes()
        super().__post_init__()

    def _check_shapes(self) -> None:
        n = self.pending.shape[-1]
        windows, entries, spans = (len(a) for a in (self.window, self.start, self.span_first))
        if self.prices.size == 0:
            object.__setattr__(
                self, "prices", self.prices.reshape(windows, n if not windows else 0)
            )
        shapes = {
            "window": (windows,),
            "prices": (windows, n),
            "scale": (windows,),
            "start": (entries,),
            "pending": (entries, n),
            "latest": (entries,),
            "span_begin": (entries + 1,),
            "span_first": (spans,),
            "span_last": (spans,),
        }
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            if found != shape:
                raise ValueError(f"{name}: got shape {found}, expected {shape}")
        begin = self.span_begin
        if begin[0] != 0 or begin[-1] != spans or (begin[1:] < begin[:-1]).any():
            raise ValueError("span_begin: expected offsets that rise from 0 to the number of spans")

    def _verdict(
        self,
        arrays: Arrays,
        precedence: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return _core.pbs_proof_states(
            *arrays,
            subset=subset,
            window=self.window,
            prices=self.prices,
            scale=self.scale,
            start=self.start,
            pending=self.pending,
            latest=self.latest,
            span_begin=self.span_begin,
            span_first=self.span_first,
            span_last=self.span_last,
            idling=idling,
            precedence=precedence,
            **options,
        )

    def words(self, tasks: BatchTasks) -> str:
        """The proof in one sentence."""
        count = len(self.start)
        return (
            "Every sequence of batches misses a deadline: all were followed, in "
            f"{count:,} {'group' if count == 1 else 'groups'} of equivalent situations (classes of "
            "states)."
        )

    def __repr__(self) -> str:
        parts = (
            (len(self.start), "class of states", "classes of states"),
            (len(self.span_first), "span", "spans"),
            (len(self.window), "window", "windows"),
        )
        text = ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts)
        return f"<DeadStates: {text}>"


@dataclass(frozen=True, repr=False)
class InfeasibleSubset(Certificate):
    """Proof by a subset of the tasks that misses a deadline even with the GPU to itself.

    A batch of the subset is assumed to take the minimum time of all batches with the same members
    of the subset, and the GPU may wait. Every schedule of all tasks contains such a schedule of the
    subset. The inner proof is about the subset alone; its tasks are positions in ``tasks``. If one
    of its jobs may end after the hyperperiod of the subset, this must equal the hyperperiod of all
    tasks.

    >>> tasks = gs.KernelTasks(period=[4, 6, 60], wcet=[3, 4, 1], name=["a", "b", "c"])
    >>> table = gs.BatchTable.from_dict(3, {(0,): 3, (1,): 4, (2,): 1})
    >>> proof = gs.pbs.InfeasibleSubset((0, 1), gs.pbs.Overload((3, 4), 1, 17 / 12))
    >>> proof
    <InfeasibleSubset: tasks 0, 1; <Overload: tasks 0, 1 need 1.417 times the time there is>>
    >>> proof.verify(tasks, table) is proof
    True

    Attributes
    ----------
    tasks
        Indices of the tasks of the subset, in ascending order.
    proof
        An `Overload`, `DeadInterval` or `DeadStates` of the subset.
    """

    _KIND: ClassVar[str] = "InfeasibleSubset"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Overload, DeadInterval, DeadStates)

    tasks: tuple[int, ...]
    proof: Overload | DeadInterval | DeadStates

    def __post_init__(self) -> None:
        tasks = int_array(self.tasks, "tasks")
        if tasks.ndim != 1:
            raise ValueError(f"tasks: got shape {tasks.shape}, expected indices of tasks")
        object.__setattr__(self, "tasks", tuple(tasks.tolist()))
        instance(self.proof, Certificate, "proof")
        if isinstance(self.proof, InfeasibleSubset):
            raise TypeError("proof: got InfeasibleSubset, expected a proof without a subset")

    def _verdict(
        self,
        arrays: Arrays,
        precedence: Int64Array | None,
        subset: Int64Array | None,
        idling: bool,
        options: dict[str, Any],
    ) -> Verdict:
        return self.proof._verdict(arrays, None, int_array(self.tasks, "tasks"), True, options)

    def _check_function(
        self, tasks: KernelTasks, function: BatchFunction, repeating: bool, stop: Any
    ) -> None:
        of = np.array(self.tasks)
        if len(of) and (of.min() < 0 or of.max() >= tasks.n or (np.diff(of) <= 0).any()):
            raise CertificateError("tasks: expected indices of tasks in rising order")
        check_later_jobs(tasks[of], tasks)
        least = function.least_table(self.tasks, stop=stop)
        self.proof.verify(tasks[of], least, idling=True, repeating=repeating, stop=stop)

    def words(self, tasks: BatchTasks) -> str:
        """The proof in two sentences, with the names of the tasks and times in ticks."""
        part = rows_of(tasks)[np.array(self.tasks)]
        miss = "misses" if len(self.tasks) == 1 else "miss"
        who = listed(tasks, self.tasks)
        return f"{who} {miss} a deadline even alone. {self.proof.words(part)}"

    def __repr__(self) -> str:
        who = ", ".join(map(str, self.tasks[:10]))
        return f"<InfeasibleSubset: tasks {who}; {self.proof!r}>"


def check_later_jobs(part: KernelTasks, tasks: KernelTasks) -> None:
    """Refuse a proof about a subset of the tasks if later jobs may run together with its jobs.

    The proof considers the jobs released in the hyperperiod of the subset. If that is shorter than
    the hyperperiod of all tasks and one of these jobs may end after it, a batch may also contain
    later jobs, and might take longer without them.
    """
    late = (part.offset + part.deadline > part.period).any()
    if late and part.hyperperiod != tasks.hyperperiod:
        raise CertificateError(
            "tasks: expected jobs that are due by the end of the tasks' hyperperiod, or the "
            "hyperperiod of all tasks"
        )


def certificate_of(
    proof: Mapping[str, Any] | None, tasks: KernelTasks, repeating: bool = False
) -> Certificate | None:
    """Make the certificate from a proof about these tasks; None for None.

    Parameters
    ----------
    proof
        A mapping with ``kind`` and the fields of that kind (see `Overload`, `DeadInterval`,
        `DeadStates` and `InfeasibleSubset`):

        - "window": ``window`` (None: the long run), ``prices``, ``scale``.
        - "interval": ``from``, ``to``, ``tasks`` (indices), ``least``.
        - "closed": ``windows``, ``window_prices``, ``scales``, ``entry_start``, ``entry_pending``,
          ``entry_latest``, ``span_begin``, ``span_first``, ``span_last``.
        - "core": ``core``, the tasks of the subset, and ``proof``, one of the above for them.
    tasks, repeating
        The tasks, and whether the proof is about all jobs instead of those of one hyperperiod.
    """
    if proof is None:
        return None
    kind = proof["kind"]
    if kind == "window":
        prices, scale, window = (proof[key] for key in ("prices", "scale", "window"))
        return Overload(prices, scale, demand_of(prices, scale, window, tasks, repeating), window)
    if kind == "interval":
        return DeadInterval(proof["from"], proof["to"], proof["tasks"], proof["least"])
    if kind == "closed":
        return DeadStates(
            window=proof["windows"],
            prices=proof["window_prices"],
            scale=proof["scales"],
            start=proof["entry_start"],
            pending=proof["entry_pending"],
            latest=proof["entry_latest"],
            span_begin=proof["span_begin"],
            span_first=proof["span_first"],
            span_last=proof["span_last"],
        )
    part = certificate_of(proof["proof"], tasks[np.asarray(proof["core"])], repeating)
    assert isinstance(part, (Overload, DeadInterval, DeadStates))
    return InfeasibleSubset(proof["core"], part)
