"""Response-time bounds of whole programs: shared CPUs, copies on engines, kernels on a shared GPU.

A job is a sequence of CPU work, copies and kernels, run by one thread, one job of a task at a time.
CPUs are scheduled by fixed priorities with preemption, engines serve copies in the order in which
they reach the heads of streams, and the GPU is shared in one of the ways of `WAYS`.  A *section* is
what is launched until the thread waits until all of it has ended: one operation (launches="sync"),
or all operations up to the next CPU work, at one instant (launches="graph") or one after the other
(launches="async").  While it waits, the thread is off its core (waiting="suspend") or keeps it
(waiting="spin").  Calls take CPU work, of which that of a section stands before the section here,
also where its operations are called one after the other.

Slow and plain: every term is written out, and the responses of all tasks are found together, from
below.  Times are integers, responses count from the arrival of a job, and a job is released up to
`jitter` later.  `inf` stands for the response of a task without a bound.

With `instances` the parts are GPU instances, which share CPUs and the engines from number 2 on
(DLAs) alone.

Names: q jobs of a run of task i (a time in which it always has a job), w the length of the window
that begins with the run, R the responses.  A *mate* of a task is another task of its channel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import ceil, floor, inf, lcm

# own_parts: every part has SMs, block queues and channels of its own; shared_parts: the parts share
# the block queues; channel_parts: they have block queues of their own, but share the channels.
# processes: parts have all SMs in turns, and each stream a channel.
STREAMS = ("streams", "limits", "own_parts", "shared_parts", "channel_parts", "processes")
WAYS = ("one_stream", *STREAMS, "time_slices", "gcaps", "edf_serial")
JOBS = 64  # a run with more jobs is given up


@dataclass(frozen=True)
class Cpu:
    time: int


@dataclass(frozen=True)
class Sync:
    """The thread waits until all that it has launched has ended."""


@dataclass(frozen=True)
class Copy:
    time: int
    engine: int = 0


@dataclass(frozen=True)
class Kernel:
    blocks: int
    threads: int  # of a block
    block_time: int

    @property
    def work(self) -> int:
        """Threads times time, of all blocks."""
        return self.blocks * self.threads * self.block_time


@dataclass(frozen=True)
class Task:
    """Smaller priorities and levels are more urgent; CPU priorities are unique on a core."""

    period: int
    deadline: int
    segments: tuple
    jitter: int = 0
    core: int = 0
    priority: int = 0
    level: int = 0
    channel: int = 0
    part: int = 0
    gpu_priority: int | None = None  # gcaps; None for all: by (priority, position)
    launches: str | None = None  # None: as all


@dataclass(frozen=True)
class Machine:
    """SMs of so many threads; `latency`: from a launch to its arrival in the stream; `slice` and
    `switch`: length and price of a slice; `parts`: SMs of each part; `limits`: most SMs of each
    client; `launch_cpu`, `graph_launch_cpu`: CPU work of a call, of a graph's call; `gap`: from the
    head of its stream to its queue, of a kernel; `wake`: from the end of a section to its thread,
    if that is off its core and goes on; gcaps: `update`: CPU time that opens or closes a section,
    `stall`: it always stops the GPU."""

    sms: int
    threads: int
    latency: int = 0
    slice: int = 0
    switch: int = 0
    parts: tuple = ()
    limits: tuple = ()
    launch_cpu: int = 0
    graph_launch_cpu: int = 0
    gap: int = 0
    wake: int = 0
    update: int = 0
    stall: bool = False


# Jobs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A job by sections: pieces[n] is the CPU work before section n; one more is the work last.

    `calls`: the part of each piece that calls its section; `loose`: at several instants.
    """

    pieces: tuple
    sections: tuple
    calls: tuple
    loose: bool

    @property
    def cpu(self) -> int:
        return sum(self.pieces)

    @property
    def operations(self) -> list:
        return [op for section in self.sections for op in section]

    @property
    def kernels(self) -> list:
        return kernels(self.operations)

    @property
    def grids(self) -> list[list]:
        """Kernels by sections."""
        return [kernels(section) for section in self.sections]


def split(segments: Iterable, launches: str, machine: Machine) -> Job:
    """Pieces and sections of a job; CPU work of no length separates nothing."""
    pieces, sections, work, waits = [], [], 0, False
    for segment in segments:
        if isinstance(segment, Sync):
            waits = True
            continue
        if isinstance(segment, Cpu):
            work += segment.time
            continue
        joins = launches != "sync" and sections and work == 0 and not waits
        waits = False
        if joins:
            sections[-1].append(segment)
        else:
            pieces.append(work)
            sections.append([segment])
            work = 0
    if work > 0:
        pieces.append(work)
    calls = [machine.graph_launch_cpu] * len(sections)
    if launches != "graph":
        calls = [machine.launch_cpu * len(section) for section in sections]
    for n, time in enumerate(calls):
        pieces[n] += time
    loose = launches == "async" and machine.launch_cpu > 0
    return Job(tuple(pieces), tuple(tuple(section) for section in sections), tuple(calls), loose)


def kernels(operations: Iterable) -> list:
    return [op for op in operations if isinstance(op, Kernel)]


