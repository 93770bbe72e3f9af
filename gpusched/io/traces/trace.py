"""Traces of real programs: launches, kernels, and periodic tasks made of them.

`gpusched.io.read_trace` reads a `Trace` from a file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, integer
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import escape, shown, time_text
from gpusched.io.traces.trace_kernels import TraceKernels, table_html
from gpusched.io.traces.trace_tables import (
    INT64_MAX,
    Names,
    TraceEvents,
    column,
    gpu_text,
    labels,
    searcher,
    table_of,
    take,
    written,
)

if TYPE_CHECKING:
    from fractions import Fraction

    import pandas as pd

    from gpusched.io.replay import TraceReplay
    from gpusched.io.traces.candidates import By, Periods
    from gpusched.io.traces.from_trace import Gaps, LinkSuggestion, Quantile
    from gpusched.io.traces.trace_jobs import Nesting
    from gpusched.model.gpu import GPU
    from gpusched.model.workload.time_units import Time
    from gpusched.model.workload.workloads import Workload

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
        Blocks of the grid, threads of one block; 0 if the file has neither, as for HIP graphs.
    regs, smem
        Registers of one thread, bytes of shared memory of one block (static and dynamic).
    device, context, stream
        Device, context and stream of the launch; ``device`` has one value only.
    occupancy
        The PyTorch profiler's "est. achieved occupancy %"; -1 if the file has no value.
    call
        Row of the launch's call among ``events.calls``; -1 if the file has no call.
    gpu
        The GPU; None if the file does not describe it and none was given.
    source
        Path of the file.
    notes
        Parts of the file that were left out, and limits of the GPU that are not known.
    events
        Launch calls, annotated ranges, copies and memsets, if the file has them.
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
        """Select launches of kernels whose full name contains a match of a regular expression.

        The result is empty if there is no match. Its workload counts no other kernels as observed;
        ``workload(names=)`` does. Raises ValueError for a malformed expression.
        """
        search = searcher(pattern)
        known = {name: search(name) for name in set(self.name)}
        return take(self, np.array([known[name] for name in self.name], dtype=bool))

    def kernels(self) -> TraceKernels:
        """Group launches with equal (name, blocks, threads, regs, smem), by decreasing total time.

        Kernels with equal total times are in the order of their first launches. Raises ValueError
        if a total exceeds 64 bits.
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
            Number of kernels; fewer are returned if the trace has fewer.
        pattern
            Regular expression on full names: only kernels that match are considered, whether they
            can run on the GPU or not.
        together
            Without a pattern: leave out kernels that cannot run on the GPU, and choose kernels such
            that batches of several kernels are possible. Only kernels whose blocks are all resident
            at once on the empty GPU (``TraceKernels.fits``) can share the GPU in a batch; of three
            or more chosen kernels, two are of this kind. If fewer of the largest kernels are, the
            largest ones of this kind that take at least a hundredth of the trace's GPU time replace
            the smallest chosen ones. The other kernels run alone in their batches.

        Returns
        -------
        TraceKernels
            The kernels by decreasing total time.

        Raises
        ------
        ValueError
            Nothing matches, no kernel can run on the GPU, or the GPU is unknown and ``together``
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
        distributions: bool = False,
        names: str | re.Pattern[str] | None = None,
        nesting: Nesting = "outermost",
        gaps: Gaps = "waited",
    ) -> Workload:
        """Make a workload whose tasks are the annotated ranges, steps, streams or kernels.

        Each occurrence is a job. It consists of the CPU work before its first launch, its copies
        and kernels in launch order, CPU work between them if the CPU had waited for the GPU, and
        CPU work after the last one. Times are the largest over the jobs, or a quantile. **They
        include interference**: the result is a realistic example, not a safe model of the program.

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
            ``"annotation"``: one task per name of an annotated range (``record_function``, NVTX).
            ``"step"``: one task, whose jobs are the profiler steps (``ProfilerStep#n``).
            ``"stream"``: one task per stream, without CPU work. A job is everything that is
            launched in a profiler step or in a range of ``names``; if the trace has neither,
            everything that starts within a period, counted from the stream's first operation.
            ``"kernel"``: one task per kernel (name and shape); each launch is a job.
        period
            One period for all tasks, or periods by name of the task: ticks (ns), or text with a
            unit. Default: as observed, rounded down. That is the median distance between starts of
            occurrences, or, if the GPU takes a job longer, that between starts of their kernels on
            the GPU (the CPU runs ahead, as is usual in PyTorch). For ``"kernel"`` it is the time of
            the whole GPU work over the number of launches.
        quantile
            Share of the jobs whose times do not exceed the stated ones; 1: all jobs. It is computed
            by rank, without interpolation. A float counts as the decimal number that it prints as.
        distributions
            Whether times are distributions: the largest over the jobs, their number, and those of
            p0, p50, p90, p99 and p99.9 that have a longer one. Requires ``quantile=1``.
        names
            Regular expression that selects annotations, steps or kernels by a match anywhere in
            the name. If it has a group, the text of the first group is the name of the task:
            ``r"(\\w+) frame \\d+"``. Default: all annotations except profiler steps.
        nesting
            Of nested chosen ranges, only the outermost are jobs, or only the innermost (those that
            contain no other).
        gaps
            ``"waited"``: CPU work between GPU operations becomes a segment only if the CPU had
            waited for the GPU. ``"all"``: whenever none of the job's work was on the GPU.

        Returns
        -------
        Workload
            A workload with ticks of 1 ns. Its ``notes`` state the number of jobs, the quantile, and
            what was left out, with its GPU time, and the utilization of the GPU beside the observed
            one. Its ``observed`` has the GPU time from the first job to the last, and how much of
            it the jobs contain; below 99 %, guarantees are conditional. Deadlines equal periods.

        Raises
        ------
        ValueError
            There are no such ranges or no launch calls, as in a CSV report of kernels; a task has
            fewer than two occurrences and no period; the tasks with observed periods demand more
            than one GPU (or than the mean number of kernels that ran at once, where kernels
            overlapped), because a few jobs are much longer than the others or the trace does not
            show the periods: give periods, which may demand any utilization, or a quantile; ranges
            of a thread overlap without being nested; events are damaged (the message has their
            row); an expression is malformed; or an argument is invalid.

        A kernel or copy belongs to the range that contains its launch call, which is identified by
        the correlation number. This is a range on the thread of the call; otherwise a range that
        any thread of the process may start and end; otherwise, for a thread without chosen ranges,
        a range of one of the other threads of the process. Calls in several such ranges belong to
        none. A thread that runs PyTorch's backward passes counts as the one that waits for it, if
        only one other thread has chosen ranges.

        Jobs of a task may differ: the most frequent sequence of operations is used, and jobs with
        other sequences are left out and counted. Operations of several streams form one chain. If a
        grid differs between jobs, that of the job whose time is used is taken; a kernel whose grid
        the file does not say becomes a kernel without a shape. Copies within the device, memsets,
        graphs recorded as a whole, work without a launch call and segments of zero length are left
        out; the notes state their number and time.
        """
        from gpusched.io.traces.from_trace import workload_of

        return workload_of(
            self, by, period, quantile, names, nesting, gaps, distributions=distributions
        )

    def links(
        self,
        within: Time | None = None,
        *,
        names: str | re.Pattern[str] | None = None,
        nesting: Nesting = "outermost",
        share: str | int | float | Fraction = "0.9",
    ) -> tuple[LinkSuggestion, ...]:
        """Suggest which annotated ranges may be released by others (``Task(after=)``).

        A range is a candidate if its jobs begin soon after ends of another's, at a constant
        difference of their numbers. **That is an order, and no cause**: two timers of one rate look
        the same. Nothing is applied; a workload gets a link where you state one.

        >>> trace = gs.io.read_trace("tests/data/perception.pt.trace.json.gz")
        >>> for link in trace.links(within="10ms", share=1):
        ...     print(link)
        perhaps planner is after each job of detector: 8 of 8 of its jobs begin within 10ms of an \
end, 7.08226ms to 7.281523ms later; by chance 26% would

        (They are timers: the time between them is long, and as constant as the clock.)

        Parameters
        ----------
        within
            Longest time from the end of a job, with its work on the GPU, to the beginning of the
            one that follows: ns, or text with a unit. Default: a tenth of the median distance
            between beginnings of the task that follows.
        names, nesting
            Which ranges are tasks, as of `workload`.
        share
            Least share of a task's jobs that follow.

        Returns
        -------
        tuple of gs.io.LinkSuggestion
            Those with the largest share of jobs first. Tasks with less than three jobs are left
            out.

        Raises
        ------
        ValueError, TypeError
            The trace has no such ranges or no launches; an argument is invalid.
        """
        from gpusched.io.traces.from_trace import suggested_links

        return suggested_links(self, within, names, nesting, share)

    def launches(
        self,
        gpu: GPU | str | None = None,
        *,
        latency: SupportsIndex | None = None,
        streams: Literal["blocking", "non_blocking"] = "non_blocking",
    ) -> TraceReplay:
        """Make launches of the kernels and of the copies to and from the device.

        They are launched at the times at which the program launched them, in its streams and
        contexts; ``gs.simulate.hierarchy`` determines when they run. **A kernel's duration in a
        trace includes interference** by concurrent work, so that a simulation in which kernels
        share the GPU is too slow rather than too fast. A block takes the duration divided by the
        number of the kernel's waves on the GPU, rounded up. Alone, the kernel therefore takes its
        measured time, or less than one tick per wave more, as in ``Workload``.

        Parameters
        ----------
        gpu
            A GPU or the name of a preset, used to compute the waves. Default: that of the trace.
        latency
            Time in ns from a launch call to the arrival of the operation in its stream. Default:
            the median time to the start of those operations for which the GPU was idle from the
            call on; 0 if there are none.
        streams
            Kind of streams whose kind is not in the file: "non_blocking" (like those of PyTorch) or
            "blocking", which are ordered with the NULL stream.

        Returns
        -------
        TraceReplay
            Launches ordered by time. ``kernel`` and ``transfer`` refer from the rows of
            ``launches`` to those of the trace.

        Raises
        ------
        ValueError
            The GPU is unknown, the trace is empty, a kernel cannot run on the GPU (the message has
            its row), or the latency is negative.
        OverflowError
            The trace spans 2**59 ns or more.

        Assumptions
        -----------
        Operations without a launch call in the file are launched when they started, and none is
        launched later than it started. Priorities are those of Kineto's kernels ("priority") or of
        Nsight's streams, otherwise 0. Stream 7 is the legacy NULL stream if the file names no
        other. Kernels whose grid the file does not say take all SMs. Waits of streams for events
        (``cudaStreamWaitEvent``) are taken from the file: Kineto records them with the option
        ``enable_cuda_sync_events``, Nsight if it traced events; other waits are unknown, and their
        calls are counted. Memsets, copies within the device and graphs recorded as a whole are left
        out. All of this is stated in ``assumptions``, with the number and the GPU time of what is
        left out.

        Every block is simulated, so traces whose kernels have many millions of blocks take long.

        >>> trace = gs.io.read_trace("tests/data/perception.pt.trace.json.gz")
        >>> replay = trace.launches()
        >>> replay.launches
        <Launches: 249 kernels and 72 copies in 4 streams>
        >>> run = gs.simulate.hierarchy(replay.launches, trace.gpu, blocks=False)
        >>> run.outcome
        'done'
        """
        from gpusched.io.replay import trace_replay
        from gpusched.model.gpu import as_gpu

        device = self.gpu if gpu is None else as_gpu(gpu)
        return trace_replay(self, device, latency, streams)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per launch; its columns are the arrays.

        ``occupancy`` and ``call`` are NA if the file has no value.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of(self, ("occupancy", "call"))

    def __repr__(self) -> str:
        return f"Trace({_summary(self)})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(_summary(self))}</p>{table_html(self.kernels(), 10)}"


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
