"""Response-time bounds of kernel chains in priority streams, in partitions of the SMs.

Tasks, threads and bounds are those of priority_streams.py; `part` has the partition of each task.
Own queues: a partition is a GPU by itself.  Shared queues: a partition has SMs of its own, and a
kernel that waits for them holds up all others.  Limits: SMs and queues are shared, but the blocks
of partition P are on at most sms[P] SMs at once.  All numbers are exact.
"""

from collections import Counter
from fractions import Fraction
from math import ceil, inf

from . import priority_streams as ps


def own(tasks, part, sms, threads):
    """Every partition by itself."""
    found = [None] * len(tasks)
    for P, count in enumerate(sms):
        members = [i for i in range(len(tasks)) if part[i] == P]
        alone = ps.bounds([tasks[i] for i in members], threads, count)
        for i, bound in zip(members, alone, strict=True):
            found[i] = bound
    return found


def shared(tasks, part, sms, threads, whole_grids=False):
    """Theorem M for partitions with shared queues.

    `whole_grids`: a lower kernel may hold all its threads, not only those that its SMs hold.
    """

    def make(p, fluid, charged):
        return Shared(tasks, part, sms, threads, p, fluid, charged, whole_grids)

    return fixed_point(tasks, make, lambda p, R: {}, threads, sms[part[0]])


def limits(tasks, part, sms, threads, gpu_sms):
    """Theorem M for clients with limits, and A with their lowest saturation."""

    def make(p, fluid, charged):
        return Limits(tasks, part, sms, threads, gpu_sms, p, fluid, charged)

    def start(p, R):
        return ps.theorem_a(tasks, p, threads, gpu_sms, R, make(p, (), ()))

    return fixed_point(tasks, make, start, threads, sms[part[0]])


def fixed_point(tasks, make, start, threads, sms):
    """Bounds from the most urgent level down, until nothing changes; `sms`: of the first task."""
    R = [ps.alone(tasks, threads, sms)] if len(tasks) == 1 else [None] * len(tasks)

    def improve(p):
        levels = [make(p, *choice) for choice in ps.choices(tasks, p, R)]
        fell = False
        for k, t in enumerate(tasks):
            if t.level == p:
                found = [run(tasks, k, R, at) for at in levels]
                best = min((x for x in found if x is not None), default=None)
                if best is not None and (R[k] is None or best < R[k]):
                    R[k], fell = best, True
        return fell

    before = None
    while before != R:
        before = list(R)
        for p in sorted({t.level for t in tasks}):
            while improve(p):
                pass
            for k, bound in start(p, R).items():
                R[k] = bound
            while improve(p):
                pass
    return R


def run(tasks, k, R, at):
    """The bound of task k from the kernels of its run; None without one."""
    own_task, q = tasks[k], len(tasks[k].kernels)
    p = own_task.level
    same = [i for i, t in enumerate(tasks) if t.level == p and i != k]
    per_job = [i for i, t in enumerate(tasks) if t.level < p and i not in at.fluid]
    per_job += list(at.charged)
    if any(R[i] is None for i in per_job) or at.is_overloaded():
        return None
    joined = Counter()  # by the width of the previous kernel, if it ended at that instant
    own_work = delay = w = F = bound = 0
    for x in range(ps.JOBS * q):
        g, b, c = own_task.kernels[x % q]
        lam = own_task.latency[x % q]
        own_work += (g - 1) * b * c
        delay += lam
        joined[own_task.kernels[x % q - 1][1] if x > 0 and lam == 0 else 0] += 1
        if at.waits():
            while True:
                work = [(k, own_work)]
                work += [(i, ps.kernels_ahead(tasks[i], R[i], F + lam, x + 1)) for i in same]
                for i in per_job:
                    jobs = ps.jobs_in(w + delay + R[i], tasks[i].period)
                    work.append((i, jobs * tasks[i].work))
                longer = at.longest(k, joined, work)
                if longer <= w:
                    break
                w = longer
                if w > ps.JOBS * own_task.period:
                    return None
        F = w + delay + c
        delay += c
        if x % q == q - 1:
            N = x // q + 1
            bound = max(bound, F - (N - 1) * own_task.period)
            if F <= N * own_task.period:
                return Fraction(bound)
    return None


def residue(kernels, kap):
    """Pieces (length, threads held at most) for lower kernels [(width, b, c)] of each task."""
    fitting = [[(w, c) for w, b, c in some if b <= kap] for some in kernels]
    times = sorted({c for some in fitting for _, c in some})
    return [
        (
            end - begin,
            min(kap, sum(max([w for w, c in some if c > begin], default=0) for some in fitting)),
        )
        for begin, end in zip([0, *times], times, strict=False)
    ]


