"""Premises of the tests: facts under which the guarantee of a way holds on the whole machine.

A test proves its bounds for a model of a part of the machine. `PREMISES` names for each way the
facts that its proof takes for granted of the rest, and checks each. One that is false is refused
before the test runs (`NotApplicable`); one that is not shown becomes a `Condition` of the answer,
whose verdict is then "conditional". Delays that a test counts itself need no premise: waits for
copy engines, context switches, the slowdown of kernels that run together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import gpusched.analysis as analysis
from gpusched._support.text import clip, plural
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.saved_values import FieldValues, within
from gpusched.model.gpus.gpu_fields import rate_text
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS, most_clients
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.host_tasks import HostTasks
from gpusched.model.schedule import Schedule
from gpusched.model.views.derived_view import ChainBatchView, has_costs, runs_on_cpu, uses_engine
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import process_of_each
from gpusched.model.workload.segments import DLA, Kernel
from gpusched.ways.way import WAYS, Way


class NotApplicable(ValueError):
    """A way does not exist on the platform, or its model cannot express the workload.

    >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2)])])
    >>> try:
    ...     gs.analyze(w, gs.Platform("Xavier"), "pbs")
    ... except gs.NotApplicable as error:
    ...     print(error)
    tasks: got none with GPU segments, expected at least one
    """


@dataclass(frozen=True)
class Condition:
    """Condition of a guarantee that the package has not shown.

    >>> kernel = gs.Kernel("1ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task(name, "20ms", [gs.CPU("2ms"), kernel]) for name in "ab"], "us")
    >>> answer = gs.analyze(w, gs.Platform("Xavier", cpus=1), "edf_parallel")
    >>> print(answer.conditions[0])
    CPU work is not delayed by other tasks: 2 threads on 1 CPU (a CPU for each of them shows it: \
--cpus 2)
    >>> answer.conditions[0].premise, answer.conditions[0].tasks
    ('cpu_alone', ('a', 'b'))

    Attributes
    ----------
    premise
        Name of the premise of the test.
    text
        The condition in words.
    tasks
        Names of the tasks that it is about.
    remedy
        How to ensure it; "" if the package knows no way.
    """

    premise: str
    text: str
    tasks: tuple[str, ...] = ()
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})" if self.remedy else self.text


def conditions_values(conditions: Iterable[Condition]) -> tuple[dict[str, Any], ...]:
    """The fields of conditions, for documents and files."""
    return tuple(map(asdict, conditions))


def conditions_of(given: FieldValues) -> tuple[Condition, ...]:
    """The conditions of `conditions_values` in the field ``conditions``."""
    found = []
    for i, values in enumerate(given.dicts("conditions")):
        with within(f"conditions[{i}]"):
            one = FieldValues(values)
            made = Condition(
                one.text("premise"), one.text("text"), one.texts("tasks"), one.text("remedy")
            )
            one.done()
            found.append(made)
    return tuple(found)


@dataclass(frozen=True)
class Case:
    """A workload on a platform, and the answer of the test where there is one already."""

    models: DerivedModels
    answer: Any = None
    view: Any = None  # the derived model of the answer


@dataclass(frozen=True)
class Premise:
    """A premise of a test.

    ``refuse`` raises ValueError where it is false; ``doubt`` returns a condition where an accepting
    test needs a fact that is not shown, and None where the fact is shown.
    """

    name: str
    text: str
    refuse: Callable[[Case], None] | None = None
    doubt: Callable[[Case], Condition | None] | None = None


# CPUs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CpuSide:
    """Findings about the CPUs for tests of the GPU alone.

    ``condition`` is None if no thread that uses the GPU can be delayed on a CPU, and every task
    without GPU segments has a bound. ``response`` has the responses of those tasks, under the
    condition. ``core`` has the core of each task, without a condition; ``said`` that it was chosen.
    """

    condition: Condition | None
    response: dict[str, int]
    core: dict[str, int] = field(default_factory=dict)
    said: tuple[str, ...] = ()


def cpu_side(models: DerivedModels) -> CpuSide:
    """Whether CPU work is delayed by other tasks, and the responses of tasks without GPU segments.

    A thread is a task with GPU segments: it needs a CPU for its CPU work and for its launches. A
    launch that takes no CPU time is none, so that threads without CPU work can have one CPU
    together. Tasks without GPU segments run on the CPUs that are left, by fixed priorities.
    """
    return models.once("cpu_side", lambda: _cpu_side(models))


def _cpu_side(models: DerivedModels) -> CpuSide:
    models = models.with_calls()
    workload, cpus = models.workload, models.platform.cpus
    alone = [task for task in workload if all(map(runs_on_cpu, task.segments))]
    threads = [task for task in workload if task not in alone]
    working = [task for task in threads if task.cpu_time]
    cores = [task.core for task in workload]
    if not threads:
        return CpuSide(None, {})
    if not any(core is not None for core in cores):  # threads first, then those without CPU work
        idle = [task for task in threads if task not in working]
        own = {task.name: core for core, task in enumerate(working)}
        own |= dict.fromkeys((task.name for task in idle), len(working))
        rest = cpus - len(working) - bool(idle)
        found = _responses(alone, rest, cpus - rest) if rest >= 0 else None
        if found is not None:
            core = own | found[1]
            said = (f"each task has a core: {by_core(core)}",) if len(core) > 1 else ()
            return CpuSide(None, found[0], core, said)
    elif None not in cores:
        free = not _disturbed(threads, list(workload))
        found = _responses(alone, cpus, 0) if free else None
        if found is not None:
            given = {task.name: task.core for task in workload if task.core is not None}
            return CpuSide(None, found[0], given)
    elif len(workload) <= cpus:  # a core for each task
        taken = [core for core in cores if core is not None]
        others = iter(core for core in range(cpus) if core not in taken)
        core = {t.name: next(others) if t.core is None else t.core for t in workload}
        if len(set(taken)) == len(taken) and (found := _responses(alone, cpus, 0)) is not None:
            return CpuSide(None, found[0], core)
    own = {
        task.name: task.cpu_time
        for task in alone
        if task.cpu_time <= min(task.deadline, task.period)
    }
    return CpuSide(_shared_cpus(models, threads, alone), own)


def _disturbed(threads: list[Task], tasks: list[Task]) -> bool:
    """Whether a thread shares its core with a task that has CPU work."""
    return any(
        other.core == thread.core and other.cpu_time and other is not thread
        for thread in threads
        for other in tasks
    )


def _responses(
    tasks: list[Task], cpus: int, first: int
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Response bounds and cores of tasks without GPU segments, on so many cores from ``first`` on.

    None where not all of them have a bound. Tasks with a core keep it.
    """
    if not tasks:
        return {}, {}
    if cpus < 1 or any(task.jitter for task in tasks):
        return None
    given = [task.core for task in tasks if task.core is not None]
    if len(tasks) <= cpus and not given:
        core = {task.name: first + i for i, task in enumerate(tasks)}
        fits = all(task.cpu_time <= min(task.deadline, task.period) for task in tasks)
        return ({task.name: task.cpu_time for task in tasks}, core) if fits else None
    priority = [task.priority for task in tasks if task.priority is not None]
    if len(priority) < len(tasks):  # by deadlines, which may exceed the periods
        priority = deadline_ranks(np.array([task.deadline for task in tasks], np.int64)).tolist()
    hosts = HostTasks(
        period=[task.period for task in tasks],
        cpu=[task.cpu_time for task in tasks],
        deadline=[min(task.deadline, task.period) for task in tasks],
        priority=priority,
        name=[task.name for task in tasks],
    )
    try:
        if len(given) == len(tasks):
            answer = analysis.mpcp(hosts.replace(core=given), cpus)
        else:
            answer = analysis.partition(hosts, cpus)
    except (ValueError, OverflowError):
        return None
    if not answer.accepted:
        return None
    core = {name: first + int(at) for name, at in zip(hosts.name, answer.hosts.core, strict=True)}
    return dict(zip(hosts.name, answer.response.tolist(), strict=True)), core


def by_core(core: dict[str, int]) -> str:
    """Names of tasks by core: "0: camera; 1: map, log"."""
    groups: dict[int, list[str]] = {}
    for name, at in core.items():
        groups.setdefault(at, []).append(name)
    return clip("; ".join(f"{at}: {', '.join(groups[at])}" for at in sorted(groups)), 300)


def _shared_cpus(models: DerivedModels, threads: list[Task], alone: list[Task]) -> Condition:
    cpus = models.platform.cpus
    names = tuple(task.name for task in (*threads, *alone))
    given = [task.core for task in models.workload if task.core is not None]
    what = plural(len(threads), "thread")
    if alone:
        what += f" and {plural(len(alone), 'task')} without GPU work"
    if given:
        used = len(set(given)) if len(given) == len(names) else cpus
        remedy = "a core of its own for each thread shows it: Task(core=)"
    else:
        used = cpus
        need = len(threads) + len(alone)
        remedy = f"a CPU for each of them shows it: --cpus {need}"
    text = f"CPU work is not delayed by other tasks: {what} on {plural(used, 'CPU')}"
    return Condition("cpu_alone", text, names, remedy)


def _cpu_doubt(case: Case) -> Condition | None:
    return cpu_side(case.models).condition


# Other premises -----------------------------------------------------------------------------------


def jobs_that_overlap(models: DerivedModels, response: Any, known: Any) -> list[int]:
    """Tasks whose response exceeds their period, though a job needs more than its kernels.

    A job then waits for the previous one on its thread and in its stream, which no test of kernels
    counts: such a response is no bound, and neither are those of the tasks that it delays.
    """
    found = []
    for i, task in enumerate(models.workload):
        more = task.cpu_time or models.platform.launch_latency or has_costs(models.platform)
        more = more or any(map(uses_engine, task.segments))
        if known[i] and response[i] > task.period and more:
            found.append(i)
    return found


def _lost_work(case: Case) -> Condition | None:
    """GPU work of a recording that the workload lacks, and that may delay its tasks."""
    observed = case.models.workload.observed
    if observed is None or observed.share >= _KEPT:
        return None
    return Condition(
        "gpu_work_kept",
        f"the GPU has no other work than that of the tasks, which contain {observed}",
        (),
        "the workload's notes say what is left out; other ranges, steps or streams may contain it",
    )


def _longer_jobs(case: Case) -> Condition | None:
    """Samples that took longer than the times of the workload."""
    observed = case.models.workload.observed
    if observed is None or observed.quantile == 1:
        return None
    return Condition(
        "largest_times",
        "no part of a job takes longer than its time, which is not the largest of its samples but "
        f"their {observed.quantile:.6g} quantile",
        (),
        "with the largest times (times='largest', quantile=1 of a recording) no sample took longer",
    )


def _slower_beside_dlas(case: Case) -> Condition | None:
    """Work on DLAs beside GPU work of other tasks, with which it shares the memory."""
    workload = case.models.workload
    names = [t.name for t in workload if any(isinstance(part, DLA) for part in t.segments)]
    users = {task.name for task in case.models.gpu_users()}
    if not names or users == {names[0]}:
        return None
    return Condition(
        "dla_times",
        "work on DLAs and on the GPU takes no longer than its times while both share the memory",
        tuple(names),
        "times that were measured while all of it runs show it",
    )


def _refuse_channels(case: Case) -> None:
    case.models.refuse_shared_channels()


def _refuse_channels_of_clients(case: Case) -> None:
    case.models.refuse_shared_channels("client")


def _refuse_channels_of_green_contexts(case: Case) -> None:
    models = case.models
    balanced = models.platform.workqueue == "balanced"
    green = models.in_parts("green_contexts")
    green.refuse_shared_channels(models.channels(), balanced=balanced)


def _refuse_many_clients(case: Case) -> None:
    refuse_many_clients(case.models)


def refuse_many_clients(models: DerivedModels) -> None:
    """Raise ValueError for more processes than a server of MPS has clients."""
    clients, most = _clients(models), max(most_clients(models.gpu().cc))
    if clients > most:
        since = "" if most > 16 else " before compute capability 7.0"
        raise ValueError(
            f"tasks: got {clients} processes, expected at most {most}, the clients of a server of "
            f"MPS{since}"
        )


def _many_clients(case: Case) -> Condition | None:
    """Clients of which a server has as many with the latest drivers only, or with few channels."""
    usual, most = most_clients(case.models.gpu().cc)
    clients, channels = _clients(case.models), case.models.channels(of_client=True)
    if clients <= usual and clients * channels <= usual * CLIENT_CHANNELS:
        return None
    if clients <= usual:
        return Condition(
            "mps_clients",
            f"a server of MPS takes {clients} clients with {channels} channels each (with more "
            f"than {CLIENT_CHANNELS}, it takes fewer clients than {usual})",
            (),
            "fewer channels: --channels",
        )
    return Condition(
        "mps_clients",
        f"the driver is that of CUDA 13.1 or later: {clients} clients, and a server of MPS has up "
        f"to {most} of them, before {usual}",
        (),
        "",
    )


def _clients(models: DerivedModels) -> int:
    """Processes that use the GPU."""
    of_each = process_of_each(models.workload)
    return len({of_each[task.name] for task in models.gpu_users()})


def _refuse_many_kernels(case: Case) -> None:
    case.models.refuse_many_kernels()


def _refuse_many_of_sms(case: Case) -> None:
    case.models.refuse_many_kernels(case.models.gpu().sms)  # of an SM, one at a time


def _refuse_shared_processes(case: Case) -> None:
    case.models.own_processes()


def _refuse_cores(case: Case) -> None:
    case.models.refuse_cores()


def _inexact_times(case: Case) -> Condition | None:
    """A rule that dispatches whatever is ready: a job that ends early can make another late."""
    if case.models.kernel_users() < 2:
        return None
    return Condition(
        "exact_times",
        "jobs take exactly their stated times and are released exactly periodically, since one "
        "that ends early can make another late",
        tuple(task.name for task in case.models.workload if task.kernels),
        "a schedule computed in advance and kept to, as by pbs, needs no exact times",
    )


def _late_starts_in_frames(case: Case) -> Condition | None:
    """Kernels that start later in their batch than others, on SMs in which those left gaps."""
    schedule = getattr(case.answer, "schedule", None)
    if not isinstance(schedule, Schedule):
        return None
    rows = _rows_that_start_late(case)
    late = sum(1 << row for row in rows)
    batches = {int(batch) for batch in np.ravel(schedule.batch)}
    if not any(batch & late and batch & (batch - 1) for batch in batches):
        return None
    return Condition(
        "frames_start_together",
        "a kernel that begins later in its batch than the others, after a copy, CPU work or "
        "another kernel of its job, finds room for as many blocks as alone",
        tuple(dict.fromkeys(rows.values())),
        "",
    )


def _rows_that_start_late(case: Case) -> dict[int, str]:
    """Rows of the batch table whose kernels start later in a batch, with the names of the tasks."""
    found: dict[int, str] = {}
    row = 0
    chains = isinstance(case.view, ChainBatchView)
    workload = case.models.workload
    for at, name in enumerate(case.view.tasks.name):
        segments = workload[name].segments
        places = [i for i, part in enumerate(segments) if isinstance(part, Kernel)]
        between = segments[places[0] : places[-1] + 1]
        if not chains:  # a job is one unit, with its copies
            first = next(i for i, part in enumerate(segments) if not runs_on_cpu(part))
            if first < places[0] or len(between) > 1 or between[0].repeat > 1:
                found[row] = name
            row += 1
            continue
        late, gap = list[bool](), False  # of each kernel: whether work is before it
        for part in between:
            if not isinstance(part, Kernel):
                gap = True
                continue
            late += [gap, *[False] * (part.repeat - 1)]
            gap = False
        first = 0
        for size in case.view.units[at]:
            if late[first] or size > 1:  # the later kernels of a unit, too
                found[row] = name
            first += size
            row += 1
    return found


_KEPT = Fraction(99, 100)  # of the observed GPU time

_WORK = Premise(
    "gpu_work_kept",
    "the workload contains the GPU work of the recording from which it was made",
    doubt=_lost_work,
)
_LARGEST = Premise(
    "largest_times",
    "times are the largest of their samples",
    doubt=_longer_jobs,
)
_DLA_TIMES = Premise(
    "dla_times",
    "times are those of work on DLAs and on the GPU side by side",
    doubt=_slower_beside_dlas,
)
_CPUS = Premise(
    "cpu_alone",
    "threads that use the GPU are not delayed on a CPU, and tasks without GPU work fit beside them",
    doubt=_cpu_doubt,
)
_CHANNEL = Premise(
    "channel_per_stream", "each stream has a hardware channel of its own", _refuse_channels
)
_CHANNEL_OF_CLIENT = Premise(
    "channel_per_stream",
    "each stream of a client has a hardware channel of its own",
    _refuse_channels_of_clients,
)
_CHANNEL_OF_GREEN = Premise(
    "channel_per_stream",
    "each stream in a green context has a hardware channel of its own",
    _refuse_channels_of_green_contexts,
)
_CLIENTS = Premise("mps_clients", "a server of MPS can have so many clients", _refuse_many_clients)
_USUAL_CLIENTS = Premise(
    "mps_clients", "servers of MPS of all drivers have so many clients", doubt=_many_clients
)
_GRIDS = Premise(
    "resident_grids", "the GPU runs a kernel of every task at once", _refuse_many_kernels
)
_GRIDS_OF_SMS = Premise(
    "resident_grids", "the GPU runs a kernel on every SM at once", _refuse_many_of_sms
)
_PROCESSES = Premise(
    "own_processes", "each task that uses the GPU is a process of its own", _refuse_shared_processes
)
_NO_CORES = Premise("no_cores", "the way chooses where tasks run", _refuse_cores)
_EXACT_TIMES = Premise("exact_times", "jobs take exactly their stated times", doubt=_inexact_times)
_FRAMES = Premise(
    "frames_start_together",
    "the kernels of a batch begin together",
    doubt=_late_starts_in_frames,
)

_BY_NAME = {
    "cpu_alone": _CPUS,
    "channel_per_stream": _CHANNEL,
    "channel_of_client": _CHANNEL_OF_CLIENT,
    "channel_of_green_context": _CHANNEL_OF_GREEN,
    "mps_clients": _CLIENTS,
    "mps_usual_clients": _USUAL_CLIENTS,
    "resident_grids": _GRIDS,
    "resident_grids_of_sms": _GRIDS_OF_SMS,
    "own_processes": _PROCESSES,
    "no_cores": _NO_CORES,
    "exact_times": _EXACT_TIMES,
    "frames_start_together": _FRAMES,
}
"""Checks of the premises that the rows of ways name."""

PREMISES: dict[str, tuple[Premise, ...]] = {
    way.name: tuple(_BY_NAME[name] for name in way.premises) for way in WAYS if way.test
}
"""Premises of each way with a test, beside those of all ways (``gpu_work_kept``, ``largest_times``,
``dla_times``) and those that derived models check: releases without jitter, where the model has
none, and, unless a way is about processes, one process for all tasks that use the GPU. Those of mig
are those of the way within, and of the CPUs that its instances share."""


_COUNTED_IN_WHOLE = (
    *(_CPUS, _CHANNEL, _CHANNEL_OF_CLIENT, _CHANNEL_OF_GREEN, _EXACT_TIMES, _PROCESSES),
)
"""Premises of tests of the GPU alone, which tests of whole programs do without."""


def _premises_of(way: str, whole: bool) -> tuple[Premise, ...]:
    found = PREMISES[way]
    return tuple(one for one in found if one not in _COUNTED_IN_WHOLE) if whole else found


def refuse_false_premises(way: str, case: Case, *, whole: bool = False) -> None:
    """Raise ValueError for a premise of a way that is false; ``whole``: of its holistic test."""
    for premise in _premises_of(way, whole):
        if premise.refuse is not None:
            premise.refuse(case)


def open_conditions(
    way: Way, case: Case, *, cpus: bool = True, whole: bool = False
) -> tuple[Condition, ...]:
    """Conditions of an accepting test of a way.

    ``cpus``: whether those of CPUs are wanted; ``whole``: the test is the holistic one.
    """
    found = [
        premise.doubt(case)
        for premise in (_WORK, _LARGEST, _DLA_TIMES, *_premises_of(way.name, whole))
        if premise.doubt is not None and (cpus or premise is not _CPUS)
    ]
    found += [_unproven(way, name, text) for name, text in _UNPROVEN.items()]
    return tuple(condition for condition in found if condition is not None)


_UNPROVEN = {
    "variant": "the test holds in the form {}, as it is printed; counterexamples to printed forms "
    "are known",
    "order": "the GPU takes kernels in the order {}, which is not the one observed on GPUs",
}
"""Parameters of which only the default is proven for the machine, and what else is assumed."""


def _unproven(way: Way, name: str, text: str) -> Condition | None:
    value = way.given.get(name)
    if value is None or value == (proven := getattr(way.without(name), name)):
        return None
    return Condition(name, text.format(repr(value)), (), f"without it: {name}={proven!r}")


def shares_condition(models: DerivedModels, way: str, answer: Any) -> tuple[Condition, ...]:
    """That kernels slow each other by shares of bandwidth alone, if a guarantee rests on it."""
    apart = way == "mig" or not models.kernels_meet(way)  # each instance has a way of its own
    if apart or models.kernel_users() < 2 or models._exclude:
        return ()
    schedule = getattr(answer, "schedule", None)
    if isinstance(schedule, Schedule) and not any(
        batch & (batch - 1) for batch in map(int, np.ravel(schedule.batch))
    ):
        return ()  # no two at once
    if models.shares_of_bandwidth() is None:
        return ()
    return (
        Condition(
            "bandwidth_shares",
            "kernels that run together slow each other as max-min shares of "
            f"{rate_text(models.platform.bandwidth or 0)} do, and not by caches or in other ways",
            tuple(task.name for task in models.workload if task.kernels),
            "a measured factor in place of their traffic: gs.Platform(slowdown=)",
        ),
    )


def needs_cpus(way: str) -> bool:
    """Whether the test of a way takes for granted that CPU work is not delayed."""
    return _CPUS in PREMISES.get(way, ())
