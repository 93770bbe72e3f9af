"""Workloads from traces: segments of jobs, sequences, quantiles, periods, what is left out."""

from __future__ import annotations

import contextlib
import doctest
import gzip
import json
import re
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import perception_trace
import pytest
from test_nsys import GLOBAL_PID, PID, change, database
from test_nsys import kernel as nsys_kernel
from test_nsys import table as nsys_table

import gpusched as gs
from gpusched.io.traces import trace, trace_kernels

pytestmark = pytest.mark.python

MAIN, WORKER = 11, 12


class Recording:
    """Events of a small Kineto file; times in us."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.correlation = 0

    def add(self, cat: str, name: Any, start: Any, duration: Any, tid: Any, pid: Any = 1,
            **args: Any) -> None:  # fmt: skip
        self.events.append({"ph": "X", "cat": cat, "name": name, "ts": start, "dur": duration,
                            "pid": pid, "tid": tid, "args": args})  # fmt: skip

    def range(self, name: Any, start: Any, duration: Any, tid: int = MAIN, pid: int = 1) -> None:
        self.add("user_annotation", name, start, duration, tid, pid)

    def call(self, name: str, start: float, duration: float, tid: int = MAIN, pid: int = 1) -> int:
        self.correlation += 1
        self.add("cuda_runtime", name, start, duration, tid, pid, correlation=self.correlation)
        return self.correlation

    def wait(self, start: float, duration: float, tid: int = MAIN) -> None:
        self.call("cudaStreamSynchronize", start, duration, tid)

    def launch(self, at: float, start: float, duration: float, name: str = "k", tid: int = MAIN,
               stream: int = 7, blocks: int = 4, call: float = 2, pid: int = 1,
               **other: Any) -> None:  # fmt: skip
        number = self.call("cudaLaunchKernel", at, call, tid, pid)
        args = {"device": 0, "context": 1, "stream": stream, "correlation": number,
                "registers per thread": 32, "shared memory": 0, "grid": [blocks, 1, 1],
                "block": [128, 1, 1]} | other  # fmt: skip
        self.add("kernel", name, start, duration, stream, 0, **args)

    def copy(self, way: str, at: float, start: float, duration: float, call: float = 2,
             tid: int = MAIN, device: int = 0) -> None:  # fmt: skip
        number = self.call("cudaMemcpyAsync", at, call, tid)
        cat, name = ("gpu_memset", "Memset (Device)") if way == "set" else (
            "gpu_memcpy", f"Memcpy {way} (a -> b)")  # fmt: skip
        self.add(cat, name, start, duration, 7, 0, device=device, context=1, stream=7,
                 correlation=number)  # fmt: skip

    def read(self, folder: Path, gpu: str | None = "Orin") -> gs.io.Trace:
        path = folder / "trace.json"
        path.write_text(json.dumps({"traceEvents": self.events}))
        return gs.io.read_trace(path, gpu=gpu)


def us(*segments: Any) -> list[tuple[str, float]]:
    """Kind and time in us of each segment."""
    return [(type(segment).__name__, segment.time / 1000) for segment in segments]


def job(recording: Recording, start: float, longer: float = 0) -> None:
    """CPU work of 10, copy in, two kernels, a wait, CPU work of 8, a kernel, copy out, 5."""
    recording.range("net", start, 139 + longer)
    recording.copy("HtoD", start + 8, start + 12, 10)  # returns at 10
    recording.launch(start + 14, start + 25, 20 + longer)
    recording.launch(start + 18, start + 50 + longer, 30, "second")
    recording.wait(start + 22, 62 + longer)  # until 84, the kernel ends at 80
    recording.launch(start + 90 + longer, start + 95 + longer, 25, "third")  # returns at 92
    recording.copy("DtoH", start + 94 + longer, start + 122 + longer, 6)
    recording.wait(start + 98 + longer, 36)  # until 134


def test_a_job_is_cpu_work_copies_and_kernels(tmp_path: Path) -> None:
    recording = Recording()
    job(recording, 1000)
    job(recording, 2000, 4)
    job(recording, 3000)
    w = recording.read(tmp_path).workload()
    assert w.names == ("net",)
    assert us(*w["net"].segments) == [
        ("CPU", 10), ("CopyIn", 10), ("Kernel", 24), ("Kernel", 30), ("CPU", 8), ("Kernel", 25),
        ("CopyOut", 6), ("CPU", 5),
    ]  # fmt: skip
    kernels = w["net"].kernels
    assert [kernel.name for kernel in kernels] == ["k", "second", "third"]
    assert (kernels[0].blocks, kernels[0].threads, kernels[0].regs) == (4, 128, 32)
    assert (w.tick, w["net"].period, w["net"].deadline) == ("ns", 1_000_000, 1_000_000)
    assert w.notes[1] == (
        "net: from 3 of 3 occurrences; the period is the median of 2 distances, 1ms to 1ms"
    )
    assert w.notes[0].startswith("from trace.json by annotation: times are the largest of the jobs")
    w.save(tmp_path / "w.toml")
    assert gs.Workload.load(tmp_path / "w.toml").notes == w.notes


def test_a_quantile_is_taken_by_rank(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(10):
        recording.range("net", 1000 * i, 100)
        recording.launch(1000 * i, 1000 * i + 10, 50 + i, blocks=100 - i)
    read = recording.read(tmp_path)
    for quantile, time in (
        (1, 59), ("0.9", 58), (0.9, 58), (Fraction(9, 10), 58), ("0.901", 59), (0.05, 50),
        ("0.5", 54), (Fraction(1, 10**9), 50), (1e-9, 50), (np.float64(0.9), 58),
    ):  # fmt: skip
        w = read.workload(quantile=quantile)
        [kernel] = w["net"].kernels
        assert (kernel.time, kernel.blocks) == (time * 1000, 150 - time)
        assert "grids of 1 kernel differ between jobs" in w.notes[1]
    assert "the 0.9 quantile, by rank, of the jobs" in read.workload(quantile="0.9").notes[0]
    for wrong in (0, 2, "1.1", "-1", "x", 1.5, -0.5, 0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="quantile: got"):
            read.workload(quantile=wrong)
    with pytest.raises(TypeError, match="quantile: got None"):
        read.workload(quantile=None)  # type: ignore[arg-type]


def test_nested_ranges_and_names(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range(f"frame {i}", 1000 * i, 500)
        recording.range("conv layer", 1000 * i + 100, 100)
        recording.launch(1000 * i + 110, 1000 * i + 120, 10, "inner")
        recording.launch(1000 * i + 300, 1000 * i + 310, 20, "outer")
    read = recording.read(tmp_path)
    with pytest.raises(ValueError, match="period: got None for 'frame 0', 'frame 1', expected one"):
        read.workload()
    w = read.workload(names=r"(\w+) \d+")
    assert w.names == ("frame",)
    assert [kernel.name for kernel in w["frame"].kernels] == ["inner", "outer"]
    w = read.workload(nesting="innermost")
    assert w.names == ("conv layer",)
    assert [kernel.name for kernel in w[0].kernels] == ["inner"]
    assert "left out: kernels and copies launched outside of all ranges: 2 (40us in all)" in w.notes
    assert read.workload(names="conv").names == ("conv layer",)
    with pytest.raises(ValueError, match="names: got 'none', expected a match among 'frame 0'"):
        read.workload(names="none")
    with pytest.raises(ValueError, match=r"names: got '\(', expected a regular expression"):
        read.workload(names="(")


def test_launches_of_threads_without_ranges_belong_to_the_only_one_around(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(3):
        recording.range("net", 1000 * i, 500)
        recording.launch(1000 * i + 100, 1000 * i + 110, 10, tid=WORKER)
    recording.range("other", 2100, 300, tid=13)  # in the third, nobody can tell
    recording.launch(2350, 2360, 10, "own", tid=13)
    w = recording.read(tmp_path).workload(period="1ms")
    assert (
        "net: from 2 of 3 occurrences; 1 without GPU work left out; the period is given" in w.notes
    )
    what = "left out: kernels and copies launched in several ranges of other threads"
    assert f"{what}: 1 (10us in all)" in w.notes


def test_a_backward_pass_belongs_to_the_thread_that_waits_for_it(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range("backward", 1000 * i, 500)
        recording.add("cpu_op", "autograd::engine::evaluate_function: Mul", 1000 * i + 1, 9, WORKER)
        recording.launch(1000 * i + 100, 1000 * i + 110, 10, tid=WORKER)
        recording.range("all_reduce", 1000 * i + 200, 100, tid=WORKER)
        recording.launch(1000 * i + 210, 1000 * i + 220, 10, "reduce", tid=WORKER)
    read = recording.read(tmp_path)
    w = read.workload()
    assert w.names == ("backward",)
    assert [kernel.name for kernel in w[0].kernels] == ["k", "reduce"]
    assert read.workload(nesting="innermost").names == ("all_reduce",)


def test_steps(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(3):
        recording.range(f"ProfilerStep#{i}", 1000 * i, 1000)
        recording.range("net", 1000 * i + 10, 300)
        recording.launch(1000 * i + 20, 1000 * i + 30, 10)
        recording.launch(1000 * i + 400, 1000 * i + 410, 10, "optimizer", tid=WORKER)
    read = recording.read(tmp_path)
    w = read.workload("step")
    assert (w.names, w[0].period) == (("step",), 1_000_000)
    assert [kernel.name for kernel in w[0].kernels] == ["k", "optimizer"]
    assert any(n.startswith("3 kernels and copies that other threads launched") for n in w.notes)
    assert read.workload().names == ("net",)  # steps are not annotations
    assert [k.name for k in read.workload("step", names="net")["step"].kernels] == ["k"]


def test_older_profilers_call_steps_operators(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.add("Operator", f"ProfilerStep#{i}", 1000 * i, 1000, MAIN)
        recording.launch(1000 * i + 20, 1000 * i + 30, 10)
    for event in recording.events:
        event["cat"] = {"kernel": "Kernel", "cuda_runtime": "Runtime"}.get(
            event["cat"], event["cat"]
        )
    assert us(*recording.read(tmp_path).workload("step")[0].segments) == [
        ("CPU", 22), ("Kernel", 10), ("CPU", 960),
    ]  # fmt: skip


def test_streams_by_steps_by_ranges_and_by_period(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(3):
        recording.range(f"ProfilerStep#{i}", 1000 * i, 1000)
        recording.launch(1000 * i + 20, 1000 * i + 30, 10)
        recording.launch(1000 * i + 50, 1000 * i + 60, 10, "other", stream=8)
        recording.copy("DtoH", 1000 * i + 80, 1000 * i + 90, 3)
    w = recording.read(tmp_path).workload("stream")
    assert w.names == ("stream 7", "stream 8")
    assert us(*w["stream 7"].segments) == [("Kernel", 10), ("CopyOut", 3)]
    assert us(*w["stream 8"].segments) == [("Kernel", 10)]
    assert w["stream 8"].period == 1_000_000
    assert "a job is what is launched on a stream in a profiler step" in w.notes
    recording.events = [e for e in recording.events if e["cat"] != "user_annotation"]
    read = recording.read(tmp_path)
    with pytest.raises(ValueError, match="period: got None for 'stream 7', expected a period, bec"):
        read.workload("stream")
    with pytest.raises(ValueError, match="names: got 'x', expected a match among no ranges at all"):
        read.workload("stream", names="x")
    w = read.workload("stream", period="1ms")
    assert us(*w["stream 7"].segments) == [("Kernel", 10), ("CopyOut", 3)]
    w = read.workload("stream", period={"stream 7": "3ms", "stream 8": "1ms"})
    assert len(w["stream 7"].segments) == 6
    assert [task.period for task in w] == [3_000_000, 1_000_000]


def test_a_task_per_kernel(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(4):
        recording.launch(1000 * i, 1000 * i + 10, 10 + i, "void ns::f<1>(int)", blocks=4 + i % 2)
        recording.copy("HtoD", 1000 * i + 80, 1000 * i + 90, 3)
    read = recording.read(tmp_path, gpu=None)
    w = read.workload("kernel")
    assert w.names == ("f", "f#2")
    assert [us(*task.segments) for task in w] == [[("Kernel", 12)], [("Kernel", 13)]]
    assert [task.period for task in w] == [1_541_500, 1_541_500]  # 3,083 us over two launches each
    assert "left out: copies to and from the device: 4 (12us in all)" in w.notes
    with pytest.raises(ValueError, match="names: got 'g', expected one that matches a kernel"):
        read.workload("kernel", names="g")
    assert read.workload("kernel", names="f<1>").names == ("f", "f#2")


def test_the_most_frequent_sequence_is_taken(tmp_path: Path) -> None:
    recording = Recording()
    for i, names in enumerate(["ab", "a", "ab", "abc", "", "ba", "ab"]):
        recording.range("net", 1000 * i, 500)
        for j, name in enumerate(names):
            recording.launch(1000 * i + 10 * j, 1000 * i + 50 * j + 10, 20 + 20 * (names == "abc"),
                             name)  # fmt: skip
    w = recording.read(tmp_path).workload()
    assert [kernel.name for kernel in w["net"].kernels] == ["a", "b"]
    assert w.notes[1] == (
        "net: from 3 of 7 occurrences; 1 without GPU work left out; 3 with other sequences of GPU "
        "work left out, which take the GPU 180us in all, each up to 120us (those kept: 40us); the "
        "period is the median of 6 distances, 1ms to 1ms"
    )


def test_of_equally_frequent_sequences_the_longer_is_taken(tmp_path: Path) -> None:
    recording = Recording()
    for i, time in enumerate([10, 30, 20]):
        recording.range("net", 1000 * i, 500)
        recording.launch(1000 * i, 1000 * i + 10, time, f"k{i}")
    assert us(*recording.read(tmp_path).workload()["net"].kernels) == [("Kernel", 30)]


def test_ranges_without_gpu_work_are_tasks_of_the_cpu(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(3):
        recording.range("plan", 1000 * i, 40 + i)
        recording.wait(1000 * i + 10, 15)
        recording.range("empty", 1000 * i + 100, 0)
        recording.range("net", 1000 * i + 200, 100)
        recording.launch(1000 * i + 210, 1000 * i + 220, 10)
    w = recording.read(tmp_path).workload()
    assert w.names == ("plan", "net")
    assert us(*w["plan"].segments) == [("CPU", 27)]  # without the wait
    assert "plan: from 3 of 3 occurrences; no GPU work; the period" in w.notes[1]
    assert "left out: tasks that take no time: empty" in w.notes


def test_periods(tmp_path: Path) -> None:
    recording = Recording()
    for start in (0, 1000, 2010, 3010, 4040):
        recording.range("net", start, 500)
        recording.launch(start + 10, start + 20, 10)
    recording.range("once", 600, 100)
    recording.launch(610, 620, 10)
    read = recording.read(tmp_path)
    with pytest.raises(ValueError, match="period: got None for 'once', expected one for each"):
        read.workload()
    w = read.workload(period={"once": "7ms"})
    assert (w["net"].period, w["once"].period) == (1_005_000, 7_000_000)
    assert not any("longer than the period" in note for note in w.notes)
    w = read.workload(period={"once": "50us"})
    assert "the segments of a job together take longer than the period: once 92us" in w.notes
    assert w["net"].deadline == 1_005_000
    assert [task.period for task in read.workload(period=5)] == [5, 5]
    assert [task.period for task in read.workload(period="2us")] == [2000, 2000]
    with pytest.raises(ValueError, match=r"period\['twice'\]: got this task, expected one of net"):
        read.workload(period={"twice": 5})
    for wrong in (0, -1, "5", "0.5ns", "0ms"):
        with pytest.raises(ValueError, match="period: got"):
            read.workload(period=wrong)
    with pytest.raises(TypeError, match="period: got"):
        read.workload(period=1.5j)  # type: ignore[arg-type]


def test_occurrences_at_the_same_time_have_no_period(tmp_path: Path) -> None:
    recording = Recording()
    for tid in (MAIN, WORKER, 13):
        recording.range("net", 0, 0.001, tid)
        recording.launch(0, 5, 10, tid=tid)
    with pytest.raises(ValueError, match="period: got None for 'net"):
        recording.read(tmp_path).workload()


def test_work_that_is_in_no_job_is_counted(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range("net", 1000 * i, 500)
        recording.launch(1000 * i + 10, 1000 * i + 20, 10)
        recording.copy("DtoD", 1000 * i + 30, 1000 * i + 40, 7)
        recording.copy("set", 1000 * i + 50, 1000 * i + 60, 2)
        recording.copy("PtoP", 1000 * i + 70, 1000 * i + 80, 1)
        recording.copy("HtoD", 1000 * i + 90, 1000 * i + 95, 1, device=1)
        recording.launch(1000 * i + 100, 1000 * i + 110, 0, "instant")
    recording.launch(700, 710, 10)
    recording.launch(710, 720, 10, correlation=None)
    recording.launch(1010, 1030, 10, correlation=999)
    recording.launch(1015, 1040, 10, device=1)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": recording.events}))
    w = gs.io.read_trace(path, gpu="Orin", device=0).workload()
    assert us(*w["net"].segments)[:2] == [("CPU", 12), ("Kernel", 10)]
    assert len(w["net"].kernels) == 1
    assert [note for note in w.notes if note.startswith("left out")] == [
        "left out: operations with a stated duration of 0: 2 (0ns in all)",
        "left out: kernels and copies without a launch call in the trace: 2 (20us in all)",
        "left out: kernels and copies launched outside of all ranges: 1 (10us in all)",
        "left out: copies on the device: 2 (14us in all)",
        "left out: copies between devices or of unknown directions: 2 (2us in all)",
        "left out: memsets: 2 (4us in all)",
        "left out: copies and memsets on other devices: 2 (2us in all)",
        "left out: kernels on other devices: 1 (10us in all)",
    ]
    # Of kernels, 20 us in jobs, 20 without a call, 10 outside of ranges; copies and memsets of 20.
    assert w.observed[:2] == (70_000, 20_000)


def test_a_number_that_calls_of_two_threads_have_stands_for_none(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range("net", 1000 * i, 500)
        recording.launch(1000 * i + 10, 1000 * i + 20, 10)
    recording.add("cuda_driver", "cuLaunchKernel", 11, 1, MAIN, correlation=1)  # in the first call
    read = recording.read(tmp_path)
    assert read.call.tolist() == [0, 1] and len(read.events.calls) == 3
    assert read.workload().notes[1].startswith("net: from 2 of 2")
    recording.add("cuda_runtime", "cudaLaunchKernel", 11, 1, WORKER, correlation=2)
    w = recording.read(tmp_path).workload()
    assert (
        "left out: kernels and copies without a launch call in the trace: 1 (10us in all)"
        in w.notes
    )


def test_gaps_without_a_wait(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range("net", 1000 * i, 200)
        recording.launch(1000 * i + 8, 1000 * i + 12, 10)  # until 22
        recording.launch(1000 * i + 60, 1000 * i + 70, 10)  # returned at 62
    read = recording.read(tmp_path)
    w = read.workload()
    assert us(*w["net"].segments) == [("CPU", 10), ("Kernel", 10), ("Kernel", 10), ("CPU", 120)]
    assert any("(gaps='all' makes it CPU work), at most per job: net 40us" in n for n in w.notes)
    w = read.workload(gaps="all")
    assert us(*w["net"].segments)[1:4] == [("Kernel", 10), ("CPU", 40), ("Kernel", 10)]


def test_a_copy_that_blocks_is_a_wait(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.range("net", 1000 * i, 60)
        recording.copy("DtoH", 1000 * i + 5, 1000 * i + 8, 12, call=19)  # until 20, returns at 24
        recording.launch(1000 * i + 30, 1000 * i + 40, 10)  # returns at 32
    w = recording.read(tmp_path).workload()
    assert us(*w["net"].segments) == [("CPU", 8), ("CopyOut", 12), ("CPU", 8), ("Kernel", 10),
                                      ("CPU", 10)]  # fmt: skip


def test_ranges_of_the_gpu_serve_where_there_are_no_others(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(2):
        recording.add("gpu_user_annotation", "net", 1000 * i + 5, 50, 7, 0, stream=7)
        recording.launch(1000 * i, 1000 * i + 10, 10)
        recording.launch(1000 * i, 1000 * i + 20, 10, stream=8)
    read = recording.read(tmp_path)
    w = read.workload()
    assert us(*w["net"].segments) == [("Kernel", 10)]
    assert "jobs have no CPU work, because the trace has ranges on streams only" in w.notes
    assert "left out: kernels and copies outside of all ranges: 2 (20us in all)" in w.notes
    recording.add("gpu_user_annotation", "net", 1005, 50, 8, 0, stream=8)
    with pytest.raises(ValueError, match=r"traceEvents\[\d+\]: got the range 'net' on stream 8"):
        recording.read(tmp_path).workload()
    recording.range("net", 0, 100)
    recording.range("net", 1000, 100)
    w = recording.read(tmp_path).workload()
    assert us(*w["net"].kernels) == [("Kernel", 10), ("Kernel", 10)]


def test_times_that_are_too_far_apart(tmp_path: Path) -> None:
    recording = Recording()
    recording.range("net", -(2**60) // 1000, 10)
    recording.launch(10, 20, 10)
    with pytest.raises(ValueError, match=r"trace: got times \d+ ns apart, expected less than 2"):
        recording.read(tmp_path).workload("kernel", period=1)


def test_names_of_tasks_are_text_that_files_can_hold(tmp_path: Path) -> None:
    recording = Recording()
    names = ["a\nb", '"', "ü" * 500, "\x00", "=", "x" * 5000]
    for i, name in enumerate(names):
        for j in range(2):
            recording.range(name, 1000 * i + 100 * j, 50)
            recording.launch(1000 * i + 100 * j, 1000 * i + 100 * j + 10, 10, name)
    w = recording.read(tmp_path).workload()
    assert w.names == tuple(names)
    for ending in ("toml", "json"):
        w.save(tmp_path / f"w.{ending}")
        assert gs.Workload.load(tmp_path / f"w.{ending}") == w
    assert max(map(len, w.notes)) < 400
    recording.range("\ud800", 0, 50)
    with pytest.raises(ValueError, match=r"traceEvents\[36\].*expected text that UTF-8 can encode"):
        recording.read(tmp_path).workload(period=1)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"name": 7}, r"traceEvents\[2\], user_annotation 7: 'name': got 7, expected text"),
        ({"name": ""}, r"traceEvents\[2\].*'name': got '', expected text"),
        (
            {"ts": "now"},
            r"traceEvents\[2\], user_annotation 'net': 'ts': got 'now', expected a",
        ),
        ({"ts": None}, "'ts': got nothing, expected a time in microseconds"),
        ({"dur": -1}, "'dur': got -1, expected a non-negative number"),
        ({"ts": 10**17}, "'ts': got 100000000000000000, expected a time that, with dur, fits"),
        ({"tid": [1]}, r"'tid': got \[1\], expected an integer or text"),
        ({"pid": None}, "'pid': got nothing, expected an integer or text"),
        ({"ts": -50, "dur": 55}, "period: got None"),  # a negative time is a time
        ({"ts": 5, "dur": 400}, r"traceEvents\[2\]: got the range 'net', which overlaps 'outer'"),
        ({"dur": None}, "got no annotated ranges|period: got None"),
    ],
)
def test_damaged_ranges(tmp_path: Path, event: dict[str, Any], message: str) -> None:
    recording = Recording()
    recording.launch(10, 20, 10)
    recording.range("net", 0, 100)
    recording.events[2] |= event
    if "overlaps" in message:
        recording.range("outer", 0, 100)
    read = recording.read(tmp_path)
    assert len(read.choose(1)) == 1  # the kernels can be used
    with pytest.raises(ValueError, match=message):
        read.workload()


def test_arguments_are_checked(tmp_path: Path) -> None:
    recording = Recording()
    recording.launch(10, 20, 10)
    read = recording.read(tmp_path)
    for name, value in (("by", "thread"), ("nesting", "middle"), ("gaps", "some"), ("by", None)):
        with pytest.raises(ValueError, match=f"{name}: got"):
            read.workload(**{name: value})
    with pytest.raises(ValueError, match=r"got no annotated ranges, expected some \(record_func"):
        read.workload()
    with pytest.raises(ValueError, match="got no ranges ProfilerStep#n, expected some"):
        read.workload("step")
    with pytest.raises(ValueError, match="trace: got no launches, expected at least one"):
        read.select("nothing").workload("kernel")


def test_messages_name_the_first_ranges_and_count_the_others(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(7):
        recording.range(f"frame {i}", 100 * i, 50)
        recording.launch(100 * i + 10, 100 * i + 20, 10)
    read = recording.read(tmp_path)
    first = ", ".join(f"'frame {i}'" for i in range(5)) + " and 2 more"
    for by, names, message in (
        ("annotation", None, f"period: got None for {first}, expected one for each"),
        ("annotation", "x", f"names: got 'x', expected a match among {first}"),
        ("step", None, f"(or give names, which choose among {first})"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            read.workload(by, names=names)


def nsys(
    path: Path,
    launches: list[tuple[int, int, int, int]],
    ranges: list[tuple[Any, ...]],
    copies: list[tuple[int, int, int, int]] = (),  # type: ignore[assignment]
) -> Path:
    """A database; launches of (call, thread, start, duration), copies with the kind in addition.

    Ranges are rows of (start, end, type, thread, number of a text, text).
    """
    database(path, [nsys_kernel(f"k{i}", s, d) for i, (_, _, s, d) in enumerate(launches)])
    calls = [
        (at, at + 2, GLOBAL_PID + thread, i, 2)
        for i, (at, thread, _, _) in enumerate(launches, start=1)
    ]
    calls += [(at, at + 2, GLOBAL_PID + 1, 100 + i, 2) for i, (at, _, _, _) in enumerate(copies)]
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            """UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = rowid;
            INSERT INTO StringIds VALUES (2, 'cudaLaunchKernel_v7000'), (3, 'cudaSynchronize'),
                (4, 'net');
            DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
                contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
                copyKind INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
                globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER,
                globalTid INTEGER, textId INTEGER, text TEXT);"""
        )
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
        db.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)",
            [(s, e, kind, GLOBAL_PID + thread, number, text)
             for s, e, kind, thread, number, text in ranges],
        )  # fmt: skip
        db.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, ?, ?)",
            [(s, s + d, 100 + i, GLOBAL_PID, kind) for i, (_, s, d, kind) in enumerate(copies)],
        )
    return path


def test_ranges_of_nsight_systems(tmp_path: Path) -> None:
    ranges = [
        (0, 500, 59, 1, 4, None), (1000, 1500, 59, 1, None, "net"),
        (20, 90, 59, 1, None, "layer"), (1020, 1090, 70, 1, None, "layer"),
        (5, 5, 34, 1, None, "mark"), (10, None, 59, 1, None, "open"),
    ]  # fmt: skip
    launches = [(30, 1, 40, 10), (1030, 1, 1040, 12), (700, 1, 710, 5)]
    copies = [(60, 70, 3, 1), (1060, 1070, 4, 1), (1080, 1090, 4, 8)]
    path = nsys(tmp_path / "t", launches, ranges, copies)
    change(path, "UPDATE StringIds SET value = 'k' WHERE value LIKE 'k%'")
    read = gs.io.read_trace(path)
    w = read.workload()
    assert [(type(s).__name__, s.time) for s in w["net"].segments] == [
        ("CPU", 32), ("Kernel", 12), ("CopyIn", 4), ("CPU", 427),
    ]  # fmt: skip
    assert w["net"].period == 1000
    assert "left out: copies on the device: 1 (4ns in all)" in w.notes
    assert "left out: ranges without an end: 1" in w.notes
    assert read.workload(nesting="innermost").names == ("layer",)


def test_ranges_that_any_thread_may_end(tmp_path: Path) -> None:
    ranges = [(0, 500, 60, 1, 4, None), (1000, 1500, 60, 2, 4, None), (1400, 2500, 60, 1, 4, None)]
    launches = [(30, 3, 40, 10), (1030, 1, 1040, 12), (1450, 2, 1455, 9), (1600, 2, 1610, 9)]
    path = nsys(tmp_path / "t", launches, ranges)
    change(path, "UPDATE StringIds SET value = 'k' WHERE value LIKE 'k%'")
    w = gs.io.read_trace(path).workload()
    assert [kernel.time for kernel in w["net"].kernels] == [12]
    assert "net: from 3 of 3 occurrences" in w.notes[1]
    what = "left out: kernels and copies launched in several ranges of other threads"
    assert f"{what}: 1 (9ns in all)" in w.notes


def test_whole_graphs_are_counted(tmp_path: Path) -> None:
    ranges = [(0, 500, 59, 1, 4, None), (1000, 1500, 59, 1, 4, None)]
    path = nsys(tmp_path / "t", [(30, 1, 40, 10), (1030, 1, 1040, 12)], ranges)
    change(
        path,
        "UPDATE StringIds SET value = 'k' WHERE value LIKE 'k%'",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE "
        "(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100, 400, 0, 7), (1100, 1400, 0, 7)",
    )
    read = gs.io.read_trace(path)
    w = read.workload()
    graphs = "CUDA graphs recorded as a whole (record with --cuda-graph-trace=node)"
    assert f"left out: {graphs}: 2 (600ns in all)" in w.notes
    assert w.observed[:2] == (623, 22)  # with the memset of 1 ns
    assert "GPU utilization 0.012 (observed: 0.415, kernels ran for 622ns of 1.5us)" in w.notes
    replay = read.launches("A100")
    assert "the launches contain 3.5 % of the observed GPU time (22ns of 623ns)" in (
        replay.assumptions
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE NVTX_EVENTS SET end = -1", "NVTX_EVENTS, row 1: 'end': got -1, expected at leas"),
        ("UPDATE NVTX_EVENTS SET start = -5", "NVTX_EVENTS, row 1: 'start': got -5, expected a n"),
        ("UPDATE NVTX_EVENTS SET start = 'x'", "NVTX_EVENTS, row 1: 'start': got 'x', expected an"),
        ("UPDATE NVTX_EVENTS SET textId = 99", "row 1: 'textId': got 99, expected the range's na"),
        ("UPDATE NVTX_EVENTS SET textId = NULL", "row 1: 'text': got None, expected the range's"),
        ("UPDATE NVTX_EVENTS SET text = x'ff'", "row 1: 'text': got .*, expected UTF-8"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 0", "RUNTIME, row 1: 'end': got 0"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 'x'", "'correlationId': got 'x'"),
        ("UPDATE NVTX_EVENTS SET end = 1100", "NVTX_EVENTS, row 2: got the range 'net', which ov"),
        ("DROP TABLE NVTX_EVENTS", "got no annotated ranges"),
        ("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", "period: got None|got no task that takes time"),
    ],
)
def test_damaged_databases(tmp_path: Path, statement: str, message: str) -> None:
    ranges = [(0, 500, 59, 1, 4, None), (1000, 5000, 59, 1, 4, None)]
    path = nsys(tmp_path / "t", [(30, 1, 40, 10), (2000, 1, 2100, 10)], ranges)
    change(path, "UPDATE StringIds SET value = 'k' WHERE value LIKE 'k%'")
    assert gs.io.read_trace(path).workload()[0].period == 1000
    change(path, statement)
    if "row 2: got the range" in message:
        change(path, "UPDATE NVTX_EVENTS SET end = 5000000 WHERE rowid = 2")
    read = gs.io.read_trace(path)
    assert len(read.choose(1)) == 1
    if statement.startswith("DROP TABLE CUPTI"):
        w = read.workload()  # ranges on the CPU remain
        assert not w[0].kernels
        assert (
            "left out: kernels and copies without a launch call in the trace: 2 (20ns in all)"
            in w.notes
        )
        return
    with pytest.raises(ValueError, match=message):
        read.workload()


def test_several_processes(tmp_path: Path) -> None:
    """The same events in another process, with the same correlation numbers."""
    ranges = [(0, 500, 59, 1, 4, None), (1000, 1500, 59, 1, 4, None)]
    path = nsys(tmp_path / "t", [(30, 1, 40, 10), (1030, 1, 1040, 12)], ranges)
    change(path, "UPDATE StringIds SET value = 'k' WHERE value LIKE 'k%'")
    for table, key in (
        ("NVTX_EVENTS", "globalTid"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"),
        ("TARGET_INFO_CUDA_DEVICE", "pid"),
    ):
        step = 1 if key == "pid" else 1 << 24
        change(
            path,
            f"CREATE TABLE other AS SELECT * FROM {table}",
            f"UPDATE other SET {key} = {key} + {step}",
            f"INSERT INTO {table} SELECT * FROM other",
            "DROP TABLE other",
        )
    w = gs.io.read_trace(path).workload()
    assert w.names == (f"net (process {PID})", f"net (process {PID + 1})")
    assert [task.process for task in w] == [str(PID), str(PID + 1)]
    assert [len(task.kernels) for task in w] == [1, 1]


def test_reports_in_csv_have_kernels_only(tmp_path: Path) -> None:
    kernels = [nsys_kernel("k", start) for start in (0, 10_000, 20_000)]
    read = gs.io.read_trace(nsys_table(tmp_path / "t.csv", kernels), gpu="A100")
    assert read.workload("kernel")["k"].period == 25_000 // 3
    w = read.workload("stream", period="10us")
    assert us(*w["stream 7"].segments) == [("Kernel", 5)]
    assert any(note.startswith("copies are left out (") for note in w.notes)
    for by in ("annotation", "step"):
        with pytest.raises(ValueError, match=r"t\.csv: got a report of kernels, expected"):
            read.workload(by)


def test_the_perception_trace_is_what_its_program_writes() -> None:
    assert gzip.decompress(perception_trace.PATH.read_bytes()).decode() == perception_trace.text()
    assert perception_trace.PATH.stat().st_size < 60_000


def test_batches_of_the_perception_program_are_played() -> None:
    read = gs.io.read_trace(perception_trace.PATH)
    w = read.workload()
    assert w.names == ("camera", "tracker", "detector", "planner")
    assert [task.period // 10**6 for task in w] == [20, 20, 40, 40]
    view = w.batches(gs.Platform(read.gpu))
    assert not gs.pbs.edf_serial(view.tasks, view.table).schedulable
    found = gs.pbs.search(view.tasks, view.table)
    assert found.schedulable
    assert any(int(batch).bit_count() > 1 for batch in found.schedule.validate().batch)
    assert len(read.workload("step")["step"].kernels) == 31


@pytest.mark.parametrize("module", [trace, trace_kernels])
def test_examples(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    found = doctest.testmod(module, extraglobs={"gs": gs, "np": np})
    assert found.failed == 0 and found.attempted > 0
