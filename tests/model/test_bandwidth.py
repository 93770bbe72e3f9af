"""Traffic of kernels, shares of bandwidth, and what they slow."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from reference import bandwidth as twin

import gpusched as gs
from gpusched import _core
from gpusched.model.gpus.gpu_fields import as_bandwidth, as_bytes, bandwidth_of_gpu
from gpusched.model.workload.kernel_waves import slowdowns

pytestmark = pytest.mark.python

MOST = 2**50
TWO = gs.Platform("A100", cpus=2, bandwidth="1000GB/s")


def factors(demand: list[int], capacity: int) -> list[Fraction]:
    above, below = _core.bandwidth_slowdowns(np.array(demand, np.int64), capacity)
    return [Fraction(a, b) for a, b in zip(above.tolist(), below.tolist(), strict=True)]


def random_demands(random: Random, most: int = 8) -> tuple[list[int], int]:
    capacity = random.choice((random.randrange(1, 20), random.randrange(1, MOST + 1), MOST))
    count = random.randrange(1, most + 1)
    return [
        random.choice((0, capacity, random.randint(0, capacity))) for _ in range(count)
    ], capacity


def test_factors_are_those_of_the_twin() -> None:
    random, slowed = Random(1), 0
    for _ in range(2000):
        demand, capacity = random_demands(random)
        expected = twin.slowdowns(demand, capacity)
        assert factors(demand, capacity) == expected
        slowed += max(expected) > 1
    assert slowed > 1000


def test_batches_are_those_of_the_twin() -> None:
    random = Random(2)
    for _ in range(200):
        demand, capacity = random_demands(random, 6)
        times = [random.choice((0, random.randrange(1, 2**40))) for _ in range(1 << len(demand))]
        found = _core.bandwidth_batches(
            np.array(times, np.int64), np.array(demand, np.int64), capacity
        )
        assert found.tolist() == twin.batch_times(times, demand, capacity)


def test_factors_rise_with_demands_and_fall_with_the_capacity() -> None:
    random = Random(3)
    for _ in range(1000):
        demand, capacity = random_demands(random)
        before = factors(demand, capacity)
        i = random.randrange(len(demand))
        more = list(demand)
        more[i] = random.randint(demand[i], capacity)
        assert all(a <= b for a, b in zip(before, factors(more, capacity), strict=True))
        another = factors([*demand, random.randint(0, capacity)], capacity)
        assert all(a <= b for a, b in zip(before, another, strict=False))
        wider = factors(demand, random.randint(capacity, MOST))
        assert all(a >= b for a, b in zip(before, wider, strict=True))


def test_batches_end_no_later_than_the_table_says() -> None:
    """Kernels whose speed follows their shares at every instant, and rises as others end."""
    random, equal = Random(4), 0
    for _ in range(300):
        demand, capacity = random_demands(random, 5)
        work = [random.randrange(1, 100) for _ in demand]
        every = (1 << len(demand)) - 1
        times = np.zeros(every + 1, np.int64)
        times[every] = max(work)
        [*_, whole] = _core.bandwidth_batches(times, np.array(demand, np.int64), capacity).tolist()
        ends = twin.fluid_ends(work, demand, capacity)
        assert max(ends) <= whole
        equal += -(-max(ends) // 1) == whole
        beside = [row[0] for row in slowdowns([[rate] for rate in demand], capacity)]
        assert all(end <= time * of for end, time, of in zip(ends, work, beside, strict=True))
    assert equal > 60


@pytest.mark.parametrize(
    ("demand", "capacity", "error", "text"),
    [
        (np.array([], np.int64), 9, ValueError, "demand"),
        ([1] * 4097, 9, ValueError, "demand"),
        ([3, -1], 9, ValueError, r"demand\[1\]: got -1, expected 0 to the capacity"),
        ([10], 9, ValueError, r"demand\[0\]: got 10"),
        ([1], 0, ValueError, "capacity"),
        ([1], MOST + 1, ValueError, "capacity"),
        ([[1]], 9, ValueError, "demand"),
        ([1], 2**70, OverflowError, "capacity"),
        ([2**70], 9, (OverflowError, TypeError), "demand|int"),
        ("a", 9, (TypeError, ValueError), "demand|string|literal"),
    ],
)
def test_hostile_demands(demand: Any, capacity: int, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        _core.bandwidth_slowdowns(demand, capacity)


def test_hostile_batches() -> None:
    call: Any = _core.bandwidth_batches
    for times, demand, error in (
        ([0, 1, 1], [1, 1], ValueError),
        ([0, -1], [1], ValueError),
        ([0, 2**61], [1], ValueError),
        ([0, 1], [1] * 25, ValueError),
        ([], [], ValueError),
        ([0, 1, 1, 2**60 - 2], [9, 9], OverflowError),
    ):
        with pytest.raises(error):
            call(np.array(times, np.int64), np.array(demand, np.int64), 9)
    with pytest.raises(gs.Cancelled):
        many = np.ones(1 << 20, np.int64)
        call(many, np.full(20, 5), 9, stop=bytearray(b"\1"))


def test_amounts_of_data() -> None:
    for text, amount in (("120MB", 120 * 10**6), ("4 MiB", 4 << 20), ("1.5KB", 1500), ("7B", 7)):
        assert as_bytes(text, "bytes") == amount
    assert as_bytes("0.0001KB", "bytes") == 1 and as_bytes(9, "bytes") == 9  # rounded up
    assert as_bandwidth("400GB/s", "bandwidth") == 400 * 10**9
    for wrong in ("120", "120 M", "1iB", "4MB/s", "-1B", "1e3B", "", "2000000TB", -1, 2**61):
        with pytest.raises(ValueError, match=r"^bytes: got "):
            as_bytes(wrong, "bytes")  # type: ignore[arg-type]
    for wrong in ("400GB", "400 Gb/s", 0, MOST + 1):
        with pytest.raises(ValueError, match=r"^bandwidth: got "):
            as_bandwidth(wrong, "bandwidth")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bytes: got '1MB' with bandwidth, expected one of them"):
        gs.Kernel(9, bytes="1MB", bandwidth="1GB/s")
    with pytest.raises(TypeError, match="bytes"):
        gs.Kernel(9, bytes=1.5)  # type: ignore[arg-type]


def test_bandwidth_of_presets() -> None:
    known = [name for name in gs.GPU.presets() if bandwidth_of_gpu(name) is not None]
    assert len(known) > 35
    assert gs.Platform("A100").bandwidth == 1555 * 10**9
    assert gs.Platform("A100", bandwidth="1.9TB/s").bandwidth == 1900 * 10**9
    assert gs.Platform().bandwidth is None and gs.Platform("pbs2024").bandwidth is None
    assert gs.Platform("AGX Orin").bandwidth == 204_800_000_000
    again = gs.Platform("A100", bandwidth="1.9TB/s")
    assert eval(repr(again), {"Platform": gs.Platform}) == again
    assert again.at("us").replace(cpus=2).bandwidth == again.bandwidth


def pair(one: gs.Kernel, other: gs.Kernel, period: str = "30ms") -> gs.Workload:
    return gs.Workload([gs.Task("a", period, [one]), gs.Task("b", period, [other])])


def test_two_instances_of_a_network() -> None:
    """7.78 ms alone, 12.84 ms together: each needs 82.5 % of the bandwidth."""
    net = gs.Kernel("7.78ms", blocks=54, threads=1024, bandwidth="825GB/s")
    w = pair(net, net)
    view = w.batches(TWO)
    assert view.table.completion.tolist() == [0, 7_780_000, 7_780_000, 12_837_000]
    assert "by max-min shares of 1000GB/s" in view.assumptions[-1]
    for way in ("streams", "edf_parallel", "stgm"):
        answer = gs.analyze(w, TWO, way)
        assert answer.conditional and "bandwidth_shares" in [
            one.premise for one in answer.conditions
        ]
        assert answer.response.min() >= 12_837_000
    assert gs.analyze(w, TWO, "mpcp").accepted  # one at a time
    serial = gs.analyze(w, TWO, "pbs")
    assert serial.accepted and serial.response.max() == 15_560_000
    tight = w.replace(tasks=[task.replace(deadline="13ms") for task in w])
    assert gs.analyze(tight, TWO, "pbs").conditional
    moved = net.replace(bandwidth=None, bytes=6_418_500_000)  # in 7.78 ms
    assert pair(moved, moved).batches(TWO).table.completion[3] == 12_837_000


def test_a_matrix_product_beside_communication() -> None:
    """128 blocks of a product, and one block that copies: up to twice as long."""
    random = Random(6)
    for _ in range(50):
        product = gs.Kernel("10ms", blocks=128, threads=256, bandwidth=random.randrange(10**12))
        copy = gs.Kernel("10ms", blocks=1, threads=512, bandwidth=random.randrange(10**12))
        together = int(pair(product, copy).batches(TWO).table.completion[3])
        assert 10_000_000 <= together <= 20_000_000
    full = gs.Kernel("10ms", blocks=128, threads=256, bandwidth="1000GB/s")
    light = full.replace(blocks=1, bandwidth="100GB/s")
    assert pair(full, full).batches(TWO).table.completion[3] == 20_000_000
    assert pair(full, light).batches(TWO).table.completion[3] == 11_111_112


def test_chains_and_units_have_the_demand_of_their_kernels() -> None:
    shape: dict[str, Any] = {"blocks": 32, "threads": 256}
    heavy = gs.Kernel(10, bandwidth="900GB/s", repeat=2, **shape)
    light = gs.Kernel(10, bandwidth="100GB/s", **shape)
    w = gs.Workload(
        [gs.Task("a", 999, [heavy, light]), gs.Task("b", 999, [heavy.replace(repeat=1)])]
    )
    table = w.batches(TWO, chains="keep").table
    assert [int(table.completion[mask]) for mask in (0b1001, 0b1010, 0b1100)] == [18, 18, 10]
    assert w.batches(TWO).table.completion.tolist() == [0, 30, 10, 54]
    slowed = gs.analyze(w, TWO, "streams")
    assert slowed.conditional and "max-min shares of 1000GB/s" in " ".join(slowed.assumptions)


def test_the_factor_stays_where_traffic_is_not_known() -> None:
    some = gs.Kernel("7.78ms", blocks=54, threads=1024, bandwidth="825GB/s")
    w = pair(some, some.replace(bandwidth=None))
    for workload, platform in (
        (w, TWO),
        (pair(some, some), gs.Platform(gs.GPU(108, 2048, 32), cpus=2)),  # no bandwidth
    ):
        answer = gs.analyze(workload, platform, "streams")
        assert answer.accepted and "1.4 times" in " ".join(answer.assumptions)
    free = gs.analyze(pair(some, some), TWO.replace(slowdown=None), "streams")
    assert free.accepted and free.response.max() < 12_837_000
    with pytest.raises(
        ValueError, match=r"got a traffic of 825GB/s, expected at most the 136\.5GB/s"
    ):
        gs.analyze(pair(some, some), gs.Platform("Xavier"), "streams")


def test_more_traffic_never_helps() -> None:
    random = Random(8)
    shape: dict[str, Any] = {"blocks": 108, "threads": 256}
    for _ in range(30):
        rates = [random.randrange(10**12) for _ in range(2)]
        before = gs.analyze(
            pair(*(gs.Kernel("5ms", bandwidth=rate, **shape) for rate in rates)), TWO, "streams"
        )
        more = [random.randint(rate, 10**12) for rate in rates]
        after = gs.analyze(
            pair(*(gs.Kernel("5ms", bandwidth=rate, **shape) for rate in more)), TWO, "streams"
        )
        assert (before.response.filled(2**60) <= after.response.filled(2**60)).all()


def test_times_grow_with_their_traffic() -> None:
    kernel = gs.Kernel("5ms", blocks=108, threads=256, bytes="1GB")
    grown = gs.Workload([gs.Task("a", "30ms", [kernel])]).scaled(kernels="1.5")[0].kernels[0]
    assert grown.bytes == 1_500_000_000 and grown.time == 7_500_000
    assert gs.Engine("10ms", kernels=4, bytes="1GB").bytes == 250_000_000


@pytest.mark.parametrize("key", ["bytes = '120MB'", "bandwidth = 400_000_000_000"])
def test_files_have_the_traffic(tmp_path: Path, key: str) -> None:
    text = f"""version = 2
[[task]]
name = "a"
period = "9ms"
segments = [{{ kernel = "1ms", {key} }}]
"""
    (tmp_path / "w.toml").write_text(text)
    w = gs.Workload.load(tmp_path / "w.toml")
    kernel = w[0].kernels[0]
    assert (kernel.bytes or kernel.bandwidth) in (120_000_000, 400_000_000_000)
    for name in ("made.toml", "made.json"):
        w.save(tmp_path / name)
        assert gs.Workload.load(tmp_path / name) == w
    pytest.importorskip("pandas")
    assert gs.Workload.from_frame(w.to_frame()) == w
    (tmp_path / "w.toml").write_text(text.replace("version = 2", "version = 1"))
    with pytest.raises(ValueError, match=r"got traffic with the memory in a document of version 1"):
        gs.Workload.load(tmp_path / "w.toml")
