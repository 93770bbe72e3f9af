"""Verdicts of `gs.compare` attacked by a simulation of the whole machine.

Random small programs (`attack_programs`, by kind) are compared, and each claim is tested with the
machine of `tests/reference/machine_ways.py`, which shares nothing with the tests of the package:

- guaranteed: under the row's way, with the cores, SMs, server, priorities, instances and schedule
  of the row's answer, no response exceeds a bound and no job is late. The runs have whole times and
  periodic releases; shorter times; sporadic gaps; other offsets; ties by draw. Where a response
  comes near its bound, the first releases are changed step by step as long as it does not fall.
  Rows of pbs, edf_serial and edf_parallel hold for the stated releases only, so only times and ties
  vary. (edf_parallel: whole times only, by the frames of its schedule.)
- bounded tasks of other rows: no response exceeds their bounds.
- not schedulable: some run of the way is late. For pbs: no run of a way without overlap of kernels
  keeps all deadlines. For tests of tasks with cores: the test accepts no other choice of cores.
- impossible: every run of every way with all cores is late, also with a tick that is 60 times
  finer, and no row is guaranteed.
- the tightest task of a row whose simulation is late is one of the late tasks.

The kind "known" has the programs with wrong verdicts themselves, by their numbers (--first 1
--count 23).

A contradiction is an alarm: it is printed as Python source, made small first by leaving out tasks
and segments. The exit code is 1 if there is any. A program depends on its kind and number alone.

    python benchmarks/verdict_attack.py [--count 1000] [--first 0] [--kind NAME ...]
        [--ways NAME ...] [--shown 1] [--no-shrink] [--save]
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attack_programs import KINDS, Case, attack_program
from machine import describe

import gpusched as gs
from gpusched.comparison.delayed_programs import delayed_programs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import INSIDE
from gpusched.comparison.verdicts.premises import cpu_side
from gpusched.ways import WAYS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.reference.machine_ways import play  # noqa: E402

PLANNED = ("pbs", "edf_parallel")  # ways that are played by the frames of a schedule
IN_CHANNELS = ("streams", "priority_streams", "mps", "mps_static", "green_contexts")
STATED = (*PLANNED, "edf_serial")  # ways with tests that hold for the stated releases
PLAYED = (
    "one_stream", "streams", "priority_streams", "mps", "time_slices", "gcaps", "mpcp", "fmlp_plus",
    "gpu_server", "stgm", "srm", "driver", "edf_serial",
)  # fmt: skip
"""Ways that can be played for any program without an answer."""
PARTS = {"green_contexts": "green_contexts", "mps_static": "mps_partitions"}
"""Ways with parts of the GPU, and the facts of a platform that have them."""
APART = ("mpcp", "fmlp_plus", "gpu_server", "srm", "edf_serial", "priority_streams", "streams")
"""Ways in whose runs kernels may well run one at a time."""
MORE = {
    "mig": (gs.ways.Mig(within="one_stream"), gs.ways.Mig(within="priority_streams")),
    "time_slices": (
        gs.ways.TimeSlices(mode="busy"),
        gs.ways.TimeSlices(ring="cyclic"),
        gs.ways.TimeSlices(mode="busy", ring="cyclic"),
    ),
}
"""Forms of ways that `gs.compare` has no row for unless they are asked for."""
WITH_CORES = ("gcaps", "mpcp", "fmlp_plus", "gpu_server", "time_slices")  # tests that choose cores
CLIMB, NEAR = 8, 0.7  # steps; share of a bound from which they are taken
FINER = 60
NO_LIMIT = 2**60
LONGEST = 20_000  # ticks of a run that repeats a miss of a simulation
MOST = 5_000  # jobs of a run that has to show a miss of an impossible program


# Runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A way with all that it needs to be played: facts of the row's answer are in the workload."""

    workload: gs.Workload
    platform: gs.Platform
    way: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pattern:
    """Variation of a run: first releases, gaps, times, ties.

    ``first`` None: the stated offsets; ``gap``: largest addition to a period; ``early``: seed of
    shorter times, None for whole ones; ``seed``: of gaps and ties, None for ties by index;
    ``ended``: channels let go of kernels when these have ended, not when they are dispatched.
    """

    first: tuple[int, ...] | None = None
    gap: int = 0
    early: int | None = None
    seed: int | None = None
    ended: bool = False


