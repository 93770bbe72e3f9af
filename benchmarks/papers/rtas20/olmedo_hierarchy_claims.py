"""Claims of [RTAS20], sections III, III-A and III-B: applications and streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.olmedo_figures import rtss2017

__all__ = ["CLAIMS"]


def _contexts(durations: list[int], streams: list[int], **options: Any) -> Any:
    """Kernels that fill a Xavier, all launched at 0, of streams with their own contexts."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    launches = Launches(
        [0] * len(durations),
        durations,
        stream=range(len(durations)),
        blocks=8,
        threads=1024,
        stream_context=streams,
    )
    return simulate.hierarchy(launches, "Xavier", channels=0, **options)


def _levels(size: Size) -> Finding:
    run = _contexts([300, 300, 100], [0, 0, 1], timeslice=1000)
    overlap = [run.overlap(0, 1), run.overlap(0, 2)]
    sms = len(np.unique(run.blocks.sm))
    from gpusched.simulate.warps_run import warps

    finish = warps([0] * 8, [50] * 8)
    spread = int(finish.max() - finish.min())
    return found(
        overlap == [300, 0] and sms == 8 and spread <= 8,
        f"Kernels of two applications overlap for {overlap[1]} ticks, those of two streams of one "
        f"for {overlap[0]} of 300; blocks go to {sms} SMs, and eight equal warps on an SM "
        f"finish within {spread} cycles.",
        {"overlap": overlap, "SMs": sms, "spread": spread},
        figure_svg(run.plot),
    )


def _tdma(size: Size) -> Finding:
    both = _contexts([300, 300], [0, 1], timeslice=100)
    alone = _contexts([300], [0], timeslice=100)
    idle = _contexts([300, 1], [0, 1], timeslice=100)
    ends = both.end.tolist()
    return found(
        ends == [500, 600] and alone.end[0] == 300 and idle.end[0] <= 301,
        f"Two applications of 300 ticks with slices of 100 end at {ends}; alone one ends at "
        f"{alone.end[0]}; beside one with 1 tick of work at {idle.end[0]} (work-conserving).",
        {"both": ends, "alone": int(alone.end[0]), "beside little": int(idle.end[0])},
    )


def _priorities(size: Size) -> Finding:
    ends = {}
    for level in ("low", "medium", "high"):
        run = _contexts(
            [900, 900, 900], [0, 1, 2], timeslice=100, context_priority=["low", "medium", level]
        )
        ends[level] = int(run.end[2])
    return found(
        ends["high"] <= ends["medium"] <= ends["low"] and ends["high"] < ends["low"],
        "Beside a low and a medium application, one with 900 ticks of work ends at "
        + ", ".join(f"{end} ({level})" for level, end in ends.items())
        + ".",
        dict(ends),
        reading=True,
    )


def _one_application(size: Size) -> Finding:
    run = _contexts([300, 300], [0, 1], timeslice=1000)
    from gpusched import simulate
    from gpusched.model.launches import Launches

    # A kernel of one application, a copy of another.
    mixed = Launches(
        [0, 0], 200, kind=["kernel", "copy_in"], stream=[0, 1], threads=128, stream_context=[0, 1]
    )
    beside = simulate.hierarchy(mixed, "Xavier", timeslice=1000)
    kernels, engines = run.overlap(0, 1), beside.overlap(0, 1)
    return found(
        kernels == engines == 0,
        f"Kernels of two applications overlap for {kernels} ticks, a kernel and a copy of two "
        f"applications for {engines} of 200.",
        {"kernels": kernels, "kernel and copy": engines},
    )


