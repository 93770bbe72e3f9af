"""GPUs: their limits, and how many blocks of a kernel one of their SMs holds.

Olmedo et al. 2020, section III-C and Table I; the allocation units are those of the CUDA toolkit's
occupancy arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Any, ClassVar, Literal, overload

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, frozen, int_array
from gpusched._support.saved import Saved

KB = 1024
WARP_THREADS = 32
MAX_SMS = 65536

_INT32_MAX = 2**31 - 1

# What stops one more block, by the core's number of it.
_LIMIT_NAMES = ("warps", "blocks", "registers", "shared memory", "threads")


@dataclass(frozen=True)
class SMLimits:
    """What one SM of a compute capability holds at most, with the largest carve-out for shared
    memory: threads, blocks, shared memory in bytes, and shared memory in bytes that one block may
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

# Name: SMs, compute capability, and what is special. The SM orders were observed on Xavier,
# RTX 2080 Ti and RTX 4090 (evens then odds), on a Pascal GPU of 5 SMs (ascending) and on the K5000
# (descending); for the others evens then odds is an assumption, which a probe can replace.
_PRESETS: dict[str, tuple[int, tuple[int, int], dict[str, Any]]] = {
    "TX1": (2, (5, 3), {}),
    "TX2": (2, (6, 2), {}),
    "Xavier": (8, (7, 2), {}),
    "AGX Orin": (16, (8, 7), {}),
    "Thor": (20, (11, 0), {}),
    "Pegasus": (44, (7, 5), {}),
    "Pascal 5 SM": (5, (6, 1), {"sm_order": "ascending"}),
    "GTX 970": (13, (5, 2), {"copy_engines": 2}),
    "RTX 2080": (46, (7, 5), {}),
    "RTX 2080 Ti": (68, (7, 5), {}),
    "RTX 4090": (128, (8, 9), {}),
    "RTX 5090": (170, (12, 0), {}),
    "V100": (80, (7, 0), {}),
    "A100": (108, (8, 0), {}),
    "H100": (132, (9, 0), {}),
    "H200": (132, (9, 0), {}),
    "B200": (148, (10, 0), {}),
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

# What may stand around a preset's name. An H100 PCIe has fewer SMs, so PCIe stays.
_AROUND = re.compile(r"^(nvidia|geforce|tesla|quadro|jetson|drive|agx)+|sxm.*$")


def limits_of(cc: Any) -> SMLimits:
    """The limits of an SM of a compute capability, a ``(major, minor)`` tuple or ``"8.6"``.

    Raises ValueError for a compute capability that is not known.
    """
    capability = _capability(cc)
    if capability not in _CAPABILITIES:
        known = ", ".join("{}.{}".format(*key) for key in _CAPABILITIES)
        raise ValueError(f"cc = {cc!r}: is not known; known: {known}")
    threads, blocks, per_sm, per_block = _CAPABILITIES[capability]
    return SMLimits(threads, blocks, per_sm * KB, per_block * KB)


@dataclass(frozen=True, eq=False, repr=False)
class GPU(Saved):
    """The limits of one GPU; all its SMs are alike.

    Parameters
    ----------
    sms
        Streaming multiprocessors, at most 65,536.
    threads_per_sm, blocks_per_sm
        Threads and blocks resident on an SM at once. Threads count in warps of 32: a rest below
        one warp is of no use.
    regs_per_sm
        32-bit registers of an SM.
    smem_per_sm
        Shared memory of an SM in bytes.
    cc
        Compute capability: ``"8.0"``, ``8.0``, ``(8, 0)`` or None (unknown); stored as a tuple or
        None. The units of allocation follow from it: shared memory is given in units of 256 bytes
        up to cc 7 and of 128 bytes from cc 8 on, where 1,024 bytes of each block's share are the
        system's; registers are given to a warp in units of 256, from one of 4 register files
        (2 on cc 6.0). With None the units are 256 bytes and 256 registers, there are 4 register
        files, and nothing is reserved.
    sm_order
        The order in which the block scheduler prefers SMs that are equal otherwise: None or
        ``"evens_then_odds"``, ``"ascending"``, ``"descending"``, or the SM ids in that order.
        Stored as a read-only int64 array of shape ``(sms,)``.
    smem_per_block
        The most shared memory in bytes that one block may ask for (with opt-in), without the
        system's part. Unless given, what the compute capability allows, or what an SM has.
    copy_engines
        Copies that run at the same time.
    name
        A label.

    Two GPUs are equal when all these fields are.

    Raises
    ------
    ValueError, OverflowError, TypeError
        For what is no such limit; the message names the field.
    """

    _KIND: ClassVar[str] = "GPU"

    sms: int
    threads_per_sm: int
    blocks_per_sm: int
    regs_per_sm: int
    smem_per_sm: int
    cc: tuple[int, int] | None
    sm_order: Int64Array
    smem_per_block: int
    copy_engines: int
    name: str

    def __init__(
        self,
        sms: int,
        threads_per_sm: int,
        blocks_per_sm: int,
        regs_per_sm: int = 65536,
        smem_per_sm: int = 65536,
        cc: Any = None,
        sm_order: Any = None,
        smem_per_block: int | None = None,
        copy_engines: int = 1,
        name: str = "",
    ) -> None:
        values: dict[str, Any] = {
            "sms": _count(sms, "sms", 1, MAX_SMS),
            "threads_per_sm": _count(threads_per_sm, "threads_per_sm", WARP_THREADS),
            "blocks_per_sm": _count(blocks_per_sm, "blocks_per_sm", 1),
            "regs_per_sm": _count(regs_per_sm, "regs_per_sm", 0),
            "smem_per_sm": _count(smem_per_sm, "smem_per_sm", 0),
            "cc": _capability(cc),
            "copy_engines": _count(copy_engines, "copy_engines", 0),
        }
        values["sm_order"] = _order(sm_order, values["sms"])
        available = max(values["smem_per_sm"] - _units(values["cc"])[0], 0)
        if smem_per_block is None:
            known = _CAPABILITIES.get(values["cc"])
            values["smem_per_block"] = min(available, known[3] * KB) if known else available
        else:
            most = _count(smem_per_block, "smem_per_block", 0)
            if most > values["smem_per_sm"]:
                raise ValueError(
                    f"smem_per_block = {most}: is more than smem_per_sm = {values['smem_per_sm']}"
                )
            values["smem_per_block"] = most
        if not isinstance(name, str):
            raise TypeError(f"name: must be a string, got {type(name).__name__}")
        values["name"] = name
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def warps_per_sm(self) -> int:
        """Whole warps of 32 threads resident on an SM at once (mw in Olmedo et al. 2020)."""
        return self.threads_per_sm // WARP_THREADS

    @staticmethod
    def preset(name: str) -> GPU:
        """The GPU of this name, such as ``"Xavier"``, ``"A100"`` or ``"pbs2024"``.

        Case, spaces and punctuation do not matter, nor does the brand before the name
        (``"NVIDIA GeForce RTX 2080 Ti"`` is ``"rtx2080ti"``). Raises ValueError for an unknown
        name and lists those that come near; see :meth:`presets`.
        """
        if not isinstance(name, str):
            raise TypeError(f"name: must be a string, got {type(name).__name__}")
        known = {_plain(label): label for label in GPU.presets()}
        label = known.get(_plain(name))
        if label is None:
            import difflib

            near = difflib.get_close_matches(_plain(name), known, n=4, cutoff=0.5)
            shown = [known[key] for key in near] or GPU.presets()
            hint = "near ones" if near else "known"
            raise ValueError(f"{name[:60]!r} is no preset; {hint}: {', '.join(shown)}")
        if label in _SPECIAL:
            return GPU(name=label, **_SPECIAL[label])
        sms, cc, more = _PRESETS[label]
        limits = limits_of(cc)
        return GPU(
            sms=sms,
            threads_per_sm=limits.threads_per_sm,
            blocks_per_sm=limits.blocks_per_sm,
            smem_per_sm=limits.smem_per_sm,
            smem_per_block=limits.smem_per_block,
            cc=cc,
            name=label,
            **more,
        )

    @staticmethod
    def presets() -> tuple[str, ...]:
        """The names that :meth:`preset` knows."""
        return (*_PRESETS, *_SPECIAL)

    @staticmethod
    def from_properties(properties: Mapping[str, Any]) -> GPU:
        """The GPU that an entry of ``deviceProperties`` in a PyTorch profiler trace describes.

        The blocks per SM, which such entries lack, come from the compute capability. Raises
        ValueError that names missing fields, or when the compute capability is unknown.
        """
        named = {
            "sms": "numSms",
            "threads_per_sm": "maxThreadsPerMultiprocessor",
            "regs_per_sm": "regsPerMultiprocessor",
            "smem_per_sm": "sharedMemPerMultiprocessor",
            "smem_per_block": "sharedMemPerBlockOptin",
        }
        if not isinstance(properties, Mapping):
            raise TypeError(f"properties: must be a mapping, got {type(properties).__name__}")
        needed = (*named.values(), "computeMajor", "computeMinor")
        if missing := [key for key in needed if key not in properties]:
            raise ValueError(f"deviceProperties: lacks {', '.join(missing)}")
        values = {ours: _count(properties[theirs], theirs, 0) for ours, theirs in named.items()}
        cc = tuple(_count(properties[key], key, 0) for key in ("computeMajor", "computeMinor"))
        return GPU(
            **values,
            blocks_per_sm=limits_of(cc).blocks_per_sm,
            cc=cc,
            name=str(properties.get("name", "")),
        )

    @property
    def _limits(self) -> Int64Array:
        """The core's description of this GPU: the fields of gs_gpu_t."""
        reserved, smem_unit, partitions = _units(self.cc)
        return np.array(
            [
                self.sms,
                self.warps_per_sm,
                self.blocks_per_sm,
                self.regs_per_sm,
                self.smem_per_sm,
                self.smem_per_block,
                reserved,
                smem_unit,
                256,
                partitions,
            ],
            dtype=np.int64,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GPU):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        values = self._values()
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f.name) for f in fields(self))

    def __reduce__(self) -> Any:
        return (GPU, self._values())

    def __repr__(self) -> str:
        shown = [
            f"sms={self.sms}",
            f"threads_per_sm={self.threads_per_sm}",
            f"blocks_per_sm={self.blocks_per_sm}",
            f"regs_per_sm={self.regs_per_sm}",
            f"smem_per_sm={self.smem_per_sm}",
        ]
        if self.cc is not None:
            shown.append(f"cc={self.cc}")
        if (order := _order_name(self.sm_order)) != "evens_then_odds":
            ids = ", ".join(map(str, self.sm_order[:20].tolist()))
            dots = ", ..." if self.sms > 20 else ""
            shown.append(f"sm_order={order!r}" if order else f"sm_order=[{ids}{dots}]")
        shown.append(f"smem_per_block={self.smem_per_block}")
        if self.copy_engines != 1:
            shown.append(f"copy_engines={self.copy_engines}")
        if self.name:
            shown.append(f"name={self.name[:60]!r}")
        return f"GPU({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = {
            "SMs": f"{self.sms:,}",
            "threads per SM": f"{self.threads_per_sm:,} ({self.warps_per_sm:,} warps)",
            "blocks per SM": f"{self.blocks_per_sm:,}",
            "registers per SM": f"{self.regs_per_sm:,}",
            "shared memory per SM": f"{self.smem_per_sm:,} bytes",
            "shared memory per block": f"{self.smem_per_block:,} bytes",
            "compute capability": "unknown" if self.cc is None else "{}.{}".format(*self.cc),
            "SM order": (_order_name(self.sm_order) or "its own").replace("_", " "),
            "copy engines": str(self.copy_engines),
        }
        body = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in rows.items())
        from html import escape

        caption = f"<caption>{escape(self.name[:60])}</caption>" if self.name else ""
        return f"<table>{caption}{body}</table>"


