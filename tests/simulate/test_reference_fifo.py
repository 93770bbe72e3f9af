"""The slow FIFO simulator on schedules that were drawn by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from reference.fifo import ORDERS, responses, simulate

pytestmark = [pytest.mark.python, pytest.mark.numbers]

# Yang & Anderson, Examples 1 and 2, times in tenths: (period, block time, blocks, threads).
EXAMPLE = ([80, 160, 170, 180], [38, 60, 60, 112], [1, 7, 1, 5], [1024, 512, 1024, 512])


def of(result, task, job=0):
    return [wave[2:] for wave in result["waves"] if wave[:2] == (task, job)]


@pytest.mark.parametrize("order", ["hardware", "release", "strict"])
def test_the_papers_example(order):
    result = simulate(*EXAMPLE, m=4096, order=order, until=81)
    assert of(result, 0) == [(1, 0, 38)]
    assert of(result, 1) == [(6, 0, 60), (1, 38, 98)]
    assert of(result, 2) == [(1, 60, 120)]
    assert of(result, 3) == [(5, 60, 172)]
    # K5: the paper's text says when K4 finishes; by its rule R1 it is when K3 does.
    assert of(result, 0, 1) == [(1, 120, 158)]
    assert result["jobs"][-1] == (0, 1, 80, 120, 120, 158)
    assert result["jobs"][1] == (1, 0, 0, 0, 38, 98)


@pytest.mark.parametrize(("a", "growth"), [(20, 10), (11, 1), (10, 0)])
def test_sequential_streams_diverge_below_the_papers_limit(a, growth):
    """Both threads of a GPU taken while the victim's predecessor has just ended."""
    period, block_time, blocks, threads = [a + 90, 100], [a, 90], [2, 1], [1, 1]
    assert sum(b * c / t for b, c, t in zip(blocks, block_time, period, strict=True)) <= 2
    result = simulate(period, block_time, blocks, threads, 2, "hardware", 4000)
    victim = responses(result, 2)[1][:30]  # while the attacker is there
    assert victim[0] == 90 + a
    assert {y - x for x, y in pairwise(victim)} == {growth}
    for order in ("release", "overlap"):
        assert (
            max(responses(simulate(period, block_time, blocks, threads, 2, order, 4000), 2)[1])
            <= 110
        )


def test_multi_block_kernels_diverge_in_order_of_release():
    system = ([3000, 100], [1000, 45], [3, 5], [1, 1])
    for order in ("hardware", "release"):
        result = simulate(*system, 4, order, 60001)
        victim = responses(result, 2)[1]
        assert max(victim) > 5500
    assert max(responses(simulate(*system, 4, "overlap", 60001), 2)[1]) < 3000


@pytest.mark.parametrize("order", ORDERS)
def test_theorem_1(order):
    """m = 4,096 threads, blocks of 1,024: R_3,j = 1 + epsilon j, in units of epsilon."""
    m, bmax, unit = 4096, 1024, 1000
    k = m // bmax * bmax
    blocks, threads = [k // bmax, k - bmax + 1], [bmax, 1]  # the second task, m - k blocks, is none
    result = simulate([unit] * 2, [1, unit], blocks, threads, m, order, 6 * unit)
    assert responses(result, 2)[1] == [unit + j for j in range(1, 7)]


@pytest.mark.parametrize("order", ORDERS)
def test_theorem_1_where_the_largest_block_does_not_divide_m(order):
    """The printed schedule is another one, but responses grow as well."""
    m, bmax, unit = 10, 4, 1000
    blocks, threads = [2, 2, 5], [bmax, 1, 1]
    result = simulate([unit] * 3, [1, unit, unit], blocks, threads, m, order, 100 * unit)
    last = responses(result, 3)[2]
    assert 40 < last[-1] - last[0] < 60


# Four threads. The second job of task 0 is released at 3, while the first one runs until 10; it
# finds task 1 waiting with one of its two blocks started, and task 2 behind that.
LATE = ([100] * 3, [10, 4, 1], [1, 2, 1], [2, 2, 2])
LATE_RELEASES = [[0, 3], [4], [5]]


FIRST = [(0, 0, 1, 0, 10)]
ONE_BY_ONE = [*FIRST, (1, 0, 1, 4, 8), (1, 0, 1, 8, 12)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("hardware", [*ONE_BY_ONE, (2, 0, 1, 10, 11), (0, 1, 1, 11, 21)]),
        ("release", [*ONE_BY_ONE, (0, 1, 1, 10, 20), (2, 0, 1, 12, 13)]),
        (
            "strict",
            [*FIRST, (0, 1, 1, 10, 20), (1, 0, 1, 10, 14), (1, 0, 1, 14, 18), (2, 0, 1, 18, 19)],
        ),
        (
            "overlap",
            [*FIRST, (0, 1, 1, 3, 13), (1, 0, 1, 10, 14), (1, 0, 1, 13, 17), (2, 0, 1, 14, 15)],
        ),
    ],
)
def test_the_orders_differ(order, expected):
    assert simulate(*LATE, 4, order, 100, releases=LATE_RELEASES)["waves"] == expected


