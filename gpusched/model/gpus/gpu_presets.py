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
# Copy engines: asyncEngines of Nsight Systems' TARGET_INFO_GPU (T4, A100, H100), deviceQuery (Orin
# NX); 1 where neither was seen. Channels: Bakita and Anderson (RTAS 2024), who give 8 for desktop
# and data-centre GPUs unless CUDA_DEVICE_MAX_CONNECTIONS changes it, 2 for Xavier, 4 for Orin.
#
# SMs of a GPC: those of a whole GPC of the chip, from NVIDIA's architecture white papers (GV100: 6
# GPCs of 7 TPCs; TU102: 6 of 6; GA100: 8 of 8; GA102: 7 of 6; AD102: 12 of 6; GH100: 8 of 9; a TPC
# has 2 SMs). The GPUs have fewer SMs than the chips, so some of their GPCs are smaller.
_DESKTOP: dict[str, Any] = {"channels": 8}
_GV100, _TU102, _GA100 = ({"sms_per_gpc": sms} for sms in (14, 12, 16))
_GA102, _AD102, _GH100 = ({"sms_per_gpc": sms} for sms in (12, 12, 18))
_ORIN: dict[str, Any] = {"channels": 4}
_PRESETS: dict[str, tuple[int, tuple[int, int], dict[str, Any]]] = {
    "TX1": (2, (5, 3), {}),
    "TX2": (2, (6, 2), {}),
    "Xavier": (8, (7, 2), {"channels": 2}),
    "AGX Orin": (16, (8, 7), _ORIN),
    "Orin NX": (8, (8, 7), _ORIN | {"copy_engines": 2}),  # deviceQuery, 1,024 cores
    "Orin Nano": (8, (8, 7), _ORIN),  # 1,024 cores, of 128 per SM
    "Thor": (20, (11, 0), {}),
    "Pegasus": (44, (7, 5), {}),
    "Pascal 5 SM": (5, (6, 1), _DESKTOP | {"sm_order": "ascending"}),
    "GTX 970": (13, (5, 2), _DESKTOP | {"copy_engines": 2}),
    "Titan V": (80, (7, 0), _DESKTOP | _GV100),  # the full V100's SMs: 5,120 cores, of 64 per SM
    "RTX 2080": (46, (7, 5), _DESKTOP),
    "RTX 2080 Ti": (68, (7, 5), _DESKTOP | _TU102),
    "RTX 3060": (28, (8, 6), _DESKTOP),  # 3,584 cores, of 128 per SM as in all of cc 8.6 and 8.9
    "RTX 3070": (46, (8, 6), _DESKTOP),  # announcement: 5,888 cores, 46 SMs
    "RTX 3080": (68, (8, 6), _DESKTOP),  # announcement: 8,704 cores (the one with 10 GB)
    "RTX 3090": (82, (8, 6), _DESKTOP | _GA102),  # announcement: 10,496 cores, 82 SMs
    "RTX A6000": (84, (8, 6), _DESKTOP | _GA102),  # data sheet: 10,752 cores, 84 RT cores
    "RTX 4070": (46, (8, 9), _DESKTOP),  # announcement: 5,888 cores
    "RTX 4080": (76, (8, 9), _DESKTOP),  # announcement: 9,728 cores
    "RTX 4090": (128, (8, 9), _DESKTOP | _AD102),
    "RTX 6000 Ada Generation": (142, (8, 9), _DESKTOP | _AD102),  # data sheet: 142 RT cores
    "RTX 5090": (170, (12, 0), _DESKTOP),
    "T4": (40, (7, 5), _DESKTOP | {"copy_engines": 3}),  # deviceQuery
    "A10": (72, (8, 6), _DESKTOP),  # data sheet: 72 RT cores, one per SM
    "A10G": (80, (8, 6), _DESKTOP),  # 10,240 cores
    "A40": (84, (8, 6), _DESKTOP | _GA102),  # data sheet: 10,752 cores, 84 RT cores
    "L4": (58, (8, 9), _DESKTOP),  # 7,424 cores
    "L40": (142, (8, 9), _DESKTOP | _AD102),  # data sheet: 18,176 cores, 142 RT cores
    "L40S": (142, (8, 9), _DESKTOP | _AD102),  # data sheet: 18,176 cores, 142 RT cores
    "V100": (80, (7, 0), _DESKTOP | _GV100),
    "A100": (108, (8, 0), _DESKTOP | _GA100 | {"copy_engines": 5}),
    # nvidia-smi mig -lgip: 4g.24gb, the whole GPU, has 56 SMs
    "A30": (56, (8, 0), _DESKTOP | _GA100),
    "H100": (132, (9, 0), _DESKTOP | _GH100 | {"copy_engines": 3}),
    "H100 PCIe": (114, (9, 0), _DESKTOP | _GH100),  # data sheet: 114 SMs
    "H200": (132, (9, 0), _DESKTOP | _GH100),
    "GH200": (132, (9, 0), _DESKTOP | _GH100),  # the GPU of an H100 SXM
    "B200": (148, (10, 0), _DESKTOP),
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

# Words around a preset's name, in a name without punctuation, and words for its memory and form
# factor. An H100 PCIe has fewer SMs, so PCIe is removed last.
_AROUND = re.compile(r"^(nvidia|geforce|tesla|quadro|jetson|drive|agx)+|sxm.*$")
_MEMORY = re.compile(r"\b(\d+ ?gb|hbm\d+e?|nvl)\b")
_FORM = re.compile(r"\bpcie\b")

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
                f"name: got {shown(name)}, expected a GPU of NVIDIA (AMD GPUs are not supported)"
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
    """Fields that a trace lacks, from the preset of this name, if it describes the same GPU."""
    fields = preset_of_name(name, sms, *cc)
    kept = ("copy_engines", "channels", "sms_per_gpc", "sm_order")
    return {key: fields[key] for key in kept if key in fields}


def _spellings(name: str) -> tuple[str, str, str]:
    """A name as the driver gives it, without its memory, and without its form."""
    shorter = _MEMORY.sub("", name.lower())
    return _plain(name), _plain(shorter), _plain(_FORM.sub("", shorter))


def _plain(name: str) -> str:
    """A name without case, punctuation, brand and module form."""
    return _AROUND.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))
