"""Pipelines: bounds of releases, ends and paths, and a simulator of small systems, tick by tick.

Tasks release each other (``after``), and read the newest results of others (``reads``). `ends` and
`path_bounds` are written from the theorems; `simulate` and `chains` play a system and look up what
each output of a path was based on. A result that ends at the instant of a reading is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf

from reference import program

# Releases and ends --------------------------------------------------------------------------------


@dataclass
class Alone(program.System):
    """A system as one task of a group that keeps apart meets it: without those of its own line."""

    without: frozenset = frozenset()

    def others(self, i: int) -> list[int]:
        return [k for k in super().others(i) if k not in self.without]


@dataclass(frozen=True)
class Ends:
    """Per task: earliest and latest release, latest end, response from the release, and whether the
    bound is that of a window of paths; None where there is no bound."""

    earliest: list
    latest: list
    end: list
    response: list
    window: list


def ancestors(after: Sequence[Sequence[int]], i: int) -> set[int]:
    found: set[int] = set()
    for p in after[i]:
        found |= {p} | ancestors(after, p)
    return found


def source_of(after: Sequence[Sequence[int]], i: int) -> int:
    return source_of(after, after[i][0]) if after[i] else i


def paths_to(after: Sequence[Sequence[int]], i: int) -> list[list[int]]:
    """All paths of releases from the source to i."""
    return [[*path, i] for p in after[i] for path in paths_to(after, p)] if after[i] else [[i]]


def in_order(after: Sequence[Sequence[int]]) -> list[int]:
    return sorted(range(len(after)), key=lambda i: (len(ancestors(after, i)), i))


def ends(
    way: str,
    machine: program.Machine,
    tasks: Sequence[program.Task],
    after: Sequence[Sequence[int]],
    best: Sequence[int],
    launches: str = "graph",
    waiting: str = "suspend",
    windows: bool = True,
) -> Ends:
    """The least bounds that agree with each other; see Theorems J and W."""
    n = len(tasks)
    jobs = [program.split(t.segments, launches, machine) for t in tasks]
    graph, spin = launches == "graph", waiting == "spin"
    s = program.System(way, machine, list(tasks), graph, spin, False, jobs)
    earliest = [0] * n
    for i in in_order(after):
        earliest[i] = max((earliest[p] + best[p] for p in after[i]), default=0)
    s.R = [t.jitter + job.cpu for t, job in zip(tasks, jobs, strict=True)]
    apart = {i for i in range(n) if not after[i]} if windows and not spin else set()
    apart = apart if way in ("one_stream", "time_slices") else set()
    group = [source_of(after, i) for i in range(n)]
    horizon = {
        g: sum(4 * (t.period + t.deadline + t.jitter) for i, t in enumerate(tasks) if group[i] == g)
        for g in set(group)
    }
    latest, response, alone = [0] * n, [0] * n, [0] * n
    before: object = None
    while before != (s.R, apart):
        before = (list(s.R), set(apart))
        for i in in_order(after):
            if s.R[i] == inf:
                continue
            if after[i]:
                latest[i] = max(earliest[p] + s.R[p] for p in after[i])
                s.tasks[i] = replace(s.tasks[i], jitter=latest[i] - earliest[i])
                if latest[i] == inf:
                    s.R[i] = inf
                    apart.discard(group[i])
                    continue
            if group[i] in apart:
                end = window_end(s, after, apart, group, alone, i)
                if end <= tasks[group[i]].period:
                    s.R[i] = max(s.R[i], end - earliest[i])
                    response[i] = alone[i]
                    continue
                apart.discard(group[i])
            s.R[i] = max(s.R[i], program.response(s, i, "arrival"))
            response[i] = program.response(s, i, "release") if s.R[i] < inf else inf
            if earliest[i] + s.R[i] > horizon[group[i]]:
                s.R[i] = inf
    known = [r < inf for r in s.R]

    def where(values: Sequence) -> list:
        return [v if there and v < inf else None for v, there in zip(values, known, strict=True)]

    of = [response[i] if after[i] else s.R[i] for i in range(n)]
    return Ends(
        earliest,
        [latest[i] if after[i] else tasks[i].jitter for i in range(n)],
        where([a + r for a, r in zip(earliest, s.R, strict=True)]),
        where(of),
        [group[i] in apart for i in range(n)],
    )


def edf_ends(
    machine: program.Machine,
    tasks: Sequence[program.Task],
    after: Sequence[Sequence[int]],
    best: Sequence[int],
    launches: str = "graph",
) -> Ends | None:
    """The ends of units that run one at a time, the earliest deadline first; None if not all are
    in time.  Deadlines of released tasks count from the release.

    A task with a unit ends by its deadline; any other one ends when its work, delayed by others
    that end as late as they may, is done.
    """
    n = len(tasks)
    jobs = [program.split(t.segments, launches, machine) for t in tasks]
    s = program.System("edf_serial", machine, list(tasks), launches == "graph", False, False, jobs)
    earliest = [0] * n
    for i in in_order(after):
        earliest[i] = max((earliest[p] + best[p] for p in after[i]), default=0)
    s.R = [0] * n
    before: object = None
    units = []
    while before != s.R:
        before, units = list(s.R), []
        latest = [
            max((earliest[p] + s.R[p] for p in after[i]), default=tasks[i].jitter) for i in range(n)
        ]
        ends = []
        for i, t in enumerate(tasks):
            jitter = latest[i] - earliest[i]
            front, unit, behind = program.around(s, i)
            if front + unit + behind + (0 if after[i] else jitter) > t.deadline:
                return None
            of = t.deadline + (jitter if after[i] else 0) if unit else jitter + front
            if of > t.period or t.deadline > t.period:
                return None
            ends.append(of)
            if unit:
                due = t.deadline - behind
                late = jitter if after[i] else 0
                units.append(program.Unit(unit, t.period, due, due - front - jitter + late, late))
        s.R = ends
    if not program.in_time(units):
        return None
    return Ends(
        earliest,
        latest,
        [a + r for a, r in zip(earliest, s.R, strict=True)],
        [r - (latest[i] - earliest[i] if after[i] else 0) for i, r in enumerate(s.R)],
        [False] * n,
    )


def beside(s: program.System, after: Sequence, apart: set, group: Sequence, i: int) -> Alone:
    """The system as task i meets it: tasks of its line are not there, others of its group once."""
    mine = [k for k in range(len(after)) if group[k] == group[i] and k != i]
    line = {k for k in mine if k in ancestors(after, i) or i in ancestors(after, k)}
    tasks = [replace(t, period=10**15) if k in mine else t for k, t in enumerate(s.tasks)]
    found = Alone(s.way, s.machine, tasks, s.graph, s.spin, s.whole_ticks, s.jobs)
    found.R, found.without = s.R, frozenset(line)
    return found


def window_end(
    s: program.System, after: Sequence, apart: set, group: Sequence, alone: list, i: int
) -> float:
    """The longest window of a path to i, from the arrival of the source; inf beyond its period."""
    source = group[i]
    most = s.tasks[source].period
    of = beside(s, after, apart, group, i)
    w = alone[i]
    while (value := program.window(of, i, 1, w)) > w:
        if value > most:
            alone[i] = inf
            return inf
        w = value
    alone[i] = w
    worst = 0
    for path in paths_to(after, i):
        stages = {k: beside(s, after, apart, group, k) for k in path}
        own = sum(s.jobs[k].cpu + program.own(s, k) for k in path) + s.tasks[source].jitter
        w = s.tasks[source].jitter
        while (value := own + waits_of_path(s, stages, group, alone, w)) > w:
            if value > most:
                return inf
            w = value
        worst = max(worst, w)
    return worst


def waits_of_path(
    s: program.System, stages: dict[int, Alone], group: Sequence, alone: list, w: int
) -> float:
    """Work of others in a window of a path, the smaller of two counts for each of them."""
    total = 0
    inside = group[next(iter(stages))]
    for h in range(len(group)):
        C = s.jobs[h].cpu
        hit = [k for k in stages if h in stages[k].hp(k)]
        apart = sum(program.carried(stages[k], h, alone[k], C) for k in hit)
        together = 1 if group[h] == inside else program.carried(s, h, w, C)
        total += program.product(min(together, apart), C)
        for what in {kind for k in stages for kind in program.requests(s, k)}:
            count = {k: program.requests(s, k)[what] for k in stages if k != h}
            count = {k: number for k, number in count.items() if number > 0}
            items = program.items_of(s, h, what)
            if not count or not any(map(sum, items)):
                continue
            apart = sum(
                program.share(stages[k], k, h, alone[k], items, number)
                for k, number in count.items()
                if h in stages[k].others(k)
            )
            together = sum(map(sum, items))
            if group[h] != inside:
                first = next(iter(stages))
                together = program.share(s, first, h, w, items, sum(count.values()))
            total += min(together, apart)
    return total


def waiting_results(ends: Ends, after: Sequence, best: Sequence, period: Sequence, i: int) -> int:
    """Most results of a task before i that wait for it (Theorem Q)."""
    return max(
        max(1, -((ends.earliest[p] + best[p] - ends.end[i] + best[i]) // period[i]))
        for p in after[i]
    )


# Paths --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leg:
    """Tasks of a path that release each other: period of the last one, latest end of it, earliest
    release of the first one, and offset of the source."""

    period: int
    end: int
    earliest: int = 0
    offset: int = 0


def any_phases(legs: Sequence[Leg]) -> tuple[int, int, int, int]:
    """Latency, reaction, age and held age for all phases (Theorem S)."""
    total = sum(leg.end - leg.earliest for leg in legs)
    latency = total + sum(leg.period for leg in legs[1:])
    age = total + sum(leg.period for leg in legs[:-1])
    return latency, latency + legs[0].period, age, age + legs[-1].period


def given_phases(legs: Sequence[Leg]) -> tuple[int, int, int, int]:
    """The same for sources with these offsets on one clock (Theorem P), job by job."""
    cycle = math.lcm(*(leg.period for leg in legs))
    latency = age = -(10**18)
    for k in range(cycle // legs[0].period):
        at = first = legs[0].offset + k * legs[0].period
        for one, two in pairwise(legs):
            due = at + one.end - two.offset - two.earliest
            at = two.offset + -(-due // two.period) * two.period
        latency = max(latency, at + legs[-1].end - first - legs[0].earliest)
    for k in range(cycle // legs[-1].period):
        at = last = legs[-1].offset + k * legs[-1].period
        for one, two in zip(legs[-2::-1], legs[:0:-1], strict=False):
            at = one.offset + (at + two.earliest - one.end - one.offset) // one.period * one.period
        age = max(age, last + legs[-1].end - at - legs[0].earliest)
    return latency, latency + legs[0].period, age, age + legs[-1].period


# Systems that are played --------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A task: segments are pairs (kind, least time, most time), with kinds "C" and "G"."""

    core: int
    priority: int
    segments: tuple
    period: int = 0  # 0: released by `after`
    after: tuple = ()
    every: int = 1
    reads: tuple = ()
    jitter: int = 0
    offset: int = 0


