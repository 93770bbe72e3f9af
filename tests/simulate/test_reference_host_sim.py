"""The slow simulator of CPU and GPU segments: counterexamples to bounds, examples."""

from __future__ import annotations

import random

import pytest
from reference import host_tests as ht
from reference.host_sim import Simulation, responses, simulate, worst
from reference.host_tests import Task
from test_reference_host_tests import random_set

pytestmark = [pytest.mark.python, pytest.mark.numbers]

TESTS = {
    "stgm suspend": (lambda tasks: ht.stgm(tasks), {"protocol": "stgm"}),
    "stgm busy": (lambda tasks: ht.stgm(tasks, True), {"protocol": "stgm", "mode": "busy"}),
    "mpcp suspend": (lambda tasks: ht.mpcp(tasks), {"protocol": "mpcp"}),
    "mpcp busy": (lambda tasks: ht.mpcp(tasks, "busy"), {"protocol": "mpcp", "mode": "busy"}),
    "mpcp spin": (lambda tasks: ht.mpcp(tasks, "spin"), {"protocol": "mpcp", "mode": "spin"}),
    "fmlp_plus suspend": (lambda tasks: ht.fmlp_plus(tasks), {"protocol": "fmlp_plus"}),
    "fmlp_plus busy": (
        lambda tasks: ht.fmlp_plus(tasks, True),
        {"protocol": "fmlp_plus", "mode": "busy"},
    ),
    "server": (
        lambda tasks: ht.gpu_server(tasks, 1, 2),
        {"protocol": "gpu_server", "server": 1, "eps": 2},
    ),
}


def lone(core, prio, cpu, gpu=(), sms=(), T=1000, D=None):
    return Task(T, cpu, gpu, D, prio, core, sms)


def intervals(tasks, cpus, releases, **options):
    """(what, core, task, from, to) in order of time."""
    full = [worst(t, len(t.sms) or 1) for t in tasks]
    simulation = Simulation(tasks, cpus, **options)
    simulation.run(releases, lambda i, number: full[i])
    rows = [(w, c, j and j[0], a, b) for w, c, j, a, b in simulation.log]
    return sorted(rows, key=lambda row: (row[3], row[4], str(row)))


def test_a1():
    a1 = [lone(0, 0, [5]), lone(0, 1, [1, 1], [(2, 1, 2)], {0})]
    assert responses(a1, 1, [[2], [0]]) == [8, 11]
    assert intervals(a1, 1, [[2], [0]]) == [
        ("ready", 0, 1, 0, 1),
        ("in", 0, 1, 1, 3),
        ("kernel", None, 1, 3, 4),
        ("ready", 0, 0, 3, 4),
        ("out", 0, 1, 4, 6),
        ("ready", 0, 0, 6, 10),
        ("ready", 0, 1, 10, 11),
    ]


def test_a2():
    a2 = [
        lone(0, 0, [0, 0], [(1, 2, 1)], {1}),
        lone(1, 1, [0, 0], [(1, 5, 1)], {0, 1}),
        lone(2, 2, [0, 0], [(1, 10, 1)], {0}),
    ]
    assert responses(a2, 3, [[2], [1], [0]]) == [17, 16, 12]


def test_a3():
    a3 = [
        lone(0, 0, [1, 0], [(1, 2, 1)], {0}),
        lone(0, 1, [4]),
        lone(1, 2, [0, 0], [(1, 30, 1)], {0}),
    ]
    assert responses(a3, 2, [[1], [1], [0]], mode="busy")[1] == 37
    # Suspended, task 0 leaves its core to task 1: both copies and its CPU segment come between.
    assert responses(a3, 2, [[1], [1], [0]])[1] == 1 + 1 + 4


def test_a4():
    a4 = [
        lone(0, 0, [3]),
        lone(0, 1, [0, 0], [(1, 2, 1)], {0}),
        lone(1, 2, [0, 0], [(1, 30, 1)], {0}),
    ]
    assert responses(a4, 2, [[3], [1], [0]], mode="busy")[0] == 34


def test_a5():
    a5 = [lone(0, 1, [5], T=10), lone(0, 0, [2], T=4)]
    assert responses(a5, 1, [[0, 10], [0, 4, 8]])[0] == 11


def test_a6():
    a6 = [lone(0, 0, [6], T=20, D=8), lone(0, 1, [1, 0], [(4, 2, 4)], {0})]
    seen = [responses(a6, 1, [[at], [0]])[0] for at in range(9)]
    assert max(seen) == seen[2] == 13


def test_b1():
    b1 = [lone(0, 0, [1, 0], [(1, 10, 1)]), lone(0, 1, [1, 0], [(1, 1, 1)])]
    assert responses(b1, 1, [[0], [0]], protocol="fmlp_plus")[1] == 16
    assert responses(b1, 1, [[0], [0]], protocol="fmlp_plus", mode="busy")[1] == 17


def test_the_order_at_a_lock():
    # 2 holds the lock until 10; 1 asks at 1, 0 at 2, on cores of their own.
    tasks = [lone(i, i, [0, 0], [(1, 8, 1)]) for i in range(3)]
    releases = [[2], [1], [0]]
    assert responses(tasks, 3, releases, protocol="mpcp") == [18, 29, 10]
    assert responses(tasks, 3, releases, protocol="fmlp_plus") == [28, 19, 10]
    # At equal instants the more urgent is first, even if the lock is free.
    assert responses(tasks, 3, [[0], [0], [0]], protocol="fmlp_plus") == [10, 20, 30]


