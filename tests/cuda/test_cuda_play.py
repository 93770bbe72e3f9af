"""Measured oracle and player on a stand-in driver with known times."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from standin import Standin

import gpusched as gs
from gpusched.cuda import CudaError, Device, Operation

US = 1000
# What a frame of the stand-in costs: the launches, the way to the GPU, and the wait.
LAUNCH, LATENCY, WAKE = 2500, 3000, 1500


@pytest.fixture
def device(standin: Standin) -> Iterator[Device]:
    with Device() as opened:
        yield opened


def small(**change: Any) -> gs.KernelTasks:
    values: dict[str, Any] = {
        "period": [400 * US, 500 * US, 1000 * US],
        "wcet": [100 * US, 250 * US, 250 * US],
        "blocks": [4, 16, 16],
        "threads": [256, 256, 256],
    }
    return gs.KernelTasks(**values | change)


# The oracle


def test_samples_are_the_times_of_batches(device: Device) -> None:
    tasks = small()
    measured = gs.cuda.measure(tasks, device, repeats=4)
    assert measured.samples.shape == (8, 4)
    assert measured.eligible.tolist() == [False] + [True] * 7
    for mask in range(1, 8):
        chosen = [i for i in range(3) if mask >> i & 1]
        longest = max(int(tasks.wcet[i]) for i in chosen)
        least, most = longest, longest + len(chosen) * (LAUNCH + 100) + LATENCY + WAKE + 200
        assert (measured.samples[mask] >= least).all() and (measured.samples[mask] <= most).all()
    assert gs.pbs.search(tasks, measured.table()).schedulable


def test_statistics() -> None:
    tasks = gs.KernelTasks(period=[1000], wcet=[10])
    samples = np.array([[0, 0, 0, 0], [10, 11, 12, 30]])
    from gpusched.cuda.measurement import Measurement

    measured = Measurement(
        tasks,
        samples,
        np.array([False, True]),
        np.array([[-1], [0]], np.int8),
        np.zeros(2, np.int64),
        10,
    )
    ends = {name: measured.table(name).completion[1] for name in ("worst", "median", "mean")}
    assert ends == {"worst": 3, "median": 2, "mean": 2}  # rounded up to ticks of 10 ns
    assert len(measured.to_frame()) == 4
    with pytest.raises(ValueError, match="statistic: got 'best', expected one of worst,"):
        measured.table("best")
    assert pickle.loads(pickle.dumps(measured)).samples.tolist() == samples.tolist()


def test_eligible_is_what_fits(device: Device) -> None:
    """Two of these kernels fill the GPU; measured and computed eligibility agree."""
    tasks = small(blocks=[16, 32, 16], threads=[1024, 512, 1024], period=[1000 * US] * 3)
    measured = gs.cuda.measure(tasks, device, repeats=2, checks=2)
    computed = gs.BatchTable.from_gpu(tasks, device.gpu, slowdown=None)
    assert measured.eligible.tolist() == (computed.completion > 0).tolist()
    assert not measured.eligible[7] and measured.eligible[3]
    assert (measured.samples[7] == 0).all()
    assert measured.tried[7] == 6


def test_the_order_of_submission_is_tried(device: Device) -> None:
    """Small blocks first would leave no SM with room for the large ones."""
    tasks = small(
        blocks=[16, 1, 1],
        threads=[64, 1024, 1024],
        smem=[150_000, 200_000, 0],
        period=[1000 * US] * 3,
    )
    gpu = device.gpu.replace(carveout_rule="ignore")  # all kernels prefer the same one
    assert not gs.place(gpu, [16, 1], [64, 1024], 0, [150_000, 200_000]).all_placed
    measured = gs.cuda.measure(tasks, device, repeats=1)
    fits = gs.BatchTable.from_gpu(tasks, gpu, slowdown=None)
    assert measured.eligible.tolist() == (fits.completion > 0).tolist()


def test_interference_is_measured(device: Device) -> None:
    tasks = small(blocks=[16, 16, 16])
    quiet = gs.cuda.measure(tasks, device, repeats=2)
    loud = gs.cuda.measure(tasks, device, repeats=2, footprint=1 << 16)
    timed = gs.cuda.measure(tasks, device, repeats=2, footprint=1 << 16, timed=True)
    assert loud.samples[6].max() > 1.3 * quiet.samples[6].max()
    assert timed.samples[6].max() < 1.1 * quiet.samples[6].max()


def test_graphs(device: Device, standin: Standin) -> None:
    tasks = small()
    graphs = {0: standin.graph(100 * US), 2: standin.graph(200 * US)}
    measured = gs.cuda.measure(tasks, device, repeats=2, graphs=graphs)
    assert measured.eligible.sum() == 7
    assert abs(measured.samples[4, 0] - 200 * US) < 10 * US
    schedule = gs.pbs.search(tasks, measured.table()).schedule
    played = gs.cuda.play(schedule, device, graphs=graphs)
    assert played.late_count == 0
    assert set(played.task[played.end < 0].tolist()) == {0, 2}
    assert len(played.overhead().each) == sum(int(b) == 2 for b in played.batch)
    with pytest.raises(CudaError, match=r"cuGraphLaunch: .*400"):
        gs.cuda.play(schedule, device, graphs={0: 64})


def test_refused_measurements(device: Device) -> None:
    with pytest.raises(ValueError, match=r"tasks: got 11 tasks \(2048 batches\), expected at"):
        gs.cuda.measure(gs.KernelTasks(period=[100] * 11, wcet=[1] * 11), device)
    with pytest.raises(ValueError, match="tasks: got a stack of 1 sets, expected one task"):
        gs.cuda.measure(gs.KernelTasks(period=[[9]], wcet=[[1]]), device)
    with pytest.raises(ValueError, match="repeats: got 0, expected a positive number"):
        gs.cuda.measure(small(), device, repeats=0)


# The player


def planned(device: Device) -> Any:
    tasks = small()
    return gs.pbs.search(tasks, gs.cuda.measure(tasks, device, repeats=2).table(), policy=True)


@pytest.mark.parametrize("wait", ["context", "streams", "poll"])
@pytest.mark.parametrize("strategy", ["table", "reclaim", "policy"])
def test_play(device: Device, strategy: str, wait: Any) -> None:
    found = planned(device)
    plan = found.policy if strategy == "policy" else found.schedule
    played = gs.cuda.play(plan, device, cycles=3, wait=wait, strategy=strategy)  # type: ignore[arg-type]
    assert played.late_count == 0 and played.unsafe == 0
    jobs = played.jobs()
    assert len(jobs) == len(played.task) == 3 * (5 + 4 + 2)
    assert (jobs.start >= jobs.release).all() and (jobs.end <= jobs.deadline).all()
    low, high = played.clock_offset
    assert low <= -1_000_000_007 <= high + 32 and high - low < 10_000
    overhead = played.overhead()
    assert len(overhead.each) == len(played.dispatch)
    # One or two launches more than the first kernel's, at most, and no lost time.
    assert overhead.quantile(0.0) >= LATENCY
    assert overhead.quantile(1.0) <= 3 * LAUNCH + LATENCY + 3 * WAKE + 1000
    assert repr(overhead).startswith("<Overhead: median ")
    if strategy == "table":
        assert (played.dispatch >= played.planned).all()
        expected = [np.asarray(found.schedule.start) + c * 2_000_000 for c in range(3)]
        assert played.planned.tolist() == np.concatenate(expected).tolist()
        assert played.lateness.max() < 3000
        assert played.batch.tolist() == found.schedule.batch.tolist() * 3
    assert len(played.to_frame()) == len(played.dispatch)
    assert pickle.loads(pickle.dumps(played)).jobs() == jobs


def test_a_play_that_begins_at_once(standin: Standin, device: Device) -> None:
    """The memory of the jobs' times is set before the first job, however long that takes."""
    tasks = gs.KernelTasks(period=[100 * US], block_time=[US], threads=32)
    plan = gs.pbs.search(tasks, gs.cuda.measure(tasks, device, repeats=2).table()).schedule
    standin.set(memset=200 * US)
    played = gs.cuda.play(plan, device, lead=0, cycles=5, timed=True)  # type: ignore[arg-type]
    assert (played.start >= 0).all() and played.late_count == 0