def early(seed: int) -> Callable[[int, int, int, int, int], int]:
    """Times of operations: whole in a third of all cases, else shorter."""

    def time_of(task: int, job: int, item: int, block: int, whole: int) -> int:
        rng = Random(f"{seed} {task} {job} {item} {block}")
        return whole if rng.random() < 0.34 else rng.randint(1, whole)

    return time_of


def releases(w: gs.Workload, pattern: Pattern, until: int) -> list[list[tuple[int, int]]] | None:
    """Arrivals and releases of the jobs of each task; None: as stated."""
    if pattern.first is None and not pattern.gap and not any(one.jitter for one in w):
        return None
    rng, found = Random(f"gaps {pattern.seed}"), []
    for i, one in enumerate(w):
        at = one.offset if pattern.first is None else pattern.first[i]
        jobs: list[tuple[int, int]] = []
        while at < until:
            jobs.append((at, at + (rng.randint(0, one.jitter) if one.jitter else 0)))
            at += one.period + rng.choice((0, 0, rng.randint(0, pattern.gap)))
        found.append(jobs)
    return found


def arguments(played: Played, pattern: Pattern, until: int) -> dict[str, Any]:
    """The arguments of a run, except times."""
    found = {"until": until, **played.options}
    if played.way in PLANNED:
        found["repeat"] = 2 * until + 1
        found["table"] = [row for row in found["table"] if row[0] < until]
    if pattern.ended:
        found["channel_release"] = "ended"
    given = releases(played.workload, pattern, until)
    return found | {
        key: value for key, value in (("releases", given), ("seed", pattern.seed)) if value
    }


def without_channels(p: gs.Platform) -> gs.Platform:
    """A dispatcher holds kernels back before they are in a channel."""
    return p.replace(channels=0)


class MachineError(Exception):
    """The machine cannot play a program; with the source of the run."""


def run_of(played: Played, pattern: Pattern, until: int) -> Any:
    """A run of the machine."""
    way, p = played.way, played.platform
    if way in PLANNED:
        way, p = "pbs", without_channels(p)
    times = None if pattern.early is None else early(pattern.early)
    given = arguments(played, pattern, until)
    try:
        return play(played.workload, p, way, times=times, **given)
    except Exception as error:
        said = f"{way}: the machine fails: {type(error).__name__} {error}"
        raise MachineError(source(played, pattern, until, said)) from error


def program(w: gs.Workload, p: gs.Platform) -> tuple[str, str]:
    """Statements that make a program."""
    return f"w = Workload([{', '.join(map(repr, w))}], tick={w.tick!r})", f"p = {p!r}"


def source(played: Played, pattern: Pattern, until: int, said: str) -> str:
    """The run as a program to be started in the folder of this file."""
    way, p = played.way, played.platform
    if way in PLANNED:
        way, p = "pbs", without_channels(p)
    given = arguments(played, pattern, until)
    if pattern.early is not None:
        text = f"times=early({pattern.early}), "
    else:
        text = ""
    text += ", ".join(f"{key}={value!r}" for key, value in given.items())
    return "\n".join(
        (
            f"# {said}",
            "from verdict_attack import early, play",
            "from gpusched import CPU, GPU, CopyIn, CopyOut, Kernel, Platform, Task, Workload",
            *program(played.workload, p),
            f"run = play(w, p, {way!r}, {text})",
            "print(run.worst, run.late_jobs)",
        )
    )


def length(w: gs.Workload, hyperperiods: int = 2) -> int:
    """Length of a run: all offsets, and some hyperperiods or the longest periods.

    Responses beyond periods grow slowly, and get three times as long.
    """
    most = max(task.period for task in w)
    start = max(task.offset for task in w) + max(task.deadline for task in w)
    found = min(max(hyperperiods * w.hyperperiod, 6 * most), 4 * hyperperiods * most)
    return start + found * (3 if any(task.deadline > task.period for task in w) else 1)


