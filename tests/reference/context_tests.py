"""Response-time tests of tasks that share the GPU by contexts: time slices, and GCAPS.

Source: Wang, Liu, Wong & Kim, "GCAPS", ECRTS 2024, Eqs. (3), (5)-(8) and (9)-(14), printed and
corrected.  Slow and plain: every right-hand side is written out and evaluated from 1 upwards.

Two ways to find the bounds: the joint least fixed point (all responses at once, from below), and
one pass (from the most urgent task on, deadlines for what is not known yet).  `free`: deadlines for
all that is assumed, whatever the order; `deadlines`: the same in the equations of one pass.
Responses R count from the arrivals, windows w from the releases, up to J later.
`only`: the tasks asked for (all).  `stop`: whether a bound above its deadline ends the test
(False: it goes on, to compare the numbers of papers).
"""

from __future__ import annotations

from reference.host_tests import TERMS, Result, cdiv, hp, latest, lp

NEVER = 10**9  # above all times of the sets here


def jobs(w, R, x, T):
    """Jobs of which a window of length w can hold work: N(w, R, x, T)."""
    return cdiv(w + R - min(x, R), T)


def least(f, limit):
    """The least w in 1 .. limit with w = f(w), None without one."""
    w = 1
    while w <= limit:
        value = f(w)
        if value == w or value == 0:  # 0: a job without work, of kernels that SMs make vanish
            return value
        assert value > w
        w = value
    return None


def total(named):
    return sum(named.values())


def solve(tasks, parts, way="joint", first=None, stop=True, only=None):
    """`parts(i, w, R)`: the terms of task i at window w if the responses are at most R."""
    assert way in ("joint", "one_pass", "free", "deadlines")
    n = len(tasks)
    result = Result(n)
    R = [t.D for t in tasks]
    if way == "joint":
        R = [t.J + length for t, length in zip(tasks, first, strict=True)]
    order = sorted(range(n), key=lambda i: tasks[i].prio)
    changed = True
    while changed:
        changed = False
        for i in order:
            if only is not None and i not in only:
                continue
            t = tasks[i]
            w = least(lambda w, i=i: total(parts(i, w, R)), t.within if stop else NEVER)
            named = parts(i, t.within if w is None else w, R)
            result.terms[i] = [*(named.get(name, 0) for name in TERMS[:-1]), t.J]
            W = None if w is None else w + t.J
            if W is None:
                result.failed = i
                if way == "joint":  # what was found is below the least vector: nothing is known
                    result.W = [None] * n
                    result.terms = [row if k == i else None for k, row in enumerate(result.terms)]
                return result
            result.W[i] = W
            changed = changed or (way == "joint" and R[i] != W)
            R[i] = R[i] if way in ("free", "deadlines") else W
    return result


def intervals(tasks, i, lengths, x, R, extra=0):
    """Numbers of jobs of each more urgent task on its core in the ready intervals of i, one after
    the other of these lengths; and how long each is; None where one passes the deadline."""
    found = []
    for m in lengths:

        def count(k, w, m=m):
            if m > 0:
                return jobs(w, R[k], x[k], tasks[k].T)
            return (w + R[k] - min(x[k], R[k])) // tasks[k].T + 1

        w = 0 if m == 0 else 1
        while True:
            value = m + extra + sum(count(k, w) * x[k] for k in hp(tasks, i))
            if value == w or value > tasks[i].within:
                break
            w = value
        if value > tasks[i].within:
            found.append(None)
        else:
            found.append((w, {k: count(k, w) for k in hp(tasks, i)}))
    return found


# ------------------------------------------------------------------------------------ time slices


