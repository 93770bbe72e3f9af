"""Programs that once got a wrong verdict, each with the right one.

Unless said otherwise: a GPU of 2 SMs of 1,024 threads and 8 blocks, two CPUs, one copy engine, no
slowdown; ``k(t)`` is a kernel of t ticks, one block of 256 threads.
"""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest
from amounts import cases
from native import CSRC

import gpusched as gs
from gpusched.simulate.machine_result import MachineRun
from gpusched.ways import WAYS

sys.path.append(str(CSRC.parent))
from tests.reference.machine_ways import play

pytestmark = [pytest.mark.python, pytest.mark.numbers]

SMALL = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
CPU, IN, OUT, Task = gs.CPU, gs.CopyIn, gs.CopyOut, gs.Task
LOCKS = ("mpcp", "fmlp_plus", "gpu_server", "srm")


def k(time: int, blocks: int = 1) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


def platform(cpus: int = 2, **facts: object) -> gs.Platform:
    return gs.Platform(SMALL, cpus, slowdown=None, copy_engines=1, **facts)  # type: ignore[arg-type]


def verdict(w: gs.Workload, p: gs.Platform, way: str, **options: str) -> str:
    """The verdict of a way's test; "not applicable" for a refusal."""
    try:
        return gs.analyze(w, p, way, **options).verdict
    except gs.NotApplicable:
        return "not applicable"


def bound(w: gs.Workload, p: gs.Platform, way: str, task: str) -> float:
    """The response bound of a task; infinite without one."""
    try:
        answer = gs.analyze(w, p, way)
    except gs.NotApplicable:
        return np.inf
    i = w.index(task)
    return float(answer.response[i]) if answer.bounded[i] else np.inf


def check_impossible(w: gs.Workload, p: gs.Platform, said: str) -> None:
    """Every way says that no way can meet the deadlines, and why."""
    c = gs.compare(w, p, until=100)
    assert c.schedulable is False and c.verdict == "impossible" and c.best() is None
    assert said in c.impossible[0] and said in str(c)
    assert {row.verdict for row in c} == {"impossible"}
    assert {row.schedulable for row in c} == {False}
    for row in c:
        assert said in row.why()
        if row.answer is not None:
            assert row.answer.impossible and row.answer.rejected and not row.answer.conditions


def test_row_1_a_task_without_kernels_is_late_by_itself() -> None:
    w = gs.Workload([Task("control", 10, [CPU(6)], deadline=5), Task("det", 20, [k(1)])])
    check_impossible(w, platform(8), "control: a job alone takes 6ns")
    assert gs.mig(w, gs.Platform("H100", cpus=8)).verdict == "impossible"


def test_row_2_tasks_without_kernels_exceed_a_cpu_in_an_interval() -> None:
    w = gs.Workload([
        Task("a", 60, [CPU(6)], deadline=6),
        Task("b", 60, [CPU(4)], deadline=5, offset=3),
        Task("det", 60, [k(1)]),
    ])  # fmt: skip
    check_impossible(w, platform(1), "a, b: 10ns of CPU work must run within 8ns")


def test_row_3_cpu_work_of_many_jobs_exceeds_a_cpu_in_an_interval() -> None:
    kernel = gs.Kernel("500us", blocks=8, threads=256)
    w = gs.Workload([
        Task("a", "10ms", [CPU("6ms"), kernel]),
        Task("b", "100ms", [CPU("35ms"), kernel], deadline="50ms"),
    ], tick="us")  # fmt: skip
    check_impossible(w, gs.Platform("A100", cpus=1), "of CPU work must run within")


def test_row_4_cpu_work_has_to_leave_time_for_the_kernels_behind_it() -> None:
    parts = [CPU(4), k(1)]
    w = gs.Workload([Task("a", 20, parts, deadline=6), Task("b", 20, parts, deadline=6, offset=1)])
    check_impossible(w, platform(1), "8ns of CPU work must run within 6ns")


