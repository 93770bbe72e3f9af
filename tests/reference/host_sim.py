"""Simulation of tasks with CPU and GPU segments on shared cores and a GPU.

Partitioned fixed priorities, preemptive; the semantics that host_tests.py's tests assume:

stgm    one copy engine, FIFO over all cores; kernels wait for all earlier launched ones that
        share an SM and are not done.  mode suspend: a copy needs its core, at boosted priority,
        and the engine, from its start to its end; else the job is suspended.  mode busy: from the
        start of a GPU segment to its end the job keeps its core, whatever it waits for.
mpcp    one lock around a GPU segment, for the most urgent waiter; the holder is boosted.
        suspend: waiters suspend, and the holder during its kernel; busy: waiters suspend, the
        holder keeps its core; spin: waiters spin at their base priority, the holder keeps its core.
fmlp_plus   the same lock, first come first served; suspend or busy.
server  a server on one core, above everything there, runs the GPU segments, the most urgent first,
        suspended during kernels.  It computes for eps when it is woken, before it takes a request,
        and after each segment, before it takes the next request and, at once, tells the client.
        Clients are suspended until they are told.

A GPU segment begins when the job is scheduled on its core at its base priority, even if no CPU
segment lies before it.  A job begins when the previous job of its task is done.  A copy or a
kernel of length 0 is none, and so is a GPU segment without any.  A job whose last CPU segment has
length 0 is done with its last GPU segment.

At one instant: (1) operations end, in order of the tasks; (2) jobs are released; (3) each core
picks the job to run, which requests the GPU if no CPU time is left before its next GPU segment; (4)
what is free is granted; and again from (3) until nothing changes.  First come, first served:
requests (and launches) of one instant in order of priority.
"""

from __future__ import annotations


class Job:
    def __init__(self, task, number, release, cpu, gpu):
        self.task, self.number, self.release = task, number, release
        self.cpu, self.gpu = [cpu[0]], []  # lengths; (copy in, kernel, copy out)
        for segment, after in zip(gpu, cpu[1:], strict=True):
            if sum(segment) == 0:  # none: the CPU segments around it are one
                self.cpu[-1] += after
            else:
                self.gpu.append(segment)
                self.cpu.append(after)
        self.segment = 0  # GPU segments done
        self.state = "ready"  # or: engine, in, launched, kernel, out, lock, served, done
        self.left = self.cpu[0]
        self.start = self.end = None


def worst(task, k):
    """The longest lengths of a job of a host_tests.Task whose kernels have k SMs."""
    return task.cpu, [(a, e, b) for (a, _, b), e in zip(task.gpu, task.e(k), strict=True)]


