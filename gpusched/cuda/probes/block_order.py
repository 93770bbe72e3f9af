"""Probes of the placement of blocks on SMs.

Source: [RTAS20], the order of SMs, Tables II and III, Definition III.2 and shared memory, compared
with ``gs.place``. The probes of the clock and the occupancy come first, because the others depend
on them.

Carve-outs for shared memory ([RTAS20], section III-C2): open on a GPU is whether a kernel joins an
SM with a larger carve-out than its own, and which carve-out the driver chooses for a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpusched.cuda.device import Operation, Run
from gpusched.cuda.probes.bench import MS, UNDECIDED, Bench, Finding, decided
from gpusched.model.block_placement import PLACEMENTS, place
from gpusched.model.gpu import GPU, WARP_THREADS
from gpusched.model.gpu import occupancy as blocks_that_fit
from gpusched.model.gpus.gpu_fields import CARVEOUT_RULES


def timer(bench: Bench) -> Finding:
    """Resolution of the device's clock, and bounds of its offset from the host's."""
    run = bench.device.run([Operation(blocks=bench.gpu.sms, ns=20_000)], repeats=50)
    times = np.unique(np.concatenate([run.block_start.ravel(), run.block_end.ravel()]))
    steps = np.diff(times)
    least = int(np.gcd.reduce(steps)) if len(steps) else 0
    low, high = bench.device.offset()
    text = f"the device's clock steps by {least} ns; host minus device within {high - low} ns"
    return Finding("timer", "figure", text, {"step_ns": least, "offset": [low, high]})


def occupancy(bench: Bench) -> Finding:
    """Computed occupancies compared with the driver's."""
    check = bench.device.check_occupancy()
    wrong = check.differences()
    text = f"{len(check.ours)} shapes of blocks, {len(wrong)} differ from the driver"
    if wrong:
        text += f"; first (threads, regs, smem, ours, driver's): {wrong[0]}"
    status = "fail" if wrong else "pass"
    return Finding("occupancy", status, text, {"shapes": len(check.ours), "differ": wrong})


