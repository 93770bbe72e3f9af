"""Models derived from a workload: the facts they rest on, parts and calls of a job, refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Generic, NamedTuple, TypeGuard, TypeVar

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip, named
from gpusched.model.batch_table import BatchTable
from gpusched.model.gpus.gpu_fields import share_an_engine
from gpusched.model.gpus.gpu_presets import MOST_DLAS, dlas_of_gpu
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launches import Launches
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CPU, DLA, CopyIn, CopyOut, Kernel, Segment
from gpusched.model.workload.time_units import TickLength, time_with_unit

CPUS_APART = "CPU work is not delayed by other tasks"
"""Beginning of an assumption of views without CPUs that tasks share."""

COPY_WAITS = "each copy waits for one copy of every other task on its engine, at most"
"""Beginning of an assumption of views whose copies are lengthened by their waits."""


def refuse_triggers(tasks: Iterable[Task]) -> None:
    """Raise ValueError for a task that others release, where a model has none."""
    for task in tasks:
        if task.after:
            raise ValueError(
                f"{named(task.name)}: got a task after {named(task.after[0])}, expected a period; "
                'the model has no triggered tasks (triggered="one" runs a group as one task)'
            )


class Source(NamedTuple):
    """A workload on a platform whose times are in the same ticks.

    ``tick`` is the length of a tick in ns; ``times`` has the times of kernels per task and segment.
    """

    tasks: tuple[Task, ...]
    tick: TickLength
    times: tuple[tuple[KernelTimes | None, ...], ...]
    platform: Platform
    assumptions: tuple[str, ...]

    def text(self, time: int) -> str:
        """A time with its unit."""
        return time_with_unit(time, self.tick)

    def all_times(self) -> list[KernelTimes]:
        """The times of all kernels."""
        return [of for row in self.times for of in row if of is not None]

    def processes(self) -> list[str | None]:
        """Processes of the tasks that use the GPU, by first occurrence; None: no process."""
        return list(dict.fromkeys(task.process for task in self.tasks if not _is_cpu_only(task)))

    def refuse_missing_engines(self) -> None:
        """Raise ValueError for copies on engines, and for DLAs, that the platform does not have."""
        dlas = MOST_DLAS if self.platform.gpu is None else dlas_of_gpu(self.platform.gpu.name)
        for task in self.tasks:
            for part in task.segments:
                if isinstance(part, DLA) and part.on >= dlas:
                    assert self.platform.gpu is not None
                    raise ValueError(
                        f"{named(task.name)}: got work on DLA {part.on}, expected one of those of "
                        f"the {self.platform.gpu.name}, which has {dlas}"
                    )
        if self.platform.copy_engines != 0:
            return
        for task in self.tasks:
            if any(uses_engine(part) and not isinstance(part, DLA) for part in task.segments):
                raise ValueError(
                    f"{named(task.name)}: got copies on engines with copy_engines=0, expected at "
                    "least one engine, or copies by the CPU (by='cpu')"
                )

    def refuse_barriers(self) -> None:
        """Raise ValueError for blocks that wait for each other, where kernels share the SMs."""
        for of in self.all_times():
            if of.kernel.barrier == "plain":
                raise ValueError(
                    f"{of.where}: got a plain launch of blocks that wait for each other, expected "
                    "a way in which no other kernel runs meanwhile; beside others some of its "
                    "blocks may not start while the rest keep their SMs, and two such kernels can "
                    "be a deadlock"
                )
            if of.kernel.barrier is not None:
                raise ValueError(
                    f"{of.where}: got a cooperative launch, expected none; the model has no "
                    "kernels that start only when all of their blocks fit beside others"
                )

    def refuse_jitter(self) -> None:
        """Raise ValueError for a task with release jitter."""
        for task in self.tasks:
            if task.jitter:
                raise ValueError(
                    f"{named(task.name)}: got a jitter of {self.text(task.jitter)}, expected none; "
                    "the model has no release jitter"
                )

    def refuse_processes(self, why: str) -> None:
        """Raise ValueError for GPU work of several processes."""
        found = self.processes()
        if len(found) > 1:
            shown = ", ".join("none" if name is None else repr(name) for name in found)
            raise ValueError(
                f"process: got {clip(shown, 200)}, expected one process for all tasks that use "
                f"the GPU; {why}"
            )

    def refuse_levels(self, priorities: Iterable[int]) -> None:
        """Raise ValueError for more stream priorities than the GPU has levels."""
        count, levels = len(set(priorities)), self.platform.priority_levels
        if levels is not None and count > levels:
            raise ValueError(
                f"stream_priority: got {count} different priorities, expected at most the "
                f"{levels} levels of the platform"
            )

    def with_copy_waits(self) -> tuple[Source, tuple[str, ...]]:
        """Copies lengthened by the time that they may wait, and the tasks that have such copies.

        A copy engine serves the copies of all streams in the order in which they reach it, and each
        stream has one copy at the engine at a time. A copy therefore waits for at most one copy of
        each other task on its engine.
        """
        longest = [self._longest_copies(task) for task in self.tasks]
        total = sum(longest, Counter[Hashable]())
        tasks, waiting = [], []
        for task, own in zip(self.tasks, longest, strict=True):
            others = total - own
            if any(others[engine] for engine in own):
                waiting.append(task.name)
                task = task.replace(
                    segments=[
                        part.replace(time=part.time + others[self._engine(part)])
                        if uses_engine(part)
                        else part
                        for part in task.segments
                    ]
                )
            tasks.append(task)
        return self._replace(tasks=tuple(tasks)), tuple(waiting)

    def with_launches_of_copies(self) -> Source:
        """Copies next to no kernel lengthened by the launch latency, once per run of them.

        Copies and kernels without CPU work between are launched together. A run of copies without a
        kernel is a launch of its own.
        """
        latency = self.platform.launch_latency
        if not latency:
            return self
        return self._replace(
            tasks=tuple(
                task.replace(segments=_with_launches(task.segments, latency)) for task in self.tasks
            )
        )

    def _engine(self, copy: CopyIn | CopyOut | DLA) -> Hashable:
        return engine_of(copy, shared=share_an_engine(self.platform.copy_engines))

    def _longest_copies(self, task: Task) -> Counter[Hashable]:
        """Ticks of a task's longest copy on each engine that it uses."""
        found: Counter[Hashable] = Counter()
        for part in task.segments:
            if uses_engine(part):
                engine = self._engine(part)
                found[engine] = max(found[engine], part.time)
        return found

    def stream_priorities(self, tasks: Sequence[Task]) -> list[int]:
        """Priorities of the streams; all 0 if no task has a priority.

        Raises ValueError if only some tasks have one, and for more priorities than levels.
        """
        found = given_to_all(tasks, "stream_priority") or [0] * len(tasks)
        self.refuse_levels(found)
        return found


