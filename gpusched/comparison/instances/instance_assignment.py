"""Search for an assignment of units to GPU instances in which each instance is accepted.

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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array

__all__ = ["MOST_EXACT", "Found", "SetTests", "search_instances"]

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
    wanted = _parts(maximal)
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


def _parts(maximal: Iterable[Counts]) -> list[Counts]:
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