def test_reclaim_uses_what_jobs_leave_over(device: Device) -> None:
    found = planned(device)
    shape = {"threads": 256, "ns": 10 * US}
    short = [Operation(i, 4, **shape) for i in range(3)]
    table = gs.cuda.play(found.schedule, device, kernels=short)
    reclaim = gs.cuda.play(found.schedule, device, kernels=short, strategy="reclaim")
    policy = gs.cuda.play(found.policy, device, kernels=short)
    assert table.late_count == reclaim.late_count == policy.late_count == 0
    assert reclaim.done[-1] < table.done[-1] and (table.dispatch >= table.planned).all()
    assert (reclaim.dispatch >= reclaim.due).all()


def test_an_overrun_is_a_miss(device: Device) -> None:
    found = planned(device)
    long = [Operation(i, 4, 256, ns=390 * US) for i in range(3)]
    played = gs.cuda.play(found.schedule, device, kernels=long)
    assert played.late_count > 0 and played.lateness.max() > 100 * US
    followed = gs.cuda.play(found.policy, device, kernels=long)
    assert followed.late_count > 0 and followed.unsafe > 0
    assert len(followed.jobs()) == len(followed.task)  # late, but all of them ran


def test_orders_of_submission(device: Device) -> None:
    tasks = small(period=[1000 * US] * 3, wcet=[10 * US] * 3, deadline=[35 * US] * 3)
    table = gs.BatchTable.from_dict(
        3, {(0,): 20 * US, (1,): 20 * US, (2,): 20 * US, (2, 0, 1): 30 * US}
    )
    found = gs.pbs.search(tasks, table, policy=True)
    assert found.schedule.batch.tolist() == [7]
    for plan in (found.schedule, found.policy):
        played = gs.cuda.play(plan, device, timed=True)
        assert played.task.tolist() == [2, 0, 1]
        assert (np.diff(played.start) > 0).all()


