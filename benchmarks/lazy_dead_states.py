"""Maker of large certificates of dead states: a lazy search that widens every failure to a span.

In plain Python, for deadlines up to the periods and no offsets. A state that fails is widened to
the largest interval of instants from which every batch misses or ends in known dead time; the
latest instants at which a class can be completed with inserted idle time bound the search.
"""

from __future__ import annotations

import sys
from bisect import bisect_right, insort
from itertools import combinations

import numpy as np

import gpusched as gs

State = tuple[int, int]  # interval, and the pending tasks as a bit mask
NEVER = 2**61


class LazySearch:
    """The states of one set that a search reaches, and the instants that it finds dead."""

    def __init__(self, tasks: gs.KernelTasks, table: gs.BatchTable) -> None:
        self.period = tasks.period.tolist()
        self.deadline = tasks.deadline.tolist()
        self.completion = table.completion.tolist()
        self.n, self.horizon = tasks.n, tasks.hyperperiod
        releases = sorted({r for p in self.period for r in range(0, self.horizon, p)})
        self.start = [*releases, NEVER]
        self.arrived = [
            sum(1 << i for i, p in enumerate(self.period) if r % p == 0) for r in releases
        ]
        self.lo: dict[State, int] = {}
        self.up: dict[State, int] = {}
        self.spans: dict[State, list[tuple[int, int]]] = {}
        self.alone = [self.completion[1 << i] for i in range(self.n)]
        self.order: dict[int, list[tuple[int, int]]] = {}
        sys.setrecursionlimit(100_000)

    def batches(self, pending: int) -> list[tuple[int, int]]:
        """Eligible batches of pending tasks with their times, those that save most first."""
        if pending not in self.order:
            tasks = [i for i in range(self.n) if pending >> i & 1]
            rows = []
            for size in range(1, len(tasks) + 1):
                for some in combinations(tasks, size):
                    mask = sum(1 << i for i in some)
                    if time := self.completion[mask]:
                        rows.append((time - sum(self.alone[i] for i in some), mask, time))
            self.order[pending] = [(mask, time) for _, mask, time in sorted(rows)]
        return self.order[pending]

    def due(self, k: int, pending: int) -> list[int]:
        t, found = self.start[k], []
        for i in range(self.n):
            release = t - t % self.period[i]
            release += 0 if pending >> i & 1 else self.period[i]
            found.append(release + self.deadline[i] if release < self.horizon else NEVER)
        return found

    def limits(self, k: int, pending: int) -> tuple[int, int]:
        """Earliest deadline, and the tasks that have it."""
        due = self.due(k, pending)
        least = min(due)
        return least, sum(1 << i for i, d in enumerate(due) if d == least)

    def after(self, k: int, pending: int, batch: int, t: int) -> State:
        at = bisect_right(self.start, t) - 1
        left = pending & ~batch
        for j in range(k + 1, at + 1):
            left |= self.arrived[j]
        return at, left

    def latest(self, state: State) -> int:
        return self.up.get(state, self.start[state[0] + 1] - 1)

    def can_idle(self, t: int, state: State) -> bool:
        """Whether jobs can end in time from here if the GPU may wait."""
        k, pending = state
        if t <= self.lo.get(state, -1):
            return True
        if t > self.latest(state):
            return False
        stop = self.start[k + 1]
        if not pending and stop == NEVER:
            return True
        least, urgent = self.limits(k, pending)
        for mask, time in self.batches(pending):
            if t + time <= least - ((urgent & ~mask) != 0) and self.can_idle(
                t + time, self.after(k, pending, mask, t + time)
            ):
                self.lo[state] = max(t, self.lo.get(state, -1))
                return True
        missed = any(pending >> i & 1 and d <= stop for i, d in enumerate(self.due(k, pending)))
        if (
            stop < NEVER
            and not missed
            and self.can_idle(stop, (k + 1, pending | self.arrived[k + 1]))
        ):
            self.lo[state] = stop - 1
            return True
        best = max(self.lo.get(state, -1), self.start[k] - 1)
        for mask, time in self.batches(pending):
            end = min(t - 1 + time, least - ((urgent & ~mask) != 0))
            while end - time > best:
                at = self.after(k, pending, mask, end)
                reached = min(end, self.latest(at))
                if reached >= self.start[at[0]]:
                    best = max(best, reached - time)
                    break
                end = self.start[at[0]] - 1
        self.up[state] = best
        return False

    def known(self, t: int, state: State) -> tuple[int, int] | None:
        """A range around t that is known to be dead."""
        if t > self.latest(state):
            return self.latest(state) + 1, self.start[state[0] + 1] - 1
        spans = self.spans.get(state, [])
        at = bisect_right(spans, (t, NEVER)) - 1
        return spans[at] if at >= 0 and spans[at][1] >= t else None

    def is_alive(self, t: int, state: State) -> bool:
        """Whether a schedule that never idles exists from here; records what is not."""
        k, pending = state
        if self.known(t, state):
            return False
        stop = self.start[k + 1]
        if not pending:
            if stop == NEVER or self.is_alive(stop, (k + 1, self.arrived[k + 1])):
                return True
            self.spans[state] = [(self.start[k], stop - 1)]
            return False
        if not self.can_idle(t, state):
            return False
        least, urgent = self.limits(k, pending)
        for mask, time in self.batches(pending):
            if t + time <= least - ((urgent & ~mask) != 0) and self.is_alive(
                t + time, self.after(k, pending, mask, t + time)
            ):
                return True
        x, y = self.start[k], min(stop - 1, self.latest(state))
        for mask, time in self.batches(pending):
            limit = least - ((urgent & ~mask) != 0)
            x, y = self.widest(t, (x, y), (k, pending), mask, time, limit)
        self.add(state, x, y)
        return False

    def widest(
        self, t: int, within: tuple[int, int], state: State, mask: int, time: int, limit: int
    ) -> tuple[int, int]:
        """The part around t of a range from which a batch ends late or in dead time."""
        low, high = (edge + time for edge in within)
        first = last = t + time
        while last < high:
            if last + 1 > limit:
                last = high
                break
            found = self.known(last + 1, self.after(*state, mask, last + 1))
            if found is None:
                break
            last = min(high, found[1])
        while first > low:
            if first - 1 > limit:
                first = max(low, limit + 1)
                continue
            found = self.known(first - 1, self.after(*state, mask, first - 1))
            if found is None:
                break
            first = max(low, found[0])
        return first - time, last - time

    def add(self, state: State, x: int, y: int) -> None:
        spans = self.spans.setdefault(state, [])
        for span in [s for s in spans if s[0] <= y + 1 and s[1] >= x - 1]:
            spans.remove(span)
            x, y = min(x, span[0]), max(y, span[1])
        insort(spans, (x, y))

    def certificate(self) -> gs.pbs.DeadStates:
        """All that is known to be dead."""
        states = sorted({*self.up, *self.spans})
        spans = [self.spans.get(state, []) for state in states]
        rows = [span for some in spans for span in some]
        pending = [[mask >> i & 1 for i in range(self.n)] for _, mask in states]
        return gs.pbs.DeadStates(
            window=np.zeros(0, np.int64),
            prices=np.zeros((0, self.n), np.int64),
            scale=np.zeros(0, np.int64),
            start=np.array([self.start[k] for k, _ in states]),
            pending=np.array(pending, np.int64).reshape(-1, self.n),
            latest=np.array([self.up.get(state, 2**63 - 1) for state in states]),
            span_begin=np.cumsum([0, *map(len, spans)]),
            span_first=np.array([x for x, _ in rows], np.int64),
            span_last=np.array([y for _, y in rows], np.int64),
        )
