"""Kernel tasks and batch tables of a workload: the GPU segments of a job as one unit, or several.

A unit keeps the GPU until all of its kernels have ended, so the jobs of other tasks wait for it.
Where tables have fewer rows than jobs have kernels, consecutive kernels become units. What a task
tolerates is its slack, the time from the end of its work alone to its deadline; a unit is the
worse, the longer it is relative to the least slack of the other tasks. This is the placement of
preemption points under limited preemption, with a number of points for all tasks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from gpusched._support.text import named, plural
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import MAX_TASKS
from gpusched.model.gpu import GPU, occupancy
from gpusched.model.gpus.gpu_fields import rate_text
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.views.derived_view import (
    COPY_WAITS,
    BatchView,
    ChainBatchView,
    JobParts,
    Source,
    View,
    around_kernel,
    job_parts,
    kernel_costs,
    listed,
    runs_on_cpu,
    with_calls,
)
from gpusched.model.workload.kernel_waves import (
    KernelTimes,
    demands,
    excess_notes,
    kernel_times,
    of_whole_sms,
)
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import Kernel


def cut_points(
    times: Sequence[Sequence[int]], deadlines: Sequence[int], most: int
) -> list[list[int]]:
    """Numbers of kernels of each unit, for each chain of kernels.

    Of all divisions into at most ``most`` units, one whose worst unit is the least bad: the largest
    quotient of a unit's time and the least slack of the other tasks is minimal. What is left of the
    units divides the chains with the worst units further, as long as that makes these shorter.

    Raises ValueError for more chains than units.
    """
    if len(times) > most:
        raise ValueError(
            f"tasks: got {len(times):,} with kernels, expected at most {most}, the units of a table"
        )
    slack = [max(1, due - sum(of_task)) for of_task, due in zip(times, deadlines, strict=True)]
    if len(times) == 1:
        return [[len(times[0])]]
    tolerance = [min(slack[:i] + slack[i + 1 :]) for i in range(len(slack))]
    found = _least_bad(times, tolerance, most)
    found = [_evenly(of_task, len(sizes)) for of_task, sizes in zip(times, found, strict=True)]
    spare, left = most - sum(map(len, found)), set(range(len(times)))
    while left:
        worst = max(left, key=lambda i: _badness([found[i]], [times[i]], [tolerance[i]]))
        longest = max(_times_of(found[worst], times[worst]))
        finer = _fewest(times[worst], longest - 1)
        if not finer or (more := len(finer) - len(found[worst])) > spare:
            left.remove(worst)
        else:
            found[worst] = _evenly(times[worst], len(finer))
            spare -= more
    return found


def _least_bad(
    times: Sequence[Sequence[int]], tolerance: Sequence[int], most: int
) -> list[list[int]]:
    """The division with the least bad worst unit."""
    found = [[len(of_task)] for of_task in times]
    # What is worse than `good` is not looked at; nothing is possible within `bad`.
    good, bad = _badness(found, times, tolerance), Fraction(0)
    while bad < good:
        middle = (bad + good) / 2
        if good - bad < Fraction(1, 1 << 20) * good:  # the last steps take the next worse division
            middle = _below(good, times, tolerance)
        tried = _within(middle, times, tolerance)
        if sum(map(len, tried)) <= most and all(tried):
            found, good = tried, _badness(tried, times, tolerance)
        elif good - bad < Fraction(1, 1 << 20) * good:
            return found
        else:
            bad = middle
    return found


def _within(
    badness: Fraction, times: Sequence[Sequence[int]], tolerance: Sequence[int]
) -> list[list[int]]:
    """The fewest units of each chain that are at most so bad; none where a kernel is worse."""
    return [
        _fewest(of_task, int(badness * most))
        for of_task, most in zip(times, tolerance, strict=True)
    ]


def _fewest(times: Sequence[int], limit: int) -> list[int]:
    """The fewest units of at most ``limit`` ticks; none if a kernel is longer."""
    if max(times) > limit:
        return []
    sizes, used = [0], 0
    for time in times:
        if used + time > limit:
            sizes.append(0)
            used = 0
        sizes[-1] += 1
        used += time
    return sizes


def _badness(
    units: Sequence[Sequence[int]],
    times: Sequence[Sequence[int]],
    tolerance: Sequence[int],
) -> Fraction:
    """The largest quotient of a unit's time and what the other tasks tolerate."""
    return max(
        Fraction(max(_times_of(sizes, of_task)), most)
        for sizes, of_task, most in zip(units, times, tolerance, strict=True)
    )


