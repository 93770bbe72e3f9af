"""Claims of [RTAS20], section III-C1: Figure 5, load balancing, Table IV, Definition III.3."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.olmedo_figures import olmedo_fig5, olmedo_table4

__all__ = ["CLAIMS"]


def _figure_5(size: Size) -> Finding:
    figure = olmedo_fig5()
    sms = {}
    for panel in ("left", "right"):
        rows = figure.where(panel=panel)
        sms[panel] = [rows["sm"][rows["kernel"] == kernel].tolist() for kernel in (0, 1)]
    evens, odds = [0, 2, 4, 6], [1, 3, 5, 7]
    return found(
        sms == {"left": [evens, odds], "right": [evens, evens]},
        f"Blocks of 128 and 128 threads: SMs {sms['left'][0]} and {sms['left'][1]}. Blocks of 128 "
        f"and 160: SMs {sms['right'][0]} and {sms['right'][1]}.",
        dict(sms),
        figure_svg(figure.plot),
    )


def _worked(size: Size) -> Finding:
    left, right = 64 - 4, ((64 - 0 - 5) // 5 + 1) * 5
    again = ((64 - 4 - 5) // 5 + 1) * 5
    second = (64 - 4) - 5 >= again
    from gpusched.model.block_placement import place

    sms = place("Xavier", [4, 4], [128, 160]).sms(1).tolist()
    idle = 8 - len(set(sms) | {0, 2, 4, 6})
    return found(
        left == right == 60 and not second and sms == [0, 2, 4, 6] and idle == 4,
        f"{left} >= {right} holds for the first block on SM 0; for a second one there "
        f"{64 - 4 - 5} >= {again} does not. The blocks go to SMs {sms}; {idle} of 8 SMs stay idle.",
        {"left": left, "right": right, "SMs": sms, "idle": idle},
    )


def _one_idle(size: Size) -> Finding:
    from gpusched.model.block_placement import place

    filled = set(place("Xavier", 7, 192).sm.tolist())
    joined, wrong = [], []
    for x in range(1, 33):
        on_filled = int(place("Xavier", [7, 1], [192, 32 * x]).sm[-1]) in filled
        if on_filled:
            joined.append(x)
        if on_filled != (58 >= ((64 - x) // x + 1) * x):
            wrong.append(x)
    return found(
        len(filled) == 7 and not wrong and 0 < len(joined) < 32,
        f"Seven blocks of 6 warps leave SM {({*range(8)} - filled).pop()} idle. Of blocks of 1 to "
        f"32 warps, {len(joined)} join one of the seven and {32 - len(joined)} go to the idle SM; "
        f"Equation (3) differs for {len(wrong)}.",
        {"joined": joined, "differences": wrong},
    )


def _table_4(size: Size) -> Finding:
    table = olmedo_table4(against="olmedo")
    same, rule, other = table["same"], table["rule"], table["other"]
    dark = {"most_room": int((same & ~rule).sum()), "olmedo": int((other & ~rule).sum())}
    differs = same != other
    foreseen = int((differs & rule).sum())
    left = bool((table["left"] >= 26).all())
    return found(
        min(dark.values()) > 0 and foreseen == 188 and left,
        f"On one SM against Definition III.2: {dark['most_room']} of 1,024 pairs with most_room, "
        f"{dark['olmedo']} with olmedo. The two placements differ in {int(differs.sum())} pairs. "
        f"In {foreseen} of these pairs Equation (3) puts both blocks on one SM; olmedo does so, "
        "most_room prefers another SM with at least as much room.",
        {"dark": dark, "differ": int(differs.sum()), "of these by III.2 on one SM": foreseen},
        figure_svg(table.plot),
        reading=True,
    )


def _balance(size: Size) -> Finding:
    from gpusched.model.block_placement import place

    counts = {}
    first: list[int] = []
    for threads in (64, 128):
        placed = place("Xavier", [6, 16], [512, threads])
        empty = sorted({*range(8)} - set(placed.sms(0).tolist()))
        sms = placed.sms(1)
        counts[threads] = int(np.isin(sms, empty).sum())
        first = np.isin(sms[:8], empty).tolist()
    rest = len(set(sms[8:].tolist()))
    return found(
        counts[64] == 16 and all(first) and rest == 8,
        f"Beside six SMs with 16 warps: all {counts[64]} of 16 blocks of 2 warps go to the two "
        f"empty SMs; of 16 blocks of 4 warps the first {sum(first)}, the others to {rest} SMs.",
        {"two warps": counts[64], "four warps": counts[128], "SMs of the rest": rest},
    )


def _definition_3(size: Size) -> Finding:
    """One SM with x warps, z' on the others, with and without a limit of blocks per SM."""
    from gpusched.model.block_placement import place
    from gpusched.model.gpu import GPU

    step = size.count(4, 1)
    wrong = {64: 0, 32: 0}
    cases = 0
    for slots in wrong:
        gpu = GPU.preset("Xavier").replace(blocks_per_sm=slots)
        for z in range(2, 33, step):
            for x in range(1, z, step):
                load = np.tile([z, 1, 0, 0], (gpu.sms, 1))
                load[7, 0] = x  # the last SM in order, so that ties go to another
                for y in range(1, 33, step):
                    rule = 64 - z < (64 - x) // y * y <= 64 - x
                    cases += slots == 64
                    wrong[slots] += (place(gpu, 1, 32 * y, load=load).sm[0] == 7) != rule
    return found(
        wrong[64] == 0,
        f"Equation (4) and most_room differ in {wrong[64]} of {cases} triples (z', x, y) without a "
        f"limit of blocks per SM, in {wrong[32]} with 32 blocks.",
        {"triples": cases, "differences": wrong[64], "with 32 blocks": wrong[32]},
        reading=True,
    )