def copies(operations: Iterable, engine: int | None = None) -> list[int]:
    """Times of the copies on an engine, on all of them by default."""
    found = [op for op in operations if isinstance(op, Copy)]
    return [op.time for op in found if engine is None or op.engine == engine]


def before_last_kernel(section: Sequence) -> Sequence:
    """The operations of a section in front of its last kernel; none in a section without."""
    last = max((n for n, op in enumerate(section) if isinstance(op, Kernel)), default=0)
    return section[:last]


def alone(op: Copy | Kernel, machine: Machine) -> int:
    """Time of an operation that has the whole GPU."""
    if isinstance(op, Copy):
        return op.time
    return cdiv(op.blocks, machine.sms * (machine.threads // op.threads)) * op.block_time


# Systems ------------------------------------------------------------------------------------------


@dataclass
class System:
    """The system, and the responses R that are assumed at present."""

    way: str
    machine: Machine
    tasks: Sequence[Task]
    graph: bool
    spin: bool
    whole_ticks: bool
    jobs: list[Job]
    ended: bool = False
    fits: bool = True
    instances: bool = False
    R: list = field(default_factory=list)
    saturations: dict = field(default_factory=dict)

    @property
    def engines(self) -> list[int]:
        ops = [op for job in self.jobs for op in job.operations]
        return sorted({op.engine for op in ops if isinstance(op, Copy)})

    def others(self, i: int) -> list[int]:
        return [k for k in range(len(self.tasks)) if k != i]

    def more_urgent(self, i: int, k: int) -> bool:
        """Whether k is before i on the same core."""
        a, b = self.tasks[i], self.tasks[k]
        return a.core == b.core and b.priority < a.priority

    def hp(self, i: int) -> list[int]:
        return [k for k in self.others(i) if self.more_urgent(i, k)]

    def gpu_order(self, i: int) -> tuple:
        t = self.tasks[i]
        return (t.priority, i) if t.gpu_priority is None else (t.gpu_priority,)


def bounds(
    way: str,
    machine: Machine,
    tasks: Sequence[Task],
    launches: str = "graph",
    waiting: str = "suspend",
    whole_ticks: bool = True,
    origin: str = "arrival",
    ended: bool = False,
    fits: bool = True,
    instances: bool = False,
    assumed: Sequence[int | None] = (),
) -> list[int | None]:
    """The least bounds of all responses that agree with each other; None: no bound is found.

    `whole_ticks`: all times are whole, so that the wait for SMs, a fraction, is rounded down; it is
    rounded up otherwise.  `origin`: from where times count, "arrival" or "release".  Mates are
    tasks of the same channel, in the ways limits and own_parts of the same channel and part.
    edf_serial gives the deadlines if it accepts, and None for all tasks if not.  `ended`: a channel
    waits until a kernel has ended, not only until all of its blocks have started.  `fits`: tasks
    whose blocks never hold so many threads as are busy during a wait do not wait.  `assumed`: the
    responses of tasks that are not looked for, None of others.
    """
    assert way in WAYS and waiting in ("suspend", "spin")
    assert waiting == "suspend" or way != "edf_serial"
    forms = [t.launches or launches for t in tasks]
    assert set(forms) <= {"graph", "sync", "async"}
    jobs = [split(t.segments, form, machine) for t, form in zip(tasks, forms, strict=True)]
    graph, spin = set(forms) != {"sync"}, waiting == "spin"
    s = System(way, machine, tasks, graph, spin, whole_ticks, jobs, ended, fits, instances)
    if way == "edf_serial":
        accepted = edf_serial(s)
        return [t.deadline if accepted else None for t in tasks]
    s.R = [t.jitter + job.cpu for t, job in zip(tasks, jobs, strict=True)]
    known = {i: r for i, r in enumerate(assumed) if r is not None}
    for i, r in known.items():
        s.R[i] = r
    before = None
    while before != s.R:
        before = list(s.R)
        for i in range(len(tasks)):
            if s.R[i] < inf and i not in known:
                s.R[i] = response(s, i, "arrival")
    ends = [r if r == inf or i in known else response(s, i, origin) for i, r in enumerate(s.R)]
    return [None if r == inf else r for r in ends]


def response(s: System, i: int, origin: str) -> int:
    """Largest response in a run of i; inf where a window or the run is given up."""
    t = s.tasks[i]
    w, worst = 0, 0
    for q in range(1, JOBS + 1):
        while (value := window(s, i, q, w)) > w:
            if value > 4 * (t.period + t.deadline + t.jitter):
                return inf
            w = value
        later = (q - 1) * t.period - t.jitter  # of the job behind the first release
        worst = max(worst, w - later if origin == "arrival" else w - max(0, later))
        if t.jitter + w <= q * t.period:
            return worst
    return inf


def window(s: System, i: int, q: int, w: int) -> int:
    """Most instants of a window of length w that belong to q jobs of i."""
    if s.way == "gcaps":
        return (preempted_while_busy if s.spin else preempted)(s, i, q, w)
    if s.spin:
        return min(spinning(s, i, q, w), spinning_jointly(s, i, q, w))
    return q * s.jobs[i].cpu + waits_for_core(s, i, q, w) + gpu(s, i, q, w)


# Counts -------------------------------------------------------------------------------------------


def cdiv(a, b) -> int:
    return a if a == inf else -(-a // b)


def product(a, b):
    """a * b, where nothing is nothing even if it comes without end."""
    return 0 if a == 0 or b == 0 else a * b


def carried(s: System, k: int, w: int, x) -> int:
    """Jobs of k of which a window of length w can hold x of work (with rate 1), carry-in included.

    The first one may come late by R_k, but then with less than x of its work.
    """
    return cdiv(w + s.R[k] - min(x, s.R[k]), s.tasks[k].period)


def touching(s: System, k: int, w: int) -> int:
    """Jobs of k that can do anything in a window of length w."""
    return cdiv(w + s.R[k], s.tasks[k].period)


def largest(items: Sequence, n, count) -> int:
    """Sum of the `count` largest items among n copies of the list."""
    total, left = 0, count
    for item in sorted(items, reverse=True):
        taken = min(n, left)
        total += product(taken, item)
        if total == inf:
            break
        left -= taken
    return total


def most(s: System, i: int, k: int, w: int, by_section: Sequence, x=None) -> int:
    """The most that jobs of k do in a window of i, of amounts given by sections.

    x: the least time of all.

    When i spins, what is more urgent on its core is not there while i is looked at, and what is
    less urgent cannot launch: one section is left of it.
    """
    total = sum(by_section)
    if s.spin and s.more_urgent(i, k):
        return 0
    if s.spin and s.more_urgent(k, i):
        return max(by_section, default=0)
    return product(carried(s, k, w, total if x is None else x), total)


def share(s: System, i: int, k: int, w: int, sections: Sequence, count: int) -> int:
    """As `most`, where each of `count` requests of i meets at most one item of k.

    `sections`: for every section of a job of k the list of its items.
    """
    items = [item for section in sections for item in section]
    cap = most(s, i, k, w, [sum(section) for section in sections])
    return min(largest(items, touching(s, k, w), count), cap)


# CPUs ---------------------------------------------------------------------------------------------


def waits_for_core(s: System, i: int, q: int, w: int) -> int:
    """Ready, but not running: the smaller of the count in the window and the counts by pieces."""
    pieces = [ready(s, i, piece) for piece in s.jobs[i].pieces]
    total = 0
    for h in s.hp(i):
        C = s.jobs[h].cpu
        n = min(carried(s, h, w, C), q * sum(counts[h] for counts in pieces))
        total += product(n, C)
    return total


def ready(s: System, i: int, piece: int) -> dict:
    """Jobs of each more urgent task of the core in the longest time that a piece is ready.

    An empty piece waits in a closed window.  Counts without end where the time is given up.
    """
    t, L = s.tasks[i], 0
    while True:
        # ceil(x / T) is floor((x - 1) / T) + 1: a closed window has one instant more.
        counts = {h: carried(s, h, L + (piece == 0), s.jobs[h].cpu) for h in s.hp(i)}
        value = piece + sum(product(n, s.jobs[h].cpu) for h, n in counts.items())
        if value <= L:
            return counts
        if value > 4 * (t.period + t.deadline + t.jitter):
            return dict.fromkeys(counts, inf)
        L = value


def spinning(s: System, i: int, q: int, w: int) -> int:
    """The window begins when neither i nor anything more urgent on its core is pending."""
    total = q * s.jobs[i].cpu + gpu(s, i, q, w)
    for h in s.hp(i):
        if s.R[h] == inf:
            return inf
        total += released(s, h, w) * (s.jobs[h].cpu + gpu(s, h, 1, s.R[h]))
    return total


def spinning_jointly(s: System, i: int, q: int, w: int) -> int:
    """The same, with what others do counted once for the requests of i and its hp together."""
    if s.way not in ("one_stream", "time_slices"):
        return inf
    group = [(i, q), *((h, released(s, h, w)) for h in s.hp(i))]
    total = sum(n * (s.jobs[h].cpu + own(s, h)) for h, n in group)
    for k in s.others(i):
        together = Counter()
        for h, n in group:
            for what, m in requests(s, h).items():
                together[what] += n * m * meet(s, h, k, what)
        total += sum(share(s, i, k, w, items_of(s, k, what), n) for what, n in together.items())
    return total


def released(s: System, h: int, w: int) -> int:
    return cdiv(w + s.tasks[h].jitter, s.tasks[h].period)


# Copies, and the GPU in its ways ------------------------------------------------------------------


def gpu(s: System, i: int, q: int, w: int) -> int:
    """Time in which an operation of i is entered or on its way to its stream."""
    if s.way in STREAMS:
        return in_streams(s, i, q, w)
    return q * own(s, i) + met(s, i, w, {what: q * n for what, n in requests(s, i).items()})


def own(s: System, i: int) -> int:
    """Operations of a job, their way to the stream, and in time slices the switches to them."""
    job = s.jobs[i]
    if s.way in STREAMS:  # a kernel counts from the start of its last block
        time = sum(copies(job.operations)) + sum(k.block_time for k in job.kernels)
    else:
        time = sum(alone(op, s.machine) for op in job.operations)
    time += len(job.sections) * s.machine.latency + len(job.kernels) * s.machine.gap
    if not s.spin:
        time += sum(goes_on(job, n) for n in range(len(job.sections))) * s.machine.wake
    if s.way == "time_slices":
        time += sum(map(len, slices(s, i))) * switch(s, i)
    return time


def goes_on(job: Job, n: int) -> bool:
    """Whether the thread does anything behind section n."""
    return n + 1 < len(job.pieces)


def requests(s: System, i: int) -> dict:
    """Requests of a job of i: of the stream; or of slices, and of each engine.

    Operations that are called one after the other are as many requests of the stream.
    """
    job = s.jobs[i]
    if s.way == "one_stream":
        return {"stream": len(job.operations if job.loose else job.sections)}
    found: dict = {e: len(copies(job.operations, e)) for e in s.engines}
    if s.way == "time_slices":
        found["slices"] = sum(map(len, slices(s, i)))
    return found


def met(s: System, i: int, w: int, asked: dict) -> int:
    """Time of others in front of so many requests of each kind."""
    return sum(
        share(s, i, k, w, items_of(s, k, what), n)
        for what, n in asked.items()
        for k in s.others(i)
        if meet(s, i, k, what)
    )


def meet(s: System, i: int, k: int, what) -> bool:
    """Whether requests of both are for the same stream, ring or engine."""
    is_dla = isinstance(what, int) and what >= 2
    return is_dla or not s.instances or s.tasks[i].part == s.tasks[k].part


def items_of(s: System, k: int, what) -> list[list[int]]:
    """Items of k that a request may meet, by sections."""
    if what == "stream":
        return [
            [sum(alone(op, s.machine) for op in section) + len(kernels(section)) * s.machine.gap]
            for section in s.jobs[k].sections
        ]
    if what == "slices":
        return slices(s, k)
    return [copies(section, what) for section in s.jobs[k].sections]


def switch(s: System, i: int | None = None) -> int:
    """Of i, or of all that have kernels: a context with the GPU for itself never pays for one."""
    if i is None:
        return max((switch(s, k) for k, job in enumerate(s.jobs) if job.kernels), default=0)
    others = [k for k in s.others(i) if meet(s, i, k, "slices")]
    if s.way == "processes":
        others = [k for k in others if s.tasks[k].part != s.tasks[i].part]
    return s.machine.switch if any(s.jobs[k].kernels for k in others) else 0


def slices(s: System, i: int) -> list[list[int]]:
    """Slices of a job, with the switches to them, by sections.

    Kernels that follow each other in a section are one piece of work; a copy ends it, and a gap.
    Where kernels are called one after the other each may have its own slices, or some of them one:
    as many as at most, of which the first ones are as long as they can be.
    """
    found = []
    for section in s.jobs[i].sections:
        some: list[int] = []
        run: list[int] = []
        for op in [*section, Copy(0)]:
            if isinstance(op, Kernel):
                run.append(alone(op, s.machine))
            if not isinstance(op, Kernel) or s.machine.gap:
                together = cut(sum(run), s.machine.slice)
                apart = sum(len(cut(work, s.machine.slice)) for work in run)
                some += [switch(s, i) + one for one in together]
                if s.jobs[i].loose:
                    some += [switch(s, i)] * (apart - len(together))
                run = []
        found.append(some)
    return found


def cut(work: int, slice: int) -> list[int]:
    """Work in slices, of which the last one may be shorter."""
    return [min(slice, work - start) for start in range(0, work, slice)]


# GCAPS: the most urgent task with an open section has the GPU, also while it copies ---------------


@dataclass(frozen=True)
class Owner:
    """Sums over a job: CPU work outside of sections and in them, operations, sections; the ready
    intervals of a job, and those of them in which it has a section open."""

    outside: int
    calls: int
    operations: int
    sections: int
    pieces: list
    inner: list

    @property
    def inside(self) -> int:
        return self.calls + self.operations


def owner(s: System, k: int) -> Owner:
    job, update = s.jobs[k], s.machine.update
    pieces, inner = [], []
    for n, call in enumerate(job.calls):
        before = job.pieces[n] - call
        if before or not call or update:
            pieces.append(before)
        if call:
            pieces.append(call)
            inner.append(call)
        if update:  # the second update
            pieces.append(0)
            inner.append(0)
    pieces += job.pieces[len(job.calls) :]
    operations = own(s, k)
    last = len(job.sections) - 1
    if update and not s.spin and job.sections and not goes_on(job, last):
        operations += s.machine.wake  # its thread updates
    calls = sum(job.calls)
    return Owner(job.cpu - calls, calls, operations, len(job.calls), pieces, inner)


def updates(s: System, k: int, w: int):
    """Updates of jobs of k in a window."""
    return product(touching(s, k, w), 2 * len(s.jobs[k].sections))


def on_core(s: System, k: int) -> int:
    """Most that a job takes of its core while it does not wait."""
    return s.jobs[k].cpu + 2 * len(s.jobs[k].sections) * s.machine.update


def lower_users(s: System, i: int) -> list[int]:
    return [k for k in s.others(i) if s.more_urgent(k, i) and s.jobs[k].sections]


def of_jobs(s: System, k: int, w: int, x):
    """x of each job of k that can do it in a window, up to a switch after its end."""
    if s.R[k] == inf:
        return product(inf, x)
    until = s.R[k] + switch(s)
    return product(cdiv(w + until - min(x, until), s.tasks[k].period), x)


def hold(s: System, h: int):
    """Longest time that a job of h keeps the GPU from less urgent tasks."""
    u, m = owner(s, h), s.machine
    time = u.inside + u.sections * (3 * m.update + 2 * switch(s))
    for piece in u.inner:
        _, length = interval(s, h, piece)
        time += length - piece
    return min(time, s.R[h] + switch(s) - s.tasks[h].jitter)


def interval(s: System, i: int, piece: int) -> tuple[dict, float]:
    """As `ready`, with updates: an update of each less urgent task may come first."""
    t, L = s.tasks[i], 0
    start = piece + len(lower_users(s, i)) * s.machine.update
    while True:
        counts = {h: carried(s, h, L + (piece == 0), on_core(s, h)) for h in s.hp(i)}
        value = start + sum(product(n, on_core(s, h)) for h, n in counts.items())
        if value <= L:
            return counts, L
        if value > 4 * (t.period + t.deadline + t.jitter):
            return dict.fromkeys(counts, inf), inf
        L = value


def preempted(s: System, i: int, q: int, w: int):
    """A window of q jobs of i under gcaps, where threads suspend."""
    m, job, me = s.machine, s.jobs[i], owner(s, i)
    eps, theta = m.update, switch(s)
    total = q * (me.outside + me.inside + me.sections * (4 * eps + theta))
    caps = [interval(s, i, piece)[0] for piece in me.pieces]

    def core_work(by_piece: bool):
        found, often = 0, q * len(me.pieces)
        for h in s.hp(i):
            count = carried(s, h, w, on_core(s, h))
            if by_piece:
                count = min(count, q * sum(cap[h] for cap in caps))
            found += product(count, on_core(s, h))
            if job.sections and s.jobs[h].sections:
                of = owner(s, h)
                time = of.operations + of.sections * (eps + 2 * theta)
                found += of_jobs(s, h, w, hold(s, h) if by_piece else time)
                often += 0 if by_piece else updates(s, h, w)
        for low in lower_users(s, i):
            most = product(carried(s, low, w, on_core(s, low)), on_core(s, low))
            found += min(product(eps, min(often, updates(s, low, w))), most)
        return found

    if not job.sections:
        return total + min(core_work(True), core_work(False))
    if eps == 0 and not job.kernels:  # it needs engines alone
        for h in s.hp(i):
            count = min(carried(s, h, w, on_core(s, h)), q * sum(cap[h] for cap in caps))
            total += product(count, on_core(s, h))
        return total + met(s, i, w, {e: q * n for e, n in requests(s, i).items()})
    total += min(core_work(True), core_work(False))
    first = [k for k in s.others(i) if s.jobs[k].sections and s.gpu_order(k) < s.gpu_order(i)]
    total += other_cores(s, i, w, first)
    if m.stall:
        behind = [k for k in s.others(i) if k not in [*first, *s.hp(i)]]
        total += sum(product(eps, updates(s, k, w)) for k in behind)
    return total + copies_of_others(s, i, w, q, {k: touching(s, k, w) for k in [*first, *s.hp(i)]})


def other_cores(s: System, i: int, w: int, first: Sequence[int]):
    """Work of tasks on other cores while one of `first` has the GPU."""
    tasks, eps, theta, total = s.tasks, s.machine.update, switch(s), 0
    for core in {t.core for t in tasks} - {tasks[i].core}:
        here = [k for k in range(len(tasks)) if tasks[k].core == core]
        some = [k for k in here if k in first]
        if not some:
            continue
        low = max(some, key=lambda k: tasks[k].priority)
        holds = work = begun = 0
        for h in some:
            of = owner(s, h)
            if s.spin:
                time = s.R[h] + theta - tasks[h].jitter
                z = of.outside + of.inside + of.sections * (4 * eps + 2 * theta)
            else:
                time = hold(s, h)
                z = (h != low) * of.outside + of.inside + of.sections * (3 * eps + 2 * theta)
            holds += of_jobs(s, h, w, time)
            work += of_jobs(s, h, w, z)
            begun += updates(s, h, w)
        for k in here:
            if k not in some and tasks[k].priority < tasks[low].priority:
                work += product(carried(s, k, w, on_core(s, k)), on_core(s, k))
            elif tasks[k].priority > tasks[low].priority:
                work += product(eps, min(begun, updates(s, k, w)))
        total += min(holds, work)
    return total


def copies_of_others(s: System, i: int, w: int, q: int, jobs: dict):
    """Copies of tasks that are not charged yet, one for each copy of i and of those jobs.

    Engines are not preempted.
    """
    total = 0
    for e in s.engines:
        count = q * requests(s, i)[e]
        count += sum(product(n, requests(s, h)[e]) for h, n in jobs.items())
        rest = [k for k in s.others(i) if k not in jobs]
        total += sum(share(s, i, k, w, items_of(s, k, e), count) for k in rest)
    return total


def preempted_while_busy(s: System, i: int, q: int, w: int):
    """The same where threads spin; the window begins when nothing on the core of i is pending that
    is as urgent."""
    tasks, m = s.tasks, s.machine
    eps, theta = m.update, switch(s)

    def whole(k: int) -> int:
        of = owner(s, k)
        return of.outside + of.inside + of.sections * (4 * eps + 2 * theta)

    group = [i, *s.hp(i)]
    users = [k for k in group if s.jobs[k].sections]
    total = q * (whole(i) - len(s.jobs[i].sections) * theta) + len(lower_users(s, i)) * eps
    total += sum(released(s, h, w) * whole(h) for h in s.hp(i))
    if not users:
        return total
    last = max(users, key=s.gpu_order)
    first = [
        k
        for k in s.others(i)
        if k not in group and s.jobs[k].sections and s.gpu_order(k) < s.gpu_order(last)
    ]
    far = [k for k in first if tasks[k].core != tasks[i].core]
    total += other_cores(s, i, w, far)
    if far and any(s.jobs[h].sections for h in s.hp(i)):
        total += theta  # back to another core, when the window begins
    if m.stall:
        total += sum(product(eps, updates(s, k, w)) for k in s.others(i) if k not in group)
    jobs = {h: released(s, h, w) for h in s.hp(i)} | {k: touching(s, k, w) for k in first}
    return total + copies_of_others(s, i, w, q, jobs)


# Streams ------------------------------------------------------------------------------------------


def in_streams(s: System, i: int, q: int, w: int) -> int:
    """Streams with levels and channels, in the SMs that tasks share, or in parts of them."""
    job = s.jobs[i]
    with_kernels = q * entries(s, i)
    asked = {e: q * len(copies(job.operations, e)) for e in s.engines}
    total = q * own(s, i)
    if s.graph or s.ended or s.machine.gap:
        # The channel is idle while the first kernel of a mate's section that is not dispatched
        # waits for a kernel or copy before it, or a gap; such a copy may wait for its engine.
        for k in mates(s, i):
            hold = [[hold_of(s, section)] for section in s.jobs[k].sections if kernels(section)]
            total += share(s, i, k, w, hold, with_kernels)
            if not s.graph or (s.spin and s.more_urgent(i, k)):
                continue
            fronts = [before_last_kernel(section) for section in s.jobs[k].sections]
            for e in s.engines:
                asked[e] += with_kernels * max((len(copies(f, e)) for f in fronts), default=0)
    total += met(s, i, w, asked)
    if not job.kernels:
        return total
    wait = 0
    for at in regions(s, i):
        time = waits_for_sms(s, i, q, w, *at)
        wait += time if time == inf else floor(time) if s.whole_ticks else ceil(time)
    return in_processes(s, i, q, w, wait, total) if s.way == "processes" else total + wait


def in_processes(s: System, i: int, q: int, w: int, wait, total):
    """With the slices of other processes, one of each per own slice."""
    job, L, theta = s.jobs[i], s.machine.slice, switch(s)
    parts: dict = {}
    for k, other in enumerate(s.tasks):
        if s.jobs[k].kernels:
            parts.setdefault(other.part, []).append(k)
    tails = sum(k.block_time for k in job.kernels)
    if len(parts[s.tasks[i].part]) == 1:
        total += q * (sum(alone(k, s.machine) for k in job.kernels) - tails)
        turns = q * sum(map(len, slices(s, i)))
    else:
        total += wait
        turns = inf if wait == inf else q * runs(s, i) - 1 + cdiv(q * tails + wait, L)
    total += product(turns, theta)
    for part, users in parts.items():
        if part == s.tasks[i].part:
            continue
        if len(users) == 1:
            total += share(s, i, users[0], w, slices(s, users[0]), turns)
        else:
            total += product(turns, L + theta)
    return total


def runs(s: System, i: int) -> int:
    """Kernels of a job, where those count once that follow each other at once."""
    job = s.jobs[i]
    if s.machine.gap or job.loose:
        return len(job.kernels)
    return sum(
        isinstance(op, Kernel) and (n == 0 or not isinstance(section[n - 1], Kernel))
        for section in job.sections
        for n, op in enumerate(section)
    )


def entries(s: System, i: int) -> int:
    """Instants at which kernels of a job enter their stream."""
    job = s.jobs[i]
    return len(job.kernels) if job.loose else sum(map(bool, job.grids))


def hold_of(s: System, section: Sequence) -> int:
    """Tails of all kernels of a section, the last one only if channels wait for ends, the copies in
    front of the last one, and the gaps before kernels."""
    front = before_last_kernel(section)
    tails = kernels(section if s.ended else front)
    gaps = len(kernels(section)) * s.machine.gap
    return sum(copies(front)) + sum(k.block_time for k in tails) + gaps


def mates(s: System, i: int) -> list[int]:
    """Other tasks with kernels in the channel of i."""
    a, found = s.tasks[i], []
    for k in s.others(i):
        b = s.tasks[k]
        same_part = a.part == b.part or s.way not in ("limits", "own_parts")
        if a.channel == b.channel and same_part and s.jobs[k].kernels:
            found.append(k)
    return found


def regions(s: System, i: int) -> list[tuple[int, list[int]]]:
    """SMs for which the first kernel in front of i may wait, each time with the tasks on them."""
    m, tasks = s.machine, s.tasks
    users = [k for k in range(len(tasks)) if s.jobs[k].kernels]
    if s.way in ("streams", "limits"):
        return [(m.sms, users)]
    if s.way in ("own_parts", "processes"):
        parts = {tasks[i].part}
    elif s.way == "shared_parts":
        parts = set(range(len(m.parts)))
    else:
        parts = {tasks[k].part for k in [i, *mates(s, i)]}
    return [(m.parts[P], [k for k in users if tasks[k].part == P]) for P in sorted(parts)]


def room(s: System, k: int) -> int:
    """SMs that may have blocks of task k."""
    if s.way == "limits":
        return min(s.machine.sms, s.machine.limits[s.tasks[k].part])
    return s.machine.sms if s.way == "streams" else s.machine.parts[s.tasks[k].part]


def at_once(s: System, k: int, kernel: Kernel) -> int:
    """Most threads of a kernel that run side by side."""
    return min(kernel.blocks, room(s, k) * (s.machine.threads // kernel.threads)) * kernel.threads


def saturation(s: System, sms: int, heads: Sequence[int], busy: Sequence[int]) -> int | None:
    """Fewest busy threads while a kernel of `heads` waits and blocks of `busy` run; None: never.

    The SMs times the least load of one that keeps the head's block out.  A task has blocks of one
    kernel at a time, the head's task those of the head, without the one that waits.
    """
    key = (sms, tuple(heads), tuple(busy))
    if key not in s.saturations:
        found = []
        for h in heads:
            least = [least_load(s, h, kernel, busy) for kernel in s.jobs[h].kernels]
            at = min(sms, room(s, h))
            for kernel, load in zip(s.jobs[h].kernels, least, strict=True):
                reached = inf if load is None else at * load
                found.append((h, (reached, most_busy(s, h, kernel, busy))))
        # With limits, each client by itself: its heads wait for its own number of SMs.
        groups: dict = {}
        for h, (load, most_at_once) in found:
            client = s.tasks[h].part if s.way == "limits" else 0
            groups.setdefault(client, []).append((load, most_at_once))
        waits = []
        for rows in groups.values():
            load = min(load for load, _ in rows)
            most_at_once = max(most_at_once for _, most_at_once in rows)
            if load < inf and (not s.fits or load <= most_at_once):
                waits.append(load)
        s.saturations[key] = min(waits, default=None)
    return s.saturations[key]


def most_busy(s: System, h: int, head: Kernel, busy: Sequence[int]) -> int:
    """Most threads that are busy while a block of this kernel of h waits."""
    own = min((head.blocks - 1) * head.threads, at_once(s, h, head))
    others = [max(at_once(s, k, x) for x in s.jobs[k].kernels) for k in busy if k != h]
    return own + sum(others)


def least_load(s: System, h: int, head: Kernel, busy: Sequence[int]) -> int | None:
    M = s.machine.threads
    loads = {n * head.threads for n in range(head.blocks)}
    for k in busy:
        if k != h:
            more = {n * x.threads for x in s.jobs[k].kernels for n in range(x.blocks + 1)}
            loads = {a + b for a in loads for b in more if a + b <= M}
    return min((load for load in loads if M - head.threads < load <= M), default=None)


def waits_for_sms(s: System, i: int, q: int, w: int, sms: int, users: Sequence[int]):
    """Time in which the first kernel not dispatched in the channel of i waits for these SMs."""
    tasks, job, with_i = s.tasks, s.jobs[i], mates(s, i)
    level = max(tasks[k].level for k in [i, *with_i])
    high = [k for k in users if tasks[k].level <= level]
    low = [k for k in users if tasks[k].level > level]
    slope = saturation(s, sms, high, users)
    if slope is None:
        return 0
    work = sum(cap(s, i, k, q, w, with_i) for k in high if k != i)
    if i in users:
        work += q * sum(x.work - x.threads * x.block_time for x in job.kernels)
    joins = q * len(job.kernels)
    for k in with_i:
        ahead = q * len(job.kernels)
        if s.graph:
            ahead = q * entries(s, i) * max(map(len, s.jobs[k].grids))
        joins += min(touching(s, k, w) * len(s.jobs[k].kernels), ahead)
    times = []
    for counted in choices(tasks, low):
        rest = [k for k in low if k not in counted]
        whole = work + sum(all_work(s, i, k, w) for k in counted)
        parts = [(max(slope - held, 0), joins * length) for held, length in residue(s, i, rest)]
        last = saturation(s, sms, high, sorted([*high, *counted]))
        times.append(fill(whole, parts, last))
    return min(times)


def all_work(s: System, i: int, k: int, w: int):
    """Threads times time of all kernels of k in a window of i."""
    widest = max(at_once(s, k, x) for x in s.jobs[k].kernels)
    by_section = [sum(x.work for x in section) for section in s.jobs[k].grids]
    return most(s, i, k, w, by_section, Fraction(sum(by_section), widest))


def cap(s: System, i: int, k: int, q: int, w: int, with_i: Sequence[int]):
    """Threads times time of k, a task of the levels that count, while i waits."""
    job, n = s.jobs[k], touching(s, k, w)
    each = q * len(s.jobs[i].kernels)
    work = all_work(s, i, k, w)
    level = s.tasks[i].level
    items = [x.work for x in job.kernels]
    if k in with_i and not s.graph:
        work = min(work, largest(items, n, each))
    elif k in with_i:
        sections = [sum(x.work for x in section) for section in job.grids]
        work = min(work, largest(sections, n, q * entries(s, i)))
    elif s.tasks[k].level == level and not with_i:
        work = min(work, largest(items, n, each))
    elif s.tasks[k].level == level and all(s.tasks[m].level == level for m in with_i):
        if not s.graph and not s.machine.gap:  # with a gap a turn begins before its kernel joins
            work = min(work, largest(items, n, (len(with_i) + 1) * each))
    return work


def choices(tasks: Sequence[Task], low: Sequence[int]) -> Iterable[tuple]:
    """Less urgent tasks whose kernels are counted by jobs, not by what is left at each join."""
    if len(low) <= 4:
        return [some for n in range(len(low) + 1) for some in combinations(low, n)]
    rising = sorted(low, key=lambda k: tasks[k].period)
    orders = rising, rising[::-1]
    return [tuple(order[:n]) for order in orders for n in range(len(low) + 1)]


def residue(s: System, i: int, rest: Sequence[int]) -> list[tuple[int, int]]:
    """(threads, time): what less urgent kernels still hold after a join, and for how long.

    Such a kernel started before the join, and no other one starts as long as there is a wait.
    """
    rest = [k for k in rest if not (s.spin and s.more_urgent(i, k))]
    ends = sorted({x.block_time for k in rest for x in s.jobs[k].kernels})
    found, t = [], 0
    for end in ends:
        held = 0
        for k in rest:
            running = [at_once(s, k, x) for x in s.jobs[k].kernels if x.block_time > t]
            held += max(running, default=0)
        found.append((held, end - t))
        t = end
    return found


def fill(work, parts: Sequence[tuple[int, int]], last: int | None):
    """The most time in which `work` is done, at the rates and for the times of the parts, then at
    the rate `last`; None: there is no wait beyond the parts."""
    time = 0
    for rate, length in sorted(parts):
        if work < rate * length:
            return time + Fraction(work, rate)
        work -= rate * length
        time += length
    if last is None:
        return time
    return inf if work == inf else time + Fraction(work, last)


# EDF, one unit at a time --------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    time: int
    period: int
    due: int  # from the arrival
    window: int  # from the latest request of its turn until it is due
    late: int = 0  # the first of several may be released so much later than it could have been


def edf_serial(s: System) -> bool:
    """Whether units, from the first section with a kernel to the last, end in time, one at a time,
    the one with the earliest `arrival + deadline - work behind it` first.

    Others on the core count with their deadlines as responses, and a copy waits for the longest one
    of each other task on its engine.  Each section has a latency.  A unit begins when it may; its
    thread waits for its core before the first call, which is part of the unit.
    """
    s.R = [t.deadline for t in s.tasks]
    units = []
    for i, t in enumerate(s.tasks):
        front, unit, behind = around(s, i)
        front += t.jitter
        if t.deadline > t.period or front + unit + behind > t.deadline:
            return False
        if unit > 0:
            due = t.deadline - behind
            units.append(Unit(unit, t.period, due, due - front))
    return in_time(units)


def around(s: System, i: int) -> tuple:
    """Longest times of the work before the unit, of the unit, and of the work behind it.

    Without kernels all work is before the unit.
    """
    job, lam = s.jobs[i], s.machine.latency
    steps: list[tuple] = []  # (time, whether it is a section with a kernel)
    unit = min((n for n, grid in enumerate(job.grids) if grid), default=-1)

    def on_core(work: int) -> int:
        counts = ready(s, i, work)
        return work + sum(product(counts[h], s.jobs[h].cpu) for h in counts)

    for n, piece in enumerate(job.pieces):
        steps.append((on_core(piece - job.calls[n] if n == unit else piece), False))
        section = job.sections[n] if n < len(job.sections) else ()
        if section:
            time = lam + goes_on(job, n) * s.machine.wake
            if n == unit:
                time += on_core(job.calls[n])
            for op in section:
                if isinstance(op, Kernel):
                    time += alone(op, s.machine) + s.machine.gap
                    continue
                time += op.time + sum(
                    max(copies(s.jobs[k].operations, op.engine), default=0) for k in s.others(i)
                )
            steps.append((time, bool(kernels(section))))
    at = [n for n, (_, kernel) in enumerate(steps) if kernel]
    first, last = (at[0], at[-1] + 1) if at else (len(steps), len(steps))
    parts = steps[:first], steps[first:last], steps[last:]
    return tuple(sum(time for time, _ in part) for part in parts)


def in_time(units: Sequence[Unit]) -> bool:
    """Whether the units that come and are due in any window fit, behind one that is due later."""
    load = sum(Fraction(u.time, u.period) for u in units)
    if load > 1 or not units:
        return not units
    most_time = max(u.time for u in units)
    end = max(u.window for u in units) + lcm(*(u.period for u in units))
    if load < 1:  # beyond, a window holds the rate and all that can come on top
        end = min(end, ceil((2 * sum(u.time for u in units) + most_time) / (1 - load)))
    due = {x for u in units for x in range(u.window - u.late + u.period, end + 1, u.period)}
    for x in due | {u.window for u in units}:
        demand = sum(
            ((x - u.window + u.late) // u.period + 1) * u.time for u in units if u.window <= x
        )
        in_the_way = max((u.time for u in units if u.due > x), default=0)
        if demand + in_the_way > x:
            return False
    return True
