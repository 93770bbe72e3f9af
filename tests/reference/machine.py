"""A whole machine, tick by tick: CPUs, copy engines, streams and channels, blocks on SMs, contexts.

A slow and obvious second implementation of the machine, in lists that are sorted when they are
read. The ways of sharing the GPU are in `tests.reference.machine_ways`, whose `play` is the entry.

An instant: ends (blocks, copies, CPU work with the calls behind it, alarms), releases, then calls,
grants, arrivals and joins until nothing changes, the choice of contexts, and starts.

Choices where the rules leave one:

- A call that follows CPU work is the last instruction of that work, in all ways; what follows a
  WAIT needs a CPU again, but for a STOP (and an END that costs nothing, in front of a STOP).
- A channel is a FIFO of kernels by arrival in their streams; a kernel leaves it when dispatched, or
  with ``channel_release="ended"`` when it ends.
- Every operation arrives `launch_latency` after its call, copies too; calls do not wait for it.
- A call is CPU work of `launch_cpu` ticks, at whose end the operation is called; all operations of
  a graph are called at the end of `graph_launch_cpu` ticks. A graph is a maximal sequence of
  operations of a section without CPU work between them.
- A kernel joins its queue `kernel_gap` ticks after it became the first of its stream, or later.
- A suspended thread is ready `wake_latency` ticks after the operations that it waits for. What does
  not need its thread (an END that costs nothing, a STOP behind it) does not wait for that.
- A kernel without a shape takes all SMs that it may use, when all of them are empty.
- Two engines or more are one per direction, an unknown number is one. Copies go on while contexts
  change. A copy has the first idle engine that serves its direction alone, else one for both.
- The GPU starts with no context if there are several: the first one pays a switch, too. A switch
  that another choice interrupts is paid again in full.
- Without cores, task i runs on CPU i modulo the number of CPUs. Jitter is ignored: `releases` gives
  pairs of arrival and release.
- A job that ends releases the jobs behind it at that instant; they run at the next round of calls.
- Requests of one instant keep the order of their causes; only those of one round are ties.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gpusched as gs
from gpusched.model.workload.kernel_waves import KernelTimes, kernel_times

CPU_WORK, CPU_COPY, COPY, KERNEL = "cpu", "cpu copy", "copy", "kernel"


DLAS = 4  # of every device, each an engine of its own


@dataclass
class Step:
    """Step of a program: WORK, BEGIN, CALL, WAIT, END or STOP; ``item`` counts `Task.steps`."""

    kind: str
    item: int = -1
    time: int = 0
    section: int = -1


@dataclass
class Item:
    """A segment of a job, once per repetition."""

    kind: str
    segment: Any
    time: int = 0  # whole time of CPU work, of a copy, or of a block
    inward: bool = False  # direction of a copy
    number: int = -1  # number of the kernel in its job
    dla: int = -1  # it is no copy, but work on this DLA


@dataclass
class Room:
    """Destination of the operations of a task; ``sms`` None: all, ``limit`` None: no limit."""

    device: int = 0
    stream: Any = 0
    context: Any = 0
    group: int = 0
    level: int = 0
    sms: tuple[int, ...] | None = None
    limit: int | None = None
    client: Any = 0  # channels are counted per client


@dataclass
class Shape:
    """Demand of a block on its SM; ``whole`` > 0: this number of empty SMs instead."""

    blocks: int
    take: tuple[int, ...] = ()  # warps, blocks, registers, shared memory
    carveout: int = -1
    resident: int = 0
    whole: int = 0


@dataclass
class Block:
    """A running (or frozen) block on the SMs ``on``."""

    op: Op
    number: int
    on: tuple[int, ...]
    left: int
    start: int


@dataclass(eq=False)
class Op:
    """An operation of a job, with the instants of its life (-1: not yet)."""

    task: int
    job: int
    item: int
    kind: str
    called: int
    order: int
    room: Room
    time: int
    kernel: int = -1
    shape: Shape | None = None
    inward: bool = False
    dla: int = -1
    waiter: Job | None = None
    serial: int = -1
    arrived: int = -1
    head: int = -1
    joined: int = -1
    first: int = -1
    dispatched: int = -1
    ended: int = -1
    started: int = 0
    running: int = 0
    blocks: list[tuple[int, tuple[int, ...], int, int]] = field(default_factory=list)


@dataclass(eq=False)
class Job:
    """A job; ``at`` is its next step, ``open`` the number of its operations in flight."""

    task: int
    number: int
    arrival: int
    release: int
    deadline: int
    at: int = 0
    open: int = 0
    start: int = -1
    end: int = -1
    waiter: Thread | None = None


@dataclass(eq=False)
class Thread:
    """A thread of a task (or a server).

    States: "idle", "suspended", "asking" (on its CPU until the way has answered), "ready" (with
    ``left`` ticks of work; 0: it goes on when it is on a CPU; None: it spins).
    """

    index: int
    cluster: int
    base: int
    state: str = "idle"
    why: str = ""
    left: int | None = 0
    item: int = -1
    boost: tuple[Any, ...] | None = None
    since: int = 0
    rank: float = 0
    cpu: int = -1
    job: Job | None = None
    queue: list[Job] = field(default_factory=list)
    after: Callable[[], None] | None = None


@dataclass(eq=False)
class Context:
    """Load, blocks and queues of a context; frozen while it is not served."""

    name: Any
    load: list[list[int]]
    blocks: list[Block] = field(default_factory=list)
    queues: dict[tuple[int, int], list[Op]] = field(default_factory=dict)

    @property
    def has_work(self) -> bool:
        """Whether a kernel of it runs or has joined a queue."""
        return bool(self.blocks) or any(self.queues.values())


@dataclass(eq=False)
class Device:
    """A GPU, or an instance of one: contexts, engines, streams and channels."""

    gpu: gs.GPU | None
    engines: tuple[str, ...]  # "in", "out" or "both"
    sms: int = 1
    copied: list[Op | None] = field(default_factory=list)  # by each engine
    busy: list[int] = field(default_factory=list)  # ticks left of the copy of each engine, 0: idle
    copies: list[Op] = field(default_factory=list)  # those that wait, in the order of their joining
    contexts: dict[Any, Context] = field(default_factory=dict)
    streams: dict[Any, list[Op]] = field(default_factory=dict)
    channels: dict[Any, list[Op]] = field(default_factory=dict)
    owner: Context | None = None
    last: Context | None = None
    ready_at: int = 0


@dataclass
class Run:
    """Result: jobs, operations, CPU intervals, states of threads, services of contexts.

    ``cpu`` has rows (CPU, thread, job, item, what, from, to), ``states`` rows (task, job, from, to,
    state), ``slices`` rows (device, context, what, from, to). A thread with the index of no task is
    a server.
    """

    workload: gs.Workload
    until: int
    jobs: list[Job]
    operations: list[Op]
    cpu: list[list[Any]]
    states: list[list[Any]]
    slices: list[list[Any]]

    def response(self, job: Job) -> int:
        """Response from the arrival; of a job that has not ended the time so far."""
        origin = job.release if self.workload[job.task].after else job.arrival
        return (job.end if job.end >= 0 else self.until) - origin

    @property
    def worst(self) -> list[int]:
        """Largest response of each task, 0 without jobs."""
        found = [0] * len(self.workload)
        for job in self.jobs:
            found[job.task] = max(found[job.task], self.response(job))
        return found

    @property
    def late_jobs(self) -> list[tuple[int, int]]:
        """Jobs (task, number) that ended late, or are open beyond their deadlines."""
        deadlines = [task.deadline for task in self.workload]
        return [(j.task, j.number) for j in self.jobs if self.response(j) > deadlines[j.task]]

    def finishes(self, task: int | str) -> list[int]:
        """Finish of each job of a task, -1 for those that have not ended."""
        index = self.workload.index(task)
        return [job.end for job in self.jobs if job.task == index]

    def why(self, task: int | str, job: int) -> str:
        """Life of a job, of its operations, and of the CPUs and the GPU meanwhile, line by line."""
        i = self.workload.index(task)
        names = [*self.workload.names, "server"]
        lines = [f"{a}-{b} {what}" for t, n, a, b, what in self.states if (t, n) == (i, job)]
        for op in self.operations:
            if (op.task, op.job) == (i, job):
                lines.append(
                    f"{op.kind} {op.item}: called {op.called}, arrived {op.arrived}, head {op.head}"
                    f", joined {op.joined}, first {op.first}, dispatched {op.dispatched}, ended "
                    f"{op.ended}, blocks (number, SMs, from, to) {op.blocks}"
                )
        found = next(j for j in self.jobs if (j.task, j.number) == (i, job))
        end = found.end if found.end >= 0 else self.until
        for cpu, t, n, _, what, a, b in self.cpu:
            if a < end and b > found.arrival:
                lines.append(f"{a}-{b} CPU {cpu}: {what} of {names[t]} {n}")
        for _, context, what, a, b in self.slices:
            if a < end and b > found.arrival:
                lines.append(f"{a}-{b} GPU: {what} context {context}")
        return "\n".join(lines)


# Programs


def items_of(task: gs.Task) -> list[Item]:
    """The segments of a job in order, each as often as it repeats."""
    found, kernels = [], 0
    for _, segment in task.steps():
        if isinstance(segment, gs.CPU):
            found.append(Item(CPU_WORK, segment, segment.time))
        elif isinstance(segment, gs.Kernel):
            found.append(Item(KERNEL, segment, number=kernels))
            kernels += 1
        elif isinstance(segment, gs.DLA):
            found.append(Item(COPY, segment, segment.time, dla=segment.on))
        else:
            kind = COPY if segment.by == "engine" else CPU_COPY
            inward, staged = isinstance(segment, gs.CopyIn), segment.staged is not None
            wait, work = Item(CPU_WORK, gs.Sync()), Item(CPU_WORK, segment, segment.staged or 0)
            found += [wait, work] if staged and inward else []
            found.append(Item(kind, segment, segment.time, inward))
            found += [wait] if segment.blocking or (staged and not inward) else []
            found += [work] if staged and not inward else []
    return found


def sections_of(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Sections as ranges of items: copies in, kernels, copies out, in this order.

    The GPU's work between two pieces of CPU work is divided before each operation that follows a
    kernel and a copy into the GPU, or that follows a copy out by the CPU. Copies in by the CPU
    directly before a section belong to it; others by the CPU next to no section are CPU work.
    """
    found: list[tuple[int, int]] = []
    mine: list[int] = []  # items of the section, or copies in by the CPU that may begin one
    for i, item in enumerate([*items, Item(CPU_WORK, None)]):
        kinds = [items[k].kind for k in mine]
        on_gpu = any(kind in (COPY, KERNEL) for kind in kinds)
        by_cpu = bool(mine) and items[mine[-1]].kind == CPU_COPY and not items[mine[-1]].inward
        if item.kind in (COPY, KERNEL):
            cut = on_gpu and (by_cpu or (item.inward and KERNEL in kinds))
        elif item.kind == CPU_COPY and item.inward:
            cut = on_gpu
        else:
            cut = item.kind == CPU_WORK or not on_gpu
        if cut:
            if on_gpu:
                found.append((mine[0], i))
            mine = []
        if item.kind in (COPY, KERNEL) or (item.kind == CPU_COPY and (item.inward or on_gpu)):
            mine.append(i)
    return found