@overload
def occupancy(
    gpu: GPU | str, threads: Any, regs: Any = 0, smem: Any = 0, *, detail: Literal[False] = False
) -> Any: ...


@overload
def occupancy(
    gpu: GPU | str, threads: Any, regs: Any = 0, smem: Any = 0, *, detail: Literal[True]
) -> tuple[Any, Any]: ...


def occupancy(
    gpu: GPU | str, threads: Any, regs: Any = 0, smem: Any = 0, *, detail: bool = False
) -> Any:
    """How many blocks of a kernel are resident on one SM at once.

    Source: Olmedo et al. 2020, Equation 1, with the toolkit's allocation units (see :class:`GPU`).

    Parameters
    ----------
    gpu
        A ``GPU``, or the name of a preset.
    threads
        Threads per block. A block of more than 1,024 threads fits no SM.
    regs
        Registers per thread; 0: they do not matter.
    smem
        Shared memory per block in bytes, static and dynamic.
    detail
        Also tell the limiting resource.

    Returns
    -------
    int or int64 array
        An int when threads, regs and smem are scalars, else an array of their common shape; 0
        where a block fits no SM.
    str or array of str
        With ``detail``, a second value: ``"warps"``, ``"blocks"``, ``"registers"`` or
        ``"shared memory"``, the first of them among equals, or ``"threads"`` for a block of more
        than 1,024 threads.

    Raises
    ------
    ValueError
        Non-positive threads, negative registers or shared memory, fractions, or shapes that do
        not fit each other.
    """
    device = as_gpu(gpu)
    columns = kernel_columns(threads=threads, regs=regs, smem=smem)
    shape = columns[0].shape
    blocks, limit = _core.occupancy(device._limits, *(column.ravel() for column in columns))
    if not shape:
        return (int(blocks[0]), _LIMIT_NAMES[limit[0]]) if detail else int(blocks[0])
    blocks = blocks.reshape(shape)
    return (blocks, np.array(_LIMIT_NAMES)[limit].reshape(shape)) if detail else blocks


