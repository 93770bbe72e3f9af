"""Condition under which jobs after the hyperperiod of some tasks may be left out of a proof."""

from __future__ import annotations

from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificates.certificate import CertificateError

__all__ = ["check_later_jobs"]


def check_later_jobs(part: KernelTasks, tasks: KernelTasks) -> None:
    """Refuse a proof about a part of the tasks where later jobs may run with those it counts.

    The jobs released in the hyperperiod of the part count. Where that is shorter than the
    hyperperiod of all tasks and one of these jobs may end after it, a batch may hold later jobs as
    well, and might take longer without them.
    """
    late = (part.offset + part.deadline > part.period).any()
    if late and part.hyperperiod != tasks.hyperperiod:
        raise CertificateError(
            "tasks: expected jobs that are due by the end of the tasks' hyperperiod, or the "
            "hyperperiod of all tasks"
        )
