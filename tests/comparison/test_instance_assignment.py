"""The search for GPU instances against brute force, on random verdicts."""

from __future__ import annotations

import doctest
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import gpusched as gs
from gpusched.comparison.instances import allocation_search
from gpusched.comparison.instances.allocation_search import (
    Found,
    Ranked,
    _all_parts,
    _exhausted,
    search_instances,
)

pytestmark = pytest.mark.python


class Verdicts:
    """A table of verdicts, by kind and set; the empty set is none of them."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def accepts(self, kind: int, masks: Sequence[int]) -> list[bool]:
        assert all(masks)
        return [bool(self.table[kind, mask]) for mask in masks]

    def spend(self, memory: int = 0) -> None:
        pass


def divides(units: int, counts: tuple[int, ...], table: np.ndarray, whole: int) -> bool:
    """Whether a set can be divided, by trying all assignments."""
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    members = [i for i in range(units) if whole >> i & 1]
    for places in itertools.product(range(len(kinds)), repeat=len(members)):
        masks = [0] * len(kinds)
        for unit, at in zip(members, places, strict=True):
            masks[at] |= 1 << unit
        if all(not m or table[kind, m] for kind, m in zip(kinds, masks, strict=True)):
            return True
    return False


def check(found: Found, units: int, configurations: list, table: np.ndarray) -> bool:
    whole = (1 << units) - 1
    possible = any(divides(units, counts, table, whole) for counts in configurations)
    assert (found.sets is not None) == possible == (not found.complete)
    if found.sets is None:
        size = found.smallest.bit_count()
        for mask in range(1, whole + 1):  # none smaller lacks a division
            some = any(divides(units, counts, table, mask) for counts in configurations)
            assert some if mask.bit_count() < size else not some or mask != found.smallest
        return False
    assert all(table[kind, mask] for kind, mask in found.sets)
    masks = [mask for _, mask in found.sets]
    assert sum(masks) == whole and all(masks)  # disjoint, as the sum is the union
    assert np.bitwise_or.reduce(masks) == whole
    used = [sum(kind == k for kind, _ in found.sets) for k in range(len(configurations[0]))]
    assert any(
        all(n <= most for n, most in zip(used, counts, strict=True)) for counts in configurations
    )
    return True


def test_random_verdicts() -> None:
    rng = np.random.default_rng(5)
    configurations = [(1, 1, 0), (0, 2, 1), (2, 0, 0)]
    outcomes = []
    for _ in range(400):
        units = int(rng.integers(1, 5))
        table = rng.random((3, 1 << units)) < rng.random() * 0.5
        demand = rng.random(units).tolist()
        tests = Verdicts(table)
        found = search_instances(units, configurations, [1, 2, 3], demand, tests)
        outcomes.append(check(found, units, configurations, table))
        assert (
            check(_exhausted(units, configurations, tests), units, configurations, table)
            == (outcomes[-1])
        )
    assert 50 < sum(outcomes) < 350


def test_verdicts_need_not_be_monotone() -> None:
    """The pair is accepted, its members are not: only the whole search finds it."""
    table = np.zeros((1, 8), bool)
    table[0, [0b011, 0b100]] = True
    found = search_instances(3, [(2,)], [1], [1.0, 1.0, 1.0], Verdicts(table))
    assert found.sets is not None and {mask for _, mask in found.sets} == {0b011, 0b100}


def test_many_units_are_not_exhausted() -> None:
    class Nothing(Verdicts):
        def accepts(self, kind: int, masks: Sequence[int]) -> list[bool]:
            return [False] * len(masks)

    units = allocation_search.MOST_EXACT + 1
    found = search_instances(units, [(2,)], [1], [1.0] * units, Nothing(np.zeros((1, 1))))
    assert found == Found(None)


@pytest.mark.parametrize("units", [1, 2, 5])
def test_unions_of_disjoint_sets(units: int) -> None:
    rng = np.random.default_rng(units)
    ranked = Ranked(units)
    for _ in range(50):
        one, other = rng.random((2, 1 << units)) < rng.random()
        expected = np.zeros(1 << units, bool)
        for a, b in itertools.product(np.flatnonzero(one), np.flatnonzero(other)):
            if not a & b:
                expected[a | b] = True
        joined = ranked.joined(ranked.zeta(one), ranked.zeta(other))
        assert np.array_equal(joined, expected)


def test_parts_of_configurations() -> None:
    rows = gs.GPU.preset("A30").mig_configurations()
    names = [profile.name for profile in gs.GPU.preset("A30").mig_profiles()]
    counts = {tuple(sum(one.profile.name == n for one in row) for n in names) for row in rows}
    assert _all_parts(counts)[0] == (0, 0, 0)
    assert set(_all_parts(counts)) == {
        few
        for few in itertools.product(range(5), range(3), range(2))
        if any(all(a <= b for a, b in zip(few, row, strict=True)) for row in counts)
    }


def test_examples() -> None:
    assert doctest.testmod(allocation_search).failed == 0
