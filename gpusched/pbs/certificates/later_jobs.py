"""Condition under which a proof may ignore jobs after the hyperperiod of a subset of the tasks."""

from __future__ import annotations

from gpusched.model.kernel_tasks import KernelTasks
from gpusched.pbs.certificates.certificate import CertificateError

__all__ = ["check_later_jobs"]


def check_later_jobs(part: KernelTasks, tasks: KernelTasks) -> None:
    """Refuse a proof about a subset of the tasks if later jobs may run together with its jobs.

    The proof considers the jobs released in the hyperperiod of the subset. If that is shorter than
    the hyperperiod of all tasks and one of these jobs may end after it, a batch may also contain
    later jobs, and might take longer without them.
    """
    late = (part.offset + part.deadline > part.period).any()
    if late and part.hyperperiod != tasks.hyperperiod:
        raise CertificateError(
            "tasks: expected jobs that are due by the end of the tasks' hyperperiod, or the "
            "hyperperiod of all tasks"
        )
