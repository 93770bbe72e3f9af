"""Runs of workloads on the whole machine: CPUs, copy engines and GPU under a way of sharing.

The machine plays the deployment that the answer of the way's test has: its cores, its order of GPU
work, its plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched.analysis.global_edf_verdict import GedfVerdict
from gpusched.analysis.holistic_answer import HOLISTIC_TERMS, HolisticBound
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.delayed_programs import cores_of_worst_fit, delayed_programs
from gpusched.comparison.derived_models import DerivedModels, has_whole_kernels
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.machine_models import MACHINE_WAYS, machine_model
from gpusched.comparison.tasks_in_parts import PART_SENTENCES
from gpusched.comparison.verdicts.premises import by_core, cpu_side
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.batch_table import BatchTable
from gpusched.model.schedule import Schedule
from gpusched.model.workload.segments import DLA, CopyIn, Kernel
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.pbs.edf import Edf
from gpusched.simulate.machine_result import (
    BlockIntervals,
    ContextTurns,
    CpuIntervals,
    MachineJobs,
    MachineRun,
    Operations,
)
from gpusched.simulate.machine_run import (
    MachineModel,
    MachineStack,
    run_machine,
    stack_machine,
)
from gpusched.ways.way import OptionValue, as_way

PLANNED = ("pbs", "edf_parallel")
"""Ways that are played by the frames of a plan."""

_NEEDED = (*PLANNED, "mig", "container")
"""Ways that have no run without the answer of their test."""

_CHOOSING = ("stgm", "gpu_server", "srm", "edf_serial", "mig")
"""Ways whose tests choose more than cores."""

_CHOSEN_CORES = ("chosen cores", "the cores of the tasks were chosen, and others may do")
"""A limit of runs on cores that the package chose."""

_SAID = (
    "CPU work, copies and kernels run on one machine: a thread launches the kernels and copies "
    "between two pieces of CPU work at once, and waits for all of them"
)
_DISPATCHER = (
    "the dispatcher starts each batch when the one before it has ended, not before its time"
)


@dataclass(frozen=True)
class MachineChoices:
    """A deployment of the machine: arguments of `machine_model`, their meaning, what is open."""

    arguments: dict[str, Any]
    said: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    instances: tuple[str, ...] = ()  # names of devices


def needed_of_answer(way: str, options: Mapping[str, OptionValue]) -> bool:
    """Whether there is no run without an answer: it has the plan, the instances or the server, or
    checks the options that say where and how urgently GPU work runs."""
    return way in _NEEDED or bool({"gpu_priority", "server"} & set(options))


def needs_answer(models: DerivedModels, way: str) -> bool:
    """Whether the way's test may choose what a run needs: SMs, a lock, instances, cores."""
    if way in _CHOOSING:
        return True
    partitioned = MACHINE_WAYS[way].cpu == "partitioned"
    return partitioned and not models.has_cores() and models.platform.cpus > 1


