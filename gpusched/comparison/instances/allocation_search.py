"""Choice of GPU instances (MIG) for a workload: kinds of instances, units of tasks, the search."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias, cast

from gpusched._support.budget import Budget, BudgetSpent
from gpusched._support.registry import methods
from gpusched._support.text import clip
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.instance_assignment import MOST_EXACT, Found, search_instances
from gpusched.comparison.instances.instance_tests import InstanceTests, Spent, Test, bits
from gpusched.comparison.instances.mig_allocation import MigAllocation, MigPart
from gpusched.comparison.instances.shared_cpus import SharedCpus
from gpusched.comparison.verdicts.premises import Condition, cpu_side, needs_cpus
from gpusched.comparison.whole_programs import Beside
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.answer import Claim
from gpusched.model.gpu import GPU
from gpusched.model.gpus.mig_profiles import MigInstance
from gpusched.model.views.derived_view import listed, refuse_triggers, runs_on_cpu
from gpusched.model.workload.kernel_waves import ON_FEWER_SMS
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way

__all__ = ["MOST_UNITS", "allocated", "allocated_on_shared_cpus", "inner_way"]

MOST_UNITS = 64
"""Maximum number of tasks with GPU segments, or of cores, for the search of instances."""

MOST_JOINT = 6
"""Maximum number of units for which all assignments are tried where tasks share CPUs: each test
has the CPU work of all tasks in it."""

TestBeside: TypeAlias = "Callable[[Workload, Platform, Beside], WorkloadAnswer]"
"""A test that counts the CPU work of tasks that are not in its workload."""

_ROUNDS = 4  # of answers from the responses of the one before

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
    """GPU instances for the tasks of a workload; see ``gs.mig``. The test counts no other CPU work
    than that of the tasks of an instance."""
    search = _Search(models, within, options, budget, stop, report)
    found = search.run(test, MOST_EXACT)
    left = search.left_out()
    conditions = dict.fromkeys(each for part in found.parts for each in part.answer.conditions)
    said: tuple[str, ...] = ()
    if needs_cpus(within.name):
        side = cpu_side(models.given)
        said = side.said
        left |= {models.workload.index(name): time for name, time in side.response.items()}
        if side.condition is not None:
            conditions[side.condition] = None
    return search.allocation(found, left, tuple(conditions), said)


def allocated_on_shared_cpus(
    shared: SharedCpus,
    within: Way,
    options: Mapping[str, OptionValue],
    test: TestBeside,
    budget: Budget,
    stop: Any,
    report: Callable[[int], object],
) -> MigAllocation:
    """GPU instances for tasks that delay each other on CPUs, which the test counts."""
    models = shared.models
    search = _Search(models, within, options, budget, stop, report)
    found = search.run(lambda part, platform: test(part, platform, shared.beside), MOST_JOINT)
    parts, shared = _settled(found.parts, shared, test, stop)
    left = search.left_out()
    for name, time in shared.alone.items():
        left[models.workload.index(name)] = -(-time // models.grain)
    conditions = dict.fromkeys(each for part in parts for each in part.answer.conditions)
    core = tuple(task.core or 0 for task in models.workload)
    found = replace(found, parts=parts)
    return search.allocation(found, left, tuple(conditions), shared.said, core)


def _settled(
    parts: tuple[MigPart, ...], shared: SharedCpus, test: TestBeside, stop: Any
) -> tuple[tuple[MigPart, ...], SharedCpus]:
    """The answers for the parts that follow from each other's responses in place of deadlines.

    Each round has bounds that hold, and no larger ones than the round before.
    """
    with contextlib.suppress(BudgetSpent):
        for _ in range(_ROUNDS if parts else 0):
            response: dict[str, int] = {}
            for part in parts:
                names = part.answer.workload.names
                response |= dict(zip(names, part.answer.response.tolist(), strict=True))
            later = shared.knowing(response, stop)
            answers = [
                test(part.answer.workload, part.answer.platform, later.beside) for part in parts
            ]
            same = later.alone == shared.alone and all(
                part.answer.response.tolist() == answer.response.tolist()
                for part, answer in zip(parts, answers, strict=True)
            )
            shared = later
            both = zip(parts, answers, strict=True)
            parts = tuple(part._replace(answer=answer) for part, answer in both)
            if same:
                break
    return parts, shared


@dataclass(frozen=True)
class _Outcome:
    """Outcome of a search; ``reason``: why it has no parts."""

    parts: tuple[MigPart, ...]
    spent: bool
    tested: int
    reason: str


class _Search:
    """A search for GPU instances for the tasks of a workload."""

    def __init__(
        self,
        models: DerivedModels,
        within: Way,
        options: Mapping[str, OptionValue],
        budget: Budget,
        stop: Any,
        report: Callable[[int], object],
    ) -> None:
        self._began = perf_counter()
        self._models, self._within, self._options = models, within, options
        self._limits = budget, stop, report
        refuse_triggers(models.workload)
        configurations = _configurations(models, models.gpu())
        self._units = _units(models, within)
        self._kinds = _kinds(configurations)
        self._by_counts = {_counts(row, self._kinds): row for row in reversed(configurations)}
        self._impossible = models.given.impossible()

    def run(self, test: Test, exact: int) -> _Outcome:
        """Instances whose tasks the test accepts; for so many units all assignments are tried."""
        models, units = self._models, self._units
        gpus = [models.gpu().instance(labels[0]) for labels in self._kinds]
        streams = self._options if self._within.name == "streams" and exact == MOST_EXACT else None
        tests = InstanceTests(
            models.workload, models.platform, units, gpus, test, streams, *self._limits
        )
        found, spent = Found(None), False
        parts: tuple[MigPart, ...] = ()
        try:
            _refuse_unknown(tests, len(units))
            if not self._impossible:
                sms, demand = [of.sms for of in gpus], _demand(models, units)
                found = search_instances(
                    len(units), self._by_counts, sms, demand, tests, exact=exact
                )
                if found.sets is not None:
                    parts = _parts(found.sets, self._by_counts, self._kinds, tests)
        except Spent:
            found, spent = Found(None), True
        reason = "" if parts else _why_none(found, spent, tests, self._within, len(units), exact)
        left = found.sets is None and not found.complete and not self._impossible
        return _Outcome(parts, left, tests.tested, reason)

    def left_out(self) -> dict[int, int | None]:
        """The tasks without an instance, without responses."""
        users = {task for unit in self._units for task in unit}
        return dict.fromkeys(set(range(len(self._models.workload))) - users)

    def allocation(
        self,
        found: _Outcome,
        left: Mapping[int, int | None],
        conditions: tuple[Condition, ...],
        said: tuple[str, ...],
        core: tuple[int, ...] = (),
    ) -> MigAllocation:
        """The answer, with the responses of tasks without an instance; ``core``: of each task."""
        models, within = self._models, self._within
        assumed = [*_ASSUMED, *_bounds_said(found.parts)]
        if any(not kernel.has_shape for task in models.workload for kernel in task.kernels):
            assumed.append(ON_FEWER_SMS)
        claim = "sufficient" if within.test_method is None else within.test_method.claim
        return MigAllocation(
            workload=models.given.workload,
            platform=models.given.platform,
            within=within.name,
            options=dict(self._options),
            claim=cast(Claim, claim),
            parts=found.parts,
            rejected=bool(self._impossible),
            conditions=conditions if found.parts else (),
            spent=found.spent,
            tested=found.tested,
            seconds=perf_counter() - self._began,
            grain=models.grain,
            _left_out=left,
            _said=(*assumed, *said),
            _reason=_reason(self._impossible, found.parts, left, models.given) or found.reason,
            _core=core if found.parts else (),
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
        kinds = reversed(range(len(tests.kinds)))  # the largest ones accept most
        if any(tests.accepts(kind, [1 << unit])[0] for kind in kinds):
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


def _why_none(
    found: Found, spent: bool, tests: InstanceTests, within: Way, units: int, exact: int
) -> str:
    """The reason for no assignment, in a sentence or two."""
    if spent:
        return "The budget was spent before all assignments were tried."
    if not found.complete:
        return (
            f"None of the assignments that were tried is accepted; all of them are tried for at "
            f"most {exact} tasks or cores, not for {units}."
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
