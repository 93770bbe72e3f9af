"""Programs that become guaranteed by `gs.choose`; results/choosing.txt.

For each way: of the realistic programs 0 to --count less 1, the number that `gs.analyze` guarantees
as they are, and with what `gs.choose` chooses among --choices choices (a local search; seed 0).
Static partitions and green contexts have no test before they are chosen. Each guaranteed choice is
analysed again and simulated: --runs runs with drawn times (from 30 % on) and periods (up to 50 %
longer), until --until; the number of late jobs must be 0.

The second table has the CPU time of a call of gs.choose and of gs.margin for the tasks of
`comparison_speed`, 12 with three kernels each: --choices choices under each way but mig, of which
each choice is a search of its own.

    python benchmarks/choosing.py [--count 12] [--choices 20] [--runs 3] [--until 1s] [--save]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from comparison_speed import workload
from machine import describe
from realistic_programs import realistic_program

import gpusched as gs

WAYS = (
    "priority_streams", "mps", "mps_static", "green_contexts", "time_slices", "gcaps",
    "mpcp",
)  # fmt: skip

ALL_WAYS = (
    "one_stream", "streams", *WAYS, "fmlp_plus", "gpu_server", "stgm", "edf_serial", "edf_parallel",
    "pbs",
)  # fmt: skip
TASKS, KERNELS = 12, 3
GPUS = {"mps_static": "H100"}  # others have no static partitions


def of_call(way: str, choices: int) -> str:
    """The line of the calls for a way."""
    program = workload(TASKS, KERNELS), gs.Platform(GPUS.get(way, "AGX Orin"), cpus=8)
    began = time.process_time()
    found = gs.choose(*program, way, budget=gs.Budget(states=choices), progress=False)
    chosen = time.process_time() - began
    began = time.process_time()
    gs.margin(found.workload, found.platform, way)
    margin = time.process_time() - began
    return f"{way:18}{found.tested:9d}{chosen:10.1f}{margin:10.1f}  {found.verdict}"


def of_way(way: str, count: int, choices: int, runs: int, until: str) -> str:
    """The line of a way."""
    before = after = late = jobs = tested = applied = 0
    began = time.process_time()
    for index in range(count):
        program = realistic_program(index)
        try:
            found = gs.choose(*program, way, budget=gs.Budget(states=choices), progress=False)
        except ValueError:
            continue
        applied += 1
        tested += found.tested
        before += found.before is not None and found.before.accepted
        if not found.accepted:
            continue
        after += 1
        assert gs.analyze(found.workload, found.platform, way).accepted
        seen = gs.observe(
            found.workload, found.platform, way,
            seed=index, count=runs, low=0.3, gap=0.5, until=until, progress=False,
        )  # fmt: skip
        late += int(seen.late_count.sum())
        jobs += int(seen.job_count.sum())
    seconds = time.process_time() - began
    return f"{way:18}{applied:9d}{before:8d}{after:7d}{tested:9d}{jobs:10,d}{late:6d}{seconds:9.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12, help="of programs")
    parser.add_argument("--choices", type=int, default=20, help="tested for each program and way")
    parser.add_argument("--runs", type=int, default=3, help="of each guaranteed choice")
    parser.add_argument("--until", default="1s", help="end of each run")
    parser.add_argument("--save", action="store_true", help="keep the lines in results/")
    args = parser.parse_args()
    lines = [
        f"Choices for realistic programs 0 to {args.count - 1}, {args.choices} choices each, "
        f"{describe()}",
        f"{'':18}{'applies':>9}{'before':>8}{'after':>7}{'tested':>9}{'jobs':>10}{'late':>6}"
        f"{'CPU s':>9}",
    ]
    print("\n".join(lines), flush=True)
    for way in WAYS:
        lines.append(of_way(way, args.count, args.choices, args.runs, args.until))
        print(lines[-1], flush=True)
    lines += [
        "",
        f"CPU seconds of calls for {TASKS} tasks of {KERNELS} kernels",
        f"{'':18}{'tested':>9}{'choose':>10}{'margin':>10}  verdict",
    ]
    print("\n".join(lines[-3:]), flush=True)
    for way in ALL_WAYS:
        lines.append(of_call(way, args.choices))
        print(lines[-1], flush=True)
    if args.save:
        path = Path(__file__).parent / "results" / "choosing.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
