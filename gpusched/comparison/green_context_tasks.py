"""Tasks of a workload in the green contexts of a platform: partitions, and times on their SMs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.comparison.instances.instance_workloads import task_in_instance
from gpusched.model.gpu import GPU
from gpusched.model.launches import Launches
from gpusched.model.workload.platforms import Platform, green_sms, unknown_tasks
from gpusched.model.workload.workloads import Workload

__all__ = ["GREEN_SENTENCES", "GreenContextTasks", "in_green_contexts"]

GREEN_SENTENCES = (
    "a block takes as long in a green context as on the whole GPU, although others use caches and "
    "memory bandwidth; a kernel with a profile takes the time on as many SMs",
    "the SMs of a green context are its own, and no other process uses the GPU",
)


@dataclass(frozen=True)
class GreenContextTasks:
    """A workload whose kernels have their times on the SMs of their green contexts.

    ``part`` maps the name of each task with kernels to its green context; ``sms`` has the SMs of
    each green context with such a task.
    """

    workload: Workload
    part: dict[str, int]
    sms: tuple[tuple[int, ...], ...]

    def partition(self, names: tuple[str, ...]) -> Int64Array:
        """The green context of each of these tasks."""
        return np.array([self.part[name] for name in names], np.int64)

    def confined(self, launches: Launches) -> Launches:
        """Launches with a stream for each task, in partitions."""
        home = [self.part.get(name, 0) for name in launches.stream_name]
        return launches.replace(
            stream_partition=np.array(home, np.int64),
            partition_sms=self.sms,
            partition_name=[self._named(p) for p in range(len(self.sms))],
        )

    def refuse_shared_channels(self, channels: int, others: int, *, balanced: bool) -> None:
        """Raise ValueError for more streams than channels (0: no limit).

        The channels are those of each green context (``balanced``), or of all of them together,
        with ``others`` streams of tasks without kernels.
        """
        of_part = Counter(self.part.values())
        most = max(of_part.values()) if balanced else len(self.part) + others
        if not channels or most <= channels:
            return
        if balanced:
            raise ValueError(
                f"tasks: got {most} streams in a green context, expected at most {channels}, its "
                "channels (CUDA_DEVICE_MAX_CONNECTIONS, --channels); streams that share a channel "
                "also wait for each other's kernels to start"
            )
        raise ValueError(
            f"tasks: got {most} streams in green contexts, expected at most {channels}, the "
            "channels that all of them share (--channels; or channels of its own for each, from "
            "CUDA 13.1 on: workqueue='balanced', --workqueue balanced); streams that share a "
            "channel also wait for each other's kernels to start"
        )

    def _named(self, part: int) -> str:
        return " + ".join(name for name, of in self.part.items() if of == part)


def in_green_contexts(
    workload: Workload, platform: Platform, gpu: GPU, *, free: bool = False
) -> GreenContextTasks:
    """The tasks in the green contexts of a platform whose times are in ticks of the workload.

    ``free``: of a green context with several tasks, kernels with profiles have the longest time of
    a block that they have on any number of its SMs; else, the time on all of its SMs.

    Raises ValueError if the platform has no green contexts, for a task with kernels that belongs
    to none of them, and for a kernel whose time on its SMs cannot be derived.
    """
    entries = platform.green_contexts
    if entries is None:
        raise ValueError(
            "green_contexts: got None, expected the SMs of green contexts "
            "(gs.Platform(green_contexts=), --green-contexts)"
        )
    if found := unknown_tasks(workload, platform):
        raise ValueError(f"green_contexts: {found}")
    home = {task: i for i, (tasks, _) in enumerate(entries) for task in tasks}
    users = [task.name for task in workload if task.kernels]
    if not users:
        raise ValueError("tasks: got none with kernels, expected at least one")
    for name in users:
        if name not in home:
            raise ValueError(
                f"{name}: got no green context, expected one for every task with kernels; those "
                "outside run on the SMs of all"
            )
    sets = green_sms(entries, gpu)
    used = sorted({home[name] for name in users})
    parts = [gpu.replace(sms=len(sets[i]), sm_order="ascending") for i in used]
    part = {name: used.index(home[name]) for name in users}
    times = workload.kernel_times(platform)
    users_of = Counter(part.values())
    tasks = [
        task_in_instance(
            task,
            of,
            parts[part[task.name]],
            keep=False,
            free=free and users_of[part[task.name]] > 1,
        )
        if task.kernels
        else task
        for task, of in zip(workload, times, strict=True)
    ]
    return GreenContextTasks(
        workload.replace(tasks=tasks), part, tuple(tuple(sets[i]) for i in used)
    )
