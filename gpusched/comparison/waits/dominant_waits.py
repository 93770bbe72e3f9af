"""Dominant wait of a late job of a simulated workload, in the machine's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched.comparison.instances.instance_runs import InstanceRuns, ModelRun
from gpusched.comparison.waits.host_task_waits import host_waits
from gpusched.comparison.waits.launch_waits import launch_waits
from gpusched.comparison.waits.machine_waits import machine_waits
from gpusched.comparison.waits.wait_sums import JobSpan, Waited
from gpusched.comparison.waits.wave_waits import wave_waits
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.fifo_result import FifoRun
from gpusched.simulate.hierarchy_result import Hierarchy
from gpusched.simulate.machine_result import MachineRun

__all__ = ["wait_sentence"]


def wait_sentence(
    detail: ModelRun | InstanceRuns | MachineRun,
    workload: Workload,
    platform: Platform,
    options: Mapping[str, Any],
    span: JobSpan,
) -> str:
    """A sentence on the longest wait of a job, with a remedy where one is known.

    "" if the waits are not known: a run without a timeline is repeated up to the end of the job,
    unless that takes too long. The platform has its times in ticks.
    """
    found = _waits(detail, workload, platform, options, span)
    if found is None:
        return ""
    whole = span.end - span.release
    most = whole - _alone(workload, platform, span.name)
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


def _names(run: ModelRun) -> tuple[str, ...]:
    if isinstance(run, Hierarchy):
        return run.launches.stream_name
    return run.name if isinstance(run, MachineRun) else run.tasks.name


def _waits(
    detail: ModelRun | InstanceRuns | MachineRun,
    workload: Workload,
    platform: Platform,
    options: Mapping[str, Any],
    span: JobSpan,
) -> list[Waited] | None:
    if isinstance(detail, InstanceRuns):
        for run in detail.runs.values():
            if span.name in _names(run):
                return _waits(run, workload, platform, options, span)
        return None
    if isinstance(detail, Hierarchy):
        return launch_waits(detail, workload.names, span)
    if isinstance(detail, FifoRun):
        return wave_waits(detail, span)
    if isinstance(detail, MachineRun):
        return machine_waits(detail, span)
    return host_waits(detail, platform, options, span)
