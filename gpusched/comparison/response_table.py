"""Texts about the responses of simulated jobs: tables of percentiles, shares of late jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from gpusched._support.arguments import FloatArray, Int64Array, frozen
from gpusched._support.text import clip
from gpusched.comparison.path_runs import SimulatedTimes
from gpusched.comparison.workload_answer import known_at
from gpusched.model.answer import Times, missing
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

Shares: TypeAlias = np.ma.MaskedArray[Any, np.dtype[np.float64]]

PERCENTILES = (50, 95, 99)
"""Percentiles in texts about a run."""


def response_table(
    workload: Workload,
    jobs: Int64Array,
    percentiles: Sequence[tuple[float, Times]],
    worst: Times,
    late: Int64Array,
    interval: tuple[FloatArray, FloatArray] | None = None,
    paths: Sequence[SimulatedTimes] = (),
) -> str:
    """Responses of tasks as aligned text: number of jobs, percentiles, largest one, late jobs.

    ``interval``: that of the probability that a job is late. ``paths``: times of paths, of which
    the table has the same numbers.
    """
    names = (*(f"P{q:g}" for q, _ in percentiles), "worst", "deadline", "late")
    rows = [("task", "jobs", *names, *(() if interval is None else ("probability",)))]
    for i, task in enumerate(workload):
        count = int(jobs[i])
        taken = [known_at(times, i) for times in (*(times for _, times in percentiles), worst)]
        rows.append(
            (
                clip(task.name, 40),
                f"{count:,}",
                *("–" if t is None else time_with_unit(t, workload.tick_ns) for t in taken),
                time_with_unit(task.deadline, workload.tick_ns),
                f"{int(late[i]):,} ({late_text(int(late[i]), count)})" if late[i] else "0",
                *(() if interval is None else (f"{interval[0][i]:.2g} to {interval[1][i]:.2g}",)),
            )
        )
    for path in paths:
        due, count, tick = path.path.deadline, len(path), path.tick
        often = (path.percentile(q) for q, _ in percentiles)
        rows.append(
            (
                f"{clip(path.path.name, 40)} ({path.path.kind})",
                f"{count:,}",
                *("–" if t is None else time_with_unit(t, tick) for t in (*often, path.largest)),
                "–" if due is None else time_with_unit(due, tick),
                f"{path.late_count:,} ({late_text(path.late_count, count)})"
                if path.late_count
                else "0",
                *(() if interval is None else ("–",)),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


def times_of(found: Sequence[int | None]) -> Times:
    """Times as an array, masked where there is none."""
    return missing([one or 0 for one in found], [one is not None for one in found])


def shares_of(late: Int64Array, jobs: Int64Array) -> Shares:
    """Shares of jobs that are late, masked without jobs."""
    found: Shares = np.ma.array(frozen(late / np.maximum(jobs, 1)), mask=frozen(jobs == 0))
    return found


def late_text(late: int, jobs: int) -> str:
    """A share of jobs in percent: "0 %" and "100 %" only if it is that; "–" without jobs."""
    if jobs == 0:
        return "–"
    percent = 100 * late / jobs
    if late in (0, jobs) or 10 <= percent <= 99:
        return f"{percent:.0f} %"
    if percent > 99:
        return ">99 %"
    return "<0.1 %" if percent < 0.1 else f"{percent:.1f} %"
