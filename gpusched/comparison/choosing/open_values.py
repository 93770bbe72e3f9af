"""Values that a program may leave open: what they can be, how they change, how they are stated.

A value is a tuple of whole numbers (or of tuples), with which a search works; `applied` states it
in a workload and a platform.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations, product
from math import comb, factorial
from random import Random
from typing import Any

import numpy as np

from gpusched._support.text import clip
from gpusched.comparison.choosing.offset_choice import OffsetChoice
from gpusched.comparison.core_choice import assignments, count_of_assignments
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_runs import chosen_cores
from gpusched.comparison.placed_workloads import assigned
from gpusched.comparison.tasks_in_parts import PartForm, part_homes, shares_sms
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.gpus.gpu_presets import partition_unit, static_partition_unit
from gpusched.model.gpus.mps_shares import client_sms
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.workload.platforms import Platform, process_of_each
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

__all__ = ["OPEN", "OpenValue", "Value", "is_stated", "open_values", "why_settled"]

Value = tuple[Any, ...]

OPEN: dict[str, tuple[str, ...]] = {
    "one_stream": ("cores", "priorities", "offsets"),
    "streams": ("cores", "priorities", "offsets"),
    "priority_streams": ("levels", "cores", "priorities", "offsets"),
    "mps": ("sms", "cores", "priorities", "offsets"),
    "mps_static": ("sms", "cores", "priorities", "offsets"),
    "green_contexts": ("sms", "levels", "cores", "priorities", "offsets"),
    "time_slices": ("slices", "cores", "priorities", "offsets"),
    "gcaps": ("gpu_priorities", "cores", "priorities", "offsets"),
    "mpcp": ("cores", "priorities", "offsets"),
    "fmlp_plus": ("cores", "priorities", "offsets"),
    "gpu_server": ("cores", "priorities", "offsets"),
    "stgm": ("priorities", "offsets"),
    "mig": ("instances",),
    "edf_serial": ("cores", "priorities"),
    "edf_parallel": ("cores", "priorities"),
    "pbs": ("cores", "priorities"),
}
"""Kinds of values that can be chosen under each way of sharing the GPU.

