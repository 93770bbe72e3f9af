"""Search of a parallel batch schedule by enumeration of all sequences of frames.

Source: "GPUSched", section 2.4 (the Parallel Batch Scheduler) and section 3 (what is searched),
with arrivals half-open: a frame from t to t' picks up what arrives in (t, t'].

A state is (t, number of jobs executed per task); a job is (task, index), only jobs released in
[0, H) count.  At a boundary with ready work some eligible batch must start (with idling=True the
dispatcher may instead wait for the next arrival); with nothing ready, time jumps to the next
arrival.  A batch holds the oldest pending job of each of its tasks.  A job misses when its batch
ends after its deadline, or when its deadline comes (d <= t') while it is not in the running batch,
also when it arrived during the frame.  completion[mask] == 0 marks a batch that is not eligible.

needs[i] is the mask of the tasks whose job of the same index must have ended before a job of task i
may be in a batch (or None for all); until then the job is not ready.
"""

from bisect import bisect_right
from math import lcm


def arrivals(period, offset, horizon, start, end):
    """Release times of one task with start < release <= end and 0 <= release < horizon."""
    return [a for a in range(offset, min(horizon, end + 1), period) if a > start]


def _setup(period, offset):
    offset = [0] * len(period) if offset is None else list(offset)
    horizon = lcm(*period)
    release = [arrivals(p, o, horizon, -1, horizon) for p, o in zip(period, offset, strict=True)]
    instants = sorted({a for r in release for a in r})

    def next_arrival(t):
        at = bisect_right(instants, t)
        return instants[at] if at < len(instants) else None

    return release, next_arrival


def held_back(needs, done):
    """The mask of the tasks whose next job waits for another one."""
    return sum(
        1 << i
        for i, mask in enumerate(needs or ())
        if any(mask >> p & 1 and done[p] <= done[i] for p in range(len(done)))
    )


def _moves(release, next_arrival, deadline, completion, idling, t, done, needs=None):
    """All (end, mask, executed) that follow state (t, done) without a miss; mask 0 is waiting."""
    n = len(release)
    oldest = [r[k] if k < len(r) else None for r, k in zip(release, done, strict=True)]

    def missed(batch, now):
        """True when a job outside of the batch has its deadline at or before `now`.

        Of each task, the oldest job that is left has the earliest deadline.
        """
        for i, first in enumerate(oldest):
            if batch >> i & 1:
                k = done[i] + 1
                first = release[i][k] if k < len(release[i]) else None
            if first is not None and first + deadline[i] <= now:
                return True
        return False

    ready = sum(1 << i for i, first in enumerate(oldest) if first is not None and first <= t)
    ready &= ~held_back(needs, done)
    later = next_arrival(t)
    if later is not None and (idling or not ready) and not missed(0, later):
        yield later, 0, done
    for mask in range(1, ready + 1):
        if completion[mask] == 0 or mask & ~ready:
            continue
        end = t + completion[mask]
        batch = [i for i in range(n) if mask >> i & 1]
        if all(end <= oldest[i] + deadline[i] for i in batch) and not missed(mask, end):
            yield end, mask, tuple(d + (mask >> i & 1) for i, d in enumerate(done))


def _explore(period, deadline, completion, offset, idling, t, done, needs=None):
    release, next_arrival = _setup(period, offset)
    all_done = tuple(len(r) for r in release)
    done = tuple(done)
    if any(a + deadline[i] <= t for i, r in enumerate(release) for a in r[done[i] :]):
        return None
    seen = {(t, done)}
    stack = [(t, done, None)]  # the last field is the path so far: (frame, earlier path)
    while stack:
        t, done, path = stack.pop()
        if done == all_done:
            frames = []
            while path:
                frames.append(path[0])
                path = path[1]
            return frames[::-1]
        for end, mask, after in _moves(
            release, next_arrival, deadline, completion, idling, t, done, needs
        ):
            if (end, after) not in seen:
                seen.add((end, after))
                stack.append((end, after, ((t, end, mask), path) if mask else path))
    return None