def time_slices(
    tasks,
    L,
    theta,
    mode="suspend",
    variant="sound",
    way="joint",
    sms=None,
    stop=True,
    only=None,
):
    n = len(tasks)
    k = sms or 10**9
    e = [t.e(k) for t in tasks]
    G = [t.G(k) for t in tasks]
    gpu = [u for u in range(n) if tasks[u].eta > 0]
    xc = [t.C + t.Gm for t in tasks]
    if variant == "paper":
        return _printed_slices(tasks, L, theta, mode, e, G, gpu, xc, stop)
    theta = theta if len(gpu) > 1 else 0
    Q = [sum(cdiv(one, L) for one in times) for times in e]
    y = [sum(times) + q * theta for times, q in zip(e, Q, strict=True)]
    v = [theta + min(L, max(times, default=0)) for times in e]

    def suspend(i, w, R):
        t = tasks[i]
        lengths = list(t.cpu)
        for j, (a, _, b) in enumerate(t.gpu):
            lengths[j] += a
            lengths[j + 1] += b
        if lengths[-1] == 0:
            lengths.pop()
        found = intervals(tasks, i, lengths, xc, R)
        higher = 0
        for h in hp(tasks, i):
            count = jobs(w, latest(t, tasks[h], xc[h], R[h]), xc[h], tasks[h].T)
            if None not in found:
                count = min(count, sum(counts[h] for _, counts in found))
            higher += count * xc[h]
        ring = sum(min(Q[i] * v[u], jobs(w, R[u], y[u], tasks[u].T) * y[u]) for u in gpu if u != i)
        return dict(own=t.C + G[i] + Q[i] * theta, request=ring, higher=higher)

    def busy(i, w, R):
        t = tasks[i]
        above = hp(tasks, i)
        released = {h: cdiv(w + tasks[h].J, tasks[h].T) for h in above}
        QQ = Q[i] + sum(released[h] * Q[h] for h in above)
        ring = sum(
            min(QQ * v[u], jobs(w, R[u], y[u], tasks[u].T) * y[u])
            for u in gpu
            if tasks[u].core != t.core
        )
        lower = 0
        for u in lp(tasks, i):
            if tasks[u].eta > 0:
                lower += min(QQ * v[u], max(e[u]) + cdiv(max(e[u]), L) * theta)
        higher = sum(released[h] * (tasks[h].C + G[h] + Q[h] * theta) for h in above)
        own = t.C + G[i] + Q[i] * theta
        return dict(own=own, request=ring, lower=lower, higher=higher)

    first = [t.C + g for t, g in zip(tasks, G, strict=True)]
    return solve(tasks, suspend if mode == "suspend" else busy, way, first, stop, only)


def _printed_slices(tasks, L, theta, mode, e, G, gpu, xc, stop):
    def round_robin(others, length):  # Eq. (3)
        return (L + theta) * others * cdiv(length, L)

    def parts(i, w, R):
        t = tasks[i]
        others = len([u for u in gpu if u != i])
        ring = sum(round_robin(others, one) for one in e[i])
        higher = 0
        for h in hp(tasks, i):
            if mode == "suspend":
                higher += jobs(w, R[h], xc[h], tasks[h].T) * xc[h]
            else:
                beside = 1 + len([u for u in gpu if u not in hp(tasks, i)])
                indirect = sum(round_robin(beside, one) for one in e[h])
                higher += cdiv(w, tasks[h].T) * (xc[h] + indirect)
        return dict(own=t.C + G[i], request=ring, higher=higher)

    return solve(tasks, parts, "one_pass", stop=stop)


# ------------------------------------------------------------------------------------------ GCAPS


