"""Hyperperiods: when a schedule of one is valid for all jobs, and lengths of simulations.

The dispatchers of ``gs.pbs`` run the jobs that are released in [0, H), starting with an idle GPU.
If a job may end after H, because of an offset or a deadline longer than the period, the jobs of the
next hyperperiod are affected by it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gpusched._support.text import clip, named
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.model.kernel_chains import BatchTasks
from gpusched.model.views.derived_view import runs_on_cpu
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.pbs.edf import Edf

_MANY = 100  # periods in a hyperperiod that is worth a note


def stays_within(tasks: BatchTasks) -> bool:
    """Whether every job ends, in time or late, before the next release of its task can occur.

    Then the jobs of one hyperperiod end before those of the next are released, and the schedule
    repeats.
    """
    return bool((tasks.offset + tasks.deadline <= tasks.period).all())


def refuse_unsettled(answer: Edf, text: Callable[[int], str] = str) -> None:
    """Raise ValueError for an answer that does not extend to the jobs of later hyperperiods.

    A miss within the hyperperiod is always a miss. A schedule without a miss repeats if all tasks
    have their first release within their first period and the GPU is idle at the start of the next
    hyperperiod. ``text`` writes a time in the message.
    """
    tasks = answer.tasks
    if stays_within(tasks) or answer.undecided:
        return
    end = tasks.hyperperiod
    if answer.rejected:
        if answer.late_job[2] <= end:
            return
    elif (tasks.offset < tasks.period).all() and answer.schedule is not None:
        if answer.schedule.makespan <= end + int(tasks.offset.min()):
            return
    beyond = tasks.offset + tasks.deadline - tasks.period
    i = int(beyond.argmax())
    raise ValueError(
        f"{named(tasks.name[i])}: got GPU work that is released at {text(int(tasks.offset[i]))} "
        f"and due {text(int(tasks.deadline[i]))} later, expected one due within its period of "
        f"{text(int(tasks.period[i]))}; the dispatcher is played for one hyperperiod, and jobs of "
        "the next begin before these end"
    )


def rate_notes(workload: Workload) -> list[str]:
    """A sentence if rates were rounded to periods with a very long hyperperiod."""
    rates = {task.rate: task.period for task in workload if task._assumption() is not None}
    longest = max(task.period for task in workload)
    if len(rates) < 2 or workload.hyperperiod < _MANY * longest:
        return []
    seconds = workload.hyperperiod * workload.tick_ns / 10**9
    tick = workload.tick_ns
    periods = ", ".join(f"{rate} to {time_with_unit(ns, tick)}" for rate, ns in rates.items())
    return [
        f"Rates are rounded to periods of whole ticks: {clip(periods, 300)}. These are no "
        f"multiples of each other, and all jobs together repeat after {seconds:,.0f} s only, "
        "which makes exact tests slow and harmonic tasks drift; state periods that are multiples."
    ]


Work = Callable[[Task], int]
"""A kind of work: a function that returns its amount in one job of a task."""

MOST_LAUNCHES = 100_000
MOST_BLOCKS = 2_000_000
_SECONDS_NS = 10 * 10**9
_HYPERPERIODS = 10
_MOST_JOBS = 100_000
_MOST_AT_ONCE = 10  # times the limit, for one job of each task


def horizon(workload: Workload, *limits: tuple[Work, int]) -> int:
    """Default end of the releases of a simulation.

    Ten hyperperiods or 10 s after the first release of the last task, whichever is shorter. From
    then on there are at most `_MOST_JOBS` jobs, and no more work of each kind than its limit, but
    at least one tick. Tasks with offsets before which the other tasks would release too many jobs
    are ignored, with their jobs.
    """
    long = min(_HYPERPERIODS * workload.hyperperiod, _SECONDS_NS // workload.tick_ns)
    for work, most in ((_one_of, _MOST_JOBS), *limits):
        rate = sum((Fraction(work(task), task.period) for task in workload), Fraction(0))
        if rate:
            long = min(long, int(most / rate))
    offsets = sorted({task.offset for task in workload})
    while len(offsets) > 1 and _jobs_before(workload, offsets[-1]) > _MOST_AT_ONCE * _MOST_JOBS:
        offsets.pop()
    return offsets[-1] + max(1, long)


def refuse_many(workload: Workload, work: Work, most: int, name: str) -> None:
    """Raise ValueError if one job of each task together has far more work than the limit."""
    if (found := sum(work(task) for task in workload)) > _MOST_AT_ONCE * most:
        raise ValueError(
            f"{name}: got {found} in one job of each task, expected at most "
            f"{_MOST_AT_ONCE * most} for a simulation without until="
        )


def refuse_long_service(verdict: GedfVerdict) -> None:
    """Raise ValueError if jobs need far more periods of their server than the job limit."""
    hosts, period = verdict.hosts, int(verdict.server_period)
    work = int(
        (hosts.cpu_time + hosts.copy_time + hosts.kernel[..., -1].sum(axis=-1)).max(initial=0)
    )
    if period and work > _MOST_AT_ONCE * _MOST_JOBS * period:
        raise ValueError(
            f"period: got {period} ticks for the shortest, which is that of the server, with jobs "
            f"of {work} ticks, expected at most {_MOST_AT_ONCE * _MOST_JOBS} periods in a job for "
            "a simulation without until="
        )


def launches_of(task: Task) -> int:
    """Number of copies on engines and kernels in a job."""
    return sum(part.repeat for part in task.segments if not runs_on_cpu(part))


def blocks_of(task: Task) -> int:
    """Number of blocks of the kernels of a job."""
    return sum((kernel.blocks or 1) * kernel.repeat for kernel in task.kernels)


def _one_of(task: Task) -> int:
    return 1


def _jobs_before(workload: Workload, time: int) -> int:
    return sum(max(0, time - task.offset) // task.period for task in workload)
