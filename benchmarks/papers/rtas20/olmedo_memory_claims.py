"""Claims of [RTAS20], sections IV to VI: warps, copies beside kernels, GPCs, related work."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.olmedo_contention import (
    PAPER_POINTS,
    Bandwidth,
    olmedo_fig7,
    olmedo_fig8,
    olmedo_fig9,
)
from gpusched.experiments.olmedo_figures import olmedo_fig6

__all__ = ["CLAIMS"]

_INPUTS = (
    "the slowdown factors are inputs: the curves are measurements, and the text gives only their "
    "largest values. A model of shared bandwidth, fitted so that it reaches these, has the shape "
    "that the text describes; measured factors need a GPU"
)


def _round_robin(size: Size) -> Finding:
    from gpusched.simulate.warps_run import warps

    each = size.count(200, 5000)
    spreads = []
    for count in (4, 8, 16, 32, 64):
        finish = warps(np.zeros(count, dtype=int), each)
        spreads.append(int(finish.max() - finish.min()))
    alone, beside = int(warps([0], each)[0]), int(warps([0] * 8, each).max())
    return found(
        max(spreads) <= 2 * 64 and beside < 2 * alone,
        f"4 to 64 equal warps of {each} instructions finish within {max(spreads)} cycles of each "
        f"other. One alone takes {alone} cycles, eight together {beside}: a warp that waits for a "
        "result leaves the scheduler to the next one.",
        {"spreads": spreads, "alone": alone, "eight": beside},
        reading=True,
    )


def _figure_6(size: Size) -> Finding:
    table = olmedo_fig6(size.count(1000, 10000))
    rows = table.where(mix="FP/I")
    relative = dict(zip(rows["architecture"].tolist(), rows["relative"].tolist(), strict=True))
    return found(
        abs(relative["Pascal"] - 1) < 0.01 and abs(relative["Volta"] - 0.5) < 0.01,
        f"With half of 16 warps on integers the block takes {relative['Pascal']:.3f} of its time "
        f"on Pascal and {relative['Volta']:.3f} on Volta.",
        dict(relative),
        figure_svg(table.plot),
        reading=True,
    )


def _beside_kernel(kind: str, context: int) -> int:
    """Ticks for which a kernel of 200 ticks overlaps an operation of another stream."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    launches = Launches(
        [0, 0],
        200,
        kind=["kernel", kind],
        stream=[0, 1],
        threads=128,
        stream_context=[0, context],
    )
    slices = 1000 if context else None
    return simulate.hierarchy(launches, "Xavier", channels=0, timeslice=slices).overlap(0, 1)


def _engines(size: Size) -> Finding:
    overlaps = {kind: _beside_kernel(kind, 1) for kind in ("kernel", "copy_in")}
    return found(
        overlaps == {"kernel": 0, "copy_in": 200},
        f"A kernel and a copy of two applications overlap for {overlaps['copy_in']} of 200 ticks, "
        f"two kernels for {overlaps['kernel']}.",
        dict(overlaps),
    )


def _separate_engines(size: Size) -> Finding:
    same, other = (_beside_kernel("copy_in", context) for context in (0, 1))
    return found(
        same == other == 200,
        f"A kernel of 200 ticks overlaps a copy of another stream of its process for {same} ticks, "
        f"one of another process for {other}.",
        {"same process": same, "other process": other},
    )


def _figure_7(size: Size) -> Finding:
    table = olmedo_fig7(interference="bandwidth")
    most, grows = {}, True
    for by in ("memcpy", "memset"):
        relative = table.where(by=by)["relative"]
        most[by] = round(float(relative.max()), 3)
        grows &= bool(relative[0] == 1 and (np.diff(relative) >= 0).all())
    errors = Bandwidth.from_paper().errors(PAPER_POINTS)
    set_above = bool(
        (table.where(by="memset")["relative"] >= table.where(by="memcpy")["relative"]).all()
    )
    return found(
        grows and set_above,
        f"With 0 to 4 processes (the text gives no number) the kernel is up to "
        f"{most['memcpy']} times slower beside memcpy "
        f"and {most['memset']} times beside memset, never less with more processes: {grows}. "
        f"Three weights fit three numbers of the text; largest error {max(map(abs, errors)):.1g}.",
        {
            "errors of the fit": errors,
            "largest": most,
            "grows": grows,
            "memset above memcpy": set_above,
        },
        figure_svg(table.plot),
        reading=True,
    )


def _figure_8(size: Size) -> Finding:
    table = olmedo_fig8(interference="bandwidth")
    ends, grows = {}, True
    for by in ("memcpy", "memset"):
        relative = table.where(by=by)["relative"]
        ends[by] = [round(float(relative[0]), 2), round(float(relative[-1]), 2)]
        grows &= bool((np.diff(relative) > 0).all())
    return found(
        grows,
        f"From 512 KB to 500 MB the slowdown grows from {ends['memcpy'][0]} to "
        f"{ends['memcpy'][1]} (memcpy) and from {ends['memset'][0]} to {ends['memset'][1]} "
        "(memset).",
        {"first and last": ends, "grows": grows},
        figure_svg(table.plot),
        reading=True,
    )