def gcaps(
    tasks,
    eps,
    mode="suspend",
    variant="sound",
    way="joint",
    sms=None,
    gpu_prio=None,
    stall=False,
    stop=True,
    only=None,
    theta=0,
):
    """gpu_prio: as prio, a smaller one is more urgent; those of tasks without GPU segments are
    ignored.  theta: of a switch.  A GPU segment of a task pays one; one of a more urgent task costs
    two, the second of which may lie up to theta after the end of its job."""
    n = len(tasks)
    k = sms or 10**9
    G = [t.G(k) for t in tasks]
    Ge = [sum(t.e(k)) for t in tasks]
    given = gpu_prio is not None
    pg = gpu_prio if given else [t.prio for t in tasks]
    gpu = [u for u in range(n) if tasks[u].eta > 0]
    core = [t.core for t in tasks]
    cores = sorted(set(core))
    eta = [t.eta for t in tasks]
    T = [t.T for t in tasks]
    if variant == "paper":
        assert theta == 0
        return _printed_gcaps(tasks, eps, mode, G, Ge, gpu, pg, given, stop)
    free = way == "free"
    theta = theta if len(gpu) > 1 else 0
    two = [2 * t.eta * theta for t in tasks]
    x = [t.C + t.Gm + 2 * t.eta * eps for t in tasks]
    g = [Ge[u] + eta[u] * eps + two[u] for u in range(n)]

    def lower_gpu(i):
        return [u for u in lp(tasks, i) if eta[u] > 0]

    def lower_updates(u, w, R):
        return 2 * eta[u] * cdiv(w + R[u], T[u])

    def longest(h, R):
        """From the release of a job to the end of the switch behind it."""
        return R[h] - tasks[h].J + theta

    def hold(h, R):
        """Longest time that a job of h keeps the GPU from less urgent tasks."""
        if free:
            return tasks[h].within + theta
        length = G[h] + 3 * eta[h] * eps + two[h]
        for a, _, b in tasks[h].gpu:
            for m in ([a] if a > 0 else []) + [b]:
                (found,) = intervals(tasks, h, [m], x, R, len(lower_gpu(h)) * eps)
                length += NEVER if found is None else found[0] - m
        return min(longest(h, R), length)

    def stalled(above, w, R, lowest):
        others = [u for u in gpu if u not in above and pg[u] > lowest]
        return eps * sum(lower_updates(u, w, R) for u in others) if stall else 0

    def remote(c, S, z, w, R, above, first, low):
        """The smaller of: the holds of the jobs of S, all that keeps core c busy meanwhile."""
        if not S:
            return 0
        of_core = sum(jobs(w, R[h] + theta, z(h), T[h]) * z(h) for h in S)
        for u in range(n):
            if core[u] == c and u not in S and tasks[u].prio <= tasks[low].prio:
                of_core += jobs(w, R[u], x[u], T[u]) * x[u]
        begun = sum(2 * eta[h] * cdiv(w + R[h], T[h]) for h in S)
        for u in range(n):
            if core[u] == c and tasks[u].prio > tasks[low].prio and eta[u] > 0:
                of_core += eps * min(begun, lower_updates(u, w, R))
        return min(first, of_core)

    def suspend(i, w, R):
        t = tasks[i]
        above, below = hp(tasks, i), lower_gpu(i)
        H = {h: hold(h, R) for h in gpu}
        ready = 1 + 2 * eta[i] + len([a for a, _, _ in t.gpu if a > 0])

        def open_jobs(h):
            return jobs(w, latest(t, tasks[h], x[h], R[h]), x[h], T[h])

        def cap(u):
            return jobs(w, R[u], x[u], T[u]) * x[u]

        many = ready
        if eta[i] > 0:
            many += sum(2 * eta[h] * cdiv(w + R[h], T[h]) for h in above)
        A = {"request": 0, "higher": 0, "lower": 0}
        for h in above:
            A["higher"] += open_jobs(h) * x[h]
            if eta[i] > 0 and eta[h] > 0:
                A["request"] += jobs(w, R[h] + theta, g[h], T[h]) * g[h]
        for u in below:
            A["lower"] += min(eps * min(many, lower_updates(u, w, R)), cap(u))
        lengths = []
        for c, (a, _, b) in zip(t.cpu, t.gpu, strict=False):
            lengths += [c] + ([a] if a > 0 else []) + [b]
        if t.cpu[-1] > 0:
            lengths.append(t.cpu[-1])
        found = intervals(tasks, i, lengths, x, R, len(below) * eps)
        best = A
        if None not in found:
            B = {"request": 0, "higher": 0, "lower": 0}
            for h in above:
                count = min(open_jobs(h), sum(counts[h] for _, counts in found))
                B["higher"] += count * x[h]
                if eta[i] > 0 and eta[h] > 0:
                    B["request"] += jobs(w, R[h] + theta, H[h], T[h]) * H[h]
            for u in below:
                B["lower"] += min(eps * min(ready, lower_updates(u, w, R)), cap(u))
            best = B if total(B) < total(A) else A
        named = dict(best)
        named["own"] = t.C + G[i] + 4 * eta[i] * eps + eta[i] * theta
        if eta[i] > 0:
            for c in cores:
                if c == t.core:
                    continue
                S = [u for u in gpu if core[u] == c and pg[u] < pg[i]]
                low = max(S, key=lambda u: tasks[u].prio, default=None)
                if free:
                    urgent = [u for u in range(n) if core[u] == c and tasks[u].prio < t.prio]
                    low = max(urgent, key=lambda u: tasks[u].prio, default=None)

                def z(h, low=low):
                    cpu = 0 if h == low and not free else tasks[h].C
                    return cpu + G[h] + 3 * eta[h] * eps + two[h]

                held = sum(jobs(w, R[h] + theta, H[h], T[h]) * H[h] for h in S)
                named["request"] += remote(c, S, z, w, R, above, held, low)
            named["request"] += stalled([*above, i], w, R, pg[i])
        return named

    def busy(i, w, R):
        t = tasks[i]
        above, below = hp(tasks, i), lower_gpu(i)
        levels = [pg[h] for h in [*above, i] if eta[h] > 0]
        full = [u.C + G[k] + 4 * u.eta * eps + two[k] for k, u in enumerate(tasks)]
        named = dict(own=full[i] - eta[i] * theta, lower=len(below) * eps, request=0)
        named["higher"] = sum(cdiv(w + tasks[h].J, T[h]) * full[h] for h in above)
        switches_back = False  # to another core, when the window begins
        if levels:
            limit = t.prio if free else max(levels)
            for c in cores:
                if c == t.core:
                    continue
                S = [u for u in gpu if core[u] == c and pg[u] < limit]
                low = max(S, key=lambda u: tasks[u].prio, default=None)
                if free:
                    urgent = [u for u in range(n) if core[u] == c and tasks[u].prio < t.prio]
                    low = max(urgent, key=lambda u: tasks[u].prio, default=None)

                def z(h):
                    return full[h]

                lengths = {h: longest(h, R) for h in S}
                held = sum(jobs(w, R[h] + theta, lengths[h], T[h]) * lengths[h] for h in S)
                switches_back = switches_back or bool(S)
                named["request"] += remote(c, S, z, w, R, above, held, low)
            if switches_back and any(eta[h] > 0 for h in above):
                named["request"] += theta
            named["request"] += stalled([*above, i], w, R, -NEVER)
        return named

    first = [t.C + length for t, length in zip(tasks, G, strict=True)]
    return solve(tasks, suspend if mode == "suspend" else busy, way, first, stop, only)