Offsets are chosen under ways whose tests hold for all offsets.
"""

_ANY_CPU = "jobs run on any CPU, the earliest deadline first"
_DEADLINES = "jobs run in the order of their deadlines"
_SETTLED: dict[tuple[str, str], str] = {
    ("srm", ""): _ANY_CPU,
    ("container", ""): _ANY_CPU,
    ("time_slices", "processes"): "tasks are in the processes that they are given",
    ("gcaps", "processes"): "its test takes a process for each task, and no other division",
    ("edf_serial", "order"): _DEADLINES,
    ("edf_parallel", "order"): _DEADLINES,
    ("pbs", "order"): "its test is a search for the order of the batches",
    ("stgm", "cores"): "its test chooses cores and SMs together (gs.analysis.stgm_allocate)",
    ("stgm", "sms"): "its test chooses cores and SMs together (gs.analysis.stgm_allocate)",
}
"""Reasons why there is nothing to choose under a way, or no values of a kind."""

_EXACT_CORES = 10
_ORDERS = 200  # tests of a search over orders
_MOST_LEVELS = 6  # of a GPU, where the platform does not state them
_ON_PLATFORM = {"mps": "mps", "mps_static": "mps_partitions", "green_contexts": "green_contexts"}
_OF_TASK = {
    "levels": "stream_priority",
    "cores": "core",
    "priorities": "priority",
    "gpu_priorities": "gpu_priority",
}
_DIGITS = range(1, 10)


def why_settled(way: str, name: str = "") -> str:
    """Reason, behind a semicolon, why a way leaves a kind of values closed, or all; "" for none."""
    reason = _SETTLED.get((way, name))
    return "" if reason is None else f"; {reason}"


def is_stated(name: str, workload: Workload, platform: Platform, way: str) -> bool:
    """Whether a program states such values itself, or has none of them."""
    if name == "offsets":
        names = OffsetChoice(workload).names
        return not names or any(workload[one].offset for one in names)
    if name in _OF_TASK:
        return any(getattr(task, _OF_TASK[name]) is not None for task in workload)
    if name == "slices":
        costs = platform.at(workload.tick)
        return costs.context_switch == 0 or platform.replace(timeslice="2ms") != platform
    key = "mig" if name == "instances" else _ON_PLATFORM[way]
    return getattr(platform, key) is not None


def open_values(
    names: Sequence[str],
    models: DerivedModels,
    way: Way,
    answer: WorkloadAnswer | None,
    stop: Any = None,
) -> list[OpenValue]:
    """The values to be chosen, but for offsets, with those from which the search starts.

    These are the stated ones, or those of the answer for the program as it is. Priorities also
    start from those of Audsley's algorithm, or of a short search, where a test of tasks with cores
    has them.
    """
    made: dict[str, Any] = {"levels": _levels, "cores": _cores, "priorities": _priorities}
    made |= {"sms": _shares if way.name == "mps" else _parts, "instances": _instances}
    made |= {"slices": _slices, "gpu_priorities": _gpu_priorities}
    found: list[OpenValue] = [
        made[name](models, way.name, answer) for name in names if name != "offsets"
    ]
    if not way.placed:
        return found
    workload, platform = models.workload, models.platform
    for one in found:
        if isinstance(one, _Cores) and one.start is not None:
            workload, platform = one.applied(one.start, workload, platform)
    return [
        replace(one, found=_assigned(one, workload, platform, way, stop))
        if isinstance(one, _Priorities)
        else one
        for one in found
    ]


def _assigned(
    of: _Priorities, workload: Workload, platform: Platform, way: Way, stop: Any
) -> tuple[Value, ...]:
    """The priorities of ``gs.analysis.assign_priorities``, if there are any."""
    kind = "cpu" if of.name == "priorities" else "gpu"
    try:
        found, _ = assigned(workload, platform, way, of=kind, search=_ORDERS, stop=stop)
    except (ValueError, OverflowError):
        return ()
    ranks = found.hosts.priority if kind == "cpu" else found.gpu_priority
    if found.hosts.name != workload.names or ranks is None:
        return ()
    of_task = dict(zip(workload.names, ranks.tolist(), strict=True))
    return (_dense([of_task[name] for name in of.items]),)


class OpenValue(ABC):
    """A value to be chosen. ``start`` is None where the program has none to start from."""

    name: str
    start: Value | None

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Number of values; None if it exceeds a billion."""

    @abstractmethod
    def every(self) -> Iterator[Value]:
        """All values, in a fixed order."""

    @abstractmethod
    def guesses(self) -> list[Value]:
        """Values with which a search begins if there is no start."""

    @abstractmethod
    def moved(self, value: Value, item: str, random: Random) -> Value:
        """A value near another one, which differs for a task or process if it has a part in it."""

    @abstractmethod
    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        """The program with a value."""

    @abstractmethod
    def changes(self, value: Value) -> tuple[str, ...]:
        """Differences from the start, a phrase for each task, process or part."""

    def distance(self, value: Value) -> int:
        """Number of differences from the start."""
        return len(self.changes(value))

    @abstractmethod
    def nearer(self, value: Value) -> list[Value]:
        """Values with fewer differences from the start."""


@dataclass(frozen=True)
class _PerItem(OpenValue):
    """A number for each of several tasks or processes."""

    name: str
    start: Value | None
    items: tuple[str, ...]

    def guesses(self) -> list[Value]:
        return []

    def _index(self, item: str, random: Random) -> int:
        return self.items.index(item) if item in self.items else random.randrange(len(self.items))

    def _text(self, number: int) -> str:
        return str(number)

    def changes(self, value: Value) -> tuple[str, ...]:
        before = (None,) * len(value) if self.start is None else self.start
        what = {"cores": "core", "levels": "level", "priorities": "priority", "sms": "at most"}
        what["gpu_priorities"] = "GPU priority"
        return tuple(
            f"{clip(item, 60)}: {what[self.name]} {self._text(new)}"
            + ("" if old is None else f" instead of {self._text(old)}")
            for item, old, new in zip(self.items, before, value, strict=True)
            if old != new
        )

    def nearer(self, value: Value) -> list[Value]:
        if self.start is None:
            return []
        return [
            (*value[:i], old, *value[i + 1 :])
            for i, (old, new) in enumerate(zip(self.start, value, strict=True))
            if old != new
        ]


