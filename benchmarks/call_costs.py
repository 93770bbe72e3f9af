"""Instructions and memory of calls that users make, against kept numbers.

Forty calls: the test of each way of sharing, single sets and stacks, searches, simulations,
comparisons, reports, files. One process under callgrind (valgrind) counts the instructions of each
call, those of the core and all of them; each call runs once before. Peak memory is measured without
callgrind, each call in a process of its own. The core's numbers are those of one compiler, all
others those of one interpreter and NumPy; what differs from the kept ones is not compared.

A minute. With --check, a call that takes over 5 % more instructions of the core or altogether, or a
quarter and 8 MiB more memory (of which the system decides a part), is named; the exit code is 1.

    python benchmarks/call_costs.py [--check | --save] [CALL ...]
"""

from __future__ import annotations

import argparse
import glob
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import gpusched as gs
from gpusched import _core

HERE = Path(__file__).resolve()
KEPT = HERE.parent / "results" / "call_costs.txt"
DATA = HERE.parents[1] / "tests" / "data"
WORSE, WORSE_MEMORY = 1.05, 1.25
Call = Callable[[], object]


class Cost(NamedTuple):
    """Instructions in thousands, of the core and altogether, and MiB."""

    core: int
    all: int
    memory: float


# Inputs -------------------------------------------------------------------------------------------


def hosts(n: int, cpus: int, seed: int = 1) -> gs.HostTasks:
    """Tasks with one GPU segment each, on cores in turn."""
    r = Random(seed)
    periods = sorted(r.randrange(20_000, 200_000) for _ in range(n))
    times = [period * cpus / n for period in periods]
    jobs = [
        [
            int(r.uniform(0.05, 0.2) * time) + 1,
            (int(0.01 * time) + 1, [int(r.uniform(0.02, 0.1) * time) + 2, 2], 1),
            int(r.uniform(0.05, 0.2) * time) + 1,
        ]
        for time in times
    ]
    return gs.HostTasks.from_segments(periods, jobs, core=[i % cpus for i in range(n)])


