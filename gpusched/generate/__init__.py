"""Generators of random task sets, computed in C: ``count=N`` sets per call.

Set ``first + i`` of a seed does not depend on ``count`` or on the machine, so that a sweep can be
divided into chunks of any size. An int or a ``SeedSequence`` gives the same sets in every call; a
``Generator`` is advanced by each call; None uses a fresh seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import integer, spawn
from gpusched.generate.elliott_sets import elliott
from gpusched.generate.host_sets import gcaps, stgm
from gpusched.generate.kernel_sets import fifo, gpusched, uunifast, uunifast_discard

__all__ = [
    "elliott",
    "fifo",
    "gcaps",
    "gpusched",
    "rngs",
    "stgm",
    "uunifast",
    "uunifast_discard",
]


def rngs(seed: Any, first: int, count: int) -> list[np.random.Generator]:
    """Make a generator for each of the task sets ``first`` to ``first + count - 1`` of a seed.

    A set that is drawn with its own generator does not depend on the chunk in which it is drawn, as
    ``gs.sweep`` requires. A generator that draws for a whole chunk gives other sets in chunks of
    other sizes.

    >>> [int(one.integers(100)) for one in gs.generate.rngs(7, first=0, count=3)]
    [30, 68, 39]
    >>> [int(one.integers(100)) for one in gs.generate.rngs(7, first=1, count=2)]
    [68, 39]

    Parameters
    ----------
    seed
        An int or a ``SeedSequence``, such as the one that a sweep passes, which is not changed; a
        ``Generator``, which is advanced; or None for fresh entropy.
    first, count
        The first set, and the number of sets.

    Returns
    -------
    list of numpy.random.Generator
        Generators whose numbers are independent of each other. Making one takes about 10 us.

    Raises
    ------
    ValueError
        ``first``, ``count`` or ``seed`` is negative.
    TypeError
        An argument is of another type.
    """
    for name, value in (("first", first), ("count", count)):
        if integer(value, name) < 0:
            raise ValueError(f"{name}: got {value}, expected at least 0")
    root = spawn(seed)
    return [np.random.default_rng(spawn(root, number)) for number in range(first, first + count)]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
