"""The slow bounds of priority streams: worked examples, agreement with the package, extremes."""

import random
from fractions import Fraction as Q

import numpy as np
import pytest
from amounts import QUICK, cases
from reference import priority_streams as ps
from reference.priority_streams import task

import gpusched as gs

pytestmark = pytest.mark.numbers

HI = [(4, 1, 1)] * 3
A_ALONE = [task(0, 8, [(1, 1, 2)]), task(0, 100, [(3, 2, 10)]), task(1, 60, [(1, 1, 3)])]
SINGLE = [task(0, 9, [(1, 1, 9)]), task(0, 12, [(2, 2, 4)]), task(1, 40, [(4, 1, 20)])]

# tasks, threads, SMs, bounds, saturation of the levels, and of these with own blocks alone
VECTORS = {
    "V1": (
        [task(0, 40, [(2, 3, 4)]), task(1, 30, [(4, 2, 3)]), task(2, 24, [(1, 4, 6)])],
        *(8, 1, [10, 14, Q(78, 5)], [6, 6, 5], [None, 6, 5]),
    ),
    "V2": (
        [task(0, 60, HI, [1, 1, 1]), task(1, 100, [(4, 1, 10)])],
        *(4, 1, [Q(73, 4), Q(41, 2)], [4, 4], [None, 4]),
    ),
    "V3": (
        [task(0, 60, HI), task(1, 100, [(4, 1, 10)])],
        *(4, 1, [Q(61, 4), Q(41, 2)], [4, 4], [None, 4]),
    ),
    "V4": (
        [
            task(0, 60, [(2, 2, 3), (1, 2, 4)]),
            task(0, 50, [(3, 1, 2), (2, 1, 2)]),
            task(0, 80, [(4, 2, 5)]),
        ],
        *(4, 1, [Q(77, 3), 26, 21], [3, 3, 3], [3, 3, 3]),
    ),
    "V5": (
        [
            task(0, 4, [(1, 1, 5)]),
            task(1, 60, [(3, 1, 4), (2, 1, 3)], [0, 1]),
            task(2, 80, [(2, 2, 6)]),
        ],
        *(4, 1, [None, Q(59, 3), 21], [4, 4, 3], [None, None, 3]),
    ),
    "V6": (
        [
            task(0, 30, [(4, 2, 3), (2, 3, 2)], [1, 1]),
            task(1, 60, [(3, 2, 6)]),
            task(1, 90, [(6, 1, 5)]),
        ],
        *(4, 2, [23, Q(75, 2), Q(153, 4)], [4, 4, 4], [6, 4, 4]),
    ),
    "V7, first partition": (
        [task(0, 40, [(3, 2, 4)]), task(1, 60, [(2, 2, 5)])],
        *(4, 1, [13, Q(27, 2)], [4, 4], [4, 4]),
    ),
    "V7, second partition": (
        [task(0, 50, [(4, 1, 6)]), task(1, 70, [(2, 3, 4)])],
        *(4, 1, [10, 22], [4, 2], [None, 2]),
    ),
    "V8": (
        [task(0, 12, [(3, 2, 3)]), task(0, 60, [(2, 2, 5)]), task(1, 50, [(1, 1, 4)])],
        *(4, 1, [13, 14, Q(104, 3)], [3, 3, 3], [4, 4, 3]),
    ),
    "V9": (
        [task(0, 14, [(1, 1, 10)]), task(1, 40, [(1, 2, 6)])],
        *(2, 1, [16, 46], [2, 1], [None, 1]),
    ),
    "X1": (
        [task(0, 12, [(2, 1, 6)]), task(1, 10, [(1, 1, 10)])],
        *(2, 1, [12, None], [2, 2], [None, 2]),
    ),
    "X1, closer": (
        [task(0, 11, [(2, 1, 6)]), task(1, 12, [(1, 1, 10)])],
        *(2, 1, [None, None], [2, 2], [None, 2]),
    ),
    "X2": (
        [task(0, 5, [(1, 2, 5)]), task(1, 1000, [(1, 2, 1)])],
        *(3, 1, [None, None], [2, 2], [None, 2]),
    ),
    "X3": (
        [task(0, 100, [(1, 1, 1)] * 3, [1, 1, 1]), task(1, 10, [(1, 1, 10)])],
        *(1, 1, [36, None], [1, 1], [None, 1]),
    ),
    "X3, eight kernels": (
        [task(0, 2000, [(4, 1, 10)] * 8, [1] * 8), task(1, 100, [(4, 1, 100)])],
        *(4, 1, [888, None], [4, 4], [None, 4]),
    ),
    "X3, stragglers": (
        [task(0, 1000, [(2, 1, 5)] * 3), task(1, 10, [(2, 1, 10)])],
        *(2, 1, [40, None], [2, 2], [None, 2]),
    ),
    "X4": (
        [task(0, 1000, [(2, 1, 4)]), task(1, 10, [(1, 1, 10)]), task(1, 10, [(1, 1, 10)])],
        *(2, 1, [14, None, None], [2, 2, 2], [None, 2, 2]),
    ),
    "X5": (
        [task(0, 1000, [(2, 4, 2)]), task(1, 10, [(1, 1, 10)])],
        *(4, 1, [14, None], [1, 1], [4, 1]),
    ),
    "X5, no saturation": (
        [task(0, 1000, [(1, 6, 2)]), task(1, 10, [(1, 7, 3)])],
        *(8, 1, [5, 5], [7, 6], [None, 6]),
    ),
    "X6": ([task(0, 1000, [(2, 2, 4)])], 3, 1, [8], [2], [2]),
    "X7": (
        [task(0, 14, [(1, 2, 6)]), task(1, 26, [(3, 2, 4)])],
        *(3, 1, [10, 30], [2, 2], [None, 2]),
    ),
    "X8": (
        [task(0, 10, [(1, 1, 1), (1, 1, 4)], [2, 1]), task(1, 54, [(3, 1, 4)])],
        *(1, 1, [None, None], [1, 1], [None, 1]),
    ),
    "X9": (
        [task(0, 1000, [(1, 1, 1)] * 2), task(0, 10, [(1, 1, 10)])],
        *(1, 1, [22, None], [1, 1], [1, 1]),
    ),
}