def frames(answer: gs.WorkloadAnswer, until: int) -> list[Any]:
    """The frames of a schedule up to a time, with the kernels of each: task, job, kernel."""
    schedule, w = answer.schedule, answer.workload
    tasks = schedule.tasks
    rows: list[tuple[str, tuple[int, ...]]] = []
    for name in tasks.name:
        count = sum(each.repeat for each in w[name].kernels)
        first = 0
        for size in answer.units.get(name, (1,) * count):
            rows.append((name, tuple(range(first, first + size))))
            first += size
    plan = list(
        zip(schedule.start.tolist(), schedule.end.tolist(), schedule.batch.tolist(), strict=True)
    )
    begin, step = schedule.cycle or (0, tasks.hyperperiod)
    again, shift = [row for row in plan if row[0] >= begin], step
    while again and again[0][0] + shift < until:
        plan += [(a + shift, b + shift, batch) for a, b, batch in again]
        shift += step
    done: Counter[int] = Counter()
    found = []
    table = schedule.table
    for start, end, batch in plan:
        kernels = []
        members = [i for i in range(len(rows)) if batch >> i & 1]
        if isinstance(table, gs.BatchTable) and table.completion[batch] > 0:
            members = list(table.submission_order(batch))
        for i in members:
            name, of_row = rows[i]
            kernels += [(name, done[i], k) for k in of_row]
            done[i] += 1
        found.append((start, end, kernels))
    return found


def played_of(row: Any, workload: gs.Workload, platform: gs.Platform) -> Played | None:
    """The way of a row with the choices of its answer; None if it cannot be played."""
    way, answer = row.way.name, row.answer
    detail: Any = None if answer is None else answer.detail
    options: dict[str, Any] = {}
    if core := cpu_side(DerivedModels(workload, platform)).core:  # chosen where CPUs are not shared
        options["cores"] = [core.get(name, 0) for name in workload.names]
    if "mode" in row.options:
        options["mode"] = row.options["mode"]
    if row.options.get("stall"):
        options["stall"] = True
    if way == "time_slices":
        options["ring"] = row.platform.ring
    if way == "container":
        return None
    if way == "driver":
        options["mode"] = "spin"  # from the request to the end of the section
    if way in PLANNED:
        if detail is None or answer.schedule is None:
            return None
        delayed = None if core else delayed_programs(DerivedModels(workload, platform))
        if delayed is not None:
            options["cores"] = [delayed.core[name] for name in workload.names]
        long = 2 * length(workload)
        return Played(workload, platform, way, {**options, "table": frames(answer, long)})
    if way == "mig":
        if detail is None or not detail.parts:
            return None
        if detail.within not in INSIDE:
            return None
        if detail.core:
            options["cores"] = list(detail.core)
        profiles = [part.instance.profile.name for part in detail.parts]
        place = {i: k for k, part in enumerate(detail.parts) for i in part.tasks}
        options["within"] = detail.within
        options["instances"] = [place.get(i, 0) for i in range(len(workload))]
        return Played(workload, platform.replace(mig=profiles), way, options)
    if way in PARTS and getattr(platform, PARTS[way]) is None:
        return None
    hosts = getattr(detail, "hosts", None)
    if isinstance(detail, gs.analysis.Verdict):
        place = {name: i for i, name in enumerate(hosts.name)}
        at = [place.get(name, -1) for name in workload.names]
        options["cores"] = [max(0, int(hosts.core[i])) if i >= 0 else 0 for i in at]
        if all(i >= 0 for i in at):
            tasks = [
                task.replace(priority=int(hosts.priority[i]), core=None)
                for task, i in zip(workload, at, strict=True)
            ]
            workload = workload.replace(tasks=tasks)
        if way == "stgm":
            sets = [[] if i < 0 else hosts.sm[i].nonzero()[0].tolist() for i in at]
            options["sms"] = [tuple(one) if one else None for one in sets]
        if way == "gpu_server" and detail.server is not None and int(detail.server) < platform.cpus:
            options["server_core"] = int(detail.server)
    if isinstance(detail, gs.analysis.HolisticBound):
        tasks = detail.tasks
        options["cores"] = tasks.core.tolist()
        if way == "edf_serial":
            behind = gs.analysis.HOLISTIC_TERMS.index("behind")
            options["tails"] = detail.terms[:, behind].tolist()
        ranked = [
            task.replace(priority=priority, core=None)
            for task, priority in zip(workload, tasks.priority.tolist(), strict=True)
        ]
        workload = workload.replace(tasks=ranked)
        if way == "priority_streams":
            ranked = [
                task.replace(stream_priority=level)
                for task, level in zip(workload, tasks.level.tolist(), strict=True)
            ]
            workload = workload.replace(tasks=ranked)
            platform = platform.replace(priority_levels=None)
    elif way == "priority_streams" and detail is not None:
        level = dict(zip(detail._tasks.name, detail._tasks.priority.tolist(), strict=True))
        last = 1 + max(level.values())
        tasks = [task.replace(stream_priority=level.get(task.name, last)) for task in workload]
        workload, platform = workload.replace(tasks=tasks), platform.replace(priority_levels=None)
    return Played(workload, platform, way, options)


