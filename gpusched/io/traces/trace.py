"""Traces of real programs: launches, kernels, and periodic tasks made of them.

`gpusched.io.read_trace` reads a `Trace` from a file.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, integer
from gpusched._support.arrow import Tabular
from gpusched._support.missing_values import frame_of
from gpusched._support.text import shown, time_text
from gpusched.io.traces.kernel_names import labels
from gpusched.io.traces.trace_events import TraceEvents
from gpusched.io.traces.trace_kernels import TraceKernels, table_html
from gpusched.io.traces.trace_tables import (
    INT64_MAX,
    Names,
    column,
    gpu_text,
    searcher,
    table_of,
    take,
    written,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.io.replays.replay import TraceReplay
    from gpusched.io.trace_workloads.candidates import By
    from gpusched.io.trace_workloads.from_trace import Gaps, Quantile
    from gpusched.io.trace_workloads.observed_periods import Periods
    from gpusched.io.trace_workloads.occurrences import Nesting
    from gpusched.model.gpu import GPU
    from gpusched.model.workload.workloads import Workload

__all__ = ["Trace"]

_SHARING = 2  # kernels that share the GPU make a batch
_PART = 100  # of the GPU time, which a kernel has to take to be preferred


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Tabular):
    """Kernel launches of one device, sorted by start: read-only arrays, one entry per launch.

    >>> trace = gs.io.read_trace("tests/data/pipeline.pt.trace.json")
    >>> len(trace), int(trace.blocks[0]), int(trace.threads[0])
    (37, 48, 256)

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
    call
        Row of the launch's call among ``events.calls``, -1 where the file has none.
    gpu
        The GPU, or None when the file does not describe it and none was given.
    source
        The path it was read from.
    notes
        What of the file was left out, and what is not known of its GPU.
    events
        Launch calls, annotated ranges, copies and memsets, where the file has them.
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
    call: Int64Array
    gpu: GPU | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    events: TraceEvents = field(default_factory=TraceEvents)

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
            can run on the GPU or not.
        together
            Without a pattern: leave out kernels that cannot run on the GPU, and see to it that
            batches of several kernels are possible. Of three or more kernels, two are such whose
            blocks are all resident at once on the empty GPU (``TraceKernels.fits``), because only
            these can share the GPU in a batch: where the largest ones have fewer, the largest of
            these that take at least a hundredth of the trace's GPU time are in the place of the
            smallest. The others run alone in their batches.

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
            chosen = _largest(kernels, count)
            if chosen.size == 0:
                raise ValueError(
                    f"gpu: got {gpu_text(self.gpu)}, expected one that can run a kernel"
                )
        else:
            chosen = np.arange(len(kernels))[:count]
        return take(kernels, chosen)

    def workload(
        self,
        by: By = "annotation",
        *,
        period: Periods = None,
        quantile: Quantile = 1,
        names: str | re.Pattern[str] | None = None,
        nesting: Nesting = "outermost",
        gaps: Gaps = "waited",
    ) -> Workload:
        """Make a workload whose tasks are the annotated ranges, steps, streams or kernels.

        Each occurrence is a job: the CPU work before its first launch, its copies and kernels in
        launch order, CPU work between them where the CPU had waited for the GPU, and CPU work
        after the last. Times are the largest over the jobs, or a quantile. **They include
        interference**: the result is a realistic example, not a safe model of the program.

        >>> trace = gs.io.read_trace("tests/data/perception.pt.trace.json.gz")
        >>> w = trace.workload(by="annotation")
        >>> w.names
        ('camera', 'tracker', 'detector', 'planner')
        >>> w["tracker"].period
        20000000
        >>> print(w.notes[1])  # doctest: +ELLIPSIS
        camera: from 16 of 16 occurrences; ...

        Parameters
        ----------
        by
            ``"annotation"``: a task per name of an annotated range (``record_function``, NVTX).
            ``"step"``: one task, whose jobs are the profiler steps (``ProfilerStep#n``).
            ``"stream"``: a task per stream, without CPU work; a job is what is launched in a
            profiler step or in a range of ``names``; in a trace without, what starts within a
            period, counted from the stream's first operation.
            ``"kernel"``: a task per kernel (name and shape); each launch is a job.
        period
            One time for all tasks or times by name of task: ticks of a ns, or text with a unit.
            Else the median distance between starts of occurrences, rounded down.
        quantile
            Part of the jobs whose times are not above the stated one; 1: all. It is computed by
            rank, without interpolation. A float counts as the decimal that it prints as.
        names
            Regular expression: which annotations, steps or kernels are taken, by a match anywhere
            in the name. The text of the first group, where there is one, is the task's name:
            ``r"(\\w+) frame \\d+"``. Without it, all annotations but profiler steps.
        nesting
            Of chosen ranges inside each other, only the outermost are jobs, or only the innermost
            (those that contain no other).
        gaps
            ``"waited"``: CPU work between GPU operations is a segment only where the CPU had waited
            for the GPU. ``"all"``: wherever the GPU had none of the job's work.

        Returns
        -------
        Workload
            In ticks of a ns. Its ``notes`` say from how many jobs, at which quantile, and what was
            left out. Deadlines are the periods.

        Raises
        ------
        ValueError
            No such ranges or launch calls, as in a report of kernels in CSV; a task with fewer than
            two occurrences and no period; ranges of a thread that overlap without one inside the
            other; damaged events, with their row; a malformed expression or an argument that is
            not possible.

        A kernel or copy belongs to the range that contains its launch call, which the correlation
        number finds: on the thread of the call; else a range that any thread of the process starts
        and ends; else, for a thread without chosen ranges of its own, one of the process's other
        threads. Calls in several such ranges belong to none. A thread that runs PyTorch's backward
        passes counts as the one that waits for it, where only one other thread has chosen ranges.

        Jobs of a task may differ: the most frequent sequence of operations is taken, and jobs with
        others are left out and counted. Operations of several streams are one chain. A grid that
        differs between jobs is that of the job whose time is taken. Copies on the device, memsets,
        work without a launch call and segments of no time are left out and counted.
        """
        from gpusched.io.trace_workloads.from_trace import workload_of

        return workload_of(self, by, period, quantile, names, nesting, gaps)

    def launches(
        self,
        gpu: GPU | str | None = None,
        *,
        latency: SupportsIndex | None = None,
        streams: Literal["blocking", "non_blocking"] = "non_blocking",
    ) -> TraceReplay:
        """Make launches of the kernels and of the copies to and from the device.

        They are launched when the program launched them, in its streams and contexts, and
        ``gs.simulate.hierarchy`` decides when they run. **A kernel's duration in a trace includes
        interference** by what ran beside it, so that a simulation in which kernels share the GPU
        is too slow rather than too fast. A block takes the duration divided by the kernel's waves
        on the GPU, rounded up: alone, the kernel takes its measured time, or less than a tick per
        wave more, as in ``Workload``.

        Parameters
        ----------
        gpu
            A GPU or the name of a preset, whose waves are counted. Default: that of the trace.
        latency
            Time in ns from a launch call to the operation's arrival in its stream. Default: the
            median time to the start of those operations before which the GPU was idle from the
            call on; 0 without any.
        streams
            The kind of streams of which the file says none: "non_blocking" (those of PyTorch are)
            or "blocking", ordered with the NULL stream.

        Returns
        -------
        TraceReplay
            By time of launch; rows of ``launches`` refer to the trace by ``kernel`` and
            ``transfer``.

        Raises
        ------
        ValueError
            An unknown GPU, an empty trace, a kernel that cannot run on the GPU (its row is named),
            a negative latency.
        OverflowError
            A trace of 2**59 ns or more.

        Assumptions
        -----------
        Operations without a launch call in the file are launched when they started, and none later
        than that. Priorities are those of Kineto's kernels ("priority") or of Nsight's streams,
        else 0. Stream 7 is the legacy NULL stream where the file names no other. Waits of streams
        for events (``cudaStreamWaitEvent``) are those that the file has: Kineto's with the option
        ``enable_cuda_sync_events``, Nsight's where it traced events; others are unknown. Memsets
        and copies on the device are left out and counted. All of it is said in ``assumptions``.

        Every block is simulated: traces whose kernels have many millions of blocks take long.

        >>> trace = gs.io.read_trace("tests/data/perception.pt.trace.json.gz")
        >>> replay = trace.launches()
        >>> replay.launches
        <Launches: 249 kernels and 72 copies in 4 streams>
        >>> run = gs.simulate.hierarchy(replay.launches, trace.gpu, blocks=False)
        >>> run.outcome
        'done'
        """
        from gpusched.io.replays.trace_replay import trace_replay
        from gpusched.model.gpu import as_gpu

        device = self.gpu if gpu is None else as_gpu(gpu)
        return trace_replay(self, device, latency, streams)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per launch; its columns are the arrays' names.

        ``occupancy`` and ``call`` are NA where the file has none.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of(self, ("occupancy", "call"))

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(_summary(self))}</p>{table_html(self.kernels(), 10)}"


