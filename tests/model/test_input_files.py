"""Reading: regular files only, within a limit of size, and without advice to unpickle."""

from __future__ import annotations

import errno
import gzip
import io
import os
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._support.arguments import MAX_BYTES
from gpusched._support.input_files import content, gunzip

pytestmark = pytest.mark.python

CONFIGURATION = """{"name": "n", "max_iterations": 1, "max_time": 0, "benchmarks": [
    {"filename": "timer_spin.so", "thread_count": 32, "block_count": 1, "data_size": 0}]}"""
TRACE = Path(__file__).parents[1] / "data" / "pipeline.pt.trace.json"
TASKS = gs.KernelTasks(period=[4, 8], wcet=[1, 2])
TABLE = gs.BatchTable([0, 1, 2, 3])
SCHEDULE = gs.Schedule([0, 4], [3, 5], [3, 1], TASKS, TABLE)
MIB = 1 << 20

# Every reader, and a function that writes a file for it.
READERS: dict[str, tuple[Callable[..., Any], Callable[[Path], Any]]] = {
    "tasks.npz": (gs.KernelTasks.load, TASKS.save),
    "gpu.npz": (gs.GPU.load, gs.GPU.preset("xavier").save),
    "table.npz": (gs.BatchTable.load, TABLE.save),
    "table.csv": (gs.BatchTable.from_file, TABLE.to_file),
    "table.json": (gs.BatchTable.from_file, TABLE.to_file),
    "schedule.json": (gs.Schedule.load, SCHEDULE.save),
    "trace.json": (gs.io.read_trace, lambda path: path.write_bytes(TRACE.read_bytes())),
    "trace.json.gz": (
        gs.io.read_trace,
        lambda path: path.write_bytes(gzip.compress(TRACE.read_bytes())),
    ),
    "log.json": (
        gs.io.read_examiner,
        lambda path: path.write_text('{"times": [{}]}', encoding="utf-8"),
    ),
    "config.json": (
        gs.io.read_examiner_config,
        lambda path: path.write_text(CONFIGURATION, encoding="utf-8"),
    ),
}


@pytest.fixture(autouse=True)
def _hang() -> Iterator[None]:
    """End a reader that waits without end."""

    def give_up(*_: Any) -> None:
        raise AssertionError("the reader waits")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def is_readable(name: str) -> bool:
    return name != "log.json"  # a log without blocks is refused in other words


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["FIFO", "/dev/zero", "/dev/null", "folder"])
def test_readers_refuse_what_is_not_a_regular_file(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "log.json").symlink_to("/dev/zero")  # the reader of logs takes folders
    else:
        path.symlink_to(kind)
    with pytest.raises(OSError) as caught:
        READERS[name][0](path)
    assert str(caught.value.filename).startswith(str(path))
    assert ", expected a " in str(caught.value.strerror)
    assert caught.value.errno in (errno.EINVAL, errno.EISDIR)


@pytest.mark.parametrize("name", READERS)
def test_readers_stop_at_the_limit(tmp_path: Path, name: str) -> None:
    read, write = READERS[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=r"got more than 10 bytes.*, expected at most that \(max_"):
        read(tmp_path / name, max_bytes=10)
    for wrong in (None, "1", 1.5, True):
        with pytest.raises(TypeError, match=r"^max_bytes: got .*, expected an integer$"):
            read(tmp_path / name, max_bytes=wrong)
    with pytest.raises(ValueError, match=r"^max_bytes: got 0, expected a positive number$"):
        read(tmp_path / name, max_bytes=0)
    if is_readable(name):
        read(tmp_path / name, max_bytes=MIB)


def test_a_sparse_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for name, (read, _) in READERS.items():
        link = tmp_path / f"sparse.{name}"
        link.symlink_to(path)
        assert peak(lambda read=read, link=link: refused(read, link)) < MIB


def peak(call: Callable[[], Any]) -> int:
    """Most bytes that Python allocates in a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(read: Callable[..., Any], path: Path, **options: Any) -> str:
    with pytest.raises(ValueError) as caught:
        read(path, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


# Packed files -------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_gzip_is_measured_before_it_is_unpacked(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    blanks = b" " * MIB
    data = b"".join(packer.compress(blanks) for _ in range(64)) + packer.flush()
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(data)
    used = peak(lambda: refused(gs.io.read_trace, path, max_bytes=32 * MIB))
    assert used < 8 * MIB
    assert "bytes unpacked, expected" in refused(gs.io.read_trace, path, max_bytes=32 * MIB)
    assert len(gunzip(data, "bomb", 64 * MIB)) == 64 * MIB
    many = data * 2  # members are added up
    with pytest.raises(ValueError, match=r"^bomb: got more than"):
        gunzip(many, "bomb", 64 * MIB)


def archive(path: Path, member: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A saved task set with a further member."""
    TASKS.save(path)
    with zipfile.ZipFile(path, "a", method) as file:
        file.writestr("more.npy", member)
    return path


