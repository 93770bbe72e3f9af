"""CPUs that tasks of several GPU instances share.

The tests of sets of tasks in an instance stay independent of each other: each counts the CPU work
of all tasks that are not in the set with assumed responses. Let all tests accept, each under the
assumption that all other tasks keep their deadlines. Bounds do not fall as a response that they
count grows. So the bounds that the tests have found are no less than those that would follow
from each other, which is what the joint fixed point asks for
(csrc/analysis/holistic/holistic.h): all of them hold. In the same way the tests hold
with the responses that an earlier round has found in place of the deadlines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpusched.analysis as analysis
from gpusched._support.arguments import Int64Array
from gpusched._support.text import named
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.verdicts.premises import by_core
from gpusched.comparison.whole_programs import Beside
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.host_tasks import HostTasks
from gpusched.model.programs import Programs
from gpusched.model.views.derived_view import given_to_all, runs_on_cpu
from gpusched.model.workload.periodic_task import Task

__all__ = ["COUNTED", "SharedCpus"]

COUNTED = (
    "tasks of all instances share the CPUs by fixed priorities, and are delayed there by each other"
)


@dataclass(frozen=True)
class SharedCpus:
    """The CPU work of a workload whose tasks have cores and priorities: those of `models`.

    ``alone`` has the responses of the tasks without GPU segments, which depend on no instance.
    """

    models: DerivedModels
    beside: Beside
    alone: Mapping[str, int]
    said: tuple[str, ...]

    @classmethod
    def of(cls, models: DerivedModels, stop: Any) -> SharedCpus:
        """The CPU work of all tasks.

        Raises ValueError where only some tasks have cores or priorities, and if a task without GPU
        segments may be late.
        """
        workload = models.workload
        said: tuple[str, ...] = (COUNTED,)
        priority = given_to_all(list(workload), "priority")
        if priority is None:
            priority = deadline_ranks(np.array([t.deadline for t in workload], np.int64)).tolist()
        work = [task.cpu_time for task in models.with_calls().workload]
        if models.has_cores():
            core = [task.core or 0 for task in workload]
        else:
            core = _worst_fit(models, work)
            named = by_core(dict(zip(workload.names, core, strict=True)))
            said += (f"each task has a core: {named}", "cores are chosen by worst fit")
        placed = [
            task.replace(core=at, priority=rank)
            for task, at, rank in zip(workload, core, priority, strict=True)
        ]
        tasks = [task for task, time in zip(placed, work, strict=True) if time]
        beside = _beside(tasks, [time for time in work if time])
        alone = {t.name for t in tasks if all(map(runs_on_cpu, t.segments))}
        found = _responses(beside, alone, stop)
        made = models._with(workload.replace(tasks=placed))
        return cls(made, beside, found, said)

    def knowing(self, response: Mapping[str, int], stop: Any) -> SharedCpus:
        """The same with such responses, which hold while all deadlines are met, of other tasks."""
        known, tasks = {**self.alone, **response}, self.beside.tasks
        names = () if tasks is None else tasks.name
        beside = Beside(tasks, np.array([known[name] for name in names], np.int64))
        alone = _responses(beside, set(self.alone), stop)
        return SharedCpus(self.models, beside, alone, self.said)


def _worst_fit(models: DerivedModels, work: list[int]) -> list[int]:
    workload = models.workload
    hosts = HostTasks(
        period=[task.period for task in workload],
        cpu=np.maximum(work, 1),
        deadline=[min(task.deadline, task.period) for task in workload],
        name=workload.names,
    )
    found: Int64Array = analysis.partition(hosts, models.platform.cpus).hosts.core
    return [int(core) for core in found]


def _beside(tasks: list[Task], work: list[int]) -> Beside:
    """The CPU work of tasks, with their deadlines as responses."""
    due = [task.deadline for task in tasks]
    if not tasks:
        return Beside(None, np.array(due, np.int64))
    programs = Programs(
        period=[task.period for task in tasks],
        kind=[["cpu"]] * len(tasks),
        time=[[time] for time in work],
        deadline=due,
        jitter=[task.jitter for task in tasks],
        core=[task.core or 0 for task in tasks],
        priority=[task.priority or 0 for task in tasks],
        channel=[-1] * len(tasks),
        name=[task.name for task in tasks],
    )
    return Beside(programs, programs.deadline)


def _responses(beside: Beside, names: set[str], stop: Any) -> dict[str, int]:
    """Responses of tasks without GPU segments; ValueError if one may be late."""
    tasks = beside.tasks
    if tasks is None or not names:
        return {}
    mine = np.array([name in names for name in tasks.name])
    assumed = np.where(mine, -1, beside.response)
    answer = analysis.holistic(tasks, "one_stream", assumed=assumed, stop=stop)
    late = mine & ~(answer.bounded & (answer.bound <= tasks.deadline))
    for i in np.flatnonzero(late)[:1].tolist():
        raise ValueError(
            f"{named(tasks.name[i])}: got no response bound within its deadline on core "
            f"{tasks.core[i]}, expected one; it has no GPU work"
        )
    return {tasks.name[i]: int(answer.bound[i]) for i in np.flatnonzero(mine).tolist()}
