"""Everything that only a GPU can show, in one command, in the root of a clone.

    python3 -m benchmarks.gpu OUTPUT --part 1 --total 170     # is anything broken? the main rules
    python3 -m benchmarks.gpu OUTPUT --part 2 --total 480     # all else
    python3 -m benchmarks.gpu OUTPUT                          # both, about ten minutes
    python3 -m benchmarks.gpu OUTPUT --only channels,GPCs --again

Every step is a process with a time limit of its own. Its result, its output and the raw times of
all its launches are in ``OUTPUT/gpu.tgz``, which is replaced after each step (and during long
ones), so that a run that is killed loses nothing that was done; a run with the same OUTPUT goes on
and does what is left. The Python that runs it is used as it is, without network: no environment is
made and nothing is installed. A built ``gpusched/_core.abi3.so`` is used where there is one;
otherwise the package is built in place, for which setuptools (of any version) and a compiler are
needed, and nvcc for the kernels. Exit code: 0 if all steps ended, 1 if one did not, 2 if the
package cannot be imported. Results of GPUs are kept in ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.gpu.archive import Archive

ROOT = Path(__file__).resolve().parents[2]
BUILD_S = 240
SAVE_S = 10
"""Interval at which the archive is replaced during a step."""
LEAST_S = 5
"""Steps begin only if so much time is left."""
CLOCKS = (
    "timestamp,pstate,clocks.sm,clocks.mem,power.draw,temperature.gpu,"
    "clocks_event_reasons.active,utilization.gpu"
)


class Stopped(Exception):
    """The run was told to end."""


def stop(number: int, frame: Any) -> None:
    raise Stopped


def run_process(command: Sequence[str], log: Path, limit: float, archive: Archive) -> str:
    """Run a process with its output in a file; how it ended: "0" is well.

    Its standard input ends with this process, and it with its standard input.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with (
        log.open("w") as told,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=told,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        until = time.monotonic() + limit
        try:
            while True:
                left = until - time.monotonic()
                try:
                    return str(process.wait(max(0.0, min(SAVE_S, left))))
                except subprocess.TimeoutExpired:
                    if left <= SAVE_S:
                        return f"killed after {limit:.0f} s"
                    archive.write()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and the processes that it left


def importable() -> bool:
    command = [sys.executable, "-c", "import gpusched._core"]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


def build(archive: Archive, say: Any) -> bool:
    """Build the package in place if it cannot be imported."""
    if importable():
        return True
    os.environ.setdefault("GPUSCHED_CUDA", "1")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    log = archive.work / "build.log"
    ended = run_process(command, log, BUILD_S, archive)
    works = importable()
    last = (log.read_text().strip().splitlines() or [""])[-1]
    say(f"build: {ended} {last}" + ("" if works else "; gpusched cannot be imported"))
    return works


def log_clocks(work: Path) -> subprocess.Popen[bytes] | None:
    """Log the device's clocks four times a second, where nvidia-smi is."""
    if shutil.which("nvidia-smi") is None:
        return None
    command = ["nvidia-smi", f"--query-gpu={CLOCKS}", "--format=csv", "-lms", "250"]
    with (work / f"clocks_{int(time.time())}.csv").open("w") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)


def run_steps(options: argparse.Namespace, archive: Archive) -> int:
    """Run the steps that are asked for; the exit code."""
    work, begin = archive.work, time.monotonic()
    log = (work / "log.txt").open("a", buffering=1)

    def say(line: str) -> None:
        log.write(line + "\n")
        print(line, flush=True)

    if not build(archive, say):
        archive.write()
        return 2
    from benchmarks.gpu.steps import STEPS, result_file

    only = {name.strip() for name in options.only.split(",") if name.strip()}
    if unknown := only - {step.name for step in STEPS}:
        raise SystemExit(f"--only: got {', '.join(sorted(unknown))}, expected names of --list")
    failed = 0
    for step in STEPS:
        if step.name not in only and (only or options.part not in (None, step.part)):
            continue
        if result_file(work, step.name).exists() and not options.again:
            continue
        left = options.total - (time.monotonic() - begin)
        if left < LEAST_S:
            say(f"{step.name}: no time left")
            failed += 1
            continue
        command = [sys.executable, "-m", "benchmarks.gpu", str(work), "--step", step.name]
        told = work / f"{result_file(work, step.name).stem}.log"
        started = time.monotonic()
        ended = run_process(command, told, min(step.limit_s, left - 2), archive)
        failed += ended != "0"
        lines = told.read_text(errors="replace").strip().splitlines() or [""]
        line = (
            f"{started - begin:6.1f} s {step.name}: {ended} in {time.monotonic() - started:.1f} s"
        )
        log.write(line + "\n")
        archive.write()
        print(line, lines[-1][:300], sep="\n    ", flush=True)
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.gpu", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("output", type=Path, help="folder of the archive")
    parser.add_argument("--total", type=float, default=900, help="seconds for all (default: 900)")
    parser.add_argument("--part", type=int, choices=(1, 2), help="the first or second half")
    parser.add_argument("--only", default="", metavar="NAME,...", help="these steps")
    parser.add_argument("--again", action="store_true", help="also steps that are done")
    parser.add_argument("--list", action="store_true", help="print the names of the steps")
    parser.add_argument("--step", help=argparse.SUPPRESS)  # a step, in its own process
    options = parser.parse_args()
    if options.step or options.list:
        from benchmarks.gpu import steps

        return steps.perform(options.step, options.output) if options.step else steps.show()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    work = Path(tempfile.mkdtemp(prefix="gpusched-gpu-"))
    archive = Archive(options.output, work)
    clocks = log_clocks(work)
    try:
        return run_steps(options, archive)
    except Stopped:
        return 1
    finally:
        if clocks is not None:
            clocks.terminate()
        archive.write()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
