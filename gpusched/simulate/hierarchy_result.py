"""Results of simulations of the scheduling hierarchy: launches, blocks, waits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, integer
from gpusched._support.results import Frozen, Results, Saved
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import escape, plural
from gpusched.model.gpu import GPU
from gpusched.model.launch_columns import KERNEL, KINDS
from gpusched.model.launches import Launches
from gpusched.simulate.hierarchy_tables import (
    Blocks,
    Deadlock,
    Occupancy,
    Slices,
    Waits,
    deadlock_of,
    launch_label,
    wait_sentences,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched._draw.timeline import Timeline

OUTCOMES = ("done", "deadlock", "budget")
"""Ends of a simulation; see ``Hierarchy``."""

_COLUMNS = ("head", "joined", "first", "dispatched", "end")


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Tabular, Saved, Frozen):
    """Simulated launches under the scheduling hierarchy; see ``gs.simulate.hierarchy``.

    Arrays are read-only int64 with one entry per launch, kernels and copies alike. Times are in
    ticks; -1 for events that did not happen.

    >>> work = gs.Launches.build()
    >>> for stream in (work.stream(), work.stream()):
    ...     _ = work.kernel(stream, blocks=1, threads=1024, duration=100)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> run = gs.simulate.hierarchy(work.done(), gpu)
    >>> run.first.tolist(), run.end.tolist(), run.outcome
    ([0, 100], [100, 200], 'done')

    Attributes
    ----------
    head
        Time at which all launches before it (or before its graph) in its stream had ended; for a
        programmatic kernel, at which all blocks of its primary had triggered or ended.
    joined
        Time at which it joined the queue of kernels, or that of a copy engine.
    first, dispatched
        Start times of its first and of its last block, or of the copy.
    end
        Time at which it ended.
    engine
        Index of the copy engine that served it, -1 for kernels.
    blocks
        The log of blocks; None for a run with ``blocks=False``.
    waits, pending
        Waits of launches that are over, and those that were not over at the end.
    slices
        Time slices of the contexts.
    outcome
        "done": every launch has ended. "deadlock": some launches wait for each other; see
        ``deadlock``. "budget": the budget was used up first.
    reason
        The budget that ended the simulation, "states" (blocks), "bytes" or "seconds"; otherwise
        None.
    now
        Time of the last event of the simulation.
    started
        Number of blocks that have started.
    launches, gpu, placement, channels, timeslice, runlist, context_switch, shared_channels,
    channel_release
        The launches, the platform and the options.
    copy_engines
        Direction of each copy engine: "in", "out" or "both".
    sms_per_gpc
        Number of SMs of each GPC; None if it is unknown and nothing depends on it.
    queues
        The option; None if the default of each partition was used.
    assumptions
        Sentences on what was assumed for what is unknown of the GPU.
    """

    _KIND: ClassVar[str] = "Hierarchy"
    _VERSION: ClassVar[int] = 2
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Launches, GPU, Blocks, Waits, Slices)

    launches: Launches
    gpu: GPU
    placement: str
    copy_engines: tuple[str, ...]
    channels: int | None
    timeslice: Int64Array | None
    runlist: Int64Array | None
    context_switch: int
    sms_per_gpc: tuple[int, ...] | None
    head: Int64Array
    joined: Int64Array
    first: Int64Array
    dispatched: Int64Array
    end: Int64Array
    blocks: Blocks | None
    waits: Waits
    pending: Waits
    slices: Slices
    outcome: str
    reason: str | None
    now: int
    started: int
    engine: Int64Array
    queues: str | None = None
    shared_channels: bool = False
    channel_release: str = "dispatched"
    assumptions: tuple[str, ...] = ()

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Hierarchy:
        if isinstance(values["copy_engines"], int):  # version 1
            values |= _platform_of_version_1(values)
        if "switch_time" in values:  # its name in version 0.1
            values["context_switch"] = values.pop("switch_time")
        return cls(**values)

    def __len__(self) -> int:
        return len(self.launches)

    def __repr__(self) -> str:
        kernels = int((self.launches.kind == KERNEL).sum())
        copies = len(self) - kernels
        what = plural(kernels, "kernel")
        if copies:
            what += f" and {copies} {'copy' if copies == 1 else 'copies'}"
        where = f"{self.gpu.sms} SMs{f' of a {self.gpu.name}' if self.gpu.name else ''}"
        return f"<Hierarchy: {what} on {where}; {self._ended()}>"

    def _ended(self) -> str:
        left = plural(int((self.end < 0).sum()), "launch").replace("launchs", "launches")
        if self.outcome == "deadlock":
            return f"deadlock at {self.now}, {left} not ended"
        if self.outcome == "budget":
            return f"the budget ({self.reason}) was spent at {self.now}, {left} not ended"
        return f"all ended by {self.now}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p>{self._repr_svg_()}"

    # Tables

    @property
    def response(self) -> Int64Array:
        """Ticks from the launch to its end; -1 if it did not end."""
        return np.where(self.end >= 0, self.end - self.launches.time, np.int64(-1))

    @property
    def kernels(self) -> Results:
        """Table of the kernels.

        Columns: launch, name, stream, time, head, joined, first, dispatched, end, response; the
        last six are masked for events that did not happen.
        """
        return self._results(np.flatnonzero(self.launches.kind == KERNEL))

    @property
    def copies(self) -> Results:
        """Table of the copies, with the columns of ``kernels``."""
        return self._results(np.flatnonzero(self.launches.kind != KERNEL))

    def _results(self, rows: Int64Array) -> Results:
        columns: dict[str, Any] = {"launch": rows}
        columns["name"] = np.array([self.launches.name[i] for i in rows.tolist()], dtype=np.str_)
        columns["stream"] = self.launches.stream[rows]
        columns["time"] = self.launches.time[rows]
        columns |= {name: optional(getattr(self, name)[rows]) for name in _COLUMNS}
        columns["response"] = optional(self.response[rows])
        return Results(columns)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per launch; NA for events that did not happen."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        columns = dict(self._results(np.arange(len(self))).columns)
        first = {key: columns.pop(key) for key in ("launch", "name")}
        return {**first, "kind": np.array(KINDS)[self.launches.kind], **columns}

    def overlap(self, one: int, other: int) -> int:
        """Ticks during which two launches overlap, each from its first start to its end.

        ``one``, ``other``: indices of the launches; raises IndexError if they do not exist.
        """
        a, b = self._launch(one), self._launch(other)
        if self.first[a] < 0 or self.first[b] < 0:
            return 0
        ends = [int(self.end[i]) if self.end[i] >= 0 else self.now for i in (a, b)]
        return max(0, min(ends) - int(max(self.first[a], self.first[b])))

    # Why

    def why(self, launch: int | None = None) -> str:
        """Describe the waits of a launch, one line per wait, ordered by time.

        Parameters
        ----------
        launch
            Index of the launch. Default: the cycle of a deadlock, or, without one, the launch with
            the largest response, with its name and response on the first line.

        Returns
        -------
        str
            Lines such as "waited 20 .. 100 behind kernel 0 in the queue"; empty for a launch that
            never waited.

        Raises
        ------
        IndexError
            The launch does not exist.
        """
        if launch is not None:
            return "\n".join(wait_sentences(self, self._launch(launch)))
        if self.deadlock is not None:
            return str(self.deadlock)
        response = self.response
        if not (response >= 0).any():
            return "no launch has ended"
        longest = int(np.argmax(response))
        first = (
            f"{launch_label(self.launches, longest)}, launch {longest}: the largest "
            f"response, {response[longest]} ticks from {self.launches.time[longest]} on"
        )
        return "\n".join([first, *wait_sentences(self, longest)])

    @property
    def deadlock(self) -> Deadlock | None:
        """The launches that wait for each other; None unless the outcome is "deadlock"."""
        return deadlock_of(self) if self.outcome == "deadlock" else None

    def _launch(self, launch: int) -> int:
        number = integer(launch, "launch")
        if not 0 <= number < len(self):
            raise IndexError(f"launch: got {number}, expected 0 to {len(self) - 1}")
        return number

    # Where the blocks are

    def occupancy(self) -> Occupancy:
        """Numbers of warps, threads and blocks on each SM over time.

        Raises ValueError for a run without its blocks.
        """
        log = self._log()
        still, *pieces = self._pieces()
        blocks, start, end = (column[~still] for column in pieces)
        threads = self.launches.threads[log.kernel[blocks]]
        rows = _core.sm_usage(self.gpu.sms, log.sm[blocks], start, end, threads)
        return Occupancy(*rows)

    def _log(self) -> Blocks:
        if self.blocks is None:
            raise ValueError("blocks: got a run without its log, expected one with blocks=True")
        return self.blocks

    def _pieces(self) -> tuple[npt.NDArray[np.bool_], Int64Array, Int64Array, Int64Array]:
        """Spans of time in which blocks run or are frozen: (frozen, block, start, end)."""
        log = self._log()
        end = np.where(log.end >= 0, log.end, self.now)
        every = np.flatnonzero(end > log.start)
        if self.launches.contexts == 1:
            return np.zeros(len(every), dtype=bool), every, log.start[every], end[every]
        context = self.launches.stream_context[self.launches.stream[log.kernel]]
        parts = []
        for c in range(self.launches.contexts):
            mine = np.flatnonzero(self.slices.context == c)
            chosen = every[context[every] == c]
            since = self.slices.start[mine]
            until = np.where(self.slices.end[mine] >= 0, self.slices.end[mine], self.now)
            # The slices from the one in which a block starts to the one in which it ends.
            low = np.searchsorted(until, log.start[chosen], side="right")
            high = np.searchsorted(since, end[chosen], side="left")
            counts = np.maximum(high - low, 0)
            block = np.repeat(chosen, counts)
            at = np.arange(len(block)) - np.repeat(np.cumsum(counts) - counts, counts)
            at += np.repeat(low, counts)
            start = np.maximum(log.start[block], since[at])
            parts.append(
                (np.zeros(len(block), bool), block, start, np.minimum(end[block], until[at]))
            )
            later = np.flatnonzero(np.diff(block, prepend=-1) == 0)
            parts.append(
                (np.ones(len(later), bool), block[later], until[at[later] - 1], since[at[later]])
            )
            # Stopped, and not resumed before the simulation ended.
            last = np.searchsorted(until, end[chosen], side="left") == len(until)
            if len(until):
                rest = chosen[last & (end[chosen] > until[-1])]
                frozen_since = np.maximum(until[-1], log.start[rest])
                parts.append((np.ones(len(rest), bool), rest, frozen_since, end[rest]))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return columns[0], columns[1], columns[2], columns[3]

    # Pictures

    def plot(
        self,
        ax: Axes | None = None,
        *,
        by: Literal["sm", "stream"] = "sm",
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Axes:
        """Draw the run with Matplotlib.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        by
            "sm": one lane per SM with its blocks (pale while they are frozen), and one per copy
            engine. A lane is as high as the number of warps of the SM (or a half, a quarter, ... of
            it if no more are used); a block is as high as its number of warps, and is drawn on the
            lowest warps that are free at its start. If there are too many groups of blocks, and for
            GPUs with more than 37 SMs, lanes show the mean number of running warps of each kernel
            in 360 parts of the interval; thin lanes are filled, with paler colours for fewer warps.
            More than 144 SMs share lanes. "stream": one lane per stream, with its kernels and
            copies from their first start to their end, triangles at their launches, and below them
            what the launch at the head of the stream waited for.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. By SM, more than 700 groups of blocks
            (4000 with ``until``) are drawn as means. By stream, the picture ends before launch 700
            (4000).

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            SMs are to be drawn for a run without blocks, or the interval is empty.
        """
        from gpusched._draw import timeline_axes

        shown: Axes = timeline_axes.plot(self._picture(by, unit, since, until), ax)
        return shown

    def to_svg(
        self,
        *,
        by: Literal["sm", "stream"] = "sm",
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg

        return svg.svg(self._picture(by, unit, since, until))

    def _picture(self, by: str, unit: Any, since: Any, until: Any, warps: int = 1) -> Timeline:
        """Timeline of a picture; a lane of an SM has room for ``warps`` at least."""
        from gpusched.simulate import hierarchy_timeline

        return hierarchy_timeline.picture(self, by, unit, since, until, warps)

    def _repr_svg_(self) -> str:
        return self.to_svg(by="stream" if self.blocks is None else "sm")

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        With the log of blocks, there is a process per SM, with lanes of blocks (in pieces if they
        were frozen) and a counter of its warps. The process "streams" has a lane per stream, in
        which launches extend from their first start to their end and list their waits. There is a
        process for the copy engines and, with several contexts, one for their time slices.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer.
        """
        from gpusched._draw import chrome_trace
        from gpusched.simulate import hierarchy_timeline

        chrome_trace.write_timeline(hierarchy_timeline.trace(self), path, tick)


def _platform_of_version_1(values: dict[str, Any]) -> dict[str, Any]:
    """Copy engines and GPCs of a file with their numbers: 1 for both directions, or 2, one each."""
    shared = values["copy_engines"] == 1
    kind, sms, size = values["launches"].kind, values["gpu"].sms, values["sms_per_gpc"]
    served = np.where(shared, 0, kind - 1)
    return {
        "copy_engines": ("both",) if shared else ("in", "out"),
        "sms_per_gpc": tuple(min(size, sms - first) for first in range(0, sms, size)),
        "engine": np.where((kind != KERNEL) & (values["first"] >= 0), served, -1),
    }
