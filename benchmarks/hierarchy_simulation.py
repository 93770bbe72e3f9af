"""Blocks per second of gs.simulate.hierarchy, and bytes per block of its log.

Eight streams of random kernels (1 to 8 waves of blocks of 32 to 1,024 threads, most of them without
shared memory), launched as fast as the GPU takes them: with block times that are the same for all
blocks of a kernel, drawn for each block, and given for each block, with and without the log of
blocks. Kernels share SMs whatever their carve-outs, and streams have a channel each. The last rows
of a GPU are those of the drawn times with the log for other starts: four partitions with half of
the SMs each (sets), or with a limit of half of the SMs, which share queues (limits); clusters of up
to 8 blocks, on the GPU that has clusters; cooperative grids.

Seconds are those of the processor: the simulator has one thread, and others may use the machine.
Bytes are those by which the log raises the peak of a process of its own.
The rows are kept in results/hierarchy_simulation.txt.

    python benchmarks/hierarchy_simulation.py [--blocks 2000000] [--save]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

STREAMS = 8
TIMES = ("constant", "random", "given")
STARTS = ("sets", "limits", "clusters", "cooperative")


def random_launches(gpu: gs.GPU, blocks: int, constant: bool, seed: int) -> gs.Launches:
    """Kernels with about so many blocks in all."""
    rng = np.random.default_rng(seed)
    most = 64 * gpu.sms
    n = max(STREAMS, 2 * blocks // most)
    duration = rng.integers(1000, 10_000, n)
    return gs.Launches(
        np.sort(rng.integers(0, 100 * n, n)),
        duration,
        longest=duration if constant else 2 * duration,
        stream=rng.integers(0, STREAMS, n),
        blocks=rng.integers(1, most, n),
        threads=32 * rng.integers(1, 33, n),
        smem=rng.choice([0, 0, 0, 8192, 32768], n),
        stream_context=[0] * STREAMS,
    )


def with_starts(launches: gs.Launches, gpu: gs.GPU, what: str) -> gs.Launches:
    """The kernels in partitions, with clusters, or as many of their blocks as start at once."""
    half = gpu.sms // 2
    if what in ("sets", "limits"):
        part = {"stream_partition": np.arange(STREAMS) % 4}
        if what == "limits":
            return launches.replace(**part, partition_limit=half)
        return launches.replace(
            **part, partition_sms=[range(half), range(half, gpu.sms), range(half), range(half)]
        )
    if what == "clusters":
        sizes = np.gcd(launches.blocks, 8)
        per_sm = gs.occupancy(gpu, launches.threads, launches.regs, launches.smem)
        return launches.replace(cluster=np.where(sizes <= 2 * per_sm, sizes, 1))
    per_sm = gs.occupancy(gpu, launches.threads, launches.regs, launches.smem)
    blocks = np.minimum(launches.blocks, per_sm * gpu.sms)
    return launches.replace(blocks=blocks, cooperative=True)


def launches_of(gpu: gs.GPU, blocks: int, kind: str) -> gs.Launches:
    """Kernels with block times or starts of one of the kinds in TIMES and STARTS."""
    launches = random_launches(gpu, blocks, kind == "constant", seed=1)
    if kind in STARTS:
        return with_starts(launches, gpu, kind)
    if kind != "given":
        return launches
    rng = np.random.default_rng(2)
    rows = zip(launches.duration.tolist(), launches.blocks.tolist(), strict=True)
    return launches.replace(block_times=[rng.integers(d, 2 * d, count) for d, count in rows])


def run_of(launches: gs.Launches, gpu: gs.GPU, log: bool) -> gs.simulate.Hierarchy:
    budget = gs.pbs.Budget(bytes=None)
    return gs.simulate.hierarchy(launches, gpu, blocks=log, seed=1, budget=budget, progress=False)


def gpu_of(name: str) -> gs.GPU:
    return gs.GPU.preset(name).replace(carveout_rule="ignore", channels=0)


def log_bytes(name: str, kind: str, blocks: int) -> float:
    """Bytes per block by which a log raises the peak of memory."""
    peaks = []
    for log in ("no", "yes"):
        command = [sys.executable, __file__, "--peak", name, kind, log, "--blocks", str(blocks)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, started = done.stdout.split()
        peaks.append(1024 * int(peak) / int(started))
    return peaks[1] - peaks[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of them counts")
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        name, kind, log = args.peak
        gpu = gpu_of(name)
        run = run_of(launches_of(gpu, args.blocks, kind), gpu, log == "yes")
        status = Path("/proc/self/status").read_text()
        print(re.findall(r"VmHWM:\s*(\d+) kB", status)[0], run.started)
        return
    lines = [
        f"Hierarchy simulation, {STREAMS} streams, about {args.blocks:,} blocks, "
        f"best of {args.rounds}, {describe()}",
        "GPU     block times  log  million blocks/s (of processor time)  bytes/block of the log",
    ]
    print("\n".join(lines), flush=True)
    for name in ("Xavier", "H100"):
        gpu = gpu_of(name)
        for kind in (*TIMES, *STARTS):
            if kind == "clusters" and gpu.cc < (9, 0):
                continue
            launches = launches_of(gpu, args.blocks, kind)
            for log in (False, True) if kind in TIMES else (True,):
                rate = 0.0
                for _ in range(args.rounds):
                    began = time.process_time()
                    started = run_of(launches, gpu, log).started
                    rate = max(rate, started / (time.process_time() - began) / 1e6)
                row = f"{name:7s} {kind:11s}  {'yes' if log else 'no':3s}  {rate:16.1f}"
                row += f"{log_bytes(name, kind, args.blocks):44.0f}" if log else ""
                lines.append(row)
                print(row, flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "hierarchy_simulation.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
