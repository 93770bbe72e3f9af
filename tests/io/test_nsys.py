"""Traces of Nsight Systems: database and CSV, accepted and malformed."""

import contextlib
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched import io
from gpusched.model.gpu import GPU

pytestmark = pytest.mark.python

PID = 4242
GLOBAL_PID = (1 << 48) | (PID << 24)

# As versions of 2024 and 2025 write them, without the columns that are not read.
KERNELS = """CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
    blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
    staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
    sharedMemoryExecuted INTEGER, graphNodeId INTEGER)"""
OTHERS = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, bytes INTEGER NOT NULL, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, bytes INTEGER NOT NULL, value INTEGER);
INSERT INTO StringIds VALUES (1, 'short');
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 7, 4096, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3, 4, 0, 7, 4096, 0);
"""
A100 = {
    "id": 0, "name": "NVIDIA A100-SXM4-80GB", "smCount": 108, "maxWarpsPerSm": 64,
    "threadsPerWarp": 32, "maxBlocksPerSm": 32, "maxRegistersPerSm": 65536,
    "maxShmemPerSm": 167936, "maxShmemPerBlock": 49152, "maxShmemPerBlockOptin": 166912,
    "asyncEngines": 3, "computeMajor": 8, "computeMinor": 0,
}  # fmt: skip
PROPERTIES = {
    "id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0,
    "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "numSms": 108,
    "sharedMemPerMultiprocessor": 167936, "sharedMemPerBlockOptin": 166912,
}  # fmt: skip
HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),"
    "DymSMem (B),Bytes (B),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
)
COPY = "50,10,9,,,,,,,,,,4096,409.600,Pageable,Device,NVIDIA A100-SXM4-80GB (0),1,,7,[CUDA memcpy]"


def kernel(name="void k(int)", start=10_000, duration=5_000, **other):
    """A launch, whatever will write it down."""
    return {
        "name": name, "start": start, "duration": duration, "grid": (4, 1, 1),
        "block": (128, 1, 1), "regs": 32, "static": 0, "dynamic": 0, "device": 0, "context": 1,
        "stream": 7, "pid": PID, **other,
    }  # fmt: skip


def database(path, kernels, gpus=(A100,), devices=((0, 0, PID),), gpu_table="TARGET_INFO_GPU"):
    """The launches as ``nsys export --type sqlite`` writes them."""
    names = {name: i for i, name in enumerate(sorted({k["name"] for k in kernels}), start=100)}
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executescript(f"PRAGMA synchronous = OFF; {KERNELS}; {OTHERS}")
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, n) for n, i in names.items()])
        db.executemany(
            f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * 22)})",
            [
                (k["start"], k["start"] + k["duration"], k["device"], k["context"], None,
                 k["stream"], 5, (1 << 48) | (k["pid"] << 24), names[k["name"]],
                 1, None, k["regs"], *k["grid"], *k["block"], k["static"],
                 k["dynamic"], 32768, None)
                for k in kernels
            ],
        )  # fmt: skip
        if gpus:
            columns = list(dict.fromkeys(key for gpu in gpus for key in gpu))
            db.execute(f"CREATE TABLE {gpu_table} ({', '.join(columns)})")
            rows = [tuple(gpu.get(key) for key in columns) for gpu in gpus]
            marks = ", ".join("?" * len(columns))
            db.executemany(f"INSERT INTO {gpu_table} VALUES ({marks})", rows)
        if devices:
            db.execute(
                "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, "
                "pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER)"
            )
            rows = [(*row, "GPU-1", 108) for row in devices]
            db.executemany("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, ?, ?)", rows)
    return path


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)
    return path


def line(k, device="NVIDIA A100-SXM4-80GB ({})"):
    numbers = (k["start"], k["duration"], 5, *k["grid"], *k["block"], k["regs"], k["static"],
               k["dynamic"])  # fmt: skip
    name = '"' + k["name"].replace('"', '""') + '"'
    where = device.format(k["device"])
    return f"{','.join(map(str, numbers))},,,,,{where},{k['context']},,{k['stream']},{name}"


def table(path, kernels, head=HEAD, above="", below=""):
    """The launches as ``nsys stats -r cuda_gpu_trace --format csv`` prints them."""
    text = "\n".join([head, COPY, *map(line, kernels)]) + "\n"
    path.write_bytes((above + text + below).encode())
    return path


def kineto(path, kernels):
    events = [
        {
            "ph": "X", "cat": "kernel", "name": k["name"], "pid": 0, "tid": k["stream"],
            "ts": k["start"] / 1000, "dur": k["duration"] / 1000,
            "args": {
                "device": k["device"], "context": k["context"], "stream": k["stream"],
                "registers per thread": k["regs"], "shared memory": k["static"] + k["dynamic"],
                "grid": k["grid"], "block": k["block"],
            },
        }
        for k in kernels
    ]  # fmt: skip
    path.write_text(json.dumps({"deviceProperties": [PROPERTIES], "traceEvents": events}))
    return path


def columns(trace):
    return {
        key: getattr(trace, key).tolist()
        for key in trace.__dataclass_fields__
        if isinstance(getattr(trace, key), np.ndarray)
    }


# Fields that are read


@pytest.mark.parametrize("write", [database, table])
def test_every_array_of_a_launch(tmp_path, write):
    k = kernel(
        "void f<1, 2>(float*, int)", 1_695_835_573_023_613_501, 3_500, grid=(60, 34, 2),
        block=(16, 16, 2), regs=40, static=1024, dynamic=4096, context=2, stream=13,
    )  # fmt: skip
    trace = io.read_trace(write(tmp_path / "t", [k]))
    assert columns(trace) == {
        "name": ["void f<1, 2>(float*, int)"],
        "start": [1_695_835_573_023_613_501],
        "duration": [3_500],
        "blocks": [60 * 34 * 2],
        "threads": [512],
        "regs": [40],
        "smem": [5120],
        "device": [0],
        "context": [2],
        "stream": [13],
        "occupancy": [-1],
        "call": [-1],
    }
    for key in columns(trace):
        value = getattr(trace, key)
        assert value.dtype == (object if key == "name" else np.int64)
        with pytest.raises(ValueError):
            value[0] = value[0]
    assert trace.source == str(tmp_path / "t")
    assert trace.gpu.name in ("NVIDIA A100-SXM4-80GB", "A100")
    assert trace.gpu.sms == 108


launches = st.lists(
    st.builds(
        kernel,
        name=st.sampled_from(["void a(int)", 'x::b<"c", 2>()', "ü, \n", "triton_0"]),
        start=st.integers(0, 2**40),
        duration=st.integers(1, 10**7),
        grid=st.tuples(st.integers(1, 500), st.integers(1, 9), st.integers(1, 3)),
        block=st.tuples(st.integers(1, 32), st.integers(1, 8), st.integers(1, 4)),
        regs=st.integers(0, 64),
        static=st.integers(0, 4096),
        dynamic=st.integers(0, 40_000),
        context=st.integers(1, 3),
        stream=st.integers(0, 30),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=min(40, settings.default.max_examples))
@given(launches, st.booleans())
def test_the_three_formats_agree(tmp_path_factory, kernels, gzipped):
    folder = tmp_path_factory.mktemp("agree")
    path = table(folder / "t.csv", kernels)
    if gzipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    torch = io.read_trace(kineto(folder / "t.json", kernels))
    for read in (io.read_trace(database(folder / "t.sqlite", kernels)), io.read_trace(path)):
        assert columns(read) == columns(torch)
        ours, theirs = read.choose(3), torch.choose(3)
        assert columns(ours) == columns(theirs)
        a, b = ours.tasks(), theirs.tasks()
        for key in ("period", "wcet", "deadline", "block_time", "blocks", "threads", "regs",
                    "smem"):  # fmt: skip
            assert getattr(a, key).tolist() == getattr(b, key).tolist()
        assert a.name == b.name
        assert io.occupancy_agreement(read).counts() == {io.NOT_REPORTED: len(kernels)}


@pytest.mark.parametrize("write", [database, table])
def test_launches_are_sorted_by_start(tmp_path, write):
    kernels = [kernel(name, start) for name, start in [("a", 9), ("b", 3), ("c", 9), ("d", 1)]]
    trace = io.read_trace(write(tmp_path / "t", kernels))
    assert trace.name.tolist() == ["d", "b", "a", "c"]


@pytest.mark.parametrize("write", [database, table])
def test_several_devices_need_a_choice(tmp_path, write):
    kernels = [kernel("a"), kernel("b", device=1), kernel("c", 1, device=1)]
    path = write(tmp_path / "t", kernels)
    with pytest.raises(ValueError, match="device: got None, expected one of 0, 1, on which"):
        io.read_trace(path)
    assert io.read_trace(path, device=1, gpu="A100").name.tolist() == ["c", "b"]


# The database


def test_names_come_from_the_first_column_that_says_something(tmp_path):
    path = database(tmp_path / "t", [kernel("a", 1), kernel("b", 2), kernel("c", 3)])
    set_ = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName"
    change(
        path,
        "INSERT INTO StringIds VALUES (0, '')",
        f"{set_} = 0 WHERE start = 1",
        f"{set_} = 77777 WHERE start = 2",
    )
    assert io.read_trace(path).name.tolist() == ["short", "short", "c"]
    change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME demangledName TO x")
    assert io.read_trace(path).name.tolist() == ["short"] * 3
    change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME shortName TO y")
    with pytest.raises(ValueError, match="'mangledName': got None, expected the id of a"):
        io.read_trace(path)
    change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME mangledName TO z")
    with pytest.raises(ValueError, match="CUPTI_ACTIVITY_KIND_KERNEL: got no column"):
        io.read_trace(path)


def test_columns_that_versions_lack(tmp_path):
    path = database(tmp_path / "t", [kernel()])
    for name in ("greenContextId", "globalPid", "mangledName", "sharedMemoryExecuted"):
        change(path, f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {name}")
    for name in ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
        change(path, f"DROP TABLE {name}")
    assert io.read_trace(path).gpu.sms == 108
    for name in ("registersPerThread", "dynamicSharedMemory"):
        change(path, f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {name}")
    with pytest.raises(ValueError, match="CUPTI_ACTIVITY_KIND_KERNEL: got no column"):
        io.read_trace(path)


def test_the_gpu_of_a_database(tmp_path):
    gpu = io.read_trace(database(tmp_path / "t", [kernel()])).gpu
    assert gpu == GPU(
        sms=108, threads_per_sm=2048, blocks_per_sm=32, regs_per_sm=65536, smem_per_sm=167936,
        smem_per_block=166912, cc=(8, 0), copy_engines=3, name="NVIDIA A100-SXM4-80GB",
        channels=8, sms_per_gpc=16,
    )  # fmt: skip
    assert io.read_trace(tmp_path / "t", gpu="Xavier").gpu == GPU.preset("Xavier")


def without(*keys):
    return {key: value for key, value in A100.items() if key not in keys}


LIMITS = ("maxWarpsPerSm", "maxBlocksPerSm", "maxShmemPerSm", "maxShmemPerBlockOptin")
ALL_LIMITS = (*LIMITS, "threadsPerWarp", "maxRegistersPerSm", "maxShmemPerBlock", "asyncEngines")


@pytest.mark.parametrize(
    ("row", "sms", "cc"),
    [
        (without(*ALL_LIMITS), 108, (8, 0)),
        (A100 | dict.fromkeys(LIMITS, 0) | {"asyncEngines": None}, 108, (8, 0)),
        (without(*ALL_LIMITS, "computeMajor", "computeMinor"), 108, (8, 0)),  # by its name
        (without(*ALL_LIMITS, "computeMajor") | {"smCount": 98}, 98, (8, 0)),
        (without("smCount"), 108, (8, 0)),  # TARGET_INFO_CUDA_DEVICE has it, too
        ({"id": 0, "name": "NVIDIA A100-PCIE-40GB", "smCount": None}, 108, (8, 0)),
        ({"id": 0, "name": "NVIDIA A10M", "smCount": None}, None, None),
        ({"id": 0, "name": "Unknown", "smCount": 4}, None, None),
        ({"id": 0, "name": None}, None, None),
        (without("computeMajor", "computeMinor", "name"), 108, None),
        (A100 | {"name": "NVIDIA H200 MIG 3g.71gb", "smCount": 60}, 60, (8, 0)),
        (A100 | {"id": 5}, None, None),  # another one
    ],
)
def test_what_a_gpu_lacks(tmp_path, row, sms, cc):
    gpu = io.read_trace(database(tmp_path / "t", [kernel()], [row])).gpu
    if sms is None:
        assert gpu is None
    else:
        assert (gpu.sms, gpu.cc) == (sms, cc)
        assert (gpu.threads_per_sm, gpu.blocks_per_sm, gpu.smem_per_sm) == (2048, 32, 167936)
        assert len(gpu.sm_order) == sms


def test_no_gpu_at_all(tmp_path):
    for devices in ((), ((0, 0, PID),)):
        path = database(tmp_path / f"t{len(devices)}", [kernel()], (), devices)
        trace = io.read_trace(path)
        assert trace.gpu is None
        with pytest.raises(ValueError, match="gpu: got None, expected the GPU of the trace"):
            trace.choose()
        assert io.read_trace(path, gpu="A100").choose().tasks().block_time.tolist() == [5000]


def test_the_gpu_of_early_versions(tmp_path):
    row = {
        "deviceId": 0, "name": "Xavier", "numMultiprocessors": 8, "computeCapabilityMajor": 7,
        "computeCapabilityMinor": 2, "maxWarpsPerMultiprocessor": 64, "numThreadsPerWarp": 32,
        "maxBlocksPerMultiprocessor": 32, "numMemcpyEngines": 1,
    }  # fmt: skip
    path = database(tmp_path / "t", [kernel()], [row], (), "TARGET_INFO_CUDA_GPU")
    assert io.read_trace(path).gpu == GPU.preset("Xavier")
    path = database(tmp_path / "u", [kernel()], [{"name": "V100"}], ())  # no number: the first is 0
    assert io.read_trace(path).gpu == GPU.preset("V100")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (A100 | {"smCount": "many"}, "'smCount': got 'many', expected a positive integer"),
        (A100 | {"smCount": -4}, "'smCount': got '-4'"),
        (A100 | {"maxWarpsPerSm": 1.5}, "'maxWarpsPerSm': got '1.5'"),
        (A100 | {"smCount": 2**40}, "sms: got 1099511627776"),
        (A100 | {"maxShmemPerBlockOptin": 2**20}, "smem_per_block: got 1048576"),
        (without("maxBlocksPerSm") | {"computeMajor": 77}, r"cc: got \(77, 0\), expected one of"),
    ],
)
def test_malformed_gpus(tmp_path, row, message):
    path = database(tmp_path / "t", [kernel()], [row])
    with pytest.raises(ValueError, match=f"t: TARGET_INFO_GPU, row 1: {message}.*or give gpu="):
        io.read_trace(path)
    assert io.read_trace(path, gpu="A100").gpu.sms == 108
    change(path, "UPDATE TARGET_INFO_GPU SET id = 'first'")
    with pytest.raises(ValueError, match="'id': got 'first', expected an integer"):
        io.read_trace(path, gpu="A100")


def test_processes_have_their_own_devices_and_contexts(tmp_path):
    kernels = [kernel("a", 1, pid=11), kernel("b", 2, pid=22), kernel("c", 3, pid=22, context=4)]
    second = A100 | {"id": 1, "name": "second"}
    # Both see the same GPU: only their contexts differ.
    path = database(tmp_path / "same", kernels, [A100, second], [(1, 0, 11), (1, 0, 22)])
    trace = io.read_trace(path)
    assert trace.device.tolist() == [0, 0, 0] and trace.gpu.name == "second"
    assert trace.context.tolist() == [1, 2, 3]
    # Each sees one of its own, which is device 0 to it.
    path = database(tmp_path / "own", kernels, [A100, second], [(1, 0, 11), (0, 0, 22)])
    with pytest.raises(ValueError, match="device: got None, expected one of 0, 1, on which"):
        io.read_trace(path)
    trace = io.read_trace(path, device=1)
    assert (trace.name.tolist(), trace.gpu.name) == (["a"], "second")
    assert io.read_trace(path, device=0).gpu.name == A100["name"]
    # One process alone: the GPU is the one that is device 0 to it.
    path = database(tmp_path / "alone", kernels[1:], [A100, second], [(0, 0, 11), (1, 0, 22)])
    trace = io.read_trace(path)
    assert (trace.context.tolist(), trace.gpu.name) == ([1, 4], "second")


def test_nothing_is_left_beside_a_database(tmp_path):
    path = database(tmp_path / "a b%20?c#ü.sqlite", [kernel()])
    change(path, "PRAGMA journal_mode = WAL", "UPDATE StringIds SET value = 'k' WHERE id = 100")
    before = path.read_bytes()
    assert before[18:20] == b"\x02\x02"
    path.chmod(0o444)
    assert io.read_trace(path).name.tolist() == ["k"]
    change(path, "PRAGMA journal_mode = DELETE") if os.access(path, os.W_OK) else None
    assert io.read_trace(path).name.tolist() == ["k"]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.long
def test_databases_that_are_being_written(tmp_path):
    path = database(tmp_path / "t", [kernel()])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"another program is writing it.*locked.*t'"):
            io.read_trace(path)
        writer.execute("ROLLBACK")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE StringIds SET value = 'k' WHERE id = 100")
        with pytest.raises(OSError, match="t-wal has changes that are not in it yet"):
            io.read_trace(path)
    assert io.read_trace(path).name.tolist() == ["k"]
    assert os.listdir(tmp_path) == ["t"]


def test_a_writer_that_was_killed(tmp_path):
    """Its journal has to be played back first, which a reader may not do."""
    path = database(tmp_path / "t", [kernel(f"k{i}", i) for i in range(3000)])
    script = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 2')\n"
        "db.execute('BEGIN')\n"
        "db.execute('UPDATE StringIds SET value = value || 1')\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    assert sorted(os.listdir(tmp_path)) == ["t", "t-journal"]
    with pytest.raises(OSError, match="another program is writing it, or was stopped"):
        io.read_trace(path)
    assert sorted(os.listdir(tmp_path)) == ["t", "t-journal"]


UPDATE = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {} WHERE rowid = 2"


@pytest.mark.parametrize(
    ("change_", "message"),
    [
        ("start = -1", "'start': got -1, expected a non-negative number"),
        ("end = start - 1", "'end': got 9999, expected at least start"),
        ("end = -9223372036854775807 - 1", "'end': got -9223372036854775808, expected at"),
        ("gridX = 0", "'gridX': got 0, expected a positive number"),
        ("blockZ = -3", "'blockZ': got -3, expected a positive number"),
        ("gridX = 'wide'", "'gridX': got 'wide', expected an integer"),
        ("gridX = x'ff00'", r"'gridX': got '�\\x00', expected an integer"),
        ("gridX = zeroblob(3000000)", "'gridX': got"),
        ("gridX = 2.5", r"'gridX': got 2\.5, expected an integer"),
        ("gridX = 1e300", r"'gridX': got 1e\+300, expected an integer"),
        ("gridX = 2147483648, gridY = 2147483648, gridZ = 2147483648",
         "gridX, gridY, gridZ: expected a product that fits"),
        ("registersPerThread = -1", "'registersPerThread': got -1, expected a"),
        ("staticSharedMemory = -1", "'staticSharedMemory': got -1, expected a"),
        ("staticSharedMemory = 9223372036854775807, dynamicSharedMemory = 1",
         "'dynamicSharedMemory': got 1, expected a number"),
        ("deviceId = -1", "'deviceId': got -1, expected a non-negative number"),
        ("streamId = 'x'", "'streamId': got 'x', expected an integer"),
        ("demangledName = 'void k()'", r"'demangledName': got 'void k\(\)', expected an"),
        ("demangledName = 7, shortName = 8", "'demangledName': got 7, expected the id of a name"),
        ("globalPid = 'p'", "'globalPid': got 'p', expected an integer"),
    ],
)  # fmt: skip
def test_malformed_kernels(tmp_path, change_, message):
    path = database(tmp_path / "t", [kernel("a"), kernel("b")])
    change(path, UPDATE.format(change_))
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(caught.value).startswith(f"{path}: CUPTI_ACTIVITY_KIND_KERNEL, row 2: ")


@pytest.mark.parametrize("key", ["start", "end", "gridY", "registersPerThread", "streamId"])
def test_nothing_where_a_number_belongs(tmp_path, key):
    path = database(tmp_path / "t", [kernel("a"), kernel("b")])
    change(
        path,
        "CREATE TABLE loose AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
        "ALTER TABLE loose RENAME TO CUPTI_ACTIVITY_KIND_KERNEL",
        UPDATE.format(f"{key} = NULL"),
    )
    with pytest.raises(ValueError, match=f"row 2: '{key}': got None, expected an integer"):
        io.read_trace(path)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["UPDATE StringIds SET value = CAST(x'766fff' AS TEXT) WHERE id = 100"],
         "'value': got 'vo�', expected UTF-8"),
        (["UPDATE StringIds SET value = x'00' WHERE id = 100",
          "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = NULL WHERE 0"], None),
        (["DROP TABLE StringIds"], "got no table StringIds of the kernels' names"),
        (["DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL"],
         "got no kernels, expected at least one:"),
        (["DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"],
         "got no kernels, expected at least one:"),
        (["DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL",
          "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)"],
         "got no kernels, expected at least one: it has"),
        (["DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "DROP TABLE StringIds"],
         "got an SQLite database without the table"),
        (["ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k",
          "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k"], "is missing"),
    ],
)  # fmt: skip
def test_malformed_databases(tmp_path, statements, message):
    path = change(database(tmp_path / "t", [kernel("a")]), *statements)
    if message is None:  # bytes are as good as text
        assert io.read_trace(path).name.tolist() == ["\0"]
        return
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_names_that_are_no_text(tmp_path):
    path = database(tmp_path / "t", [kernel("a")])
    change(
        path,
        "DROP TABLE StringIds",
        "CREATE TABLE StringIds (id, value)",
        "INSERT INTO StringIds VALUES (100, 7)",
    )
    with pytest.raises(ValueError, match="'value': got 7, expected a kernel's name"):
        io.read_trace(path)


@pytest.mark.long
def test_truncated_and_damaged_databases(tmp_path):
    whole = database(tmp_path / "t", [kernel(f"k{i}", i) for i in range(300)]).read_bytes()
    path = tmp_path / "cut"
    for size in (16, 17, 20, 99, 100, 101, 512, 4095, 4096, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"cut: .*(SQLite|no kernels)"):
            io.read_trace(path)
    generator = random.Random(3)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(generator.choice((1, 5, 50))):
            data[generator.randrange(16, len(data))] = generator.randrange(256)
        path.write_bytes(data)
        try:
            io.read_trace(path)
        except (ValueError, OSError) as error:
            refused += 1
            assert str(path) in str(error), error
    assert refused > 30
    assert sorted(os.listdir(tmp_path)) == ["cut", "t"]


def test_a_database_in_gzip(tmp_path):
    path = database(tmp_path / "t", [kernel()])
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match="got an SQLite database in gzip: decompress it"):
        io.read_trace(path)


# The CSV


@pytest.mark.parametrize(
    ("time", "size", "start", "duration", "static", "dynamic"),
    [
        ("ns", "B", "1234567", "2500", "1024", "40000"),
        ("us", "KB", "1234.567", "2.5", "1.024", "40"),
        ("µs", "byte", "1234.567", "2.500", "1024", "40000"),
        ("ms", "bytes", "1.234567", "0.0025", "1024", "40000"),
        ("s", "KiB", "0.001234567", "0.000002500", "1", "39.0625"),
        ("sec", "MB", "0.001234567", "2.5e-6", "0.001024", "0.04"),
        ("nsec", "MiB", "1234567", "2500", "0.0009765625", "0.03814697265625"),
        (None, None, "1234567", "2500", "1024", "40000"),
    ],
)
def test_units_of_the_headers(tmp_path, time, size, start, duration, static, dynamic):
    head = HEAD.replace("(ns)", f"({time})" if time else "")
    head = head.replace("(B)", f"({size})" if size else "")
    k = kernel(start=start, duration=duration, static=static, dynamic=dynamic)
    trace = io.read_trace(table(tmp_path / "t", [k], head))
    assert (trace.start[0], trace.duration[0], trace.smem[0]) == (1234567, 2500, 41024)


@pytest.mark.parametrize(
    ("unit", "written", "taken"),
    [
        *(("MB", text, size) for text, size in (
            ("0.000", 0), ("0.001", 1024), ("0.033", 32_768), ("0.083", 82_944),
            ("0.167", 166_912), ("0.002", 2048), ("0.008", 8192),
            ("0.021", 20_992),  # no multiple of 1,024, but of 128
            ("0.03", 30_000), ("0.0205", 20_500),  # not written by nsys
        )),
        ("KB", "1.024", 1024), ("KB", "20.500", 20_500), ("KiB", "20.019", 20_499),
        ("MiB", "0.016", 16_384), ("B", "20500.000", 20_500),
    ],
)  # fmt: skip
def test_rounded_sizes_are_plausible_ones(tmp_path, unit, written, taken):
    k = kernel(static="0.000", dynamic=written)
    trace = io.read_trace(table(tmp_path / "t", [k], HEAD.replace("(B)", f"({unit})")))
    assert trace.smem.tolist() == [taken]
    differs = unit in ("MB", "MiB") and len(written) == 5 and taken
    assert len(trace.notes) == bool(differs)
    if differs:
        assert f"{written} {unit} as {taken:,}" in trace.notes[0]


def test_every_usual_size_is_found_in_megabytes(tmp_path):
    """Each multiple of 1,024 bytes up to the largest block is the one that is read."""
    sizes = range(0, 228 * 1024 + 1, 1024)
    kernels = [kernel(start=i, dynamic=f"{size / 1e6:.3f}") for i, size in enumerate(sizes)]
    read = io.read_trace(table(tmp_path / "t", kernels, HEAD.replace("(B)", "(MB)")))
    assert read.smem.tolist() == list(sizes)
    assert read.notes[0].count(" MB as ") == 4 and ", ... bytes" in read.notes[0]


def test_lines_around_the_report(tmp_path):
    kernels = [kernel("a", 1), kernel("b", 2)]
    above = "\ufeff\nNOTICE: Existing SQLite export found: r\n\nProcessing [r] with [x.py]...\n"
    below = "\nProcessing [r] with [y.py]...\nTime (%),Total Time (ns)\n1,2\n"
    for text in (above, above.replace("\n", "\r\n"), "", "\ufeff", "** CUDA GPU Trace:\n\n"):
        for rest in ("", "\n", below):
            path = table(tmp_path / "t", kernels, above=text, below=rest)
            assert io.read_trace(path).name.tolist() == ["a", "b"]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert io.read_trace(path).name.tolist() == ["a", "b"]


def test_headers_of_older_versions(tmp_path):
    head = HEAD.replace("GreenCtx,", "").replace("(MB/s)", "(MBps)")
    text = f"{head}\n{line(kernel('a')).replace(',1,,7,', ',1,7,')}\n"
    (tmp_path / "t").write_text(text)
    trace = io.read_trace(tmp_path / "t")
    assert (trace.context.tolist(), trace.stream.tolist()) == ([1], [7])


def test_columns_in_another_order(tmp_path):
    rows = [HEAD.split(","), line(kernel("a", regs=9)).split(",")]
    text = "\n".join(",".join(reversed([*row, "x"])) for row in rows)
    (tmp_path / "t").write_text(text)
    assert io.read_trace(tmp_path / "t").regs.tolist() == [9]
    doubled = "\n".join(",".join([*row, row[0]]) for row in rows)
    (tmp_path / "t").write_text(doubled)
    assert io.read_trace(tmp_path / "t").start.tolist() == [10_000]


def test_devices_of_the_csv(tmp_path):
    def read(*devices, **more):
        lines = [line(kernel(f"k{i}", i), device) for i, device in enumerate(devices)]
        (tmp_path / "t").write_text("\n".join([HEAD, *lines]) + "\n")
        return io.read_trace(tmp_path / "t", **more)

    assert read("NVIDIA GeForce RTX 2080 Ti (0)").gpu == GPU.preset("RTX 2080 Ti")
    assert read("NVIDIA Unknown (3)").gpu is None
    assert read("NVIDIA Unknown (3)").device.tolist() == [3]
    assert read("NVIDIA Unknown (3)", gpu="V100").gpu == GPU.preset("V100")
    trace = read("V100", "A100 (0)", "V100", device=1)
    assert (len(trace), trace.gpu) == (2, GPU.preset("V100"))
    assert read("").gpu is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("10000,", "-1,", "'Start': got -1, expected a non-negative number"),
        ("10000,", ",", "'Start': got '', expected a number"),
        ("10000,", "soon,", "'Start': got 'soon', expected a number"),
        ("10000,", "nan,", "'Start': got 'nan', expected a number of 64 bits"),
        ("10000,", "1e999999,", "'Start': got '1e999999', expected a number of 64"),
        ("10000,", f"{2**63},", f"line 4: 'Start': got '{2**63}', expected a number of 64 bits"),
        ("10000,", f"{2**63 - 1},", "'Start': got 9223372036854775807, expected a time"),
        ('10000,', '"10,000",', "'Start': got '10,000', expected a number"),
        (",5000,", ",-5,", "'Duration': got -5, expected a non-negative number"),
        (",4,1,1,", ",0,1,1,", "'GrdX': got 0, expected a positive number"),
        (",4,1,1,", ",,1,1,", "'GrdX': got '', expected a number"),
        (",4,1,1,", ",2.5,1,1,", r"'GrdX': got '2\.5', expected an integer"),
        (",4,1,1,", f",{2**31},{2**31},{2**31},", "GrdX, GrdY, GrdZ: expected a product that fits"),
        (",128,1,1,", ",128,1,-1,", "'BlkZ': got -1, expected a positive number"),
        (",32,0,0,", ",-2,0,0,", "'Reg/Trd': got -2, expected a non-negative number"),
        (",32,0,0,", ",32,0.5.1,0,", r"'StcSMem': got '0\.5\.1', expected a number"),
        (",32,0,0,", ",32,0,-4,", "'DymSMem': got -4, expected a non-negative number"),
        (",1,,7,", ",1,,x,", "'Strm': got 'x', expected a number"),
        ('"b"', '""', "'Name': got '', expected a name"),
        ('"b"', '"b', "line 4: expected CSV: unexpected end of data"),
        ('"b"', '"b"c', "line 4: expected CSV: ',' expected after '\"'"),
        (',"b"', "", "line 4: got 20 fields, expected 21"),
        ('"b"', "b\udcff", "line 4: expected UTF-8"),
    ],
)  # fmt: skip
def test_malformed_rows(tmp_path, old, new, message):
    path = table(tmp_path / "t", [kernel("a", 1), kernel("b")])
    text = path.read_text()
    last = text.splitlines()[-1]
    assert old in last
    damaged = text.replace(last, last.replace(old, new))
    path.write_bytes(damaged.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        io.read_trace(path)
    assert str(caught.value).startswith(f"{path}: line ")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (HEAD.replace("Reg/Trd,", ""), "line 1: got headers without Reg/Trd"),
        (HEAD.replace("Start (ns)", "Begin (ns)"), "line 1: got headers without Start"),
        (HEAD.replace("(ns)", "(weeks)"), "'Start': got the unit 'weeks', expected one of"),
        (HEAD.replace("StcSMem (B)", "StcSMem (%)"), "'StcSMem': got the unit '%', expected one"),
        (HEAD.replace("StcSMem (B)", "StcSMem (ns)"), "'StcSMem': got the unit 'ns', expected one"),
        (f"{HEAD},a{' ' * 100_000}b", "got a report without kernels"),
    ],
)
def test_malformed_headers(tmp_path, head, message):
    (tmp_path / "t").write_text(f"{head}\n")
    with pytest.raises(ValueError, match=message):
        io.read_trace(tmp_path / "t")


def test_a_report_without_kernels(tmp_path):
    with pytest.raises(ValueError, match="got a report without kernels, expected at least"):
        io.read_trace(table(tmp_path / "t", []))
    (tmp_path / "t").write_text("Time (%),Total Time (ns),Instances,Name\n100,5,1,k\n")
    with pytest.raises(ValueError, match="got a summary of Nsight Systems, without single kernels"):
        io.read_trace(tmp_path / "t")


@pytest.mark.long
def test_damaged_reports_never_escape_as_another_error(tmp_path):
    path = table(tmp_path / "t", [kernel("a", 1), kernel("b", 2)])
    whole = path.read_bytes()
    generator = random.Random(5)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            data[generator.randrange(len(data))] = generator.choice(b'09-.e,"\n\r\0(\xffx')
        path.write_bytes(data[: generator.choice((len(data), generator.randrange(len(data))))])
        try:
            io.read_trace(path)
        except ValueError as error:
            assert str(path) in str(error)


# Other files


def test_logs_of_the_examiner_are_read_elsewhere(tmp_path):
    (tmp_path / "log.json").write_text('{"scenario_name": "s", "times": [{}]}')
    with pytest.raises(ValueError, match="got a log of cuda_scheduling_examiner: read it with"):
        io.read_trace(tmp_path / "log.json")
    with pytest.raises(IsADirectoryError, match=r"gs\.io\.read_examiner"):
        io.read_trace(tmp_path)


def test_reports_that_must_be_exported_first(tmp_path):
    for name in ("a.nsys-rep", "b.QDREP"):
        (tmp_path / name).write_bytes(b"NVIDIA\0\1\2")
        with pytest.raises(ValueError, match="convert it with nsys export --type sqlite"):
            io.read_trace(tmp_path / name)


# The command


@pytest.mark.long
@pytest.mark.parametrize("write", [database, table])
def test_the_command_takes_both_formats(tmp_path, write):
    path = write(tmp_path / "t", [kernel(name, i, 9000 + i) for i, name in enumerate("abc")])
    command = [sys.executable, "-m", "gpusched", "trace", path, "--output", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "A100" in done.stdout and "108 SMs" in done.stdout
    assert (tmp_path / "out" / "schedule.json").exists()
