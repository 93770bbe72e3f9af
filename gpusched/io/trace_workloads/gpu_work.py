"""GPU work of a trace that can be part of jobs, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched.io.traces.kernel_names import labels
from gpusched.io.traces.trace_events import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    GRAPH,
    MEMSET,
    MIGRATION_IN,
    MIGRATION_OUT,
    TraceEvents,
)
from gpusched.io.traces.trace_tables import Names, total
from gpusched.model.workload.time_units import time_with_unit

__all__ = ["IN", "OUT", "GpuWork", "Recording", "gpu_work", "left_out"]

# In the place of the number of a kernel.
IN, OUT = -1, -2

_LEFT_OUT = {
    COPY_ON_DEVICE: "copies on the device",
    COPY_OTHER: "copies between devices or of unknown directions",
    MEMSET: "memsets",
    MIGRATION_IN: "unified-memory migrations to the device",
    MIGRATION_OUT: "unified-memory migrations from the device",
    GRAPH: "CUDA graphs recorded as a whole (record with --cuda-graph-trace=node)",
}


class Recording(Protocol):
    """The columns of a trace, as `gpusched.io.Trace` has them."""

    @property
    def name(self) -> Names: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def duration(self) -> Int64Array: ...
    @property
    def blocks(self) -> Int64Array: ...
    @property
    def threads(self) -> Int64Array: ...
    @property
    def regs(self) -> Int64Array: ...
    @property
    def smem(self) -> Int64Array: ...
    @property
    def device(self) -> Int64Array: ...
    @property
    def context(self) -> Int64Array: ...
    @property
    def stream(self) -> Int64Array: ...
    @property
    def call(self) -> Int64Array: ...
    @property
    def source(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def events(self) -> TraceEvents: ...


@dataclass(frozen=True, eq=False)
class GpuWork:
    """Kernels and copies to and from the device, one entry each.

    ``kernel`` numbers what the launches of a kernel have in common (full name, threads, registers,
    shared memory); it is ``IN`` or ``OUT`` for copies. ``row`` is the row among the launches, or
    among the transfers. ``blocks`` is 0 for copies, and for kernels of unknown shape. ``label`` has
    the short name of each number. ``others`` has the start and the end of what else the device did,
    and whether it was a graph; ``left_out`` says so.
    """

    kernel: Int64Array
    row: Int64Array
    start: Int64Array
    end: Int64Array
    blocks: Int64Array
    context: Int64Array
    stream: Int64Array
    call: Int64Array
    label: list[str]
    others: tuple[Int64Array, Int64Array, NDArray[np.bool_]]
    left_out: list[str]

    def __len__(self) -> int:
        return len(self.kernel)

    @property
    def duration(self) -> Int64Array:
        """The time of each entry."""
        return self.end - self.start


def gpu_work(trace: Recording) -> GpuWork:
    """The GPU work of a trace; memsets and other copies on its device can be part of no job."""
    transfers = trace.events.transfers
    here = np.isin(transfers.device, trace.device)
    copies = np.flatnonzero(here & np.isin(transfers.kind, (COPY_IN, COPY_OUT)))
    numbers, names = _numbers(trace)
    direction = np.where(transfers.kind[copies] == COPY_IN, IN, OUT)
    starts = transfers.start[copies]
    other = here & ~np.isin(transfers.kind, (COPY_IN, COPY_OUT))
    began, graph = transfers.start[other], transfers.kind[other] == GRAPH
    return GpuWork(
        kernel=np.concatenate([numbers, direction]),
        row=np.concatenate([np.arange(len(trace.start)), copies]),
        start=np.concatenate([trace.start, starts]),
        end=np.concatenate([trace.start + trace.duration, starts + transfers.duration[copies]]),
        blocks=np.concatenate([trace.blocks, np.zeros_like(copies)]),
        context=np.concatenate([trace.context, transfers.context[copies]]),
        stream=np.concatenate([trace.stream, transfers.stream[copies]]),
        call=np.concatenate([trace.call, transfers.call[copies]]),
        label=names,
        others=(began, began + transfers.duration[other], graph),
        left_out=_left_out(trace, here),
    )


def _numbers(trace: Recording) -> tuple[Int64Array, list[str]]:
    """The number of each launch's kernel, and the short name of each number."""
    known: dict[tuple[str, int, int, int], int] = {}
    shapes = (trace.threads.tolist(), trace.regs.tolist(), trace.smem.tolist())
    keys = zip(trace.name.tolist(), *shapes, strict=True)
    numbers = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    names = list(dict.fromkeys(name for name, *_ in known))
    short = dict(zip(names, labels(names), strict=True))
    return numbers, [short[name] for name, *_ in known]


def left_out(what: str, durations: Int64Array) -> str:
    """A sentence about work of these durations that no job contains."""
    return f"left out: {what}: {len(durations)} ({time_with_unit(total(durations), 1)} in all)"


def _left_out(trace: Recording, here: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
    """Sentences about what can be part of no job."""
    events = trace.events
    sentences = []
    for kind, what in _LEFT_OUT.items():
        chosen = here & (events.transfers.kind == kind)
        if chosen.any():
            sentences.append(left_out(what, events.transfers.duration[chosen]))
    if not here.all():
        what = "copies and memsets on other devices"
        sentences.append(left_out(what, events.transfers.duration[~here]))
    if events.elsewhere:
        time = time_with_unit(events.elsewhere_ns, 1)
        sentences.append(f"left out: kernels on other devices: {events.elsewhere} ({time} in all)")
    if events.unfinished:
        sentences.append(f"left out: ranges without an end: {events.unfinished}")
    return sentences + events.unexplained()
