"""Platform of the hierarchy simulator: copy engines, GPCs, and what is assumed where unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched._support.arguments import integer, is_sequence, one_of
from gpusched._support.text import shown
from gpusched.model.gpu import GPU
from gpusched.model.launches import Launches

CopyEngines = int | Sequence[str] | None
GpcSizes = int | Sequence[int] | None

DIRECTIONS = {"in": 1, "out": 2, "both": 3}
"""Directions of a copy engine, by the core's numbers."""

_PORTABLE_CLUSTER = 8  # blocks, and SMs of a GPC where that is unknown
_USUAL_CHANNELS = 8


def engine_directions(given: Any, gpu: GPU) -> tuple[str, ...]:
    """The direction of each copy engine; those of the GPU for None."""
    known: Any = (gpu.copy_engines or 1) if given is None else given
    if is_sequence(known):
        found = tuple(known)
        for e, direction in enumerate(found):
            one_of(direction, DIRECTIONS, f"copy_engines[{e}]")
        return tuple(str(direction) for direction in found)
    if isinstance(known, str):
        raise TypeError(
            f"copy_engines: got {shown(known)}, expected a number, or a sequence of "
            f"{', '.join(DIRECTIONS)}"
        )
    count = integer(known, "copy_engines")
    if count < 1:
        raise ValueError(f"copy_engines: got {shown(count)}, expected a positive number")
    return ("both",) if count == 1 else ("in", "out")


def gpc_sizes(given: Any, gpu: GPU, launches: Launches) -> tuple[int, ...] | None:
    """SMs of each GPC; None if they are unknown and do not matter to the launches.

    Unknown GPCs have 8 SMs for launches with clusters.
    """
    known: Any = gpu.sms_per_gpc if given is None else given
    if known is None:
        _refuse_unknown_gpcs(launches)
        return _equal(_PORTABLE_CLUSTER, gpu.sms) if (launches.cluster > 1).any() else None
    if not is_sequence(known):
        size = integer(known, "sms_per_gpc")
        if size < 1:
            raise ValueError(f"sms_per_gpc: got {shown(size)}, expected 1 or more")
        return _equal(size, gpu.sms)
    sizes = tuple(integer(size, f"sms_per_gpc[{g}]") for g, size in enumerate(known))
    for g, size in enumerate(sizes):
        if size < 1:
            raise ValueError(f"sms_per_gpc[{g}]: got {shown(size)}, expected 1 or more")
    if sum(sizes) != gpu.sms:
        raise ValueError(
            f"sms_per_gpc: got {shown(sizes)}, {shown(sum(sizes))} in all, expected {gpu.sms} in "
            "all, the SMs of the GPU"
        )
    return sizes


def _equal(size: int, sms: int) -> tuple[int, ...]:
    """GPCs of one size; the last one has the remaining SMs."""
    return tuple(min(size, sms - first) for first in range(0, sms, size))


def _refuse_unknown_gpcs(launches: Launches) -> None:
    """Refuse launches whose run depends on the GPCs, if these are unknown."""
    for i in np.flatnonzero(launches.cluster > _PORTABLE_CLUSTER)[:1].tolist():
        raise ValueError(
            f"cluster[{i}]: got {launches.cluster[i]}, expected at most {_PORTABLE_CLUSTER}, as "
            "the GPCs of the GPU are unknown (sms_per_gpc gives them)"
        )
    factors = launches.interference
    if factors is None:
        return
    for i in np.flatnonzero((launches.kind == 0) & (factors[:, 1] != factors[:, 2]))[:1].tolist():
        one, other = factors[i, 1:3].tolist()
        raise ValueError(
            "sms_per_gpc: got None, expected the SMs of a GPC, or of each: the GPCs of the GPU "
            f"are unknown, and interference[{i}] differs between SMs of one GPC and of others "
            f"({one / 1000:g}, {other / 1000:g})"
        )


def assumptions(
    launches: Launches,
    gpu: GPU,
    *,
    copy_engines: Any,
    sms_per_gpc: Any,
    channels: Any,
    shared_channels: bool,
) -> tuple[str, ...]:
    """Sentences on what is assumed for what neither the arguments nor the GPU say."""
    said = []
    copies = launches.kind > 0
    several = len({*launches.kind[copies].tolist()}) > 1 or len({*launches.stream[copies]}) > 1
    if copy_engines is None and gpu.copy_engines is None and several:
        said.append("the copy engines of the GPU are unknown: one serves both directions")
    if sms_per_gpc is None and gpu.sms_per_gpc is None and (launches.cluster > 1).any():
        said.append(f"the GPCs of the GPU are unknown: they have {_PORTABLE_CLUSTER} SMs each")
    homes = launches.stream_context if shared_channels else launches.stream_partition
    most = int(np.bincount(homes).max())
    if channels is None and gpu.channels is None and most > _USUAL_CHANNELS:
        said.append(
            f"the channels of the GPU are unknown: no limit on channels is assumed for {most} "
            "streams"
        )
    return tuple(said)
