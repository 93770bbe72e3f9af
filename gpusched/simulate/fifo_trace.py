"""A run of FIFO kernels as a Chrome trace."""

from __future__ import annotations

import heapq
import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import chrome_trace
from gpusched._support.arguments import integer

if TYPE_CHECKING:
    from gpusched.simulate.fifo_result import FifoRun

_GPU, _JOBS = 0, 1


def write(run: FifoRun, path: str | os.PathLike[str], tick: int) -> None:
    """What `FifoRun.to_chrome_trace` describes."""
    if integer(tick, "tick") < 1:
        raise ValueError(f"tick = {tick}: must be at least 1 ns")
    other = {"order": run.order, "threads": run.threads, "outcome": run.outcome}
    chrome_trace.write_chrome_trace(path, _events(run, tick), other=other)


def _events(run: FifoRun, tick: int) -> Iterator[dict[str, Any]]:
    started = np.flatnonzero(run.start >= 0)
    yield chrome_trace.process_name(_JOBS, "jobs")
    lanes = Lanes(_JOBS, run.tasks.name)
    # A job that did not finish lasts as far as it is known.
    ends = np.where(run.finish >= 0, run.finish, np.maximum(run.now, run.start))
    late = run.late.tolist()
    for k in started[np.argsort(run.start[started], kind="stable")].tolist():
        task, start, end = int(run.task[k]), int(run.start[k]), int(ends[k])
        lane = yield from lanes.place(task, start, end)
        args: dict[str, Any] = {"job": int(run.job[k])}
        for name in ("release", "deadline", "dispatched", "response"):
            value = int(getattr(run, name)[k])
            args[name] = value * tick if value >= 0 else None
        args["missed"] = late[k]
        label = f"{run.tasks.name[task]} #{args['job']}"
        yield chrome_trace.complete_event(
            label, _JOBS, lane, start * tick, (end - start) * tick, args
        )
    if run.waves is None:
        return
    yield chrome_trace.process_name(_GPU, "GPU")
    lanes = Lanes(_GPU, run.tasks.name)
    waves = run.waves
    width = run.tasks.threads[waves.task]
    rows = zip(
        *(column.tolist() for column in (waves.task, waves.job, waves.blocks)),
        *(column.tolist() for column in (waves.start, waves.end, width)),
        strict=True,
    )
    for task, job, blocks, start, end, size in rows:
        lane = yield from lanes.place(task, start, end)
        label = f"{run.tasks.name[task]} #{job}: {blocks} × {size}"
        args = {"job": job, "blocks": blocks, "threads": blocks * size}
        yield chrome_trace.complete_event(
            label, _GPU, lane, start * tick, (end - start) * tick, args
        )
    instants = np.concatenate([waves.start, waves.end])
    change = np.concatenate([waves.blocks * width, -waves.blocks * width])
    times, index = np.unique(instants, return_inverse=True)
    total = np.zeros(len(times), dtype=np.int64)
    np.add.at(total, index, change)
    for time, busy in zip(times.tolist(), np.cumsum(total).tolist(), strict=True):
        yield chrome_trace.counter_event("threads", _GPU, time * tick, {"busy": busy})


class Lanes:
    """Lanes of a process, as many for each task as it has things at once."""

    def __init__(self, pid: int, names: tuple[str, ...]) -> None:
        self.pid = pid
        self.names = names
        self.busy: dict[int, list[tuple[int, int]]] = {}  # by task: (end, lane)
        self.free: dict[int, list[int]] = {}

    def place(self, task: int, start: int, end: int) -> Generator[dict[str, Any], None, int]:
        """Yields the name of a new lane, if one is needed, and returns the lane."""
        busy, free = self.busy.setdefault(task, []), self.free.setdefault(task, [])
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            # Viewers sort by number: lanes of a task are next to each other.
            lane = (task << 16) + len(busy)
            name = self.names[task] + (f" ({len(busy) + 1})" if busy else "")
            yield chrome_trace.thread_name(self.pid, lane, name)
        heapq.heappush(busy, (end, lane))
        return lane
