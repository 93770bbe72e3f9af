"""Forms and costs of launching in `gs.compare`: the same in tests and in runs of the machine."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from machine_programs import play_machine

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

GPU = gs.GPU(2, 1024, 8, copy_engines=1)
COSTS: dict[str, Any] = {"launch_latency": 2, "launch_cpu": 3, "graph_launch_cpu": 4}
COSTS |= {"kernel_gap": 1, "wake_latency": 5}
FORMS: tuple[Any, ...] = ("async", "sync", "graph")
STREAMED = ("one_stream", "streams", "priority_streams", "mps", "time_slices")
LOCKS = ("mpcp", "fmlp_plus", "gpu_server", "stgm", "gcaps", "srm")


def kernel(time: int) -> gs.Kernel:
    return gs.Kernel(time, blocks=2, threads=1024)


def workload(launches: Any = None) -> gs.Workload:
    tasks = [
        gs.Task("a", 200, [gs.CPU(5), gs.CopyIn(4), kernel(10), kernel(10), gs.CPU(5)]),
        gs.Task("b", 400, [kernel(20), gs.CopyOut(5), gs.CPU(30)]),
        gs.Task("c", 800, [gs.CPU(50)]),
    ]
    return gs.Workload(tasks, launches=launches)


def platform(**given: Any) -> gs.Platform:
    return gs.Platform(GPU, cpus=3, slowdown=None, **given)


def test_free_calls_make_async_the_graph() -> None:
    found = {
        form: gs.compare(workload(form), platform(kernel_gap=2, launch_latency=1), progress=False)
        for form in ("async", "graph")
    }
    for one, other in zip(found["async"], found["graph"], strict=True):
        if one.answer is None or other.answer is None:
            # Turns of kernels that are called one by one are those of a graph with gaps, too.
            assert (one.answer is None) == (other.answer is None)
            continue
        assert one.answer.response.tolist() == other.answer.response.tolist(), one.label
        assert one.answer.verdict == other.answer.verdict
        if one.run is not None and other.run is not None:
            assert one.run.worst.tolist() == other.run.worst.tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", STREAMED)
def test_a_task_alone_takes_what_the_machine_takes(way: str, form: Any) -> None:
    """Its bound and its run count each call, gap and wake-up once."""
    w = workload(form)[:1]
    answer = gs.analyze(w, platform(**COSTS), way)
    run = gs.observe(w, platform(**COSTS), way, until=1)
    calls = {"async": 3 * 3, "sync": 3 * 3, "graph": 4}[form]
    waits = 3 if form == "sync" else 1
    total = 34 + calls + 2 * COSTS["kernel_gap"] + waits * (2 + COSTS["wake_latency"])
    assert answer.accepted and answer.response[0] >= run.worst[0]
    if way in ("one_stream", "time_slices"):  # that of the GPU alone has a latency per kernel
        assert answer.method == "holistic"
        assert answer.response.tolist() == [total]
    hidden = 3 + 4 if form == "async" else 0  # calls while the copy and a kernel run
    assert total - hidden <= run.worst[0] <= total


def test_what_a_launch_costs_is_said() -> None:
    said = " ".join(gs.analyze(workload("sync"), platform(**COSTS), "one_stream").derivation)
    assert "launched one at a time, by a call each, of 3ns of a CPU" in said
    assert "a kernel can start 1ns after it is the first one of its stream" in said
    assert "a thread is ready 5ns after the operations that it waits for" in said
    mixed = workload("sync").with_task(workload("graph")["a"])
    said = " ".join(gs.analyze(mixed, platform(**COSTS), "one_stream").derivation)
    assert "as a graph, by one call, of 4ns of a CPU" in said and "until all have ended: a" in said


@pytest.mark.parametrize("way", LOCKS)
def test_locks_take_calls_as_work_under_the_lock(way: str) -> None:
    free = gs.analyze(workload("graph"), platform(), way)
    for form in ("async", "graph"):
        costly = gs.analyze(workload(form), platform(**COSTS), way)
        assert (costly.response[:2] > free.response[:2]).all()
        run = gs.observe(workload(form), platform(**COSTS), way, until=800)
        assert isinstance(run.detail, gs.simulate.MachineRun)
        assert (run.worst <= costly.response)[costly.bounded].all()
    with pytest.raises(gs.NotApplicable, match="a: got sync launches of 3 operations in a GPU seg"):
        gs.analyze(workload("sync"), platform(), way)


def test_turns_of_single_kernels_are_refused_by_the_test_of_segments() -> None:
    with pytest.raises(ValueError, match="got 2 kernels in a GPU segment with a gap or a call"):
        workload("async").hosts(platform(launch_cpu=1), split=True)
    answer = gs.analyze(workload("async"), platform(launch_cpu=1), "time_slices")
    assert answer.method == "holistic" and answer.accepted


def test_launches_of_a_table_cost_nothing() -> None:
    w = workload()[:1].replace(tasks=[gs.Task("a", 90, [kernel(5), kernel(5)], launches="sync")])
    with pytest.raises(ValueError, match="launches: got sync launches, calls that take CPU time"):
        w.launches(platform(), until=90)


@pytest.mark.parametrize("way", ["edf_serial", "edf_parallel", "pbs"])
@pytest.mark.parametrize("form", FORMS)
def test_batches_count_calls(way: str, form: Any) -> None:
    if way == "edf_serial" and form == "sync":
        with pytest.raises(gs.NotApplicable, match="launch_cpu: got 3 for a, expected 0; a unit"):
            gs.analyze(workload(form), platform(**COSTS), way)
        return
    w, p = workload(form), platform(**COSTS).replace(cpus=4)
    free, costly = (gs.analyze(w, one, way) for one in (platform().replace(cpus=4), p))
    run = gs.observe(w, p, way, until=800)
    known = costly.bounded & free.bounded
    assert (run.worst <= costly.response)[known].all()
    assert (costly.response >= free.response)[known].all() and known.any()


def test_threads_whose_calls_take_time_need_cpus() -> None:
    tasks = [gs.Task(name, 100, [kernel(5)]) for name in "ab"]
    p = gs.Platform(GPU, cpus=1, slowdown=None)
    answers = [
        gs.analyze(gs.Workload(tasks), p.replace(launch_cpu=cost), "edf_parallel")
        for cost in (0, 1)
    ]
    premises = [{one.premise for one in answer.conditions} for answer in answers]
    assert "cpu_alone" not in premises[0] and "cpu_alone" in premises[1]


def test_a_unit_waits_for_its_core_when_it_may_begin() -> None:
    """The dispatcher's choice waits for a more urgent task of its core, and all others with it."""
    one = {"blocks": 1, "threads": 1024}
    tasks = [
        gs.Task("a", 40, [gs.CPU(5)], core=0, priority=0),
        gs.Task("b", 40, [gs.Kernel(2, **one)], deadline=27, core=0, priority=1),
        gs.Task("c", 40, [gs.Kernel(5, **one)], deadline=8, core=1, priority=2),
        gs.Task("d", 40, [gs.Kernel(2, **one)], deadline=37, core=2, priority=3),
    ]
    w, p = gs.Workload(tasks), gs.Platform(gs.GPU(1, 1024, 8), cpus=3, slowdown=None)
    assert gs.analyze(w, p, "edf_serial").schedulable is not True
    late = w.replace(
        tasks=[task.replace(offset=at) for task, at in zip(w, (5, 4, 8, 3), strict=True)]
    )
    run = play_machine(late, p, "edf_serial", until=30)
    assert run.worst.tolist() == [5, 8, 9, 2]  # c is late


