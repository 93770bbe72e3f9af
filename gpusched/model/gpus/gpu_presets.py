"""GPUs by name (to add one, add a row here), their DLAs, and limits by compute capability."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from gpusched._support.text import shown

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


# Name: SMs, compute capability, and what is special. The SM orders were observed on Xavier,
# RTX 2080 Ti and RTX 4090 (evens then odds), on a Pascal GPU of 5 SMs (ascending) and on the K5000
# (descending); for the others evens then odds is an assumption, which a probe can replace.
#
# Copy engines: asyncEngineCount, as deviceQuery listings and Nsight Systems' TARGET_INFO_GPU show
# it under Linux. The driver reports it, and not every driver the same: V100 was seen with 2, 4, 5
# and 7 as well, A100 with 3, GH200 with 3, Thor with 1 and 2. A count that a device reports wins.
# Unknown (not stated here) where no listing was seen.
#
# Channels: Bakita and Anderson (RTAS 2024), who give 8 for desktop and data-centre GPUs unless
# CUDA_DEVICE_MAX_CONNECTIONS changes it, 2 for Xavier, 4 for Orin.
#
# SMs of a GPC: a number is that of a whole GPC of the chip, from NVIDIA's architecture white papers
# (GV100: 6 GPCs of 7 TPCs; TU102: 6 of 6; GA100: 8 of 8; GA102: 7 of 6; AD102: 12 of 6; a TPC has 2
# SMs); the GPUs have fewer SMs than the chips, so some of their GPCs are smaller. Lists: of H100
# SXM (132 SMs in 8 GPCs of up to 18) 15 clusters of 8 blocks were seen at once at one block per SM,
# and MIG gives seven instances of 16 SMs: one GPC has fewer than 16 SMs, and this is the most even
# of the four lists that fit (chips differ). The list of GB200 is the only one of up to nine even
# sizes that holds the clusters of 3 to 8 blocks that were seen (46, 36, 28, 23, 15). That of B200
# is the most even one with seven GPCs of 18 or more, as its MIG instances need; clusters of 16 fit
# each list that does. Xavier: the pairs of SMs of [RTAS20].
_DESKTOP: dict[str, Any] = {"channels": 8}
_GV100, _TU102, _GA100 = ({"sms_per_gpc": sms} for sms in (14, 12, 16))
_GA102, _AD102 = ({"sms_per_gpc": sms} for sms in (12, 12))
_H100: dict[str, Any] = {"sms_per_gpc": (18, 18, 18, 16, 16, 16, 16, 14)}
_B200: dict[str, Any] = {"sms_per_gpc": (20, 20, 18, 18, 18, 18, 18, 18)}
_GB200: dict[str, Any] = {"sms_per_gpc": (20, 20, 20, 20, 20, 18, 18, 14, 2)}
_ORIN: dict[str, Any] = {"channels": 4}
_ONE, _TWO, _THREE = ({"copy_engines": count} for count in (1, 2, 3))
_PRESETS: dict[str, tuple[int, tuple[int, int], dict[str, Any]]] = {
    "TX1": (2, (5, 3), _ONE),  # listing of the Nano, the same chip
    "TX2": (2, (6, 2), _ONE),
    "Xavier": (8, (7, 2), _ONE | {"channels": 2, "sms_per_gpc": 2}),
    "AGX Orin": (16, (8, 7), _ORIN | _TWO),
    "Orin NX": (8, (8, 7), _ORIN | _TWO),  # 1,024 cores
    "Orin Nano": (8, (8, 7), _ORIN),  # 1,024 cores, of 128 per SM
    "Thor": (20, (11, 0), {}),
    "Pegasus": (44, (7, 5), {}),
    "Pascal 5 SM": (5, (6, 1), _DESKTOP | {"sm_order": "ascending"}),
    "GTX 970": (13, (5, 2), _DESKTOP | _TWO),
    # the full V100's SMs: 5,120 cores, of 64 per SM
    "Titan V": (80, (7, 0), _DESKTOP | _GV100 | {"copy_engines": 7}),
    "RTX 2080": (46, (7, 5), _DESKTOP),
    "RTX 2080 Ti": (68, (7, 5), _DESKTOP | _TU102 | _THREE),
    # 3,584 cores, of 128 per SM as in all of cc 8.6 and 8.9
    "RTX 3060": (28, (8, 6), _DESKTOP | _TWO),
    "RTX 3070": (46, (8, 6), _DESKTOP | _TWO),  # announcement: 5,888 cores, 46 SMs
    "RTX 3080": (68, (8, 6), _DESKTOP),  # announcement: 8,704 cores (the one with 10 GB)
    # announcement: 10,496 cores, 82 SMs
    "RTX 3090": (82, (8, 6), _DESKTOP | _GA102 | _TWO),
    "RTX A6000": (84, (8, 6), _DESKTOP | _GA102),  # data sheet: 10,752 cores, 84 RT cores
    "RTX 4070": (46, (8, 9), _DESKTOP),  # announcement: 5,888 cores
    "RTX 4080": (76, (8, 9), _DESKTOP),  # announcement: 9,728 cores
    "RTX 4090": (128, (8, 9), _DESKTOP | _AD102 | _TWO),
    "RTX 6000 Ada Generation": (142, (8, 9), _DESKTOP | _AD102),  # data sheet: 142 RT cores
    "RTX 5090": (170, (12, 0), _DESKTOP | _TWO),
    "RTX PRO 6000": (188, (12, 0), _DESKTOP),  # white paper: 94 TPCs in 12 GPCs
    "T4": (40, (7, 5), _DESKTOP | _THREE),
    "A10": (72, (8, 6), _DESKTOP),  # data sheet: 72 RT cores, one per SM
    "A10G": (80, (8, 6), _DESKTOP),  # 10,240 cores
    "A40": (84, (8, 6), _DESKTOP | _GA102),  # data sheet: 10,752 cores, 84 RT cores
    "L4": (58, (8, 9), _DESKTOP | _TWO),  # 7,424 cores
    "L40": (142, (8, 9), _DESKTOP | _AD102),  # data sheet: 18,176 cores, 142 RT cores
    "L40S": (142, (8, 9), _DESKTOP | _AD102 | _TWO),  # data sheet: 18,176 cores, 142 RT cores
    "V100": (80, (7, 0), _DESKTOP | _GV100 | {"copy_engines": 6}),
    "A100": (108, (8, 0), _DESKTOP | _GA100 | {"copy_engines": 5}),
    # nvidia-smi mig -lgip: 4g.24gb, the whole GPU, has 56 SMs
    "A30": (56, (8, 0), _DESKTOP | _GA100),
    "H100": (132, (9, 0), _DESKTOP | _H100 | _THREE),
    "H100 PCIe": (114, (9, 0), _DESKTOP),  # data sheet: 114 SMs
    "H100 NVL": (132, (9, 0), _DESKTOP),  # nvidia-smi mig -lgip: 7g.94gb has 132 SMs
    "H200": (132, (9, 0), _DESKTOP | _H100 | _THREE),
    "H20": (78, (9, 0), _DESKTOP),
    "GH200": (132, (9, 0), _DESKTOP | _H100 | _TWO),  # the GPU of an H100 SXM
    "B200": (148, (10, 0), _DESKTOP | _B200),
    "GB200": (152, (10, 0), _DESKTOP | _GB200),
}

# Presets whose limits no table entry gives.
_SPECIAL: dict[str, dict[str, Any]] = {
    "K5000": {
        "sms": 8,
        "threads_per_sm": 2048,
        "blocks_per_sm": 16,
        "smem_per_sm": 48 * KB,
        "cc": (3, 0),
        "sm_order": "descending",
    },
    # The GPUSched paper, section 6.1.
    "pbs2024": {"sms": 8, "threads_per_sm": 1024, "blocks_per_sm": 32},
    # Yang and Anderson 2017's m = 4,096 threads, as on its TX2.
    "threads4096": {"sms": 2, "threads_per_sm": 2048, "blocks_per_sm": 32},
}

# Words around a preset's name, in a name without punctuation, and words for its memory, and for its
# form and edition. An H100 PCIe has fewer SMs, so these are removed last.
_AROUND = re.compile(r"^(nvidia|geforce|tesla|quadro|jetson|drive|agx)+|sxm.*$")
_MEMORY = re.compile(r"\b(\d+ ?gb?|hbm\d+e?)\b")
_FORM = re.compile(r"\b(pcie|nvl|blackwell|(server|(max-q )?workstation) edition)\b")

_AMD = re.compile(r"(amd|instinct|radeon)|mi\d")

PRESET_NAMES = (*_PRESETS, *_SPECIAL)
"""Names of all presets."""


def preset_fields(name: str) -> dict[str, Any]:
    """The arguments of ``GPU`` for a name; ValueError for an unknown one, with similar ones."""
    if not isinstance(name, str):
        raise TypeError(f"name: got {type(name).__name__}, expected a string")
    known = {_plain(label): label for label in PRESET_NAMES}
    label = next((known[text] for text in _spellings(name) if text in known), None)
    if label is None:
        if _AMD.match(_plain(name)):
            raise ValueError(
                f"name: got {shown(name)}, expected a GPU of NVIDIA (AMD GPUs are not supported: "
                "their traces are read, and workloads made of them, without a GPU; a GPU with "
                "limits of your own is gs.GPU(...))"
            )
        import difflib

        near = difflib.get_close_matches(_plain(name), known, n=4, cutoff=0.5)
        labels = [known[key] for key in near] or PRESET_NAMES
        hint = "a preset such as" if near else "one of"
        raise ValueError(f"name: got {shown(name)}, expected {hint} {', '.join(labels)}")
    if label in _SPECIAL:
        return {"name": label, **_SPECIAL[label]}
    sms, cc, more = _PRESETS[label]
    limits = limits_of(cc)
    return {
        "name": label,
        "sms": sms,
        "threads_per_sm": limits.threads_per_sm,
        "blocks_per_sm": limits.blocks_per_sm,
        "smem_per_sm": limits.smem_per_sm,
        "smem_per_block": limits.smem_per_block,
        "cc": cc,
        **more,
    }


def preset_of_name(
    name: str, sms: int | None, major: int | None, minor: int | None
) -> dict[str, Any]:
    """The arguments of ``GPU`` for the preset of a name; {} without one that has these SMs and this
    compute capability, each None if unknown."""
    try:
        fields = preset_fields(name)
    except ValueError:
        return {}
    if "cc" not in fields:
        return {}
    pairs = zip((sms, major, minor), (fields["sms"], *fields["cc"]), strict=True)
    return fields if all(given in (None, known) for given, known in pairs) else {}


def fields_of_preset(name: str, sms: int, cc: tuple[int, int]) -> dict[str, Any]:
    """Fields that a device or a trace lacks, from the preset of this name, if it is the same GPU.

    A GPU instance ("NVIDIA H100 80GB HBM3 MIG 1g.10gb") has the channels of its GPU.
    """
    of_gpu, _, profile = name.partition(" MIG ")
    if profile:
        fields = preset_of_name(of_gpu, None, *cc)
        return {"channels": fields["channels"]} if "channels" in fields else {}
    fields = preset_of_name(name, sms, *cc)
    kept = ("copy_engines", "channels", "sms_per_gpc", "sm_order", "resident_grids")
    return {key: fields[key] for key in kept if key in fields}


def _spellings(name: str) -> tuple[str, str, str]:
    """A name as the driver gives it, without its memory, and without its form."""
    shorter = _MEMORY.sub("", name.lower())
    return _plain(name), _plain(shorter), _plain(_FORM.sub("", shorter))


def _plain(name: str) -> str:
    """A name without case, punctuation, brand and module form."""
    return _AROUND.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))


MOST_DLAS = 4
"""Most DLAs beside a GPU."""

# NVIDIA's data sheets of the modules; Orin NX with 16 GB (with 8 GB: one).
_DLAS = {"Xavier": 2, "AGX Orin": 2, "Orin NX": 2}


def dlas_of_gpu(name: str) -> int:
    """The number of DLAs beside a preset; `MOST_DLAS` for other GPUs, of which it is not known.

    >>> from gpusched.model.gpus.gpu_presets import dlas_of_gpu
    >>> dlas_of_gpu("AGX Orin"), dlas_of_gpu("A100"), dlas_of_gpu("a board of mine")
    (2, 0, 4)
    """
    return _DLAS.get(name, 0 if name in PRESET_NAMES else MOST_DLAS)
