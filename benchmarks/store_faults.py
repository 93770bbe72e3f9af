"""Failing disks and killed processes: what a store loses; results/store_faults.txt.

A small sweep runs with a preloaded library (fail_at.c) that makes the k-th change of a file of the
store fail, or ends the process there: each write, sync, truncation, rename, link and unlink, for
every k. A failure may be for good or for once (a full disk); a kill may come before a write or in
its middle. Afterwards the store must be whole or not there, must have every chunk that was reported
long enough ago to be written, and the sweep must resume from it to the right table and leave
nothing beside it. The tests run a part of this. All changes take five minutes. Linux with gcc.

    python benchmarks/store_faults.py [--step 1] [--save]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from machine import describe

import gpusched as gs

HOW = ("fail", "once", "kill", "half")
SETS = 24
SLOW = 0.11  # seconds of every second call, which is written before the next report


def study(*, x, count, first, seed):
    if first % 6 == 3:
        time.sleep(SLOW)
    return {"a": np.arange(first, first + count) * x, "b": np.arange(first, first + count) % 3 == 0}


def swept(store: str | None, progress=False) -> gs.Sweep:
    options = {"count": SETS // 2, "seed": 1, "chunk": 3, "workers": 1, "key": "1"}
    return gs.sweep(study, {"x": [1, 2]}, store=store, progress=progress, **options)


def child(store: str) -> None:
    """Run the sweep; reports what is done once a slow chunk is among it."""

    def said(done: int, total: int) -> None:
        print(done, flush=True)

    try:
        swept(store, said)
    except (gs.StoreError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(3) from None


def run(library: Path, store: Path, at: int, how: str, count: Path) -> tuple[int, int]:
    """Exit status of a run with a fault, and the number of sets that it reported."""
    held = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "FAULT_FOLDER": str(store.parent),
        "FAULT_AT": str(at),
        "FAULT_HOW": how,
        "FAULT_COUNT": str(count),
    }
    command = [sys.executable, __file__, "--child", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, env=held, timeout=60)
    reported = [int(line) for line in done.stdout.splitlines()]
    if done.returncode not in (0, 3, -signal.SIGKILL):
        raise SystemExit(f"{how} at change {at}: {done.stderr}")
    return done.returncode, reported[-1] if reported else 0


def judged(store: Path, reported: int, expected: gs.Sweep) -> str:
    """Find what is wrong with the store after a fault; empty when nothing is."""
    held = 0
    if store.exists():
        try:
            held = sum(gs.open_store(store).sets)
        except gs.StoreError as error:
            return f"the store was damaged: {error}"
    # Every second chunk of three sets is slow, and on the disk before it is reported: at most the
    # chunk after it was reported and is lost.
    if held < reported - 3:
        return f"{reported} sets were reported and {held} are in the store"
    if swept(str(store)) != expected:
        return "another table"
    left = sorted(path.name for path in store.parent.iterdir())
    return "" if left == [store.name] else f"left behind: {left}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1, help="take every STEP-th change")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return
    expected = swept(None)
    found: Counter[tuple[str, str]] = Counter()
    wrong = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "fail_at.so")
        source = Path(__file__).with_name("fail_at.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        count = Path(folder, "count")
        place = Path(folder, "whole")
        place.mkdir()
        run(library, place / "store", 10**9, "fail", count)
        changes = int(count.read_text())
        for at in range(1, changes + 1, options.step):
            for how in HOW:
                place = Path(folder, f"{how} {at}")
                place.mkdir()
                status, reported = run(library, place / "store", at, how, count)
                what = {0: "went on", 3: "an error", -signal.SIGKILL: "killed"}[status]
                found[how, what] += 1
                problem = judged(place / "store", reported, expected)
                if problem:
                    wrong.append(f"{how} at change {at} ({what}): {problem}")
    lines = [
        f"Faults at changes 1, {1 + options.step}, ... of {changes}, {describe()}",
        f"{sum(found.values())} runs in {time.perf_counter() - began:.0f} s",
        *(f"{how}: {what}, {number} times" for (how, what), number in sorted(found.items())),
        *wrong,
        f"{len(wrong)} runs lost more than they may",
    ]
    print("\n".join(lines))
    if options.save:
        (Path(__file__).parent / "results/store_faults.txt").write_text("\n".join(lines) + "\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
