"""Workloads from traces: the most frequent sequence of each task's jobs, times by rank.

The use of the GPU while the jobs ran tells how much of its time they contain. Jobs of a task that
begin soon after the ends of another's suggest that this releases them. Order is all that a trace
shows: two tasks whose clocks have one rate look the same, so that what is found is a suggestion,
with the numbers that speak for it and the share of jobs that would be so close by chance.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, flag, one_of
from gpusched._support.text import clip, shown, shown_names
from gpusched.io.traces.candidates import (
    By,
    Candidates,
    MissingPeriod,
    Period,
    Periods,
    by_launches,
    candidates,
    check_names,
    observed,
)
from gpusched.io.traces.trace_jobs import (
    IN,
    CommonSequence,
    CpuWork,
    GpuWork,
    Nesting,
    Recording,
    Waits,
    by_occurrence,
    common_sequence,
    cpu_work,
    gpu_work,
    left_out,
    ranked,
    ranked_row,
)
from gpusched.io.traces.trace_tables import total
from gpusched.model.workload.distributions import quantile_key
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, CopyIn, CopyOut, Kernel, Segment, SegmentTime
from gpusched.model.workload.time_units import Time, as_factor, as_time, in_ticks, time_with_unit
from gpusched.model.workload.workload_document import ObservedTime
from gpusched.model.workload.workloads import Workload

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


@dataclass(frozen=True)
class ObservedUse:
    """GPU time from the start of the first job to the end of the last, in ns.

    ``time`` has that of kernels, copies, memsets and whole graphs, and how much of it is in the
    jobs. ``load`` is the sum for kernels and graphs, ``busy`` the time in which one or more ran.
    """

    time: ObservedTime
    span: int
    load: int
    busy: int

    @property
    def at_once(self) -> Fraction:
        """The mean number of kernels that ran at once, while one ran."""
        return Fraction(self.load, self.busy) if self.busy else Fraction(1)

    @property
    def text(self) -> str:
        """The part of the interval in which kernels ran."""
        part = self.busy / self.span if self.span else 0
        times = f"{time_with_unit(self.busy, 1)} of {time_with_unit(self.span, 1)}"
        several = f", {float(self.at_once):.3g} of them at once" if self.load > self.busy else ""
        return f"{part:.3g}, kernels ran for {times}{several}"


def observed_use(work: GpuWork, found: Candidates, kept: NDArray[np.bool_]) -> ObservedUse:
    """The use of the GPU in the interval of the occurrences; ``kept`` marks the work in jobs."""
    inside = found.owner >= 0
    first = min(int(found.start.min()), int(work.start[inside].min(initial=2**62)))
    last = max(int(found.end.max()), int(work.end[inside].max(initial=-(2**62))))
    began, ended, graph = work.others
    start, end = np.concatenate([work.start, began]), np.concatenate([work.end, ended])
    kernel = np.concatenate([work.kernel >= 0, graph])
    there = (start < last) & (end > first)
    start, end = np.maximum(start[there], first), np.minimum(end[there], last)
    kernel = kernel[there]
    return ObservedUse(
        time=ObservedTime(total(end - start), total(work.duration[kept])),
        span=last - first,
        load=total((end - start)[kernel]),
        busy=_union(start[kernel], end[kernel]),
    )


def _union(start: Int64Array, end: Int64Array) -> int:
    """The length of the union of intervals."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    before = np.maximum.accumulate(np.concatenate([start[:1], end[:-1]]))
    return total(np.maximum(end - np.maximum(start, before), 0))


Gaps = Literal["waited", "all"]
Quantile = str | int | float | Fraction
"""A part of the jobs, as decimal text, a number or a Fraction."""

_STATED = tuple(Fraction(text) / 100 for text in ("0", "50", "90", "99", "99.9"))
"""Quantiles of distributions, if a longer time was observed."""

_LONGEST = 2**60
_NOTES = 40  # tasks that have notes


