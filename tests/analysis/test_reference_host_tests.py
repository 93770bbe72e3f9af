"""The slow twins of the tests for CPU and GPU segments: test vectors, limits."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from reference import host_tests as ht
from reference.host_tests import Task

pytestmark = [pytest.mark.python, pytest.mark.numbers]

# Vector A: cores, SM sets and priorities given.
A = [
    Task(60, [3, 2], [(1, 6, 1)], prio=0, core=0, sms={0}),
    Task(80, [5, 1], [(2, 8, 1)], prio=1, core=1, sms={0, 1}),
    Task(120, [10], prio=2, core=0),
    Task(160, [6, 2, 1], [(2, 10, 2), (1, 4, 1)], prio=3, core=1, sms={1}),
]
# Vector A4: to be placed on 2 cores and 4 SMs.
A4 = [
    Task(100, [7, 7], [(1, [74, 48, 39, 35], 3)], prio=0),
    Task(200, [7, 4], [(2, [40, 26, 21, 19], 4)], prio=1),
    Task(250, [5, 2], [(4, [67, 67, 67, 67], 1)], prio=2),
    Task(300, [24], prio=3),
]


def blocking(result):
    return [tuple(terms[k] for k in (1, 2, 4)) for terms in result.terms]


def test_vector_a_printed():
    printed = [(8, 8, 0), (6, 16, 4), (0, 0, 0), (12, 16, 0)]
    found = ht.stgm(A, False, "printed")
    assert blocking(found) == printed
    assert found.W == [29, 43, 17, 75]
    printed[1] = (6, 16, 14)
    found = ht.stgm(A, True, "printed")
    assert blocking(found) == printed
    assert found.W == [29, 53, 23, 147]
    found = ht.stgm(A, True, "printed_h")
    assert found.W == [29, 53, 39, None]
    assert found.failed == 3


def test_vector_a_corrected():
    assert ht.stgm(A).W == [39, 41, 17, 87]
    assert ht.stgm(A, True).W == [35, 41, 45, 58]


def test_vector_b():
    assert ht.mpcp(A).W == [27, 47, 17, 85]
    assert ht.mpcp(A, "busy").W == [27, 67, 23, 101]
    assert ht.mpcp(A, "spin").W == [27, 53, 37, 145]
    assert ht.fmlp_plus(A).W == [38, 47, 17, 85]
    assert ht.fmlp_plus(A, True).W == [38, 53, 23, 79]
    assert ht.fmlp_plus(A, False, "code").W == [38, 53, 17, 63]
    assert ht.fmlp_plus(A, True, "code").W == [38, 53, 23, 79]
    assert ht.gpu_server(A, 0, 1).W == [60, 52, 58, 108]
    assert ht.gpu_server(A, 2, 1).W == [30, 52, 15, 108]
    found = ht.gpu_server(A, 1, 1)
    assert found.W == [30, None, None, None]
    assert found.failed == 1


def test_terms_make_up_the_response():
    for busy in (False, True):
        for result in (ht.stgm(A, busy), ht.fmlp_plus(A, busy), ht.gpu_server(A, 0, 1)):
            for W, terms in zip(result.W, result.terms, strict=True):
                assert sum(terms) == W
    terms = ht.gpu_server(A, 1, 1).terms
    assert sum(terms[1]) > A[1].D
    assert terms[2] is None  # not reached


def test_vector_a4():
    found = ht.allocate(A4, 2, 4)
    assert found.schedulable
    assert found.counts == [2, 1, 1, 0]
    assert [t.sms for t in found.placed] == [{0, 1}, {2}, {3}, set()]
    assert [t.core for t in found.placed] == [0, 1, 1, 1]
    assert found.result.W == [82, 81, 110, 53]
    assert found.rounds == 2
    # With the sign as printed, SMs go to a task that gains nothing from them.
    assert not ht.allocate(A4, 2, 4, sign=True).schedulable


def lone(core, prio, cpu, gpu=(), sms=(), T=1000, D=None):
    return Task(T, cpu, gpu, D, prio, core, sms)


def bounds(tasks, *args):
    return ht.stgm(tasks, *args).W


def test_a1_both_copies_of_a_lower_task_block():
    a1 = [lone(0, 0, [5]), lone(0, 1, [1, 1], [(2, 1, 2)], {0})]
    assert bounds(a1, False, "printed")[0] == 7
    assert bounds(a1)[0] == 9


def test_a2_waiting_for_one_that_waits():
    def three(i, u, v):
        segments = [(1, 2, 1)], [(1, 5, 1)], [(1, 10, 1)]
        return [
            lone(k, k, [0, 0], g, s)
            for k, (g, s) in enumerate(zip(segments, (i, u, v), strict=True))
        ]

    row = three({1}, {0, 1}, {0})
    assert bounds(row, False, "printed")[0] == 13
    assert bounds(row)[0] == 23
    assert ht.chain(row, 0) == ht.component(row, 0) == 15
    star = three({0, 1}, {0}, {1})
    assert ht.stgm(star, False, "printed").terms[0][2] == 15
    assert ht.chain(star, 0) == 10
    assert ht.component(star, 0) == 15


def test_a3_interference_takes_the_blocking_of_the_interfering_task():
    a3 = [
        lone(0, 0, [1, 0], [(1, 2, 1)], {0}),
        lone(0, 1, [4]),
        lone(1, 2, [0, 0], [(1, 30, 1)], {0}),
    ]
    assert bounds(a3, True, "printed")[1] == 9
    assert bounds(a3, True, "printed_h")[1] == 41
    assert bounds(a3, True)[1] == 41


def test_a4_a_boosted_lower_task_spins():
    a4 = [
        lone(0, 0, [3]),
        lone(0, 1, [0, 0], [(1, 2, 1)], {0}),
        lone(1, 2, [0, 0], [(1, 30, 1)], {0}),
    ]
    assert bounds(a4, True, "printed")[0] == 7
    assert bounds(a4, True)[0] == 39


def test_a5_and_a6_a_task_placed_later_is_not_alone():
    a5 = [Task(10, [5], prio=1), Task(4, [2], prio=0)]
    assert ht.allocate(a5, 1, 1, one_task=True).schedulable
    assert not ht.allocate(a5, 1, 1).schedulable
    a6 = [Task(20, [6], D=8, prio=0), Task(100, [1, 0], [(4, 2, 4)], prio=1)]
    assert ht.allocate(a6, 1, 1, one_task=True).schedulable
    assert not ht.allocate(a6, 1, 1).schedulable


def test_b1_kernels_of_more_urgent_tasks_on_the_same_core():
    b1 = [lone(0, 0, [1, 0], [(1, 10, 1)]), lone(0, 1, [1, 0], [(1, 1, 1)])]
    assert ht.fmlp_plus(b1, False, "code").W[1] == 7
    assert ht.fmlp_plus(b1).W[1] == 19


def test_ties_are_refused():
    with pytest.raises(AssertionError, match="tie"):
        ht.stgm([lone(0, 1, [1]), lone(1, 1, [1])])


def random_set(rng, n, cpus, sms, T=(60, 200), columns=3, least=0, jitter=False):
    """Tasks with one to three GPU segments or none, lightly loaded; least: of copies, kernels."""
    prio = rng.sample(range(3 * n), n)
    tasks = []
    for i in range(n):
        eta = rng.choice([0, 1, 1, 2, 3])
        cpu = [rng.randint(0, 4) for _ in range(eta + 1)]
        cpu[0] += eta == 0
        gpu = [
            (
                rng.randint(least, 3),
                sorted(rng.randint(least, 8) for _ in range(columns))[::-1],
                rng.randint(least, 3),
            )
            for _ in range(eta)
        ]
        period = rng.randint(*T)
        own = set(rng.sample(range(sms), rng.randint(1, sms))) if eta else set()
        deadline = period if rng.random() < 0.5 else rng.randint(period // 2, period)
        J = rng.choice([0, rng.randrange(deadline // 2)]) if jitter else 0
        tasks.append(Task(period, cpu, gpu, deadline, prio[i], rng.randrange(cpus), own, J))
        if tasks[-1].C + tasks[-1].G(1) == 0:
            return random_set(rng, n, cpus, sms, T, columns, least, jitter)
    return tasks


def test_the_chain_is_at_most_the_component():
    rng = random.Random(1)
    shorter = 0
    for _ in range(200):
        tasks = random_set(rng, rng.randint(1, 6), 2, rng.randint(1, 4))
        for i in range(len(tasks)):
            assert ht.chain(tasks, i) <= ht.component(tasks, i)
            shorter += ht.chain(tasks, i) < ht.component(tasks, i)
    assert shorter > 0


def test_an_allocation_holds_what_it_says():
    rng = random.Random(2)
    missed = found = 0
    for _ in range(60):
        n, cpus, sms = rng.randint(2, 3), 2, 2
        tasks = random_set(rng, n, cpus, sms, T=(20, 60))
        for busy in (False, True):
            answer = ht.allocate(tasks, cpus, sms, busy)
            best = ht.exhaustive(tasks, cpus, sms, busy)
            assert answer.rounds <= 1 + n * (sms - 1)
            if answer.schedulable:
                assert best is not None
                assert ht.stgm(answer.placed, busy).W == answer.result.W
                load = [Fraction(0)] * cpus
                for t in answer.placed:
                    share = t.C + (t.G(max(1, len(t.sms))) if busy else t.Gm)
                    load[t.core] += Fraction(share, t.T)
                assert max(load) <= 1
            found += answer.schedulable
            missed += best is not None and not answer.schedulable
    assert found > 0
    assert missed > 0  # the heuristic does not find all there is
