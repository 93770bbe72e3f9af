"""Choice of GPU instances (MIG) for a workload: kinds of instances, units of tasks, the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, cast

from gpusched._support.budget import Budget
from gpusched._support.registry import methods
from gpusched._support.text import clip
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.instance_assignment import MOST_EXACT, Found, search_instances
from gpusched.comparison.instances.instance_tests import InstanceTests, Spent, Test, bits
from gpusched.comparison.instances.mig_allocation import MigAllocation, MigPart
from gpusched.comparison.verdicts.premises import cpu_side, needs_cpus
from gpusched.model.answer import Claim
from gpusched.model.gpu import GPU
from gpusched.model.gpus.mig_profiles import MigInstance
from gpusched.model.views.derived_view import listed, refuse_triggers, runs_on_cpu
from gpusched.model.workload.kernel_waves import ON_FEWER_SMS
from gpusched.ways.way import OptionValue, Way

__all__ = ["MOST_UNITS", "allocated", "inner_way"]

MOST_UNITS = 64
"""Maximum number of tasks with GPU segments, or of cores, for the search of instances."""

WITHIN = methods()["mig"].option("way")
"""The ways in which tasks of an instance can share it."""

_REFUSED = {
    "gpu_server": "each instance would need a server, on a core that no test assigns",
    "stgm": "it chooses cores for the tasks of one instance as if the others had none",
    "srm": "jobs of all instances share the CPUs under global EDF",
    "container": "jobs of all instances share the CPUs under global EDF",
}

_ASSUMED = (
    "GPU instances do not delay each other, also where copies of several use the bus together",
    "a block takes as long in a GPU instance as on the whole GPU, although the instance has a part "
    "of its cache and memory bandwidth only; a kernel with a profile takes the time on as many SMs",
)


def inner_way(way: Way, argument: str = "within") -> Way:
    """The way in which the tasks of an instance share it; ValueError for an unsuitable one."""
    if way.name in WITHIN.choices:
        return way
    reason = _REFUSED.get(way.name, "it has no test of its own")
    raise ValueError(
        f"{argument}: got {way.name!r}, expected one of {', '.join(WITHIN.choices)}; {reason}"
    )


def allocated(
    models: DerivedModels,
    within: Way,
    options: Mapping[str, OptionValue],
    test: Test,
    budget: Budget,
    stop: Any,
    report: Callable[[int], object],
) -> MigAllocation:
    """GPU instances for the tasks of a workload; see ``gs.mig``."""
    began = perf_counter()
    workload, gpu = models.workload, models.gpu()
    refuse_triggers(workload)
    configurations = _configurations(models, gpu)
    units = _units(models, within)
    kinds = _kinds(configurations)
    gpus = [gpu.instance(labels[0]) for labels in kinds]
    streams = options if within.name == "streams" else None
    tests = InstanceTests(
        workload, models.platform, units, gpus, test, streams, budget, stop, report
    )
    by_counts = {_counts(row, kinds): row for row in reversed(configurations)}
    found, spent = Found(None), False
    parts: tuple[MigPart, ...] = ()
    impossible = models.given.impossible()
    try:
        _refuse_unknown(tests, len(units))
        if not impossible:
            found = search_instances(
                len(units), by_counts, [of.sms for of in gpus], _demand(models, units), tests
            )
            if found.sets is not None:
                parts = _parts(found.sets, by_counts, kinds, tests)
    except Spent:
        found, spent = Found(None), True
    users = {task for unit in units for task in unit}
    said = [*_ASSUMED, *_bounds_said(parts)]
    if any(not kernel.has_shape for task in workload for kernel in task.kernels):
        said.append(ON_FEWER_SMS)
    left: dict[int, int | None] = dict.fromkeys(set(range(len(workload))) - users)
    conditions = dict.fromkeys(each for part in parts for each in part.answer.conditions)
    if needs_cpus(within.name):
        side = cpu_side(models.given)
        said += side.said
        left |= {workload.index(name): time for name, time in side.response.items()}
        if side.condition is not None:
            conditions[side.condition] = None
    claim = "sufficient" if within.test_method is None else within.test_method.claim
    return MigAllocation(
        workload=models.given.workload,
        platform=models.given.platform,
        within=within.name,
        options=dict(options),
        claim=cast(Claim, claim),
        parts=parts,
        rejected=bool(impossible),
        conditions=tuple(conditions) if parts else (),
        spent=found.sets is None and not found.complete and not impossible,
        tested=tests.tested,
        seconds=perf_counter() - began,
        grain=models.grain,
        _left_out=left,
        _said=tuple(said),
        _reason=_reason(impossible, parts, left, models.given)
        or ("" if parts else _why_none(found, spent, tests, within, len(units))),
    )


def _reason(
    impossible: Sequence[str],
    parts: Sequence[MigPart],
    left: Mapping[int, int | None],
    models: DerivedModels,
) -> str:
    """The reason for no guarantee that is not one of the search; often none."""
    if impossible:
        return f"No way keeps all deadlines: {impossible[0]}."
    for i, time in left.items():
        if parts and (time is None or time > models.workload[i].deadline):
            name = clip(models.workload.names[i], 60)
            return f"{name}: no response bound within its deadline on the CPUs that are left."
    return ""


def _configurations(models: DerivedModels, gpu: GPU) -> tuple[tuple[MigInstance, ...], ...]:
    """The instances that the platform has, or all that are possible."""
    if models.platform.mig is not None:
        return (gpu.mig_instances(models.platform.mig),)
    return gpu.mig_configurations()


def _kinds(configurations: Sequence[Sequence[MigInstance]]) -> list[list[str]]:
    """Names of profiles whose instances are alike as GPUs, ascending by SMs."""
    found: dict[tuple[int, int], list[str]] = {}
    profiles = {one.profile for row in configurations for one in row}
    for profile in sorted(profiles, key=lambda of: (of.sms, of.copy_engines, of.memory_slices)):
        found.setdefault((profile.sms, profile.copy_engines), []).append(profile.name)
    return list(found.values())


def _counts(row: Sequence[MigInstance], kinds: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Numbers of instances by kind."""
    names = Counter(one.profile.name for one in row)
    return tuple(sum(names[name] for name in labels) for labels in kinds)


