"""Simulation of kernels on m threads, or on SMs, with FIFO order of blocks.

Source: [ECRTS17] Yang & Anderson, "Response-Time Bounds for Concurrent GPU Scheduling",
rules R1, R2 and P1.  The four readings of "FIFO":

hardware  a job queues when it becomes the head of its stream, and keeps the place it got then;
release   the jobs at the heads of their streams queue in order of release: one that gets there
          late, but was released early, goes before those that already wait, even before one some
          of whose blocks have started;
strict    all jobs queue in order of release; one at the queue's head that is not yet the head of
          its stream blocks all others;
overlap   all jobs queue in order of release, and jobs of one task may run at the same time.

On SMs a block needs room on one of them: warps, a slot, registers and shared memory; which one it
goes to is a rule of `place`.

A time is any exact number (int or Fraction).  No cleverness: one list of jobs, one list of blocks,
and at each instant (1) blocks end, (2) jobs are released, (3) blocks start.
"""

from collections import Counter

from reference import place

ORDERS = ("hardware", "release", "strict", "overlap")


class Pool:
    """m threads, any of which a block may use."""

    def __init__(self, m, threads):
        self.free, self.threads = m, threads

    def start(self, job):
        """Give a block of the job its threads: -1, or None where there is no room."""
        if self.threads[job.task] > self.free:
            return None
        self.free -= self.threads[job.task]
        return -1

    def end(self, task, sm):
        self.free += self.threads[task]


class SMs:
    """SMs of `limits`, see `place`; `takes`: of each task (warps, registers, memory) of a block and
    the registers of an SM that its blocks can use; `rule`, `wanted`: see `place.place`."""

    def __init__(self, limits, order, policy, takes, rule="ignore", wanted=None):
        self.limits, self.order, self.policy, self.takes = limits, list(order), policy, takes
        self.rule, self.wanted, self.present = rule, wanted, [None] * len(self.order)
        self.used = [[0] * 4 for _ in self.order]
        self.history = [[] for _ in self.order]
        self.kernels, self.last, self.pointer = 0, None, 0

    def start(self, job):
        warps, regs, smem, usable = self.takes[job.task]
        limits = (self.limits[0], self.limits[1], usable, self.limits[3])
        room = {s: place.room(limits, self.used[s], (1, warps, regs, smem)) for s in self.order}
        fits = [s for s in self.order if room[s] > 0 and self.accepts(s, job.task)]
        room = {s: room[s] for s in fits}
        if not fits:
            return None
        if self.last is not job:
            self.last = job
            self.kernels += 1
        held = [used[0] for used in self.used]
        if self.policy == "most_room":
            sm = max(fits, key=room.get)  # the first of equals
        elif self.policy == "round_robin":
            cycle = self.order[self.pointer :] + self.order[: self.pointer]
            sm = next(s for s in cycle if s in fits)
            self.pointer = (self.order.index(sm) + 1) % len(self.order)
        else:
            sm = place._olmedo(limits[0], held, self.history, self.kernels, warps, fits)
        self.history[sm].append((self.kernels, warps, held[sm]))
        if self.wanted and self.present[sm] is None:
            self.present[sm] = self.wanted[job.task]
        self.add(sm, job.task, 1)
        return sm

    def accepts(self, sm, task):
        if not self.wanted:
            return True
        return place.accepts(self.rule, self.present[sm], self.wanted[task])

    def end(self, task, sm):
        self.add(sm, task, -1)

    def add(self, sm, task, sign):
        warps, regs, smem, _ = self.takes[task]
        for r, amount in enumerate((warps, 1, regs, smem)):
            self.used[sm][r] += sign * amount
        if self.used[sm][1] == 0:
            self.present[sm] = None


class Job:
    def __init__(self, task, number, release, stream, priority):
        self.task, self.number, self.release, self.stream = task, number, release, stream
        self.joined = None  # when it became the head of its stream
        self.blocks = []  # (start, end) of each block, in order of start
        self.turn = (release, priority, task, number)  # the order of release, ties settled


