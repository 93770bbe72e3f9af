"""Workloads under a way of sharing the GPU, as programs of a whole machine, and their simulation.

A job of a task runs the steps of its program: CPU work, calls of copies and kernels, waits for
them, and the beginnings and ends of sections, at which the rule of a way may let it wait. What
differs between the forms of launching is in the steps; what differs between ways is
in the sections, in the rooms of the tasks (stream, context, queue, channel, SMs) and in the rule.
The rules are those of ``csrc/simulate/machine/machine.h``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from gpusched._support.arguments import Int64Array, integer, one_of
from gpusched._support.registry import enumeration
from gpusched._support.text import named, shown
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.tasks_in_parts import PartForm, platform_of_instance, task_in_instance
from gpusched.model.gpu import GPU
from gpusched.model.gpus.gpu_fields import CopyEngines, engine_directions, engines_text
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS, client_sms
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.views.derived_view import given_to_all, runs_on_cpu
from gpusched.model.views.program_view import FIRST_DLA
from gpusched.model.workload.kernel_waves import KernelTimes, kernel_times
from gpusched.model.workload.periodic_task import Launches, Task
from gpusched.model.workload.platforms import Platform, process_of_each
from gpusched.model.workload.segments import CPU, DLA, CopyIn, Kernel
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_run import NEVER, MachineModel
from gpusched.simulate.run_arguments import execution_shares, gap_share

_STEPS = enumeration("simulate.machine_step")
_KINDS = enumeration("simulate.machine_item_kind")
_RULES = enumeration("simulate.machine_rule")
_POLICIES = enumeration("simulate.machine_policy")
_MODES = enumeration("simulate.machine_mode")
_RINGS = enumeration("simulate.machine_ring")
_DRAWS = enumeration("simulate.machine_draw")


# Programs -----------------------------------------------------------------------------------------


Spreads = Sequence[Sequence[Sequence[tuple[Fraction, Fraction]] | None]]
"""Of each segment of each task, pairs of a share of jobs and a share of the whole time; or None."""


@dataclass(frozen=True)
class _Item:
    """A segment of a job, once per repetition; ``times`` are those of a kernel."""

    kind: Literal["cpu", "copy", "kernel"]
    time: int
    inward: bool = False
    is_work: bool = False  # CPU work, not a copy by a CPU
    kernel: KernelTimes | None = None
    place: int = 0  # of the segment
    dla: int = -1  # that works, in place of a copy engine


@dataclass(frozen=True)
class _Step:
    kind: str
    item: int = -1


def _items(task: Task, times: Sequence[KernelTimes | None]) -> list[_Item]:
    """The items of a job; ``times``: those of kernels, per segment."""
    found = []
    for place, part in task.steps():
        if isinstance(part, Kernel):
            found.append(_Item("kernel", 0, kernel=times[place], place=place))
            continue
        inward = isinstance(part, CopyIn)
        if isinstance(part, DLA):
            found.append(_Item("copy", part.time, place=place, dla=part.on))
        elif runs_on_cpu(part):
            work = isinstance(part, CPU)
            found.append(_Item("cpu", part.time, inward, is_work=work, place=place))
        else:
            found.append(_Item("copy", part.time, inward, place=place))
    return found


def gpu_sections(task: Task) -> list[tuple[int, int]]:
    """The GPU segments of a job as ranges of its steps, as in `Workload.hosts`."""
    return _sections(_items(task, (None,) * len(task.segments)), lone=True)


def begins_and_ends_on_gpu(task: Task) -> bool:
    """Whether the unit of a job, if it has one, is all of it from its first operation on the GPU to
    its last one, and no copy by a CPU around them."""
    items = _items(task, (None,) * len(task.segments))
    on_gpu = [i for i, item in enumerate(items) if item.kind != "cpu"]
    return not on_gpu or _units(items) == [(on_gpu[0], on_gpu[-1] + 1)]


def _units(items: Sequence[_Item]) -> list[tuple[int, int]]:
    """The unit that a dispatcher runs, from the first section with a kernel to the last one."""
    found = _sections(items, lone=False)
    return [(found[0][0], found[-1][1])] if found else []


def _sections(items: Sequence[_Item], *, lone: bool) -> list[tuple[int, int]]:
    """Sections as ranges of items, divided as the GPU segments of `Workload.hosts`.

    Copies by a CPU into the GPU are in the section that they precede, others in the one that they
    follow; next to none they are CPU work. Copies on engines without a kernel are a section if
    ``lone``.
    """
    found: list[tuple[int, int]] = []
    start = pending = -1  # of the section, of copies in by a CPU before one
    kernel = copied_out = False

    def close(end: int) -> None:
        nonlocal start
        if start >= 0 and (kernel or lone):
            found.append((start, end))
        start = -1

    for i, item in enumerate(items):
        if item.kind != "cpu":
            if start < 0 or copied_out or (kernel and item.inward):
                close(i)
                start = i if pending < 0 else pending
                kernel = copied_out = False
            pending = -1
            kernel = kernel or item.kind == "kernel"
        elif item.inward:
            close(i)
            pending = i if pending < 0 else pending
        elif item.is_work or start < 0:
            close(i)
            pending = -1
        else:
            copied_out = True
    close(len(items))
    return found


@dataclass(frozen=True)
class _Program:
    """The items and steps of a job; calls that take CPU work have items for it, behind the others.

    ``calls``: the items (the first ones, of graphs) whose calls take ``cost`` ticks of a CPU each.
    """

    items: Sequence[_Item]
    steps: Sequence[_Step]
    calls: Sequence[int]
    cost: int


def _program(
    items: Sequence[_Item],
    sections: Sequence[tuple[int, int]],
    launches: Launches | None,
    platform: Platform,
) -> _Program:
    """The program of a job, which waits before CPU work, that of no time too, and behind sections.

    With "sync" launches it waits behind each call, too. A graph has all operations up to the next
    wait; they are called at one instant.
    """
    steps: list[_Step] = []
    graphs = launches == "graph"
    cost = platform.graph_launch_cpu if graphs else platform.launch_cpu
    calls: list[int] = []
    begins, ends = {begin for begin, _ in sections}, {end for _, end in sections}
    called = False
    for i in range(len(items) + 1):
        on_gpu = i < len(items) and items[i].kind != "cpu"
        if called and (not on_gpu or i in ends):
            steps.append(_Step("wait"))
            called = False
        if i in ends:
            steps.append(_Step("end"))
        if i == len(items):
            break
        if i in begins:
            steps.append(_Step("begin"))
        if not on_gpu:
            if items[i].time:  # a wait of the thread takes none
                steps.append(_Step("work", i))
            continue
        if cost and not (graphs and called):
            steps.append(_Step("work", len(items) + len(calls)))
            calls.append(i)
        steps.append(_Step("call", i))
        called = launches != "sync"
        if not called:
            steps.append(_Step("wait"))
    return _Program(items, [*steps, _Step("stop")], calls, cost)


# Rooms --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Room:
    """Destination of the operations of a task, as names that are numbered later.

    ``owner`` has the channels of the stream, and the limit of SMs (0: none). ``sms``: those that
    blocks may use; empty: all.
    """

    stream: Hashable = 0
    context: Hashable = 0
    owner: Hashable = 0
    group: int = 0
    level: int = 0
    sms: tuple[int, ...] = ()
    limit: int = 0
    device: int = 0


@dataclass(frozen=True)
class _Case:
    """A workload on the devices of a way; ``home`` has the device of each task."""

    models: DerivedModels
    gpus: tuple[GPU | None, ...]
    home: tuple[int, ...]
    sms: Any = None
    queues: str = "own"

    @property
    def workload(self) -> Workload:
        return self.models.workload

    @property
    def platform(self) -> Platform:
        return self.models.platform

    def gpu_of(self, task: int) -> GPU | None:
        return self.gpus[self.home[task]]


def _streams(case: _Case) -> list[_Room]:
    case.models._streamed("streams")  # refuses several processes
    return _own_streams(case)


def _own_streams(case: _Case) -> list[_Room]:
    return [_Room(stream=i) for i in range(len(case.workload))]


def _of_processes(case: _Case) -> list[_Room]:
    """Streams in the contexts of processes; tasks without a process share one."""
    return [_Room(stream=i, context=task.process or "") for i, task in enumerate(case.workload)]


def _one_stream_of_processes(case: _Case) -> list[_Room]:
    return [replace(room, stream=0) for room in _of_processes(case)]


def _one_stream(case: _Case) -> list[_Room]:
    case.models._streamed("one_stream")
    return [_Room() for _ in case.workload]


def _priority_streams(case: _Case) -> list[_Room]:
    streamed, _ = case.models._streamed("priority_streams")
    given = given_to_all(list(streamed), "stream_priority") or []
    case.workload._source(case.platform, triggers=True).refuse_levels(given)
    levels = sorted(set(given))
    return [_Room(stream=i, level=levels.index(one)) for i, one in enumerate(given)]


def _mps(case: _Case) -> list[_Room]:
    case.models.refuse_unknown_clients()
    shares, of_each = dict(case.platform.mps or ()), process_of_each(case.workload)
    rooms = []
    for i, task in enumerate(case.workload):
        client, gpu, limit = of_each[task.name], case.gpu_of(i), 0
        if gpu is not None:
            most = client_sms(shares.get(str(client), 100), gpu.sms, case.models.share_unit(gpu))
            limit = most if most < gpu.sms else 0
        rooms.append(_Room(stream=i, owner=client, limit=limit))
    return rooms


def _parts(way: PartForm) -> Callable[[_Case], list[_Room]]:
    """Rooms of a way in which tasks have parts of the GPU with SMs of their own."""

    def rooms(case: _Case) -> list[_Room]:
        case.models._streamed(way)
        parts = case.models.in_parts(way)
        home, client = parts.part | parts.copies_of, process_of_each(case.workload)
        balanced = case.platform.workqueue == "balanced"
        found = []
        for i, task in enumerate(case.workload):
            room = _Room(stream=i)
            if way == "mps_static":
                room = replace(room, owner=client[task.name])
            else:
                level = task.stream_priority or 0
                room = replace(room, level=level, owner=balanced and home.get(task.name, -1))
            if task.name in parts.part:
                part = parts.part[task.name]
                group = part if case.queues == "own" else 0
                room = replace(room, group=group, sms=parts.sms[part])
            found.append(room)
        return found

    return rooms


def _time_slices(case: _Case) -> list[_Room]:
    of_each = process_of_each(case.workload)
    processes = [of_each[task.name] for task in case.workload]
    return [_Room(stream=i, context=one, owner=one) for i, one in enumerate(processes)]


def _gcaps(case: _Case) -> list[_Room]:
    return [_Room(stream=i, context=i, owner=i) for i in range(len(case.workload))]


def _stgm(case: _Case) -> list[_Room]:
    """SMs as given, a list by task or a mapping by name; without them all."""
    case.models._streamed("streams")
    given = case.sms
    if isinstance(given, Mapping):
        given = [given.get(task.name) for task in case.workload]
    sets = [None] * len(case.workload) if given is None else list(given)
    if len(sets) != len(case.workload):
        raise ValueError(f"sms: got {len(sets)} sets, expected one per task ({len(case.workload)})")
    rooms = []
    for i, one in enumerate(sets):
        gpu = case.gpu_of(i)
        every = range(1 if gpu is None else gpu.sms)
        sms = tuple(every if one is None else (integer(sm, f"sms[{i}]") for sm in one))
        rooms.append(_Room(stream=i, group=i, owner=i, sms=sms))
    return rooms


@dataclass(frozen=True)
class _Way:
    """The rule of a way, its rooms, its CPUs, and whether it has sections.

    ``channels``: an owner has those of a client of MPS.
    """

    rule: str
    rooms: Callable[[_Case], list[_Room]]
    cpu: str = "partitioned"
    sections: bool = False
    channels: bool = False


MACHINE_WAYS: Mapping[str, _Way] = {
    "one_stream": _Way("streams", _one_stream),
    "streams": _Way("streams", _streams),
    "priority_streams": _Way("streams", _priority_streams),
    "mps": _Way("streams", _mps, channels=True),
    "mps_static": _Way("streams", _parts("mps_static"), channels=True),
    "green_contexts": _Way("streams", _parts("green_contexts")),
    "time_slices": _Way("time_slices", _time_slices),
    "gcaps": _Way("gcaps", _gcaps, sections=True),
    "mpcp": _Way("mpcp", _of_processes, sections=True),
    "fmlp_plus": _Way("fmlp_plus", _of_processes, sections=True),
    "gpu_server": _Way("gpu_server", _own_streams, sections=True),
    "stgm": _Way("stgm", _stgm, sections=True),
    "srm": _Way("srm", _of_processes, cpu="global_edf", sections=True),
    "omlp": _Way("omlp", _of_processes, cpu="global_edf", sections=True),
    "container": _Way("container", _of_processes, cpu="global_edf", sections=True),
    "driver": _Way("driver", _one_stream_of_processes, cpu="global_edf"),
    "edf_serial": _Way("edf_serial", _of_processes, sections=True),
    "edf_parallel": _Way("frames", _own_streams),
    "pbs": _Way("frames", _own_streams),
    "mig": _Way("streams", _streams),
}
"""Ways of sharing the GPU that the machine plays, by name; "omlp": "srm" with its other lock."""

INSIDE = ("streams", "one_stream", "priority_streams", "mps")
"""Ways in which the tasks of GPU instances share them on one machine."""


# Models -------------------------------------------------------------------------------------------


def machine_model(
    models: DerivedModels,
    way: str,
    *,
    until: int,
    end: int | None = None,
    mode: str | None = None,
    cores: Sequence[int] | None = None,
    cpu: str | None = None,
    sms: Any = None,
    server_core: int | None = None,
    server_period: int = 1,
    server_budget: int = 1,
    gpu_priority: Mapping[str, int] | None = None,
    stall: bool = False,
    lock: str = "fmlp",
    table: Any = None,
    repeat: int | None = None,
    ring: str | None = None,
    tails: Sequence[int] | None = None,
    instances: Any = None,
    profiles: Sequence[str] | None = None,
    within: str | None = None,
    queues: str = "own",
    whole: bool = False,
    releases: Sequence[Sequence[Any]] | None = None,
    times: Sequence[Sequence[Sequence[int]]] | None = None,
    low: Any = 1,
    spreads: Spreads | None = None,
    gap: Any = 0,
    grain: int = 1,
    draw: str = "operation",
    ties: str = "index",
    last: int | str | None = None,
    lone_copies: str = "section",
    channel_release: str = "dispatched",
    jitter: bool = True,
    channels: int | None = None,
    down: bool = False,
) -> MachineModel:
    """The machine that plays a workload under a way; times are in its ticks.

    Parameters
    ----------
    models, way
        The models of a workload on a platform, and a way of `MACHINE_WAYS`.
    until
        End of the interval in which jobs are released.
    end
        Last instant of the simulation, in ticks. Default: until all jobs have ended.
    mode
        "suspend" (default): threads are suspended while they wait; "busy": they keep their CPUs
        while the GPU works for them; "spin": they also spin while they wait for a lock.
    cores, cpu
        Core of each task (default: that of the workload, or one after the other), and
        "partitioned", "global_fp" or "global_edf" (default: that of the way).
    sms
        SMs of each task for "stgm": a list of sets, or a mapping by name.
    server_core
        Core of the server of "gpu_server"; None: one of its own.
    server_period, server_budget
        Of the server of "container", in ticks.
    gpu_priority, stall
        GPU priorities by names for "gcaps"; smaller is more urgent. Default: those of the workload.
        And whether all updates stop the GPU.
    lock
        Lock of "srm": "fmlp" or "omlp".
    table, repeat
        Frames of "pbs" and "edf_parallel", rows whose first entry is the start and whose last are
        the kernels (task, job, number of the kernel in its job), and their period (default: the
        hyperperiod).
    ring
        Order of contexts with "time_slices": "fifo" or "cyclic". Default: that of the platform.
    tails
        Per task, what shortens the deadline by which its units are ordered with "edf_serial".
    instances, profiles, within
        Instance of each task with "mig" (a list, or a mapping by name; default: one after the
        other), the profiles of the instances (default: those of the platform), and the way in which
        tasks share one, of `INSIDE`.
    queues
        "own": parts with SMs of their own have queues of their own; "shared": one queue.
    whole
        Whether kernels take all SMs that they may use for as long as they take alone, in place of
        their blocks: for ways in which no two run at once.
    releases
        Releases per task, ascending: instants, or pairs of arrival and release. Default: periodic
        arrivals, with releases that are up to the jitter later, at random; ``gap`` is the most by
        which periods are longer, at random, as a share of them.
    times, low, draw
        Actual times. ``times``: those of the first jobs of each task, a row of times per job, one
        for each segment with repetitions; others are whole. Or ``low``: a share of the whole times,
        or one per task, above which times are drawn, for each "operation", each "block" of kernels,
        or each "job", all of whose parts then have the same place between their least and their
        whole times. Draws depend on the names of tasks, not on their order.
    spreads
        Distributions from which the times of each task's segments are drawn instead: quantiles,
        with times as shares of the whole ones. Repetitions in a job take equal draws.
    grain
        Ticks in one of the given workload's: gaps and delays of releases are multiples of it.
    ties, last
        Order of tasks whose requests coincide: by "index", or by "draw"; ``last`` is a task whose
        requests come last.
    lone_copies
        "section": copies without a kernel are a section; "free": they are in none.
    channel_release
        Event at which a kernel frees its channel: "dispatched" or "ended".
    jitter
        False: releases are arrivals.
    channels
        Those of each process or context, in place of the platform's; 0: one for each stream.
    down
        Whether times of blocks that are no whole ticks are rounded down, not up.

    Raises
    ------
    ValueError
        The way does not exist on the platform, or does not fit the workload.
    """
    one_of(way, MACHINE_WAYS, "way")
    if way == "srm" and lock == "omlp":
        way = "omlp"
    workload, platform, played = models.workload, models.platform, MACHINE_WAYS[way]
    for given, known, name in (
        (mode or _MODES[0], _MODES, "mode"),
        (cpu or played.cpu, _POLICIES, "cpu"),
        (draw, _DRAWS, "draw"),
        (ties, ("index", "draw"), "ties"),
        (lone_copies, ("section", "free"), "lone_copies"),
        (queues, ("own", "shared"), "queues"),
        (lock, ("fmlp", "omlp"), "lock"),
        (channel_release, ("dispatched", "ended"), "channel_release"),
        (ring or platform.ring, _RINGS, "ring"),
    ):
        one_of(given, known, name)
    policy = cpu or played.cpu
    case, gpus = _case(models, way, instances, profiles)
    case = replace(case, sms=sms, queues=queues)
    rooms_of, channels_of_client = played.rooms, played.channels
    if way == "mig":
        one_of(within or "streams", INSIDE, "within")
        inner = MACHINE_WAYS[within or "streams"]
        rooms_of, channels_of_client = inner.rooms, inner.channels
    rooms = [
        replace(room, device=home) for room, home in zip(rooms_of(case), case.home, strict=True)
    ]
    programs = _programs(case, way, lone=lone_copies == "section")
    meet = () if played.rule in _ONE_AT_A_TIME else _barriers_beside(case, rooms)
    _refuse_barriers(case, meet)
    columns = _task_columns(models, policy, cores, tails)
    if gpu_priority is not None:
        urgency = [gpu_priority[task.name] for task in workload]
        columns["gpu_priority"] = deadline_ranks(np.array(urgency, np.int64))
    if not jitter:
        columns["jitter"] = np.zeros(len(workload), np.int64)
    columns |= _room_columns(case, rooms, of_client=channels_of_client, channels=channels)
    columns |= _program_columns(case, rooms, programs, whole=whole, down=down)
    columns |= _device_columns(models, gpus, programs, rooms, way)
    columns |= dict.fromkeys(_NOT_STATED)  # by workloads and platforms
    columns["item_cooperative"] = _cooperative(programs) if meet and not whole else None
    columns |= _frame_columns(workload, table)
    columns |= _release_columns(workload, releases, until)
    columns |= _given_columns(programs, times)
    columns |= _link_columns(workload)
    columns["item_least"] = _least_times(columns, low)
    columns |= _knot_columns(programs, columns, spreads)
    columns["drawn_as"] = np.array([_number_of(task.name) for task in workload], np.int64)
    longer = _short(gap_share(gap, "gap"))
    columns["gap"] = np.array([longer.numerator, longer.denominator], np.int64)
    own = policy != "partitioned" or server_core is None
    numbers = {
        "cpus": platform.cpus,
        "policy": _POLICIES.index(policy),
        "rule": _RULES.index(played.rule),
        "mode": _MODES.index(mode or _MODES[0]),
        "ring": _RINGS.index(ring or platform.ring),
        "latency": platform.launch_latency,
        "kernel_gap": platform.kernel_gap,
        "wake_latency": platform.wake_latency,
        "timeslice": platform.timeslice if played.rule == "time_slices" else 1,
        "context_switch": platform.context_switch,
        "update_cost": platform.update_cost,
        "stall": int(stall),
        "server_overhead": platform.server_overhead,
        "server_core": platform.cpus if own else integer(server_core, "server_core"),
        "server_period": integer(server_period, "server_period"),
        "server_budget": integer(server_budget, "server_budget"),
        "until_end": int(channel_release == "ended"),
        "frame_period": 1 if table is None else repeat or workload.hyperperiod,
        "until": until,
        "last": NEVER if end is None else end,
        "grain": grain,
        "draw": _DRAWS.index(draw),
        "victim": -1 if last is None else workload.index(last),
        "drawn_ties": int(ties == "draw"),
    }
    return MachineModel(gpus=gpus, columns=columns, numbers=numbers)


def _case(
    models: DerivedModels, way: str, instances: Any, profiles: Sequence[str] | None
) -> tuple[_Case, tuple[GPU, ...]]:
    """The devices of a way, and those of the core: without a GPU, one of a single SM."""
    workload, platform = models.workload, models.platform
    if way != "mig":
        case = _Case(models, (platform.gpu,), (0,) * len(workload))
        return case, (GPU(1, 1024, 1) if platform.gpu is None else platform.gpu,)
    if profiles is None:
        profiles = platform.mig
    if profiles is None:
        raise ValueError("mig: got None, expected profiles of the platform's GPU")
    gpus = tuple(models.gpu().instance(profile) for profile in profiles)
    if instances is None:
        instances = [i % len(gpus) for i in range(len(workload))]
    elif isinstance(instances, Mapping):
        instances = [instances[task.name] for task in workload]
    home = tuple(integer(one, f"instances[{i}]") for i, one in enumerate(instances))
    if len(home) != len(workload) or not all(0 <= one < len(gpus) for one in home):
        raise ValueError(
            f"instances: got {shown(instances)}, expected one of 0 to {len(gpus) - 1} per task"
        )
    return _Case(models, gpus, home), gpus


def _programs(case: _Case, way: str, *, lone: bool) -> list[_Program]:
    """The programs of all tasks; ``lone``: copies without a kernel are a section."""
    played, found = MACHINE_WAYS[way], []
    for task, items in zip(case.workload, _all_items(case), strict=True):
        if played.rule == "edf_serial":
            sections = _units(items)
        else:
            sections = _sections(items, lone=lone) if played.sections else []
        found.append(_program(items, sections, task.launches, case.platform))
    return found


def _all_items(case: _Case) -> list[list[_Item]]:
    """The items of all tasks, with kernels as their devices run them."""
    source = case.workload._source(case.platform, triggers=True)
    found = []
    for i, (task, whole) in enumerate(zip(case.workload, source.times, strict=True)):
        times: Sequence[KernelTimes | None] = whole
        gpu = case.gpu_of(i)
        if gpu is not None and gpu is not case.platform.gpu:
            task = task_in_instance(task, whole, gpu)
            kernels = iter(
                kernel_times(list(task.kernels), gpu, [f"{named(task.name)}"] * len(task.kernels))
            )
            times = [next(kernels) if isinstance(part, Kernel) else None for part in task.segments]
        found.append(_items(task, times))
    return found


def _task_columns(
    models: DerivedModels,
    policy: str,
    cores: Sequence[int] | None,
    tails: Sequence[int] | None,
) -> dict[str, Any]:
    """Times, priorities and cores of the tasks."""
    workload, cpus, n = models.workload, models.platform.cpus, len(models.workload)
    columns = {
        key: np.array([getattr(task, key) for task in workload], np.int64)
        for key in ("period", "deadline", "offset", "jitter")
    }
    given = given_to_all(list(workload), "priority")
    priority = np.array(given, np.int64) if given else deadline_ranks(columns["deadline"])
    of_gpu = models.gpu_priorities()
    urgency = priority if of_gpu is None else np.array(of_gpu, np.int64)
    columns["priority"] = priority
    columns["gpu_priority"] = deadline_ranks(urgency)  # the same order, all different
    if cores is None:
        stated = models.has_cores()
        cores = [(task.core or 0) if stated else i % cpus for i, task in enumerate(workload)]
    columns["core"] = np.zeros(n, np.int64)
    if policy == "partitioned":
        columns["core"] = _per_task(cores, n, "cores")
        for i, core in enumerate(columns["core"].tolist()):
            if not 0 <= core < cpus:
                raise ValueError(f"cores[{i}]: got {core}, expected 0 to {cpus - 1}")
    columns["tail"] = _per_task([0] * n if tails is None else tails, n, "tails")
    return columns


def _per_task(values: Iterable[Any], n: int, name: str) -> Int64Array:
    found = [integer(value, f"{name}[{i}]") for i, value in enumerate(values)]
    if len(found) != n:
        raise ValueError(f"{name}: got {len(found)} numbers, expected one per task ({n})")
    return np.array(found, np.int64)


class _Numbers:
    """Numbers of names, from 0 in the order of their first mention, for each scope."""

    def __init__(self) -> None:
        self._found: dict[Hashable, dict[Hashable, int]] = {}

    def of(self, scope: Hashable, name: Hashable) -> int:
        known = self._found.setdefault(scope, {})
        return known.setdefault(name, len(known))


def _room_columns(
    case: _Case, rooms: Sequence[_Room], *, of_client: bool, channels: int | None
) -> dict[str, Any]:
    """The rooms of all tasks, numbered from 0.

    Streams have the channels of their owners in turn, in the order of the tasks that make them.
    """
    streams, contexts, places, clients = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    made: dict[tuple[int, Hashable], list[Hashable]] = {}
    levels = sorted({room.level for room in rooms})
    groups: dict[tuple[int, Hashable], set[int]] = {}
    for task, room in zip(case.workload, rooms, strict=True):
        if task.kernels:
            groups.setdefault((room.device, room.context), set()).add(room.group)
        if not all(map(runs_on_cpu, task.segments)):
            own = made.setdefault((room.device, room.owner), [])
            if room.stream not in own:
                own.append(room.stream)
    columns: dict[str, list[int]] = {
        key: []
        for key in (
            *("device", "stream", "context", "group", "level", "channel", "client", "limit"),
            *("set_begin", "set"),
        )
    }
    for task, room in zip(case.workload, rooms, strict=True):
        context, channel, group = -1, -1, 0
        if task.kernels:
            context = contexts.of(room.device, room.context)
            place = made[room.device, room.owner].index(room.stream)
            most = channels
            if most is None:
                most = _channels(case, room.device, of_client=of_client)
            channel = places.of(room.device, (room.owner, place % most if most else place))
            group = sorted(groups[room.device, room.context]).index(room.group)
        columns["device"].append(room.device)
        columns["stream"].append(streams.of(room.device, room.stream))
        columns["context"].append(context)
        columns["group"].append(group)
        columns["level"].append(levels.index(room.level))
        columns["channel"].append(channel)
        columns["client"].append(clients.of(None, (room.device, room.owner)))
        columns["limit"].append(room.limit)
        columns["set_begin"].append(len(columns["set"]))
        columns["set"] += room.sms
    columns["set_begin"].append(len(columns["set"]))
    return {key: np.array(value, np.int64) for key, value in columns.items()}


def _channels(case: _Case, device: int, *, of_client: bool) -> int:
    """Channels of an owner on a device; 0 without a known limit."""
    if case.platform.channels is not None:
        return case.platform.channels
    gpu = case.gpus[device]
    return CLIENT_CHANNELS if of_client else 0 if gpu is None else gpu.channels or 0


_DIRECTIONS = {"in": 1, "out": 2, "both": 3}
_MOST_ENGINES = 31

_NOT_STATED = ("item_cluster", "item_interference", "gpc_begin", "gpc_sms")
_ONE_AT_A_TIME = (*("mpcp", "fmlp_plus", "srm", "omlp", "edf_serial", "gpu_server", "container"),)
"""Rules under which no kernels of several tasks run at once."""

_ITEM_COLUMNS = ("kind", "time", "engine", "blocks", "threads", "regs", "smem", "whole")


def _program_columns(
    case: _Case, rooms: Sequence[_Room], programs: Sequence[_Program], *, whole: bool, down: bool
) -> dict[str, Any]:
    """The items and the steps of all tasks."""
    rows: list[tuple[int, ...]] = []
    steps: list[_Step] = []
    item_begin, step_begin = [0], [0]
    for room, own in zip(rooms, programs, strict=True):
        gpu = case.gpus[room.device]
        rows += [_row(item, room, gpu, whole, down) for item in own.items]
        rows += [(_KINDS.index("cpu"), own.cost, *[0] * 6) for _ in own.calls]
        steps += own.steps
        item_begin.append(len(rows))
        step_begin.append(len(steps))
    columns = np.array(rows, np.int64).reshape(-1, len(_ITEM_COLUMNS)).T
    return {
        **{f"item_{key}": columns[i] for i, key in enumerate(_ITEM_COLUMNS)},
        "item_begin": np.array(item_begin, np.int64),
        "step_begin": np.array(step_begin, np.int64),
        "step_kind": np.array([_STEPS.index(step.kind) for step in steps], np.int64),
        "step_item": np.array([step.item for step in steps], np.int64),
    }


def _barriers_beside(case: _Case, rooms: Sequence[_Room]) -> tuple[Task, ...]:
    """Tasks with blocks that wait for each other, beside which kernels of others may run.

    On an empty GPU all blocks start at one instant, those of a cooperative launch and others.
    """
    users = [(t, room) for t, room in zip(case.workload, rooms, strict=True) if t.kernels]
    return tuple(
        task
        for task, room in users
        if any(kernel.barrier is not None for kernel in task.kernels)
        and any(
            other.device == room.device
            and other.context == room.context
            and other.stream != room.stream
            for _, other in users
        )
    )


def _refuse_barriers(case: _Case, tasks: Iterable[Task]) -> None:
    """Raise ValueError for a plain launch of blocks that wait for each other."""
    for task in tasks:
        if any(kernel.barrier == "plain" for kernel in task.kernels):
            source = case.workload[[task.name]]._source(case.platform, triggers=True)
            source.refuse_barriers()


def _cooperative(programs: Sequence[_Program]) -> Int64Array | None:
    """Whether all blocks of each item start at one instant; None if none do."""
    rows: list[bool] = []
    for own in programs:
        kernels = [item.kernel for item in own.items]
        rows += [of is not None and of.kernel.barrier is not None for of in kernels]
        rows += [False] * len(own.calls)
    return np.array(rows, np.int64) if True in rows else None


def _row(item: _Item, room: _Room, gpu: GPU | None, whole: bool, down: bool) -> tuple[int, ...]:
    """An item as numbers, by `_ITEM_COLUMNS`."""
    kind = _KINDS.index(item.kind)
    if item.kernel is None:
        time = max(item.time, 1)  # of a wait of the thread, which is no step
        engine = int(item.kind == "copy" and not item.inward)
        engine = engine if item.dla < 0 else FIRST_DLA + item.dla
        return (kind, time, engine, 0, 0, 0, 0, 0)
    sms = 1 if gpu is None else gpu.sms
    most = min(len(room.sms) or sms, room.limit or sms)
    times, kernel = item.kernel, item.kernel.kernel
    if gpu is None or kernel.blocks is None or whole:  # all SMs that it may use, at once
        time = times.time if gpu is None else times.on(most)
        if whole and most >= sms and times.stated is not None:
            time = times.stated  # not a multiple of the time of a block
        return (kind, time, 0, 1, 0, 0, 0, most)
    time = math.floor(times.block_on(most)) if down else times.needed_block_time()
    if kernel.sms and most < sms:  # a measured time on fewer SMs is divided by the waves there
        time = max(1, math.ceil(times.block_on(most)))
    return (kind, time, 0, kernel.blocks, kernel.threads or 0, kernel.regs, kernel.smem, 0)


def _engines_of(models: DerivedModels, way: str, gpu: GPU | None) -> CopyEngines:
    if way == "mig" and gpu is not None:
        return platform_of_instance(models.platform, gpu).copy_engines
    return models.platform.copy_engines


def _engines(given: CopyEngines, streams: int) -> int:
    """The directions of copy engines, two bits for each.

    As a stream copies once at a time, there are no more alike than streams.
    """
    directions: list[str] = []
    for direction in engine_directions(given):
        if directions.count(direction) < streams:
            directions.append(direction)
    if len(directions) > _MOST_ENGINES:
        raise ValueError(
            f"copy_engines: got {engines_text(given)}, expected at most {_MOST_ENGINES}"
        )
    masks = (_DIRECTIONS[direction] << 2 * e for e, direction in enumerate(directions))
    return sum(masks)


def _device_columns(
    models: DerivedModels,
    gpus: Sequence[GPU],
    programs: Sequence[_Program],
    rooms: Sequence[_Room],
    way: str,
) -> dict[str, Any]:
    """Kernels that run at once, and copy engines, of each device."""
    known = models.platform.gpu is not None
    count = len(models.workload)
    engines = [_engines(_engines_of(models, way, gpu if known else None), count) for gpu in gpus]
    for task, own, room in zip(models.workload, programs, rooms, strict=True):
        copies = (item for item in own.items if item.kind == "copy" and item.dla < 0)
        if engines[room.device] == 0 and any(copies):
            raise ValueError(f"copy_engines: got 0, expected one for the copies of {task.name}")
    grids = [gpu.resident_grids if known else max(len(models.workload), 1) for gpu in gpus]
    return {"grids": np.array(grids, np.int64), "engines": np.array(engines, np.int64)}


def _frame_columns(workload: Workload, table: Any) -> dict[str, Any]:
    """The frames of a table."""
    starts: list[int] = []
    begin: list[int] = [0]
    entries: list[tuple[int, int, int]] = []
    for k, row in enumerate(() if table is None else table):
        start, *_, kernels = row
        starts.append(integer(start, f"table[{k}]"))
        for task, job, kernel in kernels:
            place = (integer(job, f"table[{k}]"), integer(kernel, f"table[{k}]"))
            entries.append((workload.index(task), *place))
        begin.append(len(entries))
    task, job, kernel = np.array(entries, np.int64).reshape(-1, 3).T
    return {
        "frame_start": np.array(starts, np.int64),
        "entry_begin": np.array(begin, np.int64),
        "entry_task": task,
        "entry_job": job,
        "entry_kernel": kernel,
    }


def _release_columns(
    workload: Workload, releases: Sequence[Sequence[Any]] | None, until: int
) -> dict[str, Any]:
    """Given arrivals and releases of jobs; those from ``until`` on are left out."""
    if releases is None:
        return dict.fromkeys(("release_begin", "arrival", "release"))
    if len(releases) != len(workload):
        raise ValueError(
            f"releases: got {len(releases)} rows, expected one per task ({len(workload)})"
        )
    begin, pairs = [0], []
    for row in releases:
        both = [tuple(one) if isinstance(one, (tuple, list)) else (one, one) for one in row]
        pairs += [pair for pair in both if pair[1] < until]
        begin.append(len(pairs))
    arrival, release = np.array(pairs, np.int64).reshape(-1, 2).T
    return {
        "release_begin": np.array(begin, np.int64),
        "arrival": arrival,
        "release": release,
    }


def _link_columns(workload: Workload) -> dict[str, Any]:
    """The tasks that release each task, and of how many of their jobs one does."""
    if not any(task.after for task in workload):
        return dict.fromkeys(("after_begin", "after", "every"))
    before = [[workload.index(name) for name in task.after] for task in workload]
    begin = np.cumsum([0, *map(len, before)])
    return {
        "after_begin": begin.astype(np.int64),
        "after": np.array([number for numbers in before for number in numbers], np.int64),
        "every": np.array([task.every for task in workload], np.int64),
    }


def _given_columns(programs: Sequence[_Program], times: Any) -> dict[str, Any]:
    """Given times: a row per job, of which calls take those of their operations at most."""
    if times is None:
        return dict.fromkeys(("given_begin", "given"))
    if len(times) != len(programs):
        raise ValueError(
            f"times: got {len(times)} entries, expected one per task ({len(programs)})"
        )
    begin, given = [0], list[int]()
    for i, (own, jobs) in enumerate(zip(programs, times, strict=True)):
        count = len(own.items)
        for j, row in enumerate(jobs):
            if len(row) != count:
                raise ValueError(
                    f"times[{i}][{j}]: got {len(row)} times, expected one per segment ({count})"
                )
            row = [max(1, integer(time, f"times[{i}][{j}]")) for time in row]
            given += [*row, *(min(row[k], own.cost) for k in own.calls)]
        begin.append(len(given))
    return {"given_begin": np.array(begin, np.int64), "given": np.array(given, np.int64)}


def _least_times(columns: Mapping[str, Any], low: Any) -> Int64Array:
    """The least time of each item: a share of its whole time, rounded up, at least one tick."""
    begin, whole = columns["item_begin"], columns["item_time"]
    if not isinstance(low, (list, tuple)):
        return _shortened(whole, low)
    if len(low) != len(begin) - 1:
        raise ValueError(f"low: got {len(low)} shares, expected one per task ({len(begin) - 1})")
    parts = np.split(whole, begin[1:-1])
    return np.concatenate([_shortened(*of) for of in zip(parts, low, strict=True)])


def _shortened(whole: Int64Array, low: Any) -> Int64Array:
    """A share of each time, rounded up, at least one tick."""
    share = _short(execution_shares(low, "whole time", name="low", zero=True)[0])
    over, under = share.numerator, share.denominator
    times, rest = np.divmod(whole, under)
    least: Int64Array = np.maximum(times * over + (rest * over + under - 1) // under, 1)
    return least


def _knot_columns(
    programs: Sequence[_Program],
    columns: Mapping[str, Any],
    spreads: Spreads | None,
) -> dict[str, Any]:
    """Quantiles of the times of items, each as a share of the whole time, rounded up."""
    if spreads is None:
        return dict.fromkeys(("knot_begin", "knot_rank", "knot_time", "item_drawn"))
    begin, ranks, times, drawn = [0], list[int](), list[int](), list[int]()
    whole = columns["item_time"].tolist()
    for own, of_task in zip(programs, spreads, strict=True):
        first: dict[int, int] = {}  # item of each segment
        for k, item in enumerate(own.items):
            drawn.append(first.setdefault(item.place, k))
            spread = of_task[item.place]
            longest = whole[len(begin) - 1]
            for share, time in () if spread is None else spread:
                ranks.append(int(share * 2**63))
                times.append(max(1, math.ceil(longest * time)))
            begin.append(len(ranks))
        drawn += [len(own.items) + k for k in range(len(own.calls))]
        begin += [len(ranks)] * len(own.calls)
    made = {"knot_begin": begin, "knot_rank": ranks, "knot_time": times, "item_drawn": drawn}
    return {key: np.array(column, np.int64) for key, column in made.items()}


def _number_of(name: str) -> int:
    """A number that stands for a name in the draws."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


def _short(share: Fraction) -> Fraction:
    """A share whose parts fit 31 bits."""
    if max(share.numerator, share.denominator) < 2**31:
        return share
    return share.limit_denominator(2**30)