@dataclass(frozen=True)
class _Cores(_PerItem):
    """The core of each task; cores are not distinguished."""

    cpus: int

    @property
    def count(self) -> int | None:
        return count_of_assignments(len(self.items), self.cpus)

    def every(self) -> Iterator[Value]:
        for row in assignments(len(self.items), self.cpus).tolist():
            yield self._near_start(row)

    def _near_start(self, row: Sequence[int]) -> Value:
        """The same division, with the numbers of cores by which it differs least from the start.

        That is exact for a start on at most 10 cores.
        """
        start = row if self.start is None else self.start
        groups, known = list(dict.fromkeys(row)), sorted(set(start))
        same = Counter(zip(row, start, strict=True))
        # (cores taken) -> (tasks that keep theirs, their cores), group by group
        states: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {frozenset(): (0, ())}
        for group in groups:
            later: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
            for taken, (kept, cores) in states.items():
                fresh = [c for c in range(self.cpus) if c not in known and c not in taken][:1]
                for core in [c for c in known if c not in taken] + fresh:
                    found = (kept + same[group, core], (*cores, core))
                    key = taken | {core}
                    if key not in later or found[0] > later[key][0]:
                        later[key] = found
            if len(known) > _EXACT_CORES:
                best = max(later, key=lambda key: later[key][0])
                later = {best: later[best]}
            states = later
        _, cores = max(states.values(), key=lambda state: state[0])
        of = dict(zip(groups, cores, strict=True))
        return tuple(of[core] for core in row)

    def moved(self, value: Value, item: str, random: Random) -> Value:
        cores, i = list(value), self._index(item, random)
        others = [j for j, core in enumerate(cores) if core != cores[i]]
        if others and random.random() < 0.5:
            j = random.choice(others)
            cores[i], cores[j] = cores[j], cores[i]
        else:
            cores[i] = random.randrange(self.cpus)
        return self._near_start(cores)

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        return _with(workload, self.items, "core", value), platform


@dataclass(frozen=True)
class _Priorities(_PerItem):
    """The order of the tasks on CPUs, or on the GPU: 0 is the most urgent one."""

    found: tuple[Value, ...] = ()  # by an algorithm

    def guesses(self) -> list[Value]:
        return list(self.found)

    @property
    def count(self) -> int | None:
        return factorial(len(self.items)) if len(self.items) <= 12 else None

    def every(self) -> Iterator[Value]:
        yield from permutations(range(len(self.items)))

    def moved(self, value: Value, item: str, random: Random) -> Value:
        i, order = self._index(item, random), sorted(range(len(value)), key=value.__getitem__)
        order.remove(i)
        place = random.randrange(value[i] + 1) if random.random() < 0.7 else len(order)
        order.insert(min(place, random.randrange(len(value))), i)
        return tuple(np.argsort(order).tolist())

    def nearer(self, value: Value) -> list[Value]:
        found = []
        for i, old in enumerate(self.start or ()):
            if value[i] != old:  # exchanged with the task that has its priority
                row = list(value)
                row[row.index(old)], row[i] = row[i], old
                found.append(tuple(row))
        return found

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        return _with(workload, self.items, _OF_TASK[self.name], value), platform


