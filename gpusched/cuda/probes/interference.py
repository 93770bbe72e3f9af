"""Probes of interference: slowdown of a kernel by copies and by other blocks.

[RTAS20], Figures 7 to 9: copies of this and of other processes, and blocks on the same SM, in the
same GPC, and in others. A slowdown is that of the runs in which the noise lasted from before the
kernel's start to after its end by the device's clock; without such runs it is None.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched.cuda.device import Device, Operation, Run
from gpusched.cuda.probes.bench import MS, Bench, Finding, Intervals, beside

MOST_NOISE = 800
"""Operations of noise beside one kernel: more do not fit the queue, and its launch would wait."""
NOISE = ("copy_in", "copy_out", "memset")
_STREAMS = 4
_STAMP = Operation(ns=0, name="stamp")
"""A kernel whose times show when what is before it in its stream ended."""


@dataclass(frozen=True)
class Slowdown:
    """Ratio of medians of a kernel's time beside something, and alone.

    ``proven`` of ``repeats`` runs overlapped; ``factor`` is None if that is 0.
    """

    factor: float | None
    proven: int
    repeats: int

    def __str__(self) -> str:
        return "not measured" if self.factor is None else f"{self.factor:.2f}"


def _slowdown(took: npt.NDArray[Any], proven: npt.NDArray[np.bool_], alone: float) -> Slowdown:
    factor = float(np.median(took[proven])) / alone if proven.any() else None
    return Slowdown(factor, int(proven.sum()), len(proven))


def _data(slow: dict[str, Slowdown]) -> dict[str, Any]:
    """The slowdowns, and the runs that show them, as JSON."""
    factors = {key: found.factor for key, found in slow.items()}
    return {
        "slowdown": factors,
        "proven": {key: [found.proven, found.repeats] for key, found in slow.items()},
    }


def interference_of(findings: Sequence[Finding]) -> tuple[float, float, float, float] | None:
    """Slowdowns of two probes in the form of ``Launches.interference``; None without them."""
    data = {found.probe: found.data for found in findings}
    blocks, copies = data.get("figure 9"), data.get("copy engine")
    if not blocks or not copies:
        return None
    found = [blocks["same_sm"], blocks["same_gpc"], blocks["other_gpc"]]
    noise = list(copies["slowdown"].values())
    if None in found or None in noise:
        return None
    same, gpc, other = (max(1.0, factor) for factor in found)
    return (same, gpc, other, max(1.0, *noise))


def neighbours(bench: Bench) -> Finding:
    """Figure 9: slowdown of a block with memory traffic by another one, by where the two are."""
    name = "figure 9"
    footprint = 1 << 20 if bench.quick else 8 << 20
    victim = _victim(bench, 1, 256, footprint)
    other = replace(victim, iterations=4 * victim.iterations, name="other")
    order = bench.gpu.sm_order.tolist()
    repeats = bench.repeats(3, 200)
    alone = _alone(bench, victim)
    home = {sm: g for g, group in enumerate(bench.gpcs or ()) for sm in group}
    took: dict[str, list[float]] = {}
    by_sm: dict[int, list[float]] = {}
    misplaced = overlapped = 0

    def quiet(blocks: int) -> list[Operation]:
        """Blocks that fill half an SM each and leave memory and issue slots alone."""
        return [Operation(blocks=blocks, threads=1024, ns=10 * MS)] if blocks else []

    def look(ops: Sequence[Operation]) -> None:
        """Record the times of the victim, by the measured SMs of the two blocks."""
        nonlocal misplaced, overlapped
        launched = [replace(op, stream=s) for s, op in enumerate([*ops, victim])]
        run = bench.device.run(launched, repeats=repeats)
        at = [op.name for op in launched].index("other")
        own = len(ops)
        inside = (run.first[:, at] <= run.first[:, own]) & (run.last[:, own] <= run.last[:, at])
        for r in np.flatnonzero(inside).tolist():
            overlapped += 1
            mine, theirs = run.sm(own, r)[0], run.sm(at, r)[0]
            key = "same_sm" if mine == theirs else None
            if key is None and mine in home and theirs in home:
                key = "same_gpc" if home[mine] == home[theirs] else "other_gpc"
            time = float(run.last[r, own] - run.first[r, own])
            if key is not None:
                took.setdefault(key, []).append(time)
            if theirs == order[0]:
                by_sm.setdefault(mine, []).append(time)
            else:
                misplaced += key != "same_sm"

    # On the same SM, because all others are fuller; or on the next empty one in the order.
    look([*quiet(bench.gpu.sms - 1), other])
    most = bench.gpu.sms
    near = [order.index(sm) for sm in order if home.get(sm) == home.get(order[0], -1)]
    far = range(1, most, max(1, most // bench.repeats(5, 12)))
    for p in sorted({*near[: bench.repeats(3, 6)], *far} - {0}):
        look([other, *quiet(p - 1)])
    if "same_sm" not in took:
        text = "no two blocks were placed on the same SM, although it had the most room"
        return Finding(name, "fail", text, {})
    where = ("same_sm", "same_gpc", "other_gpc")
    factors = {key: float(np.median(took[key])) / alone if key in took else None for key in where}
    data: dict[str, Any] = {
        **factors,
        "runs": {key: len(took.get(key, [])) for key in where},
        "overlapped": overlapped,
        "misplaced": misplaced,
        "other_sm": order[0],
        "by_sm": {str(sm): float(np.median(t)) / alone for sm, t in by_sm.items()},
    }
    words = zip(("on the same SM", "in its GPC", "in another GPC"), factors.values(), strict=True)
    told = ", ".join(f"{_told(factor)} {place}" for place, factor in words)
    return Finding(name, "figure", f"one block slowed by another: {told}", data)


def _told(factor: float | None) -> str:
    return "not measured" if factor is None else f"{factor:.2f}"


def copies(bench: Bench) -> Finding:
    """Slowdown by copies and memsets of the same process in other streams."""
    victim = _victim(bench, bench.gpu.sms, 256, 8 << 20)
    size = (8 if bench.quick else 50) << 20
    slow = {kind: _beside(bench, victim, noise_for(bench, kind, size, 5 * MS)) for kind in NOISE}
    text = ", ".join(f"{kind} {found}" for kind, found in slow.items())
    return Finding(
        "copy engine", "figure", f"a kernel slowed by copies beside it: {text}", _data(slow)
    )


def footprints(bench: Bench) -> Finding:
    """Figure 8: slowdown by copies of 50 MB for growing footprints of the kernel."""
    sizes = [1 << 19, 1 << 21] if bench.quick else [1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]
    noise = noise_for(bench, "memset", (8 if bench.quick else 50) << 20, 5 * MS)
    slow = {
        str(size): _beside(bench, _victim(bench, bench.gpu.sms, 256, size), noise) for size in sizes
    }
    text = ", ".join(f"{int(size) >> 10} KiB {found}" for size, found in slow.items())
    return Finding("figure 8", "figure", f"slowed by memset, by footprint: {text}", _data(slow))


def kinds(bench: Bench) -> Finding:
    """Slowdown of a kernel by another one on the same SMs and on others, by what they use."""
    footprint = {"arithmetic": 0, "L2": 8 << 20, "DRAM": 1 << 30}
    if bench.quick:
        footprint = {"arithmetic": 0, "L2": 1 << 20, "DRAM": 8 << 20}
    slow: dict[str, Slowdown] = {}
    for where, blocks in (("same SMs", bench.gpu.sms), ("other SMs", bench.gpu.sms // 2)):
        if blocks == 0:
            continue
        made = {key: _victim(bench, blocks, 1024, size) for key, size in footprint.items()}
        for mine, victim in made.items():
            for theirs, noise in made.items():
                long = replace(noise, iterations=4 * noise.iterations, stream=1)
                run = bench.device.run([long, victim], repeats=bench.repeats(2, 50))
                proven = (run.first[:, 0] <= run.first[:, 1]) & (run.last[:, 1] <= run.last[:, 0])
                for r in np.flatnonzero(proven).tolist():
                    shared = bool(set(run.sm(0, r)) & set(run.sm(1, r)))
                    proven[r] = shared == (where == "same SMs")
                took = run.last[:, 1] - run.first[:, 1]
                found = _slowdown(took, proven, _alone(bench, victim))
                slow[f"{mine} by {theirs}, {where}"] = found
    text = ", ".join(f"{key} {found}" for key, found in slow.items())
    return Finding("kinds of work", "figure", f"slowdown: {text}", _data(slow))


def make_noise(index: int, kind: str, size: int) -> None:
    """Copy or set memory until the standard input ends; report when, by the device's clock."""
    with Device(index) as device:
        noise = [Operation(kind=kind, bytes=size)] * 8
        device.run(noise)
        spent: Intervals = []
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            run = device.run([_STAMP, *noise * 4, _STAMP])
            spent.append((int(run.last[0, 0]), int(run.first[0, -1])))
        print(json.dumps(spent), flush=True)