# Guaranteed ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alarm:
    """A claim and what contradicts it."""

    kind: str
    index: int
    label: str
    what: str
    text: str


def limits_of(answer: Any) -> list[int]:
    """For each task its bound, if there is one below the deadline, and else its deadline."""
    response = answer.response.filled(-1).tolist()
    bounded = answer.bounded.tolist()
    deadlines = [task.deadline for task in answer.workload]
    return [
        min(r, d) if b and r >= 0 else d
        for r, b, d in zip(response, bounded, deadlines, strict=True)
    ]


def is_stated(played: Played) -> bool:
    """Whether the answer holds for the stated releases only."""
    return played.way in STATED and "tails" not in played.options


def patterns(played: Played, rng: Random) -> Iterator[Pattern]:
    """Variations of a run for a row."""
    w, way = played.workload, played.way
    yield Pattern()
    if way == "edf_parallel":
        return
    yield Pattern(early=rng.randrange(10**6))
    yield Pattern(seed=rng.randrange(10**6))
    if is_stated(played):
        for _ in range(3):
            yield Pattern(early=rng.randrange(10**6), seed=rng.choice((None, 1)))
        return
    if any(task.offset for task in w):
        yield Pattern(first=(0,) * len(w))
    for number in range(3):
        first = tuple(rng.randrange(task.period) for task in w)
        gap = rng.choice((0, 0, 2, 9))
        soon = rng.randrange(10**6) if number % 2 else None
        drawn = rng.randrange(10**6) if gap or number > 1 else None
        yield Pattern(first, gap, soon, drawn, way in IN_CHANNELS and rng.random() < 0.5)


def closest(run: Any, limits: Sequence[int]) -> float:
    """The largest response over its limit."""
    return max(r / max(limit, 1) for r, limit in zip(run.worst, limits, strict=True))


def exceeded(
    played: Played, limits: Sequence[int], rng: Random, kept: bool = True
) -> tuple[Pattern, Any, int] | None:
    """A run in which a response exceeds its limit, with its length.

    ``kept``: all deadlines are to be kept, too.
    """
    w = played.workload
    until = length(w)
    best, share = Pattern(), 0.0
    for pattern in itertools.islice(patterns(played, rng), None if kept else 4):
        run = run_of(played, pattern, until)
        found = closest(run, limits)
        if found > 1 or (kept and run.late_jobs):
            return pattern, run, until
        if found > share:
            best, share = pattern, found
    if is_stated(played) or share < NEAR or not kept:
        return None
    best = replace(best, first=best.first or tuple(task.offset for task in w))
    for _ in range(CLIMB):
        first = list(best.first or ())
        i = rng.randrange(len(first))
        near = max(0, first[i] + rng.choice((-2, -1, 1, 2)))
        first[i] = near if rng.random() < 0.6 else rng.randrange(w[i].period)
        pattern = replace(best, first=tuple(first))
        run = run_of(played, pattern, until)
        found = closest(run, limits)
        if found > 1 or (kept and run.late_jobs):
            return pattern, run, until
        if found >= share:
            best, share = pattern, found
    return None


def not_bounded(case: Case, row: Any, rng: Random) -> tuple[str, str] | None:
    """A response above a bound of a row that is not guaranteed."""
    answer = row.answer
    if answer is None or not answer.bounded.any() or row.way.name in STATED:
        return None
    played = played_of(row, *case)
    if played is None:
        return None
    known = answer.bounded & ~np.ma.getmaskarray(answer.response)
    limits = [
        int(response) if of else NO_LIMIT
        for of, response in zip(known, answer.response.filled(0), strict=True)
    ]
    found = exceeded(played, limits, rng, kept=False)
    if found is None:
        return None
    pattern, run, until = found
    bounds = [limit if limit < NO_LIMIT else None for limit in limits]
    said = f"{row.label}: {row.verdict} with bounds {bounds}; responses {run.worst}"
    return "above a bound, not guaranteed", source(played, pattern, until, said)


