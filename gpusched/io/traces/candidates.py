"""Tasks that a trace can be divided into (by annotation, step, stream or kernel); their periods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip, shown, shown_names
from gpusched.io.traces.trace_jobs import (
    NONE,
    SEVERAL,
    GpuWork,
    Nesting,
    Occurrences,
    Recording,
    chosen_ranges,
    groups,
    left_out,
    owners,
    task_namer,
)
from gpusched.io.traces.trace_tables import NO_CALL, OF_STREAM, compiled, labels
from gpusched.model.workload.time_units import Time, as_time, in_ticks, time_with_unit

Periods = Time | Mapping[str, Time] | None
"""One period for all tasks, periods by name of the task, or None: as observed."""


class MissingPeriod(ValueError):
    """A task without a period that is given or can be observed."""


@dataclass(frozen=True)
class Period:
    """The period of a task, a sentence about its origin, and whether it is a given one."""

    time: Time
    said: str
    given: bool = False


def check_names(period: Periods, names: Sequence[str]) -> None:
    """Raise ValueError if a period is given for a task that does not exist."""
    if isinstance(period, Mapping):
        for name in period:
            if name not in names:
                known = clip(", ".join(names), 200)
                raise ValueError(f"period[{shown(name)}]: got this task, expected one of {known}")


def given_period(period: Periods, name: str) -> Time | None:
    """The period given for a task; None without one."""
    return period.get(name) if isinstance(period, Mapping) else period


def observed(
    period: Periods, name: str, start: Int64Array, on_gpu: Int64Array, busy: int
) -> Period | None:
    """Period of a task whose occurrences start at these times; None if it has to be given.

    If the GPU takes a job longer than the median distance of ``start``, the CPU runs ahead, and the
    distances of ``on_gpu`` count, the starts of jobs on the GPU. Medians are rounded down, which is
    safe.
    """
    if (given := given_period(period, name)) is not None:
        return Period(given, "the period is given", given=True)
    median, what = _median(start)
    if 1 <= median < busy:
        later, on_gpu_what = _median(on_gpu)
        if later > median:
            what = (
                f"{on_gpu_what}, by starts on the GPU, which takes {time_with_unit(busy, 1)} for a "
                f"job, longer than the {time_with_unit(median, 1)} between starts on the CPU"
            )
            median = later
    return Period(median, f"the period is {what}") if median >= 1 else None


def by_launches(period: Periods, name: str, count: int, span: int) -> Period | None:
    """Period of a kernel with so many launches in a time; None if it has to be given.

    It is rounded down, which is safe. The distances between launches would be those within bursts.
    """
    if (given := given_period(period, name)) is not None:
        return Period(given, "the period is given", given=True)
    launches = "launch" if count == 1 else "launches"
    said = f"the period is {time_with_unit(span, 1)} of GPU work over {count} {launches}"
    return Period(span // count, said) if span >= count else None


def _median(start: Int64Array) -> tuple[int, str]:
    """The median distance of times, rounded down, and what it is; 0 without a distance."""
    distance = np.sort(np.diff(np.sort(start)))
    if not len(distance):
        return 0, ""
    low, high = int(distance[(len(distance) - 1) // 2]), int(distance[len(distance) // 2])
    bounds = [time_with_unit(int(time), 1) for time in (distance[0], distance[-1])]
    what = f"the median of {len(distance)} distances, {bounds[0]} to {bounds[1]}"
    if len(distance) == 1:
        what = "the only distance between two occurrences"
    return low + (high - low) // 2, what


By = Literal["annotation", "step", "stream", "kernel"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Occurrences of tasks, one entry each, and the assignment of GPU work to them.

    ``owner`` and ``order`` have an entry per operation: its occurrence (negative: none), and the
    time by which those of a job are sorted. ``thread`` is -1 where occurrences have no CPU work.
    ``launch_span`` is the time of all GPU work, from its start to its end, if each launch is a job.
    """

    names: list[str]
    processes: list[str | None]
    task: Int64Array
    start: Int64Array
    end: Int64Array
    thread: Int64Array
    owner: Int64Array
    order: Int64Array
    said: list[str] = field(default_factory=list)
    launch_span: int | None = None


