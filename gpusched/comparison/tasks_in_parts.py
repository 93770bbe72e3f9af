"""Tasks of a workload in parts of a GPU with SMs of their own: instances, green contexts, MPS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Literal

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import plural
from gpusched.model.gpu import GPU
from gpusched.model.gpus.gpu_fields import fewer_engines
from gpusched.model.views.derived_view import runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import (
    Platform,
    green_sms,
    process_of_each,
    unknown_clients,
    unknown_tasks,
)
from gpusched.model.workload.segments import Kernel, Segment
from gpusched.model.workload.workloads import Workload


def platform_of_instance(platform: Platform, part: GPU) -> Platform:
    """The platform with an instance in place of its GPU.

    It has the copy engines of the instance, but no more than the platform states, if it does.
    """
    engines = None
    if platform.gpu is not None and platform.copy_engines != platform.gpu.copy_engines:
        engines = fewer_engines(platform.copy_engines, part.copy_engines)
    whole = platform.replace(mig=None, mps=None, mps_partitions=None, green_contexts=None)
    whole = whole.replace(bandwidth=None)  # an instance has a part of it, which is not known
    return whole.replace(gpu=part, copy_engines=engines)


def task_in_instance(
    task: Task,
    times: tuple[KernelTimes | None, ...],
    part: GPU,
    *,
    keep: bool = True,
    free: bool = False,
) -> Task:
    """The task with the times that its kernels take in an instance.

    ``times`` are the times on the whole GPU, per segment. Block times do not change. A kernel with
    a profile takes the time of the largest number of SMs in the profile that the instance has.

    ``keep``: such a kernel keeps its profile, up to the SMs of the instance; else it has a time of
    blocks, and with ``free`` the longest that it has on any number of the SMs.

    Raises ValueError for a kernel whose time on the instance's SMs cannot be derived.
    """
    segments = [
        _in_instance(*both, part, keep, free) for both in zip(task.segments, times, strict=True)
    ]
    return task.replace(segments=segments)


def _in_instance(
    segment: Segment, times: KernelTimes | None, part: GPU, keep: bool, free: bool
) -> Segment:
    if times is None or not isinstance(segment, Kernel):
        return segment
    time = times.on(part.sms)
    if times.block_time is None:  # no shape
        share = Fraction(min(times.filled, part.sms), part.sms)
        return segment.replace(time=time, sms=share if segment.share else None)
    if not segment.sms:
        return segment.replace(time=None, block_time=times.block_time)
    if keep and segment.block_time is None:
        profile = {k: of for k, of in segment.sms.items() if k <= part.sms}
        return segment.replace(time=None, sms=profile)
    block = times.slowest_block(part.sms) if free else times.block_on(part.sms)
    return segment.replace(time=None, sms=None, block_time=ceil(block))


PartForm = Literal["green_contexts", "mps_static"]
"""A way in which tasks have parts of the GPU with SMs of their own."""

PART_SENTENCES: dict[PartForm, tuple[str, ...]] = {
    "green_contexts": (
        "a block takes as long in a green context as on the whole GPU, although others use caches "
        "and memory bandwidth; a kernel with a profile takes the time on as many SMs",
        "the SMs of a green context are its own, and no other process uses the GPU",
    ),
    "mps_static": (
        "a block takes as long in a static partition as on the whole GPU, although others use "
        "caches and memory bandwidth; a kernel with a profile takes the time on as many SMs",
        "the server of MPS is that of CUDA 13.1 or later, with static partitions; no other process "
        "uses the GPU",
    ),
}


@dataclass(frozen=True)
class TasksInParts:
    """A workload whose kernels have their times on the SMs of their part of the GPU.

    ``part`` maps the name of each task with kernels to its part; ``sms`` has the SMs of each part
    with such a task. ``copies_of`` maps the name of each task that only copies to its part, or to
    a number beyond these: a client or a context that has channels and no SMs.
    """

    workload: Workload
    part: dict[str, int]
    sms: tuple[tuple[int, ...], ...]
    copies_of: dict[str, int]

    def refuse_common_sms(self) -> None:
        """Raise ValueError for SMs that two parts have, as no test counts the blocks of both.

        Each part has a queue of blocks, of whose heads either may take an SM that is free.
        """
        names = list(self.part)
        for i, task in enumerate(names):
            for other in names[:i]:
                both = set(self.sms[self.part[task]]) & set(self.sms[self.part[other]])
                if both and self.part[task] != self.part[other]:
                    raise ValueError(
                        f"{task}: got {plural(len(both), 'SM')} that the context of {other} has, "
                        "too, expected SMs of one context each (tasks without a green context have "
                        "all SMs); kernels then also wait for blocks of other contexts, in an "
                        "order that is not documented (gs.observe, gpusched simulate: simulates it)"
                    )

    def common(self) -> str:
        """Sentence on the SMs that several parts have, an assumption of simulations; "" if none."""
        shared = Counter(sm for sms in self.sms for sm in sms)
        count = sum(parts > 1 for parts in shared.values())
        if not count:
            return ""
        return (
            f"{plural(count, 'SM')} {'belong' if count > 1 else 'belongs'} to several contexts, of "
            "which the one with the more urgent stream starts blocks first, at equal priority the "
            "one that the platform lists first (an assumption)"
        )

    def partition(self, names: tuple[str, ...]) -> Int64Array:
        """The part of each of these tasks."""
        return np.array([self.part[name] for name in names], np.int64)

    def refuse_shared_channels(self, channels: int, *, balanced: bool) -> None:
        """Raise ValueError for more streams than channels (0: no limit).

        The channels are those of each green context (``balanced``), and those of the context of
        the streams outside of them; or of all together.
        """
        of_stream = self.part | self.copies_of
        [(fullest, most)] = Counter(of_stream.values()).most_common(1)
        most = most if balanced else len(of_stream)
        if not channels or most <= channels:
            return
        if balanced:
            where = "in a green context" if fullest < len(self.sms) else "outside of all of them"
            raise ValueError(
                f"tasks: got {most} streams {where}, expected at most {channels}, the context's "
                "channels (CUDA_DEVICE_MAX_CONNECTIONS, --channels); streams that share a channel "
                "also wait for each other's kernels to start"
            )
        raise ValueError(
            f"tasks: got {most} streams in green contexts, expected at most {channels}, the "
            "channels that all of them share (--channels; or channels of its own for each, from "
            "CUDA 13.1 on: workqueue='balanced', --workqueue balanced); streams that share a "
            "channel also wait for each other's kernels to start"
        )


def part_homes(
    workload: Workload, platform: Platform, way: PartForm
) -> tuple[Sequence[tuple[tuple[str, ...], Any]], dict[str, int]] | None:
    """The parts of a GPU that a way has, and the index of that of each task in one; None: none.

    Without processes, each task is a client of MPS of its name. Tasks with kernels in no green
    context are in the primary context, the last part, whose SMs are None: all.
    """
    if way == "green_contexts":
        entries: Any = platform.green_contexts
        home = {task: i for i, (tasks, _) in enumerate(entries or ()) for task in tasks}
        outside = tuple(t.name for t in workload if t.kernels and t.name not in home)
        if entries is not None and outside:
            home |= dict.fromkeys(outside, len(entries))
            entries = (*entries, (outside, None))
    else:
        entries = platform.mps_partitions
        of_process = {name: i for i, (names, _) in enumerate(entries or ()) for name in names}
        of_client = process_of_each(workload)
        home = {name: of_process[of] for name, of in of_client.items() if of in of_process}
    return None if entries is None else (entries, home)


def in_parts(
    workload: Workload, platform: Platform, gpu: GPU, way: PartForm, *, free: bool = False
) -> TasksInParts:
    """The tasks in green contexts or static partitions; times are in ticks of the workload.

    ``free``: of a part with several tasks, kernels with profiles have the longest time of a block
    that they have on any number of its SMs; else, the time on all of its SMs.

    Raises ValueError if the platform has no such parts, for a task with kernels that belongs to
    none of them, and for a kernel whose time on its SMs cannot be derived.
    """
    name, what, unknown = (
        ("green_contexts", "green contexts", unknown_tasks(workload, platform))
        if way == "green_contexts"
        else (
            "mps_partitions",
            "static partitions of MPS",
            unknown_clients(workload, platform, static=True),
        )
    )
    found = part_homes(workload, platform, way)
    if found is None:
        option = name.replace("_", "-")
        raise ValueError(
            f"{name}: got None, expected the SMs of {what} (gs.Platform({name}=), --{option})"
        )
    if unknown:
        raise ValueError(f"{name}: {unknown}")
    entries, home = found
    users = [task.name for task in workload if task.kernels]
    if not users:
        raise ValueError("tasks: got none with kernels, expected at least one")
    for user in users:
        if user not in home:
            raise ValueError(
                f"{user}: got no static partition, expected one for every process with kernels"
            )
    sets = green_sms(entries, gpu)
    used = sorted({home[user] for user in users})
    parts = [gpu.replace(sms=len(sets[i]), sm_order="ascending") for i in used]
    part = {user: used.index(home[user]) for user in users}
    times = workload.kernel_times(platform)
    users_of = Counter(part.values())
    primary = entries[-1][1] is None
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
    return TasksInParts(
        workload.replace(tasks=tasks),
        part,
        tuple(tuple(sets[i]) for i in used),
        _copies_of(workload, part, way, primary=primary),
    )


def shares_sms(entries: Sequence[tuple[tuple[str, ...], Any]], gpu: GPU) -> bool:
    """Whether an SM belongs to several parts."""
    sets = green_sms(entries, gpu)
    return len({sm for sms in sets for sm in sms}) < sum(map(len, sets))


def _copies_of(
    workload: Workload, part: dict[str, int], way: PartForm, *, primary: bool
) -> dict[str, int]:
    """The part of each stream without kernels, or a number beyond the parts.

    Under MPS, at the kernels of their process, or in a client of their process alone; otherwise in
    the primary context, the last part if it has kernels (``primary``).
    """
    copiers = [
        task.name
        for task in workload
        if task.name not in part and not all(map(runs_on_cpu, task.segments))
    ]
    beyond = len(set(part.values()))
    if way == "green_contexts":
        return dict.fromkeys(copiers, beyond - primary)
    of_client = process_of_each(workload)
    found = {of_client[name]: at for name, at in part.items()}
    for name in copiers:
        if of_client[name] not in found:
            found[of_client[name]] = beyond
            beyond += 1
    return {name: found[of_client[name]] for name in copiers}
