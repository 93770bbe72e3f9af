"""Simulation of kernels on m threads with FIFO order of blocks.

Source: [ECRTS17] Yang & Anderson, "Response-Time Bounds for Concurrent GPU Scheduling",
rules R1, R2 and P1.  The four readings of "FIFO":

hardware  a job queues when it becomes the head of its stream, and keeps the place it got then;
release   the jobs at the heads of their streams queue in order of release: one that gets there
          late, but was released early, goes before those that already wait, even before one some
          of whose blocks have started;
strict    all jobs queue in order of release; one at the queue's head that is not yet the head of
          its stream blocks all others;
overlap   all jobs queue in order of release, and jobs of one task may run at the same time.

A time is any exact number (int or Fraction).  No cleverness: one list of jobs, one list of blocks,
and at each instant (1) blocks end, (2) jobs are released, (3) blocks start.
"""

from collections import Counter

ORDERS = ("hardware", "release", "strict", "overlap")


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
):
    """All jobs released before `until`, run to their end.

    `releases`: a list of release times per task, instead of offset, offset + period, ...
    `actual(task, job, block)`: what a block takes, above 0 and at most block_time; blocks are
    counted in order of start.
    `stream`: the stream of each task, one of its own unless given.  The jobs of a stream run one
    after the other, in order of release; ties: smaller priority, smaller task index.

    Returns {"jobs": [(task, job, release, start, dispatched, finish)] in order of release, same
    ties, dispatched being the start of the last block; "waves": [(task, job, blocks, start, end)]
    in order of start, of equal starts in the order in which the blocks got their threads, all
    blocks of a job with the same start and the same end being one wave}.
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
    assert all(0 < b <= m for b in threads) and all(g > 0 for g in blocks)

    future = [
        Job(i, j, r, stream[i], priority[i])
        for i in range(n)
        for j, r in enumerate(sorted(releases[i]))
        if r < until
    ]
    future.sort(key=lambda job: job.turn)
    jobs = []  # released, in order of release
    pending = []  # those of them that have not ended
    running = []  # the blocks that run, as (end, threads)
    log = []  # all blocks in the order in which they got their threads, as (job, start, end)
    free = m
    while future or running:
        now = min([job.release for job in future[:1]] + [end for end, _ in running])

        free += sum(b for end, b in running if end == now)
        running = [(end, b) for end, b in running if end != now]
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
            while len(job.blocks) < blocks[i] and threads[i] <= free:
                took = block_time[i]
                if actual is not None:
                    took = actual(i, job.number, len(job.blocks))
                    assert 0 < took <= block_time[i]
                job.blocks.append((now, now + took))
                log.append((job, now, now + took))
                running.append((now + took, threads[i]))
                free -= threads[i]
            if len(job.blocks) < blocks[i]:
                break
        assert free == m - sum(b for _, b in running) >= 0

    return {"jobs": [row(job) for job in jobs], "waves": waves(log)}


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
    return [(job.task, job.number, count[job, s, e], s, e) for job, s, e in count]


def responses(result, tasks):
    """Per task its jobs' response times (finish - release), in order of release."""
    found = [[] for _ in range(tasks)]
    for task, _, release, _, _, finish in result["jobs"]:
        found[task].append(finish - release)
    return found
