"""Probe of the queues of blocks of MPS clients: whether a waiting block holds up other clients."""

from __future__ import annotations

import json
import os
import sys

from gpusched.cuda.device import Device, Operation, Run
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided
from gpusched.cuda.probes.processes import beside

BLOCK_NS = 2 * MS
"""Time of a block of the kernel that fills the device."""
_WAVES = 20
_STREAMS = 8
"""Streams of the small kernels, no more than a client may have channels."""
_TOLERANCE_NS = 50_000
SHARED, OWN = "one queue for all clients", "a queue for each client"


def fill(index: int) -> None:
    """Fill the device for many waves when a line is read.

    Reports when the first block started, when the last one did, and when all had ended.
    """
    with Device(index) as device:
        device.run([Operation(ns=1000)], repeats=10)
        most = device.limits["smem_per_block"]  # one block on each SM
        kernel = Operation(blocks=_WAVES * device.gpu.sms, threads=64, smem=most, ns=BLOCK_NS)
        print("ready", flush=True)
        if sys.stdin.readline():
            run = device.run([kernel])
            times = (run.first[0, 0], run.dispatched[0, 0], run.last[0, 0])
            print(json.dumps([[int(time) for time in times]]), flush=True)


def client_queues(bench: Bench) -> Finding:
    """Small kernels of one client while blocks of another wait, with room for the small ones.

    In one queue they start behind the last waiting block, in queues of their own at once.
    """
    name = "client queues"
    if "CUDA_MPS_PIPE_DIRECTORY" not in os.environ:
        return Finding(name, "skip", "no MPS server (CUDA_MPS_PIPE_DIRECTORY is not set)")
    small = [
        Operation(stream=s, ns=1000, at=(k * _STREAMS + s) * BLOCK_NS)
        for k in range(2 * _WAVES // _STREAMS + 1)
        for s in range(_STREAMS)
    ]
    votes: list[str | None] = []
    rows: list[list[int]] = []
    for _ in range(bench.repeats(1, 5)):
        with beside(1, __name__, f"fill({bench.device.index})") as other:
            other.go()
            run = bench.device.run(small)
        rows += other.reports[0]
        votes += [None] if not other.reports[0] else votes_of(run, *other.reports[0][0])
    return decided(name, votes, SHARED, {"filled": rows, "block_ns": BLOCK_NS})


def votes_of(run: Run, first: int, dispatched: int, last: int) -> list[str | None]:
    """A vote per small kernel that was launched while blocks waited; None without one."""
    low, high = run.clock_offset  # host time minus device time
    if low > high or last <= first:
        return [None]
    votes: list[str | None] = []
    for called, returned, start in zip(run.called[0], run.returned[0], run.first[0], strict=True):
        if called - high < first + BLOCK_NS or returned - low > dispatched - 2 * BLOCK_NS:
            continue
        if start >= dispatched - _TOLERANCE_NS:
            votes.append(SHARED)
        elif start <= returned - low + BLOCK_NS // 2:
            votes.append(OWN)
        else:
            votes.append(UNDECIDED)
    return votes or [None]
