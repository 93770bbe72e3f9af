"""Guarantees of a comparison hold for all jobs; it refuses tests that cannot give them."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs

pytestmark = [pytest.mark.python, pytest.mark.numbers]

ONE = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=32)
PLATFORM = gs.Platform(ONE, cpus=2)
BATCHES = ("edf_serial", "edf_parallel", "pbs")


def whole(time: int) -> gs.Kernel:
    """A kernel that occupies the GPU."""
    return gs.Kernel(time, blocks=1, threads=1024)


def accepted(w: gs.Workload, method: str, platform: gs.Platform = PLATFORM) -> bool:
    """Whether a method accepts; a refusal is none."""
    try:
        answer = gs.analyze(w, platform, method)
    except ValueError:
        return False
    if method in ("edf_serial", "edf_parallel"):  # for exact times only
        return answer.accepted or [c.premise for c in answer.conditions] == ["exact_times"]
    return answer.accepted


BESIDE = ("streams", "priority_streams", "mps", "green_contexts", "stgm")
SLOWED = "kernels take 1.6 times their times, since those of other tasks run beside"


def test_kernels_beside_others_are_slowed_down() -> None:
    """Kernels of 5 ticks take 8 beside each other; one after the other they are not slower."""
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=32)
    a, b = (
        gs.Task(name, 16, [gs.Kernel(5, blocks=1, threads=1024)], deadline=deadline)
        for name, deadline in (("a", 7), ("b", 16))
    )
    w = gs.Workload([a, b])
    plain = gs.Platform(gpu, cpus=2, slowdown=None, green_contexts={"a": 1, "b": 1})
    slowed = plain.replace(slowdown=(1.1, 1.6))
    for method in (*BESIDE, "gcaps", "edf_serial", "pbs"):
        assert accepted(w, method, plain)
        assert accepted(w, method, slowed) == (method not in BESIDE)
    for method in BESIDE:
        answer = gs.analyze(w, slowed, method)
        assert SLOWED in answer.derivation and not answer.rejected
        one = slowed.replace(green_contexts={"a": 1})
        alone = gs.analyze(w[["a"]], one, method)
        assert alone.accepted and SLOWED not in alone.derivation
    late = gs.Task("c", 9, [gs.Kernel(10, blocks=1, threads=1024)])
    assert gs.analyze(
        gs.Workload([a, late]), slowed.replace(green_contexts=None), "streams"
    ).rejected


@pytest.mark.parametrize("method", BATCHES)
def test_an_overloaded_gpu_is_not_accepted(method: str) -> None:
    """Jobs of one hyperperiod, 6 + 6 ticks of 10, meet deadlines of 10 and 12; others do not."""
    w = gs.Workload([gs.Task("a", 10, [whole(6)]), gs.Task("b", 10, [whole(6)], deadline=12)])
    assert not accepted(w, method)
    assert gs.compare(w, PLATFORM).schedulable is not True


@pytest.mark.parametrize("method", BATCHES)
def test_jobs_after_the_hyperperiod_count(method: str) -> None:
    """A task that begins after the hyperperiod has no job in it."""
    w = gs.Workload([gs.Task("a", 10, [whole(6)]), gs.Task("b", 10, [whole(6)], offset=10)])
    assert not accepted(w, method)


def test_deadlines_beyond_periods_are_searched_without_end() -> None:
    w = gs.Workload([
        gs.Task("a", 10, [whole(4)], deadline=16),
        gs.Task("b", 20, [whole(10)], deadline=30),
    ])  # fmt: skip
    answer = gs.analyze(w, PLATFORM, "pbs")
    assert answer.accepted and answer.schedule is not None
    assert answer.schedule.cycle is not None
    answer.schedule.validate()


def test_dispatchers_with_an_idle_end_are_accepted() -> None:
    """The next hyperperiod meets an idle GPU, although the deadlines exceed the periods."""
    w = gs.Workload([gs.Task("a", 10, [whole(3)], deadline=15), gs.Task("b", 10, [whole(3)])])
    assert accepted(w, "edf_serial")
    late = w.replace(tasks=[w[0], w[1].replace(offset=7)])
    assert accepted(late.replace(tasks=[late[0].replace(offset=5), late[1]]), "edf_serial")
    full = gs.Workload([gs.Task("a", 10, [whole(5)]), gs.Task("b", 10, [whole(5)], offset=8)])
    assert gs.analyze(full, PLATFORM, "edf_serial").method == "holistic"  # for any offsets
    with pytest.raises(ValueError, match=r"^b: got GPU work .* expected one due within its period"):
        gs.analyze(full, PLATFORM, "edf_parallel")


def test_a_miss_within_the_hyperperiod_is_one() -> None:
    """Whatever follows: 9 ticks with a deadline of 8."""
    late = gs.Task("b", 20, [whole(1)], offset=15)
    w = gs.Workload([gs.Task("a", 20, [whole(9)], deadline=8), late])
    assert gs.analyze(w, PLATFORM, "edf_serial").rejected


@pytest.mark.parametrize("method", ["streams", *BATCHES])
def test_overloaded_cpus_are_impossible(method: str) -> None:
    """The CPU work that a view takes as not delayed does not fit the CPUs."""

    def reason(w: gs.Workload) -> str:
        answer = gs.analyze(w, PLATFORM, method)
        assert answer.impossible and answer.rejected and answer.verdict == "impossible"
        return answer.why()

    tasks = [gs.Task(name, 10, [gs.CPU(8), whole(1)]) for name in "abc"]
    assert accepted(gs.Workload(tasks[:2]), method, PLATFORM.replace(slowdown=None))
    assert "needs 2.4 CPUs, the platform has" in reason(gs.Workload(tasks))
    pinned = gs.Workload([task.replace(core=0) for task in tasks[:2]])
    assert "needs 1.6 CPUs, core 0 is 1" in reason(pinned)
    short = gs.Workload([task.replace(period=100, deadline=11) for task in tasks])
    assert "24ns of CPU work must run within" in reason(short)
    busy = gs.Workload([*tasks[:2], gs.Task("c", 10, [gs.CPU(8)])])
    assert "needs 2.4 CPUs" in reason(busy)


def test_a_condition_that_is_not_shown_is_named(method: str = "edf_parallel") -> None:
    tasks = [gs.Task(name, 100, [gs.CPU(8), whole(1)]) for name in "abc"]

    def doubts(w: gs.Workload) -> list[str]:
        answer = gs.analyze(w, PLATFORM, method)
        assert answer.conditional or answer.accepted
        return [each.text for each in answer.conditions if each.premise == "cpu_alone"]

    assert doubts(gs.Workload(tasks[:2])) == []
    assert "3 threads on 2 CPUs" in doubts(gs.Workload(tasks))[0]
    pinned = gs.Workload([task.replace(core=1) for task in tasks[:2]])
    assert "2 threads on 1 CPU" in doubts(pinned)[0]
    assert doubts(gs.Workload([gs.Task("a", 9, [whole(1)]), gs.Task("b", 9, [whole(1)])])) == []
    busy = gs.Workload([*tasks[:2], gs.Task("c", 100, [gs.CPU(8)])])
    assert "2 threads and 1 task without GPU work on 2 CPUs" in doubts(busy)[0]


# CPU work that has to end before kernels and copies


def contended(cpus: int) -> tuple[gs.Workload, gs.Platform]:
    """Two tasks whose CPU work has to end by 5.5 and 9 ms for the kernels to follow in time."""
    kernel = gs.Kernel("1ms", blocks=16, threads=256)
    w = gs.Workload([
        gs.Task("a", "40ms", [gs.CPU("5ms"), kernel], deadline="6.5ms"),
        gs.Task("b", "40ms", [gs.CPU("5ms"), kernel.replace(time="3ms")], deadline="12ms"),
    ], tick="us")  # fmt: skip
    return w, gs.Platform("AGX Orin", cpus=cpus, slowdown=None)


def test_cpu_work_before_kernels_that_cannot_end_in_time() -> None:
    found = gs.compare(*contended(1), until="40ms")
    assert found.impossible == (
        "a, b: 10ms of CPU work must run within 9ms (from 0ns to 9ms), the platform has 1 CPU",
    )
    assert found.schedulable is False and found.best() is None
    assert gs.compare(*contended(2), ways=["pbs"]).schedulable is True


def test_guarantees_name_the_condition_that_the_platform_does_not_ensure() -> None:
    w, platform = contended(1)
    w = gs.Workload([w[0].replace(deadline="20ms"), w[1].replace(deadline="20ms")], tick="us")
    found = gs.compare(w, platform, ways=["edf_parallel", "mpcp"])
    note = (
        "edf_parallel: guaranteed only if CPU work is not delayed by other tasks: 2 threads on 1 "
        "CPU (a CPU for each of them shows it: --cpus 2)."
    )
    assert note in found.notes and note in str(found) and note in found._repr_html_()
    row = found["edf_parallel"]
    assert row.verdict == "conditional" and row.schedulable is None
    assert found.schedulable is True  # mpcp counts what the CPUs are shared for
    only = gs.compare(w, platform, ways=["edf_parallel"])
    assert (only.schedulable, only.verdict) == (None, "conditional")
    best = only.best()
    assert best is not None and best.conditional and "under its conditions" in str(best)
    for cpus in (1, 2):  # a plan counts who shares the CPUs
        assert gs.compare(w, platform.replace(cpus=cpus), ways=["pbs"]).notes == ()


def test_impossible_cpu_work_is_late_in_a_simulation() -> None:
    """Under global EDF and a lock, where all first jobs meet."""
    chance = np.random.default_rng(7)
    late = 0
    for _ in range(800):
        tasks = []
        for i in range(int(chance.integers(2, 5))):
            times = chance.integers(1, 6, 3).tolist()
            kernel = gs.Kernel(times[1], blocks=1, threads=32)
            deadline = int(sum(times) + chance.integers(0, 8))
            parts = [gs.CPU(times[0]), kernel, gs.CPU(times[2])][: 2 + i % 2]
            tasks.append(gs.Task(f"t{i}", 60, parts, deadline=deadline))
        w, platform = gs.Workload(tasks), gs.Platform("AGX Orin", cpus=int(chance.integers(1, 4)))
        if gs.compare(w, platform, ways=["driver"], until=1).impossible:
            late += 1
            assert gs.observe(w, platform, "driver", until=1).late_count.any()
    assert late > 50


@pytest.mark.parametrize("method", ["one_stream", "streams", "priority_streams", "time_slices"])
def test_simulations_state_periodic_releases_once(method: str) -> None:
    run = gs.observe(*contended(2), method, until="40ms")
    assert [text for text in run.assumptions if "released periodically" in text] == [
        "jobs are released periodically, from the offsets, and take their whole times"
    ]


def test_a_miss_that_comes_from_rounded_times_is_none() -> None:
    """Waves of many numbers share no finer tick; the run with times rounded down decides."""
    waves = (3, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    kernels = [gs.Kernel(100, blocks=16 * count, threads=1024) for count in waves]
    platform = gs.Platform("AGX Orin", cpus=1, slowdown=None)
    for deadline, shown in ((1000, None), (999, False), (900, False)):
        w = gs.Workload([gs.Task("a", 5000, kernels, deadline=deadline)], tick="us")
        for way in ("streams", "mps", "priority_streams"):
            run = gs.observe(w, platform, way)
            assert run.late_count[0] > 0 and run.schedulable is shown, (deadline, way)
            assert ("rounded" in str(run)) == (shown is None)
            assert run.why().endswith("waited for nothing: its own work takes so long.")
            runs = gs.observe(w, platform, way, count=2, seed=1)
            assert bool(runs.late_count.any()) is (shown is False) and not runs.limits