def machine_choices(
    models: DerivedModels,
    way: str,
    options: Mapping[str, OptionValue],
    answer: WorkloadAnswer | None,
    until: int,
) -> MachineChoices:
    """The deployment of a way: that of its answer, or the usual one.

    ``until``: end of the releases in the ticks of the models.

    Raises ValueError for a program or a platform with which there is no such deployment, and where
    the way needs a plan that the answer does not have.
    """
    if as_way(way).global_edf:
        models.refuse_cores()
    if way == "gcaps" or (way == "time_slices" and models.platform.gpu is None):
        models.own_processes()
    elif not as_way(way).in_turns and any(task.kernels for task in models.workload):
        models.gpu()
    arguments: dict[str, Any] = {"channel_release": models.channel_release}
    for name in ("ring", "queues", "stall"):
        if name in options:
            arguments[name] = options[name]
    if mode := options.get("mode", getattr(as_way(way), "mode", None)):
        arguments["mode"] = mode
    if has_whole_kernels(way):
        arguments["whole"] = True
    said: tuple[str, ...] = (_SAID,)
    limits: tuple[tuple[str, str], ...] = ()
    if MACHINE_WAYS[way].cpu == "partitioned":
        cores = chosen_cores(models, way, answer)
        arguments["cores"] = cores
        names = models.workload.names
        said += (f"each task has a core: {by_core(dict(zip(names, cores, strict=True)))}",)
        if not _cores_do_not_matter(models, way, cores):
            limits += (_CHOSEN_CORES,)
    detail = None if answer is None else answer.detail
    if isinstance(detail, Verdict):
        arguments |= _places(models, way, detail)
    if way == "srm":
        lock = detail.lock if isinstance(detail, GedfVerdict) else options.get("lock", "best")
        arguments["lock"] = "fmlp" if lock == "best" else lock
    if way == "container" and answer is not None and isinstance(detail, GedfVerdict):
        arguments |= _server(detail, Fraction(models.grain, answer.grain))
        tick = models.given.workload.tick_ns
        budget, period = (
            time_with_unit(arguments[name] // models.grain, tick)
            for name in ("server_budget", "server_period")
        )
        said += (f"the server of the tasks with GPU work has {budget} in a period of {period}",)
    if isinstance(detail, MigAllocation):
        arguments |= _of_instances(models, detail)
        limits += (("chosen instances", "the instances of the tasks were chosen"),)
    if way in ("gcaps", "time_slices") and {t.process for t in models.gpu_users()} == {None}:
        said += ("each task is a process of its own",)
    if way in PART_SENTENCES:
        parts = "green contexts" if way == "green_contexts" else "static partitions of MPS"
        own = options.get("queues", "own") == "own"
        have = "have queues of their own" if own else "share their queues"
        said += (f"{parts} {have}",)
        if common := models.in_parts(way).common():
            said += (common,)
    if options.get("order", "hardware") != "hardware":
        order = options["order"]
        limits += ((f"order {order}", f"kernels are taken as on GPUs, not in the order {order!r}"),)
    if way == "stgm":
        limits += (("chosen SMs", "the SMs of the tasks were chosen, and others may do"),)
    if way == "edf_serial" and answer is not None and isinstance(detail, (HolisticBound, Edf)):
        behind = np.array(_behind_units(answer, detail), np.int64)
        arguments["tails"] = (behind * models.grain // answer.grain).tolist()
    if way == "edf_serial":
        limits += (("chosen order", "the order of GPU work was chosen, and others may do"),)
    if way in PLANNED:
        if answer is None or answer.schedule is None:
            raise ValueError(
                "plan: got none, expected one; the search has not found a plan to play"
            )
        arguments["table"] = list(_frames(answer, models.grain, until))
        arguments["repeat"] = until + 1  # it has all frames
        arguments["channels"] = 0  # kernels are held back before they are in one
        said += (_DISPATCHER,)
        limits += (("chosen plan", "the plan was chosen, and others may do"),)
    instances: tuple[str, ...] = ()
    if isinstance(detail, MigAllocation):
        instances = tuple(str(part.instance) for part in detail.parts)
    return MachineChoices(arguments, said, limits, instances)


def _places(models: DerivedModels, way: str, verdict: Verdict) -> dict[str, Any]:
    """SMs, GPU priorities, or the server's core, as a test has them."""
    if way == "gpu_server" and verdict.server is not None:
        own = int(verdict.server) >= models.platform.cpus
        return {} if own else {"server_core": int(verdict.server)}
    urgency = getattr(verdict.way, "gpu_priority", None)
    if way == "gcaps" and urgency is not None:
        return {"gpu_priority": dict(zip(verdict.hosts.name, urgency, strict=True))}
    if way != "stgm":
        return {}
    place = {name: i for i, name in enumerate(verdict.hosts.name)}
    sets = [
        verdict.hosts.sm[place[name]].nonzero()[0].tolist() if name in place else []
        for name in models.workload.names
    ]
    return {"sms": [one or None for one in sets]}


def _behind_units(answer: WorkloadAnswer, detail: HolisticBound | Edf) -> list[int]:
    """For each task, how long before its deadline a unit is due, in the ticks of the answer."""
    if isinstance(detail, HolisticBound):
        found: list[int] = detail.terms[:, HOLISTIC_TERMS.index("behind")].tolist()
        return found
    units = zip(detail.tasks.offset.tolist(), detail.tasks.deadline.tolist(), strict=True)
    due = {name: sum(unit) for name, unit in zip(detail.tasks.name, units, strict=True)}
    ends = {task.name: (task.offset + task.deadline) * answer.grain for task in answer.workload}
    return [ends[name] - due.get(name, ends[name]) for name in answer.workload.names]


def _server(verdict: GedfVerdict, scale: Fraction) -> dict[str, Any]:
    """Period and budget of the container's server; ``scale``: ticks of the run in one of those."""
    hosts, period = verdict.hosts, int(verdict.server_period)
    work = hosts.cpu_time + hosts.copy_time + hosts.kernel[..., -1].sum(axis=-1)
    inside = hosts.segments > 0
    pairs = zip(work[inside].tolist(), hosts.period[inside].tolist(), strict=True)
    share = sum((Fraction(*pair) for pair in pairs), Fraction(0))
    budget = max(1, ceil(min(share, Fraction(1)) * period * scale))
    return {"server_period": int(period * scale), "server_budget": budget}


def _of_instances(models: DerivedModels, found: MigAllocation) -> dict[str, Any]:
    """The instances of an allocation, and that of each task; tasks without the GPU are anywhere."""
    if not found.parts:
        raise ValueError(f"mig: got no instances for the tasks, expected some; {found.why()}")
    home = [0] * len(models.workload)
    for k, part in enumerate(found.parts):
        for task in part.tasks:
            home[task] = k
    profiles = [part.instance.profile.name for part in found.parts]
    return {"instances": home, "profiles": profiles, "within": found.within}


def machine_run(
    models: DerivedModels, way: str, choices: MachineChoices, **arguments: Any
) -> MachineRun:
    """Play a way on the machine."""
    until, timeline = arguments.pop("until"), arguments.pop("timeline")
    model = _model(models, way, choices, until)
    has_blocks = models.platform.gpu is not None and not has_whole_kernels(way)
    logs = ("jobs", "operations", "cpus", *(("blocks",) if has_blocks else ()))
    found = run_machine(model, log=logs if timeline else ("jobs",), progress=False, **arguments)
    jobs, ops, cpu = dict(found.jobs), dict(found.operations), dict(found.cpu)
    jobs["number"] = jobs.pop("job")
    cpu["start"], cpu["end"] = cpu.pop("from"), cpu.pop("to")
    engines, device = _column(model, "engines"), _column(model, "device")
    blocks = dict(found.blocks)
    first_sm = np.cumsum([0, *(gpu.sms for gpu in model.gpus[:-1])])
    if timeline:
        blocks["sm"] = blocks["sm"] + first_sm[device[ops["task"][blocks["operation"]]]]
    context = _first_of_contexts(model)
    return MachineRun(
        name=models.workload.names,
        deadline=_column(model, "deadline"),
        cpus=models.platform.cpus,
        engines=max(-(-code.bit_length() // 2) for code in engines.tolist()),
        sms=sum(gpu.sms for gpu in model.gpus) if has_blocks else 0,
        warps=max(gpu.warps_per_sm for gpu in model.gpus) if has_blocks else 0,
        instances=tuple(choices.instances[k] for k in device.tolist()) if choices.instances else (),
        context=context,
        threads=_threads(models),
        jobs=MachineJobs(**jobs),
        operations=Operations(**ops, what=_kinds(models, ops)) if timeline else None,
        blocks=BlockIntervals(**blocks) if timeline and has_blocks else None,
        cpu=CpuIntervals(**cpu) if timeline else None,
        turns=_turns(model, context, found.slices) if timeline else None,
        now=found.now,
        reason=found.reason,
        sent=_sent(models.workload),
    )


def machine_stack(
    models: DerivedModels, way: str, choices: MachineChoices, **arguments: Any
) -> MachineStack:
    """Play a way on the machine so many times (``runs``), without logs."""
    until, runs = arguments.pop("until"), arguments.pop("runs")
    return stack_machine(_model(models, way, choices, until), runs, **arguments)


def _model(models: DerivedModels, way: str, choices: MachineChoices, until: int) -> MachineModel:
    """The machine; without draws, releases have no jitter."""
    return machine_model(models, way, until=until, **{"jitter": False, **choices.arguments})


def _column(model: MachineModel, name: str) -> Int64Array:
    found = model.columns[name]
    assert found is not None
    return found


def _first_of_contexts(model: MachineModel) -> Int64Array:
    """For each task, the first task of its context; -1 without one."""
    keys = zip(_column(model, "device").tolist(), _column(model, "context").tolist(), strict=True)
    first: dict[tuple[int, int], int] = {}
    found = [first.setdefault(key, task) if key[1] >= 0 else -1 for task, key in enumerate(keys)]
    return np.array(found, np.int64)


def _threads(models: DerivedModels) -> Int64Array:
    """Threads of a block, per task and segment with repetitions."""
    rows = [
        [part.threads or 0 if isinstance(part, Kernel) else 0 for _, part in task.steps()]
        for task in models.workload
    ]
    width = max(map(len, rows), default=0)
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int64)


def _turns(
    model: MachineModel, first: Int64Array, slices: Mapping[str, Int64Array]
) -> ContextTurns:
    """Turns of contexts, by their first tasks."""
    keys = zip(_column(model, "device").tolist(), _column(model, "context").tolist(), strict=True)
    named = dict(zip(keys, first.tolist(), strict=True))
    turns = zip(slices["device"].tolist(), slices["context"].tolist(), strict=True)
    return ContextTurns(
        task=np.array([named[turn] for turn in turns], np.int64),
        switches=slices["switch"],
        start=slices["from"],
        end=slices["to"],
    )


def _kinds(models: DerivedModels, operations: Mapping[str, Int64Array]) -> Int64Array:
    """Whether operations are kernels, copies in, copies out or work on DLAs."""
    first, kinds = [0], list[int]()
    for task in models.workload:
        for _, part in task.steps():
            copy = 1 if isinstance(part, CopyIn) else 2
            kinds.append(0 if isinstance(part, Kernel) else 3 if isinstance(part, DLA) else copy)
        first.append(len(kinds))
    place = np.array(first, np.int64)[operations["task"]] + operations["item"]
    found: Int64Array = np.array(kinds, np.int64)[place]
    return found


def _cores_do_not_matter(models: DerivedModels, way: str, cores: list[int]) -> bool:
    """Whether a late job on these cores is one of the program, not of their choice.

    They are stated, there is one, or no thread of a way without cores in its test is delayed there.
    """
    if models.has_cores() or models.platform.cpus == 1:
        return True
    apart = cpu_side(models).core
    return not as_way(way).placed and cores == [apart.get(name) for name in models.workload.names]


def chosen_cores(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> list[int]:
    """The core of each task."""
    names = models.workload.names
    if models.has_cores():
        return [task.core or 0 for task in models.workload]
    detail = None if answer is None else answer.detail
    if isinstance(detail, MigAllocation) and detail.core:
        return list(detail.core)
    apart = cpu_side(models).core
    if apart and not (answer is not None and answer.accepted) and not as_way(way).placed:
        return [apart.get(name, 0) for name in names]
    if way in PLANNED:
        delayed = None if apart else delayed_programs(models)
        if delayed is not None:
            return [delayed.core[name] for name in names]
    if isinstance(detail, HolisticBound):
        chosen: list[int] = detail.tasks.core.tolist()
        return chosen
    if isinstance(detail, Verdict):
        hosts = dict(zip(detail.hosts.name, detail.hosts.core.tolist(), strict=True))
        if all(hosts.get(name, -1) >= 0 for name in names):
            return [hosts[name] for name in names]
    if apart:
        return [apart.get(name, 0) for name in names]
    return cores_of_worst_fit(models)


def _frames(
    answer: WorkloadAnswer, grain: int, until: int
) -> Iterator[tuple[int, list[tuple[str, int, int]]]]:
    """The frames of jobs that are released by an instant: starts; kernels by task, job and number.

    Times are in so many finer ticks. A job has a row for each of its units, of one or more kernels.
    In a plan a job ends by its deadline, which counts from an arrival behind the CPU work before.
    """
    schedule, workload = answer.schedule, answer.workload
    assert schedule is not None
    rows: list[tuple[str, tuple[int, ...]]] = []
    for name in schedule.tasks.name:
        count = sum(kernel.repeat for kernel in workload[name].kernels)
        first = 0
        for size in answer.units.get(name, (1,) * count):
            rows.append((name, tuple(range(first, first + size))))
            first += size
    done: Counter[int] = Counter()
    table = schedule.table
    longest = int((schedule.tasks.offset + schedule.tasks.deadline).max())
    last = -(-until * answer.grain // grain) + longest
    for start, batch in takewhile(lambda frame: frame[0] <= last, _repeated(schedule, last)):
        members = [i for i in range(len(rows)) if batch >> i & 1]
        if isinstance(table, BatchTable) and table.completion[batch] > 0:
            members = list(table.submission_order(batch))
        kernels = []
        for i in members:
            name, of_row = rows[i]
            kernels += [(name, done[i], k) for k in of_row]
            done[i] += 1
        yield -(-start * grain // answer.grain), kernels


def _repeated(schedule: Schedule, until: int) -> Iterator[tuple[int, int]]:
    """Starts and batches of a plan, whose cycle is repeated up to an instant."""
    plan = list(zip(schedule.start.tolist(), schedule.batch.tolist(), strict=True))
    yield from plan
    begin, step = schedule.cycle or (0, schedule.tasks.hyperperiod)
    again = [row for row in plan if row[0] >= begin]
    shift = step
    while again and again[0][0] + shift < until:
        yield from ((start + shift, batch) for start, batch in again)
        shift += step


def _sent(workload: Workload) -> npt.NDArray[np.bool_] | None:
    """Whether the tasks are released by others; None if none is."""
    found = np.array([bool(task.after) for task in workload], np.bool_)
    return found if found.any() else None


def job_columns(run: MachineRun) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Task, number, arrival and end of the jobs of a run, by task.

    Jobs of tasks that others release have their releases in place of arrivals.
    """
    jobs = run.jobs
    order = np.lexsort((jobs.number, jobs.task))
    return jobs.task[order], jobs.number[order], run.origin[order], jobs.end[order]
