"""States of the Parallel Batch Scheduler on small sets, enumerated one by one [RTNS24]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["SmallSet", "State", "example_sets"]

State = tuple[int, tuple[int, ...]]
"""A time and the number of executed jobs of each task."""


@dataclass(frozen=True)
class SmallSet:
    """Periods, deadlines and times of batches (0: not eligible) of a few tasks."""

    period: tuple[int, ...]
    deadline: tuple[int, ...]
    completion: tuple[int, ...]

    @property
    def jobs(self) -> tuple[int, ...]:
        return tuple(math.lcm(*self.period) // t for t in self.period)

    def arrived(self, time: int) -> tuple[int, ...]:
        """Jobs of each task that arrive in [0, time]."""
        return tuple(
            0 if time < 0 else min(time // t + 1, m)
            for t, m in zip(self.period, self.jobs, strict=True)
        )

    def arrivals(self, start: int, end: int, closed: bool = False) -> bool:
        """Whether a job arrives in (start, end], or in [start, end] if closed."""
        return self.arrived(start - 1 if closed else start) != self.arrived(end)

    def ready(self, state: State) -> int:
        time, executed = state
        pairs = zip(self.arrived(time), executed, strict=True)
        return sum(1 << i for i, (a, k) in enumerate(pairs) if k < a)

    def misses(self, state: State, batch: int, end: int) -> bool:
        """Whether a frame from a state to ``end`` that runs ``batch`` misses a deadline."""
        for i, k in enumerate(state[1]):
            due = k * self.period[i] + self.deadline[i]
            if k < self.jobs[i] and (due < end if batch >> i & 1 else due <= end):
                return True
        return False

    def frames(self, state: State) -> Iterator[tuple[int, State, bool]]:
        """Eligible batches, the states they lead to, and whether a deadline is missed."""
        ready = self.ready(state)
        for batch in range(1, len(self.completion)):
            if batch & ~ready or not self.completion[batch]:
                continue
            end = state[0] + self.completion[batch]
            executed = tuple(k + (batch >> i & 1) for i, k in enumerate(state[1]))
            yield batch, (end, executed), self.misses(state, batch, end)

    def started(self, state: State) -> State:
        """The state, at the next arrival where no job is ready."""
        if self.ready(state):
            return state
        rows = zip(state[1], self.period, self.jobs, strict=True)
        return min((k * t for k, t, m in rows if k < m), default=state[0]), state[1]

    def reached(self) -> set[State]:
        """All states at the start of frames, without a missed deadline."""
        open_ = [(0, (0,) * len(self.period))]
        seen = set(open_)
        while open_:
            for _, after, missed in self.frames(open_.pop()):
                state = self.started(after)
                if not missed and state not in seen:
                    seen.add(state)
                    open_.append(state)
        return seen

    def dominations(self) -> Iterator[tuple[State, State]]:
        """Pairs of states (dominating, dominated) with the same executed and ready jobs."""
        groups: dict[tuple[object, int], list[State]] = {}
        for state in sorted(self.reached()):
            groups.setdefault((state[1], self.ready(state)), []).append(state)
        for group in groups.values():
            if self.ready(group[0]):
                yield from ((a, b) for i, a in enumerate(group) for b in group[i + 1 :])


def example_sets(count: int) -> Iterator[SmallSet]:
    """Random sets of two or three tasks, the same in every run."""
    rng = np.random.default_rng(2024)
    periods = (4, 5, 6, 8, 10, 12)
    while count:
        n = int(rng.integers(2, 4))
        period = tuple(int(t) for t in rng.choice(periods, n))
        if math.lcm(*period) > 40:
            continue
        deadline = tuple(int(rng.integers((t + 1) // 2, t + 1)) for t in period)
        alone = [int(rng.integers(1, d * 2 // 3 + 1)) for d in deadline]
        completion = [0] * (1 << n)
        for mask in range(1, 1 << n):
            members = [alone[i] for i in range(n) if mask >> i & 1]
            if len(members) == 1:
                completion[mask] = members[0]
            elif rng.random() < 0.8:
                completion[mask] = math.ceil(rng.uniform(1.1, 1.9) * max(members))
        yield SmallSet(period, deadline, tuple(completion))
        count -= 1