@dataclass(frozen=True)
class _Levels(_PerItem):
    """The level of each stream: 0 is the most urgent one, and no level is without a stream."""

    most: int
    others: tuple[str, ...]  # tasks without GPU work

    @property
    def count(self) -> int | None:
        if len(self.items) > 10:
            return None
        groups = _group_counts(len(self.items))
        return sum(factorial(k) * groups[k] for k in range(1, min(self.most, len(groups) - 1) + 1))

    def every(self) -> Iterator[Value]:
        for used in range(1, min(self.most, len(self.items)) + 1):
            for row in product(range(used), repeat=len(self.items)):
                if len(set(row)) == used:
                    yield row

    def moved(self, value: Value, item: str, random: Random) -> Value:
        i = self._index(item, random)
        level = random.randrange(2 * max(value) + 3) - 1  # odd: one of its own between others
        row = [2 * number for number in value]
        row[i] = level if random.random() < 0.5 else min(level, row[i] - 1)
        found = _dense(row)
        return found if max(found) < self.most else value

    def nearer(self, value: Value) -> list[Value]:
        return [_dense(row) for row in super().nearer(value)]

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        workload = _with(workload, self.items, "stream_priority", value)
        return _with(workload, self.others, "stream_priority", (0,) * len(self.others)), platform


