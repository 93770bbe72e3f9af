"""Traces of real programs: launches, kernels, and periodic tasks made of them.

`gpusched.io.read_trace` reads a `Trace` from a file.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import Int64Array, integer
from gpusched._support.text import shown, time_text
from gpusched.io.traces.kernel_names import labels
from gpusched.io.traces.trace_kernels import TraceKernels, table_html
from gpusched.io.traces.trace_tables import (
    INT64_MAX,
    Names,
    column,
    frame_of,
    gpu_text,
    searcher,
    take,
    written,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.model.gpu import GPU

__all__ = ["Trace"]


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Kernel launches of one device, sorted by start: read-only arrays, one entry per launch.

    Attributes
    ----------
    name
        Full names of the kernels (object array of str).
    start, duration
        Times in ns; ``start`` is on the file's clock.
    blocks, threads
        Blocks of the grid, threads of one block.
    regs, smem
        Registers of one thread, bytes of shared memory of one block (static and dynamic).
    device, context, stream
        Device, context and stream of the launch; ``device`` has one value only.
    occupancy
        The PyTorch profiler's "est. achieved occupancy %", -1 where the file has none.
    gpu
        The GPU, or None when the file does not describe it and none was given.
    source
        The path it was read from.
    """

    name: Names
    start: Int64Array
    duration: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    device: Int64Array
    context: Int64Array
    stream: Int64Array
    occupancy: Int64Array
    gpu: GPU | None = None
    source: str = ""

    def __len__(self) -> int:
        return len(self.name)

    def select(self, pattern: str | re.Pattern[str]) -> Trace:
        """Launches of the kernels whose full name contains a match of a regular expression.

        The result is empty when there is no match. Raises ``ValueError`` for a malformed
        expression.
        """
        search = searcher(pattern)
        known = {name: search(name) for name in set(self.name)}
        return take(self, np.array([known[name] for name in self.name], dtype=bool))

    def kernels(self) -> TraceKernels:
        """Launches grouped by equal (name, blocks, threads, regs, smem), by decreasing total time.

        Kernels with equal total times are in the order of their first launches. Raises
        ``ValueError`` when a total exceeds 64 bits.
        """
        groups: dict[tuple[Any, ...], list[int]] = {}
        shapes = (self.blocks, self.threads, self.regs, self.smem)
        rows = zip(self.name, *(a.tolist() for a in shapes), self.duration.tolist(), strict=True)
        for *key, duration in rows:
            groups.setdefault(tuple(key), []).append(duration)

        totals = {key: sum(times) for key, times in groups.items()}
        keys = sorted(groups, key=totals.__getitem__, reverse=True)
        if keys and totals[keys[0]] > INT64_MAX:
            raise ValueError(
                f"kernel {shown(keys[0][0])}: got a total time of {totals[keys[0]]} ns, expected "
                "64 bits"
            )
        times = [sorted(groups[key]) for key in keys]
        medians = [(t[(len(t) - 1) // 2] + t[len(t) // 2]) // 2 for t in times]
        names, blocks, threads, regs, smem = zip(*keys, strict=True) if keys else [()] * 5
        return TraceKernels(
            name=column(names, object),
            label=column(labels(names), object),
            blocks=column(blocks),
            threads=column(threads),
            regs=column(regs),
            smem=column(smem),
            count=column([len(t) for t in times]),
            wcet=column([t[-1] for t in times]),
            median=column(medians),
            total=column([totals[key] for key in keys]),
            gpu=self.gpu,
        )

    def choose(
        self,
        count: int = 5,
        pattern: str | re.Pattern[str] | None = None,
        together: bool = True,
    ) -> TraceKernels:
        """Choose the kernels with the largest total times.

        Parameters
        ----------
        count
            Number of kernels; fewer are returned where the trace has fewer.
        pattern
            Regular expression on full names: only kernels that match are considered, whether they
            fit the GPU or not.
        together
            Without a pattern: prefer kernels all of whose blocks are resident at once on the empty
            GPU (``TraceKernels.fits``), because only these can share the GPU with others in a
            batch. Where fewer than ``count`` fit, the largest others follow; each of them runs
            alone in its batches.

        Returns
        -------
        TraceKernels
            By decreasing total time.

        Raises
        ------
        ValueError
            Nothing matches; no kernel can run on the GPU; the GPU is unknown and ``together``
            requires it.
        """
        count = integer(count, "count")
        if count < 1:
            raise ValueError(f"count: got {count}, expected a positive number")
        kernels = self.kernels()
        if pattern is not None:
            search = searcher(pattern)
            chosen = np.flatnonzero([search(name) for name in kernels.name])[:count]
            if chosen.size == 0:
                raise ValueError(
                    f"pattern: got {shown(written(pattern))}, expected one that matches a kernel"
                )
        elif together:
            fits = kernels.fits()
            others = (kernels.occupancy() > 0) & ~fits
            chosen = np.flatnonzero(fits)[:count]
            fill = np.flatnonzero(others)[: count - chosen.size]
            chosen = np.sort(np.concatenate([chosen, fill]))
            if chosen.size == 0:
                raise ValueError(
                    f"gpu: got {gpu_text(self.gpu)}, expected one that can run a kernel"
                )
        else:
            chosen = np.arange(len(kernels))[:count]
        return take(kernels, chosen)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per launch; its columns are the arrays' names."""
        return frame_of(self)

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(_summary(self))}</p>{table_html(self.kernels(), 10)}"


def _summary(trace: Trace) -> str:
    kernels, streams = len(set(trace.name)), len(np.unique(trace.stream))
    last = max((trace.start + trace.duration).tolist(), default=0)
    span = time_text(last - int(trace.start[0]) if len(trace) else 0, 4)
    where = os.path.basename(trace.source)[-60:]
    return (
        f"{len(trace)} launches of {kernels} kernels in {streams} streams over {span}, "
        f"{gpu_text(trace.gpu)}{', ' if where else ''}{where}"
    )