def candidates(
    trace: Recording,
    work: GpuWork,
    by: By,
    names: str | re.Pattern[str] | None,
    nesting: Nesting,
    period: Periods,
) -> Candidates:
    """Divide a trace into occurrences of tasks.

    Raises ValueError if the trace lacks what the choice needs.
    """
    if by == "kernel":
        return _by_kernel(trace, work, names)
    if by == "stream":
        return _by_stream(trace, work, names, nesting, period)
    if trace.events.missing:
        raise ValueError(trace.events.missing)
    found = chosen_ranges(trace.events, task_namer(names, by == "step"), nesting)
    if not len(found):
        raise ValueError(_no_ranges(trace, by, names))
    said: list[str] = []
    owner, order = _assigned(trace, work, found, said)
    on_stream = found.kind == OF_STREAM
    if on_stream.any():
        said.append("jobs have no CPU work, because the trace has ranges on streams only")
    return Candidates(
        names=found.names,
        processes=found.processes,
        task=found.task,
        start=found.start,
        end=found.end,
        thread=np.where(on_stream, -1, found.thread),
        owner=owner,
        order=order,
        said=said,
    )


def _no_ranges(trace: Recording, by: By, names: str | re.Pattern[str] | None) -> str:
    ranges = trace.events.ranges.name.tolist()
    known = shown_names(list(dict.fromkeys(ranges))) if ranges else "no ranges at all"
    source = trace.source or "the trace"
    if names is not None:
        pattern = names if isinstance(names, str) else names.pattern
        return f"names: got {shown(pattern)}, expected a match among {known}"
    if by == "step":
        return (
            f"{source}: got no ranges ProfilerStep#n, expected some (or give names, which choose "
            f"among {known})"
        )
    return (
        f"{source}: got no annotated ranges, expected some (record_function in PyTorch, NVTX; or "
        "by='stream' or 'kernel')"
    )


def _assigned(
    trace: Recording, work: GpuWork, found: Occurrences, said: list[str]
) -> tuple[Int64Array, Int64Array]:
    """Occurrence and order of each operation; counts those that have none in ``said``."""
    calls = trace.events.calls
    if np.any(found.kind == OF_STREAM):
        owner = owners(trace.events, found, work.start, work.stream)
        _count(said, work, owner == NONE, "outside of all ranges")
        return owner, work.start
    known = work.call != NO_CALL
    order, thread = work.start.copy(), np.full(len(work), -1)
    order[known] = calls.start[work.call[known]]
    thread[known] = calls.thread[work.call[known]]
    owner = owners(trace.events, found, order, thread)
    _count(said, work, ~known, "without a launch call in the trace")
    _count(said, work, known & (owner == NONE), "launched outside of all ranges")
    _count(said, work, owner == SEVERAL, "launched in several ranges of other threads")
    inside = owner >= 0
    others = inside & (thread != np.where(inside, found.thread[owner], thread))
    if count := int(others.sum()):
        said.append(
            f"{count} kernels and copies that other threads launched belong to the only range "
            "around their launch"
        )
    return owner, order


def _count(
    said: list[str],
    work: GpuWork,
    chosen: NDArray[np.bool_],
    where: str,
    what: str = "kernels and copies ",
) -> None:
    if chosen.any():
        said.append(left_out(f"{what}{where}", work.duration[chosen]))


def _by_kernel(trace: Recording, work: GpuWork, names: str | re.Pattern[str] | None) -> Candidates:
    kernels = work.kernel >= 0
    if names is not None:
        search = compiled(names, "names").search
        known = {name: search(name) is not None for name in dict.fromkeys(trace.name.tolist())}
        kernels[kernels] = [known[name] for name in trace.name[work.row[kernels]].tolist()]
        if not kernels.any():
            raise ValueError(f"names: got {shown(names)}, expected one that matches a kernel")
    rows = np.flatnonzero(kernels)
    tasks: dict[tuple[int, int], int] = {}
    keys = zip(work.kernel[rows].tolist(), work.blocks[rows].tolist(), strict=True)
    task = np.array([tasks.setdefault(key, len(tasks)) for key in keys], np.int64)
    first = work.row[rows[np.unique(task, return_index=True)[1]]]
    owner = np.full(len(work), NONE)
    owner[rows] = np.arange(len(rows))
    said = _without_copies(trace)
    _count(said, work, (work.kernel >= 0) & ~kernels, "that names does not match", "kernels ")
    _count(said, work, work.kernel < 0, "to and from the device", "copies ")
    found = _without_cpu(
        labels(trace.name[first].tolist()), task, work.start[rows], owner, work.start, said
    )
    return replace(found, launch_span=int(work.end.max()) - int(work.start.min()))


