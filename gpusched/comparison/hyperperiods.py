"""Conditions under which a schedule of the jobs of one hyperperiod is valid for all jobs.

The dispatchers of ``gs.pbs`` run the jobs that are released in [0, H), starting with an idle GPU.
If a job may end after H, because of an offset or a deadline longer than the period, the jobs of the
next hyperperiod are affected by it.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.edf import Edf

__all__ = ["refuse_unsettled", "stays_within"]


def stays_within(tasks: KernelTasks | KernelChains) -> bool:
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
        if answer.missed[2] <= end:
            return
    elif (tasks.offset < tasks.period).all() and answer.schedule is not None:
        if answer.schedule.makespan <= end + int(tasks.offset.min()):
            return
    beyond = tasks.offset + tasks.deadline - tasks.period
    i = int(beyond.argmax())
    raise ValueError(
        f"{tasks.name[i]}: got GPU work that is released at {text(int(tasks.offset[i]))} and due "
        f"{text(int(tasks.deadline[i]))} later, expected one due within its period of "
        f"{text(int(tasks.period[i]))}; the dispatcher is played for one hyperperiod, and jobs of "
        "the next begin before these end"
    )
