"""The stand-in leaves open what a driver leaves open: waits, contexts, memory, first launches."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from standin import Standin

from gpusched.cuda import Device, Operation

pytestmark = pytest.mark.python

NOT_READY, NO_CONTEXT, INVALID_HANDLE, ILLEGAL_ADDRESS = 600, 201, 400, 700
MS = 1_000_000


class Spin(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("log", "summary", "ns", "iterations", "memory", "words", "trigger")
    ]


class Driver:
    """Its functions, called by ctypes in a context of this thread."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.gpusched_now.restype = ctypes.c_int64
        self.context = self.made("cuDevicePrimaryCtxRetain", 0)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.module = self.made("cuModuleLoadData", b"image")
        self.kernel = self.made("cuModuleGetFunction", self.module, b"gs_spin_0")
        self.handles: list[tuple[str, Any]] = [("cuModuleUnload", self.module)]

    def call(self, name: str, *arguments: Any, code: int = 0) -> None:
        assert getattr(self.library, name)(*arguments) == code, name

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def stream(self) -> ctypes.c_void_p:
        made = self.made("cuStreamCreateWithPriority", 1, 0)
        self.handles.append(("cuStreamDestroy_v2", made))
        return made

    def memory(self, size: int) -> ctypes.c_uint64:
        made = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(made), ctypes.c_size_t(size))
        self.handles.append(("cuMemFree_v2", made))
        return made

    def launch(self, stream: Any, code: int = 0, **arguments: int) -> None:
        spin = Spin(**arguments)
        cells = (ctypes.c_void_p * 1)(ctypes.addressof(spin))
        shape = (1, 1, 1, 32, 1, 1, 0)
        self.call("cuLaunchKernel", self.kernel, *shape, stream, cells, None, code=code)

    def release(self) -> None:
        for function, handle in reversed(self.handles):
            self.call(function, handle)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)

    @property
    def now(self) -> int:
        return int(self.library.gpusched_now())


@pytest.fixture
def driver(standin: Standin) -> Iterator[Driver]:
    made = Driver(standin.path)
    yield made
    made.release()


def test_a_wait_is_for_one_stream(driver: Driver) -> None:
    short, long = driver.stream(), driver.stream()
    driver.launch(short, ns=1000)  # loads the kernel
    begin = driver.now
    driver.launch(long, ns=5 * MS)
    driver.launch(short, ns=MS)
    driver.call("cuStreamSynchronize", short)
    assert MS < driver.now - begin < 2 * MS
    driver.call("cuStreamQuery", long, code=NOT_READY)
    driver.launch(short, ns=MS)
    driver.call("cuStreamSynchronize", short)
    assert driver.now - begin < 3 * MS
    driver.call("cuCtxSynchronize")
    assert 5 * MS < driver.now - begin < 6 * MS


def test_memory_changes_when_operations_end(driver: Driver) -> None:
    stream, log = driver.stream(), driver.memory(24)
    driver.launch(stream, ns=1000)
    rows = (ctypes.c_uint64 * 3)(*[7] * 3)
    size = ctypes.c_size_t(24)
    driver.call("cuMemsetD8_v2", log, 0, size)
    driver.launch(stream, log=log.value, ns=1000)  # does not wait for the memset
    driver.call("cuCtxSynchronize")
    driver.call("cuMemcpyDtoH_v2", rows, log, size)
    assert list(rows) == [0, 0, 0]  # the memset came later
    driver.launch(stream, log=log.value, ns=MS)
    driver.call("cuMemcpyDtoH_v2", rows, log, size)  # nor does the NULL stream wait for it
    assert list(rows) == [0, 0, 0]
    driver.call("cuCtxSynchronize")
    driver.call("cuMemcpyDtoH_v2", rows, log, size)
    assert rows[1] - rows[0] >= MS


def test_contexts_belong_to_threads(driver: Driver) -> None:
    stream = driver.stream()
    codes: list[int] = []

    def other() -> None:
        codes.append(driver.library.cuStreamSynchronize(stream))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert codes == [NO_CONTEXT]


def test_what_is_not_there_is_an_error(driver: Driver) -> None:
    stream = driver.stream()
    driver.call("cuStreamDestroy_v2", stream)
    driver.handles.remove(("cuStreamDestroy_v2", stream))
    for function in ("cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamQuery"):
        driver.call(function, stream, code=INVALID_HANDLE)
    driver.launch(stream, code=INVALID_HANDLE)
    driver.call("cuMemFree_v2", ctypes.c_uint64(64), code=1)
    size = ctypes.c_size_t(8)
    driver.call("cuMemsetD8_v2", ctypes.c_uint64(64), 0, size, code=1)


def test_a_log_outside_of_the_memory_loses_the_device(standin: Standin) -> None:
    driver = Driver(standin.path)
    stream, log = driver.stream(), driver.memory(24)
    driver.launch(stream, log=log.value + 8)
    driver.call("cuCtxSynchronize", code=ILLEGAL_ADDRESS)
    driver.launch(stream, code=ILLEGAL_ADDRESS)
    standin.reset()


def test_the_first_launch_waits_and_a_full_queue_does(standin: Standin, driver: Driver) -> None:
    stream, other = driver.stream(), driver.stream()
    driver.launch(stream, ns=1000)
    begin = driver.now
    driver.launch(stream, ns=MS)
    driver.kernel = driver.made("cuModuleGetFunction", driver.module, b"gs_spin_1")
    driver.launch(other, ns=MS)  # of a kernel that is not loaded yet
    assert MS < driver.now - begin < 2 * MS
    driver.call("cuCtxSynchronize")
    standin.set(queue=2)
    begin = driver.now
    for _ in range(4):
        driver.launch(stream, ns=MS)
    assert 2 * MS < driver.now - begin < 3 * MS


def test_the_clock_of_the_system(standin: Standin) -> None:
    """Kernels last for their time, and two threads use two devices."""
    standin.set(clock=1, devices=2)
    ran: list[int] = []

    def work(index: int) -> None:
        with Device(index) as device:
            run = device.run([Operation(ns=5 * MS)], repeats=5)
            ran.append(int((run.end - run.begin).min()))

    begin = time.monotonic()
    threads = [threading.Thread(target=work, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin >= 0.025
    assert len(ran) == 2 and min(ran) >= 5 * MS
