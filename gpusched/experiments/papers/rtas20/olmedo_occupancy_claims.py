"""Claims of [RTAS20] on the resources of an SM: section III-C, Equation 1, Table I, III-C2."""

from __future__ import annotations

import numpy as np

from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg

__all__ = ["OCCUPANCY", "SHARED_MEMORY"]

KB = 1024

# Table I: SMs, threads per SM, registers, shared memory of a block.
_TABLE_1 = {
    "TX2": (2, 2048, 65536, 48 * KB),
    "Xavier": (8, 2048, 65536, 48 * KB),
    "Pegasus": (44, 1024, 65536, 48 * KB),
}


def _one_stream(size: Size) -> Finding:
    from gpusched.model.placement import place

    sms = place("Xavier", 8, 128).sm.tolist()
    again = place("Xavier", 24, 128).sm.tolist()
    return found(
        sms == [0, 2, 4, 6, 1, 3, 5, 7] and again == 3 * sms,
        f"Eight equal blocks go to SMs {sms}, 24 in the same cycle: {again == 3 * sms}.",
        {"SMs": sms},
    )


def _fits(size: Size) -> Finding:
    from gpusched.model.gpu import occupancy

    kernels = {
        "warps": (512, 16, 0),
        "registers": (256, 128, 0),
        "shared memory": (128, 16, 24 * KB),
    }
    limits = {
        name: occupancy("Xavier", threads, regs, smem, detail=True)
        for name, (threads, regs, smem) in kernels.items()
    }
    return found(
        all(limit == name for name, (_, limit) in limits.items()),
        "An SM of a Xavier holds "
        + "; ".join(
            f"{blocks} blocks of a kernel limited by {n}" for n, (blocks, _) in limits.items()
        )
        + ".",
        {name: blocks for name, (blocks, _) in limits.items()},
    )


