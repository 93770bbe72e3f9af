"""Probe of copy engines: which copies run at the same time."""

from __future__ import annotations

import numpy as np

from gpusched.cuda.device import Operation
from gpusched.cuda.probes.bench import UNDECIDED, Bench, Finding, decided

PAIRS = (("in", "in"), ("out", "out"), ("in", "out"))


def directions(bench: Bench) -> Finding:
    """Pairs of copies in two streams, of equal bytes; a small kernel behind each shows its end.

    Copies one after the other end a whole copy apart; copies at the same time share the bandwidth
    and end together.
    """
    size = (4 if bench.quick else 32) << 20
    repeats = bench.repeats(4, 30)
    alone = {kind: _ends(bench, [kind], size, repeats)[:, 0] for kind in ("in", "out")}
    votes: dict[tuple[str, str], list[str | None]] = {}
    apart: dict[str, list[float]] = {}
    for pair in PAIRS:
        took = min(float(np.median(alone[kind])) for kind in pair)
        ends = _ends(bench, list(pair), size, repeats)
        shares = (np.abs(ends[:, 1] - ends[:, 0]) / took).tolist()
        apart[", ".join(pair)] = shares
        votes[pair] = [
            "at once" if s < 0.4 else "in turn" if s > 0.6 else UNDECIDED for s in shares
        ]
    rows = list(zip(*(votes[pair] for pair in PAIRS), strict=True))
    told = [UNDECIDED if UNDECIDED in row else _text(row) for row in rows]
    data = {
        "engines": bench.device.limits["copy_engines"],
        "apart": apart,
        "alone_ns": {kind: float(np.median(took)) for kind, took in alone.items()},
    }
    return decided("copy directions", told, _text(_assumed(bench)), data)


def _assumed(bench: Bench) -> tuple[str, ...]:
    """Whether a pair runs at once with the engines that the device reports."""
    several = bench.device.limits["copy_engines"] > 1
    return ("in turn", "in turn", "at once" if several else "in turn")


def _text(row: tuple[str | None, ...]) -> str:
    words = (f"{a} and {b} {told}" for (a, b), told in zip(PAIRS, row, strict=True))
    return ", ".join(words)


def _ends(bench: Bench, kinds: list[str], size: int, repeats: int) -> np.ndarray:
    """Ends of copies after the start of the first one, by kernels before and behind them."""
    ops = []
    for stream, kind in enumerate(kinds):
        ops.append(Operation(stream, ns=1000))
        ops.append(Operation(stream, kind=f"copy_{kind}", bytes=size))
        ops.append(Operation(stream, ns=1000))
    run = bench.device.run(ops, repeats=repeats + 1)
    begun = run.last[1:, ::3].min(axis=1, keepdims=True)
    return np.asarray(run.first[1:, 2::3] - begun)  # without the first one, a warm-up
