"""Command ``trace``: a PBS schedule for kernels of a recorded trace, or its workload."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.files import replacing
from gpusched._support.text import UNITS, named
from gpusched.cli import trace_tasks
from gpusched.cli.command_parts import (
    Refusal,
    columns,
    drawable,
    duration,
    natural,
    positive,
    real,
    slowdown,
)

if TYPE_CHECKING:
    from gpusched.io import TraceKernels
    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.model.schedule import Schedule
    from gpusched.pbs import Search


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "With --by: makes a workload from the trace, prints it and saves it. "
        "Otherwise: takes kernels from a trace of the PyTorch profiler or Nsight Systems, gives "
        "them periods, determines by block placement which of them fit the GPU together, and "
        "searches for a schedule. The durations in a trace include interference: the result is a "
        "realistic example, not a guarantee for the traced program."
    )
    command.epilog = (
        "Exit code: 0 when schedulable or saved, 1 when not schedulable, 3 when undecided, "
        "2 for an error."
    )
    command.add_argument(
        "file",
        metavar="FILE",
        help="the trace: JSON of the PyTorch profiler, output of 'nsys export --type sqlite' or "
        "'nsys stats -r cuda_gpu_trace --format csv', or a database of nvprof; - for standard "
        "input",
    )
    command.add_argument(
        "--gpu",
        metavar="PRESET",
        help="the GPU of the answers (see 'gpus'; default: that of the trace). AMD GPUs are not "
        "modelled: their traces are read, and --by makes workloads of them",
    )
    command.add_argument(
        "--device",
        type=natural,
        metavar="N",
        help="number of the GPU whose kernels are read; required if kernels ran on several",
    )
    command.add_argument(
        "--count", type=positive, metavar="N", help="number of kernels (default: 5)"
    )
    command.add_argument(
        "--pattern", metavar="RE", help="regular expression: only kernels whose name matches"
    )
    command.add_argument(
        "--period",
        metavar="TIMES",
        help="one period for all kernels or one per kernel, such as 4ms,5ms,10ms (default: chosen "
        "from the durations and --utilization); with --by: one period, or periods by task such as "
        "camera=20ms,detector=40ms (default: as observed, refused if they need more than the GPU)",
    )
    command.add_argument(
        "--utilization",
        type=real,
        metavar="U",
        help="total utilization of all chosen kernels if periods are chosen (default: 1.0)",
    )
    command.add_argument(
        "--slowdown",
        type=slowdown,
        metavar="S",
        help="slowdown of kernels that run together: small (1 to 1.4), large (1.7 to 1.9), mixed "
        "(1.1 to 1.9), or LOW,HIGH (default: small)",
    )
    command.add_argument(
        "--seed", type=natural, metavar="N", help="seed of the slowdowns (default: 1)"
    )
    command.add_argument(
        "--output", metavar="DIR", help="output folder, created if needed (default: .)"
    )
    command.add_argument(
        "--max-bytes",
        type=positive,
        default=MAX_BYTES,
        metavar="N",
        help="maximum size of the trace, unpacked (default: 4 GiB)",
    )
    trace_tasks.add_options(command)
    command.set_defaults(run=run)


_DEFAULTS = {"count": 5, "slowdown": "small", "seed": 1, "output": "."}
_SCHEDULE_ONLY = (*_DEFAULTS, "pattern", "utilization")


def run(options: argparse.Namespace) -> int:
    if trace_tasks.wanted(options, _SCHEDULE_ONLY):
        return trace_tasks.run(options)
    for name, value in _DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return _schedule(options)


def _schedule(options: argparse.Namespace) -> int:
    from gpusched import pbs
    from gpusched.io.traces.trace_kernels import utilization_text
    from gpusched.io.traces.trace_tables import total
    from gpusched.model.batch_table import BatchTable

    if options.period is not None and options.utilization is not None:
        raise Refusal("--utilization: got it with --period, expected one of them")
    read = trace_tasks.read(options)
    if read.gpu is None:
        said = "".join(f"; {note}" for note in read.notes)
        what = "got no description of its GPU: give --gpu (see 'gpus')"
        raise Refusal(f"{options.file}: {what}{said}")
    kernels = read.choose(options.count, options.pattern)
    periods = None if options.period is None else _times(options.period, len(kernels))
    utilization = 1.0 if options.utilization is None else options.utilization
    tasks = kernels.tasks(period=periods, utilization=utilization)
    table = BatchTable.from_gpu(tasks, read.gpu, slowdown=options.slowdown, seed=options.seed)
    print(_kernels_text(kernels, tasks, read.gpu))
    for note in read.notes:
        print(f"note: {note}")
    chosen, whole = total(kernels.total), total(read.duration)
    times = f"{duration(chosen)} of {duration(whole)}"
    print(f"note: these kernels take {chosen / max(whole, 1):.0%} of the kernels' time ({times})")
    if periods is None:
        print(f"{utilization_text(tasks.wcet, tasks.period, utilization)}\n")
    for name, found in (
        ("EDFserial", pbs.edf_serial(tasks, table)),
        ("EDFParallel", pbs.edf_parallel(tasks, table)),
    ):
        print(f"{name + ':':13}{_outcome(tasks, found)}")
    result = pbs.search(tasks, table)
    if result.schedule is None:
        print(f"{'PBS:':13}{_why_not(result)}")
        if hint := _hopeless(tasks):
            print(hint)
        return 3 if result.schedulable is None else 1
    schedule: Schedule = result.schedule.validate()
    print(
        f"{'PBS:':13}schedulable: {len(schedule)} frames, GPU busy {schedule.utilization:.0%} of "
        f"{duration(schedule.horizon)} (found by {result.stage}, computed in "
        f"{result.seconds * 1e3:.2g} ms)"
    )
    os.makedirs(options.output, exist_ok=True)
    stem = os.path.normpath(os.path.join(options.output, "schedule"))
    if importlib.util.find_spec("matplotlib") is not None:
        drawable(f"{stem}.png")
        picture = f"{stem}.png"
        from gpusched._draw.axes import save_figure

        save_figure(schedule.plot(unit="ns").figure, picture)
    else:
        picture = f"{stem}.svg"
        with replacing(picture, "w", encoding="utf-8") as file:
            file.write(schedule.to_svg(unit="ns"))
    schedule.to_chrome_trace(f"{stem}.trace.json")
    schedule.save(f"{stem}.json")
    print(
        f"wrote {named(picture, 300)}, {named(stem, 300)}.trace.json (for ui.perfetto.dev) and "
        f"{named(stem, 300)}.json"
    )
    return 0


def _kernels_text(kernels: TraceKernels, tasks: KernelTasks, gpu: GPU) -> str:
    resident = kernels.occupancy()
    heads = ("kernel", "blocks", "threads", "regs", "smem", "duration", "period", "blocks/SM")
    rows: list[Sequence[str]] = [heads]
    for i in range(tasks.n):
        shape = (tasks.blocks[i], tasks.threads[i], tasks.regs[i], tasks.smem[i])
        times = (duration(int(tasks.wcet[i])), duration(int(tasks.period[i])))
        rows.append((tasks.name[i], *map(str, shape), *times, str(resident[i])))
    return f"{gpu.name or 'GPU'}, {gpu.sms} SMs\n{columns(rows)}\n"


def _outcome(tasks: KernelTasks, found: Any) -> str:
    if found.schedulable:
        return "schedulable"
    if found.late_job is None:
        return "not schedulable"
    task, job, deadline = found.late_job
    return f"misses job {job} of {named(tasks.name[task])}, due at {duration(int(deadline))}"


def _why_not(result: Search) -> str:
    """Text of the search's answer for a set without a schedule."""
    if result.schedulable is None:
        return f"not decided ({result.reason})"
    from gpusched.model.workload.time_units import tick_length

    with tick_length(1):
        return f"not schedulable: {result.why()}"


