"""Sweeps in shards, killed at random times, through every executor; results/sweep_kills.txt.

A sweep is divided into k shards with a store each. One process computes shards that are not
complete, in random order, on the executor; it is killed at a random time, with its workers, and
started again until all are complete. The merged table must be that of one thread, bit for bit.
Executors whose packages are not installed are left out (the extra ``cluster``). The tests run a
small part of this.

    python benchmarks/sweep_kills.py [--executors threads processes loky dask mpi]
        [--shards 1 7 64] [--runs 4] [--save]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from cluster_study import executor

PACKAGES = {"threads": "concurrent", "processes": "concurrent", "loky": "loky",
            "dask": "distributed", "mpi": "mpi4py"}  # fmt: skip
GRID = {"priority": [0.2, 0.5, 0.8], "workers": [2, 4], "key": ["a", "b"]}
COUNT = 200


def study(*, priority, workers, key, count, first, seed):
    time.sleep(0.003)
    tasks = gs.generate.gpusched(3, priority, count=count, seed=seed, first=first)
    used = tasks.wcet.sum(axis=1) / workers
    return {"used": used, "most": used < 400_000, "letter": np.full(count, ord(key))}


def swept(executor: Any = None, **options: Any) -> Any:
    reduce = {
        "used": [gs.reductions.Mean(), gs.reductions.Quantiles(0.5), gs.reductions.Extremes()]
    }
    usual = {"count": COUNT, "seed": 1, "progress": False, "reduce": reduce}
    return gs.sweep(study, GRID, executor=executor, **usual | options)


def child(kind: str, folder: str, shards: int, seed: int) -> None:
    """Compute the shards that are not complete, in random order."""
    order = np.random.default_rng(seed).permutation(shards).tolist()
    with executor(kind) as pool:
        print("started", flush=True)
        for part in order:
            path = Path(folder, f"{part}")
            swept(pool, store=path, shard=(part, shards), chunk=5)
    print("complete", flush=True)


def attempt(kind: str, folder: Path, shards: int, seed: int, limit: float) -> bool:
    """Run a child and kill it, with its workers, after ``limit`` seconds; True if it was done."""
    command = [sys.executable, __file__, "--child", kind, str(folder), str(shards), str(seed)]
    if kind == "mpi":
        launcher = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or "mpiexec"
        command = [launcher, "-n", "3", sys.executable, "-m", "mpi4py.futures", *command[1:]]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            time.sleep(0.2)  # for the kernel to release the locks of what was killed
            return False
    if process.returncode:
        raise SystemExit(f"{kind}, {shards} shards: {errors}")
    return "complete" in output


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--executors", nargs="+", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 7, 64])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--child", nargs=4)
    options = parser.parse_args()
    if options.child:
        kind, folder, shards, seed = options.child
        child(kind, folder, int(shards), int(seed))
        return
    random = np.random.default_rng(1)
    expected = swept(workers=1)
    lines = [f"Sweeps killed at random, {describe()}", "executor   shards  runs  kills  seconds"]
    wrong = 0
    for kind in options.executors:
        if importlib.util.find_spec(PACKAGES[kind]) is None:
            lines.append(f"{kind}: not installed")
            continue
        for shards in options.shards:
            kills = 0
            began = time.perf_counter()
            for run in range(options.runs):
                with tempfile.TemporaryDirectory() as folder:
                    limit = float(random.uniform(0.3, 1.5))
                    while not attempt(kind, Path(folder), shards, run + kills, limit):
                        kills += 1
                        limit = float(random.uniform(0.3, 3))
                    stores = [Path(folder, f"{part}") for part in range(shards)]
                    random.shuffle(stores)
                    wrong += gs.merge(stores, Path(folder, "all")).table() != expected
            seconds = time.perf_counter() - began
            lines.append(f"{kind:10} {shards:6} {options.runs:5} {kills:6} {seconds:8.0f}")
    lines.append(f"{wrong} tables that differ")
    print("\n".join(lines))
    if options.save:
        (Path(__file__).parent / "results/sweep_kills.txt").write_text("\n".join(lines) + "\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
