"""Probes of parts of a device: green contexts, and shares of clients of MPS."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from typing import Any

from gpusched._core import CudaError
from gpusched.cuda.device import Device, Operation, Stream
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided

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
