"""Platform of the hierarchy simulator: copy engines, GPCs, and what is assumed where unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched.model.gpu import GPU
from gpusched.model.gpus.copy_engines import copy_engines_of, engine_directions
from gpusched.model.gpus.gpu_fields import gpcs_of
from gpusched.model.launch_columns import KERNEL
from gpusched.model.launches import Launches

Engines = int | Sequence[str] | None
GpcSizes = int | Sequence[int] | None

DIRECTION_NUMBERS = {"in": 1, "out": 2, "both": 3}
"""The core's numbers of the directions of a copy engine."""

_PORTABLE_CLUSTER = 8  # blocks, and SMs of a GPC where that is unknown
_USUAL_CHANNELS = 8


def directions_of(given: Any, gpu: GPU) -> tuple[str, ...]:
    """The direction of each copy engine; those of the GPU for None."""
    engines = gpu.copy_engines if given is None else copy_engines_of(given, complete=False)
    if given is not None and engines == 0:
        raise ValueError("copy_engines: got 0, expected a positive number")
    return engine_directions(engines) or ("both",)


def gpc_sizes(given: Any, gpu: GPU, launches: Launches) -> tuple[int, ...] | None:
    """SMs of each GPC; None if they are unknown and do not matter to the launches.

    Unknown GPCs have 8 SMs for launches with clusters.
    """
    known = gpu.sms_per_gpc if given is None else gpcs_of(given, gpu.sms)
    if known is None:
        _refuse_unknown_gpcs(launches)
        return _equal(_PORTABLE_CLUSTER, gpu.sms) if (launches.cluster > 1).any() else None
    return _equal(known, gpu.sms) if isinstance(known, int) else known


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
    differ = (launches.kind == KERNEL) & (factors[:, 1] != factors[:, 2])
    for i in np.flatnonzero(differ)[:1].tolist():
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
    copies = launches.kind != KERNEL
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
