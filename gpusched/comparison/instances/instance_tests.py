"""Verdicts of a test on sets of tasks in GPU instances, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpusched._support.budget import Budget, BudgetSpent, raise_if_stopped
from gpusched.analysis.fifo_bounds import fifo_bound
from gpusched.comparison.copy_waits import copies_meet
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.instance_workloads import (
    platform_of_instance,
    task_in_instance,
)
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.views.derived_view import listed
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue

__all__ = ["InstanceTests", "Spent", "Test", "bits"]

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
