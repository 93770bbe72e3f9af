"""Deployments that the machine plays: cores, orders of units, plans, and the logs of late jobs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from amounts import cases

import gpusched as gs
from gpusched._support.registry import enumeration
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.comparison.machine_runs import machine_choices
from gpusched.simulate import MachineRun

STEPS = enumeration("simulate.machine_step")
ONE = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)


def kernel(time: int, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=1024)


def test_a_late_job_on_chosen_cores_is_no_refutation() -> None:
    """Threads and a CPU-only task: on two CPUs one choice of cores is as good as another."""
    w = gs.Workload(
        [
            gs.Task("a", 20, [gs.CPU(1), kernel(4)], deadline=7),
            gs.Task("b", 100, [kernel(30)]),
            gs.Task("c", 40, [gs.CPU(8)]),
        ]
    )
    run = gs.observe(w, gs.Platform(ONE, cpus=2, slowdown=None), "streams")
    assert isinstance(run.detail, MachineRun)
    assert run.late.any()
    assert [short for short, _ in run.limits] == ["chosen cores"]
    assert run.schedulable is None
    stated = w.replace(tasks=[t.replace(core=int(t.name == "c")) for t in w])
    given = gs.observe(stated, gs.Platform(ONE, cpus=2, slowdown=None), "streams")
    assert given.limits == ()
    assert given.schedulable is False


@pytest.mark.parametrize("way", ["gcaps", "mpcp"])
def test_cores_of_tests_with_cores_are_chosen_in_any_case(way: str) -> None:
    """Even if each task has a core of its own."""
    w = gs.Workload([gs.Task(n, 60, [gs.CPU(1), kernel(20)]) for n in "ab"])
    models = DerivedModels(w, gs.Platform(ONE, cpus=2, slowdown=None))
    assert [short for short, _ in machine_choices(models, way, {}, None, 100).limits] == [
        "chosen cores"
    ]
    assert machine_choices(models, "streams", {}, None, 100).limits == ()


def test_the_order_of_units_is_in_the_ticks_of_the_run() -> None:
    """Three waves in a tick: the answer and the run have finer ticks, and so have the tails."""
    tasks = [
        gs.Task("a", 60, [gs.CPU(2), kernel(7, blocks=3), gs.CPU(5)]),
        gs.Task("b", 90, [gs.CPU(3), kernel(8, blocks=3), gs.CPU(1)]),
    ]
    w, p = gs.Workload(tasks), gs.Platform(ONE, cpus=1, slowdown=None)
    answer = gs.analyze(w, p, "edf_serial")
    assert answer.accepted
    assert answer.method == "holistic"
    models = DerivedModels(w, p).refined("edf_serial", test=False)
    choices = machine_choices(models, "edf_serial", {}, answer, 100)
    behind = gs.analysis.HOLISTIC_TERMS.index("behind")
    terms = answer.detail.terms[:, behind]
    assert choices.arguments["tails"] == (terms * models.grain // answer.grain).tolist()
    assert all(5 * models.grain <= t for t in choices.arguments["tails"][:1])
    assert all(t <= 60 * models.grain for t in choices.arguments["tails"])
    run = gs.observe(w, p, "edf_serial")
    assert (run.worst <= answer.response).all()


def test_short_runs_with_late_jobs_say_what_they_waited_for() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 20, [gs.CPU(1), kernel(4)], deadline=7, core=0),
            gs.Task("b", 100, [kernel(30)], core=0),
            gs.Task("c", 40, [gs.CPU(8)], core=0),
        ]
    )
    p = gs.Platform(ONE, cpus=1, slowdown=None)
    row = gs.compare(w, p, ways=["streams"])[0]
    assert row.run is not None
    assert row.run.detail.operations is not None
    assert "waited" in row.run.why("a")
    long = gs.observe(w, p, "streams", until=10**6, timeline=False)
    assert long.late.any()
    assert long.detail.operations is None


# Sections and locks


PARTS: tuple[gs.Segment, ...] = (
    *(gs.CPU(1), gs.CopyIn(1), gs.CopyOut(1), gs.CopyIn(1, by="cpu"), gs.CopyOut(1, by="cpu")),
    gs.Kernel(1),
)


def test_sections_are_the_gpu_segments_of_host_tasks() -> None:
    """Copies in by a CPU, operations, and copies out by a CPU, of each section."""
    random, p = Random(1), gs.Platform(cpus=1)
    for _ in range(cases(300)):
        parts = [random.choice(PARTS) for _ in range(random.randint(1, 8))]
        workload = gs.Workload([gs.Task("a", 100, parts)])
        model = machine_model(DerivedModels(workload, p), "mpcp", until=1)
        steps = model.columns["step_kind"]
        assert steps is not None
        found: list[list[int]] = []
        for name in (STEPS[step] for step in steps.tolist()):
            if name == "begin":
                found.append([0, 0, 0])
            elif name == "end":
                found.append([])  # what follows is in no section
            elif found and found[-1] and name in ("work", "call"):
                in_section = 1 if name == "call" else 0 if found[-1][1] == 0 else 2
                found[-1][in_section] += 1
        hosts = workload.hosts(p, sms="all").tasks
        count = int(hosts.segments[0])
        expected = [
            [int(hosts.copy_in[0, k]), int(hosts.kernel[0, k, -1]), int(hosts.copy_out[0, k])]
            for k in range(count)
        ]
        assert [one for one in found if one] == expected, parts


@pytest.mark.parametrize(
    "played",
    [
        gs.ways.Srm(lock="fmlp"),
        gs.ways.Srm(lock="omlp"),
        gs.ways.Driver(mode="spin"),
        gs.ways.Driver(mode="suspend"),
        gs.ways.Container(mode="suspend"),
        gs.ways.Container(mode="busy"),
    ],
    ids=repr,
)
def test_ways_of_global_edf_are_those_of_host_tasks(played: gs.ways.Way) -> None:
    """Jobs end as in the simulation of tasks with GPU segments. Under locks, copies by CPUs begin
    and end the sections: there a launch, and the end of a section, need no CPU."""
    random, same = Random(repr(played)), 0

    def work(low: int, high: int) -> int:
        return random.randint(1000 * low, 1000 * high)

    for _ in range(cases(60)):
        n = random.randint(2, 6)
        tasks = []
        for i, period in enumerate(random.sample(range(20_000, 90_000), n)):
            parts: list[gs.Segment] = [gs.CPU(work(1, 3))]
            if random.random() < 0.8:
                section: list[gs.Segment] = [gs.Kernel(work(1, 9))]
                if played.name != "driver":
                    into, out = (of(work(1, 2), by="cpu") for of in (gs.CopyIn, gs.CopyOut))
                    section = [into, *section, out]
                parts += [*section, gs.CPU(work(0, 1) + 1)]
            tasks.append(gs.Task(f"t{i}", period, parts, offset=random.randrange(9000)))
        workload, p = gs.Workload(tasks), gs.Platform(cpus=random.randint(1, 3))
        run = gs.observe(workload, p, played, until=200_000)
        assert isinstance(run.detail, MachineRun)
        hosts = workload.hosts(p, sms="all").tasks
        if played.name == "container":  # its period is that of the test
            period = gs.analysis.container(hosts, p.cpus).server_period
            host = gs.simulate.host(
                hosts, p.cpus, played.replace(server_period=period), until=200_000
            )
        else:
            host = gs.simulate.host(hosts, p.cpus, played, until=200_000)
        mine = sorted(zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True))
        other = sorted(zip(host.task.tolist(), host.job.tolist(), host.end.tolist(), strict=True))
        same += mine == other
    assert same >= 0.95 * cases(60)  # what coincides has another order


def test_options_of_ways_are_those_of_their_runs() -> None:
    """The driver spins by default; GPU priorities and the server's core are checked and played."""
    w = gs.Workload(
        [gs.Task("a", 100, [gs.CPU(2), gs.Kernel(10)]), gs.Task("b", 100, [gs.CPU(20)])]
    )
    one = gs.Platform(cpus=1)
    by_default, suspended = (
        gs.observe(w, one, "driver"),
        gs.observe(w, one, "driver", mode="suspend"),
    )
    assert (by_default.worst.tolist(), suspended.worst.tolist()) == ([12, 32], [12, 22])
    apart = gs.Workload(
        [gs.Task(name, 200, [gs.Kernel(10)], core=core) for core, name in enumerate("ab")]
    )
    two = gs.Platform(cpus=2)
    for urgent, worst in (([0, 1], [10, 20]), ([1, 0], [20, 10])):
        assert gs.observe(apart, two, "gcaps", gpu_priority=urgent).worst.tolist() == worst
        row = gs.compare(apart, two, ways=[gs.ways.Gcaps(gpu_priority=urgent)])[0]
        assert row.run is not None and row.run.worst.tolist() == worst
    with pytest.raises(gs.NotApplicable, match="gpu_priority"):
        gs.observe(apart, two, "gcaps", gpu_priority=[0])
    with pytest.raises(gs.NotApplicable, match="server: got 0, expected none; its core is chosen"):
        gs.observe(w, two, "gpu_server", server=0)