def test_refused_plays(device: Device) -> None:
    found = planned(device)
    refused: list[tuple[str, Any, dict[str, Any]]] = [
        ("strategy: got 'policy', expected 'table'", found.schedule, {"strategy": "policy"}),
        ("strategy: got 'table', expected 'policy' for a", found.policy, {"strategy": "table"}),
        ("strategy: got 'late', expected one of table,", found.schedule, {"strategy": "late"}),
        ("wait: got 'long', expected one of context,", found.schedule, {"wait": "long"}),
        ("kernels: got 1 operations, expected 3, one", found.schedule, {"kernels": [Operation()]}),
        (r"blocks\[1\]:", found.schedule, {"kernels": [Operation(blocks=b) for b in (1, 0, 1)]}),
    ]
    for told, plan, options in refused:
        with pytest.raises(ValueError, match=told):
            gs.cuda.play(plan, device, **options)
    with pytest.raises(OverflowError, match=r"cycles: got -?\d+, expected a play of at most"):
        gs.cuda.play(found.schedule, device, cycles=10**14)
    late = gs.Schedule([0], [10], [1], gs.KernelTasks(period=[5], wcet=[1]))
    with pytest.raises(
        ValueError, match="plan: got a schedule beyond one hyperperiod, expected one"
    ):
        gs.cuda.play(late, device, cycles=2)


def test_more_frames_than_jobs(device: Device) -> None:
    tasks = gs.KernelTasks(period=[1000 * US], wcet=[US])
    twice = gs.Schedule([0, 5 * US], [US, 6 * US], [1, 1], tasks)
    with pytest.raises(ValueError, match="frames: got 1, expected at most one frame per job"):
        gs.cuda.play(twice, device)


def test_real_time_that_is_not_granted(device: Device) -> None:
    with pytest.raises(OSError, match="realtime: the system grants no such real-time priority"):
        gs.cuda.play(planned(device).schedule, device, realtime=1000)
    assert gs.cuda.play(planned(device).schedule, device).late_count == 0


def test_a_play_can_be_stopped(device: Device) -> None:
    stop = bytearray(b"\1")
    schedule = planned(device).schedule
    with pytest.raises(gs.Cancelled):
        gs.cuda.play(schedule, device, cycles=100_000, stop=stop)


def test_chains_are_played_kernel_by_kernel(device: Device) -> None:
    """By a schedule and by its policy; a kernel starts when the one before it has ended."""
    chains = gs.KernelChains(
        [500 * US, 1000 * US], [[50 * US, 60 * US], [100 * US, 40 * US]], blocks=4, threads=256
    )
    table = gs.BatchTable.from_gpu(chains, device.gpu, slowdown=1.5)
    answer = gs.pbs.search(chains, table, policy=True)
    for plan in (answer.schedule, answer.policy):
        played = gs.cuda.play(plan, device)
        assert played.tasks == chains.rows
        assert np.bincount(played.task).tolist() == [2, 2, 1, 1]
        end = {}
        for row, job, start, finish in zip(
            played.task.tolist(), played.job.tolist(), played.start.tolist(),
            played.end.tolist(), strict=True,
        ):  # fmt: skip
            assert row % 2 == 0 or start >= end[row - 1, job]
            end[row, job] = finish


@pytest.mark.parametrize(
    "function",
    [
        *("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuStreamCreateWithPriority"),
        *("cuMemAlloc_v2", "cuMemsetD8_v2", "cuCtxSynchronize", "cuLaunchKernel"),
        *("cuMemcpyDtoH_v2", "cuMemFree_v2", "cuStreamDestroy_v2"),
        *("cuStreamSynchronize", "cuStreamQuery"),
    ],
)
def test_errors_of_a_play(device: Device, standin: Standin, function: str) -> None:
    schedule = planned(device).schedule
    kernels = [Operation(i, 4, 256, ns=US, bytes=512) for i in range(3)]
    wait: Any = {"cuStreamSynchronize": "streams", "cuStreamQuery": "poll"}.get(function, "context")

    def play() -> Any:
        return gs.cuda.play(schedule, device, kernels=kernels, wait=wait)

    standin.fail(function, 0, 0)
    before = standin.live
    play()
    count = standin.calls(function)
    for call in range(1, count + 1):
        standin.fail(function, call, 1)
        with pytest.raises(CudaError, match=f"{function.removesuffix('_v2')}: CUDA_ERROR_INV"):
            play()
        assert standin.live == before
    standin.fail(function, 0, 0)
    assert play().late_count == 0 and count > 0


