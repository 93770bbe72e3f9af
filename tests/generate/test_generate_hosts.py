"""Tasks by Table I of [RTCSA19]: distributions and ranges."""

from __future__ import annotations

import collections
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from test_generate import distance

import gpusched as gs
from gpusched.model.host_frames import job_of

SETS = 4000
FLAT = gs.profiles.table([1.0])
FINE: dict[str, Any] = {"ticks": 10**6, "seed": 5}  # rounding to ticks does not show


def uniform(low: float, high: float) -> Any:
    return lambda x: np.clip((x - low) / (high - low), 0, 1)


def test_laws_of_table_one() -> None:
    tasks = gs.generate.stgm(10, SETS, **FINE)
    gpu = tasks.segments > 0
    used = (tasks.cpu_time + tasks.gpu_time(1)) / tasks.period
    assert distance(used.ravel(), uniform(0.05, 0.3)) < 2.2
    assert distance(used[gpu], uniform(0.05, 0.3)) < 2.2
    whole = tasks.gpu_time(1)[gpu]
    assert distance(tasks.cpu_time[gpu] / whole, uniform(0.3, 0.7)) < 2.2
    kernels = tasks.kernel_time(1).sum(axis=-1)[gpu]
    assert distance(kernels / whole, uniform(0.7, 0.9)) < 2.2
    counts = np.bincount(tasks.period.ravel() // 10**6, minlength=501)
    assert counts[:100].sum() == 0 and len(counts) == 501
    expected = SETS * 10 / 401
    assert ((counts[100:] - expected) ** 2 / expected).sum() < 401 + 4 * np.sqrt(2 * 401)
    number = np.bincount(tasks.segments[gpu], minlength=4)
    assert number[0] == 0 and (np.abs(number[1:] / gpu.sum() - 1 / 3) < 0.015).all()
    assert (tasks.deadline == tasks.period).all() and not tasks.offset.any()
    assert (tasks.core == -1).all() and tasks.sms == 0 and tasks.columns == 13


def test_who_uses_the_gpu() -> None:
    """The share is r / (1 + r) for r uniform in [0.2, 2], and any task may be one."""
    tasks = gs.generate.stgm(300, 600, sms=1, profile=FLAT, **FINE)
    gpu = tasks.segments > 0
    share = gpu.mean(axis=1)

    def law(x: Any) -> Any:
        return np.clip((x / (1 - x) - 0.2) / 1.8, 0, 1)

    assert distance(share, law) < 2.2
    for one in (gpu[:, :100], gpu[:, -100:]):
        assert abs(one.mean() - gpu.mean()) < 0.01
    # With two of four tasks, all six pairs are as likely.
    pairs = gs.generate.stgm(4, SETS, gpu_ratio=(1, 1), **FINE).segments > 0
    assert (pairs.sum(axis=1) == 2).all()
    seen = collections.Counter(row.tobytes() for row in pairs)
    assert len(seen) == 6
    assert all(abs(k - SETS / 6) < 4.5 * np.sqrt(SETS * 5 / 36) for k in seen.values())


def test_segments_are_cut_at_uniform_places() -> None:
    """The largest of three parts has 11/18 of the whole on average, the first a third."""
    tasks = gs.generate.stgm(1, SETS, segments=(3, 3), gpu_ratio=(2, 2), profile=FLAT, **FINE)
    parts = (tasks.copy_in + tasks.kernel[..., 0] + tasks.copy_out)[:, 0] / tasks.gpu_time(1)
    assert abs(parts.max(axis=1).mean() - 11 / 18) < 0.01
    for j in range(3):
        assert distance(parts[:, j], lambda x: 1 - (1 - x) ** 2) < 2.2
    cpu = tasks.cpu[:, 0] / tasks.cpu_time
    for j in range(4):
        assert distance(cpu[:, j], lambda x: 1 - (1 - x) ** 3) < 2.2
    even = gs.generate.stgm(1, 50, segments=(3, 3), gpu_ratio=(2, 2), split="even", **FINE)
    for row in even.cpu[:, 0].tolist():
        assert max(row) - min(row) <= 1
    assert (np.ptp(even.copy_in + even.kernel[..., 0] + even.copy_out, axis=-1) <= 1).all()


def test_copies() -> None:
    even = gs.generate.stgm(6, 200, **FINE)
    assert (np.abs(even.copy_in - even.copy_out) <= 1).all()
    drawn = gs.generate.stgm(6, SETS, copies="random", **FINE)
    some = drawn.segments > 0
    first = drawn.copy_in[some][:, 0] / (drawn.copy_in + drawn.copy_out)[some][:, 0]
    assert distance(first, uniform(0, 1)) < 2.2
    np.testing.assert_array_equal(drawn.kernel, gs.generate.stgm(6, SETS, **FINE).kernel)


@pytest.mark.parametrize("at", [1, 4, 13, None])
def test_number_of_sms_for_which_the_table_holds(at: int | None) -> None:
    tasks = gs.generate.stgm(8, 500, at=at, ticks=1000, seed=7)
    one = gs.generate.stgm(8, 500, ticks=1000, seed=7)
    np.testing.assert_array_equal(tasks.cpu, one.cpu)
    k = 13 if at is None else at
    np.testing.assert_array_equal(tasks.gpu_time(k), one.gpu_time(1))
    used = (tasks.cpu_time + tasks.gpu_time(k)) / tasks.period
    assert 0.0499 < used.min() and used.max() < 0.3001


def test_utilization_of_the_cpu_alone() -> None:
    tasks = gs.generate.stgm(10, SETS, utilization_of="cpu", **FINE)
    gpu = tasks.segments > 0
    assert distance(tasks.utilization()[gpu], uniform(0.05, 0.3)) < 2.2
    assert distance(tasks.cpu_time[gpu] / tasks.gpu_time(1)[gpu], uniform(0.3, 0.7)) < 2.2


def test_profiles_are_followed() -> None:
    shapes = gs.profiles.benchmarks()
    tasks = gs.generate.stgm(10, 300, seed=3)
    gpu = tasks.segments > 0
    times = {tuple(p.times(10**12).tolist()) for p in shapes.values()}
    seen: collections.Counter[str] = collections.Counter()
    for kernel in tasks.kernel[gpu][:, 0]:
        fits = [
            name for name, p in shapes.items() if np.array_equal(p.times(int(kernel[0])), kernel)
        ]
        assert fits
        seen[fits[0]] += len(fits) == 1
    assert len(times) == 8 and set(seen) == set(shapes)
    assert min(seen.values()) > 0.7 * sum(seen.values()) / 8
    # The columns of more SMs do not change the others, and the last profile entry goes on.
    more = gs.generate.stgm(10, 300, seed=3, sms=20)
    np.testing.assert_array_equal(more.kernel[..., :13], tasks.kernel)
    np.testing.assert_array_equal(more.kernel[..., 19], tasks.kernel[..., 12])
    one = gs.generate.stgm(10, 300, seed=3, profile=gs.profiles.amdahl(1, 4), sms=4)
    assert (np.abs(one.kernel[..., 0] - 4 * one.kernel[..., 3]) < 4).all()


def test_a_set_is_the_same_in_any_stack() -> None:
    whole = gs.generate.stgm(9, 300, seed=21)
    assert gs.generate.stgm(9, 10, seed=21) == whole[:10]
    assert gs.generate.stgm(9, seed=21, first=299) == whole[299]
    with ThreadPoolExecutor(4) as pool:
        chunks = pool.map(lambda i: gs.generate.stgm(9, 50, seed=21, first=i), range(0, 300, 50))
        for i, chunk in enumerate(chunks):
            assert chunk == whole[50 * i : 50 * i + 50]
    assert gs.generate.stgm(9, 3, seed=22) != whole[:3]
    assert gs.generate.stgm(seed=1).n == 12 and gs.generate.stgm(cpus=2, seed=1).n == 6
    assert len(gs.generate.stgm(4, 0, seed=1)) == 0


def test_the_same_numbers_on_every_machine() -> None:
    """Fixed for good: recorded experiments depend on them."""
    tasks = gs.generate.stgm(3, seed=7, first=123456789, sms=2)
    assert [job_of(tasks, i) for i in range(3)] == FIXED_JOBS
    assert tasks.period.tolist() == FIXED_PERIODS


FIXED_JOBS: list[Any] = [
    [26952],
    [38062],
    [
        3099,
        (3082, [23758, 11998], 3082),
        366,
        (546, [4208, 2126], 546),
        4495,
        (227, [1747, 883], 226),
        5592,
    ],
]
FIXED_PERIODS = [365000, 289000, 192000]


def test_priorities() -> None:
    tasks = gs.generate.stgm(20, 50, seed=1)
    for one in (tasks[i] for i in range(50)):
        order = np.argsort(one.priority)
        assert (np.diff(one.period[order]) >= 0).all()
    by_index = gs.generate.stgm(20, 50, seed=1, priority="index")
    assert (by_index.priority == np.arange(20)).all()
    np.testing.assert_array_equal(by_index.kernel, tasks.kernel)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "n: got 0, expected a positive number of tasks"),
        ({"cpus": 0}, ValueError, "n: got 0, expected a positive number of tasks"),
        ({"count": -1}, ValueError, "count: got -1, expected a non-negative number"),
        ({"first": -1}, ValueError, "first: got -1, expected the number of a set, 0 to"),
        ({"sms": 0}, ValueError, "sms: got 0, expected a number of SMs, 1 to 1024"),
        ({"at": 14}, ValueError, "at: got 14, expected a positive number, at most the GPU's SMs"),
        ({"at": 0}, ValueError, "at: got 0, expected a positive number, at most the GPU's SMs"),
        ({"periods": (0, 5)}, ValueError, r"periods\[0\]: got 0, expected a positive number"),
        (
            {"periods": (9, 5)},
            ValueError,
            r"periods\[1\]: got 5, expected at least the first number of",
        ),
        ({"periods": (9, 2**60)}, OverflowError, r"periods\[1\]: got -?\d+, expected a period"),
        ({"periods": 5}, ValueError, "periods: got 5, expected a pair, least and most"),
        ({"utilization": (0.1, 1.5)}, ValueError, r"utilization\[1\]: got 1\.5, expected 0 to 1"),
        (
            {"utilization": (-0.1, 0.5)},
            ValueError,
            r"utilization\[0\]: got -0\.1, expected 0 to 1",
        ),
        ({"utilization": (float("nan"), 1)}, ValueError, r"utilization\[0\]: got nan, expected 0"),
        ({"utilization": (0.1, "1")}, TypeError, r"utilization\[1\]: got '1', expected a number"),
        ({"utilization": (None, 1)}, TypeError, r"utilization\[0\]: got None, expected a number"),
        ({"utilization": (0, 10**999)}, OverflowError, r"utilization\[1\]: got an integer of 3319"),
        ({"ticks": 2**64}, OverflowError, "ticks: got 18446744073709551616, expected a"),
        ({"kernel_ratio": (0.5, 1.01)}, ValueError, r"kernel_ratio\[1\]: got 1\.01, expected 0 to"),
        ({"gpu_ratio": (2, 1)}, ValueError, r"gpu_ratio\[1\]: got 1\.0, expected at least 2\.0"),
        ({"segments": (0, 3)}, ValueError, r"segments\[0\]: got 0, expected a positive number"),
        ({"segments": (1.5, 3)}, ValueError, r"segments\[0\]: got 1\.5, expected a whole number"),
        ({"ticks": 0}, ValueError, "ticks: got 0, expected a positive number"),
        ({"split": "odd"}, ValueError, "split: got 'odd', expected one of random, even"),
        ({"copies": 1}, ValueError, "copies: got 1, expected one of even, random"),
        ({"priority": "edf"}, ValueError, "priority: got 'edf', expected one of rm, index"),
        ({"utilization_of": "gpu"}, ValueError, "utilization_of: got 'gpu', expected one of job,"),
        ({"profile": [0.5]}, TypeError, r"profile: got \[0\.5\], expected profiles of"),
        ({"profile": []}, ValueError, "profile: got an empty list, expected at least one"),
    ],
)
def test_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gs.generate.stgm(**{"seed": 1} | arguments)


