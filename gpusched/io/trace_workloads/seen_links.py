"""Releases that a trace suggests: jobs of a task that begin soon after the ends of another's.

Order is all that a trace shows. Two tasks whose clocks have one rate look the same as two of which
one releases the other, so what is found is a suggestion, with the numbers that speak for it and the
share of jobs that would be so close by chance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gpusched._support.arguments import Int64Array, one_of
from gpusched._support.text import clip, shown
from gpusched.io.trace_workloads.candidates import Candidates, candidates
from gpusched.io.trace_workloads.job_work import GpuWork, Recording, gpu_work
from gpusched.io.trace_workloads.occurrences import Nesting
from gpusched.model.workload.time_units import Time, as_factor, as_time, in_ticks, time_with_unit

__all__ = ["LinkSuggestion", "suggested_links"]

_FEWEST = 3
"""Jobs that a task has at least."""


@dataclass(frozen=True)
class LinkSuggestion:
    """A task that others may release, as a trace suggests; see ``gs.io.Trace.links``.

    >>> print(gs.io.LinkSuggestion("camera", "net", 1, 9, 10, 5_000, 8_000, 50_000, chance=0.05))
    perhaps net is after each job of camera: 9 of 10 of its jobs begin within 50us of an end, \
5us to 8us later; by chance 5% would

    Attributes
    ----------
    after, task
        Names of the tasks: jobs of ``task`` begin after those of ``after``.
    every
        Of how many jobs of ``after`` one is followed.
    followed, jobs
        Number of jobs of ``task`` that begin within the time after the end of a job of ``after``,
        each of the job that ``every`` says, and number of all of its jobs.
    shortest, longest
        Time from the end to the beginning over these jobs, in ns.
    within
        The longest time that counted, in ns.
    chance
        Share of the recorded time that is so close behind an end of ``after``: that of jobs which
        would follow if they began at any instant.
    """

    after: str
    task: str
    every: int
    followed: int
    jobs: int
    shortest: int
    longest: int
    within: int
    chance: float

    def __str__(self) -> str:
        whose = f"each job of {clip(self.after, 60)}"
        if self.every > 1:
            whose = f"one of {self.every} jobs of {clip(self.after, 60)}"
        times = " to ".join(time_with_unit(time, 1) for time in (self.shortest, self.longest))
        return (
            f"perhaps {clip(self.task, 60)} is after {whose}: {self.followed} of {self.jobs} of "
            f"its jobs begin within {time_with_unit(self.within, 1)} of an end, {times} later; by "
            f"chance {self.chance:.0%} would"
        )


def suggested_links(
    trace: Recording,
    within: Time | None,
    names: str | re.Pattern[str] | None,
    nesting: Nesting,
    share: str | int | float | Fraction,
) -> tuple[LinkSuggestion, ...]:
    """Releases that a trace suggests; see ``Trace.links``."""
    one_of(nesting, ("outermost", "innermost"), "nesting")
    limit = None if within is None else in_ticks(as_time(within, "within"), None, 1, "within")
    least = as_factor(float.__repr__(share) if isinstance(share, float) else share, "share")
    if least > 1:
        raise ValueError(f"share: got {shown(share)}, expected a number above 0 and up to 1")
    if not len(trace.start):
        raise ValueError("trace: got no launches, expected at least one")
    work = gpu_work(trace)
    found = candidates(trace, work, "annotation", names, nesting, None)
    tasks = _times(found, work)
    span = min(int(start[0]) for start, _ in tasks), max(int(end.max()) for _, end in tasks)
    links = []
    for b, (start, _) in enumerate(tasks):
        if len(start) < _FEWEST:
            continue
        time = limit or max(1, int(np.median(np.diff(start))) // 10)
        for a, (_, end) in enumerate(tasks):
            link = None if a == b else _link(found.names, a, b, end, start, time, span)
            if link is not None and Fraction(link.followed, link.jobs) >= least:
                links.append(link)
    return tuple(sorted(links, key=lambda one: (-one.followed / one.jobs, one.chance)))


def _times(found: Candidates, work: GpuWork) -> list[tuple[Int64Array, Int64Array]]:
    """The beginnings and ends of each task's jobs, in the order of the beginnings.

    A job ends with its range and all of its work on the GPU.
    """
    ends = found.end.copy()
    inside = found.owner >= 0
    np.maximum.at(ends, found.owner[inside], work.end[inside])
    times = []
    for number in range(len(found.names)):
        jobs = np.flatnonzero(found.task == number)
        jobs = jobs[np.argsort(found.start[jobs], kind="stable")]
        times.append((found.start[jobs], ends[jobs]))
    return times


def _link(
    names: list[str],
    a: int,
    b: int,
    ends: Int64Array,
    start: Int64Array,
    within: int,
    span: tuple[int, int],
) -> LinkSuggestion | None:
    """Match jobs of task b, which begin at ``start``, with ends of task a; None without a match."""
    ends = np.sort(ends)
    last = np.searchsorted(ends, start, side="right") - 1  # of the jobs of a that have ended
    gap = start - ends[np.maximum(last, 0)]
    near = np.flatnonzero((last >= 0) & (gap <= within))
    steps = np.diff(last[near])[np.diff(near) == 1]
    steps = steps[steps > 0]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    every = int(values[counts.argmax()])
    shift, counts = np.unique(last[near] - every * near, return_counts=True)
    chosen = near[last[near] - every * near == shift[counts.argmax()]]
    behind = np.minimum(np.diff(np.append(ends, span[1])), within)
    return LinkSuggestion(
        after=names[a],
        task=names[b],
        every=every,
        followed=len(chosen),
        jobs=len(start),
        shortest=int(gap[chosen].min()),
        longest=int(gap[chosen].max()),
        within=within,
        chance=sum(behind.tolist()) / (span[1] - span[0]) if span[1] > span[0] else 1.0,
    )