def test_row_5_a_stream_with_more_work_than_its_period() -> None:
    w = gs.Workload([Task("a", 8, [IN(5), k(3), OUT(5)], deadline=20), Task("b", 100, [k(1)])])
    check_impossible(w, platform(), "copies need 1.25 copy engines, there is 1")
    w = gs.Workload([Task("a", 8, [IN(2), k(5), OUT(4)], deadline=20), Task("b", 100, [k(1)])])
    check_impossible(w, platform(), "11ns")


def test_row_6_copies_of_the_next_job_wait_in_the_stream() -> None:
    """The next job's copies come behind those of this one, in the stream and at the engine."""
    one = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    for time in range(1, 20):
        w = gs.Workload([
            Task("a", 9, [IN(1), k(3, 4), OUT(4)], deadline=18), Task("b", 40, [k(time, 4)])
        ])  # fmt: skip
        for way in ("streams", "mps"):
            row = gs.compare(w, gs.Platform(one, 2, slowdown=None, copy_engines=1), ways=[way])[way]
            assert row.answer is not None and row.run is not None
            bounded = row.answer.bounded
            assert (row.run.worst[bounded] <= row.answer.response[bounded]).all()
            if not bounded[0]:
                assert row.verdict in ("undecided", "not schedulable")


def test_row_7_a_copy_engine_with_more_work_than_time() -> None:
    w = gs.Workload([Task("a", 8, [IN(9), k(3)], deadline=40), Task("b", 100, [k(1), k(1)])])
    check_impossible(w, platform(), "copies need 1.125 copy engines, there is 1")


def test_row_8_a_copy_waits_for_that_of_a_less_urgent_process() -> None:
    w = gs.Workload([Task("a", 200, [IN(50), k(5)]), Task("b", 20, [IN(1), k(1)])])
    assert verdict(w, platform(), "gcaps") == "undecided"
    w = gs.Workload([Task("a", 400, [IN(50), k(5)]), Task("b", 400, [IN(1), k(1)], deadline=100)])
    assert bound(w, platform(), "gcaps", "b") >= 52


@pytest.mark.parametrize("way", ["stgm", "gcaps", "time_slices", *LOCKS])
def test_row_9_a_copy_waits_for_a_long_copy_outside_of_a_section(way: str) -> None:
    w = gs.Workload([
        Task("camera", 330, [CPU(10), IN(5), k(20, 4), OUT(2)], deadline=100),
        Task("recorder", 2000, [CPU(10), k(30, 4), CPU(20), OUT(200)]),
    ])  # fmt: skip
    assert verdict(w, platform(), way) not in ("guaranteed", "conditional")
    w = w.replace(tasks=[w[0].replace(deadline=330), w[1]])
    assert bound(w, platform(), way, "camera") >= 237


def test_row_10_each_copy_is_a_request_of_its_own() -> None:
    def program(deadline: int) -> gs.Workload:
        pair = [IN(10), k(1), OUT(10)]
        return gs.Workload([
            Task("a", 400, [IN(1), IN(1), IN(1), IN(1), k(1)], deadline=deadline),
            Task("b", 300, [*pair, *pair]),
        ])  # fmt: skip

    assert verdict(program(30), platform(), "stgm") == "undecided"
    assert bound(program(400), platform(), "stgm", "a") >= 45


def test_row_11_a_copy_before_a_batch_waits_for_that_of_another_task() -> None:
    w = gs.Workload([
        Task("a", 100, [IN(50), k(1)]), Task("b", 100, [IN(1), k(1), k(1)], deadline=10)
    ])  # fmt: skip
    assert verdict(w, platform(), "pbs") not in ("guaranteed", "conditional", "not schedulable")


def test_row_13_a_measured_profile_on_the_sms_of_a_share() -> None:
    kernel = gs.Kernel(blocks=4, threads=512, sms={1: 100, 2: 10})
    w = gs.Workload([Task("a", 400, [kernel], deadline=60, process="a")])
    p = platform(mps={"a": 50})
    assert verdict(w, p, "mps") not in ("guaranteed", "conditional")
    assert bound(w.replace(tasks=[w[0].replace(deadline=400)]), p, "mps", "a") >= 100
    other = Task("b", 400, [kernel.replace(sms={1: 10, 2: 10})], process="b")
    assert verdict(w + gs.Workload([other]), p, "mps") not in ("guaranteed", "conditional")


