"""Parts of the commands that take a program: its file, the platform, the way, an answer as text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched._support.text import clip
from gpusched.cli.command_parts import (
    Refusal,
    columns,
    engines,
    natural,
    option_head,
    partitions,
    positive,
    shares,
    slowdown,
    status_of,
)

if TYPE_CHECKING:
    from gpusched._support.arguments import Int64Array
    from gpusched.comparison.workload_answer import WorkloadAnswer
    from gpusched.model.workload.platforms import Platform
    from gpusched.model.workload.workloads import Workload
    from gpusched.ways.way import Way


_MOST_BYTES = 1 << 25
_MOST_TASKS = 2000
_TIMES = (
    ("launch_latency", "from a launch to the start of its kernel on an idle GPU (default: 0ns)"),
    ("launch_cpu", "of a CPU that a launch of a kernel or a copy takes (default: 0ns)"),
    ("graph_launch_cpu", "of a CPU that a launch of a graph takes (default: 0ns)"),
    (
        "kernel_gap",
        "between the first place in its stream and the start of a kernel (default: 0ns)",
    ),
    ("wake_latency", "from the end of an operation to its waiting thread (default: 0ns)"),
    ("context_switch", "to switch the GPU to another context (default: 0ns)"),
    ("timeslice", "for which a context keeps the GPU while others wait (default: 2ms)"),
    ("update_cost", "to update the run list of the GPU, for gcaps (default: 0ns)"),
    ("server_overhead", "that a GPU server adds to every request (default: 0ns)"),
)


def add_workload(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the file and its limit."""
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="?" if optional else None,
        help="the workload in TOML or JSON (see gpusched.Workload.load), a job set of "
        "schedule-abstraction tools (CSV, YAML), or a task set of SchedCAT (XML); - for "
        "standard input, whose content says what it is",
    )
    command.add_argument(
        "--tick",
        metavar="TIME",
        help="unit of time of a job set (default: ns) or of SchedCAT (default: us)",
    )
    command.add_argument(
        "--resource",
        choices=("cpu", "kernel"),
        help="resource that the jobs of a job set use (default: cpu)",
    )
    command.add_argument(
        "--triggered",
        choices=("apart", "one"),
        default="apart",
        help="tasks that others release (after): each has a thread, or one thread runs all that go "
        "back to one task (default: %(default)s)",
    )
    command.add_argument(
        "--times",
        default="largest",
        metavar="QUANTILE",
        help="times that have distributions: the largest, or a quantile such as p99, on which "
        "guarantees are then conditional (default: %(default)s)",
    )
    command.add_argument(
        "--max-bytes",
        type=positive,
        default=_MOST_BYTES,
        metavar="N",
        help="maximum size of the file (default: 32 MiB)",
    )


def add_platform(command: argparse.ArgumentParser) -> None:
    """Add the options of the platform, named as the arguments of ``gs.Platform``."""
    group = command.add_argument_group("platform")
    group.add_argument(
        "--gpu", metavar="PRESET", help="the GPU (see 'gpus'); without it, kernels have no waves"
    )
    group.add_argument(
        "--cpus", type=positive, default=1, metavar="N", help="CPU cores (default: 1)"
    )
    for name, text in _TIMES:
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, metavar="TIME", help=f"time, such as 6us, {text}")
    group.add_argument(
        "--priority-levels", type=positive, metavar="N", help="priority levels of streams"
    )
    group.add_argument(
        "--slowdown",
        type=slowdown,
        metavar="S",
        help="slowdown of kernels that run together: small (1 to 1.4), large (1.7 to 1.9), mixed "
        "(1.1 to 1.9), or LOW,HIGH (default: 1.1,1.4)",
    )
    group.add_argument(
        "--bandwidth",
        metavar="RATE",
        help="bandwidth of the GPU's memory, such as 1555GB/s, for kernels that state their "
        "traffic (default: the preset's)",
    )
    group.add_argument(
        "--copy-engines",
        type=engines,
        metavar="N",
        help="copy engines, or their directions, such as in,in,out (default: the GPU's)",
    )
    group.add_argument(
        "--channels",
        type=natural,
        metavar="N",
        help="CUDA_DEVICE_MAX_CONNECTIONS: hardware channels of a context and of a client of MPS, "
        "each for one stream, 0 for no limit (default: the GPU's, and 2 for clients)",
    )
    group.add_argument(
        "--mig",
        type=lambda text: text.split(","),
        metavar="PROFILE,...",
        help="GPU instances for mig, such as 3g.40gb,4g.40gb (default: any)",
    )
    group.add_argument(
        "--mps",
        type=shares,
        metavar="PROCESS=SHARE,...",
        help="SMs that processes may use, in percent or as a number, for mps, such as "
        "camera=50,planner=16SMs (default: all)",
    )
    group.add_argument(
        "--mps-partitions",
        type=partitions,
        metavar="PROCESS=SMS,...",
        help="SMs of static partitions of MPS for mps_static, such as camera=16,planner+map=24",
    )
    group.add_argument(
        "--green-contexts",
        type=partitions,
        metavar="TASK=SMS,...",
        help="SMs of green contexts for green_contexts, such as camera=16,planner+map=24",
    )
    group.add_argument(
        "--workqueue",
        choices=("shared", "balanced"),
        help="channels of green contexts: shared by all, or balanced, each with its own (CUDA 13.1 "
        "or later; default: shared)",
    )
    group.add_argument(
        "--no-sm-coscheduling",
        dest="sm_coscheduling",
        action="store_const",
        const=False,
        help="green contexts without co-scheduling of SMs, so that any even number of SMs is "
        "possible",
    )


