"""All choices of cores by counting through every one, cores that are renumbered counted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product


def all_choices(items: int, cpus: int) -> set[tuple[int, ...]]:
    """Every choice of a core for each item, with cores numbered by their first items."""
    found = set()
    for cores in product(range(cpus), repeat=items):
        names: list[int] = []
        for core in cores:
            if core not in names:
                names.append(core)
        found.add(tuple(names.index(core) for core in cores))
    return found


def any_accepted(items: int, cpus: int, accepts: Callable[[Sequence[int]], bool]) -> bool:
    """Whether a test, asked for one choice after the other, accepts any."""
    return any(accepts(cores) for cores in product(range(cpus), repeat=items))
