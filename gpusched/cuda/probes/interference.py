"""Probes of interference: slowdown of a kernel by copies and by other blocks.

[RTAS20], Figures 7 to 9: copies of this and of other processes, and blocks on the same SM, on the
neighbouring SM, and on others.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from gpusched.cuda.device import Device, Operation, Run
from gpusched.cuda.probes.bench import MS, Bench, Finding

LIMIT_S = 60
"""Time limit for a process to start or to end."""

_CODE = f"from {__name__} import make_noise; " + "make_noise({index}, {kind!r}, {size})"


def make_noise(index: int, kind: str, size: int) -> None:
    """Copy or set memory until the standard input ends; print "ready" after the start."""
    import select

    with Device(index) as device:
        ops = [Operation(kind=kind, bytes=size) for _ in range(8)]
        device.run(ops)
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            device.run(ops, repeats=4)


@contextmanager
def noisy(index: int, kind: str, count: int) -> Iterator[None]:
    """Run ``count`` processes that copy or set memory during the block."""
    code = _CODE.format(index=index, kind=kind, size=50 << 20)
    running: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        until = time.monotonic() + LIMIT_S
        for process in running:
            _wait_until_ready(process, until)
        yield
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()  # ends the process
        for process in running:
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            process.__exit__(None, None, None)


def _wait_until_ready(process: subprocess.Popen[str], until: float) -> None:
    import select

    assert process.stdout is not None
    left = max(0.0, until - time.monotonic())
    if not select.select([process.stdout], [], [], left)[0]:
        raise RuntimeError(
            f"noise: got no answer of a copying process within {LIMIT_S} s, expected 'ready'"
        )
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError("noise: got a copying process that did not start, expected 'ready'")


MOST_NOISE = 800
"""Operations of noise beside one kernel: more do not fit the queue, and its launch would wait."""
NOISE = ("copy_in", "copy_out", "memset")


def interference_of(findings: Sequence[Finding]) -> tuple[float, float, float, float] | None:
    """Slowdowns of two probes in the form of ``Launches.interference``; None without them."""
    data = {found.probe: found.data for found in findings}
    beside, copies = data.get("figure 9"), data.get("copy engine")
    if not beside or not copies:
        return None
    return (
        max(1.0, beside["same_sm"]),
        max(1.0, beside["beside"]),
        max(1.0, beside["elsewhere"]),
        max(1.0, *copies["slowdown"].values()),
    )


def neighbours(bench: Bench) -> Finding:
    """Figure 9: slowdown of a block with memory traffic by another one on each SM in turn."""
    footprint = 1 << 20 if bench.quick else 8 << 20
    victim = _victim(bench, 1, 256, footprint)
    other = replace(victim, iterations=3 * victim.iterations, name="other")
    order = bench.gpu.sm_order.tolist()

    def quiet(blocks: int) -> list[Operation]:
        """Blocks that fill half an SM each and leave memory and issue slots alone."""
        return [Operation(blocks=blocks, threads=1024, ns=10 * MS)] if blocks else []

    base = _longest(_beside(bench, victim, []))
    factors: dict[int, list[float]] = {}  # by the SM of the victim, itself for the same one
    misplaced = 0

    def look(before: Sequence[Operation], same: bool) -> None:
        """Record the slowdown with the measured SMs of the two blocks."""
        nonlocal misplaced
        ops = [replace(op, stream=s) for s, op in enumerate(before)]
        run = _beside(bench, victim, ops)
        theirs = run.block_sm[:, run.kernel == [op.name for op in ops].index("other")][:, 0]
        mine = run.block_sm[:, -1]
        took = (run.block_end - run.block_start)[:, -1]
        fits = (mine == theirs) if same else (theirs == order[0]) & (mine != theirs)
        misplaced += int((~fits).sum())
        for sm in np.unique(mine[fits]).tolist():
            factor = float(np.median(took[fits & (mine == sm)])) / base
            factors.setdefault(-1 if same else sm, []).append(factor)

    # On the same SM, because all others are fuller; or on the next empty one in the order.
    look([*quiet(bench.gpu.sms - 1), other], same=True)
    pair = order[0] ^ 1
    most = min(bench.gpu.sms, 5 if bench.quick else 48)
    positions = {*range(1, most), *([order.index(pair)] if pair in order else [])}
    for p in sorted(positions):
        look([other, *quiet(p - 1)], same=False)
    if -1 not in factors:
        text = "no two blocks were placed on the same SM, although it had the most room"
        return Finding("figure 9", "fail", text, {})
    same = float(np.median(factors.pop(-1)))
    by_sm = {sm: float(np.median(found)) for sm, found in factors.items()}
    beside = by_sm.get(pair)
    elsewhere = max((f for sm, f in by_sm.items() if sm != pair), default=1.0)
    data = {
        "misplaced": misplaced,
        "same_sm": same,
        "beside": 1.0 if beside is None else beside,
        "elsewhere": elsewhere,
        "other_sm": order[0],
        "by_sm": {str(sm): factor for sm, factor in by_sm.items()},
    }
    text = (
        f"one block slowed by another: {same:.2f} on the same SM, {data['beside']:.2f} on SM "
        f"{pair}, up to {elsewhere:.2f} on others"
    )
    return Finding("figure 9", "figure", text, data)


def copies(bench: Bench) -> Finding:
    """Slowdown by copies and memsets of the same process in other streams."""
    victim = _victim(bench, bench.gpu.sms, 256, 8 << 20)
    size = (8 if bench.quick else 50) << 20
    slow = {kind: _slowdown(bench, victim, noise_for(bench, kind, size, 5 * MS)) for kind in NOISE}
    text = ", ".join(f"{kind} {factor:.2f}" for kind, factor in slow.items())
    text = f"a kernel slowed by copies beside it: {text}"
    return Finding("copy engine", "figure", text, {"slowdown": slow})


def footprints(bench: Bench) -> Finding:
    """Figure 8: slowdown by copies of 50 MB for growing footprints of the kernel."""
    sizes = [1 << 19, 1 << 21] if bench.quick else [1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]
    noise = noise_for(bench, "memset", (8 if bench.quick else 50) << 20, 5 * MS)
    slow = {
        str(size): _slowdown(bench, _victim(bench, bench.gpu.sms, 256, size), noise)
        for size in sizes
    }
    text = ", ".join(f"{int(size) >> 10} KiB {factor:.2f}" for size, factor in slow.items())
    return Finding(
        "figure 8", "figure", f"slowed by memset, by footprint: {text}", {"slowdown": slow}
    )


def other_processes(bench: Bench, counts: Sequence[int]) -> Finding:
    """Figure 7: slowdown by other processes that copy or set memory."""
    if not counts:
        return Finding("figure 7", "skip", "no other processes were requested", {})
    victim = _victim(bench, bench.gpu.sms, 256, 50 << 20 if not bench.quick else 1 << 20)
    alone = bench.device.run([victim], repeats=5)
    base = _longest(alone)
    slow: dict[str, dict[str, float]] = {kind: {} for kind in ("copy_in", "memset")}
    for kind, factors in slow.items():
        for count in counts:
            with noisy(bench.device.index, kind, count):
                run = bench.device.run([victim], repeats=5 if bench.quick else 20)
            factors[str(count)] = _longest(run) / base
    text = "; ".join(
        f"{kind} " + ", ".join(f"{count}: {factor:.2f}" for count, factor in factors.items())
        for kind, factors in slow.items()
    )
    text = f"slowed by other processes: {text}"
    return Finding("figure 7", "figure", text, {"slowdown": slow})


def _victim(bench: Bench, blocks: int, threads: int, footprint: int) -> Operation:
    shape = Operation(blocks=blocks, threads=threads, bytes=footprint, name="victim")
    return replace(shape, iterations=bench.device.iterations(shape, 2 * MS))


def _beside(bench: Bench, victim: Operation, before: Sequence[Operation]) -> Run:
    """Run of the victim, launched last in its own stream, beside other operations."""
    own = max((op.stream for op in before), default=-1) + 1
    launched = [*before, replace(victim, stream=own)]
    return bench.device.run(launched, repeats=3 if bench.quick else 9)


def _slowdown(bench: Bench, victim: Operation, before: Sequence[Operation]) -> float:
    """Ratio of the victim's longest block beside other operations to that alone (medians)."""
    return _longest(_beside(bench, victim, before)) / _longest(_beside(bench, victim, []))


def noise_for(bench: Bench, kind: str, size: int, ns: int) -> list[Operation]:
    """Copies or memsets in four streams for about ``ns``.

    One memset of 50 MB can be much shorter than a kernel of some milliseconds.
    """
    one = Operation(kind=kind, bytes=size)
    few, many = (
        float(np.median(bench.device.run([one] * count, repeats=5).elapsed)) for count in (2, 10)
    )
    each = max((many - few) / 8, 1000.0)  # the launch alone takes longer
    count = int(np.clip(np.ceil(ns / each), 4, MOST_NOISE))
    return [replace(one, stream=i % 4) for i in range(count)]


def _longest(run: Run) -> float:
    """Longest block of the last kernel, median of the repetitions."""
    mine = run.kernel == len(run.operations) - 1
    return float(np.median((run.block_end - run.block_start)[:, mine].max(axis=1)))
