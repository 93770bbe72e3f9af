"""Limits, allocation units and carve-outs of an SM, by compute capability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from gpusched._support.text import shown

__all__ = [
    "KB",
    "Capability",
    "SMLimits",
    "allocation_units",
    "as_capability",
    "block_memory_of",
    "carveouts_of",
    "is_amd",
    "limits_of",
    "partition_unit",
    "regs_per_block_of",
    "resident_grids_of",
]

KB = 1024

Capability = str | float | tuple[int, int]
"""A compute capability: ``"8.0"``, ``8.0`` or ``(8, 0)``."""


@dataclass(frozen=True)
class SMLimits:
    """Limits of one SM of a compute capability, with the largest carve-out for shared memory:
    threads, blocks, shared memory in bytes, and shared memory in bytes that one block may
    opt in to."""

    threads_per_sm: int
    blocks_per_sm: int
    smem_per_sm: int
    smem_per_block: int


# Threads and blocks per SM; kilobytes of shared memory per SM, and per block with opt-in.
_CAPABILITIES = {
    (5, 0): (2048, 32, 64, 48),
    (5, 2): (2048, 32, 96, 48),
    (5, 3): (2048, 32, 64, 48),
    (6, 0): (2048, 32, 64, 48),
    (6, 1): (2048, 32, 96, 48),
    (6, 2): (2048, 32, 64, 48),
    (7, 0): (2048, 32, 96, 96),
    (7, 2): (2048, 32, 96, 96),
    (7, 5): (1024, 16, 64, 64),
    (8, 0): (2048, 32, 164, 163),
    (8, 6): (1536, 16, 100, 99),
    (8, 7): (1536, 16, 164, 163),
    (8, 9): (1536, 24, 100, 99),
    (9, 0): (2048, 32, 228, 227),
    (10, 0): (2048, 32, 228, 227),
    (10, 3): (2048, 32, 228, 227),
    (11, 0): (1536, 24, 228, 227),
    (12, 0): (1536, 24, 100, 99),
    (12, 1): (1536, 24, 100, 99),
}

# Kilobytes of an SM that can be shared memory, by compute capability from 7.0 on: CUDA Programming
# Guide, "Shared Memory Capacity per Compute Capability" (7.0 and 7.2: its edition of CUDA 12).
_VOLTA, _AMPERE = (0, 8, 16, 32, 64, 96), (0, 8, 16, 32, 64, 100, 132, 164)
_CARVEOUTS = {
    (7, 0): _VOLTA,
    (7, 2): _VOLTA,
    (7, 5): (32, 64),
    (8, 0): _AMPERE,
    (8, 6): _AMPERE[:6],
    (8, 7): _AMPERE,
    (8, 9): _AMPERE[:6],
    (9, 0): (*_AMPERE, 196, 228),
    (10, 0): (*_AMPERE, 196, 228),
    (10, 3): (*_AMPERE, 196, 228),
    (11, 0): (*_AMPERE, 196, 228),
    (12, 0): _AMPERE[:6],
    (12, 1): _AMPERE[:6],
}


# Kernels that run at once: CUDA C++ Programming Guide, technical specifications per compute
# capability, "Maximum number of resident grids per device (Concurrent Kernel Execution)" (before
# 7.5: its edition of CUDA 12, and 3.x of CUDA 11). It is 128 for all later ones.
_RESIDENT_GRIDS = {
    (3, 0): 16,
    (3, 2): 4,
    (3, 5): 32,
    (3, 7): 32,
    (5, 0): 32,
    (5, 2): 32,
    (5, 3): 16,
    (6, 0): 128,
    (6, 1): 32,
    (6, 2): 16,
    (7, 0): 128,
    (7, 2): 16,
}
_MOST_GRIDS = 128
_TEGRA = (11, 0)  # Thor; earlier ones are of 7.2 and 8.7


def limits_of(cc: Capability) -> SMLimits:
    """Look up the limits of an SM of a compute capability: ``(8, 6)``, ``"8.6"`` or ``8.6``.

    Raises ValueError for a compute capability that is not known.

    >>> limits_of("8.6").threads_per_sm
    1536
    """
    capability = as_capability(cc)
    if capability not in _CAPABILITIES:
        known = ", ".join("{}.{}".format(*key) for key in _CAPABILITIES)
        raise ValueError(f"cc: got {shown(cc)}, expected one of {known}")
    threads, blocks, per_sm, per_block = _CAPABILITIES[capability]
    return SMLimits(threads, blocks, per_sm * KB, per_block * KB)


def as_capability(cc: Any) -> tuple[int, int] | None:
    """A compute capability as a pair, None for None; ValueError for anything else."""
    if cc is None:
        return None
    try:
        major, minor = str(cc).split(".") if isinstance(cc, (str, float)) else map(index, cc)
        capability = int(major), int(minor)
    except (TypeError, ValueError):
        capability = 0, 0
    if not 1 <= capability[0] <= 999 or not 0 <= capability[1] <= 9:
        raise ValueError(f"cc: got {shown(cc)}, expected a pair such as '8.0' or (8, 0)")
    return capability


def allocation_units(cc: tuple[int, int] | None) -> tuple[int, int, int]:
    """Reserved shared memory, its unit of allocation, register files per SM."""
    reserved, unit = (1024, 128) if cc is not None and cc[0] >= 8 else (0, 256)
    return reserved, unit, 2 if cc == (6, 0) else 4


def partition_unit(cc: tuple[int, int] | None, *, together: bool = True) -> int:
    """Unit of the number of SMs of a green context.

    CUDA programming guide, "Green Contexts": 8 SMs from compute capability 9.0 on, except on Tegra
    (11.0), otherwise 2. ``together`` False: with the flag that ignores the co-scheduling of SMs,
    which allows 2 everywhere. 1 if the compute capability is unknown or before 7.0.
    """
    if cc is None or cc[0] <= 6:
        return 1
    return 8 if together and cc[0] >= 9 and cc != _TEGRA else 2


def static_partition_unit(cc: tuple[int, int] | None) -> int:
    """SMs of a chunk, of which static partitions of MPS consist; 0 where there are none.

    NVIDIA Multi-Process Service guide, static SM partitioning: from Ampere on, chunks of 4 SMs, of
    8 from Hopper on, and of 2 on integrated GPUs (8.7, 11.0). 1 if the compute capability is
    unknown.
    """
    if cc is None:
        return 1
    if cc < (8, 0):
        return 0
    if cc in ((8, 7), _TEGRA):
        return 2
    return 8 if cc >= (9, 0) else 4


def block_memory_of(cc: tuple[int, int] | None) -> int | None:
    """Bytes of shared memory that one block may opt in to; None if unknown."""
    return _CAPABILITIES[cc][3] * KB if cc in _CAPABILITIES else None


def resident_grids_of(cc: tuple[int, int] | None) -> int:
    """Kernels that a GPU runs at once; that of today's GPUs where the capability is not known."""
    return _MOST_GRIDS if cc is None else _RESIDENT_GRIDS.get(cc, _MOST_GRIDS)


def regs_per_block_of(cc: tuple[int, int] | None) -> int | None:
    """Registers of a block where these are fewer than those of an SM; None elsewhere.

    CUDA C++ Programming Guide, technical specifications per compute capability: "Maximum number of
    32-bit registers per thread block".
    """
    return 32768 if cc in ((5, 3), (6, 2)) else None


def carveouts_of(cc: tuple[int, int] | None) -> tuple[int, ...]:
    """Possible carve-outs in bytes, ascending; empty if unknown."""
    return () if cc is None else tuple(size * KB for size in _CARVEOUTS.get(cc, ()))


def is_amd(properties: Mapping[str, Any]) -> bool:
    """True for device properties written by ROCm: warps of 64 threads, or a field of HIP."""
    return properties.get("warpSize") == 64 or "maxSharedMemoryPerMultiProcessor" in properties
