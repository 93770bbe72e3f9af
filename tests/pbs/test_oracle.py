"""The oracle: batches that fit a GPU at once, orders of submission, completion times."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from native import positional
from reference import oracle as twin
from reference.place import configuration, room

import gpusched as gs
from gpusched import _core
from gpusched.model.kernel_tasks import KernelTasks

TWO_SMS = gs.GPU(sms=2, threads_per_sm=256, blocks_per_sm=16)


def kernels(blocks: Any, threads: Any, regs: Any = 0, smem: Any = 0, wcet: Any = 1) -> KernelTasks:
    n = len(blocks)
    return KernelTasks([1000] * n, wcet, blocks=blocks, threads=threads, regs=regs, smem=smem)


def all_resident(gpu: gs.GPU, tasks: KernelTasks, order: Any) -> bool:
    rows = list(order)
    placed = gs.place(
        gpu, *(getattr(tasks, c)[rows] for c in ("blocks", "threads", "regs", "smem"))
    )
    return bool((placed.sm >= 0).all())


def members(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def test_example_2_1() -> None:
    """Four blocks of 64 threads and one of 192 on two SMs of 256: only as <J2, J1>."""
    tasks = kernels([4, 1], [64, 192], wcet=[3, 4])
    table = gs.BatchTable.from_gpu(tasks, TWO_SMS, slowdown=None)
    assert table.completion.tolist() == [0, 3, 4, 4]
    assert table.submission_order(0b11) == (1, 0)
    assert table.order is not None and table.order.tolist() == [[-1, -1], [0, -1], [1, -1], [1, 0]]
    assert table.undecided is None
    assert not all_resident(TWO_SMS, tasks, (0, 1)) and all_resident(TWO_SMS, tasks, (1, 0))
    swapped = gs.BatchTable.from_gpu(kernels([1, 4], [192, 64]), TWO_SMS, slowdown=None)
    assert swapped.completion[3] > 0 and swapped.order is None  # increasing index does


@pytest.mark.parametrize("seed", range(180))
def test_agrees_with_the_twin(seed: int) -> None:
    """Every order of every set of up to five kernels, with warps, slots, registers and shared
    memory binding. Sizes divide the register files, which the twin does not model."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 4
    sms, threads, slots = int(rng.integers(1, 4)), int(rng.choice([256, 320, 512])), 5
    order = rng.permutation(sms)
    rule = ("ignore", "match", "at_least")[seed // 4 % 3]
    sizes = (0, 4096, 8192, 16384)
    gpu = gs.GPU(
        *(sms, threads, slots),
        regs_per_sm=16384,
        smem_per_sm=16384,
        sm_order=order,
        carveout_rule=rule,
        carveouts=sizes,
    )
    tasks = kernels(
        rng.integers(1, 5, n),
        rng.choice([32, 64, 96, 128, 160], n),
        rng.choice([0, 16, 32, 64], n),
        256 * rng.integers(0, 40, n) * rng.integers(0, 2, n),
        wcet=rng.integers(1, 100, n),
    )
    shapes = [
        (b, t // 32, t // 32 * 32 * r, m)
        for b, t, r, m in zip(
            *(getattr(tasks, c).tolist() for c in ("blocks", "threads", "regs", "smem")),
            strict=True,
        )
    ]
    limits = (threads // 32, slots, 16384, 16384)
    wanted = [
        configuration(
            sizes, lambda size, kernel=kernel: room((*limits[:3], size), [0] * 4, kernel), own, own
        )
        for kernel, own in zip(shapes, tasks.smem.tolist(), strict=True)
    ]
    expected = twin.eligible_orders(sms, limits, order.tolist(), shapes, rule, wanted)
    table = gs.BatchTable.from_gpu(tasks, gpu, slowdown=None)
    assert table.undecided is None
    for mask in range(1, 1 << n):
        longest = max(int(tasks.wcet[i]) for i in members(mask))
        assert table.completion[mask] == (0 if expected[mask] is None else longest), mask
        if expected[mask] is not None and len(members(mask)) > 1:
            assert all_resident(gpu, tasks, table.submission_order(mask))


def test_kernels_of_other_carveouts_share_the_gpu_but_no_sm() -> None:
    """Two kernels that fit one SM by room: each on SMs of its own, if there are enough."""
    volta = gs.GPU.preset("V100")

    def eligible(blocks: Any, smem: Any, rule: Any = "match") -> bool:
        tasks = kernels(blocks, [256, 256], smem=smem)
        gpu = volta.replace(carveout_rule=rule)
        return bool(gs.BatchTable.from_gpu(tasks, gpu, slowdown=None).completion[3])

    assert eligible([40, 40], [0, 8192])
    # The second of them fills 80 SMs, at 8 blocks each; with 79, one block is left over.
    assert not eligible([1, 633], [0, 8192])
    assert eligible([1, 633], [8192, 8192])
    assert eligible([1, 633], [0, 8192], "ignore")
    # A block without shared memory may join, if it comes second.
    assert eligible([1, 633], [0, 8192], "at_least")
    assert not eligible([1, 633], [8192, 0], "match")
    tasks = kernels([1, 633], [256, 256], smem=[0, 8192])
    table = gs.BatchTable.from_gpu(tasks, volta.replace(carveout_rule="at_least"), slowdown=None)
    assert table.submission_order(0b11) == (1, 0)


@pytest.mark.long
@pytest.mark.parametrize("preset", ["pbs2024", "Xavier", "A100"])
def test_large_sets(preset: str) -> None:
    """Orders of eligible sets fit; what is called ineligible beyond six kernels is."""
    gpu = gs.GPU.preset(preset)
    rng = np.random.default_rng(17)
    eligible = 0
    checked: dict[int, int] = {}
    most = {4: 30, 5: 10, 7: 1}  # sets of so many kernels whose every order is tried
    for _ in range(6):
        n = 9
        tasks = kernels(
            rng.integers(1, gpu.sms * 2, n),
            rng.choice([64, 96, 192, 256, 320, 512, 768], n),
            rng.choice([0, 16, 32, 40], n),
            rng.choice([0, 3000, 9000, 20000], n),
            wcet=rng.integers(1, 100, n),
        )
        table = gs.BatchTable.from_gpu(tasks, gpu, slowdown=None)
        undecided = np.zeros_like(table.completion)
        if table.undecided is not None:
            undecided = table.undecided
        for mask in range(1, 1 << n):
            batch = members(mask)
            if table.completion[mask] and len(batch) > 1:
                assert sorted(table.submission_order(mask)) == batch
                assert all_resident(gpu, tasks, table.submission_order(mask))
                eligible += 1
            if undecided[mask]:
                assert len(batch) > 6 and table.completion[mask] == 0
                assert undecided[mask] == max(int(tasks.wcet[i]) for i in batch)
            out = table.completion[mask] == undecided[mask] == 0
            if out and checked.get(len(batch), 0) < most.get(len(batch), 0):
                assert not any(all_resident(gpu, tasks, order) for order in permutations(batch))
                checked[len(batch)] = checked.get(len(batch), 0) + 1
    assert eligible > 100 and checked == most


def puzzle() -> KernelTasks:
    """Blocks of 3, 6, ..., 18 warps and of 1 warp: 64 in all, and no part of them is 32."""
    return kernels([1] * 7, [96, 192, 288, 384, 480, 576, 32], wcet=[10, 20, 30, 40, 50, 60, 70])


def test_more_than_six_kernels_may_be_undecided() -> None:
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=32)
    table = gs.BatchTable.from_gpu(puzzle(), gpu, slowdown=(1.5, 1.5))
    assert table.completion[127] == 0
    assert table.undecided is not None
    assert np.flatnonzero(table.undecided).tolist() == [127]
    assert table.undecided[127] == 105  # the time it would take
    with pytest.raises(
        ValueError, match=r"mask: got batch \{0, 1, 2, 3, 4, 5, 6\}, expected an eligible"
    ):
        table.submission_order(127)
    # With one more SM it fits.
    larger = gs.GPU(sms=3, threads_per_sm=1024, blocks_per_sm=32)
    assert gs.BatchTable.from_gpu(puzzle(), larger, slowdown=None).undecided is None


def test_identical_kernels_are_decided_whatever_their_number() -> None:
    """Six blocks of 3 warps and one of 2 on two SMs of 10: seven orders, not 5,040."""
    gpu = gs.GPU(sms=2, threads_per_sm=320, blocks_per_sm=32)
    table = gs.BatchTable.from_gpu(kernels([1] * 7, [96] * 6 + [64]), gpu, slowdown=None)
    assert table.undecided is None and table.completion[127] == 0
    assert table.completion[0b0111111] > 0


def test_uniform_blocks_need_no_search() -> None:
    """Section 6.1's kernels: a batch is eligible iff its blocks are 256 at most."""
    tasks = gs.generate.gpusched(12, 1.7, count=5, seed=3)
    table = gs.BatchTable.from_gpu(tasks, "pbs2024", "large", seed=1)
    assert table.order is None and table.undecided is None
    masks = np.arange(1 << 12)
    bits = masks[:, None] >> np.arange(12) & 1
    blocks = tasks.blocks @ bits.T
    single = bits.sum(axis=1) == 1
    np.testing.assert_array_equal(table.completion > 0, (blocks <= 256) & (masks > 0) | single)
    assert ((blocks > 256) & ~single).any()


def test_twenty_kernels() -> None:
    tasks = gs.generate.gpusched(20, 0.9, seed=5)
    table = gs.BatchTable.from_gpu(tasks, "pbs2024", "small", seed=5)
    assert table.n == 20 and table.completion.shape == (1 << 20,)
    assert (table.completion[1:] > 0).all()
    with pytest.raises(ValueError, match="tasks: got 25 in a set, expected at most 24"):
        gs.BatchTable.from_gpu(gs.generate.gpusched(25, 0.9, seed=5), "pbs2024")
    with pytest.raises(ValueError, match="tasks: got 25 in a set, expected at most 24"):
        gs.BatchTable.from_utilization(gs.generate.gpusched(25, 0.9, seed=5))


def test_several_waves_run_alone() -> None:
    tasks = kernels([1000, 1, 2**62], [256, 32, 32], wcet=[7, 8, 9])
    table = gs.BatchTable.from_gpu(tasks, TWO_SMS, slowdown=2)
    assert table.completion.tolist() == [0, 7, 8, 0, 9, 0, 0, 0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"threads": 288}, r"threads\[1\]: got 288, expected at most as many warps per block"),
        ({"threads": 1025}, r"threads\[1\]: got 1025, expected at most 1024 threads"),
        ({"regs": 512}, r"regs\[1\]: got 512, expected registers per thread with which"),
        ({"smem": 70000}, r"smem\[1\]: got 70000, expected shared memory per block"),
    ],
)
def test_a_block_that_fits_no_sm(change: dict[str, int], message: str) -> None:
    shape = {"threads": 256, "regs": 0, "smem": 0} | change
    tasks = kernels([1, 1], [32, shape["threads"]], [0, shape["regs"]], [0, shape["smem"]])
    with pytest.raises(ValueError, match=message):
        gs.BatchTable.from_gpu(tasks, TWO_SMS)
    stack = KernelTasks(
        [[1000] * 2] * 3,
        1,
        blocks=1,
        threads=[[32, 32], [32, 32], tasks.threads],
        regs=[[0, 0], [0, 0], tasks.regs],
        smem=[[0, 0], [0, 0], tasks.smem],
    )
    with pytest.raises(ValueError, match=f"set 2: {message}"):
        gs.BatchTable.from_gpu(stack, TWO_SMS)


