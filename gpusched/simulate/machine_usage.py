"""Use of CPUs, copy engines and SMs in runs of whole machines, `gs.simulate.MachineRun`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array

__all__ = ["running_blocks", "shares"]

Spans = tuple[Int64Array, Int64Array]
"""Starts and ends."""


def shares(run: Any) -> dict[str, float]:
    """See `MachineRun.busy`."""
    cpu, ops = run.cpu, run.operations
    if cpu is None or ops is None:
        raise ValueError("timeline: got a run without its logs, expected one with timeline=True")
    length = max(run.now, 1)
    found = {}
    for number in np.unique(cpu.cpu).tolist():
        here = cpu.cpu == number
        name = "server" if number == run.cpus else f"CPU {number}"
        found[name] = _covered((cpu.start[here], cpu.end[here])) / length
    begun = ops.first >= 0
    end = np.where(ops.end < 0, run.now, ops.end)
    copies = {"copies in": ops.what == 1, "copies out": ops.what == 2}
    if run.engines < 2:
        copies = {"copies": (ops.what == 1) | (ops.what == 2)}
    for name, kind in (*copies.items(), ("DLAs", ops.what == 3), ("kernels", ops.what == 0)):
        rows = np.flatnonzero(begun & kind)
        if len(rows):
            spans = _served(run, ops.task[rows], (ops.first[rows], end[rows]), name == "kernels")
            found[name] = _covered(spans) / length
    if run.blocks is not None and len(run.blocks):
        block, *both = running_blocks(run)
        found["SMs"] = _busy_sms(run.blocks.sm[block], (both[0], both[1])) / (length * run.sms)
    return found


def running_blocks(run: Any) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Spans in which blocks run: (block, start, end), without those in which they are frozen."""
    log, ops = run.blocks, run.operations
    assert log is not None
    assert ops is not None
    end = np.where(log.end < 0, run.now, log.end)
    return _in_turns(run, ops.task[log.operation], (log.start, end))


def _served(run: Any, task: Int64Array, spans: Spans, kernels: bool) -> Spans:
    return _in_turns(run, task, spans)[1:] if kernels else spans


def _in_turns(
    run: Any, task: Int64Array, spans: Spans
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The parts of spans of tasks in which their contexts have the GPU: (row, start, end)."""
    start, end = spans
    every = np.flatnonzero(end > start)
    turns = run.turns
    if turns is None or not len(turns):
        return every, start[every], end[every]
    context = run.context[task]
    parts = []
    for c in np.unique(context[every]).tolist():
        mine = np.flatnonzero((turns.task == c) & (turns.switches == 0))
        chosen = every[context[every] == c]
        low = np.searchsorted(turns.end[mine], start[chosen], side="right")
        high = np.searchsorted(turns.start[mine], end[chosen], side="left")
        counts = np.maximum(high - low, 0)
        row = np.repeat(chosen, counts)
        at = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = mine[at + np.repeat(low, counts)]
        parts.append(
            (row, np.maximum(start[row], turns.start[at]), np.minimum(end[row], turns.end[at]))
        )
    row, begin, stop = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, begin, stop


def _covered(spans: Spans) -> int:
    """Ticks that the spans cover together."""
    order = np.argsort(spans[0], kind="stable")
    start, end = spans[0][order], spans[1][order]
    before = np.maximum.accumulate(np.concatenate([[-1], end[:-1]])) if len(end) else end
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def _busy_sms(sm: Int64Array, spans: Spans) -> int:
    """Ticks in which each SM has any span, summed over the SMs."""
    order = np.argsort(sm, kind="stable")
    first = np.flatnonzero(np.diff(sm[order], prepend=-1))
    rows = np.split(order, first[1:]) if len(first) else []
    return sum(_covered((spans[0][of], spans[1][of])) for of in rows)
