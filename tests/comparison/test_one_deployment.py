"""A guarantee under all readings of rules is one of a single deployment: cores, or a plan."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

ENGINES: tuple[Any, ...] = (1, 2, ("in", "out", "both"))
CARVEOUTS = ("match", "at_least", "ignore")


def gpu(**more: Any) -> gs.GPU:
    return gs.GPU(4, 1024, 8, regs_per_sm=65536, smem_per_sm=65536, cc="7.5", channels=8, **more)


def stated(platform: gs.Platform) -> list[gs.Platform]:
    """The platform under each combination of readings."""
    return [
        platform.replace(copy_engines=engines, gpu=gpu(carveout_rule=rule))
        for engines in ENGINES
        for rule in CARVEOUTS
    ]


def kernel(time: int, blocks: int, smem: int = 0) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256, regs=16, smem=smem)


def program(rng: random.Random) -> gs.Workload:
    tasks = []
    for i in range(rng.randint(2, 4)):
        period = rng.choice([20, 40, 60])
        parts: list[gs.Segment] = []
        if rng.random() < 0.7:
            parts.append(gs.CPU(rng.randint(1, 5)))
        if rng.random() < 0.6:
            parts.append(gs.CopyIn(rng.randint(1, 4)))
        smem = rng.choice([0, 0, 20_000, 40_000])
        parts.append(kernel(rng.randint(1, 6), rng.choice([1, 2, 4, 8]), smem))
        if rng.random() < 0.6:
            parts.append(gs.CopyOut(rng.randint(1, 4)))
        due = rng.randint(period // 2, period)
        tasks.append(gs.Task(f"t{i}", period, parts, deadline=due))
    if rng.random() < 0.5:
        tasks.append(gs.Task("cpu", 30, [gs.CPU(rng.randint(1, 8))]))
    return gs.Workload(tasks)


def on_cores(answer: gs.WorkloadAnswer) -> gs.Workload | None:
    """The workload with the cores of an answer; None without any."""
    detail: Any = answer.detail
    tasks = getattr(detail, "hosts", getattr(detail, "tasks", None))
    if not hasattr(tasks, "core") or answer.way == "stgm":
        return None
    core = dict(zip(tasks.name, tasks.core.tolist(), strict=True))
    given = answer.workload
    return given.replace(tasks=[task.replace(core=core[task.name]) for task in given])


def check_deployment(answer: gs.WorkloadAnswer) -> str:
    """Check that cores or plan of a guarantee hold under each reading; returns which it has."""
    if answer.schedule is not None:
        for platform in stated(answer.platform):
            other: Any = gs.analyze(answer.workload, platform, "pbs")
            if answer.units != other.units or other.grain % answer.grain:
                continue
            plan = answer.schedule.in_finer_ticks(other.grain // answer.grain)
            plan.with_times(other.detail.tasks, other.detail.table).validate()
        return "plan"
    placed = on_cores(answer)
    if placed is None:
        return ""
    for platform in stated(answer.platform):
        assert gs.analyze(placed, platform, answer.way).accepted
    return "cores"


def test_a_guarantee_is_one_of_a_single_deployment() -> None:
    found = set()
    for seed in range(60):
        rng = random.Random(seed)
        way = rng.choice(["streams", "priority_streams", "time_slices", "gcaps", "pbs"])
        platform = gs.Platform(gpu(), cpus=rng.choice([1, 2, 3]), slowdown=None)
        try:
            answer = gs.analyze(program(rng), platform, way)
        except gs.NotApplicable:
            continue
        if answer.accepted:
            found.add((way, check_deployment(answer)))
    ways = {("streams", "cores"), ("priority_streams", "cores"), ("time_slices", "cores")}
    assert found >= {*ways, ("gcaps", "cores"), ("pbs", "plan")}


def test_cores_of_the_first_reading_are_kept() -> None:
    """With two engines worst fit is accepted with cores that fail with one, and the reverse."""
    w = gs.Workload(
        [
            gs.Task("t0", 40, [gs.CPU(5), gs.CopyIn(1), kernel(2, 4)], deadline=38),
            gs.Task("t1", 20, [kernel(3, 2, 40_000)], deadline=12),
            gs.Task("t2", 60, [kernel(6, 1)], deadline=51),
            gs.Task(
                "t3", 20, [gs.CPU(2), gs.CopyIn(1), kernel(5, 2, 40_000), gs.CopyOut(1)],
                deadline=13,
            ),
            gs.Task("cpu", 30, [gs.CPU(7)]),
        ]
    )  # fmt: skip
    platform = gs.Platform(gpu(), cpus=2, slowdown=None)
    answer = gs.analyze(w, platform, "gcaps")
    alone = [gs.analyze(w, platform.replace(copy_engines=n), "gcaps") for n in (1, 2)]
    assert alone[0].accepted and alone[1].accepted and alone[0].setup != alone[1].setup
    assert answer.accepted and answer.setup == alone[0].setup
    other = on_cores(alone[1])
    assert other is not None
    assert not gs.analyze(other, platform.replace(copy_engines=1), "gcaps").accepted
    assert check_deployment(answer) == "cores"


def test_a_plan_of_the_first_reading_is_kept() -> None:
    """Times of the second reading are in finer ticks."""
    w = gs.Workload(
        [
            gs.Task("t0", 60, [kernel(1, 4)], deadline=59),
            gs.Task("t1", 60, [gs.CPU(3), kernel(6, 8, 20_000), gs.CopyOut(1), gs.CPU(3)]),
            gs.Task("t2", 60, [kernel(5, 2, 20_000)], deadline=52),
            gs.Task("t3", 40, [gs.CopyIn(2), kernel(2, 8, 40_000), gs.CopyOut(4)], deadline=26),
        ]
    )
    platform = gs.Platform(gpu(), cpus=4, slowdown=None)
    answer = gs.analyze(w, platform, "pbs")
    first = gs.analyze(w, platform.replace(copy_engines=1), "pbs")
    second = gs.analyze(w, platform.replace(copy_engines=2), "pbs")
    assert answer.accepted and answer.schedule == first.schedule
    assert (answer.grain, second.grain) == (1, 2)
    assert check_deployment(answer) == "plan"


def test_a_plan_that_another_reading_breaks_is_on_condition() -> None:
    """Kernels that run together in the plan, and apart if their carve-outs differ."""
    tasks = [
        gs.Task("a", 20, [kernel(6, 4)], deadline=9),
        gs.Task("b", 20, [kernel(6, 4, 40_000)], deadline=9),
    ]
    sizes = gpu(carveouts=[8192, 65536], carveout_rule="at_least")
    platform = gs.Platform(sizes, cpus=2, slowdown=None)
    answer = gs.analyze(gs.Workload(tasks), platform, "pbs")
    assert answer.conditional and [one.premise for one in answer.conditions] == ["carveouts"]


def test_frames_with_other_times() -> None:
    tasks = gs.KernelTasks([8, 8], wcet=[1, 2])
    plan = gs.Schedule(start=[0, 4], end=[2, 5], batch=[2, 1], tasks=tasks)
    slow = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 5})
    assert plan.with_times(tasks, slow).validate().end.tolist() == [5, 6]
    fast = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 1})
    assert plan.with_times(tasks, fast).validate().start.tolist() == [0, 4]
    late = tasks.replace(offset=[5, 1], deadline=[2, 7])
    assert plan.with_times(late, fast).validate().start.tolist() == [1, 5]
    both = gs.Schedule(start=[0], end=[2], batch=[3], tasks=tasks)
    with pytest.raises(gs.ScheduleError, match="frame 0 runs a batch that is empty"):
        both.with_times(tasks, fast).validate()
    finer = plan.in_finer_ticks(3)
    assert (finer.start.tolist(), finer.end.tolist()) == ([0, 12], [6, 15])
    cyclic = gs.Schedule([0], [1], [1], gs.KernelTasks([4], [1]), cycle=(0, 4))
    assert cyclic.in_finer_ticks(3).cycle == (0, 12)
    with pytest.raises(ValueError, match="tasks: got 3, expected 2 as of the schedule"):
        plan.with_times(gs.KernelTasks([8] * 3, [1] * 3), slow)
    with pytest.raises(TypeError, match="table"):
        plan.with_times(tasks, None)  # type: ignore[arg-type]


def test_rows_of_a_comparison_are_the_answers_for_their_way_and_mode() -> None:
    for seed in range(8):
        rng = random.Random(seed)
        w, platform = program(rng), gs.Platform(gpu(), cpus=rng.choice([1, 2]), slowdown=None)
        rows = [row for row in gs.compare(w, platform) if row.answer is not None]
        assert len(rows) > 10
        for row in rows:
            alone = gs.analyze(w, platform, row.way, **dict(row.options))
            assert row.answer.verdict == alone.verdict and row.answer.method == alone.method
            assert row.answer.response.tolist() == alone.response.tolist(), row.label