@pytest.mark.parametrize("tick", ["ms", "us", "ns"])
def test_rows_15_and_16_verdicts_do_not_depend_on_the_tick(tick: str) -> None:
    kernel = gs.Kernel("15ms", blocks=960, threads=256)
    w = gs.Workload([Task("a", "40ms", [kernel], deadline="16ms")], tick=tick)
    orin = gs.Platform("AGX Orin")
    c = gs.compare(w, orin)
    assert c.impossible == () and c.schedulable is True
    for way in ("streams", "priority_streams", "mps", "gcaps", "stgm", "pbs", *LOCKS):
        answer = gs.analyze(w, orin, way)
        assert answer.accepted and answer.response[0] * w.tick_ns == 15 * 10**6
    kernel = gs.Kernel("14ms", blocks=960, threads=256)
    w = gs.Workload([Task("a", "40ms", [kernel], deadline="14ms")], tick=tick)
    for way in ("streams", "pbs", "mpcp"):
        assert gs.analyze(w, orin, way).accepted


def test_row_17_other_cores_than_those_of_worst_fit() -> None:
    w = gs.Workload([
        Task("a", 20, [CPU(9)]), Task("b", 30, [CPU(12)]),
        Task("c", 30, [CPU(10)]), Task("d", 20, [CPU(8), CPU(3)]),
    ])  # fmt: skip
    answer = gs.analyze(w, platform(), "mpcp")
    assert answer.accepted and any("assignments" in text for text in answer.derivation)
    run = gs.observe(w, platform(), "mpcp", until=1000)
    assert not run.late.any()


def test_row_18_cpu_work_between_kernels_rejects_nothing() -> None:
    w = gs.Workload([
        Task("a", 20, [k(2), CPU(10), k(2)]), Task("b", 20, [k(8)], deadline=10)
    ])  # fmt: skip
    answer = gs.analyze(w, gs.Platform(SMALL, 2, slowdown=3), "pbs")
    assert answer.verdict == "undecided" and answer.schedulable is None


@pytest.mark.parametrize("kernels", [24, 25, 40])
def test_row_19_a_fused_chain_rejects_nothing(kernels: int) -> None:
    whole = gs.Kernel("1ms", blocks=16, threads=1024)
    w = gs.Workload([
        Task("fast", "10ms", [whole], deadline="5ms"),
        Task("net", "100ms", [whole.replace(repeat=kernels)]),
    ], tick="us")  # fmt: skip
    found = verdict(w, gs.Platform("AGX Orin", 2, slowdown=None), "pbs")
    assert found in ("guaranteed", "conditional", "undecided")


def test_row_20_a_response_beyond_the_period_is_no_bound() -> None:
    w = gs.Workload([Task("a", 11, [k(6), OUT(6)], deadline=40)])
    answer = gs.analyze(w, platform(), "streams")
    assert not answer.bounded.any() and answer.verdict == "impossible"
    w = gs.Workload([Task("a", 11, [k(6), CPU(6)], deadline=40)])
    answer = gs.analyze(w, platform(), "streams")
    assert not answer.bounded.any() and answer.verdict == "undecided"
    assert "the next job then waits for this one" in answer.why()


def test_row_21_dispatchers_are_guaranteed_for_exact_times_only() -> None:
    """C = 2, 4, 2 and T = 12, 12, 4: one that ends early makes another late."""
    whole = [gs.Kernel(time, blocks=2, threads=1024) for time in (2, 4, 2)]
    w = gs.Workload([Task(f"t{i}", t, [whole[i]]) for i, t in enumerate((12, 12, 4))])
    for way in ("edf_serial", "edf_parallel"):
        answer = gs.analyze(w, platform(3), way)
        if answer.conditional:
            assert "exact_times" in [each.premise for each in answer.conditions]
        assert not answer.accepted
    alone = gs.analyze(w[:1], platform(1), "edf_serial")
    assert alone.accepted  # there is nobody to be late


