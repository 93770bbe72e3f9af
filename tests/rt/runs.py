"""Logs of runs that keep a plan or a protocol, made event by event, for tests of ``gs.kept``."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import gpusched as gs

FRAMES = 65535


@dataclass
class Events:
    """Events in the order in which they are added."""

    names: tuple[str, ...]
    rows: list[tuple[int, str, int, int, int]] = field(default_factory=list)

    def add(self, time: int, kind: str, task: int, job: int, value: int = 0) -> None:
        self.rows.append((time, kind, task, job, value))

    def log(self, **facts: Any) -> gs.io.RunLog:
        columns: Any = [list(column) for column in zip(*self.rows, strict=True)]
        return gs.io.RunLog(self.names, *columns, **facts)


def played(
    plan: gs.Schedule, cycles: int, draw: random.Random, *, base: int = 10**6, early: bool = True
) -> Events:
    """The run of a schedule in its order, each batch as soon as it can, ending early or on time."""
    assert plan.tick is not None
    tasks, tick = plan.tasks, plan.tick
    made, done, number = Events(tasks.name), 0, 0
    counts = [0] * tasks.n
    for cycle in range(cycles):
        for f in range(len(plan)):
            start, end = (int(x[f]) * tick for x in (plan.start, plan.end))
            members = plan.members(f)
            releases = [
                base + (int(tasks.offset[i]) + counts[i] * int(tasks.period[i])) * tick
                for i in members
            ]
            begin = max(done, *releases)
            planned = base + cycle * tasks.hyperperiod * tick + start
            made.add(begin, "frame", FRAMES, number, planned)
            done = begin + (draw.randint(1, end - start) if early else end - start)
            for i, release in zip(members, releases, strict=True):
                made.add(release, "release", i, counts[i], release)
                made.add(begin, "submit", i, counts[i])
            for i in members:
                made.add(done, "gpu_end", i, counts[i])
                made.add(done, "complete", i, counts[i])
                counts[i] += 1
            made.add(done, "frame_done", FRAMES, number, planned + end - start)
            number += 1
    return made


@dataclass
class Section:
    """A request of a job: when it asks, and for how long it holds the GPU."""

    task: int
    job: int
    asks: int
    takes: int


def locked(
    names: tuple[str, ...],
    sections: list[Section],
    urgency: list[int],
    by_priority: bool,
    wrong: int = -1,
) -> Events:
    """One holder at a time, in the order of the protocol; grant number ``wrong`` takes the last."""
    made, now, grants = Events(names), 0, 0
    waiting: list[Section] = []
    coming = sorted(sections, key=lambda s: s.asks)
    for section in coming:
        made.add(section.asks, "request", section.task, section.job, urgency[section.task])
    while coming or waiting:
        if not waiting:
            now = max(now, coming[0].asks + 1)
        while coming and coming[0].asks < now:
            waiting.append(coming.pop(0))
        waiting.sort(key=lambda s: (-urgency[s.task] if by_priority else 0, s.asks))
        chosen = waiting.pop(-1 if grants == wrong else 0)
        grants += 1
        made.add(now, "acquire", chosen.task, chosen.job, now)
        now += chosen.takes
        made.add(now, "release_lock", chosen.task, chosen.job)
    made.rows.sort(key=lambda row: row[0])
    return made