def _units(models: DerivedModels, within: Way) -> list[list[int]]:
    """Groups of tasks that must be in one instance: single tasks, or all tasks of a core."""
    workload = models.workload
    if within.placed:
        if not models.has_cores():
            raise ValueError(
                f"{workload.names[0]}: got no core, expected one for every task; under "
                f"{within.name} the tasks of a core have to be in one GPU instance"
            )
        cores: dict[int | None, list[int]] = {}
        for i, task in enumerate(workload):
            cores.setdefault(task.core, []).append(i)
        units = list(cores.values())
    else:
        users = [i for i, task in enumerate(workload) if not all(map(runs_on_cpu, task.segments))]
        units = [[i] for i in users]
    if not units:
        raise ValueError("tasks: got none with GPU segments, expected at least one")
    if len(units) > MOST_UNITS:
        what = "cores" if within.placed else "tasks with GPU segments"
        raise ValueError(
            f"tasks: got {len(units)} {what}, expected at most {MOST_UNITS} to choose GPU "
            "instances for"
        )
    return units


def _demand(models: DerivedModels, units: Sequence[Sequence[int]]) -> list[float]:
    """Share of the time for which the kernels of each unit keep the whole GPU."""
    times = models.workload.kernel_times(models.platform)
    share = [
        sum(of.time * of.kernel.repeat for of in of_task if of is not None) / task.period
        for task, of_task in zip(models.workload, times, strict=True)
    ]
    return [sum(share[i] for i in unit) for unit in units]


def _refuse_unknown(tests: InstanceTests, units: int) -> None:
    """Raise the error of a unit that the test refuses in every instance.

    The model cannot express such a workload.
    """
    for unit in range(units):
        if any([tests.accepts(kind, [1 << unit])[0] for kind in range(len(tests.kinds))]):
            continue
        error: Exception | None = None
        for kind in range(len(tests.kinds)):
            try:
                tests.answer(kind, 1 << unit)
                break
            except (ValueError, OverflowError) as refused:
                error = refused
        else:
            assert error is not None
            raise error


def _parts(
    sets: Sequence[tuple[int, int]],
    by_counts: Mapping[tuple[int, ...], Sequence[MigInstance]],
    kinds: Sequence[Sequence[str]],
    tests: InstanceTests,
) -> tuple[MigPart, ...]:
    """Instances for the sets, of the first configuration that has them."""
    wanted = Counter(kind for kind, _ in sets)
    row = next(
        row
        for counts, row in sorted(by_counts.items(), key=lambda of: (sum(of[0]), of[0]))
        if all(counts[kind] >= count for kind, count in wanted.items())
    )
    left = list(row)
    parts = []
    for kind, mask in sets:
        one = next(one for one in left if one.profile.name in kinds[kind])
        left.remove(one)
        parts.append(MigPart(one, tuple(tests.tasks_of(mask)), tests.answer(kind, mask)))
    return tuple(sorted(parts, key=lambda part: part.instance.start))


def _bounds_said(parts: Sequence[MigPart]) -> list[str]:
    """A sentence if the numbers of SMs of profiles are lower bounds."""
    names = [part.instance.profile.name for part in parts if not part.instance.profile.sms_known]
    if not names:
        return []
    return [f"more SMs than the least that are known of {listed(names)} make no job later"]


def _why_none(found: Found, spent: bool, tests: InstanceTests, within: Way, units: int) -> str:
    """The reason for no assignment, in a sentence or two."""
    if spent:
        return "The budget was spent before all assignments were tried."
    if not found.complete:
        return (
            f"None of the assignments that were tried is accepted; all of them are tried for at "
            f"most {MOST_EXACT} tasks or cores, not for {units}."
        )
    names = tests.names_of(found.smallest)
    if len(bits(found.smallest)) > 1:
        return (
            f"For {names} together the test of {within.name} accepts no choice of GPU instances; "
            f"every smaller set of {'cores' if within.placed else 'tasks'} has one."
        )
    largest = len(tests.kinds) - 1
    label = tests.kinds[largest].gpu.name
    try:
        reason = tests.answer(largest, found.smallest).why()
    except (ValueError, OverflowError) as error:
        reason = str(error)
    return f"No GPU instance serves {names}, not even alone; in {label}: {reason}"