def workload_of(options: argparse.Namespace) -> Workload:
    """The workload of the file, or of the standard input; ``Refusal`` of too many tasks."""
    from gpusched.io.job_sets import load_workload

    source = "/dev/stdin" if options.file == "-" else options.file
    workload = load_workload(
        source, tick=options.tick, resource=options.resource, max_bytes=options.max_bytes
    )
    if len(workload) > _MOST_TASKS:
        raise Refusal(
            f"{source}: task: got {len(workload):,} tasks, expected at most {_MOST_TASKS:,} (from "
            "Python there is no limit)"
        )
    return workload


def platform_of(options: argparse.Namespace) -> Platform:
    """The platform of the options; ``Refusal`` that names the one that is wrong."""
    from gpusched.model.workload.platforms import Platform

    names = ("gpu", "cpus", *(name for name, _ in _TIMES))
    names += ("priority_levels", "slowdown", "bandwidth", "copy_engines", "mig", "mps")
    names += ("mps_partitions", "green_contexts", "channels", "workqueue", "sm_coscheduling")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    try:
        return Platform(**given)
    except (ValueError, OverflowError) as error:
        name, _, rest = str(error).partition(":")
        raise Refusal(f"{option_head(name)}:{rest}") from None


def program_of(options: argparse.Namespace) -> tuple[Workload, Platform]:
    """The workload and the platform; ``Refusal`` of parts of the GPU for unknown tasks."""
    from gpusched.model.workload.platforms import unknown_clients, unknown_tasks

    workload, platform = workload_of(options), platform_of(options)
    if options.times != "largest":
        workload = workload.at_quantile(options.times)
    if options.triggered == "one":
        workload = workload.in_one_thread()
    for option, found in (
        ("mps", unknown_clients(workload, platform)),
        ("mps-partitions", unknown_clients(workload, platform, static=True)),
        ("green-contexts", unknown_tasks(workload, platform)),
    ):
        if found:
            raise Refusal(f"--{option}: {found}")
    return workload, platform


def headline(workload: Workload, platform: Platform) -> str:
    """The sizes of a workload and of a platform, and the tick of numbers without a unit."""
    from gpusched.model.workload.time_units import time_with_unit

    tasks = "1 task" if len(workload) == 1 else f"{len(workload):,} tasks"
    cpus = "1 CPU" if platform.cpus == 1 else f"{platform.cpus:,} CPUs"
    gpu = platform.gpu
    where = "no GPU (--gpu)" if gpu is None else f"{gpu.name or 'GPU'} ({gpu.sms} SMs)"
    return f"{tasks} on {where}, {cpus}; a tick is {time_with_unit(1, workload.tick_ns)}"


