"""Run time: which batches are safe now, or until when to wait, and what that is worth.

The feasible instants of every state (``gs.pbs.search(..., policy=True)``) are a policy: at a frame
boundary every batch whose planned end is feasible is safe, also when jobs end early. A scheduler
that never idles can be hurt by ending early, so the policy may say to wait; a dispatcher that
follows it reclaims slack and never misses. The GPUSched paper, section 4.1, has the two strategies
that it is compared with in ``play``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, int_array, one_of, seed_key
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.model.batch_table import BatchTable
    from gpusched.model.schedule import Schedule

__all__ = ["Play", "Policy"]

_STRATEGIES = ("table", "reclaim", "policy")


@dataclass(frozen=True, eq=False)
class Play:
    """What a dispatcher did in R runs of one hyperperiod, arrays of length R.

    ``misses``: jobs that ended late or never; ``jobs`` executed; ``frames``; ``finish``: the end of
    the last frame; ``response``: the mean response time of the jobs; ``waited``: ticks idle
    although work was ready.
    """

    misses: Int64Array
    jobs: Int64Array
    frames: Int64Array
    finish: Int64Array
    response: Any
    waited: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """The feasible instants of every state of one task set, and what follows from them.

    Attributes
    ----------
    tasks, table
        What it was computed for.
    begin, first, last
        The spans first..last (both included) of class r are those from ``begin[r]`` to
        ``begin[r + 1]``. Classes are numbered by intervals between arrivals, the last interval
        first, and in each by the pending jobs (a bit mask where deadlines do not exceed periods).

    ``pending`` in the methods is a bit mask of tasks with one pending job, or a sequence of n
    counts; ``time`` is in [0, H), or later where the schedule repeats (deadlines up to the periods,
    no offsets).
    """

    tasks: KernelTasks
    table: BatchTable
    begin: Int64Array
    first: Int64Array
    last: Int64Array
    _handle: _core.Policy = field(init=False)

    def __post_init__(self) -> None:
        period, deadline, offset, completion = map(np.atleast_2d, self._arrays())
        handle = _core.policy_open(
            period, deadline, offset, completion, self.begin, self.first, self.last
        )
        object.__setattr__(self, "_handle", handle)

    def _arrays(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        return (self.tasks.period, self.tasks.deadline, self.tasks.offset, self.table.completion)

    def __reduce__(self) -> Any:
        return (Policy, (self.tasks, self.table, self.begin, self.first, self.last))

    def __repr__(self) -> str:
        return f"<Policy: {self.tasks.n} tasks, {len(self.first)} spans>"

    def _state(self, time: int, pending: Any) -> tuple[_core.Policy, int, Int64Array, int]:
        """Handle, time within the hyperperiod, counts, and what was taken off the time."""
        if isinstance(pending, (int, np.integer)):
            if not 0 <= pending < 1 << self.tasks.n:
                raise ValueError(f"pending = {pending}: is no mask of {self.tasks.n} tasks")
            counts = np.array([int(pending) >> i & 1 for i in range(self.tasks.n)], np.int64)
        else:
            counts = int_array(pending, "pending")
        whole = 0
        if time >= self.tasks.hyperperiod and self.repeats:
            whole = int(time) // self.tasks.hyperperiod * self.tasks.hyperperiod
        return self._handle, int(time) - whole, counts, whole

    @property
    def repeats(self) -> bool:
        """Whether every hyperperiod ends as it began, so that the policy holds for ever."""
        short = (self.tasks.deadline <= self.tasks.period).all()
        return bool(short and not self.tasks.offset.any())

    def safe(self, time: int, pending: Any) -> list[int]:
        """The batches (bit masks) that are safe to start now, in increasing order."""
        handle, now, counts, _ = self._state(time, pending)
        batches: list[int] = handle.safe(now, counts).tolist()
        return batches

    def next(self, time: int, pending: Any) -> int | None:
        """The first time from ``time`` on at which some batch is safe, if the GPU waits that long.

        None when there is none: nothing is left to run, or it is too late for some job.
        """
        handle, now, counts, whole = self._state(time, pending)
        when = handle.next(now, counts)
        if when is None and self.repeats and not counts.any():
            when = self.tasks.hyperperiod  # where all tasks are released again
        return None if when is None else when + whole

    def choose(self, time: int, pending: Any) -> int | None:
        """The batch to start now, None when none is safe.

        Of the safe batches, one that contains the most urgent job if there is one, and then the one
        that saves the most time against running its members one after the other.
        """
        handle, now, counts, _ = self._state(time, pending)
        return handle.choose(now, counts) or None

    def feasible(self, pending: Any) -> Int64Array:
        """The feasible times of a state with these jobs pending, spans of shape (S, 2)."""
        counts = self._state(0, pending)[2]
        radix = 1 + -(-self.tasks.deadline // self.tasks.period)
        if len(counts) != self.tasks.n or (counts < 0).any() or (counts >= radix).any():
            raise ValueError("pending: a count is negative or more than can be pending in time")
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
        """Play hyperperiods in which batches take only part of their time.

        Parameters
        ----------
        schedule
            The schedule that "table" and "reclaim" follow; "policy" chooses by itself.
        strategy
            "table": every frame starts at its time. "reclaim": as soon as the frame before it has
            ended and its jobs are there (the GPUSched paper, section 4.1). "policy": this policy.
        actual
            Each frame takes its completion time times a factor drawn uniformly from this range;
            above 1 it overruns, and nothing is guaranteed.
        runs, seed
            Run i of a seed is the same whatever the number of runs.
        """
        one_of(strategy, _STRATEGIES, "strategy")
        misses, jobs, frames, finish, response, waited = self._handle.play(
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
        mean: Any = response / np.maximum(jobs, 1)
        return Play(*map(frozen, (misses, jobs, frames, finish, mean, waited)))
