"""Launches of periodic tasks and of schedules, as arguments of `Launches`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import at_least, instance, int_array, ticks
from gpusched.model.kernel_chains import rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launching.launch_columns import MOST_STREAMS, one_each
from gpusched.model.schedule import Schedule

__all__ = ["launches_of_schedule", "launches_of_tasks"]


def launches_of_tasks(tasks: Any, until: Any, stream: Any) -> dict[str, Any]:
    """One launch for each job that periodic kernels release before a time."""
    instance(tasks, KernelTasks, "tasks")
    if tasks.is_stack:
        raise ValueError(f"tasks: got a stack of {len(tasks)} sets, expected one set")
    last = ticks(until, "until")
    if last < 0:
        raise ValueError(f"until: got {last}, expected a non-negative number")
    counts = np.maximum(0, -((tasks.offset - last) // tasks.period))
    if int(counts.sum()) > 10**8:
        raise ValueError(
            f"until: got {last} with {counts.sum()} launches, expected at most {10**8}"
        )
    task = np.repeat(np.arange(tasks.n), counts)
    job = np.arange(len(task)) - np.repeat(np.cumsum(counts) - counts, counts)
    time = tasks.offset[task] + job * tasks.period[task]
    order = np.lexsort((task, tasks.priority[task], time))
    task, time = task[order], time[order]
    streams = np.arange(tasks.n) if stream is None else int_array(stream, "stream")
    streams = one_each(streams, tasks.n, "stream", "tasks")
    at_least(streams, 0, "stream")
    for i in np.flatnonzero(streams >= MOST_STREAMS)[:1].tolist():
        raise ValueError(f"stream[{i}]: got {streams[i]}, expected less than {MOST_STREAMS}")
    return {
        "time": time,
        "duration": tasks.block_time[task],
        "stream": streams[task],
        "blocks": tasks.blocks[task],
        "threads": tasks.threads[task],
        "regs": tasks.regs[task],
        "smem": tasks.smem[task],
        "name": [tasks.name[i] for i in task.tolist()],
        "stream_context": np.zeros(int(streams.max()) + 1, dtype=np.int64),
        "stream_name": list(tasks.name) if stream is None else None,
    }


def launches_of_schedule(schedule: Any) -> dict[str, Any]:
    """One launch for each kernel of a schedule, at the start of its frame."""
    if not isinstance(schedule, Schedule):
        raise TypeError(f"schedule: got {type(schedule).__name__}, expected Schedule")
    tasks, rows = schedule.tasks, rows_of(schedule.tasks)
    task = np.array(
        [i for frame in range(len(schedule)) for i in schedule.members(frame)], dtype=np.int64
    )
    batches = [schedule._order(mask) for mask in schedule.batch.tolist()]
    row = np.array([i for batch in batches for i in batch], dtype=np.int64)
    return {
        "time": np.repeat(schedule.start, [len(batch) for batch in batches]),
        "duration": rows.block_time[row],
        "stream": task,
        "blocks": rows.blocks[row],
        "threads": rows.threads[row],
        "regs": rows.regs[row],
        "smem": rows.smem[row],
        "name": [rows.name[i] for i in row.tolist()],
        "stream_context": np.zeros(tasks.n, dtype=np.int64),
        "stream_name": list(tasks.name),
    }
