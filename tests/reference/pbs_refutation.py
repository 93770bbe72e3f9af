"""Check of a proof that no Parallel Batch Schedule exists, from its definition.

Source: csrc/pbs/refutation.h.  A proof is a dictionary as the core returns it.  All is computed
from the tasks and the table again; the function returns the violations, one sentence each.  needs:
as in pbs_brute; only what is said of states depends on it.
"""

from fractions import Fraction
from math import lcm

from reference.pbs_brute import held_back


def _violated_batch(prices, scale, completion):
    """A batch that is worth more than its time, or None."""
    n = len(prices)
    for batch in range(1, 1 << n):
        worth = sum(prices[i] for i in range(n) if batch >> i & 1)
        if completion[batch] and worth > scale * completion[batch]:
            return batch
    return None


def _released(period, offset, instant):
    """Number of releases at or before an instant."""
    return 0 if instant < offset else (instant - offset) // period + 1


class _Tasks:
    def __init__(self, period, deadline, offset):
        self.period, self.deadline, self.offset = period, deadline, offset
        self.n = len(period)
        self.hyper = lcm(*period)
        self.jobs = [max(0, -((o - self.hyper) // p)) for p, o in zip(period, offset, strict=True)]

    def counts(self, i, window):
        """Jobs of [0, H) that must, and that may, run in [0, window]."""
        must = _released(self.period[i], self.offset[i], window - self.deadline[i])
        may = _released(self.period[i], self.offset[i], window - 1)
        return min(must, self.jobs[i]), min(may, self.jobs[i])


def _window(proof, tasks, completion, repeating):
    prices, scale = [int(y) for y in proof["prices"]], proof["scale"]
    if (batch := _violated_batch(prices, scale, completion)) is not None:
        return [f"batch {batch} is worth more than its time"]
    if proof["window"] is None:
        if not repeating:
            return ["an infinite horizon was not asked about"]
        load = sum(Fraction(y, t) for y, t in zip(prices, tasks.period, strict=True))
        return [] if load > scale else ["the rates do not overload the GPU"]
    worth = 0
    for i, y in enumerate(prices):
        must, may = tasks.counts(i, proof["window"])
        worth += y * (must if y > 0 else may)
    return [] if worth > scale * proof["window"] else ["the window is long enough"]


def _interval(proof, tasks, completion):
    members = proof["tasks"].tolist()
    for i in members:
        first = _released(tasks.period[i], tasks.offset[i], proof["from"] - 1)
        release = tasks.offset[i] + first * tasks.period[i]
        if release + tasks.deadline[i] > proof["to"] or release >= tasks.hyper:
            return [f"task {i} has no job in the interval"]
    least = [0] * (1 << tasks.n)
    for left in range(1, 1 << tasks.n):
        least[left] = min(
            completion[b] + least[left & ~b]
            for b in range(1, 1 << tasks.n)
            if completion[b] and b & left
        )
    mask = sum(1 << i for i in members)
    return [] if least[mask] > proof["to"] - proof["from"] else ["the batches fit"]


class _Closed:
    """The dead set of a closed proof."""

    def __init__(self, proof, tasks, completion, idling, needs):
        self.tasks, self.completion, self.idling, self.needs = tasks, completion, idling, needs
        self.starts = sorted(
            {0} | {o + k * p for p, o, jobs in zip(tasks.period, tasks.offset, tasks.jobs,
                                                   strict=True) for k in range(jobs)}
        )  # fmt: skip
        self.arrivals = [
            [
                min(_released(p, o, start), jobs)
                for p, o, jobs in zip(tasks.period, tasks.offset, tasks.jobs, strict=True)
            ]
            for start in self.starts
        ]
        rows = (proof[name].tolist() for name in ("windows", "window_prices", "scales"))
        self.windows = [
            (window, prices, scale, [tasks.counts(i, window) for i in range(tasks.n)])
            for window, prices, scale in zip(*rows, strict=True)
        ]
        self.entries = {}
        begin = proof["span_begin"].tolist()
        spans = list(zip(proof["span_first"].tolist(), proof["span_last"].tolist(), strict=True))
        for e, (start, pending, latest) in enumerate(
            zip(proof["entry_start"].tolist(), proof["entry_pending"].tolist(),
                proof["entry_latest"].tolist(), strict=True)
        ):  # fmt: skip
            self.entries[self.starts.index(start), tuple(pending)] = (
                latest, spans[begin[e] : begin[e + 1]]
            )  # fmt: skip
        self.used = []
        self.seen = set()

    def arrived(self, k):
        return self.arrivals[k]

    def end(self, k):
        return self.starts[k + 1] if k + 1 < len(self.starts) else None

    def deadlines(self, k, pending):
        """Of the oldest pending job of each task, else of its next one, else None."""
        t, found = self.tasks, []
        for i, arrived in enumerate(self.arrived(k)):
            job = arrived - pending[i]
            found.append(
                t.offset[i] + job * t.period[i] + t.deadline[i] if job < t.jobs[i] else None
            )
        return found

    def bound(self, k, pending):
        """The last instant from which the prices leave enough time; None without a bound."""
        best = None
        done = [arrived - left for arrived, left in zip(self.arrived(k), pending, strict=True)]
        for window, prices, scale, counts in self.windows:
            if window <= self.starts[k]:
                continue
            needed, due = 0, False
            for y, gone, (must, may) in zip(prices, done, counts, strict=True):
                due = due or must > gone
                needed += y * max(0, (must if y > 0 else may) - gone)
            if due:
                latest = (scale * window - needed) // scale
                best = latest if best is None else min(best, latest)
        return best

    def require(self, k, pending, first, last, spans):
        """Whether first..last of a class is dead; queues what that rests on."""
        bound = self.bound(k, pending)
        at = first
        while at <= last:
            if bound is not None and at > bound:
                return True
            latest, dead = self.entries.get((k, pending), (None, []))
            if latest is not None and at > latest:
                self.queue(k, pending, latest + 1, None)
                return True
            span = next((s for s in dead if spans and s[0] <= at <= s[1]), None)
            if span is None:
                return False
            self.queue(k, pending, *span)
            at = span[1] + 1
        return True

    def queue(self, k, pending, first, last):
        if (k, pending, first, last) not in self.seen:
            self.seen.add((k, pending, first, last))
            self.used.append((k, pending, first, last))

    def step(self, k, pending, first, last):
        """Whether every move from first..last of a class misses or leads to dead time."""
        spans = last is not None
        end, due = self.end(k), self.deadlines(k, pending)
        members = [i for i, count in enumerate(pending) if count]
        if last is None:
            last = min([due[i] - 1 for i in members] + ([end - 1] if end is not None else []))
            bound = self.bound(k, pending)
            last = last if bound is None else min(last, bound)
        if end is not None and last >= end:
            return False
        waits = not members or (not spans and all(due[i] > end for i in members if end))
        if waits:
            if end is None:
                if not members:
                    return False
            elif not self.advance(k, pending, 0, end, end, spans):
                return False
        done = [arrived - left for arrived, left in zip(self.arrived(k), pending, strict=True)]
        held = held_back(self.needs, done)
        for batch in range(1, 1 << self.tasks.n):
            time = self.completion[batch]
            if batch & held:
                continue
            if time == 0 or any(batch >> i & 1 and not pending[i] for i in range(len(pending))):
                continue
            latest_end = min(
                d if batch >> i & 1 else d - 1 for i, d in enumerate(due) if d is not None
            )
            if not self.advance(
                k, pending, batch, first + time, min(last + time, latest_end), spans
            ):
                return False
        return True

    def advance(self, k, pending, batch, first, last, spans):
        to, base = k, self.arrived(k)
        while first <= last:
            while self.end(to) is not None and self.end(to) <= first:
                to += 1
            until = last if self.end(to) is None else min(last, self.end(to) - 1)
            after = tuple(
                count - (batch >> i & 1) + now - before
                for i, (count, now, before) in enumerate(
                    zip(pending, self.arrived(to), base, strict=True)
                )
            )
            if not self.require(to, after, first, until, spans):
                return False
            first = until + 1
        return True

    def violations(self):
        for _, prices, scale, _ in self.windows:
            if (batch := _violated_batch(prices, scale, self.completion)) is not None:
                return [f"batch {batch} is worth more than its time"]
        if not self.require(0, tuple(self.arrived(0)), 0, 0, not self.idling):
            return ["the start is not dead"]
        while self.used:
            item = self.used.pop()
            if not self.step(*item):
                return [f"not closed at {item}"]
        return []


def violations(
    proof, period, deadline, offset, completion, idling=False, repeating=False, needs=None
):
    """Errors of a proof; an empty list means that it holds."""
    if proof is None:
        return ["there is no proof"]
    if proof["kind"] == "core":
        core = proof["core"].tolist()
        least = [0] * (1 << len(core))
        for batch in range(1, len(completion)):
            if completion[batch]:
                own = sum(1 << j for j, i in enumerate(core) if batch >> i & 1)
                least[own] = min(least[own] or completion[batch], completion[batch])
        least[0] = 0
        part = ([x[i] for i in core] for x in (period, deadline, offset))
        return violations(proof["proof"], *part, least, True, repeating)
    tasks = _Tasks(period, deadline, offset)
    if proof["kind"] == "window":
        return _window(proof, tasks, completion, repeating)
    if proof["kind"] == "interval":
        return _interval(proof, tasks, completion)
    return _Closed(proof, tasks, completion, idling, needs).violations()
