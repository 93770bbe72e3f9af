"""The core's scheduling hierarchy against its slow twin, and the twin against published schedules.

The rules are those in csrc/simulate/hierarchy/hierarchy.h and csrc/simulate/gpu/gpu_device.h; the
twin was written from them without the C code.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from amounts import cases
from hierarchy_systems import (
    NEVER,
    POLICIES,
    System,
    extreme_system,
    opened,
    random_limits,
    random_system,
    simulated,
)
from hypothesis import given
from hypothesis import strategies as st
from reference import hierarchy
from reference.hierarchy import simulate

pytestmark = pytest.mark.numbers

KB = 1024
# Two SMs of 2,048 threads, 32 blocks and 64 KB of shared memory each.
TWO_SMS = [2, 64, 32, 65536, 64 * KB, 48 * KB, 0, 256, 256, 4, 0, 0]


def amert(kernels: list[tuple[int, ...]]) -> System:
    """Kernels (stream, launch, duration, blocks, threads, KB, priority).

    Schedules worked by hand, after [RTSS17].
    """
    streams = sorted({k[0] for k in kernels})
    stream, time, duration, blocks, threads, shared, _ = zip(*kernels, strict=True)
    priority = {k[0]: k[6] for k in kernels}
    return system_of(
        limits=TWO_SMS,
        context=[0] * len(streams),
        priority=[priority[s] for s in streams],
        stream=[streams.index(s) for s in stream],
        time=list(time),
        duration=list(duration),
        blocks=list(blocks),
        threads=list(threads),
        smem=[k * KB for k in shared],
    )


def system_of(**given: Any) -> System:
    """A system of kernels in non-blocking streams, unless something else is given."""
    n, streams = len(given["time"]), len(given["context"])
    return {
        "sm_order": None,
        "policy": "most_room",
        "copy_engines": [3],
        "channels": 0,
        "context_switch": 0,
        "timeslice": [1000] * (max(given["context"]) + 1),
        "runlist": None,
        "priority": [0] * streams,
        "stream_kind": [hierarchy.NON_BLOCKING] * streams,
        "kind": [hierarchy.KERNEL] * n,
        "regs": [0] * n,
        "smem": [0] * n,
        "after": None,
        "interference": None,
        "sms_per_gpc": None,
        **given,
    }


def both(system: System) -> Any:
    """The twin's result, after the core's was found to be the same."""
    expected = simulate(system)
    assert simulated(system) == expected
    return expected


def spans(result: Any) -> list[Any]:
    return list(zip(result["first"], result["end"], strict=True))


def test_a_log_that_was_taken() -> None:
    """Before the end: the blocks so far, which stay when the simulation, which is over, is gone."""
    slice_: dict[str, Any] = {"states": 0, "bytes": 0, "seconds": 0.0, "stop": None}
    simulation = opened(amert([(1, 0, 5, 6, 768, 0, 0), (1, 0, 5, 2, 512, 0, 0)]))
    simulation.run(steps=1, **slice_)
    log = simulation.blocks()
    assert [column.tolist() for column in log[2:]] == [[0, 0, 1, 1], [0] * 4, [-1] * 4]
    assert all(one is other for one, other in zip(log, simulation.blocks(), strict=True))
    with pytest.raises(ValueError, match="cannot go on after its log was taken"):
        simulation.run(steps=1, **slice_)
    del simulation
    assert log[0].tolist() == [0] * 4 and all(column.flags.writeable for column in log)


def test_golden_t1() -> None:
    """Streams: K2 waits for K1 of its stream and gets behind K4 and K5."""
    kernels = [
        (1, 0, 5, 6, 768, 0, 0),
        (1, 0, 5, 2, 512, 0, 0),
        (2, 1, 5, 4, 256, 32, 0),
        (3, 2, 5, 2, 256, 32, 0),
    ]
    result = both(amert(kernels))
    assert spans(result) == [(0, 10), (10, 15), (5, 10), (10, 15)]
    assert [b[3] for b in result["blocks"] if b[0] == 0] == [0, 0, 0, 0, 5, 5]


def test_golden_t3() -> None:
    """Priorities: two urgent kernels keep the rest of one that has started waiting."""
    kernels = [
        (1, 0, 5, 8, 1024, 0, 0),
        (2, 2, 5, 16, 1024, 0, -1),
        (3, 5, 5, 16, 1024, 0, -1),
    ]
    result = both(amert(kernels))
    assert spans(result) == [(0, 50), (5, 25), (25, 45)]
    assert [b[3] for b in result["blocks"] if b[0] == 0] == [0] * 4 + [45] * 4
    waits = [w[1:3] + w[4:] for w in result["waits"] if w[0] == 0]
    assert waits == [
        (hierarchy.PRIORITY, 1, 2, 20),
        (hierarchy.PRIORITY, 2, 20, 40),
        (hierarchy.WARPS, -1, 0, 2),
        (hierarchy.WARPS, -1, 40, 45),
    ]


def test_golden_t5() -> None:
    """An urgent kernel that does not fit holds up a smaller one behind it."""
    kernels = [(i, 2 * (i - 1), 20, 1, 512, 0, 0) for i in range(1, 8)]
    kernels += [(8, 13, 10, 1, 1024, 0, -1), (9, 14, 20, 1, 512, 0, 0)]
    result = both(amert(kernels))
    placed = {b[0]: (b[2], b[3]) for b in result["blocks"]}
    assert placed[7] == (1, 22)
    assert placed[8] == (0, 22)


def test_a_deadlock_is_told() -> None:
    system = system_of(
        limits=TWO_SMS,
        context=[0, 0],
        stream=[0, 0, 1],
        time=[0, 1, 2],
        duration=[3, 3, 3],
        blocks=[1, 1, 1],
        threads=[32, 32, 32],
        after=[[2], [], [1]],
    )
    assert both(system)["deadlock"] == [
        (0, hierarchy.AFTER, 0, 2),
        (1, hierarchy.STREAM, 1, 0),
        (2, hierarchy.AFTER, 2, 1),
    ]


@pytest.mark.parametrize(
    ("arrival", "change"), [(11, 20), (19, 20), (20, 20), (21, 30), (38, 40), (40, 40)]
)
def test_a_context_that_was_alone_ends_its_slice(arrival: int, change: int) -> None:
    """Slices end at multiples of their length, whoever looked at the clock in between."""
    system = system_of(
        limits=TWO_SMS,
        context=[0, 1],
        timeslice=[10, 7],
        stream=[0, 1],
        time=[0, arrival],
        duration=[100, 5],
        blocks=[1, 1],
        threads=[64, 64],
    )
    result = both(system)
    assert result["slices"] == [(0, 0, change), (1, change, change + 5), (0, change + 5, 105)]


def test_a_kernel_that_found_no_room_is_not_the_one_before() -> None:
    """Olmedo's rules follow the kernel before, which is the last one with blocks on an SM."""
    # K0 puts warps of its own on SMs 0, 1, 0 and leaves no shared memory for K1. K2 joins SM 0:
    # III.2 holds there, 17 - 1 - 1 >= 16 // 5 * 5. SM 1 has fewer warps.
    system = system_of(
        limits=[2, 17, 6, 0, 1024, 1024, 0, 1, 256, 1, 0, 0],
        policy="olmedo",
        context=[0, 0, 0],
        priority=[0, 0, -1],
        stream=[0, 1, 2],
        time=[0, 1, 2],
        duration=[9, 9, 9],
        blocks=[3, 1, 1],
        threads=[32, 32, 160],
        smem=[340, 700, 0],
    )
    result = both(system)
    assert [b[2:4] for b in result["blocks"] if b[0] == 2] == [(0, 2)]


