"""Run-time policy of PBS: safe batches at a frame boundary, waiting times, and its evaluation.

The feasible times of all states (``gs.pbs.search(..., policy=True)``) define a policy: at a frame
boundary, every batch is safe whose planned end is feasible, also when jobs ended early. A scheduler
that never idles can miss a deadline because a job ended early; the policy may therefore wait. A
dispatcher that follows it reclaims slack and misses no deadline. ``play`` compares it with the two
strategies of [RTNS24], section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import FloatArray, Int64Array, frozen, int_array, one_of, seed_key
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Saved, same
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import escape, shown
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import (
    BatchTasks,
    KernelChains,
    KernelGraph,
    precedence_of,
    rows_of,
)
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched.model.schedule import Schedule

_SHOWN_STATES = 40
_STRATEGIES = enumeration("pbs.dispatch")


@dataclass(frozen=True, eq=False, repr=False)
class Play(Tabular, Saved, Frozen):
    """Result of R simulated runs of one hyperperiod by a dispatcher; arrays of length R.

    >>> tasks = gs.KernelTasks([4, 6], wcet=[1, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    >>> found = gs.pbs.search(tasks, table, policy=True)
    >>> play = found.policy.play(found.schedule, runs=10, seed=1)
    >>> type(play).__name__
    'Play'

    Attributes
    ----------
    late_count, jobs
        Number of jobs that ended late or never, and number of executed jobs.
    frames, end
        Number of frames, and end of the last one in ticks.
    response
        Mean response time of the jobs in ticks (float).
    waited
        Number of ticks in which the GPU was idle although work was ready.
    """

    _KIND: ClassVar[str] = "Play"
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"misses": "late_count", "finish": "end"}

    late_count: Int64Array
    jobs: Int64Array
    frames: Int64Array
    end: Int64Array
    response: FloatArray
    waited: Int64Array

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.late_count)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per run."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"run": np.arange(len(self)), **columns}

    def __repr__(self) -> str:
        late, jobs = int(self.late_count.sum()), int(self.jobs.sum())
        return f"<Play: {len(self)} runs, {jobs:,} jobs, {late:,} late>"


@dataclass(frozen=True, eq=False, repr=False)
class Policy(Tabular, Saved):
    """Feasible times of all states of one task set, and the decisions derived from them.

    In all methods, ``pending`` is a bit mask of tasks with one pending job, or a sequence of n
    numbers of pending jobs. ``time`` is in [0, H), or later if the schedule repeats (deadlines not
    longer than periods, no offsets). For chains, ``pending`` refers to the rows of ``tasks.rows``:
    the jobs that have yet to run the kernel.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> policy = gs.pbs.search(tasks, table, policy=True).policy
    >>> policy.safe(0, 0b11), policy.choose(0, 0b11)
    ([1, 3], 3)

    Attributes
    ----------
    tasks, table
        The tasks and their table.
    begin, first, last
        Class r has the spans first..last (both inclusive) from ``begin[r]`` to ``begin[r + 1]``.
        Classes are numbered by intervals between arrivals, the last interval first, and within an
        interval by pending jobs (as a bit mask if no deadline exceeds its period).
    """

    _KIND: ClassVar[str] = "Policy"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, KernelChains, KernelGraph)

    tasks: BatchTasks
    table: BatchTable
    begin: Int64Array
    first: Int64Array
    last: Int64Array
    _handle: _core.Policy = field(init=False)

    def __post_init__(self) -> None:
        for name in ("begin", "first", "last"):
            frozen(getattr(self, name))
        period, deadline, offset, completion = map(np.atleast_2d, self._arrays())
        handle = _core.policy_open(
            period,
            deadline,
            offset,
            completion,
            self.begin,
            self.first,
            self.last,
            precedence=precedence_of(self.tasks),
        )
        object.__setattr__(self, "_handle", handle)

    def _arrays(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        rows = rows_of(self.tasks)
        return (rows.period, rows.deadline, rows.offset, self.table.completion)

    def _values(self) -> tuple[Any, ...]:
        return (self.tasks, self.table, self.begin, self.first, self.last)

    def __reduce__(self) -> Any:
        return (Policy, self._values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return all(same(a, b) for a, b in zip(self._values(), other._values(), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _fields(self) -> dict[str, Any]:
        names = ("tasks", "begin", "first", "last")
        of_table = {key: getattr(self.table, key) for key in ("completion", "undecided", "order")}
        return {**{name: getattr(self, name) for name in names}, "table": of_table}

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Policy:
        return cls(**{**values, "table": BatchTable(**values["table"])})

    def _radix(self) -> Int64Array:
        """Numbers of pending jobs that a task can have in time, plus one."""
        rows = rows_of(self.tasks)
        found: Int64Array = 1 + -(-rows.deadline // rows.period)
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per span.

        The columns are ``interval`` (number of the interval between arrivals, 0 is the last one),
        ``pending`` (numbers of pending jobs as a tuple), and ``first`` and ``last`` (first and last
        feasible time).
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        radix = self._radix()
        count = int(np.prod(radix))
        row = np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
        stride = np.concatenate(([1], np.cumprod(radix)[:-1]))
        pending = (row % count)[:, None] // stride % radix
        return {
            "interval": row // count,
            "pending": [tuple(counts) for counts in pending.tolist()],
            "first": self.first,
            "last": self.last,
        }

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw the feasible times of the first 40 states with pending jobs, one row per state.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s".

        Returns
        -------
        The axes.
        """
        from gpusched._draw import axes as plot

        frame = self.to_frame()
        states = sorted({counts for counts in frame["pending"] if any(counts)})[:_SHOWN_STATES]
        row = {counts: i for i, counts in enumerate(states)}
        ax = plot.axes(ax, (9.4, 1.0 + 0.3 * max(len(states), 1)))
        end = int(self.tasks.hyperperiod)
        axis = plot.time_axis(unit, end)
        columns = (frame[name].tolist() for name in ("pending", "first", "last"))
        for counts, first, last in zip(*columns, strict=True):
            if counts in row:
                length = max(min(last, end) - first, 0) / axis.ticks
                bar: dict[str, Any] = {"color": plot.color(0), "edgecolor": plot.color(0)}
                ax.barh(row[counts], length, 0.6, left=first / axis.ticks, **bar)
        ax.set_yticks(range(len(states)), [str(counts) for counts in states])
        ax.set_ylim(len(states) - 0.4, -0.6)
        ax.set_xlim(0, end / axis.ticks)
        ax.set_xlabel(axis.label)
        ax.set_ylabel(f"pending jobs of the {self._unit()}")
        plot.grid(ax, "x")
        return ax

    def __repr__(self) -> str:
        horizon = "an infinite horizon" if self.repeats else "one hyperperiod"
        return f"<Policy: {self.tasks.n} tasks, {len(self.first)} spans, for {horizon}>"

    def _repr_html_(self) -> str:
        return (
            f"<p>{escape(repr(self)[1:-1])}. <code>choose(time, pending)</code> gives the batch to "
            "start, <code>safe(time, pending)</code> all safe ones.</p>"
        )

    def _state(self, time: int, pending: Any) -> tuple[_core.Policy, int, Int64Array, int]:
        """Handle, time within the hyperperiod, counts, and the whole hyperperiods before it."""
        if isinstance(pending, (int, np.integer)):
            n, unit = rows_of(self.tasks).n, self._unit()
            if not 0 <= pending < 1 << n:
                raise ValueError(
                    f"pending: got {shown(int(pending))}, expected a bit mask of {n} {unit}"
                )
            counts = np.array([int(pending) >> i & 1 for i in range(n)], np.int64)
        else:
            counts = int_array(pending, "pending")
        whole = 0
        if time >= self.tasks.hyperperiod and self.repeats:
            whole = int(time) // self.tasks.hyperperiod * self.tasks.hyperperiod
        return self._handle, int(time) - whole, counts, whole

    def _unit(self) -> str:
        return "kernels" if isinstance(self.tasks, KernelChains) else "tasks"

    @property
    def repeats(self) -> bool:
        """Whether every hyperperiod ends in its initial state, so that the policy holds forever."""
        short = (self.tasks.deadline <= self.tasks.period).all()
        return bool(short and not self.tasks.offset.any())

    def safe(self, time: int, pending: Any) -> list[int]:
        """Batches (bit masks) that are safe to start now, in increasing order."""
        handle, now, counts, _ = self._state(time, pending)
        batches: list[int] = handle.safe(now, counts).tolist()
        return batches

    def next(self, time: int, pending: Any) -> int | None:
        """First time from ``time`` on at which a batch is safe, if the GPU waits until then.

        None if there is no such time: no job is left, or a deadline can no longer be met.
        """
        handle, now, counts, whole = self._state(time, pending)
        when = handle.next(now, counts)
        if when is None and self.repeats and not counts.any():
            when = self.tasks.hyperperiod  # where all tasks are released again
        return None if when is None else when + whole

    def choose(self, time: int, pending: Any) -> int | None:
        """Batch to start now; None if no batch is safe.

        Safe batches that contain the most urgent job are preferred, and among them the one that
        saves the most time compared with running its members one after the other.
        """
        handle, now, counts, _ = self._state(time, pending)
        return handle.choose(now, counts) or None

    def feasible(self, pending: Any) -> Int64Array:
        """Feasible times of a state with these pending jobs, as spans of shape (S, 2)."""
        counts = self._state(0, pending)[2]
        radix = self._radix()
        if len(counts) != len(radix) or (counts < 0).any() or (counts >= radix).any():
            raise ValueError(
                f"pending: got {shown(counts.tolist())}, expected {len(radix)} counts from 0 to "
                f"{(radix - 1).tolist()}"
            )
        stride = np.concatenate(([1], np.cumprod(radix)[:-1]))
        classes = int(np.prod(radix))
        ranks = np.arange(int((counts * stride).sum()), len(self.begin) - 1, classes)[::-1]
        rows = np.concatenate([np.arange(self.begin[r], self.begin[r + 1]) for r in ranks])
        spans = np.stack([self.first[rows], self.last[rows]], axis=1).astype(np.int64)
        return frozen(spans)

    def play(
        self,
        schedule: Schedule,
        strategy: Literal["table", "reclaim", "policy"] = "policy",
        *,
        actual: tuple[float, float] = (0.5, 1.0),
        runs: int = 1,
        seed: Any = None,
        stop: Any = None,
    ) -> Play:
        """Simulate hyperperiods in which batches take only a part of their completion times.

        Parameters
        ----------
        schedule
            The schedule that "table" and "reclaim" follow; "policy" does not use it.
        strategy
            "table": every frame starts at its planned time. "reclaim": a frame starts as soon as
            the previous one has ended and its jobs are released ([RTNS24], section 4.1). "policy":
            this policy decides.
        actual
            Range from which a factor is drawn uniformly for each frame; the frame takes its
            completion time times the factor. With factors above 1, frames overrun and nothing is
            guaranteed.
        runs, seed
            Number of runs, and seed. Run i of a seed does not depend on the number of runs.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Returns
        -------
        Play

        Raises
        ------
        ValueError, OverflowError
            An argument is invalid, or the sum of the response times exceeds 64 bits.
        gpusched.Cancelled
            ``stop`` was set.
        """
        one_of(strategy, _STRATEGIES, "strategy")
        misses, jobs, frames, end, response, waited = self._handle.play(
            strategy=_STRATEGIES.index(strategy),
            start=schedule.start,
            end=schedule.end,
            batch=schedule.batch.astype(np.int64),
            runs=runs,
            key=seed_key(seed),
            low=float(actual[0]),
            high=float(actual[1]),
            stop=stop,
        )
        mean: FloatArray = response / np.maximum(jobs, 1)
        return Play(misses, jobs, frames, end, mean, waited)
