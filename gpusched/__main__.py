"""The command line: ``python -m gpusched sweep | trace | gpus | gpu-check``."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched import plot
from gpusched._core import MAX_TASKS
from gpusched._files import replacing
from gpusched._slowdown import SLOWDOWNS
from gpusched._text import UNITS, time_text
from gpusched._version import __version__
from gpusched.pbs import DeadWindow, Overload
from gpusched.sweep import SweepError

if TYPE_CHECKING:
    from gpusched.gpu import GPU
    from gpusched.io import TraceKernels
    from gpusched.pbs import Search
    from gpusched.schedule import Schedule
    from gpusched.tasks import KernelTasks


class _Refusal(Exception):
    """What the user asked for cannot be done; the message is the one line that is shown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code: 0 yes, 1 no or not decided, 2 refused."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("gpusched: interrupted", file=sys.stderr)
        return 130
    except SweepError as error:
        print(f"gpusched {options.command}: {error}", file=sys.stderr)
        return 2
    except (_Refusal, OSError, ValueError, TypeError, OverflowError, ImportError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            text = f"{error.filename}: {error.strerror}"
        print(f"gpusched {options.command}: {text}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpusched",
        description="Real-time scheduling of GPU kernels: will they meet their deadlines?",
    )
    parser.add_argument("--version", action="version", version=f"gpusched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    sweep = commands.add_parser(
        "sweep",
        help="how many random task sets are schedulable (Figure 4 of the GPUSched paper)",
        description="Generates random task sets as section 6.1 of the GPUSched paper (RTNS 2024) "
        "does, asks for each whether the exact PBS search, EDFserial and EDFParallel get it "
        "scheduled, prints the shares with their 95 % confidence intervals and draws them.",
    )
    sweep.add_argument(
        "--panel",
        choices=("a", "b", "c"),
        help="slowdown factors 1 to 1.4 (a), 1.7 to 1.9 (b), 1.1 to 1.9 (c); all three by default",
    )
    sweep.add_argument("--tasks", type=_tasks, default=5, metavar="N", help="per set (5)")
    sweep.add_argument("--count", type=_positive, default=50, metavar="N", help="sets a point (50)")
    sweep.add_argument("--seed", type=_natural, default=1, metavar="N", help="of the sets (1)")
    sweep.add_argument(
        "--workers", type=_positive, metavar="N", help="threads (the CPUs it may use)"
    )
    sweep.add_argument(
        "--output",
        default="gpusched_fig4.png",
        metavar="FILE",
        help="the figure; its ending chooses the format (gpusched_fig4.png)",
    )
    sweep.add_argument("--csv", metavar="FILE", help="write the table as CSV, too")
    sweep.set_defaults(run=_sweep)

    trace = commands.add_parser(
        "trace",
        help="schedule the kernels of a PyTorch profiler or Nsight Systems trace",
        description="Takes kernels from a trace of the PyTorch profiler or Nsight Systems, gives "
        "them periods, works out by block placement which of them fit the GPU together, and "
        "searches a schedule. The durations in a trace contain whatever ran beside a kernel: the "
        "result is a realistic example, no guarantee for the traced program.",
        epilog="Exit code: 0 when schedulable, 1 when not (or not decided), 2 for an error.",
    )
    trace.add_argument(
        "file",
        metavar="FILE",
        help="the trace: JSON of the PyTorch profiler, or what 'nsys export --type sqlite' or "
        "'nsys stats -r cuda_gpu_trace --format csv' writes",
    )
    trace.add_argument(
        "--gpu", metavar="PRESET", help="the GPU (see 'gpus'); the one that the trace describes"
    )
    trace.add_argument(
        "--count", type=_positive, default=5, metavar="N", help="how many kernels (5)"
    )
    trace.add_argument(
        "--pattern", metavar="RE", help="only kernels whose name contains a match of this"
    )
    trace.add_argument(
        "--period",
        metavar="TIMES",
        help="one time for all or one per kernel, as in 4ms,5ms,10ms; by default chosen from the "
        "durations and --utilization",
    )
    trace.add_argument(
        "--utilization",
        type=float,
        metavar="U",
        help="of all chosen kernels together (1.0), where periods are chosen",
    )
    trace.add_argument(
        "--slowdown",
        type=_slowdown,
        default="small",
        metavar="S",
        help="of kernels that run together: small (1 to 1.4), large (1.7 to 1.9), mixed (1.1 to "
        "1.9), or LOW,HIGH (small)",
    )
    trace.add_argument("--seed", type=_natural, default=1, metavar="N", help="of the slowdowns (1)")
    trace.add_argument(
        "--output", default=".", metavar="DIR", help="where the files go, made if missing (.)"
    )
    trace.set_defaults(run=_trace)

    gpus = commands.add_parser(
        "gpus", help="list the known GPUs", description="Lists the known GPUs and their limits."
    )
    gpus.set_defaults(run=_gpus)

    check = commands.add_parser(
        "gpu-check",
        help="run every probe, measurement and error check on a CUDA device",
        description="Runs every probe of the scheduling rules, measures calibration, batches, the "
        "player's overhead and SM partitions on a CUDA device, and what happens after errors. "
        "Prints a table of pass, fail and figure, and writes a report.",
        epilog="Exit code: 0 when nothing failed, 1 when something did, 2 without a device.",
    )
    check.add_argument("--device", type=_natural, default=0, metavar="N", help="which one (0)")
    check.add_argument("--quick", action="store_true", help="fewer cases")
    check.add_argument(
        "--processes",
        default="1,2,4",
        metavar="N,...",
        help="how many other processes copy beside a kernel, in turn (1,2,4); none: ''",
    )
    check.add_argument(
        "--output",
        default="gpu-check.json",
        metavar="FILE",
        help="the report; logs of blocks go to a folder beside it (gpu-check.json)",
    )
    check.set_defaults(run=_gpu_check)
    return parser


def _sweep(options: argparse.Namespace) -> int:
    from gpusched import experiments

    ending = _drawable(options.output)
    for path in (options.output, options.csv):
        if path is not None and not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise _Refusal(f"{path}: there is no such folder")
    result = experiments.gpusched_fig4(
        options.panel,
        n=options.tasks,
        count=options.count,
        seed=options.seed,
        workers=options.workers,
    )
    print(result.to_text(), end="")
    if options.csv is not None:
        result.save_csv(options.csv)
        print(f"\nwrote {options.csv}", end="")
    figure = result.plot()[0].figure
    plot.save_figure(figure, options.output, dpi=150 if ending != "svg" else 72)
    print(f"\nwrote {options.output}")
    return 0


def _trace(options: argparse.Namespace) -> int:
    from gpusched import pbs
    from gpusched.io import read_trace
    from gpusched.table import BatchTable

    if options.period is not None and options.utilization is not None:
        raise _Refusal("--period and --utilization: give one of them")
    read = read_trace(options.file, gpu=options.gpu)
    if read.gpu is None:
        raise _Refusal(f"{options.file}: does not describe its GPU: give --gpu (see 'gpus')")
    kernels = read.choose(options.count, options.pattern)
    periods = None if options.period is None else _times(options.period, len(kernels))
    utilization = 1.0 if options.utilization is None else options.utilization
    tasks = kernels.tasks(period=periods, utilization=utilization)
    table = BatchTable.from_gpu(tasks, read.gpu, slowdown=options.slowdown, seed=options.seed)
    print(_kernels_text(kernels, tasks, read.gpu))
    for name, found in (
        ("EDFserial", pbs.edf_serial(tasks, table)),
        ("EDFParallel", pbs.edf_parallel(tasks, table)),
    ):
        print(f"{name + ':':13}{_outcome(tasks, found)}")
    result = pbs.search(tasks, table)
    if result.schedule is None:
        print(f"{'PBS:':13}{_why_not(tasks, result)}")
        if hint := _hopeless(tasks):
            print(hint)
        return 1
    schedule: Schedule = result.schedule.validate()
    print(
        f"{'PBS:':13}schedulable: {len(schedule)} frames, GPU busy {schedule.utilization:.0%} of "
        f"{_duration(schedule.horizon)} ({result.stage}, {result.seconds * 1e3:.2g} ms)"
    )
    os.makedirs(options.output, exist_ok=True)
    stem = os.path.normpath(os.path.join(options.output, "schedule"))
    if importlib.util.find_spec("matplotlib") is not None:
        _drawable(f"{stem}.png")
        picture = f"{stem}.png"
        plot.save_figure(schedule.plot(unit="ns").figure, picture)
    else:
        picture = f"{stem}.svg"
        with replacing(picture, "w", encoding="utf-8") as file:
            file.write(schedule.to_svg(unit="ns"))
    schedule.to_chrome_trace(f"{stem}.trace.json")
    schedule.save(f"{stem}.json")
    print(f"wrote {picture}, {stem}.trace.json (for ui.perfetto.dev) and {stem}.json")
    return 0


def _gpus(options: argparse.Namespace) -> int:
    from gpusched.gpu import GPU

    heads = ("preset", "SMs", "threads/SM", "blocks/SM", "regs/SM", "smem/SM", "cc")
    rows: list[Sequence[str]] = [heads]
    for name in GPU.presets():
        gpu = GPU.preset(name)
        rows.append(
            (
                name,
                *map(str, (gpu.sms, gpu.threads_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm)),
                f"{gpu.smem_per_sm // 1024} KiB",
                "-" if gpu.cc is None else ".".join(map(str, gpu.cc)),
            )
        )
    print(_columns(rows))
    return 0


def _gpu_check(options: argparse.Namespace) -> int:
    from gpusched import _cuda_check, cuda

    if (reason := cuda.why_not()) is not None:
        raise _Refusal(reason)
    try:
        processes = [int(part) for part in options.processes.split(",") if part.strip()]
    except ValueError:
        raise _Refusal(f"--processes: {options.processes!r} are no numbers") from None
    if not all(1 <= count <= 64 for count in processes):
        raise _Refusal(f"--processes: {options.processes}: must be 1 to 64")
    try:
        findings = _cuda_check.check(
            options.device, options.output, quick=options.quick, processes=processes, say=print
        )
    except cuda.CudaError as error:
        raise _Refusal(str(error.args[0])) from error
    return int(any(found.status == "fail" for found in findings))


# Text


def _kernels_text(kernels: TraceKernels, tasks: KernelTasks, gpu: GPU) -> str:
    resident = kernels.occupancy()
    heads = ("kernel", "blocks", "threads", "regs", "smem", "duration", "period", "blocks/SM")
    rows: list[Sequence[str]] = [heads]
    for i in range(tasks.n):
        shape = (tasks.blocks[i], tasks.threads[i], tasks.regs[i], tasks.smem[i])
        times = (_duration(int(tasks.wcet[i])), _duration(int(tasks.period[i])))
        rows.append((tasks.name[i], *map(str, shape), *times, str(resident[i])))
    return f"{gpu.name or 'GPU'}, {gpu.sms} SMs\n{_columns(rows)}\n"


def _outcome(tasks: KernelTasks, found: Any) -> str:
    if found.schedulable:
        return "schedulable"
    if found.missed is None:
        return "not schedulable"
    task, job, deadline = found.missed
    return f"misses job {job} of {tasks.name[task]}, due at {_duration(int(deadline))}"


def _why_not(tasks: KernelTasks, result: Search) -> str:
    """What the search says about a set without a schedule."""
    if result.schedulable is None:
        return f"not decided ({result.reason})"
    proof = result.certificate
    if isinstance(proof, Overload):
        return f"not schedulable: the jobs of a hyperperiod take {proof.load:.2f} times as long"
    if isinstance(proof, DeadWindow):
        who = ", ".join(tasks.name[i] for i in proof.tasks)
        start, end, least = map(_duration, (proof.start, proof.end, proof.least))
        return f"not schedulable: {who} need {least} between {start} and {end}"
    return "not schedulable: every sequence of batches misses a deadline"


def _hopeless(tasks: KernelTasks) -> str:
    """A hint where one kernel alone makes another one late, "" where none does."""
    long, short = int(tasks.wcet.argmax()), int(tasks.deadline.argmin())
    if tasks.wcet[long] < tasks.deadline[short] or long == short:
        return ""
    return (
        f"{tasks.name[long]} cannot be interrupted for {_duration(int(tasks.wcet[long]))}, "
        f"{tasks.name[short]} is due after {_duration(int(tasks.deadline[short]))}: choose other "
        "kernels (--pattern) or periods (--period)"
    )


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def _duration(ns: int) -> str:
    return time_text(ns, 6)


# Arguments


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def _tasks(text: str) -> int:
    number = _positive(text)
    if number > MAX_TASKS:
        raise argparse.ArgumentTypeError(f"{text} is more than {MAX_TASKS}")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


_positive.__name__ = _natural.__name__ = _tasks.__name__ = "whole number"  # how argparse calls it


def _slowdown(text: str) -> str | tuple[float, float]:
    if text in SLOWDOWNS:
        return text
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        known = ", ".join(SLOWDOWNS)
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known} or LOW,HIGH") from None
    if not 1 <= low <= high or math.isinf(high):
        raise argparse.ArgumentTypeError(f"{text!r}: must be 1 <= LOW <= HIGH")
    return low, high


