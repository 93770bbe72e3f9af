"""What comes of simulating the scheduling hierarchy (``gs.simulate.hierarchy``)."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, integer, one_of
from gpusched._support.frozen import Frozen
from gpusched._support.results import Results
from gpusched._support.text import clip
from gpusched.model.gpu import GPU
from gpusched.model.launches import KINDS, Launches

__all__ = [
    "OUTCOMES",
    "REASONS",
    "Blocks",
    "Deadlock",
    "Hierarchy",
    "Occupancy",
    "Slices",
    "Waits",
]

OUTCOMES = ("done", "deadlock", "budget")
"""How a simulation ends; see ``Hierarchy``."""

REASONS = (
    *("stream", "after", "null_stream", "channel", "slice", "priority", "queue"),
    *("warps", "blocks", "registers", "shared_memory", "copy_engine"),
)
"""Why a launch waits, by the core's numbers; see ``Waits``."""

_SHOWN = 40
_COLUMNS = ("head", "joined", "first", "dispatched", "end")


@dataclass(frozen=True, eq=False, repr=False)
class _Table(Frozen):
    """Columns of one length: read-only arrays."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def _shown(self) -> dict[str, npt.NDArray[Any]]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def to_frame(self) -> Any:
        """A pandas table with these columns."""
        import pandas as pd

        return pd.DataFrame(self._shown())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"

    def _repr_html_(self) -> str:
        return Results(self._shown())._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(_Table):
    """Blocks in order of start: read-only int64 arrays.

    Attributes
    ----------
    kernel
        The index of the launch.
    block
        The block's number in its grid.
    sm
        Where it ran.
    start, end
        In ticks; ``end`` is -1 for a block that still ran at the end of the simulation. While
        another context has the GPU, a block that has started is frozen: see ``Slices``.
    """

    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Waits(_Table):
    """What launches waited for, in order of the waits' ends: read-only int64 arrays.

    Attributes
    ----------
    launch
        Which one waited.
    why
        The position in ``REASONS`` of: "stream" (for the launch before it in its stream), "after"
        (for a launch that it was told to wait for), "null_stream" (for one that the NULL stream
        keeps before it), "channel" (for the kernel before it in its channel to be fully
        dispatched), "slice" (for a time slice of its context), "priority" (for a more urgent queue
        to become empty), "queue" (behind another kernel), "warps", "blocks", "registers",
        "shared_memory" (at the head of the queue: no SM has enough of that for one more block; what
        most SMs lack, if they lack different things), "copy_engine" (for other copies).
    blocker
        The launch that it waited for, -1 if none.
    sm
        Where room was found at the end of a wait for room; -1 otherwise.
    start, end
        In ticks; ``end`` is -1 where it still waits. A kernel that has started some of its blocks
        may wait for room or priority again, for the others: until the last has started.
    """

    launch: Int64Array
    why: Int64Array
    blocker: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array

    @property
    def reason(self) -> npt.NDArray[np.str_]:
        """``why`` in words."""
        return np.array(REASONS)[self.why]

    def _shown(self) -> dict[str, npt.NDArray[Any]]:
        columns = super()._shown()
        del columns["why"]
        return {"launch": columns.pop("launch"), "reason": self.reason, **columns}


@dataclass(frozen=True, eq=False, repr=False)
class Slices(_Table):
    """Which context had the GPU when: read-only int64 arrays.

    Attributes
    ----------
    context
        Its index.
    start, end
        In ticks; ``end`` is -1 where it still had the GPU at the end of the simulation. Slices of
        one context that follow each other are one.
    """

    context: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Occupancy(_Table):
    """How much each SM holds over time, as step functions: read-only int64 arrays.

    One row for every change, by SM and time; what it says holds until the SM's next row, and there
    is nothing on an SM before its first. Frozen blocks do not count.

    Attributes
    ----------
    sm, time
        The SM, and the instant in ticks.
    warps, threads, blocks
        On it from then on.
    """

    sm: Int64Array
    time: Int64Array
    warps: Int64Array
    threads: Int64Array
    blocks: Int64Array

    def of(self, sm: int) -> tuple[Int64Array, Int64Array]:
        """One SM's step function of warps: (times, warps from each of them on)."""
        low, high = np.searchsorted(self.sm, [sm, sm + 1])
        return self.time[low:high], self.warps[low:high]

    def total(self) -> tuple[Int64Array, Int64Array]:
        """The whole GPU's step function of warps: (times, warps from each of them on)."""
        first = np.diff(self.sm, prepend=-1) != 0
        change = np.diff(self.warps, prepend=0)
        change[first] = self.warps[first]
        times, at = np.unique(self.time, return_inverse=True)
        sums = np.zeros(len(times), dtype=np.int64)
        np.add.at(sums, at, change)
        return times, np.cumsum(sums)


