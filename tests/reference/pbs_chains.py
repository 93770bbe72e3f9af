"""Batches of kernels of chains: search over all states, replay of a schedule, EDF dispatchers.

A job runs its kernels in order, a batch takes at most one kernel of a task, jobs of a task run one
after the other, and every job released in [0, H) has to end by its deadline.  A state is the
instant and the number of kernels that each task has run.  completion[mask] is the time of a batch,
a bit per kernel, those of task 0 first; 0 where it is not possible.
"""

from itertools import product
from math import lcm


class System:
    """Tasks with their numbers of kernels."""

    def __init__(self, period, deadline, offset, kernels):
        self.period, self.deadline, self.offset = period, deadline, offset
        self.kernels, self.n, self.horizon = kernels, len(period), lcm(*period)
        self.first = [sum(kernels[:i]) for i in range(self.n)]
        jobs = [len(range(o, self.horizon, p)) for p, o in zip(period, offset, strict=True)]
        self.all = tuple(count * k for count, k in zip(jobs, kernels, strict=True))

    def release(self, i, done):
        return self.offset[i] + done[i] // self.kernels[i] * self.period[i]

    def due(self, i, done):
        return self.release(i, done) + self.deadline[i]

    def left(self, done):
        """Tasks with jobs that have not ended."""
        return [i for i in range(self.n) if done[i] < self.all[i]]

    def ready(self, now, done):
        return [i for i in self.left(done) if self.release(i, done) <= now]

    def mask(self, batch, done):
        return sum(1 << (self.first[i] + done[i] % self.kernels[i]) for i in batch)

    def after(self, batch, done):
        return tuple(d + (i in batch) for i, d in enumerate(done))

    def late(self, batch, done, end):
        """Tasks of a batch whose jobs end with it, after their deadlines."""
        ends = [i for i in batch if (done[i] + 1) % self.kernels[i] == 0]
        return [i for i in ends if end > self.due(i, done)]

    def next_release(self, now):
        later = [
            r
            for p, o in zip(self.period, self.offset, strict=True)
            for r in range(o, self.horizon, p)
            if r > now
        ]
        return min(later, default=None)


def schedulable(period, deadline, offset, kernels, completion, idling=False):
    """Whether some sequence of batches lets every job end by its deadline."""
    system = System(period, deadline, offset, kernels)
    seen = set()
    stack = [(0, (0,) * system.n)]
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        now, done = state
        if done == system.all:
            return True
        if any(system.due(i, done) < now for i in system.left(done)):
            continue  # a job that has not ended is late
        ready, later = system.ready(now, done), system.next_release(now)
        if (not ready or idling) and later is not None:
            stack.append((later, done))
        for chosen in product((False, True), repeat=len(ready)):
            batch = [i for i, taken in zip(ready, chosen, strict=True) if taken]
            time = completion[system.mask(batch, done)]
            if time and not system.late(batch, done, now + time):
                stack.append((now + time, system.after(batch, done)))
    return False


def wrong(period, deadline, offset, kernels, completion, frames, idling=False):
    """The first thing that is wrong with frames (start, end, mask), or None."""
    system = System(period, deadline, offset, kernels)
    done, now = (0,) * system.n, 0
    for number, (start, end, mask) in enumerate(frames):
        releases = [system.release(i, done) for i in system.left(done)]
        if start < now:
            return f"frame {number} overlaps"
        if not idling and releases and start > max(now, min(releases)):
            return f"frame {number} idles"
        batch = [
            i
            for i in system.ready(start, done)
            if mask >> (system.first[i] + done[i] % kernels[i]) & 1
        ]
        if mask != system.mask(batch, done):
            return f"frame {number} runs kernels before their turn"
        if not mask or completion[mask] != end - start:
            return f"frame {number} has another time"
        if system.late(batch, done, end):
            return f"frame {number} ends late"
        done, now = system.after(batch, done), end
    return None if done == system.all else "jobs are left"


def edf(period, deadline, offset, kernels, completion, parallel):
    """Whether EDFserial or EDFParallel meets all deadlines, and its frames."""
    system = System(period, deadline, offset, kernels)
    done, now, frames = (0,) * system.n, 0, []
    while done != system.all:
        ready = sorted(system.ready(now, done), key=lambda i: (system.due(i, done), i))
        if not ready:
            now = system.next_release(now)
            continue
        batch = []
        for i in ready if parallel else ready[:1]:
            if completion[system.mask([*batch, i], done)]:
                batch.append(i)
        end = now + completion[system.mask(batch, done)]
        frames.append((now, end, system.mask(batch, done)))
        if system.late(batch, done, end):
            return False, frames
        done, now = system.after(batch, done), end
    return True, frames
