"""Files of other kinds: each is named, with what to do; damaged ones are refused, too."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched._support import input_files
from gpusched.cli.main import main
from gpusched.io.job_sets import load_workload

pytestmark = pytest.mark.python

DATA = Path(__file__).parents[1] / "data"


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("trace.json", "{}")
    return buffer.getvalue()


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("trace.json"))
    return buffer.getvalue()


def events(*given: dict[str, Any], **head: Any) -> bytes:
    return json.dumps({**head, "traceEvents": list(given)}).encode()


CPU_OP = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 1, "pid": 1, "tid": 1}
OF_DEVICE = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}}
OF_ROCPROF = {"ph": "X", "name": "k", "ts": 1, "dur": 2, "args": {"BeginNs": "1", "EndNs": "2"}}

# Kind, content, what to do.
FOREIGN: list[tuple[str, bytes, str]] = [
    ("a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n",
     "git lfs pull"),
    ("a zip archive", zipped(), "unpack it"),
    ("a tar archive", tarred(), "unpack it"),
    ("a file compressed with gzip", gzip.compress(gzip.compress(b"{}")), "unpack it"),
    ("a compressed file", b"BZh91AY&SY", "unpack it"),
    ("a compressed file", b"\xfd7zXZ\0\0\4", "unpack it"),
    ("a compressed file", b"\x28\xb5\x2f\xfd\4\0", "unpack it"),
    ("a report of Nsight Compute", b"NVR\0\n\0\0", "nsys profile -t cuda,nvtx"),
    ("data in HDF5, Parquet or Arrow", b"PAR1\x15\4", "nsys export --type sqlite"),
    ("text in UTF-16", '{"traceEvents": []}'.encode("utf-16"), "save it in UTF-8"),
    ("text in UTF-16", b"\xfe\xff\0{", "save it in UTF-8"),
    ("an xplane of the TensorFlow profiler", b"\n\x90\x03\x08\1\x12\x0d/device:GPU:0\x1a\x04",
     "nsys export --type sqlite"),
    ("an xplane of the TensorFlow profiler", b"\n\x13\x12\x10Task Environment", "nsys"),
    ("an execution trace of Chakra (protobuf)", b"\x07\n\x050.0.4\x12\x08\1\x12\4node", "nsys"),
    ("an execution trace of Chakra (protobuf)",
     b"\x20\x12\x1e\n\x06schema\x2a\x121.0.2-chakra.0.0.4\x05", "nsys"),
    ("a trace of the TensorFlow profiler",
     events(OF_DEVICE, displayTimeUnit="ns", metadata={"highres-ticks": True}), "nsys profile"),
    ("a trace of rocprof", events(OF_ROCPROF), "torch.profiler"),
    ("a trace of the CPU alone", events(CPU_OP, schemaVersion=1), "ProfilerActivity.CUDA"),
    ("an execution trace of PyTorch or Chakra",
     b'{\n  "schema": "1.0.2-chakra.0.0.4", "pid": 1, "time": "", "nodes": [', "torch.profiler"),
    ("an execution trace of PyTorch or Chakra",
     b'{"schema": "1.0.1", "pid": 1, "nodes": [{"id": 1}]}', "torch.profiler"),
    ("a profile of layers or times of runs by trtexec",
     b'[\n  { "count" : 10 }\n, { "name" : "conv1", "timeMs" : 1.5, "averageMs" : 0.15 }\n]',
     "nsys profile -t cuda,nvtx trtexec"),
    ("a profile of layers or times of runs by trtexec",
     b'[ { "startInMs" : 1.1, "endInMs" : 1.2, "startComputeMs" : 1.2, "latencyMs" : 2 } ]',
     "nsys profile -t cuda,nvtx trtexec"),
    ("a profile of layers or times of runs by trtexec",
     b"&&&& RUNNING TensorRT.trtexec [TensorRT v100] # trtexec --onnx=a\n", "nsys"),
    ("JSON of rocprofv3", b'{"rocprofiler-sdk-tool": [{"metadata": {}, "agents": []}]}',
     "torch.profiler"),
    ("a log of cuda_scheduling_examiner", b'{"scenario_name": "s", "times": [{}]}',
     "gs.io.read_examiner"),
    ("CSV of nvprof", (DATA / "nvprof_gpu_trace.csv").read_bytes(), "nvprof --export-profile"),
    ("CSV of nvprof", b'"Start","Duration","Grid X","Grid Y","Grid Z"\n', "nvprof --export"),
    ("a table of rocprof", b'"Index","KernelName","gpu-id","queue-id"\n0,"k",0,0\n', "ROCm"),
    ("a table of rocprof", b'"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp"\n',
     "ROCm"),
    ("a table of rocprof", b'"Name","Calls","TotalDurationNs","AverageNs"\n', "ROCm"),
    ("a summary of Nsight Systems", b"Time (%),Total Time (ns),Instances,Name\n100,5,1,k\n",
     "nsys stats -r cuda_gpu_trace"),
    ("precedence constraints of a job set",
     b"Predecessor TID,\tPredecessor JID,\tSuccessor TID, Successor JID\n1, 1, 1, 2\n",
     "the segments of one task"),
    ("a job set", (DATA / "job_set_with_a_single_job.csv").read_bytes(), "gs.io.read_job_set"),
    ("a job set", b"jobset:\n - Task ID: 1\n   Job ID: 1\n", "gs.io.read_job_set"),
    ("a task set of SchedCAT", b'<?xml version="1.0"?>\n<taskset>\n</taskset>', "read_schedcat"),
    ("a web page", b"\n<!DOCTYPE html>\n<html>", "raw content"),
    ("a workload", b'version = 1\n[[task]]\nname = "a"\n', "gs.Workload.load"),
    ("a workload", b'{"version": 1, "tick": "ns", "task": []}', "gs.Workload.load"),
    ("a binary file", b"\x7fELF\2\1\1\0\0", "SQLite"),
]  # fmt: skip
CPU_ONLY = ("a trace of the TensorFlow profiler", "a trace of rocprof", "a trace of the CPU alone")


def message(call: Callable[..., Any], path: Path) -> str:
    with pytest.raises(ValueError) as caught:
        call(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and "\n" not in text
    return text


@pytest.mark.parametrize("row", range(len(FOREIGN)), ids=[kind for kind, *_ in FOREIGN])
def test_foreign_files_are_named(
    row: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, content, to_do = FOREIGN[row]
    path = tmp_path / "file.json"
    path.write_bytes(content)
    text = message(gs.io.read_trace, path)
    assert to_do in text
    assert f"; it seems to be {kind}" in text if kind in CPU_ONLY else f": got {kind}" in text
    path.write_bytes(gzip.compress(content))
    assert kind in message(gs.io.read_trace, path)
    assert main(["trace", str(path)]) == 2
    assert kind in capsys.readouterr().err


def test_every_kind_has_an_example() -> None:
    shown = {input_files.kind_of(content) for _, content, _ in FOREIGN}
    hints = " ".join(input_files.without_kernels(content) for _, content, _ in FOREIGN)
    assert all(kind.name in hints for kind in input_files._WITHOUT_KERNELS)
    shown |= {input_files.kind_of(path.read_bytes()) for path in DATA.glob("*.*")}
    assert {kind.name for kind in input_files._FOREIGN} == {kind.name for kind in shown if kind}


@pytest.mark.parametrize("row", range(len(FOREIGN)), ids=[kind for kind, *_ in FOREIGN])
def test_truncated_foreign_files_are_refused(row: int, tmp_path: Path) -> None:
    _, content, _ = FOREIGN[row]
    path = tmp_path / "file.json"
    readers: list[Callable[..., Any]] = [gs.io.read_trace, gs.io.read_examiner, gs.Workload.load]
    if kind_reader(content) not in ("job_set", "schedcat"):
        readers += [gs.io.read_job_set, gs.io.read_schedcat]
    for size in {*range(0, min(len(content), 64), 3), len(content) // 2}:
        path.write_bytes(content[:size])
        for read in readers:
            message(read, path)


def kind_reader(content: bytes) -> str:
    kind = input_files.kind_of(content)
    return "" if kind is None else kind.reader


@pytest.mark.parametrize(
    ("reader", "read"),
    [
        ("log", gs.io.read_examiner),
        ("job_set", gs.io.read_job_set),
        ("schedcat", gs.io.read_schedcat),
        ("workload", gs.Workload.load),
    ],
)
def test_other_readers_name_them_too(reader: str, read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _, content, _ in FOREIGN:
        if kind_reader(content) != reader:
            path.write_bytes(content)
            assert f"{path}: got " in message(read, path)
    path.write_bytes((DATA / "pipeline.pt.trace.json").read_bytes())
    assert "got a trace in JSON: make a workload of it with 'gpusched trace" in message(read, path)


def test_a_workload_that_mentions_other_files_is_a_workload(tmp_path: Path) -> None:
    task = '[[task]]\nname = "a"\nperiod = "5ms"\nsegments = [{ cpu = "1ms" }]\n'
    head = 'version = 1\n# from {"timeMs": 1}\nnotes = ["""\njobset:\nTime (%),Total Time"""]\n'
    for name in ("w.toml", "w.txt"):
        path = tmp_path / name
        path.write_text(head + task)
        assert kind_reader(path.read_bytes()) != "workload"
        assert len(gs.Workload.load(path)) == len(load_workload(path)) == 1


def test_standard_input_is_any_of_the_kinds(tmp_path: Path) -> None:
    """The content of a pipe says what it is, as does that of a file."""
    workload = tmp_path / "w.json"
    gs.Workload([gs.Task("a", period="5ms", segments=[gs.CPU("1ms")])]).save(workload)
    schedcat = b'<taskset><task period="7000" wcet="500" deadline="7000"/></taskset>'
    jobs = b"Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority\n"
    jobs += b"1,1,0,0,1,2,10,10\n1,2,10,10,1,2,20,20\n"
    for content, name, tasks in (
        (workload.read_bytes(), "w.json", 1), (schedcat, "s.xml", 1), (jobs, "j.csv", 1)
    ):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(content)
        reader, writer = os.pipe()
        os.write(writer, content)
        os.close(writer)
        with os.fdopen(reader):
            piped = load_workload(f"/dev/fd/{reader}")
        assert len(piped) == tasks and piped == load_workload(path)


def test_traces_of_this_package_are_of_known_kinds() -> None:
    for name in ("pipeline.pt.trace.json", "kernels_on_two_gpus.json", "nvprof_database.nvvp",
                 "nsys_sizes_in_megabytes.csv", "unified_memory_migrations.sqlite"):  # fmt: skip
        assert kind_reader((DATA / name).read_bytes()) == "trace"


def test_keys_of_foreign_files_in_a_trace_do_not_matter(tmp_path: Path) -> None:
    """A trace with kernels is read, whatever its events say."""
    document = json.loads((DATA / "kernels_on_two_gpus.json").read_bytes())
    texts = {"a": '"rocprofiler-sdk-tool":', "timeMs": 1, "schema": "chakra", "b": "/device:GPU:0"}
    path = tmp_path / "t.json"
    for head in ({"highres-ticks": 1, **texts}, texts):
        path.write_text(json.dumps({"traceEvents": document["traceEvents"], **head}))
        assert len(gs.io.read_trace(path, device=0)) == 1


def test_damaged_files_never_escape_as_another_error(tmp_path: Path) -> None:
    generator = random.Random(11)
    contents = [content for _, content, _ in FOREIGN]
    for _ in range(400):
        data = bytearray(generator.choice(contents))
        for _ in range(generator.randrange(1, 4)):
            data[generator.randrange(len(data))] = generator.choice(b'09{}[]",:<>t\\ \xff\0\n')
        path = tmp_path / generator.choice(("a.json", "a.csv", "a.toml", "a.xml"))
        path.write_bytes(data)
        for read in (gs.io.read_trace, gs.io.read_examiner, gs.io.read_schedcat, load_workload):
            try:
                read(path)
            except ValueError as error:
                assert str(error).startswith(f"{path}: ")
            except ImportError as error:
                assert "PyYAML" in str(error)


def test_many_comments_are_read_once() -> None:
    """Comments before a root element have one reading; with several the search would not end."""
    comments = b"<!-- a -->" * 300
    assert input_files.kind_of(comments) is None
    for root, name in ((b"<taskset>", "a task set of SchedCAT"), (b"<html>", "a web page")):
        found = input_files.kind_of(comments + root)
        assert found is not None and found.name == name


def test_a_foreign_file_in_a_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, FOREIGN[0][1])
    os.close(writer)
    with os.fdopen(reader), pytest.raises(ValueError, match="got a pointer of Git LFS"):
        gs.io.read_trace(f"/dev/fd/{reader}")


def test_kernels_that_are_left_out_are_no_trace_of_the_cpu(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"stream": 1}}
    path = tmp_path / "t.json"
    path.write_bytes(events(kernel, schemaVersion=1))
    assert "it seems to be" not in message(gs.io.read_trace, path)


# Databases -----------------------------------------------------------------------------------


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as file:
        for statement in statements:
            file.execute(statement)
    file.close()
    return path


def test_databases_without_kernels(tmp_path: Path) -> None:
    path = database(tmp_path / "a", "CREATE TABLE StringIds (id, value)")
    assert "record with 'nsys profile -t cuda,nvtx' (-t cuda was" in message(gs.io.read_trace, path)
    path = database(tmp_path / "b", "CREATE TABLE rocpd_kernel_dispatch_1 (id)")
    assert "got a database of rocprofv3 (rocpd), which is not" in message(gs.io.read_trace, path)
    path = database(tmp_path / "c", "CREATE TABLE StringTable (_id_, value)")
    assert "CUPTI_ACTIVITY_KIND_KERNEL of nvprof is empty" in message(gs.io.read_trace, path)


DEVICE = """CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_, numMemcpyEngines, numMultiprocessors,
    maxWarpsPerMultiprocessor, numThreadsPerWarp, maxBlocksPerMultiprocessor,
    maxRegistersPerMultiprocessor, maxSharedMemoryPerMultiprocessor, computeCapabilityMajor,
    computeCapabilityMinor, id, name)"""
COPIES = """CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_, copyKind, bytes, start, end, deviceId,
    contextId, streamId, correlationId, runtimeCorrelationId)"""


def test_a_database_of_nvprof(tmp_path: Path) -> None:
    trace = gs.io.read_trace(DATA / "nvprof_database.nvvp")
    assert (trace.name.tolist(), trace.start.tolist(), trace.duration.tolist()) == (
        ["k"], [1000], [1000],
    )  # fmt: skip
    assert (trace.blocks.tolist(), trace.threads.tolist(), trace.gpu) == ([8], [256], None)
    assert trace.notes[0].startswith("the database is one of nvprof: names are mangled")
    path = tmp_path / "a.nvvp"
    path.write_bytes((DATA / "nvprof_database.nvvp").read_bytes())
    database(
        path, DEVICE, "INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1, 5, 80, 64, 32, 32, 65536, "
        "98304, 7, 0, 0, 2)", "INSERT INTO StringTable VALUES (2, 'Tesla V100-SXM2-16GB')", COPIES,
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 64, 100, 300, 0, 1, 7, 4, 4)",
    )  # fmt: skip
    trace = gs.io.read_trace(path)
    assert trace.gpu is not None and (trace.gpu.name, trace.gpu.sms) == ("Tesla V100-SXM2-16GB", 80)
    work = trace.workload("stream", period="1ms")
    assert [task.copy_time for task in work] == [200]
    with pytest.raises(ValueError, match="got no annotated ranges"):
        trace.workload("annotation")
    database(path, "DELETE FROM StringTable WHERE _id_ = 1")
    assert "expected the id of a name in StringTable" in message(gs.io.read_trace, path)
    database(path, "DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
    assert "CUPTI_ACTIVITY_KIND_KERNEL of nvprof is empty" in message(gs.io.read_trace, path)


def test_migrations_of_unified_memory_are_named() -> None:
    notes = gs.io.read_trace(DATA / "unified_memory_migrations.sqlite").workload("kernel").notes
    assert "left out: unified-memory migrations to the device: 1 (400ns in all)" in notes
    assert "left out: unified-memory migrations from the device: 1 (400ns in all)" in notes


def test_physical_device_numbers_of_rocm() -> None:
    trace = gs.io.read_trace(DATA / "amd_physical_device_number.json")
    assert trace.device.tolist() == [3, 3] and trace.gpu is None
    assert "answers with a preset of NVIDIA or a gs.GPU(...) of your own" in trace.notes[0]


@pytest.mark.parametrize(
    ("name", "smem", "resident"),
    [
        ("nsys_sizes_in_megabytes", [24_576, 50_176], [3, 3]),
        ("nsys_82944_bytes_in_megabytes", [82_944, 32_768], [2, 4]),
        ("nsys_166912_bytes_in_megabytes", [166_912], [1]),
    ],
)
def test_sizes_in_megabytes(name: str, smem: list[int], resident: list[int]) -> None:
    trace = gs.io.read_trace(DATA / f"{name}.csv")
    assert trace.smem.tolist() == smem
    found = gs.occupancy("A100", threads=trace.threads, regs=trace.regs, smem=trace.smem)
    assert found.tolist() == resident
    assert trace.gpu == gs.GPU.preset("A100") and len(trace.notes) == 1