def test_a_late_comer_overtakes_a_kernel_some_of_whose_blocks_have_started():
    # Task 1 starts one block at 4; at 10 the late-comer, released at 3, takes what gets free.
    system = ([100, 100], [10, 20], [1, 2], [2, 2])
    result = simulate(*system, 4, "release", 100, releases=[[0, 3], [4]])
    assert of(result, 1) == [(1, 4, 24), (1, 20, 40)]
    assert of(result, 0, 1) == [(1, 10, 20)]
    result = simulate(*system, 4, "hardware", 100, releases=[[0, 3], [4]])
    assert of(result, 1) == [(1, 4, 24), (1, 10, 30)]
    assert of(result, 0, 1) == [(1, 24, 34)]


def test_ties_go_by_priority_and_then_by_index():
    system = ([100] * 3, [5] * 3, [1] * 3, [1] * 3)
    for order in ORDERS:
        result = simulate(*system, 1, order, 100, priority=[2, 1, 1])
        assert [job[:2] for job in result["jobs"]] == [(1, 0), (2, 0), (0, 0)]
        assert [job[3] for job in result["jobs"]] == [0, 5, 10]
    # At 5 the second job of task 0 gets to its stream's head and task 1 is released.
    two = ([100] * 2, [5, 5], [1, 1], [1, 1])
    for order, starts in [
        ("hardware", [0, 5, 10]),
        ("release", [0, 5, 10]),
        ("strict", [0, 5, 10]),
    ]:
        result = simulate(*two, 1, order, 100, releases=[[0, 1], [5]])
        assert [job[3] for job in result["jobs"]] == starts
    result = simulate(*two, 1, "hardware", 100, releases=[[0, 1], [5]], priority=[1, 0])
    assert [job[:2] + job[3:4] for job in result["jobs"]] == [(0, 0, 0), (0, 1, 10), (1, 0, 5)]


def test_tasks_that_share_a_stream_run_one_after_the_other():
    system = ([100] * 3, [5, 7, 4], [1, 1, 1], [1, 1, 1])
    for order in ("hardware", "release"):
        result = simulate(*system, 8, order, 100, offset=[0, 1, 2], stream=[0, 0, 1])
        assert [job[3:] for job in result["jobs"]] == [(0, 0, 5), (5, 5, 12), (2, 2, 6)]
    result = simulate(*system, 8, "strict", 100, offset=[0, 1, 2], stream=[0, 0, 1])
    assert [job[3:] for job in result["jobs"]] == [(0, 0, 5), (5, 5, 12), (5, 5, 9)]
    with pytest.raises(ValueError, match="no streams"):
        simulate(*system, 8, "overlap", 100, stream=[0, 0, 1])


def test_blocks_that_take_less_time():
    def actual(task, job, block):
        return [3, 1, 3, 2][block]

    result = simulate([10], [3], [4], [1], 3, "hardware", 11, actual=actual)
    assert of(result, 0, 0) == [(2, 0, 3), (1, 0, 1), (1, 1, 3)]
    assert of(result, 0, 1) == [(2, 10, 13), (1, 10, 11), (1, 11, 13)]
    assert result["jobs"] == [(0, 0, 0, 0, 1, 3), (0, 1, 10, 10, 11, 13)]
