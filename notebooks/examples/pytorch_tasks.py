"""Tasks of a recipe with GPU work of PyTorch: threads, their cores and priorities, CUDA graphs.

    python pytorch_tasks.py deploy 1000

It takes the place of the program in the folder of a recipe for streams or priority_streams, whose
log ``gpusched kept deploy/answer.npz deploy/run.gslog`` compares with the answer. Threads of Python
run one at a time: what they wait for each other belongs to the CPU times and the jitter of the
answer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gpusched as gs

LEAD = 500_000_000  # ns until the first release
WARM_UP = 3


class Work:
    """The GPU work of a task: replace the module and the shape of its input by yours."""

    def __init__(self, torch: Any, priority: int) -> None:
        self.torch = torch
        self.stream = torch.cuda.Stream(priority=priority)
        self.done = torch.cuda.Event(blocking=True)
        module = torch.nn.Linear(1024, 1024).cuda().eval()
        self.input = torch.zeros((64, 1024), device="cuda")
        self.frame = torch.zeros((64, 1024)).pin_memory()
        with torch.cuda.stream(self.stream), torch.no_grad():
            for _ in range(WARM_UP):  # loads kernels, picks algorithms, fills the allocator
                module(self.input)
        self.stream.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream), torch.no_grad():
            self.output = module(self.input)

    def run(self) -> None:
        """Enqueue a job in the stream of the task, not in the NULL stream, and wait for its end."""
        with self.torch.cuda.stream(self.stream):
            self.input.copy_(self.frame, non_blocking=True)
            self.graph.replay()
            self.done.record(self.stream)
        self.done.synchronize()


class Events:
    """Events of a thread for the log: instants, kinds, tasks, jobs and values."""

    def __init__(self, row: int) -> None:
        self.row = row
        self.rows: list[tuple[int, str, int, int, int]] = []

    def add(self, kind: str, job: int, value: int = 0) -> None:
        self.rows.append((time.monotonic_ns(), kind, self.row, job, value))


def run_task(
    task: gs.Task, place: Any, work: Work | None, events: Events, first: int, period: int, jobs: int
) -> None:
    """Run the jobs of a task in the calling thread."""
    os.sched_setaffinity(0, {place["core"]})  # of this thread
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(place["fifo"]))
    for job in range(jobs):
        release = first + job * period
        while (left := release - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
        events.add("release", job, release)
        used = time.thread_time_ns()
        if work is not None:  # CPU work before the GPU stands here, and behind it that after it
            events.add("submit", job)
            work.run()
            events.add("gpu_end", job)
        events.add("cpu", job, time.thread_time_ns() - used)
        events.add("complete", job)


def main(folder: str, jobs: int) -> None:
    """Run so many jobs of each task of the recipe in a folder, and write run.gslog there."""
    import torch

    recipe = gs.Recipe.load(folder)
    workload = gs.WorkloadAnswer.load(Path(folder, "answer.npz")).workload
    if recipe.way not in ("streams", "priority_streams") or any(task.after for task in workload):
        raise SystemExit(f"{recipe.label}: expected streams or priority_streams, periodic tasks")
    places = {place["task"]: place for place in recipe.tasks}
    works = {
        task.name: Work(torch, places[task.name]["stream_priority"])
        for task in workload
        if task.kernels
    }
    first = time.monotonic_ns() + LEAD
    events = [Events(row) for row in range(len(workload))]
    threads = []
    for task, own in zip(workload, events, strict=True):
        release = first + task.offset * workload.tick_ns
        period = task.period * workload.tick_ns
        given = (task, places[task.name], works.get(task.name), own, release, period, jobs)
        threads.append(threading.Thread(target=run_task, args=given))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    columns = zip(*(row for own in events for row in own.rows), strict=True)
    gs.io.RunLog(workload.names, *map(list, columns)).save(Path(folder, "run.gslog"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
