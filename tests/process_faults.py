"""Calls in a process with a jumping clock, little memory, small stacks, forks, or at its end.

Run by test_process_faults.py, in a process for each: process_faults.py KIND NAME [LIBRARY]. KIND is
a key of KINDS; what it prints is compared by the test.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import forked
import numpy as np
from long_calls import CALLS

import gpusched as gs

KERNELS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
TABLE = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6])
HOSTS = gs.HostTasks.from_segments(
    [9, 12], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]], core=[0, 1], priority=[0, 1]
)
TIMED = gs.pbs.Budget(seconds=300)
MANY = gs.generate.gpusched(8, 1.2, seed=3)
MANY_TABLE = gs.BatchTable.from_utilization(MANY, slowdown="large", seed=1)
FORTY = gs.generate.gpusched(30, 1.2, seed=77)
TIMES = gs.BatchFunction.from_utilization(FORTY, (1.7, 1.9), seed=1)
STGM = gs.generate.stgm(4, seed=1, cpus=2, sms=4, utilization=(0.1, 0.2))


def share(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"share": gs.generate.uunifast(2, load, count=count, seed=seed, first=first)[:, 0]}


def swept(**options: Any) -> str:
    options = {"count": 40, "seed": 1, "chunk": 4, "workers": 2, "key": "share"} | options
    table = gs.sweep(share, {"load": [0.5, 0.7]}, progress=lambda *_: None, **options)
    return str(sorted((key, np.asarray(column).tolist()) for key, column in table.columns.items()))


# Short calls that look at a clock or go deep; what they answer does not depend on the time.
SHORT: dict[str, Callable[[], Any]] = {
    "search": lambda: gs.pbs.search(MANY, MANY_TABLE, budget=TIMED).schedulable,
    "graph": lambda: gs.pbs.search(KERNELS, TABLE, method="graph", budget=TIMED).schedulable,
    "function": lambda: gs.pbs.search(
        FORTY, TIMES, budget=gs.pbs.Budget(seconds=300, states=2000)
    ).schedulable,
    "partition": lambda: gs.pbs.partition(MANY, MANY_TABLE, gpus=2, budget=TIMED).schedulable,
    "fifo": lambda: gs.simulate.fifo(
        gs.KernelTasks([40, 50], block_time=[5, 4], blocks=[2, 3], threads=512),
        1024, until=9000, budget=TIMED,
    ).end.sum(),
    "host": lambda: gs.simulate.host(HOSTS, 2, "mpcp", until=9000, budget=TIMED).end.sum(),
    "challenge": lambda: gs.simulate.challenge(
        HOSTS, 2, "mpcp", exhaustive=False, budget=gs.pbs.Budget(states=2000, seconds=300), seed=1
    ).why(),
    "exploration": lambda: gs.simulate.challenge(
        HOSTS, 2, "mpcp", exhaustive=True, budget=gs.pbs.Budget(states=20_000, seconds=300)
    ).why(),
    "stgm_exhaustive": lambda: gs.analysis.stgm_exhaustive(STGM, 2, 4).schedulable,
    "allocation": lambda: gs.analysis.stgm_allocate(STGM, 2, 4).schedulable,
    "sweep": swept,
}  # fmt: skip


def clock(name: str, library: str) -> None:
    """The same answers while the clock of the day, or every clock, jumps backwards."""
    shared = ctypes.CDLL(library)
    shared.jumping_clock_readings.restype = ctypes.c_long
    expected = str(SHORT[name]())
    # Python's own executors wait in loops that rely on a monotonic clock.
    for clocks in (1,) if name == "sweep" else (1, 2, 3):
        for seconds in (1, 3600):
            shared.jumping_clock_set(clocks, ctypes.c_long(seconds))
            try:
                found = str(SHORT[name]())
                readings = shared.jumping_clock_readings()
            finally:
                shared.jumping_clock_set(0, ctypes.c_long(0))
            assert found == expected, (clocks, seconds, found, expected)
            assert clocks == 1 or readings > 0, (clocks, seconds)
    print("same")


FORKED = ("search", "graph", "host", "sweep")

# Calls that need more memory than there is.
LARGE: dict[str, Callable[[], Any]] = {
    "generate": lambda: gs.generate.gpusched(20, 4, count=10_000_000, seed=1),
    "stack": lambda: gs.KernelTasks(period=np.broadcast_to(100, (10**7, 20)), wcet=1),
    "hosts": lambda: gs.generate.stgm(20, count=10_000_000, seed=1),
    "table": lambda: gs.BatchTable(np.broadcast_to(1, 1 << 27)),
    "function_table": lambda: gs.BatchFunction.from_utilization(
        gs.KernelTasks([100] * 24, wcet=1), (1.7, 1.9), seed=1
    ).table(),
    "graph": lambda: long("graph"),
    "edf": lambda: long("edf"),
    "exploration": lambda: long("challenge_exploration"),
    "waves": lambda: gs.simulate.fifo(
        gs.KernelTasks([40], block_time=[5], blocks=2, threads=32), 64, until=2**40,
        budget=gs.pbs.Budget(bytes=None), settle="no",
    ),
    "shares": lambda: gs.generate.uunifast(20, 4, count=100_000_000, seed=1),
}  # fmt: skip


def long(name: str) -> Any:
    return CALLS[name]()(None)


def memory(name: str) -> None:
    """A MemoryError with a sentence, after which calls work."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + (100 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        answer = LARGE[name]()
    except MemoryError as error:
        text = str(error)
        assert len(text) > 20, repr(text)
    else:
        raise AssertionError(f"got {answer!r:.100}")
    assert gs.pbs.search(KERNELS, TABLE).schedulable
    print("refused")