@dataclass
class Job:
    task: int
    number: int
    arrival: int  # of the job of its source
    release: int
    times: list
    start: int = -1
    end: int = -1
    at: int = 0
    left: int = 0
    asked: int = -1


@dataclass
class Play:
    """Jobs of each task, in order, and the most results that waited for a task."""

    jobs: list[list[Job]]
    waiting: list[int] = field(default_factory=list)


def simulate(
    stages: Sequence[Stage],
    until: int,
    phase: Sequence[int],
    time: Callable[[int, int, int], int],
    late: Callable[[int, int], int],
    by_priority: bool = False,
    tie: Callable[[int], float] = float,
) -> Play:
    """Play arrivals before `until` to their ends; at each tick ends, releases, then choices.

    Jobs of a task are released in order.

    time(task, job, segment) and late(task, job) give times and jitters; requests of one instant
    are served by `tie` of the tasks.
    """
    n = len(stages)
    jobs: list[list[Job]] = [[] for _ in range(n)]
    open_jobs: list[list[Job]] = [[] for _ in range(n)]
    ended = [0] * n
    waiting = [0] * n
    gpu: Job | None = None
    coming = []
    for i, s in enumerate(stages):
        before = 0
        for arrival in range(phase[i], until, s.period) if s.period else ():
            before = max(before, arrival + late(i, (arrival - phase[i]) // s.period))
            coming.append((before, arrival, i))
    coming.sort(reverse=True)

    def release(i: int, arrival: int, t: int) -> None:
        number = len(jobs[i])
        job = Job(
            i, number, arrival, t, [time(i, number, c) for c in range(len(stages[i].segments))]
        )
        job.left = job.times[0]
        jobs[i].append(job)
        open_jobs[i].append(job)

    t = -1
    while coming or any(open_jobs):
        t += 1
        changed = True
        while changed:
            changed = False
            for i in range(n):
                job = open_jobs[i][0] if open_jobs[i] else None
                if job is None or job.left > 0:
                    continue
                changed = True
                if gpu is job:
                    gpu = None
                job.at += 1
                if job.at < len(job.times):
                    job.left, job.asked = job.times[job.at], -1
                    continue
                job.end = t
                open_jobs[i].pop(0)
                ended[i] += 1
        while coming and coming[-1][0] <= t:
            _, arrival, i = coming.pop()
            release(i, arrival, t)
        for i in in_order([s.after for s in stages]):
            s = stages[i]
            while s.after and all(ended[p] > len(jobs[i]) * s.every for p in s.after):
                release(i, jobs[s.after[0]][len(jobs[i]) * s.every].arrival, t)
        running: dict[int, Job] = {}
        for i, s in enumerate(stages):
            if not open_jobs[i]:
                continue
            job = open_jobs[i][0]
            if s.segments[job.at][0] == "G":
                job.asked = t if job.asked < 0 else job.asked
            elif s.core not in running or s.priority < stages[running[s.core].task].priority:
                running[s.core] = job
        if gpu is None:
            asking = [own[0] for own in open_jobs if own and own[0].asked >= 0]
            asking = [job for job in asking if stages[job.task].segments[job.at][0] == "G"]
            order = (
                (lambda j: (stages[j.task].priority,))
                if by_priority
                else (lambda j: (j.asked, tie(j.task)))
            )
            gpu = min(asking, key=order, default=None)
        for job in [*running.values(), *([gpu] if gpu else [])]:
            job.start = t if job.start < 0 else job.start
            job.left -= 1
        for i, s in enumerate(stages):
            for p in s.after:
                unread = [j for j in jobs[i] if j.start < 0 or j.start > t]
                there = sum(1 for j in unread if jobs[p][j.number * s.every].end >= 0)
                waiting[i] = max(waiting[i], there)
    return Play(jobs, waiting)


def chains(play: Play, stages: Sequence[Stage], path: Sequence[int], stop: int) -> dict[str, list]:
    """Latencies, reactions, ages and held ages of a path, of samples that arrive before `stop`.

    Forward: the first job of the next task that reads no earlier than the result is there.
    Backward: the job whose result was read. Outputs before a reading of each task are left out, and
    samples with none behind them.
    """
    found: dict[str, list] = {"latency": [], "reaction": [], "age": [], "held age": []}
    first, last = path[0], path[-1]

    def begin(job: Job) -> int:
        return job.release if stages[first].after else job.arrival

    forward: list[tuple[int, int]] = []  # sample, end of its output
    for job in play.jobs[first]:
        one: Job | None = job
        for a, b in pairwise(path):
            if one is None or one.end < 0:
                one = None
            elif a in stages[b].after:
                whole, rest = divmod(one.number, stages[b].every)
                there = rest == 0 and whole < len(play.jobs[b])
                one = play.jobs[b][whole] if there else None
            else:
                one = next((j for j in readers(stages, path, b, play) if j.start >= one.end), None)
        if one is not None and one.end >= 0 and job.arrival < stop:
            forward.append((begin(job), one.end))
    found["latency"] = [end - start for start, end in forward]
    step = stride(stages, path, 0)
    used = play.jobs[first][::step]
    before = {begin(two): begin(one) for one, two in pairwise(used)}
    found["reaction"] = [end - before[start] for start, end in forward if start in before]
    outputs: list[tuple[int, int]] = []
    for job in play.jobs[last]:
        one = job
        for b, a in zip(path[::-1], path[-2::-1], strict=False):
            if one is None:
                break
            if a in stages[b].after:
                one = play.jobs[a][one.number * stages[b].every]
            else:
                start = one.start
                one = next((j for j in play.jobs[a][::-1] if 0 <= j.end <= start), None)
        if one is not None and job.end >= 0 and job.arrival < stop:
            outputs.append((begin(one), job.end))
    found["age"] = [end - start for start, end in outputs]
    pairs = pairwise(outputs)
    found["held age"] = [later - start for (start, _), (_, later) in pairs]
    return found


def stride(stages: Sequence[Stage], path: Sequence[int], place: int) -> int:
    """Of so many jobs of a task of a path one is processed by the tasks that it releases there."""
    step = 1
    for x, y in zip(path[place:], path[place + 1 :], strict=False):
        if x not in stages[y].after:
            break
        step *= stages[y].every
    return step


def readers(stages: Sequence[Stage], path: Sequence[int], b: int, play: Play) -> list[Job]:
    """Jobs of b whose results the rest of the path processes."""
    return play.jobs[b][:: stride(stages, path, path.index(b))]
