"""Programs of a workload: everything that a job does, in order, on its core, engines and SMs."""

from __future__ import annotations

import numpy as np

from gpusched.model.gpus.gpu_fields import share_an_engine
from gpusched.model.programs import SEGMENT_KINDS, Programs
from gpusched.model.views.derived_view import (
    Source,
    View,
    given_to_all,
    launching_sentences,
    listed,
    runs_on_cpu,
)
from gpusched.model.workload.kernel_waves import KernelTimes, excess_notes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import DLA, CopyOut, Sync

_MOST = 2_000_000
"""Most segments of all jobs together, each job counted as the longest one."""

FIRST_DLA = 2
"""Number of the engine of DLA 0."""

_COLUMNS = ("kind", "time", "engine", "blocks", "threads", "block_time", "regs", "smem", "waits")
_CPU, _COPY, _KERNEL = map(SEGMENT_KINDS.index, ("cpu", "copy", "kernel"))

_Row = tuple[int, ...]


def program_view(source: Source, *, shapes: bool) -> View[Programs]:
    """Programs of all tasks; see ``Workload.programs``."""
    if shapes and source.platform.gpu is None:
        raise ValueError("platform: got no GPU, expected one; blocks of kernels share its SMs")
    if shapes:
        source.refuse_barriers()
    tasks = source.tasks
    longest = max(sum(part.repeat for part in task.segments) for task in tasks)
    if longest * len(tasks) > _MOST:
        raise ValueError(
            f"tasks: got {len(tasks)} tasks with up to {longest:,} segments in a job, expected at "
            f"most {_MOST:,} in all"
        )
    one_engine = share_an_engine(source.platform.copy_engines)
    rows = [
        _rows(task, times, shapes, one_engine)
        for task, times in zip(tasks, source.times, strict=True)
    ]
    priority = given_to_all(tasks, "priority")
    columns = np.zeros((len(_COLUMNS), len(tasks), longest), np.int64)
    for i, job in enumerate(rows):
        columns[:, i, : len(job)] = np.array(job, np.int64).T
    derived = Programs(
        period=[task.period for task in tasks],
        **dict(zip(_COLUMNS, columns, strict=True)),  # type: ignore[arg-type]
        deadline=[task.deadline for task in tasks],
        jitter=[task.jitter for task in tasks],
        core=[task.core or 0 for task in tasks],
        priority=priority,
        level=source.stream_priorities(tasks),
        name=[task.name for task in tasks],
    )
    return View(derived, (*source.assumptions, *_sentences(source, priority is None)))


def _rows(
    task: Task, times: tuple[KernelTimes | None, ...], shapes: bool, one_engine: bool
) -> list[_Row]:
    """The segments of a job; a segment that is repeated is as many.

    A wait of the thread belongs to the operation before it; behind CPU work there is none.
    """
    found: list[_Row] = []
    for part, of in zip(task.segments, times, strict=True):
        if of is not None:
            row: _Row = (_KERNEL, of.time, 0, *(_shape(of) if shapes else (0, 0, 0, 0, 0)), 0)
        elif isinstance(part, Sync):
            if found and found[-1][0] != _CPU:
                found[-1] = (*found[-1][:-1], 1)
            continue
        elif runs_on_cpu(part):
            row = (_CPU, part.time, 0, 0, 0, 0, 0, 0, 0)
        else:
            engine = int(isinstance(part, CopyOut) and not one_engine)
            if isinstance(part, DLA):
                engine = FIRST_DLA + part.on
            row = (_COPY, part.time, engine, 0, 0, 0, 0, 0, 0)
        found += [row] * part.repeat
    return found


def _shape(of: KernelTimes) -> _Row:
    kernel = of.kernel
    if not kernel.has_shape:
        raise ValueError(
            f"{of.where}: got a kernel without blocks and threads, expected these; kernels share "
            "the SMs by their shapes"
        )
    blocks, threads = kernel.blocks or 0, kernel.threads or 0
    return (blocks, threads, of.needed_block_time(), kernel.regs, kernel.smem)


def _sentences(source: Source, by_deadline: bool) -> list[str]:
    said = excess_notes(source.all_times(), source.tick)
    users = [task for task in source.tasks if not all(map(runs_on_cpu, task.segments))]
    if users:
        said += launching_sentences(source.tasks, source.platform, source.text)
    if by_deadline and len(source.tasks) > 1:
        said.append(
            "CPU priorities are deadline-monotonic (the shorter the deadline, the more urgent), "
            "ties by the order of the tasks"
        )
    if names := [task.name for task in source.tasks if task.jitter]:
        said.append(f"deadlines count from the arrival, before the jitter: {listed(names)}")
    return said