def _equation_1(size: Size) -> Finding:
    """The printed maximum, and the minimum, against the number of blocks that fit."""
    from gpusched.model.gpu import GPU, occupancy

    gpu = GPU.preset("Xavier")
    printed = least = cases = 0
    for warps in range(1, 33):
        for regs in range(8, 256, 8):
            cases += 1
            # Registers of the warps that four partitions hold; in whole numbers of warps.
            held = 4 * (gpu.regs_per_sm // 4 // (regs * 32))
            terms = (gpu.warps_per_sm // warps, held // warps)
            fits = occupancy(gpu, 32 * warps, regs)
            printed += min(max(terms), gpu.blocks_per_sm) != fits
            least += min(*terms, gpu.blocks_per_sm) != fits
    return found(
        printed == 0,
        f"Of {cases} kernels the printed maximum of the terms gives another number of resident "
        f"blocks in {printed}, their minimum in {least}.",
        {"kernels": cases, "maximum wrong": printed, "minimum wrong": least},
    )


def _table_1(size: Size) -> Finding:
    from gpusched.model.gpu import GPU

    ours = {}
    for name in _TABLE_1:
        gpu = GPU.preset(name)
        ours[name] = (gpu.sms, gpu.threads_per_sm, gpu.regs_per_sm, gpu.smem_per_block)
    same = sum(
        a == b for name in _TABLE_1 for a, b in zip(ours[name][:3], _TABLE_1[name][:3], strict=True)
    )
    opted = {name: ours[name][3] // KB for name in ours}
    return found(
        same == 9 and all(kb >= 48 for kb in opted.values()),
        f"SMs, threads per SM and registers agree in {same} of 9 cells; shared memory of a block "
        + ", ".join(f"{name} {kb} KB" for name, kb in opted.items())
        + " with opt-in.",
        {"equal cells": same, "shared memory KB": opted},
        reading=True,
    )


def _threshold(size: Size) -> Finding:
    from gpusched.model.gpu import occupancy

    blocks = occupancy("Xavier", 32, 0, np.arange(8 * KB + 1))
    changes = (np.flatnonzero(np.diff(blocks)) + 1).tolist()
    first = changes[0] - 1
    steps = {(s - 1) % 256 for s in changes}
    return found(
        first == 3 * KB and steps == {0},
        f"Up to {first} bytes of shared memory per block it does not change how many blocks fit "
        f"(32 block slots in 96 KB); from there the number changes at multiples of 256 bytes only: "
        f"{steps == {0}}.",
        {"threshold": first, "changes": changes[:12]},
        reading=True,
    )


def _configurations(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    overlaps = {}
    for name, carveout in (("different", -1), ("identical", 64 * KB)):
        launches = Launches(
            [0, 0],
            100,
            stream=[0, 1],
            blocks=8,
            threads=128,
            smem=[32 * KB, 0],
            carveout=[64 * KB, carveout],
        )
        overlaps[name] = simulate.hierarchy(launches, "Xavier", channels=0).overlap(0, 1)
    return found(
        overlaps == {"different": 0, "identical": 100},
        "Two kernels of 8 blocks, one with 32 KB of shared memory, that would fit beside each "
        f"other: {overlaps['different']} of 100 ticks together with different configurations, "
        f"{overlaps['identical']} with the same.",
        dict(overlaps),
        figure_svg(simulate.hierarchy(launches, "Xavier", channels=0).plot),
    )


def _registers(size: Size) -> Finding:
    from gpusched.model.gpu import occupancy

    warps = {regs: occupancy("Xavier", 128, regs) * 4 for regs in (16, 24, 32, 33, 40, 64)}
    changed = min(regs for regs, count in warps.items() if count < 64)
    return found(
        changed == 33,
        "Resident warps by registers per thread: "
        + ", ".join(f"{regs}: {count}" for regs, count in warps.items())
        + "; 65,536 registers are 32 for each of 2,048 threads.",
        {str(regs): count for regs, count in warps.items()},
        reading=True,
    )


OCCUPANCY = (
    Claim(
        "Section III-C",
        "one stream: round robin",
        "Blocks of one stream go to the SMs with even ids, then to those with odd ids, and again.",
        ("gs.place",),
        "agrees",
        "",
        _one_stream,
    ),
    Claim(
        "Section III-C",
        "three resources",
        "Threads, shared memory and registers decide whether an SM takes another block.",
        ("gs.occupancy",),
        "agrees",
        "",
        _fits,
    ),
    Claim(
        "Equation (1)",
        "occupancy",
        "The occupancy is the maximum of three terms: threads, shared memory and registers of the "
        "SM over those that its blocks need.",
        ("gs.occupancy",),
        "differs",
        "Capacity over need is smallest for the resource that limits; with the maximum the least "
        "scarce one decides. The maximum is right for the reciprocal terms, the used shares.",
        _equation_1,
    ),
    Claim(
        "Table I",
        "three GPUs",
        "TX2, Xavier and Pegasus: 2, 8 and 44 SMs of 2,048, 2,048 and 1,024 threads, 65,536 "
        "registers, 48 KB of shared memory per block; L2 caches of 512 KB, 512 KB and 4 MB.",
        ("gs.GPU",),
        "agrees in this reading",
        "48 KB is the limit without opt-in, which the presets include; caches are not modelled",
        _table_1,
    ),
    Claim(
        "Section III-C",
        "occupancy and time",
        "The highest occupancy need not give the shortest time, since one resource is used up "
        "long before the others.",
        (),
        "needs hardware",
        "execution times of blocks are inputs here",
    ),
)

SHARED_MEMORY = (
    Claim(
        "Section III-C2",
        "3 KB and 256 bytes",
        "Shared memory matters from 3 KB per block on, then in steps of 256 bytes.",
        ("gs.occupancy",),
        "agrees in this reading",
        "3 KB is where 32 blocks use up the 96 KB of an SM of a Xavier, not a constant of its own",
        _threshold,
    ),
    Claim(
        "Section III-C2",
        "configurations of L1 and shared memory",
        "Kernels of two streams with different L1 configurations run one after the other although "
        "both would fit; with the same configuration they run together.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _configurations,
    ),
    Claim(
        "Section III-C2",
        "32 registers",
        "Registers matter when a kernel uses more than 32 per thread.",
        ("gs.occupancy",),
        "agrees in this reading",
        "32 is where 2,048 threads use up 65,536 registers",
        _registers,
    ),
    Claim(
        "Section III-C",
        "lesson learned: no choice of SMs",
        "CUDA has no means to choose SMs, and MPS is not supported on embedded GPUs.",
        (),
        "needs hardware",
        "a property of drivers of the time; later ones have green contexts (gs.simulate.hierarchy "
        "and stream_partition model them)",
    ),
)