def _times_of(sizes: Sequence[int], times: Sequence[int]) -> list[int]:
    """The times of units."""
    ends = list(accumulate(sizes, initial=0))
    return [sum(times[begin:end]) for begin, end in pairwise(ends)]


def _evenly(times: Sequence[int], most: int) -> list[int]:
    """A division into at most so many units whose longest is as short as possible."""
    least, enough = max(times), sum(times)
    while least < enough:
        middle = (least + enough) // 2
        if len(_fewest(times, middle)) <= most:
            enough = middle
        else:
            least = middle + 1
    return _fewest(times, enough)


def _below(badness: Fraction, times: Sequence[Sequence[int]], tolerance: Sequence[int]) -> Fraction:
    """The largest quotient of whole ticks and a tolerance that is less bad."""
    return max(
        Fraction(-(-badness.numerator * most // badness.denominator) - 1, most)
        for most in tolerance
    )


MOST_CUT = 10_000
"""Kernels of the jobs of all tasks that are cut into units, each looked at many times."""

_ONE_CONTEXT = "kernels of different contexts do not run at the same time"

# In the place of the GPU where no kernel has a shape, so that each takes all of it.
_ANY_GPU = GPU(sms=1, threads_per_sm=1024, blocks_per_sm=32)


@dataclass
class _Found:
    """Names of tasks by what was assumed of them."""

    without: list[str] = field(default_factory=list)
    isolated: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    waiting: tuple[str, ...] = ()
    fused: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    times: list[KernelTimes] = field(default_factory=list)

    def sentences(self, source: Source) -> list[str]:
        said = excess_notes(self.times, source.tick)
        said += kernel_costs(source)
        for names, text in (
            (self.isolated, "CPU work is not delayed by other tasks: GPU work is released when the "
             "CPU work before it has taken its time, and leaves time for that behind it"),
            (self.gaps, "CPU work between GPU segments counts as GPU time"),
            (self.copies, "copies on engines count as GPU time"),
            (self.around, "copies on engines are not GPU time: the kernel is released when the "
             "copies before it have taken their time, and leaves time for those behind it"),
            (self.waiting, COPY_WAITS),
            (self.fused, "the kernels of a job run as one unit, whose time is their sum and whose "
             "footprint is the largest of each resource"),
            (self.whole, "no SM holds the largest of each resource: the unit takes the whole GPU"),
            (self.alone, "kernels without blocks and threads take the whole GPU, so each runs in "
             "a batch of its own"),
            (self.without, "tasks without GPU segments are left out"),
        ):  # fmt: skip
            if names:
                said.append(f"{text}: {listed(names)}")
        return said


def kernel_view(source: Source, *, occupy: bool, fuse: bool, waits: bool) -> View[KernelTasks]:
    """Kernel tasks of the GPU segments of each task; see ``Workload.kernels``."""
    source.refuse_barriers()
    gpu = _needed_gpu(source)
    return _kernel_view(source, gpu, occupy=occupy, fuse=fuse, alone=False, waits=waits)


def _kernel_view(
    source: Source, gpu: GPU, *, occupy: bool, fuse: bool, alone: bool, waits: bool
) -> View[KernelTasks]:
    """``alone``: kernels without a shape take the whole GPU; else they are refused."""
    given = source
    source.refuse_jitter()
    source.refuse_processes(_ONE_CONTEXT)
    found = _Found()
    source = with_calls(source)
    if waits:
        source, found.waiting = source.with_copy_waits()
    source = source.with_launches_of_copies()
    tasks, units, bounds = [], [], []
    for task, times in zip(source.tasks, source.times, strict=True):
        parts = job_parts(task, times)
        if parts is None:
            found.without.append(task.name)
            continue
        if not fuse:
            parts = _of_one_kernel(task, parts, found)
        elif parts.between and not occupy:
            raise ValueError(
                f"{named(task.name)}: got {source.text(parts.between)} of CPU work between GPU "
                "segments, expected none; the GPU segments of a job are one unit (gaps='occupy' "
                "counts the work as GPU time)"
            )
        tasks.append(task)
        units.append(_unit(source, gpu, task, parts, found, alone))
        bounds.append(_bounds(source, task, parts, found))
    if not tasks:
        raise ValueError("tasks: got none with GPU segments, expected at least one")
    kernels = [of.kernel for of in units]
    derived = KernelTasks(
        period=[task.period for task in tasks],
        wcet=[of.time for of in units],
        deadline=[deadline for _, deadline in bounds],
        block_time=[of.needed_block_time() for of in units],
        blocks=[kernel.blocks or 0 for kernel in kernels],
        threads=[kernel.threads or 0 for kernel in kernels],
        regs=[kernel.regs for kernel in kernels],
        smem=[kernel.smem for kernel in kernels],
        priority=source.stream_priorities(tasks),
        offset=[offset for offset, _ in bounds],
        name=[task.name for task in tasks],
    )
    return View(derived, (*source.assumptions, *found.sentences(given)))


def batch_view(source: Source, *, occupy: bool, waits: bool, stop: Any = None) -> BatchView:
    """Kernel tasks, and batches at the platform's largest slowdown; see ``Workload.batches``."""
    source.refuse_barriers()
    gpu = _gpu_of_batches(source)
    kernels = _kernel_view(source, gpu, occupy=occupy, fuse=True, alone=True, waits=waits)
    rates = demands(source.times, source.platform)
    rows = [
        max(own)
        for task, own in zip(source.tasks, rates or (), strict=rates is not None)
        if task.name in kernels.tasks.name
    ]
    table, most = _table(source, kernels.tasks, gpu, rows if rates else None, stop)
    said = []
    if kernels.tasks.n > 1:
        said.append(f"a batch takes {most}as long as the longest of its kernels alone")
    return BatchView(kernels.tasks, (*kernels.assumptions, *said), table)


@dataclass
class _Chain:
    """The kernels of a job, what keeps the GPU before each, and the work around all of them."""

    kernels: list[KernelTimes] = field(default_factory=list)
    latency: list[int] = field(default_factory=list)
    before: int = 0
    after: int = 0

    def times(self) -> list[int]:
        """Time of each kernel, with what keeps the GPU before it."""
        return [of.time + gap for of, gap in zip(self.kernels, self.latency, strict=True)]


def chain_batch_view(
    source: Source, *, occupy: bool, waits: bool, cuts: int | None = None, stop: Any = None
) -> ChainBatchView:
    """Chains of kernels, and batches of these; see ``Workload.batches``.

    ``cuts``: the most units, if consecutive kernels of a job are units; None: each kernel is one.
    """
    source.refuse_barriers()
    gpu, given = _gpu_of_batches(source), source
    source.refuse_jitter()
    source.refuse_processes(_ONE_CONTEXT)
    count = sum(kernel.repeat for task in source.tasks for kernel in task.kernels)
    if count > MAX_TASKS and cuts is None:
        raise ValueError(
            f"tasks: got {count:,} kernels in the jobs of all tasks, expected at most {MAX_TASKS}; "
            "batches of single kernels have a table entry for each set of kernels"
        )
    if count > MOST_CUT:
        raise ValueError(
            f"tasks: got {count:,} kernels in the jobs of all tasks, expected at most {MOST_CUT:,} "
            'to cut them into units (chains="fuse" takes each job as one)'
        )
    found = _Found()
    source = with_calls(source)
    if waits:
        source, found.waiting = source.with_copy_waits()
    source = source.with_launches_of_copies()
    tasks, chains, bounds = [], [], []
    for task, times in zip(source.tasks, source.times, strict=True):
        if (parts := job_parts(task, times)) is None:
            found.without.append(task.name)
            continue
        chain = _chain(source, gpu, task, times, occupy, found)
        around = JobParts(chain.before, 0, chain.after, parts.inner)
        tasks.append(task)
        chains.append(chain)
        bounds.append(_bounds(source, task, around, found))
    if not tasks:
        raise ValueError("tasks: got none with GPU segments, expected at least one")
    units = [[1] * len(chain.kernels) for chain in chains]
    if cuts is not None:
        units = cut_points([chain.times() for chain in chains], [due for _, due in bounds], cuts)
        for task, chain, sizes in zip(tasks, chains, units, strict=True):
            _in_units(chain, sizes, gpu, task, found)
    shapes = [[of.kernel for of in chain.kernels] for chain in chains]
    derived = KernelChains(
        period=[task.period for task in tasks],
        block_time=[[of.needed_block_time() for of in chain.kernels] for chain in chains],
        blocks=[[shape.blocks or 0 for shape in row] for row in shapes],
        threads=[[shape.threads or 0 for shape in row] for row in shapes],
        latency=[chain.latency for chain in chains],
        regs=[[shape.regs for shape in row] for row in shapes],
        smem=[[shape.smem for shape in row] for row in shapes],
        deadline=[deadline for _, deadline in bounds],
        offset=[offset for offset, _ in bounds],
        priority=source.stream_priorities(tasks),
        name=[task.name for task in tasks],
    )
    table, most = _table(source, derived, gpu, _demands_of_units(given, tasks, units), stop)
    said = found.sentences(given)
    if derived.n > 1:
        said.append(
            f"a batch, with at most one kernel of a task, takes {most}as long as the "
            "longest of its kernels alone"
        )
    for task, sizes in zip(tasks, units, strict=True):
        if max(sizes) > 1:
            said.append(
                f"{named(task.name)}: the {sum(sizes):,} kernels of a job run in "
                f"{plural(len(sizes), 'unit')} of {', '.join(map(str, sizes))}; a unit has the "
                "time of its kernels together and the largest footprint of each resource"
            )
    return ChainBatchView(derived, (*source.assumptions, *said), table, tuple(map(tuple, units)))


def _table(
    source: Source,
    tasks: KernelTasks | KernelChains,
    gpu: GPU,
    rows: Sequence[int] | None,
    stop: Any,
) -> tuple[BatchTable, str]:
    """The batches, and how they are slowed, in front of "as long as".

    ``rows``: bytes per second of each row of the table; None: the largest factor of the platform.
    """
    capacity, most = source.platform.bandwidth, source.platform.slowdown[1]
    if rows is None or capacity is None:
        return BatchTable.from_gpu(tasks, gpu, slowdown=most, stop=stop), _times(most)
    alone = BatchTable.from_gpu(tasks, gpu, slowdown=None, stop=stop)
    shares = f"the largest slowdown by max-min shares of {rate_text(capacity)} times "
    return alone.with_bandwidth(rows, capacity, stop=stop), shares


def _demands_of_units(
    source: Source, tasks: Sequence[Task], units: Sequence[Sequence[int]]
) -> list[int] | None:
    """Bytes per second of the most demanding kernel of each unit; None if unknown."""
    rates = demands(source.times, source.platform)
    if rates is None:
        return None
    own = dict(zip((task.name for task in source.tasks), rates, strict=True))
    found = []
    for task, sizes in zip(tasks, units, strict=True):
        pairs = zip(own[task.name], task.kernels, strict=True)
        each = [rate for rate, kernel in pairs for _ in range(kernel.repeat)]
        at = 0
        for size in sizes:
            found.append(max(each[at : at + size]))
            at += size
    return found


def _in_units(chain: _Chain, sizes: Sequence[int], gpu: GPU, task: Task, found: _Found) -> None:
    """Put units of so many consecutive kernels in the place of a chain's kernels."""
    kernels, latency, times, at = [], [], chain.times(), 0
    for number, size in enumerate(sizes):
        if size == 1:
            kernels.append(chain.kernels[at])
            latency.append(chain.latency[at])
        else:
            where = f"{named(task.name)}: its unit {number} of {size} kernels"
            parts = [of.kernel for of in chain.kernels[at : at + size]]
            kernels.append(_fused(gpu, sum(times[at : at + size]), parts, where, task, found))
            latency.append(0)
        at += size
    chain.kernels, chain.latency = kernels, latency


def _chain(
    source: Source,
    gpu: GPU,
    task: Task,
    times: tuple[KernelTimes | None, ...],
    occupy: bool,
    found: _Found,
) -> _Chain:
    """The kernels of a task's job; work between two of them occupies the GPU."""
    chain, gap = _Chain(), 0
    of_cpu = of_engine = False
    for part, of in zip(task.segments, times, strict=True):
        if of is None:
            gap += part.time * part.repeat
            of_cpu = of_cpu or (runs_on_cpu(part) and part.time > 0)
            of_engine = of_engine or not runs_on_cpu(part)
            continue
        shaped = of
        if not of.kernel.has_shape:
            shaped = _alone(gpu, of.time, of.where, task, found)
        first = not chain.kernels
        if first:
            chain.before, gap = gap, 0
        elif of_cpu and not occupy:
            raise ValueError(
                f"{named(task.name)}: got {source.text(gap)} of CPU work between kernels, expected "
                "none; batches follow each other (gaps='occupy' counts the work as GPU time)"
            )
        if of_engine:
            (found.around if first else found.copies).append(task.name)
        if of_cpu and not first:
            found.gaps.append(task.name)
        of_cpu = of_engine = False
        for _ in range(of.kernel.repeat):
            chain.kernels.append(shaped)
            chain.latency.append(source.platform.launch_latency + gap)
            gap = 0
    if not chain.kernels:
        raise ValueError(
            f"{named(task.name)}: got copies without a kernel, expected a kernel; the model has no "
            "copies"
        )
    if of_engine:
        found.around.append(task.name)
    chain.after = gap
    found.times += chain.kernels
    return chain


def _times(factor: float) -> str:
    """A factor in front of "as long as"."""
    return "" if factor == 1 else f"{factor:g} times "


def _shapeless(where: str) -> ValueError:
    return ValueError(
        f"{where}: got a kernel without blocks and threads, expected these; kernels share the SMs "
        "by their shapes"
    )


def _alone(gpu: GPU, time: int, where: str, task: Task, found: _Found) -> KernelTimes:
    """A kernel of this time that takes the whole GPU, for one without a shape."""
    if (whole := of_whole_sms(Kernel(time), gpu, gpu.sms)) is None:
        raise _shapeless(where)
    if task.name not in found.alone:
        found.alone.append(task.name)
    [times] = kernel_times([whole], gpu, [where])
    return times


def _gpu_of_batches(source: Source) -> GPU:
    """The GPU; it is not needed if no kernel has a shape, as each of them runs alone."""
    if source.platform.gpu is None and not any(
        kernel.has_shape for task in source.tasks for kernel in task.kernels
    ):
        return _ANY_GPU
    return _needed_gpu(source)


def _needed_gpu(source: Source) -> GPU:
    if source.platform.gpu is None:
        raise ValueError("platform: got no GPU, expected one; blocks of kernels share its SMs")
    return source.platform.gpu


def _unit(
    source: Source, gpu: GPU, task: Task, parts: JobParts, found: _Found, alone: bool
) -> KernelTimes:
    """The GPU work of a job as one kernel; ``alone`` as in `_kernel_view`."""
    kernels = parts.kernels
    if not kernels:
        raise ValueError(
            f"{named(task.name)}: got copies without a kernel, expected a kernel; the model has no "
            "copies"
        )
    shapeless = [of.where for of in kernels if not of.kernel.has_shape]
    if shapeless and not alone:
        raise _shapeless(shapeless[0])
    latency = source.platform.launch_latency
    found.times += kernels
    if parts.copies:
        found.copies.append(task.name)
    if parts.between:
        found.gaps.append(task.name)
    several = len(kernels) > 1 or kernels[0].kernel.repeat > 1
    where = f"{named(task.name)}: {'its kernels as one unit' if several else 'its GPU work'}"
    total = sum((of.time + latency) * of.kernel.repeat for of in kernels)
    total += parts.copies + parts.between
    if several:
        found.fused.append(task.name)
    if shapeless:
        return _alone(gpu, total, where, task, found)
    if not (several or parts.copies or parts.between or latency):
        return kernels[0]
    return _fused(gpu, total, [of.kernel for of in kernels], where, task, found)


def _fused(
    gpu: GPU, total: int, shapes: Sequence[Kernel], where: str, task: Task, found: _Found
) -> KernelTimes:
    """Kernels as one of the time ``total``, with the largest footprint of each resource."""
    unit = Kernel(
        total,
        blocks=max(shape.blocks or 0 for shape in shapes),
        threads=max(shape.threads or 0 for shape in shapes),
        regs=max(shape.regs for shape in shapes),
        smem=max(shape.smem for shape in shapes),
    )
    if len(shapes) > 1 and not occupancy(gpu, unit.threads or 0, unit.regs, unit.smem):
        if (whole := of_whole_sms(Kernel(unit.time), gpu, gpu.sms)) is not None:
            found.whole.append(task.name)
            unit = whole
    [times] = kernel_times([unit], gpu, [where])
    found.times.append(times)
    return times


def _of_one_kernel(task: Task, parts: JobParts, found: _Found) -> JobParts:
    """The parts of a job around its only kernel, copies included."""
    count = sum(of.kernel.repeat for of in parts.kernels)
    if count != 1:
        raise ValueError(
            f"{named(task.name)}: got {count} kernels in a job, expected one; each kernel of a "
            "chain waits for those of other tasks, of which the model knows nothing"
        )
    if parts.copies:
        found.around.append(task.name)
    return around_kernel(task, parts)


def _bounds(source: Source, task: Task, parts: JobParts, found: _Found) -> tuple[int, int]:
    """Offset and relative deadline of the GPU work."""
    around = parts.before + parts.after
    if task.cpu_time:
        found.isolated.append(task.name)
    if around >= task.deadline:
        raise ValueError(
            f"{named(task.name)}: got a deadline of {source.text(task.deadline)} with "
            f"{source.text(around)} of work and waits of copies before and after what occupies "
            "the GPU, expected a later deadline"
        )
    return task.offset + parts.before, task.deadline - around