# Slowdown ----------------------------------------------------------------------------------------


def factors(slowdown: Any, count: int = 200, seed: int = 1) -> Any:
    """The factors drawn for the pairs and larger sets of `count` sets of four tasks."""
    tasks = KernelTasks(np.full((count, 4), 10**12), 10**9, threads=32)
    table = gs.BatchTable.from_gpu(tasks, "pbs2024", slowdown, seed=seed)
    shared = [m for m in range(16) if len(members(m)) > 1]
    assert (table.completion[:, [1, 2, 4, 8]] == 10**9).all()
    return table.completion[:, shared] / 10**9


@pytest.mark.parametrize(
    "slowdown, least, most",
    [
        ("small", 1.0, 1.4),
        ("large", 1.7, 1.9),
        ("mixed", 1.1, 1.9),
        ((1.7, 1.9), 1.7, 1.9),
        ((Fraction(3, 2), 2), 1.5, 2.0),
    ],
)
def test_slowdown_is_uniform(slowdown: Any, least: float, most: float) -> None:
    drawn = factors(slowdown)
    assert drawn.min() >= least and drawn.max() <= most
    for column in (drawn.ravel(), *drawn.T):  # Kolmogorov-Smirnov, once in a thousand
        x, steps = np.sort(column), np.arange(len(column) + 1) / len(column)
        law = (x - least) / (most - least)
        gap = max((steps[1:] - law).max(), (law - steps[:-1]).max())
        assert gap * math.sqrt(len(x)) < 2.2
    assert abs(np.corrcoef(drawn.T) - np.eye(11)).max() < 4 / math.sqrt(200)
    assert (factors(slowdown, seed=2) != drawn).mean() > 0.99


