"""Size of sweeps: calls, sets, points, memory, stores; results/sweep_scale.txt.

The time of a call with one task set, beside that of a plain loop over the same function; of a set
in calls whose size the sweep chooses; of a point: processor time of one worker, the least of
several rounds. And 10^9 sets with a store, with the resident memory of the process and the size of
the file. 10^9 sets take two minutes.

    python benchmarks/sweep_scale.py [--sets 1000000000] [--save]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe, peak_memory

import gpusched as gs

CALLS = 20_000


def yes(*, x, count, first, seed):
    return {"met": np.ones(count, np.bool_)}


def number(*, x, count, first, seed):
    return {"value": np.full(count, float(x))}


def cheap(*, x, count, first, seed):
    """Weyl's sequence: a set costs a few nanoseconds."""
    u = (np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> 11
    return {"met": u < np.uint64(x * 2**53)}


def timed(call: Callable[[], object]) -> float:
    """Processor time of a call, the least of several."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return best


def swept(function: Callable[..., Any], points: Iterable[int], **options: Any) -> float:
    grid = {"x": list(points)}
    return timed(lambda: gs.sweep(function, grid, workers=1, seed=1, progress=False, **options))


def looped(function: Callable[..., Any], count: int) -> float:
    """Time of the same calls in a plain loop."""
    seed = np.random.SeedSequence(1)

    def loop() -> None:
        for first in range(count):
            function(x=1, count=1, first=first, seed=seed)

    return timed(loop)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=10**9)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    lines = [f"Sweeps, {describe()}"]
    for name, function in (("a truth value", yes), ("a float", number)):
        seconds = swept(function, [1], count=CALLS, chunk=1) / CALLS
        alone = looped(function, CALLS) / CALLS
        lines.append(
            f"call with one set, {name}: {seconds * 1e6:.1f} us, of which the function takes "
            f"{alone * 1e6:.2f} us: {seconds / alone:.1f} times a plain loop"
        )
    seconds = swept(yes, range(500), count=40, chunk=1) / 500 / 40
    lines.append(f"call with one set at 500 points of 40 sets: {seconds * 1e6:.1f} us")
    seconds = swept(yes, range(5_000), count=1) / 5_000
    lines.append(f"point with one set: {seconds * 1e6:.0f} us")
    seconds = swept(number, [1], count=10**7) / 10**7
    lines.append(f"set, a float: {seconds * 1e9:.1f} ns")
    points = [k / 20 for k in range(1, 11)]
    count = options.sets // len(points)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        began = time.perf_counter()
        table = gs.sweep(cheap, {"x": points}, count=count, seed=1, store=store, progress=False)
        seconds = time.perf_counter() - began
        most = peak_memory()
        size = os.path.getsize(store) / 2**20
        began = time.perf_counter()
        again = gs.sweep(cheap, {"x": points}, count=count, seed=1, store=store, progress=False)
        resumed = time.perf_counter() - began
    lines += [
        f"{count * len(points):.3g} sets at {len(points)} points with a store: {seconds:.0f} s, "
        f"{most:.0f} MiB resident, {size:.2f} MiB of store, read again in {resumed:.2f} s",
        f"largest error of a share: {np.abs(table['met'] - points).max():.2e}",
    ]
    print("\n".join(lines))
    if options.save:
        (Path(__file__).parent / "results/sweep_scale.txt").write_text("\n".join(lines) + "\n")
    if again != table or most > 1024 or size > 100:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