def test_row_22_a_time_and_a_time_of_blocks_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="got 100ns and a block time of 5ns"):
        w = gs.Workload([Task("a", 200, [gs.Kernel(100, blocks=2, threads=256, block_time=5)])])
        gs.analyze(w, platform(), "streams")


def test_row_23_the_tightest_task_is_one_that_is_late() -> None:
    kernel = gs.Kernel("9ms", blocks=64, threads=512)
    w = gs.Workload([
        Task("upload", "400ms", [IN("1ms"), kernel]),
        Task("lidar", "20ms", [kernel], deadline="10ms"),
        Task("map", "40ms", [kernel], deadline="12ms"),
    ], tick="us")  # fmt: skip
    c = gs.compare(w, gs.Platform("AGX Orin", cpus=3))
    for row in c:
        if row.run is not None and row.schedulable is False and not row.impossible:
            assert row.tightest is not None and row.run.late_count[row.tightest] > 0
            name = w.names[row.tightest]
            assert name in row.why()
            document = next(d for d in c.document(margin=False)["rows"] if d["label"] == row.label)
            assert document["tightest"] == name
            late = sum(task["late"] for task in document["tasks"])
            assert late == document["simulation"]["late"] == int(row.run.late.sum())


# Meaning ------------------------------------------------------------------------------------------


def test_conditions_in_every_form() -> None:
    """One CPU for two threads, and a way whose test has no CPUs."""
    parts = [CPU("1ms"), gs.Kernel("1ms", blocks=8, threads=256)]
    w = gs.Workload([Task(name, "20ms", parts) for name in "ab"], tick="us")
    p = gs.Platform("AGX Orin", cpus=1)
    answer = gs.analyze(w, p, "edf_parallel")
    assert answer.schedulable is None and not answer.accepted and not answer.rejected
    assert answer.conditional and answer.verdict == "conditional" and answer.bounded.all()
    condition, exact = answer.conditions
    assert exact.premise == "exact_times"
    text = "CPU work is not delayed by other tasks: 2 threads on 1 CPU"
    assert (condition.premise, condition.text, condition.tasks) == ("cpu_alone", text, ("a", "b"))
    assert "--cpus 2" in condition.remedy
    c = gs.compare(w, p, ways=["edf_parallel"], until="40ms")
    assert (c.schedulable, c.verdict, c["edf_parallel"].verdict) == (
        None,
        "conditional",
        "conditional",
    )
    best = c.best()
    assert best is not None and best.conditional and c.advice() is None
    for shown in (str(answer), repr(answer), answer.why(), str(c), c.why(), c._repr_html_()):
        assert "conditional" in shown or text in shown
    for shown in (answer.why(), str(c), c.why(), c._repr_html_(), c.to_html(margin=False)):
        assert text in shown
    document = c.document()
    row = document["rows"][0]  # type: ignore[index]
    assert (row["verdict"], row["schedulable"]) == ("conditional", None)
    assert row["conditions"][0]["text"] == text and row["conditions"][0]["tasks"] == ["a", "b"]
    assert document["best"]["conditional"] is True  # type: ignore[index]
    assert gs.analyze(w, p.replace(cpus=2), "edf_parallel").conditions == (exact,)
    planned = gs.analyze(w, p, "pbs")  # a plan counts that CPU work is delayed
    assert planned.accepted and planned.response.tolist() == [2000, 4000]


def test_tasks_without_kernels_share_the_cpus_that_are_left() -> None:
    parts = [CPU(2), k(1)]
    alone = [Task(f"c{i}", 20, [CPU(4)]) for i in range(3)]
    w = gs.Workload([Task("a", 20, parts), *alone])
    answer = gs.analyze(w, platform(2), "streams")
    assert answer.accepted and answer.response.tolist() == [3, 4, 8, 12]
    w = gs.Workload([Task("a", 20, parts), *(task.replace(deadline=6) for task in alone)])
    answer = gs.analyze(w, platform(3), "streams")
    assert answer.accepted and answer.method == "holistic"
    assert answer.response.tolist()[1:] == [4] * 3
    assert gs.analyze(w, platform(4), "streams").accepted
    pinned = [w[0].replace(core=0), *(task.replace(core=i + 1) for i, task in enumerate(w[1:]))]
    assert gs.analyze(w.replace(tasks=pinned), platform(4), "streams").accepted
    shared = [*pinned[:3], pinned[3].replace(core=0)]
    answer = gs.analyze(w.replace(tasks=shared), platform(4), "streams")
    assert answer.accepted and answer.method == "holistic" and answer.response[0] == 7