def test_programs_that_tests_refuse_are_played() -> None:
    """Equal priorities, and deadlines beyond periods on cores that are chosen."""
    w = gs.Workload(
        [gs.Task(n, 20, [gs.CPU(3), gs.Kernel(2)], deadline=30, priority=0) for n in "abc"]
    )
    for way in ("one_stream", "mpcp", "gpu_server", "edf_serial"):
        run = gs.observe(w, gs.Platform(cpus=1), way, until=20)
        assert sorted(run.worst.tolist()) == [5, 8, 11], way


def test_measured_times_limit_only_runs_that_share_sms() -> None:
    profile = {1: 90, 2: 50, 4: 30}
    parts = [gs.Kernel(30, blocks=4, threads=1024, sms=profile)]
    w = gs.Workload([gs.Task(n, 200, parts, deadline=70, core=0) for n in "abc"])
    p = gs.Platform(gs.GPU(4, 1024, 8), cpus=1, slowdown=None)
    assert [short for short, _ in gs.observe(w, p, "streams").limits] == ["times of all SMs"]
    run = gs.observe(w, p, "mpcp")
    assert run.limits == () and run.schedulable is False


def test_units_are_due_before_the_work_behind_them() -> None:
    """At 4 both units wait: that of b is due at 8, that of a at 14."""
    a = gs.Task("a", 15, [gs.CPU(4), kernel(3)], deadline=14)
    b = gs.Task("b", 15, [gs.CPU(4), kernel(2), gs.CPU(7)])
    p = gs.Platform(ONE, cpus=2, slowdown=None)
    [row] = gs.compare(gs.Workload([a, b]), p, ways=["edf_serial"], progress=False)
    assert row.conditional and row.answer is not None and row.run is not None
    assert row.answer.response.tolist() == row.run.worst.tolist() == [9, 13]


