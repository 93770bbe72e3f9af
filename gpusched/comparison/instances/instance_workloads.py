"""Tasks and platform as seen in a GPU instance."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from gpusched.model.gpu import GPU
from gpusched.model.gpus.gpu_fields import fewer_engines
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel, Segment

__all__ = ["platform_of_instance", "task_in_instance"]


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
