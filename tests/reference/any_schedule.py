"""Search over all decisions for a schedule of a small program that keeps all deadlines.

Time runs in whole ticks. In every tick, any CPU, copy engine and thread of the GPU may be given to
any job; everything may be preempted at the end of a tick and go on elsewhere, blocks of kernels
included. No block of a kernel starts while one that has started waits. The segments of a job run in
order, and the kernels and copies of a task in the order of its jobs. The search ends where a state
occurs again, from which the schedule then repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm
from typing import NamedTuple


class Segment(NamedTuple):
    """CPU work ("cpu"), a copy ("in", "out") or a kernel of blocks, each of some ticks."""

    kind: str
    time: int
    blocks: int = 0
    threads: int = 0


class Task(NamedTuple):
    period: int
    deadline: int
    offset: int
    segments: tuple[Segment, ...]
    core: int | None = None


class Machine(NamedTuple):
    """``threads`` and ``blocks`` are those of an SM; ``serial``: one kernel at a time."""

    cpus: int
    engines: int
    sms: int
    threads: int
    blocks: int
    serial: bool = False


class Job(NamedTuple):
    """An open job: its age, its present segment, and the times left of the segment's parts."""

    task: int
    age: int
    at: int
    left: tuple[int, ...]


class Spent(Exception):
    """More states than allowed."""


State = tuple[Job, ...]


def _begun(segment: Segment) -> tuple[int, ...]:
    return (segment.time,) * (segment.blocks if segment.kind == "kernel" else 1)


def _packs(sizes: list[int], sms: list[list[int]], machine: Machine) -> bool:
    """Whether blocks fit the SMs beside those that are there; alike blocks in any order."""
    if not sizes:
        return True
    for sm in sms:
        if sum(sm) + sizes[0] <= machine.threads and len(sm) < machine.blocks:
            sm.append(sizes[0])
            if _packs(sizes[1:], sms, machine):
                return True
            sm.pop()
    return False


def _fits(jobs: State, counts: Sequence[int], tasks: Sequence[Task], machine: Machine) -> bool:
    cpus = kernels = 0
    sizes: list[int] = []
    users: dict[object, int] = {}
    for job, count in zip(jobs, counts, strict=True):
        if count == 0:
            continue
        task = tasks[job.task]
        segment = task.segments[job.at]
        if segment.kind == "cpu":
            cpus += 1
            if task.core is not None:
                users["core", task.core] = users.get(("core", task.core), 0) + 1
        elif segment.kind == "kernel":
            kernels += 1
            sizes += [segment.threads] * count
        else:
            engine = "copy" if machine.engines < 2 else segment.kind
            users[engine] = users.get(engine, 0) + 1
    return (
        cpus <= machine.cpus
        and (kernels <= 1 or not machine.serial)
        and all(count <= 1 for count in users.values())
        and _packs(sorted(sizes, reverse=True), [[] for _ in range(machine.sms)], machine)
    )


def _most(jobs: State, tasks: Sequence[Task]) -> list[int]:
    """Parts of each job's segment that can run: none of a stream's jobs behind its first."""
    found, streams = [], set()
    for job in jobs:  # the jobs of a task by release
        task = tasks[job.task]
        uses_gpu = any(segment.kind != "cpu" for segment in task.segments[job.at :])
        blocked = task.segments[job.at].kind != "cpu" and job.task in streams
        found.append(0 if blocked else len(job.left))
        if uses_gpu:
            streams.add(job.task)
    return found


def _choices(jobs: State, tasks: Sequence[Task], machine: Machine) -> Iterator[tuple[int, ...]]:
    """Numbers of parts that run in a tick. To run more is never worse, so only full ones."""
    most = _most(jobs, tasks)
    allowed = [
        counts
        for counts in product(*(range(many, -1, -1) for many in most))
        if _fits(jobs, counts, tasks, machine)
    ]
    kept = set(allowed)
    for counts in allowed:
        more = ((*counts[:i], count + 1, *counts[i + 1 :]) for i, count in enumerate(counts))
        if not any(other in kept for other in more):
            yield counts


def _after(jobs: State, counts: Sequence[int], tasks: Sequence[Task]) -> State | None:
    """The open jobs after a tick; None if one has reached its deadline."""
    found = []
    for job, count in zip(jobs, counts, strict=True):
        task, at = tasks[job.task], job.at
        # Blocks of a kernel are alike: those with the least left run first.
        left = tuple(time - (i < count) for i, time in enumerate(job.left))
        left = tuple(time for time in left if time > 0)
        if not left:
            at += 1
            if at == len(task.segments):
                continue
            left = _begun(task.segments[at])
        if job.age + 1 >= task.deadline:
            return None
        found.append(Job(job.task, job.age + 1, at, left))
    return tuple(found)


def exists(tasks: Sequence[Task], machine: Machine, most: int = 20_000) -> bool:
    """Whether there is a schedule without a late job; Spent after so many states."""
    latest = max(task.offset for task in tasks)
    hyperperiod = lcm(*(task.period for task in tasks))

    def released(now: int, jobs: State) -> State:
        new = [
            Job(i, 0, 0, _begun(task.segments[0]))
            for i, task in enumerate(tasks)
            if now >= task.offset and (now - task.offset) % task.period == 0
        ]
        return tuple(sorted((*jobs, *new), key=lambda job: (job.task, -job.age)))

    def follow(now: int) -> int:
        return now + 1 if now + 1 < latest + hyperperiod else latest

    def successors(now: int, jobs: State) -> Iterator[tuple[int, State]]:
        for counts in _choices(jobs, tasks, machine):
            after = _after(jobs, counts, tasks)
            if after is not None:
                yield follow(now), released(follow(now), after)

    first = (0, released(0, ()))
    path, seen = {first}, {first}
    stack = [(first, successors(*first))]
    while stack:
        state, others = stack[-1]
        for other in others:
            if other in path:
                return True  # and so on
            if other not in seen:
                seen.add(other)
                if len(seen) > most:
                    raise Spent
                path.add(other)
                stack.append((other, successors(*other)))
                break
        else:
            path.remove(state)
            stack.pop()
    return False
