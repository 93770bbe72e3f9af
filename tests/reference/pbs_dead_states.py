"""Proofs that the Parallel Batch Scheduler misses a deadline, made by trying everything.

Source: "GPUSched", section 2.4, as in pbs_brute; the kinds of proofs are those of pbs_proof, which
checks them.  Only for small sets: every instant of every class of states that is reached is tried.
"""

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import lcm

NEVER = float("inf")


class DeadStates:
    """All states of a set, and which of them are dead.

    A state is (t, done), with the number of jobs done of each task; `idling` says of each question
    whether the GPU may wait.
    """

    def __init__(self, period, deadline, offset, completion, horizon=None):
        self.n = len(period)
        horizon = lcm(*period) if horizon is None else horizon
        self.release = [range(o, horizon, p) for p, o in zip(period, offset, strict=True)]
        self.total = tuple(len(jobs) for jobs in self.release)
        self.deadline = deadline
        self.starts = sorted({0, *(r for jobs in self.release for r in jobs)})
        self.arrived = [
            tuple(sum(r <= s for r in jobs) for jobs in self.release) for s in self.starts
        ]
        self.batches = [
            (sum(1 << i for i in members), members, completion[sum(1 << i for i in members)])
            for size in range(1, self.n + 1)
            for members in combinations(range(self.n), size)
            if completion[sum(1 << i for i in members)]
        ]
        self.alive = lru_cache(maxsize=None)(self._alive)

    def interval(self, t):
        return bisect_right(self.starts, t) - 1

    def stop(self, k):
        return self.starts[k + 1] if k + 1 < len(self.starts) else NEVER

    def due(self, i, done):
        return self.release[i][done] + self.deadline[i] if done < self.total[i] else NEVER

    def moves(self, t, done, idling):
        """All (t', done') that follow a state without a miss."""
        k = self.interval(t)
        pending = [a > d for a, d in zip(self.arrived[k], done, strict=True)]
        due = [self.due(i, done[i]) for i in range(self.n)]
        if self.stop(k) < NEVER and (idling or not any(pending)):
            if all(d > self.stop(k) for d, p in zip(due, pending, strict=True) if p):
                yield self.stop(k), done
        for mask, members, time in self.batches:
            if all(pending[i] for i in members):
                others = (due[i] for i in range(self.n) if not mask >> i & 1)
                if t + time <= min(due[i] for i in members) and t + time < min(
                    others, default=NEVER
                ):
                    yield t + time, tuple(d + (mask >> i & 1) for i, d in enumerate(done))

    def _alive(self, t, done, idling):
        return done == self.total or any(
            self.alive(*state, idling) for state in self.moves(t, done, idling)
        )

    def instants(self, k, done):
        """Instants of a class; in the last interval those at which something could still end."""
        last = self.stop(k) - 1
        if last == NEVER:
            last = max(self.due(i, d) for i, d in enumerate(done) if d < self.total[i])
        return range(self.starts[k], last + 1)

    def entries(self, idling, spans_only=False):
        """The entries of a proof: (start, pending, latest, spans) of every class that it reaches.

        None where the first instant is alive.  With spans_only nothing is said by `latest`.
        """
        first = (0,) * self.n
        if self.alive(0, first, idling):
            return None
        found, queue, seen = [], [(0, first)], {(0, first)}
        while queue:
            k, done = queue.pop()
            instants = self.instants(k, done)
            latest = None
            if not spans_only and not self.alive(instants[-1], done, True):
                latest = max((t for t in instants if self.alive(t, done, True)), default=-1)
            spans, reached = [], set()
            for t in instants:
                if latest is not None and t > latest:
                    reached |= set(self.moves(t, done, True))
                elif not self.alive(t, done, idling):
                    reached |= set(self.moves(t, done, idling))
                    if spans and spans[-1][1] == t - 1:
                        spans[-1] = (spans[-1][0], t)
                    else:
                        spans.append((t, t))
            pending = tuple(a - d for a, d in zip(self.arrived[k], done, strict=True))
            found.append((self.starts[k], pending, latest, spans))
            for t, after in reached:
                if (cls := (self.interval(t), after)) not in seen:
                    seen.add(cls)
                    queue.append(cls)
        return found


def dead_interval(period, deadline, offset, completion, horizon=None):
    """(start, end, tasks, least) of the first interval too short for its jobs; None without one."""
    n = len(period)
    horizon = lcm(*period) if horizon is None else horizon
    jobs = [(i, r, r + deadline[i]) for i in range(n) for r in range(offset[i], horizon, period[i])]
    cover = {0: 0}  # least time of batches by the tasks that they cover
    for _ in range(n):
        for done, before in list(cover.items()):
            for mask, time in enumerate(completion):
                if time and before + time < cover.get(done | mask, NEVER):
                    cover[done | mask] = before + time
    for start in sorted({r for _, r, _ in jobs}):
        for end in sorted({d for _, _, d in jobs if d > start}):
            tasks = sorted({i for i, r, d in jobs if start <= r and d <= end})
            least = min(time for done, time in cover.items() if all(done >> i & 1 for i in tasks))
            if least > end - start:
                return start, end, tasks, least
    return None


def _solved(rows):
    """Solution of linear equations in integers, each a row of coefficients and a value; or None."""
    rows = [list(row) for row in rows]
    n = len(rows)
    for c in range(n):
        pivot = next((r for r in range(c, n) if rows[r][c]), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        for r in range(n):
            if r != c and (own := rows[r][c]):
                rows[r] = [x * rows[c][c] - own * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [Fraction(row[-1], row[i]) for i, row in enumerate(rows)]


def best_prices(completion, must, may):
    """Prices and their scale: the most that must (and at most may) jobs of each task can be worth.

    All corners are tried: as many batches at their price, or tasks worth nothing, as there are
    tasks.
    """
    n = len(must)
    batches = [
        (*(mask >> i & 1 for i in range(n)), time) for mask, time in enumerate(completion) if time
    ]
    zeros = [(*(int(i == j) for i in range(n)), 0) for j in range(n)]
    best, prices = Fraction(-1), None
    for corner in combinations(batches + zeros, n):
        y = _solved(corner)
        if y is None or any(
            sum(x for x, one in zip(y, row, strict=False) if one) > row[-1] for row in batches
        ):
            continue
        worth = sum(x * (a if x > 0 else b) for x, a, b in zip(y, must, may, strict=True))
        if worth > best:
            best, prices = worth, y
    scale = lcm(*(x.denominator for x in prices))
    return [int(x * scale) for x in prices], scale