class Shared:
    def __init__(self, tasks, part, sms, threads, p, fluid, charged, whole_grids):
        self.tasks, self.part, self.sms, self.m = tasks, part, sms, threads
        self.p, self.fluid, self.charged, self.known = p, fluid, charged, {}
        self.beta = [
            ps.saturation([t for i, t in enumerate(tasks) if part[i] == P], p, threads, count)
            for P, count in enumerate(sms)
        ]
        height = [max(self.width(i, g, b) for g, b, _ in t.kernels) for i, t in enumerate(tasks)]
        self.rest = 1 - sum(
            Fraction(height[i], self.beta[part[i]]) for i in fluid if self.beta[part[i]]
        )
        self.lower = [
            [
                [(g * b if whole_grids else self.width(i, g, b), b, c) for g, b, c in t.kernels]
                for i, t in enumerate(tasks)
                if t.level > p and i not in charged and part[i] == P
            ]
            for P in range(len(sms))
        ]

    def width(self, i, g, b):
        return min(g, self.sms[self.part[i]] * (self.m // b)) * b

    def lost(self, P, kap):
        if (P, kap) not in self.known:
            pieces = residue(self.lower[P], kap)
            self.known[P, kap] = sum(length * min(self.beta[P], held) for length, held in pieces)
        return self.known[P, kap]

    def waits(self):
        return any(self.beta)

    def is_overloaded(self):
        return self.waits() and self.rest <= 0

    def longest(self, k, joined, work):
        w = Fraction(0)
        for P, beta in enumerate(self.beta):
            if beta is None:
                continue
            w += Fraction(sum(amount for i, amount in work if self.part[i] == P), beta)
            for before, count in joined.items():
                kap = self.sms[P] * self.m - (before if self.part[k] == P else 0)
                w += Fraction(count * self.lost(P, kap), beta)
        return w / self.rest


class Limits:
    def __init__(self, tasks, part, sms, threads, gpu_sms, p, fluid, charged):
        self.tasks, self.part, self.sms, self.m = tasks, part, sms, threads
        self.gpu_sms, self.p, self.fluid, self.charged = gpu_sms, p, fluid, charged
        self.known = {}
        everyone = range(len(tasks))
        upper = [i for i in everyone if tasks[i].level <= p or i in charged]
        levels = [self.saturation(P, everyone) for P in range(len(sms))]
        self.beta = min((beta for beta in levels if beta is not None), default=None)
        self.later = [self.saturation(P, upper) for P in range(len(sms))]
        self.all = ps.saturation(tasks, p, threads, gpu_sms, upper)
        self.narrowest = [
            min([b for i in upper if part[i] == P for _, b, _ in tasks[i].kernels], default=None)
            for P in range(len(sms))
        ]
        self.high = [i for i in everyone if tasks[i].level < p]
        self.same = [i for i in everyone if tasks[i].level == p]
        self.H = sum(max(self.width(i, g, b) for g, b, _ in tasks[i].kernels) for i in fluid)
        self.lower = [
            [(self.width(i, g, b), b, c) for g, b, c in t.kernels]
            for i, t in enumerate(tasks)
            if t.level > p and i not in charged
        ]

    def width(self, i, g, b):
        return min(g, self.sms[self.part[i]] * (self.m // b)) * b

    def saturation(self, P, busy):
        """Busy threads while a head of client P waits for its SMs."""
        heads = [i for i, t in enumerate(self.tasks) if self.part[i] == P and t.level <= self.p]
        found = []
        for h in heads:
            # Others are no heads here: their level is put behind.
            tasks = [
                t if i == h else t._replace(level=self.p + 1) for i, t in enumerate(self.tasks)
            ]
            found.append(ps.saturation(tasks, self.p, self.m, self.sms[P], busy))
        return min((beta for beta in found if beta is not None), default=None)

    def waits(self):
        return self.beta is not None

    def is_overloaded(self):
        return self.waits() and self.H >= self.beta

    def kap(self, k, x):
        """As of `Level`, for Theorem A."""
        before = self.tasks[k].kernels[x - 1][1] if x > 0 and self.tasks[k].latency[x] == 0 else 0
        return self.gpu_sms * self.m - before

    def lost(self, kap):
        return sum(length * min(self.beta, held) for length, held in residue(self.lower, kap))

    def longest(self, k, joined, work):
        """The longest waiting: the lowest rates first, each as long as it may last."""
        rates = []
        for before, count in joined.items():
            if before not in self.known:
                self.known[before] = residue(self.lower, self.gpu_sms * self.m - before)
            rates += [
                (max(self.beta - self.H - held, 0), count * length)
                for length, held in self.known[before]
            ]
        for P, beta in enumerate(self.later):
            if beta is None or beta >= self.all:
                continue
            least = self.narrowest[P]
            amount = sum(amount for i, amount in work if self.part[i] == P)
            is_fluid = any(self.part[i] == P for i in self.fluid)
            length = inf if is_fluid else ceil(Fraction(amount, self.sms[P] * least))
            rates.append((beta - self.H, length))
        if self.all is not None:
            rates.append((self.all - self.H, inf))
        left, waited = sum(amount for _, amount in work), Fraction(0)
        for rate, length in sorted(rates):
            if rate and rate * length >= left:
                return waited + Fraction(left, rate)
            left -= rate * length
            waited += length
        return waited