def _with_launches(segments: Sequence[Segment], latency: int) -> list[Segment]:
    found: list[Segment] = []
    for on_cpu, run in groupby(segments, runs_on_cpu):
        parts = list(run)
        first = parts[0]
        if not on_cpu and isinstance(first, (CopyIn, CopyOut, DLA)):
            if not any(isinstance(part, Kernel) for part in parts):
                parts[0] = first.replace(time=first.time - (-latency // first.repeat))
        found += parts
    return found


class JobParts(NamedTuple):
    """A job with the total CPU work before, between and after its GPU segments, in ticks.

    ``inner`` are the GPU segments, with the times of kernels.
    """

    before: int
    between: int
    after: int
    inner: tuple[tuple[Segment, KernelTimes | None], ...]

    @property
    def copies(self) -> int:
        """Ticks of the copies on engines."""
        return sum(part.time * part.repeat for part, of in self.inner if of is None)

    @property
    def kernels(self) -> list[KernelTimes]:
        """The kernels, each once whatever its ``repeat``."""
        return [of for _, of in self.inner if of is not None]


def job_parts(task: Task, times: Sequence[KernelTimes | None]) -> JobParts | None:
    """The parts of a task's job; None for a task without GPU segments."""
    places = [i for i, part in enumerate(task.segments) if not runs_on_cpu(part)]
    if not places:
        return None
    first, last = places[0], places[-1]
    inner = tuple((task.segments[i], times[i]) for i in places)
    return JobParts(
        before=_cpu_time(task.segments[:first]),
        between=_cpu_time(task.segments[first:last]),
        after=_cpu_time(task.segments[last:]),
        inner=inner,
    )


def around_kernel(task: Task, parts: JobParts) -> JobParts:
    """The parts of a job in which only a single kernel occupies the GPU.

    The times before and after the kernel, copies on engines included, are summed up.
    """
    [(kernel, times)] = [(part, of) for part, of in parts.inner if of is not None]
    at = next(i for i, part in enumerate(task.segments) if part is kernel)
    return JobParts(
        before=_time(task.segments[:at]),
        between=0,
        after=_time(task.segments[at + 1 :]),
        inner=((kernel, times),),
    )


def work_behind(task: Task) -> int:
    """Ticks of a job's CPU work after its last GPU segment."""
    places = [i for i, part in enumerate(task.segments) if not runs_on_cpu(part)]
    return _time(task.segments[places[-1] + 1 :]) if places else 0


def runs_on_cpu(segment: Segment) -> bool:
    """Whether a segment runs on a CPU: CPU work, or a copy by the CPU."""
    if isinstance(segment, (Kernel, DLA)):
        return False
    return isinstance(segment, CPU) or segment.by == "cpu"


def uses_engine(segment: Segment) -> TypeGuard[CopyIn | CopyOut | DLA]:
    """Whether a segment runs on a copy engine, or on a DLA, which is like an engine of its own."""
    return isinstance(segment, (CopyIn, CopyOut, DLA)) and not runs_on_cpu(segment)


def engine_of(segment: CopyIn | CopyOut | DLA, *, shared: bool) -> Hashable:
    """The engine of a copy, one for all if ``shared``, or one for each direction; or a DLA."""
    if isinstance(segment, DLA):
        return "DLA", segment.on
    return "copy in" if shared or isinstance(segment, CopyIn) else "copy out"


def given_to_all(tasks: Sequence[Task], key: str) -> list[int] | None:
    """An optional number of every task; None if no task has it, ValueError if only some have."""
    found = [getattr(task, key) for task in tasks]
    have = [number for number in found if number is not None]
    if have and len(have) < len(found):
        name = next(task.name for task in tasks if getattr(task, key) is None)
        raise ValueError(f"{name}: got no {key}, expected one as of other tasks, or none for all")
    return have or None


def listed(names: Iterable[str]) -> str:
    """Names of tasks, for a sentence."""
    return clip(", ".join(dict.fromkeys(names)), 300)


def launching_sentences(
    tasks: Sequence[Task], platform: Platform, text: Callable[[int], str]
) -> list[str]:
    """Sentences on the forms in which jobs launch operations of the GPU, and on their costs."""
    users = [task for task in tasks if not _is_cpu_only(task)]
    forms = {task.launches or "async" for task in users}
    said = []
    for form in ("async", "sync", "graph"):
        names = [task.name for task in users if (task.launches or "async") == form]
        call = platform.graph_launch_cpu if form == "graph" else platform.launch_cpu
        takes = f", of {text(call)} of a CPU" if call else ""
        if names:
            whose = "" if len(forms) == 1 else f": {listed(names)}"
            said.append(f"{_FORMS[form].format(takes)}{whose}")
    if any(isinstance(part, DLA) for task in users for part in task.segments):
        said.append(
            "a DLA works for one job at a time, in the order in which work reaches it, and counts "
            "as a copy engine of its own"
        )
    for time, sentence in (
        (platform.launch_latency, "each launch takes effect at most {} later"),
        (platform.kernel_gap, "a kernel can start {} after it is the first one of its stream"),
        (platform.wake_latency, "a thread is ready {} after the operations that it waits for"),
    ):
        if time and users:
            said.append(sentence.format(text(time)))
    return said


_FORMS = {
    "async": "copies and kernels without CPU work between them are launched one after the other, "
    "by a call each{}, and the thread leaves its core until all have ended",
    "sync": "copies and kernels are launched one at a time, by a call each{}, and the thread "
    "leaves its core until each has ended",
    "graph": "copies and kernels without CPU work between them are launched as a graph, by one "
    "call{}, and the thread leaves its core until all have ended",
}


def _cpu_time(segments: Iterable[Segment]) -> int:
    return _time(part for part in segments if runs_on_cpu(part))


def _time(segments: Iterable[Segment]) -> int:
    return sum(part.time * part.repeat for part in segments)


def _is_cpu_only(task: Task) -> bool:
    return all(runs_on_cpu(part) for part in task.segments)


Model = TypeVar("Model", covariant=True)


@dataclass(frozen=True, eq=False)
class View(Generic[Model]):
    """Tasks of a model, as ``Workload.kernels`` and ``Workload.hosts`` derive them.

    >>> w = gs.Workload([gs.Task("a", 9, [gs.Kernel(4, blocks=8, threads=256)])])
    >>> view = w.kernels(gs.Platform("Xavier"))
    >>> view.tasks, view.assumptions
    (KernelTasks(period=[9], wcet=[4]), ())

    Parameters
    ----------
    tasks
        `KernelTasks` or `HostTasks`, in ticks of the workload.
    assumptions
        Sentences: the assumptions of the workload, followed by those of the derivation.
    """

    tasks: Model
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class BatchView(View[KernelTasks]):
    """Kernel tasks and the completion times of their batches (``Workload.batches``).

    Parameters
    ----------
    tasks, assumptions
        As in `View`.
    table
        Batch table of the tasks.
    """

    table: BatchTable


@dataclass(frozen=True, eq=False)
class ChainBatchView(View[KernelChains]):
    """Chains of kernels, and the completion times of batches of their kernels.

    Made by ``Workload.batches(..., chains="keep")``, or with units of consecutive kernels by
    ``chains="cut"``.

    Parameters
    ----------
    tasks, assumptions
        As in `View`.
    table
        Batch table of the kernels, which are the rows of ``tasks.rows``.
    units
        For each task, the number of kernels of the workload in each kernel of the chain.
    """

    table: BatchTable
    units: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class LaunchView:
    """Launches of all jobs up to a time (``Workload.launches``).

    Parameters
    ----------
    launches
        Kernels and copies of the jobs.
    task, job
        For each launch, the index of its task in the workload, and the number of its job, from 0;
        shape ``(n,)``.
    assumptions
        As in `View`.
    """

    launches: Launches
    task: Int64Array
    job: Int64Array
    assumptions: tuple[str, ...]


_MOST = 1_000_000
"""Most operations of a job with calls between them."""


def has_costs(platform: Platform) -> bool:
    """Whether launches cost more than their latency."""
    costs = (platform.launch_cpu, platform.graph_launch_cpu)
    return any((*costs, platform.kernel_gap, platform.wake_latency))


def calls_are_free(tasks: Iterable[Task], platform: Platform) -> bool:
    """Whether jobs do no more than their segments say, but for launch latencies."""
    if has_costs(platform):
        return False
    return all(task.launches != "sync" or longest_run(task) < 2 for task in tasks)


def with_calls(source: Source) -> Source:
    """The source with the calls of launches, gaps and wake-ups in its segments and latency."""
    if calls_are_free(source.tasks, source.platform):
        return source
    tasks, rows = [], []
    for task, times in zip(source.tasks, source.times, strict=True):
        segments, row = [], list[KernelTimes | None]()
        for part, at in explicit_calls(task, source.platform):
            of = None if at < 0 else times[at]
            if of is not None and isinstance(part, Kernel) and part.repeat < of.kernel.repeat:
                of = replace(of, kernel=of.kernel.replace(repeat=part.repeat))
            segments.append(part)
            row.append(of)
        tasks.append(task.replace(segments=segments))
        rows.append(tuple(row))
    platform = platform_without_calls(source.platform)
    return source._replace(tasks=tuple(tasks), times=tuple(rows), platform=platform)


def longest_run(task: Task) -> int:
    """The most operations of a job between which it has no CPU work."""
    runs = groupby(task.segments, runs_on_cpu)
    return max((sum(part.repeat for part in run) for cpu, run in runs if not cpu), default=0)


def platform_without_calls(platform: Platform) -> Platform:
    """The platform for a job with `explicit_calls`: each kernel has its gap in its latency."""
    return platform.replace(
        launch_latency=platform.launch_latency + platform.kernel_gap,
        launch_cpu=0,
        graph_launch_cpu=0,
        kernel_gap=0,
        wake_latency=0,
    )


def kernel_costs(source: Source) -> list[str]:
    """Sentences on what launches cost where each kernel waits for its own."""
    platform = source.platform
    said = []
    latency = platform.launch_latency + platform.kernel_gap
    if latency:
        what = "launch latency and gap" if platform.kernel_gap else "launch latency"
        said.append(f"each kernel takes the {what} of {source.text(latency)} longer")
    if not calls_are_free(source.tasks, platform):
        said.append(
            "the calls that launch copies and kernels, and the wake-ups behind these, are CPU work "
            "of their tasks"
        )
    return said


def explicit_calls(task: Task, platform: Platform) -> Iterator[tuple[Segment, int]]:
    """The segments of a job with its calls and wake-ups as CPU work, and the place of each, or -1.

    The calls of operations without CPU work between them come before the first of these; with
    "sync" launches the call of each, and the wake-up of the thread behind each. Times are whole
    ticks of the platform and the task.
    """
    count = sum(part.repeat for part in task.segments if not runs_on_cpu(part))
    if task.launches == "sync" and count > _MOST:
        raise ValueError(
            f"{named(task.name)}: got {count:,} operations with sync launches in a job, expected "
            f"at most {_MOST:,}"
        )
    last = len(task.segments) - 1
    at = 0
    for on_cpu, run in groupby(task.segments, runs_on_cpu):
        parts = list(run)
        if on_cpu:
            yield from ((part, at + k) for k, part in enumerate(parts))
        elif task.launches == "sync":
            yield from _one_by_one(parts, at, at + len(parts) > last, platform)
        else:
            count = sum(part.repeat for part in parts)
            graph = task.launches == "graph"
            calls = platform.graph_launch_cpu if graph else count * platform.launch_cpu
            yield from _work(calls)
            yield from ((part, at + k) for k, part in enumerate(parts))
            if at + len(parts) <= last:
                yield from _work(platform.wake_latency)
        at += len(parts)


def _work(time: int) -> Iterator[tuple[Segment, int]]:
    if time > 0:
        yield CPU(time), -1


def _one_by_one(
    parts: list[Segment], at: int, ends: bool, platform: Platform
) -> Iterator[tuple[Segment, int]]:
    between = platform.launch_cpu + platform.wake_latency
    left = sum(part.repeat for part in parts)
    yield from _work(platform.launch_cpu)
    for k, part in enumerate(parts):
        if between == 0:  # nothing separates it from the others: its latency is its own time
            later = 0 if isinstance(part, Kernel) else platform.launch_latency
            yield (part.replace(time=part.time + later) if later else part), at + k
            left -= part.repeat
            continue
        for _ in range(part.repeat):
            yield part.replace(repeat=1), at + k
            left -= 1
            yield from _work(between if left else 0 if ends else platform.wake_latency)


def copies_meet(tasks: Iterable[Task], platform: Platform) -> bool:
    """Whether copies of several tasks use the same engine (a single one, or one per direction), or
    several tasks the same DLA."""
    users: Counter[Hashable] = Counter()
    shared = share_an_engine(platform.copy_engines)
    for task in tasks:
        parts = filter(uses_engine, task.segments)
        users.update({engine_of(part, shared=shared) for part in parts})
    return any(count > 1 for count in users.values())