def test_a_zip_is_refused_by_the_sizes_that_it_states(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.npz", bytes(64 * MIB))
    assert path.stat().st_size < MIB
    for read in (gs.KernelTasks.load, gs.BatchTable.load):
        assert peak(lambda read=read: refused(read, path, max_bytes=32 * MIB)) < 2 * MIB
    assert "bytes unpacked" in refused(gs.KernelTasks.load, path, max_bytes=32 * MIB)


def test_a_zip_that_states_less_than_it_holds(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.npz", bytes(64 * MIB))
    data = path.read_bytes()
    stated = (64 * MIB).to_bytes(4, "little")
    assert data.count(stated) == 2
    path.write_bytes(data.replace(stated, (1000).to_bytes(4, "little")))
    assert peak(lambda: refused(gs.KernelTasks.load, path)) < 8 * MIB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_compression(tmp_path: Path, method: int) -> None:
    path = archive(tmp_path / "a.npz", b"x", method)
    message = refused(gs.KernelTasks.load, path)
    assert f"'more.npy' compressed by method {method}" in message


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", b"x")
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\1\2") + 8
    data[at] |= 1
    path.write_bytes(data)
    assert "'more.npy' encrypted" in refused(gs.KernelTasks.load, path)


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def long_header() -> bytes:
    kind = np.dtype([(f"field{i}", "<i8") for i in range(2000)])
    return npy(np.zeros(1, kind))


@pytest.mark.parametrize(
    "member", [npy(np.array([{}], dtype=object)), long_header(), b"\x80\x04.", b"\x93NUMPY\x01\x00"]
)
def test_no_message_advises_to_unpickle(tmp_path: Path, member: bytes) -> None:
    path = archive(tmp_path / "a.npz", member)
    for read in (gs.KernelTasks.load, gs.BatchTable.load):
        message = refused(read, path)
        assert "pickle" not in message and "max_header_size" not in message


# Databases ----------------------------------------------------------------------------------------


def database(path: Path, value: str) -> Path:
    """A trace of one kernel whose name is computed by the database."""
    columns = {
        **dict.fromkeys(["start", "deviceId", "contextId", "streamId"], 0),
        **dict.fromkeys(["end", "registersPerThread", "demangledName"], 1),
        **dict.fromkeys(["gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"], 1),
        **dict.fromkeys(["staticSharedMemory", "dynamicSharedMemory"], 0),
    }
    with sqlite3.connect(path) as file:
        file.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(columns)})")
        row = ", ".join(map(str, columns.values()))
        file.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({row})")
        file.execute(f"CREATE TABLE StringIds (id, value AS ({value}))")
        file.execute("INSERT INTO StringIds (id) VALUES (1)")
    file.close()
    return path


def test_computed_values_of_a_database_are_limited(tmp_path: Path) -> None:
    path = database(tmp_path / "a.sqlite", "CAST(zeroblob(1000000) AS TEXT)")
    assert len(gs.io.read_trace(path)) == 1
    assert "bytes of values" in refused(gs.io.read_trace, path, max_bytes=500_000)
    path = database(tmp_path / "b.sqlite", "CAST(zeroblob(900000000) AS TEXT)")
    assert peak(lambda: refused(gs.io.read_trace, path)) < 8 * MIB


# Pipes on purpose ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
@pytest.mark.parametrize("name", ["tasks.npz", "table.npz", "schedule.json", "trace.json.gz"])
def test_an_own_descriptor_may_be_a_pipe(tmp_path: Path, name: str, path: str) -> None:
    read, write = READERS[name]
    write(tmp_path / name)
    method = f"{read.__self__.__name__}.load" if hasattr(read, "__self__") else None
    call = {"schedule.json": "Schedule.load", "trace.json.gz": "io.read_trace"}.get(name, method)
    code = f"import gpusched as gs\nprint(len(gs.{call}({path!r})))"
    command = [sys.executable, "-c", code]
    expected = f"{len(read(tmp_path / name))}\n".encode()
    data = (tmp_path / name).read_bytes()
    assert subprocess.run(command, input=data, capture_output=True).stdout == expected
    with (tmp_path / name).open("rb") as file:
        assert subprocess.run(command, stdin=file, capture_output=True).stdout == expected


def test_an_endless_pipe_ends_at_the_limit() -> None:
    reader, writer = os.pipe()
    os.write(writer, bytes(1000))
    with os.fdopen(reader), pytest.raises(ValueError, match="got more than 100 bytes"):
        content(f"/dev/fd/{reader}", 100)
    os.close(writer)


def test_a_database_in_a_pipe(tmp_path: Path) -> None:
    path = database(tmp_path / "a.sqlite", "'k'")
    reader, writer = os.pipe()
    os.write(writer, path.read_bytes()[:4096])
    os.close(writer)
    with os.fdopen(reader), pytest.raises(ValueError, match="got an SQLite database in a pipe"):
        gs.io.read_trace(f"/dev/fd/{reader}")


def test_a_device_as_a_descriptor_is_refused() -> None:
    with open("/dev/zero", "rb") as file, pytest.raises(OSError, match="got a character device"):
        content(f"/dev/fd/{file.fileno()}")


def test_files_that_state_no_size() -> None:
    assert content("/proc/self/status").startswith(b"Name:")
    with pytest.raises(ValueError, match="got more than 5 bytes"):
        content("/proc/self/status", 5)


def test_a_folder_of_logs_is_named_by_the_reader_of_traces(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="read_examiner"):
        gs.io.read_trace(tmp_path)


def test_descriptors_are_closed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    before = sorted(os.listdir("/proc/self/fd"))
    for path in (tmp_path / "fifo", tmp_path, "/dev/zero"):
        with pytest.raises(OSError):
            content(path)
    assert sorted(os.listdir("/proc/self/fd")) == before
