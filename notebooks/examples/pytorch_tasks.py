"""Tasks of a recipe with GPU work of PyTorch: threads, their cores and priorities, CUDA graphs.

    python pytorch_tasks.py deploy 1000 [dry]

It takes the place of the program in the folder of a recipe: for streams and priority_streams, for
mpcp and fmlp_plus with the lock of the runtime, for gpu_server and edf_serial with its server, and
for plans with its player. Tasks that others release are those of a pipeline.
``gpusched kept deploy/answer.npz deploy/run.gslog`` compares the log with the answer. With
``dry``, cores and priorities stay as they are. Threads of Python run one at a time: what they wait
for each other belongs to the CPU times and the jitter of the answer.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import gpusched as gs

LEAD = 500_000_000  # ns until the first release
WARM_UP = 3
LOCK = "/gpusched-0"
ORDERS = {"mpcp": "priority", "fmlp_plus": "fifo"}
STREAMS = ("streams", "priority_streams")
SERVED = ("gpu_server", "edf_serial")
PLAN = "schedule.json"  # of recipes with a plan


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

    def submit(self, job: gs.rt.Job) -> None:
        """Enqueue a job in the stream of the task, not in the NULL stream."""
        with self.torch.cuda.stream(self.stream):
            self.input.copy_(self.frame, non_blocking=True)
            self.graph.replay()
            self.done.record(self.stream)

    def ended(self, job: gs.rt.Job) -> bool:
        """Look whether the job has ended."""
        return bool(self.done.query())

    def run(self, job: gs.rt.Job) -> None:
        """Enqueue a job and wait for its end."""
        self.submit(job)
        self.done.synchronize()


class Program:
    """The tasks of a recipe with their work, and its log."""

    def __init__(self, torch: Any, folder: str, dry: bool) -> None:
        self.torch, self.folder, self.dry = torch, Path(folder), dry
        self.recipe = gs.Recipe.load(folder)
        workload = gs.WorkloadAnswer.load(self.folder / "answer.npz").workload
        self.has_plan = PLAN in self.recipe.files
        known = self.has_plan or self.recipe.way in (*STREAMS, *ORDERS, *SERVED)
        if not known:
            raise SystemExit(
                f"{self.recipe.label}: expected streams, priority_streams, a lock, a server or a "
                "plan"
            )
        self.workload = workload
        self.places: dict[str, Any] = {place["task"]: place for place in self.recipe.tasks}
        self.work = {
            task.name: Work(torch, self.places[task.name]["stream_priority"])
            for task in workload
            if task.kernels
        }
        self.ends = {name: gs.rt.Ends() for task in workload for name in task.after}
        self.server: gs.rt.Server | None = None
        self.stop = bytearray(1)  # ends all waits of threads

    def jobs(self, task: gs.Task, count: int) -> Iterator[gs.rt.Job]:
        """The jobs of a task, in the calling thread with its core and priority."""
        if not self.dry:
            gs.rt.thread(self.places[task.name]["core"], self.places[task.name]["fifo"])
        offset, period, deadline = (
            int(ticks * self.workload.tick_ns)
            for ticks in (task.offset, task.period, task.deadline)
        )
        if task.after:
            when: dict[str, Any] = {
                "after": [self.ends[name] for name in task.after], "every": task.every
            }  # fmt: skip
        else:
            when = {"period": period, "first": self.first + offset, "count": count}
        return gs.rt.jobs(
            task.name, deadline=deadline, ends=self.ends.get(task.name), log=self.log,
            stop=self.stop, **when,
        )  # fmt: skip

    def run_segment(self, job: gs.rt.Job, slot: gs.rt.Slot | None) -> None:
        """Run the GPU work of a job without a plan, as the way has it."""
        work = self.work[job.task]
        if self.server is not None:  # in its thread
            place = self.places[job.task]
            urgency = place["urgency"]
            if self.recipe.way == "edf_serial":  # the earlier it is due, the more urgent
                urgency = -(job.release + place["due"])
            self.server.run(job, work.submit, work.ended, urgency=urgency, stop=self.stop)
            return
        section = contextlib.nullcontext(False)
        if slot is not None:
            section = slot.section(job, stop=self.stop)
        with section as owner_died, job.segment():
            if owner_died:  # its last kernel may still run
                self.torch.cuda.synchronize()
            work.run(job)

    def run_task(self, task: gs.Task, count: int, lock: gs.rt.Lock | None) -> None:
        """Run the jobs of a task without a plan."""
        with contextlib.ExitStack() as stack:
            jobs, slot = self.jobs(task, count), None
            if lock is not None and task.name in self.work:
                place = self.places[task.name]
                ceiling = 0 if self.dry else place["ceiling"]
                slot = stack.enter_context(lock.join(place["urgency"], ceiling=ceiling))
            for job in jobs:
                # CPU work before the GPU stands here
                if task.name in self.work:
                    self.run_segment(job, slot)
                # and CPU work behind it here

    def run_tasks(self, count: int) -> None:
        """Run all tasks without a plan."""
        self.open_log(self.workload.names)
        lock = None
        with contextlib.ExitStack() as stack:
            if self.recipe.way in ORDERS:
                stack.callback(gs.rt.Lock.remove, LOCK)
                lock = gs.rt.Lock(LOCK, ORDERS[self.recipe.way], log=self.log)
            if self.recipe.way in SERVED:
                self.server = stack.enter_context(
                    gs.rt.Server(**self.place("SERVER"), log=self.log)
                )
            calls = [partial(self.run_task, task, count, lock) for task in self.workload]
            self.run_threads(calls, lambda: None)

    def run_planned(self, task: gs.Task, count: int, player: gs.rt.Player) -> None:
        """Run the CPU work of the jobs of a task under a plan."""
        try:
            for job in self.jobs(task, count):
                # CPU work before the GPU stands here
                if task.name in player.tasks:
                    player.ready(task.name, job.number)
                    if player.done(task.name, job.number) == "stopped":
                        break
                # and CPU work behind it here
        except BaseException:
            player.stop()
            raise

    def run_plan(self, cycles: int) -> None:
        """Play the schedule in this thread; tasks with CPU work have threads of their own."""
        schedule = gs.Schedule.load(self.folder / PLAN)
        if not isinstance(schedule.tasks, gs.KernelTasks):
            raise SystemExit(f"{self.recipe.label}: expected one kernel for each job")
        planned = schedule.tasks.name
        self.open_log((*planned, *(name for name in self.workload.names if name not in planned)))
        player = gs.rt.Player(schedule, **self.place("DISPATCHER"), awake="200us", log=self.log)
        calls = []
        for task in self.workload:
            has_thread = any(isinstance(part, gs.CPU) for part in task.segments)
            if has_thread:
                period = int(task.period * self.workload.tick_ns)
                count = schedule.tasks.hyperperiod * schedule.tick // period * cycles
                calls.append(partial(self.run_planned, task, count, player))
            if work := self.work.get(task.name):
                player.work(task.name, work.submit, work.ended, handshake=has_thread)
        self.run_threads(calls, lambda: player.run(first=self.first, cycles=cycles))

    def place(self, thread: str) -> dict[str, int]:
        """Core and priority of the thread that plays or serves."""
        text = (self.folder / "tasks.h").read_text("utf-8")
        found = re.search(rf"{thread}_CPU = (\d+), {thread}_FIFO = (\d+)", text)
        if self.dry or found is None:
            return {}
        return {"cpu": int(found[1]), "fifo": int(found[2])}

    def open_log(self, names: tuple[str, ...]) -> None:
        """The log; the first release is soon after."""
        self.log = gs.rt.Log(self.folder / "run.gslog", names, threads=len(names) + 2)
        self.first = gs.rt.now() + LEAD

    def run_threads(self, calls: list[Callable[[], None]], meanwhile: Callable[[], object]) -> None:
        """A thread for each call; what fails in one ends all, and is raised here."""
        with ThreadPoolExecutor(len(calls) + 1) as threads:
            try:
                found = [threads.submit(call) for call in calls]
                meanwhile()
                for done in as_completed(found):
                    done.result()
            except BaseException:
                self.stop[0] = 1
                raise


def main(folder: str, jobs: int, dry: bool = False) -> None:
    """Run so many jobs of each task of the recipe in a folder (with a plan: hyperperiods), or those
    that others release, and write run.gslog there."""
    import torch

    program = Program(torch, folder, dry)
    if program.has_plan:
        program.run_plan(jobs)
    else:
        program.run_tasks(jobs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["dry"])
