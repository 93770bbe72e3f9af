"""Sets that the exhaustive search of STGM allocations decides, and growth of the allocator.

Sets with exactly 6 tasks with GPU segments by Table I of [RTCSA19] (gs.generate.stgm), on 4 cores
and 13 SMs, with utilizations around the point where half of them have an allocation and above:
shares with an allocation, without one and undecided within the default budget, and the time per
set. Then sets of up to 1,024 tasks with a core for every 4 of them and 13 SMs, for which no
allocation is found: processor time of one call, and its factor from one number to the next.

Takes about 20 s.

    python benchmarks/stgm_allocation.py [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

RESULT = Path(__file__).parent / "results" / "stgm_allocation.txt"
CPUS, SMS, USERS = 4, 13, 6
RANGES = {
    10: ((0.1, 0.4), (0.2, 0.5), (0.3, 0.6)),
    12: ((0.1, 0.35), (0.2, 0.4), (0.3, 0.5)),
    14: ((0.1, 0.35), (0.15, 0.35), (0.2, 0.4)),
    16: ((0.05, 0.3), (0.1, 0.35), (0.15, 0.35)),
}
SIZES = (128, 256, 512, 1024)


def drawn(n: int, utilization: tuple[float, float], sets: int, seed: int) -> Any:
    """Sets with 6 tasks with GPU segments."""
    many = gs.generate.stgm(n, 40 * sets, seed, cpus=CPUS, sms=SMS, utilization=utilization)
    return many[np.flatnonzero((many.segments > 0).sum(axis=1) == USERS)[:sets]]


def decided(sets: int, seed: int) -> list[str]:
    lines = [
        f"stgm_exhaustive, sets with {USERS} tasks with GPU segments, {CPUS} cores, {SMS} SMs:",
        "with an allocation, without, undecided, ms per set",
        "",
    ]
    for mode in ("suspend", "busy"):
        for n, ranges in RANGES.items():
            for low, high in ranges:
                hosts = drawn(n, (low, high), sets, seed)
                start = time.process_time()
                found = gs.analysis.stgm_exhaustive(hosts, CPUS, SMS, mode=mode)  # type: ignore[arg-type]
                each = (time.process_time() - start) / len(hosts) * 1e3
                some, spent = found.accepted.mean(), (found.spent & ~found.accepted).mean()
                lines.append(
                    f"  {mode:7} n {n:2}  U {low:4} to {high:4}  {len(hosts)} sets"
                    f"  {100 * some:5.1f} %  {100 * (1 - some - spent):5.1f} %"
                    f"  {100 * spent:5.1f} %  {each:6.2f} ms"
                )
    return lines


def growth(rounds: int, seed: int) -> list[str]:
    lines = [f"stgm_allocate, {SMS} SMs, n / 4 cores: seconds for one set of n tasks", ""]
    for mode in ("suspend", "busy"):
        for apart in (False, True):
            cells, last = [], 0.0
            for n in SIZES:
                hosts = gs.generate.stgm(n, 1, seed, cpus=n // 4, sms=SMS)
                seconds = []
                for _ in range(rounds):
                    start = time.process_time()
                    gs.analysis.stgm_allocate(hosts, n // 4, SMS, mode=mode, apart=apart)  # type: ignore[arg-type]
                    seconds.append(time.process_time() - start)
                factor = f"x {min(seconds) / last:4.1f}" if last else ""
                cells.append(f"n {n}: {min(seconds):7.4f} {factor}")
                last = min(seconds)
            lines.append(f"  {mode:7} {'apart' if apart else '':5}  " + "   ".join(cells))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    lines = [describe(), f"seed {options.seed}", ""]
    lines += [*decided(options.sets, options.seed), ""]
    lines += growth(options.rounds, options.seed)
    print("\n".join(lines))
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
