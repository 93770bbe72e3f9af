"""Ticks in which the times of blocks are whole numbers.

A block of a kernel of w waves takes a w-th of the kernel's time, which may be no whole number of
ticks of the workload. Rounded up, it would make the verdict depend on the tick. Models are
therefore derived in finer ticks, of which a whole number make a tick of the workload: its grain.

The grain is the least one for which all block times are whole. If it is too large, or makes times
too long for the models, block times are rounded up to the shortest of 1 ns, 10 ns, 100 ns, ... that
divides the tick; the same program in other ticks has then the same times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

from gpusched._support.arguments import Int64Array
from gpusched.model.gpu import GPU, occupancy
from gpusched.model.views.derived_view import runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel
from gpusched.model.workload.time_units import TickLength, as_factor
from gpusched.model.workload.workloads import Workload

_MOST_PARTS = 720_720  # of a ns
_LONGEST = 2**55  # ticks of a time
_LONGEST_HYPERPERIOD = 2**56


class Grain(NamedTuple):
    """Number of finer ticks in a tick, and whether all block times are then whole numbers."""

    ticks: int
    exact: bool


class Sharing(NamedTuple):
    """Use of the times of kernels by models.

    ``slowed``: multiplied by the slowdown of the platform. ``single``: also with the launch latency
    as part of a kernel. ``units``: also for the work of a job as one kernel. ``batches``: also the
    times of batches. ``waits``: copies wait for those of others. ``profiles``: also measured times
    on numbers of SMs. ``free``: tasks whose kernels run on the least favourable number of SMs up to
    their limit. ``limits``: the SMs of tasks that may not use all.
    """

    slowed: bool = False
    single: bool = False
    units: bool = False
    batches: bool = False
    waits: bool = False
    profiles: bool = False
    free: frozenset[str] = frozenset()
    limits: Mapping[str, int] = {}


def grain_of(times: Iterable[Fraction], workload: Workload, platform: Platform) -> Grain:
    """The grain for times in ticks of a workload, of which some may be fractions."""
    parts = {time for time in times if time.denominator > 1}
    count = lcm(*(time.denominator for time in parts))
    if count == 1:
        return Grain(1, True)
    tick = workload._tick
    longest = _longest(workload, platform)
    if lcm(*((time * tick).denominator for time in parts)) <= _MOST_PARTS:
        if _fit(workload, longest, count):
            return Grain(count, True)
    unit = 1
    while unit < tick:
        parts_of_tick = Fraction(tick) / unit
        if parts_of_tick.denominator == 1 and _fit(workload, longest, int(parts_of_tick)):
            return Grain(int(parts_of_tick), False)
        unit *= 10
    return Grain(1, False)


def _longest(workload: Workload, platform: Platform) -> int:
    """The longest time of a task, with kernels at the largest slowdown."""
    found = [1]
    for task in workload:
        work = 0
        for part in task.segments:
            times = [part.time] if not isinstance(part, Kernel) else _times_of(part)
            work += max(times) * part.repeat
        found += [task.period, task.deadline, task.offset, work * ceil(platform.slowdown[1])]
    return max(found)


def _times_of(kernel: Kernel) -> list[int]:
    """The times that are given for a kernel; a block time for all of its blocks."""
    found = [kernel.time] if kernel.has_time else []
    if kernel.block_time is not None:
        found.append(kernel.block_time * (kernel.blocks or 1))
    return [*found, *(kernel.sms or {}).values()]


def _fit(workload: Workload, longest: int, count: int) -> bool:
    """Whether times in the finer ticks are not too long for the models."""
    hyperperiod = workload.hyperperiod
    long = hyperperiod * count >= _LONGEST_HYPERPERIOD > hyperperiod  # only in finer ticks
    return longest * count < _LONGEST and not long


def in_finer_ticks(workload: Workload, platform: Platform, count: int) -> tuple[Workload, Platform]:
    """A workload and a platform with the same times, in ticks of which ``count`` make one.

    Periods that were given as rates remain as they were rounded.
    """
    tick: TickLength = Fraction(workload._tick) / count
    if isinstance(tick, Fraction) and tick.denominator == 1:
        tick = int(tick)
    tasks = []
    for task in workload:
        segments = [
            part.replace(time=None)
            if isinstance(part, Kernel) and part.has_time and part.block_time is not None
            else part
            for part in task.segments
        ]
        period = {} if task.rate is None or task.after else {"period": task.period}
        tasks.append(task.replace(segments=segments, **period)._at(tick))  # type: ignore[arg-type]
    paths = tuple(path._at(tick) for path in workload.paths)
    made = Workload._made(tasks, tick, workload.assumptions, workload.observed, paths)
    return made, platform._at(tick)


def ticks_up(finer: Int64Array, grain: int) -> Int64Array:
    """Times in finer ticks, of which ``grain`` make a tick, in ticks, rounded up."""
    found: Int64Array = -(-finer // grain)
    return found


# Times that have to be whole numbers --------------------------------------------------------------


class _Timed(NamedTuple):
    """A kernel with the waves in which it runs, and the time of its blocks."""

    of: KernelTimes
    waves: int
    block: Fraction


def divided_times(workload: Workload, platform: Platform, sharing: Sharing) -> list[Fraction]:
    """Times in ticks of kernels on the platform's GPU, as the models need them, not rounded.

    Empty for kernels that have no such times, which the models refuse.
    """
    gpu = platform.gpu
    if gpu is None:
        return []
    try:
        times = workload.kernel_times(platform)
        rows = [_row(task, of, sharing) for task, of in zip(workload, times, strict=True)]
    except (ValueError, OverflowError):
        return []
    return _needed(workload, platform, gpu, sharing, rows)


def instance_times(
    workload: Workload, platform: Platform, sharing: Sharing, gpus: Sequence[GPU]
) -> list[Fraction]:
    """Times as by `divided_times`, in each of several GPU instances."""
    found: list[Fraction] = []
    try:
        times = workload.kernel_times(platform)
    except (ValueError, OverflowError):
        return found
    for gpu in gpus:
        for task, of_task in zip(workload, times, strict=True):
            try:
                row = _row(task, of_task, sharing._replace(limits={task.name: gpu.sms}))
            except (ValueError, OverflowError):
                continue
            alone = workload.replace(tasks=[task._unlinked()], paths=())
            found += _needed(alone, platform, gpu, sharing, [row])
    return found


def _row(task: Task, times: Sequence[KernelTimes | None], sharing: Sharing) -> list[_Timed | None]:
    """The kernels of a task, with the times of their blocks."""
    limit, free = sharing.limits.get(task.name), task.name in sharing.free
    return [None if of is None else _timed(of, limit or of.sms, free) for of in times]


def _timed(of: KernelTimes, sms: int, free: bool) -> _Timed:
    if not of.resident:
        return _Timed(of, 1, Fraction(of.time))
    block = max(of.block_on(sms), of.slowest_block(sms)) if free else of.block_on(sms)
    return _Timed(of, of.waves_on(sms), block)


def _needed(
    workload: Workload,
    platform: Platform,
    gpu: GPU,
    sharing: Sharing,
    rows: Sequence[Sequence[_Timed | None]],
) -> list[Fraction]:
    slow = as_factor(str(platform.slowdown[1]), "slowdown")
    latency = platform.launch_latency
    factor = slow if sharing.slowed else Fraction(1)
    found: list[Fraction] = []
    tasks = workload.tasks
    if sharing.waits:
        source, _ = workload._source(platform, triggers=True).with_copy_waits()
        tasks = source.tasks
    for task, row in zip(tasks, rows, strict=True):
        for timed in row:
            if timed is None:
                continue
            found.append(factor * timed.block)
            if sharing.single:
                found.append(factor * timed.block + Fraction(latency, timed.waves))
            if sharing.profiles and timed.of.kernel.sms:
                found += [factor * time for time in timed.of.kernel.sms.values()]
            if sharing.batches:
                found.append(slow * timed.waves * timed.block)
        if sharing.units and any(timed is not None for timed in row):
            total, waves = _unit(task, row, gpu, latency)
            found += [total / waves, slow * total if sharing.batches else total]
        if sharing.batches:
            found += [slow * latency, *(slow * gap for gap in _gaps(task))]
    return found


def _unit(task: Task, row: Sequence[_Timed | None], gpu: GPU, latency: int) -> tuple[Fraction, int]:
    """Total time and waves of the GPU work of a job as one kernel."""
    kernels = [timed for timed in row if timed is not None]
    total = sum(
        ((of.waves * of.block + latency) * of.of.kernel.repeat for of in kernels),
        Fraction(sum(_gaps(task))),
    )
    shapes = [of.of.kernel for of in kernels]
    if any(shape.blocks is None for shape in shapes):
        return total, 1  # of the whole GPU
    blocks = max(shape.blocks or 0 for shape in shapes)
    threads, regs, smem = (
        max(getattr(shape, key) or 0 for shape in shapes) for key in ("threads", "regs", "smem")
    )
    resident = int(occupancy(gpu, threads, regs, smem))
    return total, -(-blocks // (gpu.sms * resident)) if resident else 1


def _gaps(task: Task) -> list[int]:
    """Times of the work between the GPU segments of a job, and of copies before and after."""
    places = [i for i, part in enumerate(task.segments) if not runs_on_cpu(part)]
    return [
        part.time * part.repeat
        for i, part in enumerate(task.segments)
        if places and places[0] <= i <= places[-1] and not isinstance(part, Kernel)
    ]
