"""Launches of traces: times of calls, streams, priorities, waits for events, times of blocks."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_nsys import GLOBAL_PID, change, database, table
from test_nsys import kernel as nsys_kernel
from test_trace_workload import nsys

import gpusched as gs
from gpusched.io import TraceReplay, read_trace

pytestmark = pytest.mark.python

DATA = Path(__file__).parents[1] / "data"
GPU = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8)
US = 1000


def op(
    start: int, duration: int, stream: int = 7, call: int | None = None, **other: Any
) -> dict[str, Any]:
    """A kernel in us; ``call`` is the time of its launch call."""
    return {"start": start, "duration": duration, "stream": stream, "call": call, **other}


def kineto(path: Path, ops: list[dict[str, Any]], more: list[dict[str, Any]] | None = None) -> Path:
    """A trace of the PyTorch profiler of kernels, and of copies with a ``copy`` of their kind."""
    events: list[dict[str, Any]] = list(more or [])
    for number, each in enumerate(ops, start=1000):
        args: dict[str, Any] = {"device": 0, "context": each.get("context", 1)}
        args |= {"stream": each["stream"], "correlation": number}
        if "priority" in each:
            args["priority"] = each["priority"]
        copy = each.get("copy")
        if copy is None:
            args |= {"registers per thread": each.get("regs", 0), "shared memory": 0}
            args |= {"grid": [each.get("blocks", 1), 1, 1], "block": [128, 1, 1]}
        events.append(
            {
                "ph": "X",
                "cat": "gpu_memcpy" if copy else "kernel",
                "name": f"Memcpy {copy}" if copy else each.get("name", f"k{number}"),
                "ts": each["start"],
                "dur": each["duration"],
                "pid": 0,
                "tid": each["stream"],
                "args": args,
            }
        )
        if each["call"] is not None:
            events.append(call("cudaLaunchKernel", each["call"], number))
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def call(name: str, at: int, number: int) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "cuda_runtime", "name": name, "ts": at, "dur": 1, "pid": 5, "tid": 5,
        "args": {"correlation": number},
    }  # fmt: skip


def wait(stream: int, at: int, on: int, recorded: int, number: int) -> list[dict[str, Any]]:
    """``stream`` waits for an event that was recorded in the stream ``on``."""
    args = {"stream": stream, "correlation": number, "context": 1, "device": 0}
    args |= {"wait_on_stream": on, "wait_on_cuda_event_record_corr_id": number + 1}
    return [
        call("cudaStreamWaitEvent", at, number),
        call("cudaEventRecord", recorded, number + 1),
        {
            "ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": at, "dur": 1,
            "pid": 0, "tid": stream, "args": args,
        },
    ]  # fmt: skip


def made(path: Path, *args: Any, **options: Any) -> TraceReplay:
    return read_trace(path, GPU).launches(*args, **options)


def said(replay: TraceReplay, text: str) -> bool:
    return any(text in sentence for sentence in replay.assumptions)


def test_operations_are_launched_by_their_calls(tmp_path: Path) -> None:
    """The second kernel waits for the first on the GPU, not for its launch."""
    ops = [
        op(110, 50, call=100),
        op(160, 20, call=105),
        op(300, 10, stream=20, call=290, copy="HtoD (Pinned -> Device)"),
        op(400, 10, stream=20),
    ]
    replay = made(kineto(tmp_path / "t", ops))
    launches = replay.launches
    assert replay.origin == 110 * US  # the latency of 10 us is what idle operations took
    assert launches.time.tolist() == [0, 5 * US, 190 * US, 290 * US]
    assert launches.kind.tolist() == [0, 0, 1, 0]
    assert launches.stream_name == ("stream 7", "stream 20")
    assert launches.stream_kind.tolist() == [2, 1]
    assert launches.name == ("k1000", "k1001", "copy in", "k1003")
    assert replay.kernel.tolist() == [0, 1, -1, 2] and replay.transfer.tolist() == [-1, -1, 0, -1]
    assert said(replay, "10000 ns after their launch calls")
    assert said(replay, "1 of 4 operations have no launch call")
    assert said(replay, "stream 7 is the legacy NULL stream")
    run = gs.simulate.hierarchy(launches, GPU)
    assert (run.first + replay.origin).tolist() == [t * US for t in (110, 160, 300, 400)]
    # No latency: the calls themselves. None later than the measured start.
    assert made(tmp_path / "t", latency=0).launches.time.tolist() == [0, 5000, 190_000, 300_000]
    late = made(tmp_path / "t", latency=10**9)
    assert (late.launches.time + late.origin).tolist() == [t * US for t in (110, 160, 300, 400)]


def test_a_kernel_alone_takes_its_measured_time(tmp_path: Path) -> None:
    """32 blocks of 128 threads fit the GPU at once; 65 need three waves of 34 us, rounded up."""
    ops = [op(0, 100, blocks=65), op(1000, 100, blocks=32), op(2000, 0)]
    replay = made(kineto(tmp_path / "t", ops))
    assert replay.launches.duration.tolist() == [33334, 100_000, 1]
    run = gs.simulate.hierarchy(replay.launches, GPU)
    assert (run.end - run.first).tolist() == [100_002, 100_000, 1]
    assert said(replay, "1 operations of no duration take 1 tick")
    bigger = read_trace(tmp_path / "t", GPU).launches(gs.GPU(8, 1024, 16))
    assert bigger.launches.duration.tolist() == [50_000, 100_000, 1]


def test_priorities_of_streams(tmp_path: Path) -> None:
    ops = [
        op(0, 9, stream=20, priority=-5),
        op(20, 9, stream=21, priority=0),
        op(40, 9, stream=20, priority=-5),
        op(60, 9, stream=22),
        op(80, 9, stream=23, priority="high"),
        op(90, 9, stream=23, priority=[1]),
    ]
    replay = made(kineto(tmp_path / "t", ops))
    assert replay.launches.stream_priority.tolist() == [-5, 0, 0, 0]
    assert said(replay, "2 streams of unknown priority have the default, 0")
    assert said(replay, "4 streams of unknown kind are non-blocking")
    blocking = made(tmp_path / "t", streams="blocking")
    assert blocking.launches.stream_kind.tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="streams: got 'null', expected one of blocking"):
        made(tmp_path / "t", streams="null")


def test_waits_for_events(tmp_path: Path) -> None:
    """Stream 21 waits for the second kernel of stream 20: the third is launched after the record.
    The last wait is for an event of an idle stream, and holds up nothing."""
    ops = [
        op(10, 50, stream=20, call=0),
        op(60, 50, stream=20, call=1),
        op(110, 50, stream=20, call=3),
        op(8, 5, stream=21, call=2),
        op(110, 50, stream=21, call=6),
        op(160, 50, stream=21, call=7),
    ]
    waits = [*wait(21, 5, 20, 2, 1), *wait(20, 5, 22, 2, 3), *wait(21, 5, 20, 2, 5)]
    replay = made(kineto(tmp_path / "t", ops, waits), latency=0)
    order = {name: i for i, name in enumerate(replay.launches.name)}
    after: list[tuple[int, ...]] = [()] * 6
    after[order["k1004"]] = (order["k1001"],)
    assert list(replay.launches.after) == after
    assert said(replay, "1 dependencies of launches are those of 2 waits for events")
    run = gs.simulate.hierarchy(replay.launches, GPU)
    assert run.first[order["k1004"]] == run.end[order["k1001"]]
    without = made(kineto(tmp_path / "u", ops), latency=0)
    assert not any(without.launches.after)
    assert said(without, "the file has no waits of streams for events")


def test_incomplete_waits_are_counted(tmp_path: Path) -> None:
    ops = [op(10, 5, stream=20, call=0), op(10, 5, stream=21, call=9)]
    good = wait(21, 5, 20, 2, 1)
    events = []
    for key, value in (
        ("wait_on_stream", -1), ("wait_on_cuda_event_record_corr_id", None), ("stream", "x"),
        ("correlation", 10**30), ("wait_on_cuda_event_record_corr_id", 77),
    ):  # fmt: skip
        broken = json.loads(json.dumps(good[2]))
        broken["args"][key] = value
        events.append(broken)
    late = wait(21, 2, 20, 5, 11)  # recorded after the wait: not the event that it waits for
    bare = {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event"}
    path = kineto(tmp_path / "t", ops, [*good[:2], *events, *late, bare])
    trace = read_trace(path, GPU)
    assert len(trace.events.waits) == 0 and trace.events.lost_waits == 7
    assert said(trace.launches(), "7 waits for events of unknown streams are left out")
    assert not any(trace.launches().launches.after)


def test_waits_that_the_file_does_not_explain_are_counted(tmp_path: Path) -> None:
    """Calls without the events that say for what they wait, read by columns and one by one."""
    ops = [op(10, 5, stream=20, call=0), op(20, 5, stream=21, call=9)]
    calls = [call("cudaStreamWaitEvent", 5, number) for number in range(5)]
    no_rest = "streams are taken as independent"
    five = f"5 calls of cudaStreamWaitEvent do not say for which launch they wait: {no_rest}"
    bad = call("cudaFree", 1, 9) | {"ts": "?"}  # the columns are not regular
    del bad["args"]
    for more in (calls, [*calls, bad], [*calls, call("cuStreamWaitEvent", 5, 3)]):
        trace = read_trace(kineto(tmp_path / "t", ops, more), GPU)
        assert trace.events.missing == "" and trace.events.unexplained_waits == 5
        replay = trace.launches()
        assert five in replay.assumptions and not said(replay, "the file has no waits")
        assert five in trace.workload("stream", period="1 ms").notes
    one = read_trace(kineto(tmp_path / "one", ops, calls[:1]), GPU).launches()
    assert f"1 call of cudaStreamWaitEvent does not say for which launch it waits: {no_rest}" in (
        one.assumptions
    )
    # Calls with such an event count no longer, even if the event is incomplete.
    explained = wait(21, 5, 20, 2, 1)
    some = read_trace(kineto(tmp_path / "some", ops, [*calls[2:], *explained]), GPU).launches()
    assert said(some, "3 calls of cudaStreamWaitEvent do not say for which launch they wait: these")
    assert any(some.launches.after)
    assert read_trace(kineto(tmp_path / "all", ops, explained)).events.unexplained_waits == 0
    del explained[2]["args"]["wait_on_stream"]
    events = read_trace(kineto(tmp_path / "lost", ops, explained)).events
    assert (events.unexplained_waits, events.lost_waits) == (0, 1)


def test_dependencies_never_form_a_circle(tmp_path: Path) -> None:
    """Random waits, also at equal times: every simulation ends."""
    for seed in range(60):
        rng = random.Random(seed)
        ops, start = [], {20: 0, 21: 0, 22: 0}
        for _ in range(rng.randint(2, 14)):
            stream = rng.choice(list(start))
            called = rng.choice([None, rng.randrange(40)])
            begin = max(start[stream], called or 0) + rng.randrange(3)
            ops.append(op(begin, rng.randrange(9), stream=stream, call=called))
            start[stream] = begin + ops[-1]["duration"]
        waits: list[dict[str, Any]] = []
        for i in range(rng.randrange(6)):
            at = rng.randrange(40)
            two = rng.choices(list(start), k=2)
            waits += wait(two[0], at, two[1], rng.randint(0, at), 10 * i + 1)
        replay = made(kineto(tmp_path / "t", ops, waits), latency=rng.choice([None, 0, 5000]))
        run = gs.simulate.hierarchy(replay.launches, GPU)
        assert run.outcome == "done", seed
        for stream in range(replay.launches.streams):  # in the order of the measured starts
            mine = replay.kernel[replay.launches.stream == stream]
            assert mine.tolist() == sorted(mine.tolist())


def test_memsets_and_copies_on_the_device_are_left_out(tmp_path: Path) -> None:
    ops = [op(0, 9), op(20, 5, copy="DtoD (Device -> Device)"), op(30, 5, copy="DtoH (x)")]
    replay = made(kineto(tmp_path / "t", ops))
    assert replay.launches.kind.tolist() == [0, 2]
    assert said(replay, "and CUDA graphs recorded as a whole are left out: 1 (5us in all)")
    assert said(replay, "the launches contain 73.6 % of the observed GPU time (14us of 19us)")


def test_contexts(tmp_path: Path) -> None:
    ops = [op(0, 9, context=4), op(1, 9, context=9), op(2, 9, context=9, stream=13)]
    launches = made(kineto(tmp_path / "t", ops)).launches
    assert launches.stream_context.tolist() == [0, 1, 1]
    assert launches.stream_kind.tolist() == [2, 2, 1]
    assert launches.stream_name[0] == "context 4, stream 7"
    with pytest.raises(ValueError, match="timeslice"):
        gs.simulate.hierarchy(launches, GPU)
    assert gs.simulate.hierarchy(launches, GPU, timeslice=1000).outcome == "done"


def test_copies_of_an_unknown_context_are_of_the_only_one(tmp_path: Path) -> None:
    copy = op(20, 5, copy="HtoD (x)", context=0)
    launches = made(kineto(tmp_path / "t", [op(0, 9, context=3), copy])).launches
    assert launches.streams == 1 and launches.contexts == 1
    several = [op(0, 9, context=3), op(9, 9, context=4), copy]
    assert made(kineto(tmp_path / "t", several)).launches.contexts == 3


def test_refusals(tmp_path: Path) -> None:
    path = kineto(tmp_path / "t", [op(0, 9), op(20, 9, regs=200, name="wide")])
    with pytest.raises(ValueError, match="gpu: got None"):
        read_trace(path).launches()
    with pytest.raises(ValueError, match=r"kernel 1, 'wide': got 128 threads, 200 registers"):
        made(path, gs.GPU(4, 1024, 8, regs_per_sm=8192))
    with pytest.raises(ValueError, match="latency: got -1, expected 0 to"):
        made(path, latency=-1)
    with pytest.raises(ValueError, match="no such GPU"):
        made(path, "no such GPU")
    with pytest.raises(ValueError, match="trace: got no kernels"):
        read_trace(path, GPU).select("nothing").launches()
    far = kineto(tmp_path / "far", [op(0, 9), op(2**50, 9)])
    with pytest.raises(OverflowError, match=r"expected less than 2\*\*59 ticks after"):
        made(far)
    early = kineto(tmp_path / "early", [op(9 * 10**15, 9, call=-9 * 10**15)])
    with pytest.raises(OverflowError, match=r"expected less than 2\*\*59"):
        made(early)


def test_streams_and_events_of_nsight_systems(tmp_path: Path) -> None:
    """Kernel 2 of stream 20 waits for kernel 1 of stream 21, not for kernel 3, which is launched
    after the record of the event that counts."""
    launches = [(10, 1, 40, 50), (12, 1, 45, 30), (30, 1, 95, 9), (20, 1, 80, 20)]
    path = nsys(tmp_path / "t", launches, [])
    calls = [(14, 901), (15, 902), (25, 903), (26, 904)]
    rows = ", ".join(f"({at}, {at + 1}, {GLOBAL_PID + 1}, {number}, 3)" for at, number in calls)
    change(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 20 WHERE rowid IN (1, 3)",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 21 WHERE rowid IN (2, 4)",
        f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {rows}",
        "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, "
        "processId INTEGER, contextId INTEGER, priority INTEGER, flag INTEGER)",
        f"INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (20, 0, 0, 4242, 1, {2**32 - 5}, 2), "
        "(21, 0, 0, 4242, 1, -2, 1), (13, 0, 0, 4242, 1, 0, 3)",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, "
        "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER)",
        # Event 6 is recorded twice: before the wait, and after it.
        f"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 21, 901, {GLOBAL_PID}, 6), "
        f"(0, 1, 21, 904, {GLOBAL_PID}, 6), (0, 1, 21, 902, {GLOBAL_PID}, 8)",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, "
        "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
        "syncType INTEGER, eventId INTEGER)",
        f"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES "
        f"(0, 0, 1, 20, 903, {GLOBAL_PID}, 2, 6), (0, 0, 1, 20, 903, {GLOBAL_PID}, 3, 8), "
        f"(0, 0, 1, 20, 903, {GLOBAL_PID}, 2, 9)",
    )
    trace = read_trace(path)
    assert len(trace.events.waits) == 1 and trace.events.lost_waits == 1
    replay = trace.launches(latency=0)
    made = replay.launches
    assert made.stream_name == ("stream 20", "stream 21")
    assert made.stream_priority.tolist() == [-5, -2]
    assert made.stream_kind.tolist() == [1, 0]
    order = {name: i for i, name in enumerate(made.name)}
    assert made.after[order["k2"]] == (order["k1"],)
    assert sum(map(len, made.after)) == 1
    assert not said(replay, "unknown kind") and not said(replay, "unknown priority")
    # Without the table of events, the waits are known and not what they wait for.
    change(path, "DROP TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    assert read_trace(path).events.lost_waits == 2
    # Without the table of synchronizations, the calls are known, by their name.
    events = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
    change(
        path,
        "INSERT INTO StringIds VALUES (50, 'cudaStreamWaitEvent_v3020')",
        "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 50 WHERE correlationId IN (903, 904)",
    )
    assert read_trace(path).events.unexplained_waits == 1  # 904 has no row
    change(path, f"ALTER TABLE {events} RENAME TO other")
    calls_of = read_trace(path)
    assert calls_of.events.unexplained_waits == 2 and calls_of.events.lost_waits == 0
    assert said(calls_of.launches(), "2 calls of cudaStreamWaitEvent do not say for which launch")
    change(path, f"ALTER TABLE other RENAME TO {events}")
    # A second NULL stream of a context counts as one of unknown kind.
    change(path, "UPDATE TARGET_INFO_CUDA_STREAM SET flag = 3")
    assert sorted(read_trace(path).launches().launches.stream_kind.tolist()) == [1, 2]


def test_processes_of_nsight_systems_keep_their_streams(tmp_path: Path) -> None:
    kernels = [
        nsys_kernel("a", 1000, stream=7, pid=1),
        nsys_kernel("b", 2000, stream=7, pid=2),
    ]
    path = database(tmp_path / "t", kernels, devices=((0, 0, 1), (0, 0, 2)))
    change(
        path,
        "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY",
        "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId, processId, contextId, priority, flag)",
        "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 2, 1, -3, 2), (7, 1, 1, -1, 3)",
    )
    launches = read_trace(path).launches().launches
    assert launches.stream_context.tolist() == [0, 1]
    assert launches.stream_priority.tolist() == [-1, -3]
    assert launches.stream_kind.tolist() == [2, 1]


def test_damaged_tables_of_streams_are_told(tmp_path: Path) -> None:
    path = nsys(tmp_path / "t", [(10, 1, 40, 50)], [])
    change(
        path,
        "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId, contextId, priority)",
        "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 1, 'urgent')",
    )
    replay = read_trace(path).launches()
    assert said(replay, "'priority': got 'urgent', expected an integer")
    assert replay.launches.time.tolist() == [0]


def test_reports_in_csv_have_no_calls(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [nsys_kernel("a", 1000), nsys_kernel("b", 9000)])
    replay = read_trace(path).launches()
    assert replay.launches.time.tolist() == [0, 8000] and replay.origin == 1000
    assert said(replay, "no copies and launch calls are known")


@pytest.mark.parametrize("name", ["pipeline.pt.trace.json", "perception.pt.trace.json.gz"])
def test_the_samples_run(name: str) -> None:
    trace = read_trace(DATA / name)
    replay = trace.launches()
    assert isinstance(replay, TraceReplay) and len(replay.launches) == len(replay.kernel)
    kernels = replay.kernel[replay.kernel >= 0]
    assert sorted(kernels.tolist()) == list(range(len(trace)))
    run = gs.simulate.hierarchy(replay.launches, trace.gpu, blocks=False)
    assert run.outcome == "done"
    launched = replay.launches.time[replay.kernel >= 0] + replay.origin
    assert (launched <= trace.start[kernels]).all()


def test_recorded_waits_for_events(tmp_path: Path) -> None:
    """A trace of an A100 with CUDA synchronization events, where it is present."""
    from test_io import TRACES

    path = TRACES / "alexnet_a100.pt.trace.json.gz"
    if not path.exists():
        pytest.skip("no recorded traces")
    trace = read_trace(path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    assert len(trace.events.waits) == sum(e.get("name") == "Stream Wait Event" for e in events)
    replay = trace.launches()
    edges = [(i, j) for i, row in enumerate(replay.launches.after) for j in row]
    stream = replay.launches.stream
    assert edges and all(stream[i] != stream[j] for i, j in edges)
    # The profiler's own order: a kernel starts after the end of what it waits for.
    start = np.where(replay.kernel >= 0, trace.start[replay.kernel], 0)
    end = np.where(replay.kernel >= 0, (trace.start + trace.duration)[replay.kernel], 0)
    kernels = [(i, j) for i, j in edges if replay.kernel[i] >= 0 and replay.kernel[j] >= 0]
    assert all(start[i] >= end[j] for i, j in kernels)