def chains(tasks):
    return gs.KernelChains(
        period=[t.period for t in tasks],
        block_time=[[c for _, _, c in t.kernels] for t in tasks],
        blocks=[[g for g, _, _ in t.kernels] for t in tasks],
        threads=[[b for _, b, _ in t.kernels] for t in tasks],
        latency=[t.latency for t in tasks],
        priority=[t.level for t in tasks],
    )


@pytest.mark.parametrize("name", VECTORS)
def test_worked_examples(name):
    tasks, threads, sms, expected, saturation, alone = VECTORS[name]
    assert ps.bounds(tasks, threads, sms) == expected
    assert [ps.saturation(tasks, t.level, threads, sms) for t in tasks] == saturation
    assert [ps.Level(tasks, t.level, threads, sms).later for t in tasks] == alone
    assert gs.analysis.priority_streams(chains(tasks), threads, sms=sms).exact == expected


# Sets whose bounds need what was found for other tasks before.
REFINED = {
    "a second round over the levels": (
        [
            (0, 36, [(2, 1, 2), (2, 4, 2)]),
            (2, 136, [(3, 3, 6)]),
            (1, 13, [(2, 1, 1), (1, 3, 2)]),
            (2, 11, [(2, 2, 2)]),
        ],
        [Q(37, 2), 37, Q(123, 4), Q(77, 2)],
    ),
    "several choices of fluid tasks": (
        [
            (2, 42, [(2, 2, 5)]),
            (2, 68, [(2, 5, 8)]),
            (0, 14, [(1, 1, 6)]),
            (2, 77, [(2, 6, 6), (1, 5, 3)]),
            (1, 100, [(1, 1, 4), (3, 5, 7)]),
            (2, 77, [(1, 1, 2), (3, 5, 5)]),
            (0, 8, [(1, 1, 6)]),
        ],
        [None, None, 14, None, Q(151, 3), None, None],
    ),
}


@pytest.mark.parametrize("name", REFINED)
def test_bounds_are_refined_with_those_of_others(name):
    rows, expected = REFINED[name]
    tasks = [task(*row) for row in rows]
    assert ps.bounds(tasks, 7, 1) == expected
    assert gs.analysis.priority_streams(chains(tasks), 7).exact == expected


def test_lower_jobs_counted_by_their_work():
    """V2 and V3 without B: a residual round at each kernel."""
    for name, expected in (("V2", 36), ("V3", 22)):
        tasks = VECTORS[name][0]
        assert ps.theorem_m(tasks, 0, [None, None], ps.Level(tasks, 0, 4, 1)) == expected


def test_theorem_a_alone():
    assert ps.theorem_a(A_ALONE, 0, 4, 1, [None] * 3) == {0: Q(989, 12), 1: Q(810, 11)}
    assert ps.bounds(A_ALONE, 4) == [23, 25, 27]


def test_jobs_that_overlap():
    assert ps.theorem_o(SINGLE, 4) == [Q(103, 3), Q(89, 3), None]
    assert ps.bounds(SINGLE, 4) == [None] * 3
    answer = gs.analysis.priority_streams(chains(SINGLE), 4, overlap=True)
    assert answer.exact == [Q(103, 3), Q(89, 3), None]