def test_priorities_of_tasks_without_kernels_follow_their_deadlines() -> None:
    """A deadline beyond the period makes a task less urgent, although it is due in its period."""
    w = gs.Workload([
        Task("k", 16, [k(1)]), Task("other", 20, [CPU(1)]),
        Task("a", 30, [CPU(3)]), Task("b", 24, [CPU(2)], deadline=33),
    ])  # fmt: skip
    cores = [task.replace(core=core) for task, core in zip(w, (0, 1, 2, 2), strict=True)]
    answer = gs.analyze(w.replace(tasks=cores), platform(3), "streams")
    assert answer.accepted and answer.response.tolist() == [1, 1, 3, 5]


def test_threads_without_cpu_work_share_a_cpu() -> None:
    w = gs.Workload([Task(name, 20, [k(1)]) for name in "abc"])
    assert gs.analyze(w, platform(1), "streams").accepted
    busy = gs.Workload([*w.tasks, Task("d", 20, [CPU(1), k(1)])])
    answer = gs.analyze(busy, platform(1), "streams")
    assert answer.method == "holistic"
    assert answer.response.tolist() == [1, 1, 1, 2]  # d launches last
    assert gs.analyze(busy, platform(2), "streams").accepted


def test_a_run_shows_no_miss_of_what_it_does_not_represent() -> None:
    """Three tasks on two CPUs, on which the package puts them; others may do."""
    w = gs.Workload([Task(f"t{i}", 40, [CPU(1), k(8)], deadline=12) for i in range(3)])
    run = gs.observe(w, platform(2), "one_stream")
    assert run.late.any() and run.schedulable is None and run.verdict == "undecided"
    assert [short for short, _ in run.limits] == ["chosen cores"]
    assert "no miss of the program" in run.why()
    cores = w.replace(tasks=[t.replace(core=i % 2) for i, t in enumerate(w)])
    given = gs.observe(cores, platform(2), "one_stream")
    assert given.limits == () and given.schedulable is False
    twin = play(cores, platform(2), "one_stream", until=given.until)
    assert given.worst.tolist() == twin.worst
    full = gs.observe(w, platform(3), "one_stream")
    assert full.limits == () and full.schedulable is False
    row = gs.compare(w, platform(2), ways=["one_stream"])["one_stream"]
    assert row.verdict == "not schedulable" and "exclude each other" in row.why()  # 24 ticks of 12
    w = gs.Workload([
        Task("a", 40, [CPU(1), k(8)]), Task("b", 40, [CPU(2), k(2)], deadline=8),
        Task("c", 40, [CPU(1), k(1)]),
    ])  # fmt: skip
    row = gs.compare(w, platform(2), ways=["one_stream"])["one_stream"]
    assert row.verdict == "undecided" and row.tightest is not None
    table = str(gs.compare(w, platform(2), ways=["one_stream"]))
    assert "(chosen cores)" in table


def test_kernels_that_exclude_each_other_show_a_miss_of_the_way() -> None:
    """Two kernels of 6 ticks on one SM each fit beside each other, and not in turns."""
    w = gs.Workload([Task(name, 20, [k(6)], deadline=10) for name in "ab"])
    c = gs.compare(w, platform(2), until=40)
    assert c.impossible == () and c.schedulable is True
    for way in ("mpcp", "fmlp_plus", "gpu_server", "srm", "gcaps", "edf_serial"):
        row = c[way]
        assert row.answer is not None and row.answer.rejected and row.verdict == "not schedulable"
        assert "12ns" in row.why() and "exclude each other" in row.why()