def search(period, deadline, completion, offset=None, idling=False, needs=None):
    """A schedule [(start, end, mask), ...] of all jobs of [0, H) without a miss, or None."""
    n = len(period)
    release, next_arrival = _setup(period, offset)
    start = 0 if any(0 in r for r in release) else next_arrival(0)
    if start is None:
        return []
    return _explore(period, deadline, completion, offset, idling, start, (0,) * n, needs)


def feasible_from(period, deadline, completion, t, executed, offset=None, idling=False):
    """Can every job that is not yet executed still be in time when a boundary is at time t?

    executed[i] is how many jobs of task i are executed.  A boundary with nothing ready jumps to
    the next arrival.  A job that is not executed with a deadline at or before t is a miss.
    """
    return _explore(period, deadline, completion, offset, idling, t, executed) is not None


def goes_on(period, deadline, completion, offset=None, idling=False, needs=None):
    """Whether some sequence of frames meets the deadlines of all jobs, not only those of [0, H).

    Late enough that jobs which can still be in time were released after the last offset, states
    that differ by hyperperiods are the same.  Those without a move to one that is left are taken
    away until none is left to take.
    """
    n, horizon = len(period), lcm(*period)
    offset = [0] * n if offset is None else list(offset)
    steady = max(offset) + (max(deadline) // horizon + 2) * horizon
    far = steady + 2 * horizon + max(deadline) + max(completion)
    release = [list(range(o, far, p)) for p, o in zip(period, offset, strict=True)]
    instants = sorted({a for r in release for a in r})
    first = 0 if 0 in instants else instants[0]
    after, stack = {}, [(first, (0,) * n)]
    while stack:
        t, done = state = stack.pop()
        if state in after:
            continue
        after[state] = set()
        later = instants[bisect_right(instants, t)]
        for end, _, executed in _moves(
            release, lambda _, later=later: later, deadline, completion, idling, t, done, needs
        ):
            while end >= steady + horizon:
                end -= horizon
                executed = tuple(k - horizon // p for k, p in zip(executed, period, strict=True))
            after[state].add((end, executed))
            stack.append((end, executed))
    start = (first, (0,) * n)
    while lost := [state for state, to in after.items() if not to & after.keys()]:
        for state in lost:
            del after[state]
    return start in after


def replay(schedule, period, deadline, completion, offset=None, idling=False, needs=None):
    """Violations of a schedule, one sentence each; an empty list means that it is right.

    Shares nothing with the search.  With idling=True any start after the previous end is allowed.
    """
    n = len(period)
    offset = [0] * n if offset is None else list(offset)
    horizon = lcm(*period)
    jobs = [(i, k, a) for i in range(n) for k, a in enumerate(range(offset[i], horizon, period[i]))]
    finish = {}
    wrong = []
    now = 0
    for f, (start, end, mask) in enumerate(schedule):
        waiting = [a for i, k, a in jobs if (i, k) not in finish]
        started = []
        if start < now:
            wrong.append(f"frame {f} starts at {start} before the previous one ends at {now}")
        elif not idling and waiting and start != max(now, min(waiting)):
            wrong.append(f"frame {f} starts at {start}, work was ready at {max(now, min(waiting))}")
        if not 0 < mask < 1 << n or completion[mask] == 0:
            wrong.append(f"frame {f}: batch {mask} is not eligible")
        elif end != start + completion[mask]:
            wrong.append(f"frame {f} ends at {end} instead of {start + completion[mask]}")
        for i in range(n):
            if mask >> i & 1:
                ready = [k for j, k, a in jobs if j == i and a <= start and (i, k) not in finish]
                if ready:
                    before = [p for p in range(n) if needs and needs[i] >> p & 1]
                    if any(finish.get((p, min(ready)), end) > start for p in before):
                        wrong.append(f"frame {f}: task {i} job {min(ready)} has to wait")
                    started.append(((i, min(ready)), end))
                else:
                    wrong.append(f"frame {f}: task {i} has no pending job at {start}")
        finish.update(started)
        now = end
    for i, k, a in jobs:
        if (i, k) not in finish:
            wrong.append(f"task {i} job {k} is never executed")
        elif finish[i, k] > a + deadline[i]:
            wrong.append(
                f"task {i} job {k} ends at {finish[i, k]} after its deadline {a + deadline[i]}"
            )
    return wrong
