"""GPUs: limits of their SMs, and the number of blocks of a kernel that one SM holds.

[RTAS20], section III-C and Table I; the allocation units are those of the CUDA toolkit's
occupancy arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, flag, int_array, is_sequence
from gpusched._support.registry import enumeration, limit
from gpusched._support.results import Saved
from gpusched._support.text import clip, escape, shown
from gpusched.model.gpus.gpu_fields import (
    CARVEOUT_RULES,
    carveout_fields,
    copy_engines_of,
    count_of,
    engines_text,
    gpcs_of,
    gpcs_text,
    order_name,
    order_of,
    traced_fields,
)
from gpusched.model.gpus.gpu_presets import (
    PRESET_NAMES,
    Capability,
    allocation_units,
    as_capability,
    block_memory_of,
    carveouts_of,
    partition_unit,
    preset_fields,
    regs_per_block_of,
    resident_grids_of,
)
from gpusched.model.gpus.mig_profiles import (
    MigInstance,
    MigProfile,
    mig_products,
    placed,
    placements,
    product_of,
)

WARP_THREADS = limit("model.warp_threads")
MAX_SMS = limit("model.sms")

# Limits of the number of blocks, in the order of the core's numbers.
_LIMIT_NAMES = enumeration("model.gpu_limit")


class _Changes(TypedDict, total=False):
    """The arguments of `GPU`."""

    sms: int
    threads_per_sm: int
    blocks_per_sm: int
    regs_per_sm: int
    smem_per_sm: int
    cc: Capability | None
    sm_order: str | npt.ArrayLike | None
    smem_per_block: int | None
    copy_engines: int | Sequence[str] | None
    name: str
    channels: int | None
    carveout_rule: str | None
    carveouts: Sequence[int] | None
    sms_per_gpc: int | Sequence[int] | None
    resident_grids: int | None
    regs_per_block: int | None


@dataclass(frozen=True, eq=False, repr=False)
class GPU(Saved):
    """Resource limits of a GPU whose SMs are all alike.

    >>> gpu = gs.GPU(sms=8, threads_per_sm=1024, blocks_per_sm=32, cc="7.2")
    >>> gpu.warps_per_sm, gpu.smem_per_block, gpu.sm_order.tolist()
    (32, 65536, [0, 2, 4, 6, 1, 3, 5, 7])
    >>> gs.GPU.preset("xavier").sms
    8

    Parameters
    ----------
    sms
        Number of streaming multiprocessors, at most 65,536.
    threads_per_sm, blocks_per_sm
        Maximum number of threads and blocks resident on an SM at once. Threads are allocated in
        warps of 32; a remainder of less than one warp is not usable.
    regs_per_sm
        32-bit registers of an SM.
    smem_per_sm
        Shared memory of an SM in bytes.
    cc
        Compute capability: ``"8.0"``, ``8.0``, ``(8, 0)`` or None (unknown); stored as a tuple or
        None. It determines the allocation units. Shared memory is allocated in units of 256 bytes
        up to cc 7.x and of 128 bytes from cc 8.0 on, where the system also reserves 1,024 bytes
        per block. Registers are allocated per warp in units of 256, from one of 4 register files
        (2 on cc 6.0). With None, the units are 256 bytes and 256 registers, there are 4 register
        files, and nothing is reserved.
    sm_order
        Order in which the block scheduler prefers SMs that are otherwise equal: None or
        ``"evens_then_odds"``, ``"ascending"``, ``"descending"``, or a list of all SM ids. Stored
        as a read-only int64 array of shape ``(sms,)``.
    smem_per_block
        Maximum shared memory in bytes that one block may request (with opt-in), without the part
        reserved by the system. Default: the limit of the compute capability, or ``smem_per_sm``.
    copy_engines
        Number of copy engines, or the direction of each: "in" (copies from the host to the
        device), "out" or "both". One engine serves both directions; of two or more, one serves
        each direction, and the further ones do not make copies of one direction overlap. None:
        unknown.
    name
        Label of the GPU.
    channels
        Number of hardware queues of a context for kernels; if a context has more streams, they
        share queues. 0: no limit. None: unknown.
    carveout_rule
        The memory of an SM is split into L1 cache and shared memory. The size of the shared part,
        the carve-out, is set by the first block that starts on an empty SM. Until the SM is empty
        again, it accepts ([RTAS20], section III-C2) only blocks of kernels with the same carve-out
        (``"match"``), with the same or a smaller one (``"at_least"``), or of all kernels
        (``"ignore"``). Default: ``"match"`` from cc 7.0 on, otherwise, and if cc is None,
        ``"ignore"``. Whether GPUs follow "match" or "at_least" when the second kernel needs less
        is not known.
    carveouts
        Possible carve-outs in bytes, ascending. Default: those of the compute capability. The
        carve-out of a kernel is the smallest one with which an SM holds as many of its blocks as
        with the largest one, counting what the system reserves per block; for a kernel without
        shared memory it is the smallest of all. (The choice made by the driver is not documented.)
        Carve-outs decide which kernels can share an SM; the number of blocks that fit an SM is
        computed with ``smem_per_sm``.
    sms_per_gpc
        Number of SMs of each GPC, as a list, or of a full GPC of the chip (the last one then has
        the rest of the SMs); the blocks of a cluster start together on one GPC. It is not published
        which SM ids form a GPC; simulators assume consecutive ids. None: unknown.
    resident_grids
        Number of kernels that can run at once, each from its first block to its last: "Maximum
        number of resident grids per device (Concurrent Kernel Execution)" of the CUDA C++
        Programming Guide. Default: that of the compute capability (16 to 128), or 128 if cc is None
        or not listed there. A GPU instance is treated as a device.
    regs_per_block
        Maximum number of registers of a block. Default: 32,768 for compute capability 5.3 and 6.2
        (TX1, TX2), otherwise ``regs_per_sm``.

    Two GPUs are equal when all these fields are.

    Raises
    ------
    ValueError, OverflowError, TypeError
        A limit is invalid; the message names the field.
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
    copy_engines: int | tuple[str, ...] | None
    name: str
    channels: int | None
    carveout_rule: str
    carveouts: tuple[int, ...]
    sms_per_gpc: int | tuple[int, ...] | None
    resident_grids: int
    regs_per_block: int

    def __init__(
        self,
        sms: int,
        threads_per_sm: int,
        blocks_per_sm: int,
        regs_per_sm: int = 65536,
        smem_per_sm: int = 65536,
        cc: Capability | None = None,
        sm_order: str | npt.ArrayLike | None = None,
        smem_per_block: int | None = None,
        copy_engines: int | Sequence[str] | None = None,
        name: str = "",
        channels: int | None = None,
        carveout_rule: Literal["match", "at_least", "ignore"] | None = None,
        carveouts: Sequence[int] | None = None,
        sms_per_gpc: int | Sequence[int] | None = None,
        resident_grids: int | None = None,
        regs_per_block: int | None = None,
    ) -> None:
        values: dict[str, Any] = {
            "sms": count_of(sms, "sms", 1, MAX_SMS),
            "threads_per_sm": count_of(threads_per_sm, "threads_per_sm", WARP_THREADS),
            "blocks_per_sm": count_of(blocks_per_sm, "blocks_per_sm", 1),
            "regs_per_sm": count_of(regs_per_sm, "regs_per_sm", 0),
            "smem_per_sm": count_of(smem_per_sm, "smem_per_sm", 0),
            "cc": as_capability(cc),
            "copy_engines": copy_engines_of(copy_engines),
            "channels": None if channels is None else count_of(channels, "channels", 0),
        }
        values["sms_per_gpc"] = gpcs_of(sms_per_gpc, values["sms"])
        most = regs_per_block_of(values["cc"]) if regs_per_block is None else regs_per_block
        registers = values["regs_per_sm"] if most is None else count_of(most, "regs_per_block", 0)
        if regs_per_block is not None and registers > values["regs_per_sm"]:
            raise ValueError(
                f"regs_per_block: got {registers}, expected at most the "
                f"{values['regs_per_sm']} of regs_per_sm"
            )
        values["regs_per_block"] = min(registers, values["regs_per_sm"])
        grids = resident_grids_of(values["cc"]) if resident_grids is None else resident_grids
        values["resident_grids"] = count_of(grids, "resident_grids", 1)
        values["sm_order"] = order_of(sm_order, values["sms"])
        available = max(values["smem_per_sm"] - allocation_units(values["cc"])[0], 0)
        if smem_per_block is None:
            known = block_memory_of(values["cc"])
            values["smem_per_block"] = available if known is None else min(available, known)
        else:
            most = count_of(smem_per_block, "smem_per_block", 0)
            if most > values["smem_per_sm"]:
                raise ValueError(
                    f"smem_per_block: got {most}, expected at most the "
                    f"{values['smem_per_sm']} of smem_per_sm"
                )
            values["smem_per_block"] = most
        values |= carveout_fields(values["cc"], carveout_rule, carveouts)
        if not isinstance(name, str):
            raise TypeError(f"name: got {type(name).__name__}, expected a string")
        values["name"] = name
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def warps_per_sm(self) -> int:
        """Number of whole warps of 32 threads resident on an SM at once (mw in [RTAS20])."""
        return self.threads_per_sm // WARP_THREADS

    @staticmethod
    def preset(name: str) -> GPU:
        """Return the GPU with this name, such as ``"Xavier"``, ``"A100"`` or ``"pbs2024"``.

        Case, spaces and punctuation are ignored, and so is the brand before the name
        (``"NVIDIA GeForce RTX 2080 Ti"`` is ``"rtx2080ti"``). Raises ValueError for an unknown
        name; the message lists similar names. `presets` lists all of them.
        """
        return GPU(**preset_fields(name))

    @staticmethod
    def presets() -> tuple[str, ...]:
        """Names that `preset` accepts."""
        return PRESET_NAMES

    def replace(self, **changes: Unpack[_Changes]) -> GPU:
        """Return a copy with some arguments of the class changed.

        With another number of SMs, those of GPCs are unknown unless they are given. Registers of a
        block that are the default follow the other arguments.

        >>> gs.GPU.preset("V100").replace(carveout_rule="ignore").carveout_rule
        'ignore'
        """
        values: dict[str, Any] = {**self._fields(), **changes}
        if values["sms"] != self.sms and "sms_per_gpc" not in changes:
            values["sms_per_gpc"] = None
        if self.regs_per_block == self._usual_regs_per_block and "regs_per_block" not in changes:
            values["regs_per_block"] = None
        return GPU(**values)

    # Instances (MIG)

    def mig_profiles(self) -> tuple[MigProfile, ...]:
        """Profiles of the GPU's instances (Multi-Instance GPU), ascending; empty without MIG.

        The profiles of A100 (40 and 80 GB), A30, H100 (SXM and PCIe, 80 GB; NVL, 94 GB), H200,
        GH200 (96 and 144 GB), B200, GB200, RTX PRO 6000 and Thor (JetPack 7) are known. The product
        is recognised by the GPU's ``name``. If the name of an A100 does not state its memory, the
        profiles have the names of the 80 GB version, and those of the 40 GB version are accepted
        too (GH200: of the 96 GB version, and of the 144 GB version). Profiles with media engines
        ("+me") or graphics ("+gfx") are treated as the plain profiles.

        >>> for profile in gs.GPU.preset("H100").mig_profiles()[3:5]:
        ...     print(profile.name, profile.sms, profile.copy_engines, profile.starts)
        3g.40gb 60 3 (0, 4)
        4g.40gb 64 4 (0,)
        """
        products = mig_products(self.name, self.sms)
        return products[0].profiles if products else ()

    def mig_configurations(self) -> tuple[tuple[MigInstance, ...], ...]:
        """All maximal sets of GPU instances, each instance with its first memory slice.

        >>> gs.GPU.preset("A30").mig_configurations()[1]
        (<MigInstance: 2g.12gb@0, 28 SMs>, <MigInstance: 2g.12gb@2, 28 SMs>)

        Raises ValueError for a GPU without profiles.
        """
        return placements(product_of(self.name, self.sms))

    def mig_instances(self, profiles: Sequence[str]) -> tuple[MigInstance, ...]:
        """Place GPU instances of the given profiles on the GPU, in the given order.

        >>> gs.GPU.preset("H100").mig_instances(["3g.40gb", "4g.40gb"])
        (<MigInstance: 3g.40gb@4, 60 SMs>, <MigInstance: 4g.40gb@0, 64 SMs>)
        >>> gs.GPU.preset("H100").mig_instances(["4g.40gb", "2g.20gb", "3g.40gb"])
        Traceback (most recent call last):
        ValueError: profiles[2]: got '3g.40gb', expected instances that fit H100 together; 3g.40gb \
takes 3 compute slices, and 1 of 7 are left

        Raises ValueError if the profiles do not fit together (the message names the first that
        does not fit and the reason), for an unknown profile, and for a GPU without MIG profiles;
        TypeError for anything but names.
        """
        names = tuple(profiles) if is_sequence(profiles) else ()
        if not is_sequence(profiles) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"profiles: got {shown(profiles)}, expected names of profiles")
        return placed(product_of(self.name, self.sms, names), names)

    def instance(self, profile: str) -> GPU:
        """Return the GPU that an instance of the given profile presents to its programs.

        It has the SMs and copy engines of the profile, and its own hardware queues. Each of its SMs
        has the limits of this GPU's SMs. Which SMs an instance gets, and in which order its block
        scheduler prefers them, is not documented; they are numbered from 0, in ascending order.

        >>> part = gs.GPU.preset("H100").instance("3g.40gb")
        >>> part.name, part.sms, part.copy_engines
        ('H100 3g.40gb', 60, 3)

        Raises ValueError for an unknown profile, and for a GPU without profiles.
        """
        if not isinstance(profile, str):
            raise TypeError(f"profile: got {shown(profile)}, expected the name of a profile")
        found = product_of(self.name, self.sms, [profile]).profile(profile)
        assert found is not None
        return self.replace(
            sms=found.sms,
            copy_engines=found.copy_engines,
            sm_order="ascending",
            name=f"{self.name} {found.name}",
        )

    def split_sms(
        self, groups: int, sms: int, *, coscheduling: bool = True
    ) -> tuple[tuple[int, ...], int]:
        """SMs of green contexts if the GPU is split into groups of at least so many SMs.

        As the driver splits them (cuDevSmResourceSplitByCount): the number is rounded up to the
        unit of the GPU, 8 SMs with compute capability 9.0 or later, else, on Tegra, and without
        ``coscheduling`` 2. Returns the SMs of each group, and the number of SMs that are left,
        which can be a group as well.

        >>> gs.GPU.preset("GH200").split_sms(6, 11)
        ((16, 16, 16, 16, 16, 16), 36)
        >>> gs.GPU.preset("GH200").split_sms(6, 11, coscheduling=False)
        ((12, 12, 12, 12, 12, 12), 60)

        Raises ValueError if the GPU has too few SMs for the groups.
        """
        unit = partition_unit(self.cc, together=flag(coscheduling, "coscheduling"))
        count, least = (count_of(n, k, 1) for n, k in ((groups, "groups"), (sms, "sms")))
        each = -(-least // unit) * unit
        if count * each > self.sms:
            raise ValueError(
                f"groups: got {count} of {each} SMs, expected at most the {self.sms} of the GPU"
            )
        return (each,) * count, self.sms - count * each

    @staticmethod
    def from_properties(properties: Mapping[str, Any]) -> GPU:
        """Make the GPU described by an entry of ``deviceProperties`` in a PyTorch profiler trace.

        Values that such entries lack are those of the preset of that name if it does not contradict
        the number of SMs and the compute capability, and otherwise follow from the compute
        capability. Raises ValueError if the number of SMs or the compute capability is in neither
        (the message names the fields), if the compute capability is unknown, and for GPUs by AMD.
        """
        return GPU(**traced_fields(properties))

    @property
    def _usual_regs_per_block(self) -> int:
        most = regs_per_block_of(self.cc)
        return self.regs_per_sm if most is None else min(most, self.regs_per_sm)

    @property
    def _limits(self) -> Int64Array:
        """The core's description of this GPU: the fields of gs_gpu_t."""
        reserved, smem_unit, partitions = allocation_units(self.cc)
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
                self.regs_per_block,
                CARVEOUT_RULES.index(self.carveout_rule),
                *self.carveouts,
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
        parts = [
            f"sms={self.sms}",
            f"threads_per_sm={self.threads_per_sm}",
            f"blocks_per_sm={self.blocks_per_sm}",
            f"regs_per_sm={self.regs_per_sm}",
            f"smem_per_sm={self.smem_per_sm}",
        ]
        if self.cc is not None:
            parts.append(f"cc={self.cc}")
        if (order := order_name(self.sm_order)) != "evens_then_odds":
            ids = ", ".join(map(str, self.sm_order[:20].tolist()))
            dots = ", ..." if self.sms > 20 else ""
            parts.append(f"sm_order={order!r}" if order else f"sm_order=[{ids}{dots}]")
        parts.append(f"smem_per_block={self.smem_per_block}")
        if self.copy_engines is not None:
            parts.append(f"copy_engines={self.copy_engines}")
        if self.name:
            parts.append(f"name={self.name[:60]!r}")
        if self.channels is not None:
            parts.append(f"channels={self.channels}")
        if self.carveout_rule != ("match" if self.carveouts else "ignore"):
            parts.append(f"carveout_rule={self.carveout_rule!r}")
        if self.carveouts != carveouts_of(self.cc):
            parts.append(f"carveouts={self.carveouts}")
        if self.sms_per_gpc is not None:
            parts.append(f"sms_per_gpc={self.sms_per_gpc}")
        if self.resident_grids != resident_grids_of(self.cc):
            parts.append(f"resident_grids={self.resident_grids}")
        if self.regs_per_block != self._usual_regs_per_block:
            parts.append(f"regs_per_block={self.regs_per_block}")
        return f"GPU({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = {
            "SMs": f"{self.sms:,}",
            "threads per SM": f"{self.threads_per_sm:,} ({self.warps_per_sm:,} warps)",
            "blocks per SM": f"{self.blocks_per_sm:,}",
            "registers per SM": f"{self.regs_per_sm:,}",
            "registers per block": f"{self.regs_per_block:,}",
            "shared memory per SM": f"{self.smem_per_sm:,} bytes",
            "shared memory per block": f"{self.smem_per_block:,} bytes",
            "compute capability": "unknown" if self.cc is None else "{}.{}".format(*self.cc),
            "SM order": (order_name(self.sm_order) or "its own").replace("_", " "),
            "copy engines": engines_text(self.copy_engines),
            "channels": "unknown" if self.channels is None else str(self.channels or "no limit"),
            "resident grids": f"{self.resident_grids:,}",
            "SMs of a GPC": gpcs_text(self.sms_per_gpc),
            "carve-outs for shared memory": (
                f"{', '.join(f'{size:,}' for size in self.carveouts) or 'unknown'} bytes "
                f"({self.carveout_rule.replace('_', ' ')})"
            ),
        }
        body = "".join(
            f"<tr><th>{key}</th><td>{clip(value, 400)}</td></tr>" for key, value in rows.items()
        )
        caption = f"<caption>{escape(clip(self.name, 60))}</caption>" if self.name else ""
        return f"<table>{caption}{body}</table>"