def as_gpu(gpu: Any) -> GPU:
    """A GPU itself, or the preset of this name; a ``TypeError`` for anything else."""
    device = GPU.preset(gpu) if isinstance(gpu, str) else gpu
    if not isinstance(device, GPU):
        raise TypeError(f"gpu: must be a GPU or the name of a preset, not {type(gpu).__name__}")
    return device


def kernel_columns(**given: Any) -> list[Int64Array]:
    """What describes kernels, checked and brought to one shape."""
    arrays = {key: int_array(value, key) for key, value in given.items()}
    for key, array in arrays.items():
        at_least(array, 0 if key in ("regs", "smem") else 1, key)
    try:
        return [array.copy() for array in np.broadcast_arrays(*arrays.values())]
    except ValueError:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise ValueError(f"shapes do not fit each other: {shapes}") from None


def _plain(name: str) -> str:
    """A name without case, punctuation, brand and module form."""
    return _AROUND.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))


def _units(cc: tuple[int, int] | None) -> tuple[int, int, int]:
    """Reserved shared memory, its unit of allocation, register files per SM."""
    reserved, unit = (1024, 128) if cc is not None and cc[0] >= 8 else (0, 256)
    return reserved, unit, 2 if cc == (6, 0) else 4


def _count(value: Any, name: str, least: int, most: int = _INT32_MAX) -> int:
    array = int_array(value, name)
    if array.ndim:
        raise TypeError(f"{name}: must be one number, has shape {array.shape}")
    at_least(array, least, name)
    if array > most:
        raise ValueError(f"{name} = {array}: must be <= {most}")
    return int(array)


