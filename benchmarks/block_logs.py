"""Microseconds per block of checks, traces and occupancy of logs of blocks, and instructions.

One log of the hierarchy simulator, with drawn block times. Each part is measured with the core and
in plain Python: `check_rules` against its twin in tests/reference (on a part of the log), the trace
against the same events as objects, `occupancy` against NumPy's sort. The ratio of one run is what
counts. With --instructions, the core's functions run once more under callgrind, which counts
their instructions, on a shorter log.

Seconds are those of the processor. The rows are kept in results/block_logs.txt. Two minutes;
one more with --instructions.

    python benchmarks/block_logs.py [--blocks 1000000] [--instructions] [--save]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from hierarchy_simulation import random_launches
from machine import describe

import gpusched as gs
from gpusched._draw import chrome_trace
from gpusched._draw.timeline import Lane, Piece, Rows, Timeline

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent / "tests"))
PARTS = ("rules", "rules with a tolerance", "trace", "occupancy")
TOLERANCE = 100
FEW = 20_000  # blocks of the slow forms
FUNCTIONS = {
    "rules": ["gs_io_rules_check"],
    "trace": ["gs_io_row_text_write", "gs_io_free_lanes_find"],
    "occupancy": ["gs_simulate_sm_usage_init", "gs_simulate_sm_usage_write"],
}


def simulated(gpu: gs.GPU, blocks: int) -> gs.simulate.Hierarchy:
    launches = random_launches(gpu, blocks, constant=False, seed=1)
    budget = gs.pbs.Budget(bytes=None)
    return gs.simulate.hierarchy(launches, gpu, seed=1, budget=budget, progress=False)


def log_of(run: gs.simulate.Hierarchy) -> gs.io.BlockLog:
    launches, blocks = run.launches, run.blocks
    assert blocks is not None
    shape = (launches.blocks, launches.threads, launches.regs, launches.smem)
    columns = (blocks.kernel, blocks.block, blocks.sm, blocks.start, blocks.end)
    return gs.io.BlockLog(launches.name, launches.stream, launches.time, *shape, *columns)


def core_parts(run: gs.simulate.Hierarchy, path: Path) -> dict[str, Callable[[], object]]:
    """The measured calls, by part."""
    log = log_of(run)
    return {
        "rules": lambda: gs.io.check_rules(log, run.gpu),
        "rules with a tolerance": lambda: gs.io.check_rules(log, run.gpu, TOLERANCE, latency=500),
        "trace": lambda: run.to_chrome_trace(path),
        "occupancy": run.occupancy,
    }


def slow_parts(run: gs.simulate.Hierarchy, path: Path) -> dict[str, Callable[[], object]]:
    from reference import rule_check

    log = log_of(run)
    return {
        "rules": lambda: rule_check.check(log, run.gpu),
        "rules with a tolerance": lambda: rule_check.check(log, run.gpu, TOLERANCE, latency=500),
        "trace": lambda: trace_of_objects(run, path),
        "occupancy": lambda: occupancy_by_sort(run),
    }


def trace_of_objects(run: gs.simulate.Hierarchy, path: Path) -> None:
    """The blocks as objects, one after the other."""
    blocks, launches = run.blocks, run.launches
    assert blocks is not None
    lanes = tuple(Lane("blocks", f"SM {sm}") for sm in range(run.gpu.sms))

    def pieces() -> Iterator[Piece]:
        columns = (blocks.kernel, blocks.block, blocks.sm, blocks.start, blocks.end)
        for kernel, block, sm, start, end in zip(*(c.tolist() for c in columns), strict=True):
            args = {"launch": kernel, "block": block, "threads": int(launches.threads[kernel])}
            yield Piece(sm, start, end, launches.name[kernel], 0, args=args)

    chrome_trace.write_timeline(Timeline(lanes, Rows(pieces)), path)


def occupancy_by_sort(run: gs.simulate.Hierarchy) -> list[np.ndarray]:
    """The changes of all SMs, sorted and summed."""
    blocks = run.blocks
    assert blocks is not None
    threads = run.launches.threads[blocks.kernel]
    time, sms = np.concatenate([blocks.start, blocks.end]), np.concatenate([blocks.sm] * 2)
    order = np.lexsort((time, sms))
    time, sms = time[order], sms[order]
    new = np.flatnonzero((np.diff(time, prepend=-1) != 0) | (np.diff(sms, prepend=-1) != 0))
    columns = []
    for amount in (-(-threads // 32), threads, np.ones_like(threads)):
        change = np.concatenate([amount, -amount])[order]
        columns.append(np.cumsum(np.add.reduceat(change, new)))
    changed = np.add.reduce([np.diff(c, prepend=0) != 0 for c in columns]) > 0
    return [sms[new][changed], time[new][changed], *(c[changed] for c in columns)]


def best_seconds(call: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return min(seconds)


def instructions(name: str, blocks: int, folder: Path) -> dict[str, float]:
    """Instructions per block of the core's functions, by part."""
    out = folder / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable]
    command += [__file__, "--once", name, "--blocks", str(blocks)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)]
    table = subprocess.run(annotate, capture_output=True, text=True, check=True).stdout
    found = {}
    for part, functions in FUNCTIONS.items():
        rows = [re.search(rf"^ *([\d,]+) .*:{f} ", table, re.M) for f in functions]
        total = sum(int(row[1].replace(",", "")) for row in rows if row)
        found[part] = total / int(done.stdout)
    return found


def measure(args: argparse.Namespace, path: Path) -> list[str]:
    lines = [
        f"Logs of about {args.blocks:,} blocks, best of {args.rounds}, {describe()}",
        "GPU     part                    us/block  slow us/block   ratio"
        + ("  instructions/block" if args.instructions else ""),
    ]
    print("\n".join(lines), flush=True)
    for name in ("Xavier", "H100"):
        gpu = gs.GPU.preset(name)
        run, small = simulated(gpu, args.blocks), simulated(gpu, FEW)
        counts = instructions(name, FEW, path.parent) if args.instructions else {}
        for part in PARTS:
            fast = best_seconds(core_parts(run, path)[part], args.rounds) / run.started
            whole = run if part == "occupancy" else small
            slow = best_seconds(slow_parts(whole, path)[part], 1) / whole.started
            row = f"{name:7s} {part:22s} {1e6 * fast:9.2f} {1e6 * slow:14.2f} {slow / fast:7.0f}"
            row += f" {counts[part]:19.0f}" if part in counts else ""
            lines.append(row)
            print(row, flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of them counts")
    parser.add_argument("--instructions", action="store_true", help="count them with callgrind")
    parser.add_argument("--save", action="store_true", help="keep the rows in benchmarks/results")
    parser.add_argument("--once", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        run = simulated(gs.GPU.preset(args.once), args.blocks)
        gs.io.check_rules(log_of(run), run.gpu)
        run.to_chrome_trace(os.devnull)  # calls occupancy
        print(run.started)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(args, Path(folder) / "trace.json")
    if args.save:
        (FOLDER / "results" / "block_logs.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