def sm_order(bench: Bench) -> Finding:
    """Order of SMs, measured with one block per SM; the most frequent order is used."""
    sms = bench.gpu.sms
    op = Operation(blocks=sms, threads=1024, ns=MS // 2)
    run = bench.device.run([op], repeats=5 if bench.quick else 40)
    rows = [tuple(row) for row in run.block_sm.tolist()]
    seen = {row: rows.count(row) for row in rows}
    order, count = max(seen.items(), key=lambda item: item[1])
    whole = all(sorted(row) == list(range(sms)) for row in seen)
    data = {"order": list(order), "share": count / len(rows), "orders": len(seen)}
    if sorted(order) != list(range(sms)):
        text = f"one block per SM was expected; SMs {_short(order)}"
        return Finding("sm order", "fail", text, data)
    bench.gpu = with_order(bench.gpu, order)
    text = f"{_short(order)}; the same in {count} of {len(rows)} runs"
    return Finding("sm order", "pass" if whole and len(seen) == 1 else "fail", text, data)


def order_after_others(bench: Bench) -> Finding:
    """Whether the order of SMs depends on the kernels that ran before."""
    sms = bench.gpu.sms
    if sms < 3:
        return Finding("sm order after others", "skip", "the device has fewer than three SMs")
    op = Operation(blocks=sms, threads=1024, ns=MS // 2)
    orders: dict[int, set[tuple[int, ...]]] = {}
    for before in (0, 1, 2, sms // 2, sms - 1, sms + 1):
        for _ in range(bench.repeats(2, 10)):
            if before:
                bench.device.run([Operation(blocks=before, ns=1000)])
            orders.setdefault(before, set()).add(tuple(bench.device.run([op]).sm(0)))
    usual = orders[0]
    votes: list[str | None] = []
    for before, seen in orders.items():
        if before and len(usual) == 1:
            votes.append("the same" if seen == usual else "depends on what ran before")
        elif before:
            votes.append("depends on what ran before" if len(seen) == 1 else UNDECIDED)
    data = {"orders": {str(k): [list(row) for row in sorted(v)][:4] for k, v in orders.items()}}
    if "depends on what ran before" in votes:
        votes = ["depends on what ran before"]
    return decided("sm order after others", votes, "the same", data)


def with_order(gpu: GPU, order: Sequence[int]) -> GPU:
    return gpu.replace(sm_order=list(order))


def pairs(bench: Bench) -> Finding:
    """Tables II and III: one block of x warps, then one of y warps."""
    most = bench.gpu.warps_per_sm // 2
    step = max(1, most // 4) if bench.quick else 1
    warps = range(1, most + 1, step)
    cases = [[Operation(threads=32 * x), Operation(threads=32 * y)] for x in warps for y in warps]
    return compare(bench, "tables II and III", "a block of x, then one of y warps", cases)


def third_kernel(bench: Bench) -> Finding:
    """Cases that distinguish the rules, such as n-1 blocks of 6 warps, one of 1, one of 11."""
    n = bench.gpu.sms
    cases = [
        [
            Operation(blocks=n - 1, threads=32 * z),
            Operation(threads=32 * x),
            Operation(threads=32 * y),
        ]
        for z, x, y in [(6, 1, 11), (8, 2, 5), (6, 3, 10), (12, 4, 7), (4, 1, 3)]
    ]
    if n == 1:
        return Finding("III.2 or most room", "skip", "the device has one SM")
    return compare(bench, "III.2 or most room", "n-1 blocks, one, and one more", cases)


def shared_memory(bench: Bench) -> Finding:
    """A block with shared memory, then one without, of 3 warps ([RTAS20], III-C2)."""
    step = 4096 if bench.quick else 256
    sizes = [*range(0, 12_288 + 1, step), bench.device.limits["smem_per_block"] // 2]
    cases = [[Operation(threads=32, smem=m), Operation(threads=96)] for m in sizes]
    found = compare(bench, "shared memory", "a block with shared memory, then one without", cases)
    apart = None
    for m, case in zip(sizes, cases, strict=True):
        _, seen = _placed(bench, case)
        if seen[0] != seen[1]:
            apart = m
            break
    text = f"{found.text}; they {'never part' if apart is None else f'part from {apart} bytes on'}"
    return replace(found, text=text, data=found.data | {"apart_from": apart})


def registers(bench: Bench) -> Finding:
    """A block of each variant of registers, then one with few registers."""
    cases = [
        [Operation(threads=t, regs=regs), Operation(threads=96)]
        for regs in bench.device.regs
        for t in (32, 128)
    ]
    return compare(bench, "registers", "a block with registers, then one with few", cases)


def mixtures(bench: Bench) -> Finding:
    """Random kernels that all fit the device at once."""
    chance = np.random.default_rng(1)
    cases: list[list[Operation]] = []
    while len(cases) < (8 if bench.quick else 60):
        ops = []
        for _ in range(int(chance.integers(2, 5))):
            ops.append(
                Operation(
                    blocks=int(chance.integers(1, 2 * bench.gpu.sms)),
                    threads=32 * int(chance.integers(1, 13)),
                    regs=int(chance.choice(bench.device.regs[:5])),
                    smem=int(chance.choice([0, 0, 2048, 10_000, 24_000])),
                )
            )
        regs = [bench.device.regs[bench.device.variant(op.regs)] for op in ops]
        fits = place(
            bench.spin_gpu,
            [op.blocks for op in ops],
            [op.threads for op in ops],
            regs,
            [op.smem for op in ops],
        )
        if fits.all_placed:
            cases.append(ops)
    return compare(bench, "mixtures", "random kernels", cases)


def _placed(bench: Bench, kernels: Sequence[Operation]) -> tuple[Run, list[int]]:
    """Run kernels concurrently, each in its own stream; the run and the SMs in dispatch order.

    The run is repeated with longer kernels when this process was delayed between two launches, so
    that a kernel ended before the last one started.
    """
    for lasting in (MS // 2, 2 * MS, 10 * MS):
        ns = lasting + 20_000 * len(kernels)
        run = bench.device.run([replace(op, stream=s, ns=ns) for s, op in enumerate(kernels)])
        if run.resident_at_once[0]:
            break
    return run, run.block_sm[0].tolist()


def _expected(bench: Bench, run: Run, placement: str = "most_room") -> list[int]:
    """SMs of the blocks by ``gs.place``."""
    ops = run.operations
    placed = place(
        bench.spin_gpu,
        [op.blocks for op in ops],
        [op.threads for op in ops],
        run.regs,
        [op.smem for op in ops],
        placement,
    )
    sms: list[int] = placed.sm.tolist()
    return sms


def compare(bench: Bench, name: str, what: str, cases: Sequence[Sequence[Operation]]) -> Finding:
    """Compare the SMs of the blocks of all cases with the rule "most_room"."""
    wrong: list[dict[str, Any]] = []
    agree = dict.fromkeys(PLACEMENTS, 0)
    for case in cases:
        run, seen = _placed(bench, case)
        for policy in PLACEMENTS:
            agree[policy] += seen == _expected(bench, run, policy)
        if seen != (told := _expected(bench, run)):
            shapes = [
                (op.blocks, op.threads, int(r), op.smem)
                for op, r in zip(run.operations, run.regs, strict=True)
            ]
            wrong.append({"kernels": shapes, "sm": seen, "most_room": told})
    data = {"cases": len(cases), "agree": agree, "disagreements": wrong}
    counts = ", ".join(f"{policy} {count}" for policy, count in agree.items())
    text = f"{what}: of {len(cases)} cases placed as predicted by {counts}"
    if wrong:
        first = wrong[0]
        text += (
            f"; kernels (blocks, threads, registers, shared memory) {first['kernels']} went "
            f"to SMs {_short(first['sm'])}, most_room says {_short(first['most_room'])}"
        )
    return Finding(name, "fail" if wrong else "pass", text, data)


def _short(sms: Sequence[int]) -> str:
    shown = ", ".join(map(str, sms[:12]))
    return f"{shown}, ..." if len(sms) > 12 else shown


KB = 1024
CARVEOUT_SIZES = (0, 8 * KB, 40 * KB, 96 * KB)
_TRIES = (5 * MS, 20 * MS)


def carveouts(bench: Bench) -> Finding:
    """Pairs of kernels of one block per SM, each as large as half an SM, in both orders.

    Each pair runs with carve-outs chosen by the driver, then with the largest one preferred by
    both. The rules are compared in the first case; in the second, all pairs should share SMs.
    """
    gpu = bench.gpu
    if not gpu.carveouts:
        return Finding("carve-outs", "skip", "no carve-outs are known of this device")
    threads = min(1024, gpu.warps_per_sm // 2 * WARP_THREADS)
    rows: list[dict[str, Any]] = []
    for first in CARVEOUT_SIZES:
        for second in CARVEOUT_SIZES:
            sizes = enumerate((first, second))
            shape = Operation(blocks=gpu.sms, threads=threads)
            pair = [replace(shape, smem=size, stream=stream) for stream, size in sizes]
            if not _fits(bench.spin_gpu, pair):
                continue
            row: dict[str, Any] = {"smem": [first, second]}
            for preference, key in ((None, "driver"), (100, "largest")):
                bench.device.prefer_carveout(preference)
                try:
                    row[key] = _overlap(bench, pair)
                finally:
                    bench.device.prefer_carveout()
            row |= {rule: _fits(gpu.replace(carveout_rule=rule), pair) for rule in CARVEOUT_RULES}
            rows.append(row)
    agree = {rule: sum(row["driver"] == row[rule] for row in rows) for rule in CARVEOUT_RULES}
    apart = [row["smem"] for row in rows if not row["largest"]]
    counts = ", ".join(f"{rule} {count}" for rule, count in agree.items())
    text = f"of {len(rows)} pairs of kernels, sharing of SMs as predicted by {counts}"
    if apart:
        text += f"; with the largest carve-out preferred, {apart[0]} bytes did not share SMs"
    right = [rule for rule in CARVEOUT_RULES if agree[rule] == len(rows)]
    data = {"threads": threads, "pairs": rows, "agree": agree, "rules": right}
    return Finding("carve-outs", "fail" if apart or not right else "pass", text, data)


def _fits(gpu: GPU, pair: list[Operation]) -> bool:
    """Whether the second kernel joins the first one on its SMs."""
    columns = zip(*((op.blocks, op.threads, op.regs, op.smem) for op in pair), strict=True)
    blocks, threads, regs, smem = map(list, columns)
    if min(blocks_that_fit(gpu, t, r, m) for t, r, m in zip(threads, regs, smem, strict=True)) == 0:
        return False
    return place(gpu, blocks, threads, regs, smem).all_placed


def _overlap(bench: Bench, pair: list[Operation]) -> bool:
    """Whether a block of the second kernel starts before one of the first ends.

    Repeated with longer kernels, as this process may be delayed between the launches.
    """
    for ns in _TRIES:
        run = bench.device.run([replace(op, ns=ns) for op in pair])
        later = run.block_start[0, run.kernel == 1].min()
        if later < run.block_end[0, run.kernel == 0].min():
            return True
    return False
