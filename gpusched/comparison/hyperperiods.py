"""Whether a schedule of the jobs of one hyperperiod says something of all jobs.

The dispatchers of ``gs.pbs`` play the jobs that are released in [0, H), from an idle GPU. Jobs of
the next hyperperiod meet what is left of these where a job may end after H: with an offset, or a
deadline beyond the period.
"""

from __future__ import annotations

from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.edf import Edf

__all__ = ["refuse_unsettled", "stays_within"]


def stays_within(tasks: KernelTasks | KernelChains) -> bool:
    """Whether every job is over, in time or late, before the next release of its task could be.

    Then the jobs of one hyperperiod end before those of the next are released, and the schedule
    repeats.
    """
    return bool((tasks.offset + tasks.deadline <= tasks.period).all())


def refuse_unsettled(answer: Edf) -> None:
    """Raise ValueError for an answer that says nothing of the jobs of later hyperperiods.

    A miss at an instant within the hyperperiod is one. A schedule without a miss repeats where all
    tasks have begun within their first periods and the GPU is idle when the next hyperperiod's jobs
    come.
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
        f"{tasks.name[i]}: got GPU work that is released at {tasks.offset[i]} and due "
        f"{tasks.deadline[i]} later, expected one due within its period of {tasks.period[i]}; the "
        "dispatcher is played for one hyperperiod, and jobs of the next begin before these end"
    )
