"""GPUs by name; to add one, add a row here."""

from __future__ import annotations

import re
from typing import Any

from gpusched._support.text import shown
from gpusched.model.gpus.capabilities import KB, limits_of

__all__ = ["PRESET_NAMES", "fields_of_preset", "preset_fields", "preset_of_name"]

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
