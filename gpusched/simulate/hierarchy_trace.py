"""A run of the scheduling hierarchy as a Chrome trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import chrome_trace
from gpusched._support.arguments import integer
from gpusched.simulate import hierarchy_why
from gpusched.simulate.fifo_trace import Lanes

if TYPE_CHECKING:
    from gpusched.simulate.hierarchy_result import Hierarchy

_ENGINES = ("copies in", "copies out")


def write(run: Hierarchy, path: str | os.PathLike[str], tick: int) -> None:
    """What `Hierarchy.to_chrome_trace` describes."""
    if integer(tick, "tick") < 1:
        raise ValueError(f"tick = {tick}: must be at least 1 ns")
    other = {"gpu": run.gpu.name, "policy": run.policy, "outcome": run.outcome}
    chrome_trace.write_chrome_trace(path, _events(run, tick), other=other)


def _events(run: Hierarchy, tick: int) -> Iterator[dict[str, Any]]:
    streams, copies, contexts = (run.gpu.sms + k for k in range(3))
    yield chrome_trace.process_name(streams, "streams")
    for s, name in enumerate(run.launches.stream_name):
        yield chrome_trace.thread_name(streams, s, name)
    yield from _launches(run, tick, streams)
    if (run.launches.kind > 0).any():
        yield chrome_trace.process_name(copies, "copy engines")
        yield from _copies(run, tick, copies)
    if run.launches.contexts > 1:
        yield chrome_trace.process_name(contexts, "contexts")
        for c in range(run.launches.contexts):
            yield chrome_trace.thread_name(contexts, c, f"context {c}")
        for context, start, end in zip(
            *(getattr(run.slices, name).tolist() for name in ("context", "start", "end")),
            strict=True,
        ):
            length = (end if end >= 0 else run.now) - start
            yield chrome_trace.complete_event(
                "slice", contexts, context, start * tick, length * tick
            )
    if run.blocks is not None:
        yield from _blocks(run, tick)


def _launches(run: Hierarchy, tick: int, pid: int) -> Iterator[dict[str, Any]]:
    order = np.argsort(run.waits.launch, kind="stable")
    begin = np.searchsorted(run.waits.launch[order], np.arange(len(run) + 1)).tolist()
    for i in np.flatnonzero(run.first >= 0).tolist():
        start, end = int(run.first[i]), int(run.end[i]) if run.end[i] >= 0 else run.now
        args: dict[str, Any] = {"launch": i, "launched": int(run.launches.time[i]) * tick}
        for name in ("head", "joined", "dispatched"):
            value = int(getattr(run, name)[i])
            args[name] = value * tick if value >= 0 else None
        args["waits"] = hierarchy_why.sentences(run, i, order[begin[i] : begin[i + 1]])
        lane, length = int(run.launches.stream[i]), (end - start) * tick
        yield chrome_trace.complete_event(
            run.launches.name[i], pid, lane, start * tick, length, args
        )


def _copies(run: Hierarchy, tick: int, pid: int) -> Iterator[dict[str, Any]]:
    for engine in range(run.copy_engines):
        yield chrome_trace.thread_name(
            pid, engine, _ENGINES[engine] if run.copy_engines > 1 else "copies"
        )
    for i in np.flatnonzero((run.launches.kind > 0) & (run.first >= 0)).tolist():
        start, end = int(run.first[i]), int(run.end[i]) if run.end[i] >= 0 else run.now
        engine = int(run.copy_engines > 1 and run.launches.kind[i] == 2)
        length = (end - start) * tick
        args = {"launch": i, "bytes": int(run.launches.bytes[i])}
        yield chrome_trace.complete_event(
            run.launches.name[i], pid, engine, start * tick, length, args
        )


def _blocks(run: Hierarchy, tick: int) -> Iterator[dict[str, Any]]:
    assert run.blocks is not None
    frozen, block, start, end = run._pieces()
    alive = np.flatnonzero(~frozen)
    alive = alive[np.lexsort((block[alive], start[alive], run.blocks.sm[block[alive]]))]
    last, lanes = -1, None
    rows = zip(
        *(column[alive].tolist() for column in (block, start, end)),
        *(column[block[alive]].tolist() for column in (run.blocks.kernel, run.blocks.block)),
        run.blocks.sm[block[alive]].tolist(),
        strict=True,
    )
    for _, since, until, kernel, number, sm in rows:
        if lanes is None or sm != last:
            last, lanes = sm, Lanes(sm, ("blocks",))
            yield chrome_trace.process_name(sm, f"SM {sm}")
        lane = yield from lanes.place(0, since, until)
        args = {"launch": kernel, "block": number, "threads": int(run.launches.threads[kernel])}
        name = run.launches.name[kernel]
        yield chrome_trace.complete_event(
            name, sm, lane, since * tick, (until - since) * tick, args
        )
    held = run.occupancy()
    for sm, time, warps in zip(
        *(c.tolist() for c in (held.sm, held.time, held.warps)), strict=True
    ):
        yield chrome_trace.counter_event("warps", sm, time * tick, {"warps": warps})
