"""The ways of sharing a GPU, as answers to the questions of `tests.reference.machine`.

`play` runs a workload under a way. Choices where the rules leave one:

- Kernels of tasks with different processes share one context, but for time_slices and gcaps.
- gcaps: a switch begins when the owner has a kernel, not when its section opens; the kernel of a
  less urgent task stops when the section opens. An update that costs nothing takes no CPU.
- Holders of locks are boosted from the grant to the end; in stgm from the request on.
- gpu_server: the overhead between two sections is also the notification; the next section is chosen
  at its end.
- edf_serial: copies outside of the unit are free; a thread launches at its own priority.
- pbs: only kernels are held, copies are not; frames follow each other in the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gpusched as gs
from gpusched.model.workload.platforms import green_sms
from tests.reference.machine import (
    KERNEL,
    Context,
    Device,
    Item,
    Job,
    Machine,
    Op,
    Room,
    Run,
    Thread,
    sections_of,
)


class Way:
    """Streams: a stream per task, in one context; the base of all ways."""

    name = "streams"
    has_sections = False
    cpu = "partitioned"
    channels = 0  # of a client, where they are not those of the GPU

    def __init__(self, mode: str | None = None, **options: Any) -> None:
        if mode not in (None, "suspend", "busy", "spin"):
            raise ValueError(f"mode: got {mode!r}, expected suspend, busy or spin")
        self.spin_hold = mode in ("busy", "spin")
        self.spin_wait = mode == "spin"
        self.options = options

    # Shape of the machine

    def gpus(self, m: Machine) -> list[gs.GPU | None]:
        """The devices of the machine."""
        return [m.platform.gpu]

    def room(self, m: Machine, task: int) -> Room:
        """Stream, context, queue and SMs of a task."""
        return Room(stream=task)

    def queue(self, part: int) -> int:
        """Queue of the kernels of a part of the GPU: its own, or one for all."""
        return 0 if self.options.get("queues") == "shared" else part

    def sections(self, items: Sequence[Item], lone_copies: str) -> list[tuple[int, int]]:
        """Sections of a job. With lone_copies="free", copies without a kernel are in none."""
        found = sections_of(items) if self.has_sections else []
        if lone_copies == "free":
            found = [(a, b) for a, b in found if any(i.kind == KERNEL for i in items[a:b])]
        return found

    def setup(self, m: Machine) -> None:
        """Prepare state of the way."""

    # CPUs

    def begin(self, m: Machine, th: Thread, job: Job) -> bool:
        """Begin a section; False if the thread may not go on."""
        return True

    def end(self, m: Machine, th: Thread, job: Job) -> bool:
        """End a section; False if the thread may not go on."""
        return True

    def lends(self, m: Machine, th: Thread) -> list[int]:
        """Keys that a thread has beside its own."""
        return []

    def competes(self, th: Thread) -> bool:
        """Whether a ready thread may have a CPU."""
        return True

    def server_key(self, th: Thread) -> int | None:
        """Key of the server that serves a thread; None: it has its own."""
        return None

    def serve(self, m: Machine) -> None:
        """Choose the threads that compete, before each choice of threads."""

    def passes(self, span: int) -> None:
        """Note that time passes from now on."""

    def end_needs_cpu(self, m: Machine) -> bool:
        """Whether the end of a section is executed by the thread."""
        return False

    def may_spin(self, th: Thread) -> bool:
        """Whether the thread may spin while it waits for its operations."""
        return True

    def grant(self, m: Machine) -> bool:
        """Answer the requests of this round; True if anything changed."""
        return False

    def alarms(self, m: Machine) -> list[int]:
        """Instants at which the way acts."""
        return []

    def alarm(self, m: Machine) -> None:
        """Act at the end of step 1."""

    # GPU

    def holds(self, m: Machine, op: Op) -> bool:
        """Whether a kernel at the head of its stream may not join yet."""
        return False

    def choose(self, m: Machine, device: Device) -> Context | None:
        """Context that gets the GPU."""
        return device.owner

    def arrived(self, m: Machine, op: Op) -> None:
        """Note an operation that arrived in its stream."""

    def op_ended(self, m: Machine, op: Op) -> None:
        """Note an operation that ended."""

    def kernel_ended(self, m: Machine, device: Device, context: Context) -> None:
        """Note the end of a kernel of a context."""

    def served(self, m: Machine, device: Device) -> None:
        """Note that the GPU goes to another context."""


class OneStream(Way):
    """All tasks in one stream."""

    name = "one_stream"

    def room(self, m: Machine, task: int) -> Room:
        return Room(stream=0)


class PriorityStreams(Way):
    """Streams with priorities; levels beyond those of the platform fall into the least urgent."""

    name = "priority_streams"

    def room(self, m: Machine, task: int) -> Room:
        given = [one.stream_priority for one in m.workload]
        if any(one is None for one in given):
            n = range(len(given))
            order = sorted(n, key=lambda i: (m.workload[i].deadline, i))
            given = [order.index(i) for i in n]
        level = sorted(set(given)).index(given[task])
        most = m.platform.priority_levels
        return Room(stream=task, level=level if most is None else min(level, most - 1))


def process_of(m: Machine, task: int) -> Any:
    """Process of a task; a task without one is a process of its own."""
    process = m.workload[task].process
    return task if process is None else process


class Mps(Way):
    """Clients of MPS: one context, channels per client, a limit of SMs per client.

    The limit of a percentage is floor(share * SMs / 100), at least 1. A share is that of a process,
    or of a task by its name. A client has 2 channels unless the platform states them.
    """

    name = "mps"
    channels = 2

    def room(self, m: Machine, task: int) -> Room:
        client = process_of(m, task)
        shares = dict(m.platform.mps or ())
        share = shares.get(client if isinstance(client, str) else m.workload[task].name)
        limit = None
        if isinstance(share, gs.SMs):
            limit = share.count
        elif share is not None and m.platform.sms is not None:
            limit = max(1, share * m.platform.sms // 100)
        return Room(stream=task, limit=limit, client=client)


class GreenContexts(Way):
    """Green contexts: SM sets with queues of their own; channels in common, or balanced.

    Streams have the priorities of the workload. Tasks of no green context use the SMs that are in
    none.
    """

    name = "green_contexts"

    def room(self, m: Machine, task: int) -> Room:
        entries = m.platform.green_contexts
        if entries is None or m.platform.gpu is None:
            raise ValueError("green_contexts: got None, expected green contexts of the platform")
        sets, balanced = green_sms(entries, m.platform.gpu), m.platform.workqueue == "balanced"
        for group, (names, _) in enumerate(entries):
            if m.workload[task].name in names:
                own = group if balanced else 0
                level = m.workload[task].stream_priority or 0
                sms = tuple(sets[group])
                queue = self.queue(group)
                return Room(stream=task, group=queue, level=level, sms=sms, client=own)
        taken = {sm for one in sets for sm in one}
        rest = tuple(sm for sm in range(m.platform.gpu.sms) if sm not in taken)
        has_kernels = bool(m.workload[task].kernels)
        if has_kernels and not rest:
            raise ValueError(f"green_contexts: got no SMs for {m.workload[task].name}")
        own, queue = len(entries) if balanced else 0, self.queue(len(entries))
        return Room(stream=task, group=queue, sms=rest or (0,), client=own)


class MpsStatic(Way):
    """Clients of MPS in static partitions: SM sets with queues of their own, channels per client.

    A task without a process is a process of its name. Priorities of streams are not used.
    """

    name = "mps_static"
    channels = 2

    def room(self, m: Machine, task: int) -> Room:
        entries = m.platform.mps_partitions
        if entries is None or m.platform.gpu is None:
            raise ValueError("mps_partitions: got None, expected static partitions of the platform")
        sets = green_sms(entries, m.platform.gpu)
        client = process_of(m, task)
        name = client if isinstance(client, str) else m.workload[task].name
        for group, (names, _) in enumerate(entries):
            if name in names:
                sms = tuple(sets[group])
                return Room(stream=task, group=self.queue(group), sms=sms, client=client)
        if m.workload[task].kernels:
            raise ValueError(f"mps_partitions: got no SMs for {name}")
        return Room(stream=task, group=len(entries), sms=(0,), client=client)


class TimeSlices(Way):
    """A context per process (per task without one), in turns of at most a slice.

    ring="fifo": after a slice a context queues behind the others; "cyclic": a fixed order.
    """

    name = "time_slices"

    def room(self, m: Machine, task: int) -> Room:
        context = process_of(m, task)
        return Room(stream=task, context=context, client=context)

    def setup(self, m: Machine) -> None:
        self.slice = m.platform.timeslice
        self.ends: dict[int, int] = {}  # end of the slice by device
        self.gave_up = False
        self.ring: list[Context] = []

    def alarms(self, m: Machine) -> list[int]:
        return [t for t in self.ends.values() if m.devices[0].owner is not None]

    def served(self, m: Machine, device: Device) -> None:
        self.ends[0] = device.ready_at + self.slice
        self.gave_up = False

    def kernel_ended(self, m: Machine, device: Device, context: Context) -> None:
        """A context without a further kernel, joined or next in its stream, gives up."""
        queues = device.streams.values()
        heads = [q[0] for q in queues if q and q[0].room.context == context.name]
        if not context.has_work and not any(op.kind == KERNEL for op in heads):
            self.gave_up = True

    def choose(self, m: Machine, device: Device) -> Context | None:
        if len(device.contexts) == 1:
            return device.owner
        owner = device.owner
        if owner is not None and (self.gave_up or not owner.has_work):
            owner = None  # a launch of this instant queues it again
        waiting = [c for c in device.contexts.values() if c.has_work and c is not owner]
        self.ring = [c for c in self.ring if c in waiting]
        new = [c for c in waiting if c not in self.ring]
        new.sort(key=self._first_joined)
        self.ring += new
        over = owner is not None and self.ends[0] <= m.now
        if owner is not None and over and not self.ring:
            self.ends[0] = m.now + self.slice  # alone: another slice at no cost
            over = False
        if owner is not None and not over:
            return owner
        if owner is not None:
            self.ring.append(owner)
        if not self.ring:
            return None
        chosen = self._next(device)
        self.ring.remove(chosen)
        if chosen is device.owner:  # it gave up, and is the only one again
            self.ends[0], self.gave_up = m.now + self.slice, False
        return chosen

    @staticmethod
    def _first_joined(context: Context) -> tuple[int, int]:
        found = [(op.joined, op.serial) for q in context.queues.values() for op in q]
        return min(found, default=(0, 0))

    def _next(self, device: Device) -> Context:
        if device.last is None or self.options.get("ring") != "cyclic":
            return self.ring[0]
        order = list(device.contexts.values())
        k = order.index(device.last)
        return next(c for c in (*order[k + 1 :], *order[: k + 1]) if c in self.ring)


class Gcaps(Way):
    """A context per task; the most urgent open section has the GPU, also while it leaves it idle.

    An update of the run list precedes and ends a section: one at a time, not preemptable, most
    urgent first. The GPU stops during the begin update of a section more urgent than its owner.
    With ``stall`` kernels, but no switch, stop during all updates.
    """

    name = "gcaps"
    has_sections = True

    def room(self, m: Machine, task: int) -> Room:
        return Room(stream=task, context=task, client=task)

    def setup(self, m: Machine) -> None:
        given = [task.gpu_priority for task in m.workload]
        known = all(one is not None for one in given)
        self.urgency = [(given[i] if known else m.priority[i], i) for i in range(len(given))]
        self.cost = m.platform.update_cost
        self.open: list[int] = []  # tasks with an open section
        self.asked: list[tuple[Thread, int, bool]] = []
        self.updating: tuple[int, bool] | None = None

    def end_needs_cpu(self, m: Machine) -> bool:
        return self.cost > 0

    def begin(self, m: Machine, th: Thread, job: Job) -> bool:
        return self._ask(th, job.task, True)

    def end(self, m: Machine, th: Thread, job: Job) -> bool:
        return self._ask(th, job.task, False)

    def _ask(self, th: Thread, task: int, opens: bool) -> bool:
        if self.cost == 0:
            self._update(task, opens)
            return True
        self.asked.append((th, task, opens))
        th.state = "asking"
        return False

    def _update(self, task: int, opens: bool) -> None:
        if opens:
            self.open.append(task)
        else:
            self.open.remove(task)

    def grant(self, m: Machine) -> bool:
        changed = False
        if self.asked and self.updating is None:
            best = min(self.asked, key=lambda one: self.urgency[one[1]])
            self.asked.remove(best)
            th, task, opens = best
            self.updating = (task, opens)
            if th.state == "suspended":
                m.wake(th)
            th.state, th.boost, th.left = "ready", (0, 0), self.cost
            th.after = partial(self._updated, th, task, opens)
            changed = True
        for th, _, _ in self.asked:
            if th.state == "asking":
                changed = True
                if self.spin_hold:
                    m.spin(th, "the update")
                else:
                    m.suspend(th, "the update")
        return changed

    def _updated(self, th: Thread, task: int, opens: bool) -> None:
        self._update(task, opens)
        self.updating, th.boost, th.left = None, None, 0

    def choose(self, m: Machine, device: Device) -> Context | None:
        context = self._owner(device)
        if context is None or self.updating is None or not self.options.get("stall"):
            return context
        switches = device.owner is context and device.ready_at > m.now
        begins = device.last is not context and m.platform.context_switch > 0
        return context if switches or begins else None

    def _owner(self, device: Device) -> Context | None:
        """Context of the most urgent open section."""
        if len(device.contexts) == 1:
            return next(iter(device.contexts.values()))
        if not self.open:
            return None
        task = min(self.open, key=lambda i: self.urgency[i])
        if self.updating is not None:
            beginning, opens = self.updating
            if opens and self.urgency[beginning] < self.urgency[task]:
                return None
        context = device.contexts.get(task)
        if context is None:  # a section of copies
            return None
        # A switch begins when the owner has a kernel; before it the GPU stays where it is.
        return context if context.has_work or context is device.owner else None


class Lock(Way):
    """A lock for the GPU; a holder keeps it during a section."""

    has_sections = True
    by_priority = False
    boost: int | None = 1  # level of the holder; None: own priority

    def room(self, m: Machine, task: int) -> Room:
        return Room(stream=task, context=m.workload[task].process)

    def choose(self, m: Machine, device: Device) -> Context | None:
        busy = [c for c in device.contexts.values() if c.has_work]
        return busy[0] if busy and len(device.contexts) > 1 else device.owner

    def setup(self, m: Machine) -> None:
        self.holder: Thread | None = None
        self.asked: list[tuple[int, Any, Thread]] = []

    def end_needs_cpu(self, m: Machine) -> bool:
        return True

    def order(self, m: Machine, one: tuple[int, Any, Thread]) -> Any:
        """Order of requests."""
        return (one[2].base, one[0], one[1]) if self.by_priority else one[:2]

    def begin(self, m: Machine, th: Thread, job: Job) -> bool:
        self.asked.append((m.rounds, m.rank(th.index), th))
        th.state = "asking"
        return False

    def end(self, m: Machine, th: Thread, job: Job) -> bool:
        self.holder, th.boost = None, None
        return True

    def grant(self, m: Machine) -> bool:
        changed = False
        if self.holder is None and self.asked:
            best = min(self.asked, key=lambda one: self.order(m, one))
            self.asked.remove(best)
            self.holder = th = best[2]
            if th.state == "suspended":
                m.wake(th)
            th.state, th.left, th.why = "ready", 0, ""
            if self.boost is not None:
                th.boost = (self.boost, th.base)
            changed = True
        return self.let_wait(m) or changed

    def let_wait(self, m: Machine) -> bool:
        """Let threads wait that were not granted anything."""
        changed = False
        for _, _, th in self.asked:
            if th.state == "asking":
                changed = True
                if self.spin_wait:
                    m.spin(th, "the lock")
                else:
                    m.suspend(th, "the lock")
        return changed


class Mpcp(Lock):
    """Lock by priority; the holder is boosted above all that do not hold it."""

    name = "mpcp"
    by_priority = True


class FmlpPlus(Lock):
    """FIFO lock; the holder is boosted."""

    name = "fmlp_plus"


class Srm(Lock):
    """Global EDF and a FIFO lock; the holder inherits the keys of those who wait for it."""

    name = "srm"
    cpu = "global_edf"
    boost = None

    def setup(self, m: Machine) -> None:
        super().setup(m)
        self.keys: list[int] = []  # of those who wait, since the last grant

    def lends(self, m: Machine, th: Thread) -> list[int]:
        return self.keys if th is self.holder else []

    def grant(self, m: Machine) -> bool:
        return self.lend(m, super().grant(m))

    def lend(self, m: Machine, changed: bool) -> bool:
        before, self.keys = self.keys, sorted(m.own_key(one) for _, _, one in self.asked)
        return changed or before != self.keys


class Omlp(Srm):
    """The same, but a FIFO queue of a place per CPU (one is the holder's); others wait by key."""

    name = "omlp"

    def setup(self, m: Machine) -> None:
        super().setup(m)
        self.line: list[Thread] = []  # in the FIFO queue, without the holder

    def order(self, m: Machine, one: tuple[int, Any, Thread]) -> Any:
        return self.line.index(one[2])

    def grant(self, m: Machine) -> bool:
        held = self.holder is not None
        outside = [one for one in self.asked if one[2] not in self.line]
        older = sorted((m.own_key(o[2]), *o[:2], o) for o in outside if o[0] < m.rounds)
        newer = sorted((*o[:2], o) for o in outside if o[0] == m.rounds)
        for *_, one in older + newer:
            if len(self.line) + held < m.platform.cpus:
                self.line.append(one[2])
        rest = [one for one in self.asked if one[2] not in self.line]
        self.asked = [one for one in self.asked if one[2] in self.line]
        changed = Lock.grant(self, m)
        if not held and self.holder is not None:
            self.line.remove(self.holder)
        self.asked += rest
        return self.lend(m, self.let_wait(m) or changed)


class Driver(Way):
    """Global EDF; the GPU takes what is launched in the order of the launches, one at a time."""

    name = "driver"
    cpu = "global_edf"

    def room(self, m: Machine, task: int) -> Room:
        return Room(stream="driver", context=m.workload[task].process)

    def choose(self, m: Machine, device: Device) -> Context | None:
        busy = [c for c in device.contexts.values() if c.has_work]
        return busy[0] if busy and len(device.contexts) > 1 else device.owner


class EdfSerial(Lock):
    """One job's GPU part at a time, earliest deadline first, without preemption.

    The part extends from the first section with a kernel to the last one. ``tails`` (one per task)
    shortens the deadlines by which parts are ordered. A thread launches at its own priority.
    """

    name = "edf_serial"
    boost = None

    def sections(self, items: Sequence[Item], lone_copies: str) -> list[tuple[int, int]]:
        found = super().sections(items, "free")
        return [(found[0][0], found[-1][1])] if found else []

    def end_needs_cpu(self, m: Machine) -> bool:
        return False

    def order(self, m: Machine, one: tuple[int, Any, Thread]) -> Any:
        job = one[2].job
        assert job is not None
        tails = self.options.get("tails") or [0] * len(m.workload)
        return (job.deadline - tails[job.task], m.rank(job.task))


class Stgm(Lock):
    """A set of SMs per task, and a FIFO lock per SM, at a boosted priority.

    hold="section" (default): a section waits until all earlier requests that share an SM have
    ended, its copies are inside. hold="kernel": only kernels wait, in the order of their arrival.
    Mode "busy" keeps the core from the request on.
    """

    name = "stgm"

    def room(self, m: Machine, task: int) -> Room:
        return Room(stream=task, group=task, sms=self.sms_of(m, task), client=task)

    def sms_of(self, m: Machine, task: int) -> tuple[int, ...]:
        """SMs of a task; without an argument all of them."""
        given = self.options.get("sms")
        if isinstance(given, dict):
            given = [given.get(one.name) for one in m.workload]
        if given is None or given[task] is None:
            return tuple(range(m.platform.sms or 1))
        return tuple(given[task])

    def setup(self, m: Machine) -> None:
        super().setup(m)
        self.spin_wait = self.spin_hold
        self.by_kernel = self.options.get("hold") == "kernel"
        self.holders: list[Thread] = []
        self.kernels: list[Op] = []  # arrived and not ended

    def begin(self, m: Machine, th: Thread, job: Job) -> bool:
        th.boost = (1, th.base)
        return True if self.by_kernel else super().begin(m, th, job)

    def end(self, m: Machine, th: Thread, job: Job) -> bool:
        th.boost = None
        if not self.by_kernel:
            self.holders.remove(th)
        return True

    def grant(self, m: Machine) -> bool:
        changed = False
        taken = {sm for th in self.holders for sm in self.sms_of(m, th.index)}
        for one in sorted(self.asked, key=lambda one: self.order(m, one)):
            th, wanted = one[2], set(self.sms_of(m, one[2].index))
            if not wanted & taken:
                self.asked.remove(one)
                self.holders.append(th)
                if th.state == "suspended":
                    m.wake(th)
                th.state, th.left, th.why = "ready", 0, ""
                changed = True
            taken |= wanted
        return self.let_wait(m) or changed

    def arrived(self, m: Machine, op: Op) -> None:
        if op.kind == KERNEL:
            self.kernels.append(op)

    def op_ended(self, m: Machine, op: Op) -> None:
        if op.kind == KERNEL:
            self.kernels.remove(op)

    def holds(self, m: Machine, op: Op) -> bool:
        mine = set(op.room.sms or ())
        before = self.kernels[: self.kernels.index(op)]
        return self.by_kernel and any(mine & set(other.room.sms or ()) for other in before)


class GpuServer(Way):
    """A server thread of the highest priority runs sections for its clients, most urgent first.

    ``server_core`` None: a core of its own. The overhead runs before the first section of a busy
    period and after every section; then the client is notified and the next section is chosen.
    """

    name = "gpu_server"
    has_sections = True

    def setup(self, m: Machine) -> None:
        core = self.options.get("server_core")
        if core is None or m.cpu_policy != "partitioned":
            core = len(m.cpus)
            m.cpus.append([m.platform.cpus])
        self.server = Thread(len(m.workload), core, -1, boost=(0, 0))
        m.threads.append(self.server)
        self.cost = m.platform.server_overhead
        self.asked: list[tuple[int, Any, Thread]] = []
        self.ended: Thread | None = None

    def may_spin(self, th: Thread) -> bool:
        return th is not self.server

    def end_needs_cpu(self, m: Machine) -> bool:
        return True

    def begin(self, m: Machine, th: Thread, job: Job) -> bool:
        self.asked.append((th.base, m.rank(th.index), th))
        th.state = "asking"
        return False

    def grant(self, m: Machine) -> bool:
        changed = False
        for _, _, th in self.asked:
            if th.state == "asking":
                changed = True
                m.suspend(th, "the server")
        if self.asked and self.server.state == "idle":
            self._overhead(m)
            changed = True
        return changed

    def end(self, m: Machine, th: Thread, job: Job) -> bool:
        self.ended = m.threads[job.task]
        self._overhead(m)
        return False

    def _overhead(self, m: Machine) -> None:
        """Let the server spend its overhead, then turn to the next request."""
        server = self.server
        server.job = None
        if server.cpu < 0:
            m.wake(server)
        server.state, server.left, server.item = "ready", self.cost, -1
        server.after = lambda: self._turn(m)

    def _turn(self, m: Machine) -> None:
        server, client = self.server, self.ended
        if client is not None:
            self.ended = None
            client.left = 0
            m.wake(client)
            job = client.job
            assert job is not None
            if m.programs[job.task][job.at].kind == "STOP":
                m.go_on(client)
        if not self.asked:
            server.state, server.job, server.cpu = "idle", None, -1
            return
        best = min(self.asked, key=lambda one: one[:2])
        self.asked.remove(best)
        m.suspend(best[2], "the server")
        server.state, server.left, server.job = "ready", 0, best[2].job


class Container(Lock):
    """Global EDF; one server serves the tasks with sections, in the order of their releases.

    Its jobs have a budget and a deadline a period after their releases, which are a period apart
    while there is a job to serve. Those of the same release are in the order of their priorities.
    The server has a CPU as the thread that it serves. Its budget is used while that runs (or spins)
    and while no thread of it is ready. Mode "busy": it serves the first job to its end. The GPU is
    for the job released first of all those whose last section has not ended, also of jobs that wait
    for an earlier one of their task.
    """

    name = "container"
    cpu = "global_edf"

    def setup(self, m: Machine) -> None:
        super().setup(m)
        self.spin_wait = False
        self.inside = [th for th in m.threads if m.sections[th.index]]
        self.period, self.full = self.options["server_period"], self.options["server_budget"]
        self.budget = self.deadline = self.again = 0
        self.empty, self.idles = True, False
        self.current: Thread | None = None

    def end_needs_cpu(self, m: Machine) -> bool:
        return False

    def competes(self, th: Thread) -> bool:
        return th not in self.inside or th is self.current

    def server_key(self, th: Thread) -> int | None:
        return self.deadline if th in self.inside else None

    @property
    def _is_used(self) -> bool:
        """Whether the budget is used."""
        return self.idles or (self.current is not None and self.current.cpu >= 0)

    def alarms(self, m: Machine) -> list[int]:
        if self._is_used:
            return [m.now + self.budget]
        return [self.again] if not self.empty and self.budget == 0 else []

    def passes(self, span: int) -> None:
        if self._is_used:
            self.budget -= span
            if self.budget == 0:
                self.current, self.idles = None, False

    def serve(self, m: Machine) -> None:
        here = [th for th in self.inside if th.job is not None]
        if any(th.state == "asking" for th in here):
            return
        self.current, self.idles = None, False
        if not here:
            self.budget, self.empty = 0, True
            return
        if self.empty:
            self.again, self.empty = max(self.again, m.now), False
        if self.budget == 0:
            if self.again > m.now:
                return
            self.deadline = self.again = self.again + self.period
            self.budget = self.full
        here.sort(key=lambda th: self._place(th, th.job))
        able = [th for th in (here[:1] if self.spin_hold else here) if th.state == "ready"]
        self.current, self.idles = able[0] if able else None, not able

    @staticmethod
    def _place(th: Thread, job: Job | None) -> tuple[int, int, int]:
        assert job is not None
        return (job.release, th.base, th.index)

    def grant(self, m: Machine) -> bool:
        users = [
            (self._place(th, job), job, th)
            for th in self.inside
            for job in ([] if th.job is None else [th.job, *th.queue])
            if any(step.kind == "END" for step in m.programs[th.index][job.at :])
        ]
        changed = False
        if self.holder is None and users:
            _, job, th = min(users, key=lambda one: (one[0], one[1].number))
            mine = [one for one in self.asked if one[2] is th and th.job is job]
            if mine:
                self.asked.remove(mine[0])
                self.holder = th
                if th.state == "suspended":
                    m.wake(th)
                th.state, th.left, th.why = "ready", 0, ""
                changed = True
        return self.let_wait(m) or changed


class Pbs(Way):
    """A table of frames, repeated every hyperperiod: (start, end, [(task, job, kernel), ...]).

    A kernel may not start before the start of its frame, nor before all kernels of all earlier
    frames have ended. The kernels of a frame join the queue in the order in which they are listed.
    Tasks are indices or names; a job has the number that it has in its hyperperiod, a kernel its
    number in the job, counted with repetitions. ``end`` is not used.
    """

    name = "pbs"

    def setup(self, m: Machine) -> None:
        table = self.options.get("table")
        if table is None:
            raise ValueError("table: got None, expected frames")
        period = self.options.get("repeat") or m.workload.hyperperiod
        frames = [
            (start, [(m.workload.index(task), job, k) for task, job, k in kernels])
            for start, _, kernels in table
        ]
        self.joined: set[tuple[int, int, int]] = set()
        self.frames: list[tuple[int, list[tuple[int, int, int]]]] = []
        for r in range(m.until // period + 1):
            for start, kernels in frames:
                moved = [(i, j + r * (period // m.workload[i].period), k) for i, j, k in kernels]
                self.frames.append((start + r * period, moved))
        self.at = 0

    def alarms(self, m: Machine) -> list[int]:
        return [self.frames[self.at][0]] if self.at < len(self.frames) else []

    def op_ended(self, m: Machine, op: Op) -> None:
        if op.kind != KERNEL or self.at == len(self.frames):
            return
        left, name = self.frames[self.at][1], (op.task, op.job, op.kernel)
        if name in left:
            left.remove(name)
        if not left:
            self.at += 1

    def holds(self, m: Machine, op: Op) -> bool:
        while self.at < len(self.frames) and not self.frames[self.at][1]:
            self.at += 1
        if self.at == len(self.frames):
            return False
        start, left = self.frames[self.at]
        name = (op.task, op.job, op.kernel)
        if m.now < start or name not in left:
            return True
        if any(other not in self.joined for other in left[: left.index(name)]):
            return True
        self.joined.add(name)
        return False


class Mig(Way):
    """Instances of a GPU, each with its own SMs, engines and queues, beside the same CPUs.

    ``instances``: number of the instance of each task. Within an instance tasks have streams; with
    within="priority_streams", "mps" or "one_stream" they share it in that way.
    """

    name = "mig"

    def gpus(self, m: Machine) -> list[gs.GPU | None]:
        profiles, gpu = m.platform.mig, m.platform.gpu
        if not profiles or gpu is None:
            raise ValueError("mig: got None, expected profiles of the platform's GPU")
        return [gpu.instance(profile) for profile in profiles]

    def room(self, m: Machine, task: int) -> Room:
        within = WAYS[self.options.get("within") or "streams"]
        room = within().room(m, task)
        given = self.options.get("instances")
        if isinstance(given, dict):
            given = [given[one.name] for one in m.workload]
        count = len(m.platform.mig or ())
        room.device = task % count if given is None else given[task]
        return room


WAYS: dict[str, type[Way]] = {
    way.name: way
    for way in (
        *(
            Way,
            OneStream,
            PriorityStreams,
            Mps,
            MpsStatic,
            GreenContexts,
            TimeSlices,
            Gcaps,
            Mpcp,
            FmlpPlus,
        ),
        *(Srm, Omlp, Driver, EdfSerial, Stgm, GpuServer, Container, Pbs, Mig),
    )
}
"""Ways by name."""


def play(
    workload: gs.Workload,
    platform: gs.Platform,
    way: str,
    *,
    until: int,
    mode: str | None = None,
    cores: Sequence[int] | None = None,
    cpu: str | None = None,
    sms: Any = None,
    server_core: int | None = None,
    table: Any = None,
    repeat: int | None = None,
    ring: str | None = None,
    tails: Sequence[int] | None = None,
    hold: str | None = None,
    instances: Any = None,
    within: str | None = None,
    queues: str = "own",
    stall: bool = False,
    server_period: int | None = None,
    server_budget: int | None = None,
    **options: Any,
) -> Run:
    """Play a workload under a way up to the instant ``until``.

    Parameters
    ----------
    mode
        "suspend" (default): threads are suspended while they wait; "busy": they keep their CPUs
        while the GPU works for them; "spin": they also spin while they wait for a lock.
    cores, cpu
        Core of each task; "partitioned", "global_fp" or "global_edf". Default: that of the way.
    sms, hold
        SMs of each task (a list of sets, or a dict by name) and the kind of hold, for "stgm".
    server_core
        Core of the server of "gpu_server"; None: one of its own.
    table, repeat
        Frames of "pbs", and their period (default: the hyperperiod).
    ring, tails, instances, within, queues, stall
        Options of "time_slices", "edf_serial", "mig", of ways with parts of the GPU, and "gcaps".
    server_period, server_budget
        Of the server of "container".
    options
        ``releases`` (per task a list of instants, or of pairs of arrival and release), ``times``
        (a function of task, job, item, block and whole time, or a table by task, job and item),
        ``seed`` (ties by draw), ``last`` (a task whose requests come last at ties),
        ``lone_copies`` ("section": a copy next to no kernel is a section, "free": it is in none),
        ``channel_release`` ("dispatched", "ended").
    """
    if way not in WAYS:
        raise ValueError(f"way: got {way!r}, expected one of {', '.join(WAYS)}")
    given = {"sms": sms, "server_core": server_core, "table": table, "repeat": repeat}
    given |= {"tails": tails, "hold": hold, "instances": instances, "within": within}
    given |= {"queues": queues, "stall": stall}
    given |= {"server_period": server_period, "server_budget": server_budget}
    chosen = WAYS[way](mode, ring=ring or platform.ring, **given)
    return Machine(
        workload, platform, chosen, until=until, cores=cores, cpu=cpu or chosen.cpu, **options
    ).run()