@dataclass(frozen=True)
class _Shares(_PerItem):
    """The most SMs of each client of MPS, of those that a percentage gives."""

    percent: dict[int, int]  # the least percentage of each number of SMs

    @property
    def count(self) -> int | None:
        found = len(self.percent) ** len(self.items)
        return found if found <= 10**9 else None

    def every(self) -> Iterator[Value]:
        yield from product(self.percent, repeat=len(self.items))

    def guesses(self) -> list[Value]:
        sms = list(self.percent)
        return [(sms[len(sms) * part // 4],) * len(self.items) for part in (1, 2, 3)]

    def moved(self, value: Value, item: str, random: Random) -> Value:
        sms, i = list(self.percent), self._index(item, random)
        at = sms.index(value[i])
        steps = (at + 1, at - 1, len(sms) - 1, random.randrange(len(sms)))
        to = min(max(random.choice(steps), 0), len(sms) - 1)
        return (*value[:i], sms[to], *value[i + 1 :])

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        shares = zip(self.items, value, strict=True)
        return workload, platform.replace(mps={name: self.percent[sms] for name, sms in shares})

    def _text(self, number: int) -> str:
        return f"{number} SMs ({self.percent[number]} %)"


@dataclass(frozen=True)
class _Parts(OpenValue):
    """Parts of the GPU with SMs of their own, and the part of each task or process.

    A value: the part of each; the number of units of each part; the part that has the SMs that
    are no whole unit, or -1. The last has them only if no other SM is left.
    """

    start: Value | None
    items: tuple[str, ...]
    key: str
    unit: int
    units: int
    rest: int
    shares: tuple[float, ...]  # of the GPU time of all
    name: str = "sms"

    @property
    def count(self) -> int | None:
        if len(self.items) > 20:
            return None
        groups = _group_counts(len(self.items))
        found = sum(groups[k] * self._sizes_count(k) for k in range(1, len(groups)))
        return found if found <= 10**9 else None

    def _sizes_count(self, parts: int) -> int:
        with_rest = parts * comb(self.units, parts - 1) if self.rest else 0
        return comb(self.units, parts) + with_rest

    def every(self) -> Iterator[Value]:
        most = min(len(self.items), self.units + bool(self.rest))
        for home in map(tuple, assignments(len(self.items), most).tolist()):
            parts = max(home) + 1
            for ends in combinations(range(1, self.units + 1), parts):
                sizes = tuple(b - a for a, b in pairwise((0, *ends)))
                yield home, sizes, -1
            if not self.rest:
                continue
            for inner in combinations(range(1, self.units + 1), parts - 1):
                ends = (0, *inner, self.units + 1)  # one more unit, of which ``rest`` has less
                sizes = tuple(b - a for a, b in pairwise(ends))
                for at in range(parts):
                    yield home, (*sizes[:at], sizes[at] - 1, *sizes[at + 1 :]), at

    def guesses(self) -> list[Value]:
        one: Value = ((0,) * len(self.items), (self.units,), 0 if self.rest else -1)
        found = [one] if self.units else []
        n = len(self.items)
        if 1 < n <= self.units:
            total = sum(self.shares) or 1.0
            sizes = [1] * n
            for _ in range(self.units - n):  # a unit to the one with the least SMs for its share
                least = max(range(n), key=lambda i: self.shares[i] / total / sizes[i])
                sizes[least] += 1
            rest = max(range(n), key=lambda i: self.shares[i]) if self.rest else -1
            found.append((tuple(range(n)), tuple(sizes), rest))
        return found

    def moved(self, value: Value, item: str, random: Random) -> Value:
        home, sizes, rest = list(value[0]), list(value[1]), value[2]
        i = self.items.index(item) if item in self.items else random.randrange(len(home))
        to = home[i]
        if random.random() < 0.4:  # another part, or one of its own
            to = random.randrange(len(sizes) + 1)
            if to == len(sizes):
                sizes.append(0)
            home[i] = to
        self._take_unit(sizes, to, random)
        used = sorted(set(home))
        home = [used.index(part) for part in home]
        kept = [sizes[part] for part in used]
        rest = used.index(rest) if rest in used else -1
        if self.rest and sum(kept) == self.units:
            rest = random.randrange(len(kept)) if rest < 0 or random.random() < 0.2 else rest
        else:
            rest = -1
        if any(size < 1 and part != rest for part, size in enumerate(kept)):
            return value
        return _numbered(tuple(home), tuple(kept), rest)

    def _take_unit(self, sizes: list[int], to: int, random: Random) -> None:
        """Give a part a unit that is free, or one of another part."""
        free = self.units - sum(sizes)
        donors = [part for part, size in enumerate(sizes) if part != to and size > 1]
        if free and (not donors or random.random() < 0.5):
            sizes[to] += 1 if random.random() < 0.5 else free
        elif donors:
            sizes[random.choice(donors)] -= 1
            sizes[to] += 1

    def _entries(self, value: Value) -> list[tuple[tuple[str, ...], int]]:
        home, sizes, rest = value
        return [
            (
                tuple(item for item, part in zip(self.items, home, strict=True) if part == at),
                size * self.unit + (self.rest if at == rest else 0),
            )
            for at, size in enumerate(sizes)
        ]

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        changed: Any = {self.key: self._entries(value)}
        return workload, platform.replace(**changed)

    def changes(self, value: Value) -> tuple[str, ...]:
        before = {} if self.start is None else dict(self._entries(self.start))
        return tuple(
            f"{clip(' + '.join(keys), 120)}: {sms} SMs"
            + (f" instead of {before[keys]}" if keys in before else " of their own")
            for keys, sms in self._entries(value)
            if before.get(keys) != sms
        )

    def nearer(self, value: Value) -> list[Value]:
        return [] if self.start is None or value == self.start else [self.start]


@dataclass(frozen=True)
class _Instances(OpenValue):
    """Profiles of the GPU instances (MIG)."""

    start: Value | None
    configurations: tuple[tuple[str, ...], ...]
    name: str = "instances"

    @property
    def count(self) -> int | None:
        return len(self.configurations)

    def every(self) -> Iterator[Value]:
        yield from self.configurations

    def guesses(self) -> list[Value]:
        return list(self.configurations[:1])

    def moved(self, value: Value, item: str, random: Random) -> Value:
        return random.choice(self.configurations)

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        return workload, platform.replace(mig=list(value))

    def changes(self, value: Value) -> tuple[str, ...]:
        if value == self.start:
            return ()
        before = "" if self.start is None else f" instead of {', '.join(self.start)}"
        return (f"GPU instances: {', '.join(value)}{before}",)

    def nearer(self, value: Value) -> list[Value]:
        return []


@dataclass(frozen=True)
class _Slices(OpenValue):
    """The length of time slices, in ticks; ``text`` has each with a unit."""

    start: Value | None
    text: dict[int, str]
    name: str = "slices"

    @property
    def count(self) -> int | None:
        return len(self.text)

    def every(self) -> Iterator[Value]:
        yield from ((ticks,) for ticks in self.text)

    def guesses(self) -> list[Value]:
        lengths = list(self.text)
        return [(lengths[len(lengths) // 2],)]

    def moved(self, value: Value, item: str, random: Random) -> Value:
        lengths = list(self.text)
        at = lengths.index(value[0])
        to = random.choice((at + 1, at - 1, random.randrange(len(lengths))))
        return (lengths[min(max(to, 0), len(lengths) - 1)],)

    def applied(
        self, value: Value, workload: Workload, platform: Platform
    ) -> tuple[Workload, Platform]:
        return workload, platform.replace(timeslice=value[0])

    def changes(self, value: Value) -> tuple[str, ...]:
        if value == self.start:
            return ()
        before = "" if self.start is None else f" instead of {self.text[self.start[0]]}"
        return (f"time slices: {self.text[value[0]]}{before}",)

    def nearer(self, value: Value) -> list[Value]:
        return [] if self.start is None or value == self.start else [self.start]


# Values of a program ------------------------------------------------------------------------------


def _cores(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    start = tuple(chosen_cores(models, way, answer))
    return _Cores("cores", start, models.workload.names, models.platform.cpus)


def _priorities(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    tasks = list(models.workload)
    given = [task.priority for task in tasks if task.priority is not None]
    urgency = given if len(given) == len(tasks) else [task.deadline for task in tasks]
    ranks = deadline_ranks(np.array(urgency, np.int64)).tolist()
    return _Priorities("priorities", tuple(ranks), models.workload.names)


def _gpu_priorities(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    users = tuple(task.name for task in models.gpu_users())
    if not users:
        raise ValueError("tasks: got none with GPU work, expected at least one for GPU priorities")
    given = models.gpu_priorities()
    if given is None:  # those of the CPUs
        given = list(_priorities(models, way, answer).start or ())
    of_task = dict(zip(models.workload.names, given, strict=True))
    start = deadline_ranks(np.array([of_task[name] for name in users], np.int64)).tolist()
    return _Priorities("gpu_priorities", tuple(start), users)


def _slices(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    """Lengths of one significant digit, from a switch of contexts to the longest deadline."""
    workload, platform = models.workload, models.platform
    shortest = platform.context_switch
    if shortest == 0:
        raise ValueError(
            "context_switch: got 0, expected the time of a switch (gs.Platform(context_switch=), "
            "--context-switch), which says how short a slice can be"
        )
    longest = max(task.deadline for task in workload)
    lengths = {
        digit * 10**power
        for power in range(len(str(longest)))
        for digit in _DIGITS
        if shortest <= digit * 10**power <= longest
    }
    try:
        start = platform.timeslice
    except ValueError:  # no whole number of ticks
        start = 0
    lengths |= {start} - {0}
    if not lengths:
        raise ValueError(
            f"context_switch: got {shortest}, expected less than the longest deadline, {longest}"
        )
    text = {ticks: time_with_unit(ticks, workload._tick) for ticks in sorted(lengths)}
    return _Slices((start,) if start else None, text)


def _levels(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    users = tuple(task.name for task in models.gpu_users())
    others = tuple(name for name in models.workload.names if name not in users)
    most = models.platform.priority_levels or _MOST_LEVELS
    streamed = models.workload
    if way == "priority_streams":
        streamed = models._streamed("priority_streams")[0]
    start = _dense([streamed[name].stream_priority or 0 for name in users])
    last = max(start, default=0) + 1  # as many levels as there are, joined in order
    start = start if last <= most else tuple(level * most // last for level in start)
    return _Levels("levels", start, users, most, others)


def _shares(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    gpu = models.gpu()
    unit, of_each = models.share_unit(gpu), process_of_each(models.workload)
    clients = tuple(dict.fromkeys(str(of_each[task.name]) for task in models.gpu_users()))
    percent: dict[int, int] = {}
    for share in range(1, 101):
        percent.setdefault(client_sms(share, gpu.sms, unit), share)
    stated = dict(models.platform.mps or ())
    start = tuple(client_sms(stated.get(name, 100), gpu.sms, unit) for name in clients)
    return _Shares("sms", start if all(sms in percent for sms in start) else None, clients, percent)


def _parts(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    gpu, platform, green = models.gpu(), models.platform, way == "green_contexts"
    together = platform.sm_coscheduling
    unit = partition_unit(gpu.cc, together=together) if green else static_partition_unit(gpu.cc)
    if not unit:
        raise ValueError(f"gpu: got {gpu.name or 'a GPU'}, which has no static partitions of MPS")
    if not green and gpu.sms < unit:
        raise ValueError(f"gpu: got {gpu.sms} SMs, expected {unit}, the least of a partition")
    users = [task for task in models.workload if task.kernels]
    if not users:
        raise ValueError("tasks: got none with kernels, expected at least one for parts of the GPU")
    of_each = process_of_each(models.workload)
    key_of = {task.name: task.name if green else str(of_each[task.name]) for task in users}
    items, load = tuple(dict.fromkeys(key_of.values())), dict.fromkeys(key_of.values(), 0.0)
    for task, row in zip(models.workload, models.workload.kernel_times(platform), strict=True):
        if task.name in key_of:
            time = sum(
                of.time * part.repeat
                for part, of in zip(task.segments, row, strict=True)
                if of is not None
            )
            load[key_of[task.name]] += time / task.period
    units, rest = divmod(gpu.sms, unit)
    made = _Parts(
        None,
        items,
        _ON_PLATFORM[way],
        unit,
        units,
        rest if green else 0,
        tuple(load.values()),
    )
    form: PartForm = "green_contexts" if green else "mps_static"
    found = part_homes(models.workload, platform, form)
    if found is None:
        return made
    entries, home = found
    if not all(name in home for name in key_of) or shares_sms(entries, gpu):
        return made
    at = {key: home[name] for name, key in key_of.items()}
    sms = [part if isinstance(part, int) else len(part) for _, part in entries]
    used = sorted(set(at.values()))
    odd = [used.index(part) for part in used if sms[part] % unit]
    start = _numbered(
        tuple(used.index(at[item]) for item in items),
        tuple(sms[part] // unit for part in used),
        odd[0] if odd else -1,
    )
    return replace(made, start=start)


def _instances(models: DerivedModels, way: str, answer: WorkloadAnswer | None) -> OpenValue:
    rows = [
        tuple(sorted(one.profile.name for one in row)) for row in models.gpu().mig_configurations()
    ]
    stated = models.platform.mig
    start = None if stated is None else tuple(sorted(stated))
    return _Instances(start, tuple(dict.fromkeys(rows)))


def _with(workload: Workload, names: Sequence[str], key: str, values: Sequence[int]) -> Workload:
    """The workload with a fact of some tasks."""
    of = dict(zip(names, values, strict=True))
    tasks: list[Any] = [
        task.replace(**{key: of[task.name]}) if task.name in of else task  # type: ignore[arg-type]
        for task in workload
    ]
    return workload.replace(tasks=tasks)


def _dense(row: Sequence[int]) -> Value:
    """The numbers 0, 1, ... in the order of others."""
    rank = {number: i for i, number in enumerate(sorted(set(row)))}
    return tuple(rank[number] for number in row)


def _numbered(home: tuple[int, ...], sizes: tuple[int, ...], rest: int) -> Value:
    """A value of parts that are numbered by their first items."""
    order = list(dict.fromkeys(home))
    at = -1 if rest < 0 else order.index(rest)
    return tuple(order.index(part) for part in home), tuple(sizes[part] for part in order), at


def _group_counts(items: int) -> list[int]:
    """Number of divisions of items into 0, 1, ..., ``items`` groups."""
    groups = [1, *[0] * items]
    for _ in range(items):
        groups = [0, *(j * groups[j] + groups[j - 1] for j in range(1, items + 1))]
    return groups
