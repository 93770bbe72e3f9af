"""GPU time of traces: all of it is in a workload or said to be left out; periods that are real."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import sqlite3
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from test_io import TRACES
from test_trace_workload import Recording, nsys

import gpusched as gs
from gpusched.cli.main import main

pytestmark = pytest.mark.python

DATA = Path(__file__).parents[1] / "data"
HIP_GRAPH, BURSTS, ASYNC_STEPS = (
    DATA / f"{name}.pt.trace.json" for name in ("hip_graph", "bursts", "async_steps")
)
FILES = [*sorted(DATA.glob("*.pt.trace.json*")), *sorted(TRACES.glob("*.pt.trace.json*"))]
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


# All time is accounted for ------------------------------------------------------------------------


def events_of(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    found: list[dict[str, Any]] = json.loads(text, parse_float=Decimal)["traceEvents"]
    return found


def durations(path: Path, *categories: str) -> list[int]:
    """Times in ns of the GPU work of a trace of the PyTorch profiler or of Nsight Systems."""
    if path.suffix == ".sqlite":
        tables = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET"}
        with contextlib.closing(sqlite3.connect(path)) as db:
            return [
                time
                for category in categories
                for (time,) in db.execute(
                    f"SELECT end - start FROM CUPTI_ACTIVITY_KIND_{tables[category]}"
                )
            ]
    return [
        int(Decimal(event["dur"]) * 1000)
        for event in events_of(path)
        if event.get("ph") == "X" and event.get("cat", "").lower() in categories
    ]


def left_out(notes: tuple[str, ...]) -> tuple[int, int]:
    """Number and time of the operations that the notes name, those of whole jobs by time only."""
    count = time = 0
    for note in notes:
        operations = re.search(r"^left out: .*: (\d+) \((.*) in all\)$", note)
        jobs = re.search(r"left out, which take the GPU (\S+) in all", note)
        if operations:
            count, time = count + int(operations[1]), time + ns(operations[2])
        elif jobs:
            time += ns(jobs[1])
    return count, time


def ns(text: str) -> int:
    number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()  # type: ignore[union-attr]
    return int(Fraction(number) * UNITS[unit])


def check(path: Path, by: str, **options: Any) -> gs.Workload:
    """The time of the jobs and what the notes name are together that of the trace."""
    w = gs.io.read_trace(path, gpu="A100").workload(by, **options)  # type: ignore[arg-type]
    count, time = left_out(w.notes)
    assert w.observed is not None
    assert w.observed.kept_ns + time == sum(durations(path, *WORK))
    if not any("with other sequences" in note or "more tasks" in note for note in w.notes):
        jobs = [int(n) for note in w.notes for n in re.findall(r": from (\d+) of \d+ occ", note)]
        of_jobs = sum(
            number * sum(not isinstance(part, gs.CPU) for part in task.segments)
            for number, task in zip(jobs, w, strict=True)
        )
        assert of_jobs + count == len(durations(path, *WORK))
    return w


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_kernels_are_read(path: Path) -> None:
    trace = gs.io.read_trace(path, gpu="A100")
    assert sorted(trace.duration.tolist()) == sorted(durations(path, "kernel"))
    kept = re.search(r"the launches contain .* \((\S+) of (\S+)\)", "\n".join(said(trace)))
    assert kept is not None and ns(kept[2]) == sum(durations(path, *WORK))
    lost = re.search(r"as a whole are left out: \d+ \((\S+) in all\)", "\n".join(said(trace)))
    assert ns(kept[1]) + (ns(lost[1]) if lost else 0) == ns(kept[2])


def said(trace: gs.io.Trace) -> tuple[str, ...]:
    return trace.launches().assumptions


@pytest.mark.parametrize("by", ["annotation", "step", "stream", "kernel"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_gpu_time_is_lost(path: Path, by: str) -> None:
    try:
        check(path, by)
    except ValueError as error:
        assert re.search("got no ranges|got no annotated|period: got None", str(error))
        check(path, "stream", period="20ms")
    if by == "kernel":
        check(path, by, names="[am]", quantile="0.5")


def test_no_gpu_time_of_a_database_is_lost(tmp_path: Path) -> None:
    ranges = [(0, 500, 59, 1, 4, None), (1000, 1500, 59, 1, 4, None)]
    launches = [(30, 1, 40, 10), (1030, 1, 1040, 12), (700, 1, 710, 33)]
    copies = [(60, 70, 5, 1), (1060, 1070, 6, 1), (80, 90, 7, 8)]
    path = nsys(tmp_path / "t.sqlite", launches, ranges, copies)
    for by in ("annotation", "kernel"):
        w = check(path, by, **({"names": "net"} if by == "annotation" else {}))
    assert w.observed[:2] == (
        12 + 33 + 10 + 5 + 7,
        12 + 33 + 10,
    )  # the last copy is behind the kernels


def test_kernels_of_hip_graphs_keep_their_time(tmp_path: Path, capsys: Any) -> None:
    read = gs.io.read_trace(HIP_GRAPH)
    assert len(read) == 44 and int(read.duration.sum()) == 40_000_000
    w = read.workload(period="5ms")
    kernels = w["decode"].kernels
    assert [kernel.time for kernel in kernels] == [100_000, *[990_000] * 10]
    assert [kernel.has_shape for kernel in kernels] == [True, *[False] * 10]
    assert w.observed[:2] == (40_000_000, 40_000_000)
    file = tmp_path / "decode.toml"
    command = ["trace", str(HIP_GRAPH), "--by", "annotation", "--period", "5ms"]
    assert main([*command, "--save", str(file)]) == 0
    out = capsys.readouterr().out
    assert "GPU utilization 2 (observed: 0.866, kernels ran for 40ms of 46.19ms)" in out
    assert "40 kernels without grid and block (39.6ms in all), of which only the time" in out
    assert main(["compare", str(file), "--cpus", "1"]) == 1
    assert "impossible" in capsys.readouterr().out
    assert gs.compare(w, gs.Platform("A100", cpus=2)).schedulable is False
    assert read.workload()["decode"].period == 12_000_000  # as observed, in which it fits


def test_kernels_without_a_grid_replay_on_all_sms() -> None:
    read = gs.io.read_trace(HIP_GRAPH, gpu="A100")
    replay = read.launches()
    assert "40 kernels without grid and block (39.6ms in all) take all SMs" in replay.assumptions
    assert replay.launches.duration.tolist() == read.duration.tolist()
    assert read.gpu is not None
    run = gs.simulate.hierarchy(replay.launches, read.gpu, blocks=False)
    assert run.outcome == "done"


# Conditions ---------------------------------------------------------------------------------------


def recorded(tmp_path: Path, outside: int) -> gs.Workload:
    """Two jobs of 500 us each, and a kernel between them that is in no range."""
    recording = Recording()
    for i in range(2):
        recording.range("net", 10_000 * i, 900)
        recording.launch(10_000 * i + 10, 10_000 * i + 20, 500)
    recording.launch(5000, 5010, outside)
    recording.launch(50_000, 50_010, 9000)  # behind the last job, which does not count
    return recording.read(tmp_path).workload()


def test_times_below_the_largest_are_a_condition(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(10):
        recording.range("net", 10_000 * i, 2900)
        recording.launch(10_000 * i + 10, 10_000 * i + 20, 2500 if i == 4 else 500)
    read = recording.read(tmp_path)
    platform = gs.Platform("Orin", cpus=1)
    largest, usual = read.workload(), read.workload(quantile="0.9")
    assert largest.observed is not None and largest.observed.quantile == 1
    assert gs.analyze(largest, platform, "one_stream").conditions == ()
    answer = gs.analyze(usual, platform, "one_stream")
    [condition] = answer.conditions
    assert answer.verdict == "conditional" and condition.premise == "largest_times"
    assert "their 0.9 quantile" in condition.text
    assert not any(row.schedulable for row in gs.compare(usual, platform))
    usual.save(tmp_path / "w.toml")
    frame = usual.to_frame()
    for again in (gs.Workload.load(tmp_path / "w.toml"), gs.Workload.from_frame(frame)):
        assert again == usual and again.observed == usual.observed
    rare = gs.Workload(usual.tasks, "ns", observed=(9, 9, 1e-7))
    rare.save(tmp_path / "rare.json")
    assert gs.Workload.load(tmp_path / "rare.json").observed == (9, 9, 1e-7)
    other = gs.Workload([gs.Task("other", "10ms", [gs.CPU("1ms")])], "ns", observed=(100, 50))
    both = (other + usual).observed
    assert both is not None and both == (100, 50, 0.9)


def test_quantiles_that_are_refused() -> None:
    task = gs.Task("a", 9, [gs.CPU(1)])
    for wrong in (0, 1.5, -1):
        with pytest.raises(ValueError, match="quantile: got"):
            gs.Workload([task], observed=(9, 9, wrong))
    with pytest.raises(TypeError, match="observed: got"):
        gs.Workload([task], observed=(9,))  # type: ignore[arg-type]


def test_lost_gpu_time_is_a_condition(tmp_path: Path) -> None:
    w = recorded(tmp_path, 250)
    assert w.observed[:2] == (1_250_000, 1_000_000)
    assert (
        "the jobs contain 80 % of the observed GPU time (1ms of 1.25ms) from the first to the "
        in ("\n".join(w.notes))
    )
    platform = gs.Platform("Orin", cpus=1)
    answer = gs.analyze(w, platform, "streams")
    [condition] = answer.conditions
    assert answer.schedulable is None and answer.verdict == "conditional"
    assert condition.premise == "gpu_work_kept"
    assert "contain 80 % of the observed GPU time (1ms of 1.25ms)" in condition.text
    rows = gs.compare(w, platform)
    assert not any(row.schedulable for row in rows) and any(row.conditional for row in rows)
    for changed in (w.scaled(kernels="1.1"), w["net",], w.replace(notes=())):
        assert changed.observed == w.observed
        assert gs.analyze(changed, platform, "streams").conditions == (condition,)
    given = gs.Workload(w.tasks, w.tick)  # the other work is accounted for elsewhere
    assert given != w and gs.analyze(given, platform, "streams").schedulable
    for outside, schedulable in ((11, None), (10, True)):  # 98.9 and 99.01 %
        assert (
            gs.analyze(recorded(tmp_path, outside), platform, "streams").schedulable is schedulable
        )


def test_the_share_is_kept_in_files_and_answers(tmp_path: Path) -> None:
    w = recorded(tmp_path, 250)
    for name in ("w.toml", "w.json"):
        w.save(tmp_path / name)
        assert gs.Workload.load(tmp_path / name).observed == w.observed
    answer = gs.analyze(w, gs.Platform("Orin", cpus=1), "streams")
    answer.save(tmp_path / "answer")
    loaded = type(answer).load(tmp_path / "answer")
    assert loaded.workload == w and loaded.conditions == answer.conditions
    plain = gs.Workload([gs.Task("other", "9ms", [gs.CPU("1ms")])])
    assert (plain + w).observed == (w + plain).observed == w.observed
    better = gs.Workload(plain.tasks, observed=(100, 99))
    assert (better + w).observed == w.observed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gpu_ns": 1, "kept_ns": 2}, "observed.kept_ns: got 2, expected 0 to gpu_ns, 1"),
        ({"gpu_ns": 1, "kept_ns": -1}, "observed.kept_ns: got -1, expected 0 to gpu_ns, 1"),
        ({"gpu_ns": 1}, "observed.kept_ns: got None, expected an integer"),
        ({"gpu_ns": 2**63, "kept_ns": 1}, "observed.gpu_ns: got 9223372036854775808, expected"),
        ({"gpu_ns": 1, "kept_ns": 1, "more": 1}, "observed.more: got an unknown key, expected one"),
        ([1, 1], "observed: got \\[1, 1\\], expected a table"),
        (None, "observed: got None, expected a table"),
    ],
)
def test_damaged_shares_are_refused(tmp_path: Path, given: Any, message: str) -> None:
    path = tmp_path / "w.json"
    task = {"name": "a", "period": 9, "segments": [{"cpu": 1}]}
    path.write_text(json.dumps({"version": 1, "observed": given, "task": [task]}))
    with pytest.raises(ValueError, match=message):
        gs.Workload.load(path)


# Periods ------------------------------------------------------------------------------------------


def test_the_period_of_a_kernel_is_its_time_per_launch(capsys: Any) -> None:
    w = gs.io.read_trace(BURSTS).workload("kernel")
    assert w.names == ("a", "b")
    assert [task.period for task in w] == [416_150_000 // 40] * 2
    assert w.utilization().gpu == pytest.approx(80 / 416.15)
    assert main(["trace", str(BURSTS), "--by", "kernel"]) == 0
    out = capsys.readouterr().out
    assert (
        "a: from 40 of 40 occurrences; the period is 416.15ms of GPU work over 40 launches" in out
    )
    assert "GPU utilization 0.192 (observed: 0.192, kernels ran for 80ms of 416.15ms)" in out


@pytest.mark.parametrize("by", ["step", "stream"])
def test_where_the_cpu_runs_ahead_periods_are_those_of_the_gpu(by: str) -> None:
    w = gs.io.read_trace(ASYNC_STEPS).workload(by)  # type: ignore[arg-type]
    assert [task.period for task in w] == [10_000_000]
    assert w.notes[1].endswith(
        "the period is the median of 4 distances, 10ms to 10ms, by starts on the GPU, which takes "
        "9.9ms for a job, longer than the 1ms between starts on the CPU"
    )


def test_copies_ahead_of_the_kernels_do_not_count_as_starts(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(4):
        recording.range("net", 1000 * i, 500)
        recording.copy("HtoD", 1000 * i + 10, 1000 * i + 20, 5)
        recording.launch(1000 * i + 100, 10_000 * (i + 1), 9000)
    w = recording.read(tmp_path).workload()
    assert w["net"].period == 10_000_000


def test_periods_that_the_gpu_cannot_keep_are_refused(tmp_path: Path, capsys: Any) -> None:
    recording = Recording()
    for i in range(5):  # one job is slow, and makes the next one late
        recording.range("net", 10_000 * i, 900)
        at, time = (20, 12_000) if i == 1 else (2_020 if i == 2 else 20, 5000)
        recording.launch(10_000 * i + 10, 10_000 * i + at, time)
    read = recording.read(tmp_path)
    message = (
        r"period: got none and a GPU utilization of 1\.2 with those observed, expected at most 1 "
        r"\(observed: 0\.\d+, kernels ran for .*\): .* most for net 1\.2; give periods, or a "
        "quantile of the times below 1"
    )
    with pytest.raises(ValueError, match=message):
        read.workload()
    assert read.workload(quantile="0.8").utilization().gpu == 0.5
    given = read.workload(period="10ms")
    assert any(note.startswith("GPU utilization 1.2 (observed: 0.") for note in given.notes)
    assert main(["trace", str(tmp_path / "trace.json"), "--by", "annotation"]) == 2
    assert "a GPU utilization of 1.2 with those observed" in capsys.readouterr().err
    assert (
        main(["trace", str(tmp_path / "trace.json"), "--by", "annotation", "--period", "10ms"]) == 0
    )


def test_kernels_that_ran_at_once_may_demand_more_than_one_gpu(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(4):
        for tid, name in ((11, "net"), (12, "map")):
            recording.range(name, 1000 * i, 950, tid=tid)
            recording.launch(1000 * i + 10, 1000 * i + 20, 900, name, tid=tid, stream=tid)
    w = recording.read(tmp_path).workload()
    assert w.utilization().gpu == 1.8
    assert any(note.endswith(", 2 of them at once)") for note in w.notes)


def test_jobs_of_a_task_that_takes_no_time_are_not_lost(tmp_path: Path) -> None:
    recording = Recording()
    for i in range(4):
        recording.range(f"ProfilerStep#{i}", 1000 * i, 900)
        recording.launch(1000 * i + 10, 1000 * i + 20, 5, "k")
        recording.launch(1000 * i + 30, 1000 * i + 40, 70 if i == 1 else 0, f"k{i == 1}", stream=8)
    recording.read(tmp_path)
    w = check(tmp_path / "trace.json", "stream")
    assert w.names == ("stream 7",) and w.observed[:2] == (90_000, 20_000)
    assert "left out: tasks that take no time: stream 8" in w.notes
    assert any(note.startswith("stream 8: from 3 of 4 occurrences; 1 with") for note in w.notes)


@pytest.mark.parametrize("seed", range(40))
def test_no_gpu_time_of_random_traces_is_lost(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    recording = Recording()
    for step in range(draw.randint(2, 6)):
        start = 1000 * step
        if seed % 2:
            recording.range(f"ProfilerStep#{step}", start, 1000)
        recording.range("net", start + 10, draw.choice([300, 500]))
        for i in range(draw.randint(1, 5)):
            at = start + 20 + 200 * i
            ran, stream = draw.randint(at, at + 500), draw.choice([7, 8])
            time, shape = draw.choice([0, 3, 40, 150]), draw.choice([{}, {"grid": None}])
            kind = draw.choice(["kernel", "kernel", "HtoD", "DtoH", "DtoD", "set"])
            if kind == "kernel":
                name = draw.choice("ab")
                call = {} if draw.random() < 0.8 else {"correlation": None}
                recording.launch(at, ran, time, name, stream=stream, **(shape | call))
            else:
                recording.copy(kind, at, ran, time)
    recording.launch(20, 25, 1)  # one kernel at least
    recording.read(tmp_path)
    for by in ("annotation", "step", "stream", "kernel"):
        for options in ({"period": "1ms", "quantile": draw.choice(["1", "0.5"])}, {}):
            # Without steps, periods that can be observed, or a task that takes time:
            with contextlib.suppress(ValueError):
                check(tmp_path / "trace.json", by, **options)
