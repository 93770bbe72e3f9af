"""Simulation of the scheduling hierarchy: SM, start and waiting reason of every block.

Sources: "Dissecting the CUDA scheduling hierarchy", section III; the queue rules of [RTSS17].
(RTSS 2017); the false dependencies between the streams of a channel of Bakita and Anderson (RTAS
2024).  The rules are those in the comments of csrc/sim/hierarchy.h.

A system is a dict of plain numbers and lists:

limits        sms, warps, blocks, registers and shared memory of an SM, most shared memory of a
              block, reserved shared memory, unit of shared memory, unit of registers, partitions,
              index of a rule in place.RULES, possible carve-outs
sm_order      SM ids; None: ascending
policy        of block placement, a name of place.place()
copy_engines  per engine the directions that it serves: 1 in, 2 out, 3 both
channels (0: no limit), context_switch
timeslice     per context
runlist       contexts; None: each one once
context, priority, stream_kind            per stream
time, kind, stream, blocks, threads, regs, smem    per launch; the last four mean nothing for copies
carveout      per launch: bytes preferred as shared memory, -1: none; None: of no launch
duration      per launch: one number, or a list with one number per block
after         per launch: the launches that must have ended; None: no launch waits for others
interference  per launch: four factors in thousandths; None: no interference
graph         per launch: number of the graph that it is a node of, -1: none; None: no graphs
programmatic  per launch: whether it need not wait for the end of its primary; None: none of them
trigger       per launch: time of a block after which the primary's successor may start, -1: that of
              the whole block; None: -1
sms_per_gpc   numbers of SMs with consecutive ids in the GPCs; None: all are one
partition     per stream; a partition lies in one context; None: every context is one
partition_sms    per partition: SM ids, or None for all SMs; None: of all partitions
partition_limit  per partition: SMs that may hold its blocks at once, 0: no limit; None: of none
own_queues       per partition: whether it has queues of its own; None: of none
channels_until_end  whether a kernel leaves its channel at its end, not when fully dispatched
shared_channels  whether the partitions of a context share its channels; each has its own otherwise
cooperative   per launch: whether all blocks start at one instant; None: of none
cluster       per launch: blocks that start together on one GPC; None: 1
resident_grids   kernels of a context with blocks that have started, and blocks that have not ended,
              at once; 0: any number
Those from graph on, but for sms_per_gpc, may be missing.

No cleverness: from one instant to the next at which something happens, lists of single blocks.
"""

from reference import place

KERNEL, COPY_IN, COPY_OUT = range(3)
BLOCKING, NON_BLOCKING, NULL = range(3)
STREAM, AFTER, NULL_STREAM, CHANNEL, SLICE, PRIORITY, QUEUE = range(7)
WARPS, BLOCKS, REGS, SMEM, COPY_ENGINE, CARVEOUT = range(7, 13)
PARTITION, COOPERATIVE, CLUSTER, GRIDS = range(13, 17)
RESOURCES = (WARPS, BLOCKS, REGS, SMEM, CARVEOUT)
ROOM = (*RESOURCES, PARTITION, COOPERATIVE, CLUSTER)


