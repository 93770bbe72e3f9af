"""Generators of random task sets, computed in C: ``count=N`` sets per call.

Set ``first + i`` of a seed does not depend on ``count`` or on the machine, so that a sweep can be
divided into chunks of any size. An int or a ``SeedSequence`` gives the same sets in every call; a
``Generator`` is advanced by each call; None uses a fresh seed.
"""

from __future__ import annotations

from gpusched.generate.elliott_sets import elliott
from gpusched.generate.fifo_sets import fifo
from gpusched.generate.gcaps_sets import gcaps
from gpusched.generate.host_sets import stgm
from gpusched.generate.kernel_sets import gpusched, uunifast, uunifast_discard
from gpusched.generate.set_generators import rngs

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


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
