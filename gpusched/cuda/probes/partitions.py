"""Probes of parts of a device: green contexts, and shares of clients of MPS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from typing import Any

from gpusched._core import CudaError
from gpusched.cuda.device import Device, Operation, Stream
from gpusched.cuda.driver import standing_in
from gpusched.cuda.probes.bench import MS, Bench, Finding, decided

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


SHARES = (1, 3, 10, 13, 25, 32, 33, 50, 63, 75, 87, 99)
ROUNDINGS = ("down", "up", "nearest")
UNITS = (1, 2, 4, 8)


def used_sms(index: int) -> None:
    """Print the number of SMs that the blocks of this client run on, and on how many they could."""
    with Device(index) as device:
        run = device.run([Operation(blocks=4 * device.gpu.sms, threads=1024, ns=MS // 2)] * 2)
        print(json.dumps([len(set(run.sm(0)) | set(run.sm(1))), device.gpu.sms]))


def mps_shares(bench: Bench) -> Finding:
    """Unit and rounding of the shares of clients of MPS, by the SMs that a client's blocks use."""
    name, assumed = "MPS shares", "down to 1"
    if "CUDA_MPS_PIPE_DIRECTORY" not in os.environ:
        return Finding(name, "skip", "no MPS server (CUDA_MPS_PIPE_DIRECTORY is not set)")
    code = f"from {__name__} import used_sms; used_sms({bench.device.index})"
    used: dict[str, list[int]] = {}
    for share in SHARES[:: 3 if bench.quick else 1]:
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
        used[str(share)] = json.loads(done.stdout)
    fits = [
        f"{rounding} to {unit}"
        for rounding, unit in product(ROUNDINGS, UNITS)
        if all(
            seen == rounded(int(share), sms, unit, rounding) for share, (seen, sms) in used.items()
        )
    ]
    data: dict[str, Any] = {"sms_of_share": used, "fits": fits, "stand_in": standing_in()}
    return decided(name, fits[:1] if len(fits) == 1 else [None], assumed, data)


def rounded(share: int, sms: int, unit: int, rounding: str) -> int:
    """SMs of a share in percent."""
    more = {"down": 0, "up": 100 * unit - 1, "nearest": 50 * unit}[rounding]
    return min(sms, max(unit, (share * sms + more) // (100 * unit) * unit))