def workload_of(
    trace: Recording,
    by: By,
    period: Periods,
    quantile: Quantile,
    names: str | re.Pattern[str] | None,
    nesting: Nesting,
    gaps: Gaps,
    *,
    distributions: bool = False,
) -> Workload:
    """The workload of a trace; see ``Trace.workload``."""
    one_of(by, ("annotation", "step", "stream", "kernel"), "by")
    one_of(nesting, ("outermost", "innermost"), "nesting")
    one_of(gaps, ("waited", "all"), "gaps")
    part = _quantile(quantile)
    if flag(distributions, "distributions") and part != 1:
        raise ValueError(f"distributions: got True with the quantile {shown(quantile)}, expected 1")
    if not len(trace.start):
        raise ValueError("trace: got no launches, expected at least one")
    work = gpu_work(trace)
    _check_span(trace, work)
    found = candidates(trace, work, by, names, nesting, period)
    check_names(period, found.names)
    maker = _Maker(trace, work, found, period, part, gaps == "all", distributions)
    made = [maker.task(number) for number in range(len(found.names))]
    tasks = [task for task in made if task is not None]
    _check_periods(tasks)
    use = observed_use(work, found, maker.kept())
    observed = use.time._replace(quantile=float(part))
    workload = Workload([task.finished() for task in tasks], "ns", observed=observed)
    gpu = workload.utilization().gpu
    _check_utilization(workload, tasks, use)
    notes = [
        f"from {clip(_name(trace), 60)} by {by}: times are {_rank_text(part)} of the jobs of a "
        "task, and include interference by what ran beside them",
        *_first(task.said for task in tasks),
        *_longer_than_period(workload),
        f"the jobs contain {use.time} from the first to the last of them",
        f"GPU utilization {gpu:.3g} (observed: {use.text})",
        *maker.said(),
        *found.said,
        *work.left_out,
        *trace.notes,
    ]
    return workload.replace(notes=notes)


@dataclass(frozen=True)
class _Made:
    """A task whose period may still be missing."""

    name: str
    process: str | None
    segments: list[Segment]
    period: Period | None
    said: str

    def finished(self) -> Task:
        assert self.period is not None
        return Task(self.name, self.period.time, self.segments, process=self.process)


