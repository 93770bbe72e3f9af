"""Tests and tardiness bounds of [RTNS10] under global EDF, in exact fractions.

A task is (period p, CPU time e with the copies, GPU time s, longest critical section cs, requests
per job); a task that never uses the GPU has no requests.  A bound is a Fraction or None.
"""

from fractions import Fraction
from math import ceil


def fmlp(tasks, i):
    """One request waits for one request of every other task (Eq. 1)."""
    return tasks[i][4] * sum(t[3] for k, t in enumerate(tasks) if k != i and t[4])


def omlp(tasks, i, m, paper=False):
    """The longest 2m - 1 of the others' requests, two from each; FIFO while the queue has room.

    ``paper``: Eq. (2), with 2 (m - 1) of them; "once": one from each.
    """
    if not tasks[i][4]:
        return 0
    others = [t[3] for k, t in enumerate(tasks) if k != i and t[4]]
    if paper:
        longest = sorted(others * (1 if paper == "once" else 2), reverse=True)[: 2 * (m - 1)]
    elif len(others) <= m:
        longest = others
    else:
        longest = sorted(others * 2, reverse=True)[: 2 * m - 1]
    return tasks[i][4] * sum(longest)


def blocking(tasks, m, lock, paper=False):
    if lock == "fmlp":
        return [fmlp(tasks, i) for i in range(len(tasks))]
    return [omlp(tasks, i, m, paper) for i in range(len(tasks))]


def load(period, demand):
    return sum(Fraction(e, p) for p, e in zip(period, demand, strict=True))


def bounded(period, demand, m):
    """Soft schedulability under global EDF (Ineqs. 3 and 4)."""
    fits = all(e <= p for p, e in zip(period, demand, strict=True))
    return fits and load(period, demand) <= m


def largest(values, count):
    return sum(sorted(values, reverse=True)[: max(0, count)])


def devi_anderson(period, demand, m):
    """Response bounds; needs a bounded set with implicit deadlines."""
    u = [Fraction(e, p) for p, e in zip(period, demand, strict=True)]
    busy = ceil(sum(u)) - 1
    x = max(Fraction(0), (largest(demand, busy) - min(demand)) / (m - largest(u, busy - 1)))
    return [p + x + e for p, e in zip(period, demand, strict=True)]


def compliant_vector(period, demand, m, point=None):
    """Response bounds where the job released at r has the priority r + point (the deadline)."""
    point = list(period if point is None else point)
    point = [y - min(point) for y in point]
    rows = list(zip(period, demand, point, strict=True))
    busy = ceil(load(period, demand)) - 1
    late = [max(Fraction(0), e * (1 - Fraction(y, p))) for p, e, y in rows]
    slope = [Fraction(e, p) for p, e, _ in rows]
    start = [e - e * Fraction(e, p) / m - v for (p, e, _), v in zip(rows, late, strict=True)]
    s = Fraction(0)
    while True:
        order = sorted(range(len(rows)), key=lambda i: slope[i] * s + start[i], reverse=True)
        top = order[:busy]
        root = (sum(start[i] for i in top) + sum(late)) / (m - sum(slope[i] for i in top))
        if root <= s:
            break
        s = root
    return [y + e + s - Fraction(e, m) for _, e, y in rows]


def response(period, demand, m, point=None):
    """The least of the bounds, None for an unbounded set."""
    if not bounded(period, demand, m):
        return None
    implicit = point is None or list(point) == list(period)
    if len(period) <= m:
        return [Fraction(e) for e in demand]
    found = [compliant_vector(period, demand, m, point)]
    if implicit:
        found.append(devi_anderson(period, demand, m))
    if implicit and m == 1:
        found.append([Fraction(p) for p in period])
    return [min(column) for column in zip(*found, strict=True)]


def srm(tasks, m, lock, paper=False):
    """Response bounds under the Shared Resource Method, or None."""
    wait = blocking(tasks, m, lock, paper)
    demand = [t[1] + t[2] + b for t, b in zip(tasks, wait, strict=True)]
    return response([t[0] for t in tasks], demand, m)


