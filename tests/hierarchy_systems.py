"""Random systems of the scheduling hierarchy, small enough that every limit is reached.

They are dicts as reference.hierarchy takes them; simulated() gives them to the core.
"""

from __future__ import annotations

import functools
import operator
import random
from itertools import pairwise
from typing import Any

import numpy as np
from native import positional
from reference import hierarchy, place

from gpusched import _core

System = dict[str, Any]
Result = dict[str, Any]

POLICIES = ("most_room", "olmedo", "round_robin")
NEVER = 2**40
ORDERS = ("carveout", "graph", "programmatic", "trigger")
STARTS = ("cooperative", "cluster")


def fits(limits: list[int], threads: int, regs: int, smem: int) -> bool:
    """Whether an empty SM holds a block."""
    (warps, per_block, shared), usable = hierarchy.footprint(limits, threads, regs, smem)
    per_warp = per_block // warps
    padded = place.up(warps, limits[9]) * per_warp  # the launch check
    return (
        warps <= limits[1]
        and per_block <= usable
        and padded <= min(limits[3], limits[10] or limits[3])
        and smem <= limits[5]
        and shared <= limits[4]
    )


def random_system(
    rng: random.Random,
    launches: int = 14,
    latest: int = 40,
    longest: int = 12,
    limits: list[int] | None = None,
) -> System:
    """Everything at once: each feature is absent from about half of the systems."""
    limits = random_limits(rng) if limits is None else limits
    order = list(range(limits[0]))
    rng.shuffle(order)
    contexts = rng.choice([1, 1, 2, 3])
    system: System = {
        "limits": limits,
        "sm_order": rng.choice([None, order]),
        "policy": rng.choice(POLICIES),
        "copy_engines": random_engines(rng),
        "channels": rng.choice([0, 1, 2, 3]),
        "shared_channels": rng.random() < 0.3,
        "channels_until_end": rng.random() < 0.2,
        "context_switch": rng.choice([0, 0, 1, 4]),
        "timeslice": [rng.randint(1, 15) for _ in range(contexts)],
        "runlist": None,
        "sms_per_gpc": random_gpcs(rng, limits[0]),
    }
    if rng.random() < 0.5:
        runlist = [*range(contexts), *(rng.randrange(contexts) for _ in range(rng.randint(0, 3)))]
        rng.shuffle(runlist)
        system["runlist"] = runlist
    streams = rng.randint(1, 6)
    context = [rng.randrange(contexts) for _ in range(streams)]
    kinds, null = [], set()
    for c in context:
        kind = rng.choice([0, 0, 0, 1, 2])
        kinds.append(1 if kind == 2 and c in null else kind)
        null |= {c} if kind == 2 else set()
    levels = rng.choice([1, 2, 3])
    system |= {
        "context": context,
        "priority": [-rng.randrange(levels) for _ in range(streams)],
        "stream_kind": kinds,
    }
    n = rng.randint(1, launches)
    copies = rng.choice([0.0, 0.25])
    system["time"] = [rng.randint(0, latest) for _ in range(n)]
    system["kind"] = [rng.randint(1, 2) if rng.random() < copies else 0 for _ in range(n)]
    system["stream"] = [rng.randrange(streams) for _ in range(n)]
    grids = [random_grid(rng, limits) for _ in range(n)]
    for key, values in zip(
        ("blocks", "threads", "regs", "smem"), zip(*grids, strict=True), strict=True
    ):
        system[key] = list(values)
    given = rng.random() < 0.5
    system["duration"] = [
        [rng.randint(1, longest) for _ in range(blocks)]
        if given and kind == 0 and rng.random() < 0.7
        else rng.randint(1, longest)
        for blocks, kind in zip(system["blocks"], system["kind"], strict=True)
    ]
    system["after"] = system["interference"] = system["carveout"] = None
    if rng.random() < 0.3:
        most = 2 * max(limits[12:], default=1)
        system["carveout"] = [rng.choice([-1, 0, rng.randint(0, most)]) for _ in range(n)]
    if rng.random() < 0.4:
        # Now and then a launch waits for a later one: some of these never end.
        system["after"] = [
            [j for j in range(n) if j != i and rng.random() < (0.15 if j < i else 0.01)]
            for i in range(n)
        ]
        for after in system["after"]:
            rng.shuffle(after)
    if rng.random() < 0.4:
        system["interference"] = [
            # Thirds, sevenths and primes: rounding in the wrong place costs a tick.
            [rng.choice([1000, 3000, 3000, 7000, rng.choice([1009, 2003, 4001])]) for _ in "1234"]
            for _ in range(n)
        ]
    add_partitions(rng, system)
    add_orders(rng, system)
    add_starts(rng, system)
    system["resident_grids"] = rng.choice([0, 0, 0, 1, 2, 3])
    return system