def _hopeless(tasks: KernelTasks) -> str:
    """Hint when one kernel alone makes another one late; "" otherwise."""
    long, short = int(tasks.wcet.argmax()), int(tasks.deadline.argmin())
    if tasks.wcet[long] < tasks.deadline[short] or long == short:
        return ""
    return (
        f"{named(tasks.name[long])} cannot be interrupted for {duration(int(tasks.wcet[long]))}, "
        f"{named(tasks.name[short])} is due after {duration(int(tasks.deadline[short]))}: choose "
        "other kernels (--pattern) or periods (--period)"
    )


def _times(text: str, count: int) -> list[int]:
    """Times such as 4ms,5ms in ns; one for all, or one per kernel."""
    times = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\.(\d+))?\s*(ns|us|µs|ms|s)\s*", part)
        if match is None:
            raise Refusal(f"--period: got {part!r}, expected a time such as 4ms or 0.5ms")
        digits, fraction, unit = match[1], match[2] or "", match[3]
        time, rest = divmod(int(digits + fraction) * UNITS[unit], 10 ** len(fraction))
        if rest or time == 0:
            raise Refusal(
                f"--period: got {part!r}, expected a positive whole number of nanoseconds"
            )
        times.append(time)
    if len(times) not in (1, count):
        raise Refusal(f"--period: got {len(times)} times, expected 1 or {count}, one per kernel")
    return times * count if len(times) == 1 else times
