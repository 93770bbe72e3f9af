"""Kernels that are known by their time alone, under every way of sharing the GPU."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import gpusched as gs
from gpusched.comparison.kernels_by_time import SHARING

pytestmark = [pytest.mark.python, pytest.mark.numbers]

SMALL = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8)


def engines(deadline: str = "100ms", **kernel: Any) -> gs.Workload:
    return gs.Workload(
        [
            gs.Task("a", "100ms", [gs.Kernel("34.5ms", **kernel)]),
            gs.Task("b", "100ms", [gs.Kernel("10ms", **kernel)], deadline=deadline),
        ]
    )


def test_every_way_answers_for_engines_of_known_times() -> None:
    platform = gs.Platform(
        "A100", cpus=2, green_contexts={"a": 56, "b": 52}, mps_partitions={"a": 56, "b": 52}
    )
    c = gs.compare(engines(), platform)
    tested = [row for row in c if row.answer is not None]
    assert len(tested) == len(c) - 1  # the driver has no test
    assert all(row.run is not None for row in c)
    for way in ("one_stream", "streams", "priority_streams", "mps", "stgm", "mig", "pbs"):
        assert any(row.way.name == way and row.answer.accepted for row in tested), way
    for row in c:  # alternating: 34.5 and 10 ms
        if row.way.name in ("one_stream", "streams", "mps", "time_slices", "pbs"):
            assert row.run.worst.max() == 44_500_000, row.label


@pytest.mark.parametrize("way", ["streams", "mps"])
def test_a_guarantee_whatever_the_blocks_are(way: str) -> None:
    answer = gs.analyze(engines(), gs.Platform("A100"), way)
    assert answer.accepted and answer.response.tolist() == [62_300_000] * 2  # 1.4 times 44.5 ms
    said = " ".join(answer.assumptions)
    assert "as if all kernels ran one after the other, at the largest slowdown" in said
    assert "responses are at most: a 44.5ms, b 44.5ms" in said  # if they fill the GPU
    plain = gs.analyze(engines(), gs.Platform("A100", slowdown=None), way)
    assert plain.accepted and plain.response.tolist() == [44_500_000] * 2


@pytest.mark.parametrize("way", ["streams", "priority_streams", "mps"])
def test_a_guarantee_on_the_condition_that_they_fill_the_gpu(way: str) -> None:
    w, platform = engines("60ms"), gs.Platform("A100")
    answer = gs.analyze(w, platform, way)
    assert answer.conditional and answer.response.tolist() == [44_500_000] * 2
    [condition] = answer.conditions
    assert condition.premise == "kernels_fill_sms" and condition.tasks == ("a", "b")
    said = " ".join(answer.assumptions)
    if way == "priority_streams":  # an urgent kernel may come between the waves of another one
        assert "there is no bound" in said
    else:
        assert "responses are at most: a 62.3ms, b 62.3ms (late)" in said
    c = gs.compare(w, platform, ways=[way])
    assert "fill the SMs that they need" in str(c)
    written = json.dumps(c.document(margin=False))
    assert "conditional" in written and "kernels_fill_sms" in written
    assert ("62.3ms (late)" in written) == (way != "priority_streams")


def test_one_task_alone_has_no_condition() -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.Engine(90, kernels=9)])])
    for way in ("streams", "priority_streams", "mps"):
        answer = gs.analyze(w, gs.Platform("A100"), way)
        assert answer.accepted and answer.response.tolist() == [90]
        assert gs.observe(w, gs.Platform("A100"), way).limits == ()


def test_shares_of_the_sms_run_beside_each_other() -> None:
    halves, platform = engines(sms=0.5), gs.Platform("A100", slowdown=None)
    assert gs.observe(halves, platform, "streams").worst.tolist() == [34_500_000, 10_000_000]
    late = gs.analyze(engines("35ms", sms=0.5), platform, "streams")
    assert not late.accepted and "a 44.5ms, b 44.5ms (late)" in " ".join(late.assumptions)


def test_times_grow_and_shares_remain() -> None:
    w, platform = engines(sms=0.5), gs.Platform("A100")
    assert w.scaled(kernels=2)["a"].kernels[0] == w["a"].kernels[0].replace(time="69ms")
    grown = gs.margin(engines(), platform, "streams", what="kernels")
    assert grown.factor > 1.5 and gs.analyze(w.scaled(kernels="1.5"), platform, "streams").accepted


def test_a_queue_for_all_parts_leaves_a_condition() -> None:
    """The head of a common queue may wait with later waves, which in turns it does not."""
    platform = gs.Platform("A100", cpus=2, green_contexts={"a": 56, "b": 52}, slowdown=None)
    assert gs.analyze(engines(), platform, "green_contexts").accepted
    shared = gs.analyze(engines(), platform, "green_contexts", queues="shared")
    assert not shared.accepted


def test_late_jobs_of_assumed_shapes_show_no_miss() -> None:
    tasks = [task.replace(deadline="40ms") for task in engines()]
    w, platform = gs.Workload(tasks), gs.Platform("A100")
    assert gs.observe(w, platform, "streams").worst.tolist() == [34_500_000, 44_500_000]
    [row] = gs.compare(w, platform, ways=["streams"])
    assert row.schedulable is None  # b needs fewer SMs, perhaps
    alone = engines("9ms")
    assert gs.analyze(alone, platform, "streams").impossible  # whatever it needs


# Against programs with shapes ---------------------------------------------------------------------


def random_shape(random: Random) -> gs.Kernel:
    """A kernel whose time alone is that of its waves."""
    threads = random.choice((32, 128, 256, 512, 1024))
    blocks = random.choice((1, 2, 4, random.randrange(1, 40)))
    return gs.Kernel(block_time=random.randrange(1, 12), blocks=blocks, threads=threads)


def random_program(random: Random, **task: Any) -> gs.Workload:
    tasks = []
    for i in range(random.randrange(2, 5)):
        segments: list[Any] = []
        for _ in range(random.randrange(1, 4)):
            if random.random() < 0.4:
                segments.append(gs.CPU(random.randrange(1, 6)))
            segments.append(random_shape(random))
        offset = random.randrange(30)
        period = random.randrange(60, 400)
        tasks.append(gs.Task(f"t{i}", period, segments, offset=offset, **task))
    return gs.Workload(tasks)


def by_time(w: gs.Workload, platform: gs.Platform, random: Random, share: float) -> gs.Workload:
    """The program with some kernels known by their times alone."""
    tasks = []
    for task, times in zip(w, w.kernel_times(platform), strict=True):
        segments = [
            part if of is None or random.random() > share else gs.Kernel(of.time)
            for part, of in zip(task.segments, times, strict=True)
        ]
        tasks.append(task.replace(segments=segments))
    return w.replace(tasks=tasks)


@pytest.mark.parametrize("way", ["streams", "mps", "green_contexts"])
def test_no_program_with_these_times_exceeds_a_guaranteed_bound(way: str) -> None:
    random, held, tight = Random(3), 0, 0
    for _ in range(80):
        w = random_program(random)
        platform = gs.Platform(SMALL, cpus=4, slowdown=None)
        if way == "green_contexts":
            names = w.names
            parts = {names[:-1]: 2, names[-1]: 2}
            platform = platform.replace(green_contexts=parts)
        known = by_time(w, platform, random, random.choice((0.4, 1.0)))
        if all(kernel.has_shape for task in known for kernel in task.kernels):
            continue
        answer = gs.analyze(known, platform, way)
        if not answer.accepted:
            continue
        held += 1
        worst = gs.observe(w, platform, way, until=4000).worst
        assert (worst <= answer.response).all(), (w, known)
        tight += int((2 * worst >= answer.response).sum())
    assert held > 10 and tight > 10


def test_simulated_engines_stay_within_conditional_bounds() -> None:
    random, held = Random(5), 0
    for case in range(80):
        ways = sorted(SHARING - {"mps_static", "green_contexts"})
        way = ways[case % len(ways)]
        w = random_program(random)
        platform = gs.Platform(SMALL, cpus=4, slowdown=1.5)
        known = by_time(w, platform, random, random.choice((0.5, 1.0)))
        tasks = [
            task.replace(
                segments=[
                    part.replace(sms=random.choice((0.25, 0.5, 1)))
                    if isinstance(part, gs.Kernel) and not part.has_shape and case % 2
                    else part
                    for part in task.segments
                ]
            )
            for task in known
        ]
        known = known.replace(tasks=tasks)
        answer = gs.analyze(known, platform, way)
        worst = gs.observe(known, platform, way, until=4000).worst
        for i in range(len(known)):
            if answer.bounded[i] and (answer.accepted or answer.conditional):
                assert worst[i] <= answer.response[i], (known, way)
                held += 1
    assert held > 60


def test_an_urgent_stream_comes_between_waves() -> None:
    """Priorities leave a condition: the kernel of a has 20 waves, and b often comes between."""
    b = gs.Task("b", 20, [gs.Kernel(8, blocks=4, threads=1024)], stream_priority=0, offset=1)
    waves = gs.Kernel(block_time=5, blocks=80, threads=1024)
    a = gs.Task("a", 200, [waves], stream_priority=1)
    platform = gs.Platform(SMALL, cpus=2, slowdown=None)
    known = gs.Workload([a.replace(segments=[gs.Kernel(100)]), b.replace(segments=[gs.Kernel(8)])])
    assert not gs.analyze(known, platform, "priority_streams").accepted
    true = gs.observe(gs.Workload([a, b]), platform, "priority_streams").worst[0]
    assert true > 108  # and more than both together
