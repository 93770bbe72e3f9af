"""Simple facts about a workload: necessary conditions, odd rates, copies on the same engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from gpusched._support.text import clip
from gpusched.model.views.view_source import runs_on_cpu, uses_engine
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CopyIn, Kernel
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

__all__ = ["broken_conditions", "copies_meet", "cpu_overloads", "rate_notes"]

_MANY = 100  # periods in a hyperperiod that is worth a note


def broken_conditions(workload: Workload, platform: Platform) -> tuple[str, ...]:
    """Sentences about jobs longer than their deadlines, and CPU work that exceeds the CPUs.

    Kernels count with their stated times alone on the whole GPU.
    """
    try:
        times = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        return ()  # the rows say why
    found = []
    for task, of_task in zip(workload, times, strict=True):
        kernels = sum(of.least * of.kernel.repeat for of in of_task if of is not None)
        alone = task.cpu_time + task.copy_time + kernels
        if alone > task.deadline:
            found.append(
                f"{clip(task.name, 60)}: a job alone takes "
                f"{time_with_unit(alone, workload.tick_ns)}, more than its deadline of "
                f"{time_with_unit(task.deadline, workload.tick_ns)}"
            )
    return (*found, *cpu_overloads(workload, platform))


def cpu_overloads(workload: Workload, platform: Platform) -> list[str]:
    """Sentences about CPU work that the CPUs cannot do in time: all of them, or a given core."""
    times = _shortest_times(workload, platform)
    due = [_cpu_work_due(task, of) for task, of in zip(workload, times, strict=True)]
    everywhere = range(len(workload))
    found = _overload(workload, everywhere, due, platform.cpus, "the platform has")
    for core in sorted({task.core for task in workload if task.core is not None}):
        here = [i for i, task in enumerate(workload) if task.core == core]
        found += _overload(workload, here, due, 1, f"core {core} is")
    return found


def _shortest_times(workload: Workload, platform: Platform) -> list[list[int]]:
    """Least times of the segments of each task: of kernels alone on the whole GPU, 0 if unknown."""
    try:
        times: Sequence[Sequence[KernelTimes | None]] = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        times = [[None] * len(task.segments) for task in workload]
    return [
        [
            0
            if isinstance(part, Kernel) and of is None
            else (part.time if of is None else of.least) * part.repeat
            for part, of in zip(task.segments, of_task, strict=True)
        ]
        for task, of_task in zip(workload, times, strict=True)
    ]


def _cpu_work_due(task: Task, times: Sequence[int]) -> list[tuple[int, int]]:
    """Instants by which the pieces of a job's CPU work have to end, after its release, and times.

    What follows in the job has to fit between that instant and the deadline. In a job that is too
    long by itself a piece is due when it can end at the earliest.
    """
    due, done, whole = [], 0, sum(times)
    for part, time in zip(task.segments, times, strict=True):
        done += time
        if runs_on_cpu(part):
            due.append((max(done, task.deadline - (whole - done)), time))
    return due


def _overload(
    workload: Workload,
    tasks: Iterable[int],
    due: Sequence[Sequence[tuple[int, int]]],
    cpus: int,
    where: str,
) -> list[str]:
    here = [workload[i] for i in tasks]
    used = sum((Fraction(task.cpu_time, task.period) for task in here), Fraction(0))
    if used > cpus:
        return [f"CPU work needs {float(used):.4g} CPUs, {where} {cpus}"]
    if len({task.offset for task in here}) > 1:
        return []  # first jobs that need not meet
    work = 0
    for instant, time in sorted(piece for i in tasks for piece in due[i]):
        work += time
        if work > cpus * instant:
            spent, by = (time_with_unit(of, workload.tick_ns) for of in (work, instant))
            return [f"first jobs have {spent} of CPU work due within {by}, {where} {cpus}"]
    return []


def rate_notes(workload: Workload) -> list[str]:
    """A sentence if rates were rounded to periods with a very long hyperperiod."""
    rates = {task.rate: task.period for task in workload if task._assumption() is not None}
    longest = max(task.period for task in workload)
    if len(rates) < 2 or workload.hyperperiod < _MANY * longest:
        return []
    seconds = workload.hyperperiod * workload.tick_ns / 10**9
    tick = workload.tick_ns
    periods = ", ".join(f"{rate} to {time_with_unit(ns, tick)}" for rate, ns in rates.items())
    return [
        f"Rates are rounded to periods of whole ticks: {clip(periods, 300)}. These are no "
        f"multiples of each other, and all jobs together repeat after {seconds:,.0f} s only, "
        "which makes exact tests slow and harmonic tasks drift; state periods that are multiples."
    ]


def copies_meet(workload: Workload, platform: Platform) -> bool:
    """Whether copies of several tasks use the same engine (a single one, or one per direction)."""
    users: Counter[type] = Counter()
    for task in workload:
        copies: set[type] = {type(part) for part in task.segments if uses_engine(part)}
        users.update({CopyIn} if copies and platform.copy_engines < 2 else copies)
    return any(count > 1 for count in users.values())
