"""Chunks of a study: ranges of the task sets of a point, with their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpusched.study.accumulators import Arrays, State

__all__ = ["Chunk", "Definition"]

Definition = Mapping[str, Any]
"""All that determines the results of a study, by names, of values that JSON holds."""


class Chunk(NamedTuple):
    """Results of the task sets ``first`` .. ``first + size - 1`` of the point with the key.

    ``machine`` is the digest of the machine's description, ``ended`` the time at the end of the
    call in seconds since 1970; they are records alone.
    """

    point: str
    first: int
    size: int
    state: State
    arrays: Arrays | None
    machine: str = ""
    ended: float = 0.0