@pytest.mark.parametrize("seed", range(cases(60)))
def test_units_by_deadlines_end_as_the_exact_test_says(seed: int) -> None:
    """Units are due as long before the deadlines as CPU work behind them takes."""
    rng = Random(seed)
    tasks = []
    for i in range(rng.choice((2, 3))):
        parts: list[gs.Segment] = [gs.CPU(rng.randint(1, 4))] if rng.random() < 0.5 else []
        parts += [gs.CopyIn(rng.randint(1, 2))] if rng.random() < 0.3 else []
        parts += [kernel(rng.randint(1, 5))]
        parts += [gs.CPU(1), kernel(rng.randint(1, 3))] if rng.random() < 0.4 else []
        parts += [gs.CPU(rng.randint(1, 8))] if rng.random() < 0.6 else []
        period = rng.choice((15, 20, 30))
        tasks.append(gs.Task(f"t{i}", period, parts, offset=rng.choice((0, rng.randrange(9)))))
    p = gs.Platform(ONE, cpus=3, slowdown=None)
    [row] = gs.compare(gs.Workload(tasks), p, ways=["edf_serial"], progress=False)
    if row.conditional:
        assert row.answer is not None
        assert row.run is not None
        assert [c.premise for c in row.answer.conditions] == ["exact_times"]
        assert row.run.worst.tolist() == row.answer.response.tolist()


@pytest.mark.parametrize(
    "segments",
    [
        [gs.CopyIn(2, by="cpu"), kernel(4)],
        [kernel(4), gs.CopyOut(2, by="cpu"), gs.CPU(1)],
        [gs.CopyIn(2), gs.CPU(1), kernel(4)],
        [kernel(4), gs.CPU(1), gs.CopyOut(2)],
    ],
)
def test_copies_around_units_are_not_in_the_exact_test(segments: list[gs.Segment]) -> None:
    """The unit of the dispatcher has copies by the CPU next to kernels, and no other copies.

    Of the deadlines, only an exact test could say that they are kept.
    """
    w = gs.Workload([gs.Task("a", 30, segments, deadline=9), gs.Task("b", 10, [kernel(2)])])
    for task in (w["a"], w["a"].replace(name="c", deadline=30, offset=10)):
        [row] = gs.compare(
            w.replace(tasks=[task, w["b"]]), gs.Platform(ONE, cpus=2, slowdown=None),
            ways=["edf_serial"], progress=False,
        )  # fmt: skip
        assert row.verdict != "conditional"
        assert row.answer is None or row.answer.method == "holistic"


@pytest.mark.parametrize("way", ["mps", "mps_static", "green_contexts"])
def test_measured_times_on_few_sms_are_those_of_the_run(way: str) -> None:
    """3 blocks take 3 ticks on 1 SM; in 2 waves on 2 SMs a block would take 2 of them."""
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
    parts = {"mps": {"a": 50}, "mps_partitions": {"a": 1}, "green_contexts": {"a": 1}}
    p = gs.Platform(gpu, slowdown=None, **parts)
    w = gs.Workload([gs.Task("a", 20, [gs.Kernel(blocks=3, threads=1024, sms={1: 3})])])
    answer, run = gs.analyze(w, p, way), gs.observe(w, p, way)
    assert run.limits == ()
    assert run.worst.tolist() == answer.response.tolist() == [3]


