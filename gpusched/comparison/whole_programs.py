"""Tests of whole programs: the bounds of `gs.analysis.holistic` for the ways that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

import gpusched.analysis as analysis
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip
from gpusched.analysis.holistic_answer import HOLISTIC_TERMS, HolisticBound
from gpusched.comparison.core_choice import with_cores
from gpusched.comparison.derived_models import DerivedModels, StreamForm
from gpusched.comparison.machine_models import gpu_sections
from gpusched.comparison.verdicts.premises import by_core
from gpusched.model.host_tasks import HostTasks
from gpusched.model.programs import SEGMENT_KINDS, Programs
from gpusched.model.views.derived_view import View, refuse_triggers, runs_on_cpu
from gpusched.model.workload.platforms import process_of_each
from gpusched.model.workload.segments import CPU, Sync
from gpusched.ways.way import Way

_MOST_ASSIGNMENTS = 200
"""Number of assignments of tasks to cores up to which all are tried."""


@dataclass(frozen=True)
class WholeProgram:
    """The answer of the holistic test for the tasks of a workload, and what it was derived under.

    ``slower``: how the slowdown was counted.
    """

    answer: HolisticBound
    view: View[Programs]
    said: tuple[str, ...]
    slower: tuple[str, ...]


@dataclass(frozen=True)
class Beside:
    """CPU work of tasks, some of which share their cores with those of a test, and responses that
    it may count on, int64 ``(n,)``; no tasks if none has CPU work."""

    tasks: Programs | None
    response: Int64Array


@dataclass(frozen=True)
class _Case:
    """Programs under a way, with the arguments of the test."""

    models: DerivedModels
    view: View[Programs]
    arguments: dict[str, Any]
    said: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()


def _one_stream(models: DerivedModels, way: Way) -> _Case:
    return _Case(models, models.programs("one_stream"), {"rule": "one_stream"})


def _time_slices(models: DerivedModels, way: Way) -> _Case:
    """Processes of one task; if some have several, the kernels of each share the SMs."""
    platform, slower = models.platform, tuple[str, ...]()
    arguments: dict[str, Any] = {"rule": "time_slices", "timeslice": platform.timeslice}
    arguments["context_switch"] = platform.context_switch
    arguments["mode"] = way.given.get("mode") or "suspend"
    if not models.shares_processes():
        return _Case(models, models.programs("time_slices"), arguments)
    models.refuse_shared_channels("process")
    arguments["gpu"] = models.gpu()
    models, slower = models.on_free_sms()
    view, of_each = models.programs("time_slices"), process_of_each(models.workload)
    users = {task.name: of_each[task.name] for task in models.gpu_users()}
    numbers = {process: i for i, process in enumerate(dict.fromkeys(users.values()))}
    view = _in_parts_of(view, {name: numbers[process] for name, process in users.items()})
    view, _ = _in_channels(view, users, 0)
    said = "kernels of the tasks of a process share the SMs in its slices, in streams of their own"
    return _Case(models, view, arguments, (said,), slower)


def _edf_serial(models: DerivedModels, way: Way) -> _Case:
    _refuse_cpu_work_inside(models, "unit")
    return _Case(models, models.programs("one_stream"), {"rule": "edf_serial"})


def _refuse_cpu_work_inside(models: DerivedModels, what: str) -> None:
    """Raise ValueError for threads that need a CPU within the GPU work of a job."""
    for task in models.workload:
        if any(runs_on_cpu(part) and not isinstance(part, CPU) for part in task.segments):
            raise ValueError(
                f"{task.name}: got copies by the CPU, expected none; the GPU work of a job has "
                "them in it"
            )
        for on_gpu, run in groupby(task.segments, lambda part: not runs_on_cpu(part)):
            count = sum(part.repeat for part in run) if on_gpu else 0
            if task.launches == "sync" and count > 1:
                raise ValueError(
                    f"{task.name}: got sync launches of {count} operations without CPU work "
                    f"between them, expected async or graph; the GPU work of a job is one {what}"
                )


def _gcaps(models: DerivedModels, way: Way) -> _Case:
    """Sections are GPU segments: a copy in behind a kernel begins another one."""
    refuse_triggers(models.workload)
    models.own_processes()
    _refuse_cpu_work_inside(models, "GPU segment")
    platform, ranks = models.platform, models.gpu_priorities()
    view = models.programs("time_slices")
    waits = view.tasks.waits.copy()
    for row, name in zip(waits, view.tasks.name, strict=True):
        task = models.workload[name]
        place = np.cumsum([not isinstance(part, Sync) for _, part in task.steps()]) - 1
        row[[place[end - 1] for _, end in gpu_sections(task)]] = 1
    tasks = view.tasks.replace(waits=waits, level=[0] * len(waits) if ranks is None else ranks)
    arguments: dict[str, Any] = {"rule": "gcaps", "mode": way.given.get("mode") or "suspend"}
    arguments["stall"] = bool(way.given.get("stall"))
    arguments["context_switch"] = platform.context_switch
    arguments["update_cost"] = platform.update_cost
    return _Case(models, View(tasks, view.assumptions), arguments)


def _of_streams(models: DerivedModels) -> dict[str, Any]:
    release = models.channel_release
    return {"rule": "streams", "gpu": models.gpu(), "channel_release": release}


def _streams(form: StreamForm) -> Callable[[DerivedModels, Way], _Case]:
    def case(models: DerivedModels, way: Way) -> _Case:
        models, slower = models.on_free_sms()
        view = models.programs(form)
        users = {task.name for task in models.gpu_users()}
        view, said = _in_channels(view, dict.fromkeys(users, ""), models.channels())
        return _Case(models, view, _of_streams(models), said, slower)

    return case


def _mps(models: DerivedModels, way: Way) -> _Case:
    models.refuse_unknown_clients()
    client, limits = models.client_limits([task.name for task in models.gpu_users()])
    of_user = dict(zip((task.name for task in models.gpu_users()), client, strict=True))
    one, slower = models.in_one_process().on_free_sms(models.share_limits())
    view = one.programs("streams")
    view, said = _in_channels(view, of_user, models.channels(of_client=True))
    arguments = _of_streams(models)
    if any(limit < models.gpu().sms for limit in limits):
        view = _in_parts_of(view, of_user)
        arguments["part_limit"] = limits
        said = (
            *said,
            "a client with a share has blocks on so many SMs at most, whichever these are",
        )
    said = ("clients of MPS delay each other as streams of one process do", *said)
    return _Case(one, view, arguments, said, slower)


def _in_parts(models: DerivedModels, way: Way) -> _Case:
    models, slower = models.side_by_side()
    green = way.name == "green_contexts"
    parts = models.in_parts("green_contexts" if green else "mps_static", test=True)
    view = models.programs("green_contexts" if green else "mps_static")
    home = parts.part | parts.copies_of
    if not green:
        of_client = process_of_each(models.workload)
        owner: dict[str, Hashable] = {name: of_client[name] for name in home}
    elif models.platform.workqueue == "balanced":
        owner = dict(home)
    else:
        owner = dict.fromkeys(home, "")
    channels = models.channels(of_client=not green)
    view, said = _in_channels(_in_parts_of(view, parts.part), owner, channels)
    queues = "own_blocks" if green and models.platform.workqueue != "balanced" else "own"
    arguments = _of_streams(models) | {"queues": queues}
    arguments["part_sms"] = [len(sms) for sms in parts.sms]
    return _Case(models, view, arguments, said, slower)


WHOLE_PROGRAMS: dict[str, Callable[[DerivedModels, Way], _Case]] = {
    "one_stream": _one_stream,
    "streams": _streams("streams"),
    "priority_streams": _streams("priority_streams"),
    "mps": _mps,
    "mps_static": _in_parts,
    "green_contexts": _in_parts,
    "time_slices": _time_slices,
    "gcaps": _gcaps,
    "edf_serial": _edf_serial,
}
"""Ways whose guarantee for a whole program the holistic test can give."""


_TAKEN = {
    "time_slices": frozenset({"mode", "ring"}),
    "gcaps": frozenset({"mode", "stall", "update_cost", "context_switch"}),
}
"""Options of the other test of a way that the holistic one takes, too."""


def takes_options(way: Way, options: Iterable[str]) -> bool:
    """Whether the holistic test of a way has these options."""
    return set(options) <= _TAKEN.get(way.name, frozenset())


def whole_program(
    models: DerivedModels,
    way: Way,
    core: Int64Array | None,
    stop: Any,
    beside: Beside | None = None,
) -> WholeProgram:
    """The answer of the holistic test for a way.

    Without ``core``, tasks that have none get those of worst fit, or the first ones that the test
    accepts. ``beside``: tasks of other GPU instances, too; those of the workload are left out.
    """
    case = WHOLE_PROGRAMS[way.name](models, way)
    platform = models.platform
    costs = ("launch_cpu", "graph_launch_cpu", "kernel_gap", "wake_latency")
    arguments = case.arguments | {key: getattr(platform, key) for key in costs}
    arguments["latency"] = platform.launch_latency
    arguments["launches"] = [task.launches or "async" for task in models.workload]
    view, tasks, said = case.view, case.view.tasks, case.said
    if any(task.after for task in case.models.workload):
        of = [case.models.workload[name] for name in tasks.name]
        arguments["after"] = [list(task.after) for task in of]
        arguments["best"] = np.minimum([task.best for task in of], tasks.work)

    def tested(programs: Programs) -> HolisticBound:
        return analysis.holistic(programs, **arguments, stop=stop)

    if core is not None:
        tasks = tasks.with_placement(core=core)
    elif not models.has_cores() and tasks.n > 1:
        core, sentence = _cores(case, tested)
        tasks = tasks.with_placement(core=core)
        at = dict(zip(tasks.name, core.tolist(), strict=True))
        said = (*said, f"each task has a core: {by_core(at)}", sentence)
    answer = tested(tasks) if beside is None else _tested_beside(tasks, beside, arguments, stop)
    if way.name == "edf_serial" and answer.accepted:
        said = (*said, _keys(models, answer))
    return WholeProgram(answer, View(tasks, view.assumptions), said, case.slower)


def _tested_beside(
    tasks: Programs, beside: Beside, arguments: Mapping[str, Any], stop: Any
) -> HolisticBound:
    """The answer for tasks whose cores others have CPU work on, too."""
    known = () if beside.tasks is None else beside.tasks.name
    others = [i for i, name in enumerate(known) if name not in tasks.name]
    if beside.tasks is None or not others:
        return analysis.holistic(tasks, **arguments, stop=stop)
    more = dict(arguments)
    more["launches"] = [*arguments["launches"], *["sync"] * len(others)]  # they launch nothing
    more["assumed"] = [*[-1] * tasks.n, *beside.response[others].tolist()]
    found = analysis.holistic(tasks + beside.tasks.select(others), **more, stop=stop)
    n, forms = tasks.n, set(arguments["launches"])
    return replace(
        found,
        tasks=tasks,
        launches=forms.pop() if len(forms) == 1 else "mixed",
        bound=found.bound[:n],
        jobs=found.jobs[:n],
        terms=found.terms[:n],
    )


def _keys(models: DerivedModels, answer: HolisticBound) -> str:
    """The deadlines by which the dispatcher orders the GPU work of jobs."""
    tasks = answer.tasks
    behind = answer.terms[:, HOLISTIC_TERMS.index("behind")]
    due = (tasks.deadline - behind).tolist()
    users = (tasks.kind == SEGMENT_KINDS.index("kernel")).any(axis=-1)
    keys = (
        f"{name} {models.text(time)}"
        for name, time, uses in zip(tasks.name, due, users.tolist(), strict=True)
        if uses
    )
    released = any(task.after for task in models.workload)
    since = "arrival, or from its release by others," if released else "arrival"
    return (
        f"the dispatcher runs the GPU work of the job that is due first, counted from its {since} "
        f"and less the work behind: {clip(', '.join(keys), 300)}"
    )


def _cores(case: _Case, tested: Callable[[Programs], HolisticBound]) -> tuple[Int64Array, str]:
    """Cores of the tasks, and how they were chosen."""
    tasks, cpus = case.view.tasks, case.models.platform.cpus
    hosts = HostTasks(
        period=tasks.period,
        cpu=np.maximum(tasks.cpu_time, 1),
        deadline=np.minimum(tasks.deadline, tasks.period),
        name=tasks.name,
    )
    one = Programs.stack([tasks])

    def of_stack(stack: HostTasks, server: Any) -> Any:
        rows = one[np.zeros(len(stack), np.int64)]
        return tested(rows.with_placement(core=stack.core))

    choice = with_cores(
        hosts, cpus, of_stack, analysis.partition(hosts, cpus), most=_MOST_ASSIGNMENTS
    )
    return choice.core, choice.sentence


def _in_channels(
    view: View[Programs], owner: Mapping[str, Hashable], channels: int
) -> tuple[View[Programs], tuple[str, ...]]:
    """Programs whose streams have the channels of their owners, and a sentence where some share.

    ``owner`` has the owner of the channels of each task with a stream: a process, a context, or one
    for all. A stream has the channel of its number among those of its owner, modulo ``channels``
    (0: one for each).
    """
    found: dict[tuple[Hashable, int], int] = {}
    seen: Counter[Hashable] = Counter()
    numbers, shared = [], False
    for name in view.tasks.name:
        if name not in owner:
            numbers.append(-1)
            continue
        place = seen[owner[name]]
        seen[owner[name]] += 1
        key = (owner[name], place % channels if channels else place)
        shared = shared or key in found
        numbers.append(found.setdefault(key, len(found)))
    said = (
        (f"streams are created in the order of the tasks, and have {channels} channels in turn",)
        if shared
        else ()
    )
    return View(view.tasks.with_placement(channel=numbers), view.assumptions), said


def _in_parts_of(view: View[Programs], part: Mapping[str, int]) -> View[Programs]:
    """Programs in parts of the GPU; tasks without kernels are in any."""
    parts = [part.get(name, 0) for name in view.tasks.name]
    return replace(view, tasks=view.tasks.with_placement(part=parts))
