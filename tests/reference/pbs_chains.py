"""Batches of kernels of chains by explicit search over all states, and the replay of a schedule.

A job runs its kernels in order, a batch takes at most one kernel of a task, and every job released
in [0, H) has to end by its deadline.  Nothing else is said: what a pending job can still do by its
deadline is not looked at before it ends.
"""

from itertools import product
from math import lcm


def schedulable(period, deadline, offset, kernels, completion, idling=False):
    """Whether some sequence of batches lets every job end by its deadline.

    kernels: number of kernels of each task; completion: time by mask of kernels, those of task 0
    first, 0 where the batch is not possible.
    """
    horizon = lcm(*period)
    n = len(period)
    first = [sum(kernels[:i]) for i in range(n)]
    jobs = [max(0, -(-(horizon - offset[i]) // period[i])) for i in range(n)]
    seen = set()
    stack = [(0, (0,) * n)]  # the instant, and the kernels that each task has run
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        now, done = state
        if all(done[i] == jobs[i] * kernels[i] for i in range(n)):
            return True
        release = [
            offset[i] + done[i] // kernels[i] * period[i]
            for i in range(n)
            if done[i] < jobs[i] * kernels[i]
        ]
        ready = [
            i
            for i in range(n)
            if done[i] < jobs[i] * kernels[i]
            and offset[i] + done[i] // kernels[i] * period[i] <= now
        ]
        later = [r for i in range(n) for r in range(offset[i], horizon, period[i]) if r > now]
        if (not ready or idling) and later:
            stack.append((min(later), done))
        assert ready or release
        for chosen in product((False, True), repeat=len(ready)):
            batch = [i for i, taken in zip(ready, chosen, strict=True) if taken]
            mask = sum(1 << (first[i] + done[i] % kernels[i]) for i in batch)
            if not completion[mask]:
                continue
            end = now + completion[mask]
            after = tuple(done[i] + (i in batch) for i in range(n))
            ended = [i for i in batch if after[i] % kernels[i] == 0]
            due = [offset[i] + done[i] // kernels[i] * period[i] + deadline[i] for i in ended]
            if all(end <= d for d in due):
                stack.append((end, after))
    return False


def wrong(period, deadline, offset, kernels, completion, frames, idling=False):
    """The first thing that is wrong with frames (start, end, mask), or None."""
    horizon = lcm(*period)
    n = len(period)
    of = [(i, q) for i in range(n) for q in range(kernels[i])]
    jobs = [max(0, -(-(horizon - offset[i]) // period[i])) for i in range(n)]
    done = [0] * n
    now = 0
    for number, (start, end, mask) in enumerate(frames):
        releases = [
            offset[i] + done[i] // kernels[i] * period[i]
            for i in range(n)
            if done[i] < jobs[i] * kernels[i]
        ]
        if start < now:
            return f"frame {number} overlaps"
        if not idling and releases and start > max(now, min(releases)):
            return f"frame {number} idles"
        if mask >= len(completion) or not completion[mask] or end - start != completion[mask]:
            return f"frame {number} has another time"
        for i, q in [of[b] for b in range(len(of)) if mask >> b & 1]:
            job = done[i] // kernels[i]
            if job >= jobs[i] or offset[i] + job * period[i] > start or done[i] % kernels[i] != q:
                return f"frame {number}: kernel {q} of task {i} is not the next one"
            done[i] += 1
            if done[i] % kernels[i] == 0 and end > offset[i] + job * period[i] + deadline[i]:
                return f"frame {number}: task {i} is late"
        now = end
    if any(done[i] < jobs[i] * kernels[i] for i in range(n)):
        return "jobs are left"
    return None