def _printed_gcaps(tasks, eps, mode, G, Ge, gpu, pg, given, stop):

    def parts(i, w, R):
        t = tasks[i]
        above = hp(tasks, i)
        late = [u.D for u in tasks] if given else R  # section 6.4
        named = dict(own=t.C + G[i] + 2 * t.eta * eps, lower=(t.eta + 1) * eps, higher=0, request=0)
        for h in above:
            s = tasks[h]
            both = 2 * s.eta * eps
            if mode == "busy":  # Eqs. (10), (12)
                named["higher"] += cdiv(w, s.T) * (s.C + s.Gm)
                if t.eta > 0:
                    named["request"] += cdiv(w, s.T) * (Ge[h] + both if s.eta > 0 else 0)
            else:  # Eqs. (13), (14)
                x = s.C + s.Gm
                named["higher"] += jobs(w, late[h], x, s.T) * (x + both)
                if t.eta > 0 and s.eta > 0:
                    named["request"] += jobs(w, late[h], Ge[h], s.T) * Ge[h]
        if t.eta > 0 or mode == "busy":  # Eqs. (10), (11), (13)
            for h in gpu:
                s = tasks[h]
                urgent = pg[h] < pg[i] if t.eta > 0 else s.prio < t.prio
                if h != i and h not in above and s.core != t.core and urgent:
                    length = Ge[h] + 2 * s.eta * eps
                    named["request"] += jobs(w, late[h], Ge[h], s.T) * length
        return named

    return solve(tasks, parts, "one_pass", stop=stop)
