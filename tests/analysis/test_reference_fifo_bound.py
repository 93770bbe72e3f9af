"""The slow response-time bounds of block-level FIFO on sets computed by hand."""

from __future__ import annotations

import random
from fractions import Fraction as Q

import pytest
from reference import fifo_bound as fb
from reference.fifo import ORDERS, responses, simulate

pytestmark = [pytest.mark.python, pytest.mark.numbers]

# (period, block time, blocks, threads, m)
THREE = ([40, 30, 24], [4, 3, 6], [2, 4, 1], [3, 2, 4], 8)
CHAIN = ([8, 100], [2, 10], [1, 3], [1, 2], 4)
TIGHT = ([100, 100], [10, 90], [2, 1], [1, 1], 2)
SINGLE = ([20, 30, 25], [10, 8, 12], [1, 1, 1], [4, 3, 2], 8)
PAPER = ([80, 160, 170, 180], [38, 60, 60, 112], [1, 7, 1, 5], [1024, 512, 1024, 512], 4096)


def of(args, order):
    return [value for value, _ in fb.bounds(*args, order)]


def names(args, order):
    return [name for _, name in fb.bounds(*args, order)]


def test_three_tasks():
    assert fb.Set(*THREE).beta == 5
    assert fb.theorem_p(*THREE) == [Q(104, 5), 21, Q(102, 5)]
    assert fb.theorem_v1(*THREE) == [(16, 1), (Q(81, 5), 1), (Q(78, 5), 1)]
    assert fb.theorem_a(*THREE) == [Q(301, 4), Q(1221, 17), 66]
    assert fb.theorem_a_refined(*THREE, rounds=4) == [Q(128, 5), Q(129, 5), Q(126, 5)]
    assert fb.theorem_a_refined(*THREE) == [Q(128, 5), Q(129, 5), Q(102, 5)]
    assert fb.theorem_v3(*THREE) == [Q(143, 5), Q(144, 5), Q(141, 5)]
    assert fb.theorem_v2(*THREE) == [None] * 3
    assert fb.theorem_a_single(*THREE) == [16, Q(81, 5), Q(78, 5)]
    assert names(THREE, "release") == ["A one job"] * 3
    assert of(THREE, "overlap") == fb.theorem_p(*THREE)


def test_a_run_of_jobs():
    assert fb.Set(*CHAIN).beta == 3
    assert fb.theorem_v1(*CHAIN) == [(22, 2), (24, 1)]
    assert fb.theorem_a(*CHAIN) == [Q(487, 6), Q(798, 11)]
    assert fb.theorem_a_refined(*CHAIN) == [22, Q(80, 3)]
    assert names(CHAIN, "hardware") == ["V1 case 2", "V1 case 1"]


def test_the_condition_met_with_equality():
    s = fb.Set(*TIGHT)
    assert s.U + Q((s.beta - 1) * 90, 100) == s.beta == 2
    assert of(TIGHT, "hardware") == [60, 100]
    assert of(TIGHT, "strict") == [None, None]


def test_kernels_of_one_block():
    s = fb.Set(*SINGLE)
    assert (s.beta, s.U) == (5, Q(94, 25))
    assert of(SINGLE, "hardware") == [Q(98, 5), Q(104, 5), Q(124, 5)]
    assert fb.theorem_v2(*SINGLE) == [26, Q(136, 5), Q(156, 5)]
    assert fb.theorem_a(*SINGLE) == of(SINGLE, "strict") == [None] * 3


