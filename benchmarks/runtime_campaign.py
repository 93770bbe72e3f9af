"""Campaign of the runtime library: the lock under kills, its order, and programs against answers.

    python benchmarks/runtime_campaign.py --keep        # about 6 minutes on two CPUs

Processes that share the lock are killed at random between any two stores of a request, a hand-over,
a recovery, a join and a leave, and at random instants, until there were 10**6 acquisitions. Random
programs run under each way that the library has a part for, and their logs are compared with
the answers. Times are tens of ms; a run in which a thread beside the tasks was woken more than 2 ms
late is repeated, up to 20 times, and the tolerance is 1 ms and twice its worst delay. Needs a C
compiler and a package built in place.
"""

from __future__ import annotations

import argparse
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import gpusched as gs

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks/results/runtime_campaign.txt"
WAYS = ("mpcp", "fmlp_plus", "gpu_server")
QUIET_NS, TRIES = 2_000_000, 20  # runs in which the control thread was later are repeated
FAULTS = {"none": set(), "slow": {"segment"}, "early": {"release"}, "two": {"two holders"}}


def build(folder: Path, name: str, *sources: Path, flags: str = "") -> Path:
    command = ["cc", "-std=c11", "-O2", f"-I{ROOT}/csrc", f"-I{ROOT}/tests/c", *shlex.split(flags)]
    command += [*map(str, sources), *shlex.split(gs.rt.libs()), "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return folder / name


def output(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=3600)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def random_program(draw: random.Random) -> tuple[gs.Workload, list[str]]:
    """Two or three tasks in ms, and the arguments of the test program."""
    tasks, arguments = [], []
    count = draw.choice([2, 3])
    for i in range(count):
        period = draw.choice([60, 80, 120])
        cpu, gpu = draw.randint(2, 8), draw.randint(10, 20)
        segments = [gs.CPU(f"{cpu}ms"), gs.Kernel(f"{gpu}ms", blocks=8, threads=256)]
        tasks.append(gs.Task(f"task{i}", f"{period}ms", segments, priority=i))
        arguments.append(f"task{i}:{period}:{cpu}:{gpu}:{count - 1 - i}")
    return gs.Workload(tasks, tick="us"), arguments


def programs(binary: Path, log: Path, each: int) -> list[str]:
    """For each way and fault: runs, verdicts, and how often the fault was named."""
    lines = []
    platform = gs.Platform("Xavier", cpus=4)
    for way in WAYS:
        draw = random.Random(way)
        counts = {fault: [0, 0] for fault in FAULTS if (fault, way) != ("two", "gpu_server")}
        made = 0
        while made < each:
            workload, arguments = random_program(draw)
            answer = gs.analyze(workload, platform, way)
            if not answer.schedulable:
                continue
            made += 1
            for fault, count in counts.items():
                for _ in range(TRIES):
                    jitter = int(output(binary, log, way, 4, fault, *arguments))
                    if jitter <= QUIET_NS:
                        break
                found = gs.kept(answer, gs.io.read_run_log(log), tolerance=10**6 + 2 * jitter)
                rules = {finding.rule for finding in found.broken}
                count[0] += 1
                right = found.kept if fault == "none" else FAULTS[fault] <= rules
                count[1] += right
                if not right:
                    lines.append(f"{way}, fault {fault}, control thread {jitter} ns late: {found}")
        for fault, (runs, right) in counts.items():
            what = "kept" if fault == "none" else "named"
            lines.append(f"{way}, fault {fault}: {right} of {runs} runs {what}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acquisitions", type=int, default=10**6)
    parser.add_argument("--orders", type=int, default=10**4)
    parser.add_argument("--programs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help=f"write {RESULT.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lock = build(folder, "lock", ROOT / "tests/c/test_rt_lock.c")
        include = shlex.join([f"-I{gs.rt.get_include()}"])
        locked = build(folder, "locked", ROOT / "tests/rt/locked_program.c", flags=include)
        lines = [
            output(lock, "kills", 1000, options.acquisitions, options.seed).strip(),
            *output(lock, "order", options.orders).strip().splitlines(),
            *programs(locked, folder / "log", options.programs),
        ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.keep:
        RESULT.write_text(text)


if __name__ == "__main__":
    main()