class _Maker:
    """Makes the tasks one by one, and counts what is left out on the way."""

    def __init__(
        self,
        trace: Recording,
        work: GpuWork,
        found: Candidates,
        period: Periods,
        quantile: Fraction,
        all_gaps: bool,
        spread: bool,
    ) -> None:
        self.trace, self.work, self.found, self.period = trace, work, found, period
        self.quantile, self.all_gaps, self.spread = quantile, all_gaps, spread
        self.rows, self.begin = by_occurrence(work, found.owner, found.order, len(found.start))
        self.by_task = np.argsort(found.task, kind="stable")
        self.bounds = np.searchsorted(found.task[self.by_task], np.arange(len(found.names) + 1))
        self.waits = Waits(trace.events, work)
        self.starts = _starts_on_gpu(work, found, self.rows)
        self.in_jobs: list[Int64Array] = []
        self.zeros: list[Int64Array] = []
        self.nothing: list[str] = []
        self.lost: list[str] = []  # of such tasks, what their jobs are
        self.unwaited: list[str] = []

    def task(self, number: int) -> _Made | None:
        """One task; None for one that takes no time."""
        name = self.found.names[number]
        occurrences = self.by_task[self.bounds[number] : self.bounds[number + 1]]
        jobs = common_sequence(self.work, occurrences, self.rows, self.begin)
        cpu = self._cpu(jobs, name)
        segments = self._segments(jobs, cpu)
        if not segments:
            self.nothing.append(name)
            if jobs.others:
                self.lost.append(self._said(name, len(occurrences), jobs, None))
            return None
        self.in_jobs.append(jobs.rows)
        period = self._period(name, occurrences, segments)
        return _Made(
            name=name,
            process=self.found.processes[number],
            segments=segments,
            period=period,
            said=self._said(name, len(occurrences), jobs, period),
        )

    def _period(self, name: str, jobs: Int64Array, segments: list[Segment]) -> Period | None:
        found = self.found
        if found.launch_span is not None:
            return by_launches(self.period, name, len(jobs), found.launch_span)
        busy = sum(part.time or 0 for part in segments if not isinstance(part, CPU))
        on_gpu = jobs[np.isin(jobs, found.owner)]
        return observed(self.period, name, found.start[jobs], self.starts[on_gpu], busy)

    def _cpu(self, jobs: CommonSequence, name: str) -> CpuWork | None:
        found = self.found
        thread = found.thread[jobs.jobs]
        if not len(thread) or int(thread[0]) < 0:
            return None
        times = found.start[jobs.jobs], found.end[jobs.jobs]
        cpu = cpu_work(self.trace.events, self.work, self.waits, jobs.rows, *times, thread)
        if self.all_gaps:
            return cpu._replace(before=cpu.before + cpu.unwaited)
        if most := int(cpu.unwaited.sum(axis=1).max(initial=0)):
            self.unwaited.append(f"{clip(name, 40)} {time_with_unit(most, 1)}")
        return cpu

    def _segments(self, jobs: CommonSequence, cpu: CpuWork | None) -> list[Segment]:
        work, rows = self.work, jobs.rows
        length = rows.shape[1]
        times = work.end[rows] - work.start[rows]
        if not length:
            if cpu is None:
                return []
            return self._cpu_segment(cpu.after)
        value = ranked(times, self.quantile)
        chosen = rows[ranked_row(times, work.blocks[rows], self.quantile), np.arange(length)]
        segments: list[Segment] = []
        for i, (row, time) in enumerate(zip(chosen.tolist(), value.tolist(), strict=True)):
            if cpu is not None:
                segments += self._cpu_segment(cpu.before[:, i])
            if time < 1:
                self.zeros.append(rows[:, i])
            else:
                segments.append(self._operation(row, self._time(times[:, i])))
        if cpu is not None:
            segments += self._cpu_segment(cpu.after)
        return segments

    def _cpu_segment(self, times: Int64Array) -> list[Segment]:
        """CPU work of jobs that took these times; nothing if that is none."""
        return [CPU(self._time(times))] if int(ranked(times[:, None], self.quantile)[0]) else []

    def _time(self, times: Int64Array) -> SegmentTime:
        """The time of jobs that took these: at the quantile, or their distribution."""
        if not self.spread:
            return int(ranked(times[:, None], self.quantile)[0])
        found: dict[str, Time] = {
            quantile_key(share): max(1, int(ranked(times[:, None], share)[0]))
            for share in _STATED
            if len(times) * (1 - share) >= 1
        }
        return {**found, "largest": int(times.max()), "count": len(times)}

    def _operation(self, row: int, time: SegmentTime) -> Segment:
        number = int(self.work.kernel[row])
        if number < 0:
            return CopyIn(time) if number == IN else CopyOut(time)
        launch = int(self.work.row[row])
        shape, name = self.trace, self.work.label[number]
        if not shape.threads[launch]:
            return Kernel(time, name=name)
        return Kernel(
            time,
            blocks=int(shape.blocks[launch]),
            threads=int(shape.threads[launch]),
            regs=int(shape.regs[launch]),
            smem=int(shape.smem[launch]),
            name=name,
        )

    def _said(
        self, name: str, occurrences: int, jobs: CommonSequence, period: Period | None
    ) -> str:
        kept = f"{len(jobs.jobs)} of {_count(occurrences, 'occurrence')}"
        parts = [f"{clip(name, 40)}: from {kept}"]
        if jobs.empty and jobs.rows.shape[1]:
            parts.append(f"{jobs.empty} without GPU work left out")
        if jobs.others:
            parts.append(
                f"{jobs.others} with other sequences of GPU work left out, which take the GPU "
                f"{time_with_unit(jobs.time_of_others, 1)} in all, each up to "
                f"{time_with_unit(jobs.longest_other, 1)} (those kept: "
                f"{time_with_unit(jobs.longest, 1)})"
            )
        if not jobs.rows.shape[1]:
            parts.append("no GPU work")
        blocks = self.work.blocks[jobs.rows]
        if differ := int(np.sum(blocks.min(axis=0, initial=2**62) < blocks.max(axis=0, initial=0))):
            parts.append(
                f"grids of {_count(differ, 'kernel')} differ between jobs, and are those of the "
                "jobs whose times are taken"
            )
        streams = np.stack([self.work.context[jobs.rows], self.work.stream[jobs.rows]])
        if (several := len(np.unique(streams.reshape(2, -1), axis=1).T)) > 1:
            parts.append(f"operations of {several} streams are one chain, by launch")
        if period is not None:
            parts.append(period.said)
        return "; ".join(parts)

    def kept(self) -> NDArray[np.bool_]:
        """Whether each operation is in a job."""
        kept = np.zeros(len(self.work), np.bool_)
        for number, parts in ((True, self.in_jobs), (False, self.zeros)):
            for rows in parts:
                kept[rows] = number
        return kept

    def said(self) -> list[str]:
        """Sentences about what was left out."""
        sentences = []
        if np.any(self.found.thread >= 0):
            sentences.append(
                "CPU work is elapsed time outside of calls that wait for the GPU, without what ran "
                "beside the job's own GPU work"
            )
        if self.unwaited:
            sentences.append(
                "the GPU also waited for launches without a synchronisation before them, which is "
                "not part of the jobs (gaps='all' makes it CPU work), at most per job: "
                + ", ".join(_first(self.unwaited))
            )
        if self.zeros:
            times = self.work.duration[np.concatenate(self.zeros)]
            sentences.append(left_out("operations with a stated duration of 0", times))
        if self.nothing:
            names = clip(", ".join(self.nothing), 200)
            sentences += [f"left out: tasks that take no time: {names}", *_first(self.lost)]
        return sentences


