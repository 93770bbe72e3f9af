"""Response-time tests of partitioned tasks with CPU and GPU segments.

Sources: [RTCSA19] Saha, Xiang & Kim, "STGM", Eqs. (1)-(12) and Algorithm 1, printed
and corrected; MPCP and FMLP+ with one lock around the whole GPU segment; the GPU server of Kim,
Patel, Wang & Rajkumar (RTCSA 2017).  Slow and plain: integers, fractions, all simple paths.

Every test walks through the tasks from the most urgent on and stops at the first that cannot be
shown to meet its deadline, since a bound may only be used if all it rests on hold.

Jobs arrive T apart and are released up to J later; W in a recurrence counts from the release, all
other bounds from the arrival, as deadlines do.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

TERMS = ("own", "copy", "kernel", "request", "lower", "server", "higher", "release")


def cdiv(a, b):
    return -((-a) // b)


class Task:
    """cpu: lengths of the CPU segments, one more than GPU segments, 0 for none; gpu: triples
    (copy in, [kernel time on 1, 2, ... SMs], copy out); a smaller prio is more urgent."""

    def __init__(self, T, cpu, gpu=(), D=None, prio=None, core=None, sms=(), J=0, apart=()):
        self.T, self.D, self.prio, self.core = T, T if D is None else D, prio, core
        self.J, self.within = J, self.D - J
        self.apart = frozenset(apart)  # numbers of tasks that are never pending beside it
        self.cpu = list(cpu)
        self.gpu = [(a, [e] if isinstance(e, int) else list(e), b) for a, e, b in gpu]
        self.sms = set(sms)
        assert len(self.cpu) == len(self.gpu) + 1
        self.C = sum(self.cpu)
        self.eta = len(self.gpu)
        self.theta = sum(c > 0 for c in self.cpu)
        self.gm = [a + b for a, _, b in self.gpu]  # both copies of a segment
        self.longer = [max(a, b) for a, _, b in self.gpu]  # the longer of them, printed gm*
        self.Gm = sum(self.gm)

    def e(self, k):
        """Kernel times on k > 0 SMs (beyond the table: as its last entry)."""
        return [table[min(k, len(table)) - 1] for _, table, _ in self.gpu]

    def g(self, k):
        """Lengths of the GPU segments on k SMs."""
        return [m + e for m, e in zip(self.gm, self.e(k), strict=True)]

    def G(self, k):
        return sum(self.g(k)) if self.eta else 0

    def placed(self, core, sms):
        gpu = [(a, list(e), b) for a, e, b in self.gpu]
        return Task(self.T, self.cpu, gpu, self.D, self.prio, core, sms, self.J, self.apart)


class Result:
    """W[i]: the bound, or None; terms[i]: what it is made of, for one that passed the deadline the
    right-hand side at the deadline, None if not reached; failed: the first to fail, or None."""

    def __init__(self, n):
        self.W, self.terms, self.failed = [None] * n, [None] * n, None

    @property
    def schedulable(self):
        return self.failed is None


def beside(tasks, i):
    """Other tasks that can be pending beside i."""
    return [j for j in range(len(tasks)) if j != i and j not in tasks[i].apart]


def hp(tasks, i):
    t = tasks[i]
    return [j for j in beside(tasks, i) if tasks[j].core == t.core and tasks[j].prio < t.prio]


def lp(tasks, i):
    t = tasks[i]
    return [j for j in beside(tasks, i) if tasks[j].core == t.core and tasks[j].prio > t.prio]


def most(values):
    return max(values, default=0)


def solve(tasks, parts, only=None, before=None):
    """`parts(i, W, known)`: the terms of task i's recurrence at W, given the bounds already known.

    `only`: the tasks asked for (all); `before`: bounds taken for granted."""
    assert len({t.prio for t in tasks}) == len(tasks), "priorities tie"
    result = Result(len(tasks))
    known = list(before or result.W)
    for i in sorted(range(len(tasks)), key=lambda i: tasks[i].prio):
        if only is not None and i not in only:
            continue
        W = 1
        while True:
            named = parts(i, W, known)
            terms = [named.get(name, 0) for name in TERMS]
            if sum(terms) == W or W == tasks[i].within:
                break
            assert sum(terms) > W
            W = min(sum(terms), tasks[i].within)
        result.terms[i] = [*terms[:-1], tasks[i].J]
        if sum(terms) > W:
            result.failed = i
            break
        result.W[i] = known[i] = W + tasks[i].J
    return result


def solve_jointly(tasks, parts, joint):
    """The least bounds that satisfy all recurrences at once, each from the bounds of the last
    round, where there are any up to the deadlines; else, and unless `joint`, those of `solve`."""
    one_pass = solve(tasks, lambda i, W, known: parts(i, W, earlier(tasks, i, known)))
    assumed = [t.J + t.C + t.G(10**9) for t in tasks]  # more SMs do not make a kernel longer
    while joint:
        result = Result(len(tasks))
        for i, t in enumerate(tasks):
            value, W = 1, None
            while value != W:
                W = value
                named = parts(i, W, assumed)
                value = max(W, sum(named.values()))
                if value > t.within:
                    return one_pass
            result.W[i] = W + t.J
            result.terms[i] = [*(named.get(name, 0) for name in TERMS[:-1]), t.J]
        if result.W == assumed:
            return result
        assumed = result.W
    return one_pass


def earlier(tasks, i, known):
    """Bounds that one pass assumes for task i: those known, deadlines of less urgent tasks."""
    return [known[u] if t.prio < tasks[i].prio else t.D for u, t in enumerate(tasks)]


def interval_jobs(task, blocks, others):
    """Jobs of each of the others that meet the ready intervals of a job, None for no limit.

    others: (work, bound, period); blocks: what less urgent tasks take of one interval."""
    counts = [0] * len(others)
    for p, c in enumerate(task.cpu):
        before_gpu = p < task.eta
        if task.eta == 0 or (c == 0 and not before_gpu):
            continue

        def jobs(length, before_gpu=before_gpu):
            if before_gpu:  # also those released at the end of the interval
                return [(length + max(0, R - x)) // T + 1 for x, R, T in others]
            return [cdiv(length + max(0, R - x), T) for x, R, T in others]

        length = 1
        while True:
            taken = sum(n * x for n, (x, _, _) in zip(jobs(length), others, strict=True))
            if c + blocks + taken <= length:
                break
            length = c + blocks + taken
            if length > task.within:
                return None
        counts = [a + b for a, b in zip(counts, jobs(length), strict=True)]
    return counts if task.eta > 0 else None


def latest(task, other, x, R):
    """The bound that counts for the jitter R - x of a more urgent task of the core, with demand x
    and bound R: without GPU segments in both there is only that of releases, unless the task is
    apart from others, whose jobs may have been pending before."""
    return x + other.J if task.eta == 0 and other.eta == 0 and not task.apart else R


def on_core(task, W, blocks, others, split, extra=None):
    """Time that each of the others, (work, bound, period), takes of the core in W."""
    counts = interval_jobs(task, blocks, others) if split else None
    found = []
    for k, (x, R, T) in enumerate(others):
        work = cdiv(W + max(0, R - x), T) * x
        if counts is not None:
            work = min(work, counts[k] * x + (extra[k] if extra else 0))
        found.append(work)
    return found


# ------------------------------------------------------------------------------------------ STGM


def chain(tasks, i, without=()):
    """The heaviest simple path of tasks that share an SM one with the next, the first with i.

    Each task weighs its longest kernel; i and the tasks in `without` are not on the path."""

    def from_(last, used):
        best = 0
        for u, t in enumerate(tasks):
            if u in used or u in tasks[i].apart or t.eta == 0 or not (t.sms & tasks[last].sms):
                continue
            best = max(best, max(t.e(len(t.sms))) + from_(u, used | {u}))
        return best

    if tasks[i].eta == 0:
        return 0
    return from_(i, frozenset(without) | {i})


def component(tasks, i, without=()):
    """The sum over all tasks a path can reach: what is used for `chain` in large components."""
    reached, todo = set(), [i]
    while todo and tasks[i].eta > 0:
        last = todo.pop()
        for u, t in enumerate(tasks):
            if u in beside(tasks, i) and u not in without and u not in reached and t.eta > 0:
                if t.sms & tasks[last].sms:
                    reached.add(u)
                    todo.append(u)
    return sum(max(tasks[u].e(len(tasks[u].sms))) for u in reached)


def stgm(tasks, busy=False, variant="sound", only=None, paths=chain, before=None, split=False):
    """variant: "sound", "printed" (Eqs. 1-12 as they stand), "printed_h" (busy: B_h for B_i);
    only, before: see solve."""
    n = len(tasks)
    k = [len(t.sms) for t in tasks]
    gpu = [u for u in range(n) if tasks[u].eta > 0]

    @cache
    def blocking(i):
        """B^m, B^e, B^l."""
        t = tasks[i]
        below = [u for u in lp(tasks, i) if tasks[u].eta > 0]
        if variant == "sound" and not busy:
            near = [u for u in gpu if u in beside(tasks, i)]
            copy = 2 * t.eta * sum(max(tasks[u].longer) for u in near)
            kernel = t.eta * paths(tasks, i)
            lower = (t.eta + 1) * sum(max(tasks[u].gm) for u in below)
        elif variant == "sound":
            copy = 2 * t.eta * one_copy(i)
            kernel = t.eta * one_kernel(i)
            lower = most(max(tasks[u].g(k[u])) + 2 * one_copy(u) + one_kernel(u) for u in below)
        else:
            copy = 2 * t.eta * sum(max(tasks[u].longer) for u in gpu if u != i)
            sharing = [u for u in gpu if u != i and tasks[u].sms & t.sms]
            kernel = t.eta * sum(max(tasks[u].e(k[u])) for u in sharing)
            if busy:
                lower = sum(max(tasks[u].g(k[u])) for u in below)
            else:
                lower = t.theta * sum(max(tasks[u].longer) for u in below)
        return copy, kernel, lower

    def one_copy(i):
        """Busy: one open segment on each other core, so at most one copy of each is waited for.

        A task without a core is taken to have one of its own."""
        cores = {}
        for u in gpu:
            if u not in beside(tasks, i):
                continue
            core = ("own", u) if tasks[u].core is None else tasks[u].core
            if core != tasks[i].core:
                cores[core] = max(cores.get(core, 0), max(tasks[u].longer))
        return sum(cores.values())

    def one_kernel(i):
        core = tasks[i].core
        same = [u for u in gpu if u != i and core is not None and tasks[u].core == core]
        return paths(tasks, i, same)

    def parts(i, W, known):
        t = tasks[i]
        copy, kernel, lower = blocking(i)
        higher = 0
        if not busy:
            others = []
            for h in hp(tasks, i):
                x = tasks[h].C + tasks[h].Gm
                R = latest(t, tasks[h], x, known[h]) if variant == "sound" else known[h]
                others.append((x, R, tasks[h].T))
            blocks = sum(most(tasks[u].gm) for u in lp(tasks, i))
            higher = sum(on_core(t, W, blocks, others, split and variant == "sound"))
        for h in hp(tasks, i):
            s = tasks[h]
            if not busy:
                continue
            if variant == "sound":
                x = s.C + s.G(k[h]) + sum(blocking(h)[:2])
                late = known[h] - x if t.apart else s.J
                higher += cdiv(W + late, s.T) * x
            else:
                b = blocking(i if variant == "printed" else h)
                higher += cdiv(W, s.T) * (s.C + s.G(k[h]) + sum(b))
        own = t.C + t.G(k[i])
        return dict(own=own, copy=copy, kernel=kernel, lower=lower, higher=higher)

    return solve(tasks, parts, only, before)


# ------------------------------------------------------------------------- one lock around the GPU


def mpcp(tasks, mode="suspend", sms=None, joint=False, split=False):
    """Priority-ordered lock.  suspend: waiters and the holder's kernel suspend; busy: the holder
    keeps its core; spin: the waiters spin too, at their base priority."""
    assert mode in ("suspend", "busy", "spin")
    k = sms or 10**9
    g = [t.g(k) for t in tasks]
    G = [sum(x) for x in g]
    x = [t.C + (t.Gm if mode == "suspend" else t.G(k)) for t in tasks]
    X = [most(t.gm if mode == "suspend" else t.g(k)) for t in tasks]

    def urgent(i):
        near = beside(tasks, i)
        return [h for h in near if tasks[h].prio < tasks[i].prio and tasks[h].eta > 0]

    def low(i):
        return most(most(g[u]) for u in beside(tasks, i) if tasks[u].prio > tasks[i].prio)

    def jobs(h, window, known):
        return max(1, cdiv(window + known[h] - G[h], tasks[h].T))

    def request(i, known):
        """The longest wait of one request, None if it passes the deadline."""
        b = low(i)
        while b <= tasks[i].within:
            # At 0 every more urgent task may have a job before it.
            value = low(i) + sum(jobs(h, b, known) * G[h] for h in urgent(i))
            if value == b:
                return b
            b = value
        return None

    def waiting(i, W, known):
        eta = tasks[i].eta
        if eta == 0:
            return 0
        one = request(i, known)
        total = eta * low(i)
        for h in urgent(i):
            count = jobs(h, W, known)
            if one is not None:
                count = min(count, eta * jobs(h, one, known))
            total += count * G[h]
        return total

    def lower(i, W, known):
        total = 0
        for u in lp(tasks, i):
            opened = tasks[u].eta * cdiv(W + known[u], tasks[u].T)
            total += min(1 if mode == "spin" else tasks[i].eta + 1, opened) * X[u]
        return total

    def spinning(h, known):
        if tasks[h].eta == 0:
            return 0
        one = request(h, known)
        W = known[h] - tasks[h].J
        all_ = waiting(h, W, known) + lower(h, W, known)
        return all_ if one is None else min(tasks[h].eta * one, all_)

    def parts(i, W, known):
        above = hp(tasks, i)
        if mode == "spin":
            jobs_of = {h: cdiv(W + tasks[h].J, tasks[h].T) for h in above}
            higher = sum(jobs_of[h] * (x[h] + spinning(h, known)) for h in above)
        else:
            late = {h: latest(tasks[i], tasks[h], x[h], known[h]) for h in above}
            others = [(x[h], late[h], tasks[h].T) for h in above]
            blocks = sum(X[u] for u in lp(tasks, i))
            higher = sum(on_core(tasks[i], W, blocks, others, split))
        return dict(
            own=tasks[i].C + G[i],
            request=waiting(i, W, known),
            lower=lower(i, W, known),
            higher=higher,
        )

    return solve_jointly(tasks, parts, joint and mode != "spin")


def fmlp_plus(tasks, busy=False, variant="sound", sms=None, joint=False, split=False):
    """FIFO lock, waiters suspend.  variant "code": as in a public implementation, which takes the
    kernels of more urgent tasks on the same core for CPU time even if they suspend."""
    n = len(tasks)
    k = sms or 10**9
    x = [t.C + (t.G(k) if busy else t.Gm) for t in tasks]
    X = [most(t.g(k) if busy else t.gm) for t in tasks]
    longest = [most(t.g(k)) for t in tasks]

    def parts(i, W, known):
        t = tasks[i]
        above, below = hp(tasks, i), lp(tasks, i)

        def count(u):
            late = tasks[u].T if variant == "code" else known[u]
            return tasks[u].eta * cdiv(W + late, tasks[u].T)

        request = lower = 0
        if variant == "sound":
            for u in beside(tasks, i):
                if u in below or (busy and u in above):
                    continue
                request += min(t.eta, count(u)) * longest[u]
            for u in below:
                lower += min(
                    min(t.eta + 1, count(u)) * longest[u],
                    min(t.eta, count(u)) * longest[u] + min(t.eta + 1, count(u)) * X[u],
                )
        else:
            remote = [u for u in range(n) if tasks[u].core != t.core]
            request = sum(min(t.eta, count(u)) * longest[u] for u in remote)
            z = min(t.eta, sum(min(t.eta, count(u)) for u in remote))
            lower = sum(min(1 + z, count(u)) * longest[u] for u in below)
        late = dict.fromkeys(above)
        for h in above:
            late[h] = latest(t, tasks[h], x[h], known[h]) if variant == "sound" else known[h]
        others = [(x[h], late[h], tasks[h].T) for h in above]
        blocks = sum(X[u] for u in below)
        waits = [t.eta * longest[h] if busy else 0 for h in above]
        higher = sum(on_core(t, W, blocks, others, split and variant == "sound", waits))
        return dict(own=t.C + t.G(k), request=request, lower=lower, higher=higher)

    return solve_jointly(tasks, parts, joint and variant == "sound")


def gpu_server(tasks, server, eps=0, sms=None, joint=False, split=False):
    """A task on core `server`, above all others, runs all GPU segments; eps: its overhead."""
    n = len(tasks)
    k = sms or 10**9
    G = [t.G(k) for t in tasks]
    work = [t.Gm + 2 * t.eta * eps for t in tasks]  # on the server's core
    turn = [G[u] + tasks[u].eta * eps for u in range(n)]  # in the server's queue

    def low(i):
        near = beside(tasks, i)
        below = [u for u in near if tasks[u].prio > tasks[i].prio and tasks[u].eta > 0]
        return most(max(tasks[u].g(k)) + eps for u in below)

    def urgent(i):
        near = beside(tasks, i)
        return [h for h in near if tasks[h].prio < tasks[i].prio and tasks[h].eta > 0]

    def jobs(i, window, known):
        bound = [known[h] if joint else tasks[h].T for h in range(n)]
        return sum(cdiv(max(1, window) + bound[h], tasks[h].T) * turn[h] for h in urgent(i))

    def request(i, known):
        b = low(i)
        while b <= tasks[i].within:
            value = low(i) + jobs(i, b, known)
            if value == b:
                return b
            b = value
        return None

    def parts(i, W, known):
        t = tasks[i]
        wait = 0
        if t.eta > 0:
            wait = t.eta * low(i) + jobs(i, W, known)
            one = request(i, known)
            if one is not None:
                wait = min(wait, t.eta * one)
        clients = [j for j in beside(tasks, i) if tasks[j].eta > 0 and t.core == server]
        bound = [known[j] if joint else tasks[j].D for j in range(n)]
        others = [(work[j], bound[j], tasks[j].T) for j in clients]
        for h in hp(tasks, i):
            late = latest(t, tasks[h], tasks[h].C, known[h])
            others.append((tasks[h].C, late, tasks[h].T))
        taken = on_core(t, W, 0, others, split)
        served, higher = sum(taken[: len(clients)]), sum(taken[len(clients) :])
        own = t.C + G[i] + 2 * t.eta * eps
        return dict(own=own, request=wait, server=served, higher=higher)

    return solve_jointly(tasks, parts, joint)


# ------------------------------------------------------------------------------------ allocation


def partition(tasks, cpus, test, mode="suspend", eps=0, sms=None):
    """Worst fit, decreasing, for the tests of one lock or server; no core refuses a task.

    Returns (tasks with cores, server's core or None, result)."""
    k = sms or 10**9
    if test == "server":
        use = [Fraction(t.C, t.T) for t in tasks]
        server = sum(Fraction(t.Gm + 2 * t.eta * eps, t.T) for t in tasks)
        use.append(server)  # the last, so after tasks that use as much
    elif mode == "suspend":
        use = [Fraction(t.C + t.Gm, t.T) for t in tasks]
    else:
        use = [Fraction(t.C + t.G(k), t.T) for t in tasks]
    core, load = [None] * len(use), [Fraction(0)] * cpus
    for i in sorted(range(len(use)), key=lambda i: (-use[i], i)):
        core[i] = min(range(cpus), key=lambda p: (load[p], p))
        load[core[i]] += use[i]
    placed = [t.placed(c, t.sms) for t, c in zip(tasks, core, strict=False)]
    if test == "mpcp":
        return placed, None, mpcp(placed, mode, sms, True, True)
    if test == "fmlp+":
        return placed, None, fmlp_plus(placed, mode == "busy", "sound", sms, True, True)
    return placed, core[-1], gpu_server(placed, core[-1], eps, sms, True, True)


def sm_sets(tasks, counts, sms):
    """Lines 7 to 13: consecutive SMs, in the order of the tasks, round the end."""
    next_, sets = 0, []
    for t, count in zip(tasks, counts, strict=True):
        own = set()
        if t.eta > 0:
            own = {(next_ + k) % sms for k in range(count)}
            next_ += count
        sets.append(own)
    return sets


class Allocation:
    """placed: the tasks with their cores and SMs as they stood in the last round."""

    def __init__(self, schedulable, placed, counts, rounds, result):
        self.schedulable, self.placed, self.counts = schedulable, placed, counts
        self.rounds, self.result = rounds, result


def allocate(
    tasks,
    cpus,
    sms,
    busy=False,
    variant="sound",
    one_task=False,
    cpu_only=False,
    sign=False,
    no_reset=False,
    past_end=False,
    paths=chain,
):
    """Algorithm 1, corrected; each flag brings one line back as it is printed.

    one_task  line 16 checks the task being placed, not those already on the core
    cpu_only  lines 16 and 17 add up C/T instead of the utilization the mode defines
    sign      line 24 maximizes G(N + 1) - G(N), the least gain
    no_reset  line 26 returns to line 7: loads, cores and marks stay
    past_end  line 23 asks for N <= number of SMs of some task, line 24 takes any task; that may
              never end, and is given up when a task has two rounds of SMs more than change anything
    """
    n = len(tasks)
    counts = [1 if t.eta > 0 else 0 for t in tasks]
    rounds = 0
    core = load = bound = None
    while True:
        rounds += 1
        if core is None or not no_reset:
            core, load, bound = [None] * n, [Fraction(0)] * cpus, [None] * n
        sets = sm_sets(tasks, counts, sms)
        lengths = [t.G(len(own)) if busy else t.Gm for t, own in zip(tasks, sets, strict=True)]
        use = [Fraction(t.C + g, t.T) for t, g in zip(tasks, lengths, strict=True)]
        share = [Fraction(t.C, t.T) for t in tasks] if cpu_only else use
        for i in sorted(range(n), key=lambda i: (-use[i], i)):
            if core[i] is not None:
                continue
            for p in sorted(range(cpus), key=lambda p: (load[p], p)):
                if load[p] + share[i] > 1:
                    continue
                core[i] = p
                placed = place(tasks, core, sets)
                if one_task:
                    # Bounds stay what they were when their tasks were placed.
                    found = stgm(placed, busy, variant, [i], paths, bound)
                    bound[i] = found.W[i]
                else:
                    on_core = [j for j in range(n) if core[j] == p]
                    found = stgm(placed, busy, variant, on_core, paths)
                if found.schedulable:
                    load[p] += share[i]
                    break
                core[i] = None
            if core[i] is None and not no_reset:
                break  # this round has failed
        placed = place(tasks, core, sets)
        if None not in core:
            found = stgm(placed, busy, variant, None, paths)
            if found.schedulable or one_task or no_reset:
                return Allocation(True, placed, counts, rounds, found)
        more = [i for i in range(n) if tasks[i].eta > 0]
        if past_end:
            end = all(counts[i] > sms for i in more)
        else:
            more = [i for i in more if counts[i] < sms]
            end = not more
        if end:
            return Allocation(False, placed, counts, rounds, None)
        gain = [Fraction(t.G(c) - t.G(c + 1), t.T) for t, c in zip(tasks, counts, strict=True)]
        chosen = max(more, key=lambda i: (-gain[i] if sign else gain[i], -i))
        help_ = max([sms, *(len(e) for t in tasks for _, e, _ in t.gpu)])
        if past_end and counts[chosen] >= help_ + 2 * sms:
            return Allocation(False, placed, counts, rounds, None)
        counts[chosen] += 1


def group(tasks, sms, tries):
    """SM sets of the last of so many tries of our own allocator in suspend mode (stgm_isolated.c):
    groups of tasks share SMs of their own. Floating point in the same order, for equal ties."""
    users = [i for i, t in enumerate(tasks) if t.eta > 0]
    longest = [most(t.longer) for t in tasks]
    weight = dict.fromkeys(users, 1)

    def need(i, part, k):
        """The time of task i on a core of its own, as a share of its deadline."""
        t = tasks[i]
        copy = 2 * t.eta * (sum(longest) - longest[i])
        kernel = t.eta * sum(max(tasks[u].e(k)) for u in part if u != i)
        return (t.C + t.G(k) + copy + kernel) / t.D

    def cost(i, part, k):
        square = need(i, part, k) * need(i, part, k)
        return weight[i] * square * square

    def price(a, b):
        rise = [cost(i, a + b, 1) - cost(i, a if i in a else b, 1) for i in sorted(a + b)]
        return sum(rise)

    for turn in range(tries):
        parts = [[i] for i in users]
        top = min(len(users), sms)
        while len(parts) > top - turn % top:
            pairs = [(b, a) for b in range(len(parts)) for a in range(b)]
            b, a = min(pairs, key=lambda pair: price(parts[pair[1]], parts[pair[0]]))
            parts[a] = sorted(parts[a] + parts[b])
            last = parts.pop()
            if b < len(parts):
                parts[b] = last
        width = [1] * len(parts)
        for _ in range(sms - len(parts)):
            saved = [
                sum(cost(i, part, k) for i in part) - sum(cost(i, part, k + 1) for i in part)
                for part, k in zip(parts, width, strict=True)
            ]
            if max(saved) <= 0:
                break
            width[saved.index(max(saved))] += 1
        sets, first = [set() for _ in tasks], 0
        for part, k in zip(parts, width, strict=True):
            for i in part:
                sets[i] = set(range(first, first + k))
            first += k
        needs = [need(i, next(p for p in parts if i in p), len(sets[i])) for i in users]
        weight[users[needs.index(max(needs))]] *= 2
    return sets


def place(tasks, core, sets):
    return [t.placed(c, s) for t, c, s in zip(tasks, core, sets, strict=True)]


def exhaustive(tasks, cpus, sms, busy=False, variant="sound"):
    """Search of an allocation over every core and every nonempty SM set of every task."""
    subsets = [{s for s in range(sms) if bits >> s & 1} for bits in range(1, 1 << sms)]
    choices = [subsets if t.eta > 0 else [set()] for t in tasks]
    for sets in product(*choices):
        for cores in product(range(cpus), repeat=len(tasks)):
            placed = place(tasks, cores, sets)
            if stgm(placed, busy, variant).schedulable:
                return placed
    return None