def test_spinning():
    # 1 waits for the lock that 2 holds on the other core, in front of 3 or leaving its core to it.
    tasks = [
        lone(0, 1, [0, 1], [(1, 2, 1)]),
        lone(1, 2, [0, 0], [(2, 6, 2)]),
        lone(0, 3, [4]),
    ]
    releases = [[1], [0], [0]]
    assert responses(tasks, 2, releases, protocol="mpcp") == [14, 10, 4]
    assert responses(tasks, 2, releases, protocol="mpcp", mode="spin") == [14, 10, 18]
    assert responses(tasks, 2, releases, protocol="mpcp", mode="busy") == [14, 10, 4]


def test_the_server():
    tasks = [lone(0, 0, [1, 1], [(1, 4, 1)]), lone(0, 1, [1, 1], [(1, 2, 1)]), lone(1, 2, [10])]
    rows = intervals(tasks, 2, [[0], [0], [0]], protocol="gpu_server", server=1, eps=1)
    assert [row for row in rows if row[0] in ("wake", "in", "kernel", "out", "tell")] == [
        ("wake", 1, None, 1, 2),
        ("in", 1, 0, 2, 3),
        ("kernel", None, 0, 3, 7),
        ("out", 1, 0, 7, 8),
        ("tell", 1, 0, 8, 9),
        ("in", 1, 1, 9, 10),
        ("kernel", None, 1, 10, 12),
        ("out", 1, 1, 12, 13),
        ("tell", 1, 1, 13, 14),
    ]
    assert [
        (job.start, job.end)
        for job in simulate(tasks, 2, [[0], [0], [0]], protocol="gpu_server", server=1, eps=1)
    ] == [(0, 10), (1, 15), (0, 17)]


def test_a_gpu_segment_begins_when_its_task_is_scheduled():
    """Two GPU segments in a row: the second waits for a more urgent task that is ready."""
    tasks = [lone(0, 0, [5]), lone(0, 1, [0, 0, 0], [(3, 0, 0), (3, 0, 0)], {0})]
    for protocol in ("stgm", "mpcp", "fmlp_plus"):
        for mode in ("suspend", "busy"):
            assert responses(tasks, 1, [[1], [0]], protocol=protocol, mode=mode) == [7, 11]
            assert responses(tasks, 1, [[3], [0]], protocol=protocol, mode=mode) == [5, 11]
    # Were it to begin at once, the corrected bounds would not hold.
    assert ht.stgm(tasks).W[0] == 8
    assert ht.mpcp(tasks).W[0] == 8
    more = [lone(0, 0, [5]), lone(0, 1, [0] * 4, [(3, 0, 0)] * 3, {0})]
    for protocol in ("stgm", "mpcp", "fmlp_plus"):
        assert responses(more, 1, [[1], [0]], protocol=protocol, eager=True)[0] == 13


def test_parts_of_length_zero_are_none():
    busy = [lone(0, 0, [1, 0], [(4, 4, 4)], {0}), lone(1, 1, [1, 1], [(0, 3, 0)], {1})]
    assert responses(busy, 2, [[0], [0]]) == [13, 5]
    assert responses(busy, 2, [[0], [0]], waits=True) == [13, 9]
    # An empty GPU segment does not let another task go first.
    empty = [lone(0, 0, [24], T=28), lone(0, 1, [4, 0], [(0, 0, 0)], {0}, T=30)]
    for busy in (False, True):
        assert ht.stgm(empty, busy).W == [24, 28]
        mode = "busy" if busy else "suspend"
        assert responses(empty, 1, [[0, 28], [0]], mode=mode) == [24, 28]


def patterns(rng, tasks):
    """Releases and execution times."""
    longest = 3 * max(t.T for t in tasks)

    def periodic(offset, gap):
        rows = []
        for t, at in zip(tasks, offset, strict=True):
            rows.append([])
            while at < longest:
                rows[-1].append(at)
                at += t.T + (rng.randint(1, t.T) if rng.random() < gap else 0)
        return rows

    yield periodic([0] * len(tasks), 0), None
    yield periodic([rng.randint(0, 20) for _ in tasks], 0), None
    yield periodic([rng.randint(0, t.T) for t in tasks], 0.2), None
    full = [worst(t, len(t.sms) or 1) for t in tasks]
    drawn = {}

    def shorter(i, number):
        if (i, number) not in drawn:
            cpu, gpu = full[i]
            drawn[i, number] = (
                [rng.randint(0, c) for c in cpu],
                [tuple(rng.randint(0, part) for part in segment) for segment in gpu],
            )
        return drawn[i, number]

    yield periodic([rng.randint(0, 20) for _ in tasks], 0), shorter


@pytest.mark.long
@pytest.mark.parametrize("name", TESTS)
def test_no_response_above_a_bound(name):
    test, options = TESTS[name]
    rng = random.Random(name)
    checked = attained = 0
    while checked < 40:
        tasks = random_set(rng, rng.randint(2, 4), 2, 2, T=(30, 120), columns=1)
        found = test(tasks)
        if not found.schedulable or sum(t.eta for t in tasks) < 2:
            continue
        checked += 1
        for releases, execution in patterns(rng, tasks):
            for back in (False, True):
                seen = responses(tasks, 2, releases, execution, back=back, **options)
                for i, longest in enumerate(seen):
                    assert longest <= found.W[i], (i, [vars(t) for t in tasks], releases)
                    attained += longest == found.W[i]
    assert attained > 0


def test_the_public_bound_is_exceeded():
    rng = random.Random(3)
    exceeded = 0
    for _ in range(40):
        tasks = random_set(rng, 3, 2, 2, T=(30, 120), columns=1)
        found = ht.fmlp_plus(tasks, False, "code")
        if found.schedulable:
            seen = responses(tasks, 2, next(patterns(rng, tasks))[0], protocol="fmlp_plus")
            exceeded += any(s > w for s, w in zip(seen, found.W, strict=True))
    assert exceeded > 0
