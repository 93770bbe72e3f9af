"""Seconds of ``gs.mig`` on an H100, by the number of tasks, and sets of tasks that it tests.

For each number, tasks of one kernel whose load is low (an assignment is found at once) or high (all
are tried, and none is accepted), with a stream for each task in an instance; and eight tasks with
a core each under other ways. The rows are kept in results/gpu_instances.txt. Half a minute.

    python benchmarks/gpu_instances.py [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from machine import describe

import gpusched as gs

FOLDER = Path(__file__).parent


def workload(tasks: int, time_us: int) -> gs.Workload:
    """Tasks of kernels of 300 blocks and more, with CPU work before them."""
    found = []
    for i in range(tasks):
        kernel = gs.Kernel(f"{time_us * (1 + i % 3)}us", blocks=300 + 130 * i, threads=256)
        found.append(gs.Task(f"task {i}", f"{20 + 5 * i}ms", [gs.CPU("100us"), kernel], core=i))
    return gs.Workload(found, tick="us")


def measure(tasks: int, time_us: int, within: str) -> str:
    w, platform = workload(tasks, time_us), gs.Platform("H100", cpus=tasks)
    began = time.perf_counter()
    found = gs.mig(w, platform, within, progress=False)  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    return (
        f"{within:<13} {tasks:>2} tasks, kernels from {time_us / 1000:g} ms: {seconds:6.2f} s, "
        f"{found.tested:>7,} sets tested, {len(found.parts)} instances"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--save", action="store_true", help="write the rows into results/")
    options = parser.parse_args()
    gs.mig(workload(2, 100), gs.Platform("H100", cpus=2), progress=False)  # imports
    cases = [(n, us, "streams") for n in (4, 8, 12, 16) for us in (500, 6000)]
    cases += [(8, 6000, way) for way in ("mpcp", "fmlp_plus", "edf_serial", "pbs")]
    lines = [describe()]
    print(lines[0])
    for case in cases:
        lines.append(measure(*case))
        print(lines[-1])
    if options.save:
        path = FOLDER / "results" / "gpu_instances.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