def _order(size: Size) -> Finding:
    """Definition III.3 in its own setting: seven SMs with z', then x, then y."""
    table = olmedo_table4(placement="olmedo")
    x, y = table["x"], table["y"]
    alone = 64 - x >= ((64 - y) // y + 1) * y
    balance = (64 - x) // y * y > 58
    either = alone | balance
    fewer = x < 6  # the first block's SM has fewer warps than the others
    agree = int((table["same"][fewer] == either[fewer]).sum())
    most = olmedo_table4()["same"]
    others = int((most[fewer] == either[fewer]).sum())
    return found(
        agree == int(fewer.sum()),
        f"First Equation (3), then (4): placement='olmedo', which is written so, gives this in "
        f"{agree} of {int(fewer.sum())} pairs with x < z' = 6; most_room, which is not, in "
        f"{others}, and Equation (4) alone in {int((most[fewer] == balance[fewer]).sum())}.",
        {"olmedo": agree, "most_room": others, "pairs": int(fewer.sum())},
        reading=True,
    )


CLAIMS = (
    Claim(
        "Figure 5",
        "four blocks each of two streams",
        "With 128 threads each the eight blocks go to eight SMs; with 128 and 160 those of the "
        "second stream join the first four SMs.",
        ("gs.experiments.olmedo_fig5",),
        "agrees",
        "",
        _figure_5,
    ),
    Claim(
        "Figure 5",
        "execution times of Mandelbrot kernels",
        "Sharing SMs while others idle may harm performance and worst-case responses of both "
        "kernels.",
        ("gs.experiments.olmedo_fig5",),
        "needs hardware",
        "the text has no number; interference= takes measured factors",
    ),
    Claim(
        "Section III-C1",
        "Equation (2) for SM 0",
        "x = 4, y = 5: 64 - 4 = 60 >= 60, so SM 0 takes one block; not a second one. Four SMs stay "
        "idle.",
        ("gs.place",),
        "agrees",
        "",
        _worked,
    ),
    Claim(
        "Section III-C1",
        "load balancing, seven blocks",
        "Beside seven SMs with 6 warps, a block of x warps goes to one of them or to the idle SM "
        "according to Equation (3).",
        ("gs.place",),
        "agrees",
        "",
        _one_idle,
    ),
    Claim(
        "Table IV",
        "load balancing threshold",
        "Equation (3) predicts white and light gray cells, but not the dark gray ones, where both "
        "blocks share an SM against it.",
        ("gs.experiments.olmedo_table4",),
        "agrees in this reading",
        "the numbers and colours of the cells are lost in the text. Both placements have such "
        "cells; which pairs they are, a GPU must show",
        _table_4,
    ),
    Claim(
        "Section III-C1",
        "sixteen blocks beside six loaded SMs",
        "16 blocks of 2 warps all go to the two empty SMs; of 16 blocks of 4 warps the first 8 do, "
        "the others to all SMs.",
        ("gs.place",),
        "agrees",
        "",
        _balance,
    ),
    Claim(
        "Definition III.3",
        "Equation (4)",
        "With z' warps on all other SMs, a block of y warps goes to the SM with x if "
        "mw - z' < floor((mw - x) / y) y <= mw - x.",
        ("gs.place",),
        "agrees in this reading",
        "x < z' and the number of blocks per SM does not limit; with 32 block slots the room for "
        "small blocks ends earlier",
        _definition_3,
    ),
    Claim(
        "Section III-C1",
        "rationale of Equation (4)",
        "Light gray cells appear where the largest multiple of y within mw - x exceeds the warps "
        "left on an SM with a block of z warps.",
        (),
        "cannot be decided from the text",
        "Table IV has its extra pairs in dark gray and the equation has z'; the sentence speaks of "
        "light gray and z, and no table of this setting (one SM with x, all others with z') is "
        "printed",
    ),
    Claim(
        "Section III-C1",
        "Equation (3) first, then (4)",
        "The scheduler tries Equation (3) and, where it fails, Equation (4).",
        ("gs.place", "gs.experiments.olmedo_table4"),
        "agrees in this reading",
        "placement='olmedo' is this order itself, so its agreement is no evidence. The most-room "
        "rule, of which each of the two is a special case, is the default and differs where SMs "
        "have equal room. Only a GPU can tell them apart",
        _order,
    ),
    Claim(
        "Section III-C1",
        "other loads",
        "How blocks are placed when the loads z' differ is not understood.",
        ("gs.place",),
        "cannot be decided from the text",
        "the paper leaves it open; the most-room rule covers every load",
    ),
)
