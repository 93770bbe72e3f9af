"""Random task sets, drawn in C: ``count=N`` sets in one call.

Set ``first + i`` of a seed is the same whatever the count, so that a sweep may cut its sets into
chunks as it likes; the same on every machine, too. An int or a ``SeedSequence`` names the same
sets in every call, a ``Generator`` is advanced by each call, and None draws a fresh seed.
"""

from __future__ import annotations

from gpusched.generate.elliott_sets import elliott
from gpusched.generate.fifo_sets import fifo
from gpusched.generate.host_sets import stgm
from gpusched.generate.kernel_sets import gpusched, uunifast, uunifast_discard

__all__ = [
    "elliott",
    "fifo",
    "gpusched",
    "stgm",
    "uunifast",
    "uunifast_discard",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows
