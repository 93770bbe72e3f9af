"""Launches of a workload: the GPU segments of all jobs that are released before a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.text import named
from gpusched.model.launch_columns import KINDS
from gpusched.model.launches import Launches
from gpusched.model.views.derived_view import (
    JobParts,
    LaunchView,
    Source,
    calls_are_free,
    job_parts,
    listed,
    runs_on_cpu,
)
from gpusched.model.workload.kernel_waves import excess_notes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import DLA, CopyIn, Sync
from gpusched.model.workload.time_units import MOST_TICKS

PERIODIC_RELEASES = "one release pattern: jobs are released periodically, from the offsets"
"""Assumption of all launches of a workload."""

_MOST = 10**7
_COLUMNS = ("kind", "blocks", "threads", "regs", "smem", "duration")


@dataclass
class _Operations:
    """The launches of one job of a task: rows of ``_COLUMNS``, and names."""

    rows: Int64Array
    names: list[str] = field(default_factory=list)


def launch_view(source: Source, until: int, *, one_stream: bool) -> LaunchView:
    """Launches of the jobs released before ``until`` ticks; see ``Workload.launches``."""
    if source.platform.gpu is None:
        raise ValueError("platform: got no GPU, expected one; launches are of blocks on its SMs")
    source.refuse_jitter()
    source.refuse_barriers()
    if not calls_are_free(source.tasks, source.platform):
        raise ValueError(
            "launches: got sync launches, calls that take CPU time, gaps or wake-ups, expected "
            "none; the times of launches are fixed beforehand"
        )
    if one_stream:
        source.refuse_processes("a stream is of one context")
    priorities = source.stream_priorities(source.tasks)
    if one_stream and len(set(priorities)) > 1:
        raise ValueError(
            f"stream_priority: got {len(set(priorities))} different priorities, expected one with "
            "streams='one'"
        )
    latency = source.platform.launch_latency
    found, total = [], 0
    for i, task in enumerate(source.tasks):
        parts = job_parts(task, source.times[i])
        if parts is None:
            continue
        count = max(0, -((task.offset - until) // task.period))
        total += count * sum(part.repeat for part, _ in parts.inner)
        if total > _MOST:
            raise ValueError(
                f"until: got {source.text(until)} with more than {_MOST} launches, expected fewer"
            )
        start = task.offset + parts.before + latency
        if start + (count - 1) * task.period > MOST_TICKS:
            raise OverflowError(
                f"{named(task.name)}: got launches at 2**60 ticks or more, expected less"
            )
        found.append((i, count, start, _operations(source, task, parts)))
    if not found:
        raise ValueError("tasks: got none with GPU segments, expected at least one")
    tasks, jobs, time = _positions(source, found)
    rows = np.concatenate([np.tile(each.rows, (count, 1)) for _, count, _, each in found])
    names = [name for _, count, _, each in found for _ in range(count) for name in each.names]
    urgency = _urgency(source.tasks)  # of two calls at one instant, the more urgent one is first
    order = np.lexsort((jobs, tasks, urgency[tasks], np.array(priorities)[tasks], time))
    processes = source.processes()
    used = [i for i, *_ in found]  # the tasks with streams
    stream = np.full(len(source.tasks), -1)
    stream[used] = np.arange(len(used))
    launches = Launches(
        time[order],
        stream=np.zeros(len(order), np.int64) if one_stream else stream[tasks[order]],
        **dict(zip(_COLUMNS, rows[order].T, strict=True)),
        name=[names[i] for i in order.tolist()],
        stream_context=[0]
        if one_stream
        else [processes.index(source.tasks[i].process) for i in used],
        stream_priority=priorities[:1] if one_stream else [priorities[i] for i in used],
        stream_name=None if one_stream else [source.tasks[i].name for i in used],
    )
    said = (*source.assumptions, *_sentences(source, latency))
    return LaunchView(launches, frozen(tasks[order]), frozen(jobs[order]), said)


def _urgency(tasks: Sequence[Task]) -> Int64Array:
    """CPU priorities of the tasks; deadline-monotonic ones if none are given to all."""
    given = [task.priority for task in tasks if task.priority is not None]
    if len(given) < len(tasks):
        given = [task.deadline for task in tasks]
    return np.array(given, np.int64)


def _refuse_waits_between(task: Task) -> None:
    places = [i for i, part in enumerate(task.segments) if not runs_on_cpu(part)]
    if any(isinstance(part, Sync) for part in task.segments[places[0] : places[-1]]):
        raise ValueError(
            f"{named(task.name)}: got a wait of its thread between GPU segments, expected none; "
            "the times of launches are fixed beforehand"
        )


def _operations(source: Source, task: Task, parts: JobParts) -> _Operations:
    if parts.between:
        raise ValueError(
            f"{named(task.name)}: got {source.text(parts.between)} of CPU work between GPU "
            "segments, expected none; the times of launches are fixed beforehand"
        )
    _refuse_waits_between(task)
    if any(isinstance(part, DLA) for part in task.segments):
        raise ValueError(f"{named(task.name)}: got work on a DLA, expected kernels and copies")
    rows, names = [], []
    seen: Counter[str] = Counter()
    for part, of in parts.inner:
        if of is None:
            kind = "copy_in" if isinstance(part, CopyIn) else "copy_out"
            row = (KINDS.index(kind), 1, 1, 0, 0, part.time)
        else:
            kernel, time = of.kernel, of.needed_block_time()
            assert kernel.blocks is not None and kernel.threads is not None
            shape = (kernel.blocks, kernel.threads, kernel.regs, kernel.smem)
            kind = "kernel"
            row = (KINDS.index(kind), *shape, time)
        rows += [row] * part.repeat
        seen[kind] += 1
        number = f" {seen[kind]}" if seen[kind] > 1 else ""
        name = part.name or f"{kind.replace('_', ' ')}{number}"
        names += [f"{task.name}: {name}"] * part.repeat
    return _Operations(np.array(rows, np.int64), names)


def _positions(
    source: Source, found: list[tuple[int, int, int, _Operations]]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Task, job and time of each launch, task by task."""
    tasks, jobs, times = [], [], []
    for i, count, start, operations in found:
        each = np.repeat(np.arange(count), len(operations.names))
        tasks.append(np.full(len(each), i))
        jobs.append(each)
        times.append(start + each * source.tasks[i].period)
    return np.concatenate(tasks), np.concatenate(jobs), np.concatenate(times)


def _sentences(source: Source, latency: int) -> list[str]:
    said = excess_notes(source.all_times(), source.tick)
    said.append(PERIODIC_RELEASES)
    if latency:
        said.append(
            f"the first launch of a job takes effect {source.text(latency)} late; those behind it "
            "are launched meanwhile"
        )
    if names := [task.name for task in source.tasks if task.cpu_time]:
        said.append(
            "CPU work is not delayed by other tasks: GPU work is launched when the CPU work before "
            f"it has taken its time; CPU work behind it is left out: {listed(names)}"
        )
    return said