def whole(time: int) -> gs.Kernel:
    """A kernel of two blocks of 1,024 threads."""
    return gs.Kernel(time, blocks=2, threads=1024)


def test_gpu_priorities_order_the_contexts_of_gcaps() -> None:
    """The task that is more urgent on its CPU is less urgent on the GPU."""
    w = gs.Workload([
        Task("a", 20, [whole(4)], deadline=6, priority=0, gpu_priority=1),
        Task("b", 40, [whole(8)], priority=1, gpu_priority=0),
    ])  # fmt: skip
    pinned = w.replace(tasks=[task.replace(core=i) for i, task in enumerate(w)])
    for mode in ("suspend", "busy"):
        assert not gs.analyze(pinned, platform(), "gcaps", mode=mode).accepted
        assert gs.observe(pinned, platform(), "gcaps", mode=mode).worst.tolist() == [12, 8]
    part = w.replace(tasks=[w[0], w[1].replace(gpu_priority=None)])
    with pytest.raises(gs.NotApplicable, match="b: got no gpu_priority"):
        gs.analyze(part, platform(), "gcaps")


def test_green_contexts_share_the_channels_of_the_gpu() -> None:
    """Unless their work queues are balanced."""
    one = gs.Kernel(10, blocks=1, threads=1024)
    names = [f"n{i}" for i in range(4)]
    w = gs.Workload([
        *(Task(name, 100, [one, one]) for name in names),
        Task("brake", 100, [one.replace(time=2)], deadline=6, offset=1),
    ])  # fmt: skip
    contexts = {tuple(names): 8, ("brake",): 8}
    p = gs.Platform("AGX Orin", cpus=5, slowdown=None, green_contexts=contexts)
    assert not gs.analyze(w, p, "green_contexts").accepted
    run = gs.observe(w, p, "green_contexts", until=400)
    assert run.late_count[-1] > 0 and run.schedulable is False  # under both readings of channels
    for wide in (p.replace(channels=5), p.replace(workqueue="balanced")):
        assert gs.analyze(w, wide, "green_contexts").accepted
        assert not gs.observe(w, wide, "green_contexts", until=400).late.any()


def test_cores_that_the_platform_lacks() -> None:
    w = gs.Workload([Task("a", 20, [CPU(4), k(1)], core=0), Task("b", 20, [CPU(4), k(1)], core=1)])
    for way in ("streams", "pbs", "mpcp"):
        with pytest.raises(ValueError, match="b: got core 1, expected one of the 1 CPU cores"):
            gs.analyze(w, platform(1), way)
    for function in (gs.compare, gs.mig):
        with pytest.raises(ValueError, match="b: got core 1"):
            function(w, gs.Platform("H100", cpus=1))


def test_jobs_of_a_thread_do_not_overlap() -> None:
    """The machine plays what would be late with jobs that overlap."""
    one = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    full = [gs.Kernel(t, blocks=1, threads=1024) for t in (4, 20, 1)]
    w = gs.Workload([
        Task("a", 10, [CPU(1), full[0], CPU(4)], deadline=100),
        Task("c", 400, [full[1]]),
        Task("b", 400, [full[2]] * 4, offset=2, deadline=34),
    ])  # fmt: skip
    run = gs.observe(w, gs.Platform(one, 3, slowdown=None), "streams")
    assert isinstance(run.detail, MachineRun) and run.limits == () and not run.late.any()
    twin = play(w, gs.Platform(one, 3, slowdown=None), "streams", until=run.until)
    assert run.worst.tolist() == twin.worst
    tight = w.replace(tasks=[w[0].replace(deadline=10), *w[1:]])  # late before the next release
    run = gs.observe(tight, gs.Platform(one, 3, slowdown=None), "streams")
    assert run.limits == () and run.schedulable is False