def other_processes(bench: Bench, counts: Sequence[int]) -> Finding:
    """Figure 7: slowdown by other processes that copy or set memory."""
    if not counts:
        return Finding("figure 7", "skip", "no other processes were requested", {})
    victim = _victim(bench, bench.gpu.sms, 256, 50 << 20 if not bench.quick else 1 << 20)
    alone = _alone(bench, victim)
    slow: dict[str, Slowdown] = {}
    for kind in ("copy_in", "memset"):
        for count in counts:
            call = f"make_noise({bench.device.index}, {kind!r}, {50 << 20})"
            with beside(count, __name__, call) as others:
                run = bench.device.run([victim], repeats=bench.repeats(5, 200))
            begun, ended = run.first[:, 0], run.last[:, 0]
            proven = np.ones(len(run), np.bool_)
            for report in others.reports:
                spent = np.array(report, np.int64).reshape(-1, 2)
                inside = (spent[:, :1] <= begun) & (ended <= spent[:, 1:])
                proven &= inside.any(axis=0)
            slow[f"{kind} {count}"] = _slowdown(ended - begun, proven, alone)
    text = ", ".join(f"{key}: {found}" for key, found in slow.items())
    return Finding("figure 7", "figure", f"slowed by other processes: {text}", _data(slow))