def guaranteed(case: Case, row: Any, rng: Random) -> tuple[str, str] | None:
    """A run above a bound or a deadline of a guaranteed row."""
    played = played_of(row, *case)
    if played is None:
        return None
    limits = limits_of(row.answer)
    found = exceeded(played, limits, rng)
    if found is None:
        return None
    pattern, run, until = found
    what = "late" if run.late_jobs else "above a bound"
    said = (
        f"{row.label}: guaranteed with bounds {limits}; responses {run.worst}, late {run.late_jobs}"
    )
    return what, source(played, pattern, until, said)


# Not schedulable ----------------------------------------------------------------------------------


def cores_of(case: Case, rng: Random, most: int) -> Iterator[list[int] | None]:
    """None for the default, then choices of cores: all of them if there are few."""
    w, p = case
    yield None
    if any(task.core is not None for task in w) or p.cpus == 1:
        return
    every = itertools.product(range(p.cpus), repeat=len(w))
    found = [list(one) for one in every] if p.cpus ** len(w) <= 100 else []
    if not found:
        found = [[rng.randrange(p.cpus) for _ in w] for _ in range(100)]
    yield from rng.sample(found, min(most, len(found)))


def keeps_apart(run: Any) -> bool:
    """Whether no two kernels ran at the same time."""
    spans = sorted(
        (op.first, op.ended if op.ended >= 0 else run.until)
        for op in run.operations
        if op.kind == "kernel" and op.first >= 0
    )
    return all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def schedule_exists(case: Case, rng: Random) -> tuple[str, str] | None:
    """A run with one kernel at a time that keeps all deadlines, for a rejection by pbs."""
    w, p = case
    until = length(w, 3)
    side = cpu_side(DerivedModels(w, p))
    if side.condition is not None:
        return None  # waits for CPUs may leave the GPU idle, which batches never do
    cores = [side.core.get(name, 0) for name in w.names]  # with which nothing waits for a CPU
    for way in APART:
        played = Played(w, p, way, {"cores": cores})
        for pattern in (Pattern(), *(Pattern(seed=rng.randrange(100)) for _ in range(5))):
            run = run_of(played, pattern, until)
            if not run.late_jobs and keeps_apart(run):
                said = "pbs: not schedulable; this run keeps all deadlines, a kernel at a time"
                return "a schedule exists", source(played, pattern, until, said)
    return None


def seen_late(row: Any) -> list[int]:
    """Length of a run that shows the first late job of the row's simulation, if it is not long."""
    run = row.run
    if run is None:
        return []
    deadline = np.array([task.deadline for task in run.workload])[run.task]
    late = (run.end < 0) | (run.end - run.release > deadline)
    ends = (run.release + deadline)[late]
    return [until for until in [int(ends.min()) + 1] if until <= LONGEST] if late.any() else []


def not_schedulable(case: Case, row: Any, rng: Random) -> tuple[str, str] | None:
    """Nothing if the claim is confirmed, else why it is not."""
    way = row.way.name
    w, p = case
    if row.impossible:  # tested by `possible`
        return None
    if way == "pbs":
        return schedule_exists(case, rng)
    if way in WITH_CORES and all(task.core is None for task in w):
        for cores in cores_of(case, rng, 12):
            if cores is None:
                continue
            tasks = [task.replace(core=core) for task, core in zip(w, cores, strict=True)]
            other = w.replace(tasks=tasks)
            try:
                answer: Any = gs.analyze(other, p, way, **row.options)
            except ValueError:
                continue
            if answer.accepted and not getattr(answer, "conditions", ()):
                text = f"# {row.label}: not schedulable, but accepted with cores {cores}\n"
                return "accepted with other cores", text + "\n".join(program(w, p))
    played = played_of(row, *case)
    if played is None or way in (*PLANNED, "mig"):
        return None
    runs = [played]
    if way not in WITH_CORES and "cores" in played.options:  # of tests that do not choose them
        found = [cores for cores in cores_of(case, rng, 4) if cores is not None]
        runs += [replace(played, options=played.options | {"cores": one}) for one in found]
    for until in (length(w), *seen_late(row), length(w, 10)):
        for pattern in patterns(Played(w, p, way), rng):
            if any(run_of(one, pattern, until).late_jobs for one in runs):
                return None
    until = length(w)
    if late_by_a_tie(case, row, until):
        return None
    said = f"{row.label}: not schedulable; no run of the machine is late: {row.why()}"
    return "no run is late", source(played, Pattern(), until, said.replace("\n", " "))


