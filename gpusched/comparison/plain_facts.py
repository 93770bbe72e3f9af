"""Simple facts about a workload: necessary conditions, odd rates, copies on the same engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from gpusched._support.text import clip
from gpusched.model.views.view_source import uses_engine
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CopyIn
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

__all__ = ["broken_conditions", "copies_meet", "cpu_overloads", "rate_notes"]

_MANY = 100  # periods in a hyperperiod that is worth a note


def broken_conditions(workload: Workload, platform: Platform) -> tuple[str, ...]:
    """Sentences about jobs longer than their deadlines, and CPU work that exceeds the CPUs.

    Kernels count with their times alone on the whole GPU.
    """
    try:
        times = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        return ()  # the rows say why
    found = []
    for task, of_task in zip(workload, times, strict=True):
        kernels = sum(of.time * of.kernel.repeat for of in of_task if of is not None)
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
    found = _overload(workload, workload.tasks, platform.cpus, "the platform has")
    for core in sorted({task.core for task in workload if task.core is not None}):
        here = [task for task in workload if task.core == core]
        found += _overload(workload, here, 1, f"core {core} is")
    return found


def _overload(workload: Workload, tasks: Sequence[Task], cpus: int, where: str) -> list[str]:
    used = sum((Fraction(task.cpu_time, task.period) for task in tasks), Fraction(0))
    if used > cpus:
        return [f"CPU work needs {float(used):.4g} CPUs, {where} {cpus}"]
    if len({task.offset for task in tasks}) > 1:
        return []  # first jobs that need not meet
    work = 0
    for task in sorted(tasks, key=lambda task: task.deadline):
        work += task.cpu_time
        if work > cpus * task.deadline:
            spent = time_with_unit(work, workload.tick_ns)
            due = time_with_unit(task.deadline, workload.tick_ns)
            return [f"first jobs have {spent} of CPU work due within {due}, {where} {cpus}"]
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