def _largest(kernels: TraceKernels, count: int) -> NDArray[np.int64]:
    """The largest kernels that can run; of three or more, two that can share the GPU, if any."""
    able = np.flatnonzero(kernels.occupancy() > 0)
    chosen, others = able[:count], able[count:]
    if count < _SHARING + 1:
        return chosen
    fits = kernels.fits()
    whole = sum(kernels.total.tolist())
    matters = np.array([total * _PART >= whole for total in kernels.total.tolist()])
    more = others[fits[others] & matters[others]]
    wanted = min(max(_SHARING - int(fits[chosen].sum()), 0), len(more))
    smallest = np.flatnonzero(~fits[chosen])[::-1][:wanted]
    return np.sort(np.concatenate([np.delete(chosen, smallest), more[:wanted]]))


def _summary(trace: Trace) -> str:
    shapes = (trace.blocks, trace.threads, trace.regs, trace.smem)
    kernels = set(zip(trace.name.tolist(), *(side.tolist() for side in shapes), strict=True))
    streams = len(np.unique(trace.stream))
    last = max((trace.start + trace.duration).tolist(), default=0)
    span = time_text(last - int(trace.start[0]) if len(trace) else 0, 4)
    where = os.path.basename(trace.source)[-60:]
    return (
        f"{len(trace)} launches of {len(kernels)} kernels in {streams} streams over {span}, "
        f"{gpu_text(trace.gpu)}{', ' if where else ''}{where}"
    )
