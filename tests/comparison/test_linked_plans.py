"""Plans of batches for tasks that release each other, against runs of the whole machine."""

from __future__ import annotations

import random

import pytest

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.simulate.machine_run import run_machine

GPU = gs.GPU(sms=8, threads_per_sm=2048, blocks_per_sm=16)
PLATFORM = gs.Platform(GPU, cpus=4, slowdown=1)


def kernel(time: int, blocks: int = 4) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


FORK = gs.Workload(
    [
        gs.Task("in", 20, [kernel(2)]),
        gs.Task("left", segments=[kernel(3)], after="in"),
        gs.Task("right", segments=[kernel(3)], after="in"),
        gs.Task("out", segments=[kernel(2), gs.CPU(1)], after=["left", "right"]),
    ],
    paths=[gs.Path("all", ["in", "left", "out"], deadline=8)],
)


def test_a_fork_is_decided_by_its_path() -> None:
    """in ends at 2, both branches at 5, out at 7, its CPU work at 8."""
    answer = gs.analyze(FORK, PLATFORM, "pbs")
    assert answer.verdict == "guaranteed"
    assert answer.schedule.batch.tolist() == [1, 6, 8]
    assert answer.response.tolist() == [2, 5, 5, 8]
    assert answer.path("all").bound == 8
    late = FORK.replace(paths=[FORK.path("all").replace(deadline=7)])
    refused = gs.analyze(late, PLATFORM, "pbs")
    assert (refused.verdict, refused.detail.rejected) == ("undecided", True)
    assert "deadlines of tasks that others release count" in refused.why()


def test_a_plan_is_played_and_kept() -> None:
    run = gs.observe(FORK, PLATFORM, "pbs")
    assert run.worst.tolist() == [2, 3, 3, 3]  # from the releases
    assert run.path("all").latency.max() == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": {"every": 2}}, "out: got every=2, expected 1"),
        ({"left": {"segments": [gs.CPU(1), kernel(3)]}}, "left: got .* before its GPU work"),
        ({"left": {"segments": [kernel(3), gs.CPU(1)]}}, "left: got .* behind its GPU work"),
        ({"in": {"segments": [gs.CPU(3)]}}, "in: got no GPU work"),
        ({"in": {"jitter": 1}}, "in: got a jitter"),
        (
            {"in": {"segments": [gs.CPU(12), kernel(2)]}, "out": {"deadline": 12}},
            "in: got no time for its GPU work",
        ),
    ],
)
def test_what_a_plan_cannot_have(changes: dict[str, dict[str, object]], message: str) -> None:
    tasks = [task.replace(**changes.get(task.name, {})) for task in FORK]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        gs.analyze(FORK.replace(tasks=tasks, paths=[]), PLATFORM, "pbs")


def test_batches_by_deadlines_have_no_tasks_that_others_release() -> None:
    """Its keys at run time count from releases, those of a table from arrivals."""
    with pytest.raises(ValueError, match="left: got a task after in"):
        gs.analyze(FORK, PLATFORM, "edf_parallel")


def test_one_unit_at_a_time_needs_deadlines_within_the_period() -> None:
    """in may end at 5, then each branch 10 later and out 11 later: the arrivals are 40 apart."""
    no = gs.analyze(FORK, PLATFORM, "edf_serial")
    assert no.verdict == "undecided" and "within a period" in no.why("left")
    due = {"in": 5, "left": 10, "right": 10, "out": 11}
    tasks = [task.replace(deadline=due[task.name]) for task in FORK]
    tasks[0] = tasks[0].replace(period=40)
    path = gs.Path("all", ["in", "left", "out"], deadline=26)
    w = gs.Workload(tasks, paths=[path])
    answer = gs.analyze(w, PLATFORM, "edf_serial")
    assert answer.verdict == "guaranteed" and answer.response.tolist() == [5, 10, 10, 11]
    assert answer.path("all").bound == 26
    run = gs.observe(w, PLATFORM, "edf_serial")
    assert run.worst.tolist() == [2, 3, 6, 3] and run.path("all").latency.max() == 11
    for deadline, verdict in ((25, "guaranteed"), (26, "undecided")):  # from 15 on, of 40
        later = [t.replace(deadline=deadline) if t.name == "out" else t for t in tasks]
        wide = gs.Workload(later, paths=[path.replace(deadline=40)])
        assert gs.analyze(wide, PLATFORM, "edf_serial").verdict == verdict