def test_results_stay_those_of_the_first_simulator() -> None:
    """Recorded with the simulator that had a table of launches and a GPU layer of its own."""
    digest = hashlib.sha256()
    for seed in range(100):
        make = extreme_system if seed % 3 == 2 else random_system
        digest.update(repr(simulated(make(random.Random(seed)))).encode())
    recorded = "6021658f403bdf8158f5786ec844c22486f888dd4e0b6cfb043c26192d806a64"
    assert digest.hexdigest() == recorded


@pytest.mark.parametrize("group", range(8))
def test_agreement_on_random_systems(group: int) -> None:
    for seed in range(group, 1600, 8):
        system = random_system(random.Random(seed))
        assert simulated(system) == simulate(system), seed


def test_agreement_in_bits() -> None:
    """Running it block by block changes nothing."""
    for seed in range(100):
        rng = random.Random(seed)
        system = random_system(rng)
        assert simulated(system, rng.randint(1, 3)) == simulate(system), seed


def test_agreement_with_more_sms() -> None:
    """Several GPCs to choose from, and limits that leave a choice."""
    for seed in range(cases(120)):
        rng = random.Random(seed)
        limits = random_limits(rng)
        limits[0] = rng.randint(5, 9)
        system = random_system(rng, launches=20, latest=60, longest=20, limits=limits)
        assert simulated(system) == simulate(system), seed


