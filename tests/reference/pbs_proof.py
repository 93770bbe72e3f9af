"""Checks of proofs that the Parallel Batch Scheduler misses a deadline, whatever batches it runs.

Source: "GPUSched", section 2.4 (the scheduler), and for each kind of proof the argument below.
Arrivals are half-open: a batch from t to t' picks up what arrives in (t, t'].  A batch whose
completion is 0 is not eligible.  Only jobs released before the horizon H count.

Each function returns None where the proof holds, else a sentence on what is wrong.

Prices.  A job of task i is worth prices[i] / scale ticks, and no batch is worth more than its time.
Cut a schedule after the last batch that holds a job due by X: the cut ends by X, holds all jobs due
by X, and only jobs released before X.  So their least worth is at most X.

Interval.  Jobs released at or after its start and due by its end lie inside it, in batches that
cover their tasks.

Dead states.  A class is (start of an interval between two consecutive arrivals, pending jobs of
each task).  All instants after its `latest` are dead even when the GPU may wait, those in its spans
for the question that is asked.  Every batch and, where it is allowed, waiting leads from a dead
state to a miss or to a dead state, and a state with nothing left to run is not dead; time grows
with every step, so no schedule starts in a dead state.
"""

from fractions import Fraction
from math import lcm

NEVER = float("inf")