@overload
def occupancy(
    gpu: GPU | str, threads: int, regs: int = 0, smem: int = 0, *, detail: Literal[False] = False
) -> int: ...


@overload
def occupancy(
    gpu: GPU | str, threads: int, regs: int = 0, smem: int = 0, *, detail: Literal[True]
) -> tuple[int, str]: ...


@overload
def occupancy(
    gpu: GPU | str,
    threads: npt.ArrayLike,
    regs: npt.ArrayLike = 0,
    smem: npt.ArrayLike = 0,
    *,
    detail: Literal[False] = False,
) -> Int64Array: ...


@overload
def occupancy(
    gpu: GPU | str,
    threads: npt.ArrayLike,
    regs: npt.ArrayLike = 0,
    smem: npt.ArrayLike = 0,
    *,
    detail: Literal[True],
) -> tuple[Int64Array, npt.NDArray[np.str_]]: ...


def occupancy(
    gpu: GPU | str,
    threads: npt.ArrayLike,
    regs: npt.ArrayLike = 0,
    smem: npt.ArrayLike = 0,
    *,
    detail: bool = False,
) -> int | Int64Array | tuple[int, str] | tuple[Int64Array, npt.NDArray[np.str_]]:
    """Return the number of blocks of a kernel that one SM can hold at once (occupancy).

    [RTAS20], Equation 1, with the allocation units of the CUDA toolkit (see `GPU`).

    Parameters
    ----------
    gpu
        A `GPU`, or the name of a preset.
    threads
        Threads per block. A block of more than 1,024 threads does not fit an SM.
    regs
        Registers per thread, at most 255; with more, a block does not fit an SM. 0: registers are
        no limit.
    smem
        Shared memory per block in bytes, static plus dynamic.
    detail
        Whether to return the limiting resource as well.

    Returns
    -------
    int or int64 array
        An int if threads, regs and smem are scalars, otherwise an array of their broadcast shape;
        0 for a block that does not fit an SM.
    str or array of str
        With ``detail`` only: the limiting resource, ``"warps"``, ``"blocks"``, ``"registers"`` or
        ``"shared memory"`` (the first of these in case of a tie), or ``"threads"`` for a block of
        more than 1,024 threads.

    Raises
    ------
    ValueError
        Threads are not positive, registers or shared memory are negative, a value is fractional,
        or the shapes cannot be broadcast together.

    >>> gs.occupancy("pbs2024", threads=256)
    4
    >>> gs.occupancy("pbs2024", threads=[128, 512], detail=True)[1].tolist()
    ['warps', 'warps']
    """
    device = as_gpu(gpu)
    columns = kernel_columns(threads=threads, regs=regs, smem=smem)
    shape = columns[0].shape
    blocks, limit = _core.occupancy(device._limits, *(column.ravel() for column in columns))
    if not shape:
        return (int(blocks[0]), _LIMIT_NAMES[limit[0]]) if detail else int(blocks[0])
    count: Int64Array = blocks.reshape(shape)
    return (count, np.array(_LIMIT_NAMES)[limit].reshape(shape)) if detail else count


def as_gpu(gpu: Any) -> GPU:
    """The GPU itself, or the preset of this name; raise TypeError for anything else."""
    device = GPU.preset(gpu) if isinstance(gpu, str) else gpu
    if not isinstance(device, GPU):
        raise TypeError(f"gpu: got {type(gpu).__name__}, expected a GPU or the name of a preset")
    return device


def kernel_columns(**given: Any) -> list[Int64Array]:
    """Columns that describe kernels, checked and brought to one shape."""
    arrays = {key: int_array(value, key) for key, value in given.items()}
    for key, array in arrays.items():
        at_least(array, 0 if key in ("regs", "smem") else 1, key)
    try:
        return [array.copy() for array in np.broadcast_arrays(*arrays.values())]
    except ValueError:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise ValueError(f"kernels: got {shapes}, expected shapes that fit each other") from None