@dataclass(frozen=True)
class Deadlock:
    """Launches that wait for each other for ever.

    Attributes
    ----------
    chain
        Each as (launch, reason, blocker): the next one in the chain is the blocker, that of the
        last one the first.
    sentence
        The same in words, which ``str`` gives, too.
    """

    chain: tuple[tuple[int, str, int], ...]
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Frozen):
    """What the scheduling hierarchy made of launches; see ``gs.simulate.hierarchy``.

    Arrays are read-only int64 with one entry per launch, in ticks, and -1 for what has not happened
    (columns of copies and kernels alike).

    Attributes
    ----------
    head
        All launches before it in its stream had ended.
    joined
        It joined the queue of kernels, or that of a copy engine.
    first, dispatched
        Its first block and its last one started; a copy started.
    end
        It was done.
    blocks
        The log of blocks; None if it was not wanted.
    waits, pending
        What launches waited for, and what those wait for that do not go on.
    slices
        Which context had the GPU when.
    outcome
        "done": every launch has ended. "deadlock": some wait for each other for ever; see
        ``deadlock``. "budget": it was spent before.
    reason
        Which budget ended it, "states" (blocks), "bytes" or "seconds"; None if none did.
    now
        The last instant of the simulation.
    started
        How many blocks have started.
    launches, gpu, policy, copy_engines, channels, timeslice, runlist, switch_time, sms_per_gpc
        What was simulated.
    """

    launches: Launches
    gpu: GPU
    policy: str
    copy_engines: int
    channels: int | None
    timeslice: Int64Array | None
    runlist: Int64Array | None
    switch_time: int
    sms_per_gpc: int
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

    def __len__(self) -> int:
        return len(self.launches)

    def __repr__(self) -> str:
        known = self.outcome if self.reason is None else f"{self.outcome} ({self.reason})"
        kernels = int((self.launches.kind == 0).sum())
        copies = f" and {len(self) - kernels} copies" if kernels < len(self) else ""
        where = f"{self.gpu.sms} SMs{f' of a {self.gpu.name}' if self.gpu.name else ''}"
        return f"<Hierarchy: {kernels} kernels{copies} on {where}, {known} at {self.now}>"

    # Tables

    @property
    def response(self) -> Int64Array:
        """From the launch to its end; -1 for what has not ended."""
        return np.where(self.end >= 0, self.end - self.launches.time, np.int64(-1))

    @property
    def kernels(self) -> Results:
        """The kernels as a table: launch, name, stream, time, head, joined, first, dispatched, end
        and response."""
        return self._results(np.flatnonzero(self.launches.kind == 0))

    @property
    def copies(self) -> Results:
        """The copies as a table with the same columns."""
        return self._results(np.flatnonzero(self.launches.kind != 0))

    def _results(self, rows: Int64Array) -> Results:
        columns: dict[str, Any] = {"launch": rows}
        columns["name"] = np.array([self.launches.name[i] for i in rows.tolist()], dtype=np.str_)
        columns["stream"] = self.launches.stream[rows]
        columns["time"] = self.launches.time[rows]
        columns |= {name: getattr(self, name)[rows] for name in _COLUMNS}
        columns["response"] = self.response[rows]
        return Results(columns)

    def to_frame(self) -> Any:
        """A pandas table with one row per launch."""
        import pandas as pd

        columns = dict(self._results(np.arange(len(self))).columns)
        columns = {"launch": columns.pop("launch"), "name": columns.pop("name"), **columns}
        frame = pd.DataFrame(columns)
        frame.insert(2, "kind", np.array(KINDS)[self.launches.kind])
        return frame

    def overlap(self, one: int, other: int) -> int:
        """For how many ticks two launches were both under way, from the start of the first block
        to the end of the last."""
        a, b = self._launch(one), self._launch(other)
        if self.first[a] < 0 or self.first[b] < 0:
            return 0
        ends = [int(self.end[i]) if self.end[i] >= 0 else self.now for i in (a, b)]
        return max(0, min(ends) - int(max(self.first[a], self.first[b])))

    # Why

    def why(self, launch: int) -> list[str]:
        """What a launch waited for, one sentence for each wait, by time.

        Such as "waited 20 .. 100 behind kernel 0 in the queue". Empty if it never waited. Raises
        IndexError for what is no launch.
        """
        from gpusched.simulate import hierarchy_why

        return hierarchy_why.sentences(self, self._launch(launch))

    @property
    def deadlock(self) -> Deadlock | None:
        """Which launches wait for each other for ever; None unless the outcome is "deadlock"."""
        if self.outcome != "deadlock":
            return None
        from gpusched.simulate import hierarchy_why

        return hierarchy_why.deadlock(self)

    def _launch(self, launch: int) -> int:
        number = integer(launch, "launch")
        if not 0 <= number < len(self):
            raise IndexError(f"launch = {number}: there are {len(self)}")
        return number

    # Where the blocks are

    def occupancy(self) -> Occupancy:
        """How many warps, threads and blocks each SM holds over time.

        Raises ValueError for a run without its blocks.
        """
        log = self._log()
        still, *pieces = self._pieces()
        blocks, start, end = (column[~still] for column in pieces)
        sm, threads = log.sm[blocks], self.launches.threads[log.kernel[blocks]]
        amounts = (-(-threads // 32), threads, np.ones_like(threads))
        time = np.concatenate([start, end])
        sms = np.concatenate([sm, sm])
        order = np.lexsort((time, sms))
        time, sms = time[order], sms[order]
        new = np.flatnonzero((np.diff(time, prepend=-1) != 0) | (np.diff(sms, prepend=-1) != 0))
        columns = []
        for amount in amounts:
            change = np.concatenate([amount, -amount])[order]
            # What an SM gets it loses again: one sum over all of them starts at 0 for each.
            columns.append(np.cumsum(np.add.reduceat(change, new) if len(new) else change))
        changed = np.ones(len(new), dtype=bool)
        if len(new):
            changed = np.add.reduce([np.diff(c, prepend=0) != 0 for c in columns]) > 0
        return Occupancy(sms[new][changed], time[new][changed], *(c[changed] for c in columns))

    def _log(self) -> Blocks:
        if self.blocks is None:
            raise ValueError("blocks: this run was simulated without its log of blocks")
        return self.blocks

    def _pieces(self) -> tuple[npt.NDArray[np.bool_], Int64Array, Int64Array, Int64Array]:
        """Spans of time in which blocks run, or are frozen: (frozen, block, start, end)."""
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
            # Stopped, and not gone on with when the simulation ended.
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
        ax: Any = None,
        *,
        by: Literal["sm", "stream"] = "sm",
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Any:
        """Draws the run with matplotlib, and returns the axes.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure unless given.
        by
            "sm": a row per SM, as high as its warps (or as half of them, a quarter, ... where no
            more are used), with the blocks in it (pale while they are frozen), and one per copy
            engine. "stream": a row per stream, with its kernels and
            copies from their first start to their end, triangles where they are launched, and
            below them what the launch at the stream's head waited for.
        unit
            What a tick is: None, "ns", "us", "ms" or "s".
        since, until
            The window in ticks; as far as there are some hundred boxes unless ``until`` is given,
            and never more than some thousand.

        Raises ValueError for SMs of a run without its blocks.
        """
        from gpusched.simulate import hierarchy_picture

        one_of(by, ("sm", "stream"), "by")
        return hierarchy_picture.plot(self, ax, by, unit, since, until)

    def to_svg(
        self,
        *,
        by: Literal["sm", "stream"] = "sm",
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> str:
        """The same picture as an SVG document, without matplotlib; see ``plot``."""
        from gpusched.simulate import hierarchy_picture

        one_of(by, ("sm", "stream"), "by")
        return hierarchy_picture.svg(self, by, unit, since, until)

    def _repr_svg_(self) -> str:
        return self.to_svg(by="stream" if self.blocks is None else "sm")

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Writes the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        A process "streams" with a lane per stream, in which launches last from their first start to
        their end and say what they waited for; one with the copy engines; with several contexts one
        with their time slices; and with the log of blocks a process per SM, with lanes of blocks
        (in pieces where they are frozen) and a counter of its warps. ``tick`` is the length of a
        tick in ns. The file is written whole or not at all; a name that ends in .gz is compressed.
        Raises OSError, and ValueError for a ``tick`` below 1.
        """
        from gpusched.simulate import hierarchy_trace

        hierarchy_trace.write(self, path, tick)


def label(launches: Launches, launch: int) -> str:
    """A launch's name in a sentence."""
    return clip(launches.name[launch], _SHOWN)
