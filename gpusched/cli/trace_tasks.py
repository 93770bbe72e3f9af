"""Command ``trace --by``: a workload of a trace, as text and as a file."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpusched._support.text import named, own_descriptor
from gpusched.cli.command_parts import Refusal

if TYPE_CHECKING:
    from gpusched.io import Trace

_WITHOUT_NUMBER = "^([^0-9]*[A-Za-z])"  # whose group is the text before a range's number
_KINDS = ("annotation", "step", "stream", "kernel")
_NEEDS_BY = ("save", "quantile", "distributions", "names", "nesting", "gaps", "links")


def add_options(trace: argparse.ArgumentParser) -> None:
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


def wanted(options: argparse.Namespace, others: Iterable[str]) -> bool:
    """Whether a workload is to be made; ``Refusal`` for options that do not go together."""
    refused = others if options.by is not None else _NEEDS_BY
    for name in refused:
        if getattr(options, name) is not None:
            how = "with --by" if options.by is not None else "without --by"
            wants = "one of them" if options.by is not None else "both"
            raise Refusal(f"--{name}: got it {how}, expected {wants}")
    return options.by is not None


def read(options: argparse.Namespace) -> Trace:
    """The trace of the file, or of the standard input."""
    from gpusched.io import read_trace

    source = "/dev/stdin" if options.file == "-" else options.file
    return read_trace(source, options.gpu, options.device, max_bytes=options.max_bytes)


def run(options: argparse.Namespace) -> int:
    from gpusched.io.trace_workloads.candidates import MissingPeriod

    if options.save is not None:
        _check_suffix(options.save)  # before a large trace is read
    if options.links is not None and options.by != "annotation":
        raise Refusal(f"--links: got it with --by {options.by}, expected --by annotation")
    trace = read(options)
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
