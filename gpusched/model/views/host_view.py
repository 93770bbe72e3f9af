"""Host tasks of a workload: CPU segments, and GPU segments of kernels and copies."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched._support.text import named
from gpusched.model.host_tasks import HostTasks
from gpusched.model.views.derived_view import (
    COPY_WAITS,
    Source,
    View,
    given_to_all,
    listed,
    runs_on_cpu,
)
from gpusched.model.workload.kernel_waves import ON_FEWER_SMS, KernelTimes, excess_notes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, CopyIn, Kernel, Segment


@dataclass
class _Section:
    """A GPU segment: copies in by a CPU, kernels and copies on engines, copies out by a CPU."""

    copy_in: int
    kernels: list[KernelTimes] = field(default_factory=list)
    copies: int = 0
    operations: int = 0
    copied_last: bool = False
    copy_out: int = 0

    def takes(self, part: Segment, *, split: bool) -> bool:
        """Whether a kernel or a copy on an engine belongs to it; ``split`` as in `host_view`."""
        if self.copy_out:
            return False
        if not self.kernels:
            return True
        waits_for_slice = split and self.copied_last and isinstance(part, Kernel)
        return not (isinstance(part, CopyIn) or waits_for_slice)


@dataclass
class _Job:
    """CPU segments, one more than the GPU segments, and GPU segments."""

    cpu: list[int] = field(default_factory=lambda: [0])
    sections: list[_Section] = field(default_factory=list)
    has_lone_copies: bool = False


def host_view(
    source: Source, *, divided: bool, waits: bool, split: bool, switches: bool, jitter: bool
) -> View[HostTasks]:
    """Host tasks with kernel times on 1, 2, ... SMs, or on all; see ``Workload.hosts``.

    ``split``: a kernel that follows a copy behind another kernel begins a GPU segment.
    """
    if not jitter:
        source.refuse_jitter()
    waiting: tuple[str, ...] = ()
    if waits:
        source, waiting = source.with_copy_waits()
    tasks, platform = source.tasks, source.platform
    several = len(source.processes()) > 1
    if divided:
        source.refuse_barriers()
        source.refuse_processes("kernels of different contexts do not share the SMs")
        if platform.gpu is None and any(task.kernels for task in tasks):
            raise ValueError(
                "platform: got no GPU, expected one whose SMs are divided (sms='all' is for "
                "methods that do not divide them)"
            )
    jobs = [_job(task, times, split) for task, times in zip(tasks, source.times, strict=True)]
    for task, job in zip(tasks, jobs, strict=True):
        _add_calls(source, task, job, in_turns=split)
    switch = platform.context_switch if several and switches else 0
    sms, latency = platform.sms if divided else None, platform.launch_latency + platform.kernel_gap
    priority = given_to_all(tasks, "priority")
    derived = HostTasks(
        period=[task.period for task in tasks],
        cpu=[job.cpu for job in jobs],
        copy_in=[[part.copy_in for part in job.sections] for job in jobs],
        kernel=[
            [_times(part, sms, latency, switch + platform.wake_latency) for part in job.sections]
            for job in jobs
        ],
        copy_out=[[part.copy_out for part in job.sections] for job in jobs],
        deadline=[task.deadline for task in tasks],
        jitter=[task.jitter for task in tasks],
        priority=priority,
        offset=[task.offset for task in tasks],
        core=_cores(source),
        name=[task.name for task in tasks],
    )
    said = _sentences(source, jobs, waiting, divided, switch)
    if priority is None:
        said.append(
            "CPU priorities are deadline-monotonic (the shorter the deadline, the more urgent), "
            "ties by the order of the tasks"
        )
    return View(derived, (*source.assumptions, *said))


def _job(task: Task, times: tuple[KernelTimes | None, ...], split: bool) -> _Job:
    job = _Job()
    waiting = 0  # copies in by a CPU whose GPU segment has not come yet
    section: _Section | None = None  # the one that the next operation of the GPU may belong to
    for part, of in zip(task.segments, times, strict=True):
        if not runs_on_cpu(part):
            if section is None or not section.takes(part, split=split):
                section = _Section(waiting)
                job.sections.append(section)
                job.cpu.append(0)
                waiting = 0
            section.copied_last = of is None
            section.operations += part.repeat
            if of is None:
                section.copies += part.time * part.repeat
            else:
                section.kernels.append(of)
            continue
        time = part.time * part.repeat
        if isinstance(part, CopyIn):
            waiting += time
            section = None
            continue
        if waiting:
            job.has_lone_copies = True
            job.cpu[-1] += waiting
            waiting = 0
        if isinstance(part, CPU):
            job.cpu[-1] += time
            section = None
        elif section is None:
            job.has_lone_copies = True
            job.cpu[-1] += time
        else:
            section.copy_out += time
    if waiting:
        job.has_lone_copies = True
        job.cpu[-1] += waiting
    return job


def _add_calls(source: Source, task: Task, job: _Job, *, in_turns: bool) -> None:
    """Add the calls of launches to the copies in, which are CPU work of a GPU segment.

    ``in_turns``: each kernel that joins later than the end of the one before waits for a turn.
    """
    platform = source.platform
    for section in job.sections:
        kernels = sum(of.kernel.repeat for of in section.kernels)
        if task.launches == "sync" and section.operations > 1:
            raise ValueError(
                f"{named(task.name)}: got sync launches of {section.operations} operations in a "
                "GPU segment, expected async or graph; between them the model has no CPU work"
            )
        if task.launches != "graph":
            calls = section.operations * platform.launch_cpu
        else:
            calls = platform.graph_launch_cpu
        apart = platform.kernel_gap or (platform.launch_cpu and task.launches != "graph")
        if in_turns and kernels > 1 and apart:
            raise ValueError(
                f"{named(task.name)}: got {kernels} kernels in a GPU segment with a gap or a call "
                "before each, expected one; each waits for a turn of its own"
            )
        section.copy_in += calls


def _times(section: _Section, sms: int | None, latency: int, switch: int) -> list[int]:
    """Times of a GPU segment, copies by a CPU apart, on 1, 2, ... SMs, or on all SMs alone.

    ``latency``: of each kernel; ``switch``: what is added once.
    """
    rows = [[of.time] if sms is None else of.profile() for of in section.kernels]
    repeats = [of.kernel.repeat for of in section.kernels]
    if not rows:  # a copy is launched like a kernel
        rows, repeats = [[0] * (sms or 1)], [1]
    return [
        switch
        + section.copies
        + sum((time + latency) * times for time, times in zip(column, repeats, strict=True))
        for column in zip(*rows, strict=True)
    ]


def _cores(source: Source) -> list[int]:
    for task in source.tasks:
        if task.core is not None and task.core >= source.platform.cpus:
            raise ValueError(
                f"{named(task.name)}: got core {task.core}, expected one of the "
                f"{source.platform.cpus} CPU cores of the platform"
            )
    return [-1 if task.core is None else task.core for task in source.tasks]


def _sentences(
    source: Source, jobs: list[_Job], waiting: tuple[str, ...], divided: bool, switch: int
) -> list[str]:
    said = excess_notes(source.all_times(), source.tick)
    latency = source.platform.launch_latency + source.platform.kernel_gap
    if source.all_times():
        said += _launch_costs(source)
    if switch:
        said.append(
            f"each GPU segment begins with a context switch of {source.text(switch)}, as several "
            "processes use the GPU"
        )
    named = list(zip(source.tasks, jobs, strict=True))
    for names, text in (
        ([task.name for task, job in named if any(part.copies for part in job.sections)],
         "copies on engines are GPU time of their GPU segment"),
        ([task.name for task, job in named if any(not part.kernels for part in job.sections)],
         "copies on engines next to no kernel are GPU segments of their own"
         + (", with the launch latency" if latency else "")),
        (waiting, COPY_WAITS),
        ([task.name for task, job in named if job.has_lone_copies],
         "copies by a CPU next to no other work of the GPU count as CPU work outside of GPU "
         "segments"),
        ([task.name for task, job in named if any(_is_merged(part) for part in job.sections)],
         "consecutive kernels are one GPU segment"),
    ):  # fmt: skip
        if names:
            said.append(f"{text}: {listed(names)}")
    alone = [task.name for task in source.tasks if not all(k.has_shape for k in task.kernels)]
    if divided and alone:
        said.append(f"{ON_FEWER_SMS}: {listed(alone)}")
    if not divided and source.all_times():
        said.append("every kernel has all SMs; the times say nothing of fewer SMs")
    return said


def _launch_costs(source: Source) -> list[str]:
    platform = source.platform
    said = []
    if latency := platform.launch_latency + platform.kernel_gap:
        what = "launch latency and gap" if platform.kernel_gap else "launch latency"
        said.append(f"each kernel takes the {what} of {source.text(latency)} longer")
    if platform.launch_cpu or platform.graph_launch_cpu:
        said.append("the calls that launch a GPU segment are CPU work at its beginning")
    if platform.wake_latency:
        said.append(
            f"a GPU segment ends {source.text(platform.wake_latency)} later, once its thread wakes"
        )
    return said


def _is_merged(section: _Section) -> bool:
    return sum(of.kernel.repeat for of in section.kernels) > 1