def late_by_a_tie(case: Case, row: Any, until: int) -> bool:
    """Whether a run is late in which CPU work ends just behind what happens at the same instant."""
    w, p = finer(case, FINER)
    tasks = [
        task.replace(
            segments=[
                part.replace(time=part.time + 1) if isinstance(part, gs.CPU) else part
                for part in task.segments
            ]
        )
        for task in w
    ]
    played = played_of(row, w.replace(tasks=tasks), p)
    return played is not None and bool(run_of(played, Pattern(), until * FINER).late_jobs)


# Impossible ---------------------------------------------------------------------------------------


def finer(case: Case, times: int) -> Case:
    """The program with a tick that is finer, so that all times have so many ticks more."""
    w, p = case[0].scaled(times, times, times), case[1].at(case[0].tick)
    tasks = [
        task.replace(
            rate=None,
            period=task.period * times,
            deadline=old.deadline * times,
            offset=task.offset * times,
            jitter=task.jitter * times,
        )
        for task, old in zip(w, case[0], strict=True)
    ]
    costs = ("launch_latency", "context_switch", "timeslice", "update_cost", "server_overhead")
    more: Any = {name: getattr(p, name) * times for name in costs}
    return w.replace(tasks=tasks), p.replace(**more)


def whole_blocks(case: Case) -> Case:
    """The program with a tick in which blocks take whole times, as on the machine."""
    times = case[0].kernel_times(case[1].at(case[0].tick))
    parts = [
        Fraction(of.stated, of.waves).denominator
        for row in times
        for of in row
        if of is not None and of.stated is not None and of.resident
    ]
    ticks = math.lcm(*parts)
    return case if ticks == 1 else finer(case, ticks)