def _check_span(trace: Recording, work: GpuWork) -> None:
    """Raise a ``ValueError`` for times so far apart that sums of them could exceed 64 bits."""
    calls, ranges = trace.events.calls, trace.events.ranges
    starts = [int(table.start.min()) for table in (work, calls, ranges) if len(table)]
    ends = [int(table.end.max()) for table in (work, calls, ranges) if len(table)]
    if (span := max(ends) - min(starts)) >= _LONGEST:
        raise ValueError(f"trace: got times {shown(span)} ns apart, expected less than 2**60")


def _check_periods(tasks: list[_Made]) -> None:
    """Raise a ``ValueError`` that names the tasks without a period, or says that there is none."""
    if not tasks:
        raise ValueError("trace: got no task that takes time, expected at least one")
    if without := [task.name for task in tasks if task.period is None]:
        raise MissingPeriod(
            f"period: got None for {shown_names(without)}, expected one for each, because periods "
            "are observed from two occurrences or more, most of which start apart (give these "
            "periods, or choose other tasks with names)"
        )


def _check_utilization(workload: Workload, tasks: list[_Made], use: ObservedUse) -> None:
    """Raise a ``ValueError`` if observed periods demand more than the GPU can have done."""
    parts = {
        task.name: Fraction(sum(kernel.time or 0 for kernel in task.kernels), task.period)
        for task, made in zip(workload, tasks, strict=True)
        if made.period is not None and not made.period.given
    }
    if (demand := sum(parts.values(), Fraction(0))) <= use.at_once:
        return
    largest = sorted(parts, key=parts.__getitem__, reverse=True)[:3]
    names = ", ".join(f"{clip(name, 40)} {float(parts[name]):.3g}" for name in largest)
    raise ValueError(
        f"period: got none and a GPU utilization of {float(demand):.3g} with those observed, "
        f"expected at most {float(use.at_once):.3g} (observed: {use.text}): the stated times of "
        f"jobs are too long for their distances, most for {names}; give periods, or a quantile of "
        "the times below 1"
    )


def _starts_on_gpu(work: GpuWork, found: Candidates, rows: Int64Array) -> Int64Array:
    """Start of each occurrence on the GPU: that of its first kernel, or of its first copy."""
    starts = np.zeros(len(found.start), np.int64)
    copy = work.kernel[rows] < 0
    for those in (rows[copy], rows[~copy]):
        owner, first = np.unique(found.owner[those], return_index=True)
        starts[owner] = work.start[those[first]]
    return starts


def _longer_than_period(workload: Workload) -> list[str]:
    """A sentence about tasks whose jobs take longer than the period even when nothing else runs."""
    found = []
    for task in workload:
        alone = sum(part.time or 0 for part in task.segments)
        if alone > task.period:
            found.append(f"{clip(task.name, 40)} {time_with_unit(alone, 1)}")
    if not found:
        return []
    those = ", ".join(_first(found))
    return [f"the segments of a job together take longer than the period: {those}"]


def _quantile(value: Quantile) -> Fraction:
    if isinstance(value, float):
        part = Fraction(repr(float(value))) if math.isfinite(value) else Fraction(0)
    else:
        part = as_factor(value, "quantile")
    if not 0 < part <= 1:
        raise ValueError(f"quantile: got {shown(value)}, expected more than 0 and at most 1")
    return part


def _rank_text(quantile: Fraction) -> str:
    if quantile == 1:
        return "the largest"
    return f"the {float(quantile):.6g} quantile, by rank,"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _name(trace: Recording) -> str:
    return os.path.basename(trace.source) or "a trace"


def _first(sentences: Iterable[str]) -> list[str]:
    given = list(sentences)
    more = len(given) - _NOTES
    return [*given[:_NOTES], *([f"and {more} more tasks"] if more > 0 else [])]
