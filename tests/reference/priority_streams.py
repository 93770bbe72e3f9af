"""Response-time bounds of kernel chains in streams of different priorities.

Task i has a stream of its own with a level (smaller is more urgent), at least `period` between
releases, and jobs that run `kernels` one after the other: (g, b, c) is a grid of g blocks of b
threads, each taking at most c; `latency` has the most ticks before each kernel joins its queue.
The GPU has `sms` SMs of `threads` threads, or one pool.  All numbers are exact; a bound is a
Fraction, or None where no theorem gives one.

C = g * b * c, p the level of the task under analysis; "lower" tasks are less urgent than p.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product
from math import ceil, inf
from typing import NamedTuple

JOBS = 300  # a run with more jobs is given up


class Task(NamedTuple):
    level: int
    period: int
    kernels: list
    latency: list

    @property
    def works(self):
        return [g * b * c for g, b, c in self.kernels]

    @property
    def work(self):
        return sum(self.works)


def task(level, period, kernels, latency=None):
    return Task(level, period, kernels, latency or [0] * len(kernels))


def saturation(tasks, p, threads, sms=1, busy=None, overlap=False):
    """The fewest threads that are busy while a kernel of level p or above waits; None: none does.

    `busy`: numbers of the tasks whose blocks may run (all unless given).  All multisets of blocks
    on one SM are tried: of each task blocks of one of its kernels, of the head's task blocks of
    the head, one less than it has.
    """
    busy = range(len(tasks)) if busy is None else busy
    least = None
    for head, of in enumerate(tasks):
        if of.level > p:
            continue
        for g, b, _ in of.kernels:
            loads = [{k * b for k in range(g)}]
            for i in busy:
                if i != head:
                    loads.append({k * w for h, w, _ in tasks[i].kernels for k in range(h + 1)})
            if overlap:
                loads = [set(range(0, threads + 1, tasks[i].kernels[0][1])) for i in busy]
            sums = {0}
            for some in loads:
                sums = {v + w for v, w in product(sums, some) if v + w <= threads}
            for v in sums:
                if v > threads - b and (least is None or v < least):
                    least = v
    return None if least is None else sms * least


class Level:
    """Symbols of the theorems for level p, with Phi (`fluid`) and B (`charged`)."""

    def __init__(self, tasks, p, threads, sms, fluid=(), charged=()):
        self.tasks, self.m, self.threads, self.sms = tasks, sms * threads, threads, sms
        self.high = [i for i, t in enumerate(tasks) if t.level < p]
        self.same = [i for i, t in enumerate(tasks) if t.level == p]
        self.low = [i for i, t in enumerate(tasks) if t.level > p]
        self.fluid, self.charged = fluid, charged
        self.beta = saturation(tasks, p, threads, sms)
        upper = [*self.high, *self.same, *charged]
        self.later = saturation(tasks, p, threads, sms, upper)
        self.known = {}
        self.H = sum(max(self.width(g, b) for g, b, _ in tasks[i].kernels) for i in fluid)

    def width(self, g, b):
        """Threads that g blocks hold at most: those for which the SMs have room."""
        return min(g, self.sms * (self.threads // b)) * b

    def kap(self, k, x):
        """Threads that lower blocks can hold when kernel x (from 0) of a run of k joins."""
        kernels, j = self.tasks[k].kernels, x % len(self.tasks[k].kernels)
        if x == 0 or self.tasks[k].latency[j] > 0:
            return self.m
        return self.m - kernels[j - 1][1]

    def residue(self, kap):
        """Pieces (length, threads held at most) of the time from a join until lower blocks end."""
        kernels = [
            [(self.width(g, b), c) for g, b, c in self.tasks[i].kernels if b <= kap]
            for i in self.low
            if i not in self.charged
        ]
        times = sorted({c for some in kernels for _, c in some})
        pieces = []
        for begin, end in zip([0, *times], times, strict=False):
            held = sum(max([w for w, c in some if c > begin], default=0) for some in kernels)
            pieces.append((end - begin, min(kap, held)))
        return pieces

    def segments(self, kap):
        """Slopes and lengths of G, the last of which has no end."""
        if kap not in self.known:
            pieces = self.residue(kap)
            pieces = [(max(self.beta - self.H - held, 0), length) for length, held in pieces]
            last = [] if self.later is None else [(self.later - self.H, inf)]
            self.known[kap] = pieces + last
        return self.known[kap]

    def lost(self, kap):
        """E: work that cannot be done after a join because of lower blocks."""
        return sum(length * min(self.beta, held) for length, held in self.residue(kap))


def longest_wait(table, work):
    """W: the most waiting in which no more than `work` is done; `table`: slope -> length."""
    waited = 0
    for slope in sorted(table):
        if slope and slope * table[slope] >= work:
            return waited + Fraction(work, slope)
        waited += table[slope]
        work -= slope * table[slope]
    return waited


def jobs_in(length, period):
    return -(-length // period)


def theorem_m(tasks, k, R, at):
    """The bound of task k, with the bounds R and the `Level` at; None without one."""
    own, q = tasks[k], len(tasks[k].kernels)
    if at.beta is not None and at.H >= at.beta:
        return None
    others = [i for i in at.same if i != k]
    per_job = [i for i in at.high if i not in at.fluid] + list(at.charged)
    if any(R[i] is None for i in per_job):
        return None
    table = defaultdict(int)
    before = delay = w = F = bound = 0
    for x in range(JOBS * q):
        g, b, c = own.kernels[x % q]
        lam = own.latency[x % q]
        before += g * b * c - b * c
        delay += lam
        if at.beta is not None:
            for slope, length in at.segments(at.kap(k, x)):
                table[slope] += length
            work = before
            for i in others:
                work += kernels_ahead(tasks[i], R[i], F + lam, x + 1)
            while True:
                more = sum(
                    jobs_in(w + delay + R[i], tasks[i].period) * tasks[i].work for i in per_job
                )
                longer = longest_wait(table, work + more)
                if longer <= w:
                    break
                w = longer
                if w > JOBS * own.period:
                    return None
        F = w + delay + c
        delay += c
        if x % q == q - 1:
            N = x // q + 1
            bound = max(bound, F - (N - 1) * own.period)
            if F <= N * own.period:
                return Fraction(bound)
    return None


def kernels_ahead(other, bound, length, Q):
    """S: work of at most Q kernels of another task of the level, of jobs released in `length`."""
    if bound is None:
        return Q * max(other.works)
    jobs = jobs_in(length + bound, other.period)
    return sum(sorted(other.works * min(jobs, Q), reverse=True)[:Q])


def theorem_a(tasks, p, threads, sms, R, at=None):
    """Bounds {task: R} for the tasks of level p without one; empty if it does not apply.

    `at`: the `Level`, unless it is that of all SMs.
    """
    at = at or Level(tasks, p, threads, sms)
    todo = [k for k in at.same if R[k] is None]
    upper = at.high + at.same
    if at.beta is None or any(R[i] is None for i in at.high):
        return {}
    beta = at.beta
    U = sum(Fraction(tasks[i].work, tasks[i].period) for i in upper)
    SC = sum(tasks[i].work for i in upper)

    def stall(b, c):
        return max(beta - b, 0) * c

    def loss(k):
        return sum(
            stall(b, c) + beta * tasks[k].latency[j] + at.lost(at.kap(k, j))
            for j, (_, b, c) in enumerate(tasks[k].kernels)
        )

    if beta <= U or any(loss(k) > (beta - U) * tasks[k].period for k in todo):
        return {}
    H0 = Fraction(0)
    for i in upper:
        T, C = tasks[i].period, tasks[i].work
        H0 += C * (ceil(2 + SC / ((beta - U) * T)) - 1 if i in todo else jobs_in(R[i], T))
    found = {}
    for k in todo:
        _, b, c = tasks[k].kernels[-1]
        u = Fraction(tasks[k].work, tasks[k].period)
        found[k] = c + (H0 + SC - b * c + loss(k) - stall(b, c)) / (beta - U + u)
    return found


def theorem_o(tasks, threads, sms=1):
    """Bounds of jobs that may overlap, each in a stream of its own: single kernels."""
    found = []
    longest = max(t.kernels[0][2] for t in tasks)
    for t in tasks:
        upper = [i for i in tasks if i.level <= t.level]
        beta = saturation(tasks, t.level, threads, sms, overlap=True)
        U = sum(Fraction(i.work, i.period) for i in upper)
        above = sum(Fraction(i.work, i.period) for i in upper if i.level < t.level)
        _, b, c = t.kernels[0]
        if beta is None:
            found.append(Fraction(c))
        elif U <= beta and above < beta:
            started = beta * longest + sum(i.work for i in upper) - b * c
            found.append(c + Fraction(started) / (beta - above))
        else:
            found.append(None)
    return found


def choices(tasks, p, R):
    """Phi and B: the forced set and all of High; sets of lower tasks that have bounds."""
    high = [i for i, t in enumerate(tasks) if t.level < p]
    forced = [i for i in high if R[i] is None]
    low = [i for i, t in enumerate(tasks) if t.level > p and R[i] is not None]
    sets = [some for size in range(len(low) + 1) for some in combinations(low, size)]
    if len(low) > 4:
        low.sort(key=lambda i: -tasks[i].period)
        sets = [tuple(low[:size]) for size in range(len(low) + 1)]
    return [(fluid, charged) for fluid in (forced, high) for charged in sets]


def improve(tasks, p, threads, sms, R):
    """One round of Theorem M over a level: whether a bound fell."""
    levels = [Level(tasks, p, threads, sms, *choice) for choice in choices(tasks, p, R)]
    fell = False
    for k, t in enumerate(tasks):
        if t.level == p:
            found = [theorem_m(tasks, k, R, at) for at in levels]
            best = min((x for x in found if x is not None), default=None)
            if best is not None and (R[k] is None or best < R[k]):
                R[k], fell = best, True
    return fell


def alone(tasks, threads, sms=1):
    """The time of a job of the only task, whose blocks run in waves; None above its period."""
    [t] = tasks
    waves = [ceil(Fraction(g, sms * (threads // b))) for g, b, _ in t.kernels]
    time = sum(t.latency) + sum(w * c for w, (_, _, c) in zip(waves, t.kernels, strict=True))
    return Fraction(time) if time <= t.period else None


def bounds(tasks, threads, sms=1):
    """Theorem M from the most urgent level down, A where it gives none, until nothing changes."""
    R = [alone(tasks, threads, sms)] if len(tasks) == 1 else [None] * len(tasks)
    before = None
    while before != R:
        before = list(R)
        for p in sorted({t.level for t in tasks}):
            while improve(tasks, p, threads, sms, R):
                pass
            for k, bound in theorem_a(tasks, p, threads, sms, R).items():
                R[k] = bound
            while improve(tasks, p, threads, sms, R):
                pass
    return R