def _without_copies(trace: Recording) -> list[str]:
    """A sentence about copies that cannot be known, if it is so."""
    missing = trace.events.missing
    return [f"copies are left out ({missing})"] if missing else []


def _without_cpu(
    names: list[str],
    task: Int64Array,
    start: Int64Array,
    owner: Int64Array,
    order: Int64Array,
    said: Iterable[str],
) -> Candidates:
    return Candidates(
        names=names,
        processes=[None] * len(names),
        task=task,
        start=start,
        end=start,
        thread=np.full(len(start), -1),
        owner=owner,
        order=order,
        said=["CPU work is not part of the tasks", *said],
    )


def _by_stream(
    trace: Recording,
    work: GpuWork,
    names: str | re.Pattern[str] | None,
    nesting: Nesting,
    period: Periods,
) -> Candidates:
    pairs: dict[tuple[int, int], int] = {}
    keys = zip(work.context.tolist(), work.stream.tolist(), strict=True)
    stream = np.array([pairs.setdefault(key, len(pairs)) for key in keys], np.int64)
    contexts = {context for context, _ in pairs}
    texts = [
        f"stream {number}" + (f" of context {context}" if len(contexts) > 1 else "")
        for context, number in pairs
    ]
    said = _without_copies(trace)
    delimiters = _delimiters(trace, names, nesting)
    if delimiters is None:
        part, begin = _windows(work, stream, texts, period)
        order = work.start
        said.append(
            "a job is what starts on a stream in a period, counted from its first operation"
        )
    else:
        part, order = _assigned(trace, work, delimiters, said)
        begin = np.where(part >= 0, delimiters.start[part], 0)
        what = "a profiler step" if names is None else "one of the ranges"
        said.append(f"a job is what is launched on a stream in {what}")
    inside = np.flatnonzero(part >= 0)
    if not len(inside):
        raise ValueError(
            f"{trace.source or 'the trace'}: got no GPU work in the ranges, expected some"
        )
    parts = np.stack([stream[inside], part[inside]], axis=1)
    occurrences, first, where = np.unique(parts, axis=0, return_index=True, return_inverse=True)
    owner = np.full(len(work), NONE)
    owner[inside] = where.reshape(-1)
    used = np.unique(occurrences[:, 0])
    task = np.searchsorted(used, occurrences[:, 0])
    return _without_cpu(
        [texts[i] for i in used.tolist()], task, begin[inside[first]], owner, order, said
    )


def _delimiters(
    trace: Recording, names: str | re.Pattern[str] | None, nesting: Nesting
) -> Occurrences | None:
    """The ranges that delimit jobs of streams: the named ones, or profiler steps; None without."""
    if names is not None and trace.events.missing:
        raise ValueError(trace.events.missing)
    found = chosen_ranges(trace.events, task_namer(names, names is None), nesting)
    if len(found):
        return found
    if names is not None:
        raise ValueError(_no_ranges(trace, "stream", names))
    return None


def _windows(
    work: GpuWork, stream: Int64Array, texts: list[str], period: Periods
) -> tuple[Int64Array, Int64Array]:
    """The number of the period in which each operation starts, and the start of that."""
    part, begin = np.zeros(len(work), np.int64), np.zeros(len(work), np.int64)
    for number, rows in groups(stream, np.arange(len(work))):
        text = texts[number]
        given = given_period(period, text)
        if given is None:
            raise MissingPeriod(
                f"period: got None for {text!r}, expected a period, because the trace has no "
                "profiler steps that tell its jobs apart (or give names of ranges)"
            )
        length = in_ticks(as_time(given, "period"), None, 1, "period")
        first = int(work.start[rows].min())
        part[rows] = (work.start[rows] - first) // length
        begin[rows] = first + part[rows] * length
    return part, begin
