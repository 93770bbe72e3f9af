"""Claims of [RTAS20] on the resources of an SM: section III-C, Equation 1, Table I, III-C2."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg

__all__ = ["OCCUPANCY", "SHARED_MEMORY"]

KB = 1024

# Table I: SMs, threads per SM, registers, shared memory of a block.
_TABLE_1 = {
    "TX2": (2, 2048, 65536, 48 * KB),
    "Xavier": (8, 2048, 65536, 48 * KB),
    "Pegasus": (44, 1024, 65536, 48 * KB),
}


def _one_stream(size: Size) -> Finding:
    from gpusched.model.block_placement import place

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
    """Admission of the n-th block by the maximum and by the minimum of two terms."""
    from gpusched.model.gpu import GPU, occupancy

    gpu = GPU.preset("Xavier")
    printed = least = cases = 0
    for warps in range(1, 33):
        for regs in range(8, 256, 8):
            # Registers of the warps that four partitions hold; in whole numbers of warps.
            held = 4 * (gpu.regs_per_sm // 4 // (regs * 32))
            fits = occupancy(gpu, 32 * warps, regs)
            for n in range(1, min(fits + 1, gpu.blocks_per_sm) + 1):
                terms = gpu.warps_per_sm // (n * warps), held // (n * warps)
                cases += 1
                printed += (max(terms) >= 1) != (n <= fits)
                least += (min(terms) >= 1) != (n <= fits)
    return found(
        printed == 0,
        f"A block is admitted if the value is at least 1, with the warps of the SM and its own. "
        f"With the terms of threads and registers, the printed maximum decides wrongly in "
        f"{printed} of {cases} cases, the minimum in {least}.",
        {"cases": cases, "maximum wrong": printed, "minimum wrong": least},
    )


def _shared_memory_term(size: Size) -> Finding:
    """Blocks per SM by the printed term of shared memory, and those that fit."""
    from gpusched.model.gpu import occupancy

    blocks = {}
    for each in (0, 24 * KB):
        n = 0
        while 48 * KB >= ((n + 1) * each + 3 * KB) * (n + 1):
            n += 1
        blocks[f"{each // KB} KB"] = [n, occupancy("Xavier", 32, 0, each)]
    return found(
        all(printed == fits for printed, fits in blocks.values()),
        "Blocks of one warp per SM by the printed term, and those that fit: "
        + "; ".join(f"{printed} and {fits} ({name})" for name, (printed, fits) in blocks.items())
        + ".",
        dict(blocks),
    )


def _largest_block(size: Size) -> Finding:
    from gpusched.model.gpu import GPU, occupancy

    names = ("TX1", "TX2", "Xavier")
    fits = {name: [occupancy(name, threads) for threads in (1024, 1025, 2048)] for name in names}
    per_sm = {GPU.preset(name).threads_per_sm for name in names}
    return found(
        all(counts[2] == 1 for counts in fits.values()),
        f"An SM of {', '.join(names)} has {per_sm.pop()} threads; of blocks of 1,024, 1,025 and "
        f"2,048 threads {fits['Xavier']} fit.",
        dict(fits),
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

    most = 8 * KB
    blocks = occupancy("Xavier", 32, 0, np.arange(most + 1))
    # The largest amounts with which as many blocks fit.
    last = np.flatnonzero(np.diff(blocks)).tolist()
    multiples = (most - 3 * KB) // 256
    return found(
        last[0] == 3 * KB and 0 < len(last) < multiples and not any(s % 256 for s in last),
        f"Up to {last[0]} bytes of shared memory per block {blocks[0]} blocks fit. From there to "
        f"{most} bytes the number falls at {len(last)} of {multiples} multiples of 256 bytes, to "
        f"{blocks[-1]}.",
        {"threshold": last[0], "changes": last, "multiples": multiples},
        reading=True,
    )


def _beside_shared_memory(size: Size) -> Finding:
    """A block of 1 warp with shared memory, then one of 3 warps without: SMs of both."""
    from gpusched.model.block_placement import place

    amounts = (0, 1, 256, KB, 3 * KB - 1, 3 * KB, 4 * KB, 8 * KB)
    shared = {}
    for name in ("TX1", "TX2", "Xavier"):
        pairs = [place(name, [1, 1], [32, 96], smem=[s, 0]).sm.tolist() for s in amounts]
        shared[name] = [one == other for one, other in pairs]
    expected = [s < 3 * KB for s in amounts]
    return found(
        shared["Xavier"] == expected,
        "A block of 1 warp with shared memory and one of 3 warps without are on one SM with "
        + "; ".join(
            f"{sum(on_one)} of {len(amounts)} amounts ({name})" for name, on_one in shared.items()
        )
        + f"; the amounts are {', '.join(map(str, amounts))} bytes.",
        {"bytes": list(amounts), **shared},
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
        "SM over those that its blocks and the new one need.",
        ("gs.occupancy",),
        "differs",
        "Capacity over need is smallest for the resource that limits; with the maximum the least "
        "scarce one decides. The maximum is right for the reciprocal terms, the used shares. The "
        "check takes the terms of threads and registers.",
        _equation_1,
    ),
    Claim(
        "Equation (1)",
        "term of shared memory",
        "The term is T_SHM / ((U_SHM + epsilon) NB): the largest shared memory of a block, over "
        "that of the SM's blocks and the new one plus 3 KB, times the number of blocks.",
        ("gs.occupancy",),
        "differs",
        "epsilon is added although less than 3 KB is to be disregarded; in a minimum of the terms "
        "it stops a kernel without shared memory at 16 blocks. T_SHM limits a block (48 KB), while "
        "an SM of a Xavier has 96 KB. NB multiplies the need of all blocks; if it leaves out the "
        "new one, the term divides by 0 on an empty SM (the check counts the new one).",
        _shared_memory_term,
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
    Claim(
        "Section III-C",
        "full use hides memory latency",
        "An SM is fully used if each warp scheduler can issue in every cycle; the latency of "
        "memory is hidden then.",
        (),
        "needs hardware",
        "gs.simulate.warps has no memory",
    ),
    Claim(
        "Section III-C1",
        "threads of a block",
        "The maximum thread count for a single block is 2,048 (64 warps) per SM.",
        ("gs.GPU", "gs.occupancy"),
        "differs",
        "A block has at most 1,024 threads; 2,048 is the number of an SM, which holds two such "
        "blocks. Tables II and III end at 1,024 threads, too.",
        _largest_block,
    ),
)

SHARED_MEMORY = (
    Claim(
        "Section III-C2",
        "blocks per SM",
        "Shared memory below 3 KB per block does not limit how many blocks fit; above it the limit "
        "moves in units of 256 bytes.",
        ("gs.occupancy",),
        "agrees in this reading",
        "3 KB is 96 KB over 32 block slots; the number changes at multiples of 256 bytes, not at "
        "each",
        _threshold,
    ),
    Claim(
        "Section III-C2",
        "placement beside a kernel with shared memory",
        "Beside a stream with less than 3 KB the blocks are placed as in Table II, from 3 KB on "
        "otherwise.",
        ("gs.place",),
        "differs",
        "On a Xavier the simulated SM of a kernel with any shared memory has another carve-out, so "
        "a kernel without goes elsewhere from 1 byte on; on TX1 and TX2 its shared memory does not "
        "matter to a kernel without.",
        _beside_shared_memory,
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
