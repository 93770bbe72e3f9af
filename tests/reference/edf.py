"""Simulation of EDFserial and EDFParallel over a hyperperiod.

Source: "GPUSched", section 6 (the strategies it compares with) and section 3.1 (the example).

EDFserial runs the one pending job with the earliest deadline, alone and without preemption.
EDFParallel walks the pending jobs in deadline order and keeps each one that leaves the batch
eligible.  Equal absolute deadlines: smaller task index first.  Only the oldest pending job of a
task is a candidate.  Frames, arrivals and misses are those of pbs_brute; only jobs released in
[0, H) count.  Jobs that wait for others (needs, as in pbs_brute) are not ready.
"""

from math import lcm


def _run(period, deadline, completion, offset, pick, needs=None):
    n = len(period)
    offset = [0] * n if offset is None else offset
    horizon = lcm(*period)
    # The releases of each task, oldest first.
    todo = [list(range(o, horizon, p)) for o, p in zip(offset, period, strict=True)]
    now, schedule = 0, []
    while any(todo):
        now = max(now, min(r[0] for r in todo if r))
        left = [len(r) for r in todo]
        ready = sorted(
            (r[0] + deadline[i], i)
            for i, r in enumerate(todo)
            if r and r[0] <= now and not _waits(i, left, needs)
        )
        mask = pick([i for _, i in ready], completion)
        if completion[mask] == 0:
            return False, schedule
        end = now + completion[mask]
        schedule.append((now, end, mask))
        for i, r in enumerate(todo):
            if mask >> i & 1 and end > r.pop(0) + deadline[i]:
                return False, schedule
        if any(a + deadline[i] <= end for i, r in enumerate(todo) for a in r):
            return False, schedule
        now = end
    return True, schedule


def _waits(i, left, needs):
    """Whether the next job of a task waits for one of as many jobs that are left."""
    return any(needs and needs[i] >> p & 1 and left[p] >= left[i] for p in range(len(left)))


def _one(tasks, completion):
    return 1 << tasks[0]


def _greedy(tasks, completion):
    mask = 0
    for i in tasks:
        if completion[mask | 1 << i]:
            mask |= 1 << i
    return mask


def edf_serial(period, deadline, completion, offset=None, needs=None):
    """(ok, schedule); after a miss the schedule's last frame is the one in which it happens.

    A first job that is not eligible alone ends the run: ok is False and no frame is added.
    """
    return _run(period, deadline, completion, offset, _one, needs)


def edf_parallel(period, deadline, completion, offset=None, needs=None):
    """(ok, schedule) as edf_serial; fails without a frame when no pending job is eligible alone."""
    return _run(period, deadline, completion, offset, _greedy, needs)
