"""Choice of GPU instances (MIG) for a workload: kinds of instances, units of tasks, the search.

A unit cannot be divided: it is a task, or all tasks of one core. Instances of one kind are equal.
The search uses only the verdicts of the test. It makes no assumption of monotonicity: from the
verdict on a set of units it concludes nothing about smaller or larger sets or other instances.

1. For each set of instances, those with few instances first, the units are placed in order of
   decreasing demand: each goes to the instance with the least demand per SM that accepts it
   together with the units already there. A single instance has to accept all of them at once.
2. If that finds nothing, all sets of units are tested in an instance of each kind. Let F(u) be the
   family of sets that can be divided among instances u, and A(k) the sets that an instance of kind
   k accepts. F(u + k) consists of the unions of disjoint sets of F(u) and A(k): a subset
   convolution, computed by zeta and Moebius transforms ranked by the sizes of the sets, in
   O(n^2 2^n) for n units.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.budget import Budget, BudgetSpent
from gpusched._support.registry import methods
from gpusched._support.text import clip
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.instance_tests import (
    InstanceTests,
    SharedCpus,
    Spent,
    Test,
    bits,
)
from gpusched.comparison.instances.mig_allocation import MigAllocation, MigPart
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

MOST_EXACT = 16
"""Maximum number of units for which all assignments are tried."""

Counts = tuple[int, ...]
"""Numbers of instances by kind."""

Numbers = npt.NDArray[np.uint32]

Family = npt.NDArray[np.bool_]
"""Family of sets of units: a flag for each set, indexed by its mask."""


class SetTests(Protocol):
    """Verdicts on sets of units in an instance of a given kind."""

    def accepts(self, kind: int, masks: Sequence[int]) -> list[bool]:
        """Whether an instance of the kind accepts each set; a mask has a bit per unit."""

    def spend(self, memory: int = 0) -> None:
        """Raise `Spent` if the budget is used up or too small for these bytes; `Cancelled` on
        a stop."""


@dataclass(frozen=True)
class Found:
    """Outcome of a search.

    ``sets`` are the non-empty sets of units, each with the kind of its instance; None if no
    assignment was found. ``complete`` means that none exists; ``smallest`` is then a smallest set
    of units without an assignment.
    """

    sets: tuple[tuple[int, int], ...] | None
    complete: bool = False
    smallest: int = 0


def search_instances(
    units: int,
    configurations: Iterable[Counts],
    sms: Sequence[int],
    demand: Sequence[float],
    tests: SetTests,
    *,
    exact: int = MOST_EXACT,
) -> Found:
    """Divide units among GPU instances so that the test accepts each instance.

    Parameters
    ----------
    units
        Number of units, at least 1.
    configurations
        Numbers of instances by kind that are possible together; subsets of them are possible too.
    sms
        Number of SMs of an instance of each kind.
    demand
        Demand of each unit, which determines the order of placement in step 1.
    tests
        The test.
    exact
        Number of units up to which all assignments are tried.
    """
    maximal = sorted(set(configurations), key=lambda counts: (sum(counts), counts))
    for counts in maximal:
        if (sets := _greedy(units, counts, sms, demand, tests)) is not None:
            return Found(sets)
    if units > exact:
        return Found(None)
    return _exhausted(units, maximal, tests)


def _greedy(
    units: int, counts: Counts, sms: Sequence[int], demand: Sequence[float], tests: SetTests
) -> tuple[tuple[int, int], ...] | None:
    """Step 1: an assignment to these instances; None if it finds none."""
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    if len(kinds) == 1:
        every = (1 << units) - 1
        return ((kinds[0], every),) if tests.accepts(kinds[0], [every])[0] else None
    masks, loads = [0] * len(kinds), [0.0] * len(kinds)
    for unit in sorted(range(units), key=lambda i: -demand[i]):
        tests.spend()
        tried = set()
        for at in sorted(range(len(kinds)), key=lambda i: (loads[i] / sms[kinds[i]], i)):
            kind, mask = kinds[at], masks[at] | 1 << unit
            if (kind, mask) in tried:
                continue
            tried.add((kind, mask))
            if tests.accepts(kind, [mask])[0]:
                masks[at], loads[at] = mask, loads[at] + demand[unit]
                break
        else:
            return None
    return tuple((kind, mask) for kind, mask in zip(kinds, masks, strict=True) if mask)


def _exhausted(units: int, maximal: Sequence[Counts], tests: SetTests) -> Found:
    """Step 2: an assignment to the fewest instances, or the result that there is none."""
    wanted = _all_parts(maximal)
    size = 1 << units
    tests.spend(len(wanted) * size + (len(maximal[0]) + 4) * (units + 1) * size * 4)
    masks = list(range(1, size))
    accepted: list[Family] = []
    for kind in range(len(maximal[0])):
        accepted.append(np.array([True, *tests.accepts(kind, masks)], np.bool_))
    for unit in range(units):
        if not any(family.reshape(-1, 2, 1 << unit)[:, 1].any() for family in accepted):
            return Found(None, True, 1 << unit)  # in no accepted set
    transforms = Ranked(units)
    ranked = [transforms.zeta(family) for family in accepted]
    nothing = np.zeros(size, np.bool_)
    nothing[0] = True
    families: dict[Counts, Family] = {wanted[0]: nothing}
    for counts in wanted[1:]:
        tests.spend()
        kind = max(k for k, count in enumerate(counts) if count)
        before = families[_without(counts, kind)]
        families[counts] = transforms.joined(transforms.zeta(before), ranked[kind])
        if families[counts][-1]:
            return Found(_divided(counts, size - 1, families, accepted))
    every = np.logical_or.reduce([families[counts] for counts in maximal])
    missing = np.flatnonzero(~every)
    return Found(None, True, int(missing[np.argmin(transforms.sizes[missing])]))


def _divided(
    counts: Counts, mask: int, families: dict[Counts, Family], accepted: Sequence[Family]
) -> tuple[tuple[int, int], ...]:
    """A division of a set of units among instances that have one, step by step back."""
    sets: list[tuple[int, int]] = []
    while any(counts):
        kind = max(k for k, count in enumerate(counts) if count)
        counts = _without(counts, kind)
        part = mask
        while not (accepted[kind][part] and families[counts][mask ^ part]):
            part = (part - 1) & mask  # the next smaller part of the set
        if part:
            sets.append((kind, part))
        mask ^= part
    return tuple(reversed(sets))


def _all_parts(maximal: Iterable[Counts]) -> list[Counts]:
    """All parts of configurations, those with few instances first."""
    found: set[Counts] = set()
    stack = list(maximal)
    while stack:
        counts = stack.pop()
        if counts not in found:
            found.add(counts)
            stack += [_without(counts, kind) for kind, count in enumerate(counts) if count]
    return sorted(found, key=lambda counts: (sum(counts), counts))


def _without(counts: Counts, kind: int) -> Counts:
    return (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :])


class Ranked:
    """Transforms of families of sets of n units, ranked by the sizes of the sets.

    Numbers are computed modulo 2**32; the results that are used are below 2**n.

    >>> import numpy as np
    >>> ranked = Ranked(2)
    >>> singles = ranked.zeta(np.array([False, True, True, False]))
    >>> ranked.joined(singles, singles).tolist()
    [False, False, False, True]
    """

    def __init__(self, units: int) -> None:
        self.units = units
        masks = np.arange(1 << units)
        self.sizes: Int64Array = sum(
            (masks >> i & 1 for i in range(units)), np.zeros(1 << units, np.int64)
        )

    def zeta(self, family: Family) -> Numbers:
        """Number of sets of each size in every set: uint32 ``(n + 1, 2**n)``."""
        found = np.zeros((self.units + 1, len(family)), np.uint32)
        found[self.sizes, np.arange(len(family))] = family
        self._over_bits(found, np.add)
        return found

    def joined(self, one: Numbers, other: Numbers) -> Family:
        """Unions of disjoint sets of two families."""
        found = np.empty_like(one)
        for size in range(self.units + 1):
            found[size] = (one[: size + 1] * other[size::-1]).sum(axis=0, dtype=np.uint32)
        self._over_bits(found, np.subtract)
        counts: Family = found[self.sizes, np.arange(found.shape[1])] > 0
        return counts

    def _over_bits(self, values: Numbers, operation: Callable[..., Numbers]) -> None:
        for i in range(self.units):
            pairs = values.reshape(len(values), -1, 2, 1 << i)
            operation(pairs[:, :, 1], pairs[:, :, 0], out=pairs[:, :, 1])


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