def test_constant_slowdown_is_exact() -> None:
    """ceil of an exact product: 1.1 times 10 is 11, although the double 1.1 is a bit more."""
    tasks = kernels([1, 1], [32, 32], wcet=[10, 3])
    for slowdown, expected in (
        (1.1, 11),
        (1.4, 14),
        ((1.9, 1.9), 19),
        (1, 10),
        (None, 10),
        (1.11, 12),
        (np.float64(1.5), 15),
        (Fraction(11, 10), 11),
    ):
        table = gs.BatchTable.from_gpu(tasks, TWO_SMS, slowdown, seed=3)
        assert table.completion.tolist() == [0, 10, 3, expected]


def test_factors_do_not_depend_on_the_stack_or_on_eligibility() -> None:
    tasks = gs.generate.gpusched(6, 2.0, count=50, seed=4)
    table = gs.BatchTable.from_gpu(tasks, "pbs2024", "mixed", seed=9)
    assert (table.completion[:, 1:] == 0).any()
    part = gs.BatchTable.from_gpu(tasks[20:30], "pbs2024", "mixed", seed=9, first=20)
    assert part == table[20:30]
    assert gs.BatchTable.from_gpu(tasks[7], "pbs2024", "mixed", seed=9, first=7) == table[7]
    roomy = gs.BatchTable.from_gpu(tasks, "H100", "mixed", seed=9)
    assert (roomy.completion[:, 1:] > 0).all()
    both = table.completion > 0
    np.testing.assert_array_equal(table.completion[both], roomy.completion[both])
    by_utilization = gs.BatchTable.from_utilization(tasks, "mixed", seed=9)
    both = by_utilization.completion > 0
    np.testing.assert_array_equal(by_utilization.completion[both], roomy.completion[both])
    sequence = np.random.SeedSequence(9)
    assert gs.BatchTable.from_gpu(tasks, "pbs2024", "mixed", seed=sequence) == table