def test_a_fault_during_a_play(device: Device, standin: Standin) -> None:
    schedule = planned(device).schedule
    standin.fail("cuCtxSynchronize", 6, 719)
    kernels = [Operation(i, ns=US) for i in range(3)]
    with pytest.raises(CudaError, match=r"cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED \(719\)"):
        gs.cuda.play(schedule, device, kernels=kernels)
    with pytest.raises(CudaError, match="lost to this process"):
        gs.cuda.play(schedule, device, kernels=kernels)


# Two clocks


@pytest.mark.parametrize("drift", [0, 80, -80])
@pytest.mark.parametrize("resolution", [1, 1000])
def test_clocks_that_drift_apart(standin: Standin, drift: int, resolution: int) -> None:
    """80 millionths are 320 µs in this play of 4 s, and more than a dispatch takes."""
    tasks = small(period=[400 * 1000 * US] * 3, wcet=[100 * US, 250 * US, 250 * US])
    schedule = gs.pbs.search(tasks, gs.BatchTable([0] + [300 * US] * 7)).schedule
    assert schedule is not None
    standin.set(drift=drift, resolution=resolution)
    with Device() as device:
        played = gs.cuda.play(schedule, device, cycles=10, timed=True)
    low, high = played.clock_offset
    assert -resolution <= high - low < LAUNCH + LATENCY + WAKE + 500 + resolution
    assert (played.start >= played.dispatch[played.frame] - resolution).all()
    assert (played.end <= played.done[played.frame]).all()
    assert (played.done[played.frame] - played.end).max() < 20 * US
    assert played.late_count == 0


def test_a_graph_alone_says_nothing_of_the_clocks(standin: Standin, device: Device) -> None:
    tasks = small(period=[10**6], wcet=[10**5], blocks=[1], threads=[32])
    schedule = gs.pbs.search(tasks, gs.BatchTable([0, 2 * 10**5])).schedule
    played = gs.cuda.play(schedule, device, graphs={0: standin.graph(10**5)})
    assert played.end.tolist() == [-1] and played.late_count == 0
    assert len(played.overhead().each) == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tick": 0}, r"tick: got 0, expected 1 to 2\*\*61 - 1 ns"),
        ({"cycles": 0}, r"cycles: got 0, expected 1 to 2\*\*61 - 1 cycles"),
        ({"awake": -1}, "awake: got -1, expected 0 to 10000000 ns"),
        ({"lead": 10**11}, r"lead: got -?\d+, expected 0 to 10000000000 ns"),
        ({"lead": -1}, "lead: got -1, expected 0 to 10000000000 ns"),
        ({"realtime": -1}, "realtime: got -1, expected a number of at least 0"),
        ({"graphs": {3: 1}}, "graphs: got task 3, expected 0 to 2"),
        ({"graphs": {0: 0}}, r"graphs\[0\]: got 0, expected the handle of a graph"),
        ({"footprint": 1.5}, r"footprint: got 1\.5, expected bytes, one whole"),
        ({"footprint": [1, 2]}, r"footprint: got \[1, 2\], expected bytes, one whole"),
        ({"kernels": [Operation(kind="memset", bytes=8)] * 3}, "', expected a kernel, or a graph"),
        ({"kernels": [Operation(kind="graph")] * 3}, "', expected a kernel, or a graph with a"),
        ({"kernels": [Operation(graph=1)] * 3}, "', expected a kernel, or a graph with a handle"),
    ],
)
def test_plays_that_are_refused(device: Device, change: dict[str, Any], told: str) -> None:
    schedule = gs.pbs.search(small(), gs.BatchTable([0] + [100 * US] * 7)).schedule
    assert schedule is not None
    with pytest.raises(ValueError, match=told):
        gs.cuda.play(schedule, device, **{"timed": True, **change})


def test_what_is_no_plan_is_refused(device: Device) -> None:
    """Such as the schedule of a search that found none."""
    with pytest.raises(TypeError, match="plan: got NoneType, expected a Schedule or a"):
        gs.cuda.play(None, device)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"blocks\[0\]: got 1\.5, expected an integer"):
        device.run([Operation(blocks=1.5)])  # type: ignore[arg-type]
