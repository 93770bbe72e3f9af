"""Invariants of every simulated schedule, checked on the logs.

Nothing here simulates: each check reads the columns of the core and asks whether one rule of
csrc/simulate/hierarchy/hierarchy.h and gpu/gpu_device.h were kept.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations, pairwise, permutations
from typing import Any

import pytest
from hierarchy_systems import logs, opened, random_system
from test_hierarchy_twin import TWO_SMS, system_of

pytestmark = pytest.mark.numbers

SEEDS = range(50_000, 50_600)


class Log:
    """A system and what the core made of it, one attribute per thing that is asked."""

    def __init__(self, system: dict[str, Any]) -> None:
        self.system = system
        simulation = opened(system)
        while not simulation.run(steps=1000, states=0, bytes=1 << 28, seconds=60.0, stop=None)[1]:
            pass
        result = logs(simulation)
        self.__dict__.update({key: result[key] for key in ("head", "joined", "first", "end")})
        self.dispatched, self.engine = result["dispatched"], result["engine"]
        self.waits, self.slices = result["waits"], result["slices"]
        self.stuck = {row[0]: row for row in result["deadlock"]}
        # In the order in which the kernels got them; block by block within a kernel's turn.
        columns = [column.tolist() for column in simulation.blocks()]
        self.blocks = list(zip(*columns, strict=True))
        self.ops = range(len(system["time"]))
        self.kernels = [k for k in self.ops if system["kind"][k] == 0]
        self.graph = self._column("graph", -1)
        leader = {g: i for i, g in reversed(list(enumerate(self.graph))) if g >= 0}
        self.launch_order = sorted(
            self.ops, key=lambda k: (system["time"][k], leader.get(self.graph[k], k), k)
        )
        self.trigger = self._column("trigger", -1)
        self.primary = {k: j for k in self.kernels for j in self._primary(k)}
        self.context = [system["context"][s] for s in system["stream"]]
        self.priority = [system["priority"][s] for s in system["stream"]]
        # Partitions, by default the contexts; groups of kernels that share queues.
        partition = system.get("partition") or system["context"]
        self.partition = [partition[s] for s in system["stream"]]
        own = system.get("own_queues") or [False] * (max(partition) + 1)
        self.group = [("own", p) if own[p] else c for p, c in self._homes()]
        self.cluster = system.get("cluster") or [1] * len(self.ops)
        self.cooperative = system.get("cooperative") or [False] * len(self.ops)
        self.grids = system.get("resident_grids") or len(self.ops) + 1
        self.asks = {k: self._asks(k) for k in self.kernels}
        self.carveout = {k: self._carveout(k) for k in self.kernels}

    def _homes(self) -> Any:
        return zip(self.partition, self.context, strict=True)

    def sms_of(self, k: int) -> list[int]:
        """The SMs of a kernel's partition, in SM order."""
        order = self.system["sm_order"] or range(self.system["limits"][0])
        sets = self.system.get("partition_sms")
        chosen = sets[self.partition[k]] if sets else None
        return [s for s in order if chosen is None or s in chosen]

    def limit(self, k: int) -> int:
        """Number of SMs that may hold blocks of a kernel's partition, all without a limit."""
        limits = self.system.get("partition_limit")
        return (limits and limits[self.partition[k]]) or self.system["limits"][0]

    def gpcs(self, k: int) -> list[list[int]]:
        """The SMs of a kernel's partition by GPC, in SM order; all in one without clusters."""
        order = self.system["sm_order"] or range(self.system["limits"][0])
        number = self.gpc_of() if self.cluster[k] > 1 else [0] * len(order)
        found: dict[int, list[int]] = {number[s]: [] for s in order}
        for s in self.sms_of(k):
            found[number[s]].append(s)
        return list(found.values())

    def gpc_of(self) -> list[int]:
        """The number of the GPC of each SM."""
        sizes = self.system["sms_per_gpc"] or [self.system["limits"][0]]
        return [g for g, size in enumerate(sizes) for _ in range(size)]

    def _column(self, key: str, usual: int) -> list[int]:
        return self.system.get(key) or [usual] * len(self.ops)

    def _primary(self, k: int) -> list[int]:
        """The kernel whose triggers a programmatic one waits for, if there is one."""
        if not self._column("programmatic", 0)[k]:
            return []
        if self.graph[k] >= 0:
            return list(set(self.system["after"][k]))
        stream = self.system["stream"]
        mine = [j for j in self.launch_order if stream[j] == stream[k]]
        last = mine[: mine.index(k)][-1:]
        return [j for j in last if self.system["kind"][j] == 0 and self.graph[j] < 0]

    def triggered(self, k: int, instant: int) -> bool:
        """Whether all blocks of a kernel had started, and triggered or ended, by an instant."""
        mine = [b for b in self.blocks if b[0] == k]
        return len(mine) == self.system["blocks"][k] and all(
            start <= instant
            and (
                0 <= end <= instant
                or 0 <= self.trigger[k] <= self.had_gpu(self.context[k], start, instant)
            )
            for _, _, _, start, end in mine
        )

    def _asks(self, k: int) -> tuple[int, int, int, int]:
        """Warps, slots, registers and shared memory of a block, in units of allocation."""
        reserved, smem_unit, reg_unit = self.system["limits"][6:9]
        warps = (self.system["threads"][k] + 31) // 32
        smem = self.system["smem"][k] + reserved
        regs = self.system["regs"][k] * 32
        while smem % smem_unit:
            smem += 1
        while regs % reg_unit:
            regs += 1
        return warps, 1, warps * regs, smem

    def _carveout(self, k: int) -> int:
        """The least that costs no occupancy, tried one after the other; the preferred one."""
        sizes = sorted(self.system["limits"][12:])
        given = self.system["carveout"][k] if self.system.get("carveout") else -1
        if not sizes:
            return -1
        if given < 0 and self.system["smem"][k] == 0:
            return sizes[0]
        least = max(given, self.asks[k][3] if self.system["smem"][k] else 0)
        if given < 0:
            most = min(sizes[-1], self.system["limits"][4])
            blocks = self.fitting([0] * 4, k, most) if least <= sizes[-1] else 1
            least *= blocks
        while len(sizes) > 1 and sizes[0] < least:
            del sizes[0]
        return sizes[0]

    def room(self, load: list[int], k: int, present: int = -1) -> int:
        """Number of further blocks of a kernel that an SM with a carve-out can host."""
        rule = self.system["limits"][11]
        if load[1] and (
            (rule == 1 and present != self.carveout[k])
            or (rule == 2 and present < self.carveout[k])
        ):
            return 0
        return self.fitting(load, k, self.system["limits"][4])

    def fitting(self, load: list[int], k: int, smem: int) -> int:
        """Number of blocks beside a load, with this much shared memory, counted one by one."""
        _, warps, slots, regs = self.system["limits"][:4]
        if self.asks[k][2]:  # what is left over in each register file is lost
            files, per_warp = self.system["limits"][9], self.asks[k][2] // self.asks[k][0]
            regs = sum(per_warp for _ in range(files) for _ in range(regs // files // per_warp))
        else:
            regs = max(load[2], regs)  # a block without registers fits beside any
        load, count = list(load), 0
        while True:
            load = [a + b for a, b in zip(load, self.asks[k], strict=True)]
            if any(a > b for a, b in zip(load, (warps, slots, regs, smem), strict=True)):
                return count
            count += 1

    def turns(self, context: int) -> Any:
        """(instant, blocks that end, blocks that start, in the order in which they did)."""
        mine = [b for b in self.blocks if self.context[b[0]] == context]
        for instant in sorted({t for b in mine for t in b[3:]}):
            starting = [b for b in mine if b[3] == instant]
            order = list(dict.fromkeys(b[0] for b in starting))
            starting.sort(key=lambda b: (order.index(b[0]), b[1]))
            yield instant, [b for b in mine if b[4] == instant], starting

    def resident(self, context: int, instant: int) -> set[int]:
        """Kernels of a context between their first and their last block after an instant."""
        return {
            k
            for k in self.kernels
            if self.context[k] == context
            and 0 <= self.first[k] <= instant
            and not 0 <= self.end[k] <= instant
        }

    def has_place(self, k: int, instant: int) -> bool:
        """Whether a kernel is resident after an instant, or could be beside those that are."""
        resident = self.resident(self.context[k], instant)
        return k in resident or len(resident) < self.grids

    def heads(self, group: Any, instant: int) -> list[int]:
        """Kernels of which one is at the head of the most urgent queue after an instant, of those
        with a place among the resident ones."""
        queue = [
            k
            for k in self.kernels
            if self.group[k] == group
            and 0 <= self.joined[k] <= instant
            and not 0 <= self.dispatched[k] <= instant
            and self.has_place(k, instant)
        ]
        return [
            k
            for k in queue
            if (self.priority[k], self.joined[k])
            == min((self.priority[j], self.joined[j]) for j in queue)
        ]

    def had_gpu(self, context: int, begin: int, end: int) -> int:
        """For how many ticks between two instants."""
        mine = [s for s in self.slices if s[0] == context]
        return sum(max(0, min(end, to) - max(begin, start)) for _, start, to in mine)


def holds_what_it_can(log: Log) -> None:
    """No SM is ever over a limit, among the blocks of one context."""
    limits = log.system["limits"][1:5]
    for context in set(log.context):
        load = [[0] * 4 for _ in range(log.system["limits"][0])]
        for _, ending, starting in log.turns(context):
            for sign, blocks in ((-1, ending), (1, starting)):
                for k, _, sm, *_ in blocks:
                    load[sm] = [a + sign * b for a, b in zip(load[sm], log.asks[k], strict=True)]
            for held in load:
                assert all(a <= b for a, b in zip(held, limits, strict=True))


def held_by(log: Log, partition: int, instant: int, started: bool = False) -> set[int]:
    """SMs with blocks of a partition at an instant, before or after its starts."""
    return {
        sm
        for k, _, sm, start, end in log.blocks
        if log.partition[k] == partition
        and (start < instant or (started and start == instant))
        and not 0 <= end <= instant
    }


def is_chosen_by_room(log: Log, k: int) -> bool:
    """Whether each block of a kernel goes to an SM with most room of those that it may use."""
    limited = log.limit(k) < log.system["limits"][0]
    together = log.cooperative[k] or log.cluster[k] > 1
    return log.system["policy"] == "most_room" and not (limited and together)


def may_start(log: Log, k: int, load: Any, present: Any, instant: int) -> bool:
    """Whether there is room for a block, a cluster, or all blocks of a kernel; with a limit, on the
    SMs that hold blocks of its partition and, if it is not reached, for a block on any other."""
    room = {s: log.room(load[s], k, present[s]) for s in log.sms_of(k)}
    held = held_by(log, log.partition[k], instant, started=True)
    full = len(held) >= log.limit(k)
    if log.limit(k) < log.system["limits"][0] and not full:
        return log.cluster[k] == 1 and not log.cooperative[k] and any(room.values())
    free = {s: n for s, n in room.items() if s in held or not full}
    hosted = sum(sum(free.get(s, 0) for s in g) // log.cluster[k] for g in log.gpcs(k))
    return hosted * log.cluster[k] >= (log.system["blocks"][k] if log.cooperative[k] else 1)


def keeps_to_its_partition(log: Log) -> None:
    """Blocks are on SMs of the set; never more SMs than the limit hold some."""
    for k, _, sm, start, _ in log.blocks:
        assert sm in log.sms_of(k)
        assert len(held_by(log, log.partition[k], start, started=True)) <= log.limit(k)


def starts_together(log: Log) -> None:
    """All blocks of a cooperative kernel at one instant; those of a cluster, in one GPC."""
    for k in log.kernels:
        mine = sorted(b[1:4] for b in log.blocks if b[0] == k)
        if log.cooperative[k]:
            assert len({start for *_, start in mine}) <= 1
            assert len(mine) in (0, log.system["blocks"][k])
        size, number = log.cluster[k], log.gpc_of()
        for first in range(0, len(mine), size) if size > 1 else ():
            cluster = mine[first : first + size]
            assert [number for number, *_ in cluster] == [*range(first, first + size)]
            assert len({(number[sm], start) for _, sm, start in cluster}) == 1


def placed_with_most_room(log: Log) -> None:
    """Each block is on the first SM, in the order of the device, of those with most room; and
    while there was room for the kernel at the head, the context had started its blocks."""
    sms = log.system["limits"][0]
    order = log.system["sm_order"] or list(range(sms))
    for context in set(log.context):
        load = [[0] * 4 for _ in range(sms)]
        present = [-1] * sms  # carve-outs, of the first block on the empty SM
        for instant, ending, starting in log.turns(context):
            for k, _, sm, *_ in ending:
                load[sm] = [a - b for a, b in zip(load[sm], log.asks[k], strict=True)]
            held = {p: held_by(log, p, instant) for p in set(log.partition)}
            for k, number, sm, *_ in starting:
                room = {s: log.room(load[s], k, present[s]) for s in order}
                assert room[sm] > 0
                mine = held[log.partition[k]]
                if is_chosen_by_room(log, k):
                    usable = [s for s in log.sms_of(k) if s in mine or len(mine) < log.limit(k)]
                    if log.cluster[k] > 1 and number % log.cluster[k] == 0:
                        counts = [sum(room[s] for s in g) // log.cluster[k] for g in log.gpcs(k)]
                        gpc = log.gpcs(k)[counts.index(max(counts))]
                    if log.cluster[k] > 1:
                        usable = gpc
                    assert sm == max(usable, key=lambda s: room[s])  # the first of equals
                mine.add(sm)
                if not load[sm][1]:
                    present[sm] = log.carveout[k]
                load[sm] = [a + b for a, b in zip(load[sm], log.asks[k], strict=True)]
            if any(c == context and a <= instant < b for c, a, b in log.slices):
                for group in {log.group[k] for k in log.kernels if log.context[k] == context}:
                    heads = log.heads(group, instant)
                    assert not heads or any(
                        not may_start(log, k, load, present, instant) for k in heads
                    )


def keeps_to_the_grids(log: Log) -> None:
    """Never more resident kernels in a context than the limit; who waits for a place finds none."""
    for k in log.kernels:
        if log.first[k] >= 0:
            assert len(log.resident(log.context[k], log.first[k])) <= log.grids
    for k, why, _, _, begin, to in log.waits:
        if why == 16:
            assert not log.has_place(k, begin) and not log.has_place(k, to - 1)


def runs_in_its_slices(log: Log) -> None:
    """Blocks make progress while their context has the GPU, at full speed without interference."""
    for k, number, _, start, end in log.blocks:
        mine = [(a, b) for c, a, b in log.slices if c == log.context[k]]
        assert any(a <= start < b for a, b in mine)
        assert any(a < end <= b for a, b in mine)
        took = log.had_gpu(log.context[k], start, end)
        duration = log.system["duration"][k]
        duration = duration[number] if isinstance(duration, list) else duration
        if log.system["interference"] is None:
            assert took == duration
        else:
            factors = log.system["interference"][k]
            # Each update may lose a thousandth of a tick of progress; the end is rounded up.
            looks = 1 + took
            most = (1000 * duration + looks) * max(factors[:3]) * factors[3] // 10**9 + 2
            assert duration <= took <= most


def slices_follow_the_round(log: Log) -> None:
    """One context at a time; a switch costs its time and nothing else; no idling with work."""
    assert all(a < b for _, a, b in log.slices)
    switch = log.system["context_switch"]
    for (last, _, gone), (following, begin, _) in pairwise(log.slices):
        assert begin >= gone + (switch if following != last else 0)
    work = [(log.context[k], log.joined[k], log.end[k]) for k in log.kernels if log.joined[k] >= 0]
    for context, joined, end in work:
        assert log.had_gpu(context, joined, end) > 0
        idle = joined
        for _, begin, to in log.slices:
            # The context that gets the GPU next was chosen a switch time earlier.
            assert begin - switch <= idle or idle >= end
            idle = max(idle, to)
        assert idle >= end
    for context, begin, to in log.slices:
        length = log.system["timeslice"][context]
        others = [row for row in work if row[0] != context and row[1] < to]
        mine = [row for row in work if row[0] == context]
        if all(row[2] != to for row in mine):  # it has not just run out of work
            assert (to - begin) % length == 0
            assert others or any(row[1] == to for row in work if row[0] != context)


def streams_are_fifo(log: Log) -> None:
    """An ordinary launch is a head when all before it, or before its graph, has ended."""
    for stream in set(log.system["stream"]):
        mine = [k for k in log.launch_order if log.system["stream"][k] == stream]
        for at, k in enumerate(mine):
            before = [j for j in mine[:at] if log.graph[k] < 0 or log.graph[j] != log.graph[k]]
            ends = [log.system["time"][k], *(log.end[j] for j in before)]
            if k not in log.primary or log.graph[k] >= 0:
                assert log.head[k] == (-1 if min(ends) < 0 else max(ends))


def graphs_are_kept(log: Log) -> None:
    """A node starts after those that it depends on; what is behind a graph, after all of it."""
    place = {k: i for i, k in enumerate(log.launch_order)}
    for j, k in permutations(log.ops, 2):
        if log.system["stream"][j] != log.system["stream"][k] or log.first[k] < 0:
            continue
        if log.graph[j] >= 0 and log.graph[j] == log.graph[k]:
            assert log.head[j] == log.head[k]
            if j in log.system["after"][k] and k not in log.primary:
                assert 0 <= log.end[j] <= log.first[k]
        elif log.graph[j] >= 0 and place[j] < place[k]:
            assert 0 <= log.end[j] <= log.first[k]


def secondaries_wait_for_triggers(log: Log) -> None:
    """Not before the last trigger; without interference they are heads at that instant."""
    for k, primary in log.primary.items():
        if log.graph[k] >= 0 or log.head[k] < 0:
            assert log.first[k] < 0 or log.triggered(primary, log.first[k])
            continue
        assert log.triggered(primary, log.head[k])
        late = log.head[k] == log.system["time"][k]
        exact = log.system["interference"] is None
        assert late or not exact or not log.triggered(primary, log.head[k] - 1)


def joined_when_allowed(log: Log) -> None:
    """After what it waits for; in its turn with the NULL stream; alone in its channel."""
    kind = [log.system["stream_kind"][s] for s in log.system["stream"]]
    place = {k: i for i, k in enumerate(log.launch_order)}
    joined = [k for k in log.ops if log.joined[k] >= 0]
    for k in joined:
        assert log.head[k] <= log.joined[k]
        before = list(log.system["after"][k]) if log.system["after"] else []
        before = [j for j in before if log.graph[k] < 0 or j != log.primary.get(k)]
        before += [
            j
            for j in log.ops
            if log.partition[j] == log.partition[k]
            and {kind[j], kind[k]} == {0, 2}
            and place[j] < place[k]
        ]
        assert all(0 <= log.end[j] <= log.joined[k] for j in before)
    if log.system["channels"]:
        streams = range(len(log.system["context"]))
        home = log.system.get("partition") or log.system["context"]
        if log.system.get("shared_channels"):
            home = log.system["context"]
        turn = {
            s: sum(home[r] == home[s] for r in range(s)) % log.system["channels"] for s in streams
        }
        for j, k in combinations([k for k in log.launch_order if k in log.asks], 2):
            a, b = log.system["stream"][j], log.system["stream"][k]
            alike = home[a] == home[b] and turn[a] == turn[b]
            mates = log.graph[j] >= 0 and log.graph[j] == log.graph[k]
            if alike and not mates and log.joined[k] >= 0:
                left = log.end if log.system.get("channels_until_end") else log.dispatched
                assert 0 <= left[j] <= log.joined[k]


def queues_are_fifo(log: Log) -> None:
    """No block starts behind its queue's head or beside a more urgent queue, but for a resident
    kernel while that one's head has no place."""
    starts = defaultdict(list)
    for k, _, _, start, _ in log.blocks:
        starts[k].append(start)
    for j, k in combinations(starts, 2):
        if log.group[j] != log.group[k]:
            continue
        for a, b in ((j, k), (k, j)):
            if log.priority[a] < log.priority[b]:
                assert not any(
                    log.joined[a] < t < log.dispatched[a]
                    and (log.first[b] == t or log.has_place(a, t))
                    for t in starts[b]
                )
            if log.priority[a] == log.priority[b] and log.joined[a] < log.joined[b]:
                assert min(starts[b]) >= log.dispatched[a]
        if (log.priority[j], log.joined[j]) == (log.priority[k], log.joined[k]):
            assert min(starts[k]) >= log.dispatched[j] or min(starts[j]) >= log.dispatched[k]
    for k in starts:
        assert starts[k] == sorted(starts[k])
        assert (log.first[k], log.dispatched[k]) == (starts[k][0], starts[k][-1])
        assert log.end[k] == max(b[4] for b in log.blocks if b[0] == k)
        assert len(starts[k]) == log.system["blocks"][k]


def copies_are_fifo(log: Log) -> None:
    """Each direction in the order of joining, and a copy waits while its engines are busy."""
    kind, directions = log.system["kind"], log.system["copy_engines"]
    copies = [k for k in log.ops if k not in log.asks and log.first[k] >= 0]
    for k in copies:
        assert log.joined[k] <= log.first[k] == log.dispatched[k]
        assert log.end[k] == log.first[k] + log.system["duration"][k]
        assert directions[log.engine[k]] & kind[k]
    for direction in (1, 2):
        mine = sorted((log.first[k], log.joined[k]) for k in copies if kind[k] == direction)
        assert all(one[1] <= other[1] for one, other in pairwise(mine))
    for e, mask in enumerate(directions):
        served = sorted((log.first[k], log.end[k]) for k in copies if log.engine[k] == e)
        assert all(one[1] <= other[0] for one, other in pairwise(served))
        for k in (k for k in copies if kind[k] & mask):
            free = log.joined[k]
            for start, end in served:
                free = end if start <= free < end else free
            assert log.first[k] <= free


def waits_tile_the_time(log: Log) -> None:
    """From its launch until its last block has started, something waits for one thing after the
    other, without gaps; a wait for room ends with a block on the SM that it names."""
    for k in log.ops:
        mine = sorted((w for w in log.waits if w[0] == k), key=lambda w: w[4])
        at = log.system["time"][k]
        for _, why, blocker, sm, begin, to in mine:
            assert at == begin < to
            assert (blocker >= 0) == (why in (0, 1, 2, 3, 5, 6, 11))
            if sm >= 0:
                assert why in (7, 8, 9, 10, 12, 13, 14, 15)
                assert next(b[2] for b in log.blocks if (b[0], b[3]) == (k, to)) == sm
            at = to
        if k in log.stuck:
            assert at == log.stuck[k][2]
        else:
            assert at == log.dispatched[k]
        if log.first[k] > log.system["time"][k] and log.first[k] < log.dispatched[k]:
            assert log.first[k] in [w[5] for w in mine]


def the_stuck_wait_for_each_other(log: Log) -> None:
    assert set(log.stuck) == {k for k in log.ops if log.end[k] < 0}
    for why, blocker in ((row[1], row[3]) for row in log.stuck.values()):
        assert why in (0, 1, 2, 3)
        assert blocker in log.stuck


CHECKS = [
    holds_what_it_can,
    keeps_to_its_partition,
    starts_together,
    placed_with_most_room,
    keeps_to_the_grids,
    runs_in_its_slices,
    slices_follow_the_round,
    streams_are_fifo,
    graphs_are_kept,
    secondaries_wait_for_triggers,
    joined_when_allowed,
    queues_are_fifo,
    copies_are_fifo,
    waits_tile_the_time,
    the_stuck_wait_for_each_other,
]


@pytest.fixture(scope="module")
def random_logs() -> list[Log]:
    small = [Log(random_system(random.Random(seed))) for seed in SEEDS]
    large = [
        Log(random_system(random.Random(seed), launches=60, latest=250, longest=25))
        for seed in range(40)
    ]
    return small + large


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_invariant(random_logs: list[Log], check: Any) -> None:
    for log in random_logs:
        check(log)


def busy_log() -> Log:
    """Two contexts, three streams, a kernel that waits for room, and a copy after another."""
    return Log(
        system_of(
            limits=TWO_SMS,
            context=[0, 0, 1],
            timeslice=[10, 10],
            priority=[0, -1, 0],
            stream=[0, 0, 1, 2, 1, 2],
            time=[0, 1, 2, 3, 4, 5],
            kind=[0, 0, 0, 0, 1, 1],
            copy_engines=[3, 2],
            duration=[4, 5, 3, 6, 4, 3],
            blocks=[6, 2, 4, 3, 1, 1],
            threads=[1024, 512, 768, 128, 1, 1],
        )
    )


def test_the_checks_pass_on_a_busy_log() -> None:
    log = busy_log()
    for check in CHECKS:
        check(log)


def partitioned_log() -> Log:
    """Two partitions of a context, one with SM 0 alone and a cluster, one cooperative kernel."""
    return Log(
        system_of(
            limits=[4, *TWO_SMS[1:]],
            context=[0, 0, 0],
            stream=[0, 1, 2],
            time=[0, 0, 1],
            duration=[4, 5, 3],
            blocks=[2, 2, 2],
            threads=[1024, 1024, 1024],
            partition=[0, 1, 1],
            partition_sms=[[0], None],
            partition_limit=[0, 2],
            cluster=[1, 2, 1],
            cooperative=[False, False, True],
            sms_per_gpc=[2, 2],
        )
    )


def test_the_checks_pass_on_a_partitioned_log() -> None:
    log = partitioned_log()
    for check in CHECKS:
        check(log)


@pytest.mark.parametrize(
    ("check", "launch", "sm", "later"),
    [
        (keeps_to_its_partition, 0, 1, 0),  # not in its set
        (keeps_to_its_partition, 1, 0, 0),  # a third SM
        (starts_together, 1, 1, 0),  # another GPC
        (starts_together, 2, 2, 1),
    ],
)
def test_the_checks_of_partitions_can_fail(check: Any, launch: int, sm: int, later: int) -> None:
    log = partitioned_log()
    log.blocks = [
        (k, b, sm, t + later, end) if (k, b) == (launch, 1) else (k, b, on, t, end)
        for k, b, on, t, end in log.blocks
    ]
    with pytest.raises(AssertionError):
        check(log)


def crowded_log() -> Log:
    """One kernel at a time: the first, in three waves, goes on while a more urgent one waits."""
    return Log(
        system_of(
            limits=TWO_SMS,
            context=[0] * 3,
            priority=[0, -1, 0],
            stream=[0, 1, 2],
            time=[0, 1, 2],
            duration=[4, 3, 1],
            blocks=[9, 1, 1],
            threads=[1024, 32, 32],
            resident_grids=1,
        )
    )


def test_the_checks_pass_on_a_crowded_log() -> None:
    log = crowded_log()
    assert log.first == [0, 12, 15] and log.dispatched[0] == 8
    assert [w[1:3] + w[4:] for w in log.waits if w[0] == 1] == [(16, -1, 1, 12)]
    last = [(6, 0, 2, 8), (5, 1, 8, 12), (16, -1, 12, 15)]
    assert sorted((w[1:3] + w[4:] for w in log.waits if w[0] == 2), key=lambda w: w[2]) == last
    for check in CHECKS:
        check(log)


@pytest.mark.parametrize("name", ["first", "waits"])
def test_the_check_of_grids_can_fail(name: str) -> None:
    log = crowded_log()
    if name == "first":
        log.first[1] = 9
    else:  # one tick longer than there is no place
        log.waits = [(*w[:5], w[5] + 1) if w[:2] == (1, 16) else w for w in log.waits]
    with pytest.raises(AssertionError):
        keeps_to_the_grids(log)


def ordered_log() -> Log:
    """A graph of three nodes, a kernel behind it, and one that starts at that one's triggers."""
    return Log(
        system_of(
            limits=TWO_SMS,
            context=[0],
            stream=[0] * 5,
            time=[0] * 5,
            duration=[4, 5, 3, 6, 4],
            blocks=[1, 2, 1, 2, 1],
            threads=[64] * 5,
            graph=[3, 3, 3, -1, -1],
            after=[[], [0], [0], [], []],
            programmatic=[0, 0, 1, 0, 1],
            trigger=[2, -1, -1, 3, -1],
        )
    )


@pytest.mark.parametrize(
    ("check", "name", "at", "value"),
    [
        (graphs_are_kept, "first", 1, 3),
        (graphs_are_kept, "first", 3, 8),
        (graphs_are_kept, "head", 2, 1),
        (secondaries_wait_for_triggers, "first", 2, 1),
        (secondaries_wait_for_triggers, "head", 4, 11),
        (secondaries_wait_for_triggers, "head", 4, 13),
        (streams_are_fifo, "head", 3, 8),
        (joined_when_allowed, "joined", 1, 3),
    ],
)
def test_the_checks_of_orders_can_fail(check: Any, name: str, at: int, value: int) -> None:
    log = ordered_log()
    assert log.first == [0, 4, 2, 9, 12]
    for each in CHECKS:
        each(log)
    getattr(log, name)[at] = value
    with pytest.raises(AssertionError):
        check(log)


@pytest.mark.parametrize(
    ("check", "name", "at", "value"),
    [
        (holds_what_it_can, "blocks", "overfull", None),
        (placed_with_most_room, "blocks", "swapped", None),
        (runs_in_its_slices, "blocks", "early", None),
        (streams_are_fifo, "head", 1, 3),
        (joined_when_allowed, "joined", 1, 0),
        (queues_are_fifo, "blocks", "behind", None),
        (copies_are_fifo, "first", 4, 5),
        (copies_are_fifo, "engine", 4, 1),
        (waits_tile_the_time, "dispatched", 1, 2),
        (slices_follow_the_round, "slices", "late", None),
        (the_stuck_wait_for_each_other, "end", 3, -1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_checks_can_fail(check: Any, name: str, at: Any, value: Any) -> None:
    log = busy_log()
    broken = list(getattr(log, name))
    if at == "overfull":
        broken = [(k, b, 0, start, end) for k, b, _, start, end in broken]
    elif at == "swapped":
        broken = [(k, b, 1 - sm, start, end) for k, b, sm, start, end in broken]
    elif at == "early":
        k, b, sm, start, end = broken[-1]
        broken[-1] = (k, b, sm, start - 1, end)
    elif at == "behind":  # the first kernel's last block, while the urgent one waits
        broken = [(k, b, sm, 3 if (k, b) == (0, 5) else t, end) for k, b, sm, t, end in broken]
    elif at == "late":
        context, begin, to = broken[1]
        broken[1] = (context, begin + 1, to)
    else:
        broken[at] = value
    setattr(log, name, broken)
    with pytest.raises(AssertionError):
        check(log)