def _figure_9(size: Size) -> Finding:
    table, model = olmedo_fig9(interference="bandwidth"), Bandwidth.from_paper()
    near, far = (table.where(by=by)["relative"] for by in ("same GPC", "other GPC"))
    ordered = bool((near > far).all() and (far > 1).all())
    growing = bool((np.diff(near) > 0).all())
    return found(
        ordered and growing,
        f"A block on the same GPC makes that on SM 0 up to {float(near.max()):.2f} times slower, "
        f"one on another GPC {float(far.max()):.2f} times; the same GPC is worse at every "
        f"footprint: {ordered}. The neighbour's weight is {model.weights['same GPC']:g}; "
        "1 would be an equal share of a bus.",
        {
            "same GPC": float(near.max()),
            "other GPC": float(far.max()),
            "ordered": ordered,
            "weights": dict(model.weights),
        },
        figure_svg(table.plot),
        reading=True,
    )


def _gpcs(size: Size) -> Finding:
    from gpusched.model.block_placement import place

    sms = place("Xavier", [4, 1], [256, 256]).sm.tolist()
    gpcs = [sm // 2 for sm in sms]
    return found(
        sms == [0, 2, 4, 6, 1] and sorted(gpcs[:4]) == [0, 1, 2, 3] and gpcs[4] == 0,
        f"Four equal blocks go to SMs {sms[:4]}, GPCs {gpcs[:4]}; one more to SM {sms[4]}, GPC "
        f"{gpcs[4]}.",
        {"SMs": sms, "GPCs": gpcs},
    )


def _mitigates(size: Size) -> Finding:
    from gpusched.model.block_placement import place
    from gpusched.model.gpu import GPU

    shared: dict[str, list[int]] = {}
    for name, gpu in (
        ("even SMs first", GPU.preset("Xavier")),
        ("ascending", GPU.preset("Xavier").replace(sm_order="ascending")),
    ):
        shared[name] = [
            n - len({sm // 2 for sm in place(gpu, n, 128).sm.tolist()}) for n in range(1, 9)
        ]
    even, ascending = shared.values()
    return found(
        even == [0, 0, 0, 0, 1, 2, 3, 4] and ascending[1] == 1,
        f"Of 1 to 8 equal blocks {even} join another one on its GPC with the even SMs first, "
        f"{ascending} with the SMs in ascending order, where two blocks share a GPC already.",
        dict(shared),
    )


def _dimensions(size: Size) -> Finding:
    from gpusched.model.block_placement import place

    sms = [place("Xavier", [4, 4], [128, threads]).sms(1).tolist() for threads in (128, 160)]
    return found(
        sms == [[1, 3, 5, 7], [0, 2, 4, 6]],
        f"Beside four blocks of 128 threads, four more go to SMs {sms[0]}; four of 160 threads to "
        f"{sms[1]}: the policy is not round robin.",
        {"SMs": sms},
    )


CLAIMS = (
    Claim(
        "Section IV",
        "loose round robin",
        "Warp schedulers of Maxwell to Turing serve ready warps in turns; a warp that waits is "
        "skipped, which hides memory accesses and is fair.",
        ("gs.simulate.warps",),
        "agrees in this reading",
        "the policy is an assumption of the simulation, and equal warps show its fairness; that "
        "GPUs follow it needs a GPU",
        _round_robin,
    ),
    Claim(
        "Section IV",
        "two instructions per cycle",
        "A scheduler with its dispatch units issues two independent instructions of a warp in a "
        "cycle (Pascal).",
        (),
        "needs hardware",
        "gs.simulate.warps issues one instruction a cycle, each dependent on the one before",
    ),
    Claim(
        "Section IV",
        "two schedulers and two dispatch units",
        "An SM of Pascal has two warp schedulers and two dispatch units, so each scheduler issues "
        "two instructions in a cycle.",
        (),
        "cannot be decided from the text",
        "two units for two schedulers are one each; two instructions per scheduler take two each. "
        "Which of the two numbers is meant is not said",
    ),
    Claim(
        "Figure 6",
        "integer beside floating-point warps",
        "If 8 of 16 warps compute with integers instead of in double precision, the block takes as "
        "long on Pascal and half as long on Volta, whose integer cores are separate.",
        ("gs.experiments.olmedo_fig6",),
        "agrees in this reading",
        "floating-point warps occupy one pipeline, which integers share on Pascal and not on Volta "
        "(parameters of gs.simulate.warps); the text's double precision would have cores of its "
        "own on Volta (Figure 2)",
        _figure_6,
    ),
    Claim(
        "Section IV",
        "tensor cores",
        "Tensor cores are independent of integer and floating-point units.",
        (),
        "needs hardware",
        "observed without figures; tensor cores are not modelled",
    ),
    Claim(
        "Section V-A",
        "copies beside kernels of other applications",
        "One application uses the copy engine while another has a kernel on the execution engine.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _engines,
    ),
    Claim(
        "Figure 7",
        "copies of other processes, shape",
        "A vector addition on 50 MB is slower beside processes that copy or set memory; memset "
        "slows it down more than memcpy (TX2).",
        ("gs.experiments.olmedo_fig7", "gs.experiments.Bandwidth"),
        "agrees in this reading",
        _INPUTS,
        _figure_7,
    ),
    Claim(
        "Figure 7",
        "measured curves",
        "Over the number of processes the slowdown on a TX2 reaches almost 3 (memcpy) and almost 8 "
        "(memset), with similar conclusions on a Xavier.",
        ("gs.experiments.olmedo_fig7",),
        "needs hardware",
        "measurements; the curves are lost in the text",
    ),
    Claim(
        "Figure 8",
        "footprint of the kernel, shape",
        "From 512 KB to 500 MB, beside a process that copies or sets 50 MB, larger footprints "
        "suffer more.",
        ("gs.experiments.olmedo_fig8", "gs.experiments.Bandwidth"),
        "agrees in this reading",
        _INPUTS + ". The text has no second footprint, so the size at which the curve rises is the "
        "L2 cache's by assumption",
        _figure_8,
    ),
    Claim(
        "Figure 8",
        "measured curves",
        "Slowdown over the footprint on a TX2 and a Xavier.",
        ("gs.experiments.olmedo_fig8",),
        "needs hardware",
        "measurements; the curves are lost in the text",
    ),
    Claim(
        "Section V-A",
        "lesson learned: engines are arbitrated separately",
        "Copies of other jobs, of the same or another process, run beside kernels, so they have to "
        "be counted as interference.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _separate_engines,
    ),
    Claim(
        "Section V-B",
        "SMs of a GPC",
        "A Xavier has 4 GPCs of SMs 0 and 1, 2 and 3, and so on: four blocks go to SMs 0, 2, 4 and "
        "6, one on each, the next one to SM 1.",
        ("gs.place",),
        "agrees",
        "",
        _gpcs,
    ),
    Claim(
        "Figure 9",
        "same and other GPC, shape",
        "A block on the other SM of a GPC makes a block slower; on another GPC the effect is "
        "milder.",
        ("gs.experiments.olmedo_fig9", "gs.experiments.Bandwidth"),
        "agrees in this reading",
        _INPUTS + ". For another GPC the text has no number: five blocks share what four had",
        _figure_9,
    ),
    Claim(
        "Figure 9",
        "measured curves",
        "Completion time over the working set on a Xavier; with a block on the same GPC it is up "
        "to 10 times as long.",
        ("gs.experiments.olmedo_fig9",),
        "needs hardware",
        "measurements; the curves are lost in the text",
    ),
    Claim(
        "Section V-B",
        "cause: a shared bus",
        "The interference within a GPC comes from the bus to L2 and memory that its SMs share.",
        ("gs.experiments.Bandwidth",),
        "needs hardware",
        "equal shares of a bus for two equal blocks explain a factor of 2 at most, not of 10; what "
        "else adds to it, counters of a GPU must show",
    ),
    Claim(
        "Section V-B",
        "lesson learned: even SMs first",
        "As equal blocks go to even SMs first, blocks of one GPC interfere less.",
        ("gs.place",),
        "agrees",
        "",
        _mitigates,
    ),
    Claim(
        "Section VI",
        "not round robin",
        "The placement that earlier work assumed, round robin, is not the one observed.",
        ("gs.place",),
        "agrees",
        "",
        _dimensions,
    ),
    Claim(
        "Section VI",
        "use of GPUs by benchmark suites",
        "Parboil2 leaves 40 % of threads and blocks, 30 % of registers and 80 % of shared memory "
        "unused; Rodinia 35 %, 47 % and 88 %, and 52 % of the blocks; inference in small batches "
        "uses less than 15 %.",
        (),
        "needs hardware",
        "measurements of other papers",
    ),
    Claim(
        "Section VI",
        "Fermi",
        "A Fermi has 32,768 registers per block, 49,152 bytes of shared memory and 1,536 threads "
        "per SM.",
        ("gs.GPU",),
        "needs hardware",
        "no preset is as old; gs.GPU takes the three numbers",
    ),
    Claim(
        "Section VI",
        "small networks",
        "Kernels of SqueezeNet, VGG and CifarNet have too few blocks for all SMs.",
        (),
        "needs hardware",
        "a measurement of another paper, whose grids of blocks are not printed",
    ),
    Claim(
        "Section VI",
        "networks",
        "GoogLeNet has 22 convolutional layers with inception modules of four parallel layers; "
        "Apollo runs up to seven networks at once.",
        (),
        "cannot be decided from the text",
        "descriptions of programs, which are not given",
    ),
)
