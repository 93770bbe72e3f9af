"""Comparison of a log of jobs with the bounds of paths, and with what these bounds assume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from gpusched._support.text import clip
from gpusched.comparison.path_answers import legs_of
from gpusched.comparison.path_runs import PathRun, TaskJobs, path_run
from gpusched.io.run_log import RunLog
from gpusched.model.workload.links import Path, sources_of
from gpusched.model.workload.workloads import Workload
from gpusched.rt.expectations import Expectations, PathBound
from gpusched.rt.kept_rules import Finding, JobTimes, ns

__all__ = ["path_findings", "path_of_log", "path_runs"]

_MOST_JOBS = 1 << 24  # between the first and the last job of a task in a log


def path_of_log(workload: Workload, path: Path, log: RunLog, jobs: JobTimes) -> PathRun:
    """The times of a path in a log, in ns; ``path``: that of the workload, with times in ns.

    A job reads at its start, which is when its release was logged. Where events are lost, samples
    are those since every task of the path is in the log.
    """
    numbers = {name: [job for of, job in jobs.release if of == name] for name in path.tasks}
    if not all(numbers.values()):
        none = np.empty(0, np.int64)
        empty = TaskJobs(none, none, none, none)
        return path_run(workload, path, dict.fromkeys(path.tasks, empty), tick=1)
    first, lost = _first_jobs(workload, path, numbers), log.lost > 0
    since = max(min(jobs.woken[name, job] for job in numbers[name]) for name in path.tasks)
    found = {}
    for name in path.tasks:
        least, most = first[name], max(numbers[name])
        if most - least >= _MOST_JOBS:
            raise ValueError(
                f"log.job: got jobs {min(numbers[name])} and {most} of {clip(name, 60)}, expected "
                f"numbers less than {_MOST_JOBS} apart"
            )
        columns = [np.full(most - least + 1, -1, np.int64) for _ in range(3)]
        for job in numbers[name]:
            key = name, job
            if lost and min(jobs.woken[key], jobs.release[key]) < since:
                continue
            times = (jobs.release[key], jobs.woken[key], jobs.complete.get(key, -1))
            for column, time in zip(columns, times, strict=True):
                column[job - least] = time
        found[name] = TaskJobs(columns[0], *columns)
    run = path_run(workload, path, found, tick=1)
    base = np.array([first[name] for name in path.tasks], np.int64)
    return replace(run, jobs=run.jobs + base, output_jobs=run.output_jobs + base)


def _first_jobs(workload: Workload, path: Path, numbers: dict[str, list[int]]) -> dict[str, int]:
    """A number for each task, not above those of its jobs; in a leg, jobs that belong together."""
    found = {}
    for leg in legs_of(path, workload):
        steps = [1]
        for task in leg[1:]:
            steps.append(steps[-1] * task.every)
        least = min(min(numbers[task.name]) * step for task, step in zip(leg, steps, strict=True))
        least -= least % prod(task.every for task in leg[1:])
        for task, step in zip(leg, steps, strict=True):
            found[task.name] = least // step
    return found


def path_runs(log: RunLog, expected: Expectations, jobs: JobTimes) -> tuple[PathRun, ...]:
    """The times of all paths of the answer."""
    workload = expected.workload
    if workload is None:
        return ()
    return tuple(path_of_log(workload, of.path, log, jobs) for of in expected.paths)


def path_findings(
    expected: Expectations, jobs: JobTimes, runs: Sequence[PathRun], tol: int
) -> Iterator[Finding]:
    """Times of paths, and releases of their sources, against the bounds and their premises."""
    if expected.workload is None:
        return
    numbers: dict[str, list[int]] = {}
    for name, job in jobs.release:
        numbers.setdefault(name, []).append(job)
    for of, run in zip(expected.paths, runs, strict=True):
        if of.bound is None:
            continue
        yield from _times(of, run, of.limit(tol))
        yield from _sources(expected.workload, of.path, jobs, numbers, tol)


def _times(of: PathBound, run: PathRun, limit: int) -> Iterator[Finding]:
    assert of.bound is not None
    kind, backward = of.path.kind, of.path.kind in ("age", "held age")
    chains = run.output_jobs if backward else run.jobs
    times = {
        "latency": np.ma.asarray(run.latency),
        "reaction": run.reaction,
        "age": np.ma.asarray(run.age),
        "held age": run.held_age,
    }[kind]
    for row in np.flatnonzero(np.ma.filled(times, -1) > limit).tolist():
        took = int(times[row])
        through = ", ".join(
            f"{clip(name, 40)} {job}"
            for name, job in zip(of.path.tasks, chains[row].tolist(), strict=True)
        )
        yield Finding(
            "path", of.path.name, int(chains[row][-1]), took, of.bound,
            f"{clip(of.path.name, 60)}: {kind} {ns(took)} through the jobs {through}, the bound is "
            f"{ns(of.bound)}",
        )  # fmt: skip


def _sources(
    workload: Workload, path: Path, jobs: JobTimes, numbers: dict[str, list[int]], tol: int
) -> Iterator[Finding]:
    """Arrivals of sources: no longer apart than their periods where a task waits for the next one,
    and at their offsets on one clock where the bound is one for these."""
    of_each, legs = sources_of(workload.tasks), legs_of(path, workload)
    sources = [of_each[leg[0].name] for leg in legs]
    forward, whole = path.kind in ("latency", "reaction"), path.kind in ("reaction", "held age")
    waited = sources if whole else sources[1:] if forward else sources[:-1]
    for name in dict.fromkeys(waited):
        period = int(workload[name].period * workload.tick_ns)
        for before, job in pairwise(sorted(numbers.get(name, ()))):
            most = period * (job - before)
            apart = jobs.release[name, job] - jobs.release[name, before]
            if apart > most + tol:
                yield Finding(
                    "release", name, job, apart, most,
                    f"{clip(name, 60)}, job {job}: released {ns(apart)} after job {before}, "
                    f"{clip(path.name, 60)} has at most {ns(most)}",
                )  # fmt: skip
    if path.phases != "given":
        return
    base, first = None, ""
    for name in dict.fromkeys(sources):
        task = workload[name]
        for job in sorted(numbers.get(name, ())):
            due = int((task.offset + task.period * job) * workload.tick_ns)
            start = jobs.release[name, job] - due
            if base is None:
                base, first = start, name
            if abs(start - base) > tol:
                yield Finding(
                    "phase", name, job, abs(start - base), 0,
                    f"{clip(name, 60)}, job {job}: released {ns(start - base)} from its offset to "
                    f"{clip(first, 60)}, {clip(path.name, 60)} has given offsets",
                )  # fmt: skip