def members(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def count(first, step, last):
    """Numbers among first, first + step, ... that are at most last."""
    return max(0, (last - first) // step + 1) if last < NEVER else NEVER


def ends_in_time(period, deadline, offset):
    """Whether all jobs released in [0, H) are due by H, so that [0, H) says all of what comes."""
    return all(o + d <= p for p, d, o in zip(period, deadline, offset, strict=True))


def restricted(completion, tasks):
    """The times of the least batches with the same of these tasks, in the order given."""
    least = [0] * (1 << len(tasks))
    for mask, time in enumerate(completion):
        part = sum(1 << j for j, i in enumerate(tasks) if mask >> i & 1)
        if time and part and (least[part] == 0 or time < least[part]):
            least[part] = time
    return least


def are_tasks(tasks, n):
    return len(tasks) > 0 and sorted(set(tasks)) == list(tasks) and 0 <= tasks[0] <= tasks[-1] < n


def wrong_prices(completion, prices, scale):
    if scale < 1:
        return f"scale {scale}"
    for mask, time in enumerate(completion):
        if time and sum(prices[i] for i in members(mask)) > scale * time:
            return f"batch {members(mask)} is worth more than {time}"
    return None


def least_worth(period, deadline, offset, horizon, done, window, prices):
    """Least worth of the jobs in [0, window] that are not done; None when none is due by then."""
    last = horizon - 1
    worth, some = 0, False
    for p, d, o, gone, price in zip(period, deadline, offset, done, prices, strict=True):
        must = max(0, count(o, p, min(window - d, last)) - gone)
        may = max(0, count(o, p, min(window - 1, last)) - gone)
        worth += price * (must if price > 0 else may)
        some = some or must > 0
    return worth if some else None


def check_prices(
    period, deadline, offset, completion, horizon, *, window, prices, scale, repeating=False
):
    if wrong := wrong_prices(completion, prices, scale):
        return wrong
    if window is None:
        if not repeating and not ends_in_time(period, deadline, offset):
            return "the long run says nothing about one hyperperiod"
        rate = sum(Fraction(y, p) for y, p in zip(prices, period, strict=True))
        return None if rate > scale else f"the load is {rate / scale}"
    end = NEVER if repeating else horizon
    worth = least_worth(period, deadline, offset, end, [0] * len(period), window, prices)
    if worth is None or worth <= scale * window:
        return f"the jobs are worth {worth} / {scale} in {window}"
    return None


def check_interval(
    period, deadline, offset, completion, horizon, *, start, end, tasks, least, repeating=False
):
    if not are_tasks(tasks, len(period)):
        return f"tasks {tasks}"
    for i in tasks:
        release = offset[i] + max(0, -((offset[i] - start) // period[i])) * period[i]
        if release + deadline[i] > end or (release >= horizon and not repeating):
            return f"no job of task {i} falls into it"
    times = restricted(completion, tasks)
    cover = [0] + [NEVER] * (len(times) - 1)  # least time of batches that cover a set
    for part in range(1, len(times)):
        useful = [b for b in range(1, len(times)) if times[b] and b & part]
        cover[part] = min(times[b] + cover[part & ~b] for b in useful)
    if cover[-1] != least or least <= end - start:
        return f"{cover[-1]} of {end - start}"
    return None


def check_states(
    period,
    deadline,
    offset,
    completion,
    horizon,
    *,
    windows,
    entries,
    idling,
    repeating=False,
    chains=(),
):
    """Check dead states.

    windows: (window, prices, scale) each; entries: (start, pending, latest, [(first, last), ...])
    each, latest None where nothing is known.  chains: lists of indices that are the kernels of one
    task, in order; of these only the first one that the oldest unfinished job needs may run.
    """
    n = len(period)
    if repeating and not ends_in_time(period, deadline, offset):
        return "one hyperperiod says nothing about all jobs"
    for _, prices, scale in windows:
        if wrong := wrong_prices(completion, prices, scale):
            return wrong

    def arrived(t):
        return [count(o, p, min(t, horizon - 1)) for p, o in zip(period, offset, strict=True)]

    def next_arrival(t):
        after = [o + p * a for p, o, a in zip(period, offset, arrived(t), strict=True)]
        return min((r for r in after if r < horizon), default=NEVER)

    def interval(t):
        """Start of the interval that holds t."""
        return max(
            [0] + [o + p * (a - 1) for p, o, a in zip(period, offset, arrived(t), strict=True) if a]
        )

    def due(i, done):
        """Deadline of the oldest job of a task that is left, pending or not."""
        release = offset[i] + period[i] * done[i]
        return release + deadline[i] if release < horizon else NEVER

    def is_current(i, done):
        for kernels in chains:
            if i in kernels:
                ran = [done[j] for j in kernels]
                return kernels.index(i) == sum(jobs > ran[-1] for jobs in ran)
        return True

    dead = {}
    for start, pending, latest, spans in entries:
        done = tuple(a - m for a, m in zip(arrived(start), pending, strict=True))
        if start < 0 or interval(start) != start or min(done) < 0 or min(pending) < 0:
            return f"no class ({start}, {pending})"
        if (start, done) in dead:
            return f"class ({start}, {pending}) twice"
        x = start - 1
        for first, last in spans:
            if not x < first <= last < next_arrival(start):
                return f"span {first}..{last} of ({start}, {pending})"
            x = last
        dead[start, done] = (NEVER if latest is None else latest, spans)
    queue, seen = [], set()

    def use(*claim):
        if claim not in seen:
            seen.add(claim)
            queue.append(claim)

    def by_windows(t, done):
        for window, prices, scale in windows:
            if window > interval(t):
                worth = least_worth(period, deadline, offset, horizon, done, window, prices)
                if worth is not None and worth > scale * (window - t):
                    return True
        return False

    def is_dead(x, y, done, latest_only):
        """Whether the instants x..y of one interval are claimed to be dead; what is used queues."""
        start = interval(x)
        latest, spans = dead.get((start, done), (NEVER, []))
        while x <= y:
            span = [s for s in spans if s[0] <= x <= s[1]]
            if x > latest:
                use(start, done, latest + 1, None, True)
                return True
            if span and not latest_only:
                use(start, done, *span[0], idling)
                x = span[0][1] + 1
            elif by_windows(x, done):
                return True
            else:
                return False
        return True

    if not is_dead(0, 0, (0,) * n, False):
        return "the first instant is not claimed to be dead"
    while queue:
        start, done, x, y, waiting = queue.pop()
        # waiting: the claim holds although the GPU may wait. A claim about all instants after some
        # one (y is None) rests on claims of that kind alone.
        latest = y is None
        stop = next_arrival(start)
        pending = [a - d for a, d in zip(arrived(start), done, strict=True)]
        x, y = max(x, start), stop - 1 if latest else y
        if x > y:
            continue
        if not any(pending) and stop == NEVER:
            return "nothing is left to run"
        if waiting or not any(pending):
            missed = any(m and due(i, done) <= stop for i, m in enumerate(pending))
            if stop < NEVER and not missed and not is_dead(stop, stop, done, latest):
                return f"waiting from ({start}, {pending})"
        for mask in range(1, 1 << n):
            batch = members(mask)
            if not completion[mask] or not all(pending[i] for i in batch):
                continue
            if not all(is_current(i, done) for i in batch):
                continue
            limit = min(due(i, done) - (i not in batch) for i in range(n))
            after = tuple(d + (i in batch) for i, d in enumerate(done))
            t, end = x + completion[mask], min(y + completion[mask], limit)
            while t <= end:
                if not is_dead(t, min(end, next_arrival(t) - 1), after, latest):
                    return f"batch {batch} from ({start}, {pending}) ends alive at {t}"
                t = next_arrival(t)
    return None


def check_subset(period, deadline, offset, completion, horizon, *, tasks, check, **proof):
    """Check a proof (by the function check) that some tasks alone miss a deadline.

    Without the other tasks a schedule has batches that take no longer, and idle time.  Where jobs
    of these tasks may end after their own hyperperiod, those released in the whole one count.
    """
    if not are_tasks(tasks, len(period)):
        return f"tasks {tasks}"
    part = [[column[i] for i in tasks] for column in (period, deadline, offset)]
    if ends_in_time(*part):
        horizon = lcm(*part[0])
    if check is check_states:
        proof["idling"] = True
    return check(*part, restricted(completion, tasks), horizon, **proof)
