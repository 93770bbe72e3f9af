"""Whole programs under GCAPS: copies of several tasks on engines, within sections."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from gpusched.comparison.analyses import Request, analyzed, options_of
from gpusched.comparison.derived_models import DerivedModels
from tests.reference.machine_ways import play

GPU = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
PLATFORM = gs.Platform(GPU, cpus=3, slowdown=None, copy_engines=1)


def kernel(time: int) -> gs.Kernel:
    return gs.Kernel(time, blocks=1, threads=1024)


def whole(w: gs.Workload, platform: gs.Platform = PLATFORM, **options: Any) -> gs.WorkloadAnswer:
    """The answer of the holistic test, also where the other one gives a guarantee."""
    way = gs.ways.Gcaps(**options)
    return analyzed(DerivedModels(w, platform), way, Request(options_of(way), own=False))


OWNERS = gs.Workload([
    gs.Task("a", 100, [gs.CopyIn(2), kernel(4)], core=0),
    gs.Task("b", 150, [kernel(2)], core=1),
    gs.Task("c", 200, [gs.CopyIn(5), kernel(3)], core=2),
])  # fmt: skip


@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_the_copy_of_the_owner_waits(mode: Any) -> None:
    """b waits for the copy of c, which the more urgent a waits for: 5 + 2 + 4, and its own 2."""
    answer = whole(OWNERS, mode=mode)
    assert answer.method == "holistic" and answer.verdict == "guaranteed"
    assert answer.response.tolist() == [11, 13, 16]
    later = OWNERS.replace(tasks=[OWNERS[0].replace(offset=1), OWNERS[1], OWNERS[2]])
    run = gs.observe(later.with_task(OWNERS[1].replace(offset=1)), PLATFORM, "gcaps", mode=mode)
    assert run.worst.tolist()[:2] == [10, 12]  # a tick after the copy of c has begun


def test_many_short_copies_wait_for_few_long_ones() -> None:
    """Four copies of a wait for one of b once, as b has one in the time, not four times."""
    copies = [gs.CopyIn(1), gs.CopyIn(1), gs.CopyIn(1), gs.CopyIn(1)]
    w = gs.Workload([
        gs.Task("a", 100, [*copies, kernel(1)], deadline=20, core=0),
        gs.Task("b", 200, [gs.CopyIn(10), kernel(1)], core=1),
    ])  # fmt: skip
    answer = gs.analyze(w, PLATFORM, "gcaps")
    assert answer.method == "holistic" and answer.verdict == "guaranteed"
    assert answer.response.tolist() == [15, 16]
    assert answer.detail.parts("a")["copy"] == 10
    assert not analyzed(
        DerivedModels(w, PLATFORM), gs.ways.Gcaps(), Request({}, whole=False)
    ).accepted
    assert any(row.schedulable for row in gs.compare(w, PLATFORM, ways=["gcaps"], progress=False))


def test_jobs_that_overlap_have_bounds() -> None:
    w = gs.Workload([
        gs.Task("a", 12, [kernel(3)], core=0),
        gs.Task("b", 8, [kernel(6)], deadline=20, core=1),
    ])  # fmt: skip
    answer = gs.analyze(w, PLATFORM, "gcaps")
    assert answer.method == "holistic" and answer.response.tolist() == [3, 10]


def test_a_copy_in_behind_a_kernel_begins_a_section() -> None:
    """It ends the section of the kernel: an update, a switch and a ready interval more."""
    platform = PLATFORM.replace(update_cost=1, context_switch=1)
    long = gs.Task("b", 300, [kernel(2)], core=1)
    one, two = (
        whole(
            gs.Workload([gs.Task("a", 200, [kernel(3), copy, kernel(3)], core=0), long]), platform
        )
        for copy in (gs.CopyOut(2), gs.CopyIn(2))
    )
    assert one.detail.parts("a")["own"] == 8 + 4 + 1
    assert two.detail.parts("a")["own"] == 8 + 2 * (4 + 1)


@pytest.mark.parametrize("mode", ["suspend", "busy"])
def test_a_more_urgent_thread_runs_between_two_sections(mode: Any) -> None:
    """The update that ends a section keeps the core, the next one begins with the thread's key."""
    platform = PLATFORM.replace(update_cost=5, cpus=1)
    user = gs.Task("user", 1000, [kernel(2), gs.Sync(), kernel(2)], core=0, priority=1)
    largest = 0
    for offset in range(24):
        urgent = gs.Task("urgent", 1000, [gs.CPU(1)], offset=offset, core=0, priority=0)
        w = gs.Workload([urgent, user])
        answer = gs.analyze(w, platform, gs.ways.Gcaps(mode=mode))
        assert answer.schedulable and answer.response[0] == 6
        run = gs.observe(w, platform, "gcaps", mode=mode, until=1000)
        largest = max(largest, int(run.worst[0]))
        twin = play(w, platform, "gcaps", until=1000, mode=mode)
        assert run.worst.tolist() == twin.worst
    assert largest == 5  # not 10: both updates


def test_gpu_priorities_order_tasks_of_several_cores() -> None:
    last = OWNERS.replace(tasks=[task.replace(gpu_priority=2 - i) for i, task in enumerate(OWNERS)])
    assert whole(last).response.tolist() == [2 + 4 + 2 + 8, 2 + 8 + 2, 8 + 2]


def test_programs_of_the_other_test_alone() -> None:
    """Work of a CPU within a section, and tasks that release each other."""
    platform = PLATFORM.replace(launch_cpu=1)
    by_cpu = gs.Task("a", 100, [gs.CopyIn(2, by="cpu"), kernel(4)], core=0)
    sync = gs.Task("a", 100, [gs.CopyIn(2), kernel(4)], core=0, launches="sync")
    released = gs.Task("d", after="a", segments=[kernel(1)], core=2)
    for w, text in (
        (OWNERS.with_task(by_cpu), "a: got copies by the CPU"),
        (OWNERS.with_task(sync), "a: got sync launches of 2 operations"),
        (gs.Workload([*OWNERS, released]), "after"),
    ):
        with pytest.raises(ValueError, match=text):
            whole(w, platform)
    assert gs.analyze(OWNERS.with_task(by_cpu), platform, "gcaps").method == "gcaps"
    assert whole(OWNERS, platform).accepted
    with pytest.raises(gs.NotApplicable):  # an option of the other test
        whole(OWNERS, fixed_point="one_pass")


def test_rows_of_a_comparison_have_their_modes() -> None:
    """A busy thread keeps its core during the GPU work of its job."""
    w = gs.Workload(
        [
            gs.Task("a", 30, [kernel(3)], priority=0, core=0, deadline=20),
            gs.Task("b", 24, [gs.CopyIn(1), gs.CopyIn(2)], priority=1, core=0, deadline=48),
        ]
    )
    rows = {row.label: row.answer for row in gs.compare(w, PLATFORM, ways=["gcaps"])}
    for mode, bound in (("suspend", 3), ("busy", 6)):
        answer = rows[f"gcaps ({mode})"]
        assert answer is not None and answer.method == "holistic"
        assert answer.response.tolist() == [3, bound]
        assert gs.analyze(w, PLATFORM, "gcaps", mode=mode).response.tolist() == [3, bound]