@pytest.mark.long
def test_agreement_on_larger_systems() -> None:
    for seed in range(cases(20)):
        system = random_system(random.Random(seed), launches=80, latest=200, longest=20)
        assert simulated(system) == simulate(system), seed


@pytest.mark.long
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 5, NEVER]))
def test_agreement_at_the_edges(rng: random.Random, step: int) -> None:
    system = extreme_system(rng)
    assert simulated(system, step) == simulate(system)


def found_orders(system: System, result: Any) -> set[str]:
    """Graphs and programmatic launches that had an effect in a run."""
    found = set()
    graph = system["graph"] or [-1] * len(system["time"])
    early = system["programmatic"] or [0] * len(graph)
    rows = list(zip(system["stream"], result["first"], result["end"], graph, early, strict=True))
    for (_, first, _, number, _), (_, start, end, other, _) in permutations(rows, 2):
        if number >= 0 and number == other and first >= 0:
            found |= {"node"} | ({"beside"} if start <= first < end else set())
    for (stream, first, _, number, may), (before, start, end, other, _) in permutations(rows, 2):
        if may and stream == before and number == other and 0 <= start <= first < end:
            found.add("early" if number < 0 else "early node")
    return found


def found_pairs(system: System, result: Any) -> set[tuple[str, int]]:
    """Reasons for which nodes and programmatic kernels waited: the rules of both features at once.

    Those of the NULL stream and of channels count in systems with partitions alone.
    """
    kinds = {"node": [g >= 0 for g in system["graph"] or ()], "early": system["programmatic"] or ()}
    reasons = {hierarchy.PARTITION, hierarchy.COOPERATIVE, hierarchy.CLUSTER}
    reasons |= {hierarchy.NULL_STREAM, hierarchy.CHANNEL} if system["partition"] else set()
    waits = [(launch, why) for launch, why, *_ in result["waits"] if why in reasons]
    return {(kind, why) for kind, of in kinds.items() for k, why in waits if of and of[k]}


def waits_between_partitions(system: System, result: Any) -> list[Any]:
    """Waits for a kernel of another partition in a shared channel."""
    home = [(system["partition"] or system["context"])[s] for s in system["stream"]]
    waits = [row for row in result["waits"] if row[1] == hierarchy.CHANNEL]
    return [row for row in waits if home[row[0]] != home[row[2]]]


@pytest.mark.long
@pytest.mark.python
def test_the_random_systems_have_everything() -> None:
    """Every feature occurs in some random system, so that it is compared."""
    why: Counter[int] = Counter()
    rules: Counter[int] = Counter()
    orders: Counter[str] = Counter()
    pairs: Counter[tuple[str, int]] = Counter()
    policies = set()
    deadlocks = slices = engines = channels = gpcs = 0
    for seed in range(600):
        system = random_system(random.Random(seed))
        result = simulate(system)
        why.update(w[1] for w in result["waits"])
        why.update(d[1] for d in result["deadlock"])
        policies.add(system["policy"])
        rules[system["limits"][11]] += system["carveout"] is not None
        orders.update(found_orders(system, result))
        pairs.update(found_pairs(system, result))
        deadlocks += bool(result["deadlock"])
        slices += len(result["slices"]) > 3
        engines += max(result["engine"]) > 1
        channels += bool(waits_between_partitions(system, result))
        gpcs += len({*(system["sms_per_gpc"] or ())}) > 1
    assert set(why) == set(range(17))
    assert min(why.values()) >= 10
    assert policies == set(POLICIES)
    assert min(orders[what] for what in ("node", "beside", "early", "early node")) >= 10, orders
    assert len(pairs) == 10 and min(pairs.values()) >= 3, pairs
    assert min(rules[rule] for rule in range(3)) >= 5
    assert deadlocks >= 10
    assert slices >= 20
    assert engines >= 10 and channels >= 5 and gpcs >= 50