def workload(tasks: int, kernels: int, seed: int = 2) -> gs.Workload:
    """Tasks of several kernels with CPU work around them."""
    r = Random(seed)
    return gs.Workload(
        [
            gs.Task(
                f"t{i}",
                r.choice((4000, 8000, 16000)) * max(1, tasks // 8),
                [
                    gs.CPU(r.randrange(5, 50)),
                    *(
                        gs.Kernel(r.randrange(5, 50), blocks=r.randrange(4, 24), threads=256)
                        for _ in range(kernels)
                    ),
                ],
            )
            for i in range(tasks)
        ],
        "us",
    )


def calls(folder: Path) -> Iterator[tuple[str, Call]]:
    """The calls by name; their inputs are made before."""
    one, stack = hosts(16, 4), gs.HostTasks.stack([hosts(8, 4, seed) for seed in range(500)])
    placed = gs.analysis.stgm_allocate(one.replace(core=-1), 4, 8).hosts
    for name in ("mpcp", "fmlp_plus", "gpu_server", "time_slices", "gcaps"):
        options: dict[str, Any] = {"timeslice": 500} if name == "time_slices" else {}
        yield f"{name}, 16 tasks", _bound(getattr(gs.analysis, name), one, **options)
        yield f"{name}, 500 sets", _bound(getattr(gs.analysis, name), stack, **options)
    yield "stgm, 16 tasks", _bound(gs.analysis.stgm, placed)
    yield "stgm_allocate, 16 tasks", _bound(gs.analysis.stgm_allocate, one.replace(core=-1), 4, 8)
    global_edf = one.replace(core=-1)
    yield "srm, 16 tasks", _bound(gs.analysis.srm, global_edf, 4)
    yield "partition, 16 tasks", _bound(gs.analysis.partition, global_edf, 4, "mpcp")
    yield "breakdown, 16 tasks", _bound(gs.analysis.breakdown, one, "mpcp")
    yield "assign_priorities", _bound(gs.analysis.assign_priorities, one, "mpcp")
    kernels = gs.generate.fifo(8, 0.6, count=500, seed=3)
    yield "fifo_bound, 500 sets", _bound(gs.analysis.fifo_bound, kernels, 4096)
    arrays = {key: getattr(one, key) for key in ("period", "cpu", "copy_in", "kernel", "copy_out")}
    yield "HostTasks, 16 tasks", _bound(gs.HostTasks, **arrays, core=one.core)
    yield "from_segments, 16 tasks", lambda: hosts(16, 4)
    sets = gs.generate.gpusched(8, 1.4, count=20, seed=4)
    tables = gs.BatchTable.from_gpu(sets, "pbs2024", (1.7, 1.9), seed=4)
    yield (
        "from_gpu, 20 sets of 8",
        _bound(gs.BatchTable.from_gpu, sets, "pbs2024", (1.7, 1.9), seed=4),
    )
    yield "pbs.search, 20 sets of 8", _bound(gs.pbs.search, sets, tables)
    yield "pbs.search with a proof", _bound(gs.pbs.search, sets[0], tables[0])
    yield "edf_parallel, 20 sets of 8", _bound(gs.pbs.edf_parallel, sets, tables)
    many = gs.KernelTasks(
        [6000] * 20, wcet=range(30, 50), blocks=[12 + 2 * (i % 4) for i in range(20)], threads=256
    )
    yield "from_gpu, 20 tasks", _bound(gs.BatchTable.from_gpu, many, "xavier", 1.4)
    yield "simulate.host", _bound(gs.simulate.host, one, 4, "mpcp", until=400_000)
    fifo = gs.KernelTasks([100, 120, 150], block_time=[10, 30, 20], blocks=4, threads=256)
    yield "simulate.fifo", _bound(gs.simulate.fifo, fifo, 2048, until=20_000)
    small = workload(3, 2)
    launches = small.launches(gs.Platform("xavier"), 40_000).launches
    yield "simulate.hierarchy", _bound(gs.simulate.hierarchy, launches, "xavier")
    yield (
        "challenge",
        _bound(gs.simulate.challenge, one[:4], 4, "mpcp", budget=gs.Budget(states=2000)),
    )
    orin = gs.Platform("AGX Orin", cpus=8)
    for tasks, of_task in ((8, 3), (24, 1), (25, 1), (50, 1)):
        w = workload(tasks, of_task)
        yield f"compare, {tasks} tasks", _bound(gs.compare, w, orin, until=20_000)
    ways = ["streams", "time_slices", "mpcp", "stgm", "pbs"]
    compared = gs.compare(small, orin, ways=ways, until=20_000)
    few = gs.compare(small, orin, ways=["mpcp", "time_slices"], until=20_000)
    yield "best", lambda: replace(few).best()  # of an object that has not found it yet
    yield "report", lambda: compared.save_report(folder / "report", margin=False)
    yield "margin of gcaps", _bound(gs.margin, small, orin, "gcaps")
    yield "analyze a network", _bound(gs.analyze, workload(3, 60), orin, "pbs")
    yield "mig", _bound(gs.mig, small, gs.Platform("A100", cpus=4))
    shared = gs.Platform("AGX Orin", cpus=1)
    yield "observe a machine", _bound(gs.observe, small, shared, "time_slices", until=20_000)
    small.save(folder / "w.toml")
    yield "load a workload", _bound(gs.Workload.load, folder / "w.toml")
    yield "read a trace", _bound(gs.io.read_trace, DATA / "pipeline.pt.trace.json")
    yield "generate 100 sets", _bound(gs.generate.gpusched, 16, 2.0, count=100, seed=6)


def _bound(function: Callable[..., object], *given: Any, **options: Any) -> Call:
    return lambda: function(*given, **options)


# Measuring ----------------------------------------------------------------------------------------


def build() -> tuple[str, str]:
    """The compiler, on which the instructions of the core depend, and what all others depend on."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    first = compiler.stdout.partition("\n")[0]
    return first, f"Python {platform.python_version()}, NumPy {np.__version__}"


def mark() -> None:
    """A call by which callgrind divides its counts; the package makes it for Arrow tables alone."""
    try:
        _core.arrow_schema()  # type: ignore[call-arg]
    except TypeError:
        pass


def run_marked(names: list[str]) -> None:
    """Each call twice, the second one between two marks."""
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)):
            if not names or name in names:
                call()
                mark()
                call()
                mark()
                print(name, flush=True)


def instructions(names: list[str]) -> dict[str, tuple[int, int]]:
    """Instructions of each call, of the core and altogether, in thousands."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *("valgrind", "-q", "--tool=callgrind", "--dump-before=arrow_schema"),
                f"--callgrind-out-file={folder}/counts",
                *(sys.executable, str(HERE), "--marked", *names),
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        found = done.stdout.splitlines()
        dumps = sorted(glob.glob(f"{folder}/counts*.*"), key=lambda path: int(path.split(".")[-1]))
        # Dump 2 k + 1 ends before call number k, and dump 2 k + 2 after it.
        return {name: counted(Path(dumps[2 * k + 1])) for k, name in enumerate(found)}


def counted(dump: Path) -> tuple[int, int]:
    """Thousands of instructions of a dump, of the core and altogether."""
    names: dict[str, str] = {}
    of: dict[str, int] = {}
    current, skip = "", False
    for line in dump.read_text().splitlines():
        if line.startswith("ob="):
            number, _, name = line[3:].partition(" ")
            current = names.setdefault(number, name)
        elif line.startswith("calls="):
            skip = True  # the next line has the costs of the callee
        elif line[:1].isdigit() or line[:1] in "+-*":
            cost = line.split()[1:]  # none is 0
            if not skip and cost:
                of[current] = of.get(current, 0) + int(cost[0])
            skip = False
        elif line.startswith("cob="):
            number, _, name = line[4:].partition(" ")
            names.setdefault(number, name)
    core = sum(cost for name, cost in of.items() if Path(name).name.startswith("_core."))
    return core // 1000, sum(of.values()) // 1000


def memory(names: list[str]) -> dict[str, float]:
    """Peak memory of each call beyond what is there before, in MiB, in a process of its own."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)):
            if names and name not in names:
                continue
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
                before = resident()
                call()
                os.write(write, str(resident() - before).encode())
                os._exit(0)
            os.close(write)
            with os.fdopen(read) as pipe:
                found[name] = int(pipe.read() or 0) / 1024
            os.waitpid(child, 0)
    return found


def resident() -> int:
    """Peak resident memory of the process, in KiB."""
    text = Path("/proc/self/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", text)
    return int(peak)


# Results ------------------------------------------------------------------------------------------


def kept() -> tuple[tuple[str, str], dict[str, Cost]]:
    """The build of the kept numbers, and these."""
    compiler, others, _, *rows = KEPT.read_text(encoding="utf-8").splitlines()
    found = {}
    for row in rows:
        core, every, peak = row[30:].split()
        numbers = int(core.replace(",", "")), int(every.replace(",", ""))
        found[row[:30].strip()] = Cost(*numbers, float(peak))
    return (compiler, others), found


def table(costs: dict[str, Cost]) -> str:
    rows = [f"{'call':30}{'core, 1000':>12}{'all, 1000':>12}{'MiB':>8}"]
    rows += [f"{name:30}{c.core:12,}{c.all:12,}{c.memory:8.1f}" for name, c in costs.items()]
    return "\n".join([*build(), *rows]) + "\n"


def worse(costs: dict[str, Cost]) -> list[str]:
    """The calls that take more than the kept numbers, where these are of the same build."""
    (compiler, others), before = kept()
    same_core, same_rest = compiler == build()[0], others == build()[1]
    found = []
    for same, what, of in (
        (same_core, "the core", f"{compiler}, this is {build()[0]}"),
        (same_core and same_rest, "all instructions and memory", f"{others}, this is {build()[1]}"),
    ):
        if not same:
            print(f"not compared: {what}; the kept numbers are of {of}")
    for name, cost in costs.items():
        if (old := before.get(name)) is None:
            found.append(f"{name}: not among the kept calls; --save keeps it")
            continue
        for same, what, now, then, most in (
            (
                same_core,
                "thousand instructions of the core",
                cost.core,
                old.core,
                WORSE * old.core + 20,
            ),
            (
                same_core and same_rest,
                "thousand instructions",
                cost.all,
                old.all,
                WORSE * old.all + 100,
            ),
            (
                same_core and same_rest,
                "MiB",
                cost.memory,
                old.memory,
                WORSE_MEMORY * old.memory + 8,
            ),
        ):
            if same and now > most:
                found.append(f"{name}: {now:,.4g} {what}, {now / max(then, 1):.2f} times the kept")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the kept numbers")
    parser.add_argument("--save", action="store_true", help="keep the numbers in results/")
    parser.add_argument("--marked", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("calls", nargs="*", metavar="CALL", help="of these alone")
    options = parser.parse_args()
    if options.marked:
        run_marked(options.calls)
        return 0
    peaks = memory(options.calls)
    counts = instructions(options.calls)
    costs = {name: Cost(*counts[name], peaks[name]) for name in counts}
    print(table(costs), end="")
    found = worse(costs) if options.check else []
    if options.save:
        KEPT.write_text(table(costs), encoding="utf-8")
    if not options.check:
        return 0
    print(*(found or ["no call takes more than before"]), sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
