"""Response-time bounds of kernels on m threads with FIFO order of blocks.

Task i: blocks[i] blocks of threads[i] threads, each taking at most block_time[i], at least
period[i] between releases.  The four orders are those of fifo.py.  All numbers are exact; a bound
is a Fraction, or None where the theorem says nothing.

C = blocks * threads * block_time, u = C / period, U and S the sums of u and C, beta the
saturation level.
"""

from fractions import Fraction
from itertools import product
from math import ceil

JOBS = 65536  # after so many jobs in a row a recurrence is given up


def saturation(blocks, threads, m, overlap=False):
    """The fewest threads that can be busy while a block of the queue's head waits for threads.

    All multisets of running blocks are tried: if task i waits then at most blocks[i] - 1 of its
    own run, and of a task j at most blocks[j]; of any task any number if its jobs overlap.  Blocks
    of v threads in all keep one of b threads waiting if m - b < v <= m.  None if none ever waits.
    """
    least = None
    for i, b in enumerate(threads):
        most = [g - (j == i) for j, g in enumerate(blocks)]
        if overlap:
            most = [m // a for a in threads]
        for running in product(*(range(k + 1) for k in most)):
            v = sum(k * a for k, a in zip(running, threads, strict=True))
            if m - b < v <= m and (least is None or v < least):
                least = v
    return least


class Set:
    """The symbols of the theorems for one task set."""

    def __init__(self, period, block_time, blocks, threads, m, overlap=False):
        self.n = len(period)
        self.T = [int(x) for x in period]
        self.c = [int(x) for x in block_time]
        self.g = [int(x) for x in blocks]
        self.b = [int(x) for x in threads]
        self.C = [g * b * c for g, b, c in zip(self.g, self.b, self.c, strict=True)]
        self.u = [Fraction(C, T) for C, T in zip(self.C, self.T, strict=True)]
        self.U = sum(self.u)
        self.S = sum(self.C)
        self.m = int(m)
        self.beta = saturation(self.g, self.b, self.m, overlap)
        self.none = [None] * self.n

    def others(self, k):
        return [i for i in range(self.n) if i != k]

    def own(self, k):
        """Work of a job of k before its last block starts."""
        return self.C[k] - self.b[k] * self.c[k]

    def stall(self, k):
        """Loss while the last blocks of a job of k are all that must be busy."""
        return max(self.beta - self.b[k], 0) * self.c[k]


def theorem_p(period, block_time, blocks, threads, m):
    """Jobs of one task may overlap: needs U <= beta."""
    s = Set(period, block_time, blocks, threads, m, overlap=True)
    if s.U > s.beta:
        return s.none
    in_flight = min(s.m, s.beta - 1) * max(s.c)
    return [s.c[k] + Fraction(in_flight + s.S - s.b[k] * s.c[k], s.beta) for k in range(s.n)]


def theorem_v3(period, block_time, blocks, threads, m):
    """Strict order: each job may stall once at the queue's head."""
    s = Set(period, block_time, blocks, threads, m)
    if s.beta is None:
        return s.none
    load = [s.C[i] + s.stall(i) for i in range(s.n)]
    if sum(Fraction(load[i], s.T[i]) for i in range(s.n)) > s.beta:
        return s.none
    in_flight, room = 0, s.m
    for i in sorted(range(s.n), key=lambda i: -s.c[i]):
        x = min(room, s.g[i] * s.b[i])
        in_flight += x * s.c[i]
        room -= x
    return [s.c[k] + Fraction(in_flight + sum(load) - s.b[k] * s.c[k], s.beta) for k in range(s.n)]


def theorem_a(period, block_time, blocks, threads, m, single=()):
    """Any order in which a waiting head means beta busy threads: needs U < beta and (SC1).

    (SC1): (beta - b_k)+ c_k <= (beta - U) T_k for every k.  Tasks in `single` are known to have at
    most one pending job at a time: (SC1) is not asked of them, and they get no bound here.
    """
    s = Set(period, block_time, blocks, threads, m)
    if s.beta is None or s.U >= s.beta:
        return s.none
    spare = s.beta - s.U
    backlog = 0
    for k in range(s.n):
        if k in single:
            backlog += s.C[k]
        elif s.stall(k) > spare * s.T[k]:
            return s.none
        else:
            pending = 2 + s.S / (spare * s.T[k])
            backlog += s.C[k] * (ceil(pending) - 1)
    return [
        None if k in single else s.c[k] + (backlog + s.S - s.b[k] * s.c[k]) / (spare + s.u[k])
        for k in range(s.n)
    ]


def theorem_a_single(period, block_time, blocks, threads, m):
    """Theorem A in release order, with the greatest set Q of tasks that have one pending job.

    A job of k in Q ends within c_k + (H - b_k c_k) / beta <= T_k of its release, where the pending
    work is at most H: one job of each task in Q, as many of the others as in Theorem A.  Sets are
    tried by size, all of them, so that this does not rely on the order in which tasks leave Q.
    """
    s = Set(period, block_time, blocks, threads, m)
    if s.beta is None:
        return s.none
    best = None
    for inside in product([True, False], repeat=s.n):
        Q = [k for k in range(s.n) if inside[k]]
        outside = [k for k in range(s.n) if not inside[k]]
        spare = s.beta - s.U
        if outside and (spare <= 0 or any(s.stall(k) > spare * s.T[k] for k in outside)):
            continue
        H = sum(s.C[k] for k in Q)
        H += sum(s.C[k] * (ceil(2 + s.S / (spare * s.T[k])) - 1) for k in outside)
        alone = {k: s.c[k] + Fraction(H - s.b[k] * s.c[k], s.beta) for k in Q}
        if all(alone[k] <= s.T[k] for k in Q) and (best is None or len(Q) > len(best)):
            best = alone
            work = H + s.S
            bound = [
                alone[k] if k in alone else s.c[k] + (work - s.b[k] * s.c[k]) / (spare + s.u[k])
                for k in range(s.n)
            ]
    return s.none if best is None else bound


def theorem_a_refined(period, block_time, blocks, threads, m, start=None, rounds=None):
    """Valid bounds for an order as in Theorem A, sharpened until nothing changes (or in `rounds`).

    Jacobi: a round computes all bounds from those of the round before.  A task is left alone while
    the bound of another one is unknown.
    """
    s = Set(period, block_time, blocks, threads, m)
    if start is None:
        start = theorem_a(period, block_time, blocks, threads, m)
    if s.beta is None:
        return s.none
    R = list(start)
    done = 0
    while done != rounds:
        new = [least(R[k], refine_a(s, k, R)) for k in range(s.n)]
        if new == R:
            break
        R = new
        done += 1
    return list(R)


def refine_a(s, k, R):
    """The longest response in a run of jobs of k, each released before its predecessor ends."""
    if any(R[i] is None for i in s.others(k)):
        return None
    worst = 0
    wait = Fraction(0)  # of the first N jobs, in all
    for N in range(1, JOBS + 1):
        # The least wait with beta wait >= work, from below; it grows with N.
        while True:
            work = N * s.own(k) + sum(
                ceil((wait + (N - 1) * s.c[k] + R[i]) / s.T[i]) * s.C[i] for i in s.others(k)
            )
            if s.beta * wait >= work:
                break
            wait = Fraction(work, s.beta)
        finish = wait + N * s.c[k]
        worst = max(worst, finish - (N - 1) * s.T[k])
        if finish <= N * s.T[k]:
            return worst
    return None


def theorem_v1(period, block_time, blocks, threads, m):
    """Hardware order: (bound, case) per task, or None.

    Case 1: a job ends before its successor may come, whatever the others do.  Case 2: a run of
    jobs, with what is known of the others; before anything is known of the tasks of case 2, Theorem
    A for those.  Jacobi, until nothing changes.
    """
    s = Set(period, block_time, blocks, threads, m)
    if s.beta is None:
        return s.none
    alone = [s.c[k] + Fraction(s.S - s.b[k] * s.c[k], s.beta) for k in range(s.n)]
    first = [k for k in range(s.n) if alone[k] <= s.T[k]]
    R = theorem_a(period, block_time, blocks, threads, m, single=first)
    R = [alone[k] if k in first else R[k] for k in range(s.n)]
    while True:
        new = [R[k] if k in first else least(R[k], run_v1(s, k, R)) for k in range(s.n)]
        if new == R:
            break
        R = new
    return [None if R[k] is None else (R[k], 1 if k in first else 2) for k in range(s.n)]


def run_v1(s, k, R):
    """The longest response in a run of jobs of k; of each other stream one job per own job waits
    before it, and none that was released too late or had to end before the run."""
    # While the run lasts F_{N-1} > (N-1) T_k, so x_i(N) >= N min(1, R_i / T_i, T_k / T_i).  If that
    # alone makes F_N > N T_k the run never ends, and there is no need to go through JOBS of it.
    least_work = Fraction(s.own(k))
    for i in s.others(k):
        share = 1 if R[i] is None else min(1, R[i] / s.T[i], Fraction(s.T[k], s.T[i]))
        least_work += share * s.C[i]
    if least_work / s.beta + s.c[k] > s.T[k]:
        return None
    worst = finish = Fraction(0)
    for N in range(1, JOBS + 1):
        work = N * s.own(k)
        for i in s.others(k):
            jobs = N
            if R[i] is not None:
                jobs = min(N, ceil((finish + R[i]) / s.T[i]))
            work += jobs * s.C[i]
        finish = Fraction(work, s.beta) + N * s.c[k]
        worst = max(worst, finish - (N - 1) * s.T[k])
        if finish <= N * s.T[k]:
            return worst
    return None


def theorem_v2(period, block_time, blocks, threads, m):
    """Order of release among stream heads, kernels of one block: U <= beta and c <= T for all.

    The least y with y_k = (S - C_k + Y) / beta, Y = max of sum_F u_i y_i over the sets F of tasks
    with sum_F b_i <= beta - 1.  Putting the first into the second, Y is the least number with
    beta Y >= sum_F u_i (S - C_i) + Y sum_F u_i for all F, and sum_F u_i <= sum_F b_i < beta.
    """
    s = Set(period, block_time, blocks, threads, m)
    if s.beta is None or s.U > s.beta or any(g > 1 for g in s.g):
        return s.none
    if any(s.c[k] > s.T[k] for k in range(s.n)):
        return s.none
    Y = Fraction(0)
    for inside in product([False, True], repeat=s.n):
        F = [i for i in range(s.n) if inside[i]]
        if sum(s.b[i] for i in F) <= s.beta - 1:
            rest = s.beta - sum(s.u[i] for i in F)
            Y = max(Y, sum(s.u[i] * (s.S - s.C[i]) for i in F) / rest)
    return [s.c[k] + (s.S - s.C[k] + Y) / s.beta for k in range(s.n)]


def bounds(period, block_time, blocks, threads, m, order):
    """Per task (bound, name of the theorem), (None, "") where there is none.

    "FITS": nothing ever waits, and each job ends within its period.
    """
    args = (period, block_time, blocks, threads, m)
    s = Set(*args)
    if order == "overlap":
        return named(theorem_p(*args), "P")
    if s.beta is None:
        fits = all(s.c[k] <= s.T[k] for k in range(s.n))
        return named([Fraction(c) for c in s.c] if fits else s.none, "FITS")
    if order == "strict":
        return named(theorem_v3(*args), "V3")
    if order == "hardware":
        return [(None, "") if x is None else (x[0], f"V1 case {x[1]}") for x in theorem_v1(*args)]
    if order != "release":
        raise ValueError(order)
    a, one, v2 = theorem_a(*args), theorem_a_single(*args), theorem_v2(*args)
    both = [least(least(a[k], one[k]), v2[k]) for k in range(s.n)]
    refined = theorem_a_refined(*args, start=both)
    found = []
    for k in range(s.n):  # of equal bounds the simpler theorem is named
        names = {"A": a[k], "A one job": one[k], "V2": v2[k], "A refined": refined[k]}
        name = next(name for name, value in names.items() if value == refined[k])
        found += named([refined[k]], name)
    return found


def named(values, name):
    return [(None, "") if x is None else (x, name) for x in values]


def least(x, y):
    """The smaller bound; None is no bound."""
    if x is None or y is None:
        return y if x is None else x
    return min(x, y)
