"""Simulation of tasks that share the GPU by contexts, tick by tick.

Partitioned fixed priorities, preemptive; CPU segments and copies are CPU work at the task's own
priority.  busy: a job spins at its own priority, preemptible, while it waits for the GPU and during
its kernel; suspend: it leaves its core.

time_slices   A kernel is launched at the end of the CPU work before it; if there is none since the
    last kernel (or since the release), as soon as its task is the most urgent ready one of its
    core.  The GPU serves launched kernels in turn, each for at most a slice; before it serves
    another task than the last one it switches for theta.  fifo: after a slice a task goes to the
    end of the queue; cyclic: the next task, by priority, after the last one served.  A task alone
    at the end of its slice goes on.  Kernels launched at the end of a slice are in the queue when
    the next one is chosen, before the task whose slice ended.
gcaps   Before the copy in a job updates the list of open segments, and after the copy out again: it
    asks for a mutex (at the end of the CPU work before, or as above), which goes to the waiting
    task of the highest GPU priority, and runs for eps on its core, not preempted.  The segment is
    open between these updates.  Owner: the open task of the highest GPU priority.  A kernel
    proceeds while its task is the owner, but not during a first update of a task of higher GPU
    priority (stall: of any update).  With eps = 0 updates take no time and no mutex; then a
    segment without a copy out is closed at the end of its kernel.  Before the kernel of another
    task than the last one proceeds, the GPU switches for theta.  A switch is lost when the first
    update of a task of higher GPU priority begins; then the next one, to whichever task, is a whole
    one.  Other updates do not delay it.
gcaps, algorithm 1   The printed algorithm in place of the owner: a set of tasks that use the GPU
    and a set of those that wait for it; see `enter` and `exit`.

At one instant: (1) kernels, slices and switches end, then CPU work and updates, in order of the
tasks; (2) jobs are released; (3) each core picks the job to run, which asks for the GPU if it has
no CPU work before it; (4) what is free is granted; and again from (3) until nothing changes; (5)
the GPU goes to the next context.
"""

from __future__ import annotations

from reference.host_sim import Job, worst


