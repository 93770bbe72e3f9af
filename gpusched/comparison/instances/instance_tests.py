"""Verdicts of a test on sets of tasks in GPU instances, each computed once; CPUs that they share.

The tests of sets of tasks in an instance stay independent of each other: each counts the CPU work
of all tasks that are not in the set with assumed responses. Let all tests accept, each under the
assumption that all other tasks keep their deadlines. Bounds do not fall as a response that they
count grows. So the bounds that the tests have found are no less than those that would follow
from each other, which is what the joint fixed point asks for
(csrc/analysis/holistic/holistic.h): all of them hold. In the same way the tests hold
with the responses that an earlier round has found in place of the deadlines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import gpusched.analysis as analysis
from gpusched._support.arguments import Int64Array
from gpusched._support.budget import Budget, BudgetSpent, raise_if_stopped
from gpusched._support.text import named
from gpusched.analysis.fifo_bounds import fifo_bound
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.tasks_in_parts import (
    platform_of_instance,
    task_in_instance,
)
from gpusched.comparison.verdicts.premises import by_core
from gpusched.comparison.whole_programs import Beside
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.gpu import GPU
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.programs import Programs
from gpusched.model.views.derived_view import copies_meet, given_to_all, listed, runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue

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


Test = Callable[[Workload, Platform], WorkloadAnswer]
"""A test of a workload on a platform; raises the errors of ``gs.analyze``."""

_CHUNK = 20_000  # sets in one call


class Spent(Exception):
    """The budget of a search is used up."""


class _Kind(NamedTuple):
    """A kind of instance: its platform, and the tasks in it; an error for one that cannot run."""

    gpu: GPU
    platform: Platform
    tasks: tuple[Task | ValueError | OverflowError, ...]


class InstanceTests:
    """A test of sets of units in GPU instances of several kinds; a unit is a group of tasks.

    A set whose workload the test refuses is not accepted; conditions count as met. ``tested`` is
    the number of tested sets.
    """

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        units: Sequence[Sequence[int]],
        gpus: Sequence[GPU],
        test: Test,
        streams: Mapping[str, OptionValue] | None,
        budget: Budget,
        stop: Any,
        report: Callable[[int], object],
    ) -> None:
        """``streams``: options of fifo_bound, if it is the test and can test many sets at once."""
        self.tested = 0
        self._workload = workload
        self._units = [list(unit) for unit in units]
        self._test = test
        self._budget, self._stop, self._report = budget, stop, report
        times = workload.kernel_times(platform)
        self.kinds = [
            _Kind(gpu, platform_of_instance(platform, gpu), _tasks_in(workload, times, gpu))
            for gpu in gpus
        ]
        self._known: list[dict[int, bool]] = [{} for _ in gpus]
        self._streams = streams
        self._views: dict[int, KernelTasks | None] = {}

    def tasks_of(self, mask: int) -> list[int]:
        """Indices of the tasks of a set of units, ascending."""
        return sorted(task for unit in bits(mask) for task in self._units[unit])

    def names_of(self, mask: int) -> str:
        """Names of the tasks of a set of units."""
        return listed(self._workload.names[i] for i in self.tasks_of(mask))

    def part(self, kind: int, mask: int) -> tuple[Workload, Platform]:
        """A set of units as a workload on the platform of an instance.

        Raises ValueError and OverflowError for a task that cannot run in the instance.
        """
        of = self.kinds[kind]
        tasks = []
        for number in self.tasks_of(mask):
            task = of.tasks[number]
            if not isinstance(task, Task):
                raise task
            tasks.append(task._unlinked())
        return self._workload.replace(tasks=tasks, paths=()), of.platform

    def answer(self, kind: int, mask: int) -> WorkloadAnswer:
        """The answer for a set; raises ValueError and OverflowError if the test refuses it, and
        `Spent` if its time is used up."""
        try:
            return self._test(*self.part(kind, mask))
        except BudgetSpent:
            raise Spent from None

    def accepts(self, kind: int, masks: Sequence[int]) -> list[bool]:
        """Whether an instance of the kind accepts each set."""
        known = self._known[kind]
        new = [mask for mask in masks if mask not in known]
        sizes = np.array([mask.bit_count() for mask in new], np.int64)
        for size in np.unique(sizes).tolist():
            same = [mask for mask, of in zip(new, sizes, strict=True) if of == size]
            tasks = None if self._streams is None or size == 1 else self._view(kind)
            if tasks is None:
                known.update((mask, self._accepts(kind, mask)) for mask in same)
                continue
            for at in range(0, len(same), _CHUNK):
                chunk = same[at : at + _CHUNK]
                known.update(zip(chunk, self._stack(kind, tasks, chunk), strict=True))
        return [known[mask] for mask in masks]

    def spend(self, memory: int = 0) -> None:
        """Raise `Spent` if the budget is used up or too small for these bytes; `Cancelled` on
        a stop."""
        try:
            raise_if_stopped(self._stop)
        except BudgetSpent:
            raise Spent from None
        limits = self._budget
        if limits.bytes is not None and memory > limits.bytes:
            raise Spent

    def _count(self, sets: int) -> None:
        self.spend()
        if self._budget.states is not None and self.tested + sets > self._budget.states:
            raise Spent
        self.tested += sets
        self._report(self.tested)

    def _accepts(self, kind: int, mask: int) -> bool:
        self._count(1)
        try:
            answer = self.answer(kind, mask)
        except (ValueError, OverflowError):
            return False
        return answer.accepted or answer.conditional

    # Streams: many sets in one call

    def _view(self, kind: int) -> KernelTasks | None:
        """The kernels of all tasks in an instance, with the times that they take beside each other.

        None where not all sets are parts of them.
        """
        if kind not in self._views:
            found = None
            try:
                workload, platform = self.part(kind, (1 << len(self._units)) - 1)
                meet = not self._streams and copies_meet(workload, platform)  # bounded as chains
                if not meet and all(task.deadline <= task.period for task in workload):
                    models, _ = DerivedModels.settled(workload, platform).on_free_sms()
                    workload = models.workload
                    found = workload.kernels(platform, chains="refuse").tasks
            except (ValueError, OverflowError):
                pass
            if found is not None and len(set(found.priority.tolist())) > 1:
                found = None
            self._views[kind] = found
        return self._views[kind]

    def _stack(self, kind: int, tasks: KernelTasks, masks: Sequence[int]) -> list[bool]:
        """Whether streams accept sets of one size, each unit a task."""
        self._count(len(masks))
        gpu, stated = self.kinds[kind].gpu, self.kinds[kind].platform.channels
        channels = gpu.channels if stated is None else stated
        most = min(channels or gpu.resident_grids, gpu.resident_grids)
        if masks[0].bit_count() > most:  # as the test of one set refuses
            return [False] * len(masks)
        rows = np.array([bits(mask) for mask in masks], np.int64)
        stack = KernelTasks(**{key: getattr(tasks, key)[rows] for key in tasks._ARRAYS})
        try:
            options: dict[str, Any] = {"stop": self._stop, **(self._streams or {})}
            accepted = fifo_bound(stack, gpu=gpu, **options).accepted.tolist()
        except (ValueError, OverflowError):  # of one set, which the others are not to share
            self.tested -= len(masks)
            return [self._accepts(kind, mask) for mask in masks]
        except BudgetSpent:
            raise Spent from None
        return list(accepted)


def bits(mask: int) -> list[int]:
    """Numbers of the bits that are set, ascending."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _tasks_in(
    workload: Workload, times: Sequence[tuple[KernelTimes | None, ...]], gpu: GPU
) -> tuple[Task | ValueError | OverflowError, ...]:
    found: list[Task | ValueError | OverflowError] = []
    for task, of_task in zip(workload, times, strict=True):
        try:
            found.append(task_in_instance(task, of_task, gpu))
        except (ValueError, OverflowError) as error:
            found.append(error.with_traceback(None))
    return tuple(found)
