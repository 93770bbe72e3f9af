"""Claims of [RTAS20], sections I and II: misprediction by round robin, platforms, CUDA."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.olmedo_figures import olmedo_fig3

__all__ = ["CLAIMS"]

# Table I: CUDA cores of an SM.
_CORES = {"TX2": 128, "Xavier": 64, "Pegasus": 64}


def _cores(size: Size) -> Finding:
    from gpusched.model.gpu import GPU

    cores = {name: GPU.preset(name).sms * each for name, each in _CORES.items()}
    return found(
        cores == {"TX2": 256, "Xavier": 512, "Pegasus": 2816},
        "SMs of the presets times cores per SM of Table I: "
        + ", ".join(f"{name} {count}" for name, count in cores.items())
        + ".",
        dict(cores),
    )


def _copies_and_kernel(streams: int, context: list[int] | None = None) -> list[list[int]]:
    """Starts and ends of copy in, kernel and copy out of each stream, one context each if given."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    launches = Launches(
        [0] * (3 * streams),
        [10, 30, 10] * streams,
        kind=["copy_in", "kernel", "copy_out"] * streams,
        stream=[s for s in range(streams) for _ in range(3)],
        threads=128,
        stream_context=context or 0,
    )
    run = simulate.hierarchy(
        launches, "Xavier", copy_engines=2, channels=0, timeslice=1000 if context else None
    )
    return [run.first.tolist(), run.end.tolist()]


def _submission(size: Size) -> Finding:
    start, end = _copies_and_kernel(1)
    return found(
        start[1:] == end[:-1],
        f"A copy in, a kernel and a copy out of one stream run in order: starts {start}, "
        f"ends {end}.",
        {"start": start, "end": end},
    )