def _victim(bench: Bench, blocks: int, threads: int, footprint: int) -> Operation:
    bench.warm()
    shape = Operation(blocks=blocks, threads=threads, bytes=footprint, name="victim")
    return replace(shape, iterations=bench.device.iterations(shape, MS))


def _alone(bench: Bench, victim: Operation) -> float:
    """Median time of a kernel that runs alone."""
    run = bench.device.run([replace(victim, stream=0)], repeats=bench.repeats(3, 200))
    return float(np.median(run.last[:, 0] - run.first[:, 0]))


def _beside(bench: Bench, victim: Operation, noise: Sequence[Operation]) -> Slowdown:
    """Slowdown of a kernel by copies, which are launched before and while it runs.

    A stamp stands before and behind the noise of each stream. Noise whose launches take as long as
    itself has pauses, and proves nothing.
    """
    used = sorted({op.stream for op in noise})
    stamps = [replace(_STAMP, stream=s) for s in used]
    early = max(len(used), len(noise) // 4)
    own = replace(victim, stream=used[-1] + 1)
    ops = [*stamps, *noise[:early], own, *noise[early:], *stamps]
    run = bench.device.run(ops, repeats=bench.repeats(3, 200))
    at = len(stamps) + early
    begun, ended = run.first[:, at], run.last[:, at]
    proven = run.last[:, : len(used)].max(axis=1) <= begun
    last = run.first[:, -len(used) :].min(axis=1)
    proven &= ended <= last
    launching = run.returned[:, -len(used) - 1] - run.called[:, len(used)]
    proven &= launching < 0.8 * (last - run.last[:, : len(used)].max(axis=1))
    return _slowdown(ended - begun, proven, _alone(bench, victim))


def noise_for(bench: Bench, kind: str, size: int, ns: int) -> list[Operation]:
    """Copies or memsets in four streams for about ``ns``.

    One memset of 50 MB can be much shorter than a kernel of some milliseconds.
    """
    one = Operation(kind=kind, bytes=size)

    def took(run: Run) -> float:
        return float(np.median(run.first[:, -1] - run.last[:, 0]))

    few, many = (
        took(bench.device.run([_STAMP, *[one] * count, _STAMP], repeats=5)) for count in (2, 10)
    )
    each = max((many - few) / 8, 1000.0)  # the launch alone takes longer
    count = int(np.clip(np.ceil(ns / each), _STREAMS, MOST_NOISE))
    return [replace(one, stream=i % _STREAMS) for i in range(count)]
