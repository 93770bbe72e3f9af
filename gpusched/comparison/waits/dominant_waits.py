"""Dominant wait of a late job of a simulated workload, in the machine's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpusched.comparison.instances.instance_runs import InstanceRuns
from gpusched.comparison.waits.machine_waits import (
    JobPart,
    MachineSetting,
    job_parts,
    machine_waits,
)
from gpusched.comparison.waits.wait_sums import JobSpan
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_result import MachineRun

Detail = InstanceRuns | MachineRun
"""The results that a run of a workload keeps."""

__all__ = ["parts_of", "wait_sentence"]


def wait_sentence(
    detail: Detail,
    setting: MachineSetting,
    options: Mapping[str, Any],
    span: JobSpan,
) -> str:
    """A sentence on the longest wait of a job, with a remedy where one is known.

    "" if the waits are not known. ``options``: those of the way.
    """
    run, setting, span = _of_job(detail, setting, options, span)
    found = None if run is None else machine_waits(run, setting, span)
    if found is None:
        return ""
    workload = setting.workload
    whole = span.end - span.release
    most = whole - _alone(workload, setting.platform, span.name)
    if not found or most <= 0:
        return f"Job {span.job} waited for nothing: its own work takes so long."
    first = found[0]
    tick = workload.tick_ns
    waited = min(first.ticks, most)  # the job may have run in part of it, too
    told = f"Job {span.job} waited {time_with_unit(waited, tick)} of its "
    told += f"{time_with_unit(whole, tick)} {first.text}"
    if first.for_earlier and len(found) > 1 and most > waited:
        second = min(found[1].ticks, most - waited)
        told += f", and {time_with_unit(second, tick)} {found[1].text}"
    return f"{told}."


def _alone(workload: Workload, platform: Platform, name: str) -> int:
    """Time of a job without others on the whole GPU; 0 if it is not known."""
    task = workload[name]
    try:
        times = workload[[name]].kernel_times(platform)[0]
    except (ValueError, OverflowError):
        return 0
    kernels = sum(of.least * of.kernel.repeat for of in times if of is not None)
    return task.cpu_time + task.copy_time + kernels


def parts_of(
    detail: Detail,
    setting: MachineSetting,
    options: Mapping[str, Any],
    span: JobSpan,
) -> list[JobPart] | None:
    """The parts of a job: its work and its waits, in order; None if it is not known."""
    run, setting, span = _of_job(detail, setting, options, span)
    return None if run is None else job_parts(run, setting, span)


def _of_job(
    detail: Detail,
    setting: MachineSetting,
    options: Mapping[str, Any],
    span: JobSpan,
) -> tuple[MachineRun | None, MachineSetting, JobSpan]:
    """The run that has the task, if there is one for each instance of a GPU, and its way.

    The span is that of the job in the ticks of the run: of whole ticks of the workload a part may
    be none of the job.
    """
    run: MachineRun | None = None
    if not isinstance(detail, InstanceRuns):
        run = detail
    else:
        setting = replace(setting, way=str(options.get("within", setting.way)))
        run = next((one for one in detail.runs.values() if span.name in one.name), None)
    if run is None or span.name not in run.name:
        return run, setting, span
    jobs = run.jobs
    own = (jobs.task == run.name.index(span.name)) & (jobs.number == span.job)
    if own.any():
        row = int(own.argmax())
        end = int(jobs.end[row])
        span = replace(span, release=int(run.origin[row]), end=end if end >= 0 else run.now)
    return run, setting, span