def test_the_same_times_on_every_machine() -> None:
    """Fixed for good: recorded experiments depend on them."""
    tasks = kernels([1, 1, 1], [32, 32, 32], wcet=[1000, 2000, 3000])
    table = gs.BatchTable.from_gpu(tasks, TWO_SMS, (1.7, 1.9), seed=0)
    assert table.completion.tolist() == [0, 1000, 2000, 3792, 3000, 5228, 5419, 5641]


@pytest.mark.parametrize(
    "slowdown, error, message",
    [
        (0.99, ValueError, r"slowdown: got 0\.99, expected a factor from 1 to 1000000"),
        ((0.5, 1.5), ValueError, r"slowdown: got 0\.5, expected a factor from 1 to 1000000"),
        ((1.5, 1.2), ValueError, r"slowdown: got \(1\.5, 1\.2\), expected the lesser factor first"),
        (
            (1, 2, 3),
            ValueError,
            r"slowdown: got \(1, 2, 3\), expected \(least, most\), a number, a",
        ),
        (math.nan, ValueError, "slowdown: got nan, expected a factor from 1 to 1000000"),
        (math.inf, ValueError, "slowdown: got inf, expected a factor from 1 to 1000000"),
        (1e7, ValueError, r"slowdown: got 10000000\.0, expected a factor from 1 to 1000000"),
        (True, TypeError, "slowdown: got True, expected a number"),
        ("huge", ValueError, "slowdown: got 'huge', expected one of small, large, mixed"),
        ((None, 2), TypeError, "slowdown: got None, expected a number"),
    ],
)
def test_slowdown_refused(slowdown: Any, error: type[Exception], message: str) -> None:
    tasks = kernels([1, 1], [32, 32])
    with pytest.raises(error, match=message):
        gs.BatchTable.from_gpu(tasks, TWO_SMS, slowdown)
    with pytest.raises(error, match=message):
        gs.BatchTable.from_utilization(tasks, slowdown)


