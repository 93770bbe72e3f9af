"""Waits of a job in a simulation of CPU and GPU segments, from its intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched.comparison.waits.wait_sums import (
    JobSpan,
    Waited,
    busy_within,
    overlaps,
    shown_name,
    sorted_waits,
)
from gpusched.model.workload.platforms import Platform
from gpusched.simulate.host_intervals import WHAT, Intervals
from gpusched.simulate.host_result import HostRun
from gpusched.simulate.host_run import host

__all__ = ["host_waits"]

_MOST_PARTS = 200_000  # segments of the jobs of a run that is repeated
_MOST_NEAR = 3_000  # intervals beside a job, each of which is compared with all others

_FOR_CORE, _FOR_COPY, _FOR_SMS, _FOR_GPU = (
    WHAT.index(f"wait for {what}") for what in ("core", "copy engine", "SMs", "GPU")
)
_ON_CORE = tuple(WHAT.index(what) for what in ("cpu", "copy in", "copy out", "spin"))
_SPIN = WHAT.index("spin")
_ON_GPU = tuple(WHAT.index(what) for what in ("copy in", "kernel", "copy out"))


def host_waits(
    run: HostRun, platform: Platform, options: Mapping[str, Any], span: JobSpan
) -> list[Waited] | None:
    """The causes for which a job waited, the longest first; None if they are not known.

    ``platform``: with times in ticks of the run. ``options``: those of the way. A run without
    intervals is repeated up to the end of the job, if its jobs have at most 200,000 segments.
    """
    if span.name not in run.tasks.name:
        return None
    task = run.tasks.name.index(span.name)
    if run.intervals is None:
        again = _repeated(run, platform, options, task, span)
        if again is None:
            return None
        run = again
    log = run.intervals
    assert log is not None
    near = (log.end > span.release) & (log.start < span.end)
    if int(near.sum()) > _MOST_NEAR:
        return None
    partitioned = run.policy == "partitioned"
    sums = _partitioned(run, task, span) if partitioned else _global(log, task, span)
    made = run

    def text(cause: tuple[str, int]) -> str:
        what, other = cause
        name = shown_name(made.tasks.name[other]) if other >= 0 else "another task"
        return _text(made, what, name, task, span)

    return sorted_waits(sums, text)


def _repeated(
    run: HostRun, platform: Platform, options: Mapping[str, Any], task: int, span: JobSpan
) -> HostRun | None:
    """The run with its intervals, with the jobs released before the end of a job."""
    hosts = run.tasks
    jobs = np.maximum(0, -((hosts.offset - span.end) // hosts.period))
    if int((jobs * (1 + 4 * hosts.segments)).sum()) > _MOST_PARTS:
        return None
    again = host(
        hosts,
        run.cpus,
        run.way,
        sms=run.sms,
        until=max(span.end, span.release + 1),
        progress=False,
    )
    row = np.flatnonzero((again.task == task) & (again.job == span.job))
    before = np.flatnonzero((run.task == task) & (run.job == span.job))
    if len(row) != 1 or len(before) != 1:
        return None
    if span.has_ended and again.end[row[0]] != run.end[before[0]]:
        return None
    return again


def _partitioned(run: HostRun, task: int, span: JobSpan) -> dict[tuple[str, int], int]:
    waits = run.waits(task, span.job)
    total: Counter[tuple[str, int]] = Counter()
    length = np.minimum(waits.end, span.end) - waits.start
    for cause, other, ticks in zip(
        waits.label.tolist(), waits.task.tolist(), length.tolist(), strict=True
    ):
        if cause not in ("own", "own update"):
            total[cause, other] += ticks
    return dict(total)


def _global(log: Intervals, task: int, span: JobSpan) -> dict[tuple[str, int], int]:
    """Waits of a job that may run on any core."""
    total: Counter[tuple[str, int]] = Counter()
    mine = np.flatnonzero((log.task == task) & (log.job == span.job))
    others = np.flatnonzero(
        (log.task >= 0) & (log.task != task) & (log.end > span.release) & (log.start < span.end)
    )
    begun = min(log.start[mine].tolist(), default=span.end)
    if begun > span.release:
        total["previous", task] += begun - span.release
    for row in mine.tolist():
        what, start = int(log.what[row]), int(log.start[row])
        ticks = min(int(log.end[row]), span.end) - start
        if what == _FOR_CORE:
            kinds, cause = _ON_CORE, "core"
        elif what in (_FOR_GPU, _FOR_SMS, _FOR_COPY):
            kinds, cause = _ON_GPU, "GPU"
        elif what == _SPIN:  # while it waits, and during its own copies and kernels
            kinds, cause = _ON_GPU, "GPU"
            own = mine[np.isin(log.what[mine], _ON_GPU)]
            spans = zip(log.start[own].tolist(), log.end[own].tolist(), strict=True)
            ticks -= busy_within(spans, start, start + ticks)
        else:
            continue
        there = others[np.isin(log.what[others], kinds)]
        end = min(int(log.end[row]), span.end)
        total[cause, _busiest(log, there, start, end)] += ticks
    return dict(total)


def _busiest(log: Intervals, rows: Int64Array, start: int, end: int) -> int:
    """The task whose intervals overlap a span most; -1 if there is none."""
    found: Counter[int] = Counter()
    ticks = overlaps(log.start[rows], log.end[rows], start, end)
    for task, length in zip(log.task[rows].tolist(), ticks.tolist(), strict=True):
        found[task] += length
    best = max(found, key=lambda each: found[each], default=-1)
    return best if best >= 0 and found[best] else -1


def _text(run: HostRun, cause: str, name: str, task: int, span: JobSpan) -> str:
    core = int(run.tasks.core[task])
    holder = {
        "gpu_server": f"for the GPU server, which served {name}",
        "gcaps": f"for the GPU, which {name} had",
        "time_slices": f"for its time slice, while {name} had the GPU",
        "stgm": f"for its SMs, which {name} had",
        "driver": f"for the GPU, which {name} had",
        "container": f"for the GPU, which {name} had",
    }.get(run.way.name, f"for the lock, held by {name}")
    words = {
        "previous": f"because job {span.job - 1} had not ended",
        "higher": f"for a CPU: {name}, more urgent, ran on its core {core}",
        "lower": f"for a CPU: a GPU segment of {name} kept its core {core}",
        "server": "for the GPU server",
        "copy engine": f"for a copy engine, busy with {name}'s copy",
        "SMs": f"for its SMs, busy with {name}'s kernel",
        "GPU": holder,
        "switch": "for a switch of the GPU to its context",
        "update": f"for {name}'s update of the run list",
        "owner": "for the GPU, which a more urgent task had without a kernel",
        "core": f"for a CPU: all {run.cpus} had work that is due earlier, such as {name}'s",
    }
    if cause == "core" and run.way.name == "container":
        return "for a CPU, or for its server's budget"
    if cause == "core" and run.cpus == 1:
        return f"for a CPU, which had {name}'s work"
    return words.get(cause, f"for {name}")