def add_way(command: argparse.ArgumentParser) -> None:
    """Add ``--way``, ``--mode`` and ``--option``."""
    command.add_argument(
        "--way", required=True, metavar="NAME", help="the way of sharing the GPU (see 'methods')"
    )
    command.add_argument("--mode", metavar="MODE", help="mode of the way, such as suspend")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another parameter of the way, as listed by 'methods --json'; may be repeated",
    )


def asked_way(options: argparse.Namespace) -> Way:
    """The way with its parameters, as values of their types; ``Refusal`` for other text."""
    from gpusched.comparison.analyses import asked_way as with_parameters
    from gpusched.model.workload.platforms import ON_PLATFORM
    from gpusched.ways.way import as_way

    way = as_way(options.way)
    inner = as_way(way.within).parameters if way.name == "mig" else ()
    known = {option.name: option.type for option in (*inner, *way.parameters)}
    known = {
        name: kind
        for name, kind in known.items()
        if name != "mode" and name not in ON_PLATFORM and kind not in ("data", "integers")
    }
    found: dict[str, Any] = {} if options.mode is None else {"mode": options.mode}
    for text in options.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise Refusal(f"--option: got {text!r:.60}, expected NAME=VALUE")
        if name in found:
            raise Refusal(f"--option: got {name!r:.60} twice, expected it once")
        if name not in known:
            raise Refusal(
                f"--option: got {name!r:.60}, expected one of {', '.join(known) or 'none'}"
            )
        if known[name] == "boolean":
            if value not in ("true", "false"):
                raise Refusal(f"--option: got {text!r:.60}, expected true or false")
            found[name] = value == "true"
        elif known[name] in ("choice", "way"):
            found[name] = value
        else:
            try:
                found[name] = int(value)
            except ValueError:
                raise Refusal(f"--option: got {text!r:.60}, expected a whole number") from None
    return with_parameters(way, found)


def not_applicable(
    options: argparse.Namespace, kind: str, reason: str, verdict: str = "not applicable"
) -> int:
    """Say why a way does not apply, as an answer and not as an error; the exit code.

    ``kind`` is that of the JSON document: "answer" or "run". ``verdict``: "undecided" if the budget
    was spent instead.
    """
    from gpusched.comparison.documents import json_text, not_applicable_document
    from gpusched.ways.way import as_way

    way = as_way(options.way).name
    if options.json:
        print(json_text(not_applicable_document(kind, way, reason, verdict)), end="")
    else:
        print(f"{way}: {verdict}\n\n{reason}")
    return status_of(None)


RULES = "rules of GPUs that are not documented"
"""Heading of their list."""


def verdict_line(answer: WorkloadAnswer) -> str:
    """Way, verdict and claim."""
    return f"{answer.label}: {answer.verdict} ({answer.claim} test)"


def response_table(answer: WorkloadAnswer, *more: tuple[str, Int64Array]) -> str:
    """Deadline, response and slack of each task; ``more``: further columns, name and values."""
    from gpusched.comparison.comparison_text import signed_time
    from gpusched.comparison.workload_answer import known_at
    from gpusched.model.workload.time_units import time_with_unit

    workload, slacks = answer.workload, answer.slack
    rows: list[Sequence[str]] = [
        ("task", *(name for name, _ in more), "deadline", "response", "slack")
    ]
    for i, task in enumerate(workload):
        response, slack = known_at(answer.response, i), known_at(slacks, i)
        bound = "–" if response is None else time_with_unit(response, workload.tick_ns)
        if response is not None and not answer.bounded[i]:
            bound = f"{bound} or more"
        rows.append(
            (
                clip(task.name, 40),
                *(str(values[i]) for _, values in more),
                time_with_unit(task.deadline, workload.tick_ns),
                bound,
                "–" if slack is None else signed_time(slack, workload.tick_ns),
            )
        )
    return columns(rows)


def stated(answer: WorkloadAnswer) -> str:
    """Setup, assumptions, rules of GPUs: each a list under its heading after an empty line."""
    lists = (
        ("setup", answer.setup),
        ("assumptions", answer.assumptions),
        (RULES, tuple(map(str, answer.rules))),
    )
    return "\n".join(titled(title, texts) for title, texts in lists if texts)


def titled(title: str, texts: Sequence[str]) -> str:
    """A list under its heading after an empty line."""
    return "\n".join([f"\n{title}:", *(f"- {clip(text, 400)}" for text in texts)])