@pytest.mark.parametrize("args", [SINGLE, ([9, 17, 8, 12], [5, 7, 3, 4], [1] * 4, [2, 3, 2, 1], 6)])
def test_v2_is_the_least_fixed_point(args):
    """Down from a valid vector, round after round, one gets to the closed form's."""
    s = fb.Set(*args)
    sets = [[i for i in range(s.n) if x >> i & 1] for x in range(1 << s.n)]
    sets = [F for F in sets if sum(s.b[i] for i in F) <= s.beta - 1]
    most = max(sum(s.u[i] for i in F) for F in sets)
    y = [(s.S - min(s.C)) / (s.beta - most)] * s.n
    for _ in range(300):
        Y = max(sum(s.u[i] * y[i] for i in F) for F in sets)
        lower = [(s.S - C + Y) / s.beta for C in s.C]
        assert all(a <= b for a, b in zip(lower, y, strict=True))
        y = [Q(round(a * 10**20) + 1, 10**20) for a in lower]  # up, so that it stays valid
    closed = fb.theorem_v2(*args)
    for k in range(s.n):
        assert 0 <= s.c[k] + y[k] - closed[k] < Q(1, 10**15)


def test_the_papers_example():
    s = fb.Set(*PAPER)
    assert s.beta == 3584 and s.m - max(s.b) + 1 == 3073 < s.beta < s.U
    lone = [s.c[k] + Q(s.S - s.b[k] * s.c[k], s.beta) for k in range(4)]
    assert lone == [Q(1366, 7), Q(1536, 7), Q(1476, 7), 264]
    for order in ("hardware", "release", "strict", "overlap"):
        assert fb.bounds(*PAPER, order) == [(None, "")] * 4


def test_saturation():
    # All blocks alike, of a size that divides m: no thread is lost.
    assert fb.saturation([8, 8], [512, 512], 4096) == 4096
    # One task alone, no more blocks than there is room for: none waits, unless jobs overlap.
    assert fb.saturation([2], [3], 8) is None
    assert fb.saturation([3], [3], 8) == 6
    assert fb.saturation([2], [3], 8, overlap=True) == 6
    # A block of 5 waits while others hold 4 or more: the one of 4, or both of 3.
    assert fb.saturation([1, 1], [5, 4], 8) == 4
    assert fb.saturation([1, 2], [5, 3], 8) == 6
    # A block never waits for its own task's only block: 4 keeps a 7 waiting, not a 4.
    assert fb.saturation([1, 1, 1], [7, 7, 4], 10) == 4
    assert fb.saturation([1, 1], [7, 5], 10) == 5


def test_where_nothing_ever_waits():
    easy = ([10, 7], [9, 7], [1, 2], [4, 2], 8)
    for order in ("hardware", "release", "strict"):
        assert fb.bounds(*easy, order) == [(9, "FITS"), (7, "FITS")]
    assert names(easy, "overlap") == ["", ""]  # U = 7.6 > 6: late jobs would pile up
    for order in ("hardware", "release", "strict"):
        assert of(([10, 7], [9, 8], [1, 2], [4, 2], 8), order) == [None, None]


@pytest.mark.parametrize("order", ORDERS)
def test_no_simulated_response_exceeds_its_bound(order):
    rng = random.Random(f"fifo {order}")
    bounded, reached = 0, Q(0)
    for _ in range(60):
        n, m = rng.randint(2, 3), rng.randint(2, 6)
        period = [rng.randint(6, 20) for _ in range(n)]
        block_time = [rng.randint(1, 8) for _ in range(n)]
        blocks = [rng.randint(1, 2) for _ in range(n)]
        threads = [rng.randint(1, m) for _ in range(n)]
        found = fb.bounds(period, block_time, blocks, threads, m, order)
        if all(bound is None for bound, _ in found):
            continue
        for _ in range(3):
            offset = [rng.randint(0, 10) for _ in range(n)]
            result = simulate(period, block_time, blocks, threads, m, order, 150, offset)
            for (bound, name), seen in zip(found, responses(result, n), strict=True):
                if bound is not None:
                    assert max(seen) <= bound, (period, block_time, blocks, threads, m, name)
                    bounded += name != "FITS"
                    reached = max(reached, max(seen) / bound)
    assert bounded > 20 and reached > Q(1, 2)
