"""Kernel chains of a workload: the kernels of a job one by one, for priority streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched._support.text import named
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.views.derived_view import (
    COPY_WAITS,
    Source,
    View,
    job_parts,
    kernel_costs,
    listed,
    with_calls,
)
from gpusched.model.workload.kernel_waves import KernelTimes, excess_notes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import Kernel

_MOST_KERNELS = 2_000
"""Maximum number of kernels of a job; a bound examines each of them several times."""


@dataclass
class _Chain:
    """The kernels of a job: times of blocks, shapes and latencies; and the work behind them."""

    kernels: list[Kernel] = field(default_factory=list)
    block_time: list[int] = field(default_factory=list)
    latency: list[int] = field(default_factory=list)
    after: int = 0


def chain_view(source: Source) -> View[KernelChains]:
    """Chains of kernels of the GPU segments of each task; see ``Workload.chains``."""
    if source.platform.gpu is None:
        raise ValueError("platform: got no GPU, expected one; blocks of kernels share its SMs")
    source.refuse_barriers()
    source.refuse_jitter()
    source.refuse_processes("kernels of different contexts do not run at the same time")
    given, source = source, with_calls(source)
    source, waiting = source.with_copy_waits()
    source = source.with_launches_of_copies()
    tasks, chains, without = [], [], []
    for task, times in zip(source.tasks, source.times, strict=True):
        if job_parts(task, times) is None:
            without.append(task.name)
            continue
        tasks.append(task)
        chains.append(_chain(source, task, times))
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
    return View(derived, (*source.assumptions, *_sentences(given, tasks, waiting, without)))


def _chain(source: Source, task: Task, times: tuple[KernelTimes | None, ...]) -> _Chain:
    """The kernels of a task's job; work before a kernel is part of its latency."""
    kernels = sum(kernel.repeat for kernel in task.kernels)
    if kernels > _MOST_KERNELS:
        raise ValueError(
            f"{named(task.name)}: got {kernels:,} kernels in a job, expected at most "
            f"{_MOST_KERNELS:,}"
        )
    chain, gap = _Chain(), 0
    for part, of in zip(task.segments, times, strict=True):
        if of is None:
            gap += part.time * part.repeat
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
            gap = 0
    if not chain.kernels:
        raise ValueError(
            f"{named(task.name)}: got copies without a kernel, expected a kernel; the model has no "
            "copies"
        )
    chain.after = gap
    return chain


def _deadline(source: Source, task: Task, after: int) -> int:
    """The relative deadline of the last kernel."""
    if after >= task.deadline:
        raise ValueError(
            f"{named(task.name)}: got a deadline of {source.text(task.deadline)} with "
            f"{source.text(after)} of work and waits of copies behind the last kernel, expected a "
            "later deadline"
        )
    return task.deadline - after


def _sentences(
    source: Source, tasks: list[Task], waiting: tuple[str, ...], without: list[str]
) -> list[str]:
    said = excess_notes(source.all_times(), source.tick)
    said += kernel_costs(source)
    cpu = [task.name for task in tasks if task.cpu_time]
    for names, text in (
        (cpu, "CPU work is not delayed by other tasks"),
        (waiting, COPY_WAITS),
        (without, "tasks without GPU segments are left out"),
    ):
        if names:
            said.append(f"{text}: {listed(names)}")
    return said
