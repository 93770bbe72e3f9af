"""Generated task sets: distributions, and independence of the stack."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from native import positional

import gpusched as gs
from gpusched import _core

SETS = 20000

FIXED_SHARES = ["0x1.86d04e974a158p-2", "0x1.a117337da20c8p-3", "0x1.a8a417a9e4e44p-2"]
FIXED_KERNELS = (
    [600000, 800000, 800000, 480000],
    [92008, 42010, 350551, 122858],
    [39, 13, 112, 65],
)


def distance(sample: Any, cdf: Any) -> float:
    """Kolmogorov-Smirnov: sqrt(N) times the largest distance between the sample's and the law's
    distribution functions; above 1.95 once in a thousand samples of the law."""
    x = np.sort(sample)
    law, steps = cdf(x), np.arange(len(x) + 1) / len(x)
    return float(np.sqrt(len(x)) * max((steps[1:] - law).max(), (law - steps[:-1]).max()))


def two_sample_distance(a: Any, b: Any) -> float:
    """The same for two samples of one size."""
    x = np.sort(np.concatenate([a, b]))
    gap = np.searchsorted(np.sort(a), x, "right") - np.searchsorted(np.sort(b), x, "right")
    return float(np.abs(gap).max() / len(a) * np.sqrt(len(a) / 2))


def is_uunifast(shares: Any, utilization: float) -> bool:
    """Every share has mean U/n and is U times Beta(1, n-1)."""
    sets, n = shares.shape
    deviation = np.sqrt((n - 1) / (n + 1) / sets) / n  # of the mean of sets such variables
    means = np.abs(shares.mean(axis=0) / utilization - 1 / n) < 4 * deviation
    laws = [distance(s / utilization, lambda x: 1 - (1 - x) ** (n - 1)) < 2.2 for s in shares.T]
    return bool(means.all()) and all(laws)


def recursion(n: int, utilization: float, exponent: Any) -> Any:
    """UUniFast as printed, one share at a time; exponent(i) for i = 1 .. n-1."""
    rng = np.random.default_rng(5)
    left, shares = np.full(SETS, utilization), []
    for i in range(1, n):
        rest = left * rng.random(SETS) ** exponent(i)
        shares.append(left - rest)
        left = rest
    return np.stack([*shares, left], axis=1)


@pytest.mark.parametrize("n, utilization", [(2, 0.7), (3, 1.0), (4, 1.0), (8, 3.5), (15, 0.2)])
def test_uunifast_law(n: int, utilization: float) -> None:
    shares = gs.generate.uunifast(n, utilization, count=SETS, seed=2024)
    assert shares.shape == (SETS, n) and shares.dtype == np.float64
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), utilization, rtol=1e-13)
    assert is_uunifast(shares, utilization)


def test_the_law_is_that_of_the_recursion_and_faulty_ones_are_rejected() -> None:
    n = 4
    assert is_uunifast(recursion(n, 1.0, lambda i: 1 / (n - i)), 1.0)
    off_by_one = recursion(n, 1.0, lambda i: 1 / (n - i + 1))
    np.testing.assert_allclose(off_by_one.mean(axis=0), [0.2, 0.2, 0.2, 0.4], atol=0.01)
    assert not is_uunifast(off_by_one, 1.0)
    # Shares in proportion to uniform numbers have the right means and sums, but not the law.
    uniform = np.random.default_rng(5).random((SETS, n))
    assert not is_uunifast(uniform / uniform.sum(axis=1, keepdims=True), 1.0)
    # Sets of the right law, one share of them always the largest.
    assert not is_uunifast(np.sort(gs.generate.uunifast(n, 1.0, SETS, 1), axis=1), 1.0)


def test_pairs_of_shares_follow_the_law_too() -> None:
    """Uniform over the simplex: any k shares together are U times Beta(k, n - k)."""
    shares = gs.generate.uunifast(5, 2.0, count=SETS, seed=11) / 2.0
    for pair in ((0, 1), (1, 3), (3, 4)):
        total = shares[:, pair].sum(axis=1)  # Beta(2, 3)
        assert distance(total, lambda x: 6 * x**2 - 8 * x**3 + 3 * x**4) < 2.2


@pytest.mark.parametrize("n, utilization", [(2, 1.5), (3, 1.4), (3, 2.0), (5, 3.7), (4, 1.0)])
def test_discard_is_rejection(n: int, utilization: float) -> None:
    """Also above n/2, where sets are drawn for n - U and reflected."""
    shares = gs.generate.uunifast_discard(n, utilization, count=4000, seed=3)
    np.testing.assert_allclose(shares.sum(axis=1), utilization, rtol=1e-13)
    assert (shares >= 0).all() and (shares <= 1).all()
    plain = gs.generate.uunifast(n, utilization, count=400000, seed=99)
    kept = plain[(plain <= 1).all(axis=1)][:4000]
    assert len(kept) == 4000
    for a, b in zip(shares.T, kept.T, strict=True):
        assert two_sample_distance(a, b) < 2.2
    assert two_sample_distance(shares.max(axis=1), kept.max(axis=1)) < 2.2
    assert two_sample_distance(shares.min(axis=1), kept.min(axis=1)) < 2.2


def test_discard_law_in_closed_form() -> None:
    """Two tasks at 1.5: uniform in [0.5, 1]. Clipping would not be."""
    shares = gs.generate.uunifast_discard(2, 1.5, count=SETS, seed=8)[:, 0]
    assert distance(shares, lambda x: 2 * x - 1) < 2.2
    clipped = np.clip(gs.generate.uunifast(2, 1.5, count=SETS, seed=8)[:, 0], 0.5, 1)
    assert distance(clipped, lambda x: 2 * x - 1) > 10


def test_reflection_is_exact() -> None:
    low = gs.generate.uunifast_discard(8, 2.25, count=100, seed=4)
    high = gs.generate.uunifast_discard(8, 5.75, count=100, seed=4)
    np.testing.assert_array_equal(high, 1.0 - low)
    assert (gs.generate.uunifast_discard(3, 3, seed=1) == 1).all()
    assert (gs.generate.uunifast_discard(3, 0, seed=1) == 0).all()


def test_gpusched_sets() -> None:
    """[RTNS24], section 6.1."""
    tasks = gs.generate.gpusched(5, 0.8, count=SETS, seed=6)
    assert tasks.is_stack and len(tasks) == SETS and tasks.n == 5
    assert set(np.unique(tasks.period)) == {1000 * p for p in (400, 480, 600, 800, 1200, 1600)}
    shares = gs.generate.uunifast_discard(5, 0.8, count=SETS, seed=6)
    exact = shares * tasks.period
    assert (np.abs(tasks.wcet - exact) <= 0.5)[exact >= 1].all()
    assert (tasks.wcet >= 1).all() and (tasks.wcet[exact < 0.5] == 1).all()
    np.testing.assert_array_equal(tasks.blocks, np.maximum(1, np.floor(256 * shares)))
    assert (tasks.threads == 32).all() and (tasks.regs == 0).all() and (tasks.smem == 0).all()
    np.testing.assert_array_equal(tasks.deadline, tasks.period)
    np.testing.assert_allclose(tasks.utilization, 0.8, atol=5 / 400000)


def test_periods_are_uniform_and_independent() -> None:
    tasks = gs.generate.gpusched(4, 0.5, count=SETS, seed=13, periods=[7, 11, 13], ticks=10**6)
    periods = tasks.period // 10**6
    for column in periods.T:
        counts = np.array([(column == p).sum() for p in (7, 11, 13)])
        chi = ((counts - SETS / 3) ** 2 / (SETS / 3)).sum()
        assert chi < 13.8  # two degrees of freedom, once in a thousand
    both = (periods[:, 0] == 7) & (periods[:, 1] == 7)
    assert abs(both.mean() - 1 / 9) < 4 * np.sqrt(8 / 81 / SETS)
    with_shares = np.corrcoef(tasks.period[:, 0], tasks.wcet[:, 0] / tasks.period[:, 0])[0, 1]
    assert abs(with_shares) < 4 / np.sqrt(SETS)


def test_utilization_per_set_and_other_gpus() -> None:
    sums = np.linspace(0.1, 4.9, 50)
    tasks = gs.generate.gpusched(5, sums, count=50, seed=1)
    np.testing.assert_allclose(tasks.utilization, sums, atol=5 / 400000)
    for i, u in enumerate(sums):
        assert gs.generate.gpusched(5, u, seed=1, first=i) == tasks[i]
    shares = gs.generate.uunifast_discard(5, sums, count=50, seed=1)
    paper = gs.GPU(sms=8, threads_per_sm=1024, blocks_per_sm=32)
    assert gs.generate.gpusched(5, sums, count=50, seed=1, gpu=paper) == tasks
    assert gs.generate.gpusched(5, sums, count=50, seed=1, gpu="pbs2024") == tasks
    few_slots = gs.GPU(sms=3, threads_per_sm=1024, blocks_per_sm=7)  # 21
    few_warps = gs.GPU(sms=3, threads_per_sm=256, blocks_per_sm=32)  # 24
    for gpu, capacity in ((few_slots, 21), (few_warps, 24)):
        blocks = gs.generate.gpusched(5, sums, count=50, seed=1, gpu=gpu).blocks
        np.testing.assert_array_equal(blocks, np.maximum(1, np.floor(capacity * shares)))


def test_a_set_is_the_same_in_any_stack() -> None:
    for draw in (gs.generate.uunifast, gs.generate.uunifast_discard):
        long = draw(6, 3.1, count=1000, seed=21)
        np.testing.assert_array_equal(draw(6, 3.1, count=10, seed=21), long[:10])
        np.testing.assert_array_equal(draw(6, 3.1, count=100, seed=21, first=700), long[700:800])
        np.testing.assert_array_equal(draw(6, 3.1, seed=21, first=999), long[999])
        assert len(np.unique(long[:, 0])) == 1000
    whole = gs.generate.gpusched(6, 3.1, count=1000, seed=21)
    assert gs.generate.gpusched(6, 3.1, count=10, seed=21) == whole[:10]
    with ThreadPoolExecutor(4) as pool:
        chunks = list(
            pool.map(
                lambda first: gs.generate.gpusched(6, 3.1, count=100, seed=21, first=first),
                range(0, 1000, 100),
            )
        )
    for i, chunk in enumerate(chunks):
        assert chunk == whole[100 * i : 100 * i + 100]


def test_the_same_numbers_on_every_machine() -> None:
    """Fixed for good: recorded experiments depend on them."""
    shares = gs.generate.uunifast(3, 1.0, seed=0)
    again = gs.generate.uunifast(3, 1.0, seed=np.random.SeedSequence(0))
    np.testing.assert_array_equal(shares, again)
    assert [float(s).hex() for s in shares] == FIXED_SHARES
    tasks = gs.generate.gpusched(4, 0.9, seed=7, first=123456789)
    assert (tasks.period.tolist(), tasks.wcet.tolist(), tasks.blocks.tolist()) == FIXED_KERNELS


def test_seeds() -> None:
    draw = gs.generate.uunifast
    seen = {draw(3, 1.0, seed=seed).tobytes() for seed in (0, 1, 2**31, 2**64, 2**200, None, None)}
    assert len(seen) == 7
    sequence = np.random.SeedSequence(5)
    np.testing.assert_array_equal(draw(3, 1.0, seed=sequence), draw(3, 1.0, seed=5))
    np.testing.assert_array_equal(draw(3, 1.0, seed=sequence), draw(3, 1.0, seed=sequence))
    spawned = {draw(3, 1.0, seed=child).tobytes() for child in sequence.spawn(3)}
    assert len(spawned) == 3
    generator = np.random.default_rng(5)
    first, second = draw(3, 1.0, seed=generator), draw(3, 1.0, seed=generator)
    assert (first != second).any()
    np.testing.assert_array_equal(first, draw(3, 1.0, seed=np.random.default_rng(5)))
    for bad in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"seed: got .*, expected a non-negative integer"):
            draw(3, 1.0, seed=bad)


def test_empty_and_single() -> None:
    assert gs.generate.uunifast(3, 1.0, count=0, seed=1).shape == (0, 3)
    assert len(gs.generate.gpusched(3, 1.0, count=0, seed=1)) == 0
    assert gs.generate.uunifast(1, 0.3, seed=1).tolist() == [0.3]
    assert gs.generate.uunifast(2, 5.0, count=1, seed=1).shape == (1, 2)
    np.testing.assert_array_equal(
        gs.generate.uunifast(3, [1.0, 2.0], count=2, seed=1)[1],
        gs.generate.uunifast(3, 2.0, seed=1, first=1),
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n": 0}, "n: got 0, expected a positive number of tasks"),
        ({"n": 2**31}, "n: got 2147483648, expected a positive number of"),
        ({"utilization": -0.5}, r"utilization: got -0\.5, expected a finite,"),
        ({"utilization": np.nan}, "utilization: got nan, expected a finite,"),
        ({"utilization": np.inf}, "utilization: got inf, expected a finite,"),
        ({"utilization": 3.001}, r"utilization: got 3\.001, expected at most 3, 1 for"),
        (
            {"utilization": [1, 4], "count": 2},
            r"utilization\[1\]: got 4\.0, expected at most 3, 1 for each",
        ),
        (
            {"utilization": [np.nan, 1], "count": 2},
            r"utilization\[0\]: got nan, expected a finite number of at",
        ),
        ({"utilization": [1, 2]}, r"utilization: got shape \(2,\), expected one number"),
        ({"utilization": [1, 2], "count": 3}, r"utilization: got shape \(2,\), expected one"),
        ({"count": -1}, "count: got -1, expected a non-negative number"),
        ({"first": -1}, "first: got -1, expected the number of a set, 0 to"),
        ({"first": 2**63}, "first: got 9223372036854775808, expected the"),
        (
            {"first": 2**63 - 1, "count": 2},
            "first: got 9223372036854775807, expected the number of a",
        ),
    ],
)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"n": 3, "utilization": 1.0, "seed": 1} | arguments
    for draw in (gs.generate.uunifast_discard, gs.generate.gpusched):
        with pytest.raises(ValueError, match=message):
            draw(**given)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"periods": []}, ValueError, "periods: got an empty list, expected at least one"),
        ({"periods": [4, 0]}, ValueError, r"periods\[1\]: got 0, expected a positive number"),
        ({"periods": [4.5]}, ValueError, r"periods\[0\]: got 4\.5, expected a whole number of"),
        ({"periods": [2**60], "ticks": 8}, OverflowError, "periods: got 1152921504606846976 times"),
        ({"periods": [2**60], "ticks": 1}, OverflowError, r"periods\[0\]: got -?\d+, expected a"),
        ({"ticks": 0}, ValueError, "ticks: got 0, expected"),
        ({"ticks": 0.5}, TypeError, r"ticks: got 0\.5, expected an integer"),
        ({"n": 2.0}, TypeError, r"n: got 2\.0, expected an integer"),
        ({"gpu": "no such"}, ValueError, "no such"),
    ],
)
def test_kernels_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gs.generate.gpusched(**{"n": 3, "utilization": 1.0, "seed": 1} | arguments)


@pytest.mark.long
def test_hopeless_discard_says_so() -> None:
    with pytest.raises(ValueError, match="set 1: tasks: got 60, expected fewer tasks or another"):
        gs.generate.uunifast_discard(60, [0.5, 30.0], count=2, seed=1)


# Kernels of blocks

FIXED_FIFO = [
    [91259000, 6126000, 2369000, 19414000],
    [6420276, 285949, 327172, 1177855],
    [31, 4, 19, 15],
    [256, 1024, 608, 1024],
]


def fits(g: Any, b: Any, u: Any, m: int) -> Any:
    """Whether g blocks of b threads that keep u threads busy end within their period, alone."""
    return -(-g // (m // b)) * u <= g * b


def test_fifo_sets() -> None:
    tasks = gs.generate.fifo(6, 0.7, count=SETS, seed=3)
    assert tasks.is_stack and len(tasks) == SETS and tasks.n == 6
    shares = gs.generate.uunifast(6, 0.7, count=SETS, seed=3)
    u, g, b, c = shares * 4096, tasks.blocks, tasks.threads, tasks.block_time
    assert ((g >= 1) & (g <= 32) & (c >= 1)).all()
    assert set(np.unique(b)) == set(range(32, 1025, 32))
    assert fits(g, b, u * (1 - 1e-12), 4096).all()
    assert (np.abs(c - u * tasks.period / (g * b)) <= 0.5 + 1e-6).all()
    np.testing.assert_array_equal(tasks.wcet, -(-g // (4096 // b)) * c)
    assert (tasks.wcet <= tasks.period).all()
    np.testing.assert_array_equal(tasks.deadline, tasks.period)
    assert not tasks.offset.any() and not tasks.priority.any()
    drawn = (g * b * c / tasks.period).sum(axis=1) / 4096
    np.testing.assert_allclose(drawn, 0.7, atol=1e-4)


@pytest.mark.parametrize("low, high", [(1000, 100000), (7, 7), (3, 5), (4, 8), (5, 61), (1, 2)])
def test_fifo_periods_are_uniform_in_octaves(low: int, high: int) -> None:
    tasks = gs.generate.fifo(2, 0.5, count=SETS, seed=4, periods=(low, high), ticks=1000)
    assert (tasks.period % 1000 == 0).all()
    period = tasks.period.ravel() // 1000
    assert low <= period.min() and period.max() <= high
    values = np.arange(low, high + 1)
    # A value of octave k has half the weight of one of the octave before.
    weight = 0.5 ** np.floor(np.log2(values / low))
    expected = weight / weight.sum() * len(period)
    if len(values) > 100:
        cdf = np.concatenate([[0], np.cumsum(expected) / len(period)])
        # Of whole numbers, at both sides of each step: the law of the number plus a fraction.
        fraction = np.random.default_rng(1).random(len(period))
        law = np.append(values, high + 1)
        assert distance(period + fraction, lambda x: np.interp(x, law, cdf)) < 2.2
    elif len(values) > 1:
        counts = np.bincount(period - low, minlength=len(values))
        chi = ((counts - expected) ** 2 / expected).sum()
        freedom = len(values) - 1
        assert chi < freedom + 4 * np.sqrt(2 * freedom) + 8
    if low < high:
        assert abs(np.corrcoef(tasks.period.T)[0, 1]) < 4 / np.sqrt(SETS)


def test_fifo_shapes_are_uniform_over_what_fits() -> None:
    """For one task the utilization is known, and so is the list of shapes."""
    m, sizes, most = 40, [3, 7, 12, 25, 40], 9
    for share in (0.05, 0.4, 0.62, 0.9, 1.0):
        u = share * m
        tasks = gs.generate.fifo(
            1, share, m, SETS, 5, periods=(1000, 2000), block_sizes=sizes, blocks_max=most
        )
        can = [b for b in sizes if u <= min(m // b, most) * b]
        assert set(np.unique(tasks.threads)) == set(can)
        for b in can:
            chosen = tasks.blocks[tasks.threads == b]
            assert abs(len(chosen) - SETS / len(can)) < 4 * np.sqrt(SETS / len(can))
            grids = [g for g in range(1, most + 1) if fits(g, b, u, m)]
            counts = np.bincount(chosen, minlength=most + 1)
            assert np.flatnonzero(counts).tolist() == grids
            expected = len(chosen) / len(grids)
            freedom = len(grids) - 1
            chi = ((counts[grids] - expected) ** 2 / expected).sum()
            assert chi < freedom + 4 * np.sqrt(2 * freedom) + 8


def test_fifo_with_many_waves_and_short_blocks() -> None:
    # Two blocks side by side of 7 threads in 20: with 13 of them busy, 12 waves are needed before
    # every grid fits.
    tasks = gs.generate.fifo(
        1, 0.65, 20, 5000, 1, periods=(1000, 1000), block_sizes=[7], blocks_max=40
    )
    grids = [g for g in range(1, 41) if fits(g, 7, 13, 20)]
    assert np.unique(tasks.blocks).tolist() == grids and 3 not in grids and 27 in grids
    # Blocks that would not last a tick are left out, as long as there are others.
    tasks = gs.generate.fifo(1, 0.1, 4096, 2000, 1, periods=(8, 8), ticks=1, block_sizes=[256])
    u = 0.1 * 4096 * 8 / 256  # ticks that one block would last
    assert np.unique(tasks.blocks).tolist() == [*range(2, int(u) + 1)]
    tiny = gs.generate.fifo(1, 0.0, 4096, 100, 1, periods=(1, 1), ticks=1)
    assert (tiny.blocks == 1).all() and (tiny.block_time == 1).all()
    full = gs.generate.fifo(1, 1.0, 4096, 500, 1, periods=(1, 3), ticks=720720)
    assert (full.wcet == full.period).all()
    assert (full.blocks * full.threads * full.block_time == 4096 * full.period).all()


def test_fifo_block_sizes_are_what_the_gpu_has_room_for() -> None:
    for m, sizes in ((4096, range(32, 1025, 32)), (100, (32, 64, 96)), (8, (8,))):
        tasks = gs.generate.fifo(2, 0.5, m, 2000, 1)
        assert set(tasks.threads.ravel().tolist()) == set(sizes)
        assert tasks == gs.generate.fifo(2, 0.5, m, 2000, 1, block_sizes=list(sizes))


def test_fifo_sets_are_the_same_in_any_stack_and_on_every_machine() -> None:
    whole = gs.generate.fifo(5, 0.9, count=300, seed=21)
    assert gs.generate.fifo(5, 0.9, count=10, seed=21) == whole[:10]
    assert gs.generate.fifo(5, 0.9, count=50, seed=21, first=200) == whole[200:250]
    assert gs.generate.fifo(5, 0.9, seed=21, first=299) == whole[299]
    assert len(gs.generate.fifo(5, 0.9, count=0, seed=21)) == 0
    # Periods and shapes do not depend on how much was drawn before them.
    other = gs.generate.fifo(5, 0.2, count=300, seed=21)
    np.testing.assert_array_equal(other.period, whole.period)
    sums = np.linspace(0, 1, 30)
    mixed = gs.generate.fifo(5, sums, count=30, seed=2)
    for i, utilization in enumerate(sums):
        assert gs.generate.fifo(5, utilization, seed=2, first=i) == mixed[i]
    tasks = gs.generate.fifo(4, 0.8, seed=7, first=123456789)
    fixed = [getattr(tasks, key).tolist() for key in ("period", "block_time", "blocks", "threads")]
    assert fixed == FIXED_FIFO


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"n": 0}, ValueError, "n: got 0, expected a positive number of tasks"),
        ({"utilization": -0.1}, ValueError, r"utilization: got -0\.1, expected a finite,"),
        ({"utilization": np.nan}, ValueError, "utilization: got nan, expected a finite,"),
        (
            {"utilization": [0.5, np.nan], "count": 2},
            ValueError,
            r"utilization\[1\]: got nan, expected a finite number of at",
        ),
        ({"utilization": "0.5"}, TypeError, r"utilization: got '0\.5', expected a number or a"),
        ({"utilization": True}, TypeError, "utilization: got True, expected a number or a"),
        ({"utilization": [[1], [1, 2]]}, TypeError, r"utilization: got \[\[1\], \[1, 2\]\],"),
        ({"ticks": 2**70}, ValueError, "ticks: got 1180591620717411303424, expected 1 to"),
        ({"utilization": 1.01}, ValueError, r"utilization: got 1\.01, expected at most 1: with"),
        (
            {"utilization": [0.5, 0.99], "count": 2, "block_sizes": [768]},
            ValueError,
            r"utilization\[1\]: got 0\.99, expected at most",
        ),
        ({"blocks_max": 2}, ValueError, r"utilization: got 0\.7, expected at most 0\.5: with"),
        ({"threads": 0}, ValueError, r"threads: got 0, expected 1 to 2\*\*31 - 1"),
        ({"threads": 2**31}, ValueError, r"threads: got 2147483648, expected 1 to 2\*\*31 - 1"),
        ({"threads": 40.5}, TypeError, r"threads: got 40\.5, expected an integer"),
        ({"blocks_max": 0}, ValueError, r"blocks_max: got 0, expected 1 to 2\*\*31 - 1"),
        ({"block_sizes": []}, ValueError, r"block_sizes: got shape \(0,\), expected a list of"),
        ({"block_sizes": [32, 0]}, ValueError, r"block_sizes\[1\]: got 0, expected a positive"),
        ({"block_sizes": [8192]}, ValueError, r"block_sizes\[0\]: got 8192, expected at most 4096"),
        ({"periods": (10,)}, ValueError, r"periods: got shape \(1,\), expected the shortest"),
        ({"periods": (0, 10)}, ValueError, r"periods\[0\]: got 0, expected a positive number"),
        ({"periods": (10, 9)}, ValueError, r"periods\[1\]: got 9, expected at least the shortest"),
        ({"periods": (10, 2**50)}, OverflowError, r"periods\[1\]: got -?\d+, expected a period"),
        ({"ticks": 0}, ValueError, "ticks: got 0, expected"),
        ({"count": -1}, ValueError, "count: got -1, expected a non-negative number"),
        ({"first": -1}, ValueError, "first: got -1, expected the number of a set, 0 to"),
    ],
)
def test_fifo_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gs.generate.fifo(**{"n": 3, "utilization": 0.7, "seed": 1} | arguments)


KEY = np.arange(4, dtype=np.uint64)
ONE = np.ones(1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((KEY[:3], 2, ONE, 0, True), "key: got length .* on axis 0, expected 4"),
        ((KEY.astype(float), 2, ONE, 0, True), "key: "),
        ((KEY, 0, ONE, 0, True), "n: got 0, expected a positive number of tasks"),
        ((KEY, 2, np.ones((1, 1)), 0, True), "utilization: got . dimension.s., expected 1"),
        (
            (KEY, 2, np.array([np.nan]), 0, False),
            r"utilization\[0\]: got nan, expected a finite number of at",
        ),
        (
            (KEY, 2, np.array([1, 2.5]), 0, True),
            r"utilization\[1\]: got 2\.5, expected at most 2, 1 for each",
        ),
        ((KEY, 2, "x", 0, True), "utilization: "),
        ((KEY, 2, ONE, -1, True), "first: got -1, expected the number of a set"),
        ((None, 2, ONE, 0, True), "key: "),
    ],
)
def test_module_refuses_hostile_arrays(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        positional(_core.generate_uunifast)(*arguments)
    kernels = (*arguments[:4], np.array([5]), 10)
    if arguments[4]:
        with pytest.raises((ValueError, TypeError), match=message):
            positional(_core.generate_kernels)(*kernels)


def test_module_refuses_hostile_lists() -> None:
    for periods, message in (
        (np.array([], dtype=np.int64), "periods: got 0, expected at least one period"),
        (np.array([5, -5]), r"periods\[1\]: got -5, expected a positive number"),
        (np.array([0.5]), "periods: "),
        (np.ones((2, 2), dtype=np.int64), "periods: got . dimension.s., expected 1"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            _core.generate_kernels(
                key=KEY, n=2, utilization=ONE, first=0, periods=periods, capacity=10
            )
    with pytest.raises(ValueError, match="capacity: got 0"):
        _core.generate_kernels(
            key=KEY, n=2, utilization=ONE, first=0, periods=np.array([5]), capacity=0
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda count: gs.generate.uunifast(2, 0.5, count=count, seed=1),
        lambda count: gs.generate.uunifast_discard(2, 0.5, count=count, seed=1),
        lambda count: gs.generate.gpusched(2, utilization=0.5, count=count, seed=1),
        lambda count: gs.generate.fifo(2, 0.5, count=count, seed=1),
        lambda count: gs.generate.stgm(count=count, seed=1, cpus=2),
        lambda count: gs.generate.gcaps(count=count, seed=1),
        lambda count: gs.generate.elliott(count=count, seed=1),
    ],
)
def test_more_sets_than_an_address_space_holds(make: Callable[[int], object]) -> None:
    """The refusal is not NumPy's: a stack of the largest number takes more memory than there is."""
    for count in (2**59, 2**63, 10**40):
        with pytest.raises(OverflowError, match=r"^count: got \d+(\.\.\.)?, expected fewer than"):
            make(count)
    with pytest.raises(MemoryError):
        make(2**59 - 1)
