"""Kernel chains of a workload: the kernels of a job one by one, for priority streams.

A copy engine serves the copies of all streams in the order in which they reach it, and a stream
has one copy there at a time. So a copy waits for at most one copy of each other task that uses the
engine, and this wait belongs to the latency of the kernel behind it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gpusched.model.kernel_chains import KernelChains
from gpusched.model.views.derived_view import View
from gpusched.model.views.view_source import Source, job_parts, listed, runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes, excess_notes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CopyIn, Kernel, Segment

__all__ = ["chain_view"]

_MOST_KERNELS = 2_000
"""Kernels of a job; a bound looks at each of them several times."""


@dataclass
class _Chain:
    """The kernels of a job: times of blocks, shapes and latencies; and the work behind them."""

    kernels: list[Kernel] = field(default_factory=list)
    block_time: list[int] = field(default_factory=list)
    latency: list[int] = field(default_factory=list)
    after: int = 0
    waits: bool = False


def chain_view(source: Source) -> View[KernelChains]:
    """Chains of kernels of the GPU segments of each task; see ``Workload.chains``."""
    if source.platform.gpu is None:
        raise ValueError("platform: got no GPU, expected one; blocks of kernels share its SMs")
    source.refuse_jitter()
    source.refuse_processes("kernels of different contexts do not run at the same time")
    tasks, chains, without = [], [], []
    longest = [_longest_copies(source, task) for task in source.tasks]
    for i, (task, times) in enumerate(zip(source.tasks, source.times, strict=True)):
        if job_parts(task, times) is None:
            without.append(task.name)
            continue
        others = longest[:i] + longest[i + 1 :]
        tasks.append(task)
        chains.append(_chain(source, task, times, sum(others, Counter())))
    if not tasks:
        raise ValueError("tasks: got none with GPU segments, expected at least one")
    derived = KernelChains(
        period=[task.period for task in tasks],
        block_time=[of.block_time for of in chains],
        blocks=[[kernel.blocks or 0 for kernel in of.kernels] for of in chains],
        threads=[[kernel.threads or 0 for kernel in of.kernels] for of in chains],
        latency=[of.latency for of in chains],
        regs=[[kernel.regs for kernel in of.kernels] for of in chains],
        smem=[[kernel.smem for kernel in of.kernels] for of in chains],
        deadline=[
            _deadline(source, task, of.after) for task, of in zip(tasks, chains, strict=True)
        ],
        offset=[task.offset for task in tasks],
        priority=source.stream_priorities(tasks),
        name=[task.name for task in tasks],
    )
    return View(derived, (*source.assumptions, *_sentences(source, tasks, chains, without)))


def _engine(source: Source, copy: Segment) -> type[Segment]:
    """The engine of a copy: one for all, or one for each direction."""
    return CopyIn if source.platform.copy_engines < 2 else type(copy)


def _longest_copies(source: Source, task: Task) -> Counter[type[Segment]]:
    """Ticks of a task's longest copy on each engine."""
    found: Counter[type[Segment]] = Counter()
    for part in task.segments:
        if not isinstance(part, Kernel) and not runs_on_cpu(part):
            engine = _engine(source, part)
            found[engine] = max(found[engine], part.time)
    return found


def _chain(
    source: Source,
    task: Task,
    times: tuple[KernelTimes | None, ...],
    others: Counter[type[Segment]],
) -> _Chain:
    """The kernels of a task's job; what stands before a kernel is part of its latency.

    others: ticks for which a copy waits at most, by its engine.
    """
    kernels = sum(kernel.repeat for kernel in task.kernels)
    if kernels > _MOST_KERNELS:
        raise ValueError(
            f"{task.name}: got {kernels:,} kernels in a job, expected at most {_MOST_KERNELS:,}"
        )
    chain, gap, copies = _Chain(), 0, 0
    for part, of in zip(task.segments, times, strict=True):
        if of is None:
            wait = 0 if runs_on_cpu(part) else others[_engine(source, part)]
            gap += (part.time + wait) * part.repeat
            copies += 0 if runs_on_cpu(part) else (part.time + wait) * part.repeat
            chain.waits |= wait > 0
            continue
        if not of.kernel.has_shape:
            raise ValueError(
                f"{of.where}: got a kernel without blocks and threads, expected these; kernels "
                "share the SMs by their shapes"
            )
        for _ in range(of.kernel.repeat):
            chain.kernels.append(of.kernel)
            chain.block_time.append(of.needed_block_time())
            chain.latency.append(source.platform.launch_latency + gap)
            gap = copies = 0
    if not chain.kernels:
        raise ValueError(
            f"{task.name}: got copies without a kernel, expected a kernel; the model has no copies"
        )
    chain.after = gap
    if task.deadline > task.period:  # the next job's first operation waits for the last copies
        chain.latency[0] += copies
    return chain


def _deadline(source: Source, task: Task, after: int) -> int:
    """The relative deadline of the last kernel."""
    if after >= task.deadline:
        raise ValueError(
            f"{task.name}: got a deadline of {source.text(task.deadline)} with "
            f"{source.text(after)} of work behind the last kernel, expected a later deadline"
        )
    return task.deadline - after


def _sentences(
    source: Source, tasks: list[Task], chains: list[_Chain], without: list[str]
) -> list[str]:
    said = excess_notes(source.all_times(), source.tick)
    latency = source.platform.launch_latency
    if latency:
        said.append(f"each kernel takes the launch latency of {source.text(latency)} longer")
    cpu = [task.name for task in tasks if task.cpu_time]
    copies = [task.name for task, chain in zip(tasks, chains, strict=True) if chain.waits]
    for names, text in (
        (cpu, "CPU work is not delayed by other tasks"),
        (copies, "each copy waits for one copy of every other task on its engine, at most"),
        (without, "tasks without GPU segments are left out"),
    ):
        if names:
            said.append(f"{text}: {listed(names)}")
    return said