def simulate(
    period,
    block_time,
    blocks,
    threads,
    m,
    order,
    until,
    offset=None,
    priority=None,
    stream=None,
    actual=None,
    releases=None,
    sms=None,
):
    """All jobs released before `until`, run to their end.

    `releases`: a list of release times per task, instead of offset, offset + period, ...
    `actual(task, job, block)`: what a block takes, above 0 and at most block_time; blocks are
    counted in order of start.
    `sms`: an `SMs`; m does not count then.
    `stream`: the stream of each task, one of its own unless given.  The jobs of a stream run one
    after the other, in order of release; ties: smaller priority, smaller task index.

    Returns {"jobs": [(task, job, release, start, dispatched, finish)] in order of release, same
    ties, dispatched being the start of the last block; "waves": [(task, job, blocks, start, end)]
    in order of start, of equal starts in the order in which the blocks got their threads, all
    blocks of a job with the same start and the same end being one wave; on SMs only those on one
    of them, which stands behind the end}.
    """
    n = len(period)
    if order not in ORDERS:
        raise ValueError(order)
    if order == "overlap" and stream is not None:
        raise ValueError("overlapping jobs have no streams")
    offset = [0] * n if offset is None else offset
    priority = [0] * n if priority is None else priority
    stream = range(n) if stream is None else stream
    if releases is None:
        releases = []
        for i in range(n):
            releases.append([])
            while offset[i] + len(releases[i]) * period[i] < until:
                releases[i].append(offset[i] + len(releases[i]) * period[i])
    assert sms or all(0 < b <= m for b in threads)
    assert all(g > 0 for g in blocks)

    future = [
        Job(i, j, r, stream[i], priority[i])
        for i in range(n)
        for j, r in enumerate(sorted(releases[i]))
        if r < until
    ]
    future.sort(key=lambda job: job.turn)
    jobs = []  # released, in order of release
    pending = []  # those of them that have not ended
    running = []  # the blocks that run, as (end, task, SM)
    log = []  # all blocks in the order in which they got their threads, as (job, start, end, SM)
    room = sms or Pool(m, threads)
    while future or running:
        now = min([job.release for job in future[:1]] + [block[0] for block in running])

        for _, task, sm in [block for block in running if block[0] == now]:
            room.end(task, sm)
        running = [block for block in running if block[0] != now]
        pending = [job for job in pending if not has_ended(job, blocks, now)]
        while future and future[0].release == now:
            jobs.append(future[0])
            pending.append(future.pop(0))

        heads = stream_heads(pending)
        for job in heads:
            if job.joined is None:
                job.joined = now

        def place(job):
            if order == "hardware":
                return (job.joined, priority[job.task], job.task)
            return job.turn

        queue = pending if order in ("strict", "overlap") else heads
        queue = [job for job in queue if len(job.blocks) < blocks[job.task]]
        for job in sorted(queue, key=place):
            i = job.task
            if order == "strict" and job not in heads:
                break
            while len(job.blocks) < blocks[i] and (sm := room.start(job)) is not None:
                took = block_time[i]
                if actual is not None:
                    took = actual(i, job.number, len(job.blocks))
                    assert 0 < took <= block_time[i]
                job.blocks.append((now, now + took))
                log.append((job, now, now + took, sm))
                running.append((now + took, i, sm))
            if len(job.blocks) < blocks[i]:
                break
        assert sms or room.free == m - sum(threads[i] for _, i, _ in running) >= 0

    found = waves(log)
    return {"jobs": [row(job) for job in jobs], "waves": found if sms else [w[:5] for w in found]}


def has_ended(job, blocks, now):
    return len(job.blocks) == blocks[job.task] and max(end for _, end in job.blocks) <= now


def stream_heads(pending):
    """Of each stream the first pending job in order of release."""
    heads = {}
    for job in pending:
        heads.setdefault(job.stream, job)
    return list(heads.values())


def row(job):
    start, dispatched = job.blocks[0][0], job.blocks[-1][0]
    return (job.task, job.number, job.release, start, dispatched, max(e for _, e in job.blocks))


def waves(log):
    count = Counter(log)  # in the order in which each wave is met first
    return [(job.task, job.number, count[job, s, e, sm], s, e, sm) for job, s, e, sm in count]


def responses(result, tasks):
    """Per task its jobs' response times (finish - release), in order of release."""
    found = [[] for _ in range(tasks)]
    for task, _, release, _, _, finish in result["jobs"]:
        found[task].append(finish - release)
    return found