def test_arguments_refused() -> None:
    tasks = kernels([1, 1], [32, 32])
    with pytest.raises(TypeError, match="gpu: got int, expected a GPU or the name of a preset"):
        gs.BatchTable.from_gpu(tasks, 8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no such"):
        gs.BatchTable.from_gpu(tasks, "no such")
    with pytest.raises(TypeError, match="tasks: got list, expected KernelTasks"):
        gs.BatchTable.from_gpu([1, 2], TWO_SMS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="first: got -1, expected the number of a set, 0 to"):
        gs.BatchTable.from_gpu(tasks, TWO_SMS, first=-1)
    late = kernels([1, 1], [32, 32], wcet=2**59)
    with pytest.raises(
        OverflowError, match=r"batch\[3\]: got 576460752303423488, expected a longest"
    ):
        gs.BatchTable.from_gpu(late, TWO_SMS, 2.0)
    with pytest.raises(
        OverflowError, match=r"wcet\[0\]: got 1152921504606846976, expected at most"
    ):
        gs.BatchTable.from_gpu(kernels([1, 1], [32, 32], wcet=2**60), TWO_SMS, None)


# Without a GPU -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_utilization_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    period = rng.choice([2, 3, 4, 5, 6, 8, 9, 10, 12, 7 * 10**6], 6)
    tasks = KernelTasks(period, [int(rng.integers(1, p // 2 + 2)) for p in period])
    table = gs.BatchTable.from_utilization(tasks)
    parts = [Fraction(int(c), int(p)) for c, p in zip(tasks.wcet, tasks.period, strict=True)]
    for mask in range(1, 64):
        batch = members(mask)
        eligible = len(batch) == 1 or sum(parts[i] for i in batch) <= 1
        longest = max(int(tasks.wcet[i]) for i in batch)
        assert table.completion[mask] == (longest if eligible else 0)


def test_utilization_of_exactly_one() -> None:
    tasks = KernelTasks([3, 6, 2], [1, 1, 1])
    assert gs.BatchTable.from_utilization(tasks).completion[7] == 1
    unit = 10**15
    more = KernelTasks([3 * unit, 6 * unit, 2 * unit], [unit, unit + 1, unit])
    assert gs.BatchTable.from_utilization(more).completion[7] == 0
    overloaded = KernelTasks([3, 4], [5, 1])  # a task alone is eligible in any case
    assert gs.BatchTable.from_utilization(overloaded).completion.tolist() == [0, 5, 1, 0]
    with pytest.raises(
        OverflowError, match=r"period\[1\]: got 2147483629, expected periods with a"
    ):
        gs.BatchTable.from_utilization(KernelTasks([2**31 - 1, 2**31 - 19], [1, 1]))


# The module --------------------------------------------------------------------------------------

LIMITS = np.array([2, 8, 16, 65536, 65536, 65536, 0, 256, 256, 4, 0, 0])
KEY = np.arange(4, dtype=np.uint64)
ROW = np.ones((1, 2), dtype=np.int64)
GOOD = (LIMITS, None, ROW, ROW, ROW, ROW, ROW, KEY, 0, 10**9, 10**9, 2)


@pytest.mark.parametrize(
    "position, value, message",
    [
        (0, LIMITS[:5], "limits: got 5 entries, expected 12 to 28"),
        (0, LIMITS * 0, "sms: got 0, expected a positive number"),
        (1, [1, 1], r"sm_order\[1\]: got 1, expected each SM once"),
        (2, ROW * 0, r"blocks\[0\]: got 0, expected a positive number"),
        (2, np.ones((2, 2), np.int64), "blocks: got length .* on axis 0, expected 1"),
        (3, ROW * -1, r"threads\[0\]: got -1, expected a positive number"),
        (3, ROW.astype(float), "threads: "),
        (4, ROW * -1, r"regs\[0\]: got -1, expected a number of at least 0"),
        (5, np.ones((1, 3), np.int64), "smem: got length .* on axis 1, expected 2"),
        (6, ROW * 0, r"wcet\[0\]: got 0, expected a positive number of ticks"),
        (6, np.ones((1, 25), np.int64), "wcet: expected 1 to 24 tasks, got 25"),
        (6, np.ones((1, 0), np.int64), "wcet: expected 1 to 24 tasks, got 0"),
        (6, ROW[0], "wcet: got . dimension.s., expected 2"),
        (6, None, "wcet: "),
        (7, KEY[:1], "key: got length .* on axis 0, expected 4"),
        (8, -1, "first: got -1, expected the number of a set"),
        (9, 10**9 - 1, "slowdown: got 999999999, expected factors"),
        (10, 10**8, "slowdown: got 1000000000, expected factors"),
        (10, 10**16, "slowdown: got 1000000000, expected factors"),
    ],
)
def test_module_refuses(position: int, value: Any, message: str) -> None:
    assert positional(_core.oracle_by_placement)(*GOOD)[0].tolist() == [[0, 1, 1, 1]]
    arguments = [*GOOD]
    arguments[position] = value
    with pytest.raises((ValueError, TypeError), match=message):
        positional(_core.oracle_by_placement)(*arguments)
    if position >= 6:
        with pytest.raises((ValueError, TypeError), match=message):
            positional(_core.oracle_by_utilization)(ROW, *arguments[6:11])


def test_module_refuses_periods() -> None:
    good = (ROW, *GOOD[6:11])
    assert positional(_core.oracle_by_utilization)(*good).shape == (1, 4)
    for period, message in (
        (ROW * 0, r"period\[0\]: got 0, expected a positive number"),
        (np.ones((2, 2), np.int64), "period: got length .* on axis 0, expected 1"),
        (np.ones((1, 1), np.int64), "period: got length .* on axis 1, expected 2"),
    ):
        with pytest.raises(ValueError, match=message):
            positional(_core.oracle_by_utilization)(period, *good[1:])


def test_threads_share_the_core() -> None:
    tasks = gs.generate.gpusched(10, 2.0, count=20, seed=4)
    expected = gs.BatchTable.from_gpu(tasks, "pbs2024", "mixed", seed=9)
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(gs.BatchTable.from_gpu(tasks, "pbs2024", "mixed", seed=9))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(table == expected for table in found)
