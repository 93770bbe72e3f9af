"""Seconds and memory of ``gs.compare`` for a small and a large workload, and of its best row.

Eight tasks of three kernels, and 200 tasks of 100 kernels, with CPU work and copies, on 16 SMs and
8 CPUs: all methods, simulations of the usual length (ten hyperperiods or 10 s, fewer where a run
would have more than its limits of jobs, launches and blocks). Each in a process of its own.

Seconds are of the wall clock. The rows are kept in results/comparison_speed.txt. Half a minute.

    python benchmarks/comparison_speed.py [--save]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

from machine import describe, peak_memory

import gpusched as gs

FOLDER = Path(__file__).parent
SIZES = {"8 tasks": (8, 3), "200 tasks": (200, 100)}


def workload(tasks: int, kernels: int) -> gs.Workload:
    """Tasks whose kernels need about 0.7 of the GPU together."""
    rng = random.Random(5)
    periods = ("20ms", "40ms", "50ms", "100ms") if tasks < 20 else ("500ms", "1s", "2s")
    longest = 1200 if tasks < 20 else 40  # us
    found = []
    for i in range(tasks):
        middle = [
            gs.Kernel(
                f"{rng.randint(longest // 2, longest)}us",
                blocks=rng.choice([8, 16, 32, 64, 120, 240]),
                threads=rng.choice([128, 256, 512]),
                regs=32,
            )
            for _ in range(kernels)
        ]
        first = [gs.CPU(f"{rng.randint(100, 900)}us"), gs.CopyIn("100us")]
        last = [gs.CopyOut("50us"), gs.CPU("200us")]
        found.append(gs.Task(f"task {i}", rng.choice(periods), [*first, *middle, *last]))
    return gs.Workload(found, tick="us")


def measure(name: str) -> str:
    w = workload(*SIZES[name])
    platform = gs.Platform("AGX Orin", cpus=8)
    gs.compare(w[:2], platform, progress=False)  # imports
    began = time.perf_counter()
    found = gs.compare(w, platform, progress=False)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    best = found.best(progress=False)
    margin = time.perf_counter() - began
    run = found["streams"].run
    simulated = 0.0 if run is None else run.until * w.tick_ns / 1e9
    peak = peak_memory()
    label = "none" if best is None else best.label
    return (
        f"{name:10}{len(found):6}{seconds:12.2f}{simulated:16.2f}{margin:12.2f}{peak:12.0f}  "
        f"{label}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", action="store_true", help="keep the rows in results/")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(measure(options.one))
        return
    lines = [
        describe(),
        f"{'workload':10}{'rows':>6}{'compare s':>12}{'streams run s':>16}{'best s':>12}"
        f"{'peak MB':>12}  best row",
    ]
    print(lines[0], lines[1], sep="\n")
    for name in SIZES:
        command = [sys.executable, __file__, "--one", name]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(lines[-1], end="", flush=True)
    if options.save:
        text = "\n".join(line.rstrip() for line in lines) + "\n"
        (FOLDER / "results" / "comparison_speed.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
