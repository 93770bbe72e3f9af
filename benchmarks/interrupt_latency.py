"""Ctrl-C during every long call, and during calls on large inputs; results/interrupt_latency.txt.

Every call runs in a process of its own, which a thread interrupts by SIGINT: the calls of
tests/long_calls.py after some tenths of a second, the calls on large inputs (LARGE) at several
shares of the time that they take alone. Measured is the processor time of the whole process from
the signal to the KeyboardInterrupt, which other programs on the machine do not lengthen, and the
wall-clock time. The rule is 0.1 s. Four minutes, 12 GB of memory.

    python benchmarks/interrupt_latency.py [--only NAME ...] [--save]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from long_calls import CALLS, WITHOUT_FLAG

RULE = 0.1
AFTER = (0.15, 0.35)  # seconds of processor time
SHARES = tuple(np.linspace(0.05, 0.95, 10))
CHANCE = np.random.default_rng(1)


def kernels(sets: int) -> dict[str, Any]:
    period = CHANCE.integers(100, 1000, (sets, 20))
    return {"period": period, "wcet": period // 40}


def hosts(sets: int) -> Any:
    one = gs.HostTasks.from_segments([90, 120, 200], [[2, (1, 3, 1), 1]] * 3, core=[0, 1, 0])
    return tuple(np.repeat(column, sets, 0) for column in gs.HostTasks.stack([one])._columns())


def saved_and_loaded(value: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            value.save(Path(folder, "file.npz"))
            return type(value).load(Path(folder, "file.npz"))

    return call


def large_list() -> Callable[[], Any]:
    values = {key: value.tolist() for key, value in kernels(200_000).items()}
    return lambda: gs.KernelTasks(**values)


def large_row() -> Callable[[], Any]:
    period = list(range(1, 4_000_000))
    return lambda: gs.KernelTasks(period=period, wcet=1)


def large_array() -> Callable[[], Any]:
    values = kernels(2_000_000)
    return lambda: gs.KernelTasks(**values)


def large_table() -> Callable[[], Any]:
    values = np.arange(1 << 24)
    return lambda: gs.BatchTable(values)


def large_table_list() -> Callable[[], Any]:
    values = list(range(1 << 22))
    return lambda: gs.BatchTable(values)


def large_hosts() -> Callable[[], Any]:
    one = gs.HostTasks.from_segments([90, 120, 200], [[2, (1, 3, 1), 1]] * 3, core=[0, 1, 0])
    stack = gs.HostTasks.stack([one])
    fields = {key: np.repeat(array, 300_000, 0) for key, array in stack._arrays().items()}
    return lambda: gs.HostTasks(**fields)


def verdicts() -> Callable[[], Any]:
    one = gs.HostTasks.from_segments([90, 120, 200], [[2, (1, 3, 1), 1]] * 3, core=[0, 1, 0])
    stack = gs.HostTasks.stack([one])
    stack = stack[np.zeros(400_000, np.int64)]
    return lambda: gs.analysis.mpcp(stack)


def searches() -> Callable[[], Any]:
    tasks = gs.KernelTasks(period=[[4, 5, 10]] * 300_000, wcet=[1, 3, 3])
    table = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6])
    return lambda: gs.pbs.search(tasks, table)


def launches() -> Callable[[], Any]:
    times = np.arange(2_000_000)
    return lambda: gs.Launches(times, 10, stream=times % 64, blocks=4, threads=64)


def run_with_waves() -> Callable[[], Any]:
    tasks = gs.KernelTasks(period=[40, 50], block_time=[5, 4], blocks=[2, 3], threads=512)
    return lambda: gs.simulate.fifo(tasks, 1024, until=40_000_000)


def run_with_blocks() -> Callable[[], Any]:
    times = np.arange(200_000) * 10
    load = gs.Launches(times, 10, stream=times % 64, blocks=8, threads=64)
    return lambda: gs.simulate.hierarchy(load, "TX2")


def host_run() -> Callable[[], Any]:
    one = gs.HostTasks.from_segments([90, 120, 200], [[2, (1, 3, 1), 1]] * 3, core=[0, 1, 0])
    return lambda: gs.simulate.host(one, 2, "mpcp", until=40_000_000)


def frame() -> Callable[[], Any]:
    tasks = gs.KernelTasks(**kernels(300_000))
    return lambda: tasks.to_frame()


LARGE: dict[str, Callable[[], Callable[[], Any]]] = {
    "generate.gpusched": lambda: lambda: gs.generate.gpusched(20, 4, count=1_000_000, seed=1),
    "generate.uunifast": lambda: lambda: gs.generate.uunifast(20, 4, count=6_000_000, seed=1),
    "generate.fifo": lambda: lambda: gs.generate.fifo(20, 0.5, count=1_000_000, seed=1),
    "generate.stgm": lambda: lambda: gs.generate.stgm(20, count=60_000, seed=1),
    "generate.elliott": lambda: lambda: gs.generate.elliott("medium", count=300_000, seed=1),
    "KernelTasks of lists": large_list,
    "KernelTasks of one list": large_row,
    "KernelTasks of arrays": large_array,
    "KernelTasks saved and loaded": lambda: saved_and_loaded(gs.KernelTasks(**kernels(100_000))),
    "KernelTasks.to_frame": frame,
    "BatchTable of an array": large_table,
    "BatchTable of a list": large_table_list,
    "HostTasks of arrays": large_hosts,
    "Launches": launches,
    "analysis.mpcp of a stack": verdicts,
    "pbs.search of a stack": searches,
    "simulate.fifo with waves": run_with_waves,
    "simulate.hierarchy with blocks": run_with_blocks,
    "simulate.host with intervals": host_run,
}


def interrupted(call: Callable[[], Any], after: float) -> dict[str, Any]:
    """Interrupt a call after this processor time: seconds from the signal to the exception."""
    sent = [0.0, 0.0]
    began = time.process_time()

    def send() -> None:
        while time.process_time() - began < after:
            time.sleep(0.005)
        sent[:] = time.process_time(), time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    took: list[float] = []
    try:
        call()
        took.append(time.process_time() - began)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        ended = time.process_time(), time.monotonic()
        if not took:
            return {"cpu": ended[0] - sent[0], "wall": ended[1] - sent[1]}
    return {"alone": took[0]}


def forked(name: str, after: float) -> dict[str, Any]:
    """Measure in a new process: a call leaves its memory and its threads there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if name in LARGE:
            call = LARGE[name]()
        else:
            long = (CALLS | WITHOUT_FLAG)[name]()
            call = lambda: long(None)  # noqa: E731
        os.write(writer, json.dumps(interrupted(call, after)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise SystemExit(f"{name} interrupted after {after} s: the process died")
    found: dict[str, Any] = json.loads(text)
    return found


def measured(name: str) -> tuple[str, bool]:
    """A line of the record, and whether the rule is kept."""
    times = AFTER
    note = ""
    if name in LARGE:
        alone = forked(name, float("inf"))["alone"]
        times = tuple(share * alone for share in SHARES)
        note = f", {alone:.1f} s alone"
    found = [one for one in (forked(name, after) for after in times) if "cpu" in one]
    cpu = sorted(one["cpu"] for one in found)
    wall = sorted(one["wall"] for one in found)
    if not found:
        return f"{name:32} too short to be interrupted{note}", True
    line = f"{name:32} {len(found):2} signals, {cpu[(len(cpu) - 1) // 2]:6.3f} {cpu[-1]:6.3f}  "
    return f"{line}{wall[(len(wall) - 1) // 2]:6.3f} {wall[-1]:6.3f}{note}", cpu[-1] <= RULE


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    lines = [
        f"Seconds from SIGINT to KeyboardInterrupt, {describe()}",
        "processor time: median, longest; wall clock: median, longest",
    ]
    print("\n".join(lines), flush=True)
    late = []
    for name in options.only or [*CALLS, *WITHOUT_FLAG, *LARGE]:
        line, kept = measured(name)
        print(line, flush=True)
        lines.append(line)
        if not kept:
            late.append(name)
    lines.append(f"above {RULE} s of processor time: {', '.join(late) or 'none'}")
    print(lines[-1])
    if options.save:
        target = Path(__file__).parent / "results" / "interrupt_latency.txt"
        target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