def possible(case: Case, rng: Random, why: str) -> tuple[str, str] | None:
    """A run of some way that keeps all deadlines of a program said to be impossible."""
    for times in (1, FINER):
        w, p = case if times == 1 else finer(case, times)
        until = length(w)
        pinned = any(task.core is not None for task in w)
        for way in WAYS:
            if way.name not in PLAYED and way.name not in PARTS:
                continue
            if pinned and way.name in ("srm", "driver"):  # which choose where tasks run
                continue
            if way.name in PARTS and getattr(p, PARTS[way.name]) is None:
                continue
            for cores in cores_of((w, p), rng, 4):
                played = Played(w, p, way.name, {} if cores is None else {"cores": cores})
                if run_of(played, Pattern(), until).late_jobs:
                    continue
                slow = sum(max(task.deadline - task.period, 0) for task in w)
                long = length(w) + (2 + slow // times) * w.hyperperiod
                if (
                    sum(long // task.period for task in w) > MOST
                    or run_of(played, Pattern(), long).late_jobs
                ):
                    continue
                said = f"impossible: {why}; this run of {long} ticks keeps all deadlines"
                return "possible", source(played, Pattern(), long, said.replace("\n", " "))
    return None


# Programs -----------------------------------------------------------------------------------------


@dataclass
class Counts:
    """Counts of a way or a kind."""

    programs: int = 0
    guaranteed: int = 0
    conditional: int = 0
    rejected: int = 0
    impossible: int = 0
    unplayed: int = 0
    alarms: int = 0

    HEADS = (
        "programs",
        "guaranteed",
        "conditional",
        "rejected",
        "impossible",
        "unplayed",
        "ALARMS",
    )

    def line(self, name: str) -> str:
        """A line of the table."""
        values = (self.programs, self.guaranteed, self.conditional, self.rejected)
        more = (self.impossible, self.unplayed, self.alarms)
        return f"{name:22}" + "".join(f"{value:12d}" for value in (*values, *more))


def tried(call: Callable[[], tuple[str, str] | None]) -> tuple[str, str] | None:
    """The result of an attack, or that the machine failed in it."""
    try:
        return call()
    except MachineError as error:
        return "the machine fails", str(error)


class Attack:
    """Alarms of programs, and counts."""

    def __init__(self, ways: Sequence[str] | None) -> None:
        names = [way.name for way in WAYS] if ways is None else list(ways)
        self.ways = [form for name in names for form in (name, *MORE.get(name, ()))]
        self.by_label: dict[str, Counts] = defaultdict(Counts)
        self.by_kind: dict[str, Counts] = defaultdict(Counts)
        self.alarms: list[Alarm] = []
        self.refused: Counter[str] = Counter()

    def program(self, kind: str, index: int) -> None:
        """Attack all claims about a program."""
        try:
            case = whole_blocks(attack_program(kind, index))
        except ValueError as error:
            self.refused[f"{kind}: {str(error).split(':')[0]}"] += 1
            return
        self.by_kind[kind].programs += 1
        for label, what, text in self.claims(case, f"{kind} {index}", (kind,)):
            self.alarms.append(Alarm(kind, index, label, what, text))
            self.by_kind[kind].alarms += 1
            self.by_label[label].alarms += 1

    def claims(
        self, case: Case, seed: str, kinds: Sequence[str] = ()
    ) -> Iterator[tuple[str, str, str]]:
        """Contradicted claims about a program: label, what, source. ``kinds``: to be counted."""
        found = gs.compare(*case, ways=self.ways, progress=False)
        grain = math.lcm(*(row.answer.grain for row in found if row.answer is not None))
        if grain > 1:  # schedules are in finer ticks
            case = finer(case, grain)
            found = gs.compare(*case, ways=self.ways, progress=False)
        counts = [self.by_kind[kind] for kind in kinds]
        if found.impossible:
            for count in counts:
                count.impossible += 1
            why, rng = "; ".join(found.impossible), Random(f"{seed} impossible")
            shown = tried(lambda: possible(case, rng, why))
            if shown is not None:
                yield "impossible", *shown
        for row in found:
            rng = Random(f"{seed} {row.label}")
            here = [*counts, *([self.by_label[row.label]] if kinds else [])]
            if kinds:
                self.by_label[row.label].programs += 1
            contradiction = tried(lambda: self.row(case, found, row, rng, here))  # noqa: B023
            if contradiction is not None:
                yield row.label, *contradiction

    def row(
        self, case: Case, found: Any, row: Any, rng: Random, counts: Sequence[Counts]
    ) -> tuple[str, str] | None:
        """A contradicted claim of a row: what, source."""
        answer: Any = row.answer
        if row.verdict == "conditional" or (answer and getattr(answer, "conditions", ())):
            for count in counts:
                count.conditional += 1
            return None
        if answer is not None and answer.accepted:
            for count in counts:
                count.guaranteed += 1
            if played_of(row, *case) is None:
                for count in counts:
                    count.unplayed += 1
            if (late := guaranteed(case, row, rng)) is not None:
                return late
            if found.impossible:
                text = f"# {row.label}: guaranteed; impossible: {'; '.join(found.impossible)}\n"
                return "guaranteed and impossible", text + "\n".join(program(*case))
            return None
        if row.schedulable is False:
            for count in counts:
                count.rejected += 1
            if row.run is not None and row.run.late_count.any() and row.tightest is not None:
                late_tasks = row.run.late_count.nonzero()[0].tolist()
                if row.tightest not in late_tasks:
                    text = f"# {row.label}: late are tasks {late_tasks}, tightest {row.tightest}\n"
                    return "tightest", text + "\n".join(program(*case))
            contradiction = not_schedulable(case, row, rng)
            return contradiction or not_bounded(case, row, rng)
        return not_bounded(case, row, rng)


# Small programs -----------------------------------------------------------------------------------


def smaller(case: Case) -> Iterator[Case]:
    """Programs with a task, a segment or a fact less."""
    w, p = case
    tasks = list(w.tasks)
    for i in range(len(tasks)):
        if len(tasks) > 1:
            yield w.replace(tasks=tasks[:i] + tasks[i + 1 :]), p
    for i, task in enumerate(tasks):
        changes: list[dict[str, Any]] = []
        if len(task.segments) > 1:
            changes += [
                {"segments": [*task.segments[:k], *task.segments[k + 1 :]]}
                for k in range(len(task.segments))
            ]
        changes += [{"offset": 0}] if task.offset else []
        changes += [{"jitter": 0}] if task.jitter else []
        for k, part in enumerate(task.segments):
            if part.repeat > 1:
                rest = part.replace(repeat=1)
                changes.append({"segments": [*task.segments[:k], rest, *task.segments[k + 1 :]]})
        for key in ("core", "priority", "stream_priority", "process"):
            if getattr(task, key) is not None:
                changes.append({key: None})
        for change in changes:
            yield w.replace(tasks=[*tasks[:i], task.replace(**change), *tasks[i + 1 :]]), p
    at = p.at(w.tick)
    for name in ("launch_latency", "context_switch", "update_cost", "server_overhead"):
        if getattr(at, name):
            yield w, p.replace(**{name: 0})
    for name in ("mps", "mps_partitions", "green_contexts"):
        if getattr(p, name) is not None:
            yield w, p.replace(**{name: None})


def shrunk(case: Case, alarm: Alarm, seconds: float = 5) -> tuple[Case, str]:
    """A small program with the same alarm, and its source."""
    text, seed, end = alarm.text, f"{alarm.kind} {alarm.index}", time.perf_counter() + seconds
    way = alarm.label.split()[0]
    attack = Attack(None if way == "impossible" else [way])
    again = True
    while again:
        again = False
        for one in smaller(case):
            if time.perf_counter() > end:
                return case, text
            try:
                found = {label: (what, of) for label, what, of in attack.claims(one, seed)}
            except (ValueError, OverflowError):
                continue
            if alarm.label in found and found[alarm.label][0] == alarm.what:
                case, text, again = one, found[alarm.label][1], True
                break
    return case, text


def report(attack: Attack, shown: int, shrink: bool) -> Iterator[str]:
    """Lines of the result."""
    yield f"{'way':22}" + "".join(f"{name:>12}" for name in Counts.HEADS)
    yield from (count.line(label) for label, count in attack.by_label.items())
    yield ""
    yield f"{'kind':22}" + "".join(f"{name:>12}" for name in Counts.HEADS)
    yield from (count.line(kind) for kind, count in attack.by_kind.items())
    yield from (f"refused: {n} programs of {text}" for text, n in attack.refused.items())
    groups: dict[tuple[str, str, str], list[Alarm]] = defaultdict(list)
    for alarm in attack.alarms:
        groups[alarm.label, alarm.what, alarm.kind].append(alarm)
    for (label, what, kind), alarms in sorted(groups.items()):
        yield ""
        numbers = ", ".join(str(alarm.index) for alarm in alarms[:8])
        yield f"{len(alarms)} of {label}, {what}, kind {kind}: {numbers}"
        for alarm in alarms[:shown]:
            text = alarm.text
            if shrink:
                _, text = shrunk(whole_blocks(attack_program(kind, alarm.index)), alarm)
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="of programs, over all kinds")
    parser.add_argument("--first", type=int, default=0, help="number of the first of each kind")
    parser.add_argument("--kind", nargs="+", choices=[*KINDS, "known"], default=list(KINDS))
    parser.add_argument("--ways", nargs="+", choices=[way.name for way in WAYS])
    parser.add_argument("--shown", type=int, default=1, help="alarms shown of a way and kind")
    parser.add_argument("--no-shrink", action="store_true", help="show programs as they were drawn")
    parser.add_argument("--save", action="store_true", help="keep the lines in results/")
    args = parser.parse_args()
    began = time.perf_counter()
    attack = Attack(args.ways)
    for number in range(args.count):
        kind = args.kind[number % len(args.kind)]
        attack.program(kind, args.first + number // len(args.kind))
    seconds = time.perf_counter() - began
    lines = [
        f"Attack on verdicts, programs {args.first} and on of {len(args.kind)} kinds, {describe()}",
        f"{args.count} programs, {seconds:.0f} s, {len(attack.alarms)} alarms",
        *report(attack, args.shown, not args.no_shrink),
    ]
    print("\n".join(lines))
    if args.save:
        path = Path(__file__).parent / "results" / "verdict_attack.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if attack.alarms:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
