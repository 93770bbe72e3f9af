"""Microseconds per block of a replay, from the files of a log to its agreement, and of traces.

A log of the hierarchy simulator with drawn block times is written as files of
cuda_scheduling_examiner, read, made launches, simulated with the measured times, and compared. The
simulation is compared with that of the launches that the log was made of: the ratio says what
measured times of blocks cost. Then launches of a trace of as many kernels, in four streams, with a
wait for an event per ten kernels.

The replay has to agree exactly. Seconds are those of the processor. The rows are kept in
results/log_replay.txt. One minute.

    python benchmarks/log_replay.py [--blocks 1000000] [--save]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from block_logs import log_of, simulated
from machine import describe

import gpusched as gs
from gpusched.io.traces.trace_tables import Calls, EventWaits, TraceEvents, column

FOLDER = Path(__file__).parent


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def parts(gpu: gs.GPU, blocks: int) -> Iterator[tuple[str, float, int]]:
    """Part, seconds, and blocks or kernels."""
    budget = gs.pbs.Budget(bytes=None)
    base, run = seconds(lambda: simulated(gpu, blocks))
    yield "simulation of the original", base, run.started
    log = log_of(run)
    with tempfile.TemporaryDirectory() as folder:
        gs.io.write_examiner(folder, log, gpu)
        took, log = seconds(lambda: gs.io.read_examiner(folder))
    yield "read_examiner", took, len(log.kernel)
    took, replay = seconds(log.launches)
    yield "BlockLog.launches", took, len(log.kernel)
    took, run = seconds(
        lambda: gs.simulate.hierarchy(replay.launches, gpu, budget=budget, progress=False)
    )
    yield "simulation of the replay", took, run.started
    took, found = seconds(lambda: gs.io.agreement(run, log))
    assert found.exact
    yield "agreement", took, run.started
    values = log.__reduce__()[1][0] | {"joined": None}
    shift = np.random.default_rng(1).integers(0, 50, len(log.kernel))
    shifted = gs.io.BlockLog(**(values | {"start": log.start + shift, "end": log.end + shift}))
    noisy = gs.io.agreement(run, shifted, tolerance=10)
    took, different = seconds(lambda: noisy.differences)
    yield f"agreement.differences ({len(different)})", took, run.started


def random_trace(kernels: int) -> gs.io.Trace:
    """Kernels launched every 5 us, in four streams."""
    rng = np.random.default_rng(1)
    call = np.arange(kernels) * 5000
    start = call + rng.integers(4000, 20_000, kernels)
    order = np.argsort(start)
    zero = np.zeros(kernels, np.int64)
    numbers = (
        start, rng.integers(1000, 9000, kernels), rng.integers(1, 400, kernels),
        rng.choice([64, 128, 256], kernels), zero + 32, zero, zero, zero + 1,
        rng.choice([7, 20, 21, 22], kernels), zero - 1, np.arange(kernels),
    )  # fmt: skip
    waits = kernels // 10
    at = np.sort(rng.integers(1000, 5000 * kernels, waits))
    one = np.ones(waits, np.int64)
    events = TraceEvents(
        calls=Calls(column(call), column(call + 3000), column(zero), column(zero, bool)),
        waits=EventWaits(
            *map(column, (one, rng.choice([20, 21], waits), at)),
            *map(column, (one, rng.choice([7, 22], waits), at - 1000)),
        ),
    )
    names = [f"kernel {i % 300}" for i in range(kernels)]
    return gs.io.Trace(
        column(names, object), *(column(values[order]) for values in numbers),
        gpu=gs.GPU.preset("A100"), events=events,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10**6)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    lines = [f"Replays of about {options.blocks:,} blocks, {describe()}"]
    print(lines[0])
    for name in ("Xavier", "H100"):
        base = 0.0
        total = 0.0
        for part, took, count in parts(gs.GPU.preset(name).replace(channels=0), options.blocks):
            base = base or took
            if part in ("read_examiner", "BlockLog.launches", "simulation of the replay",
                        "agreement"):  # fmt: skip
                total += took
            lines.append(
                f"{name:7} {part:30} {took:7.2f} s {1e6 * took / count:7.2f} us/block "
                f"{took / base:6.2f} of the simulation"
            )
            print(lines[-1])
        lines.append(f"{name:7} {'from the files to agreement':30} {total:7.2f} s")
        print(lines[-1])
    trace = random_trace(options.blocks)
    took, replay = seconds(trace.launches)
    lines.append(
        f"        {'Trace.launches':30} {took:7.2f} s {1e6 * took / len(trace):7.2f} us/kernel, "
        f"{sum(map(len, replay.launches.after))} dependencies"
    )
    print(lines[-1])
    if options.save:
        (FOLDER / "results" / "log_replay.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
