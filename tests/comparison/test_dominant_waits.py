"""Longest waits of late jobs in the reasons of simulated misses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.comparison.instances.instance_runs import InstanceRuns
from gpusched.comparison.machine_waits import JobSpan, MachineSetting, wait_sentence

pytestmark = [pytest.mark.python, pytest.mark.numbers]

UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}
SIMULATED = (
    *("one_stream", "streams", "priority_streams", "mps", "green_contexts", "time_slices"),
    *("gcaps", "mpcp", "fmlp_plus", "gpu_server", "stgm", "srm", "container", "driver"),
)


def kernel(time: str, blocks: int = 64, threads: int = 1024) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=threads)


def two(*segments: Any, deadline: str = "12ms", other: Any = None) -> gs.Workload:
    """A camera with its deadline, and a detector with a long kernel that is released before."""
    beside = other if other is not None else [kernel("9ms")]
    return gs.Workload(
        [
            gs.Task("camera", "50ms", segments, deadline=deadline, offset="1ms"),
            gs.Task("detector", "50ms", beside),
        ],
        tick="us",
    )


XAVIER = gs.Platform("Xavier", cpus=2)


def why(w: gs.Workload, way: str, platform: gs.Platform = XAVIER, **options: Any) -> str:
    run = gs.observe(w, platform, way, timeline=False, until="50ms", **options)
    again = gs.observe(w, platform, way, until="50ms", **options)
    assert run.why("camera") == again.why("camera") == run.why("camera")
    return run.why("camera")


@pytest.mark.parametrize(
    ("way", "options", "told"),
    [
        ("one_stream", {}, "waited 8ms of its 13ms because the work of detector was before it"),
        ("streams", {}, "waited 8ms of its 13ms because kernels of detector left no room on the"),
        ("mpcp", {}, "waited 8ms of its 13ms for the lock, held by detector"),
        ("mpcp", {"mode": "spin"}, "waited 8ms of its 13ms for the lock, held by detector"),
        ("fmlp_plus", {}, "waited 8ms of its 13ms for the lock, held by detector"),
        ("gpu_server", {}, "waited 8ms of its 13ms for the GPU server, which served detector"),
        ("srm", {}, "waited 8ms of its 13ms for the lock, held by detector"),
        ("driver", {}, "waited 8ms of its 13ms for the GPU, which detector had"),
    ],
)
def test_waits_for_another_kernel(way: str, options: Any, told: str) -> None:
    text = why(two(kernel("5ms")), way, **options)
    assert told in text
    assert "takes 13ms, more than its deadline of 12ms; 1 of 1 jobs are late" in text
    assert ". Job 0 waited " in text


def test_waits_for_a_time_slice() -> None:
    text = why(two(kernel("5ms"), deadline="8ms"), "time_slices")
    assert re.search(r"waited \S+ of its \S+ for its time slice, while detector had the GPU", text)


def test_waits_for_a_cpu() -> None:
    busy = [gs.CPU("9ms"), kernel("1ms")]
    w = two(gs.CPU("5ms"), kernel("1ms"), other=busy)
    one = gs.Platform("Xavier", cpus=1)
    said = "waited 8ms of its 14ms for a CPU"
    ranked = w.replace(tasks=[w[0].replace(priority=1), w[1].replace(priority=0)])
    assert said in why(ranked, "mpcp", one)
    urgent = w.replace(tasks=[w[0], w[1].replace(deadline="10ms")])
    assert said in why(urgent, "srm", one)


def test_waits_for_a_copy_engine() -> None:
    w = two(gs.CopyIn("5ms"), kernel("1ms"), other=[gs.CopyIn("9ms"), kernel("1ms")])
    platform = XAVIER.replace(copy_engines=1)
    for way in ("streams", "priority_streams"):
        text = why(w, way, platform)
        assert "waited 8ms of its 14ms for a copy engine, busy with detector's copy" in text


def test_waits_for_a_channel_with_the_remedy() -> None:
    tasks = [
        gs.Task(f"t{i}", "30ms", [kernel("4ms", 4, 256)] * 2, deadline="10ms") for i in range(8)
    ]
    w = gs.Workload(tasks, tick="us")
    orin = gs.Platform("AGX Orin", cpus=8)
    run = gs.observe(w, orin, "streams", timeline=False, until="30ms")
    text = run.why("t4")
    assert (
        "waited 4ms of its 12ms because t0's stream shares its hardware channel (8 streams, "
        "4 channels): set CUDA_DEVICE_MAX_CONNECTIONS=8 (--channels 8)." in text
    )
    assert orin.gpu is not None
    more = gs.Platform(orin.gpu.replace(channels=8), cpus=8)
    assert not gs.observe(w, more, "streams", until="30ms").late.any()


def test_waits_for_earlier_jobs() -> None:
    w = gs.Workload(
        [gs.Task("a", "8ms", [kernel("6ms"), kernel("4ms")], deadline="18ms")], tick="us"
    )
    run = gs.observe(w, XAVIER, "streams", until="200ms")
    assert "because job 23 had not ended" in run.why()


def test_a_job_that_waits_for_nothing() -> None:
    text = why(two(kernel("13ms"), other=[kernel("1ms", 1)]), "mpcp")
    assert text.endswith("waited for nothing: its own work takes so long.")


def test_runs_in_gpu_instances() -> None:
    w = two(kernel("5ms"))
    for way in ("streams", "mpcp"):
        run = gs.observe(w, XAVIER, way, timeline=False, until="50ms")
        assert not isinstance(run.detail, InstanceRuns)
        span = JobSpan("camera", 0, 1000, 14_000, True)
        for runs in ({"1g.5gb@0": run.detail}, {}):
            setting = MachineSetting(w, run.platform, "mig")
            found = wait_sentence(InstanceRuns(runs), setting, {"within": way}, span)
            assert found.startswith("Job 0 waited 8ms of its 13ms ") == bool(runs)


def test_runs_that_take_too_long_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched.comparison import observations

    monkeypatch.setattr(observations, "_MOST_PARTS", 1)
    for way in ("streams", "mpcp", "container"):
        run = gs.observe(two(kernel("5ms")), XAVIER, way, timeline=False, until="50ms")
        assert "1 of 1 jobs are late" in run.why("camera")
        assert "waited" not in run.why("camera")


def ticks(text: str) -> int:
    match = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text)
    assert match is not None
    return round(float(match[1]) * UNITS[match[2]])


@pytest.mark.parametrize("way", SIMULATED)
def test_waits_do_not_exceed_what_others_can_take(way: str) -> None:
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(25):
        tasks = []
        for name in "abc":
            parts: list[Any] = [gs.CPU(int(rng.integers(1, 4)))] if rng.random() < 0.6 else []
            if rng.random() < 0.3:
                parts.append(gs.CopyIn(int(rng.integers(1, 4))))
            for _ in range(int(rng.integers(1, 3))):
                blocks, time = int(rng.integers(1, 30)), int(rng.integers(1, 9))
                parts.append(gs.Kernel(block_time=time, blocks=blocks, threads=512))
            period = int(rng.integers(20, 60))
            tasks.append(gs.Task(name, period, parts, deadline=int(rng.integers(5, period + 1))))
        w = gs.Workload(tasks, tick="us")
        gpu = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8)
        platform = gs.Platform(gpu, cpus=2, timeslice="3us",
                               green_contexts={("a", "b"): 2, "c": 2}, mps={"a": 50})  # fmt: skip
        try:
            run = gs.observe(w, platform, way, timeline=False, until=600)
        except ValueError:
            continue
        for name in w.names:
            text = run.why(name)
            match = re.search(r"waited (\S+) of its (\S+) (because|for)", text)
            if match is None:
                continue
            seen += 1
            times = w[[name]].kernel_times(platform)[0]
            alone = sum(of.time for of in times if of is not None)
            alone += w[name].cpu_time + w[name].copy_time
            assert 0 < ticks(match[1]) <= ticks(match[2]) - alone * 1000
    assert seen or way == "stgm"


# The tightest task


def test_a_late_task_is_the_tightest() -> None:
    """By lateness relative to the deadline, not by ticks of slack."""
    w = gs.Workload(
        [gs.Task("long", 1000, [gs.Kernel(600, blocks=64, threads=1024)], deadline=500),
         gs.Task("fast", 1000, [gs.Kernel(10, blocks=64, threads=1024)], deadline=4, offset=700),
         gs.Task("slack", 1000, [gs.Kernel(1, blocks=1, threads=64)], deadline=2, offset=900)],
    )  # fmt: skip
    run = gs.observe(w, XAVIER, "streams", until=1000)
    assert run.late_count.tolist() == [1, 1, 0]
    assert run.tightest == 1  # 10 of 4, 600 of 500
    assert run.why().startswith("fast: job 0")


def test_jobs_that_did_not_end_count_with_their_time_so_far() -> None:
    w = gs.Workload([gs.Task("a", 10, [gs.CPU(4)]), gs.Task("b", 40, [gs.CPU(9)], deadline=30)])
    run = gs.observe(w, gs.Platform("Xavier"), "driver", until=400)
    finish = run.end.copy()
    last = int(np.flatnonzero(run.task == 1)[-1])
    finish[last] = -1
    cut = replace(run, end=finish, now=int(run.release[last]) + 31)
    assert cut.late[last] and cut.worst[1] == 31 and cut.late_count[1] == 1
    assert cut.tightest == 1
    assert "has not ended after 31ns, more than its deadline of 30ns" in cut.why()
    early = replace(run, end=finish, now=int(run.release[last]) + 29)
    assert not early.late[last] and early.worst[1] == run.worst[1]
