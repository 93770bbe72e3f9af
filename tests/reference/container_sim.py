"""Tick-by-tick simulation of the Container Method ([RTNS10], section 4.2).

Tasks are (period, deadline, priority, cpu, gpu): lengths of CPU segments, and (copy in, kernel,
copy out) between them. Tasks with a GPU segment are in the container. On m CPUs the jobs of the
other tasks and those of the container's server run by deadline (ties: priority of the task, of the
one that is served; then index).

The server has jobs with a budget of w P rounded up, P at most, and a deadline P after their
release. The next one is released P after the last, but not while the container is empty; when the
container gets empty the budget is lost. busy: the server serves the job released first, to its
end, and keeps its CPU during kernels. Otherwise it serves, of the jobs that do not wait, the one
released first; if all do, it uses up its budget with no CPU. The GPU is for the job released first,
of all released that have a GPU segment to come.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil


class Job:
    def __init__(self, task, number, release, cpu, gpu):
        self.task, self.number, self.release = task, number, release
        self.parts = [["cpu", cpu[0]]]
        for (copy_in, kernel, copy_out), after in zip(gpu, cpu[1:], strict=True):
            if copy_in + kernel + copy_out > 0:
                self.parts += [["in", copy_in], ["kernel", kernel], ["out", copy_out]]
                self.parts.append(["cpu", after])
            else:
                self.parts[-1][1] += after
        self.waits = False  # for the GPU
        self.end = None

    @property
    def what(self):
        return self.parts[0][0]

    @property
    def left(self):
        return self.parts[0][1]

    @property
    def on_gpu(self):
        """Has a GPU segment in hand or to come."""
        return len(self.parts) > 1

    def skip(self):
        """Parts that are over or of no length; a GPU segment begins elsewhere."""
        while self.what in ("in", "kernel", "out") and self.left == 0 and not self.waits:
            self.parts.pop(0)

    @property
    def done(self):
        return not self.on_gpu and self.left == 0


class Container:
    def __init__(self, tasks, m, period, busy):
        self.tasks, self.m, self.period, self.busy = tasks, m, period, busy
        self.inside = [len(gpu) > 0 for *_, gpu in tasks]
        w = sum(
            (Fraction(sum(cpu) + sum(map(sum, gpu)), p) for p, _, _, cpu, gpu in tasks if gpu),
            Fraction(0),
        )
        self.full = min(ceil(w * period), period)
        self.budget = self.deadline = self.again = 0
        self.was_empty = True
        self.holder = None

    def rank(self, job):
        return self.tasks[job.task][2], job.task

    def fifo(self, job):
        return (job.release, *self.rank(job))

    def served(self, here):
        """Whom the server serves, of the present jobs in the container."""
        if self.budget == 0:
            return None
        for job in sorted(here, key=self.fifo):
            if not job.waits and (self.busy or job.what != "kernel"):
                return job
            if self.busy:
                return None
        return None

    def running(self, current, here):
        """The jobs that have a CPU."""
        order = [
            (job.release + self.tasks[job.task][1], *self.rank(job), job)
            for job in current
            if not self.inside[job.task]
        ]
        served = self.served(here)
        if served is not None:
            order.append((self.deadline, *self.rank(served), served))
        return [job for *_, job in sorted(order, key=lambda row: row[:3])[: self.m]]

    def settle(self, now, pending):
        """Apply all events of this instant; returns the running jobs."""
        while True:
            for queue in pending:
                while queue and queue[0].done:
                    queue.pop(0).end = now
            current = [queue[0] for queue in pending if queue]
            here = [job for job in current if self.inside[job.task]]
            if not here:
                self.budget, self.was_empty = 0, True
                return self.running(current, here)
            if self.was_empty:
                self.again, self.was_empty = max(self.again, now), False
            if self.budget == 0 and self.again <= now:
                self.deadline = self.again = self.again + self.period
                self.budget = self.full
            if self.holder is None:
                everyone = [job for i, q in enumerate(pending) if self.inside[i] for job in q]
                ahead = min((j for j in everyone if j.on_gpu), key=self.fifo, default=None)
                if ahead is not None and ahead.waits:
                    self.holder, ahead.waits = ahead, False
                    self.skip(ahead)
                    continue
            running = self.running(current, here)
            begin = [job for job in running if job.what == "cpu" and job.left == 0]
            if not begin:
                return running
            for job in begin:
                job.parts.pop(0)
                job.waits = True

    def skip(self, job):
        job.skip()
        if job.what == "cpu" and job is self.holder:
            self.holder = None

    def run(self, releases):
        future = []
        for i, times in enumerate(releases):
            *_, cpu, gpu = self.tasks[i]
            future += [Job(i, k, at, cpu, gpu) for k, at in enumerate(times)]
        jobs = list(future)
        pending = [[] for _ in self.tasks]
        now = 0
        while future or any(pending):
            for job in [job for job in future if job.release == now]:
                future.remove(job)
                pending[job.task].append(job)
            running = self.settle(now, pending)
            current = [queue[0] for queue in pending if queue]
            here = [job for job in current if self.inside[job.task]]
            served = self.served(here)
            if served in running or (here and served is None and not self.busy and self.budget):
                self.budget -= 1
            for job in current:
                if job.what == "kernel" or (job in running and job.what != "kernel"):
                    job.parts[0][1] -= 1
            now += 1
            for queue in pending:
                if queue:
                    self.skip(queue[0])
                while queue and queue[0].done:
                    queue.pop(0).end = now
        return jobs
