"""Changes that workers do not see, on every executor; results/worker_changes.txt.

A pool is started and used, then something that a stored study depends on changes: a global of an
imported module or of the main program, the module's file, a variable of the environment, a declared
file. The study runs again with a new store. Its numbers must be those of the caller's function, or
the sweep must be refused; a store with the identity of one function and the numbers of another is a
mixture. Each executor is a program of its own (MPI under mpiexec). Takes a minute.

    python benchmarks/worker_changes.py [--save]
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from cluster_study import executor

EXECUTORS = ("threads", "fork", "spawn", "forkserver", "loky", "dask", "mpi")
CHANGES = ("nothing", "a module's global", "the program's global", "the module's file",
           "the environment", "a declared file")  # fmt: skip
MODULE = """
import os
import numpy as np
SCALE = 1
def study(*, x, count, first, seed):
    scale = SCALE * int(os.environ.get("WORKER_CHANGES", 1))
    return {"y": scale * x * np.arange(first, first + count)}
"""
SCALE = 1


def own(*, x: int, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"y": SCALE * x * np.arange(first, first + count)}


def started(kind: str) -> AbstractContextManager[Any]:
    """An executor; those of processes by the way in which they start."""
    if kind in multiprocessing.get_all_start_methods():
        return ProcessPoolExecutor(2, multiprocessing.get_context(kind))
    return executor(kind)


def outcomes(kind: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Each change with what the sweep after it did."""
    file, data = folder / "changed_module.py", folder / "data"
    file.write_text(MODULE)
    module = importlib.import_module("changed_module")
    undo: dict[str, Callable[[], Any]] = {
        "nothing": lambda: None,
        "a module's global": lambda: setattr(module, "SCALE", 1),
        "the program's global": lambda: globals().update(SCALE=1),
        "the module's file": lambda: (file.write_text(MODULE), importlib.reload(module)),
        "the environment": lambda: os.environ.pop("WORKER_CHANGES", None),
        "a declared file": lambda: data.write_text("1"),
    }
    changes: dict[str, Callable[[], Any]] = {
        "nothing": lambda: None,
        "a module's global": lambda: setattr(module, "SCALE", 2),
        "the program's global": lambda: globals().update(SCALE=2),
        "the module's file": lambda: (
            file.write_text(MODULE.replace("scale * x", "3 * x")), importlib.reload(module)
        ),
        "the environment": lambda: os.environ.update(WORKER_CHANGES="2"),
        "a declared file": lambda: data.write_text("2"),
    }  # fmt: skip
    for number, change in enumerate(CHANGES):
        undo[change]()
        data.write_text("1")
        options: dict[str, Any] = {"count": 8, "seed": 1, "progress": False}
        options["depends"] = [data, "$WORKER_CHANGES"]

        def function(change: str = change) -> Any:
            return own if change == "the program's global" else module.study

        with started(kind) as pool:
            grid, held = {"x": [1, 2]}, {"executor": pool, **options}
            gs.sweep(function(), grid, store=folder / f"{number} before", **held)
            changes[change]()
            try:
                found = gs.sweep(function(), grid, store=folder / f"{number} after", **held)
                right = found == gs.sweep(function(), grid, **options)
                yield change, "right" if right else "A MIXTURE"
            except gs.SweepError as error:
                yield change, "refused" if "another function" in str(error) else str(error)[:60]
        undo[change]()


def run(kind: str) -> list[str]:
    """The outcomes of an executor, by a program of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--run", kind, folder]
        if kind == "mpi":
            mpiexec = str(Path(sys.executable).parent / "mpiexec")
            command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", *command[1:]]
        paths = [folder, str(Path(__file__).parent), *filter(None, sys.path)]
        held = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=held, timeout=300)
    lines = [line[2:] for line in done.stdout.splitlines() if line.startswith("> ")]
    return lines if done.returncode == 0 else [*lines, f"ended with {done.returncode}"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        for change, outcome in outcomes(options.run[0], Path(options.run[1])):
            print(f"> {change}: {outcome}", flush=True)
        return
    lines = [f"Changes that workers do not see, {describe()}",
             f"{'':12}" + "".join(f"{change:>22}" for change in CHANGES)]  # fmt: skip
    wrong = 0
    for kind in EXECUTORS:
        found = [line.partition(": ")[2] for line in run(kind)]
        wrong += sum(outcome not in ("right", "refused") for outcome in found)
        wrong += len(found) != len(CHANGES)
        lines.append(f"{kind:12}" + "".join(f"{outcome:>22}" for outcome in found))
    lines.append(f"{wrong} mixtures or other outcomes")
    print("\n".join(lines))
    if options.save:
        path = Path(__file__).parent / "results/worker_changes.txt"
        path.write_text("\n".join(lines) + "\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