def random_set(rng, latest=0):
    """Tasks below, at and above what the theorems cover, and the threads and number of SMs."""
    sms = rng.choice([1, 1, 1, 2, 3])
    threads = rng.randint(1, 8) if sms == 1 else rng.randint(2, 4)
    longest, levels = rng.randint(1, 3), rng.randint(1, 3)
    shares = [rng.random() + 0.01 for _ in range(rng.randint(1, 4))]
    load = rng.uniform(0.1, 1.1) * threads * sms / sum(shares)
    tasks = []
    for share in shares:
        kernels = [
            (rng.randint(1, 4), rng.randint(1, threads), rng.randint(1, 12))
            for _ in range(rng.randint(1, longest))
        ]
        period = max(1, round(sum(g * b * c for g, b, c in kernels) / (load * share)))
        if rng.random() < 0.3:
            period = rng.choice([20, 30, 40])  # equal periods
        latency = [rng.randint(0, latest) for _ in kernels]
        tasks.append(task(rng.randrange(levels), period, kernels, latency))
    return tasks, threads, sms


@pytest.mark.long
@pytest.mark.parametrize("latest", [0, 2])
def test_the_package_agrees_on_random_sets(latest):
    rng = random.Random(latest)
    bounded = 0
    for _ in range(cases(30)):
        tasks, threads, sms = random_set(rng, latest)
        answer = gs.analysis.priority_streams(chains(tasks), threads, sms=sms)
        expected = ps.bounds(tasks, threads, sms)
        assert answer.exact == expected, (tasks, threads, sms)
        known = [ps.saturation(tasks, t.level, threads, sms) or 0 for t in tasks]
        assert answer.saturation.tolist() == known
        bounded += sum(bound is not None for bound in expected)
    assert bounded > 20 or QUICK


def test_the_package_agrees_where_jobs_overlap():
    rng = random.Random(3)
    for _ in range(150):
        tasks, threads, sms = random_set(rng)
        tasks = [t._replace(kernels=t.kernels[:1], latency=[0]) for t in tasks]
        answer = gs.analysis.priority_streams(chains(tasks), threads, sms=sms, overlap=True)
        assert answer.exact == ps.theorem_o(tasks, threads, sms), (tasks, threads, sms)


def in_units(tasks, unit):
    return [
        t._replace(
            period=unit * t.period,
            kernels=[(g, b, unit * c) for g, b, c in t.kernels],
            latency=[unit * late for late in t.latency],
        )
        for t in tasks
    ]


@pytest.mark.long
def test_the_unit_of_time_does_not_matter():
    """Bounds up to 2**60 ticks: those of the same set in another unit, or none."""
    rng = random.Random(4)
    large = 0
    for _ in range(400):
        tasks, threads, sms = random_set(rng, latest=2)
        times = [x for t in tasks for x in (t.period, *(c for _, _, c in t.kernels))]
        most = max(*times, 2 * sum(t.work for t in tasks))
        for bits in (50, 60):
            unit = (2**bits - 2) // most
            one, two = (
                gs.analysis.priority_streams(chains(each), threads, sms=sms)
                for each in (tasks, in_units(tasks, unit))
            )
            for small, big in zip(one.exact, two.exact, strict=True):
                assert big is None or big >= unit * small
                # Runs of 300 jobs end before 2**60; Theorem A rounds shares of long periods.
                if bits == 50 and "A" not in one.theorem:
                    assert big == (None if small is None else unit * small)
                    large += big is not None
    assert large > 400


@pytest.mark.parametrize(("period", "jobs"), [(3015, 200), (3010, 300), (3009, None)])
def test_a_run_of_the_most_jobs(period, jobs):
    """One residue of 3000 ticks, which jobs of 3000 make up for."""
    tasks = [task(0, period, [(1, 1, 3000)]), task(1, 10**7, [(1, 1, 3000)])]
    answer = gs.analysis.priority_streams(chains(tasks), 1)
    assert answer.exact == ps.bounds(tasks, 1)
    assert answer.exact[0] == (None if jobs is None else 6000)


def test_overload_is_left_without_a_bound():
    rng = np.random.default_rng(5)
    shape = (200, 6, 4)
    sets = gs.KernelChains(
        period=rng.integers(1, 50, (200, 6)),
        block_time=rng.integers(1, 2**40, shape),
        blocks=rng.integers(1, 9, shape),
        threads=rng.integers(1, 5, shape),
        priority=rng.integers(0, 3, (200, 6)),
    )
    assert not gs.analysis.priority_streams(sets, 4).bounded.any()