@pytest.mark.parametrize(("period", "is_late"), [(18, True), (19, True), (20, False)])
def test_a_late_release_and_an_early_one_are_closer_than_a_period(
    period: int, is_late: bool
) -> None:
    """left is released at 11 and at 21: with the units of four others that is 20 in 18 ticks."""
    one = {"blocks": 1, "threads": 128}
    tasks = [
        gs.Task("in", 20, [gs.CPU(11)], best=1),
        gs.Task("left", None, [gs.Kernel(block_time=6, **one)], after="in", deadline=8),
    ]
    tasks += [gs.Task(name, period, [gs.Kernel(block_time=2, **one)]) for name in "abcd"]
    w, platform = gs.Workload(tasks), gs.Platform(gs.GPU(2, 1024, 8), cpus=6, slowdown=None)
    assert gs.analyze(w, platform, "edf_serial").verdict == (
        "undecided" if is_late else "guaranteed"
    )
    models = DerivedModels(w, platform)
    seen = False
    for seed in range(4):
        model = machine_model(
            models, "edf_serial", until=60, releases=[[0, 20], [], *[[11, 11 + period]] * 4],
            times=[[[11], [1]], [[6]] * 2, *[[[2]] * 2] * 4], ties="draw", cores=list(range(6)),
        )  # fmt: skip
        run = run_machine(model, seed=seed, progress=False)
        left, jobs = run.jobs["task"] == 1, run.jobs
        assert jobs["release"][left].tolist() == [11, 21]
        seen = seen or bool((jobs["end"][left] - jobs["release"][left] > 8).any())
        seen = seen or bool((jobs["end"][~left] - jobs["arrival"][~left] > period).any())
    assert seen is is_late


def random_pipelines(rng: random.Random) -> tuple[gs.Workload, gs.Platform]:
    """One or two groups of tasks that release each other, beside tasks with and without GPU work,
    on few CPUs and with costs of launches in some."""
    cpus = rng.randint(1, 4)
    tasks: list[gs.Task] = []
    paths: list[gs.Path] = []
    names = iter("abcdefghijklm")
    costs = {"launch_latency": rng.choice((0, 0, 1)), "wake_latency": rng.choice((0, 0, 0, 2))}

    def gpu_work() -> list[gs.Segment]:
        return [kernel(rng.randint(1, 5), rng.choice((2, 4, 16))) for _ in range(rng.randint(1, 2))]

    def cpu_work(share: float) -> list[gs.Segment]:
        return [gs.CPU(rng.randint(1, 5))] if rng.random() < share else []

    for _ in range(rng.randint(1, 2)):
        source = next(names)
        period = rng.choice((40, 60, 80))
        offset = rng.choice((0, 0, 0, 7))
        work = [*cpu_work(0.5), *gpu_work()]
        tasks.append(gs.Task(source, period, work, offset=offset))
        group = [source]
        for _ in range(rng.randint(1, 3)):
            name, before = next(names), rng.sample(group, rng.randint(1, min(2, len(group))))
            due = rng.choice((None, None, period - rng.randint(0, period // 2)))
            tasks.append(gs.Task(name, segments=gpu_work(), after=before, deadline=due))
            group.append(name)
        tasks[-1] = tasks[-1].replace(segments=[*tasks[-1].segments, *cpu_work(0.4)])
        chain = [group[-1]]
        while before := {task.name: task for task in tasks}[chain[0]].after:
            chain.insert(0, before[0])
        due = rng.randint(period // 3, period)
        paths.append(gs.Path(f"through {source}", chain, deadline=due))
    for _ in range(rng.randint(0, 2)):
        work = [*cpu_work(0.6), *gpu_work(), *cpu_work(0.5)]
        tasks.append(gs.Task(next(names), rng.choice((40, 80, 120)), work))
    if rng.random() < 0.4:
        tasks.append(gs.Task(next(names), rng.choice((40, 80)), [gs.CPU(rng.randint(1, 6))]))
    if rng.random() < 0.5:
        tasks = [task.replace(core=rng.randrange(cpus)) for task in tasks]
    platform = gs.Platform(GPU, cpus=cpus, slowdown=rng.choice((1, 1.3)), **costs)
    return gs.Workload(tasks, paths=paths), platform


def falsify(seed: int) -> str:
    """The verdict; no run of a program that is guaranteed exceeds a bound."""
    rng = random.Random(seed)
    workload, platform = random_pipelines(rng)
    try:
        answer = gs.analyze(workload, platform, "pbs")
    except ValueError:
        return "refused"
    if not answer.accepted:
        return str(answer.verdict)
    for number in range(3):
        drawn = {"seed": number, "low": 0.3 + 0.3 * number} if number else {}
        run = gs.observe(workload, platform, "pbs", until=2 * workload.hyperperiod, **drawn)
        assert (run.worst <= answer.response).all(), (seed, number, run.worst, answer.response)
        for path in workload.paths:
            bound = answer.path(path.name).bound
            assert bound is not None and bound <= path.deadline
            assert run.path(path.name).latency.max() <= bound, (seed, number, path)
    return str(answer.verdict)


def test_no_run_exceeds_a_bound() -> None:
    found = [falsify(seed) for seed in range(60)]
    assert found.count("guaranteed") > 10
    assert found.count("conditional") > 10  # CPUs that tasks share
