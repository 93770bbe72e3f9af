"""Command ``trace``: a PBS schedule for kernels of a recorded trace, or its workload."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.files import replacing
from gpusched._support.text import UNITS, named, own_descriptor
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
    from gpusched.io import Trace, TraceKernels
    from gpusched.model.gpu import GPU
    from gpusched.model.kernel_tasks import KernelTasks
    from gpusched.model.schedule import Schedule
    from gpusched.pbs import Search


_WITHOUT_NUMBER = "^([^0-9]*[A-Za-z])"  # whose group is the text before a range's number
_KINDS = ("annotation", "step", "stream", "kernel")
_NEEDS_BY = ("save", "quantile", "distributions", "names", "nesting", "gaps", "links")


def _add_workload(trace: argparse.ArgumentParser) -> None:
    """Add the options to the command's parser."""
    trace.add_argument(
        "--by",
        choices=_KINDS,
        help="make a workload with one task per name of an annotated range (record_function, "
        "NVTX), one task for the profiler steps, or one task per stream or kernel",
    )
    trace.add_argument(
        "--save", metavar="FILE", help="with --by: write the workload to FILE (.toml or .json)"
    )
    trace.add_argument(
        "--quantile",
        metavar="Q",
        help="with --by: share of the jobs whose times do not exceed the stated ones, such as 0.99 "
        "(default: 1)",
    )
    trace.add_argument(
        "--distributions",
        action="store_true",
        default=None,
        help="with --by: keep quantiles of the times, and their number, beside the largest",
    )
    trace.add_argument(
        "--names",
        metavar="RE",
        help="with --by: regular expression that selects ranges or kernels by name; the text of "
        "its first group, if any, is the name of the task, so that '" + _WITHOUT_NUMBER + "' makes "
        "one task of ranges such as frame 1, frame 2, ...",
    )
    trace.add_argument(
        "--nesting",
        choices=("outermost", "innermost"),
        help="with --by: which of nested chosen ranges are jobs (default: outermost)",
    )
    trace.add_argument(
        "--gaps",
        choices=("waited", "all"),
        help="with --by: keep CPU work between GPU operations if the CPU had waited for the GPU, "
        "or always when the GPU had no work of the job (default: waited)",
    )
    trace.add_argument(
        "--links",
        nargs="?",
        const="",
        metavar="TIME",
        help="with --by annotation: also print which tasks may be released by others, as their "
        "jobs begin within TIME of the ends of these (default: a tenth of their period); nothing "
        "of it is saved",
    )


def _is_workload(options: argparse.Namespace, others: Iterable[str]) -> bool:
    """Whether a workload is to be made; ``Refusal`` for options that do not go together."""
    refused = others if options.by is not None else _NEEDS_BY
    for name in refused:
        if getattr(options, name) is not None:
            how = "with --by" if options.by is not None else "without --by"
            wants = "one of them" if options.by is not None else "both"
            raise Refusal(f"--{name}: got it {how}, expected {wants}")
    return options.by is not None


def _read(options: argparse.Namespace) -> Trace:
    """The trace of the file, or of the standard input."""
    from gpusched.io import read_trace

    source = "/dev/stdin" if options.file == "-" else options.file
    return read_trace(source, options.gpu, options.device, max_bytes=options.max_bytes)


def _workload(options: argparse.Namespace) -> int:
    from gpusched.io.traces.candidates import MissingPeriod

    if options.save is not None:
        _check_suffix(options.save)  # before a large trace is read
    if options.links is not None and options.by != "annotation":
        raise Refusal(f"--links: got it with --by {options.by}, expected --by annotation")
    trace = _read(options)
    try:
        workload = trace.workload(
            options.by,
            period=None if options.period is None else _periods(options.period),
            quantile=options.quantile or 1,
            distributions=bool(options.distributions),
            names=options.names,
            nesting=options.nesting or "outermost",
            gaps=options.gaps or "waited",
        )
    except MissingPeriod as error:
        raise Refusal(f"--{error}{_period_hint(options, trace)}") from None
    if not any(task.kernels or task.copy_time for task in workload):
        _refuse_without_calls(options.file, trace)
    links = [] if options.links is None else _suggested(trace, options)
    if options.save is not None:
        workload.save(options.save)
    print(workload)
    print("\n".join(f"- {note}" for note in workload.assumptions))
    print("\n".join(links), end="\n" if links else "")
    if options.save is not None:
        saved = named(options.save, 300)
        gpu = "" if trace.gpu is None else f' --gpu "{named(trace.gpu.name)}"'
        print(f"wrote {saved}; next: gpusched compare {saved}{gpu} --cpus N")
    return 0


def _suggested(trace: Trace, options: argparse.Namespace) -> list[str]:
    """Lines about what may be released by what; `Refusal` for a malformed time."""
    try:
        links = trace.links(
            options.links or None, names=options.names, nesting=options.nesting or "outermost"
        )
    except ValueError as error:
        raise Refusal(f"--links: {str(error).removeprefix('within: ')}") from None
    if not links:
        return ["links: no task begins so soon after the ends of another one's jobs"]
    head = "links that the order of jobs suggests; it shows no cause, and nothing was changed:"
    return [head, *(f"- {link}" for link in links)]


def _period_hint(options: argparse.Namespace, trace: Trace) -> str:
    """The end of a message about missing periods: the options that help."""
    hint = "; one period for all tasks: --period 33ms"
    names = set(trace.events.ranges.name.tolist())
    stems = {re.split("[0-9]", name, maxsplit=1)[0] for name in names}
    if options.by in ("annotation", "step") and options.names is None and len(stems) < len(names):
        hint += f"; one task for ranges that differ by a number: --names '{_WITHOUT_NUMBER}'"
    return hint


def _refuse_without_calls(source: str, trace: Trace) -> None:
    """Refuse a workload without GPU work if this is so because the file has no launch calls."""
    if max(trace.call.max(), trace.events.transfers.call.max(initial=-1)) >= 0:
        return
    raise Refusal(
        f"{source}: got {len(trace)} kernels without their launch calls, expected these calls, "
        "which tell to which range a kernel belongs (record the activity of the CPU, too, or use "
        "--by stream or --by kernel)"
    )


def _check_suffix(path: str) -> None:
    if not path.lower().endswith((".toml", ".json")) and own_descriptor(path) is None:
        raise Refusal(f"--save: got {path!r}, expected a name that ends in .toml or .json")


def _periods(text: str) -> str | dict[str, str]:
    """One time, or times by task: ``camera=20ms,detector=40ms``."""
    if "=" not in text:
        return text
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, time = part.rpartition("=")
        if not sign or not name.strip() or name.strip() in found:
            raise Refusal(
                f"--period: got {part!r}, expected a task and its time, as in camera=20ms, each "
                "task once"
            )
        found[name.strip()] = time
    return found


def add_trace(command: argparse.ArgumentParser) -> None:
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
    _add_workload(command)
    command.set_defaults(run=_trace)


_DEFAULTS = {"count": 5, "slowdown": "small", "seed": 1, "output": "."}
_SCHEDULE_ONLY = (*_DEFAULTS, "pattern", "utilization")


def _trace(options: argparse.Namespace) -> int:
    if _is_workload(options, _SCHEDULE_ONLY):
        return _workload(options)
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
    read = _read(options)
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