def random_engines(rng: random.Random) -> list[int]:
    """Directions of copy engines; one at least has each direction."""
    if rng.random() < 0.5:
        return rng.choice([[3], [1, 2]])
    found = [rng.randint(1, 3) for _ in range(rng.randint(1, 4))]
    missing = 3 & ~functools.reduce(operator.or_, found)
    return [*found, missing] if missing else found


def random_gpcs(rng: random.Random, sms: int) -> list[int] | None:
    """Sizes of GPCs that add up to some SMs; None: all are one."""
    sizes = []
    while sum(sizes) < sms:
        sizes.append(rng.randint(1, min(3, sms - sum(sizes))))
    return rng.choice([None, sizes, sizes, sizes])


def add_partitions(rng: random.Random, system: System) -> None:
    """Partitions of the contexts, with SM sets and limits, in half of the systems."""
    system |= dict.fromkeys(("partition", "partition_sms", "partition_limit", "own_queues"))
    if rng.random() < 0.5:
        return
    contexts, sms = len(system["timeslice"]), system["limits"][0]
    count = contexts * rng.randint(1, 3)
    numbers = list(range(count))
    rng.shuffle(numbers)  # partition p of a context is numbers[contexts * p + context]
    partition = [
        numbers[contexts * rng.randrange(count // contexts) + c] for c in system["context"]
    ]
    null = set()
    for stream, number in enumerate(partition):
        if system["stream_kind"][stream] == 1 and rng.random() < 0.5:
            system["stream_kind"][stream] = rng.choice([0, 2])
        if system["stream_kind"][stream] == 2 and number in null:
            system["stream_kind"][stream] = 0
        null |= {number} if system["stream_kind"][stream] == 2 else set()
    system["partition"] = partition
    if rng.random() < 0.6:
        sets = [rng.sample(range(sms), rng.randint(1, sms)) for _ in range(count)]
        system["partition_sms"] = [rng.choice([None, chosen]) for chosen in sets]
    if rng.random() < 0.6:
        system["partition_limit"] = [rng.choice([0, rng.randint(1, sms)]) for _ in range(count)]
    if rng.random() < 0.7:
        system["own_queues"] = [rng.random() < 0.6 for _ in range(count)]


def add_starts(rng: random.Random, system: System) -> None:
    """Clusters and cooperative launches, each in part of the systems."""
    n = len(system["time"])
    system["cluster"] = system["cooperative"] = None
    if rng.random() < 0.35:
        system["cluster"] = [1] * n
        for row in range(n):
            divisors = [c for c in range(2, 9) if system["blocks"][row] % c == 0]
            if system["kind"][row] == 0 and divisors and rng.random() < 0.7:
                system["cluster"][row] = rng.choice(divisors)
                if hierarchy.Hierarchy(system).most_at_once(row) == 0:
                    system["cluster"][row] = 1
    if rng.random() < 0.5:
        system["cooperative"] = [rng.random() < 0.7 for _ in range(n)]
        trial = hierarchy.Hierarchy(system)
        for row in range(n):
            if system["kind"][row] == 0 and system["cooperative"][row]:
                most = trial.most_at_once(row)
                system["cooperative"][row] = system["blocks"][row] <= most


def add_orders(rng: random.Random, system: System) -> None:
    """Graphs, programmatic launches and triggers, in some systems.

    Graphs move launches to other streams, and thus to other partitions."""
    n = len(system["time"])
    system["graph"] = system["programmatic"] = system["trigger"] = None
    if rng.random() < 0.4:
        graph = system["graph"] = [-1] * n
        after = system["after"] = system["after"] or [[] for _ in range(n)]
        for number in rng.sample(range(100), rng.randint(1, 3)):
            nodes = rng.sample(range(n), rng.randint(1, n))
            nodes = [i for i in nodes if graph[i] < 0][: rng.choice([1, 3, 5, n])]
            for i in nodes:
                graph[i] = number
                for key in ("time", "stream"):
                    system[key][i] = system[key][nodes[0]]
            for a, b in pairwise(nodes):  # in the order of `nodes`: no circle
                if rng.random() < 0.6:
                    after[b] = list({*after[b], a, rng.choice(nodes[: nodes.index(b)])})
    if rng.random() < 0.4:
        likely = rng.choice([0.3, 0.9])
        system["programmatic"] = [int(rng.random() < likely) for _ in range(n)]
        for i in range(n):
            if system["graph"] and system["graph"][i] >= 0 and system["programmatic"][i]:
                make_programmatic(system, i)
    if rng.random() < (0.8 if system["programmatic"] else 0.1):
        system["trigger"] = [rng.choice([-1, 0, 1, rng.randint(0, 15)]) for _ in range(n)]


def make_programmatic(system: System, i: int) -> None:
    """Leave a node its first kernel in the graph as the only one that it waits for."""
    graph, kind = system["graph"], system["kind"]
    primary = [j for j in system["after"][i] if j != i and graph[j] == graph[i] and kind[j] == 0]
    system["after"][i] = primary[:1] or system["after"][i]
    system["programmatic"][i] = int(bool(primary) or kind[i] > 0)


def extreme_system(rng: random.Random) -> System:
    """One of the random systems, pushed to an edge in some ways: everything at once, long idle or
    frozen times, switches longer than slices, hundreds of blocks, factors at their limits."""
    shape = rng.choice(
        [
            {"launches": 25, "latest": 3, "longest": 3},
            {"launches": 20, "latest": 10, "longest": 200},
            {"launches": 12, "latest": 2000, "longest": 3},
            {"launches": 20, "latest": 30, "longest": 30},
        ]
    )
    system = random_system(rng, **shape)
    n, contexts = len(system["time"]), len(system["timeslice"])
    if rng.random() < 0.3:
        system["time"] = [rng.choice([0, 1]) for _ in range(n)]
    if rng.random() < 0.3:
        system["timeslice"] = [rng.choice([1, 2, 1000]) for _ in range(contexts)]
        system["context_switch"] = rng.choice([0, 1, 7, 50])
    if rng.random() < 0.3:
        system["runlist"] = [*range(contexts)] * 2 + [0] * rng.randint(0, 3)
    if rng.random() < 0.3:
        system["channels"] = rng.choice([1, 100])
    for i in range(n):
        if system["kind"][i] == 0 and not isinstance(system["duration"][i], list):
            system["blocks"][i] = rng.choice([system["blocks"][i], 60])
    if rng.random() < 0.3:
        system["priority"] = [rng.choice([0, -1, 2**62, -(2**62)]) for _ in system["priority"]]
    if system["interference"] and shape["longest"] < 200 and rng.random() < 0.5:
        edges = [1000, 1001, 1333, 999_999, 1_000_000]
        system["interference"] = [[rng.choice(edges) for _ in "1234"] for _ in range(n)]
    if rng.random() < 0.2:  # even itself, and the same one twice
        chosen = [rng.randint(0, 2) * (rng.random() < 0.3) for _ in range(n)]
        system["after"] = [[rng.randrange(n) for _ in range(k)] for k in chosen]
    system["sms_per_gpc"] = random_gpcs(rng, system["limits"][0])
    if rng.random() < 0.3:
        system["kind"] = [kind or rng.choice([0, 1, 2]) for kind in system["kind"]]
        system["duration"] = [
            7 if kind and isinstance(given, list) else given
            for given, kind in zip(system["duration"], system["kind"], strict=True)
        ]
    add_orders(rng, system)
    add_starts(rng, system)
    return system


def random_limits(rng: random.Random) -> list[int]:
    """Of a small GPU: a handful of blocks fill it."""
    limits = [
        rng.randint(1, 4),
        rng.choice([4, 8, 16]),
        rng.randint(1, 6),
        rng.choice([1024, 2048, 4096]),
        rng.choice([256, 512, 1024]),
        0,
        rng.choice([0, 0, 32]),
        rng.choice([1, 64]),
        rng.choice([64, 256]),
        rng.choice([1, 2, 4]),
        rng.choice([0, 0, 1024, 4096]),
    ]
    limits[5] = limits[4] - limits[6]
    return limits + random_carveouts(rng, limits[4])


def random_carveouts(rng: random.Random, smem: int) -> list[int]:
    """A rule and carve-outs of an SM; mostly, the largest one is all its shared memory."""
    rule = rng.choice([0, 1, 1, 2, 2])
    sizes = {rng.randint(0, smem) for _ in range(rng.randint(0, 4))}
    sizes |= {rng.choice([0, smem // 4])} | ({smem} if rng.random() < 0.8 else set())
    return [rule, *(sorted(sizes) if rule or rng.random() < 0.5 else [])]


def random_grid(rng: random.Random, limits: list[int]) -> tuple[int, int, int, int]:
    """Blocks, threads, registers and shared memory of a kernel whose blocks fit an SM."""
    while True:
        threads = rng.randint(1, 32 * limits[1])
        regs = rng.choice([0, 0, rng.randint(1, 40)])
        smem = rng.choice([0, 0, rng.randint(0, limits[5])])
        if fits(limits, threads, regs, smem):
            return rng.randint(1, 8), threads, regs, smem


def partition_arrays(system: System) -> tuple[Any, ...]:
    """Partition of each stream, limits, queues, and the SMs of the sets, with their offsets."""
    if system.get("partition") is None:
        return (None,) * 5
    count = max(system["partition"]) + 1
    for key in ("partition_sms", "partition_limit", "own_queues"):
        count = max(count, len(system.get(key) or ()))
    sets = [row or [] for row in system.get("partition_sms") or [None] * count]
    columns = [
        system["partition"],
        system.get("partition_limit") or [0] * count,
        system.get("own_queues") or [0] * count,
        [sum(len(row) for row in sets[:k]) for k in range(count + 1)],
        [sm for row in sets for sm in row],
    ]
    return tuple(np.array(column, dtype=np.int64) for column in columns)


def opened(system: System, log_blocks: bool = True) -> Any:
    """The core's simulation of a system."""

    def ints(values: Any) -> np.ndarray[Any, Any]:
        return np.array(values, dtype=np.int64)

    def ragged(rows: Any) -> tuple[Any, Any]:
        if rows is None:
            return None, None
        begin = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return begin, ints([value for row in rows for value in row])

    durations = system["duration"]
    given = [value if isinstance(value, list) else [] for value in durations]
    same = ints([1 if isinstance(value, list) else value for value in durations])
    factors = system["interference"]
    return positional(_core.hierarchy_open)(
        ints(system["limits"]),
        None if system["sm_order"] is None else ints(system["sm_order"]),
        POLICIES.index(system["policy"]),
        ints(system["copy_engines"]),
        system["channels"],
        system.get("shared_channels", False),
        system.get("channels_until_end", False),
        system.get("resident_grids", 0),
        system["context_switch"],
        ints(system["timeslice"]),
        None if system["runlist"] is None else ints(system["runlist"]),
        *(ints(system[key]) for key in ("context", "priority", "stream_kind", "time", "kind")),
        *(ints(system[key]) for key in ("stream", "blocks", "threads", "regs", "smem")),
        same,
        same,
        *(ragged(given) if any(given) else (None, None)),
        *ragged(system["after"]),
        None if factors is None else ints(factors).ravel(),
        *(None if system.get(key) is None else ints(system[key]) for key in ORDERS),
        *partition_arrays(system),
        *(None if system.get(key) is None else ints(system[key]) for key in STARTS),
        None if system["sms_per_gpc"] is None else ints(system["sms_per_gpc"]),
        np.array([1, 2, 3, 4], dtype=np.uint64),
        0,
        log_blocks,
    )


def simulated(system: System, step: int = NEVER) -> Result:
    """Result of the core for a system, in the form of reference.hierarchy.simulate."""
    simulation = opened(system)
    done = False
    while not done:
        _, done, *_ = simulation.run(steps=step, states=0, bytes=1 << 28, seconds=60.0, stop=None)
    return logs(simulation)


def logs(simulation: Any) -> Result:
    def rows(columns: tuple[np.ndarray[Any, Any], ...]) -> list[tuple[int, ...]]:
        return list(zip(*(column.tolist() for column in columns), strict=True))

    head, joined, first, dispatched, end, why, since, blocker, engine = (
        column.tolist() for column in simulation.ops()
    )
    waits = rows(simulation.waits())
    return {
        "head": head,
        "joined": joined,
        "first": first,
        "dispatched": dispatched,
        "end": end,
        "engine": engine,
        "blocks": sorted(rows(simulation.blocks())),
        "waits": sorted(waits),
        "slices": rows(simulation.slices()),
        "deadlock": [(k, why[k], since[k], blocker[k]) for k in range(len(end)) if end[k] < 0],
    }
