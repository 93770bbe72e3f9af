"""Probe of the carve-outs for shared memory: which kernels share an SM.

Source: [RTAS20], section III-C2. Open on a GPU is whether a kernel joins an SM with a larger
carve-out than its own, and which carve-out the driver chooses for a kernel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusched.cuda.device import Operation
from gpusched.cuda.probes.bench import MS, Bench, Finding
from gpusched.model.block_placement import place
from gpusched.model.gpu import CARVEOUT_RULES, GPU, WARP_THREADS, occupancy

KB = 1024
SIZES = (0, 8 * KB, 40 * KB, 96 * KB)
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
    for first in SIZES:
        for second in SIZES:
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
    if min(occupancy(gpu, t, r, m) for t, r, m in zip(threads, regs, smem, strict=True)) == 0:
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
