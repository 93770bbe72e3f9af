"""Choices of a program, one by one: each is analysed and its margin computed (for `gs.choose`)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import lcm
from typing import Any

import gpusched as gs
from gpusched.model.gpus.mps_shares import client_sms

Program = tuple[gs.Workload, gs.Platform]


def choices(w: gs.Workload, p: gs.Platform, way: str, what: list[str]) -> Iterator[Program]:
    """All programs with other values; some are the same but for the numbers of cores or parts."""
    programs = [(w, p)]
    for kind in what:
        programs = [new for one in programs for new in _with(kind, way, *one)]
    yield from programs


def _with(kind: str, way: str, w: gs.Workload, p: gs.Platform) -> Iterator[Program]:
    n = len(w)
    if kind == "cores":
        for cores in product(range(p.cpus), repeat=n):
            yield _tasks(w, "core", cores), p
    elif kind == "priorities":
        for ranks in permutations(range(n)):
            yield _tasks(w, "priority", ranks), p
    elif kind == "gpu_priorities":
        users = [task.name for task in w if any(not isinstance(x, gs.CPU) for x in task.segments)]
        for ranks in permutations(range(len(users))):
            of = dict(zip(users, ranks, strict=True))
            yield w.replace(tasks=[t.replace(gpu_priority=of.get(t.name)) for t in w]), p
    elif kind == "slices":
        longest = max(task.deadline for task in w)
        for ticks in range(p.context_switch, longest + 1):
            if len(str(ticks).rstrip("0")) == 1:
                yield w, p.replace(timeslice=ticks)
        yield w, p
    elif kind == "levels":
        for levels in product(range(n), repeat=n):
            if set(levels) != set(range(max(levels) + 1)):
                continue
            yield _tasks(w, "stream_priority", levels), p
    elif kind == "offsets":
        yield from ((one, p) for one in with_offsets(w))
    elif way == "mps":
        assert p.gpu is not None
        counts = {client_sms(share, p.gpu.sms): share for share in range(100, 0, -1)}
        for shares in product(counts.values(), repeat=n):
            yield w, p.replace(mps=dict(zip(w.names, shares, strict=True)))
    else:
        key = "mps_partitions" if way == "mps_static" else "green_contexts"
        for home in product(range(n), repeat=n):
            if list(dict.fromkeys(home)) != sorted(set(home)):
                continue  # the same parts in another order
            groups = [[w.names[i] for i in range(n) if home[i] == g] for g in sorted(set(home))]
            assert p.gpu is not None
            for sizes in product(range(1, p.gpu.sms + 1), repeat=len(groups)):
                parts: Any = {key: list(zip(groups, sizes, strict=True))}
                try:
                    yield w, p.replace(**parts)
                except ValueError:  # sizes that no such GPU has
                    continue


def with_offsets(w: gs.Workload) -> Iterator[gs.Workload]:
    """All offsets of the sources of paths with given phases, on whole ticks."""
    source: dict[str, str] = {}
    while len(source) < len(w):
        for task in w:
            if not task.after:
                source[task.name] = task.name
            elif task.after[0] in source:
                source[task.name] = source[task.after[0]]
    cycle: dict[str, int] = {}
    for path in w.paths:
        for one, two in pairwise((*path.tasks, path.tasks[-1])):
            if path.phases == "given" and one not in w[two].after:  # the last one of a leg
                cycle[source[one]] = lcm(cycle.get(source[one], 1), w[one].period)
    for offsets in product(*(range(most) for most in cycle.values())):
        of = dict(zip(cycle, offsets, strict=True))
        yield w.replace(tasks=[t.replace(offset=of[t.name]) if t.name in of else t for t in w])


def _tasks(w: gs.Workload, key: str, values: tuple[int, ...]) -> gs.Workload:
    tasks = [task.replace(**{key: one}) for task, one in zip(w, values, strict=True)]
    return w.replace(tasks=tasks)


def score(program: Program, way: str) -> tuple[int, Fraction]:
    """2 for guaranteed, 1 for conditional, 0 for neither; and the largest factor of times."""
    try:
        answer = gs.analyze(*program, way)
    except gs.NotApplicable:
        return -1, Fraction(0)
    if not (answer.accepted or answer.conditional):
        return 0, Fraction(0)
    return 1 + answer.accepted, gs.margin(*program, way).factor or Fraction(0)


def longest(program: Program, way: str) -> Fraction | None:
    """The largest share of a deadline that the bound of a path is; None without a guarantee."""
    answer = gs.analyze(*program, way)
    if not answer.accepted:
        return None
    return max(Fraction(p.bound, p.path.deadline) for p in answer.paths if p.path.deadline)


def best(w: gs.Workload, p: gs.Platform, way: str, what: list[str]) -> tuple[int, Fraction]:
    """The best score of all choices."""
    return max(score(program, way) for program in choices(w, p, way, what))