def test_the_gpu_switches_between_processes_under_a_lock() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 100, [gs.Kernel(10)], process="p", priority=0, core=0),
            gs.Task("b", 100, [gs.Kernel(10)], process="p", priority=1, core=0),
            gs.Task("c", 100, [gs.Kernel(10)], process="q", priority=2, core=0),
        ]
    )
    run = gs.observe(w, gs.Platform(cpus=1, context_switch=3), "mpcp", until=100)
    assert run.end.tolist() == [13, 23, 36]
    turns = run.detail.turns
    assert turns.task[turns.switches == 1].tolist() == [0, 2]


def test_a_job_is_told_part_by_part() -> None:
    w = gs.Workload(
        [
            gs.Task("a", 100, [gs.CPU(2), gs.CopyIn(3), kernel(10), gs.CPU(1)], core=0, offset=1),
            gs.Task("b", 100, [kernel(20)], core=1),
        ]
    )
    run = gs.observe(w, gs.Platform(ONE, cpus=2, slowdown=None, copy_engines=1), "streams")
    assert run.why("a", job=0).endswith(
        "From its release: 2ns CPU work; 3ns copy in; waits 14ns because kernels of b left no room "
        "on the SMs; 10ns kernel; 1ns CPU work."
    )
    with pytest.raises(IndexError, match="job: got 77"):
        run.why("a", job=77)
    assert gs.WorkloadRun.why(run, "b", job=0).endswith("From its release: 20ns kernel.")


def test_shares_of_use_are_those_of_the_logs() -> None:
    """Against sums of ticks in which something ran, for blocks of two contexts."""
    tasks = [
        gs.Task(name, 40, [gs.CPU(2), gs.CopyIn(1), kernel(3, blocks)], process=name, core=0)
        for name, blocks in (("a", 3), ("b", 9))
    ]
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
    p = gs.Platform(gpu, cpus=1, slowdown=None, timeslice=2, context_switch=1)
    run = gs.observe(gs.Workload(tasks), p, "time_slices", until=120).detail
    busy, now, log = run.busy, run.now, run.blocks
    task, turns = run.operations.task[log.operation], run.turns
    used = 0
    for sm in range(2):
        for t in range(now):
            served = turns.task[(turns.start <= t) & (t < turns.end) & (turns.switches == 0)]
            here = (log.sm == sm) & (log.start <= t) & (t < log.end) & np.isin(task, served)
            used += bool(here.any())
    assert busy["SMs"] == pytest.approx(used / (2 * now))
    cpu = run.cpu
    assert busy["CPU 0"] == pytest.approx((cpu.end - cpu.start).sum() / now)
    assert busy.keys() == {"CPU 0", "copies", "kernels", "SMs"}
    with pytest.raises(ValueError, match="timeline"):
        _ = gs.observe(gs.Workload(tasks), p, "time_slices", until=120, timeline=False).detail.busy


def test_a_run_takes_the_frames_of_its_own_jobs() -> None:
    """A camera of 30 Hz beside 50 ms, in us: a plan of 2,667 s, of which one is played."""
    tasks = [
        gs.Task("camera", rate="30Hz", segments=[gs.Kernel("5ms", blocks=32, threads=256)]),
        gs.Task("planner", "80ms", [gs.Kernel("8ms", blocks=8, threads=128)]),
    ]
    w = gs.Workload(tasks, tick="us")
    platform = gs.Platform("AGX Orin", cpus=2)
    answer = gs.analyze(w, platform, "pbs")
    assert answer.accepted and answer.schedule is not None
    choices = machine_choices(DerivedModels(w, platform), "pbs", {}, answer, 10**6)
    frames = choices.arguments["table"]
    assert len(frames) < 60 < len(answer.schedule) // 100
    jobs = {(task, job) for _, kernels in frames for task, job, _ in kernels}
    assert jobs >= {("camera", j) for j in range(31)} | {("planner", j) for j in range(13)}
    run = gs.observe(w, platform, "pbs", until="1s")
    assert run.job_count.tolist() == [31, 13] and not run.has_misses and (run.end >= 0).all()


def test_a_run_has_the_frames_behind_its_last_release() -> None:
    """A job that is released before the end, and whose kernel is due long after it."""
    w = gs.Workload([gs.Task("a", 40, [gs.CPU(30), kernel(4)], deadline=36)])
    platform = gs.Platform(ONE, cpus=2, slowdown=None)
    answer = gs.analyze(w, platform, "pbs")
    assert answer.accepted
    choices = machine_choices(DerivedModels(w, platform), "pbs", {}, answer, 81)
    frames = [(30 + 40 * j, [("a", j, 0)]) for j in range(3)]
    assert choices.arguments["table"][:3] == frames
