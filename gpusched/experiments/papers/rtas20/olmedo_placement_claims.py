"""Claims of [RTAS20], section III-C1: Tables II to IV, Definitions III.1 to III.3, Figure 5."""

from __future__ import annotations

import numpy as np

from gpusched.experiments.olmedo.olmedo_figures import olmedo_fig5
from gpusched.experiments.olmedo.olmedo_tables import olmedo_table2, olmedo_table3, olmedo_table4
from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg

__all__ = ["CLAIMS"]

_COLOURS = (
    "colours are lost in the text; Definition III.1, which was read off the table, stands for them"
)


def _shared_sm(size: Size) -> Finding:
    table = olmedo_table2()
    same = table["same"]
    above = bool((table["y"][same] > table["x"][same]).all())
    example = bool(table.where(x=1, y=3)["same"][0])
    return found(
        example and above and 0 < same.sum() < 1024,
        f"{int(same.sum())} of 1,024 pairs of blocks share an SM of an idle Xavier, all of them "
        f"above the diagonal: {above}; 1 and 3 warps do: {example}.",
        {"pairs": int(same.sum()), "above the diagonal": above},
    )


def _table_2(size: Size) -> Finding:
    table = olmedo_table2()
    left = bool((table["left"] == 64 - table["x"]).all())
    wrong = int((table["same"] != table["rule"]).sum())
    return found(
        left and wrong == 0,
        f"All 1,024 cells are 64 - x: {left}; the pairs on one SM differ from Definition III.1 in "
        f"{wrong} cells.",
        {"cells": left, "differences": wrong},
        figure_svg(table.plot),
        reading=True,
    )


def _older(size: Size) -> Finding:
    xavier = olmedo_table2()["same"]
    differ = {n: int((olmedo_table2(n)["same"] != xavier).sum()) for n in ("TX1", "TX2")}
    return found(
        set(differ.values()) == {0},
        "Cells that differ from the Xavier's: "
        + ", ".join(f"{name} {count}" for name, count in differ.items())
        + ".",
        dict(differ),
        reading=True,
    )