def stack(name: str) -> None:
    """A long call in a thread with a stack of 64 KiB, stopped after some time."""
    found: list[str] = []
    flag = bytearray(1)
    call = CALLS[name]() if name in CALLS else widest()

    def run() -> None:
        try:
            found.append(str(call(flag)))
        except gs.Cancelled:
            found.append("cancelled")

    threading.stack_size(1 << 16)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.3)
    flag[0] = 1
    thread.join()
    assert found == ["cancelled"]
    print("cancelled")


def widest() -> Callable[[Any], Any]:
    """A search of 20 tasks, in every order."""
    tasks = gs.generate.gpusched(20, 1.9, seed=5)
    sums = np.zeros(1, np.int64)
    for wcet in tasks.wcet:
        sums = np.concatenate([sums, np.maximum(sums, wcet) + np.minimum(sums, wcet) // 3])
    table = gs.BatchTable(sums)
    return lambda stop: gs.pbs.search(tasks, table, thorough=True, stop=stop)


# What recurses over tasks, jobs or choices.
DEEP = (
    *("search", "search_one", "search_20", "graph", "partition", "function_search"),
    *("challenge_search", "challenge_exploration", "instances"),
)


def wait_for_core(thread: threading.Thread) -> None:
    """Let another thread enter its call."""
    time.sleep(0.1)
    assert thread.is_alive()


def fork(name: str) -> None:
    """Children that are forked while another thread is in a call use the package, and end."""
    flag = bytearray(1)
    call = CALLS[name]()
    for key in FORKED:  # a child could not import what the other thread is importing
        SHORT[key]()

    def run() -> None:
        try:
            call(flag)
        except gs.Cancelled:
            print("cancelled", flush=True)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for_core(thread)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                good = [str(SHORT[key]()) for key in FORKED]
                status = 0 if all(good) else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    flag[0] = 1
    thread.join()


def slow(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    time.sleep(0.05)  # Python waits for the calls of its pools that have been handed over
    return {"share": np.zeros(count)}


def daemon_sweep() -> None:
    options: dict[str, Any] = {"workers": 2, "progress": False, "key": "1", "chunk": 1}
    gs.sweep(slow, {"load": [0.2, 0.4, 0.6, 0.8]}, count=10**6, **options)


def end(name: str) -> None:
    """The interpreter ends while something runs; the process must end at once, and by itself."""
    if name == "call in a daemon":
        target: Callable[[], Any] = lambda: long("search")  # noqa: E731
    elif name == "sweep in a daemon":
        target = daemon_sweep
    elif name == "simulation in a daemon":
        target = lambda: long("host_responses")  # noqa: E731
    else:
        raise ValueError(name)
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    wait_for_core(thread)
    print("end", flush=True)


def interrupted_executor(name: str) -> None:
    """Ctrl-C in a sweep on an executor of the caller's, at the end of the program."""
    flag = threading.Event()

    def send() -> None:
        flag.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def watched(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
        flag.set()
        time.sleep(0.05)
        return {"share": np.zeros(count)}

    threading.Thread(target=send, daemon=True).start()
    with ThreadPoolExecutor(2) as pool:
        try:
            gs.sweep(
                watched,
                {"load": [0.5]},
                count=10**6,
                executor=pool,
                progress=False,
                key="1",
                chunk=1,
            )
        except KeyboardInterrupt:
            print("interrupted", flush=True)


KINDS: dict[str, Callable[..., None]] = {
    "clock": clock,
    "memory": memory,
    "stack": stack,
    "fork": fork,
    "end": end,
    "executor": interrupted_executor,
}


def main(kind: str, name: str, *library: str) -> None:
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    KINDS[kind](name, *library)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        sys.path.insert(0, str(Path(__file__).parent))
        main(*sys.argv[1:])
