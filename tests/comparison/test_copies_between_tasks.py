"""Copies of several tasks on one engine: no way guarantees what their waits break."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import gpusched as gs

GPU = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
PLATFORM = gs.Platform(GPU, cpus=2, slowdown=None, copy_engines=1)
IN_CONTEXTS = ("time_slices", "gcaps", "stgm")
UNDER_LOCKS = ("mpcp", "fmlp_plus", "gpu_server", "srm")


def kernel(time: int, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


def answer(w: gs.Workload, way: str, **options: Any) -> gs.WorkloadAnswer | None:
    """The answer of a test; None where it does not apply."""
    try:
        return gs.analyze(w, PLATFORM, way, **options)
    except ValueError:
        return None


def test_a_short_copy_waits_for_a_long_one() -> None:
    """The copy of b may wait 50 ticks, and its period is 20."""
    w = gs.Workload([
        gs.Task("a", 200, [gs.CopyIn(50), kernel(5)]),
        gs.Task("b", 20, [gs.CopyIn(1), kernel(1)]),
    ])  # fmt: skip
    for way in (*IN_CONTEXTS, *UNDER_LOCKS, "streams", "priority_streams", "mps", "pbs"):
        found = answer(w, way)
        assert found is None or not found.accepted, way
        assert found is None or not found.bounded[1] or found.response[1] > 50, way
    for mode in ("suspend", "busy"):
        found = answer(w.with_task(w["b"].replace(period=400, deadline=100)), "gcaps", mode=mode)
        assert found is not None and found.accepted and found.response[1] == 52
    later = w.with_task(w["b"].replace(offset=1))
    run = gs.observe(later, PLATFORM, "streams", until=2_000)
    assert run.worst[1] > 50


def test_a_copy_outside_of_a_lock_takes_it() -> None:
    """The camera waits for the copy of the recorder, 200 ticks, under every way."""
    w = gs.Workload([
        gs.Task("camera", 330, [
            gs.CPU(10), gs.CopyIn(5), kernel(20, 4), gs.CopyOut(2)], deadline=100),
        gs.Task("recorder", 2000, [
            gs.CPU(10), kernel(30, 4), gs.CPU(20), gs.CopyOut(200)]),
    ])  # fmt: skip
    for way in (*IN_CONTEXTS, *UNDER_LOCKS):
        found = answer(w, way)
        assert found is not None and not found.accepted, way
    longer = w.with_task(w["camera"].replace(period=2000, deadline=2000))
    for way in UNDER_LOCKS:  # one GPU segment of the recorder in front, and no more copies
        found = answer(longer, way)
        assert found is not None and found.accepted and found.response[0] >= 237, way
    for way in IN_CONTEXTS:  # both copies of the camera wait
        found = answer(longer, way)
        assert found is not None and found.accepted and found.response[0] >= 437, way
    for way in ("mpcp", "fmlp_plus", "gpu_server"):
        assert gs.observe(w, PLATFORM, way, until=66_000).worst[0] > 200, way


def test_copies_in_a_row_are_separate_requests() -> None:
    """Each of the four copies of a waits for one of b."""
    part = [gs.CopyIn(10), kernel(1), gs.CopyOut(10)]
    a = gs.Task("a", 400, [gs.CopyIn(1, repeat=4), kernel(1)], deadline=30)
    w = gs.Workload([a, gs.Task("b", 300, [*part, *part])])
    for way in (*IN_CONTEXTS, "streams", "priority_streams", "mps", "pbs"):
        found = answer(w, way)
        assert found is None or not found.accepted, way
    found = answer(w.with_task(a.replace(deadline=400)), "stgm")
    assert found is not None and found.accepted and found.response[0] == 45


def test_a_batch_does_not_start_before_its_copies() -> None:
    """The copy of b may wait 50 ticks: an exact test does not accept, nor does it reject."""
    w = gs.Workload([
        gs.Task("a", 100, [gs.CopyIn(50), kernel(1)]),
        gs.Task("b", 100, [gs.CopyIn(1), kernel(1), kernel(1)], deadline=10),
    ])  # fmt: skip
    assert answer(w, "pbs") is None
    single = w.with_task(w["b"].replace(segments=[gs.CopyIn(1), kernel(1)]))
    found = answer(single, "pbs")
    assert found is not None and not found.accepted and not found.rejected
    late = single.with_task(single["b"].replace(deadline=1))
    found = answer(late, "pbs")
    assert found is not None and found.rejected


def test_one_unit_at_a_time_has_no_waiting_copies() -> None:
    w = gs.Workload([
        gs.Task("a", 100, [gs.CopyIn(10), kernel(1)]),
        gs.Task("b", 100, [gs.CopyIn(20), kernel(1)]),
    ])  # fmt: skip
    serial, parallel = answer(w, "edf_serial"), answer(w, "edf_parallel")
    assert serial is not None and serial.accepted  # also if copies of others are in the way
    assert parallel is not None and parallel.response.tolist() == [31, 31]


def test_a_kernel_behind_a_copy_waits_for_a_slice_of_its_own() -> None:
    gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    platform = PLATFORM.replace(gpu=gpu, timeslice=10)
    parts = [kernel(1), gs.CopyOut(1), kernel(1)]
    w = gs.Workload([
        gs.Task("a", 400, parts, offset=1, core=0),
        gs.Task("b", 400, [gs.Kernel(60, blocks=1, threads=1024)], core=1),
    ])  # fmt: skip
    found = gs.analyze(w, platform, "time_slices")
    run = gs.observe(w, platform, "time_slices", until=2_000)
    assert (run.worst[0], found.response[0]) == (21, 23)
    whole = w.hosts(platform, sms="all").tasks
    assert gs.analysis.time_slices(whole, 2, timeslice=10, context_switch=0).response[0] == 13


@pytest.mark.parametrize("order", ["release", "overlap"])
def test_streams_with_copies_are_simulated_with_engines(order: str) -> None:
    """Copies of the next job wait in their stream, also where only one task copies."""
    w = gs.Workload([
        gs.Task("a", 9, [gs.CopyIn(1), kernel(3, 16), gs.CopyOut(4)], deadline=18),
        gs.Task("b", 100, [kernel(5, 16)]),
    ])  # fmt: skip
    run = gs.observe(w, PLATFORM, "streams", until=900)
    asked = gs.observe(w, PLATFORM, "streams", until=900, order=order)
    assert run.limits == () and [short for short, _ in asked.limits] == [f"order {order}"]
    assert asked.end.tolist() == run.end.tolist()


def random_program(random: Random) -> tuple[gs.Workload, gs.Platform]:
    """Up to four tasks, each with copies and kernels in any order, and a CPU of its own."""
    gpu = gs.GPU(sms=random.randrange(1, 4), threads_per_sm=1024, blocks_per_sm=8)
    platform = gs.Platform(
        gpu,
        cpus=4,
        slowdown=None,
        copy_engines=random.choice((1, 2)),
        timeslice=random.choice((1, 3, 7, 13)),
        context_switch=random.choice((0, 0, 1)),
        launch_latency=random.choice((0, 0, 2)),
    )

    def segment() -> gs.Segment:
        time = random.randrange(1, 12)
        if random.random() < 0.5:
            threads = random.choice((256, 512, 1024))
            return gs.Kernel(time, blocks=random.randrange(1, 5), threads=threads)
        kind = random.choice((gs.CopyIn, gs.CopyOut))
        return kind(time, repeat=random.choice((1, 1, 2)))

    tasks = []
    for i in range(random.randrange(2, 5)):
        segments = [segment() for _ in range(random.randrange(1, 6))]
        if random.random() < 0.3:
            segments.insert(0, gs.CPU(random.randrange(1, 5)))
        if random.random() < 0.3:
            segments.append(gs.CPU(random.randrange(1, 5)))
        period = random.choice((50, 100, 150, 200, 300, 400))
        offset = random.choice((0, 0, random.randrange(40)))
        tasks.append(gs.Task(f"t{i}", period, segments, core=i, offset=offset))
    return gs.Workload(tasks), platform


def test_no_response_exceeds_its_bound() -> None:
    accepted = dict.fromkeys(("time_slices", "streams", "priority_streams", "mps"), 0)
    for seed in range(120):
        w, platform = random_program(Random(seed))
        for way in accepted:
            try:
                found = gs.analyze(w, platform, way)
            except ValueError:
                continue
            if found.accepted:
                run = gs.observe(w, platform, way, until=1_500, timeline=False)
                assert (run.worst <= found.response).all(), (seed, way)
                accepted[way] += 1
    assert min(accepted.values()) > 18, accepted
