"""Slow twin of the workload's views: waves, times on k SMs, chains, offsets, deadlines, launches.

Written from the design of the workload and the docstrings of its public methods. Every function
takes a `gs.Workload` and a `gs.Platform`, expands repeats, and adds up segment by segment with
Python integers. `Unsupported` is raised where a model cannot express the workload.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

import gpusched as gs


class Unsupported(ValueError):
    """A fact of the workload that the model cannot express."""


def residents(gpu: gs.GPU, kernel: gs.Kernel) -> int:
    """Blocks of a kernel that fit an SM at once."""
    assert kernel.threads is not None
    return int(gs.occupancy(gpu, threads=kernel.threads, regs=kernel.regs, smem=kernel.smem))


def looked_up(profile: dict[int, int], sms: int) -> int:
    """The measured time on the largest listed number of SMs that is at most ``sms``."""
    best = None
    for k in sorted(profile):
        if k <= sms:
            best = profile[k]
    if best is None:
        raise Unsupported("a profile that starts above this number of SMs")
    return best


def waves_on(gpu: gs.GPU, kernel: gs.Kernel, sms: int) -> int:
    """Rounds in which the blocks run on so many SMs, counted one by one."""
    left, rounds = kernel.blocks or 0, 0
    while left > 0:
        left -= sms * residents(gpu, kernel)
        rounds += 1
    return rounds


def block_time(gpu: gs.GPU, kernel: gs.Kernel) -> int:
    """Ticks of one block."""
    if kernel.block_time is not None:
        if kernel.has_time:
            more = waves_on(gpu, kernel, gpu.sms) * kernel.block_time - kernel.time
            if more not in range(waves_on(gpu, kernel, gpu.sms)):
                raise Unsupported("times that contradict each other")
        return kernel.block_time
    stated = looked_up(kernel.sms, gpu.sms) if kernel.sms else kernel.time
    return -(-stated // waves_on(gpu, kernel, gpu.sms))


def whole_time(gpu: gs.GPU | None, kernel: gs.Kernel) -> int:
    """Ticks of the kernel alone on all SMs."""
    if gpu is None:
        if kernel.sms:
            return kernel.sms[max(kernel.sms)]
        if not kernel.has_time:
            raise Unsupported("the time of a block alone")
        return kernel.time
    if kernel.sms:
        looked_up(kernel.sms, gpu.sms)  # a profile says something of this GPU
    if kernel.has_shape:
        if residents(gpu, kernel) == 0:
            raise Unsupported("a block that fits no SM")
        return waves_on(gpu, kernel, gpu.sms) * block_time(gpu, kernel)
    return looked_up(kernel.sms, gpu.sms) if kernel.sms else kernel.time


def time_on(gpu: gs.GPU, kernel: gs.Kernel, sms: int) -> int:
    """Ticks of the kernel alone on so many SMs."""
    if sms == gpu.sms:
        return whole_time(gpu, kernel)
    if kernel.sms:
        return max(looked_up(kernel.sms, sms), whole_time(gpu, kernel))
    if not kernel.has_shape:  # as many waves as SMs that it fills, over those that there are
        filled = gpu.sms if kernel.share is None else ceil(kernel.share * gpu.sms)
        return ceil(Fraction(filled, sms)) * kernel.time
    return waves_on(gpu, kernel, sms) * block_time(gpu, kernel)


def expanded(task: gs.Task) -> list[Any]:
    """The segments as a job runs them."""
    return [segment for segment in task.segments for _ in range(segment.repeat)]


def explicit(w: gs.Workload) -> gs.Workload:
    """Copies that their thread waits for have these waits, and the CPU work of staging, around."""
    return w.replace(tasks=[task.replace(segments=_explicit(task)) for task in w])


def _explicit(task: gs.Task) -> list[Any]:
    found: list[Any] = []
    for segment in task.segments:
        staged, blocking = getattr(segment, "staged", None), getattr(segment, "blocking", False)
        if staged is None and not blocking:
            found.append(segment)
            continue
        inward = isinstance(segment, gs.CopyIn)
        for _ in range(segment.repeat):
            if staged is not None and inward:
                found += [gs.Sync(), gs.CPU(staged)]
            found.append(segment.replace(blocking=False, staged=None, repeat=1))
            if blocking or not inward:
                found.append(gs.Sync())
            if staged is not None and not inward:
                found.append(gs.CPU(staged))
    return found


def by_cpu(segment: Any) -> bool:
    return isinstance(segment, gs.CPU) or getattr(segment, "by", None) == "cpu"


def uses_gpu(task: gs.Task) -> bool:
    return any(not by_cpu(segment) for segment in task.segments)


def check_jitter(w: gs.Workload) -> None:
    if any(task.jitter for task in w):
        raise Unsupported("jitter")


def check_streams(tasks: list[gs.Task], platform: gs.Platform) -> None:
    given = [task.stream_priority for task in tasks]
    if any(p is None for p in given) and any(p is not None for p in given):
        raise Unsupported("a stream priority for some tasks only")
    levels = platform.priority_levels
    if levels is not None and len(set(given) - {None}) > levels:
        raise Unsupported("more stream priorities than levels")


def split(task: gs.Task) -> tuple[int, list[Any], int]:
    """CPU ticks before the GPU part of a job, the GPU part, CPU ticks behind it."""
    run = expanded(task)
    places = [i for i, segment in enumerate(run) if not by_cpu(segment)]
    first, last = places[0], places[-1]
    before = sum(segment.time for segment in run[:first])
    behind = sum(segment.time for segment in run[last + 1 :])
    return before, run[first : last + 1], behind


def check_engines(w: gs.Workload, platform: gs.Platform) -> None:
    if platform.copy_engines == 0 and any(engine(s, platform) for task in w for s in task.segments):
        raise Unsupported("copies on engines, and no engines")


def engine(segment: Any, platform: gs.Platform) -> str | None:
    """Name of the engine of a copy; None for other segments."""
    if by_cpu(segment) or isinstance(segment, gs.Kernel):
        return None
    return type(segment).__name__ if (platform.copy_engines or 1) > 1 else "the only one"


def lengthened(w: gs.Workload, platform: gs.Platform) -> list[gs.Task]:
    """The tasks, each copy as long as it takes with the longest one of every other task before."""
    tasks = []
    for task in w:
        segments = []
        for segment in task.segments:
            if (of := engine(segment, platform)) is not None:
                wait = 0
                for other in w:
                    if other.name != task.name:
                        wait += max(
                            [s.time for s in other.segments if engine(s, platform) == of],
                            default=0,
                        )
                segment = segment.replace(time=segment.time + wait)
            segments.append(segment)
        tasks.append(task.replace(segments=segments))
    return tasks


def launched(tasks: Iterable[gs.Task], latency: int) -> list[gs.Task]:
    """The tasks, the first copy of each run of copies without a kernel longer by the latency."""
    found = []
    for task in tasks:
        segments = list(task.segments)
        for i, segment in enumerate(segments):
            if by_cpu(segment) or (i and not by_cpu(segments[i - 1])):
                continue  # not the first of a run of GPU segments
            end = i
            while end < len(segments) and not by_cpu(segments[end]):
                end += 1
            if not any(isinstance(one, gs.Kernel) for one in segments[i:end]):
                more = -(-latency // segment.repeat)
                segments[i] = segment.replace(time=segment.time + more)
        found.append(task.replace(segments=segments))
    return found


def kernel_rows(
    w: gs.Workload, platform: gs.Platform, gaps: str, waits: bool
) -> list[dict[str, Any]]:
    """One row per kernel task: period, offset, deadline, wcet, block time and shape."""
    w = explicit(w)
    gpu, latency = platform.gpu, platform.at(w.tick).launch_latency
    if gpu is None:
        raise Unsupported("no GPU")
    tasks = [
        task
        for task in launched(lengthened(w, platform) if waits else w, latency)
        if uses_gpu(task)
    ]
    if not tasks:
        raise Unsupported("no task with GPU segments")
    check_jitter(w)
    check_engines(w, platform)
    if len({task.process for task in tasks}) > 1:
        raise Unsupported("several processes")
    check_streams(tasks, platform)
    rows = []
    for task in tasks:
        before, inner, behind = split(task)
        total, kernels, time_of_block, gap = 0, [], 0, 0
        for segment in inner:
            if isinstance(segment, gs.Kernel):
                if not segment.has_shape:
                    raise Unsupported("a kernel without a shape")
                total += whole_time(gpu, segment) + latency
                kernels.append(segment)
                time_of_block = block_time(gpu, segment)
            else:
                total += segment.time
                gap += segment.time if by_cpu(segment) else 0
        if not kernels:
            raise Unsupported("copies without a kernel")
        if gap and gaps == "refuse":
            raise Unsupported("CPU work between GPU segments")
        shape = {
            key: max(getattr(kernel, key) for kernel in kernels)
            for key in ("blocks", "threads", "regs", "smem")
        }
        if len(inner) > 1 or latency:
            fused = gs.Kernel(1, **shape)
            if residents(gpu, fused) == 0:
                raise Unsupported("a fused kernel of which no block fits an SM")
            waves = waves_on(gpu, fused, gpu.sms)
            time_of_block = -(-total // waves)
            total = waves * time_of_block
        deadline = task.deadline - before - behind
        if deadline <= 0:
            raise Unsupported("CPU work that leaves no time before the deadline")
        rows.append(
            {
                **shape,
                **{"name": task.name, "period": task.period, "offset": task.offset + before},
                **{"deadline": deadline, "wcet": total, "block_time": time_of_block},
                **{"priority": task.stream_priority},
            }
        )
    return rows


@dataclass
class HostRow:
    """CPU segments, and copies and kernels of the GPU segments between them."""

    cpu: list[int]
    copy_in: list[int] = field(default_factory=list)
    copy_out: list[int] = field(default_factory=list)
    kernel: list[list[int]] = field(default_factory=list)


def host_rows(
    w: gs.Workload, platform: gs.Platform, divided: bool, waits: bool, split: bool
) -> list[HostRow]:
    """Host tasks, kernel times on 1, 2, ... SMs or on all alone."""
    w = explicit(w)
    check_engines(w, platform)
    at = platform.at(w.tick)
    gpu = platform.gpu
    processes = {task.process for task in w if uses_gpu(task)}
    if divided and gpu is None:
        raise Unsupported("no GPU")
    if divided and len(processes) > 1:
        raise Unsupported("several processes")
    if any(task.core is not None and task.core >= platform.cpus for task in w):
        raise Unsupported("a core that the platform lacks")
    if len({task.priority is None for task in w}) > 1:
        raise Unsupported("a priority for some tasks only")
    switch = at.context_switch if len(processes) > 1 else 0
    counts = range(1, gpu.sms + 1) if divided and gpu else [None]
    found = []
    for task in lengthened(w, platform) if waits else w:
        row = HostRow([0])
        run = expanded(task)
        taken: set[int] = set()  # copies by a CPU that belong to a GPU segment
        starts: dict[int, int] = {}  # first place of a GPU segment, and the place behind it
        for start, end in pieces(run, split):
            first, last = start, end
            while first > 0 and is_copy(run[first - 1], gs.CopyIn, "cpu"):
                first -= 1
            while last < len(run) and is_copy(run[last], gs.CopyOut, "cpu"):
                last += 1
            row.copy_in.append(sum(s.time for s in run[first:start]))
            row.copy_out.append(sum(s.time for s in run[end:last]))
            taken |= {*range(first, start), *range(end, last)}
            starts[start] = end
            kernels = [s for s in run[start:end] if isinstance(s, gs.Kernel)]
            copies = sum(s.time for s in run[start:end] if not isinstance(s, gs.Kernel))
            times = []
            for k in counts:
                total = switch + copies + at.launch_latency * max(1, len(kernels))
                for kernel in kernels:
                    total += (
                        whole_time(gpu, kernel) if k is None or gpu is None
                        else time_on(gpu, kernel, k)
                    )  # fmt: skip
                times.append(total)
            row.kernel.append(times)
        for place, segment in enumerate(run):
            if place in starts:
                row.cpu.append(0)
            if by_cpu(segment) and place not in taken:
                row.cpu[-1] += segment.time
        found.append(row)
    return found


def is_copy(segment: Any, kind: type, by: str) -> bool:
    return isinstance(segment, kind) and segment.by == by


def pieces(run: list[Any], split: bool) -> list[tuple[int, int]]:
    """Places of GPU segments: operations of the GPU in a row, cut where a new one has to begin."""
    found = []
    for start in range(len(run)):
        if by_cpu(run[start]) or (start > 0 and not by_cpu(run[start - 1])):
            continue
        end = start
        while end < len(run) and not by_cpu(run[end]):
            before = [isinstance(s, gs.Kernel) for s in run[start:end]]
            again = isinstance(run[end], gs.Kernel) and any(before) and not before[-1]
            if (isinstance(run[end], gs.CopyIn) and any(before)) or (split and again):
                found.append((start, end))
                start = end
            end += 1
        found.append((start, end))
    return found


def launch_rows(w: gs.Workload, platform: gs.Platform, until: int) -> list[tuple[int, int, int]]:
    """Time, task and job of each launch of the jobs released before ``until``, sorted."""
    w = explicit(w)
    rows = []
    latency = platform.at(w.tick).launch_latency
    for i, task in enumerate(w):
        if not uses_gpu(task):
            continue
        before, inner, _ = split(task)
        job, release = 0, task.offset
        while release < until:
            rows += [(release + before + latency, i, job) for _ in inner]
            job, release = job + 1, release + task.period
    return sorted(rows)
