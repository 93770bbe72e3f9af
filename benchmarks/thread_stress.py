"""Calls of many threads on shared objects, for minutes; kept in results/thread_stress.txt.

The calls of tests/robustness/test_threads.py: every function of the C module with the same
arguments, and the examples of all docstrings with the objects that their docstrings have defined.
Every answer is compared with that of one thread. Run it with an interpreter without a GIL, in whose
environment gpusched, pandas, matplotlib and pytest are installed:

    python3.13t benchmarks/thread_stress.py --threads 8 --minutes 10 [--save]

With ``--save`` the lines are added to those of earlier runs. An interpreter that was built with
--with-thread-sanitizer, and an extension built with GPUSCHED_SANITIZE=thread, report races as well.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

from machine import describe

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from thread_calls import core_calls, differences, documented_calls, repeatable  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--core", action="store_true", help="the functions of the C module alone")
    parser.add_argument("--save", action="store_true", help="keep the lines in benchmarks/results")
    args = parser.parse_args()
    os.chdir(HERE.parent)  # of the files that examples read
    calls = list(core_calls())
    if not args.core:
        calls += documented_calls()
    expected, others = repeatable(calls)
    off = not getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{len(expected)} calls; not repeatable: {', '.join(others) or 'none'}", flush=True)
    began, rounds = time.monotonic(), 0
    cpu = time.process_time()
    found: list[str] = []
    while time.monotonic() < began + 60 * args.minutes:
        found += differences(expected, args.threads, rounds=1, seed=1000 * rounds)
        rounds += 1
    minutes = (time.monotonic() - began) / 60
    cpu = (time.process_time() - cpu) / 60
    off = off and not getattr(sys, "_is_gil_enabled", lambda: True)()
    lines = [
        f"{describe()}, {platform.python_compiler()}, GIL {'off' if off else 'on'}",
        f"{args.threads} threads, {minutes:.1f} minutes ({cpu:.1f} of the processors), "
        f"{len(expected)} calls {rounds * args.threads} times: "
        f"{len(expected) * rounds * args.threads} calls, {len(found)} answers unlike alone",
        *found[:20],
    ]
    print("\n".join(lines))
    if args.save:
        with (HERE / "results" / "thread_stress.txt").open("a") as file:
            file.write("\n".join(lines) + "\n\n")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