def program_of(
    items: Sequence[Item],
    sections: Sequence[tuple[int, int]],
    launches: str | None = None,
    launch_cpu: int = 0,
    graph_launch_cpu: int = 0,
) -> list[Step]:
    """Steps of a job; in a section that holds CPU work, the thread waits before that work."""
    steps: list[Step] = []
    begins = {start: s for s, (start, _) in enumerate(sections)}
    ends = {stop: s for s, (_, stop) in enumerate(sections)}
    open_calls = False
    for i in range(len(items) + 1):
        on_gpu = i < len(items) and items[i].kind in (COPY, KERNEL)
        if open_calls and (not on_gpu or i in ends):
            steps.append(Step("WAIT"))
            open_calls = False
        if i in ends:
            steps.append(Step("END", section=ends[i]))
        if i == len(items):
            break
        if i in begins:
            steps.append(Step("BEGIN", section=begins[i]))
        if not on_gpu:
            if not isinstance(items[i].segment, gs.Sync):
                steps.append(Step("WORK", i, items[i].time))
            continue
        cost = launch_cpu
        if launches == "graph":
            cost = 0 if open_calls else graph_launch_cpu
        if cost:
            steps.append(Step("WORK", i, cost))
        steps.append(Step("CALL", i))
        open_calls = True
        if launches == "sync":
            steps.append(Step("WAIT"))
            open_calls = False
    return [*steps, Step("STOP")]