# Profiles


def test_profile_times_are_exact_and_rounded_up() -> None:
    p = gs.profiles.Profile([10**6, 333_333, 1])
    assert p.times(3).tolist() == [3, 1, 1]
    assert p.times(0).tolist() == [0, 0, 0]
    large = 2**60 + 1
    assert p.times(large).tolist() == [large, -(-large * 333_333 // 10**6), -(-large // 10**6)]
    assert p.times([[1, 2]], sms=5).shape == (1, 2, 5)
    assert p.times(10**6, sms=5).tolist() == [10**6, 333_333, 1, 1, 1]


def test_laws() -> None:
    assert gs.profiles.amdahl(0.9, 4).times(1000).tolist() == [1000, 550, 400, 325]
    assert gs.profiles.amdahl(0, 3).parts.tolist() == [10**6] * 3
    assert gs.profiles.amdahl(1, 3).parts.tolist() == [10**6, 500_000, 333_334]
    assert gs.profiles.plateau(2, 4).times(100).tolist() == [100, 50, 50, 50]
    assert gs.profiles.waves(6, 7).times(600).tolist() == [600, 300, 201, 201, 201, 101, 101]
    assert gs.profiles.waves(6, 2, per_sm=3).times(6).tolist() == [6, 3]
    measured = gs.profiles.table([8, 4, 5, 2], monotone=True)
    assert measured.times(8).tolist() == [8, 5, 5, 2]
    assert gs.profiles.table([3, 1]).parts.tolist() == [10**6, 333_334]


@pytest.mark.parametrize(
    ("gpu", "sms", "flat"),
    [("gtx970", 13, {"kmeans", "workzone"}), ("xavier", 8, {"kmeans", "streamcluster"})],
)
def test_what_the_paper_says_of_its_benchmarks(gpu: str, sms: int, flat: set[str]) -> None:
    shapes = gs.profiles.benchmarks(gpu)
    assert set(shapes) == {
        *("backprop", "b+tree", "hotspot", "kmeans", "MMUL", "streamcluster"),
        *("stereodisparity", "workzone"),
    }
    for name, shape in shapes.items():
        assert shape.sms == sms and shape.name == name
        assert (np.diff(shape.parts[:4]) < 0).all()
        ends = np.diff(shape.parts[3:])
        assert (ends == 0).all() if name in flat else (ends < 0).all()
        # Slower than in proportion to the SMs.
        assert (shape.parts[1:] * np.arange(2, sms + 1) > 10**6).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda p: p.table([2, 1, 1.5]),
            ValueError,
            r"times\[2\]: got 1\.5 on 3 SMs, expected at most the time on 2,",
        ),
        (
            lambda p: p.table([2, 0]),
            ValueError,
            r"times\[1\]: got 0\.0, expected a positive, finite number",
        ),
        (
            lambda p: p.table([np.nan]),
            ValueError,
            r"times\[0\]: got nan, expected a positive, finite number",
        ),
        (lambda p: p.table([]), ValueError, "times: got "),
        (lambda p: p.table(3), TypeError, "times: got "),
        (lambda p: p.table([2, "1"]), TypeError, r"times\[1\]: got '1', expected a number"),
        (lambda p: p.table([[2], [1, 2]]), TypeError, r"times\[0\]: got \[2\], expected a number"),
        (lambda p: p.amdahl("x", 4), TypeError, "parallel: got 'x', expected a number"),
        (
            lambda p: p.amdahl(1.1, 4),
            ValueError,
            r"parallel: got 1\.1, expected a number from 0 to 1",
        ),
        (lambda p: p.amdahl(0.5, 0), ValueError, "sms: got 0, expected a number of SMs, 1 to 1024"),
        (lambda p: p.plateau(0, 4), ValueError, "at: got 0, expected a positive number of SMs"),
        (lambda p: p.waves(0, 4), ValueError, "blocks: got 0, expected a positive number"),
        (lambda p: p.waves(4, 4, per_sm=1.5), TypeError, r"per_sm: got 1\.5, expected an integer"),
        (
            lambda p: p.benchmarks("a100"),
            ValueError,
            "gpu: got 'a100', expected one of gtx970, xavier",
        ),
        (
            lambda p: p.Profile([5, 4]),
            ValueError,
            r"parts\[0\]: got 5, expected 1000000, the time on one SM",
        ),
        (
            lambda p: p.Profile([10**6, 4, 5]),
            ValueError,
            r"parts\[2\]: got 5, expected at most 4 as on 2 SMs",
        ),
        (
            lambda p: p.Profile([10**6, 0]),
            ValueError,
            r"parts\[1\]: got 0, expected a positive number",
        ),
        (
            lambda p: p.Profile([]),
            ValueError,
            r"parts: got shape \(0,\), expected 1 to 1024 numbers",
        ),
        (
            lambda p: p.amdahl(0.5, 4).times(-1),
            ValueError,
            "time: got -1, expected a non-negative number",
        ),
    ],
)
def test_no_profile(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(gs.profiles)


def test_profiles_as_objects() -> None:
    import copy
    import pickle

    p = gs.profiles.amdahl(0.9, 4, name="a")
    assert pickle.loads(pickle.dumps(p)) == copy.deepcopy(p) == p
    assert not pickle.loads(pickle.dumps(p)).parts.flags.writeable
    assert p != gs.profiles.amdahl(0.9, 4) and p != 3
    assert repr(p) == "<Profile a: 1, 0.55, 0.4, 0.325>"
    assert len(repr(gs.profiles.amdahl(0.9, 1000))) < 200
