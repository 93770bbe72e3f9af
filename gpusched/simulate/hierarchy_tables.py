"""Tables of a run of the scheduling hierarchy: blocks, waits, time slices, occupancy; deadlocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched.simulate.run_results import Table

__all__ = ["REASONS", "Blocks", "Deadlock", "Occupancy", "Slices", "Waits"]

REASONS = enumeration("simulate.wait_reason")
"""Reasons for waiting, by the core's numbers; see ``Waits``."""


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Table):
    """Blocks in order of start: read-only int64 arrays, (blocks,).

    >>> work = gs.Launches.build()
    >>> kernel = work.kernel(work.stream(), blocks=2, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> run = gs.simulate.hierarchy(work.done(), gpu)
    >>> run.blocks.sm.tolist(), run.blocks.end.tolist()
    ([0, 1], [100, 100])

    Attributes
    ----------
    kernel
        Index of the launch.
    block
        Number of the block in its grid.
    sm
        SM that executed it.
    start, end
        Times in ticks; ``end`` is -1 for a block that had not ended when the simulation ended.
        While another context uses the GPU, a started block is frozen: see ``Slices``.
    """

    _KIND: ClassVar[str] = "Blocks"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Waits(Table):
    """Waits of launches, in order of their ends: read-only int64 arrays, (waits,).

    >>> work = gs.Launches.build()
    >>> for stream in (work.stream(), work.stream()):
    ...     _ = work.kernel(stream, blocks=1, threads=1024, duration=100)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> waits = gs.simulate.hierarchy(work.done(), gpu).waits
    >>> waits.launch.tolist(), waits.blocker.tolist(), waits.reason.tolist()
    ([1], [-1], ['warps'])

    Attributes
    ----------
    launch
        Index of the launch that waited.
    why
        Index into ``REASONS``. "stream": for the last unfinished launch before it in its stream, or
        for the triggers of a programmatic kernel's primary. "after": for a launch given by
        ``after``. "null_stream": for a launch that must precede it by the rules of the NULL stream.
        "channel": for the kernel before it in its channel to be fully dispatched. "slice": for a
        time slice of its context. "priority": for a queue of higher priority to become empty.
        "queue": behind another kernel. "warps", "blocks", "registers", "shared_memory": at the head
        of the queue, no SM has enough of that resource for another block (if several are lacking,
        the one that most SMs lack). "copy_engine": for other copies. "carveout": at the head of the
        queue, most SMs run blocks of kernels with another shared-memory carve-out. "partition": at
        the head of the queue, no SM that its partition may use has room, but others have.
        "cooperative": there is room, but not for all its blocks at once. "cluster": there is room,
        but not for a whole cluster on one GPC. "grids": at the head of the queue,
        as many kernels are resident as the GPU runs at once (``GPU.resident_grids``).
    blocker
        Index of the launch that it waited for, -1 if there is none.
    sm
        The SM that had room at the end of a wait for room; -1 otherwise.
    start, end
        Times in ticks; ``end`` is -1 for a wait that was not over. A kernel that has started some
        of its blocks may wait again for room or priority, until its last block has started.
    """

    _KIND: ClassVar[str] = "Waits"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("blocker", "sm", "end")

    launch: Int64Array
    why: Int64Array
    blocker: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array

    @property
    def reason(self) -> npt.NDArray[np.str_]:
        """The reason of each wait as text (``why`` in words)."""
        return np.array(REASONS)[self.why]

    def _table(self) -> dict[str, npt.NDArray[Any]]:
        columns = super()._table()
        del columns["why"]
        return {"launch": columns.pop("launch"), "reason": self.reason, **columns}


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Table):
    """Time slices of contexts: read-only int64 arrays, (slices,).

    >>> work = gs.Launches.build()
    >>> for stream in (work.stream(context=0), work.stream(context=1)):
    ...     _ = work.kernel(stream, blocks=1, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> slices = gs.simulate.hierarchy(work.done(), gpu, timeslice=60).slices
    >>> slices.context.tolist(), slices.start.tolist(), slices.end.tolist()
    ([0, 1, 0, 1], [0, 60, 120, 160], [60, 120, 160, 200])

    Attributes
    ----------
    context
        Index of the context that used the GPU.
    start, end
        Times in ticks; ``end`` is -1 for a slice that had not ended. Consecutive slices of one
        context are merged.
    """

    _KIND: ClassVar[str] = "Slices"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    context: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Occupancy(Table):
    """Occupancy of each SM over time, as step functions: read-only int64 arrays, (changes,).

    There is one row per change, ordered by SM and time, valid until the next row of the SM. An SM
    is empty before its first row. Frozen blocks do not count.

    >>> work = gs.Launches.build()
    >>> kernel = work.kernel(work.stream(), blocks=2, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> load = gs.simulate.hierarchy(work.done(), gpu).occupancy()
    >>> load.sm.tolist(), load.time.tolist(), load.threads.tolist()
    ([0, 0, 1, 1], [0, 100, 0, 100], [512, 0, 512, 0])

    Attributes
    ----------
    sm, time
        The SM, and the time of the change in ticks.
    warps, threads, blocks
        Numbers on the SM from then on.
    """

    _KIND: ClassVar[str] = "Occupancy"

    sm: Int64Array
    time: Int64Array
    warps: Int64Array
    threads: Int64Array
    blocks: Int64Array

    def of(self, sm: int) -> tuple[Int64Array, Int64Array]:
        """Step function of one SM: (times, warps from each of them on)."""
        low, high = np.searchsorted(self.sm, [sm, sm + 1])
        return self.time[low:high], self.warps[low:high]

    def total(self) -> tuple[Int64Array, Int64Array]:
        """Step function of the whole GPU: (times, warps from each of them on)."""
        first = np.diff(self.sm, prepend=-1) != 0
        change = np.diff(self.warps, prepend=0)
        change[first] = self.warps[first]
        times, at = np.unique(self.time, return_inverse=True)
        sums = np.zeros(len(times), dtype=np.int64)
        np.add.at(sums, at, change)
        return times, np.cumsum(sums)


@dataclass(frozen=True)
class Deadlock:
    """Launches that wait for each other, so that none of them can proceed.

    >>> work = gs.Launches.build()
    >>> stream = work.stream()
    >>> first = work.kernel(stream, duration=10, after=1)
    >>> second = work.kernel(stream, duration=10)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> gs.simulate.hierarchy(work.done(), gpu).deadlock.chain
    ((0, 'after', 1), (1, 'stream', 0))

    Attributes
    ----------
    chain
        Triples (launch, reason, blocker); the blocker is the launch of the next triple, and that of
        the last triple is the first launch.
    sentence
        The chain in words, also returned by ``str``.
    """

    chain: tuple[tuple[int, str, int], ...]
    sentence: str

    def __str__(self) -> str:
        return self.sentence
