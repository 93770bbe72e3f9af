"""Parts of a job in a simulation of a machine: what it did, for what it waited, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip
from gpusched.comparison.instances.instance_runs import InstanceRuns
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS
from gpusched.model.views.derived_view import runs_on_cpu, uses_engine
from gpusched.model.workload.platforms import Platform, process_of_each
from gpusched.model.workload.segments import CopyIn, Kernel, Segment, Sync
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_result import ACTIVITIES, OPERATIONS, MachineRun
from gpusched.ways.way import as_way

Cause = TypeVar("Cause", tuple[str, str], tuple[str, int])
"""A reason, and the other task by name or index."""

_SHOWN = 40  # characters of a name


@dataclass(frozen=True)
class JobSpan:
    """A job of a run: its task, its number, and the time from its release to its end.

    ``end`` is the time at which the simulation ended, for a job that had not ended.
    """

    name: str
    job: int
    release: int
    end: int
    has_ended: bool


@dataclass(frozen=True)
class Waited:
    """Ticks that a job waited for one cause; ``text`` continues "waited 9ms".

    ``for_earlier``: for the job of its task before it.
    """

    ticks: int
    text: str
    for_earlier: bool = False


def shown_name(name: str) -> str:
    """The name of a task in a sentence."""
    return clip(name, _SHOWN)


def sorted_waits(
    sums: Mapping[Cause, int], text: Callable[[Cause], str], earlier: str = "previous"
) -> list[Waited]:
    """The waits, the longest first; the cause ``earlier`` is the job before."""
    found = sorted(sums.items(), key=lambda item: -item[1])
    return [Waited(ticks, text(cause), cause[0] == earlier) for cause, ticks in found if ticks > 0]


def overlaps(start: Int64Array, end: Int64Array, low: int, high: int) -> Int64Array:
    """Ticks of each span within an interval."""
    found: Int64Array = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
    return found


_MOST_STEPS = 2_000_000  # times of the job times what ran beside it
_MOST_CHANNELS = 32  # of CUDA_DEVICE_MAX_CONNECTIONS
_WORK = ACTIVITIES.index("work")
_KERNEL = OPERATIONS.index("kernel")
_DLA = OPERATIONS.index("DLA")
_OWN = ("CPU work", *OPERATIONS)
_PLANNED = ("pbs", "edf_parallel")
_FOR_GPU = {
    "gpu_server": "for the GPU server, which served {}",
    "stgm": "for its SMs, which {} had",
    "edf_serial": "for its turn on the GPU, which {} had",
    "gcaps": "for its update of the run list",
    "mpcp": "for the lock, held by {}",
    "fmlp_plus": "for the lock, held by {}",
    "srm": "for the lock, held by {}",
    "container": "for the GPU, which {} had",
}
"""The wait of a thread at the beginning of a section, by way."""


@dataclass(frozen=True)
class MachineSetting:
    """A workload on a platform under a way, with the times of a run."""

    workload: Workload
    platform: Platform
    way: str


@dataclass(frozen=True)
class JobPart:
    """A part of the time from the release of a job to its end, in ticks.

    ``text`` names its own work, such as "kernel", or continues "waited".
    """

    start: int
    end: int
    waits: bool
    text: str


def machine_waits(run: MachineRun, setting: MachineSetting, span: JobSpan) -> list[Waited] | None:
    """The causes for which a job waited, the longest first; None if they are not known."""
    found = _of_job(run, setting, span)
    if found is None:
        return None
    total: Counter[tuple[str, int]] = Counter()
    for start, end, cause, other in found.parts():
        if cause not in _OWN:
            total[cause, other] += end - start
    return sorted_waits(dict(total), found.text)


def job_parts(run: MachineRun, setting: MachineSetting, span: JobSpan) -> list[JobPart] | None:
    """The time of a job in order, without gaps; None if it is not known."""
    found = _of_job(run, setting, span)
    if found is None:
        return None
    parts: list[JobPart] = []
    for start, end, cause, other in found.parts():
        waits = cause not in _OWN
        text = found.text((cause, other)) if waits else cause
        if parts and parts[-1].text == text:
            start = parts.pop().start
        parts.append(JobPart(start, end, waits, text))
    return parts


def _of_job(run: MachineRun, setting: MachineSetting, span: JobSpan) -> _OfJob | None:
    if run.operations is None or run.cpu is None or span.name not in run.name:
        return None
    found = _OfJob(run, setting, span)
    return found if found.is_small() else None


class _OfJob:
    """A job, its operations and CPU work, and those of others that ran meanwhile."""

    def __init__(self, run: MachineRun, setting: MachineSetting, span: JobSpan) -> None:
        ops, cpu = run.operations, run.cpu
        assert ops is not None
        assert cpu is not None
        self.run, self.setting, self.span, self.ops, self.cpu = run, setting, span, ops, cpu
        self.way = setting.way
        self.task = task = run.name.index(span.name)
        self.segments: list[Segment] = [part for _, part in setting.workload[task].steps()]
        self.ended = np.where(ops.end < 0, run.now, ops.end)
        near = (ops.called < span.end) & (self.ended > span.release)
        own = (ops.task == task) & (ops.job == span.job)
        self.mine, self.others = np.flatnonzero(own), np.flatnonzero(near & ~own & (ops.first >= 0))
        beside = (cpu.start < span.end) & (cpu.end > span.release)
        here = (cpu.task == task) & (cpu.job == span.job) & (cpu.what == _WORK)
        self.work, self.busy = np.flatnonzero(here), np.flatnonzero(beside & (cpu.task != task))
        self.core = -1
        if not as_way(self.way).global_edf:
            self.core = int(cpu.cpu[cpu.task == task].max(initial=-1))
        self.turns = np.zeros(0, np.int64)
        if run.turns is not None:
            turns = run.turns
            self.turns = np.flatnonzero((turns.start < span.end) & (turns.end > span.release))
        self.context = int(run.context[task])

    def is_small(self) -> bool:
        """Whether the parts are found quickly."""
        steps = 1 + 6 * len(self.mine) + 2 * len(self.work) + 2 * len(self.turns)
        return steps * (1 + len(self.others) + len(self.busy) + len(self.turns)) <= _MOST_STEPS

    def parts(self) -> list[tuple[int, int, str, int]]:
        """Intervals between the events of the job: what it did, or the cause of its wait and the
        task that had what it waited for (-1: none is known)."""
        return [(start, end, *self._cause(start, end)) for start, end in self._intervals()]

    def _intervals(self) -> list[tuple[int, int]]:
        times = [np.array([self.span.release, self.span.end])]
        for column in ("called", "arrived", "head", "joined", "first", "end"):
            times.append(getattr(self.ops, column)[self.mine])
        times += [self.cpu.start[self.work], self.cpu.end[self.work]]
        costs = self.setting.platform
        times.append(self.ops.head[self.mine] + costs.kernel_gap)
        times.append(self.ops.end[self.mine] + costs.wake_latency)
        if self.run.turns is not None:
            times += [self.run.turns.start[self.turns], self.run.turns.end[self.turns]]
        every = np.unique(np.concatenate(times))
        inside = every[(every >= self.span.release) & (every <= self.span.end)].tolist()
        return list(pairwise(inside))

    def _cause(self, start: int, end: int) -> tuple[str, int]:
        on_cpu = (self.cpu.start[self.work] <= start) & (start < self.cpu.end[self.work])
        if on_cpu.any():
            return "CPU work", -1
        ops = self.ops
        flying = self.mine[(ops.called[self.mine] <= start) & (self.ended[self.mine] > start)]
        if not len(flying):
            return self._for_cpu(start, end)
        k = int(flying[0])

        def before(column: Int64Array) -> bool:
            return bool(column[k] < 0 or column[k] > start)

        what = OPERATIONS[ops.what[k]]
        if before(ops.arrived):
            return "latency", -1
        if before(ops.head):
            return "stream", self._most(np.ones(len(self.others), np.bool_), start, end)
        copies = ops.what[self.others] != _KERNEL
        if ops.what[k] != _KERNEL:
            if before(ops.first):
                dla = ops.what[k] == _DLA
                rivals = copies & ((ops.what[self.others] == _DLA) == dla)
                return "DLA queue" if dla else "copy engine", self._most(rivals, start, end)
            return what, -1
        turn = self._turn(start)
        if turn is not None and turn[0] != self.context:
            return "slice", turn[0]
        if turn is not None and turn[1]:
            return "switch", -1
        if before(ops.joined) and start < int(ops.head[k]) + self.setting.platform.kernel_gap:
            return "gap", -1
        if before(ops.joined):
            return "channel", self._most(~copies, start, end)
        if before(ops.first):
            return "GPU", self._most(~copies, start, end)
        return what, -1

    def _turn(self, time: int) -> tuple[int, bool] | None:
        """The context that is served, or to which the GPU switches; None if there is one only."""
        turns = self.run.turns
        if turns is None or not len(self.turns) or self.way == "mig":
            return None
        rows = self.turns[(turns.start[self.turns] <= time) & (time < turns.end[self.turns])]
        if not len(rows):
            return -1, False
        return int(turns.task[rows[0]]), bool(turns.switches[rows[0]])

    def _for_cpu(self, start: int, end: int) -> tuple[str, int]:
        begun = self.cpu.start[self.work].min(initial=self.span.end)
        begun = min(begun, self.ops.called[self.mine].min(initial=self.span.end))
        earlier = (self.ops.task == self.task) & (self.ops.job < self.span.job)
        earlier &= self.ended > start
        same = (self.cpu.task == self.task) & (self.cpu.job < self.span.job)
        same &= self.cpu.end > start
        if start < begun and (earlier.any() or same.any()):
            return "previous", self.task
        ended = self.ended[self.mine[self.ended[self.mine] <= start]].max(initial=-1)
        if 0 <= ended and start < int(ended) + self.setting.platform.wake_latency:
            return "wake", -1
        if self.way in _FOR_GPU and self._begins_section(start):
            return "lock", self._most(np.ones(len(self.others), np.bool_), start, end)
        there = self.busy[self.cpu.cpu[self.busy] == self.core] if self.core >= 0 else self.busy
        return "CPU", self._longest(self.cpu, self.cpu.end, there, start, end)

    def _begins_section(self, time: int) -> bool:
        """Whether the next segment is one of the GPU, or a copy in by a CPU before one."""
        cpu, ops = self.cpu, self.ops
        done = [-1, *ops.item[self.mine[self.ended[self.mine] <= time]].tolist()]
        ran = self.work[cpu.end[self.work] <= time]
        done += cpu.item[ran].tolist()
        later = self.work[cpu.start[self.work] >= time]
        place = max(done)
        if place >= 0 and place in cpu.item[later].tolist():
            return False  # it was preempted in the middle of CPU work
        rest = [part for part in self.segments[place + 1 :] if not isinstance(part, Sync)]
        while len(rest) > 1 and isinstance(rest[0], CopyIn) and runs_on_cpu(rest[0]):
            rest = rest[1:]
        return bool(rest) and (isinstance(rest[0], Kernel) or uses_engine(rest[0]))

    def _most(self, among: Int64Array, start: int, end: int) -> int:
        """The task whose operations ran longest in an interval, -1: none did."""
        rows = self.others[np.asarray(among, np.bool_)]
        return self._longest(self.ops, self.ended, rows, start, end)

    def _longest(
        self, log: object, ends: Int64Array, rows: Int64Array, start: int, end: int
    ) -> int:
        begin = self.ops.first if log is self.ops else self.cpu.start
        tasks = self.ops.task if log is self.ops else self.cpu.task
        ticks = overlaps(begin[rows], ends[rows], start, end)
        found: Counter[int] = Counter()
        for task, length in zip(tasks[rows].tolist(), ticks.tolist(), strict=True):
            found[task] += length
        best = max(found, key=lambda each: found[each], default=-1)
        return best if best >= 0 and found[best] else -1

    # Words

    def text(self, cause: tuple[str, int]) -> str:
        """The cause in words, behind "waited 9ms"."""
        what, other = cause
        name = "another task"
        if other == len(self.run.name):
            name = "the server"
        elif other >= 0:
            name = shown_name(self.run.name[other])
        if what == "channel":
            return f"because {self._channel(name)}"
        alone = as_way(self.way).in_turns
        return {
            "previous": f"because job {self.span.job - 1} had not ended",
            "latency": "for its launches to arrive",
            "gap": "for the gap between kernels",
            "wake": "for its thread to wake up",
            "stream": f"because the work of {name} was before it in the one stream of all tasks: "
            "give each task a stream (--way streams)"
            if self.way == "one_stream"
            else f"for the GPU, which {name} had"
            if self.way == "driver"
            else "because earlier work of its stream had not ended",
            "GPU": f"for the GPU, which {name} had"
            if alone
            else f"because kernels of {name} left no room on the SMs",
            "copy engine": f"for a copy engine, busy with {name}'s copy",
            "DLA queue": f"for a DLA, busy with {name}'s work",
            "slice": f"for its time slice, while {name} had the GPU"
            if self.way == "time_slices"
            else f"for the GPU, which {name} had",
            "switch": "for a switch of the GPU to its context",
            "CPU": "for a CPU, or for its server's budget"
            if self.way == "container" and len(self.mine)
            else f"for a CPU, which had {name}'s work",
            "lock": _FOR_GPU.get(self.way, "for the GPU, which {} had").format(name),
        }[what]

    def _channel(self, other: str) -> str:
        if self.way in _PLANNED:
            return f"its batch had not begun, while {other} ran"
        workload, platform = self.setting.workload, self.setting.platform
        of_client = self.way in ("mps", "mps_static")
        alike = list(workload)
        if of_client or self.way == "time_slices":
            process = process_of_each(workload)
            alike = [each for each in alike if process[each.name] == process[self.span.name]]
        streams = sum(not all(map(runs_on_cpu, each.segments)) for each in alike)
        channels = platform.channels
        if channels is None:
            gpu = platform.gpu
            channels = CLIENT_CHANNELS if of_client else gpu.channels or 0 if gpu else 0
        said = f"{other}'s stream shares its hardware channel ({streams} streams, "
        said += f"{channels} channels)"
        if streams > _MOST_CHANNELS:
            return f"{said}: use fewer streams, as there are at most {_MOST_CHANNELS} channels"
        return f"{said}: set CUDA_DEVICE_MAX_CONNECTIONS={streams} (--channels {streams})"


Detail = InstanceRuns | MachineRun
"""The results that a run of a workload keeps."""


def wait_sentence(
    detail: Detail,
    setting: MachineSetting,
    options: Mapping[str, Any],
    span: JobSpan,
) -> str:
    """A sentence on the longest wait of a job, with a remedy where one is known.

    "" if the waits are not known. ``options``: those of the way.
    """
    run, setting, span = _in_run(detail, setting, options, span)
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
    run, setting, span = _in_run(detail, setting, options, span)
    return None if run is None else job_parts(run, setting, span)


def _in_run(
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