class Simulation:
    """eager: a job requests without being scheduled if no CPU time lies before its next GPU
    segment (not what the tests assume); grants: free resources are granted before the cores pick;
    waits: copies and kernels of length 0 wait like any other; back: requests of one instant in
    reverse order; victim: the task whose requests are the last of their instant."""

    def __init__(
        self,
        tasks,
        cpus,
        protocol="stgm",
        mode="suspend",
        server=None,
        eps=0,
        eager=False,
        grants=False,
        waits=False,
        back=False,
        victim=None,
    ):
        assert protocol in ("stgm", "mpcp", "fmlp_plus", "gpu_server")
        assert mode in ("suspend", "busy") or (mode == "spin" and protocol == "mpcp")
        self.tasks, self.protocol, self.mode, self.eps = tasks, protocol, mode, eps
        self.cores = list(range(cpus if server is None else max(cpus, server + 1)))
        self.back, self.victim = back, victim
        self.server_core = server
        self.eager, self.grants, self.waits = eager, grants, waits
        self.holds_core = protocol != "gpu_server" and mode != "suspend"
        self.pending = [[] for _ in tasks]  # released, not done; the first is the task's current
        self.engine, self.engine_queue = None, []
        self.launched = []  # kernels launched and not done, in that order
        self.lock, self.lock_queue = None, []
        self.serving, self.server_queue = None, []
        self.server_state, self.server_left = "idle", 0
        self.done = []
        self.log = []  # (what, core, (task, job), from, to)
        self.ends = {}
        self.now = 0

    # ---------------------------------------------------------------- assignment of cores

    def boosted(self, job):
        if self.holds_core:
            return job.state in ("engine", "in", "launched", "kernel", "out")
        return job.state in ("in", "out") and self.protocol != "gpu_server"

    def wants_core(self, job):
        spins = self.mode == "spin" and job.state == "lock"
        return job.state == "ready" or spins or self.boosted(job)

    def pick(self, core):
        """The job that has the core, "server", or None."""
        working = self.server_state not in ("idle", "kernel")
        if core == self.server_core and working:
            return "server"
        here = [q[0] for i, q in enumerate(self.pending) if q and self.tasks[i].core == core]
        here = [job for job in here if self.wants_core(job)]
        first = [job for job in here if self.boosted(job)]
        assert len(first) <= 1
        if first:
            return first[0]
        return min(here, key=lambda job: self.tasks[job.task].prio, default=None)

    # ---------------------------------------------------------------- the steps of a job

    def request(self, job):
        """A GPU segment begins."""
        if self.protocol == "stgm":
            self.copy(job, "in")
        elif self.protocol == "gpu_server":
            job.state = "served"
            self.server_queue.append(job)
        else:
            job.state, job.turn = "lock", self.turn(job)
            self.lock_queue.append(job)

    def turn(self, job):
        """Key of the order of requests."""
        prio = self.tasks[job.task].prio
        return self.now, job.task == self.victim, -prio if self.back else prio

    def copy(self, job, which):
        length = job.gpu[job.segment][0 if which == "in" else 2]
        if length == 0 and not self.waits:
            self.copied(job, which)
        elif self.protocol == "stgm":
            job.state, job.left = "engine", length
            job.which, job.turn = which, self.turn(job)
            self.engine_queue.append(job)
        else:
            job.state, job.left = which, length

    def copied(self, job, which):
        if which == "out":
            self.segment_done(job)
            return
        length = job.gpu[job.segment][1]
        if length == 0 and not self.waits:
            self.copy(job, "out")
        else:
            job.state, job.left = "launched", length
            job.turn = self.turn(job)
            self.launched.append(job)
            # A kernel that runs was launched before, or does not share an SM with this one.
            self.launched.sort(key=lambda job: (job.state == "launched", job.turn))

    def segment_done(self, job):
        if self.lock is job:
            self.lock = None
        job.segment += 1
        job.state, job.left = "ready", job.cpu[job.segment]
        if job.left == 0 and job.segment == len(job.gpu):
            self.finish(job)

    def finish(self, job):
        job.state, job.end = "done", self.now
        assert self.pending[job.task].pop(0) is job
        self.done.append(job)

    def conflict(self, a, b):
        if self.protocol != "stgm":
            return True
        return bool(self.tasks[a.task].sms & self.tasks[b.task].sms)

    # ---------------------------------------------------------------- one instant

    def end_operations(self):
        self.end_server()
        for queue in list(self.pending):
            if not queue:
                continue
            job = queue[0]
            if job.left > 0:
                continue
            if job.state == "ready" and job.segment == len(job.gpu):
                self.finish(job)
            elif job.state in ("in", "out"):
                if self.engine is job:
                    self.engine = None
                self.copied(job, job.state)
            elif job.state == "kernel":
                self.launched.remove(job)
                self.copy(job, "out")

    def end_server(self):
        """The server goes on to its next operation; those of length 0 are none."""
        job = self.serving
        while self.server_left == 0 and self.server_state not in ("idle", "free"):
            if self.server_state == "in":
                self.server_state, self.server_left = "kernel", job.gpu[job.segment][1]
            elif self.server_state == "kernel":
                self.server_state, self.server_left = "out", job.gpu[job.segment][2]
            elif self.server_state == "out":
                self.server_state, self.server_left = "tell", self.eps
            else:  # the end of wake or tell
                self.server_state = "free"

    def grant_server(self):
        """The server takes the most urgent request, or wakes up for one."""
        if self.server_state == "idle" and self.server_queue:
            self.server_state, self.server_left = "wake", self.eps
            self.end_server()
        if self.server_state == "free":
            told, self.serving = self.serving, None
            self.server_state = "idle"
            if self.server_queue:
                job = min(self.server_queue, key=lambda job: self.tasks[job.task].prio)
                self.server_queue.remove(job)
                self.serving = job
                self.server_state, self.server_left = "in", job.gpu[job.segment][0]
                self.end_server()
            if told is not None:
                self.segment_done(told)  # what it may ask for next comes too late

    def requests(self):
        """At most one GPU segment begins on each core: who asks may be served before the next."""
        changed = False
        for core in self.cores:
            candidates = [self.pick(core)]
            if self.eager:
                candidates = [q[0] for i, q in enumerate(self.pending) if q]
                candidates = [j for j in candidates if self.tasks[j.task].core == core]
            for job in candidates:
                if not isinstance(job, Job) or job.state != "ready" or job.left > 0:
                    continue
                if job.segment < len(job.gpu):
                    self.request(job)
                    changed = True
        return changed

    def grant(self):
        changed = False
        if self.engine is None and self.engine_queue:
            job = self.engine = min(self.engine_queue, key=lambda job: job.turn)
            self.engine_queue.remove(job)
            job.state = job.which
            changed = True
        if self.lock is None and self.lock_queue:
            prio = self.protocol == "mpcp"
            job = min(
                self.lock_queue,
                key=lambda job: self.tasks[job.task].prio if prio else job.turn,
            )
            self.lock_queue.remove(job)
            self.lock = job
            self.copy(job, "in")
            changed = True
        for k, job in enumerate(self.launched):
            if job.state == "launched" and not any(
                self.conflict(job, earlier) for earlier in self.launched[:k]
            ):
                job.state = "kernel"
                changed = True
        return changed

    def settle(self):
        """Apply all events of this instant after the releases."""
        before = None
        while before != self.state():
            before = self.state()
            if self.grants:
                self.grant()
            self.requests()
            while self.grant():
                pass
            self.grant_server()
            self.end_operations()

    def state(self):
        """Enough to see whether anything has changed."""
        jobs = [(q[0].number, q[0].state, q[0].segment) for q in self.pending if q]
        return jobs, self.server_state, self.serving

    def run(self, releases, execution=None):
        """`releases`: sorted times per task; `execution(task, number)`: (cpu, gpu) lengths of a
        job.  Returns the jobs, done, in order of (task, number)."""
        future = []
        for i, times in enumerate(releases):
            for number, r in enumerate(times):
                cpu, gpu = execution(i, number)
                job = Job(i, number, r, cpu, gpu)
                future.append(job)
        future.sort(key=lambda job: (job.release, job.task))
        if not future:
            return []
        self.now = future[0].release
        while future or any(self.pending):
            self.end_operations()
            while future and future[0].release == self.now:
                job = future.pop(0)
                self.pending[job.task].append(job)
            self.settle()
            running = []  # (left, advance)
            for core in sorted(self.cores):
                job = self.pick(core)
                if job == "server":
                    running.append((self.server_left, "server", core))
                elif job is not None and job.state in ("ready", "in", "out"):
                    running.append((job.left, job, core))
                elif job is not None:
                    running.append((None, job, core))  # waits, but keeps the core
            for queue in self.pending:
                if queue and queue[0].state == "kernel":
                    running.append((queue[0].left, queue[0], None))
            if self.server_state == "kernel":
                running.append((self.server_left, "server", None))
            steps = [left for left, _, _ in running if left is not None]
            if future:
                steps.append(future[0].release - self.now)
            assert steps or not any(self.pending), "nothing runs"
            if not steps:
                break
            step = min(steps)
            assert step > 0
            for left, job, core in running:
                self.note(job, core, step)
                if job == "server":
                    self.server_left -= step
                    job = self.serving
                elif left is not None:
                    job.left -= step
                if job is not None and job.start is None:
                    job.start = self.now  # something is done for it, if only to spin
            self.now += step
        return sorted(self.done, key=lambda job: (job.task, job.number))

    def note(self, job, core, step):
        """Record the activities of the next `step` ticks, merged with equal previous ones."""
        what, who = (self.server_state, self.serving) if job == "server" else (job.state, job)
        key = (what, core, None if who is None else (who.task, who.number))
        last = self.ends.get(key)
        if last is not None and self.log[last][4] == self.now:
            self.log[last] = (*self.log[last][:4], self.now + step)
        else:
            self.ends[key] = len(self.log)
            self.log.append((*key, self.now, self.now + step))


def simulate(tasks, cpus, releases, execution=None, sms=None, **options):
    """The jobs of a Simulation; all as long as can be unless `execution` says otherwise."""
    k = [len(t.sms) if options.get("protocol", "stgm") == "stgm" else sms or 10**9 for t in tasks]
    full = [worst(t, count) for t, count in zip(tasks, k, strict=True)]
    return Simulation(tasks, cpus, **options).run(
        releases, execution or (lambda i, number: full[i])
    )


def responses(tasks, cpus, releases, execution=None, **options):
    """The longest response of each task, None for one without jobs."""
    longest = [None] * len(tasks)
    for job in simulate(tasks, cpus, releases, execution, **options):
        longest[job.task] = max(longest[job.task] or 0, job.end - job.release)
    return longest