@pytest.mark.parametrize("way", STREAMED)
def test_no_bound_is_exceeded(way: str) -> None:
    rng = Random(f"launches {way}")
    checked = 0
    while checked < 8:
        tasks = []
        for i in range(3):
            parts: list[gs.Segment] = []
            for _ in range(rng.randint(1, 5)):
                time, kind = rng.randint(1, 9), rng.random()
                blocks = rng.randint(1, 4)
                parts.append(
                    gs.CPU(time) if kind < 0.3
                    else gs.CopyIn(time) if kind < 0.5
                    else gs.Kernel(block_time=time, blocks=blocks, threads=512)
                )  # fmt: skip
            form = rng.choice((*FORMS, None))
            period = rng.choice((100, 150, 200))
            tasks.append(gs.Task(f"t{i}", period, parts, core=i % 2, priority=i, launches=form))
        w = gs.Workload(tasks)
        costs = {key: rng.randint(0, 4) for key in COSTS}
        p = gs.Platform(GPU, cpus=2, slowdown=None, timeslice=5, context_switch=1, **costs)
        answer = gs.analyze(w, p, way)
        if answer.schedulable is not True:
            continue
        checked += 1
        for k in range(12):
            moved = [task.replace(offset=rng.randrange(task.period)) for task in w]
            options = {"low": rng.choice((0.0, 0.5, 1)), "gap": rng.choice((0, 0.5))}
            levels = [task.replace(stream_priority=i) for i, task in enumerate(moved)]
            ranked = sorted(range(3), key=lambda i: (w[i].deadline, i))
            if way == "priority_streams":
                moved = [task.replace(stream_priority=ranked.index(i)) for i, task in
                         enumerate(levels)]  # fmt: skip
            run = play_machine(
                w.replace(tasks=moved), p, way, until=900, ties="draw", seed=k, **options
            )
            assert (run.worst <= answer.response).all(), (tasks, costs, k)