def footprint(limits, threads, regs, smem):
    """(warps, registers, shared memory) of a block, and the registers of an SM it can use."""
    _, _, _, regs_per_sm, _, _, reserved, smem_unit, reg_unit, partitions = limits[:10]
    warps = place.up(threads, 32) // 32
    per_warp = place.up(regs * 32, reg_unit)
    usable = partitions * (regs_per_sm // partitions // per_warp) * per_warp if per_warp else 0
    return (warps, warps * per_warp, place.up(smem + reserved, smem_unit)), usable


def carveout(limits, threads, regs, smem, preferred=-1):
    """Configuration of a kernel; one that is preferred holds a block of it in any case."""
    sizes = limits[12:]
    (warps, per_block_regs, per_block), usable = footprint(limits, threads, regs, smem)
    if preferred >= 0:
        enough = max(preferred, per_block if smem else 0)
        return min([size for size in sizes if size >= enough], default=max(sizes))

    def occupancy(size):
        have = (limits[1], limits[2], usable, min(size, limits[4]))
        return place.room(have, (0, 0, 0, 0), (1, warps, per_block_regs, per_block))

    return place.configuration(sizes, occupancy, smem, per_block)


def rule_of(limits):
    return place.RULES[limits[11]]


def partition_of(system, stream):
    return (system.get("partition") or system["context"])[stream]


def channel_of(system, stream):
    """The channel of a stream's kernels, None without a limit on channels.

    The streams of a partition, or of a context whose partitions share channels, take turns.
    """
    if system["channels"] == 0:
        return None
    homes = system["context"]
    if not system.get("shared_channels"):
        homes = [partition_of(system, s) for s in range(len(homes))]
    mates = [s for s, home in enumerate(homes) if home == homes[stream]]
    return homes[stream], mates.index(stream) % system["channels"]


def gpc_of(system, sm):
    """The number of an SM's GPC."""
    for number, size in enumerate(system["sms_per_gpc"] or [system["limits"][0]]):
        if sm < size:
            return number
        sm -= size
    raise AssertionError("GPCs have all SMs")


def group_of(system, stream):
    """The streams whose kernels share queues, by the smallest partition among them."""
    own = system.get("own_queues")
    mine = partition_of(system, stream)
    if own and own[mine]:
        return mine
    return min(
        partition_of(system, s)
        for s, context in enumerate(system["context"])
        if context == system["context"][stream] and not (own and own[partition_of(system, s)])
    )


class Launch:
    def __init__(self, system, row):
        self.id = row
        self.time = system["time"][row]
        graph = system["graph"][row] if system.get("graph") else -1
        self.graph = graph if graph >= 0 else None
        # The nodes of a graph are launched one after the other, with its first one.
        mates = [r for r in range(row) if graph >= 0 and system["graph"][r] == graph]
        self.order = (self.time, min([row, *mates]), row)
        self.kind = system["kind"][row]
        self.stream = system["stream"][row]
        self.context = system["context"][self.stream]
        self.partition = partition_of(system, self.stream)
        self.group = group_of(system, self.stream)
        self.priority = system["priority"][self.stream]
        self.stream_kind = system["stream_kind"][self.stream]
        duration = system["duration"][row]
        self.after = system["after"][row] if system.get("after") else []
        self.factors = system["interference"][row] if system.get("interference") else None
        if self.kind == KERNEL:
            take = [system[key][row] for key in ("threads", "regs", "smem")]
            self.take, self.regs_usable = footprint(system["limits"], *take)
            self.carveout = None
            if rule_of(system["limits"]) != "ignore":
                preferred = system["carveout"][row] if system.get("carveout") else -1
                self.carveout = carveout(system["limits"], *take, preferred)
            self.blocks = system["blocks"][row]
            self.duration = duration if isinstance(duration, list) else [duration] * self.blocks
            self.trigger = system["trigger"][row] if system.get("trigger") else -1
            self.cooperative = bool(system.get("cooperative")) and system["cooperative"][row]
            self.cluster = system["cluster"][row] if system.get("cluster") else 1
            self.channel = channel_of(system, self.stream)
        else:
            self.copy_time = duration
        self.head = self.joined = self.first = self.dispatched = self.end = -1
        self.primary = None  # the kernel whose triggers are enough for this one to start
        self.engine = -1
        self.started = self.running = 0
        self.why = self.blocker = self.since = -1


class Block:
    """A block that runs; left: what it has to go, in thousandths of ticks of undisturbed time."""

    def __init__(self, launch, number, sm, now):
        self.launch, self.number, self.sm, self.start, self.end = launch, number, sm, now, -1
        self.left = 1000 * launch.duration[number]
        self.after_trigger = 0  # of `left`, what comes after its trigger
        if 0 <= launch.trigger < launch.duration[number]:
            self.after_trigger = self.left - 1000 * launch.trigger
        self.factor = 1000

    def has_triggered(self):
        return self.left <= self.after_trigger

    def time_to_go(self):
        """Until its trigger, or then until its end."""
        part = self.left if self.has_triggered() else self.left - self.after_trigger
        return -(-part * self.factor // 10**6)


class Context:
    """State of an application's kernels, on the GPU or suspended."""

    def __init__(self, sms):
        self.queue = []  # kernels that have joined and are not fully dispatched, as they joined
        self.work = 0  # kernels that have joined and not ended
        self.blocks = []  # running (or frozen)
        self.used = [[0] * 4 for _ in range(sms)]
        self.present = [None] * sms  # configurations, None: no block
        self.history = [[] for _ in range(sms)]  # see place.place()
        self.pointer = 0  # of round_robin
        self.placed = None  # the kernel whose blocks were placed last
        self.kernels = 0  # how often that changed

    def level(self, group, priority):
        return [k for k in self.queue if (k.group, k.priority) == (group, priority)]

    def heads(self, group):
        """The heads of the queues of a group, the most urgent one first."""
        priorities = {k.priority for k in self.queue if k.group == group}
        return [self.level(group, priority)[0] for priority in sorted(priorities)]

    def held(self, partition):
        """SMs with blocks of a partition."""
        return {block.sm for block in self.blocks if block.launch.partition == partition}


class Hierarchy:
    def __init__(self, system):
        self.system = system
        sms = system["limits"][0]
        self.order = list(system["sm_order"] or range(sms))
        self.launch = [Launch(system, row) for row in range(len(system["time"]))]
        self.by_launch = sorted(self.launch, key=lambda k: k.order)
        for k in self.launch:
            if k.kind == KERNEL and system.get("programmatic") and system["programmatic"][k.id]:
                k.primary = self.primary_of(k)
        self.context = [Context(sms) for _ in system["timeslice"]]
        self.runlist = list(system["runlist"] or range(len(self.context)))
        self.turn = -1
        self.active = self.last = None
        self.resumed = self.slice_end = None
        self.engines = system["copy_engines"]
        self.copies = []  # that have joined and not ended, as they joined
        self.log, self.waits, self.slices = [], [], []

    def primary_of(self, k):
        """The kernel before a programmatic one: in its graph, or right before it in its stream."""
        if k.graph is not None:
            (before,) = {self.launch[other] for other in k.after}
            assert before.kind == KERNEL and before.graph == k.graph and before is not k
            return before
        earlier = [j for j in self.by_launch if j.stream == k.stream and j.order < k.order]
        if earlier and earlier[-1].kind == KERNEL and earlier[-1].graph is None:
            return earlier[-1]
        return None

    def run(self):
        self.now = self.seen = min((k.time for k in self.launch), default=None)
        while self.now is not None:
            self.progress()
            self.end_blocks()
            self.end_copies()
            while True:
                self.become_heads()
                self.join()
                self.change_context()
                if not self.start_blocks():
                    break
            self.start_copies()
            self.look_at_waits()
            self.interfere()
            self.seen, self.now = self.now, self.next_instant()
        return self.result()

    # At one instant ---------------------------------------------------------------------------

    def has_gpu(self, context):
        return context == self.active and self.resumed <= self.now

    def progress(self):
        if self.active is not None:
            passed = max(0, self.now - max(self.seen, self.resumed))
            for block in self.context[self.active].blocks:
                block.left -= passed * 10**6 // block.factor

    def end_blocks(self):
        for context in self.context:
            for block in [b for b in context.blocks if b.left <= 0]:
                kernel = block.launch
                context.blocks.remove(block)
                block.end = self.now
                for r, amount in enumerate(needs(kernel)):
                    context.used[block.sm][r] -= amount
                if context.used[block.sm][1] == 0:
                    context.present[block.sm] = None
                kernel.running -= 1
                if kernel.running == 0 and kernel.started == kernel.blocks:
                    kernel.end = self.now
                    context.work -= 1

    def end_copies(self):
        for copy in [c for c in self.copies if c.engine >= 0]:
            if copy.first + copy.copy_time == self.now:
                copy.end = self.now
                self.copies.remove(copy)

    def engines_of(self, copy):
        """The engines with a copy's direction, those with the fewest directions first."""
        found = [e for e, mask in enumerate(self.engines) if mask & copy.kind]
        return sorted(found, key=lambda e: bin(self.engines[e]).count("1"))

    def start_copies(self):
        for copy in [c for c in self.copies if c.engine < 0]:
            busy = [c.engine for c in self.copies]
            idle = [e for e in self.engines_of(copy) if e not in busy]
            if idle:
                copy.engine = idle[0]
                copy.first = copy.dispatched = self.now
        for copy in [c for c in self.copies if c.engine < 0 and c.joined == self.now]:
            before = self.copies[: self.copies.index(copy)]
            mine = set(self.engines_of(copy))
            ahead = [
                c for c in before if mine & ({c.engine} if c.engine >= 0 else {*self.engines_of(c)})
            ]
            copy.ahead = ahead[-1].id

    def launched(self):
        """Launches that have not ended, in order of launch."""
        return [k for k in self.by_launch if k.time <= self.now and k.end < 0]

    def before_in_stream(self, k):
        """Operations before this one, or before its graph, that have not ended."""
        return [
            j
            for j in self.launched()
            if j.stream == k.stream
            and j.order < k.order
            and (k.graph is None or j.graph != k.graph)
        ]

    def is_past_triggers(self, kernel):
        """Whether all blocks of a kernel have started, and triggered or ended."""
        mine = [b for b in self.context[kernel.context].blocks if b.launch is kernel]
        return kernel.started == kernel.blocks and all(b.has_triggered() for b in mine)

    def become_heads(self):
        for k in self.launched():
            if k.head < 0:
                early = k.graph is None and k.primary and self.is_past_triggers(k.primary)
                if early or not self.before_in_stream(k):
                    k.head = self.now

    def obstacle(self, k):
        """(why, blocker) of a stream's head that has not joined; None when it may."""
        for other in k.after:
            enough = k.primary and self.is_past_triggers(k.primary)
            if self.launch[other].end < 0 and not (k.graph is not None and enough):
                return AFTER, other
        against = {BLOCKING: NULL, NULL: BLOCKING}.get(k.stream_kind)
        earlier = [other for other in self.launched() if other.order < k.order]
        kept = [other for other in earlier if other.partition == k.partition]
        kept = [other for other in kept if other.stream_kind == against]
        if kept and against == NULL:  # the last of that stream
            return NULL_STREAM, kept[-1].id
        if kept:  # the oldest one of the stream with the smallest number
            return NULL_STREAM, min(kept, key=lambda other: other.stream).id
        if k.kind == KERNEL and k.channel is not None:
            before = [j for j in earlier if j.kind == KERNEL and j.channel == k.channel]
            before = [j for j in before if j.graph is None or j.graph != k.graph]
            if not self.system.get("channels_until_end"):
                before = [j for j in before if j.dispatched < 0]
            if before:
                return CHANNEL, before[-1].id
        return None

    def join(self):
        for k in self.launched():
            if k.head < 0 or k.joined >= 0 or self.obstacle(k):
                continue
            k.joined = self.now
            if k.kind == KERNEL:
                context = self.context[k.context]
                level = context.level(k.group, k.priority)
                k.ahead = level[-1].id if level else -1
                context.queue.append(k)
                context.work += 1
            else:
                self.copies.append(k)

    def change_context(self):
        waiting = [c for c, context in enumerate(self.context) if context.work]
        active = self.active
        if active in waiting:
            length = self.system["timeslice"][active]
            while self.slice_end < self.now:
                self.slice_end += length
            if self.slice_end > self.now:
                return
            if waiting == [active]:
                self.slice_end += length
                return
        while waiting:
            self.turn = (self.turn + 1) % len(self.runlist)
            if self.runlist[self.turn] in waiting:
                break
        following = self.runlist[self.turn] if waiting else None
        if active is not None and following == active:
            self.slice_end = self.now + self.system["timeslice"][active]
            return
        if active is not None:
            self.slices.append((active, self.resumed, self.now))
            self.last = active
        self.active = following
        if following is not None:
            switch = self.last not in (None, following)
            self.resumed = self.now + (self.system["context_switch"] if switch else 0)
            self.slice_end = self.resumed + self.system["timeslice"][following]

    def start_blocks(self):
        """Whether a kernel was fully dispatched."""
        any_dispatched = False
        stuck = set()  # heads without room
        while self.active is not None and self.resumed <= self.now:
            context = self.context[self.active]
            groups = {k.group for k in context.queue}
            heads = [[k for k in context.heads(g) if self.has_place(k)][:1] for g in groups]
            heads = [k for first in heads for k in first if k not in stuck]
            if not heads:
                break
            kernel = min(heads, key=lambda k: (k.priority, k.group))
            before = kernel.started
            sms = self.start_kernel(context, kernel)
            done = kernel.started == kernel.blocks
            if not done:
                stuck.add(kernel)
            if not sms:
                continue
            if before == 0:
                kernel.first = self.now
            if kernel.why in ROOM and (before == 0 or done):
                self.wait_for(kernel, -1, -1, sms[0])
            if done:
                kernel.dispatched = self.now
                context.queue.remove(kernel)
                any_dispatched = True
        return any_dispatched

    def has_place(self, kernel):
        """Whether a kernel is resident, or may become so beside the others of its context."""
        most = self.system.get("resident_grids", 0)
        resident = [
            k
            for k in self.launched()
            if k.kind == KERNEL and k.context == kernel.context and k.started > 0
        ]
        return most == 0 or kernel in resident or len(resident) < most

    def start_kernel(self, context, kernel):
        """Starts the blocks that can start; their SMs."""
        among = None
        if kernel.cooperative:
            among, most = self.all_at_once(context, kernel)
            if most < kernel.blocks:
                return []
        sms = []
        while kernel.started < kernel.blocks:
            if kernel.cluster > 1:
                usable = self.choose_gpc(context, kernel, among)
            else:
                usable = self.usable(context, kernel) if among is None else among
            for _ in range(kernel.cluster):
                sm = self.choose_sm(context, kernel, usable)
                if sm is None:
                    return sms
                sms.append(sm)
                block = Block(kernel, kernel.started, sm, self.now)
                context.blocks.append(block)
                self.log.append(block)
                kernel.started += 1
                kernel.running += 1
        return sms

    def set_of(self, kernel):
        """The SMs of a kernel's partition, in SM order."""
        sets = self.system.get("partition_sms")
        chosen = sets[kernel.partition] if sets else None
        return [s for s in self.order if chosen is None or s in chosen]

    def budget(self, context, kernel):
        """SMs without blocks of a kernel's partition that may get some; None: any number."""
        limits = self.system.get("partition_limit")
        limit = limits[kernel.partition] if limits else 0
        return limit - len(context.held(kernel.partition)) if limit else None

    def usable(self, context, kernel):
        """SMs on which a kernel's next block may start, if there is room."""
        sms = self.set_of(kernel)
        if self.budget(context, kernel) == 0:
            sms = [s for s in sms if s in context.held(kernel.partition)]
        return sms

    def rooms(self, context, kernel):
        """By SM, the number of further blocks of a kernel that it can host."""
        limits, grid = self.limits(kernel), (kernel.blocks, *kernel.take)
        room = {s: max(0, place.room(limits, context.used[s], grid)) for s in self.order}
        return {s: room[s] if self.accepts(context, s, kernel) else 0 for s in self.order}

    def affordable(self, context, kernel, sms, budget):
        """Of some SMs those with blocks of the kernel's partition, and as many others with room as
        the budget allows, those with most room."""
        if budget is None:
            return sms
        room, held = self.rooms(context, kernel), context.held(kernel.partition)
        others = [s for s in sms if s not in held and room[s] > 0]
        others = sorted(others, key=lambda s: -room[s])[:budget]  # of equals the first in order
        return [s for s in sms if s in held or s in others]

    def gpcs(self, sms):
        """The SMs by GPC; the GPC of the first SM of the device's order first."""
        numbers = list(dict.fromkeys(gpc_of(self.system, s) for s in self.order))
        return [[s for s in sms if gpc_of(self.system, s) == number] for number in numbers]

    def clusters(self, context, kernel, sms):
        """Number of clusters that the SMs of one GPC can host."""
        room = self.rooms(context, kernel)
        return sum(room[s] for s in sms) // kernel.cluster

    def choose_gpc(self, context, kernel, among):
        """SMs of one GPC on which the next cluster starts; none where no GPC has room."""
        if among is None:
            among, budget = self.set_of(kernel), self.budget(context, kernel)
        else:
            budget = None
        gpcs = [self.affordable(context, kernel, gpc, budget) for gpc in self.gpcs(among)]
        best = max(gpcs, key=lambda gpc: self.clusters(context, kernel, gpc))  # first of equals
        return best if self.clusters(context, kernel, best) else []

    def all_at_once(self, context, kernel):
        """SMs for a cooperative kernel, and how many blocks can start there together."""
        parts = (lambda sms: self.gpcs(sms)) if kernel.cluster > 1 else (lambda sms: [sms])
        sms, budget = self.set_of(kernel), self.budget(context, kernel)
        if budget is not None:
            held = context.held(kernel.partition)
            chosen = {s for s in sms if s in held}
            left = parts(sms)
            while left and budget > 0:
                options = [self.affordable(context, kernel, part, budget) for part in left]
                counts = [self.clusters(context, kernel, option) for option in options]
                best = counts.index(max(counts))
                new = set(options[best]) - chosen
                chosen |= new
                budget -= len(new)
                del left[best]
            sms = [s for s in sms if s in chosen]
        hosted = sum(self.clusters(context, kernel, part) for part in parts(sms))
        return sms, hosted * kernel.cluster

    def limits(self, kernel):
        _, warps, blocks, _, smem = self.system["limits"][:5]
        return warps, blocks, kernel.regs_usable, smem

    def choose_sm(self, context, kernel, usable):
        """The SM of the next block of a kernel, which it then holds; None: there is no room."""
        limits, room = self.limits(kernel), self.rooms(context, kernel)
        fits = [s for s in self.order if s in usable and room[s] > 0]
        if not fits:
            return None
        if context.placed is not kernel:
            context.placed = kernel
            context.kernels += 1
        warps = [used[0] for used in context.used]
        policy = self.system["policy"]
        if policy == "most_room":
            sm = max(fits, key=room.get)  # the first of equals
        elif policy == "round_robin":
            cycle = self.order[context.pointer :] + self.order[: context.pointer]
            sm = next(s for s in cycle if s in fits)
            context.pointer = (self.order.index(sm) + 1) % len(self.order)
        else:
            sm = place._olmedo(
                limits[0], warps, context.history, context.kernels, kernel.take[0], fits
            )
        context.history[sm].append((context.kernels, kernel.take[0], warps[sm]))
        for r, amount in enumerate(needs(kernel)):
            context.used[sm][r] += amount
        if context.present[sm] is None:
            context.present[sm] = kernel.carveout
        return sm

    def accepts(self, context, sm, kernel):
        rule = rule_of(self.system["limits"])
        return place.accepts(rule, context.present[sm], kernel.carveout)

    # Before it runs ---------------------------------------------------------------------------

    def most_at_once(self, row):
        """Blocks of a kernel that empty SMs hold at once, in clusters; 0: no cluster fits a GPC."""
        kernel = self.launch[row]
        context = Context(len(self.order))
        if kernel.cluster > 1 and not self.choose_gpc(context, kernel, None):
            return 0
        return self.all_at_once(context, kernel)[1]

    # Between instants -------------------------------------------------------------------------

    def look_at_waits(self):
        for k in self.launched():
            self.wait_for(k, *self.reason(k))

    def reason(self, k):
        """(why, blocker) from now on, (-1, -1): it does not wait."""
        if k.head < 0:
            return STREAM, self.before_in_stream(k)[-1].id
        if k.joined < 0:
            return self.obstacle(k)
        if k.dispatched >= 0:
            return -1, -1
        if k.kind != KERNEL:
            return COPY_ENGINE, k.ahead
        context = self.context[k.context]
        if k is not context.level(k.group, k.priority)[0]:
            return QUEUE, k.ahead
        ahead = [j for j in context.heads(k.group) if j.priority < k.priority]
        if self.has_place(k):
            ahead = [j for j in ahead if self.has_place(j)]
        if ahead:
            return PRIORITY, ahead[0].id
        if not self.has_gpu(k.context):
            return SLICE, -1
        if not self.has_place(k):
            return GRIDS, -1
        if k.why in ROOM:
            return k.why, -1
        room = self.rooms(context, k)
        if any(room[s] for s in self.usable(context, k)):
            return (COOPERATIVE if k.cooperative else CLUSTER), -1
        if any(room.values()):
            return PARTITION, -1
        lacks = [self.lack(context, sm, k) for sm in self.set_of(k)]
        return max(RESOURCES, key=lacks.count), -1  # the first of equals

    def lack(self, context, sm, kernel):
        """The first resource that an SM lacks for one more block, unless it refuses it."""
        if not self.accepts(context, sm, kernel):
            return CARVEOUT
        used, need = context.used[sm], needs(kernel)
        for why, have, u, n in zip(RESOURCES[:4], self.limits(kernel), used, need, strict=True):
            if n > 0 and u + n > have:
                return why
        raise AssertionError("there is room")

    def wait_for(self, k, why, blocker, sm=-1):
        if (k.why, k.blocker) == (why, blocker):
            return
        if k.why >= 0 and k.since < self.now:
            self.waits.append((k.id, k.why, k.blocker, sm, k.since, self.now))
        k.why, k.blocker, k.since = why, blocker, self.now

    def interfere(self):
        if self.active is None or not self.system.get("interference"):
            return
        copying = any(copy.engine >= 0 for copy in self.copies)
        blocks = self.context[self.active].blocks
        for block in blocks:
            others = [b.sm for b in blocks if b.launch is not block.launch]
            same_sm, same_gpc, elsewhere, copy = block.launch.factors
            if block.sm in others:
                block.factor = same_sm
            elif gpc_of(self.system, block.sm) in [gpc_of(self.system, sm) for sm in others]:
                block.factor = same_gpc
            elif others:
                block.factor = elsewhere
            else:
                block.factor = 1000
            if copying:
                block.factor = -(-block.factor * copy // 1000)

    def next_instant(self):
        times = [k.time for k in self.launch if k.time > self.now]
        times += [copy.first + copy.copy_time for copy in self.copies if copy.engine >= 0]
        if self.active is not None:
            start = max(self.now, self.resumed)
            times += [start + b.time_to_go() for b in self.context[self.active].blocks]
            if self.resumed > self.now:
                times.append(self.resumed)
            elif any(c.work for i, c in enumerate(self.context) if i != self.active):
                end = self.slice_end
                while end <= self.now:
                    end += self.system["timeslice"][self.active]
                times.append(end)
        return min(times, default=None)

    def result(self):
        columns = ("head", "joined", "first", "dispatched", "end", "engine")
        return {
            **{key: [getattr(k, key) for k in self.launch] for key in columns},
            "blocks": sorted((b.launch.id, b.number, b.sm, b.start, b.end) for b in self.log),
            "waits": sorted(self.waits),
            "slices": self.slices,
            "deadlock": [(k.id, k.why, k.since, k.blocker) for k in self.launch if k.end < 0],
        }


def needs(kernel):
    """Resources of a block: warps, block slots, registers, shared memory."""
    warps, regs, smem = kernel.take
    return warps, 1, regs, smem


def simulate(system):
    """A dict: head, joined, first, dispatched, end and copy engine of each launch (-1: never or
    none); blocks (launch, number, sm, start, end), sorted; waits (launch, why, blocker, sm, from,
    to), sorted; slices (context, from, to); deadlock (launch, why, since, blocker) of what never
    ends."""
    return Hierarchy(system).run()