def _capability(cc: Any) -> tuple[int, int] | None:
    if cc is None:
        return None
    try:
        major, minor = str(cc).split(".") if isinstance(cc, (str, float)) else map(index, cc)
        capability = int(major), int(minor)
    except (TypeError, ValueError):
        capability = 0, 0
    if not 1 <= capability[0] <= 999 or not 0 <= capability[1] <= 9:
        raise ValueError(f"cc = {cc!r}: must be like '8.0' or (8, 0)")
    return capability


_ORDERS = ("evens_then_odds", "ascending", "descending")


def _named_order(name: str, sms: int) -> Int64Array:
    ids = np.arange(sms, dtype=np.int64)
    if name == "evens_then_odds":
        return np.concatenate([ids[::2], ids[1::2]])
    return ids if name == "ascending" else ids[::-1].copy()


def _order_name(order: Int64Array) -> str:
    """What the order is called, "" when it has no name."""
    names = (name for name in _ORDERS if np.array_equal(order, _named_order(name, len(order))))
    return next(names, "")


def _order(order: Any, sms: int) -> Int64Array:
    if order is None:
        order = "evens_then_odds"
    if isinstance(order, str):
        if order not in _ORDERS:
            raise ValueError(f"sm_order = {order!r}: must be one of {_ORDERS}, or the SM ids")
        ids = _named_order(order, sms)
    else:
        ids = int_array(order, "sm_order")
        if ids.shape != (sms,):
            raise ValueError(f"sm_order: must have shape ({sms},), has {ids.shape}")
        first = np.unique(ids, return_index=True)[1]
        wrong = (ids < 0) | (ids >= sms)
        wrong[np.delete(np.arange(sms), first)] = True
        if wrong.any():
            at = int(np.argmax(wrong))
            what = "there is no such SM" if not 0 <= ids[at] < sms else "this SM is named twice"
            raise ValueError(f"sm_order[{at}] = {ids[at]}: {what}")
    return frozen(ids)
