"""Probe of processes that share a device, and the processes that probes run beside them."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from gpusched.cuda.device import Device, Operation, Run
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided, quantiles

LIMIT_S = 60
"""Time limit for a process to start or to end."""

Intervals = list[tuple[int, int]]


class Beside:
    """Processes that use a device: each says that it is ready, works while it may, and reports.

    A process runs ``function(index, *arguments)`` of a module: it prints a line when it is ready
    and a line with its report, a JSON list, when its standard input has ended.
    """

    def __init__(self, count: int, module: str, call: str) -> None:
        self.reports: list[list[list[int]]] = []
        """Of each process; complete after ``end``."""
        code = f"from {module} import {call.partition('(')[0]}; {call}"
        self._running = [
            subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]

    def start(self) -> None:
        """Wait until all are ready."""
        until = time.monotonic() + LIMIT_S
        for process in self._running:
            assert process.stdout is not None
            left = max(0.0, until - time.monotonic())
            if not select.select([process.stdout], [], [], left)[0]:
                raise RuntimeError(
                    f"noise: got no answer of a process within {LIMIT_S} s, expected 'ready'"
                )
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("noise: got a process that did not start, expected 'ready'")

    def go(self) -> None:
        """Let those that wait for a line begin."""
        for process in self._running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()

    def end(self) -> None:
        """End all processes and keep their reports."""
        for process in self._running:
            try:
                told, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                told, _ = process.communicate()
            lines = told.strip().splitlines()
            self.reports.append(json.loads(lines[-1]) if lines else [])


@contextmanager
def beside(count: int, module: str, call: str) -> Iterator[Beside]:
    """Processes during a block; they have ended and reported after it."""
    made = Beside(count, module, call)
    try:
        made.start()
        yield made
    finally:
        made.end()


BEAT_NS = 50_000
"""Time of a block of the kernel whose pauses are looked at."""
_AWAY = 3
"""A process is away if it starts no block for so many times as long."""


def _beats(device: Device, ns: int) -> Operation:
    count = device.gpu.sms * (ns // BEAT_NS)
    most = device.limits["smem_per_block"]  # one block on each SM
    return Operation(blocks=count, threads=64, smem=most, ns=BEAT_NS)


def beat(index: int, ns: int) -> None:
    """Run the kernel of the probe of time slices when a line is read; report its activity."""
    with Device(index) as device:
        device.run([Operation(ns=1000)], repeats=10)
        kernel = _beats(device, ns)
        print("ready", flush=True)
        if sys.stdin.readline():
            print(json.dumps(activity(device.run([kernel]))), flush=True)


def activity(run: Run) -> Intervals:
    """Intervals of device time in which the only kernel of a run started blocks."""
    starts = np.sort(run.block_start[0])
    breaks = np.flatnonzero(np.diff(starts) > _AWAY * BEAT_NS)
    begins = starts[np.concatenate([[0], breaks + 1])]
    ends = starts[np.concatenate([breaks, [len(starts) - 1]])] + BEAT_NS
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def time_slices(bench: Bench) -> Finding:
    """Turns of two processes with kernels that fill the device; slices and gaps.

    Each runs a kernel of short blocks; the times of their starts show when it had the device.
    """
    name, assumed = "time slices", "in turn"
    ns = bench.repeats(40, 300) * MS
    kernel = _beats(bench.device, ns)
    with beside(1, __name__, f"beat({bench.device.index}, {ns})") as other:
        other.go()
        run = bench.device.run([kernel])
    mine = activity(run)
    theirs = [(a, b) for a, b in other.reports[0]]
    low = max(mine[0][0], theirs[0][0]) if theirs else 0
    high = min(mine[-1][1], theirs[-1][1]) if theirs else 0
    if high - low < 10 * MS:
        found = decided(name, [None], assumed, {"together_ns": max(0, high - low)})
        return found
    both = overlap(mine, theirs)
    share = both / (high - low)
    vote = assumed if share < 0.1 else "at once" if share > 0.5 else UNDECIDED
    turns = sorted([(a, b, 0) for a, b in mine] + [(a, b, 1) for a, b in theirs])
    inner = [(a, b, who) for a, b, who in turns if low < a and b < high]
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(turns) if earlier[2] != later[2]]
    data = {
        "together_ns": high - low,
        "share_at_once": share,
        "slice_ns": quantiles([b - a for a, b, _ in inner]),
        "gap_ns": quantiles(gaps),
        "resolution_ns": BEAT_NS,
    }
    return decided(name, [vote], assumed, data)


def overlap(first: Intervals, second: Intervals) -> int:
    """Time in which an interval of each of two ascending lists holds."""
    total = i = k = 0
    while i < len(first) and k < len(second):
        begin = max(first[i][0], second[k][0])
        end = min(first[i][1], second[k][1])
        total += max(0, end - begin)
        if first[i][1] < second[k][1]:
            i += 1
        else:
            k += 1
    return total
