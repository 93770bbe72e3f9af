"""Simulation of kernel chains in streams of different priorities.

The tasks are those of priority_streams.py.  At one instant (1) blocks end, and with the last of
them kernels and jobs, (2) jobs are released, (3) kernels join the queue of their level, (4) blocks
start: those of the kernel at the head of the most urgent queue that is not empty, as many as fit,
then, once it has none left, those of the next one.  A job's first kernel joins some latency after
the release and the end of the job before it, the others some latency after the end of the kernel
before them.  Kernels that join one queue at one instant do so in order of `rank`.
"""

from heapq import heappop, heappush
from typing import NamedTuple

TRIGGERS = ("join", "dispatch", "tail", "end")


class Kernel(NamedTuple):
    """A kernel that has ended: when it joined, started its last block, and ended."""

    task: int
    job: int
    kernel: int
    join: int
    dispatched: int
    end: int


class Run(NamedTuple):
    jobs: list  # (task, job, release, end) in order of their ends
    kernels: list

    def worst(self, n):
        """The largest response of each task, 0 without one."""
        found = [0] * n
        for i, _, release, end in self.jobs:
            found[i] = max(found[i], end - release)
        return found


class Stream:
    def __init__(self):
        self.released = 0  # jobs
        self.pending = []  # their releases, the running job's first
        self.done = 0  # jobs
        self.kernel = -1  # that joins, waits or runs; -1: idle
        self.left = 0  # blocks of it that have not started
        self.running = 0  # blocks
        self.join = self.dispatched = None


def simulate(
    tasks,
    threads,
    releases,
    sms=1,
    actual=None,
    late=None,
    rank=None,
    victim=None,
    triggers=TRIGGERS,
    until=None,
):
    """All jobs to their end.

    `releases`: the times of each task; of a task with None its first one comes at a trigger.
    `actual(task, job, kernel, block)`: what a block takes, `late(task, job, kernel)`: a latency;
    both the largest ones unless given.
    `victim`: the task whose events release the tasks without releases, as far as their periods
    allow and before `until`: a kernel of it joins, starts its last block, has one tick left, ends.
    More urgent tasks are released one tick after a dispatch: those of that instant come before it.
    A block goes to the SM with room for the most blocks of its size, the first of equals.
    """
    n = len(tasks)
    rank = rank or list(range(n))
    streams = [Stream() for _ in tasks]
    free = [threads] * sms
    ends, due, joins, queue, ticks = [], [], [], [], []
    earliest = [0] * n
    run = Run([], [])
    for i, times in enumerate(releases):
        for time in times or ():
            heappush(due, (time, i))

    def trigger(now, task, moment):
        if task == victim and moment in triggers and now < until:
            for i in range(n):
                if releases[i] is None and earliest[i] <= now:
                    after = moment == "dispatch" and tasks[i].level < tasks[victim].level
                    earliest[i] = now + after + tasks[i].period
                    heappush(due, (now + after, i))

    def launch(now, i):
        s = streams[i]
        s.kernel += 1
        s.left = tasks[i].kernels[s.kernel][0]
        most = tasks[i].latency[s.kernel]
        wait = most if late is None else late(i, s.done, s.kernel)
        assert 0 <= wait <= most
        heappush(joins, (now + wait, rank[i], i))

    def kernel_ends(now, i):
        s = streams[i]
        run.kernels.append(Kernel(i, s.done, s.kernel, s.join, s.dispatched, now))
        trigger(now, i, "end")
        if s.kernel + 1 < len(tasks[i].kernels):
            launch(now, i)
            return
        run.jobs.append((i, s.done, s.pending.pop(0), now))
        s.done += 1
        s.kernel = -1
        if s.pending:
            launch(now, i)

    def start_blocks(now):
        while queue:
            i = queue[0][-1]
            s = streams[i]
            g, b, c = tasks[i].kernels[s.kernel]
            longest = 0
            while s.left:
                sm = max(range(sms), key=lambda x: free[x] // b)
                if free[sm] < b:
                    return
                took = c if actual is None else actual(i, s.done, s.kernel, g - s.left)
                assert 0 < took <= c
                longest = max(longest, took)
                s.left -= 1
                s.running += 1
                free[sm] -= b
                heappush(ends, (now + took, i, sm))
            queue.pop(0)
            s.dispatched = now
            trigger(now, i, "dispatch")
            if i == victim:
                heappush(ticks, (max(now, now + longest - 1), i))

    while ends or due or joins or ticks:
        now = min(events[0][0] for events in (ends, due, joins, ticks) if events)
        while ends and ends[0][0] == now:
            _, i, sm = heappop(ends)
            s = streams[i]
            free[sm] += tasks[i].kernels[s.kernel][1]
            s.running -= 1
            if s.running == s.left == 0:
                kernel_ends(now, i)
        while ticks and ticks[0][0] == now:
            trigger(now, heappop(ticks)[1], "tail")
        while (due and due[0][0] == now) or (joins and joins[0][0] == now):
            if due and due[0][0] == now:
                _, i = heappop(due)
                streams[i].pending.append(now)
                if streams[i].kernel < 0:
                    launch(now, i)
            else:
                _, _, i = heappop(joins)
                streams[i].join = now
                queue.append((tasks[i].level, now, rank[i], i))
                queue.sort()
                trigger(now, i, "join")
        start_blocks(now)
    return run
