"""Programs whose CPU work has its longest time on shared cores, for plans of their GPU work.

A plan releases the GPU work of a job once the CPU work before it must have ended, and has it end
early enough for the CPU work behind it. Let all jobs meet their deadlines D, which are at most the
periods. While a thread is ready its core runs more urgent tasks alone, so CPU work m takes at most
the least

    L = m + sum of n_h C_h,  n_h = ceil((L + D_h - min(C_h, D_h)) / T_h)

over the more urgent tasks h of the core, whose jobs have C_h of CPU work. An empty piece of work
before the first launch of a job ends with an instant at which the thread is the most urgent one, so
that a release at the end of L counts: n_h = floor((L + D_h - min(C_h, D_h)) / T_h) + 1.

Claim. If the plan meets all deadlines for CPU work that takes L, and each task without GPU work has
L <= D, then every job meets its deadline when the plan is kept in its order: each batch begins as
soon as the one before it has ended and all of its jobs are ready, and no other batch does.
Proof. Take the first violation of: batches end no later than planned; jobs end within D. Before it
all jobs keep D, so that CPU work takes at most L. A batch begins when the one before has ended and
its jobs are ready, both no later than planned, so it ends no later than planned; and a job ends at
most L after that. QED.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

import gpusched.analysis as analysis
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.verdicts.premises import by_core
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.host_tasks import HostTasks
from gpusched.model.views.derived_view import given_to_all, runs_on_cpu
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, Segment


@dataclass(frozen=True)
class DelayedPrograms:
    """Models of a workload in which CPU work takes as long as it may, on its cores.

    ``alone``: bounds of the responses of tasks without GPU work. ``core``: of each task.
    """

    models: DerivedModels
    alone: dict[str, int]
    core: dict[str, int]
    said: tuple[str, ...]


def delayed_programs(models: DerivedModels) -> DelayedPrograms | None:
    """The delayed programs; None where CPU work may take longer than a deadline.

    Tasks without cores get those of worst fit.
    """
    return models.once("delayed_programs", lambda: _delayed(models))


def _delayed(models: DerivedModels) -> DelayedPrograms | None:
    if any(task.launches == "sync" for task in models.workload):
        return None  # its thread needs its core between operations, too
    given_models, models = models.given, models.with_calls()
    workload = models.workload
    tasks = list(workload)
    if any(task.jitter or task.deadline > task.period for task in tasks):
        return None
    core = cores_of_worst_fit(models)
    given = given_to_all(tasks, "priority")
    due = np.array([task.deadline for task in tasks], np.int64)
    rank = deadline_ranks(due).tolist() if given is None else given
    alone: dict[str, int] = {}
    changed = []
    for i, task in enumerate(tasks):
        higher = [
            other
            for k, other in enumerate(tasks)
            if k != i and core[k] == core[i] and rank[k] <= rank[i] and other.cpu_time
        ]
        if (segments := _segments(task, higher)) is None:
            return None
        if all(map(runs_on_cpu, task.segments)):
            alone[task.name] = sum(part.time for part in segments)
            changed.append(task)
        else:
            changed.append(task.replace(segments=segments))
    made = models._with(workload.replace(tasks=changed))
    made.given = given_models
    of_task = dict(zip(workload.names, core, strict=True))
    said = (
        f"each task has a core: {by_core(of_task)}",
        "CPU work takes at most its longest time while all tasks of its core meet their deadlines",
        "the runtime keeps the order of the plan: a batch begins once the one before it has ended "
        "and all of its jobs are ready, and no other batch does",
    )
    return DelayedPrograms(made, alone, of_task, said)


def cores_of_worst_fit(models: DerivedModels) -> list[int]:
    """The core of each task as stated, or by worst fit of its CPU work."""
    tasks = models.workload
    if models.has_cores():
        return [task.core or 0 for task in tasks]
    hosts = HostTasks(
        period=[task.period for task in tasks],
        cpu=[max(1, task.cpu_time) for task in tasks],
        deadline=[min(task.deadline, task.period) for task in tasks],  # loads decide
        name=[task.name for task in tasks],
    )
    found: list[int] = analysis.partition(hosts, models.platform.cpus).hosts.core.tolist()
    return found


def _segments(task: Task, higher: Sequence[Task]) -> list[Segment] | None:
    """Segments with the longest times of CPU work; None where one exceeds the deadline."""
    found: list[Segment] = []
    if not runs_on_cpu(task.segments[0]):
        if (wait := _longest(0, higher, task.deadline)) is None:
            return None
        found += [CPU(wait)] if wait else []
    for on_cpu, parts in groupby(task.segments, runs_on_cpu):
        run = list(parts)
        if not on_cpu:
            found += run
            continue
        time = _longest(sum(part.time * part.repeat for part in run), higher, task.deadline)
        if time is None:
            return None
        found += [CPU(time)] if time else run
    return found


def _longest(work: int, higher: Sequence[Task], most: int) -> int | None:
    """L for this work; None where it exceeds ``most``."""
    length = work
    while length <= most:
        total = work
        for task in higher:
            reach = length + task.deadline - min(task.cpu_time, task.deadline)
            jobs = -(-reach // task.period) if work else reach // task.period + 1
            total += jobs * task.cpu_time
        if total == length:
            return length
        length = total
    return None