def _offloading(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    one = Launches([0, 1], 100, stream=[0, 0], threads=128)
    two = Launches([0, 1], 100, stream=[0, 1], threads=128)
    last = [int(simulate.hierarchy(x, "Xavier").end[-1]) for x in (one, two)]
    return found(
        last == [200, 101],
        f"Two small kernels end at {last[0]} in one stream and at {last[1]} in two.",
        {"end": last},
    )


def _misprediction(size: Size) -> Finding:
    count = size.count(100, 1000)
    rates = {}
    for grids in ("each", "equal"):
        table = olmedo_fig3(count, grids=grids, seed=2020)
        rows = table.where(model="round_robin")
        rates[grids] = [round(100 * float(v), 1) for v in rows["rate"]]
        rates[grids + ", all at once"] = [round(100 * float(v), 1) for v in rows["placed_rate"]]
    highest = {name: max(values) for name, values in rates.items()}
    tolerance = 200 / count**0.5  # two standard deviations of a share, at most, of 100 %
    grows = all(
        late >= early - tolerance / 2
        for values in rates.values()
        for early, late in pairwise(values)
    )
    near = [name for name, most in highest.items() if abs(most - 96) <= 4]
    table = olmedo_fig3(count, seed=2020)
    return found(
        grows and bool(near),
        f"Round robin differs from the most-room rule in {rates['each']} % of {7 * count} launches "
        f"with 2 to 8 streams. With 8: {rates['each'][-1]} % with numbers of blocks of their own, "
        f"{rates['equal'][-1]} % with equal ones; of the launches whose blocks find room at once "
        f"{rates['each, all at once'][-1]} % and {rates['equal, all at once'][-1]} %.",
        {"configurations": 7 * count, **rates},
        figure_svg(table.plot),
        reading=True,
    )


def _xavier(size: Size) -> Finding:
    from gpusched.model.gpu import GPU

    gpu = GPU.preset("Xavier")
    return found(
        gpu.sms == 8,
        f"The preset of gs.GPU has {gpu.sms} SMs, so {gpu.sms * 64} cores at 64 per SM.",
        {"SMs": gpu.sms, "cores": gpu.sms * 64},
        reading=True,
    )


def _gpc(size: Size) -> Finding:
    from gpusched.model.gpu import GPU

    gpu = GPU.preset("Xavier")
    file = 4 * gpu.regs_per_sm
    parts = file // (64 * 1024)
    return found(
        gpu.sms // 2 == 4 and parts == 4 and max(gpu.carveouts) <= 128 * 1024,
        f"{gpu.sms} SMs are {gpu.sms // 2} GPCs of two; an SM has {parts} register files of 64 KB; "
        f"its largest carve-out for shared memory, {max(gpu.carveouts) // 1024} KB, is within the "
        "128 KB of L1 and shared memory.",
        {"GPCs": gpu.sms // 2, "register files": parts, "carve-out": max(gpu.carveouts)},
        reading=True,
    )


def _warps(size: Size) -> Finding:
    from gpusched.model.block_placement import place
    from gpusched.model.gpu import occupancy

    wrong = 0
    for threads in range(1, 1025):
        whole = -(-threads // 32) * 32
        wrong += occupancy("Xavier", threads) != occupancy("Xavier", whole)
        wrong += int(place("Xavier", 1, threads).warps[0]) * 32 != whole
    return found(
        wrong == 0,
        f"Of 1,024 block sizes {wrong} count otherwise than as the next multiple of 32 threads.",
        {"wrong": wrong},
    )


def _transpose(size: Size) -> Finding:
    from gpusched.model.gpu import occupancy

    blocks, threads = (1024 // 32) ** 2, 32 * 8
    each = 1024 * 1024 // (blocks * threads)
    resident = 8 * occupancy("Xavier", threads)
    return found(
        each == 4,
        f"{blocks} blocks of {threads} threads: {each} elements per thread. A Xavier holds "
        f"{resident} such blocks at once, {-(-blocks // resident)} waves.",
        {"blocks": blocks, "threads": threads, "elements": each, "resident": resident},
    )


def _synchronous(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    ends = {}
    for name, second in (("synchronous", 110), ("asynchronous", 10)):
        launches = Launches([0, second], 100, stream=[0, 1], threads=128)
        ends[name] = int(simulate.hierarchy(launches, "Xavier", channels=0).end.max())
    return found(
        ends == {"synchronous": 210, "asynchronous": 110},
        "A kernel of 100 ticks, 10 ticks on the CPU, another kernel: the end is at "
        f"{ends['synchronous']} if the CPU waits for the first kernel, at {ends['asynchronous']} "
        "if it does not.",
        dict(ends),
        reading=True,
    )


def _default_stream(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    launches = Launches(
        [0, 1, 2], 100, stream=[0, 1, 2], threads=128, stream_kind=["blocking", "null", "blocking"]
    )
    first = simulate.hierarchy(launches, "Xavier", channels=0).first.tolist()
    return found(
        first == [0, 100, 200],
        f"Kernels of a stream, of stream 0 and of another stream start at {first}.",
        {"first": first},
    )


def _interleaved(size: Size) -> Finding:
    start, end = _copies_and_kernel(2)
    overlap = min(end[1], end[3]) - max(start[1], start[3])
    ordered = start[1] == end[0] and start[2] == end[1]
    return found(
        overlap > 0 and ordered and start[3] < end[1],
        f"Two streams of copy in, kernel, copy out: starts {start}, ends {end}; the second copy in "
        "runs beside the first kernel.",
        {"start": start, "end": end},
    )


CLAIMS = (
    Claim(
        "Section I",
        "cores",
        "A TX2 has 256 cores, a Pegasus 2,816 (and a Xavier 512, section II-A).",
        ("gs.GPU",),
        "agrees",
        "",
        _cores,
    ),
    Claim(
        "Section I",
        "copy, compute, copy back",
        "A program copies data to the GPU, runs a kernel and copies the result back.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _submission,
    ),
    Claim(
        "Section I",
        "streams instead of one queue",
        "Submission in one FIFO leaves the GPU underused; kernels of several streams share it.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _offloading,
    ),
    Claim(
        "Figure 1",
        "the Xavier SoC",
        "Eight ARM cores, a Volta GPU with 512 cores, 16 GB of memory that all share.",
        ("gs.GPU",),
        "agrees in this reading",
        "sizes of the preset; only the GPU is modelled, and the drawing is lost in the text",
        _xavier,
    ),
    Claim(
        "Figure 2",
        "a GPC of Volta",
        "A GPC has two SMs; an SM has four partitions, each with 16 integer, 16 single and 8 "
        "double precision cores, two tensor cores, a special function unit, a warp scheduler and a "
        "register file of 64 KB, and 128 KB of L1 and shared memory.",
        ("gs.GPU",),
        "agrees in this reading",
        "sizes of the preset, those that schedules depend on; the drawing is lost in the text, and "
        "double precision, tensor cores and special function units are not modelled",
        _gpc,
    ),
    Claim(
        "Figure 3",
        "misprediction by round robin",
        "Of 7,000 launches with 2 to 8 streams, kernels of 1 to 4 blocks of 1 to 1,024 threads, "
        "round robin mispredicts a share that grows with the streams, up to 96 %.",
        ("gs.experiments.olmedo_fig3",),
        "agrees in this reading",
        "the most-room rule stands for the Xavier. The text leaves open whether kernels of a "
        "launch have equal numbers of blocks and whether launches count whose blocks have to wait. "
        "With 7,000 launches and 8 streams: numbers of their own 97.6 %, equal numbers 92.5 %; of "
        "those whose blocks all find room at once, 99.1 % and 97.0 %",
        _misprediction,
    ),
    Claim(
        "Section II-A",
        "memory, caches, engines",
        "GPCs share an L2 cache of 512 KB and the copy engines.",
        (),
        "needs hardware",
        "caches are not modelled; copy engines are a parameter of gs.GPU",
    ),
    Claim(
        "Section II-B",
        "blocks are multiples of a warp",
        "A block counts as a multiple of 32 threads whatever its number of threads.",
        ("gs.occupancy", "gs.place"),
        "agrees",
        "",
        _warps,
    ),
    Claim(
        "Listing 1",
        "copies and a kernel, synchronous",
        "Copy in, kernel and copy out without a stream run in order.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _submission,
    ),
    Claim(
        "Listing 2",
        "transposition",
        "With tiles of 32 and 8 rows per block, a thread moves 4 elements of a matrix of "
        "1,024 x 1,024.",
        ("gs.occupancy",),
        "agrees",
        "",
        _transpose,
    ),
    Claim(
        "Listing 2",
        "stride of 32 x 8 elements",
        "Each thread reads 4 elements with a stride of 32 x 8 elements.",
        (),
        "cannot be decided from the text",
        "the code of the loop is lost; 8 rows of a tile of 32 columns are 256 elements, 8 rows of "
        "the matrix of 1,024 columns are 8,192",
    ),
    Claim(
        "Listing 3",
        "copies and kernels in streams",
        "Commands of one stream run in order; those of several streams interleave, copies beside "
        "kernels.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _interleaved,
    ),
    Claim(
        "Section II-C",
        "default stream",
        "Stream 0 synchronizes with every other stream of the application.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _default_stream,
    ),
    Claim(
        "Section II-C",
        "synchronous and asynchronous streams",
        "With a synchronous call the CPU waits for the kernel, with an asynchronous one it "
        "computes meanwhile.",
        ("gs.simulate.hierarchy",),
        "agrees in this reading",
        "the simulation has no CPU: a call that waits is a next launch after the kernel's end",
        _synchronous,
    ),
    Claim(
        "Section II-C",
        "pinned memory enables overlap",
        "Copies overlap kernels of other streams if their memory on the host is pinned.",
        (),
        "needs hardware",
        "simulated copies overlap kernels of other streams, as with pinned memory; the driver's "
        "way with pageable memory is not modelled",
    ),
    Claim(
        "Section II-C",
        "pinned memory, coalesced accesses",
        "Pinned memory and coalesced accesses use the bandwidth better; shared memory is faster "
        "than memory outside the SM.",
        (),
        "needs hardware",
        "speeds of memories are measured; copies here have a duration or a bandwidth",
    ),
)