@pytest.mark.parametrize("way", ["one_stream", "streams"])
def test_jobs_that_overlap_in_a_queue_with_others(way: str) -> None:
    """The thread of a launches its second job after c, behind its first one."""
    full = [gs.Kernel(t, blocks=1, threads=1024) for t in (2, 15, 1)]
    w = gs.Workload([
        Task("a", 10, [full[0]], offset=1, deadline=30),
        Task("b", 100, [full[1]]),
        Task("c", 100, [full[2]], offset=12, deadline=7),
    ])  # fmt: skip
    one = gs.Platform(gs.GPU(1, 1024, 32, cc=(8, 0), channels=1), 3, slowdown=None)
    assert play(w, one, way, until=300, cores=[0, 1, 2]).worst == [16, 15, 6]
    run = gs.observe(w, one, way)
    assert run.worst[2] == 6 and run.limits == () and not run.late.any()
    assert gs.compare(w, one, ways=[way])[0].verdict != "not schedulable"


def test_jobs_that_have_not_ended_in_finer_ticks() -> None:
    """Three waves in a tick each; a budget ends the run."""
    one = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    w = gs.Workload([Task(n, 20, [gs.Kernel(7, blocks=3, threads=1024)]) for n in "ab"])
    few = gs.observe(
        w, gs.Platform(one, 2, slowdown=None), "one_stream", until=200, budget=gs.Budget(states=8)
    )
    assert few.grain == 3 and (few.end >= 0).any() and (few.end == -1).any()
    assert (few.end > few.release)[few.end != -1].all()


def test_copies_without_kernels_are_gpu_work_too() -> None:
    w = gs.Workload([Task("k", 20, [k(8)], deadline=10), Task("cp", 20, [OUT(5)], deadline=11)])
    run = gs.observe(w, platform(1), "gcaps")
    assert isinstance(run.detail, MachineRun) and run.limits == () and not run.late.any()
    w = gs.Workload([
        Task("cp", 40, [OUT(5)], process="x", deadline=10), Task("k", 80, [k(3)], process="y")
    ])  # fmt: skip
    run = gs.observe(w, platform(3, context_switch=10), "srm")
    assert not run.late.any()  # copies need no switch of the context


def test_every_way_has_premises() -> None:
    from gpusched.comparison.verdicts.premises import PREMISES

    assert PREMISES.keys() == {way.name for way in WAYS if way.test is not None}
    for premises in PREMISES.values():
        for premise in premises:
            assert premise.text and (premise.refuse is None) != (premise.doubt is None)


@pytest.mark.parametrize("way", ["one_stream", "streams", "priority_streams", "mps"])
def test_runs_without_limits_are_those_of_the_whole_machine(way: str) -> None:
    """With deadlines beyond periods and two channels; no two jobs are released together."""
    for seed in range(cases(20)):
        random = Random(seed)
        n = random.randrange(3, 6)
        offsets = random.sample(range(20), n)
        tasks = []
        for i in range(n):
            segments: list[gs.Segment] = [
                gs.Kernel(block_time=random.randrange(1, 8), blocks=random.randrange(1, 12),
                          threads=random.choice((256, 1024)))
                for _ in range(random.randrange(1, 3))
            ]  # fmt: skip
            if random.random() < 0.3:
                segments.insert(0, random.choice((IN, OUT))(random.randrange(1, 4)))
            period = random.choice((40, 60, 80))
            more = {"stream_priority": -random.randrange(3)} if way == "priority_streams" else {}
            tasks.append(
                Task(f"t{i}", period, segments, offset=offsets[i], deadline=2 * period, core=i,
                     process="P" if way == "mps" else None, **more)
            )  # fmt: skip
        gpu = gs.GPU(3, 1024, 8, cc=(8, 0), channels=2)
        p = gs.Platform(gpu, n, slowdown=None, copy_engines=2, channels=2)
        w = gs.Workload(tasks)
        run = gs.observe(w, p, way, until=480)
        assert run.limits == ()
        twin = play(w, p, way, until=480, cores=list(range(n)))
        ends = zip(run.task.tolist(), run.job.tolist(), run.end.tolist(), strict=True)
        assert sorted(one for one in ends if 0 <= one[2] <= 480) == sorted(
            (job.task, job.number, job.end) for job in twin.jobs if 0 <= job.end <= 480
        ), seed