def _stream_fifo(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    rng = np.random.default_rng(3)
    wrong = 0
    sets = size.count(40, 2000)
    for _ in range(sets):
        n = 12
        launches = Launches(
            np.sort(rng.integers(0, 50, n)),
            rng.integers(1, 30, n),
            stream=rng.integers(0, 3, n),
            blocks=rng.integers(1, 12, n),
            threads=rng.integers(1, 1025, n),
        )
        run = simulate.hierarchy(launches, "Xavier", channels=0)
        for s in range(3):
            rows = np.flatnonzero(launches.stream == s)
            wrong += int((run.first[rows[1:]] < run.end[rows[:-1]]).sum())
    return found(
        wrong == 0,
        f"In {sets} random programs of 12 kernels in 3 streams {wrong} kernels start before the "
        "one before them in their stream has ended.",
        {"programs": sets, "wrong": wrong},
    )


def _isolation(size: Size) -> Finding:
    # Two streams of one application and one of another.
    run = _contexts([150, 150, 150], [0, 0, 1], timeslice=1000)
    inside, across = run.overlap(0, 1), run.overlap(0, 2) + run.overlap(1, 2)
    return found(
        inside == 150 and across == 0,
        f"Kernels of the two streams of A0 overlap for {inside} ticks, with that of A1 for "
        f"{across}.",
        {"within": inside, "across": across},
    )


def _stream_priority(size: Size) -> Finding:
    table = rtss2017(3)
    rows = dict(zip(table["kernel"].tolist(), table["end"].tolist(), strict=True))
    blocks = table.run.blocks
    assert blocks is not None
    low = blocks.kernel == 0
    whole = bool((blocks.end[low] - blocks.start[low] == 50).all())
    return found(
        whole and rows["K1"] == 500,
        f"K1 of low priority is left behind by K2 and K3 and ends at {rows['K1'] / 100:g} s; each "
        f"of its blocks runs 0.5 s without interruption: {whole}.",
        {"ends": rows, "whole blocks": whole},
    )


CLAIMS = (
    Claim(
        "Figure 4",
        "four levels of scheduling",
        "The application scheduler picks an application, whose streams are served in FIFO order; "
        "blocks are distributed to SMs, and warps are scheduled within an SM.",
        ("gs.simulate.hierarchy", "gs.simulate.warps"),
        "agrees",
        "",
        _levels,
    ),
    Claim(
        "Section III-A",
        "time slices",
        "Channels share the GPU by work-conserving time division; a slice ends with preemption.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _tdma,
    ),
    Claim(
        "Section III-A",
        "priorities in the runlist",
        "An entry has a low, medium or high priority, which decides how many slots it has in a "
        "round.",
        ("gs.simulate.hierarchy",),
        "agrees in this reading",
        "the text does not give the sequence of slots; context_priority= lays it out as the driver "
        "of NVIDIA's embedded boards does, and runlist= takes any other",
        _priorities,
    ),
    Claim(
        "Section III-A",
        "granularity of preemption",
        "A slice ends at a block's, an instruction's or a pixel's boundary.",
        (),
        "needs hardware",
        "the simulation freezes blocks at the end of the slice (instruction boundary)",
    ),
    Claim(
        "Section III-A",
        "one application at a time",
        "Prior work has only channels of one application served at a time: neither kernels nor "
        "copies of two applications overlap.",
        ("gs.simulate.hierarchy",),
        "differs",
        "Section V-A of the paper says that it is not so for copies beside kernels, and the "
        "simulation follows that. For kernels of two applications it is so: they do not overlap.",
        _one_application,
    ),
    Claim(
        "Section III-B",
        "FIFO within a stream",
        "Operations of a stream run one after the other in the order of submission, those of "
        "different streams may overlap.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _stream_fifo,
    ),
    Claim(
        "Section III-B",
        "isolation of applications",
        "While A0, with two streams, runs, the stream of A1 does not interfere with it.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "",
        _isolation,
    ),
    Claim(
        "Section III-B",
        "stream priorities",
        "A kernel of high priority takes the SMs from one of low priority when its blocks end "
        "(block boundary).",
        ("gs.experiments.rtss2017",),
        "agrees",
        "",
        _stream_priority,
    ),
    Claim(
        "Section III-B",
        "two levels of priority",
        "Maxwell, Pascal, Volta and Turing have two levels of stream priority.",
        (),
        "needs hardware",
        "a device reports its range of priorities; the simulation takes any number of levels",
    ),
)