class Contexts:
    def __init__(
        self,
        tasks,
        protocol,
        mode="suspend",
        slice=None,
        theta=0,
        ring="fifo",
        eps=0,
        stall=False,
        gpu_prio=None,
        printed=False,
    ):
        assert protocol in ("time_slices", "gcaps")
        assert mode in ("suspend", "busy") and ring in ("fifo", "cyclic")
        self.tasks, self.protocol, self.mode = tasks, protocol, mode
        self.slice, self.theta, self.ring = slice, theta, ring
        self.eps, self.stall, self.printed = eps, stall, printed
        self.level = [t.prio for t in tasks] if gpu_prio is None else gpu_prio
        self.cores = sorted({t.core for t in tasks})
        self.pending = [[] for _ in tasks]  # released, not done; the first is the current one
        self.done = []
        self.now = 0
        self.launched, self.queue = [], []  # kernels of this instant; the ring
        self.serves, self.last = None, None  # the job being served, the last task served
        self.switching = self.left = 0  # of the switch, of the slice
        self.holder, self.waiting = None, []  # of the mutex
        self.running, self.wait_list = [], []  # of the printed algorithm

    # ------------------------------------------------------------------------- cores

    def wants_core(self, job):
        return job.state in ("cpu", "in", "out", "update", "ready") or (
            self.mode == "busy" and job.state in ("mutex", "kernel")
        )

    def pick(self, core):
        here = [q[0] for i, q in enumerate(self.pending) if q and self.tasks[i].core == core]
        here = [job for job in here if self.wants_core(job)]
        for job in here:
            if job.state == "update":
                return job
        return min(here, key=lambda job: self.tasks[job.task].prio, default=None)

    # ------------------------------------------------------------------------- parts of a job

    def go(self, job, ran):
        """Goes on with the part `job.part`; ran: the job has executed up to now."""
        while True:
            kind, length = job.parts[job.part]
            if kind == "end":
                self.finish(job)
                return
            if kind in ("cpu", "in", "out") and length > 0:
                job.state, job.left = kind, length
                return
            if kind == "kernel" and length > 0 and (ran or self.protocol == "gcaps"):
                job.state, job.left = "kernel", length
                if self.protocol == "time_slices":
                    self.launched.append(job)
                return
            if kind == "kernel" and length > 0:
                job.state = "ready"  # and launches when it is picked
                return
            if kind in ("open", "close"):
                at_once = ran or (kind == "close" and self.eps == 0)
                if not at_once:
                    job.state = "ready"
                    return
                if self.eps > 0:
                    job.state = "mutex"
                    self.waiting.append(job)
                    return
                self.updated(job, kind)
                ran = False
            job.part += 1

    def updated(self, job, kind):
        """An update takes effect."""
        job.open = kind == "open"
        if self.printed:
            (self.enter if job.open else self.exit)(job)

    def next(self, job, ran):
        job.part += 1
        self.go(job, ran)

    def finish(self, job):
        job.state, job.end = "done", self.now
        assert self.pending[job.task].pop(0) is job
        self.done.append(job)
        if self.pending[job.task]:
            self.go(self.pending[job.task][0], False)

    # ------------------------------------------------------------------------- time slices

    def end_slice(self):
        job = self.serves
        if job is None or self.switching > 0:
            return
        if job.left == 0:
            self.serves = None
            self.next(job, False)

    def serve(self):
        """The next kernel, if the GPU is free or a slice has ended."""
        for job in self.launched:  # behind those of earlier instants, by priority
            job.turn = (self.now, self.tasks[job.task].prio)
            place = len(self.queue)
            while place > 0 and self.queue[place - 1].turn > job.turn:
                place -= 1
            self.queue.insert(place, job)
        self.launched = []
        if self.serves is not None and self.switching == 0 and self.left == 0:
            if self.queue:
                self.queue.append(self.serves)
                self.serves = None
            else:
                self.left = self.slice
        if self.serves is not None or not self.queue:
            return
        if self.ring == "cyclic" and self.last is not None:
            after = self.tasks[self.last].prio
            order = [self.tasks[job.task].prio for job in self.queue]
            ahead = [prio for prio in order if prio > after]
            job = self.queue[order.index(min(ahead or order))]
        elif self.ring == "cyclic":
            job = min(self.queue, key=lambda job: self.tasks[job.task].prio)
        else:
            job = self.queue[0]
        self.queue.remove(job)
        self.switching = 0 if self.last in (None, job.task) else self.theta
        self.serves, self.last, self.left = job, job.task, self.slice

    # ------------------------------------------------------------------------- GCAPS

    def owner(self):
        opened = [q[0] for q in self.pending if q and q[0].open]
        return min(opened, key=lambda job: self.level[job.task], default=None)

    def proceeding(self):
        """Jobs whose kernels proceed."""
        if self.protocol == "time_slices":
            on = self.serves is not None and self.switching == 0
            return [self.serves] if on else []
        jobs = self.running if self.printed else [self.owner()]
        jobs = [job for job in jobs if job and job.state == "kernel" and not self.paused(job)]
        return [] if self.switching > 0 or (self.stall and self.holder) else jobs

    def paused(self, job):
        if self.holder is None:
            return False
        urgent = self.level[self.holder.task] < self.level[job.task]
        return urgent and self.holder.parts[self.holder.part][0] == "open"

    def turn_to(self):
        """The context whose kernel the GPU goes to; a switch begins, or is lost."""
        job = self.owner()
        if job is not None and (job.state != "kernel" or self.paused(job)):
            job = None
        if self.switching > 0 and (job is None or job.task != self.last):
            self.switching, self.last = 0, "nowhere"
        if job is not None and self.last != job.task:
            self.switching = 0 if self.last is None else self.theta
            if self.switching > 0 or not (self.stall and self.holder):
                self.last = job.task

    def grant_mutex(self):
        if self.holder is not None or not self.waiting:
            return False
        job = min(self.waiting, key=lambda job: self.level[job.task])
        self.waiting.remove(job)
        self.holder, job.state, job.left = job, "update", self.eps
        return True

    # As printed: a segment that begins joins the running tasks, or the pending ones if a more
    # urgent one runs (which then become pending); one that ends takes the most urgent pending one
    # with it, whether or not it was running itself.

    def enter(self, job):
        if all(self.level[job.task] < self.level[other.task] for other in self.running):
            self.wait_list += self.running
            self.running = [job]
        else:
            self.wait_list.append(job)

    def exit(self, job):
        self.running = [other for other in self.running if other is not job]
        if self.wait_list:
            first = min(self.wait_list, key=lambda job: self.level[job.task])
            self.wait_list.remove(first)
            self.running.append(first)

    # ------------------------------------------------------------------------- one instant

    def end_parts(self):
        for job in self.proceeding():
            if self.protocol == "gcaps" and job.left == 0:
                self.next(job, False)
        self.end_slice()
        for queue in list(self.pending):
            job = queue[0] if queue else None
            if job is None or job.left > 0:
                continue
            if job.state == "update":
                self.holder = None
                self.updated(job, job.parts[job.part][0])
                self.next(job, False)
            elif job.state in ("cpu", "in", "out"):
                self.next(job, True)

    def begin(self):
        """At most one job of each core asks for the GPU."""
        changed = False
        for core in self.cores:
            job = self.pick(core)
            if job is not None and job.state == "ready":
                self.go(job, True)
                changed = True
        return changed

    def grant(self):
        return self.grant_mutex() if self.protocol == "gcaps" else False

    def run(self, releases, execution):
        future = sorted(
            (r, i, number) for i, times in enumerate(releases) for number, r in enumerate(times)
        )
        while future or any(self.pending):
            self.end_parts()
            while future and future[0][0] == self.now:
                release, i, number = future.pop(0)
                job = Job(i, number, release, *execution(i, number))
                job.parts, job.part, job.open, job.left = self.parts_of(job), 0, False, 0
                self.pending[i].append(job)
                if self.pending[i][0] is job:
                    self.go(job, False)
            while self.begin() | self.grant():
                pass
            if self.protocol == "time_slices":
                self.serve()
            elif not self.printed:
                self.turn_to()
            for core in self.cores:
                job = self.pick(core)
                if job is not None:
                    job.start = self.now if job.start is None else job.start
                    if job.state in ("cpu", "in", "out", "update"):
                        job.left -= 1
            for job in self.proceeding():
                job.start = self.now if job.start is None else job.start
                job.left -= 1
            if self.switching > 0:
                self.switching -= 1
            elif self.serves is not None:
                self.left -= 1
            self.now += 1
            assert self.now < 10**6, "nothing runs"
        return sorted(self.done, key=lambda job: (job.task, job.number))

    def parts_of(self, job):
        parts = [("cpu", job.cpu[0])]
        for (a, e, b), after in zip(job.gpu, job.cpu[1:], strict=True):
            segment = [("in", a), ("kernel", e), ("out", b)]
            if self.protocol == "gcaps":
                segment = [("open", 0), *segment, ("close", 0)]
            parts += [*segment, ("cpu", after)]
        return [*parts, ("end", 0)]


def simulate(tasks, releases, execution=None, sms=None, **options):
    """The jobs; all as long as can be unless `execution` says otherwise."""
    full = [worst(t, sms or 10**9) for t in tasks]
    return Contexts(tasks, **options).run(releases, execution or (lambda i, number: full[i]))


def responses(tasks, releases, execution=None, **options):
    """The longest response of each task, None for one without jobs."""
    longest = [None] * len(tasks)
    for job in simulate(tasks, releases, execution, **options):
        longest[job.task] = max(longest[job.task] or 0, job.end - job.release)
    return longest