def _definition_1(size: Size) -> Finding:
    table = olmedo_table2(placement="most_room")
    x, y = table["x"], table["y"]
    wrong = int((table["same"] != (64 - x >= ((64 - y) // y + 1) * y)).sum())
    return found(
        wrong == 0,
        f"Equation (2) and most_room differ in {wrong} of 1,024 cells.",
        {"differences": wrong},
    )


def _multiple(size: Size) -> Finding:
    table = olmedo_table2()
    x, y = table["x"], table["y"]
    k = (64 - y) // y + 1
    smallest = bool(((k * y > 64 - y) & ((k - 1) * y <= 64 - y)).all())
    wrong = int((table["same"] != (64 - x >= k * y)).sum())
    return found(
        smallest and wrong == 0,
        f"k y is the smallest multiple of y above mw - y in all cells: {smallest}; mw - x >= k y "
        f"and the shared SMs differ in {wrong} cells.",
        {"smallest": smallest, "differences": wrong},
    )


def _table_3(size: Size) -> Finding:
    table = olmedo_table3()
    left = bool((table["left"] == 32 - table["x"]).all())
    wrong = int((table["same"] != table["rule"]).sum())
    return found(
        left and wrong == 0,
        f"All 1,024 cells are 32 - x: {left}; with mw = 32 Definition III.1 differs in {wrong}.",
        {"cells": left, "differences": wrong},
        figure_svg(table.plot),
        reading=True,
    )


def _definition_2(size: Size) -> Finding:
    """Blocks of x and y warps where every SM holds z warps; without a limit of blocks per SM."""
    from gpusched.model.gpu import GPU
    from gpusched.model.placement import place

    gpu = GPU.preset("Xavier").replace(blocks_per_sm=64)
    step = size.count(5, 1)
    cases = wrong = unfit = 0
    for z in range(0, 64, step):
        load = np.tile([z, 1, 0, 0], (gpu.sms, 1))
        for x in range(1, min(32, 64 - z) + 1, step):
            for y in range(1, min(32, 64 - z) + 1, step):
                sm = place(gpu, [1, 1], [32 * x, 32 * y], load=load).sm
                rule = (64 - z) - x >= ((64 - z - y) // y + 1) * y
                cases += 1
                wrong += bool(sm[0] == sm[1]) != rule
        unfit += sum(
            y > 64 - z and (64 - z) - 1 >= ((64 - z - y) // y + 1) * y for y in range(1, 33)
        )
    return found(
        wrong == 0,
        f"Equation (3) and most_room differ in {wrong} of {cases} triples (z, x, y) in which the "
        f"blocks fit. Of blocks that fit no SM, Equation (3) accepts {unfit}.",
        {"triples": cases, "differences": wrong, "accepted without room": unfit},
        reading=True,
    )


def _turing(size: Size) -> Finding:
    from gpusched.model.gpu import GPU
    from gpusched.model.placement import place

    volta = GPU.preset("Xavier").replace(blocks_per_sm=64)
    turing = volta.replace(threads_per_sm=1024)
    load = np.tile([32, 1, 0, 0], (volta.sms, 1))
    differ = 0
    for x in range(1, 32, size.count(2, 1)):
        for y in range(1, 33 - x):
            one = place(volta, [1, 1], [32 * x, 32 * y], load=load).sm
            other = place(turing, [1, 1], [32 * x, 32 * y]).sm
            differ += one.tolist() != other.tolist()
    return found(
        differ == 0,
        f"SMs of 64 warps that hold 32 and empty SMs of 32 warps get the pairs of blocks "
        f"differently in {differ} cases.",
        {"differences": differ},
    )


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
    from gpusched.model.placement import place

    sms = place("Xavier", [4, 4], [128, 160]).sms(1).tolist()
    idle = 8 - len(set(sms) | {0, 2, 4, 6})
    return found(
        left == right == 60 and not second and sms == [0, 2, 4, 6] and idle == 4,
        f"{left} >= {right} holds for the first block on SM 0; for a second one there "
        f"{64 - 4 - 5} >= {again} does not. The blocks go to SMs {sms}; {idle} of 8 SMs stay idle.",
        {"left": left, "right": right, "SMs": sms, "idle": idle},
    )


def _one_idle(size: Size) -> Finding:
    from gpusched.model.placement import place

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
    from gpusched.model.placement import place

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
    from gpusched.model.gpu import GPU
    from gpusched.model.placement import place

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
        "Section III-C1",
        "two blocks on one SM",
        "Some pairs of blocks of two streams share an SM though others are idle, such as 1 and 3 "
        "warps on a Xavier; all such pairs lie above the diagonal of the table.",
        ("gs.experiments.olmedo_table2",),
        "agrees",
        "",
        _shared_sm,
    ),
    Claim(
        "Table II",
        "pairs of blocks, 64 warps per SM",
        "After a block of x warps, 64 - x are left; gray cells share an SM.",
        ("gs.experiments.olmedo_table2",),
        "agrees in this reading",
        _COLOURS,
        _table_2,
    ),
    Claim(
        "Table II",
        "Maxwell, Pascal and Volta",
        "The table is the same for the three architectures.",
        ("gs.experiments.olmedo_table2",),
        "agrees in this reading",
        "the same rule is simulated on all three, whose SMs hold 64 warps and 32 blocks; that the "
        "GPUs agree needs GPUs",
        _older,
    ),
    Claim(
        "Definition III.1",
        "Equation (2)",
        "A block of y warps joins one of x warps if mw - x >= (floor((mw - y) / y) + 1) y.",
        ("gs.place", "gs.experiments.olmedo_table2"),
        "agrees",
        "The most-room rule is stated without this equation and gives the same pairs; "
        "placement='olmedo' is the equation itself and is no evidence.",
        _definition_1,
    ),
    Claim(
        "Section III-C1",
        "rationale of Equation (2)",
        "Blocks share an SM if the warps left reach the smallest multiple of y above the diagonal.",
        ("gs.experiments.olmedo_table2",),
        "agrees",
        "",
        _multiple,
    ),
    Claim(
        "Table III",
        "pairs of blocks, 32 warps per SM",
        "On Turing 32 - x warps are left, and the same rule holds with mw = 32.",
        ("gs.experiments.olmedo_table3",),
        "agrees in this reading",
        _COLOURS,
        _table_3,
    ),
    Claim(
        "Definition III.2",
        "Equation (3)",
        "On an SM with z warps the rule holds with mw - z in place of mw.",
        ("gs.place",),
        "agrees in this reading",
        "the other SMs hold z warps, too, y fits (the equation accepts some blocks that do not), "
        "and the number of blocks per SM does not limit",
        _definition_2,
    ),
    Claim(
        "Section III-C1",
        "Turing and half-filled Volta",
        "An empty SM of Turing behaves like one of Volta with 32 warps on it.",
        ("gs.place",),
        "agrees",
        "",
        _turing,
    ),
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
