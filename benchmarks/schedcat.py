"""Times of MPCP and FMLP+ beside those of SchedCAT, for the same sets in one run.

Sets of 16 tasks on 4 cores by Table I of [RTCSA19] (gs.generate.stgm) and of half that utilization,
with the cores of the partition for MPCP; SchedCAT sees each set as tasks with one lock, whose
critical sections are the GPU segments on the core (here mode "busy", and "suspend" beside it).
SchedCAT's C++ bounds and a response-time analysis in the same language (schedcat_tests.cpp) are
alternated with this package: stacks in one call, and single sets, each in a call of
``gs.analysis``. SchedCAT's rows have no part in Python, unlike its own functions and these calls,
and it leaves a set at its first late task: compare the shares. Processor time of one core, the
least of several rounds.

Needs the sources of SchedCAT (github.com/brandenburg/schedcat) and g++. A minute:

    python benchmarks/schedcat.py PATH [--save]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe

import gpusched as gs

HERE = Path(__file__).parent
RESULT = HERE / "results" / "schedcat.txt"
CPUS, SMS, TASKS = 4, 13, 16
SOURCES = ("sharedres", "blocking/mpcp", "blocking/fmlp_plus")
TESTS: dict[str, Callable[..., Any]] = {
    "mpcp": gs.analysis.mpcp,
    "fmlp_plus": gs.analysis.fmlp_plus,
}


def build(sources: Path, folder: Path) -> Path:
    """The program with SchedCAT's bounds, with the options of its makefile."""
    native, program = sources / "native", folder / "schedcat_tests"
    files = [native / "src" / f"{name}.cpp" for name in SOURCES]
    flags = ["-std=gnu++14", "-O2", "-march=native", "-w", f"-I{native / 'include'}"]
    command = ["g++", *flags, "-o", program, HERE / "schedcat_tests.cpp", *files]
    subprocess.run(command, check=True)
    return program


def text_of(hosts: gs.HostTasks, fifo: bool) -> str:
    """The input of the program for a stack."""
    longest = (hosts.copy_in + hosts.kernel_time(SMS) + hosts.copy_out).max(axis=-1)
    cost = hosts.cpu_time + hosts.gpu_time(SMS)
    columns = np.stack([hosts.period, hosts.core, cost, hosts.segments, longest], axis=-1)
    order = np.argsort(hosts.priority, axis=-1)
    rows = np.take_along_axis(columns, order[..., None], axis=1).reshape(-1, 5)
    lines = [f"{int(fifo)} {len(hosts)} {hosts.n} 1"]
    return "\n".join(lines + [" ".join(map(str, row)) for row in rows.tolist()])


def peer(program: Path, text: str) -> tuple[float, Any]:
    """Seconds of SchedCAT, and the sets that it accepts."""
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    seconds, *answers = done.stdout.split()
    return float(seconds), np.array(answers) == "1"


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer


def measure(program: Path, name: str, most: float, sets: int, rounds: int, seed: int) -> list[str]:
    """Rows of a test: microseconds per set, alternating with SchedCAT."""
    hosts = gs.generate.stgm(TASKS, sets, seed, cpus=CPUS, sms=SMS, utilization=(0.05, most))
    hosts = gs.analysis.partition(hosts, CPUS, "mpcp").hosts
    single = [hosts[i] for i in range(sets // 10)]
    text, test = text_of(hosts, name == "fmlp_plus"), TESTS[name]
    seconds: dict[str, list[float]] = {}
    shares: dict[str, float] = {}
    for _ in range(rounds):
        took, accepted = peer(program, text)
        seconds.setdefault("schedcat", []).append(took / sets)
        shares["schedcat"] = accepted.mean()
        for mode in ("busy", "suspend"):
            took, answer = timed(lambda mode=mode: test(hosts, CPUS, SMS, mode=mode))
            seconds.setdefault(f"stack, {mode}", []).append(took / sets)
            shares[f"stack, {mode}"] = answer.accepted.mean()
            took, answers = timed(lambda mode=mode: [test(h, CPUS, SMS, mode=mode) for h in single])
            seconds.setdefault(f"single, {mode}", []).append(took / len(single))
            shares[f"single, {mode}"] = np.mean([answer.accepted for answer in answers])
    least = {row: min(found) for row, found in seconds.items()}
    return [
        f"  {name:10} U 0.05-{most:<5} {row:16} {1e6 * took:8.2f}   {100 * shares[row]:5.1f} %"
        + ("" if row == "schedcat" else f"   {least['schedcat'] / took:6.1f} x")
        for row, took in least.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", type=Path, help="SchedCAT's folder, with native/src")
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=2002)
    parser.add_argument("--save", action="store_true", help=f"keep the rows in {RESULT.name}")
    parser.add_argument("--note", default="", help="a remark on the machine, kept with the rows")
    options = parser.parse_args()
    lines = [describe(), f"seed {options.seed}", *([options.note] if options.note else []), ""]
    lines += [f"{options.sets:,} sets of {TASKS} tasks on {CPUS} cores, the least of"]
    lines += [f"{options.rounds} rounds: us per set, share that passes, times SchedCAT's", ""]
    with tempfile.TemporaryDirectory() as folder:
        program = build(options.sources, Path(folder))
        for name in TESTS:
            for most in (0.3, 0.15):
                given = (options.sets, options.rounds, options.seed)
                lines += measure(program, name, most, *given)
    print("\n".join(lines))
    if options.save:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
