"""Claims of [RTAS20], section III-C1: Tables II and III, Definitions III.1 and III.2."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.olmedo_figures import olmedo_table2, olmedo_table3

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
    from gpusched.model.block_placement import place
    from gpusched.model.gpu import GPU

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
    from gpusched.model.block_placement import place
    from gpusched.model.gpu import GPU

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
)