def shape_of(gpu: gs.GPU | None, times: KernelTimes, room: Room) -> tuple[Shape, int]:
    """Shape of a kernel's blocks in a room, and the time of a block."""
    sms = 1 if gpu is None else gpu.sms
    most = min(sms if room.sms is None else len(room.sms), room.limit or sms)
    kernel = times.kernel
    if gpu is None or kernel.blocks is None:
        # A kernel without a shape takes all SMs that it may use, at once.
        return Shape(1, whole=most), times.time if gpu is None else times.on(most)
    after = gs.place(gpu, [1], [kernel.threads], [kernel.regs], [kernel.smem]).after
    row = max(after.tolist(), key=lambda one: one[1])
    time = times.block_time
    assert time is not None
    if kernel.sms and most < sms:
        # A measured time on fewer SMs is divided by the waves there.
        time = max(1, math.ceil(times.block_on(most)))
    return Shape(kernel.blocks, tuple(row[:4]), row[4], times.resident), time


# The machine

Times = Callable[[int, int, int, int, int], int] | Sequence[Any] | None
"""Actual times: a function of (task, job, item, block, whole time), or times[task][job][item]."""


class Machine:
    """State of the machine; a way answers what differs between ways."""

    def __init__(
        self,
        workload: gs.Workload,
        platform: gs.Platform,
        way: Any,
        *,
        until: int,
        cores: Sequence[int] | None = None,
        cpu: str = "partitioned",
        releases: Sequence[Sequence[Any]] | None = None,
        times: Times = None,
        seed: int | None = None,
        last: int | str | None = None,
        lone_copies: str = "section",
        channel_release: str = "dispatched",
    ) -> None:
        self.channel_release = channel_release
        self.workload, self.way, self.until = workload, way, until
        self.platform = platform = platform.at(workload.tick)
        self.times, self.seed, self.cpu_policy = times, seed, cpu
        self.victim = None if last is None else workload.index(last)
        self.now = self.serial = self.rounds = 0  # rounds: those of step 3, of all instants
        n = len(workload)
        self.priority = priorities(workload)
        self.cpus: list[list[int]]  # CPUs of each cluster
        if cpu == "partitioned":
            self.cpus = [[c] for c in range(platform.cpus)]
        else:
            self.cpus = [list(range(platform.cpus))]
        core = cores_of(workload, platform.cpus, cores) if cpu == "partitioned" else [0] * n
        self.threads = [Thread(i, core[i], self.priority[i]) for i in range(n)]
        self.devices = [self._device(gpu) for gpu in way.gpus(self)]
        self.rooms = [way.room(self, i) for i in range(n)]
        for task, room in zip(workload, self.rooms, strict=True):
            if not task.kernels:  # copies need no context
                continue
            device = self.devices[room.device]
            rows = [[0, 0, 0, 0, -1] for _ in range(device.sms)]
            device.contexts.setdefault(room.context, Context(room.context, rows))
        for device in self.devices:
            if len(device.contexts) == 1:  # a single context is loaded from the start
                device.owner = device.last = next(iter(device.contexts.values()))
        self.items = [items_of(task) for task in workload]
        self.sections = [way.sections(items, lone_copies) for items in self.items]
        self.programs = [
            program_of(
                items, sections, task.launches, platform.launch_cpu, platform.graph_launch_cpu
            )
            for task, items, sections in zip(workload, self.items, self.sections, strict=True)
        ]
        self.shapes: list[dict[int, Shape]] = [{} for _ in range(n)]
        for i, items in enumerate(self.items):
            gpu = self.devices[self.rooms[i].device].gpu
            for k, item in enumerate(items):
                if item.kind == KERNEL:
                    where = f"{workload[i].name}: {k}"
                    [found] = kernel_times([item.segment], gpu, [where])
                    self.shapes[i][k], item.time = shape_of(gpu, found, self.rooms[i])
        if any(item.kind == COPY and item.dla < 0 for items in self.items for item in items):
            if not all(device.engines[:-DLAS] for device in self.devices):
                raise ValueError("copy_engines: got 0, expected at least one for the copies")
        self.pending = sorted(
            (
                Job(i, number, arrival, release, arrival + task.deadline)
                for i, task in enumerate(workload)
                for number, (arrival, release) in enumerate(self._releases(i, releases))
            ),
            key=lambda job: (job.release, job.task, job.number),
        )
        self.flying: list[Op] = []
        self.waking: list[tuple[int, Thread]] = []  # suspended threads, and when they are ready
        self.ended: dict[str, int] = {}  # jobs that have ended
        self.sent: dict[int, int] = {}  # jobs that others have released
        self.run_log = Run(workload, until, list(self.pending), [], [], [], [])
        self.run_log.jobs.sort(key=lambda job: (job.task, job.number))
        way.setup(self)

    def _device(self, gpu: gs.GPU | None) -> Device:
        count = self.platform.copy_engines
        if self.way.name == "mig" and gpu is not None:
            count = gpu.copy_engines
        if not isinstance(count, tuple):
            known = 1 if count is None else min(count, 2)  # 2: one per direction
            count = (("in", "out"), ("both",), ())[(2, 1, 0).index(known)]
        count = (*count, *(f"dla{k}" for k in range(DLAS)))
        copied: list[Op | None] = [None for _ in count]
        return Device(gpu, count, 1 if gpu is None else gpu.sms, copied, [0] * len(count))

    def _releases(self, i: int, given: Sequence[Sequence[Any]] | None) -> list[tuple[int, int]]:
        task = self.workload[i]
        if task.after:  # released by the ends of others
            return []
        if given is None:
            return [(t, t) for t in range(task.offset, self.until, task.period)]
        pairs = [one if isinstance(one, tuple) else (one, one) for one in given[i]]
        return [pair for pair in pairs if pair[1] < self.until]

    # Ties and times

    def rank(self, task: int) -> tuple[Any, ...]:
        """Order of tasks whose requests coincide: by index, by draw, the victim last."""
        drawn = 0.0
        if self.seed is not None:
            drawn = random.Random(f"{self.seed} {self.now} {task}").random()
        return (task == self.victim, drawn, task)

    def actual(self, task: int, job: int, item: int, block: int, whole: int) -> int:
        """Actual time of CPU work, a copy or a block: from 1 to the whole time."""
        if self.times is None:
            return whole
        if callable(self.times):
            given = self.times(task, job, item, block, whole)
        else:
            try:
                given = self.times[task][job][item]
            except IndexError:
                return whole
        return max(1, min(int(given), whole))

    # The loop

    def run(self) -> Run:
        """Run until no event is left, or to the end."""
        while True:
            self._settle()
            after = self._next()
            if after is None or after > self.until:
                break
            assert after > self.now, f"{self.way.name}: got {after} after {self.now}"
            self._pass(after)
            self.now = after
            self._ends()
        if self.now < self.until:
            self._pass(self.until)
        return self.run_log

    def _next(self) -> int | None:
        times = [job.release for job in self.pending[:1]]
        times += [self.now + th.left for th in self.threads if th.cpu >= 0 and th.left]
        times += [op.called + self.platform.launch_latency for op in self.flying]
        times += [at for at, _ in self.waking]
        for device in self.devices:
            heads = [queue[0] for queue in device.streams.values() if queue]
            gaps = [op.head + self.platform.kernel_gap for op in heads if op.kind == KERNEL]
            times += [at for at in gaps if at > self.now]
            times += [self.now + left for left in device.busy if left]
            if device.owner is None:
                continue
            if device.ready_at > self.now:
                times.append(device.ready_at)
            else:
                times += [self.now + block.left for block in device.owner.blocks]
        times += [t for t in self.way.alarms(self) if t > self.now]
        return min(times, default=None)

    def _pass(self, to: int) -> None:
        """Let the time from now to ``to`` pass, in which nothing happens."""
        span = to - self.now
        log = self.run_log
        self.way.passes(span)
        for th in self.threads:
            if th.state != "idle" and th.job is not None:
                what = th.state if th.state == "suspended" else "runs"
                if th.state == "ready" and th.cpu < 0:
                    what = "waits for a CPU"
                elif th.left is None and th.state == "ready":
                    what = "spins"
                if th.why:
                    what += f" ({th.why})"
                if th.index < len(self.workload):
                    extend(log.states, [th.job.task, th.job.number], [what], self.now, to)
            if th.cpu >= 0:
                what = "spin" if th.left is None else "update" if th.after else "work"
                number = -1 if th.job is None else th.job.number
                row = [th.cpu, th.index, number, th.item, what]
                extend(log.cpu, row, [], self.now, to)
                if th.left is not None:
                    th.left -= span
        for number, device in enumerate(self.devices):
            device.busy = [max(left - span, 0) for left in device.busy]
            if device.owner is None:
                continue
            what = "switch to" if device.ready_at > self.now else "serve"
            if what == "serve":
                for block in device.owner.blocks:
                    block.left -= span
            if len(device.contexts) > 1 or self.way.options.get("stall"):
                extend(log.slices, [number, device.owner.name, what], [], self.now, to)

    # 1 and 2: ends and releases

    def _ends(self) -> None:
        done = [th for th in self.threads if th.cpu >= 0 and th.state == "ready" and th.left == 0]
        done.sort(key=lambda th: th.cpu)
        if self.seed is not None or self.victim is not None:
            done.sort(key=lambda th: self.rank(th.index))
        for device in self.devices:
            if device.owner is not None and device.ready_at <= self.now:
                for block in [b for b in device.owner.blocks if b.left == 0]:
                    self._block_ends(device, device.owner, block)
        for device in self.devices:
            for e, op in enumerate(device.copied):
                if op is not None and device.busy[e] == 0:
                    device.copied[e] = None
                    self._op_ends(device, op)
        for th in done:
            self.go_on(th)
        for at, th in list(self.waking):
            if at == self.now:
                self.waking.remove((at, th))
                self.wake(th)
        self.way.alarm(self)

    def _block_ends(self, device: Device, context: Context, block: Block) -> None:
        op = block.op
        context.blocks.remove(block)
        self._load(context, op, block.on, -1)
        op.blocks.append((block.number, block.on, block.start, self.now))
        op.running -= 1
        assert op.shape is not None
        if op.running == 0 and op.started == op.shape.blocks:
            if self.channel_release == "ended":
                device.channels[self.channel(op.room)].remove(op)
            self._op_ends(device, op)
            self.way.kernel_ended(self, device, context)

    def _op_ends(self, device: Device, op: Op) -> None:
        op.ended = self.now
        device.streams[op.room.stream].remove(op)
        self.way.op_ended(self, op)
        job = op.waiter
        assert job is not None
        job.open -= 1
        th = job.waiter
        if job.open or th is None:
            return
        job.waiter = None
        th.left = 0
        kinds = [step.kind for step in self.programs[job.task][job.at : job.at + 2]]
        passive = not self.way.end_needs_cpu(self)
        stops = kinds[0] == "STOP" or (passive and kinds == ["END", "STOP"])
        if th.state == "suspended" and self.platform.wake_latency and not stops:
            self.waking.append((self.now + self.platform.wake_latency, th))
        elif th.state == "suspended":
            self.wake(th)
        if stops:
            self.go_on(th)  # a STOP directly behind needs no CPU
        elif passive and kinds[0] == "END":
            self.way.end(self, th, job)
            job.at += 1

    def _release(self) -> None:
        while self.pending and self.pending[0].release <= self.now:
            job = self.pending.pop(0)
            th = self.threads[job.task]
            th.queue.append(job)
            if th.job is None:
                self._take_job(th)

    def _send(self, job: Job) -> None:
        """Release jobs of other tasks: job j when the jobs j * every of all before have ended."""
        name = self.workload[job.task].name
        self.ended[name] = self.ended.get(name, 0) + 1
        for i, task in enumerate(self.workload):
            number = self.sent.get(i, 0)
            if name not in task.after or not all(
                self.ended.get(p, 0) > number * task.every for p in task.after
            ):
                continue
            self.sent[i] = number + 1
            sent = Job(i, number, job.arrival, self.now, self.now + task.deadline)
            self.pending.append(sent)
            self.pending.sort(key=lambda job: (job.release, job.task, job.number))
            self.run_log.jobs.append(sent)
            self.run_log.jobs.sort(key=lambda job: (job.task, job.number))

    def _take_job(self, th: Thread) -> None:
        if th.queue:
            th.job = th.queue.pop(0)
            th.left, th.item = 0, -1
            self.wake(th)
        else:
            th.job, th.state = None, "idle"

    # 3: threads

    def wake(self, th: Thread) -> None:
        """Make a thread ready; it goes on when it is on a CPU."""
        th.state, th.why, th.since, th.rank = "ready", "", self.now, self.rank(th.index)

    def suspend(self, th: Thread, why: str) -> None:
        """Take a thread off its CPU until it is woken."""
        th.state, th.why, th.cpu = "suspended", why, -1

    def spin(self, th: Thread, why: str) -> None:
        """Let a thread spin at its key until ``left`` is set."""
        if th.state == "suspended":
            self.wake(th)
        th.state, th.why, th.left = "ready", why, None

    def key(self, th: Thread) -> tuple[Any, ...]:
        """Urgency on CPUs: (0, ...) not preemptable, (1, ...) boosted, (2, ...) own priority."""
        if th.boost is not None:
            return (*th.boost, th.since, th.rank)
        return (2, min([self.own_key(th), *self.way.lends(self, th)]), th.since, th.rank)

    def own_key(self, th: Thread) -> int:
        """The priority of a thread, or, under EDF, the deadline of its job or of its server's."""
        served = self.way.server_key(th)
        if served is not None:
            return served
        edf = self.cpu_policy == "global_edf" and th.job is not None
        return th.job.deadline if edf else th.base

    def go_on(self, th: Thread) -> None:
        """Execute steps until one takes time or waits."""
        th.why = ""
        if th.after is not None:
            then, th.after = th.after, None
            then()
            if th.state != "ready" or th.left != 0 or th.job is None:
                return
            if self.programs[th.job.task][th.job.at].kind == "BEGIN":
                return  # its key has changed: the next section needs a dispatch
        while th.job is not None:
            job = th.job
            step = self.programs[job.task][job.at]
            th.item = step.item
            if job.start < 0:
                job.start = self.now
            job.at += 1
            if step.kind == "WORK":
                th.left = self.actual(job.task, job.number, step.item, 0, step.time)
                return
            if step.kind == "CALL":
                self._call(job, step.item)
            elif step.kind == "BEGIN":
                if not self.way.begin(self, th, job):
                    return
            elif step.kind == "END":
                if not self.way.end(self, th, job):
                    return
                if self.programs[job.task][job.at].kind != "STOP" and self.way.end_needs_cpu(self):
                    return  # its key may have changed: the next step needs a dispatch
            elif step.kind == "WAIT":
                if job.open:
                    job.waiter = th
                    if self.way.spin_hold and self.way.may_spin(th):
                        self.spin(th, "its operations")
                    else:
                        self.suspend(th, "its operations")
                    return
            else:
                job.end = self.now
                self._send(job)
                th.state, th.cpu, th.boost = "idle", -1, None
                self._take_job(th)
                return

    def _call(self, job: Job, item: int) -> None:
        one, room = self.items[job.task][item], self.rooms[job.task]
        shape = self.shapes[job.task].get(item)
        op = Op(job.task, job.number, item, one.kind, self.now, self.serial, room, one.time)
        op.kernel, op.shape, op.inward, op.waiter = one.number, shape, one.inward, job
        op.dla = one.dla
        self.serial += 1
        job.open += 1
        self.flying.append(op)
        self.run_log.operations.append(op)

    def _dispatch(self) -> bool:
        """Choose the threads of all CPUs; those with nothing left go on."""
        changed = False
        for cluster, cpus in enumerate(self.cpus):
            here = [th for th in self.threads if th.cluster == cluster]
            if any(th.state == "asking" for th in here):
                continue
            able = [th for th in here if th.state == "ready" and self.way.competes(th)]
            ready = sorted(able, key=self.key)
            chosen = ready[: len(cpus)]
            for th in here:
                if th not in chosen:
                    th.cpu = -1
            free = [c for c in cpus if all(th.cpu != c for th in chosen)]
            for th in chosen:
                if th.cpu < 0:
                    th.cpu = free.pop(0)
            for th in chosen:
                if th.state == "ready" and th.left == 0:
                    self.go_on(th)
                    changed = True
        return changed

    # 3 to 5: operations

    def _settle(self) -> None:
        """Calls, grants, arrivals, joins; contexts; starts; until nothing changes."""
        while True:
            changed = True
            while changed or (self.pending and self.pending[0].release <= self.now):
                self.rounds += 1
                self._release()
                self.way.serve(self)
                changed = self._dispatch()
                changed |= self.way.grant(self)
                changed |= self._arrive()
                changed |= self._join()
            for device in self.devices:
                self._serve(device, self.way.choose(self, device))
            if not self._start():
                return

    def _arrive(self) -> bool:
        due = [op for op in self.flying if op.called + self.platform.launch_latency <= self.now]
        due.sort(key=lambda op: (op.room.level, self.rank(op.task), op.job, op.order))
        for op in due:
            self.flying.remove(op)
            op.arrived, op.serial = self.now, self.serial
            self.serial += 1
            device = self.devices[op.room.device]
            device.streams.setdefault(op.room.stream, []).append(op)
            if op.kind == KERNEL:
                device.channels.setdefault(self.channel(op.room), []).append(op)
            self.way.arrived(self, op)
        return bool(due)

    def channel(self, room: Room) -> Any:
        """Hardware channel of a stream: streams of a client in order of creation, modulo."""
        gpu = self.devices[room.device].gpu
        streams = []
        for task, other in zip(self.workload, self.rooms, strict=True):
            if not any(
                isinstance(part, (gs.Kernel, gs.DLA)) or getattr(part, "by", "") == "engine"
                for part in task.segments
            ):
                continue  # it makes no stream
            if (other.device, other.client) == (room.device, room.client):
                if other.stream not in streams:
                    streams.append(other.stream)
        number = streams.index(room.stream)
        most = self.platform.channels
        if most is None:
            most = self.way.channels if gpu is None or self.way.channels else gpu.channels
        if most:  # else unknown, or no limit
            number %= most
        return (room.client, number)

    def _join(self) -> bool:
        """Heads of streams join the queue of an engine, or of their level."""
        changed = False
        for device in self.devices:
            heads = [queue[0] for queue in device.streams.values() if queue]
            heads = [op for op in heads if op.joined < 0]
            heads.sort(key=lambda op: op.serial)
            if self.seed is not None or self.victim is not None:
                heads.sort(key=lambda op: (op.room.level, self.rank(op.task), op.serial))
            for op in heads:
                if op.head < 0:
                    op.head = self.now
                if op.kind == KERNEL and op.head + self.platform.kernel_gap > self.now:
                    continue
                if op.kind == COPY:
                    device.copies.append(op)
                elif device.channels[self.channel(op.room)][0] is not op:
                    continue  # an earlier kernel of its channel is not dispatched
                elif self.way.holds(self, op):
                    continue
                else:
                    context = device.contexts[op.room.context]
                    key = (op.room.group, op.room.level)
                    context.queues.setdefault(key, []).append(op)
                op.joined = self.now
                changed = True
        return changed

    def _serve(self, device: Device, wanted: Context | None) -> None:
        """Give the GPU to a context; another one than the last costs a switch."""
        if wanted is device.owner:
            return
        if device.owner is not None and device.ready_at > self.now:
            device.last = None  # an interrupted switch is paid again, in full
        device.owner = wanted
        if wanted is not None:
            cost = 0 if wanted is device.last else self.platform.context_switch
            device.ready_at = self.now + cost
            device.last = wanted
            self.way.served(self, device)

    def _start(self) -> bool:
        """Start blocks of heads with room, then copies; True if blocks started."""
        started = False
        for device in self.devices:
            context = device.owner
            if context is not None and device.ready_at <= self.now:
                started |= self._start_context(device, context)
        for device in self.devices:
            for op in list(device.copies):
                idle = [e for e, copied in enumerate(device.copied) if copied is None]
                alone = "in" if op.inward else "out"
                alone = alone if op.dla < 0 else f"dla{op.dla}"
                mine = [e for e in idle if device.engines[e] == alone]
                mine += [e for e in idle if device.engines[e] == "both" and op.dla < 0]
                if mine:
                    device.copies.remove(op)
                    op.first = op.dispatched = self.now
                    device.copied[mine[0]] = op
                    device.busy[mine[0]] = self.actual(op.task, op.job, op.item, 0, op.time)
        return started

    def _start_context(self, device: Device, context: Context) -> bool:
        """Start blocks of the groups' heads, of the most urgent one first, then by group."""
        started = False
        stuck: list[Op] = []  # they have no room now
        while True:
            heads = []
            for group in sorted({group for group, _ in context.queues}):
                levels = sorted(level for g, level in context.queues if g == group)
                queues = [context.queues[group, level] for level in levels]
                first = [queue[0] for queue in queues if queue]
                first = [op for op in first if self._grid_fits(device, context, op)]
                heads += [op for op in first[:1] if op not in stuck]
            if not heads:
                return started
            op = min(heads, key=lambda op: (op.room.level, op.room.group))
            started |= self._start_blocks(device, context, op)
            assert op.shape is not None
            if op.started < op.shape.blocks:
                stuck.append(op)  # it blocks all behind it and all lower levels
                continue
            op.dispatched = self.now
            context.queues[op.room.group, op.room.level].remove(op)
            if self.channel_release == "dispatched":
                device.channels[self.channel(op.room)].remove(op)

    def _start_blocks(self, device: Device, context: Context, op: Op) -> bool:
        started = False
        assert op.shape is not None
        while op.started < op.shape.blocks:
            on = self._choose_sms(device, context, op)
            if on is None:
                break
            self._load(context, op, on, 1)
            left = self.actual(op.task, op.job, op.item, op.started, op.time)
            context.blocks.append(Block(op, op.started, on, left, self.now))
            op.first = self.now if op.first < 0 else op.first
            op.started += 1
            op.running += 1
            started = True
        return started

    def _grid_fits(self, device: Device, context: Context, op: Op) -> bool:
        """Whether one more kernel of the context can run at once."""
        if op.started or device.gpu is None:
            return True
        running = {id(block.op) for block in context.blocks}
        running |= {id(op) for queue in context.queues.values() for op in queue if op.started}
        return len(running) < device.gpu.resident_grids

    def _choose_sms(self, device: Device, context: Context, op: Op) -> tuple[int, ...] | None:
        """SM of the next block: most room, ties by the device's order; None: no room."""
        shape, room, gpu = op.shape, op.room, device.gpu
        assert shape is not None
        order = [0] if gpu is None else [int(sm) for sm in gpu.sm_order]
        allowed = [sm for sm in order if room.sms is None or sm in room.sms]
        if room.limit is not None:
            used = {sm for b in context.blocks for sm in b.on if b.op.room.client == room.client}
            if len(used) >= room.limit:
                allowed = [sm for sm in allowed if sm in used]
            elif shape.whole > room.limit - len(used):
                return None
        if shape.whole:
            empty = [sm for sm in allowed if context.load[sm][1] == 0]
            return tuple(empty[: shape.whole]) if len(empty) >= shape.whole else None
        assert gpu is not None
        best, found = 0, None
        for sm in allowed:
            load = context.load[sm]
            if not self._configured(gpu, load, shape):
                continue
            most = (gpu.warps_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm, gpu.smem_per_sm)
            own = sum(block.op is op and sm in block.on for block in context.blocks)
            space = shape.resident - own
            for full, used_now, take in zip(most, load, shape.take, strict=False):
                if take:
                    space = min(space, (full - used_now) // take)
            if space > best:
                best, found = space, sm
        return None if found is None else (found,)

    @staticmethod
    def _configured(gpu: gs.GPU, load: list[int], shape: Shape) -> bool:
        """Whether the carve-out of an SM that is not empty accepts the block."""
        if load[1] == 0 or gpu.carveout_rule == "ignore" or load[4] < 0:
            return True
        if gpu.carveout_rule == "match":
            return load[4] == shape.carveout
        return load[4] >= shape.carveout

    def _load(self, context: Context, op: Op, on: tuple[int, ...], sign: int) -> None:
        shape = op.shape
        assert shape is not None
        gpu = self.devices[op.room.device].gpu
        for sm in on:
            row = context.load[sm]
            if row[1] == 0:
                row[4] = shape.carveout
            take = shape.take
            if shape.whole:  # the block fills the SM
                take = (1, 1, 0, 0)
                if gpu is not None:
                    take = (gpu.warps_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm, gpu.smem_per_sm)
            for k, amount in enumerate(take):
                row[k] += sign * amount


def extend(log: list[list[Any]], before: list[Any], behind: list[Any], a: int, b: int) -> None:
    """Add an interval to a log; it continues an earlier row that ends where it begins.

    Rows are ``[*before, *behind, a, b]`` or, with ``behind``, ``[*before, a, b, *behind]``.
    """
    for row in reversed(log[-64:]):
        if behind:
            if row[:2] == before and row[3] == a and row[4:] == behind:
                row[3] = b
                return
        elif row[:-2] == before and row[-1] == a:
            row[-1] = b
            return
    log.append([*before, a, b, *behind] if behind else [*before, a, b])


def priorities(workload: gs.Workload) -> list[int]:
    """CPU priorities, 0 is the highest: as given for all tasks, else deadline-monotonic."""
    n = range(len(workload))
    given = [task.priority for task in workload]
    if all(one is not None for one in given):
        return [one for one in given if one is not None]
    order = sorted(n, key=lambda i: (workload[i].deadline, i))
    return [order.index(i) for i in n]


def cores_of(workload: gs.Workload, cpus: int, cores: Sequence[int] | None) -> list[int]:
    """Core of each task: as given, as stated, else one after the other, by index."""
    found = []
    for i, task in enumerate(workload):
        core = cores[i] if cores is not None else i % cpus if task.core is None else task.core
        if not 0 <= core < cpus:
            raise ValueError(f"cores[{i}]: got {core}, expected 0 to {cpus - 1}")
        found.append(core)
    return found
