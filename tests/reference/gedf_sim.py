"""Tick-by-tick simulation of global EDF on m CPUs with one GPU and a lock.

A task is (period, before, copy, kernel, after): CPU time, then under the lock CPU time and the GPU,
then CPU time.  A task with copy = kernel = 0 never asks for the lock.  Jobs of a task run one after
the other; deadlines are periods; a tie goes to the lower index.
"""

BEFORE, WAITING, COPY, KERNEL, AFTER, DONE = range(6)


class Job:
    def __init__(self, task, number, release, parts):
        self.task, self.number, self.release = task, number, release
        self.before, self.copy, self.kernel, self.after = parts[1:]
        self.priority = (release + parts[0], task)
        self.locks = self.copy + self.kernel > 0
        self.state, self.end, self.blocked = BEFORE, None, 0


class Lock:
    """FMLP: one FIFO queue.  OMLP: m places in it, before which the rest wait by priority."""

    def __init__(self, kind, m):
        self.room = m if kind == "omlp" else 10**9
        self.queue, self.rest = [], []

    def ask(self, job):
        (self.queue if len(self.queue) < self.room else self.rest).append(job)

    def leave(self):
        self.queue.pop(0)
        if self.rest:
            first = min(self.rest, key=lambda job: job.priority)
            self.rest.remove(first)
            self.queue.append(first)

    def holder(self):
        return self.queue[0] if self.queue else None

    def inherited(self):
        """The holder runs with the highest priority of all that wait."""
        return min(job.priority for job in self.queue + self.rest)


def simulate(tasks, m, releases, lock="fmlp"):
    """Jobs with ``end`` and ``blocked`` (ticks of suspension-oblivious priority-inversion
    blocking: it waits for the lock while fewer than m jobs of higher priority are pending)."""
    todo = [[Job(i, k, r, task) for k, r in enumerate(releases[i])] for i, task in enumerate(tasks)]
    jobs = [job for row in todo for job in row]
    gpu = Lock(lock, m)
    now = 0
    while any(todo):
        pending = [row[0] for row in todo if row and row[0].release <= now]
        step(pending, gpu)
        pending = [job for job in pending if job.state != DONE]
        for job in pending:
            higher = sum(other.priority < job.priority for other in pending)
            job.blocked += job.state == WAITING and higher < m
        holder = gpu.holder()

        def rank(job, holder=holder):
            return gpu.inherited() if job is holder else job.priority

        ready = [job for job in pending if job.state in (BEFORE, COPY, AFTER)]
        for job in sorted(ready, key=rank)[:m]:
            name = {BEFORE: "before", COPY: "copy", AFTER: "after"}[job.state]
            setattr(job, name, getattr(job, name) - 1)
        if holder is not None and holder.state == KERNEL:
            holder.kernel -= 1
        now += 1
        step(pending, gpu)
        for row in todo:
            while row and row[0].state == DONE:
                row[0].end = now
                row.pop(0)
    return jobs


def step(pending, gpu):
    """Apply all events of this instant: requests, lock transfers, ends of jobs."""
    moved = True
    while moved:
        moved = False
        for job in pending:
            old = job.state
            if job.state == BEFORE and job.before == 0:
                job.state = WAITING if job.locks else AFTER
                if job.locks:
                    gpu.ask(job)
            elif job.state == WAITING and gpu.holder() is job:
                job.state = COPY
            elif job.state == COPY and job.copy == 0:
                job.state = KERNEL
            elif job.state == KERNEL and job.kernel == 0:
                gpu.leave()
                job.state = AFTER
            elif job.state == AFTER and job.after == 0:
                job.state = DONE
            moved = moved or job.state != old
