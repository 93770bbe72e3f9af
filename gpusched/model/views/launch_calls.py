"""Calls of launches as CPU work of a job, for models that have CPU work but no calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from gpusched._support.text import named
from gpusched.model.views.derived_view import Source, runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CPU, Kernel, Segment

__all__ = [
    "calls_are_free",
    "explicit_calls",
    "has_costs",
    "kernel_costs",
    "longest_run",
    "platform_without_calls",
    "with_calls",
]

_MOST = 1_000_000
"""Most operations of a job with calls between them."""


def has_costs(platform: Platform) -> bool:
    """Whether launches cost more than their latency."""
    costs = (platform.launch_cpu, platform.graph_launch_cpu)
    return any((*costs, platform.kernel_gap, platform.wake_latency))


def calls_are_free(tasks: Iterable[Task], platform: Platform) -> bool:
    """Whether jobs do no more than their segments say, but for launch latencies."""
    if has_costs(platform):
        return False
    return all(task.launches != "sync" or longest_run(task) < 2 for task in tasks)


def with_calls(source: Source) -> Source:
    """The source with the calls of launches, gaps and wake-ups in its segments and latency."""
    if calls_are_free(source.tasks, source.platform):
        return source
    tasks, rows = [], []
    for task, times in zip(source.tasks, source.times, strict=True):
        segments, row = [], list[KernelTimes | None]()
        for part, at in explicit_calls(task, source.platform):
            of = None if at < 0 else times[at]
            if of is not None and isinstance(part, Kernel) and part.repeat < of.kernel.repeat:
                of = replace(of, kernel=of.kernel.replace(repeat=part.repeat))
            segments.append(part)
            row.append(of)
        tasks.append(task.replace(segments=segments))
        rows.append(tuple(row))
    platform = platform_without_calls(source.platform)
    return source._replace(tasks=tuple(tasks), times=tuple(rows), platform=platform)


def longest_run(task: Task) -> int:
    """The most operations of a job between which it has no CPU work."""
    runs = groupby(task.segments, runs_on_cpu)
    return max((sum(part.repeat for part in run) for cpu, run in runs if not cpu), default=0)


def platform_without_calls(platform: Platform) -> Platform:
    """The platform for a job with `explicit_calls`: each kernel has its gap in its latency."""
    return platform.replace(
        launch_latency=platform.launch_latency + platform.kernel_gap,
        launch_cpu=0,
        graph_launch_cpu=0,
        kernel_gap=0,
        wake_latency=0,
    )


def kernel_costs(source: Source) -> list[str]:
    """Sentences on what launches cost where each kernel waits for its own."""
    platform = source.platform
    said = []
    latency = platform.launch_latency + platform.kernel_gap
    if latency:
        what = "launch latency and gap" if platform.kernel_gap else "launch latency"
        said.append(f"each kernel takes the {what} of {source.text(latency)} longer")
    if not calls_are_free(source.tasks, platform):
        said.append(
            "the calls that launch copies and kernels, and the wake-ups behind these, are CPU work "
            "of their tasks"
        )
    return said


def explicit_calls(task: Task, platform: Platform) -> Iterator[tuple[Segment, int]]:
    """The segments of a job with its calls and wake-ups as CPU work, and the place of each, or -1.

    The calls of operations without CPU work between them come before the first of these; with
    "sync" launches the call of each, and the wake-up of the thread behind each. Times are whole
    ticks of the platform and the task.
    """
    count = sum(part.repeat for part in task.segments if not runs_on_cpu(part))
    if task.launches == "sync" and count > _MOST:
        raise ValueError(
            f"{named(task.name)}: got {count:,} operations with sync launches in a job, expected "
            f"at most {_MOST:,}"
        )
    last = len(task.segments) - 1
    at = 0
    for on_cpu, run in groupby(task.segments, runs_on_cpu):
        parts = list(run)
        if on_cpu:
            yield from ((part, at + k) for k, part in enumerate(parts))
        elif task.launches == "sync":
            yield from _one_by_one(parts, at, at + len(parts) > last, platform)
        else:
            count = sum(part.repeat for part in parts)
            graph = task.launches == "graph"
            calls = platform.graph_launch_cpu if graph else count * platform.launch_cpu
            yield from _work(calls)
            yield from ((part, at + k) for k, part in enumerate(parts))
            if at + len(parts) <= last:
                yield from _work(platform.wake_latency)
        at += len(parts)


def _work(time: int) -> Iterator[tuple[Segment, int]]:
    if time > 0:
        yield CPU(time), -1


def _one_by_one(
    parts: list[Segment], at: int, ends: bool, platform: Platform
) -> Iterator[tuple[Segment, int]]:
    between = platform.launch_cpu + platform.wake_latency
    left = sum(part.repeat for part in parts)
    yield from _work(platform.launch_cpu)
    for k, part in enumerate(parts):
        if between == 0:  # nothing separates it from the others: its latency is its own time
            later = 0 if isinstance(part, Kernel) else platform.launch_latency
            yield (part.replace(time=part.time + later) if later else part), at + k
            left -= part.repeat
            continue
        for _ in range(part.repeat):
            yield part.replace(repeat=1), at + k
            left -= 1
            yield from _work(between if left else 0 if ends else platform.wake_latency)
