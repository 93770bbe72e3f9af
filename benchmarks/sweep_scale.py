"""Size of sweeps: calls, sets, points, memory, stores; results/sweep_scale.txt.

The overhead of a call with one task set, that of a set in calls whose size the sweep chooses, that
of a point; and 10^9 sets with a store, with the resident memory of the process and the size of the
file. 10^9 sets take two minutes.

    python benchmarks/sweep_scale.py [--sets 1000000000] [--save]
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs


def yes(*, x, count, first, seed):
    return {"met": np.ones(count, np.bool_)}


def number(*, x, count, first, seed):
    return {"value": np.full(count, float(x))}


def cheap(*, x, count, first, seed):
    """Weyl's sequence: a set costs a few nanoseconds."""
    u = (np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> 11
    return {"met": u < np.uint64(x * 2**53)}


def timed(*arguments: Any, **options: Any) -> tuple[float, Any]:
    best, table = float("inf"), None
    for _ in range(3):
        began = time.perf_counter()
        table = gs.sweep(*arguments, seed=1, progress=False, **options)
        best = min(best, time.perf_counter() - began)
    return best, table


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=10**9)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    lines = [f"Sweeps, {describe()}"]
    for name, function in (("a truth value", yes), ("a float", number)):
        seconds, _ = timed(function, {"x": [1]}, count=20_000, chunk=1, workers=1)
        lines.append(f"call with one set, {name}: {seconds / 20_000 * 1e6:.1f} us")
    seconds, _ = timed(yes, {"x": range(5_000)}, count=1, workers=1)
    lines.append(f"point with one set: {seconds / 5_000 * 1e6:.0f} us")
    seconds, _ = timed(number, {"x": [1]}, count=10**7, workers=1)
    lines.append(f"set, a float: {seconds / 10**7 * 1e9:.1f} ns")
    points = [k / 20 for k in range(1, 11)]
    count = options.sets // len(points)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        began = time.perf_counter()
        table = gs.sweep(cheap, {"x": points}, count=count, seed=1, store=store, progress=False)
        seconds = time.perf_counter() - began
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
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
