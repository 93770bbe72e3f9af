"""Probes of parts of a device: GPCs, green contexts, shares and queues of clients of MPS.

The blocks of a cluster run on SMs of one GPC (CUDA programming guide); which SMs form one, and
which one a cluster gets, is not published.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import product
from typing import Any

from gpusched._core import CudaError
from gpusched.cuda.device import Device, Operation, Run, Stream
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, beside, decided

CLUSTER_SIZES = (16, 8, 4, 2)


def gpcs(bench: Bench) -> Finding:
    """SMs that form a GPC: those that clusters had in common, directly or through others.

    Clusters of all sizes run alone and beside kernels that take other SMs. Half of the runs must
    give the same groups as all of them.
    """
    name = "GPCs"
    if bench.device.limits["cc_major"] < 9:
        return Finding(name, "skip", "the device has no clusters (compute capability below 9.0)")
    sms = bench.gpu.sms
    linked: list[list[set[int]]] = []
    refused: dict[str, str] = {}
    for size in CLUSTER_SIZES:
        for taken in sorted({0, 1, sms // 5, sms // 3, sms // 2}):
            kernel = Operation(1, _many(sms, size), 1024, ns=MS // 2, cluster=size)
            try:
                run = bench.device.run(
                    [*_takes(bench, taken), kernel], repeats=bench.repeats(4, 12)
                )
            except CudaError as error:  # a size that the device does not have
                refused[str(size)] = str(error.args[0])
                break
            linked += [list(_clusters(run, r)) for r in range(len(run))]
    whole = _joined(group for row in linked for group in row)
    halves = [_joined(group for row in linked[half::2] for group in row) for half in (0, 1)]
    data: dict[str, Any] = {"groups": whole, "sizes": [len(group) for group in whole]}
    each = bench.gpu.sms_per_gpc
    known = [each] * (sms // each) if isinstance(each, int) else each and list(each)
    data |= {"refused": refused, "assumed": known}
    if halves != [whole, whole] or sum(data["sizes"]) != sms:
        text = f"cannot tell: {sum(data['sizes'])} SMs in {len(whole)} groups, that differ by run"
        return Finding(name, "unclear", text, data | {"rule": None})
    bench.gpcs = whole
    data["rule"] = whole
    text = f"{len(whole)} GPCs of {', '.join(map(str, data['sizes']))} SMs; first: {whole[0]}"
    if data["assumed"] is None:
        return Finding(name, "figure", text, data)
    agrees = sorted(data["sizes"]) == sorted(data["assumed"])
    return Finding(name, "pass" if agrees else "fail", text, data)


def _many(sms: int, size: int) -> int:
    """Blocks of as many clusters as could run with one block on each SM."""
    return max(1, sms // size) * size


def _takes(bench: Bench, count: int) -> list[Operation]:
    """A kernel that takes all of the shared memory of so many SMs."""
    most = bench.device.limits["smem_per_block"]
    return [Operation(0, count, 64, smem=most, ns=2 * MS)] if count else []


def _clusters(run: Run, repeat: int) -> Iterable[set[int]]:
    """The SMs of each cluster of the last kernel."""
    sms = run.sm(len(run.operations) - 1, repeat)
    size = run.operations[-1].cluster
    return (set(sms[i : i + size]) for i in range(0, len(sms), size))


def _joined(sets: Iterable[set[int]]) -> list[list[int]]:
    """Sets that have an element in common, directly or through others, as one."""
    groups: list[set[int]] = []
    for found in sets:
        apart = [group for group in groups if not group & found]
        groups = [*apart, set().union(found, *(group for group in groups if group & found))]
    return sorted(sorted(group) for group in groups)


def first_gpc(bench: Bench) -> Finding:
    """The GPC of a cluster, where the first one that can host it is not the one with most room."""
    name, assumed = "first GPC", "hosts most clusters"
    if bench.gpcs is None:
        return Finding(name, "skip", "the GPCs are not known")
    size = 4
    order = bench.gpu.sm_order.tolist()
    home = {sm: g for g, group in enumerate(bench.gpcs) for sm in group}
    ranks = sorted(range(len(bench.gpcs)), key=lambda g: min(map(order.index, bench.gpcs[g])))  # type: ignore[index]
    votes: list[str | None] = []
    for taken in range(1, bench.gpu.sms, max(1, bench.gpu.sms // bench.repeats(16, 64))):
        run = bench.device.run(
            [*_takes(bench, taken), Operation(1, size, 1024, ns=MS // 4, cluster=size)]
        )
        if run.first[0, 1] >= run.last[0, 0]:
            votes.append(None)  # no GPC had room
            continue
        free = [0] * len(bench.gpcs)
        for sm in set(order) - set(run.sm(0)):
            free[home[sm]] += 2  # blocks of 1024 threads
        hosts = {g: free[g] // size for g in ranks if free[g] >= size}
        most = max(hosts, key=lambda g: hosts[g], default=None)
        first = next(iter(hosts), None)
        got = {home[sm] for sm in run.sm(1)}
        if most == first:
            votes.append(None)
        elif got == {most}:
            votes.append(assumed)
        else:
            votes.append("first in the order of SMs" if got == {first} else UNDECIDED)
    return decided(name, votes, assumed)


LIMIT_S = 60


def green_contexts(bench: Bench) -> Finding:
    """Whether kernels of two green contexts run at once, also while one of them waits in its own.

    The first context is full and has a waiting kernel; then one is launched in the second.
    """
    name, assumed = "green contexts", "queues of their own"
    sms = 8
    fills = Operation(0, 2 * sms, 1024, ns=4 * MS, name="fills")
    waits = Operation(1, 2 * sms, 1024, ns=MS, at=MS // 2, name="waits")
    other = Operation(2, 2 * sms, 1024, ns=MS, at=MS, name="other")
    streams = [Stream(), Stream(), Stream(partition=1)]
    votes: list[str | None] = []
    delays = []
    made = sms
    for _ in range(bench.repeats(4, 40)):
        try:
            alone = bench.device.run([fills, other], streams, sms=sms, partitions=2)
            beside = bench.device.run([fills, waits, other], streams, sms=sms, partitions=2)
        except (CudaError, ValueError) as error:
            return Finding(name, "skip", f"no two green contexts: {error.args[0]}")
        made = alone.sms
        if set(alone.sm(0)) & set(alone.sm(1)):
            votes.append("SMs in common")
        elif alone.first[0, 1] >= alone.last[0, 0]:
            votes.append("one after the other")
        elif beside.first[0, 2] >= beside.last[0, 0]:
            votes.append("one queue")
        else:
            votes.append(assumed)
        delays.append(int(beside.first[0, 2] - beside.first[0, 0]) - other.at)
    return decided(name, votes, assumed, {"sms": made, "delays_ns": delays})


Reading = tuple[str, int]
"""Rounding of a share, and the number of SMs of which it is a multiple."""
READINGS: tuple[Reading, ...] = tuple(product(("down", "up", "nearest"), (1, 2, 4, 8)))


def used_sms(index: int) -> None:
    """Print the number of SMs that the blocks of this client run on."""
    with Device(index) as device:
        run = device.run([Operation(blocks=4 * device.gpu.sms, threads=1024, ns=MS // 2)] * 2)
        print(len(set(run.sm(0)) | set(run.sm(1))))


def mps_shares(bench: Bench) -> Finding:
    """Unit and rounding of the shares of clients of MPS, by the SMs that a client's blocks use."""
    name, assumed = "MPS shares", "down to 1"
    if "CUDA_MPS_PIPE_DIRECTORY" not in os.environ:
        return Finding(name, "skip", "no MPS server (CUDA_MPS_PIPE_DIRECTORY is not set)")
    code = f"from {__name__} import used_sms; used_sms({bench.device.index})"
    used: dict[int, int] = {}
    for share in telling_shares(bench.gpu.sms):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(share)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            return Finding(name, "unclear", f"cannot tell: a client failed: {last}", {"rule": None})
        used[share] = int(done.stdout)
    fits = readings_of(used, bench.gpu.sms)
    data: dict[str, Any] = {"sms_of_share": {str(share): seen for share, seen in used.items()}}
    data["fits"] = fits
    vote = fits[0] if len(fits) == 1 else UNDECIDED if not fits else None
    return decided(name, [vote], assumed, data)


def telling_shares(sms: int) -> list[int]:
    """Shares in percent that tell all readings apart that differ at all."""
    groups = [list(READINGS)]
    chosen: list[int] = []

    def split(share: int) -> list[list[Reading]]:
        made: list[list[Reading]] = []
        for group in groups:
            seen: dict[int, list[Reading]] = {}
            for reading in group:
                seen.setdefault(rounded(share, sms, reading), []).append(reading)
            made += seen.values()
        return made

    while len(better := split(best := max(range(1, 100), key=lambda s: len(split(s))))) > len(
        groups
    ):
        chosen.append(best)
        groups = better
    return chosen


def readings_of(used: dict[int, int], sms: int) -> list[str]:
    """The readings that explain the SMs used with each share."""
    return [
        f"{reading[0]} to {reading[1]}"
        for reading in READINGS
        if all(seen == rounded(share, sms, reading) for share, seen in used.items())
    ]


def rounded(share: int, sms: int, reading: Reading) -> int:
    """SMs of a share in percent."""
    rounding, unit = reading
    more = {"down": 0, "up": 100 * unit - 1, "nearest": 50 * unit}[rounding]
    return min(sms, max(unit, (share * sms + more) // (100 * unit) * unit))


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
