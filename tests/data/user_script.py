"""A study as a user writes it, with types throughout: checked by mypy and pyright, and run."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gpusched as gs


def drone(rate: str) -> gs.Workload:
    """Two perception tasks that share a GPU, one of them with copies."""
    camera = gs.Task(
        "camera",
        rate,
        [
            gs.CPU("2ms"),
            gs.CopyIn("300us"),
            gs.Kernel("5ms", blocks=32, threads=256, regs=32),
            gs.CopyOut("100us"),
            gs.CPU("1ms"),
        ],
    )
    planner = gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)])
    return gs.Workload([camera, planner], tick="us")


def compare(workload: gs.Workload, platform: gs.Platform) -> str:
    """The way of sharing the GPU with the shortest response of the camera."""
    comparison = gs.compare(workload, platform, ways=["streams", "mpcp", "fmlp_plus"])
    best: dict[str, int] = {}
    for row in comparison:
        answer, run = row.answer, row.run
        if answer is None or answer.schedulable is not True:
            continue
        best[row.label] = int(answer.response[0])
        if run is not None:
            observed: int = int(run.worst[0])
            assert observed <= best[row.label], answer.why("camera")
    return min(best, key=lambda label: best[label])


def plan(period: npt.ArrayLike) -> tuple[bool, list[tuple[int, ...]]]:
    """An exact schedule of kernels in batches."""
    tasks = gs.KernelTasks(period=period, wcet=[1, 3, 3], name=["a", "b", "c"])
    table = gs.BatchTable.from_dict(
        3, {(0,): 1, (1,): 3, (2,): 3, (0, 1): 4, (0, 2): 4, (1, 2): 4, (0, 1, 2): 6}
    )
    found = gs.pbs.search(tasks, table, budget=gs.Budget(states=10_000))
    schedule = found.schedule
    if schedule is None:
        return False, []
    schedule.validate()
    return bool(found.schedulable), [schedule.members(frame) for frame in range(len(schedule))]


def shares(
    *, utilization: float, n: int, count: int, first: int, seed: Any, stop: Any = None
) -> Mapping[str, npt.NDArray[Any]]:
    """Schedulability of random sets, for a sweep."""
    tasks = gs.generate.gpusched(n, utilization, count=count, seed=seed, first=first)
    table = gs.BatchTable.from_gpu(tasks, "pbs2024", "large", seed=seed, first=first)
    return {
        "pbs": gs.pbs.search(tasks, table, stop=stop).accepted,
        "edf": gs.pbs.edf_serial(tasks, table).accepted,
    }


def sweep(count: int) -> npt.NDArray[np.float64]:
    """Shares of schedulable sets, by utilization."""
    grid: dict[str, list[float]] = {"utilization": [0.6, 1.0], "n": [3]}
    table = gs.sweep(shares, grid, count=count, seed=1, progress=False, workers=1)
    assert isinstance(table, gs.Sweep)
    gained: npt.NDArray[np.float64] = table["pbs"] - table["edf"]
    return gained


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args(arguments)
    workload, platform = drone("40ms"), gs.Platform("AGX Orin", cpus=2)
    print("best:", compare(workload, platform))
    factor = gs.margin(workload, platform, "mpcp").factor
    print("margin:", factor is not None and factor >= 1)
    print("plan:", plan([4, 5, 10]))
    print("gained:", bool((sweep(options.count) >= 0).all()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "drone.toml")
        workload.save(path)
        print("equal:", gs.Workload.load(path) == workload)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