def _times(text: str, count: int) -> list[int]:
    """Times such as 4ms,5ms in ns: one for all, or one per kernel."""
    times = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\.(\d+))?\s*(ns|us|µs|ms|s)\s*", part)
        if match is None:
            raise _Refusal(f"--period: {part!r} is no time such as 4ms or 0.5ms")
        digits, fraction, unit = match[1], match[2] or "", match[3]
        time, rest = divmod(int(digits + fraction) * UNITS[unit], 10 ** len(fraction))
        if rest or time == 0:
            raise _Refusal(f"--period: {part!r} is no positive whole number of nanoseconds")
        times.append(time)
    if len(times) not in (1, count):
        raise _Refusal(f"--period: {len(times)} times for {count} kernels")
    return times * count if len(times) == 1 else times


def _drawable(path: str) -> str:
    """The ending of a figure's file; refuses what could not be drawn in the end."""
    if importlib.util.find_spec("matplotlib") is None:
        raise _Refusal("drawing needs matplotlib: pip install 'gpusched[plot]'")
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.use("Agg")  # no window, also where there is a display
    known = Figure().canvas.get_supported_filetypes()
    ending = os.path.splitext(path)[1].lstrip(".").lower()
    if ending not in known:
        raise _Refusal(f"{path}: cannot draw a file of this ending; known are {', '.join(known)}")
    return ending


if __name__ == "__main__":
    sys.exit(main())