def container_passes(tasks, m, paper=False):
    width = sum(Fraction(t[1] + t[2], t[0]) for t in tasks if t[4])
    rest = [Fraction(t[1], t[0]) for t in tasks if not t[4]]
    return width <= 1 and width + sum(rest) <= m and (paper or all(u <= 1 for u in rest))


def container(tasks, m, server_period, bound=response, whole=False):
    """Response bounds under the Container Method, or None.

    ``bound``: of the root's tasks and the server; takes fractions. ``whole``: for a budget of whole
    ticks.
    """
    if not container_passes(tasks, m):
        return None
    gpu = [t for t in tasks if t[4]]
    root = [t for t in tasks if not t[4]]
    if not gpu:
        return bound([t[0] for t in root], [t[1] for t in root], m)
    width = sum(Fraction(t[1] + t[2], t[0]) for t in gpu)
    periods = [Fraction(t[0]) for t in root] + [Fraction(server_period)]
    if whole:
        width = Fraction(min(ceil(width * server_period), server_period), server_period)
    found = bound(periods, [Fraction(t[1]) for t in root] + [width * server_period], m)
    if found is None:
        return None
    late = max(Fraction(0), found[-1] - server_period)
    inside = late + 2 * server_period + sum(t[1] + t[2] for t in gpu) / width
    plain = iter(found)
    return [inside if t[4] else next(plain) for t in tasks]


def cpu_only(tasks, c):
    """Demand of the same jobs on the CPUs alone, without copies (cs - s per request)."""
    return [
        e + c * s - (0 if not requests else requests * cs - s) for p, e, s, cs, requests in tasks
    ]


# Section 5.1's generator -------------------------------------------------------------------------

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def splitmix(seed, index):
    """Number ``index`` of the sequence that starts from ``seed``."""
    z = (seed + (index + 1) * GAMMA) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def fixed(value):
    """In units of 2^-32, to the nearest."""
    return int(value * 2**32 + 0.5)


def draw(
    base,
    index,
    m,
    utilization,
    periods,
    gpu,
    share,
    overhead=50,
    rounding="nearest",
    empty=True,
    tries=10**5,
):
    """Set ``index``: (period, work) of its tasks, how many use the GPU (the first ones), and fates:
    how many draws were taken, had no task, one GPU task, none that are wanted, too much for it.

    ``periods`` in ticks; ``gpu`` and ``overhead`` per mille of a job's work.
    """
    seed, at = splitmix(base, index), 0

    def number():
        nonlocal at
        at += 1
        return splitmix(seed, at - 1)

    low, wide = fixed(utilization[0]), fixed(utilization[1]) - fixed(utilization[0])
    fates = [0] * 5
    for attempt in range(tries):
        at = attempt * 0xD1342543DE82EF95 & MASK
        start = number()
        cap = ((start >> 32) + 1) * 2.0**-32 * m
        total, tasks = 0.0, []
        while True:
            bits = number()
            u = low + ((bits >> 32) * wide >> 32)
            p = periods[0] + ((bits & 0xFFFFFFFF) * (periods[1] - periods[0] + 1) >> 32)
            work = max(1, (u * p + 2**31) >> 32)
            if total + work / p > cap:
                break
            total += work / p
            tasks.append((p, work))
        of = fixed(share[0]) + ((start & 0xFFFFFFFF) * (fixed(share[1]) - fixed(share[0])) >> 32)
        up = {"nearest": 2**31, "down": 0, "up": 2**32 - 1}[rounding]
        count = (of * len(tasks) + up) >> 32
        held = sum(Fraction(split(w, gpu, overhead)[2], p) for p, w in tasks[:count])
        if not tasks:
            fates[1] += 1
        elif count == 1 or (count == 0 and not empty):
            fates[2 if count else 3] += 1
        elif held > 1:
            fates[4] += 1
        else:
            return tasks, count, [1, *fates[1:]]
    return None


def split(work, gpu, overhead):
    """(e, s, cs) of a job that takes ``work`` in all."""
    s, copies = (work * gpu + 500) // 1000, (work * overhead + 500) // 1000
    copies = min(copies, work - s)
    return work - s, s, s + copies
