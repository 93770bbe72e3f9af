"""Conditions under which a schedule of the jobs of one hyperperiod is valid for all jobs.

The dispatchers of ``gs.pbs`` run the jobs that are released in [0, H), starting with an idle GPU.
If a job may end after H, because of an offset or a deadline longer than the period, the jobs of the
next hyperperiod are affected by it.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusched._support.text import clip, named
from gpusched.model.kernel_chains import BatchTasks
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.pbs.edf import Edf

__all__ = ["rate_notes", "refuse_unsettled", "stays_within"]

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
